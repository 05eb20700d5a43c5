"""Rows on the driver, under SQL's notion of the same row."""

from __future__ import annotations

from collections.abc import Mapping
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
