"""How much faster an incremental refresh is than a full recompute of the same view, in one session.

    python benchmarks/refresh.py [--scale 1] [--orders 1000] [--rounds 5] [--engine spark|sail] [--views NAME …]

Each round changes orders (half of them new, half deleted, with their lines), refreshes each view incrementally and its
twin in full; at the end the rows are compared. Jobs are counted in Spark's event log. Times are medians, and only
their ratio means anything on another machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tpch import FOREIGN_KEYS, KEYS, Refreshes, generate
from executors.keeping import Keeping
from executors.runner import Runner
from storage.engine import open_session
from storage.staging import Change
from storage.table import Table
from storage.types import spark_types
from storage.updates import update
from views.catalog import Catalog, Relation
from views.definition import define_all

TABLES = ("customer", "orders", "lineitem")
JOIN = "FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey"


@dataclass(frozen=True)
class Bench:
    """A view, how its tables are declared and changed, and the ratio to full recompute that is wanted."""

    name: str
    sql: str
    wanted: str
    together: bool = False
    keys: bool = False


THREE_WAY = (
    f"SELECT o_orderkey, l_linenumber, c_name, o_orderdate, l_extendedprice {JOIN} WHERE c_mktsegment = 'BUILDING'"
)
BY_NATION = (
    f"SELECT c_nationkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, COUNT(*) AS n {JOIN} GROUP BY c_nationkey"
)
VIEWS = [
    Bench(
        "select-project",
        "SELECT l_orderkey, l_linenumber, l_extendedprice, l_shipdate FROM lineitem WHERE l_shipmode = 'AIR'",
        "1/3",
    ),
    Bench(
        "Q1-like aggregate",
        "SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS q, SUM(l_extendedprice) AS base,"
        " SUM(l_extendedprice * (1 - l_discount)) AS disc, AVG(l_quantity) AS a, COUNT(*) AS n FROM lineitem"
        " WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus",
        "1/15",
    ),
    Bench("three-way join, nothing to prune", THREE_WAY, "1/4"),
    Bench("three-way join, pruned", THREE_WAY, "1/8", together=True),
    Bench("three-way join, keys declared", THREE_WAY, "1/10", keys=True),
    Bench("join + aggregate, nothing to prune", BY_NATION, "1/4"),
    Bench("join + aggregate, pruned", BY_NATION, "1/8", together=True),
    Bench("join + aggregate, keys declared", BY_NATION, "1/10", keys=True),
    Bench(
        "MIN/MAX per supplier",
        "SELECT l_suppkey, MIN(l_extendedprice) AS low, MAX(l_extendedprice) AS high FROM lineitem GROUP BY l_suppkey",
        "1",
    ),
]


@dataclass(frozen=True)
class Measured:
    incremental_seconds: float
    full_seconds: float
    jobs: int | None


def change_tables(spark: Any, data: Path, folder: Path, orders: int, rounds: int, *, together: bool) -> None:
    """Leave copies of the tables after some update transactions, whose commits wait to be revealed one by one."""
    for name in TABLES:
        shutil.copytree(data / name, folder / name)
    tables = {name: Table(spark, folder / name, name=name) for name in TABLES}
    refreshes = Refreshes(data, seed=1)
    for number in range(rounds):
        moved = {name: Change(*rows) for name, rows in refreshes.orders(orders, together=together).items()}
        for name in update(tables, moved, intents_folder=folder / "intents"):
            later = folder / "later" / str(number) / name
            later.mkdir(parents=True)
            newest = max((folder / name / "_delta_log").glob("*.json"))
            shutil.copy(newest, later)
    for commit in (folder / "later").glob("*/*/*.json"):
        (folder / commit.parent.name / "_delta_log" / commit.name).unlink()


def reveal(changed: Path, folder: Path, number: int) -> None:
    """Let the tables in a folder have the commits of one more transaction."""
    for commit in (changed / "later" / str(number)).glob("*/*.json"):
        os.link(commit, folder / commit.parent.name / "_delta_log" / commit.name)


def measure(spark: Any, changed: Path, folder: Path, bench: Bench, rounds: int, log: Path | None) -> Measured:
    """Medians over some rounds, after one that is not counted."""
    tables = {}
    for name in TABLES:
        shutil.copytree(changed / name, folder / name, copy_function=os.link)
        declared = {"key": KEYS[name], "foreign_keys": FOREIGN_KEYS.get(name, {})} if bench.keys else {}
        tables[name] = Table(spark, folder / name, name=name, **declared)  # type: ignore[arg-type]
    relations = [Relation(n, spark_types(t.log.snapshot().fields), t.key) for n, t in tables.items()]
    views = {"incremental": bench.sql, "full": bench.sql}
    keeping = {"incremental": Keeping("deferred", "counting"), "full": Keeping("deferred", "recompute")}
    runner = Runner(spark, define_all(views, Catalog.of(relations)), tables, folder / "warehouse", keeping)
    for view in views:
        runner.refresh(view)
    found: dict[str, list[float]] = {view: [] for view in views}
    jobs: list[int] = []
    for number in range(rounds + 1):
        reveal(changed, folder, number)
        runner.look()
        for view in views:
            before = jobs_of(log)
            started = time.perf_counter()
            done = runner.refresh(view)
            seconds = time.perf_counter() - started
            if done.ran != keeping[view].algorithm:
                raise SystemExit(f"{bench.name}: {done.ran} ran, because {done.because}")
            if number:
                found[view].append(seconds)
                jobs += [jobs_of(log) - before] if view == "incremental" and log is not None else []
    if not runner.compare("incremental").equal:
        raise SystemExit(f"{bench.name}: the refreshed view is wrong")
    medians = {view: statistics.median(times) for view, times in found.items()}
    return Measured(medians["incremental"], medians["full"], max(jobs) if jobs else None)


def jobs_of(log: Path | None) -> int:
    if log is None:
        return 0
    return sum(path.read_text().count('"SparkListenerJobStart"') for path in log.iterdir() if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description="Refresh against recompute.")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--orders", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=16, help="files of orders and of lineitem")
    parser.add_argument("--engine", choices=["spark", "sail"], default="spark")
    parser.add_argument("--views", nargs="*", default=[], help="only views whose name contains one of these")
    parser.add_argument("--data", type=Path, help="where the tables are, or are left, the changed ones beside them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = options.data or Path(scratch) / "data"
        if not data.exists():
            generate(data, options.scale, options.files)
        log = Path(scratch) / "events" if options.engine == "spark" else None
        spark = open_session(options.engine if log is None else {"master": "local[2]", "conf": _events(log)})
        print(f"scale {options.scale:g}, {options.orders:,} changed orders, {options.files} files, {options.engine}")
        print(f"{'view':<36} {'refresh':>9} {'full':>9} {'ratio':>8} {'wanted':>7} {'jobs':>5}")
        for number, bench in enumerate(VIEWS):
            if options.views and not any(word in bench.name for word in options.views):
                continue
            changed = data.with_name(
                f"{data.name}_{'together' if bench.together else 'apart'}_{options.orders}_{options.rounds}"
            )
            if not changed.exists():
                change_tables(spark, data, changed, options.orders, options.rounds + 1, together=bench.together)
            folder = Path(scratch) / str(number)
            found = measure(spark, changed, folder, bench, options.rounds, log)
            shutil.rmtree(folder)
            ratio = found.full_seconds / found.incremental_seconds
            jobs = "" if found.jobs is None else found.jobs
            print(
                f"{bench.name:<36} {found.incremental_seconds * 1000:>6.0f} ms {found.full_seconds * 1000:>6.0f} ms"
                f" {'1/' + format(ratio, '.1f'):>8} {bench.wanted:>7} {jobs:>5}",
                flush=True,
            )


def _events(log: Path) -> Mapping[str, str]:
    log.mkdir()
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.driver.memory": "8g",
    }


if __name__ == "__main__":
    main()
