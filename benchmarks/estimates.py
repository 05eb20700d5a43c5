"""How near sampled statistics come to the truth on TPC-H, and how long sampling takes against one scan of lineitem.

    python benchmarks/estimates.py [--scale 1] [--engine spark|sail] [--budget 1000000] [--rounds 5] [--write FILE]

Asked are the conditions, joins and groupings of the 22 queries and of the retail example's views. The truth comes from
DuckDB on the same Parquet files. A q-error is the factor between estimate and truth, in rows, whichever is larger.
Times are medians of interleaved rounds in one session, and only their ratio means anything on another machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import sqlglot

from benchmarks.tpch import FOREIGN_KEYS, KEYS, generate
from profiles.requests import Join, Request, requests_of, value_text
from profiles.samples import Sampled
from profiles.sampling import BUDGET_ROWS, sample
from profiles.statistics import Estimate, TableStatistics
from profiles.workload import load
from storage.engine import describe, open_session
from storage.log import open_log
from storage.table import Table
from storage.types import spark_types
from tests.views.tpch import FOLDER
from views.catalog import Catalog, Relation
from views.definition import define, define_all

RETAIL = Path(__file__).parents[1] / "examples" / "retail" / "workload.yaml"
LARGEST = "lineitem"
KINDS = ("one condition", "conditions of a view together", "join", "join under conditions", "distinct values")


@dataclass(frozen=True)
class Compared:
    """One estimate beside the truth, both in rows."""

    kind: str
    name: str
    truth: float
    estimate: Estimate

    @property
    def error(self) -> float:
        true, guess = max(self.truth, 1.0), max(self.estimate.value, 1.0)
        return max(true / guess, guess / true)

    @property
    def counted(self) -> bool:
        return self.estimate.source == "measured"

    @property
    def within(self) -> bool:
        slack = 1e-6 * self.truth + 0.5
        return self.estimate.lower - slack <= self.truth <= self.estimate.upper + slack


def requests(data: Path, workload: str) -> list[Request]:
    """What the views of TPC-H, of the retail example or of both need of the tables."""
    unknown = Estimate.of(1.0, "default")
    known = {}
    for name, key in KEYS.items():
        log = open_log(data / name)
        snapshot = log.snapshot()
        known[name] = TableStatistics(
            name=name,
            rows=Estimate.of(float(snapshot.num_rows or 0), "measured"),
            row_bytes=unknown,
            updates_per_day=unknown,
            rows_per_update=unknown,
            columns=spark_types(snapshot.fields),
            key=tuple(key),
            foreign_keys=FOREIGN_KEYS.get(name, {}),
            fingerprint=f"delta {snapshot.table_id} version {snapshot.version}",
        )
    catalog = Catalog.of([Relation(name, table.columns, table.key) for name, table in known.items()])
    definitions, filters = {}, {}
    if workload != "tpch":
        retail = load(RETAIL)
        definitions |= define_all(retail.sql, catalog)
        filters = {v: [s.queries.filter] for v, s in retail.views.items() if s.queries and s.queries.filter}
    if workload != "retail":
        for path in sorted(FOLDER.glob("*.sql")):
            definitions[path.stem] = define(path.stem, path.read_text().strip().removesuffix(";"), catalog)
    return requests_of(definitions, known, {name: data / name for name in known}, filters)


class Truth:
    """Exact answers about the tables as they were generated."""

    def __init__(self, data: Path) -> None:
        self.database = duckdb.connect()
        for name in KEYS:
            files = (data / name / "*.parquet").as_posix()
            self.database.sql(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{files}')")

    def numbers(self, query: str) -> Sequence[float]:
        (text,) = sqlglot.transpile(query, read="spark", write="duckdb")
        (row,) = self.database.sql(text).fetchall()
        return [float(each or 0) for each in row]

    def passing(self, table: str, conditions: Sequence[str]) -> Sequence[float]:
        counts = [f"COUNT(CASE WHEN {condition} THEN 1 END)" for condition in conditions]
        return self.numbers(f"SELECT {', '.join([*counts, 'COUNT(*)'])} FROM {table}")

    def distinct(self, table: str, values: Sequence[str]) -> float:
        return self.numbers(f"SELECT COUNT(*) FROM (SELECT DISTINCT {', '.join(values)} FROM {table}) AS t")[0]

    def joined(self, table: str, join: Join) -> float:
        """Rows of a join, from the rows per value: some joins have billions."""

        def side(name: str, columns: Sequence[str], where: str) -> str:
            keys = ", ".join(f"{column} AS k{i}" for i, column in enumerate(columns))
            numbers = ", ".join(str(i + 1) for i in range(len(columns)))
            return f"(SELECT {keys}, COUNT(*) AS n FROM {name} WHERE {where or 'TRUE'} GROUP BY {numbers})"

        on = " AND ".join(f"a.k{i} = b.k{i}" for i in range(len(join.columns)))
        mine, theirs = side(table, join.columns, join.where), side(join.other, join.others, join.other_where)
        return self.numbers(f"SELECT SUM(a.n * b.n) FROM {mine} AS a JOIN {theirs} AS b ON {on}")[0]


def compare(asked: Sequence[Request], found: Mapping[str, Sampled], truth: Truth) -> Iterator[Compared]:
    rows = {request.table: truth.passing(request.table, [])[-1] for request in asked}
    for request in asked:
        name, sampled = request.table, found[request.table]
        for condition, passing in zip(request.conditions, truth.passing(name, request.conditions), strict=False):
            kind = KINDS[1] if " AND " in condition and "BETWEEN" not in condition else KINDS[0]
            yield Compared(kind, f"{name}: {condition}", passing, scaled(sampled.conditions[condition], rows[name]))
        for values in request.values:
            yield Compared(
                KINDS[4],
                f"{name}: {value_text(values)}",
                truth.distinct(name, values),
                sampled.distinct[value_text(values)],
            )
        for join in request.joins:
            if (name, join.columns) <= (join.other, join.others):  # its mirror image is the same join
                pairs = scaled(sampled.joins[join.key].pairs, rows[name] * rows[join.other])
                kind = KINDS[3] if join.where or join.other_where else KINDS[2]
                yield Compared(kind, f"{name}: {join.key}", truth.joined(name, join), pairs)


def scaled(part: Estimate, rows: float) -> Estimate:
    return Estimate(part.value * rows, part.lower * rows, part.upper * rows, part.source)


def scan(spark: Any, data: Path) -> None:
    """Read every column of every row of the largest table and do nothing with them."""
    Table(spark, data / LARGEST).rows().write.format("noop").mode("overwrite").save()


def timed(
    spark: Any, data: Path, asked: Sequence[Request], budget: int, rounds: int
) -> tuple[list[float], list[float]]:
    """Seconds of each scan and of each sampling, in turns, after one turn that is not counted."""
    scans, samplings = [], []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        scan(spark, data)
        scanned = time.perf_counter()
        sample(spark, asked, budget)
        scans.append(scanned - started)
        samplings.append(time.perf_counter() - scanned)
    return scans[1:], samplings[1:]


def percentile(errors: Sequence[float], part: float) -> float:
    return float(np.percentile(errors, part))


def report(compared: Sequence[Compared]) -> Iterator[str]:
    yield "| estimated | how many | counted exactly | median q-error | 95th percentile | worst | truth in range |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    predicates_and_joins = [each for each in compared if each.kind != KINDS[4]]
    sampled = [each for each in predicates_and_joins if not each.counted]
    groups = [(kind, [each for each in compared if each.kind == kind]) for kind in KINDS]
    groups += [("**conditions and joins**", predicates_and_joins), ("of them not counted exactly", sampled)]
    for title, group in groups:
        errors = [each.error for each in group]
        if not errors:
            continue
        exact, within = sum(each.counted for each in group), sum(each.within for each in group) / len(group)
        yield (
            f"| {title} | {len(group)} | {exact} | {statistics.median(errors):.3f} | {percentile(errors, 95):.3f} |"
            f" {max(errors):.2f} | {within:.0%} |"
        )
    yield ""
    yield "The ten that are farthest from the truth:"
    yield ""
    yield "| q-error | truth (rows) | estimate | range | what |"
    yield "|---:|---:|---:|---|---|"
    for each in sorted(compared, key=lambda c: (-c.error, c.name))[:10]:
        guess = each.estimate
        name = each.name.replace("`", "").replace("|", "\\|")
        yield (
            f"| {each.error:.2f} | {each.truth:,.0f} | {guess.value:,.0f} | {guess.lower:,.0f} to {guess.upper:,.0f} |"
            f" {name if len(name) <= 150 else name[:149] + '…'} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Sampled statistics against the truth.")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--files", type=int, default=16, help="files of orders and of lineitem")
    parser.add_argument("--engine", choices=["spark", "sail"], default="spark")
    parser.add_argument("--budget", type=int, default=BUDGET_ROWS, help="rows of a table to look at")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="where the generated tables are, or are left")
    parser.add_argument("--write", type=Path, help="the page to write, docs/estimates.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = options.data or Path(scratch) / "data"
        if not data.exists():
            generate(data, options.scale, options.files)
        spark = open_session(
            {"master": "local[2]", "conf": {"spark.driver.memory": "4g"}} if options.engine == "spark" else "sail"
        )
        setting = f"TPC-H scale {options.scale:g}, {options.files} files of orders and of lineitem, {describe(spark)}"
        lines = [f"{setting}, budget {options.budget:,} rows of a table.", ""]
        asked = requests(data, "both")
        found = sample(spark, asked, options.budget, lambda line: print(line, flush=True))
        lines += report(list(compare(asked, found, Truth(data))))
        lines += [
            "",
            "## Time",
            "",
            "| statistics for | one scan of lineitem | sampling all eight tables | ratio, median (range) |",
        ]
        lines += ["|---|---:|---:|---:|"]
        for workload, title in (("retail", "the views of the retail example"), ("both", "these and the 22 queries")):
            scans, samplings = timed(spark, data, requests(data, workload), options.budget, options.rounds)
            one, all_tables = statistics.median(scans), statistics.median(samplings)
            ratios = sorted(sampling / scanned for scanned, sampling in zip(scans, samplings, strict=True))
            ratio = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            lines.append(f"| {title} | {one:.2f} s | {all_tables:.2f} s | {ratio} |")
        print("\n".join(lines))
        if options.write:
            options.write.write_text(PAGE + "\n".join(lines) + "\n", encoding="utf-8")


PAGE = """# Sampled statistics against the truth

Written by `benchmarks/estimates.py`. Estimated are the part of the rows that passes each condition of the 22 TPC-H
queries and of the retail example's views, the sizes of their joins, two tables at a time, and the numbers of distinct
values that they join or group by. The truth comes from DuckDB on the same files.

A q-error is the factor between the estimated and the true number of rows, whichever is larger; 1 is exact. "Truth in
range" says how often the truth lies between the estimate's bounds. Times are medians of rounds in which scan and
sampling take turns in one session; a scan reads every column of every row and does nothing with them. The wider the
range of the ratios, the busier the machine was with other things, and the less they say.

"""


if __name__ == "__main__":
    main()
