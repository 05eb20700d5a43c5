"""`advisor replan`, the nightly job: look again, learn, price again, and say what should change and why.

Rates come from what was observed since the night before where there is a day of it, else from the workload. One that
has moved by less than its noise, or by less than a seventh, is taken as it was: what wobbles changes nothing. What is
done now is what the plan in force says, and stays within the planner's dead zone or where a change does not pay.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from advisor.learning import FEWEST, Learned, learn, pages_of
from advisor.learning import write as write_learned
from advisor.nights import Change, Kept, Night, keep_night, read_nights
from advisor.offers import cheapest
from advisor.plan import read_plan
from advisor.proposal import Proposal, ViewProposal
from advisor.proposal import write as write_proposal
from advisor.recommend import described, recommend
from profiles import specification as spec
from profiles.history import UpdateHistory, recent_history
from profiles.measurements import Measurement, read_measurements
from profiles.sources import DEFAULT_QUERIES
from profiles.statistics import Estimate, TableStatistics
from profiles.units import SECONDS_A_DAY
from profiles.words import duration, number, percent
from profiles.workload import Workload
from storage.engine import priced_as
from storage.log import DeltaLog, is_delta
from views.errors import TableError

if TYPE_CHECKING:
    from advisor.api import Advisor

STEADY = 1.15
"""A rate that has moved by less than this factor is taken as it was."""
ENOUGH_DAYS = 0.9
"""Of so long a history what was observed counts more than what was declared."""
LONGEST_DAYS = 7.0
FEWEST_READS = 4
"""Fewer observed reads say nothing: not every reader passes through here."""
WRONG_FACTOR, WRONG_REGRET = 2.0, 0.1
"""A prediction that is further off, or a plan that is dearer than another by more, is a mistake."""
WORTH_A_WORD = 1.02
OF_NIGHTS = 30
"""Measurements of so many days are learned from."""


@dataclass(frozen=True)
class Replan:
    """What one night came to."""

    night: Night
    proposal: Proposal
    recorded: bool
    """Whether it is kept; a second run of the same night with nothing new is not."""

    @property
    def changed(self) -> bool:
        """Whether a view should be kept otherwise than it was, or now is."""
        return bool(self.night.changes)

    def as_json(self) -> dict[str, Any]:
        return {**self.night.as_json(), "changed": self.changed, "applied": list(self.night.applied)}

    def text(self) -> str:
        """The night for a person."""
        head = f"{self.proposal.workload} · night {self.night.number} · {self.night.day} UTC"
        again = () if self.recorded else ("nothing is new since then",)
        return "\n".join((head, *again, *self.night.lines()))


@dataclass(frozen=True)
class Rates:
    """Update transactions and reads a day, and what changed about them."""

    statistics: Mapping[str, TableStatistics]
    queries: Mapping[str, float]
    moved: Mapping[str, str]
    """By table or view, in words."""


def replan(
    advisor: Advisor,
    *,
    apply: bool = False,
    max_changes: int | None = None,
    min_saving: float = 0.0,
    sample_rows: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Replan:
    """One night; `max_changes` and `min_saving`, in seconds a day, bound what is applied."""
    workload, now = advisor.workload, time.time()
    nights = read_nights(workload.folder)
    last = nights[-1] if nights else None
    with advisor.recorder.command("replan"):
        statistics = advisor.profile(sample_rows, progress)
        measurements = _measurements(advisor, now)
        rates = _rates(advisor, statistics, measurements, last, now)
        learned = _learned(advisor, measurements, now)
        proposal = _proposal(advisor, rates)
        new = [m for m in measurements if not m.rehearsed and m.kind != "statistics" and (not last or m.at > last.at)]
        found = list(_changes(advisor, proposal, rates, learned, last))
        changes = tuple(_bounded(found, max_changes, min_saving)) if apply else tuple(found)
        write_proposal(proposal, workload.folder)
        if chosen := _to_apply(advisor, changes) if apply else []:
            applied = {each.view for each in advisor.apply(chosen, proposal=proposal)}
            changes = tuple(replace(each, applied=each.view in applied) for each in changes)
    track = tuple(_track(advisor, proposal, new))
    night = Night(
        number=last.number + 1 if last else 1,
        at=time.time(),
        updates={name: table.updates_per_day.value for name, table in rates.statistics.items()},
        queries=rates.queries,
        moved=tuple(f"{name}: {text}" for name, text in rates.moved.items()),
        runs=len(new),
        learned=learned is not None and learned.after != learned.before,
        error_before=None if learned is None else learned.fit.error_before,
        error_after=None if learned is None else learned.fit.error_unseen,
        coefficients=asdict(proposal.machine.coefficients) if proposal.machine is not None else {},
        changes=changes,
        stayed={name: why for name, view in proposal.views.items() if (why := _held(view)) is not None},
        track=track,
        mistakes=tuple(_mistakes(track, last)),
    )
    recorded = last is None or bool(new or night.moved or night.learned or _differ(night, last))
    if recorded:
        keep_night(workload.folder, night)
    return Replan(night if recorded or last is None else replace(night, number=last.number), proposal, recorded)


# What is known


def _measurements(advisor: Advisor, now: float) -> list[Measurement]:
    try:
        return read_measurements(advisor.workload.warehouse, since=now - OF_NIGHTS * SECONDS_A_DAY)
    except TableError as error:
        advisor.said.append(f"replanned without history: {error}")
        return []


def _learned(advisor: Advisor, measurements: Sequence[Measurement], now: float) -> Learned | None:
    """New coefficients, saved if they are better; None where there is too little to learn from."""
    workload = advisor.workload
    gathered = pages_of(workload, advisor.statistics)
    found = learn(workload.folder, measurements, priced_as(workload.engine.kind), gathered, now)
    if len(found.runs) < FEWEST:
        return None
    write_learned(found, workload.folder)
    return found


def _rates(
    advisor: Advisor,
    statistics: Mapping[str, TableStatistics],
    measurements: Sequence[Measurement],
    last: Night | None,
    now: float,
) -> Rates:
    """The rates of this night, and which of them have moved since the last one."""
    real = [m for m in measurements if not m.rehearsed]
    begun = min((m.at for m in real), default=now)
    since = max(
        begun, last.at if last is not None and now - last.at >= ENOUGH_DAYS * SECONDS_A_DAY else now - SECONDS_A_DAY
    )
    since = max(since, now - LONGEST_DAYS * SECONDS_A_DAY)
    long_enough = now - since >= ENOUGH_DAYS * SECONDS_A_DAY
    tables, queries, moved = dict[str, TableStatistics](), dict[str, float](), dict[str, str]()
    for name, table in statistics.items():
        observed = _observed(advisor, name, since, now) if long_enough else None
        tables[name] = table if observed is None else _with(table, observed)
        before = None if last is None else last.updates.get(name)
        if before is not None:
            steady = _is_steady(tables[name].updates_per_day, before)
            if steady:
                tables[name] = replace(tables[name], updates_per_day=_moved_to(tables[name].updates_per_day, before))
            else:
                moved[name] = _said(tables[name].updates_per_day, before, "update")
    for name, view in advisor.workload.views.items():
        declared = view.queries.per_day if view.queries is not None else None
        rate = Estimate.of(DEFAULT_QUERIES if declared is None else declared, "declared")
        reads = sum(m.kind == "query" and m.subject == name and m.at > since for m in real)
        if long_enough and reads >= FEWEST_READS and view.readers != "external":
            days, noise = (now - since) / SECONDS_A_DAY, 2 * reads**0.5
            rate = Estimate(reads / days, max(reads - noise, 0.0) / days, (reads + noise) / days, "measured")
        before = None if last is None else last.queries.get(name)
        if before is not None and not _is_steady(rate, before):
            moved[name] = _said(rate, before, "read")
        queries[name] = before if before is not None and name not in moved else rate.value
    return Rates(tables, queries, moved)


def _observed(advisor: Advisor, table: str, since: float, now: float) -> UpdateHistory | None:
    """What a table's log says of some time; None where there is no log."""
    imported = advisor.workload.warehouse / "_advisor" / "tables" / table
    path = imported if is_delta(imported) else advisor.workload.path_of(table)
    return None if path is None or not is_delta(path) else recent_history(DeltaLog(path), since, now)


