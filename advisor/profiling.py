"""Statistics of a workload's tables: what logs and declarations tell, and what an engine has sampled of the rows.

Samples are kept beside the workload; they serve as long as they hold what the views ask for and a table has kept its
number of rows within a tenth. Else the engine looks again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from profiles.requests import Request, requests_of
from profiles.samples import Sampled, aged, merge, outdated, read_samples, write_samples
from profiles.statistics import TableStatistics
from profiles.workload import Workload
from views.definition import Definition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROWN = 1.1


@dataclass(frozen=True)
class Profiled:
    """The statistics, and the tables whose rows should have been sampled and were not."""

    statistics: Mapping[str, TableStatistics]
    missing: tuple[str, ...] = ()
    sampled: Mapping[str, float] = field(default_factory=dict)
    """The tables whose rows were looked at now, and at how many of them."""
    seconds: float = 0.0
    """What that took."""


def profile(
    workload: Workload,
    statistics: Mapping[str, TableStatistics],
    definitions: Mapping[str, Definition],
    folder: Path,
    engine: Callable[[], SparkSession] | None,
    budget_rows: int | None,
    progress: Callable[[str], None],
) -> Profiled:
    """The statistics with what is sampled of the rows; without an engine, with what was sampled earlier."""
    places = _places(workload)
    requests = requests_of(definitions, statistics, places, _filters(workload)) if places else []
    samples = read_samples(folder) if requests else {}
    usable = _usable(samples, requests, statistics)
    todo = outdated(usable, requests)
    looked_at, seconds = dict[str, float](), 0.0
    if todo and engine is not None:
        from profiles.sampling import BUDGET_ROWS, sample

        session, began = engine(), time.perf_counter()
        found = sample(session, todo, BUDGET_ROWS if budget_rows is None else budget_rows, progress)
        write_samples(folder, {**samples, **found})
        usable, todo = {**usable, **found}, []
        looked_at = {name: float(each.looked_at) for name, each in found.items()}
        seconds = time.perf_counter() - began
    known = {name: merge(table, usable[name]) if name in usable else table for name, table in statistics.items()}
    return Profiled(known, tuple(request.table for request in todo), looked_at, seconds)


def _places(workload: Workload) -> dict[str, Path | str]:
    """Where the rows of tables lie that an engine can read as they are."""
    paths = {name: path for name in workload.tables if (path := workload.path_of(name)) is not None}
    if not paths:
        return {}
    from storage.log import is_delta  # which loads deltalake: only where there is data

    return {
        name: path for name, path in paths.items() if is_delta(path) or (path.is_dir() and any(path.rglob("*.parquet")))
    }


def _filters(workload: Workload) -> dict[str, list[str]]:
    return {
        name: [view.queries.filter]
        for name, view in workload.views.items()
        if view.queries is not None and view.queries.filter is not None
    }


def _usable(
    samples: Mapping[str, Sampled], requests: Sequence[Request], statistics: Mapping[str, TableStatistics]
) -> dict[str, Sampled]:
    """Earlier samples as if they were of today's versions, with wider ranges, where the tables are about as large."""
    versions = {request.table: request.version for request in requests}
    found = {}
    for name, version in versions.items():
        earlier = samples.get(name)
        older = None if earlier is None else aged(earlier, version, statistics[name].rows)
        if earlier is not None and older is not None:
            then, now = max(earlier.rows.value, 1.0), max(statistics[name].rows.value, 1.0)
            if max(then / now, now / then) <= _GROWN:
                found[name] = replace(
                    older,
                    version=version,
                    against={other: versions.get(other, v) for other, v in older.against.items()},
                )
    return found
