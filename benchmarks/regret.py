"""How good the recommendation is: the way it chooses against the way that is measured to be the cheapest.

    python benchmarks/regret.py [--engine spark|sail] [--scale 1] [--minutes 40]     measures what is not measured yet
    python benchmarks/regret.py --report                                             prices it, writes docs/regret.md

Views of five shapes over tables of two sizes: Hanson's three models (a selection, a join of two, an aggregate), a join
of three, and an aggregate over a join; each selecting a thousandth, a tenth or all of the rows (f). Every distinct
operation on them is really done and repeated: a read of the virtual and of the stored view (one key, a tenth, all:
f_v), a rebuild, and a refresh after so many transactions of so many rows (l), each of which modifies rows anywhere in
the largest table. From these operations a day of 100 reads and any number of updates is put together for each way to
keep a view; what that arithmetic gives is held against workloads replayed from beginning to end.

The coefficients are calibrated on one half of the views and judged on the other, both ways round. Results are kept per
operation in benchmarks/results, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from advisor.api import Advisor
from advisor.offers import cheapest
from advisor.spark_model import SparkModel
from advisor.view_offers import Demand
from costmodels.axis import CENTRE, constant
from costmodels.calibration import Fit, Observation, fit
from executors.keeping import Keeping
from executors.reading import read
from executors.runner import Runner
from profiles.coefficients import SHIPPED, MachineProfile, this_machine
from profiles.statistics import Estimate, TableStatistics
from profiles.workload import Workload, from_values
from storage.engine import open_session
from storage.staging import Change
from storage.table import Table, convert_parquet
from storage.updates import update
from views.filters import parse_filter

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
REPORT = ROOT / "docs" / "regret.md"

SIZES = {"small": 100_000, "large": 3_000_000}
FILES = {"small": 4, "large": 24}
GROUPS, ZONES = 1_000, 25
FRACTIONS = {"thousandth": 0.001, "tenth": 0.1, "all": 1.0}
SHAPES = ("select", "join", "three", "total", "grouped")
READS = ("key", "tenth", "all")
ROWS = (1, 100, 20_000)
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
QUERIES = 100.0
"""Reads a day; the updates a day follow from P."""
BATCHES = (1, 2, 4, 20)
"""Transactions that one refresh meets: 1/(1 - P) on average, for P in between those by the straight line."""
SEQUENCE = {1: (1, 1, 1, 1, 2, 2, 2, 4, 4, 4, 20, 20), 20_000: (1, 1, 1, 2, 2, 4, 4)}
"""The batches that are revealed to a view one after the other, by the rows of a transaction; the first warms it up."""
REPEATS, ENOUGH_SECONDS = 4, 8.0
"""An operation is repeated so often, or until it took so long in all, twice at least."""
REPLAYS = (
    ("select", "tenth", "small", "key", 100, 0.25),
    ("join", "all", "large", "key", 100, 0.5),
    ("three", "tenth", "large", "tenth", 1, 0.5),
    ("total", "all", "large", "all", 100, 0.25),
    ("grouped", "all", "large", "key", 1, 0.75),
    ("grouped", "tenth", "small", "all", 100, 0.5),
    ("select", "thousandth", "large", "all", 1, 0.05),
)
REPLAYED = 24
"""Events of a replayed workload."""
VIRTUAL = "query_modification"
CANDIDATES = (VIRTUAL, "immediate/counting", "immediate/recompute", "deferred/counting", "deferred/recompute")


# The tables and views


@dataclass(frozen=True)
class View:
    """One view of the grid, by its shape and the part of its tables that it selects."""

    shape: str
    fraction: str
    size: str

    @property
    def name(self) -> str:
        return f"{self.shape}_{self.fraction}"

    @property
    def label(self) -> str:
        return f"{self.size} {self.name}"

    @property
    def sql(self) -> str:
        part = FRACTIONS[self.fraction]
        where = "" if part == 1 else f" WHERE s < {part * 1000:.0f}"
        joined = "FROM r1 JOIN r2 ON d = d2"
        match self.shape:
            case "select":
                return f"SELECT k, d, a, note FROM r1{where}"
            case "join":
                return f"SELECT k, a, label {joined}{where}"
            case "three":
                return f"SELECT k, a, label, zone {joined} JOIN r3 ON g = g3{where}"
            case "total":
                return f"SELECT SUM(a) AS total, COUNT(*) AS n FROM r1{where}"
            case _:
                return f"SELECT g, SUM(a) AS total, COUNT(*) AS n {joined}{where} GROUP BY g"

    @property
    def reads(self) -> tuple[str, ...]:
        return ("all",) if self.shape == "total" else READS

    def where(self, part: str, rows: int) -> str | None:
        if part == "all":
            return None
        if self.shape == "grouped":
            return "g = 7" if part == "key" else f"g < {GROUPS // 10}"
        return f"k = {rows // 2}" if part == "key" else f"k >= {rows * 45 // 100} AND k < {rows * 55 // 100}"


VIEWS = [View(*each) for each in product(SHAPES, FRACTIONS, SIZES)]


@dataclass(frozen=True)
class Case:
    """One workload: a view, how it is read, the rows of an update, and the probability that an operation is one."""

    view: View
    part: str
    rows: int
    probability: float

    @property
    def updates(self) -> float:
        return QUERIES * self.probability / (1 - self.probability)

    @property
    def batch(self) -> float:
        """Transactions that a refresh meets, where only reads that find something refresh."""
        return 1 / (1 - self.probability)

    @property
    def refreshes(self) -> float:
        return self.updates * QUERIES / (self.updates + QUERIES)


def batches_of(rows: int, table_rows: int) -> tuple[int, ...]:
    """The batches that are measured: none changes more than half of the table."""
    sequence = SEQUENCE[20_000 if rows >= 20_000 else 1]
    return tuple(batch for batch in sequence if batch * rows <= table_rows // 2)


def cases(scale: float) -> Iterator[Case]:
    for view, rows, probability in product(VIEWS, ROWS, PROBABILITIES):
        known = batches_of(rows, int(SIZES[view.size] * scale))
        if known and 1 / (1 - probability) <= max(known) * 1.001:
            for part in view.reads:
                yield Case(view, part, rows, probability)


def r1(keys: np.ndarray[Any, Any], parents: int, age: int = 0) -> pa.Table:
    """Rows that follow from their keys, and from how often they were modified."""
    now = mixed(keys + 7_919 * age)
    return pa.table(
        {
            "k": keys,
            "s": (now % 1000).astype(np.int32),
            "d": mixed(keys) // 1000 % parents,
            "a": now % 9_973,
            "note": pa.array(keys % 100_000).cast(pa.string()),
        }
    )


def mixed(keys: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers that look drawn, each from its key."""
    found = (keys.astype(np.uint64) * np.uint64(2_654_435_761)) & np.uint64(0xFFFFFFFF)
    found = ((found ^ (found >> np.uint64(15))) * np.uint64(2_246_822_519)) & np.uint64(0xFFFFFFFF)
    return (found ^ (found >> np.uint64(13))).astype(np.int64)


