"""Counting (GMS93 Algorithm 4.1 with negation and aggregation, §6): the change of the view from the change of its
tables.

Sets and groups keep their derivation counts and aggregate states in tables beside the view. What has no such state
(windows, limits, aggregates like percentiles) is evaluated for the touched keys.
"""

from __future__ import annotations

from collections.abc import Collection

from views.definition import Definition
from views.deltas import derive_deltas, outputs
from views.reasons import Reason
from views.rules import Program
from views.stages import most_reads
from views.states import State, state_of
from views.steps import ApplyDelta, Plan, ReadStored

MOST_READS = 2000
"""Beyond this an engine spends longer on planning the change than on evaluating the view."""


class Counting:
    """Every view that has a program and no reason against it."""

    name = "counting"
    stores = True

    def plan(self, view: Definition, changed: Collection[str]) -> Plan | tuple[Reason, ...]:
        if view.program is None or view.reasons:
            return view.reasons
        states, steps = kept_states(view.program), []
        if changed:
            delta = derive_deltas(view.program, changed, states)
            reads = most_reads(delta, outputs(delta))
            if reads > MOST_READS:
                return (Reason("NESTED", f"{reads:,} reads for one change"),)
            steps.append(ApplyDelta(view.view, delta))
        return Plan(view.view, self.name, tuple(steps), (ReadStored(view.view, view.columns),), states)


def kept_states(program: Program) -> tuple[State, ...]:
    """The states that are kept beside a view, that of the highest predicate first."""
    found: list[State] = []
    for predicate in reversed(program.predicates):
        number = f"_{len(found) + 1}" if found else ""
        state = state_of(predicate, f"{program.view}__state{number}")
        found += [state] if state is not None else []
    return tuple(found)
