"""Chooses how each view is kept: the cheapest permitted way, views that read each other together.

A view's alternatives are compared by what they cost in all: its own work, and what they change in the work of the
views that read it or that it reads. One view after the other takes what is cheapest given the others, then also a view
together with one that reads it, until none moves. Then the storage budget is kept, and what is done today stays where
the saving is not worth a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from advisor.offers import (
    QUERY_MODIFICATION,
    Offer,
    Offers,
    algorithm_of,
    by_strategy,
    cheapest,
    strategy_of,
)
from costmodels.axis import CENTRE, QUERIES, SIZE, UPDATES, Vector, constant, full
from profiles import specification as spec
from views.errors import WorkloadError

DEAD_ZONE = 1.1
"""What is done today stays unless something is this much cheaper."""
PAYBACK_DAYS = 30.0
"""A change whose building is not paid back in so many days is not made."""
_PASSES = 4
_PAIRED = 12
"""Views that read each other in larger groups than this move one at a time."""

Choice = dict[str, str]
"""By view, a candidate."""
Kept = Mapping[str, tuple[str, str]]
"""Views that are not free to take what is cheapest: the candidate that stays, and why."""
Pricer = Callable[[str, Mapping[str, str], Mapping[str, Offer]], Offers]
"""The offers of a view, given how the others are kept."""


@dataclass(frozen=True)
class Decision:
    """What was chosen for one view, from what, and what came in the way of the cheapest."""

    view: str
    choice: str
    offers: Offers
    """Each with what it changes in the work of other views."""
    permitted: tuple[str, ...]
    excluded: Mapping[str, str]
    """Candidates that were ruled out, and why."""
    today: str
    today_declared: bool
    held: str | None = None
    """Why the cheapest permitted candidate was not chosen; None where it was."""

    @property
    def best(self) -> str:
        """The cheapest permitted candidate."""
        return cheapest(self.offers.costs(self.permitted))


def decide(
    views: Mapping[str, spec.View],
    readers: Mapping[str, Sequence[str]],
    price: Pricer,
    budget_bytes: float | None = None,
) -> dict[str, Decision]:
    """The choice for every view; `views` has each after those it reads, `readers` those that read each directly."""
    groups = [_Group(tuple(names), price) for names in components(views, readers)]
    found: dict[str, Decision] = {}
    for group in groups:
        found |= _decided(group, views, readers, {})
    if budget_bytes is not None:
        found = _within(budget_bytes, found, groups, views, readers)
    return {view: found[view] for view in views}


def offers_given(
    views: Iterable[str], readers: Mapping[str, Sequence[str]], price: Pricer, choice: Mapping[str, str]
) -> dict[str, Offers]:
    """The offers of every view, each with what it changes in the work of others, when these are kept as chosen."""
    found: dict[str, Offers] = {}
    for names in components(views, readers):
        group = _Group(tuple(names), price)
        found |= {view: _with_others(view, {name: choice[name] for name in names}, group) for view in names}
    return found


def permitted_candidates(view: spec.View, offers: Offers) -> tuple[tuple[str, ...], dict[str, str]]:
    """What the workload allows, and why the rest is ruled out."""
    allowed, excluded = [], {}
    for candidate, offer in offers.offers.items():
        strategy, algorithm = strategy_of(candidate), algorithm_of(candidate)
        by_clock = view.max_staleness is not None or view.strategy == "deferred"
        if view.strategy not in ("auto", strategy) or view.algorithm not in ("auto", algorithm):
            excluded[candidate] = "pinned to something else"
        elif view.readers == "external" and strategy == QUERY_MODIFICATION:
            excluded[candidate] = "others read it as a table"
        elif view.readers == "external" and strategy == "deferred" and not by_clock:
            excluded[candidate] = "others read it as a table, and it may not be stale"
        elif view.max_query_latency is not None and offer.latency_seconds > view.max_query_latency:
            excluded[candidate] = "a read would take too long"
        else:
            allowed.append(candidate)
    if not allowed:
        too_slow = [c for c, why in excluded.items() if why == "a read would take too long"]
        if not too_slow:
            raise WorkloadError(
                f"view {offers.view!r}: no installed algorithm does what its pins ask for",
                "remove the pin, or run advisor explain to see which algorithms apply",
            )
        fastest = min(too_slow, key=lambda c: offers.offers[c].latency_seconds)
        allowed, excluded = [fastest], {c: w for c, w in excluded.items() if c != fastest}
    return tuple(allowed), excluded


def components(views: Iterable[str], readers: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Views that are connected by reading each other, in order."""
    root = {view: view for view in views}

    def find(view: str) -> str:
        while root[view] != view:
            view = root[view]
        return view

    for view, above in readers.items():
        for reader in above:
            root[find(reader)] = find(view)
    groups: dict[str, list[str]] = {}
    for view in root:
        groups.setdefault(find(view), []).append(view)
    return list(groups.values())


