"""What is under construction while a query is translated: rules, their sources, correlated columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from views.rules import (
    Expr,
    Negation,
    Rule,
    Subgoal,
    column,
)


@dataclass(frozen=True)
class Free:
    """A correlated expression: its column in the subquery's relation, and what it is outside."""

    name: str
    outer: Expr


@dataclass
class Domain:
    """The correlated expressions of a subquery, as columns of a source that the subquery does not have.

    `supply` makes the set predicate of their values from the enclosing query, if it comes to that.
    """

    alias: str
    supply: Callable[[Sequence[Expr]], str]
    free: list[Free] = field(default_factory=list)
    bound: bool = True
    """Each is equal to an expression of the subquery, and so never NULL there."""

    def variable(self, outer: Expr) -> exp.Column:
        """The column that stands for an outer expression."""
        for free in self.free:
            if free.outer == outer:
                return column(self.alias, free.name)
        self.free.append(Free(f"outer_{len(self.free) + 1}", outer))
        return column(self.alias, self.free[-1].name)


@dataclass(frozen=True)
class Relation:
    """A translated query: its predicate, its output columns, and the correlated columns before them."""

    name: str
    columns: tuple[str, ...]
    free: tuple[Free, ...] = ()
    bound: bool = True


@dataclass
class Body:
    """A rule in the making; `sources` says what each qualified column is in terms of the subgoals' variables."""

    subgoals: list[Subgoal] = field(default_factory=list)
    negations: list[Negation] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    sources: dict[str, dict[str, Expr]] = field(default_factory=dict)
    pending: dict[str, dict[str, Expr]] = field(default_factory=dict)
    """Correlated columns of which it is not yet known what stands for them."""

    @property
    def plain(self) -> bool:
        """Whether it is a single relation as it stands."""
        return len(self.subgoals) == 1 and not self.negations and not self.conditions

    def rule(self, head: Iterable[Expr], times: Expr | None = None) -> Rule:
        return Rule(tuple(head), tuple(self.subgoals), tuple(self.negations), tuple(self.conditions), times)


class Naming:
    """One name for each column of several sources; a name that is taken gets a number."""

    def __init__(self, body: Body | None) -> None:
        self.named: dict[tuple[str, str], str] = {}
        self.sources: dict[str, list[str]] = {}
        self.taken: set[str] = set()
        for alias, columns in (body.sources if body is not None else {}).items():
            for name in columns:
                self.add(alias, name)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.named.values())

    def add(self, alias: str, name: str) -> str:
        found, number = name, 1
        while found.casefold() in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found.casefold())
        self.named[alias, name if (alias, name) not in self.named else found] = found
        self.sources.setdefault(alias, []).append(name)
        return found

    def head(self, sources: Mapping[str, Mapping[str, Expr]]) -> list[Expr]:
        return [sources[alias][name].copy() for alias, name in self.named]
