"""What is kept of a derived predicate so that its change follows from the change of its body (GMS93 §5.1, Alg. 6.1).

A set keeps how often each row is derived, a group its number of rows and, per aggregate, the parts that it can be
computed from: COUNT and SUM with the number of inputs that are not NULL, so that a sum of nothing is NULL and not 0;
AVG from both; VAR and STDDEV from mean and squared deviations (Chan, Golub and LeVeque's pairwise merge). A group is
evaluated again from its rows when the parts alone cannot tell: when the extreme of MIN or MAX was deleted, or when
something was taken out of a floating-point sum, which would leave rounding behind that grows with every refresh.

Which types the parts have is known only when the table of the state exists, so expressions name it by two marks that
`views.typed` resolves: `as_stored(value, table, column)` and `is_inexact(table, column)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from views.rules import Aggregate, Expr, Predicate, Program, Set, body_column, column, reachable
from views.trees import operand, rewritten

ROWS = "__rows"
"""How many rows a group has, or how often a row of a set is derived."""
SIDE, SIGN = "@side", "@sign"
STALE = "@stale"
BEFORE = "@before"

Kind = Literal["count", "sum", "average", "min", "max", "mean", "deviation"]


@dataclass(frozen=True)
class Part:
    """One column of a state: what an aggregate is computed from."""

    name: str
    kind: Kind
    value: Expr
    """The aggregated expression, over the columns of the predicate's body."""

    @property
    def from_scratch(self) -> Expr:
        """The aggregate that fills the part from all rows of a group."""
        match self.kind:
            case "count":
                return exp.Count(this=self.value.copy())
            case "sum":
                return exp.Sum(this=self.value.copy())
            case "average" | "mean":
                return exp.Avg(this=self.value.copy())
            case "min":
                return exp.Min(this=self.value.copy())
            case "max":
                return exp.Max(this=self.value.copy())
            case "deviation":
                spread = exp.VariancePop(this=self.value.copy())
                return exp.Mul(this=spread, expression=exp.Count(this=self.value.copy()))


@dataclass(frozen=True)
class State:
    """The table beside a view that keeps one predicate of it: keys, `__rows` and the parts of its aggregates."""

    table: str
    predicate: Predicate
    parts: tuple[Part, ...]
    values: tuple[tuple[str, Expr], ...]
    """Output column of each aggregate, and its value over `__rows` and the parts."""

    @property
    def keys(self) -> tuple[str, ...]:
        return self.predicate.form.groups if isinstance(self.predicate.form, Aggregate) else self.predicate.body

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.keys, ROWS, *(part.name for part in self.parts))

    @property
    def may_be_stale(self) -> bool:
        return any(part.kind != "count" for part in self.parts)

    @property
    def filled(self) -> Predicate:
        """The predicate that gives the state from scratch."""
        count: tuple[str, Expr] = (ROWS, exp.Count(this=exp.Star()))
        calls = (count, *((part.name, part.from_scratch) for part in self.parts))
        return replace(self.predicate, form=Aggregate(self.keys, calls))

    def row(self, alias: str, suffix: str = "") -> tuple[Expr, ...]:
        """The predicate's row, from the columns of a state under an alias."""

        own = self.keys

        def named(c: exp.Column) -> Expr:
            return column(alias, c.name + (suffix if c.name not in own else ""))

        keys: list[Expr] = [column(alias, key) for key in own]
        return (*keys, *(rewritten(value, named) for _, value in self.values))


def state_of(predicate: Predicate, table: str) -> State | None:
    """What to keep of a set or of groups; None where an aggregate does not follow from its change."""
    match predicate.form:
        case Set():
            return State(table, predicate, (), ())
        case Aggregate(groups=groups, calls=calls):
            taken = {*groups, ROWS, *(name for name, _ in calls)}
            parts: dict[tuple[Kind, Expr], Part] = {}

            def part(kind: Kind, value: Expr) -> Expr:
                if (kind, value) not in parts:
                    name = f"__{kind}_{len(parts) + 1}"
                    while name in taken:
                        name += "_"
                    parts[kind, value] = Part(name, kind, value)
                return body_column(parts[kind, value].name)

            values = [(name, _value(call, part)) for name, call in calls]
            found = tuple((name, value) for name, value in values if value is not None)
            return State(table, predicate, tuple(parts.values()), found) if len(found) == len(calls) else None
        case _:
            return None


