"""Coefficients are found again from runs that were made up with known ones, and stay put where nothing is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import pytest

from costmodels.calibration import HALF_LIFE_DAYS, LEAST, Observation, fit, q_errors, recency, solve
from profiles.coefficients import SHIPPED

PRIOR = {"statements": 0.03, "jobs": 0.03, "rows_read": 3e-8, "commits": 0.01}
TRUE = {"statements": 0.08, "jobs": 0.02, "rows_read": 9e-8, "commits": 0.03}


def predicted(coefficients: Mapping[str, float], quantities: Mapping[str, float]) -> float:
    return sum(coefficients[name] * amount for name, amount in quantities.items())


def runs(true: Mapping[str, float], count: int = 60, noise: float = 0.05, seed: int = 1) -> list[Observation]:
    """Runs of all sizes whose times follow from some coefficients, each off by a little."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        quantities = {
            "statements": float(chance.integers(1, 4)),
            "jobs": float(chance.integers(1, 9)),
            "rows_read": float(10 ** chance.uniform(3, 7)),
            "commits": float(chance.integers(0, 3)),
        }
        found.append(Observation(quantities, predicted(true, quantities) * math.exp(noise * chance.standard_normal())))
    return found


def test_known_coefficients_are_found_again() -> None:
    found = fit(runs(TRUE), PRIOR)
    assert found.fitted
    assert found.coefficients == pytest.approx(TRUE, rel=0.15)
    assert found.error_before > 1.4
    assert found.error_after < found.error_unseen < 1.1
    assert found.runs["statements"] == 60
    assert found.runs["commits"] == sum(m.quantities["commits"] > 0 for m in runs(TRUE))


def test_a_coefficient_that_is_right_already_hardly_moves() -> None:
    found = fit(runs(TRUE), TRUE)
    assert found.coefficients == pytest.approx(TRUE, rel=0.1)


def test_without_measurements_the_prior_stays() -> None:
    found = fit([], PRIOR)
    assert (found.coefficients, found.fitted) == (PRIOR, False)
    assert math.isnan(found.error_before)
    assert found.runs == dict.fromkeys(PRIOR, 0)


def test_a_quantity_that_no_run_has_keeps_its_coefficient() -> None:
    found = fit(runs(TRUE), {**PRIOR, "shuffles": 0.5})
    assert found.coefficients["shuffles"] == pytest.approx(0.5)
    assert found.coefficients["jobs"] == pytest.approx(TRUE["jobs"], rel=0.15)


def test_like_runs_move_the_coefficients_only_as_far_as_they_know() -> None:
    """They say how long their quantities take together, not which of them is to blame."""
    found = fit([Observation({"statements": 1, "jobs": 1}, 0.12)] * 10, PRIOR)
    assert found.coefficients["statements"] == pytest.approx(found.coefficients["jobs"])
    assert found.coefficients["statements"] == pytest.approx(0.06, rel=0.05)
    assert found.coefficients["commits"] == pytest.approx(PRIOR["commits"])


def test_the_fewer_runs_there_are_the_nearer_the_prior_stays() -> None:
    known = [Observation({"statements": 1, "jobs": 1}, 0.12)] * 10
    few, many = (fit(runs, PRIOR).coefficients["jobs"] for runs in (known[:2], known))
    assert PRIOR["jobs"] < few < many < 0.0601


@pytest.mark.parametrize("factor", [50.0, 1 / 50])
def test_a_run_that_is_off_fifty_times_does_not_decide(factor: float) -> None:
    known = runs(TRUE)
    odd = [Observation(m.quantities, m.seconds * (factor if i in (7, 20) else 1)) for i, m in enumerate(known)]
    assert fit(odd, PRIOR).coefficients == pytest.approx(fit(known, PRIOR).coefficients, rel=0.1)


def test_no_coefficient_falls_below_a_tenth_of_its_prior() -> None:
    """Least squares alone would make jobs earn time: the more of them, the faster was the run."""
    jobs = np.arange(1.0, 11.0)
    amounts = np.stack([np.ones(10), jobs], axis=1)
    prior = np.array([0.03, 0.03])
    found = solve(amounts, 0.5 - 0.04 * jobs, np.ones(10), prior, strength=0.001)
    assert found[1] == pytest.approx(LEAST * prior[1], rel=0.01)
    assert found[0] > prior[0]


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_negative_or_missing_whatever_the_times_are(seed: int) -> None:
    chance = np.random.default_rng(seed)
    prior = asdict(SHIPPED["spark"])
    known = [
        Observation(
            {name: float(chance.choice([0, 1, 1e3, 1e8])) for name in prior},
            float(10 ** chance.uniform(-4, 4)),
            float(chance.uniform(0, 2)),
        )
        for _ in range(chance.integers(1, 30))
    ]
    found = fit(known, prior)
    assert found.coefficients.keys() == prior.keys()
    assert all(0 <= value < math.inf for value in found.coefficients.values())


