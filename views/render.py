"""A program as SQL: one common table expression per predicate, built from syntax trees.

`select_of` is a predicate over relations that are read by name, `query_of` the whole program. Evaluated from
scratch, the query gives exactly the view's bag of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from views.rules import Aggregate, Bag, Expr, Negation, Partitioned, Predicate, Program, Rule, Set, body_column, column
from views.trees import operand


def query_of(program: Program) -> exp.Select:
    """The program as one query, its columns in the view's order."""
    selects = [(predicate.name, select_of(predicate)) for predicate in program.predicates]
    top = selects[-1][1]
    if isinstance(top, exp.Select) and top.named_selects == list(program.columns):
        selects.pop()
    else:
        top = exp.Select(expressions=[column(program.view, c) for c in program.columns])
        top.set("from_", exp.From(this=_table(program.view, program.view)))
    if selects:
        ctes = [exp.CTE(this=select, alias=exp.TableAlias(this=_name(name))) for name, select in selects]
        top.set("with_", exp.With(expressions=ctes))
    return top


def select_of(predicate: Predicate) -> exp.Query:
    """A predicate as a query over the relations its rules name."""
    body = _union([rule_select(rule, predicate.body) for rule in predicate.rules])
    match predicate.form:
        case Bag():
            return body
        case Set() if isinstance(body, exp.Select):
            body.set("distinct", exp.Distinct())
            return body
        case Set():
            return _over(body, [_plain(c) for c in predicate.body], distinct=True)
        case Aggregate(groups, calls):
            outputs = [*(_plain(g) for g in groups), *(_alias(call.copy(), name) for name, call in calls)]
            select = _over(body, outputs)
            if groups:
                select.set("group", exp.Group(expressions=[body_column(g) for g in groups]))
            return select
        case Partitioned():
            return _partitioned(body, predicate.body, predicate.form)


def unions_in_one_piece(query: exp.Query) -> exp.Query:
    """The query, in place, for relations that are in one piece each: Spark puts the parts of a union beside each
    other, and would exchange their rows to aggregate them."""
    for union in list(query.find_all(exp.Union)):
        if not isinstance(union.parent, exp.Union):
            united = exp.Subquery(alias=exp.TableAlias(this=_name("united")))
            select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=united))
            coalesce = exp.Anonymous(this="COALESCE", expressions=[exp.Literal.number(1)])
            select.set("hint", exp.Hint(expressions=[coalesce]))
            union.replace(select)
            united.set("this", union)
    return query


def rule_select(rule: Rule, names: Sequence[str], source: Callable[[str, str], Expr] | None = None) -> exp.Select:
    """A rule as a SELECT: subgoals joined in their order, each condition at the first join that can test it.

    `source` says what stands for a relation in FROM, by default its name.
    """
    source = source or _table
    head = [_alias(value.copy(), name) for value, name in zip(rule.head, names, strict=True)]
    if rule.times is not None:
        head.append(_alias(exp.Explode(this=_sequence(rule.times.copy())), "__time"))
    select = exp.Select(expressions=head or [_alias(exp.Literal.number(1), "one")])
    waiting = [condition.copy() for condition in rule.conditions]
    seen: set[str] = set()
    joins = []
    for i, subgoal in enumerate(rule.subgoals):
        seen.add(subgoal.alias)
        table = source(subgoal.relation, subgoal.alias)
        if i == 0:
            select.set("from_", exp.From(this=table))
            continue
        ready = [c for c in waiting if subgoal.alias in _aliases(c) and _aliases(c) <= seen and len(_aliases(c)) > 1]
        waiting = [c for c in waiting if not any(c is each for each in ready)]
        join = exp.Join(this=table) if ready else exp.Join(this=table, kind="CROSS")
        if ready:
            join.set("on", _all(ready))
        joins.append(join)
    joins += [_anti_join(negation, f"no_{i + 1}", source) for i, negation in enumerate(rule.negations)]
    if joins and not rule.subgoals:
        one = exp.select(exp.alias_(exp.Literal.number(1), "one"))
        select.set("from_", exp.From(this=exp.Subquery(this=one, alias=exp.TableAlias(this=_name("one")))))
    if joins:
        select.set("joins", joins)
    if waiting:
        select.set("where", exp.Where(this=_all(waiting)))
    return _over(select, [_plain(c) for c in names]) if rule.times is not None else select