def _with(table: TableStatistics, observed: UpdateHistory) -> TableStatistics:
    """Statistics that go by what was observed."""
    found = replace(table, updates_per_day=observed.per_day or table.updates_per_day)
    if observed.rows is None or observed.changes_per_row is None or observed.deletes is None:
        return found
    if table.rows_per_update.source == "declared" and _is_steady(observed.rows, table.rows_per_update.value):
        return found
    return replace(
        found, rows_per_update=observed.rows, changes_per_row=observed.changes_per_row, deletes=observed.deletes
    )


def _is_steady(rate: Estimate, before: float) -> bool:
    """Whether a rate may still be what it was: within a seventh of it, or within its own noise.

    >>> _is_steady(Estimate.of(110, "declared"), 100), _is_steady(Estimate(9, 3, 15, "measured"), 4)
    (True, True)
    >>> _is_steady(Estimate.of(5000, "declared"), 100), _is_steady(Estimate.of(0, "declared"), 10)
    (False, False)
    """
    if rate.source == "measured" and rate.lower <= before <= rate.upper:
        return True
    return before / STEADY <= rate.value <= before * STEADY


def _moved_to(rate: Estimate, value: float) -> Estimate:
    """The same estimate around another value."""
    factor = value / rate.value if rate.value > 0 else 1.0
    if rate.value <= 0:
        return Estimate(value, min(rate.lower, value), max(rate.upper, value), rate.source)
    return Estimate(value, rate.lower * factor, rate.upper * factor, rate.source)


