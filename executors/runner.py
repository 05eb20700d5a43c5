"""Carries plans out on Spark: the one place where steps become DataFrames and commits.

A stored view is a plain Delta table in the warehouse. The commit that stores its rows names the version of every
table they were made from, so whether a view is up to date is read from its own log; there is no second record.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import pyarrow as pa
from sqlglot import exp

from executors.executor import find_executor
from storage.changes import changes_here, net_here
from storage.intents import recover
from storage.log import is_delta
from storage.merging import merge_change
from storage.pruning import files_where, files_with_keys
from storage.table import Table, store_rows
from storage.updates import update
from storage.writing import DRIVER_ROWS
from views.catalog import CLOCK, NOW, TODAY
from views.compose import opened
from views.definition import Definition
from views.deltas import COUNT, key_sources, state_of
from views.errors import ExecutionError, TableError, ViewError
from views.pushdown import needed_rows
from views.references import references
from views.render import query_of
from views.rules import Expr, Program
from views.steps import ApplyDelta, Evaluate, Plan, ReadStored, Replace, Step, Strategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from storage.staging import Change


NOT_BUILT, REDEFINED = "it is not built yet", "its definition changed"


class _RebuildError(Exception):
    """A change that cannot be applied, or is not worth it: the view is rebuilt instead, and this says why."""


@dataclass(frozen=True)
class Keeping:
    """How a view is kept: when, and by which algorithm."""

    strategy: Strategy = "query_modification"
    algorithm: str = "query_modification"


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


@dataclass(frozen=True)
class Comparison:
    """A stored view against its definition, evaluated now: rows that are missing and rows that are too many."""

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
    _names: dict[Hashable, str] = field(default_factory=dict)
    _changes: dict[Hashable, pa.Table] = field(default_factory=dict)
    _stored: dict[str, Table] = field(default_factory=dict)
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
        return self.kept(view).strategy != "query_modification"

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
        behind = []
        for name, table in self.sources(view).items():
            consumed = stored.log.consumed(table.log.table_id)
            if consumed != table.version:
                behind.append(name)
        if not behind and self.clock_moved(view, stored):
            behind.append(CLOCK)
        return behind

    def describe(self, view: str) -> str:
        return f"view {view}, definition {self.fingerprint(view)}"

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

    def virtual_below(self, view: str) -> set[str]:
        found: set[str] = set()
        for name in self.definitions[view].relations:
            if name in self.definitions and not self.is_stored(name):
                found |= {name} | self.virtual_below(name)
        return found

    def plan(self, view: str, changed: Sequence[str] | None = None) -> Plan:
        """The plan of the algorithm that keeps a view; recompute where that one does not apply."""
        definition = self.opened(view)
        executor = find_executor(self.kept(view).algorithm)
        plan = executor.plan(definition, definition.relations if changed is None else changed) if executor else ()
        return plan if isinstance(plan, Plan) else self.rebuild(view)

    def rebuild(self, view: str) -> Plan:
        """The plan that works for every view."""
        recompute = find_executor("recompute")
        assert recompute is not None
        plan = recompute.plan(self.definitions[view], self.definitions[view].relations or (view,))
        assert isinstance(plan, Plan)
        return plan

    # Reads

    def query(self, view: str, where: Expr | None = None) -> DataFrame:
        """The rows of a view that pass a filter, right now, however the view is kept."""
        if view not in self.definitions:
            raise ViewError(f"there is no view {view!r}")
        if self.is_stored(view):
            self.refresh(view)
        else:
            self.refresh_below(view)
        (step,) = self.plan(view).answer
        return self.answer(step, where)

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
            if node.name == CLOCK or node.name in definition.relations:
                node.set("this", exp.to_identifier(self.relation(node.name, needed.get(node.name))))
        if where is not None:
            inner = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(view, quoted=True)))
            query = exp.select("*").from_(inner).where(where.copy())
        return self._sql(query, view)

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
        """Rows of the driver on the engine; without any, their types must be told."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return self.spark.createDataFrame(rows, from_arrow_schema(rows.schema) if not rows.num_rows else None)

    def named(self, key: Hashable, rows: Callable[[], DataFrame]) -> str:
        """A temporary view made once per key; its name is never reused, because some engines bind late."""
        if key not in self._names:
            made = f"advisor_{uuid.uuid4().hex}"
            rows().createOrReplaceTempView(made)
            self._names[key] = made
        return self._names[key]

    def _sql(self, query: exp.Expr, view: str) -> DataFrame:
        from pyspark.errors import PySparkException

        try:
            rows = self.spark.sql(query.sql(dialect="spark"))
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
        """Bring a stored view up to date; without pending changes nothing is read or written."""
        started = time.perf_counter()
        self.refresh_below(view)
        planned = self.kept(view).algorithm
        changed = self.pending(view)
        if not changed:
            return Refresh(view, planned, None, "nothing is pending", time.perf_counter() - started)
        why = changed[0] if changed[0] in (NOT_BUILT, REDEFINED) else None
        plan = self.rebuild(view) if why else self.plan(view, changed)
        because = why or f"{', '.join(changed)} changed".replace(f"{CLOCK} changed", "the day has turned")
        if plan.algorithm != planned and why is None:
            because += f"; {planned} does not apply to it"
        try:
            for step in plan.maintain:
                self.maintain(step)
        except _RebuildError as reason:
            plan = self.rebuild(view)
            because += f"; {reason}"
            for step in plan.maintain:
                self.maintain(step)
        seconds = time.perf_counter() - started
        return Refresh(view, planned, plan.algorithm, because, seconds, self.table(view).version)

    def maintain(self, step: Step) -> None:
        match step:
            case Replace(view=view):
                sources = self.sources(view)
                rows = self.evaluate(view, None, step)
                consumed = {table.log.table_id: table.version for table in sources.values()}
                path = self.warehouse / view
                note = {"moment": self.moment}
                self._stored[view] = store_rows(
                    self.spark, path, rows, description=self.describe(view), consumed=consumed, note=note
                )
            case ApplyDelta(view=view, delta=delta):
                self.apply_delta(view, delta)
            case Evaluate() | ReadStored():
                raise AssertionError("a read maintains nothing")
            case _:
                assert_never(step)

    def apply_delta(self, view: str, delta: Program) -> None:
        """Evaluate a view's change on the tables as they were and are, and commit it with what it was made from."""
        stored, sources = self.table(view), self.sources(view)
        consumed = {table.log.table_id: table.version for table in sources.values()}
        states = _States(self, stored, sources)
        if states.empty(delta):
            stored.log.commit(consumed=consumed, note={"moment": self.moment})
            return
        query = query_of(delta)
        masks = states.masks(delta)
        for node in list(references(query)):
            node.set("this", exp.to_identifier(states.relation(node.name, masks.get(node.name))))
        change = self._sql(query, view).toArrow()
        merge_change(stored, net_here(change), consumed, {"moment": self.moment})

    # Updates

    def update(self, what: Mapping[str, Change] | str) -> tuple[dict[str, int], list[Refresh]]:
        """One update transaction, and the immediate views that it sets off."""
        versions = update(self.tables, what, intents_folder=self.warehouse / "_advisor" / "intents")
        done = []
        for view in self.definitions if versions else ():
            if self.kept(view).strategy == "immediate" and set(self.base_tables(view)) & set(versions):
                done.append(self.refresh(view))
        return versions, done

    def base_tables(self, view: str) -> Iterator[str]:
        """The base tables under a view, whatever lies between."""
        for name in self.definitions[view].relations:
            if name in self.definitions:
                yield from self.base_tables(name)
            else:
                yield name

    # Trust

    def compare(self, view: str) -> Comparison:
        """A stored view against its definition evaluated from the base tables, duplicates counted."""
        stored = self.table(view)
        kept = self.spark.table(self.registered(stored))
        virtual = Runner(self.spark, self.definitions, self.tables, self.warehouse)
        wanted = virtual.evaluate(view)
        missing, unexpected = wanted.exceptAll(kept), kept.exceptAll(wanted)
        counts = [rows.count() for rows in (missing, unexpected)]
        example = None
        for word, rows, count in (("missing", missing, counts[0]), ("unexpected", unexpected, counts[1])):
            if count and example is None:
                example = f"{word}: {rows.limit(1).toArrow().to_pylist()[0]}"
        return Comparison(view, counts[0], counts[1], example)


