"""Names, predicates, and expressions in terms of a body's variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from sqlglot import exp

from views.catalog import CLOCK, NOW, TODAY, Catalog
from views.errors import ViewError
from views.places import fragment, place
from views.rules import (
    Bag,
    Expr,
    Form,
    Predicate,
    Rule,
    Subgoal,
    column,
)
from views.translation.body import Body, Domain, Naming, Relation
from views.trees import rewritten


class Base:
    """One translation: the predicates made so far and the names that are taken."""

    def __init__(self, catalog: Catalog, view: str, label: str, query: exp.Query) -> None:
        self.catalog, self.view, self.label = catalog, view, label
        self.predicates: dict[str, Predicate] = {}
        self.taken = {*catalog.folded, view.casefold()}
        self.aliases = {each.alias_or_name for each in query.find_all(exp.Table, exp.Subquery, exp.Values)}
        self.ctes = {cte.alias: cte.this for cte in query.find_all(exp.CTE)}
        self.translated: dict[str, str] = {}
        self.types: dict[str, dict[str, str]] = {}
        """Of the predicates of subqueries: the types of their columns that are known."""

    def fail(self, node: Expr, problem: str, hint: str) -> NoReturn:
        raise ViewError(f"{self.label}: {place(node)}{problem}", hint)

    def alias(self, wanted: str) -> str:
        """An alias that no source has; unlike `unused` it is not the name of a relation."""
        name, number = wanted, 1
        while name in self.aliases:
            number += 1
            name = f"{wanted}_{number}"
        self.aliases.add(name)
        return name

    def define(self, role: str, body: Iterable[str], rules: Iterable[Rule], form: Form, name: str | None = None) -> str:
        """Add a predicate, named after its role when it has no name of its own."""
        if name is None:
            name, number = role, 1
            while name.casefold() in self.taken:
                number += 1
                name = f"{role}_{number}"
            self.taken.add(name.casefold())
        self.predicates[name] = Predicate(name, tuple(body), tuple(rules), form)
        return name

    def columns(self, relation: str) -> tuple[str, ...]:
        if relation in self.predicates:
            return self.predicates[relation].columns
        return tuple(self.catalog.relations[relation].columns)

    def over(self, relation: str, alias: str | None = None) -> tuple[Body, str]:
        """A body that is one relation, and its alias."""
        alias = alias or self.alias(relation)
        body = Body([Subgoal(relation, alias)])
        body.sources[alias] = {c: column(alias, c) for c in self.columns(relation)}
        return body, alias

    def express(self, body: Body, node: Expr) -> Expr:
        """A qualified expression in terms of a body's variables."""
        node = exp.Paren(this=node.copy())
        for each in list(node.find_all(exp.CurrentDate, exp.CurrentTimestamp)):
            each.replace(column(CLOCK, TODAY if isinstance(each, exp.CurrentDate) else NOW))

        def value(each: exp.Column) -> Expr:
            if each.table == CLOCK:
                return self.clock(body, each.name)
            for known in (body.sources, body.pending):
                if each.table in known:
                    return known[each.table][each.name]
            self.fail(each, f"the column {each.name!r} is neither grouped nor aggregated", "add it to GROUP BY")

        return rewritten(node.this, value)

    def null_like(self, body: Body, value: Expr) -> Expr:
        """NULL of the type of a value where that is known: it may be all that is left to tell the type of a column."""
        return self._null_like(body.subgoals, value) or exp.null()

    def _null_like(self, subgoals: Iterable[Subgoal], value: Expr) -> Expr | None:
        if isinstance(value, exp.Cast) and isinstance(value.this, exp.Null):
            return value.copy()
        if not isinstance(value, exp.Column):
            return None
        relation = next((s.relation for s in subgoals if s.alias == value.table), "")
        known, predicate = self.catalog.relations.get(relation), self.predicates.get(relation)
        kind = (known.columns if known is not None else self.types.get(relation, {})).get(value.name)
        if kind:
            return exp.cast(exp.null(), kind, dialect="spark")
        if predicate is None or value.name not in predicate.body:
            return None
        place = predicate.body.index(value.name)
        types = (self._null_like(rule.subgoals, rule.head[place]) for rule in predicate.rules)
        return next((found for found in types if found is not None), None)

    def clock(self, body: Body, name: str) -> Expr:
        """The moment of the statement, from the base table of one row."""
        alias = next((s.alias for s in body.subgoals if s.relation == CLOCK), None)
        if alias is None:
            alias = self.alias("clock")
            body.subgoals.append(Subgoal(CLOCK, alias))
        return column(alias, name)

    def folded(self, body: Body) -> Body:
        """The same rows and sources as one predicate."""
        names = Naming(body)
        name = self.define("joined", names.columns, [body.rule(names.head(body.sources))], Bag())
        found = Body(sources=body.sources)
        self.become(found, name, names)
        return found

    def become(self, body: Body, relation: str, names: Naming) -> None:
        """Let a predicate that carries all columns of a body take the body's place."""
        _, alias = self.over(relation)
        body.subgoals, body.negations, body.conditions = [Subgoal(relation, alias)], [], []
        body.sources = {
            a: {c: column(alias, names.named[a, c]) for c in columns} for a, columns in names.sources.items()
        }

    def whole_number(self, clause: Expr | None) -> int | None:
        if clause is None:
            return None
        value = clause.args["expression"]
        if isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit():
            return int(value.name)
        self.fail(clause, f"{fragment(value)} is not a number of rows", "write a whole number")

    def query(self, node: Expr, supply: Callable[[Sequence[Expr]], str] | None, name: str | None = None) -> Relation:
        raise NotImplementedError

    def from_clause(self, node: Expr, body: Body, domain: Domain | None) -> None:
        raise NotImplementedError
