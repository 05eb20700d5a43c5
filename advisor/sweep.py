"""`advisor whatif W VIEW --vary queries.per_day=1..10000`: one number of a real view is varied, and where the choice
changes is found.

Numbers of the view are `queries.per_day` and `queries.fraction`; of its tables `updates.per_day`, `updates.rows` and
`rows`, of all of them or, with the table's name before it, of one: `orders.updates.per_day`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from advisor.answers import aligned
from advisor.offers import strategy_of
from advisor.proposal import ViewProposal, rounded
from advisor.recommend import ModelName, recommend
from advisor.wording import label
from profiles import specification as spec
from profiles.statistics import Estimate, TableStatistics
from profiles.words import duration, number
from profiles.workload import Workload
from views.definition import Definition
from views.errors import WorkloadError
from views.spelling import did_you_mean

POINTS = 25
_HALVINGS = 12
_OF_VIEW = ("queries.per_day", "queries.fraction")
_OF_TABLE: Mapping[str, str] = {"updates.per_day": "updates_per_day", "updates.rows": "rows_per_update", "rows": "rows"}
_SHOWN = 9


@dataclass(frozen=True)
class Range:
    """What is varied, and between which numbers."""

    parameter: str
    table: str | None
    low: float
    high: float


@dataclass(frozen=True)
class Point:
    """The choice at one value."""

    value: float
    proposal: ViewProposal


@dataclass(frozen=True)
class Sweep:
    """The choices along a range, and the values at which the choice changes."""

    view: str
    range: Range
    points: tuple[Point, ...]
    turns: tuple[tuple[float, str, str], ...]
    """Value, candidate below it, candidate above it."""

    def as_json(self) -> dict[str, Any]:
        return {
            "view": self.view,
            "parameter": ".".join(part for part in (self.range.table, self.range.parameter) if part),
            "points": [
                {
                    "value": rounded(each.value),
                    "choice": each.proposal.candidate,
                    "candidates": {name: rounded(cost) for name, cost in each.proposal.candidates.items()},
                }
                for each in self.points
            ],
            "turns": [{"at": rounded(at), "below": below, "above": above} for at, below, above in self.turns],
        }

    def text(self) -> str:
        """Where the choice changes, and what each strategy costs along the way."""
        name = self.as_json()["parameter"]
        first, last = self.points[0], self.points[-1]
        if not self.turns:
            lines = [f"{self.view}: {label(first.proposal.candidate)} for every {name} from {_n(first)} to {_n(last)}"]
        else:
            lines = [f"{self.view}, {name} from {_n(first)} to {_n(last)}"]
            lines += [f"  {label(below)} turns to {label(above)} at {number(at)}" for at, below, above in self.turns]
        strategies = list(first.proposal.costs)
        rows = [(name, *(s.replace("_", " ") for s in strategies), "choice")]
        step = max((len(self.points) - 1) // (_SHOWN - 1), 1)
        for each in self.points[::step]:
            costs = (duration(each.proposal.costs[s]) for s in strategies)
            rows.append((_n(each), *costs, label(each.proposal.candidate)))
        return "\n".join([*lines, "", *(f"  {line}" for line in aligned(rows).splitlines())])


def _n(point: Point) -> str:
    return number(point.value)


def parse_range(text: str, workload: Workload) -> Range:
    """What `--vary` says: a parameter, and the lowest and highest value."""
    name, equals, values = text.partition("=")
    low, dots, high = values.partition("..")
    name = name.strip()
    hint = "write it like --vary updates.per_day=1..10000"
    try:
        ends = float(low), float(high)
    except ValueError:
        raise WorkloadError(f"--vary {text!r} is not PARAMETER=LOW..HIGH", hint) from None
    if not equals or not dots or not (0 <= ends[0] < ends[1] < math.inf):
        raise WorkloadError(f"--vary {text!r}: the values must rise from 0 or more", hint)
    table = next((t for t in workload.tables if name.startswith(f"{t}.")), None)
    parameter = name if table is None else name.removeprefix(f"{table}.")
    known = (*_OF_TABLE, *(() if table else _OF_VIEW))
    if parameter not in known:
        hint = did_you_mean(parameter, known, "parameters")
        raise WorkloadError(f"--vary {text!r}: {parameter!r} cannot be varied", hint)
    if parameter == "queries.fraction" and ends[1] > 1:
        raise WorkloadError(f"--vary {text!r}: a fraction is at most 1", hint)
    return Range(parameter, table, *ends)


def sweep(
    workload: Workload,
    statistics: Mapping[str, TableStatistics],
    view: str,
    varied: Range,
    model: ModelName,
    definitions: Mapping[str, Definition],
) -> Sweep:
    """The choice for a view at values between two ends."""
    tables = _base(view, definitions)
    if varied.table is not None and varied.table not in tables:
        known = ", ".join(sorted(tables))
        raise WorkloadError(f"view {view!r} does not read {varied.table}", f"its tables are {known}")

    def at(value: float) -> Point:
        changed, known = _with(workload, statistics, view, tables, varied, value)
        found = recommend(changed, [view], model=model, statistics=known, definitions=definitions)
        return Point(value, found.views[view])

    points = [at(value) for value in _values(varied)]
    turns = tuple(
        (_turn(at, before, after), before.proposal.candidate, after.proposal.candidate)
        for before, after in pairwise(points)
        if strategy_of(before.proposal.candidate) != strategy_of(after.proposal.candidate)
        or before.proposal.algorithm != after.proposal.algorithm
    )
    return Sweep(view, varied, tuple(points), turns)


def _base(view: str, definitions: Mapping[str, Definition]) -> set[str]:
    """The base tables under a view."""
    names = definitions[view].relations
    return {n for n in names if n not in definitions}.union(*(_base(n, definitions) for n in names if n in definitions))


def _values(varied: Range) -> Iterator[float]:
    """Evenly spaced by their logarithms; from 0 to the first thousandth in one step."""
    low = varied.low if varied.low > 0 else varied.high / 1000
    if varied.low == 0:
        yield 0.0
    for i in range(POINTS):
        yield low * (varied.high / low) ** (i / (POINTS - 1))


def _turn(at: Callable[[float], Point], before: Point, after: Point) -> float:
    """The value between two points from which on the choice is no longer that of the first."""
    low, high = before.value, after.value
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high) if low > 0 else high / 2
        if at(middle).proposal.candidate == before.proposal.candidate:
            low = middle
        else:
            high = middle
    return high


def _with(
    workload: Workload,
    statistics: Mapping[str, TableStatistics],
    view: str,
    tables: Collection[str],
    varied: Range,
    value: float,
) -> tuple[Workload, Mapping[str, TableStatistics]]:
    """The workload and statistics with one number changed."""
    given = workload.views[view].model_copy(update={"today": None})  # what holds today back does not vary
    if varied.parameter in _OF_VIEW:
        name = varied.parameter.partition(".")[2]
        queries = (given.queries or spec.Queries()).model_copy(update={name: value})
        given = given.model_copy(update={"queries": queries})
    workload = replace(workload, views={**workload.views, view: given}, budget=None)
    if varied.parameter in _OF_VIEW:
        return workload, statistics
    name = _OF_TABLE[varied.parameter]
    estimate = Estimate(value, value, value, "declared")
    chosen = [t for t in tables if varied.table in (None, t)]
    changed = {t: replace(statistics[t], **{name: estimate}) for t in chosen}  # type: ignore[arg-type]
    return workload, {**statistics, **changed}
