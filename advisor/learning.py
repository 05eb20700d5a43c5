"""What measurements teach: coefficients fitted to everything that was done on this engine and machine.

A view that is read ten thousand times a day says the same ten thousand times, so of its like runs the newest count.
H87's C1, C2 and C3 are learned in the same way, from the same runs, for the page model.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from advisor.page_estimates import Gathered
from advisor.page_model import PageCosts, Quantities, seconds_of
from advisor.proposal import FOLDER
from advisor.recommend import gathered_views
from costmodels.calibration import Fit, Observation, fit, recency
from profiles.coefficients import (
    FILE,
    PAGE_COSTS,
    Coefficients,
    Engine,
    MachineProfile,
    machine_profile,
    page_costs,
    prior_profile,
    this_machine,
)
from profiles.coefficients import save as saved
from profiles.measurements import Measurement
from profiles.saving import save
from profiles.statistics import TableStatistics
from profiles.units import SECONDS_A_DAY
from profiles.workload import Workload
from views.errors import ViewError

MOST_ALIKE = 24
"""Of the runs that did the same to the same view, so many of the newest count."""
FEWEST = 8
"""From fewer runs nothing is learned."""
_LEAST_PAGE_COST = 1e-4
"""A page costs what the runs say: H87's disk is no guess at this machine."""


@dataclass(frozen=True)
class Learned:
    """The coefficients of an engine on this machine before and after some measurements, and what these were."""

    before: MachineProfile
    after: MachineProfile
    fit: Fit
    runs: Sequence[Measurement]
    pages: Fit | None = None
    """C1, C2 and C3 in milliseconds; None where no view could be priced by the page model."""


def learn(
    folder: Path,
    measurements: Iterable[Measurement],
    engine: Engine,
    gathered: Mapping[str, Gathered] | None = None,
    now: float | None = None,
) -> Learned:
    """Fit the coefficients in force beside a workload to its measurements; nothing is saved."""
    here = folder / FOLDER
    before, prior = machine_profile(here, engine), prior_profile(here, engine)
    runs = list(usable(measurements, engine))
    moment = time.time() if now is None else now
    # how long an engine takes to start is no part of any run
    known, current = ({n: v for n, v in asdict(p.coefficients).items() if n != "sessions"} for p in (prior, before))
    found = fit(list(_observed(runs, moment)), known, current=current)
    if len(runs) < FEWEST:
        found = replace(found, fitted=False, coefficients=current)
    after = before
    if found.fitted:
        learned = Coefficients(sessions=before.coefficients.sessions, **found.coefficients)
        after = replace(before, coefficients=learned, measured=True)
    pages = None
    paged = list(_paged(runs, gathered or {}, moment))
    if len(paged) >= FEWEST:
        guess = page_prior(prior.coefficients)
        pages = fit(paged, guess, current=page_costs(here, engine) or guess, least=_LEAST_PAGE_COST)
    return Learned(before, after, found, runs, pages)


def write(learned: Learned, folder: Path) -> Path:
    """Save what was learned in `.advisor/coefficients.json` of a folder; what was not stays as it is."""
    target = folder / FOLDER
    pages = learned.pages.coefficients if learned.pages is not None and learned.pages.fitted else None
    if learned.after != learned.before or pages is not None:
        save(target / FILE, saved(target, learned.after, pages=pages))
    return target / FILE


def pages_of(workload: Workload, statistics: Mapping[str, TableStatistics]) -> Mapping[str, Gathered]:
    """The views as the page model sees them; none where it does not understand one."""
    try:
        return gathered_views(workload, statistics)
    except ViewError:
        return {}


def usable(measurements: Iterable[Measurement], engine: Engine) -> Iterator[Measurement]:
    """The runs on this engine and machine that tell what quantities cost, of those that are alike the newest."""
    alike: dict[tuple[str, str, str | None, str | None], int] = {}
    for each in sorted(measurements, key=lambda m: -m.at):
        if each.engine != engine or each.machine != this_machine() or each.error is not None:
            continue
        if not each.seconds or not each.predicted:
            continue
        key = (each.kind, each.subject, each.ran, each.filter)
        alike[key] = alike.get(key, 0) + 1
        if alike[key] <= MOST_ALIKE:
            yield each


def quantities_of(measurement: Measurement) -> dict[str, float]:
    """What a run was expected to do; the rows that its reader fetched are known only afterwards."""
    fetched = measurement.actual.get("driver_rows", 0.0) if measurement.kind == "query" else 0.0
    return {**measurement.predicted, "driver_rows": measurement.predicted.get("driver_rows", 0.0) + fetched}


def page_prior(machine: Coefficients) -> dict[str, float]:
    """Milliseconds for C1, C2 and C3 before there are measurements: a row screened, a file opened, a row kept.

    >>> from profiles.coefficients import SHIPPED
    >>> {name: round(value, 4) for name, value in page_prior(SHIPPED["spark"]).items()}
    {'C1': 0.0001, 'C2': 4.0, 'C3': 0.0004}
    """
    costs = (machine.rows_read + machine.rows_joined, machine.files_read, machine.rows_written)
    return {name: 1000 * seconds for name, seconds in zip(PAGE_COSTS, costs, strict=True)}


def _observed(runs: Iterable[Measurement], now: float) -> Iterator[Observation]:
    for each in runs:
        assert each.seconds is not None
        weight = recency((now - each.at) / SECONDS_A_DAY)
        yield Observation(quantities_of(each), each.seconds, weight, each.subject)


def _paged(runs: Iterable[Measurement], gathered: Mapping[str, Gathered], now: float) -> Iterator[Observation]:
    """How often each run pays C1, C2 and C3: what the formulas give when one of them costs a millisecond alone."""
    units = {name: PageCosts(**{other: float(other == name) for other in PAGE_COSTS}) for name in PAGE_COSTS}
    for each in runs:
        view = gathered.get(each.subject)
        step = _priced_as(each, view) if view is not None else None
        if view is None or step is None or each.seconds is None:
            continue
        q = Quantities(**{name: estimate.value for name, estimate in view.estimates.items()})
        amounts = {n: seconds_of(replace(view.model, page_costs=unit), q, *step) for n, unit in units.items()}
        known = {name: amount for name, amount in amounts.items() if amount is not None}
        if any(known.values()):
            yield Observation(known, each.seconds, recency((now - each.at) / SECONDS_A_DAY), each.subject)


def _priced_as(run: Measurement, view: Gathered) -> tuple[str, str] | None:
    """The candidate and the step of it that a run was; None for what the page model does not know."""
    if run.kind == "query":
        stored = f"immediate/{view.model.incremental}"
        return {"stored": (stored, "read"), "query_modification": ("query_modification", "read")}.get(run.ran or "")
    if run.kind == "refresh" and run.strategy in ("immediate", "deferred"):
        algorithm = "recompute" if run.ran == "recompute" else view.model.incremental
        return f"{run.strategy}/{algorithm}", "update" if run.strategy == "immediate" else "refresh"
    return None