@dataclass
class _Group:
    """Views that are connected by reading each other, priced together; each stands after those it reads."""

    views: tuple[str, ...]
    price: Pricer
    _priced: dict[tuple[str, ...], tuple[dict[str, Offers], dict[str, Offer]]] = field(default_factory=dict)

    def priced(self, choice: Choice) -> tuple[dict[str, Offers], dict[str, Offer]]:
        """What each view is offered when they are kept so, and the offer that it takes."""
        key = tuple(choice[view] for view in self.views)
        if key not in self._priced:
            made: dict[str, Offers] = {}
            taken: dict[str, Offer] = {}
            for view in reversed(self.views):
                made[view] = self.price(view, choice, taken)
                taken[view] = _offered(made[view], choice[view])
            self._priced[key] = made, taken
        return self._priced[key]

    def cost(self, choice: Choice) -> float:
        """What they cost a day when they are kept so."""
        return sum(offer.a_day for offer in self.priced(choice)[1].values())


def _decided(
    group: _Group, views: Mapping[str, spec.View], readers: Mapping[str, Sequence[str]], kept: Kept
) -> dict[str, Decision]:
    """The choices of a group; where what is done today stays, the others are decided again beside it."""
    while True:
        choice = _settled(group, views, readers, kept)
        found = {view: _decision(view, views[view], choice, group, kept.get(view)) for view in group.views}
        held = {view: (each.choice, each.held) for view, each in found.items() if each.held and view not in kept}
        if len(group.views) == 1 or all(found[view].choice == choice[view] for view in held):
            return found
        kept = {**kept, **held}


def _settled(group: _Group, views: Mapping[str, spec.View], readers: Mapping[str, Sequence[str]], kept: Kept) -> Choice:
    """Let one view after the other take what makes the group cheapest, then also views with their readers."""
    choice = dict.fromkeys(group.views, QUERY_MODIFICATION) | {view: candidate for view, (candidate, _) in kept.items()}
    found: dict[str, Offer] = {}
    for view in reversed(group.views):
        offers = group.price(view, choice, found)
        if view not in kept:
            allowed, _ = permitted_candidates(views[view], offers)
            choice[view] = cheapest(offers.costs(allowed))
        choice[view] = _offered(offers, choice[view]).candidate
        found[view] = offers.offers[choice[view]]
    if len(group.views) == 1:
        return choice
    free = [view for view in group.views if view not in kept]
    alone = [[view] for view in free]
    paired = len(group.views) <= _PAIRED
    pairs = [[view, above] for view in free for above in readers[view] if above not in kept] if paired else []
    for moves in [alone, alone + pairs]:
        for _ in range(_PASSES):
            moved = False
            for these in moves:
                least, (made, _) = group.cost(choice), group.priced(choice)
                ways = [permitted_candidates(views[view], made[view])[0] for view in these]
                for candidates in product(*ways):
                    trial = {**choice, **dict(zip(these, candidates, strict=True))}
                    cost = group.cost(trial)
                    if cost < least * (1 - 1e-9):
                        least, choice, moved = cost, trial, True
            if not moved:
                break
    return {view: offer.candidate for view, offer in group.priced(choice)[1].items()}


def _offered(offers: Offers, candidate: str) -> Offer:
    """A candidate's offer; where its algorithm does not apply to what is stored below, the cheapest of its strategy."""
    if candidate in offers.offers:
        return offers.offers[candidate]
    same = [name for name in offers.offers if strategy_of(name) == strategy_of(candidate)]
    return offers.offers[cheapest(offers.costs(same))]


