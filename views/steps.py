"""Maintenance plans as data (design: one description, three readers): the runner executes the steps, the cost
model prices them, `advisor explain` prints them as SQL. What is explained, priced and run cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from sqlglot import exp

from views.deltas import outputs
from views.render import query_of
from views.rules import Expr, Program, reachable
from views.states import State

Strategy = Literal["query_modification", "immediate", "deferred"]


@dataclass(frozen=True)
class Evaluate:
    """Answer a read by evaluating a query over the relations as they are now."""

    view: str
    query: exp.Query
    needed: Mapping[str, Expr | None]
    """Per relation, the condition that every row which matters meets: it prunes files; None reads all."""


@dataclass(frozen=True)
class ReadStored:
    """Answer a read from the stored view."""

    view: str
    columns: tuple[str, ...]
    where: Expr | None = None


@dataclass(frozen=True)
class Replace:
    """Let the rows of a query be all rows of the stored view, in one commit."""

    view: str
    query: exp.Query
    needed: Mapping[str, Expr | None]


@dataclass(frozen=True)
class ApplyDelta:
    """Evaluate the change of a stored view and apply it: rows with a positive count come, others go."""

    view: str
    delta: Program
    """Over the relations in their states: `orders@old`, `orders@new`, `orders@delta`."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The predicates whose rows are applied: those of the states beside the view, then the view's own."""
        return outputs(self.delta)


Step = Evaluate | ReadStored | Replace | ApplyDelta


@dataclass(frozen=True)
class Plan:
    """How one executor keeps one view: the steps that bring the stored view up to date, and those of a read.

    Without stored rows there is nothing to maintain.
    """

    view: str
    algorithm: str
    maintain: tuple[Step, ...]
    answer: tuple[Step, ...]
    states: tuple[State, ...] = ()
    """What is kept beside the view so that its change can be derived."""

    def on_update(self, strategy: Strategy) -> tuple[Step, ...]:
        """What an update transaction sets off."""
        return self.maintain if strategy == "immediate" else ()

    def on_query(self, strategy: Strategy) -> tuple[Step, ...]:
        """What a read sets off, when changes are pending."""
        return (*self.maintain, *self.answer) if strategy == "deferred" else self.answer


def step_sql(step: Step) -> exp.Expr:
    """The step as a statement in Spark's SQL."""
    match step:
        case Evaluate(query=query):
            return query
        case ReadStored(view, columns, where):
            chosen: list[Expr] = [exp.column(c, quoted=True) for c in columns] or [exp.Star()]
            select = exp.select(*chosen).from_(exp.to_identifier(view, quoted=True))
            return select.where(where) if where is not None else select
        case Replace(view, query):
            return exp.Insert(
                this=exp.Table(this=exp.to_identifier(view, quoted=True)), expression=query, overwrite=True
            )
        case ApplyDelta(delta=delta):
            return query_of(reachable(delta, [delta.view]))
        case _:
            assert_never(step)
