"""Prices every way to keep a view on Spark: what is known of a workload, as relations, layouts and streams of updates.

    virtual     each read evaluates the view's definition on the base tables
    immediate   each update transaction is followed by the view; a read finds stored rows
    deferred    reads that find something pending apply it first, or a clock does where staleness is allowed

The work of each comes from the plans that executors make (`views.steps`), so what is priced is what runs. Which views
below one are stored decides what its plan reads; what reads it decides how often it is refreshed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
from sqlglot import exp

from advisor.offers import QUERY_MODIFICATION, Item, Offer, Offers, Rates, strategy_of
from costmodels import schedule, spark
from costmodels.axis import CENTRE, QUERIES, UPDATES, Numbers, Vector, constant, swept, vector
from costmodels.cardinality import Cardinality, Relation, Shape
from costmodels.spark import Change, Known, Layout, Step, Work
from executors.executor import executors
from profiles.coefficients import MachineProfile
from profiles.requests import text
from profiles.selectivity import selectivity
from profiles.sources import DEFAULT_QUERIES
from profiles.statistics import Estimate, TableStatistics
from profiles.units import SECONDS_A_DAY
from profiles.workload import Workload
from views.compose import opened
from views.conditions import Column, condition
from views.definition import Definition
from views.deltas import DELTA
from views.filters import parse_filter
from views.pushdown import needed_rows
from views.rules import Expr, Program
from views.states import filling
from views.steps import ApplyDelta, Evaluate, Plan, ReadStored, Replace

_STAYS_UP_SECONDS = 3600.0
"""A clock that ticks more often is taken for a process that stays; a slower one starts an engine each time."""


@dataclass(frozen=True)
class Stream:
    """Update transactions that change the same tables: how many a day, and the tuples that one of them changes."""

    tables: tuple[str, ...]
    transactions: Vector
    tuples: Mapping[str, Vector]
    at: tuple[int, ...] = ()

    @property
    def events(self) -> Vector:
        """How many times a day something is pending that was not: batches count once."""
        return np.minimum(self.transactions, len(set(self.at))) if self.at else self.transactions


@dataclass(frozen=True)
class Demand:
    """What wants a view's rows to be fresh: reads a day, and, for an immediate view above, each update."""

    reads: Vector
    with_updates: bool = False

    @property
    def key(self) -> tuple[bytes, bool]:
        """What tells it from others."""
        return self.reads.tobytes(), self.with_updates


