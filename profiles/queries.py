"""How often tables and stored views are read, when, and with which filters, from what Spark's event logs show."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiles.eventlogs import Execution
from profiles.plans import Read, Write, local_path
from profiles.statistics import Estimate
from profiles.units import SECONDS_A_DAY

Place = str | Path
"""A folder, or a table's name in the catalog."""


@dataclass(frozen=True)
class QueryHistory:
    """Reads as observed; `per_day` is None where nothing was."""

    per_day: Estimate | None = None
    times: tuple[float, ...] = ()
    """When each read started, in seconds since the epoch."""
    filters: tuple[tuple[str, float], ...] = ()
    """Each filter seen and the share of the reads that had it, most frequent first; "" is no filter."""


def query_history(executions: Sequence[Execution], places: Mapping[str, Collection[Place]]) -> dict[str, QueryHistory]:
    """The reads of each view, whose stored rows lie in the given folders or catalog tables.

    One execution is one read, however often it scans; to read a view in order to write another table counts, to
    change the view itself does not. n reads in a span could as well have been n ± 2√n.
    """
    if not executions:
        return {view: QueryHistory() for view in places}
    owner = owner_of(executions, places)
    times: dict[str, list[float]] = {view: [] for view in places}
    filters: dict[str, Counter[str]] = {view: Counter() for view in places}
    for execution in sorted(executions, key=lambda e: e.started):
        if execution.succeeded:
            own = {owner(write) for write in execution.writes}
            seen = {(view, " AND ".join(r.filters)): None for r in execution.reads if (view := owner(r)) is not None}
            for view in dict.fromkeys(view for view, _ in seen if view not in own):
                times[view].append(execution.started)
                filters[view].update(text for v, text in seen if v == view)
    days = days_of(executions)
    return {
        view: QueryHistory(
            _rate(len(found), days),
            tuple(found),
            tuple((text, count / len(found)) for text, count in filters[view].most_common()),
        )
        for view, found in times.items()
    }


def observed_reads(executions: Sequence[Execution], views: Iterable[str], warehouse: Path) -> dict[str, QueryHistory]:
    """The reads of views of a workload that were seen: of their folders in the warehouse, or of tables of their names.

    A view of which none was seen is missing: it may not have been stored then.
    """
    found = query_history(executions, {view: (warehouse / view, view) for view in views})
    return {view: history for view, history in found.items() if history.times}


def days_of(executions: Sequence[Execution]) -> float:
    """The time that the executions span, in days."""
    first = min(e.started for e in executions)
    return (max(e.started + (e.seconds or 0.0) for e in executions) - first) / SECONDS_A_DAY


def _rate(count: int, days: float) -> Estimate:
    """Events a day; less than a day is no measure of one, and nothing seen may still be three that were missed."""
    noise = 2 * count**0.5
    low, high = (max(count - noise, 0.25), count + noise) if count else (0.0, 3.0)
    if days >= 1:
        return Estimate(count / days, low / days, high / days, "measured")
    return Estimate(float(count), low, high * 10, "derived")


def owner_of(
    executions: Sequence[Execution], places: Mapping[str, Collection[Place]]
) -> Callable[[Read | Write], str | None]:
    """Says to which of the named things a scan or a write belongs: by its folder, one above it, or its table.

    A table and a folder that Spark once named together are the same place.
    """
    known = {_key(place): name for name, given in places.items() for place in given}

    def by_path(path: str | None) -> str | None:
        while path:
            if path in known:
                return known[path]
            path = path.rpartition("/")[0]
        return None

    def owner(relation: Read | Write) -> str | None:
        named = None if relation.table is None else known.get(_key(relation.table))
        return named or by_path(relation.path)

    for execution in executions:
        for relation in execution.relations:
            if relation.path and relation.table and (name := owner(relation)) is not None:
                known.setdefault(_key(relation.table), name)
                if by_path(relation.path) is None:
                    known[relation.path] = name
    return owner


def _key(place: Place) -> str:
    """A folder without its scheme, or a table's name as the catalog compares it.

    >>> _key("file:/data/orders/"), _key("Sales.Orders"), _key("orders"), _key("spark_catalog.default.orders")
    ('/data/orders', 'sales.orders', 'default.orders', 'default.orders')
    """
    if isinstance(place, Path):
        return os.path.abspath(place)  # as Hadoop does, `..` is followed and a symbolic link is not
    if "/" in place:
        path = local_path(place)
        return path if ":" in path else os.path.abspath(path)
    name = place.replace("`", "").casefold().removeprefix("spark_catalog.")
    return name if "." in name else f"default.{name}"
