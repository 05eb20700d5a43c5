"""A process that does one operation on a bank again and again, until it is killed or told to stop.

    python tests/kill/worker.py FOLDER ENGINE OPERATION SEED [FRACTION]

It says `begin` and `end` on its standard output. With a fraction it kills itself, in the second round, after that part
of the files that the first one opened, linked, renamed and removed.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from advisor.api import Advisor  # noqa: E402
from tests.kill.bank import Bank  # noqa: E402
from views.errors import ConflictError  # noqa: E402

Round = Callable[[], None]
"""What is killed; what a round needs is prepared before."""


def update(bank: Bank, advisor: Advisor, random: Random) -> Round:
    """A transfer, and the immediate views with it."""
    return lambda: bank.transfer(advisor, random)


def refresh(bank: Bank, advisor: Advisor, random: Random) -> Round:
    """Stored views that are some transfers behind."""
    for _ in range(random.randint(1, 3)):
        bank.transfer(advisor, random)

    def work() -> None:
        advisor.refresh()

    return work


def switch(bank: Bank, advisor: Advisor, random: Random) -> Round:
    """Another plan, or the one before, with transfers pending."""
    bank.transfer(advisor, random)
    return turn(bank, advisor, random)


def turn(bank: Bank, advisor: Advisor, random: Random) -> Round:
    """The same, while another process updates."""
    if random.random() < 0.3:
        return lambda: _carry_out(lambda: advisor.rollback())
    bank.pin(bank.switched(random))
    other = bank.advisor(advisor.spark)
    other.recommend()
    return lambda: _carry_out(lambda: other.apply())


def replan(bank: Bank, advisor: Advisor, random: Random) -> Round:
    """A night, over other pins, with transfers pending."""
    bank.transfer(advisor, random)
    bank.pin(bank.switched(random))
    bank.price()
    other = bank.advisor(advisor.spark)
    return lambda: _carry_out(lambda: other.replan(apply=True))


def follow(bank: Bank, advisor: Advisor, random: Random) -> Round:
    """Refreshes while another process updates."""
    return lambda: (time.sleep(random.uniform(0, 0.05)), advisor.refresh())  # type: ignore[func-returns-value]


OPERATIONS: Mapping[str, Callable[[Bank, Advisor, Random], Round]] = {
    "update": update,
    "refresh": refresh,
    "switch": switch,
    "replan": replan,
    "turn": turn,
    "follow": follow,
}


def _carry_out(work: Callable[[], Any]) -> None:
    from views.errors import ExecutionError

    try:
        work()
    except ExecutionError as error:
        if "there is no plan before this one" not in str(error):
            raise


class Death:
    """Counts what happens to files below a folder, and ends the process at a chosen event."""

    EVENTS = ("open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir")

    def __init__(self, folder: str) -> None:
        self.folder, self.counting, self.count, self.at = folder, False, 0, 0
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.counting and event in self.EVENTS and str(arguments[0]).startswith(self.folder):
            self.count += 1
            if self.count == self.at:
                print(f"dies at {event} {str(arguments[0])[len(self.folder) + 1 :]}", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, engine: str, operation: str, seed: str, fraction: str | None = None) -> None:
    faulthandler.register(signal.SIGUSR1)
    bank, random, death = Bank(Path(folder), engine), Random(seed), Death(folder)
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    advisor = bank.advisor()
    advisor.runner()
    while not stopped:
        work = OPERATIONS[operation](bank, advisor, random)
        print("begin", flush=True)
        began = time.monotonic()
        death.count, death.counting = 0, True
        try:
            work()
        except ConflictError as error:
            print(f"conflict {error}", flush=True)
        death.counting = False
        if fraction is not None:
            death.at = max(1, round(float(fraction) * death.count))
        print(f"end {time.monotonic() - began:.4f} {death.count}", flush=True)
    print("stopped", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
