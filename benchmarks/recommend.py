"""How long `advisor recommend` takes on declared statistics: 20 views, and 1,000 views, of mixed shapes.

Each run is a process of its own, start-up and imports included; printed are elapsed and processor seconds.

    python benchmarks/recommend.py [VIEWS…]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TABLES_OF_ONE_SHOP = """\
  customer{n}:
    rows: 150000
    row_bytes: 160
    columns: {{c_custkey: bigint, c_name: string, c_nation: int, c_segment: string, c_balance: double}}
    key: [c_custkey]
    domains: {{c_nation: [0, 24]}}
    updates: {{per_day: 24, rows: 10, inserts: 0.2, modifies: 0.8}}
  orders{n}:
    rows: 1500000
    row_bytes: 110
    columns: {{o_orderkey: bigint, o_custkey: bigint, o_date: date, o_status: string, o_total: double, o_clerk: int}}
    key: [o_orderkey]
    foreign_keys: {{o_custkey: customer{n}.c_custkey}}
    domains: {{o_clerk: [1, 1000]}}
    updates: {{per_day: 96, rows: 20, inserts: 0.7, deletes: 0.05, modifies: 0.25}}
  lineitem{n}:
    rows: 6000000
    row_bytes: 120
    columns: {{l_orderkey: bigint, l_line: int, l_partkey: bigint, l_price: double, l_quantity: int, l_ship: date}}
    key: [l_orderkey, l_line]
    foreign_keys: {{l_orderkey: orders{n}.o_orderkey}}
    updates: {{per_day: 96, rows: 80, inserts: 0.7, deletes: 0.05, modifies: 0.25}}
"""
SHAPES = {
    "selection": "SELECT o_orderkey, o_date, o_total FROM orders{n} WHERE o_clerk = {k}",
    "per_day": "SELECT o_date, COUNT(*) AS n, SUM(o_total) AS total FROM orders{n} WHERE o_clerk > {k} GROUP BY o_date",
    "named": "SELECT o_orderkey, c_name, o_total FROM orders{n} JOIN customer{n} ON o_custkey = c_custkey"
    " WHERE c_nation < {k}",
    "lines": "SELECT l_orderkey, l_line, o_date, c_name, l_price FROM lineitem{n}"
    " JOIN orders{n} ON l_orderkey = o_orderkey JOIN customer{n} ON o_custkey = c_custkey WHERE l_quantity < {k}",
    "per_nation": "SELECT c_nation, SUM(l_price) AS revenue, COUNT(*) AS lines FROM customer{n}"
    " JOIN orders{n} ON o_custkey = c_custkey JOIN lineitem{n} ON l_orderkey = o_orderkey"
    " WHERE l_quantity > {k} GROUP BY c_nation",
    "segments": "SELECT DISTINCT c_segment, o_status FROM customer{n} JOIN orders{n} ON o_custkey = c_custkey"
    " WHERE o_clerk <> {k}",
    "extremes": "SELECT o_custkey, MIN(o_total) AS low, MAX(o_total) AS high FROM orders{n} WHERE o_clerk < {k}"
    " GROUP BY o_custkey",
    "best_days": "SELECT o_date, total FROM per_day_{view} WHERE n > {k}",
}
"""By name, a view's SQL; the last reads another view."""
VIEWS_PER_SHOP = 40


def workload(views: int) -> str:
    """A workload of so many views over tables with declared statistics."""
    shops = range((views - 1) // VIEWS_PER_SHOP + 1)
    lines = ["name: many", "tables:", *(TABLES_OF_ONE_SHOP.format(n=n).rstrip() for n in shops), "views:"]
    shapes = list(SHAPES.items())
    for number in range(views):
        name, sql = shapes[number % len(shapes)]
        below = number // len(shapes)
        said = sql.format(n=below * len(shapes) // VIEWS_PER_SHOP, k=number % 23 + 1, view=below)
        reads = (1, 12, 96, 400, 5000)[number % 5]
        lines.append(f'  {name}_{below}: {{sql: "{said}", queries: {{per_day: {reads}, fraction: 0.1}}}}')
    return "\n".join(lines) + "\n"


def measured(path: Path) -> tuple[float, float]:
    """Elapsed and processor seconds of one run of the command."""
    before, start = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "advisor.cli", "recommend", str(path), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    elapsed, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return elapsed, used


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("views", nargs="*", type=int, default=[20, 1000], help="how many views; 20 and 1000 by default")
    with tempfile.TemporaryDirectory() as folder:
        for views in parser.parse_args(arguments).views:
            path = Path(folder) / f"{views}.yaml"
            path.write_text(workload(views), encoding="utf-8")
            elapsed, used = measured(path)
            print(f"{views:>6,} views  {elapsed:6.2f} s elapsed  {used:6.2f} s of a processor")


if __name__ == "__main__":
    main()
