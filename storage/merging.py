"""A net change applied to a stored table on the driver: rows with positive counts come, others go, in one commit.

Only files that can hold a row to take away are read, with Arrow and without a Spark job, and only those that do hold
one are written again, some rows at a time; small ones together with the new rows. A row that is to go and is not there
stops the commit: a change was lost or came twice (GMS93 Lemma 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.changes import COUNT, COUNT_FIELD, counted, net, net_here, union
from storage.log import DataFile, NewFile
from storage.reading import quoted, read_files, read_snapshot, struct_type
from storage.rows import Sought, show_row
from storage.searching import PARTS, losing
from storage.table import Table, is_frame
from storage.writing import DRIVER_ROWS, write_change_file, write_rows
from views.errors import ExecutionError, TableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SMALL_FILE_ROWS = 20_000
"""A file up to this size is written again with new rows, so that many small changes do not leave many small files."""
SMALL_FILES = 8
"""So many small files are left beside each other before they are put together."""


def merge_change(
    table: Table,
    pieces: Sequence[Any],
    consumed: Mapping[str, int],
    note: Mapping[str, Any],
    *,
    count_column: str | None = None,
    keep_change: bool = False,
    driver_rows: int = DRIVER_ROWS,
) -> int:
    """Commit a change (the table's columns and `__count`), and the versions of the tables it came from.

    The change may come in pieces, Arrow tables or Spark DataFrames, which are netted; where one
    of them is a DataFrame the work stays on Spark.
    `count_column` holds numbers that must not fall below zero. `keep_change` leaves the change beside the commit, for
    whoever reads this table's changes. Of files that are written again the driver holds no more than `driver_rows` rows
    at a time.
    """
    now = table.log.snapshot()
    if now.vectors or now.partition_columns:
        raise TableError(
            f"{table.root}: a stored view was laid out by somebody else", "remove its folder and apply again"
        )
    columns = [*now.columns, COUNT]
    if any(is_frame(piece) for piece in pieces):
        changed = union([_frame(table, p).select(*[quoted(c) for c in columns]) for p in pieces if _has_rows(p)])
        return _merge_on_spark(table, net(changed), consumed, note, count_column)
    schema = table.log.schema.append(pa.field(COUNT, pa.int64()))
    parts = [piece.select(columns).cast(schema) for piece in pieces if piece.num_rows]
    change = net_here(pa.concat_tables(parts)) if parts else schema.empty_table()
    if not change.num_rows:
        return table.log.commit(consumed=consumed, note=note)
    return _merge_here(table, change, consumed, note, count_column, keep_change, driver_rows)


def _merge_here(
    table: Table,
    change: pa.Table,
    consumed: Mapping[str, int],
    note: Mapping[str, Any],
    count_column: str | None,
    keep_change: bool,
    driver_rows: int,
) -> int:
    log, now = table.log, table.log.snapshot()
    columns = list(now.columns)
    rows = change.select(columns)
    counts = np.asarray(change[COUNT].to_numpy())
    coming = rows.take(_repeated(counts))
    if count_column is not None:
        below = coming.filter(pc.less(coming[count_column], 0))
        if below.num_rows:
            raise _negative(table, below.slice(0, 1).to_pylist()[0], count_column)
    going = rows.filter(pa.array(counts < 0))
    sought = Sought(going, (-counts[counts < 0]).tolist())
    removes: list[str] = []
    together: list[pa.Table] = []
    written: list[Future[list[NewFile]]] = []
    part_rows = max(1, driver_rows // PARTS)

    def write(part: pa.Table) -> None:
        """Write a part of a large file by itself, so that rows that lie together stay so; small parts go together."""
        if part.num_rows > SMALL_FILE_ROWS:
            put(part)
            return
        together.append(part.cast(rows.schema))
        if sum(each.num_rows for each in together) > part_rows:
            flush()

    def flush() -> None:
        whole = pa.concat_tables(together)
        together.clear()
        if whole.num_rows:
            put(whole)

    def put(part: pa.Table) -> None:
        """Write in the background, one part at a time."""
        if written:
            written[-1].result()
        written.append(pool.submit(write_rows, part, table.root))

    try:
        with ThreadPoolExecutor(2) as pool:  # one reads ahead, one writes
            for source in losing(now, sought, pool, driver_rows, close=True):
                removes.append(source.path)
                for part in source.left():
                    write(part)
            if sought:
                row = show_row(dict(zip(columns, sought.example(), strict=True)))
                raise ExecutionError(
                    f"{table.name}: a row to take away is not there: {row}",
                    "a change was lost or came twice; run advisor verify",
                )
            for path in _small_files(table, set(removes)) if coming.num_rows else ():
                removes.append(path)
                write(pq.read_table(table.root / path, columns=columns))
            together.append(coming)
            flush()
        if keep_change:
            note = {**note, "change_files": write_change_file(change.select([*columns, COUNT]), table.root)}
        adds = [new for each in written for new in each.result()]
        return log.commit(adds, removes, consumed=consumed, note=note)
    except BaseException:
        for each in written:
            for new in each.result() if each.exception() is None else ():
                if new.path not in log.snapshot().active:
                    (table.root / new.path).unlink(missing_ok=True)
        raise


def _merge_on_spark(
    table: Table, change: DataFrame, consumed: Mapping[str, int], note: Mapping[str, Any], count_column: str | None
) -> int:
    """The same for a change that is too large for the driver: it is written once, then put together with the table."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    log, now = table.log, table.log.snapshot()
    fields = struct_type([*now.fields, COUNT_FIELD])
    typed = change.select(*[F.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in fields])
    kept = write_change_file(typed, table.root)
    delta = read_files(table.spark, table.root, [*now.fields, COUNT_FIELD], (), [DataFile(path) for path in kept])
    if count_column is not None:
        below = delta.where((F.col(quoted(count_column)) < 0) & (F.col(COUNT) > 0)).limit(1).toArrow().to_pylist()
        if below:
            raise _negative(table, {c: v for c, v in below[0].items() if c != COUNT}, count_column)
    columns = [quoted(c) for c in now.columns]
    whole = net(union([counted(read_snapshot(table.spark, now), 1), delta]))
    missing = F.raise_error(F.concat(F.lit("a row to take away is not there: "), F.to_json(F.struct(*columns))))
    times = F.when(F.col(COUNT) > 0, F.col(COUNT)).otherwise(missing.cast("bigint"))
    rows = whole.withColumn("__time", F.explode(F.sequence(F.lit(1).cast("bigint"), times))).select(*columns)
    try:
        adds = write_rows(rows, table.root)
    except PySparkException as error:
        found = re.search(r"a row to take away is not there: .*", str(error))
        if found is None:
            raise
        raise ExecutionError(
            f"{table.name}: {found[0][:300]}", "a change was lost or came twice; run advisor verify"
        ) from error
    return log.commit(adds, now.paths, consumed=consumed, note={**note, "change_files": kept})


def _frame(table: Table, rows: Any) -> DataFrame:
    return rows if is_frame(rows) else table.spark.createDataFrame(rows)


def _has_rows(rows: Any) -> bool:
    """Whether there may be rows; a DataFrame is not asked."""
    return is_frame(rows) or rows.num_rows > 0


def _negative(table: Table, row: Mapping[str, Any], column: str) -> ExecutionError:
    shown = show_row({c: v for c, v in row.items() if not c.startswith("__")})
    return ExecutionError(
        f"{table.name}: the number of rows falls to {row[column]} for {shown or 'the only group'}",
        "a change was lost or came twice; run advisor verify",
    )


def _repeated(counts: np.ndarray[Any, Any]) -> pa.Array:
    """The positions of rows that come, each as often as its count."""
    return pa.array(np.repeat(np.arange(len(counts)), np.maximum(counts, 0)), pa.int64())


def _small_files(table: Table, taken: set[str]) -> list[str]:
    """Small files to put together with the new rows, once there are enough of them."""
    statistics = table.log.snapshot().statistics
    counts = zip(statistics["path"].to_pylist(), statistics["num_records"].to_pylist(), strict=True)
    small = [path for path, rows in counts if path not in taken and rows is not None and rows <= SMALL_FILE_ROWS]
    return small if len(small) >= SMALL_FILES else []
