"""What `explain --costs` shows adds up to what was printed and what decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.breakdown import cost_json, cost_text
from advisor.cli import main
from advisor.proposal import Proposal
from advisor.recommend import recommend
from tests.advisor.workloads import NAMED, PER_CUSTOMER, TOTAL, URGENT, workload

VIEWS = (
    f'selection: {{sql: "{URGENT}", queries: {{per_day: 30, filter: "o_orderkey = 7"}}}}',
    f'join: {{sql: "{NAMED}", queries: {{per_day: 300, fraction: 0.2}}, max_staleness: 6h}}',
    f'total: {{sql: "{TOTAL}", queries: {{per_day: 4000}}, today: {{strategy: deferred, seconds: 99}}}}',
    f'low: {{sql: "{PER_CUSTOMER}", queries: {{per_day: 5}}}}',
    'middle: {sql: "SELECT o_custkey, n FROM low WHERE n > 3", queries: {per_day: 70}}',
    "top: {sql: SELECT MAX(n) AS most FROM middle, queries: {per_day: 900}, readers: external, max_staleness: 1h}",
    'chance: {sql: "SELECT o_orderkey, rand() AS x FROM orders", queries: {per_day: 10}}',
)
NAMES = [view.partition(":")[0] for view in VIEWS]


@pytest.fixture
def made(tmp_path: Path) -> Proposal:
    return recommend(workload(tmp_path, *VIEWS, rows=1e6))


def products(item: dict[str, Any]) -> float:
    """The seconds of one time, from amounts and coefficients alone."""
    parts = (part for step in item["steps"] for part in step["quantities"].values())
    return sum((float(part["amount"] * part["coefficient"]) for part in parts), 0.0)


@pytest.mark.parametrize("view", NAMES)
def test_amounts_times_coefficients_sum_to_the_printed_cost_of_every_candidate(made: Proposal, view: str) -> None:
    shown = cost_json(made, view)
    assert shown["chosen"] == made.views[view].candidate
    assert set(shown["candidates"]) == set(made.views[view].candidates)
    for name, candidate in shown["candidates"].items():
        offer = made.views[view].offers.offers[name]
        times = [float(item.times[0]) for item in offer.items]
        whole = sum(n * products(item) for n, item in zip(times, candidate["items"], strict=True))
        whole += candidate["in_other_views"]
        printed = made.views[view].candidates[name]
        if candidate["declared"]:
            assert printed == 99
        else:
            assert whole == pytest.approx(printed, rel=1e-9)


def test_only_what_is_declared_is_marked_so(made: Proposal) -> None:
    declared = {
        (view, name)
        for view in made.views
        for name, candidate in cost_json(made, view)["candidates"].items()
        if candidate["declared"]
    }
    assert declared == {("total", made.views["total"].today)}


def test_the_text_shows_every_step_and_the_same_sum(made: Proposal) -> None:
    text = cost_text(made, "join")
    chosen = made.views["join"]
    assert text.splitlines()[0].startswith("join: ")
    for item in chosen.offers.offers[chosen.candidate].items:
        assert f"\n{item.what}: " in text
        for what, work in item.steps:
            assert f"\n  {what}: " in text
            assert all(f"    {name} " in text for name, q in work.quantities.items() if q[0] > 0)
    sums = [line for line in text.splitlines() if line.startswith("sum of the model: ")]
    assert sums == [f"sum of the model: {text.splitlines()[0].rpartition(', ')[2]}"]


def test_another_candidate_is_shown_beside_the_chosen_one(made: Proposal) -> None:
    text = cost_text(made, "top", "immediate/recompute")
    assert text.startswith("top: full refresh with each update, ")
    assert "; chosen was " in text.splitlines()[0]
    assert "(others read it as a table)" in text


def test_the_page_model_has_no_quantities_and_still_adds_up(tmp_path: Path) -> None:
    made = recommend(workload(tmp_path, VIEWS[0]), model="hanson")
    for name, candidate in cost_json(made, "selection")["candidates"].items():
        items = made.views["selection"].offers.offers[name].items
        whole = sum(float(item.times[0] * item.seconds[0]) for item in items)
        assert whole == pytest.approx(made.views["selection"].candidates[name], rel=1e-9)
        assert all(item["steps"] == [] for item in candidate["items"])


def test_explain_costs_as_json_is_what_recommend_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = workload(tmp_path, *VIEWS)
    path = str(made.folder / "workload.yaml")
    with pytest.raises(SystemExit) as stopped:
        main(["explain", path, "middle", "--costs", "--json"])
    assert stopped.value.code == 0
    shown = json.loads(capsys.readouterr().out)
    expected = recommend(made).views["middle"]
    assert shown["chosen"] == expected.candidate
    assert {n: c["seconds_a_day"] for n, c in shown["candidates"].items()} == pytest.approx(expected.candidates)


def test_a_candidate_that_there_is_not_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(workload(tmp_path, VIEWS[0]).folder / "workload.yaml")
    with pytest.raises(SystemExit) as stopped:
        main(["explain", path, "selection", "--costs", "--candidate", "deferred/countin"])
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert "cannot be kept as 'deferred/countin'; did you mean 'deferred/counting'" in printed.err
