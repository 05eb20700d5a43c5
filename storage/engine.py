"""The engine door: the one place where a SparkSession is made.

`resolve` says which engine a workload's `engine:` means, without starting anything; `open_session` starts it.
Everything else takes the session and uses only the API that Spark Classic and Spark Connect share, so the same
code runs on

    auto                      Spark in this process when Java 17+ is found, else Sail
    spark                     Apache Spark `local[*]` in this process
    sail                      the `pysail` package: a Spark Connect server in Rust, in this process, no Java
    {master: …, conf: {…}}    a cluster: `spark://host:7077`, `yarn`, `k8s://…`
    {remote: sc://…}          any Spark Connect endpoint

One process holds one engine: PySpark breaks when Classic and Connect meet, in either order.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never
from urllib.parse import urlsplit

from views.errors import ExecutionError, WorkloadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Kind = Literal["spark", "sail", "master", "remote"]
EngineSetting = str | Mapping[str, object]

_log = logging.getLogger("advisor.engine")

GET_JAVA = "install Java 17 or newer: apt-get install openjdk-17-jre-headless"
GET_SAIL = "pip install spark-view-advisor[sail]"
CONNECT_SECONDS = 10
SAIL_IDLE_SECONDS = 10 * 365 * 86_400
"""How long a session of Sail lives when nothing is asked of it: a process that waits for changes needs it later. Sail's
own default is five minutes."""

# Answers depend on these: an engine that refuses one is not used.
MEANING = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
# Only speed or file layout depends on these, or they repeat Spark's default: a managed endpoint may refuse them.
MAY_BE_REFUSED = {
    # A refresh is many small queries: planning each of them again costs more than it finds.
    "spark.sql.adaptive.enabled": "false",
    # Above the threshold Spark starts a job to list files whose names and sizes the Delta log already told.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    # INT96, the default, has no statistics, so nothing could be pruned.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
SHUFFLE_PARTITIONS_DEFAULT = "200"
# Known only when the JVM starts.
STARTUP = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
# Inside one machine nothing listens on the network, and a host name that does not resolve is no obstacle.
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@dataclass(frozen=True)
class Engine:
    """Which engine, how it is reached, and why it was chosen; two are equal when they open the same session."""

    kind: Kind
    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    why: str = field(default="", compare=False)

    @property
    def classic(self) -> bool:
        """Whether the driver's JVM runs in this process, rather than behind Spark Connect."""
        return self.kind in ("spark", "master")


@dataclass
class _Opened:
    engine: Engine
    session: SparkSession
    close: Callable[[], None]


_opened: _Opened | None = None
_classic_here: bool | None = None  # outlives close_session: what PySpark has become cannot be undone


def resolve(engine: EngineSetting) -> Engine:
    """The engine that a workload's `engine:` means on this machine; starts nothing.

    >>> resolve({"remote": "sc://spark.example:15002"}).remote
    'sc://spark.example:15002'
    """
    match engine:
        case "auto":
            return _auto()
        case "spark":
            return Engine("spark", master="local[*]", why=f"asked for; Java {_needed_java().version} found")
        case "sail":
            if not _sail_installed():
                raise ExecutionError("engine sail: the pysail package is not installed", GET_SAIL)
            return Engine("sail", why="asked for")
        case Mapping():
            return _from_mapping(engine)
        case _:
            raise WorkloadError(
                f"engine: {engine!r} is not known", "use auto, spark, sail, {master: …} or {remote: sc://…}"
            )


def priced_as(kind: str) -> Literal["spark", "sail"]:
    """Whose coefficients price a workload's `engine:`; nothing is started, also not to ask which Java there is."""
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    return "sail" if kind == "sail" or (kind == "auto" and not java) else "spark"


