"""How many Spark jobs storage starts, counted in the event log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.log import create_log
from storage.staging import Change
from storage.table import Table, create_table
from storage.updates import update
from storage.writing import describe_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.engine("spark")


def test_a_snapshot_of_1000_files_is_read_in_one_job(
    spark: SparkSession, jobs: Callable[[], int], tmp_path: Path
) -> None:
    rows = pa.table({"k": [1, 2]})
    for i in range(1000):
        pq.write_table(rows, tmp_path / f"part-{i}.parquet")
    create_log(tmp_path, rows.schema, [describe_file(tmp_path, f"part-{i}.parquet") for i in range(1000)])
    before = jobs()
    table = Table(spark, tmp_path)
    frame = table.snapshot()
    assert jobs() == before
    assert frame.toArrow().num_rows == 2000
    assert jobs() == before + 1


def test_an_append_without_key_starts_no_job(spark: SparkSession, jobs: Callable[[], int], tmp_path: Path) -> None:
    table = create_table(spark, tmp_path / "t", pa.table({"k": [1, 2]}))
    before = jobs()
    update({"t": table}, {"t": Change(inserts=pa.table({"k": [3]}))}, intents_folder=tmp_path / "intents")
    assert table.version == 1
    assert jobs() == before