def test_recent_runs_weigh_more() -> None:
    """The machine was replaced by one that is twice as fast."""
    old, new = runs(TRUE, seed=2), runs({name: value / 2 for name, value in TRUE.items()}, seed=3)
    known = [Observation(m.quantities, m.seconds, 0.05) for m in old] + new
    halved = {name: value / 2 for name, value in TRUE.items()}
    assert fit(known, PRIOR).coefficients == pytest.approx(halved, rel=0.25)


def test_a_weight_of_two_is_the_same_run_twice() -> None:
    known = runs(TRUE, 12)
    twice = [Observation(m.quantities, m.seconds, 2.0) for m in known]
    assert fit(twice, PRIOR).coefficients == pytest.approx(fit([*known, *known], PRIOR).coefficients, rel=1e-6)


def test_the_prior_is_kept_where_fitting_predicts_no_better() -> None:
    """Times that have nothing to do with the quantities can be fitted, but not predicted."""
    chance = np.random.default_rng(4)
    known = [Observation(m.quantities, m.seconds) for m in runs(PRIOR, 8, noise=0.0)]
    odd = [Observation(m.quantities, m.seconds * math.exp(0.4 * chance.standard_normal())) for m in known]
    for each in (known, odd):
        found = fit(each, PRIOR)
        assert (found.fitted, found.coefficients) == (False, PRIOR)
        assert found.error_unseen >= found.error_before


def test_runs_of_one_group_are_left_out_together() -> None:
    """Nine runs of one view agree with each other, and tell nothing about another view."""
    first = [Observation({"jobs": float(n)}, 0.2 * n, group="first") for n in range(1, 10)]
    second = [Observation({"jobs": float(n)}, 0.05 * n, group="second") for n in range(1, 4)]
    alone = [Observation(m.quantities, m.seconds) for m in (*first, *second)]
    assert fit(alone, {"jobs": 0.1}).fitted
    found = fit([*first, *second], {"jobs": 0.1})
    assert not found.fitted
    assert found.error_unseen > found.error_before


def test_a_coefficient_can_grow_from_nothing() -> None:
    known = [Observation({"jobs": float(n), "commits": float(n % 3)}, 0.1 * n + 0.3 * (n % 3)) for n in range(1, 20)]
    found = fit(known, {"jobs": 0.1, "commits": 0.0})
    assert found.coefficients == pytest.approx({"jobs": 0.1, "commits": 0.3}, rel=0.1)


def test_the_order_of_the_runs_does_not_matter() -> None:
    known = runs(TRUE, 20)
    assert fit(known[::-1], PRIOR).coefficients == pytest.approx(fit(known, PRIOR).coefficients)


def test_an_error_is_a_factor_either_way() -> None:
    assert q_errors(np.array([1.0, 3.0, 2.0]), np.array([2.0, 1.5, 2.0])).tolist() == [2.0, 2.0, 1.0]


def test_the_coefficients_in_force_stay_unless_new_ones_predict_better() -> None:
    """The prior says where unknown quantities are; what is in force is what a fit must beat."""
    known = runs(TRUE, noise=0.0)
    kept = fit(known, PRIOR, current=TRUE)
    assert (kept.fitted, kept.coefficients) == (False, TRUE)
    assert kept.error_before < kept.error_unseen
    wrong = {name: value * 3 for name, value in TRUE.items()}
    replaced = fit(known, PRIOR, current=wrong)
    assert replaced.fitted
    assert replaced.coefficients == fit(known, PRIOR).coefficients
    assert replaced.error_before == pytest.approx(3)
    assert fit([], PRIOR, current=TRUE).coefficients == TRUE


def test_an_old_run_weighs_less() -> None:
    weights = [recency(days) for days in (-1, 0, HALF_LIFE_DAYS, 3 * HALF_LIFE_DAYS)]
    assert weights == [1, 1, 0.5, 0.125]
