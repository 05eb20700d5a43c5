"""What a maintenance plan costs on Spark: the quantities of each of its steps, times coefficients.

The steps are those that the runner carries out (`views.steps`), taken apart the way it does: one statement per stage of
a delta program, the change sets on the driver, files of the other relations left out where no key of the change can be
in them, and the result merged into the files that hold it. A step's quantities follow from `costmodels.cardinality`;
what one of each costs on a machine is a coefficient, measured there or shipped with the package.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from costmodels.axis import CENTRE, Numbers, Vector, constant, vector
from costmodels.cardinality import Cardinality, Relation, Shape
from profiles.coefficients import QUANTITIES, MachineProfile
from profiles.statistics import Estimate
from views.catalog import CLOCK
from views.deltas import DELTA, NEW, OLD, STORED, outputs, split_relation
from views.rules import Aggregate, Bag, Expr, Partitioned, Predicate, Program, Rule, Set, reachable
from views.stages import Origins, key_origins, riders, stages, used_columns
from views.states import State
from views.trees import conjuncts

BROADCAST_BYTES = 10 * 2**20
"""Spark's own default: a smaller side of a join is sent to every task instead of shuffling both."""
FEW_ROWS = 10_000
"""A relation with no more rows is read on the driver."""
MOST_ROWS = 10_000_000
"""Files with no more rows are searched on the driver for given values of some columns."""
MOST_FOUND = 50_000
"""Where no more rows than this are found so."""
PART_ROWS = 50_000
"""How many rows a file has at most that was written again because some of its rows went."""
FILE_BYTES = 128 * 2**20
"""How large Spark lets a file become before another one is begun."""
_LOCAL_ROW_BYTES = 50.0
"""Of a row that comes from the driver."""

Prices = Mapping[str, Vector]
"""Seconds that one of each quantity takes."""


def prices_of(machine: MachineProfile, numbers: Numbers = vector) -> Prices:
    """Seconds that one of each quantity takes, and how far that may be off."""
    by = machine.spread
    return {
        name: numbers(Estimate(value, value / by, value * by, "derived"), f"coefficient {name}")
        for name, value in vars(machine.coefficients).items()
    }


@dataclass
class Work:
    """Quantities by name; a quantity that is missing is none."""

    quantities: dict[str, Vector] = field(default_factory=dict)

    def add(self, **amounts: Vector | float) -> None:
        for name, amount in amounts.items():
            vector = amount if isinstance(amount, np.ndarray) else constant(amount)
            known = self.quantities.get(name)
            self.quantities[name] = vector if known is None else known + vector

    def include(self, other: Work, times: Vector | float = 1.0) -> None:
        self.add(**(other if isinstance(times, float) and times == 1.0 else other.times(times)).quantities)

    def times(self, number: Vector | float) -> Work:
        return Work({name: amount * number for name, amount in self.quantities.items()})

    def only(self, where: NDArray[np.bool_], *names: str) -> Work:
        """The same work, with some quantities only where something holds."""
        changed = {name: np.where(where, self.quantities[name], 0.0) for name in names if name in self.quantities}
        return Work({**self.quantities, **changed})

    def seconds(self, prices: Prices) -> Vector:
        return sum((q * prices[name] for name, q in self.quantities.items()), constant(0.0))

    def parts(self, prices: Prices) -> dict[str, tuple[float, float, float]]:
        """Per quantity: how much, what one costs, and the product."""
        return {
            name: (float(q[CENTRE]), float(prices[name][CENTRE]), float(q[CENTRE] * prices[name][CENTRE]))
            for name in QUANTITIES
            if (q := self.quantities.get(name)) is not None and q[CENTRE] > 0
        }


