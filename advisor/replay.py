"""`advisor run`: a workload's day, really carried out in a scratch copy, to hold what was predicted against.

Updates and reads come in the order of a timetable drawn from the declared or observed rates, the same for every way to
keep the views. With `compare` each permitted way is run: in each pass every group of views that read each other has at
most one view that is kept otherwise than recommended, so that what it costs in all is its own work and what it changes
in that of the others. Nothing outside the scratch copy is changed, but for the measurements.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from advisor.judge import PriceJudge
from advisor.offers import QUERY_MODIFICATION, Offers, algorithm_of, strategy_of
from advisor.plan import read_plan
from advisor.planner import components, permitted_candidates
from advisor.proposal import FOLDER
from advisor.recommend import offers_as_kept, readers_of
from advisor.recording import Recorder
from advisor.runs import Run, ViewRun
from advisor.scratch import copied, scratch_folder
from advisor.spark_model import SparkModel
from advisor.table_model import Stream
from advisor.timetable import Event, Repeated, timetable, whole_times
from advisor.transactions import Transactions
from costmodels.schedule import DAY_SECONDS
from executors.forecast import Forecast, Pending, Route
from executors.keeping import Keeping
from executors.reading import read
from profiles import specification as spec
from profiles.coefficients import Engine, machine_profile
from profiles.sources import DEFAULT_QUERIES
from profiles.statistics import Estimate, TableStatistics
from storage.engine import describe, priced_as
from views.errors import ExecutionError, WorkloadError

if TYPE_CHECKING:
    from advisor.api import Advisor
    from executors.runner import Refresh, Runner
    from storage.staging import Change
    from views.rules import Expr

Progress = Callable[[int, int, str | None], None]
"""How many events are done, how many there are, and what was finished, in words."""


class Follower(PriceJudge):
    """A judge that foresees what will be done and changes nothing of it, so that a way is measured as it is named."""

    def refreshes(
        self, view: str, stored: Collection[str], algorithm: str, pending: Mapping[str, Pending]
    ) -> Mapping[str, Forecast]:
        found = super().refreshes(view, stored, algorithm, pending)
        return {name: each for name, each in found.items() if name == algorithm or algorithm not in found}

    def reads(
        self,
        view: str,
        stored: Collection[str],
        algorithm: str,
        pending: Mapping[str, Pending],
        where: Expr | None,
    ) -> Mapping[Route, Forecast]:
        return {"stored": self.forecast(self.model.view(view, stored).read_where(where))}


@dataclass
class Rehearsal:
    """What stays the same from pass to pass."""

    advisor: Advisor
    views: Sequence[str]
    """Those that are run, each after those it reads."""
    statistics: Mapping[str, TableStatistics]
    days: float
    scale: float
    seed: int

    @cached_property
    def engine(self) -> Engine:
        return priced_as(self.advisor.workload.engine.kind)

    @cached_property
    def model(self) -> SparkModel:
        """Prices what is about to be done."""
        workload = self.advisor.workload
        machine = machine_profile(workload.folder / FOLDER, self.engine)
        return SparkModel(workload, self.statistics, self.advisor.definitions, machine)

    @cached_property
    def streams(self) -> dict[str, Stream]:
        """The updates that reach one of the views, by their tables."""
        used = set[str]().union(*(self.model.view(view, ()).base for view in self.views))
        return {",".join(each.tables): each for each in self.model.streams if used & set(each.tables)}

    @cached_property
    def updates(self) -> dict[str, Repeated]:
        return {
            name: Repeated(whole_times(self._rate(each) * self.days * self.scale), each.at)
            for name, each in self.streams.items()
        }

    def _rate(self, stream: Stream) -> float:
        return self.statistics[stream.tables[0]].updates_per_day.value

    @cached_property
    def queries(self) -> dict[str, Repeated]:
        found = {}
        for view in self.views:
            given = self.advisor.workload.views[view].queries or spec.Queries()
            rate = DEFAULT_QUERIES if given.per_day is None else given.per_day
            found[view] = Repeated(whole_times(rate * self.days * self.scale), between=given.between)
        return found

    def events_of(self, views: Collection[str]) -> tuple[dict[str, Repeated], dict[str, Repeated]]:
        """The updates that reach one of some views, and the reads of these views."""
        used = set[str]().union(*(self.model.view(view, ()).base for view in views))
        updates = {name: each for name, each in self.updates.items() if used & set(self.streams[name].tables)}
        return updates, {view: self.queries[view] for view in views}

    @cached_property
    def groups(self) -> list[list[str]]:
        """The views that read each other, those of one group together."""
        readers = {
            v: [r for r in above if r in self.views] for v, above in readers_of(self.advisor.definitions).items()
        }
        return components(self.views, {v: readers[v] for v in self.views})

    def offers(self, choice: Mapping[str, str]) -> dict[str, Offers]:
        """Every way to keep each view, priced for a day in which happens what is run: seconds of a day of the run."""
        workload = self.advisor.workload
        rates = {t: self.updates[n].times / self.days for n, each in self.streams.items() for t in each.tables}
        statistics = {
            name: replace(table, updates_per_day=Estimate.of(rates.get(name, 0.0), "declared"))
            for name, table in self.statistics.items()
        }
        views = {}
        for name, given in workload.views.items():
            times = self.queries[name].times / self.days if name in self.queries else 0.0
            queries = (given.queries or spec.Queries()).model_copy(update={"per_day": times})
            staleness = None if given.max_staleness is None else given.max_staleness / self.scale
            views[name] = given.model_copy(update={"queries": queries, "max_staleness": staleness})
        machine = self.model.machine
        running = replace(machine, coefficients=replace(machine.coefficients, sessions=0.0))
        as_run = replace(workload, views=views)
        return offers_as_kept(as_run, statistics, self.advisor.definitions, running, choice)

    def passes(self, choice: Mapping[str, str], offers: Mapping[str, Offers]) -> list[dict[str, str]]:
        """What is kept how in each pass: first all as chosen, twice because the first one warms the engine up, then in
        each group one view after the other in each other permitted way."""
        deviations = []
        for group in self.groups:
            ways = []
            for view in group:
                permitted, _ = permitted_candidates(self.advisor.workload.views[view], offers[view])
                ways += [{v: choice[v] for v in group} | {view: c} for c in permitted if c != choice[view]]
            deviations.append(ways)
        later = [
            {view: kept for ways in deviations if number < len(ways) for view, kept in ways[number].items()}
            for number in range(max(map(len, deviations), default=0))
        ]
        return [dict(choice), dict(choice), *later]

    def keeping(
        self, kept: Mapping[str, str], offers: Mapping[str, Offers]
    ) -> tuple[dict[str, Keeping], dict[str, int]]:
        """How the runner keeps the views, and how often each clock ticks; reads in between take what is stored."""
        keeping, ticks = {}, {}
        for view, candidate in kept.items():
            strategy, algorithm = strategy_of(candidate), algorithm_of(candidate)
            offer = offers[view].offers.get(candidate)
            every = offer.every_seconds if offer is not None else None
            if algorithm is None:
                keeping[view] = Keeping()
                continue
            keeping[view] = Keeping(strategy, algorithm, None if every is None else math.inf)  # type: ignore[arg-type]
            if every is not None:
                ticks[view] = whole_times(self.days * DAY_SECONDS / every)
        return keeping, ticks

    def transactions(self, base: Advisor) -> dict[str, list[Mapping[str, Change]]]:
        """Every update of the run, by stream; what must go before is taken out of the tables."""
        runner = base.runner(write=True)
        found: dict[str, list[Mapping[str, Change]]] = {}
        for name, stream in self.streams.items():
            made = Transactions(runner.tables, self.statistics, stream.tables, self.seed)
            before = made.reserved(self.updates[name].times)
            if before:
                base.runner(write=True).update(before)
            found[name] = [made.next() for _ in range(self.updates[name].times)]
        return found


def replay(
    advisor: Advisor,
    *,
    days: float = 1.0,
    scale: float = 1.0,
    compare: bool = False,
    seed: int = 0,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    sample_rows: int | None = None,
    progress: Progress = lambda *_: None,
) -> Run:
    """Carry out some days of a workload under the plan in force, or under every permitted way to keep its views."""
    for name, value in (("days", days), ("scale", scale)):
        if not (math.isfinite(value) and value > 0):
            raise WorkloadError(f"{name} {value:g} is no length of a run", "choose a number above 0")
    began = time.perf_counter()
    wanted = _closed(advisor, advisor.selected(select, exclude))
    rehearsal = Rehearsal(advisor, wanted, advisor.profile(sample_rows), days, scale, seed)
    choice = _choice(rehearsal, compare)
    offers = rehearsal.offers(choice)
    passes = rehearsal.passes(choice, offers) if compare else [choice]
    warehouse = advisor.workload.warehouse
    recorder = Recorder(warehouse, rehearsal.engine, lambda: describe(advisor.spark), advisor.said.append, True)
    measured: dict[str, dict[str, float]] = {view: {} for view in wanted}
    with scratch_folder(warehouse) as folder, recorder.command("run"):
        base = type(advisor)(copied(advisor.workload, folder / "base"), advisor.spark)
        transactions = rehearsal.transactions(base)
        sizes = [sum(e.times for part in rehearsal.events_of(kept) for e in part.values()) for kept in passes]
        done, chosen = 0, dict[str, float]()
        for number, kept in enumerate(passes):
            keeping, ticks = rehearsal.keeping(kept, offers)
            updates, queries = rehearsal.events_of(kept)
            day = timetable(updates, queries, ticks, days, seed)
            sizes[number] = len(day)
            one = _Pass(rehearsal, base, folder / str(number), keeping, recorder, compare)
            for _ in one.carried_out(day, transactions):
                done += 1
                progress(done, sum(sizes), None)
            progress(done, sum(sizes), f"pass {number + 1} of {len(passes)}" if compare else None)
            if kept == choice:
                chosen = one.took
                for view in kept:
                    measured[view][choice[view]] = chosen[view]
                continue
            for group in rehearsal.groups:
                for view in group:
                    if view in kept and kept[view] != choice[view]:
                        others = sum(one.took[other] - chosen[other] for other in group if other != view)
                        measured[view][kept[view]] = max(one.took[view] + others, 0.0)
        runs = recorder.waiting
    rows = {
        v: fmean(n)
        for v in wanted
        if (n := [m.actual["driver_rows"] for m in runs if m.kind == "query" and m.subject == v])
    }
    fetch = rehearsal.model.machine.coefficients.driver_rows
    views = {}
    for view in wanted:
        fetching = rows.get(view, 0.0) * rehearsal.queries[view].times * fetch
        predicted = {c: cost * days + fetching for c, cost in offers[view].costs().items()}
        views[view] = ViewRun(view, choice[view], measured[view], predicted)
    return Run(
        advisor.workload.name,
        describe(advisor.spark),
        days,
        scale,
        seed,
        compare,
        {name: each.times for name, each in rehearsal.updates.items()},
        {name: each.times for name, each in rehearsal.queries.items()},
        views,
        time.perf_counter() - began,
        [q for m in runs if m.kind in ("refresh", "query") and (q := m.q_error) is not None],
    )


def _closed(advisor: Advisor, views: Iterable[str]) -> list[str]:
    """Some views and those that they read, in order."""
    found: set[str] = set()
    waiting = list(views)
    while waiting:
        view = waiting.pop()
        if view not in found:
            found.add(view)
            waiting += [name for name in advisor.definitions[view].relations if name in advisor.definitions]
    return [view for view in advisor.definitions if view in found]


def _choice(rehearsal: Rehearsal, compare: bool) -> dict[str, str]:
    """How each view is kept by the plan in force; by a fresh recommendation without one, and to compare with."""
    plan = read_plan(rehearsal.advisor.workload.folder).views
    if plan and not compare:
        return {view: plan[view].candidate if view in plan else QUERY_MODIFICATION for view in rehearsal.views}
    proposal = rehearsal.advisor.proposal(sample_rows=0)
    return {view: proposal.views[view].candidate for view in rehearsal.views}


@dataclass
class _Pass:
    """The events of a run, carried out on fresh copies of the tables, with each view kept in one way."""

    rehearsal: Rehearsal
    base: Advisor
    folder: Path
    keeping: Mapping[str, Keeping]
    recorder: Recorder
    compare: bool
    took: dict[str, float] = field(default_factory=dict)
    """Seconds by view: its refreshes and its reads."""

    def carried_out(
        self, day: Sequence[Event], transactions: Mapping[str, Sequence[Mapping[str, Change]]]
    ) -> Iterator[Event]:
        """Do one event after the other, and give each back when it is done."""
        runner = self._opened()
        for view in self.keeping:
            if runner.is_stored(view):
                runner.refresh(view)
            read(runner, view, self._where(view)).rows.toArrow()  # the first read of each is slower than others
        self.took = dict.fromkeys(self.keeping, 0.0)  # what building took is not part of the day
        left = {name: iter(each) for name, each in transactions.items()}
        for event in day:
            runner.look()
            match event.kind:
                case "update":
                    self._update(runner, next(left[event.what]))
                case "query":
                    self._query(runner, event.what)
                case "tick":
                    runner.refresh(event.what)
            yield event
        shutil.rmtree(self.folder, ignore_errors=True)

    def _opened(self) -> Runner:
        advisor = type(self.base)(copied(self.base.workload, self.folder), self.base.spark)
        runner = advisor.runner(write=True)
        runner.keeping = self.keeping
        runner.judge = (Follower if self.compare else PriceJudge)(self.rehearsal.model)

        def told(done: Refresh) -> None:
            self.recorder.refreshed(runner, done)
            self.took[done.view] = self.took.get(done.view, 0.0) + done.seconds

        runner.told = told
        return runner

    def _update(self, runner: Runner, changes: Mapping[str, Change]) -> None:
        began, before = time.perf_counter(), self.recorder.refresh_seconds
        versions, refreshed = runner.update(changes)
        refreshing = self.recorder.refresh_seconds - before
        self.recorder.updated(runner, versions, time.perf_counter() - began - refreshing)
        failed = next((each for each in refreshed if each.error is not None), None)
        if failed is not None:
            raise ExecutionError(f"view {failed.view!r}: {failed.because}", "nothing but the scratch copy was changed")

    def _where(self, view: str) -> Expr | None:
        return self.rehearsal.model.view(view, ()).where

    def _query(self, runner: Runner, view: str) -> None:
        where = self._where(view)
        began, before = time.perf_counter(), self.recorder.refresh_seconds
        answer = read(runner, view, where)
        rows = answer.rows.toArrow().num_rows
        seconds = time.perf_counter() - began - (self.recorder.refresh_seconds - before)
        self.recorder.answered(runner, answer, where, seconds, rows)
        self.took[view] += seconds
