"""`advisor report`: what was recommended, known and measured of a workload, as one HTML page. No engine is started."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.answers import delta_explanation, kept_label
from advisor.offers import Offer, strategy_of, turning_point
from advisor.output import priced_by, turn_text
from advisor.plan import earlier_plans, read_plan
from advisor.proposal import FOLDER, Proposal, ViewProposal
from advisor.variation import COEFFICIENT, SHARES, Ends, Variation
from advisor.wording import label
from costmodels.axis import CENTRE, FACTORS, UPDATES, Vector, full
from costmodels.spark import Prices, prices_of
from profiles.statistics import TableStatistics
from reports import results
from reports.page import render
from views.errors import WorkloadError
from views.text import rules_text

if TYPE_CHECKING:
    from advisor.api import Advisor
    from executors.keeping import Keeping

_COMPONENT = {
    "sessions": 0, "statements": 0, "reads": 0, "jobs": 0,
    "files_read": 1, "bytes_read": 1, "rows_read": 1,
    "rows_joined": 2, "shuffles": 2, "rows_shuffled": 2,
    "driver_rows": 3, "rows_removed": 3,
    "rows_written": 4, "files_written": 4, "commits": 4,
}  # fmt: skip
"""By quantity, the place in `results.COMPONENTS` of what it is a part of."""
_OF_SUBJECT = {
    "rows": "rows of {}",
    "files": "files of {}",
    "updates": "updates of {} a day",
    "update rows": "rows an update of {} changes",
    "queries": "reads of {} a day",
    "fraction": "part of {} a read takes",
}
_OF_COLUMN = {
    "values": "distinct values of {}",
    "bytes": "bytes of {} a row",
    "overlap": "files that hold a value of {}",
}
_ALWAYS = (".rows", ".updates", ".update rows", ".queries", ".fraction")
_NOTHING = 5e-4
"""What moves the cost by a smaller part than this is not shown."""
NO_TRAFFIC = (
    "No updates of its tables, or no reads, are known, so there is no map of who wins where. Declare"
    " updates: {per_day: …} at its tables and queries: {per_day: …} at the view, or let the advisor see them."
)
NO_TABLE = "The view joins stored views only, or has no rules, so no part of a table can be varied; see what it reads."


def write_report(advisor: Advisor, target: str, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> Path:
    """Save the report of a workload as an HTML file."""
    path = Path(target)
    if path.suffix.lower() not in (".html", ".htm"):
        raise WorkloadError(f"{target!r}: a report is an HTML page", "give a name like report.html")
    path.write_text(render(report(advisor, select, exclude)), encoding="utf-8")
    return path


def report(advisor: Advisor, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> results.Report:
    """What the page shows of the selected views."""
    shown = advisor.selected(select, exclude)
    proposal = advisor.proposal(sample_rows=0)
    statistics = advisor.profile(sample_rows=0)
    variation = Variation(advisor.workload, statistics, advisor.definitions, proposal)
    views = tuple(_view(advisor, variation, proposal.views[name]) for name in shown)
    reached = {name for view in views for name in view.reads} | {n for v in shown for n in _base(advisor, v)}
    folder = advisor.workload.folder
    return results.Report(
        workload=advisor.workload.name,
        priced_by=priced_by(proposal),
        views=views,
        tables=tuple(_table(statistics[name]) for name in statistics if name in reached),
        price=_price(proposal),
        changes=tuple(_changes(proposal, shown, read_plan(folder).views)),
        plans=tuple(_plans(folder)),
        notes=tuple(_notes(advisor, proposal)),
        made_from={**proposal.inputs},
    )


def _base(advisor: Advisor, view: str) -> Iterator[str]:
    for name in advisor.definitions[view].relations:
        yield from (_base(advisor, name) if name in advisor.definitions else (name,))


def _view(advisor: Advisor, variation: Variation, chosen: ViewProposal) -> results.View:
    definition = advisor.definitions[chosen.view]
    machine = variation.proposal.machine
    assert machine is not None
    prices = prices_of(machine)
    offers = chosen.offers
    candidates = tuple(_candidate(offer, chosen, prices) for offer in offers.offers.values())
    updates, queries = (float(rate[CENTRE]) for rate in (offers.rates.updates, offers.rates.queries))
    return results.View(
        name=chosen.view,
        definition=advisor.workload.sql.get(chosen.view) or advisor.workload.views[chosen.view].datalog or "",
        rules=rules_text(definition.program) if definition.program is not None else "",
        delta=delta_explanation(definition) if definition.program is not None else "",
        reads=definition.relations,
        candidates=candidates,
        today=chosen.today,
        chosen=chosen.candidate,
        because=chosen.reason,
        confidence=chosen.confidence,
        regret=chosen.expected_regret,
        updates_a_day=updates,
        reads_a_day=queries,
        refreshes_a_day=chosen.refreshes,
        pinned=chosen.pinned,
        held=chosen.held is not None,
        turns=tuple(_turns(chosen)),
        defaults=chosen.defaults,
        reasons=tuple(results.Reason(each.code, each.where, each.remedy) for each in definition.reasons),
        sweep=_sweep(chosen, updates, queries),
        surface=_surface(variation, chosen, updates, queries),
        no_surface=NO_TRAFFIC if updates <= 0 or queries <= 0 else NO_TABLE,
        influences=tuple(_influences(variation.ends(chosen.view), chosen)),
    )


def way(candidate: str) -> str:
    """What gives a candidate its colour: its strategy, or that it recomputes."""
    return "full refresh" if candidate.endswith("/recompute") else strategy_of(candidate).replace("_", " ")


def _turns(chosen: ViewProposal) -> Iterator[str]:
    """The rates at which another way to keep the view becomes the cheapest, in words."""
    for rates, what in (("updates", "updates"), ("queries", "reads")):
        turn = turning_point(chosen.offers, chosen.permitted, rates, way(chosen.candidate), way)
        if turn is not None:
            yield turn_text("it", turn, what)


def _candidate(offer: Offer, chosen: ViewProposal, prices: Prices) -> results.Candidate:
    return results.Candidate(
        name=offer.candidate,
        label=label(offer.candidate),
        way=way(offer.candidate),
        seconds=offer.a_day,
        components=components(offer, prices),
        items=tuple(results.Item(i.what, float(i.times[CENTRE]), float(i.seconds[CENTRE])) for i in offer.items),
        excluded=chosen.excluded.get(offer.candidate),
        declared=offer.declared,
        build_seconds=offer.build_seconds,
        storage_bytes=offer.storage_bytes,
        latency_seconds=offer.latency_seconds,
    )


def components(offer: Offer, prices: Prices) -> dict[str, float]:
    """Seconds a day by what they go into; the model's parts, scaled to what is declared where that is."""
    found = dict.fromkeys(results.COMPONENTS, 0.0)
    for item in offer.items:
        for _, work in item.steps:
            for quantity, amount in work.quantities.items():
                name = results.COMPONENTS[_COMPONENT[quantity]]
                found[name] += float((item.times * amount * prices[quantity])[CENTRE])
    found["other views"] = offer.others
    whole = sum(found.values())
    if offer.declared and whole <= 0:
        return {"as declared": offer.a_day}
    scale = offer.a_day / whole if offer.declared else 1.0
    return {name: seconds * scale for name, seconds in found.items() if seconds}


