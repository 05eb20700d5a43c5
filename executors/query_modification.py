"""Query modification: nothing is kept; a read runs the view's definition on the base tables (H87 §1)."""

from __future__ import annotations

from collections.abc import Collection

from views.definition import Definition
from views.steps import Evaluate, Plan


class QueryModification:
    """A virtual view: an update costs nothing, a read costs its definition."""

    name = "query_modification"
    stores = False

    def plan(self, view: Definition, changed: Collection[str]) -> Plan:
        return Plan(view.view, self.name, (), (Evaluate(view.view, view.evaluated, view.needed),))
