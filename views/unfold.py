"""Predicates that only pass rows on are written into the rules that read them.

A bag predicate with one rule is replaced by that rule's body wherever it is a subgoal, unless that would do work
twice: a join that is read more than once, or an expression that is used more than once, stays where it is, so a
program grows no larger than its text. What is left are the predicates that mean something: sets, groups,
partitions, unions, padded joins and shared joins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from views.rules import Bag, Expr, Predicate, Program, Rule, Subgoal, column
from views.trees import rewritten


def unfold(program: Program) -> Program:
    """The same program with fewer predicates."""
    read = Counter(s.relation for p in program.predicates for rule in p.rules for s in rule.subgoals)
    done: dict[str, Predicate] = {}
    for predicate in program.predicates:
        rules = tuple(_unfolded(rule, done, read) for rule in predicate.rules)
        done[predicate.name] = replace(predicate, rules=rules)
    return _without_unused(replace(program, predicates=tuple(done.values())))


def _unfolded(rule: Rule, known: Mapping[str, Predicate], read: Mapping[str, int]) -> Rule:
    for subgoal in rule.subgoals:
        predicate = known.get(subgoal.relation)
        if predicate is not None and _may_unfold(predicate, subgoal, rule, read):
            return _unfolded(inlined(rule, subgoal, predicate.body, predicate.rules[0]), known, read)
    return rule


def _may_unfold(predicate: Predicate, subgoal: Subgoal, rule: Rule, read: Mapping[str, int]) -> bool:
    """One rule of a bag, and no work that the reader would then do twice."""
    if not isinstance(predicate.form, Bag) or len(predicate.rules) != 1 or predicate.recursive:
        return False
    inner = predicate.rules[0]
    if inner.times is not None or (len(inner.relations) > 1 and read[predicate.name] > 1):
        return False
    used = Counter(c.name for each in rule.expressions() for c in each.find_all(exp.Column) if c.table == subgoal.alias)
    return all(used[name] <= 1 or _cheap(value) for name, value in zip(predicate.body, inner.head, strict=True))


def _cheap(value: Expr) -> bool:
    return isinstance(value, exp.Column | exp.Literal | exp.Boolean | exp.Null)


def inlined(rule: Rule, subgoal: Subgoal, body: Sequence[str], inner: Rule) -> Rule:
    """The rule with the body of another one, which fills the subgoal's columns, in the subgoal's place."""
    inner = _apart(inner, rule)
    values = dict(zip(body, inner.head, strict=True))

    def opened(each: Expr) -> Expr:
        return rewritten(each, lambda c: values[c.name] if c.table == subgoal.alias else None)

    position = rule.subgoals.index(subgoal)
    return Rule(
        tuple(map(opened, rule.head)),
        (*rule.subgoals[:position], *inner.subgoals, *rule.subgoals[position + 1 :]),
        (
            *inner.negations,
            *(negation.mapped(opened) for negation in rule.negations),
        ),
        (*inner.conditions, *map(opened, rule.conditions)),
        None if rule.times is None else opened(rule.times),
    )


def _apart(inner: Rule, outer: Rule) -> Rule:
    """The inner rule with aliases that the outer one does not use."""
    taken = {s.alias for s in outer.subgoals}
    names: dict[str, str] = {}
    for subgoal in inner.subgoals:
        name, number = subgoal.alias, 1
        while name in taken:
            number += 1
            name = f"{subgoal.alias}_{number}"
        taken.add(name)
        names[subgoal.alias] = name
    if all(old == new for old, new in names.items()):
        return inner

    def renamed(each: Expr) -> Expr:
        return rewritten(each, lambda c: column(names[c.table], c.name) if c.table in names else None)

    return Rule(
        tuple(map(renamed, inner.head)),
        tuple(Subgoal(s.relation, names[s.alias]) for s in inner.subgoals),
        tuple(negation.mapped(renamed) for negation in inner.negations),
        tuple(map(renamed, inner.conditions)),
        None if inner.times is None else renamed(inner.times),
    )


def _without_unused(program: Program) -> Program:
    """Only the predicates that the view still reads."""
    known = {predicate.name: predicate for predicate in program.predicates}
    needed, waiting = set(), [program.view]
    while waiting:
        name = waiting.pop()
        if name in known and name not in needed:
            needed.add(name)
            waiting += known[name].relations
    return replace(program, predicates=tuple(p for p in program.predicates if p.name in needed))
