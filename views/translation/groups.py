"""GROUP BY: one aggregated predicate, with a rule per grouping set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from views.functions import is_aggregate
from views.places import fragment
from views.rules import (
    Aggregate,
    Expr,
    body_column,
    column,
)
from views.translation.body import Body, Domain, Naming
from views.translation.subqueries import Subqueries
from views.translation.syntax import (
    aggregate_calls,
    is_window_function,
    number,
    own,
)


class Groups(Subqueries):
    """Aggregation of a body."""

    def aggregate(self, node: exp.Select, body: Body, domain: Domain | None) -> Body:
        """Aggregate the body; in the SELECT, group expressions and calls become columns of the result, in place."""
        sets = _grouping_sets(node.args.get("group"))
        groups = list(dict.fromkeys(each for one in sets for each in one))
        groups = [self.attach(body, each) for each in groups]
        calls = list(dict.fromkeys(aggregate_calls(node)))
        alias = self.alias("groups")
        names = Naming(None)
        free = [f.name for f in domain.free] if domain is not None else []
        for name in free:
            names.add(domain.alias if domain is not None else "", name)
        keys = [
            names.add(alias, each.name if isinstance(each, exp.Column) else f"group_{i + 1}")
            for i, each in enumerate(groups)
        ]
        several = len(sets) > 1
        which = [names.add(alias, "grouping_set")] if several else []
        inputs: dict[Expr, str] = {}
        made: list[tuple[str, Expr]] = []
        for i, call in enumerate(calls):
            made.append((names.add(alias, f"{_short(call)}_{i + 1}"), self.over_inputs(body, call, inputs, names)))
        fixed = [self.express(body, column(domain.alias, f)) for f in free] if domain is not None else []
        taken = [self.express(body, each) for each in inputs]
        rules = []
        for i, chosen in enumerate(sets):
            present = [self.express(body, each) for each in groups]
            if several:
                present = [v if g in chosen else self.null_like(body, v) for g, v in zip(groups, present, strict=True)]
            # Expressing may add the clock to the body, so the rule is made last.
            rules.append([*fixed, *present, *([number(i)] if several else []), *taken])
        form = Aggregate((*free, *keys, *which), tuple(made))
        relation = self.define(
            "groups", (*free, *keys, *which, *inputs.values()), [body.rule(head) for head in rules], form
        )
        self.check_grouped(node, groups, calls)
        chosen_set = column(alias, which[0]) if which else None
        _replace_grouped(node, groups, keys, calls, [name for name, _ in made], alias, sets, chosen_set)
        result, _ = self.over(relation, alias)
        if domain is not None:
            result.sources[domain.alias] = {name: column(alias, name) for name in free}
        return result

    def over_inputs(self, body: Body, call: Expr, inputs: dict[Expr, str], names: Naming) -> Expr:
        """An aggregate call over columns of the predicate's body; each argument becomes one, shared by equals."""
        call = call.copy()

        def visit(each: Expr) -> None:
            for child in list(each.iter_expressions()):
                structural = (
                    isinstance(
                        child, exp.Distinct | exp.Ordered | exp.Order | exp.Where | exp.IgnoreNulls | exp.RespectNulls
                    )
                    or is_aggregate(child)
                    or isinstance(child, exp.WithinGroup | exp.Filter)
                )
                if structural:
                    visit(child)
                elif child.find(exp.Column, exp.Query, exp.CurrentDate, exp.CurrentTimestamp):
                    value = self.attach(body, child)
                    if value not in inputs:
                        plain = isinstance(value, exp.Column)
                        inputs[value] = names.add("", value.name if plain else f"input_{len(inputs) + 1}")
                    child.replace(body_column(inputs[value]))

        visit(call)
        return call

    def check_grouped(self, node: exp.Select, groups: Sequence[Expr], calls: Sequence[Expr]) -> None:
        for call in calls:
            inside = call.this if isinstance(call, exp.Filter | exp.WithinGroup) else call
            for inner in own(inside, is_aggregate):
                if inner is not inside:
                    self.fail(call, f"{fragment(call)} aggregates an aggregate", "use a subquery for the inner one")


