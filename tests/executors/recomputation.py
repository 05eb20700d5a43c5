"""What the rows of views are, told by DuckDB from their original SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa
from sqlglot import exp

from tests.views.bags import duck_sql, fill, of_process, on_duck


def on_duckdb(views: Mapping[str, str], tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The rows of each view; a view may read those before it."""
    with _filled(tables) as connection:
        names = {view: exp.to_identifier(view, quoted=True).sql("duckdb") for view in views}
        for view, sql in views.items():
            connection.execute(f"CREATE VIEW {names[view]} AS {duck_sql(sql)}")
        return {view: connection.sql(f"FROM {name}").to_arrow_table() for view, name in names.items()}


def answer(query: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of one query in Spark's SQL."""
    with _filled(tables) as connection:
        return on_duck(connection, query)


@contextmanager
def _filled(tables: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with these tables as long as this lasts."""
    connection = of_process().cursor()
    connection.begin()
    try:
        fill(connection, tables)
        yield connection
    finally:
        connection.rollback()
