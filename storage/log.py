"""A Delta table's transaction log, read through `deltalake` and committed here; no Spark.

`DeltaLog` is a handle on a table: its versions, its history and the one place that commits.
`Snapshot` is one version of it: schema, active files and their statistics, deletion vectors.

A commit is one JSON file that must not exist yet, linked into place as delta-rs does it. delta-rs itself lists the
whole log twice for it, 40 ms after 10,000 commits, and accepts several commits that a Delta reader would misread:
here features are allowed by name, a removed file must be active and without deletion vector, and when delta-rs
next reads the log it must find the active files before, plus the added, minus the removed ones.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, Transaction, create_table_with_add_actions

from views.errors import ConflictError, ExecutionError, HistoryGoneError, TableError

CHANGES_FOLDER = "_changes"
"""Where change files live inside a table; vacuum leaves folders that start with `_` alone."""

READABLE_FEATURES = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "vacuumProtocolCheck"})
"""Reader features that `Snapshot` and `storage.reading` understand; any other is refused by name."""

WRITABLE_FEATURES = frozenset(
    {"appendOnly", "changeDataFeed", "deletionVectors", "invariants", "timestampNtz", "vacuumProtocolCheck"}
)
"""Writer features under which a raw commit is legal; each has its own condition in `_check_writable`."""

_LEGACY_WRITER_FEATURES = {
    2: ("appendOnly", "invariants"),
    3: ("checkConstraints",),
    4: ("changeDataFeed", "generatedColumns"),
    5: ("columnMapping",),
    6: ("identityColumns",),
}
_CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps that a text column was declared CHAR or VARCHAR."""
_CONSUMED = "advisor.consumed."
_CHECKPOINT_EVERY = 25
"""Whoever opens the table replays the log since its last checkpoint, 0.4 ms per entry; a checkpoint costs 50 ms."""
_UPKEEP = 10
"""How many commits that only tidied up may lie on top of one that is looked for."""
_RIVALS = 100
"""How many commits of others an append steps behind before it gives up."""
_LEGAL = "/!$&'()*+,;=:@~"
"""Characters of a path, beside letters, digits and `-._`, that a URI need not quote."""


@dataclass(frozen=True)
class DataFile:
    """A Parquet file as it is read: its path, partition values as the log writes them, rows deleted from it.

    `deleted` holds the row numbers that a deletion vector hides; the same path with another vector
    is another file.
    """

    path: str
    partition: Mapping[str, str | None] = field(default_factory=dict)
    deleted: tuple[int, ...] = ()

    @property
    def identity(self) -> tuple[str, tuple[int, ...]]:
        return (self.path, self.deleted)


@dataclass(frozen=True)
class NewFile:
    """A Parquet file that was written into the table's folder and waits for its commit."""

    path: str
    size: int
    statistics: Mapping[str, Any]
    partition: Mapping[str, str | None] = field(default_factory=dict)

    def action(self) -> AddAction:
        return AddAction(self.path, self.size, dict(self.partition), _now_ms(), True, self._stats())

    def entry(self, data_change: bool) -> dict[str, Any]:
        """The `add` of the log."""
        return {
            "path": quote(self.path, safe=_LEGAL),
            "partitionValues": dict(self.partition),
            "size": self.size,
            "modificationTime": _now_ms(),
            "dataChange": data_change,
            "stats": self._stats(),
        }

    def _stats(self) -> str:
        return json.dumps(self.statistics, allow_nan=False)


@dataclass(frozen=True)
class Commit:
    """One entry of the log as its JSON file says it, paths decoded."""

    version: int
    info: Mapping[str, Any]
    adds: tuple[Mapping[str, Any], ...] = ()
    removes: tuple[Mapping[str, Any], ...] = ()
    change_data: tuple[Mapping[str, Any], ...] = ()
    changes_schema: bool = False

    @property
    def timestamp(self) -> int:
        return int(self.info.get("timestamp", 0))

    @property
    def operation(self) -> str:
        return str(self.info.get("operation", ""))

    @property
    def metrics(self) -> Mapping[str, Any]:
        return self.info.get("operationMetrics") or {}

    @property
    def change_files(self) -> tuple[str, ...] | None:
        """The net change kept beside this commit by our own update path, if it came through it."""
        note = self.advisor_note
        return tuple(note["change_files"]) if "change_files" in note else None

    @property
    def advisor_note(self) -> Mapping[str, Any]:
        """What our own commits say about themselves, empty for the commits of others."""
        note = self.info.get("advisor")
        return json.loads(note) if isinstance(note, str) else {}


