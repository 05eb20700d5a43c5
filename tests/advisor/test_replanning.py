"""The nightly job: what moves flips what depends on it, what wobbles flips nothing, and twice is as good as once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.api import Advisor
from advisor.nights import HISTORY, NIGHTS, Night, read_nights
from advisor.offers import algorithm_of, strategy_of
from advisor.plan import ActivePlan, earlier_plans, read_plan, write_plan
from advisor.planner import DEAD_ZONE
from advisor.replanning import STEADY, Replan
from executors.keeping import Keeping
from executors.testing import assert_same_rows
from profiles.coefficients import machine_profile
from profiles.measurements import FOLDER, append
from tests.advisor.clock import DAY, Clock
from tests.advisor.test_calibrate import run
from tests.advisor.test_learning import measured
from tests.executors.recomputation import on_duckdb
from views.errors import WorkloadError

WORKLOAD = """\
name: shop
engine: sail
tables:
  orders:
    rows: 3000000
    row_bytes: 100
    columns: {k: bigint, c: bigint, price: bigint, day: int}
    key: [k]
    domains: {day: [0, 364]}
    updates: {per_day: ORDERS, rows: 20, modifies: 1}
  parts:
    rows: 500000
    row_bytes: 100
    columns: {p: bigint, colour: int, stock: bigint}
    key: [p]
    domains: {colour: [0, 9]}
    updates: {per_day: PARTS, rows: 20, modifies: 1}
views:
  per_customer:
    {sql: "SELECT c, SUM(price) AS total FROM orders GROUP BY c", queries: {per_day: READS, filter: "c = 7"}}
  today: {sql: "SELECT k, price FROM orders WHERE day = 7", queries: {per_day: 300}}
  revenue: {sql: "SELECT SUM(price) AS total, COUNT(*) AS n FROM orders", queries: {per_day: 1000}}
  colours: {sql: "SELECT colour, SUM(stock) AS stock FROM parts GROUP BY colour", queries: {per_day: 300}}
  red: {sql: "SELECT p, stock FROM parts WHERE colour = 3", queries: {per_day: 40}}
