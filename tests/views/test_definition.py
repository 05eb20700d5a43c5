"""What a definition says of a view: errors with their place and the nearest name, reasons, names, fingerprints."""

from __future__ import annotations

import pytest

from views.catalog import Catalog, Relation
from views.definition import Definition, define, define_all
from views.errors import ViewError
from views.reasons import REASONS, STRUCTURAL

CATALOG = Catalog.of(
    [
        Relation(
            "orders", {"k": "bigint", "customer": "int", "price": "decimal(10,2)", "day": "date", "open": "boolean"}
        ),
        Relation("customer", {"k": "int", "name": "string"}),
        Relation("odd-names", {"order": "int", "Group By": "string", "a.b": "int", "MiXed": "int"}),
        Relation("blank", {}),
    ],
    {"db.orders": "orders"},
)  # fmt: skip


def defined(sql: str) -> Definition:
    return define("v", sql, CATALOG)


ERRORS = {
    "unknown table": (
        "SELECT 1 AS one FROM ordrs",
        "line 1, column 22: reads the unknown table 'ordrs'; did you mean 'orders'?",
    ),
    "unknown table on another line": (
        "SELECT o.k\nFROM orders o\n  JOIN costumer c ON o.customer = c.k",
        "line 3, column 8: reads the unknown table 'costumer'; did you mean 'customer'?",
    ),
    "unknown table in a database": (
        "SELECT k FROM other.orders",
        "line 1, column 15: reads the unknown table 'other.orders'; did you mean 'orders'?",
    ),
    "unknown table in a subquery": (
        "SELECT k FROM orders WHERE k IN (\n  SELECT k FROM custmer)",
        "line 2, column 17: reads the unknown table 'custmer'; did you mean 'customer'?",
    ),
    "unknown column": (
        "SELECT k,\n  prise FROM orders",
        "line 2, column 3: unknown column 'prise'; did you mean 'price'?",
    ),
    "unknown column of an alias": (
        "SELECT o.prise FROM orders o",
        "line 1, column 8: unknown column 'o.prise'; did you mean 'price'?",
    ),
    "unknown column in a subquery": (
        "SELECT k FROM orders WHERE customer IN (SELECT nam FROM customer)",
        "line 1, column 48: unknown column 'nam'; did you mean 'name'?",
    ),
    "unknown column of a CTE": (
        "WITH x AS (SELECT price FROM orders)\nSELECT prize FROM x",
        "line 2, column 8: unknown column 'prize'; did you mean 'price'?",
    ),
    "unknown column in GROUP BY": (
        "SELECT COUNT(*) AS n FROM orders GROUP BY custmer",
        "line 1, column 43: unknown column 'custmer'; did you mean 'customer'?",
    ),
    "unknown column in ORDER BY": (
        "SELECT k FROM orders ORDER BY prise LIMIT 3",
        "line 1, column 31: unknown column 'prise'; did you mean 'price'?",
    ),
    "unknown column in USING": (
        "SELECT * FROM orders JOIN customer USING (customr)",
        "line 1, column 43: no column 'customr' to join by; did you mean 'customer'?",
    ),
    "nothing near": (
        "SELECT `weird name` FROM orders",
        "line 1, column 8: unknown column '`weird name`'; known columns: k, customer, price, day, open",
    ),
    "ambiguous column": (
        "SELECT name,\n k FROM orders o JOIN customer c ON o.customer = c.k",
        "line 2, column 2: the column 'k' is ambiguous; write o.k or c.k",
    ),
    "ambiguous column in a condition": (
        "SELECT name FROM orders o JOIN customer c ON o.customer = k",
        "line 1, column 59: the column 'k' is ambiguous; write o.k or c.k",
    ),
    "comparison of types": (
        "SELECT k FROM orders WHERE day > 5",
        "line 1, column 28: 'orders.day > 5' compares a moment with a number; cast one side",
    ),
    "join of types": (
        "SELECT name FROM orders o JOIN customer c\n  ON o.day = c.k",
        "line 2, column 6: 'o.day = c.k' compares a moment with a number; cast one side",
    ),
    "sum of a type": (
        "SELECT k,\n SUM(day) AS s FROM orders GROUP BY k",
        "line 2, column 2: 'SUM(orders.day)' adds up a moment; aggregate a number",
    ),
    "arithmetic of types": (
        "SELECT price * open AS x FROM orders",
        "line 1, column 8: 'orders.price * orders.open' calculates with a boolean; cast it to a number",
    ),
    "no condition": (
        "SELECT k FROM orders WHERE price",
        "line 1, column 28: 'orders.price' is a number, not a condition; compare it with something",
    ),
    "types of a union": (
        "SELECT k FROM orders UNION SELECT day FROM orders",
        "line 1, column 8: the sides give a number and a moment for column 'k'; cast one side",
    ),
    "widths of a union": (
        "SELECT k, price FROM orders UNION ALL SELECT k FROM customer",
        "line 1, column 8: the sides of UNION have 2 and 1 columns; give both as many",
    ),
    "two columns of one name": (
        "SELECT k, price AS k FROM orders",
        "line 1, column 11: two columns are called 'k'; give one of them an alias",
    ),
    "two columns of one name but for case": (
        "SELECT k,\n price AS K FROM orders",
        "line 2, column 2: two columns are called 'K'; give one of them an alias",
    ),
    "neither grouped nor aggregated": (
        "SELECT price FROM orders GROUP BY k",
        "line 1, column 8: the column 'price' is neither grouped nor aggregated; add it to GROUP BY",
    ),
    "a value of two columns": (
        "SELECT (SELECT k, name FROM customer) AS x FROM orders",
        "line 1, column 16: a subquery as a value has 2 columns; select one",
    ),
    "not SQL": (
        "SELECT k FROM orders\nWHERE k >",
        "line 2, column 9: not SQL: something is missing near 'SELECT k FROM orders WHERE k >'; correct it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_what_is_wrong_is_one_line_with_its_place_and_a_way_out(what: str) -> None:
    sql, message = ERRORS[what]
    with pytest.raises(ViewError) as raised:
        defined(sql)
    assert str(raised.value) == f"view 'v': {message}"
    assert raised.value.exit_code == 2


def test_the_place_starts_with_the_file_when_it_is_known() -> None:
    with pytest.raises(ViewError, match=r"^w\.yaml:7: view 'a': line 1, column 8: unknown column 'x'"):
        define_all({"a": "SELECT x FROM orders"}, CATALOG, lambda view: f"w.yaml:7: view {view!r}")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": "SELECT k FROM a"}, "view 'a': views read each other in a circle: a → a; break the circle"),
        (
            {"a": "SELECT k FROM b", "b": "SELECT k FROM orders WHERE k IN (SELECT k FROM A)"},
            "view 'b': views read each other in a circle: a → b → a; break the circle",
        ),
        (
            {"top": "SELECT k FROM a", "a": "SELECT k FROM b", "b": "SELECT k FROM c", "c": "SELECT k FROM a"},
            "view 'c': views read each other in a circle: a → b → c → a; break the circle",
        ),
    ],
)  # fmt: skip
def test_views_that_read_each_other_in_a_circle_are_named_in_order(texts: dict[str, str], message: str) -> None:
    with pytest.raises(ViewError) as raised:
        define_all(texts, CATALOG)
    assert str(raised.value) == message


