"""A small workload with declared statistics, for tests that price and choose without any data."""

from __future__ import annotations

from pathlib import Path

from advisor.proposal import ViewProposal
from advisor.recommend import ModelName, recommend
from profiles.workload import Workload, load

TABLES = """\
tables:
  orders:
    rows: ROWS
    row_bytes: 100
    columns: {o_orderkey: bigint, o_custkey: bigint, o_price: double, o_priority: int}
    key: [o_orderkey]
    foreign_keys: {o_custkey: customer.c_custkey}
    domains: {o_priority: [0, 9]}
    updates: UPDATES
  customer:
    rows: 10000
    row_bytes: 100
    columns: {c_custkey: bigint, c_name: string}
    key: [c_custkey]
    updates: {per_day: 0}
views:
"""
UPDATES = "{per_day: 100, rows: 25, modifies: 1}"
URGENT = "SELECT o_orderkey, o_price FROM orders WHERE o_priority = 5"
NAMED = "SELECT o_orderkey, c_name FROM orders JOIN customer ON o_custkey = c_custkey"
TOTAL = "SELECT SUM(o_price) AS total FROM orders"
PER_CUSTOMER = "SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey"


def workload(folder: Path, *views: str, updates: str = UPDATES, rows: float = 100_000, more: str = "") -> Workload:
    """A workload of views as YAML, over a table of orders that is updated and one of customers that is not."""
    path = folder / "workload.yaml"
    tables = TABLES.replace("UPDATES", updates).replace("ROWS", f"{rows:.0f}")
    path.write_text(more + tables + "".join(f"  {view}\n" for view in views), encoding="utf-8")
    return load(path)


def proposal(
    folder: Path, view: str, updates: str = UPDATES, rows: float = 100_000, model: ModelName = "spark"
) -> ViewProposal:
    """What is proposed for one view."""
    return recommend(workload(folder, "v: " + view, updates=updates, rows=rows), model=model).views["v"]
