"""`advisor watch`: what others write is followed, each view as its plan says, and nothing keeps it from going on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from advisor.api import Advisor
from advisor.watch import Watcher
from executors.runner import Refresh, Runner
from executors.testing import assert_same_rows, stored_rows
from tests.executors.recomputation import on_duckdb

pytestmark = pytest.mark.engine("sail")

VIEWS = {
    "total": "SELECT c, SUM(price) AS total FROM orders GROUP BY c",
    "large": "SELECT k, price FROM orders WHERE price > 10",
    "named": "SELECT k, name FROM orders JOIN customers ON orders.c = customers.c",
    "virtual": "SELECT COUNT(*) AS n FROM orders",
}
HOUR = "deferred, algorithm: counting, max_staleness: 1h, readers: external"


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": list(keys), "c": [key % 3 for key in keys], "price": [key * 5 for key in keys]})


class Shop:
    def __init__(self, folder: Path, spark: Any) -> None:
        self.folder, self.spark = folder, spark
        self.add(1, 2, 3, 4)
        write_deltalake(folder / "customers", pa.table({"c": [0, 1, 2], "name": ["Ann", "Bob", "Cy"]}))

    def add(self, *keys: int) -> None:
        """Somebody else appends orders."""
        write_deltalake(self.folder / "orders", rows(*keys), mode="append")

    def write(self, views: dict[str, str] = VIEWS, engine: str = "auto", **kept: str) -> Path:
        lines = [f"engine: {engine}", "tables: {orders: {path: orders}, customers: {path: customers}}", "views:"]
        for view, sql in views.items():
            strategy = kept.get(view, "query_modification")
            lines.append(f"  {view}: {{sql: {json.dumps(sql)}, strategy: {strategy}}}")
        path = self.folder / "w.yaml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    def watched(self, **kept: str) -> Watcher:
        advisor = Advisor(self.write(**kept), self.spark)
        advisor.apply()
        watcher = Watcher(advisor, interval=0.05, idle=0)
        assert watcher.tick() == []
        return watcher

    def assert_stored(self, *views: str) -> None:
        tables = {name: stored_rows(self.folder / name) for name in ("orders", "customers")}
        wanted = on_duckdb(VIEWS, tables)
        for view in views:
            assert_same_rows(stored_rows(self.folder / "warehouse" / view), wanted[view], view)


@pytest.fixture
def shop(tmp_path: Path, spark: Any) -> Shop:
    return Shop(tmp_path, spark)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let so many seconds pass."""
    passed, clock = [0.0], time.time

    def pass_by(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(time, "time", lambda: clock() + passed[0])
    return pass_by


def names(done: list[Refresh]) -> list[str]:
    return [each.view for each in done]


def test_each_version_that_others_write_reaches_the_immediate_views(shop: Shop) -> None:
    watcher = shop.watched(total="immediate", large="immediate", named="deferred")
    for key in (11, 12):
        shop.add(key)
        assert names(watcher.tick()) == ["total", "large"]
        shop.assert_stored("total", "large")
        assert watcher.tick() == []
    write_deltalake(shop.folder / "customers", pa.table({"c": [0], "name": ["Al"]}), mode="append")
    assert watcher.tick() == [], "no immediate view reads it"


def test_deferred_views_are_refreshed_when_it_is_quiet(shop: Shop, later: Any) -> None:
    watcher = shop.watched(total="deferred", named="immediate")
    watcher.idle = 60
    shop.add(11)
    assert names(watcher.tick()) == ["named"]
    later(40)
    shop.add(12)
    assert names(watcher.tick()) == ["named"]
    later(40)
    assert watcher.tick() == [], "40 seconds are not a minute"
    later(30)
    assert names(watcher.tick()) == ["total"]
    shop.assert_stored("total", "named")
    later(1000)
    assert watcher.tick() == [], "nothing is left to do"


def test_idle_0_leaves_deferred_views_to_reads(shop: Shop, later: Any) -> None:
    watcher = shop.watched(total="deferred")
    shop.add(11)
    later(100_000)
    assert watcher.tick() == []


def test_views_that_may_be_stale_are_refreshed_by_the_clock_before_they_are_too_old(shop: Shop, later: Any) -> None:
    watcher = shop.watched(total=HOUR)
    watcher.interval = 30
    every = watcher.advisor.runner().kept("total").every_seconds
    assert every is not None
    shop.add(11)
    assert watcher.tick() == []
    later(every / 2)
    shop.add(12)
    assert watcher.tick() == []

    def age() -> float:
        found = watcher.advisor.runner().age("total")
        assert found is not None
        return found

    later(every - 100 - age())
    assert watcher.tick() == [], "there is time for another look"
    later(every - 30 - age())
    assert age() <= every
    assert names(watcher.tick()) == ["total"]
    shop.assert_stored("total")


def test_a_view_that_fails_keeps_no_other_from_being_kept_and_is_tried_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, later: Any
) -> None:
    watcher = shop.watched(total="immediate", large="immediate")
    watcher.interval = 60
    original = Runner.build
    tried = []

    def build(self: Runner, view: str) -> None:
        tried.append(view)
        if view == "total":
            raise OSError(28, "No space left on device")
        original(self, view)

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "build", build)
        patch.setattr(Runner, "follow", lambda self, view, _: build(self, view))
        shop.add(11)
        done = watcher.tick()
        assert [(each.view, each.error is None) for each in done] == [("total", False), ("large", True)]
        assert watcher.tick() == [], "not at once again"
        later(121)
        assert names(watcher.tick()) == ["total"]
        later(121)
        assert watcher.tick() == [], "each time it waits longer"
    later(121)
    assert names(watcher.tick()) == ["total"]
    shop.assert_stored("total", "large")
    assert tried.count("total") == 2


