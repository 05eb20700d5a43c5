"""The timetable of a replay: as many events as asked for, when they are said to come, the same for the same seed."""

from __future__ import annotations

import pytest

from advisor.timetable import DAY_MINUTES, Repeated, timetable


def minutes(kind: str, each: Repeated, days: float = 1, seed: int = 3) -> list[float]:
    parts = {"orders": each} if kind == "update" else {}, {"sales": each} if kind == "query" else {}
    return [event.minute for event in timetable(*parts, {}, days, seed)]


@pytest.mark.parametrize("days", [0.25, 1, 2.5])
def test_events_fill_the_days_at_random(days: float) -> None:
    found = minutes("update", Repeated(2000), days)
    assert len(found) == 2000
    assert found == sorted(found)
    assert 0 <= found[0] < 0.02 * days * DAY_MINUTES
    assert 0.98 * days * DAY_MINUTES < found[-1] < days * DAY_MINUTES
    assert abs(found[1000] / (days * DAY_MINUTES) - 0.5) < 0.06


def test_batches_come_at_their_times() -> None:
    assert minutes("update", Repeated(4, at=(120, 600))) == [120, 120, 600, 600]
    assert minutes("update", Repeated(3, at=(120,)), days=3) == [120, 120 + DAY_MINUTES, 120 + 2 * DAY_MINUTES]
    assert minutes("update", Repeated(1, at=(120,)), days=3) == [120]


@pytest.mark.parametrize(("window", "inside"), [((480, 1080), (480, 1080)), ((1320, 120), (1320, 120))])
def test_reads_come_in_their_part_of_the_day(window: tuple[int, int], inside: tuple[int, int]) -> None:
    found = [minute % DAY_MINUTES for minute in minutes("query", Repeated(300, between=window), days=2)]
    first, last = inside
    assert all(first <= m < last if first < last else m >= first or m < last for m in found)
    assert max(found) - min(found) > 500


def test_ticks_are_spread_evenly_and_end_with_the_run() -> None:
    found = timetable({}, {}, {"sales": 4}, 1, seed=0)
    assert [event.minute for event in found] == [360, 720, 1080, 1440]


def test_the_same_seed_draws_the_same_whatever_else_happens() -> None:
    alone = minutes("update", Repeated(20))
    assert minutes("update", Repeated(20)) == alone
    assert minutes("update", Repeated(20), seed=4) != alone
    together = timetable({"orders": Repeated(20), "parts": Repeated(7)}, {"sales": Repeated(9)}, {"sales": 3}, 1, 3)
    assert [event.minute for event in together if event.what == "orders"] == alone
