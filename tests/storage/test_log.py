"""The Delta log without an engine: commits, their checks, and what delta-rs would let pass silently."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

from storage.log import DeltaLog, NewFile, create_log, is_delta, open_log
from storage.writing import describe_file, write_rows
from views.errors import ConflictError, ExecutionError, TableError

SCHEMA = pa.schema([("a", pa.int64()), ("s", pa.string())])


def put(root: Path, name: str, rows: list[tuple[int | None, str | None]]) -> NewFile:
    """A real Parquet file in the table's folder, described for a commit."""
    root.mkdir(parents=True, exist_ok=True)
    columns = [list(c) for c in zip(*rows, strict=True)] if rows else [[], []]
    pq.write_table(pa.table(columns, schema=SCHEMA), root / name)
    return describe_file(root, name)


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    root = tmp_path / "t"
    return create_log(root, SCHEMA, [put(root, "one.parquet", [(1, "x"), (2, None)])])


def test_a_commit_adds_and_removes_files_in_one_version(log: DeltaLog) -> None:
    version = log.commit([put(log.root, "two.parquet", [(3, "y")])], ["one.parquet"])
    assert version == 1
    assert log.snapshot().paths == ("two.parquet",)
    assert DeltaTable(str(log.root)).to_pyarrow_table().to_pylist() == [{"a": 3, "s": "y"}]
    assert DeltaTable(str(log.root), version=0).to_pyarrow_table().num_rows == 2


def test_add_actions_carry_the_statistics_of_the_file(log: DeltaLog) -> None:
    log.commit([put(log.root, "two.parquet", [(7, "m"), (None, "k"), (9, "z")])])
    text = (log.root / "_delta_log" / f"{1:020}.json").read_text()
    add = next(json.loads(line)["add"] for line in text.splitlines() if '"add"' in line)
    assert json.loads(add["stats"]) == {
        "numRecords": 3,
        "minValues": {"a": 7, "s": "k"},
        "maxValues": {"a": 9, "s": "z"},
        "nullCount": {"a": 1, "s": 0},
    }


def test_consumed_versions_travel_with_the_commit(log: DeltaLog) -> None:
    assert log.consumed("base") is None
    log.commit([put(log.root, "two.parquet", [(3, "y")])], consumed={"base": 41, "other": 2})
    again = open_log(log.root)
    assert (again.consumed("base"), again.consumed("other")) == (41, 2)


def test_an_append_lands_beside_another_append(log: DeltaLog) -> None:
    rival = open_log(log.root)
    log.commit([put(log.root, "two.parquet", [(3, "y")])])
    rival.commit([put(log.root, "three.parquet", [(4, "y")])])
    assert open_log(log.root).snapshot().active == {"one.parquet", "two.parquet", "three.parquet"}


def test_two_rewrites_of_one_file_do_not_both_land(log: DeltaLog) -> None:
    rival = open_log(log.root)
    log.commit([put(log.root, "two.parquet", [(1, "x")])], ["one.parquet"])
    with pytest.raises(ConflictError):
        rival.commit([put(log.root, "three.parquet", [(2, "x")])], ["one.parquet"])
    assert open_log(log.root).snapshot().active == {"two.parquet"}


def test_exclusive_appends_refuse_each_other(log: DeltaLog) -> None:
    rival = open_log(log.root)
    log.commit([put(log.root, "two.parquet", [(3, "y")])], exclusive="keys")
    with pytest.raises(ConflictError):
        rival.commit([put(log.root, "three.parquet", [(3, "y")])], exclusive="keys")


def test_removing_an_unknown_path_is_refused_though_delta_rs_commits_it(log: DeltaLog) -> None:
    with pytest.raises(ConflictError, match=r"nowhere\.parquet"):
        log.commit([], ["nowhere.parquet"])
    assert log.version == 0


def test_a_percent_encoded_path_is_removed_for_real(tmp_path: Path) -> None:
    root = tmp_path / "t"
    write_deltalake(str(root), pa.table({"p": ["a b/c", "é"], "x": [1, 2]}), partition_by=["p"])
    log = open_log(root)
    gone = next(f.path for f in log.snapshot().files() if f.partition == {"p": "é"})
    log.commit([], [gone])
    assert DeltaTable(str(root)).to_pyarrow_table()["x"].to_pylist() == [1]


def test_a_commit_from_an_old_object_is_judged_against_the_version_it_read(log: DeltaLog) -> None:
    stale = open_log(log.root)
    for i in range(3):
        log.commit([put(log.root, f"n{i}.parquet", [(i, "n")])])
    with pytest.raises(ConflictError):
        stale.commit([put(log.root, "late.parquet", [(9, "l")])], ["one.parquet"])
    stale.refresh()
    stale.commit([put(log.root, "late.parquet", [(9, "l")])], ["one.parquet"])
    assert "late.parquet" in open_log(log.root).snapshot().active


