"""Reads a view's SQL: one query in Spark's dialect, that can neither change data nor run code."""

from __future__ import annotations

import logging
import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from views.errors import ViewError

_CODE_FUNCTIONS = frozenset({"reflect", "java_method", "try_reflect"})
_TABLE_FUNCTIONS = frozenset({"range", "explode", "explode_outer", "posexplode", "posexplode_outer",
                              "inline", "inline_outer", "stack"})  # fmt: skip


def parse(sql: str, label: str) -> exp.Query:
    """The one query that `sql` is; ViewError for several statements, DDL, DML, or text that is not SQL."""
    statements = [each for each in _parse(sql, label) if each is not None]
    if not statements:
        raise ViewError(f"{label}: has no SQL", "write one SELECT")
    if len(statements) > 1:
        line = sql[: sql.find(";")].count("\n") + 1
        raise ViewError(f"{label}: line {line}: {len(statements)} statements", "keep one SELECT")
    query = statements[0].unnest()
    if isinstance(query, exp.Values):
        query = exp.select("*").from_(query)
    if not isinstance(query, exp.Select | exp.SetOperation):
        kind = str(statements[0].sql(dialect="spark")).split(maxsplit=1)[0].upper()[:20]
        raise ViewError(f"{label}: {kind} is not a query", "write one SELECT, WITH or set operation")
    _refuse_code(query, label)
    return query


def _parse(sql: str, label: str) -> list[exp.Expr | None]:
    logger = logging.getLogger("sqlglot")
    was = logger.disabled
    logger.disabled = True  # it warns about statements that are refused here anyway
    try:
        return list(sqlglot.parse(sql, read="spark"))
    except RecursionError:
        raise ViewError(f"{label}: is nested too deeply", "split it with WITH") from None
    except SqlglotError as error:
        details = getattr(error, "errors", None) or [{}]
        first = details[0]
        where = f"line {first['line']}, column {first['col']}: " if first.get("line") else ""
        near = " ".join(f"{first.get('start_context', '')[-30:]}{first.get('highlight', '')}".split())
        what = f"{first['description']} near {near!r}" if first.get("description") else str(error)
        what = re.sub(r"Required keyword: '\w+' missing for <class '[\w.]+'>", "something is missing", what)
        what = re.sub(r"<Token .*?>", "something else", " ".join(what.split()))
        raise ViewError(f"{label}: {where}not SQL: {what}", "correct it") from None
    finally:
        logger.disabled = was


def _refuse_code(query: exp.Query, label: str) -> None:
    """Nothing in the query may write, run code outside SQL, or read what the workload does not name."""
    for node in query.walk():
        name = node.name.casefold() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, exp.DML | exp.DDL | exp.Command | exp.Into):
            raise ViewError(f"{label}: {type(node).__name__.upper()} inside the query", "write only SELECT")
        if isinstance(node, exp.QueryTransform) or name in _CODE_FUNCTIONS:
            what = name or "TRANSFORM … USING"
            raise ViewError(f"{label}: {what} runs code outside SQL", "write it with SQL functions")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
            function = node.this.name or node.this.sql_name()
            if function.casefold() not in _TABLE_FUNCTIONS:
                raise ViewError(f"{label}: reads the function {function!r}", "read a table of the workload")
