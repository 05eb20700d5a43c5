"""How often a deferred view is refreshed in a day, against simulated days and against brute force."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodels.axis import CENTRE, FACTORS, QUERIES, UPDATES, Vector, constant, swept
from costmodels.schedule import DAY_SECONDS, after_batches, by_the_clock, in_random_order, observed

DAYS = 20_000
HOUR, MINUTES = 3600.0, 1440

same_every_run = settings(derandomize=True, max_examples=300, deadline=None)


def agrees(simulated: Vector, expected: Vector) -> bool:
    """Within four standard errors of the mean, which one of sixteen thousand simulations would miss by chance."""
    error = float(np.std(simulated)) / np.sqrt(len(simulated))
    return bool(abs(np.mean(simulated) - expected[CENTRE]) <= 4 * error + 1e-9)


# The two of the issue


def test_96_updates_and_400_queries_in_random_order_make_77_refreshes() -> None:
    assert round(float(in_random_order(constant(96), constant(400))[CENTRE])) == 77


def test_the_same_updates_in_one_batch_at_night_make_1_refresh() -> None:
    assert after_batches([2 * 60], constant(400))[CENTRE] == pytest.approx(1, abs=1e-9)


# Random order


def in_shuffled_days(updates: int, reads: int) -> Vector:
    """Refreshes in each of many days, whose updates and reads come in random order, nothing pending at the start."""
    generator = np.random.default_rng(updates * 1000 + reads)
    day = np.array([True] * updates + [False] * reads)
    is_update = generator.permuted(np.tile(day, (DAYS, 1)), axis=1)
    return np.asarray(np.sum(is_update[:, :-1] & ~is_update[:, 1:], axis=1, dtype=float))


@pytest.mark.parametrize(("updates", "reads"), [(96, 400), (400, 96), (1, 1), (1, 30), (30, 1), (5, 5)])
def test_shuffled_days_have_as_many_reads_after_an_update_as_the_formula_says(updates: int, reads: int) -> None:
    assert agrees(in_shuffled_days(updates, reads), in_random_order(constant(updates), constant(reads)))


@pytest.mark.parametrize(("updates", "reads"), [(8.0, 3.0), (0.5, 2.0), (2.0, 0.25)])
def test_updates_and_reads_at_random_times_over_many_days_meet_as_often_as_the_formula_says(
    updates: float, reads: float
) -> None:
    generator = np.random.default_rng(7)
    whole = generator.poisson((updates + reads) * DAYS)
    is_update = generator.random(whole) < updates / (updates + reads)
    met = np.sum(is_update[:-1] & ~is_update[1:]) / DAYS
    assert met == pytest.approx(float(in_random_order(constant(updates), constant(reads))[CENTRE]), rel=0.03)


@pytest.mark.parametrize(("updates", "reads"), [(0, 400), (96, 0), (0, 0)])
def test_without_updates_or_without_reads_there_is_no_refresh(updates: float, reads: float) -> None:
    assert in_random_order(constant(updates), constant(reads)).tolist() == [0]


@same_every_run
@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_there_are_never_more_refreshes_than_updates_or_than_reads(updates: float, reads: float) -> None:
    found = float(in_random_order(constant(updates), constant(reads))[CENTRE])
    assert 0 <= found <= min(updates, reads) * (1 + 1e-12)


def test_refreshes_are_counted_at_every_place_of_the_axis() -> None:
    found = in_random_order(swept(constant(96), UPDATES), swept(constant(400), QUERIES))
    assert found[UPDATES] == pytest.approx([96 * f * 400 / (96 * f + 400) for f in FACTORS])
    assert found[QUERIES] == pytest.approx([96 * f * 400 / (96 + 400 * f) for f in FACTORS])


# Batches


def batches_met(at: list[int], reads: int, between: tuple[int, int] | None = None) -> Vector:
    """Refreshes in each of many days, walked event by event; a day begins with its first batch."""
    generator = np.random.default_rng(len(at) * 1000 + reads)
    first, last = between or (0, MINUTES)
    last += MINUTES if last <= first else 0
    batches = [(float(minute - at[0]), True) for minute in at]
    found = np.zeros(DAYS)
    for day in range(DAYS):
        minutes = (generator.uniform(first, last, reads) - at[0]) % MINUTES
        pending = False
        for _, is_update in sorted([*batches, *((minute, False) for minute in minutes)]):
            found[day] += pending and not is_update
            pending = is_update
    return found


OFFICE, NIGHT = (8 * 60, 18 * 60), (22 * 60, 4 * 60)


@pytest.mark.parametrize(
    ("at", "reads", "between"),
    [
        ([120], 1, None),
        ([120], 5, OFFICE),
        ([120, 840], 4, None),
        ([540, 720, 900], 3, OFFICE),
        ([0, 720, 1439], 2, OFFICE),
        ([60, 1380], 3, NIGHT),
        ([0, 200, 1400], 2, NIGHT),
        (list(range(0, MINUTES, 60)), 6, None),
    ],
)
def test_simulated_days_meet_as_many_batches_as_the_formula_says(
    at: list[int], reads: int, between: tuple[int, int] | None
) -> None:
    assert agrees(batches_met(at, reads, between), after_batches(at, constant(reads), between))


def test_a_batch_that_no_read_comes_before_the_next_of_makes_no_refresh_of_its_own() -> None:
    at_night = [60, 120, 180]
    assert after_batches(at_night, constant(1e6), OFFICE)[CENTRE] == pytest.approx(1)


def test_a_window_of_reads_over_midnight_is_the_same_window_a_day_later() -> None:
    turned = after_batches([0, 12 * 60], constant(3), (22 * 60, 4 * 60))
    straight = after_batches([2 * 60, 14 * 60], constant(3), (0, 6 * 60))
    assert turned == pytest.approx(straight)


def test_a_window_that_ends_where_it_begins_is_the_whole_day() -> None:
    assert after_batches([0, 600], constant(3), (300, 300)) == pytest.approx(after_batches([0, 600], constant(3)))


def test_batches_at_the_same_minute_are_one() -> None:
    assert after_batches([120, 120], constant(400)).tolist() == after_batches([120], constant(400)).tolist()


def test_without_batches_or_without_reads_nothing_is_met() -> None:
    assert after_batches([], constant(400)).tolist() == [0]
    assert after_batches([120, 840], constant(0)).tolist() == [0]


def test_a_read_every_second_day_meets_a_nightly_batch_every_second_day() -> None:
    assert after_batches([120], constant(0.5))[CENTRE] == pytest.approx(0.5)


@same_every_run
@given(
    st.lists(st.integers(0, MINUTES - 1), max_size=8),
    st.floats(0, 1e6),
    st.none() | st.tuples(st.integers(0, MINUTES - 1), st.integers(0, MINUTES - 1)),
)
def test_no_more_refreshes_than_batches_or_than_reads(
    at: list[int], reads: float, between: tuple[int, int] | None
) -> None:
    found = float(after_batches(at, constant(reads), between)[CENTRE])
    assert 0 <= found <= min(len(set(at)), reads) * (1 + 1e-9)


# The clock


def ticks_that_find(period_seconds: float, times_of_day: Callable[[], Vector]) -> Vector:
    """Per day, the ticks of a clock that find an update; the clock starts anywhere."""
    generator = np.random.default_rng(3)
    found = np.empty(DAYS)
    for i in range(DAYS):
        start = generator.uniform(0, period_seconds)
        found[i] = len(np.unique((times_of_day() - start) % DAY_SECONDS // period_seconds))
    return found


@pytest.mark.parametrize(("updates", "period_seconds"), [(96, HOUR), (3, 6 * HOUR), (400, 12 * HOUR), (2, 900.0)])
def test_simulated_days_have_as_many_ticks_that_find_something_as_the_formula_says(
    updates: int, period_seconds: float
) -> None:
    generator = np.random.default_rng(updates)
    found = ticks_that_find(period_seconds, lambda: generator.uniform(0, DAY_SECONDS, generator.poisson(updates)))
    assert agrees(found, by_the_clock(constant(updates), period_seconds))


@pytest.mark.parametrize(
    ("at", "period_seconds"),
    [
        ([120], HOUR),
        ([120, 840], 6 * HOUR),
        ([120, 840], 24 * HOUR),
        ([0, 10, 20], 6 * HOUR),
        ([30, 60, 1430], HOUR),
        (list(range(0, MINUTES, 15)), HOUR),
    ],
)
def test_simulated_days_have_as_many_ticks_that_find_a_batch_as_the_formula_says(
    at: list[int], period_seconds: float
) -> None:
    found = ticks_that_find(period_seconds, lambda: np.array(at) * 60.0)
    assert agrees(found, by_the_clock(constant(len(at)), period_seconds, at))


def test_a_clock_that_nothing_comes_for_finds_nothing() -> None:
    assert by_the_clock(constant(0), HOUR).tolist() == [0]


def test_a_clock_finds_something_no_more_often_than_it_ticks_or_than_updates_come() -> None:
    assert by_the_clock(constant(1e6), HOUR)[CENTRE] == pytest.approx(24)
    assert by_the_clock(constant(3), 1.0)[CENTRE] == pytest.approx(3, rel=1e-4)
    assert by_the_clock(constant(500), 7 * 24 * HOUR)[CENTRE] == pytest.approx(1 / 7)
    assert by_the_clock(constant(1), 7 * 24 * HOUR, [120])[CENTRE] == pytest.approx(1 / 7)


# Observed times


def one_by_one(updates: list[float], reads: list[float]) -> int:
    """Every event in its order; an update at the very time of a read comes before it."""
    found, pending = 0, False
    for _, is_read in sorted([(time, False) for time in updates] + [(time, True) for time in reads]):
        if is_read and pending:
            found += 1
        pending = not is_read
    return found


times = st.lists(st.integers(0, 30).map(float), max_size=12)


@same_every_run
@given(times, times)
def test_observed_times_are_counted_as_when_walked_one_by_one(updates: list[float], reads: list[float]) -> None:
    assert observed(updates, reads) == one_by_one(updates, reads)


def test_observed_times_need_not_be_sorted() -> None:
    generator = random.Random(1)
    updates = [generator.random() for _ in range(200)]
    reads = [generator.random() for _ in range(300)]
    assert observed(updates, reads) == one_by_one(updates, reads) == observed(sorted(updates), sorted(reads))


def test_a_read_before_the_first_update_finds_nothing() -> None:
    assert observed([5.0], [1.0, 2.0]) == 0
    assert observed([], [1.0]) == observed([1.0], []) == 0