def by_way(costs: Mapping[str, Vector]) -> dict[str, Vector]:
    """Per way to keep a view the cost of the cheapest of its candidates."""
    found: dict[str, Vector] = {}
    for name, cost in costs.items():
        found[way(name)] = np.minimum(cost, found[way(name)]) if way(name) in found else cost
    return found


def _sweep(chosen: ViewProposal, updates: float, queries: float) -> results.Sweep | None:
    if updates <= 0 or queries <= 0:
        return None
    rates = [updates * float(factor) for factor in FACTORS]
    shares = [rate / (rate + queries) for rate in rates]
    offers = {name: full(chosen.offers.offers[name].seconds)[UPDATES] for name in chosen.permitted}
    costs = {name: tuple(cost.tolist()) for name, cost in by_way(offers).items()}
    return results.Sweep(tuple(rates), tuple(shares), costs, updates, queries)


def _surface(variation: Variation, chosen: ViewProposal, updates: float, queries: float) -> results.Surface | None:
    found = variation.surface(chosen.view)
    if found is None:
        return None
    costs = by_way({name: np.asarray(cost) for name, cost in found.costs.items()})
    squares = {name: tuple(map(tuple, cost.tolist())) for name, cost in costs.items()}
    return results.Surface(found.table, found.parts, SHARES, squares, found.part, updates / (updates + queries))


