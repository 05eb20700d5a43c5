"""`advisor calibrate`: what one of each quantity costs here, and how well that predicts.

Learned from what was measured while views were kept, or from a microbenchmark, which is also the prior of the former.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from advisor.answers import aligned
from advisor.api import Advisor
from advisor.learning import FEWEST, learn, pages_of, quantities_of
from advisor.microbenchmark import STEPS as RUN_STEPS
from advisor.microbenchmark import Run, measure
from advisor.proposal import FOLDER, rounded
from costmodels.calibration import Fit, Observation, fit
from profiles.coefficients import FILE, QUANTITIES, Coefficients, MachineProfile, machine_profile, save
from profiles.measurements import FOLDER as MEASUREMENTS
from profiles.measurements import read_measurements
from profiles.saving import save as save_text
from profiles.words import duration, many, tiny
from profiles.workload import Workload, from_values, load
from storage.engine import describe, priced_as
from views.errors import EstimationError, WorkloadError

STEPS = 1 + RUN_STEPS
"""How many times `calibrate` reports at most."""


@dataclass(frozen=True)
class Calibration:
    """The coefficients of an engine on this machine, before and now, and what they were fitted to."""

    engine: str
    before: MachineProfile
    after: MachineProfile
    fit: Fit
    runs: Sequence[Run]
    seconds: float
    micro: bool = True
    """Whether the runs were made for it."""
    pages: Fit | None = None
    """C1, C2 and C3 of H87, in milliseconds."""

    def as_json(self) -> dict[str, Any]:
        before, after = asdict(self.before.coefficients), asdict(self.after.coefficients)
        return {
            "engine": self.after.engine,
            "machine": self.after.machine,
            "seconds": rounded(self.seconds),
            "fitted": self.fit.fitted,
            "errors": {
                "before": rounded(self.fit.error_before),
                "after": rounded(self.fit.error_after),
                "unseen": rounded(self.fit.error_unseen),
            },
            "coefficients": {
                name: {"before": rounded(before[name]), "after": rounded(after[name]), "runs": _runs(self.fit, name)}
                for name in QUANTITIES
            },
            "page_costs": None if self.pages is None else _page_costs(self.pages),
            "runs": [
                {
                    "view": run.view,
                    "what": run.what,
                    "seconds": rounded(run.seconds),
                    "before": rounded(predicted(before, run)),
                    "after": rounded(predicted(after, run)),
                    "quantities": {name: rounded(amount) for name, amount in sorted(run.quantities.items())},
                }
                for run in self.runs
            ],
        }


def workload_of(path: str | None, engine: str | None) -> Workload:
    """The workload of a file, on request with another engine; without a file one that is empty, in this folder."""
    if path is None:
        return from_values({"engine": engine or "auto"})
    found = load(path)
    return found if engine is None else replace(found, engine=from_values({"engine": engine}).engine)


def calibrate(advisor: Advisor, step: Callable[[str], None], scale: float = 1.0) -> Calibration:
    """Start the workload's engine, measure it on tables of its own in a temporary folder, and fit."""
    engine = advisor.workload.engine
    if engine.remote is not None or not (engine.master or "local").startswith("local"):
        place = advisor.workload.place("engine")
        raise WorkloadError(
            f"{place}: the engine is a cluster, which does not see temporary files made here",
            "--engine spark or --engine sail measures this machine",
        )
    kind = priced_as(engine.kind)
    before = machine_profile(advisor.workload.folder / FOLDER, kind)
    began = time.perf_counter()
    advisor.spark.sql("SELECT 1 AS one").toArrow()  # only then everything is loaded
    sessions = time.perf_counter() - began
    step(f"started {describe(advisor.spark)}")
    with tempfile.TemporaryDirectory(prefix="advisor-calibrate-") as scratch:
        runs = measure(advisor.spark, Path(scratch), before, scale=scale, step=step, spent_seconds=sessions)
    prior = {name: value for name, value in asdict(before.coefficients).items() if name != "sessions"}
    found = fit([Observation(run.quantities, run.seconds, group=run.view) for run in runs], prior)
    coefficients = Coefficients(sessions=sessions, **found.coefficients)
    after = replace(before, coefficients=coefficients, measured=True)
    return Calibration(describe(advisor.spark), before, after, found, runs, time.perf_counter() - began)


