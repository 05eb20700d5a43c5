"""H87's page model, as `--model hanson` uses it: each view as the one of the paper's three models that it resembles."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor.offers import cheapest, turning_point
from advisor.page_estimates import catalog_of, gather, shapes_of
from advisor.page_model import Quantities, ViewModel, modified_query, offers, parameters, price
from advisor.proposal import ViewProposal
from advisor.recommend import recommend
from costmodels import hanson
from profiles.sources import all_statistics
from profiles.statistics import Estimate
from profiles.workload import load
from tests.advisor.workloads import NAMED, TOTAL, UPDATES, URGENT, proposal, workload
from views.errors import ViewError

FIGURE_1 = Quantities(
    rows=100_000, row_bytes=100, updates=10, rows_per_update=25, queries=100, selected=0.1, queried=0.1, others=0.1
)


def proposed(folder: Path, view: str, updates: str = UPDATES) -> ViewProposal:
    return proposal(folder, view, updates, model="hanson")


def exactly(quantities: Quantities) -> dict[str, Estimate]:
    return {name: Estimate(value, value, value, "declared") for name, value in vars(quantities).items()}


def test_the_paper_s_default_selection_is_priced_as_the_paper_does(tmp_path: Path) -> None:
    found = proposed(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 100, fraction: 0.1}}}}')
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
    found = proposed(tmp_path, f'{{sql: "{NAMED}", queries: {{per_day: 100, filter: "o_orderkey = 7"}}}}')
    assert (found.strategy, found.algorithm) == ("query_modification", None)


def test_a_condition_on_one_side_of_a_join_lets_the_other_side_skip_pages(tmp_path: Path) -> None:
    sql = "SELECT c_custkey, o_orderkey FROM orders JOIN customer ON o_orderkey = c_custkey"
    reads = "queries: {per_day: 100, filter: c_custkey = 7}"
    elsewhere = sql.replace("ON o_orderkey", "ON o_custkey")
    read = workload(tmp_path, f'v: {{sql: "{sql}", {reads}}}', f'w: {{sql: "{elsewhere}", {reads}}}')
    found = recommend(read, model="hanson").views
    assert found["v"].costs["query_modification"] < found["w"].costs["query_modification"] / 100


def test_an_aggregate_that_is_read_often_is_kept_immediately(tmp_path: Path) -> None:
    found = proposed(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 400}}}}')
    assert (found.candidate, found.model) == ("immediate/counting", "hanson-1987/3")
    assert found.costs["immediate"] < found.costs["deferred"] < found.costs["query_modification"]
    assert "400 reads a day" in found.reason


def test_updates_that_come_together_are_applied_once(tmp_path: Path) -> None:
    view = f'{{sql: "{URGENT}", queries: {{per_day: 100}}}}'
    spread = proposed(tmp_path, view)
    batch = proposed(tmp_path, view, UPDATES.replace("}", ', at: "02:00"}'))
    read = hanson.C_query1(hanson.Parameters(f_v=1)) / 1000 * 100
    assert spread.candidates["deferred/recompute"] - read == pytest.approx(
        50 * (batch.candidates["deferred/recompute"] - read)
    )
    assert batch.candidates["immediate/differential"] == pytest.approx(spread.candidates["immediate/differential"])


def test_allowed_staleness_makes_deferred_cheaper(tmp_path: Path) -> None:
    fresh = proposed(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 100}}}}')
    stale = proposed(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 100}}, max_staleness: 12h}}')
    assert stale.candidates["deferred/recompute"] < fresh.candidates["deferred/recompute"]
    assert stale.costs["deferred"] <= fresh.costs["deferred"]


def test_figure_2_immediate_turns_to_clustered_at_p_of_297(tmp_path: Path) -> None:
    view = ViewModel(1, "differential", selected_by_layout=True, queried_by_layout=True)
    permitted = ["query_modification", "immediate/differential", "deferred/differential"]
    turn = turning_point(offers("v", view, exactly(FIGURE_1), 0.0), permitted, "updates", "immediate")
    assert turn is not None
    assert (turn.above, turn.strategy) == (True, "query_modification")
    # As recomputed; the sweep's points are a factor of 4/3 apart, and a straight line is drawn between them.
    assert turn.rate / (turn.rate + FIGURE_1.queries) == pytest.approx(0.297, abs=0.002)
    at = price(view, Quantities(**{**vars(FIGURE_1), "updates": turn.rate}))
    assert at["immediate/differential"] == pytest.approx(at["query_modification"], rel=0.01)


def test_a_join_of_many_tables_says_what_was_approximated(tmp_path: Path) -> None:
    named = NAMED.replace("SELECT o_orderkey", "SELECT orders.o_orderkey").replace("ON o_cust", "ON orders.o_cust")
    sql = f"{named} JOIN orders b ON orders.o_orderkey = b.o_custkey"
    found = proposed(tmp_path, f'{{sql: "{sql}"}}')
    assert "a join of 3 tables is priced as Model 2 with the largest, orders, as R1" in found.approximations


def test_an_empty_table_is_priced_as_one_row_and_said(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{URGENT}"}}', rows=0, model="hanson")
    assert found.strategy in found.costs
    assert "orders is empty and priced as one row" in found.approximations


def test_defaults_are_named(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text("tables: {t: {table: db.t}}\nviews: {v: {sql: SELECT k FROM t WHERE s = 'a'}}\n", encoding="utf-8")
    named = " ".join(recommend(load(path), model="hanson").views["v"].defaults)
    for words in ("rows of t", "row size of t", "updates of t", "queries of v", "part of v", "part of its tables v"):
        assert words in named


def test_keys_of_the_workload_that_the_model_does_not_use_are_said(tmp_path: Path) -> None:
    read = workload(tmp_path, f'v: {{sql: "{TOTAL}", max_query_latency: 2s}}')
    assert recommend(read, model="hanson").ignored == ("max_query_latency of 1 view",)
    assert recommend(read).ignored == ()


def test_more_rows_cost_more_in_every_candidate() -> None:
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


def test_a_filter_that_names_no_column_is_told_with_its_place(tmp_path: Path) -> None:
    read = workload(tmp_path, f'v: {{sql: "{URGENT}", queries: {{filter: x = 1}}}}')
    with pytest.raises(ViewError, match=r"workload.yaml:17: view 'v': queries.filter names no column"):
        recommend(read, model="hanson")


def test_nothing_is_counted_twice_for_two_names_of_one_table(tmp_path: Path) -> None:
    sql = "SELECT a.o_orderkey FROM orders a JOIN orders b ON a.o_custkey = b.o_orderkey"
    read = workload(tmp_path, f'v: {{sql: "{sql}"}}')
    statistics = all_statistics(read)
    found = gather(read, "v", shapes_of(read, catalog_of(read, statistics))["v"], statistics)
    assert found.estimates["updates"].value == 100
    assert found.estimates["others"].value == 1