def _influences(found: Iterable[Ends], chosen: ViewProposal) -> Iterator[results.Influence]:
    """The numbers that matter, or that a person would ask for."""
    for each in found:
        costs = by_way({name: np.asarray(ends) for name, ends in each.costs.items()})
        mine = each.costs[chosen.candidate]
        swing = max(mine) - min(mine)
        if swing > _NOTHING * chosen.seconds or each.name.endswith(_ALWAYS):
            best = [min(costs, key=lambda way, end=end: float(costs[way][end])) for end in (0, 1)]  # type: ignore[misc]
            beaten = [
                name if name != way(chosen.candidate) and costs[name][end] < mine[end] * (1 - 1e-9) else None
                for end, name in enumerate(best)
            ]
            e = each.estimate
            yield results.Influence(
                spoken(each.name),
                e.value,
                e.lower,
                e.upper,
                e.source,
                mine,
                (beaten[0], beaten[1]),
                time=each.name.startswith(COEFFICIENT),
            )


def spoken(name: str) -> str:
    """What a number of the model is called.

    >>> spoken("orders.update rows"), spoken("coefficient rows_read"), spoken("orders: `o_k` > 5")
    ('rows an update of orders changes', 'price of rows read', 'part of orders with o_k > 5')
    """
    if name.startswith(COEFFICIENT):
        return f"price of {name.removeprefix(COEFFICIENT).replace('_', ' ')}"
    table, colon, what = name.partition(": ")
    what = what.replace("`", "")
    if colon:
        left, equals, right = what.partition("=")
        if equals and " " not in what:
            return f"pairs of {table}.{left} and {right}"
        simple = what.replace(", ", "").replace("_", "").isalnum()
        return f"combinations of {what} in {table}" if simple else f"part of {table} with {what}"
    subject, _, what = name.partition(".")
    column, _, kind = what.rpartition(" ")
    if column and kind in _OF_COLUMN:
        return _OF_COLUMN[kind].format(f"{subject}.{column}")
    return _OF_SUBJECT[what].format(subject)


def _table(table: TableStatistics) -> results.Table:
    return results.Table(table.name, table.rows.value, table.updates_per_day.value, table.rows_per_update.value)


def _price(proposal: Proposal) -> results.Price | None:
    if proposal.price is None or proposal.machine is None:
        return None
    return results.Price(proposal.price.core_hour * proposal.machine.cores / 3600, proposal.price.currency)


def _changes(proposal: Proposal, shown: Iterable[str], active: Mapping[str, Keeping]) -> Iterator[results.PlanChange]:
    """What the proposal would change of the plan in force."""
    for name in shown:
        chosen = proposal.views[name]
        if name in active and active[name].candidate != chosen.candidate:
            yield results.PlanChange(name, kept_label(active[name]), label(chosen.candidate), chosen.reason)


def _plans(folder: Path) -> Iterator[results.Plan]:
    active, earlier = read_plan(folder).views, earlier_plans(folder)
    for number, plan in earlier:
        if plan.views != active:
            yield results.Plan(number, _labels(plan.views))
    if active:
        yield results.Plan(earlier[-1][0] + 1 if earlier else 1, _labels(active), active=True)


def _labels(views: Mapping[str, Keeping]) -> dict[str, str]:
    return {view: kept_label(kept) for view, kept in views.items()}


def _notes(advisor: Advisor, proposal: Proposal) -> Iterator[str]:
    """What to know about how the numbers were made."""
    machine: Any = proposal.machine
    if not machine.measured:
        yield "Prices are those shipped with the package; advisor calibrate --micro measures this machine in a minute."
    for said in dict.fromkeys(advisor.said):
        yield f"{said[:1].upper()}{said[1:]}. advisor recommend samples them."
    saved = advisor.workload.folder / FOLDER / "proposal.json"
    if not saved.exists():
        yield "No proposal was saved yet; these are the choices that advisor recommend would make from what is known."
    elif saved.read_text(encoding="utf-8") != proposal.text():
        yield (
            f"{os.path.relpath(saved, advisor.workload.folder)} was made from other inputs or of fewer views; this page"
            " shows what advisor recommend would propose now."
        )
