"""Rows on the driver, under SQL's notion of the same row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]


def tuples(rows: pa.Table) -> list[Row]:
    """Rows as hashable tuples under SQL's notion of the same row: NaN equals NaN, −0.0 equals 0.0."""
    if not rows.num_columns:
        return []
    return [tuple(map(_canonical, row)) for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)]


def _canonical(value: Any) -> Any:
    match value:
        case float() if value != value:
            return "NaN"
        case dict():
            return tuple((k, _canonical(v)) for k, v in value.items())
        case list():
            return tuple(_canonical(v) for v in value)
        case _:
            return value


def show_row(row: Mapping[str, Any]) -> str:
    """A row in words, for messages."""
    text = ", ".join(f"{c} = {v!r}" if isinstance(v, str) else f"{c} = {v}" for c, v in row.items())
    return text if len(text) <= 200 else text[:200] + " …"


class Sought:
    """Rows to be found among others, and how often each.

    Two rows are the same when they are equal, or, where that is allowed, when their exact columns are equal and their
    floating-point columns are close: a sum of doubles that is computed again may differ in its last digits, because
    the engine does not fix the order.
    """

    def __init__(self, rows: pa.Table, counts: Sequence[int]) -> None:
        self.rows = rows
        self.inexact = [i for i, f in enumerate(rows.schema) if pa.types.is_floating(f.type)]
        self._waiting: dict[Row, dict[Row, int]] = {}
        for row, count in zip(tuples(rows), counts, strict=True):
            same = self._waiting.setdefault(self._exact(row), {})
            same[row] = same.get(row, 0) + count

    def __len__(self) -> int:
        return sum(sum(same.values()) for same in self._waiting.values())

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def example(self) -> Row:
        return next(iter(next(iter(self._waiting.values()))))

    def _exact(self, row: Row) -> Row:
        return tuple(value for i, value in enumerate(row) if i not in self.inexact)

    def take(self, row: Row, *, close: bool) -> bool:
        """Whether a row is one of those that are sought, or close to one; that one is then taken off."""
        key = self._exact(row)
        same = self._waiting.get(key, {})
        found = row if row in same else None
        if found is None and close:
            found = next((each for each in same if all(_close(row[i], each[i]) for i in self.inexact)), None)
        if found is None:
            return False
        same[found] -= 1
        if not same[found]:
            del same[found]
        if not same:
            del self._waiting[key]
        return True


def _close(left: Any, right: Any) -> bool:
    if left == right:
        return True
    return (
        isinstance(left, float) and isinstance(right, float) and math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    )
