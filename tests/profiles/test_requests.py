"""What views need to know of their tables is read from their rules, and is spelled one way."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot

from profiles.requests import Join, Request, all_of, base_filter, implied, mirrored, requests_of, text, value_text
from profiles.statistics import Estimate, TableStatistics
from views.catalog import Catalog, Relation
from views.definition import Definition, define_all

ONE = Estimate(1.0, 1.0, 1.0, "default")
TABLES = {
    "orders": ({"o_key": "bigint", "o_customer": "int", "o_day": "date", "o_state": "string"}, ("o_key",)),
    "lines": ({"l_order": "int", "l_part": "bigint", "l_supplier": "bigint", "l_day": "date", "l_price": "double"}, ()),
    "offers": ({"p_part": "bigint", "p_supplier": "bigint", "p_name": "string"}, ("p_part", "p_supplier")),
}


def statistics() -> dict[str, TableStatistics]:
    return {
        name: TableStatistics(name, ONE, ONE, ONE, ONE, columns=columns, key=key, fingerprint=f"{name} 1")
        for name, (columns, key) in TABLES.items()
    }


def definitions(**views: str) -> dict[str, Definition]:
    return define_all(views, Catalog.of([Relation(name, *known) for name, known in TABLES.items()]))


def asked(sql: str, *filters: str, **views: str) -> dict[str, Request]:
    places = {name: Path("data") / name for name in TABLES}
    found = requests_of(definitions(**views, v=sql), statistics(), places, {"v": filters})
    return {request.table: request for request in found}


def keys(request: Request) -> list[str]:
    return [join.key for join in request.joins]


def test_each_condition_is_asked_for_and_all_of_a_rule_together() -> None:
    found = asked("SELECT o_key FROM orders AS x WHERE o_state = 'F' AND o_day < DATE '2024-01-01'")["orders"]
    assert found.conditions == (
        "`o_day` < CAST('2024-01-01' AS DATE)",
        "`o_day` < CAST('2024-01-01' AS DATE) AND `o_state` = 'F'",
        "`o_state` = 'F'",
    )
    assert ("`o_state`",) in found.values


def test_conditions_are_spelled_the_same_whatever_alias_and_order_they_have() -> None:
    one, two = (sqlglot.parse_one(c, dialect="spark") for c in ("a.x > 1", "(a.y = 2 OR a.y IS NULL)"))
    assert all_of([one, two]) == all_of([two, one]) == "`x` > 1 AND (`y` = 2 OR `y` IS NULL)"
    assert text(sqlglot.parse_one("b.x > 1", dialect="spark")) == text(one)
    assert all_of([one]) == text(one)
    assert all_of([]) == ""
    assert value_text(["`b`", "`a`"]) == "`a`, `b`"


@pytest.mark.parametrize(
    ("condition", "follows"),
    [
        ("(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)", "`x` = 1 OR `x` = 3"),
        ("(a.x = 1 AND b.y = 2) OR b.y = 4", None),
        ("a.x = b.y", None),
        ("a.x > 1 AND a.x < b.y", "`x` > 1"),
        ("NOT (a.x = 1 AND b.y = 2)", None),
    ],
)
def test_what_a_condition_on_two_tables_says_about_one(condition: str, follows: str | None) -> None:
    found = implied(sqlglot.parse_one(condition, dialect="spark"), "a")
    assert (None if found is None else text(found)) == follows


def test_a_join_is_asked_for_on_both_sides_with_and_without_conditions() -> None:
    found = asked("SELECT l_price FROM orders JOIN lines ON l_order = o_key WHERE o_state = 'F' AND l_price > 9")
    assert keys(found["lines"]) == [
        "l_order=orders.o_key",
        "l_order=orders.o_key where `l_price` > 9 | `o_state` = 'F'",
    ]
    assert keys(found["orders"]) == [
        "o_key=lines.l_order",
        "o_key=lines.l_order where `o_state` = 'F' | `l_price` > 9",
    ]
    assert {("`l_order`",), ("`o_key`",)} <= {*found["lines"].values, *found["orders"].values}


def test_columns_that_join_together_are_asked_for_one_by_one_and_together() -> None:
    found = asked("SELECT 1 AS x FROM lines JOIN offers ON l_part = p_part AND l_supplier = p_supplier")["lines"]
    assert keys(found) == [
        "l_part=offers.p_part",
        "l_part,l_supplier=offers.p_part,offers.p_supplier",
        "l_supplier=offers.p_supplier",
    ]


def test_joins_that_follow_from_others_are_asked_for() -> None:
    sql = "SELECT 1 AS x FROM lines AS a JOIN lines AS b ON a.l_part = b.l_part JOIN offers ON p_part = b.l_part"
    assert {"l_part=lines.l_part", "l_part=offers.p_part"} <= set(keys(asked(sql)["lines"]))


def test_an_equality_in_every_branch_of_an_or_joins() -> None:
    sql = """SELECT 1 AS x FROM lines, offers
        WHERE (l_part = p_part AND p_name = 'a' AND l_price > 1)
        OR (l_part = p_part AND p_name = 'b' AND l_price > 2)"""
    found = asked(sql)
    assert found["offers"].conditions == ("`p_name` = 'a' OR `p_name` = 'b'",)
    assert "l_part=offers.p_part" in keys(found["lines"])


def test_exists_and_not_exists_join_through_what_they_select() -> None:
    for sql in ("EXISTS (SELECT 1 FROM lines WHERE l_order = o_key)", "o_key NOT IN (SELECT l_order FROM lines)"):
        assert "o_key=lines.l_order" in keys(asked(f"SELECT o_key FROM orders WHERE {sql}")["orders"])


def test_values_of_types_that_do_not_hash_alike_are_not_joined() -> None:
    assert (
        not asked("SELECT 1 AS x FROM orders JOIN lines ON o_state = l_part")
        .get("lines", Request("", "", "", {}))
        .joins
    )


def test_groupings_are_asked_for_per_table_also_of_expressions() -> None:
    sql = "SELECT YEAR(o_day) AS y, o_state, l_part, COUNT(*) AS n FROM orders, lines WHERE o_key = l_order"
    found = asked(f"{sql} GROUP BY YEAR(o_day), o_state, l_part")
    together = [values for values in found["orders"].values if len(values) > 1]
    assert len(together) == 1
    assert "`o_state`" in together[0]
    assert any("YEAR" in value for value in together[0])
    assert ("`l_part`",) in found["lines"].values


def test_a_grouping_by_a_key_says_nothing_more_about_its_other_columns() -> None:
    found = asked("SELECT o_key, o_state, o_day, COUNT(*) AS n FROM orders GROUP BY o_key, o_state, o_day")["orders"]
    assert found.values == (("`o_day`", "`o_key`", "`o_state`"),)


def test_filters_of_queries_become_conditions_on_base_columns_also_through_views() -> None:
    below = "SELECT o_customer AS who, o_state AS state FROM orders"
    sql = "SELECT who, COUNT(*) AS n FROM below GROUP BY who"
    known = definitions(below=below, v=sql)
    assert base_filter(known, statistics(), "v", "who = 37") == ("orders", "`o_customer` = 37")
    assert base_filter(known, statistics(), "v", "n > 3") is None
    found = asked(sql, "who = 37", "n > 3", below=below)["orders"]
    assert found.conditions == ("`o_customer` = 37",)
    assert ("`o_customer`",) in found.values


def test_a_table_that_lies_nowhere_is_not_asked_for() -> None:
    known = definitions(v="SELECT l_price FROM orders JOIN lines ON l_order = o_key")
    (found,) = requests_of(known, statistics(), {"lines": "db.lines"})
    assert (found.table, found.place, found.joins, found.version) == ("lines", "db.lines", (), "lines 1")


def test_the_mirror_image_of_a_join_is_the_same_join() -> None:
    join = Join(("a", "b"), "t", ("y", "x"), "`a` > 1", "")
    assert mirrored(join, "s") == Join(("x", "y"), "s", ("b", "a"), "", "`a` > 1")
    assert mirrored(mirrored(join, "s"), "t") == join
