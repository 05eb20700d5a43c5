"""How views are kept day by day: what runs is chosen again each time, reads take the cheapest right way, and say how
old what they read is."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.api import Advisor, Status
from executors.runner import Runner
from executors.testing import assert_same_rows, stored_rows
from profiles.coefficients import FILE, SHIPPED, MachineProfile, machine_profile, save
from tests.executors.recomputation import on_duckdb
from views.errors import ExecutionError

pytestmark = pytest.mark.engine("sail")

ROWS, CUSTOMERS = 60_000, 300
VIEWS = {
    "named": "SELECT k, name, price FROM orders JOIN customers ON orders.c = customers.c",
    "totals": "SELECT name, SUM(price) AS total FROM orders JOIN customers ON orders.c = customers.c GROUP BY name",
}


def orders(first: int, count: int) -> pa.Table:
    keys = np.arange(first, first + count)
    return pa.table({"k": keys, "c": keys * 7 % CUSTOMERS, "price": keys * 31 % 97})


class Shop:
    """Two tables, two views of them, and the prices of a machine of one's own."""

    def __init__(self, folder: Path, spark: Any) -> None:
        self.folder, self.spark = folder, spark
        for part in range(4):
            write_deltalake(folder / "orders", orders(part * ROWS // 4, ROWS // 4), mode="append")
        names = pa.table({"c": np.arange(CUSTOMERS), "name": [f"n{i % 200}" for i in range(CUSTOMERS)]})
        write_deltalake(folder / "customers", names)

    def advisor(self, more: str = "", queries: str = "{per_day: 100}", **kept: str) -> Advisor:
        """The workload with views that are kept as named, applied; the other ones are virtual."""
        lines = [
            "engine: sail",  # whose prices count, whatever the session is
            "tables:",
            "  orders: {path: orders, key: [k], updates: {per_day: 100, rows: 10}, foreign_keys: {c: customers.c}}",
            "  customers: {path: customers, key: [c], updates: {per_day: 0}}",
            "views:",
        ]
        for view, sql in VIEWS.items():
            strategy, _, algorithm = kept.get(view, "query_modification").partition("/")
            pin = f", algorithm: {algorithm}" if algorithm else ""
            pin += more if strategy == "deferred" else ""
            lines.append(f"  {view}: {{sql: {json.dumps(sql)}, strategy: {strategy}{pin}, queries: {queries}}}")
        (self.folder / "w.yaml").write_text("\n".join(lines), encoding="utf-8")
        advisor = Advisor(self.folder / "w.yaml", self.spark)
        advisor.recommend()
        advisor.apply()
        return advisor

    def prices(self, **changed: float) -> None:
        """Another machine: these coefficients differ from the shipped ones."""
        machine = machine_profile(self.folder, "sail").machine
        coefficients = replace(SHIPPED["sail"], **changed)
        (self.folder / ".advisor").mkdir(exist_ok=True)
        text = save(self.folder / ".advisor", MachineProfile("sail", machine, coefficients, measured=True))
        (self.folder / ".advisor" / FILE).write_text(text, encoding="utf-8")

    def versions(self) -> dict[str, int]:
        """Of every stored table."""
        logs = (self.folder / "warehouse").glob("*/_delta_log")
        return {log.parent.name: DeltaTable(log.parent).version() for log in logs}

    def assert_right(self, advisor: Advisor, where: str | None = None) -> None:
        """Every view answers what DuckDB makes of the base tables."""
        tables = {name: stored_rows(self.folder / name) for name in ("orders", "customers")}
        filtered = {f"{view}_": f"SELECT * FROM {view}" + (f" WHERE {where}" if where else "") for view in VIEWS}
        wanted = on_duckdb({**VIEWS, **filtered}, tables)
        for view in VIEWS:
            assert_same_rows(advisor.query(view, where).toArrow(), wanted[f"{view}_"], view)


@pytest.fixture
def shop(tmp_path: Path, spark: Any) -> Shop:
    return Shop(tmp_path, spark)


def status(advisor: Advisor, view: str) -> Status:
    (found,) = advisor.status(view)
    return found


# Chosen again at each refresh


@pytest.mark.parametrize("kept", ["deferred/counting", "immediate/counting"])
def test_a_bulk_load_of_80_percent_is_rebuilt_this_once(shop: Shop, kept: str) -> None:
    advisor = shop.advisor(named=kept)
    advisor.update({"orders": (orders(ROWS, 10), None)})
    (few, *_) = [done for done in advisor.refresh("named") if done.ran] or [status(advisor, "named").last]
    assert (few.planned, few.ran) == ("counting", "counting")
    assert "rebuilding" not in few.because

    versions, refreshed = advisor.update({"orders": (orders(2 * ROWS, ROWS * 8 // 10), None)})
    assert versions == {"orders": 5}
    (many,) = refreshed or advisor.refresh("named")
    assert (many.planned, many.ran) == ("counting", "recompute")
    assert many.because.startswith("orders changed; rebuilding is expected to take ")
    assert ", applying the change " in many.because
    last = status(advisor, "named").last
    assert last is not None
    assert (last.planned, last.ran, last.because) == ("counting", "recompute", many.because)
    assert abs(last.moment - time.time()) < 600
    shop.assert_right(advisor)

    advisor.update({"orders": (orders(9 * ROWS, 10), None)})
    advisor.refresh("named")
    assert status(advisor, "named").last.ran == "counting", "it is kept as planned again"  # type: ignore[union-attr]
    shop.assert_right(advisor)


def test_what_is_pending_is_priced_without_a_job(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    advisor = shop.advisor(named="deferred/counting")
    write_deltalake(shop.folder / "orders", orders(ROWS, ROWS), mode="append")
    runner = advisor.runner()
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "spark", property(lambda _: pytest.fail("the engine was asked")))
        found = runner.forecasts("named")
    assert set(found) == {"counting", "recompute"}
    assert found["recompute"].seconds < found["counting"].seconds


@pytest.mark.parametrize("view", list(VIEWS))
def test_vacuumed_history_is_rebuilt_and_said(shop: Shop, view: str) -> None:
    advisor = shop.advisor(**{view: "deferred/counting"})
    table = DeltaTable(shop.folder / "orders")
    table.delete("k < 5")
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    (done,) = advisor.refresh(view)
    assert (done.planned, done.ran) == ("counting", "recompute")
    assert "HISTORY_GONE: " in done.because
    assert "keep history longer or refresh more often" in done.because
    shop.assert_right(advisor)
    write_deltalake(shop.folder / "orders", orders(ROWS, 5), mode="append")
    (again,) = advisor.refresh(view)
    assert again.ran == "counting"
    shop.assert_right(advisor)


def test_a_vacuumed_version_that_was_read_before_is_not_taken_for_empty(shop: Shop) -> None:
    advisor = shop.advisor(totals="deferred/counting")
    shop.assert_right(advisor)  # the engine knows the files of this version now
    table = DeltaTable(shop.folder / "orders")
    table.update({"price": "price + 1"})
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    shop.assert_right(advisor)


# Reads


@pytest.mark.parametrize("where", [None, "k = 17"])
@pytest.mark.parametrize(("reads", "route"), [(1, "query_modification"), (100_000, "stored")])
def test_a_read_takes_the_stored_rows_or_the_base_tables_whichever_is_cheaper(
    shop: Shop, where: str | None, reads: int, route: str
) -> None:
    advisor = shop.advisor(named="deferred/counting", queries=f"{{per_day: {reads}}}")
    before = shop.versions()["named"]
    advisor.update({"orders": (orders(ROWS, 10), None)})
    rows = advisor.rows("named", where)
    assert advisor.answered is not None
    assert (advisor.answered.route, advisor.answered.stale_seconds) == (route, 0), advisor.answered.because
    assert "the base tables cost " in advisor.answered.because
    assert shop.versions()["named"] == before + (route == "stored"), "only what pays is applied"
    assert rows.num_rows == (ROWS + 10 if where is None else 1)
    advisor.refresh()
    advisor.query("named", where)
    assert advisor.answered.route == "stored", "nothing is pending any more"


def test_a_read_puts_the_change_on_top_where_applying_it_costs_more(shop: Shop) -> None:
    kept = dict.fromkeys(VIEWS, "deferred/counting")
    shop.advisor(**kept)
    shop.prices(rows_read=1e-3, rows_joined=1e-3, files_written=20.0)  # scans are slow, and writing files is slower
    advisor = Advisor(shop.folder / "w.yaml", shop.spark)
    advisor.update({"orders": (orders(ROWS, 10), pa.table({"k": [1, 2, 5000]}))})
    before = shop.versions()
    for where in (None, "name = 'n7'", "name > 'n9'"):
        shop.assert_right(advisor, where)
        assert advisor.answered is not None
        assert advisor.answered.route == "read_through", advisor.answered.because
        assert advisor.answered.stale_seconds == 0
    assert shop.versions() == before, "nothing was written"
    assert status(advisor, "totals").pending == ("orders",)
    advisor.refresh()
    shop.assert_right(advisor)


def test_a_read_within_the_allowed_staleness_takes_the_rows_as_they_are_and_says_how_old(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    advisor = shop.advisor(", max_staleness: 1h, readers: external", totals="deferred/counting")
    kept = advisor.runner().kept("totals")
    assert kept.every_seconds is not None
    assert 0 < kept.every_seconds <= 3600
    old = advisor.rows("totals")
    advisor.update({"orders": (orders(ROWS, 10), None)})
    assert_same_rows(advisor.rows("totals"), old, "totals")
    assert advisor.answered is not None
    assert 0 < advisor.answered.stale_seconds < kept.every_seconds
    assert (advisor.answered.route, advisor.answered.refreshed) == ("stored", ())
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + kept.every_seconds + 1)
    shop.assert_right(advisor)
    assert advisor.answered.stale_seconds == 0


# When maintenance fails


def test_a_view_that_fails_after_the_base_commit_is_behind_and_catches_up(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    advisor = shop.advisor(totals="immediate/counting", named="immediate/counting")

    def failing(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("executors.runner.merge_change", failing)
        versions, refreshed = advisor.update({"orders": (orders(ROWS, 10), None)})
    assert versions == {"orders": 4}
    assert [(each.view, each.ran, type(each.error)) for each in refreshed] == [
        (view, None, ExecutionError) for view in VIEWS
    ]
    found = status(advisor, "totals")
    assert found.pending == ("orders",)
    assert found.failure is not None
    assert "No space left on device" in found.failure.error
    advisor.update({"orders": (orders(2 * ROWS, 10), None)})
    for view in VIEWS:
        found = status(advisor, view)
        assert (found.pending, found.failure) == ((), None)
        assert found.last is not None
        assert found.last.ran == "counting", "two changes are applied, each once"
    shop.assert_right(advisor)