def test_a_view_of_the_moment_is_not_refreshed_again_and_again(shop: Shop) -> None:
    views = {**VIEWS, "virtual": "SELECT k, CURRENT_TIMESTAMP AS at FROM orders"}
    advisor = Advisor(shop.write(views, virtual="immediate"), shop.spark)
    advisor.apply()
    watcher = Watcher(advisor, idle=0.01)
    assert watcher.tick() == []
    shop.add(11)
    assert names(watcher.tick()) == ["virtual"]
    assert watcher.tick() == []


def test_a_changed_workload_is_read_again_and_a_wrong_one_is_said(shop: Shop) -> None:
    said: list[str] = []
    watcher = shop.watched(total="immediate")
    watcher.warned = said.append
    good = (shop.folder / "w.yaml").read_text(encoding="utf-8")
    (shop.folder / "w.yaml").write_text("views: [", encoding="utf-8")
    shop.add(11)
    assert names(watcher.tick()) == ["total"]
    assert len(said) == 1
    assert said[0].startswith("the workload has changed and cannot be read, so the old one is kept: ")
    (shop.folder / "w.yaml").write_text(good.replace("SUM(price)", "MAX(price)"), encoding="utf-8")
    (done,) = watcher.tick()
    assert (done.view, done.because) == ("total", "its definition changed")
    assert said[1:] == ["the workload has changed and was read again"]
    assert watcher.tick() == []


def test_what_keeps_a_look_from_working_is_said_once_and_it_goes_on(shop: Shop) -> None:
    said: list[str] = []
    done: list[Refresh] = []
    watcher = shop.watched(total="immediate")
    watcher.warned, watcher.told = said.append, done.append
    stopped, torn = Event(), shop.folder / "orders" / "_delta_log" / f"{1:020}.json"
    torn.write_text("{", encoding="utf-8")

    def back() -> None:
        torn.unlink()
        shop.add(11)
        Timer(1.5, stopped.set).start()

    Timer(1.0, back).start()
    watcher.run(stopped)
    assert len(said) == 1
    assert "orders" in said[0]
    assert names(done) == ["total"]
    shop.assert_stored("total")


def test_the_plan_of_another_process_is_followed(shop: Shop) -> None:
    watcher = shop.watched(total="immediate")
    other = Advisor(shop.write(large="immediate"), shop.spark)
    other.recommend()
    other.apply()
    shop.add(11)
    assert names(watcher.tick()) == ["large"]
    shop.assert_stored("large")
    assert not (shop.folder / "warehouse" / "total").exists()


@pytest.mark.engine("sail")
def test_the_command_follows_writes_until_it_is_told_to_stop(shop: Shop) -> None:
    path = shop.write(engine="sail", total="immediate", named="deferred")
    Advisor(path, shop.spark).apply()
    command = [sys.executable, "-m", "advisor.cli", "watch", str(path), "--interval", "0.1", "--json", "--idle", "0"]
    shop.add(11)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        shop.add(12)
        second = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert [each["view"] for each in (first, second)] == ["total", "total"]
    assert second["version"] == first["version"] + 1
    shop.assert_stored("total")
    shop.add(13)
    once = subprocess.run([*command, "--once"], capture_output=True, text=True, check=False)
    assert (once.returncode, json.loads(once.stdout)["view"], once.stderr) == (0, "total", "")
    shop.assert_stored("total")