@dataclass(frozen=True)
class Layout:
    """A relation as it lies in files."""

    rows: Vector
    files: Vector
    column_bytes: Mapping[str, Vector] = field(default_factory=dict)
    overlap: Mapping[str, Vector] = field(default_factory=dict)
    """By column, the part of the files in which one value may lie; all of them where nothing is known."""
    key: tuple[str, ...] = ()
    foreign_keys: Mapping[str, str] = field(default_factory=dict)
    """Column: the `table.column` it points to."""
    _known: dict[str, Vector] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def bytes(self) -> Vector:
        return self.rows * self.row_bytes(self.column_bytes)

    def row_bytes(self, columns: Collection[str]) -> Vector:
        return sum((self.column_bytes.get(c, constant(8.0)) for c in columns), constant(1.0))

    def part_with(self, keys: Mapping[str, Vector]) -> Vector:
        """The part of its files that can hold one of so many values of each column."""
        part = constant(1.0)
        for column, values in keys.items():
            part = np.minimum(part, -np.expm1(values * self._missed(column)))
        return np.maximum(part, self._one_file) if keys else part

    def part_hit(self, rows: Vector) -> Vector:
        """The part of its files that hold at least one of so many rows, which lie anywhere (Cardenas)."""
        return np.asarray(-np.expm1(np.maximum(rows, 1.0) * np.log1p(-np.minimum(self._one_file, 1 - 1e-12))))

    def _missed(self, column: str) -> Vector:
        """The logarithm of the part of the files in which one value of a column does not lie."""
        if column not in self._known:
            one = np.clip(self.overlap.get(column, constant(1.0)), 1e-9, 1.0)
            self._known[column] = np.log1p(-np.minimum(one, 1 - 1e-12))
        return self._known[column]

    def part_where(self, condition: Expr | None, relation: Relation) -> Vector:
        """The part of its files that can hold a row for which a condition holds."""
        part = constant(1.0)
        for each in conjuncts(condition) if condition is not None else ():
            columns = list(each.find_all(exp.Column))
            if len(columns) == 1 and columns[0] is each.this and columns[0].name in self.overlap:
                one = self.overlap[columns[0].name]
                if isinstance(each, exp.EQ):
                    part = np.minimum(part, one)
                elif isinstance(each, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.Between):
                    found = relation.selected(each)
                    part = part if found is None else np.minimum(part, found + one)
        return np.clip(part, self._one_file, 1.0)

    @cached_property
    def _one_file(self) -> Vector:
        return 1 / np.maximum(self.files, 1.0)


@dataclass(frozen=True)
class Known:
    """The relations that plans read, as they are now: how many rows they have, and how these lie in files."""

    relations: Mapping[str, Relation]
    layouts: Mapping[str, Layout]
    together: frozenset[tuple[str, str]] = frozenset()
    """Pairs of child and parent whose rows come and go in the same transactions."""


@dataclass(frozen=True)
class Change:
    """What has changed in a relation since a view has seen it: tuples that came and tuples that went."""

    rows: Vector
    deleted: float = 0.5
    """The part of these tuples that went."""


Step = tuple[str, Work]
"""What is done, in words, and its work."""


# Steps of plans


def evaluated(
    program: Program,
    known: Known,
    needed: Mapping[str, Expr | None],
    share: Mapping[str, Vector] | None = None,
    now: Cardinality | None = None,
) -> Work:
    """Evaluating a program on the relations as they are.

    `needed` says per relation which rows can matter, which leaves out files; of some of them only a `share` of the
    rows passes a filter that the query pushes down. `now` are the program's sizes without a share, where known.
    """
    if now is None:
        relations = {n: r.part(share[n]) if share and n in share else r for n, r in known.relations.items()}
        now = Cardinality(program, relations)
    read = {
        name: known.layouts[name].part_where(condition, known.relations[name])
        for name, condition in needed.items()
        if condition is not None and name in known.layouts
    }
    return _Pricing(now, known, read).query(taken_apart(program))


def followed(
    delta: Program,
    statements: Sequence[Stage],
    states: Sequence[State],
    known: Known,
    changes: Mapping[str, Change],
    cards: Cardinality,
) -> Iterator[Step]:
    """Deriving the change of a view by the statements of its delta program, and applying it to what is stored.

    `cards` are those of `change_of`.
    """
    yield from derived(statements, known, changes, cards)
    yield from applied(delta, states, known, changes, cards)


def derived(
    statements: Sequence[Stage], known: Known, changes: Mapping[str, Change], cards: Cardinality
) -> Iterator[Step]:
    """Deriving the change of a view, which is then on the driver."""
    reading = Work()
    for name in changes:
        reading.add(files_read=1, driver_rows=cards[name + DELTA].rows)
    yield "read the change sets", reading
    pricing = _Pricing(cards, known)
    changed = sum((cards[name + DELTA].rows for name in changes), constant(0.0))
    for stage in statements:
        yield f"evaluate {stage.name}", pricing.stage(stage).times(np.minimum(changed, 1.0))


