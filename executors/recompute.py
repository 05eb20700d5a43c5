"""Recompute: the stored view is rebuilt in full whenever it is brought up to date."""

from __future__ import annotations

from collections.abc import Collection

from views.definition import Definition
from views.pushdown import needed_rows
from views.steps import Plan, ReadStored, Replace


class Recompute:
    """Works for every definition, and costs the same however little has changed."""

    name = "recompute"
    stores = True

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        needed = needed_rows(view.program) if view.program is not None else dict.fromkeys(view.relations)
        steps = (Replace(view.view, view.evaluated, needed),) if changed else ()
        return Plan(view.view, self.name, steps, (ReadStored(view.view, view.columns),))
