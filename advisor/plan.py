"""The active plan: how each view is kept since the last `apply`, beside the workload in `.advisor/plan.json`.

The plans before it lie in `.advisor/plans/`, numbered, oldest first. Sorted keys and no clock times, so that a change
reads well in a review.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advisor.proposal import FOLDER, save
from executors.keeping import Keeping
from views.errors import ExecutionError, WorkloadError

SCHEMA_VERSION = 1
FILE, EARLIER = "plan.json", "plans"
MOST_EARLIER = 50
"""Plans that are kept beside the active one."""


@dataclass(frozen=True)
class ActivePlan:
    """How views are kept, and the proposal that said so."""

    views: Mapping[str, Keeping] = field(default_factory=dict)
    proposal: str = ""
    """The digest of the proposal that was applied last."""

    def text(self) -> str:
        """The bytes of the file, as text."""
        views = {view: _described(kept) for view, kept in self.views.items()}
        content = {"schema_version": SCHEMA_VERSION, "proposal": self.proposal, "views": views}
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
    """Put the active plan among the earlier ones, unless it keeps views as the last of these does."""
    active, earlier = _read(folder / FOLDER / FILE), earlier_plans(folder)
    if active is None or (earlier and earlier[-1][1].views == active.views):
        return
    number = earlier[-1][0] + 1 if earlier else 1
    save(folder / FOLDER / EARLIER / f"{number:04}.json", active.text())
    for _, path in _earlier(folder)[:-MOST_EARLIER]:
        path.unlink(missing_ok=True)


def plan_before(folder: Path) -> ActivePlan:
    """The newest earlier plan that keeps a view otherwise than the active one."""
    active = read_plan(folder)
    for _, plan in reversed(earlier_plans(folder)):
        if plan.views != active.views:
            return plan
    raise ExecutionError("there is no plan before this one", "advisor status says how views are kept")


def _earlier(folder: Path) -> list[tuple[int, Path]]:
    paths = (folder / FOLDER / EARLIER).glob("[0-9]*.json")
    return sorted((int(path.stem), path) for path in paths if path.stem.isdigit())


def _described(kept: Keeping) -> dict[str, Any]:
    found: dict[str, Any] = {"strategy": kept.strategy, "algorithm": kept.algorithm}
    return found if kept.every_seconds is None else {**found, "every_seconds": kept.every_seconds}


def _read(path: Path) -> ActivePlan | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("schema_version") != SCHEMA_VERSION:
            raise WorkloadError(f"{path}: was written by another version of the advisor", "remove it and apply again")
        views = {
            view: Keeping(kept["strategy"], kept["algorithm"], kept.get("every_seconds"))
            for view, kept in content["views"].items()
        }
        return ActivePlan(views, content.get("proposal", ""))
    except FileNotFoundError:
        return None
    except (ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        raise WorkloadError(f"{path}: cannot be read: {error}", "restore it, or remove it and apply again") from None
