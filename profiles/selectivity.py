"""How large a part of a table passes a condition: rules that use keys and ranges, else labelled defaults.

The defaults are System R's: a tenth for an equality, a third for a range, a quarter for an interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import prod

from profiles.statistics import Bound, Estimate, TableStatistics, weakest
from views.conditions import AllOf, AnyOf, Column, Comparison, Condition, Literal, Negation, Opaque

_EQUAL, _RANGE, _INTERVAL, _LIKE, _OTHER = 0.1, 1 / 3, 0.25, 0.1, 1 / 3
Tables = Mapping[str, TableStatistics]


def selectivity(condition: Condition, tables: Tables) -> Estimate:
    """The fraction of rows for which the condition holds."""
    match condition:
        case AllOf(parts):
            return conjunction(parts, tables)
        case AnyOf(parts):
            return _not(_product([_not(selectivity(part, tables)) for part in parts]))
        case Negation(part):
            return _not(selectivity(part, tables))
        case Comparison():
            return _comparison(condition, tables)
        case Opaque():
            return _default(_OTHER)


def conjunction(conditions: tuple[Condition, ...], tables: Tables) -> Estimate:
    """All of them hold, as if independent; 1 when there are none."""
    return _product([selectivity(each, tables) for each in conditions])


def owner(column: Column, tables: Tables) -> TableStatistics | None:
    """The table a column belongs to: the one named, else the only one that has it."""
    if column.table is not None:
        return tables.get(column.table)
    owners = [table for table in tables.values() if table.column(column.name)]
    return owners[0] if len(owners) == 1 else None


def _comparison(comparison: Comparison, tables: Tables) -> Estimate:
    table = owner(comparison.column, tables)
    values = comparison.values
    match comparison.op:
        case "=":
            return _equal(comparison.column, table)
        case "<>":
            return _not(_equal(comparison.column, table))
        case "in":
            one = _equal(comparison.column, table)
            count = max(len(set(values)), 1)
            value, lower, upper = (min(1.0, count * x) for x in (one.value, one.lower, one.upper))
            return Estimate(value, lower, upper, one.source)
        case "null" | "like":
            return _default(_LIKE)
        case "between" if len(values) == 2:
            return _within(comparison.column.name, table, values[0], values[1], _INTERVAL)
        case "<" | "<=" if values:
            return _within(comparison.column.name, table, None, values[0], _RANGE)
        case ">" | ">=" if values:
            return _within(comparison.column.name, table, values[0], None, _RANGE)
        case "between":
            return _default(_INTERVAL)
    return _default(_RANGE)


def _equal(column: Column, table: TableStatistics | None) -> Estimate:
    if table is not None:
        own = table.column(column.name)
        if own is not None and table.key == (own,):
            value, lower, upper = (1 / max(x, 1.0) for x in (table.rows.value, table.rows.upper, table.rows.lower))
            return Estimate(value, lower, upper, "derived")
        low, high, source = table.ranges.get(own or "", (0.0, 0.5, "default"))
        if source == "declared" and isinstance(low, int | float) and isinstance(high, int | float):
            whole = float(low).is_integer() and float(high).is_integer()
            if whole:
                return Estimate.of(1 / (high - low + 1), "derived", most=1.0)
        known = table.details.get(own or "")
        if known is not None and known.distinct.source != "default":
            value, lower, upper = (
                1 / max(x, 1.0) for x in (known.distinct.value, known.distinct.upper, known.distinct.lower)
            )
            return Estimate(value, lower, upper, weakest(("derived", known.distinct.source)))
    return _default(_EQUAL)


def _within(
    column: str, table: TableStatistics | None, low: Literal | None, high: Literal | None, otherwise: float
) -> Estimate:
    """The part of the column's range that lies between two values, as if spread evenly."""
    own = table.column(column) if table is not None else None
    if table is None or own is None or own not in table.ranges:
        return _default(otherwise)
    first, last = _number(table.ranges[own][0]), _number(table.ranges[own][1])
    start = first if low is None else _number(low)
    end = last if high is None else _number(high)
    if first is None or last is None or start is None or end is None:
        return _default(otherwise)
    if first == last:
        return Estimate.of(1.0 if start <= first <= end else 0.0, "derived", most=1.0)
    part = (min(end, last) - max(start, first)) / (last - first)
    return Estimate.of(part, "derived", most=1.0)


def _number(bound: Bound) -> float | None:
    """Numbers as they are, dates and times as seconds; other text has no distance."""
    if not isinstance(bound, str):
        return float(bound)
    try:
        return float(bound)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(bound.strip())
    except ValueError:
        return None
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()


def _default(value: float) -> Estimate:
    return Estimate.of(value, "default", most=1.0)


def _not(estimate: Estimate) -> Estimate:
    return Estimate(1 - estimate.value, 1 - estimate.upper, 1 - estimate.lower, estimate.source)


def _product(parts: list[Estimate]) -> Estimate:
    if not parts:
        return Estimate(1.0, 1.0, 1.0, "derived")
    return Estimate(
        prod(part.value for part in parts),
        prod(part.lower for part in parts),
        prod(part.upper for part in parts),
        weakest(part.source for part in parts),
    )
