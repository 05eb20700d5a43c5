"""What the rows of views are, told by DuckDB from their original SQL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import duckdb
import pyarrow as pa
from sqlglot import exp

from tests.views.bags import duck_sql, fill


def on_duckdb(views: Mapping[str, str], tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The rows of each view; a view may read those before it."""
    connection = _process_connection()
    connection.begin()
    try:
        fill(connection, tables)
        names = {view: exp.to_identifier(view, quoted=True).sql("duckdb") for view in views}
        for view, sql in views.items():
            connection.execute(f"CREATE VIEW {names[view]} AS {duck_sql(sql)}")
        return {view: connection.sql(f"FROM {name}").to_arrow_table() for view, name in names.items()}
    finally:
        connection.rollback()


@cache
def _process_connection() -> duckdb.DuckDBPyConnection:
    """A connection that nothing stays in: to open one costs more than a case."""
    return duckdb.connect(config={"threads": 1})
