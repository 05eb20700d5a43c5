"""Update rates from the history of a Delta log: how often data changed, and by how many rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiles.statistics import Estimate
from views.deltas import COUNT

if TYPE_CHECKING:
    from storage.log import Commit, DeltaLog

_MILLISECONDS_A_DAY = 86_400_000
_NO_CHANGE = ("OPTIMIZE", "VACUUM", "CREATE TABLE", "SET ", "UNSET ", "ADD ", "CHANGE ", "CONVERT", "FSCK", "REORG",
              "DROP ", "RENAME", "ALTER", "UPGRADE", "COMPUTE STATS")  # fmt: skip
# What writers call the rows they inserted, deleted and modified: delta-rs, then Spark's connector.
_INSERTED = ("num_added_rows", "num_target_rows_inserted", "numTargetRowsInserted", "numOutputRows")
_DELETED = ("num_deleted_rows", "num_target_rows_deleted", "numTargetRowsDeleted", "numDeletedRows")
_MODIFIED = ("num_updated_rows", "num_target_rows_updated", "numTargetRowsUpdated", "numUpdatedRows")
_MOST_RECENT = 20_000
_FOOTERS = 20
"""Change files whose footers are read: enough for an average."""


@dataclass(frozen=True)
class UpdateHistory:
    """Update transactions as observed; None where nothing was."""

    per_day: Estimate | None = None
    rows: Estimate | None = None
    changes_per_row: float | None = None
    """Tuples deleted and inserted per changed row: 2 if all were modifications."""
    deletes: float | None = None
    """The part of these tuples that was deleted."""
    times: tuple[float, ...] = ()
    """When each was committed, in seconds since the epoch, oldest first."""


def update_history(history: Sequence[Commit], folder: Path) -> UpdateHistory:
    """Commits a day that changed data, over the time the log shows, and the rows of one of them.

    The oldest commit only starts the clock: it loads the table. Less than a day of history counts as a day, so
    that a table loaded in three commits does not look like thousands of updates a day. n commits in a span
    could as well have been n ± 2√n.
    """
    dated = [commit for commit in history if commit.timestamp > 0]
    if not dated:
        return UpdateHistory()
    oldest, newest = min(c.timestamp for c in dated), max(c.timestamp for c in dated)
    first = min(c.version for c in dated)
    updates = [c for c in dated if c.version > first and not c.operation.upper().startswith(_NO_CHANGE)]
    if not updates:
        return UpdateHistory()
    times = tuple(sorted(commit.timestamp / 1000 for commit in updates))
    days = (newest - oldest) / _MILLISECONDS_A_DAY
    count, noise = len(updates), 2 * len(updates) ** 0.5
    low, high = max(count - noise, 0.25), count + noise
    if days >= 1:
        per_day = Estimate(count / days, low / days, high / days, "measured")
    else:
        per_day = Estimate(float(count), low, high * 10, "derived")
    return _sized(UpdateHistory(per_day, times=times), updates, folder)


def recent_history(log: DeltaLog, since: float, now: float) -> UpdateHistory:
    """The update transactions of a table between two moments; what was cleaned out of the log is not counted."""
    updates: list[Commit] = []
    version = log.version
    while version > 0 and len(updates) < _MOST_RECENT:
        found = log.commits(version - 1, version)
        if not found or found[0].timestamp / 1000 < since:
            break
        if not found[0].operation.upper().startswith(_NO_CHANGE):
            updates.append(found[0])
        version -= 1
    count, days = len(updates), max(now - since, 1.0) * 1000 / _MILLISECONDS_A_DAY
    noise = 2 * count**0.5
    per_day = Estimate(count / days, max(count - noise, 0.0) / days, (count + max(noise, 1.0)) / days, "measured")
    times = tuple(sorted(commit.timestamp / 1000 for commit in updates))
    return _sized(UpdateHistory(per_day, times=times), updates, log.root) if updates else UpdateHistory(per_day)


def _sized(history: UpdateHistory, updates: Sequence[Commit], folder: Path) -> UpdateHistory:
    """The history with the rows that one of its transactions changes, and how."""
    sizes = [size for commit in updates if (size := _from_metrics(commit)) is not None] or _from_files(updates, folder)
    rows, tuples, gone = (sum(size[i] for size in sizes) for i in range(3))
    if rows <= 0:
        return history
    mean = Estimate.of(rows / len(sizes), "measured")
    return replace(history, rows=mean, changes_per_row=tuples / rows, deletes=gone / tuples)


def _from_metrics(commit: Commit) -> tuple[float, float, float] | None:
    """Rows that one commit changed, the tuples that deletes and inserts, and those that were deleted."""
    metrics = commit.metrics
    if commit.operation.upper() in ("DELETE", "UPDATE", "MERGE"):  # their output counts rows that were only copied
        metrics = {name: value for name, value in metrics.items() if name != "numOutputRows"}
    inserted, deleted, modified = (_sum(metrics, names) for names in (_INSERTED, _DELETED, _MODIFIED))
    if inserted is deleted is modified is None:
        return None
    changed = (inserted or 0.0) + (deleted or 0.0)
    gone = (deleted or 0.0) + (modified or 0.0)
    return changed + (modified or 0.0), changed + 2 * (modified or 0.0), gone


def change_size(commits: Sequence[Commit], folder: Path) -> tuple[int, int] | None:
    """How many tuples came and went in some commits, at most, by the log and by footers; None where these do not tell.

    No row is read. What a commit kept beside it says most, then what its writer counted, then the rows of the files
    that it added and removed, which count rows that were only copied too.
    """
    came = went = 0.0
    for commit in commits:
        size = _from_footers(commit, folder)
        if size is None and (counted := _from_metrics(commit)) is not None:
            size = counted[1] - counted[2], counted[2]
        if size is None:
            size = _from_actions(commit, folder)
        if size is None:
            return None
        came, went = came + size[0], went + size[1]
    return round(came), round(went)


def _from_footers(commit: Commit, folder: Path) -> tuple[float, float] | None:
    """The rows of a commit's change file that come and that go, by the range of their counts; half each where it
    holds both."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not commit.change_files:
        return None if commit.change_files is None else (0.0, 0.0)
    came = went = 0.0
    for file in commit.change_files:
        try:
            footer = pq.read_metadata(folder / file)
        except (pa.ArrowException, OSError):
            return None
        counts = footer.schema.names.index(COUNT) if COUNT in footer.schema.names else None
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            known = group.column(counts).statistics if counts is not None else None
            lowest, highest = (known.min, known.max) if known is not None and known.has_min_max else (-1, 1)
            gone = group.num_rows / 2 if lowest < 0 < highest else group.num_rows if highest < 0 else 0
            came, went = came + group.num_rows - gone, went + gone
    return came, went


