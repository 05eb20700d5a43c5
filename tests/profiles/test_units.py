"""Durations, sizes, times and windows as people write them."""

from __future__ import annotations

import pytest

from profiles import units


@pytest.mark.parametrize(
    ("text", "value"), [("15m", 900), ("2s", 2), ("1h", 3600), ("1d", 86_400), ("1.5 h", 5400), ("250ms", 0.25)]
)
def test_durations(text: str, value: float) -> None:
    assert units.seconds(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["15", "m", "-1m", "1e9d", "15m30s", "", 15, None, "१५m", "1" * 30 + "m"])
def test_what_is_not_a_duration(text: object) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        units.seconds(text)


@pytest.mark.parametrize(("text", "value"), [("10GiB", 10 * 2**30), ("500MB", 500_000_000), ("1b", 1)])
def test_sizes(text: str, value: int) -> None:
    assert units.size_bytes(text) == value


@pytest.mark.parametrize("text", ["10", "GiB", "-1GiB", "10XiB", 10])
def test_what_is_not_a_size(text: object) -> None:
    with pytest.raises(ValueError, match="not a size"):
        units.size_bytes(text)


@pytest.mark.parametrize("text", ["24:00", "2:00", "02:60", "02", 200])
def test_what_is_not_a_time(text: object) -> None:
    with pytest.raises(ValueError, match="not a time"):
        units.minute_of_day(text)


def test_windows_may_pass_midnight_but_not_be_empty() -> None:
    assert units.window("22:00-06:00") == (1320, 360)
    assert units.window("00:00-24:00") == (0, 1440)
    with pytest.raises(ValueError, match="empty"):
        units.window("08:00-08:00")
