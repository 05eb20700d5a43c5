"""The smallest part of a case that still fails, and a case in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from executors.testing import Case

ATTEMPTS = 150
"""How many smaller cases are tried before the smallest so far is good enough."""


def reduced(case: Case, error: Exception, failure: Callable[[Case], Exception | None]) -> tuple[Case, Exception]:
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


def smaller(case: Case) -> Iterator[Case]:
    """The case with one view and what that one reads, then without a transaction, then without a row."""
    for view in case.views:
        needed = {view} | _below(view, {**case.views, **case.tables})
        if len(needed) < len(case.views) + len(case.tables):
            yield _only(case, needed)
    for place in range(len(case.transactions)):
        yield replace(case, transactions=[*case.transactions[:place], *case.transactions[place + 1 :]])
    for name, rows in case.tables.items():
        for place in range(rows.num_rows):
            fewer = pa.concat_tables([rows.slice(0, place), rows.slice(place + 1)])
            yield replace(case, tables={**case.tables, name: fewer})


def possible(case: Case) -> bool:
    """Whether every row that the transactions delete is there."""
    try:
        return bool(list(case.states()))
    except ValueError:
        return False


def described(case: Case) -> str:
    lines = []
    for name, rows in case.tables.items():
        columns = ", ".join(f"{column.name} {column.type}" for column in rows.schema)
        key = f" key {', '.join(case.keys[name])}" if name in case.keys else ""
        lines.append(f"  {name}({columns}){key} = {_shown(rows)}")
    lines += [f"  {view}: {sql}" for view, sql in case.views.items()]
    for number, transaction in enumerate(case.transactions, 1):
        changes = [f"{name} + {_shown(come)} - {_shown(go)}" for name, (come, go) in transaction.items()]
        lines.append(f"  transaction {number}: {'; '.join(changes)}")
    return "\n".join(lines)


def _only(case: Case, names: set[str]) -> Case:
    """The part of the case that has these views and tables."""
    moves = [{name: change for name, change in move.items() if name in names} for move in case.transactions]
    views, tables, keys = (
        {name: each for name, each in of.items() if name in names} for of in (case.views, case.tables, case.keys)
    )
    return Case(views, tables, [move for move in moves if move], keys)


def _below(view: str, relations: Mapping[str, Any]) -> set[str]:
    """What a view reads, at any depth; names of relations are no other words of its text."""
    sql = relations[view]
    read = {name for name in relations if isinstance(sql, str) and name != view and re.search(rf"\b{name}\b", sql)}
    return read.union(*(_below(name, relations) for name in read))


def _shown(rows: pa.Table | None) -> str:
    return str([tuple(row.values()) for row in rows.to_pylist()] if rows is not None else [])
