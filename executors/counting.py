"""Counting (GMS93 Algorithm 4.1 with negation and aggregation, §6): the change of the view from the change of its
tables.

Derivation counts of what lies below the view are not stored: where a set or a group changes, its rows before and
after are evaluated for the touched keys, from the tables as they were and as they are.
"""

from __future__ import annotations

from collections.abc import Collection

from views.definition import Definition
from views.deltas import derive_deltas, reads
from views.reasons import Reason
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
        delta = derive_deltas(view.program, changed)
        if reads(delta) > MOST_READS:
            return (Reason("NESTED", f"{reads(delta):,} reads for one change"),)
        steps = (ApplyDelta(view.view, delta),) if changed else ()
        return Plan(view.view, self.name, steps, (ReadStored(view.view, view.columns),))
