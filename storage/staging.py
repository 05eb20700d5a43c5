"""A change to one table, checked and written, waiting for its commit.

Rows are matched by the declared key, or by all columns, NULL-safe. Only the files that hold a deleted row are
rewritten. The bag is respected: deleting one of two equal rows leaves one.
"""

from __future__ import annotations

import difflib
import functools
import operator
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storage import writing
from storage.changes import COUNT
from storage.log import DataFile, NewFile
from storage.pruning import files_with_keys
from storage.reading import FILE_COLUMN, file_of, file_uri, quoted, read_files, struct_type
from storage.rows import Row, Sought, show_row, tuples
from storage.searching import can_search, losing, rows_with_keys
from storage.table import Table, as_arrow, is_frame
from storage.writing import storable, write_change_file, write_parts, write_rows
from views.errors import AdvisorError, ConflictError, UpdateError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from storage.table import Rows

ATTEMPTS = 30
"""How often a commit that lost a race is tried again before it gives up."""


@dataclass(frozen=True)
class Change:
    """Rows to insert into and delete from one table; a modification is both.

    Deletes name whole rows, or only the declared key.
    """

    inserts: Rows | None = None
    deletes: Rows | None = None


@dataclass
class Prepared:
    """A table's part of a transaction, written but not committed."""

    table: Table
    version: int
    adds: list[NewFile] = field(default_factory=list)
    removes: list[str] = field(default_factory=list)
    change_files: list[str] = field(default_factory=list)
    checked_keys: bool = False

    @property
    def paths(self) -> list[str]:
        """Every file that was written for this part."""
        return [*(f.path for f in self.adds), *self.change_files]

    def committed(self) -> bool:
        """Whether the log names a file of this part: its commit landed, whatever was heard of it."""
        log, ours = self.table.log, set(self.paths)
        log.refresh()
        commits = log.commits(self.version, log.version)
        return commits is None or any(
            not ours.isdisjoint((*(add["path"] for add in c.adds), *(c.change_files or ()))) for c in commits
        )

    def discard(self) -> None:
        """Delete the files of a part that was not committed; where the log cannot tell, vacuum will."""
        try:
            if self.committed():
                return
        except AdvisorError:
            return
        for path in self.paths:
            (self.table.root / path).unlink(missing_ok=True)


def prepare(table: Table, change: Change) -> Prepared:
    """Write the files of a change, checked against the table's newest known version.

    The deleted rows must be there and the inserted keys must be free; a row that is both deleted and inserted is
    no change.
    """
    columns = list(table.columns)
    given = change.inserts
    if given is not None and is_frame(given) and change.deletes is None:
        few = given.limit(writing.DRIVER_ROWS + 1).toArrow()
        if few.num_rows > writing.DRIVER_ROWS:
            return _prepare_bulk(table, given)
        given = few
    inserts = _typed(table, given) if given is not None else None
    deletes = _typed(table, change.deletes, partial=True) if change.deletes is not None else None
    if deletes is not None and deletes.column_names != columns:
        deletes = _rows_of_keys(table, deletes)
    return stage(table, inserts, deletes)


def stage(table: Table, inserts: pa.Table | None, deletes: pa.Table | None, *, rekeyed: bool = True) -> Prepared:
    """Write the files of a change whose rows are in the table's own types.

    `rekeyed` false says that the inserted rows carry the keys of the deleted ones, so that none needs a check.
    """
    part = Prepared(table, table.version)
    delta = _net(inserts, deletes, empty_rows(table))
    try:
        if delta.counts:
            _stage(part, delta, rekeyed)
    except BaseException:
        part.discard()
        raise
    return part


def _prepare_bulk(table: Table, rows: DataFrame) -> Prepared:
    """An insert of more rows than the driver takes: Spark writes it, and its files themselves are the change."""
    from pyspark.sql import functions as F

    now, part = table.log.snapshot(), Prepared(table, table.version)
    types = struct_type(now.fields)
    _check_columns(table, rows.columns)
    typed = rows.select(*[F.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in types.fields])
    try:
        part.adds = write_rows(typed, table.root, now.partition_columns)
        if table.key:
            part.checked_keys = True
            added = [DataFile(f.path, f.partition) for f in part.adds]
            new = read_files(table.spark, table.root, now.fields, now.partition_columns, added)
            keys = [F.col(quoted(c)) for c in table.key]
            missing = functools.reduce(operator.or_, (k.isNull() for k in keys))
            if new.where(missing).limit(1).toArrow().num_rows:
                raise _null_key(table)
            all_keys = table.rows().select(*keys).unionByName(new.select(*keys))
            twice = all_keys.groupBy(*keys).agg(F.count(F.lit(1)).alias(COUNT)).where(F.col(COUNT) > 1)
            for key in tuples(twice.select(*keys).limit(1).toArrow()):
                raise _duplicate(table, key)
    except BaseException:
        part.discard()
        raise
    return part


