"""Random views, tables and transactions through every incremental executor, against DuckDB.

    python tests/executors/fuzz.py --cases 2000 --seed 1 --workers 2

A case is one view under one sequence of transactions. A seed that fails is printed with the smallest part of it that
still fails, and kept in `fuzz_failures.txt`, which the tests run again. Where Sail, asked for that view by itself,
answers otherwise than DuckDB, the error is Sail's own: such a seed is printed and counted apart.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql.pandas.types import from_arrow_schema

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from executors.executor import Executor, executors  # noqa: E402
from executors.testing import assert_same_rows, check_rows  # noqa: E402
from storage.engine import open_session  # noqa: E402
from storage.table import Table, create_table  # noqa: E402
from tests.executors.generator import RandomCase, random_case  # noqa: E402
from tests.executors.recomputation import on_duckdb  # noqa: E402
from tests.executors.reduction import described, reduced  # noqa: E402

SAIL_GAPS = ("Division by zero", "Invalid argument error: Invalid comparison operation: Decimal")
"""What Sail reports by mistake: it divides also where a piece of the rows is empty, while no case divides by zero, and
compares decimals of different precision below a union without making them alike."""
KEPT = Path(__file__).with_name("fuzz_failures.txt")
DIGITS = 4
"""After the point; engines differ in the type of a mean of decimals."""
SEEDS_PER_PROCESS = 200
"""Then a new session: an old one has grown."""
REPORT_SECONDS = 5


@dataclass(frozen=True)
class Outcome:
    """What a seed came to."""

    seed: int
    cases: int
    failure: str = ""
    by_engine: bool = False
    """Whether the engine errs by itself."""


def incremental() -> list[Executor]:
    return [each for name, each in sorted(executors().items()) if each.stores and name != "recompute"]


def check(case: RandomCase, session: Any, engine: str) -> set[str]:
    """Check the case with each incremental executor; the views that one of them keeps."""
    case = replace(case, by_rules=engine == "sail")  # Sail lacks parts of SQL, and errs in others, that rules avoid
    answers = [on_duckdb(case.views, state) for state in case.states()]
    kept: set[str] = set()
    for executor in incremental():
        told = iter(answers)
        with tempfile.TemporaryDirectory() as folder, _references(case):
            kept |= check_rows(executor, case, session, Path(folder), lambda *_, told=told: next(told), digits=DIGITS)
    return kept


@contextmanager
def _references(case: RandomCase) -> Iterator[None]:
    """While this lasts, `check_rows`, which declares keys, declares the case's foreign keys as well."""

    def declared(*arguments: Any, name: str, **options: Any) -> Table:
        table = create_table(*arguments, name=name, **options)
        table.foreign_keys |= case.foreign_keys.get(name, {})
        return table

    with patch("executors.testing.create_table", declared):
        yield


def failure(case: RandomCase, session: Any, engine: str) -> Exception | None:
    try:
        check(case, session, engine)
    except Exception as error:  # noqa: BLE001 whatever goes wrong is what is looked for
        return error
    return None


def engine_errs(case: RandomCase, session: Any) -> bool:
    """Whether the engine refuses one of the views, or answers otherwise than DuckDB, with nothing maintained."""
    definitions = replace(case, by_rules=True).definitions()
    for tables in case.states():
        wanted = on_duckdb(case.views, tables)
        for name, rows in {**tables, **wanted}.items():
            session.createDataFrame(rows, from_arrow_schema(rows.schema)).createOrReplaceTempView(name)
        for view, definition in definitions.items():
            try:
                found = session.sql(definition.evaluated.sql(dialect="spark")).toArrow()
                assert_same_rows(found, wanted[view], view, DIGITS)
            except Exception:  # noqa: BLE001 whatever the engine does
                return True
    return False


def kept_seeds() -> list[int]:
    """The seeds that have failed before."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    return [int(line) for line in lines if line.strip() and not line.startswith("#")]


@cache
def _session(engine: str) -> Any:
    session: Any = open_session(engine, app_name="fuzz")
    if engine == "sail":
        session.client.disable_reattachable_execute()  # a fifth of the time, for connections that never break
    return session


def run_seed(seed: int, engine: str) -> Outcome:
    """Check the case of a seed in a session of this process, and reduce it if it fails."""
    case, session = random_case(seed), _session(engine)
    error = failure(case, session, engine)
    if error is None:
        return Outcome(seed, len(case.views))
    small, error = reduced(case, error, lambda each: failure(each, session, engine))
    text = f"seed {seed}: {type(error).__name__}: {error}\n{described(small)}"
    by_engine = engine == "sail" and (str(error).startswith(SAIL_GAPS) or engine_errs(small, session))
    return Outcome(seed, len(case.views), text, by_engine)


def outcomes(first: int, engine: str, workers: int) -> Iterator[Outcome]:
    """What the seeds from the first one on come to, each when it ends."""
    seeds = itertools.count(first)
    running: set[Future[Outcome]] = set()
    with ProcessPoolExecutor(workers, get_context("spawn"), max_tasks_per_child=SEEDS_PER_PROCESS) as pool:
        try:
            while True:
                running |= {pool.submit(run_seed, next(seeds), engine) for _ in range(2 * workers - len(running))}
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        finally:
            pool.shutdown(cancel_futures=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--engine", choices=("sail", "spark"), default="sail")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    started = told = time.monotonic()
    cases, failed, gaps = 0, set(), 0
    for outcome in outcomes(given.seed, given.engine, given.workers):
        cases += outcome.cases
        if outcome.failure:
            gaps += outcome.by_engine
            failed |= set() if outcome.by_engine else {outcome.seed}
            print("an error of Sail's own: " * outcome.by_engine + outcome.failure, flush=True)
        now = time.monotonic()
        if now - told > REPORT_SECONDS or cases >= given.cases:
            told = now
            print(
                f"{cases:,} cases, {cases / (now - started):.1f}/s, {len(failed)} seeds failed,"
                f" {gaps} by Sail's own errors",
                flush=True,
            )
        if cases >= given.cases:
            break
    with KEPT.open("a") as file:
        file.writelines(f"{seed}\n" for seed in sorted(failed.difference(kept_seeds())))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
