"""Delta rules (GMS93 §4–6): from a view's program, the program of its change.

The result reads each relation in up to three states: `orders@old`, `orders@new` and `orders@delta`, the change set
with its signed `__count`. Its last predicate, `view@delta`, has the view's columns and `__count`.

    bag          for each changed subgoal s_i of a rule: s_1@new, …, s_i@delta, …, s_n@old, counts multiplied
                 (Definition 4.1); of a negated one the set change with its sign turned (Definition 6.1)
    set, groups  where a state is kept (`views.states`): the state of the touched keys before and after, put together
                 from `v__state@stored` and the change of the body; only what differs travels upward (Algorithm 4.1,
                 statement 2, and Algorithm 6.1). A group whose state cannot tell is evaluated again
    partitions,  the keys that the change touches; their rows after, evaluated, and before, from the stored view or
    other groups evaluated too; the difference

What is evaluated for touched keys, and what joins with a change, is narrowed to the keys that matter before it is
computed: a derived relation is never evaluated in full where the change says which rows of it count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from views.equalities import classes
from views.rules import (
    Aggregate,
    Bag,
    Expr,
    Form,
    Negation,
    Partitioned,
    Predicate,
    Program,
    Rule,
    Set,
    Subgoal,
    body_column,
    column,
    reachable,
)
from views.states import BEFORE, ROWS, SIDE, SIGN, STALE, State, changed_row, merging, weighs_rows
from views.trees import operand
from views.unfold import inlined

COUNT = "__count"
OLD, NEW, DELTA = "@old", "@new", "@delta"
STORED = "@stored"
"""The rows of the view itself, or of a state beside it, as they were stored last."""


def derive_deltas(program: Program, changed: Collection[str], states: Collection[State] = ()) -> Program:
    """The program of the change of a view when these relations have changed.

    For each state that is kept beside the view it also has `table@delta`, the change of that table.
    """
    derivation = _Derivation(program, frozenset(changed), {state.predicate.name: state for state in states})
    for predicate in program.predicates:
        if predicate.name in derivation.affected:
            derivation.delta(predicate)
    roots = [program.view + DELTA, *(s.table + DELTA for s in states if s.predicate.name in derivation.affected)]
    made = tuple(derivation.made.values())
    whole = Program(program.view + DELTA, (*program.columns, COUNT), made, program.transitive)
    return reachable(_opened_up(whole, roots), roots)


def outputs(delta: Program) -> tuple[str, ...]:
    """The predicates of a delta program that nobody in it reads: the changes of states, then that of the view."""
    read = {name for predicate in delta.predicates for name in (*predicate.relations, predicate.given)}
    return tuple(predicate.name for predicate in delta.predicates if predicate.name not in read)


def split_relation(relation: str) -> tuple[str, str]:
    """A relation of a delta program as name and state.

    >>> split_relation("orders@old")
    ('orders', 'old')
    """
    name, _, state = relation.rpartition("@")
    return name, state


@dataclass
class _Derivation:
    program: Program
    changed: frozenset[str]
    kept: Mapping[str, State]
    made: dict[str, Predicate] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    narrow: dict[tuple[object, ...], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = {predicate.name: predicate for predicate in self.program.predicates}
        self.affected = set(self.changed)
        for predicate in self.program.predicates:
            if self.affected & set(predicate.relations):
                self.affected.add(predicate.name)

    # States

    def at(self, relation: str, state: str) -> str:
        """A relation in a state; one that has not changed has only the new one."""
        if not state:
            return relation
        name = relation + (state if relation in self.affected else NEW)
        if relation in self.known and name not in self.made:
            predicate, state = self.defined(relation, state)
            rules = tuple(self.rule_at(rule, state) for rule in predicate.rules)
            self.made[name] = replace(predicate, name=name, rules=rules)
        return name

    def defined(self, relation: str, state: str) -> tuple[Predicate, str]:
        """A derived relation in a state: its definition, and the state of what that reads.

        A relation whose state is kept reads it; what it reads has no further state.
        """
        kept, predicate = self.kept.get(relation), self.known[relation]
        if kept is None:
            return predicate, state
        stored = Subgoal(kept.table + STORED, "@stored")
        if state == OLD or relation not in self.affected:
            rules = [Rule(kept.row("@stored"), (stored,))]
        else:
            untouched = Negation(
                relation + "@touched",
                tuple((k, column("@stored", k)) for k in kept.keys) or (("one", exp.Literal.number(1)),),
            )
            rules = [Rule(kept.row("@stored"), (stored,), (untouched,)), *self.rows_after(kept)]
        return Predicate(relation, predicate.columns, tuple(rules)), ""

    def rule_at(self, rule: Rule, state: str) -> Rule:
        return replace(
            rule,
            subgoals=tuple(Subgoal(self.at(s.relation, state), s.alias) for s in rule.subgoals),
            negations=tuple(replace(n, relation=self.at(n.relation, state)) for n in rule.negations),
        )

    def fresh(self, name: str) -> str:
        self.numbers[name] = self.numbers.get(name, 0) + 1
        return f"{name}@{self.numbers[name]}"

    def make(self, name: str, body: Iterable[str], rules: Iterable[Rule], form: Form | None = None) -> str:
        self.made[name] = Predicate(name, tuple(body), tuple(rules), form or Bag())
        return name

    # Changes

    def delta(self, predicate: Predicate) -> None:
        """Define the change of a predicate, after those it reads."""
        name = predicate.name + DELTA
        columns = (*predicate.columns, COUNT)
        if predicate.name in self.kept:
            self.make(name, columns, self.kept_delta(self.kept[predicate.name]))
            return
        match predicate.form:
            case Bag():
                rules = [made for rule in predicate.rules for made in self.delta_rules(rule, rule.head, counted=True)]
                self.make(name, columns, rules)
                return
            case Set():
                keys = predicate.body
            case Aggregate(groups=groups):
                keys = groups
            case Partitioned(keys=of):
                keys = of
        before, after = self.touched(predicate, keys)
        both = ((before, -1), (after, 1))  # some engines take the types of what comes first, and stored rows have some
        rules = [_signed(relation, predicate.columns, sign) for relation, sign in both]
        if predicate.name == self.program.view:  # what is applied to a table is netted there
            self.make(name, columns, rules)
            return
        total = Aggregate(predicate.columns, ((COUNT, exp.Sum(this=body_column(COUNT))),))
        net = self.make(self.fresh(predicate.name), columns, rules, total)
        moved = exp.NEQ(this=column("@net", COUNT), expression=exp.Literal.number(0))
        head = tuple(column("@net", c) for c in columns)
        self.make(name, columns, [Rule(head, (Subgoal(net, "@net"),), (), (moved,))])

    def kept_delta(self, state: State) -> list[Rule]:
        """The change of a predicate whose state is kept, and the change of the state itself."""
        predicate, name = state.predicate, state.predicate.name
        rules = [made for rule in predicate.rules for made in self.delta_rules(rule, rule.head, counted=True)]
        body = self.make(name + "@body", (*predicate.body, COUNT), rules)
        parts = tuple(part.name for part in state.parts)
        sums = self.make(
            name + "@sums",
            (*state.keys, SIDE, SIGN, ROWS, *parts),
            [_stored_state(state), _changed_state(state, body)],
            Aggregate(state.keys, merging(state)),
        )
        both = [c for c in (ROWS, *parts) for c in (c + BEFORE, c)]
        columns = (*state.keys, *both, STALE)
        touched = exp.EQ(this=column("@sums", SIDE), expression=exp.Literal.number(1))
        merged = Rule(tuple(column("@sums", c) for c in columns), (Subgoal(sums, "@sums"),), (), (touched,))
        self.made[name + "@merged"] = Predicate(name + "@merged", columns, (merged,), given=body)
        rows = Subgoal(name + "@merged", "@merged")
        keys: tuple[Expr, ...] = tuple(column("@merged", k) for k in state.keys) or (exp.Literal.number(1),)
        self.make(name + "@touched", state.keys or ("one",), [Rule(keys, (rows,))], Set())
        if state.may_be_stale:
            again = column("@merged", STALE)
            stale = self.make(name + "@stale", state.keys or ("one",), [Rule(keys, (rows,), (), (again,))], Set())
            filled = state.filled
            fresh = self.narrowed(filled, NEW, stale, state.keys) if state.keys else self.at_new(filled)
            self.made[name + "@again"] = replace(self.made.pop(fresh), name=name + "@again", given=stale)
        alive = _alive(state, "")
        self.make(
            state.table + DELTA,
            (*state.columns, COUNT),
            [
                *(
                    replace(rule, head=(*rule.head, _count(1)))
                    for rule in self.after(state, _state_row(state, "@merged"), _state_row(state, "@again"), alive)
                ),
                Rule((*_state_row(state, "@merged", BEFORE), _count(-1)), (rows,), (), _alive(state, BEFORE)),
            ],
        )
        after, before = state.row("@merged"), state.row("@merged", BEFORE)
        same = [exp.NullSafeEQ(this=operand(a), expression=operand(b)) for a, b in zip(after, before, strict=True)]
        same = same[len(state.keys) :]
        was, stays = _alive(state, BEFORE), [exp.Not(this=column("@merged", STALE)), *_alive(state, "")]
        unchanged = [*was, *stays, *same]
        differs = (exp.Not(this=exp.Paren(this=exp.and_(*unchanged))),)
        return [
            *(
                replace(rule, head=(*rule.head, _count(1)))
                for rule in self.after(state, after, state.row("@again"), (*alive, *differs))
            ),
            Rule((*before, _count(-1)), (rows,), (), (*was, *differs)),
        ]

    def rows_after(self, state: State) -> list[Rule]:
        """The touched rows of a predicate whose state is kept, after the change."""
        return self.after(state, state.row("@merged"), state.row("@again"), _alive(state, ""))

    def after(
        self, state: State, merged: tuple[Expr, ...], again: tuple[Expr, ...], conditions: tuple[Expr, ...]
    ) -> list[Rule]:
        name = state.predicate.name
        rows = Subgoal(name + "@merged", "@merged")
        known = (exp.Not(this=column("@merged", STALE)),) if state.may_be_stale else ()
        rules = [Rule(merged, (rows,), (), (*known, *conditions))]
        if state.may_be_stale:
            gate = () if state.keys else (Subgoal(name + "@stale", "@gate"),)
            rules.append(Rule(again, (Subgoal(name + "@again", "@again"), *gate)))
        return rules

    def at_new(self, predicate: Predicate) -> str:
        name = self.fresh(predicate.name)
        self.made[name] = replace(predicate, name=name, rules=tuple(self.rule_at(r, NEW) for r in predicate.rules))
        return name

    def touched(self, predicate: Predicate, keys: Sequence[str]) -> tuple[str, str]:
        """The predicate before and after, for the keys that the change of its body touches."""
        program = self.program
        is_stored = predicate.name == program.view and set(predicate.columns) == set(program.columns)
        stored = Subgoal(predicate.name + STORED, "@stored")
        rows = Rule(tuple(column("@stored", c) for c in predicate.columns), (stored,))
        before = Predicate(predicate.name, predicate.columns, (rows,)) if is_stored else None
        if not keys:
            if before is None:
                return self.at(predicate.name, OLD), self.at(predicate.name, NEW)
            self.made[predicate.name + OLD] = replace(before, name=predicate.name + OLD)
            return predicate.name + OLD, self.at(predicate.name, NEW)
        positions = [predicate.body.index(key) for key in keys]
        rules = []
        for rule in predicate.rules:
            rules += self.delta_rules(rule, tuple(rule.head[i] for i in positions), counted=False)
        touched = self.make(predicate.name + "@keys", keys, rules, Set())
        after = self.narrowed(predicate, NEW, touched, keys)
        if before is not None:
            return self.narrowed(before, "", touched, keys), after
        return self.narrowed(predicate, OLD, touched, keys), after

    def delta_rules(self, rule: Rule, head: tuple[Expr, ...], *, counted: bool) -> list[Rule]:
        """One rule per changed subgoal or negation, its head with the count of the derivation if that is asked for."""
        items: list[Subgoal | Negation] = [*rule.subgoals, *rule.negations]
        found = []
        for i, item in enumerate(items):
            if item.relation not in self.affected:
                continue
            subgoals, negations, conditions = [], [], list(rule.conditions)
            alias = item.alias if isinstance(item, Subgoal) else "@changed"
            driver = Subgoal(item.relation + DELTA, alias)
            count: Expr = column(alias, COUNT)
            if isinstance(item, Negation):
                count = exp.Neg(this=count)
                conditions += [
                    exp.NullSafeEQ(this=column(alias, c), expression=operand(v.copy())) for c, v in item.arguments
                ]
            for j, other in enumerate(items):
                if j == i:
                    continue
                state = NEW if j < i else OLD
                if isinstance(other, Subgoal):
                    subgoals.append((other, state))
                else:
                    negations.append((other, state))
            if rule.times is not None:
                count = exp.Mul(this=count, expression=operand(rule.times.copy()))
            found.append(
                self.driven(driver, (*head, count) if counted else head, subgoals, negations, tuple(conditions))
            )
        return found

    def driven(
        self,
        driver: Subgoal,
        head: tuple[Expr, ...],
        subgoals: Sequence[tuple[Subgoal, str]],
        negations: Sequence[tuple[Negation, str]],
        conditions: tuple[Expr, ...],
    ) -> Rule:
        """A rule whose other relations are narrowed to what the driver, a small relation, can join with."""
        same = classes(conditions, self.program.transitive)

        def given(node: Expr) -> Expr | None:
            """The node in terms of the driver's columns alone."""
            for each in [node, *same.get(node, ())]:
                tables = {c.table for c in each.find_all(exp.Column)}
                if tables == {driver.alias}:
                    found: Expr = each
                    return found
            return None

        others = []
        for subgoal, state in subgoals:
            passing = self.passing(subgoal.relation)
            keys = {c: v for c in passing if (v := given(column(subgoal.alias, c))) is not None}
            others.append(Subgoal(self.joined_with(subgoal.relation, state, driver, keys), subgoal.alias))
        forbidden = []
        for negation, state in negations:
            passing = self.passing(negation.relation)
            keys = {c: v for c, value in negation.arguments if c in passing and (v := given(value)) is not None}
            forbidden.append(replace(negation, relation=self.joined_with(negation.relation, state, driver, keys)))
        return Rule(head, (driver, *others), tuple(forbidden), conditions)

    # Narrowing

    def passing(self, relation: str) -> tuple[str, ...]:
        """The columns of a derived relation by which it can be narrowed before it is computed."""
        predicate = self.known.get(relation)
        if predicate is None:
            return ()
        match predicate.form:
            case Bag() | Set():
                return predicate.body
            case Aggregate(groups=groups):
                return groups
            case Partitioned(keys=keys):
                return keys

    def joined_with(self, relation: str, state: str, driver: Subgoal, keys: dict[str, Expr]) -> str:
        """The relation in a state, narrowed to the key values that the driver has.

        Not where `=` is not transitive: there several of these values may equal one key, and its rows come as often.
        """
        if not keys or not state or not self.program.transitive:
            return self.at(relation, state)
        state = state if relation in self.affected else NEW
        same = (relation, state, driver, *keys.items())
        if same not in self.narrow:
            values = self.fresh(driver.relation)
            self.make(values, keys, [Rule(tuple(keys.values()), (driver,))], Set())
            self.narrow[same] = self.narrowed(*self.defined(relation, state), values, tuple(keys))
        return self.narrow[same]

    def narrowed(self, predicate: Predicate, state: str, values: str, keys: Sequence[str]) -> str:
        """The predicate in a state, only for keys among some values."""
        name = self.fresh(predicate.name)
        rules = []
        for rule in predicate.rules:
            driver = Subgoal(values, "@among")
            conditions = [
                exp.NullSafeEQ(
                    this=column("@among", key), expression=operand(rule.head[predicate.body.index(key)].copy())
                )
                for key in keys
            ]
            subgoals = [(subgoal, state) for subgoal in rule.subgoals]
            negations = [(negation, state) for negation in rule.negations]
            made = self.driven(driver, rule.head, subgoals, negations, (*conditions, *rule.conditions))
            rules.append(replace(made, times=rule.times))
        self.made[name] = replace(predicate, name=name, rules=tuple(rules))
        return name


