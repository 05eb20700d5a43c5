"""A delta program once the types of the states beside its view are known.

Its marks (`views.states`) are resolved, and what is then always true or false is left out: where every part is exact,
no group is ever evaluated again, and no query asks whether one is to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from views.rules import Aggregate, Expr, Predicate, Program, Rule
from views.trees import columns_in, rewritten

Types = Mapping[str, Mapping[str, str]]
"""Of each state, the types of its columns."""


def with_types(program: Program, types: Types) -> Program:
    """The program, with these types, without marks and constants."""
    constants: dict[str, Mapping[str, Expr]] = {}
    found: list[Predicate] = []
    for predicate in program.predicates:
        rules = tuple(rule for each in predicate.rules if (rule := _rule(each, types, constants)) is not None)
        form = predicate.form
        if isinstance(form, Aggregate):
            form = replace(form, calls=tuple((name, folded(_resolved(call, types))) for name, call in form.calls))
            own = dict(form.calls)
        else:
            own = dict(zip(predicate.body, rules[0].head, strict=True)) if len(rules) == 1 else {}
        constants[predicate.name] = {name: each for name, each in own.items() if isinstance(each, exp.Boolean)}
        found.append(replace(predicate, rules=rules, form=form))
    return replace(program, predicates=tuple(found))


def _rule(rule: Rule, types: Types, constants: Mapping[str, Mapping[str, Expr]]) -> Rule | None:
    """The rule without constants; None if it derives nothing."""
    known = {s.alias: constants[s.relation] for s in rule.subgoals if constants.get(s.relation)}

    def opened(each: Expr) -> Expr:
        each = _resolved(each, types)
        if known and any(c.name in known.get(c.table, ()) for c in columns_in(each)):
            each = rewritten(each, lambda c: known.get(c.table, {}).get(c.name))
        return folded(each)

    conditions = tuple(map(opened, rule.conditions))
    if exp.false() in conditions:
        return None
    conditions = tuple(each for each in conditions if each != exp.true())
    return replace(rule, head=tuple(map(opened, rule.head)), conditions=conditions)


def _resolved(value: Expr, types: Types) -> Expr:
    if value.find(exp.Anonymous) is None:
        return value
    whole = exp.Paren(this=value.copy())
    for mark in reversed(list(whole.find_all(exp.Anonymous))):  # the innermost first
        match mark:
            case exp.Anonymous(this="as_stored", expressions=[inner, table, name]):
                mark.replace(exp.cast(inner.copy(), types[table.name][name.name], dialect="spark"))
            case exp.Anonymous(this="is_inexact", expressions=[table, name]):
                mark.replace(exp.true() if types[table.name][name.name] in ("double", "float") else exp.false())
    found: Expr = whole.this
    return found


def folded(value: Expr) -> Expr:
    """The expression with AND, OR, NOT and COALESCE of constants worked out.

    >>> import sqlglot
    >>> folded(sqlglot.condition("a > 0 AND (COALESCE(b AND FALSE, FALSE) OR NOT (TRUE AND c))")).sql()
    'a > 0 AND NOT c'
    """
    match value:
        case exp.And() | exp.Or():
            left, right = folded(value.left), folded(value.right)
            decides = exp.Boolean(this=isinstance(value, exp.Or))
            if decides in (left, right):
                return decides
            for one, other in ((left, right), (right, left)):
                if isinstance(one, exp.Boolean):
                    return other
            if left is value.left and right is value.right:
                return value
            return type(value)(this=left.copy(), expression=right.copy())
        case exp.Not():
            inner = folded(value.this)
            if isinstance(inner, exp.Boolean):
                return exp.Boolean(this=not inner.this)
            return value if inner is value.this else exp.Not(this=inner.copy())
        case exp.Paren():
            inner = folded(value.this)
            if inner is value.this:
                return value
            return exp.Paren(this=inner.copy()) if isinstance(inner, exp.And | exp.Or) else inner
        case exp.Coalesce():
            inner = folded(value.this)
            return inner if isinstance(inner, exp.Boolean) else value
        case _:
            return value
