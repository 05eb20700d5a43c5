"""The active plan: how each view is kept since the last `apply`, beside the workload in `.advisor/plan.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.proposal import FOLDER, save
from views.errors import WorkloadError

if TYPE_CHECKING:
    from executors.runner import Keeping

SCHEMA_VERSION = 1


def read_plan(folder: Path) -> dict[str, Keeping]:
    """The plan in force; empty before the first `apply`."""
    from executors.runner import Keeping

    path = folder / FOLDER / "plan.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (json.JSONDecodeError, OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{path}: cannot be read: {error}", "restore it, or remove it and apply again") from None
    if content.get("schema_version") != SCHEMA_VERSION:
        raise WorkloadError(f"{path}: was written by another version of the advisor", "remove it and apply again")
    return {view: Keeping(kept["strategy"], kept["algorithm"]) for view, kept in content["views"].items()}


def write_plan(folder: Path, plan: Mapping[str, Keeping]) -> Path:
    """Save the plan, whole or not at all; sorted, so that a change reads well in a review."""
    views = {view: {"strategy": kept.strategy, "algorithm": kept.algorithm} for view, kept in sorted(plan.items())}
    text = json.dumps({"schema_version": SCHEMA_VERSION, "views": views}, indent=2, sort_keys=True) + "\n"
    return save(folder / FOLDER / "plan.json", text)
