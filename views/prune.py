"""Columns that nobody reads are dropped from predicates, so that rules carry only what the view needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from views.rules import Aggregate, Bag, Expr, Partitioned, Predicate, Program, Set


def prune(program: Program) -> Program:
    """The same program with narrower predicates; sets and groups keep the columns that make their rows distinct."""
    needed: dict[str, set[str]] = {predicate.name: set() for predicate in program.predicates}
    needed[program.view] = set(program.columns)
    done: list[Predicate] = []
    for predicate in reversed(program.predicates):
        narrow = _narrowed(predicate, needed[predicate.name])
        for rule in narrow.rules:
            relations = {subgoal.alias: subgoal.relation for subgoal in rule.subgoals}
            for found in _columns(rule.expressions()):
                if relations[found.table] in needed:
                    needed[relations[found.table]].add(found.name)
            for negation in rule.negations:
                needed[negation.relation] |= {"*"}
        done.append(narrow)
    return replace(program, predicates=tuple(reversed(done)))


def _narrowed(predicate: Predicate, needed: set[str]) -> Predicate:
    match predicate.form:
        case Set():
            return predicate
        case _ if "*" in needed:
            return predicate
        case Bag():
            return _with_body(predicate, needed)
        case Aggregate(groups, calls):
            kept = tuple((name, call) for name, call in calls if name in needed)
            kept = kept or (() if groups else calls[:1])  # the one row of no group must still be there
            used = {*groups, *(c.name for c in _columns(call for _, call in kept))}
            return _with_body(replace(predicate, form=Aggregate(groups, kept)), used)
        case Partitioned():
            form = predicate.form
            windows = tuple((name, window) for name, window in form.windows if name in needed)
            windows = windows or (() if predicate.body else form.windows[:1])
            used = needed | set(form.keys) | {c.name for c in _columns([*form.order, *(w for _, w in windows)])}
            return _with_body(replace(predicate, form=replace(form, windows=windows)), used)


def _with_body(predicate: Predicate, used: set[str]) -> Predicate:
    kept = [i for i, name in enumerate(predicate.body) if name in used]
    if not kept and predicate.body and isinstance(predicate.form, Bag | Partitioned):
        kept = [0]  # a row must still be there to be counted
    return replace(
        predicate,
        body=tuple(predicate.body[i] for i in kept),
        rules=tuple(replace(rule, head=tuple(rule.head[i] for i in kept)) for rule in predicate.rules),
    )


def _columns(expressions: Iterable[Expr]) -> Iterable[exp.Column]:
    for each in expressions:
        yield from each.find_all(exp.Column)
