"""Measurements in the warehouse: appended by several processes, compacted, read again, and never in the way."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from profiles import measurements
from profiles.measurements import FOLDER, SCHEMA, Measurement, append, compact, read_measurements
from storage.log import DeltaLog
from views.errors import TableError

REFRESH = Measurement(
    at=1_000_000.25,
    command="refresh",
    command_id="a1",
    kind="refresh",
    subject="daily",
    seconds=0.5,
    engine="sail",
    engine_version="Sail 0.7.2",
    machine="2 cores x86_64",
    strategy="deferred",
    planned="counting",
    ran="recompute",
    because="orders changed",
    predicted_seconds=0.25,
    predicted={"jobs": 2.0, "commits": 1.0},
    actual={"commits": 1.0},
)
QUERY = Measurement(1_000_001.0, "query", "b2", "query", "daily", None, "sail", "Sail 0.7.2", "2 cores x86_64")


def test_what_is_appended_is_read_again_oldest_first(tmp_path: Path) -> None:
    assert read_measurements(tmp_path) == []
    assert append(tmp_path, []) is None
    assert append(tmp_path, [QUERY]) == 0
    assert append(tmp_path, [REFRESH, replace(REFRESH, at=999_999.0, error="engine failed")]) == 1
    found = read_measurements(tmp_path)
    assert found == [replace(REFRESH, at=999_999.0, error="engine failed"), REFRESH, QUERY]
    assert [each.candidate for each in found] == ["deferred/counting", "deferred/counting", None]
    assert [each.q_error for each in found] == [2.0, 2.0, None]
    assert read_measurements(tmp_path, since=1_000_000.5) == [QUERY]


def test_any_delta_reader_can_read_it(tmp_path: Path) -> None:
    append(tmp_path, [REFRESH])
    rows = DeltaTable(tmp_path / FOLDER).to_pyarrow_table().to_pylist()
    assert (rows[0]["subject"], dict(rows[0]["predicted"])) == ("daily", {"jobs": 2.0, "commits": 1.0})


def test_many_small_files_become_one_and_no_row_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurements, "MOST_FILES", 4)
    wanted = [replace(REFRESH, at=float(n), command_id=str(n)) for n in range(1, 12)]
    for each in wanted:
        append(tmp_path, [each])
    assert DeltaLog(tmp_path / FOLDER).num_files <= 4
    assert read_measurements(tmp_path) == wanted
    assert compact(tmp_path) > 0
    assert compact(tmp_path) == 0
    assert read_measurements(tmp_path) == wanted


def test_a_table_of_an_earlier_release_gets_the_columns_that_it_lacks(tmp_path: Path) -> None:
    earlier = pa.schema([each for each in SCHEMA if each.name not in ("stale_seconds", "actual")])
    older = replace(REFRESH, at=1.0, actual={})
    with pytest.MonkeyPatch.context() as then:
        then.setattr(measurements, "SCHEMA", earlier)
        append(tmp_path, [older])
    append(tmp_path, [REFRESH])
    assert read_measurements(tmp_path) == [older, REFRESH]


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from profiles import measurements
from tests.profiles.test_measurements import REFRESH
measurements.MOST_FILES = 6
for n in range(8):
    measurements.append(Path(sys.argv[1]), [replace(REFRESH, command_id=f"{sys.argv[2]}-{n}")])
"""


def test_several_processes_may_write_at_once(tmp_path: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(i)]) for i in range(3)]
    assert [each.wait(timeout=120) for each in running] == [0, 0, 0]
    found = [each.command_id for each in read_measurements(tmp_path)]
    assert sorted(found) == sorted(f"{i}-{n}" for i in range(3) for n in range(8))


def test_a_broken_table_is_one_clear_line(tmp_path: Path) -> None:
    append(tmp_path, [REFRESH])
    (data,) = (tmp_path / FOLDER).glob("part-*.parquet")
    data.write_bytes(b"no Parquet")
    with pytest.raises(TableError, match="measurements cannot be read") as broken:
        read_measurements(tmp_path)
    assert "\n" not in str(broken.value)
    pq.write_table(SCHEMA.empty_table(), data)
    for entry in (tmp_path / FOLDER / "_delta_log").iterdir():
        entry.write_text("no JSON")
    with pytest.raises(TableError, match="measurements cannot be read"):
        read_measurements(tmp_path)
