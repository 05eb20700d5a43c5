"""Keeps views up to date while it runs: follows the Delta logs of the tables, whoever writes them.

    immediate              with each new version of a table under it
    deferred, by a clock   before its rows are as old as they may get
    deferred, by reads     when nothing has changed for a while: a read then finds nothing left to do

A view whose refresh fails is tried again after a while, longer each time; the others are kept meanwhile. What is
pending is always read from the logs, so a watcher that was away, or died, goes on where the views are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from advisor.api import Advisor
from executors.runner import Refresh, Runner
from executors.standing import STRUCTURAL
from views.catalog import CLOCK, NOW
from views.errors import AdvisorError

LONGEST_WAIT_SECONDS = 300.0
"""Between two attempts at a view that fails, and between two looks at how large the tables are."""


@dataclass
class Watcher:
    """Refreshes what is due; `tick` looks once, `run` goes on until it is told to stop."""

    advisor: Advisor
    interval: float = 1.0
    """Seconds between two looks at the logs."""
    idle: float = 60.0
    """Seconds without a new version after which deferred views are refreshed; 0 leaves them to reads."""
    told: Callable[[Refresh], None] = lambda _: None
    warned: Callable[[str], None] = lambda _: None
    _versions: dict[str, int] = field(default_factory=dict)
    _moved: float = 0.0
    """When a table was last seen to move."""
    _measured: float = 0.0
    """When it was last looked how large the tables are."""
    _files: tuple[tuple[str, int], ...] = ()
    """The workload's files as they were read."""
    _waits: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of views that failed: until when, and for how long."""
    _trouble: str = ""

    def run(self, stopped: Event) -> None:
        """Look again and again, until the event is set; what keeps a look from working is said once."""
        while not stopped.is_set():
            try:
                self.tick(stopped)
                self._trouble = ""
            except AdvisorError as error:
                if str(error) != self._trouble:
                    self.warned(str(error))
                self._trouble = str(error)
            stopped.wait(self.interval)

    def tick(self, stopped: Event | None = None) -> list[Refresh]:
        """Refresh what is due now."""
        self._follow_workload()
        runner, done = self.advisor.runner(), list[Refresh]()
        self._look_at(runner)
        with self.advisor.recorder.command("watch", at_once=False):
            for view in self._due(runner):
                if stopped is not None and stopped.is_set():
                    break
                found = runner.attempt(view)
                if found.error is None:
                    self._waits.pop(view, None)
                else:
                    _, waited = self._waits.get(view, (0.0, self.interval))
                    wait = min(2 * waited, LONGEST_WAIT_SECONDS)
                    self._waits[view] = (time.time() + wait, wait)
                if found.ran is not None or found.error is not None:
                    done.append(found)
                    self.told(found)
        return done

    def _due(self, runner: Runner) -> Iterator[str]:
        """The views to refresh, each after those it reads, looked at when it is its turn."""
        now = time.time()
        for view in runner.definitions:
            if runner.is_stored(view) and self._waits.get(view, (0.0, 0.0))[0] <= now and self._is_due(runner, view):
                yield view

    def _is_due(self, runner: Runner, view: str) -> bool:
        kept, pending = runner.kept(view), runner.pending(view)
        if pending == [CLOCK] and NOW in runner.clock_columns(view):
            return False  # the moment always moves; its reads see to it
        if not pending or set(pending) & set(STRUCTURAL) or kept.strategy == "immediate":
            return bool(pending)
        if kept.every_seconds is None:
            return 0 < self.idle <= time.time() - self._moved
        age = runner.age(view)
        takes = min((each.seconds for each in runner.forecasts(view).values()), default=0.0)
        return age is None or age + 2 * self.interval + takes >= kept.every_seconds

    def _look_at(self, runner: Runner) -> None:
        """Whether tables have moved; their sizes are looked at again now and then, so that prices stay right."""
        now, versions = time.time(), {name: table.version for name, table in runner.tables.items()}
        if versions != self._versions:
            self._versions, self._moved = versions, now
            if now - self._measured > LONGEST_WAIT_SECONDS:
                if self._measured:
                    self.advisor.look_again()
                self._measured = now

    def _follow_workload(self) -> None:
        """Read the workload again when one of its files has changed; a wrong one is said, and the old one kept."""
        files = tuple(_stamps(self.advisor))
        if self._files and files != self._files:
            try:
                changed = Advisor(self.advisor.workload.file, self.advisor.spark)
                _ = changed.definitions
                self.advisor = changed
                self._waits.clear()
                self.warned("the workload has changed and was read again")
            except AdvisorError as error:
                self.warned(f"the workload has changed and cannot be read, so the old one is kept: {error}")
        self._files = files


def _stamps(advisor: Advisor) -> Iterator[tuple[str, int]]:
    """The workload's files, and when each was last written."""
    for name in advisor.workload.digests:
        for path in (advisor.workload.folder / name, Path(name)):
            if path.is_file():
                yield str(path), path.stat().st_mtime_ns
                break
