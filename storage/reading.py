"""Parquet files of a Delta table as a DataFrame: schema, partition values, deletion vectors, column mapping.

A Delta schema is Spark's own JSON, so the files are read with it: columns added later come out as NULL in
older files, and no file is opened to infer anything. Three things are not in the files and come from the
log: partition values, deleted rows, and under column mapping the columns' real names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import Schema

from storage.log import DataFile, Snapshot
from views.errors import HistoryGoneError, TableError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

FILE_COLUMN = "__file"
"""With `with_file`: the path of the file a row came from, as `file_of` decodes it."""

_UNION_LIMIT = 16
"""Partition values are literals of one read each up to this many; above, one read joined with a small table."""


def read_files(
    spark: SparkSession,
    root: Path,
    fields: Sequence[Mapping[str, Any]],
    partition_columns: Sequence[str],
    files: Sequence[DataFile],
    *,
    with_file: bool = False,
) -> DataFrame:
    """The rows of some files under a Delta schema; on request with the file each row came from."""
    from pyspark.sql import functions as F

    logical, physical = struct_type(fields), _physical_type(fields)
    _check_files(spark, root, files)
    if not files:
        return empty(spark, logical, with_file)
    names = {f["name"]: physical_name(f) for f in fields if f["name"] in partition_columns}
    stored = [f for f in physical.fields if f.name not in names.values()]
    groups = _groups(spark, partition_columns, files, with_file)
    keyed = groups[0][0] is None
    frames = [
        _read_group(spark, root, stored, group, {names[c]: v for c, v in (values or {}).items()}, with_file or keyed)
        for values, group in groups
    ]
    frame = frames[0]
    for other in frames[1:]:
        frame = frame.unionByName(other)
    if keyed:
        frame = _join_partitions(spark, root, frame, names, files)
    if not names and logical == physical and not keyed:
        return frame.select(*[quoted(c) for c in logical.names], FILE_COLUMN) if with_file else frame
    out: list[Column] = [
        F.col(quoted(p.name)).cast(t.dataType).alias(t.name)
        for p, t in zip(physical.fields, logical.fields, strict=True)
    ]
    return frame.select(*out, FILE_COLUMN) if with_file else frame.select(*out)


def read_snapshot(spark: SparkSession, snapshot: Snapshot, files: Sequence[DataFile] | None = None) -> DataFrame:
    """The rows of one version of a table, or of some of its files."""
    chosen = snapshot.files() if files is None else files
    return read_files(spark, snapshot.root, snapshot.fields, snapshot.partition_columns, chosen)


def is_plain(snapshot: Snapshot) -> bool:
    """Whether the rows of a version are just those of its files, column by column."""
    mapped = any(physical_name(f) != f["name"] for f in snapshot.fields)
    return not (snapshot.vectors or snapshot.partition_columns or mapped)


def rows_here(snapshot: Snapshot, mask: Any, most_rows: int) -> pa.Table | None:
    """The rows of a version, or of some of its files, on the driver; None if only an engine can tell, or too many."""
    counts = snapshot.statistics["num_records"].to_numpy().astype(float)
    if not is_plain(snapshot):
        return None
    if not np.sum(counts if mask is None else counts[mask]) <= most_rows:  # a count that is not known is NaN
        return None
    schema = arrow_schema(snapshot)
    parts = [file_here(snapshot.root / file.path, schema) for file in snapshot.files(mask)]
    return pa.concat_tables([schema.empty_table(), *parts])


def arrow_schema(snapshot: Snapshot) -> pa.Schema:
    whole = json.dumps({"type": "struct", "fields": list(snapshot.fields)})
    return pa.schema(Schema.from_json(whole).to_arrow())


def file_here(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of one file under a schema."""
    return pa.concat_tables([schema.empty_table(), *parts_here(path, schema)])