def _from_actions(commit: Commit, folder: Path) -> tuple[float, float] | None:
    """The rows of the files that a commit added and of those that it removed, less what deletion vectors hide."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: dict[str, float] = {}
    for sign, actions in ((1, commit.adds), (-1, commit.removes)):
        for action in actions:
            if not action.get("dataChange", True):
                continue
            number = json.loads(action.get("stats") or "{}").get("numRecords")
            try:
                number = pq.read_metadata(folder / action["path"]).num_rows if number is None else number
            except (pa.ArrowException, OSError):
                return None
            hidden = (action.get("deletionVector") or {}).get("cardinality", 0)
            rows[action["path"]] = rows.get(action["path"], 0.0) + sign * (number - hidden)
    return sum(n for n in rows.values() if n > 0), -sum(n for n in rows.values() if n < 0)


def _sum(metrics: Mapping[str, Any], names: Sequence[str]) -> float | None:
    numbers = [float(metrics[name]) for name in names if _is_count(metrics.get(name))]
    return sum(numbers) if numbers else None


def _is_count(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdigit()
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _from_files(updates: Sequence[Commit], folder: Path) -> list[tuple[float, float, float]]:
    """The same from the change files that our own commits leave beside them; one that is gone is passed over."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sizes: list[tuple[float, float, float]] = []
    for commit in [c for c in updates if c.change_files][:_FOOTERS]:
        try:
            rows = float(sum(pq.read_metadata(folder / file).num_rows for file in commit.change_files or ()))
        except (pa.ArrowException, OSError):
            continue
        sizes.append((rows, rows, rows / 2))
    return sizes
