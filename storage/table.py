"""A Delta table on a SparkSession: snapshots, change sets, creation from what people have, upkeep."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from storage.changes import changes
from storage.log import CHANGES_FOLDER, DeltaLog, NewFile, create_log, is_delta, local_folder
from storage.reading import quoted, read_files, read_snapshot
from storage.writing import describe_file, storable, write_rows
from views.errors import ExecutionError, TableError

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    Rows: TypeAlias = DataFrame | pa.Table | pd.DataFrame


class Table:
    """One Delta table: `log` knows its versions, `snapshot` and `changes` read them on Spark.

    Without a session only the log can be asked.
    """

    def __init__(
        self,
        spark: SparkSession | None,
        path: str | Path,
        *,
        name: str | None = None,
        key: Sequence[str] = (),
        foreign_keys: Mapping[str, str] | None = None,
    ) -> None:
        self._spark = spark
        self.log = DeltaLog(path)
        self.name = name or self.log.root.name
        self.key = tuple(key)
        self.foreign_keys = dict(foreign_keys or {})
        """Column, and the `table.column` whose values it takes."""
        unknown = [c for c in self.key if c not in self.columns]
        if unknown:
            raise TableError(
                f"{self.name}: key column {unknown[0]} does not exist", f"columns: {', '.join(self.columns)}"
            )
        self._frames: dict[int, DataFrame] = {}

    def __repr__(self) -> str:
        return f"Table({self.name!r}, version={self.version})"

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            raise AssertionError(f"{self.name} was opened without a session")
        return self._spark

    @property
    def root(self) -> Path:
        return self.log.root

    @property
    def version(self) -> int:
        return self.log.version

    @property
    def columns(self) -> tuple[str, ...]:
        return self.log.snapshot().columns

    def snapshot(self, version: int | None = None) -> DataFrame:
        """The rows of a version (the newest known if none is named)."""
        found = self.log.snapshot(version)
        if found.version not in self._frames:
            if len(self._frames) >= 4:
                self._frames.pop(min(self._frames))
            self._frames[found.version] = read_snapshot(self.spark, found)
        return self._frames[found.version]

    def rows(
        self, mask: np.ndarray[Any, Any] | None = None, version: int | None = None, *, with_file: bool = False
    ) -> DataFrame:
        """The rows in the files of a pruning mask, on request with the file of each."""
        now = self.log.snapshot(version)
        files = now.files(mask)
        return read_files(self.spark, self.root, now.fields, now.partition_columns, files, with_file=with_file)

    def changes(self, after: int, upto: int | None = None) -> DataFrame:
        """The net change set from version `after` to `upto` (the newest known if none is named)."""
        return changes(self.spark, self.log, after, self.version if upto is None else upto)

    def commit(
        self,
        adds: Sequence[NewFile] = (),
        removes: Sequence[str] = (),
        *,
        consumed: Mapping[str, int] | None = None,
        change_files: Sequence[str] | None = None,
    ) -> int:
        """Commit files that were written into the table's folder; see `DeltaLog.commit`."""
        note = None if change_files is None else {"change_files": list(change_files)}
        return self.log.commit(adds, removes, consumed=consumed, note=note)

    def compact(self, target_bytes: int = 128 * 1024 * 1024) -> int:
        """Merge files smaller than half the target into fewer; rows do not change. Returns files merged."""
        now = self.log.snapshot()
        small = (now.statistics["size_bytes"].to_numpy() < target_bytes // 2) & ~np.isin(now.paths, list(now.vectors))
        groups: dict[tuple[tuple[str, str | None], ...], list[Any]] = {}
        for f in now.files(small):
            groups.setdefault(tuple(f.partition.items()), []).append(f)
        sizes = dict(zip(now.paths, now.statistics["size_bytes"].to_pylist(), strict=True))
        counts = dict(zip(now.paths, now.statistics["num_records"].to_pylist(), strict=True))
        adds: list[NewFile] = []
        removes: list[str] = []
        for files in groups.values():
            if len(files) < 2:
                continue
            rows = read_files(self.spark, self.root, now.fields, now.partition_columns, files)
            count = max(1, round(sum(sizes[f.path] for f in files) / target_bytes))
            known = [counts[f.path] for f in files]
            expected = None if None in known else sum(known)
            adds += write_rows(rows.coalesce(count), self.root, now.partition_columns, expected_rows=expected)
            removes += [f.path for f in files]
        if removes:
            self.log.commit(adds, removes, data_change=False)
        return len(removes)

    def vacuum(self, needed_by: Sequence[DeltaLog] = (), retention_hours: float = 168) -> list[str]:
        """Delete files older than the retention that no version still needs.

        `needed_by` are the logs of stored views: the version of this table that each has consumed is kept whole,
        and so is the change since then.
        """
        consumed = [v for v in (log.consumed(self.log.table_id) for log in needed_by) if v is not None]
        gone = self.log.vacuum(consumed, retention_hours)
        oldest = min(consumed, default=self.version)
        commits = self.log.commits(oldest, self.version) or []
        named = {path for c in commits for path in c.change_files or ()}
        limit = time.time() - retention_hours * 3600
        for path in sorted((self.root / CHANGES_FOLDER).rglob("*.parquet")):
            relative = path.relative_to(self.root).as_posix()
            if relative not in named and path.stat().st_mtime <= limit:
                path.unlink()
                gone.append(relative)
        return gone


def create_table(
    spark: SparkSession,
    path: str | Path,
    rows: Rows,
    *,
    name: str | None = None,
    key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
) -> Table:
    """Create a Delta table from an Arrow table, a pandas or a Spark DataFrame, in one commit."""
    root = local_folder(path)
    if is_delta(root):
        raise TableError(f"{root}: there is a Delta table already", "choose another folder")
    whole: DataFrame | pa.Table
    if is_frame(rows):
        from pyspark.sql.pandas.types import to_arrow_schema

        whole, schema = rows, to_arrow_schema(rows.schema, timezone="UTC")
    else:
        whole = storable(as_arrow(rows))
        schema = whole.schema
    root.mkdir(parents=True, exist_ok=True)
    adds = write_rows(whole, root, partition_by)
    create_log(root, _nullable(storable(schema.empty_table()).schema), adds, partition_by=partition_by)
    return Table(spark, root, name=name, key=key)


def store_rows(
    spark: SparkSession,
    path: str | Path,
    rows: DataFrame,
    *,
    description: str,
    consumed: Mapping[str, int],
    note: Mapping[str, Any] | None = None,
    sort_by: Sequence[str] = (),
    onto: DeltaLog | None = None,
) -> Table:
    """Let these rows be all rows of a table, in one commit; a table that is there keeps its schema or gets theirs.

    With `onto`, the table as it was looked at, somebody else's commit since is a `ConflictError`.
    `description` says what the rows are. `consumed` names the version of each table that they were made from. The
    rows of a file are neighbours by `sort_by`, so that a few of them are found again in few files.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    root = local_folder(path)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExecutionError(f"{root}: cannot be made ({error.strerror})", "is the warehouse writable?") from error
    schema = _nullable(storable(to_arrow_schema(rows.schema, timezone="UTC").empty_table()).schema)
    before = onto if onto is not None else DeltaLog(root) if is_delta(root) else None
    adds = write_rows(rows.sort(*[quoted(c) for c in sort_by]) if sort_by else rows, root)
    if before is not None and before.description == description and before.schema == schema:
        before.commit(adds, before.snapshot().paths, consumed=consumed, note=note)
    else:
        create_log(
            root, schema, adds, note=note, description=description, consumed=consumed, replaces=before is not None
        )
    return Table(spark, root)


def convert_parquet(path: str | Path) -> DeltaLog:
    """Turn a Parquet folder into a Delta table in place: only `_delta_log` is added, no file is touched.

    Folders named `column=value` become partition values.
    """
    root = local_folder(path)
    found = sorted(p for p in root.rglob("*.parquet") if not any(_hidden(part) for part in p.relative_to(root).parts))
    if not found:
        raise TableError(f"{root}: no Parquet files here", "check the table's path")
    files, schemas = [], []
    for p in found:
        partition = dict(_partition_of(part) for part in p.relative_to(root).parts[:-1] if "=" in part)
        files.append(describe_file(root, p.relative_to(root).as_posix(), partition))
        schemas.append(_schema_for_spark(p))
    names = list(files[0].partition)
    if any(list(f.partition) != names for f in files):
        raise TableError(f"{root}: the folders disagree about the partition columns", "use one layout throughout")
    try:
        stored = pa.unify_schemas([storable(s.empty_table()).schema for s in schemas])
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(f"{root}: the files disagree about a column ({error})", "rewrite the older files") from error
    fields = [
        *stored,
        *(pa.field(n, _text_type([f.partition[n] for f in files])) for n in names if n not in stored.names),
    ]
    return create_log(root, _nullable(pa.schema(fields)), files, partition_by=names)


def import_file(spark: SparkSession, source: str | Path, path: str | Path, *, name: str | None = None) -> Table:
    """Import a CSV (with header) or JSON-lines file or folder into a new Delta table."""
    kind = Path(source).suffix.lower() or next((p.suffix.lower() for p in Path(source).glob("*.*")), "")
    if not Path(source).exists():
        raise TableError(f"{source}: no such file", "check the table's path")
    match kind:
        case ".csv":
            rows = spark.read.option("header", True).option("inferSchema", True).csv(str(source))
        case ".json" | ".jsonl" | ".ndjson":
            rows = spark.read.json(str(source))
        case _:
            raise TableError(f"{source}: neither CSV nor JSON", "name the file .csv, .json or .jsonl")
    return create_table(spark, path, rows, name=name)


def as_arrow(rows: Rows) -> pa.Table:
    """Any kind of rows as one Arrow table on the driver."""
    if isinstance(rows, pa.Table):
        return rows
    return rows.toArrow() if is_frame(rows) else pa.Table.from_pandas(rows, preserve_index=False)


def is_frame(rows: Any) -> TypeGuard[DataFrame]:
    """Whether rows are a Spark DataFrame of either kind, Classic or Connect."""
    return hasattr(rows, "toArrow")


def _schema_for_spark(path: Path) -> pa.Schema:
    """A file's schema as Spark reads it: its own INT96 timestamps are moments, and some types it does not read."""
    footer = pq.read_metadata(path).schema
    columns = [footer.column(i) for i in range(len(footer))]
    for column in columns:
        kind = str(column.logical_type)
        if "nanoseconds" in kind or kind == "Float16":
            what = "half floats" if kind == "Float16" else "nanoseconds"
            raise TableError(
                f"{path}: column {column.path} holds {what}, which Spark does not read",
                "write the file again with microseconds or floats (pandas: coerce_timestamps='us')",
            )
    moments = {column.path.split(".")[0] for column in columns if column.physical_type == "INT96"}
    return pa.schema([f.with_type(_in_utc(f.type)) if f.name in moments else f for f in footer.to_arrow_schema()])


def _in_utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_in_utc(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_in_utc(kind.key_type), _in_utc(kind.item_type))
    return pa.list_(_in_utc(kind.value_type)) if pa.types.is_list(kind) else kind


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([f.with_nullable(True).remove_metadata() for f in schema])


def _hidden(part: str) -> bool:
    return part.startswith(("_", ".")) and "=" not in part


def _partition_of(part: str) -> tuple[str, str | None]:
    from urllib.parse import unquote

    name, value = part.split("=", 1)
    return unquote(name), None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)


def _text_type(values: Sequence[str | None]) -> pa.DataType:
    """The narrowest of BIGINT, DATE and STRING that holds every value as it is written."""
    array = pa.array(values, pa.string())
    for kind in (pa.int64(), pa.date32()):
        try:
            if array.cast(kind).cast(pa.string()).equals(array):
                return kind
        except pa.ArrowInvalid:
            continue
    return pa.string()
