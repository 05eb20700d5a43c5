"""The conditions of a view as plain data: what a column is compared with, joined by and, or and not.

Enough to estimate how many rows pass; a condition that says more than that is kept as its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

Literal = float | str


@dataclass(frozen=True)
class Column:
    """A column, and its base table where that is known."""

    table: str | None
    name: str


@dataclass(frozen=True)
class Comparison:
    """`column op values`; no values means that the other side is not a constant.

    `op` is one of = <> < <= > >= in between like null.
    """

    column: Column
    op: str
    values: tuple[Literal, ...] = ()


@dataclass(frozen=True)
class AllOf:
    """Every part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Negation:
    """The part does not hold."""

    part: Condition


@dataclass(frozen=True)
class Opaque:
    """A condition kept as text: a subquery, arithmetic, a function."""

    sql: str


Condition = Comparison | AllOf | AnyOf | Negation | Opaque
Resolver = Callable[[exp.Column], Column]

_OPERATORS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.NullSafeEQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}


def columns_of(condition: Condition) -> Iterator[Column]:
    """The columns that a condition compares."""
    match condition:
        case Comparison(column=column):
            yield column
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from columns_of(part)
        case Negation(part):
            yield from columns_of(part)
        case Opaque():
            return


def conjuncts(expression: exp.Expr) -> list[exp.Expr]:
    """The parts that a WHERE or ON clause joins by AND."""
    expression = expression.unnest()
    return list(expression.flatten()) if isinstance(expression, exp.And) else [expression]


def is_join(expression: exp.Expr, resolve: Resolver) -> bool:
    """Whether this compares columns of two tables, so that it joins rather than selects."""
    if not isinstance(expression, exp.Predicate) or expression.find(exp.Query):
        return False
    tables = {resolve(column).table or column.table for column in expression.find_all(exp.Column)}
    return len(tables) > 1


def condition(expression: exp.Expr, resolve: Resolver) -> Condition:
    """A SQL condition as data."""
    expression = expression.unnest()
    match expression:
        case exp.And():
            return AllOf(tuple(condition(part, resolve) for part in expression.flatten()))
        case exp.Or():
            return AnyOf(tuple(condition(part, resolve) for part in expression.flatten()))
        case exp.Not():
            return Negation(condition(expression.this, resolve))
    found = _comparison(expression, resolve)
    return Opaque(expression.sql(dialect="spark")[:80]) if found is None else found


def _comparison(expression: exp.Expr, resolve: Resolver) -> Comparison | None:
    left = expression.this.unnest() if isinstance(expression.this, exp.Expr) else None
    for kind, (op, mirrored) in _OPERATORS.items():
        if isinstance(expression, kind):
            right = expression.expression.unnest()
            if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
                left, right, op = right, left, mirrored
            if not isinstance(left, exp.Column) or isinstance(right, exp.Column | exp.Query):
                return None
            value = literal(right)
            return Comparison(resolve(left), op, () if value is None else (value,))
    if not isinstance(left, exp.Column):
        return None
    column = resolve(left)
    match expression:
        case exp.Between():
            ends = [literal(expression.args[end]) for end in ("low", "high")]
            return Comparison(column, "between", tuple(e for e in ends if e is not None) if None not in ends else ())
        case exp.In() if not expression.args.get("query"):
            values = [literal(value) for value in expression.expressions]
            return Comparison(column, "in", tuple(str(i) if v is None else v for i, v in enumerate(values)))
        case exp.Like() | exp.ILike() | exp.RegexpLike():
            return Comparison(column, "like")
        case exp.Is() if isinstance(expression.expression, exp.Null):
            return Comparison(column, "null")
    return None


def literal(expression: exp.Expr) -> Literal | None:
    """The constant that an expression is: a number, a text, or a date as text; None for anything else."""
    expression = expression.unnest()
    match expression:
        case exp.Literal():
            return str(expression.this) if expression.is_string else float(expression.this)
        case exp.Neg():
            value = literal(expression.this)
            return -value if isinstance(value, float) else None
        case exp.Cast() | exp.TsOrDsToDate() | exp.Date():
            return literal(expression.this) if isinstance(expression.this, exp.Expr) else None
        case exp.Boolean():
            return float(bool(expression.this))
    return None
