"""Estimated numbers of rows against counts by DuckDB, on columns that are independent and uniform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from costmodels.axis import SIZE, Vector, constant, vector
from costmodels.cardinality import Cardinality, Relation, distinct_among
from profiles.statistics import Estimate
from views import catalog
from views.definition import define
from views.rules import Expr, Program

VALUES = {
    "r": {"a": 50, "b": 1000, "c": 20, "v": 10_000},
    "s": {"a": 200, "b": 1000, "d": 400},
    "few": {"b": 300, "d": 400},
}
ROWS = {"r": 20_000, "s": 5_000, "few": 800}
CATALOG = catalog.Catalog.of(
    [catalog.Relation(name, dict.fromkeys(columns, "bigint")) for name, columns in VALUES.items()]
    + [catalog.Relation("parent", {"k": "bigint", "a": "bigint"}, ("k",))]
)


@pytest.fixture(scope="module")
def data() -> duckdb.DuckDBPyConnection:
    """Tables whose columns take so many values, each as likely, whatever the others are; and 1,000 keys."""
    generator = np.random.default_rng(11)
    found = duckdb.connect()
    tables = {
        name: pa.table({c: generator.integers(0, values, ROWS[name]) for c, values in columns.items()})
        for name, columns in VALUES.items()
    }
    tables["parent"] = pa.table({"k": np.arange(1000), "a": generator.integers(0, 50, 1000)})
    for name, table in tables.items():
        found.register("arrow", table)
        found.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
    return found


def count(data: duckdb.DuckDBPyConnection, sql: str) -> int:
    found = data.execute(f"SELECT COUNT(*) FROM ({sql})").fetchone()
    assert found is not None
    return int(found[0])


def program(sql: str) -> Program:
    found = define("v", sql, CATALOG).program
    assert found is not None
    return found


def sampled(data: duckdb.DuckDBPyConnection, name: str) -> Relation:
    """What is known of a table: its rows, values per column, and the part of it that a condition keeps."""
    columns = {c for (c,) in data.execute(f"SELECT column_name FROM (DESCRIBE {name})").fetchall()}
    rows = count(data, f"FROM {name}")

    def selected(condition: Expr) -> Vector | None:
        own = condition.transform(lambda e: exp.column(e.name) if isinstance(e, exp.Column) else e)
        return constant(count(data, f"FROM {name} WHERE {own.sql('duckdb')}") / rows)

    distinct = {c: constant(count(data, f"SELECT DISTINCT {c} FROM {name}")) for c in sorted(columns)}
    return Relation(constant(rows), distinct, selected)


@pytest.fixture(scope="module")
def known(data: duckdb.DuckDBPyConnection) -> dict[str, Relation]:
    return {name: sampled(data, name) for name in (*VALUES, "parent")}


def estimated(sql: str, relations: Mapping[str, Relation]) -> float:
    return float(Cardinality(program(sql), relations)["v"].rows[0])


CASES = {
    "select": [
        "SELECT * FROM r WHERE a = 7",
        "SELECT * FROM r WHERE a = 7 AND c = 3",
        "SELECT v FROM r WHERE v < 2500 AND a IN (1, 2, 3)",
        "SELECT v FROM r WHERE v BETWEEN 1000 AND 1999 OR c = 3",
        "SELECT * FROM r WHERE NOT (c = 3)",
    ],
    "join": [
        "SELECT r.v, s.d FROM r JOIN s ON r.b = s.b",
        "SELECT r.v, s.d FROM r JOIN s ON r.a = s.a",
        "SELECT r.v, s.d FROM r JOIN s ON r.a = s.a AND r.b = s.b",
        "SELECT r.v, s.d FROM r JOIN s ON r.b = s.b WHERE r.c = 3 AND s.d < 100",
        "SELECT r.v FROM r, s, few WHERE r.b = s.b AND s.d = few.d AND r.a < 5",
        "SELECT r.v FROM r, s, few WHERE r.b = s.b AND s.b = few.b AND r.a < 5",
        "SELECT r.v, parent.a FROM r JOIN parent ON r.b = parent.k",
        "SELECT s.d, few.b FROM s CROSS JOIN few",
    ],
    "self join": [
        "SELECT x.v, y.v AS w FROM r x JOIN r y ON x.b = y.b",
        "SELECT x.d, y.d AS e FROM s x JOIN s y ON x.a = y.a WHERE x.b < 100 AND y.b < 100",
        "SELECT x.d FROM s x, s y, s z WHERE x.d = y.d AND y.d = z.d",
    ],
    "group by": [
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a",
        "SELECT a, c, SUM(v) AS n FROM r GROUP BY a, c",
        "SELECT b, COUNT(*) AS n FROM r WHERE c = 3 GROUP BY b",
        "SELECT r.a, s.d, COUNT(*) AS n FROM r JOIN s ON r.b = s.b GROUP BY r.a, s.d",
        "SELECT a, b, MAX(v) AS n FROM r GROUP BY a, b",
        "SELECT COUNT(*) AS n FROM r",
    ],
    "distinct": [
        "SELECT DISTINCT b FROM r",
        "SELECT DISTINCT a, b FROM r",
        "SELECT DISTINCT v FROM r WHERE a < 10",
        "SELECT DISTINCT r.c, s.d FROM r JOIN s ON r.b = s.b WHERE r.a = 3",
    ],
    "union": [
        "SELECT b FROM r UNION ALL SELECT b FROM s",
        "SELECT b FROM r WHERE a = 1 UNION ALL SELECT b FROM s WHERE a = 1 UNION ALL SELECT b FROM few",
        "SELECT a + 0 AS x FROM r UNION SELECT b + 1000 AS x FROM s",
    ],
    "negation": [
        "SELECT * FROM r WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.b = r.b)",
        "SELECT v FROM r WHERE b NOT IN (SELECT b FROM s WHERE a < 20)",
        "SELECT DISTINCT b FROM r EXCEPT SELECT b FROM few",
        "SELECT a, b FROM s EXCEPT SELECT a, b FROM r",
        "SELECT r.v, few.d FROM r LEFT JOIN few ON r.b = few.b",
    ],
    "top-k": [
        "SELECT * FROM r ORDER BY v LIMIT 10",
        "SELECT * FROM few ORDER BY b LIMIT 5000",
        "SELECT a, COUNT(*) AS n FROM r GROUP BY a ORDER BY n DESC LIMIT 7",
        "SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v, b, c) AS place FROM r",
    ],
}

FACTOR = {
    **dict.fromkeys(CASES, 1.1),
    "select": 1.2,
    "join": 1.2,
    # a row meets itself, which the arithmetic leaves out
    "self join": 1.5,
}
"""How far an estimate may be off: what chance makes of few rows, and what the arithmetic leaves out."""


@pytest.mark.parametrize(("kind", "sql"), [(kind, sql) for kind, queries in CASES.items() for sql in queries])
def test_an_estimate_is_near_the_count(
    data: duckdb.DuckDBPyConnection, known: dict[str, Relation], kind: str, sql: str
) -> None:
    counted = count(data, sql)
    assert counted > 0
    assert 1 / FACTOR[kind] <= estimated(sql, known) / counted <= FACTOR[kind]


def test_a_union_of_two_tables_with_the_same_values_is_at_most_twice_too_large(
    data: duckdb.DuckDBPyConnection, known: dict[str, Relation]
) -> None:
    sql = "SELECT b FROM r UNION SELECT b FROM s"
    assert 1 <= estimated(sql, known) / count(data, sql) <= 2


def test_system_r_takes_a_third_of_the_pairs_where_half_of_them_compare(
    data: duckdb.DuckDBPyConnection, known: dict[str, Relation]
) -> None:
    sql = "SELECT x.d FROM few x, few y WHERE x.b < y.b"
    assert estimated(sql, known) / count(data, sql) == pytest.approx(2 / 3, rel=0.02)


# What is known is used


def related(rows: float, distinct: Mapping[str, float], share: float | None = None) -> Relation:
    """A relation of which each condition keeps the same part."""
    part = None if share is None else constant(share)
    return Relation(constant(rows), {c: constant(d) for c, d in distinct.items()}, lambda _: part)


def test_a_sampled_join_is_used_whichever_side_it_was_sampled_from() -> None:
    sql = "SELECT r.v, s.d FROM r JOIN s ON r.b = s.b"
    r, s = related(20_000, VALUES["r"]), related(5_000, VALUES["s"])
    part = constant(3e-5)
    for relations in (
        {"r": Relation(r.rows, r.distinct, joins={("b", "s", "b"): part}), "s": s},
        {"r": r, "s": Relation(s.rows, s.distinct, joins={("b", "r", "b"): part})},
    ):
        assert estimated(sql, relations) == pytest.approx(20_000 * 5_000 * 3e-5)


def test_the_sample_of_another_join_is_not_used() -> None:
    sql = "SELECT r.v, s.d FROM r JOIN s ON r.b = s.b"
    r, s = related(20_000, VALUES["r"]), related(5_000, VALUES["s"])
    joins = {("a", "s", "a"): constant(0.5), ("b", "few", "b"): constant(0.5), ("b", "s", "a"): constant(0.5)}
    relations = {"r": Relation(r.rows, r.distinct, joins=joins), "s": s}
    assert estimated(sql, relations) == pytest.approx(20_000 * 5_000 / 1000)


def test_conditions_that_were_sampled_together_are_not_multiplied() -> None:
    sql = "SELECT r.v FROM r JOIN s ON r.b = s.b WHERE r.a = 1 AND r.b = 2"
    r, s = related(20_000, VALUES["r"], 0.1), related(5_000, VALUES["s"], 0.1)
    whole = replace(r, together=lambda conditions: constant(0.08) if len(conditions) == 2 else None)
    alone, together = estimated(sql, {"r": r, "s": s}), estimated(sql, {"r": whole, "s": s})
    assert together / alone == pytest.approx(8)


def test_a_join_that_was_sampled_under_the_conditions_of_the_view_is_used() -> None:
    sql = "SELECT r.v, s.d FROM r JOIN s ON r.b = s.b WHERE s.d > 3 AND r.a = 1"
    r, s = related(20_000, VALUES["r"], 0.5), related(5_000, VALUES["s"], 0.2)
    key = "b=s.b where `a` = 1 | `d` > 3"
    plain = replace(r, joins={("b", "s", "b"): constant(1e-4)})
    sampled = replace(plain, joins_where={key: constant(3e-4)})
    assert estimated(sql, {"r": plain, "s": s}) == pytest.approx(10_000 * 1_000 * 1e-4)
    assert estimated(sql, {"r": sampled, "s": s}) == pytest.approx(10_000 * 1_000 * 3e-4)
    other = "SELECT r.v, s.d FROM r JOIN s ON r.b = s.b WHERE s.d > 4 AND r.a = 1"
    assert estimated(other, {"r": sampled, "s": s}) == pytest.approx(10_000 * 1_000 * 1e-4)


def test_a_skewed_join_that_was_sampled_is_estimated_as_sampled(data: duckdb.DuckDBPyConnection) -> None:
    data.execute("CREATE OR REPLACE TEMP TABLE skewed AS SELECT (v * v * v / 1e12 * 1000)::BIGINT AS b FROM r")
    pairs = count(data, "SELECT 1 FROM skewed x, skewed y WHERE x.b = y.b")
    rows, values = count(data, "FROM skewed"), count(data, "SELECT DISTINCT b FROM skewed")
    joins = {("b", "r", "b"): constant(pairs / rows**2)}
    sql = "SELECT x.v, y.v AS w FROM r x JOIN r y ON x.b = y.b"
    unknown = Relation(constant(rows), {"b": constant(values)})
    assert estimated(sql, {"r": unknown}) < pairs / 3
    assert estimated(sql, {"r": Relation(unknown.rows, unknown.distinct, joins=joins)}) == pytest.approx(pairs)


def test_all_rows_of_a_table_have_all_of_its_values() -> None:
    relation = related(5000, {"a": 5000, "b": 4999, "d": 1})
    assert [float(relation.values(c)[0]) for c in "abd"] == pytest.approx([5000, 4999, 1])
    assert estimated("SELECT DISTINCT a FROM s", {"s": relation}) == pytest.approx(5000)
    assert estimated("SELECT a, COUNT(*) AS n FROM s GROUP BY a", {"s": relation}) == pytest.approx(5000)


def test_half_the_rows_have_half_of_the_values_of_a_key() -> None:
    relation = related(5000, {"a": 5000, "b": 100}, share=0.5)
    assert estimated("SELECT DISTINCT a FROM s WHERE d < 7", {"s": relation}) == pytest.approx(2500)
    assert float(relation.part(constant(0.5)).values("a")[0]) == pytest.approx(2500)
    assert float(relation.part(constant(0.5)).values("b")[0]) == pytest.approx(100)


@pytest.mark.parametrize(
    ("rows", "values", "taken"), [(1000, 1000, 300), (1000, 500, 300), (1000, 50, 30), (900, 7, 9)]
)
def test_values_among_rows_that_are_taken_at_random_are_as_many_as_in_a_simulation(
    rows: int, values: int, taken: int
) -> None:
    generator = np.random.default_rng(5)
    table = np.arange(rows) % values
    simulated = [len(np.unique(generator.choice(table, taken, replace=False))) for _ in range(2000)]
    found = float(distinct_among(constant(values), constant(taken), constant(rows))[0])
    assert found == pytest.approx(np.mean(simulated), rel=0.05)


@pytest.mark.parametrize(("values", "drawn"), [(1000, 300), (50, 30), (50, 500)])
def test_values_among_rows_that_are_drawn_again_and_again_are_as_many_as_in_a_simulation(
    values: int, drawn: int
) -> None:
    generator = np.random.default_rng(5)
    simulated = [len(np.unique(generator.integers(0, values, drawn))) for _ in range(2000)]
    assert float(distinct_among(constant(values), constant(drawn))[0]) == pytest.approx(np.mean(simulated), rel=0.02)


def test_a_condition_on_the_column_that_is_grouped_by_leaves_that_part_of_its_values() -> None:
    relation = related(20_000, VALUES["r"], share=0.1)
    sql = "SELECT a, COUNT(*) AS n FROM r WHERE {} < 5 GROUP BY a"
    assert estimated(sql.format("a"), {"r": relation}) == pytest.approx(5)
    assert estimated(sql.format("c"), {"r": relation}) == pytest.approx(50)


def test_groups_by_a_declared_key_are_as_many_as_its_rows() -> None:
    unknown = Relation(constant(1000), key=("k",))
    assert estimated("SELECT k, a, COUNT(*) AS n FROM parent GROUP BY k, a", {"parent": unknown}) == pytest.approx(1000)


def test_combinations_that_were_sampled_are_used() -> None:
    relation = Relation(constant(20_000), related(0, VALUES["r"]).distinct, combined={"a, b": constant(1234)})
    assert estimated("SELECT b, a, COUNT(*) AS n FROM r GROUP BY b, a", {"r": relation}) == pytest.approx(1234)


def test_what_nobody_knows_of_a_column_is_a_tenth_of_the_rows() -> None:
    assert float(Relation(constant(5000)).values("a")[0]) == 500


def test_not_in_is_empty_only_where_a_null_is_likely() -> None:
    sql = "SELECT v FROM r WHERE b NOT IN (SELECT b FROM s WHERE a < 20)"

    def with_nulls(share: float) -> Relation:
        def selected(condition: Expr) -> Vector:
            of = share if isinstance(condition, exp.Is) else 1 - share if isinstance(condition, exp.Not) else 0.1
            return constant(of)

        return Relation(constant(5000), {"b": constant(1000), "a": constant(200)}, selected)

    r = related(20_000, VALUES["r"], share=0.0)
    assert estimated(sql, {"r": r, "s": with_nulls(0.0)}) == pytest.approx(20_000 * 0.9**5, rel=0.01)
    assert estimated(sql, {"r": r, "s": with_nulls(0.5)}) < 0.7 * estimated(sql, {"r": r, "s": with_nulls(0.0)})


# The ends of the scale

EVERY = [sql for queries in CASES.values() for sql in queries]
COLUMNS = {**{name: tuple(values) for name, values in VALUES.items()}, "parent": ("k", "a")}


@pytest.mark.parametrize("sql", EVERY)
def test_views_over_empty_tables_are_empty_but_for_a_total(sql: str) -> None:
    relations = {name: related(0, dict.fromkeys(columns, 0)) for name, columns in COLUMNS.items()}
    assert estimated(sql, relations) == (1 if sql.startswith("SELECT COUNT(*)") else 0)


CONDITIONED = (
    "SELECT * FROM r{}",
    "SELECT r.v, s.d FROM r JOIN s ON r.b = s.b{}",
    "SELECT x.d, y.d AS e FROM s x JOIN s y ON x.a = y.a{}",
    "SELECT b, COUNT(*) AS n FROM r{} GROUP BY b",
    "SELECT DISTINCT b FROM r{}",
    "SELECT * FROM r{} ORDER BY v LIMIT 10",
    "SELECT b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v, b, c) AS place FROM r{}",
)


@pytest.mark.parametrize("sql", CONDITIONED)
def test_a_condition_that_nothing_passes_leaves_nothing_and_one_that_all_pass_leaves_all(sql: str) -> None:
    def at(share: float, where: str) -> float:
        relations = {name: related(ROWS[name], values, share) for name, values in VALUES.items()}
        return estimated(sql.format(where), relations)

    where = " WHERE x.b < 7" if " x " in sql else " WHERE v < 7"
    assert at(0, where) == 0
    assert at(1, where) == pytest.approx(at(1, ""))
    assert 0 < at(0.5, where) <= at(1, where)


chances = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1))
sizes = st.one_of(st.just(0.0), st.floats(0, 2), st.floats(0, 1e12))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(sizes, sizes, sizes, sizes, chances, st.booleans())
def test_an_estimate_is_a_number_from_zero_on_whatever_is_known(
    left: float, right: float, values: float, others: float, share: float, drawn: bool
) -> None:
    def number(value: float, name: str) -> Vector:
        return vector(Estimate(value, value / 10, value * 10, "default"), name) if drawn else constant(value)

    relations = {
        name: Relation(
            number(left if name in ("r", "few") else right, f"{name}.rows"),
            {c: number(values if c in ("a", "k") else others, f"{name}.{c}") for c in columns if c != "d"},
            lambda _: constant(share),
        )
        for name, columns in COLUMNS.items()
    }
    for each in PROGRAMS:
        cards = Cardinality(each, relations)
        for predicate in each.predicates:
            relation = cards[predicate.name]
            for found in (relation.rows, *relation.distinct.values()):
                assert found.shape in ((1,), (SIZE,))
                assert np.all(np.isfinite(found))
                assert np.all(found >= 0)
            assert all(np.all(d <= relation.rows * (1 + 1e-9)) for d in relation.distinct.values())


PROGRAMS = [program(sql) for sql in EVERY]


@pytest.mark.parametrize("sql", [sql for kind, queries in CASES.items() for sql in queries if kind != "negation"])
def test_more_rows_in_the_tables_never_make_fewer_in_the_view(sql: str) -> None:
    for scaled in COLUMNS:
        found = []
        for times in (0, 0.01, 0.1, 0.5, 1, 2, 10, 1000):
            relations = {
                name: related(1000 * (times if name == scaled else 1), dict.fromkeys(columns, 100), share=0.2)
                for name, columns in COLUMNS.items()
            }
            found.append(estimated(sql, relations))
        assert all(fewer <= more * (1 + 1e-9) for fewer, more in pairwise(found))


def test_more_rows_of_what_must_not_match_never_make_more_in_the_view() -> None:
    sql = "SELECT * FROM r WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.b = r.b)"
    r = related(20_000, VALUES["r"])
    found = [estimated(sql, {"r": r, "few": related(rows, {"b": min(rows, 300)})}) for rows in (0, 1, 10, 100, 1000)]
    assert found[0] == 20_000
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(14_000, rel=1e-3)
