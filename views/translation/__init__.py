"""A qualified query becomes a program of rules (GMS93 §3; the table is in `views/rules.py` and `docs/rules.md`).

    SELECT … FROM … WHERE      one rule; each source is a subgoal, each conjunct a condition
    LEFT, RIGHT, FULL JOIN     a rule for the matched rows, one per padded side with a negation
    EXISTS, IN, SEMI           a subgoal on a set predicate; NOT EXISTS, NOT IN, ANTI, EXCEPT a negation on one
    subqueries as values       a predicate with one row per value of the correlated columns, joined or padded
    GROUP BY                   an aggregated predicate; each grouping set is a rule of it
    windows, LIMIT             a partitioned predicate

A correlated subquery is made independent of its surroundings: the outer expressions it mentions become columns of
its own (`body.Domain`). Where each is equal to an expression of the subquery that expression stands for it; otherwise
the subquery is joined with the set of values that the outer query has (the domain of Neumann and Kemper).

Each file adds one part: `base` names and predicates, `subqueries` correlation, conditions and values, `groups` and
`windows` what comes after WHERE, `queries` SELECT, FROM and set operations.
"""

from __future__ import annotations

from sqlglot import exp

from views.catalog import Catalog
from views.rules import Program
from views.translation.queries import Translator


def translate(query: exp.Query, catalog: Catalog, view: str, label: str) -> Program:
    """The program of a qualified query; its last predicate carries the view's name."""
    translator = Translator(catalog, view, label, query)
    relation = translator.query(query.copy(), None, name=view)
    return Program(view, relation.columns, tuple(translator.predicates.values()))
