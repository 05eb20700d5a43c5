"""Every built-in executor passes the suite that plug-ins import, and the suite finds executors that are wrong."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from executors import executor as door
from executors.executor import Executor, executors
from executors.query_modification import QueryModification
from executors.recompute import Recompute
from executors.testing import Case, bag, changed, check_plan, check_plans, check_rows, random_transactions
from tests.conftest import ENGINE
from tests.executors.recomputation import on_duckdb
from tests.views import corpus
from views.definition import Definition
from views.reasons import Reason
from views.steps import Plan, ReadStored, Replace

DIGITS = 4
SHAPES = (
    "clock/window_of_days",
    "constants/union_with_constants",
    "ctes/used_twice",
    "derived/join_of_groups",
    "exists/exists",
    "exists/not_exists_filtered",
    "exists/not_in_with_nulls",
    "group/avg",
    "group/count_distinct",
    "group/global_filtered_to_nothing",
    "group/having",
    "group/min_max",
    "group/null_only_sum",
    "grouping_sets/no_empty_set",
    "grouping_sets/rollup",
    "join/inner_with_filters",
    "join/self_hop",
    "join/three_chain",
    "limits/order_limit",
    "names/reserved_words",
    "names/spaces_and_dots",
    "outer/aggregate_over_left",
    "outer/full",
    "outer/left_then_inner",
    "select/own_average",
    "select/three_valued_logic",
    "set_operations/except_all",
    "set_operations/intersect",
    "subqueries/correlated_count",
    "subqueries/scalar_where",
    "union/all",
    "windows/top_per_group",
)
LAYERS = {
    "sums": "SELECT a, SUM(b) AS total, COUNT(*) AS n FROM r GROUP BY a",
    "joined": "SELECT sums.a, sums.total, t.f FROM sums LEFT JOIN t ON sums.a = t.a",
    "top of all": "SELECT DISTINCT `joined`.f, sums.n FROM joined JOIN sums ON joined.a <=> sums.a WHERE sums.n > 1",
}
SAIL_GAPS = {"grouping_sets/rollup": "a grand total of no rows, which Spark does not make"}
FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"
MOVES = 4 if ENGINE == "sail" or FULL else 2
"""Transactions of a case; on Spark each takes a second or two."""
BUILT_IN = ("query_modification", "recompute", "counting")


def case_of(name: str, seed: int | None, moves: int) -> Case:
    """A view of the corpus over the tables that it reads; without a seed they are empty at first."""
    (view,) = [each for each in corpus.views() if each.name == name]
    read = view.define().relations
    filled = {table: rows for table, rows in corpus.tables(1 if seed is None else seed).items() if table in read}
    tables = {table: corpus.tables(seed)[table] for table in filled}
    moved = random_transactions(filled, 1 if seed is None else seed, moves) if filled else []
    if seed is None:
        moved = [{table: (rows, None) for table, rows in filled.items()}, *moved] if filled else []
    return Case({corpus.VIEW: view.sql}, tables, moved)


def on_engine(shapes: Sequence[str]) -> Sequence[str]:
    """A sample of the shapes, unless everything is asked for: Sail gets more of them than Spark."""
    return shapes if FULL else shapes[:: 2 if ENGINE == "sail" else 8]


@pytest.mark.parametrize("view", corpus.views()[:: 1 if FULL else 8], ids=lambda view: view.name)
def test_plans_of_the_corpus_are_pure_and_print(view: corpus.View) -> None:
    definition = view.define()
    for name in BUILT_IN:
        found = check_plan(executors()[name], definition)
        assert isinstance(found, Plan) or (name == "counting" and [r.why for r in found] == ["NESTED"])


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in BUILT_IN for shape in on_engine(SHAPES if name == "counting" or FULL else SHAPES[::5])],
)
def test_stored_rows_are_those_of_duckdb_after_each_change_and_after_all(
    name: str, shape: str, spark: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if ENGINE == "sail" and shape in SAIL_GAPS and name != "counting":
        request.applymarker(pytest.mark.xfail(reason=SAIL_GAPS[shape], strict=True))
    case = case_of(shape, seed=1 + SHAPES.index(shape), moves=MOVES)
    assert check_rows(executors()[name], case, spark, tmp_path, on_duckdb, digits=DIGITS) == {corpus.VIEW}


@pytest.mark.engine("sail")
@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("shape", SHAPES[::8])
def test_views_on_empty_tables_fill_with_them(name: str, shape: str, spark: Any, tmp_path: Path) -> None:
    case = case_of(shape, seed=None, moves=2)
    check_rows(executors()[name], case, spark, tmp_path, on_duckdb, digits=DIGITS)


@pytest.mark.engine
@pytest.mark.parametrize("name", BUILT_IN if ENGINE == "sail" or FULL else BUILT_IN[-1:])
def test_views_on_views_follow(name: str, spark: Any, tmp_path: Path) -> None:
    tables = {table: rows for table, rows in corpus.tables(7).items() if table in ("r", "t")}
    case = Case(LAYERS, tables, random_transactions(tables, 7, 2 * MOVES))
    assert check_plans(executors()[name], case) == set(LAYERS)
    assert check_rows(executors()[name], case, spark, tmp_path, on_duckdb, digits=DIGITS) == set(LAYERS)


def test_random_transactions_go_where_it_hurts() -> None:
    tables = {table: rows for table, rows in corpus.tables(3).items() if table in ("r", "s", "t")}
    moves = random_transactions(tables, 3, 8)
    assert moves == random_transactions(tables, 3, 8)
    assert any(len(move) > 1 for move in moves)
    states = list(Case({}, tables, moves).states())
    assert len(states) == 9
    sizes = [{name: rows.num_rows for name, rows in state.items()} for state in states]
    assert any(0 in size.values() for size in sizes)
    inserted = [inserts for move in moves for inserts, _ in move.values() if inserts is not None]
    assert any(None in row for rows in inserted for row in bag(rows))
    assert any(count > 1 for state in states[1:] for rows in state.values() for count in bag(rows).values())
    both = [(a, d) for move in moves for a, d in move.values() if a is not None and d is not None]
    assert any(bag(a) & bag(d) for a, d in both)


def test_a_row_that_is_not_there_cannot_be_deleted() -> None:
    with pytest.raises(ValueError, match=r"deletes a row that is not there: \(2,\)"):
        changed(pa.table({"a": [1]}), None, pa.table({"a": [2]}))


VIEW = Case(
    {"v": "SELECT a, SUM(b) AS total FROM r GROUP BY a", "w": "SELECT v.a FROM v WHERE v.total > 2"},
    {"r": pa.table({"a": [1, 1, 2, None], "b": [2, 2, 5, 1]})},
    [{"r": (pa.table({"a": [3, 3], "b": [9, 9]}), None)}, {"r": (None, pa.table({"a": [2], "b": [5]}))}],
)


class Forgetful(Recompute):
    """Has nothing to do when a table has changed."""

    name = "forgetful"

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        whole = super().plan(view, changed)
        return replace(whole, maintain=()) if set(changed) <= {"r", "v"} else whole


class Guessing(Recompute):
    """Plans by the number of its calls."""

    calls = itertools.count()

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        return Plan(view.view, self.name, (), (ReadStored(view.view, (f"c{next(self.calls)}",)),))


class Meddling(Recompute):
    """Changes the definition that it reads."""

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        view.query.set("limit", exp.Limit(expression=exp.Literal.number(1)))
        return super().plan(view, changed)


class Unprintable(Recompute):
    """Has a step that is not SQL."""

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        broken = exp.select(exp.Anonymous(this="a b", expressions=[])).from_("t")
        return Plan(view.view, self.name, (Replace(view.view, broken, {}),), (ReadStored(view.view, view.columns),))


class Silent(Recompute):
    """Gives neither a plan nor a reason."""

    def plan(self, view: Definition, changed: Collection[str]) -> Any:
        return ()


class Inventive(Recompute):
    """Has a reason that nobody knows."""

    def plan(self, view: Definition, changed: Collection[str]) -> Any:
        return (Reason("TOO_HARD", "everywhere"),)


class Impostor(Recompute):
    """Signs with another name."""

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        return replace(super().plan(view, changed), algorithm="counting")


class Fetching(Recompute):
    """Asks for a session while it plans."""

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        from pyspark.sql import SparkSession

        assert SparkSession is not None
        return super().plan(view, changed)


class Storing(QueryModification):
    """Maintains what it does not store."""

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        return replace(super().plan(view, changed), maintain=(Replace(view.view, view.query, {}),))


class Choosy(Recompute):
    """Keeps only views without groups."""

    def plan(self, view: Definition, changed: Collection[str]) -> Any:
        if view.query.find(exp.Group):
            return (Reason("UDF", "everywhere"),)
        return super().plan(view, changed)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Guessing(), "another plan the second time"),
        (Meddling(), "'v' is not what it was before its plan"),
        (Unprintable(), "prints as what is not SQL|reads back as another one"),
        (Silent(), "no plan and no reason"),
        (Inventive(), "NOT_INCREMENTAL.TOO_HARD is not in the table of reasons"),
        (Impostor(), "it calls itself 'counting'"),
        (Fetching(), "imports pyspark"),
        (Storing(), "nothing is stored, yet there are steps"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_the_suite_finds_a_plan_that_is_wrong(wrong: Executor, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_plans(wrong, VIEW)


def test_planning_without_spark_leaves_it_importable() -> None:
    check_plans(Recompute(), VIEW)
    import pyspark.sql

    assert pyspark.sql.SparkSession.__name__ == "SparkSession"


def test_a_view_with_reasons_is_not_planned() -> None:
    assert check_plans(Choosy(), VIEW) == {"w"}


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Lets one more executor be installed."""

    def add(wrong: Executor) -> None:
        executors.cache_clear()
        found: Mapping[str, Executor] = {**executors(), wrong.name: wrong}
        monkeypatch.setattr("executors.testing.executors", lambda: found)
        monkeypatch.setattr("executors.standing.find_executor", found.get)
        monkeypatch.setattr(door, "find_executor", found.get)

    yield add
    executors.cache_clear()


