"""What `make test` calls: the tests in parts, each in its own process, and one summary at the end.

    python tests/run.py                      unit, sail, spark, connect, cluster, browser
    python tests/run.py sail -k update       one part; what follows goes to pytest
    python tests/run.py interop              against Spark's own Delta connector (`make test-interop`)

A part whose needs this machine lacks is left out, by name. With --require-all, or CI=true in the environment, that
is a failure, and so is a skipped test.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from storage.engine import GET_SAIL, find_java  # noqa: E402

PART_SECONDS = 2400
PACKAGES = ("advisor", "costmodels", "executors", "profiles", "reports", "storage", "views")
INTEROP = ROOT / "tests" / "interop"
JARS = ROOT / "target" / "jars"


@dataclass(frozen=True)
class Need:
    """Something a machine may lack, and how to get it."""

    name: str
    present: Callable[[], bool]
    how: str


JAVA = Need("Java 17", lambda: find_java() is not None, "apt-get install openjdk-17-jre-headless")
MAVEN = Need("Maven", lambda: shutil.which("mvn") is not None, "apt-get install maven")
SAIL = Need("Sail", lambda: _importable("pysail"), GET_SAIL)
CHROMIUM = Need(
    "Chromium with its driver",
    lambda: all(map(shutil.which, ("chromium", "chromedriver"))) and _importable("selenium"),
    "apt-get install chromium chromium-driver",
)


@dataclass(frozen=True)
class Part:
    name: str
    engine: str
    paths: tuple[str, ...]
    options: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    by_default: bool = True


ON_ENGINES = tuple(
    str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/*/test_*.py")) if "mark.engine" in path.read_text()
)
"""The files with tests that want an engine: to collect the others costs half a minute per part."""
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""To a JVM that ends after some minutes: compiling code well would take longer than running it."""
SIDE_BY_SIDE = 3
"""Parts that run at once: much of an engine's test is waiting. The longest ones start first."""
PARTS = (
    Part("spark", "spark", ON_ENGINES, ("-m", "engine"), (JAVA,)),
    Part("sail", "sail", ON_ENGINES, ("-m", "engine"), (SAIL,)),
    Part("connect", "connect", ("tests/storage", "tests/executors/test_counting.py"), ("-m", "engine"), (JAVA,)),
    Part("unit", "none", ("tests", *PACKAGES), ("--doctest-modules",)),
    Part("cluster", "cluster", ("tests/cluster",), (), (JAVA,)),
    Part("browser", "browser", ("tests/browser",), (), (CHROMIUM,)),
    Part("interop", "interop", ("tests/interop",), (), (JAVA, MAVEN), by_default=False),
)


@dataclass
class Outcome:
    """What one part's tests came to; `wrong` says why a part failed as a whole."""

    part: Part
    passed: int = 0
    failed: int = 0
    expected_failures: int = 0
    skipped: list[str] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    """Seconds by test file."""
    seconds: float = 0.0
    wrong: str | None = None

    @property
    def ran(self) -> int:
        return self.passed + self.failed + self.expected_failures + len(self.skipped)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require-all", action="store_true", help="what is left out or skipped is a failure")
    known, rest = parser.parse_known_args(arguments)
    require_all = known.require_all or os.environ.get("CI", "").lower() in ("true", "1")
    names = []
    while rest and rest[0] in {part.name for part in PARTS}:
        names.append(rest.pop(0))
    chosen = [part for part in PARTS if (part.name in names if names else part.by_default)]

    ready, left_out, undelivered = [], [], None
    for part in chosen:
        lacking = [need for need in part.needs if not need.present()]
        if lacking:
            left_out.append((part, lacking))
        elif part.name == "interop" and (undelivered := fetch_connector()):
            continue
        else:
            ready.append(part)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        outcomes = list(pool.map(lambda part: run(part, rest, alone=len(ready) == 1), ready))
    return summarise(outcomes, left_out, undelivered, require_all, selected=bool(rest))


