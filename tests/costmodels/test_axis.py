"""The axis of a number: its estimate, draws from its range that belong to its name, and sweeps of the rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodels.axis import CENTRE, DRAWN, DRAWS, FACTORS, QUERIES, SIZE, UPDATES, constant, full, swept, vector
from profiles.statistics import Estimate

same_every_run = settings(derandomize=True, max_examples=300, deadline=None)

numbers = st.one_of(st.just(0.0), st.floats(1e-12, 1), st.floats(1, 1e12), st.integers(0, 10**9))
ranges = st.tuples(numbers, numbers, numbers).map(lambda three: sorted(three))


def ten(value: float) -> Estimate:
    return Estimate(value, value / 10, value * 10, "default")


def test_the_parts_of_the_axis_cover_it_once() -> None:
    places = [CENTRE]
    for part in (DRAWN, UPDATES, QUERIES):
        places += range(part.start, part.stop)
    assert places == list(range(SIZE))
    assert DRAWN.stop - DRAWN.start == DRAWS


def test_a_number_that_is_not_in_doubt_has_length_one() -> None:
    assert constant(7).shape == vector(Estimate(7, 7, 7, "measured"), "a").shape == (1,)
    assert vector(Estimate(7, 7, 7, "measured"), "a")[CENTRE] == 7


def test_a_draw_belongs_to_its_name() -> None:
    first, again = vector(ten(50), "orders.rows"), vector(ten(50), "orders.rows")
    assert np.array_equal(first, again)
    assert not np.array_equal(first[DRAWN], vector(ten(50), "customer.rows")[DRAWN])


def test_one_name_draws_as_far_from_each_estimate_in_proportion_to_its_range() -> None:
    small, large = vector(ten(1), "orders.rows")[DRAWN], vector(ten(1000), "orders.rows")[DRAWN]
    assert large == pytest.approx(1000 * small)


def test_draws_of_different_names_are_not_correlated() -> None:
    drawn = np.array([np.log(vector(ten(50), f"column {i}")[DRAWN]) for i in range(200)])
    correlations = np.corrcoef(drawn)[np.triu_indices(200, 1)]
    assert np.mean(correlations) == pytest.approx(0, abs=0.01)
    assert np.std(correlations) == pytest.approx(1 / np.sqrt(DRAWS), rel=0.1)


@same_every_run
@given(ranges, st.text(max_size=5))
def test_draws_stay_in_the_range_and_the_centre_and_the_sweeps_are_the_value(three: list[float], name: str) -> None:
    lower, value, upper = three
    found = full(vector(Estimate(value, lower, upper, "sampled"), name))
    assert np.all(np.isfinite(found))
    assert np.all(found[DRAWN] >= lower * (1 - 1e-12))
    assert np.all(found[DRAWN] <= upper * (1 + 1e-12))
    assert found[CENTRE] == value
    assert np.all(found[UPDATES] == value)
    assert np.all(found[QUERIES] == value)


def test_half_the_draws_lie_above_the_value_and_most_are_nearer_to_it_than_to_the_ends() -> None:
    drawn = np.concatenate([vector(ten(50), f"column {i}")[DRAWN] for i in range(200)])
    assert np.mean(drawn > 50) == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(drawn)))
    # of a triangle that falls to nothing at its ends, three quarters lie in the inner half
    inner = np.abs(np.log10(drawn / 50)) < 0.5
    assert np.mean(inner) == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / len(drawn)))


def test_a_range_that_begins_at_zero_or_lies_on_one_side_is_drawn_from() -> None:
    drawn = vector(Estimate(0.5, 0.0, 0.5, "sampled"), "f")[DRAWN]
    assert np.all((drawn >= 0) & (drawn <= 0.5))
    assert 0 < np.sum(drawn < 0.5) < DRAWS
    drawn = vector(Estimate(0.0, 0.0, 8.0, "sampled"), "f")[DRAWN]
    assert np.all((drawn >= 0) & (drawn <= 8))
    assert 0 < np.sum(drawn > 0) < DRAWS


def test_a_sweep_multiplies_one_part_of_the_axis_and_leaves_the_rest() -> None:
    rate = vector(ten(96), "orders.updates")
    found = swept(rate, UPDATES)
    assert found[UPDATES] == pytest.approx(96 * FACTORS)
    assert np.array_equal(found[: DRAWN.stop], rate[: DRAWN.stop])
    assert np.array_equal(found[QUERIES], rate[QUERIES])


def test_an_exact_number_can_be_swept_and_what_was_swept_stays_as_it_was() -> None:
    rate = constant(400)
    found = swept(rate, QUERIES)
    assert found.shape == (SIZE,)
    assert found[QUERIES] == pytest.approx(400 * FACTORS)
    assert rate.tolist() == [400]
    again = swept(found, UPDATES)
    assert again[QUERIES] == pytest.approx(400 * FACTORS)
    assert np.all(found[UPDATES] == 400)


def test_sweeps_go_a_thousandfold_both_ways_and_pass_through_today() -> None:
    assert (FACTORS[0], FACTORS[-1]) == pytest.approx((1e-3, 1e3))
    assert FACTORS[len(FACTORS) // 2] == 1
    assert np.all(np.diff(FACTORS) > 0)


def test_a_count_is_drawn_from_and_swept_as_any_number() -> None:
    drawn = vector(Estimate(3, 1, 9, "sampled"), "orders.rows")
    assert drawn.dtype == swept(drawn, UPDATES).dtype == float
    assert np.any(drawn[DRAWN] % 1 > 0)


def test_a_number_in_full_has_a_value_at_every_place() -> None:
    assert full(constant(3)).tolist() == [3] * SIZE
    drawn = vector(ten(50), "orders.rows")
    assert full(drawn) is drawn