@dataclass(frozen=True)
class Snapshot:
    """One version of a table: what a reader needs to know, without a row read."""

    root: Path
    version: int
    table_id: str
    fields: tuple[Mapping[str, Any], ...]
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    features: frozenset[str]
    statistics: pa.Table
    """One row per active file: `path`, `size_bytes`, `num_records`, `partition.*`, `min.*`, `max.*`, `null_count.*`."""
    vectors: Mapping[str, tuple[int, ...]]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f["name"] for f in self.fields)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.statistics["path"].to_pylist())

    @cached_property
    def active(self) -> frozenset[str]:
        return frozenset(self.paths)

    def files(self, mask: np.ndarray[Any, Any] | None = None) -> list[DataFile]:
        """The active files, or those of a pruning mask, in the log's order."""
        table = self.statistics if mask is None else self.statistics.filter(pa.array(mask))
        values = {c: table[f"partition.{c}"].cast(pa.string()).to_pylist() for c in self.partition_columns}
        return [
            DataFile(path, {c: values[c][i] for c in self.partition_columns}, self.vectors.get(path, ()))
            for i, path in enumerate(table["path"].to_pylist())
        ]

    @property
    def num_files(self) -> int:
        return int(self.statistics.num_rows)

    @property
    def num_bytes(self) -> int:
        return sum(self.statistics["size_bytes"].to_pylist())

    @property
    def num_rows(self) -> int | None:
        """Rows by the log, deletion vectors taken off; None when a file has no count."""
        counts = self.statistics["num_records"].to_pylist()
        if None in counts:
            return None
        return int(sum(counts)) - sum(len(rows) for rows in self.vectors.values())


def is_delta(path: str | Path) -> bool:
    """Whether the folder has a Delta log."""
    return (Path(path) / "_delta_log").is_dir()


def open_log(path: str | Path) -> DeltaLog:
    """Open the Delta table in a folder, at its newest version."""
    return DeltaLog(path)


