"""The runner on an engine: what is pending, what a refresh writes, what a read needs, and what a crash leaves."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from executors.keeping import Keeping
from executors.runner import Runner
from executors.testing import assert_same_rows, bag, stored_rows
from storage.log import DeltaLog
from storage.staging import Change
from storage.table import Table, create_table
from storage.types import spark_types
from tests.executors.recomputation import on_duckdb
from views.catalog import CLOCK, Catalog, Relation
from views.definition import define_all
from views.errors import ConflictError, ExecutionError, ViewError
from views.filters import parse_filter

pytestmark = pytest.mark.engine

R = pa.table({"k": [1, 2, 2, 3, None], "v": [10, 20, 20, None, 5]})
S = pa.table({"k": [1, 2, 4], "w": ["x", "y", None]})
ODD = pa.table({"order": [1, 2], "Group By": ["a", None], "a.b": [3, 4], "ä ö": [5, 6]})
DEFERRED = Keeping("deferred", "recompute")
IMMEDIATE = Keeping("immediate", "recompute")
TOTALS = "SELECT k, SUM(v) AS total FROM r GROUP BY k"


class Shop:
    """Base tables in a folder, and runners over them with views of one's own."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.warehouse = spark, folder / "warehouse"
        self.tables = {
            name: create_table(spark, folder / "tables" / name, rows, name=name)
            for name, rows in {"r": R, "s": S, "odd": ODD}.items()
        }

    def runner(self, views: Mapping[str, str], keeping: Mapping[str, Keeping] | Keeping = DEFERRED) -> Runner:
        relations = [Relation(n, spark_types(t.log.snapshot().fields), t.key) for n, t in self.tables.items()]
        definitions = define_all(views, Catalog.of(relations))
        kept = dict.fromkeys(views, keeping) if isinstance(keeping, Keeping) else keeping
        return Runner(self.spark, definitions, self.tables, self.warehouse, kept)

    def rows(self) -> dict[str, pa.Table]:
        return {name: stored_rows(table.root) for name, table in self.tables.items()}

    def assert_stored(self, views: Mapping[str, str], *names: str) -> None:
        """The public tables hold what DuckDB makes of the base tables."""
        wanted = on_duckdb(views, self.rows())
        for name in names or views:
            assert_same_rows(stored_rows(self.warehouse / name), wanted[name], name)


@pytest.fixture
def shop(spark: Any, tmp_path: Path) -> Shop:
    return Shop(spark, tmp_path)


