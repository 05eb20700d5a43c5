"""Rows into Parquet files that wait for their commit, each with the statistics a Delta log keeps.

A small result comes to the driver as Arrow and is written there; a large one is written by Spark into a
folder of its own inside the table. Either way the statistics come from the Parquet footers, so that what the
log says about a file is what the file says about itself.
"""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.log import CHANGES_FOLDER, NewFile
from views.errors import ExecutionError, TableError, UpdateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DRIVER_ROWS = 200_000
"""Results up to this many rows are brought to the driver and written there; larger ones stay in Spark."""

_SAMPLE = 1000
_STRING_LIMIT = 32
"""Longer text bounds are left out: a cut-off maximum is no maximum."""


def write_rows(
    rows: DataFrame | pa.Table,
    root: Path,
    partition_by: Sequence[str] = (),
    *,
    expected_rows: int | None = None,
) -> list[NewFile]:
    """Write rows into the table's folder: on the driver when `expected_rows` is small, else by Spark."""
    if not isinstance(rows, pa.Table):
        if expected_rows is None or expected_rows > DRIVER_ROWS:
            return _write_on_spark(rows, root, partition_by)
        rows = rows.toArrow()
    return [
        _write_here(part, root, f"part-{uuid.uuid4()}.parquet", values)
        for values, part in _partitions(rows, partition_by)
        if part.num_rows
    ]


def write_change_file(rows: pa.Table | DataFrame, root: Path, expected_rows: int | None = None) -> list[str]:
    """Write a net change set beside the table's files; the paths go into the commit's note."""
    if not isinstance(rows, pa.Table):
        if expected_rows is None or expected_rows > DRIVER_ROWS:
            folder = f"{CHANGES_FOLDER}/{uuid.uuid4()}"
            rows.write.parquet(str(root / folder))
            return [f"{folder}/{p.name}" for p in sorted((root / folder).glob("*.parquet"))]
        rows = rows.toArrow()
    return [_write_here(rows, root, f"{CHANGES_FOLDER}/{uuid.uuid4()}.parquet", {}).path]


def describe_file(root: Path, path: str, partition: Mapping[str, str | None] | None = None) -> NewFile:
    """A Parquet file that already lies in the table's folder, described from its footer."""
    try:
        footer = pq.read_metadata(root / path)
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{root / path}: not a readable Parquet file ({_line(error)})", "restore or remove it"
        ) from error
    return NewFile(path, (root / path).stat().st_size, _statistics(footer), partition or {})


def storable(table: pa.Table) -> pa.Table:
    """The same rows in the Arrow types that a Delta table can hold.

    >>> storable(pa.table({"n": pa.array([1], pa.uint16())})).schema.field("n").type
    DataType(int32)
    """
    fields = [f.with_type(_storable_type(f.type, f.name)) for f in table.schema]
    try:
        return table.cast(pa.schema(fields))
    except pa.ArrowInvalid as error:
        raise TableError(f"a value does not fit what Delta can store ({_line(error)})", "round it first") from error


def read_rows(path: str | Path) -> pa.Table:
    """The rows of a Parquet, CSV (with header) or JSON-lines file, on the driver."""
    file = Path(path)
    try:
        match file.suffix.lower():
            case ".parquet":
                return pq.read_table(file)
            case ".csv":
                import pyarrow.csv

                return pyarrow.csv.read_csv(file)
            case ".json" | ".jsonl" | ".ndjson":
                import pyarrow.json

                return pyarrow.json.read_json(file)
    except FileNotFoundError:
        raise UpdateError(f"{path}: no such file", "check the path") from None
    except (pa.ArrowException, OSError) as error:
        raise UpdateError(f"{path}: cannot be read ({_line(error)})", "write it again") from None
    raise UpdateError(f"{path}: neither Parquet, CSV nor JSON", "name the file .parquet, .csv or .jsonl")


def write_parts(parts: Iterable[pa.Table], root: Path) -> list[NewFile]:
    """Write rows that come in parts into one file; into none if there are none."""
    waiting = (part for part in parts if part.num_rows)
    first = next(waiting, None)
    return [] if first is None else [_write_here(first, root, f"part-{uuid.uuid4()}.parquet", {}, waiting)]


def _write_here(
    rows: pa.Table, root: Path, path: str, partition: Mapping[str, str | None], more: Iterable[pa.Table] = ()
) -> NewFile:
    target = root / path
    try:
        target.parent.mkdir(exist_ok=True)
        with pq.ParquetWriter(
            target,
            rows.schema,
            compression="snappy",
            coerce_timestamps="us",
            store_decimal_as_integer=True,  # as Spark does: read and written in half the time
            use_dictionary=_repetitive(rows),
            write_page_index=True,
        ) as writer:
            for part in itertools.chain([rows], more):
                writer.write_table(part)
    except OSError as error:
        raise ExecutionError(f"{target}: cannot be written ({_line(error)})", "is the folder writable?") from error
    return describe_file(root, path, partition)


