"""A pruned file never holds a matching row, though statistics lie; and files are pruned."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from storage.log import DeltaLog, NewFile, Snapshot, create_log
from storage.pruning import files_where, files_with_keys
from storage.writing import write_rows
from views.errors import ViewError

NAN, INF = float("nan"), float("inf")
Write = Callable[[Path, Sequence[pa.Table]], Snapshot]


def by_delta_rs(root: Path, files: Sequence[pa.Table], **options: Any) -> Snapshot:
    """One commit of delta-rs per file, with the statistics that delta-rs keeps."""
    for rows in files:
        write_deltalake(root, rows, mode="append", **options)
    return DeltaLog(root).snapshot()


def by_us(root: Path, files: Sequence[pa.Table]) -> Snapshot:
    """The same files with the statistics that we take from their footers."""
    root.mkdir(exist_ok=True)
    new = [file for rows in files for file in write_rows(rows, root)]
    return create_log(root, files[0].schema, new).snapshot()


def per_file(snapshot: Snapshot) -> list[pa.Table]:
    """The rows of each file, in the order of the mask, partition values included."""
    tables = []
    for path in snapshot.paths:
        rows = pq.ParquetFile(snapshot.root / path).read()
        for name in snapshot.partition_columns:
            value = snapshot.statistics[f"partition.{name}"][len(tables)]
            rows = rows.append_column(name, pa.array([value.as_py()] * rows.num_rows, value.type))
        tables.append(rows)
    return tables


def window(rng: random.Random, rows: int) -> pa.Table:
    """Rows of every type whose values lie near one another, as in a clustered file; NULLs and NaN among them."""
    near = rng.choice([-(10**6), -3, 0, 7, 40_000, 2**24])
    picks = [near + rng.randrange(-4, 5) for _ in range(rows)]
    nulls = rng.choice([0, 0, 0.2, 1])

    def column(kind: pa.DataType, value: Callable[[int], Any]) -> pa.Array:
        return pa.array([None if rng.random() < nulls else value(i) for i in picks], kind)

    epoch = dt.datetime(1970, 1, 1)
    return pa.table(
        {
            "i8": column(pa.int8(), lambda i: i % 100),
            "i32": column(pa.int32(), lambda i: i),
            "i64": column(pa.int64(), lambda i: 2**53 + i),
            "f32": column(pa.float32(), lambda i: rng.choice([i / 10, i / 10, i / 3, NAN])),
            "f64": column(pa.float64(), lambda i: rng.choice([i / 3, i / 7, i * 1e300, -0.0, NAN, INF])),
            "money": column(pa.decimal128(12, 2), lambda i: decimal.Decimal(i) / 100),
            "dear": column(pa.decimal128(18, 2), lambda i: 1234567890123456 + decimal.Decimal(i % 300) / 100),
            "wide": column(
                pa.decimal128(38, 10), lambda i: decimal.Decimal(i) * 10**20 + decimal.Decimal("0.0123456789")
            ),
            "day": column(pa.date32(), lambda i: dt.date(1970, 1, 1) + dt.timedelta(days=i % 40_000)),
            "moment": column(pa.timestamp("us", "UTC"), lambda i: epoch + dt.timedelta(microseconds=i * 499)),
            "local": column(pa.timestamp("us"), lambda i: epoch + dt.timedelta(microseconds=i * 10_001)),
            "text": column(pa.string(), lambda i: rng.choice(["", "x" * 40, "é", "😀" * 20]) + chr(65 + i % 60)),
            "flag": column(pa.bool_(), lambda i: i % 2 == 0),
        }
    )


def literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value if abs(value) < INF else 1e308:.17e}"
        case decimal.Decimal():
            return f"{value:f}"
        case dt.datetime():
            return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case str():
            return f"'{value}'"
        case _:
            return str(value)


def condition(rng: random.Random, rows: pa.Table, depth: int = 2) -> str:
    """A random predicate about values that are in the data, or next to them."""
    if depth and rng.random() < 0.3:
        left, right = condition(rng, rows, depth - 1), condition(rng, rows, depth - 1)
        return rng.choice([f"({left}) AND ({right})", f"({left}) OR {right}", f"NOT ({left})"])
    name = rng.choice(rows.column_names)

    def pick() -> str:
        value = rows[name][rng.randrange(rows.num_rows)].as_py()
        return "0" if value != value else literal(value)

    op = rng.choice(["=", "<", "<=", ">", ">="])
    if rows.schema.field(name).type == pa.bool_():
        return rng.choice([f"{name} = {pick()}", f"{name} IS NULL", name])
    return rng.choice(
        [
            f"{name} {op} {pick()}",
            f"{name} {op} {pick()}",
            f"{pick()} {op} {name}",
            f"{name} BETWEEN {pick()} AND {pick()}",
            f"{name} NOT BETWEEN {pick()} AND {pick()}",
            f"{name} IN ({pick()}, {pick()}, {pick()})",
            f"{name} NOT IN ({pick()}, {pick()})",
            f"{name} IS NULL",
            f"{name} IS NOT NULL",
        ]
    )


def in_duckdb(tables: Sequence[pa.Table]) -> duckdb.DuckDBPyConnection:
    """All rows with the number of their file; floats as DOUBLE and times in UTC, as Spark compares them."""
    numbered = [t.append_column("file", pa.array([i] * t.num_rows, pa.int64())) for i, t in enumerate(tables)]
    rows = pa.concat_tables(numbered)
    wanted = {"f32": pa.float64(), "moment": pa.timestamp("us")}
    rows = rows.cast(pa.schema([f.with_type(wanted.get(f.name, f.type)) for f in rows.schema]))
    connection = duckdb.connect()
    connection.register("given", rows)
    connection.execute("CREATE TABLE stored AS SELECT * FROM given")
    return connection


@pytest.mark.parametrize("write", [by_delta_rs, by_us])
def test_no_predicate_prunes_a_file_with_a_matching_row(tmp_path: Path, write: Write) -> None:
    rng = random.Random(3)
    snapshot = write(tmp_path, [window(rng, rng.randrange(1, 6)) for _ in range(25)])
    tables = per_file(snapshot)
    rows, connection = pa.concat_tables(tables), in_duckdb(tables)
    kept = asked = 0
    for _ in range(250):
        predicate = condition(rng, rows)
        holding = connection.execute(f"SELECT DISTINCT file FROM stored WHERE {predicate}").fetchnumpy()["file"]
        mask = files_where(snapshot, predicate)
        assert mask[holding].all(), predicate
        kept, asked = kept + int(mask.sum()), asked + len(mask)
    assert kept < asked * 0.75


@pytest.mark.parametrize("write", [by_delta_rs, by_us])
def test_no_set_of_keys_prunes_a_file_with_a_matching_row(tmp_path: Path, write: Write) -> None:
    rng = random.Random(4)
    snapshot = write(tmp_path, [window(rng, rng.randrange(1, 6)) for _ in range(25)])
    tables = per_file(snapshot)
    rows = pa.concat_tables(tables)
    kept = asked = 0
    for _ in range(120):
        names = rng.sample(rows.column_names, rng.choice([1, 1, 2]))
        picked = [rows.take([rng.randrange(rows.num_rows) for _ in range(rng.choice([1, 3]))]) for _ in names]
        keys = {n: table[n] for n, table in zip(names, picked, strict=True)}
        mask = files_with_keys(snapshot, keys)
        wanted = {n: {repr(v) for v in values.to_pylist()} for n, values in keys.items()}
        for i, table in enumerate(tables):
            values = [[repr(v) in wanted[n] for v in table[n].to_pylist()] for n in names]
            assert mask[i] or not any(all(row) for row in zip(*values, strict=True)), keys
        kept, asked = kept + int(mask.sum()), asked + len(mask)
    assert kept < asked * 0.6


@pytest.fixture(scope="module")
def ranges(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Ten files of ids 0–9, 10–19, …, days and moments alike; written by us, so in this order."""
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)

    def file(k: int) -> pa.Table:
        ids = range(10 * k, 10 * k + 10)
        return pa.table(
            {
                "id": ids,
                "Half": [i / 2 for i in ids],
                "code": [f"c{i:03}" for i in ids],
                "day": [(start + dt.timedelta(days=i)).date() for i in ids],
                "at": [start + dt.timedelta(days=i) for i in ids],
                "s": pa.array([{"id": -1} for _ in ids]),
                "none": pa.array([None] * 10 if k < 3 else [*range(9), None if k == 3 else 9], pa.int64()),
            }
        )

    return by_us(tmp_path_factory.mktemp("ranges"), [file(k) for k in range(10)])