def filling(state: State, program: Program) -> Program:
    """What fills a state from scratch: the program up to its predicate."""
    filled = state.filled
    below = tuple(p for p in program.predicates if p.name != filled.name)
    whole = replace(program, view=filled.name, columns=filled.columns, predicates=(*below, filled))
    return reachable(whole, [filled.name])


def _value(call: Expr, part: Callable[[Kind, Expr], Expr]) -> Expr | None:
    """An aggregate over the parts of its state; None if it has none."""
    only: Expr | None = None
    if isinstance(call, exp.Filter):
        call, only = call.this, call.expression.this
    if isinstance(call, exp.Count) and not call.expressions and isinstance(call.this, exp.Star | exp.Literal):
        return part("count", _where(exp.Literal.number(1), only)) if only is not None else body_column(ROWS)
    if isinstance(call, exp.CountIf) and not isinstance(call.this, exp.Distinct):
        return part("count", _where(exp.Literal.number(1), _both(call.this, only)))
    if call.expressions or call.this is None or isinstance(call.this, exp.Distinct | exp.Order):
        distinct = isinstance(call.this, exp.Distinct) and len(call.this.expressions) == 1
        if not (distinct and isinstance(call, exp.Min | exp.Max)):
            return None
    value = call.this.expressions[0] if isinstance(call.this, exp.Distinct) else call.this
    value = _where(value, only)
    match call:
        case exp.Count():
            return part("count", value)
        case exp.Sum():
            part("count", value)
            return part("sum", value)
        case exp.Avg():
            part("count", value)
            part("sum", value)
            return part("average", value)
        case exp.Min():
            return part("min", value)
        case exp.Max():
            return part("max", value)
        case exp.VariancePop() | exp.Variance() | exp.Stddev() | exp.StddevSamp() | exp.StddevPop():
            count, spread = part("count", value), part("deviation", value)
            part("mean", value)
            whole = isinstance(call, exp.VariancePop | exp.StddevPop)
            among = count if whole else exp.Paren(this=exp.Sub(this=count, expression=exp.Literal.number(1)))
            variance: Expr = exp.Div(this=spread, expression=among)
            if not isinstance(call, exp.VariancePop | exp.Variance):
                variance = exp.Sqrt(this=variance)
            return _if_any(count, variance, 0 if whole else 1)
        case _:
            return None


def merging(state: State) -> tuple[tuple[str, Expr], ...]:
    """The aggregates that put a stored state and the change of its rows together, per key: before and after.

    They run over rows of both: `@side` 0 is a stored state, which has `@sign` 1; `@side` 1 is a changed row.
    """
    stored, changed = (exp.EQ(this=body_column(SIDE), expression=exp.Literal.number(n)) for n in (0, 1))
    comes, goes = (kind(this=body_column(SIGN), expression=exp.Literal.number(0)) for kind in (exp.GT, exp.LT))
    found: list[tuple[str, Expr]] = [
        (SIDE, exp.Max(this=body_column(SIDE))),
        (ROWS + BEFORE, exp.Sum(this=_choose(stored, body_column(ROWS), exp.Literal.number(0)))),
        (ROWS, exp.Sum(this=body_column(ROWS))),
    ]
    new: dict[tuple[Kind, Expr], Expr] = {}
    stale: list[Expr] = []
    taken_out = exp.GT(
        this=exp.Sum(this=_choose(goes, exp.Literal.number(1), exp.Literal.number(0))),
        expression=exp.Literal.number(0),
    )
    for part in state.parts:
        own = body_column(part.name)
        before = exp.Max(this=_where(own, stored))
        match part.kind:
            case "count":
                after: Expr = exp.Sum(this=own)
            case "sum":
                total = exp.Sum(this=_choose(comes, own, exp.Neg(this=own.copy())))
                after = _if_any(new["count", part.value], _as_stored(total, state, part))
                stale.append(exp.And(this=taken_out.copy(), expression=_is_inexact(state, part)))
            case "min" | "max":
                extreme = exp.Min if part.kind == "min" else exp.Max
                after = extreme(this=_where(own, comes))
                beyond = exp.LTE if part.kind == "min" else exp.GTE
                stale.append(beyond(this=extreme(this=_where(own, goes)), expression=after.copy()))
            case "average":
                quotient = exp.Div(this=new["sum", part.value].copy(), expression=new["count", part.value].copy())
                after = _as_stored(_if_any(new["count", part.value], quotient), state, part)
            case "mean" | "deviation":
                after = _merged_moments(state, part, exp.And(this=changed.copy(), expression=comes.copy()))
                stale.append(exp.And(this=taken_out.copy(), expression=_is_inexact(state, part)))
        new[part.kind, part.value] = after
        found += [(part.name + BEFORE, before), (part.name, after)]
    whole = exp.or_(*(exp.Coalesce(this=each, expressions=[exp.false()]) for each in stale)) if stale else exp.false()
    if state.keys:
        alive = exp.GT(this=exp.Sum(this=body_column(ROWS)), expression=exp.Literal.number(0))
        whole = exp.And(this=alive, expression=operand(whole)) if stale else whole
    return (*found, (STALE, whole))


