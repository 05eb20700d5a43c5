"""Differential on the worked examples of BLT86 §5 and H87's Appendix A, through the runner on stored Delta tables."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from executors.differential import MOST_ROWS, Differential
from executors.executor import executors
from executors.keeping import Keeping
from executors.runner import Runner
from executors.testing import (
    Case,
    assert_same_rows,
    bag,
    changed,
    check_plan,
    check_rows,
    random_transactions,
    stored_rows,
)
from storage.staging import Change
from storage.table import create_table
from tests.executors.recomputation import on_duckdb
from tests.views import corpus
from views.catalog import Catalog, Relation
from views.definition import define, define_all
from views.rules import Bag
from views.steps import ApplyDelta, Plan, ReadStored

FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"
JOIN = "SELECT r.a, r.b, s.c FROM r JOIN s ON r.b = s.b"
Rows = Sequence[tuple[int | None, ...]]


class Kept:
    """A view that differential keeps over tables of integers."""

    def __init__(self, spark: Any, folder: Path, sql: str, **tables: pa.Table) -> None:
        self.sql, self.state = sql, tables
        made = {name: create_table(spark, folder / "tables" / name, rows, name=name) for name, rows in tables.items()}
        relations = [Relation(name, dict.fromkeys(rows.column_names, "bigint")) for name, rows in tables.items()]
        keeping = {"v": Keeping("deferred", "differential")}
        self.runner = Runner(spark, define_all({"v": sql}, Catalog.of(relations)), made, folder / "warehouse", keeping)
        self.runner.refresh("v")

    def change(self, **transaction: tuple[Rows, Rows]) -> dict[tuple[Any, ...], int]:
        """One transaction of rows that come and rows that go; the change of the stored view, checked with DuckDB."""
        before = self.rows
        update = {}
        for table, pair in transaction.items():
            names = self.state[table].column_names
            come, go = (numbers(" ".join(names), *rows) if rows else None for rows in pair)
            self.state[table] = changed(self.state[table], come, go)
            update[table] = Change(come, go)
        self.runner.update(update)
        self.runner.look()
        assert self.runner.refresh("v").ran == "differential"
        after = stored_rows(self.runner.warehouse / "v")
        assert_same_rows(after, on_duckdb({"v": self.sql}, self.state)["v"], "v")
        difference = Counter(self.rows)
        difference.subtract(before)
        return {row: count for row, count in difference.items() if count}

    @property
    def rows(self) -> Counter[tuple[Any, ...]]:
        return bag(stored_rows(self.runner.warehouse / "v"))


def numbers(columns: str, *rows: tuple[int | None, ...]) -> pa.Table:
    schema = pa.schema([(name, pa.int64()) for name in columns.split()])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


@pytest.mark.engine
def test_example_5_1_a_projected_row_stays_while_a_tuple_is_behind_it(spark: Any, tmp_path: Path) -> None:
    """π_B(R) of (1,10), (2,10), (3,20): the counter of 10 is 2, here two rows."""
    kept = Kept(spark, tmp_path, "SELECT b FROM r", r=numbers("a b", (1, 10), (2, 10), (3, 20)))
    assert kept.rows == {(10,): 2, (20,): 1}
    assert kept.change(r=([], [(3, 20)])) == {(20,): -1}
    assert kept.change(r=([], [(1, 10)])) == {(10,): -1}
    assert kept.rows == {(10,): 1}


@pytest.mark.engine
def test_example_5_2_insertions_join_with_the_other_relation(spark: Any, tmp_path: Path) -> None:
    """v′ = v ∪ (i_r ⋈ s)."""
    kept = Kept(spark, tmp_path, JOIN, r=numbers("a b", (1, 10), (2, 20)), s=numbers("b c", (10, 5), (10, 6), (30, 7)))
    assert kept.rows == {(1, 10, 5): 1, (1, 10, 6): 1}
    assert kept.change(r=([(3, 10), (4, 30), (5, 40)], [])) == {(3, 10, 5): 1, (3, 10, 6): 1, (4, 30, 7): 1}


@pytest.mark.engine
def test_example_5_3_deletions_join_with_the_other_relation(spark: Any, tmp_path: Path) -> None:
    """v′ = v − (d_r ⋈ s)."""
    r = numbers("a b", (1, 10), (1, 10), (2, 20), (3, 10))
    kept = Kept(spark, tmp_path, JOIN, r=r, s=numbers("b c", (10, 5), (10, 6), (30, 7)))
    assert kept.change(r=([], [(1, 10), (2, 20)])) == {(1, 10, 5): -1, (1, 10, 6): -1}
    assert kept.rows == {(1, 10, 5): 1, (1, 10, 6): 1, (3, 10, 5): 1, (3, 10, 6): 1}


@pytest.mark.engine
def test_example_5_4_all_six_cases_in_one_transaction(spark: Any, tmp_path: Path) -> None:
    """a tells the tuple of r apart and c that of s: 1 is old, 2 comes, 3 goes; every pair of them joins."""
    kept = Kept(spark, tmp_path, JOIN, r=numbers("a b", (1, 0), (3, 0)), s=numbers("b c", (0, 1), (0, 3)))
    assert kept.rows == {(1, 0, 1): 1, (1, 0, 3): 1, (3, 0, 1): 1, (3, 0, 3): 1}
    assert kept.change(r=([(2, 0)], [(3, 0)]), s=([(0, 2)], [(0, 3)])) == {
        (2, 0, 2): 1,  # case 1, i_r ⋈ i_s; of case 2, i_r ⋈ d_s and d_r ⋈ i_s, nothing is seen
        (2, 0, 1): 1,  # case 3, i_r ⋈ s
        (1, 0, 2): 1,
        (3, 0, 3): -1,  # case 4, d_r ⋈ d_s
        (3, 0, 1): -1,  # case 5, d_r ⋈ s
        (1, 0, 3): -1,
    }
    assert kept.rows == {(1, 0, 1): 1, (1, 0, 2): 1, (2, 0, 1): 1, (2, 0, 2): 1}  # case 6: r ⋈ s is there already


@pytest.mark.engine
def test_example_5_5_select_project_and_join(spark: Any, tmp_path: Path) -> None:
    """V = π_A(σ_{C>10}(R ⋈ S)); v′ = v ∪ π_A(σ_{C>10}(i_r ⋈ s))."""
    sql = "SELECT r.a FROM r JOIN s ON r.b = s.b WHERE s.c > 10"
    s = numbers("b c", (1, 5), (1, 11), (1, 12), (2, 10), (3, 99))
    kept = Kept(spark, tmp_path, sql, r=numbers("a b", (7, 1)), s=s)
    assert kept.rows == {(7,): 2}
    assert kept.change(r=([(7, 3), (8, 1), (9, 2)], [])) == {(7,): 1, (8,): 2}


@pytest.mark.engine
def test_h87_appendix_a_a_pair_that_is_deleted_on_both_sides_goes_once(spark: Any, tmp_path: Path) -> None:
    """With R in place of R′ the pair would go three times, and two of three equal rows would be lost."""
    r = numbers("a b", (1, 1), (2, 1), (3, 1))
    kept = Kept(spark, tmp_path, "SELECT s.c FROM r JOIN s ON r.b = s.b", r=r, s=numbers("b c", (1, 5), (2, 5), (2, 5)))
    assert kept.rows == {(5,): 3}
    assert kept.change(r=([(9, 2)], [(1, 1), (2, 1), (3, 1)]), s=([(1, 6)], [(1, 5)])) == {(5,): 2 - 3}


@pytest.mark.engine
def test_self_joins_with_duplicates_and_nulls(spark: Any, tmp_path: Path) -> None:
    r = numbers("a b", (1, 1), (1, 1), (1, 2), (2, None), (None, 2))
    kept = Kept(spark, tmp_path, "SELECT x.a, z.b FROM r x JOIN r y ON x.b = y.a JOIN r z ON y.b <=> z.a", r=r)
    kept.change(r=([(2, 1), (2, 1)], [(1, 1), (2, None)]))
    kept.change(r=([(None, None), (1, 1)], [(2, 1)]))
    kept.change(r=([], [(None, None), (1, 1), (1, 1), (1, 2), (2, 1), (None, 2)]))
    assert kept.rows == {}
    kept.change(r=([(3, 3), (3, 3)], []))
    assert kept.rows == {(3, 3): 8}


SHAPES = (
    "clock/date",
    "join/comma_then_join",
    "join/cross",
    "join/inner_with_filters",
    "join/natural_two_columns",
    "join/null_safe",
    "join/on_expression",
    "join/or_condition",
    "join/self_hop",
    "join/three_chain",
    "join/three_way_self",
    "names/alias_is_reserved",
    "names/spaces_and_dots",
    "select/three_valued_logic",
)


@pytest.mark.engine
@pytest.mark.parametrize("shape", SHAPES if FULL else SHAPES[::3])
def test_stored_rows_are_those_of_duckdb_after_each_change_and_after_all(
    shape: str, spark: Any, tmp_path: Path
) -> None:
    (view,) = [each for each in corpus.views() if each.name == shape]
    seed = 1 + SHAPES.index(shape)
    tables = {name: rows for name, rows in corpus.tables(seed).items() if name in view.define().relations}
    case = Case({corpus.VIEW: view.sql}, tables, random_transactions(tables, seed, 2))
    assert check_rows(executors()["differential"], case, spark, tmp_path, on_duckdb, digits=4) == {corpus.VIEW}


@pytest.mark.parametrize("view", corpus.views()[:: 1 if FULL else 4], ids=lambda view: view.name)
def test_what_is_one_select_project_join_is_planned_and_the_rest_has_a_reason(view: corpus.View) -> None:
    definition = view.define()
    program = definition.program
    assert program is not None
    found = check_plan(executors()["differential"], definition)
    (rule, *more), below = program.top.rules, program.predicates[:-1]
    one = not below and not more and not rule.negations and rule.times is None and isinstance(program.top.form, Bag)
    assert isinstance(found, Plan) == one
    assert isinstance(found, Plan) or [reason.why for reason in found] == ["NOT_SPJ"]


def planned(sql: str, tables: Mapping[str, str], changes: Sequence[str] | None = None) -> Any:
    catalog = Catalog.of(Relation(name, dict.fromkeys(columns.split(), "int")) for name, columns in tables.items())
    return Differential().plan(define("v", sql, catalog), list(tables) if changes is None else changes)


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        ("SELECT DISTINCT a FROM r", "'v' removes duplicates"),
        ("SELECT a, COUNT(*) AS n FROM r GROUP BY a", "'v' aggregates"),
        ("SELECT a FROM r ORDER BY a LIMIT 3", "'v' is computed per partition"),
        ("SELECT a FROM r UNION ALL SELECT b FROM r", "'v' is a union"),
        ("SELECT a FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.b = r.b)", "'exists' removes duplicates"),
        ("SELECT x.a FROM (SELECT a + b AS a FROM r) x WHERE x.a > 1", "'select' is evaluated once and used again"),
    ],
)
def test_a_view_that_is_more_says_what_and_who_keeps_it(sql: str, where: str) -> None:
    (reason,) = planned(sql, {"r": "a b", "s": "b c"})
    assert (reason.code, reason.where, reason.remedy) == ("NOT_INCREMENTAL.NOT_SPJ", where, "counting keeps it")


def test_a_truth_table_that_is_too_long_is_left_to_counting() -> None:
    tables = {f"t{i}": "a b" for i in range(7)}
    sql = f"SELECT t0.a FROM {', '.join(tables)} WHERE " + " AND ".join(f"t{i}.b = t{i + 1}.a" for i in range(6))
    (reason,) = planned(sql, tables)
    assert (reason.code, reason.where) == ("NOT_INCREMENTAL.TRUTH_TABLE", "127 rows for one change")
    plan = planned(sql, tables, [*tables][:6])
    assert isinstance(plan, Plan)
    (step,) = plan.maintain
    assert isinstance(step, ApplyDelta)
    assert len(step.delta.top.rules) == MOST_ROWS


def test_nothing_is_to_be_done_when_nothing_has_changed() -> None:
    plan = planned("SELECT a FROM r", {"r": "a b"}, [])
    assert (plan.maintain, plan.answer) == ((), (ReadStored("v", ("a",)),))
