"""Tables that are rebuilt for less than it costs, from Delta logs and Spark's event logs alone; no workload is needed.

A table is derived when an execution reads other tables to write it. One that no event log shows, and that every commit
of its Delta log replaces, is taken for derived too; what its rebuilds cost is then unknown.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from advisor.answers import aligned
from profiles.eventlogs import Execution
from profiles.history import update_history
from profiles.plans import How, Read, Write
from profiles.queries import Place, days_of, owner_of, query_history
from profiles.sources import HISTORY_LIMIT
from profiles.statistics import Estimate
from profiles.units import SECONDS_A_DAY
from profiles.words import duration, many, number
from storage.log import Commit, DeltaLog, local_folder, open_log
from views.errors import TableError

SMALL_CHANGE = 0.5
"""The fraction of changed rows from which on a rebuild in full is no longer called waste."""
_HABIT = 2
"""Rebuilds that are a habit; one is how a table begins."""
_IN_PLACE = ("MERGE", "UPDATE", "DELETE", "OPTIMIZE", "REORG")

_Builds = dict[str, list[tuple[Execution, How, tuple[str, ...]]]]

_log = logging.getLogger("advisor.waste")


@dataclass(frozen=True)
class DerivedTable:
    """A table that is computed from others, and what keeping it so was seen to cost; None is unknown."""

    table: str
    """Its folder, or its name in the catalog where no folder was seen."""
    sources: tuple[str, ...]
    how: How
    """`overwrite` when it was rebuilt in full; only those rebuilds are counted then."""
    rebuilds: tuple[float, ...]
    """When each began, in seconds since the epoch."""
    rebuilds_per_day: float
    seconds_per_rebuild: float | None
    reads_per_day: float | None
    changed_fraction: float | None
    """Rows of the sources that changed from one rebuild to the next, by those of their logs that tell."""
    uncounted: tuple[str, ...] = ()
    """Sources whose changes are unknown."""
    bytes_per_rebuild: float | None = None
    """What a rebuild wrote, where only a Delta log tells of it."""

    @property
    def seconds_per_day(self) -> float | None:
        return None if self.seconds_per_rebuild is None else self.seconds_per_rebuild * self.rebuilds_per_day


@dataclass(frozen=True)
class Waste:
    """One derived table that costs more than it need; None is unknown."""

    table: str
    because: str
    seconds_per_day: float | None
    saved_seconds_per_day: float | None
    """What could be saved at most: all but the rebuilds that a read needs, and of those all but the changed rows."""
    rebuilds_per_day: float
    reads_per_day: float | None
    changed_fraction: float | None
    sources: tuple[str, ...]


@dataclass(frozen=True)
class WasteList:
    """The answer: what is wasted, among how many derived tables, and what the logs could not tell."""

    wastes: tuple[Waste, ...]
    """Most seconds a day first, those of unknown cost last."""
    derived: int
    unknown: tuple[str, ...]
    """Sentences."""

    def as_json(self) -> dict[str, Any]:
        return {
            "waste": [asdict(waste) for waste in self.wastes],
            "derived_tables": self.derived,
            "unknown": list(self.unknown),
        }


def find_waste(executions: Sequence[Execution] | None, folders: Sequence[Place] = ()) -> WasteList:
    """The waste list of what event logs show, None without any, and of the Delta tables under the folders."""
    roots = {folder: tuple(delta_tables([folder])) for folder in folders}
    tables = derived_tables(executions or (), {path for found in roots.values() for path in found})
    unknown = [f"{folder} holds no Delta table." for folder, found in roots.items() if not found]
    return WasteList(waste_of(tables), len(tables), (*unknown, *_unknown(executions, tables)))


def waste_of(tables: Iterable[DerivedTable]) -> tuple[Waste, ...]:
    """The derived tables that cost more than they need, and why."""
    found = [waste for table in tables if (waste := _judge(table)) is not None]
    return tuple(
        sorted(
            found, key=lambda w: (w.seconds_per_day is None, -(w.seconds_per_day or 0.0), -w.rebuilds_per_day, w.table)
        )
    )


def _unknown(executions: Sequence[Execution] | None, tables: Sequence[DerivedTable]) -> Iterator[str]:
    """What would have to be known to say more, in sentences."""
    if executions is None:
        yield (
            "Without an event log it is unknown what a rebuild costs, what it reads, and who reads its result: run"
            " Spark with spark.eventLog.enabled=true and name the folder of spark.eventLog.dir with --event-log."
        )
    elif not executions:
        yield "The event logs show no query and no write."
    elif (days := days_of(executions)) < 1:
        span = duration(days * SECONDS_A_DAY)
        yield f"The event logs span only {span}; rates are those of a day in which nothing else happens."
    if any(table.reads_per_day is not None for table in tables):
        yield "Who reads without Spark is not in its event logs."
    sources = sorted({source for table in tables if len(table.rebuilds) >= _HABIT for source in table.uncounted})
    if sources:
        more = f" and {len(sources) - 3} more" if len(sources) > 3 else ""
        yield f"How many rows change in {', '.join(sources[:3])}{more} is unknown: no Delta log there tells."


def derived_tables(executions: Sequence[Execution], folders: Iterable[Path] = ()) -> tuple[DerivedTable, ...]:
    """The tables that executions derive from others, and those of the Delta tables that every commit replaces."""
    seen = {r.path for e in executions for r in e.relations if r.path and r.path.startswith("/")}
    deltas = sorted({*folders, *(Path(path) for path in seen if os.path.isdir(os.path.join(path, "_delta_log")))})
    logs = {str(folder): log for folder in deltas if (log := _opened(folder)) is not None}
    places = _places(executions, logs)
    reads = query_history(executions, places)
    written, builds = _builds(executions, owner_of(executions, places))
    days = max(days_of(executions), 1.0) if executions else 1.0
    found = [_derived(table, builds[table], days, _value(reads[table].per_day), logs) for table in builds]
    for table in logs.keys() - written:
        times, span, size = _replaced(logs[table])
        if len(times) >= _HABIT:
            rate = len(times) / max(span, 1.0)
            known = _value(reads[table].per_day)
            found.append(DerivedTable(table, (), "overwrite", times, rate, None, known, None, bytes_per_rebuild=size))
    return tuple(sorted(found, key=lambda table: table.table))


def delta_tables(folders: Iterable[Place]) -> Iterator[Path]:
    """The Delta tables in the folders and below them; hidden folders are not looked into."""
    for folder in folders:
        root = Path(os.path.abspath(local_folder(folder)))
        if not root.is_dir():
            raise TableError(f"{folder}: no such folder", "name a folder that holds Delta tables")
        for path, below, _ in os.walk(root):
            if "_delta_log" in below:
                yield Path(path)
                below.clear()
            below[:] = sorted(name for name in below if not name.startswith((".", "_")))


def _opened(folder: Path) -> DeltaLog | None:
    """The table's log; one that cannot be read leaves its table out, and is told."""
    try:
        return open_log(folder)
    except TableError as error:
        _log.warning("%s", error)
        return None


