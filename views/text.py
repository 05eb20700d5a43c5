"""A program as text: per predicate one line that says how its rows are kept, then its rules.

    exists: set
      exists(outer_1 = b.k) :- b, b.z > 1, NOT b.k IS NULL.
    v: bag
      v(a.x, b.z) :- a, b, a.k = b.k, b.z > 1.
      v(a.x, z = NULL) :- a, ¬exists(a.k).

A subgoal is a relation and, where it differs, its alias; `¬` is negation; `× n` says how often a row is derived.
"""

from __future__ import annotations

from sqlglot import exp

from views.places import plain_name, plain_sql
from views.rules import Aggregate, Bag, Expr, Partitioned, Predicate, Program, Rule, Set, Subgoal


def rules_text(program: Program) -> str:
    """The whole program, each predicate after those it reads."""
    return "\n".join(predicate_text(predicate) for predicate in program.predicates)


def predicate_text(predicate: Predicate) -> str:
    lines = [f"{plain_name(predicate.name)}: {form_text(predicate)}"]
    lines += [f"  {rule_text(predicate, rule)}" for rule in predicate.rules]
    return "\n".join(lines)


def form_text(predicate: Predicate) -> str:
    """How the rows that the rules derive are kept."""
    match predicate.form:
        case Bag():
            return "bag"
        case Set():
            return "set"
        case Aggregate(groups, calls):
            made = "; ".join(f"{plain_name(name)} = {plain_sql(call)}" for name, call in calls)
            by = f"group by {', '.join(map(plain_name, groups))}" if groups else "one group"
            return f"{by}; {made}" if made else by
        case Partitioned() as form:
            parts = [f"per {', '.join(map(plain_name, form.keys))}" if form.keys else "in one partition"]
            parts += [f"{plain_name(name)} = {plain_sql(window)}" for name, window in form.windows]
            if form.limit is not None or form.offset:
                rows = f"the first {form.limit}" if form.limit is not None else "all"
                skipped = f" after {form.offset}" if form.offset else ""
                order = ", ".join(plain_sql(each) for each in form.order)
                parts.append(f"{rows}{skipped} by {order}")
            return "; ".join(parts)


def rule_text(predicate: Predicate, rule: Rule) -> str:
    """One rule: `head :- body.`"""
    head = ", ".join(_head(name, value) for name, value in zip(predicate.body, rule.head, strict=True))
    times = f" × ({plain_sql(rule.times)})" if rule.times is not None else ""
    body = [_subgoal(each) for each in rule.subgoals]
    for negation in rule.negations:
        arguments = ", ".join(plain_sql(value) for _, value in negation.arguments)
        body.append(f"¬{plain_name(negation.relation)}({arguments})")
    body += [f"({text})" if isinstance(c, exp.Or) else text for c in rule.conditions for text in [plain_sql(c)]]
    return f"{plain_name(predicate.name)}({head}){times} :- {', '.join(body) or 'true'}."


def _head(name: str, value: Expr) -> str:
    text = plain_sql(value)
    return text if isinstance(value, exp.Column) and value.name == name else f"{plain_name(name)} = {text}"


def _subgoal(subgoal: Subgoal) -> str:
    name = plain_name(subgoal.relation)
    return name if subgoal.alias == subgoal.relation else f"{name} {plain_name(subgoal.alias)}"
