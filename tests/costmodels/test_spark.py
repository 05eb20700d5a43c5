"""What plans cost on Spark: the quantities of the steps that executors plan, against counts and simulations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sqlglot import exp, parse_one

from costmodels import spark
from costmodels.axis import CENTRE, SIZE, Vector, constant, vector
from costmodels.cardinality import Cardinality, Relation
from costmodels.spark import BROADCAST_BYTES, Change, Known, Layout, Step, Work
from costmodels.yao import cardenas
from executors.counting import Counting
from executors.differential import Differential
from executors.executor import Executor
from executors.recompute import Recompute
from profiles.coefficients import QUANTITIES, SHIPPED, MachineProfile
from profiles.statistics import Estimate
from views import catalog
from views.definition import Definition, define
from views.filters import parse_filter
from views.steps import ApplyDelta, Plan, Replace

PRICES = spark.prices_of(MachineProfile("spark", "2 cores x86_64", SHIPPED["spark"], measured=True))

ORDERS, ITEMS, CUSTOMERS = 1_000_000, 4_000_000, 100_000
TYPES = {
    "orders": {"o_key": "bigint", "o_customer": "bigint", "o_day": "date", "o_price": "decimal(15,2)"},
    "items": {"i_order": "bigint", "i_part": "bigint", "i_price": "decimal(15,2)", "i_weight": "double"},
    "customers": {"c_key": "bigint", "c_nation": "bigint"},
}
CATALOG = catalog.Catalog.of(
    catalog.Relation(name, columns, key)
    for (name, columns), key in zip(TYPES.items(), (("o_key",), (), ("c_key",)), strict=True)
)
SQL = {
    "select": "SELECT o_key, o_price FROM orders WHERE o_day = DATE '2024-05-01'",
    "join": "SELECT o_key, c_nation, o_price FROM orders JOIN customers ON o_customer = c_key",
    "lines": "SELECT o_key, i_part FROM orders JOIN items ON i_order = o_key",
    "groups": "SELECT o_customer, COUNT(*) AS n, SUM(o_price) AS price FROM orders GROUP BY o_customer",
    "extremes": "SELECT o_customer, MAX(o_price) AS price FROM orders GROUP BY o_customer",
    "weights": "SELECT i_part, SUM(i_weight) AS weight FROM items GROUP BY i_part",
    "nations": "SELECT c_nation, SUM(i_price) AS price FROM customers, orders, items"
    " WHERE o_customer = c_key AND i_order = o_key GROUP BY c_nation",
    "distinct": "SELECT DISTINCT o_customer, o_day FROM orders",
    "negation": "SELECT c_key FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_customer = c_key)",
    "latest": "SELECT o_key, ROW_NUMBER() OVER (PARTITION BY o_customer ORDER BY o_day, o_key) AS place FROM orders",
    "union": "SELECT o_customer AS k FROM orders UNION ALL SELECT c_key AS k FROM customers",
    "total": "SELECT COUNT(*) AS n, SUM(o_price) AS price FROM orders",
}
VIEWS = {name: define(name, sql, CATALOG) for name, sql in SQL.items()}


def tables(scale: float = 1.0, clustered: bool = True, together: bool = True, drawn: bool = False) -> Known:
    """Three tables in files of 25,000 rows; `clustered` on their keys or not at all."""

    def number(value: float, name: str) -> Vector:
        return vector(Estimate.of(value, "default"), name) if drawn else constant(value)

    rows = {"orders": ORDERS * scale, "items": ITEMS * scale, "customers": CUSTOMERS * scale}
    keys = {"orders": ("o_key",), "items": (), "customers": ("c_key",)}
    foreign = {"orders": {"o_customer": "customers.c_key"}, "items": {"i_order": "orders.o_key"}, "customers": {}}
    first = {"orders": "o_key", "items": "i_order", "customers": "c_key"}
    distinct = {
        "o_key": rows["orders"], "o_customer": rows["customers"], "o_day": 365.0, "o_price": rows["orders"] / 10,
        "i_order": rows["orders"], "i_part": rows["items"] / 20, "c_key": rows["customers"], "c_nation": 25.0,
    }  # fmt: skip
    relations, layouts = {}, {}
    for name, columns in TYPES.items():
        files = max(rows[name] / 25_000, 1.0)
        relations[name] = Relation(
            number(rows[name], f"{name}.rows"),
            {c: number(distinct[c], f"{name}.{c}") for c in columns if c in distinct},
            lambda condition: constant(1 / 365) if isinstance(condition, exp.EQ) else None,
        )
        layouts[name] = Layout(
            number(rows[name], f"{name}.rows"),
            constant(files),
            dict.fromkeys(columns, constant(8.0)),
            {first[name]: constant(1 / files)} if clustered else {},
            keys[name],
            foreign[name],
        )
    pairs = {("orders", "customers"), ("items", "orders")} if together else set[tuple[str, str]]()
    return Known(relations, layouts, frozenset(pairs))


def with_stored(known: Known, view: Definition, plan: Plan, rows: float | None = None) -> Known:
    """The same, with the view and what is kept beside it stored in as many files as they fill."""
    assert view.program is not None
    now, layouts = Cardinality(view.program, known.relations), dict(known.layouts)
    sizes = {view.view: (now[view.view].rows, view.columns[:1])}
    sizes |= {state.table: (now[state.predicate.name].rows, state.keys) for state in plan.states}
    for name, (found, key) in sizes.items():
        many = found if rows is None else constant(rows)
        files = np.maximum(many / 1_000_000, 1.0)
        layouts[name] = Layout(many, files, {}, dict.fromkeys(key[:1], 1 / files), tuple(key))
    return replace(known, layouts=layouts)


def maintained(
    name: str,
    changes: Mapping[str, float],
    known: Known | None = None,
    executor: Executor | None = None,
    deleted: float = 0.5,
    rows: float | None = None,
) -> list[Step]:
    """The steps that bring a view up to date with so many changed tuples of some tables."""
    view, executor = VIEWS[name], executor or Counting()
    assert view.program is not None
    plan = executor.plan(view, tuple(changes))
    assert isinstance(plan, Plan)
    known = with_stored(known or tables(), view, plan, rows)
    steps: list[Step] = []
    for step in plan.maintain:
        match step:
            case ApplyDelta(delta=delta):
                changed = {table: Change(constant(n), deleted) for table, n in changes.items()}
                relations = {table: known.relations[table] for table in view.relations}
                inexact = spark.inexact_columns(view.program, TYPES)
                cards = spark.change_of(delta, view.program, plan.states, relations, changed, inexact)
                steps += spark.followed(delta, spark.staged(delta), plan.states, known, changed, cards)
            case Replace(needed=needed):
                whole = Work()
                whole.include(spark.evaluated(view.program, known, needed))
                whole.include(spark.replaced(known.layouts[name]))
                steps.append(("rebuild", whole))
    return steps


def total(steps: Collection[Step], *, but: str = "nothing") -> Work:
    found = Work()
    for what, work in steps:
        if not what.startswith(but):
            found.include(work)
    return found


def quantities(work: Work) -> dict[str, float]:
    return {name: float(work.quantities.get(name, constant(0.0))[CENTRE]) for name in QUANTITIES}


def seconds(work: Work) -> float:
    return float(work.seconds(PRICES)[CENTRE])


INCREMENTAL = [(name, Counting()) for name in SQL] + [(name, Differential()) for name in ("select", "join", "lines")]
EVERY = [*INCREMENTAL, *((name, Recompute()) for name in SQL)]
cases = pytest.mark.parametrize(
    ("name", "executor"), EVERY, ids=[f"{name} by {executor.name}" for name, executor in EVERY]
)
incremental = pytest.mark.parametrize(
    ("name", "executor"), INCREMENTAL, ids=[f"{name} by {executor.name}" for name, executor in INCREMENTAL]
)


def all_changed(name: str, rows: float) -> dict[str, float]:
    return dict.fromkeys(VIEWS[name].relations, rows)


# Every plan


def test_every_view_here_can_be_followed() -> None:
    assert {name: view.reasons for name, view in VIEWS.items() if view.reasons} == {}


@cases
@pytest.mark.parametrize("drawn", [False, True])
def test_quantities_are_finite_and_not_negative(name: str, executor: Executor, drawn: bool) -> None:
    for rows in (0, 1e-3, 1, 500, 1e7):
        for scale in (0, 1):
            for _, work in maintained(name, all_changed(name, rows), tables(scale, drawn=drawn), executor):
                for quantity, amount in work.quantities.items():
                    assert quantity in QUANTITIES
                    assert amount.shape in ((1,), (SIZE,))
                    assert np.all(np.isfinite(amount))
                    assert np.all(amount >= 0)


@cases
def test_products_of_quantities_and_prices_sum_to_the_seconds(name: str, executor: Executor) -> None:
    work = total(maintained(name, all_changed(name, 500), executor=executor))
    parts = work.parts(PRICES)
    assert sum(product for _, _, product in parts.values()) == pytest.approx(seconds(work), rel=1e-12)
    assert all(product == amount * price for amount, price, product in parts.values())
    assert {quantity: amount for quantity, (amount, _, _) in parts.items()} == {
        quantity: amount for quantity, amount in quantities(work).items() if amount
    }


@incremental
def test_one_changed_row_costs_statements_jobs_and_commits(name: str, executor: Executor) -> None:
    view = VIEWS[name]
    plan = executor.plan(view, view.relations[:1])
    assert isinstance(plan, Plan)
    found = quantities(total(maintained(name, {view.relations[0]: 1}, executor=executor)))
    assert found["statements"] >= 1
    assert found["jobs"] >= 1
    assert found["commits"] == 1 + len(plan.states)
    fixed = sum(found[each] * getattr(SHIPPED["spark"], each) for each in ("statements", "jobs", "commits"))
    assert fixed > 0.05


@incremental
def test_an_empty_change_costs_reading_it_and_the_commits_that_say_so(name: str, executor: Executor) -> None:
    view = VIEWS[name]
    plan = executor.plan(view, view.relations)
    assert isinstance(plan, Plan)
    found = quantities(total(maintained(name, all_changed(name, 0), executor=executor)))
    assert {quantity: amount for quantity, amount in found.items() if amount} == {
        "files_read": len(view.relations),
        "commits": 1 + len(plan.states),
    }


@incremental
def test_seconds_grow_with_the_change(name: str, executor: Executor) -> None:
    sizes = (0, 0.1, 1, 10, 1e3, 1e4, 1e5, 1e6)
    found = [seconds(total(maintained(name, all_changed(name, rows), executor=executor))) for rows in sizes]
    assert all(smaller < larger for smaller, larger in pairwise(found))


@pytest.mark.parametrize("name", SQL)
def test_recompute_costs_the_same_however_little_has_changed(name: str) -> None:
    few, many = (maintained(name, all_changed(name, rows), executor=Recompute()) for rows in (1, 1e6))
    assert quantities(total(few)) == quantities(total(many))


@pytest.mark.parametrize("name", ["groups", "nations", "total"])
def test_following_one_row_is_cheaper_than_rebuilding_and_following_all_rows_is_not(name: str) -> None:
    table = VIEWS[name].relations[-1]
    whole = seconds(total(maintained(name, {table: 1}, executor=Recompute())))
    assert seconds(total(maintained(name, {table: 1}))) < whole
    assert seconds(total(maintained(name, {table: 8e6}))) > whole


# What is read


def test_where_declared_keys_answer_from_the_change_the_size_of_the_tables_does_not_matter() -> None:
    changes = {"orders": 100, "items": 400}
    small, large = (quantities(total(maintained("lines", changes, tables(s), rows=1e6))) for s in (1, 100))
    assert small == pytest.approx(large, rel=0.01)
    assert small["rows_read"] == small["bytes_read"] == 0


def test_where_no_key_answers_reads_grow_with_the_tables() -> None:
    changes = {"orders": 100, "items": 400}

    def read(scale: float, clustered: bool) -> float:
        known = tables(scale, clustered, together=False)
        return quantities(total(maintained("lines", changes, known, rows=1e6), but="merge"))["files_read"]

    assert read(10, clustered=False) == pytest.approx(2 + 10 * (ORDERS + ITEMS) / 25_000)
    assert read(1, clustered=False) == pytest.approx(2 + (ORDERS + ITEMS) / 25_000)
    # in files that lie by the key no more are read than there are keys
    assert read(1, clustered=True) < read(10, clustered=True) <= 2 + 100 + 400


def files_of_items_for(keys: float, known: Known) -> float:
    steps = maintained("lines", {"orders": keys}, known, rows=1e6)
    (work,) = (work for what, work in steps if what.startswith("evaluate"))
    return quantities(work)["files_read"]


@pytest.mark.parametrize("keys", [1, 7, 50, 160, 1000, 20_000])
def test_files_that_lie_by_the_key_are_read_as_yao_and_a_simulation_say(keys: int) -> None:
    files = ITEMS // 25_000
    generator = np.random.default_rng(keys)
    per_file = ORDERS // files
    drawn = [np.unique(generator.choice(ORDERS, keys, replace=False) // per_file).size for _ in range(200)]
    found = files_of_items_for(keys, tables(together=False))
    assert found == pytest.approx(np.mean(drawn), rel=0.02)
    assert found == pytest.approx(cardenas(ORDERS, files, keys), rel=0.01)


@pytest.mark.parametrize("keys", [1, 50, 20_000])
def test_files_that_lie_anyhow_are_all_read(keys: int) -> None:
    assert files_of_items_for(keys, tables(clustered=False, together=False)) == pytest.approx(ITEMS / 25_000)


@pytest.mark.parametrize("overlap", [0.0, 1e-6, 0.01, 0.3, 1.0])
def test_the_part_of_the_files_that_is_read_lies_between_one_file_and_all_and_grows_with_the_keys(
    overlap: float,
) -> None:
    layout = Layout(constant(1e6), constant(200), overlap={"k": constant(overlap)})
    parts = [float(layout.part_with({"k": constant(keys)})[CENTRE]) for keys in (0, 0.5, 1, 10, 1e4, 1e12)]
    assert parts == sorted(parts)
    assert parts[0] == 1 / 200
    assert parts[2] == pytest.approx(max(overlap, 1 / 200))
    assert parts[-1] == pytest.approx(1)


def test_of_several_keys_the_one_that_leaves_out_most_files_decides() -> None:
    layout = Layout(constant(1e6), constant(200), overlap={"k": constant(0.01), "l": constant(0.5)})
    one = constant(1)
    assert layout.part_with({"k": one, "l": one, "unknown": one}) == pytest.approx(0.01)
    assert layout.part_with({"unknown": one}) == pytest.approx(1)
    assert layout.part_with({}) == pytest.approx(1)


def part_where(condition: str, selectivity: float | None = 0.25) -> float:
    layout = Layout(constant(1e6), constant(200), overlap={"k": constant(0.01)})
    relation = Relation(layout.rows, selected=lambda _: None if selectivity is None else constant(selectivity))
    where = parse_filter(condition, ("k", "other"), "here")
    return float(layout.part_where(where, relation)[CENTRE])


def test_a_condition_leaves_out_files_where_they_lie_by_its_column() -> None:
    assert part_where("k = 5") == pytest.approx(0.01)
    assert part_where("k < 5") == part_where("k BETWEEN 1 AND 5") == pytest.approx(0.26)
    assert part_where("k < 5 AND k = 3 AND other = 2") == pytest.approx(0.01)
    assert part_where("k < 5", selectivity=1.0) == 1
    for condition in ("other = 5", "k + other = 5", "k = 5 OR other = 2", "k <> 5"):
        assert part_where(condition) == 1
    assert part_where("k < 5", selectivity=None) == 1


def test_only_files_that_hold_what_is_asked_for_are_evaluated() -> None:
    known, view = tables(), VIEWS["select"]
    assert view.program is not None
    key = parse_one("o_key = 5", dialect="spark")
    whole, part = (quantities(spark.evaluated(view.program, known, {"orders": condition})) for condition in (None, key))
    assert (whole["files_read"], part["files_read"]) == pytest.approx((40, 1))
    assert (whole["rows_read"], part["rows_read"]) == pytest.approx((ORDERS, 25_000))
    # a key, a day and a price of eight bytes, and one for the row
    assert whole["bytes_read"] == pytest.approx(25 * ORDERS)


def test_a_read_of_stored_rows_reads_the_files_that_a_filter_leaves() -> None:
    layout = Layout(constant(1e6), constant(20), {"k": constant(8), "n": constant(4)}, {"k": constant(1 / 20)})
    relation = Relation(layout.rows, selected=lambda _: constant(1e-6))
    key = parse_filter("k = 5", ("k", "n"), "here")
    whole, part = (quantities(spark.read(layout, relation, w, constant(f))) for w, f in ((None, 1), (key, 1e-6)))
    assert (whole["files_read"], whole["rows_read"], whole["bytes_read"]) == (20, 1e6, 13e6)
    assert (part["files_read"], part["rows_read"]) == pytest.approx((1, 50_000))
    assert part["statements"] == whole["statements"] == part["jobs"] == whole["jobs"] == 1


# What is written


def stored(clustered: bool) -> Layout:
    return Layout(constant(1e6), constant(20), overlap={"k": constant(1 / 20)} if clustered else {}, key=("k",))


def test_rows_that_only_come_are_written_without_reading_a_file() -> None:
    found = quantities(spark.merged(stored(clustered=True), constant(500), constant(0), ("k",)))
    assert {each: amount for each, amount in found.items() if amount} == {
        "driver_rows": 500,
        "rows_written": 500,
        "files_written": 1,
        "merges": 1,
        "commits": 1,
    }


def test_rows_that_go_cost_writing_the_files_that_hold_them() -> None:
    one = quantities(spark.merged(stored(clustered=True), constant(1), constant(1), ("k",)))
    assert (one["files_read"], one["rows_written"]) == pytest.approx((1, 1 + 50_000))
    anyhow = quantities(spark.merged(stored(clustered=False), constant(1), constant(1), ("k",)))
    assert (anyhow["files_read"], anyhow["driver_rows"]) == pytest.approx((20, 1 + 1e6))
    assert anyhow["rows_written"] == pytest.approx(1 + 50_000)
    rare = quantities(spark.merged(stored(clustered=True), constant(0.01), constant(0.01), ("k",)))
    assert rare["rows_written"] == pytest.approx(0.01 + 0.01 * 50_000)
    assert rare["files_written"] == pytest.approx(0.02)


@pytest.mark.parametrize(("goes", "files"), [(1, 1), (2, 1.95), (20, 12.83), (1e6, 20)])
def test_of_a_view_without_keys_only_files_that_lose_a_row_are_written_again(goes: float, files: float) -> None:
    """Twenty files: two rows are in one of them one time in twenty (Cardenas)."""
    bag = Layout(constant(1e6), constant(20))
    found = quantities(spark.merged(bag, constant(goes), constant(goes), ()))
    assert found["files_read"] == pytest.approx(20)
    assert found["rows_written"] == pytest.approx(goes + files * 50_000, rel=1e-3)


def test_a_rebuild_writes_every_row_once_in_one_commit() -> None:
    found = quantities(spark.replaced(stored(clustered=True)))
    assert (found["rows_written"], found["files_written"], found["commits"]) == (1e6, 20, 1)


def test_a_rebuild_is_ordered_only_for_who_looks_rows_up_again() -> None:
    ordered = quantities(spark.replaced(stored(clustered=True)))
    anyhow = quantities(spark.replaced(stored(clustered=True), ordered=False))
    assert (ordered["jobs"], ordered["shuffles"], ordered["rows_shuffled"]) == (2, 1, 1e6)
    assert (anyhow["jobs"], anyhow.get("shuffles", 0), anyhow.get("rows_shuffled", 0)) == (1, 0, 0)


def test_rows_that_go_are_looked_for_and_rows_that_come_are_not() -> None:
    layout = stored(clustered=True)
    assert quantities(spark.merged(layout, constant(100), constant(40), ("k",)))["rows_removed"] == 40
    assert quantities(spark.merged(layout, constant(100), constant(0), ("k",))).get("rows_removed", 0) == 0


# Joins


def joined(bytes_of_the_smaller: float) -> dict[str, float]:
    """Evaluating a join of customers, whose rows have 17 bytes, with many more orders."""
    known, view = tables(), VIEWS["join"]
    assert view.program is not None
    rows = bytes_of_the_smaller / 17
    relations = {**known.relations, "customers": Relation(constant(rows), {"c_key": constant(rows)})}
    layouts = {**known.layouts, "customers": replace(known.layouts["customers"], rows=constant(rows))}
    found = spark.evaluated(view.program, Known(relations, layouts), dict.fromkeys(view.relations))
    return quantities(found)


def test_a_small_side_is_sent_to_every_task_by_a_job_of_its_own() -> None:
    found = joined(0.99 * BROADCAST_BYTES)
    assert (found["jobs"], found["shuffles"]) == (2, 0)
    assert found["rows_shuffled"] == pytest.approx(0.99 * BROADCAST_BYTES / 17)


def test_a_large_side_is_shuffled_with_the_other() -> None:
    found = joined(1.01 * BROADCAST_BYTES)
    assert (found["jobs"], found["shuffles"]) == (1, 2)
    assert found["rows_shuffled"] == pytest.approx(1.01 * BROADCAST_BYTES / 17 + ORDERS)


def test_rows_that_are_grouped_are_first_aggregated_where_they_lie() -> None:
    known, view = tables(), VIEWS["total"]
    assert view.program is not None
    found = quantities(spark.evaluated(view.program, known, {"orders": None}))
    assert (found["shuffles"], found["rows_joined"]) == (1, ORDERS)
    assert found["rows_shuffled"] == 4


def test_prices_vary_as_far_as_the_machine_is_known() -> None:
    for measured, by in ((True, 1.25), (False, 2.0)):
        found = spark.prices_of(MachineProfile("spark", "2 cores x86_64", SHIPPED["spark"], measured))
        assert set(found) == set(QUANTITIES)
        for name, price in found.items():
            value = getattr(SHIPPED["spark"], name)
            assert price[CENTRE] == value
            assert np.all((price >= value / by * (1 - 1e-12)) & (price <= value * by * (1 + 1e-12)))


# Groups whose state cannot tell


GROUPS, ROWS_OF_EACH = 2_000, 10


def reread(changed: int, deleted: float) -> float:
    """The part of the touched groups whose greatest value is deleted, in changes drawn at random."""
    generator = np.random.default_rng(changed)
    found = []
    for _ in range(60):
        values = generator.random((GROUPS, ROWS_OF_EACH))
        places = generator.choice(values.size, round(changed * deleted), replace=False)
        gone = np.isin(np.arange(values.size), places).reshape(values.shape)
        comes = generator.integers(0, GROUPS, changed - round(changed * deleted))
        touched = gone.any(axis=1) | np.isin(np.arange(GROUPS), comes)
        greatest = gone[np.arange(GROUPS), values.argmax(axis=1)]
        found.append(greatest.sum() / touched.sum())
    return float(np.mean(found))


def priced_again(name: str, changed: float, deleted: float) -> float:
    view = VIEWS[name]
    plan = Counting().plan(view, view.relations)
    assert isinstance(plan, Plan)
    assert view.program is not None
    (step,) = plan.maintain
    assert isinstance(step, ApplyDelta)
    (table,) = view.relations
    rows = float(GROUPS * ROWS_OF_EACH)
    group = {"orders": "o_customer", "items": "i_part"}[table]
    relation = Relation(constant(rows), {group: constant(GROUPS)})
    cards = spark.change_of(
        step.delta,
        view.program,
        plan.states,
        {table: relation},
        {table: Change(constant(changed), deleted)},
        spark.inexact_columns(view.program, TYPES),
    )
    return float(cards.stale[name][CENTRE])


@pytest.mark.parametrize(("changed", "deleted"), [(20, 0.5), (200, 0.5), (200, 1.0), (2000, 0.1), (2000, 0.5)])
def test_groups_are_read_again_for_a_maximum_as_often_as_it_goes(changed: int, deleted: float) -> None:
    assert priced_again("extremes", changed, deleted) == pytest.approx(reread(changed, deleted), rel=0.1)


def test_when_most_rows_of_a_group_go_the_part_that_is_read_again_is_low_by_no_more_than_a_quarter() -> None:
    simulated = reread(10_000, 1.0)
    assert 0.75 * simulated <= priced_again("extremes", 10_000, 1.0) <= simulated


def test_insertions_never_make_a_group_be_read_again() -> None:
    assert priced_again("extremes", 2000, 0.0) == 0
    assert priced_again("weights", 2000, 0.0) == 0


def test_counts_and_exact_sums_never_need_their_rows_again() -> None:
    assert priced_again("groups", 2000, 1.0) == 0


def test_a_sum_of_floats_is_read_again_when_something_goes_and_that_part_is_low_by_no_more_than_a_quarter() -> None:
    generator = np.random.default_rng(2)
    shares = []
    for _ in range(60):
        gone, comes = generator.integers(0, GROUPS, 500), generator.integers(0, GROUPS, 500)
        shares.append(np.unique(gone).size / np.unique([*gone, *comes]).size)
    assert 0.75 * np.mean(shares) <= priced_again("weights", 1000, 0.5) <= np.mean(shares)


def test_what_is_inexact_follows_from_the_types() -> None:
    def found(name: str) -> set[str]:
        program = VIEWS[name].program
        assert program is not None
        return {column for _, column in spark.inexact_columns(program, TYPES)}

    assert "weight" in found("weights")
    assert found("groups") == found("nations") == set()


# Work


def test_work_adds_up_and_scales_by_quantity() -> None:
    work = Work()
    work.add(jobs=1, rows_read=10)
    work.add(jobs=2)
    other = Work()
    other.add(jobs=1, commits=1)
    work.include(other, 3)
    assert {name: amount.tolist() for name, amount in work.quantities.items()} == {
        "jobs": [6],
        "rows_read": [10],
        "commits": [3],
    }
    assert quantities(work.times(0.5))["jobs"] == 3
    assert quantities(work)["jobs"] == 6


def test_what_is_nothing_costs_nothing() -> None:
    assert seconds(Work()) == 0
    assert Work().parts(PRICES) == {}


def test_files_are_divided_as_the_storage_does_it() -> None:
    from storage.searching import PARTS
    from storage.writing import DRIVER_ROWS

    assert spark.PART_ROWS == DRIVER_ROWS // PARTS


def test_few_rows_that_go_write_one_part_again_and_many_write_all() -> None:
    rows, files = constant(1_000_000.0), constant(2.0)
    layout = Layout(rows, files, {"k": constant(8.0)}, {"k": 1 / files}, ("k",))
    few, many = (spark.merged(layout, constant(n), constant(n), ("k",)).quantities for n in (1.0, 100_000.0))
    assert few["rows_written"][0] == pytest.approx(50_001)
    assert many["rows_written"][0] == pytest.approx(1_100_000, rel=1e-3)
    assert (few["files_written"][0], many["files_written"][0]) == pytest.approx((2, 21), rel=1e-3)
