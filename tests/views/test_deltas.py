"""The change that delta rules derive is the difference of the view before and after, on DuckDB."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import duckdb
import pyarrow as pa
import pytest

from executors.counting import kept_states
from storage.types import delta_fields, spark_types
from tests.views import corpus, tpch
from tests.views.bags import Bag, bag, clock, duck, on_duck
from tests.views.corpus import View
from views.catalog import CLOCK
from views.deltas import COUNT, derive_deltas, outputs, split_relation
from views.render import query_of
from views.rules import Program, reachable
from views.stages import without_empty
from views.states import filling
from views.typed import with_types

VIEWS = corpus.views()
QUERIES = tpch.queries()
FULL = os.environ.get("ADVISOR_TEST_FULL") == "1"
SEEDS = (1, 2, 3) if FULL else (1,)
Rows = list[dict[str, object]]


def changed_tables(source: str, seed: int) -> tuple[dict[str, pa.Table], dict[str, pa.Table], dict[str, pa.Table]]:
    """Tables before, after, and the net change with counts; each table loses, gains and modifies some rows.

    Now and then a table stays as it is, is emptied, or starts empty.
    """
    chance = random.Random(f"{source}:{seed}")
    make = tpch.tables if source == "tpch" else corpus.tables
    first, second = make(seed), make(seed + 100)
    old, new, delta = {}, {}, {}
    for name, table in first.items():
        rows, more = table.to_pylist(), second[name].to_pylist()
        kind = chance.choice(("change", "change", "change", "same", "emptied", "filled"))
        before: Rows = [] if kind == "filled" else rows
        after: Rows = [] if kind == "emptied" else rows
        if kind == "change":
            kept = [row for row in rows if chance.random() > 0.2]
            again = [row for row in rows if chance.random() < 0.1]
            after = kept + again + [row for row in more if chance.random() < 0.2]
        old[name], new[name] = (pa.Table.from_pylist(each, table.schema) for each in (before, after))
        delta[name] = net_change(old[name], new[name])
    return old, new, delta


def net_change(old: pa.Table, new: pa.Table) -> pa.Table:
    """One row per distinct tuple that became more or less frequent, with the difference."""
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    for table, sign in ((new, 1), (old, -1)):
        for row in table.to_pylist():
            key = tuple(row.values())
            rows.setdefault(key, row)
            counts[key] += sign
    changed = [{**rows[key], COUNT: count} for key, count in counts.items() if count]
    return pa.Table.from_pylist(changed, old.schema.append(pa.field(COUNT, pa.int64())))


@cache
def states(source: str, seed: int) -> tuple[duckdb.DuckDBPyConnection, frozenset[str]]:
    """A database with every table in its three states, and the names of those that changed."""
    old, new, delta = changed_tables(source, seed)
    known: dict[str, pa.Table] = {f"{CLOCK}@new": clock()}
    for state, tables in (("old", old), ("new", new), ("delta", delta)):
        known |= {f"{name}@{state}": table for name, table in tables.items()}
    return duck(known), frozenset(name for name, table in delta.items() if table.num_rows)


@cache
def database(source: str, seed: int, after: bool) -> duckdb.DuckDBPyConnection:
    old, new, _ = changed_tables(source, seed)
    return duck(new if after else old)


def applied(before: Bag, change: pa.Table) -> Bag:
    """The bag after a change set."""
    result = Counter(before)
    for row, times in bag(change).items():
        result[row[:-1]] += row[-1] * times
    return Counter({row: count for row, count in result.items() if count})


def program_of(view: View) -> Program:
    program = view.define().program
    assert program is not None
    return program


def check(view: View, source: str, seed: int, connection: duckdb.DuckDBPyConnection, changed: frozenset[str]) -> None:
    program = program_of(view)
    relevant = changed & set(program.relations)
    if not relevant:
        return
    for kept in ((), kept_states(program)) if FULL else (kept_states(program),):
        delta = derive_deltas(program, relevant, kept)
        assert {split_relation(name)[1] for name in delta.relations} <= {"old", "new", "delta", "stored"}
        tables = {corpus.VIEW: program, **{state.table: filling(state, program) for state in kept}}
        types = {}
        for table, filled in tables.items():
            rows = on_duck(database(source, seed, False), query_of(filled).sql("spark"))
            connection.register("stored_rows", rows)
            connection.execute(f'CREATE OR REPLACE TEMP TABLE "{table}@stored" AS FROM stored_rows')
            types[table] = spark_types(delta_fields(rows.schema))
        for output in outputs(delta):
            table = split_relation(output)[0]
            typed, empty = without_empty(with_types(delta, types), ())
            evaluated = query_of(tables[table]).sql("spark")
            before, after = (bag(on_duck(database(source, seed, state), evaluated)) for state in (False, True))
            if output not in empty:
                found = on_duck(connection, query_of(_only(typed, output)).sql("spark"))
                before = applied(before, found)
            assert before == after, (view.name, table, seed)


def _only(delta: Program, output: str) -> Program:
    own = next(p.columns for p in delta.predicates if p.name == output)
    columns = delta.columns if output == delta.view else own
    return reachable(replace(delta, view=output, columns=columns), [output])


@pytest.mark.parametrize("view", [*QUERIES, *VIEWS[:: 1 if FULL else 2]], ids=lambda view: view.name)
def test_old_rows_and_the_derived_change_are_the_new_rows(view: View) -> None:
    source = "tpch" if view in QUERIES else "corpus"
    for seed in SEEDS:
        check(view, source, seed, *states(source, seed))


def test_a_relation_that_did_not_change_is_read_in_one_state() -> None:
    view = next(view for view in QUERIES if view.name.endswith("q03"))
    program = program_of(view)
    delta = derive_deltas(program, {"orders"}, kept_states(program))
    assert set(delta.relations) >= {"orders@delta", "customer@new", "lineitem@new"}
    assert not {"customer@old", "lineitem@old"} & set(delta.relations)


def test_changes_meet_in_one_rule_per_changed_subgoal() -> None:
    """GMS93 Definition 4.1: as many delta rules as changed subgoals, each new … Δ … old."""
    view = corpus.View("three", "SELECT r.a, s.d, t.f FROM r JOIN s ON r.b = s.b JOIN t ON t.a = r.a", "")
    delta = derive_deltas(program_of(view), {"r", "s", "t"})
    states_read = [tuple(subgoal.relation for subgoal in rule.subgoals) for rule in delta.top.rules]
    assert states_read == [
        ("r@delta", "s@old", "t@old"),
        ("s@delta", "r@new", "t@old"),
        ("t@delta", "r@new", "s@new"),
    ]


def main(arguments: Mapping[str, int]) -> None:
    """Many seeds: `python -m tests.views.test_deltas 100`."""
    for seed in range(1000, 1000 + arguments["seeds"]):
        for view in [*QUERIES, *VIEWS]:
            source = "tpch" if view in QUERIES else "corpus"
            check(view, source, seed, *states(source, seed))
        print(f"seed {seed}: {len(QUERIES) + len(VIEWS)} views", flush=True)


if __name__ == "__main__":
    import sys

    main({"seeds": int(sys.argv[1])})