def applied(
    delta: Program, states: Sequence[State], known: Known, changes: Mapping[str, Change], cards: Cardinality
) -> Iterator[Step]:
    """Applying a derived change to the states beside a view and to the view."""
    wanted = outputs(delta)
    view = delta.view.removesuffix(DELTA)
    deleted = max((change.deleted for change in changes.values()), default=0.0)
    for state in states:
        if state.table + DELTA in wanted:
            rows = cards[state.table + DELTA].rows
            yield f"merge into {state.table}", merged(known.layouts[state.table], rows, rows / 2, state.keys)
    top = cards[delta.view].rows
    layout = known.layouts[view]
    goes = top * (0.5 if layout.key else deleted)
    yield f"merge into {view}", merged(layout, top, goes, layout.key)


def change_of(
    delta: Program,
    program: Program,
    states: Sequence[State],
    relations: Mapping[str, Relation],
    changes: Mapping[str, Change],
    inexact: Collection[tuple[str, str]] = (),
    now: Cardinality | None = None,
    shapes: dict[int, Shape] | None = None,
) -> Cardinality:
    """How many rows the predicates of a delta program have.

    `inexact` is that of `inexact_columns`, `now` are the sizes of the view's own predicates, where known, and `shapes`
    those of the delta program's rules, which are added to.
    """
    view = delta.view.removesuffix(DELTA)
    now = Cardinality(program, relations) if now is None else now
    found: dict[str, Relation] = {view + STORED: now[view]}
    for name, relation in relations.items():
        found |= {name + OLD: relation, name + NEW: relation}
        if name in changes:
            found[name + DELTA] = _changed(relation, changes[name].rows)
    for state in states:
        kept = now[state.predicate.name]
        found[state.table + STORED] = Relation(kept.rows, {c: d for c, d in kept.distinct.items() if c in state.keys})
    stale = {s.predicate.name: constant(0.0) for s in states}
    cards = Cardinality(delta, found, stale, {} if shapes is None else shapes)
    deleted = max((change.deleted for change in changes.values()), default=0.0)
    for state in states:
        name = state.predicate.name
        if name + "@body" not in {p.name for p in delta.predicates}:
            continue
        body = cards[name + "@body"]
        most = np.minimum(body.combinations(state.keys), now[name].rows)
        touched = np.minimum(most, body.rows)
        gone = body.rows * deleted / np.maximum(touched, 1e-9)
        size = sum((now.rule_rows(rule) for rule in state.predicate.rules), constant(0.0))
        stale[name] = _stale(state, gone, size / np.maximum(now[name].rows, 1.0), inexact)
        cards.let(name + "@merged", Relation(touched, {k: body.values(k) for k in state.keys}))
    return cards


def merged(layout: Layout, changed: Vector, goes: Vector, keys: Sequence[str]) -> Work:
    """Applying so many changed rows to a stored table: deleted ones are looked for in the files that can hold them, and
    the files that do hold one are written again.

    A file that is written again is divided, so where changes have come before no file is larger than a part.
    """
    pieces = np.maximum(layout.files, layout.rows / PART_ROWS)
    overlap = {column: np.minimum(part, 1 / pieces) for column, part in layout.overlap.items() if column in keys}
    divided = replace(layout, files=pieces, overlap=overlap)
    goes = np.minimum(goes, layout.rows)
    likely = np.minimum(goes, 1.0)
    searched = likely * divided.part_with(dict.fromkeys(keys, goes))
    rewritten = np.minimum(searched, likely * divided.part_hit(goes))
    work = Work()
    work.add(
        files_read=searched * pieces,
        driver_rows=changed + searched * layout.rows,
        rows_removed=goes,
        rows_written=changed + rewritten * layout.rows,
        files_written=np.minimum(changed, 1.0) + np.maximum(rewritten * layout.rows / PART_ROWS, likely),
        merges=np.minimum(changed, 1.0),
        commits=1,
    )
    return work


def replaced(layout: Layout, *, ordered: bool = True) -> Work:
    """Writing a stored table in full, ordered by its key where it has one: a job more looks where to divide it."""
    ordered = ordered and bool(layout.key)
    work = Work()
    work.add(
        jobs=1 + ordered,
        shuffles=float(ordered),
        rows_shuffled=layout.rows * ordered,
        rows_written=layout.rows,
        files_written=np.maximum(layout.files, 1.0),
        commits=1,
    )
    return work