def written(folder: Path) -> dict[str, int]:
    """Every file below a folder and when it was last written."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def rows(**columns: list[Any]) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def test_a_view_is_pending_until_it_is_built_and_after_each_update(shop: Shop) -> None:
    views = {"totals": TOTALS, "other": "SELECT w FROM s"}
    runner = shop.runner(views)
    assert runner.pending("totals") == ["it is not built yet"]
    assert runner.stored("totals") is None
    built = runner.refresh("totals")
    assert (built.planned, built.ran, built.version) == ("recompute", "recompute", 0)
    assert "not built yet" in built.because
    runner.refresh("other")
    assert (runner.pending("totals"), runner.pending("other")) == ([], [])
    runner.update({"r": Change(rows(k=[7], v=[1]))})
    assert (runner.pending("totals"), runner.pending("other")) == (["r"], [])
    assert "r changed" in runner.refresh("totals").because
    assert runner.pending("totals") == []
    shop.assert_stored(views)


def test_a_second_refresh_changes_nothing_and_writes_nothing(shop: Shop) -> None:
    runner = shop.runner({"totals": TOTALS})
    runner.refresh("totals")
    before = written(shop.warehouse)
    for again in (runner, shop.runner({"totals": TOTALS})):
        done = again.refresh("totals")
        assert (done.ran, done.because, done.version) == (None, "nothing is pending", None)
    assert written(shop.warehouse) == before


def test_a_refresh_replaces_the_rows_in_one_commit(shop: Shop) -> None:
    runner = shop.runner({"totals": TOTALS})
    runner.refresh("totals")
    runner.update("DELETE FROM r WHERE k = 2")
    assert runner.refresh("totals").version == 1
    path = shop.warehouse / "totals"
    assert DeltaTable(path).version() == 1
    assert (2, 40) in bag(DeltaTable(path, version=0).to_pyarrow_table())
    assert bag(stored_rows(path)) == bag(rows(k=[1, 3, None], total=[10, None, 5]))


def test_a_changed_definition_is_rebuilt_and_said_so(shop: Shop) -> None:
    shop.runner({"v": TOTALS}).refresh("v")
    views = {"v": "SELECT k, SUM(v) AS total FROM r WHERE k > 1 GROUP BY k"}
    runner = shop.runner(views)
    assert runner.pending("v") == ["its definition changed"]
    assert runner.refresh("v").because == "its definition changed"
    assert runner.pending("v") == []
    shop.assert_stored(views)


def test_another_layout_of_the_same_definition_is_not_rebuilt(shop: Shop) -> None:
    shop.runner({"v": TOTALS}).refresh("v")
    again = shop.runner({"v": "select k,  sum(v) as total -- per key\nfrom r\ngroup by k"})
    assert again.refresh("v").ran is None


def test_a_changed_column_list_replaces_the_schema(shop: Shop) -> None:
    shop.runner({"v": TOTALS}).refresh("v")
    views = {"v": "SELECT CAST(k AS STRING) AS k, COUNT(*) AS n, MAX(v) AS most FROM r GROUP BY k"}
    shop.runner(views).refresh("v")
    found = stored_rows(shop.warehouse / "v")
    assert found.column_names == ["k", "n", "most"]
    assert found.schema.field("k").type in (pa.string(), pa.large_string(), pa.string_view())
    shop.assert_stored(views)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("sql", [TOTALS, "SELECT k FROM r"], ids=["same columns", "other columns"])
def test_a_build_that_is_killed_leaves_the_old_rows_readable(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    shop.runner({"v": TOTALS}).refresh("v")
    old = bag(stored_rows(shop.warehouse / "v"))
    runner = shop.runner({"v": sql})
    runner.update({"r": Change(rows(k=[7, 7], v=[1, 2]))})

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    files = len(list((shop.warehouse / "v").rglob("*.parquet")))
    with monkeypatch.context() as patch:
        patch.setattr("storage.log.DeltaLog.commit", killed)
        patch.setattr("storage.table.create_log", killed)
        with pytest.raises(Killed):
            runner.refresh("v")
    assert len(list((shop.warehouse / "v").rglob("*.parquet"))) > files, "it was killed before it wrote"
    assert bag(stored_rows(shop.warehouse / "v")) == old
    after = shop.runner({"v": sql})
    assert after.pending("v")
    assert after.refresh("v").ran == "recompute"
    shop.assert_stored({"v": sql})


def test_a_build_that_is_killed_after_its_commit_is_not_done_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = shop.runner({"v": TOTALS})
    original: Callable[[Runner, str], None] = Runner.build

    def killed(self: Runner, view: str) -> None:
        original(self, view)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "build", killed)
        with pytest.raises(Killed):
            runner.refresh("v")
    assert shop.runner({"v": TOTALS}).refresh("v").ran is None
    shop.assert_stored({"v": TOTALS})


def test_an_empty_view_is_a_table_without_rows(shop: Shop) -> None:
    views = {"none": "SELECT k, v FROM r WHERE k > 100", "one": "SELECT COUNT(*) AS n FROM r WHERE k > 100"}
    runner = shop.runner(views)
    for view in views:
        runner.refresh(view)
    assert stored_rows(shop.warehouse / "none").num_rows == 0
    assert stored_rows(shop.warehouse / "one").to_pylist() == [{"n": 0}]
    assert runner.query("none").toArrow().column_names == ["k", "v"]
    runner.update({"r": Change(rows(k=[101], v=[1]))})
    runner.refresh("none")
    assert stored_rows(shop.warehouse / "none").to_pylist() == [{"k": 101, "v": 1}]
    runner.update("DELETE FROM r WHERE k = 101")
    runner.refresh("none")
    assert stored_rows(shop.warehouse / "none").num_rows == 0


def test_odd_column_names_are_stored_and_read_as_they_are(shop: Shop) -> None:
    views = {"odd view": "SELECT *, `a.b` + 1 AS `a b,c` FROM odd", "above": "SELECT `a b,c`, `ä ö` FROM `odd view`"}
    runner = shop.runner(views)
    for view in views:
        runner.refresh(view)
    assert stored_rows(shop.warehouse / "odd view").column_names == ["order", "Group By", "a.b", "ä ö", "a b,c"]
    shop.assert_stored(views)
    where = parse_filter("`a b,c` = 5 AND `order` = 2", runner.definitions["odd view"].columns, "odd view")
    assert runner.query("odd view", where).toArrow().column("a.b").to_pylist() == [4]
    virtual = shop.runner(views, Keeping())
    assert bag(virtual.query("odd view", where).toArrow()) == bag(runner.query("odd view", where).toArrow())


def test_a_virtual_view_under_a_stored_one_is_part_of_it(shop: Shop) -> None:
    views = {"below": "SELECT k, v FROM r WHERE v > 5", "above": "SELECT k, COUNT(*) AS n FROM below GROUP BY k"}
    kept = {"above": DEFERRED}
    runner = shop.runner(views, kept)
    assert set(runner.sources("above")) == {"r"}
    runner.refresh("above")
    assert not (shop.warehouse / "below").exists()
    shop.assert_stored(views, "above")
    runner.update({"r": Change(rows(k=[1], v=[99]))})
    assert runner.pending("above") == ["r"]
    runner.refresh("above")
    shop.assert_stored(views, "above")
    narrower = {**views, "below": "SELECT k, v FROM r WHERE v > 15"}
    changed = shop.runner(narrower, kept)
    assert changed.pending("above") == ["its definition changed"]
    changed.refresh("above")
    shop.assert_stored(narrower, "above")


def test_a_stored_view_under_a_stored_one_is_refreshed_first(shop: Shop) -> None:
    views = {"below": TOTALS, "above": "SELECT SUM(total) AS all_of_it FROM below"}
    runner = shop.runner(views)
    runner.refresh("above")
    assert set(runner.sources("above")) == {"below"}
    runner.update({"r": Change(rows(k=[1], v=[1000]))})
    assert runner.query("above").toArrow().to_pylist() == [{"all_of_it": 1055}]
    shop.assert_stored(views)


def test_a_view_that_reads_what_is_not_built_says_what_to_do(shop: Shop) -> None:
    runner = shop.runner({"below": TOTALS})
    with pytest.raises(ExecutionError, match="view 'below' is not built yet; run advisor apply"):
        runner.table("below")


def test_immediate_views_follow_an_update_and_deferred_ones_wait(shop: Shop) -> None:
    views = {"now": TOTALS, "later": TOTALS, "elsewhere": "SELECT w FROM s", "over": "SELECT COUNT(*) AS n FROM now"}
    runner = shop.runner(views, {"now": IMMEDIATE, "later": DEFERRED, "elsewhere": IMMEDIATE, "over": IMMEDIATE})
    for view in views:
        runner.refresh(view)
    versions, done = runner.update({"r": Change(rows(k=[9], v=[9]), rows(k=[1], v=[10]))})
    assert versions == {"r": 1}
    assert [each.view for each in done if each.ran] == ["now", "over"]
    shop.assert_stored(views, "now", "over", "elsewhere")
    assert runner.pending("later") == ["r"]
    assert (9, 9) not in bag(stored_rows(shop.warehouse / "later"))
    assert (9, 9) in bag(runner.query("later").toArrow())
    shop.assert_stored(views)


def test_an_update_without_effect_sets_nothing_off(shop: Shop) -> None:
    runner = shop.runner({"now": TOTALS}, IMMEDIATE)
    runner.refresh("now")
    assert runner.update("DELETE FROM r WHERE k = 12345") == ({}, [])


def test_one_update_of_two_tables_is_one_refresh(shop: Shop) -> None:
    views = {"joined": "SELECT r.k, r.v, s.w FROM r JOIN s ON r.k = s.k"}
    runner = shop.runner(views, IMMEDIATE)
    runner.refresh("joined")
    versions, done = runner.update({"r": Change(rows(k=[4], v=[4])), "s": Change(rows(k=[3], w=["z"]))})
    assert versions == {"r": 1, "s": 1}
    assert [each.view for each in done] == ["joined"]
    shop.assert_stored(views)


def test_recompute_runs_where_an_algorithm_is_missing_and_says_so(shop: Shop) -> None:
    runner = shop.runner({"v": TOTALS}, Keeping("deferred", "no_such_algorithm"))
    runner.refresh("v")
    runner.update("DELETE FROM r WHERE k = 1")
    done = runner.refresh("v")
    assert (done.planned, done.ran) == ("no_such_algorithm", "recompute")
    assert "no_such_algorithm" in done.because


def test_what_the_engine_refuses_is_a_view_error(shop: Shop) -> None:
    runner = shop.runner({"v": "SELECT no_such_function(k) AS x FROM r"}, Keeping())
    with pytest.raises(ViewError, match=r"(?i)view 'v': the engine refuses it: .*no_such_function"):
        runner.query("v").toArrow()
    with pytest.raises(ViewError, match="there is no view 'w'"):
        runner.query("w")


@pytest.fixture
def layered(shop: Shop) -> Shop:
    """Two tables of four files each, k from 0 to 39 in tens."""
    for name in ("a", "b"):
        parts = [rows(k=list(range(n, n + 10)), x=[n] * 10) for n in range(0, 40, 10)]
        table = create_table(shop.spark, shop.warehouse.parent / "tables" / name, parts[0], name=name)
        shop.tables[name] = table
        for part in parts[1:]:
            write_deltalake(table.root, part, mode="append")
        table.log.refresh()
        assert table.log.snapshot().statistics.num_rows == 4
    return shop


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Table and number of files of each read that the runner makes."""
    found: list[tuple[str, int]] = []
    original = Runner.registered

    def registered(self: Runner, table: Table, mask: Any = None) -> str:
        found.append((table.name, len(table.log.snapshot().files(mask))))
        return original(self, table, mask)

    monkeypatch.setattr(Runner, "registered", registered)
    return found


