"""The past of a workload as a report shows it: what was measured and predicted, the nights, and the plans in force."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.answers import kept_label
from advisor.nights import Night
from advisor.plan import earlier_plans, read_plan
from advisor.proposal import Proposal
from advisor.wording import label, way
from profiles.units import SECONDS_A_DAY
from reports import results

if TYPE_CHECKING:
    from advisor.runs import Run
    from executors.keeping import Keeping

SHOWN_DAYS = 90
"""Measurements that are older are not shown."""


def measurements(warehouse: Path) -> Iterator[results.Measured]:
    """What was run in the last months, oldest first."""
    from profiles.measurements import read_measurements

    for each in read_measurements(warehouse, since=time.time() - SHOWN_DAYS * SECONDS_A_DAY):
        if each.seconds is not None:
            yield results.Measured(
                at=each.at,
                kind=each.kind,
                subject=each.subject,
                way=way(each.candidate) if each.candidate is not None else "",
                ran=(each.ran or "").replace("_", " "),
                seconds=each.seconds,
                predicted=each.predicted_seconds,
                stale_seconds=each.stale_seconds,
                because=each.because,
                rehearsed=each.rehearsed,
                error=each.error or "",
            )


def nights(known: Sequence[Night]) -> Iterator[results.Night]:
    """What each `replan` found."""
    for each in known:
        changes = tuple(change.text() for change in each.changes)
        yield results.Night(each.number, each.day, each.runs, each.moved, changes, each.mistakes)


def coefficients(known: Sequence[Night]) -> Iterator[results.Coefficients]:
    """What quantities were taken to cost, night by night."""
    for each in known:
        if each.coefficients:
            yield results.Coefficients(each.day, each.coefficients)


def changes(
    proposal: Proposal, shown: Iterable[str], folder: Path, known: Sequence[Night]
) -> Iterator[results.PlanChange]:
    """What the proposal would change of the plan in force, and why; with the reasons of the last night where it has."""
    active = read_plan(folder).views
    reasons = {change.view: change.reasons for change in known[-1].changes} if known else {}
    for name in shown:
        chosen = proposal.views[name]
        if name in active and active[name].candidate != chosen.candidate:
            why = "; ".join(reasons.get(name, (chosen.reason,)))
            yield results.PlanChange(name, kept_label(active[name]), label(chosen.candidate), why)


def plans(folder: Path) -> Iterator[results.Plan]:
    """The plans that were in force, oldest first; the one that is comes last."""
    active, earlier = read_plan(folder).views, earlier_plans(folder)
    for number, plan in earlier:
        if plan.views != active:
            yield results.Plan(number, _labels(plan.views))
    if active:
        yield results.Plan(earlier[-1][0] + 1 if earlier else 1, _labels(active), active=True)


def _labels(views: Mapping[str, Keeping]) -> dict[str, str]:
    return {view: kept_label(kept) for view, kept in views.items()}


def compared(run: Run) -> Iterator[results.Compared]:
    """What a replay says of each view."""
    for name, view in run.views.items():
        kept = view.recommended
        yield results.Compared(
            name,
            way(kept),
            label(kept),
            view.predicted[kept],
            view.measured[kept],
            way(view.best),
            label(view.best),
            view.measured[view.best],
            view.regret,
        )
