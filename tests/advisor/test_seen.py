"""Views in event logs: whose text is known, over which tables, and how often they were rebuilt, read or asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.seen import SeenView, seen_views
from profiles.eventlogs import Execution, read_event_logs
from profiles.plans import Read, Write

LOG = Path(__file__).parents[1] / "profiles" / "eventlogs" / "sql.json"
TABLES = {"orders": ["/data/orders"], "customers": ["/data/customers"]}
ORDERS, CUSTOMERS = Read("/data/orders", "default.orders"), Read("/data/customers", None)
REBUILD = "INSERT OVERWRITE TABLE daily SELECT day, SUM(price) AS total FROM orders GROUP BY day"
ASK = "SELECT COUNT(*) AS n FROM orders o JOIN customers ON customers.id = o.customer_id"


def run(text: str, *reads: Read, write: Write | None = None, hour: float = 0, succeeded: bool = True) -> Execution:
    return Execution("app", text, hour * 3600, 60.0, reads, () if write is None else (write,), succeeded)


def daily(hour: float, text: str = REBUILD) -> Execution:
    return run(text, ORDERS, write=Write("/data/daily", "default.daily", "overwrite"), hour=hour)


def seen(*executions: Execution, tables: Mapping[str, list[str]] = TABLES) -> dict[str, SeenView]:
    return {view.name: view for view in seen_views(executions, tables)}


def one_line(view: SeenView) -> str:
    return " ".join(view.sql.split())


def test_a_real_log_of_spark_sql_shows_stored_views_created_views_and_queries() -> None:
    found = seen(*read_event_logs(LOG), tables={**TABLES, "daily": ["/data/daily"]})
    assert list(found) == ["daily", "big", "query_1", "query_2"]
    assert one_line(found["daily"]) == "SELECT day, SUM(price) AS total FROM orders GROUP BY day"
    assert (found["daily"].stored, found["daily"].times_per_day) == ("/data/daily", 3)
    assert len(found["daily"].reads.times) == 1
    assert one_line(found["big"]) == "SELECT * FROM orders WHERE price > 1000"
    assert (found["big"].stored, found["big"].seconds_per_day) == (None, 0)
    assert "FROM big AS b JOIN customers AS c" in one_line(found["query_1"])
    assert "FROM customers CROSS JOIN orders AS o" in one_line(found["query_2"])
    assert not any(view.unknown for view in found.values())


def test_a_rebuilt_table_is_a_view_with_its_rate_and_its_cost() -> None:
    view = seen(daily(0), daily(24), daily(48), run("collect", Read("/data/daily", None), hour=50))["daily"]
    days = 50 / 24 + 60 / 86_400
    assert view.times_per_day == pytest.approx(3 / days)
    assert view.seconds_per_day == pytest.approx(3 * 60 / days)
    assert view.reads.times == (50 * 3600.0,)


def test_the_newest_text_counts() -> None:
    newer = "CREATE OR REPLACE TABLE daily USING delta AS SELECT day FROM orders"
    assert one_line(seen(daily(0), daily(1, newer))["daily"]) == "SELECT day FROM orders"


def test_a_view_of_a_folder_that_was_found_is_called_as_the_draft_calls_it() -> None:
    assert set(seen(daily(0), tables={**TABLES, "Daily_2": ["/data/daily"]})) == {"Daily_2"}


def test_a_view_whose_name_is_taken_gets_another() -> None:
    assert set(seen(run("CREATE VIEW orders AS SELECT * FROM customers", CUSTOMERS))) == {"orders_2"}


@pytest.mark.parametrize(
    "execution",
    [
        run("collect at Report.scala:3", ORDERS),
        run("SELECT FROM WHERE", ORDERS),
        run("SELECT 1; SELECT 2", ORDERS),
        run("SELECT " + "(" * 5000, ORDERS),
        run("DELETE FROM orders WHERE k = 1", ORDERS),
        run(REBUILD, ORDERS, write=Write("/data/daily", None, "append")),
        run("INSERT OVERWRITE daily PARTITION (day = 1) SELECT k FROM orders", ORDERS),
        run("INSERT INTO daily SELECT k FROM orders", ORDERS),
        run("INSERT OVERWRITE DIRECTORY '/x' USING parquet SELECT k FROM orders", ORDERS),
        run("CREATE TABLE numbers AS SELECT id FROM range(9)", write=Write("/data/n", "default.numbers", "overwrite")),
        run("CREATE FUNCTION f AS 'x'", ORDERS),
        run(REBUILD, ORDERS, write=Write("/data/daily", None, "overwrite"), succeeded=False),
    ],
)
def test_what_is_no_view(execution: Execution) -> None:
    assert seen(execution) == {}


def test_a_query_asked_once_is_no_view_and_asked_again_it_is() -> None:
    assert seen(run(ASK, ORDERS, CUSTOMERS)) == {}
    view = seen(*(run(ASK.replace(" o ", "  o\n"), ORDERS, CUSTOMERS, hour=hour) for hour in range(3)))["query_1"]
    assert (view.times_per_day, view.seconds_per_day, view.stored) == (3, 180, None)


def test_a_query_of_a_stored_view_is_a_read_of_it() -> None:
    stored = Read("/data/daily", "default.daily", ("day = 3",))
    found = seen(daily(0), *(run("SELECT * FROM daily WHERE day = 3", stored, hour=hour) for hour in (1, 2)))
    assert list(found) == ["daily"]
    assert len(found["daily"].reads.times) == 2
    assert found["daily"].reads.filters == (("day = 3", 1.0),)


def test_queries_that_took_most_time_come_first() -> None:
    runs = [run("SELECT 1 AS one FROM orders", ORDERS, hour=h) for h in (0, 1)]
    runs += [run("SELECT 2 AS two FROM orders", ORDERS, hour=h) for h in (2, 3, 4)]
    assert one_line(seen(*runs)["query_1"]) == "SELECT 2 AS two FROM orders"


def renamed(text: str, *reads: Read, tables: Mapping[str, list[str]] = TABLES) -> SeenView:
    return seen(run(text, *reads), run(text, *reads), tables=tables)["query_1"]


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("SELECT orders.k FROM default.orders", "SELECT orders.k FROM sales"),
        ("SELECT k FROM spark_catalog.default.orders", "SELECT k FROM sales AS orders"),
        ("SELECT o.k FROM orders o", "SELECT o.k FROM sales AS o"),
        ("SELECT k FROM parquet.`/data/orders` AS x", "SELECT k FROM sales AS x"),
        ("WITH orders AS (SELECT k FROM db.t) SELECT k FROM orders", None),
    ],
)
def test_tables_are_renamed_to_those_of_the_draft(text: str, over: str | None) -> None:
    view = renamed(text, ORDERS, tables={"sales": ["/data/orders"]})
    if over is None:
        assert one_line(view) == "WITH orders AS ( SELECT k FROM sales AS t ) SELECT k FROM orders"
    else:
        assert one_line(view).removesuffix(" AS orders") == over.removesuffix(" AS orders")
        assert ("orders.k" in text) <= one_line(view).endswith(" AS orders")
    assert view.unknown == ()


def test_a_temporary_view_is_the_table_that_was_read_under_it() -> None:
    assert one_line(renamed("SELECT k FROM tmp", ORDERS)) == "SELECT k FROM orders AS tmp"


def test_a_table_of_the_same_name_that_was_read_is_meant() -> None:
    text = "SELECT c.k FROM Customers c, lately"
    assert renamed(text, ORDERS, CUSTOMERS).unknown == ()


def test_what_cannot_be_told_apart_is_unknown() -> None:
    view = renamed("SELECT 1 AS one FROM a, b", ORDERS, CUSTOMERS)
    assert view.unknown == ("a", "b")
    assert renamed("SELECT 1 AS one FROM elsewhere", Read("/elsewhere", None)).unknown == ("elsewhere",)


def test_a_name_that_is_a_word_of_sql_is_quoted() -> None:
    view = renamed("SELECT k FROM x", ORDERS, tables={"select": ["/data/orders"]})
    assert one_line(view) == "SELECT k FROM `select` AS x"


def test_without_logs_nothing_was_seen() -> None:
    assert seen() == {}
