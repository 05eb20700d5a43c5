"""What lies below folders: Delta tables, Parquet folders and files, and the keys that hold on their rows.

Nothing is written and no Spark is started. Rows are read with pyarrow, up to a budget for each table: what holds on
all of its rows holds, what holds on the first of them may not.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from profiles.specification import NAME_PATTERN
from storage.log import DataFile, is_delta, local_folder, open_log
from storage.types import too_wide
from views.errors import TableError, WorkloadError

if TYPE_CHECKING:
    import pyarrow as pa

    from storage.log import DeltaLog

Kind = Literal["Delta table", "Parquet folder", "Parquet file"]

ROW_BUDGET = 1_000_000
"""Rows of a table that are read to find what holds on them."""
_FIRST_ROWS = 10_000
"""Rows that sort out most columns before the others are read."""
_TEXTS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_SCHEMAS = 100
"""Files of a folder whose columns are compared."""
_BY_CHANCE = 100
"""Below this many rows columns are easily unique without being meant to."""
_KEY_NAME = re.compile(r"(?i:(?:^|_)(?:id|no|nr|code|uuid|guid|sk|pk)$|key$)|[a-z](?:Id|ID|Code|No)$")
_ORDINAL_NAME = re.compile(r"number$|(?:^|_)(?:line|item|pos|position|seq|sequence|version|date|day)$", re.IGNORECASE)
_ANY_KEY = ("", "id", "key", "no", "nr", "code", "uuid", "guid", "sk", "pk")
"""Names that say nothing about whose key a column is."""
_PAIR_COLUMNS = 8


@dataclass(frozen=True)
class FoundTable:
    """A table by itself: where it is and of which files it is made."""

    name: str
    """After its folder or file, as a workload can name it."""
    path: Path
    kind: Kind
    files: tuple[DataFile, ...]
    """Their paths start from the table's folder."""
    partitions: tuple[str, ...] = ()
    physical: Mapping[str, str] = field(default_factory=dict)
    """What a column is called in the files, where that differs."""
    log: DeltaLog | None = field(default=None, compare=False)

    @property
    def root(self) -> Path:
        return self.path.parent if self.kind == "Parquet file" else self.path


@dataclass(frozen=True)
class Discovery:
    """What was found, in the order of the paths."""

    tables: tuple[FoundTable, ...]
    texts: tuple[Path, ...]
    """CSV and JSON files, whose columns nobody knows before they are imported."""
    left_out: tuple[str, ...]
    """What could be a table but cannot be read, and why, in sentences."""


@dataclass(frozen=True)
class Keys:
    """Which columns told the rows apart that were read."""

    rows: int
    whole: bool
    """Whether these were all rows of the table."""
    holding: tuple[tuple[str, ...], ...] = ()
    """The most likely one first."""
    plausible: bool = False
    """Whether that one looks meant as a key, by its name or by the number of rows."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that may be declared as the key."""
        return self.holding[0] if self.whole and self.plausible else ()


@dataclass(frozen=True)
class Reference:
    """A column all of whose values that were read are keys of another table."""

    table: str
    column: str
    other: str
    other_column: str
    whole: bool


def discover(paths: Iterable[str | Path]) -> Discovery:
    """The tables under the paths; hidden folders, links to folders, and folders inside a table are not looked into."""
    tables: list[FoundTable] = []
    texts: list[Path] = []
    left_out: list[str] = []
    for given in paths:
        path = Path(os.path.abspath(local_folder(given)))
        if not path.exists():
            raise WorkloadError(f"{given}: no such file or folder", "name folders that hold Delta or Parquet tables")
        _look(path, tables, texts, left_out)
    names: set[str] = set()
    named = []
    ids = {table.log.table_id for table in tables if table.log is not None}
    for table in {table.path: table for table in tables}.values():
        if table.log is not None and any(table.log.consumed(other) is not None for other in ids):
            left_out.append(f"{table.path} is left out: it is a view that the advisor stores.")
            continue
        name = name_of(table.path.stem if table.kind == "Parquet file" else table.path.name, names)
        names.add(name.casefold())
        named.append(replace(table, name=name))
    return Discovery(tuple(named), tuple(dict.fromkeys(texts)), tuple(dict.fromkeys(left_out)))


