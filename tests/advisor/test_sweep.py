"""Varying one number of a view: the crossings found are where the recommendation changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.cli import main
from advisor.recommend import recommend
from advisor.sweep import Sweep, parse_range, sweep
from profiles.definitions import definitions_of
from profiles.sources import all_statistics
from profiles.statistics import Estimate
from profiles.workload import Workload
from tests.advisor.workloads import NAMED, PER_CUSTOMER, TOTAL, UPDATES, workload
from views.errors import WorkloadError

VIEW = f'v: {{sql: "{PER_CUSTOMER}", queries: {{per_day: 100}}}}'

BUSY = "{per_day: 500, rows: 2000, modifies: 1}"


def swept(made: Workload, said: str, view: str = "v") -> Sweep:
    statistics = all_statistics(made)
    return sweep(made, statistics, view, parse_range(said, made), "spark", definitions_of(made, statistics))


def chosen_at_queries(folder: Path, queries: float) -> str:
    view = VIEW.replace("per_day: 100", f"per_day: {queries:.9f}")
    return recommend(workload(folder, view, updates=BUSY)).views["v"].candidate


def chosen_at_rows(folder: Path, rows: float) -> str:
    made = workload(folder, VIEW, rows=1e7)
    statistics = all_statistics(made)
    statistics["orders"] = replace(statistics["orders"], rows=Estimate(rows, rows, rows, "declared"))
    return recommend(made, statistics=statistics).views["v"].candidate


def test_where_reads_turn_the_choice_recommend_turns_too(tmp_path: Path) -> None:
    found = swept(workload(tmp_path, VIEW, updates=BUSY), "queries.per_day=1..10000")
    assert found.turns
    for at, below, above in found.turns:
        assert chosen_at_queries(tmp_path, at * 0.98) == below
        assert chosen_at_queries(tmp_path, at * 1.001) == above


def test_where_rows_turn_the_choice_recommend_turns_too(tmp_path: Path) -> None:
    found = swept(workload(tmp_path, VIEW, rows=1e7), "orders.rows=1000..1000000000")
    assert found.turns
    for at, below, above in found.turns:
        assert chosen_at_rows(tmp_path, at * 0.98) == below
        assert chosen_at_rows(tmp_path, at * 1.001) == above


def test_few_reads_leave_a_view_virtual_and_many_store_it(tmp_path: Path) -> None:
    found = swept(workload(tmp_path, VIEW, updates=BUSY), "queries.per_day=1..10000")
    assert found.points[0].proposal.strategy == "query_modification"
    assert found.points[-1].proposal.strategy in ("immediate", "deferred")


def test_more_updates_never_make_immediate_cheaper(tmp_path: Path) -> None:
    found = swept(workload(tmp_path, VIEW, rows=1e7), "updates.per_day=1..10000")
    costs = [point.proposal.costs["immediate"] for point in found.points]
    assert costs == sorted(costs)
    assert costs[-1] > 100 * costs[0]


def test_one_table_is_varied_by_its_name(tmp_path: Path) -> None:
    made = workload(tmp_path, f'v: {{sql: "{NAMED}", queries: {{per_day: 100}}}}')
    assert parse_range("customer.updates.per_day=0..5", made).table == "customer"
    point = swept(made, "customer.updates.per_day=0..500").points[-1].proposal
    assert float(point.offers.rates.updates[0]) == pytest.approx(600)


def test_zero_is_a_value(tmp_path: Path) -> None:
    found = swept(workload(tmp_path, VIEW), "queries.per_day=0..100")
    assert found.points[0].value == 0
    assert found.points[0].proposal.reason == "nobody reads it"


def test_a_choice_that_never_turns_says_so(tmp_path: Path) -> None:
    found = swept(workload(tmp_path, VIEW.replace("}}", "}, strategy: immediate, algorithm: counting}")), "rows=10..20")
    assert found.turns == ()
    assert found.text().startswith("v: immediate, incremental for every rows from 10 to 20")


def test_the_command_prints_the_crossings_and_json_of_all_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(workload(tmp_path, VIEW, updates=BUSY).folder / "workload.yaml")
    command = ["whatif", path, "v", "--vary", "queries.per_day=1..10000"]
    for more in ([], ["--json"]):
        with pytest.raises(SystemExit) as stopped:
            main([*command, *more])
        assert stopped.value.code == 0
    text, _, rest = capsys.readouterr().out.partition("{")
    shown = json.loads("{" + rest)
    assert "query modification turns to" in text
    assert shown["parameter"] == "queries.per_day"
    assert [point["value"] for point in shown["points"]] == sorted(point["value"] for point in shown["points"])
    assert len(shown["turns"]) == text.count(" turns to ")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("queries.per_day", "is not PARAMETER=LOW..HIGH"),
        ("queries.per_day=1", "is not PARAMETER=LOW..HIGH"),
        ("queries.per_day=a..b", "is not PARAMETER=LOW..HIGH"),
        ("queries.per_day=9..1", "the values must rise from 0 or more"),
        ("queries.per_day=5..5", "the values must rise from 0 or more"),
        ("queries.per_day=-1..5", "the values must rise from 0 or more"),
        ("queries.per_day=1..inf", "the values must rise from 0 or more"),
        ("queries.per_day=nan..5", "the values must rise from 0 or more"),
        ("queries.fraction=0.1..1.5", "a fraction is at most 1"),
        ("querys.per_day=1..5", "'querys.per_day' cannot be varied"),
        ("orders.queries.per_day=1..5", "'queries.per_day' cannot be varied"),
        ("=1..5", "'' cannot be varied"),
    ],
)
def test_what_cannot_be_varied_is_one_line(
    tmp_path: Path, said: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = workload(tmp_path, VIEW)
    with pytest.raises(WorkloadError) as raised:
        parse_range(said, made)
    assert message in str(raised.value)
    with pytest.raises(SystemExit) as stopped:
        main(["whatif", str(made.folder / "workload.yaml"), "v", "--vary", said])
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)


def test_a_table_that_the_view_does_not_read_cannot_be_varied(tmp_path: Path) -> None:
    made = workload(tmp_path, f'v: {{sql: "{TOTAL}"}}', updates=UPDATES)
    with pytest.raises(WorkloadError, match="view 'v' does not read customer"):
        swept(made, "customer.rows=1..100")
