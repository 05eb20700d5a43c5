"""Bags of rows that can be compared, and DuckDB as the engine that is independent of Spark."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from views.catalog import CLOCK, NOW, TODAY

MOMENT = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
"""Now; the views of the corpus give the same rows on every day of this century."""
Bag = Counter[tuple[Any, ...]]
_NUMBERS = itertools.count()


def clock() -> pa.Table:
    """The one row of the moment."""
    return pa.table({TODAY: pa.array([MOMENT.date()], pa.date32()), NOW: pa.array([MOMENT], pa.timestamp("us", "UTC"))})


def bag(table: pa.Table, digits: int | None = None) -> Bag:
    """Rows with their multiplicity; `digits` after the point are compared where engines differ in scale."""
    columns = [[_value(each, digits) for each in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True))


def _value(value: Any, digits: int | None) -> Any:
    match value:
        case float():
            return round(value, 9 if digits is None else digits)
        case Decimal() if digits is not None:
            return round(float(value), digits)
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).replace(tzinfo=None)
        case dict():
            return tuple((name, _value(each, digits)) for name, each in value.items())
        case list():
            return tuple(_value(each, digits) for each in value)
    return value


def duck(tables: Mapping[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with these tables, in a database of its own."""
    connection = of_process().cursor()
    name = f"database_{next(_NUMBERS)}"
    connection.execute(f"ATTACH ':memory:' AS {name}")
    connection.execute(f"USE {name}")
    fill(connection, tables)
    return connection


@cache
def of_process() -> duckdb.DuckDBPyConnection:
    """Whose databases are in one process: to start DuckDB costs more than most queries here."""
    return duckdb.connect(config={"threads": 1})


def fill(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> None:
    """Make these tables and the clock; timestamps have no zone there and mean UTC."""
    for name, table in {**tables, CLOCK: clock()}.items():
        naive = [
            pa.field(f.name, pa.timestamp("us") if pa.types.is_timestamp(f.type) else f.type) for f in table.schema
        ]
        connection.register("incoming", table.cast(pa.schema(naive)))
        connection.execute(f"CREATE TABLE {exp.to_identifier(name, quoted=True).sql('duckdb')} AS FROM incoming")
        connection.unregister("incoming")


def on_duck(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a query in Spark's SQL, at the moment of the clock."""
    return connection.sql(duck_sql(query)).to_arrow_table()


@cache
def duck_sql(query: str) -> str:
    """Spark's SQL as DuckDB's, with Spark's meaning."""
    parsed = sqlglot.parse_one(query, read="spark").transform(_for_duck, copy=False)
    for group in list(parsed.find_all(exp.Group)):
        _spark_grouping_sets(group)
    return parsed.sql("duckdb", copy=False)


def same_order(wanted: pa.Table, found: pa.Table) -> pa.Table:
    """The columns by name where both know them: a star over USING has another order in DuckDB."""
    names = wanted.column_names
    return found.select(names) if sorted(names) == sorted(found.column_names) == sorted(set(names)) else found


def _for_duck(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.DataType(this=exp.DataType.Type.TIMESTAMPTZ | exp.DataType.Type.TIMESTAMPLTZ):
            return exp.DataType.build("timestamp", dialect="duckdb")
        case exp.Values() if not node.alias_column_names and isinstance(node.parent, exp.From | exp.Join):
            names = [exp.to_identifier(f"col{i + 1}") for i in range(len(node.expressions[0].expressions))]
            node.set("alias", exp.TableAlias(this=exp.to_identifier(node.alias or "listed"), columns=names))
        case exp.GenerateSeries():  # a sum of integers is wider than the bounds may be
            node.set("end", exp.cast(node.args["end"], "bigint"))
        case exp.Anonymous() if node.name.casefold() == "raise_error":
            return exp.Anonymous(this="error", expressions=node.expressions)
        case exp.CurrentDate():
            return exp.cast(exp.Literal.string(MOMENT.date().isoformat()), "date")
        case exp.CurrentTimestamp():
            return exp.cast(
                exp.Literal.string(MOMENT.replace(tzinfo=None).isoformat(" ")), "timestamp", dialect="duckdb"
            )
    return node


def _spark_grouping_sets(group: exp.Group) -> None:
    """WITH ROLLUP as ROLLUP (…); and Spark, unlike DuckDB, makes no grand total of no rows."""
    for kind, make in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if group.args.get(kind):
            group.set("expressions", [make(expressions=group.expressions)])
            group.set(kind, None)
    if group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
        group.parent_select.having("COUNT(*) > 0", copy=False)
