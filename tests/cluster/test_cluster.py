"""End to end on a cluster: the work is done by executors in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from storage.engine import describe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_both_workers_are_seen_and_used_for_shuffles(spark: SparkSession) -> None:
    assert "spark://127.0.0.1:" in describe(spark)
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_write_read_join_and_aggregate(spark: SparkSession, tmp_path: Path) -> None:
    orders = spark.range(10_000).select(F.col("id").alias("order"), (F.col("id") % 7).alias("customer"))
    orders.write.parquet(str(tmp_path / "orders"))
    customers = spark.createDataFrame([(n, f"customer {n}") for n in range(5)], "customer BIGINT, name STRING")
    counted = spark.read.parquet(str(tmp_path / "orders")).join(customers, "customer").groupBy("name").agg(F.count("*"))
    expected = {f"customer {n}": len(range(n, 10_000, 7)) for n in range(5)}
    assert {row[0]: row[1] for row in counted.collect()} == expected
