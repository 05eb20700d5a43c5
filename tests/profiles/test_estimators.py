"""Estimators against brute force: their ranges hold the truth about as often as they say, and values are near it."""

from __future__ import annotations

import numpy as np
import pytest

from profiles.estimators import Draw, KeySample, jackknife, matches, part, threshold, wilson


def test_wilsons_interval_is_that_of_the_textbooks() -> None:
    """Newcombe 1998, Table I: 81 of 263 and 15 of 148."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=1e-4)


def test_nothing_seen_leaves_room_above_zero_and_all_seen_room_below_one() -> None:
    assert wilson(0, 100)[0] == 0 < wilson(0, 100)[1] < 0.05
    assert 0.95 < wilson(100, 100)[0] < wilson(100, 100)[1] == 1
    assert wilson(0, 0) == (0, 1)


@pytest.mark.parametrize("truth", [0.002, 0.05, 0.5, 0.97])
def test_wilsons_interval_holds_the_truth_nineteen_times_in_twenty(truth: float) -> None:
    passed = np.random.default_rng(1).binomial(800, truth, 2000)
    inside = [low <= truth <= high for low, high in (wilson(float(p), 800) for p in passed)]
    assert 0.92 <= np.mean(inside) <= 0.99


def test_a_part_of_all_rows_is_counted() -> None:
    found = part([Draw(3, 10), Draw(1, 10)], candidates=20, rows=20)
    assert (found.value, found.lower, found.upper, found.source) == (0.2, 0.2, 0.2, "measured")


def test_files_that_cannot_match_are_known_not_to() -> None:
    found = part([Draw(50, 100), Draw(50, 100)], candidates=400, rows=4000)
    assert found.value == pytest.approx(0.05)
    assert found.upper <= 0.1
    assert found.source == "sampled"


def test_a_condition_on_files_of_which_none_was_drawn_may_hold_for_all_of_their_rows() -> None:
    found = part([Draw(0, 0), Draw(0, 0)], candidates=400, rows=4000)
    assert (found.lower, found.upper) == (0, 0.1)


def test_an_empty_table_passes_nothing() -> None:
    assert part([], candidates=0, rows=0).upper == 0


def test_groups_of_files_that_differ_are_worth_fewer_rows_than_groups_that_agree() -> None:
    alike = part([Draw(100, 1000)] * 4, 40_000, 40_000)
    apart = part([Draw(0, 1000), Draw(0, 1000), Draw(400, 1000), Draw(0, 1000)], 40_000, 40_000)
    assert alike.value == apart.value
    assert apart.upper - apart.lower > 5 * (alike.upper - alike.lower)


def test_the_range_of_clustered_rows_holds_the_truth() -> None:
    """Rows that pass come in whole files, as dates do: rows alone would be far too sure."""
    draw = np.random.default_rng(2)
    shares = draw.beta(0.5, 2, 200)
    inside = []
    for _ in range(500):
        drawn = draw.choice(200, 8, replace=False)
        found = part([Draw(float(round(shares[i] * 1000)), 1000) for i in drawn], 200_000, 200_000)
        inside.append(found.lower <= shares.mean() <= found.upper)
    assert np.mean(inside) > 0.85


@pytest.mark.parametrize(("values", "rows"), [(50, 100_000), (5_000, 100_000), (60_000, 100_000)])
def test_the_jackknife_is_within_a_factor_of_two_on_even_values(values: int, rows: int) -> None:
    draw = np.random.default_rng(3)
    column = draw.integers(0, values, rows)
    truth = len(np.unique(column))
    _, counts = np.unique(draw.choice(column, 5_000, replace=False), return_counts=True)
    assert truth / 2 <= jackknife(counts.astype(float), 5_000, rows) <= truth * 2


def test_the_jackknife_of_a_key_is_the_number_of_rows() -> None:
    assert jackknife(np.ones(100), 100, 70_000) == pytest.approx(70_000)
    assert jackknife(np.ones(100), 100, 100) == 100


def hashes(values: np.ndarray) -> np.ndarray:
    """A number per value that is as good as random, and the same on both sides of a join."""
    return np.random.default_rng(4).integers(-(2**63), 2**63 - 1, 100_000)[values]


def sampled(
    column: np.ndarray, kept: float, often: np.ndarray | None = None, passes: np.ndarray | None = None
) -> KeySample:
    values, places = np.unique(column, return_inverse=True)
    weights = [np.ones(len(column)), np.ones(len(column)) if passes is None else passes.astype(float)]
    counts = np.stack([np.bincount(places, each) for each in weights], axis=1)
    certain = np.isin(values, [] if often is None else often)
    hashed = hashes(values)
    chosen = (hashed < threshold(kept)) | certain
    order = np.argsort(hashed[chosen])
    return KeySample(hashed[chosen][order], counts[chosen][order], kept, certain[chosen][order])


def size_of_join(one: np.ndarray, two: np.ndarray) -> int:
    _, here, there = np.intersect1d(*(np.unique(side) for side in (one, two)), return_indices=True)
    return int(np.unique(one, return_counts=True)[1][here] @ np.unique(two, return_counts=True)[1][there])


def test_thresholds_keep_the_part_they_say() -> None:
    assert threshold(0.0) == -(2**63)
    assert threshold(0.5) == 0
    assert threshold(1.0) == 2**63 - 1
    assert np.mean(hashes(np.arange(100_000)) < threshold(0.1)) == pytest.approx(0.1, rel=0.05)


def test_all_keys_give_the_join_exactly() -> None:
    draw = np.random.default_rng(5)
    one, two = draw.integers(0, 300, 4_000), draw.integers(100, 900, 3_000)
    found = matches(sampled(one, 1.0), sampled(two, 1.0))
    assert found.pairs.value == found.pairs.lower == found.pairs.upper == size_of_join(one, two)
    assert found.matched.value == np.isin(one, two).sum()
    assert found.values.value == len(np.intersect1d(one, two))
    assert found.pairs.source == "measured"


def test_sampled_keys_of_both_sides_meet() -> None:
    """Independent samples of a part in fifty would hold one in 2,500 of the pairs: none to speak of."""
    draw = np.random.default_rng(6)
    one, two = draw.integers(0, 80_000, 200_000), draw.permutation(80_000)[:40_000]
    found = matches(sampled(one, 0.02), sampled(two, 0.02))
    truth = size_of_join(one, two)
    assert found.pairs.value == pytest.approx(truth, rel=0.1)
    assert found.pairs.lower <= truth <= found.pairs.upper
    assert found.values.value == pytest.approx(len(np.intersect1d(one, two)), rel=0.1)
    assert found.matched.value == pytest.approx(np.isin(one, two).sum(), rel=0.1)


def test_the_lower_threshold_of_the_two_counts() -> None:
    draw = np.random.default_rng(7)
    one, two = draw.integers(0, 50_000, 200_000), draw.permutation(50_000)
    found = matches(sampled(one, 1.0), sampled(two, 0.05))
    assert found.pairs.value == pytest.approx(200_000, rel=0.1)


def test_conditions_on_both_sides_count_together() -> None:
    draw = np.random.default_rng(8)
    one, two = draw.integers(0, 5_000, 20_000), np.arange(5_000)
    early, late = one < 2_500, two >= 2_400
    found = matches(sampled(one, 1.0, passes=early), sampled(two, 1.0, passes=late), 1, 1)
    assert found.pairs.value == np.count_nonzero((one < 2_500) & (one >= 2_400))


def test_frequent_values_make_a_skewed_join_certain() -> None:
    """One value has a third of the rows of both sides: nearly all of the join, and missed or blown up by its hash."""
    draw = np.random.default_rng(9)
    one = np.concatenate([draw.integers(0, 50_000, 60_000), np.full(30_000, 77)])
    two = np.concatenate([draw.integers(0, 50_000, 40_000), np.full(20_000, 77)])
    truth = size_of_join(one, two)
    blind = matches(sampled(one, 0.05), sampled(two, 0.05)).pairs.value
    assert max(truth / blind, blind / truth) > 4
    found = matches(sampled(one, 0.05, np.array([77])), sampled(two, 0.05, np.array([77])))
    assert found.pairs.value == pytest.approx(truth, rel=0.01)
    assert found.pairs.lower <= truth <= found.pairs.upper


def test_no_match_among_sampled_keys_is_not_none() -> None:
    found = matches(sampled(np.arange(0, 50_000), 0.01), sampled(np.arange(50_000, 99_000), 0.01))
    assert found.pairs.lower == 0
    assert 0 < found.pairs.value < found.pairs.upper == 350
    assert matches(sampled(np.arange(9), 1.0), sampled(np.arange(9, 12), 1.0)).pairs.upper == 0


def test_distinct_values_are_counted_among_sampled_keys() -> None:
    found = sampled(np.arange(40_000), 0.05).distinct()
    assert found.lower <= 40_000 <= found.upper
    assert found.value == pytest.approx(40_000, rel=0.05)
