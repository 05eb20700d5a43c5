"""The 22 TPC-H queries with their validation parameters, the eight tables, and random data that the queries hit.

The data breaks TPC-H's rules on purpose: keys repeat, rows occur twice and any value may be NULL.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.views.corpus import VIEW, View, arrow_table
from views.catalog import Catalog, Relation
from views.definition import Definition, define

FOLDER = Path(__file__).parent / "tpch"
MONEY = "decimal(15,2)"
CATALOG = Catalog.of(
    [
        Relation(
            "region",
            {"r_regionkey": "bigint", "r_name": "string", "r_comment": "string"},
        ),
        Relation(
            "nation",
            {"n_nationkey": "bigint", "n_name": "string", "n_regionkey": "bigint", "n_comment": "string"},
        ),
        Relation(
            "supplier",
            {
                "s_suppkey": "bigint",
                "s_name": "string",
                "s_address": "string",
                "s_nationkey": "bigint",
                "s_phone": "string",
                "s_acctbal": MONEY,
                "s_comment": "string",
            },
        ),
        Relation(
            "part",
            {
                "p_partkey": "bigint",
                "p_name": "string",
                "p_mfgr": "string",
                "p_brand": "string",
                "p_type": "string",
                "p_size": "int",
                "p_container": "string",
                "p_retailprice": MONEY,
                "p_comment": "string",
            },
        ),
        Relation(
            "partsupp",
            {
                "ps_partkey": "bigint",
                "ps_suppkey": "bigint",
                "ps_availqty": "int",
                "ps_supplycost": MONEY,
                "ps_comment": "string",
            },
        ),
        Relation(
            "customer",
            {
                "c_custkey": "bigint",
                "c_name": "string",
                "c_address": "string",
                "c_nationkey": "bigint",
                "c_phone": "string",
                "c_acctbal": MONEY,
                "c_mktsegment": "string",
                "c_comment": "string",
            },
        ),
        Relation(
            "orders",
            {
                "o_orderkey": "bigint",
                "o_custkey": "bigint",
                "o_orderstatus": "string",
                "o_totalprice": MONEY,
                "o_orderdate": "date",
                "o_orderpriority": "string",
                "o_clerk": "string",
                "o_shippriority": "int",
                "o_comment": "string",
            },
        ),
        Relation(
            "lineitem",
            {
                "l_orderkey": "bigint",
                "l_partkey": "bigint",
                "l_suppkey": "bigint",
                "l_linenumber": "int",
                "l_quantity": MONEY,
                "l_extendedprice": MONEY,
                "l_discount": MONEY,
                "l_tax": MONEY,
                "l_returnflag": "string",
                "l_linestatus": "string",
                "l_shipdate": "date",
                "l_commitdate": "date",
                "l_receiptdate": "date",
                "l_shipinstruct": "string",
                "l_shipmode": "string",
                "l_comment": "string",
            },
        ),
    ]
)

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (("BRAZIL", 1), ("CANADA", 1), ("INDIA", 2), ("FRANCE", 3), ("GERMANY", 3), ("SAUDI ARABIA", 4))
PARTS = (
    ("forest green", "Brand#23", "STANDARD BRASS", 15, "MED BOX"),
    ("forest lime", "Brand#12", "ECONOMY ANODIZED STEEL", 3, "SM CASE"),
    ("dark green", "Brand#34", "PROMO BURNISHED TIN", 14, "LG CASE"),
    ("plum green", "Brand#23", "ECONOMY ANODIZED STEEL", 9, "MED BAG"),
    ("plum", "Brand#45", "MEDIUM POLISHED BRASS", 15, "MED BOX"),
)
"""Attributes that the queries ask for together."""


class View22(View):
    """One of the queries."""

    def define(self) -> Definition:
        return define(VIEW, self.sql, CATALOG)


def queries() -> list[View22]:
    return [View22(path.stem, path.read_text().strip().removesuffix(";"), "") for path in sorted(FOLDER.glob("*.sql"))]


def tables(seed: int | None) -> dict[str, pa.Table]:
    """Tiny tables; one value in thirty is NULL and one row in ten occurs twice; without a seed, no rows."""
    pick = random.Random(seed)

    def one(*values: Any) -> Any:
        return pick.choice(values)

    def money(low: int, high: int) -> Decimal:
        return Decimal(pick.randint(low * 4, high * 4)) / 4

    def key(count: int) -> int:
        return pick.randint(1, count)

    def phone() -> str:
        return f"{one(13, 31, 23, 11)}-{pick.randint(100, 103)}"

    def day(*months: tuple[int, int]) -> dt.date:
        year, month = pick.choice(months)
        return dt.date(year, month, pick.randint(1, 28))

    def supplier() -> Sequence[Any]:
        number = key(6)
        name = f"Supplier#{number}"
        remark = one("fine", "fine", "Customer sad Complaints")
        return number, name, one("here", "there"), one(1, 2, 3, 4, 5, 6, 2, 3, 6), phone(), money(-10, 90), remark

    def part() -> Sequence[Any]:
        number = key(7)
        name, brand, kind, size, container = pick.choice(PARTS)
        return number, name, one("Mfgr#1", "Mfgr#2"), brand, kind, size, container, money(1, 9), "part"

    def customer() -> Sequence[Any]:
        number = key(40)
        segment = one("BUILDING", "BUILDING", "MACHINERY")
        name, nation = f"Customer#{number}", one(1, 2, 3, 3, 4, 5, 6)
        return number, name, one("here", "there"), nation, phone(), money(-10, 90), segment, one("a", "b")

    def order() -> Sequence[Any]:
        ordered = day((1993, 8), (1993, 11), (1994, 5), (1994, 9), (1995, 2), (1995, 3), (1996, 7))
        priority = one("1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW")
        remark = one("plain", "special big requests")
        return key(24), key(30), one("F", "F", "O", "P"), money(100, 999), ordered, priority, "Clerk#1", 0, remark

    def line() -> Sequence[Any]:
        months = ((1994, 2), (1994, 6), (1994, 8), (1995, 4), (1995, 9), (1995, 9), (1996, 1), (1996, 2), (1998, 11))
        shipped = day(*months)
        committed = shipped + dt.timedelta(days=pick.randint(-9, 25))
        received = shipped + dt.timedelta(days=pick.randint(1, 15))
        quantity = Decimal(one(1, 5, 10, 15, 20, 25, 40, 50, 50))
        discount, tax = (Decimal(pick.randint(0, 8)) / 100 for _ in range(2))
        return (
            *(one(key(3), key(24), key(24)), key(7), key(6), key(7), quantity, money(10, 500), discount, tax),
            *(one("R", "A", "N"), one("O", "F"), shipped, committed, received),
            *(one("DELIVER IN PERSON", "DELIVER IN PERSON", "NONE"), one("AIR", "AIR REG", "MAIL", "SHIP"), "line"),
        )

    def rows(count: int, make: Callable[[], Sequence[Any]]) -> list[tuple[Any, ...]]:
        if seed is None:
            return []
        made = [tuple(None if pick.random() < 1 / 30 else value for value in make()) for _ in range(count)]
        return made + [pick.choice(made) for _ in range(count // 10)]

    region, nation = enumerate(REGIONS), enumerate(NATIONS)
    made = {
        "region": rows(5, lambda: (*next(region), "region")),
        "nation": rows(6, lambda: next((i + 1, name, at, "nation") for i, (name, at) in nation)),
        "supplier": rows(16, supplier),
        "part": rows(20, part),
        "partsupp": rows(60, lambda: (key(7), key(6), pick.randint(1, 60), money(1, 4), "offer")),
        "customer": rows(45, customer),
        "orders": rows(50, order),
        "lineitem": rows(110, line),
    }
    return {name: arrow_table(CATALOG.relations[name].columns, made[name]) for name in made}
