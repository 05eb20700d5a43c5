"""Offers: every way to keep a view, priced. What both cost models and the planner speak of.

A candidate is `strategy/algorithm`, and `query_modification` by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from costmodels.axis import CENTRE, DRAWN, FACTORS, QUERIES, UPDATES, Vector, full
from costmodels.spark import Step

QUERY_MODIFICATION = "query_modification"


@dataclass(frozen=True)
class Item:
    """Something that happens so many times a day, and the steps it takes each time."""

    what: str
    times: Vector
    steps: tuple[Step, ...]
    seconds: Vector
    """Of one time."""


@dataclass(frozen=True)
class Offer:
    """One way to keep a view, and what that costs."""

    candidate: str
    seconds: Vector
    """A day, along the axis."""
    items: tuple[Item, ...] = ()
    latency_seconds: float = 0.0
    """How long a read takes at worst."""
    every_seconds: float | None = None
    """The period of a refresh by the clock."""
    refreshes: float | None = None
    """How many refreshes a day it takes."""
    build_seconds: float = 0.0
    storage_bytes: float = 0.0
    others: float = 0.0
    """Seconds a day that it adds to the work of the views that are connected with this one; in `seconds` too."""
    declared: bool = False
    """Whether the workload says what it costs; the items are still those of the model."""

    @property
    def a_day(self) -> float:
        return float(self.seconds[CENTRE])


@dataclass(frozen=True)
class Rates:
    """How often a view's tables are updated and it is read, a day, along the axis."""

    updates: Vector
    queries: Vector


@dataclass(frozen=True)
class Offers:
    """All ways to keep one view."""

    view: str
    rates: Rates
    offers: Mapping[str, Offer]

    def costs(self, among: Iterable[str] | None = None) -> dict[str, float]:
        """Seconds a day of the candidates."""
        return {name: self.offers[name].a_day for name in (self.offers if among is None else among)}


def strategy_of(candidate: str) -> str:
    """
    >>> strategy_of("deferred/recompute")
    'deferred'
    """
    return candidate.partition("/")[0]


def algorithm_of(candidate: str) -> str | None:
    """The algorithm of a candidate; query modification has none."""
    return candidate.partition("/")[2] or None


def by_strategy(candidates: Mapping[str, float]) -> dict[str, float]:
    """The cost of each strategy with its best algorithm."""
    best: dict[str, float] = {}
    for candidate, cost in candidates.items():
        strategy = strategy_of(candidate)
        best[strategy] = min(cost, best.get(strategy, math.inf))
    return best


def cheapest(candidates: Mapping[str, float]) -> str:
    """The cheapest candidate; of equals the first, which is the simplest to operate.

    What a candidate saves other views can be more than it costs itself:

    >>> cheapest({"query_modification": 2.0, "deferred/counting": -1.5, "immediate/counting": -1.5})
    'deferred/counting'
    """
    least = min(candidates.values())
    return next(c for c, cost in candidates.items() if cost <= least + abs(least) * 1e-9 + 1e-12)


@dataclass(frozen=True)
class Turn:
    """Where another strategy becomes the cheapest, if only one rate changes."""

    rate: float
    above: bool
    strategy: str


def turning_point(
    offers: Offers,
    permitted: Iterable[str],
    what: str,
    strategy: str,
    kind: Callable[[str], str] = strategy_of,
) -> Turn | None:
    """The rate nearest to today's at which a strategy stops being the cheapest; None when the choice holds throughout.

    `what` is updates or queries; `kind` says what of a candidate must change. Costs between two points
    of the sweep are taken to lie on a straight line.
    """
    part = UPDATES if what == "updates" else QUERIES
    rate = float(getattr(offers.rates, what)[CENTRE])
    best: dict[str, Vector] = {}
    for candidate in permitted:
        cost, name = full(offers.offers[candidate].seconds)[part], kind(candidate)
        best[name] = np.minimum(cost, best[name]) if name in best else cost
    if rate <= 0 or len(best) < 2 or strategy not in best:
        return None
    others = {name: cost for name, cost in best.items() if name != strategy}
    wins = best[strategy] <= np.minimum.reduce(list(others.values())) * (1 + 1e-9) + 1e-12
    middle = int(np.argmin(np.abs(np.log(FACTORS))))
    if not wins[middle]:
        return None
    found = []
    for step in (1, -1):
        i = middle
        while 0 <= i + step < len(FACTORS) and wins[i + step]:
            i += step
        j = i + step
        if 0 <= j < len(FACTORS):
            rival = min(others, key=lambda name: float(others[name][j]))
            before, after = (float(others[rival][k] - best[strategy][k]) for k in (i, j))
            share = before / (before - after) if before > after else 1.0
            factor = FACTORS[i] + share * (FACTORS[j] - FACTORS[i])
            found.append(Turn(rate * float(factor), step > 0, rival))
    return min(found, key=lambda turn: abs(math.log(max(turn.rate, 1e-12) / rate)), default=None)


def confidence(offers: Offers, permitted: Iterable[str], choice: str) -> tuple[float, float]:
    """How often a choice is the cheapest when the estimates vary, and what it then costs too much a day."""
    drawn = {name: full(offers.offers[name].seconds)[DRAWN] for name in permitted}
    least = np.minimum.reduce(list(drawn.values()))
    over = drawn[choice] - least
    return float(np.mean(over <= least * 1e-9 + 1e-12)), float(np.mean(over))
