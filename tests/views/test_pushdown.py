"""Rows that a read does not need never matter: without them DuckDB gives the same filtered answer.

Over the corpus: views of all shapes, filters on their columns by values they have, random tables with NULLs and
duplicates.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from tests.views import corpus
from tests.views.bags import bag, duck, duck_sql, on_duck
from tests.views.corpus import View
from views.catalog import CLOCK
from views.definition import Definition, define
from views.filters import parse_filter
from views.pushdown import needed_rows
from views.references import references
from views.render import query_of
from views.rules import Expr

FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"
SEEDS = (1, 2)
FILTERS = 2
TOPICS = ("ctes", "derived", "exists", "group", "grouping_sets", "join", "limits", "names", "outer", "select",
          "set_operations", "subqueries", "union", "windows")  # fmt: skip


@cache
def database(seed: int) -> duckdb.DuckDBPyConnection:
    return duck(corpus.tables(seed))


def filtered(definition: Definition, where: Expr) -> exp.Select:
    """The view's program, which has Spark's meaning also where DuckDB's SQL differs, under a filter."""
    assert definition.program is not None
    inner = exp.Subquery(this=query_of(definition.program), alias=exp.TableAlias(this=exp.to_identifier("v")))
    return exp.select("*").from_(inner).where(where.copy())


def without_the_rest(query: exp.Select, needed: dict[str, Expr | None], connection: Any) -> tuple[exp.Select, int]:
    """The query over only the needed rows of each table, and how many rows that leaves out."""
    query, left_out = query.copy(), 0
    for node in list(references(query)):
        condition = needed.get(node.name)
        if condition is None:
            continue
        name = f"needed_{node.name}"
        rows = exp.select("*").from_(exp.to_identifier(node.name, quoted=True))
        kept = rows.where(condition.copy())
        connection.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {duck_sql(kept.sql("spark"))}')
        counts = [connection.sql(f'SELECT COUNT(*) FROM "{each}"').fetchall()[0][0] for each in (node.name, name)]
        left_out += counts[0] - counts[1]
        node.set("this", exp.to_identifier(name, quoted=True))
    return query, left_out


def literal(value: Any) -> str:
    match value:
        case bool() | int() | float() | str():
            return exp.convert(value).sql("spark")
        case Decimal():
            return str(value)
        case dt.datetime():
            return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'"
        case dt.date():
            return f"DATE '{value:%Y-%m-%d}'"
    raise TypeError(value)


def random_filter(definition: Definition, rows: list[dict[str, Any]], pick: random.Random) -> str | None:
    """A condition on one or two columns of a view, by values that its rows have."""
    usable = {}
    for name in definition.columns:
        found = sorted(
            {row[name] for row in rows if isinstance(row[name], int | float | str | Decimal | dt.date)}, key=repr
        )
        if found:
            usable[name] = found
    if not usable:
        return None

    def simple() -> str:
        name = pick.choice(sorted(usable))
        column = exp.to_identifier(name, quoted=True).sql("spark")
        one, two = (literal(pick.choice(usable[name])) for _ in range(2))
        forms = ["{c} = {a}", "{a} < {c}", "{c} <= {a}", "{c} <> {a}", "{c} IN ({a}, {b})", "{c} IS NULL",
                 "{c} BETWEEN {a} AND {b}", "NOT {c} = {a}", "{c} <=> {a}", "({c} = {a} OR {c} IS NULL)",
                 "COALESCE({c}, {a}) = {a}", "{c} IS NOT NULL"]  # fmt: skip
        return pick.choice(forms).format(c=column, a=one, b=two)

    return pick.choice(["{0}", "{0}", "{0} AND {1}", "({0} OR {1})"]).format(simple(), simple())


