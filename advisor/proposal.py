"""A proposal: what to do with each view, at what cost and why; saved so that a change reads well in a review.

Sorted keys, one block per view, rounded costs and no clock times: the same inputs give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from advisor.offers import Offers, Turn
from profiles import specification as spec
from profiles.coefficients import MachineProfile
from profiles.saving import save

SCHEMA_VERSION = 2
FOLDER, FILE = ".advisor", "proposal.json"


@dataclass(frozen=True)
class ViewProposal:
    """The choice for one view, what it was chosen from, and how sure it is."""

    view: str
    strategy: str
    algorithm: str | None
    every_seconds: float | None
    """The period of a refresh by the clock."""
    today: str
    """The candidate in use now."""
    today_declared: bool
    candidates: Mapping[str, float]
    """Seconds a day of every candidate, also of those the workload rules out."""
    permitted: tuple[str, ...]
    excluded: Mapping[str, str]
    """Candidates that are ruled out, and why."""
    costs: Mapping[str, float]
    """Seconds a day of each strategy with its best algorithm, of those the workload permits."""
    next_best: str | None
    confidence: float
    expected_regret: float
    reason: str
    held: str | None
    """Why the cheapest was not chosen: dead zone, payback or budget."""
    pinned: bool
    model: str
    approximations: tuple[str, ...]
    updates_turn: Turn | None
    queries_turn: Turn | None
    defaults: tuple[str, ...]
    """What had to be assumed, in words."""
    refreshes: float | None
    build_seconds: float
    payback_days: float | None
    storage_bytes: float
    latency_seconds: float
    estimates: Mapping[str, Mapping[str, Any]]
    offers: Offers
    """What it was chosen from, with every step."""

    @property
    def candidate(self) -> str:
        return self.strategy if self.algorithm is None else f"{self.strategy}/{self.algorithm}"

    @property
    def seconds(self) -> float:
        return self.candidates[self.candidate]

    @property
    def today_seconds(self) -> float:
        return self.candidates[self.today]

    @property
    def saving(self) -> float:
        return self.today_seconds - self.seconds

    @property
    def changed(self) -> bool:
        return self.candidate != self.today

    def as_json(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy,
            "algorithm": self.algorithm,
            "costs": {name: rounded(cost) for name, cost in self.costs.items()},
            "candidates": {name: rounded(cost) for name, cost in self.candidates.items()},
            "permitted": sorted(self.permitted),
            "excluded": dict(self.excluded),
            "every_seconds": self.every_seconds,
            "held": self.held,
            "build": {
                "seconds": rounded(self.build_seconds),
                "payback_days": None if self.payback_days is None else rounded(self.payback_days),
                "storage_bytes": rounded(self.storage_bytes),
            },
            "refreshes_per_day": None if self.refreshes is None else rounded(self.refreshes),
            "read_seconds_at_worst": rounded(self.latency_seconds),
            "estimates": {name: dict(each) for name, each in self.estimates.items()},
            "confidence": round(self.confidence, 2),
            "expected_regret": rounded(self.expected_regret),
            "reason": self.reason,
            "pinned": self.pinned,
            "today": {"candidate": self.today, "declared": self.today_declared},
            "next_best": self.next_best,
            "model": self.model,
            "approximations": list(self.approximations),
            "turns": {
                name: {"rate": rounded(turn.rate), "above": turn.above, "strategy": turn.strategy}
                for name, turn in (("updates_per_day", self.updates_turn), ("queries_per_day", self.queries_turn))
                if turn is not None
            },
            "defaults": list(self.defaults),
        }


@dataclass(frozen=True)
class Proposal:
    """The choices for all selected views, and what they were made from."""

    workload: str
    views: Mapping[str, ViewProposal]
    tables: int
    inputs: Mapping[str, str]
    """Fingerprints of the files and tables read."""
    model: str
    machine: MachineProfile | None
    """Whose coefficients the prices are made of; None where the model has none."""
    ignored: tuple[str, ...]
    """Keys of the workload that this model does not use."""
    price: spec.Price | None
    statistics: Mapping[str, Mapping[str, Any]]
    """What was known of each table."""
    page_costs: Mapping[str, float] | None = None
    """C1, C2 and C3 of H87 in milliseconds, where they were measured and are what prices are made of."""

    def as_json(self) -> dict[str, Any]:
        machine = self.machine
        return {
            "schema_version": SCHEMA_VERSION,
            "workload": self.workload,
            "model": "hanson-1987" if self.model == "hanson" else self.model,
            "inputs": dict(self.inputs),
            "tables": {name: dict(each) for name, each in self.statistics.items()},
            "coefficients": None
            if machine is None
            else {
                "engine": machine.engine,
                "machine": machine.machine,
                "measured": machine.measured,
                "seconds": {name: rounded(value) for name, value in asdict(machine.coefficients).items()},
            },
            **({} if self.page_costs is None else {"page_costs": dict(self.page_costs)}),
            "views": {name: view.as_json() for name, view in self.views.items()},
        }

    def text(self) -> str:
        """The bytes of the file, as text."""
        return json.dumps(self.as_json(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def write(proposal: Proposal, folder: Path) -> Path:
    """Save the proposal as `.advisor/proposal.json` in the workload's folder, whole or not at all."""
    return save(folder / FOLDER / FILE, proposal.text())


def rounded(value: float) -> float:
    """Four significant digits, so that noise in the last bits never shows in a file.

    >>> rounded(1234.5678), rounded(0.000123456)
    (1235.0, 0.0001235)
    """
    return float(f"{value:.4g}")
