"""The traps that incremental view maintenance is known for, a test for each.

Every change goes through the runner to stored Delta tables. After each of them the views are read back as any Delta
reader would read them, and compared with DuckDB's recomputation. Counting keeps all views; what is one
select-project-join expression is kept by differential too.
"""

from __future__ import annotations

import math
import os
import statistics
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from executors.evaluation import Evaluation
from executors.runner import Runner
from executors.testing import bag
from storage.types import spark_types
from tests.executors.kept import BY_DIFFERENTIAL, Kept, catalog_of, rows_of
from views.definition import define_all

pytestmark = pytest.mark.engine("spark", "sail")

ENGINE = os.environ.get("ADVISOR_TEST_ENGINE", "none")
FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"
ROUNDS = 60 if FULL else {"sail": 24}.get(ENGINE, 12)
"""Refreshes after which an error that each of them adds to would show: any of the naive ones does after three."""
NAN = float("nan")
TINY, SMALL, LARGE = 1e-16, 0.1, 1e16


def integers(columns: str, *rows: tuple[int | None, ...]) -> pa.Table:
    return rows_of(pa.schema([(name, pa.int64()) for name in columns.split()]), rows)


def doubles(columns: str, *rows: tuple[float | None, ...]) -> pa.Table:
    return rows_of(pa.schema([(name, pa.float64()) for name in columns.split()]), rows)


# Aggregates


def test_a_sum_over_only_nulls_is_null_and_not_zero(spark: Any, tmp_path: Path) -> None:
    views = {
        "sums": "SELECT g, SUM(x) AS total, COUNT(x) AS n FROM t GROUP BY g",
        "whole": "SELECT SUM(x) AS total, AVG(x) AS mean FROM t",
    }
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, None), (1, 3), (2, None))}, views)
    kept.change("t", deletes=[(1, 3)])
    assert kept.bag("sums") == {(1, None, 0): 1, (2, None, 0): 1}
    assert kept.bag("whole") == {(None, None): 1}
    kept.change("t", inserts=[(1, 0)])
    assert kept.bag("sums") == {(1, 0, 1): 1, (2, None, 0): 1}


def test_averages_and_variances_start_afresh_in_a_group_that_was_emptied_and_refilled(
    spark: Any, tmp_path: Path
) -> None:
    views = {
        "spreads": """SELECT g, AVG(x) AS mean, VAR_POP(x) AS population, VAR_SAMP(x) AS sample, STDDEV(x) AS deviation
            FROM t GROUP BY g""",
    }
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 1_000_000), (1, 5), (2, 1))}, views)
    kept.change("t", deletes=[(1, 1_000_000), (1, 5)])
    kept.change("t", inserts=[(1, 4)])
    assert kept.bag("spreads") == {(1, 4.0, 0.0, None, None): 1, (2, 1.0, 0.0, None, None): 1}
    kept.change("t", inserts=[(1, 6), (2, None)])
    assert kept.bag("spreads")[1, 5.0, 1.0, 2.0, round(math.sqrt(2), 9)] == 1


def test_averages_and_variances_over_only_nulls_are_null(spark: Any, tmp_path: Path) -> None:
    views = {"spreads": "SELECT g, AVG(x) AS mean, VAR_POP(x) AS population FROM t GROUP BY g"}
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 7), (1, None))}, views)
    kept.change("t", deletes=[(1, 7)])
    assert kept.bag("spreads") == {(1, None, None): 1}
    kept.change("t", inserts=[(1, 9)])
    assert kept.bag("spreads") == {(1, 9.0, 0.0): 1}


def test_a_group_that_vanishes_returns_as_a_new_one(spark: Any, tmp_path: Path) -> None:
    views = {
        "groups": "SELECT g, COUNT(*) AS n, MAX(x) AS most FROM t GROUP BY g",
        "many": "SELECT g FROM t GROUP BY g HAVING COUNT(*) > 1",
        "known": "SELECT DISTINCT g FROM t",
        "sizes": "SELECT n, COUNT(*) AS groups FROM groups GROUP BY n",
    }
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 8), (1, 9), (2, 5))}, views)
    kept.change("t", deletes=[(1, 8), (1, 9)])
    assert kept.bag("groups") == {(2, 1, 5): 1}
    assert kept.bag("many") == {}
    assert kept.bag("known") == {(2,): 1}
    assert kept.bag("sizes") == {(1, 1): 1}
    kept.change("t", inserts=[(1, 3), (1, 3)])
    assert kept.bag("groups") == {(1, 2, 3): 1, (2, 1, 5): 1}
    assert kept.bag("many") == {(1,): 1}