def run(part: Part, extra: list[str], alone: bool) -> Outcome:
    """Run one part; beside others its output is shown when it has ended."""
    print(f"== {part.name}{'' if alone else ' has started'}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Path(folder, "output").open("w+") as output:
        report = Path(folder, "junit.xml")
        paths = () if any(Path(argument.split("::")[0]).exists() for argument in extra) else part.paths
        command = [sys.executable, "-m", "pytest", "-q", "--durations=12", f"--junitxml={report}"]
        command += [*part.options, *extra, *paths]
        environment = {"JDK_JAVA_OPTIONS": SHORT_LIVED, **os.environ, "ADVISOR_TEST_ENGINE": part.engine}
        try:
            shown = None if alone else output
            code = subprocess.run(
                command, cwd=ROOT, env=environment, timeout=PART_SECONDS, check=False, stdout=shown, stderr=shown
            ).returncode
        except subprocess.TimeoutExpired:
            code = None
        if not alone:
            output.seek(0)
            print(f"== {part.name}\n{output.read()}", flush=True)
        outcome = read_report(part, report) if report.exists() else Outcome(part)
    outcome.seconds = time.monotonic() - started
    if code is None:
        outcome.wrong = f"stopped after {PART_SECONDS} s"
    elif code == 5 or (code == 0 and outcome.ran == 0):
        outcome.wrong = None if extra else "no test ran"
    elif code != 0 and outcome.failed == 0:
        outcome.wrong = f"pytest ended with code {code}"
    return outcome


def read_report(part: Part, report: Path) -> Outcome:
    outcome = Outcome(part)
    for case in ElementTree.parse(report).iter("testcase"):
        outcome.files[case.get("classname", "")] += float(case.get("time", 0))
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
        elif skip is None:
            outcome.passed += 1
        elif skip.get("type") == "pytest.xfail":
            outcome.expected_failures += 1
        else:
            outcome.skipped.append(f"{case.get('classname')}::{case.get('name')}: {skip.get('message')}")
    return outcome


def fetch_connector() -> str | None:
    """Delta's Spark connector from Maven Central into target/jars; the reason when it cannot be had."""
    pom, stamp = INTEROP / "pom.xml", JARS / ".fetched"
    if stamp.exists() and stamp.stat().st_mtime >= pom.stat().st_mtime:
        return None
    print("== interop: fetching Delta's Spark connector with Maven", flush=True)
    shutil.rmtree(JARS, ignore_errors=True)
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"]
    try:
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return "Maven did not finish in 600 s"
    if answer.returncode != 0:
        lines = [line for line in (answer.stdout + answer.stderr).splitlines() if "ERROR" in line]
        return lines[0] if lines else f"Maven ended with code {answer.returncode}"
    stamp.touch()
    return None


def summarise(
    outcomes: list[Outcome],
    left_out: list[tuple[Part, list[Need]]],
    undelivered: str | None,
    require_all: bool,
    selected: bool,
) -> int:
    print("\n== summary")
    for outcome in outcomes:
        counts = [f"{outcome.passed} passed", f"{outcome.failed} failed"]
        counts += [f"{len(outcome.skipped)} skipped"] if outcome.skipped else []
        counts += [f"{outcome.expected_failures} expected failures"] if outcome.expected_failures else []
        wrong = f"  FAILED: {outcome.wrong}" if outcome.wrong else ""
        print(f"{outcome.part.name:8} {outcome.seconds:6.0f} s  {', '.join(counts)}{wrong}")
        slowest = ", ".join(
            f"{name.removeprefix('tests.')} {took:.0f} s" for name, took in outcome.files.most_common(5)
        )
        print(f"{'':19} of which {slowest}")
    for part, lacking in left_out:
        how = "; ".join(f"needs {need.name}: {need.how}" for need in lacking)
        print(f"{part.name:8} LEFT OUT  {how}")
    if undelivered:
        print(f"interop  !!!!!!!! NOT RUN: Maven did not deliver Delta's Spark connector: {undelivered}")
    for outcome in outcomes:
        for skip in outcome.skipped:
            print(f"skipped on {outcome.part.name}: {skip}")

    passed = sum(outcome.passed for outcome in outcomes)
    skipped = sum(len(outcome.skipped) for outcome in outcomes)
    failed = sum(outcome.failed or bool(outcome.wrong) for outcome in outcomes)
    nothing = passed + failed == 0 and not left_out and not undelivered
    missing = require_all and (bool(left_out) or skipped > 0)
    if missing:
        print("everything was required, and not everything ran")
    if nothing and selected:
        print("no test was selected")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or missing or nothing else 0


def _importable(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
