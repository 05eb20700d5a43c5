"""Recompute: the stored view is rebuilt in full whenever it is brought up to date."""

from __future__ import annotations

from collections.abc import Collection

from views.definition import Definition
from views.steps import Plan, ReadStored, Replace


class Recompute:
    """Works for every definition, and costs the same however little has changed."""

    name = "recompute"
    stores = True

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        steps = (Replace(view.view, view.evaluated, view.needed),) if changed else ()
        return Plan(view.view, self.name, steps, (ReadStored(view.view, view.columns),))