def make_tables(folder: Path, rows: int, files: int) -> None:
    """The three base tables of one size, as Delta tables."""
    parents = max(rows // 10, 1)
    k2 = np.arange(parents)
    tables = {
        "r1": (r1(np.arange(rows), parents), files),
        "r2": (
            pa.table({"d2": k2, "g": k2 * 7 % GROUPS, "label": [f"parent {key}" for key in k2]}),
            max(files // 6, 1),
        ),
        "r3": (pa.table({"g3": np.arange(GROUPS), "zone": [f"zone {g % ZONES}" for g in range(GROUPS)]}), 1),
    }
    for name, (whole, number) in tables.items():
        (folder / name).mkdir(parents=True)
        ends = np.linspace(0, whole.num_rows, number + 1).astype(int).tolist()
        for part, (low, high) in enumerate(pairwise(ends)):
            pq.write_table(whole.slice(low, high - low), folder / name / f"part-{part}.parquet", write_page_index=True)
        convert_parquet(folder / name)


KEYS = {"r1": ("k",), "r2": ("d2",), "r3": ("g3",)}
FOREIGN_KEYS = {"r1": {"d": "r2.d2"}, "r2": {"g": "r3.g3"}, "r3": {}}


# Measuring


@dataclass
class Results:
    """What was measured so far, in a file that is written after every operation."""

    path: Path
    operations: dict[str, list[float]] = field(default_factory=dict)
    fetched: dict[str, int] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: str, scale: float) -> Results:
        name = f"regret-{engine}{'' if scale == 1 else f'-{scale:g}'}.json"
        found = cls((RESULTS if scale == 1 else ROOT / "target") / name)
        if found.path.exists():
            content = json.loads(found.path.read_text(encoding="utf-8"))
            found.operations, found.fetched, found.meta = (content[n] for n in ("operations", "fetched", "meta"))
        return found

    def save(self) -> None:
        operations = {key: [float(f"{s:.4g}") for s in each] for key, each in sorted(self.operations.items())}
        content = {"meta": self.meta, "fetched": dict(sorted(self.fetched.items())), "operations": operations}
        waiting = self.path.with_suffix(".tmp")
        waiting.parent.mkdir(parents=True, exist_ok=True)
        waiting.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        waiting.replace(self.path)

    def seconds(self, key: str) -> float:
        return statistics.median(self.operations[key])


def read_key(view: View, part: str, how: str) -> str:
    return f"{view.label} | read {part}, {how}"


def rebuild_key(view: View) -> str:
    return f"{view.label} | rebuild"


def refresh_key(view: View, rows: int, batch: int) -> str:
    return f"{view.label} | refresh after {batch} × {rows} rows"


def replay_key(number: int, candidate: str) -> str:
    return f"replay {number} | {candidate}"


@dataclass
class Bench:
    """The tables in a folder, and what is measured on them."""

    spark: Any
    data: Path
    scale: float
    results: Results
    deadline: float
    clock: Callable[[], float] = time.perf_counter

    def rows(self, size: str) -> int:
        return int(SIZES[size] * self.scale)

    def base(self, size: str) -> Path:
        """The tables of one size, made when they are first asked for."""
        folder = self.data / size
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            make_tables(folder / "tables", self.rows(size), FILES[size])
            (folder / "done").touch()
        return folder / "tables"

    def history(self, size: str, rows: int) -> Path:
        """Copies of the tables after all transactions of so many rows, whose commits wait to be revealed one by one."""
        folder = self.data / f"{size}_{rows}"
        if (folder / "done").exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.base(size), folder / "tables", copy_function=os.link)
        table = Table(self.spark, folder / "tables" / "r1", name="r1", key=KEYS["r1"])
        whole = self.rows(size)
        parents, shuffled = max(whole // 10, 1), np.random.default_rng(rows).permutation(whole)
        count = max(sum(batches_of(rows, whole)), REPLAYED) if batches_of(rows, whole) else 0
        for number in range(count):
            turn, place = divmod(number * rows, whole - rows)
            keys = np.sort(shuffled[place : place + rows])
            inserts, deletes = r1(keys, parents, turn + number + 1), pa.table({"k": keys})
            update({"r1": table}, {"r1": Change(inserts, deletes)}, intents_folder=folder / "intents")
            log = folder / "tables" / "r1" / "_delta_log"
            (folder / "later").mkdir(exist_ok=True)
            shutil.copy(max(log.glob("*.json")), folder / "later" / f"{number:04}.json")
        for number in range(count):
            name = f"{number + 1:020}.json"
            (folder / "tables" / "r1" / "_delta_log" / name).unlink(missing_ok=True)
        for left in (folder / "tables" / "r1" / "_delta_log").glob("*checkpoint*"):
            left.unlink()
        (folder / "done").touch()
        return folder

    def runner(self, tables: Path, size: str, view: View, candidate: str, warehouse: Path) -> Runner:
        """One view over tables in a folder, kept in one way."""
        opened = {
            name: Table(self.spark, tables / name, name=name, key=KEYS[name], foreign_keys=FOREIGN_KEYS[name])
            for name in KEYS
        }
        workload = workload_of(self.base(size), [view], self.rows(size))
        strategy, _, algorithm = candidate.partition("/")
        keeping = Keeping() if candidate == VIRTUAL else Keeping(strategy, algorithm)  # type: ignore[arg-type]
        definitions = Advisor(workload).definitions
        name = next(iter(definitions))
        return Runner(self.spark, {name: definitions[name]}, opened, warehouse, {name: keeping})

    def where(self, runner: Runner, view: View, part: str) -> Any:
        """The condition that reads of a part of a view put on it."""
        (definition,) = runner.definitions.values()
        text = view.where(part, self.rows(view.size))
        return None if text is None else parse_filter(text, definition.columns, view.name)

    def measure(self) -> bool:
        """Do everything that is not done yet, in an order that spreads every shape over the whole time; False when
        the time was up before."""
        units: list[tuple[Any, ...]] = [("reads", view) for view in VIEWS]
        units += [("refreshes", view, rows) for view, rows in product(VIEWS, ROWS)]
        units += [("replay", number) for number in range(len(REPLAYS))]
        random.Random(0).shuffle(units)
        todo = [unit for unit in units if not self.is_done(unit)]
        if todo:
            for size in SIZES:
                statistics_of(self.base(size), size, self.rows(size), self.spark)  # sampled once, and kept there
            self.warm_up()
        began = time.perf_counter()
        for done, (what, *rest) in enumerate(todo):
            if time.perf_counter() > self.deadline:
                print(f"the time is up: {len(todo) - done} of {len(units)} units are left, run it again", flush=True)
                return False
            getattr(self, what)(*rest)
            left = (time.perf_counter() - began) / (done + 1) * (len(todo) - done - 1)
            print(f"{done + 1}/{len(todo)} {self.told(what, *rest)}: about {left / 60:.0f} minutes left", flush=True)
        return True

    def told(self, what: str, *rest: Any) -> str:
        return " ".join([what, *(each.label if isinstance(each, View) else str(each) for each in rest)])

    def is_done(self, unit: tuple[Any, ...]) -> bool:
        match unit:
            case ("reads", view):
                keys = [read_key(view, part, how) for part in view.reads for how in ("stored", "virtual")]
                keys.append(rebuild_key(view))
            case ("refreshes", view, rows):
                keys = [refresh_key(view, rows, batch) for batch in set(batches_of(rows, self.rows(view.size)))]
            case (_, number):
                keys = [replay_key(number, candidate) for candidate in CANDIDATES]
        return all(key in self.results.operations for key in keys)

    def warm_up(self) -> None:
        """An engine that has just started is slow at everything."""
        kept = Results(self.results.path)
        small = replace(self, results=kept)
        kept.save = lambda: None  # type: ignore[method-assign]
        for shape in SHAPES:
            small.reads(View(shape, "tenth", "small"))
            small.refreshes(View(shape, "tenth", "small"), 100)

    def reads(self, view: View) -> None:
        """Rebuild a view, and read it stored and virtual."""
        warehouse = self.data / "warehouse"
        shutil.rmtree(warehouse, ignore_errors=True)
        tables = self.base(view.size)
        stored = self.runner(tables, view.size, view, "deferred/recompute", warehouse)
        virtual = self.runner(tables, view.size, view, VIRTUAL, warehouse)
        (name,) = stored.definitions
        for runner in (stored, virtual):
            runner.look()
        self.repeat(rebuild_key(view), lambda: stored.build(name))
        # what incremental maintenance keeps is laid out by its key, which is what a read of a part profits from
        shutil.rmtree(warehouse)
        stored = self.runner(tables, view.size, view, "deferred/counting", warehouse)
        stored.look()
        stored.build(name)
        for part in view.reads:
            where = self.where(stored, view, part)
            for how, runner in (("stored", stored), ("virtual", virtual)):
                key = read_key(view, part, how)

                def one(runner: Runner = runner, where: Any = where, key: str = key) -> None:
                    self.results.fetched[key] = read(runner, name, where).rows.toArrow().num_rows

                self.repeat(key, one)
        shutil.rmtree(warehouse)

    def repeat(self, key: str, what: Any) -> None:
        """Time something some times, the first of which is not counted."""
        found: list[float] = []
        for number in range(REPEATS):
            began = self.clock()
            what()
            found.append(self.clock() - began)
            if number and sum(found) > ENOUGH_SECONDS:
                break
        self.results.operations[key] = found[1:]
        self.results.save()

    def copied(self, size: str, rows: int) -> tuple[Path, list[Path]]:
        """Fresh tables without the transactions, and the commits that are to be revealed."""
        history, folder = self.history(size, rows), self.data / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(history / "tables", folder, copy_function=os.link)
        return folder, sorted((history / "later").iterdir())

    def refreshes(self, view: View, rows: int) -> None:
        """Reveal one batch of transactions after the other, and bring the view up to date after each."""
        sequence = batches_of(rows, self.rows(view.size))
        if not sequence:
            return
        folder, later = self.copied(view.size, rows)
        warehouse = self.data / "warehouse"
        shutil.rmtree(warehouse, ignore_errors=True)
        runner = self.runner(folder, view.size, view, "deferred/counting", warehouse)
        (name,) = runner.definitions
        runner.look()
        runner.refresh(name)
        found: dict[int, list[float]] = {}
        for number, batch in enumerate(sequence):
            for commit in later[:batch]:
                os.link(commit, folder / "r1" / "_delta_log" / f"{int(commit.stem) + 1:020}.json")
            later = later[batch:]
            runner.look()
            began = self.clock()
            done = runner.refresh(name)
            seconds = self.clock() - began
            if done.ran != "counting":
                raise SystemExit(f"{view.label}: {done.ran} ran, because {done.because}")
            if number:
                found.setdefault(batch, []).append(seconds)
        if view.size == "small" and not runner.compare(name).equal:
            raise SystemExit(f"{view.label}: the refreshed view is wrong")
        for batch, seconds_of in found.items():
            self.results.operations[refresh_key(view, rows, batch)] = seconds_of
        self.results.save()
        shutil.rmtree(warehouse)

    def replay(self, number: int) -> None:
        """Updates and reads of one workload in random order, from beginning to end, under each candidate."""
        case = replay_case(number)
        if len(batches_of(case.rows, self.rows(case.view.size))) < 2:
            return
        for candidate in CANDIDATES:
            folder, later = self.copied(case.view.size, case.rows)
            warehouse = self.data / "warehouse"
            shutil.rmtree(warehouse, ignore_errors=True)
            runner = self.runner(folder, case.view.size, case.view, candidate, warehouse)
            where = self.where(runner, case.view, case.part)
            (name,) = runner.definitions
            runner.look()
            if runner.is_stored(name):
                runner.refresh(name)
            read(runner, name, where).rows.toArrow()
            took = 0.0
            for event in replayed_events(case):
                if event == "update":
                    commit = later.pop(0)
                    os.link(commit, folder / "r1" / "_delta_log" / f"{int(commit.stem) + 1:020}.json")
                runner.look()
                began = self.clock()
                if event == "read":
                    read(runner, name, where).rows.toArrow()
                elif candidate.startswith("immediate"):
                    runner.refresh(name)
                took += self.clock() - began
            self.results.operations[replay_key(number, candidate)] = [took]
            self.results.save()
        shutil.rmtree(warehouse)


def replay_case(number: int) -> Case:
    shape, fraction, size, part, rows, probability = REPLAYS[number]
    return Case(View(shape, fraction, size), part, rows, probability)


def replayed_events(case: Case) -> list[str]:
    """So many events that as large a part of them as P says are updates, in random order."""
    updates = max(1, round(REPLAYED * case.probability))
    events = ["update"] * updates + ["read"] * (REPLAYED - updates)
    random.Random(5).shuffle(events)
    return events


# Pricing


def workload_of(tables: Path, views: Iterable[View], rows: int) -> Workload:
    """Some views of one size, each once for every part of it that is read."""
    declared: dict[str, dict[str, Any]] = {
        name: {"path": str(tables / name), "key": list(KEYS[name]), "foreign_keys": dict(FOREIGN_KEYS[name])}
        for name in KEYS
    }
    declared["r1"]["updates"] = {"per_day": 1, "rows": 1, "modifies": 1}
    for name in ("r2", "r3"):
        declared[name]["updates"] = {"per_day": 0}
    known = {}
    for view in views:
        for part in view.reads:
            where = view.where(part, rows)
            queries = {"per_day": QUERIES, **({} if where is None else {"filter": where})}
            known[f"{view.name}_{part}"] = {"sql": view.sql, "queries": queries}
    return from_values({"name": "regret", "tables": declared, "views": known}, tables.parent)


def statistics_of(tables: Path, size: str, rows: int, spark: Any = None) -> tuple[Advisor, dict[str, TableStatistics]]:
    """What the advisor samples of the tables of one size."""
    advisor = Advisor(workload_of(tables, [view for view in VIEWS if view.size == size], rows), spark)
    return advisor, dict(advisor.profile())


Amounts = Mapping[str, float]
"""Quantities by name."""


@dataclass
class Prices:
    """What the cost model says of the views of one size: quantities, which coefficients then turn into seconds."""

    size: str
    tables: Path
    rows: int
    spark: Any = None

    @cached_property
    def known(self) -> tuple[Advisor, dict[str, TableStatistics]]:
        return statistics_of(self.tables, self.size, self.rows, self.spark)

    def model(self, updates: float, rows: float) -> SparkModel:
        advisor, known = self.known
        rate, size = Estimate.of(updates, "declared"), Estimate.of(rows, "declared")
        changed = {**known, "r1": replace(known["r1"], updates_per_day=rate, rows_per_update=size)}
        machine = MachineProfile("spark", this_machine(), SHIPPED["spark"], measured=True)  # only quantities are asked
        return SparkModel(advisor.workload, changed, advisor.definitions, machine)

    def operations(self, view: View) -> Iterator[tuple[str, Amounts]]:
        """Each operation on a view that is measured, with its quantities."""
        model = self.model(1, 1)
        for part in view.reads:
            mine = model.view(f"{view.name}_{part}", ())
            yield read_key(view, part, "stored"), amounts(mine.read)
            yield read_key(view, part, "virtual"), amounts(mine.virtual)
        yield rebuild_key(view), amounts(mine.rebuild("recompute"))
        for rows in ROWS:
            for batch in sorted(set(batches_of(rows, self.rows))):
                steps, _ = mine.maintain("counting", {"r1": constant(2.0 * rows * batch)})
                yield refresh_key(view, rows, batch), amounts(steps)

    def candidates(self, case: Case) -> dict[str, Amounts]:
        """The quantities of a day under each way to keep the view of a workload."""
        model = self.model(case.updates, case.rows)
        name = f"{case.view.name}_{case.part}"
        offers = model.offers(name, (), Demand(model.queries(name))).offers
        found = {}
        for candidate in CANDIDATES:
            whole: dict[str, float] = {}
            for item in offers[candidate].items:
                for quantity, amount in amounts(item.steps).items():
                    whole[quantity] = whole.get(quantity, 0.0) + amount * float(item.times[CENTRE])
            found[candidate] = whole
        return found


def amounts(steps: Iterable[tuple[str, Any]]) -> dict[str, float]:
    """The quantities of some steps, as estimated."""
    whole: dict[str, float] = {}
    for _, work in steps:
        for name, amount in work.quantities.items():
            whole[name] = whole.get(name, 0.0) + float(amount[CENTRE])
    return whole


def priced(coefficients: Amounts, quantities: Amounts) -> float:
    return sum(coefficients[name] * amount for name, amount in quantities.items())


# Judging


def measured(results: Results, case: Case, table_rows: int) -> dict[str, float]:
    """The seconds of a day under each candidate, put together from operations."""
    view = case.view
    stored, virtual = (results.seconds(read_key(view, case.part, how)) for how in ("stored", "virtual"))
    rebuild = results.seconds(rebuild_key(view))
    one, several = (refresh_seconds(results, view, case.rows, batch, table_rows) for batch in (1, case.batch))
    return {
        VIRTUAL: QUERIES * virtual,
        "immediate/counting": case.updates * one + QUERIES * stored,
        "immediate/recompute": case.updates * rebuild + QUERIES * stored,
        "deferred/counting": case.refreshes * several + QUERIES * stored,
        "deferred/recompute": case.refreshes * rebuild + QUERIES * stored,
    }


def refresh_seconds(results: Results, view: View, rows: int, batch: float, table_rows: int) -> float:
    """A refresh after so many transactions, on the straight line between the batches that were measured."""
    known = sorted(set(batches_of(rows, table_rows)))
    seconds = [results.seconds(refresh_key(view, rows, each)) for each in known]
    return float(np.interp(batch, known, seconds))


def half_of(view: View) -> int:
    """Views of either half of the grid lie beside each other like the fields of a chessboard."""
    return (SHAPES.index(view.shape) + list(FRACTIONS).index(view.fraction) + list(SIZES).index(view.size)) % 2


@dataclass(frozen=True)
class Judged:
    """One workload: what was recommended for it, and what each candidate was measured to take."""

    case: Case
    recommended: str
    seconds: Mapping[str, float]

    @property
    def best(self) -> str:
        return cheapest(self.seconds)

    @property
    def regret(self) -> float:
        return self.seconds[self.recommended] / self.seconds[self.best] - 1


@dataclass
class Judgement:
    """All workloads of the grid, judged by coefficients that were fitted without their view's half."""

    engine: str
    scale: float
    results: Results
    judged: list[Judged] = field(default_factory=list)
    shipped: list[Judged] = field(default_factory=list)
    """The same by the coefficients that are shipped with the package."""
    factors: dict[str, float] = field(default_factory=dict)
    """By operation, how far its prediction by the other half's coefficients is off."""
    fits: list[Fit] = field(default_factory=list)

    def rows(self, size: str) -> int:
        return int(SIZES[size] * self.scale)


def judge(engine: str, scale: float, data: Path) -> Judgement:
    """Price the grid and choose, by coefficients that know only the other half of the views."""
    results = Results.of(engine, scale)
    found = Judgement(engine, scale, results)
    spark = (
        open_session(engine) if any(not (data / s / ".advisor" / "statistics.json").exists() for s in SIZES) else None
    )
    bench = Bench(spark, data, scale, results, math.inf)
    prices = {size: Prices(size, bench.base(size), bench.rows(size), spark) for size in SIZES}
    quantities: dict[View, dict[str, Amounts]] = {}
    for view in VIEWS:
        quantities[view] = {key: each for key, each in prices[view.size].operations(view) if key in results.operations}
        for key, each in quantities[view].items():
            fetched = results.fetched.get(key, 0)
            quantities[view][key] = {**each, "driver_rows": each.get("driver_rows", 0.0) + fetched}
    prior = {name: value for name, value in asdict(SHIPPED[engine]).items() if name != "sessions"}  # type: ignore[index]
    for half in (0, 1):
        known = [
            Observation(each, results.seconds(key), group=view.label)
            for view in VIEWS
            if half_of(view) != half
            for key, each in quantities[view].items()
        ]
        found.fits.append(fit(known, prior))
        coefficients = found.fits[-1].coefficients
        for view in VIEWS:
            if half_of(view) == half:
                for key, each in quantities[view].items():
                    predicted, seconds = priced(coefficients, each), results.seconds(key)
                    found.factors[key] = max(predicted / seconds, seconds / predicted)
    for case in cases(scale):
        keys = [read_key(case.view, case.part, "virtual"), refresh_key(case.view, case.rows, 1), rebuild_key(case.view)]
        if any(key not in results.operations for key in keys):
            continue
        seconds = measured(results, case, bench.rows(case.view.size))
        ways = prices[case.view.size].candidates(case)
        for coefficients, judged in (
            (found.fits[half_of(case.view)].coefficients, found.judged),
            (prior, found.shipped),
        ):
            costs = {candidate: priced(coefficients, each) for candidate, each in ways.items()}
            judged.append(Judged(case, cheapest(costs), seconds))
    return found


def composed(results: Results, number: int, table_rows: int) -> dict[str, float]:
    """What operations say a replayed workload takes under each candidate."""
    case = replay_case(number)
    view, events = case.view, replayed_events(case)
    stored, virtual = (results.seconds(read_key(view, case.part, how)) for how in ("stored", "virtual"))
    rebuild, updates, reads = results.seconds(rebuild_key(view)), events.count("update"), events.count("read")
    waiting, met = 0, list[int]()
    for event in events:
        if event == "update":
            waiting += 1
        elif waiting:
            met.append(waiting)
            waiting = 0
    one = refresh_seconds(results, view, case.rows, 1, table_rows)
    several = sum(refresh_seconds(results, view, case.rows, batch, table_rows) for batch in met)
    return {
        VIRTUAL: reads * virtual,
        "immediate/counting": updates * one + reads * stored,
        "immediate/recompute": updates * rebuild + reads * stored,
        "deferred/counting": several + reads * stored,
        "deferred/recompute": len(met) * rebuild + reads * stored,
    }


# The report


def report(judgements: Sequence[Judgement]) -> str:
    """docs/regret.md."""
    lines = [
        "# Regret: what the recommended way costs beyond the best one",
        "",
        "Made by `python benchmarks/regret.py --report` from the measurements in `benchmarks/results`; see the head of",
        "that script for what is measured and how. Times mean nothing on another machine; ratios do.",
        "",
    ]
    for each in judgements:
        lines += [*summary(each), *table(each), *worst(each), *replays(each)]
    return "\n".join(lines).rstrip() + "\n"


def summary(found: Judgement) -> Iterator[str]:
    name = found.engine.capitalize()
    regrets = [each.regret for each in found.judged]
    if not regrets:
        yield from (f"## {name}", "", "Nothing is measured yet.", "")
        return
    factors = sorted(found.factors.values())
    sizes = " and ".join(f"{found.rows(size):,}" for size in SIZES)
    yield f"## {name}"
    yield ""
    yield f"{len(regrets):,} workloads over tables of {sizes} rows, {found.results.meta.get('machine', '')}."
    yield ""
    yield "| | calibrated on the other half | shipped coefficients |"
    yield "|---|---|---|"
    both = (found.judged, found.shipped)
    close = [sum(j.regret <= 0.1 for j in each) / len(each) for each in both]
    yield f"| best, or within 10 % of it | {close[0]:.1%} | {close[1]:.1%} |"
    for title, of in (("mean regret", statistics.fmean), ("worst regret", max)):
        yield f"| {title} | {of(j.regret for j in both[0]):.1%} | {of(j.regret for j in both[1]):.1%} |"
    yield ""
    middle, ninety = (factors[min(int(len(factors) * part), len(factors) - 1)] for part in (0.5, 0.9))
    yield (
        f"Predicted against measured times of {len(factors):,} operations of the half that was left out: within a"
        f" factor of {middle:.2f} for half of them, of {ninety:.2f} for nine in ten."
    )
    yield ""
    yield "| measured best | workloads | recommended there | mean regret there |"
    yield "|---|---|---|---|"
    for candidate in CANDIDATES:
        mine = [each for each in found.judged if each.best == candidate]
        chosen = sum(each.recommended == candidate for each in mine)
        mean = f"{statistics.fmean(each.regret for each in mine):.1%}" if mine else ""
        yield f"| {candidate} | {len(mine)} | {chosen} | {mean} |"
    yield ""


def table(found: Judgement) -> Iterator[str]:
    """The grid by shape, size, f and P: mean regret and the candidates that were best, over f_v and l."""
    if not found.judged:
        return
    yield "Mean regret by view and P, over all f_v and l, and what was measured best most often:"
    yield ""
    yield "| view | " + " | ".join(f"P = {p:g}" for p in PROBABILITIES) + " |"
    yield "|---|" + "---|" * len(PROBABILITIES)
    for view in VIEWS:
        cells = []
        for probability in PROBABILITIES:
            mine = [j for j in found.judged if j.case.view == view and j.case.probability == probability]
            if not mine:
                cells.append("")
                continue
            bests = [each.best for each in mine]
            often = max(CANDIDATES, key=bests.count)
            cells.append(f"{statistics.fmean(each.regret for each in mine):.0%} {SHORT[often]}")
        yield f"| {view.label} | " + " | ".join(cells) + " |"
    yield ""
    yield "; ".join(f"{short}: {candidate}" for candidate, short in SHORT.items()) + "."
    yield ""


SHORT = dict(zip(CANDIDATES, ("V", "I", "IR", "D", "DR"), strict=True))


def worst(found: Judgement) -> Iterator[str]:
    if not found.judged:
        return
    yield "The workloads with the largest regret:"
    yield ""
    yield "| view | read | l | P | recommended | best | regret |"
    yield "|---|---|---|---|---|---|---|"
    for each in sorted(found.judged, key=lambda j: -j.regret)[:15]:
        case = each.case
        chosen = f"{each.recommended} | {each.best} | {each.regret:.0%}"
        yield f"| {case.view.label} | {case.part} | {case.rows:,} | {case.probability:g} | {chosen} |"
    yield ""


def replays(found: Judgement) -> Iterator[str]:
    """The arithmetic against workloads that were replayed in full."""
    known = [n for n in range(len(REPLAYS)) if all(replay_key(n, c) in found.results.operations for c in CANDIDATES)]
    if not known:
        return
    yield f"Workloads of {REPLAYED} operations replayed in full, against the same put together from operations:"
    yield ""
    yield "| workload | measured best | best by arithmetic | regret of that | factors of the five ways |"
    yield "|---|---|---|---|---|"
    for number in known:
        case = replay_case(number)
        seconds = {c: found.results.seconds(replay_key(number, c)) for c in CANDIDATES}
        arithmetic = composed(found.results, number, found.rows(case.view.size))
        best, expected = cheapest(seconds), cheapest(arithmetic)
        ratios = ", ".join(f"{seconds[c] / arithmetic[c]:.2f}" for c in CANDIDATES)
        regret = seconds[expected] / seconds[best] - 1
        what = f"{case.view.label}, {case.part}, l {case.rows}, P {case.probability:g}"
        yield f"| {what} | {best} | {expected} | {regret:.0%} | {ratios} |"
    yield ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Regret of the recommendation.")
    parser.add_argument("--engine", choices=["spark", "sail"], default="spark")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the tables")
    parser.add_argument("--minutes", type=float, default=40.0, help="stop after the operation that reaches this")
    parser.add_argument("--data", type=Path, help="where the tables are, or are left; by default under target")
    parser.add_argument("--cpu", action="store_true", help="time the processor's work, where others use the machine")
    parser.add_argument("--report", action="store_true", help="measure nothing, write docs/regret.md")
    options = parser.parse_args()
    scale = options.scale
    data = options.data or ROOT / "target" / "regret" / f"{scale:g}"
    if options.report:
        found = [judge(engine, scale, data) for engine in ("spark", "sail") if Results.of(engine, scale).operations]
        text = report(found)
        if scale == 1:
            REPORT.write_text(text, encoding="utf-8")
        print(text)
        return 0
    began = time.perf_counter()
    conf = {"spark.driver.memory": "4g"} if options.engine == "spark" else None
    setting: Any = options.engine if conf is None else {"master": "local[2]", "conf": conf}
    results = Results.of(options.engine, scale)
    results.meta |= {"machine": this_machine(), "scale": scale} | ({"clock": "cpu"} if options.cpu else {})
    clock = time.process_time if options.cpu else time.perf_counter
    bench = Bench(open_session(setting), data, scale, results, began + 60 * options.minutes, clock)
    complete = bench.measure()
    print(f"measured in {(time.perf_counter() - began) / 60:.1f} minutes; next: --report")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
