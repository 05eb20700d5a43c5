"""What one of each quantity costs on an engine and a machine: shipped with the package, or measured there.

`advisor calibrate` measures them and leaves them beside the workload; without it the shipped ones are used, and every
output says so.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from views.errors import EstimationError

FILE = "coefficients.json"
SCHEMA_VERSION = 1


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
    shuffles: float
    files_read: float
    bytes_read: float
    rows_read: float
    rows_joined: float
    rows_shuffled: float
    driver_rows: float
    """Rows that come to the driver, or are looked through there."""
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
        shuffles=0.045,
        files_read=0.004,
        bytes_read=1.8e-9,
        rows_read=3.3e-8,
        rows_joined=8e-8,
        rows_shuffled=3e-7,
        driver_rows=3.7e-7,
        rows_removed=1.3e-5,
        rows_written=4e-7,
        files_written=0.0175,
        commits=0.0145,
    ),
    "sail": Coefficients(
        sessions=0.8,
        statements=0.0045,
        reads=0.0042,
        jobs=0.0023,
        shuffles=0.0021,
        files_read=0.0006,
        bytes_read=1.3e-9,
        rows_read=1.8e-8,
        rows_joined=5e-9,
        rows_shuffled=3e-8,
        driver_rows=5.5e-7,
        rows_removed=1e-5,
        rows_written=2e-7,
        files_written=0.0073,
        commits=0.01,
    ),
}
"""Of a machine with two cores: fitted to runs of the microbenchmark there, and rounded by hand."""


@dataclass(frozen=True)
class MachineProfile:
    """Coefficients, of which engine and machine they are, and whether they were measured there."""

    engine: Literal["spark", "sail"]
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


def machine_profile(folder: Path, engine: Literal["spark", "sail"]) -> MachineProfile:
    """The coefficients measured for an engine on this machine, if there are any in a folder, else the shipped ones."""
    machine = this_machine()
    known = _read(folder / FILE).get(_key(engine, machine))
    if known is None:
        return MachineProfile(engine, machine, SHIPPED[engine], measured=False)
    return MachineProfile(engine, machine, known, measured=True)


def save(folder: Path, profile: MachineProfile) -> str:
    """The text of the folder's file with these coefficients in it."""
    known = {**_read(folder / FILE), _key(profile.engine, profile.machine): profile.coefficients}
    profiles = {key: {n: float(f"{v:.4g}") for n, v in asdict(each).items()} for key, each in known.items()}
    return json.dumps({"schema_version": SCHEMA_VERSION, "profiles": profiles}, indent=2, sort_keys=True) + "\n"


def _key(engine: str, machine: str) -> str:
    return f"{engine}, {machine}"


def _read(path: Path) -> dict[str, Coefficients]:
    hint = "remove it, and run advisor calibrate again"
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        if content["schema_version"] != SCHEMA_VERSION:
            raise EstimationError("was written by another version of the advisor")
        return {key: Coefficients(**values) for key, values in content["profiles"].items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except EstimationError as error:
        raise EstimationError(f"{path}: {error.message}", hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EstimationError(f"{path}: cannot be read: {error}", hint) from None