def test_a_global_aggregate_over_an_emptied_table_is_one_row(spark: Any, tmp_path: Path) -> None:
    views = {
        "whole": "SELECT COUNT(*) AS n, SUM(x) AS total, MAX(x) AS most, AVG(x) AS mean FROM t",
        "filtered": "SELECT COUNT(*) AS n, MIN(x) AS least FROM t WHERE g > 1",
        "groups": "SELECT g, COUNT(*) AS n FROM t GROUP BY g",
    }
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 5), (2, 7))}, views)
    kept.change("t", deletes=[(1, 5), (2, 7)])
    assert kept.bag("whole") == {(0, None, None, None): 1}
    assert kept.bag("filtered") == {(0, None): 1}
    assert kept.bag("groups") == {}
    kept.change("t", inserts=[(2, 4)])
    assert kept.bag("whole") == {(1, 4, 4, 4.0): 1}
    assert kept.bag("filtered") == {(1, 4): 1}


def test_the_next_value_is_the_extreme_after_the_extreme_was_deleted(spark: Any, tmp_path: Path) -> None:
    views = {
        "extremes": "SELECT g, MIN(x) AS least, MAX(x) AS most FROM t GROUP BY g",
        "whole": "SELECT MIN(x) AS least, MAX(x) AS most FROM t",
    }
    rows = [(1, 1), (1, 5), (1, 9), (2, 4), (2, None)]
    kept = Kept(spark, tmp_path, {"t": integers("g x", *rows)}, views)
    kept.change("t", deletes=[(1, 1), (1, 9)])
    assert kept.bag("extremes") == {(1, 5, 5): 1, (2, 4, 4): 1}
    assert kept.bag("whole") == {(4, 5): 1}
    # A new extreme comes in the transaction that takes the old one away.
    kept.change("t", inserts=[(1, 3)], deletes=[(1, 5), (2, 4)])
    assert kept.bag("extremes") == {(1, 3, 3): 1, (2, None, None): 1}


def test_an_extreme_stays_while_one_of_two_equal_ones_is_left(spark: Any, tmp_path: Path) -> None:
    views = {"extremes": "SELECT g, MIN(x) AS least, MAX(x) AS most FROM t GROUP BY g"}
    rows = [(1, 1), (1, 1), (1, 5), (1, 9), (1, 9)]
    kept = Kept(spark, tmp_path, {"t": integers("g x", *rows)}, views)
    kept.change("t", deletes=[(1, 1), (1, 9)])
    assert kept.bag("extremes") == {(1, 1, 9): 1}
    kept.change("t", deletes=[(1, 1), (1, 9)])
    assert kept.bag("extremes") == {(1, 5, 5): 1}


def test_a_distinct_count_falls_with_the_last_of_equal_values_down_to_one_and_to_none(
    spark: Any, tmp_path: Path
) -> None:
    views = {"counts": "SELECT g, COUNT(DISTINCT x) AS n FROM t GROUP BY g"}
    rows = [(1, 5), (1, 5), (1, 6), (1, None)]
    kept = Kept(spark, tmp_path, {"t": integers("g x", *rows)}, views)
    assert kept.bag("counts") == {(1, 2): 1}
    kept.change("t", deletes=[(1, 5)])
    assert kept.bag("counts") == {(1, 2): 1}
    kept.change("t", deletes=[(1, 5)])
    assert kept.bag("counts") == {(1, 1): 1}
    kept.change("t", deletes=[(1, 6)])
    assert kept.bag("counts") == {(1, 0): 1}


def test_a_row_moves_between_the_cases_inside_an_aggregate(spark: Any, tmp_path: Path) -> None:
    views = {
        "cases": """SELECT g, SUM(CASE WHEN x > 3 THEN 1 ELSE 0 END) AS large, SUM(CASE WHEN x > 3 THEN x END) AS total,
            COUNT(CASE WHEN x IS NULL THEN 1 END) AS unknown FROM t GROUP BY g""",
        "filtered": "SELECT g, COUNT(*) FILTER (WHERE x > 3) AS large FROM t GROUP BY g",
    }
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 5), (1, 2), (2, None))}, views)
    kept.change("t", inserts=[(1, 3), (2, 4)], deletes=[(1, 5), (2, None)])
    assert kept.bag("cases") == {(1, 0, None, 0): 1, (2, 1, 4, 0): 1}
    assert kept.bag("filtered") == {(1, 0): 1, (2, 1): 1}


# Keys that are not equal to themselves, or to what looks the same


def test_null_group_keys_are_one_group(spark: Any, tmp_path: Path) -> None:
    views = {
        "groups": "SELECT a, b, COUNT(*) AS n, SUM(x) AS total FROM t GROUP BY a, b",
        "known": "SELECT DISTINCT a FROM t",
    }
    rows = [(None, 1, 5), (None, 1, 6), (None, None, 7), (1, None, 8)]
    kept = Kept(spark, tmp_path, {"t": integers("a b x", *rows)}, views)
    kept.change("t", inserts=[(None, None, 1), (1, None, None)], deletes=[(None, 1, 5)])
    assert kept.bag("groups") == {(None, 1, 1, 6): 1, (None, None, 2, 8): 1, (1, None, 2, 8): 1}
    kept.change("t", deletes=[(None, 1, 6), (None, None, 7), (None, None, 1)])
    assert kept.bag("groups") == {(1, None, 2, 8): 1}
    assert kept.bag("known") == {(1,): 1}


