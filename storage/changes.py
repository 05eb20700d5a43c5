"""The net change of a table between two versions, exact for any Delta table.

A change set is a DataFrame with the table's columns and `__count` (BIGINT, signed): one row per distinct tuple,
no zeros. It is summed from what the log offers per commit, the cheapest first:

1. the change file that our own update path kept beside the commit (H87's AD file);
2. the change data feed's files, where the table has a feed;
3. the rows of the files added minus the rows of the files removed.

A commit that says it changes no data (a compaction) contributes nothing. Where the log is cleaned away, a
deletion vector moved, a file of an intermediate version is gone or the table was laid out anew (other
partition columns, a type that changed and changed back), the whole difference between the two versions is
taken instead: it needs only what the two versions themselves hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.log import Commit, DataFile, DeltaLog, Snapshot
from storage.reading import empty, file_here, is_plain, physical_name, quoted, read_files, struct_type
from storage.rows import tuples
from views.errors import HistoryGoneError, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT = "__count"
"""The signed multiplicity of a row in a change set: Blakeley's counter, Gupta's derivation count."""
COUNT_FIELD: Mapping[str, Any] = {"name": COUNT, "type": "long", "nullable": True, "metadata": {}}


def net(rows: DataFrame) -> DataFrame:
    """Sum a change set by row, NULL-safe; rows whose counts cancel disappear."""
    from pyspark.sql import functions as F

    columns = [F.col(quoted(c)) for c in rows.columns if c != COUNT]
    total = rows.groupBy(*columns).agg(F.sum(COUNT).alias(COUNT))
    return total.where(F.col(COUNT) != 0)


def counted(rows: DataFrame, count: int) -> DataFrame:
    """Rows with a constant count."""
    from pyspark.sql import functions as F

    return rows.withColumn(COUNT, F.lit(count).cast("bigint"))


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Bag union by name; the caller gives at least one frame."""
    first, *rest = frames
    for frame in rest:
        first = first.unionByName(frame)
    return first


def changes(spark: SparkSession, log: DeltaLog, after: int, upto: int) -> DataFrame:
    """The net change of the table from version `after` to version `upto`."""
    if not 0 <= after <= upto <= log.version:
        raise TableError(f"{log.root}: no change from version {after} to {upto}", f"versions are 0 to {log.version}")
    new = log.snapshot(upto)
    if after == upto:
        return counted(empty(spark, struct_type(new.fields)), 1)
    commits = log.commits(after, upto)
    if commits is None or any(c.changes_schema for c in commits):
        _check_schema(log.snapshot(after), new)
    pieces = _pieces(commits, new) if commits is not None and _alike(log, after, commits, new) else None
    if pieces is None or not all((log.root / path).is_file() for path in pieces.paths()):
        return net(union(_difference(spark, log.snapshot(after), new)))
    frames = (
        _read_kept(spark, new, pieces.kept) + _read_feed(spark, new, pieces.feed) + _read_signed(spark, new, pieces)
    )
    if not frames:
        return counted(empty(spark, struct_type(new.fields)), 1)
    if upto == after + 1 and pieces.kept:
        return frames[0]  # one commit's change file is net as it was written
    return net(union(frames))


def changes_here(log: DeltaLog, after: int, upto: int, most_rows: int) -> pa.Table | None:
    """The net change on the driver, without an engine; None where only an engine can tell, or it is too large.

    Our own updates keep their change beside the commit, and appended files are their own change: both are read as
    they are.
    """
    new = log.snapshot(upto)
    commits = log.commits(after, upto) if after < upto else []
    if commits is None or not is_plain(new) or any(c.changes_schema for c in commits):
        return None
    pieces = _pieces(commits, new)
    if pieces is None or pieces.feed or not all((log.root / path).is_file() for path in pieces.paths()):
        return None
    signed = [(path, None) for path in pieces.kept] + [(path, n) for path, n in pieces.counts.items() if n]
    if sum(pq.read_metadata(log.root / path).num_rows for path, _ in signed) > most_rows:
        return None
    schema = log.schema.append(pa.field(COUNT, pa.int64()))
    parts = [schema.empty_table()]
    for path, count in signed:
        rows = file_here(log.root / path, schema if count is None else log.schema)
        if count is not None:
            rows = rows.append_column(schema.field(COUNT), pa.array([count] * rows.num_rows, pa.int64()))
        parts.append(rows)
    whole = pa.concat_tables(parts)
    return whole if len(signed) == 1 and pieces.kept else net_here(whole)


def is_gone(log: DeltaLog, after: int, upto: int) -> bool:
    """Whether the change between two versions cannot be read any more, because logs or files were cleaned away."""
    commits, new = log.commits(after, upto), log.snapshot(upto)
    pieces = None if commits is None else _pieces(commits, new)
    if pieces is not None and all((log.root / path).is_file() for path in pieces.paths()):
        return False
    try:
        old = log.snapshot(after)
    except HistoryGoneError:
        return True
    now = {f.identity for f in new.files()}
    return not all((log.root / f.path).is_file() for f in old.files() if f.identity not in now)