@pytest.mark.parametrize(
    ("sql", "where", "files"),
    [
        ("SELECT k, x FROM a", None, {"a": 4}),
        ("SELECT k, x FROM a", "k = 25", {"a": 1}),
        ("SELECT k, x FROM a WHERE k >= 15", "x < 25", {"a": 2}),
        ("SELECT a.k, b.x FROM a JOIN b ON a.k = b.k", "k IN (3, 35)", {"a": 2, "b": 2}),
        ("SELECT k, COUNT(*) AS n FROM a GROUP BY k", "k = 7", {"a": 1}),
        ("SELECT k, COUNT(*) AS n FROM a GROUP BY k", "n > 0", {"a": 4}),
        ("SELECT k, x FROM a UNION ALL SELECT k, x FROM b WHERE k < 20", "k > 15", {"a": 3, "b": 1}),
        ("SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.x = 10)", "k < 5", {"a": 1}),
        ("SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) AS n FROM a", "k = 31", {"a": 1}),
    ],
)
def test_a_filter_reaches_the_base_tables_and_prunes_their_files(
    layered: Shop, files_read: list[tuple[str, int]], sql: str, where: str | None, files: dict[str, int]
) -> None:
    runner = layered.runner({"v": sql}, Keeping())
    filtered = f"SELECT * FROM ({sql}) AS v" + (f" WHERE {where}" if where else "")
    condition = parse_filter(where, runner.definitions["v"].columns, "v") if where else None
    found = runner.query("v", condition).toArrow()
    assert files.items() <= dict(files_read).items()
    assert_same_rows(found, on_duckdb({"v": filtered}, layered.rows())["v"], filtered)


