"""Carries plans out on Spark: the one place where steps become DataFrames and commits.

A stored view is a plain Delta table in the warehouse. The commit that stores its rows names the version of every
table they were made from, so whether a view is up to date is read from its own log; there is no second record.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from sqlglot import exp

from executors.executor import find_executor
from storage.intents import recover
from storage.log import is_delta
from storage.pruning import files_where
from storage.table import Table, store_rows
from storage.updates import update
from views.catalog import CLOCK, NOW
from views.definition import Definition
from views.errors import ExecutionError, ViewError
from views.pushdown import needed_rows
from views.references import references
from views.rules import Expr
from views.steps import Evaluate, Plan, ReadStored, Replace, Step, Strategy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from storage.staging import Change


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
    _names: dict[tuple[str, int, bytes], str] = field(default_factory=dict)
    _stored: dict[str, Table] = field(default_factory=dict)

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
            return ["it is not built yet"]
        if stored.log.description != self.describe(view):
            return ["its definition changed"]
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
        built = max((c.timestamp for c in stored.log.history(1)), default=0) / 1000
        return NOW in used or int(built // 86_400) != int(time.time() // 86_400)

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

    def plan(self, view: str, changed: Sequence[str] | None = None) -> Plan:
        """The plan of the algorithm that keeps a view; recompute where that one does not apply."""
        definition = self.definitions[view]
        executor = find_executor(self.kept(view).algorithm) or find_executor("recompute")
        assert executor is not None
        plan = executor.plan(definition, definition.relations if changed is None else changed)
        if isinstance(plan, Plan):
            return plan
        fallback = find_executor("recompute")
        assert fallback is not None
        replaced = fallback.plan(definition, definition.relations if changed is None else changed)
        assert isinstance(replaced, Plan)
        return replaced

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
                return self.evaluate(view, where)
            case Replace():
                raise AssertionError("a read does not replace rows")
            case _:
                assert_never(step)

    def evaluate(self, view: str, where: Expr | None = None) -> DataFrame:
        """The definition of a view on its tables as they are, reading only the files that can matter."""
        definition = self.definitions[view]
        needed: Mapping[str, Expr | None] = {}
        if definition.program is not None:
            needed = needed_rows(definition.program, where)
        query = definition.query.copy()
        for node in list(references(query)):
            if node.name in definition.relations:
                node.set("this", exp.to_identifier(self.relation(node.name, needed.get(node.name))))
        if where is not None:
            inner = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(view, quoted=True)))
            query = exp.select("*").from_(inner).where(where.copy())
        return self._sql(query, view)

    def relation(self, name: str, needed: Expr | None) -> str:
        """A temporary view of the rows of a relation, of only those files that can hold a needed one."""
        if name in self.definitions and not self.is_stored(name):
            made = f"advisor_{uuid.uuid4().hex}"
            self.evaluate(name, needed).createOrReplaceTempView(made)
            return made
        table = self.table(name)
        mask = files_where(table.log.snapshot(), needed) if needed is not None else None
        return self.registered(table, mask)

    def registered(self, table: Table, mask: Any = None) -> str:
        """A temporary view of one version of a table; its name is never reused, because some engines bind late."""
        if mask is not None and np.all(mask):
            mask = None
        key = (str(table.root), table.version, b"" if mask is None else np.packbits(mask).tobytes())
        if key not in self._names:
            made = f"advisor_{uuid.uuid4().hex}"
            rows = table.snapshot() if mask is None else table.rows(mask)
            rows.createOrReplaceTempView(made)
            self._names[key] = made
        return self._names[key]

    def _sql(self, query: exp.Expr, view: str) -> DataFrame:
        from pyspark.errors import AnalysisException

        try:
            return self.spark.sql(query.sql(dialect="spark"))
        except AnalysisException as error:
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
        plan = self.plan(view, changed)
        for step in plan.maintain:
            self.maintain(step)
        because = ", ".join(changed) if " " in changed[0] else f"{', '.join(changed)} changed"
        if plan.algorithm != planned:
            because += f"; {planned} is not available for it"
        stored = self.table(view)
        return Refresh(view, planned, plan.algorithm, because, time.perf_counter() - started, stored.version)

    def maintain(self, step: Step) -> None:
        match step:
            case Replace(view=view):
                sources = self.sources(view)
                rows = self.evaluate(view)
                consumed = {table.log.table_id: table.version for table in sources.values()}
                path = self.warehouse / view
                self._stored[view] = store_rows(
                    self.spark, path, rows, description=self.describe(view), consumed=consumed
                )
            case Evaluate() | ReadStored():
                raise AssertionError("a read maintains nothing")
            case _:
                assert_never(step)

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
