"""Puts a plan into force on live data: each view is built beside what is there, then switched in one write of the plan.

What is under way stands in the plan's file before the first view is touched, so an interrupted `apply` or `rollback`
is gone on with by the same command, and reads are right all the while: until a view is switched they are answered as
before. What no plan stores any more is dropped at the end.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from advisor.plan import ActivePlan, Command, Switching, keep_earlier, read_plan, write_plan
from advisor.proposal import FOLDER
from advisor.recording import Recorder
from executors.keeping import Keeping
from executors.runner import Refresh, Runner
from views.errors import ConflictError, ExecutionError

LOCK = "lock"


@dataclass(frozen=True)
class Switch:
    """What is about to become of one view."""

    view: str
    before: Keeping
    after: Keeping
    build_seconds: float = 0.0
    """What storing its rows is expected to take; 0 where they need not be stored anew, or nobody knows."""
    saving_seconds: float = 0.0
    """A day, against how it is kept now."""
    note: str = ""

    @property
    def changes(self) -> bool:
        return self.before != self.after

    @property
    def payback_days(self) -> float | None:
        """After how many days building it has paid; None where it does not."""
        return self.build_seconds / self.saving_seconds if self.saving_seconds > 0 else None


@dataclass(frozen=True)
class Applied:
    """One view after `apply` or `rollback`: how it is kept now, and what that took."""

    switch: Switch
    built: Refresh | None

    @property
    def view(self) -> str:
        return self.switch.view

    @property
    def keeping(self) -> Keeping:
        return self.switch.after

    @property
    def note(self) -> str:
        return self.switch.note


@dataclass(frozen=True)
class Application:
    """A plan about to be put into force, view by view, each after those it reads."""

    folder: Path
    runner: Runner
    """Opened for writing."""
    switches: tuple[Switch, ...]
    command: Command
    proposal: str
    """The digest of the proposal that says so."""
    recorder: Recorder
    dropped: list[str] = field(default_factory=list)
    """Tables that no plan stores any more, once they are gone."""

    def carry_out(self) -> Iterator[Applied]:
        """Switch the views one after the other; what is done stays done when a later one fails."""
        with _alone(self.folder), self.recorder.command(self.command):
            active = read_plan(self.folder)
            views = {view: kept for view, kept in active.views.items() if view in self.runner.definitions}
            known = {*active.views, *self.runner.definitions}
            waiting = {each.view: each.after for each in self.switches if each.changes}
            self.runner.keeping = {**views, **waiting}
            if waiting:
                if active.switching is None:
                    keep_earlier(self.folder)
                self._save(views, active, waiting)
            for each in self.switches:
                built = self.runner.refresh(each.view) if each.after.stored else None
                views[each.view] = each.after
                if waiting.pop(each.view, None) is not None:
                    self._save(views, active, waiting)
                yield Applied(each, built)
            done = ActivePlan(views, self.proposal)
            if done != active:
                write_plan(self.folder, done)
            self.runner.keeping = views
            self.dropped.extend(self.runner.drop_leftovers(known))

    def _save(self, views: Mapping[str, Keeping], before: ActivePlan, waiting: Mapping[str, Keeping]) -> None:
        """Say how far it has come, and what is still to be switched."""
        write_plan(self.folder, ActivePlan(views, before.proposal, Switching(self.command, self.proposal, waiting)))


def switches(
    runner: Runner,
    before: Mapping[str, Keeping],
    after: Mapping[str, tuple[Keeping, str]],
    expected: Mapping[str, tuple[float, float]],
) -> tuple[Switch, ...]:
    """What becomes of each view; `expected` has the seconds to build one and those that it saves a day."""
    runner.keeping = {**before, **{view: kept for view, (kept, _) in after.items()}}
    found = []
    for view, (kept, note) in after.items():
        build, saving = expected.get(view, (0.0, 0.0))
        if not kept.stored or not runner.is_to_be_built(view):
            build = 0.0
        found.append(Switch(view, before.get(view, Keeping()), kept, build, saving, note))
    return tuple(found)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else puts a plan into force meanwhile; the lock goes with the process."""
    path = folder / FOLDER / LOCK
    try:
        path.parent.mkdir(exist_ok=True)
        handle = path.open("w")
    except OSError as error:
        raise ExecutionError(f"{path}: cannot be written: {error.strerror}", "make the folder writable") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError(
                f"{path.parent}: another apply or rollback is at work", "wait until it has ended"
            ) from None
        yield