def open_session(
    engine: EngineSetting | Engine, *, app_name: str = "advisor", conf: Mapping[str, object] | None = None
) -> SparkSession:
    """The session of this process; the same engine and settings again give the same session."""
    global _opened, _classic_here
    asked = engine if isinstance(engine, Engine) else resolve(engine)
    asked = replace(asked, conf={**asked.conf, **_settings(conf or {})})
    if _opened is not None:
        if _opened.engine == asked:
            return _opened.session
        raise ExecutionError(
            f"this process already runs {describe(_opened.engine)} and cannot also open {describe(asked)}",
            "one process holds one engine with one set of settings: use a second process",
        )
    if _classic_here is not None and _classic_here != asked.classic:
        raise ExecutionError(
            f"this process has run Spark {'Classic' if _classic_here else 'Connect'} and cannot open {describe(asked)}",
            "PySpark holds one of the two per process: use a second process",
        )
    _refuse_foreign_session()
    if engine == "auto" and asked.kind == "sail":
        _log.warning(asked.why)  # answers can differ: whoever did not choose Sail is told
    match asked.kind:
        case "spark" | "master":
            opened = _open_classic(asked, app_name)
        case "sail":
            opened = _open_sail(asked, app_name)
        case "remote":
            opened = _open_remote(asked, app_name)
        case _ as unreachable:
            assert_never(unreachable)
    _opened, _classic_here = opened, asked.classic
    atexit.register(close_session)  # now, so that it runs before what the engine's packages have registered
    return opened.session


def close_session() -> None:
    """Stop what `open_session` started; without an open session nothing happens."""
    global _opened
    if _opened is not None:
        opened, _opened = _opened, None
        opened.close()


def describe(what: Engine | SparkSession) -> str:
    """One phrase for people, `Spark 4.2.1 local[2]` or `Sail 0.7.2`; an `Engine` is not started for it."""
    if not isinstance(what, Engine):
        if _opened is None or what is not _opened.session:
            return f"Spark {what.version}"
        what = _opened.engine
    match what.kind:
        case "spark" | "master":
            master = (what.master or "").replace("[*]", f"[{_cores()}]")
            return f"Spark {_installed('pyspark')} {master}"
        case "sail":
            return f"Sail {_installed('pysail')}"
        case "remote":
            address = urlsplit(what.remote or "")
            return f"Spark Connect {address.hostname}:{address.port or 15002}"  # not the path: it may hold a token
        case _ as unreachable:
            assert_never(unreachable)


def _auto() -> Engine:
    java = find_java()
    if java is not None:
        return Engine("spark", master="local[*]", why=f"Java {java.version} found: Spark runs in this process")
    if _sail_installed():
        return Engine("sail", why=f"no Java 17 or newer found: Sail runs instead of Spark ({GET_JAVA})")
    raise ExecutionError("no engine: neither Java 17+ nor Sail is here", f"{GET_JAVA}, or {GET_SAIL}")


def _from_mapping(engine: Mapping[str, object]) -> Engine:
    places = [key for key in ("master", "remote") if key in engine]
    unknown = [str(key) for key in engine if key not in ("master", "remote", "conf")]
    if unknown or len(places) != 1:
        wrong = f"unknown key {unknown[0]}" if unknown else "exactly one of master and remote is needed"
        raise WorkloadError(f"engine: {wrong}", "use {master: …, conf: {…}} or {remote: sc://…}")
    place = places[0]
    address = engine[place]
    if not isinstance(address, str) or not address.strip():
        raise WorkloadError(f"engine: {place} must be a text, not {address!r}")
    conf = engine.get("conf") or {}
    if not isinstance(conf, Mapping):
        raise WorkloadError("engine: conf must be a mapping of Spark settings")
    if place == "remote":
        _check_url(address, "sc")
        return Engine("remote", remote=address, conf=_settings(conf), why="asked for")
    if address.startswith("spark:"):
        for one in _masters(address):
            _check_url(one, "spark")
    _needed_java()
    return Engine("master", master=address, conf=_settings(conf), why="asked for")