def kept(snapshot: Snapshot, predicate: str) -> list[int]:
    """The numbers of the kept files in the order of their ids."""
    order = np.argsort(snapshot.statistics["min.id"].to_numpy())
    return np.flatnonzero(files_where(snapshot, predicate)[order]).tolist()


EVERYTHING = list(range(10))


@pytest.mark.parametrize(
    ("predicate", "files"),
    [
        ("id = 55", [5]),
        ("55 = id", [5]),
        ("ID = 55", [5]),
        ("t.id = 55", [5]),
        ("`id` = 55", [5]),
        ("id < 20", [0, 1]),
        ("id <= 20", [0, 1, 2]),
        ("20 > id", [0, 1]),
        ("20 >= id", [0, 1, 2]),
        ("id > 79", [8, 9]),
        ("id >= 79", [7, 8, 9]),
        ("id < 9.5", [0]),
        ("id = 9.5", []),
        ("id = -1", []),
        ("id > 1e30", []),
        ("id < 1e30", EVERYTHING),
        ("id BETWEEN 35 AND 41", [3, 4]),
        ("id IN (1, 2, 95)", [0, 9]),
        ("id IN (1, NULL)", [0]),
        ("id IN (NULL)", []),
        ("id = NULL", []),
        ("id = 5 OR id = 95", [0, 9]),
        ("id > 30 AND id < 50", [3, 4]),
        ("(id > 30) AND (id < 50 OR id = 70)", [3, 4, 7]),
        ("true", EVERYTHING),
        ("false", []),
        ("id = '55'", [5]),
        ("half < 4", [0]),
        ("code = 'c042'", [4]),
        ("code >= 'c095'", [9]),
        ("day = '2020-01-15'", [1]),
        ("day = DATE '2020-01-15'", [1]),
        ("day > TIMESTAMP '2020-04-08'", [9]),
        ("at = TIMESTAMP '2020-01-15 00:00:00'", [1]),
        ("at = DATE '2020-01-15'", [1]),
        ("at < '2020-01-11 00:00'", [0]),
        ("at = '2020-01-15T02:00:00+02:00'", [1]),
        ("none IS NULL", [0, 1, 2, 3]),
        ("none >= 0", [3, 4, 5, 6, 7, 8, 9]),
        ("none = 9", [4, 5, 6, 7, 8, 9]),
    ],
)
def test_a_predicate_keeps_exactly_the_files_in_range(ranges: Snapshot, predicate: str, files: list[int]) -> None:
    assert kept(ranges, predicate) == files


