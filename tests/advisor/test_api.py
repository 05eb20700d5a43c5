"""The advisor as a Python object, on small tables: from the workload to rows, and back after updates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.api import Advisor, StrictError
from executors.testing import assert_same_rows, bag, stored_rows
from profiles.workload import from_values, load
from storage.log import is_delta
from tests.executors.recomputation import on_duckdb
from views.errors import ExecutionError, TableError, UpdateError, ViewError

pytestmark = pytest.mark.engine

ORDERS = pa.table({"k": [1, 2, 3, 4], "c": [7, 7, 8, None], "price": [1.5, 2.5, 4.0, 8.0]})
CUSTOMERS = pa.table({"c": [7, 8, 9], "name": ["Ann", "Bob", "Cy"]})
VIEWS = {
    "spent": "SELECT c, SUM(price) AS total FROM orders GROUP BY c",
    "named": "SELECT name, total FROM spent JOIN customers ON spent.c = customers.c",
    "cheap": "SELECT k, price FROM orders WHERE price < 3",
}
WORKLOAD = """\
name: shop
warehouse: ./warehouse
tables:
  orders: {path: data/orders, key: [k]}
  customers: {path: data/customers, key: [c]}
views:
  spent:
    sql: SELECT c, SUM(price) AS total FROM orders GROUP BY c
    strategy: deferred
    algorithm: recompute
  named:
    sql: SELECT name, total FROM spent JOIN customers ON spent.c = customers.c
    strategy: immediate
    algorithm: recompute
  cheap: {sql: "SELECT k, price FROM orders WHERE price < 3", strategy: query_modification}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A workload over two Delta tables."""
    write_deltalake(tmp_path / "data" / "orders", ORDERS)
    write_deltalake(tmp_path / "data" / "customers", CUSTOMERS)
    (tmp_path / "workload.yaml").write_text(WORKLOAD, encoding="utf-8")
    return tmp_path


def assert_right(advisor: Advisor, folder: Path) -> None:
    """Every view answers what DuckDB makes of the base tables."""
    tables = {name: stored_rows(folder / "data" / name) for name in ("orders", "customers")}
    for view, wanted in on_duckdb(VIEWS, tables).items():
        assert_same_rows(advisor.query(view).toArrow(), wanted, view)


def test_views_are_applied_read_updated_and_right_again(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    applied = {each.view: each for each in advisor.apply()}
    assert {view: each.keeping.strategy for view, each in applied.items()} == {
        "spent": "deferred",
        "named": "immediate",
        "cheap": "query_modification",
    }
    assert [view for view, each in applied.items() if each.built is not None and each.built.ran] == ["spent", "named"]
    assert (applied["cheap"].built, applied["spent"].note) == (None, "")
    assert_right(advisor, shop)

    more = pa.table({"k": [5, 6], "c": [9, 8], "price": [0.5, 0.25]})
    versions, refreshed = advisor.update({"orders": (more, pa.table({"k": [1]})), "customers": (None, None)})
    assert versions == {"orders": 1}
    assert "named" in [each.view for each in refreshed if each.ran]
    assert_right(advisor, shop)

    versions, refreshed = advisor.update("UPDATE customers SET name = 'Bo' WHERE c = 8")
    assert versions == {"customers": 1}
    assert [each.view for each in refreshed] == ["named"]
    assert_right(advisor, shop)
    assert "Bo" in stored_rows(shop / "warehouse" / "named")["name"].to_pylist()


def test_a_plan_outlives_the_process_that_made_it(shop: Path, spark: Any) -> None:
    Advisor(shop / "workload.yaml", spark).apply()
    saved = json.loads((shop / ".advisor" / "plan.json").read_text(encoding="utf-8"))
    assert saved["views"]["spent"] == {"strategy": "deferred", "algorithm": "recompute"}
    later = Advisor(shop / "workload.yaml", spark)
    assert later.refresh("spent")[0].ran is None
    again = {each.view: each for each in later.apply()}
    assert {view for view, each in again.items() if each.built is not None and each.built.ran} == set()


def test_rows_come_as_arrow_pandas_or_spark(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    row = pa.table({"k": [10], "c": [7], "price": [1.0]})
    advisor.update({"orders": (row, None)})
    advisor.update({"orders": (pd.DataFrame({"k": [11], "c": [7], "price": [1.0]}), row)})
    advisor.update({"orders": (spark.createDataFrame([(12, 7, 1.0)], "k bigint, c bigint, price double"), None)})
    assert sorted(stored_rows(shop / "data" / "orders")["k"].to_pylist()) == [1, 2, 3, 4, 11, 12]


def test_a_wrong_update_changes_nothing(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    with pytest.raises(UpdateError, match="orders"):
        advisor.update({"orders": (pa.table({"k": [1], "c": [7], "price": [1.0]}), None)})
    assert DeltaTable(shop / "data" / "orders").version() == 0


@pytest.mark.parametrize("kind", ["file", "mapping", "workload"])
def test_a_workload_may_be_a_file_a_mapping_or_an_object(shop: Path, spark: Any, kind: str) -> None:
    values = {
        "warehouse": str(shop / "warehouse"),
        "tables": {"orders": {"path": str(shop / "data" / "orders")}},
        "views": {"cheap": {"sql": VIEWS["cheap"]}},
    }
    given = {
        "file": lambda: str(shop / "workload.yaml"),
        "mapping": lambda: values,
        "workload": lambda: load(shop / "workload.yaml"),
    }[kind]()
    assert Advisor(given, spark).query("cheap").toArrow().num_rows == 2


def test_a_mapping_s_paths_may_start_from_a_folder(shop: Path, spark: Any) -> None:
    values = {"tables": {"orders": {"path": "data/orders"}}, "views": {"cheap": {"sql": VIEWS["cheap"]}}}
    assert Advisor(from_values(values, shop), spark).query("cheap").toArrow().num_rows == 2


def test_a_filter_selects_rows_of_virtual_and_of_stored_views(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply()
    assert advisor.query("cheap", where="K = 2").toArrow().to_pylist() == [{"k": 2, "price": 2.5}]
    assert advisor.query("spent", where="total > 4 AND c IS NULL").toArrow().to_pylist() == [{"c": None, "total": 8.0}]
    assert advisor.query("named", where="name = 'Cy'").toArrow().num_rows == 0
    with pytest.raises(ViewError, match="the filter names no column of the view: 'totl'; did you mean 'total'"):
        advisor.query("spent", where="totl > 4")
    with pytest.raises(ViewError, match="is not one condition"):
        advisor.query("spent", where="total > 4 ORDER BY total")
    with pytest.raises(ViewError, match="there is no view 'spnt'; did you mean 'spent'"):
        advisor.query("spnt")


def test_refresh_status_and_verify_agree_about_what_is_behind(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply(exclude=["named"])
    assert {each.view: each.pending for each in advisor.status()} == {"spent": (), "named": (), "cheap": ()}
    advisor.update("DELETE FROM orders WHERE k = 4")
    states = {each.view: each for each in advisor.status()}
    assert (states["spent"].pending, states["spent"].rows) == (("orders",), 3)
    assert states["cheap"].rows is None
    (done,) = advisor.refresh("spent")
    assert (done.ran, done.version) == ("recompute", 1)
    states = {each.view: each for each in advisor.status("spent")}
    assert (list(states), states["spent"].pending, states["spent"].rows) == (["spent"], (), 2)
    with pytest.raises(ExecutionError, match="view 'cheap' is virtual: there is nothing to refresh"):
        advisor.refresh("cheap")
    assert [(each.view, each.equal) for each in advisor.verify()] == [("spent", True)]
    write_deltalake(shop / "warehouse" / "spent", pa.table({"c": [1], "total": [1.0]}), mode="append")
    (found,) = advisor.verify("spent")
    assert (found.equal, found.missing, found.unexpected) == (False, 0, 1)


def test_status_needs_no_engine(shop: Path, spark: Any) -> None:
    Advisor(shop / "workload.yaml", spark).apply()

    class NoEngine(Advisor):
        @property
        def spark(self) -> Any:
            raise AssertionError("an engine was opened")

    found = NoEngine(shop / "workload.yaml").status()
    assert [(each.view, each.strategy) for each in found] == [
        ("spent", "deferred"),
        ("named", "immediate"),
        ("cheap", "query_modification"),
    ]


def test_verify_brings_pending_changes_in_first(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply()
    write_deltalake(shop / "data" / "orders", pa.table({"k": [9], "c": [9], "price": [9.0]}), mode="append")
    assert all(each.equal for each in advisor.verify())
    assert (9, 9.0) in bag(stored_rows(shop / "warehouse" / "spent"))


def test_registered_views_are_read_by_name(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply()
    assert advisor.register() == ["spent", "named", "cheap"]
    found = spark.sql("SELECT n.name, COUNT(*) AS n FROM named n JOIN spent s ON n.total = s.total GROUP BY n.name")
    assert bag(found.toArrow()) == bag(pa.table({"name": ["Ann", "Bob"], "n": [2, 2]}))
    for view in VIEWS:
        spark.catalog.dropTempView(view)


def one_table(folder: Path, path: str, spark: Any, more: str = "") -> Advisor:
    text = f"tables: {{t: {{path: {path}}}}}\nviews:\n  v: {{sql: 'SELECT a, COUNT(*) AS n FROM t GROUP BY a'{more}}}\n"
    (folder / "w.yaml").write_text(text, encoding="utf-8")
    return Advisor(folder / "w.yaml", spark)


def test_a_parquet_folder_becomes_a_delta_table_in_place_and_is_said(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": [1, 1, 2]}), tmp_path / "t" / "part.parquet")
    advisor = one_table(tmp_path, "t", spark)
    with pytest.raises(TableError, match="is not a Delta table yet; run advisor apply"):
        advisor.query("v")
    assert not is_delta(tmp_path / "t")
    advisor.apply()
    assert is_delta(tmp_path / "t")
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == ["_delta_log", "part.parquet"]
    (line,) = [line for line in advisor.said if line.startswith("t: ")]
    assert line == f"t: the Parquet folder {tmp_path / 't'} is a Delta table now (only _delta_log was added)"
    assert bag(advisor.query("v").toArrow()) == bag(pa.table({"a": [1, 2], "n": [2, 1]}))


def test_a_csv_file_is_imported_and_left_as_it_is(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,y\n2,\n")
    advisor = one_table(tmp_path, "t.csv", spark, ", strategy: deferred, algorithm: recompute")
    advisor.apply()
    imported = advisor.workload.warehouse / "_advisor" / "tables" / "t"
    assert f"t: {tmp_path / 't.csv'} was imported into {imported}" in advisor.said
    assert (tmp_path / "t.csv").read_text() == "a,b\n1,x\n1,y\n2,\n"
    assert bag(stored_rows(advisor.workload.warehouse / "v")) == bag(pa.table({"a": [1, 2], "n": [2, 1]}))
    later = Advisor(tmp_path / "w.yaml", spark)
    later.update("DELETE FROM t WHERE a = 2")
    assert bag(later.query("v").toArrow()) == bag(pa.table({"a": [1], "n": [2]}))


def test_a_strict_view_that_is_not_incremental_is_refused_with_its_remedy(tmp_path: Path, spark: Any) -> None:
    write_deltalake(tmp_path / "t", pa.table({"a": [1]}))
    text = "tables: {t: {path: t}}\nviews:\n  v: {sql: 'SELECT a, rand() AS x FROM t', strict: true}\n"
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StrictError, match=r"w.yaml:3: view 'v' is strict: NOT_INCREMENTAL.NONDETERMINISTIC") as raised:
        Advisor(tmp_path / "w.yaml", spark).apply()
    assert raised.value.exit_code == 1
    assert "store it there" in str(raised.value)
    assert not (tmp_path / ".advisor" / "plan.json").exists()


def test_a_table_without_data_cannot_be_read(tmp_path: Path, spark: Any) -> None:
    text = "tables: {t: {rows: 10, row_bytes: 8, columns: {a: int}}}\nviews: {v: {sql: SELECT a FROM t}}\n"
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match="table 't' has no data here; give it a path: to run its views"):
        Advisor(tmp_path / "w.yaml", spark).query("v")
