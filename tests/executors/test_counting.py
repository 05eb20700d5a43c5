"""Counting on the worked examples of GMS93 and on the traps that incremental maintenance is known for.

Every change is applied through the runner to stored Delta tables, and read back as any Delta reader would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from executors.counting import Counting
from executors.runner import Keeping, Runner
from executors.testing import assert_same_rows, bag, stored_rows
from storage.staging import Change
from storage.table import create_table
from tests.executors.recomputation import on_duckdb
from views.catalog import Catalog, Relation
from views.definition import define_all
from views.errors import ExecutionError

pytestmark = pytest.mark.engine

HOP = "SELECT r1.s, r2.d FROM link r1, link r2 WHERE r1.d = r2.s"
TRI_HOP = "SELECT hop.s, link.d FROM hop, link WHERE hop.d = link.s"


class Kept:
    """Views that counting keeps over tables, all of them stored unless named virtual."""

    def __init__(self, spark: Any, folder: Path, tables: Mapping[str, pa.Table], views: Mapping[str, str]) -> None:
        self.views = dict(views)
        self.state = dict(tables)
        made = {name: create_table(spark, folder / "tables" / name, rows, name=name) for name, rows in tables.items()}
        catalog = Catalog.of(Relation(name, dict.fromkeys(rows.column_names, "")) for name, rows in tables.items())
        counting = Keeping("deferred", "counting")
        keeping = dict.fromkeys(views, counting)
        self.runner = Runner(spark, define_all(views, catalog), made, folder / "warehouse", keeping)
        self.refresh()

    def refresh(self) -> dict[str, str | None]:
        self.runner.look()
        return {view: self.runner.refresh(view).ran for view in self.views}

    def change(self, table: str, inserts: list[tuple[Any, ...]] = (), deletes: list[tuple[Any, ...]] = ()) -> None:  # type: ignore[assignment]
        """One transaction, applied to every view by counting, and checked against DuckDB."""
        schema = self.state[table].schema
        come, go = (rows_of(schema, rows) if rows else None for rows in (inserts, deletes))
        self.runner.update({table: Change(come, go)})
        counts = bag(self.state[table])
        counts.update(bag(come) if come is not None else {})
        counts.subtract(bag(go) if go is not None else {})
        self.state[table] = rows_of(schema, list(counts.elements()))
        ran = self.refresh()
        assert set(ran.values()) <= {"counting", None}
        for view, wanted in on_duckdb(self.views, self.state).items():
            assert_same_rows(self.rows(view), wanted, f"{view} after a change of {table}", 6)

    def rows(self, view: str) -> pa.Table:
        return stored_rows(self.runner.warehouse / view)

    def pairs(self, view: str) -> Counter[str]:
        """Rows of two node names as the paper writes them: {ac: 2, ae: 1}."""
        return Counter({"".join(map(str, row)): count for row, count in bag(self.rows(view)).items()})


def rows_of(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def links(text: str) -> pa.Table:
    schema = pa.schema([("s", pa.string()), ("d", pa.string())])
    return rows_of(schema, [(pair[0], pair[1]) for pair in text.split()])


def test_gms93_example_1_1_a_hop_with_two_derivations_survives_the_loss_of_one(spark: Any, tmp_path: Path) -> None:
    kept = Kept(
        spark, tmp_path, {"link": links("ab bc be ad dc")}, {"hop": HOP, "hops": f"SELECT DISTINCT * FROM ({HOP})"}
    )
    assert kept.pairs("hop") == {"ac": 2, "ae": 1}
    assert kept.pairs("hops") == {"ac": 1, "ae": 1}
    kept.change("link", deletes=[("a", "b")])
    assert kept.pairs("hop") == {"ac": 1}
    assert kept.pairs("hops") == {"ac": 1}


def test_gms93_example_4_2_counts_of_hop_and_tri_hop(spark: Any, tmp_path: Path) -> None:
    kept = Kept(spark, tmp_path, {"link": links("ab ad dc bc ch fg")}, {"hop": HOP, "tri_hop": TRI_HOP})
    assert kept.pairs("hop") == {"ac": 2, "dh": 1, "bh": 1}
    assert kept.pairs("tri_hop") == {"ah": 2}
    kept.change("link", inserts=[("d", "f"), ("a", "f")], deletes=[("a", "b")])
    assert kept.pairs("hop") == {"ac": 1, "af": 1, "ag": 1, "dg": 1, "dh": 1, "bh": 1}
    assert kept.pairs("tri_hop") == {"ah": 1, "ag": 1}


def test_gms93_example_5_1_a_count_that_only_moves_does_not_travel_upward(spark: Any, tmp_path: Path) -> None:
    views = {"hop": f"SELECT DISTINCT * FROM ({HOP})", "tri_hop": TRI_HOP}
    kept = Kept(spark, tmp_path, {"link": links("ab ad dc bc ch fg")}, views)
    hop = kept.runner.table("hop")
    before = hop.version
    kept.change("link", inserts=[("d", "f"), ("a", "f")], deletes=[("a", "b")])
    change = hop.changes(before).toArrow()
    assert {row[:2]: row[2] for row in bag(change)} == {("a", "f"): 1, ("a", "g"): 1, ("d", "g"): 1}
    assert kept.pairs("tri_hop") == {"ah": 1, "ag": 1}


def test_gms93_example_6_1_three_hops_but_not_two(spark: Any, tmp_path: Path) -> None:
    views = {
        "hop": HOP,
        "tri_hop": TRI_HOP,
        "only_tri_hop": "SELECT * FROM tri_hop t WHERE NOT EXISTS (SELECT 1 FROM hop h WHERE h.s = t.s AND h.d = t.d)",
    }
    kept = Kept(spark, tmp_path, {"link": links("ab ae af ag bc cd ck ed fd gh hk")}, views)
    assert kept.pairs("only_tri_hop") == {"ak": 2}
    kept.change("link", deletes=[("e", "d")])
    assert kept.pairs("only_tri_hop") == {"ak": 2}
    kept.change("link", deletes=[("f", "d")])
    assert kept.pairs("only_tri_hop") == {"ak": 2, "ad": 1}


def test_gms93_example_6_2_the_cheapest_hop(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("s", pa.string()), ("d", pa.string()), ("c", pa.int64())])
    link = rows_of(schema, [("a", "x", 4), ("x", "b", 5), ("a", "y", 6), ("y", "b", 9)])
    views = {
        "hop": "SELECT l1.s, l2.d, l1.c + l2.c AS c FROM link l1, link l2 WHERE l1.d = l2.s",
        "min_cost_hop": "SELECT s, d, MIN(c) AS m FROM hop GROUP BY s, d",
    }
    kept = Kept(spark, tmp_path, {"link": link}, views)
    assert bag(kept.rows("min_cost_hop")) == {("a", "b", 9): 1}
    kept.change("link", inserts=[("a", "z", 1), ("z", "b", 2)])
    assert bag(kept.rows("min_cost_hop")) == {("a", "b", 3): 1}
    kept.change("link", deletes=[("z", "b", 2)])
    assert bag(kept.rows("min_cost_hop")) == {("a", "b", 9): 1}


def test_the_traps_of_aggregates(spark: Any, tmp_path: Path) -> None:
    """All-NULL sums, groups that vanish and return, extremes that go, distinct counts, one row of an empty table."""
    schema = pa.schema([("g", pa.int64()), ("x", pa.int64()), ("v", pa.float64())])
    rows = rows_of(schema, [(1, None, 0.5), (1, 3, 0.25), (2, 5, -0.0), (2, 5, None), (None, 7, 2.0)])
    views = {
        "groups": """SELECT g, SUM(x) AS total, AVG(x) AS mean, MIN(x) AS least, MAX(x) AS most, COUNT(x) AS n
            FROM t GROUP BY g""",
        "variances": "SELECT g, VAR_POP(x) AS spread FROM t GROUP BY g",
        "distinct_count": "SELECT g, COUNT(DISTINCT x) AS n FROM t GROUP BY g",
        "all_of_it": "SELECT COUNT(*) AS n, SUM(x) AS total, MAX(v) AS most FROM t",
        "cases": "SELECT g, SUM(CASE WHEN x > 3 THEN 1 ELSE 0 END) AS large, SUM(v) AS v FROM t GROUP BY g",
        "sizes": "SELECT n, COUNT(*) AS groups FROM groups GROUP BY n",
    }
    kept = Kept(spark, tmp_path, {"t": rows}, views)
    kept.change("t", deletes=[(1, 3, 0.25)])
    assert ((1, None, None, None, None, 0) in bag(kept.rows("groups"))) is True
    kept.change("t", deletes=[(2, 5, -0.0)])
    kept.change("t", deletes=[(2, 5, None), (None, 7, 2.0), (1, None, 0.5)])
    assert bag(kept.rows("all_of_it")) == {(0, None, None): 1}
    assert kept.rows("groups").num_rows == 0
    kept.change("t", inserts=[(2, 9, 1.5), (2, 9, 1.5), (2, 1, 3.5)])
    kept.change("t", inserts=[(2, 1, 0.5)], deletes=[(2, 9, 1.5)])


def test_the_traps_of_joins_and_negation(spark: Any, tmp_path: Path) -> None:
    """NULL keys, the last match that goes and comes back, NOT IN with NULLs, self joins, keys that change."""
    r = rows_of(pa.schema([("a", pa.int64()), ("b", pa.int64())]), [(1, 1), (1, 1), (2, None), (None, 3)])
    s = rows_of(pa.schema([("b", pa.int64()), ("c", pa.int64())]), [(1, 10), (3, None)])
    views = {
        "padded": "SELECT r.a, s.c FROM r LEFT JOIN s ON r.b = s.b",
        "both": "SELECT r.a, s.c FROM r FULL JOIN s ON r.b = s.b AND s.c > 5",
        "not_in": "SELECT a FROM r WHERE b NOT IN (SELECT c FROM s)",
        "pairs": "SELECT x.a, y.b FROM r x JOIN r y ON x.a = y.b",
        "less": "SELECT b FROM r EXCEPT ALL SELECT b FROM s",
        "best": """SELECT a, b FROM (
            SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC, a) AS n FROM r
        ) WHERE n = 1""",
    }
    kept = Kept(spark, tmp_path, {"r": r, "s": s}, views)
    kept.change("s", deletes=[(1, 10)])
    kept.change("s", inserts=[(1, 11), (1, 11)])
    kept.change("s", deletes=[(3, None)])
    kept.change("r", inserts=[(3, 1), (1, 2)], deletes=[(1, 1)])
    kept.change("r", inserts=[(2, 2)], deletes=[(2, None)])
    kept.change("r", deletes=[(1, 1), (None, 3), (3, 1), (1, 2), (2, 2)])
    kept.change("r", inserts=[(1, 1), (1, None)])


def test_a_refresh_repeated_changes_nothing_and_an_empty_change_evaluates_nothing(spark: Any, tmp_path: Path) -> None:
    kept = Kept(spark, tmp_path, {"link": links("ab bc cd")}, {"hop": HOP})
    version = kept.runner.table("hop").version
    assert kept.refresh() == {"hop": None}
    assert kept.runner.table("hop").version == version
    link = kept.runner.tables["link"]
    kept.change("link", inserts=[("d", "e")])
    assert link.compact() > 0  # a new version, in which no row is another
    kept.runner.look()
    done = kept.runner.refresh("hop")
    assert (done.ran, kept.runner.pending("hop")) == ("counting", [])
    assert kept.pairs("hop") == {"ac": 1, "bd": 1, "ce": 1}


def test_a_row_that_is_gone_already_stops_the_commit(spark: Any, tmp_path: Path) -> None:
    """GMS93 Lemma 4.1: no count falls below zero, unless a change was lost or came twice."""
    from deltalake import DeltaTable

    kept = Kept(spark, tmp_path, {"link": links("ab bc cd")}, {"hop": HOP})
    DeltaTable(tmp_path / "warehouse" / "hop").delete("s = 'a'")
    kept.runner.update("DELETE FROM link WHERE s = 'a'")
    kept.runner.look()
    with pytest.raises(ExecutionError, match="hop: a row to take away is not there: s = 'a', d = 'c'"):
        kept.runner.refresh("hop")


def test_a_view_that_is_nested_too_deeply_is_rebuilt_and_says_why(spark: Any, tmp_path: Path) -> None:
    deep = "SELECT s, d FROM link"
    for _ in range(8):
        deep = f"SELECT a.s, b.d FROM ({deep}) AS a LEFT JOIN link AS b ON a.d = b.s"
    kept = Kept(spark, tmp_path, {"link": links("ab bc cd")}, {"deep": deep})
    kept.runner.update("DELETE FROM link WHERE s = 'a'")
    kept.runner.look()
    plan = Counting().plan(kept.runner.definitions["deep"], ["link"])
    assert isinstance(plan, tuple)
    assert plan[0].code == "NOT_INCREMENTAL.NESTED"
    done = kept.runner.refresh("deep")
    assert (done.planned, done.ran) == ("counting", "recompute")
    assert "counting does not apply" in done.because


def test_a_virtual_view_below_a_stored_one_is_opened_up(spark: Any, tmp_path: Path) -> None:
    views = {"hop": HOP, "out": "SELECT s, COUNT(*) AS n FROM hop GROUP BY s"}
    kept = Kept(spark, tmp_path, {"link": links("ab bc be ad dc")}, views)
    kept.runner.keeping = {"out": Keeping("deferred", "counting")}
    kept.runner.update("DELETE FROM link WHERE s = 'a' AND d = 'b'")
    kept.runner.look()
    assert kept.runner.refresh("out").because == "its definition changed"  # hop is part of it now
    kept.runner.update("DELETE FROM link WHERE s = 'd'")
    kept.runner.look()
    assert kept.runner.refresh("out").ran == "counting"
    assert kept.runner.compare("out").equal