def _signed(relation: str, columns: Iterable[str], sign: int) -> Rule:
    return Rule((*(column("@rows", c) for c in columns), _count(sign)), (Subgoal(relation, "@rows"),))


def _count(number: int) -> Expr:
    """A count of the type that change sets have: some engines do not widen it in a union."""
    return exp.Cast(this=exp.Literal.number(number), to=exp.DataType(this=exp.DataType.Type.BIGINT))


def _alive(state: State, suffix: str) -> tuple[Expr, ...]:
    """Whether a group has rows before or after; the one group of all rows is always there.

    A count below zero is no group, but it is let through, so that whoever stores it meets it.
    """
    return (exp.NEQ(this=column("@merged", ROWS + suffix), expression=exp.Literal.number(0)),) if state.keys else ()


def _state_row(state: State, alias: str, suffix: str = "") -> tuple[Expr, ...]:
    keys = state.keys
    return tuple(column(alias, c + ("" if c in keys else suffix)) for c in state.columns)


def _stored_state(state: State) -> Rule:
    """The stored states, as rows that `merging` reads."""
    own = [column("@stored", c) for c in (ROWS, *(part.name for part in state.parts))]
    keys = [column("@stored", key) for key in state.keys]
    sides = [exp.Literal.number(0), _count(1)]
    return Rule((*keys, *sides, *own), (Subgoal(state.table + STORED, "@stored"),))