def _places(executions: Sequence[Execution], logs: Mapping[str, DeltaLog]) -> dict[str, set[Place]]:
    """All tables that were written or have a Delta log, by folder if it is known, with their other name."""
    relations = [relation for execution in executions for relation in reversed(execution.relations)]
    folder = {relation.table: relation.path for relation in relations if relation.table and relation.path}
    places: dict[str, set[Place]] = {name: {Path(name)} for name in logs}
    for write in (write for execution in executions for write in execution.writes):
        path = write.path or folder.get(write.table or "")
        if name := path or write.table:
            places.setdefault(name, set()).update(place for place in (path, write.table) if place)
    return places


def _builds(executions: Sequence[Execution], owner: Callable[[Read | Write], str | None]) -> tuple[set[str], _Builds]:
    """The tables that were written, and for each derived one what wrote it, how, and from which sources."""
    written: set[str] = set()
    builds: _Builds = {}
    for execution in executions:
        for write in execution.writes if execution.succeeded else ():
            table = owner(write)
            if table is not None:
                written.add(table)
                sources = dict.fromkeys(owner(read) or read.path or read.table or "" for read in execution.reads)
                if others := tuple(source for source in sources if source != table):
                    builds.setdefault(table, []).append((execution, write.how, others))
    return written, builds


