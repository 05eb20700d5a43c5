"""Change sets are exact and net for every pair of versions, counted again without Spark."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import functions as F

from storage.changes import COUNT, changes, union
from storage.log import DeltaLog
from storage.table import Table, create_table
from storage.writing import write_change_file, write_rows
from views.errors import TableError

pytestmark = pytest.mark.engine

FEED = {"delta.enableChangeDataFeed": "true"}
TRICKY_TEXT = ["plain", "two words", "Größe é", "a=b", "100%", "%20", "x/y", None]


def canonical(value: Any) -> Any:
    """A value that is equal to another exactly when SQL groups the two together."""
    match value:
        case float() if value != value:
            return "NaN"
        case dict():
            return tuple((k, canonical(v)) for k, v in value.items())
        case list() if value and all(isinstance(v, tuple) for v in value):
            return tuple(sorted((canonical(k), canonical(v)) for k, v in value))
        case list():
            return tuple(canonical(v) for v in value)
        case _:
            return value


def tuples(rows: Sequence[Mapping[str, Any]], columns: list[str]) -> list[tuple[Any, ...]]:
    return [tuple(canonical(row.get(c)) for c in columns) for row in rows]


@cache
def stored(path: Path, version: int) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns and rows of a version, as delta-rs reads them."""
    rows = DeltaTable(path, version=version).to_pyarrow_table()
    return rows.column_names, rows.to_pylist()


def expected(path: Path, after: int, upto: int) -> dict[tuple[Any, ...], int]:
    columns, now = stored(path, upto)
    net = Counter(tuples(now, columns))
    net.subtract(tuples(stored(path, after)[1], columns))
    return {row: count for row, count in net.items() if count}


def found_all(spark: Any, path: Path, afters: Sequence[int], upto: int) -> dict[int, dict[tuple[Any, ...], int]]:
    """The change sets from several versions to one, in one job; each must be net by itself."""
    log, columns = DeltaLog(path), stored(path, upto)[0]
    frames = [changes(spark, log, after, upto) for after in afters]
    assert all(f.columns == [*columns, COUNT] for f in frames)
    rows = union([f.withColumn("__after", F.lit(after)) for f, after in zip(frames, afters, strict=True)]).toArrow()
    assert rows.schema.field(COUNT).type == pa.int64()
    answer: dict[int, dict[tuple[Any, ...], int]] = {after: {} for after in afters}
    given = zip(tuples(rows.to_pylist(), columns), rows["__after"].to_pylist(), rows[COUNT].to_pylist(), strict=True)
    for row, after, count in given:
        assert row not in answer[after], "a row comes twice: not net"
        answer[after][row] = count
    return answer


def found(spark: Any, path: Path, after: int, upto: int) -> dict[tuple[Any, ...], int]:
    return found_all(spark, path, [after], upto)[after]


def assert_exact(spark: Any, path: Path) -> None:
    for upto in range(DeltaTable(path).version() + 1):
        afters = range(upto + 1)
        for after, net in found_all(spark, path, afters, upto).items():
            assert net == expected(path, after, upto), f"versions {after} to {upto}"


def numbered(first: int, last: int) -> pa.Table:
    numbers = range(first, last)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "n": pa.array([i % 8 % 2 for i in numbers], pa.int32()),
            "d": pa.array([dt.date(1969 + i % 8 % 3, 1, 31) for i in numbers]),
            "s": pa.array([TRICKY_TEXT[i % len(TRICKY_TEXT)] for i in numbers]),
            "v": pa.array([None if i % 5 == 0 else i / 4 for i in numbers], pa.float64()),
        }
    )


@pytest.mark.engine("spark", "sail")
@pytest.mark.parametrize("feed", [{}, FEED], ids=["no feed", "feed"])
@pytest.mark.parametrize("partition_by", [[], ["n", "d", "s"]], ids=["whole", "partitioned"])
def test_operations_of_others_are_exact_for_every_pair_of_versions(
    spark: Any, tmp_path: Path, feed: dict[str, str], partition_by: list[str]
) -> None:
    write_deltalake(tmp_path, numbered(0, 12), partition_by=partition_by or None, configuration=feed)
    write_deltalake(tmp_path, numbered(8, 14), mode="append")
    merge = DeltaTable(tmp_path).merge(numbered(12, 16), "s.id = t.id", source_alias="s", target_alias="t")
    merge.when_matched_update(updates={"v": "s.v + 1"}).when_not_matched_insert_all().execute()
    DeltaTable(tmp_path).update(updates={"v": "-0.5"}, predicate="id % 5 = 1")
    DeltaTable(tmp_path).delete("id in (2, 9, 15)")
    DeltaTable(tmp_path).optimize.compact()
    assert_exact(spark, tmp_path)


