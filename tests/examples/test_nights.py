"""Nights in a row on the retail example: the rate of orders drifts, every night replans, and every view stays right.

Three nights; ten with ADVISOR_TEST_FULL=1.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from advisor.api import Advisor
from advisor.nights import HISTORY, read_nights
from advisor.plan import read_plan
from advisor.transactions import Transactions
from executors.testing import assert_same_rows
from profiles.measurements import read_measurements
from profiles.statistics import Estimate
from tests.advisor.clock import DAY, Clock
from tests.examples.test_retail import RETAIL, run_generate
from tests.executors.recomputation import on_duckdb

NIGHTS = 10 if os.environ.get("ADVISOR_TEST_FULL") else 3
DRIFT = 2.5
"""The rate of a day against that of the day before."""
FIRST = 12
READ = ("open_orders", "revenue_by_nation", "store_totals", "orders_per_customer")
"""The views that are read during the day, some times each."""


@pytest.fixture
def retail(tmp_path: Path) -> Path:
    """The retail example at a thousandth of TPC-H's scale, on Sail."""
    finished = run_generate("--scale", "0.001", "--out", tmp_path / "data")
    assert finished.returncode == 0, finished.stderr
    text = (RETAIL / "workload.yaml").read_text(encoding="utf-8")
    (tmp_path / "workload.yaml").write_text(text.replace("engine: auto", "engine: sail"), encoding="utf-8")
    shutil.copytree(RETAIL / "views", tmp_path / "views")
    return tmp_path


def rate(night: int) -> int:
    """Transactions of a day: they become more until the middle, then fewer again."""
    return round(FIRST * DRIFT ** min(night, NIGHTS - 1 - night, 2))


def day(retail: Path, spark: Any, clock: Clock, night: int) -> None:
    """A day of real updates and reads."""
    advisor = Advisor(retail / "workload.yaml", spark)
    runner, count = advisor.runner(write=True), rate(night)
    small = {n: replace(t, rows_per_update=Estimate.of(4.0, "declared")) for n, t in advisor.statistics.items()}
    transactions = Transactions(runner.tables, small, ("orders", "lineitem"), seed=night)
    for number in range(count):
        clock.forward(DAY / count)
        changes = {name: (each.inserts, each.deletes) for name, each in transactions.next().items()}
        advisor.update(changes)
        if number % 4 == 0:
            for view in READ:
                advisor.rows(view)
    advisor.recorder.flush()


def assert_right(advisor: Advisor) -> None:
    """Every stored view is equal to recomputing it, and every view answers what DuckDB makes of the base tables."""
    assert [each.view for each in advisor.verify() if not each.equal] == []
    tables = {}
    for name in advisor.workload.tables:
        path = advisor.workload.path_of(name)
        assert path is not None
        tables[name] = DeltaTable(path).to_pyarrow_table()
    views = {view: sql for view, sql in advisor.workload.sql.items() if "AVG(" not in sql}  # a decimal there, here not
    for view, wanted in on_duckdb(views, tables).items():
        assert_same_rows(advisor.query(view).toArrow(), wanted, view)


@pytest.mark.engine("sail")
def test_nights_of_run_and_replan_end_with_every_view_right(
    retail: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock.installed(monkeypatch)
    file = retail / "workload.yaml"
    Advisor(file, spark).replan(apply=True)
    for night in range(NIGHTS):
        day(retail, spark, clock, night)
        advisor = Advisor(file, spark)
        advisor.run(scale=0.01, seed=night, select=["open_orders", "daily_sales"])
        found = advisor.replan(apply=True, max_changes=4)
        assert found.recorded
        assert found.night.number == night + 2
        assert found.night.updates["orders"] == pytest.approx(rate(night), rel=0.16)
        assert len(found.night.applied) <= 4
        assert {each.view for each in found.night.track} >= set(READ)
    assert_right(Advisor(file, spark))

    nights = read_nights(retail)
    assert len(nights) == NIGHTS + 1
    assert [round(each.updates["lineitem"]) for each in nights] == [round(each.updates["orders"]) for each in nights]
    assert any("orders: " in line for each in nights[1:] for line in each.moved)
    text = (retail / ".advisor" / HISTORY).read_text(encoding="utf-8")
    titles = [line for line in text.splitlines() if line.startswith("## Night ")]
    assert [int(title.split()[2]) for title in titles] == list(range(NIGHTS + 1, 0, -1))
    assert text.count("runs measured since the night before") == NIGHTS + 1
    assert "- track record: " in text
    assert max(map(len, text.splitlines())) < 400

    measured = read_measurements(retail / "warehouse")
    assert {m.command for m in measured} >= {"replan", "update", "query", "run"}
    rehearsed = [m for m in measured if m.rehearsed]
    assert {m.command for m in rehearsed} == {"run"}
    plan = read_plan(retail)
    assert plan.switching is None
    assert set(plan.views) == set(advisor.workload.views)
