"""Files are read as the log describes them: partition values, names, paths; and never silently as nothing."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from storage.changes import changes
from storage.log import DataFile, DeltaLog, create_log
from storage.reading import FILE_COLUMN, file_of, file_uri, is_sail, quoted, read_files, read_snapshot
from storage.writing import describe_file
from views.errors import TableError

engine = pytest.mark.engine


def rows_of(table: pa.Table) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in table.to_pylist())


def assert_read(spark: Any, root: Path) -> None:
    """Our reader and delta-rs see the same rows under the same names."""
    found, wanted = read_snapshot(spark, DeltaLog(root).snapshot()).toArrow(), DeltaTable(root).to_pyarrow_table()
    assert found.column_names == wanted.column_names
    assert rows_of(found) == rows_of(wanted)


PARTITIONS = {
    "int": pa.array([1, -7, None], pa.int32()),
    "long": pa.array([2**63 - 1, 0, None], pa.int64()),
    "date": pa.array([dt.date(1850, 2, 1), dt.date(2020, 2, 29), None]),
    "text": pa.array(["Größe é/=% #+&?", "日本 'x' \\ ,", None]),
    "flag": pa.array([True, False, None]),
    "double": pa.array([1.5, -1e20, None]),
    "money": pa.array([decimal.Decimal("0.10"), decimal.Decimal("12345678.90"), None], pa.decimal128(12, 2)),
    "at": pa.array(
        [dt.datetime(1850, 2, 1, 1, 2, 3, 456789), dt.datetime(2020, 1, 1), None], pa.timestamp("us", "UTC")
    ),
}


@engine
def test_partition_values_of_every_type_come_from_the_log(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({**PARTITIONS, "v": [1, 2, 3]})
    write_deltalake(tmp_path, rows, partition_by=list(PARTITIONS))
    assert_read(spark, tmp_path)


@engine
def test_more_partition_values_than_reads_are_joined_by_file(spark: Any, tmp_path: Path) -> None:
    names = [f"{'äöü日 %=/#'[i % 9]}{i}" for i in range(19)]
    write_deltalake(tmp_path / "a b%é", pa.table({"p": [*names, None], "v": range(20)}), partition_by=["p"])
    write_deltalake(tmp_path / "a b%é", pa.table({"p": names[:3], "v": [7, 8, 9]}), mode="append")
    assert_read(spark, tmp_path / "a b%é")


@engine
def test_quoted_reserved_and_mixed_case_names_are_read(spark: Any, tmp_path: Path) -> None:
    names = ["unit price", "a.b", "tick`s", "select", "MixedCase", "größe", "1st", "p=q"]
    rows = pa.table({name: [i, None] for i, name in enumerate(names)})
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(rows, root / "f.parquet")
    create_log(root, rows.schema, [describe_file(root, "f.parquet")])
    found = read_snapshot(spark, DeltaLog(root).snapshot())
    assert found.toArrow().to_pylist() == rows.to_pylist()
    assert found.select(*[quoted(n) for n in names]).columns == names


@engine
def test_an_empty_table_has_its_columns_and_no_rows(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.string()))])
    create_log(tmp_path / "t", schema)
    snapshot = DeltaLog(tmp_path / "t").snapshot()
    rows = read_snapshot(spark, snapshot).toArrow()
    assert (rows.column_names, rows.num_rows) == (["x", "at", "l"], 0)
    with_file = read_files(spark, snapshot.root, snapshot.fields, (), [], with_file=True)
    assert with_file.columns == ["x", "at", "l", FILE_COLUMN]


@engine
def test_a_column_added_later_is_null_in_older_files(spark: Any, tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"x": [1]}))
    write_deltalake(tmp_path, pa.table({"x": [2], "y": [{"z": 3}]}), mode="append", schema_mode="merge")
    assert_read(spark, tmp_path)


TRICKY_FILES = ["plain.parquet", "a%20b c#é+&=@.parquet", "p=x%2Fy/日 本.parquet"]


def with_files(root: Path, paths: list[str]) -> DeltaLog:
    """A table of one row per file: its number."""
    for i, path in enumerate(paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [i]}), root / path)
    return create_log(root, pa.schema([("x", pa.int64())]), [describe_file(root, p) for p in paths])


@engine
def test_paths_are_decoded_once_and_rows_name_their_file(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "t 1% é"
    snapshot = with_files(root, TRICKY_FILES).snapshot()
    assert sorted(snapshot.paths) == sorted(TRICKY_FILES)
    rows = read_files(spark, root, snapshot.fields, (), snapshot.files(), with_file=True).toArrow().to_pylist()
    assert {row["x"]: file_of(row[FILE_COLUMN], root) for row in rows} == dict(enumerate(TRICKY_FILES))


@engine
def test_glob_characters_in_a_path_are_themselves_or_refused_by_name(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "a[b]{c,d}*?"
    snapshot = with_files(root, ["x[0-9].parquet", "x1.parquet"]).snapshot()
    if is_sail(spark):
        with pytest.raises(TableError, match="Sail cannot read paths with any of"):
            read_snapshot(spark, snapshot)
    else:
        rows = read_files(spark, root, snapshot.fields, (), snapshot.files(), with_file=True).toArrow().to_pylist()
        assert {(r["x"], file_of(r[FILE_COLUMN], root)) for r in rows} == {(0, "x[0-9].parquet"), (1, "x1.parquet")}


@engine
def test_a_file_that_spark_would_skip_is_refused(spark: Any, tmp_path: Path) -> None:
    for name in ("_x.parquet", ".x.parquet"):
        snapshot = with_files(tmp_path / name, [name]).snapshot()
        with pytest.raises(TableError, match=f"file {name} would be read as empty"):
            read_snapshot(spark, snapshot)


@engine
def test_a_missing_file_is_an_error_and_not_empty(spark: Any, tmp_path: Path) -> None:
    snapshot = with_files(tmp_path / "t", ["a.parquet", "b.parquet"]).snapshot()
    (tmp_path / "t" / "b.parquet").unlink()
    with pytest.raises(TableError, match=r"file b.parquet is missing \(HISTORY_GONE\)"):
        read_snapshot(spark, snapshot)


@engine
def test_renamed_columns_are_read_by_their_physical_names(spark: Any, tmp_path: Path) -> None:
    """Column mapping: `b` was once called `a`, a new `a` came later, and the partition column was renamed."""
    (tmp_path / "_delta_log").mkdir()
    inner = {"type": "struct", "fields": [mapped("new", "long", "old", 5)]}
    fields = [mapped("a", "long", "col-1", 1), mapped("b", "long", "a", 2), mapped("p", "string", "col-3", 3)]
    schema = {"type": "struct", "fields": [*fields, mapped("s", inner, "col-4", 4)]}
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "5"}
    metadata = {
        "id": "mapped",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": ["p"],
        "configuration": configuration,
    }
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    log_entries(tmp_path, 0, {"protocol": protocol}, {"metaData": metadata})
    adds = []
    for i, value in enumerate(["é", None]):
        pq.write_table(pa.table({"col-1": [i], "a": [i + 100], "col-4": [{"old": 5}]}), tmp_path / f"{i}.parquet")
        add = {"path": f"{i}.parquet", "partitionValues": {"col-3": value}, "size": 1, "modificationTime": 1}
        adds.append({"add": {**add, "dataChange": True}})
    log_entries(tmp_path, 1, *adds)
    log = DeltaLog(tmp_path)
    wanted = [
        {"a": 0, "b": 100, "p": "é", "s": {"new": 5}},
        {"a": 1, "b": 101, "p": None, "s": {"new": 5}},
    ]
    assert sorted(read_snapshot(spark, log.snapshot()).toArrow().to_pylist(), key=str) == wanted
    changed = changes(spark, log, 0, 1).toArrow().to_pylist()
    assert sorted(changed, key=str) == [{**row, "__count": 1} for row in wanted]


def mapped(name: str, kind: Any, physical: str, number: int) -> dict[str, Any]:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def log_entries(root: Path, version: int, *entries: dict[str, Any]) -> None:
    path = root / "_delta_log" / f"{version:020}.json"
    path.write_text("\n".join(json.dumps(e) for e in entries))


@pytest.mark.parametrize("path", [*TRICKY_FILES, "a[b]{c}*?\\^|<>\"'`~.parquet", "\u0085\u00a0\u2028.parquet"])
def test_a_file_and_its_uri_are_the_same_file(path: str) -> None:
    for root in (Path("/data/t"), Path("/data/t 1%25 é")):
        assert file_of(file_uri(root / path), root) == path


def test_a_uri_may_have_one_or_three_slashes() -> None:
    assert file_of("file:///data/t/x.parquet", Path("/data/t")) == "x.parquet"
    assert file_of("file:/data/t/x.parquet", Path("/data/t")) == "x.parquet"


def test_a_file_is_another_when_other_rows_are_deleted_from_it() -> None:
    assert DataFile("x").identity == DataFile("x", {"p": "1"}).identity
    assert DataFile("x").identity != DataFile("x", deleted=(1,)).identity