@dataclass
class SparkModel:
    """The prices of a workload's views."""

    workload: Workload
    statistics: Mapping[str, TableStatistics]
    definitions: Mapping[str, Definition]
    machine: MachineProfile
    numbers: Numbers = vector
    """How an estimate, by its name, lies along the axis."""
    defaults: dict[str, set[str]] = field(default_factory=dict)
    """By view, what of its prices had to be assumed, in words."""
    _views: dict[tuple[str, frozenset[str]], _View] = field(default_factory=dict)
    _below: dict[str, frozenset[str]] = field(default_factory=dict)
    _queries: dict[str, Vector] = field(default_factory=dict)

    @cached_property
    def prices(self) -> spark.Prices:
        return spark.prices_of(self.machine, self.numbers)

    # What is known of relations

    @cached_property
    def tables(self) -> Known:
        relations = {name: self._relation(table) for name, table in self.statistics.items()}
        layouts = {name: _layout(table, self.numbers) for name, table in self.statistics.items()}
        together = {
            (child, parent)
            for stream in self.streams
            for child in stream.tables
            for reference in self.statistics[child].foreign_keys.values()
            if (parent := reference.rpartition(".")[0]) in stream.tables
        }
        return Known(relations, layouts, frozenset(together))

    def _relation(self, table: TableStatistics) -> Relation:
        known: dict[Expr | str, Vector] = {}

        def selected(each: Expr) -> Vector:
            if each not in known:  # the same condition, under another alias, has the same text
                name = text(each)
                if name not in known:
                    known[name] = among(each.unnest(), name)
                known[each] = known[name]
            return known[each]

        def among(each: Expr, name: str) -> Vector:
            """The part of the rows with a condition: sampled as a whole, else from its parts as if independent."""
            found = table.conditions.get(name)
            if found is None:
                match each:
                    case exp.And():
                        return prod((selected(part) for part in each.flatten()), start=constant(1.0))
                    case exp.Or():
                        return 1 - prod((1 - selected(part) for part in each.flatten()), start=constant(1.0))
                    case exp.Not():
                        return 1 - selected(each.this)
                found = selectivity(condition(each, lambda c: Column(table.name, c.name)), {table.name: table})
            if found.source == "default":
                said = f"part of {table.name} with {_short(name)} ({found.value:.2g})"
                self.defaults.setdefault(table.name, set()).add(said)
            return self.numbers(found, f"{table.name}: {name}")

        joins = {}
        for name, estimate in table.joins.items():
            mine, _, other = name.partition("=")
            if " where " not in name and "," not in mine:
                of, _, column = other.rpartition(".")
                joins[mine, of, column] = self.numbers(estimate, f"{table.name}: {name}")
        distinct = {
            name: self.numbers(column.distinct, f"{table.name}.{name} values") for name, column in table.details.items()
        }
        columns = set(table.columns)
        combined = {
            name.replace("`", ""): self.numbers(estimate, f"{table.name}: {name}")
            for name, estimate in table.combinations.items()
            if set(name.replace("`", "").split(", ")) <= columns
        }
        rows = self.numbers(table.rows, f"{table.name}.rows")
        return Relation(rows, distinct, selected, joins, table.key, combined)

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The update transactions; tables that refer to each other and are updated as often are updated together."""
        groups: list[list[TableStatistics]] = []
        for table in self.statistics.values():
            if table.updates_per_day.upper > 0 and table.updates_per_day.value > 0:
                rate = table.updates_per_day
                for group in groups:
                    first = group[0]
                    if (first.updates_per_day.value, first.at) == (rate.value, table.at) and _linked(table, group):
                        group.append(table)
                        break
                else:
                    groups.append([table])
        return tuple(self._stream(group) for group in groups)

    def _stream(self, tables: Sequence[TableStatistics]) -> Stream:
        rate = swept(self.numbers(tables[0].updates_per_day, f"{tables[0].name}.updates"), UPDATES)
        tuples = {t.name: self.numbers(t.rows_per_update, f"{t.name}.update rows") * t.changes_per_row for t in tables}
        return Stream(tuple(t.name for t in tables), rate, tuples, tables[0].at)

    # What is known of a view

    def view(self, name: str, stored: Iterable[str]) -> _View:
        """A view, given which of the views below it are stored."""
        below = frozenset(stored) & self.below(name)
        key = (name, below)
        if key not in self._views:
            self._views[key] = _View(self, name, below)
        return self._views[key]

    def below(self, name: str) -> frozenset[str]:
        """The views that a view reads, directly or through others."""
        if name not in self._below:
            direct = [n for n in self.definitions[name].relations if n in self.definitions]
            self._below[name] = frozenset(direct).union(*(self.below(n) for n in direct))
        return self._below[name]

    def queries(self, name: str) -> Vector:
        """The view's own reads a day."""
        if name not in self._queries:
            self._queries[name] = self._reads(name)
        return self._queries[name]

    def _reads(self, name: str) -> Vector:
        declared = self.workload.views[name].queries
        per_day = None if declared is None else declared.per_day
        estimate = Estimate.of(DEFAULT_QUERIES, "default") if per_day is None else Estimate.of(per_day, "declared")
        if per_day is None:
            self.defaults.setdefault(name, set()).add(f"queries of {name} ({DEFAULT_QUERIES:,.0f} a day)")
        return swept(self.numbers(estimate, f"{name}.queries"), QUERIES)

    def offers(self, name: str, stored: Iterable[str], demand: Demand, sharers: int = 1) -> Offers:
        """Every way to keep a view, priced; `sharers` views are refreshed by the same clock."""
        return self.view(name, stored).offers(demand, sharers)


_Planned = tuple[Plan, tuple[spark.Stage, ...], dict[int, Shape]]
"""A plan, the statements of its delta program, and the shapes of its rules as far as they are known."""