def _check_url(url: str, scheme: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme == scheme and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound:
        raise WorkloadError(f"engine: {url!r} is not an address", f"use {scheme}://host:port")


def _masters(address: str) -> list[str]:
    """The masters of a standalone cluster: `spark://a:7077,b:7077` names two, of which one leads."""
    return [f"spark://{one}" for one in address.removeprefix("spark://").split(",")]


def _settings(conf: Mapping[str, object]) -> dict[str, str]:
    """Settings as Spark spells them: YAML's `true` is `"true"`."""
    settings = {}
    for key, value in conf.items():
        if not isinstance(value, str | int | float):
            raise WorkloadError(f"engine: conf {key} must be a text, a number or true/false, not {value!r}")
        settings[str(key)] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on."""

    command: Path
    version: int


def find_java() -> Java | None:
    """Java 17 or newer, from JAVA_HOME or else from the PATH."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    for command in (Path(home, "bin", "java") if home else None, Path(on_path) if on_path else None):
        if command is not None and (found := _java_version(command)) is not None and found >= 17:
            return Java(command, found)
    return None


@cache
def _java_version(command: Path) -> int | None:
    try:
        answer = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(found[1]) if found else None


def _needed_java() -> Java:
    java = find_java()
    if java is None:
        raise ExecutionError("Spark needs Java 17 or newer, and none was found", GET_JAVA)
    return java


def _sail_installed() -> bool:
    return find_spec("pysail") is not None


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refuse_foreign_session() -> None:
    """A session that somebody else made would be reconfigured, or stopped, under its owner's hands."""
    if "pyspark" not in sys.modules:
        return
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise ExecutionError(
            "this process already has a SparkSession that was not opened here",
            "pass it in: Advisor(…, spark=spark)",
        )


def _open_classic(engine: Engine, app_name: str) -> _Opened:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    master = engine.master or "local[*]"
    if master.startswith("spark://"):
        _reach_any(_masters(master), engine)
    local = LOOPBACK if master.startswith("local") else {}
    conf = SparkConf(loadDefaults=False)
    conf.setMaster(master).setAppName(app_name)
    conf.setAll(list({**STARTUP, **local, **MEANING, **MAY_BE_REFUSED, **engine.conf}.items()))

    # The JVM's own lines go to a file, not to the user: it writes some before any log setting is read.
    log = Path(tempfile.mkdtemp(prefix="advisor-spark-"), "jvm.log")
    atexit.register(shutil.rmtree, log.parent, ignore_errors=True)
    try:
        if SparkContext._gateway is None:
            with _environment(JAVA_HOME=_home(_needed_java())), log.open("wb") as stderr:
                gateway = launch_gateway(conf, popen_kwargs={"stderr": stderr})  # type: ignore[no-untyped-call]
            context = SparkContext(conf=conf, gateway=gateway)
        else:
            context = SparkContext(conf=conf)
    except (PySparkException, Py4JError) as error:
        raise ExecutionError(f"{describe(engine)} did not start: {_reason(error, log)}") from error
    session = SparkSession(context)
    _set_shuffle_partitions(session, engine)
    return _Opened(engine, session, session.stop)


def _home(java: Java) -> str | None:
    """What JAVA_HOME must be for Spark's scripts, which trust it blindly, to start this Java."""
    home = os.environ.get("JAVA_HOME")
    if home is None or java.command == Path(home, "bin", "java"):
        return home
    return str(java.command.resolve().parent.parent)


@contextmanager
def _environment(**variables: str | None) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}

    def put(values: Mapping[str, str | None]) -> None:
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(variables)
    try:
        yield
    finally:
        put(before)


