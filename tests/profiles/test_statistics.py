"""Statistics of base tables: where each number comes from, and the one line for data that cannot be read."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from profiles.history import update_history
from profiles.selectivity import conjunction, selectivity
from profiles.sources import table_statistics
from profiles.statistics import Estimate, TableStatistics
from profiles.workload import load
from storage.log import Commit
from views.conditions import AllOf, AnyOf, Column, Comparison, Condition, Negation, Opaque
from views.errors import TableError

DAY = 86_400_000


def statistics(folder: Path, table: str) -> TableStatistics:
    path = folder / "workload.yaml"
    path.write_text(f"tables:\n  t: {table}\nviews: {{}}\n", encoding="utf-8")
    return table_statistics(load(path), "t")


def rows(count: int) -> pa.Table:
    days = [date(2024, 1, 1 + i % 28) for i in range(count)]
    return pa.table({"k": pa.array(range(count), pa.int64()), "d": days, "s": [f"text {i}" for i in range(count)]})


def test_declared_statistics_are_declared(tmp_path: Path) -> None:
    found = statistics(tmp_path, "{rows: 500, row_bytes: 20, updates: {per_day: 4, rows: 7, inserts: 1}}")
    assert (found.rows.value, found.rows.source) == (500, "declared")
    assert (found.updates_per_day.value, found.rows_per_update.value) == (4, 7)
    assert found.changes_per_row == 1


def test_what_nobody_says_is_a_default_and_called_so(tmp_path: Path) -> None:
    found = statistics(tmp_path, "{table: db.orders}")
    estimates = (found.rows, found.row_bytes, found.updates_per_day, found.rows_per_update)
    assert [estimate.source for estimate in estimates] == ["default"] * 4
    assert found.updates_per_day.value == 0


def test_declared_types_give_the_width_of_a_row(tmp_path: Path) -> None:
    found = statistics(tmp_path, '{rows: 5, columns: {a: bigint, b: "decimal(15,2)", c: int}}')
    assert (found.row_bytes.value, found.row_bytes.source) == (20, "derived")


def test_times_of_day_declare_that_many_updates(tmp_path: Path) -> None:
    assert statistics(tmp_path, '{rows: 5, updates: {at: ["02:00", "14:00"]}}').updates_per_day.value == 2


def test_a_delta_table_is_read_from_its_log(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", rows(50))
    write_deltalake(tmp_path / "data", rows(50), mode="append")
    before = sorted(p.relative_to(tmp_path) for p in (tmp_path / "data").rglob("*"))
    found = statistics(tmp_path, "{path: data, key: [k]}")
    assert (found.rows.value, found.rows.source) == (100, "measured")
    assert found.row_bytes.source == "measured"
    assert found.ranges["k"] == (0.0, 49.0, "measured")
    assert found.ranges["d"] == ("2024-01-01", "2024-01-28", "measured")
    assert found.columns == {"k": "bigint", "d": "date", "s": "string"}
    assert "version 1" in found.fingerprint
    assert (found.updates_per_day.value, found.rows_per_update.value) == (1, 50)
    assert sorted(p.relative_to(tmp_path) for p in (tmp_path / "data").rglob("*")) == before


def test_what_is_declared_wins_over_the_log(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", rows(50))
    write_deltalake(tmp_path / "data", rows(50), mode="append")
    found = statistics(tmp_path, "{path: data, row_bytes: 7, updates: {per_day: 96}, domains: {k: [0, 9]}}")
    assert (found.row_bytes.value, found.updates_per_day.value) == (7, 96)
    assert found.ranges["k"] == (0, 9, "declared")


def test_an_empty_delta_table_has_no_rows_and_a_default_width(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", rows(0))
    found = statistics(tmp_path, "{path: data}")
    assert found.rows == Estimate(0, 0, 0, "measured")
    assert found.row_bytes.source == "default"


def test_deletes_and_updates_are_counted_from_the_log(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "data", rows(50))
    table = DeltaTable(tmp_path / "data")
    table.delete("k < 10")
    table.update(updates={"s": "'x'"}, predicate="k >= 40")
    table.optimize.compact()
    found = statistics(tmp_path, "{path: data}")
    assert (found.updates_per_day.value, found.rows_per_update.value) == (2, 10)
    assert found.changes_per_row == pytest.approx(1.5)


def test_the_rate_is_over_the_observed_span() -> None:
    commits = [_commit(v, v * DAY // 4, "WRITE", {"num_added_rows": 8}) for v in range(41)]
    commits += [_commit(41 + v, 10 * DAY + v, "OPTIMIZE", {}) for v in range(50)]
    found = update_history(commits[::-1], Path())
    assert found.per_day is not None
    assert found.per_day.value == pytest.approx(4, rel=0.01)
    assert found.per_day.source == "measured"
    assert found.rows is not None
    assert (found.rows.value, found.changes_per_row) == (8, 1)


def test_commits_within_a_moment_are_not_thousands_a_day() -> None:
    found = update_history([_commit(v, v, "WRITE", {}) for v in range(4)][::-1], Path())
    assert found.per_day is not None
    assert (found.per_day.value, found.per_day.source) == (3, "derived")
    assert found.rows is None


def test_rows_that_a_merge_only_copied_are_not_changes() -> None:
    merge = {"numTargetRowsInserted": "3", "numTargetRowsUpdated": "1", "numTargetRowsCopied": "900"}
    merge["numOutputRows"] = "904"
    found = update_history([_commit(1, DAY, "MERGE", merge), _commit(0, 1, "WRITE", {})], Path())
    assert found.rows is not None
    assert (found.rows.value, found.changes_per_row) == (4, 1.25)


def _commit(version: int, at: int, operation: str, metrics: dict[str, object]) -> Commit:
    return Commit(version, {"timestamp": at + 1, "operation": operation, "operationMetrics": metrics})


def test_a_parquet_folder_is_read_from_its_footers(tmp_path: Path) -> None:
    (tmp_path / "data" / "p=1").mkdir(parents=True)
    pq.write_table(rows(30), tmp_path / "data" / "a.parquet")
    pq.write_table(rows(20), tmp_path / "data" / "p=1" / "b.parquet")
    (tmp_path / "data" / "_SUCCESS").touch()
    found = statistics(tmp_path, "{path: data}")
    assert (found.rows.value, found.rows.source) == (50, "measured")
    assert found.ranges["k"] == (0.0, 29.0, "measured")
    assert not (tmp_path / "data" / "_delta_log").exists()


def test_text_files_are_estimated_from_their_size(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n" + "1,2\n" * 999)
    found = statistics(tmp_path, "{path: data.csv}")
    assert (found.rows.value, found.rows.source) == (1000, "derived")
    (tmp_path / "data.csv").write_text("")
    assert statistics(tmp_path, "{path: data.csv}").rows.value == 0


def corrupt_log(folder: Path) -> None:
    write_deltalake(folder / "data", rows(5))
    (folder / "data" / "_delta_log" / f"{0:020}.json").write_text("{not json\n")


def empty_log(folder: Path) -> None:
    (folder / "data" / "_delta_log").mkdir(parents=True)


def truncated_parquet(folder: Path) -> None:
    (folder / "data").mkdir()
    pq.write_table(rows(500), folder / "data" / "a.parquet")
    whole = (folder / "data" / "a.parquet").read_bytes()
    (folder / "data" / "a.parquet").write_bytes(whole[: len(whole) // 2])


def decimals_beyond_spark(folder: Path) -> None:
    (folder / "data").mkdir()
    wide = pa.array([[1]], pa.list_(pa.decimal256(50, 2)))
    pq.write_table(pa.table({"n": wide}), folder / "data" / "a.parquet")


def empty_folder(folder: Path) -> None:
    (folder / "data").mkdir()


def missing(folder: Path) -> None:
    assert not (folder / "data").exists()


def unknown_kind(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "a.xlsx").write_bytes(b"PK")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (corrupt_log, "the Delta log cannot be read"),
        (empty_log, "Delta"),
        (truncated_parquet, "is not a readable Parquet file"),
        (decimals_beyond_spark, "column 'n' has more digits than Spark's decimals"),
        (empty_folder, "the folder holds no data"),
        (missing, "no such file or folder"),
        (unknown_kind, "unknown kind of data"),
    ],
)
def test_data_that_cannot_be_read_is_told_in_one_line(tmp_path: Path, damage: object, message: str) -> None:
    assert callable(damage)
    damage(tmp_path)
    with pytest.raises(TableError) as caught:
        statistics(tmp_path, "{path: data}")
    line = str(caught.value)
    assert line.startswith(f"{tmp_path}/workload.yaml:2: table 't': ")
    assert message in line
    assert "\n" not in line


def test_wide_decimals_of_few_digits_are_decimals(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"n": pa.array([1], pa.decimal256(30, 2))}), tmp_path / "data" / "a.parquet")
    assert statistics(tmp_path, "{path: data}").columns == {"n": "decimal(30,2)"}


KNOWN = TableStatistics(
    name="t",
    rows=Estimate.of(1000.0, "measured"),
    row_bytes=Estimate.of(100.0, "measured"),
    updates_per_day=Estimate.of(1.0, "declared"),
    rows_per_update=Estimate.of(1.0, "declared"),
    columns=dict.fromkeys(("k", "n", "d", "s", "x"), "int"),
    key=("k",),
    ranges={"n": (0, 9, "declared"), "d": ("2024-01-01", "2024-01-11", "measured"), "x": (5.0, 5.0, "measured")},
)


def on(column: str, op: str, *values: float | str) -> Comparison:
    return Comparison(Column("t", column), op, values)


@pytest.mark.parametrize(
    ("condition", "value", "source"),
    [
        (on("k", "=", 7.0), 0.001, "derived"),
        (on("K", "=", 7.0), 0.001, "derived"),
        (on("k", "in", 7.0, 8.0), 0.002, "derived"),
        (on("n", "=", 3.0), 0.1, "derived"),
        (on("n", "<>", 3.0), 0.9, "derived"),
        (on("n", "<", 4.5), 0.5, "derived"),
        (on("n", ">", 99.0), 0.0, "derived"),
        (on("n", "between", -5.0, 99.0), 1.0, "derived"),
        (on("d", ">=", "2024-01-06"), 0.5, "derived"),
        (on("x", ">=", 5.0), 1.0, "derived"),
        (on("s", "=", "a"), 0.1, "default"),
        (on("s", ">", "a"), 1 / 3, "default"),
        (on("d", ">="), 1 / 3, "default"),
        (on("s", "like"), 0.1, "default"),
        (Comparison(Column(None, "k"), "=", (7.0,)), 0.001, "derived"),
        (Comparison(Column(None, "zz"), "=", (7.0,)), 0.1, "default"),
        (Opaque("f(x)"), 1 / 3, "default"),
        (Negation(on("n", "=", 3.0)), 0.9, "derived"),
        (AllOf((on("n", "=", 3.0), on("s", "=", "a"))), 0.01, "default"),
        (AnyOf((on("n", "=", 3.0), on("n", "=", 4.0))), 0.19, "derived"),
    ],
)
def test_selectivities(condition: Condition, value: float, source: str) -> None:
    found = selectivity(condition, {"t": KNOWN})
    assert found.value == pytest.approx(value)
    assert found.source == source
    assert 0 <= found.lower <= found.value <= found.upper <= 1


def test_no_condition_selects_everything() -> None:
    assert conjunction((), {}) == Estimate(1, 1, 1, "derived")


def test_an_estimate_outside_its_own_range_is_refused() -> None:
    with pytest.raises(ValueError, match="not within"):
        Estimate(5, 6, 7, "declared")


def test_the_history_of_our_own_updates_is_read_from_their_change_files(tmp_path: Path) -> None:
    pq.write_table(rows(6), tmp_path / "c.parquet")
    note = json.dumps({"change_files": ["c.parquet"]})
    ours = Commit(1, {"timestamp": DAY, "operation": "WRITE", "advisor": note})
    gone = Commit(2, {"timestamp": DAY, "operation": "WRITE", "advisor": note.replace("c.", "gone.")})
    found = update_history([gone, ours, _commit(0, 1, "WRITE", {})], tmp_path)
    assert found.rows is not None
    assert found.rows.value == 6