def read(layout: Layout, relation: Relation, where: Expr | None, fraction: Vector) -> Work:
    """Reading a part of a stored table."""
    part = layout.part_where(where, relation)
    rows = np.maximum(layout.rows * part, layout.rows * np.minimum(fraction, 1.0))
    work = Work()
    work.add(
        statements=1,
        reads=1,
        jobs=1,
        files_read=np.maximum(layout.files * part, 1.0),
        rows_read=rows,
        bytes_read=rows * layout.row_bytes(layout.column_bytes),
    )
    return work


# Queries


@dataclass(frozen=True)
class _Side:
    """One relation that a rule reads: where from, and the columns whose values narrow it."""

    relation: str
    origin: Literal["query", "driver", "files"]
    keys: tuple[tuple[str, Origins], ...] = ()


@dataclass(frozen=True)
class _Query:
    """One statement, taken apart: per predicate how often it is evaluated, and what each of its rules reads."""

    parts: tuple[tuple[Predicate, float, tuple[tuple[Rule, tuple[_Side, ...]], ...]], ...]
    columns: Mapping[str, set[str]]


@dataclass(frozen=True)
class Stage:
    """A statement of a delta program, and the relations without whose rows it is not run."""

    name: str
    query: _Query
    given: tuple[str, ...]


def taken_apart(program: Program, done: Collection[str] = ()) -> _Query:
    """A program as one statement; what is done already lies on the driver."""
    uses, names = _uses(program), {each.name for each in program.predicates}

    def sides(predicate: Predicate, rule: Rule) -> tuple[_Side, ...]:
        """What is found by the values of one relation gives values to find the next by; these stand for the first."""
        found: dict[str, str] = {}
        sides: dict[str, _Side] = {}
        waiting = list(rule.subgoals)
        while waiting:
            keys = {s: key_origins(program, predicate, rule, s, found) for s in waiting if s.relation not in names}
            subgoal = next((s for s in waiting if keys.get(s) or s.relation in names), waiting[0])
            waiting.remove(subgoal)
            if subgoal.relation in names:
                sides[subgoal.alias] = _Side(subgoal.relation, "query")
            elif subgoal.relation in done or subgoal.relation.endswith(DELTA):
                sides[subgoal.alias] = _Side(subgoal.relation, "driver")
            else:
                sides[subgoal.alias] = _Side(subgoal.relation, "files", tuple(keys[subgoal].items()))
                for origins in keys[subgoal].values():
                    found[subgoal.alias] = origins[0][0]
        negated = (_Side(n.relation, "query" if n.relation in {*names, *done} else "files") for n in rule.negations)
        return (*(sides[s.alias] for s in rule.subgoals), *negated)

    parts = ((p, uses[p.name], tuple((rule, sides(p, rule)) for rule in p.rules)) for p in program.predicates)
    return _Query(tuple(parts), used_columns(program))


def staged(program: Program) -> tuple[Stage, ...]:
    """The statements of a delta program, stage by stage as the runner evaluates it."""
    wanted, done, ridden = outputs(program), set[str](), set[tuple[str, int]]()
    known = {predicate.name: predicate for predicate in program.predicates}
    gates = {p.name for p in program.predicates if len(p.rules) == 1} & {p.given for p in program.predicates if p.given}
    found = []
    for name in stages(program, wanted):
        along, _ = riders(program, name, {*wanted, *gates})
        ridden |= {(rider.predicate, rider.number) for rider in along}
        given = known[name].given
        # What rides along in a statement reads nothing besides the stage.
        kept = tuple(p for p in program.predicates if p.name not in done)
        below = reachable(Program(name, known[name].columns, kept, program.transitive), [name])
        query = taken_apart(below, done)
        found.append(Stage(name, query, (given,) if given else ()))
        done |= {name, *(rider.predicate for rider in along if rider.predicate in gates)}
    for name in wanted:
        predicate = known[name]
        left = tuple(rule for number, rule in enumerate(predicate.rules) if (name, number) not in ridden)
        if left:
            rest = Predicate(name, predicate.body, left, predicate.form, predicate.given)
            kept = tuple(rest if p.name == name else p for p in program.predicates if p.name not in done)
            whole = reachable(Program(name, predicate.columns, kept, program.transitive), [name])
            found.append(Stage(name, taken_apart(whole, done), tuple(_gates(left, known))))
    return tuple(found)