def _open_sail(engine: Engine, app_name: str) -> _Opened:
    os.environ.setdefault("RUST_LOG", "error")  # read once, when the server first starts
    os.environ.setdefault("SAIL_SPARK__SESSION_TIMEOUT_SECS", str(SAIL_IDLE_SECONDS))
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer()
    try:
        server.start(background=True)
        host, port = server.listening_address
    except (RuntimeError, OSError, TypeError) as error:
        raise ExecutionError(f"{describe(engine)} did not start: {error}") from error
    session = _connect(f"sc://{host}:{port}", engine, app_name)
    session.client.disable_reattachable_execute()  # a fifth of the time, for connections that never break

    def close() -> None:
        session.stop()  # first: without its server the client retries for ten minutes
        server.stop()

    return _Opened(engine, session, close)


def _open_remote(engine: Engine, app_name: str) -> _Opened:
    session = _connect(engine.remote or "", engine, app_name)
    _set_shuffle_partitions(session, engine)
    return _Opened(engine, session, session.stop)


def _connect(url: str, engine: Engine, app_name: str) -> SparkSession:
    try:
        import grpc
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client import DefaultChannelBuilder
    except ImportError as error:
        raise ExecutionError(
            f"Spark Connect needs a missing package: {error}", "pip install spark-view-advisor[connect]"
        ) from error

    # PySpark retries an endpoint that is not there for minutes: first see that one answers.
    try:
        channel = DefaultChannelBuilder(url).toChannel()
    except PySparkException as error:
        raise WorkloadError(f"engine: {url!r} is not a Spark Connect address: {_reason(error)}") from error
    try:
        grpc.channel_ready_future(channel).result(timeout=CONNECT_SECONDS)
    except grpc.FutureTimeoutError as error:
        raise _unreachable(engine) from error
    finally:
        channel.close()
    try:
        session = SparkSession.builder.remote(url).appName(app_name).getOrCreate()
        for key, value in {**MEANING, **MAY_BE_REFUSED, **engine.conf}.items():
            try:
                session.conf.set(key, value)
            except PySparkException:
                if key not in MAY_BE_REFUSED or key in engine.conf:
                    raise
    except PySparkException as error:
        raise ExecutionError(f"{describe(engine)} did not open a session: {_reason(error)}") from error
    return session


def _set_shuffle_partitions(session: SparkSession, engine: Engine) -> None:
    """As many as the engine has cores, unless somebody has set a number: each more is a task without work."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    try:
        if session.conf.get(SHUFFLE_PARTITIONS) != SHUFFLE_PARTITIONS_DEFAULT:
            return
        if engine.kind == "spark":
            cores = session.sparkContext.defaultParallelism
        else:
            # `range` makes as many partitions as the engine has cores. The first executor to register runs the
            # first of these queries, so ask until the number stands still.
            cores = before = 0
            while cores == 0 or cores != before:
                before = cores
                cores = session.range(100_000).select(F.spark_partition_id()).distinct().count()
        session.conf.set(SHUFFLE_PARTITIONS, str(cores))
    except PySparkException as error:
        raise ExecutionError(f"{describe(engine)} does not answer: {_reason(error)}") from error


def _reach_any(masters: list[str], engine: Engine) -> None:
    """Spark tries an absent master for a minute and says little: see first that one listens."""
    for master in masters:
        address = urlsplit(master)
        try:
            socket.create_connection((address.hostname, address.port or 7077), timeout=CONNECT_SECONDS).close()
            return
        except OSError:
            continue
    raise _unreachable(engine)


def _unreachable(engine: Engine) -> ExecutionError:
    return ExecutionError(
        f"{describe(engine)} does not answer within {CONNECT_SECONDS} s",
        "check the address, and that it is running",
    )


def _reason(error: BaseException, log: Path | None = None) -> str:
    """The line of an engine's error that says what happened, without the stack below it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if "JAVA_GATEWAY_EXITED" in str(error) and log is not None:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
        return next((line for line in lines if line.startswith(("Error", "Exception"))), lines[-1] if lines else "")
    java = next((line for line in lines if line.startswith(": ")), None)  # py4j: the call first, then its cause
    return java.removeprefix(": ") if java else (lines[0] if lines else type(error).__name__)
