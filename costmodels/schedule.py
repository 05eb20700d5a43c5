"""How often a deferred view is refreshed in a day: only by reads that find something pending.

Counted from observed times where there are some, from declared times of day, else as k·q/(k+q) for k updates and q
reads in random order: every read is equally likely to follow an update or another read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from costmodels.axis import Vector, constant

DAY_SECONDS = 86_400.0
_DAY_MINUTES = 1440
_ENOUGH = 10
"""Updates and reads of which the order is believed to go on like this."""


def in_random_order(updates: Vector, reads: Vector) -> Vector:
    """Reads that come after an update rather than after another read.

    >>> round(float(in_random_order(constant(96), constant(400))[0]))
    77
    """
    return np.asarray(updates * reads / np.maximum(updates + reads, 1e-12))


def after_batches(at: Sequence[int], reads: Vector, between: tuple[int, int] | None = None) -> Vector:
    """Batches that come at some minutes of the day and are met by a read before the next one comes.

    >>> round(float(after_batches([120], constant(400))[0]), 6)
    1.0
    """
    times = sorted(set(at))
    found = constant(0.0)
    for i, start in enumerate(times):
        end = times[i + 1] if i + 1 < len(times) else times[0] + _DAY_MINUTES
        share = _share(start, end, between)
        met = -np.expm1(reads * np.log1p(-min(share, 1 - 1e-12)))
        found = found + np.minimum(met, reads * share)  # a read every other day meets half a batch a day
    return found


def by_the_clock(updates: Vector, period_seconds: float, at: Sequence[int] = ()) -> Vector:
    """Refreshes by a clock that find something, when updates come at random or in batches.

    A tick falls between two batches as likely as their distance is a part of the period.

    >>> round(float(by_the_clock(constant(2), 6 * 3600, [120, 130])[0]), 3)
    1.028
    """
    ticks = DAY_SECONDS / period_seconds
    if at:
        times = sorted(set(at))
        apart = np.diff([*times, times[0] + _DAY_MINUTES]) * 60 / period_seconds
        return constant(float(np.sum(np.minimum(apart, 1.0))))
    return np.asarray(-ticks * np.expm1(-updates / ticks))


def observed(updates: Sequence[float], reads: Sequence[float]) -> int:
    """How many of the reads, by their times, found an update that no read before them had met.

    >>> observed([1.0, 2.0, 9.0], [3.0, 4.0, 10.0])
    2
    """
    moments, found, met = sorted(updates), 0, 0
    for read in sorted(reads):
        before = bisect_right(moments, read)
        found, met = found + (before > met), before
    return found


def against_random_order(updates: Sequence[float], reads: Sequence[float]) -> float:
    """How many times as often reads find an update, by the times of both, as they would in random order.

    1 where both were not seen often enough over the same time to tell.

    >>> day = [3600.0 * hour for hour in range(24)]
    >>> round(against_random_order(day, [moment + 60 for moment in day]), 2)  # each update is met
    1.91
    >>> against_random_order(day, [])
    1.0
    """
    if not updates or not reads:
        return 1.0
    first, last = max(min(updates), min(reads)), min(max(updates), max(reads))
    came, read = ([moment for moment in each if first <= moment <= last] for each in (updates, reads))
    if min(len(came), len(read)) < _ENOUGH:
        return 1.0
    expected = float(in_random_order(constant(float(len(came))), constant(float(len(read))))[0])
    return observed(came, read) / expected


def _share(start: int, end: int, between: tuple[int, int] | None) -> float:
    """The part of a day's reads that falls between two minutes; the second may lie in the next day."""
    if between is None:
        return (end - start) / _DAY_MINUTES
    first, last = between
    last += _DAY_MINUTES if last <= first else 0
    windows = [(first + day, last + day) for day in (-_DAY_MINUTES, 0, _DAY_MINUTES)]
    return sum(max(0, min(end, b) - max(start, a)) for a, b in windows) / (last - first)
