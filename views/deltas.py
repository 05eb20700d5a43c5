"""Delta rules (GMS93 §4–6): from a view's program, the program of its change.

The result reads each relation in up to three states: `orders@old`, `orders@new` and `orders@delta`, the change set
with its signed `__count`. Its last predicate, `view@delta`, has the view's columns and `__count`.

    bag          for each changed subgoal s_i of a rule: s_1@new, …, s_i@delta, …, s_n@old, counts multiplied
                 (Definition 4.1); of a negated one the set change with its sign turned (Definition 6.1)
    set, groups, the keys that the change touches; their rows before and after; the difference, netted, so that
    partitions   a change which only moves a count does not travel upward (Algorithm 4.1, statement 2, and 6.1)

What is evaluated for touched keys, and what joins with a change, is narrowed to the keys that matter before it is
computed: a derived relation is never evaluated in full where the change says which rows of it count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from views.rules import (
    Aggregate,
    Bag,
    Expr,
    Negation,
    Partitioned,
    Predicate,
    Program,
    Rule,
    Set,
    Subgoal,
    body_column,
    column,
)
from views.trees import operand

COUNT = "__count"
OLD, NEW, DELTA = "@old", "@new", "@delta"


def derive_deltas(program: Program, changed: Collection[str]) -> Program:
    """The program of the change of a view when these relations have changed."""
    derivation = _Derivation(program, frozenset(changed))
    for predicate in program.predicates:
        if predicate.name in derivation.affected:
            derivation.delta(predicate)
    top = program.view + DELTA
    made = tuple(derivation.made.values())
    return _ordered(Program(top, (*program.columns, COUNT), made, program.transitive))


def reads(program: Program) -> int:
    """How often an engine reads something when it opens every predicate up wherever it is used, as engines do."""
    found: dict[str, int] = {}
    for predicate in program.predicates:
        found[predicate.name] = sum(1 + sum(found.get(name, 1) for name in rule.relations) for rule in predicate.rules)
    return found.get(program.view, 0)


def state_of(relation: str) -> tuple[str, str]:
    """A relation of a delta program as name and state.

    >>> state_of("orders@old")
    ('orders', 'old')
    """
    name, _, state = relation.rpartition("@")
    return name, state


def key_sources(delta: Program) -> dict[str, list[dict[str, tuple[str, str]]]]:
    """For each state of a base relation, and each place it is read in, the change columns that its columns equal.

    `{"orders@old": [{"o_custkey": ("customer@delta", "c_custkey")}]}` says that only rows of orders matter whose
    customer is in the change; a place without such columns reads everything.
    """
    known = {predicate.name: predicate for predicate in delta.predicates}

    def origin(relation: str, name: str) -> tuple[str, str] | None:
        """The column of a base change set that a column holds values of."""
        if relation not in known:
            return (relation, name) if relation.endswith(DELTA) else None
        predicate = known[relation]
        if len(predicate.rules) != 1 or name not in predicate.body:
            return None
        rule = predicate.rules[0]
        value = rule.head[predicate.body.index(name)].unnest()
        if not isinstance(value, exp.Column):
            return None
        source = next((s.relation for s in rule.subgoals if s.alias == value.table), None)
        return origin(source, value.name) if source is not None else None

    found: dict[str, list[dict[str, tuple[str, str]]]] = {}
    for predicate in delta.predicates:
        for rule in predicate.rules:
            same = _classes(rule.conditions, delta.transitive)
            by_alias = {s.alias: s.relation for s in rule.subgoals}
            for subgoal in rule.subgoals:
                if subgoal.relation in known or subgoal.relation.endswith(DELTA):
                    continue
                keys: dict[str, tuple[str, str]] = {}
                for mine, equals in same.items():
                    if not isinstance(mine, exp.Column) or mine.table != subgoal.alias:
                        continue
                    for other in equals:
                        if isinstance(other, exp.Column) and other.table != subgoal.alias:
                            source = origin(by_alias.get(other.table, ""), other.name)
                            if source is not None:
                                keys.setdefault(mine.name, source)
                found.setdefault(subgoal.relation, []).append(keys)
            for negation in rule.negations:
                if negation.relation not in known:
                    found.setdefault(negation.relation, []).append({})
    return found


@dataclass
class _Derivation:
    program: Program
    changed: frozenset[str]
    made: dict[str, Predicate] = field(default_factory=dict)
    number: int = 0

    def __post_init__(self) -> None:
        self.known = {predicate.name: predicate for predicate in self.program.predicates}
        self.affected = set(self.changed)
        for predicate in self.program.predicates:
            if self.affected & set(predicate.relations):
                self.affected.add(predicate.name)

    # States

    def at(self, relation: str, state: str) -> str:
        """A relation in a state; one that has not changed has only the new one."""
        name = relation + (state if relation in self.affected else NEW)
        if relation in self.known and name not in self.made:
            predicate = self.known[relation]
            rules = tuple(self.rule_at(rule, state) for rule in predicate.rules)
            self.made[name] = replace(predicate, name=name, rules=rules)
        return name

    def rule_at(self, rule: Rule, state: str) -> Rule:
        return replace(
            rule,
            subgoals=tuple(Subgoal(self.at(s.relation, state), s.alias) for s in rule.subgoals),
            negations=tuple(replace(n, relation=self.at(n.relation, state)) for n in rule.negations),
        )

    def fresh(self, name: str) -> str:
        self.number += 1
        return f"{name}@{self.number}"

    # Changes

    def delta(self, predicate: Predicate) -> None:
        """Define the change of a predicate, after those it reads."""
        name = predicate.name + DELTA
        match predicate.form:
            case Bag():
                rules = [made for rule in predicate.rules for made in self.delta_rules(rule, rule.head, counted=True)]
                self.made[name] = Predicate(name, (*predicate.body, COUNT), tuple(rules))
                return
            case Set():
                keys = predicate.body
            case Aggregate(groups=groups):
                keys = groups
            case Partitioned(keys=of):
                keys = of
        before, after = self.touched(predicate, keys)
        rules = [_signed(relation, predicate.columns, sign) for relation, sign in ((after, 1), (before, -1))]
        net = self.fresh(predicate.name)
        total = Aggregate(predicate.columns, ((COUNT, exp.Sum(this=body_column(COUNT))),))
        self.made[net] = Predicate(net, (*predicate.columns, COUNT), tuple(rules), total)
        moved = exp.NEQ(this=column("@net", COUNT), expression=exp.Literal.number(0))
        head = tuple(column("@net", c) for c in (*predicate.columns, COUNT))
        self.made[name] = Predicate(
            name, (*predicate.columns, COUNT), (Rule(head, (Subgoal(net, "@net"),), (), (moved,)),)
        )

    def touched(self, predicate: Predicate, keys: Sequence[str]) -> tuple[str, str]:
        """The predicate before and after, for the keys that the change of its body touches."""
        if not keys:
            return self.at(predicate.name, OLD), self.at(predicate.name, NEW)
        positions = [predicate.body.index(key) for key in keys]
        touched = self.fresh(predicate.name)
        rules = []
        for rule in predicate.rules:
            rules += self.delta_rules(rule, tuple(rule.head[i] for i in positions), counted=False)
        self.made[touched] = Predicate(touched, tuple(keys), tuple(rules), Set())
        return self.narrowed(predicate, OLD, touched, keys), self.narrowed(predicate, NEW, touched, keys)

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
        same = _classes(conditions, self.program.transitive)

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
        """The relation in a state, narrowed to the key values that the driver has."""
        if not keys:
            return self.at(relation, state)
        values = self.fresh(driver.relation)
        self.made[values] = Predicate(values, tuple(keys), (Rule(tuple(keys.values()), (driver,)),), Set())
        return self.narrowed(self.known[relation], state, values, tuple(keys))

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
    return Rule((*(column("@rows", c) for c in columns), exp.Literal.number(sign)), (Subgoal(relation, "@rows"),))


def _classes(conditions: Iterable[Expr], transitive: bool) -> dict[Expr, list[Expr]]:
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


def _ordered(program: Program) -> Program:
    """Each predicate after those it reads, and only those that the change reads."""
    known = {predicate.name: predicate for predicate in program.predicates}
    done: dict[str, Predicate] = {}

    def visit(name: str) -> None:
        if name in known and name not in done:
            for relation in known[name].relations:
                visit(relation)
            done[name] = known[name]

    visit(program.view)
    return replace(program, predicates=tuple(done.values()))
