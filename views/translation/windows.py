"""Window functions: one partitioned predicate per set of partition keys."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from views.rules import (
    Expr,
    Partitioned,
    body_column,
    column,
)
from views.translation.body import Body, Domain, Naming
from views.translation.groups import Groups
from views.translation.syntax import (
    ascending,
    nested_windows,
    own_windows,
    select_parts,
)

_ORDER_SENSITIVE = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.First, exp.FirstValue)
"""Window functions for which rows that tie in the order can make a difference."""


class Windows(Groups):
    """Window functions of a SELECT."""

    def windows(self, node: exp.Select, body: Body, domain: Domain | None) -> Body:
        """Window functions, one partitioned predicate per set of partition keys; they become columns in place."""
        while True:
            pending = [w for w in own_windows(node) if not any(True for _ in nested_windows(w))]
            if not pending:
                return body
            for clause in ("expressions", "order", "qualify"):
                self.attach_in_place(node, clause, body)
            pending = [w for w in own_windows(node) if not any(True for _ in nested_windows(w))]
            first = _partition(pending[0])
            chosen = list(dict.fromkeys(w for w in pending if _partition(w) == first))
            body = self.window_stage(node, body, domain, chosen)

    def attach_in_place(self, node: exp.Select, clause: str, body: Body) -> None:
        value = node.args.get(clause)
        for part in value if isinstance(value, list) else [value] if value is not None else []:
            for call in own_windows(part):
                for child in list(call.iter_expressions()):
                    if child.find(exp.Query):
                        child.replace(self.attach(body, child))

    def window_stage(self, node: exp.Select, body: Body, domain: Domain | None, chosen: list[exp.Window]) -> Body:
        needed = list(
            dict.fromkeys(
                c for part in select_parts(node) for c in part.find_all(exp.Column) if c.table in body.sources
            )
        )
        clocks = [c for w in chosen for c in w.find_all(exp.CurrentDate, exp.CurrentTimestamp)]
        alias, names = self.alias("windows"), Naming(None)
        free = [f.name for f in domain.free] if domain is not None else []
        for name in free:
            names.add(domain.alias if domain is not None else "", name)
        head = [self.express(body, column(domain.alias, f)) for f in free] if domain is not None else []
        place_of: dict[Expr, str] = {}

        def carried(each: Expr, wanted: str) -> str:
            if each not in place_of:
                place_of[each] = names.add(alias, wanted)
                head.append(self.express(body, each))
            return place_of[each]

        for each in needed:
            if domain is None or each.table != domain.alias:
                carried(each.copy(), each.name)
        for clock in clocks:
            carried(clock.copy(), "moment")
        keys = [carried(key.copy(), key.name if isinstance(key, exp.Column) else f"key_{i + 1}")
                for i, key in enumerate(chosen[0].args.get("partition_by") or ())]  # fmt: skip
        total = [ascending(c) for c in place_of.values() if c not in keys]
        made = []
        for i, window in enumerate(chosen):
            call = window.copy()
            for node_in in list(call.find_all(exp.Column, exp.CurrentDate, exp.CurrentTimestamp)):
                if isinstance(node_in, exp.Column) and domain is not None and node_in.table == domain.alias:
                    node_in.replace(body_column(node_in.name))
                else:
                    node_in.replace(body_column(place_of[node_in]))
            call.set("partition_by", [body_column(c) for c in (*free, *keys)])
            _break_ties(call, total)
            made.append((names.add(alias, f"window_{i + 1}"), call))
        body_names = (*free, *place_of.values())
        form = Partitioned((*free, *keys), tuple(made))
        relation = self.define("windows", body_names, [body.rule(head)], form)
        result, _ = self.over(relation, alias)
        for source, name in place_of.items():
            if isinstance(source, exp.Column):
                result.sources.setdefault(source.table, {})[source.name] = column(alias, name)
        if domain is not None:
            result.sources[domain.alias] = {name: column(alias, name) for name in free}
        replaced = dict(zip(chosen, (name for name, _ in made), strict=True))
        for window in list(own_windows(node)):
            if window in replaced:
                window.replace(column(alias, replaced[window]))
        return result


def _partition(window: exp.Window) -> frozenset[Expr]:
    return frozenset(window.args.get("partition_by") or ())


def _break_ties(window: exp.Window, total: Sequence[exp.Ordered]) -> None:
    """Order rows that tie by their other columns, where the function could tell them apart."""
    function = window.this
    while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        function = function.this
    spec = window.args.get("spec")
    if not isinstance(function, _ORDER_SENSITIVE) and not (
        spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    ):
        return
    order = window.args.get("order") or exp.Order(expressions=[])
    have = {each.this for each in order.expressions}
    order.set("expressions", [*order.expressions, *(each.copy() for each in total if each.this not in have)])
    window.set("order", order)
