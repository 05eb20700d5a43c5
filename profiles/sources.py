"""Reads the statistics of base tables from Delta logs, Parquet footers, file sizes or declarations.

No row is read, no Spark is started, and nothing is written. What the workload declares wins over what is
found; what neither says is a default and carries that name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiles import specification as spec
from profiles.history import UpdateHistory, update_history
from profiles.statistics import Bound, ColumnStatistics, Estimate, Source, TableStatistics
from profiles.workload import Workload
from views.errors import TableError

if TYPE_CHECKING:
    from storage.log import Snapshot

DEFAULT_ROWS = 100_000.0
DEFAULT_ROW_BYTES = 100.0
DEFAULT_ROWS_PER_UPDATE = 25.0
DEFAULT_QUERIES = 100.0
"""The defaults of H87's Figure 1."""
FILE_BYTES = 128 * 2**20
"""How large files are taken to be where there are none to look at."""
HISTORY_LIMIT = 1000
"""Commits that are looked at; newer ones tell more about tomorrow."""

_TYPE_BYTES = {"boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "integer": 4, "bigint": 8, "long": 8,
               "float": 4, "double": 8, "date": 4, "timestamp": 8, "decimal": 8, "string": 20}  # fmt: skip
_WHOLE = ("tinyint", "smallint", "int", "integer", "bigint", "long")


@dataclass(frozen=True)
class _Found:
    """What the data itself says; None where it says nothing."""

    rows: Estimate | None = None
    row_bytes: Estimate | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[Bound, Bound, Source]] = field(default_factory=dict)
    clustered: tuple[str, ...] = ()
    files: int | None = None
    overlaps: Mapping[str, float] = field(default_factory=dict)
    observed: UpdateHistory = field(default_factory=UpdateHistory)
    fingerprint: str = "declared"


def all_statistics(workload: Workload) -> dict[str, TableStatistics]:
    """Everything known about the base tables of a workload without reading a row."""
    found = {name: table_statistics(workload, name) for name in workload.tables}
    return {name: replace(table, details=_details(table, found)) for name, table in found.items()}


def table_statistics(workload: Workload, name: str) -> TableStatistics:
    """What is known about one base table by itself."""
    table = workload.tables[name]
    path = workload.path_of(name)
    found = _Found()
    if path is not None:
        try:
            found = _look(path)
        except TableError as error:
            where = workload.place("tables", name, "path")
            raise TableError(f"{where}: table {name!r}: {error.message}", error.hint) from error
        except OSError as error:
            where = workload.place("tables", name, "path")
            reason = error.strerror or type(error).__name__
            raise TableError(f"{where}: table {name!r}: {path}: {reason}", "check its rights") from error
    updates = table.updates or spec.Updates()
    rows = _declared(table.rows) or found.rows or Estimate.of(DEFAULT_ROWS, "default")
    declared_ranges = {column: (*ends, "declared") for column, ends in table.domains.items()}
    return TableStatistics(
        name=name,
        rows=rows,
        row_bytes=_declared(table.row_bytes)
        or found.row_bytes
        or _from_types(table.columns)
        or Estimate.of(DEFAULT_ROW_BYTES, "default"),
        updates_per_day=_declared(updates.per_day)
        or _declared(float(len(updates.at)) or None)
        or found.observed.per_day
        or Estimate(0.0, 0.0, 1.0, "default"),
        rows_per_update=_declared(updates.rows)
        or found.observed.rows
        or Estimate.of(DEFAULT_ROWS_PER_UPDATE, "default"),
        changes_per_row=_changes_per_row(updates, found.observed),
        columns=dict(table.columns or found.columns),
        key=table.key,
        ranges={**found.ranges, **declared_ranges},
        clustered=(*found.clustered, *table.key[:1]),
        fingerprint=found.fingerprint,
        files=_files(found.files, rows, found.row_bytes),
        details={
            column: ColumnStatistics(_UNKNOWN, _UNKNOWN, Estimate(part, part, part, "measured"))
            for column, part in found.overlaps.items()
        },
        foreign_keys=table.foreign_keys,
        deletes=_deletes(updates, found.observed),
        at=updates.at,
        update_times=found.observed.times if updates.per_day is None and not updates.at else (),
    )


_UNKNOWN = Estimate(1.0, 1.0, 1.0, "default")


def _files(counted: int | None, rows: Estimate, row_bytes: Estimate | None) -> Estimate:
    if counted is not None:
        return Estimate.of(float(counted), "measured")
    size = rows.value * (row_bytes.value if row_bytes is not None else DEFAULT_ROW_BYTES)
    return Estimate.of(max(1.0, size / FILE_BYTES), "default", least=1.0)


