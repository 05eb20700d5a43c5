"""What commands do is measured in the warehouse, and a measurement that cannot be kept stops nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from advisor.api import Advisor
from profiles.measurements import FOLDER, Measurement, read_measurements
from profiles.samples import FILE
from tests.advisor.test_api import assert_right, shop

__all__ = ["shop"]
pytestmark = pytest.mark.engine("sail")

MORE = pa.table({"k": [5, 6], "c": [9, 8], "price": [0.5, 0.25]})


def told(folder: Path) -> list[tuple[str, str, str, str | None]]:
    return [(m.command, m.kind, m.subject, m.ran) for m in read_measurements(folder / "warehouse")]


def test_every_refresh_query_update_and_statistics_run_is_measured(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply()
    assert told(shop) == [("apply", "refresh", view, "recompute") for view in ("spent", "named")]
    advisor.update({"orders": (MORE, pa.table({"k": [1, 2]}))})
    advisor.rows("cheap", where="price < 1")
    advisor.refresh()
    found = read_measurements(shop / "warehouse")[2:]
    assert [(m.command, m.kind, m.subject, m.ran) for m in found] == [
        ("update", "refresh", "spent", "recompute"),  # an immediate view reads it
        ("update", "refresh", "named", "recompute"),
        ("update", "update", "orders", None),
        ("query", "query", "cheap", "query_modification"),
    ]
    assert len({m.command_id for m in found}) == 2
    spent, _, update, query = found
    assert (spent.candidate, spent.planned, spent.because) == ("deferred/recompute", "recompute", "orders changed")
    assert spent.actual["commits"] == 1
    assert (update.actual["commits"], update.actual["tuples"]) == (1, 4)
    assert (query.filter, query.actual, query.stale_seconds) == ("`price` < 1", {"driver_rows": 2}, 0)
    assert all(m.seconds and m.seconds > 0 and m.machine and m.engine_version for m in found)
    assert not any(m.rehearsed or m.error for m in found)

    (shop / ".advisor" / FILE).unlink()
    advisor.profile(sample_rows=1000)
    sampled = read_measurements(shop / "warehouse")[-1]
    assert (sampled.kind, sampled.subject, sampled.actual) == ("statistics", "customers,orders", {"rows_read": 7})


def test_reads_of_a_process_that_stays_are_written_together(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply()
    before = len(told(shop))
    for _ in range(3):
        advisor.query("cheap")
    assert len(told(shop)) == before
    advisor.recorder.flush()
    reads = read_measurements(shop / "warehouse")[before:]
    assert [(m.kind, m.seconds, m.actual) for m in reads] == [("query", None, {})] * 3


def test_looking_writes_no_measurement_before_there_is_a_warehouse(shop: Path, spark: Any) -> None:
    Advisor(shop / "workload.yaml", spark).recommend()
    assert not (shop / "warehouse").exists()


@pytest.mark.parametrize("broken", ["log", "place"])
def test_measurements_that_cannot_be_kept_are_said_once_and_stop_nothing(shop: Path, spark: Any, broken: str) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    place = shop / "warehouse" / FOLDER
    if broken == "log":
        (place / "_delta_log").mkdir(parents=True)
        (place / "_delta_log" / f"{0:020}.json").write_text("no JSON")
    else:
        place.parent.mkdir(parents=True)
        place.write_text("a file where a folder should be")
    advisor.apply()
    advisor.update({"orders": (MORE, None)})
    assert_right(advisor, shop)
    warnings = [line for line in advisor.said if "measurements" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("the work is done, but its measurements are lost: ")


def test_a_refresh_that_fails_says_why(shop: Path, spark: Any) -> None:
    advisor = Advisor(shop / "workload.yaml", spark)
    advisor.apply()
    (shop / "warehouse" / "named").rename(shop / "elsewhere")
    (shop / "warehouse" / "named").write_text("in the way")
    advisor.update({"orders": (MORE, None)})
    failed: list[Measurement] = [m for m in read_measurements(shop / "warehouse") if m.error is not None]
    assert [(m.command, m.subject, m.ran) for m in failed] == [("update", "named", None)]
