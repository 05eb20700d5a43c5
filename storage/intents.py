"""An update of several tables happens whole or not at all, though Delta commits one table at a time.

Before the first commit the transaction writes an intent: which files each table is about to gain and lose.
Each commit names its intent. A process that dies in between leaves the intent behind, unlocked, and whoever
updates next carries it to its end: commits what is still missing, redoing a part from its change file when others
have written meanwhile. When that has become impossible (a row to delete is gone), the parts that were committed
are taken back by the inverse change, whose commits name the intent too: a death in between repeats nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from storage.changes import COUNT
from storage.log import DataFile, NewFile
from storage.reading import read_files
from storage.staging import ATTEMPTS, Change, Prepared, commit_part, prepare
from storage.table import Table
from views.errors import AdvisorError, ConflictError, ExecutionError, TableError, UpdateError

_FORGOTTEN_SECONDS = 86_400.0
"""An intent that has been written for so long is written by nobody."""


def carry_out(parts: Sequence[Prepared], folder: Path) -> dict[str, int]:
    """Commit several prepared parts under a new intent.

    When that fails before the first commit, intent and files are deleted: it never happened. Later, both stay for
    whoever comes next.
    """
    intent = uuid.uuid4().hex
    path = folder / f"{intent}.json"
    waiting = path.with_suffix(".new")
    try:
        for part in parts:
            part.table.log.check(part.adds, part.removes)
    except AdvisorError:
        for part in parts:
            part.discard()
        raise
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with waiting.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            return _begin(intent, path, parts, handle)
    except OSError as error:
        for part in parts if not path.exists() else ():
            part.discard()
        raise ExecutionError(f"{folder}: cannot be written ({error.strerror})", "is the warehouse writable?") from error


def _begin(intent: str, path: Path, parts: Sequence[Prepared], handle: IO[str]) -> dict[str, int]:
    """Write the intent and finish it, all under its lock."""
    try:
        json.dump({"tables": [_describe(p) for p in parts]}, handle)
        handle.flush()
        path.with_suffix(".new").rename(path)
        return _finish(intent, path, parts)
    except BaseException as error:
        if not _give_up(path, parts) and isinstance(error, AdvisorError):
            raise ExecutionError(
                f"{error.message}: the transaction is half committed", "the next update carries it to its end"
            ) from error
        raise


def _give_up(path: Path, parts: Sequence[Prepared]) -> bool:
    """Delete intent and files of a transaction of which nothing stands; False when something does, or may."""
    try:
        if path.exists():
            if any(part.committed() for part in parts):
                return False
            path.unlink()
    except (AdvisorError, OSError):
        return False
    for part in parts:
        part.discard()
    path.with_suffix(".new").unlink(missing_ok=True)
    return True


def recover(folder: Path, tables: Mapping[str, Table]) -> list[str]:
    """Carry every abandoned intent to its end; returns the ids of those that were."""
    done = []
    for path in sorted(folder.glob("*.new")):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - _FORGOTTEN_SECONDS:
                path.unlink()  # its writer died before there was an intent
    for path in sorted(folder.glob("*.json")):
        with _open_locked(path) as handle:
            if handle is None:
                continue
            try:
                entries = json.load(handle)["tables"]
            except ValueError as error:
                raise ExecutionError(f"{path}: the intent cannot be read ({error})", "restore or remove it") from error
            parts = [_restore(entry, tables) for entry in entries]
            try:
                _finish(path.stem, path, parts)
            except ConflictError:
                for part in parts:
                    part.discard()
                continue  # nothing of it stands: it never happened
            done.append(path.stem)
    return done


class _open_locked:  # noqa: N801
    """An intent file under its lock, or None when a living process still works on it or has finished it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle: IO[str] | None = None

    def __enter__(self) -> IO[str] | None:
        try:
            self.handle = self.path.open()
            fcntl.flock(self.handle, fcntl.LOCK_EX)  # a living owner finishes first
        except FileNotFoundError:
            return None
        return self.handle if self.path.exists() else None

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            self.handle.close()


def _finish(intent: str, path: Path, parts: Sequence[Prepared]) -> dict[str, int]:
    """Commit what has not landed yet, or take back what has; either way the intent is then done with.

    Raises `ConflictError` when nothing of it stands any more.
    """
    for part in parts:
        part.table.log.refresh()
    why = "it was being taken back"
    if not any(_noted(part, "taken_back", intent) for part in parts):
        try:
            versions = _go_on(intent, parts)
            path.unlink()
            return versions
        except TableError as error:
            why = error.message
    _take_back(intent, path, parts)
    path.unlink()
    raise ConflictError(f"{why}: another writer came between; the transaction was taken back", "try it again")