def test_the_feed_is_what_is_read_where_there_is_one(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 9), configuration=FEED)
    before = {p.name for p in tmp_path.glob("*.parquet")}
    DeltaTable(tmp_path).update(updates={"v": "1.0"}, predicate="id = 3")
    want = expected(tmp_path, 0, 1)
    for name in before:
        (tmp_path / name).unlink()
    assert found(spark, tmp_path, 0, 1) == want


def every_type(which: list[int]) -> pa.Table:
    """Rows that differ in all columns; a number may come twice."""
    nan, when = float("nan"), dt.datetime(1888, 2, 29, 23, 59, 59, 999999)
    small = pa.struct([("x", pa.float64()), ("y", pa.list_(pa.string()))])

    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[i] for i in which], kind)

    return pa.table(
        {
            "i8": column([-128, 127, None, 0], pa.int8()),
            "i64": column([-(2**63), 2**63 - 1, None, 0], pa.int64()),
            "f32": column([0.1, -1.5, nan, None], pa.float32()),
            "f64": column([nan, 0.1 + 0.2, -float("inf"), None], pa.float64()),
            "flag": column([True, False, None, True], pa.bool_()),
            "text": column(["", "é\n", None, "x" * 100], pa.string()),
            "raw": column([b"\x00\xff", b"", None, b"abc"], pa.binary()),
            "money": column(
                [decimal.Decimal("-0.01"), decimal.Decimal("12345678901.20"), None, 0], pa.decimal128(18, 2)
            ),
            "wide": column([decimal.Decimal("9" * 28 + ".0123456789"), 0, None, -1], pa.decimal128(38, 10)),
            "day": column([dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(1970, 1, 1)], pa.date32()),
            "at": column([when, dt.datetime(2026, 1, 1), None, dt.datetime(1, 1, 2)], pa.timestamp("us", "UTC")),
            "local": column([when, dt.datetime(2026, 1, 1), None, dt.datetime(1, 1, 2)], pa.timestamp("us")),
            "struct": column([{"x": nan, "y": ["a", None]}, {"x": None, "y": []}, None, {"x": 1, "y": None}], small),
            "list": column([[1, None], [], None, [2]], pa.list_(pa.int32())),
            "deep": column([[{"x": 1, "y": ["q"]}], [], None, [None]], pa.list_(small)),
        }
    )


def test_every_type_is_exact(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, every_type([0, 1, 1, 2]))
    write_deltalake(tmp_path, every_type([0, 2, 2, 3]), mode="append")
    write_deltalake(tmp_path, every_type([0, 0, 1, 1, 2, 2, 2, 3]), mode="overwrite")
    write_deltalake(tmp_path, every_type([3, 3, 1]), mode="overwrite")
    assert_exact(spark, tmp_path)


def maps(*values: Any) -> pa.Table:
    return pa.table({"m": pa.array(values, pa.map_(pa.string(), pa.int32()))})


def test_maps_are_exact(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, maps({"a": 1, "b": None}, {}, None))
    write_deltalake(tmp_path, maps({"a": 1, "b": None}, None, {"c": 3}), mode="overwrite")
    assert_exact(spark, tmp_path)


@pytest.mark.xfail(
    os.environ.get("ADVISOR_TEST_ENGINE") == "sail",
    reason="Sail groups maps by the order of their entries",
    strict=True,
)
def test_the_order_of_a_maps_entries_is_no_change(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, maps([("a", 1), ("b", None)]))
    write_deltalake(tmp_path, maps([("b", None), ("a", 1)]), mode="overwrite")
    assert_exact(spark, tmp_path)


def test_a_zero_with_a_sign_is_no_change(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"x": [-0.0, 1.0, -0.0]}))
    write_deltalake(tmp_path, pa.table({"x": [0.0, 0.0, 2.0]}), mode="overwrite")
    assert found(spark, tmp_path, 0, 1) == {(1.0,): -1, (2.0,): 1}


