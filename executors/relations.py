"""The rows of relations on a Spark session: base tables, stored views and what is evaluated, as temporary views."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import pyarrow as pa
from sqlglot import exp

from executors.evaluation import clock_rows
from executors.standing import Standing
from storage.pruning import files_where
from storage.reading import check_there
from storage.table import Table
from views.catalog import CLOCK
from views.errors import ExecutionError, ViewError
from views.pushdown import needed_rows
from views.references import references
from views.render import query_of
from views.rules import Expr, Program
from views.steps import ApplyDelta, Evaluate, ReadStored, Replace, Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_FORGOTTEN = 500
"""Temporary views that nobody needs any more, before they are dropped: each drop asks the engine."""


@dataclass
class Relations(Standing):
    """Views that can be read: each version of a table has a temporary view of its own."""

    _names: dict[Hashable, str] = field(default_factory=dict)
    _forgotten: list[str] = field(default_factory=list)

    @property
    def spark(self) -> SparkSession:
        if self.session is None:
            raise AssertionError("these views were opened without a session")
        return self.session

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
        key = (str(table.root), table.log.table_id, version, b"" if mask is None else np.packbits(mask).tobytes())
        if key in self._names and version != table.version:  # somebody may have vacuumed it since
            check_there(table.log.snapshot(version), mask)
        return self.named(key, lambda: table.snapshot(version) if mask is None else table.rows(mask, version))

    def frame(self, rows: pa.Table) -> DataFrame:
        """Rows of the driver on the engine, in one piece: Spark need not exchange them, and Sail divides by zero in
        pieces without rows."""
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(rows.schema) if not rows.num_rows else None  # without rows, types must be told
        return self.spark.createDataFrame(rows.combine_chunks(), schema).coalesce(1)

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

    def rows_now(self, program: Program, view: str) -> DataFrame:
        """A program evaluated on the relations as they are now."""
        needed = needed_rows(program)
        query = self.at_this_moment(query_of(program))
        for node in list(references(query)):
            node.set("this", exp.to_identifier(self.relation(node.name, needed.get(node.name))))
        return self.sql(query, view)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """What the engine says against a piece of work, as one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise ExecutionError(f"{what}: {error}", "nothing is lost: is the disk full? try again") from error
    except (PySparkException, Py4JError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ExecutionError(f"{what}: the engine failed: {lines[0][:300]}", "nothing is lost: try again") from error
