"""The first recommendation: every view priced with H87's page model, the cheapest permitted way chosen.

How sure the choice is comes from drawing the estimates from their ranges and pricing again; it does not say
how well the model fits the machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from fnmatch import fnmatchcase

from advisor import gathering, wording
from advisor.gathering import Gathered
from advisor.pricing import (
    QUERY_MODIFICATION,
    Quantities,
    algorithm_of,
    by_strategy,
    central,
    cheapest,
    price,
    strategy_of,
    turning_point,
)
from advisor.proposal import Proposal, ViewProposal
from profiles import specification as spec
from profiles.definitions import definitions_of
from profiles.statistics import Estimate
from profiles.workload import Workload
from views.errors import WorkloadError
from views.shape import Shape
from views.spelling import did_you_mean

DRAWS = 100
DEAD_ZONE = 1.1
"""What is done today stays unless something is this much cheaper."""


def recommend(workload: Workload, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> Proposal:
    """Price every selected view and choose."""
    statistics = gathering.all_statistics(workload)
    definitions_of(workload, statistics)  # what cannot be understood is not priced
    shapes = gathering.shapes_of(workload, gathering.catalog_of(workload, statistics))
    chosen = selected_views(workload, shapes, select, exclude)
    views = {name: _propose(gathering.gather(workload, name, shapes[name], statistics)) for name in chosen}
    used = {table for name in chosen for table in shapes[name].tables}
    inputs = {f"file {name}": digest[:16] for name, digest in workload.digests.items()}
    inputs |= {f"table {name}": statistics[name].fingerprint for name in used}
    return Proposal(workload.name, views, len(used), inputs, tuple(_ignored_by_model(workload, chosen)))


def selected_views(
    workload: Workload, shapes: Mapping[str, Shape], select: Iterable[str], exclude: Iterable[str]
) -> list[str]:
    """Views by name or wildcard, in the file's order; `+name` also takes the views it reads."""

    def matching(patterns: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for pattern in patterns:
            plain = pattern.removeprefix("+")
            names = {name for name in workload.views if fnmatchcase(name.casefold(), plain.casefold())}
            if not names:
                raise WorkloadError(f"no view matches {pattern!r}", did_you_mean(plain, workload.views, "views"))
            found |= names
            if pattern.startswith("+"):
                found |= {below for name in names for below in shapes[name].views}
        return found

    select, exclude = list(select), list(exclude)
    wanted = (matching(select) if select else set(workload.views)) - matching(exclude)
    return [name for name in workload.views if name in wanted]


def _propose(view: Gathered) -> ViewProposal:
    quantities = central(view.estimates)
    candidates = price(view.model, quantities)
    permitted = permitted_candidates(view.spec, candidates)
    allowed = {name: candidates[name] for name in permitted}
    today = _today(view.spec, view.model.incremental)
    best = cheapest(allowed)
    kept = view.spec.today is not None and today in allowed and allowed[today] <= allowed[best] * DEAD_ZONE
    choice = today if kept else best
    strategies = by_strategy(allowed)
    rivals = {name: cost for name, cost in strategies.items() if name != strategy_of(choice)}
    confidence, regret = _uncertainty(view, permitted, choice)
    pinned = view.spec.strategy != "auto" or view.spec.algorithm != "auto"
    updates_turn = queries_turn = None
    if rivals:
        updates_turn = turning_point(
            lambda rate: _only(price(view.model, replace(quantities, updates=rate)), permitted),
            quantities.updates,
            strategy_of(choice),
        )
        queries_turn = turning_point(
            lambda rate: _only(price(view.model, replace(quantities, queries=rate)), permitted),
            quantities.queries,
            strategy_of(choice),
        )
    return ViewProposal(
        view=view.name,
        strategy=strategy_of(choice),
        algorithm=algorithm_of(choice),
        today=today,
        today_declared=view.spec.today is not None,
        candidates=candidates,
        permitted=permitted,
        costs=by_strategy(candidates) | strategies,
        next_best=min(rivals, key=lambda name: rivals[name], default=None),
        confidence=confidence,
        expected_regret=regret,
        reason=wording.reason(view, quantities, candidates, choice, best if kept else None),
        pinned=pinned,
        model=view.model.model,
        approximations=view.approximations,
        updates_turn=updates_turn,
        queries_turn=queries_turn,
        defaults=view.defaults,
    )


def permitted_candidates(view: spec.View, candidates: Iterable[str]) -> tuple[str, ...]:
    """What the workload allows: its pins, and for external readers nothing that is left to query time."""
    allowed = []
    for candidate in candidates:
        strategy, algorithm = strategy_of(candidate), algorithm_of(candidate)
        if view.strategy not in ("auto", strategy):
            continue
        if view.algorithm != "auto" and algorithm != view.algorithm:
            continue
        by_clock = view.max_staleness is not None or view.strategy == "deferred"
        if view.readers == "external" and (strategy == QUERY_MODIFICATION or (strategy == "deferred" and not by_clock)):
            continue
        allowed.append(candidate)
    return tuple(allowed)


def _only(candidates: Mapping[str, float], permitted: Iterable[str]) -> dict[str, float]:
    return {name: candidates[name] for name in permitted}


def _today(view: spec.View, incremental: str) -> str:
    """The candidate in use now; a view that says nothing is an ordinary, virtual one."""
    if view.today is None:
        return "deferred/recompute" if view.readers == "external" else QUERY_MODIFICATION
    if view.today.strategy == QUERY_MODIFICATION:
        return QUERY_MODIFICATION
    algorithm = "recompute" if view.today.algorithm == "recompute" else incremental
    return f"{view.today.strategy}/{algorithm}"


def _uncertainty(view: Gathered, permitted: tuple[str, ...], choice: str) -> tuple[float, float]:
    """How often the choice is the cheapest when the estimates vary, and what it then costs too much a day."""
    chance = random.Random(f"{view.name}:{DRAWS}")
    wins, regret = 0, 0.0
    for _ in range(DRAWS):
        drawn = {field.name: _draw(view.estimates[field.name], chance) for field in fields(Quantities)}
        costs = _only(price(view.model, Quantities(**drawn)), permitted)
        least = min(costs.values())
        wins += costs[choice] <= least * (1 + 1e-9) + 1e-12
        regret += costs[choice] - least
    return wins / DRAWS, regret / DRAWS


def _draw(estimate: Estimate, chance: random.Random) -> float:
    """A value from the range: half above, half below the estimate, and near it rather than at the ends."""
    side = chance.triangular(-1.0, 1.0, 0.0)
    end = estimate.upper if side > 0 else estimate.lower
    if estimate.value > 0 and end > 0:
        return estimate.value * math.exp(abs(side) * math.log(end / estimate.value))
    return estimate.value + abs(side) * (end - estimate.value)


def _ignored_by_model(workload: Workload, views: Iterable[str]) -> Iterator[str]:
    if workload.budget is not None:
        yield "budget"
    if workload.price is not None:
        yield "price"
    for key in ("max_query_latency", "strict"):
        count = sum(1 for name in views if getattr(workload.views[name], key))
        if count:
            yield f"{key} of {count} view{'s' if count > 1 else ''}"
