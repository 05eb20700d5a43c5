"""The runs that calibration measures: views over two synthetic tables, really kept on an engine.

What a run should cost is asked of the same `SparkModel` that prices workloads, over statistics of these tables that are
exact because the tables were generated. So coefficients are fitted to the quantities that they will be multiplied with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from advisor.spark_model import SparkModel
from costmodels import spark as pricing
from costmodels.axis import CENTRE, constant
from costmodels.spark import Work
from executors.keeping import Keeping
from executors.runner import Runner
from profiles.coefficients import MachineProfile
from profiles.definitions import definitions_of
from profiles.sources import all_statistics
from profiles.statistics import Estimate, TableStatistics
from profiles.workload import Workload, from_values
from storage.staging import Change
from storage.table import Table, convert_parquet
from views.definition import Definition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from views.rules import Expr

Keys = np.ndarray[Any, np.dtype[np.int64]]

ORDERS, LINES_EACH = 70_000, 4
CUSTOMERS, PARTS, DAYS = 2_000, 5_000, 365
FLAGS = ("A", "F", "N", "O", "R", "T", "X")
FILES = {"orders": 12, "lines": 6}
CHANGED = (("lines", 10), ("orders", 1_000), ("lines", 20_000))
"""Which table a transaction changes, and how many rows in all; lines come and go with their orders."""
ROUNDS = 3
BUDGET_SECONDS = 54.0
"""After the first round nothing is begun that would not end by then, counted from the start of the engine."""
STEPS = 2 + ROUNDS * (len(CHANGED) + 2)
"""How many times `measure` reports at most."""

_DECLARED: Mapping[str, Mapping[str, Any]] = {
    "orders": {"key": ["o_key"]},
    "lines": {"key": ["l_order", "l_number"], "foreign_keys": {"l_order": "orders.o_key"}},
}
_DISTINCT: Mapping[str, Mapping[str, float]] = {
    "orders": {"o_customer": CUSTOMERS, "o_day": DAYS},
    "lines": {"l_number": LINES_EACH + 1, "l_part": PARTS, "l_flag": len(FLAGS)},
}
"""By table and column; that of a key is its number of rows."""
_JOINED = "FROM orders JOIN lines ON l_order = o_key"
_VIEWS: Mapping[str, tuple[str, str]] = {
    "one_flag": ("SELECT l_order, l_number, l_amount FROM lines WHERE l_flag = 'F'", "l_order < 2000"),
    "by_order": ("SELECT l_order, SUM(l_amount) AS total FROM lines GROUP BY l_order", "l_order = 777"),
    "extremes": (
        "SELECT l_part, MIN(l_amount) AS low, MAX(l_amount) AS high FROM lines GROUP BY l_part",
        "l_part < 50",
    ),
    "early": (f"SELECT o_key, l_number, o_customer, o_note, l_amount {_JOINED} WHERE o_day < 73", "o_key < 2000"),
    "by_customer": (
        f"SELECT o_customer, SUM(l_amount) AS total, COUNT(*) AS n {_JOINED} GROUP BY o_customer",
        "o_customer = 7",
    ),
}
"""By name: what it is, and the filter of a query on it."""


@dataclass(frozen=True)
class Run:
    """One thing that was done to one view: what the cost model says of it, and how long it took."""

    what: str
    view: str
    quantities: Mapping[str, float]
    seconds: float


def measure(
    session: SparkSession,
    folder: Path,
    machine: MachineProfile,
    *,
    scale: float = 1.0,
    step: Callable[[str], None],
    spent_seconds: float = 0.0,
) -> list[Run]:
    """Make the tables in a folder, keep the views over them through some changes, and time each run.

    What warms the engine up is not counted, and of several like runs the median is kept. `scale` multiplies the tables,
    the changes and the time that this may take; one round is always run.
    """
    started = time.perf_counter() - spent_seconds
    bench = Bench(session, folder, machine, scale)
    step(f"made tables of {bench.keys:,} orders and {bench.keys * LINES_EACH:,} lines")
    bench.refreshes(*CHANGED[1])
    step("built each view and refreshed it once")
    parts: list[tuple[str, Callable[[], list[Run]]]] = [("rebuilt each view", bench.builds)]
    for table, rows in CHANGED:
        what = f"refreshed each view after a change of {bench.scaled(rows):,} rows"
        parts.append((what, partial(bench.refreshes, table, rows)))
    parts.append(("read each view, stored and virtual, whole and in part", bench.reads))
    found: list[Run] = []
    took: dict[str, float] = {}
    for what, part in parts * ROUNDS:
        begun = time.perf_counter()
        if begun - started + took.get(what, 0.0) > BUDGET_SECONDS * scale and len(took) == len(parts):
            break
        found += part()
        took[what] = time.perf_counter() - begun
        step(what)
    return medians(found)


def medians(runs: Sequence[Run]) -> list[Run]:
    """Of the runs that did the same to the same view, the one in the middle; of two the faster."""
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.what, run.view), []).append(run)
    return [sorted(each, key=lambda run: run.seconds)[(len(each) - 1) // 2] for each in alike.values()]


@dataclass
class Bench:
    """The tables in a folder, and the views over them, kept by counting and a second time by recompute."""

    session: SparkSession
    folder: Path
    machine: MachineProfile
    scale: float
    _taken: int = 0
    _turn: int = 0
    _full: Runner = field(init=False)
    _incremental: Runner = field(init=False)

    def __post_init__(self) -> None:
        for name, rows in (("orders", _orders(self._all)), ("lines", _lines(self._all))):
            _store(rows, self.folder / name, FILES[name])
        self.next_key = self.keys
        self.shuffled = np.random.default_rng(0).permutation(self.keys)
        tables = {
            name: Table(self.session, self.folder / name, name=name, **declared) for name, declared in _DECLARED.items()
        }
        self._full, self._incremental = (
            Runner(
                self.session,
                self.definitions,
                tables,
                self.folder / algorithm,
                dict.fromkeys(_VIEWS, Keeping("deferred", algorithm)),
            )
            for algorithm in ("recompute", "counting")
        )
        for view in _VIEWS:
            self._incremental.build(view)

    @property
    def keys(self) -> int:
        """How many orders there are."""
        return self.scaled(ORDERS)

    @property
    def _all(self) -> Keys:
        return np.arange(self.keys)

    def scaled(self, rows: int) -> int:
        return max(int(rows * self.scale), 2 * (LINES_EACH + 1))

    # What the cost model knows

    @cached_property
    def workload(self) -> Workload:
        updates = {"per_day": 1, "inserts": 0.5, "deletes": 0.5}
        tables = {name: {"path": name, **declared, "updates": updates} for name, declared in _DECLARED.items()}
        views = {
            name: {"sql": sql, "queries": {"per_day": 1, "filter": where}} for name, (sql, where) in _VIEWS.items()
        }
        return from_values({"name": "calibration", "tables": tables, "views": views}, self.folder)

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        return definitions_of(self.workload, all_statistics(self.workload))

    def model(self, together: bool = True) -> SparkModel:
        """The prices of the tables as they are now; `together` says that lines come and go with their orders."""
        known = {name: _exact(table, self.keys) for name, table in all_statistics(self.workload).items()}
        if not together:
            known["orders"] = replace(known["orders"], updates_per_day=Estimate.of(0.0, "measured"))
        return SparkModel(self.workload, known, self.definitions, self.machine)

    # What is run

    def builds(self) -> list[Run]:
        """Store each view in full, as a full refresh does."""
        model, found = self.model(), []
        self._full.look()
        for view in self._turned():
            seconds = _timed(lambda view=view: self._full.build(view))  # type: ignore[misc]
            found.append(Run("rebuild", view, _amounts(model.view(view, ()).rebuild("recompute")), seconds))
        return found

    def refreshes(self, table: str, rows: int) -> list[Run]:
        """Change a table, and bring each view up to date that reads it."""
        changes = self._change(table, self.scaled(rows))
        tuples = {name: constant(new.num_rows + old.num_rows) for name, (new, old) in changes.items()}
        model, found = self.model(together=table == "orders"), []
        self._incremental.update({name: Change(*parts) for name, parts in changes.items()})
        self._incremental.look()
        for view in self._turned():
            steps, _ = model.view(view, ()).maintain("counting", tuples)
            seconds = _timed(lambda view=view: self._incremental.refresh(view))  # type: ignore[misc]
            found.append(Run(f"refresh after {rows:,} rows of {table}", view, _amounts(steps), seconds))
        return found

    def reads(self) -> list[Run]:
        """Read each view, stored and virtual, in full and by its filter, with all rows brought to the driver."""
        model, found = self.model(), []
        self._incremental.look()
        for view in self._turned():
            of = model.view(view, ())
            assert of.program is not None
            ways: list[tuple[str, Callable[[], DataFrame], Work]] = []
            for part, where in (("all", None), ("a part", of.where)):
                share = of.fraction if where is not None else constant(1.0)
                (stored,) = self._incremental.plan(view).answer
                ways.append(
                    (
                        f"read {part}, stored",
                        lambda stored=stored, where=where: self._incremental.answer(stored, where),  # type: ignore[misc]
                        pricing.read(of.layout, of.relation, where, share),
                    )
                )
                ways.append(
                    (
                        f"read {part}, virtual",
                        lambda view=view, where=where: self._evaluate(view, where),  # type: ignore[misc]
                        of.evaluate(of.program, where),
                    )
                )
            for what, rows, work in ways:
                began = time.perf_counter()
                number = rows().toArrow().num_rows
                seconds = time.perf_counter() - began
                found.append(Run(what, view, _amounts([(what, work)], driver_rows=number), seconds))
        return found

    def _turned(self) -> list[str]:
        """The views, another one first each time: the first to read a new version of a table pays for opening it."""
        self._turn += 1
        first = self._turn % len(_VIEWS)
        return [*_VIEWS][first:] + [*_VIEWS][:first]

    def _evaluate(self, view: str, where: Expr | None) -> DataFrame:
        return self._incremental.evaluate(view, where)

    def _change(self, table: str, rows: int) -> dict[str, tuple[pa.Table, pa.Table]]:
        """So many rows, half of them new and half of them gone; every order is changed once only."""
        if table == "orders":
            count = max(rows // (LINES_EACH + 1) // 2, 1)
            old, new = self._next(count), np.arange(self.next_key, self.next_key + count)
            self.next_key += count
            return {"orders": (_orders(new), _orders(old)), "lines": (_lines(new), _lines(old))}
        count = max(rows // 2, 1)
        come, go = self._next(count), self._next(count)
        return {"lines": (_lines(come, [LINES_EACH]), _lines(go, [LINES_EACH - 1]))}

    def _next(self, count: int) -> Keys:
        self._taken += count
        return self.shuffled[self._taken - count : self._taken]


def _timed(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def _amounts(steps: Sequence[tuple[str, Work]], **more: float) -> dict[str, float]:
    """The quantities of some steps, as estimated, and some more."""
    whole = Work()
    for _, work in steps:
        whole.include(work)
    whole.add(**more)
    return {name: float(each[CENTRE]) for name, each in whole.quantities.items() if each[CENTRE] > 0}


def _exact(table: TableStatistics, orders: int) -> TableStatistics:
    """The statistics of a table with what is known because it was generated."""
    known: dict[str, float] = {**_DISTINCT[table.name], "o_key": orders, "l_order": orders}
    details = {
        name: replace(column, distinct=Estimate.of(known.get(name, table.rows.value), "measured"))
        for name, column in table.details.items()
    }
    return replace(table, details=details)


# The tables: every row follows from its key, so that a row to delete need not be looked up.


def _orders(keys: Keys) -> pa.Table:
    return pa.table(
        {
            "o_key": keys,
            "o_customer": _scattered(keys, 1, CUSTOMERS),
            "o_day": _scattered(keys, 2, DAYS),
            "o_note": [f"order {key} of the calibration" for key in keys.tolist()],
        }
    )


def _lines(keys: Keys, numbers: Sequence[int] = range(LINES_EACH)) -> pa.Table:
    orders, number = np.repeat(keys, len(numbers)), np.tile(np.asarray(numbers), len(keys))
    line = orders * (LINES_EACH + 1) + number
    return pa.table(
        {
            "l_order": orders,
            "l_number": number,
            "l_part": _scattered(line, 3, PARTS),
            "l_amount": _scattered(line, 4, 100_000),
            "l_flag": np.asarray(FLAGS)[_scattered(line, 5, len(FLAGS))],
        }
    )


def _scattered(keys: Keys, salt: int, values: int) -> Keys:
    """One of so many values for each key, all of them about as often (Knuth's multiplicative hash)."""
    mixed = (keys.astype(np.uint64) * np.uint64(2_654_435_761) + np.uint64(salt * 40_503)) & np.uint64(0xFFFFFFFF)
    mixed = (mixed ^ (mixed >> np.uint64(15))) * np.uint64(2_246_822_519) & np.uint64(0xFFFFFFFF)
    return ((mixed ^ (mixed >> np.uint64(13))) % np.uint64(values)).astype(np.int64)


def _store(rows: pa.Table, folder: Path, files: int) -> None:
    """A Delta table of so many files, each with its own range of keys."""
    folder.mkdir()
    ends = np.linspace(0, rows.num_rows, files + 1).astype(int).tolist()
    for number, (low, high) in enumerate(pairwise(ends)):
        pq.write_table(rows.slice(low, high - low), folder / f"part-{number}.parquet", write_page_index=True)
    convert_parquet(folder)