def commit_part(part: Prepared, **names: str) -> int:
    """Commit one part; after a lost race, again as it stands if the files it rewrites are still there.

    `names` go into the commit's note: an intent marks its commits by them.
    """
    log = part.table.log
    note: dict[str, Any] = {"change_files": part.change_files} if part.change_files else {}
    note |= names
    exclusive = "keys" if part.checked_keys else None
    for _ in range(ATTEMPTS):
        if part.checked_keys and log.version != part.version:
            raise ConflictError(f"{part.table.name}: changed since its keys were checked")
        try:
            return log.commit(part.adds, part.removes, note=note, exclusive=exclusive)
        except ConflictError:
            log.refresh()
            if not set(part.removes) <= log.snapshot().active:
                raise
    raise ConflictError(f"{part.table.name}: lost the race {ATTEMPTS} times", "try again")


@dataclass
class _Delta:
    """A net change on the driver: the rows once, their signed counts, and the arrow rows they came from."""

    rows: pa.Table
    counts: list[int]

    def part(self, sign: int) -> pa.Table:
        """The inserted (1) or deleted (-1) rows, repeated by count."""
        picked = [i for i, n in enumerate(self.counts) if n * sign > 0 for _ in range(abs(n))]
        return self.rows.take(_indices(picked))

    def with_counts(self) -> pa.Table:
        return self.rows.append_column(COUNT, pa.array(self.counts, pa.int64()))


def _net(inserts: pa.Table | None, deletes: pa.Table | None, empty: pa.Table) -> _Delta:
    parts = [(t, s) for t, s in ((inserts, 1), (deletes, -1)) if t is not None and t.num_rows]
    whole = pa.concat_tables([t.cast(empty.schema) for t, _ in parts]) if parts else empty
    counts: Counter[Row] = Counter()
    first: dict[Row, int] = {}
    signs = [s for t, s in parts for _ in range(t.num_rows)]
    for i, (row, sign) in enumerate(zip(tuples(whole), signs, strict=True)):
        counts[row] += sign
        first.setdefault(row, i)
    kept = [row for row, n in counts.items() if n]
    return _Delta(whole.take(_indices([first[row] for row in kept])), [counts[row] for row in kept])


def _stage(part: Prepared, delta: _Delta, rekeyed: bool) -> None:
    """Check a net change against the table and write its change file, rewritten files and new rows."""
    table, now = part.table, part.table.log.snapshot()
    doomed, new = delta.part(-1), delta.part(1)
    part.checked_keys = bool(table.key) and rekeyed and new.num_rows > 0
    _check_new_keys(table, new)
    survivors: list[pa.Table | DataFrame] = []
    match = list(table.key) or list(now.columns)
    wanted = doomed if not part.checked_keys else pa.concat_tables([doomed, new])
    if can_search(now, wanted.select(match)):
        _take_out(part, doomed)
        if part.checked_keys:
            keys = new.select(match)
            _check_keys_free(table, keys, rows_with_keys(now, keys.schema, keys, writing.DRIVER_ROWS), doomed)
    elif wanted.num_rows:
        matches = _matches(table, wanted, match)
        kill = _allocate(table, doomed, matches)
        if part.checked_keys:
            _check_keys_free(table, new.select(match), matches.repeated.select(match), doomed)
        survivors = _rewrite(part, matches, kill, match)
    part.change_files = write_change_file(delta.with_counts(), table.root)
    for rows in [*survivors, new]:
        part.adds += write_rows(rows, table.root, now.partition_columns)


