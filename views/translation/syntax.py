"""Questions about qualified syntax trees, and small trees made from others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from views.functions import is_aggregate
from views.rules import (
    Expr,
    body_column,
)
from views.trees import conjuncts, operand, rewritten


def equal(left: Expr, right: Expr) -> Expr:
    return exp.EQ(this=operand(left), expression=operand(right))


def same(left: Expr, right: Expr) -> Expr:
    return exp.NullSafeEQ(this=operand(left), expression=operand(right))


def ascending(name: str) -> exp.Ordered:
    return exp.Ordered(this=body_column(name), nulls_first=True)


def number(value: int) -> Expr:
    return exp.Literal.number(value)


def limits(node: Expr) -> bool:
    return bool(node.args.get("limit") or node.args.get("offset"))


def is_outer(join: exp.Join) -> bool:
    return join.side.upper() in ("LEFT", "RIGHT", "FULL") and join.kind.upper() in ("", "OUTER")


def top_conjuncts(select: exp.Select) -> list[Expr]:
    """The conjuncts of WHERE and of inner joins, which mean the same there."""
    clauses = [select.args["where"].this] if select.args.get("where") else []
    joins = select.args.get("joins") or ()
    clauses += [
        j.args["on"] for j in joins if j.args.get("on") and not j.side and j.kind.upper() in ("", "INNER", "CROSS")
    ]
    return [part for clause in clauses for part in conjuncts(clause)]


def select_parts(node: exp.Select) -> list[Expr]:
    """What is evaluated after grouping: output columns, QUALIFY and, with a limit, ORDER BY."""
    parts = [*node.expressions, node.args.get("qualify"), node.args.get("order") if limits(node) else None]
    return [part for part in parts if part is not None]


def own(node: Expr, wanted: Callable[[Expr], bool], enter: Callable[[Expr], bool] = lambda _: True) -> Iterator[Expr]:
    """Nodes that are wanted, from a node down, in the order of the text, without entering subqueries."""
    if wanted(node):
        yield node
        if not enter(node):
            return
    for child in node.iter_expressions():
        if not isinstance(child, exp.Query):
            yield from own(child, wanted, enter)


def own_queries(node: Expr) -> Iterator[Expr]:
    """The outermost subqueries below a node."""
    for child in node.iter_expressions():
        if isinstance(child, exp.Query):
            yield child
        else:
            yield from own_queries(child)


def own_windows(node: Expr) -> Iterator[exp.Window]:
    parts = select_parts(node) if isinstance(node, exp.Select) else [node]
    for part in parts:
        for each in own(part, lambda n: isinstance(n, exp.Window)):
            assert isinstance(each, exp.Window)
            yield each


def nested_windows(window: exp.Window) -> Iterator[Expr]:
    for child in window.iter_expressions():
        yield from own(child, lambda n: isinstance(n, exp.Window))


def aggregate_calls(select: exp.Select) -> Iterator[Expr]:
    """The aggregate calls of a SELECT itself, FILTER and WITHIN GROUP included, without window functions."""

    def is_call(node: Expr) -> bool:
        if isinstance(node, exp.Filter | exp.WithinGroup):
            return is_call(node.this)
        return is_aggregate(node) and not is_window_function(node)

    for part in (*select.expressions, select.args.get("having"), select.args.get("qualify"), select.args.get("order")):
        if part is not None:
            yield from own(part, is_call, lambda _: False)


def is_window_function(node: Expr) -> bool:
    while isinstance(node.parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.parent.this is node


def substitute(node: Expr, alias: str, values: Mapping[str, Expr]) -> Expr:
    """The expression with the columns of one alias replaced by what they are."""
    return rewritten(node, lambda column: values[column.name] if column.table == alias else None)