def clock_rows(moments: Sequence[float]) -> pa.Table:
    """The base table of the clock at some moments."""
    known = [dt.datetime.fromtimestamp(seconds, dt.UTC) for seconds in moments]
    days = pa.array([moment.date() for moment in known], pa.date32())
    return pa.table({TODAY: days, NOW: pa.array(known, pa.timestamp("us", "UTC"))})


@dataclass
class _States:
    """The states of a stored view's sources: as it has consumed them, as they are, and what changed in between."""

    runner: Runner
    stored: Table
    sources: Mapping[str, Table]

    def consumed(self, name: str) -> int:
        version = self.stored.log.consumed(self.sources[name].log.table_id)
        if version is None:
            raise _RebuildError(f"{name} was not part of it before")
        return version

    def change(self, name: str) -> pa.Table:
        """The net change of a source on the driver, read once for all views that need it."""
        runner, table = self.runner, self.sources[name]
        key = (str(table.root), self.consumed(name), table.version)
        if key not in runner._changes:
            try:
                rows = changes_here(table.log, key[1], key[2], DRIVER_ROWS)
                if rows is None:
                    few = table.changes(key[1]).limit(DRIVER_ROWS + 1).toArrow()
                    if few.num_rows > DRIVER_ROWS:
                        raise _RebuildError(f"more than {DRIVER_ROWS:,} rows of {name} changed")
                    rows = few
            except TableError as error:
                raise _RebuildError(error.message) from error
            runner._changes[key] = rows
        return runner._changes[key]

    def clock(self, state: str) -> pa.Table:
        """The moment of the last refresh, the moment of this one, or the change from one to the other."""
        then = self.runner.built_at(self.stored)
        if then is None:
            raise _RebuildError("the moment it was built at is not known")
        match state:
            case "old":
                return clock_rows((then,))
            case "new":
                return clock_rows((self.runner.moment,))
            case _:
                counts = pa.array([1, -1], pa.int64())
                return clock_rows((self.runner.moment, then)).append_column(COUNT, counts)

    def empty(self, delta: Program) -> bool:
        """Whether nothing changed in what the delta reads, although versions moved: compaction, say."""
        read = [state_of(name) for name in delta.relations]
        if any(name == CLOCK and state == "delta" for name, state in read):
            return False
        changed = {name for name, _ in read if name != CLOCK and self.consumed(name) != self.sources[name].version}
        return all(self.change(name).num_rows == 0 for name in changed)

    def masks(self, delta: Program) -> dict[str, Any]:
        """The files of each state that can hold a row which joins with the change; absent where all are read."""
        found: dict[str, Any] = {}
        for relation, places in key_sources(delta).items():
            name, state = state_of(relation)
            if name == CLOCK or not all(places):
                continue
            snapshot = self.sources[name].log.snapshot(self.consumed(name) if state == "old" else None)
            mask = np.zeros(snapshot.num_files, dtype=bool)
            for keys in places:
                values = {c: self.change(state_of(source)[0])[column] for c, (source, column) in keys.items()}
                mask |= files_with_keys(snapshot, values)
            found[relation] = mask
        return found

    def relation(self, relation: str, mask: Any) -> str:
        """A temporary view of a relation in a state."""
        name, state = state_of(relation)
        runner = self.runner
        if name == CLOCK:
            rows = self.clock(state)
            return runner.named((CLOCK, state, uuid.uuid4()), lambda: runner.frame(rows))
        table = self.sources[name]
        if state == "delta":
            rows = self.change(name)
            key = ("delta", str(table.root), self.consumed(name), table.version)
            return runner.named(key, lambda: runner.frame(rows))
        return runner.registered(table, mask, self.consumed(name) if state == "old" else None)
