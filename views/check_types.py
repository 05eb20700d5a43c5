"""Type errors that Spark would report, found without an engine: comparing a number with a date, summing dates.

Types come from sqlglot's annotation of the qualified query. Only clear contradictions between families of types
are errors; text mixes with everything because Spark casts it, and what is not known is left to the engine.
"""

from __future__ import annotations

from functools import cache
from typing import NoReturn

from sqlglot import Dialect, exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

from views.catalog import Catalog
from views.errors import ViewError
from views.places import fragment, place

_SPARK = Dialect.get_or_raise("spark")
_TIMES = exp.DataType.TEMPORAL_TYPES
_FAMILIES = {
    "a number": exp.DataType.NUMERIC_TYPES,
    "text": exp.DataType.TEXT_TYPES,
    "a moment": _TIMES,
    "a boolean": {exp.DataType.Type.BOOLEAN},
    "a collection": {exp.DataType.Type.ARRAY, exp.DataType.Type.MAP, exp.DataType.Type.STRUCT},
}

_SURE = {
    *exp.DataType.SIGNED_INTEGER_TYPES,
    *exp.DataType.TEXT_TYPES,
    exp.DataType.Type.BOOLEAN,
    exp.DataType.Type.DATE,
}


def check_types(query: exp.Query, catalog: Catalog, label: str) -> exp.Query:
    """The query, typed in place, if no expression contradicts its types; else a ViewError with the place."""
    read = {table.name for table in query.find_all(exp.Table)} & catalog.relations.keys()
    columns: dict[str, object] = {
        name: {c: _built(t or "unknown") for c, t in catalog.relations[name].columns.items()} for name in read
    }
    schema = MappingSchema(columns, dialect="spark", normalize=False)
    typed: exp.Query = annotate_types(query, schema=schema, dialect="spark")
    for node in typed.walk():
        _check(node, label)
    return typed


@cache
def _built(kind: str) -> exp.DataType:
    found = exp.DataType.build(kind, dialect="spark", udt=True)
    found.transform(_SPARK.normalize_identifier, copy=False)
    return found


def compares_alike(query: exp.Query) -> bool:
    """Whether every equality of a typed query compares values of one kind, so that equality is transitive."""
    return all(_kind(node.this) == _kind(node.expression) for node in query.find_all(exp.EQ, exp.NullSafeEQ, exp.NEQ))


def forget_types(query: exp.Query) -> None:
    """Leave a typed query only the types of its output columns, in place: whoever copies it carries them all along."""
    for node in query.walk():
        if not (isinstance(node.parent, exp.Select) and node.arg_key == "expressions"):
            node.type = None


def column_type(node: exp.Expr) -> str:
    """The type of an output column of a typed query, empty where it is not known for sure.

    What Spark makes of quotients, means and calculations with decimals, sqlglot does not tell.
    """
    kind, value = node.type, node.unalias().unnest()
    if kind is None:
        return ""
    plain = isinstance(value, exp.Column | exp.Cast | exp.Min | exp.Max)
    exact = kind.this in _SURE and not kind.expressions
    inexact = kind.this in exp.DataType.FLOAT_TYPES and not value.find(exp.Avg, exp.Div)
    decimal = kind.this == exp.DataType.Type.DECIMAL and bool(kind.expressions) and plain
    return _spelled(kind) if exact or inexact or decimal else ""


@cache
def _spelled(kind: exp.DataType) -> str:
    return kind.sql(dialect="spark").lower()


def _kind(node: exp.Expr) -> str | None:
    """Text, numbers that are exact, numbers that are not, and each kind of moment; NULL where it is not known."""
    kind = node.type.this if node.type is not None else None
    if kind in exp.DataType.FLOAT_TYPES:
        return "inexact"
    family = _family(node)
    return str(kind) if family == "a moment" else family


def _check(node: exp.Expr, label: str) -> None:
    match node:
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.NullSafeEQ():
            left, right = _family(node.this), _family(node.expression)
            if left and right and left != right and "text" not in (left, right):
                _fail(node, f"{fragment(node)} compares {left} with {right}", "cast one side", label)
        case exp.Mul() | exp.Div() | exp.Mod() | exp.Add() | exp.Sub():
            moments = isinstance(node, exp.Add | exp.Sub)
            for side in (node.this, node.expression):
                family = _family(side)
                if family in ("a boolean", "a collection") or (family == "a moment" and not moments):
                    _fail(node, f"{fragment(node)} calculates with {family}", "cast it to a number", label)
        case exp.Sum() | exp.Avg():
            family = _family(node.this)
            if family in ("a boolean", "a moment", "a collection"):
                _fail(node, f"{fragment(node)} adds up {family}", "aggregate a number", label)
        case exp.And() | exp.Or():
            for side in (node.this, node.expression):
                _check_condition(side, label)
        case exp.Not() | exp.Where() | exp.Having() | exp.Qualify():
            _check_condition(node.this, label)
        case exp.Join() if node.args.get("on"):
            _check_condition(node.args["on"], label)
        case exp.SetOperation():
            for left_column, right_column in zip(node.left.selects, node.right.selects, strict=False):
                one, other = _family(left_column), _family(right_column)
                if one and other and one != other and "text" not in (one, other):
                    what = f"the sides give {one} and {other} for column {left_column.alias_or_name!r}"
                    _fail(left_column, what, "cast one side", label)


def _check_condition(node: exp.Expr, label: str) -> None:
    family = _family(node)
    if family is not None and family != "a boolean":
        _fail(node, f"{fragment(node)} is {family}, not a condition", "compare it with something", label)


def _family(node: exp.Expr) -> str | None:
    kind = node.type
    if isinstance(node, exp.Any | exp.All) or node.find(exp.Interval):
        return None
    return next((name for name, types in _FAMILIES.items() if kind is not None and kind.this in types), None)


def _fail(node: exp.Expr, problem: str, hint: str, label: str) -> NoReturn:
    raise ViewError(f"{label}: {place(node)}{problem}", hint)