def test_a_filter_passes_through_virtual_views(layered: Shop, files_read: list[tuple[str, int]]) -> None:
    views = {"below": "SELECT k AS key, x FROM a", "above": "SELECT below.key, b.x FROM below JOIN b ON key = b.k"}
    runner = layered.runner(views, Keeping())
    found = runner.query("above", parse_filter("key = 12", ["key", "x"], "above")).toArrow()
    assert found.to_pylist() == [{"key": 12, "x": 10}]
    assert sorted(files_read) == [("a", 1), ("b", 1)]


def test_the_condition_of_a_stored_view_prunes_its_build(layered: Shop, files_read: list[tuple[str, int]]) -> None:
    views = {"v": "SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.k BETWEEN 12 AND 18"}
    layered.runner(views).refresh("v")
    assert sorted(files_read) == [("a", 1), ("b", 1)]
    layered.assert_stored(views)


def at(moment: dt.datetime) -> SimpleNamespace:
    return SimpleNamespace(time=moment.timestamp, perf_counter=time.perf_counter)


def test_a_view_of_today_is_pending_when_the_day_turns(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    views = {"dated": "SELECT k FROM r WHERE DATE '2999-01-01' > CURRENT_DATE", "plain": TOTALS}
    runner = shop.runner(views)
    for view in views:
        runner.refresh(view)
    now = dt.datetime.now(dt.UTC)
    monkeypatch.setattr("executors.runner.time", at(now.replace(hour=23, minute=59, second=59)))
    runner.look()
    assert runner.pending("dated") == []
    monkeypatch.setattr("executors.runner.time", at((now + dt.timedelta(days=1)).replace(hour=0, minute=0, second=1)))
    runner.look()
    assert (runner.pending("dated"), runner.pending("plain")) == ([CLOCK], [])
    assert runner.refresh("dated").ran == "recompute"


def test_a_view_of_this_moment_is_always_pending(shop: Shop) -> None:
    views = {
        "below": "SELECT k, CURRENT_TIMESTAMP() AS moment FROM r",
        "above": "SELECT MAX(moment) AS m FROM below",
    }
    runner = shop.runner(views, {"above": DEFERRED})
    runner.refresh("above")
    (first,) = stored_rows(shop.warehouse / "above")["m"].to_pylist()
    runner.look()
    assert runner.pending("above") == [CLOCK]
    runner.refresh("above")
    (second,) = stored_rows(shop.warehouse / "above")["m"].to_pylist()
    assert second > first


def test_compare_finds_rows_that_are_too_many_and_rows_that_are_missing(shop: Shop) -> None:
    runner = shop.runner({"copy": "SELECT k, v FROM r"})
    runner.refresh("copy")
    assert runner.compare("copy").equal
    path = shop.warehouse / "copy"
    write_deltalake(path, rows(k=[2], v=[20]), mode="append")
    found = runner.compare("copy")
    assert (found.equal, found.missing, found.unexpected) == (False, 0, 1)
    assert found.example == "unexpected: k = 2, v = 20"
    DeltaTable(path).delete("k = 2")
    found = runner.compare("copy")
    assert (found.equal, found.missing, found.unexpected) == (False, 2, 0)
    assert found.example == "missing: k = 2, v = 20"


def test_compare_looks_at_the_base_tables_through_stored_views(shop: Shop) -> None:
    views = {"below": "SELECT k, v FROM r", "above": "SELECT COUNT(*) AS n FROM below"}
    runner = shop.runner(views)
    runner.refresh("above")
    write_deltalake(shop.warehouse / "below", rows(k=[2], v=[20]), mode="append")
    assert runner.refresh("above").ran == "recompute"
    found = runner.compare("above")
    assert (found.missing, found.unexpected) == (1, 1)


def test_a_transaction_of_two_tables_is_seen_whole_or_not_at_all(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process commits while a runner looks: after the first table was looked at, and before the second."""
    runner, other = shop.runner({"v": TOTALS}), Shop.__new__(Shop)
    other.spark, other.warehouse = shop.spark, shop.warehouse
    other.tables = {name: Table(shop.spark, table.root, name=name) for name, table in shop.tables.items()}
    writer, original, looks = other.runner({"v": TOTALS}), DeltaLog.refresh, list[DeltaLog]()

    def refresh(self: DeltaLog) -> int:
        found = original(self)
        if self is shop.tables["r"].log:
            looks.append(self)
            if len(looks) == 1:
                writer.update({"r": Change(rows(k=[4], v=[4])), "s": Change(rows(k=[3], w=["z"]))})
        return found

    monkeypatch.setattr(DeltaLog, "refresh", refresh)
    runner.look()
    assert (shop.tables["r"].version, shop.tables["s"].version) == (1, 1)
    assert len(looks) == 3, "once more than it takes to find the same versions twice"


@pytest.mark.parametrize("algorithm", ["counting", "recompute"])
def test_what_a_stored_view_leaves_behind_is_deleted_when_nobody_needs_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    views = {"below": TOTALS, "above": "SELECT SUM(total) AS all_of_it FROM below"}
    kept = Keeping("deferred", algorithm)
    runner = shop.runner(views, kept)
    runner.refresh("above")
    for k in range(20, 24):
        runner.update({"r": Change(rows(k=[k], v=[1]), rows(k=[k - 1], v=[1]) if k > 20 else None)})
        runner.refresh("below")
    files = set(shop.warehouse.rglob("*.parquet"))
    monkeypatch.setattr("executors.runner.KEPT_HOURS", 0)
    monkeypatch.setattr("executors.runner.TIDY_EVERY", 1)
    runner.update({"r": Change(rows(k=[30], v=[1]))})
    runner.refresh("below")
    assert files - set(shop.warehouse.rglob("*.parquet")), "nothing was deleted"
    assert runner.refresh("above").because == "below changed", "what it has not seen was kept"
    shop.assert_stored(views)

    def refused(*_: object) -> None:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(Table, "vacuum", refused)
    runner.update({"r": Change(rows(k=[31], v=[1]))})
    assert runner.refresh("above").ran is not None
    shop.assert_stored(views)


@pytest.mark.parametrize("at", ["rows_now", "evaluate", "evaluating", "merge", "build"])
def test_what_another_process_refreshes_meanwhile_is_neither_lost_nor_doubled(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """It refreshes the view, and the one below it, when this one has looked and is about to go on."""
    views = {"below": TOTALS, "above": "SELECT total, COUNT(*) AS n FROM below GROUP BY total"}
    runner = shop.runner(views, Keeping("deferred", "counting"))
    runner.refresh("above" if at in ("evaluating", "merge") else "below")
    runner.update({"r": Change(rows(k=[40], v=[7]))})
    runner.refresh("below")
    other = shop.runner(views, Keeping("deferred", "counting"))
    other.tables = {name: Table(shop.spark, table.root, name=name) for name, table in shop.tables.items()}
    original, interrupted = getattr(Runner, at), list[str]()

    def late(self: Runner, *given: Any, **how: Any) -> Any:
        if self is runner and not interrupted:
            interrupted.append(at)
            other.look()
            other.update({"r": Change(rows(k=[50, 51], v=[7, 7]), rows(k=[1], v=[10]))})
            other.refresh("above" if at in ("evaluating", "merge", "build") else "below")
        return original(self, *given, **how)

    with monkeypatch.context() as patch:
        patch.setattr(Runner, at, late)
        runner.refresh("above")
    assert interrupted
    for k in (60, 61):
        runner.look()
        runner.update({"r": Change(rows(k=[k], v=[7]))})
        assert runner.refresh("above").ran == "counting"
        shop.assert_stored(views)


@pytest.mark.parametrize("at", ["evaluating", "merge", "states"])
def test_a_view_that_another_process_drops_meanwhile_is_a_conflict_and_is_not_made_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    views = {"v": TOTALS}
    runner = shop.runner(views, Keeping("deferred", "counting"))
    runner.refresh("v")
    runner.update({"r": Change(rows(k=[40], v=[7]))})
    other, original = shop.runner(views, Keeping()), getattr(Runner, at)

    def late(self: Runner, *given: Any, **how: Any) -> Any:
        other.drop_leftovers(views)
        return original(self, *given, **how)

    with monkeypatch.context() as patch:
        patch.setattr(Runner, at, late)
        with pytest.raises(ConflictError, match="was dropped while it was refreshed; another process has switched it"):
            runner.refresh("v")
    assert not list(shop.warehouse.glob("*/_delta_log"))
    runner.look()
    assert runner.refresh("v").because == "it is not built yet"
    shop.assert_stored(views)