@pytest.mark.parametrize(
    "predicate",
    [
        "id = CAST(1.7 AS INT)",
        "CAST(id AS STRING) = '5'",
        "id + 1 = 5",
        "id = half",
        "NOT id = 5",
        "id <=> 5",
        "id IN (SELECT 5)",
        "id IN (5, 1 + 1)",
        "id = '5.0'",
        "id = '0x5'",
        "id = '5_5'",
        "half = '7.5'",
        "half < 'NaN'",
        "half = CAST('NaN' AS DOUBLE)",
        "half >= 3.5",
        "code = 5",
        "code LIKE 'c00%'",
        "s.id = 5",
        "absent = 5",
        "day = '2020-1-15'",
        "day = '20200115'",
        "day = '2020-01-15 10:00:00'",
        "day < TIMESTAMP '2020-01-01 10:00:00'",
        "at = CAST('2020-01-15 10:00:00' AS DATE)",
        "at = current_timestamp()",
        "at = '2020-01-15 America/Lima'",
        "none IS NOT NULL",
        "id",
    ],
)
def test_what_only_the_engine_can_tell_prunes_nothing(ranges: Snapshot, predicate: str) -> None:
    assert kept(ranges, predicate) == EVERYTHING


def test_a_thousand_alternatives_are_pruned_without_recursion(ranges: Snapshot) -> None:
    assert kept(ranges, " OR ".join(f"id = {n}" for n in range(1000, 3000))) == []


def test_a_filter_that_is_not_sql_is_refused(ranges: Snapshot) -> None:
    with pytest.raises(ViewError, match="filter 'id = = 5' is not SQL"):
        files_where(ranges, "id = = 5")