def test_null_join_keys_match_nothing_unless_null_safe(spark: Any, tmp_path: Path) -> None:
    joins = {
        "equal": "SELECT r.a, s.c FROM r JOIN s ON r.b = s.b",
        "safe": "SELECT r.a, s.c FROM r JOIN s ON r.b <=> s.b",
    }
    r, s = integers("a b", (1, None), (2, 1)), integers("b c", (1, 10), (None, 20))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, {}, joins)
    kept.transaction({"r": ([(3, None), (4, 1)], [(2, 1)]), "s": ([(None, 30)], [])})
    assert kept.bag("equal") == {(4, 10): 1}
    assert kept.bag("safe") == {(4, 10): 1, (1, 20): 1, (1, 30): 1, (3, 20): 1, (3, 30): 1}
    kept.change("s", deletes=[(None, 20), (1, 10)])
    assert kept.bag("equal") == {}
    assert kept.bag("safe") == {(1, 30): 1, (3, 30): 1}


def test_nan_is_one_group_key(spark: Any, tmp_path: Path) -> None:
    views = {
        "groups": "SELECT k, COUNT(*) AS n, SUM(x) AS total FROM t GROUP BY k",
        "known": "SELECT DISTINCT k FROM t",
    }
    kept = Kept(spark, tmp_path, {"t": doubles("k x", (NAN, 1), (NAN, 2), (None, 4))}, views)
    assert kept.bag("groups") == {("NaN", 2, 3.0): 1, (None, 1, 4.0): 1}
    kept.change("t", inserts=[(NAN, 8)], deletes=[(NAN, 1)])
    assert kept.bag("groups") == {("NaN", 2, 10.0): 1, (None, 1, 4.0): 1}
    kept.change("t", deletes=[(NAN, 2), (NAN, 8)])
    assert kept.bag("groups") == {(None, 1, 4.0): 1}
    assert kept.bag("known") == {(None,): 1}


def test_a_zero_with_a_sign_is_the_group_of_zero_and_loses_its_sign(spark: Any, tmp_path: Path) -> None:
    views = {
        "groups": "SELECT k, COUNT(*) AS n FROM t GROUP BY k",
        "known": "SELECT DISTINCT k FROM t",
    }
    kept = Kept(spark, tmp_path, {"t": doubles("k", (-0.0,), (1,))}, views)
    for inserts, deletes, n in [((), (), 1), ([(0,), (-0.0,)], [], 3), ([], [(-0.0,), (0,)], 1)]:
        kept.change("t", inserts, deletes)
        assert kept.bag("groups") == {(0.0, n): 1, (1.0, 1): 1}
        assert kept.bag("known") == {(0.0,): 1, (1.0,): 1}
        assert not [k for view in views for k in kept.rows(view)["k"].to_pylist() if math.copysign(1, k) < 0]


def test_nan_joins_nan_and_a_zero_with_a_sign_joins_zero(spark: Any, tmp_path: Path) -> None:
    joins = {"joined": "SELECT r.a, s.c FROM r JOIN s ON r.k = s.k"}
    views = {"padded": "SELECT r.a, s.c FROM r LEFT JOIN s ON r.k = s.k"}
    r, s = doubles("a k", (1, NAN), (2, -0.0), (3, 0)), doubles("k c", (NAN, 10), (0, 20))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views, joins)
    assert kept.bag("joined") == {(1, 10): 1, (2, 20): 1, (3, 20): 1}
    kept.transaction({"r": ([(4, NAN), (5, 0)], [(3, 0)]), "s": ([(NAN, 11), (-0.0, 21)], [(0, 20)])})
    assert kept.bag("joined") == {(1, 10): 1, (1, 11): 1, (4, 10): 1, (4, 11): 1, (2, 21): 1, (5, 21): 1}
    kept.change("s", deletes=[(NAN, 10), (NAN, 11), (-0.0, 21)])
    assert kept.bag("padded") == {(1, None): 1, (2, None): 1, (4, None): 1, (5, None): 1}


# Joins and negation


def test_not_in_is_empty_while_the_subquery_holds_a_null(spark: Any, tmp_path: Path) -> None:
    views = {"not_in": "SELECT a FROM r WHERE b NOT IN (SELECT c FROM s)"}
    r, s = integers("a b", (1, 1), (2, 2), (3, None)), integers("c", (2,), (None,), (None,))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views)
    assert kept.bag("not_in") == {}
    kept.change("s", deletes=[(None,)])
    assert kept.bag("not_in") == {}
    kept.change("s", deletes=[(None,)])
    assert kept.bag("not_in") == {(1,): 1}
    kept.change("s", deletes=[(2,)])  # of an empty list even NULL is not a member
    assert kept.bag("not_in") == {(1,): 1, (2,): 1, (3,): 1}
    kept.transaction({"s": ([(None,)], []), "r": ([(4, 4)], [])})
    assert kept.bag("not_in") == {}


