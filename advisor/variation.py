"""What a view would cost if its numbers were others: one of them at an end of its range, or how much is updated and
how large a part of a table the view holds (f and P of H87, Figures 3 to 8).

Everything else stays, also how the views beside it are kept. Numbers are varied along the axis of `costmodels.axis`, in
the places of its draws, so that one pricing answers for many values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sqlglot import exp

from advisor.offers import Offers
from advisor.proposal import Proposal, ViewProposal
from advisor.recommend import connected, offers_as_kept, readers_of
from advisor.spark_model import SparkModel
from costmodels.axis import CENTRE, DRAWN, DRAWS, SIZE, Numbers, Vector, constant, full
from profiles.queries import QueryHistory
from profiles.statistics import Estimate, TableStatistics
from profiles.workload import Workload
from views.definition import Definition
from views.pushdown import needed_rows
from views.rules import Program, Rule, column
from views.trees import columns_in

_AT_ONCE = DRAWS // 2
"""Numbers whose two ends fit into one pricing."""
_STEPS = math.isqrt(DRAWS)
SHARES = tuple(float(share) for share in (0.02, 0.1, 0.2, 0.32, 0.44, 0.56, 0.68, 0.8, 0.9, 0.98))
"""The P of a surface."""
_LEAST_PART = 1e-3
_MARK = "is in the view"


@dataclass(frozen=True)
class Ends:
    """A number, and what each permitted candidate costs a day at the lower and at the upper end of its range."""

    name: str
    estimate: Estimate
    costs: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Surface:
    """What each permitted candidate costs a day, by parts of a table that the view holds and then by `SHARES`."""

    table: str
    parts: tuple[float, ...]
    costs: Mapping[str, tuple[tuple[float, ...], ...]]
    part: float
    """Today's."""


@dataclass(frozen=True)
class Variation:
    """A workload as it was recommended, to be priced again with other numbers."""

    workload: Workload
    statistics: Mapping[str, TableStatistics]
    definitions: Mapping[str, Definition]
    proposal: Proposal
    reads: Mapping[str, QueryHistory] = field(default_factory=dict)
    """Those that the proposal was made with."""

    def ends(self, view: str) -> list[Ends]:
        """Every number that enters the price of a view, with what its ends make of it."""
        chosen, own = self.proposal.views[view], self._own(view)
        found: list[Ends] = []
        asked: dict[str, Estimate] = {}
        done: dict[str, int] = {}
        while True:
            pass_ = _AtEnds(own, frozenset(done), asked)
            costs = self._costs(chosen, pass_, self.definitions)
            for name, slot in pass_.slots.items():
                both = {c: (float(cost[slot]), float(cost[slot + 1])) for c, cost in costs.items()}
                found.append(Ends(name, asked[name], both))
            done |= pass_.slots
            if not pass_.slots or not pass_.full:
                break
        at = {c: (float(cost[CENTRE]),) * 2 for c, cost in costs.items()}
        return found + [Ends(name, asked[name], at) for name in asked if name not in done and own(name)]

    def surface(self, view: str) -> Surface | None:
        """The costs for other parts of a table in the view and other shares of updates; None without such a table."""
        chosen = self.proposal.views[view]
        updates, queries = (float(rate[CENTRE]) for rate in (chosen.offers.rates.updates, chosen.offers.rates.queries))
        table = self.table_of(view)
        if table is None or updates <= 0 or queries <= 0:
            return None
        part = self._part(view, table)
        least = min(_LEAST_PART, 10.0 ** math.floor(math.log10(max(part, 1e-9))))
        parts = tuple(float(each) for each in np.geomspace(least, 1.0, _STEPS))
        factors = [queries * share / (1 - share) / updates for share in SHARES]
        grid = _Grid(part, np.repeat(parts, _STEPS), np.tile(factors, _STEPS))
        costs = self._costs(chosen, grid, self._narrowed(view, table))
        squares = {name: cost[DRAWN].reshape(_STEPS, _STEPS).tolist() for name, cost in costs.items()}
        return Surface(table, parts, {name: tuple(map(tuple, each)) for name, each in squares.items()}, part)

    def table_of(self, view: str) -> str | None:
        """The table whose part in the view is varied: of those that are updated the largest, else the largest."""
        tables = [self.statistics[name] for name in _joined(self._programs(view)) if name in self.statistics]
        largest = max(tables, key=lambda t: (t.updates_per_day.value > 0, t.rows.value), default=None)
        return None if largest is None else largest.name

    def _programs(self, view: str) -> Iterator[Program]:
        """The view's, and those of the virtual views that it reads."""
        definition = self.definitions[view]
        if definition.program is not None:
            yield definition.program
        for name in definition.relations:
            if name in self.definitions and self.proposal.views[name].strategy == "query_modification":
                yield from self._programs(name)

    def _part(self, view: str, table: str) -> float:
        """The part of a table's rows that can matter to a view."""
        assert self.proposal.machine is not None
        model = SparkModel(self.workload, self.statistics, self.definitions, self.proposal.machine)
        kept = [n for n in model.below(view) if self.proposal.views[n].strategy != "query_modification"]
        program = model.view(view, kept).program
        assert program is not None
        wanted = needed_rows(program).get(table)
        found = None if wanted is None else model.tables.relations[table].selected(wanted)
        return 1.0 if found is None else float(found[CENTRE])

    def _narrowed(self, view: str, table: str) -> dict[str, Definition]:
        """The definitions, where the view's conditions on one table are replaced by one that keeps a part of it."""
        name = next(iter(self.statistics[table].columns), "a")
        below = {view, *(p.view for p in self._programs(view))}
        return {
            each: replace(given, program=_with_part(given.program, table, name))
            if each in below and given.program is not None
            else given
            for each, given in self.definitions.items()
        }

    def _own(self, view: str) -> Callable[[str], bool]:
        """Whether a number, by its name, is about a view, its tables, those it is connected with, or the machine."""
        group = self._group(view)
        tables = {table for each in group for table in self._base(each)}

        def own(name: str) -> bool:
            about = name.split(":")[0].split(".")[0]
            return about in tables or about in group or name.startswith(COEFFICIENT)

        return own

    def _base(self, view: str) -> set[str]:
        names = self.definitions[view].relations
        return set().union(*(self._base(n) if n in self.definitions else {n} for n in names))

    @cached_property
    def _readers(self) -> dict[str, list[str]]:
        return readers_of(self.definitions)

    def _group(self, view: str) -> set[str]:
        return connected([view], self._readers)

    def _costs(
        self, chosen: ViewProposal, numbers: Numbers, definitions: Mapping[str, Definition]
    ) -> dict[str, Vector]:
        """What the permitted candidates cost along the axis; scaled, so that today's numbers give what was proposed."""
        assert self.proposal.machine is not None
        choice = {each: self.proposal.views[each].candidate for each in self._group(chosen.view)}
        made: Offers = offers_as_kept(
            self.workload, self.statistics, definitions, self.proposal.machine, choice, numbers, self.reads
        )[chosen.view]
        found = {}
        for name in chosen.permitted:
            if name in made.offers:
                cost = full(made.offers[name].seconds)
                scale = chosen.candidates[name] / cost[CENTRE] if cost[CENTRE] > 0 else 1.0
                found[name] = cost * scale
        return found