def parts_here(path: Path, schema: pa.Schema, most_rows: int | None = None) -> Iterator[pa.Table]:
    """The rows of one file under a schema, whole or no more than so many at a time."""
    with opened(path) as file:
        if most_rows is None:
            yield fitted(file.read(columns=schema.names), schema)
        else:
            for batch in file.iter_batches(most_rows, columns=schema.names):
                yield fitted(pa.Table.from_batches([batch]), schema)


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """A file that is read on the driver; what is wrong with it is told in one line."""
    try:
        yield pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    except FileNotFoundError as error:
        raise HistoryGoneError(
            f"{path}: the file is missing (HISTORY_GONE)",
            "it was vacuumed or deleted; rebuild from the current version, and keep history longer",
        ) from error
    except (pa.ArrowException, OSError) as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise TableError(f"{path}: not a readable Parquet file ({line})", "restore it") from error


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of a file under a schema; a column that was added later is NULL."""
    for field in schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field.name, pa.nulls(rows.num_rows, field.type))
    return rows.select(schema.names).cast(schema)


def struct_type(fields: Sequence[Mapping[str, Any]]) -> StructType:
    """The Spark type of a Delta schema; nullable throughout, as files need not honour NOT NULL."""
    from pyspark.sql.types import StructType

    plain = [{**f, "nullable": True, "metadata": {}} for f in fields]
    return StructType.fromJson({"type": "struct", "fields": plain})


def empty(spark: SparkSession, schema: StructType, with_file: bool = False) -> DataFrame:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    whole = StructType([*schema.fields])
    if with_file:
        whole = whole.add(FILE_COLUMN, "string")
    return spark.createDataFrame(to_arrow_schema(whole, timezone="UTC").empty_table(), whole)


def physical_name(field: Mapping[str, Any]) -> str:
    """The name of a column in files and statistics: under column mapping it is not the column's own."""
    return str(field["metadata"].get("delta.columnMapping.physicalName", field["name"]))


def file_of(uri: str, root: Path) -> str:
    """The path inside the table of a file that Spark names by URI.

    >>> file_of("file:/data/t%201/part-0.parquet", Path("/data/t 1"))
    'part-0.parquet'
    """
    return Path("/" + unquote(re.sub("^file:/+", "", uri))).relative_to(root).as_posix()


def quoted(name: str) -> str:
    """A column name as Spark's `col` needs it.

    >>> quoted("unit `price` (net.)")
    '`unit ``price`` (net.)`'
    """
    return "`" + name.replace("`", "``") + "`"


@cache
def is_sail(spark: SparkSession) -> bool:
    """Whether the session is Sail's, which lacks `_metadata`: files are then told apart by one read each."""
    return spark.catalog.currentCatalog() == "sail"


def _groups(
    spark: SparkSession, partitions: Sequence[str], files: Sequence[DataFile], with_file: bool
) -> list[tuple[dict[str, str | None] | None, list[DataFile]]]:
    """Which files are read together, and their partition values; None when these are joined by file."""
    sail = is_sail(spark)
    if sail and with_file:
        return [({p: f.partition.get(p) for p in partitions}, [f]) for f in files]
    by_values: dict[tuple[str | None, ...], list[DataFile]] = {}
    for f in files:
        by_values.setdefault(tuple(f.partition.get(p) for p in partitions), []).append(f)
    if len(by_values) > _UNION_LIMIT and not sail:
        return [(None, list(files))]
    return [(dict(zip(partitions, values, strict=True)), group) for values, group in by_values.items()]


def _read_group(
    spark: SparkSession,
    root: Path,
    stored: Sequence[Any],
    files: Sequence[DataFile],
    partitions: Mapping[str, str | None],
    with_file: bool,
) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    frame = spark.read.schema(StructType(list(stored))).parquet(*[_escaped(root / f.path) for f in files])
    vectors = {f.path: f.deleted for f in files if f.deleted}
    if is_sail(spark):
        if with_file:
            frame = frame.withColumn(FILE_COLUMN, F.lit(file_uri(root / files[0].path)))
    elif with_file or vectors:
        frame = frame.withColumn(FILE_COLUMN, _file_column())
        if vectors:
            frame = _drop_deleted(spark, root, frame.withColumn("__row", F.col("_metadata.row_index")), vectors)
        if not with_file:
            frame = frame.drop(FILE_COLUMN)
    for name, value in partitions.items():
        frame = frame.withColumn(name, F.lit(value).cast("string"))
    return frame


