"""Tables as the price model sees them: rows and values, files, and the transactions that update them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from sqlglot import exp

from costmodels.axis import UPDATES, Numbers, Vector, constant, swept
from costmodels.cardinality import Relation
from costmodels.spark import Layout
from profiles.requests import all_of, text
from profiles.selectivity import selectivity
from profiles.statistics import TableStatistics
from views.conditions import Column, condition
from views.rules import Expr


@dataclass(frozen=True)
class Stream:
    """Update transactions that change the same tables: how many a day, and the tuples that one of them changes."""

    tables: tuple[str, ...]
    transactions: Vector
    tuples: Mapping[str, Vector]
    at: tuple[int, ...] = ()
    times: tuple[float, ...] = ()
    """When they came, in seconds since the epoch, where that was observed of all its tables."""

    @property
    def events(self) -> Vector:
        """How many times a day something is pending that was not: batches count once."""
        return np.minimum(self.transactions, len(set(self.at))) if self.at else self.transactions


def relation_of(table: TableStatistics, numbers: Numbers, assumed: set[str]) -> Relation:
    """A table's rows; what had to be assumed of them is added to `assumed`, in words."""
    known: dict[Expr | str, Vector] = {}

    def selected(each: Expr) -> Vector:
        if each not in known:  # the same condition, under another alias, has the same text
            name = text(each)
            if name not in known:
                known[name] = among(each.unnest(), name)
            known[each] = known[name]
        return known[each]

    def among(each: Expr, name: str) -> Vector:
        """The part of the rows with a condition: sampled as a whole, else from its parts as if independent."""
        found = table.conditions.get(name)
        if found is None:
            match each:
                case exp.And() if (whole := together(list(each.flatten()))) is not None:
                    return whole
                case exp.And():
                    return prod((selected(part) for part in each.flatten()), start=constant(1.0))
                case exp.Or():
                    return 1 - prod((1 - selected(part) for part in each.flatten()), start=constant(1.0))
                case exp.Not():
                    return 1 - selected(each.this)
            found = selectivity(condition(each, lambda c: Column(table.name, c.name)), {table.name: table})
        if found.source == "default":
            assumed.add(f"part of {table.name} with {_short(name)} ({found.value:.2g})")
        return numbers(found, f"{table.name}: {name}")

    def together(conditions: Sequence[Expr]) -> Vector | None:
        """The part of the rows for which they all hold, only where that was sampled."""
        if not table.conditions:
            return None
        name = all_of(conditions)
        found = table.conditions.get(name)
        return None if found is None else numbers(found, f"{table.name}: {name}")

    joins, joins_where = {}, {}
    for name, estimate in table.joins.items():
        mine, _, other = name.partition("=")
        if " where " in name:
            joins_where[name] = numbers(estimate, f"{table.name}: {name}")
        elif "," not in mine:
            of, _, column = other.rpartition(".")
            joins[mine, of, column] = numbers(estimate, f"{table.name}: {name}")
    distinct = {name: numbers(column.distinct, f"{table.name}.{name} values") for name, column in table.details.items()}
    columns = set(table.columns)
    combined = {
        name.replace("`", ""): numbers(estimate, f"{table.name}: {name}")
        for name, estimate in table.combinations.items()
        if set(name.replace("`", "").split(", ")) <= columns
    }
    rows = numbers(table.rows, f"{table.name}.rows")
    return Relation(rows, distinct, selected, joins, together, joins_where, table.key, combined)


def layout_of(table: TableStatistics, numbers: Numbers) -> Layout:
    return Layout(
        rows=numbers(table.rows, f"{table.name}.rows"),
        files=numbers(table.files, f"{table.name}.files"),
        column_bytes={c: numbers(s.width_bytes, f"{table.name}.{c} bytes") for c, s in table.details.items()},
        overlap={c: numbers(s.overlap, f"{table.name}.{c} overlap") for c, s in table.details.items()},
        key=table.key,
        foreign_keys=table.foreign_keys,
    )


def streams_of(statistics: Iterable[TableStatistics], numbers: Numbers) -> tuple[Stream, ...]:
    """The update transactions; tables that refer to each other and are updated as often are updated together."""
    groups: list[list[TableStatistics]] = []
    for table in statistics:
        if table.updates_per_day.upper > 0 and table.updates_per_day.value > 0:
            rate = table.updates_per_day
            for group in groups:
                first = group[0]
                if (first.updates_per_day.value, first.at) == (rate.value, table.at) and _linked(table, group):
                    group.append(table)
                    break
            else:
                groups.append([table])
    return tuple(_stream(group, numbers) for group in groups)


def _stream(tables: Sequence[TableStatistics], numbers: Numbers) -> Stream:
    rate = swept(numbers(tables[0].updates_per_day, f"{tables[0].name}.updates"), UPDATES)
    tuples = {t.name: numbers(t.rows_per_update, f"{t.name}.update rows") * t.changes_per_row for t in tables}
    seen = [table.update_times for table in tables]
    times = tuple(sorted(set().union(*seen))) if all(seen) else ()
    return Stream(tuple(t.name for t in tables), rate, tuples, tables[0].at, times)


def _linked(table: TableStatistics, group: Sequence[TableStatistics]) -> bool:
    """Whether a table refers to one of the others, or one of them to it."""
    names = {each.name for each in group}
    mine = {reference.rpartition(".")[0] for reference in table.foreign_keys.values()}
    theirs = {r.rpartition(".")[0] for each in group for r in each.foreign_keys.values()}
    return bool(mine & names) or table.name in theirs


def _short(sql: str) -> str:
    plain = sql.replace("`", "")
    return plain if len(plain) <= 60 else plain[:57] + "…"
