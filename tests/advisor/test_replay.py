"""`advisor run`: a day is really carried out, in a copy; what is there stays, and what was measured is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.api import Advisor
from advisor.runs import Run, ViewRun
from advisor.transactions import Transactions
from profiles.measurements import read_measurements
from profiles.sources import all_statistics
from profiles.workload import load
from tests.advisor.test_calibrate import run as command

WORKLOAD = """\
name: shop
engine: sail
tables:
  customers: {path: data/customers, key: [c]}
  orders:
    path: data/orders
    key: [k]
    foreign_keys: {c: customers.c}
    updates: {per_day: 40, rows: 6, inserts: 0.5, deletes: 0.25, modifies: 0.25}
  lines:
    path: data/lines
    key: [k, n]
    foreign_keys: {k: orders.k, part: parts.part}
    updates: {per_day: 40, rows: 12, inserts: 0.5, deletes: 0.25, modifies: 0.25}
  parts:
    path: data/parts
    key: [part]
    updates: {per_day: 1, rows: 4, inserts: 0.5, deletes: 0.25, modifies: 0.25, at: "02:00"}
views:
  per_customer:
    sql: SELECT c, COUNT(*) AS n, SUM(price) AS total FROM orders GROUP BY c
    queries: {per_day: 60, filter: "c = 3"}
  named:
    sql: SELECT name, n, total FROM per_customer JOIN customers ON per_customer.c = customers.c
    queries: {per_day: 20}
    max_staleness: 6h
  cheap:
    sql: SELECT k, price FROM orders WHERE price < 40
    queries: {per_day: 10, between: "08:00-18:00"}
    strategy: deferred
  dear_parts:
    sql: SELECT part, SUM(amount) AS amount FROM lines GROUP BY part
    queries: {per_day: 5}
    readers: external
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A workload over three Delta tables and a Parquet folder, with references between them."""
    data = tmp_path / "data"
    write_deltalake(data / "customers", pa.table({"c": list(range(20)), "name": [f"customer {i}" for i in range(20)]}))
    orders = {"k": list(range(200)), "c": [i % 20 for i in range(200)], "price": [i * 37 % 101 for i in range(200)]}
    write_deltalake(data / "orders", pa.table(orders))
    lines = [(k, n, (k + n) % 30, k % 7) for k in range(200) for n in range(2)]
    write_deltalake(
        data / "lines", pa.table(dict(zip(("k", "n", "part", "amount"), zip(*lines, strict=True), strict=True)))
    )
    (data / "parts").mkdir()
    pq.write_table(pa.table({"part": list(range(40)), "colour": ["red", "blue"] * 20}), data / "parts" / "all.parquet")
    (tmp_path / "workload.yaml").write_text(WORKLOAD, encoding="utf-8")
    return tmp_path


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# Transactions


def made(shop: Path, spark: Any, names: tuple[str, ...], seed: int = 1) -> tuple[Any, Transactions]:
    advisor = Advisor(shop / "workload.yaml", spark)
    runner = advisor.runner(write=True)
    return runner, Transactions(runner.tables, advisor.statistics, names, seed)


@pytest.mark.engine("sail")
def test_rows_that_refer_to_each_other_come_and_go_together(shop: Path, spark: Any) -> None:
    runner, transactions = made(shop, spark, ("orders", "lines"))
    for _ in range(30):
        changes = transactions.next()
        assert changes.keys() == {"orders", "lines"}
        runner.update(changes)
        orders, lines = (
            DeltaTable(shop / "data" / name).to_pyarrow_table().to_pydict() for name in ("orders", "lines")
        )
        assert set(lines["k"]) <= set(orders["k"])
        assert set(orders["c"]) <= set(range(20))
        assert len(set(orders["k"])) == len(orders["k"])
        assert len(set(zip(lines["k"], lines["n"], strict=True))) == len(lines["k"])
    assert max(orders["k"]) == 199 + 90  # three new ones each
    assert len(orders["k"]) == pytest.approx(200 + 30 * 1.5, abs=12)


@pytest.mark.engine("sail")
def test_what_others_refer_to_is_not_deleted(shop: Path, spark: Any) -> None:
    runner, transactions = made(shop, spark, ("parts",))
    for _ in range(15):
        runner.update(transactions.next())
    parts, lines = (DeltaTable(shop / "data" / name).to_pyarrow_table() for name in ("parts", "lines"))
    assert set(lines["part"].to_pylist()) <= set(parts["part"].to_pylist())
    assert max(parts["part"].to_pylist()) == 39 + 30
    assert set(range(40)) - set(parts["part"].to_pylist()) <= set(range(30, 40))


@pytest.mark.engine("sail")
def test_the_same_seed_makes_the_same_transactions(shop: Path, spark: Any) -> None:
    def some(seed: int) -> Iterator[object]:
        _, transactions = made(shop, spark, ("orders", "lines"), seed)
        for _ in range(5):
            yield {n: (c.inserts.to_pylist(), c.deletes.to_pylist()) for n, c in transactions.next().items()}

    assert list(some(1)) == list(some(1)) != list(some(2))


# Runs


@pytest.mark.engine("sail")
def test_a_run_follows_the_plan_and_touches_nothing(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply()
    before, measured = files(shop), len(read_measurements(shop / "warehouse"))
    kept = {each.view: each for each in advisor.status()}
    found = advisor.run(scale=0.2)
    after = files(shop)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} <= {
        name for name in after if name.startswith("warehouse/_advisor/measurements/")
    }
    assert not list((shop / "warehouse" / "_advisor" / "scratch").iterdir())
    assert found.updates == {"orders,lines": 8}  # parts are updated too, but no view reads them
    assert found.queries == {"per_customer": 12, "named": 4, "cheap": 2, "dear_parts": 1}
    for name, view in found.views.items():
        assert view.recommended.split("/")[0] == kept[name].strategy
        assert view.measured.keys() == {view.recommended}
        assert view.measured[view.recommended] > 0
        assert view.regret == 0
    rows = read_measurements(shop / "warehouse")[measured:]
    assert all(m.rehearsed and m.command == "run" and m.engine_version for m in rows)
    assert len({m.command_id for m in rows}) == 1
    assert sum(m.kind == "update" for m in rows) == 8
    assert sum(m.kind == "query" for m in rows) == 19
    assert all(m.predicted_seconds and m.predicted_seconds > 0 for m in rows if m.kind != "statistics")


@pytest.mark.engine("sail")
def test_a_comparison_measures_every_permitted_way(shop: Path, spark: Any) -> None:
    found = Advisor(shop / "workload.yaml", spark).run(scale=0.1, compare=True)
    ways = {name: set(view.measured) for name, view in found.views.items()}
    assert ways["per_customer"] == {
        "query_modification",
        *(f"{when}/{how}" for when in ("immediate", "deferred") for how in ("counting", "recompute")),
    }
    assert ways["cheap"] == {f"deferred/{how}" for how in ("counting", "differential", "recompute")}  # pinned
    assert "query_modification" not in ways["dear_parts"]  # others read it as a table
    for view in found.views.values():
        assert view.recommended in view.measured
        assert view.measured.keys() <= view.predicted.keys()
        assert view.measured[view.best] == min(view.measured.values())
        assert view.regret == pytest.approx(view.measured[view.recommended] / view.measured[view.best] - 1)
    assert found.error is not None
    rows = read_measurements(shop / "warehouse")
    refreshed = {(m.subject, m.strategy, m.planned) for m in rows if m.kind == "refresh" and m.ran == m.planned}
    for name, each in ways.items():
        stored = {way for way in each if way != "query_modification"}
        assert {(name, *way.split("/")) for way in stored} <= refreshed


@pytest.mark.engine("sail")
def test_the_command_prints_the_json_that_scripts_rely_on(shop: Path, spark: Any) -> None:
    code, out, err = command("run", shop / "workload.yaml", "--days", "0.5", "--scale", "0.1", "--compare", "--json",
                             "--select", "cheap", "--seed", "7")  # fmt: skip
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert (answer["days"], answer["scale"], answer["seed"], answer["compared"]) == (0.5, 0.1, 7, True)
    assert answer["views"].keys() == {"cheap"}
    assert answer["views"]["cheap"].keys() == {"recommended", "measured", "predicted", "best", "regret"}
    code, out, err = command("run", shop / "workload.yaml", "--scale", "0.05", "--select", "named")
    assert code == 0
    assert out.splitlines()[0].startswith("shop · 1 day at scale 0.05: 2 updates and 4 reads · Sail")
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["view", "per_customer", "named"]


@pytest.mark.parametrize("option", [("--days", "0"), ("--scale", "-1"), ("--days", "nan")])
def test_a_run_of_no_length_is_refused(shop: Path, option: tuple[str, str]) -> None:
    code, out, err = command("run", shop / "workload.yaml", *option)
    assert (code, out) == (2, "")
    assert "is no length of a run; choose a number above 0" in err


# What is said


def test_the_text_says_how_good_the_recommendation_was() -> None:
    virtual, counted = "query_modification", "deferred/counting"
    views = {
        "good": ViewRun("good", counted, {counted: 1.05, virtual: 1.0}, {counted: 0.9}),
        "bad": ViewRun("bad", virtual, {counted: 1.0, virtual: 3.0}, {virtual: 0.5}),
    }
    found = Run("shop", "Sail", 1, 1, 0, True, {"orders": 3}, {"good": 1}, views, 65.0, [1.0, 1.2, 3.0])
    assert found.views["good"].regret == pytest.approx(0.05)
    lines = found.text().splitlines()
    assert lines[0] == "shop · 1 day: 3 updates and 1 read · Sail · 1 m 5 s"
    assert lines[3].split()[-1] == "200%"
    assert lines[-2] == "predicted within a factor of 1.20 for half of 3 refreshes and reads, of 2.64 for nine in ten"
    assert lines[-1].endswith("within 10% of it, for 1 of 2 views; mean regret 102%")


def test_statistics_say_what_a_transaction_does(shop: Path) -> None:
    from advisor.transactions import Mix

    known = all_statistics(load(shop / "workload.yaml"))
    mix = Mix.of(known["orders"])
    assert (mix.inserts, mix.deletes, mix.modifies) == pytest.approx((3, 1.5, 1.5))
    assert mix.rows == pytest.approx(6)
