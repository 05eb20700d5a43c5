"""Looks rows up in a table's files on the driver, with Arrow and no Spark job: to read them, or to take them out.

Only files whose bounds admit a row that is sought are read, some rows at a time, the next file while one is searched.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage.log import Snapshot
from storage.pruning import files_with_keys
from storage.reading import arrow_schema, file_here, fitted, is_plain, opened, parts_here
from storage.rows import Sought, tuples

PARTS = 4
"""Of the rows that the driver may hold, a part this small is searched while others are read and written."""
MOST_ROWS = 10_000_000
"""Files with more rows together are left to the engine, whose machines search side by side."""


def can_search(now: Snapshot, keys: pa.Table) -> bool:
    """Whether rows with these values in some columns are to be looked up on the driver."""
    return _few(now, _mask(now, keys))


def rows_among(
    now: Snapshot, mask: Any, columns: Collection[str], values: Mapping[str, pa.ChunkedArray], most_rows: int
) -> pa.Table | None:
    """The rows of some files, in some columns, whose values are among given ones, column by column.

    There may be more of them than that: values that Arrow compares otherwise than SQL are passed over. None where
    the engine is to look them up, or where they are too many.
    """
    whole = arrow_schema(now)
    known = {name: _comparable(each, whole.field(name).type) for name, each in values.items()}
    wanted = {name: each for name, each in known.items() if each is not None}
    if not wanted or not _few(now, mask):
        return None
    schema = pa.schema([field for field in whole if field.name in columns or field.name in wanted])
    found, room = [schema.empty_table()], most_rows
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reading = [pool.submit(_among, now.root / file.path, schema, wanted) for file in now.files(mask)]
        for each in reading:
            found.append(each.result())
            room -= found[-1].num_rows
            if room < 0:
                pool.shutdown(cancel_futures=True)
                return None
    return pa.concat_tables(found)


def _comparable(values: pa.ChunkedArray, kind: pa.DataType) -> pa.Array | None:
    """The values in the type of a column, where Arrow finds the same ones equal as SQL does."""
    if pa.types.is_integer(kind) and pa.types.is_integer(values.type):
        low, high = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
        within = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
        return pc.unique(values.filter(pc.fill_null(within, True)).cast(kind))
    sound = values.type == kind and not (pa.types.is_nested(kind) or pa.types.is_floating(kind))
    return pc.unique(values) if sound else None


def _among(path: Path, schema: pa.Schema, wanted: Mapping[str, pa.Array]) -> pa.Table:
    """The rows of one file; its other columns are read only where some row is wanted."""
    keys = pa.schema([field for field in schema if field.name in wanted])
    found = [schema.empty_table()]
    with opened(path) as file:
        for group in range(file.num_row_groups):
            part = fitted(file.read_row_group(group, columns=keys.names), keys)
            passing = reduce(pc.and_, (pc.is_in(part[name], value_set=wanted[name]) for name in keys.names))
            if pc.any(passing).as_py():
                rest = [name for name in schema.names if name not in wanted]
                others = file.read_row_group(group, columns=rest, use_threads=False)
                for name in others.column_names:
                    part = part.append_column(name, others[name])
                found.append(fitted(part.filter(passing), schema))
    return pa.concat_tables(found)


def rows_with_keys(now: Snapshot, schema: pa.Schema, keys: pa.Table, part_rows: int) -> pa.Table:
    """The rows, in the columns of a schema, that have one of the keys: their columns NULL-safe."""
    wanted, names = set(tuples(keys)), keys.column_names
    found = [schema.empty_table()]
    for file in now.files(_mask(now, keys)):
        for part in Source(now.root, file.path, schema, part_rows).parts():
            likely = part.filter(pa.array(_likely(part, keys, names)))
            found.append(likely.filter(pa.array([key in wanted for key in tuples(likely.select(names))], pa.bool_())))
    return pa.concat_tables(found)


def losing(
    now: Snapshot, sought: Sought, pool: ThreadPoolExecutor, driver_rows: int, *, close: bool = False
) -> Iterator[Source]:
    """The files that hold rows which are sought, each knowing what stays of it; these are taken off `sought`.

    `close` also takes rows whose floating-point columns are only close, where no equal one is found in any file.
    """
    if not sought:
        return
    exact = [name for i, name in enumerate(sought.rows.column_names) if i not in sought.inexact]
    files = now.files(_mask(now, sought.rows.select(exact)))
    part_rows = max(1, driver_rows // PARTS)
    sources = [Source(now.root, file.path, sought.rows.schema, part_rows) for file in files]
    if close and sought.inexact:
        yield from _closest(sources, sought, part_rows)
        return
    for source in _read_ahead(sources, pool):
        source.search(sought, close=False)
        if source.stays is not None:
            yield source
        if not sought:
            return


def _few(now: Snapshot, mask: Any) -> bool:
    counts = now.statistics["num_records"].to_numpy().astype(float)
    return is_plain(now) and bool(np.sum(counts[mask]) <= MOST_ROWS)  # a count that is not known is NaN


def _mask(now: Snapshot, keys: pa.Table) -> Any:
    return files_with_keys(now, {name: keys[name] for name in keys.column_names})


def _read_ahead(sources: Sequence[Source], pool: ThreadPoolExecutor) -> Iterator[Source]:
    """The sources, those that may be held with their rows, while the next one's are being read."""
    reading = [pool.submit(source.hold) for source in sources[:1]]
    for number, source in enumerate(sources):
        reading += [pool.submit(following.hold) for following in sources[number + 1 : number + 2]]
        reading[number].result()
        yield source
        source.let_go()