def _derived(
    table: str,
    builds: Sequence[tuple[Execution, How, tuple[str, ...]]],
    days: float,
    reads_per_day: float | None,
    logs: Mapping[str, DeltaLog],
) -> DerivedTable:
    counted = [build for build in builds if build[1] == "overwrite"] or builds
    hows = {how for _, how, _ in counted}
    how: How = hows.pop() if len(hows) == 1 else "change"
    times = tuple(sorted(execution.started for execution, _, _ in counted))
    sources = tuple(dict.fromkeys(source for _, _, others in counted for source in others))
    fraction, uncounted = _changed(sources, times, logs) if how == "overwrite" else (None, ())
    return DerivedTable(
        table=table,
        sources=sources,
        how=how,
        rebuilds=times,
        rebuilds_per_day=len(times) / days,
        seconds_per_rebuild=sum(execution.seconds or 0.0 for execution, _, _ in counted) / len(counted),
        reads_per_day=reads_per_day,
        changed_fraction=fraction,
        uncounted=uncounted,
    )


def _changed(
    sources: Sequence[str], times: Sequence[float], logs: Mapping[str, DeltaLog]
) -> tuple[float | None, tuple[str, ...]]:
    """The part of the sources' rows that changed between two rebuilds, on average, and the sources left out of it."""
    if len(times) < _HABIT:
        return None, ()
    rows, changed, uncounted = 0.0, [0.0] * (len(times) - 1), []
    for source in sources:
        known = _changes(logs[source], times) if source in logs else None
        if known is None:
            uncounted.append(source)
            continue
        rows += known[0]
        changed = [before + more for before, more in zip(changed, known[1], strict=True)]
    if rows <= 0:
        return None, tuple(uncounted)
    return sum(min(part / rows, 1.0) for part in changed) / len(changed), tuple(uncounted)


def _changes(log: DeltaLog, times: Sequence[float]) -> tuple[float, list[float]] | None:
    """The rows of a table, and how many its log says changed between one time and the next; None if it does not say."""
    try:
        rows, history = log.num_rows, log.history(HISTORY_LIMIT)
    except TableError as error:
        _log.warning("%s", error)
        return None
    oldest = min(history, key=lambda commit: commit.version, default=None)
    if rows is None or oldest is None or (oldest.version > 0 and oldest.timestamp / 1000 > times[0]):
        return None
    changed = [0.0] * (len(times) - 1)
    for commit in history:
        if times[0] < commit.timestamp / 1000 <= times[-1]:
            # After a commit that only starts the clock, the history of one commit is that commit.
            alone = update_history((Commit(-1, {"timestamp": commit.timestamp}), commit), log.root)
            if alone.per_day is not None:
                if alone.rows is None:
                    return None
                changed[bisect_left(times, commit.timestamp / 1000) - 1] += alone.rows.value
    return float(rows), changed


def _replaced(log: DeltaLog) -> tuple[tuple[float, ...], float, float]:
    """When the table was rebuilt in full, if all its changes were that, the days that its log shows, bytes written."""
    try:
        history = sorted(log.history(HISTORY_LIMIT), key=lambda commit: commit.version)
        first = history[0].version if history else log.version
        active = set(log.snapshot(first).active)
        commits = log.commits(first, log.version) or []
    except TableError as error:
        _log.warning("%s", error)
        return (), 0.0, 0.0
    times, size = [], 0.0
    for commit in commits:
        added, removed = ({str(file["path"]) for file in files} for files in (commit.adds, commit.removes))
        if any(file.get("dataChange", True) for file in (*commit.adds, *commit.removes)):
            if not _is_rebuild(commit) or not active <= removed or not added:
                return (), 0.0, 0.0
            times.append(commit.timestamp / 1000)
            size += sum(float(file.get("size") or 0) for file in commit.adds)
        active = (active - removed) | added
    span = (history[-1].timestamp - history[0].timestamp) / 1000 / SECONDS_A_DAY if history else 0.0
    return tuple(times), span, size / max(len(times), 1)


