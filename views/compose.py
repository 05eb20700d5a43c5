"""Views over views as one program: a virtual view is opened up where it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from views.merge import merge
from views.prune import prune
from views.rules import Predicate, Program
from views.unfold import unfold


def opened(program: Program, below: Mapping[str, Program]) -> Program:
    """The program with the programs of views that it reads in place of these views."""
    used = [name for name in program.relations if name in below]
    if not used:
        return program
    predicates: list[Predicate] = []
    transitive = program.transitive
    for name in used:
        lower = opened(below[name], below)
        transitive &= lower.transitive
        own = {p.name: p.name if p.name == lower.view else f"{lower.view}.{p.name}" for p in lower.predicates}
        predicates += [p for p in (_renamed(p, own) for p in lower.predicates) if p not in predicates]
    whole = replace(program, predicates=(*predicates, *program.predicates), transitive=transitive)
    for change in (unfold, prune, merge):
        whole = change(whole)
    return whole


def _renamed(predicate: Predicate, names: Mapping[str, str]) -> Predicate:
    rules = tuple(
        replace(
            rule,
            subgoals=tuple(replace(s, relation=names.get(s.relation, s.relation)) for s in rule.subgoals),
            negations=tuple(replace(n, relation=names.get(n.relation, n.relation)) for n in rule.negations),
        )
        for rule in predicate.rules
    )
    return replace(predicate, name=names[predicate.name], rules=rules)
