"""How people write amounts: `15m`, `10GiB`, `02:00`, `08:00-18:00`; each becomes one plain number or pair."""

from __future__ import annotations

import re

SECONDS_A_DAY = 86_400
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BYTES |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
DURATION_PATTERN = r"^\s*[0-9]{1,9}(\.[0-9]{1,9})?\s*(ms|s|m|h|d|w)\s*$"
SIZE_PATTERN = r"^\s*[0-9]{1,15}(\.[0-9]{1,9})?\s*([kKmMgGtT][iI]?)?[bB]\s*$"
TIME_PATTERN = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
WINDOW_PATTERN = r"^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"


def seconds(text: object) -> float:
    """A duration in seconds.

    >>> seconds("15m"), seconds("2 s"), seconds("1d")
    (900.0, 2.0, 86400.0)
    """
    if isinstance(text, str) and re.match(DURATION_PATTERN, text):
        number, unit = _split(text)
        return number * _SECONDS[unit]
    raise ValueError(f"{text!r} is not a duration; write a number and a unit, like 15m, 2s, 1h or 1d")


def size_bytes(text: object) -> int:
    """A size in bytes.

    >>> size_bytes("10GiB"), size_bytes("1.5 kB")
    (10737418240, 1500)
    """
    if isinstance(text, str) and re.match(SIZE_PATTERN, text):
        number, unit = _split(text)
        return round(number * _BYTES[unit.lower()])
    raise ValueError(f"{text!r} is not a size; write a number and a unit, like 10GiB or 500MB")


def minute_of_day(text: object) -> int:
    """A time of day in minutes since midnight.

    >>> minute_of_day("02:30")
    150
    """
    if isinstance(text, str) and re.match(TIME_PATTERN, text):
        return int(text[:2]) * 60 + int(text[3:])
    raise ValueError(f'{text!r} is not a time of day; write it like "02:00"')


def window(text: object) -> tuple[int, int]:
    """From and to, in minutes since midnight; a window may pass midnight.

    >>> window("08:00-18:00"), window("22:00-06:00")
    ((480, 1080), (1320, 360))
    """
    if isinstance(text, str) and re.match(WINDOW_PATTERN, text):
        start, end = text.split("-")
        first, last = minute_of_day(start), 24 * 60 if end == "24:00" else minute_of_day(end)
        if first != last:
            return first, last
        raise ValueError(f"the window {text!r} is empty; its end must differ from its start")
    raise ValueError(f'{text!r} is not a window of the day; write it like "08:00-18:00"')


def _split(text: str) -> tuple[float, str]:
    number, unit = re.findall(r"[0-9.]+|[A-Za-z]+", text)
    return float(number), unit
