"""Random views over random tables with random update transactions, the same for the same seed.

Tables are tiny and their values few, so that joins match, groups collide and rows repeat. A view is deterministic:
what SQL leaves open (the order of ties) is said in full. `covered` tells from the outcome what a case exercises.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from executors.testing import Case, Transaction, bag
from tests.executors.queries import CONSTRUCTS, POOLS, Scope, Writer
from tests.views.corpus import arrow_table
from views.definition import Definition
from views.render import query_of

Row = tuple[Any, ...]
VIEWS = (8, 12)
"""How many views share tables and transactions: these cost as much as a view."""
TRANSACTIONS = (3, 5)
"""How many transactions follow each other."""
BELOW = 5
"""A view reads tables and so many of the views before it: with more of them it would hardly read a table."""
REFERENCE = "b"
"""The column that refers to the key of the first table, where one is declared to."""
MOVES = ("insert", "delete", "modify", "duplicate", "empty", "large", "same", "pass", "nothing")


@dataclass(frozen=True)
class RandomCase(Case):
    """A case whose views may be built from their rules instead of their SQL."""

    by_rules: bool = False

    def definitions(self) -> dict[str, Definition]:
        found = super().definitions()
        if not self.by_rules:
            return found
        return {view: replace(d, query=query_of(d.program)) if d.program else d for view, d in found.items()}


def random_case(seed: int, views: tuple[int, int] = VIEWS, moves: tuple[int, int] = TRANSACTIONS) -> RandomCase:
    """Views, some on top of others, over two to four tables, and some transactions."""
    return draw_case(random.Random(seed), views, moves)


def draw_case(pick: random.Random, views: tuple[int, int] = VIEWS, moves: tuple[int, int] = TRANSACTIONS) -> RandomCase:
    """A case whose every choice comes from `pick`, the simplest first: hypothesis can shrink it."""
    tables: dict[str, Table] = {}
    for name in ("r", "s", "t", "u")[: pick.randint(2, 4)]:
        tables[name] = draw_table(pick, tables.get("r"))
    first = {name: table.rows(table.now) for name, table in tables.items()}
    relations = {name: dict(table.columns) for name, table in tables.items()}
    texts: dict[str, str] = {}
    for number in range(pick.randint(*views)):
        near = {name: columns for name, columns in relations.items() if name in (*tables, *list(texts)[-BELOW:])}
        view = Writer(pick, near).query(pick.choices((1, 0, 2), (6, 3, 1))[0])
        texts[f"v{number}"] = view.sql
        relations[f"v{number}"] = view.columns
    transactions = [draw_transaction(pick, tables) for _ in range(min(pick.randint(*moves), pick.randint(*moves)))]
    keys = {name: table.key for name, table in tables.items() if table.key}
    foreign_keys = {name: {REFERENCE: "r.a"} for name, table in tables.items() if table.parent}
    return RandomCase(texts, first, transactions, keys, foreign_keys)


@dataclass
class Table:
    """A base table as the transactions leave it."""

    columns: Scope
    key: tuple[str, ...]
    parent: Table | None = None
    now: list[Row] = field(default_factory=list)
    before: list[Row] = field(default_factory=list)
    """What it held when it was last emptied."""

    def rows(self, rows: list[Row]) -> pa.Table:
        return arrow_table(self.columns, rows)

    def keys(self, row: Row) -> Row:
        return row[: len(self.key)]

    def fresh(self, pick: random.Random) -> Row:
        return tuple(self.value(pick, column) for column in self.columns)

    def value(self, pick: random.Random, column: str) -> Any:
        kind = self.columns[column]
        if column in self.key:
            return pick.randrange(8) if kind == "int" else pick.choice(POOLS[kind])
        if self.parent and column == REFERENCE:
            return pick.choice([*(row[0] for row in self.parent.now), None])
        return None if pick.random() > 0.87 else pick.choice(POOLS[kind])

    def admitted(self, inserts: list[Row], deletes: Iterable[Row] = ()) -> list[Row]:
        """The inserts whose key is free once the deletes have left."""
        if not self.key:
            return inserts
        taken = set(map(self.keys, (Counter(self.now) - Counter(deletes)).elements()))
        return [row for key, row in {self.keys(row): row for row in inserts}.items() if key not in taken]

    def change(self, inserts: list[Row], deletes: list[Row]) -> None:
        """Insert and delete; a row that is in both and was not there comes and goes."""
        self.now = list((Counter(self.now) + Counter(inserts) - Counter(deletes)).elements())

    def dangling(self) -> list[Row]:
        """The rows that refer to a row which is not there."""
        if not self.parent:
            return []
        place, there = list(self.columns).index(REFERENCE), {None, *(row[0] for row in self.parent.now)}
        return [row for row in self.now if row[place] not in there]


def draw_table(pick: random.Random, first: Table | None) -> Table:
    """A first column of integers, some more of any kind, now and then a key, and a reference to the first table."""
    kinds = ["int", *pick.choices(list(POOLS), (6, 4, 2, 3, 2, 3, 1), k=pick.randint(1, 3))]
    table = Table(dict(zip("abcd", kinds, strict=False)), tuple("ab"[: pick.choices((0, 1, 2), (3, 3, 1))[0]]))
    if first and first.key == ("a",) and REFERENCE not in table.key and pick.random() > 0.5:
        table.columns[REFERENCE], table.parent = "int", first
    table.change(table.admitted([table.fresh(pick) for _ in range(pick.choice((6, 4, 8, 5, 9, 3, 7, 6, 8, 0)))]), [])
    if not table.key:
        table.now += [pick.choice(table.now) for _ in range(pick.randint(0, 3)) if table.now]
    return table


def draw_transaction(pick: random.Random, tables: Mapping[str, Table]) -> Transaction:
    """One to three moves, each on a table of its own, all at once; what would refer to nothing goes too."""
    chosen = pick.sample(list(tables), pick.choices((1, 2, min(3, len(tables))), (5, 3, 1))[0])
    changes = {name: draw_change(pick, table) for name, table in tables.items() if name in chosen}
    for name, table in tables.items():
        gone = Counter(table.dangling())
        if gone:
            inserts, deletes = changes.get(name, ([], []))
            withdrawn = gone & Counter(inserts)
            kept, more = Counter(inserts) - withdrawn, gone - withdrawn
            changes[name] = list(kept.elements()), [*deletes, *more.elements()]
            table.change([], list(gone.elements()))
    return {name: (tables[name].rows(come), tables[name].rows(go)) for name, (come, go) in changes.items()}


def draw_change(pick: random.Random, table: Table) -> tuple[list[Row], list[Row]]:
    move = pick.choices(MOVES, (8, 6, 8, 2, 1, 2, 2, 1, 1))[0]
    if not table.now and move != "nothing":
        move = "refill" if table.before else "insert"
    some = pick.sample(table.now, min(len(table.now), pick.randint(1, 3)))
    fresh = [table.fresh(pick) for _ in range(len(table.now) + 2 if move == "large" else pick.randint(1, 3))]
    inserts: list[Row] = []
    deletes: list[Row] = []
    match move:
        case "insert" | "large":
            inserts = fresh
        case "delete":
            deletes = some
        case "modify":
            inserts, deletes = [modified(pick, table, row) for row in some], some
        case "duplicate":
            inserts = some
        case "empty":
            deletes = table.before = table.now
        case "refill":
            inserts = table.before
        case "same":
            inserts, deletes = some, some
        case "pass":
            inserts, deletes = fresh, table.admitted(fresh)
    inserts = table.admitted(inserts, deletes)
    table.change(inserts, deletes)
    return inserts, deletes


def modified(pick: random.Random, table: Table, row: Row) -> Row:
    """The row with another value in one column, which may be a key."""
    place = pick.randrange(len(row))
    column = list(table.columns)[place]
    return (*row[:place], table.value(pick, column), *row[place + 1 :])


CHANGES = (
    *("inserts", "deletes", "NULLs", "duplicates", "key", "key modified", "emptied", "filled", "nothing"),
    *("same row deleted and inserted", "row comes and goes", "larger than the table", "several tables"),
    *("foreign key", "rows come with what they refer to", "rows go with what they refer to"),
)


def covered(case: RandomCase) -> set[str]:
    """The constructs of its views and the kinds of change that a case exercises."""
    found = {name for name, text in CONSTRUCTS.items() for sql in case.views.values() if re.search(text, sql)}
    for before, transaction in zip(case.states(), case.transactions, strict=False):
        found |= {"several tables"} if len(transaction) > 1 else set()
        for name, (inserts, deletes) in transaction.items():
            found |= covered_change(before[name], inserts, deletes, case.keys.get(name, ()))
        for name in case.foreign_keys.keys() & transaction.keys():
            found.add("foreign key")
            for rows, parents, word in zip(transaction[name], transaction.get("r", ()), ("come", "go"), strict=False):
                if rows and parents and {*rows[REFERENCE].to_pylist()} & {*parents["a"].to_pylist()}:
                    found.add(f"rows {word} with what they refer to")
    return found


def covered_change(rows: pa.Table, inserts: pa.Table, deletes: pa.Table, key: Sequence[str]) -> set[str]:
    """What one table goes through in one transaction."""
    now, come, go = map(bag, (rows, inserts, deletes))
    new_keys, old_keys = (bag(each.select(key)) if key else Counter() for each in (inserts, deletes))
    kinds = {
        "inserts": come,
        "deletes": go,
        "NULLs": any(None in row for row in come),
        "duplicates": any(count > 1 for count in (now + come).values()),
        "key": key,
        "key modified": new_keys.total() == old_keys.total() and new_keys != old_keys,
        "emptied": now and now == go,
        "filled": not now and come,
        "nothing": not come and not go,
        "same row deleted and inserted": now & come & go,
        "row comes and goes": (come & go) - now,
        "larger than the table": come.total() > now.total() > 0,
    }
    return {name for name, present in kinds.items() if present}
