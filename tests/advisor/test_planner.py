"""The planner: views that read each other decided together, budgets, and what keeps today's plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from advisor.offers import QUERY_MODIFICATION, Offer, Offers, Rates, strategy_of
from advisor.planner import DEAD_ZONE, PAYBACK_DAYS, Decision, decide, permitted_candidates
from advisor.recommend import readers_of, recommend
from advisor.spark_model import SparkModel, demand_of
from costmodels.axis import constant
from profiles import specification as spec
from profiles.coefficients import machine_profile
from profiles.definitions import definitions_of
from profiles.sources import all_statistics
from profiles.workload import Workload
from tests.advisor.workloads import NAMED, PER_CUSTOMER, TOTAL, UPDATES, URGENT, workload
from views.errors import WorkloadError


def offered(view: str = "v", build: float = 0.0, size: float = 0.0, **costs: float) -> Offers:
    """Offers whose costs are given by the first letters of a strategy, each with one algorithm."""
    names = {"virtual": QUERY_MODIFICATION, "immediate": "immediate/counting", "deferred": "deferred/counting"}
    offers = {
        names[key]: Offer(
            names[key],
            constant(cost),
            latency_seconds=cost,
            build_seconds=build if key != "virtual" else 0.0,
            storage_bytes=size if key != "virtual" else 0.0,
        )
        for key, cost in costs.items()
    }
    return Offers(view, Rates(constant(10.0), constant(10.0)), offers)


def decided(given: Mapping[str, object], offers: Offers) -> Decision:
    view = spec.View.model_validate({"sql": "SELECT 1", **given})
    return decide({"v": view}, {"v": []}, lambda *_: offers)["v"]


def test_the_cheapest_is_chosen() -> None:
    found = decided({}, offered(virtual=3.0, immediate=2.0, deferred=1.0))
    assert (found.choice, found.held, found.excluded) == ("deferred/counting", None, {})


def test_of_equals_the_simplest_is_chosen() -> None:
    assert decided({}, offered(virtual=1.0, immediate=1.0, deferred=1.0)).choice == QUERY_MODIFICATION


def test_a_close_call_keeps_today() -> None:
    given = {"today": {"strategy": "immediate"}}
    near = decided(given, offered(virtual=9.0, immediate=1.0 * DEAD_ZONE - 0.001, deferred=1.0))
    assert (near.choice, near.held, near.best) == ("immediate/counting", "dead zone", "deferred/counting")
    far = decided(given, offered(virtual=9.0, immediate=1.0 * DEAD_ZONE + 0.001, deferred=1.0))
    assert (far.choice, far.held) == ("deferred/counting", None)


def test_a_building_that_does_not_pay_back_keeps_today() -> None:
    given = {"today": {"strategy": "query_modification"}}
    long = decided(given, offered(virtual=2.0, deferred=1.0, build=PAYBACK_DAYS + 0.1))
    assert (long.choice, long.held) == (QUERY_MODIFICATION, "payback")
    short = decided(given, offered(virtual=2.0, deferred=1.0, build=PAYBACK_DAYS - 0.1))
    assert (short.choice, short.held) == ("deferred/counting", None)


def test_what_today_takes_is_believed_where_it_is_declared() -> None:
    given = {"today": {"strategy": "query_modification", "seconds": 100}}
    found = decided(given, offered(virtual=1.0, deferred=2.0))
    assert found.choice == "deferred/counting"
    assert found.offers.offers[QUERY_MODIFICATION].declared
    assert found.offers.offers[QUERY_MODIFICATION].a_day == 100


def test_today_of_a_view_that_says_nothing_is_virtual_or_a_table_rebuilt_for_others() -> None:
    assert decided({}, offered(virtual=1.0, deferred=2.0)).today == QUERY_MODIFICATION
    external = spec.View.model_validate({"sql": "SELECT 1", "readers": "external", "max_staleness": "1m"})
    costs = {c: Offer(c, constant(1.0)) for c in (QUERY_MODIFICATION, "deferred/counting", "deferred/recompute")}
    offers = Offers("v", Rates(constant(1.0), constant(1.0)), costs)
    assert decide({"v": external}, {"v": []}, lambda *_: offers)["v"].today == "deferred/recompute"


def test_every_candidate_that_is_ruled_out_says_why() -> None:
    view = spec.View.model_validate({"sql": "SELECT 1", "readers": "external", "max_query_latency": "5s"})
    permitted, excluded = permitted_candidates(view, offered(virtual=1.0, immediate=6.0, deferred=2.0))
    assert permitted == ("immediate/counting",)  # too slow, but nothing else is left
    assert set(excluded) == {QUERY_MODIFICATION, "deferred/counting"}


# Budgets


def within(budget: str, folder: Path, *views: str) -> dict[str, tuple[str, str | None]]:
    made = recommend(workload(folder, *views, rows=1e8, more=f"budget: {{storage: {budget}}}\n"))
    return {name: (view.strategy, view.held) for name, view in made.views.items()}


PER_PAIR = "SELECT o_custkey, o_priority, COUNT(*) AS n FROM orders GROUP BY o_custkey, o_priority"
READ_OFTEN = (
    f'small: {{sql: "{TOTAL}", queries: {{per_day: 4000}}}}',
    f'large: {{sql: "{PER_PAIR}", queries: {{per_day: 1000}}}}',
)


def test_a_budget_gives_up_what_costs_least_per_byte(tmp_path: Path) -> None:
    free = within("1TiB", tmp_path, *READ_OFTEN)
    assert {strategy for strategy, _ in free.values()} <= {"immediate", "deferred"}
    tight = within("1MiB", tmp_path, *READ_OFTEN)
    assert tight["small"] == free["small"]
    assert tight["large"] == ("query_modification", "budget")


def test_a_budget_that_what_must_be_stored_exceeds_is_one_line(tmp_path: Path) -> None:
    must = f'large: {{sql: "{NAMED}", readers: external, max_staleness: 1h}}'
    with pytest.raises(WorkloadError, match=r"the views that must be stored take .* more than the budget") as raised:
        within("1MiB", tmp_path, must)
    assert "\n" not in str(raised.value)
    assert "budget.storage" in (raised.value.hint or "")


# Neighbours of a view that may not take what is cheapest


def two(build: float = 0.0, budget: float | None = None, **low: object) -> dict[str, tuple[str, str | None]]:
    """`top` reads `low`: it is cheap to evaluate while `low` is stored, and better stored itself while it is not."""

    def price(view: str, choice: Mapping[str, str], found: Mapping[str, Offer]) -> Offers:
        if view == "low":
            costs, size = {QUERY_MODIFICATION: 3.0, "deferred/counting": 1.0}, 100.0
        else:
            stored = choice["low"] != QUERY_MODIFICATION
            costs, size = {QUERY_MODIFICATION: 1.0 if stored else 5.0, "deferred/counting": 2.0}, 10.0
        offers = {
            name: Offer(
                name,
                constant(cost),
                build_seconds=build if name != QUERY_MODIFICATION and view == "low" else 0.0,
                storage_bytes=0.0 if name == QUERY_MODIFICATION else size,
            )
            for name, cost in costs.items()
        }
        return Offers(view, Rates(constant(1.0), constant(1.0)), offers)

    views = {"low": spec.View.model_validate({"sql": "SELECT 1", **low}), "top": spec.View(sql="SELECT 1")}
    found = decide(views, {"low": ["top"], "top": []}, price, budget)
    return {name: (each.choice, each.held) for name, each in found.items()}


def test_beside_a_view_that_is_free_its_reader_stays_virtual() -> None:
    assert two() == {"low": ("deferred/counting", None), "top": (QUERY_MODIFICATION, None)}


def test_the_reader_of_a_view_that_stays_as_it_is_today_is_decided_again() -> None:
    found = two(build=1000.0, today={"strategy": "query_modification"})
    assert found == {"low": (QUERY_MODIFICATION, "payback"), "top": ("deferred/counting", None)}


def test_the_reader_of_a_view_for_which_the_budget_has_no_room_is_decided_again() -> None:
    assert two(budget=50.0) == {"low": (QUERY_MODIFICATION, "budget"), "top": ("deferred/counting", None)}
    assert two(budget=5.0) == {"low": (QUERY_MODIFICATION, "budget"), "top": (QUERY_MODIFICATION, "budget")}


# Views on views


class Pricing:
    """The Spark model as the planner asks it, and the cost of whole plans."""

    def __init__(self, made: Workload) -> None:
        statistics = all_statistics(made)
        self.definitions = definitions_of(made, statistics)
        self.views = {name: made.views[name] for name in self.definitions}
        self.readers = readers_of(self.definitions)
        self.model = SparkModel(made, statistics, self.definitions, machine_profile(made.folder, "spark"))

    def price(self, view: str, choice: Mapping[str, str], found: Mapping[str, Offer]) -> Offers:
        stored = [name for name, candidate in choice.items() if strategy_of(candidate) != QUERY_MODIFICATION]
        return self.model.offers(view, stored, demand_of(self.model, view, choice, found, self.readers[view]))

    def total(self, choice: Mapping[str, str]) -> float:
        """What a plan costs a day: every view's own work, given how the others are kept."""
        found: dict[str, Offer] = {}
        for view in reversed(self.views):
            found[view] = self.price(view, choice, found).offers[choice[view]]
        return sum(offer.a_day for offer in found.values())

    def plans(self) -> Iterator[dict[str, str]]:
        """Every combination of candidates; some algorithms apply only where the views below are stored."""
        plans: list[dict[str, str]] = [{}]
        for view in self.views:
            plans = [
                {**plan, view: candidate}
                for plan in plans
                for candidate in self.price(view, plan | dict.fromkeys(self.readers[view], NOBODY), NONE).offers
            ]
        yield from plans