def name_of(text: str, taken: Iterable[str] = ()) -> str:
    """A name that a workload allows and nobody has taken, as like the text as may be.

    >>> name_of("Größe der Bücher 2"), name_of("2026"), name_of("orders", ["orders"]), name_of("订单")
    ('Grosse_der_Bucher_2', 't_2026', 'orders_2', 'table')
    """
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss")).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")[:100]
    name = plain if re.match(NAME_PATTERN, plain) else f"t_{plain}" if plain else "table"
    used, number, free = set(taken), 2, name
    while free.casefold() in used:
        free, number = f"{name}_{number}", number + 1
    return free


def _look(path: Path, tables: list[FoundTable], texts: list[Path], left_out: list[str]) -> None:
    """Add what lies at a path and below it."""
    if path.is_file():
        if path.suffix == ".parquet":
            _add(path, "Parquet file", [path], tables, left_out)
        elif path.suffix in _TEXTS:
            texts.append(path)
        else:
            left_out.append(f"{path} is neither Parquet, CSV nor JSON.")
        return
    if is_delta(path):
        _add(path, "Delta table", [], tables, left_out)
        return
    try:
        visible = [entry for entry in sorted(path.iterdir()) if not entry.name.startswith((".", "_"))]
    except OSError as error:
        left_out.append(f"{path} cannot be looked into: {error.strerror}.")
        return
    folders = [entry for entry in visible if entry.is_dir() and not entry.is_symlink()]
    left_out += [f"{entry} is a link, which is not followed: name it itself." for entry in visible
                 if entry.is_dir() and entry.is_symlink()]  # fmt: skip
    parquet = [entry for entry in visible if entry.suffix == ".parquet" and entry.is_file()]
    partitioned = any("=" in folder.name and next(_parquet_below(folder), None) for folder in folders)
    if partitioned:
        _add(path, "Parquet folder", list(_parquet_below(path)), tables, left_out)
        return
    before = len(tables)
    for folder in folders:
        _look(folder, tables, texts, left_out)
    texts += [entry for entry in visible if entry.suffix in _TEXTS and entry.is_file()]
    if parquet and len(tables) == before and _alike(parquet):
        _add(path, "Parquet folder", parquet, tables, left_out)
    elif len(parquet) > 1 and _alike(parquet):
        left_out.append(
            f"{path} holds {len(parquet)} Parquet files beside other tables: give them a folder of their own."
        )
    else:
        for file in parquet:
            _add(file, "Parquet file", [file], tables, left_out)


def _parquet_below(folder: Path) -> Iterator[Path]:
    for path, below, files in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith((".", "_")))
        yield from (Path(path, f) for f in sorted(files) if f.endswith(".parquet") and not f.startswith((".", "_")))


def _alike(files: Sequence[Path]) -> bool:
    """Whether the files can be parts of one table: each has all columns of the other, or some of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first: set[str] | None = None
    for file in files[:_SCHEMAS]:
        try:
            names = set(pq.read_schema(file).names)
        except (pa.ArrowException, OSError):
            continue
        first = names if first is None else first
        if not (names <= first or names >= first):
            return False
    return True


def _add(path: Path, kind: Kind, files: Sequence[Path], tables: list[FoundTable], left_out: list[str]) -> None:
    """Add one table, or why it cannot be one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not str(path).isprintable():
        left_out.append(f"{path} has a name that no workload can hold: rename it.")
        return
    try:
        if kind == "Delta table":
            tables.append(_delta(path))
            return
        if (wide := too_wide(pq.read_schema(files[0]))) is not None:
            left_out.append(f"{path} is left out: column {wide} has more digits than Spark's decimals.")
            return
    except TableError as error:
        left_out.append(f"{error.message.removesuffix('.')}.")
        return
    except (pa.ArrowException, OSError):
        left_out.append(f"{files[0]} is not a readable Parquet file.")
        return
    root = path if kind == "Parquet folder" else path.parent
    parts = [DataFile(file.relative_to(root).as_posix(), _partition(file.relative_to(root))) for file in files]
    tables.append(FoundTable("", path, kind, tuple(parts), tuple(parts[0].partition)))


