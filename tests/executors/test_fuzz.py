"""Random views under random transactions are those of DuckDB, whichever incremental executor keeps them."""

from __future__ import annotations

import os
import random
from collections.abc import Collection
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executors.counting import Counting
from executors.executor import Executor
from tests.conftest import ENGINE
from tests.executors.fuzz import DIGITS, failure, incremental, kept_cases, outcome_of
from tests.executors.generator import CHANGES, TRANSACTIONS, VIEWS, RandomCase, covered, draw_case, random_case
from tests.executors.queries import CONSTRUCTS
from tests.executors.recomputation import on_duckdb
from tests.executors.reduction import described, possible, reduced, smaller
from tests.views.bags import bag, duck, on_duck
from views.definition import Definition
from views.render import query_of
from views.steps import Plan

FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"
SEEDS = {"sail": range(1, 54), "spark": range(1, 8)}
CASES = {"sail": 500, "spark": 60}
MOVES = TRANSACTIONS if FULL else (2, 2)
"""Transactions that a view follows, one by one and all at once."""
AGAIN_ON = ("sail", "spark") if FULL else ("sail",)
"""Where cases that once failed are run again: they were found on Sail, and Spark takes many times as long."""


def test_a_seed_gives_the_same_case_twice() -> None:
    for seed in range(20):
        first, second = random_case(seed), random_case(seed)
        assert first == second


def test_cases_are_small_and_possible() -> None:
    for seed in range(100):
        case = random_case(seed)
        assert VIEWS[0] <= len(case.views) <= VIEWS[1]
        assert 3 <= len(case.transactions) <= 5
        assert max(rows.num_rows for rows in case.tables.values()) <= 12
        assert possible(case)


def test_three_hundred_seeds_cover_every_construct_and_every_change() -> None:
    found = set().union(*(covered(random_case(seed)) for seed in range(300)))
    assert found >= {*CONSTRUCTS, *CHANGES}, {*CONSTRUCTS, *CHANGES} - found


@pytest.mark.parametrize("engine", SEEDS)
def test_enough_cases_are_run(engine: str) -> None:
    assert sum(len(random_case(seed).views) for seed in SEEDS[engine]) >= CASES[engine]


@pytest.mark.parametrize("seed", range(1000, 1200 if FULL else 1010))
def test_the_rules_of_a_random_view_give_its_rows(seed: int) -> None:
    case = random_case(seed)
    definitions = case.definitions()
    for state in (case.tables, list(case.states())[-1]):
        wanted = on_duckdb(case.views, state)
        connection = duck({**state, **wanted})
        for view, sql in case.views.items():
            program = definitions[view].program
            assert program is not None, sql
            assert bag(on_duck(connection, query_of(program).sql("spark")), DIGITS) == bag(wanted[view], DIGITS), sql


def too_deep(case: RandomCase) -> set[str]:
    """The views that say that they are nested too deeply, and those that read them."""
    found: set[str] = set()
    for view, definition in replace(case, by_rules=ENGINE == "sail").definitions().items():
        plan = Counting().plan(definition, definition.relations)
        if not isinstance(plan, Plan):
            assert [reason.why for reason in plan] == ["NESTED"], view
        if not isinstance(plan, Plan) or found & set(definition.relations):
            found.add(view)
    return found


@pytest.mark.engine("sail", "spark")
@pytest.mark.parametrize("seed", SEEDS.get(ENGINE, ()))
def test_a_random_case_is_kept_as_duckdb_recomputes_it(seed: int, spark: Any) -> None:
    is_kept(random_case(seed, moves=MOVES), spark)


@pytest.mark.engine(*AGAIN_ON)
@pytest.mark.parametrize("line", kept_cases())
def test_a_case_that_failed_once_is_kept_as_duckdb_recomputes_it(line: str, spark: Any) -> None:
    is_kept(kept_cases()[line], spark)


def is_kept(case: RandomCase, spark: Any) -> None:
    """Nothing but the engine itself is wrong, and that in one view of a case at most."""
    found = outcome_of(case, spark, ENGINE, "this case")
    assert not found.failures, "\n".join(found.failures)
    assert len(found.gaps) <= (ENGINE == "sail"), "\n".join(found.gaps)
    assert found.refused <= too_deep(case)


@pytest.mark.engine("sail")
@pytest.mark.parametrize("executor", incremental(), ids=lambda executor: executor.name)
def test_a_change_that_an_executor_loses_is_found_and_reduced(executor: Executor, spark: Any) -> None:
    """The views that can be right are tried all the same."""
    r, s = pa.table({"a": [1, 1, 2, None]}), pa.table({"a": [1, 2, 3]})
    joined = "SELECT q0.a AS c0 FROM r AS q0 JOIN s AS q1 ON q0.a = q1.a"
    views = {"v0": "SELECT q0.a AS c0 FROM s AS q0", "v1": joined, "v2": "SELECT q0.c0 AS c0 FROM v1 AS q0"}
    case = RandomCase(views, {"r": r, "s": s}, [{"s": (s.slice(0, 1), None)}, {"r": (r.slice(3), r.slice(1, 2))}])
    plan = type(executor).plan

    def forgetful(self: Executor, view: Definition, changed: Collection[str]) -> Any:
        found = plan(self, view, changed)
        return replace(found, maintain=()) if isinstance(found, Plan) and set(changed) == {"r"} else found

    with patch.object(type(executor), "plan", forgetful):
        outcome = outcome_of(case, spark, ENGINE, "this case")
    assert outcome.kept == {"v0"}
    assert not outcome.gaps
    (text,) = outcome.failures
    assert f"{executor.name}: 'v1' after 1 of 1 transactions: 1 rows are too many" in text
    assert "v2" not in text


@pytest.mark.engine("sail")
@settings(derandomize=True, max_examples=200 if FULL else 10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_a_drawn_case_is_kept_as_duckdb_recomputes_it(spark: Any, pick: random.Random) -> None:
    """Hypothesis makes every choice of the generator, and looks for simpler ones when a case fails."""
    case = draw_case(pick, views=(1, 2), moves=(1, 2))
    error = failure(case, spark, ENGINE)
    assert error is None, f"{error}\n{described(case)}"


def test_a_failing_case_is_reduced_to_what_fails() -> None:
    case = random_case(1)

    def fails(candidate: RandomCase) -> Exception | None:
        return ValueError("v2") if "v2" in candidate.views and candidate.transactions else None

    small, error = reduced(case, ValueError("v2"), fails)
    assert str(error) == "v2"
    assert "v2" in small.views
    assert len(small.transactions) == 1
    assert len(small.views) < len(case.views)
    assert not any(fails(each) for each in smaller(small) if possible(each))
