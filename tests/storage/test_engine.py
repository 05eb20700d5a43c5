"""The engine door: what `engine:` means on a machine, that one process holds one engine, and its settings."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from storage import engine
from storage.engine import Engine, EngineSetting, describe, open_session, resolve
from views.errors import ExecutionError, WorkloadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAIL_IDLE = "SAIL_SPARK__SESSION_TIMEOUT_SECS"
TESTED = os.environ.get("ADVISOR_TEST_ENGINE", "none")


def fake_java(folder: Path, version: str) -> Path:
    """A `java` that answers `-version` as the real one does, on stderr."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return command


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def java_17(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    command = fake_java(tmp_path / "jdk", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    return command


@pytest.mark.usefixtures("java_17")
def test_auto_is_spark_where_java_17_is_found() -> None:
    assert resolve("auto") == resolve("spark") == Engine("spark", master="local[*]")
    assert "Java 17 found" in resolve("auto").why


@pytest.mark.usefixtures("no_java")
def test_auto_is_sail_without_java_and_says_so() -> None:
    assert resolve("auto") == Engine("sail")
    assert "no Java 17" in resolve("auto").why
    assert "openjdk-17" in resolve("auto").why


def test_a_session_on_sail_that_nobody_asked_for_says_so_once() -> None:
    script = """
from storage import engine
engine.find_java = lambda: None
print(engine.open_session("auto").range(4).count())
engine.open_session("auto")
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert answer.stdout == "4\n"
    assert answer.stderr.count("no Java 17 or newer found: Sail runs instead of Spark") == 1


@pytest.mark.usefixtures("no_java")
def test_without_java_and_sail_the_error_names_both_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    with pytest.raises(ExecutionError, match=r"openjdk-17.*spark-view-advisor\[sail\]"):
        resolve("auto")
    with pytest.raises(ExecutionError, match=r"pysail package is not installed"):
        resolve("sail")


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize("setting", ["spark", {"master": "spark://host:7077"}])
def test_spark_without_java_is_a_clear_error(setting: EngineSetting) -> None:
    with pytest.raises(ExecutionError, match=r"Spark needs Java 17 or newer.*openjdk-17"):
        resolve(setting)


@pytest.mark.parametrize(
    ("version", "usable"),
    [("1.8.0_402", False), ("11.0.2", False), ("16", False), ("17", True), ("21.0.1", True), ("25-ea", True)],
)
def test_java_is_used_from_17_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_java: None, version: str, usable: bool
) -> None:
    command = fake_java(tmp_path / "jdk", version)
    monkeypatch.setenv("PATH", str(command.parent))
    assert (engine.find_java() is not None) is usable


def test_an_old_java_home_does_not_hide_a_good_java_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(tmp_path / "old", "1.8.0_402")
    good = fake_java(tmp_path / "good", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(good.parent))
    found = engine.find_java()
    assert found == engine.Java(good, 21)
    assert engine._home(found) == str(tmp_path / "good")  # spark-class trusts JAVA_HOME blindly


@pytest.mark.usefixtures("java_17")
def test_settings_reach_the_engine_as_spark_spells_them() -> None:
    resolved = resolve({"master": "spark://host:7077", "conf": {"spark.cores.max": 4, "spark.ui.enabled": True}})
    assert resolved.conf == {"spark.cores.max": "4", "spark.ui.enabled": "true"}
    assert describe(resolved).endswith("spark://host:7077")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("flink", "engine: 'flink' is not known"),
        (None, "engine: None is not known"),
        ({}, "exactly one of master and remote"),
        ({"master": "yarn", "remote": "sc://host"}, "exactly one of master and remote"),
        ({"remote": "sc://host", "port": 1}, "unknown key port"),
        ({"remote": 15002}, "remote must be a text"),
        ({"remote": "http://host"}, "is not an address; use sc://host:port"),
        ({"remote": "sc://host:many"}, "is not an address"),
        ({"remote": "sc://host:99999"}, "is not an address"),
        ({"remote": "sc://[::1"}, "is not an address"),
        ({"remote": "sc://"}, "is not an address"),
        ({"master": "spark:host"}, "is not an address; use spark://host:port"),
        ({"remote": "sc://host", "conf": ["a"]}, "conf must be a mapping"),
        ({"remote": "sc://host", "conf": {"spark.x": [1]}}, "conf spark.x must be"),
    ],
)
@pytest.mark.usefixtures("java_17")
def test_a_wrong_engine_is_refused_in_one_line(setting: EngineSetting, says: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        resolve(setting)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_describe_shows_no_token() -> None:
    remote = resolve({"remote": "sc://spark.example/;token=secret"})
    assert describe(remote) == "Spark Connect spark.example:15002"


def in_a_new_process(script: str, **environment: str) -> tuple[str, float]:
    started = time.monotonic()
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    return answer.stdout, time.monotonic() - started


REFUSED = """
import sys
from storage.engine import open_session
from views.errors import AdvisorError
try:
    open_session({{"{place}": "{address}"}})
except AdvisorError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(("place", "scheme"), [("remote", "sc"), ("master", "spark")])
@pytest.mark.usefixtures("java_17")
def test_an_address_where_nothing_listens_is_a_line_within_seconds(place: str, scheme: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, not listening
        address = f"{scheme}://127.0.0.1:{unused.getsockname()[1]}"
        said, seconds = in_a_new_process(REFUSED.format(place=place, address=address))
    assert said.startswith("ExecutionError Spark")
    assert "does not answer" in said
    assert said.count("\n") == 1
    assert seconds < 30


def test_a_port_that_speaks_something_else_is_a_line_within_seconds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.close()

        threading.Thread(target=answer, daemon=True).start()
        address = f"sc://127.0.0.1:{server.getsockname()[1]}"
        said, seconds = in_a_new_process(REFUSED.format(place="remote", address=address))
    assert "does not answer" in said
    assert seconds < 30


def test_resolving_and_describing_start_nothing() -> None:
    script = """
import sys
from storage.engine import describe, resolve
print(describe(resolve("auto")))
assert "pyspark" not in sys.modules and "pysail" not in sys.modules
"""
    said, _ = in_a_new_process(script)
    assert said.startswith(("Spark 4.", "Sail 0."))


@pytest.mark.engine("sail")
@pytest.mark.parametrize(("given", "answer"), [({}, "1 row"), ({SAIL_IDLE: "1"}, "is not running")])
def test_a_session_of_sail_outlives_a_silence(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], answer: str
) -> None:
    """Sail ends a session of which nothing was asked for five minutes, unless it is told otherwise."""
    monkeypatch.delenv(SAIL_IDLE, raising=False)
    script = f"""
import os, time
from pyspark.errors import PySparkException
from storage.engine import open_session

spark = open_session("sail")
time.sleep(5)
try:
    print(spark.sql("SELECT 1").toArrow().num_rows, "row")
except PySparkException as error:
    print(error)
assert int(os.environ["{SAIL_IDLE}"]) == {given.get(SAIL_IDLE, engine.SAIL_IDLE_SECONDS)}
"""
    said, _ = in_a_new_process(script, **given)
    assert answer in said


@pytest.mark.engine
def test_the_same_engine_gives_the_same_session(spark: SparkSession) -> None:
    assert engine._opened is not None
    assert open_session(engine._opened.engine) is spark


@pytest.mark.engine
def test_a_second_engine_in_one_process_is_refused(spark: SparkSession) -> None:
    other: EngineSetting = {"remote": "sc://127.0.0.1:1"} if TESTED != "connect" else "sail"
    with pytest.raises(ExecutionError, match=r"this process already runs .* and cannot also open"):
        open_session(other)


@pytest.mark.engine
def test_the_session_is_described(spark: SparkSession) -> None:
    start = {"spark": "Spark 4.2", "connect": "Spark Connect 127.0.0.1:", "sail": "Sail 0.7"}[TESTED]
    assert describe(spark).startswith(start)


@pytest.mark.engine
def test_the_settings_of_the_design_hold(spark: SparkSession) -> None:
    for key, value in (engine.MEANING | engine.MAY_BE_REFUSED).items():
        assert spark.conf.get(key) == value, key
    if TESTED != "sail":  # Sail has no shuffle partitions
        assert spark.conf.get("spark.sql.shuffle.partitions") == str(engine._cores())


@pytest.mark.engine
def test_a_query_runs_in_utc_and_refuses_overflow(spark: SparkSession) -> None:
    rows = spark.sql("SELECT k, SUM(v) AS s FROM VALUES (1, 2), (1, 3), (2, 4) AS t(k, v) GROUP BY k").collect()
    assert sorted((row.k, row.s) for row in rows) == [(1, 5), (2, 4)]
    assert spark.sql("SELECT CAST(TIMESTAMP '1970-01-01 00:00:00' AS BIGINT) AS t").first() == (0,)


LIFE = """
from storage.engine import Engine, close_session, open_session
from views.errors import ExecutionError
assert open_session("{kind}").range(3).count() == 3
close_session()
try:
    open_session({other})
except ExecutionError as error:
    print(error)
print(open_session("{kind}").range(4).count())
"""


@pytest.mark.engine
def test_a_closed_engine_opens_again_quietly_and_the_other_kind_never() -> None:
    if TESTED == "spark":
        script = LIFE.format(kind="spark", other='Engine("remote", remote="sc://127.0.0.1:1")')
    else:
        script = LIFE.format(kind="sail", other='Engine("spark", master="local[1]")')
    said, _ = in_a_new_process(script)
    assert "PySpark holds one of the two per process" in said
    assert said.endswith("\n4\n")


@pytest.mark.engine
def test_a_session_of_somebody_else_is_left_alone() -> None:
    make = {
        "spark": 'SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()',
        "sail": 'SparkSession.builder.remote("sc://%s:%d" % server.listening_address).getOrCreate()',
    }
    script = f"""
import os
os.environ["RUST_LOG"] = "error"
from pysail.spark import SparkConnectServer
server = SparkConnectServer()
server.start(background=True)
from pyspark.sql import SparkSession
theirs = {make.get(TESTED, make["sail"])}
from storage.engine import describe, open_session
from views.errors import ExecutionError
print(describe(theirs))
try:
    open_session("{"spark" if TESTED == "spark" else "sail"}")
except ExecutionError as error:
    print(error)
theirs.stop()
server.stop()
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    described, refused = answer.stdout.splitlines()
    assert described.startswith("Spark 4.")
    assert "pass it in" in refused
