"""Correlated subqueries, conditions and subqueries as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from views.catalog import CLOCK
from views.functions import is_aggregate
from views.places import fragment
from views.rules import (
    Aggregate,
    Bag,
    Expr,
    Negation,
    Set,
    Subgoal,
    body_column,
    column,
)
from views.translation.base import Base
from views.translation.body import Body, Domain, Naming, Relation
from views.translation.syntax import (
    aggregate_calls,
    equal,
    is_outer,
    is_window_function,
    limits,
    number,
    own,
    own_queries,
    same,
    substitute,
    top_conjuncts,
)
from views.trees import conjuncts, operand

_TRUE = exp.true()
_NULL_REJECTING = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


class Subqueries(Base):
    """What a body does with a subquery: requires a row of it, forbids one, or takes its value."""

    def separate(self, node: Expr, supply: Callable[[Sequence[Expr]], str], inner: Iterable[str] = ()) -> Domain | None:
        """Replace, in place, what a subquery mentions of its surroundings by columns of a domain.

        The largest outer expression is taken where a conjunct compares it with an inner one, or is one itself.
        `inner` are aliases that belong to the subquery beside those of its text.
        """
        declared = {each.alias_or_name for each in node.find_all(exp.Table, exp.Subquery, exp.Values)}
        declared |= {CLOCK, *inner}
        domain = Domain(self.alias("around"), supply)

        def outside(each: Expr) -> bool:
            tables = [c.table for c in each.find_all(exp.Column)]
            return bool(tables) and all(t and t not in declared for t in tables) and not each.find(exp.Query)

        if isinstance(node, exp.Select):
            for conjunct in top_conjuncts(node):
                if outside(conjunct):
                    conjunct.replace(exp.EQ(this=domain.variable(conjunct.copy()), expression=_TRUE.copy()))
                elif isinstance(conjunct, exp.EQ):
                    for side in (conjunct.this, conjunct.expression):
                        if outside(side):
                            side.replace(domain.variable(side.copy()))
                            break
        declared.add(domain.alias)
        for each in list(node.find_all(exp.Column)):
            if each.table and each.table not in declared:
                each.replace(domain.variable(each.copy()))
        return domain if domain.free else None

    def open_domain(self, body: Body, domain: Domain | None, node: Expr) -> None:
        """Let the correlated columns be sources; an outer join that mentions them needs them there at once."""
        if domain is None:
            return
        body.pending[domain.alias] = {f.name: column(domain.alias, f.name) for f in domain.free}
        outer = [j for j in node.args.get("joins") or () if is_outer(j)]
        nested = [source for source in node.find_all(exp.Subquery) if isinstance(source.parent, exp.From | exp.Join)]
        if outer and any(c.table == domain.alias for part in (*outer, *nested) for c in part.find_all(exp.Column)):
            self.use_domain(body, domain)

    def use_domain(self, body: Body, domain: Domain) -> None:
        domain.bound = False
        body.subgoals.insert(0, Subgoal(domain.supply([f.outer for f in domain.free]), domain.alias))
        body.sources[domain.alias] = body.pending.pop(domain.alias)

    def bind(self, body: Body, domain: Domain | None) -> None:
        """Let expressions of the subquery stand for the correlated columns they equal, or join the domain."""
        if domain is None or domain.alias not in body.pending:
            return
        found: dict[str, Expr] = {}
        rest: list[Expr] = []
        for condition in body.conditions:
            name, value = _binding(condition, domain.alias)
            if name is None or name in found:
                rest.append(condition)
            else:
                assert value is not None
                found[name] = value
        if len(found) < len(domain.free):
            self.use_domain(body, domain)
            return
        del body.pending[domain.alias]
        body.sources[domain.alias] = {f.name: found[f.name] for f in domain.free}
        body.conditions = [substitute(c, domain.alias, found) for c in rest]
        for value in found.values():
            present = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
            if not isinstance(value, exp.Boolean | exp.Literal) and present not in body.conditions:
                body.conditions.append(present)

    def domain(self, body: Body, exprs: Sequence[Expr]) -> str:
        """The set of values that some expressions take in a body."""
        names = [f"outer_{i + 1}" for i in range(len(exprs))]
        return self.define("domain", names, [body.rule(self.express(body, e) for e in exprs)], Set())

    def existing(self, body: Body, domain: Domain | None) -> Relation:
        """The set of correlated values for which a body has a row; without any, a set of one constant."""
        if domain is None:
            return Relation(self.define("exists", ["found"], [body.rule([_TRUE.copy()])], Set()), (), ())
        head = [self.express(body, column(domain.alias, f.name)) for f in domain.free]
        name = self.define("exists", [f.name for f in domain.free], [body.rule(head)], Set())
        return Relation(name, (), tuple(domain.free), domain.bound)

    def negated(self, body: Body, relation: Relation) -> Negation:
        arguments = tuple((f.name, self.express(body, f.outer)) for f in relation.free)
        return Negation(relation.name, arguments or (("found", _TRUE.copy()),))

    def exists(self, body: Body, query: Expr) -> Relation | bool:
        """The relation of `EXISTS (query)`, or the answer where the query does not matter."""
        query = query.copy()
        if isinstance(query, exp.Subquery) and not limits(query):
            query = query.this
        limit = self.whole_number(query.args.get("limit"))
        if limit == 0:
            return False
        if limit is not None and not query.args.get("offset"):
            query.set("limit", None)
        complex_parts = ("group", "having", "qualify")
        if not isinstance(query, exp.Select) or limits(query) or any(query.args.get(p) for p in complex_parts):
            source = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(self.alias("found"))))
            query = exp.Select(expressions=[], from_=exp.From(this=source))
        elif _has_one_row(query):
            return True  # an aggregate without GROUP BY has one row, whatever it reads
        domain = self.separate(query, lambda exprs: self.domain(body, exprs))
        return self.existing(self.from_and_where(query, domain), domain)

    def from_and_where(self, node: exp.Select, domain: Domain | None) -> Body:
        """The rows of a SELECT before anything is grouped; its correlated columns are bound on the way."""
        body = Body()
        self.open_domain(body, domain, node)
        self.from_clause(node, body, domain)
        where = node.args.get("where")
        for call in own(where, is_aggregate) if where is not None else ():
            self.fail(call, f"the aggregate {fragment(call)} stands in WHERE", "use HAVING")
        parts = conjuncts(where.this) if where is not None else []
        body.conditions += [self.express(body, c) for c in parts if not c.find(exp.Query)]
        self.bind(body, domain)
        for conjunct in parts:
            if conjunct.find(exp.Query):
                self.condition(body, conjunct)
        return body

    def condition(self, body: Body, conjunct: Expr) -> None:
        """Add a conjunct to a body: as a condition, a subgoal or a negation."""
        conjunct = conjunct.unnest()
        inner = conjunct.this.unnest() if isinstance(conjunct, exp.Not) else None
        match conjunct, inner:
            case exp.And(), _:
                for part in conjuncts(conjunct):
                    self.condition(body, part)
            case exp.Exists(), _:
                self.require(body, conjunct.this)
            case exp.Not(), exp.Exists():
                assert inner is not None
                self.forbid(body, inner.this)
            case exp.In(), _ if conjunct.args.get("query") and not _has_one_row(conjunct.args["query"].this):
                self.require(body, self.as_exists(conjunct))
            case exp.Not(), exp.In() if (
                inner is not None and inner.args.get("query") and not _has_one_row(inner.args["query"].this)
            ):
                self.not_in(body, inner)
            case exp.Not(), exp.Or():
                assert inner is not None
                for part in inner.flatten():
                    self.condition(body, exp.Not(this=exp.Paren(this=part.copy())))
            case _:
                rejecting = isinstance(conjunct, _NULL_REJECTING)
                attached = self.attach(body, conjunct, rejecting)  # may give the body another form
                body.conditions.append(self.express(body, attached))

    def require(self, body: Body, query: Expr) -> None:
        if (value := _having_as_value(query)) is not None:
            self.condition(body, value)
            return
        relation = self.exists(body, query)
        if isinstance(relation, bool):
            if not relation:
                body.conditions.append(exp.false())
            return
        found, alias = self.over(relation.name)
        body.subgoals += found.subgoals
        body.conditions += self.keys(body, relation, alias)

    def forbid(self, body: Body, query: Expr) -> None:
        if (value := _having_as_value(query)) is not None:
            self.condition(body, exp.Not(this=value))
            return
        relation = self.exists(body, query)
        if isinstance(relation, bool):
            if relation:
                body.conditions.append(exp.false())
            return
        body.negations.append(self.negated(body, relation))

    def as_exists(self, node: exp.In, compare: Callable[[Expr, Expr], Expr] | None = None) -> exp.Select:
        """`x IN (query)` as the query of an EXISTS: rows of it that compare with x."""
        query = node.args["query"].this.copy()
        alias = self.alias("listed_in")
        columns = query.named_selects
        given = node.this.unnest()
        left = list(given.expressions) if isinstance(given, exp.Tuple) else [given]
        if len(left) != len(columns):
            self.fail(node, f"{len(left)} values are looked up among {len(columns)} columns", "compare as many")
        source = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        pairs = [(value.copy(), column(alias, c)) for value, c in zip(left, columns, strict=True)]
        where: Expr = exp.and_(*(equal(value, found) for value, found in pairs), copy=False)
        if compare is not None:
            where = compare(where, pairs[0][1])
        return exp.Select(expressions=[number(1)], from_=exp.From(this=source), where=exp.Where(this=where))

    def not_in(self, body: Body, node: exp.In) -> None:
        """`x NOT IN (query)` is true when no row of the query is equal to x, nor makes the comparison unknown.

        For one column that is: no row equals x, none is NULL, and x is not NULL unless there are no rows.
        """
        given = node.this.unnest()
        if isinstance(given, exp.Tuple):
            unknown = self.as_exists(
                node, lambda equal, _: exp.Coalesce(this=exp.Paren(this=equal), expressions=[_TRUE.copy()])
            )
            self.forbid(body, unknown)
            return
        is_null = exp.Is(this=given.copy(), expression=exp.null())
        self.forbid(body, self.as_exists(node))
        self.forbid(body, self.as_exists(node, lambda _, found: exp.Is(this=found, expression=exp.null())))
        self.forbid(body, self.as_exists(node, lambda _, __: is_null))

    def attach(self, body: Body, node: Expr, null_rejecting: bool = False) -> Expr:
        """The node with each subquery in it replaced by a column that the body now has."""
        node = exp.Paren(this=_not_pushed_down(node.copy()) if node.find(exp.In) else node.copy())
        while True:
            inner = next((each for each in own_queries(node)), None)
            if inner is None:
                attached: Expr = node.this
                return attached
            around = inner.parent
            if isinstance(around, exp.Exists):
                around.replace(self.mark(body, inner))
            elif isinstance(around, exp.In) and around.args.get("query") is inner:
                around.replace(self.membership(body, around))
            elif isinstance(around, exp.Any | exp.All):
                self.fail(node.this, f"{fragment(node.this)} is not understood", "write it with EXISTS, MIN or MAX")
            else:
                only = null_rejecting and _directly_below(inner, node.this)
                inner.replace(self.scalar(body, inner, only))

    def mark(self, body: Body, query: Expr) -> Expr:
        """Whether the query has a row, as a column."""
        if (value := _having_as_value(query)) is not None:
            return self.attach(body, value)
        relation = self.exists(body, query)
        if isinstance(relation, bool):
            return exp.true() if relation else exp.false()
        if not relation.free:  # the same for every row: one row says whether there is any
            counted, _ = self.over(relation.name)
            rows = (("rows", exp.Count(this=exp.Star(), big_int=True)),)
            any_row = self.define("any_row", ("found",), [counted.rule([_TRUE.copy()])], Aggregate((), rows))
            found, alias = self.over(any_row)
            body.subgoals += found.subgoals
            body.sources |= found.sources
            return exp.Paren(this=exp.GT(this=column(alias, "rows"), expression=number(0)))
        return self.padded(body, relation, [("found", _TRUE.copy(), exp.false())])

    def membership(self, body: Body, node: exp.In) -> Expr:
        """`x IN (query)` as a value, which Spark takes for false where it is unknown, and so `x NOT IN (query)`."""
        if _has_one_row(node.args["query"].this):
            query = node.args["query"].copy()
            if query.this.args.get("having"):
                self.fail(
                    node, "IN with an aggregate and HAVING but no GROUP BY is not understood", "write it with EXISTS"
                )
            return equal(node.this.copy(), self.scalar(body, query, False))
        around = node.parent
        while isinstance(around, exp.Paren):
            around = around.parent
        listed = self.mark(body, self.as_exists(node))
        if not isinstance(around, exp.Not):
            return listed
        if isinstance(node.this.unnest(), exp.Tuple):
            unknown = self.as_exists(node, lambda same, _: exp.Is(this=exp.Paren(this=same), expression=exp.null()))
            return exp.Paren(this=exp.Or(this=listed, expression=self.mark(body, unknown)))
        is_null = exp.Is(this=operand(node.this.copy()), expression=exp.null())
        nulls = self.mark(body, self.as_exists(node, lambda _, found: exp.Is(this=found, expression=exp.null())))
        rows = self.mark(body, self.as_exists(node, lambda _, __: exp.true()))
        return exp.Paren(this=exp.or_(listed, nulls, exp.and_(is_null, rows)))

    def scalar(self, body: Body, query: Expr, only_matches: bool) -> Expr:
        """The value of a scalar subquery: NULL, or its aggregates of nothing, where it has no row.

        `only_matches` says that a row for which it is NULL is not needed.
        """
        node = query.this if isinstance(query, exp.Subquery) and not limits(query) else query
        assert isinstance(node, exp.Query)
        single = _has_one_row(node)
        if single and node.args.get("having"):
            node = _with_having_inside(node)
        if len(node.selects) != 1:
            self.fail(query, f"a subquery as a value has {len(node.selects)} columns", "select one")
        nothing = _of_nothing(node.selects[0].unalias()) if single else exp.null()
        relation = self.query(node.copy(), lambda exprs: self.domain(body, exprs))
        value = relation.columns[0]
        if not single:
            relation, value = self.one_row(relation)
        if not relation.free:
            found, alias = self.over(relation.name)
            body.subgoals += found.subgoals
            body.sources |= found.sources
            return column(alias, value)
        if only_matches and isinstance(nothing, exp.Null):
            alias = self.alias(relation.name)
            self.add_relation(relation, alias, body)
            return column(alias, value)
        return self.padded(body, relation, [(value, None, nothing)])

    def one_row(self, relation: Relation) -> tuple[Relation, str]:
        """At most one row per correlated value, as Spark demands of a scalar subquery; two are an error there too."""
        free = tuple(f.name for f in relation.free)
        body, alias = self.over(relation.name)
        head = [column(alias, c) for c in (*free, relation.columns[0])]
        calls = (("value", exp.Max(this=body_column("value"))), ("rows", exp.Count(this=exp.Star(), big_int=True)))
        rows = self.define("rows", (*free, "value"), [body.rule(head)], Aggregate(free, calls))
        body, alias = self.over(rows)
        too_many = exp.Anonymous(
            this="raise_error",
            expressions=[exp.Literal.string(f"{self.view}: a scalar subquery has more than one row")],
        )
        checked = exp.Case(
            ifs=[exp.If(this=exp.LTE(this=column(alias, "rows"), expression=number(1)), true=column(alias, "value"))],
            default=too_many,
        )
        name = self.define("value", (*free, "value"), [body.rule([*(column(alias, c) for c in free), checked])], Bag())
        return Relation(name, ("value",), relation.free, relation.bound), "value"

    def padded(self, body: Body, relation: Relation, values: Sequence[tuple[str, Expr | None, Expr]]) -> Expr:
        """Join a body with a relation that has at most one row for each of its rows, padded where it has none.

        A value is a column of the relation, or a constant for a match, and what it is without; returns the first.
        """
        left = body if body.plain else self.folded(body)
        found, alias = self.over(relation.name)
        matched = Body(left.subgoals + found.subgoals, sources=dict(left.sources))
        matched.conditions = self.keys(matched, relation, alias)
        if not relation.free:
            matched.conditions = []
        names = Naming(left)
        extra = self.alias("value")
        for name, _, _ in values:
            names.add(extra, name)
        on = {name: constant if constant is not None else column(alias, name) for name, constant, _ in values}
        off = {name: self.express(left, nothing) for name, _, nothing in values}
        keys = relation
        if self.columns(relation.name) != tuple(f.name for f in relation.free) and relation.free:
            inner, second = self.over(relation.name)
            free = [f.name for f in relation.free]
            keys = Relation(
                self.define("exists", free, [inner.rule(column(second, c) for c in free)], Set()), (), relation.free
            )
        without = Body(list(left.subgoals), [self.negated(left, keys)])
        rules = [
            matched.rule(names.head({**left.sources, extra: on})),
            without.rule(names.head({**left.sources, extra: off})),
        ]
        self.become(body, self.define("joined", names.columns, rules, Bag()), names)
        return column(extra, values[0][0])

    def add_relation(self, relation: Relation, alias: str, body: Body) -> None:
        """A translated query as one more source; its correlated columns equal those of the body."""
        found, _ = self.over(relation.name, alias)
        body.subgoals += found.subgoals
        body.sources |= found.sources
        body.conditions += self.keys(body, relation, alias)

    def keys(self, body: Body, relation: Relation, alias: str) -> list[Expr]:
        """The conditions that join a correlated relation with the body it stands in."""
        join = equal if relation.bound else same
        return [join(column(alias, f.name), self.express(body, f.outer)) for f in relation.free]


def _binding(condition: Expr, alias: str) -> tuple[str | None, Expr | None]:
    """The domain column that a condition equates with an expression free of the domain."""
    if isinstance(condition, exp.EQ):
        for mine, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
            free = not any(c.table == alias for c in other.find_all(exp.Column))
            if isinstance(mine, exp.Column) and mine.table == alias and free:
                return mine.name, other
    return None, None


def _not_pushed_down(node: Expr) -> Expr:
    """The same condition with NOT below AND and OR, as Spark has it when it turns IN into a value."""
    inner = node.this.unnest() if isinstance(node, exp.Not) else None
    if isinstance(inner, exp.And | exp.Or):
        parts = [_not_pushed_down(exp.Not(this=exp.Paren(this=part.copy()))) for part in inner.flatten()]
        return exp.Paren(this=exp.or_(*parts) if isinstance(inner, exp.And) else exp.and_(*parts))
    if isinstance(inner, exp.Not):
        return _not_pushed_down(inner.this.unnest())
    if isinstance(node, exp.And | exp.Or | exp.Paren):
        for child in list(node.iter_expressions()):
            child.replace(_not_pushed_down(child.copy()))
    return node


def _has_one_row(query: Expr) -> bool:
    """Whether it aggregates without GROUP BY: one row whatever it reads, or none if HAVING says so."""
    return (
        isinstance(query, exp.Select)
        and not query.args.get("group")
        and not limits(query)
        and any(True for _ in aggregate_calls(query))
    )


def _having_as_value(query: Expr) -> Expr | None:
    """`EXISTS (SELECT aggregate … HAVING h)` as a condition on the value of h, which an empty group has too."""
    if not _has_one_row(query) or not query.args.get("having"):
        return None
    select = query.copy()
    select.set("expressions", [exp.alias_(select.args["having"].this, "holds", quoted=True)])
    select.set("having", None)
    return exp.Coalesce(this=exp.Subquery(this=select), expressions=[exp.false()])


def _with_having_inside(query: exp.Query) -> exp.Query:
    """`(SELECT aggregate … HAVING h)` as `(SELECT CASE WHEN h THEN aggregate END …)`."""
    select = query.copy()
    projection = select.selects[0]
    case = exp.Case(ifs=[exp.If(this=select.args["having"].this, true=projection.unalias().copy())])
    select.set("expressions", [exp.alias_(case, projection.alias, quoted=True)])
    select.set("having", None)
    return select


def _of_nothing(projection: Expr) -> Expr:
    """What an aggregated output column is when no row is aggregated: counts are 0, lists empty, the rest NULL."""
    node = exp.Paren(this=projection.copy())

    def is_call(each: Expr) -> bool:
        return (is_aggregate(each) or isinstance(each, exp.Filter | exp.WithinGroup)) and not is_window_function(each)

    for call in list(own(node, is_call, lambda _: False)):
        inner = call.this if isinstance(call, exp.Filter | exp.WithinGroup) else call
        match inner:
            case exp.Count() | exp.CountIf() | exp.ApproxDistinct() | exp.RegrCount():
                call.replace(number(0))
            case exp.ArrayAgg() | exp.ArrayUniqueAgg():
                call.replace(exp.Array(expressions=[]))
            case _:
                call.replace(exp.null())
    result: Expr = node.this
    return result


def _directly_below(query: Expr, comparison: Expr) -> bool:
    """Whether NULL for the query makes the whole comparison NULL: only arithmetic lies between."""
    node = query.parent
    while node is not None and node is not comparison:
        if not isinstance(node, exp.Paren | exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Neg):
            return False
        node = node.parent
    return node is comparison
