"""A standalone cluster on loopback, a master and two workers; only with ADVISOR_TEST_ENGINE=cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from storage.engine import close_session, open_session
from tests.engines import standalone_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if os.environ.get("ADVISOR_TEST_ENGINE") != "cluster":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("cluster")
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.pyspark.python": sys.executable,
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    with standalone_cluster(folder) as master:
        yield open_session({"master": master, "conf": conf}, app_name="tests")
        close_session()
