"""One engine per test process: ADVISOR_TEST_ENGINE is none, spark, connect, sail, cluster, interop or browser.

With `none`, the default, tests that need an engine are deselected: `make test` runs them once per engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from storage.engine import EngineSetting, close_session, open_session
from tests.engines import connect_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINE = os.environ.get("ADVISOR_TEST_ENGINE", "none")
ENGINES = ("none", "spark", "connect", "sail", "cluster", "interop", "browser")


def pytest_configure(config: pytest.Config) -> None:
    if ENGINE not in ENGINES:
        raise pytest.UsageError(f"ADVISOR_TEST_ENGINE={ENGINE}: use one of {', '.join(ENGINES)}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not _belongs(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _belongs(item)]


def _belongs(item: pytest.Item) -> bool:
    """Whether a test runs in this process: `engine` is for each engine, `engine("spark")` for that one."""
    markers = list(item.iter_markers("engine"))
    return not markers or (ENGINE != "none" and all(ENGINE in m.args for m in markers if m.args))


@pytest.fixture(scope="session")
def engine_setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineSetting]:
    """What a workload's `engine:` would say for the engine under test."""
    with ExitStack() as stack:
        if ENGINE == "connect":
            yield {"remote": stack.enter_context(connect_server(tmp_path_factory.mktemp("connect")))}
        elif ENGINE in ("spark", "sail"):
            yield ENGINE
        else:
            raise pytest.UsageError("this test needs an engine: set ADVISOR_TEST_ENGINE=spark, connect or sail")


@pytest.fixture(scope="session")
def spark(engine_setting: EngineSetting, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    conf = {
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.eventLog.enabled": True,
        "spark.eventLog.dir": tmp_path_factory.mktemp("events", numbered=False).as_uri(),
        "spark.eventLog.compress": False,
        "spark.eventLog.rolling.enabled": False,
    }
    yield open_session(engine_setting, app_name="tests", conf=conf if ENGINE == "spark" else None)
    close_session()


@pytest.fixture
def jobs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], int]:
    """How many jobs Spark has started so far, from its event log."""

    def count() -> int:
        logs = (tmp_path_factory.getbasetemp() / "events").iterdir()
        return sum(line.startswith('{"Event":"SparkListenerJobStart"') for log in logs for line in log.open())

    return count