@pytest.mark.parametrize(
    ("feature", "configuration"),
    [
        ("checkConstraints", {"delta.constraints.positive": "a > 0"}),
        ("columnMapping", {"delta.columnMapping.mode": "name"}),
    ],
)
def test_a_table_feature_that_forbids_raw_commits_is_refused_by_name(
    tmp_path: Path, feature: str, configuration: dict[str, str]
) -> None:
    root = tmp_path / "t"
    log = create_log(root, SCHEMA, [put(root, "one.parquet", [(1, "x")])])
    if feature == "checkConstraints":
        DeltaTable(str(root)).alter.add_constraint({"positive": "a > 0"})
    else:
        raise_protocol(root, 2, 5, configuration)
    with pytest.raises(TableError, match=feature):
        open_log(root).commit([put(root, "two.parquet", [(2, "x")])])
    assert log.snapshot(0).num_files == 1


def test_an_unknown_reader_feature_is_refused_by_name(tmp_path: Path) -> None:
    root = tmp_path / "t"
    create_log(root, SCHEMA)
    first = root / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["catalogOwned-preview"],
                "writerFeatures": ["catalogOwned-preview"],
            }
    first.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(TableError, match="catalog"):
        open_log(root).snapshot()


def test_removing_files_from_an_append_only_table_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = pa.table({"a": [1], "s": ["x"]})
    write_deltalake(str(root), table, configuration={"delta.appendOnly": "true"})
    log = open_log(root)
    with pytest.raises(TableError, match="appendOnly"):
        log.commit([], log.snapshot().paths)


def test_deleting_from_a_table_with_a_change_feed_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = pa.table({"a": [1], "s": ["x"]})
    write_deltalake(str(root), table, configuration={"delta.enableChangeDataFeed": "true"})
    log = open_log(root)
    with pytest.raises(TableError, match="changeDataFeed"):
        log.commit([], log.snapshot().paths)


def test_an_added_column_is_in_the_schema_before_rows_use_it(log: DeltaLog) -> None:
    log.add_columns([Field("n", PrimitiveType("double"))])
    assert open_log(log.root).schema.names == ["a", "s", "n"]


def test_history_names_what_others_did(tmp_path: Path) -> None:
    root = tmp_path / "t"
    write_deltalake(str(root), pa.table({"a": [1, 2, 3]}))
    DeltaTable(str(root)).delete("a = 2")
    newest, oldest = open_log(root).history()
    assert (newest.version, newest.operation, oldest.operation) == (1, "DELETE", "WRITE")
    assert newest.timestamp >= oldest.timestamp > 0


def test_a_corrupt_log_is_one_clear_error(log: DeltaLog) -> None:
    (log.root / "_delta_log" / f"{0:020}.json").write_text("{not json")
    with pytest.raises(TableError, match="Delta log cannot be read"):
        open_log(log.root)


def test_a_folder_without_a_log_is_not_a_delta_table(tmp_path: Path) -> None:
    assert not is_delta(tmp_path)
    with pytest.raises(TableError):
        open_log(tmp_path)
    with pytest.raises(TableError, match="no such folder"):
        open_log(tmp_path / "nowhere")


