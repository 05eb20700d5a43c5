"""Delta programs stage by stage (GMS93 Algorithm 4.1 goes stratum by stratum): what is evaluated once, and when.

An engine opens every predicate up wherever it is used. So what follows from a change and is used more than once is a
*stage*: it is evaluated by a query of its own, and later queries read its rows. Rules that only look at one row of a
stage at a time ride along in its query as further columns; a program whose outputs all do needs one query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from views.deltas import DELTA
from views.equalities import classes
from views.rules import Aggregate, Expr, Predicate, Program, Rule, Subgoal, column, reachable
from views.trees import columns_in, rewritten

Origins = tuple[tuple[str, str], ...]
"""Relations and columns of theirs: a value is one of those in them."""


@dataclass(frozen=True)
class Rider:
    """A rule that looks at one row of a stage at a time; its head and condition are columns of the stage's query."""

    predicate: str
    number: int
    """Of the rule within its predicate."""
    columns: tuple[tuple[str, str], ...]
    """Column of the predicate, and of the query."""
    passes: str | None
    """The column that says whether the row passes the rule's conditions; None when every row does."""


def stages(program: Program, outputs: Collection[str]) -> tuple[str, ...]:
    """The predicates that are evaluated once by themselves, each after those it reads."""
    used: Counter[str] = Counter()
    for predicate in program.predicates:
        used.update(name for rule in predicate.rules for name in rule.relations)
    known = {predicate.name: predicate for predicate in program.predicates}
    from_change: dict[str, bool] = {}
    reads_tables: dict[str, bool] = {}
    found: list[str] = []
    for name, predicate in known.items():
        drivers = [[s.relation for s in rule.subgoals] for rule in predicate.rules]
        drivers += [[predicate.given]] if predicate.given else []
        follows = [any(from_change.get(n, n.endswith(DELTA)) for n in names) for names in drivers]
        from_change[name] = all(follows) or (predicate.given is not None and follows[-1])
        reads_tables[name] = any(
            reads_tables.get(relation, not relation.endswith(DELTA)) for relation in predicate.relations
        )
        if used[name] > 1 and from_change[name] and reads_tables[name] and name not in outputs:
            found.append(name)
            reads_tables[name] = False
    return tuple(found)


def riders(program: Program, stage: str, wanted: Collection[str]) -> tuple[list[Rider], dict[str, Expr]]:
    """The rules of some predicates that ride along with a stage, and the columns that its query then has for them.

    Equal values are one column, and a value that is a column of the stage is just that one.
    """
    found: list[Rider] = []
    names: dict[Expr, str] = {}

    def named(value: Expr, alias: str) -> str:
        of_stage = rewritten(value, lambda c: column("@stage", c.name) if c.table == alias else None)
        return names.setdefault(of_stage, of_stage.name if isinstance(of_stage, exp.Column) else f"@{len(names)}")

    for predicate in program.predicates:
        if predicate.name not in wanted:
            continue
        for number, rule in enumerate(predicate.rules):
            if [s.relation for s in rule.subgoals] == [stage] and not rule.negations and rule.times is None:
                alias = rule.subgoals[0].alias
                columns = tuple((c, named(v, alias)) for c, v in zip(predicate.body, rule.head, strict=True))
                passes = named(exp.and_(*rule.conditions), alias) if rule.conditions else None
                found.append(Rider(predicate.name, number, columns, passes))
    return found, {name: value for value, name in names.items()}


def stage_program(program: Program, stage: str, along: Mapping[str, Expr], own: bool, done: Collection[str]) -> Program:
    """The query of a stage: its own columns if anybody reads them later, and those of its riders."""
    known = {predicate.name: predicate for predicate in program.predicates}
    head: dict[str, Expr] = {c: column("@stage", c) for c in known[stage].columns} if own else {}
    head |= along
    wide = Predicate(stage + "@rows", tuple(head), (Rule(tuple(head.values()), (Subgoal(stage, "@stage"),)),))
    kept = tuple(p for p in program.predicates if p.name not in done)
    return reachable(replace(program, view=wide.name, columns=wide.body, predicates=(*kept, wide)), [wide.name])


def without_empty(program: Program, empty: Collection[str]) -> tuple[Program, set[str]]:
    """The program without rules that need a row of what is known to be empty, and all that is empty then.

    An aggregate of everything has a row of nothing too: one that is left without rules keeps its own, and what these
    read. So does a predicate of which a column would be left with NULLs alone, which have no type.
    """
    none = set(empty)
    kept: dict[str, Predicate] = {}
    whole: list[str] = []
    for predicate in program.predicates:
        rules = tuple(rule for rule in predicate.rules if not any(s.relation in none for s in rule.subgoals))
        rules = tuple(
            replace(rule, negations=tuple(n for n in rule.negations if n.relation not in none)) for rule in rules
        )
        total = isinstance(predicate.form, Aggregate) and not predicate.form.groups
        if predicate.given in none or (not rules and not total):
            none.add(predicate.name)
        elif rules and _typed(rules) == _typed(predicate.rules):
            kept[predicate.name] = replace(predicate, rules=rules)
        else:
            kept[predicate.name] = predicate
            whole += predicate.relations
    known = {predicate.name: predicate for predicate in program.predicates}
    for name in whole:  # which grows
        if name in known and name not in kept:
            kept[name] = known[name]
            whole += known[name].relations
    return replace(program, predicates=tuple(kept[name] for name in known if name in kept)), none