def test_a_view_comes_after_those_it_reads_and_a_cte_of_its_own_name_is_no_circle() -> None:
    found = define_all(
        {
            "top": "SELECT n FROM Middle WHERE n > 1",
            "middle": "SELECT COUNT(*) AS n FROM low",
            "low": "WITH low AS (SELECT k FROM orders) SELECT k FROM low",
        },
        CATALOG,
    )
    assert list(found) == ["low", "middle", "top"]
    assert {view: definition.relations for view, definition in found.items()} == {
        "low": ("orders",),
        "middle": ("low",),
        "top": ("middle",),
    }


def test_an_unknown_column_of_a_view_is_found() -> None:
    with pytest.raises(ViewError, match=r"view 'b': line 1, column 8: unknown column 'totl'; did you mean 'total'"):
        define_all({"a": "SELECT SUM(price) AS total FROM orders", "b": "SELECT totl FROM a"}, CATALOG)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM `odd-names`", ("order", "Group By", "a.b", "MiXed")),
        ("SELECT `a.b` AS `select`, `ORDER` FROM `odd-names`", ("select", "ORDER")),
        ("SELECT mixed FROM `ODD-NAMES`", ("mixed",)),
        ("SELECT o.k, c.k AS `k of c`, c.* EXCEPT (k) FROM orders o, customer c", ("k", "k of c", "name")),
        ("SELECT k AS `back``tick` FROM orders", ("back`tick",)),
        ("SELECT COUNT(*), price + 1 FROM orders GROUP BY price", ("count(1)", "(price + 1)")),
        ("SELECT o.k FROM db.orders o", ("k",)),
        ("SELECT `from`.`k` AS `where` FROM orders `from`", ("where",)),
    ],
)  # fmt: skip
def test_names_survive(sql: str, columns: tuple[str, ...]) -> None:
    assert defined(sql).columns == columns