def from_measurements(advisor: Advisor) -> Calibration:
    """Learn from what was measured in the workload's warehouse; no engine is started."""
    began = time.perf_counter()
    folder, engine = advisor.workload.folder, priced_as(advisor.workload.engine.kind)
    measurements = read_measurements(advisor.workload.warehouse)
    learned = learn(folder, measurements, engine, pages_of(advisor.workload, advisor.statistics))
    if len(learned.runs) < FEWEST:
        found = many(len(learned.runs), "run")
        raise EstimationError(
            f"{advisor.workload.warehouse / MEASUREMENTS}: {found} by {engine} on this machine, too few to learn from",
            "advisor run W --days 1 makes some, or add --micro",
        )
    runs = [
        Run(f"{each.kind} by {each.ran}" if each.ran else each.kind, each.subject, quantities_of(each), each.seconds)
        for each in learned.runs
        if each.seconds is not None
    ]
    seconds = time.perf_counter() - began
    return Calibration(engine, learned.before, learned.after, learned.fit, runs, seconds, False, learned.pages)


def write(calibration: Calibration, folder: Path) -> Path:
    """Save the coefficients as `.advisor/coefficients.json` in a folder, beside those of other engines and machines."""
    target = folder / FOLDER
    pages = calibration.pages.coefficients if calibration.pages is not None and calibration.pages.fitted else None
    return save_text(target / FILE, save(target, calibration.after, prior=calibration.micro, pages=pages))


def calibration_text(found: Calibration, path: Path) -> str:
    """What was measured, for a person."""
    before, after = asdict(found.before.coefficients), asdict(found.after.coefficients)
    rows = [("quantity", "before", "now", "runs")]
    rows += [(n, tiny(before[n]), tiny(after[n]), str(_runs(found.fit, n))) for n in QUANTITIES]
    made = f"{len(found.runs)} kinds of run in {duration(found.seconds)}" if found.micro else f"{len(found.runs)} runs"
    return "\n".join(
        (
            f"{found.engine} · {found.after.machine} · {made}",
            aligned(rows),
            *_errors(found),
            *_pages(found.pages),
            f"saved to {os.path.relpath(path)}",
        )
    )


def _errors(found: Calibration) -> list[str]:
    known = "measured before" if found.before.measured else "shipped"
    by = found.fit
    first = f"the {known} coefficients predict half of these runs within a factor of {by.error_before:.2f}"
    if not by.fitted:
        other = f"fitted ones predict views that are left out of the fit no better, {by.error_unseen:.2f}"
        only = "; only the start of the engine is new" if found.micro else ""
        return [f"{first} and are kept:", f"{other}{only}"]
    after, unseen = f"{by.error_after:.2f}", f"{by.error_unseen:.2f}"
    return [f"{first},", f"those of now within {after}, and within {unseen} when a view is left out of the fit"]


def _pages(found: Fit | None) -> list[str]:
    """C1, C2 and C3 for the page model, in a line."""
    if found is None:
        return []
    costs = ", ".join(f"{name} {tiny(ms / 1000)}" for name, ms in found.coefficients.items())
    before, unseen = f"{found.error_before:.2f}", f"{found.error_unseen:.2f}"
    if not found.fitted:
        return [f"page model: {costs} stay; they are within {before}, fitted ones {unseen} for views left out"]
    return [f"page model: {costs}; within {before} before, now {unseen} for views left out of the fit"]


def _page_costs(found: Fit) -> dict[str, Any]:
    costs = {name: rounded(ms) for name, ms in found.coefficients.items()}
    return {
        **costs,
        "fitted": found.fitted,
        "before": rounded(found.error_before),
        "unseen": rounded(found.error_unseen),
    }


def predicted(coefficients: dict[str, float], run: Run) -> float:
    """The seconds that a run should take."""
    return sum(coefficients[name] * amount for name, amount in run.quantities.items())


def _runs(fit: Fit, name: str) -> int:
    return 1 if name == "sessions" else fit.runs[name]
