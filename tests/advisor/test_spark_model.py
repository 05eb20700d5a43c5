"""How a workload's tables, updates and views become what the Spark model prices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.offers import Offers
from advisor.spark_model import SparkModel, demand_of
from advisor.table_model import Stream
from advisor.view_offers import Demand
from costmodels.axis import QUERIES, UPDATES, Vector, constant, full
from profiles.coefficients import machine_profile
from profiles.definitions import definitions_of
from profiles.sources import all_statistics
from profiles.workload import Workload, load
from tests.advisor.workloads import NAMED, PER_CUSTOMER, TOTAL, URGENT, workload

SHOP = """\
tables:
  customer: {rows: 1000, row_bytes: 50, columns: {ck: bigint, nation: int}, key: [ck], updates: {per_day: 24, rows: 5}}
  orders:
    rows: 10000
    row_bytes: 50
    columns: {ok: bigint, ck: bigint, total: double}
    key: [ok]
    foreign_keys: {ck: customer.ck}
    updates: {per_day: 96, rows: 20, inserts: 1}
  lineitem:
    rows: 40000
    row_bytes: 50
    columns: {ok: bigint, line: int, price: double}
    key: [ok, line]
    foreign_keys: {ok: orders.ok}
    updates: {per_day: 96, rows: 80, modifies: 1}
  nation: {rows: 25, row_bytes: 50, columns: {nation: int}, key: [nation], updates: {per_day: 0}}
views:
  lines: {sql: "SELECT o.ok, price FROM orders o JOIN lineitem l ON o.ok = l.ok", queries: {per_day: 10}}
  per_nation:
    sql: >
      SELECT c.nation, SUM(price) AS revenue FROM customer c JOIN orders o ON o.ck = c.ck
      JOIN lineitem l ON l.ok = o.ok GROUP BY c.nation
    queries: {per_day: 10}