def test_keys_keep_exactly_the_files_in_range(ranges: Snapshot) -> None:
    order = np.argsort(ranges.statistics["min.id"].to_numpy())

    def of(**keys: Any) -> list[int]:
        return np.flatnonzero(files_with_keys(ranges, keys)[order]).tolist()

    assert of(id=[3, 77]) == [0, 7]
    assert of(id=[decimal.Decimal("77"), decimal.Decimal("200")]) == [7]
    assert of(id=pa.chunked_array([[3], [77]])) == [0, 7]
    assert of(id=[], code=["c001"]) == []
    assert of(id=[3, 77], code=["c077", "c099"]) == [7]
    assert of(day=[dt.date(2020, 1, 15)]) == [1]
    assert of(at=[dt.datetime(2020, 1, 15)]) == [1]
    assert of(at=pa.array([1579046400 * 10**9 + 1], pa.timestamp("ns"))) == [1]
    assert of(none=[None]) == [0, 1, 2, 3]
    assert of(none=[None, 9]) == EVERYTHING
    assert of(id=[None]) == []
    assert of(HALF=[0.5]) == [0]


def test_keys_of_another_kind_prune_nothing(ranges: Snapshot) -> None:
    for keys in (
        {"at": [dt.date(2020, 1, 15)]},
        {"day": [5]},
        {"id": ["5"]},
        {"id": [True]},
        {"half": [NAN]},
        {"s": [1]},
    ):
        assert files_with_keys(ranges, keys).all(), keys


def only(column: pa.Array, **options: Any) -> Callable[[Path], Snapshot]:
    return lambda root: by_delta_rs(root, [pa.table({"x": column})], **options)


def test_a_timestamp_maximum_cut_to_milliseconds_is_widened(tmp_path: Path) -> None:
    moments = [dt.datetime(1960, 1, 1, 0, 0, 0, 1001), dt.datetime(2020, 1, 1, 0, 0, 0, 1999)]
    snapshot = only(pa.array(moments, pa.timestamp("us", "UTC")))(tmp_path)
    assert snapshot.statistics["max.x"][0].as_py().microsecond == 1000
    for moment in moments:
        assert files_where(snapshot, f"x = {literal(moment)}").all()
        assert files_with_keys(snapshot, {"x": [moment]}).all()
    assert files_where(snapshot, f"x > {literal(moments[1] - dt.timedelta(microseconds=1))}").all()
    assert not files_where(snapshot, "x > TIMESTAMP '2020-01-01 00:00:01'").any()
    assert not files_where(snapshot, "x < TIMESTAMP '1960-01-01 00:00:00'").any()


def test_nan_is_above_every_maximum(tmp_path: Path) -> None:
    snapshot = only(pa.array([1.0, NAN]))(tmp_path)
    assert snapshot.statistics["max.x"][0].as_py() == 1.0
    assert files_where(snapshot, "x > 5").all()
    assert files_where(snapshot, "x >= 1e300").all()
    assert files_with_keys(snapshot, {"x": [NAN]}).all()
    assert not files_where(snapshot, "x < 0.5").any()


def test_a_float_is_compared_as_the_double_it_is(tmp_path: Path) -> None:
    snapshot = only(pa.array([0.7], pa.float32()))(tmp_path)  # as a double: 0.699999988…
    assert files_where(snapshot, "x < 0.7").all()
    assert files_with_keys(snapshot, {"x": pa.array([0.7], pa.float32())}).all()


@pytest.mark.parametrize("precision", [18, 38])
def test_a_decimal_that_json_rounds_is_found(tmp_path: Path, precision: int) -> None:
    value = decimal.Decimal("1234567890123456.78")
    snapshot = only(pa.array([value], pa.decimal128(precision, 2)))(tmp_path)
    assert snapshot.statistics["min.x"][0].as_py() != value
    for predicate in (
        f"x = {value}",
        f"x < {value + decimal.Decimal('0.01')}",
        f"x > {value - decimal.Decimal('0.01')}",
    ):
        assert files_where(snapshot, predicate).all()
    assert files_with_keys(snapshot, {"x": [value]}).all()


def test_text_that_was_cut_off_is_found(tmp_path: Path) -> None:
    longest = "z" * 100
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"x": ["a", longest]}), root / "f.parquet")
    cut = {"numRecords": 2, "minValues": {"x": "a"}, "maxValues": {"x": longest[:32]}, "nullCount": {"x": 0}}
    file = NewFile("f.parquet", (root / "f.parquet").stat().st_size, cut)
    snapshot = create_log(root, pa.schema([("x", pa.string())]), [file]).snapshot()
    assert files_where(snapshot, f"x = '{longest}'").all()
    assert files_where(snapshot, f"x > '{longest[:32]}'").all()
    assert files_with_keys(snapshot, {"x": [longest]}).all()
    assert not files_where(snapshot, "x < 'A'").any()