def test_a_left_join_pads_when_the_last_match_goes_and_stops_when_one_comes_back(spark: Any, tmp_path: Path) -> None:
    views = {
        "padded": "SELECT r.a, s.c FROM r LEFT JOIN s ON r.b = s.b",
        "counted": "SELECT r.a, COUNT(s.c) AS n FROM r LEFT JOIN s ON r.b = s.b GROUP BY r.a",
    }
    r, s = integers("a b", (1, 1), (1, 1), (2, None)), integers("b c", (1, 10), (1, 11))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views)
    kept.change("s", deletes=[(1, 10)])
    assert kept.bag("padded") == {(1, 11): 2, (2, None): 1}
    kept.change("s", deletes=[(1, 11)])
    assert kept.bag("padded") == {(1, None): 2, (2, None): 1}
    assert kept.bag("counted") == {(1, 0): 1, (2, 0): 1}
    kept.change("s", inserts=[(1, 12), (1, None)])
    assert kept.bag("padded") == {(1, 12): 2, (1, None): 2, (2, None): 1}


def test_a_full_join_pads_each_side_by_the_whole_condition(spark: Any, tmp_path: Path) -> None:
    views = {"both": "SELECT r.a, s.c FROM r FULL JOIN s ON r.b = s.b AND s.c > 5"}
    r, s = integers("a b", (1, 1), (1, 1), (None, 3)), integers("b c", (1, 10), (3, None))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views)
    assert kept.bag("both") == {(1, 10): 2, (None, None): 2}
    kept.change("s", inserts=[(1, 4)], deletes=[(1, 10)])
    assert kept.bag("both") == {(1, None): 2, (None, 4): 1, (None, None): 2}
    kept.transaction({"s": ([(3, 9)], [(3, None)]), "r": ([(2, 1)], [(1, 1)])})
    assert kept.bag("both") == {(1, None): 1, (2, None): 1, (None, 4): 1, (None, 9): 1}


def test_except_all_gives_a_row_back_when_what_cancelled_it_goes(spark: Any, tmp_path: Path) -> None:
    views = {"less": "SELECT b FROM r EXCEPT ALL SELECT b FROM s"}
    r, s = integers("b", (1,), (1,), (None,)), integers("b", (1,), (None,), (2,))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views)
    assert kept.bag("less") == {(1,): 1}
    kept.change("s", inserts=[(1,)], deletes=[(None,)])
    assert kept.bag("less") == {(None,): 1}
    kept.transaction({"r": ([(2,), (2,)], [(1,)]), "s": ([], [(1,), (1,)])})
    assert kept.bag("less") == {(None,): 1, (1,): 1, (2,): 1}


def test_the_next_row_is_the_first_of_its_partition_when_the_first_goes(spark: Any, tmp_path: Path) -> None:
    views = {
        "best": """SELECT a, b FROM (
            SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC) AS n FROM r
        ) WHERE n = 1"""
    }
    kept = Kept(spark, tmp_path, {"r": integers("a b", (1, 9), (1, 9), (1, 5), (2, None), (None, 3))}, views)
    kept.change("r", deletes=[(1, 9), (None, 3)])
    assert kept.bag("best") == {(1, 9): 1, (2, None): 1}
    kept.change("r", inserts=[(2, 0)], deletes=[(1, 9)])
    assert kept.bag("best") == {(1, 5): 1, (2, 0): 1}


def test_a_self_join_whose_sides_change_in_one_transaction_counts_each_pair_once(spark: Any, tmp_path: Path) -> None:
    joins = {"pairs": "SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a"}
    kept = Kept(spark, tmp_path, {"r": integers("a b", (1, 2), (2, 3), (5, 5))}, {}, joins)
    assert kept.bag("pairs") == {(1, 3): 1, (5, 5): 1}
    # Both rows of a new pair come, both rows of an old pair go, and (5, 5) is a pair with itself.
    kept.change("r", inserts=[(7, 8), (8, 9), (6, 6)], deletes=[(1, 2), (2, 3), (5, 5)])
    assert kept.bag("pairs") == {(7, 9): 1, (6, 6): 1}
    kept.change("r", inserts=[(7, 8), (6, 7)], deletes=[(8, 9)])
    assert kept.bag("pairs") == {(6, 6): 1, (6, 7): 1, (6, 8): 2}


