"""Views that Spark's event logs show: tables rebuilt from a SQL text, views that were created, queries asked again.

A text is known where the application gave it as the description of its job, as spark-sql and Thrift servers do. Its
tables are found by what the execution read, and renamed as the draft of a workload calls them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from profiles.discovery import name_of
from profiles.eventlogs import Execution
from profiles.plans import Read, Write
from profiles.queries import Place, QueryHistory, days_of, owner_of, query_history

_MOST = 20
"""Queries that become views, those that took most time; stored views always do."""
_AGAIN = 2
_SQL = re.compile(r"\s*(--|/\*|\(|WITH\b|SELECT\b|INSERT\b|CREATE\b|REPLACE\b|FROM\b|VALUES\b)", re.IGNORECASE)


@dataclass(frozen=True)
class SeenView:
    """A view as it was seen: its text, over the names of the draft, and what was done with it."""

    name: str
    sql: str
    reads: QueryHistory
    seconds_per_day: float
    """What keeping it, or answering it, took."""
    times_per_day: float
    """How often it was rebuilt, or asked where nothing is stored."""
    stored: str | None = None
    """The folder or catalog table that holds its rows today."""
    unknown: tuple[str, ...] = ()
    """Tables of its text that were not found."""


@dataclass(frozen=True)
class _Text:
    """The query in a statement."""

    query: exp.Query
    asks: bool
    """Whether the statement is the query, so that nothing is stored."""
    view: str | None = None
    """The name that CREATE VIEW gives it."""


_Run = tuple[Execution, _Text]


def seen_views(executions: Sequence[Execution], tables: Mapping[str, Collection[Place]]) -> tuple[SeenView, ...]:
    """The views whose text is known, stored ones first, then by the time they took; `tables` are those of the draft."""
    if not executions:
        return ()
    places: dict[str, set[Place]] = {name: set(given) for name, given in tables.items()}
    parsed = {text: _read(text) for text in dict.fromkeys(e.description for e in executions)}
    runs = [(e, text) for e in executions if e.succeeded and (text := parsed[e.description]) is not None]
    targets = _targets(executions, runs, places)
    owner = owner_of(executions, places)
    history = query_history(executions, {name: places[name] for name in targets})
    days = max(days_of(executions), 1.0)
    found = []
    for name, made in targets.items():
        newest, text = made[-1]
        sql, unknown = _renamed(text.query, newest, owner)
        stored = next((write.path or write.table for run, _ in made for write in run.writes), None)
        seconds = sum(run.seconds or 0.0 for run, _ in made) / days if stored else 0.0
        found.append(SeenView(name, sql, history[name], seconds, len(made) / days, stored, unknown))
    return (*found, *_asked(runs, places, owner, set(targets), days))


def _read(text: str) -> _Text | None:
    """The query in a statement that asks for it, stores it, or calls it a view; None for any other text.

    >>> _read("CREATE VIEW sales.d AS SELECT 1 AS one").view, _read("collect at Job.scala:3")
    ('sales.d', None)
    """
    if not _SQL.match(text):
        return None
    logger = logging.getLogger("sqlglot")
    was = logger.disabled
    logger.disabled = True  # it warns about statements that are passed over here anyway
    try:
        statements = [each for each in sqlglot.parse(text, read="spark") if each is not None]
    except (SqlglotError, RecursionError):
        return None
    finally:
        logger.disabled = was
    match statements:
        case [exp.Query() as query]:
            return _Text(query, asks=True)
        case [(exp.Create() | exp.Insert()) as statement] if isinstance(statement.expression, exp.Query):
            target = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
            view = isinstance(statement, exp.Create) and statement.kind == "VIEW" and isinstance(target, exp.Table)
            return _Text(statement.expression, asks=False, view=_spelled(target) if view else None)
    return None


def _spelled(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)


def _targets(
    executions: Sequence[Execution], runs: Sequence[_Run], places: dict[str, set[Place]]
) -> dict[str, list[_Run]]:
    """What made each view, by the view's name; the places of their rows are added to those of the draft."""
    owner = owner_of(executions, places)
    targets: dict[str, list[_Run]] = {}
    by_place: dict[str, str] = {}
    for execution, text in runs:
        rebuilt = next((w for w in execution.writes if w.how == "overwrite" and execution.reads), None)
        if rebuilt is None and (execution.writes or text.view is None):  # a change of some rows, a load, or a read
            continue
        known = {place for place in ((rebuilt.path, rebuilt.table) if rebuilt else (text.view,)) if place}
        place = (rebuilt.path or rebuilt.table if rebuilt else text.view) or ""
        name = (owner(rebuilt) if rebuilt else None) or by_place.get(place)
        if name is None:
            name = name_of(re.split(r"[./]", place.rstrip("/"))[-1], {each.casefold() for each in places})
        by_place[place] = name
        targets.setdefault(name, []).append((execution, text))
        places.setdefault(name, set()).update(known)
    return targets


