"""Counting on the worked examples of GMS93, and what it does when a change is empty, lost or too much.

Every change is applied through the runner to stored Delta tables, and read back as any Delta reader would.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from executors.counting import Counting
from executors.keeping import Keeping
from executors.testing import bag
from tests.executors.kept import Kept, rows_of
from views.errors import ExecutionError

pytestmark = pytest.mark.engine

HOP = "SELECT r1.s, r2.d FROM link r1, link r2 WHERE r1.d = r2.s"
TRI_HOP = "SELECT hop.s, link.d FROM hop, link WHERE hop.d = link.s"


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
