"""Prices with other numbers: they agree with the proposal where nothing is varied, and with a workload that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor.api import Advisor
from advisor.offers import cheapest, strategy_of
from advisor.variation import SHARES, Variation
from advisor.wording import spoken
from tests.advisor.workloads import NAMED, PER_CUSTOMER, TOTAL, UPDATES, URGENT, workload
from tests.reports.samples import VIEWS

ABOVE = "SELECT o_custkey, n FROM counts WHERE n > 5"


def variation(folder: Path, *views: str, updates: str = UPDATES) -> Variation:
    advisor = Advisor(workload(folder, *views, updates=updates))
    return Variation(advisor.workload, advisor.statistics, advisor.definitions, advisor.proposal(sample_rows=0))


def test_the_end_of_a_range_costs_what_a_workload_costs_that_declares_it(tmp_path: Path) -> None:
    view = f"v: {{sql: '{PER_CUSTOMER}', queries: {{per_day: 40}}}}"
    found = variation(tmp_path, view)
    (ends,) = (each for each in found.ends("v") if each.name == "orders.updates")
    assert (ends.estimate.lower, ends.estimate.value, ends.estimate.upper) == (80, 100, 125)
    for end, rate in enumerate((80, 125)):
        declared = variation(tmp_path, view, updates=UPDATES.replace("100", str(rate)))
        costs = declared.proposal.views["v"].candidates
        assert {name: ends.costs[name][end] for name in costs} == pytest.approx(costs)


def test_every_number_is_varied_by_itself_also_when_there_are_too_many_for_one_pricing(tmp_path: Path) -> None:
    found = variation(tmp_path, *VIEWS)
    ends = found.ends("named")
    names = [each.name for each in ends]
    assert len(set(names)) == len(names)
    chosen = found.proposal.views["named"]
    for each in ends:
        low, high = each.costs[chosen.candidate]
        if each.estimate.lower == each.estimate.upper:
            assert low == high == pytest.approx(chosen.seconds)
    assert {"orders.rows", "customer.rows", "orders.updates", "named.queries", "coefficient jobs"} <= set(names)
    assert not any(name.startswith(("total.", "urgent.")) for name in names)
    assert all(spoken(name) for name in names)


@pytest.mark.parametrize("sql", [URGENT, NAMED, TOTAL, PER_CUSTOMER])
def test_the_map_agrees_with_the_proposal_where_the_view_is_today(tmp_path: Path, sql: str) -> None:
    found = variation(tmp_path, f"v: {{sql: '{sql}', queries: {{per_day: 40}}}}")
    chosen = found.proposal.views["v"]
    surface = found.surface("v")
    assert surface is not None
    assert surface.table == "orders"
    assert surface.part == pytest.approx(0.1 if sql == URGENT else 1.0)
    row = len(surface.parts) - 1 if surface.part == 1 else 6
    assert surface.parts[row] == pytest.approx(surface.part, rel=0.01)
    share = 100 / 140
    before = max(i for i, each in enumerate(SHARES) if each < share)
    for name, costs in surface.costs.items():
        assert costs[row][before] <= chosen.candidates[name] * 1.02
        assert chosen.candidates[name] <= costs[row][before + 1] * 1.02


def test_a_smaller_part_of_the_table_in_the_view_never_costs_more_to_rebuild(tmp_path: Path) -> None:
    surface = variation(tmp_path, f"v: {{sql: '{NAMED}', queries: {{per_day: 40}}}}").surface("v")
    assert surface is not None
    for at in range(len(SHARES)):
        costs = [row[at] for row in surface.costs["deferred/recompute"]]
        assert costs == sorted(costs)
        assert costs[0] < costs[-1]


def test_with_hardly_any_updates_a_stored_view_wins_and_with_hardly_any_reads_a_virtual_one(tmp_path: Path) -> None:
    surface = variation(tmp_path, f"v: {{sql: '{NAMED}', queries: {{per_day: 40, fraction: 0.01}}}}").surface("v")
    assert surface is not None
    first, last = ({name: costs[-1][at] for name, costs in surface.costs.items()} for at in (0, -1))
    assert strategy_of(cheapest(first)) != "query_modification"
    assert strategy_of(cheapest(last)) == "query_modification"


def test_there_is_no_map_without_updates_or_reads_or_a_table(tmp_path: Path) -> None:
    assert variation(tmp_path, f"v: {{sql: '{TOTAL}', queries: {{per_day: 0}}}}").surface("v") is None
    still = variation(tmp_path, f"v: {{sql: '{TOTAL}', queries: {{per_day: 9}}}}", updates="{per_day: 0}")
    assert still.surface("v") is None
    views = (
        f"counts: {{sql: '{PER_CUSTOMER}', queries: {{per_day: 900}}, strategy: deferred}}",
        f"above: {{sql: '{ABOVE}', queries: {{per_day: 9}}}}",
    )
    assert variation(tmp_path, *views).surface("above") is None


def test_a_virtual_view_below_is_looked_through(tmp_path: Path) -> None:
    views = (
        f"counts: {{sql: '{PER_CUSTOMER}', queries: {{per_day: 1}}, strategy: query_modification}}",
        f"above: {{sql: '{ABOVE}', queries: {{per_day: 9}}}}",
    )
    found = variation(tmp_path, *views)
    assert found.table_of("above") == "orders"
    assert found.surface("above") is not None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("orders.rows", "rows of orders"),
        ("v.queries", "reads of v a day"),
        ("orders.o_custkey values", "distinct values of orders.o_custkey"),
        ("orders: o_custkey=customer.c_custkey", "pairs of orders.o_custkey and customer.c_custkey"),
        ("orders: `o_state`, `o_date`", "combinations of o_state, o_date in orders"),
        ("orders: `a` = 5", "part of orders with a = 5"),
    ],
)
def test_numbers_have_names_that_people_read(name: str, words: str) -> None:
    assert spoken(name) == words
