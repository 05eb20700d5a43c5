"""How many rows the predicates of a program have: System R's arithmetic (Selinger et al. 1979) over rules.

Every number is a vector (`costmodels.axis`).

    rule         the product of its subgoals' rows, times the part that passes each condition; columns made equal share
                 their values, so each class divides by all but its smallest number of distinct values
    set, groups  as many as there are distinct keys among the rows of the body (Cardenas; Yao where these are a part of
                 rows that hold all keys)
    partitions   the rows of the body, or the first few of each partition
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sqlglot import exp

from costmodels.axis import Vector, constant
from profiles.requests import Join, all_of, implied
from views.deltas import COUNT
from views.equalities import classes
from views.rules import Aggregate, Bag, Expr, Negation, Partitioned, Predicate, Program, Rule, Set
from views.states import ROWS, SIDE, STALE
from views.trees import columns_in

_COMPARED = 1 / 3
"""The part of the pairs that passes an inequality between two relations, as System R has it."""


Variable = tuple[str, str]
"""Alias and column."""


def _variables(node: Expr) -> tuple[Variable, ...]:
    """The variables in an expression, each once."""
    return tuple(dict.fromkeys((c.table, c.name) for c in columns_in(node)))


@dataclass(frozen=True)
class _Condition:
    """A condition that selects rows, and what it looks at."""

    condition: Expr
    aliases: frozenset[str]
    columns: frozenset[str]
    variable: Variable | None
    """The one whose values it selects, if it looks at no other; a NULL is no value."""


class Shape:
    """What the numbers of a rule do not change: its conditions, and which values of its subgoals are equal."""

    def __init__(self, rule: Rule, transitive: bool) -> None:
        self.relations = {s.alias: s.relation for s in rule.subgoals}
        self._head = rule.head
        self._made_of: dict[int, tuple[Variable, ...]] = {}
        self.selecting: list[_Condition] = []
        joining = []
        for condition in rule.conditions:
            variables = _variables(condition)
            aliases = frozenset(alias for alias, _ in variables)
            if not aliases <= self.relations.keys():
                continue
            if len(aliases) > 1 and isinstance(condition, exp.EQ | exp.NullSafeEQ):
                joining.append(condition)
            else:
                only = variables[0] if len(variables) == 1 and condition.find(exp.Is) is None else None
                self.selecting.append(_Condition(condition, aliases, frozenset(name for _, name in variables), only))
        self.joined = [
            [(alias, each.name if isinstance(each, exp.Column) else "") for each in group for alias in _aliases(each)]
            for group in _groups(joining, transitive)
        ]
        """The classes of equal values: of each the alias, and the column unless it is calculated."""
        alone: dict[str, list[Expr]] = {}
        for each in self.selecting:
            if len(each.aliases) == 1 and not any(name.startswith(("@", "__")) for name in each.columns):
                alone.setdefault(next(iter(each.aliases)), []).append(each.condition)
        self.several = {alias: conditions for alias, conditions in alone.items() if len(conditions) > 1}
        """By alias, the conditions on it alone, where these are several."""
        self._conditions = rule.conditions
        self._where: dict[str, str] = {}

    def where(self, alias: str) -> str:
        """What the conditions say of one subgoal by itself, as samples are named."""
        if alias not in self._where:
            parts = (implied(condition, alias) for condition in self._conditions)
            self._where[alias] = all_of([part for part in parts if part is not None])
        return self._where[alias]

    def made_of(self, place: int) -> tuple[Variable, ...]:
        """What a value of the head is calculated from."""
        if place not in self._made_of:
            self._made_of[place] = _variables(self._head[place])
        return self._made_of[place]


def distinct_among(distinct: Vector, rows: Vector, of: Vector | None = None) -> Vector:
    """How many of some distinct values turn up in some rows: Cardenas' function, as for pages.

    Where it is known of how many rows these are a part, and that those hold all the values, Yao's: all of the rows then
    have all of the values, and half of the rows half of the values of a key.
    """
    most = np.maximum(distinct, 1e-9)
    if of is None:
        missed = -rows / most
    else:
        share = np.minimum(rows / np.maximum(of, 1e-9), 1 - 1e-12)
        missed = np.maximum(of / most, 1.0) * np.log1p(-share)
    found: Vector = np.minimum(np.minimum(-most * np.expm1(missed), rows), distinct)
    return found


class Values(Mapping[str, Vector]):
    """By column how many values it takes, worked out when that is asked for first."""

    def __init__(self, columns: Iterable[str], number: Callable[[str], Vector]) -> None:
        self._columns = dict.fromkeys(columns)
        self._number = number
        self._found: dict[str, Vector] = {}

    def __getitem__(self, column: str) -> Vector:
        if column not in self._found:
            if column not in self._columns:
                raise KeyError(column)
            self._found[column] = self._number(column)
        return self._found[column]

    def __contains__(self, column: object) -> bool:
        return column in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def at_most(self, rows: Vector, columns: Iterable[str] | None = None) -> Values:
        """Those of some columns, all of them unless they are named, no more than there are rows."""
        return Values(self if columns is None else columns, lambda column: np.minimum(self[column], rows))


@dataclass(frozen=True)
class Relation:
    """What is known of a relation in one state."""

    rows: Vector
    distinct: Mapping[str, Vector] = field(default_factory=dict)
    """By column; one that is missing is taken for a tenth of the rows."""
    selected: Callable[[Expr], Vector | None] = lambda _: None
    """The part of its rows for which a condition over its own columns holds, where that is known."""
    joins: Mapping[tuple[str, str, str], Vector] = field(default_factory=dict)
    """Column, other relation and its column: the part of all pairs of rows in which they are equal, where sampled."""

    together: Callable[[Sequence[Expr]], Vector | None] = lambda _: None
    """The part of its rows for which several conditions hold at once, where that was sampled."""
    joins_where: Mapping[str, Vector] = field(default_factory=dict)
    """By a join under conditions on its sides, as `Join.key` has it: the same of the pairs of rows that pass these."""
    key: tuple[str, ...] = ()
    combined: Mapping[str, Vector] = field(default_factory=dict)
    """By columns, sorted and joined by commas: how many combinations of their values there are, where sampled."""
    of: Vector | None = None
    """How many rows it is a part of, where the distinct values are theirs."""
    _values: dict[str, Vector] = field(default_factory=dict, init=False, repr=False, compare=False)

    def combinations(self, columns: Collection[str]) -> Vector:
        """How many combinations of values some columns take together."""
        if self.key and set(self.key) <= set(columns):
            return self.rows
        sampled = self.combined.get(", ".join(sorted(columns)))
        if sampled is not None:
            return np.minimum(sampled, self.rows)
        found = _product(self.values(c) for c in columns)
        return found if len(columns) < 2 else distinct_among(found, self.rows)

    def part(self, share: Vector) -> Relation:
        """So large a part of it, taken at random."""
        return replace(self, rows=self.rows * share, of=self.whole)

    def values(self, column: str) -> Vector:
        """How many values a column takes."""
        if column not in self._values:
            known = self.distinct.get(column)
            self._values[column] = distinct_among(self.whole / 10 if known is None else known, self.rows, self.whole)
        return self._values[column]

    @property
    def whole(self) -> Vector:
        return self.rows if self.of is None else self.of


NOTHING = Relation(constant(0.0))


@dataclass
class Cardinality:
    """The predicates of a program over relations that are known."""

    program: Program
    relations: Mapping[str, Relation]
    stale: Mapping[str, Vector] = field(default_factory=dict)
    """Per predicate whose state is kept, the part of the touched groups that is evaluated again."""
    shapes: dict[int, Shape] = field(default_factory=dict)
    """By rule; those of one program may share them."""
    _found: dict[str, Relation] = field(default_factory=dict)
    _rules: dict[int, Vector] = field(default_factory=dict)
    _kept: dict[int, tuple[dict[str, Vector], dict[tuple[str, str], Vector]]] = field(default_factory=dict)
    """By rule: how many rows of each subgoal pass the conditions on it alone, and the part of the values of a column
    that passes those on it alone."""

    def __post_init__(self) -> None:
        self._known = {predicate.name: predicate for predicate in self.program.predicates}

    def __getitem__(self, name: str) -> Relation:
        if name not in self._found:
            if name in self._known:
                self._found[name] = self._predicate(self._known[name])
            else:
                self._found[name] = self.relations.get(name, NOTHING)
        return self._found[name]

    def let(self, name: str, relation: Relation) -> None:
        """Let a predicate have these rows, whatever its rules say."""
        self._found[name] = relation

    def _predicate(self, predicate: Predicate) -> Relation:
        parts = [(rule, self.rule_rows(rule)) for rule in predicate.rules]
        body = sum((rows for _, rows in parts), constant(0.0))
        places = {name: i for i, name in enumerate(predicate.body)}

        def values(name: str) -> Vector:
            found = (self._values(rule, places[name], rows) for rule, rows in parts)
            return np.minimum(sum(found, constant(0.0)), body)

        distinct = Values(places, values)
        match predicate.form:
            case Bag():
                return Relation(body, distinct)
            case Set():
                rows = self._combinations(predicate, predicate.body, distinct, body)
                return Relation(rows, distinct.at_most(rows))
            case Aggregate(groups=groups):
                rows = self._combinations(predicate, groups, distinct, body) if groups else constant(1.0)
                return Relation(rows, distinct.at_most(rows, groups))
            case Partitioned(keys=keys, limit=limit):
                if limit is None:
                    return Relation(body, distinct)
                partitions = self._combinations(predicate, keys, distinct, body) if keys else constant(1.0)
                rows = np.minimum(partitions * limit, body)
                return Relation(rows, distinct.at_most(rows))

    def _combinations(
        self, predicate: Predicate, columns: Sequence[str], distinct: Mapping[str, Vector], rows: Vector
    ) -> Vector:
        """How many combinations of values some columns of a predicate's body take among so many rows."""
        if len(predicate.rules) != 1:
            return distinct_among(_product(distinct[c] for c in columns), rows)
        (rule,) = predicate.rules
        values = (self._shape(rule).made_of(predicate.body.index(name)) for name in columns)
        return self._distinct(rule, [each for value in values for each in value], rows)

    def _distinct(self, rule: Rule, columns: Iterable[tuple[str, str]], rows: Vector) -> Vector:
        """How many combinations of values some columns of a rule's subgoals take among so many rows."""
        relations = self._shape(rule).relations
        kept, passing = self._kept[id(rule)]
        together: dict[str, dict[str, None]] = {}
        for alias, name in columns:
            if alias in relations:
                together.setdefault(alias, {})[name] = None
        whole, of = constant(1.0), constant(1.0)
        for alias, names in together.items():
            relation = self[relations[alias]]
            part = math.prod((passing[alias, c] for c in names if (alias, c) in passing), start=constant(1.0))
            among = distinct_among(relation.combinations(names) * part, kept[alias], relation.rows * part)
            whole, of = np.minimum(whole * np.maximum(among, 1.0), 1e15), of * kept[alias]
        return distinct_among(whole, rows, np.maximum(of, rows) if together else None)

    def rule_rows(self, rule: Rule) -> Vector:
        """How many rows a rule derives."""
        if id(rule) not in self._rules:
            self._rules[id(rule)] = self._rule_rows(rule)
        return self._rules[id(rule)]

    def _rule_rows(self, rule: Rule) -> Vector:
        shape = self._shape(rule)
        relations = shape.relations
        rows = constant(1.0)
        kept = {alias: self[relation].rows for alias, relation in relations.items()}
        passing: dict[tuple[str, str], Vector] = {}
        self._kept[id(rule)] = kept, passing
        for number in kept.values():
            rows = rows * number
        for each in shape.selecting:
            part = self._passing(each.condition, each.aliases, each.columns, relations)
            rows = rows * part
            if len(each.aliases) == 1:
                (alias,) = each.aliases
                kept[alias] = kept[alias] * part
                if each.variable is not None:
                    passing[each.variable] = passing.get(each.variable, constant(1.0)) * part
        for alias, conditions in shape.several.items():
            relation = self[relations[alias]]
            sampled = relation.together(conditions)
            if sampled is not None:
                parts = [found for c in conditions if (found := relation.selected(c)) is not None]
                alone = math.prod(parts, start=constant(1.0))
                more = sampled / np.maximum(alone, 1e-12)
                rows, kept[alias] = rows * more, kept[alias] * more
        for group in shape.joined:
            rows = rows * self._joined(group, shape)
        for negation in rule.negations:
            rows = rows * self._unmatched(shape, negation)
        return rows

    def _shape(self, rule: Rule) -> Shape:
        if id(rule) not in self.shapes:
            self.shapes[id(rule)] = Shape(rule, self.program.transitive)
        return self.shapes[id(rule)]

    def _joined(self, group: Sequence[Variable], shape: Shape) -> Vector:
        """The part of all combinations in which the values of one class are equal."""
        relations = shape.relations
        known: dict[str, tuple[Vector, str]] = {}
        for alias, column in group:
            relation = self[relations[alias]]
            values = relation.values(column) if column else relation.rows / 10
            if alias not in known or float(values[0]) > float(known[alias][0][0]):
                known[alias] = np.maximum(values, 1.0), column
        part = constant(1.0)
        ordered = sorted(known.items(), key=lambda item: float(item[1][0][0]))
        for i, (alias, (values, column)) in enumerate(ordered[1:], 1):
            sampled = [self._sampled(shape, (alias, column), (a, c)) for a, (_, c) in ordered[:i]]
            part = part * next((each for each in sampled if each is not None), 1 / values)
        return part

    def _sampled(self, shape: Shape, one: Variable, two: Variable) -> Vector | None:
        """The same of two subgoals, where it was sampled: of the rows that pass their conditions, or else of all."""
        (alias, column), (other, its_column) = one, two
        mine, theirs = shape.relations[alias], shape.relations[other]
        name, of = (each.partition("@")[0] for each in (mine, theirs))
        if self[mine].joins_where or self[theirs].joins_where:
            where, its_where = shape.where(alias), shape.where(other)
            here = self[mine].joins_where.get(Join((column,), of, (its_column,), where, its_where).key)
            there = self[theirs].joins_where.get(Join((its_column,), name, (column,), its_where, where).key)
            if here is not None or there is not None:
                return there if here is None else here
        return self[mine].joins.get((column, of, its_column), self[theirs].joins.get((its_column, name, column)))

    def _passing(
        self, condition: Expr, tables: Collection[str], names: Collection[str], relations: Mapping[str, str]
    ) -> Vector:
        if COUNT in names:
            return constant(0.5)
        if STALE in names:
            (alias,) = tables
            part = self.stale.get(relations[alias].partition("@")[0], constant(0.0))
            return 1 - part if isinstance(condition, exp.Not) else part
        if SIDE in names or any(name.startswith(ROWS) for name in names):
            return constant(1.0)
        if len(tables) != 1:
            return constant(_COMPARED if tables else 1.0)
        (alias,) = tables
        relation = self[relations[alias]]
        found = relation.selected(condition)
        if found is not None:
            return found
        column = _equal_to_constant(condition)
        if column is not None and column in relation.distinct:
            return 1 / np.maximum(relation.distinct[column], 1.0)
        return constant(_default(condition))

    def _unmatched(self, shape: Shape, negation: Negation) -> Vector:
        """The part of the rows for which nothing matches: those whose values are not among the relation's."""
        others = self[negation.relation].rows
        relations = shape.relations
        compared = [value.unnest() for _, value in negation.arguments]
        columns = dict.fromkeys(each for v in compared if not isinstance(v, exp.Is) for each in _variables(v))
        known = [self[relations[alias]].values(name) for alias, name in columns if alias in relations]
        if known:
            return np.clip(1 - others / _product(known), 0.05, 1.0)
        # NOT IN asks besides whether either side holds a NULL.
        for value in compared:
            over = _variables(value)
            tables = {table for table, _ in over}
            if tables and tables <= relations.keys():
                return 1 - self._passing(value, tables, {name for _, name in over}, relations) * np.minimum(others, 1.0)
        return np.clip(1 - others, 0.5, 1.0)

    def _values(self, rule: Rule, place: int, rows: Vector) -> Vector:
        """How many distinct values an expression of a rule's head takes."""
        columns = self._shape(rule).made_of(place)
        return self._distinct(rule, columns, rows) if columns else np.minimum(constant(1.0), rows)