@dataclass(frozen=True)
class _Pricing:
    """Statements over relations that are known by their numbers of rows and by how they lie in files."""

    cards: Cardinality
    known: Known
    read_part: Mapping[str, Vector] = field(default_factory=dict)
    """By relation, the part of its files that is read where no key narrows it further."""

    def stage(self, stage: Stage) -> Work:
        work = self.query(stage.query)
        work.add(driver_rows=self.cards[stage.name].rows)
        likely = constant(1.0)
        for gate in stage.given:
            likely = np.minimum(likely, self.cards[gate].rows)
        return work.times(likely)

    def query(self, query: _Query) -> Work:
        """The work of one statement."""
        work = Work()
        work.add(statements=1, jobs=1)
        for predicate, times, rules in query.parts:
            own = Work()
            for rule, sides in rules:
                self._rule(rule, sides, query.columns, own)
            self._gathering(predicate, own)
            work.include(own, times)
        from_files = work.quantities.get("rows_read", constant(0.0)) > 0
        return work.only(from_files, "shuffles", "rows_shuffled")  # rows of the driver are in one piece

    def _rule(self, rule: Rule, sides: Sequence[_Side], columns: Mapping[str, set[str]], work: Work) -> None:
        read = [self._side(side, columns, work) for side in sides]
        if len(read) < 2:
            return
        largest = max(range(len(read)), key=lambda i: float(read[i][1][CENTRE]))
        for i, (rows, size) in enumerate(read):
            if i != largest:
                sent = size <= BROADCAST_BYTES
                work.add(
                    jobs=np.where(sent, 1.0, 0.0),
                    shuffles=np.where(sent, 0.0, 2.0),
                    rows_shuffled=np.where(sent, rows, rows + read[largest][0]),
                )
        work.add(rows_joined=read[largest][0] + self.cards.rule_rows(rule))

    def _side(self, side: _Side, columns: Mapping[str, set[str]], work: Work) -> tuple[Vector, Vector]:
        """The rows and bytes of one side of a join."""
        relation = self.cards[side.relation]
        match side.origin:
            case "query":
                return relation.rows, relation.rows * 8 * max(len(relation.distinct), 1)
            case "driver":
                work.add(reads=1, driver_rows=relation.rows)
                return relation.rows, relation.rows * _LOCAL_ROW_BYTES
            case "files":
                keys = {
                    column: sum((self.cards[name].values(of) for name, of in origins), constant(0.0))
                    for column, origins in side.keys
                }
                return self._scan(side.relation, keys, columns, work)

    def _scan(
        self, relation: str, keys: Mapping[str, Vector], columns: Mapping[str, set[str]], work: Work
    ) -> tuple[Vector, Vector]:
        """Read a relation from its files, those that can hold one of the keys; its rows and bytes."""
        name, state = split_relation(relation) if "@" in relation else (relation, "")
        if name == CLOCK:
            work.add(reads=1)
            return constant(1.0), constant(16.0)
        layout = self.known.layouts[name]
        if state in ("old", "new") and self._in_change(name, keys):
            rows = self.cards[name + DELTA].rows
            work.add(reads=1, driver_rows=rows)
            return rows, rows * _LOCAL_ROW_BYTES
        part = np.minimum(layout.part_with(keys), self.read_part.get(name, constant(1.0)))
        width = layout.row_bytes(columns.get(name, ()))
        rows, nobody = layout.rows * part, np.zeros(1, dtype=bool)
        whole = self.cards[relation]
        passing = np.minimum(rows, whole.rows)
        here = (rows <= FEW_ROWS) if state else nobody
        matching = [
            np.minimum(whole.rows * each / np.maximum(whole.values(column), 1.0), passing)
            for column, each in keys.items()
        ]
        found = np.minimum.reduce(matching) if matching else passing
        searched = (rows <= MOST_ROWS) & (found <= MOST_FOUND) & ~here if state and keys else nobody
        work.add(
            reads=1,
            files_read=layout.files * part,
            bytes_read=np.where(searched, 0.0, rows * width),
            rows_searched=np.where(searched, rows, 0.0),
            driver_rows=np.where(searched, found, np.where(here, rows, 0.0)),
            rows_read=np.where(here | searched, 0.0, rows),
        )
        return np.where(searched, found, passing), np.where(searched, found * _LOCAL_ROW_BYTES, passing * width)

    def _in_change(self, name: str, keys: Mapping[str, Vector]) -> bool:
        """Whether declared keys say that the change itself holds the rows that are needed."""
        layouts, together = self.known.layouts, self.known.together
        foreign = layouts[name].foreign_keys
        return any((name, foreign.get(column, "").rpartition(".")[0]) in together for column in keys) or any(
            (child, name) in together and layouts[name].key == (column,) for column in keys for child in layouts
        )

    def _gathering(self, predicate: Predicate, work: Work) -> None:
        """Sets, groups and partitions bring equal keys together."""
        match predicate.form:
            case Bag():
                return
            case Set() | Aggregate():
                rows = sum((self.cards.rule_rows(rule) for rule in predicate.rules), constant(0.0))
                groups = self.cards[predicate.name].rows
                # each task first aggregates its own rows
                work.add(shuffles=1, rows_joined=rows, rows_shuffled=np.minimum(rows, 4 * groups))
            case Partitioned():
                rows = sum((self.cards.rule_rows(rule) for rule in predicate.rules), constant(0.0))
                work.add(shuffles=1, rows_joined=rows, rows_shuffled=rows)