def _decision(
    view: str, given: spec.View, choice: Choice, group: _Group, kept: tuple[str, str] | None = None
) -> Decision:
    mine = _with_others(view, choice, group)
    permitted, excluded = permitted_candidates(given, mine)
    today = today_of(given, mine)
    declared = given.today.seconds if given.today is not None else None
    if declared is not None and today in mine.offers:
        known = replace(mine.offers[today], seconds=_declared(mine.offers[today], declared), declared=True)
        mine = replace(mine, offers={**mine.offers, today: known})
    costs = mine.costs(permitted)
    best, held = cheapest(costs), None
    chosen = best
    if kept is not None:
        chosen = _offered(mine, kept[0]).candidate
        held = kept[1] if chosen != best else None
    elif given.today is not None and today in permitted and today != best:
        saving = costs[today] - costs[best]
        build = mine.offers[best].build_seconds
        if costs[today] <= costs[best] * DEAD_ZONE:
            chosen, held = today, "dead zone"
        elif saving * PAYBACK_DAYS < build:
            chosen, held = today, "payback"
    return Decision(view, chosen, mine, permitted, excluded, today, given.today is not None, held)


def _declared(offer: Offer, seconds: float) -> Vector:
    """What is declared of an offer, without doubt; at other rates it grows as the model says."""
    found = np.full(SIZE, seconds)
    if offer.a_day > 0:
        for part in (UPDATES, QUERIES):
            found[part] = full(offer.seconds)[part] * (seconds / offer.a_day)
    return found


def _with_others(view: str, choice: Choice, group: _Group) -> Offers:
    """A view's offers, each with what it changes in the work of the views that it is connected with, its group."""
    now, taken = group.priced(choice)
    if len(group.views) == 1:
        return now[view]

    def others(taken: Mapping[str, Offer]) -> Vector:
        return sum((offer.seconds for each, offer in taken.items() if each != view), constant(0.0))

    before, found = others(taken), {}
    for candidate in now[view].offers:
        made, taken = group.priced({**choice, view: candidate})
        offer = made[view].offers[candidate]
        more = others(taken) - before
        found[candidate] = replace(offer, seconds=offer.seconds + more, others=float(more[CENTRE]))
    return replace(now[view], offers=found)


def today_of(view: spec.View, offers: Offers) -> str:
    """The candidate in use now; a view that says nothing is an ordinary, virtual one."""
    if view.today is None:
        return "deferred/recompute" if view.readers == "external" else QUERY_MODIFICATION
    if view.today.strategy == QUERY_MODIFICATION:
        return QUERY_MODIFICATION
    wanted = view.today.algorithm
    if wanted is None or f"{view.today.strategy}/{wanted}" not in offers.offers:
        mine = {c: o.a_day for c, o in offers.offers.items() if strategy_of(c) == view.today.strategy}
        incremental = {c: cost for c, cost in mine.items() if algorithm_of(c) != "recompute"}
        return cheapest(incremental or mine)
    return f"{view.today.strategy}/{wanted}"


def _within(
    budget_bytes: float,
    decided: Mapping[str, Decision],
    groups: Iterable[_Group],
    views: Mapping[str, spec.View],
    readers: Mapping[str, Sequence[str]],
) -> dict[str, Decision]:
    """Give up what costs least per byte until what is stored fits; those connected with it are decided again."""
    found, kept = dict(decided), dict[str, tuple[str, str]]()
    group_of = {view: group for group in groups for view in group.views}

    def size(decision: Decision) -> float:
        return decision.offers.offers[decision.choice].storage_bytes

    while sum(map(size, found.values())) > budget_bytes:
        moves = []
        for view, decision in found.items():
            mine = decision.offers.offers[decision.choice]
            for candidate in decision.permitted:
                other = decision.offers.offers[candidate]
                freed = mine.storage_bytes - other.storage_bytes
                if freed > 0:
                    moves.append(((other.a_day - mine.a_day) / freed, view, candidate))
        if not moves:
            taken = sum(map(size, found.values()))
            raise WorkloadError(
                f"the views that must be stored take {taken:,.0f} bytes, more than the budget",
                "raise budget.storage, or let other views be virtual",
            )
        _, view, candidate = min(moves)
        kept[view] = candidate, "budget"
        group = group_of[view]
        found |= _decided(group, views, readers, {name: kept[name] for name in group.views if name in kept})
    return found


def strategies(decision: Decision) -> dict[str, float]:
    """The cost of each strategy with its best permitted algorithm, of those that are ruled out with the best of all."""
    return by_strategy(decision.offers.costs()) | by_strategy(decision.offers.costs(decision.permitted))
