"""What a view reads and does, and the SQL that is refused."""

from __future__ import annotations

import pytest

from views.conditions import AnyOf, Column, Comparison, Negation, Opaque
from views.errors import ViewError
from views.parsing import parse
from views.shape import Catalog, Shape, filter_condition, shape_of

COLUMNS = {
    "orders": ["o_orderkey", "o_custkey", "o_orderdate", "o_totalprice"],
    "customer": ["c_custkey", "c_nationkey", "c_name"],
    "nation": ["n_nationkey", "n_name"],
}


def catalog(**views: str) -> Catalog:
    spelled = {name: name for name in (*COLUMNS, *views)} | {"db.orders": "orders"}
    return Catalog(COLUMNS, views, spelled)


def shape(sql: str, **others: str) -> Shape:
    return shape_of("v", catalog(v=sql, **others))


JOIN = "orders JOIN customer ON o_custkey = c_custkey"


@pytest.mark.parametrize(
    ("sql", "model", "tables"),
    [
        ("SELECT o_orderkey FROM orders WHERE o_totalprice > 5", 1, ("orders",)),
        (f"SELECT * FROM {JOIN}", 2, ("orders", "customer")),
        ("SELECT * FROM orders, customer WHERE o_custkey = c_custkey", 2, ("orders", "customer")),
        ("SELECT * FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey", 2, ("orders", "orders")),
        ("SELECT SUM(o_totalprice) FROM orders", 3, ("orders",)),
        (f"SELECT c_nationkey, COUNT(*) FROM {JOIN} GROUP BY c_nationkey", 3, ("orders", "customer")),
        ("WITH big AS (SELECT * FROM orders) SELECT o_custkey FROM big", 1, ("orders",)),
        ("WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", 1, ("orders",)),
        ("SELECT * FROM (SELECT o_custkey, MAX(o_orderkey) m FROM orders GROUP BY 1) WHERE m > 3", 3, ("orders",)),
        ("WITH t AS (SELECT COUNT(*) n FROM orders) SELECT n FROM t", 3, ("orders",)),
        ("SELECT o_custkey FROM orders UNION SELECT c_custkey FROM customer", 1, ("orders", "customer")),
        ("SELECT ROW_NUMBER() OVER (ORDER BY o_orderkey) FROM orders", 1, ("orders",)),
        ("SELECT SUM(o_totalprice) OVER (PARTITION BY o_custkey) FROM orders", 1, ("orders",)),
        ("SELECT * FROM db.orders", 1, ("orders",)),
        ("SELECT * FROM ORDERS;", 1, ("orders",)),
        ("FROM orders SELECT o_orderkey", 1, ("orders",)),
    ],
)
def test_the_nearest_model(sql: str, model: int, tables: tuple[str, ...]) -> None:
    found = shape(sql)
    assert (found.model, found.tables) == (model, tables)


def test_conditions_leave_out_joins_and_know_their_tables() -> None:
    found = shape(f"SELECT * FROM {JOIN} AND c_nationkey IN (1, 2) WHERE DATE '1995-01-01' <= o_orderdate AND 1 = 1")
    assert found.conditions[:2] == (
        Comparison(Column("orders", "o_orderdate"), ">=", ("1995-01-01",)),
        Opaque("1 = 1"),
    )
    assert found.conditions[2] == Comparison(Column("customer", "c_nationkey"), "in", (1.0, 2.0))


def test_columns_that_a_join_makes_equal_are_known() -> None:
    assert shape(f"SELECT * FROM {JOIN}").equalities == (
        (Column("orders", "o_custkey"), Column("customer", "c_custkey")),
    )
    assert shape("SELECT * FROM orders LEFT JOIN customer ON o_custkey = c_custkey").equalities == ()


def test_conditions_with_or_and_not() -> None:
    (either, negated) = shape(
        "SELECT * FROM orders WHERE (o_orderkey = 1 OR o_orderkey > 9) AND NOT o_custkey = 3"
    ).conditions
    assert isinstance(either, AnyOf)
    assert negated == Negation(Comparison(Column("orders", "o_custkey"), "=", (3.0,)))


def test_the_condition_of_an_outer_join_selects_nothing() -> None:
    found = shape("SELECT * FROM orders LEFT JOIN customer ON o_custkey = c_custkey AND c_nationkey = 1")
    assert found.conditions == ()
    assert "an outer join is priced as an inner one" in found.oddities


