"""The recommendation: every view priced by a cost model, the cheapest permitted way chosen, and why.

How sure the choice is comes from drawing the estimates and coefficients from their ranges; how well the model fits the
machine is not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from typing import Literal

from advisor import page_estimates, page_model, wording
from advisor.offers import Offer, Offers, algorithm_of, by_strategy, confidence, strategy_of, turning_point
from advisor.planner import Decision, decide, offers_given, strategies
from advisor.proposal import FOLDER, Proposal, ViewProposal
from advisor.spark_model import SparkModel, demand_of
from costmodels.axis import Numbers, vector
from profiles.coefficients import MachineProfile, machine_profile, page_costs
from profiles.definitions import definitions_of
from profiles.queries import QueryHistory
from profiles.sources import all_statistics
from profiles.statistics import Estimate, TableStatistics
from profiles.workload import Workload
from storage.engine import priced_as
from views.definition import Definition
from views.errors import WorkloadError
from views.spelling import did_you_mean

ModelName = Literal["spark", "hanson"]


def recommend(
    workload: Workload,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    *,
    model: ModelName = "spark",
    statistics: Mapping[str, TableStatistics] | None = None,
    definitions: Mapping[str, Definition] | None = None,
    reads: Mapping[str, QueryHistory] | None = None,
) -> Proposal:
    """Price every selected view and choose; without statistics, those that logs and declarations give.

    `reads` are those that were observed: where a workload declares none they are taken.
    """
    known = all_statistics(workload) if statistics is None else statistics
    definitions = definitions_of(workload, known) if definitions is None else definitions
    chosen = selected_views(workload, definitions, select, exclude)
    machine = machine_profile(workload.folder / FOLDER, priced_as(workload.engine.kind))
    pages = page_costs(workload.folder / FOLDER, machine.engine) if model == "hanson" else None
    made = (
        _Hanson(gathered_views(workload, known), pages)
        if model == "hanson"
        else _Spark(workload, known, definitions, machine, reads=reads or {})
    )
    budget = workload.budget.storage if workload.budget is not None else None
    readers = readers_of(definitions)
    # Views that share a budget or read each other are decided together, also where only some of them are asked for.
    together = set(definitions) if budget is not None else connected(chosen, readers)
    views = {name: workload.views[name] for name in definitions if name in together}
    decisions = decide(views, {v: [r for r in readers[v] if r in together] for v in views}, made.price, budget)
    used = {name for view in chosen for name in made.base(view)}
    inputs = {f"file {name}": digest[:16] for name, digest in workload.digests.items()}
    inputs |= {f"table {name}": known[name].fingerprint for name in used}
    return Proposal(
        workload=workload.name,
        views={view: _proposed(decisions[view], workload, made) for view in chosen},
        tables=len(used),
        inputs=inputs,
        model=model,
        machine=None if model == "hanson" else machine,
        page_costs=pages,
        ignored=tuple(made.ignored(chosen)),
        price=workload.price,
        statistics={name: described(known[name]) for name in sorted(used)},
    )


def offers_as_kept(
    workload: Workload,
    statistics: Mapping[str, TableStatistics],
    definitions: Mapping[str, Definition],
    machine: MachineProfile,
    choice: Mapping[str, str],
    numbers: Numbers = vector,
    reads: Mapping[str, QueryHistory] | None = None,
) -> dict[str, Offers]:
    """What each way to keep each of some views costs, while the others of them are kept as chosen."""
    readers = {view: [r for r in above if r in choice] for view, above in readers_of(definitions).items()}
    made = _Spark(workload, statistics, definitions, machine, numbers, reads=reads or {})
    made.readers = readers
    return offers_given([view for view in definitions if view in choice], readers, made.price, choice)


def selected_views(
    workload: Workload, definitions: Mapping[str, Definition], select: Iterable[str], exclude: Iterable[str]
) -> list[str]:
    """Views by name or wildcard, in the file's order; `+name` also takes the views it reads."""

    def below(view: str) -> set[str]:
        direct = {name for name in definitions[view].relations if name in definitions}
        return direct.union(*(below(name) for name in direct))

    def matching(patterns: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for pattern in patterns:
            plain = pattern.removeprefix("+")
            names = {name for name in workload.views if fnmatchcase(name.casefold(), plain.casefold())}
            if not names:
                raise WorkloadError(f"no view matches {pattern!r}", did_you_mean(plain, workload.views, "views"))
            found |= names
            if pattern.startswith("+"):
                found = found.union(*(below(name) for name in names))
        return found

    select, exclude = list(select), list(exclude)
    wanted = (matching(select) if select else set(workload.views)) - matching(exclude)
    return [name for name in workload.views if name in wanted]


def readers_of(definitions: Mapping[str, Definition]) -> dict[str, list[str]]:
    """The views that read each view directly."""
    found: dict[str, list[str]] = {view: [] for view in definitions}
    for reader, definition in definitions.items():
        for name in dict.fromkeys(definition.relations):
            if name in found:
                found[name].append(reader)
    return found


def connected(views: Iterable[str], readers: Mapping[str, Sequence[str]]) -> set[str]:
    """Some views, and all that read them or are read by them, directly or through others."""
    read: dict[str, list[str]] = {}
    for below, above in readers.items():
        for view in above:
            read.setdefault(view, []).append(below)
    found, waiting = set[str](), list(views)
    while waiting:
        view = waiting.pop()
        if view not in found:
            found.add(view)
            waiting += [*readers[view], *read.get(view, ())]
    return found


def gathered_views(workload: Workload, statistics: Mapping[str, TableStatistics]) -> dict[str, page_estimates.Gathered]:
    """Every view as H87's page model sees it."""
    shapes = page_estimates.shapes_of(workload, page_estimates.catalog_of(workload, statistics))
    return {name: page_estimates.gather(workload, name, shapes[name], statistics) for name in workload.views}


class _Spark:
    """Prices by `advisor.spark_model`."""

    def __init__(
        self,
        workload: Workload,
        statistics: Mapping[str, TableStatistics],
        definitions: Mapping[str, Definition],
        machine: MachineProfile,
        numbers: Numbers = vector,
        reads: Mapping[str, QueryHistory] | None = None,
    ) -> None:
        self.model = SparkModel(workload, statistics, definitions, machine, numbers, reads or {})
        self.readers = readers_of(definitions)
        clocks = Counter(view.max_staleness for view in workload.views.values())
        self.sharers = {view: clocks[given.max_staleness] for view, given in workload.views.items()}

    def price(self, view: str, choice: Mapping[str, str], found: Mapping[str, Offer]) -> Offers:
        stored = [name for name in self.model.below(view) if strategy_of(choice[name]) != "query_modification"]
        demand = demand_of(self.model, view, choice, found, self.readers[view])
        return self.model.offers(view, stored, demand, self.sharers[view])

    def base(self, view: str) -> Iterable[str]:
        return self.model.view(view, ()).base

    def kind(self, view: str) -> str:
        return "spark"

    def approximations(self, view: str) -> tuple[str, ...]:
        return ()

    def defaults(self, view: str) -> tuple[str, ...]:
        mine = set(self.model.defaults.get(view, ()))
        for table in self.base(view):
            mine |= self.model.defaults.get(table, set())
            mine |= set(page_estimates.defaults_of_table(self.model.statistics[table]))
        return tuple(sorted(mine))

    def estimates(self, view: str) -> Mapping[str, Estimate]:
        return {"queries_per_day": self.model.query_rate(view)}

    def ignored(self, views: Iterable[str]) -> Iterator[str]:
        yield from ()


class _Hanson:
    """Prices by H87's page model: each view by itself, as the one of the three models that it resembles."""

    def __init__(self, gathered: Mapping[str, page_estimates.Gathered], costs: Mapping[str, float] | None) -> None:
        measured = page_model.PAPER if costs is None else page_model.PageCosts(**costs)
        self.gathered = {
            name: replace(each, model=replace(each.model, page_costs=measured)) for name, each in gathered.items()
        }
        self._offers: dict[str, Offers] = {}

    def price(self, view: str, choice: Mapping[str, str], found: Mapping[str, Offer]) -> Offers:
        if view not in self._offers:
            known = self.gathered[view]
            rows, row_bytes, selected = (known.estimates[n].value for n in ("rows", "row_bytes", "selected"))
            self._offers[view] = page_model.offers(view, known.model, known.estimates, rows * row_bytes * selected)
        return self._offers[view]

    def base(self, view: str) -> Iterable[str]:
        return self.gathered[view].shape.tables

    def kind(self, view: str) -> str:
        return f"hanson-1987/{self.gathered[view].model.model}"

    def approximations(self, view: str) -> tuple[str, ...]:
        return self.gathered[view].approximations

    def defaults(self, view: str) -> tuple[str, ...]:
        return self.gathered[view].defaults

    def estimates(self, view: str) -> Mapping[str, Estimate]:
        return self.gathered[view].estimates

    def ignored(self, views: Iterable[str]) -> Iterator[str]:
        for key in ("max_query_latency", "strict"):
            count = sum(1 for name in views if getattr(self.gathered[name].spec, key))
            if count:
                yield f"{key} of {count} view{'s' if count > 1 else ''}"


def _proposed(decision: Decision, workload: Workload, model: _Spark | _Hanson) -> ViewProposal:
    view, choice, permitted = decision.view, decision.choice, decision.permitted
    given, offer = workload.views[view], decision.offers.offers[choice]
    allowed = decision.offers.costs(permitted)
    strategy = strategy_of(choice)
    rivals = {name: cost for name, cost in by_strategy(allowed).items() if name != strategy}
    sure, regret = confidence(decision.offers, permitted, choice)
    saving = decision.offers.offers[decision.today].a_day - offer.a_day
    return ViewProposal(
        view=view,
        strategy=strategy,
        algorithm=algorithm_of(choice),
        every_seconds=offer.every_seconds,
        today=decision.today,
        today_declared=decision.today_declared,
        candidates=decision.offers.costs(),
        permitted=permitted,
        excluded=decision.excluded,
        costs=strategies(decision),
        next_best=min(rivals, key=lambda name: rivals[name], default=None),
        confidence=sure,
        expected_regret=regret,
        reason=wording.reason(decision, given, ", ".join(_updated(view, model, decision))),
        held=decision.held,
        pinned=given.strategy != "auto" or given.algorithm != "auto",
        model=model.kind(view),
        approximations=model.approximations(view),
        updates_turn=turning_point(decision.offers, permitted, "updates", strategy),
        queries_turn=turning_point(decision.offers, permitted, "queries", strategy),
        defaults=model.defaults(view),
        refreshes=offer.refreshes,
        build_seconds=offer.build_seconds,
        payback_days=offer.build_seconds / saving if saving > 0 and choice != decision.today else None,
        storage_bytes=offer.storage_bytes,
        latency_seconds=offer.latency_seconds,
        estimates={name: _estimate(each) for name, each in model.estimates(view).items()},
        offers=decision.offers,
    )


def _updated(view: str, model: _Spark | _Hanson, decision: Decision) -> Sequence[str]:
    """The tables under a view that are updated; all of them where none is."""
    known = model.model.statistics if isinstance(model, _Spark) else {t.name: t for t in model.gathered[view].tables}
    names = list(dict.fromkeys(model.base(view)))
    return sorted(n for n in names if known[n].updates_per_day.value > 0) or sorted(names)


def described(table: TableStatistics) -> dict[str, object]:
    """What was known of a table, for the proposal."""
    names = ("rows", "row_bytes", "files", "updates_per_day", "rows_per_update")
    return {name: _estimate(getattr(table, name)) for name in names}


def _estimate(estimate: Estimate) -> dict[str, object]:
    found = asdict(estimate)
    return {name: float(f"{v:.4g}") if isinstance(v, float) else v for name, v in found.items()}
