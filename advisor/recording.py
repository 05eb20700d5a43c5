"""Keeps what commands do as measurements: gathered while a command runs, appended to the warehouse when it ends.

What cannot be written is said once and lost: the data work stands.
"""

from __future__ import annotations

import atexit
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.judge import PriceJudge
from executors.forecast import Pending
from profiles.coefficients import this_machine
from profiles.history import change_size
from profiles.measurements import Measurement, append
from views.errors import AdvisorError

if TYPE_CHECKING:
    from executors.forecast import Forecast
    from executors.reading import Answer
    from executors.runner import Refresh, Runner
    from views.rules import Expr

WAIT_SECONDS = 60.0
MOST_WAITING = 500
"""Reads of a process that stays are written together: when so many wait, or one has waited so long."""


@dataclass
class Recorder:
    """The measurements of one warehouse that this process makes."""

    warehouse: Path
    engine: str
    version: Callable[[], str]
    """What the engine calls itself; asked when something was measured, so that none is started for it."""
    warn: Callable[[str], None]
    rehearsed: bool = False
    """Whether everything happens in a scratch copy."""
    _waiting: list[Measurement] = field(default_factory=list)
    _commands: list[tuple[str, str]] = field(default_factory=list)
    """The commands that run, the outermost first, each with its id."""
    _broken: bool = False
    refresh_seconds: float = 0.0
    """What refreshes have taken so far: what surrounds them counts without them."""

    def __post_init__(self) -> None:
        atexit.register(self.flush)

    @contextmanager
    def command(self, name: str, *, at_once: bool = True) -> Iterator[None]:
        """What happens within belongs to one command, the outermost; its measurements are written when it ends.

        Unless it says `at_once`, they may wait for those of later ones.
        """
        self._commands.append(self._commands[0] if self._commands else (name, uuid.uuid4().hex[:12]))
        try:
            yield
        finally:
            self._commands.pop()
            if not self._commands and (at_once or self._is_due()):
                self.flush()

    @property
    def waiting(self) -> tuple[Measurement, ...]:
        """What was measured and is not written yet."""
        return tuple(self._waiting)

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting = self._waiting, []
        try:
            append(self.warehouse, waiting)
        except AdvisorError as error:
            if not self._broken:
                self.warn(f"the work is done, but its measurements are lost: {error}")
            self._broken = True

    def _is_due(self) -> bool:
        waiting = self._waiting
        return len(waiting) >= MOST_WAITING or (bool(waiting) and time.time() - waiting[0].at > WAIT_SECONDS)

    # What is measured

    def refreshed(self, runner: Runner, done: Refresh) -> None:
        """A refresh that did something, or failed."""
        kept = runner.kept(done.view)
        self.refresh_seconds += done.seconds
        self._add(
            "refresh",
            done.view,
            done.seconds,
            done.forecast,
            strategy=kept.strategy,
            planned=done.planned,
            ran=done.ran,
            because=done.because,
            actual=done.actual,
            error=None if done.error is None else done.error.message,
        )

    def answered(
        self,
        runner: Runner,
        answer: Answer,
        where: Expr | None,
        seconds: float | None = None,
        rows: int | None = None,
    ) -> None:
        """A read; without the refreshes before it, which are measured by themselves."""
        kept, forecast = runner.kept(answer.view), answer.forecast
        if forecast is None and isinstance(runner.judge, PriceJudge) and answer.route == "query_modification":
            forecast = runner.judge.evaluated(answer.view, runner.stored_views, where)
        self._add(
            "query",
            answer.view,
            seconds,
            forecast,
            strategy=kept.strategy,
            planned=kept.algorithm if kept.stored else None,
            ran=answer.route,
            because=answer.because,
            filter=None if where is None else where.sql(dialect="spark"),
            stale_seconds=answer.stale_seconds,
            actual={} if rows is None else {"driver_rows": float(rows)},
        )

    def updated(self, runner: Runner, versions: Mapping[str, int], seconds: float) -> None:
        """An update transaction; without the refreshes that it set off."""
        if not versions:
            return
        actual = {"commits": 0.0, "files_written": 0.0, "files_removed": 0.0, "tuples": 0.0}
        sizes = {}
        for name, version in versions.items():
            log = runner.tables[name].log
            commits = log.commits(version - 1, version) or []
            actual["commits"] += len(commits)
            actual["files_written"] += sum(len(commit.adds) for commit in commits)
            actual["files_removed"] += sum(len(commit.removes) for commit in commits)
            if (size := change_size(commits, log.root)) is not None:
                sizes[name] = Pending(*size)
                actual["tuples"] += sizes[name].rows
        forecast = runner.judge.update(sizes) if isinstance(runner.judge, PriceJudge) else None
        self._add("update", ",".join(sorted(versions)), seconds, forecast, actual=actual)

    def sampled(self, tables: Mapping[str, float], seconds: float) -> None:
        """A statistics run over some tables, and the rows that were looked at of each."""
        actual = {"rows_read": sum(tables.values())}
        self._add("statistics", ",".join(sorted(tables)), seconds, None, actual=actual)

    def _add(self, kind: Any, subject: str, seconds: float | None, forecast: Forecast | None, **more: Any) -> None:
        command, command_id = self._commands[0] if self._commands else (kind, uuid.uuid4().hex[:12])
        self._waiting.append(
            Measurement(
                time.time(),
                command,
                command_id,
                kind,
                subject,
                seconds,
                self.engine,
                self.version(),
                this_machine(),
                predicted_seconds=None if forecast is None else forecast.seconds,
                predicted={} if forecast is None else forecast.quantities,
                rehearsed=self.rehearsed,
                **more,
            )
        )