@pytest.mark.engine
def test_the_suite_finds_an_executor_that_forgets_a_change(spark: Any, tmp_path: Path, install: Any) -> None:
    install(Forgetful())
    with pytest.raises(AssertionError, match=r"forgetful: 'v' after 1 of 2 transactions: "):
        check_rows(Forgetful(), VIEW, spark, tmp_path, on_duckdb)


@pytest.mark.engine
def test_the_suite_counts_duplicates_both_ways(spark: Any, tmp_path: Path) -> None:
    def more(views: Mapping[str, str], tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        return {view: pa.concat_tables([rows, rows]) for view, rows in on_duckdb(views, tables).items()}

    def fewer(views: Mapping[str, str], tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        return {view: rows.slice(1) for view, rows in on_duckdb(views, tables).items()}

    with pytest.raises(AssertionError, match=r"'v' after 0 of 2 transactions: 3 rows are missing"):
        check_rows(executors()["recompute"], VIEW, spark, tmp_path / "more", more)
    with pytest.raises(AssertionError, match=r"'v' after 0 of 2 transactions: 1 rows are too many"):
        check_rows(executors()["recompute"], VIEW, spark, tmp_path / "fewer", fewer)


@pytest.mark.engine
def test_an_executor_that_is_not_installed_is_not_tried(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no entry point gives this executor"):
        check_rows(Choosy(), VIEW, spark, tmp_path, on_duckdb)
