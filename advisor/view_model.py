"""The work that one view makes on Spark: its sizes, its plans, and the quantities of reading, following and rebuilding.

Which of the views below it are stored decides what it reads: the others are opened up where they are read, as the
runner opens them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from advisor.table_model import Stream
from costmodels import spark
from costmodels.axis import CENTRE, Vector, constant
from costmodels.cardinality import Cardinality, Relation, Shape
from costmodels.spark import Change, Known, Layout, Step, Work
from executors.executor import executors
from profiles.statistics import Estimate
from views.compose import opened
from views.definition import Definition
from views.deltas import DELTA
from views.filters import parse_filter
from views.pushdown import needed_rows
from views.rules import Expr, Program
from views.states import filling
from views.steps import ApplyDelta, Evaluate, Plan, ReadStored, Replace

if TYPE_CHECKING:
    from advisor.spark_model import SparkModel

_Planned = tuple[Plan, tuple[spark.Stage, ...], dict[int, Shape]]
"""A plan, the statements of its delta program, and the shapes of its rules as far as they are known."""


@dataclass
class ViewModel:
    """The work that one view makes, with some of the views below it stored."""

    model: SparkModel
    name: str
    below: frozenset[str]
    _maintained: dict[tuple[object, ...], tuple[list[Step], Vector]] = field(default_factory=dict)
    _plans: dict[tuple[str, ...], _Planned | None] = field(default_factory=dict)
    _rebuilds: dict[str, list[Step]] = field(default_factory=dict)

    # The view as the runner would open it

    @cached_property
    def definition(self) -> Definition:
        given = self.model.definitions[self.name]
        virtual = {
            name: program
            for name in self.model.below(self.name) - self.below
            if (program := self.model.definitions[name].program) is not None
        }
        if given.program is None or not virtual:
            return given
        program = opened(given.program, virtual)
        return replace(given, program=program, relations=tuple(n for n in program.relations if n in self.readable))

    @property
    def readable(self) -> set[str]:
        return {*self.model.statistics, *self.model.definitions}

    @property
    def program(self) -> Program | None:
        return self.definition.program

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The base tables and stored views that it reads."""
        found: dict[str, None] = {}
        for name in self.definition.relations:
            if name in self.model.definitions and name not in self.below:
                found |= dict.fromkeys(self.lower(name).sources)  # of a virtual view that has no program
            else:
                found[name] = None
        return tuple(found)

    def lower(self, name: str) -> ViewModel:
        return self.model.view(name, self.below)

    @cached_property
    def base(self) -> frozenset[str]:
        """The base tables under it, whatever lies between."""
        return frozenset().union(
            *({name} if name in self.model.statistics else self.lower(name).base for name in self.sources)
        )

    @cached_property
    def streams(self) -> list[Stream]:
        return [stream for stream in self.model.streams if self.base & set(stream.tables)]

    # Sizes

    @cached_property
    def known(self) -> Known:
        """What it reads, itself, and what is kept beside it."""
        layouts = dict(self.model.tables.layouts)
        layouts |= {n: self.lower(n).layout for n in self.sources if n in self.model.definitions}
        whole = Known(self.relations, layouts, self.model.tables.together)
        layouts[self.name] = self._stored_layout(whole)
        if self.now is not None:
            for plan in self.plans.values():
                for state in plan.states:
                    kept = self.now[state.predicate.name]
                    width = dict.fromkeys(state.columns, constant(8.0))
                    size = np.maximum(kept.rows * 9 * len(width) / spark.FILE_BYTES, 1.0)
                    ends = dict.fromkeys(state.keys[:1], 1 / size)
                    layouts[state.table] = Layout(kept.rows, size, width, ends, state.keys)
        return whole

    @cached_property
    def relations(self) -> dict[str, Relation]:
        """The base tables, and the stored views that it reads."""
        sources = {n: self.lower(n).relation for n in self.sources if n in self.model.definitions}
        return {**self.model.tables.relations, **sources}

    @cached_property
    def now(self) -> Cardinality | None:
        """The sizes of its predicates over its sources as they are; None where it has no program."""
        return None if self.program is None else Cardinality(self.program, self.relations)

    @cached_property
    def relation(self) -> Relation:
        """Its rows, as whoever reads it finds them."""
        if self.now is None:
            rows = max((self.model.tables.relations[n].rows for n in self.base), key=lambda r: float(r[0]))
            return Relation(rows)
        return replace(self.now[self.name], selected=self._selected)

    def _selected(self, each: Expr) -> Vector | None:
        """The part of its rows that a condition on its columns keeps: that of the columns they come from."""
        if self.program is None:
            return None
        before, after = self.definition.needed, needed_rows(self.program, each)
        part = constant(1.0)
        for name, wanted in after.items():
            if wanted is not None and wanted != before.get(name) and name in self.model.tables.relations:
                part = part * self._part(name, before.get(name), wanted)
        return part if part[CENTRE] < 1 else None

    def _part(self, table: str, before: Expr | None, after: Expr) -> Vector:
        """How much smaller a part of a table's rows passes one condition than another."""
        relation = self.model.tables.relations[table]
        lower = relation.selected(after)
        upper = None if before is None else relation.selected(before)
        part = constant(1.0) if lower is None else lower
        return np.minimum(part / np.maximum(constant(1.0) if upper is None else upper, 1e-12), 1.0)

    @cached_property
    def layout(self) -> Layout:
        return self.known.layouts[self.name]

    def _stored_layout(self, known: Known) -> Layout:
        relation = self.relation
        width = {}
        for name in self.definition.columns:
            origin = [lay.column_bytes[name] for lay in known.layouts.values() if name in lay.column_bytes]
            width[name] = origin[0] if origin else constant(8.0)
        total = sum(width.values(), constant(1.0))
        files = np.maximum(relation.rows * total / spark.FILE_BYTES, 1.0)
        keys = () if self.program is None else self.program.found_by
        return Layout(relation.rows, files, width, dict.fromkeys(keys[:1], 1 / files), keys)

    # Plans and their work

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """By algorithm, the plan when all that is ever updated has changed; only of algorithms that apply."""
        updated = {table for stream in self.model.streams for table in stream.tables}
        changing = [
            name
            for name in self.sources
            if name in updated or (name in self.model.definitions and self.lower(name).base & updated)
        ]
        found = {name: self._planned(name, tuple(changing)) for name, each in executors().items() if each.stores}
        return {name: planned[0] for name, planned in found.items() if planned is not None}

    @cached_property
    def where(self) -> Expr | None:
        """The condition that queries put on the view."""
        queries = self.model.workload.views[self.name].queries
        if queries is None or queries.filter is None:
            return None
        place = self.model.workload.place("views", self.name, "queries", "filter")
        return parse_filter(queries.filter, self.definition.columns, f"{place}: view {self.name!r}")

    @cached_property
    def fraction(self) -> Vector:
        """The part of the view that a query reads."""
        queries = self.model.workload.views[self.name].queries
        if queries is not None and queries.fraction is not None:
            return self.model.numbers(Estimate.of(queries.fraction, "declared", most=1.0), f"{self.name}.fraction")
        found = None if self.where is None else self.relation.selected(self.where)
        if found is None:
            self.model.defaults.setdefault(self.name, set()).add(f"part of {self.name} a query reads (all)")
            return constant(1.0)
        return found

    def evaluate(self, program: Program, where: Expr | None = None) -> Work:
        """Evaluating a program over the sources, of the rows that a filter asks for."""
        before = self.definition.needed if program is self.program else needed_rows(program)
        needed, share = before, {}
        if where is not None:
            needed = needed_rows(program, where)
            for name, wanted in needed.items():
                if wanted is not None and wanted != before[name] and name in self.model.tables.relations:
                    share[name] = self._part(name, before[name], wanted)
        now = self.now if program is self.program and not share else None
        return spark.evaluated(program, self.known, needed, share, now)

    @cached_property
    def virtual(self) -> list[Step]:
        """A read of the virtual view, as its queries are."""
        return self.evaluated(self.where)

    def evaluated(self, where: Expr | None) -> list[Step]:
        """A read of the rows of the virtual view that pass a filter."""
        if self.program is not None:
            return [("evaluate the definition", self.evaluate(self.program, where))]
        work = Work()
        work.add(statements=1, jobs=1 + len(self.base), shuffles=1, reads=len(self.base))
        for name in self.base:
            layout = self.known.layouts[name]
            work.add(files_read=layout.files, rows_read=layout.rows, rows_joined=layout.rows, bytes_read=layout.bytes)
        return [("evaluate the definition", work)]

    @cached_property
    def read(self) -> list[Step]:
        """A read of the stored view, as its queries are."""
        return [("read the stored rows", spark.read(self.layout, self.relation, self.where, self.fraction))]

    def read_where(self, where: Expr | None) -> list[Step]:
        """A read of the stored rows that pass a filter."""
        if where == self.where:
            return self.read
        selected = constant(1.0) if where is None else self.relation.selected(where)
        fraction = constant(1.0) if selected is None else selected
        return [("read the stored rows", spark.read(self.layout, self.relation, where, fraction))]

    def rebuild(self, algorithm: str) -> list[Step]:
        """Storing all rows, and before them what the algorithm keeps beside them."""
        if algorithm not in self._rebuilds:
            self._rebuilds[algorithm] = self._rebuild(algorithm)
        return self._rebuilds[algorithm]

    def _rebuild(self, algorithm: str) -> list[Step]:
        steps: list[Step] = []
        plan = self.plans[algorithm]
        for state in plan.states:
            assert self.program is not None
            filled = self.evaluate(filling(state, self.program))
            filled.include(spark.replaced(self.known.layouts[state.table]))
            steps.append((f"fill {state.table}", filled))
        whole = Work()
        whole.include(self.evaluate(self.program) if self.program is not None else self.virtual[0][1])
        whole.include(spark.replaced(self.layout, ordered=algorithm != "recompute"))
        return [*steps, (f"rebuild {self.name}", whole)]

    def maintain(self, algorithm: str, tuples: Mapping[str, Vector]) -> tuple[list[Step], Vector]:
        """Bringing the view up to date with so many changed tuples of base tables; and how many of its own change."""
        changes = self.changes(tuples)
        key = (algorithm, _known_by(changes))
        if key not in self._maintained:
            self._maintained[key] = self.follow(algorithm, changes)
        return self._maintained[key]

    def follow(self, algorithm: str, changes: Mapping[str, Change], *, apply: bool = True) -> tuple[list[Step], Vector]:
        """Bringing the view up to date when its sources have changed so; and how many of its own tuples change.

        Without `apply` the change is only derived.
        """
        found = self._planned(algorithm, tuple(changes))
        if found is None:  # too large when several change at once
            return self.rebuild("recompute"), self.relation.rows
        plan, statements, shapes = found
        steps: list[Step] = []
        rows = constant(0.0)
        for step in plan.maintain:
            match step:
                case ApplyDelta(delta=delta):
                    assert self.program is not None
                    relations = {n: self.known.relations[n] for n in self.definition.relations}
                    cards = spark.change_of(
                        delta, self.program, plan.states, relations, changes, self._inexact, self.now, shapes
                    )
                    if apply:
                        steps += spark.followed(delta, statements, plan.states, self.known, changes, cards)
                    else:
                        steps += spark.derived(statements, self.known, changes, cards)
                    rows = rows + cards[self.name + DELTA].rows
                case Replace():
                    steps += self.rebuild(algorithm)
                    rows = rows + self.relation.rows
                case Evaluate() | ReadStored():
                    raise AssertionError("maintenance answers no read")
        return steps, rows

    def _planned(self, algorithm: str, changed: tuple[str, ...]) -> _Planned | None:
        """The plan for what has changed; None where the algorithm has none."""
        key = (algorithm, *changed)
        if key not in self._plans:
            plan = executors()[algorithm].plan(self.definition, changed)
            self._plans[key] = None
            if isinstance(plan, Plan):
                deltas = [step.delta for step in plan.maintain if isinstance(step, ApplyDelta)]
                self._plans[key] = plan, tuple(stage for delta in deltas for stage in spark.staged(delta)), {}
        return self._plans[key]

    @cached_property
    def _inexact(self) -> frozenset[tuple[str, str]]:
        return frozenset() if self.program is None else spark.inexact_columns(self.program, self._types)

    @cached_property
    def _types(self) -> Mapping[str, Mapping[str, str]]:
        return {name: table.columns for name, table in self.model.statistics.items()}

    def changes(self, tuples: Mapping[str, Vector]) -> dict[str, Change]:
        """What of its sources has changed when so many tuples of base tables have."""
        found = {}
        for name in self.sources:
            if name in self.model.statistics:
                if name in tuples:
                    rows = np.minimum(tuples[name], 2 * self.known.layouts[name].rows)
                    found[name] = Change(rows, self.model.statistics[name].deletes)
            elif self.lower(name).base & set(tuples):
                plans = self.lower(name).plans
                algorithm = "counting" if "counting" in plans else "recompute"
                found[name] = Change(self.lower(name).maintain(algorithm, tuples)[1])
        return found


def _known_by(changes: Mapping[str, Change]) -> tuple[tuple[str, bytes], ...]:
    """What tells changes apart."""
    return tuple((name, change.rows.tobytes()) for name, change in sorted(changes.items()))