def test_rows_rewritten_unchanged_and_compacted_are_no_change(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 5))
    write_deltalake(tmp_path, numbered(5, 9), mode="append")
    DeltaTable(tmp_path).optimize.compact()
    DeltaTable(tmp_path).update(updates={"id": "id"})
    write_deltalake(tmp_path, DeltaTable(tmp_path).to_pyarrow_table(), mode="overwrite")
    for upto in (2, 3, 4):
        assert not any(found_all(spark, tmp_path, range(1, upto), upto).values())
    assert len(found(spark, tmp_path, 0, 4)) == 4


def test_an_added_column_is_null_in_older_rows(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 4), configuration=FEED)
    DeltaTable(tmp_path).delete("id = 1")
    wider = numbered(4, 6).append_column("more", pa.array(["p", None]))
    write_deltalake(tmp_path, wider, mode="append", schema_mode="merge")
    DeltaTable(tmp_path).update(updates={"more": "'all'"}, predicate="id < 3")
    assert_exact(spark, tmp_path)


def test_a_column_that_was_dropped_is_refused(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 3))
    write_deltalake(tmp_path, numbered(0, 3).drop_columns("v"), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(TableError, match=r"column v was dropped or changed its type.*SCHEMA_CHANGED"):
        changes(spark, DeltaLog(tmp_path), 0, 1)


def test_a_column_that_changed_its_type_is_refused(spark: Any, tmp_path: Path) -> None:
    narrow = pa.table({"x": pa.array([1], pa.int32())})
    write_deltalake(tmp_path, narrow)
    write_deltalake(tmp_path, pa.table({"x": ["1"]}), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(TableError, match="column x was dropped or changed its type"):
        changes(spark, DeltaLog(tmp_path), 0, 1)


def test_a_type_that_changed_and_changed_back_is_exact(spark: Any, tmp_path: Path) -> None:
    numbers, texts = pa.table({"x": pa.array([1, 2, 3], pa.int32())}), pa.table({"x": ["1", "2", "4"]})
    write_deltalake(tmp_path, numbers, configuration=FEED)
    DeltaTable(tmp_path).delete("x = 3")
    write_deltalake(tmp_path, texts, mode="overwrite", schema_mode="overwrite")
    DeltaTable(tmp_path).delete("x = '4'")
    write_deltalake(tmp_path, numbers, mode="overwrite", schema_mode="overwrite")
    for after, upto in [(0, 1), (0, 4), (1, 4), (2, 3)]:
        assert found(spark, tmp_path, after, upto) == expected(tmp_path, after, upto)
    for after, upto in [(0, 3), (2, 4)]:
        with pytest.raises(TableError, match="SCHEMA_CHANGED"):
            changes(spark, DeltaLog(tmp_path), after, upto)


@pytest.mark.parametrize(("first", "then"), [(["n"], []), ([], ["n"]), (["n"], ["id"])])
def test_a_table_partitioned_anew_is_exact(spark: Any, tmp_path: Path, first: list[str], then: list[str]) -> None:
    write_deltalake(tmp_path, numbered(0, 4), partition_by=first)
    write_deltalake(tmp_path, numbered(1, 5), mode="overwrite", schema_mode="overwrite", partition_by=then)
    assert DeltaTable(tmp_path).metadata().partition_columns == then
    assert_exact(spark, tmp_path)


def kept_change(table: Table, adds: pa.Table, removes: pa.Table) -> None:
    """One commit as an update of ours makes it: rows appended, a whole file replaced, the change kept."""
    before = table.log.snapshot()
    signed = pa.concat_tables(
        [rows.append_column(COUNT, pa.array([n] * rows.num_rows, pa.int64())) for rows, n in ((adds, 1), (removes, -1))]
    )
    stored = DeltaTable(table.root).to_pyarrow_table()
    gone = pc.is_in(stored["id"], removes["id"])
    kept = stored.filter(pc.invert(gone))
    new = write_rows(pa.concat_tables([kept, adds]), table.root, before.partition_columns)
    table.commit(new, list(before.paths), change_files=write_change_file(signed, table.root))


@pytest.mark.parametrize("partition_by", [[], ["s"]], ids=["whole", "partitioned"])
def test_our_own_change_files_are_exact_among_the_commits_of_others(
    spark: Any, tmp_path: Path, partition_by: list[str]
) -> None:
    path = tmp_path / "t"
    create_table(spark, path, numbered(0, 9), partition_by=partition_by)
    kept_change(Table(spark, path), numbered(20, 22), numbered(2, 4))
    write_deltalake(path, numbered(2, 4), mode="append")
    kept_change(Table(spark, path), numbered(30, 31), numbered(20, 21))
    DeltaTable(path).optimize.compact()
    assert_exact(spark, path)


def test_a_change_file_is_read_instead_of_the_files_it_stands_for(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create_table(spark, path, numbered(0, 9))
    old = table.log.snapshot().paths
    kept_change(table, numbered(20, 22), numbered(2, 4))
    want = expected(path, 0, 1)
    for name in old:
        (path / name).unlink()
    assert found(spark, path, 0, 1) == want


def test_a_lost_change_file_falls_back_to_the_files(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create_table(spark, path, numbered(0, 9))
    kept_change(table, numbered(20, 22), numbered(2, 4))
    for kept in (path / "_changes").glob("*.parquet"):
        kept.unlink()
    assert_exact(spark, path)


def lose(path: Path, version: int) -> None:
    """Delete the files that this version has and the newest has not, as vacuum would."""
    now = set(DeltaTable(path).file_uris())
    for uri in set(DeltaTable(path, version=version).file_uris()) - now:
        Path(uri).unlink()


def test_a_vacuumed_file_in_between_falls_back_to_the_whole_difference(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 4))
    write_deltalake(tmp_path, numbered(4, 6), mode="append")
    DeltaTable(tmp_path).optimize.compact()
    DeltaTable(tmp_path).delete("id = 5")
    want = expected(tmp_path, 1, 3)
    lose(tmp_path, 2)
    assert found(spark, tmp_path, 1, 3) == want


def test_a_log_cleaned_away_in_between_falls_back_to_the_whole_difference(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 4))
    write_deltalake(tmp_path, numbered(4, 6), mode="append")
    DeltaTable(tmp_path).create_checkpoint()
    DeltaTable(tmp_path).delete("id = 5")
    DeltaTable(tmp_path).update(updates={"v": "7"}, predicate="id = 1")
    DeltaTable(tmp_path).create_checkpoint()
    want = expected(tmp_path, 1, 3)
    for version in (0, 1, 2):
        (tmp_path / "_delta_log" / f"{version:020}.json").unlink()
    assert DeltaLog(tmp_path).commits(1, 3) is None
    assert found(spark, tmp_path, 1, 3) == want


def test_a_history_that_is_gone_is_said_by_name(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 4))
    DeltaTable(tmp_path).delete("id = 2")
    lose(tmp_path, 0)
    with pytest.raises(TableError, match="HISTORY_GONE"):
        changes(spark, DeltaLog(tmp_path), 0, 1)


def test_versions_that_do_not_exist_are_refused(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, numbered(0, 4))
    for after, upto in [(-1, 0), (0, 1), (1, 0)]:
        with pytest.raises(TableError, match=f"no change from version {after} to {upto}; versions are 0 to 0"):
            changes(spark, DeltaLog(tmp_path), after, upto)


@pytest.mark.engine("spark", "sail")
def test_a_random_history_is_exact_for_every_pair_of_versions(spark: Any, tmp_path: Path) -> None:
    rng = random.Random(20)
    path = tmp_path

    def batch() -> pa.Table:
        first = rng.randrange(30)
        return numbered(first, first + rng.randrange(1, 9))

    def merge() -> None:
        work = DeltaTable(path).merge(batch(), "s.id = t.id", source_alias="s", target_alias="t")
        rng.choice([work.when_matched_delete(), work.when_matched_update({"v": "s.v"})]).execute()

    operations: list[Callable[[], Any]] = [
        lambda: write_deltalake(path, batch(), mode="append"),
        lambda: write_deltalake(path, numbered(3, 9), mode="overwrite", predicate=f"id < {rng.randrange(9, 30)}"),
        lambda: DeltaTable(path).update(updates={"v": "v + 1"}, predicate=f"id % 7 = {rng.randrange(7)}"),
        lambda: DeltaTable(path).delete(f"id % 6 = {rng.randrange(6)}"),
        lambda: DeltaTable(path).optimize.compact(),
        lambda: DeltaTable(path).restore(rng.randrange(DeltaTable(path).version())),
        merge,
    ]
    write_deltalake(path, numbered(0, 30), configuration=FEED)
    write_deltalake(path, batch(), mode="append")
    rng.shuffle(operations)
    for operation in [*operations, *rng.choices(operations, k=4)]:
        operation()
    assert_exact(spark, path)
