"""Switching views on live data: said first, refused when its grounds have moved, gone on with after a death, undone."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from advisor.api import Advisor
from advisor.saved import StaleProposalError
from executors.runner import Refresh, Runner
from executors.testing import assert_same_rows, stored_rows
from tests.executors.recomputation import on_duckdb
from views.errors import ConflictError, ExecutionError, WorkloadError

pytestmark = pytest.mark.engine("sail")

ORDERS = pa.table({"k": [1, 2, 3, 4], "c": [7, 7, 8, None], "price": [15, 25, 40, 80]})
VIEWS = {
    "spent": "SELECT c, SUM(price) AS total FROM orders GROUP BY c",
    "large": "SELECT c, total FROM spent WHERE total > 30",
    "cheap": "SELECT k, price FROM orders WHERE price < 30",
}
VIRTUAL, COUNTING, RECOMPUTE = "query_modification", "deferred/counting", "deferred/recompute"


class Shop:
    """A workload whose views are pinned as a test says."""

    def __init__(self, folder: Path, spark: Any) -> None:
        self.folder, self.spark = folder, spark
        write_deltalake(folder / "orders", ORDERS)

    def pinned(self, views: dict[str, str] = VIEWS, **candidates: str) -> Advisor:
        """The advisor of the workload with these pins; the views that are not named are virtual."""
        lines = ["tables: {orders: {path: orders, key: [k], updates: {per_day: 10, rows: 2}}}", "views:"]
        for view, sql in views.items():
            strategy, _, algorithm = candidates.get(view, VIRTUAL).partition("/")
            how = {"sql": sql, "strategy": strategy, **({"algorithm": algorithm} if algorithm else {})}
            lines.append(f"  {view}: {json.dumps(how)}")
        (self.folder / "w.yaml").write_text("\n".join(lines), encoding="utf-8")
        return Advisor(self.folder / "w.yaml", self.spark)

    def kept(self, views: dict[str, str] = VIEWS, **candidates: str) -> Advisor:
        """The same, recommended and applied."""
        advisor = self.pinned(views, **candidates)
        advisor.recommend()
        advisor.apply()
        return advisor

    def plan(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / ".advisor" / "plan.json").read_text(encoding="utf-8"))
        return found

    def strategies(self) -> dict[str, str]:
        return {view: kept["strategy"] for view, kept in self.plan()["views"].items()}

    def tables(self) -> set[str]:
        """What is stored in the warehouse."""
        return {path.parent.name for path in (self.folder / "warehouse").glob("*/_delta_log")}

    def assert_right(self, advisor: Advisor, views: dict[str, str] = VIEWS) -> None:
        """Every view answers what DuckDB makes of the base table, and so do the stored ones by themselves."""
        wanted = on_duckdb(views, {"orders": stored_rows(self.folder / "orders")})
        for view in views:
            assert_same_rows(advisor.query(view).toArrow(), wanted[view], view)
        for each in advisor.status():
            if each.strategy != VIRTUAL:
                advisor.refresh(each.view)
                assert_same_rows(stored_rows(self.folder / "warehouse" / each.view), wanted[each.view], each.view)


@pytest.fixture
def shop(tmp_path: Path, spark: Any) -> Shop:
    return Shop(tmp_path, spark)


def rows(*prices: int) -> pa.Table:
    return pa.table({"k": [100 + price for price in prices], "c": [9] * len(prices), "price": list(prices)})


@pytest.mark.parametrize("before", [VIRTUAL, COUNTING, RECOMPUTE, "immediate/counting"])
@pytest.mark.parametrize("after", [VIRTUAL, COUNTING, RECOMPUTE, "immediate/recompute"])
def test_any_way_to_keep_a_view_turns_into_any_other_while_changes_are_pending(
    shop: Shop, before: str, after: str
) -> None:
    advisor = shop.kept(spent=before, large=COUNTING)
    advisor.update({"orders": (rows(1), None)})
    advisor = shop.kept(spent=after, large=COUNTING)
    shop.assert_right(advisor)
    advisor.update({"orders": (rows(2, 33), pa.table({"k": [4]}))})
    shop.assert_right(advisor)


def test_what_no_plan_stores_any_more_is_dropped_and_nothing_else(shop: Shop) -> None:
    write_deltalake(shop.folder / "warehouse" / "somebody_else_s", ORDERS)
    shop.kept(spent=COUNTING, large=RECOMPUTE)
    assert shop.tables() == {"spent", "spent__state", "large", "somebody_else_s"}
    shop.kept(spent=RECOMPUTE, large=RECOMPUTE)
    assert shop.tables() == {"spent", "large", "somebody_else_s"}
    application = shop.pinned(large=RECOMPUTE)
    application.recommend()
    made = application.application()
    list(made.carry_out())
    assert (made.dropped, shop.tables()) == (["spent"], {"large", "somebody_else_s"})
    without = {view: sql for view, sql in VIEWS.items() if view != "large"}
    shop.assert_right(shop.kept(without), without)
    assert shop.tables() == {"somebody_else_s"}
    assert not list((shop.folder / "warehouse" / "_advisor").glob("dropped/*"))


def test_what_a_switch_costs_and_saves_is_known_before_it_is_made(shop: Shop) -> None:
    advisor = shop.pinned(spent=COUNTING)
    advisor.recommend()
    application = advisor.application()
    switches = {each.view: each for each in application.switches}
    assert shop.tables() == set()
    assert (switches["spent"].before.candidate, switches["spent"].after.candidate) == (VIRTUAL, COUNTING)
    assert switches["spent"].build_seconds > 0
    assert (switches["cheap"].changes, switches["cheap"].build_seconds) == (False, 0)
    list(application.carry_out())
    (again,) = (each for each in advisor.application().switches if each.view == "spent")
    assert (again.changes, again.build_seconds, again.saving_seconds) == (False, 0, 0)


def test_a_proposal_for_other_views_is_refused(shop: Shop) -> None:
    shop.kept(spent=COUNTING)
    advisor = shop.pinned(spent=RECOMPUTE)
    with pytest.raises(
        StaleProposalError, match=r"w\.yaml changed; run advisor recommend again, or .* --force"
    ) as raised:
        advisor.apply()
    assert raised.value.exit_code == 2
    assert shop.plan()["views"]["spent"]["algorithm"] == "counting"
    advisor.apply(force=True)
    assert shop.plan()["views"]["spent"]["algorithm"] == "counting", "the old proposal was forced"
    advisor.recommend()
    advisor.apply()
    assert shop.plan()["views"]["spent"]["algorithm"] == "recompute"


def test_a_proposal_for_other_data_is_refused_where_it_switches_something(shop: Shop) -> None:
    advisor = shop.pinned(spent=COUNTING)
    advisor.recommend()
    write_deltalake(shop.folder / "orders", rows(*range(200)), mode="append")
    later = Advisor(shop.folder / "w.yaml", shop.spark)
    with pytest.raises(StaleProposalError, match="since the proposal was made, orders has 204 rows instead of 4"):
        later.apply()
    assert not (shop.folder / ".advisor" / "plan.json").exists()
    later.recommend()
    later.apply()
    write_deltalake(shop.folder / "orders", rows(*range(300, 900)), mode="append")
    again = Advisor(shop.folder / "w.yaml", shop.spark)
    again.apply()
    shop.assert_right(again)


def test_a_view_that_the_proposal_leaves_out_is_refused_by_name(shop: Shop) -> None:
    advisor = shop.pinned(spent=COUNTING, cheap=RECOMPUTE)
    advisor.recommend(["spent"])
    with pytest.raises(StaleProposalError, match="says nothing of view 'cheap'"):
        advisor.apply(["cheap"])
    assert [each.view for each in advisor.apply()] == ["spent"]


def test_rollback_returns_to_the_plan_before_and_twice_returns(shop: Shop) -> None:
    shop.kept(spent=COUNTING, cheap=RECOMPUTE)
    first = shop.plan()
    advisor = shop.kept(spent="immediate/recompute")
    second = shop.plan()
    advisor.update({"orders": (rows(5), None)})
    done = {each.view: each for each in advisor.rollback()}
    assert shop.plan() == first
    assert done["cheap"].built is not None
    assert done["cheap"].built.ran == "recompute"
    assert shop.tables() == {"spent", "spent__state", "cheap"}
    shop.assert_right(advisor)
    advisor.rollback()
    assert shop.plan() == second
    assert shop.tables() == {"spent"}
    shop.assert_right(advisor)
    advisor.rollback(to=1)
    assert (shop.plan()["views"], shop.tables()) == (
        {view: {"strategy": VIRTUAL, "algorithm": VIRTUAL} for view in VIEWS},
        set(),
    )
    with pytest.raises(WorkloadError, match=r"there is no earlier plan 77; those of .*: 1, 2, 3, 4"):
        advisor.rollback(to=77)


def test_there_is_nothing_to_roll_back_before_the_first_apply(shop: Shop) -> None:
    with pytest.raises(ExecutionError, match="there is no plan before this one"):
        shop.pinned().rollback()


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(view: str) -> Iterator[None]:
    """The process ends when the refresh of a view begins."""
    original = Runner.refresh

    def refresh(self: Runner, name: str) -> Refresh:
        if name == view:
            raise Killed
        return original(self, name)

    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(Runner, "refresh", refresh)
        yield
        pytest.fail(f"{view} was not refreshed")


def test_an_interrupted_apply_is_gone_on_with_and_reads_are_right_meanwhile(shop: Shop) -> None:
    shop.kept(cheap=RECOMPUTE)
    before = shop.plan()
    advisor = shop.pinned(spent=COUNTING, cheap=COUNTING)
    advisor.recommend()
    with killed_at("cheap"):
        advisor.apply()
    assert shop.strategies() == {"spent": "deferred", "large": VIRTUAL, "cheap": "deferred"}
    assert shop.plan()["switching"]["views"] == {"cheap": {"strategy": "deferred", "algorithm": "counting"}}
    later = Advisor(shop.folder / "w.yaml", shop.spark)
    later.update({"orders": (rows(3), None)})
    shop.assert_right(later)
    later.apply()
    assert "switching" not in shop.plan()
    assert shop.plan()["views"]["cheap"]["algorithm"] == "counting"
    later.rollback()
    assert shop.plan()["views"] == before["views"]
    shop.assert_right(later)


def test_an_interrupted_apply_is_rolled_back_to_the_plan_before_it(shop: Shop) -> None:
    shop.kept(cheap=RECOMPUTE)
    before = shop.plan()
    advisor = shop.pinned(spent=COUNTING, cheap=COUNTING)
    advisor.recommend()
    for view in ("spent", "cheap"):
        with killed_at(view):
            advisor.apply()
        advisor.rollback()
        assert shop.plan() == before, view
        assert shop.tables() == {"cheap"}


def test_an_interrupted_rollback_is_gone_on_with(shop: Shop) -> None:
    shop.kept(spent=COUNTING, cheap=RECOMPUTE)
    first = shop.plan()
    advisor = shop.kept()
    with killed_at("cheap"):
        advisor.rollback()
    assert shop.strategies()["cheap"] == VIRTUAL
    advisor.rollback()
    assert shop.plan() == first


def test_two_do_not_put_plans_into_force_at_once(shop: Shop) -> None:
    advisor = shop.kept(spent=COUNTING)
    with (shop.folder / ".advisor" / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(ConflictError, match="another apply or rollback is at work; wait until it has ended"):
            advisor.apply()
    advisor.apply()


def test_an_advisor_that_stays_open_follows_the_plan_of_another_process(shop: Shop) -> None:
    waiting = shop.kept(spent=COUNTING)
    shop.assert_right(waiting)
    shop.kept()
    shop.assert_right(waiting)
    assert shop.tables() == set()
    shop.kept(spent=COUNTING)
    waiting.update({"orders": (rows(6), None)})
    shop.assert_right(waiting)
    assert DeltaTable(shop.folder / "warehouse" / "spent").version() == 1


def test_a_changed_definition_is_noticed_and_rebuilt_and_said(shop: Shop) -> None:
    shop.kept(spent=COUNTING)
    views = {**VIEWS, "spent": "SELECT c, SUM(price) AS total FROM orders WHERE price > 15 GROUP BY c"}
    advisor = shop.pinned(views, spent=COUNTING)
    (done,) = advisor.refresh()
    assert (done.view, done.ran, done.because) == ("spent", "recompute", "its definition changed")
    shop.assert_right(advisor, views)