def test_missing_statistics_prune_nothing(tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"x": [1, None]}), root / "f.parquet")
    size = (root / "f.parquet").stat().st_size
    known = {"numRecords": 2, "minValues": {"x": 1}, "maxValues": {"x": 1}, "nullCount": {"x": 1}}
    partial = [{}, {"numRecords": 2}, {"numRecords": 2, "maxValues": {"x": 1}}, known]
    files = []
    for i, statistics in enumerate(partial):
        (root / f"{i}.parquet").write_bytes((root / "f.parquet").read_bytes())
        files.append(NewFile(f"{i}.parquet", size, statistics))
    snapshot = create_log(root, pa.schema([("x", pa.int64())]), files).snapshot()
    pruned = {p: not m for p, m in zip(snapshot.paths, files_where(snapshot, "x = 0"), strict=True)}
    assert pruned == {"0.parquet": False, "1.parquet": False, "2.parquet": False, "3.parquet": True}
    above = {p: not m for p, m in zip(snapshot.paths, files_where(snapshot, "x > 1"), strict=True)}
    assert above == {"0.parquet": False, "1.parquet": False, "2.parquet": True, "3.parquet": True}
    assert files_where(snapshot, "x IS NULL").all()
    assert files_with_keys(snapshot, {"x": [None]}).all()


def test_partition_values_prune(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "n": pa.array([1, 2, None], pa.int32()),
            "s": ["a b", "é", None],
            "f": [NAN, 2.5, None],
            "d": [dt.date(2020, 1, 1), dt.date(1900, 1, 1), None],
            "v": [1, 2, 3],
        }
    )
    write_deltalake(tmp_path, rows, partition_by=["n", "s", "f", "d"])
    snapshot = DeltaLog(tmp_path).snapshot()
    values = snapshot.statistics["min.v"].to_pylist()

    def of(predicate: str) -> list[int]:
        return sorted(v for v, keep in zip(values, files_where(snapshot, predicate), strict=True) if keep)

    assert of("n = 1") == [1]
    assert of("n > 1") == [2]
    assert of("n IS NULL") == [3]
    assert of("s = 'é'") == [2]
    assert of("s >= 'a'") == [1, 2]
    assert of("d < '1950-01-01'") == [2]
    assert of("f > 3") == [1]
    assert of("f = 2.5") == [1, 2]
    assert files_with_keys(snapshot, {"n": [2, None]}).sum() == 2


def test_a_struct_is_not_mistaken_for_a_column_with_a_dot(tmp_path: Path) -> None:
    rows = pa.table({"s": [{"x": 100}], "s.x": [1], "x": [7]})
    snapshot = by_delta_rs(tmp_path, [rows])
    for predicate in ("s.x = 100", "`s.x` = 1", "x = 7", "t.x = 7"):
        assert files_where(snapshot, predicate).all(), predicate
    assert not files_where(snapshot, "t.x = 100").any()


def test_a_renamed_column_is_pruned_by_its_own_statistics(tmp_path: Path) -> None:
    """Under column mapping statistics carry physical names: here the column `b` was once called `a`."""
    fields = [
        {"name": name, "type": "long", "nullable": True, "metadata": mapping}
        for name, mapping in (
            ("a", {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}),
            ("b", {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "a"}),
        )
    ]
    statistics = {"numRecords": 1, "minValues": {"col-1": 1, "a": 100}, "maxValues": {"col-1": 1, "a": 100}}
    entries = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {
            "metaData": {
                "id": "mapped",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
            }
        },
        {
            "add": {
                "path": "f.parquet",
                "partitionValues": {},
                "size": 1,
                "modificationTime": 1,
                "dataChange": True,
                "stats": json.dumps(statistics),
            }
        },
    ]
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text("\n".join(json.dumps(e) for e in entries))
    snapshot = DeltaLog(tmp_path).snapshot()
    assert files_where(snapshot, "a = 1 AND b = 100").all()
    assert not files_where(snapshot, "a = 100").any()
    assert not files_where(snapshot, "b = 1").any()


def test_the_mask_follows_the_table_through_deletes(tmp_path: Path) -> None:
    for i in range(4):
        write_deltalake(tmp_path, pa.table({"x": [10 * i, 10 * i + 5]}), mode="append")
    DeltaTable(tmp_path).delete("x = 10")
    snapshot = DeltaLog(tmp_path).snapshot()
    assert [snapshot.num_files, int(files_where(snapshot, "x <= 15").sum())] == [4, 2]
    assert not files_where(snapshot, "x = 10").any()
