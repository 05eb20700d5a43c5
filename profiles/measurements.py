"""What was measured: every refresh, query, update and statistics run, in a Delta table of the warehouse.

`_advisor/measurements` outlives the machine that a job ran on. It is append-only: one commit per command, from any
number of machines at once, and now and then the many small files become one. A row holds what was expected and what
came of it, on which engine and machine, and which algorithm really ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import Schema
from deltalake.exceptions import DeltaError

from storage.log import DeltaLog, create_log, is_delta
from storage.writing import write_parts
from views.errors import AdvisorError, ConflictError, ExecutionError, TableError

FOLDER = Path("_advisor") / "measurements"
"""Where the table lies in a warehouse."""
MOST_FILES = 64
"""With more files than this, they become one."""
KEPT_HOURS = 168
"""How long files that have become part of another one stay for readers of earlier versions."""
UNREADABLE_HINT = "restore the folder, or move it away to begin a new history"
_ATTEMPTS = 5

Kind = Literal["refresh", "query", "update", "statistics"]


@dataclass(frozen=True)
class Measurement:
    """One thing that was done: what it was expected to take, and what it took."""

    at: float
    """When it ended, in seconds since the epoch."""
    command: str
    """What was asked for: refresh, update, query, watch, apply, run, replan."""
    command_id: str
    """The same for everything that one command did."""
    kind: Kind
    subject: str
    """The view; of an update or a statistics run, the tables, with commas."""
    seconds: float | None
    """None where it is not known: rows that the caller fetches from the engine himself."""
    engine: str
    """spark or sail: whose coefficients it speaks of."""
    engine_version: str
    machine: str
    """As coefficients name it."""
    strategy: str | None = None
    """How the view is kept."""
    planned: str | None = None
    """The algorithm by which it is kept."""
    ran: str | None = None
    """The algorithm that really ran; of a query, how it was answered: stored, read_through or query_modification."""
    because: str = ""
    predicted_seconds: float | None = None
    """By the coefficients of that day."""
    predicted: Mapping[str, float] = field(default_factory=dict)
    """Quantities by name, as expected from what was pending."""
    actual: Mapping[str, float] = field(default_factory=dict)
    """Quantities by name, as far as logs and results tell them."""
    filter: str | None = None
    """The condition of a query, as SQL."""
    stale_seconds: float | None = None
    """How old the newest change is that the rows of a query lack; 0 when they lack none."""
    rehearsed: bool = False
    """Whether it happened in a scratch copy, so that it tells what things take and not how often they happen."""
    error: str | None = None
    """Why it failed."""

    @property
    def candidate(self) -> str | None:
        """How the view is kept, as cost models name it."""
        return f"{self.strategy}/{self.planned}" if self.strategy in ("immediate", "deferred") else self.strategy

    @property
    def q_error(self) -> float | None:
        """The factor between predicted and measured seconds, whichever is larger."""
        if not self.seconds or not self.predicted_seconds:
            return None
        return max(self.seconds / self.predicted_seconds, self.predicted_seconds / self.seconds)


_QUANTITIES = pa.map_(pa.string(), pa.float64())
_TYPES = {
    "at": pa.timestamp("us", "UTC"),
    "seconds": pa.float64(),
    "predicted_seconds": pa.float64(),
    "stale_seconds": pa.float64(),
    "predicted": _QUANTITIES,
    "actual": _QUANTITIES,
    "rehearsed": pa.bool_(),
}
SCHEMA = pa.schema([pa.field(each.name, _TYPES.get(each.name, pa.string())) for each in fields(Measurement)])
"""The columns of the table, one for each field of a measurement."""


def append(warehouse: Path, measurements: Iterable[Measurement]) -> int | None:
    """Add the measurements of one command in one commit, and return its version; None when there are none.

    Whatever keeps it from being written is one `AdvisorError`.
    """
    rows = _table(measurements)
    if not rows.num_rows:
        return None
    root = warehouse / FOLDER
    try:
        return _append(rows, warehouse, root)
    except (pa.ArrowException, DeltaError, OSError, ValueError) as error:
        raise ExecutionError(f"{root}: cannot be written: {_line(error)}", UNREADABLE_HINT) from error


def _append(rows: pa.Table, warehouse: Path, root: Path) -> int:
    root.mkdir(parents=True, exist_ok=True)
    adds = write_parts([rows], root)
    for _ in range(_ATTEMPTS):
        if not is_delta(root):
            try:
                return create_log(root, SCHEMA, adds, description="measurements of spark-view-advisor").version
            except ConflictError:
                continue  # another process has made it meanwhile
        log = DeltaLog(root)
        _add_columns(log)
        try:
            version = log.commit(adds)
        except ConflictError:
            continue
        if log.num_files > MOST_FILES:
            compact(warehouse)
        return version
    raise ConflictError(f"{root}: other processes kept writing", "the next command measures again")


def compact(warehouse: Path) -> int:
    """Let the small files become one; the rows do not change. Returns how many became one, 0 when others write."""
    log = DeltaLog(warehouse / FOLDER)
    files = log.snapshot().files()
    if len(files) < 2:
        return 0
    adds = write_parts([_read(log)], log.root)
    try:
        log.commit(adds, [each.path for each in files], data_change=False)
    except ConflictError:
        for each in adds:
            (log.root / each.path).unlink(missing_ok=True)
        return 0
    log.vacuum([], KEPT_HOURS)
    return len(files)


def read_measurements(warehouse: Path, since: float | None = None) -> list[Measurement]:
    """The measurements of a warehouse, oldest first; none where nothing was measured yet.

    A table that cannot be read is a `TableError` of one line.
    """
    root = warehouse / FOLDER
    if not is_delta(root):
        return []
    try:
        rows = _read(DeltaLog(root), since).sort_by("at")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{root}: measurements cannot be read: {_line(error)}", UNREADABLE_HINT) from error
    except AdvisorError as error:
        raise TableError(f"{root}: measurements cannot be read: {error.message}", UNREADABLE_HINT) from error
    return [_measurement(row) for row in rows.to_pylist()]


def _read(log: DeltaLog, since: float | None = None) -> pa.Table:
    """The rows in the table's files; columns that came later are empty in older ones."""
    paths = [str(log.root / each.path) for each in log.snapshot().files()]
    if not paths:
        return SCHEMA.empty_table()
    newer = None if since is None else ds.field("at") >= datetime.fromtimestamp(since, UTC)
    return ds.dataset(paths, schema=SCHEMA, format="parquet").to_table(filter=newer)


def _add_columns(log: DeltaLog) -> None:
    """The columns that the table has not got, because an earlier release made it."""
    missing = [each for each in SCHEMA if each.name not in log.schema.names]
    if missing:
        log.add_columns(Schema.from_arrow(pa.schema(missing)).fields)


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]


def _table(measurements: Iterable[Measurement]) -> pa.Table:
    rows = []
    for each in measurements:
        row: dict[str, Any] = {name: getattr(each, name) for name in SCHEMA.names}
        row["at"] = datetime.fromtimestamp(each.at, UTC)
        row |= {name: sorted(getattr(each, name).items()) for name in ("predicted", "actual")}
        rows.append(row)
    return pa.Table.from_pylist(rows, SCHEMA)


def _measurement(row: Mapping[str, Any]) -> Measurement:
    known = dict(row)
    known["at"] = known["at"].timestamp()
    known |= {name: dict(known[name] or ()) for name in ("predicted", "actual")}
    known["because"] = known["because"] or ""
    known["rehearsed"] = bool(known["rehearsed"])
    return Measurement(**known)
