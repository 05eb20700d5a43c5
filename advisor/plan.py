"""The active plan: how each view is kept since the last `apply`, beside the workload in `.advisor/plan.json`.

The plans before it lie in `.advisor/plans/`, numbered, oldest first. Sorted keys and no clock times, so that a change
reads well in a review. While an `apply` or a `rollback` is under way, or was interrupted, the file also says what was
still to be switched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from advisor.proposal import FOLDER
from executors.keeping import Keeping
from profiles.saving import save
from views.errors import ExecutionError, WorkloadError

SCHEMA_VERSION = 1
FILE, EARLIER = "plan.json", "plans"
MOST_EARLIER = 50
"""Plans that are kept beside the active one."""


Command = Literal["apply", "rollback"]


@dataclass(frozen=True)
class Switching:
    """What is still to be switched, by which command, and the proposal that it follows."""

    command: Command
    proposal: str
    views: Mapping[str, Keeping]


@dataclass(frozen=True)
class ActivePlan:
    """How views are kept, and the proposal that said so."""

    views: Mapping[str, Keeping] = field(default_factory=dict)
    proposal: str = ""
    """The digest of the proposal that was applied last."""
    switching: Switching | None = None

    def text(self) -> str:
        """The bytes of the file, as text."""
        content = {"schema_version": SCHEMA_VERSION, "proposal": self.proposal, "views": _described(self.views)}
        if self.switching is not None:
            rest = self.switching
            content["switching"] = {
                "command": rest.command,
                "proposal": rest.proposal,
                "views": _described(rest.views),
            }
        return json.dumps(content, indent=2, sort_keys=True) + "\n"


def read_plan(folder: Path) -> ActivePlan:
    """The plan in force; empty before the first `apply`."""
    return _read(folder / FOLDER / FILE) or ActivePlan()


def write_plan(folder: Path, plan: ActivePlan) -> Path:
    """Save the plan, whole or not at all."""
    return save(folder / FOLDER / FILE, plan.text())


def earlier_plans(folder: Path) -> list[tuple[int, ActivePlan]]:
    """The plans before the active one with their numbers, oldest first."""
    found = ((number, _read(path)) for number, path in _earlier(folder))
    return [(number, plan) for number, plan in found if plan is not None]


def keep_earlier(folder: Path) -> None:
    """Put the active plan among the earlier ones, unless it keeps views as the last of these does.

    Before the first one nothing was stored: that is a plan too.
    """
    active, earlier = read_plan(folder), earlier_plans(folder)
    if earlier and earlier[-1][1].views == active.views:
        return
    number = earlier[-1][0] + 1 if earlier else 1
    save(folder / FOLDER / EARLIER / f"{number:04}.json", active.text())
    for _, path in _earlier(folder)[:-MOST_EARLIER]:
        path.unlink(missing_ok=True)


def plan_before(folder: Path) -> ActivePlan:
    """The plan to go back to: the newest earlier one that keeps a view otherwise than the active one.

    Of an interrupted `apply` it is the one before that; an interrupted `rollback` is gone on with.
    """
    active, earlier = read_plan(folder), earlier_plans(folder)
    rest = active.switching
    if rest is not None and rest.command == "rollback":
        return ActivePlan({**active.views, **rest.views}, rest.proposal)
    for _, plan in reversed(earlier):
        if rest is not None or plan.views != active.views:
            return plan
    raise ExecutionError("there is no plan before this one", "advisor status says how views are kept")


def plan_numbered(folder: Path, number: int) -> ActivePlan:
    """An earlier plan by its number."""
    found = dict(earlier_plans(folder))
    if number not in found:
        numbers = ", ".join(map(str, found)) or "none"
        raise WorkloadError(f"there is no earlier plan {number}", f"those of {folder / FOLDER / EARLIER}: {numbers}")
    return found[number]


def _earlier(folder: Path) -> list[tuple[int, Path]]:
    paths = (folder / FOLDER / EARLIER).glob("[0-9]*.json")
    return sorted((int(path.stem), path) for path in paths if path.stem.isdigit())


def _described(views: Mapping[str, Keeping]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for view, kept in views.items():
        found[view] = {"strategy": kept.strategy, "algorithm": kept.algorithm}
        if kept.every_seconds is not None:
            found[view]["every_seconds"] = kept.every_seconds
    return found


def _keeping(views: Mapping[str, Mapping[str, Any]]) -> dict[str, Keeping]:
    return {
        view: Keeping(kept["strategy"], kept["algorithm"], kept.get("every_seconds")) for view, kept in views.items()
    }


def _read(path: Path) -> ActivePlan | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("schema_version") != SCHEMA_VERSION:
            raise WorkloadError(f"{path}: was written by another version of the advisor", "remove it and apply again")
        rest = content.get("switching")
        switching = None if rest is None else Switching(rest["command"], rest["proposal"], _keeping(rest["views"]))
        return ActivePlan(_keeping(content["views"]), content.get("proposal", ""), switching)
    except FileNotFoundError:
        return None
    except (ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        raise WorkloadError(f"{path}: cannot be read: {error}", "restore it, or remove it and apply again") from None
