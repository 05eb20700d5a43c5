"""Prices every way to keep a view with H87's page model, in seconds a day.

The paper prices immediate, deferred and query modification. Recomputing is priced here with its page and
tuple costs: the definition is evaluated in full and the view's pages are written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from costmodels import hanson
from profiles.statistics import Estimate

QUERY_MODIFICATION = "query_modification"
_READ = {1: hanson.C_query1, 2: hanson.C_query2, 3: hanson.C_query3}
_costs = lru_cache(maxsize=16)(hanson.costs)
RARELY = 0.001
"""Queries a day below which the formulas, which are per query, are no longer followed."""


@dataclass(frozen=True)
class Quantities:
    """The numbers that decide, one value each; updates and queries are per day."""

    rows: float
    row_bytes: float
    updates: float
    rows_per_update: float
    queries: float
    selected: float
    """Fraction of the largest table that the view selects (f)."""
    queried: float
    """Fraction of the view that a query reads (f_v)."""
    others: float
    """Rows of the other tables as a fraction of the largest (f_R2)."""


@dataclass(frozen=True)
class ViewModel:
    """What of a view stays fixed while its quantities vary."""

    model: int
    incremental: str
    """The algorithm that applies changes."""
    selected_by_layout: bool
    """The view's condition lets a scan skip pages of the largest table."""
    queried_by_layout: bool
    """So does the condition that queries add."""
    moments_a_day: float | None = None
    """The most refreshes that the allowed staleness makes necessary; None when every query needs fresh rows."""
    batches_a_day: float | None = None
    """How often updates come, where they come together at fixed times."""
    scheduled: bool = False
    """Deferred refreshes come by the clock, because readers do not pass through the advisor."""


def parameters(q: Quantities) -> hanson.Parameters:
    """The paper's symbols for these quantities, moved into the range where the formulas are defined."""
    paper = hanson.Parameters()
    rows = max(q.rows, 1.0)
    return replace(
        paper,
        N=rows,
        S=min(max(q.row_bytes, 1.0), paper.B),
        k=q.updates,
        l=q.rows_per_update,
        q=max(q.queries, RARELY),
        f=min(max(q.selected, 1 / rows), 1.0),
        f_v=min(max(q.queried, 0.0), 1.0),
        f_R2=q.others,
    )


def price(view: ViewModel, quantities: Quantities) -> dict[str, float]:
    """Seconds a day of every candidate: `strategy/algorithm`, and query modification by itself."""
    p = parameters(quantities)
    read = p.q * _READ[view.model](p)
    rebuild = modified_query(view, p if p.f_v == 1 else replace(p, f_v=1.0)) + p.C2 * view_pages(view, p)
    moments = most_moments(view, p)
    refreshes = moments if view.batches_a_day is not None else moments * p.k / (moments + p.k)
    milliseconds = {
        QUERY_MODIFICATION: quantities.queries * modified_query(view, p),
        f"immediate/{view.incremental}": p.q * _costs(view.model, p)["immediate"],
        "immediate/recompute": p.k * rebuild + read,
        f"deferred/{view.incremental}": deferred(view, p)[0],
        "deferred/recompute": refreshes * rebuild + read,
    }
    return {candidate: cost / 1000 for candidate, cost in milliseconds.items()}


def most_moments(view: ViewModel, p: hanson.Parameters) -> float:
    """Moments a day at which a deferred view must be looked after.

    The paper refreshes with every query; allowed staleness and updates that come together make it fewer. Of k
    updates and m moments in random order, k·m/(k+m) moments find a change; batches are found by one each.
    """
    moments = p.q if view.moments_a_day is None else view.moments_a_day
    if not view.scheduled:
        moments = min(moments, p.q)
    if view.batches_a_day is not None:
        moments = min(moments, view.batches_a_day)
    return max(moments, RARELY)


def deferred(view: ViewModel, p: hanson.Parameters) -> tuple[float, float]:
    """Milliseconds a day of deferred maintenance, and the refreshes a day that make it cheapest.

    Waiting longer is allowed staleness, not a duty: a small AD is cheaper to keep than a large one.
    """
    moments = {most_moments(view, p)}
    if not view.scheduled and view.batches_a_day is None:
        moments.add(p.q)
    read = _READ[view.model](p)
    return min(
        (m * (_costs(view.model, p if m == p.q else replace(p, q=m))["deferred"] - read) + p.q * read, m)
        for m in moments
    )


def modified_query(view: ViewModel, p: hanson.Parameters) -> float:
    """Milliseconds to answer one query from the base tables.

    The scan reads the part of the largest table that its layout cannot skip: TOTAL_clustered where the layout
    follows the conditions, TOTAL_sequential where it follows none. A join adds the rest of TOTAL_loopjoin.
    """
    scan = (hanson.C_sequential_scan(p) + hanson.C_test_all(p)) * scanned_fraction(view, p)
    return scan + hanson.C_search(p) + hanson.C_probe(p) + hanson.C_match(p) if view.model == 2 else scan


def scanned_fraction(view: ViewModel, p: hanson.Parameters) -> float:
    """The part of the largest table that one query from the base tables reads; an aggregate needs all it selects."""
    selected = p.f if view.selected_by_layout else 1.0
    return selected * (p.f_v if view.queried_by_layout and view.model != 3 else 1.0)


def view_pages(view: ViewModel, p: hanson.Parameters) -> float:
    """Pages of the stored view: half-width tuples for a selection, full width for a join, one page of state."""
    return {1: p.f * p.b / 2, 2: p.f * p.b, 3: 1.0}[view.model]


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
    """The cheapest candidate; of equals the first, which is the simplest to operate."""
    least = min(candidates.values())
    return next(c for c, cost in candidates.items() if cost <= least * (1 + 1e-9) + 1e-12)


@dataclass(frozen=True)
class Turn:
    """Where another strategy becomes the cheapest, if only one rate changes."""

    rate: float
    above: bool
    strategy: str


def turning_point(costs_at: Callable[[float], Mapping[str, float]], rate: float, strategy: str) -> Turn | None:
    """The rate nearest to `rate` at which `strategy` stops being the cheapest, found by bisection.

    Looks from a thousandth to a thousand times the rate; None when the choice holds throughout.
    """

    def winner(at: float) -> str:
        return strategy_of(cheapest(costs_at(at)))

    start = rate if rate > 0 else 0.01
    if winner(start) != strategy:
        return None
    found: list[Turn] = []
    for direction in (1, -1) if rate > 0 else (1,):
        inside = start
        for step in range(1, 10):
            outside = start * 10 ** (direction * step / 3)
            if winner(outside) == strategy:
                inside = outside
                continue
            for _ in range(16):
                middle = math.sqrt(inside * outside)
                inside, outside = (middle, outside) if winner(middle) == strategy else (inside, middle)
            found.append(Turn(outside, direction > 0, winner(outside)))
            break
    return min(found, key=lambda turn: abs(math.log(turn.rate / start)), default=None)


def central(estimates: Mapping[str, Estimate]) -> Quantities:
    """The quantities at the estimates' values."""
    return Quantities(**{field.name: estimates[field.name].value for field in fields(Quantities)})
