"""What a chart is: plotly's own JSON with its finding, its legend and its data as a table; and axes of durations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from reports.palette import WAYS, style

Trace = dict[str, Any]
Cell = str | float | None
_LONGEST = 32
_SHORT = 18


class Sign(NamedTuple):
    """An entry of a legend: a name, a colour, and a line's dash, a pattern, "marker" or nothing."""

    name: str
    colour: str
    kind: str = ""


@dataclass(frozen=True)
class Chart:
    """One picture: what it shows, what to know about it, how it is drawn, and its data."""

    name: str
    title: str
    note: str
    traces: list[Trace]
    layout: dict[str, Any]
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    height: float = 18
    """In lines of text."""
    legend: tuple[Sign, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the page's script."""
        rows = [[_short(cell) for cell in row] for row in self.rows]
        return {"data": self.traces, "layout": self.layout, "columns": self.columns, "rows": rows}


def shown(text: str) -> str:
    """Text as plotly shows it: it takes some markup in labels, and has no room for much of it.

    >>> shown("a < b")
    'a &lt; b'
    """
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def two_lines(text: str) -> str:
    """The same as a label of an axis: broken near its middle where it is long.

    >>> two_lines("deferred, incremental"), two_lines("price of jobs")
    ('deferred,<br>incremental', 'price of jobs')
    """
    plain = " ".join(text.split())
    breaks = [i for i, letter in enumerate(plain) if letter == " "]
    if len(plain) <= _SHORT or not breaks:
        return shown(plain)
    middle = min(breaks, key=lambda i: abs(i - len(plain) / 2))
    return f"{shown(plain[:middle])}<br>{shown(plain[middle + 1 :])}"


def _short(cell: Cell) -> Cell:
    return float(f"{cell:.6g}") if isinstance(cell, float) else cell


def seconds_axis(most: float, title: str = "a day") -> dict[str, Any]:
    """An axis of durations with round steps in the unit that fits."""
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)):
        if most >= 1.5 * size or unit == "ms":
            step = round_step(most / size)
            ticks = [i * step for i in range(int(most / size / step) + 2)]
            return {
                "tickvals": [tick * size for tick in ticks],
                "ticktext": [f"{tick:g} {unit}" for tick in ticks],
                "title": {"text": title},
                "rangemode": "tozero",
            }
    raise AssertionError("milliseconds take what is left")


def round_step(most: float, steps: int = 4) -> float:
    """A round number that fits a few times into another."""
    rough = max(most, 1e-12) / steps
    size = 10.0 ** math.floor(math.log10(rough))
    return next(step * size for step in (1, 2, 5, 10) if step * size >= rough)


def log_seconds_axis(least: float, most: float, title: str) -> dict[str, Any]:
    """A logarithmic axis of durations."""
    names = ((0.001, "1 ms"), (0.01, "10 ms"), (0.1, "0.1 s"), (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 m"),
             (600.0, "10 m"), (3600.0, "1 h"), (36_000.0, "10 h"), (864_000.0, "10 d"))  # fmt: skip
    ticks = [each for each in names if least / 3 <= each[0] <= most * 3]
    return {
        "type": "log",
        "tickvals": [tick for tick, _ in ticks],
        "ticktext": [text for _, text in ticks],
        "title": {"text": title},
    }


def lines_of(ways: Iterable[str]) -> tuple[Sign, ...]:
    """The legend of lines that belong to ways."""
    return tuple(Sign(way, style(way).colour, style(way).dash) for way in WAYS if way in ways)
