"""What the conditions of a rule make equal."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

Expr = exp.Expr


def classes(conditions: Iterable[Expr], transitive: bool) -> dict[Expr, list[Expr]]:
    """For each expression, those that the conditions make equal to it, and through them others."""
    pairs = [(c.this.unnest(), c.expression.unnest()) for c in conditions if isinstance(c, exp.EQ | exp.NullSafeEQ)]
    if not transitive:
        return {e: [o for p in pairs if e in p for o in p] for pair in pairs for e in pair}
    found: list[list[Expr]] = []
    for left, right in pairs:
        joined = [group for group in found if left in group or right in group]
        rest = [group for group in found if group not in joined]
        found = [*rest, list(dict.fromkeys([e for group in joined for e in group] + [left, right]))]
    return {each: group for group in found for each in group}
