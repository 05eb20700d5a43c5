"""What was sampled of base tables, and kept beside the workload in `.advisor/statistics.json`: one version of each.

Sampling is asked for again when a table, or one that it joins, has another version, or when the views ask for more.
Until then older numbers of the same table may still serve: `aged` gives them a wider range.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from profiles.estimators import Matches
from profiles.requests import Request, text, value_text
from profiles.saving import save
from profiles.statistics import ColumnStatistics, Estimate, Source, TableStatistics
from views.errors import WorkloadError
from views.rules import body_column

FILE = "statistics.json"
FORMAT = 1
DRIFT = 1.25
"""How far a number may be off, as a factor, when the table has another version but as many rows."""
_DIGITS = 6


@dataclass(frozen=True)
class Sampled:
    """What was measured of one version of a base table."""

    table: str
    version: str
    rows: Estimate
    looked_at: int
    """Rows among which the conditions were counted."""
    conditions: Mapping[str, Estimate] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    """Conditions, and joins under such, that the engine could not evaluate by themselves."""
    distinct: Mapping[str, Estimate] = field(default_factory=dict)
    """By one expression or several, as `requests.value_text` spells them."""
    widths: Mapping[str, Estimate] = field(default_factory=dict)
    """By column, bytes per row in the files."""
    joins: Mapping[str, Matches] = field(default_factory=dict)
    """By `requests.Join.key`: pairs and matched rows as parts of all that are possible, and shared values."""
    against: Mapping[str, str] = field(default_factory=dict)
    """The versions of the other tables of its joins."""


def merge(statistics: TableStatistics, sampled: Sampled) -> TableStatistics:
    """What is known of a table, with what was sampled in the place of guesses; what was declared or counted stays."""
    details = dict(statistics.details)
    unknown = Estimate(1.0, 1.0, 1.0, "default")
    for column in statistics.columns:
        known = details.get(column, ColumnStatistics(unknown, unknown, unknown))
        details[column] = replace(
            known,
            distinct=sampled.distinct.get(text(body_column(column)), known.distinct),
            width_bytes=sampled.widths.get(column, known.width_bytes),
        )
    return replace(
        statistics,
        rows=statistics.rows if statistics.rows.source in ("measured", "declared") else sampled.rows,
        details=details,
        conditions={**statistics.conditions, **sampled.conditions},
        combinations={**statistics.combinations, **sampled.distinct},
        joins={**statistics.joins, **{key: found.pairs for key, found in sampled.joins.items()}},
        matched={**statistics.matched, **{key: found.matched for key, found in sampled.joins.items()}},
    )


def read_samples(folder: Path) -> dict[str, Sampled]:
    """What was sampled earlier, by table; nothing where there is no file."""
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, type(error).__name__) from error
    try:
        whole = json.loads(text)
        if whole["format"] != FORMAT:
            raise _unreadable(path, f"format {whole['format']}, not {FORMAT}")
        return {name: _sampled(name, node) for name, node in whole["tables"].items()}
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(path, str(error)[:100] or type(error).__name__) from error


def write_samples(folder: Path, samples: Mapping[str, Sampled]) -> None:
    """Keep these samples, whole or not at all: sorted and rounded, so that the same numbers are the same bytes."""
    tables = {name: _node(sampled) for name, sampled in samples.items()}
    whole = json.dumps({"format": FORMAT, "tables": tables}, indent=1, sort_keys=True, ensure_ascii=False)
    save(folder / FILE, whole + "\n")


def current(sampled: Sampled | None, request: Request, versions: Mapping[str, str]) -> bool:
    """Whether earlier statistics are of the versions that the tables have now, and hold all that is requested."""
    return (
        sampled is not None
        and sampled.version == request.version
        and sampled.distinct.keys() >= {value_text(values) for values in request.values}
        and sampled.conditions.keys() | sampled.refused >= set(request.conditions)
        and sampled.joins.keys() | sampled.refused >= {join.key for join in request.joins}
        and all(versions.get(other, version) == version for other, version in sampled.against.items())
    )


def outdated(samples: Mapping[str, Sampled], requests: Sequence[Request]) -> list[Request]:
    """The requests to sample again: of tables that are not current, and of all that are joined with them."""
    versions = {request.table: request.version for request in requests}
    again = {r.table for r in requests if not current(samples.get(r.table), r, versions)}
    before: set[str] = set()
    while again != before:
        before = set(again)
        for request in requests:
            partners = {join.other for join in request.joins} & versions.keys()
            if again & {request.table, *partners}:
                again |= {request.table, *partners}
    return [request for request in requests if request.table in again]


def aged(sampled: Sampled, version: str, rows: Estimate) -> Sampled | None:
    """The statistics of another version of the same table, in doubt by as much as it has grown; None of another table.

    Values and sources stay, ranges widen.
    """
    if sampled.version == version:
        return sampled
    if not version.startswith("delta ") or _table(sampled.version) != _table(version):
        return None
    then, now = max(sampled.rows.value, 1.0), max(rows.value, 1.0)
    factor = DRIFT * max(then / now, now / then)

    def wider(estimate: Estimate, most: float = 1.0) -> Estimate:
        highest = max(min(estimate.upper * factor, most), estimate.value)
        return Estimate(estimate.value, estimate.lower / factor, highest, estimate.source)

    most = max(then, now) * factor
    return replace(
        sampled,
        rows=wider(sampled.rows, most),
        conditions={name: wider(each) for name, each in sampled.conditions.items()},
        distinct={name: wider(each, most) for name, each in sampled.distinct.items()},
        widths={name: wider(each, float("inf")) for name, each in sampled.widths.items()},
        joins={
            name: Matches(wider(each.pairs), wider(each.matched), wider(each.values, most))
            for name, each in sampled.joins.items()
        },
    )


def _table(version: str) -> str:
    return version.rpartition(" version ")[0]


def _node(sampled: Sampled) -> dict[str, Any]:
    return {
        "version": sampled.version,
        "rows": _list(sampled.rows),
        "looked_at": sampled.looked_at,
        "conditions": {name: _list(each) for name, each in sampled.conditions.items()},
        "refused": sorted(sampled.refused),
        "distinct": {name: _list(each) for name, each in sampled.distinct.items()},
        "widths": {name: _list(each) for name, each in sampled.widths.items()},
        "joins": {
            name: {"pairs": _list(each.pairs), "matched": _list(each.matched), "values": _list(each.values)}
            for name, each in sampled.joins.items()
        },
        "against": dict(sampled.against),
    }


def _sampled(name: str, node: Mapping[str, Any]) -> Sampled:
    return Sampled(
        table=name,
        version=str(node["version"]),
        rows=_estimate(node["rows"]),
        looked_at=int(node["looked_at"]),
        conditions=_estimates(node["conditions"]),
        refused=frozenset(map(str, node["refused"])),
        distinct=_estimates(node["distinct"]),
        widths=_estimates(node["widths"]),
        joins={
            str(key): Matches(_estimate(each["pairs"]), _estimate(each["matched"]), _estimate(each["values"]))
            for key, each in node["joins"].items()
        },
        against={str(key): str(version) for key, version in node["against"].items()},
    )


def _list(estimate: Estimate) -> list[float | str]:
    """Value, lowest, highest and source; a range of one number is said once."""
    numbers = [float(f"{each:.{_DIGITS}g}") for each in (estimate.value, estimate.lower, estimate.upper)]
    return [*(numbers if len(set(numbers)) > 1 else numbers[:1]), estimate.source]


def _estimate(node: list[Any]) -> Estimate:
    *numbers, source = node
    if source not in get_args(Source):
        raise ValueError(f"{source!r} is no source")
    value, lower, upper = (float(each) for each in (numbers * 3 if len(numbers) == 1 else numbers))
    return Estimate(value, lower, upper, source)


def _estimates(node: Mapping[str, Any]) -> dict[str, Estimate]:
    return {str(name): _estimate(each) for name, each in node.items()}


def _unreadable(path: Path, reason: str) -> WorkloadError:
    return WorkloadError(f"{path}: these are no sampled statistics ({reason})", "delete the file; it is made again")