"""


def model_of(made: Workload) -> SparkModel:
    statistics = all_statistics(made)
    return SparkModel(made, statistics, definitions_of(made, statistics), machine_profile(made.folder, "spark"))


def shop(folder: Path, text: str = SHOP) -> SparkModel:
    (folder / "workload.yaml").write_text(text, encoding="utf-8")
    return model_of(load(folder / "workload.yaml"))


def offers(model: SparkModel, view: str = "v", stored: Sequence[str] = ()) -> Offers:
    return model.offers(view, stored, Demand(model.queries(view)))


def centre(number: Vector) -> float:
    return float(number[0])


def streams(model: SparkModel) -> dict[tuple[str, ...], Stream]:
    return {stream.tables: stream for stream in model.streams}


# Updates


def test_tables_that_refer_to_each_other_and_change_as_often_change_together(tmp_path: Path) -> None:
    found = streams(shop(tmp_path))
    assert set(found) == {("customer",), ("orders", "lineitem")}
    assert centre(found["orders", "lineitem"].transactions) == 96


def test_tables_that_change_as_often_but_have_nothing_to_do_with_each_other_do_not(tmp_path: Path) -> None:
    found = streams(shop(tmp_path, SHOP.replace("foreign_keys: {ok: orders.ok}", "foreign_keys: {}")))
    assert set(found) == {("customer",), ("orders",), ("lineitem",)}


def test_an_insertion_changes_one_tuple_and_a_modification_two(tmp_path: Path) -> None:
    tuples = streams(shop(tmp_path))["orders", "lineitem"].tuples
    assert (centre(tuples["orders"]), centre(tuples["lineitem"])) == (20, 160)


def test_updates_at_declared_times_find_something_pending_once_for_each_time(tmp_path: Path) -> None:
    text = SHOP.replace("{per_day: 24, rows: 5}", '{per_day: 24, rows: 5, at: ["02:00", "14:00"]}')
    found = streams(shop(tmp_path, text))
    assert centre(found["customer",].events) == 2
    assert centre(found["orders", "lineitem"].events) == 96


def test_tables_under_a_view_are_found_through_the_views_it_reads(tmp_path: Path) -> None:
    top = "  top: {sql: SELECT COUNT(*) AS n FROM lines}\n"
    model = shop(tmp_path, SHOP + top)
    for stored in ((), ("lines",)):
        assert model.view("top", stored).base == {"orders", "lineitem"}


# Refreshes


def test_a_slower_stream_takes_part_in_some_of_the_refreshes_and_all_tuples_are_applied(tmp_path: Path) -> None:
    found = offers(shop(tmp_path), "per_nation").offers["deferred/counting"]
    refreshes = [item for item in found.items if item.what.startswith("refresh")]
    assert sum(centre(item.times) for item in refreshes) == pytest.approx(found.refreshes)
    every = next(item for item in refreshes if "customer" in item.what)
    assert "orders" in every.what  # it comes with those that come more often


def test_immediate_follows_every_transaction(tmp_path: Path) -> None:
    found = offers(shop(tmp_path), "per_nation").offers["immediate/counting"]
    times = {item.what: centre(item.times) for item in found.items}
    assert times == {"update of customer": 24, "update of orders, lineitem": 96, "read": 10}


def test_a_clock_within_the_allowed_staleness_ticks_no_more_often_than_reads_or_updates_need(tmp_path: Path) -> None:
    text = SHOP.replace("queries: {per_day: 10}", "queries: {per_day: 100000}, max_staleness: 6h", 1)
    found = offers(shop(tmp_path, text), "lines").offers["deferred/counting"]
    assert found.every_seconds is not None
    assert found.every_seconds <= 6 * 3600
    assert (found.refreshes or 0) <= 86_400 / found.every_seconds


def test_the_start_of_an_engine_is_shared_by_the_views_of_one_clock(tmp_path: Path) -> None:
    text = SHOP.replace("queries: {per_day: 10}", "queries: {per_day: 10}, max_staleness: 6h, readers: external", 1)
    model = shop(tmp_path, text)
    demand = Demand(model.queries("lines"))

    def starts(sharers: int) -> list[float]:
        found = model.offers("lines", (), demand, sharers).offers.values()
        return [centre(i.seconds) for offer in found for i in offer.items if i.what == "start of an engine"]

    four, eight = starts(4), starts(8)
    assert len(four) == len(eight) > 0
    assert four == pytest.approx([2 * each for each in eight])


# Demand of the views above


CHAIN = (
    f'low: {{sql: "{PER_CUSTOMER}", queries: {{per_day: 5}}}}',
    "top: {sql: SELECT MAX(n) AS most FROM low, queries: {per_day: 70}}",
)


def test_reads_of_a_virtual_view_are_reads_of_what_it_reads(tmp_path: Path) -> None:
    model = model_of(workload(tmp_path, *CHAIN))
    above = {"top": offers(model, "top", ["low"]).offers["query_modification"]}
    demand = demand_of(model, "low", {"top": "query_modification"}, above, ["top"])
    assert centre(demand.reads) == 75
    assert not demand.with_updates


def test_an_immediate_view_above_wants_each_update(tmp_path: Path) -> None:
    model = model_of(workload(tmp_path, *CHAIN))
    above = {"top": offers(model, "top", ["low"]).offers["immediate/counting"]}
    demand = demand_of(model, "low", {"top": "immediate/counting"}, above, ["top"])
    assert demand.with_updates
    assert model.offers("low", (), demand).offers["deferred/counting"].refreshes == 100


def test_a_deferred_view_above_wants_fresh_rows_when_it_is_refreshed(tmp_path: Path) -> None:
    model = model_of(workload(tmp_path, *CHAIN))
    above = {"top": offers(model, "top", ["low"]).offers["deferred/recompute"]}
    demand = demand_of(model, "low", {"top": "deferred/recompute"}, above, ["top"])
    assert centre(demand.reads) == pytest.approx(5 + 100 * 70 / 170)


def test_a_stored_view_below_makes_a_virtual_view_cheaper_to_read(tmp_path: Path) -> None:
    model = model_of(workload(tmp_path, *CHAIN, rows=1e7))
    virtual, stored = (offers(model, "top", below).offers["query_modification"].a_day for below in ([], ["low"]))
    assert stored < virtual / 5


# Along the axis


@pytest.mark.parametrize("sql", [URGENT, NAMED, TOTAL, PER_CUSTOMER])
def test_costs_grow_with_the_rates_that_they_depend_on(tmp_path: Path, sql: str) -> None:
    found = offers(model_of(workload(tmp_path, f'v: {{sql: "{sql}", queries: {{per_day: 100}}}}', rows=1e6))).offers
    for part, dearer in ((UPDATES, "immediate/counting"), (QUERIES, "query_modification")):
        costs = full(found[dearer].seconds)[part]
        assert list(costs) == sorted(costs)
        assert costs[-1] > 100 * costs[0]
    assert set(full(found["query_modification"].seconds)[UPDATES]) == {found["query_modification"].a_day}


def test_the_same_view_has_the_same_offers_however_often_it_is_asked(tmp_path: Path) -> None:
    model = model_of(workload(tmp_path, f'v: {{sql: "{NAMED}"}}'))
    assert offers(model) is offers(model)
    other = model.offers("v", (), Demand(constant(1e6)))
    assert other.offers["deferred/counting"].refreshes != offers(model).offers["deferred/counting"].refreshes
    assert other.offers["immediate/counting"].a_day == offers(model).offers["immediate/counting"].a_day


# What could not be known


def test_a_view_without_rules_is_recomputed_from_all_its_tables(tmp_path: Path) -> None:
    model = model_of(workload(tmp_path, 'v: {sql: "SELECT o_orderkey, rand() AS x FROM orders"}'))
    found = offers(model).offers
    assert "immediate/recompute" in found
    assert "differential" not in "".join(found)


def test_what_is_guessed_is_said(tmp_path: Path) -> None:
    sql = URGENT.replace("o_priority = 5", "o_price * 2 > o_custkey")
    model = model_of(workload(tmp_path, f'v: {{sql: "{sql}"}}'))
    offers(model)
    assert model.defaults["v"] == {"queries of v (100 a day)", "part of v a query reads (all)"}
    (guess,) = model.defaults["orders"]
    assert guess.startswith("part of orders with o_price * 2 > o_custkey (")