def _said(rate: Estimate, before: float, what: str) -> str:
    how = "observed" if rate.source == "measured" else rate.source
    return f"{number(rate.value)} {what}s a day instead of {number(before)} ({how})"


# What follows from it


def _proposal(advisor: Advisor, rates: Rates) -> Proposal:
    """A recommendation by these rates, for which what is done today is what the plan in force says."""
    workload = _read_as_often(advisor.workload, rates.queries)
    found = recommend(workload, statistics=rates.statistics, definitions=advisor.definitions)
    # what `apply` holds tables against is what anybody can look up again
    known = {name: described(advisor.statistics[name]) for name in found.statistics}
    return replace(found, statistics=known)


def at_rates(
    workload: Workload, statistics: Mapping[str, TableStatistics], night: Night
) -> tuple[Workload, dict[str, TableStatistics]]:
    """The workload and statistics with the rates that a night went by."""
    known = {
        name: replace(table, updates_per_day=_moved_to(table.updates_per_day, night.updates[name]))
        if name in night.updates
        else table
        for name, table in statistics.items()
    }
    return _read_as_often(workload, night.queries), known


def _read_as_often(workload: Workload, reads: Mapping[str, float]) -> Workload:
    """The workload with other reads a day, and with the plan in force as what is done today."""
    plan = read_plan(workload.folder).views
    views = {}
    for name, view in workload.views.items():
        queries = view.queries
        if name in reads:
            queries = (queries or spec.Queries()).model_copy(update={"per_day": reads[name]})
        today = view.today
        if name in plan:
            kept = plan[name]
            today = spec.Today(strategy=kept.strategy, algorithm=kept.algorithm if kept.stored else None)  # type: ignore[arg-type]
        views[name] = view.model_copy(update={"queries": queries, "today": today})
    return replace(workload, views=views)


def _changes(
    advisor: Advisor, proposal: Proposal, rates: Rates, learned: Learned | None, last: Night | None
) -> Iterator[Change]:
    """The views that should be kept otherwise, the biggest saving first."""
    plan = read_plan(advisor.workload.folder).views
    for view in sorted(proposal.views.values(), key=lambda each: -each.saving):
        today = plan[view.view].candidate if view.view in plan else view.today
        if view.candidate != today:
            reasons = tuple(_reasons(advisor, view, rates, learned, last))
            costs = view.candidates.get(today, view.today_seconds), view.seconds
            yield Change(view.view, today, view.candidate, *costs, view.build_seconds, reasons)


