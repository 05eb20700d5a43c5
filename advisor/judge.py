"""The judge of the runner: what could be done now, priced by the model that made the plan, for what is pending."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from advisor.spark_model import SparkModel
from costmodels.axis import CENTRE, constant
from costmodels.spark import Change, Step, Work, merged
from executors.forecast import Forecast, Pending, Route
from views.rules import Expr


@dataclass(frozen=True)
class PriceJudge:
    """Prices refreshes and reads by a cost model, or by one that is made when it is first asked."""

    given: SparkModel | Callable[[], SparkModel]

    @cached_property
    def model(self) -> SparkModel:
        return self.given if isinstance(self.given, SparkModel) else self.given()

    def refreshes(
        self, view: str, stored: Collection[str], algorithm: str, pending: Mapping[str, Pending]
    ) -> Mapping[str, Forecast]:
        """Bringing a stored view up to date, by the algorithm that keeps it and by recompute."""
        mine = self.model.view(view, stored)
        found = {"recompute": self.forecast(mine.rebuild(algorithm if algorithm in mine.plans else "recompute"))}
        if algorithm != "recompute" and algorithm in mine.plans and pending:
            found[algorithm] = self.forecast(mine.follow(algorithm, _changes(pending))[0])
        return found

    def reads(
        self,
        view: str,
        stored: Collection[str],
        algorithm: str,
        pending: Mapping[str, Pending],
        where: Expr | None,
    ) -> Mapping[Route, Forecast]:
        """Answering one read of a stored view.

        What is pending is applied once for all reads that come before the next update; deriving it without writing is
        done again for each.
        """
        mine = self.model.view(view, stored)
        read = mine.read_where(where)
        before = 0.0
        found: dict[Route, Forecast] = {"query_modification": self.forecast(mine.evaluated(where))}
        if pending:
            before = min(each.seconds for each in self.refreshes(view, stored, algorithm, pending).values())
            if algorithm in mine.plans and algorithm != "recompute":
                derived = mine.follow(algorithm, _changes(pending), apply=False)[0]
                found["read_through"] = self.forecast([*derived, *read])
        return {"stored": self.forecast(read, before / self.reads_per_update(view, stored)), **found}

    def evaluated(self, view: str, stored: Collection[str], where: Expr | None) -> Forecast:
        """Answering one read of a virtual view."""
        return self.forecast(self.model.view(view, stored).evaluated(where))

    def update(self, tables: Mapping[str, Pending]) -> Forecast:
        """Committing a change of base tables."""
        steps = []
        for name, size in tables.items():
            layout = self.model.tables.layouts[name]
            work = merged(layout, constant(float(size.rows)), constant(float(size.deleted)), layout.key)
            steps.append((f"change {name}", work))
        return self.forecast(steps)

    def reads_per_update(self, view: str, stored: Collection[str]) -> float:
        """How many reads of a view come before its tables change again, one at least."""
        events = sum((stream.events for stream in self.model.view(view, stored).streams), constant(0.0))
        return max(1.0, float(self.model.queries(view)[CENTRE]) / max(float(events[CENTRE]), 1e-9))

    def forecast(self, steps: Sequence[Step], before_seconds: float = 0.0) -> Forecast:
        """The steps as quantities and seconds."""
        work = _together(work for _, work in steps)
        quantities = {name: float(amount[CENTRE]) for name, amount in work.quantities.items() if amount[CENTRE] > 0}
        return Forecast(float(work.seconds(self.model.prices)[CENTRE]), quantities, before_seconds)


def _together(parts: Iterable[Work]) -> Work:
    whole = Work()
    for part in parts:
        whole.include(part)
    return whole


def _changes(pending: Mapping[str, Pending]) -> dict[str, Change]:
    return {name: Change(constant(float(each.rows)), each.deleted / each.rows) for name, each in pending.items()}
