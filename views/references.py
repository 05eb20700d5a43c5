"""The relations that a query reads, as its text names them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp


def references(query: exp.Query) -> Iterator[exp.Table]:
    """The tables that are read, without those that a WITH clause in scope defines."""
    for table in query.find_all(exp.Table, bfs=False):
        if isinstance(table.this, exp.Identifier) and (table.db or not defined_by_with(table)):
            yield table


def spelling(table: exp.Table) -> str:
    """The name as written: `db.orders`; Spark's own catalog need not be named."""
    return ".".join(part.name for part in table.parts).removeprefix("spark_catalog.")


def defined_by_with(table: exp.Table) -> bool:
    """Whether the name is a common table expression; one does not see itself or later ones, unless recursive."""
    node: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_") or node.args.get("with")
        for cte in clause.expressions if clause is not None else ():
            inside = any(ancestor is cte for ancestor in ancestors(table))
            if inside and clause is not None and not clause.args.get("recursive"):
                break
            if cte.alias.casefold() == table.name.casefold():
                return True
        node = node.parent
    return False


def ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    """What encloses a node, innermost first."""
    while node.parent is not None:
        node = node.parent
        yield node
