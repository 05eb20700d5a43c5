"""Random views, tables and transactions through every incremental executor, against DuckDB.

    python tests/executors/fuzz.py --cases 2000 --seed 1 --workers 2

A case is one view under one sequence of transactions. A seed that fails is printed with the smallest part of it that
still fails, and kept in `fuzz_failures.txt`, which the tests run again.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from executors.executor import Executor, executors  # noqa: E402
from executors.testing import Case, check_rows  # noqa: E402
from storage.engine import open_session  # noqa: E402
from tests.executors.generator import random_case  # noqa: E402
from tests.executors.recomputation import on_duckdb  # noqa: E402
from views.definition import Definition  # noqa: E402
from views.render import query_of  # noqa: E402

KEPT = Path(__file__).with_name("fuzz_failures.txt")
DIGITS = 4
"""After the point; engines differ in the type of a mean of decimals."""
SEEDS_PER_PROCESS = 100
"""A session keeps every temporary view that was ever made in it."""
ATTEMPTS = 150
"""How many smaller cases are tried for a failing one."""
REPORT_SECONDS = 5


class BuiltByRules(Case):
    """Builds each view from its rules at first: Sail lacks parts of SQL, and errs in others, that the rules avoid."""

    def definitions(self) -> dict[str, Definition]:
        found = super().definitions()
        return {view: replace(d, query=query_of(d.program)) if d.program else d for view, d in found.items()}


@dataclass(frozen=True)
class Outcome:
    seed: int
    views: int = 0
    refused: int = 0
    """Views that no executor keeps."""
    failure: str = ""


def incremental() -> list[Executor]:
    return [each for name, each in sorted(executors().items()) if each.stores and name != "recompute"]


def check(case: Case, session: Any, engine: str) -> set[str]:
    """Check the case with each incremental executor; the views that one of them keeps."""
    if engine == "sail":
        case = BuiltByRules(case.views, case.tables, case.transactions, case.keys)
    answers = [on_duckdb(case.views, state) for state in case.states()]
    kept = set()
    for executor in incremental():
        known = iter(answers)
        with tempfile.TemporaryDirectory() as folder:
            kept |= check_rows(executor, case, session, Path(folder), lambda _, __: next(known), digits=DIGITS)  # noqa: B023
    return kept


def failure(case: Case, session: Any, engine: str) -> Exception | None:
    try:
        check(case, session, engine)
    except Exception as error:  # noqa: BLE001  whatever goes wrong is what is looked for
        return error
    return None


def reduced(case: Case, error: Exception, session: Any, engine: str) -> tuple[Case, Exception]:
    """The smallest case found that fails in the same way."""
    candidates = smaller(case)
    for _ in range(ATTEMPTS):
        candidate = next(candidates, None)
        if candidate is None:
            break
        found = failure(candidate, session, engine) if possible(candidate) else None
        if type(found) is type(error):
            case, error, candidates = candidate, found, smaller(candidate)
    return case, error


def smaller(case: Case) -> Iterator[Case]:
    """The case with one view and what that one reads, then without a transaction, then without a row."""
    for view in case.views:
        views, tables = (_below(view, case.views) | {view}), _below(view, {**case.views, **case.tables})
        if len(views) < len(case.views) or len(tables - views) < len(case.tables):
            moves = [{t: change for t, change in move.items() if t in tables} for move in case.transactions]
            yield Case(
                {name: sql for name, sql in case.views.items() if name in views},
                {name: rows for name, rows in case.tables.items() if name in tables},
                [move for move in moves if move],
                {name: key for name, key in case.keys.items() if name in tables},
            )
    for place, _ in enumerate(case.transactions):
        yield replace(case, transactions=[*case.transactions[:place], *case.transactions[place + 1 :]])
    for name, rows in case.tables.items():
        for place in range(rows.num_rows):
            fewer = pa.concat_tables([rows.slice(0, place), rows.slice(place + 1)])
            yield replace(case, tables={**case.tables, name: fewer})


def possible(case: Case) -> bool:
    """Whether every row that the transactions delete is there."""
    try:
        return bool(list(case.states()))
    except ValueError:
        return False


def _below(view: str, relations: Mapping[str, Any]) -> set[str]:
    """What a view reads, at any depth; the names are words of their own."""
    sql = relations.get(view)
    read = {name for name in relations if isinstance(sql, str) and name != view and re.search(rf"\b{name}\b", sql)}
    return read.union(*(_below(name, relations) for name in read))


def described(case: Case) -> str:
    tables = [
        f"  {name}({', '.join(f'{f.name} {f.type}' for f in rows.schema)}; key {', '.join(case.keys.get(name, ()))})"
        f"\n    {shown(rows)}"
        for name, rows in case.tables.items()
    ]
    views = [f"  {name}: {sql}" for name, sql in case.views.items()]
    moves = [
        f"  transaction {number}: "
        + "; ".join(f"{name} + {shown(come)} - {shown(go)}" for name, (come, go) in move.items())
        for number, move in enumerate(case.transactions, 1)
    ]
    return "\n".join([*tables, *views, *moves])


def shown(rows: pa.Table | None) -> str:
    return str([tuple(row.values()) for row in rows.to_pylist()] if rows is not None else [])


@cache
def _session(engine: str) -> Any:
    """The session of this process; each takes its own."""
    session = open_session(engine, app_name="fuzz")
    if engine == "sail":
        session.client.disable_reattachable_execute()  # type: ignore[attr-defined]  # saves a fifth of the time
    return session


def run_seed(seed: int, engine: str) -> Outcome:
    case, session = random_case(seed), _session(engine)
    error = failure(case, session, engine)
    if error is None:
        return Outcome(seed, len(case.views))
    small, error = reduced(case, error, session, engine)
    return Outcome(seed, len(case.views), f"seed {seed}: {type(error).__name__}: {error}\n{described(small)}")


def outcomes(first: int, engine: str, workers: int) -> Iterator[Outcome]:
    """What the seeds from the first one on come to, as they end."""
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, max_tasks_per_child=SEEDS_PER_PROCESS) as pool:
        seeds = itertools.count(first)
        running: set[Future[Outcome]] = set()
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
    cases, failed = 0, []
    for outcome in outcomes(given.seed, given.engine, given.workers):
        cases += outcome.views
        if outcome.failure:
            failed.append(outcome.seed)
            print(outcome.failure, flush=True)
        now = time.monotonic()
        if now - told > REPORT_SECONDS or cases >= given.cases:
            told = now
            print(f"{cases:,} cases, {cases / (now - started):.1f}/s, {len(failed)} seeds failed", flush=True)
        if cases >= given.cases:
            break
    with KEPT.open("a") as kept:
        kept.writelines(f"{seed}\n" for seed in sorted(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
