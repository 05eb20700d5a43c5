"""`advisor report`: what was recommended, known and measured of a workload, as one HTML page. No engine is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor import past
from advisor.answers import delta_explanation
from advisor.nights import Night, read_nights
from advisor.offers import Offer, turning_point
from advisor.output import priced_by, turn_text
from advisor.proposal import Proposal, ViewProposal
from advisor.recommend import recommend
from advisor.replanning import at_rates
from advisor.saved import read_proposal
from advisor.variation import COEFFICIENT, SHARES, Ends, Variation
from advisor.wording import label, spoken, way
from costmodels.axis import CENTRE, FACTORS, UPDATES, Vector, full
from costmodels.spark import Prices, prices_of
from profiles.statistics import TableStatistics
from reports import results
from reports.page import render
from views.errors import TableError, WorkloadError
from views.text import rules_text

if TYPE_CHECKING:
    from advisor.api import Advisor
    from advisor.runs import Run

_COMPONENT = {
    "sessions": 0, "statements": 0, "reads": 0, "jobs": 0,
    "files_read": 1, "bytes_read": 1, "rows_read": 1,
    "rows_joined": 2, "shuffles": 2, "rows_shuffled": 2,
    "driver_rows": 3, "rows_searched": 3, "rows_removed": 3,
    "rows_written": 4, "files_written": 4, "merges": 4, "commits": 4,
}  # fmt: skip
"""By quantity, the place in `results.COMPONENTS` of what it is a part of."""
_ALWAYS = (".rows", ".updates", ".update rows", ".queries", ".fraction")
_NOTHING = 5e-4
"""What moves the cost by a smaller part than this is not shown."""
NO_TRAFFIC = (
    "No updates of its tables, or no reads, are known, so there is no map of who wins where. Declare"
    " updates: {per_day: …} at its tables and queries: {per_day: …} at the view, or let the advisor see them."
)
NO_TABLE = "The view joins stored views only, or has no rules, so no part of a table can be varied; see what it reads."


def write_report(
    advisor: Advisor,
    target: str,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    *,
    run: Run | None = None,
    event_log: str | Path | None = None,
) -> Path:
    """Save the report of a workload as an HTML file, with what a replay has measured where there is one."""
    path = html_path(target)
    path.write_text(render(report(advisor, select, exclude, run=run, event_log=event_log)), encoding="utf-8")
    return path


def html_path(target: str) -> Path:
    """Where a report is to be written, if that is an HTML file."""
    path = Path(target)
    if path.suffix.lower() not in (".html", ".htm"):
        raise WorkloadError(f"{target!r}: a report is an HTML page", "give a name like report.html")
    return path


def report(
    advisor: Advisor,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    *,
    run: Run | None = None,
    event_log: str | Path | None = None,
) -> results.Report:
    """What the page shows of the selected views; by the rates of the last night, where there was one."""
    shown = advisor.selected(select, exclude)
    folder = advisor.workload.folder
    nights = read_nights(folder)
    workload, statistics = advisor.workload, advisor.profile(sample_rows=0)
    if nights:
        workload, statistics = at_rates(workload, statistics, nights[-1])
    reads = {} if event_log is None else advisor.observed_reads(event_log)
    proposal = recommend(workload, statistics=statistics, definitions=advisor.definitions, reads=reads)
    variation = Variation(workload, statistics, advisor.definitions, proposal, reads)
    views = tuple(_view(variation, proposal.views[name]) for name in shown)
    reached = {name for view in views for name in view.reads} | {n for v in shown for n in _base(advisor, v)}
    notes = list(_notes(advisor, proposal, nights))
    try:
        measured = tuple(past.measurements(workload.warehouse))
    except TableError as error:
        measured = ()
        notes.append(f"What was measured cannot be shown: {error}.")
    return results.Report(
        workload=workload.name,
        priced_by=priced_by(proposal),
        views=views,
        tables=tuple(_table(statistics[name]) for name in statistics if name in reached),
        price=_price(proposal),
        changes=tuple(past.changes(proposal, shown, folder, nights)),
        plans=tuple(past.plans(folder)),
        measurements=measured,
        coefficients=tuple(past.coefficients(nights)),
        nights=tuple(past.nights(nights)),
        comparison=tuple(past.compared(run)) if run is not None else (),
        notes=tuple(notes),
        made_from={**proposal.inputs},
    )


def _base(advisor: Advisor, view: str) -> Iterator[str]:
    for name in advisor.definitions[view].relations:
        yield from (_base(advisor, name) if name in advisor.definitions else (name,))


def _view(variation: Variation, chosen: ViewProposal) -> results.View:
    definition, workload = variation.definitions[chosen.view], variation.workload
    machine = variation.proposal.machine
    assert machine is not None
    prices = prices_of(machine)
    offers = chosen.offers
    candidates = tuple(_candidate(offer, chosen, prices) for offer in offers.offers.values())
    updates, queries = (float(rate[CENTRE]) for rate in (offers.rates.updates, offers.rates.queries))
    return results.View(
        name=chosen.view,
        definition=workload.sql.get(chosen.view) or workload.views[chosen.view].datalog or "",
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


def _table(table: TableStatistics) -> results.Table:
    return results.Table(table.name, table.rows.value, table.updates_per_day.value, table.rows_per_update.value)


def _price(proposal: Proposal) -> results.Price | None:
    if proposal.price is None or proposal.machine is None:
        return None
    return results.Price(proposal.price.core_hour * proposal.machine.cores / 3600, proposal.price.currency)


def _notes(advisor: Advisor, proposal: Proposal, nights: Sequence[Night]) -> Iterator[str]:
    """What to know about how the numbers were made."""
    machine: Any = proposal.machine
    if not machine.measured:
        yield "Prices are those shipped with the package; advisor calibrate --micro measures this machine in a minute."
    if nights:
        yield f"Rates are those that night {nights[-1].number} went by, {nights[-1].day} UTC."
    for said in dict.fromkeys(advisor.said):
        yield f"{said[:1].upper()}{said[1:]}."
    saved = read_proposal(advisor.workload.folder)
    if saved is None:
        yield "No proposal was saved yet; these are the choices that advisor recommend would make from what is known."
        return
    other = [
        name
        for name, view in proposal.views.items()
        if name not in saved.views
        or (view.strategy, view.algorithm) != (saved.views[name].strategy, saved.views[name].algorithm)
    ]
    if other:
        yield (
            f"The saved proposal does not say the same of {', '.join(other)}: it was made from other inputs."
            " advisor recommend makes a new one."
        )
