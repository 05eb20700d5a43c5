"""Differential (BLT86 Algorithm 5.1, with H87's correction): the change of a select-project-join view by the truth
table of its changed relations.

The table doubles with each occurrence that has changed, where counting has one more term; what its rows share is
evaluated once.
"""

from __future__ import annotations

from collections.abc import Collection

from views.definition import Definition
from views.reasons import Reason
from views.rules import Aggregate, Bag, Partitioned, Predicate, Program, Set
from views.steps import ApplyDelta, Plan, ReadStored
from views.truth_table import derive_differentials

MOST_ROWS = 63
"""Six occurrences that have changed; beyond this an engine spends longer on planning than on evaluating the view."""


class Differential:
    """Every view that is one select-project-join expression."""

    name = "differential"
    stores = True

    def plan(self, view: Definition, changed: Collection[str]) -> Plan | tuple[Reason, ...]:
        if view.program is None or view.reasons:
            return view.reasons
        beyond = why_not_spj(view.program)
        if beyond is not None:
            return (Reason("NOT_SPJ", beyond),)
        rows = 2 ** sum(subgoal.relation in changed for subgoal in view.program.top.rules[0].subgoals) - 1
        if rows > MOST_ROWS:
            return (Reason("TRUTH_TABLE", f"{rows:,} rows for one change"),)
        steps = (ApplyDelta(view.view, derive_differentials(view.program, changed)),) if rows else ()
        return Plan(view.view, self.name, steps, (ReadStored(view.view, view.columns),))


def why_not_spj(program: Program) -> str | None:
    """What makes a program more than one select-project-join expression, if anything does."""
    return next((why for predicate in program.predicates if (why := _beyond(predicate, program)) is not None), None)


def _beyond(predicate: Predicate, program: Program) -> str | None:
    match predicate.form:
        case Set():
            return f"{predicate.name!r} removes duplicates"
        case Aggregate():
            return f"{predicate.name!r} aggregates"
        case Partitioned():
            return f"{predicate.name!r} is computed per partition"
        case Bag() if len(predicate.rules) > 1:
            return f"{predicate.name!r} is a union"
        case Bag() if predicate.rules[0].negations or predicate.rules[0].times is not None:
            return f"{predicate.name!r} leaves out rows that others match"
        case Bag() if predicate is not program.top:
            return f"{predicate.name!r} is evaluated once and used again"
    return None