"""
ON_ORDERS, ON_PARTS = {"per_customer", "today", "revenue"}, {"colours", "red"}


def night(folder: Path, orders: float = 20, parts: float = 20, reads: float = 300, adopt: bool = True) -> Replan:
    """One night at some declared rates; what it proposes is in force afterwards."""
    text = WORKLOAD.replace("ORDERS", f"{orders:g}").replace("PARTS", f"{parts:g}").replace("READS", f"{reads:g}")
    (folder / "w.yaml").write_text(text, encoding="utf-8")
    found = Advisor(folder / "w.yaml").replan()
    if adopt:
        keeping = {
            name: Keeping(strategy_of(v.candidate), algorithm_of(v.candidate) or "query_modification", v.every_seconds)  # type: ignore[arg-type]
            for name, v in found.proposal.views.items()
        }
        write_plan(folder, ActivePlan(keeping))
    return found


def changed(found: Replan) -> set[str]:
    return {each.view for each in found.night.changes}


# What flips, and what does not


def test_a_rate_that_jumps_fifty_fold_flips_the_affected_views_and_only_those(tmp_path: Path) -> None:
    before = night(tmp_path).proposal.views
    after = night(tmp_path, orders=1000)
    costs = {name: view.candidates for name, view in after.proposal.views.items()}
    affected = {
        name for name, view in before.items() if costs[name][view.candidate] > DEAD_ZONE * min(costs[name].values())
    }
    assert changed(after) == affected
    assert affected
    assert affected <= ON_ORDERS
    for change in after.night.changes:
        assert change.before == before[change.view].candidate
        assert change.saving_seconds > 0
        assert change.reasons[0] == "orders has 1,000 updates a day instead of 20 (declared)"
        assert len(change.reasons) == 2
    assert after.night.moved == ("orders: 1,000 updates a day instead of 20 (declared)",)
    assert not changed(night(tmp_path, orders=1000))
    back = night(tmp_path, orders=20)
    assert changed(back) == affected


def test_reads_that_become_rare_flip_their_view_and_only_that(tmp_path: Path) -> None:
    night(tmp_path)
    after = night(tmp_path, reads=2)
    assert changed(after) == {"per_customer"}
    assert after.night.changes[0].after == "query_modification"
    assert after.night.changes[0].reasons[0] == "per_customer has 2 reads a day instead of 300 (declared)"


def test_what_wobbles_by_a_tenth_flips_nothing_wherever_it_stands(tmp_path: Path) -> None:
    """Also where two ways cost about the same: around the rate at which a view turns."""
    turn = night(tmp_path, adopt=False).proposal.views["per_customer"].updates_turn
    assert turn is not None
    for number, rate in enumerate((20, turn.rate, turn.rate * 1.05, turn.rate * 0.95)):
        folder = tmp_path / str(number)
        folder.mkdir()
        night(folder, rate, rate)
        for wobble in (1.1, 0.9, 1.0, 1.1, 0.9):
            found = night(folder, rate * wobble, rate / wobble, 300 * wobble)
            assert (changed(found), found.night.moved) == (set(), ())


def test_a_rate_that_creeps_is_noticed_when_it_has_gone_far_enough(tmp_path: Path) -> None:
    night(tmp_path)
    assert night(tmp_path, 20 * 1.1).night.moved == ()
    found = night(tmp_path, 20 * 1.1 * 1.1)
    assert found.night.moved == ("orders: 24 updates a day instead of 20 (declared)",)
    assert 1.1 < STEADY < 1.1 * 1.1


# Its record


def test_twice_in_a_night_is_as_good_as_once(tmp_path: Path) -> None:
    night(tmp_path)
    night(tmp_path)
    before = {path.name: path.read_bytes() for path in sorted((tmp_path / ".advisor").rglob("*.*"))}
    again = night(tmp_path)
    assert not again.recorded
    assert not again.changed
    assert "nothing is new since then" in again.text()
    assert before == {path.name: path.read_bytes() for path in sorted((tmp_path / ".advisor").rglob("*.*"))}


def test_a_person_can_read_the_history(tmp_path: Path) -> None:
    night(tmp_path)
    night(tmp_path, orders=1000)
    text = (tmp_path / ".advisor" / HISTORY).read_text(encoding="utf-8")
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert [title.split(" · ")[0] for title in titles] == ["## Night 2", "## Night 1"]
    assert titles[0].endswith("change, 0 applied")
    assert "- orders: 1,000 updates a day instead of 20 (declared)" in text
    assert "- per_customer: full refresh → query modification · " in text
    assert "  - because orders has 1,000 updates a day instead of 20 (declared)" in text
    code, out, err = run("replan", tmp_path / "w.yaml", "--history")
    assert (code, out.strip(), err) == (0, text.strip(), "")
    code, out, _ = run("replan", tmp_path / "w.yaml", "--history", "--json")
    assert [each["number"] for each in json.loads(out)["nights"]] == [1, 2]


def test_nights_are_read_as_they_were_kept(tmp_path: Path) -> None:
    found = [night(tmp_path), night(tmp_path, orders=1000)]
    kept = read_nights(tmp_path)
    for one, other in zip((each.night for each in found), kept, strict=True):
        assert replace(other, changes=(), at=0.0, queries={}, updates={}) == replace(
            one, changes=(), at=0.0, queries={}, updates={}
        )
        assert other.updates == pytest.approx(one.updates, rel=1e-3)
        first, second = ([(c.view, c.before, c.after, c.reasons) for c in each.changes] for each in (one, other))
        assert first == second
        assert [c.seconds_after for c in other.changes] == pytest.approx(
            [c.seconds_after for c in one.changes], rel=1e-3
        )


def test_a_night_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    night(tmp_path)
    (tmp_path / ".advisor" / NIGHTS / "0001.json").write_text("{", encoding="utf-8")
    with pytest.raises(WorkloadError, match=r"0001\.json: cannot be read") as caught:
        night(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_exit_code_says_whether_something_changed_only_on_request(tmp_path: Path) -> None:
    night(tmp_path)
    night(tmp_path)
    assert run("replan", tmp_path / "w.yaml", "--detailed-exitcode")[0] == 0
    text = (tmp_path / "w.yaml").read_text(encoding="utf-8").replace("per_day: 20, rows", "per_day: 2000, rows", 1)
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    assert run("replan", tmp_path / "w.yaml")[0] == 0
    code, out, err = run("replan", tmp_path / "w.yaml", "--detailed-exitcode", "--json")
    assert (code, err) == (10, "")
    answer = json.loads(out)
    assert answer["changed"] is True
    assert answer["changes"].keys() <= ON_ORDERS
    assert answer["applied"] == []
    assert run("replan", tmp_path / "w.yaml", "--min-saving", "soon")[0] == 2


def test_measurements_that_cannot_be_read_are_one_warning_and_the_night_goes_on(tmp_path: Path) -> None:
    night(tmp_path)
    place = tmp_path / "warehouse" / FOLDER
    append(tmp_path / "warehouse", measured())
    for data in place.glob("*.parquet"):
        data.write_text("no Parquet", encoding="utf-8")
    code, out, err = run("replan", tmp_path / "w.yaml")
    assert code == 0
    assert "night" in out
    assert err.count("measurements cannot be read") == 1


def test_a_night_learns_from_what_was_measured(tmp_path: Path) -> None:
    night(tmp_path)
    clock = Night(1, 0.0)
    runs = [replace(m, at=read_nights(tmp_path)[0].at + 1) for m in measured()]
    append(tmp_path / "warehouse", runs)
    found = night(tmp_path)
    assert found.night.learned
    assert clock.error_before is None
    assert found.night.error_before == pytest.approx(2, rel=0.1)
    assert found.night.runs == len(runs)
    assert machine_profile(tmp_path / ".advisor", "sail").measured
    assert "new coefficients are taken: within " in found.text()


# On real tables, whose logs tell


SHOP = """\
name: shop
engine: sail
tables:
  orders: {path: data/orders, key: [k], updates: {per_day: 10, rows: 2, modifies: 1}}
  parts: {path: data/parts, key: [p], updates: {per_day: 10, rows: 2, modifies: 1}}
