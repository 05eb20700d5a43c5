"""Small operations on expression trees that every pass needs; a tree that is given is never changed."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

_ATOMS = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Func, exp.Paren, exp.Subquery, exp.Window, exp.Identifier)
_OPERATIONS = (exp.Binary, exp.Unary, exp.Predicate)


def is_atom(node: exp.Expr) -> bool:
    """Whether the expression needs no parentheses anywhere; AND and OR are functions to sqlglot, but none here."""
    return isinstance(node, _ATOMS) and (not isinstance(node, _OPERATIONS) or isinstance(node, exp.Paren))


def rewritten(node: exp.Expr, value: Callable[[exp.Column], exp.Expr | None]) -> exp.Expr:
    """The expression with columns replaced by copies of other expressions, in parentheses where they need them.

    >>> import sqlglot
    >>> more = sqlglot.condition("z + 1")
    >>> rewritten(sqlglot.condition("x * y"), lambda c: more if c.name == "x" else None).sql()
    '(z + 1) * y'
    """
    if isinstance(node, exp.Column):
        found = value(node)
        return node.copy() if found is None else found.copy()
    root = exp.Paren(this=node.copy())
    for column in columns_in(root):
        found = value(column)
        if found is not None:
            whole = column.parent is root or is_atom(found)
            column.replace(found.copy() if whole else exp.Paren(this=found.copy()))
    result: exp.Expr = root.this
    return result


def columns_in(node: exp.Expr) -> list[exp.Column]:
    """Every column in the expression, those nearest to its root first; faster than `find_all`, which asks every node.

    >>> import sqlglot
    >>> [column.sql() for column in columns_in(sqlglot.condition("f(a, b) > c"))]
    ['c', 'a', 'b']
    """
    found: list[exp.Column] = []
    waiting = [node]
    for each in waiting:  # which grows
        if isinstance(each, exp.Column):
            found.append(each)
            continue
        for value in each.args.values():
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif isinstance(value, list):
                waiting += [part for part in value if isinstance(part, exp.Expr)]
    return found


def forget_marks(node: exp.Expr) -> None:
    """Take from an expression, in place, its types and its places in a text: whoever copies it carries them along."""
    for each in node.walk():
        each.type, each._meta = None, None


def operand(node: exp.Expr) -> exp.Expr:
    """The expression as one side of a comparison."""
    return node if is_atom(node) else exp.Paren(this=node)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The parts that AND joins, however they are nested.

    >>> import sqlglot
    >>> [part.sql() for part in conjuncts(sqlglot.condition("a = 1 AND (b = 2 AND c = 3)"))]
    ['a = 1', 'b = 2', 'c = 3']
    """
    node = node.unnest()
    return [part for each in node.flatten() for part in conjuncts(each)] if isinstance(node, exp.And) else [node]
