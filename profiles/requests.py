"""Which statistics the views of a workload need of its base tables, from their rules alone.

    conditions   what a rule asks of one table by itself: each condition, and all of them together
    values       what is joined, grouped by, made distinct or compared with a constant: how many values there are
    joins        equal columns of two tables, one by one and all together, with and without the rule's own conditions

Everything is SQL over the table's own columns, spelled by the functions below, so that who asks and who looks it up
later say the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import sqlglot
from sqlglot import Dialect, exp

from profiles.statistics import TableStatistics
from views.definition import Definition
from views.equalities import classes
from views.filters import parse_filter
from views.rules import Aggregate, Expr, Partitioned, Predicate, Program, Rule, Set, body_column
from views.trees import rewritten

_SPARK = Dialect.get_or_raise("spark")
_WHOLE = ("tinyint", "smallint", "int", "integer", "bigint", "long")
_BROKEN = ("float", "double", "decimal")
_TOGETHER = 8
"""Columns of one grouping that are counted together; more are as good as a key."""


@dataclass(frozen=True, order=True)
class Join:
    """Columns of a table that equal columns of another, among the rows that pass a condition on either side."""

    columns: tuple[str, ...]
    other: str
    others: tuple[str, ...]
    where: str = ""
    other_where: str = ""

    @property
    def key(self) -> str:
        """Its name in `TableStatistics.joins`.

        >>> Join(("l_orderkey",), "orders", ("o_orderkey",)).key
        'l_orderkey=orders.o_orderkey'
        >>> Join(("k",), "t", ("k",), "", "`z` > 1").key
        'k=t.k where  | `z` > 1'
        """
        equal = f"{','.join(self.columns)}={','.join(f'{self.other}.{c}' for c in self.others)}"
        return f"{equal} where {self.where} | {self.other_where}" if self.where or self.other_where else equal


@dataclass(frozen=True)
class Request:
    """What is wanted of one base table."""

    table: str
    place: Path | str
    """Its folder or file, or its name in the catalog."""
    version: str
    """The fingerprint of its data, as `TableStatistics` has it."""
    types: Mapping[str, str]
    key: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    """Each one or more expressions whose distinct combinations are counted."""
    joins: tuple[Join, ...] = ()


@dataclass
class _Wanted:
    conditions: set[str] = field(default_factory=set)
    values: set[tuple[str, ...]] = field(default_factory=set)
    joins: set[Join] = field(default_factory=set)


def text(expression: Expr) -> str:
    """An expression over one table's columns as it is spelled here: without the alias that a rule gives the table."""
    plain = rewritten(expression.unnest(), lambda c: body_column(c.name))
    return plain.sql(dialect=_SPARK, comments=False)


def value_text(expressions: Iterable[str]) -> str:
    """The name of a combination of expressions: they are counted together, in whatever order they come."""
    return ", ".join(sorted(set(expressions)))


def all_of(conditions: Iterable[Expr]) -> str:
    """Conditions on one table joined by AND, in a fixed order; nothing where there are none."""
    found = {text(each): each for each in conditions}
    if not found:
        return ""
    whole = exp.and_(*(found[name].unnest() for name in sorted(found)), dialect="spark", copy=True)
    return text(whole)


def implied(condition: Expr, alias: str) -> Expr | None:
    """What follows from a condition for one of a rule's subgoals by itself.

    Of `(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` it is `a.x = 1 OR a.x = 3` for a.
    """
    condition = condition.unnest()
    tables = {column.table for column in condition.find_all(exp.Column)}
    if tables == {alias}:
        return None if condition.find(exp.Query, exp.AggFunc, exp.Window) else condition
    match condition:
        case exp.And():
            parts = [part for each in condition.flatten() if (part := implied(each, alias)) is not None]
            return exp.and_(*parts) if parts else None
        case exp.Or():
            found = [implied(each, alias) for each in condition.flatten()]
            known = [part for part in found if part is not None]
            return exp.or_(*known) if len(known) == len(found) else None
        case _:
            return None


def requests_of(
    definitions: Mapping[str, Definition],
    statistics: Mapping[str, TableStatistics],
    places: Mapping[str, Path | str],
    filters: Mapping[str, Iterable[str]] | None = None,
) -> list[Request]:
    """What the views need of the tables that lie somewhere; `filters` are those that queries put on each view."""
    wanted = {table: _Wanted() for table in statistics}
    for definition in definitions.values():
        if definition.program is not None:
            scope = _Scope(definitions, definition.program, statistics)
            for predicate in definition.program.predicates:
                for rule in predicate.rules:
                    _of_rule(predicate, rule, scope, wanted)
    for view, texts in (filters or {}).items():
        for each in texts:
            found = base_filter(definitions, statistics, view, each)
            if found is not None:
                wanted[found[0]].conditions.add(found[1])
                condition = sqlglot.parse_one(found[1], dialect="spark")
                if isinstance(condition, exp.EQ):
                    wanted[found[0]].values |= {(text(c),) for c in condition.find_all(exp.Column)}
    return [
        Request(
            table=name,
            place=places[name],
            version=statistics[name].fingerprint,
            types=dict(statistics[name].columns),
            key=statistics[name].key,
            conditions=tuple(sorted(needs.conditions)),
            values=tuple(sorted(needs.values)),
            joins=tuple(sorted(join for join in needs.joins if join.other in places)),
        )
        for name, needs in wanted.items()
        if name in places and (needs.conditions or needs.values or needs.joins)
    ]


