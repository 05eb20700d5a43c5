"""Drafts a workload file from what exists: tables below folders, their Delta logs, and Spark's event logs.

What the data or the logs show is declared; what is only guessed, or was only seen in a part of the data, is a comment
that says so. Views are declared only if they can be checked and priced as they stand.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from advisor.recommend import recommend
from advisor.seen import SeenView, seen_views, table_name
from advisor.waste import DerivedTable, derived_tables
from profiles.discovery import (
    ROW_BUDGET,
    FoundTable,
    Keys,
    Reference,
    discover,
    find_keys,
    find_references,
    partition_types,
)
from profiles.eventlogs import Execution
from profiles.history import UpdateHistory, update_history
from profiles.queries import QueryHistory, days_of, query_history
from profiles.sources import HISTORY_LIMIT, table_statistics
from profiles.statistics import TableStatistics
from profiles.units import SECONDS_A_DAY
from profiles.words import duration, many, number
from profiles.workload import from_values
from storage.log import local_folder
from views.errors import AdvisorError, TableError, WorkloadError
from views.places import plain_name

_WIDTH = 118
_PLAIN = re.compile(r"(?:\./)?[A-Za-z_/][\w/-]*(?:\.[A-Za-z][\w/-]*)*", re.ASCII)
_RESERVED = ("", "null", "true", "false", "yes", "no", "on", "off", "y", "n")
_FILTERS = 3


@dataclass(frozen=True)
class TableDraft:
    """One table with all that was found out about it."""

    found: FoundTable
    statistics: TableStatistics
    columns: Mapping[str, str]
    keys: Keys
    updates: UpdateHistory
    reads: QueryHistory
    derived: DerivedTable | None
    """How Spark was seen to rebuild it, where no text says from which query."""
    references: tuple[Reference, ...] = ()

    @property
    def name(self) -> str:
        return self.found.name


@dataclass(frozen=True)
class Draft:
    """The text of a workload file, and what it holds."""

    text: str
    tables: tuple[TableDraft, ...]
    views: tuple[str, ...]
    left_out: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "tables": {
                table.name: {
                    "path": str(table.found.path),
                    "kind": table.found.kind,
                    "rows": table.statistics.rows.value,
                    "columns": dict(table.columns),
                    "key": list(table.keys.key),
                    "foreign_keys": {r.column: f"{r.other}.{r.other_column}" for r in table.references if r.whole},
                }
                for table in self.tables
            },
            "views": list(self.views),
            "left_out": list(self.left_out),
        }


def draft(
    paths: Sequence[str | Path],
    executions: Sequence[Execution] | None,
    file: str | Path,
    *,
    budget: int = ROW_BUDGET,
    step: Callable[[str], None] = lambda line: None,
) -> Draft:
    """The workload of the tables under the paths, to be written to `file`; each table found is told to `step`.

    Event logs are None where there are none. Rows are read only to find keys, up to the budget for each table.
    """
    target = Path(os.path.abspath(file))
    found = discover(paths)
    left_out = list(found.left_out)
    tables: list[TableDraft] = []
    derived = {table.table: table for table in derived_tables(executions or ())}
    reads = query_history(executions or (), {table.name: [table.path] for table in found.tables})
    for table in found.tables:
        if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(table.path)):
            raise WorkloadError(f"{file}: lies inside the table {table.path}", "name a file beside the data with -o")
    for table in found.tables:
        try:
            tables.append(_examined(table, reads[table.name], derived.get(str(table.path)), budget))
        except TableError as error:
            left_out.append(f"{table.path} is left out: {error.message.rpartition(f'table {table.name!r}: ')[2]}.")
            continue
        step(table_line(tables[-1]))
    if not tables and not found.texts:
        named = ", ".join(map(str, paths))
        raise WorkloadError(
            f"no table under {named}", " ".join(left_out) or "name folders with Delta or Parquet tables"
        )
    views, problems = _usable(seen_views(executions or (), {t.name: [t.found.path] for t in tables}), tables)
    kept = [table for table in tables if table.name not in {view.name for view in views}]
    references = find_references(
        [t.found for t in kept], {t.name: t.columns for t in kept}, {t.name: t.keys for t in kept}, budget
    )
    kept = [_referring(table, references) for table in kept]
    lines = [
        *_heading(paths, executions, target, budget, _warehouse(target.parent, paths, executions or ())),
        "",
        *(["tables:"] if kept else ["tables: {}"]),
        *(line for table in kept for line in (*_table_block(table, target.parent), "")),
        *_texts_block(found.texts, target.parent),
        *_views_block(views, problems, kept, executions),
    ]
    return Draft("\n".join(lines).rstrip() + "\n", tuple(kept), tuple(view.name for view in views), tuple(left_out))


def found_text(drafted: Draft, file: str) -> str:
    """What `init` says at its end: what is in the draft beside the tables, what is not, and what to do next."""
    views = f"{many(len(drafted.views), 'view')}: {', '.join(drafted.views)}" if drafted.views else "no view"
    where = file if _PLAIN.fullmatch(file) else f"'{file}'"
    return "\n".join((
        *drafted.left_out,
        f"{file} written: {many(len(drafted.tables), 'table')}, {views}",
        f"next: read it and correct it, then advisor check {where} · advisor recommend {where}",
    ))  # fmt: skip


def refuse_target(file: str | Path, *, force: bool) -> None:
    """A file that is there is somebody's work, and a folder that is not there may be a mistake."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(file))):
        raise WorkloadError(f"{file}: cannot be written: its folder does not exist", "make the folder, or name another")
    if not force and os.path.lexists(file):
        raise WorkloadError(f"{file}: is there already", "name another with -o, or replace it with --force")