def test_views_on_views_are_opened_up() -> None:
    found = shape("SELECT * FROM cheap WHERE k < 9", cheap="SELECT o_orderkey AS k FROM orders WHERE o_totalprice < 5")
    assert found.tables == ("orders",)
    assert found.views == ("cheap",)
    assert found.conditions == (
        Comparison(Column("orders", "o_orderkey"), "<", (9.0,)),
        Comparison(Column("orders", "o_totalprice"), "<", (5.0,)),
    )


def test_an_aggregate_below_a_view_stays_one() -> None:
    assert shape("SELECT * FROM total", total="SELECT COUNT(*) AS n FROM orders").model == 3


def test_views_that_define_each_other_are_refused() -> None:
    with pytest.raises(ViewError, match="define each other: v → w → v"):
        shape("SELECT * FROM w", w="SELECT * FROM v")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 1 FROM orders; DROP TABLE orders", "line 1: 2 statements; keep one SELECT"),
        ("SELECT 1 FROM orders\n;\nDELETE FROM orders", "line 2: 2 statements"),
        ("DROP TABLE orders", "DROP is not a query"),
        ("INSERT INTO orders SELECT * FROM customer", "INSERT is not a query"),
        ("UPDATE orders SET o_custkey = 1", "UPDATE is not a query"),
        ("MERGE INTO orders USING customer ON 1=1 WHEN MATCHED THEN DELETE", "MERGE is not a query"),
        ("CREATE TABLE x AS SELECT * FROM orders", "CREATE is not a query"),
        ("WITH x AS (SELECT 1) INSERT INTO orders SELECT * FROM x", "is not a query"),
        ("SET spark.x = 1", "SET is not a query"),
        ("SHOW TABLES", "SHOW is not a query"),
        ("CACHE TABLE x AS SELECT 1", "CACHE is not a query"),
        ("-- nothing", "has no SQL"),
        ("SELECT o_orderkey FROM orders WHERE", "line 1, column 35: not SQL: something is missing near"),
        ("SELECT (1 FROM orders", "not SQL"),
        ("SELECT 'open FROM orders", "not SQL"),
        ("SELECT * FROM ordrs", "line 1: reads the unknown table 'ordrs'; did you mean 'orders'?"),
        ("SELECT *\nFROM orders, zzz", "line 2: reads the unknown table 'zzz'; known tables and views"),
        ("SELECT * FROM other.orders", "reads the unknown table 'other.orders'"),
        ("SELECT * FROM parquet.`/etc/passwd`", "reads the unknown table 'parquet./etc/passwd'"),
        ("SELECT * FROM read_files('/etc')", "reads the function 'read_files'"),
        ("SELECT reflect('java.lang.Runtime', 'getRuntime') FROM orders", "reflect runs code outside SQL"),
        ("SELECT TRANSFORM(o_orderkey) USING 'cat' FROM orders", "TRANSFORM … USING runs code"),
        ("SELECT 1", "reads no table"),
        ("SELECT " + "(" * 5000 + "1" + ")" * 5000 + " FROM orders", "view 'v': "),
    ],
)
def test_sql_that_is_refused(sql: str, message: str) -> None:
    with pytest.raises(ViewError) as caught:
        shape(sql)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refused_statements_do_not_write_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ViewError):
        parse("SHOW TABLES", "view 'v'")
    assert not caplog.records


def test_filters_are_traced_to_base_columns() -> None:
    found = shape("SELECT o_orderkey AS k, o_totalprice * 2 AS twice FROM orders")
    assert filter_condition("k = 7", "v", found) == Comparison(Column("orders", "o_orderkey"), "=", (7.0,))
    assert filter_condition("twice > 7", "v", found) == Comparison(Column(None, "twice"), ">", (7.0,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = 7; DROP TABLE orders", "statements"),
        ("k = 7 GROUP BY k", "not one condition"),
        ("k = 7 UNION SELECT 1", "not"),
        ("kk = 7", "names no column of the view: 'kk'; did you mean 'k'?"),
        ("k =", "not SQL"),
    ],
)
def test_filters_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(ViewError) as caught:
        filter_condition(text, "v", shape("SELECT o_orderkey AS k FROM orders"))
    assert message in str(caught.value)