def _deletes(updates: spec.Updates, observed: UpdateHistory) -> float:
    """The part of the changed tuples that is deleted."""
    if updates.inserts is None and updates.deletes is None and updates.modifies is None:
        return 0.5 if observed.deletes is None else observed.deletes
    modifies = updates.modifies or 0.0
    return ((updates.deletes or 0.0) + modifies) / (1.0 + modifies)


def _details(table: TableStatistics, tables: Mapping[str, TableStatistics]) -> dict[str, ColumnStatistics]:
    """What keys, references, domains and ranges say about each column; else a labelled guess."""
    widths = {column: _type_bytes(kind) for column, kind in table.columns.items()}
    scale = table.row_bytes.value / max(sum(widths.values()), 1.0)
    found = {}
    for column, width in widths.items():
        known = table.details.get(column)
        one = 1 / max(table.files.value, 1.0) if column in table.clustered[:1] else 1.0
        found[column] = ColumnStatistics(
            distinct=_distinct(table, column, tables),
            width_bytes=Estimate.of(max(width * scale, 0.1), table.row_bytes.source),
            overlap=known.overlap if known is not None else Estimate.of(one, "default", most=1.0),
        )
    return found


def _distinct(table: TableStatistics, column: str, tables: Mapping[str, TableStatistics]) -> Estimate:
    """How many values a column takes, from what is declared or logged about it."""
    if table.key == (column,):
        return Estimate(table.rows.value, table.rows.lower, table.rows.upper, "derived")
    parent, _, _ = table.foreign_keys.get(column, "").rpartition(".")
    if parent in tables:
        rows = tables[parent].rows
        return Estimate.of(min(rows.value, table.rows.value), "derived")
    if table.columns[column].lower() == "boolean":
        return Estimate.of(2.0, "derived")
    low, high, source = table.ranges.get(column, (None, None, "default"))
    most = table.rows.value
    if source != "default":
        size = _span(table.columns[column], low, high)
        if size is not None and size <= most:
            return Estimate(size, min(size, max(size / 4, 1.0)), size, "derived")
    return Estimate.of(max(min(most, most / 10), min(most, 1.0)), "default", most=most)


def _span(kind: str, low: Bound | None, high: Bound | None) -> float | None:
    """How many values lie between two bounds of a whole number or a date."""
    kind = kind.lower().split("(")[0]
    if isinstance(low, str) and isinstance(high, str) and kind == "date":
        return float((date.fromisoformat(high[:10]) - date.fromisoformat(low[:10])).days + 1)
    if isinstance(low, float | int) and isinstance(high, float | int) and kind in _WHOLE:
        return float(high) - float(low) + 1
    return None


def _declared(value: float | None) -> Estimate | None:
    return None if value is None else Estimate.of(value, "declared")


def _changes_per_row(updates: spec.Updates, observed: UpdateHistory) -> float:
    if updates.inserts is None and updates.deletes is None and updates.modifies is None:
        return observed.changes_per_row or 2.0  # H87 counts every changed tuple as a deletion and an insertion
    return 1.0 + (updates.modifies or 0.0)


def _from_types(columns: Mapping[str, str] | None) -> Estimate | None:
    if not columns:
        return None
    return Estimate.of(sum(_type_bytes(kind) for kind in columns.values()), "derived")


def _type_bytes(kind: str) -> float:
    return float(_TYPE_BYTES.get(kind.lower().split("(")[0].split("<")[0].strip(), 20))


def _look(path: Path) -> _Found:
    """Delta log, Parquet footers or file sizes: whatever lies at `path`."""
    if not path.exists():
        raise TableError(f"{path}: no such file or folder", "check the table's path")
    if path.is_file():
        return _parquet([path]) if path.suffix == ".parquet" else _text([path], path)
    from storage.log import is_delta

    if is_delta(path):
        return _delta(path)
    files = sorted(_data_files(path))
    if parquet := [file for file in files if file.suffix in (".parquet", ".pq")]:
        return _parquet(parquet)
    if files:
        return _text(files, path)
    raise TableError(f"{path}: the folder holds no data", "put Delta, Parquet, CSV or JSON there, or declare rows:")


def _data_files(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        hidden = any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts)
        if not hidden and file.is_file():
            yield file


def _delta(path: Path) -> _Found:
    from storage.log import open_log
    from storage.pruning import overlap
    from storage.types import spark_types

    log = open_log(path)
    snapshot = log.snapshot()
    rows = snapshot.num_rows
    observed = update_history(log.history(HISTORY_LIMIT), path)
    return _Found(
        rows=None if rows is None else Estimate.of(float(rows), "measured"),
        row_bytes=Estimate.of(snapshot.num_bytes / rows, "measured", least=1.0) if rows else None,
        columns=spark_types(snapshot.fields),
        ranges=_log_ranges(snapshot),
        clustered=snapshot.partition_columns,
        files=snapshot.num_files,
        overlaps={c: part for c in snapshot.columns if (part := overlap(snapshot, c)) is not None},
        observed=observed,
        fingerprint=f"delta {snapshot.table_id} version {snapshot.version}",
    )


