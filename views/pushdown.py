"""Which rows of each relation a filtered read of a view can need: the filter, carried down to the base tables.

A condition on an output column holds for the expression behind it; on a grouped or partitioned predicate only
conditions on its keys pass, because the other rows of a group matter too. Columns that a join makes equal share
the comparisons with constants. The result prunes files; the query itself still applies every condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from views.rules import Aggregate, Bag, Expr, Partitioned, Predicate, Program, Rule, Set, body_column
from views.trees import conjuncts, rewritten

_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
Conjuncts = tuple[Expr, ...]


def needed_rows(program: Program, where: Expr | None = None) -> dict[str, Expr | None]:
    """Per relation a condition on its columns that every row which matters meets; None where all may matter.

    `where` is a condition on the view's output columns.
    """
    uses: dict[str, list[Conjuncts]] = {program.view: [tuple(conjuncts(where)) if where is not None else ()]}
    for predicate in reversed(program.predicates):
        wanted = _passing(predicate, _any_of(uses.get(predicate.name, [])))
        for rule in predicate.rules:
            _carry(predicate, rule, wanted, uses)
    found: dict[str, Expr | None] = {}
    for relation in program.relations:
        parts = _any_of(uses[relation])
        found[relation] = exp.and_(*parts, copy=True) if parts else None
    return found


def _any_of(uses: Sequence[Conjuncts]) -> Conjuncts:
    """What rows meet that any of the uses needs; nothing is known once a use needs all."""
    if not all(uses):
        return ()
    distinct = list(dict.fromkeys(uses))
    if len(distinct) == 1:
        return distinct[0]
    return (exp.or_(*(exp.and_(*parts, copy=True) for parts in distinct), copy=False),)


def _passing(predicate: Predicate, wanted: Conjuncts) -> Conjuncts:
    match predicate.form:
        case Bag() | Set():
            keys = set(predicate.body)
        case Aggregate(groups, _):
            keys = set(groups)
        case Partitioned(keys=of):
            keys = set(of)
    return tuple(c for c in wanted if {column.name for column in c.find_all(exp.Column)} <= keys)


def _carry(predicate: Predicate, rule: Rule, wanted: Conjuncts, uses: dict[str, list[Conjuncts]]) -> None:
    values = dict(zip(predicate.body, rule.head, strict=True))
    known = [*(rewritten(each, lambda c: values[c.name]) for each in wanted), *rule.conditions]
    known += _shared(known)
    for subgoal in rule.subgoals:
        own = [c for c in known if {column.table for column in c.find_all(exp.Column)} == {subgoal.alias}]
        uses.setdefault(subgoal.relation, []).append(tuple(dict.fromkeys(_unqualified(c) for c in own)))
    for negation in rule.negations:
        uses.setdefault(negation.relation, []).append(())


def _shared(conditions: Iterable[Expr]) -> list[Expr]:
    """Comparisons with constants, repeated for the columns that a join makes equal."""
    known = list(conditions)
    classes: list[set[Expr]] = []
    for each in known:
        if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column) and isinstance(each.expression, exp.Column):
            both = {each.this, each.expression}
            joined = [c for c in classes if c & both]
            classes = [c for c in classes if not c & both] + [both.union(*joined)]
    found: list[Expr] = []
    for each in known:
        columns = list(each.find_all(exp.Column))
        if isinstance(each, _COMPARISONS) and len(columns) == 1 and isinstance(each.this, exp.Column):
            for other in sorted(next((c for c in classes if columns[0] in c), set()) - {columns[0]}, key=str):
                copy = each.copy()
                copy.this.replace(other.copy())
                found.append(copy)
    return found


def _unqualified(condition: Expr) -> Expr:
    return rewritten(condition, lambda column: body_column(column.name))
