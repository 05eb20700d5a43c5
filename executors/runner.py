"""Carries plans out on Spark: the one place where steps become DataFrames and commits.

A stored view is a plain Delta table in the warehouse. The commit that stores its rows names the version of every
table they were made from, so whether a view is up to date is read from its own log; there is no second record.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import pyarrow as pa
from sqlglot import exp

from executors.evaluation import Evaluation, RebuildError, Rows, clock_rows
from executors.executor import find_executor
from executors.forecast import Forecast, Judge, Pending
from executors.keeping import Keeping
from executors.reading import read
from profiles.history import change_size
from storage.changes import changes_here
from storage.intents import recover
from storage.log import is_delta
from storage.merging import merge_change
from storage.pruning import files_where
from storage.rows import Sought, show_row, tuples
from storage.table import Table, is_frame, store_rows
from storage.updates import update
from storage.writing import DRIVER_ROWS
from views.catalog import CLOCK, NOW
from views.compose import opened
from views.definition import Definition
from views.deltas import DELTA
from views.errors import AdvisorError, ConflictError, ExecutionError, ViewError
from views.pushdown import needed_rows
from views.references import references
from views.render import query_of
from views.rules import Expr, Program
from views.states import ROWS, State, filling
from views.steps import ApplyDelta, Evaluate, Plan, ReadStored, Replace, Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from storage.staging import Change


ATTEMPTS = 5
"""How often a refresh begins again where other processes store the same view."""
NOT_BUILT, REDEFINED = "it is not built yet", "its definition changed"
MOST_FORGOTTEN = 500
"""Temporary views that nobody needs any more, before they are dropped: each drop asks the engine."""
MOST_CHANGES = 64
"""Change sets that are remembered for the next view that needs them."""
STATE_MISSING = "what is kept beside it is not built yet"
STRUCTURAL = (NOT_BUILT, REDEFINED, STATE_MISSING)
"""What can only be pending for the view as a whole: it is built."""


@dataclass(frozen=True)
class Refresh:
    """What bringing one view up to date came to."""

    view: str
    planned: str
    ran: str | None
    """The algorithm that ran; None when nothing was pending."""
    because: str
    seconds: float
    version: int | None = None
    forecast: Forecast | None = None
    """What it was expected to take; None where nobody was asked."""
    actual: Mapping[str, float] = field(default_factory=dict)
    """Quantities that its commits tell."""
    error: AdvisorError | None = None
    """Why it failed; the view is as it was, and the next refresh catches up."""


@dataclass(frozen=True)
class Comparison:
    """A stored view against its definition, evaluated now: rows that are missing and rows that are too many.

    They are counted up to the runner's bound of rows on the driver.
    """

    view: str
    missing: int
    unexpected: int
    example: str | None = None

    @property
    def equal(self) -> bool:
        return self.missing == self.unexpected == 0


@dataclass
class Runner:
    """Views over tables on a session: answers reads, refreshes stored views, applies updates."""

    session: SparkSession | None
    """Without one, only what the logs know can be asked: `pending`, `stored`."""
    definitions: Mapping[str, Definition]
    """Each view after those it reads."""
    tables: Mapping[str, Table]
    warehouse: Path
    keeping: Mapping[str, Keeping] = field(default_factory=dict)
    judge: Judge | None = None
    """Who prices what could be done; without one views are kept as planned."""
    told: Callable[[Refresh], None] = lambda _: None
    """Hears of each refresh that did something, also of those that another one needed."""
    _names: dict[Hashable, str] = field(default_factory=dict)
    driver_rows: int = DRIVER_ROWS
    """No result with more rows is brought to the driver: the work stays on the engine then."""
    _forgotten: list[str] = field(default_factory=list)
    _changes: dict[Hashable, Rows] = field(default_factory=dict)
    _stored: dict[str, Table] = field(default_factory=dict)
    _states: dict[Hashable, dict[State, str]] = field(default_factory=dict)
    _plans: dict[Hashable, Plan] = field(default_factory=dict)
    moment: float = field(default_factory=time.time)
    """When this is: the clock of the views that mention it."""

    @property
    def spark(self) -> SparkSession:
        if self.session is None:
            raise AssertionError("these views were opened without a session")
        return self.session

    def look(self) -> None:
        """Carry abandoned transactions to their end and move to the newest versions; versions stand still after."""
        if self.session is not None:
            recover(self.warehouse / "_advisor" / "intents", self.tables)
        for table in self.tables.values():
            table.log.refresh()
        self.moment = time.time()

    # What there is

    def kept(self, view: str) -> Keeping:
        return self.keeping.get(view, Keeping())

    def is_stored(self, view: str) -> bool:
        return self.kept(view).stored

    def stored(self, view: str) -> Table | None:
        """The table of a stored view, at its newest version, if it has been built."""
        if view not in self._stored:
            path = self.warehouse / view
            if not is_delta(path):
                return None
            self._stored[view] = Table(self.session, path, name=view)
        self._stored[view].log.refresh()
        return self._stored[view]

    def sources(self, view: str) -> dict[str, Table]:
        """The tables that a view's rows are made from: base tables and stored views; virtual ones are opened up."""
        found: dict[str, Table] = {}
        for name in self.definitions[view].relations:
            if name in self.definitions and not self.is_stored(name):
                found |= self.sources(name)
            else:
                found[name] = self.table(name)
        return found

    def table(self, name: str) -> Table:
        """A base table or the table of a stored view."""
        if name in self.definitions:
            stored = self.stored(name)
            if stored is None:
                raise ExecutionError(f"view {name!r} is not built yet", "run advisor apply")
            return stored
        return self.tables[name]

    def fingerprint(self, view: str) -> str:
        """Of the definition and of the virtual views below it, which are part of what is stored."""
        definition = self.definitions[view]
        below = [self.fingerprint(n) for n in definition.relations if n in self.definitions and not self.is_stored(n)]
        return hashlib.sha256("\n".join([definition.fingerprint, *below]).encode()).hexdigest()[:16]

    def pending(self, view: str) -> list[str]:
        """What has changed since a stored view was last brought up to date: tables, or the definition itself."""
        stored = self.stored(view)
        if stored is None:
            return [NOT_BUILT]
        if stored.log.description != self.describe(view):
            return [REDEFINED]
        for state, description in self.states(view).items():
            kept = self.stored(state.table)
            if kept is None or kept.log.description != description:
                return [STATE_MISSING]
        behind = []
        for name, table in self.sources(view).items():
            consumed = stored.log.consumed(table.log.table_id)
            if consumed is not None and consumed > table.version:
                table.log.refresh()  # another process has seen more than this one
            if consumed != table.version:
                behind.append(name)
        if not behind and self.clock_moved(view, stored):
            behind.append(CLOCK)
        return behind

    def is_to_be_built(self, view: str) -> bool:
        """Whether more than a change is pending: the rows are not there, or are those of something else."""
        return bool(set(self.pending(view)) & set(STRUCTURAL))

    def age(self, view: str) -> float | None:
        """How long ago the oldest change came that a stored view has not seen, also through the views below it.

        0 when there is none; None where that is not known or the view must be built.
        """
        oldest = 0.0
        pending = self.pending(view)
        if set(pending) & {*STRUCTURAL, CLOCK}:
            return None
        for name, table in self.sources(view).items():
            if name in self.definitions:
                below = self.age(name)
                if below is None:
                    return None
                oldest = max(oldest, below)
            if name in pending:
                consumed = self.table(view).log.consumed(table.log.table_id)
                commits = None if consumed is None else table.log.commits(consumed, consumed + 1)
                if not commits:
                    return None
                oldest = max(oldest, self.moment - commits[0].timestamp / 1000, 1e-3)
        return oldest

    def describe(self, view: str) -> str:
        return f"view {view}, definition {self.fingerprint(view)}"

    def states(self, view: str) -> dict[State, str]:
        """What the algorithm of a view keeps beside it, each state with the description of its table."""
        key = (view, self.kept(view), self.fingerprint(view))
        if key not in self._states:
            kept = self.plan(view, ()).states
            taken = next((s.table for s in kept if s.table in self.definitions or s.table in self.tables), None)
            if taken is not None:
                raise ExecutionError(f"{taken!r} is what is kept beside view {view!r}", "rename the view of that name")
            texts = {s: query_of(filling(s, self.opened_program(view))).sql(dialect="spark") for s in kept}
            self._states[key] = {
                state: f"state of {self.describe(view)}, {hashlib.sha256(text.encode()).hexdigest()[:16]}"
                for state, text in texts.items()
            }
        return self._states[key]

    def clock_moved(self, view: str, stored: Table) -> bool:
        """Whether a view that mentions the day or the moment was built on another one."""
        used = self.clock_columns(view)
        if not used:
            return False
        built = self.built_at(stored)
        return NOW in used or built is None or int(built // 86_400) != int(self.moment // 86_400)

    def built_at(self, stored: Table) -> float | None:
        """The moment that a stored view took for now, as its last commit says."""
        return next((c.advisor_note.get("moment") for c in stored.log.history(1)), None)

    def clock_columns(self, view: str) -> set[str]:
        definition = self.definitions[view]
        found = {
            "current_date" if isinstance(node, exp.CurrentDate) else NOW
            for node in definition.query.find_all(exp.CurrentDate, exp.CurrentTimestamp)
        }
        for name in definition.relations:
            if name in self.definitions and not self.is_stored(name):
                found |= self.clock_columns(name)
        return found

    # Plans

    def opened(self, view: str) -> Definition:
        """The definition over base tables and stored views: virtual views below it are opened up."""
        definition = self.definitions[view]
        below = {
            name: program
            for name in self.virtual_below(view)
            if (program := self.definitions[name].program) is not None
        }
        if definition.program is None or not below:
            return definition
        program = opened(definition.program, below)
        relations = tuple(name for name in program.relations if name != CLOCK)
        return replace(definition, program=program, relations=relations)

    def opened_program(self, view: str) -> Program:
        program = self.opened(view).program
        assert program is not None, "a view without rules keeps nothing beside it"
        return program

    def virtual_below(self, view: str) -> set[str]:
        found: set[str] = set()
        for name in self.definitions[view].relations:
            if name in self.definitions and not self.is_stored(name):
                found |= {name} | self.virtual_below(name)
        return found

    def plan(self, view: str, changed: Sequence[str] | None = None) -> Plan:
        """The plan of the algorithm that keeps a view; recompute where that one does not apply."""
        key = (view, self.kept(view), self.fingerprint(view), None if changed is None else frozenset(changed))
        if key not in self._plans:
            definition = self.opened(view)
            executor = find_executor(self.kept(view).algorithm)
            plan = executor.plan(definition, definition.relations if changed is None else changed) if executor else ()
            self._plans[key] = plan if isinstance(plan, Plan) else self.rebuild(view)
        return self._plans[key]

    def rebuild(self, view: str) -> Plan:
        """The plan that works for every view."""
        recompute = find_executor("recompute")
        assert recompute is not None
        plan = recompute.plan(self.definitions[view], self.definitions[view].relations or (view,))
        assert isinstance(plan, Plan)
        return plan

    # Reads

    def query(self, view: str, where: Expr | None = None) -> DataFrame:
        """The rows of a view that pass a filter, however the view is kept."""
        return read(self, view, where).rows

    def answer(self, step: Step, where: Expr | None = None) -> DataFrame:
        match step:
            case ReadStored(view=view):
                table = self.table(view)
                mask = files_where(table.log.snapshot(), where) if where is not None else None
                rows = self.spark.table(self.registered(table, mask))
                return rows if where is None else rows.where(where.sql(dialect="spark"))
            case Evaluate(view=view):
                return self.evaluate(view, where, step)
            case Replace() | ApplyDelta():
                raise AssertionError("a read changes no rows")
            case _:
                assert_never(step)

    def evaluate(self, view: str, where: Expr | None = None, step: Evaluate | Replace | None = None) -> DataFrame:
        """A view in full, as a step says or as it is defined, reading only the files that can matter."""
        definition = self.definitions[view]
        needed: Mapping[str, Expr | None] = step.needed if step is not None else {}
        if definition.program is not None and (where is not None or step is None):
            needed = needed_rows(definition.program, where)
        query = self.at_this_moment(definition.evaluated if step is None else step.query)
        for node in list(references(query)):
            if node.name == CLOCK or node.name in self.definitions or node.name in self.tables:
                node.set("this", exp.to_identifier(self.relation(node.name, needed.get(node.name))))
        if where is not None:
            inner = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(view, quoted=True)))
            query = exp.select("*").from_(inner).where(where.copy())
        return self.sql(query, view)

    def at_this_moment(self, query: exp.Query) -> exp.Query:
        """The query with the moment as a literal: what is stored says which one it was."""
        now = dt.datetime.fromtimestamp(self.moment, dt.UTC)
        today = exp.cast(exp.Literal.string(now.date().isoformat()), "date")
        moment = exp.cast(exp.Literal.string(now.strftime("%Y-%m-%d %H:%M:%S.%fZ")), "timestamp", dialect="spark")

        def frozen(node: exp.Expr) -> exp.Expr:
            match node:
                case exp.CurrentDate():
                    return today.copy()
                case exp.CurrentTimestamp():
                    return moment.copy()
                case exp.Column() if node.table == CLOCK:  # LOCALTIMESTAMP, which has no source of its own
                    return moment.copy()
                case _:
                    return node

        at_moment = query.transform(frozen)
        assert isinstance(at_moment, exp.Query)
        return at_moment

    def relation(self, name: str, needed: Expr | None) -> str:
        """A temporary view of the rows of a relation, of only those files that can hold a needed one."""
        if name == CLOCK:
            return self.named((CLOCK, self.moment), lambda: self.frame(clock_rows((self.moment,))))
        if name in self.definitions and not self.is_stored(name):
            made = f"advisor_{uuid.uuid4().hex}"
            self.evaluate(name, needed).createOrReplaceTempView(made)
            return made
        table = self.table(name)
        mask = files_where(table.log.snapshot(), needed) if needed is not None else None
        return self.registered(table, mask)

    def registered(self, table: Table, mask: Any = None, version: int | None = None) -> str:
        """A temporary view of one version of a table, or of some of its files."""
        version = table.version if version is None else version
        if mask is not None and np.all(mask):
            mask = None
        key = (str(table.root), version, b"" if mask is None else np.packbits(mask).tobytes())
        return self.named(key, lambda: table.snapshot(version) if mask is None else table.rows(mask, version))

    def frame(self, rows: pa.Table) -> DataFrame:
        """Rows of the driver on the engine, in one piece: Sail divides by zero in pieces without rows."""
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(rows.schema) if not rows.num_rows else None  # without rows, types must be told
        return self.spark.createDataFrame(rows.combine_chunks(), schema)

    def named(self, key: Hashable, rows: Callable[[], DataFrame]) -> str:
        """A temporary view made once per key; its name is never reused, because some engines bind late."""
        if key not in self._names:
            made = f"advisor_{uuid.uuid4().hex}"
            rows().createOrReplaceTempView(made)
            self._names[key] = made
        return self._names[key]

    def forget(self, group: str) -> None:
        """Let go of the temporary views whose keys begin with a group; they are dropped many at a time."""
        mine = [key for key in self._names if isinstance(key, tuple) and key[0] == group]
        self._forgotten += [self._names.pop(key) for key in mine]
        if len(self._forgotten) > MOST_FORGOTTEN:
            for name in self._forgotten:
                self.spark.catalog.dropTempView(name)
            self._forgotten.clear()

    def sql(self, query: exp.Expr, view: str) -> DataFrame:
        """The rows of a query, which is used up."""
        from pyspark.errors import PySparkException

        try:
            rows = self.spark.sql(query.sql(dialect="spark", copy=False))
            _ = rows.schema  # Connect and Sail look at a query only when something is asked of it
            return rows
        except PySparkException as error:
            line = str(error).strip().splitlines()[0][:300]
            raise ViewError(f"view {view!r}: the engine refuses it: {line}", "correct the definition") from error

    # Refresh

    def refresh_below(self, view: str) -> list[Refresh]:
        """Bring the stored views up to date that a view reads, the lowest first."""
        done: list[Refresh] = []
        for name in self.definitions[view].relations:
            if name in self.definitions:
                done += self.refresh_below(name)
                if self.is_stored(name):
                    done.append(self.refresh(name))
        return done

    def refresh(self, view: str) -> Refresh:
        """Bring a stored view up to date; without pending changes nothing is read or written.

        Where another process stored it meanwhile, what that left pending is looked at again.
        """
        self.refresh_below(view)
        for attempt in range(ATTEMPTS):
            try:
                with engine_errors(f"view {view!r}"):
                    done = self._brought_up(view)
                break
            except ConflictError:
                if attempt == ATTEMPTS - 1:
                    raise
        if done.ran is not None:
            self.told(done)
        return done

    def _brought_up(self, view: str) -> Refresh:
        started = time.perf_counter()
        planned = self.kept(view).algorithm
        changed = self.pending(view)
        if not changed:
            return Refresh(view, planned, None, "nothing is pending", time.perf_counter() - started)
        why = changed[0] if changed[0] in STRUCTURAL else None
        because = why or f"{', '.join(changed)} changed".replace(f"{CLOCK} changed", "the day has turned")
        ran = "recompute"
        if why is None:
            ran = self.plan(view, changed).algorithm
            because += f"; {planned} does not apply to it" if ran != planned else ""
        forecasts = self.forecasts(view, rebuild=why is not None)
        if {ran, "recompute"} <= set(forecasts) and forecasts["recompute"].seconds < forecasts[ran].seconds:
            applying, rebuilding = (forecasts[each].seconds for each in (ran, "recompute"))
            because += f"; rebuilding is expected to take {rebuilding:.2g} s, applying the change {applying:.2g} s"
            ran = "recompute"
        states = self.states(view)
        before = self.versions(view, states)
        try:
            if ran == "recompute":
                self.build(view)
            else:
                self.follow(view, changed)
        except RebuildError as reason:
            ran, because = "recompute", f"{because}; {reason}"
            self.build(view)
        seconds = time.perf_counter() - started
        actual = self.written(before, self.versions(view, states))
        return Refresh(view, planned, ran, because, seconds, self.table(view).version, forecasts.get(ran), actual)

    def forecasts(self, view: str, *, rebuild: bool = False) -> Mapping[str, Forecast]:
        """What bringing a view up to date is expected to take, by algorithm; nothing where nobody can say."""
        if self.judge is None:
            return {}
        pending = {} if rebuild else self.pending_sizes(view)
        if pending is None:
            return {}
        return self.judge.refreshes(view, self.stored_views, self.kept(view).algorithm, pending)

    @property
    def stored_views(self) -> frozenset[str]:
        return frozenset(filter(self.is_stored, self.definitions))

    def pending_sizes(self, view: str) -> dict[str, Pending] | None:
        """How much has come to each source since a stored view has seen it; None where the logs cannot tell."""
        stored, found = self.table(view), {}
        for name, table in self.sources(view).items():
            consumed = stored.log.consumed(table.log.table_id)
            commits = None if consumed is None else table.log.commits(consumed, table.version)
            size = None if commits is None else change_size(commits, table.root)
            if size is None:
                return None
            if any(size):
                found[name] = Pending(*size)
        return found

    def versions(self, view: str, states: Iterable[State]) -> dict[str, int]:
        """The versions of a view's table and of its states; −1 of one that is not there."""
        tables = {name: self.stored(name) for name in (view, *(state.table for state in states))}
        return {name: -1 if table is None else table.version for name, table in tables.items()}

    def written(self, before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, float]:
        """What the commits between some versions wrote and removed."""
        found = {"commits": 0.0, "files_written": 0.0, "rows_written": 0.0, "files_removed": 0.0}
        for name, version in after.items():
            log = self.table_named(name).log
            for commit in log.commits(before[name], version) or ():
                rows = (json.loads(action.get("stats") or "{}").get("numRecords", 0) for action in commit.adds)
                found["commits"] += 1
                found["files_written"] += len(commit.adds)
                found["rows_written"] += sum(rows)
                found["files_removed"] += len(commit.removes)
        return found

    def table_named(self, name: str) -> Table:
        found = self.stored(name)
        assert found is not None, f"{name} was stored a moment ago"
        return found

    def build(self, view: str) -> None:
        """Rebuild a view in full, and before it what its algorithm keeps beside it."""
        sources = self.sources(view)
        consumed = {table.log.table_id: table.version for table in sources.values()}
        for state, description in self.states(view).items():
            rows = self.rows_now(filling(state, self.opened_program(view)), view)
            self._stored[state.table] = store_rows(
                self.spark,
                self.warehouse / state.table,
                rows,
                description=description,
                consumed=consumed,
                note=self.note,
                sort_by=state.keys,
            )
        for step in self.rebuild(view).maintain:
            assert isinstance(step, Replace)
            rows = self.evaluate(view, None, step)
            self._stored[view] = store_rows(
                self.spark,
                self.warehouse / view,
                rows,
                description=self.describe(view),
                consumed=consumed,
                note=self.note,
                sort_by=self.clustered_by(view),
            )

    def clustered_by(self, view: str) -> tuple[str, ...]:
        """The columns by which rows of a view that follows changes are found again: its groups or partitions."""
        program = self.definitions[view].program
        return () if program is None or self.kept(view).algorithm == "recompute" else program.found_by

    def rows_now(self, program: Program, view: str) -> DataFrame:
        """A program evaluated on the relations as they are now."""
        needed = needed_rows(program)
        query = self.at_this_moment(query_of(program))
        for node in list(references(query)):
            node.set("this", exp.to_identifier(self.relation(node.name, needed.get(node.name))))
        return self.sql(query, view)

    def follow(self, view: str, changed: Sequence[str]) -> None:
        """Apply the pending change of a view's sources to it and to what is kept beside it.

        The states are committed before the view. Where that was interrupted, the states are ahead: the view is then
        first brought to the versions that they have.
        """
        with self.evaluating(view, changed) as (evaluation, moved):
            sources, target, found = evaluation.sources, evaluation.target, dict[str, list[Rows]]()
            for step in self.plan(view, moved).maintain:
                assert isinstance(step, ApplyDelta)
                found = evaluation.outputs(step.delta, step.outputs)
            reached = {sources[name].log.table_id: version for name, version in target.items()}
            for name in (state.table for state in self.states(view)):
                table, _ = evaluation.stored[name]
                if self.seen(table, sources) != target:
                    self.merge(table, found.get(name + DELTA, []), reached, count_column=ROWS)
            self.merge(evaluation.stored[view][0], found.get(view + DELTA, []), reached, keep_change=True)
        behind = [name for name, table in sources.items() if target[name] != table.version]
        if behind:
            self.follow(view, behind)

    @contextmanager
    def evaluating(self, view: str, changed: Sequence[str]) -> Iterator[tuple[Evaluation, list[str]]]:
        """The evaluation of a view's pending change, up to the versions of its states where these are ahead, and the
        sources whose rows have really changed."""
        sources, stored = self.sources(view), self.table(view)
        consumed = {name: stored.log.consumed(table.log.table_id) for name, table in sources.items()}
        unknown = [name for name, version in consumed.items() if version is None]
        if unknown:
            raise RebuildError(f"{unknown[0]} was not part of it before")
        versions = {name: version for name, version in consumed.items() if version is not None}
        states = {state.table: self.table_of_state(state) for state in self.states(view)}
        newest = {name: table.version for name, table in sources.items()}
        ahead = [seen for table in states.values() if (seen := self.seen(table, sources)) != versions]
        target = ahead[0] if ahead else newest
        if any(target.get(name, -1) < version for name, version in versions.items()):
            raise RebuildError("what is kept beside it fits none of its versions")
        fitting = {name: (table, self.fitting(table, sources, versions)) for name, table in states.items()}
        moved = [name for name in sources if versions[name] != target[name]]
        then = self.built_at(stored)
        if CLOCK in changed or (self.clock_columns(view) and then != self.moment):
            moved.append(CLOCK)
        evaluation = Evaluation(
            self,
            view,
            sources,
            versions,
            target,
            {**fitting, view: (stored, stored.version)},
            (then, self.moment),
            self.warehouse / "_advisor" / "scratch" / uuid.uuid4().hex,
        )
        try:
            yield evaluation, [name for name in moved if name == CLOCK or not _is_empty(evaluation.whole_change(name))]
        finally:
            evaluation.close()

    def merge(self, table: Table, pieces: Sequence[Rows], reached: Mapping[str, int], **how: Any) -> None:
        merge_change(table, pieces, reached, self.note, driver_rows=self.driver_rows, **how)

    @property
    def note(self) -> dict[str, float]:
        return {"moment": self.moment}

    def table_of_state(self, state: State) -> Table:
        found = self.stored(state.table)
        if found is None:
            raise RebuildError(STATE_MISSING)
        return found

    def seen(self, table: Table, sources: Mapping[str, Table], version: int | None = None) -> dict[str, int]:
        """The versions of the sources that a table's rows include."""
        found = {name: table.log.consumed(source.log.table_id, version) for name, source in sources.items()}
        return {name: consumed for name, consumed in found.items() if consumed is not None}

    def fitting(self, table: Table, sources: Mapping[str, Table], versions: Mapping[str, int]) -> int:
        """The newest version of a state whose rows include just these versions of the sources."""
        for version in range(table.version, max(-1, table.version - 8), -1):
            if self.seen(table, sources, version) == versions:
                return version
        raise RebuildError("what is kept beside it fits none of its versions")

    def change(self, table: Table, after: int, upto: int) -> Rows:
        """The net change of a table, read once for all views that need it; on the driver unless it is too large."""
        key = (str(table.root), after, upto)
        if key not in self._changes:
            rows: Rows = changes_here(table.log, after, upto, self.driver_rows)
            if rows is None:
                frame = table.changes(after, upto)
                few = frame.limit(self.driver_rows + 1).toArrow()
                rows = few if few.num_rows <= self.driver_rows else frame
            if len(self._changes) >= MOST_CHANGES:
                self._changes.clear()
            self._changes[key] = rows
        return self._changes[key]

    # Updates

    def update(self, what: Mapping[str, Change] | str) -> tuple[dict[str, int], list[Refresh]]:
        """One update transaction, and the immediate views that it sets off."""
        versions = update(self.tables, what, intents_folder=self.warehouse / "_advisor" / "intents")
        done = []
        for view in self.definitions if versions else ():
            if self.kept(view).strategy == "immediate" and set(self.base_tables(view)) & set(versions):
                done.append(self.attempt(view))
        return versions, done

    def attempt(self, view: str) -> Refresh:
        """Refresh a view; where that fails the view stays behind, and the next refresh catches up."""
        try:
            return self.refresh(view)
        except AdvisorError as error:
            failed = Refresh(view, self.kept(view).algorithm, None, error.message, 0.0, error=error)
            self.told(failed)
            return failed

    def base_tables(self, view: str) -> Iterator[str]:
        """The base tables under a view, whatever lies between."""
        for name in self.definitions[view].relations:
            if name in self.definitions:
                yield from self.base_tables(name)
            else:
                yield name

    # Trust

    def compare(self, view: str) -> Comparison:
        """A stored view against its definition evaluated from the base tables, duplicates counted.

        Floating-point numbers that are close are no difference: in which order an engine adds them up is left open.
        """
        stored = self.table(view)
        kept = self.spark.table(self.registered(stored))
        virtual = Runner(self.spark, self.definitions, self.tables, self.warehouse)
        wanted = virtual.evaluate(view)
        missing, unexpected = (
            rows.limit(self.driver_rows).toArrow() for rows in (wanted.exceptAll(kept), kept.exceptAll(wanted))
        )
        sought = Sought(missing, [1] * missing.num_rows)
        found = [sought.take(row, close=True) for row in tuples(unexpected.cast(missing.schema))]
        example = f"missing: {show_row(dict(zip(wanted.columns, sought.example(), strict=True)))}" if sought else None
        if example is None and not all(found):
            example = f"unexpected: {show_row(unexpected.slice(found.index(False), 1).to_pylist()[0])}"
        return Comparison(view, len(sought), found.count(False), example)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """What the engine says against a piece of work, as one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ExecutionError(f"{what}: the engine failed: {lines[0][:300]}", "nothing is lost: try again") from error


def _is_empty(rows: Rows) -> bool:
    return not is_frame(rows) and rows.num_rows == 0
