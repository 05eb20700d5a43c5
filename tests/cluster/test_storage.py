"""Tables on a cluster: rows that stay in Spark are written, changed and read by the executors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from storage import writing
from storage.staging import tuples
from storage.table import create_table
from storage.updates import update

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_table_is_created_updated_and_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "DRIVER_ROWS", 10)
    rows = spark.range(1000).selectExpr("id AS k", "id % 7 AS g")
    table = create_table(spark, tmp_path / "t", rows, name="t", key=["k"])
    update({"t": table}, "DELETE FROM t WHERE g = 3", intents_folder=tmp_path / "intents")
    update({"t": table}, "UPDATE t SET g = 9 WHERE k < 5", intents_folder=tmp_path / "intents")
    expected = Counter((k, 9 if k < 5 else k % 7) for k in range(1000) if k % 7 != 3)
    assert Counter(tuples(DeltaTable(str(table.root)).to_pyarrow_table())) == expected
    assert Counter(tuples(table.snapshot().toArrow())) == expected
    total = Counter((k, k % 7) for k in range(1000))
    for *row, count in tuples(table.changes(0, 2).toArrow()):
        total[tuple(row)] += count
    assert +total == expected