def _merged_moments(state: State, part: Part, new: Expr) -> Expr:
    """Mean or squared deviations of two sets of values put together, each known by its count, mean and deviation."""
    names = {p.kind: p.name for p in state.parts if p.value == part.value}
    stored = exp.EQ(this=body_column(SIDE), expression=exp.Literal.number(0))

    def before(kind: Kind) -> Expr:
        return exp.Coalesce(
            this=exp.Max(this=_where(body_column(names[kind]), stored)), expressions=[exp.Literal.number(0)]
        )

    def times(*factors: Expr) -> Expr:
        whole = factors[0]
        for factor in factors[1:]:
            whole = exp.Mul(this=whole, expression=factor)
        return whole

    def text(kind: Kind) -> Expr:
        return _where(body_column(names[kind]), new)

    zero = exp.Literal.number(0)
    n_before, n_new = before("count"), exp.Count(this=text("mean"))
    n = exp.Paren(this=exp.Add(this=n_before, expression=n_new))
    mean_new = exp.Coalesce(this=exp.Avg(this=text("mean")), expressions=[zero])
    apart = exp.Paren(this=exp.Sub(this=mean_new, expression=before("mean")))
    if part.kind == "mean":
        share = exp.Div(this=times(apart, n_new), expression=n)
        merged: Expr = exp.Add(this=before("mean"), expression=share)
    else:
        spread = exp.Coalesce(this=exp.VariancePop(this=text("deviation")), expressions=[zero])
        between = exp.Div(this=times(apart, apart, n_before, n_new), expression=n)
        merged = exp.Add(this=exp.Add(this=before("deviation"), expression=times(spread, n_new)), expression=between)
    return _if_any(n.copy(), merged.copy())


def changed_row(state: State, alias: str, count: Expr) -> tuple[Expr, ...]:
    """What a changed row of the body adds to the parts, in the columns that `merging` reads."""
    found: list[Expr] = []
    for part in state.parts:
        value = rewritten(part.value, lambda c: column(alias, c.name))
        match part.kind:
            case "count":
                present = exp.Not(this=exp.Is(this=operand(value), expression=exp.Null()))
                found.append(_choose(present, count, exp.Literal.number(0)))
            case "average":
                found.append(exp.Null())
            case _:
                found.append(value)
    return tuple(found)


def weighs_rows(state: State) -> bool:
    """Whether a row that comes several times must be met so often: sums are not multiplied, which may round."""
    return any(part.kind in ("sum", "mean", "deviation") for part in state.parts)


def _as_stored(value: Expr, state: State, part: Part) -> Expr:
    names = [exp.Literal.string(state.table), exp.Literal.string(part.name)]
    return exp.Anonymous(this="as_stored", expressions=[value.copy(), *names])


def _is_inexact(state: State, part: Part) -> Expr:
    names = [exp.Literal.string(state.table), exp.Literal.string(part.name)]
    return exp.Anonymous(this="is_inexact", expressions=names)


def _where(value: Expr, condition: Expr | None) -> Expr:
    """The value where a condition holds, else NULL."""
    return value.copy() if condition is None else exp.Case(ifs=[_if(condition, value)])


def _choose(condition: Expr, value: Expr, otherwise: Expr) -> Expr:
    return exp.Case(ifs=[_if(condition, value)], default=otherwise.copy())


def _if(condition: Expr, value: Expr) -> exp.If:
    return exp.If(this=condition.copy(), true=value.copy())


def _if_any(count: Expr, value: Expr, more_than: int = 0) -> Expr:
    return _where(value, exp.GT(this=count.copy(), expression=exp.Literal.number(more_than)))


def _both(left: Expr, right: Expr | None) -> Expr:
    return left if right is None else exp.and_(left.copy(), right.copy())
