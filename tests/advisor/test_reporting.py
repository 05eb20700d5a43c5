"""What a report says of a workload: the numbers that decided, and sentences where there is nothing to show."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from advisor.api import Advisor
from advisor.nights import Change, Night, keep_night
from advisor.plan import ActivePlan, keep_earlier, write_plan
from advisor.reporting import report, write_report
from advisor.runs import Run, ViewRun
from advisor.wording import label
from costmodels.axis import DRAWN, FACTORS, UPDATES
from executors.keeping import Keeping
from profiles.measurements import Measurement, append
from reports.findings import break_evens, of_sweep, winners
from reports.results import View
from tests.advisor.workloads import TOTAL, workload
from tests.reports import samples
from tests.reports.samples import START
from views.errors import WorkloadError


def test_the_parts_of_every_candidate_add_up_to_the_cost_that_decided(tmp_path: Path) -> None:
    for view in samples.shop(tmp_path).views:
        for candidate in view.candidates:
            assert sum(candidate.components.values()) == pytest.approx(candidate.seconds)
            assert sum(item.times * item.seconds for item in candidate.items) > 0
        assert view.now.declared == (view.name != "named")


def test_the_way_that_is_proposed_is_the_cheapest_of_the_sweep_at_todays_rate(tmp_path: Path) -> None:
    for view in samples.shop(tmp_path).views:
        assert view.sweep is not None
        today = int(np.argmin(np.abs(np.log(FACTORS))))
        assert view.sweep.updates[today] == pytest.approx(view.sweep.today) == pytest.approx(view.updates_a_day)
        assert winners(view.sweep.costs)[today] == view.proposed.way
        assert view.sweep.costs[view.now.way][today] <= view.now.seconds * (1 + 1e-9)


def test_break_evens_are_where_the_recommendation_says_that_the_choice_turns(tmp_path: Path) -> None:
    told = 0
    for view in samples.shop(tmp_path).views:
        assert view.sweep is not None
        for turn in view.turns:
            rate = float(turn.split()[-4].replace(",", ""))
            if turn.endswith("updates a day"):
                assert any(updates == pytest.approx(rate, rel=0.02) for updates, *_ in break_evens(view.sweep))
                assert f" wins {'above' if 'below' in turn else 'below'} " in of_sweep(view.sweep)
                told += 1
    assert told


def test_what_is_declared_of_today_has_no_range_but_grows_with_the_rates(tmp_path: Path) -> None:
    view = f"v: {{sql: '{TOTAL}', queries: {{per_day: 400}}, today: {samples.DEFERRED}}}"
    offer = Advisor(workload(tmp_path, view)).proposal(sample_rows=0).views["v"].offers.offers["deferred/recompute"]
    assert offer.a_day == 200
    assert set(offer.seconds[DRAWN]) == {200.0}
    assert offer.seconds[UPDATES][0] < 150 < 250 < offer.seconds[UPDATES][-1]


def test_only_selected_views_are_shown_with_the_tables_below_them(tmp_path: Path) -> None:
    found = report(Advisor(workload(tmp_path, *samples.VIEWS)), ["total"])
    assert [view.name for view in found.views] == ["total"]
    assert [table.name for table in found.tables] == ["orders"]


def test_the_plan_in_force_and_those_before_it_are_told(tmp_path: Path) -> None:
    advisor = Advisor(workload(tmp_path, *samples.VIEWS))
    assert report(advisor).plans == ()
    write_plan(tmp_path, ActivePlan({"total": Keeping("deferred", "recompute")}))
    keep_earlier(tmp_path)
    write_plan(tmp_path, ActivePlan({"total": Keeping("immediate", "counting")}))
    found = report(advisor)
    assert [(plan.number, plan.active) for plan in found.plans] == [(1, False), (2, True)]
    assert found.plans[1].views == {"total": "immediate, incremental"}
    (change,) = found.changes
    chosen = next(view for view in found.views if view.name == "total")
    assert (change.view, change.before, change.after) == ("total", "immediate, incremental", label(chosen.chosen))


def test_a_proposal_from_other_inputs_is_said_to_be(tmp_path: Path) -> None:
    advisor = Advisor(workload(tmp_path, *samples.VIEWS))
    assert any("No proposal was saved yet" in note for note in report(advisor).notes)
    advisor.recommend(sample_rows=0)
    assert not any("proposal" in note for note in report(advisor).notes)
    busy = Advisor(workload(tmp_path, *samples.VIEWS, updates="{per_day: 100000, rows: 25, modifies: 1}"))
    (note,) = (note for note in report(busy).notes if "other inputs" in note)
    assert "of total:" in note


def test_money_is_shown_where_there_is_a_price(tmp_path: Path) -> None:
    assert report(Advisor(workload(tmp_path, *samples.VIEWS))).price is None
    price = samples.shop(tmp_path).price
    assert price is not None
    assert price.currency == "EUR"


def test_a_report_is_an_html_page(tmp_path: Path) -> None:
    advisor = Advisor(workload(tmp_path, *samples.VIEWS))
    with pytest.raises(WorkloadError, match="a report is an HTML page"):
        write_report(advisor, str(tmp_path / "report.pdf"))
    path = write_report(advisor, str(tmp_path / "report.html"))
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_report_starts_no_engine(tmp_path: Path) -> None:
    workload(tmp_path, *samples.VIEWS)
    code = (
        "import sys; from advisor.cli import main\n"
        "try: main(['report', 'workload.yaml'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert 'pyspark' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "report written to report.html\n"), done.stderr
    assert (tmp_path / "report.html").exists()


def test_todays_way_is_among_the_candidates(tmp_path: Path) -> None:
    views: tuple[View, ...] = samples.shop(tmp_path).views
    assert {view.today for view in views} == {"query_modification", "deferred/recompute"}


def test_what_was_measured_is_shown_and_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    advisor = Advisor(workload(tmp_path, *samples.VIEWS))
    now = time.time()
    run = Measurement(
        at=now,
        command="refresh",
        command_id="a",
        kind="refresh",
        subject="total",
        seconds=0.5,
        engine="sail",
        engine_version="1",
        machine="m",
        strategy="deferred",
        planned="recompute",
        ran="counting",
        predicted_seconds=0.25,
    )
    old, unknown = replace(run, at=now - 100 * 86_400), replace(run, kind="query", seconds=None)
    append(
        advisor.workload.warehouse, [run, old, unknown, replace(run, kind="update", subject="orders", strategy=None)]
    )
    first, second = report(advisor).measurements
    assert (first.subject, first.way, first.ran) == ("total", "full refresh", "counting")
    assert (first.seconds, first.predicted) == (0.5, 0.25)
    assert (second.kind, second.way) == ("update", "")
    for path in (advisor.workload.warehouse / "_advisor" / "measurements").glob("*.parquet"):
        path.write_bytes(b"no parquet")
    broken = report(advisor)
    assert broken.measurements == ()
    assert any("measurements cannot be read" in note for note in broken.notes)


def test_the_rates_of_the_last_night_count_and_its_reasons_are_told(tmp_path: Path) -> None:
    advisor = Advisor(workload(tmp_path, *samples.VIEWS))
    write_plan(tmp_path, ActivePlan({"urgent": Keeping("immediate", "counting")}))
    change = Change("urgent", "immediate/counting", "query_modification", 9.0, 1.0, 0.0, ("orders has run wild",))
    rates = {"updates": {"orders": 100_000.0}, "queries": {"urgent": 3.0}, "coefficients": {"jobs": 0.07}}
    keep_night(tmp_path, Night(1, START, **rates, moved=("orders: moved",), changes=(change,), mistakes=("wrong",)))
    found = report(advisor)
    (urgent,) = (view for view in found.views if view.name == "urgent")
    assert (urgent.updates_a_day, urgent.reads_a_day) == (100_000, 3)
    assert urgent.today == "immediate/counting"
    (told,) = found.changes
    assert (told.view, told.why) == ("urgent", "orders has run wild")
    assert found.nights[0].moved == ("orders: moved",)
    assert found.coefficients[0].seconds == {"jobs": 0.07}


def test_a_replay_is_told_with_its_regret(tmp_path: Path) -> None:
    view = ViewRun(
        "total", "deferred/counting", {"deferred/counting": 3.0, "immediate/counting": 2.0}, {"deferred/counting": 1.0}
    )
    run = Run("w", "Sail", 1.0, 1.0, 0, True, {}, {}, {"total": view}, 5.0)
    (told,) = report(Advisor(workload(tmp_path, *samples.VIEWS)), run=run).comparison
    assert (told.view, told.way, told.best_way, told.regret) == ("total", "deferred", "immediate", 0.5)
    assert (told.predicted_seconds, told.measured_seconds, told.best_seconds) == (1.0, 3.0, 2.0)