def _repetitive(rows: pa.Table) -> list[str]:
    """The columns whose values come again and again, by a sample: a dictionary of others costs more than it saves."""
    sample = rows.take(pa.array(range(0, rows.num_rows, max(1, rows.num_rows // _SAMPLE)), pa.int64()))
    plain = [f.name for f in sample.schema if not pa.types.is_nested(f.type)]
    return [c for c in plain if pc.count_distinct(sample[c]).as_py() * 2 <= sample.num_rows]


def _write_on_spark(rows: DataFrame, root: Path, partition_by: Sequence[str]) -> list[NewFile]:
    from storage.reading import quoted

    folder = f"part-{uuid.uuid4()}"
    if partition_by:
        # The values' text form travels in the folder name, one level, so that no value is parsed back.
        return _write_partitioned(rows, root, folder, partition_by)
    rows.select(*[quoted(c) for c in rows.columns]).write.parquet(str(root / folder))
    found = sorted((root / folder).glob("*.parquet"))
    files = [describe_file(root, f"{folder}/{p.name}") for p in found]
    return [f for f in files if f.statistics["numRecords"]]


def _write_partitioned(rows: DataFrame, root: Path, folder: str, partition_by: Sequence[str]) -> list[NewFile]:
    from pyspark.sql import functions as F

    from storage.reading import quoted

    columns = {c: F.col(quoted(c)) for c in partition_by}
    values = _as_text(rows.select(*columns.values()).distinct().toArrow(), partition_by)
    match = F.raise_error(F.lit("the rows changed while they were written")).cast("int")
    for i, texts in enumerate(values):
        same = F.lit(True)
        for c, text in texts.items():
            same = same & columns[c].eqNullSafe(F.lit(text).cast(rows.schema[c].dataType))
        match = F.when(same, F.lit(i)).otherwise(match)
    rows.withColumn("__part", match).drop(*partition_by).write.partitionBy("__part").parquet(str(root / folder))
    return [
        describe_file(root, p.relative_to(root).as_posix(), values[int(p.parent.name.removeprefix("__part="))])
        for p in sorted((root / folder).glob("__part=*/*.parquet"))
    ]


def _partitions(rows: pa.Table, partition_by: Sequence[str]) -> list[tuple[dict[str, str | None], pa.Table]]:
    if not partition_by:
        return [({}, rows)]
    texts = _as_text(rows, partition_by)
    groups: dict[tuple[str | None, ...], list[int]] = {}
    for i, values in enumerate(texts):
        groups.setdefault(tuple(values.values()), []).append(i)
    data = rows.drop_columns(list(partition_by))
    return [(dict(zip(partition_by, key, strict=True)), data.take(indices)) for key, indices in groups.items()]


def _as_text(rows: pa.Table, columns: Sequence[str]) -> list[dict[str, str | None]]:
    """Partition values as the Delta protocol writes them; an empty string is NULL there, so it is refused."""
    texts = {c: rows[c].cast(pa.string()).to_pylist() for c in columns}
    for column, values in texts.items():
        if "" in values:
            raise TableError(f"partition column {column}: an empty string cannot be stored", "use NULL")
    return [{c: texts[c][i] for c in columns} for i in range(rows.num_rows)]


def _statistics(footer: pq.FileMetaData) -> dict[str, Any]:
    """Delta's statistics of a Parquet footer: bounds only where they are true bounds."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    tops = {f.name: f for f in footer.schema.to_arrow_schema() if not pa.types.is_nested(f.type)}
    paths = [footer.schema.column(index).path for index in range(footer.num_columns)]
    times = Counter(paths)
    for index, name in enumerate(paths):
        if name not in tops or times[name] > 1:  # a field of a struct, or not to be told from one
            continue
        groups = [footer.row_group(g).column(index).statistics for g in range(footer.num_row_groups)]
        if not groups or any(s is None for s in groups):
            continue
        if all(s.has_null_count for s in groups):
            nulls[name] = sum(s.null_count for s in groups)
        bounded = [s for s in groups if s.has_min_max]
        if not bounded or any(not s.has_min_max and s.num_values for s in groups):
            continue
        try:
            least = _bound(min(s.min for s in bounded), tops[name].type)
            most = _bound(max(s.max for s in bounded), tops[name].type)
        except OverflowError:  # a moment before year 1 or after year 9999
            continue
        if least is not None and most is not None:
            low[name], high[name] = least, most
    return {"numRecords": footer.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}


def _bound(value: Any, kind: pa.DataType) -> Any:
    """A bound as JSON, or None where Delta's form of it would not be a bound."""
    match value:
        case bool() | bytes():
            return None
        case int():
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else None
        case str():
            return value if len(value) < _STRING_LIMIT else None
        case decimal.Decimal():
            return float(value) if kind.precision <= 15 else None
        case dt.datetime():
            return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
        case dt.date():
            return value.isoformat()
        case _:
            return None


def _storable_type(kind: pa.DataType, name: str) -> pa.DataType:
    t = pa.types
    if t.is_unsigned_integer(kind):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
        return wider.get(kind.bit_width, pa.decimal128(20, 0))
    if t.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if t.is_date64(kind):
        return pa.date32()
    if t.is_decimal256(kind) and kind.precision <= 38:
        return pa.decimal128(kind.precision, kind.scale)
    if t.is_float16(kind):
        return pa.float32()
    if t.is_large_string(kind) or t.is_string_view(kind):
        return pa.string()
    if t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind):
        return pa.binary()
    if t.is_dictionary(kind):
        return _storable_type(kind.value_type, name)
    if t.is_map(kind):
        return pa.map_(_storable_type(kind.key_type, name), _storable_type(kind.item_type, name))
    if t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind):
        return pa.list_(_storable_type(kind.value_type, name))
    if t.is_struct(kind):
        return pa.struct([f.with_type(_storable_type(f.type, f"{name}.{f.name}")) for f in kind])
    if t.is_null(kind):
        return pa.string()
    if t.is_time(kind) or t.is_duration(kind) or t.is_interval(kind) or t.is_union(kind):
        raise TableError(f"column {name}: type {kind} has no counterpart in Delta", "store it as text or a number")
    return kind


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
