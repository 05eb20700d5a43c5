"""Prices every way to keep a view with H87's page model: in seconds a day of a disk of 1987, or of what was measured.

The paper prices immediate, deferred and query modification. Recomputing is priced here with its page and
tuple costs: the definition is evaluated in full and the view's pages are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from advisor.offers import QUERY_MODIFICATION, Item, Offer, Offers, Rates, strategy_of
from costmodels import hanson
from costmodels.axis import CENTRE, QUERIES, SIZE, UPDATES, Vector, constant, full, swept, vector
from profiles.statistics import Estimate

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
class PageCosts:
    """Milliseconds to screen a tuple, to read or write a page, and to keep a tuple in A or D (C1, C2, C3)."""

    C1: float
    C2: float
    C3: float


PAPER = PageCosts(hanson.Parameters().C1, hanson.Parameters().C2, hanson.Parameters().C3)


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
    page_costs: PageCosts = PAPER


def parameters(q: Quantities, costs: PageCosts = PAPER) -> hanson.Parameters:
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
        C1=costs.C1,
        C2=costs.C2,
        C3=costs.C3,
    )


def price(view: ViewModel, quantities: Quantities) -> dict[str, float]:
    """Seconds a day of every candidate: `strategy/algorithm`, and query modification by itself."""
    p = parameters(quantities, view.page_costs)
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


def offers(view: str, model: ViewModel, estimates: Mapping[str, Estimate], size_bytes: float) -> Offers:
    """Every way to keep a view, priced along the axis."""
    along = {name: vector(estimate, f"{view}.{name}") for name, estimate in estimates.items()}
    along["updates"], along["queries"] = swept(along["updates"], UPDATES), swept(along["queries"], QUERIES)
    drawn = {name: full(number) for name, number in along.items()}
    points = [Quantities(**{name: float(number[i]) for name, number in drawn.items()}) for i in range(SIZE)]
    prices = [price(model, each) for each in points]
    found = {c: np.asarray([each[c] for each in prices]) for c in prices[CENTRE]}
    here = points[CENTRE]
    return Offers(
        view,
        Rates(along["updates"], along["queries"]),
        {
            c: Offer(c, seconds, tuple(_items(model, here, c, seconds)), storage_bytes=_stored(c) * size_bytes)
            for c, seconds in found.items()
        },
    )


def seconds_of(model: ViewModel, q: Quantities, candidate: str, what: str) -> float | None:
    """One read, update or refresh under a candidate, in seconds; None where it has none."""
    whole = constant(price(model, q)[candidate])
    return next((float(i.seconds[CENTRE]) for i in _items(model, q, candidate, whole) if i.what == what), None)


def _stored(candidate: str) -> float:
    return 0.0 if candidate == QUERY_MODIFICATION else 1.0


def _items(model: ViewModel, q: Quantities, candidate: str, seconds: Vector) -> Iterator[Item]:
    """What a candidate does at the estimates' values: how often, and what it takes each time."""
    p = parameters(q, model.page_costs)
    whole = float(seconds[CENTRE])
    if candidate == QUERY_MODIFICATION:
        yield Item("read", constant(q.queries), (), constant(modified_query(model, p) / 1000))
        return
    read = _READ[model.model](p) / 1000
    rest = max(whole - p.q * read, 0.0)
    strategy = strategy_of(candidate)
    if strategy == "immediate":
        times, what = q.updates, "update"
    else:
        moments = most_moments(model, p) if candidate.endswith("/recompute") else deferred(model, p)[1]
        times, what = (moments * p.k / (moments + p.k) if p.k else 0.0), "refresh"
    if times:
        yield Item(what, constant(times), (), constant(rest / times))
    yield Item("read", constant(q.queries), (), constant(read))