views:
  spent: {sql: "SELECT c, SUM(price) AS total FROM orders GROUP BY c", queries: {per_day: 4000}}
  colours: {sql: "SELECT colour, COUNT(*) AS n FROM parts GROUP BY colour", queries: {per_day: 4000}}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    number = np.arange(60_000)
    orders = pa.table({"k": number, "c": number % 5, "price": number % 97})
    write_deltalake(tmp_path / "data" / "orders", orders)
    write_deltalake(tmp_path / "data" / "parts", pa.table({"p": number, "colour": number % 7}))
    (tmp_path / "w.yaml").write_text(SHOP, encoding="utf-8")
    return tmp_path


def busy_day(advisor: Advisor, clock: Clock, updates: Mapping[str, int], reads: int = 40) -> None:
    """A day of real updates and reads, evenly spread."""
    events = [(i / n, table, i) for table, n in updates.items() for i in range(n)]
    events += [(i / reads, view, i) for view in advisor.definitions for i in range(reads)]
    before = 0.0
    for moment, what, number in sorted(events):
        clock.forward((moment - before) * DAY)
        before = moment
        if what in updates:
            columns = {"orders": ("k", "c", "price"), "parts": ("p", "colour")}[what]
            row = {columns[0]: [number], columns[1]: [number % 5 + 10]} | ({"price": [1]} if what == "orders" else {})
            advisor.update({what: (pa.table(row), pa.table({columns[0]: [number]}))})
        else:
            advisor.rows(what)
    clock.forward((1 - before) * DAY)


