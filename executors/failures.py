"""The last failure of a view's refresh, beside the stored views: there until the next refresh succeeds."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from views.errors import AdvisorError

FOLDER = Path("_advisor") / "failed"


@dataclass(frozen=True)
class Failure:
    """Why a view could not be brought up to date, and when, in seconds since the epoch."""

    moment: float
    error: str


def note_failure(warehouse: Path, view: str, moment: float, error: AdvisorError) -> None:
    """Keep a failure for whoever asks later; where even that cannot be written, the failure itself is what matters."""
    path = warehouse / FOLDER / f"{view}.json"
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps({"moment": moment, "error": str(error)}), encoding="utf-8")
        unfinished.replace(path)


def forget_failure(warehouse: Path, view: str) -> None:
    with contextlib.suppress(OSError):
        (warehouse / FOLDER / f"{view}.json").unlink()


def last_failure(warehouse: Path, view: str) -> Failure | None:
    """The failure of the last refresh; None where it succeeded."""
    try:
        found = json.loads((warehouse / FOLDER / f"{view}.json").read_text(encoding="utf-8"))
        return Failure(float(found["moment"]), str(found["error"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
