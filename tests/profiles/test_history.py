"""Update histories: when a table changed, and which part of the changed tuples was deleted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from profiles.history import update_history
from storage.log import Commit, open_log

DAY = 86_400_000


def commit(version: int, hour: float, operation: str = "WRITE", **metrics: int) -> Commit:
    info = {"timestamp": DAY + int(hour * 3_600_000), "operation": operation, "operationMetrics": metrics}
    return Commit(version, info)


def test_the_times_of_updates_are_epoch_seconds_oldest_first() -> None:
    found = update_history([commit(2, 5), commit(1, 3.5), commit(0, 1)], Path())
    assert found.times == (86_400 + 3.5 * 3600, 86_400 + 5 * 3600)


def test_the_load_and_upkeep_have_no_time() -> None:
    commits = [commit(3, 9, "OPTIMIZE"), commit(2, 8, num_added_rows=4), commit(1, 7, "VACUUM END"), commit(0, 1)]
    assert update_history(commits, Path()).times == (86_400 + 8 * 3600,)


def test_there_are_as_many_times_as_updates_of_which_the_log_tells_no_rows() -> None:
    found = update_history([commit(v, v) for v in (3, 2, 1, 0)], Path())
    assert found.rows is None
    assert len(found.times) == 3


def test_a_table_that_never_changed_has_no_times() -> None:
    assert update_history([commit(0, 1)], Path()).times == ()
    assert update_history([], Path()).times == ()


@pytest.mark.parametrize(
    ("metrics", "deletes"),
    [
        ({"num_added_rows": 8}, 0.0),
        ({"num_deleted_rows": 8}, 1.0),
        ({"num_updated_rows": 8}, 0.5),
        ({"num_target_rows_inserted": 2, "num_target_rows_updated": 1}, 0.25),
        ({"numTargetRowsDeleted": 3, "numTargetRowsInserted": 1}, 0.75),
    ],
)
def test_the_part_of_the_changed_tuples_that_was_deleted(metrics: dict[str, int], deletes: float) -> None:
    found = update_history([commit(1, 2, "MERGE" if len(metrics) > 1 else "WRITE", **metrics), commit(0, 1)], Path())
    assert found.deletes == deletes


def test_a_real_log_tells_its_times(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"k": [1, 2, 3]}))
    write_deltalake(tmp_path, pa.table({"k": [4]}), mode="append")
    DeltaTable(tmp_path).delete("k = 2")
    log = open_log(tmp_path)
    found = update_history(log.history(), tmp_path)
    assert found.times == tuple(c.timestamp / 1000 for c in sorted(log.history(), key=lambda c: c.version)[1:])
    assert (found.rows and found.rows.value, found.deletes) == (1, 0.5)