def _aliases(node: Expr) -> Iterable[str]:
    return dict.fromkeys(alias for alias, _ in _variables(node))


def _groups(equalities: Iterable[Expr], transitive: bool) -> list[list[Expr]]:
    """The classes of equal expressions, each once."""
    found: list[list[Expr]] = []
    for group in classes(equalities, transitive).values():
        if not any(group is each for each in found):
            found.append(group)
    return found


def _equal_to_constant(condition: Expr) -> str | None:
    """The column that a condition compares with a constant, if it says no more than that."""
    if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
        return None
    sides = [condition.this.unnest(), condition.expression.unnest()]
    columns = [side for side in sides if isinstance(side, exp.Column)]
    return columns[0].name if len(columns) == 1 and len(list(condition.find_all(exp.Column))) == 1 else None


def _product(numbers: Iterable[Vector]) -> Vector:
    """As many combinations as there can be of so many values each."""
    whole = constant(1.0)
    for each in numbers:
        whole = np.minimum(whole * np.maximum(each, 1.0), 1e15)
    return whole


def _default(condition: Expr) -> float:
    """System R's guesses: a tenth for an equality, a third for a range, a quarter for an interval."""
    match condition.unnest():
        case exp.Not(this=inner):
            return 1 - _default(inner) if not isinstance(inner.unnest(), exp.Is) else 0.95
        case exp.And() as both:
            return math.prod(_default(each) for each in both.flatten())
        case exp.Or() as either:
            return 1 - math.prod(1 - _default(each) for each in either.flatten())
        case exp.EQ() | exp.NullSafeEQ() | exp.Like() | exp.ILike():
            return 0.1
        case exp.Is():
            return 0.05
        case exp.NEQ():
            return 0.9
        case exp.In() as among:
            return min(0.5, 0.1 * max(len(among.expressions), 1))
        case exp.Between():
            return 0.25
        case exp.Boolean(this=value):
            return 1.0 if value else 0.0
        case _:
            return _COMPARED
