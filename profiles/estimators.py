"""From samples to numbers with a range: parts that pass, distinct values, sizes of joins.

a part          Wilson's interval (1927); where whole files were drawn, with as many draws as their spread is worth
distinct        the first-order jackknife (Haas & Stokes 1998), or counted among sampled keys
a join          correlated samples: both sides keep the keys whose hash falls under one threshold, and the keys
                that are known to be frequent (Estan & Naughton 2006: end-biased samples)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from profiles.statistics import Estimate

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Hashes = np.ndarray[Any, np.dtype[np.int64]]

_STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36}
_NORMAL = 1.96
"""95 % of draws lie so many standard deviations around the mean; with few groups Student's factor is wider."""


def wilson(passed: float, looked: float, factor: float = _NORMAL) -> tuple[float, float]:
    """The interval around `passed / looked` that a fraction probably lies in; never empty, also at 0 and 1.

    >>> low, high = wilson(0, 1000)
    >>> low, round(high, 4)
    (0.0, 0.0038)
    """
    if looked <= 0:
        return 0.0, 1.0
    part, square = passed / looked, factor * factor
    middle = (part + square / (2 * looked)) / (1 + square / looked)
    half = factor * math.sqrt(part * (1 - part) / looked + square / (4 * looked * looked)) / (1 + square / looked)
    return (0.0 if passed <= 0 else max(middle - half, 0.0)), (1.0 if passed >= looked else min(middle + half, 1.0))


@dataclass(frozen=True)
class Draw:
    """Rows of some files that were looked at for one condition."""

    passed: float
    looked: float
    """Those in files of which the log does not say already that none of their rows passes."""


def part(draws: Sequence[Draw], candidates: float, rows: float) -> Estimate:
    """The part of a table's rows that passes, of which only `candidates` can pass; counted where all were looked at.

    Rows of a file are neighbours and may be alike: how much the draws differ says how many rows they are worth.
    """
    if rows <= 0 or candidates <= 0:
        return Estimate(0.0, 0.0, 0.0, "measured")
    looked, passed = sum(draw.looked for draw in draws), sum(draw.passed for draw in draws)
    share = min(candidates / rows, 1.0)
    if looked <= 0:
        return Estimate(share / 2, 0.0, share, "sampled")
    if looked >= candidates:
        exact = min(passed / rows, 1.0)
        return Estimate(exact, exact, exact, "measured")
    found = passed / looked
    worth = looked
    useful = [draw for draw in draws if draw.looked > 0]
    degrees = len(useful) - 1
    if degrees > 0 and 0 < found < 1:
        spread = sum((draw.passed - found * draw.looked) ** 2 for draw in useful) * len(useful) / degrees
        worth = min(looked, found * (1 - found) * looked * looked / spread) if spread > 0 else looked
    worth /= 1 - looked / candidates
    low, high = wilson(found * worth, worth, _STUDENT.get(degrees, _NORMAL))
    if not 0 < passed < looked:
        found = (passed + 0.5) / (looked + 1)
    return Estimate(found * share, min(low, found) * share, max(high, found) * share, "sampled")


def jackknife(counts: Numbers, drawn: float, rows: float) -> float:
    """How many distinct values some rows have, from how often each occurs among the rows drawn of them.

    Values that were seen once stand for those that were not seen: none when all rows were drawn.
    """
    seen = float(len(counts))
    if drawn <= 0 or rows <= drawn:
        return seen
    once = float(np.count_nonzero(counts == 1))
    unseen = (1 - drawn / rows) * once / drawn
    return min(seen / max(1 - unseen, drawn / rows), rows)


@dataclass(frozen=True)
class KeySample:
    """How often some of the values of a column occur: those whose hash falls under a threshold, and frequent ones."""

    hashes: Hashes
    """Ascending."""
    counts: Numbers
    """Per value its rows, then its rows under each condition."""
    kept: float
    """The part of all values that falls under the threshold."""
    certain: np.ndarray[Any, np.dtype[np.bool_]]
    """Values that are here whatever their hash."""
    scale: float = 1.0
    """Rows of the table per row that was read."""

    @property
    def complete(self) -> bool:
        return self.kept >= 1 and self.scale == 1

    def weights(self) -> Numbers:
        """How many values each of them stands for."""
        return np.where(self.certain, 1.0, 1 / self.kept)

    def distinct(self) -> Estimate:
        """How many values there are among the rows that were read."""
        return _total(np.ones(len(self.hashes)), replace(self, scale=1.0), self.counts[:, 0])

    def narrowed(self, kept: float) -> KeySample:
        """The same with a lower threshold."""
        if kept >= self.kept:
            return self
        stays = (self.hashes < threshold(kept)) | self.certain
        return KeySample(self.hashes[stays], self.counts[stays], kept, self.certain[stays], self.scale)


def threshold(kept: float) -> int:
    """The 64-bit hash under which so large a part of all hashes lies."""
    return -(2**63) + min(int(kept * 2.0**64), 2**64 - 1)


@dataclass(frozen=True)
class Matches:
    """What two columns have in common."""

    pairs: Estimate
    """Rows of the join."""
    matched: Estimate
    """Rows of the first with at least one partner."""
    values: Estimate
    """Values that occur in both."""


def matches(one: KeySample, two: KeySample, condition: int = 0, other_condition: int = 0) -> Matches:
    """Join two columns by their sampled keys; a condition is a column of the counts."""
    kept = min(one.kept, two.kept)
    one, two = one.narrowed(kept), two.narrowed(kept)
    _, here, there = np.intersect1d(one.hashes, two.hashes, assume_unique=True, return_indices=True)
    mine, theirs = one.counts[here, condition], two.counts[there, other_condition]
    both = KeySample(one.hashes[here], one.counts[here], kept, one.certain[here], one.scale * two.scale)
    seen = np.minimum(mine if one.scale > 1 else np.inf, theirs if two.scale > 1 else np.inf)
    partners = theirs > 0
    return Matches(
        _total(mine * theirs, both, seen),
        _total(mine * partners, replace(both, scale=one.scale), mine),
        _total(((mine > 0) & partners).astype(float), replace(both, scale=1.0), seen),
    )


def _total(amounts: Numbers, sample: KeySample, seen: Numbers) -> Estimate:
    """The sum over all values of what was found for the sampled ones, and two standard deviations around it.

    Where the numbers come from a part of the rows, `seen` of each value, they are in doubt as well.
    """
    value = float(np.sum(amounts * sample.weights())) * sample.scale
    if sample.complete:
        return Estimate(value, value, value, "measured")
    light = amounts[~sample.certain]
    variance = float(np.sum(light**2)) * (1 - sample.kept) / sample.kept**2 * sample.scale**2
    if sample.scale > 1:
        variance += float(np.sum((amounts * sample.weights()) ** 2 / np.maximum(seen, 1.0))) * sample.scale**2
    spread = 2 * math.sqrt(variance)
    lower = max(min(float(np.sum(amounts)), value), value - spread)
    # nothing in n tries: fewer than three in n, 95 times in 100
    unseen = 0.0 if np.any(amounts) else 3 / sample.kept * sample.scale
    value = max(value, unseen / 6)
    return Estimate(value, lower, value + spread + unseen, "sampled")