def _take_out(part: Prepared, doomed: pa.Table) -> None:
    """Rewrite the files that hold doomed rows without them, on the driver."""
    table, sought = part.table, Sought(doomed, [1] * doomed.num_rows)
    with ThreadPoolExecutor(1) as pool:
        for source in losing(table.log.snapshot(), sought, pool, writing.DRIVER_ROWS):
            part.removes.append(source.path)
            part.adds += write_parts(source.left(), table.root)
    if sought:
        raise _absent(table, sought.example(), len(sought))


@dataclass(frozen=True)
class _Matches:
    """Stored rows that a change touches: each with the file it lies in and how often."""

    rows: pa.Table
    keys: list[Row]
    files: list[str]
    counts: list[int]

    @property
    def repeated(self) -> pa.Table:
        """The rows, each as often as it is stored."""
        return self.rows.take(_indices([i for i, n in enumerate(self.counts) for _ in range(n)]))


def _matches(table: Table, wanted: pa.Table, match: list[str]) -> _Matches:
    from pyspark.sql import functions as F

    now = table.log.snapshot()
    mask = files_with_keys(now, {c: wanted[c] for c in match})
    stored = read_files(table.spark, table.root, now.fields, now.partition_columns, now.files(mask), with_file=True)
    keys = table.spark.createDataFrame(wanted.select(match)).distinct()
    columns = [F.col(quoted(c)) for c in now.columns]
    found = (
        stored.join(F.broadcast(_renamed(keys)), _same(match), "left_semi")
        .groupBy(*columns, FILE_COLUMN)
        .agg(F.count(F.lit(1)).alias(COUNT))
        .toArrow()
    )
    rows = found.select(list(now.columns))
    files = [file_of(uri, table.root) for uri in found[FILE_COLUMN].to_pylist()]
    return _Matches(rows, tuples(rows), files, found[COUNT].to_pylist())


def _allocate(table: Table, doomed: pa.Table, matches: _Matches) -> list[int]:
    """How many copies of each match go: exactly as many as were asked for, from as few files as possible."""
    need = Counter(tuples(doomed))
    kill = [0] * len(matches.keys)
    weight = Counter(f for f, row in zip(matches.files, matches.keys, strict=True) if row in need)
    for i in sorted(range(len(kill)), key=lambda i: (-weight[matches.files[i]], matches.files[i])):
        take = min(need.get(matches.keys[i], 0), matches.counts[i])
        if take:
            kill[i] = take
            need[matches.keys[i]] -= take
    absent = +need
    if absent:
        raise _absent(table, next(iter(absent)), absent.total())
    return kill


def _absent(table: Table, row: Row, count: int) -> UpdateError:
    shown = show_row(dict(zip(table.columns, row, strict=True)))
    return UpdateError(
        f"{table.name}: {count} of the rows to delete are not in the table, for example {shown}",
        "nothing was committed",
    )


def _rewrite(part: Prepared, matches: _Matches, kill: list[int], match: list[str]) -> list[pa.Table | DataFrame]:
    """Mark the files that lose rows for removal and return the rows of them that stay."""
    from pyspark.sql import functions as F

    table, now = part.table, part.table.log.snapshot()
    part.removes = sorted({f for f, n in zip(matches.files, kill, strict=True) if n})
    if not part.removes:
        return []
    chosen = now.files(np.isin(now.paths, part.removes))
    stored = read_files(table.spark, table.root, now.fields, now.partition_columns, chosen, with_file=True)
    lost = [i for i, n in enumerate(kill) if n]
    uris = {path: file_uri(table.root / path) for path in part.removes}
    gone = (
        matches.rows.select(match)
        .take(_indices(lost))
        .append_column(FILE_COLUMN, pa.array([uris[matches.files[i]] for i in lost]))
    )
    dead = table.spark.createDataFrame(gone)
    left = stored.join(F.broadcast(_renamed(dead)), _same([*match, FILE_COLUMN]), "left_anti")
    again = [i for i in lost for _ in range(matches.counts[i] - kill[i])]
    rest: list[pa.Table | DataFrame] = [matches.rows.take(_indices(again))] if again else []
    counts = dict(zip(now.paths, now.statistics["num_records"].to_pylist(), strict=True))
    known = [counts[p] for p in part.removes]
    if None not in known and sum(known) <= writing.DRIVER_ROWS:
        rows = left.toArrow()
        names = rows[FILE_COLUMN]
        return [rows.filter(pc.equal(names, uris[p])).drop_columns([FILE_COLUMN]) for p in part.removes] + rest
    return [left.drop(FILE_COLUMN), *rest]