NOBODY = "deferred/recompute"
NONE: dict[str, Offer] = defaultdict(lambda: Offer(NOBODY, constant(0.0), refreshes=0.0))


CHAIN = (
    f'low: {{sql: "{PER_CUSTOMER}", queries: {{per_day: LOW}}}}',
    'middle: {sql: "SELECT o_custkey, n FROM low WHERE n > 3", queries: {per_day: MIDDLE}}',
    'top: {sql: "SELECT COUNT(*) AS customers, MAX(n) AS most FROM middle", queries: {per_day: TOP}}',
)
FORK = (
    f'low: {{sql: "{PER_CUSTOMER}", queries: {{per_day: LOW}}}}',
    'middle: {sql: "SELECT n, COUNT(*) AS customers FROM low GROUP BY n", queries: {per_day: MIDDLE}}',
    'top: {sql: "SELECT c_name, n FROM low JOIN customer ON c_custkey = o_custkey", queries: {per_day: TOP}}',
)


@pytest.mark.parametrize("shape", [CHAIN, FORK], ids=["chain", "fork"])
@pytest.mark.parametrize("reads", [(0, 0, 2000), (2000, 0, 0), (1, 300, 30), (0, 20, 20), (50, 50, 5000), (0, 0, 1)])
@pytest.mark.parametrize("updates", ["{per_day: 4, rows: 25}", UPDATES, "{per_day: 2000, rows: 1000}"])
def test_views_on_views_are_within_1_percent_of_the_best_of_all_combinations(
    tmp_path: Path, shape: tuple[str, ...], reads: tuple[float, ...], updates: str
) -> None:
    views = [view.replace(name, f"{n}") for view, name, n in zip(shape, ("LOW", "MIDDLE", "TOP"), reads, strict=True)]
    pricing = Pricing(workload(tmp_path, *views, rows=3e6, updates=updates))
    found = {view: each.choice for view, each in decide(pricing.views, pricing.readers, pricing.price).items()}
    best = min(pricing.plans(), key=pricing.total)
    assert pricing.total(found) <= 1.01 * pricing.total(best), (found, best)


def test_a_view_below_is_stored_for_the_reads_of_virtual_ones_above(tmp_path: Path) -> None:
    views = [
        view.replace(name, n) for view, name, n in zip(CHAIN, ("LOW", "MIDDLE", "TOP"), ("0", "0", "5000"), strict=True)
    ]
    made = recommend(workload(tmp_path, *views, rows=3e7)).views
    assert any(made[name].strategy != QUERY_MODIFICATION for name in ("low", "middle", "top"))
    assert any(made[name].strategy == QUERY_MODIFICATION for name in ("low", "middle", "top"))


def test_views_without_connection_do_not_change_each_other(tmp_path: Path) -> None:
    alone = f'v: {{sql: "{URGENT}", queries: {{per_day: 77}}}}'
    beside = [f'w{i}: {{sql: "{sql}", queries: {{per_day: 3000}}}}' for i, sql in enumerate((TOTAL, NAMED))]
    found = [recommend(workload(tmp_path, alone, *more)).as_json()["views"]["v"] for more in ((), beside)]
    assert found[0] == found[1]