TRIGGERS = {
    "NONDETERMINISTIC": ["SELECT k, rand() AS x FROM orders", "SELECT k FROM orders WHERE uuid() > 'a'"],
    "ORDER_DEPENDENT": [
        "SELECT collect_list(price) AS l FROM orders",
        "SELECT k, first(price) AS f FROM orders GROUP BY k",
    ],
    "UDF": ["SELECT my_function(k) AS x FROM orders", "SELECT k FROM orders WHERE is_good(k)"],
    "SAMPLE": ["SELECT k FROM orders TABLESAMPLE (10 PERCENT)"],
    "RECURSION": ["WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c"],
    "GENERATOR": [
        "SELECT explode(array(k, 1)) AS e FROM orders",
        "SELECT e FROM orders LATERAL VIEW explode(array(1)) t AS e",
        "SELECT id FROM range(3)",
    ],
    "LATERAL": [
        "SELECT o.k, x.n FROM orders o, LATERAL (SELECT COUNT(*) AS n FROM customer c WHERE c.k = o.customer) x"
    ],
    "PIVOT": ["SELECT * FROM orders PIVOT (SUM(price) FOR k IN (1, 2))"],
    "UNKNOWN_COLUMNS": ["SELECT a FROM blank"],
    "READS_NOT_INCREMENTAL": [],
}  # fmt: skip


def test_every_reason_has_sql_that_triggers_it() -> None:
    in_plans = {"NESTED", "NOT_SPJ", "TRUTH_TABLE"}  # for one algorithm: see test_counting and test_differential
    assert TRIGGERS.keys() | in_plans == REASONS.keys()


@pytest.mark.parametrize(("why", "sql"), [(why, sql) for why, texts in TRIGGERS.items() for sql in texts])
def test_what_is_not_incremental_has_a_code_a_place_and_a_remedy(why: str, sql: str) -> None:
    definition = defined(sql)
    (reason,) = definition.reasons
    assert reason.code == f"NOT_INCREMENTAL.{why}"
    assert reason.where.startswith(("line 1, column ", "reads 'blank'"))
    meaning, remedy = REASONS[why]
    assert str(reason) == f"{reason.code}: {reason.where}: {meaning}; {remedy}"
    assert (definition.program is None) == (why in STRUCTURAL)


@pytest.mark.parametrize("below", ["SELECT rand() AS k FROM orders", "SELECT explode(array(k)) AS k FROM orders"])
def test_a_view_over_one_that_is_not_incremental_says_which(below: str) -> None:
    found = define_all({"a": below, "b": "SELECT k FROM a", "c": "SELECT COUNT(*) AS n FROM b"}, CATALOG)
    for view, read in (("b", "a"), ("c", "b")):
        (reason,) = found[view].reasons
        assert (reason.code, reason.where) == ("NOT_INCREMENTAL.READS_NOT_INCREMENTAL", f"reads {read!r}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sort_array(collect_list(price)) AS l FROM orders",
        "SELECT k, FIRST_VALUE(price) OVER (PARTITION BY customer ORDER BY k) AS f FROM orders",
        "SELECT k, CURRENT_DATE AS today FROM orders",
        "SELECT median(price) AS p, count_if(open) AS n FROM orders",
    ],
)
def test_what_does_not_depend_on_order_or_chance_is_incremental(sql: str) -> None:
    assert defined(sql).reasons == ()


def test_the_fingerprint_stays_with_the_meaning() -> None:
    plain = defined("SELECT k, SUM(price) AS total FROM orders WHERE k > 1 GROUP BY k").fingerprint
    for same in (
        "select k, sum(price) as total from orders where k > 1 group by k",
        "SELECT  k,\n\tSUM( price ) AS total -- per key\nFROM orders /* all of\nthem */ WHERE k > 1\nGROUP BY k;",
        "SELECT orders.k AS k, SUM(orders.price) AS total FROM ORDERS AS orders WHERE orders.k > 1 GROUP BY orders.k",
    ):
        assert defined(same).fingerprint == plain, same
    others = {
        defined(other).fingerprint
        for other in (
            "SELECT k, SUM(price) AS total FROM orders WHERE k > 2 GROUP BY k",
            "SELECT k, SUM(price) AS totals FROM orders WHERE k > 1 GROUP BY k",
            "SELECT k, AVG(price) AS total FROM orders WHERE k > 1 GROUP BY k",
            "SELECT k, SUM(DISTINCT price) AS total FROM orders WHERE k > 1 GROUP BY k",
            "SELECT SUM(price) AS total, k FROM orders WHERE k > 1 GROUP BY k",
        )
    }
    assert len(others - {plain}) == 5