def test_equal_rows_of_base_tables_are_counted_one_by_one(spark: Any, tmp_path: Path) -> None:
    joins = {"joined": "SELECT r.a, s.c FROM r JOIN s ON r.b = s.b"}
    views = {
        "known": "SELECT DISTINCT b FROM r",
        "sums": "SELECT b, SUM(a) AS total, COUNT(*) AS n FROM r GROUP BY b",
    }
    r, s = integers("a b", (1, 1), (1, 1), (1, 1)), integers("b c", (1, 10), (1, 10))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views, joins)
    assert kept.bag("joined") == {(1, 10): 6}
    kept.change("r", deletes=[(1, 1)])
    assert (kept.bag("joined"), kept.bag("known")) == ({(1, 10): 4}, {(1,): 1})
    kept.transaction({"r": ([(1, 1), (1, 1)], []), "s": ([], [(1, 10)])})
    assert (kept.bag("joined"), kept.bag("sums")) == ({(1, 10): 4}, {(1, 4, 4): 1})
    kept.change("r", deletes=[(1, 1)] * 4)
    assert [kept.bag(view) for view in ("joined", "known", "sums")] == [{}, {}, {}]


def test_a_row_whose_key_is_modified_leaves_its_group_and_its_matches(spark: Any, tmp_path: Path) -> None:
    joins = {"joined": "SELECT r.a, s.c FROM r JOIN s ON r.b = s.b"}
    views = {
        "sums": "SELECT b, SUM(a) AS total FROM r GROUP BY b",
        "padded": "SELECT s.b, r.a FROM s LEFT JOIN r ON r.b = s.b",
    }
    r, s = integers("a b", (1, 1), (2, 1), (3, 2)), integers("b c", (1, 10), (2, 20))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views, joins, keys={"r": ["a"], "s": ["b"]})
    kept.change("r", inserts=[(3, 1), (2, 9)], deletes=[(3, 2), (2, 1)])  # what refers to the key
    assert kept.bag("joined") == {(1, 10): 1, (3, 10): 1}
    assert kept.bag("sums") == {(1, 4): 1, (9, 2): 1}
    kept.change("s", inserts=[(9, 10)], deletes=[(1, 10)])  # the key itself
    assert kept.bag("joined") == {(2, 10): 1}
    assert kept.bag("padded") == {(9, 2): 1, (2, None): 1}


def test_a_transaction_that_changes_every_table_counts_no_combination_twice(spark: Any, tmp_path: Path) -> None:
    joins = {"chain": "SELECT r.a, s.b, t.c FROM r JOIN s ON r.k = s.k JOIN t ON s.m = t.m"}
    views = {
        "sums": "SELECT s.k, SUM(r.a * t.c) AS total FROM r JOIN s ON r.k = s.k JOIN t ON s.m = t.m GROUP BY s.k",
        "padded": "SELECT r.a, t.c FROM r LEFT JOIN s ON r.k = s.k LEFT JOIN t ON s.m = t.m",
    }
    tables = {
        "r": integers("a k", (1, 1), (3, 1)),
        "s": integers("k m b", (1, 1, 1), (1, 1, 3)),
        "t": integers("m c", (1, 1), (1, 3)),
    }
    kept = Kept(spark, tmp_path, tables, views, joins)
    # In each table 1 stays, 2 comes and 3 goes; all of them join.
    kept.transaction(
        {"r": ([(2, 1)], [(3, 1)]), "s": ([(1, 1, 2)], [(1, 1, 3)]), "t": ([(1, 2)], [(1, 3)])},
    )
    assert kept.bag("chain") == {(a, b, c): 1 for a in (1, 2) for b in (1, 2) for c in (1, 2)}
    assert kept.bag("sums") == {(1, 18): 1}