def assert_right(advisor: Advisor) -> None:
    """Every view answers what recomputing it gives, and every stored one is equal to that."""
    assert all(each.equal for each in advisor.verify())
    tables = {n: DeltaTable(advisor.workload.path_of(n) or "").to_pyarrow_table() for n in advisor.workload.tables}
    for view, wanted in on_duckdb(dict(advisor.workload.sql), tables).items():
        assert_same_rows(advisor.query(view).toArrow(), wanted, view)


@pytest.mark.engine("sail")
def test_what_was_observed_counts_more_than_what_was_declared(
    shop: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock.installed(monkeypatch)
    advisor = Advisor(shop / "w.yaml", spark)
    first = advisor.replan(apply=True)
    assert set(read_plan(shop).views) == {"spent", "colours"}
    assert set(first.night.applied) == changed(first)
    assert first.night.updates == {"orders": 10, "parts": 10}
    write_plan(shop, ActivePlan({**read_plan(shop).views, "spent": Keeping("immediate", "counting")}))
    busy_day(advisor, clock, {"orders": 150, "parts": 10}, reads=8)
    second = Advisor(shop / "w.yaml", spark).replan(apply=True)
    assert second.night.updates["orders"] == pytest.approx(150, rel=0.02)
    assert second.night.updates["parts"] == 10  # still within the noise of what it was
    assert second.night.queries["spent"] == pytest.approx(8, rel=0.05)
    assert "orders: 150 updates a day instead of 10 (observed)" in second.night.moved
    assert second.night.runs > 100
    assert {each.view for each in second.night.track} == {"spent", "colours"}
    for each in second.night.track:
        assert each.runs >= 8
        assert each.measured_seconds > 0
    spent = next(change for change in second.night.changes if change.view == "spent")
    assert (spent.before, spent.applied) == ("immediate/counting", True)
    assert spent.reasons[0] == "orders has 150 updates a day instead of 10 (observed)"
    assert_right(advisor)


@pytest.mark.engine("sail")
def test_only_so_many_changes_and_only_big_ones_are_applied(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "w.yaml", spark)
    advisor.apply()
    plan = ActivePlan({view: Keeping() for view in advisor.definitions})
    write_plan(shop, plan)
    advisor = Advisor(shop / "w.yaml", spark)
    none = advisor.replan(apply=True, min_saving=1e6)
    assert len(none.night.changes) == 2
    assert none.night.applied == ()
    assert all(change.left == "saves less than 11 d 13 h a day" for change in none.night.changes)
    assert read_plan(shop) == plan
    one = advisor.replan(apply=True, max_changes=1)
    assert len(one.night.applied) == 1
    assert one.night.applied[0] == one.night.changes[0].view
    assert [change.left for change in one.night.changes] == ["", "not more than 1 in a night"]
    assert earlier_plans(shop)[-1][1].views == plan.views
    rest = advisor.replan(apply=True, max_changes=1)
    assert len(rest.night.applied) == 1
    assert not advisor.replan(apply=True).changed
    assert_right(advisor)


@pytest.mark.engine("sail")
def test_an_interrupted_switch_is_gone_on_with(shop: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from executors.runner import Runner

    whole = Runner.refresh
    stopped: list[str] = []

    def stops(runner: Runner, view: str) -> Any:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(view)
        return whole(runner, view)

    monkeypatch.setattr(Runner, "refresh", stops)
    with pytest.raises(KeyboardInterrupt):
        Advisor(shop / "w.yaml", spark).replan(apply=True)
    monkeypatch.setattr(Runner, "refresh", whole)
    assert read_plan(shop).switching is not None
    assert read_nights(shop) == []
    advisor = Advisor(shop / "w.yaml", spark)
    found = advisor.replan(apply=True)
    assert read_plan(shop).switching is None
    kept = {view: keeping.candidate for view, keeping in read_plan(shop).views.items()}
    assert kept == {view: each.candidate for view, each in found.proposal.views.items()}
    assert_right(advisor)