def _short(call: Expr) -> str:
    """A word for an aggregate call: sum, count, max."""
    inner = call.this if isinstance(call, exp.Filter | exp.WithinGroup) else call
    return str(inner.this if isinstance(inner, exp.Anonymous) else inner.key).casefold()


def _grouping_sets(group: Expr | None) -> list[list[Expr]]:
    """The sets of expressions that are grouped by: one, or the product of ROLLUP, CUBE and GROUPING SETS."""
    sets: list[list[Expr]] = [[]]
    clauses = [] if group is None else [*group.expressions]
    for kind in ("rollup", "cube", "grouping_sets"):
        clauses += group.args.get(kind) or [] if group is not None else []
    for clause in clauses:
        sets = [before + more for before in sets for more in _sets_of(clause)]
    return [list(dict.fromkeys(each)) for each in sets]


def _sets_of(clause: Expr) -> list[list[Expr]]:
    members = [_members(each) for each in clause.expressions]
    match clause:
        case exp.Rollup():
            return [[e for m in members[:n] for e in m] for n in range(len(members), -1, -1)]
        case exp.Cube():
            count = len(members)
            chosen = (
                [m for i, m in enumerate(members) if bits >> (count - 1 - i) & 1]
                for bits in range(2**count - 1, -1, -1)
            )
            return [[e for m in some for e in m] for some in chosen]
        case exp.GroupingSets():
            return [found for each in clause.expressions for found in _one_set(each)]
        case _:
            return [_members(clause)]


def _one_set(each: Expr) -> list[list[Expr]]:
    return _sets_of(each) if isinstance(each, exp.Rollup | exp.Cube | exp.GroupingSets) else [_members(each)]


def _members(each: Expr) -> list[Expr]:
    if isinstance(each, exp.Tuple):
        return [inner.unnest() for inner in each.expressions]
    return [each.unnest()]


def _replace_grouped(
    node: exp.Select,
    groups: Sequence[Expr],
    keys: Sequence[str],
    calls: Sequence[Expr],
    made: Sequence[str],
    alias: str,
    sets: Sequence[Sequence[Expr]],
    which: Expr | None,
) -> None:
    """In what is evaluated after grouping, let columns of the aggregated predicate stand for what was grouped."""
    grouped: dict[Expr, str] = dict(zip(groups, keys, strict=True))
    every = {**grouped, **dict(zip(calls, made, strict=True))}

    def visit(each: Expr, columns: Mapping[Expr, str]) -> None:
        bare = each.unnest() if isinstance(each, exp.Paren) else each
        if isinstance(each, exp.Grouping | exp.GroupingId):
            each.replace(_grouping(each, groups, sets, which))
        elif bare in columns and not (is_aggregate(each) and is_window_function(each)):
            each.replace(column(alias, columns[bare]))
        else:
            for child in list(each.iter_expressions()):
                # An aggregate inside a subquery is the subquery's own.
                visit(child, grouped if isinstance(child, exp.Query) else columns)

    for part in (*node.expressions, node.args.get("having"), node.args.get("qualify"), node.args.get("order")):
        if part is not None:
            for child in list(part.iter_expressions()):
                visit(child, grouped if isinstance(child, exp.Query) else every)


def _grouping(call: Expr, groups: Sequence[Expr], sets: Sequence[Sequence[Expr]], which: Expr | None) -> Expr:
    """GROUPING(x): 1 in the grouping sets without x; GROUPING_ID: those bits of all as one number."""
    over = list(call.expressions) or list(groups)
    values = []
    for one in sets:
        bits = [0 if each.unnest() in one else 1 for each in over]
        values.append(sum(bit << (len(bits) - 1 - i) for i, bit in enumerate(bits)))
    kind = "bigint" if isinstance(call, exp.GroupingId) else "tinyint"  # the types that Spark gives them
    if which is None or len(set(values)) == 1:
        return exp.cast(number(values[0]), kind, dialect="spark")
    cases = [exp.If(this=exp.EQ(this=which.copy(), expression=number(i)), true=number(v)) for i, v in enumerate(values)]
    return exp.cast(exp.Case(ifs=cases), kind, dialect="spark")