def _is_rebuild(commit: Commit) -> bool:
    """Whether a commit that replaces all files says nothing else: a change of a table of one file replaces it too."""
    parameters = commit.info.get("operationParameters") or {}
    whole = parameters.get("mode") != "Append" and parameters.get("predicate") in (None, "", "[]")
    return whole and not commit.operation.upper().startswith(_IN_PLACE)


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _judge(table: DerivedTable) -> Waste | None:
    """What is wrong with a table's upkeep, if anything is."""
    if len(table.rebuilds) < _HABIT:
        return None
    reads, rebuilds, fraction = table.reads_per_day, table.rebuilds_per_day, table.changed_fraction
    verb = {"overwrite": "rebuilt", "append": "appended to", "change": "changed"}[table.how]
    reasons, needed = [], 1.0
    if reads is not None and reads < rebuilds and (table.how == "overwrite" or reads == 0):
        read = f"read {_times(reads)}" if reads else "never read"
        reasons.append(f"{verb} {_times(rebuilds)} a day, {read}")
        needed *= reads / rebuilds
    if fraction is not None and fraction <= SMALL_CHANGE:
        left_out = f" (changes of {', '.join(table.uncounted)} are unknown)" if table.uncounted else ""
        changed = f"for {100 * fraction:.2g} % changed rows" if fraction else "though no row changed"
        reasons.append(f"rebuilt in full {changed}{left_out}")
        needed *= fraction
    seconds = table.seconds_per_day
    if seconds is None and not reasons:
        reasons.append(f"rebuilt in full {_times(rebuilds)} a day, {_size(table.bytes_per_rebuild or 0)} each")
    if not reasons:
        return None
    return Waste(
        table=table.table,
        because="; ".join(reasons),
        seconds_per_day=seconds,
        saved_seconds_per_day=None if seconds is None else seconds * (1 - needed),
        rebuilds_per_day=rebuilds,
        reads_per_day=reads,
        changed_fraction=fraction,
        sources=table.sources,
    )


def waste_text(found: WasteList) -> str:
    """The list for people: what is wasted, biggest first, then what is unknown and what to do next."""
    lines = [_headline(found)]
    if found.wastes:
        rows = [("table", "a day", "to save", "because")]
        rows += [(_shown(w.table), _cost(w.seconds_per_day), _cost(w.saved_seconds_per_day), w.because)
                 for w in found.wastes]  # fmt: skip
        lines += ["", *(f"  {line}" for line in aligned(rows).splitlines())]
    if found.unknown:
        lines += ["", *found.unknown]
    if found.wastes:
        lines += [
            "",
            "next: advisor init drafts a workload from the same folders and logs; recommend then prices other ways",
        ]
    return "\n".join(lines)


def _headline(found: WasteList) -> str:
    tables = many(found.derived, "derived table")
    if not found.derived:
        return "no derived table found: nothing computes one table from others, or replaces one again and again"
    if not found.wastes:
        return f"nothing to complain about: {tables}, none rebuilt more often than read or in full for a small change"
    of = f"{len(found.wastes)} of {tables} cost{'s' if len(found.wastes) == 1 else ''}"
    known = [w for w in found.wastes if w.seconds_per_day is not None]
    if not known:
        return f"{of} a full rebuild each time"
    seconds, saved = sum(w.seconds_per_day or 0 for w in known), sum(w.saved_seconds_per_day or 0 for w in known)
    return f"{of} more than needed: {duration(seconds)} a day, of which at most {duration(saved)} can be saved"


def _cost(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(seconds)


def _shown(table: str) -> str:
    """A folder below this one by its relative path."""
    here = os.getcwd().rstrip(os.sep) + os.sep
    return table.removeprefix(here)


def _times(rate: float) -> str:
    """
    >>> _times(0.998), _times(12.49)
    ('1 time', '12 times')
    """
    shown = number(round(rate, 2) or rate)
    return f"{shown} time" if shown == "1" else f"{shown} times"


def _size(count: float) -> str:
    """
    >>> _size(999), _size(12_300_000)
    ('999 B', '12.3 MB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 999.5 and len(units) > 1:
        count, units = count / 1000, units[1:]
    return f"{count:.3g} {units[0]}"