def _uses(program: Program) -> dict[str, float]:
    """How often a query evaluates each predicate, when each is opened up wherever it is read."""
    found = {predicate.name: 0.0 for predicate in program.predicates}
    found[program.view] = 1.0
    for predicate in reversed(program.predicates):
        for rule in predicate.rules:
            for relation in rule.relations:
                if relation in found:
                    found[relation] += found[predicate.name]
    return found


def _gates(rules: Sequence[Rule], known: Mapping[str, Predicate]) -> Iterator[str]:
    """The relations without whose rows none of some rules derives anything."""
    if len(rules) == 1:
        for subgoal in rules[0].subgoals:
            predicate = known.get(subgoal.relation)
            if predicate is not None and predicate.given:
                yield predicate.given


def _changed(relation: Relation, rows: Vector) -> Relation:
    """The change set of a relation: some of its rows."""
    return replace(relation, rows=rows, of=relation.whole)


def inexact_columns(program: Program, types: Mapping[str, Mapping[str, str]]) -> frozenset[tuple[str, str]]:
    """Predicate and column of its body, where the values are floating-point numbers.

    A sum of these is computed again when something was taken out of it.
    """
    found: set[tuple[str, str]] = set()
    for predicate in program.predicates:
        for rule in predicate.rules:
            relations = {s.alias: s.relation for s in rule.subgoals}

            def is_inexact(c: exp.Column, relations: Mapping[str, str] = relations) -> bool:
                relation = relations.get(c.table, "")
                kind = types.get(relation, {}).get(c.name, "").lower()
                return kind in ("double", "float", "real") or (relation, c.name) in found

            for name, value in zip(predicate.body, rule.head, strict=True):
                if any(is_inexact(c) for c in value.find_all(exp.Column)):
                    found.add((predicate.name, name))
        if isinstance(predicate.form, Aggregate):
            inside = {name for owner, name in found if owner == predicate.name}
            for name, call in predicate.form.calls:
                if any(c.name in inside for c in call.find_all(exp.Column)) and not isinstance(call, exp.Count):
                    found.add((predicate.name, name))
    return frozenset(found)


def _stale(state: State, gone: Vector, group_rows: Vector, inexact: Collection[tuple[str, str]]) -> Vector:
    """The part of the touched groups whose state cannot tell, when so many rows of each were deleted."""
    stays = constant(1.0)
    for part in state.parts:
        if part.kind in ("min", "max"):
            stays = stays * (1 - 1 / np.maximum(group_rows, 1.0001)) ** gone
        elif part.kind in ("sum", "mean", "deviation"):
            columns = {(state.predicate.name, c.name) for c in part.value.find_all(exp.Column)}
            if columns & set(inexact) or part.kind != "sum":
                stays = stays * np.exp(-gone)
    return 1 - stays
