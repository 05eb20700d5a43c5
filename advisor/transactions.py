"""Update transactions like those that a workload expects, made from the rows that are there.

New rows are copies of rows under new keys; a modification takes one value from another row; what goes was there. A row
is touched once, and those that came go last. Rows that refer to a row of the same transaction come and go with it,
so foreign keys hold before and after. The same seed makes the same transactions of the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from profiles.statistics import TableStatistics
from storage.staging import Change
from storage.writing import storable

if TYPE_CHECKING:
    from storage.table import Table

MOST_ROWS = 200_000
"""Rows of one table that are kept to make transactions from."""


@dataclass(frozen=True)
class Mix:
    """What one transaction does to a table: rows inserted, deleted and modified."""

    inserts: float
    deletes: float
    modifies: float

    @classmethod
    def of(cls, table: TableStatistics) -> Mix:
        """As declared or observed: a modified row is a tuple that goes and one that comes."""
        modified = table.changes_per_row - 1
        deleted = max(table.deletes * table.changes_per_row - modified, 0.0)
        rows = table.rows_per_update.value
        return cls(rows * max(1 - modified - deleted, 0.0), rows * deleted, rows * modified)

    @property
    def rows(self) -> float:
        return self.inserts + self.deletes + self.modifies


@dataclass
class Source:
    """The rows of one table that transactions are made from."""

    table: Table
    mix: Mix
    parent: Reference | None
    """The table of the same transactions whose rows its rows come and go with."""
    chance: np.random.Generator
    rows: pa.Table
    """Rows that may go, those that came most recently last."""
    keys: dict[str, int] = field(default_factory=dict)
    """By key column that numbers its rows, the largest number in use."""
    fixed: tuple[str, ...] = ()
    """Columns that modifications leave alone."""
    reserve: pa.Table | None = None
    """Rows that went and may come again, where a new key cannot be made up."""
    free: pa.Table | None = None
    """The rows that nothing refers to, where only these may be deleted."""

    @property
    def name(self) -> str:
        return self.table.name

    def take(self, count: int) -> pa.Table:
        """The rows whose turn it is to go."""
        taken, self.rows = self.rows.slice(0, count), self.rows.slice(min(count, self.rows.num_rows))
        return taken

    def take_free(self, count: int) -> pa.Table:
        """The rows whose turn it is to be deleted."""
        if self.free is None:
            return self.take(count)
        taken, self.free = self.free.slice(0, count), self.free.slice(min(count, self.free.num_rows))
        return taken

    def put(self, rows: pa.Table) -> None:
        """Rows that came; they may go again, last."""
        self.rows = pa.concat_tables([self.rows, rows]) if rows.num_rows else self.rows

    def templates(self, count: int) -> pa.Table:
        """Some rows to copy, which stay."""
        if not self.rows.num_rows or not count:
            return self.rows.slice(0, 0)
        return self.rows.take(pa.array(self.chance.integers(0, self.rows.num_rows, count)))

    def renumbered(self, rows: pa.Table) -> pa.Table:
        """Copies of rows under keys that are new."""
        for column, last in self.keys.items():
            numbers = pa.array(np.arange(last + 1, last + 1 + rows.num_rows))
            self.keys[column] = last + rows.num_rows
            index, kind = rows.schema.get_field_index(column), rows.schema.field(column).type
            texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
            values = pc.binary_join_element_wise("new", numbers.cast(pa.string()), "-") if texts else numbers
            rows = rows.set_column(index, rows.schema.field(column), values.cast(kind))
        return rows

    def modified(self, rows: pa.Table) -> pa.Table:
        """The rows, with one value of each taken from another row."""
        open_to = [name for name in rows.column_names if name not in self.fixed]
        if not open_to or not rows.num_rows:
            return rows
        column = open_to[int(self.chance.integers(len(open_to)))]
        values = self.templates(rows.num_rows)[column] if self.rows.num_rows else rows[column]
        return rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), values)


@dataclass(frozen=True)
class Reference:
    """A column of a table, and the column of another whose values it takes."""

    column: str
    table: str
    key: str


class Transactions:
    """The update transactions of one stream: of the tables that are updated together."""

    def __init__(
        self, tables: Mapping[str, Table], statistics: Mapping[str, TableStatistics], names: Sequence[str], seed: int
    ) -> None:
        self.sources: dict[str, Source] = {}
        for name in _parents_first(names, tables):
            parent = _parent(tables[name], list(self.sources))
            above = self.sources[parent.table] if parent is not None else None
            source = _source(tables[name], Mix.of(statistics[name]), parent, above, seed)
            if parent is None and source.mix.deletes:
                _keep_referred(source, tables, names)
            self.sources[name] = source

    def reserved(self, count: int) -> dict[str, Change]:
        """Rows that have to go before so many transactions, because only rows that were there can come."""
        found = {}
        for name, source in self.sources.items():
            if source.parent is None and source.table.key and not source.keys:
                wanted = max(_whole(source.mix.inserts), 1) * count if source.mix.inserts else 0
                source.reserve = source.take(min(wanted, source.rows.num_rows // 2))
                if source.reserve.num_rows:
                    found[name] = Change(None, source.reserve)
        return found

    def next(self) -> dict[str, Change]:
        """One transaction."""
        moved: dict[str, tuple[pa.Table, pa.Table, dict[str, pa.Array]]] = {}
        changes = {}
        for name, source in self.sources.items():
            come, go = self._follow(source, moved) if source.parent is not None else self._lead(source, moved)
            if come.num_rows or go.num_rows:
                changes[name] = Change(come if come.num_rows else None, go if go.num_rows else None)
        return changes

    def _lead(self, source: Source, moved: dict[str, Any]) -> tuple[pa.Table, pa.Table]:
        """What comes and goes of a table that follows no other."""
        mix = source.mix
        count = _drawn(mix.inserts, source.chance)
        if source.reserve is None:
            copied = source.templates(count)
            new = source.renumbered(copied)
        else:
            copied = new = source.reserve.slice(0, count)
            source.reserve = source.reserve.slice(min(count, source.reserve.num_rows))
        gone = source.take_free(_drawn(mix.deletes, source.chance))
        before = source.take(_drawn(mix.modifies, source.chance))
        after = source.modified(before)
        moved[source.name] = (copied, new, {"gone": gone, "before": before})
        come, go = pa.concat_tables([new, after]), pa.concat_tables([gone, before])
        source.put(come if source.free is None else after)
        if source.free is not None:
            source.free = pa.concat_tables([source.free, new])
        if source.reserve is not None:
            source.reserve = pa.concat_tables([source.reserve, gone])
        return come, go

    def _follow(self, source: Source, moved: dict[str, Any]) -> tuple[pa.Table, pa.Table]:
        """What comes and goes of a table with the rows that it refers to."""
        assert source.parent is not None
        copied, new, parts = moved[source.parent.table]
        column, key = source.parent.column, source.parent.key
        templates, renamed = _children(source.rows, column, copied[key], new[key])
        born = source.renumbered(renamed)
        gone = _of(source.rows, column, parts["gone"][key])
        before = _of(source.rows, column, parts["before"][key])
        after = source.modified(before)
        left = pa.concat_arrays([*parts["gone"][key].chunks, *parts["before"][key].chunks])
        source.rows = source.rows.filter(pc.invert(pc.is_in(source.rows[column], left)))
        come, go = pa.concat_tables([born, after]), pa.concat_tables([gone, before])
        source.put(come)
        moved[source.name] = (templates, born, {"gone": gone, "before": before})
        return come, go


def _source(table: Table, mix: Mix, parent: Reference | None, above: Source | None, seed: int) -> Source:
    rows = _rows_of(table, parent, above, seed)
    references = set(table.foreign_keys)
    own = [c for c in table.key if c not in references]
    new_above = parent is not None and parent.column in table.key
    numbered = {} if new_above else {c: last for c in own[:1] if (last := _highest(table, c)) is not None}
    fixed = (*table.key, *references)
    chance = np.random.default_rng([seed, *table.name.encode()])
    return Source(table, mix, parent, chance, rows, numbered, fixed)


def _rows_of(table: Table, parent: Reference | None, above: Source | None, seed: int) -> pa.Table:
    """The rows to make transactions from: all of a small table, shuffled; of a large one some, or those that refer to
    rows of the table above."""
    from pyspark.sql import functions as F

    from storage.reading import quoted

    rows = table.snapshot()
    if above is not None and parent is not None:
        keys = table.spark.createDataFrame(above.rows.select([parent.key]).rename_columns(["__key"]).combine_chunks())
        rows = rows.join(F.broadcast(keys), rows[parent.column] == keys["__key"], "left_semi")
        found = rows.toArrow()
    else:
        whole = table.log.num_rows
        if whole is None or whole > MOST_ROWS:
            mixed = F.xxhash64(*[F.col(quoted(c)) for c in table.columns], F.lit(seed))
            found = rows.orderBy(mixed).limit(MOST_ROWS).toArrow()
        else:
            found = rows.toArrow()
    found = storable(found).combine_chunks()
    order = sorted((c, "ascending") for c in table.key or table.columns if not pa.types.is_nested(found[c].type))
    found = found.sort_by(order) if order else found
    shuffled = np.random.default_rng([seed, *table.name.encode()]).permutation(found.num_rows)
    return found.take(pa.array(shuffled))


def _highest(table: Table, column: str) -> int | None:
    """The largest number in use in a column of whole numbers; of texts, how many rows there are."""
    from pyspark.sql import functions as F

    from storage.reading import quoted

    kind = table.log.schema.field(column).type
    if pa.types.is_integer(kind):
        highest = table.snapshot().agg(F.max(F.col(quoted(column)))).toArrow().column(0)[0].as_py()
        return int(highest or 0)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return table.log.num_rows or 0
    return None


def _keep_referred(source: Source, tables: Mapping[str, Table], names: Sequence[str]) -> None:
    """Set the rows apart that no row of another table refers to, unless that goes with them: only these are deleted."""
    from pyspark.sql import functions as F

    from storage.reading import quoted

    keyed = None
    for other in tables.values():
        for column, target in other.foreign_keys.items():
            table, _, key = target.rpartition(".")
            follows = other.name in names and _parent(other, names) == Reference(column, table, key)
            if table != source.name or follows or other.name == table:
                continue
            used = other.snapshot().select(F.col(quoted(column)).alias("__key")).distinct()
            keyed = source.table.snapshot() if keyed is None else keyed
            keyed = keyed.join(used, keyed[key].eqNullSafe(used["__key"]), "left_anti")
    if keyed is None:
        return
    key = source.table.key[0] if source.table.key else source.table.columns[0]
    loose = pc.is_in(source.rows[key], keyed.select(F.col(quoted(key))).toArrow().column(0).combine_chunks())
    source.free, source.rows = source.rows.filter(loose), source.rows.filter(pc.invert(loose))


def _children(rows: pa.Table, column: str, copied: pa.ChunkedArray, new: pa.ChunkedArray) -> tuple[pa.Table, pa.Table]:
    """The rows that refer to copied rows, once for each copy, and the same referring to the copies' new keys."""
    values = rows[column].to_pylist()
    found: dict[Any, list[int]] = {}
    wanted = set(copied.to_pylist())
    for number, value in enumerate(values):
        if value in wanted:
            found.setdefault(value, []).append(number)
    places, keys = list[int](), list[Any]()
    for old, key in zip(copied.to_pylist(), new.to_pylist(), strict=True):
        places += found.get(old, [])
        keys += [key] * len(found.get(old, []))
    templates = rows.take(pa.array(places, pa.int64()))
    field = rows.schema.field(column)
    return templates, templates.set_column(rows.schema.get_field_index(column), field, pa.array(keys, field.type))


def _of(rows: pa.Table, column: str, keys: pa.ChunkedArray) -> pa.Table:
    """The rows that refer to one of some keys."""
    return rows.filter(pc.is_in(rows[column], keys.combine_chunks() if keys.num_chunks != 1 else keys.chunk(0)))


def _parent(table: Table, names: Sequence[str]) -> Reference | None:
    """The first table of the same transactions that a table refers to."""
    for column, target in table.foreign_keys.items():
        other, _, key = target.rpartition(".")
        if other in names and other != table.name:
            return Reference(column, other, key)
    return None


def _parents_first(names: Sequence[str], tables: Mapping[str, Table]) -> list[str]:
    done: list[str] = []
    waiting = list(names)
    while waiting:
        ready = [n for n in waiting if (p := _parent(tables[n], names)) is None or p.table in done]
        if not ready:  # they refer to each other in a circle
            ready = waiting[:1]
        done += ready
        waiting = [n for n in waiting if n not in ready]
    return done


def _whole(number: float) -> int:
    return int(np.ceil(number))


def _drawn(number: float, chance: np.random.Generator) -> int:
    """A whole number that is this one on average."""
    return int(number) + int(chance.random() < number - int(number))
