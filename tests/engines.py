"""Servers that the tests start from the pip-installed pyspark: a Connect server, and a cluster on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

START_SECONDS = 90


def spark_home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server on a free port; gives its `sc://` address."""
    port = free_port()
    command = [
        *(str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", "spark.ui.enabled=false"),
        *("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *("--conf", f"spark.sql.warehouse.dir={folder / 'warehouse'}"),
        "spark-internal",
    ]
    with running(command, folder / "connect.log") as server:
        wait_for_port(port, server, folder / "connect.log")
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """A standalone master with workers of one core each; gives its `spark://` address."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    spark_class = str(spark_home() / "bin" / "spark-class")
    at = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as stack:
        master_log = folder / "master.log"
        master = [spark_class, "org.apache.spark.deploy.master.Master", *at, "--port", str(port)]
        wait_for_port(port, stack.enter_context(running(master, master_log)), master_log)
        for number in range(workers):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}")]
            worker = [spark_class, "org.apache.spark.deploy.worker.Worker", *at, *work, address]
            stack.enter_context(running(worker, folder / f"worker{number}.log"))
        wait_for_text("Registering worker", workers, master_log)
        yield address


@contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command in the background until the block ends, whatever ends it."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment |= {"SPARK_DAEMON_MEMORY": "512m"}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens on port {port}:\n{log.read_text(errors='replace')[-2000:]}")


def wait_for_text(text: str, times: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if log.read_text(errors="replace").count(text) >= times:
            return
        time.sleep(0.1)
    raise RuntimeError(f"{text!r} not seen {times} times:\n{log.read_text(errors='replace')[-2000:]}")
