"""Coefficients fitted to measurements: the seconds that runs took, against the quantities that a plan says they have.

Ridge regression (Hoerl & Kennard 1970) towards a prior, on the logarithm of the factor between predicted and measured,
so that a short run counts as much as a long one and twice too much as much as half; with no coefficient far below its
prior, and by Huber's weights (1964) so that a run which met a busy machine does not decide. The result is taken only if
it predicts runs that were left out of the fit better than the prior does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from costmodels.axis import Vector

STRENGTH = 2.0
"""How hard the prior pulls: doubling a coefficient costs as much as being off in so many runs by what is usual."""
LEAST = 0.1
"""The part of its prior below which no coefficient falls: what these runs cannot tell apart is not free elsewhere."""
HALF_LIFE_DAYS = 14.0
BETTER = 0.98
"""The part of the old error, as far as it is above none, that the new one must stay below."""
_TUNING = 1.345
"""Of Huber's weights: residuals beyond so many standard deviations count less."""
_LEAST_SCALE = 0.05
"""Runs that are met within five per cent are met."""
_STEP = 0.7
"""How far one step follows the straight line."""
_ROUNDS = 50


@dataclass(frozen=True)
class Observation:
    """One measured run, as a fit sees it: its quantities, as the cost model has them, and how long it took."""

    quantities: Mapping[str, float]
    seconds: float
    weight: float = 1.0
    """How much it counts; a recent run may count more than an old one."""
    group: str = ""
    """Runs of one group resemble each other, so they are left out together; one without a group is alone."""


@dataclass(frozen=True)
class Fit:
    """What a fit found; the errors are medians of the factor between predicted and measured seconds."""

    coefficients: Mapping[str, float]
    """The fitted ones, or those in force where these are no better."""
    fitted: bool
    error_before: float
    """Of the coefficients that were in force."""
    error_after: float
    """Of the fitted coefficients, on the runs that they were fitted to."""
    error_unseen: float
    """Of coefficients fitted without the run that is predicted, or any of its group: this one decides."""
    runs: Mapping[str, int]
    """By quantity, how many measurements have any of it."""


def fit(
    measurements: Sequence[Observation],
    prior: Mapping[str, float],
    strength: float = STRENGTH,
    current: Mapping[str, float] | None = None,
    least: float = LEAST,
) -> Fit:
    """The coefficients that predict the measurements best without leaving the prior for nothing.

    None falls below `least` times its prior. They take the place of the `current` ones, the prior where nothing else
    is in force, if they predict better.

    >>> runs = [Observation({"jobs": n}, 0.2 * n) for n in (1, 2, 3, 4)]
    >>> found = fit(runs, {"jobs": 0.1, "commits": 0.01})
    >>> {name: round(value, 2) for name, value in found.coefficients.items()}
    {'jobs': 0.2, 'commits': 0.01}
    """
    names = tuple(prior)
    known = [m for m in measurements if m.seconds > 0 and m.weight > 0 and any(m.quantities.get(n) for n in names)]
    start = np.asarray([prior[name] for name in names], dtype=float)
    old = np.asarray([(current or prior)[name] for name in names], dtype=float)
    if not known:
        return Fit(
            dict(zip(names, map(float, old), strict=True)), False, math.nan, math.nan, math.nan, dict.fromkeys(names, 0)
        )
    amounts = np.asarray([[m.quantities.get(name, 0.0) for name in names] for m in known], dtype=float)
    seconds = np.asarray([m.seconds for m in known], dtype=float)
    weights = np.asarray([m.weight for m in known], dtype=float)
    found = solve(amounts, seconds, weights, start, strength, least)
    unseen = np.empty(len(known))
    for fold in _folds(known):
        rest = ~fold
        unseen[fold] = amounts[fold] @ solve(amounts[rest], seconds[rest], weights[rest], start, strength, least)
    before = _median(q_errors(amounts @ old, seconds), weights)
    error_unseen = _median(q_errors(unseen, seconds), weights)
    better = error_unseen < 1 + (before - 1) * BETTER
    return Fit(
        coefficients=dict(zip(names, map(float, found if better else old), strict=True)),
        fitted=better,
        error_before=before,
        error_after=_median(q_errors(amounts @ found, seconds), weights),
        error_unseen=error_unseen,
        runs={name: int(np.count_nonzero(amounts[:, i])) for i, name in enumerate(names)},
    )


def solve(
    amounts: Vector, seconds: Vector, weights: Vector, prior: Vector, strength: float, least: float = LEAST
) -> Vector:
    """The coefficients, from `least` times the prior on, with the least squares of the errors' logarithms and of the
    distance to the prior in units of it; `amounts` has a row per run and a column per coefficient.

    By Gauss and Newton: near the last prediction the logarithm is a straight line.
    """
    if not len(seconds):
        return prior
    units = _units(amounts, seconds, prior)
    towards, floor = prior / units, least * prior / units
    found: Vector = np.maximum(towards, least)
    for _ in range(_ROUNDS):
        expected = amounts @ (found * units)
        off = np.log(seconds / expected)
        scale = max(1.4826 * _median(np.abs(off), weights), _LEAST_SCALE)
        robust = np.minimum(1.0, _TUNING * scale / np.maximum(np.abs(off), 1e-12))
        rows, pull = np.sqrt(weights * robust), math.sqrt(strength) * scale
        matrix = np.vstack([amounts * (units / expected[:, None]) * rows[:, None], pull * np.eye(len(prior))])
        wanted = np.concatenate([(1 + np.clip(off, -_STEP, _STEP)) * rows, pull * towards])
        before, found = found, floor + nnls(matrix, wanted - matrix @ floor)[0]
        found = np.sqrt(before * np.maximum(found, 1e-9))
        if np.allclose(found, before, rtol=1e-4, atol=1e-9):
            break
    return found * units


def recency(age_days: float) -> float:
    """How much a run of some days ago weighs: half of one of today after `HALF_LIFE_DAYS`.

    >>> recency(0.0), recency(28.0)
    (1.0, 0.25)
    """
    return float(0.5 ** (max(age_days, 0.0) / HALF_LIFE_DAYS))


def q_errors(predicted: Vector, measured: Vector) -> Vector:
    """The factor between predicted and measured, whichever is larger.

    >>> q_errors(np.array([1.0, 4.0]), np.array([2.0, 2.0])).tolist()
    [2.0, 2.0]
    """
    least = np.maximum(predicted, 1e-9)
    return np.maximum(least / measured, measured / least)


def _units(amounts: Vector, seconds: Vector, prior: Vector) -> Vector:
    """The prior; where that is zero, what would explain a tenth of a typical run."""
    positive = np.where(amounts > 0, amounts, np.nan)
    typical = np.asarray([np.nanmedian(c) if np.any(c > 0) else 1.0 for c in positive.T])
    return np.where(prior > 0, prior, np.median(seconds) / (10 * typical))


def _folds(measurements: Sequence[Observation]) -> list[np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Which measurements are left out together."""
    labels = np.asarray([m.group or f"run {i}" for i, m in enumerate(measurements)])
    return [labels == label for label in dict.fromkeys(labels.tolist())]


def _median(values: Vector, weights: Vector) -> float:
    """The value that has half of the weight on either side."""
    order = np.argsort(values)
    heaped = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(heaped, heaped[-1] / 2)])
