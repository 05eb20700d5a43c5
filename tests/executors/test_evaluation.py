"""How the change of a view is evaluated: on the driver or on Spark, from the change sets or from files, and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from executors import evaluation
from executors import runner as running
from executors.keeping import Keeping
from executors.runner import Runner
from executors.testing import assert_same_rows, stored_rows
from storage import searching
from storage.staging import Change
from storage.table import Table, create_table
from storage.types import delta_fields, spark_types
from tests.executors.recomputation import on_duckdb
from views.catalog import Catalog, Relation
from views.definition import define_all
from views.errors import ExecutionError

pytestmark = pytest.mark.engine("spark", "sail")

ORDERS = pa.table({"o": [1, 2, 3, 4], "c": ["x", "x", "y", None]})
LINES = pa.table({"l_o": [1, 1, 2, 3, 3, 4], "n": [1, 2, 1, 1, 2, 1], "price": [10, 20, 5, None, 7, 7]})
VIEWS = {
    "joined": "SELECT o, c, n, price FROM orders JOIN lines ON l_o = o",
    "sums": "SELECT c, SUM(price) AS total, AVG(price) AS a, MIN(price) AS low, COUNT(*) AS n"
    " FROM orders JOIN lines ON l_o = o GROUP BY c",
    "customers": "SELECT DISTINCT c FROM orders",
    "lonely": "SELECT o FROM orders WHERE NOT EXISTS (SELECT 1 FROM lines WHERE l_o = o)",
    "ranked": "SELECT o, price, RANK() OVER (PARTITION BY c ORDER BY price) AS place FROM orders JOIN lines ON l_o = o",
}
KEYS = {"orders": ["o"], "lines": ["l_o", "n"]}
MOVES: Sequence[Mapping[str, tuple[pa.Table | None, pa.Table | None]]] = (
    {
        "orders": (pa.table({"o": [5, 6], "c": ["y", "z"]}), ORDERS.slice(0, 1)),
        "lines": (pa.table({"l_o": [5, 5], "n": [1, 2], "price": [1, 2]}), LINES.slice(0, 2)),
    },
    {"lines": (pa.table({"l_o": [2, 6], "n": [9, 1], "price": [100, 3]}), LINES.slice(2, 2))},
    {"orders": (pa.table({"o": [3], "c": ["w"]}), ORDERS.slice(2, 1))},
)


def opened(spark: Any, folder: Path, views: Mapping[str, str], *, declared: bool = False, **more: Any) -> Runner:
    """The views, built, over tables with or without their keys declared."""
    keys = KEYS if declared else {}
    foreign = {"lines": {"l_o": "orders.o"}} if declared else {}
    tables: dict[str, Table] = {}
    for name, rows in (("orders", ORDERS), ("lines", LINES)):
        create_table(spark, folder / name, rows)
        tables[name] = Table(spark, folder / name, name=name, key=keys.get(name, ()), foreign_keys=foreign.get(name))
    relations = [Relation(n, spark_types(delta_fields(t.log.schema))) for n, t in tables.items()]
    keeping = dict.fromkeys(views, Keeping("deferred", "counting"))
    made = Runner(spark, define_all(views, Catalog.of(relations)), tables, folder / "warehouse", keeping, **more)
    for view in views:
        made.refresh(view)
    return made


def check(made: Runner, views: Mapping[str, str]) -> None:
    """The public tables are what DuckDB makes of the base tables as they are."""
    base = {name: DeltaTable(table.root).to_pyarrow_table() for name, table in made.tables.items()}
    for view, rows in on_duckdb(views, base).items():
        assert_same_rows(stored_rows(made.warehouse / view), rows, view, 4)


@pytest.mark.parametrize("bound", [2, 200_000])
def test_above_a_bound_of_rows_the_work_stays_on_the_engine(bound: int, spark: Any, tmp_path: Path) -> None:
    made = opened(spark, tmp_path, VIEWS, driver_rows=bound)
    spilled = []
    spill = evaluation.Evaluation.spilled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation.Evaluation, "spilled", lambda self, rows: spilled.append(rows) or spill(self, rows))
        for move in MOVES:
            made.update({name: Change(*rows) for name, rows in move.items()})
            made.look()
            for view in VIEWS:
                assert made.refresh(view).ran in ("counting", None)
            check(made, VIEWS)
    assert bool(spilled) == (bound == 2)
    assert not list((tmp_path / "warehouse" / "_advisor" / "scratch").glob("*"))


def test_states_that_are_ahead_of_their_view_after_a_crash_are_caught_up_with(spark: Any, tmp_path: Path) -> None:
    views = {"sums": VIEWS["sums"]}
    made = opened(spark, tmp_path, views)
    made.update({name: Change(*rows) for name, rows in MOVES[0].items()})
    made.look()
    merge = running.merge_change

    def dies(table: Table, *rest: Any, **more: Any) -> int:
        if table.name == "sums":
            raise KeyboardInterrupt
        return merge(table, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "merge_change", dies)
        with pytest.raises(KeyboardInterrupt):
            made.refresh("sums")
    made.update({name: Change(*rows) for name, rows in MOVES[1].items()})
    again = Runner(spark, made.definitions, made.tables, made.warehouse, made.keeping)
    again.look()
    assert again.refresh("sums").ran == "counting"
    check(again, views)
    assert again.refresh("sums").ran is None


def test_a_count_below_zero_stops_the_commit_and_names_view_and_row(spark: Any, tmp_path: Path) -> None:
    views = {"sums": VIEWS["sums"]}
    made = opened(spark, tmp_path, views)
    state = tmp_path / "warehouse" / "sums__state"
    rows = DeltaTable(state).to_pyarrow_table()
    position = rows.column_names.index("__rows")
    fewer = rows.set_column(position, rows.schema.field("__rows"), pa.array([1] * rows.num_rows, pa.int64()))
    write_deltalake(state, fewer, mode="overwrite")
    made.update({name: Change(*rows) for name, rows in MOVES[0].items()})
    made.look()
    before = stored_rows(tmp_path / "warehouse" / "sums")
    with pytest.raises(ExecutionError, match="sums__state: the number of rows falls to -1 for c = 'x'"):
        made.refresh("sums")
    assert stored_rows(tmp_path / "warehouse" / "sums").equals(before)


@pytest.mark.parametrize("where", ["in the change", "on the driver", "on the engine"])
def test_rows_are_found_in_the_cheapest_place(where: str, spark: Any, tmp_path: Path) -> None:
    """Declared keys let the change sets answer for the tables; else files are searched by whom their size allows."""
    read: dict[str, set[str]] = {"on the driver": set(), "on the engine": set()}
    look_up, search = Runner.registered, evaluation.rows_among
    views = {"joined": VIEWS["joined"], "sums": VIEWS["sums"]}
    made = opened(spark, tmp_path, views, declared=where == "in the change")
    made.update({name: Change(*rows) for name, rows in MOVES[0].items()})
    made.look()

    def searched(now: Any, *rest: Any) -> pa.Table | None:
        found = search(now, *rest)
        read["on the driver"] |= {now.root.name} if found is not None else set()
        return found

    def registered(self: Runner, table: Table, *rest: Any) -> str:
        read["on the engine"].add(table.name)
        return look_up(self, table, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "FEW_ROWS", -1)
        patch.setattr(evaluation, "rows_among", searched)
        patch.setattr(Runner, "registered", registered)
        if where == "on the engine":
            patch.setattr(searching, "MOST_ROWS", -1)
        for view in views:
            assert made.refresh(view).ran == "counting"
    base = {place: names & set(KEYS) for place, names in read.items()}
    assert base == {place: set(KEYS) if place == where else set() for place in base}
    check(made, views)


@pytest.mark.engine("spark")
def test_a_refresh_is_one_job_and_an_empty_one_none(spark: Any, jobs: Callable[[], int], tmp_path: Path) -> None:
    views = {"totals": "SELECT l_o, SUM(price) AS total, COUNT(*) AS n FROM lines GROUP BY l_o"}
    made = opened(spark, tmp_path, views)
    made.update({"lines": Change(*MOVES[1]["lines"])})
    made.look()
    before = jobs()
    assert made.refresh("totals").ran == "counting"
    assert jobs() == before + 1
    assert made.refresh("totals").ran is None
    made.update("UPDATE orders SET c = 'q' WHERE o = 1")
    made.look()
    before = jobs()
    assert made.refresh("totals").ran is None
    assert jobs() == before
    check(made, views)


def test_texts_that_equal_the_same_number_do_not_multiply_its_group(spark: Any, tmp_path: Path) -> None:
    views = {
        "counted": "SELECT orders.o, q.n FROM orders"
        " JOIN (SELECT price, COUNT(*) AS n FROM lines GROUP BY price) AS q"
        " ON CASE WHEN orders.c IN ('7', '07') THEN orders.c END = q.price"
    }
    made = opened(spark, tmp_path, views)
    made.update({"orders": Change(pa.table({"o": [7, 8], "c": ["7", "07"]}), ORDERS.slice(0, 3))})
    made.look()
    assert made.refresh("counted").ran == "counting"
    rows = stored_rows(tmp_path / "warehouse" / "counted").to_pylist()
    assert sorted((row["o"], row["n"]) for row in rows) == [(7, 2), (8, 2)]
