"""A proposal as it was saved: what it chose for each view, and whether what it was made from has moved since.

Files must be the same to the byte. A table may change, as tables do, within the range in which the proposal took its
numbers to lie, or by a tenth: what was cheapest then is cheapest now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advisor.proposal import FILE, FOLDER, SCHEMA_VERSION
from profiles.statistics import TableStatistics
from profiles.workload import Workload
from views.errors import WorkloadError

ABOUT_THE_SAME = 1.1
_NUMBERS = {
    "rows": "rows",
    "updates_per_day": "updates a day",
    "rows_per_update": "rows an update",
}


@dataclass(frozen=True)
class Chosen:
    """What a proposal says of one view."""

    strategy: str
    algorithm: str | None
    every_seconds: float | None
    today: str
    """The candidate in use when it was made."""
    candidates: Mapping[str, float]
    """Seconds a day of each."""
    build_seconds: float


@dataclass(frozen=True)
class SavedProposal:
    """What `apply` needs of a proposal."""

    views: Mapping[str, Chosen]
    inputs: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Mapping[str, Any]]]
    digest: str

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> SavedProposal:
        """From the values of a proposal's file."""
        views = {
            view: Chosen(
                found["strategy"],
                found["algorithm"],
                found["every_seconds"],
                found["today"]["candidate"],
                found["candidates"],
                found["build"]["seconds"],
            )
            for view, found in content["views"].items()
        }
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        return cls(views, content["inputs"], content["tables"], digest)


class StaleProposalError(WorkloadError):
    """A proposal whose inputs are not any more what it was made from."""


def read_proposal(folder: Path) -> SavedProposal | None:
    """The proposal beside a workload; None where there is none."""
    path = folder / FOLDER / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("schema_version") != SCHEMA_VERSION:
            raise StaleProposalError(f"{path}: was written by another version of the advisor", "recommend again")
        return SavedProposal.of(content)
    except FileNotFoundError:
        return None
    except (ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        raise WorkloadError(f"{path}: cannot be read: {error}", "remove it and recommend again") from None


def moved(saved: SavedProposal, workload: Workload, statistics: Mapping[str, TableStatistics] | None) -> Iterator[str]:
    """What is no longer as the proposal took it to be, in words; without statistics only of the workload's files."""
    before = {name.removeprefix("file "): digest for name, digest in saved.inputs.items() if name.startswith("file ")}
    now = {name: digest[:16] for name, digest in workload.digests.items()}
    if sorted(before.values()) != sorted(now.values()):
        changed = [name for name in now if now[name] not in before.values()]
        gone = [name for name in before if before[name] not in now.values()]
        yield f"{', '.join(changed or gone)} {'changed' if changed else 'is no longer part of the workload'}"
    if statistics is not None:
        for name in saved.tables:
            yield from _moved_table(name, saved, statistics.get(name))


def _moved_table(name: str, saved: SavedProposal, known: TableStatistics | None) -> Iterator[str]:
    if known is None:
        yield f"table {name} is gone"
        return
    then = _identity(saved.inputs.get(f"table {name}", ""))
    if then and _identity(known.fingerprint) not in ("", then):
        yield f"table {name} is another one"
        return
    for each, words in _NUMBERS.items():
        value, estimate = getattr(known, each).value, saved.tables[name][each]
        if not estimate["lower"] / ABOUT_THE_SAME <= value <= estimate["upper"] * ABOUT_THE_SAME:
            yield f"{name} has {value:,.4g} {words} instead of {estimate['value']:,.4g}"


def _identity(fingerprint: str) -> str:
    """The part of a table's fingerprint that stays when rows change.

    >>> _identity("delta 17e2 version 4"), _identity("files 99aa")
    ('17e2', '')
    """
    return fingerprint.split()[1] if fingerprint.startswith("delta ") else ""