def _file_column() -> Column:
    from pyspark.sql import functions as F

    return F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "file:/")


def _drop_deleted(
    spark: SparkSession, root: Path, frame: DataFrame, vectors: Mapping[str, tuple[int, ...]]
) -> DataFrame:
    from pyspark.sql import functions as F

    paths = [file_uri(root / path) for path, rows in vectors.items() for _ in rows]
    numbers = [row for rows in vectors.values() for row in rows]
    gone = spark.createDataFrame(pa.table({FILE_COLUMN: paths, "__row": pa.array(numbers, pa.int64())}))
    return frame.join(F.broadcast(gone), [FILE_COLUMN, "__row"], "left_anti").drop("__row")


def _join_partitions(
    spark: SparkSession, root: Path, frame: DataFrame, names: Mapping[str, str], files: Sequence[DataFile]
) -> DataFrame:
    from pyspark.sql import functions as F

    columns: dict[str, Any] = {FILE_COLUMN: [file_uri(root / f.path) for f in files]}
    columns |= {p: pa.array([f.partition.get(c) for f in files], pa.string()) for c, p in names.items()}
    values = spark.createDataFrame(pa.table(columns)).withColumn("__known", F.lit(True))
    unknown = F.raise_error(F.concat(F.lit("no partition values for file "), F.col(FILE_COLUMN)))
    joined = frame.join(F.broadcast(values), FILE_COLUMN, "left")
    return joined.where(F.coalesce(F.col("__known"), unknown.cast("boolean"))).drop("__known")


def check_there(snapshot: Snapshot, mask: Any = None) -> None:
    """Refuse a version some of whose files were cleaned away: an engine may read a missing file as an empty one."""
    for f in snapshot.files(mask):
        if not (snapshot.root / f.path).is_file():
            raise _missing(snapshot.root, f.path)


def _missing(root: Path, path: str) -> HistoryGoneError:
    return HistoryGoneError(
        f"{root}: file {path} is missing (HISTORY_GONE)",
        "it was vacuumed or deleted; rebuild from the current version, and keep history longer",
    )


def _check_files(spark: SparkSession, root: Path, files: Sequence[DataFile]) -> None:
    for f in files:
        if Path(f.path).name.startswith(("_", ".")):
            raise TableError(f"{root}: file {f.path} would be read as empty by Spark", "rename it and the log entry")
        if not (root / f.path).is_file():
            raise _missing(root, f.path)
    if is_sail(spark):
        if any(f.deleted for f in files):
            raise TableError(f"{root}: table feature deletionVectors is not readable on Sail", "use engine: spark")
        if any(re.search(r"[\[\]{}*?]", str(root / f.path)) for f in files):
            raise TableError(f"{root}: Sail cannot read paths with any of []{{}}*?", "use engine: spark")


def _escaped(path: Path) -> str:
    """A path that Hadoop's glob reads as itself."""
    return re.sub(r"([\[\]{}*?\\,])", r"\\\1", str(path))


def file_uri(path: Path) -> str:
    """A local path as Spark spells it in `_metadata.file_path`: java.net.URI quotes what is illegal in ASCII only."""
    legal = r"[^A-Za-z0-9/_\-!.~'()*,;:$&+=@\u00a1-\U0010ffff]"
    return "file:" + re.sub(legal, lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), str(path))


def _physical_type(fields: Sequence[Mapping[str, Any]]) -> StructType:
    """The type as the files spell it: under column mapping every name, nested ones too, is another."""
    from pyspark.sql.types import StructType

    def rename(node: Any) -> Any:
        match node:
            case {"type": "struct", "fields": inner}:
                return {"type": "struct", "fields": [one(f) for f in inner]}
            case {"type": "array", "elementType": inner}:
                return {**node, "elementType": rename(inner)}
            case {"type": "map", "keyType": key, "valueType": value}:
                return {**node, "keyType": rename(key), "valueType": rename(value)}
            case _:
                return node

    def one(f: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": physical_name(f), "type": rename(f["type"]), "nullable": True, "metadata": {}}

    return StructType.fromJson({"type": "struct", "fields": [one(f) for f in fields]})