def _check_new_keys(table: Table, new: pa.Table) -> None:
    if not table.key or not new.num_rows:
        return
    keys = tuples(new.select(list(table.key)))
    if any(value is None for key in keys for value in key):
        raise _null_key(table)
    key, times = Counter(keys).most_common(1)[0]
    if times > 1:
        raise _duplicate(table, key)


def _check_keys_free(table: Table, keys: pa.Table, stored: pa.Table, doomed: pa.Table) -> None:
    """Whether no new key is among the stored ones once the doomed rows, all of which are there, have left."""
    columns = keys.column_names
    taken = Counter(tuples(stored.select(columns)))
    taken.subtract(tuples(doomed.select(columns)))
    for key in tuples(keys):
        if taken[key] > 0:
            raise _duplicate(table, key)


def _null_key(table: Table) -> UpdateError:
    return UpdateError(f"{table.name}: a NULL in key {', '.join(table.key)}", "nothing was committed")


def _duplicate(table: Table, key: Row) -> UpdateError:
    shown = show_row(dict(zip(table.key, key, strict=True)))
    return UpdateError(f"{table.name}: duplicate key {shown}", "nothing was committed")


def _rows_of_keys(table: Table, keys: pa.Table) -> pa.Table:
    """The whole rows of the keys to delete."""
    if not table.key or set(keys.column_names) != set(table.key):
        missing = [c for c in table.columns if c not in keys.column_names]
        raise UpdateError(
            f"{table.name}: the rows to delete have no column {missing[0]}",
            "give whole rows, or the declared key",
        )
    now = table.log.snapshot()
    if can_search(now, keys):
        found = rows_with_keys(now, empty_rows(table).schema, keys.select(list(table.key)), writing.DRIVER_ROWS)
    else:
        found = _matches(table, keys, list(table.key)).repeated
    known = set(tuples(found.select(list(table.key))))
    for key in tuples(keys.select(list(table.key))):
        if key not in known:
            shown = show_row(dict(zip(table.key, key, strict=True)))
            raise UpdateError(f"{table.name}: no row to delete has key {shown}", "nothing was committed")
    return found


def _typed(table: Table, rows: Rows, *, partial: bool = False) -> pa.Table:
    """Rows as Arrow in the table's own column order and types; names are checked, values cast."""
    given, columns = storable(as_arrow(rows)), table.columns
    given = given.rename_columns([column_named(table, c) for c in given.column_names])
    if not partial:
        _check_columns(table, given.column_names)
    chosen = [c for c in columns if c in given.column_names]
    wanted = pa.schema([empty_rows(table).schema.field(c) for c in chosen])
    try:
        return given.select(chosen).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UpdateError(
            f"{table.name}: a value does not fit its column ({error})", "nothing was committed"
        ) from error


def _check_columns(table: Table, names: Sequence[str]) -> None:
    found = {column_named(table, c) for c in names}
    absent = [c for c in table.columns if c not in found]
    if absent:
        raise UpdateError(
            f"{table.name}: the new rows have no column {absent[0]}", f"columns: {', '.join(table.columns)}"
        )


def column_named(table: Table, name: str) -> str:
    exact = [c for c in table.columns if c == name] or [c for c in table.columns if c.lower() == name.lower()]
    if exact:
        return exact[0]
    near = difflib.get_close_matches(name, table.columns, 1)
    hint = f"did you mean {near[0]}?" if near else f"columns: {', '.join(table.columns)}"
    raise UpdateError(f"{table.name}: unknown column {name}", hint)


def empty_rows(table: Table) -> pa.Table:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(struct_type(table.log.snapshot().fields), timezone="UTC").empty_table()


def _same(columns: Sequence[str]) -> Column:
    """NULL-safe equality of stored columns with those of `_renamed`."""
    from pyspark.sql import functions as F

    condition = F.lit(True)
    for i, c in enumerate(columns):
        condition = condition & F.col(quoted(c)).eqNullSafe(F.col(f"__match_{i}"))
    return condition


def _renamed(rows: DataFrame) -> DataFrame:
    return rows.toDF(*[f"__match_{i}" for i in range(len(rows.columns))])


def _indices(numbers: Sequence[int]) -> pa.Array:
    return pa.array(numbers, pa.int64())