def test_a_truncated_parquet_file_is_named(tmp_path: Path) -> None:
    whole = put(tmp_path, "one.parquet", [(1, "x")])
    data = (tmp_path / whole.path).read_bytes()
    (tmp_path / whole.path).write_bytes(data[: len(data) // 2])
    with pytest.raises(TableError, match=r"one\.parquet: not a readable Parquet file"):
        describe_file(tmp_path, whole.path)


READ_ONLY = """
import os, sys
from storage.log import NewFile, open_log
from views.errors import ExecutionError

log = open_log(sys.argv[1])
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everywhere
try:
    log.commit([NewFile("two.parquet", 1, {"numRecords": 0})])
except ExecutionError as error:
    print(error)
"""


def test_a_read_only_table_fails_with_one_line(log: DeltaLog) -> None:
    for folder in (log.root / "_delta_log", log.root, *log.root.parents[:3]):
        folder.chmod(0o555 if folder.is_relative_to(log.root) else 0o755)
    done = subprocess.run([sys.executable, "-c", READ_ONLY, str(log.root)], capture_output=True, text=True, check=True)
    log.root.chmod(0o755)
    assert "the commit failed" in done.stdout
    assert "is the folder writable?" in done.stdout
    assert open_log(log.root).version == 0


def raise_protocol(root: Path, reader: int, writer: int, configuration: dict[str, str]) -> None:
    """Rewrite the table's first log entry with another protocol and configuration."""
    first = root / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] |= {"minReaderVersion": reader, "minWriterVersion": writer}
            line["protocol"].pop("readerFeatures", None)
            line["protocol"].pop("writerFeatures", None)
        if "metaData" in line:
            line["metaData"]["configuration"] = configuration
            schema = json.loads(line["metaData"]["schemaString"])
            for i, f in enumerate(schema["fields"]):
                f["metadata"] = {"delta.columnMapping.id": i + 1, "delta.columnMapping.physicalName": f["name"]}
            line["metaData"]["schemaString"] = json.dumps(schema)
    first.write_text("\n".join(map(json.dumps, lines)))


EVERY_TYPE = pa.table(
    {
        "i": [0, -3],
        "f": [0.0, 2.5],
        "s": ["", "é"],
        "b": [True, None],
        "d": [dt.date(1969, 12, 31), dt.date(2026, 1, 2)],
        "t": pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, 678901), None], pa.timestamp("us", "UTC")),
        "n": pa.array([dt.datetime(1960, 1, 1), dt.datetime(2026, 1, 2)], pa.timestamp("us")),
        "c": pa.array([Decimal("0.00"), Decimal("12.34")], pa.decimal128(10, 2)),
        "w": pa.array([Decimal(1), None], pa.decimal128(38, 10)),
        "none": pa.array([None, None], pa.int32()),
        "st": [{"x": 1}, {"x": 2}],
        "p": ["a b/c", "é%20"],
        "q": [dt.date(2026, 1, 2), None],
    }
)


@pytest.mark.parametrize("partition_by", [[], ["p"], ["q", "p"], ["i"], ["t"], ["c"]])
def test_a_snapshot_after_our_commit_is_what_delta_rs_reads(tmp_path: Path, partition_by: list[str]) -> None:
    log = create_log(tmp_path / "t", EVERY_TYPE.schema, partition_by=partition_by)
    for _ in range(2):
        log.commit(write_rows(EVERY_TYPE, log.root, partition_by))
    log.commit(write_rows(EVERY_TYPE, log.root, partition_by), log.snapshot().paths[:1], data_change=False)
    again = open_log(log.root)
    assert log.version == again.version == 3
    assert log.snapshot().statistics.schema == again.snapshot().statistics.schema
    ours, theirs = (
        each.snapshot().statistics.drop_columns(["modification_time"]).sort_by("path").to_pylist()
        for each in (log, again)
    )
    assert ours == theirs
    assert DeltaTable(str(log.root)).to_pyarrow_table().num_rows == 6 - (1 if partition_by else 2)


def test_a_commit_returns_its_own_version_though_others_came_between(log: DeltaLog) -> None:
    rival = open_log(log.root)
    for i in range(12):
        rival.commit([put(log.root, f"rival{i}.parquet", [(i, "r")])])
    assert log.commit([put(log.root, "ours.parquet", [(9, "o")])]) == 13
    rival.refresh()
    rival.commit([put(log.root, "merged.parquet", [(9, "o")])], ["ours.parquet"])
    assert log.snapshot().active == open_log(log.root).snapshot(13).active


def test_an_append_does_not_land_behind_a_change_of_the_schema(log: DeltaLog) -> None:
    open_log(log.root).add_columns([Field("extra", PrimitiveType("string"))])
    with pytest.raises(ConflictError):
        log.commit([put(log.root, "two.parquet", [(3, "y")])])


def test_two_refreshes_from_one_base_table_do_not_both_land(log: DeltaLog) -> None:
    rival = open_log(log.root)
    log.commit([put(log.root, "two.parquet", [(3, "y")])], consumed={"base": 4})
    with pytest.raises(ConflictError):
        rival.commit([put(log.root, "three.parquet", [(3, "y")])], consumed={"base": 4})
    rival.commit([put(log.root, "three.parquet", [(3, "y")])], consumed={"other": 4})
    assert (open_log(log.root).consumed("base"), open_log(log.root).consumed("other")) == (4, 4)


def test_a_log_that_does_not_hold_what_was_committed_is_noticed(log: DeltaLog) -> None:
    log.commit([put(log.root, "two.parquet", [(3, "y")])])
    entry = log.root / "_delta_log" / f"{1:020}.json"
    entry.write_text("\n".join(line for line in entry.read_text().splitlines() if '"add"' not in line))
    with pytest.raises(ExecutionError, match="version 1 does not hold"):
        log.history()


def test_a_compaction_is_told_from_an_update_in_the_history(log: DeltaLog) -> None:
    log.commit([put(log.root, "two.parquet", [(1, "x"), (2, None)])], ["one.parquet"], data_change=False)
    assert log.history()[0].operation == "OPTIMIZE"
