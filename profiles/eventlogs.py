"""What Spark did, from the event logs it leaves: each SQL execution, what it read and what it wrote.

A log is a file `<app>[.codec][.inprogress]` or, if it rolls, a folder `eventlog_v2_<app>` of `events_N_<app>[.codec]`.
It is streamed, and only the lines that begin and end an execution are parsed: the plan at its start names all that it
reads, the plans that adaptive execution logs later only leave out. `profiles.plans` reads a plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from profiles.plans import Read, Write, is_upkeep, reads_of, together, writes_of
from views.errors import TableError, WorkloadError

_ANY = b'{"Event":"'
_SQL = _ANY + b"org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
_APPLICATION, _ENVIRONMENT = _ANY + b'SparkListenerApplicationStart"', _ANY + b'SparkListenerEnvironmentUpdate"'
_START, _END = _SQL + b'Start"', _SQL + b'End"'
_DYNAMIC = "spark.sql.sources.partitionOverwriteMode"
_CHUNK = 1 << 14
"""Bytes read at once; of a compressed log that is still written, this much of the end may be missed."""
_LZ4_STORED, _SNAPPY_HEADER = 0x10, b"\x82SNAPPY\x00"


@dataclass(frozen=True)
class Execution:
    """One SQL execution, the executions that Spark started for it included."""

    application: str
    description: str
    """The SQL text where the application gave it as the job's description, else the place of the call."""
    started: float
    """Seconds since the epoch."""
    seconds: float | None
    """None when the log ends before the execution does."""
    reads: tuple[Read, ...]
    writes: tuple[Write, ...]
    succeeded: bool

    @property
    def relations(self) -> tuple[Read | Write, ...]:
        """All that it touched, what it wrote first."""
        return (*self.writes, *self.reads)


@dataclass
class _Open:
    """An execution as far as the log was read."""

    description: str = ""
    started: int | None = None
    ended: int | None = None
    failed: bool = False
    upkeep: bool = False
    reads: dict[Read, None] = field(default_factory=dict)
    writes: dict[Write, None] = field(default_factory=dict)


def read_event_logs(folder: str | Path) -> tuple[Execution, ...]:
    """The executions of every log in a folder and the folders below it, by start; a single log may be named too."""
    root = Path(folder)
    if not root.exists():
        raise WorkloadError(f"{root}: no such file or folder", "name the folder of spark.eventLog.dir")
    found: dict[tuple[str, int], Execution] = {}
    empty = True
    for files, unfinished in _logs(root):
        empty = False
        found |= _executions(files, unfinished)
    if empty:
        raise WorkloadError(
            f"{root}: holds no Spark event log",
            "name the folder of spark.eventLog.dir, and run Spark with spark.eventLog.enabled=true",
        )
    return tuple(sorted(found.values(), key=lambda execution: execution.started))


def _logs(path: Path) -> Iterator[tuple[list[Path], bool]]:
    """The files of each log in their order, and whether its application still writes it, or died writing it."""
    if path.is_file():
        yield [path], path.name.endswith(".inprogress")
    elif path.name.startswith("eventlog_v2_"):
        numbered = [(int(match[1]), f) for f in path.iterdir() if (match := re.match(r"events_(\d+)_", f.name))]
        compact = max((number for number, file in numbered if file.name.endswith(".compact")), default=-1)
        kept = [(n, f) for n, f in numbered if n > compact or (n == compact and f.name.endswith(".compact"))]
        yield [file for _, file in sorted(kept)], any(path.glob("appstatus_*.inprogress"))
    else:
        for entry in sorted(path.iterdir()):
            if not entry.name.startswith((".", "_")):
                yield from _logs(entry)


def _executions(files: list[Path], unfinished: bool) -> dict[tuple[str, int], Execution]:
    """The executions of one log by application and number, children merged into their root."""
    application = files[0].name if files else ""
    settings: Mapping[str, str] = {}
    opened: dict[int, _Open] = {}
    for file in files:
        for number, line in _lines(file, unfinished and file == files[-1]):
            if not line.startswith((_START, _END, _APPLICATION, _ENVIRONMENT)):
                continue
            try:
                event = json.loads(line)
                if line.startswith(_APPLICATION):
                    application = str(event.get("App ID") or application)
                elif line.startswith(_ENVIRONMENT):
                    settings = dict(event.get("Spark Properties") or {})
                elif line.startswith(_START):
                    _begin(event, opened, settings)
                elif (execution := opened.get(event["executionId"])) is not None:
                    execution.ended, execution.failed = int(event["time"]), bool(event.get("errorMessage"))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise _corrupt(file, number) from error
    return {(application, i): _close(application, e) for i, e in opened.items() if e.started is not None}