@dataclass
class _View:
    """The work that one view makes, with some of the views below it stored."""

    model: SparkModel
    name: str
    below: frozenset[str]
    _maintained: dict[tuple[object, ...], tuple[list[Step], Vector]] = field(default_factory=dict)
    _plans: dict[tuple[str, ...], _Planned | None] = field(default_factory=dict)
    _rebuilds: dict[str, list[Step]] = field(default_factory=dict)
    _offers: dict[tuple[object, ...], Offers] = field(default_factory=dict)

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

    def lower(self, name: str) -> _View:
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

    # Offers

    def offers(self, demand: Demand, sharers: int) -> Offers:
        key = (demand.key, sharers)
        if key not in self._offers:
            self._offers[key] = self._priced(demand, sharers)
        return self._offers[key]

    def _priced(self, demand: Demand, sharers: int) -> Offers:
        prices, queries = self.model.prices, self.model.queries(self.name)
        updates = sum((s.transactions for s in self.streams), constant(0.0))

        def item(what: str, times: Vector, steps: Sequence[Step]) -> Item:
            seconds = sum((work.seconds(prices) for _, work in steps), constant(0.0))
            return Item(what, times, tuple(steps), seconds)

        reads = item("read", queries, self.read)
        virtual = item("read", demand.reads, self.virtual)
        found = {
            QUERY_MODIFICATION: Offer(
                QUERY_MODIFICATION, virtual.times * virtual.seconds, (virtual,), float(virtual.seconds[CENTRE])
            )
        }
        read_seconds = float(reads.seconds[CENTRE])
        for algorithm in self._algorithms:
            build = sum((work.seconds(prices) for _, work in self.rebuild(algorithm)), constant(0.0))
            kept = [self.known.layouts[state.table] for state in self.plans[algorithm].states]
            size = float(sum((layout.bytes for layout in (self.layout, *kept)), constant(0.0))[CENTRE])
            costs = float(build[CENTRE]), size
            followed = [
                item(
                    f"update of {', '.join(t for t in s.tables if t in self.base)}",
                    s.transactions,
                    self.maintain(algorithm, s.tuples)[0],
                )
                for s in self.streams
            ]
            name = f"immediate/{algorithm}"
            found[name] = Offer(
                name,
                _total((*followed, reads)),
                (*followed, reads),
                read_seconds,
                build_seconds=costs[0],
                storage_bytes=costs[1],
            )
            name = f"deferred/{algorithm}"
            found[name] = min(
                (
                    replace(
                        self._deferred(name, algorithm, demand, period, sharers, reads, item),
                        build_seconds=costs[0],
                        storage_bytes=costs[1],
                    )
                    for period in self._periods
                ),
                key=lambda offer: offer.a_day,
            )
        return Offers(self.name, Rates(updates, queries), found)

    @property
    def _algorithms(self) -> list[str]:
        """Incremental ones first: of equal costs the first wins."""
        return sorted(self.plans, key=lambda name: (name == "recompute", name))

    @cached_property
    def _periods(self) -> tuple[float | None, ...]:
        """By reads, or by a clock within the allowed staleness."""
        view = self.model.workload.views[self.name]
        # Waiting longer is never dearer, but for the engine that a clock of few ticks starts each time.
        by_clock: tuple[float, ...] = (view.max_staleness,) if view.max_staleness else ()
        if view.max_staleness and view.max_staleness >= _STAYS_UP_SECONDS:
            by_clock = (view.max_staleness, _STAYS_UP_SECONDS / 2)
        if view.readers == "external":
            return by_clock or (SECONDS_A_DAY,)
        return (None, *by_clock)

    def _deferred(
        self,
        name: str,
        algorithm: str,
        demand: Demand,
        period: float | None,
        sharers: int,
        reads: Item,
        item: Callable[[str, Vector, Sequence[Step]], Item],
    ) -> Offer:
        refreshes = self._refreshes(demand, period)
        items = []
        for tables, times, tuples in self._batches(refreshes):
            what = f"refresh after changes of {', '.join(tables)}"
            items.append(item(what, times, self.maintain(algorithm, tuples)[0]))
        if period is not None and period >= _STAYS_UP_SECONDS:
            start = Work()
            start.add(sessions=1 / sharers)
            items.append(item("start of an engine", refreshes, [("start", start)]))
        pending = max((float(i.seconds[CENTRE]) for i in items), default=0.0) if period is None else 0.0
        return Offer(
            name,
            _total((*items, reads)),
            (*items, reads),
            float(reads.seconds[CENTRE]) + pending,
            period,
            float(refreshes[CENTRE]),
        )

    def _refreshes(self, demand: Demand, period: float | None) -> Vector:
        """How many times a day something pending is met."""
        events = sum((s.events for s in self.streams), constant(0.0))
        if demand.with_updates:
            return events
        at = sorted({minute for s in self.streams for minute in s.at})
        batched = bool(self.streams) and all(s.at for s in self.streams)
        if period is not None:
            return schedule.by_the_clock(events, period, at if batched else ())
        if batched:
            queries = self.model.workload.views[self.name].queries
            return schedule.after_batches(at, demand.reads, queries.between if queries is not None else None)
        return schedule.in_random_order(events, demand.reads)

    def _batches(self, refreshes: Vector) -> list[tuple[list[str], Vector, dict[str, Vector]]]:
        """Refreshes by what they find changed: which tables, how often, and how many tuples of each.

        A stream that has nothing pending at every second refresh takes part in every second one; those that come less
        often are taken to come with those that come more often.
        """
        found = []
        shares = []
        for stream in self.streams:
            per_refresh = stream.events / np.maximum(refreshes, 1e-12)
            share = np.minimum(per_refresh, 1.0)
            transactions = stream.transactions / np.maximum(refreshes * share, 1e-12)
            shares.append((share, stream, transactions))
        shares.sort(key=lambda each: -float(each[0][CENTRE]))
        merged: list[tuple[Vector, list[tuple[Stream, Vector]]]] = []
        for share, stream, transactions in shares:
            if merged and float(merged[-1][0][CENTRE]) - float(share[CENTRE]) < 0.05:
                merged[-1][1].append((stream, transactions))
            else:
                merged.append((share, [*(merged[-1][1] if merged else []), (stream, transactions)]))
        for number, (share, parts) in enumerate(merged):
            rest = merged[number + 1][0] if number + 1 < len(merged) else constant(0.0)
            tuples = {
                table: np.asarray(n * number_of) for stream, n in parts for table, number_of in stream.tuples.items()
            }
            tables = [table for stream, _ in parts for table in stream.tables if table in self.base]
            found.append((tables, refreshes * np.maximum(share - rest, 0.0), tuples))
        return found


