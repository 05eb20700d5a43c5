"""The truth table of differential re-evaluation (BLT86 Algorithm 5.1, as H87 §2.1 corrects it): from the program of a
select-project-join view, the program of its change.

Every changed occurrence of a relation is read either as its old tuples that survive, r′ = r − d, or as its change
set u. The joins over all choices are the rows of the table, but for the one of only old tuples, which the view has
before and after. A result is tagged by the tags of its tuples (§5.3), its count is the product of their absolute
counts, and only the tag decides whether that many rows come or go. The predicates of the change:

    r@tagged      u, with tags and absolute counts
    r@kept        r′: a row of r@old counts once, a deleted row takes its count away. It is not netted: counts multiply
                  and add up, so what cancels here also cancels in the change, and r′ need not be grouped. Only rows
                  are read with keys that the row's first change has, or the join so far
    view@shared   a join with which several rows begin: evaluated once, continued with r′ and with u
    view@delta    the rows of the table, each of them driven by its first change
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import groupby, product
from typing import Literal

from sqlglot import exp

from views.deltas import COUNT, DELTA, NEW, OLD
from views.equalities import classes
from views.rules import Bag, Expr, Predicate, Program, Rule, Set, Subgoal, column
from views.trees import operand, rewritten

TAG = "@tag"
SHARED = "@shared"
BAG = Bag()
Tag = Literal["insert", "delete", "old", "ignore"]
Row = tuple[int, ...]

JOINED: Mapping[tuple[Tag, Tag], Tag] = {
    ("insert", "insert"): "insert",
    ("insert", "delete"): "ignore",
    ("insert", "old"): "insert",
    ("delete", "insert"): "ignore",
    ("delete", "delete"): "delete",
    ("delete", "old"): "delete",
    ("old", "insert"): "insert",
    ("old", "delete"): "delete",
    ("old", "old"): "old",
}
"""The tag of a join by the tags of its sides; what is to be ignored does not emerge from it."""
SELECTED: Mapping[Tag, Tag] = {"insert": "insert", "delete": "delete", "old": "old"}
PROJECTED: Mapping[Tag, Tag] = {"insert": "insert", "delete": "delete", "old": "old"}


def joined_tag(tags: Sequence[Tag]) -> Tag:
    """The tag of a join of several tuples.

    >>> joined_tag(["old", "delete", "delete"]), joined_tag(["insert", "old", "delete"])
    ('delete', 'ignore')
    """
    return reduce(lambda left, right: JOINED.get((left, right), "ignore"), tags)


def truth_table(changed: Sequence[bool]) -> tuple[Row, ...]:
    """The rows for the occurrences in a rule: 1 where the change set is read, 0 where old tuples are.

    >>> truth_table([True, True, False])
    ((0, 1, 0), (1, 0, 0), (1, 1, 0))
    """
    rows = product(*((0, 1) if each else (0,) for each in changed))
    return tuple(row for row in rows if any(row))


def derive_differentials(program: Program, changed: Collection[str]) -> Program:
    """The program of the change of a select-project-join view when these relations have changed."""
    derivation = _Derivation(program, changed)
    rows = truth_table([subgoal.relation in changed for subgoal in derivation.rule.subgoals])
    for first, alike in groupby(rows, key=lambda row: row.index(1)):
        derivation.derive(first, tuple(alike))
    top = derivation.make(program.view + DELTA, (*program.top.body, COUNT), *derivation.found)
    return Program(top, (*program.columns, COUNT), tuple(derivation.made.values()), program.transitive)


@dataclass(frozen=True)
class _Part:
    """The join with which some rows begin, and what they have yet to do with it."""

    subgoals: tuple[Subgoal, ...]
    tag: Expr
    count: Expr
    head: tuple[Expr, ...]
    conditions: tuple[Expr, ...]


@dataclass
class _Derivation:
    program: Program
    changed: Collection[str]
    made: dict[object, Predicate] = field(default_factory=dict)
    found: list[Rule] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.rule,) = self.program.top.rules
        self.places = {subgoal.alias: place for place, subgoal in enumerate(self.rule.subgoals)}
        self.columns: dict[str, dict[str, None]] = {subgoal.relation: {} for subgoal in self.rule.subgoals}
        for variable in _variables(*self.rule.expressions()):
            self.columns[self.rule.subgoals[self.places[variable.table]].relation][variable.name] = None

    def make(self, name: str, body: Iterable[str], *rules: Rule, form: Bag | Set = BAG) -> str:
        """A predicate of this name, with a number if there are more, or the one that is there and says the same."""
        said = tuple(body), rules, form
        if said not in self.made:
            number = 1 + sum(name == each.name or each.name.startswith(f"{name}@") for each in self.made.values())
            self.made[said] = Predicate(name if number == 1 else f"{name}@{number}", *said)
        return self.made[said].name

    def derive(self, first: int, rows: Sequence[Row]) -> None:
        """The rows whose first change is that of one occurrence, the driver."""
        occurrence = self.rule.subgoals[first]
        driver = Subgoal(self.tagged(occurrence.relation), occurrence.alias)
        tag, count, order = column(driver.alias, TAG), column(driver.alias, COUNT), [first]
        while len(order) < len(self.places):
            others = (place for place in self.places.values() if place not in order)
            order.append(min(others, key=partial(self.rank, order, rows)))
        self.grow(_Part((driver,), tag, count, self.rule.head, self.rule.conditions), driver, rows, order[1:])

    def rank(self, order: Sequence[int], rows: Sequence[Row], place: int) -> tuple[bool, bool, bool, int]:
        """How late an occurrence is joined: early what equals something there, and of that what all the rows share."""
        there, alias = {self.rule.subgoals[each].alias for each in order}, self.rule.subgoals[place].alias
        over = [(c, _aliases(c)) for c in self.rule.conditions]
        links = [c for c, aliases in over if alias in aliases and aliases & there and aliases <= {alias, *there}]
        equal = any(isinstance(c, exp.EQ | exp.NullSafeEQ) for c in links)
        return not equal, not links, len({row[place] for row in rows}) > 1, place

    def grow(self, part: _Part, driver: Subgoal, rows: Sequence[Row], order: Sequence[int]) -> None:
        """Join what comes next in the order; where the rows part, what they have in common becomes a predicate."""
        if not order:
            inserted = exp.EQ(this=part.tag.copy(), expression=exp.Literal.string("insert"))
            count = exp.case().when(inserted, part.count).else_(exp.Neg(this=operand(part.count.copy())))
            self.found.append(Rule((*part.head, count), part.subgoals, (), part.conditions))
            return
        place, *rest = order
        bits = sorted({row[place] for row in rows})
        if len(bits) > 1 and len(part.subgoals) > 1:
            part = self.shared(part)
        for bit in bits:
            alike = [row for row in rows if row[place] == bit]
            self.grow(self.joined(part, driver, self.rule.subgoals[place], bit), driver, alike, rest)

    def joined(self, part: _Part, driver: Subgoal, other: Subgoal, bit: int) -> _Part:
        if other.relation not in self.changed:
            return replace(part, subgoals=(*part.subgoals, Subgoal(other.relation + NEW, other.alias)))
        relation, conditions = self.tagged(other.relation) if bit else self.kept(part, driver, other), part.conditions
        if bit:  # two changes give something only if their tags are equal; old tuples leave the tag as it is
            conditions += (exp.EQ(this=part.tag.copy(), expression=column(other.alias, TAG)),)
        count = exp.Mul(this=part.count.copy(), expression=column(other.alias, COUNT))
        return _Part((*part.subgoals, Subgoal(relation, other.alias)), part.tag, count, part.head, conditions)

    def shared(self, part: _Part) -> _Part:
        """The join as a predicate with the columns that are needed later."""
        there = {subgoal.alias for subgoal in part.subgoals}
        ready = tuple(c for c in part.conditions if _aliases(c) <= there)
        later = tuple(c for c in part.conditions if not _aliases(c) <= there)
        names = {
            (v.table, v.name): v.name if v.table == SHARED else f"{v.name}@{self.places[v.table] + 1}"
            for v in _variables(*part.head, *later)
            if v.table in there
        }
        head = (*(column(*variable) for variable in names), part.tag, part.count)
        body, rule = (*names.values(), TAG, COUNT), Rule(head, part.subgoals, (), ready)
        join = (Subgoal(self.make(f"{self.program.view}@shared", body, rule), SHARED),)

        def read(node: Expr) -> Expr:
            return rewritten(node, lambda v: column(SHARED, names[v.table, v.name]) if v.table in there else None)

        heads, conditions = (tuple(map(read, each)) for each in (part.head, later))
        return _Part(join, column(SHARED, TAG), column(SHARED, COUNT), heads, conditions)

    def tagged(self, relation: str) -> str:
        """The change set of a relation with tags and absolute counts."""
        count = column("@delta", COUNT)
        inserted = exp.GT(this=count, expression=exp.Literal.number(0))
        tag = exp.case().when(inserted, exp.Literal.string("insert")).else_(exp.Literal.string("delete"))
        head = (*(column("@delta", c) for c in self.columns[relation]), tag, exp.Abs(this=count.copy()))
        rows = Rule(head, (Subgoal(relation + DELTA, "@delta"),))
        return self.make(f"{relation}@tagged", (*self.columns[relation], TAG, COUNT), rows)

    def kept(self, part: _Part, driver: Subgoal, other: Subgoal) -> str:
        """The old tuples of an occurrence that survive, of the keys that the driver has, or else what is shared."""
        columns, same = tuple(self.columns[other.relation]), tuple[Expr, ...]()
        old: tuple[Subgoal, ...] = (Subgoal(other.relation + OLD, "@old"),)
        for by, conditions in ((driver, self.rule.conditions), (part.subgoals[0], part.conditions)):
            keys = self.keys(other, by.alias, conditions)
            if keys and not same:
                among = self.make(f"{other.relation}@keys", keys, Rule(tuple(keys.values()), (by,)), form=Set())
                old = (Subgoal(among, "@keys"), *old)
                same = tuple(exp.NullSafeEQ(this=column("@keys", c), expression=column("@old", c)) for c in keys)
        kind = exp.DataType(this=exp.DataType.Type.BIGINT)  # as in change sets: not all engines widen it
        once = exp.Cast(this=exp.Literal.number(1), to=kind)
        there = Rule((*(column("@old", c) for c in columns), once), old, (), same)
        gone = tuple(column("@delta", c) for c in (*columns, COUNT))
        deleted = exp.LT(this=gone[-1].copy(), expression=exp.Literal.number(0))
        taken = Rule(gone, (Subgoal(other.relation + DELTA, "@delta"),), (), (deleted,))
        return self.make(f"{other.relation}@kept", (*columns, COUNT), there, taken)

    def keys(self, other: Subgoal, alias: str, conditions: Iterable[Expr]) -> dict[str, Expr]:
        """The columns of an occurrence that must equal something under an alias, and what.

        Not where `=` compares unlike types: an old row that equals two keys would be read twice.
        """
        same = classes(conditions, transitive=True) if self.program.transitive else {}
        equal = {c: same.get(column(other.alias, c), []) for c in self.columns[other.relation]}
        given = {c: [value for value in values if _aliases(value) == {alias}] for c, values in equal.items()}
        return {c: values[0] for c, values in given.items() if values}


def _variables(*nodes: Expr) -> Iterator[exp.Column]:
    return (variable for node in nodes for variable in node.find_all(exp.Column) if variable.table)


def _aliases(node: Expr) -> set[str]:
    return {variable.table for variable in _variables(node)}