class DeltaLog:
    """A handle on one Delta table: `version` moves with `refresh()` and with our own commits."""

    def __init__(self, path: str | Path) -> None:
        self.root = local_folder(path)
        if not self.root.is_dir():
            raise TableError(f"{path}: no such folder", "check the table's path")
        self._table = self._load(None)
        self._version = self._table.version()
        self._snapshots: dict[int, Snapshot] = {}
        self._consumed: dict[tuple[int, str], int | None] = {}
        """By version and base table, what is known since the handle moved last."""

    def __repr__(self) -> str:
        return f"DeltaLog({str(self.root)!r}, version={self.version})"

    @property
    def version(self) -> int:
        return self._version

    @property
    def table_id(self) -> str:
        return str(self._table.metadata().id)

    @property
    def description(self) -> str:
        """What the table's creator says it is."""
        return str(self._table.metadata().description or "")

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    @property
    def num_rows(self) -> int | None:
        return self.snapshot().num_rows

    @property
    def num_bytes(self) -> int:
        return self.snapshot().num_bytes

    @property
    def num_files(self) -> int:
        return self.snapshot().num_files

    @property
    def is_there(self) -> bool:
        """Whether the log still has the handle's version: the table was not dropped."""
        return self._entry(self.version).exists()

    def refresh(self) -> int:
        """Move to the newest version and return it."""
        if self._entry(self.version).exists() and not self._entry(self.version + 1).exists():
            return self.version  # versions have no gaps, and a listing of the log costs more than this look
        try:
            self._table.update_incremental()
        except (DeltaError, OSError) as error:
            raise self._unreadable(error) from error
        self._version = self._table.version()
        self._consumed.clear()
        return self.version

    def history(self, limit: int | None = None) -> list[Commit]:
        """The commits that the log still holds, newest first."""
        try:
            entries = self._synced().history(limit)
        except (DeltaError, OSError, ValueError) as error:
            raise self._unreadable(error) from error
        return [Commit(int(e.get("version", -1)), e) for e in entries]

    @property
    def last_note(self) -> Mapping[str, Any]:
        """What our own last commit says about itself, whoever only tidied up after it."""
        for version in range(self.version, max(-1, self.version - _UPKEEP), -1):
            if self._entry(version).exists():
                commit = _parse_commit(version, self._entry(version).read_text())
                if commit.advisor_note or not commit.operation.startswith(("OPTIMIZE", "VACUUM")):
                    return commit.advisor_note
        return {}

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The table as of a version (the handle's own if none is named)."""
        wanted = self.version if version is None else version
        if wanted not in self._snapshots:
            self._keep(self._describe(self._synced() if wanted == self.version else self._load(wanted)))
        return self._snapshots[wanted]

    def _keep(self, snapshot: Snapshot) -> None:
        if len(self._snapshots) >= 4:
            self._snapshots.pop(min(self._snapshots))
        self._snapshots[snapshot.version] = snapshot

    def _synced(self) -> DeltaTable:
        """delta-rs's view of the handle's version, which our own commits run ahead of.

        What it reads must be what they promised: the files before, plus the added, minus the removed ones.
        """
        if self._table.version() != self.version:
            if not self._entry(self.version + 1).exists():
                self._table.update_incremental()
            if self._table.version() != self.version:  # others went on, and the handle does not follow by itself
                self._table = self._load(self.version)
            promised = self._snapshots.get(self.version)
            if promised is not None and promised.active != self._describe(self._table).active:
                raise ExecutionError(
                    f"{self.root}: version {self.version} does not hold the files that were committed",
                    "restore the version before and report this",
                )
        return self._table

    def commits(self, after: int, upto: int) -> list[Commit] | None:
        """What the log says happened in (after, upto], or None when some of it was cleaned away."""
        found = []
        for version in range(after + 1, upto + 1):
            try:
                text = self._entry(version).read_text()
            except FileNotFoundError:
                return None
            found.append(_parse_commit(version, text))
        return found

    def consumed(self, table_id: str, version: int | None = None) -> int | None:
        """The version of a base table that this table's rows include, or included at a version of its own."""
        wanted = self.version if version is None else version
        key = (wanted, table_id)
        if key not in self._consumed:
            table = self._synced() if wanted == self.version else self._load(wanted)
            try:
                self._consumed[key] = table.transaction_version(_CONSUMED + table_id)
            except DeltaError as error:
                raise self._unreadable(error) from error
        return self._consumed[key]

    def commit(
        self,
        adds: Sequence[NewFile] = (),
        removes: Iterable[str] = (),
        *,
        consumed: Mapping[str, int] | None = None,
        note: Mapping[str, Any] | None = None,
        exclusive: str | None = None,
        data_change: bool = True,
    ) -> int:
        """Commit added and removed files as one version and return it.

        `consumed` names, per base table id, the version that the rows now include. `exclusive` makes two
        racing commits that carry the same name refuse each other, even when both only append.
        Raises `ConflictError` when another commit came first; nothing is committed then.
        """
        before, removed = self.snapshot(), list(removes)
        self.check(adds, removed)
        transactions = {_CONSUMED + i: v for i, v in sorted((consumed or {}).items())}
        if exclusive is not None:
            transactions[f"advisor.{exclusive}"] = before.version + 1
        info: dict[str, Any] = {
            "timestamp": _now_ms(),
            "operation": "WRITE" if data_change else "OPTIMIZE",
            "operationParameters": {"mode": "Append", "partitionBy": json.dumps(list(before.partition_columns))},
            "engineInfo": "spark-view-advisor",
        }
        info |= {"advisor": json.dumps(note, sort_keys=True)} if note else {}
        actions: list[dict[str, Any]] = [{"commitInfo": info}]
        actions += [{"txn": {"appId": i, "version": v, "lastUpdated": _now_ms()}} for i, v in transactions.items()]
        actions += [{"add": new.entry(data_change)} for new in adds]
        actions += [{"remove": entry} for entry in _removals(before, removed, data_change)]
        try:
            version = self._put(before.version + 1, actions, alone=bool(removed) or exclusive is not None)
        except (DeltaError, OSError) as error:
            raise ExecutionError(
                f"{self.root}: the commit failed ({_first_line(error)})", "is the folder writable?"
            ) from error
        self._version = version
        if version == before.version + 1:
            after = _after(before, adds, removed)
            if after is not None:
                self._keep(after)
            known = {i: seen for (at, i), seen in self._consumed.items() if at == before.version}
            self._consumed = {(version, i): seen for i, seen in {**known, **(consumed or {})}.items()}
        if version % _CHECKPOINT_EVERY == 0:
            try:
                self._synced().create_checkpoint()
            except (DeltaError, OSError) as error:
                raise ExecutionError(
                    f"{self.root}: version {version} is committed, its checkpoint failed ({_first_line(error)})",
                    "is the disk full?",
                ) from error
        return version

    def check(self, adds: Sequence[NewFile], removes: Sequence[str]) -> None:
        """Refuse what `commit` would refuse of these files, before anything is committed."""
        before = self.snapshot()
        self._check_writable(before, list(removes))
        self._check_not_null(before, adds)

    def _put(self, version: int, actions: Sequence[Mapping[str, Any]], *, alone: bool) -> int:
        """Link an entry into the log as this version, or as the next free one when what came first allows it.

        An entry that must be `alone` was built on exactly the version before; an append only on its schema.
        """
        waiting = self.root / "_delta_log" / f"_commit_{uuid.uuid4()}.json.tmp"
        applications = {action["txn"]["appId"] for action in actions if "txn" in action}
        try:
            waiting.write_text("".join(json.dumps(action, allow_nan=False) + "\n" for action in actions))
            for candidate in range(version, version + _RIVALS):
                try:
                    os.link(waiting, self._entry(candidate))
                    return candidate
                except FileExistsError:
                    rival = [json.loads(line) for line in self._entry(candidate).read_text().splitlines() if line]
                if alone or any(
                    "metaData" in r or "protocol" in r or r.get("txn", {}).get("appId") in applications for r in rival
                ):
                    break
        finally:
            waiting.unlink(missing_ok=True)
        raise ConflictError(f"{self.root}: another commit came first (version {candidate})")

    def _entry(self, version: int) -> Path:
        return self.root / "_delta_log" / f"{version:020}.json"

    def vacuum(self, keep_versions: Iterable[int], retention_hours: float) -> list[str]:
        """Delete files that neither the newest nor a kept version uses and that are old enough."""
        keep = sorted({*keep_versions, self.version})
        try:
            return self._synced().vacuum(
                retention_hours=int(retention_hours),
                dry_run=False,
                enforce_retention_duration=False,
                keep_versions=keep,
                full=True,
            )
        except (DeltaError, OSError) as error:
            raise ExecutionError(f"{self.root}: vacuum failed ({_first_line(error)})") from error
        finally:
            self.refresh()

    def add_columns(self, fields: Sequence[Any]) -> None:
        """Add nullable columns to the table's schema; a new column in a commit's schema would be dropped."""
        self._check_writable(self.snapshot(), [])
        self._synced().alter.add_columns(list(fields))
        self.refresh()

    def _load(self, version: int | None) -> DeltaTable:
        try:
            return DeltaTable(str(self.root), version=version)
        except TableNotFoundError as error:
            raise TableError(f"{self.root}: not a Delta table", "it has no readable _delta_log") from error
        except (DeltaError, OSError, ValueError) as error:
            if version is not None:
                raise HistoryGoneError(
                    f"{self.root}: version {version} cannot be read any more ({_first_line(error)})",
                    "its history was cleaned away (HISTORY_GONE); rebuild from the current version",
                ) from error
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> TableError:
        return TableError(
            f"{self.root}: the Delta log cannot be read ({_first_line(error)})",
            "restore _delta_log from a backup or recreate the table",
        )

    def _describe(self, table: DeltaTable) -> Snapshot:
        protocol, metadata = table.protocol(), table.metadata()
        features = frozenset(protocol.reader_features or ()) | frozenset(protocol.writer_features or ())
        for level, names in _LEGACY_WRITER_FEATURES.items():
            if level <= protocol.min_writer_version < 7:
                features |= frozenset(names)
        readable = frozenset(protocol.reader_features or ())
        unknown = sorted(readable - READABLE_FEATURES)
        if unknown:
            raise TableError(
                f"{self.root}: table feature {', '.join(unknown)} is not supported",
                "drop the feature or copy the table",
            )
        fields = tuple(json.loads(table.schema().to_json())["fields"])
        for f in fields:
            if re.search(r"\bchar\(", f["metadata"].get(_CHAR_TYPE, "")):
                raise TableError(
                    f"{self.root}: column {f['name']} has type {f['metadata'][_CHAR_TYPE]}, which is not supported",
                    "readers pad it with spaces, the files do not; make it STRING",
                )
        try:
            files = pa.table(table.get_add_actions(flatten=True))
            vectors = self._vectors(table) if "deletionVectors" in readable else {}
        except (DeltaError, OSError, ValueError) as error:
            raise self._unreadable(error) from error
        if pc.any(pc.match_substring_regex(files["path"], r"^(/|[a-z][a-z0-9+.-]*:/)")).as_py():
            raise TableError(
                f"{self.root}: is a shallow clone, whose files lie in another table", "clone it deep or read the other"
            )
        files = files.set_column(0, "path", pa.array([unquote(p) for p in files["path"].to_pylist()], pa.string()))
        return Snapshot(
            root=self.root,
            version=table.version(),
            table_id=str(metadata.id),
            fields=fields,
            partition_columns=tuple(metadata.partition_columns),
            configuration=dict(metadata.configuration),
            features=features,
            statistics=files,
            vectors=vectors,
        )

    def _vectors(self, table: DeltaTable) -> dict[str, tuple[int, ...]]:
        found = {}
        for batch in table.deletion_vectors():
            batch = pa.record_batch(batch)
            for uri, keep in zip(batch["filepath"].to_pylist(), batch["selection_vector"], strict=True):
                mask = np.asarray(keep.values)
                path = Path(unquote(urlsplit(uri).path)).relative_to(self.root).as_posix()
                found[path] = tuple(np.flatnonzero(~mask).tolist())
        return found

    def _check_writable(self, before: Snapshot, removes: list[str]) -> None:
        refused = sorted(before.features - WRITABLE_FEATURES)
        declared = {
            "checkConstraints": any(k.startswith("delta.constraints.") for k in before.configuration),
            "generatedColumns": any("delta.generationExpression" in f["metadata"] for f in before.fields),
            "identityColumns": any(k.startswith("delta.identity") for f in before.fields for k in f["metadata"]),
            "columnMapping": before.configuration.get("delta.columnMapping.mode", "none") != "none",
        }
        refused = [name for name in refused if declared.get(name, True)]
        if any("delta.invariants" in f["metadata"] for f in before.fields):
            refused.append("invariants")
        refused += [f["metadata"][_CHAR_TYPE] for f in before.fields if _CHAR_TYPE in f["metadata"]]
        if removes and before.configuration.get("delta.appendOnly") == "true":
            refused.append("appendOnly")
        if removes and before.configuration.get("delta.enableChangeDataFeed") == "true":
            refused.append("changeDataFeed")
        if refused:
            raise TableError(
                f"{self.root}: cannot be written because of table feature {', '.join(sorted(set(refused)))}",
                "write it with Spark's own Delta connector; the advisor reads the change from the log",
            )
        for path in removes:
            if path not in before.active:
                raise ConflictError(f"{self.root}: file {path} is no longer part of the table")
            if path in before.vectors:
                raise TableError(
                    f"{self.root}: file {path} has a deletion vector and cannot be rewritten",
                    "purge it first: REORG TABLE … APPLY (PURGE)",
                )

    def _check_not_null(self, before: Snapshot, adds: Sequence[NewFile]) -> None:
        """Nobody checks NOT NULL after us; where a file's statistics do not tell, it counts as broken."""
        for name in (f["name"] for f in before.fields if not f["nullable"]):
            for new in adds:
                nulls = new.partition[name] is None if name in new.partition else new.statistics["nullCount"].get(name)
                if nulls is None or nulls > 0:
                    raise TableError(f"{self.root}: column {name} is NOT NULL and would get a NULL", "give it a value")


def create_log(
    path: str | Path,
    schema: pa.Schema,
    adds: Sequence[NewFile] = (),
    *,
    partition_by: Sequence[str] = (),
    note: Mapping[str, Any] | None = None,
    description: str | None = None,
    consumed: Mapping[str, int] | None = None,
    replaces: bool = False,
) -> DeltaLog:
    """Create a Delta table in a folder, with the files that already lie there, in one commit.

    With `replaces` a table that is there already gets the new schema and files instead of its own, in one commit
    too. `consumed` is as in `DeltaLog.commit`.
    """
    root = local_folder(path)
    transactions = [Transaction(_CONSUMED + i, v) for i, v in sorted((consumed or {}).items())]
    try:
        root.mkdir(parents=True, exist_ok=True)
        create_table_with_add_actions(
            str(root),
            Schema.from_arrow(schema),
            [new.action() for new in adds],
            mode="overwrite" if replaces else "error",
            partition_by=list(partition_by),
            description=description,
            commit_properties=CommitProperties(
                custom_metadata={"advisor": json.dumps(note, sort_keys=True)} if note else None,
                app_transactions=transactions or None,
            ),
        )
    except (DeltaError, OSError, ValueError) as error:
        if is_delta(root):
            raise ConflictError(f"{root}: there is a Delta table already") from error
        raise ExecutionError(
            f"{root}: the table cannot be created ({_first_line(error)})", "is the folder writable?"
        ) from error
    return DeltaLog(root)


def local_folder(path: str | Path) -> Path:
    """The absolute folder of a path or `file:` URI.

    >>> local_folder("file:///data/orders").as_posix()
    '/data/orders'
    """
    text = str(path)
    if "://" in text or text.startswith("file:"):
        parts = urlsplit(text)
        if parts.scheme != "file":
            raise TableError(f"{text}: only local and mounted folders are supported", "mount the store as a folder")
        text = unquote(parts.path)
    return Path(text).absolute()


def _after(before: Snapshot, adds: Sequence[NewFile], removed: Sequence[str]) -> Snapshot | None:
    """The snapshot that a commit on another one makes, without a look at the log; None when that needs one."""
    columns = before.statistics.schema
    rows: dict[str, list[Any]] = {name: [] for name in columns.names}
    for new in adds:
        row = {"path": new.path, "size_bytes": new.size, "modification_time": _now_ms()}
        row["num_records"] = new.statistics["numRecords"]
        for prefix, values in (
            ("partition", new.partition),
            ("min", new.statistics["minValues"]),
            ("max", new.statistics["maxValues"]),
            ("null_count", new.statistics["nullCount"]),
        ):
            row |= {f"{prefix}.{name}": value for name, value in values.items()}
        if not row.keys() <= rows.keys():
            return None
        for name, found in rows.items():
            found.append(row.get(name))
    try:
        new_rows = [pa.array(rows[f.name], None if any(rows[f.name]) else f.type).cast(f.type) for f in columns]
    except pa.ArrowException:
        return None
    kept = before.statistics
    if removed:
        kept = kept.filter(pa.array(~np.isin(before.paths, list(removed))))
    statistics = pa.concat_tables([kept, pa.table(new_rows, schema=columns)]).combine_chunks()
    return replace(before, version=before.version + 1, statistics=statistics)


def _removals(before: Snapshot, paths: Sequence[str], data_change: bool) -> list[dict[str, Any]]:
    """The `remove`s of the log for files of a snapshot."""
    if not paths:
        return []
    chosen = np.isin(before.paths, list(paths))
    sizes = before.statistics["size_bytes"].filter(pa.array(chosen)).to_pylist()
    return [
        {
            "path": quote(f.path, safe=_LEGAL),
            "deletionTimestamp": _now_ms(),
            "dataChange": data_change,
            "extendedFileMetadata": True,
            "partitionValues": dict(f.partition),
            "size": size,
        }
        for f, size in zip(before.files(chosen), sizes, strict=True)
    ]


def _parse_commit(version: int, text: str) -> Commit:
    info: Mapping[str, Any] = {}
    found: dict[str, list[Mapping[str, Any]]] = {"add": [], "remove": [], "cdc": []}
    changes_schema = False
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise TableError(f"version {version} of the Delta log is corrupt ({error})", "restore it") from error
        for kind, action in entry.items():
            if kind in found:
                found[kind].append({**action, "path": unquote(action["path"])})
            elif kind == "commitInfo":
                info = action
            elif kind == "metaData":
                changes_schema = True
    return Commit(version, info, tuple(found["add"]), tuple(found["remove"]), tuple(found["cdc"]), changes_schema)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__