def demand_of(
    model: SparkModel, name: str, choice: Mapping[str, str], found: Mapping[str, Offer], readers: Iterable[str]
) -> Demand:
    """What wants a view's rows to be fresh: its own queries, and the views above it as they are kept."""
    reads, with_updates = model.queries(name), False
    for reader in readers:
        strategy = strategy_of(choice[reader])
        if strategy == QUERY_MODIFICATION:
            above = next(i.times for i in found[reader].items)
            reads = reads + above
        elif strategy == "immediate":
            with_updates = True
        else:
            reads = reads + constant(found[reader].refreshes or 0.0)
    return Demand(reads, with_updates)


def _layout(table: TableStatistics, numbers: Numbers) -> Layout:
    return Layout(
        rows=numbers(table.rows, f"{table.name}.rows"),
        files=numbers(table.files, f"{table.name}.files"),
        column_bytes={c: numbers(s.width_bytes, f"{table.name}.{c} bytes") for c, s in table.details.items()},
        overlap={c: numbers(s.overlap, f"{table.name}.{c} overlap") for c, s in table.details.items()},
        key=table.key,
        foreign_keys=table.foreign_keys,
    )


def _linked(table: TableStatistics, group: Sequence[TableStatistics]) -> bool:
    """Whether a table refers to one of the others, or one of them to it."""
    names = {each.name for each in group}
    mine = {reference.rpartition(".")[0] for reference in table.foreign_keys.values()}
    theirs = {r.rpartition(".")[0] for each in group for r in each.foreign_keys.values()}
    return bool(mine & names) or table.name in theirs


def _total(items: Iterable[Item]) -> Vector:
    return sum((each.times * each.seconds for each in items), constant(0.0))


def _known_by(changes: Mapping[str, Change]) -> tuple[tuple[str, bytes], ...]:
    """What tells changes apart."""
    return tuple((name, change.rows.tobytes()) for name, change in sorted(changes.items()))


def _short(sql: str) -> str:
    plain = sql.replace("`", "")
    return plain if len(plain) <= 60 else plain[:57] + "…"
