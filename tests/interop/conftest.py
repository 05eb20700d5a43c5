"""One Classic session that holds Spark's own Delta connector: it is the connector's and ours at once.

The connector's jars come from `pom.xml`; `make test-interop` fetches them and sets ADVISOR_TEST_ENGINE=interop.
In any other run nothing here is collected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = Path(__file__).parents[2] / "target" / "jars"

if os.environ.get("ADVISOR_TEST_ENGINE") != "interop":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from storage.engine import close_session, open_session

    jars = sorted(JARS.glob("*.jar"))
    if not any(jar.name.startswith("delta-spark") for jar in jars):
        pytest.exit(f"no Delta connector in {JARS.name}: run `make test-interop`, which fetches it", returncode=2)
    conf = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.memory": "1g",
        # Many small queries, each run once: compiling them costs more than running them.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.codegen.wholeStage": False,
        "spark.sql.shuffle.partitions": 2,
        "spark.databricks.delta.snapshotPartitions": 2,
        "spark.databricks.delta.retentionDurationCheck.enabled": False,
    }
    yield open_session({"master": "local[2]", "conf": conf}, app_name="interop")
    close_session()
