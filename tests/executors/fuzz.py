"""Random views, tables and transactions through every incremental executor, against DuckDB.

    python tests/executors/fuzz.py --cases 2000 --seed 1 --workers 2

A case is one view under one sequence of transactions; the views of a seed share tables and transactions. What fails
is printed as the smallest part that still fails, and its seed is kept in `fuzz_failures.txt`, which the tests run
again. Where Sail, asked for that view by itself, answers otherwise than DuckDB, the error is Sail's own: it is printed
and counted apart. Either way the other views of the seed are tried without it. To go on after a break, give the
seed below which all are done as the first one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from executors.executor import Executor, executors  # noqa: E402
from executors.testing import assert_same_rows, check_rows_by_each  # noqa: E402
from storage.engine import open_session  # noqa: E402
from tests.executors.generator import VIEWS, RandomCase, random_case  # noqa: E402
from tests.executors.recomputation import answer, on_duckdb  # noqa: E402
from tests.executors.reduction import described, reduced, with_one_view, without_highest  # noqa: E402

SAIL_GAPS = ("Division by zero", "Invalid argument error: Invalid comparison operation: Decimal")
"""What Sail reports by mistake: it divides also where a piece of the rows is empty, while no case divides by zero, and
compares decimals of different precision below a union without making them alike."""
KEPT = Path(__file__).with_name("fuzz_failures.txt")
DIGITS = 4
"""After the point; engines differ in the type of a mean of decimals."""
SEEDS_PER_PROCESS = 60
"""Then a new session: an old one has grown."""
REPORT_SECONDS = 10


@dataclass(frozen=True)
class Outcome:
    """What a case came to."""

    name: str
    kept: frozenset[str]
    """Views that were kept and are as DuckDB has them throughout."""
    refused: frozenset[str]
    """Views that every incremental executor has reasons against."""
    failures: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """Failures that are the engine's own."""


def incremental() -> list[Executor]:
    return [each for name, each in sorted(executors().items()) if each.stores and name != "recompute"]


def check(case: RandomCase, session: Any, engine: str) -> set[str]:
    """Check the case with each incremental executor; the views that one of them keeps."""
    case = replace(case, by_rules=engine == "sail")  # Sail lacks parts of SQL, and errs in others, that rules avoid
    with tempfile.TemporaryDirectory() as folder:
        kept = check_rows_by_each(incremental(), case, session, Path(folder), on_duckdb, digits=DIGITS)
    return set().union(*kept.values())


def failure(case: RandomCase, session: Any, engine: str) -> Exception | None:
    found = attempt(case, session, engine)
    return found if isinstance(found, Exception) else None


def attempt(case: RandomCase, session: Any, engine: str) -> set[str] | Exception:
    try:
        return check(case, session, engine)
    except Exception as error:  # noqa: BLE001 whatever goes wrong is what is looked for
        return error


def shown(name: str, case: RandomCase, error: Exception) -> str:
    return f"{name}: {type(error).__name__}: {error}\n{described(case)}"


def engine_errs(case: RandomCase, session: Any, error: Exception) -> bool:
    """Whether it is the engine that errs, as its message says or because it does without anything maintained.

    Then it refuses a view that the error names, or answers otherwise than DuckDB, which has the right answer to the
    very same query.
    """
    if any(gap in str(error) for gap in SAIL_GAPS):
        return True
    definitions = replace(case, by_rules=True).definitions()
    named = [view for view in definitions if f"'{view}'" in str(error)] or list(definitions)
    for tables in case.states():
        wanted = on_duckdb(case.views, tables)
        for name, rows in {**tables, **wanted}.items():
            session.createDataFrame(rows, from_arrow_schema(rows.schema)).createOrReplaceTempView(name)
        for view in named:
            query = definitions[view].evaluated.sql(dialect="spark")
            assert_same_rows(answer(query, {**tables, **wanted}), wanted[view], view, DIGITS)
            try:
                assert_same_rows(session.sql(query).toArrow(), wanted[view], view, DIGITS)
            except Exception:  # noqa: BLE001 whatever the engine does
                return True
    return False


def is_engines(case: RandomCase, session: Any, error: Exception) -> bool:
    """Whether the engine errs; an answer that DuckDB does not give to the view's rules either is our own error."""
    try:
        return engine_errs(case, session, error)
    except Exception:  # noqa: BLE001 whatever DuckDB says against the rules
        return False


def kept_cases() -> dict[str, RandomCase]:
    """The cases that have failed before, by their lines in the file."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    found = {}
    for line in (each for each in lines if each.strip() and not each.startswith("#")):
        seed, _, views = line.partition(" ")
        least, _, most = views.partition("-")
        found[line] = random_case(int(seed), (int(least), int(most)) if views else VIEWS)
    return found


@cache
def _session(engine: str) -> Any:
    session: Any = open_session(engine, app_name="fuzz")
    if engine == "sail":
        session.client.get_config_dict = cache(session.client.get_config_dict)  # asked for with each frame made here
    return session


def run_seed(seed: int, engine: str) -> Outcome:
    """What the case of a seed comes to, in a session of this process."""
    return outcome_of(random_case(seed), _session(engine), engine, f"seed {seed}")


def outcome_of(case: RandomCase, session: Any, engine: str, name: str) -> Outcome:
    """Check all views of a case; what fails is reduced, and the rest tried without it."""
    failures: list[str] = []
    gaps: list[str] = []
    while case.views:
        error = attempt(case, session, engine)
        if not isinstance(error, Exception):
            return Outcome(name, frozenset(error), frozenset(case.views) - error, tuple(failures), tuple(gaps))

        def fails(candidate: RandomCase) -> Exception | None:
            return failure(candidate, session, engine)

        small, error = reduced(case, error, fails, with_one_view)
        if engine == "sail" and is_engines(small, session, error):
            gaps.append(shown(name, small, error))
        else:
            small, error = reduced(small, error, fails)
            failures.append(shown(name, small, error))
        case = without_highest(case, small)
    return Outcome(name, frozenset(), frozenset(), tuple(failures), tuple(gaps))


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
    cases, refused, failed, gaps = 0, 0, 0, 0
    first, done = given.seed, set[int]()
    for outcome in outcomes(given.seed, given.engine, given.workers):
        cases, refused = cases + len(outcome.kept), refused + len(outcome.refused)
        failed, gaps = failed + len(outcome.failures), gaps + len(outcome.gaps)
        for text in (*outcome.failures, *(f"an error of Sail's own: {gap}" for gap in outcome.gaps)):
            print(text, flush=True)
        seed = int(outcome.name.removeprefix("seed "))
        if outcome.failures and str(seed) not in kept_cases():
            with KEPT.open("a") as file:
                file.write(f"{seed}\n")
        done.add(seed)
        while first in done:
            done.remove(first)
            first += 1
        now = time.monotonic()
        if now - told > REPORT_SECONDS or cases >= given.cases:
            told = now
            print(
                f"{cases:,} cases, {cases / (now - started):.1f}/s, {failed} failed, {gaps} by Sail's own errors,"
                f" {refused} refused; all seeds below {first} are done",
                flush=True,
            )
        if cases >= given.cases:
            break
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
