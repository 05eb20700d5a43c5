"""From SQL to a program: the passes in their order, and what comes out of them.

    text → parse → qualify → check_types → translate → unfold → prune → merge → Program

`define` runs them for one view, `define_all` for views that read each other. A definition that the rules do not
cover keeps its reasons; it can still be evaluated as it stands, by query modification or recompute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from views.catalog import CLOCK, NOW, TODAY, Catalog, Relation
from views.check_types import check_types, column_type, compares_alike, forget_types
from views.errors import ViewError
from views.merge import merge
from views.parsing import parse
from views.places import place
from views.prune import prune
from views.pushdown import needed_rows
from views.qualify import qualify
from views.reasons import STRUCTURAL, Reason, find_reasons
from views.references import references, spelling
from views.render import query_of
from views.rules import Expr, Partitioned, Program
from views.spelling import did_you_mean
from views.translation import translate
from views.trees import forget_marks
from views.unfold import unfold

QUERY_PASSES: tuple[Callable[[exp.Query, Catalog, str], exp.Query], ...] = (qualify, check_types)
"""Each makes a query more explicit, in place, or finds what is wrong with it."""

PROGRAM_PASSES: tuple[Callable[[Program], Program], ...] = (unfold, prune, merge)
"""Each makes a program simpler and leaves its meaning alone."""

CLOCK_RELATION = Relation(CLOCK, {TODAY: "date", NOW: "timestamp"})


@dataclass(frozen=True)
class Definition:
    """A view: its query, what it reads, and its program, or the reasons why it cannot be maintained by one."""

    view: str
    query: exp.Query
    """With explicit names; as it was written where the rules do not cover it."""
    relations: tuple[str, ...]
    """The base tables and views that it reads."""
    columns: tuple[str, ...]
    """The output columns; empty where only the engine can tell them."""
    program: Program | None
    reasons: tuple[Reason, ...] = ()

    @property
    def evaluated(self) -> exp.Query:
        """What is run to evaluate the view in full: its query, or its program where that decides between ties.

        Which of the rows that tie come first under LIMIT, or get which number in a window, SQL leaves open; the
        program orders them by their other columns, and every way to keep the view must give the same answer.
        """
        if self.program is not None and any(isinstance(p.form, Partitioned) for p in self.program.predicates):
            return query_of(self.program)
        return self.query

    @cached_property
    def needed(self) -> Mapping[str, Expr | None]:
        """Per relation that it reads, the condition that every row which matters meets; None where all may matter."""
        return needed_rows(self.program) if self.program is not None else dict.fromkeys(self.relations)

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the meaning may have: not with spaces, comments or the case of keywords."""
        return hashlib.sha256(self.query.sql(dialect="spark", comments=False).encode()).hexdigest()[:16]


def define(view: str, sql: str, catalog: Catalog, label: str | None = None) -> Definition:
    """The definition of one view over a catalog of what it may read."""
    label = label or f"view {view!r}"
    return _defined(view, parse(sql, label), catalog, label)


def _defined(view: str, query: exp.Query, catalog: Catalog, label: str) -> Definition:
    read = _resolved(query, catalog, label)
    reasons = find_reasons(query)
    blank = [relation for relation in read if not relation.columns]
    reasons += tuple(Reason("UNKNOWN_COLUMNS", f"reads {relation.name!r}") for relation in blank)
    if any(reason.why in STRUCTURAL for reason in reasons):
        names = tuple(dict.fromkeys(relation.name for relation in read))
        return Definition(view, query, names, (), None, reasons)
    catalog = catalog.extended(CLOCK_RELATION)
    for pass_ in QUERY_PASSES:
        query = pass_(query, catalog, label)
    transitive = compares_alike(query)
    forget_types(query)
    program = replace(translate(query, catalog, view, label), transitive=transitive)
    for expression in program.expressions():
        forget_marks(expression)
    for change in PROGRAM_PASSES:
        program = change(program)
    relations = tuple(name for name in program.relations if name != CLOCK)
    return Definition(view, query, relations, program.columns, program, reasons)


def define_all(
    texts: Mapping[str, str], catalog: Catalog, label: Callable[[str], str] = lambda view: f"view {view!r}"
) -> dict[str, Definition]:
    """The definitions of views that may read each other, each after those it reads."""
    spelled = {name.casefold(): name for name in texts}
    done: dict[str, Definition] = {}
    catalog = Catalog({**catalog.relations, **{view: Relation(view, {}) for view in texts}}, catalog.spelled)

    def visit(view: str, above: tuple[str, ...]) -> None:
        nonlocal catalog
        if view in done:
            return
        if view in above:
            cycle = " → ".join([*above[above.index(view) :], view])
            raise ViewError(f"{label(above[-1])}: views read each other in a circle: {cycle}", "break the circle")
        query = parse(texts[view], label(view))
        for table in references(query):
            if (below := spelled.get(spelling(table).casefold())) is not None:
                visit(below, (*above, view))
        found = _defined(view, query, catalog, label(view))
        read = [done[name] for name in found.relations if name in done]
        worse = tuple(Reason("READS_NOT_INCREMENTAL", f"reads {d.view!r}") for d in read if d.reasons)
        kept = tuple(reason for reason in found.reasons if not _of_view(reason, done))
        done[view] = replace(found, reasons=kept + worse)
        types = dict(zip(found.columns, map(column_type, found.query.selects), strict=False))
        catalog = catalog.extended(Relation(view, {c: types.get(c, "") for c in found.columns}))

    for view in texts:
        visit(view, ())
    return done


def _of_view(reason: Reason, done: Mapping[str, Definition]) -> bool:
    """Whether unknown columns are those of a view, which has a reason of its own."""
    return reason.why == "UNKNOWN_COLUMNS" and any(reason.where == f"reads {view!r}" for view in done)


def _resolved(query: exp.Query, catalog: Catalog, label: str) -> list[Relation]:
    """The relations that the query reads; the names in it become theirs, so that it can run anywhere."""
    found = []
    for table in references(query):
        name = spelling(table)
        relation = catalog.find(name)
        if relation is None:
            hint = did_you_mean(table.name, catalog.relations, "tables and views")
            raise ViewError(f"{label}: {place(table)}reads the unknown table {name[:80]!r}", hint)
        found.append(relation)
    return found