def _partition(path: Path) -> dict[str, str | None]:
    pairs = [part.split("=", 1) for part in path.parts[:-1] if "=" in part]
    return {unquote(n): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for n, value in pairs}


def _delta(path: Path) -> FoundTable:
    log = open_log(path)
    snapshot = log.snapshot()
    physical = {}
    for each in snapshot.fields:
        stored = (each.get("metadata") or {}).get("delta.columnMapping.physicalName")
        if stored is not None and snapshot.configuration.get("delta.columnMapping.mode", "none") != "none":
            physical[str(each["name"])] = str(stored)
    files = tuple(snapshot.files())
    return FoundTable("", path, "Delta table", files, snapshot.partition_columns, physical, log)


def partition_types(table: FoundTable) -> dict[str, str]:
    """The narrowest of BIGINT, DATE and STRING that holds the values in the names of a Parquet folder's partitions."""
    found = {}
    for column in table.partitions:
        values = [value for f in table.files if (value := f.partition.get(column)) is not None]
        whole = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", value) for value in values)
        day = all(re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", value) for value in values)
        found[column] = "string" if not values else "bigint" if whole else "date" if day else "string"
    return found


def find_keys(table: FoundTable, columns: Mapping[str, str], budget: int = ROW_BUDGET) -> Keys:
    """The columns, or pairs of columns, that tell apart the rows within the budget; NULL tells nothing apart.

    Pairs are tried where no single column looks meant as a key, among columns that are named like keys, like numbers
    within them, or that part the table.
    """
    able = [c for c, kind in columns.items() if c and _comparable(kind)]
    first, _ = read_columns(table, able, min(_FIRST_ROWS, budget))
    count, whole = _count(table, budget)
    if first is None or count < 2:
        return Keys(count, whole)
    singles = sorted((c for c in able if _unique(first, [c])), key=lambda c: not _KEY_NAME.search(c))
    holding = [(c,) for c in singles if _holds(table, [c], budget)]
    if holding:
        named = bool(_KEY_NAME.search(holding[0][0]))
        leading = holding[0][0] == able[0] and count >= _BY_CHANCE
        if named or leading:
            return Keys(count, whole, tuple(holding), True)
    likely = [c for c in able if _KEY_NAME.search(c) or _ORDINAL_NAME.search(c) or c in table.partitions]
    pairs = [pair for pair in combinations(likely[:_PAIR_COLUMNS], 2) if any(_KEY_NAME.search(c) for c in pair)]
    pairs.sort(key=lambda pair: not any(_ORDINAL_NAME.search(c) for c in pair))
    together = [pair for pair in pairs if _unique(first, pair) and _holds(table, pair, budget)]
    together = [pair for pair in together if not any((c,) in holding for c in pair)]
    return Keys(count, whole, (*together, *holding), bool(together) and count >= _BY_CHANCE)


def find_references(
    tables: Sequence[FoundTable],
    columns: Mapping[str, Mapping[str, str]],
    keys: Mapping[str, Keys],
    budget: int = ROW_BUDGET,
) -> tuple[Reference, ...]:
    """Columns named like the key of another table, all of whose values, NULL aside, are keys there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = []
    parents = [table for table in tables if len(keys[table.name].key) == 1]
    for child in tables:
        for column in columns[child.name]:
            for parent in parents:
                (key,) = keys[parent.name].key
                if parent is child or "." in key or not _named_after(column, parent.name, key):
                    continue
                if not _comparable(columns[child.name][column]) or keys[child.name].rows == 0:
                    continue
                values, whole = read_columns(child, [column], budget)
                known, _ = read_columns(parent, [key], budget)
                if values is None or known is None:
                    continue
                mine, theirs = pc.unique(values[column]).drop_null(), known[key].combine_chunks()
                try:
                    inside = len(mine) > 0 and pc.all(pc.is_in(mine.cast(theirs.type), value_set=theirs)).as_py()
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                    continue
                if inside:
                    found.append(Reference(child.name, column, parent.name, key, whole))
                    break
    return tuple(found)


def _named_after(column: str, table: str, key: str) -> bool:
    """Whether a column is called like the key of a table.

    >>> _named_after("o_custkey", "customer", "c_custkey"), _named_after("customer_id", "customers", "id")
    (True, True)
    >>> _named_after("id", "customers", "id")
    False
    """
    mine, theirs = (re.sub(r"^[a-z]{1,3}_(?=.{4})", "", name.casefold()) for name in (column, key))
    if mine == theirs and mine not in _ANY_KEY:
        return True
    whole, other = column.casefold().replace("_", ""), key.casefold().replace("_", "")
    singular = [table.casefold().replace("_", "").removesuffix(end) for end in ("", "s", "es")]
    return whole in {name + other for name in singular}


def _comparable(kind: str) -> bool:
    """Whether values of a Spark type can be keys: whole numbers, texts, decimals and times."""
    return re.match(r"(tinyint|smallint|int|integer|bigint|long|string|date|timestamp|decimal)\b", kind) is not None


def _holds(table: FoundTable, columns: Sequence[str], budget: int) -> bool:
    rows, _ = read_columns(table, columns, budget)
    return rows is not None and _unique(rows, columns)


def _unique(rows: pa.Table, columns: Sequence[str]) -> bool:
    import pyarrow as pa

    if rows.num_rows == 0 or any(rows[column].null_count for column in columns):
        return False
    try:
        return bool(rows.group_by(list(columns)).aggregate([]).num_rows == rows.num_rows)
    except pa.ArrowNotImplementedError:  # a type that is not grouped by
        return False


def _count(table: FoundTable, budget: int) -> tuple[int, bool]:
    """The rows within the budget, and whether they are all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 0
    for file in table.files:
        try:
            count += pq.read_metadata(table.root / file.path).num_rows - len(file.deleted)
        except (pa.ArrowException, OSError):
            return count, False
        if count > budget:
            return budget, False
    return count, True


def read_columns(table: FoundTable, columns: Sequence[str], budget: int) -> tuple[pa.Table | None, bool]:
    """These columns of the first rows, and whether those are all rows; None where the files cannot be put together."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts: list[pa.Table] = []
    left = budget
    try:
        for data in table.files:
            stored = {c: table.physical.get(c, c) for c in columns}
            file = pq.ParquetFile(table.root / data.path)
            present = [c for c in columns if stored[c] in file.schema_arrow.names]
            place = 0
            for batch in file.iter_batches(batch_size=1 << 16, columns=[stored[c] for c in present]):
                if left <= 0:
                    return _together(parts), False
                size = batch.num_rows
                hidden = [row - place for row in data.deleted if place <= row < place + size]
                place += size
                arrays = {c: batch.column(stored[c]) for c in present}
                for column in columns:
                    if column not in arrays:
                        value = data.partition.get(column, data.partition.get(stored[column]))
                        arrays[column] = pa.repeat(pa.scalar(value, pa.string()), size)
                rows = pa.table([_plain(arrays[c]) for c in columns], names=list(columns))
                if hidden:
                    kept = np.ones(size, dtype=bool)
                    kept[hidden] = False
                    rows = rows.filter(pa.array(kept))
                if rows.num_rows > left:
                    return _together([*parts, rows.slice(0, left)]), False
                parts.append(rows)
                left -= rows.num_rows
        return _together(parts), True
    except (pa.ArrowException, OSError, KeyError):
        return None, False


def _together(parts: Sequence[pa.Table]) -> pa.Table | None:
    import pyarrow as pa

    return pa.concat_tables(parts, promote_options="permissive") if parts else None


def _plain(values: pa.Array) -> pa.Array:
    """Texts as writers agree on them; files of one table may hold them in several ways."""
    import pyarrow as pa

    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    return values if kind == values.type else values.cast(kind)
