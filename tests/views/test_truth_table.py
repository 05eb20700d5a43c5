"""The truth table of BLT86 §5 and its tags, and the change that they derive, on bags in Python and on DuckDB."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import prod

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from tests.views import corpus
from tests.views.bags import Bag, bag, clock, duck, on_duck
from views import rules
from views.catalog import CLOCK, NOW, TODAY, Catalog, Relation
from views.definition import define
from views.deltas import COUNT
from views.render import query_of
from views.rules import Program
from views.text import rule_text
from views.truth_table import JOINED, PROJECTED, SELECTED, Tag, derive_differentials, joined_tag, truth_table

SEEDS = range(1, 21) if os.environ.get("ADVISOR_TEST_FULL") == "1" else range(1, 3)
Tagged = Mapping[Tag, Bag]
"""What a relation has, by its tag: what survives, what comes, what goes."""

MORE = {
    "hops": "SELECT w.a, z.c FROM r w JOIN r x ON w.b = x.a JOIN r y ON x.b = y.a JOIN r z ON y.b = z.a",
    "triangle": "SELECT r.c, s.e, t.f FROM r JOIN s ON r.b = s.b JOIN t ON t.a = r.a AND t.d = s.d",
    "three_at_once": "SELECT r.a, s.d, t.d AS other FROM r, s, t WHERE r.a + s.b = t.a AND r.b <= s.d",
    "null_safe_twice": "SELECT x.a, y.a AS other, s.e FROM r x JOIN r y ON x.b <=> y.b JOIN s ON s.b <=> x.a",
    "nothing_is_read": "SELECT 1 AS one FROM r CROSS JOIN s CROSS JOIN t WHERE r.a = 2",
    "through_an_expression": "SELECT x.a, t.g FROM r x JOIN t ON t.a + 1 = x.b JOIN r y ON y.a = t.a + 1 AND y.c > 'x'",
}


def programs() -> dict[str, Program]:
    """Every view of the corpus that is one select-project-join expression, and more joins."""
    views = [*corpus.views(), *(corpus.View(name, sql, "") for name, sql in MORE.items())]
    found = {view.name: view.define().program for view in views}
    return {name: program for name, program in found.items() if program is not None and is_spj(program)}


def is_spj(program: Program) -> bool:
    (*below, top), first = program.predicates, program.top.rules[0]
    one = not below and len(top.rules) == 1 and not first.negations and first.times is None
    return one and isinstance(top.form, rules.Bag) and bool(first.subgoals)


PROGRAMS = programs()


def test_blt86_the_truth_table_of_three_relations() -> None:
    """§5.3: all rows but the first, and of insertions into r₁ and r₂ only the rows 3, 5 and 7."""
    whole = list(itertools.product((0, 1), repeat=3))
    assert truth_table([True, True, True]) == tuple(whole[1:])
    assert truth_table([True, True, False]) == (whole[3 - 1], whole[5 - 1], whole[7 - 1])
    assert truth_table([False, False]) == ()
    assert [len(truth_table([True] * k + [False])) for k in range(1, 7)] == [2**k - 1 for k in range(1, 7)]


def test_blt86_the_tag_table_of_joins() -> None:
    printed = """
        insert insert insert
        insert delete ignore
        insert old    insert
        delete insert ignore
        delete delete delete
        delete old    delete
        old    insert insert
        old    delete delete
        old    old    old
    """
    lines = [tuple(line.split()) for line in printed.strip().splitlines()]
    assert [(*sides, tag) for sides, tag in JOINED.items()] == lines


def test_blt86_the_tag_table_of_select_and_project() -> None:
    printed = [("insert", "insert", "insert"), ("delete", "delete", "delete"), ("old", "old", "old")]
    assert [(tag, SELECTED[tag], PROJECTED[tag]) for tag in SELECTED] == printed


def test_the_tag_of_a_join_does_not_depend_on_the_order_of_its_sides() -> None:
    tags: tuple[Tag, ...] = ("insert", "delete", "old")
    for chosen in itertools.product(tags, repeat=3):
        assert len({joined_tag(order) for order in itertools.permutations(chosen)}) == 1
        known = set(chosen) - {"old"}
        assert joined_tag(chosen) == ("ignore" if len(known) == 2 else (*known, "old")[0])


def expanded(relations: Sequence[Tagged], count: Callable[[Sequence[Tag]], int]) -> Counter[tuple[object, ...]]:
    """The rows of the truth table over a natural join on the first column, each result counted by its tags."""
    found: Counter[tuple[object, ...]] = Counter()
    for row in truth_table([True] * len(relations)):
        choices: list[tuple[Tag, ...]] = [("insert", "delete") if bit else ("old",) for bit in row]
        for tags in itertools.product(*choices):
            bags = [relation[tag] for relation, tag in zip(relations, tags, strict=True)]
            for rows in itertools.product(*bags):
                if len({first for first, *_ in rows}) == 1:
                    times = prod(each[one] for each, one in zip(bags, rows, strict=True))
                    found[tuple(itertools.chain(*rows))] += count(tags) * times
    return Counter({row: times for row, times in found.items() if times})


def by_tag(tags: Sequence[Tag]) -> int:
    return {"insert": 1, "delete": -1, "ignore": 0, "old": 0}[joined_tag(tags)]


def by_sign(tags: Sequence[Tag]) -> int:
    return prod(-1 if tag == "delete" else 1 for tag in tags)


def joined(*bags: Bag) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for rows in itertools.product(*bags):
        if len({first for first, *_ in rows}) == 1:
            found[tuple(itertools.chain(*rows))] += prod(each[one] for each, one in zip(bags, rows, strict=True))
    return found


def difference(after: Bag, before: Bag) -> Bag:
    found = Counter(after)
    found.subtract(before)
    return Counter({row: times for row, times in found.items() if times})


@pytest.mark.parametrize("size", [1, 2, 3])
def test_tags_and_absolute_counts_with_surviving_tuples_are_the_difference(size: int) -> None:
    pick = random.Random(size)

    def some() -> Bag:
        return Counter((pick.randrange(3), pick.randrange(2)) for _ in range(pick.randrange(4)))

    for _ in range(200):
        relations: list[Tagged] = [{"old": some(), "insert": some(), "delete": some()} for _ in range(size)]
        after = joined(*(each["old"] + each["insert"] for each in relations))
        before = joined(*(each["old"] + each["delete"] for each in relations))
        assert expanded(relations, by_tag) == difference(after, before)


BOTH_GONE = Counter({(1, 10): 1}), Counter({(1, 20): 1})
"""H87 Appendix A: t₁ and t₂ join, and one transaction deletes both."""


def test_h87_appendix_a_old_tuples_in_place_of_surviving_ones_delete_three_times() -> None:
    surviving: list[Tagged] = [{"old": Counter(), "insert": Counter(), "delete": gone} for gone in BOTH_GONE]
    every: list[Tagged] = [{"old": gone, "insert": Counter(), "delete": gone} for gone in BOTH_GONE]
    assert expanded(surviving, by_tag) == {(1, 10, 1, 20): -1}
    assert expanded(every, by_tag) == {(1, 10, 1, 20): -3}


def test_signs_in_place_of_tags_insert_what_two_deletes_take_away() -> None:
    """With r′, delete ⋈ delete is a delete; the product of two signs is not."""
    surviving: list[Tagged] = [{"old": Counter(), "insert": Counter(), "delete": gone} for gone in BOTH_GONE]
    assert expanded(surviving, by_sign) == {(1, 10, 1, 20): 1}
    crossed: list[Tagged] = [
        {"old": Counter(), "insert": BOTH_GONE[0], "delete": Counter()},
        {"old": Counter(), "insert": Counter(), "delete": BOTH_GONE[1]},
    ]
    assert expanded(crossed, by_tag) == {}
    assert expanded(crossed, by_sign) == {(1, 10, 1, 20): -1}


def spj(sql: str, tables: Mapping[str, str] | None = None) -> Program:
    """A program over tables given as `{"r": "a b"}`, by default those of the paper."""
    known = tables or {"r": "a b", "s": "b c"}
    catalog = Catalog.of(Relation(name, dict.fromkeys(text.split(), "int")) for name, text in known.items())
    program = define("v", sql, catalog).program
    assert program is not None
    return program


def chain(length: int) -> Program:
    tables = {f"t{i}": "a b" for i in range(length)}
    links = " AND ".join(f"t{i}.b = t{i + 1}.a" for i in range(length - 1)) or "true"
    return spj(f"SELECT t0.a, t{length - 1}.b FROM {', '.join(tables)} WHERE {links}", tables)


def read(delta: Program) -> list[tuple[str, ...]]:
    """What the rows of the table read."""
    return [tuple(subgoal.relation for subgoal in rule.subgoals) for rule in delta.top.rules]


def test_example_5_1_a_projection_counts_the_tuples_behind_a_row() -> None:
    delta = derive_differentials(spj("SELECT b FROM r"), {"r"})
    assert read(delta) == [("r@tagged",)]
    assert delta.columns == ("b", "__count")


@pytest.mark.parametrize("example", ["5.2", "5.3"])
def test_examples_5_2_and_5_3_only_the_change_is_joined(example: str) -> None:
    """v′ = v ∪ (i_r ⋈ s), v′ = v − (d_r ⋈ s): the same row of the table, told apart by the tag."""
    delta = derive_differentials(spj("SELECT r.a, r.b, s.c FROM r JOIN s ON r.b = s.b"), {"r"})
    assert read(delta) == [("r@tagged", "s@new")]
    assert set(delta.relations) == {"r@delta", "s@new"}


def test_example_5_4_both_relations_change() -> None:
    delta = derive_differentials(spj("SELECT r.a, r.b, s.c FROM r JOIN s ON r.b = s.b"), {"r", "s"})
    assert read(delta) == [("s@tagged", "r@kept"), ("r@tagged", "s@kept"), ("r@tagged", "s@tagged")]
    both = delta.top.rules[-1]
    assert "r.`@tag` = s.`@tag`" in rule_text(delta.top, both)  # cases 2 and 4: ignored, or deleted
    emerging = {sides for sides, tag in JOINED.items() if "old" not in sides and tag != "ignore"}
    assert emerging == {("insert", "insert"), ("delete", "delete")}


def test_example_5_5_selection_and_projection_are_those_of_the_view() -> None:
    delta = derive_differentials(spj("SELECT r.a FROM r JOIN s ON r.b = s.b WHERE s.c > 10"), {"r"})
    assert read(delta) == [("r@tagged", "s@new")]
    assert "r.b = s.b, s.c > 10" in rule_text(delta.top, delta.top.rules[0])


def at(program: Program, state: str) -> Program:
    """The view over its relations in one state."""
    (rule,) = program.top.rules
    subgoals = tuple(replace(subgoal, relation=subgoal.relation + state) for subgoal in rule.subgoals)
    return replace(program, predicates=(replace(program.top, rules=(replace(rule, subgoals=subgoals),)),))


def in_states(old: Mapping[str, pa.Table], new: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    found = {f"{name}@old": rows for name, rows in old.items()} | {f"{name}@new": rows for name, rows in new.items()}
    return found | {f"{name}@delta": net_change(rows, new[name]) for name, rows in old.items()}


def net_change(old: pa.Table, new: pa.Table) -> pa.Table:
    """One row per distinct tuple that became more or less frequent, with the difference."""
    counts = Counter(tuple(row.values()) for row in new.to_pylist())
    counts.subtract(tuple(row.values()) for row in old.to_pylist())
    rows = [{**dict(zip(old.column_names, row, strict=True)), COUNT: n} for row, n in counts.items() if n]
    return pa.Table.from_pylist(rows, old.schema.append(pa.field(COUNT, pa.int64())))


def evaluated(connection: duckdb.DuckDBPyConnection, program: Program) -> pa.Table:
    return on_duck(connection, query_of(program).sql("spark"))


def netted(change: pa.Table) -> Bag:
    found: Bag = Counter()
    for row, times in bag(change).items():
        found[row[:-1]] += row[-1] * times
    return Counter({row: count for row, count in found.items() if count})


def check(program: Program, changed: Iterable[str], connection: duckdb.DuckDBPyConnection, where: object) -> None:
    delta = derive_differentials(program, [*changed])
    before, after = (bag(evaluated(connection, at(program, state))) for state in ("@old", "@new"))
    assert netted(evaluated(connection, delta)) == difference(after, before), where


@cache
def changed_tables(seed: int, everything: bool) -> tuple[duckdb.DuckDBPyConnection, frozenset[str]]:
    """Every table of the corpus in three states, and those that changed: rows leave, come, and come once more.

    Either all of them change, and the clock moves on; or some stay as they are, become empty or start empty.
    """
    pick, old, more = random.Random(seed), corpus.tables(seed), corpus.tables(seed + 100)
    new = dict(old)
    for name, table in corpus.tables(seed).items():
        kind = "change" if everything else pick.choice(["change", "change", "same", "emptied", "filled"])
        rows = table.to_pylist()
        kept = [row for row in rows[1:] if pick.random() > 0.3] + [row for row in rows if pick.random() < 0.2]
        come = [row for row in more[name].to_pylist() if pick.random() < 0.3]
        if kind == "change":
            new[name] = pa.Table.from_pylist(kept + come, table.schema)
        elif kind != "same":
            (new if kind == "emptied" else old)[name] = table.schema.empty_table()
    (now,) = clock().to_pylist()
    earlier = {TODAY: now[TODAY] - dt.timedelta(1), NOW: now[NOW] - dt.timedelta(1)}
    old[CLOCK], new[CLOCK] = pa.Table.from_pylist([earlier if everything else now], clock().schema), clock()
    states = in_states(old, new)
    return duck(states), frozenset(name for name in old if states[f"{name}@delta"].num_rows)


@pytest.mark.parametrize("everything", [True, False], ids=["every table changes at once", "some tables change"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_change_is_the_difference_of_the_view_after_and_before(name: str, everything: bool) -> None:
    for seed in SEEDS:
        connection, changed = changed_tables(seed, everything)
        relevant = changed & set(PROGRAMS[name].relations)
        assert not everything or relevant == set(PROGRAMS[name].relations)
        if relevant:
            check(PROGRAMS[name], relevant, connection, (name, seed))


def numbers(columns: str, rows: Iterable[tuple[int | None, ...]]) -> pa.Table:
    schema = pa.schema([(name, pa.int64()) for name in columns.split()])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


JOIN = "SELECT r.a, s.c FROM r JOIN s ON r.b = s.b"


def test_h87_appendix_a_a_pair_deleted_on_both_sides_goes_once() -> None:
    old = {"r": numbers("a b", [(1, 1), (2, 1)]), "s": numbers("b c", [(1, 5), (1, 6)])}
    new = {"r": numbers("a b", [(2, 1)]), "s": numbers("b c", [(1, 6)])}
    connection = duck(in_states(old, new))
    delta = derive_differentials(spj(JOIN), {"r", "s"})
    assert netted(evaluated(connection, delta)) == {(1, 5): -1, (1, 6): -1, (2, 5): -1}
    whole = [replace(p, rules=p.rules[:1]) if "@kept" in p.name and len(p.rules) > 1 else p for p in delta.predicates]
    naive = replace(delta, predicates=tuple(whole))  # r where r′ belongs: nothing is taken away from it
    assert netted(evaluated(connection, naive)) == {(1, 5): -3, (1, 6): -1, (2, 5): -1}


def test_a_row_that_joins_with_itself_changes_on_both_sides() -> None:
    old, new = {"r": numbers("a b", [(1, 1), (1, 1), (2, 3)])}, {"r": numbers("a b", [(1, 1), (4, 4), (3, 2)])}
    program = spj("SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a", {"r": "a b"})
    delta = derive_differentials(program, {"r"})
    assert netted(evaluated(duck(in_states(old, new)), delta)) == {(1, 1): 1 - 4, (4, 4): 1}


@pytest.mark.parametrize("size", range(1, 7))
def test_what_rows_begin_with_is_joined_once(size: int) -> None:
    """Chains of k changed tables: about 2^(k+1) joins, where the rows alone have (k − 1) · (2^k − 1)."""
    delta = derive_differentials(chain(size), [f"t{i}" for i in range(size)])
    assert len(delta.top.rules) == 2**size - 1
    joining = [p for p in delta.predicates if p.name.startswith("v@")]
    joins = sum(len(rule.subgoals) - 1 for p in joining for rule in p.rules)
    assert joins == 2 ** (size + 1) - 2 - 2 * size + size * (size - 1) // 2 <= (size - 1) * (2**size - 1)
    times = Counter(s.relation for p in joining for rule in p.rules for s in rule.subgoals)
    assert {times[p.name] for p in joining[:-1]} <= {2}  # by the rows that go on with old tuples, and with a change
    assert len({(p.body, p.rules, p.form) for p in delta.predicates}) == len(delta.predicates)


def test_every_row_is_driven_by_a_change_and_old_tuples_by_its_keys() -> None:
    delta = derive_differentials(chain(4), ["t0", "t1", "t3"])
    known = {predicate.name: predicate for predicate in delta.predicates}
    drivers = {"t0@tagged", "t1@tagged", "t3@tagged", "v@shared", "v@shared@2", "v@shared@3"}
    for predicate in delta.predicates:
        for rule in predicate.rules if predicate.name.startswith("v@") else ():
            assert rule.subgoals[0].relation in drivers
            assert len(rule.conditions) >= len(rule.subgoals) - 1  # no cross products in a chain
    narrowed = [p for p in delta.predicates if "@kept" in p.name and "@keys" in p.rules[0].subgoals[0].relation]
    sources = {p.name: known[p.rules[0].subgoals[0].relation].rules[0].subgoals[0].relation for p in narrowed}
    assert sources == {
        "t0@kept@2": "t1@tagged",
        "t3@kept": "v@shared",  # of t1 with t0′ and t2: t1 itself does not know the keys of t3
        "t1@kept@2": "t0@tagged",
        "t3@kept@2": "v@shared@2",
        "t3@kept@3": "v@shared@3",
    }
    assert all(isinstance(p.rules[0].conditions[0], exp.NullSafeEQ) for p in narrowed)
    assert not {"t2@old", "t2@delta"} & set(delta.relations)


def test_joins_follow_the_conditions_and_not_the_order_of_the_tables() -> None:
    program = spj("SELECT x.a FROM x, y, z WHERE x.b = z.a AND z.b = y.a", dict.fromkeys("xyz", "a b"))
    assert read(derive_differentials(program, ["x"])) == [("x@tagged", "z@new", "y@new")]
    shared = derive_differentials(program, ["y", "z"])
    assert read(shared)[0] == ("z@tagged", "x@new", "y@kept")
    assert read(shared)[1:] == [("y@tagged", "z@kept", "x@new"), ("y@tagged", "z@tagged", "x@new")]


def test_an_old_row_that_equals_two_keys_is_read_once() -> None:
    """'1' = 1 and '01' = 1: text that is compared with numbers is no key."""
    catalog = Catalog.of([Relation("r", {"a": "int", "c": "string"}), Relation("s", {"b": "int"})])
    definition = define("v", "SELECT r.a, s.b FROM r JOIN s ON r.c = s.b", catalog)
    assert definition.program is not None
    assert not definition.program.transitive
    text = pa.schema([("a", pa.int64()), ("c", pa.string())])
    rows = pa.Table.from_pylist([{"a": 1, "c": "1"}, {"a": 2, "c": "01"}], text)
    connection = duck(
        in_states({"r": text.empty_table(), "s": numbers("b", [(1,)])}, {"r": rows, "s": numbers("b", [(1,), (2,)])})
    )
    check(definition.program, {"r", "s"}, connection, "unlike types")
