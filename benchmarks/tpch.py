"""TPC-H tables of any scale as Delta tables, and update transactions in the style of its refresh functions."""

from __future__ import annotations

import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from storage.table import convert_parquet

KEYS = {
    "region": ["r_regionkey"],
    "nation": ["n_nationkey"],
    "supplier": ["s_suppkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "customer": ["c_custkey"],
    "orders": ["o_orderkey"],
    "lineitem": ["l_orderkey", "l_linenumber"],
}
FOREIGN_KEYS = {
    "nation": {"n_regionkey": "region.r_regionkey"},
    "supplier": {"s_nationkey": "nation.n_nationkey"},
    "partsupp": {"ps_partkey": "part.p_partkey", "ps_suppkey": "supplier.s_suppkey"},
    "customer": {"c_nationkey": "nation.n_nationkey"},
    "orders": {"o_custkey": "customer.c_custkey"},
    "lineitem": {
        "l_orderkey": "orders.o_orderkey",
        "l_partkey": "part.p_partkey",
        "l_suppkey": "supplier.s_suppkey",
    },
}
Rows = tuple[pa.Table | None, pa.Table | None]
"""Rows to insert and rows to delete."""


def generate(folder: Path, scale: float, files: int = 1) -> None:
    """Leave the eight tables under the folder, orders and lineitem in some files each."""
    folder.mkdir(parents=True, exist_ok=True)
    program = Path(sys.executable).parent / "tpchgen-cli"
    for table in KEYS:
        parts = files if table in ("orders", "lineitem") else 1
        command = [program, "parquet", "-s", scale, "--tables", table, "--parts", parts, "--output-dir", folder]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        for path in (folder / table).glob("*.parquet"):
            rows = pq.read_table(path)
            pq.write_table(_plain(rows), path, write_page_index=True)
        convert_parquet(folder / table)


def _plain(rows: pa.Table) -> pa.Table:
    kinds = [pa.string() if pa.types.is_string_view(f.type) else f.type for f in rows.schema]
    return rows.cast(pa.schema([f.with_type(kind) for f, kind in zip(rows.schema, kinds, strict=True)]))


class Refreshes:
    """Update transactions over the tables as they were generated, each touching orders that no earlier one did."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.tables = {name: ds.dataset(sorted((folder / name).glob("*.parquet"))) for name in KEYS}
        self.keys = np.sort(self.tables["orders"].to_table(columns=["o_orderkey"])["o_orderkey"].to_numpy())
        self.chance = random.Random(seed)
        self.shuffled = np.random.default_rng(seed).permutation(self.keys)
        self.taken = 0

    def orders(self, count: int, *, together: bool = False) -> dict[str, Rows]:
        """Half as many new orders with their lines (RF1), half as many old ones deleted with theirs (RF2).

        `together`: neighbours by key, so that most files have none of them; else from all over the table.
        """
        chosen = self._next(count, together)
        return self._moved(chosen[: count // 2], chosen[count // 2 :])

    def mixed(self, count: int) -> dict[str, Rows]:
        """The same, and some prices and customers modified."""
        chosen = self._next(count + max(2, count // 4), together=False)
        come, go, dearer = chosen[: count // 2], chosen[count // 2 : count], chosen[count:]
        found = self._moved(come, go)
        lines = self._rows("lineitem", "l_orderkey", dearer)
        prices = pc.add(lines["l_extendedprice"], pa.scalar(Decimal("1.25"), pa.decimal128(15, 2)))
        changed = _with(lines, "l_extendedprice", prices)
        orders = self._rows("orders", "o_orderkey", dearer)
        totals = pc.add(orders["o_totalprice"], pa.scalar(Decimal("1.25"), pa.decimal128(15, 2)))
        found["lineitem"] = _both(found["lineitem"], (changed, lines))
        found["orders"] = _both(found["orders"], (_with(orders, "o_totalprice", totals), orders))
        known = self.tables["customer"].to_table(columns=["c_custkey"])["c_custkey"].to_pylist()
        moved = self._rows("customer", "c_custkey", np.array(self.chance.sample(known, max(1, count // 20))))
        return found | self._customers(moved)

    def _customers(self, rows: pa.Table) -> dict[str, Rows]:
        """Customers who move to another nation, each once."""
        earlier = getattr(self, "_moved_customers", set())
        fresh = rows.filter(pa.array([key not in earlier for key in rows["c_custkey"].to_pylist()]))
        self._moved_customers = earlier | set(fresh["c_custkey"].to_pylist())
        nations = pa.array([(n + 1) % 25 for n in fresh["c_nationkey"].to_pylist()], fresh["c_nationkey"].type)
        return {"customer": (_with(fresh, "c_nationkey", nations), fresh)} if fresh.num_rows else {}

    def _next(self, count: int, together: bool) -> np.ndarray:
        if together:
            place = self.chance.randrange(len(self.keys) // count - 1) * count
            return self.keys[place : place + count]
        self.taken += count
        if self.taken > len(self.shuffled):
            raise ValueError(f"there are only {len(self.shuffled):,} orders")
        return self.shuffled[self.taken - count : self.taken]

    def _moved(self, cloned: np.ndarray, gone: np.ndarray) -> dict[str, Rows]:
        found: dict[str, Rows] = {}
        for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
            rows = self._rows(table, key, cloned)
            # Of 32 consecutive keys TPC-H uses the first eight; a new order takes the place eight further.
            new = _with(rows, key, pc.add(rows[key], 8))
            found[table] = (new, self._rows(table, key, gone))
        return found

    def _rows(self, table: str, key: str, values: np.ndarray) -> pa.Table:
        return self.tables[table].to_table(filter=pc.field(key).isin(pa.array(values)))


def _with(rows: pa.Table, column: str, values: pa.Array) -> pa.Table:
    kind = rows.schema.field(column)
    return rows.set_column(rows.column_names.index(column), kind, values.cast(kind.type))


def _both(first: Rows, second: Rows) -> Rows:
    (a, b), (c, d) = first, second
    return pa.concat_tables([a, c]), pa.concat_tables([b, d])
