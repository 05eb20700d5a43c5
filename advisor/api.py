"""The advisor as a Python object: the commands of the command line, on one workload and one session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.judge import PriceJudge
from advisor.plan import Command, read_plan
from advisor.profiling import profile
from advisor.proposal import FOLDER, Proposal, write
from advisor.recommend import ModelName, recommend, selected_views
from advisor.spark_model import SparkModel
from executors.executor import find_executor
from executors.failures import Failure, last_failure
from profiles.coefficients import machine_profile
from profiles.definitions import definitions_of
from profiles.queries import QueryHistory, observed_reads
from profiles.sources import all_statistics
from profiles.statistics import TableStatistics
from profiles.workload import Workload, from_values, load
from storage.engine import describe, open_session, priced_as, resolve
from views.definition import Definition
from views.errors import ExecutionError, TableError, ViewError
from views.filters import parse_filter
from views.spelling import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from advisor.recording import Recorder
    from advisor.replanning import Replan
    from advisor.runs import Run
    from advisor.saved import Chosen, SavedProposal
    from advisor.switching import Application, Applied
    from executors.comparison import Comparison
    from executors.keeping import Keeping
    from executors.reading import Answer
    from executors.runner import Refresh, Runner
    from storage.table import Rows, Table
    from views.rules import Expr


@dataclass(frozen=True)
class Status:
    """A view as it stands."""

    view: str
    strategy: str
    algorithm: str
    pending: tuple[str, ...]
    """What a stored view has not seen yet; empty when it is up to date, or virtual."""
    rows: int | None
    reasons: tuple[str, ...]
    every_seconds: float | None = None
    stale_seconds: float | None = None
    """How long ago the oldest change came that a stored view has not seen; None where that is not known."""
    last: LastRefresh | None = None
    failure: Failure | None = None
    """Why the last refresh failed; None where it succeeded."""
    switching: str | None = None
    """The command that was to keep it otherwise, and was interrupted."""


@dataclass(frozen=True)
class LastRefresh:
    """The last commit of a stored view, as it says itself."""

    moment: float
    planned: str
    ran: str
    because: str


class Advisor:
    """Decides how the views of a workload are kept, and keeps them that way.

    `workload` is a file, a mapping with the same keys, or a loaded `Workload`. A session may be passed in; otherwise
    the workload's engine is opened when it is first needed.
    """

    def __init__(self, workload: str | Path | Mapping[str, Any] | Workload, spark: SparkSession | None = None) -> None:
        if isinstance(workload, Workload):
            self.workload = workload
        elif isinstance(workload, Mapping):
            self.workload = from_values(dict(workload))
        else:
            self.workload = load(workload)
        self._spark = spark
        self._runner: Runner | None = None
        self._writable = False
        self.answered: Answer | None = None
        """How the last read was answered: from where, why, and how old its rows are."""
        self.said: list[str] = []
        """What was done beside the request and should be told: the engine chosen, tables converted."""

    # What is known without an engine

    @cached_property
    def statistics(self) -> dict[str, TableStatistics]:
        return all_statistics(self.workload)

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        return definitions_of(self.workload, self.statistics)

    def profile(
        self, sample_rows: int | None = None, progress: Callable[[str], None] = lambda _: None
    ) -> Mapping[str, TableStatistics]:
        """The statistics with what is sampled of the rows; with `sample_rows` 0, with what was sampled earlier.

        An engine is started only where the samples are out of date.
        """
        engine = None if sample_rows == 0 else (lambda: self.spark)
        found = profile(
            self.workload,
            self.statistics,
            self.definitions,
            self.workload.folder / FOLDER,
            engine,
            sample_rows,
            progress,
        )
        if found.sampled and self.workload.warehouse.is_dir():  # looking alone makes no folder
            with self.recorder.command("statistics"):
                self.recorder.sampled(found.sampled, found.seconds)
        if found.missing:
            self.said.append(f"not sampled: {', '.join(found.missing)}; selectivities are guessed from logs and keys")
        return found.statistics

    def proposal(
        self,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        model: ModelName = "spark",
        sample_rows: int | None = None,
        progress: Callable[[str], None] = lambda _: None,
        event_log: str | Path | None = None,
    ) -> Proposal:
        """Price every way to keep each view and choose; only statistics are saved.

        From an event log, one or a folder of them, come the reads of views for which the workload declares none.
        """
        statistics = self.statistics if model == "hanson" else self.profile(sample_rows, progress)
        return recommend(
            self.workload,
            select,
            exclude,
            model=model,
            statistics=statistics,
            definitions=self.definitions,
            reads={} if event_log is None else self.observed_reads(event_log),
        )

    def observed_reads(self, event_log: str | Path) -> Mapping[str, QueryHistory]:
        """The reads of stored views in an event log, or a folder of them."""
        from profiles.eventlogs import read_event_logs

        return observed_reads(read_event_logs(event_log), self.workload.views, self.workload.warehouse)

    def recommend(self, select: Iterable[str] = (), exclude: Iterable[str] = (), **how: Any) -> Proposal:
        """The proposal, saved beside the workload; `how` is that of `proposal`."""
        proposal = self.proposal(select, exclude, **how)
        write(proposal, self.workload.folder)
        return proposal

    def selected(self, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> list[str]:
        """Views by name, wildcard or `+name`, each after those it reads."""
        wanted = set(selected_views(self.workload, self.definitions, select, exclude))
        return [view for view in self.definitions if view in wanted]

    # What needs an engine

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            engine = self.workload.engine
            setting: str | dict[str, object] = engine.kind
            if engine.master is not None:
                setting = {"master": engine.master, "conf": dict(engine.conf)}
            elif engine.remote is not None:
                setting = {"remote": engine.remote}
            resolved = resolve(setting)
            self.said.append(f"{describe(resolved)} ({resolved.why})")
            self._spark = open_session(resolved, app_name=f"advisor {self.workload.name}")
        return self._spark

    def runner(self, *, write: bool = False) -> Runner:
        """The views on the session, kept as the plan now says; with `write`, tables that are not Delta yet are made so.

        Where another process has switched views meanwhile, the runner is a new one.
        """
        found = self._runner
        if found is None or (write and not self._writable) or found.keeping != read_plan(self.workload.folder).views:
            self._runner = found = self._opened(self.spark, write)
            self._writable = self._writable or write
        found.look()
        return found

    def look_again(self) -> None:
        """Look at the tables' sizes and histories again when they are next needed: they have changed."""
        self.__dict__.pop("statistics", None)
        if self._runner is not None:
            self._runner.judge = PriceJudge(self._model)

    def _opened(self, spark: SparkSession | None, write: bool = False) -> Runner:
        from executors.runner import Runner

        tables = {name: self._table(name, spark, write) for name in self._used_tables()}
        plan = read_plan(self.workload.folder).views
        bound = self.workload.driver_rows
        judge = PriceJudge(self._model)
        runner = Runner(spark, self.definitions, tables, self.workload.warehouse, plan, judge=judge, driver_rows=bound)
        runner.told = partial(self.recorder.refreshed, runner)
        return runner

    def _model(self) -> SparkModel:
        """What prices refreshes and reads: the model that makes plans, on what is known without an engine."""
        folder = self.workload.folder / FOLDER
        known = profile(self.workload, self.statistics, self.definitions, folder, None, 0, lambda _: None)
        machine = machine_profile(folder, priced_as(self.workload.engine.kind))
        return SparkModel(self.workload, known.statistics, self.definitions, machine)

    @cached_property
    def recorder(self) -> Recorder:
        """Keeps what is done here as measurements of the warehouse."""
        from advisor.recording import Recorder

        kind = priced_as(self.workload.engine.kind)
        return Recorder(self.workload.warehouse, kind, lambda: describe(self.spark), self.said.append)

    def _used_tables(self) -> list[str]:
        used = {name for definition in self.definitions.values() for name in definition.relations}
        return [name for name in self.workload.tables if name in used or self.workload.path_of(name) is not None]

    def _table(self, name: str, spark: SparkSession | None, write: bool) -> Table:
        from storage.log import is_delta
        from storage.table import Table

        spec, path = self.workload.tables[name], self.workload.path_of(name)
        if path is None:
            place = self.workload.place("tables", name)
            raise TableError(f"{place}: table {name!r} has no data here", "give it a path: to run its views")
        imported = self.workload.warehouse / "_advisor" / "tables" / name
        if is_delta(imported):
            path = imported
        elif not is_delta(path):
            if not write:
                raise TableError(f"{path}: is not a Delta table yet", "run advisor apply, which makes it one")
            path = self._made_delta(name, path, imported)
        return Table(spark, path, name=name, key=spec.key, foreign_keys=spec.foreign_keys)

    def _made_delta(self, name: str, path: Path, imported: Path) -> Path:
        from storage.table import convert_parquet, import_file

        if path.is_dir() and any(path.rglob("*.parquet")):
            convert_parquet(path)
            self.said.append(f"{name}: the Parquet folder {path} is a Delta table now (only _delta_log was added)")
            return path
        import_file(self.spark, path, imported, name=name)
        self.said.append(f"{name}: {path} was imported into {imported}")
        return imported

    def apply(
        self,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        proposal: Proposal | None = None,
        force: bool = False,
    ) -> list[Applied]:
        """Keep the selected views as the proposal says, and build what that needs; see `application`."""
        return list(self.application(select, exclude, proposal=proposal, force=force).carry_out())

    def rollback(self, to: int | None = None) -> list[Applied]:
        """Keep all views as in the plan before the active one, or in the earlier plan of that number."""
        return list(self.return_to(to).carry_out())

    def application(
        self,
        select: Iterable[str] = (),
        exclude: Iterable[str] = (),
        *,
        proposal: Proposal | None = None,
        force: bool = False,
    ) -> Application:
        """What `apply` is about to do: the proposal given, or the saved one, or a fresh one where there is none.

        A saved proposal whose inputs have moved since is refused, unless `force`.
        """
        from advisor.saved import SavedProposal, StaleProposalError, read_proposal
        from executors.keeping import Keeping

        views = self.selected(select, exclude)
        saved = read_proposal(self.workload.folder) if proposal is None else SavedProposal.of(proposal.as_json())
        fresh = saved is None or proposal is not None
        if saved is None:
            saved = SavedProposal.of(self.recommend().as_json())
        missing = [view for view in views if view not in saved.views]
        if missing and list(select):
            raise StaleProposalError(f"the proposal says nothing of view {missing[0]!r}", "run advisor recommend again")
        views = [view for view in views if view in saved.views]
        self._check_strict(views)
        before = read_plan(self.workload.folder).views
        after = {view: self._installed(view, saved.views[view]) for view in views}
        if not fresh and not force:
            self._refuse_moved(saved, any(before.get(view, Keeping()) != kept for view, (kept, _) in after.items()))
        expected = {}
        for view in views:
            chosen = saved.views[view]
            now = before[view].candidate if view in before else chosen.today
            then, later = (chosen.candidates.get(each, 0.0) for each in (now, after[view][0].candidate))
            expected[view] = chosen.build_seconds, then - later
        return self._application(after, expected, "apply", saved.digest)

    def return_to(self, number: int | None = None) -> Application:
        """What `rollback` is about to do."""
        from advisor.plan import plan_before, plan_numbered
        from executors.keeping import Keeping

        folder = self.workload.folder
        plan = plan_before(folder) if number is None else plan_numbered(folder, number)
        now = read_plan(folder).views
        after = {view: (plan.views.get(view, Keeping()), "") for view in self.definitions}
        after = {view: later for view, later in after.items() if later[0] != now.get(view, Keeping())}
        return self._application(after, {}, "rollback", plan.proposal)

    def _application(
        self,
        after: Mapping[str, tuple[Keeping, str]],
        expected: Mapping[str, tuple[float, float]],
        command: Command,
        digest: str,
    ) -> Application:
        from advisor.switching import Application, switches

        self._runner = None  # nothing that it remembers of stored tables outlives a switch
        runner, self._runner = self.runner(write=True), None
        before = read_plan(self.workload.folder).views
        made = switches(runner, before, after, expected)
        return Application(self.workload.folder, runner, made, command, digest, self.recorder)

    def _refuse_moved(self, saved: SavedProposal, switches: bool) -> None:
        """Refuse a proposal for another workload; where it switches a view, also one for other data."""
        from advisor.saved import StaleProposalError, moved

        found = list(moved(saved, self.workload, self.statistics if switches else None))
        if found:
            raise StaleProposalError(
                f"since the proposal was made, {found[0]}",
                "run advisor recommend again, or advisor apply --force",
            )

    def _installed(self, view: str, chosen: Chosen) -> tuple[Keeping, str]:
        """What is proposed, with recompute for an algorithm that is not there or does not apply."""
        from executors.keeping import Keeping

        if chosen.strategy == "query_modification":
            return Keeping(), ""
        wanted, why = chosen.algorithm or "recompute", ""
        for name in dict.fromkeys((wanted, "counting", "recompute")):
            executor = find_executor(name)
            if executor is None:
                why = why or f"{name} is not installed"
                continue
            plan = executor.plan(self.definitions[view], self.definitions[view].relations)
            if not isinstance(plan, tuple):
                note = f"{name} runs instead: {why}" if name != wanted else ""
                return Keeping(chosen.strategy, name, chosen.every_seconds), note  # type: ignore[arg-type]
            why = why or (str(plan[0]) if plan else f"{name} does not apply")
        raise ExecutionError("the executor recompute is not installed", "install the package again")

    def _check_strict(self, views: Iterable[str]) -> None:
        for view in views:
            reasons = self.definitions[view].reasons
            if self.workload.views[view].strict and reasons:
                raise StrictError(f"{self.workload.place('views', view)}: view {view!r} is strict: {reasons[0]}")

    def update(self, what: Mapping[str, tuple[Rows | None, Rows | None]] | str) -> tuple[dict[str, int], list[Refresh]]:
        """One update transaction: a SQL statement, or (inserts, deletes) per table; immediate views follow."""
        from storage.staging import Change

        changes: str | dict[str, Change]
        changes = what if isinstance(what, str) else {name: Change(*pair) for name, pair in what.items()}
        runner = self.runner(write=True)
        with self.recorder.command("update"):
            began, before = time.perf_counter(), self.recorder.refresh_seconds
            versions, refreshed = runner.update(changes)
            refreshing = self.recorder.refresh_seconds - before
            self.recorder.updated(runner, versions, time.perf_counter() - began - refreshing)
        return versions, refreshed

    def query(self, view: str, where: str | None = None) -> DataFrame:
        """The view's rows that pass a filter, as a Spark DataFrame, right under the strategy it is kept by."""
        from executors.reading import read

        runner, condition = self.runner(), self._condition(view, where)
        with self.recorder.command("query", at_once=False):
            self.answered = answer = read(runner, view, condition)
            self.recorder.answered(runner, answer, condition)
        return answer.rows

    def rows(self, view: str, where: str | None = None, limit: int | None = None) -> pa.Table:
        """The same as `query`, at most so many of them, fetched from the engine."""
        from executors.reading import read

        runner, condition = self.runner(), self._condition(view, where)
        with self.recorder.command("query"):
            began, before = time.perf_counter(), self.recorder.refresh_seconds
            self.answered = answer = read(runner, view, condition)
            found = (answer.rows if limit is None else answer.rows.limit(limit)).toArrow()
            refreshing = self.recorder.refresh_seconds - before
            seconds = time.perf_counter() - began - refreshing
            self.recorder.answered(runner, answer, condition, seconds, found.num_rows)
        return found

    def _condition(self, view: str, where: str | None) -> Expr | None:
        columns = self.definition(view).columns
        return None if where is None else parse_filter(where, columns, f"view {view!r}")

    def refresh(self, *views: str) -> list[Refresh]:
        """Bring stored views up to date, all of them when none is named; one that fails keeps no other from it."""
        for view in views:
            self.definition(view)
        runner = self.runner()
        wanted = [view for view in self.definitions if not views or view in views]
        virtual = [view for view in wanted if not runner.is_stored(view)]
        if views and virtual:
            raise ExecutionError(
                f"view {virtual[0]!r} is virtual: there is nothing to refresh", "apply a stored strategy"
            )
        with self.recorder.command("refresh"):
            done = [runner.attempt(view) for view in wanted if runner.is_stored(view)]
        for each in done:
            if each.error is not None:
                raise each.error
        return done

    def verify(self, *views: str) -> list[Comparison]:
        """Compare stored views with their definitions, evaluated now; pending changes are applied first."""
        for view in views:
            self.definition(view)
        runner = self.runner()
        wanted = [view for view in self.definitions if (not views or view in views) and runner.is_stored(view)]
        with self.recorder.command("verify"):
            for view in wanted:
                runner.refresh(view)
        return [runner.compare(view) for view in wanted]

    def status(self, *views: str) -> list[Status]:
        """How each view is kept, and what it has not seen yet."""
        runner, rest = self._opened(None), read_plan(self.workload.folder).switching
        found = []
        for view in self.definitions:
            if views and view not in views:
                continue
            kept = runner.kept(view)
            stored = runner.stored(view) if kept.stored else None
            found.append(
                Status(
                    view,
                    kept.strategy,
                    kept.algorithm,
                    pending=tuple(runner.pending(view)) if kept.stored else (),
                    rows=stored.log.num_rows if stored is not None else None,
                    reasons=tuple(reason.code for reason in self.definitions[view].reasons),
                    every_seconds=kept.every_seconds,
                    stale_seconds=runner.age(view) if kept.stored else None,
                    last=_last_refresh(stored) if stored is not None else None,
                    failure=last_failure(self.workload.warehouse, view) if kept.stored else None,
                    switching=rest.command if rest is not None and view in rest.views else None,
                )
            )
        return found

    def run(self, **how: Any) -> Run:
        """Carry out some days of the workload in a scratch copy; `how` is that of `advisor.replay.replay`."""
        from advisor.replay import replay

        return replay(self, **how)

    def replan(self, **how: Any) -> Replan:
        """The nightly job; `how` is that of `advisor.replanning.replan`."""
        from advisor.replanning import replan

        return replan(self, **how)

    def register(self) -> list[str]:
        """Every view as a temporary view of the session, under its own name and as it is now."""
        for view in self.definitions:
            self.query(view).createOrReplaceTempView(view)
        return list(self.definitions)

    def stored(self, select: Iterable[str] = (), exclude: Iterable[str] = ()) -> list[str]:
        """The selected views that the active plan stores."""
        plan = read_plan(self.workload.folder).views
        stored = [v for v in self.selected(select, exclude) if v in plan and plan[v].strategy != "query_modification"]
        if not stored:
            raise ExecutionError("no view is stored", "run advisor apply first")
        return stored

    def definition(self, view: str) -> Definition:
        """A view of the workload."""
        if view not in self.definitions:
            raise ViewError(f"there is no view {view!r}", did_you_mean(view, self.definitions, "views"))
        return self.definitions[view]


def _last_refresh(stored: Table) -> LastRefresh | None:
    note = stored.log.last_note
    if not {"moment", "planned", "ran", "because"} <= note.keys():
        return None
    return LastRefresh(float(note["moment"]), note["planned"], note["ran"], note["because"])


class StrictError(ViewError):
    """A view that is not incremental though `strict: true` demands it: the answer is no."""

    exit_code = 1
