"""Kills processes at random points of what they do, and checks what they leave.

    python tests/kill/kill.py --points 200 --seed 1

Each point starts a process that works on a bank (`tests/kill/bank.py`), ends it with SIGKILL at a moment drawn from
the seed, and checks: every table opens, after one refresh every view equals recompute, no transaction is lost or
doubled. In a crowd an updater works at once with two refreshers, or with one and somebody who switches views, and some
of them die.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from storage.engine import open_session  # noqa: E402
from tests.kill.bank import Bank  # noqa: E402

OPERATIONS = ("update", "refresh", "switch", "replan", "crowd")
CROWDS = (("update", "follow", "follow"), ("update", "follow", "turn"))
POINTS_PER_BANK = 20
PATIENCE_SECONDS = 300.0


@dataclass
class Worker:
    """A process that works, in a group of its own, so that its engine dies with it."""

    operation: str
    process: subprocess.Popen[str]
    log: IO[str]
    heard: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, bank: Bank, operation: str, seed: str, fraction: float | None = None) -> Worker:
        command = [sys.executable, str(ROOT / "tests" / "kill" / "worker.py"), str(bank.folder), bank.engine]
        command += [operation, seed, *([] if fraction is None else [str(fraction)])]
        log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True, bufsize=1
        )
        return cls(operation, process, log)

    def hear(self, word: str) -> str:
        """Wait until it says something that begins with a word; also its end is an answer, the empty one."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if not select.select([self.process.stdout], [], [], 1.0)[0]:
                continue
            line = self.process.stdout.readline()
            if not line:
                return ""
            self.heard.append(line.strip())
            if line.startswith(word):
                return line.strip()
        said = f"{self.operation} said no {word!r} within {PATIENCE_SECONDS:.0f} s: {self.heard[-3:]}"
        raise AssertionError(f"{said}\n{self.stack()}")

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Let it finish its round."""
        self.process.terminate()
        try:
            self.process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.operation} did not stop: {self.heard[-3:]}\n{self.stack()}") from None

    def stack(self) -> str:
        """Where it hangs."""
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(2)
        self.log.seek(0)
        return self.log.read()[-6000:]

    def check(self, *, killed: bool) -> None:
        """It ended as it was to end, and not by an error of its own."""
        code = self.process.returncode
        self.log.seek(0)
        wanted = -signal.SIGKILL if killed else 0
        assert code == wanted, f"{self.operation} ended with {code}, not {wanted}:\n{self.log.read()[-3000:]}"


def die(bank: Bank, operation: str, random: Random) -> str:
    """Kill a process in the midst of an operation; says where."""
    by_event = random.random() < 0.5
    fraction, rounds = random.random(), random.randint(1, 3)
    worker = Worker.start(bank, operation, str(random.random()), fraction if by_event else None)
    if by_event:
        where = worker.hear("dies at")
        worker.process.wait()
    else:
        seconds = 0.0
        for _ in range(rounds):
            end = worker.hear("end")
            seconds = float(end.split()[1]) if end else 0.0
        worker.hear("begin")
        time.sleep(fraction * seconds)
        where = f"dies {fraction:.0%} into round {rounds + 1}"
        worker.kill()
    worker.check(killed=True)
    return where


def crowd(bank: Bank, random: Random, dying: int) -> str:
    """An updater and two refreshers at once, or one and somebody who switches views, of whom some die."""
    workers = [Worker.start(bank, each, str(random.random())) for each in random.choice(CROWDS)]
    try:
        for worker in workers:
            worker.hear("end")
        doomed = random.sample(workers, dying)
        for worker in doomed:
            time.sleep(random.uniform(0, 0.3))
            worker.kill()
        time.sleep(random.uniform(0.2, 1.0))
        for worker in workers:
            if worker not in doomed:
                worker.stop()
        for worker in workers:
            worker.check(killed=worker in doomed)
    finally:
        for worker in workers:
            if worker.process.poll() is None:
                worker.kill()
    return f"{', '.join(worker.operation for worker in doomed) or 'nobody'} died"


def check(bank: Bank, spark: Any, operation: str) -> None:
    """What must be so after a death."""
    bank.check_readable()
    bank.check_right(bank.advisor(spark))
    if bank.is_switching():
        advisor = bank.advisor(spark)
        advisor.recommend()
        advisor.apply()  # which goes on with what was interrupted
        assert not any(each.switching for each in advisor.status())
        bank.check_right(advisor)
    if operation == "replan":
        bank.advisor(spark).replan(apply=True)
        bank.check_right(bank.advisor(spark))


def points(folder: Path, spark: Any, engine: str, operations: Sequence[str], count: int, seed: object) -> Iterator[str]:
    """Kill so many processes, one after the other, and check after each; says of each where it died."""
    bank = Bank(folder, engine)
    for number in range(count):
        random = Random(f"{seed}/{number}")
        if number % POINTS_PER_BANK == 0:
            bank = Bank(folder / f"bank{number:04}", engine)
            bank.folder.mkdir(parents=True)
            bank.found()
            bank.advisor(spark).apply()
        operation = operations[number % len(operations)]
        bank.price()  # whatever a night has learned
        where = crowd(bank, random, random.randint(0, 3)) if operation == "crowd" else die(bank, operation, random)
        check(bank, spark, operation)
        ran = ", ".join(f"{name} {times}" for name, times in sorted(bank.ran().items()))
        yield f"{number} {operation}: {where}; right ({len(bank.journalled())} lines in the journal; ran {ran})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--engine", choices=("sail", "spark"), default="sail")
    parser.add_argument("--operations", nargs="+", choices=OPERATIONS, default=OPERATIONS)
    given = parser.parse_args()
    spark = open_session(given.engine)
    done: Counter[str] = Counter()
    folder = Path(tempfile.mkdtemp(prefix="kill"))
    try:
        for line in points(folder, spark, given.engine, given.operations, given.points, given.seed):
            done[line.split()[1].rstrip(":")] += 1
            print(line, flush=True)
    except AssertionError as error:
        print(f"FAILED at point {done.total()} of seed {given.seed} (left in {folder}): {error}", flush=True)
        return 1
    print(f"{done.total()} points, all right: {', '.join(f'{name} {n}' for name, n in done.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