def net_here(rows: pa.Table) -> pa.Table:
    """Sum a change set by row on the driver; rows whose counts cancel disappear."""
    data = rows.drop_columns([COUNT])
    if not data.num_columns:
        total = pc.sum(rows[COUNT]).as_py() or 0
        return pa.table({COUNT: pa.array([total] if total else [], pa.int64())})
    if not any(pa.types.is_floating(f.type) or pa.types.is_nested(f.type) for f in data.schema):
        total = rows.group_by(data.column_names, use_threads=False).aggregate([(COUNT, "sum")])
        total = total.rename_columns([*data.column_names, COUNT]).select(rows.column_names)
        return total.filter(pc.not_equal(total[COUNT], 0)).cast(rows.schema)
    counts: Counter[tuple[Any, ...]] = Counter()
    first: dict[tuple[Any, ...], int] = {}
    for i, (row, count) in enumerate(zip(tuples(data), rows[COUNT].to_pylist(), strict=True)):
        counts[row] += count
        first.setdefault(row, i)
    kept = [row for row, count in counts.items() if count]
    chosen = data.take(pa.array([first[row] for row in kept], pa.int64()))
    return chosen.append_column(COUNT, pa.array([counts[row] for row in kept], pa.int64()))


@dataclass
class _Pieces:
    """Where the change of some commits can be read, without reading it."""

    kept: list[str] = field(default_factory=list)
    feed: list[DataFile] = field(default_factory=list)
    files: dict[str, DataFile] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def paths(self) -> list[str]:
        return [*self.kept, *(f.path for f in self.feed), *(path for path, n in self.counts.items() if n)]


def _pieces(commits: Iterable[Commit], new: Snapshot) -> _Pieces | None:
    """The pieces of some commits; None when the log alone cannot tell (moved vectors, unnamed partitions)."""
    found, partitioned = _Pieces(), bool(new.partition_columns)
    names = {physical_name(f): f["name"] for f in new.fields}

    def data_file(action: Mapping[str, Any]) -> DataFile:
        return DataFile(action["path"], {names[p]: v for p, v in (action.get("partitionValues") or {}).items()})

    for commit in commits:
        if commit.change_files is not None:
            found.kept += commit.change_files
            continue
        if commit.change_data:
            found.feed += [data_file(action) for action in commit.change_data]
            continue
        for count, actions in ((1, commit.adds), (-1, commit.removes)):
            for action in actions:
                if not action.get("dataChange", True):
                    continue
                if action.get("deletionVector") or (partitioned and not action.get("partitionValues")):
                    return None
                found.files[action["path"]] = data_file(action)
                found.counts[action["path"]] += count
    return found


def _read_kept(spark: SparkSession, new: Snapshot, kept: Sequence[str]) -> list[DataFrame]:
    if not kept:
        return []
    return [read_files(spark, new.root, [*new.fields, COUNT_FIELD], (), [DataFile(path) for path in kept])]


def _read_feed(spark: SparkSession, new: Snapshot, feed: Sequence[DataFile]) -> list[DataFrame]:
    from pyspark.sql import functions as F

    if not feed:
        return []
    fields = [*new.fields, {"name": "_change_type", "type": "string", "nullable": True, "metadata": {}}]
    rows = read_files(spark, new.root, fields, new.partition_columns, feed)
    sign = F.when(F.col("_change_type").isin("insert", "update_postimage"), 1).otherwise(-1).cast("bigint")
    return [rows.withColumn(COUNT, sign).drop("_change_type")]


def _read_signed(spark: SparkSession, new: Snapshot, pieces: _Pieces) -> list[DataFrame]:
    frames = []
    for count in sorted({n for n in pieces.counts.values() if n}, reverse=True):
        chosen = [pieces.files[path] for path, n in sorted(pieces.counts.items()) if n == count]
        frames.append(counted(read_files(spark, new.root, new.fields, new.partition_columns, chosen), count))
    return frames


def _difference(spark: SparkSession, old: Snapshot, new: Snapshot) -> list[DataFrame]:
    """Rows of the files only in the new version, minus rows of the files only in the old one."""
    before = {f.identity: f for f in old.files()}
    now = {f.identity: f for f in new.files()}
    return [
        counted(read_files(spark, new.root, new.fields, partition_columns, chosen), count)
        for count, partition_columns, chosen in (
            (1, new.partition_columns, [f for i, f in now.items() if i not in before]),
            (-1, old.partition_columns, [f for i, f in before.items() if i not in now]),
        )
    ]


def _alike(log: DeltaLog, after: int, commits: Sequence[Commit], new: Snapshot) -> bool:
    """Whether every file written since `after` can be read under the schema and partitioning of `new`."""
    turns = [c.version for c in commits if c.changes_schema]
    passed = [log.snapshot(v) for v in (after, *turns)] if turns else []
    return all(s.partition_columns == new.partition_columns and _lost_column(s, new) is None for s in passed)


def _check_schema(old: Snapshot, new: Snapshot) -> None:
    """Old rows can be read under the new schema only if every old column is still there with its type."""
    lost = _lost_column(old, new)
    if lost is not None:
        raise TableError(
            f"{old.root}: column {lost} was dropped or changed its type after version {old.version}",
            "views on it must be rebuilt (SCHEMA_CHANGED)",
        )


def _lost_column(old: Snapshot, new: Snapshot) -> str | None:
    """A column of the old version that the new one lacks, or stores under another type or physical name."""

    def stored(f: Mapping[str, Any]) -> tuple[Any, str]:
        return f["type"], physical_name(f)

    now = {f["name"]: stored(f) for f in new.fields}
    return next((f["name"] for f in old.fields if now.get(f["name"]) != stored(f)), None)
