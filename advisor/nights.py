"""The nights of a workload: what each `replan` took for granted, found out, changed and got wrong.

`.advisor/nights/` holds one file for each, numbered, and `.advisor/history.md` says the same for people, newest first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from advisor.proposal import FOLDER, rounded
from advisor.wording import label
from profiles.saving import save
from profiles.words import duration, many, percent
from views.errors import WorkloadError

SCHEMA_VERSION = 1
NIGHTS, HISTORY = "nights", "history.md"
MOST_KEPT = 100
"""Nights that are kept."""


@dataclass(frozen=True)
class Change:
    """One view that should be kept otherwise than it is."""

    view: str
    before: str
    after: str
    seconds_before: float
    """A day."""
    seconds_after: float
    build_seconds: float
    reasons: tuple[str, ...]
    """What has moved since the last night, and why that is cheaper now."""
    applied: bool = False
    left: str = ""
    """Why it was not applied, where it should have been."""

    @property
    def saving_seconds(self) -> float:
        return self.seconds_before - self.seconds_after

    def text(self) -> str:
        """In a line."""
        costs = f"{duration(self.seconds_before)} → {duration(self.seconds_after)} a day"
        building = f", building {duration(self.build_seconds)}" if self.build_seconds else ""
        done = " · applied" if self.applied else f" · {self.left}" if self.left else ""
        return f"{self.view}: {label(self.before)} → {label(self.after)} · {costs}{building}{done}"


@dataclass(frozen=True)
class Kept:
    """How well the plan in force did for one view since the last night."""

    view: str
    candidate: str
    runs: int
    predicted_seconds: float
    """Of its refreshes and reads, as foreseen before each."""
    measured_seconds: float
    factor: float
    """The median factor between the two, whichever is larger."""
    best: str
    """What would have been the cheapest, as it is known now."""
    regret: float
    """By which part of that the plan was dearer."""


@dataclass(frozen=True)
class Night:
    """One `replan`."""

    number: int
    at: float
    updates: Mapping[str, float] = field(default_factory=dict)
    """By table, the update transactions a day that it went by."""
    queries: Mapping[str, float] = field(default_factory=dict)
    """By view, the reads a day that it went by."""
    moved: tuple[str, ...] = ()
    """Rates that were not what the night before went by, in words."""
    runs: int = 0
    """Measurements since the night before."""
    learned: bool = False
    """Whether new coefficients were taken."""
    error_before: float | None = None
    """The factor within which the coefficients of before predict half of the runs."""
    error_after: float | None = None
    """The same of fitted ones, for views that were left out of the fit."""
    coefficients: Mapping[str, float] = field(default_factory=dict)
    """What one of each quantity was taken to cost, in seconds."""
    changes: tuple[Change, ...] = ()
    stayed: Mapping[str, str] = field(default_factory=dict)
    """Views for which another way seems cheaper, and why they stay."""
    track: tuple[Kept, ...] = ()
    mistakes: tuple[str, ...] = ()
    """What the plan in force got wrong, by name."""

    @property
    def day(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M")

    @property
    def applied(self) -> tuple[str, ...]:
        return tuple(change.view for change in self.changes if change.applied)

    def as_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **asdict(self), "at": round(self.at, 3)}
        content["changes"] = {each.view: _without_view(each) for each in self.changes}
        content["track"] = {each.view: _without_view(each) for each in self.track}
        return content

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield f"{many(self.runs, 'run')} measured since the night before"
        yield from self.moved
        if self.error_before is not None and self.error_after is not None:
            taken = "new coefficients are taken" if self.learned else "the coefficients stay"
            yield f"{taken}: within {self.error_before:.2f} before, fitted ones within {self.error_after:.2f}"
        for change in self.changes:
            yield change.text()
            yield from (f"  because {reason}" for reason in change.reasons)
        if not self.changes:
            yield "nothing to change"
        for view, why in self.stayed.items():
            yield f"{view} stays: {why}"
        if self.track:
            measured, predicted = (sum(getattr(each, name) for each in self.track) for name in _SECONDS)
            worst = max(self.track, key=lambda each: each.regret)
            yield (
                f"track record: {duration(measured)} measured, {duration(predicted)} predicted; worst regret"
                f" {percent(worst.regret)} ({worst.view})"
            )
        yield from (f"mistake: {each}" for each in self.mistakes)


_SECONDS = ("measured_seconds", "predicted_seconds")


def read_nights(folder: Path) -> list[Night]:
    """The nights so far, oldest first."""
    return [_read(path) for _, path in _files(folder)]


def keep_night(folder: Path, night: Night) -> Path:
    """Save a night, and the history of all that are kept."""
    text = json.dumps(_plain(night.as_json()), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    place = folder / FOLDER / NIGHTS
    place.parent.mkdir(exist_ok=True)
    path = save(place / f"{night.number:04}.json", text)
    for _, old in _files(folder)[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    save(folder / FOLDER / HISTORY, history_text(read_nights(folder)))
    return path


def history_text(nights: Sequence[Night]) -> str:
    """All nights for a person, the newest first.

    >>> print(history_text([Night(1, 0.0)]).splitlines()[2])
    ## Night 1 · 1970-01-01 00:00 UTC · no change
    """
    parts = ["# History", ""]
    for night in reversed(nights):
        count = many(len(night.changes), "change") if night.changes else "no change"
        done = f", {len(night.applied)} applied" if night.changes else ""
        parts += [f"## Night {night.number} · {night.day} UTC · {count}{done}", ""]
        parts += [f"{'  ' if line.startswith('  ') else ''}- {line.strip()}" for line in night.lines()]
        parts.append("")
    return "\n".join(parts)


def _files(folder: Path) -> list[tuple[int, Path]]:
    paths = (folder / FOLDER / NIGHTS).glob("[0-9]*.json")
    return sorted((int(path.stem), path) for path in paths if path.stem.isdigit())


def _read(path: Path) -> Night:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("schema_version") != SCHEMA_VERSION:
            raise WorkloadError(f"{path}: was written by another version of the advisor", "move it away")
        changes = [
            Change(view=view, **{**each, "reasons": tuple(each["reasons"])})
            for view, each in content["changes"].items()
        ]
        content["changes"] = tuple(sorted(changes, key=lambda each: -each.saving_seconds))
        content["track"] = tuple(Kept(view=view, **each) for view, each in content["track"].items())
        content |= {name: tuple(content[name]) for name in ("moved", "mistakes")}
        return Night(**content)
    except (ValueError, OSError, KeyError, TypeError, AttributeError) as error:
        raise WorkloadError(f"{path}: cannot be read: {error}", "restore it, or move it away") from None


def _without_view(each: Change | Kept) -> dict[str, Any]:
    return {name: value for name, value in asdict(each).items() if name != "view"}


def _plain(value: Any, name: str = "") -> Any:
    """Numbers with four digits, so that a file reads well."""
    match value:
        case dict():
            return {key: _plain(each, key) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float() if name != "at":
            return rounded(value)
        case _:
            return value