def _changed_state(state: State, body: str) -> Rule:
    """The change of the body, as rows that `merging` reads."""
    count: Expr = column("@body", COUNT)
    comes = exp.GT(this=count.copy(), expression=exp.Literal.number(0))
    sign = exp.Case(ifs=[exp.If(this=comes, true=_count(1))], default=_count(-1))
    weighs = weighs_rows(state)
    rows = sign.copy() if weighs else count
    keys = [column("@body", key) for key in state.keys]
    head = (*keys, exp.Literal.number(1), sign, rows, *changed_row(state, "@body", rows))
    return Rule(head, (Subgoal(body, "@body"),), times=exp.Abs(this=count.copy()) if weighs else None)


def _opened_up(program: Program, roots: Iterable[str]) -> Program:
    """Outputs that only pass the rows of bags on read what those bags read, row by row."""
    known = {predicate.name: predicate for predicate in program.predicates}

    def opened(rule: Rule) -> list[Rule]:
        if len(rule.subgoals) != 1 or rule.negations or rule.times is not None:
            return [rule]
        below = known.get(rule.subgoals[0].relation)
        if below is None or below.form != Bag() or below.given or any(r.times is not None for r in below.rules):
            return [rule]
        return [each for inner in below.rules for each in opened(inlined(rule, rule.subgoals[0], below.body, inner))]

    for name in roots:
        if known[name].form == Bag():
            rules = tuple(each for rule in known[name].rules for each in opened(rule))
            known[name] = replace(known[name], rules=rules)
    return replace(program, predicates=tuple(known.values()))
