"""The smallest part of a case that still fails, and a case in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from executors.testing import bag
from tests.executors.generator import RandomCase

ATTEMPTS = 150
"""How many smaller cases are tried before the smallest so far is good enough."""


def smaller(case: RandomCase) -> Iterator[RandomCase]:
    """The case with one view and what that one reads, then without a transaction, then without a row."""
    yield from with_one_view(case)
    for place in range(len(case.transactions)):
        yield replace(case, transactions=[*case.transactions[:place], *case.transactions[place + 1 :]])
    for name, rows in case.tables.items():
        for place in range(rows.num_rows):
            fewer = pa.concat_tables([rows.slice(0, place), rows.slice(place + 1)])
            yield replace(case, tables={**case.tables, name: fewer})


def with_one_view(case: RandomCase) -> Iterator[RandomCase]:
    """The case with one view and what that one reads."""
    for view in case.views:
        needed = {view} | _below(view, {**case.views, **case.tables})
        if len(needed) < len(case.views) + len(case.tables):
            yield _only(case, needed)


def reduced(
    case: RandomCase,
    error: Exception,
    failure: Callable[[RandomCase], Exception | None],
    smaller: Callable[[RandomCase], Iterator[RandomCase]] = smaller,
) -> tuple[RandomCase, Exception]:
    """The smallest case found that fails with the same kind of error, and that error."""
    candidates = smaller(case)
    for _ in range(ATTEMPTS):
        candidate = next(candidates, None)
        if candidate is None:
            break
        found = failure(candidate) if possible(candidate) else None
        if type(found) is type(error):
            case, error, candidates = candidate, found, smaller(candidate)
    return case, error


def without_highest(case: RandomCase, small: RandomCase) -> RandomCase:
    """The case without those views that no other one of a smaller case reads, and without what reads them."""
    known = {**case.views, **case.tables}
    read = set().union(*(_below(view, known) for view in small.views))
    gone = small.views.keys() - read
    return _only(case, {name for name in known if name not in gone and not gone & _below(name, known)})


def possible(case: RandomCase) -> bool:
    """Whether every row that the transactions delete is there, and keys and foreign keys hold throughout."""
    try:
        states = list(case.states())
    except ValueError:
        return False
    unique = all(
        max(bag(state[name].select(list(key))).values(), default=0) <= 1
        for state in states
        for name, key in case.keys.items()
    )
    return unique and all(
        set(state[name][column].to_pylist()) <= {None, *state[parent][key].to_pylist()}
        for state in states
        for name, references in case.foreign_keys.items()
        for column, (parent, key) in ((column, target.split(".")) for column, target in references.items())
    )


def described(case: RandomCase) -> str:
    lines = []
    for name, rows in case.tables.items():
        columns = ", ".join(f"{column.name} {column.type}" for column in rows.schema)
        key = f" key {', '.join(case.keys[name])}" if name in case.keys else ""
        key += "".join(f", {c} refers to {target}" for c, target in case.foreign_keys.get(name, {}).items())
        lines.append(f"  {name}({columns}){key} = {_shown(rows)}")
    lines += [f"  {view}: {sql}" for view, sql in case.views.items()]
    for number, transaction in enumerate(case.transactions, 1):
        changes = [f"{name} + {_shown(come)} - {_shown(go)}" for name, (come, go) in transaction.items()]
        lines.append(f"  transaction {number}: {'; '.join(changes)}")
    return "\n".join(lines)


def _only(case: RandomCase, names: set[str]) -> RandomCase:
    """The part of the case that has these views and tables."""
    moves = [{name: change for name, change in move.items() if name in names} for move in case.transactions]
    references = {
        name: targets
        for name, targets in case.foreign_keys.items()
        if names >= {name, *(target.split(".")[0] for target in targets.values())}
    }
    return RandomCase(
        {name: sql for name, sql in case.views.items() if name in names},
        {name: rows for name, rows in case.tables.items() if name in names},
        [move for move in moves if move],
        {name: key for name, key in case.keys.items() if name in names},
        references,
    )


def _below(view: str, relations: Mapping[str, Any]) -> set[str]:
    """What a view reads, at any depth; names of relations are no other words of its text."""
    sql = relations[view]
    read = {name for name in relations if isinstance(sql, str) and name != view and re.search(rf"\b{name}\b", sql)}
    return read.union(*(_below(name, relations) for name in read))


def _shown(rows: pa.Table | None) -> str:
    return str([tuple(row.values()) for row in rows.to_pylist()] if rows is not None else [])