def _begin(event: Mapping[str, Any], opened: dict[int, _Open], settings: Mapping[str, str]) -> None:
    """What one start event adds; a child may start before the execution that it belongs to."""
    own, root = event["executionId"], event.get("rootExecutionId")
    execution = opened.setdefault(own if root is None else root, _Open())
    if root is None or own == root:
        execution.description, execution.started = str(event["description"]), int(event["time"])
    plan, text = event["sparkPlanInfo"], str(event["physicalPlanDescription"])
    mode = ({**settings, **(event.get("modifiedConfigs") or {})}).get(_DYNAMIC, "static")
    execution.upkeep |= is_upkeep(plan)
    execution.reads |= dict.fromkeys(reads_of(plan))
    execution.writes |= dict.fromkeys(writes_of(plan, text, dynamic=mode.lower() == "dynamic"))


def _close(application: str, seen: _Open) -> Execution:
    started, ended = seen.started or 0, seen.ended
    return Execution(
        application,
        seen.description,
        started / 1000,
        None if ended is None else max(ended - started, 0) / 1000,
        () if seen.upkeep else tuple(seen.reads),
        together(seen.writes),
        ended is not None and not seen.failed,
    )


def _lines(file: Path, unfinished: bool) -> Iterator[tuple[int, bytes]]:
    """The lines of a file and their numbers; the end of one that is still written may be missing."""
    number, parts = 0, [b""]
    try:
        for chunk in _chunks(file):
            first, *others = chunk.split(b"\n")
            parts.append(first)
            if others:
                for line in (b"".join(parts), *others[:-1]):
                    number += 1
                    if not (line.startswith(_ANY) and line.endswith(b"}")):
                        raise _corrupt(file, number)
                    yield number, line
                parts = [others[-1]]
    except OSError as error:  # also what a damaged or cut off compressed stream raises
        if not unfinished or error.errno is not None:
            raise TableError(f"{file}:{number + 1}: cannot be read ({error})", "copy the log again") from error
    if any(parts) and not unfinished:
        raise _corrupt(file, number + 1)


def _corrupt(file: Path, number: int) -> TableError:
    return TableError(
        f"{file}:{number}: is not a line of a Spark event log", "copy the log again, or move the file away"
    )


def _chunks(file: Path) -> Iterator[bytes]:
    """The bytes of a file, decompressed."""
    codec = re.sub(r"(\.inprogress|\.compact)$", "", file.name).rpartition(".")[2]
    if codec == "lzf":
        raise TableError(
            f"{file}: is compressed with lzf, which cannot be read",
            "set spark.eventLog.compression.codec=zstd, Spark's default, for the next ones",
        )
    if codec in ("zstd", "zst"):
        import pyarrow as pa

        with pa.input_stream(str(file), compression="zstd") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
        return
    with file.open("rb") as plain:
        match codec:
            case "lz4":
                yield from _lz4(plain)
            case "snappy":
                yield from _snappy(plain)
            case _:
                while chunk := plain.read(_CHUNK):
                    yield chunk


def _lz4(stream: BinaryIO) -> Iterator[bytes]:
    """The blocks of lz4-java's LZ4BlockOutputStream: magic, method, both lengths, checksum, data."""
    import pyarrow as pa

    while head := stream.read(21):
        if not head.startswith(b"LZ4Block") or len(head) < 21:
            raise OSError("not a block of LZ4BlockOutputStream")
        stored, size = int.from_bytes(head[9:13], "little"), int.from_bytes(head[13:17], "little")
        block = _exactly(stream, stored)
        if size:
            yield block if head[8] & 0xF0 == _LZ4_STORED else pa.Codec("lz4_raw").decompress(block, size, asbytes=True)


def _snappy(stream: BinaryIO) -> Iterator[bytes]:
    """The blocks of snappy-java's SnappyOutputStream: a header of 16 bytes, then length and data."""
    import pyarrow as pa

    while head := stream.read(4):
        if _SNAPPY_HEADER.startswith(head):
            _exactly(stream, 12)
            continue
        block = _exactly(stream, int.from_bytes(head, "big"))
        size = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(_varint(block)))
        yield pa.Codec("snappy").decompress(block, size, asbytes=True)


def _varint(block: bytes) -> bytes:
    """The bytes in which a raw Snappy block says how long it was."""
    end = next((i for i, byte in enumerate(block[:5]) if byte < 0x80), None)
    if end is None:
        raise OSError("not a Snappy block")
    return block[: end + 1]


def _exactly(stream: BinaryIO, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise OSError("ends in the middle of a block")
    return found
