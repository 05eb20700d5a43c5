"""The conformance suite of executors, for the built-in ones and for plug-ins.

An executor that passes keeps its promises on the views it was tried with: `plan` is a pure function whose steps can
be printed, and the rows that the runner stores by it are those of the definition, after each change and after many
at once. What is right is told by a recomputation that the author brings along, on an engine that shares nothing
with Spark; DuckDB serves well. In the tests of a plug-in:

    import duckdb
    import pyarrow as pa
    from executors.executor import executors
    from executors.testing import Case, check_plans, check_rows, random_transactions

    VIEWS = {
        "totals": "SELECT a, SUM(b) AS total FROM r GROUP BY a",
        "large": "SELECT a FROM totals WHERE total > 3",
    }
    TABLES = {"r": pa.table({"a": [1, 1, None], "b": [2, 2, 5]})}

    def recompute(views, tables):
        connection = duckdb.connect()
        for name, rows in tables.items():
            connection.register(name, rows)
        for name, sql in views.items():
            connection.execute(f"CREATE VIEW {name} AS {sql}")
        return {name: connection.table(name).to_arrow_table() for name in views}

    def test_my_executor(spark, tmp_path):  # a session, as `storage.engine.open_session("sail")` opens it
        mine = executors()["mine"]  # the name of its entry point
        case = Case(VIEWS, TABLES, random_transactions(TABLES, seed=1))
        assert check_plans(mine, case) == {"totals", "large"}
        check_rows(mine, case, spark, tmp_path, recompute)

Every check raises AssertionError with what differed. Nothing here needs pytest.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import sqlglot
from deltalake import DeltaTable
from sqlglot import exp
from sqlglot.errors import SqlglotError

from executors.executor import Executor, executors
from executors.keeping import Keeping
from executors.runner import Runner
from executors.standing import NOT_BUILT
from storage.staging import Change
from storage.table import Table, create_table
from storage.types import delta_fields, spark_types
from views.catalog import Catalog, Relation
from views.definition import Definition, define_all
from views.reasons import REASONS, Reason
from views.steps import Plan, Step, step_sql
from views.text import rules_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Transaction = Mapping[str, tuple[pa.Table | None, pa.Table | None]]
"""Rows to insert into and to delete from each table, all at once."""
Recomputation = Callable[[Mapping[str, str], Mapping[str, pa.Table]], Mapping[str, pa.Table]]
"""The rows of every view, from the views' SQL, each after those it reads, and the rows of the base tables."""
Bag = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """Views over base tables, and the update transactions to put them through."""

    views: Mapping[str, str]
    """Name and SQL, each after those it reads."""
    tables: Mapping[str, pa.Table]
    transactions: Sequence[Transaction] = ()
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    foreign_keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of a table: the column, and the `table.key` that it refers to."""

    def definitions(self) -> dict[str, Definition]:
        relations = [
            Relation(name, spark_types(delta_fields(rows.schema)), tuple(self.keys.get(name, ())))
            for name, rows in self.tables.items()
        ]
        return define_all(self.views, Catalog.of(relations))

    def states(self) -> Iterator[dict[str, pa.Table]]:
        """The base tables before the first transaction and after each."""
        now = dict(self.tables)
        yield dict(now)
        for transaction in self.transactions:
            now |= {name: changed(now[name], *change) for name, change in transaction.items()}
            yield dict(now)


def check_plans(executor: Executor, case: Case) -> set[str]:
    """Check what the executor plans for every view of the case; the names of those that it can keep."""
    return {
        view for view, definition in case.definitions().items() if isinstance(check_plan(executor, definition), Plan)
    }


def check_plan(executor: Executor, definition: Definition) -> Plan | tuple[Reason, ...]:
    """Check the executor's plan for a view, whichever of its relations have changed; the plan when all have.

    `plan` gives equal output for equal input, changes nothing, asks no engine, and returns a plan whose steps print
    as SQL, or the reasons, each of a known kind.
    """
    relations, before = definition.relations, _described(definition)
    for changed_relations in dict.fromkeys([(), *((name,) for name in relations), relations]):
        with _without_spark():
            found, again = (executor.plan(definition, changed_relations) for _ in range(2))
        where = f"{executor.name}: plan of {definition.view!r} when {', '.join(changed_relations) or 'nothing'} changed"
        assert found == again, f"{where}: another plan the second time"
        if isinstance(found, Plan):
            _check_steps(executor, definition, found, where)
        else:
            assert isinstance(found, tuple), f"{where}: {type(found).__name__} is neither a plan nor reasons"
            assert found, f"{where}: no plan and no reason"
            for reason in found:
                assert isinstance(reason, Reason), f"{where}: {reason!r} is no Reason"
                assert reason.why in REASONS, f"{where}: {reason.code} is not in the table of reasons"
    assert _described(definition) == before, f"{executor.name}: {definition.view!r} is not what it was before its plan"
    return found


def _check_steps(executor: Executor, definition: Definition, plan: Plan, where: str) -> None:
    assert plan.view == definition.view, f"{where}: it is for {plan.view!r}"
    assert plan.algorithm == executor.name, f"{where}: it calls itself {plan.algorithm!r}"
    assert executor.stores or not plan.maintain, f"{where}: nothing is stored, yet there are steps to maintain it"
    assert plan.answer, f"{where}: a read is not answered"
    for step in (*plan.maintain, *plan.answer):
        _check_printed(step, where)


def _check_printed(step: Step, where: str) -> None:
    text = step_sql(step).sql(dialect="spark")
    try:
        statements = sqlglot.parse(text, read="spark")
    except SqlglotError as error:
        raise AssertionError(f"{where}: {type(step).__name__} prints as what is not SQL: {text}") from error
    assert len(statements) == 1, f"{where}: {type(step).__name__} prints as {len(statements)} statements: {text}"
    read = statements[0]
    assert isinstance(read, exp.Query | exp.DML), f"{where}: {type(step).__name__} prints as no statement: {text}"
    assert read.sql(dialect="spark") == text, f"{where}: {type(step).__name__} reads back as another one: {text}"


def _described(definition: Definition) -> tuple[str, str]:
    rules = rules_text(definition.program) if definition.program is not None else ""
    return definition.query.sql(dialect="spark"), rules


@contextmanager
def _without_spark() -> Iterator[None]:
    """While this lasts, whoever imports pyspark fails, and a session cannot be fetched without doing so."""
    known = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "pyspark"}
    blocked: dict[str, Any] = dict.fromkeys([*known, "pyspark"])
    sys.modules.update(blocked)
    try:
        yield
    except ImportError as error:
        if (error.name or "").split(".")[0] == "pyspark":
            raise AssertionError("plan() imports pyspark, though it must run without an engine") from error
        raise
    finally:
        for name in blocked:
            del sys.modules[name]
        sys.modules.update(known)


def check_rows(
    executor: Executor,
    case: Case,
    session: SparkSession,
    folder: Path,
    recompute: Recomputation,
    *,
    digits: int | None = None,
) -> set[str]:
    """Check the rows of the views: with a refresh after each transaction, and with one refresh after all of them.

    `folder` takes the tables. Numbers are compared up to `digits` after the point where engines differ in the type
    of a quotient. Returns the views that the executor keeps; those for which it has reasons are left out, with all
    that read them.
    """
    return check_rows_by_each((executor,), case, session, folder, recompute, digits=digits)[executor.name]


def check_rows_by_each(
    by: Sequence[Executor],
    case: Case,
    session: SparkSession,
    folder: Path,
    recompute: Recomputation,
    *,
    digits: int | None = None,
) -> dict[str, set[str]]:
    """The same for several executors, over the same base tables and commits; the views that each keeps."""
    definitions = case.definitions()
    tables = {
        name: create_table(session, folder / "tables" / str(number), rows, name=name, key=case.keys.get(name, ()))
        for number, (name, rows) in enumerate(case.tables.items())
    }
    for name, references in case.foreign_keys.items():
        tables[name].foreign_keys |= references
    trials = [_Trial.of(executor, definitions, session, tables, folder / executor.name, digits) for executor in by]
    count, waiting = len(case.transactions), list[_Trial]()
    for number, state in enumerate(case.states()):
        wanted = _recomputed(case, state, recompute)
        if number:
            trials[0].runner.update({name: Change(*rows) for name, rows in case.transactions[number - 1].items()})
        for trial in trials:
            trial.check(wanted, f"after {number} of {count} transactions")
        if number == 0 < count:
            waiting = [trial.copied(folder / f"{trial.executor.name} at once") for trial in trials if trial.stores]
        if number == count:
            for trial in waiting:
                trial.check(wanted, f"after {number} transactions at once")
    return {trial.executor.name: trial.kept for trial in trials}


@dataclass(frozen=True)
class _Trial:
    """One executor that keeps views in a warehouse of its own, over base tables that others may share."""

    executor: Executor
    runner: Runner
    digits: int | None
    _read: dict[str, tuple[str, pa.Table]] = field(default_factory=dict)
    """Of a stored view: the newest entry of its log, and its rows as of then."""

    @classmethod
    def of(
        cls,
        executor: Executor,
        definitions: Mapping[str, Definition],
        session: SparkSession,
        tables: Mapping[str, Table],
        warehouse: Path,
        digits: int | None,
    ) -> _Trial:
        """A trial of the views that the executor keeps."""
        kept = _kept(executor, definitions)
        keeping = Keeping("deferred" if executor.stores else "query_modification", executor.name)
        return cls(executor, Runner(session, kept, tables, warehouse, dict.fromkeys(kept, keeping)), digits)

    @property
    def kept(self) -> set[str]:
        return set(self.runner.definitions)

    @property
    def stores(self) -> bool:
        return self.executor.stores and bool(self.kept)

    def copied(self, warehouse: Path) -> _Trial:
        """Another one that goes on from a copy of what is stored, as another process would."""
        now = self.runner
        shutil.copytree(now.warehouse, warehouse)
        runner = Runner(now.session, now.definitions, now.tables, warehouse, now.keeping)
        return replace(self, runner=runner, _read=dict(self._read))

    def check(self, wanted: Mapping[str, pa.Table], when: str) -> None:
        """Bring every view up to date by this executor and compare it."""
        runner = self.runner
        runner.look()
        for view, definition in runner.definitions.items():
            where = f"{self.executor.name}: {view!r} {when}"
            if self.executor.stores:
                done = runner.refresh(view)
                first = done.because == NOT_BUILT and done.ran == "recompute"  # whoever keeps it, it is built in full
                by_itself = done.ran in (None, self.executor.name)
                assert first or by_itself, f"{where}: {done.ran} ran, because {done.because}"
                pending = runner.pending(view)
                assert not pending, f"{where}: pending right after a refresh: {pending}"
                found = self.stored(view)
            else:
                found = runner.query(view).toArrow()
            if definition.columns:
                assert tuple(found.column_names) == definition.columns, f"{where}: the columns are {found.column_names}"
            assert_same_rows(found, wanted[view], where, self.digits)

    def stored(self, view: str) -> pa.Table:
        """The rows of a stored view for any reader; where its log has not grown they are those read before."""
        path = self.runner.warehouse / view
        newest = max(entry.name for entry in (path / "_delta_log").glob("*.json"))
        if view not in self._read or self._read[view][0] != newest:
            self._read[view] = newest, stored_rows(path)
        return self._read[view][1]


def _kept(executor: Executor, definitions: Mapping[str, Definition]) -> dict[str, Definition]:
    installed = executors().get(executor.name)
    assert type(installed) is type(executor), f"{executor.name}: no entry point gives this executor; install it first"
    kept: dict[str, Definition] = {}
    for view, definition in definitions.items():
        readable = all(name in kept or name not in definitions for name in definition.relations)
        if readable and isinstance(executor.plan(definition, definition.relations), Plan):
            kept[view] = definition
    return kept


def _recomputed(case: Case, tables: Mapping[str, pa.Table], recompute: Recomputation) -> dict[str, pa.Table]:
    found = dict(recompute(case.views, tables))
    assert found.keys() == case.views.keys(), "the recomputation gives other views than it was asked for"
    return found


def stored_rows(path: Path) -> pa.Table:
    """The public table of a stored view as any Delta reader sees it, without Spark."""
    return DeltaTable(path).to_pyarrow_table()


def assert_same_rows(found: pa.Table, wanted: pa.Table, where: str, digits: int | None = None) -> None:
    """Both hold the same bag of rows; columns are matched by name where both have the same ones, else by place."""
    names = found.column_names
    if sorted(names) == sorted(wanted.column_names) and len(set(names)) == len(names):
        wanted = wanted.select(names)
    assert found.num_columns == wanted.num_columns, f"{where}: {found.num_columns} columns, not {wanted.num_columns}"
    here, there = bag(found, digits), bag(wanted, digits)
    missing, unexpected = there - here, here - there
    assert not missing, f"{where}: {missing.total()} rows are missing, like {next(iter(missing))}"
    assert not unexpected, f"{where}: {unexpected.total()} rows are too many, like {next(iter(unexpected))}"


def bag(rows: pa.Table, digits: int | None = None) -> Bag:
    """Rows with their multiplicities.

    >>> bag(pa.table({"a": [1, None, 1]}))
    Counter({(1,): 2, (None,): 1})
    """
    columns = [[_comparable(value, digits) for value in column.to_pylist()] for column in rows.columns]
    return Counter(zip(*columns, strict=True))


def _comparable(value: Any, digits: int | None) -> Any:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return round(value, 9 if digits is None else digits)
        case Decimal() if digits is not None:
            return round(float(value), digits)
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).replace(tzinfo=None)
        case dict():
            return tuple((name, _comparable(each, digits)) for name, each in value.items())
        case list():
            return tuple(_comparable(each, digits) for each in value)
    return value


def changed(rows: pa.Table, inserts: pa.Table | None, deletes: pa.Table | None) -> pa.Table:
    """The rows of a table after a change; a deleted row leaves once.

    >>> changed(pa.table({"a": [1, 1, 2]}), pa.table({"a": [3]}), pa.table({"a": [1]}))["a"].to_pylist()
    [1, 2, 3]
    """
    whole = rows if inserts is None else pa.concat_tables([rows, inserts.cast(rows.schema)])
    if deletes is None or not deletes.num_rows:
        return whole
    leaving, kept = Counter(_tuples(deletes)), []
    for row in _tuples(whole):
        if leaving[row]:
            leaving[row] -= 1
        else:
            kept.append(row)
    absent = +leaving
    if absent:
        raise ValueError(f"a transaction deletes a row that is not there: {next(iter(absent))}")
    return _table(kept, rows.schema)


def random_transactions(tables: Mapping[str, pa.Table], seed: int, count: int = 6) -> list[Transaction]:
    """Transactions that go where maintenance goes wrong: NULLs, duplicates, empty tables, rows that come and go.

    The tables are without keys and hold values that can be hashed. Inserted rows mix the values that each column has
    at first. Among the transactions are one of several tables, one that empties a table, one that fills it again with
    what it had, and one that deletes what it inserts.
    """
    pick = random.Random(seed)
    pools = {name: [[*set(column.to_pylist()), None] for column in rows.columns] for name, rows in tables.items()}
    for values in itertools.chain(*pools.values()):
        values.sort(key=repr)
    now, emptied = dict(tables), None
    found: list[Transaction] = []
    for number in range(count):
        chosen = pick.sample(sorted(tables), pick.randint(1, len(tables)))
        if number == 0:
            chosen = sorted(tables)
        transaction: dict[str, tuple[pa.Table | None, pa.Table | None]] = {}
        for name in chosen:
            rows, schema = _tuples(now[name]), tables[name].schema
            fresh = [tuple(map(pick.choice, pools[name])) for _ in range(pick.randint(0, 3))]
            twice = pick.sample(rows, min(len(rows), pick.randint(0, 2)))
            leaving = pick.sample(rows, min(len(rows), pick.randint(0, 3)))
            transaction[name] = (_table([*fresh, *twice], schema), _table(leaving, schema))
        first = chosen[0]
        match number % 4:
            case 1:
                emptied = first, now[first]
                transaction[first] = (None, now[first])
            case 2 if emptied is not None:
                transaction[emptied[0]] = (emptied[1], None)
            case 3:
                both = _table([tuple(map(pick.choice, pools[first]))], tables[first].schema)
                inserts, deletes = transaction[first]
                transaction[first] = (pa.concat_tables([inserts, both]), pa.concat_tables([deletes, both]))
        now |= {name: changed(now[name], *change) for name, change in transaction.items()}
        found.append(transaction)
    return found


def _tuples(rows: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _table(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.table([pa.array(values, kind.type) for values, kind in zip(columns, schema, strict=True)], schema=schema)
