"""Which way to keep a view is chosen, from what, and why."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from advisor.gathering import all_statistics, catalog_of, gather, shapes_of
from advisor.pricing import (
    Quantities,
    ViewModel,
    cheapest,
    modified_query,
    parameters,
    price,
    strategy_of,
    turning_point,
)
from advisor.proposal import Proposal, ViewProposal
from advisor.recommend import recommend
from costmodels import hanson
from profiles.workload import Workload, load
from views.errors import ViewError, WorkloadError

TABLES = """\
tables:
  orders:
    rows: 100000
    row_bytes: 100
    columns: {o_orderkey: bigint, o_custkey: bigint, o_price: double, o_priority: int}
    key: [o_orderkey]
    domains: {o_priority: [0, 9]}
    updates: UPDATES
  customer:
    rows: 10000
    row_bytes: 100
    columns: {c_custkey: bigint, c_name: string}
    key: [c_custkey]
    updates: {per_day: 0}
views:
"""
UPDATES = "{per_day: 100, rows: 25, modifies: 1}"
URGENT = "SELECT o_orderkey, o_price FROM orders WHERE o_priority = 5"
NAMED = "SELECT o_orderkey, c_name FROM orders JOIN customer ON o_custkey = c_custkey"
TOTAL = "SELECT SUM(o_price) AS total FROM orders"


def workload(folder: Path, *views: str, updates: str = UPDATES, more: str = "") -> Workload:
    path = folder / "workload.yaml"
    text = more + TABLES.replace("UPDATES", updates) + "".join(f"  {view}\n" for view in views)
    path.write_text(text, encoding="utf-8")
    return load(path)


def proposal(folder: Path, view: str, updates: str = UPDATES) -> ViewProposal:
    return recommend(workload(folder, "v: " + view, updates=updates)).views["v"]


def test_the_paper_s_default_selection_is_priced_as_the_paper_does(tmp_path: Path) -> None:
    read = workload(tmp_path, f'v: {{sql: "{URGENT}", queries: {{per_day: 100, fraction: 0.1}}}}')
    found = recommend(read).views["v"]
    paper = hanson.costs(1, hanson.Parameters())
    assert found.candidates["immediate/differential"] == pytest.approx(paper["immediate"] / 10)
    assert found.candidates["deferred/differential"] == pytest.approx(paper["deferred"] / 10)
    assert found.candidates["query_modification"] == pytest.approx(paper["sequential"] / 10)


def test_query_modification_is_clustered_where_the_layout_follows_the_conditions() -> None:
    p = hanson.Parameters()
    follows = ViewModel(1, "differential", selected_by_layout=True, queried_by_layout=True)
    assert modified_query(follows, p) == pytest.approx(hanson.TOTAL_clustered(p))
    join = ViewModel(2, "differential", selected_by_layout=True, queried_by_layout=True)
    assert modified_query(join, p) == pytest.approx(hanson.TOTAL_loopjoin(p))
    aggregate = ViewModel(3, "counting", selected_by_layout=True, queried_by_layout=True)
    assert modified_query(aggregate, p) == pytest.approx(hanson.costs(3, p)["clustered"])


def test_a_point_read_of_a_large_join_is_left_virtual(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{NAMED}", queries: {{per_day: 100, filter: "o_orderkey = 7"}}}}')
    assert found.strategy == "query_modification"
    assert found.algorithm is None
    assert "a read needs 1 of 2,500 pages of orders" in found.reason


def test_a_condition_on_one_side_of_a_join_lets_the_other_side_skip_pages(tmp_path: Path) -> None:
    sql = "SELECT c_custkey, o_orderkey FROM orders JOIN customer ON o_orderkey = c_custkey"
    reads = "queries: {per_day: 100, filter: c_custkey = 7}"
    elsewhere = sql.replace("ON o_orderkey", "ON o_custkey")
    read = workload(tmp_path, f'v: {{sql: "{sql}", {reads}}}', f'w: {{sql: "{elsewhere}", {reads}}}')
    found = recommend(read).views
    assert "a read needs 1 of 2,500 pages" in found["v"].reason
    assert found["v"].costs["query_modification"] < found["w"].costs["query_modification"] / 100


def test_an_aggregate_that_is_read_often_is_kept_immediately(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 400}}}}')
    assert (found.strategy, found.algorithm, found.model) == ("immediate", "counting", 3)
    assert found.costs["immediate"] < found.costs["deferred"] < found.costs["query_modification"]
    assert "400 reads a day" in found.reason
    assert "orders" in found.reason


def test_many_updates_between_few_reads_are_deferred(tmp_path: Path) -> None:
    updates = "{per_day: 3000, rows: 25, modifies: 1}"
    found = proposal(
        tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 3}}, readers: external, max_staleness: 12h}}', updates
    )
    assert found.strategy == "deferred"
    assert "query_modification" not in found.permitted


def test_a_pin_is_respected_and_said(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 400}}, strategy: deferred}}')
    assert (found.strategy, found.pinned) == ("deferred", True)
    assert found.reason.startswith("pinned; immediate, incremental would be cheapest")
    assert found.next_best is None
    assert found.confidence == 1.0


def test_a_pinned_algorithm_is_respected(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", algorithm: recompute}}')
    assert found.algorithm == "recompute"
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", strategy: immediate, algorithm: dred}}')
    assert found.candidate == "immediate/dred"


def test_external_readers_rule_out_what_happens_at_query_time(tmp_path: Path) -> None:
    fields = f'sql: "{NAMED}", queries: {{per_day: 100, filter: "o_orderkey = 7"}}, readers: external'
    strict = proposal(tmp_path, f"{{{fields}}}")
    assert {strategy_of(c) for c in strict.permitted} == {"immediate"}
    assert "others read it as a table" in strict.reason
    stale = proposal(tmp_path, f"{{{fields}, max_staleness: 1h}}")
    assert {strategy_of(c) for c in stale.permitted} == {"immediate", "deferred"}


def test_a_view_nobody_reads_is_left_virtual(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 0}}}}')
    assert (found.strategy, found.seconds) == ("query_modification", 0)
    assert found.reason.startswith("nobody reads it; keeping it would cost ")


def test_tables_nobody_updates_need_no_maintenance(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 10}}}}', updates="{per_day: 0}")
    assert found.strategy == "immediate"
    assert found.costs["immediate"] == pytest.approx(found.costs["deferred"])
    assert found.reason.startswith("no updates of orders: built once")


def test_neither_reads_nor_updates_cost_nothing(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 0}}}}', updates="{per_day: 0}")
    assert (found.strategy, found.reason) == ("query_modification", "nobody reads it")


def test_what_is_done_today_stays_in_a_close_call(tmp_path: Path) -> None:
    fields = f'sql: "{URGENT}", queries: {{per_day: 100, fraction: 0.1}}'
    assert proposal(tmp_path, f"{{{fields}}}").strategy == "immediate"
    found = proposal(tmp_path, f"{{{fields}, today: {{strategy: deferred}}}}")
    assert found.strategy == "deferred"
    assert not found.changed
    assert found.reason == "immediate, incremental would save only 3 %, so what is done today stays"


def test_an_empty_table_gets_a_plan(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", pa.table({"k": pa.array([], pa.int64())}))
    path = tmp_path / "workload.yaml"
    path.write_text("tables: {t: {path: data}}\nviews: {v: {sql: SELECT k FROM t}}\n", encoding="utf-8")
    found = recommend(load(path)).views["v"]
    assert found.strategy in found.costs
    assert "t is empty and priced as one row" in found.approximations


def test_updates_that_come_together_are_applied_once(tmp_path: Path) -> None:
    view = f'{{sql: "{URGENT}", queries: {{per_day: 100}}}}'
    spread = proposal(tmp_path, view)
    batch = proposal(tmp_path, view, UPDATES.replace("}", ', at: "02:00"}'))
    read = hanson.C_query1(hanson.Parameters(f_v=1)) / 1000 * 100
    assert spread.candidates["deferred/recompute"] - read == pytest.approx(
        50 * (batch.candidates["deferred/recompute"] - read)
    )
    assert batch.candidates["immediate/differential"] == pytest.approx(spread.candidates["immediate/differential"])


def test_allowed_staleness_makes_deferred_cheaper(tmp_path: Path) -> None:
    fresh = proposal(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 100}}}}')
    stale = proposal(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 100}}, max_staleness: 12h}}')
    assert stale.candidates["deferred/recompute"] < fresh.candidates["deferred/recompute"]
    assert stale.costs["deferred"] <= fresh.costs["deferred"]


def test_the_break_even_is_where_the_costs_cross() -> None:
    view = ViewModel(1, "differential", selected_by_layout=True, queried_by_layout=True)

    def costs_at(updates: float) -> dict[str, float]:
        candidates = price(view, Quantities(100_000, 100, updates, 25, 100, 0.1, 0.1, 0.1))
        return {name: cost for name, cost in candidates.items() if not name.endswith("recompute")}

    turn = turning_point(costs_at, 10, "immediate")
    assert turn is not None
    assert (turn.above, turn.strategy) == (True, "query_modification")
    # H87 Figure 2 as recomputed: immediate crosses clustered at P ≈ .297.
    assert turn.rate / (turn.rate + 100) == pytest.approx(0.297, abs=0.001)
    at = costs_at(turn.rate)
    assert at["immediate/differential"] == pytest.approx(at["query_modification"], rel=1e-3)


def test_a_choice_that_never_turns_has_no_break_even() -> None:
    assert turning_point(lambda rate: {"immediate/a": 1.0, "deferred/a": 2.0}, 10, "immediate") is None


def test_confidence_falls_when_the_estimates_are_vague(tmp_path: Path) -> None:
    sure = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 400}}}}')
    vague = proposal(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 0.7}}}}')
    assert sure.confidence == 1.0
    assert sure.expected_regret == 0.0
    assert 0 < vague.confidence < 1
    assert vague.expected_regret > 0


def test_defaults_are_named(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text("tables: {t: {table: db.t}}\nviews: {v: {sql: SELECT k FROM t WHERE s = 'a'}}\n", encoding="utf-8")
    found = recommend(load(path)).views["v"]
    named = " ".join(found.defaults)
    for words in ("rows of t", "row size of t", "updates of t", "queries of v", "part of v", "part of its tables v"):
        assert words in named


def test_a_join_of_many_tables_says_what_was_approximated(tmp_path: Path) -> None:
    named = NAMED.replace("SELECT o_orderkey", "SELECT orders.o_orderkey").replace("ON o_cust", "ON orders.o_cust")
    sql = f"{named} JOIN orders b ON orders.o_orderkey = b.o_custkey"
    found = proposal(tmp_path, f'{{sql: "{sql}"}}')
    assert "a join of 3 tables is priced as Model 2 with the largest, orders, as R1" in found.approximations


def test_more_rows_cost_more_in_every_candidate(tmp_path: Path) -> None:
    view = ViewModel(2, "differential", selected_by_layout=False, queried_by_layout=False)
    small = price(view, Quantities(1e5, 100, 50, 25, 50, 0.1, 0.5, 0.1))
    large = price(view, Quantities(1e7, 100, 50, 25, 50, 0.1, 0.5, 0.1))
    assert all(large[name] > small[name] for name in small)


@pytest.mark.parametrize("model", [1, 2, 3])
@pytest.mark.parametrize("extreme", [0.0, 1e-9, 1e9])
def test_extreme_quantities_have_finite_prices(model: int, extreme: float) -> None:
    view = ViewModel(model, "differential", selected_by_layout=True, queried_by_layout=False)
    fraction = min(extreme, 1.0)
    quantities = Quantities(extreme, extreme, extreme, extreme, extreme, fraction, fraction, extreme)
    costs = price(view, quantities)
    assert all(0 <= cost < float("inf") for cost in costs.values())
    assert cheapest(costs) in costs
    assert parameters(quantities).f > 0


def test_datalog_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ViewError, match=r"workload.yaml:\d+: view 'v' is Datalog"):
        recommend(workload(tmp_path, "v: {datalog: 'a(x) :- b(x).'}"))


def test_a_wrong_view_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(
        ViewError, match=r"workload.yaml:16: view 'v': line 1, column 15: reads the unknown table 'ordrs'"
    ):
        recommend(workload(tmp_path, "v: {sql: SELECT 1 FROM ordrs}"))
    with pytest.raises(ViewError, match=r"workload.yaml:16: view 'v': queries.filter names no column"):
        recommend(workload(tmp_path, f'v: {{sql: "{URGENT}", queries: {{filter: x = 1}}}}'))


def test_views_are_selected_by_name_wildcard_and_dependency(tmp_path: Path) -> None:
    read = workload(
        tmp_path, f'a1: {{sql: "{URGENT}"}}', f'a2: {{sql: "{TOTAL}"}}', "top: {sql: SELECT o_price FROM a1}"
    )
    assert list(recommend(read, ["a*"]).views) == ["a1", "a2"]
    assert list(recommend(read, ["+top"]).views) == ["a1", "top"]
    assert list(recommend(read, exclude=["a*"]).views) == ["top"]
    with pytest.raises(WorkloadError, match="no view matches 'tp'; did you mean 'top'"):
        recommend(read, ["tp"])


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    views = (f'b: {{sql: "{URGENT}"}}', f'a: {{sql: "{TOTAL}"}}')
    first, second = recommend(workload(tmp_path, *views)), recommend(workload(tmp_path, *views))
    assert first.text() == second.text()
    swapped = recommend(workload(tmp_path, *views[::-1]))
    assert _views(swapped) == _views(first)


def _views(found: Proposal) -> object:
    return found.as_json()["views"]


def test_inputs_are_fingerprinted(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", pa.table({"k": [1]}))
    path = tmp_path / "workload.yaml"
    path.write_text("tables: {t: {path: data}}\nviews: {v: {sql: SELECT k FROM t}}\n", encoding="utf-8")
    before = recommend(load(path)).inputs
    write_deltalake(tmp_path / "data", pa.table({"k": [2]}), mode="append")
    after = recommend(load(path)).inputs
    assert before["file workload.yaml"] == after["file workload.yaml"]
    assert before["table t"] != after["table t"]


def test_nothing_is_priced_twice_for_two_names_of_one_table(tmp_path: Path) -> None:
    read = workload(
        tmp_path, 'v: {sql: "SELECT a.o_orderkey FROM orders a JOIN orders b ON a.o_custkey = b.o_orderkey"}'
    )
    statistics = all_statistics(read)
    found = gather(read, "v", shapes_of(read, catalog_of(read, statistics))["v"], statistics)
    assert found.estimates["updates"].value == 100
    assert found.estimates["others"].value == 1