def base_filter(
    definitions: Mapping[str, Definition], statistics: Mapping[str, TableStatistics], view: str, filter_text: str
) -> tuple[str, str] | None:
    """The base table and the condition on it that a filter on a view amounts to; None where it is on no one table.

    Of the rows that the view is made of this is the part that passes; of its groups it may be another.
    """
    program = definitions[view].program
    if program is None:
        return None
    condition = parse_filter(filter_text, program.columns, f"view {view!r}")
    scope = _Scope(definitions, program, statistics)
    tables = set()
    for column in condition.find_all(exp.Column):
        found = scope.origin(program.view, column.name)
        if found is None:
            return None
        tables.add(found[0])
        column.set("this", exp.to_identifier(found[1], quoted=True))
    return (tables.pop(), text(condition)) if len(tables) == 1 else None


@dataclass(frozen=True)
class _Scope:
    """Where the columns of a program's relations come from."""

    definitions: Mapping[str, Definition]
    program: Program
    statistics: Mapping[str, TableStatistics]

    def origin(self, relation: str, column: str) -> tuple[str, str] | None:
        """The base table and its column that a relation's column is, where it is one."""
        if relation in self.statistics:
            return (relation, column) if column in self.statistics[relation].columns else None
        predicate = next((p for p in self.program.predicates if p.name == relation), None)
        if predicate is None:
            below = self.definitions.get(relation)
            if below is None or below.program is None or below.program is self.program:
                return None
            return _Scope(self.definitions, below.program, self.statistics).origin(relation, column)
        if len(predicate.rules) != 1 or column not in predicate.body or predicate.recursive:
            return None
        if isinstance(predicate.form, Aggregate) and column not in predicate.form.groups:
            return None
        (rule,) = predicate.rules
        return self.of_value(rule, rule.head[predicate.body.index(column)])

    def of_value(self, rule: Rule, value: Expr) -> tuple[str, str] | None:
        """The same of an expression in a rule."""
        value = value.unnest()
        relations = {s.alias: s.relation for s in rule.subgoals}
        if not isinstance(value, exp.Column) or value.table not in relations:
            return None
        return self.origin(relations[value.table], value.name)


def _of_rule(predicate: Predicate, rule: Rule, scope: _Scope, wanted: Mapping[str, _Wanted]) -> None:
    relations = {s.alias: s.relation for s in rule.subgoals}
    own = {
        alias: [part for condition in rule.conditions if (part := implied(condition, alias)) is not None]
        for alias, relation in relations.items()
        if relation in wanted
    }
    for alias, conditions in own.items():
        needs = wanted[relations[alias]]
        needs.conditions |= {text(condition) for condition in conditions}
        if len(conditions) > 1:
            needs.conditions.add(all_of(conditions))
        for condition in conditions:
            if isinstance(condition, exp.EQ | exp.NullSafeEQ | exp.In):
                needs.values |= {(text(c),) for c in condition.find_all(exp.Column)}
    equal = _equal(rule, scope.program.transitive)
    sides = _sides(rule, equal, scope)
    for (one, (table, columns)), (two, (other, others)) in combinations(sides.items(), 2):
        shared = {number: (columns[number], others[number]) for number in columns.keys() & others.keys()}
        where = all_of(own.get(one, ())), all_of(own.get(two, ()))
        for join in _joins(table, other, set(shared.values()), where, scope.statistics):
            _add(join, table, wanted)
    for negation in rule.negations:
        for name, value in negation.arguments:
            here, there = scope.of_value(rule, value), scope.origin(negation.relation, name)
            if here is not None and there is not None:
                for join in _joins(here[0], there[0], {(here[1], there[1])}, ("", ""), scope.statistics):
                    _add(join, here[0], wanted)
    for table, grouped in _grouped(predicate, rule, equal, scope):
        key = {text(body_column(c)) for c in scope.statistics[table].key}
        if not key or not key <= set(grouped):  # else every row is a group of its own
            wanted[table].values |= {(each,) for each in grouped}
        if 1 < len(grouped) <= _TOGETHER:
            wanted[table].values.add(tuple(sorted(grouped)))