def _typed(rules: Sequence[Rule]) -> list[bool]:
    """Whether the columns of some rules have more than NULLs, one by one."""
    return [
        not all(isinstance(value, exp.Null) for value in values)
        for values in zip(*(r.head for r in rules), strict=True)
    ]


def most_reads(program: Program, outputs: Collection[str]) -> int:
    """How often the largest of its queries reads something, when every predicate but the stages is opened up."""
    separate, found, largest = set(stages(program, outputs)), dict[str, int](), 0
    for predicate in program.predicates:
        count = sum(1 + sum(found.get(name, 1) for name in rule.relations) for rule in predicate.rules)
        largest = max(largest, count)
        found[predicate.name] = 1 if predicate.name in separate else count
    return largest


def key_origins(
    program: Program, predicate: Predicate, rule: Rule, subgoal: Subgoal, found: Mapping[str, str]
) -> dict[str, Origins]:
    """The columns of a subgoal whose values are among those of some columns of changes or earlier stages.

    `{"o_custkey": (("customer@delta", "c_custkey"),)}` says that only orders of customers in the change matter.
    `found` names, by alias, the rows that other subgoals of the rule have been found to need.
    """
    known = {each.name: each for each in program.predicates}
    same = rule.equal if program.transitive else classes(rule.conditions, transitive=False)
    by_alias = {**rule.relation_of, **found}
    keys: dict[str, Origins] = {}
    for mine, equals in same.items():
        if isinstance(mine, exp.Column) and mine.table == subgoal.alias:
            for other in equals:
                if isinstance(other, exp.Column) and other.table != subgoal.alias and mine.name not in keys:
                    origins = _origins(by_alias.get(other.table, ""), other.name, known)
                    if origins is not None:
                        keys[mine.name] = origins
    if isinstance(predicate.form, Aggregate) and rule.subgoals == (subgoal,):
        keys |= _origins_of_groups(predicate, rule, known)
    return keys


def _origins_of_groups(predicate: Predicate, rule: Rule, known: Mapping[str, Predicate]) -> dict[str, Origins]:
    """A stored state is read for the groups that the other rules, those of the change, touch."""
    found: dict[str, Origins] = {}
    others = [each for each in predicate.rules if each is not rule]
    for key in predicate.form.groups if isinstance(predicate.form, Aggregate) and others else ():
        place = predicate.body.index(key)
        mine = rule.head[place]
        origins = [_origins_of(other, other.head[place], known) for other in others]
        if isinstance(mine, exp.Column) and all(each is not None for each in origins):
            found[mine.name] = tuple(dict.fromkeys(o for each in origins if each is not None for o in each))
    return found


def _origins(relation: str, name: str, known: Mapping[str, Predicate]) -> Origins | None:
    if relation not in known:
        is_base = relation.rpartition("@")[2] in ("old", "new", "stored")
        return None if is_base or not relation else ((relation, name),)
    predicate = known[relation]
    if name not in predicate.body:
        return None
    place = predicate.body.index(name)
    found = [_origins_of(rule, rule.head[place], known) for rule in predicate.rules]
    if not all(each is not None for each in found):
        return None
    return tuple(dict.fromkeys(origin for each in found if each is not None for origin in each))


def _origins_of(rule: Rule, value: Expr, known: Mapping[str, Predicate]) -> Origins | None:
    value = value.unnest()
    if not isinstance(value, exp.Column):
        return None
    source = next((s.relation for s in rule.subgoals if s.alias == value.table), "")
    return _origins(source, value.name, known)


def used_columns(program: Program) -> dict[str, set[str]]:
    """Per relation, whatever its state, the columns that the program looks at."""
    found: dict[str, set[str]] = {}
    own = {predicate.name for predicate in program.predicates}
    for predicate in program.predicates:
        for rule in predicate.rules:
            names = {s.alias: _without_state(s.relation) for s in rule.subgoals if s.relation not in own}
            for name in names.values():
                found.setdefault(name, set())
            for each in rule.expressions() if names else ():
                for c in columns_in(each):
                    table = c.table
                    if table in names:
                        found[names[table]].add(c.name)
            for negation in rule.negations:
                if negation.relation not in own:
                    columns = {c for c, _ in negation.arguments}
                    found.setdefault(_without_state(negation.relation), set()).update(columns)
    return found


def _without_state(relation: str) -> str:
    return relation.rpartition("@")[0] or relation