def _go_on(intent: str, parts: Sequence[Prepared]) -> dict[str, int]:
    """Commit every part that has not landed; `UpdateError` when one cannot be any more."""
    versions = {p.table.name: v for p in parts if (v := _noted(p, "intent", intent)) is not None}
    for part in [p for p in parts if p.table.name not in versions]:
        gone = [p for p in part.paths if not (part.table.root / p).is_file()]
        if gone:
            raise UpdateError(f"{part.table.root}: file {gone[0]} is missing")
        try:
            versions[part.table.name] = commit_part(part, intent=intent)
        except ConflictError as error:
            if not versions:
                raise UpdateError(error.message) from error
            versions[part.table.name] = _commit_anew(part.table, _change(part), intent=intent)
    return versions


def _take_back(intent: str, path: Path, parts: Sequence[Prepared]) -> None:
    """Commit the inverse of every part that has landed, once."""
    for part in parts:
        if _noted(part, "intent", intent) is None or _noted(part, "taken_back", intent) is not None:
            continue
        done = _change(part)
        try:
            _commit_anew(part.table, Change(done.deletes, done.inserts), taken_back=intent)
        except TableError as error:
            stuck = path.rename(path.with_suffix(".stuck"))
            raise ExecutionError(
                f"{stuck}: this transaction can be neither finished nor taken back ({error.message})",
                f"mend {part.table.name} by hand: its change is in {', '.join(part.paths)}",
            ) from error


def _commit_anew(table: Table, change: Change, **names: str) -> int:
    """Prepare a change against the newest version and commit it, again after each lost race."""
    for attempt in range(ATTEMPTS):
        table.log.refresh()
        part = prepare(table, change)
        try:
            return commit_part(part, **names)
        except ConflictError:
            part.discard()
        except BaseException:
            part.discard()
            raise
        time.sleep(random.uniform(0, 0.02 * (attempt + 1)))
    raise ExecutionError(f"{table.name}: lost the race {ATTEMPTS} times", "try again")


def _noted(part: Prepared, name: str, intent: str) -> int | None:
    """The version in which this intent's part was committed (`intent`) or taken back (`taken_back`), if it was."""
    commits = part.table.log.commits(part.version, part.table.version)
    if commits is None:
        raise ExecutionError(f"{part.table.root}: the log since version {part.version} is gone", "restore it")
    return next((c.version for c in commits if c.advisor_note.get(name) == intent), None)


def _change(part: Prepared) -> Change:
    """What a part does, read from its change files, or from its added files where those are all of it."""
    if not part.change_files:
        files = [DataFile(f.path, f.partition) for f in part.adds]
        now = part.table.log.snapshot()
        return Change(read_files(part.table.spark, part.table.root, now.fields, now.partition_columns, files))
    rows = pa.concat_tables([pq.read_table(part.table.root / f) for f in part.change_files])
    counts = rows[COUNT].to_pylist()
    data = rows.drop_columns([COUNT])
    inserts = pa.array([i for i, n in enumerate(counts) for _ in range(n)], pa.int64())
    deletes = pa.array([i for i, n in enumerate(counts) for _ in range(-n)], pa.int64())
    return Change(data.take(inserts), data.take(deletes))


def _describe(part: Prepared) -> dict[str, Any]:
    return {
        "path": str(part.table.root),
        "name": part.table.name,
        "key": list(part.table.key),
        "version": part.version,
        "adds": [
            {"path": f.path, "size": f.size, "statistics": f.statistics, "partition": f.partition} for f in part.adds
        ],
        "removes": part.removes,
        "change_files": part.change_files,
        "checked_keys": part.checked_keys,
    }


def _restore(entry: Mapping[str, Any], tables: Mapping[str, Table]) -> Prepared:
    known = tables.get(entry["name"]) or next(iter(tables.values()))
    table = (
        known
        if str(known.root) == entry["path"]
        else Table(known.spark, entry["path"], name=entry["name"], key=entry["key"])
    )
    adds = [NewFile(a["path"], a["size"], a["statistics"], a["partition"]) for a in entry["adds"]]
    return Prepared(table, entry["version"], adds, entry["removes"], entry["change_files"], entry["checked_keys"])