def _equal(rule: Rule, transitive: bool) -> list[list[Expr]]:
    """The classes of equal expressions, each once."""
    found: list[list[Expr]] = []
    for group in classes([each for c in rule.conditions for each in _equalities(c)], transitive).values():
        if not any(group is each for each in found):
            found.append(group)
    return found


def _equalities(condition: Expr) -> list[Expr]:
    """The equalities that a condition demands, whichever way it holds."""
    condition = condition.unnest()
    match condition:
        case exp.And():
            return [each for part in condition.flatten() for each in _equalities(part)]
        case exp.Or():
            first, *rest = [_equalities(part) for part in condition.flatten()]
            return [each for each in first if all(each in others for others in rest)]
        case exp.EQ() | exp.NullSafeEQ():
            return [condition]
        case _:
            return []


def _sides(rule: Rule, equal: list[list[Expr]], scope: _Scope) -> dict[str, tuple[str, dict[int, str]]]:
    """By alias: the base table that its joined columns come from, and the column in each class."""
    found: dict[str, tuple[str, dict[int, str]]] = {}
    for number, group in enumerate(equal):
        for each in group:
            origin = scope.of_value(rule, each)
            if origin is not None and isinstance(each, exp.Column):
                table, columns = found.setdefault(each.table, (origin[0], {}))
                if table == origin[0]:
                    columns.setdefault(number, origin[1])
    return found


def _joins(
    table: str,
    other: str,
    pairs: set[tuple[str, str]],
    where: tuple[str, str],
    statistics: Mapping[str, TableStatistics],
) -> Iterator[Join]:
    """Each pair of columns by itself, all of them together, and these under the rule's conditions."""
    alike = sorted(
        (mine, theirs)
        for mine, theirs in pairs
        if _family(statistics[table].columns[mine]) == _family(statistics[other].columns[theirs])
    )
    if not alike:
        return
    for mine, theirs in alike:
        yield Join((mine,), other, (theirs,))
    columns, others = tuple(mine for mine, _ in alike), tuple(theirs for _, theirs in alike)
    yield Join(columns, other, others)
    if any(where):
        yield Join(columns, other, others, *where)


def _add(join: Join, table: str, wanted: Mapping[str, _Wanted]) -> None:
    """A join belongs to both of its tables, and needs the values of both."""
    wanted[table].joins.add(join)
    wanted[join.other].joins.add(mirrored(join, table))
    wanted[table].values |= {(text(body_column(c)),) for c in join.columns}
    wanted[join.other].values |= {(text(body_column(c)),) for c in join.others}


def mirrored(join: Join, table: str) -> Join:
    """The same join as the other table sees it."""
    pairs = sorted(zip(join.others, join.columns, strict=True))
    return Join(
        tuple(theirs for theirs, _ in pairs), table, tuple(mine for _, mine in pairs), join.other_where, join.where
    )


def _grouped(
    predicate: Predicate, rule: Rule, equal: list[list[Expr]], scope: _Scope
) -> Iterator[tuple[str, list[str]]]:
    """Per subgoal: what of it the predicate's rows are told apart by, as it is or through an equal column."""
    match predicate.form:
        case Aggregate(groups=names) | Partitioned(keys=names):
            pass
        case Set():
            names = predicate.body
        case _:
            return
    values = [rule.head[predicate.body.index(name)].unnest() for name in names]
    values += [each for group in equal if any(value in group for value in values) for each in group]
    found: dict[str, tuple[str, dict[str, None]]] = {}
    for value in values:
        aliases = {column.table for column in value.find_all(exp.Column)}
        subgoal = next((s for s in rule.subgoals if {s.alias} == aliases), None)
        if subgoal is None or value.find(exp.Query, exp.AggFunc, exp.Window):
            continue
        origin = scope.of_value(rule, value)
        if origin is not None:
            table, said = origin[0], text(body_column(origin[1]))
        elif subgoal.relation in scope.statistics:
            table, said = subgoal.relation, text(value)
        else:
            continue
        group = found.setdefault(subgoal.alias, (table, {}))
        if group[0] == table:
            group[1][said] = None
    yield from ((table, list(group)) for table, group in found.values())


def _family(kind: str) -> str:
    """Types whose equal values have equal hashes once they are read as `comparable` says."""
    kind = re.split(r"[(<]", kind.lower())[0].strip()
    if kind in _WHOLE:
        return "bigint"
    return "double" if kind in _BROKEN else "string" if kind in ("char", "varchar") else kind


def comparable(column: str, types: Mapping[str, str]) -> str:
    """A join column as the type that its whole family has."""
    family = _family(types[column])
    node: Expr = body_column(column)
    return text(exp.cast(node, family) if family in ("bigint", "double") else node)