def _anti_join(negation: Negation, alias: str, source: Callable[[str, str], Expr]) -> exp.Join:
    """LEFT ANTI JOIN: no row of the relation is the same as the arguments.

    Not as NOT EXISTS: there a column of the relation could hide an alias of the rule.
    """
    same = [
        exp.NullSafeEQ(this=column(alias, name), expression=operand(value.copy())) for name, value in negation.arguments
    ]
    return exp.Join(this=source(negation.relation, alias), side="LEFT", kind="ANTI", on=_all(same))


def _sequence(times: Expr) -> Expr:
    return exp.GenerateSeries(start=exp.Literal.number(1), end=times)


def _union(selects: Sequence[exp.Select]) -> exp.Query:
    """All rows of some queries; one whose columns have types comes first, because some engines take its types."""
    typed = sorted(selects, key=lambda select: sum(isinstance(e.unalias(), exp.Null) for e in select.expressions))
    whole: exp.Query = typed[0]
    for select in typed[1:]:
        whole = exp.Union(this=whole, expression=select, distinct=False)
    return whole


def _over(body: exp.Query, outputs: list[Expr], distinct: bool = False) -> exp.Select:
    """A SELECT from a query in FROM."""
    source = exp.Subquery(this=body, alias=exp.TableAlias(this=_name("body")))
    select = exp.Select(expressions=outputs, from_=exp.From(this=source))
    if distinct:
        select.set("distinct", exp.Distinct())
    return select


def _partitioned(body: exp.Query, names: Sequence[str], form: Partitioned) -> exp.Select:
    outputs = [*(_plain(c) for c in names), *(_alias(window.copy(), name) for name, window in form.windows)]
    if form.limit is None and not form.offset:
        return _over(body, outputs)
    order = exp.Order(expressions=[each.copy() for each in form.order])
    if not form.keys:
        select = _over(body, outputs)
        select.set("order", order)
        if form.limit is not None:
            select.set("limit", exp.Limit(expression=exp.Literal.number(form.limit)))
        if form.offset:
            select.set("offset", exp.Offset(expression=exp.Literal.number(form.offset)))
        return select
    number = exp.Window(
        this=exp.RowNumber(), partition_by=[body_column(k) for k in form.keys], order=order, over="OVER"
    )
    numbered = _over(body, [*outputs, _alias(number, "__position")])
    select = _over(numbered, [_plain(c) for c in (*names, *(name for name, _ in form.windows))])
    position = body_column("__position")
    bounds: list[Expr] = []
    if form.offset:
        bounds.append(exp.GT(this=position, expression=exp.Literal.number(form.offset)))
    if form.limit is not None:
        bounds.append(exp.LTE(this=position.copy(), expression=exp.Literal.number(form.offset + form.limit)))
    select.set("where", exp.Where(this=_all(bounds)))
    return select


def _table(relation: str, alias: str) -> exp.Table:
    return exp.Table(this=_name(relation), alias=exp.TableAlias(this=_name(alias)))


def _aliases(condition: Expr) -> set[str]:
    return {each.table for each in condition.find_all(exp.Column)}


def _all(conditions: Sequence[Expr]) -> Expr:
    wrapped = [exp.Paren(this=c) if isinstance(c, exp.Or) else c for c in conditions]
    return wrapped[0] if len(wrapped) == 1 else exp.and_(*wrapped, copy=False)


def _plain(name: str) -> Expr:
    return body_column(name)


def _alias(value: Expr, name: str) -> Expr:
    if isinstance(value, exp.Column) and value.name == name:
        return value
    return exp.Alias(this=value, alias=_name(name))


def _name(text: str) -> exp.Identifier:
    return exp.to_identifier(text, quoted=True)
