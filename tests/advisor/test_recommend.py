"""What is recommended on declared statistics: the plan that a person would expect, its reason and its numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from advisor.offers import strategy_of
from advisor.recommend import recommend
from profiles.queries import QueryHistory
from profiles.sources import all_statistics
from profiles.statistics import Estimate
from profiles.workload import load
from tests.advisor.workloads import NAMED, PER_CUSTOMER, TOTAL, URGENT, proposal, workload
from views.errors import ViewError, WorkloadError

LOOKUP = f'{{sql: "{NAMED}", queries: {{per_day: 1000, filter: "o_orderkey = 7"}}'


# What a person would expect


def test_key_lookups_in_a_huge_table_leave_the_view_virtual(tmp_path: Path) -> None:
    found = proposal(tmp_path, LOOKUP + "}", rows=1e9)
    assert (found.strategy, found.algorithm) == ("query_modification", None)
    assert found.costs["query_modification"] < found.costs["deferred"] / 10
    assert "a read takes" in found.reason
    assert "100 updates a day" in found.reason


def test_lookups_by_a_column_that_leaves_out_no_file_are_far_dearer(tmp_path: Path) -> None:
    by_key = proposal(tmp_path, LOOKUP + "}", rows=1e9)
    by_name = proposal(tmp_path, LOOKUP.replace("o_orderkey = 7", "c_name = 'x'") + "}", rows=1e9)
    assert by_name.costs["query_modification"] > 20 * by_key.costs["query_modification"]


def test_an_aggregate_that_is_read_often_is_stored_and_applies_changes(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 4000}}}}', rows=1e8)
    assert found.strategy in ("immediate", "deferred")
    assert found.algorithm == "counting"
    assert found.costs["query_modification"] > 20 * found.seconds
    assert found.confidence == 1.0
    assert "orders" in found.reason


def test_many_updates_between_few_reads_are_not_applied_one_by_one(tmp_path: Path) -> None:
    updates = "{per_day: 3000, rows: 25, modifies: 1}"
    found = proposal(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 3}}}}', updates)
    assert found.strategy in ("deferred", "query_modification")
    assert found.costs["immediate"] > 100 * found.costs["deferred"]


def test_updates_of_most_of_a_table_are_followed_by_rebuilding(tmp_path: Path) -> None:
    updates = "{per_day: 10, rows: 9000000, modifies: 1}"
    found = proposal(tmp_path, f'{{sql: "{PER_CUSTOMER}", queries: {{per_day: 4000}}}}', updates, rows=1e7)
    assert found.algorithm == "recompute"
    assert found.reason.startswith("rebuilding takes ")


def test_a_view_nobody_queries_is_left_virtual(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 0}}}}')
    assert (found.strategy, found.seconds) == ("query_modification", 0)
    assert found.reason == "nobody reads it"
    assert found.costs["immediate"] > 0


def test_a_table_nobody_updates_is_built_once_where_that_reads_faster(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 10}}}}', updates="{per_day: 0}")
    assert found.strategy == "immediate"
    assert found.costs["immediate"] == pytest.approx(found.costs["deferred"])
    assert found.reason.startswith("no updates of orders: built once, then a read takes")


def test_neither_reads_nor_updates_cost_nothing(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 0}}}}', updates="{per_day: 0}")
    assert (found.strategy, found.reason) == ("query_modification", "nobody reads it")
    assert set(found.candidates.values()) == {0.0}


@pytest.mark.parametrize("sql", [URGENT, NAMED, TOTAL, PER_CUSTOMER])
def test_an_empty_table_gets_a_plan(tmp_path: Path, sql: str) -> None:
    found = proposal(tmp_path, f'{{sql: "{sql}"}}', rows=0)
    assert found.strategy in found.costs
    assert all(0 <= cost < math.inf for cost in found.candidates.values())
    assert found.seconds == min(found.candidates[c] for c in found.permitted)


def test_an_empty_delta_table_gets_a_plan(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", pa.table({"k": pa.array([], pa.int64())}))
    path = tmp_path / "workload.yaml"
    path.write_text("tables: {t: {path: data}}\nviews: {v: {sql: SELECT k FROM t}}\n", encoding="utf-8")
    found = recommend(load(path)).views["v"]
    assert found.strategy in found.costs


@pytest.mark.parametrize("condition", ["o_priority = 5 AND o_priority = 6", "o_priority > 9", "o_priority >= 0"])
def test_a_view_of_none_or_all_of_the_rows_gets_a_plan(tmp_path: Path, condition: str) -> None:
    sql = URGENT.replace("o_priority = 5", condition)
    found = proposal(tmp_path, f'{{sql: "{sql}", queries: {{per_day: 100}}}}')
    assert all(0 <= cost < math.inf for cost in found.candidates.values())
    assert found.seconds == min(found.candidates.values())


def test_a_larger_part_selected_is_never_cheaper_to_store(tmp_path: Path) -> None:
    narrow, wide = (
        proposal(tmp_path, f'{{sql: "{URGENT.replace("= 5", which)}", queries: {{per_day: 100}}}}', rows=1e7)
        for which in ("= 5", ">= 0")
    )
    assert all(wide.candidates[c] >= narrow.candidates[c] for c in narrow.candidates)


@pytest.mark.parametrize("fraction", [0, 1])
def test_reads_of_nothing_or_all_of_a_view_get_a_plan(tmp_path: Path, fraction: int) -> None:
    found = proposal(tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 100, fraction: {fraction}}}}}')
    assert all(0 <= cost < math.inf for cost in found.candidates.values())


def test_without_statistics_there_is_a_plan_and_what_was_assumed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(
        "tables: {t: {table: db.t, columns: {k: bigint, s: string}}}\n"
        "views: {v: {sql: SELECT k FROM t WHERE s = 'a'}}\n",
        encoding="utf-8",
    )
    found = recommend(load(path)).views["v"]
    assert found.strategy in found.costs
    named = "; ".join(found.defaults)
    for words in ("rows of t (100,000)", "updates of t (none)", "queries of v (100 a day)", "part of v a query reads"):
        assert words in named


def test_a_table_of_unknown_columns_gets_a_plan_without_rules(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text("tables: {t: {table: db.t}}\nviews: {v: {sql: SELECT k FROM t WHERE s = 'a'}}\n", encoding="utf-8")
    found = recommend(load(path)).views["v"]
    assert {c.partition("/")[2] for c in found.candidates} == {"", "recompute"}
    assert found.seconds == min(found.candidates.values())


# How often a deferred view is refreshed


def test_96_updates_and_400_queries_in_random_order_make_77_refreshes(tmp_path: Path) -> None:
    view = f'{{sql: "{PER_CUSTOMER}", queries: {{per_day: 400}}}}'
    found = proposal(tmp_path, view, "{per_day: 96, rows: 20}", rows=1e7)
    assert round(found.offers.offers["deferred/counting"].refreshes or 0) == 77
    assert found.strategy == "deferred"
    assert "by 77 refreshes" in found.reason


def test_the_same_updates_in_one_batch_at_night_make_1_refresh(tmp_path: Path) -> None:
    view = f'{{sql: "{PER_CUSTOMER}", queries: {{per_day: 400}}}}'
    spread = proposal(tmp_path, view, "{per_day: 96, rows: 20}", rows=1e7)
    batch = proposal(tmp_path, view, '{per_day: 96, rows: 20, at: "02:00"}', rows=1e7)
    assert batch.offers.offers["deferred/counting"].refreshes == pytest.approx(1.0, abs=1e-6)
    assert batch.candidates["deferred/counting"] < spread.candidates["deferred/counting"]
    assert "by 1 refresh of" in batch.reason


def test_reads_seen_in_event_logs_stand_in_for_a_rate_that_is_not_declared(tmp_path: Path) -> None:
    seen = {"v": QueryHistory(Estimate(900.0, 840.0, 960.0, "measured"), (1.0, 2.0))}
    silent = workload(tmp_path, f'v: {{sql: "{PER_CUSTOMER}"}}')
    assumed, observed = recommend(silent).views["v"], recommend(silent, reads=seen).views["v"]
    assert assumed.estimates["queries_per_day"] == {"value": 100.0, "lower": 10.0, "upper": 1000.0, "source": "default"}
    assert any("queries of v" in text for text in assumed.defaults)
    assert observed.estimates["queries_per_day"]["value"] == 900.0
    assert not any("queries of v" in text for text in observed.defaults)
    virtual = "query_modification"
    assert observed.candidates[virtual] == pytest.approx(9 * assumed.candidates[virtual], rel=0.01)


def test_a_declared_rate_counts_more_than_reads_that_were_seen(tmp_path: Path) -> None:
    said = workload(tmp_path, f'v: {{sql: "{PER_CUSTOMER}", queries: {{per_day: 7}}}}')
    seen = {"v": QueryHistory(Estimate(900.0, 840.0, 960.0, "measured"), (1.0, 2.0))}
    assert recommend(said, reads=seen).views["v"].as_json() == recommend(said).views["v"].as_json()


@pytest.mark.parametrize(("minutes_after", "refreshes"), [(1, 24), (-1, 24), (None, 12)])
def test_refreshes_are_counted_from_the_times_of_updates_and_reads_where_both_were_seen(
    tmp_path: Path, minutes_after: int | None, refreshes: float
) -> None:
    """24 updates and 24 reads a day in random order make 12 refreshes; when each update is met at once, 24."""
    made = workload(tmp_path, f'v: {{sql: "{PER_CUSTOMER}"}}', updates="{per_day: 24, rows: 20}", rows=1e7)
    hours = [3600.0 * hour for hour in range(24 * 7)]
    times = () if minutes_after is None else tuple(hour + 60 * minutes_after for hour in hours)
    statistics = all_statistics(made)
    statistics["orders"] = replace(statistics["orders"], update_times=tuple(hours))
    reads = {"v": QueryHistory(Estimate.of(24.0, "measured"), times)}
    found = recommend(made, statistics=statistics, reads=reads).views["v"].offers.offers["deferred/counting"]
    assert found.refreshes == pytest.approx(refreshes, rel=0.02)


def test_reads_in_bulk_after_each_night_meet_one_update(tmp_path: Path) -> None:
    made = workload(tmp_path, f'v: {{sql: "{PER_CUSTOMER}"}}', updates="{per_day: 1, rows: 20}", rows=1e7)
    nights = [86_400.0 * day for day in range(30)]
    statistics = all_statistics(made)
    statistics["orders"] = replace(statistics["orders"], update_times=tuple(nights))
    times = tuple(night + 60 * minute for night in nights for minute in range(100))
    reads = {"v": QueryHistory(Estimate.of(100.0, "measured"), times)}
    found = recommend(made, statistics=statistics, reads=reads).views["v"].offers.offers["deferred/counting"]
    assert found.refreshes == pytest.approx(1.0, rel=0.05)


# What the workload demands


def test_external_readers_leave_nothing_to_query_time(tmp_path: Path) -> None:
    strict = proposal(tmp_path, LOOKUP + ", readers: external}")
    assert {strategy_of(c) for c in strict.permitted} == {"immediate"}
    assert strict.reason.startswith("others read it as a table, ")
    stale = proposal(tmp_path, LOOKUP + ", readers: external, max_staleness: 1h}")
    assert {strategy_of(c) for c in stale.permitted} == {"immediate", "deferred"}
    assert all(stale.offers.offers[c].every_seconds for c in stale.permitted if strategy_of(c) == "deferred")


def test_a_bound_on_latency_excludes_what_is_too_slow_and_says_so(tmp_path: Path) -> None:
    view = f'{{sql: "{TOTAL}", queries: {{per_day: 1}}'
    free = proposal(tmp_path, view + "}", rows=1e9)
    bound = proposal(tmp_path, view + ", max_query_latency: 1s}", rows=1e9)
    assert free.latency_seconds > 1
    assert bound.latency_seconds <= 1
    assert bound.excluded == {
        c: "a read would take too long" for c, o in bound.offers.offers.items() if o.latency_seconds > 1
    }
    assert bound.reason.startswith("a read would take too long, which rules out ")


def test_a_bound_that_nothing_meets_leaves_the_fastest_and_says_so(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 1}}, max_query_latency: 1ms}}', rows=1e9)
    assert found.latency_seconds == min(offer.latency_seconds for offer in found.offers.offers.values())
    assert "nothing answers within 1 ms, this comes nearest" in found.reason


@pytest.mark.parametrize("staleness", ["30s", "15m", "1h", "6h", "24h", "7d"])
@pytest.mark.parametrize("queries", [0.5, 30, 5000])
def test_allowed_staleness_never_makes_the_chosen_plan_dearer(tmp_path: Path, staleness: str, queries: float) -> None:
    view = f'{{sql: "{PER_CUSTOMER}", queries: {{per_day: {queries}}}'
    fresh = proposal(tmp_path, view + "}", rows=1e6)
    stale = proposal(tmp_path, view + f", max_staleness: {staleness}}}", rows=1e6)
    assert stale.seconds <= fresh.seconds * (1 + 1e-9)


def test_allowed_staleness_opens_a_clock_where_reads_are_many(tmp_path: Path) -> None:
    view = f'{{sql: "{PER_CUSTOMER}", queries: {{per_day: 5000}}, max_staleness: 6h}}'
    found = proposal(tmp_path, view, "{per_day: 500, rows: 20}", rows=1e7)
    assert found.candidate.startswith("deferred/")
    assert found.every_seconds is not None
    assert found.every_seconds <= 6 * 3600
    assert ", every " in found.reason


def test_a_pinned_strategy_is_respected_and_its_price_said(tmp_path: Path) -> None:
    found = proposal(
        tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 4000}}, strategy: query_modification}}', rows=1e8
    )
    assert (found.candidate, found.pinned) == ("query_modification", True)
    assert found.reason.startswith("pinned; deferred, incremental would be cheapest (query modification: ×")
    assert found.next_best is None
    assert found.confidence == 1.0


def test_a_pinned_algorithm_is_respected(tmp_path: Path) -> None:
    found = proposal(tmp_path, f'{{sql: "{TOTAL}", algorithm: recompute}}')
    assert found.algorithm == "recompute"
    found = proposal(tmp_path, f'{{sql: "{NAMED}", strategy: immediate, algorithm: differential}}')
    assert found.candidate == "immediate/differential"


def test_a_pin_that_no_algorithm_can_meet_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="view 'v': no installed algorithm does what its pins ask for") as raised:
        proposal(tmp_path, f'{{sql: "{TOTAL}", algorithm: dred}}')
    assert raised.value.hint


def test_what_is_done_today_stays_in_a_close_call(tmp_path: Path) -> None:
    view = f'{{sql: "{TOTAL}", queries: {{per_day: 4000}}'
    free = proposal(tmp_path, view + "}", rows=1e8)
    found = proposal(tmp_path, view + ", today: {strategy: immediate, algorithm: counting}}", rows=1e8)
    assert (free.candidate, found.candidate) == ("deferred/counting", "immediate/counting")
    assert (found.held, found.changed) == ("dead zone", False)
    assert found.reason == "deferred, incremental would save only 2 %, so what is done today stays"


def test_what_is_done_today_goes_when_the_saving_is_large(tmp_path: Path) -> None:
    view = f'{{sql: "{TOTAL}", queries: {{per_day: 4000}}, today: {{strategy: query_modification}}}}'
    found = proposal(tmp_path, view, rows=1e8)
    assert (found.held, found.changed) == (None, True)
    assert found.payback_days is not None
    assert found.payback_days < 1


def test_a_building_that_does_not_pay_back_is_not_begun(tmp_path: Path) -> None:
    # Storing would save a tenth of a second a day and take a minute.
    view = f'{{sql: "{PER_CUSTOMER}", queries: {{per_day: 0.01}}, today: {{strategy: query_modification}}}}'
    found = proposal(tmp_path, view, updates="{per_day: 0}", rows=1e8)
    assert (found.candidate, found.held) == ("query_modification", "payback")
    assert "what is done today stays" in found.reason
    assert "building it takes" in found.reason


# What is printed


@pytest.mark.parametrize("sql", [URGENT, NAMED, TOTAL, PER_CUSTOMER])
@pytest.mark.parametrize(
    "more",
    [
        "",
        ", strategy: deferred",
        ", readers: external",
        ", max_query_latency: 100ms",
        ", max_staleness: 2h",
        ", today: {strategy: immediate, seconds: 30}",
        ", today: {strategy: deferred, algorithm: recompute}",
    ],
)
def test_the_choice_is_the_cheapest_of_those_permitted_or_says_why_not(tmp_path: Path, sql: str, more: str) -> None:
    found = proposal(tmp_path, f'{{sql: "{sql}", queries: {{per_day: 50}}{more}}}', rows=1e6)
    least = min(found.candidates[c] for c in found.permitted)
    assert found.seconds == pytest.approx(least) or found.held is not None
    assert min(found.candidates.values()) == pytest.approx(found.seconds) or found.excluded or found.held
    ruled_out = set(found.candidates) - set(found.permitted)
    assert set(found.excluded) == ruled_out
    assert found.reason


@pytest.mark.parametrize("rows", [0, 1, 1e15])
@pytest.mark.parametrize("updates", [0, 1e-6, 1e9])
@pytest.mark.parametrize("changed", [0, 1e9])
@pytest.mark.parametrize("queries", [0, 1e9])
def test_every_cost_is_finite_under_extreme_numbers(
    tmp_path: Path, rows: float, updates: float, changed: float, queries: float
) -> None:
    views = [
        f'{name}: {{sql: "{sql}", queries: {{per_day: {queries:.0f}}}}}'
        for name, sql in {"v": URGENT, "w": NAMED, "x": PER_CUSTOMER, "y": "SELECT MAX(n) AS m FROM x"}.items()
    ]
    made = workload(tmp_path, *views, rows=rows, updates=f"{{per_day: {updates:.6f}, rows: {changed:.0f}}}")
    for found in recommend(made).views.values():
        for offer in found.offers.offers.values():
            assert all(map(math.isfinite, offer.seconds)), offer.candidate
            assert all(bool((item.times >= 0).all() and (item.seconds >= 0).all()) for item in offer.items)
            assert 0 <= offer.latency_seconds < math.inf
            assert 0 <= offer.build_seconds < math.inf
            assert 0 <= offer.storage_bytes < math.inf
        assert 0 <= found.seconds < math.inf
        assert 0 <= found.confidence <= 1
        assert 0 <= found.expected_regret < math.inf


def test_confidence_falls_when_the_estimates_are_vague(tmp_path: Path) -> None:
    sure = proposal(tmp_path, f'{{sql: "{TOTAL}", queries: {{per_day: 4000}}}}', rows=1e8)
    vague = proposal(
        tmp_path, f'{{sql: "{URGENT}", queries: {{per_day: 40}}}}', "{per_day: 10, rows: 90000, modifies: 1}"
    )
    assert (sure.confidence, sure.expected_regret) == (1.0, 0.0)
    assert 0 < vague.confidence < 1
    assert vague.expected_regret > 0


def test_price_puts_money_beside_seconds(tmp_path: Path) -> None:
    from rich.console import Console

    from advisor.output import show

    def printed(more: str) -> str:
        made = recommend(workload(tmp_path, f'v: {{sql: "{TOTAL}", queries: {{per_day: 4000}}}}', rows=1e8, more=more))
        assert made.machine is not None
        console = Console(width=200, record=True, quiet=False, file=(tmp_path / "out").open("w"))
        show(made, console, everything=False)
        cost = sum(view.saving for view in made.views.values()) / 3600 * made.machine.cores
        return f"{cost * 0.31:,.2f}\n" + (tmp_path / "out").read_text(encoding="utf-8")

    amount, _, text = printed("price: {core_hour: 0.31, currency: CHF}\n").partition("\n")
    assert f"({amount} CHF)" in text
    assert "CHF" not in printed("")


def test_the_same_inputs_give_the_same_bytes_in_whatever_order_views_come(tmp_path: Path) -> None:
    views = (f'b: {{sql: "{URGENT}"}}', f'a: {{sql: "{PER_CUSTOMER}"}}', "c: {sql: SELECT MAX(n) AS m FROM a}")
    first, second = recommend(workload(tmp_path, *views)), recommend(workload(tmp_path, *views))
    assert first.text() == second.text()
    swapped = recommend(workload(tmp_path, *views[::-1]))
    assert swapped.as_json()["views"] == first.as_json()["views"]


def test_the_coefficients_and_statistics_are_part_of_the_proposal(tmp_path: Path) -> None:
    saved = recommend(workload(tmp_path, f'v: {{sql: "{NAMED}"}}')).as_json()
    assert saved["schema_version"] == 2
    assert saved["coefficients"]["measured"] is False
    assert all(value > 0 for value in saved["coefficients"]["seconds"].values())
    assert set(saved["tables"]) == {"orders", "customer"}
    assert saved["tables"]["orders"]["rows"] == {"value": 1e5, "lower": 8e4, "upper": 125000.0, "source": "declared"}


def test_inputs_are_fingerprinted(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", pa.table({"k": [1]}))
    path = tmp_path / "workload.yaml"
    path.write_text("tables: {t: {path: data}}\nviews: {v: {sql: SELECT k FROM t}}\n", encoding="utf-8")
    before = recommend(load(path)).inputs
    write_deltalake(tmp_path / "data", pa.table({"k": [2]}), mode="append")
    after = recommend(load(path)).inputs
    assert before["file workload.yaml"] == after["file workload.yaml"]
    assert before["table t"] != after["table t"]


# Which views


def test_views_are_selected_by_name_wildcard_and_dependency(tmp_path: Path) -> None:
    read = workload(
        tmp_path, f'a1: {{sql: "{URGENT}"}}', f'a2: {{sql: "{TOTAL}"}}', "top: {sql: SELECT o_price FROM a1}"
    )
    assert list(recommend(read, ["a*"]).views) == ["a1", "a2"]
    assert list(recommend(read, ["+top"]).views) == ["a1", "top"]
    assert list(recommend(read, exclude=["a*"]).views) == ["top"]
    with pytest.raises(WorkloadError, match="no view matches 'tp'; did you mean 'top'"):
        recommend(read, ["tp"])


def test_a_selected_view_is_decided_as_if_all_were(tmp_path: Path) -> None:
    read = workload(
        tmp_path,
        f'a: {{sql: "{PER_CUSTOMER}", queries: {{per_day: 1}}}}',
        "b: {sql: SELECT MAX(n) AS m FROM a, queries: {per_day: 900}}",
        f'other: {{sql: "{TOTAL}"}}',
    )
    assert recommend(read, ["a"]).as_json()["views"]["a"] == recommend(read).as_json()["views"]["a"]


def test_datalog_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ViewError, match=r"workload.yaml:\d+: view 'v' is Datalog"):
        recommend(workload(tmp_path, "v: {datalog: 'a(x) :- b(x).'}"))


def test_a_wrong_view_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(
        ViewError, match=r"workload.yaml:17: view 'v': line 1, column 15: reads the unknown table 'ordrs'"
    ):
        recommend(workload(tmp_path, "v: {sql: SELECT 1 FROM ordrs}"))
    with pytest.raises(ViewError, match=r"workload.yaml:17: view 'v'.*'x'"):
        recommend(workload(tmp_path, f'v: {{sql: "{URGENT}", queries: {{filter: x = 1}}}}'))
