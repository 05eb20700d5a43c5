"""What one of each quantity costs on an engine and a machine: shipped with the package, or measured there.

`advisor calibrate` measures them and leaves them beside the workload; without it the shipped ones are used, and every
output says so. What the microbenchmark measured is kept apart from what is in force: it is the prior of what is learned
from measurements, and learning twice from the same runs must not count them twice.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from views.errors import EstimationError

FILE = "coefficients.json"
SCHEMA_VERSION = 1
PAGE_COSTS = ("C1", "C2", "C3")
Engine = Literal["spark", "sail"]


@dataclass(frozen=True)
class Coefficients:
    """Seconds that one of each quantity takes; the field names are the quantities."""

    sessions: float
    """Starting an engine."""
    statements: float
    """Planning one query."""
    reads: float
    """One more relation in a query: it is named, analysed and opened."""
    jobs: float
    merges: float
    """Applying a change to a stored table, beyond its rows and its commit: its files are looked through."""
    shuffles: float
    files_read: float
    bytes_read: float
    rows_read: float
    rows_joined: float
    rows_shuffled: float
    driver_rows: float
    """Rows that come to the driver, or are looked through there."""
    rows_searched: float
    """Rows of files that are searched on the driver for given values."""
    rows_removed: float
    """Rows that are taken out of a stored table: each is looked for by itself."""
    rows_written: float
    files_written: float
    commits: float

    def __post_init__(self) -> None:
        for quantity in QUANTITIES:
            value = getattr(self, quantity)
            if not (isinstance(value, int | float) and 0 <= value < float("inf")):
                raise EstimationError(f"coefficient {quantity} is {value!r}, not a number of seconds from 0 on")


QUANTITIES = tuple(each.name for each in fields(Coefficients))

SHIPPED: Mapping[str, Coefficients] = {
    "spark": Coefficients(
        sessions=7.0,
        statements=0.015,
        reads=0.021,
        jobs=0.05,
        merges=0.006,
        shuffles=0.045,
        files_read=0.004,
        bytes_read=1.8e-9,
        rows_read=3.3e-8,
        rows_joined=8e-8,
        rows_shuffled=3e-7,
        driver_rows=3.7e-7,
        rows_searched=3e-8,
        rows_removed=1.3e-5,
        rows_written=4e-7,
        files_written=0.0175,
        commits=0.012,
    ),
    "sail": Coefficients(
        sessions=0.8,
        statements=0.0045,
        reads=0.0042,
        jobs=0.0023,
        merges=0.01,
        shuffles=0.0021,
        files_read=0.0006,
        bytes_read=1.3e-9,
        rows_read=1.8e-8,
        rows_joined=5e-9,
        rows_shuffled=3e-8,
        driver_rows=5.5e-7,
        rows_searched=3e-8,
        rows_removed=1e-5,
        rows_written=2e-7,
        files_written=0.0073,
        commits=0.008,
    ),
}
"""Of a machine with two cores: fitted to runs of the microbenchmark there, and rounded by hand."""


@dataclass(frozen=True)
class MachineProfile:
    """Coefficients, of which engine and machine they are, and whether they were measured there."""

    engine: Engine
    machine: str
    coefficients: Coefficients
    measured: bool

    @property
    def cores(self) -> int:
        return int(self.machine.split()[0])

    @property
    def spread(self) -> float:
        """The factor by which a coefficient may be off."""
        return 1.25 if self.measured else 2.0


def this_machine() -> str:
    """
    >>> this_machine().split()[0].isdigit()
    True
    """
    return f"{os.cpu_count()} cores {platform.machine()}"


def machine_profile(folder: Path, engine: Engine) -> MachineProfile:
    """The coefficients measured for an engine on this machine, if there are any in a folder, else the shipped ones."""
    return _profile(_read(folder / FILE).profiles, engine)


def prior_profile(folder: Path, engine: Engine) -> MachineProfile:
    """What the microbenchmark measured for an engine on this machine, else the shipped coefficients."""
    return _profile(_read(folder / FILE).priors, engine)


def page_costs(folder: Path, engine: Engine) -> Mapping[str, float] | None:
    """Milliseconds that stand for C1, C2 and C3 of H87 on an engine and this machine, where they were measured."""
    return _read(folder / FILE).pages.get(_key(engine, this_machine()))


def save(
    folder: Path, profile: MachineProfile, *, prior: bool = False, pages: Mapping[str, float] | None = None
) -> str:
    """The text of the folder's file with these coefficients in it, if measured, on request as the prior of others."""
    known, key = _read(folder / FILE), _key(profile.engine, profile.machine)
    profiles = {**known.profiles, **({key: profile.coefficients} if profile.measured else {})}
    priors = {**known.priors, **({key: profile.coefficients} if prior else {})}
    found: dict[str, dict[str, Mapping[str, float]]] = {
        "profiles": {name: asdict(each) for name, each in profiles.items()},
        "priors": {name: asdict(each) for name, each in priors.items()},
        "pages": {**known.pages, **({key: pages} if pages is not None else {})},
    }
    content = {
        section: {key: {n: float(f"{v:.4g}") for n, v in each.items()} for key, each in values.items()}
        for section, values in found.items()
        if values or section == "profiles"
    }
    return json.dumps({"schema_version": SCHEMA_VERSION, **content}, indent=2, sort_keys=True) + "\n"


@dataclass(frozen=True)
class _Known:
    """A file of coefficients; each part by engine and machine."""

    profiles: Mapping[str, Coefficients] = field(default_factory=dict)
    priors: Mapping[str, Coefficients] = field(default_factory=dict)
    pages: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def _profile(known: Mapping[str, Coefficients], engine: Engine) -> MachineProfile:
    machine = this_machine()
    found = known.get(_key(engine, machine))
    if found is None:
        return MachineProfile(engine, machine, SHIPPED[engine], measured=False)
    return MachineProfile(engine, machine, found, measured=True)


def _key(engine: str, machine: str) -> str:
    return f"{engine}, {machine}"


def _read(path: Path) -> _Known:
    hint = "remove it, and run advisor calibrate again"
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        if content["schema_version"] != SCHEMA_VERSION:
            raise EstimationError("was written by another version of the advisor")
        profiles, priors = (
            {key: Coefficients(**values) for key, values in section.items()}
            for section in (content["profiles"], content.get("priors", {}))
        )
        pages = {
            key: {name: float(values[name]) for name in PAGE_COSTS} for key, values in content.get("pages", {}).items()
        }
        return _Known(profiles, priors, pages)
    except (FileNotFoundError, NotADirectoryError):
        return _Known()
    except EstimationError as error:
        raise EstimationError(f"{path}: {error.message}", hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EstimationError(f"{path}: cannot be read: {error}", hint) from None
