"""SELECT, FROM, set operations and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from views.check_types import column_type
from views.places import fragment
from views.rules import (
    Aggregate,
    Bag,
    Expr,
    Form,
    Negation,
    Partitioned,
    Rule,
    Set,
    body_column,
    column,
)
from views.translation.body import Body, Domain, Naming, Relation
from views.translation.syntax import (
    aggregate_calls,
    ascending,
    is_outer,
    limits,
    number,
    same,
    substitute,
)
from views.translation.windows import Windows
from views.trees import conjuncts

_TRUE = exp.true()


class Translator(Windows):
    """Queries become predicates."""

    def query(self, node: Expr, supply: Callable[[Sequence[Expr]], str] | None, name: str | None = None) -> Relation:
        """Translate a query; one that names columns of its surroundings gets them as columns of its own."""
        domain = None
        if supply is not None:
            domain = self.separate(node, supply)
        return self.translated_query(node, domain, name)

    def translated_query(self, node: Expr, domain: Domain | None, name: str | None = None) -> Relation:
        found = self.translated_part(node, domain, name)
        if isinstance(node, exp.Query):
            types = (column_type(each) for each in node.selects)
            self.types[found.name] = {c: kind for c, kind in zip(found.columns, types, strict=False) if kind}
        return found

    def translated_part(self, node: Expr, domain: Domain | None, name: str | None) -> Relation:
        match node:
            case exp.Select():
                if not limits(node):
                    node.set("order", None)  # rows of a table have no order
                return self.select(node, domain, name)
            case exp.SetOperation():
                return self.limited(node, self.set_operation(node, domain, name), domain, name)
            case exp.Subquery():
                return self.limited(node, self.translated_query(node.this, domain, name), domain, name)
            case exp.Values():
                return self.values(node, name)
        self.fail(node, f"{fragment(node)} is not understood", "write a SELECT")

    def values(self, node: exp.Values, name: str | None) -> Relation:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        alias = node.args.get("alias")
        columns = [c.name for c in alias.columns] if alias is not None and alias.columns else []
        columns = columns or [f"col{i + 1}" for i in range(len(rows[0]))]
        rules = [Body().rule(each.copy() for each in row) for row in rows]
        return Relation(self.define("listed", columns, rules, Bag(), name), tuple(columns))

    def set_operation(self, node: exp.SetOperation, domain: Domain | None, name: str | None) -> Relation:
        name = None if limits(node) else name
        left = self.translated_query(node.this, domain)
        right = self.translated_query(node.expression, domain)
        free = tuple(f.name for f in left.free)
        columns = (*free, *left.columns)
        distinct = node.args.get("distinct", True)

        def side(relation: Relation, *more: Expr) -> Rule:
            body, alias = self.over(relation.name)
            given = (*free, *relation.columns)
            return body.rule([*(column(alias, c) for c in given), *more])

        match node:
            case exp.Union():
                found = self.define("union", columns, [side(left), side(right)], Set() if distinct else Bag(), name)
            case exp.Except() | exp.Intersect() if distinct:
                body, alias = self.over(left.name)
                mine = [column(alias, c) for c in columns]
                other = self.define("distinct", columns, [side(right)], Set())
                if isinstance(node, exp.Except):
                    body.negations.append(Negation(other, tuple((each.name, each.copy()) for each in mine)))
                else:
                    theirs, second = self.over(other)
                    body.subgoals += theirs.subgoals
                    body.conditions += [same(m, column(second, c)) for m, c in zip(mine, columns, strict=True)]
                found = self.define(
                    "except" if body.negations else "intersect", columns, [body.rule(mine)], Set(), name
                )
            case _:
                found = self.counted(node, columns, side(left, number(1), number(0)),
                                     side(right, number(0), number(1)), name)  # fmt: skip
        return Relation(found, left.columns, left.free, left.bound and right.bound)

    def counted(self, node: Expr, columns: tuple[str, ...], left: Rule, right: Rule, name: str | None) -> str:
        """EXCEPT ALL and INTERSECT ALL: how often a row stands on each side decides how often it is derived."""
        calls = tuple((side, exp.Sum(this=body_column(side))) for side in ("in_left", "in_right"))
        sides = self.define("sides", (*columns, "in_left", "in_right"), [left, right], Aggregate(columns, calls))
        body, alias = self.over(sides)
        mine, theirs = column(alias, "in_left"), column(alias, "in_right")
        if isinstance(node, exp.Except):
            body.conditions.append(exp.GT(this=mine, expression=theirs))
            times: Expr = exp.Sub(this=mine.copy(), expression=theirs.copy())
        else:
            body.conditions += [exp.GT(this=each.copy(), expression=number(0)) for each in (mine, theirs)]
            times = exp.Least(this=mine.copy(), expressions=[theirs.copy()])
        role = "except_all" if isinstance(node, exp.Except) else "intersect_all"
        return self.define(role, columns, [body.rule((column(alias, c) for c in columns), times)], Bag(), name)

    def select(self, node: exp.Select, domain: Domain | None, name: str | None) -> Relation:
        body = self.from_and_where(node, domain)
        free = domain.free if domain is not None else []
        if node.args.get("group") or any(True for _ in aggregate_calls(node)):
            body = self.aggregate(node, body, domain)
        if having := node.args.get("having"):
            for conjunct in conjuncts(having.this):
                self.condition(body, conjunct)
        body = self.windows(node, body, domain)
        if qualify := node.args.get("qualify"):
            for conjunct in conjuncts(qualify.this):
                self.condition(body, conjunct)
        projections = [self.attach(body, each.unalias()) for each in node.expressions]
        order = [each.copy() for each in (node.args.get("order") or exp.Order(expressions=[])).expressions]
        outputs = {each.alias: value for each, value in zip(node.expressions, projections, strict=True)}
        for ordered in order:
            named = isinstance(ordered.this, exp.Column) and not ordered.this.table
            ordered.set("this", outputs[ordered.this.name].copy() if named else self.attach(body, ordered.this))
        columns = [each.alias for each in node.expressions]
        exported = [self.express(body, column(domain.alias, f.name)) for f in free] if domain is not None else []
        head = [*exported, *(self.express(body, each) for each in projections)]
        names = (*(f.name for f in free), *columns)
        bound = domain is None or domain.bound
        limited, distinct = limits(node), bool(node.args.get("distinct"))
        if not limited or distinct:
            form: Form = Set() if distinct else Bag()
            found = self.define(
                "distinct" if distinct else "select", names, [body.rule(head)], form, None if limited else name
            )
            relation = Relation(found, tuple(columns), tuple(free), bound)
            return self.limited(node, relation, domain, name) if limited else relation
        hidden: list[str] = []
        carried = dict(zip(head, names, strict=True))
        for i, ordered in enumerate(order):
            value = self.express(body, ordered.this)
            if value not in carried:
                carried[value] = f"order_{i + 1}"
                hidden.append(carried[value])
                head.append(value)
            ordered.set("this", body_column(carried[value]))
        found = self.first_rows(node, names, hidden, order, [body.rule(head)], [f.name for f in free], name)
        return Relation(found, tuple(columns), tuple(free), bound)

    def limited(self, node: Expr, relation: Relation, domain: Domain | None, name: str | None) -> Relation:
        """The first rows of a relation, in the order of its own output columns."""
        if not limits(node):
            return relation
        body, alias = self.over(relation.name)
        names = self.columns(relation.name)
        order = [ordered.copy() for ordered in (node.args.get("order") or exp.Order(expressions=[])).expressions]
        keys = [f.name for f in relation.free]
        rule = body.rule(column(alias, c) for c in names)
        found = self.first_rows(node, names, [], order, [rule], keys, name)
        return Relation(found, relation.columns, relation.free, relation.bound)

    def first_rows(
        self,
        node: Expr,
        names: Sequence[str],
        hidden: Sequence[str],
        order: list[Expr],
        rules: list[Rule],
        keys: Sequence[str],
        name: str | None,
    ) -> str:
        """The first rows of each key in an order; what ties there is ordered by the other columns."""
        limit, offset = (self.whole_number(node.args.get(each)) for each in ("limit", "offset"))
        ordered = {each.this.sql() for each in order}
        order += [ascending(c) for c in names if c not in keys and body_column(c).sql() not in ordered]
        form = Partitioned(tuple(keys), (), tuple(order), limit, offset or 0)
        if not hidden:
            return self.define("first", names, rules, form, name)
        first = self.define("first", (*names, *hidden), rules, form)
        body, alias = self.over(first)
        return self.define("select", names, [body.rule(column(alias, c) for c in names)], Bag(), name)

    def from_clause(self, node: Expr, body: Body, domain: Domain | None) -> None:
        if source := node.args.get("from_"):
            self.add_source(source.this, body, domain)
        for join in node.args.get("joins") or ():
            self.join(join, body, domain)

    def join(self, join: exp.Join, body: Body, domain: Domain | None) -> None:
        on = join.args.get("on")
        if join.kind.upper() in ("SEMI", "ANTI"):
            source = join.this.copy()
            inner = exp.Select(expressions=[number(1)], from_=exp.From(this=source))
            inner.set("where", exp.Where(this=on.copy()) if on is not None else None)
            found: Expr = exp.Exists(this=inner)
            self.condition(body, found if join.kind.upper() == "SEMI" else exp.Not(this=found))
        elif is_outer(join):
            other = Body()
            self.add_source(join.this, other, domain)
            self.outer_join(body, other, on if on is not None else _TRUE.copy(), join.side.upper())
        else:
            self.add_source(join.this, body, domain)
            for conjunct in conjuncts(on) if on is not None else ():
                self.condition(body, conjunct)

    def add_source(self, node: Expr, body: Body, domain: Domain | None) -> None:
        match node:
            case exp.Table():
                relation = self.cte(node.name) if node.name in self.ctes else node.name
                found, _ = self.over(relation, node.alias)
                body.subgoals += found.subgoals
                body.sources |= found.sources
                for join in node.args.get("joins") or ():
                    self.join(join, body, domain)
            case exp.Subquery(this=exp.Table() as inner):
                grouped = Body()
                self.add_source(inner, grouped, domain)
                if not grouped.plain and body.subgoals:
                    grouped = self.folded(grouped)
                body.subgoals += grouped.subgoals
                body.conditions += grouped.conditions
                body.negations += grouped.negations
                body.sources |= grouped.sources
            case exp.Subquery() | exp.Values():
                query = node.this if isinstance(node, exp.Subquery) else node
                supply = None if domain is None else _through(domain)
                self.add_relation(self.query(query, supply), node.alias, body)
            case _:
                self.fail(node, f"{fragment(node)} in FROM is not understood", "name a table or a subquery")

    def cte(self, name: str) -> str:
        if name not in self.translated:
            own = name if name.casefold() not in self.taken else None
            self.taken.add(name.casefold())
            self.translated[name] = self.query(self.ctes[name].copy(), None, own).name
        return self.translated[name]

    def outer_join(self, body: Body, other: Body, on: Expr, side: str) -> None:
        """Matched rows, and padded ones for those of a side that match nothing; the body becomes the result."""
        if on.find(exp.Query):
            self.fail(on, "a subquery in the condition of an outer join is not understood", "join it before")
        left, right = (each if each.plain else self.folded(each) for each in (body, other))
        both = Body(left.subgoals + right.subgoals, sources={**left.sources, **right.sources})
        both.conditions = [self.express(both, c) for c in conjuncts(on)]
        names = Naming(both)
        rules = [both.rule(names.head(both.sources))]
        for keep, drop, sides in ((left, right, ("LEFT", "FULL")), (right, left, ("RIGHT", "FULL"))):
            if side in sides:
                padded = Body(keep.subgoals, [self.unmatched(keep, drop, on)])
                nothing = {a: {c: self.null_like(drop, v) for c, v in cs.items()} for a, cs in drop.sources.items()}
                rules.append(padded.rule(names.head({**keep.sources, **nothing})))
        joined = self.define("joined", names.columns, rules, Bag())
        self.become(body, joined, names)

    def unmatched(self, keep: Body, drop: Body, on: Expr) -> Negation:
        """That a row of one side joins with none of the other."""
        inner = exp.Select(where=exp.Where(this=on.copy()))
        domain = self.separate(inner, lambda exprs: self.domain(keep, exprs), drop.sources)
        body = Body(list(drop.subgoals), sources=dict(drop.sources))
        self.open_domain(body, domain, inner)
        body.conditions += [self.express(body, c) for c in conjuncts(inner.args["where"].this)]
        self.bind(body, domain)
        return self.negated(keep, self.existing(body, domain))


def _through(domain: Domain) -> Callable[[Sequence[Expr]], str]:
    """The supply of a subquery in FROM: its correlated columns are those of the query around it."""

    def supply(exprs: Sequence[Expr]) -> str:
        outer = {f.name: f.outer for f in domain.free}
        return domain.supply([substitute(each, domain.alias, outer) for each in exprs])

    return supply