def _reasons(
    advisor: Advisor, view: ViewProposal, rates: Rates, learned: Learned | None, last: Night | None
) -> Iterator[str]:
    """What has moved that this view depends on, and what makes the new way cheaper."""
    for name in (*_under(advisor, view.view), view.view):
        if name in rates.moved:
            yield f"{name} has {rates.moved[name]}"
    if learned is not None and learned.after != learned.before:
        before, after = (vars(each.coefficients) for each in (learned.before, learned.after))
        most = max(before, key=lambda name: abs(math.log(max(after[name], 1e-12) / max(before[name], 1e-12))))
        yield f"measurements say that {most} cost {after[most] / max(before[most], 1e-12):.2g} times what was assumed"
    if last is None:
        yield "this is the first night"
    yield view.reason


def _under(advisor: Advisor, view: str) -> list[str]:
    """The tables and views that a view reads, also through others."""
    found: dict[str, None] = {}
    for name in advisor.definitions[view].relations:
        found[name] = None
        if name in advisor.definitions:
            found |= dict.fromkeys(_under(advisor, name))
    return list(found)


def _bounded(changes: Iterable[Change], most: int | None, least_saving: float) -> Iterator[Change]:
    """The changes with why some are left: those that save too little, and all beyond the first so many."""
    taken = 0
    for each in changes:
        if each.saving_seconds < least_saving:
            yield replace(each, left=f"saves less than {duration(least_saving)} a day")
        elif most is not None and taken >= most:
            yield replace(each, left=f"not more than {most} in a night")
        else:
            taken += 1
            yield each


def _to_apply(advisor: Advisor, changes: Iterable[Change]) -> list[str]:
    """The views to switch: also those that an interrupted switch has left, and all where no plan is in force yet."""
    plan = read_plan(advisor.workload.folder)
    if not plan.views and plan.switching is None:
        return list(advisor.definitions)
    left = set(plan.switching.views) if plan.switching is not None else set()
    wanted = left | {each.view for each in changes if not each.left}
    return [view for view in advisor.definitions if view in wanted]


def _differ(night: Night, last: Night) -> bool:
    """Whether a night says something else than the one before."""
    first, second = ([(c.view, c.before, c.after, c.applied) for c in each.changes] for each in (night, last))
    return first != second


def _held(view: ViewProposal) -> str | None:
    """Why a view stays though another way seems cheaper; None where none is worth a word."""
    best = cheapest({name: view.candidates[name] for name in view.permitted})
    if view.held is None or view.seconds <= view.candidates[best] * WORTH_A_WORD:
        return None
    return f"{view.held}, {best} would take {duration(view.candidates[best])} instead of {duration(view.seconds)} a day"


# How well it went


def _track(advisor: Advisor, proposal: Proposal, runs: Sequence[Measurement]) -> Iterator[Kept]:
    """What was done for each view since the last night, and what would have been best, as it is known now."""
    for view, found in proposal.views.items():
        mine = [m for m in runs if m.subject == view and m.kind in ("refresh", "query") and m.candidate]
        foreseen = [m for m in mine if m.q_error is not None]
        kept = mine[-1].candidate if mine else None
        if kept is None or kept not in found.candidates:
            continue
        best = cheapest({name: found.candidates[name] for name in found.permitted})
        least = found.candidates[best]
        yield Kept(
            view,
            kept,
            len(mine),
            sum(m.predicted_seconds or 0.0 for m in foreseen),
            sum(m.seconds or 0.0 for m in foreseen),
            median([m.q_error or 1.0 for m in foreseen]) if foreseen else 1.0,
            best,
            max(found.candidates[kept] / least - 1, 0.0) if least > 0 else 0.0,
        )


def _mistakes(track: Iterable[Kept], last: Night | None) -> Iterator[str]:
    for each in track:
        if each.regret > WRONG_REGRET:
            saved = percent(each.regret / (1 + each.regret))
            yield f"{each.view} was kept as {each.candidate}; {each.best} would have taken {saved} less"
        if each.factor > WRONG_FACTOR:
            how = "more" if each.measured_seconds > each.predicted_seconds else "less"
            yield f"{each.view} took {each.factor:.1f} times {how} than predicted"