@cache
def pruned(topic: str) -> Counter[str]:
    """Check a sample of the views of a topic; how many filters were tried, and how many of them left rows out."""
    tried: Counter[str] = Counter()
    for view in corpus.views()[:: 1 if FULL else 3]:
        if not view.name.startswith(f"{topic}/"):
            continue
        definition = view.define()
        assert definition.program is not None
        for seed in SEEDS:
            rows = on_duck(database(seed), query_of(definition.program).sql("spark"))
            pick = random.Random(f"{view.name} {seed}")
            for _ in range(FILTERS):
                text = random_filter(definition, rows.to_pylist(), pick)
                if text is not None:
                    tried["filters"] += 1
                    tried["pruning"] += check(view, definition, text, seed) > 0
    return tried


def check(view: View, definition: Definition, text: str, seed: int) -> int:
    """Compare the filtered answers; how many rows the second one did without."""
    assert definition.program is not None
    connection, where = database(seed), parse_filter(text, definition.columns, view.name)
    needed = {name: each for name, each in needed_rows(definition.program, where).items() if name != CLOCK}
    whole = filtered(definition, where)
    less, left_out = without_the_rest(whole, needed, connection)
    wanted, found = (bag(on_duck(connection, each.sql("spark"))) for each in (whole, less))
    told = {name: each.sql("spark") if each is not None else None for name, each in needed.items()}
    assert found == wanted, f"{view.name}, seed {seed}, WHERE {text}: needs {told}"
    return left_out


@pytest.mark.parametrize("where", ["NOT large", "large IS NULL", "large = FALSE"])
def test_a_condition_that_is_a_column_keeps_its_parentheses(where: str) -> None:
    sql = "SELECT a > 2 AND b > 1 AS large, c FROM r"
    assert condition(sql, where) == where.replace("large", "(`a` > 2 AND `b` > 1)")


@pytest.mark.parametrize("topic", TOPICS)
def test_rows_that_are_not_needed_do_not_change_a_filtered_answer(topic: str) -> None:
    tried = pruned(topic)
    assert tried["filters"] >= 10
    assert tried["pruning"] >= (1 if topic == "grouping_sets" else 3), "hardly a filter reached a table"


def condition(sql: str, where: str | None = None, relation: str = "r") -> str | None:
    definition = define("v", sql, corpus.CATALOG)
    assert definition.program is not None
    parsed = parse_filter(where, definition.columns, "v") if where is not None else None
    found = needed_rows(definition.program, parsed)[relation]
    return None if found is None else found.sql("spark")


@pytest.mark.parametrize(
    ("sql", "where", "relation", "needed"),
    [
        ("SELECT a, b FROM r", None, "r", None),
        ("SELECT a, b FROM r WHERE b > 1", None, "r", "`b` > 1"),
        ("SELECT a AS x, b FROM r", "x = 3", "r", "`a` = 3"),
        ("SELECT a + 1 AS x FROM r", "x = 3", "r", "(`a` + 1) = 3"),
        ("SELECT r.a, s.d FROM r JOIN s ON r.b = s.b WHERE s.b = 2", None, "r", "`b` = 2"),
        ("SELECT r.a, s.d FROM r JOIN s ON r.b = s.b", "d < 3", "r", None),
        ("SELECT b, SUM(a) AS n FROM r GROUP BY b", "b = 1 AND n > 2", "r", "`b` = 1"),
        ("SELECT b, SUM(a) AS n FROM r GROUP BY b", "b = 1 OR n > 2", "r", None),
        ("SELECT a FROM r UNION ALL SELECT b FROM r", "a = 1", "r", "`a` = 1 OR `b` = 1"),
        ("SELECT a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY a) AS n FROM r", "a = 1", "r", None),
        ("SELECT a, b FROM r ORDER BY a LIMIT 2", "a = 1", "r", None),
        ("SELECT r.a, s.d FROM r LEFT JOIN s ON r.b = s.b", "a = 1", "s", None),
        ("SELECT b FROM r EXCEPT SELECT b FROM s", "b = 1", "r", "`b` = 1"),
    ],
)  # fmt: skip
def test_what_is_needed_of_a_table(sql: str, where: str | None, relation: str, needed: str | None) -> None:
    assert condition(sql, where, relation) == needed
