"""Query histories: what counts as a read of a view, when, how often a day, and with which filters."""

from __future__ import annotations

from pathlib import Path

import pytest

from costmodels.schedule import observed
from profiles.eventlogs import Execution
from profiles.plans import Read, Write
from profiles.queries import QueryHistory, days_of, observed_reads, owner_of, query_history
from profiles.statistics import Estimate

DAY = 86_400.0
DAILY = {"daily": [Path("/data/daily")]}


def execution(
    hour: float, *reads: Read, writes: tuple[Write, ...] = (), succeeded: bool = True, seconds: float | None = 0.0
) -> Execution:
    return Execution("app", "a query", hour * 3600, seconds, reads, writes, succeeded)


def read(path: str = "/data/daily", *filters: str) -> Read:
    return Read(path, None, filters)


def test_reads_have_times_in_order() -> None:
    found = query_history([execution(30, read()), execution(4, read()), execution(9, read("/other"))], DAILY)
    assert found["daily"].times == (4 * 3600, 30 * 3600)


def test_the_times_are_what_refreshes_are_counted_from() -> None:
    reads = query_history([execution(hour, read()) for hour in (1, 2, 5, 6, 9)], DAILY)["daily"].times
    assert observed([0.0, 3 * 3600.0, 4 * 3600.0], reads) == 2


def test_an_execution_that_scans_a_view_twice_reads_it_once() -> None:
    found = query_history([execution(0, read("/data/daily", "k = 1"), read("/data/daily", "k = 2"))], DAILY)["daily"]
    assert found.times == (0.0,)
    assert found.filters == (("k = 1", 1.0), ("k = 2", 1.0))


def test_a_failed_read_is_none() -> None:
    assert query_history([execution(0, read(), succeeded=False)], DAILY)["daily"].times == ()


def test_to_change_the_view_itself_is_no_read_and_to_write_another_is() -> None:
    own = execution(0, read(), writes=(Write("/data/daily", None, "change"),))
    other = execution(1, read(), writes=(Write("/data/monthly", None, "overwrite"),))
    assert query_history([own, other], DAILY)["daily"].times == (3600.0,)


def test_filters_come_with_their_share_the_most_frequent_first() -> None:
    reads = [execution(i, read("/data/daily", "k = 1", "day > 3")) for i in range(3)] + [execution(9, read())]
    assert query_history(reads, DAILY)["daily"].filters == (("k = 1 AND day > 3", 0.75), ("", 0.25))


def test_over_days_the_rate_is_measured_and_has_the_noise_of_its_count() -> None:
    found = query_history([execution(12.0 * i, read()) for i in range(9)], DAILY)["daily"]
    assert found.per_day == Estimate(9 / 4, 3 / 4, 15 / 4, "measured")


def test_within_a_day_the_count_is_a_guess() -> None:
    found = query_history([execution(0, read()), execution(1, read())], DAILY)["daily"]
    assert found.per_day is not None
    assert (found.per_day.value, found.per_day.source) == (2.0, "derived")
    assert found.per_day.upper > 40


def test_a_view_that_nobody_was_seen_to_read_has_a_rate_of_zero_that_may_be_wrong() -> None:
    found = query_history([execution(0, read("/other")), execution(48, read("/other"))], DAILY)["daily"]
    assert found.per_day == Estimate(0.0, 0.0, 1.5, "measured")


def test_views_of_a_workload_are_read_from_their_folders_or_by_their_names(tmp_path: Path) -> None:
    by_name = Read(None, "spark_catalog.default.named")
    executions = [execution(1, read(str(tmp_path / "stored"))), execution(2, by_name), execution(3, read("/other"))]
    found = observed_reads(executions, ["stored", "named", "unseen"], tmp_path)
    assert {view: history.times for view, history in found.items()} == {"stored": (3600.0,), "named": (7200.0,)}


def test_without_a_log_nothing_is_known() -> None:
    assert query_history([], DAILY) == {"daily": QueryHistory()}


def test_the_span_ends_when_the_last_execution_does() -> None:
    assert days_of([execution(0), execution(1, seconds=23 * 3600.0), execution(2, seconds=None)]) == 1.0


@pytest.mark.parametrize(
    ("relation", "name"),
    [
        (Read("/data/daily", None), "daily"),
        (Read("/data/daily/day=3/part-0.parquet", None), "daily"),
        (Read("/data/daily2", None), None),
        (Read("/data", None), None),
        (Read("s3a://bucket/hourly/x", None), "hourly"),
        (Read(None, "sales.totals"), "totals"),
        (Read(None, "Sales.TOTALS"), "totals"),
        (Read(None, "spark_catalog.default.plain"), "plain"),
        (Read(None, "other.totals"), None),
        (Read(None, None), None),
    ],
)
def test_whose_rows_a_scan_reads(relation: Read, name: str | None) -> None:
    places = {
        "daily": [Path("/data/daily")],
        "hourly": ["s3a://bucket/hourly/"],
        "totals": ["sales.totals"],
        "plain": ["plain"],
    }
    assert owner_of([], places)(relation) == name


def test_a_folder_inside_that_of_another_is_its_own(tmp_path: Path) -> None:
    owner = owner_of([], {"outer": [tmp_path], "inner": [tmp_path / "inner"]})
    assert owner(Read(str(tmp_path / "inner" / "f"), None)) == "inner"
    assert owner(Read(str(tmp_path / "f"), None)) == "outer"


def test_a_folder_and_a_table_that_spark_once_named_together_are_one() -> None:
    together = execution(0, Read("/w/t", "db.t"))
    by_folder = owner_of([together], {"t": ["/w/t"]})
    assert by_folder(Read(None, "db.t")) == "t"
    by_name = owner_of([together], {"t": ["db.t"]})
    assert by_name(Read("/w/t/part-0", None)) == "t"


def test_relative_folders_start_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    owner = owner_of([], {"t": [Path("data/t")], "u": ["x/../data/u"]})
    assert owner(Read(f"{tmp_path}/data/t", None)) == "t"
    assert owner(Read(f"{tmp_path}/data/u/f", None)) == "u"
