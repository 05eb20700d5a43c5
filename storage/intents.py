"""An update of several tables happens whole or not at all, though Delta commits one table at a time.

Before the first commit the transaction writes an intent: which files each table is about to gain and lose.
Each commit names its intent. A process that dies in between leaves the intent behind, unlocked, and whoever
updates or reads next carries it to its end: commits what is still missing, redoing a part from its change file
when others have written meanwhile. When that has become impossible (a row to delete is gone), the parts that
were committed are taken back by the inverse change.
"""

from __future__ import annotations

import fcntl
import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from storage.changes import COUNT
from storage.log import DataFile, NewFile
from storage.reading import read_files
from storage.staging import Change, Prepared, commit_part, prepare
from storage.table import Table
from views.errors import ConflictError, ExecutionError, UpdateError


def carry_out(parts: Sequence[Prepared], folder: Path) -> dict[str, int]:
    """Commit several prepared parts under a new intent."""
    intent = uuid.uuid4().hex
    path = folder / f"{intent}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        waiting = path.with_suffix(".new")
        handle = waiting.open("w")
    except OSError as error:
        raise ExecutionError(f"{folder}: cannot be written ({error.strerror})", "is the warehouse writable?") from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        json.dump({"tables": [_describe(p) for p in parts]}, handle)
        handle.flush()
        waiting.rename(path)
        return _finish(intent, path, parts)


def recover(folder: Path, tables: Mapping[str, Table]) -> list[str]:
    """Carry every abandoned intent to its end; returns the ids of those that were."""
    done = []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        with _open_locked(path) as handle:
            if handle is None:
                continue
            parts = [_restore(entry, tables) for entry in json.load(handle)["tables"]]
            try:
                _finish(path.stem, path, parts)
            except ConflictError:
                continue  # not one part was committed: it never happened
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
    versions: dict[str, int] = {}
    for part in parts:
        part.table.log.refresh()
        landed = _landed(part, intent)
        if landed is not None:
            versions[part.table.name] = landed
    try:
        for part in parts:
            if part.table.name in versions:
                continue
            try:
                versions[part.table.name] = commit_part(part, intent)
            except ConflictError:
                if not versions:
                    raise
                part.table.log.refresh()
                versions[part.table.name] = commit_part(prepare(part.table, _change(part)), intent)
    except ConflictError:
        path.unlink()
        raise
    except UpdateError as error:
        for part in parts:
            if part.table.name in versions:
                done = _change(part)
                commit_part(prepare(part.table, Change(done.deletes, done.inserts)))
        path.unlink()
        raise ConflictError(
            f"{error.message}: another writer came between; the transaction was taken back", "try it again"
        ) from error
    path.unlink()
    return versions


def _landed(part: Prepared, intent: str) -> int | None:
    """The version in which this intent's part was committed, if it was."""
    commits = part.table.log.commits(part.version, part.table.version)
    if commits is None:
        raise ExecutionError(f"{part.table.root}: the log since version {part.version} is gone", "restore it")
    return next((c.version for c in commits if c.advisor_note.get("intent") == intent), None)


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