def _renamed(
    query: exp.Query, execution: Execution, owner: Callable[[Read | Write], str | None]
) -> tuple[str, tuple[str, ...]]:
    """The query over the draft's names, and the tables that have none: found by name, else by what was read."""
    query = query.copy()
    local = {cte.alias.casefold() for cte in query.find_all(exp.CTE)}
    refs = [t for t in query.find_all(exp.Table) if t.name and (t.db or t.name.casefold() not in local)]
    read = {name for relation in execution.reads if (name := owner(relation)) is not None}
    names: dict[str, str | None] = {}
    for ref in refs:
        spelled = _spelled(ref)
        like = [name for name in read if name.casefold() == ref.name.casefold()]
        direct = Read(ref.name, None) if "/" in ref.name else Read(None, spelled)  # as in parquet.`/data/orders`
        names[spelled] = owner(direct) or (like[0] if like else None)
    without = [spelled for spelled, name in names.items() if name is None]
    rest = read - set(names.values())
    if len(without) == len(rest) == 1:  # a temporary view over the one table that is left
        names[without[0]] = rest.pop()
    for ref in refs:
        name = names[_spelled(ref)]
        if name is not None:
            alias = ref.alias or (ref.name if ref.name.casefold() != name.casefold() else "")
            new = exp.table_(table_name(name), alias=alias or None)
            ref.set("this", new.this)
            ref.set("db", None)
            ref.set("catalog", None)
            if alias and not ref.alias:
                ref.set("alias", new.args["alias"])
    return str(query.sql(dialect="spark", pretty=True)), tuple(s for s, name in names.items() if name is None)


def table_name(name: str) -> exp.Identifier:
    """A table's name in SQL, in quotes where it is a word of the language.

    >>> table_name("orders").sql("spark"), table_name("select").sql("spark")
    ('orders', '`select`')
    """
    try:
        read = sqlglot.parse_one(f"SELECT 1 FROM {name} WHERE 1 = 1", read="spark").find(exp.Table)
    except SqlglotError:
        read = None
    return exp.to_identifier(name, quoted=read is None or read.name != name)


def _asked(
    runs: Sequence[_Run],
    taken: Collection[str],
    owner: Callable[[Read | Write], str | None],
    stored: set[str],
    days: float,
) -> list[SeenView]:
    """The queries that were asked again and again; one of a single view's rows is a read of that view."""
    groups: dict[str, list[_Run]] = {}
    for execution, text in runs:
        if text.asks and not execution.writes and execution.reads:
            groups.setdefault(str(text.query.sql(dialect="spark")), []).append((execution, text))
    found: list[SeenView] = []
    for asked in sorted(groups.values(), key=lambda asked: -sum(run.seconds or 0.0 for run, _ in asked)):
        newest, text = asked[-1]
        read = {owner(relation) for relation in newest.reads}
        if len(found) >= _MOST or len(asked) < _AGAIN or (len(read) == 1 and read <= stored):
            continue
        sql, unknown = _renamed(text.query, newest, owner)
        times = tuple(sorted(run.started for run, _ in asked))
        name = name_of(f"query_{len(found) + 1}", {each.casefold() for each in taken})
        seconds = sum(run.seconds or 0.0 for run, _ in asked) / days
        found.append(SeenView(name, sql, QueryHistory(times=times), seconds, len(asked) / days, None, unknown))
    return found