def save_draft(text: str, file: str | Path, *, force: bool) -> None:
    """Write the file; one that is there, or came meanwhile, stays unless `force`."""
    try:
        with Path(file).open("w" if force else "x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        refuse_target(file, force=False)
    except OSError as error:
        raise WorkloadError(f"{file}: cannot be written: {error.strerror}", "name another file with -o") from None


def _examined(table: FoundTable, reads: QueryHistory, derived: DerivedTable | None, budget: int) -> TableDraft:
    """What its log and its rows say about a table."""
    declared = from_values({"tables": {table.name: {"path": str(table.path)}}, "views": {}})
    statistics = table_statistics(declared, table.name)
    columns = dict(statistics.columns)
    if table.kind == "Parquet folder":
        columns |= {c: kind for c, kind in partition_types(table).items() if c not in columns}
    history = UpdateHistory()
    if table.log is not None:
        history = update_history(table.log.history(HISTORY_LIMIT), table.path)
    return TableDraft(table, statistics, columns, find_keys(table, columns, budget), history, reads, derived)


def _referring(table: TableDraft, references: Iterable[Reference]) -> TableDraft:
    return replace(table, references=tuple(r for r in references if r.table == table.name))


def _usable(
    seen: Sequence[SeenView], tables: Sequence[TableDraft]
) -> tuple[list[SeenView], list[tuple[SeenView, str]]]:
    """The views that can be checked and priced over the tables and each other, and the others with what is wrong."""
    waiting = {view.name: view for view in seen if not view.unknown}
    problems = {view.name: f"it reads {', '.join(view.unknown)}, not found here" for view in seen if view.unknown}
    usable: dict[str, SeenView] = {}
    if _problem(list(waiting.values()), tables) is None:
        usable, waiting = waiting, {}
    progress = True
    while waiting and progress:  # one after the other, each as soon as those that it reads are there
        progress = False
        for name, view in list(waiting.items()):
            problem = _problem([*usable.values(), view], tables)
            if problem is None:
                usable[name] = waiting.pop(name)
                progress = True
            else:
                problems[name] = problem.rpartition(f"view {name!r}: ")[2]
    return list(usable.values()), [(view, problems[view.name]) for view in seen if view.name not in usable]


def _problem(views: Sequence[SeenView], tables: Sequence[TableDraft]) -> str | None:
    """Why these views cannot be checked and priced over the tables that they leave, if they cannot."""
    names = {view.name for view in views}
    declared = {table.name: _as_declared(table) for table in tables if table.name not in names}
    try:
        recommend(from_values({"tables": declared, "views": {view.name: {"sql": view.sql} for view in views}}))
    except AdvisorError as error:
        return error.message
    return None


def _as_declared(table: TableDraft) -> dict[str, Any]:
    """A table as a workload declares one without data: to try views on it reads nothing again."""
    rows, width = table.statistics.rows.value, table.statistics.row_bytes.value
    return {"rows": rows, "row_bytes": width, "columns": dict(table.columns), "key": list(table.keys.key)}


def table_line(table: TableDraft) -> str:
    """One table of `init` for people."""
    facts = [table.found.kind, many(round(table.statistics.rows.value), "row")]
    if table.keys.key:
        facts.append(f"key {', '.join(table.keys.key)}")
    if table.updates.per_day is not None:
        facts.append(many(len(table.updates.times), "update") + " in its log")
    return f"{table.name}: {', '.join(facts)}"


def _warehouse(folder: Path, paths: Sequence[str | Path], executions: Sequence[Execution]) -> str:
    """A folder for stored views in which nothing lies that was found, or that Spark was seen to write."""
    used = [Path(os.path.abspath(local_folder(path))) for path in paths]
    used += [Path(write.path) for execution in executions for write in execution.writes if write.path]
    used += [table.path for table in discover([folder / "warehouse"]).tables] if (folder / "warehouse").is_dir() else []
    name, number = "warehouse", 2
    while any(place.is_relative_to(folder / name) for place in used):
        name, number = f"warehouse_{number}", number + 1
    return f"./{name}"


def _heading(
    paths: Sequence[str | Path],
    executions: Sequence[Execution] | None,
    file: Path,
    budget: int,
    warehouse: str,
) -> Iterator[str]:
    seen = (
        "its Delta logs" if executions is None else f"its Delta logs and {many(len(executions), 'execution')} of Spark"
    )
    text = (
        f"Drafted by advisor init from {', '.join(map(str, paths))}, with {seen}. What the data and the logs show is"
        " declared; what is guessed is a comment that says so. Keys and foreign keys were looked for in at most"
        f" {budget:,} rows of a table. They are trusted once declared: take out those that need not hold tomorrow."
    )
    yield from _comment(text, 0)
    yield "#"
    yield f"#   advisor check {_clean(file.name)}       says which views can be kept incrementally"
    yield f"#   advisor recommend {_clean(file.name)}   says how to keep each view, and why"
    yield _noted(f"warehouse: {warehouse}", "where stored views will be kept")


def _table_block(table: TableDraft, folder: Path) -> Iterator[str]:
    found, keys = table.found, table.keys
    size = many(round(table.statistics.rows.value), "row")
    yield _noted(f"  {_scalar(table.name)}:", f"{found.kind}, {size}")
    yield f"    path: {_scalar(_relative(found.path, folder))}"
    if found.kind == "Parquet folder" and found.partitions:
        inner = ", ".join(f"{_scalar(c)}: {_scalar(kind)}" for c, kind in table.columns.items())
        yield _noted(f"    columns: {{{inner}}}", f"its folders are named after {', '.join(found.partitions)}")
    else:
        yield from _comment("columns: " + ", ".join(f"{c} {kind}" for c, kind in table.columns.items()), 4)
    yield from _key_lines(keys)
    yield from _reference_lines(table)
    yield from _update_lines(table)
    if table.reads.times:
        yield from _comment(f"read {_rate(table.reads)} a day by Spark{_filters(table.reads)}", 4)
    if table.derived is not None:
        cost = duration(table.derived.seconds_per_day or 0.0)
        times, sources = number(table.derived.rebuilds_per_day), ", ".join(table.derived.sources)
        yield from _comment(
            f"seen to be computed from {sources} {times} times a day, which takes {cost}: more a view than a table."
            " If you know its SQL, move it to views:.",
            4,
        )
    if found.kind == "Parquet file":
        yield from _comment("one file: advisor apply needs it in a folder of its own", 4)


def _key_lines(keys: Keys) -> Iterator[str]:
    shown = [f"[{', '.join(map(_scalar, columns))}]" for columns in keys.holding]
    if keys.key:
        yield _noted(f"    key: {shown[0]}", f"no two of all {many(keys.rows, 'row')} agree in it")
        if shown[1:]:
            yield from _comment(f"perhaps by chance, no two rows agree in {', '.join(shown[1:4])} either", 4)
    elif shown:
        why = (
            f"holds on all {many(keys.rows, 'row')}, perhaps by chance"
            if keys.whole
            else f"a guess: holds on the first {many(keys.rows, 'row')}, the others were not read"
        )
        yield from _comment(f"key: {shown[0]}   ({why})", 4)
    elif keys.rows < 2:
        yield from _comment("key: […]   (too few rows to see one)", 4)
    else:
        yield from _comment("key: […]   (none was found among single columns and likely pairs)", 4)


def _reference_lines(table: TableDraft) -> Iterator[str]:
    whole = [reference for reference in table.references if reference.whole]
    if whole:
        yield _noted("    foreign_keys:", "each value is a key there")
        yield from (f"      {_scalar(r.column)}: {_scalar(f'{r.other}.{r.other_column}')}" for r in whole)
    for r in table.references:
        if not r.whole:
            text = f"foreign_keys: {{{_scalar(r.column)}: {_scalar(f'{r.other}.{r.other_column}')}}}"
            yield from _comment(f"{text}   (a guess: holds on the first rows, the others were not read)", 4)


def _update_lines(table: TableDraft) -> Iterator[str]:
    seen = table.updates
    if seen.per_day is None:
        told = "its log shows none" if table.found.kind == "Delta table" else "nothing tells"
        yield from _comment(f"updates: {{per_day: 1, rows: 1000}}   ({told}: declare what you expect)", 4)
        return
    rows = "" if seen.rows is None else f", rows: {_short(seen.rows.value)}"
    days = (seen.times[-1] - seen.times[0]) / SECONDS_A_DAY
    span = f"within {duration(days * SECONDS_A_DAY)}" if days > 0 else "at once"
    guess = "" if seen.per_day.source == "measured" else ", less than a day: a guess"
    count = many(len(seen.times), "update")
    yield from _comment(
        f"updates: {{per_day: {_short(seen.per_day.value)}{rows}}}   (from {count} in its Delta log, {span}{guess};"
        " read from there again unless declared)",
        4,
    )


def _texts_block(texts: Sequence[Path], folder: Path) -> Iterator[str]:
    if texts:
        yield from _comment("also found; take the comment mark off where a view reads it:", 2)
        for text in texts:
            path = _relative(text, folder)
            if path.isprintable():
                yield f"  # {_clean(text.stem)}: {{path: {_scalar(path)}}}"
        yield ""


def _views_block(
    views: Sequence[SeenView],
    problems: Sequence[tuple[SeenView, str]],
    tables: Sequence[TableDraft],
    executions: Sequence[Execution] | None,
) -> Iterator[str]:
    measured = executions is not None and len(executions) > 0 and days_of(executions) >= 1
    yield "views:" if views else "views: {}"
    for view in views:
        yield from (*_view_block(view, measured), "")
    for view, why in problems:
        yield from _comment(f"seen too, but not usable as it stands: {why}", 2)
        yield from (f"  # {_clean(line)}".rstrip() for line in _view_block(view, measured))
        yield ""
    if not views and tables:
        yield from _comment(
            "No event log gave the SQL of a view. This is what one looks like: replace `views: {}` by it, and write the"
            " query of a table that you rebuild, or of a report that is read often. queries: is a guess.",
            0,
        )
        yield "#"
        yield from (f"# {line}" for line in ("views:", *_example(tables)))


def _example(tables: Sequence[TableDraft]) -> tuple[str, ...]:
    largest = max(tables, key=lambda t: t.statistics.rows.value * t.statistics.row_bytes.value)
    rows = {t.name: t.statistics.rows.value for t in tables}
    groups = [r.column for r in sorted(largest.references, key=lambda r: rows[r.other])] or largest.found.partitions
    columns = [c for c in groups if c.isprintable()][:1]
    group = ", ".join(map(plain_name, columns))
    sql = f"SELECT {group + ', ' if group else ''}COUNT(*) AS how_many FROM {table_name(largest.name).sql('spark')}"
    return (
        f"  count_of_{largest.name}:",
        "    sql: |",
        f"      {sql}{f' GROUP BY {group}' if group else ''}",
        "    queries: {per_day: 100}",
    )


def _view_block(view: SeenView, measured: bool) -> Iterator[str]:
    reads = view.reads if view.stored else QueryHistory()
    if view.stored:
        done = f"rebuilt {number(view.times_per_day)} times a day, now stored in {view.stored}"
    else:
        done = f"asked {number(view.times_per_day)} times a day" if view.seconds_per_day else "created by a statement"
    yield _noted(f"  {_scalar(view.name)}:", done)
    lines = view.sql.split("\n")
    if all(line.isprintable() for line in lines):
        yield "    sql: |"
        yield from (f"      {line}" if line else "" for line in lines)
    else:
        yield f"    sql: {_scalar(view.sql)}"
    mark, guess = ("", "") if measured else ("# ", "   (a guess: the logs span less than a day)")
    asked = _rate(reads) if view.stored else _short(view.times_per_day)
    if view.stored or view.seconds_per_day:
        note = "read by Spark" + _filters(reads)
        yield _noted(f"    {mark}queries: {{per_day: {asked}}}", note + guess)
        today = "{strategy: deferred, algorithm: recompute" if view.stored else "{strategy: query_modification"
        yield f"    {mark}today: {today}, seconds: {_short(view.seconds_per_day)}}}{guess}"
    if view.stored:
        yield "    # readers: external   (a guess: if others go on reading it as a table)"


def _rate(reads: QueryHistory) -> str:
    return "0" if reads.per_day is None else _short(reads.per_day.value)


def _filters(reads: QueryHistory) -> str:
    shown = [f"{text or 'none'} ({100 * share:.0f} %)" for text, share in reads.filters[:_FILTERS]]
    return f"; filters: {', '.join(shown)}" if any(text for text, _ in reads.filters) else ""


def _short(value: float) -> str:
    """
    >>> _short(0.0123456), _short(96.0), _short(1234567.8)
    ('0.0123', '96', '1230000')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:.0f}" if rounded.is_integer() else f"{rounded:f}".rstrip("0")


def _relative(path: Path, folder: Path) -> str:
    """From the workload's folder where the path lies in it, else in full."""
    if path == folder:
        return "."
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()


def _scalar(text: str) -> str:
    """A text as YAML, in quotes where it could be read as anything else.

    >>> _scalar("data/orders"), _scalar("it's"), _scalar("no"), _scalar("2026"), _scalar("a\\x85b")
    ('data/orders', '"it\\'s"', '"no"', '"2026"', '"a\\\\u0085b"')
    """
    if _PLAIN.fullmatch(text) and text.casefold() not in _RESERVED:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 65536 else f"\\U{ord(c):08x}" for c in quoted
    )


def _clean(text: str) -> str:
    """A text that may stand in a comment: one line, and only what can be printed.

    >>> _clean("a\\nb\\x07c")
    'a b c'
    """
    return "".join(c if c.isprintable() else " " for c in text)


def _noted(line: str, note: str) -> str:
    """A line with a comment that starts where those of its neighbours do."""
    return f"{line.ljust(38)} # {_clean(note)}"


def _comment(text: str, indent: int) -> Iterator[str]:
    """A comment, wrapped; what goes on in the next line is indented under it."""
    mark = " " * indent + "# "
    lines = textwrap.wrap(_clean(text), _WIDTH - len(mark), break_long_words=False, break_on_hyphens=False)
    yield from (mark + ("  " if i and indent else "") + line for i, line in enumerate(lines))