# Changes that are none, and changes that are large


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The views for which something was evaluated, filled as it happens."""
    asked: list[str] = []
    run = Evaluation.run

    def counted(self: Evaluation, program: Any) -> Any:
        asked.append(self.view)
        return run(self, program)

    monkeypatch.setattr(Evaluation, "run", counted)
    return asked


def test_a_row_deleted_and_inserted_in_one_transaction_is_no_change(
    spark: Any, tmp_path: Path, queries: list[str]
) -> None:
    views = {"sums": "SELECT g, SUM(x) AS total FROM t GROUP BY g"}
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 5), (None, 6))}, views, {"rows": "SELECT x FROM t"})
    assert kept.update({"t": ([(1, 5), (None, 6)], [(None, 6), (1, 5)])}) == {}
    assert set(kept.refresh().values()) == {None}
    # Beside a row that does change it takes no part either.
    kept.transaction({"t": ([(1, 5), (2, 7)], [(1, 5)])})
    assert kept.bag("rows") == {(5,): 1, (6,): 1, (7,): 1}
    queries.clear()
    # Over two transactions the versions move on, but what a refresh sees of them is nothing.
    kept.update({"t": ([], [(2, 7)])})
    kept.transaction({"t": ([(2, 7)], [])})
    assert queries == []


def test_an_empty_change_evaluates_nothing_and_leaves_the_view_as_it_is(
    spark: Any, tmp_path: Path, queries: list[str]
) -> None:
    views = {"sums": "SELECT g, SUM(x) AS total FROM t WHERE g > 0 GROUP BY g"}
    joins = {"rows": "SELECT t.x, u.g FROM t JOIN u ON t.g = u.g"}
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 5)), "u": integers("g", (1,))}, views, joins)
    before = {view: kept.runner.table(view).version for view in kept.views}
    assert kept.update({"t": ([], []), "u": ([], [])}) == {}
    assert set(kept.refresh().values()) == {None}
    assert {view: kept.runner.table(view).version for view in kept.views} == before
    assert queries == []
    # A row that passes no filter and joins nothing is a change of the table, but of no view.
    files = {view: kept.runner.table(view).log.snapshot().paths for view in kept.views}
    kept.change("t", inserts=[(-1, 7)])
    assert {view: kept.runner.table(view).log.snapshot().paths for view in kept.views} == files


def test_a_change_larger_than_the_table_is_followed_both_ways(spark: Any, tmp_path: Path) -> None:
    joins = {"joined": "SELECT r.x, s.c FROM r JOIN s ON r.g = s.g"}
    views = {
        "sums": "SELECT g, SUM(x) AS total, MIN(x) AS least, COUNT(DISTINCT x) AS n FROM r GROUP BY g",
        "lonely": "SELECT x FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.g = r.g)",
    }
    r, s = integers("g x", (0, 1), (1, 2)), integers("g c", (0, 10), (2, 20))
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views, joins)
    many = [(i % 5, i % 17) for i in range(200)]
    kept.change("r", inserts=many)
    kept.change("r", inserts=[(4, 4)], deletes=[*many, (0, 1)])
    assert kept.bag("sums") == {(1, 2, 2, 1): 1, (4, 4, 4, 1): 1}
    assert kept.bag("joined") == {}


# Numbers


DECIMAL = pa.schema({"g": pa.int64(), "d": pa.decimal128(15, 2), "q": pa.decimal128(15, 2)})
DECIMALS = {
    "sums": """SELECT g, SUM(d) AS total, SUM(d * q) AS product, SUM(d * (1 - q)) AS discounted, SUM(d + q) AS both,
        AVG(d) AS mean, MIN(d) AS least, MAX(d * q) AS most FROM t GROUP BY g""",
    "whole": "SELECT SUM(d) AS total, AVG(d * q) AS mean, COUNT(*) AS n FROM t",
}


def stored_types(kept: Kept, view: str) -> dict[str, str]:
    return spark_types(kept.runner.table(view).log.snapshot().fields)


def test_decimals_have_the_precision_and_scale_that_the_plain_query_has(spark: Any, tmp_path: Path) -> None:
    rows = [(1, Decimal("9999999999999.99"), Decimal("0.07")), (2, None, Decimal("1.00"))]
    kept = Kept(spark, tmp_path, {"t": rows_of(DECIMAL, rows)}, DECIMALS)
    kept.change("t", [(1, Decimal("0.01"), Decimal("0.10")), (2, Decimal("-5.00"), None)], rows[1:])
    assert stored_types(kept, "sums") == {
        "g": "bigint",
        "total": "decimal(25,2)",
        "product": "decimal(38,4)",
        "discounted": "decimal(38,4)",
        "both": "decimal(26,2)",
        "mean": "decimal(19,6)",
        "least": "decimal(15,2)",
        "most": "decimal(31,4)",
    }
    kept.runner.tables["t"].snapshot().createOrReplaceTempView("decimals_as_they_are")
    for view, sql in DECIMALS.items():
        plain = spark.sql(sql.replace("FROM t", "FROM decimals_as_they_are"))
        assert dict(plain.dtypes) == stored_types(kept, view)
        assert Counter(map(tuple, plain.collect())) == Counter(values(kept, view))


def values(kept: Kept, view: str) -> list[tuple[Any, ...]]:
    """The rows of a view as they are stored, without any rounding."""
    return [tuple(row.values()) for row in kept.rows(view).to_pylist()]


def test_decimal_sums_stay_exact_over_many_refreshes(spark: Any, tmp_path: Path) -> None:
    views = {"sums": "SELECT g, SUM(d) AS total, SUM(d * q) AS product, COUNT(*) AS n FROM t GROUP BY g"}
    here = [(1, Decimal("9999999999999.99"), Decimal("0.01"))]
    kept = Kept(spark, tmp_path, {"t": rows_of(DECIMAL, here)}, views)
    for number in range(ROUNDS // 3):
        come = [(1, Decimal(f"{number}.01"), Decimal("0.33")), (1, Decimal("-9999999999999.99"), Decimal("0.77"))]
        go, here = here[:1], here[1:] + come
        kept.update({"t": (come, go)})
        assert kept.refresh() == {"sums": "counting"}
    ((g, total, product, n),) = values(kept, "sums")
    assert (g, n) == (1, len(here))
    # Fractions, because the precision of Python's own decimals would round what Spark does not.
    assert Fraction(total) == sum(Fraction(d) for _, d, _ in here)
    assert Fraction(product) == sum(Fraction(d) * Fraction(q) for _, d, q in here)


def test_double_sums_do_not_drift_with_the_number_of_refreshes(spark: Any, tmp_path: Path) -> None:
    """Taking 1e16 out of a sum of small numbers by subtraction leaves nothing of them, or rounding instead of them."""
    views = {"sums": "SELECT g, SUM(v) AS total, AVG(v) AS mean, VAR_POP(v) AS spread FROM t GROUP BY g"}
    kept = Kept(spark, tmp_path, {"t": doubles("g v", (1, SMALL), (2, SMALL))}, views)
    for number in range(ROUNDS):
        come: list[tuple[float, ...]] = [(1, SMALL * (number + 1)), (1, TINY), (2, SMALL)]
        go: list[tuple[float, ...]] = [(1, TINY)] if number else []
        if number % 3 == 0:
            come.append((1, LARGE))
        if number % 3 == 1:
            go.append((1, LARGE))
        kept.update({"t": (come, go)})
        assert kept.refresh() == {"sums": "counting"}
        if number % 5 == 4 or number == ROUNDS - 1:
            assert_close(kept, "sums")


def assert_close(kept: Kept, view: str) -> None:
    """Sum, mean and variance of each group are those of exact arithmetic, up to a tolerance that never grows."""
    groups: dict[float, list[Fraction]] = {}
    for row in kept.state["t"].to_pylist():
        groups.setdefault(row["g"], []).append(Fraction(row["v"]))
    found = {g: rest for g, *rest in values(kept, view)}
    assert found.keys() == groups.keys()
    for g, inputs in groups.items():
        wanted = (sum(inputs), sum(inputs) / len(inputs), statistics.pvariance(inputs))
        assert found[g] == [pytest.approx(float(each), rel=1e-9, abs=1e-12) for each in wanted]


def test_what_is_not_a_number_or_infinite_leaves_a_sum_without_a_trace(spark: Any, tmp_path: Path) -> None:
    views = {"sums": "SELECT g, SUM(v) AS total, AVG(v) AS mean FROM t GROUP BY g"}
    kept = Kept(spark, tmp_path, {"t": doubles("g v", (1, 0.5), (1, 2), (2, 4))}, views)
    kept.change("t", inserts=[(1, NAN), (2, math.inf), (2, 0)])
    assert kept.bag("sums") == {(1.0, "NaN", "NaN"): 1, (2.0, math.inf, math.inf): 1}
    kept.change("t", deletes=[(1, NAN), (2, math.inf)])
    assert kept.bag("sums") == {(1.0, 2.5, 1.25): 1, (2.0, 4.0, 2.0): 1}


@pytest.mark.xfail(ENGINE == "sail", reason="Sail reads NaN as the only other value of its file", strict=True)
def test_nan_beside_one_other_value_leaves_alone(spark: Any, tmp_path: Path) -> None:
    pq.write_table(doubles("v", (NAN,), (4,)), tmp_path / "plain.parquet")
    plain = spark.read.parquet(str(tmp_path / "plain.parquet")).toArrow()
    assert bag(plain) == {("NaN",): 1, (4.0,): 1}
    views = {"sums": "SELECT SUM(v) AS total FROM t"}
    kept = Kept(spark, tmp_path, {"t": doubles("v", (NAN,), (4,))}, views, {"rows": "SELECT v FROM t"})
    kept.change("t", deletes=[(NAN,)])
    assert kept.bag("sums") == kept.bag("rows") == {(4.0,): 1}


@pytest.mark.xfail(ENGINE == "sail", reason="Sail's MIN of a group is NaN, though NaN is the largest", strict=True)
def test_nan_is_the_largest_value_until_it_is_deleted(spark: Any, tmp_path: Path) -> None:
    plain = spark.sql("SELECT g, MIN(v), MAX(v) FROM VALUES (1, 0.5D), (1, double('NaN')) AS t(g, v) GROUP BY g")
    ((_, least, most),) = plain.collect()
    assert (least, math.isnan(most)) == (0.5, True)
    views = {"extremes": "SELECT g, MIN(v) AS least, MAX(v) AS most FROM t GROUP BY g"}
    kept = Kept(spark, tmp_path, {"t": doubles("g v", (1, 0.5), (1, 2))}, views)
    kept.change("t", inserts=[(1, NAN), (1, NAN)])
    assert kept.bag("extremes") == {(1.0, 0.5, "NaN"): 1}
    kept.change("t", deletes=[(1, NAN)])
    assert kept.bag("extremes") == {(1.0, 0.5, "NaN"): 1}
    kept.change("t", deletes=[(1, NAN)])
    assert kept.bag("extremes") == {(1.0, 0.5, 2.0): 1}


def test_of_two_doubles_that_are_close_the_one_that_was_deleted_goes(spark: Any, tmp_path: Path) -> None:
    views = {"groups": "SELECT v, COUNT(*) AS n FROM t GROUP BY v"}
    stay, go = [(1e-10,), (1e9,)], [(2e-10,), (1e9 + 0.5,)]
    kept = Kept(spark, tmp_path, {"t": doubles("v", *stay, *go)}, views, {"rows": "SELECT v FROM t"})
    kept.update({"t": ([], go)})
    kept.refresh()
    for view in kept.views:
        assert sorted(kept.rows(view)["v"].to_pylist()) == [1e-10, 1e9], view


def test_doubles_that_were_summed_in_another_order_are_no_difference_to_verify(spark: Any, tmp_path: Path) -> None:
    views = {"sums": "SELECT g, SUM(v) AS total FROM t GROUP BY g"}
    groups = range(40)  # in most of them another order gives another last digit, wherever the engine puts the rows
    kept = Kept(spark, tmp_path, {"t": doubles("g v", *((g, g + 0.3) for g in groups))}, views)
    for share in (0.2, 0.7, 1e-3):
        kept.change("t", inserts=[(g, v) for g in groups for v in (g * share, share)])
    found = kept.runner.compare("sums")
    assert found.equal, found


# Columns that come later


def wider(kept: Kept, rows: list[tuple[Any, ...]]) -> None:
    """Somebody else appends rows with one column more, which adds it to the table."""
    schema = kept.state["t"].schema.append(pa.field("more", pa.int64()))
    appended = rows_of(schema, rows)
    write_deltalake(kept.runner.tables["t"].root, appended, mode="append", schema_mode="merge")
    older = kept.state["t"].append_column("more", pa.nulls(kept.state["t"].num_rows, pa.int64()))
    kept.state["t"] = pa.concat_tables([older, appended])


def reopened(kept: Kept, views: Mapping[str, str]) -> Runner:
    """The same views defined again over the tables as they are now, as every start of the advisor does."""
    now = define_all(views, catalog_of(kept.state))
    return Runner(kept.runner.spark, now, kept.runner.tables, kept.runner.warehouse, kept.runner.keeping)


def test_a_view_of_named_columns_follows_changes_after_a_column_was_added(spark: Any, tmp_path: Path) -> None:
    views = {
        "sums": "SELECT g, SUM(x) AS total, MIN(x) AS least FROM t GROUP BY g",
        "known": "SELECT DISTINCT x FROM t",
        "lonely": "SELECT u.g FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.g = u.g)",
    }
    joins = {"rows": "SELECT t.x, u.g FROM t JOIN u ON t.g = u.g"}
    tables = {"t": integers("g x", (1, 5), (1, 6), (2, 7)), "u": integers("g", (1,), (3,))}
    kept = Kept(spark, tmp_path, tables, views, joins)
    wider(kept, [(3, 8, 80), (1, 5, None)])
    kept.follow("after a column was added")
    # Old rows, which have no such column in their files, go; a row changes only where no view looks.
    kept.change("t", inserts=[(1, 4, 40), (3, 8, 81)], deletes=[(1, 5, None), (3, 8, 80)])
    kept.runner = reopened(kept, kept.views)
    assert set(kept.refresh().values()) == {None}
    kept.change("t", deletes=[(1, 5, None), (2, 7, None)])
    assert kept.bag("sums") == {(1, 10, 4): 1, (3, 8, 8): 1}


def test_a_star_means_the_columns_of_its_definition_until_it_is_defined_again(spark: Any, tmp_path: Path) -> None:
    stars = {"every": "SELECT DISTINCT * FROM t"}
    joins = {"rows": "SELECT * FROM t"}
    kept = Kept(spark, tmp_path, {"t": integers("g x", (1, 5), (1, 5), (2, 7))}, stars, joins)
    wider(kept, [(1, 5, 50), (3, 8, 80)])
    narrow = {"every": "SELECT DISTINCT g, x FROM t", "rows": "SELECT g, x FROM t"}
    kept.views = {**narrow, "rows" + BY_DIFFERENTIAL: narrow["rows"]}
    kept.follow("as it was defined")
    assert kept.bag("every") == {(1, 5): 1, (2, 7): 1, (3, 8): 1}
    kept.views = {**stars, **joins, "rows" + BY_DIFFERENTIAL: joins["rows"]}
    kept.runner = reopened(kept, kept.views)
    done = [kept.runner.refresh(view) for view in kept.views]
    assert {(each.ran, each.because) for each in done} == {("recompute", "its definition changed")}
    kept.check("defined again")
    assert kept.bag("every") == {(1, 5, None): 1, (1, 5, 50): 1, (2, 7, None): 1, (3, 8, 80): 1}
    kept.change("t", inserts=[(2, 7, 70)], deletes=[(1, 5, None), (3, 8, 80)])
    assert kept.bag("rows") == {(1, 5, None): 1, (1, 5, 50): 1, (2, 7, None): 1, (2, 7, 70): 1}
