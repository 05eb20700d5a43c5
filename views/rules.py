"""A view as a program of rules (GMS93 §3): predicates in strata, each defined by rules over relations.

    Program          the view's predicates, each after those it reads; the last one is the view
    └── Predicate    a named relation: the rows of its rules, kept as a bag or a set, aggregated or partitioned
        └── Rule     head(expressions) :- subgoals, negations, conditions
            ├── Subgoal    an occurrence of a base table, another view or a predicate; `alias.column` are its variables
            └── Negation   ¬relation(arguments): no row of it equals the arguments

Nodes are immutable and hold SQL expressions as sqlglot trees over `alias.column`; whoever changes one copies it
first. A predicate may name itself in a rule: the program is then recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from views.equalities import classes

Expr = exp.Expr


@dataclass(frozen=True)
class Subgoal:
    """An occurrence of a relation in a rule's body."""

    relation: str
    alias: str


@dataclass(frozen=True)
class Negation:
    """No row of the relation has these values in its columns; NULL equals NULL.

    The relation is a set predicate and every column has its argument, so that at most one row can match.
    """

    relation: str
    arguments: tuple[tuple[str, Expr], ...]

    def mapped(self, change: Callable[[Expr], Expr]) -> Negation:
        """The same negation with its arguments changed."""
        return Negation(self.relation, tuple((name, change(value)) for name, value in self.arguments))


@dataclass(frozen=True)
class Rule:
    """One way to derive rows: a head row for each combination of subgoal rows that passes all conditions."""

    head: tuple[Expr, ...]
    subgoals: tuple[Subgoal, ...] = ()
    negations: tuple[Negation, ...] = ()
    conditions: tuple[Expr, ...] = ()
    times: Expr | None = None
    """How often a row is derived, where that is not once: EXCEPT ALL and INTERSECT ALL."""

    @cached_property
    def relations(self) -> tuple[str, ...]:
        return (*(subgoal.relation for subgoal in self.subgoals), *(negation.relation for negation in self.negations))

    @cached_property
    def relation_of(self) -> Mapping[str, str]:
        """By alias, the relation of each subgoal."""
        return {subgoal.alias: subgoal.relation for subgoal in self.subgoals}

    @cached_property
    def equal(self) -> Mapping[Expr, list[Expr]]:
        """For each side of an equality, what the conditions make equal to it where `=` is transitive."""
        return classes(self.conditions, transitive=True)

    def expressions(self) -> Iterator[Expr]:
        """Every expression of the rule."""
        yield from self.head
        yield from self.conditions
        for negation in self.negations:
            yield from (value for _, value in negation.arguments)
        if self.times is not None:
            yield self.times


@dataclass(frozen=True)
class Bag:
    """The rows as the rules derive them, duplicates kept."""


@dataclass(frozen=True)
class Set:
    """Each row once, however often it is derived."""


@dataclass(frozen=True)
class Aggregate:
    """One row per group of equal `groups`, NULL equal to NULL; without groups exactly one row, also of nothing."""

    groups: tuple[str, ...]
    calls: tuple[tuple[str, Expr], ...]
    """Output column, and the aggregate function over the body's columns."""


@dataclass(frozen=True)
class Partitioned:
    """What is computed per partition key: window functions, or the first rows in an order.

    The rows of other partitions never matter, so a change recomputes the partitions it touches.
    """

    keys: tuple[str, ...]
    windows: tuple[tuple[str, Expr], ...] = ()
    order: tuple[Expr, ...] = ()
    limit: int | None = None
    offset: int = 0


Form = Bag | Set | Aggregate | Partitioned


@dataclass(frozen=True)
class Predicate:
    """A relation that rules define; `body` names the columns that each rule's head fills."""

    name: str
    body: tuple[str, ...]
    rules: tuple[Rule, ...]
    form: Form = Bag()
    given: str | None = None
    """A relation without whose rows this one has none either, though its rules do not say so."""

    def __post_init__(self) -> None:
        for rule in self.rules:
            if len(rule.head) != len(self.body):
                raise ValueError(f"{self.name}: a rule fills {len(rule.head)} of {len(self.body)} columns")

    @property
    def columns(self) -> tuple[str, ...]:
        """What the predicate's readers see."""
        match self.form:
            case Bag() | Set():
                return self.body
            case Aggregate(groups, calls):
                return (*groups, *(name for name, _ in calls))
            case Partitioned(windows=windows):
                return (*self.body, *(name for name, _ in windows))

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """What it reads, each once."""
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.relations))

    def expressions(self) -> Iterator[Expr]:
        """Every expression of its rules and of what is made of their rows."""
        for rule in self.rules:
            yield from rule.expressions()
        match self.form:
            case Aggregate(calls=calls):
                yield from (call for _, call in calls)
            case Partitioned(windows=windows, order=order):
                yield from (*(window for _, window in windows), *order)

    @property
    def recursive(self) -> bool:
        return self.name in self.relations


@dataclass(frozen=True)
class Program:
    """A view: its output columns in order, and its predicates, each after those it reads."""

    view: str
    columns: tuple[str, ...]
    predicates: tuple[Predicate, ...]
    transitive: bool = True
    """Whether `=` is transitive in it: not where it compares, say, text with numbers ('01' = 1 = '1')."""

    @property
    def top(self) -> Predicate:
        """The predicate that is the view."""
        return self.predicates[-1]

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The base tables and other views that it reads, each once, in the order of first use."""
        own = {predicate.name for predicate in self.predicates}
        read = (name for predicate in self.predicates for name in predicate.relations)
        return tuple(dict.fromkeys(name for name in read if name not in own))

    def expressions(self) -> Iterator[Expr]:
        """Every expression of its predicates."""
        for predicate in self.predicates:
            yield from predicate.expressions()

    @property
    def found_by(self) -> tuple[str, ...]:
        """The columns by which stored rows of a view that follows changes are found again: its groups or partitions."""
        match self.top.form:
            case Aggregate(groups=keys) | Partitioned(keys=keys):
                return tuple(key for key in keys if key in self.columns)
            case Bag() | Set():
                return ()

    def strata(self) -> dict[str, int]:
        """Stratum of each predicate (GMS93 §3): 1 more than the highest it reads; a base relation has 0."""
        found: dict[str, int] = {}
        for predicate in self.predicates:
            found[predicate.name] = 1 + max((found.get(name, 0) for name in predicate.relations), default=0)
        return found


def reachable(program: Program, roots: Iterable[str]) -> Program:
    """Only the predicates that some of them read, each after those it reads; the view's own stays last."""
    known = {predicate.name: predicate for predicate in program.predicates}
    done: dict[str, Predicate] = {}

    def visit(name: str) -> None:
        if name in known and name not in done:
            given = known[name].given
            for relation in (*known[name].relations, *([given] if given else [])):
                if relation != name:
                    visit(relation)
            done[name] = known[name]

    for root in roots:
        visit(root)
    if program.view in done:
        done[program.view] = done.pop(program.view)
    return replace(program, predicates=tuple(done.values()))


def column(alias: str, name: str) -> exp.Column:
    """The variable `alias.name` of a rule."""
    return exp.Column(this=exp.Identifier(this=name, quoted=True), table=exp.Identifier(this=alias, quoted=True))


def body_column(name: str) -> exp.Column:
    """A column of a predicate's own body, as aggregates and windows name it."""
    return exp.Column(this=exp.Identifier(this=name, quoted=True))
