"""A program gives exactly the rows of its SQL: 22 TPC-H queries and the corpus, on DuckDB and on each engine.

Without an engine, DuckDB evaluates the original and the program, on random data with NULLs and duplicates and on no
data at all. On an engine, the program gives the original's rows, types and names, and DuckDB's rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.conftest import ENGINE
from tests.views import corpus, tpch
from tests.views.bags import bag, clock, duck, on_duck, same_order
from tests.views.corpus import View
from views.catalog import CLOCK
from views.render import query_of
from views.rules import Program
from views.text import rules_text

FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"
"""Every view on Spark as well, and more data; otherwise Spark gets TPC-H and a sample, and Sail gets all."""
SEEDS = (None, 1, 2, 3, 4) if FULL else (None, 1, 4)
ENGINE_SEED = 4
DIGITS = 4
"""Of a quotient or an average of decimals; DuckDB makes it a double, Spark a decimal."""
VIEWS = corpus.views()
QUERIES = tpch.queries()

_NESTED = "a subquery two levels deep cannot name the outermost query"
_CORRELATED = "this correlation has no plan"
_LATERAL = "no lateral column aliases"
_USING = "a side of USING cannot be named"
SAIL_GAPS = {
    "exists/aggregate_is_always_there": "EXISTS of an aggregate of nothing",
    "exists/all_via_double_negation": _NESTED,
    "exists/except_inside": _CORRELATED,
    "exists/in_limit_correlated": _CORRELATED,
    "exists/in_select_list": "no IN as a value",
    "exists/not_exists_aggregate": "EXISTS of an aggregate of nothing",
    "exists/not_in_correlated": "no correlated NOT IN",
    "exists/not_in_count": "no correlated NOT IN",
    "exists/not_in_select_list": "no IN as a value",
    "exists/not_in_under_or": "NULLs of NOT IN under OR",
    "exists/not_of_in_and": "NULLs of IN under NOT",
    "exists/row_not_in": "NULLs of NOT IN over rows",
    "exists/row_not_in_nulls": "NULLs of NOT IN over rows",
    "group/all": "no GROUP BY ALL",
    "grouping_sets/rollup_of_pairs": "no pairs in ROLLUP",
    "join/using_qualified": _USING,
    "limits/by_aggregate_not_shown": "no ORDER BY an aggregate that is not selected",
    "limits/order_by_all": "no ORDER BY ALL",
    "limits/per_outer_row": _CORRELATED,
    "names/lateral_alias": _LATERAL,
    "names/lateral_alias_over_aggregate": _LATERAL,
    "names/mixed_case": "quoted table names keep their case",
    "names/star_except": "no EXCEPT in a star",
    "outer/full_using_filtered": _USING,
    "set_operations/intersect_all": "counts of INTERSECT ALL",
    "set_operations/intersect_all_chain": "counts of INTERSECT ALL",
    "set_operations/mixed_types": "int and decimal have no common type",
    "subqueries/count_with_group": "a COUNT of no group is NULL",
    "subqueries/count_with_having": "a COUNT of no group is NULL",
    "subqueries/derived_inside": _CORRELATED,
    "subqueries/exists_set_operation": _CORRELATED,
    "subqueries/first_by_order": _CORRELATED,
    "subqueries/first_by_order_where": _CORRELATED,
    "subqueries/in_aggregate": _CORRELATED,
    "subqueries/join_condition": _CORRELATED,
    "subqueries/mixed_correlation": _CORRELATED,
    "subqueries/nested_outer_reference": _NESTED,
    "subqueries/non_equality": _CORRELATED,
    "subqueries/non_equality_where": _CORRELATED,
    "subqueries/not_in_correlated_non_equality": "NULLs of a correlated NOT IN",
    "subqueries/null_safe_correlation": _CORRELATED,
    "subqueries/set_operation_inside": _CORRELATED,
    "subqueries/skip_level": _NESTED,
    "union/widening": "int and double have no common type",
    "windows/everything": "no QUALIFY",
    "windows/filter": "no FILTER in a window",
    "windows/over_scalar_subquery": _CORRELATED,
    "windows/qualify": "no QUALIFY",
    "windows/qualify_aggregate": "no QUALIFY",
    "windows/qualify_alias": "no QUALIFY",
}
"""What Sail itself answers wrongly, or refuses, on the original SQL."""
SAIL_LACKS = {"set_operations/mixed_types", "union/widening", "windows/filter"}
"""Those that the program runs into as well; all others it answers."""


SPARK_REFUSES = {
    "exists/all_via_double_negation": "an outer reference over two levels",
    "subqueries/nested_outer_reference": "an outer reference over two levels",
    "subqueries/skip_level": "an outer reference over two levels",
    "subqueries/join_condition": "a correlated subquery in a join condition",
    "windows/qualify_aggregate": "an aggregate in QUALIFY",
}
"""What Spark does not accept as it is written, though the program runs."""
TWO_VALUED = {"exists/in_is_null", "exists/in_select_list", "exists/not_in_select_list"}
"""Where Spark takes an unknown IN for false, and DuckDB keeps it unknown."""


@cache
def database(source: str, seed: int | None) -> duckdb.DuckDBPyConnection:
    return duck(tables(source, seed))


@cache
def tables(source: str, seed: int | None) -> dict[str, pa.Table]:
    return tpch.tables(seed) if source == "tpch" else corpus.tables(seed)


def source_of(view: View) -> str:
    return "tpch" if isinstance(view, tpch.View22) else "corpus"


@cache
def program_of(view: View) -> Program:
    program = view.define().program
    assert program is not None
    return program


@cache
def program_sql(view: View) -> str:
    return query_of(program_of(view)).sql("spark")


@cache
def original_on_duck(view: View, seed: int | None) -> pa.Table:
    return on_duck(database(source_of(view), seed), view.sql)


def named(view: View) -> str:
    return view.name


@pytest.mark.parametrize("view", [v for v in [*QUERIES, *VIEWS] if v.name not in TWO_VALUED], ids=named)
def test_a_program_gives_the_rows_of_its_sql(view: View) -> None:
    for seed in SEEDS:
        found = on_duck(database(source_of(view), seed), program_sql(view))
        wanted = same_order(found, original_on_duck(view, seed))
        assert bag(found) - bag(wanted) == bag(wanted) - bag(found) == {}, f"seed {seed}"


@pytest.mark.parametrize("view", VIEWS, ids=named)
def test_the_rules_are_the_golden_ones(view: View) -> None:
    assert view.rules == rules_text(program_of(view)), (
        "look at the difference, then: python -m tests.views.corpus --write"
    )


def test_the_data_reaches_the_views() -> None:
    """Most views have rows, so that the comparison says something; all TPC-H queries have some that are not NULL."""
    full = {view.name for view in VIEWS if any(original_on_duck(view, seed).num_rows for seed in SEEDS)}
    assert len(full) >= 0.95 * len(VIEWS), sorted({view.name for view in VIEWS} - full)
    for query in QUERIES:
        rows = [row for seed in SEEDS for row in original_on_duck(query, seed).to_pylist()]
        assert any(value is not None for row in rows for value in row.values()), query.name


def test_the_corpus_is_large_and_its_views_differ() -> None:
    assert len(VIEWS) >= 170
    assert len({" ".join(view.sql.split()) for view in VIEWS}) == len(VIEWS)


@pytest.fixture(scope="module")
def session(spark: Any) -> Iterator[Any]:
    """The engine's session with all tables as temporary views."""
    known = {**tables("corpus", ENGINE_SEED), **tables("tpch", ENGINE_SEED), CLOCK: clock()}
    for i, (name, table) in enumerate(known.items()):
        spark.createDataFrame(table).createOrReplaceTempView(f"corpus_{i}")
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{name}` AS SELECT * FROM corpus_{i}")
    yield spark
    for i, name in enumerate(known):
        spark.sql(f"DROP VIEW `{name}`")
        spark.catalog.dropTempView(f"corpus_{i}")


def on_engine(views: list[View], gaps: Mapping[str, str]) -> list[Any]:
    """Views as test parameters; a known gap of the engine must still be one."""
    if ENGINE == "spark" and not FULL:
        sampled = {view.name for view in [*QUERIES, *VIEWS[::9]]}
        views = [view for view in views if view.name in sampled]
    marks = {name: pytest.mark.xfail(reason=reason, strict=True) for name, reason in gaps.items()}
    return [pytest.param(each, marks=marks.get(each.name, ()), id=each.name) for each in views]


ORIGINAL_GAPS = {"sail": SAIL_GAPS, "spark": SPARK_REFUSES, "connect": SPARK_REFUSES}.get(ENGINE, {})
PROGRAM_GAPS = {name: SAIL_GAPS[name] for name in SAIL_LACKS} if ENGINE == "sail" else {}


@cache
def program_on_engine(session: Any, view: View) -> pa.Table:
    return session.sql(program_sql(view)).toArrow()


@pytest.mark.engine
@pytest.mark.parametrize("view", on_engine([*QUERIES, *VIEWS], ORIGINAL_GAPS))
def test_a_program_and_its_sql_give_the_same_table_on_the_engine(session: Any, view: View) -> None:
    wanted = session.sql(view.sql).toArrow()
    found = program_on_engine(session, view)
    assert bag(found) - bag(wanted) == bag(wanted) - bag(found) == {}
    assert found.schema.types == wanted.schema.types
    if ENGINE != "sail" or not view.name.startswith("names/unaliased"):
        assert found.column_names == wanted.column_names


@pytest.mark.engine
@pytest.mark.parametrize("view", on_engine([v for v in [*QUERIES, *VIEWS] if v.name not in TWO_VALUED], PROGRAM_GAPS))
def test_a_program_on_the_engine_gives_the_rows_of_duckdb(session: Any, view: View) -> None:
    found = program_on_engine(session, view)
    wanted = bag(same_order(found, original_on_duck(view, ENGINE_SEED)), DIGITS)
    assert bag(found, DIGITS) - wanted == wanted - bag(found, DIGITS) == {}
