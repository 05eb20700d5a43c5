"""A predicate that only renames the columns of another one takes that one's place.

It runs after `prune`: only then is it known that all columns of the lower predicate are passed on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from views.rules import Aggregate, Bag, Expr, Form, Partitioned, Predicate, Program, body_column
from views.trees import rewritten


def merge(program: Program) -> Program:
    """The same program without predicates that rename."""
    read = Counter(name for p in program.predicates for rule in p.rules for name in rule.relations)
    shared = {name for name, times in read.items() if times > 1}
    done: dict[str, Predicate] = {}
    gone: set[str] = set()
    for predicate in program.predicates:
        merged = _merged(predicate, done, shared)
        if merged is not predicate:
            gone.add(predicate.rules[0].subgoals[0].relation)
        done[predicate.name] = merged
    return replace(program, predicates=tuple(p for p in done.values() if p.name not in gone))


def _merged(top: Predicate, known: Mapping[str, Predicate], shared: set[str]) -> Predicate:
    """The predicate, or the one below it under its names, if it only renames that one's columns."""
    if not isinstance(top.form, Bag) or len(top.rules) != 1:
        return top
    rule = top.rules[0]
    plain = len(rule.subgoals) == 1 and not rule.negations and not rule.conditions and rule.times is None
    below = known.get(rule.subgoals[0].relation) if plain else None
    if below is None or below.recursive or not all(isinstance(each, exp.Column) for each in rule.head):
        return top
    used = [each.name for each in rule.head]
    if below.name in shared or len(set(used)) < len(used) or set(used) != set(below.columns):
        return top
    names = dict(zip(used, top.body, strict=True))
    inputs = [c for c in below.body if c not in names]
    for name in inputs:  # an input of an aggregate may have the name that an output gets
        new, number = name, 1
        while new in names.values():
            number += 1
            new = f"{name}_{number}"
        names[name] = new
    return replace(
        below, name=top.name, body=tuple(names[c] for c in below.body), form=_renamed_form(below.form, names)
    )


def _renamed_form(form: Form, names: Mapping[str, str]) -> Form:
    def renamed(each: Expr) -> Expr:
        return rewritten(each, lambda c: body_column(names[c.name]))

    match form:
        case Aggregate(groups, calls):
            return Aggregate(tuple(names[g] for g in groups), tuple((names[n], renamed(c)) for n, c in calls))
        case Partitioned():
            return replace(
                form,
                keys=tuple(names[k] for k in form.keys),
                windows=tuple((names[n], renamed(w)) for n, w in form.windows),
                order=tuple(map(renamed, form.order)),
            )
        case _:
            return form