def _closest(sources: Sequence[Source], sought: Sought, part_rows: int) -> Iterator[Source]:
    """Where rows may be close only: no file is done before all have been searched for equal rows."""
    room = part_rows * (PARTS - 1)
    for source in sources:
        source.kept = source.num_rows <= room
        room -= source.num_rows if source.kept else 0
    for close in (False, True):
        for source in sources:
            if sought:
                source.search(sought, close=close)
    yield from (source for source in sources if source.stays is not None)


@dataclass
class Source:
    """A file whose rows are searched, and which of them stay, part by part."""

    root: Path
    path: str
    schema: pa.Schema
    most_rows: int
    kept: bool = False
    """Whether its rows are held from the first time they are read."""
    stays: list[np.ndarray[Any, Any]] | None = None
    """None while all of them do."""

    @cached_property
    def num_rows(self) -> int:
        return int(pq.read_metadata(self.root / self.path).num_rows)

    @cached_property
    def whole(self) -> pa.Table:
        return file_here(self.root / self.path, self.schema)

    def hold(self) -> None:
        """Read the rows and keep them, if they are not too many."""
        self.kept = self.num_rows <= self.most_rows
        if self.kept:
            _ = self.whole

    def let_go(self) -> None:
        self.__dict__.pop("whole", None)

    def parts(self) -> Iterator[pa.Table]:
        """The rows of the file, no more than allowed at a time."""
        if self.kept:
            yield self.whole
            return
        yield from parts_here(self.root / self.path, self.schema, self.most_rows)

    def search(self, sought: Sought, *, close: bool) -> None:
        """Take the rows that are sought off, where they are here and stay so far."""
        stays = self.stays or []
        for number, part in enumerate(self.parts()):
            if number == len(stays):
                stays.append(np.ones(part.num_rows, dtype=bool))
            _search(part, stays[number], sought, close=close)
        if not all(each.all() for each in stays):
            self.stays = stays

    def left(self) -> Iterator[pa.Table]:
        """The rows that stay."""
        for part, stays in zip(self.parts(), self.stays or (), strict=True):
            yield part.filter(pa.array(stays))


def _search(rows: pa.Table, stays: np.ndarray[Any, Any], sought: Sought, *, close: bool) -> None:
    exact = [f.name for i, f in enumerate(sought.rows.schema) if i not in sought.inexact]
    positions = np.flatnonzero(stays & _likely(rows, sought.rows, exact))
    candidates = tuples(rows.take(pa.array(positions, pa.int64())))
    for position, row in zip(positions, candidates, strict=True):
        if sought.take(row, close=close):
            stays[position] = False


def _likely(rows: pa.Table, wanted: pa.Table, columns: Sequence[str]) -> np.ndarray[Any, Any]:
    """Which rows have, column by column, one of the wanted values."""
    likely = np.ones(rows.num_rows, dtype=bool)
    for name in columns:
        kind = wanted.schema.field(name).type
        if not (pa.types.is_nested(kind) or pa.types.is_floating(kind)):
            likely &= pc.is_in(rows[name], value_set=wanted[name].combine_chunks()).to_numpy()
    return likely