COEFFICIENT = "coefficient "


@dataclass
class _AtEnds:
    """Numbers that lie at the ends of their ranges in two places of the axis each."""

    own: Callable[[str], bool]
    done: frozenset[str]
    asked: dict[str, Estimate]
    slots: dict[str, int] = field(default_factory=dict)
    full: bool = False

    def __call__(self, estimate: Estimate, name: str) -> Vector:
        self.asked[name] = estimate
        if estimate.lower == estimate.upper or name in self.done or not self.own(name):
            return constant(estimate.value)
        if name not in self.slots:
            if len(self.slots) == _AT_ONCE:
                self.full = True
                return constant(estimate.value)
            self.slots[name] = DRAWN.start + 2 * len(self.slots)
        found = np.full(SIZE, estimate.value)
        found[self.slots[name]], found[self.slots[name] + 1] = estimate.lower, estimate.upper
        return found


@dataclass(frozen=True)
class _Grid:
    """Parts of a table in the view, and factors of the updates, in the places of the draws; the rest is as it is."""

    part: float
    parts: Vector
    factors: Vector

    def __call__(self, estimate: Estimate, name: str) -> Vector:
        if _MARK in name:
            found = np.full(SIZE, self.part)
            found[DRAWN] = self.parts
            return found
        if name.endswith(".updates"):
            found = np.full(SIZE, estimate.value)
            found[DRAWN] *= self.factors
            return found
        return constant(estimate.value)


def _joined(programs: Iterator[Program]) -> dict[str, None]:
    """What rules join."""
    return {s.relation: None for p in programs for each in p.predicates for rule in each.rules for s in rule.subgoals}


def _with_part(program: Program, table: str, name: str) -> Program:
    """The program with one condition on a table instead of its own."""

    def changed(rule: Rule) -> Rule:
        aliases = {subgoal.alias for subgoal in rule.subgoals if subgoal.relation == table}
        if not aliases:
            return rule
        kept = tuple(c for c in rule.conditions if not _only_about(c, aliases))
        marks = tuple(exp.NEQ(this=column(alias, name), expression=exp.Literal.string(_MARK)) for alias in aliases)
        return replace(rule, conditions=kept + marks)

    predicates = tuple(replace(p, rules=tuple(map(changed, p.rules))) for p in program.predicates)
    return replace(program, predicates=predicates)


def _only_about(condition: exp.Expr, aliases: set[str]) -> bool:
    found = {each.table for each in columns_in(condition)}
    return len(found) == 1 and found <= aliases