def _log_ranges(snapshot: Snapshot) -> dict[str, tuple[Bound, Bound, Source]]:
    """The lowest minimum and highest maximum over the files, of columns that every file has statistics for."""
    ranges: dict[str, tuple[Bound, Bound, Source]] = {}
    statistics = snapshot.statistics
    for column in snapshot.columns:
        if f"min.{column}" not in statistics.column_names or f"max.{column}" not in statistics.column_names:
            continue
        lows, highs = statistics[f"min.{column}"].to_pylist(), statistics[f"max.{column}"].to_pylist()
        if lows and None not in lows and None not in highs:
            _add_range(ranges, column, lows, highs)
    return ranges


def _add_range(
    ranges: dict[str, tuple[Bound, Bound, Source]], column: str, lows: Sequence[Any], highs: Sequence[Any]
) -> None:
    try:
        ends = _bound(min(lows)), _bound(max(highs))
    except TypeError:  # files disagree about the type
        return
    match ends:
        case (float() as low, float() as high) | (str() as low, str() as high):
            ranges[column] = (low, high, "measured")


def _bound(value: Any) -> Bound | None:
    match value:
        case datetime() | date():
            return value.isoformat()
        case bool() | str() | bytes():
            return None
        case _:
            try:
                return float(value)
            except (TypeError, ValueError):
                return None


def _parquet(files: Sequence[Path]) -> _Found:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from storage.types import delta_fields, spark_types, too_wide

    rows = size = 0
    columns: dict[str, str] = {}
    lows: dict[str, list[Any]] = {}
    highs: dict[str, list[Any]] = {}
    groups = 0
    for file in files:
        try:
            footer = pq.read_metadata(file)
        except (pa.ArrowInvalid, OSError) as error:
            reason = str(error).splitlines()[0][:120]
            raise TableError(f"{file}: is not a readable Parquet file ({reason})", "write it again") from None
        rows, size = rows + footer.num_rows, size + file.stat().st_size
        schema = footer.schema.to_arrow_schema()
        if (wide := too_wide(schema)) is not None:
            raise TableError(
                f"{file}: column {wide!r} has more digits than Spark's decimals", "write it with 38 digits"
            )
        columns = columns or spark_types(delta_fields(schema))
        groups += footer.num_row_groups
        for group in (footer.row_group(i) for i in range(footer.num_row_groups)):
            for chunk in (group.column(i) for i in range(group.num_columns)):
                if chunk.statistics is not None and chunk.statistics.has_min_max:
                    lows.setdefault(chunk.path_in_schema, []).append(chunk.statistics.min)
                    highs.setdefault(chunk.path_in_schema, []).append(chunk.statistics.max)
    ranges: dict[str, tuple[Bound, Bound, Source]] = {}
    for column in lows:
        if len(lows[column]) == groups:
            _add_range(ranges, column, lows[column], highs[column])
    return _Found(
        rows=Estimate.of(float(rows), "measured"),
        row_bytes=Estimate.of(size / rows, "measured", least=1.0) if rows else None,
        columns=columns,
        ranges=ranges,
        files=len(files),
        fingerprint=_fingerprint(files),
    )


def _text(files: Sequence[Path], path: Path) -> _Found:
    """CSV or JSON: the first lines give the width of a row, the size the number of rows."""
    unknown = [file for file in files if not {".csv", ".json", ".jsonl", ".ndjson", ".tsv"} & set(file.suffixes)]
    if unknown:
        raise TableError(f"{unknown[0]}: unknown kind of data", "give Delta, Parquet, CSV or JSON")
    size = sum(file.stat().st_size for file in files)
    largest = max(files, key=lambda file: (file.stat().st_size, file.name))
    with largest.open("rb") as stream:
        head = stream.read(65_536)
    lines = head.count(b"\n") or (1 if head.strip() else 0)
    if not lines:
        return _Found(rows=Estimate.of(0.0, "derived"), fingerprint=_fingerprint(files))
    width = max(len(head) / lines, 1.0)
    return _Found(
        rows=Estimate.of(size / width, "derived"),
        row_bytes=Estimate.of(width, "derived", least=1.0),
        fingerprint=_fingerprint(files),
    )


def _fingerprint(files: Sequence[Path]) -> str:
    """Of names and sizes: cheap, and it changes when files come, go or grow."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name}\0{file.stat().st_size}\n".encode())
    return f"files {digest.hexdigest()[:16]}"
