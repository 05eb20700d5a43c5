"""What a replay came to: per view, what each way to keep it was predicted to take and what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from advisor.answers import aligned
from advisor.offers import cheapest
from advisor.proposal import rounded
from advisor.wording import label
from profiles.words import duration, many

CLOSE = 1.1
"""Within a tenth of the best is as good as the best."""


@dataclass(frozen=True)
class ViewRun:
    """What keeping one view took under each candidate that was run, in seconds of the whole run."""

    view: str
    recommended: str
    """What the recommendation, or the plan in force, keeps it by."""
    measured: Mapping[str, float]
    predicted: Mapping[str, float]

    @property
    def best(self) -> str:
        """The candidate that was measured to be the cheapest."""
        return cheapest(self.measured)

    @property
    def regret(self) -> float:
        """By which part of the measured best the recommendation is dearer."""
        least = self.measured[self.best]
        return self.measured[self.recommended] / least - 1 if least > 0 else 0.0


@dataclass(frozen=True)
class Run:
    """A replay: what it consisted of, and what came of it."""

    workload: str
    engine: str
    days: float
    scale: float
    seed: int
    compared: bool
    updates: Mapping[str, int]
    """Transactions by the tables that they change."""
    queries: Mapping[str, int]
    views: Mapping[str, ViewRun]
    seconds: float
    factors: Sequence[float] = field(repr=False, default=())
    """Of each refresh and read, the factor between predicted and measured."""

    @property
    def error(self) -> tuple[float, float] | None:
        """The median of these factors, and what nine in ten stay below."""
        if len(self.factors) < 2:
            return None
        tenths = quantiles(self.factors, n=10, method="inclusive")
        return tenths[4], tenths[8]

    def as_json(self) -> dict[str, Any]:
        error = self.error
        return {
            "workload": self.workload,
            "engine": self.engine,
            "days": self.days,
            "scale": self.scale,
            "seed": self.seed,
            "compared": self.compared,
            "updates": dict(self.updates),
            "queries": dict(self.queries),
            "seconds": rounded(self.seconds),
            "error": None
            if error is None
            else {"median": rounded(error[0]), "ninety": rounded(error[1]), "runs": len(self.factors)},
            "views": {
                name: {
                    "recommended": each.recommended,
                    "measured": {c: rounded(s) for c, s in each.measured.items()},
                    "predicted": {c: rounded(s) for c, s in each.predicted.items()},
                    "best": each.best,
                    "regret": rounded(each.regret),
                }
                for name, each in self.views.items()
            },
        }

    def text(self) -> str:
        """For a person."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        shortened = "" if self.scale == 1 else f" at scale {self.scale:g}"
        happened = f"{many(sum(self.updates.values()), 'update')} and {many(sum(self.queries.values()), 'read')}"
        yield (
            f"{self.workload} · {self.days:g} day{'' if self.days == 1 else 's'}{shortened}: {happened}"
            f" · {self.engine} · {duration(self.seconds)}"
        )
        yield from aligned(self._compared() if self.compared else self._followed()).splitlines()
        if self.error is not None:
            median, ninety = self.error
            runs = f"{len(self.factors):,} refreshes and reads"
            yield f"predicted within a factor of {median:.2f} for half of {runs}, of {ninety:.2f} for nine in ten"
        if self.compared:
            good = sum(view.regret <= CLOSE - 1 for view in self.views.values())
            mean = sum(view.regret for view in self.views.values()) / max(len(self.views), 1)
            yield (
                f"the recommendation was the measured best, or within {CLOSE - 1:.0%} of it, for {good} of"
                f" {many(len(self.views), 'view')}; mean regret {mean:.0%}"
            )

    def _followed(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("view", "kept as", "predicted", "measured")]
        for name, view in self.views.items():
            kept = view.recommended
            rows.append((name, label(kept), duration(view.predicted[kept]), duration(view.measured[kept])))
        return rows

    def _compared(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [
            ("view", "recommended", "predicted", "measured", "measured best", "took", "regret")
        ]
        for name, view in self.views.items():
            kept, best = view.recommended, view.best
            took = duration(view.predicted[kept]), duration(view.measured[kept])
            rows.append((name, label(kept), *took, label(best), duration(view.measured[best]), f"{view.regret:.0%}"))
        return rows
