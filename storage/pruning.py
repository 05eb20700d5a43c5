"""Which files can hold a row: min/max of the log, vectorised over files, never wrongly a no.

`files_with_keys` answers for a set of key values, `files_where` for a predicate. Both return a mask over
`snapshot.statistics`. A missing bound never prunes; nor does an upper bound on floats (NaN is left out of it
and sorts highest) nor a text bound that may have been cut off; timestamp maxima are widened by the
millisecond that writers cut away, decimals and floats by what a number in JSON may round away.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from storage.log import Snapshot
from storage.reading import physical_name
from views.errors import ViewError

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Family = Literal["boolean", "number", "date", "timestamp", "text"]

_CUT_OFF = 32
"""Text is compared by its first so many bytes; a maximum as long as this may have been cut off by its writer."""
_MILLISECOND_US = 1000
_WHOLE = re.compile(r"[+-]?\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(?P<zone>Z|[+-]\d\d:\d\d)?)?")


@dataclass(frozen=True)
class Bounds:
    """Per file the lowest and highest value of one column, as numbers or bytes that sort alike."""

    type: pa.DataType
    low: np.ndarray[Any, Any]
    high: np.ndarray[Any, Any]
    low_known: Mask
    high_known: Mask
    has_nulls: Mask
    """False only where the log says that the file has no NULL in this column."""
    all_nulls: Mask

    def between(self, least: Any, most: Any) -> Mask:
        """Files that can hold a value from `least` to `most`; None is no limit."""
        mask = ~self.all_nulls
        if most is not None:
            mask &= ~self.low_known | (self.low <= most)
        if least is not None:
            mask &= ~self.high_known | (self.high >= least)
        return mask

    def any_of(self, values: np.ndarray[Any, Any]) -> Mask:
        """Files that can hold one of some values, given in ascending order."""
        first = np.searchsorted(values, self.low, "left")
        last = np.searchsorted(values, self.high, "right")
        first[~self.low_known] = 0
        last[~self.high_known] = len(values)
        return np.asarray((first < last) & ~self.all_nulls)


def files_with_keys(snapshot: Snapshot, keys: Mapping[str, Sequence[Any] | pa.Array | pa.ChunkedArray]) -> Mask:
    """Files that can hold a row whose columns take one of the given values each; NULL keys match NULLs.

    With several columns each is tested on its own: a file is kept when every one of them can match.
    """
    mask = np.ones(snapshot.num_files, dtype=bool)
    for column, values in keys.items():
        bounds = _bounds(snapshot, column)
        if bounds is None:
            continue
        array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(list(values))
        present = array.drop_null()
        hit = np.zeros(snapshot.num_files, dtype=bool)
        if len(present):
            if _family(present.type) != _family(bounds.type):
                continue
            numbers = np.unique(_sortable(present))
            if numbers.dtype.kind == "f" and np.isnan(numbers[-1]):
                continue
            hit |= bounds.any_of(numbers)
        if array.null_count:
            hit |= bounds.has_nulls
        mask &= hit
    return mask


def overlap(snapshot: Snapshot, column: str) -> float | None:
    """The part of the files in which one value of a column may lie, on average; None where bounds are missing.

    1/n where each of n files has a range of its own, 1 where every file has the whole range.
    """
    bounds = _bounds(snapshot, column)
    if bounds is None or not snapshot.num_files or not (bounds.low_known & bounds.high_known).all():
        return None
    lows, highs = np.sort(bounds.low), np.sort(bounds.high)
    ends = (bounds.low, bounds.high)
    within = [np.searchsorted(lows, each, "right") - np.searchsorted(highs, each, "left") for each in ends]
    return float(np.mean(within)) / snapshot.num_files


def files_where(snapshot: Snapshot, predicate: str | exp.Expr) -> Mask:
    """Files that can hold a row for which the predicate is true."""
    try:
        tree = sqlglot.parse_one(predicate, dialect="spark") if isinstance(predicate, str) else predicate
    except sqlglot.ParseError as error:
        raise ViewError(f"filter {predicate!r} is not SQL ({error.errors[0]['description']})", "mend it") from error
    return _may_be_true(snapshot, tree)


def _may_be_true(snapshot: Snapshot, node: exp.Expr) -> Mask:
    everything = np.ones(snapshot.num_files, dtype=bool)
    match node:
        case exp.Paren(this=inner):
            return _may_be_true(snapshot, inner)
        case exp.And():
            return functools.reduce(operator.and_, (_may_be_true(snapshot, n) for n in node.flatten()))
        case exp.Or():
            return functools.reduce(operator.or_, (_may_be_true(snapshot, n) for n in node.flatten()))
        case exp.Boolean(this=value):
            return everything if value else ~everything
        case exp.Between(this=column, args={"low": low, "high": high}) if not node.args.get("symmetric"):
            return _compare(snapshot, column, ">=", low) & _compare(snapshot, column, "<=", high)
        case exp.In(this=column, expressions=values) if values:
            return _among(snapshot, column, values)
        case exp.Is(this=column, expression=exp.Null()):
            bounds = _column_bounds(snapshot, column)
            return everything if bounds is None else bounds.has_nulls
        case exp.EQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            op = {exp.EQ: "=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}[type(node)]
            flipped = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
            left, right = node.this, node.expression
            if isinstance(left, exp.Column):
                return _compare(snapshot, left, op, right)
            return _compare(snapshot, right, flipped, left)
        case _:
            return everything


def _compare(snapshot: Snapshot, column: exp.Expr, op: str, literal: exp.Expr) -> Mask:
    everything = np.ones(snapshot.num_files, dtype=bool)
    if isinstance(literal, exp.Null):
        return ~everything
    bounds = _column_bounds(snapshot, column)
    value = None if bounds is None else _literal(literal, bounds)
    if bounds is None or value is None:
        return everything
    # A whole number has a neighbour; for the rest, which may have been rounded, < is read as <=.
    step = 1 if isinstance(value, int) else 0
    match op:
        case "<":
            return bounds.between(None, value - step if step else value)
        case "<=":
            return bounds.between(None, value)
        case ">":
            return bounds.between(value + step if step else value, None)
        case ">=":
            return bounds.between(value, None)
        case _:
            return bounds.between(value, value)


def _among(snapshot: Snapshot, column: exp.Expr, literals: Sequence[exp.Expr]) -> Mask:
    bounds = _column_bounds(snapshot, column)
    values = [None if bounds is None else _literal(x, bounds) for x in literals if not isinstance(x, exp.Null)]
    if bounds is None or None in values:
        return np.ones(snapshot.num_files, dtype=bool)
    return bounds.any_of(np.unique(np.array(values, dtype=None if values else bounds.low.dtype)))


def _column_bounds(snapshot: Snapshot, node: exp.Expr) -> Bounds | None:
    """The bounds of a column as SQL names it; `s.x` may be a field of a struct, which has none here."""
    if not isinstance(node, exp.Column):
        return None
    first = node.parts[0].name.lower()
    if len(node.parts) > 1 and any(c.lower() == first for c in snapshot.columns):
        return None
    return _bounds(snapshot, node.name)


def _bounds(snapshot: Snapshot, column: str) -> Bounds | None:
    """The bounds of a column, computed once per snapshot; None when the log has none or they do not sort."""
    cache: dict[str, Bounds | None] = snapshot.__dict__.setdefault("_bounds_cache", {})
    field = next((f for f in snapshot.fields if f["name"].lower() == column.lower()), None)
    if field is None:
        return None
    if field["name"] not in cache:
        cache[field["name"]] = _make_bounds(snapshot, field)
    return cache[field["name"]]


def _make_bounds(snapshot: Snapshot, field: Mapping[str, Any]) -> Bounds | None:
    table, n = snapshot.statistics, snapshot.num_files
    if field["name"] in snapshot.partition_columns:
        values = table[f"partition.{field['name']}"]
        if _family(values.type) is None:
            return None
        nulls, numbers = _mask(pc.is_null(values)), _sortable(values)
        known = ~nulls & (numbers == numbers)
        return Bounds(values.type, numbers, numbers, known, known, nulls, nulls)
    column = physical_name(field)
    # Statistics of structs are flattened with a dot, so a dotted name could mean either.
    if "." in column or f"min.{column}" not in table.column_names or f"max.{column}" not in table.column_names:
        return None
    low, high = table[f"min.{column}"], table[f"max.{column}"]
    if _family(low.type) is None:
        return None
    low_known, high_known = _mask(pc.is_valid(low)), _mask(pc.is_valid(high))
    lows, highs = _sortable(low), _sortable(high)
    if lows.dtype.kind == "f":
        lows, highs = np.nextafter(lows, -np.inf), np.nextafter(highs, np.inf)
    if pa.types.is_floating(low.type):
        high_known = np.zeros(n, dtype=bool)
    if pa.types.is_timestamp(low.type):
        highs = highs + _MILLISECOND_US
    if _family(low.type) == "text":
        high_known &= _mask(pc.fill_null(pc.less(pc.binary_length(high), _CUT_OFF), False))
    has_nulls, all_nulls = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    if f"null_count.{column}" in table.column_names:
        counts = table[f"null_count.{column}"]
        has_nulls = _mask(pc.fill_null(pc.not_equal(counts, 0), True))
        all_nulls = _mask(pc.fill_null(pc.equal(counts, table["num_records"]), False))
    return Bounds(low.type, lows, highs, low_known, high_known, has_nulls, all_nulls)


def _mask(values: pa.ChunkedArray | pa.Array) -> Mask:
    return np.array(values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy())


def _family(kind: pa.DataType) -> Family | None:
    """Types of one family compare with each other as their `_sortable` values do."""
    t = pa.types
    if t.is_boolean(kind):
        return "boolean"
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind):
        return "number"
    if t.is_date32(kind):
        return "date"
    if t.is_timestamp(kind):
        return "timestamp"
    return "text" if t.is_string(kind) or t.is_large_string(kind) else None


def _sortable(values: pa.ChunkedArray | pa.Array) -> np.ndarray[Any, Any]:
    """Values of a family as a numpy array that sorts as Spark sorts them; what is rounded keeps its order."""
    kind = values.type
    if _family(kind) == "text":
        utf8 = pc.fill_null(values, "").cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
        return np.asarray(utf8.to_numpy(zero_copy_only=False)).astype(f"S{_CUT_OFF}")
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    elif not pa.types.is_integer(kind):
        values = values.cast(pa.float64())
    return np.asarray(pc.fill_null(values, 0).to_numpy())


def _literal(node: exp.Expr, bounds: Bounds) -> Any:
    """A literal as the bounds' kind of value, or None when it cannot be told without the engine."""
    as_date = False
    if isinstance(node, exp.Cast) and node.this.is_string:
        as_date = node.to.this == exp.DataType.Type.DATE
        if not as_date and node.to.this not in (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ):
            return None
        node = node.this
    negative = isinstance(node, exp.Neg)
    inner = node.this if negative else node
    if not isinstance(inner, exp.Literal) or (negative and inner.is_string):
        return None
    text = ("-" if negative else "") + inner.this
    try:
        match _family(bounds.type):
            case "date":
                return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days if _DATE.fullmatch(text) else None
            case "timestamp":
                return _microseconds(text, bounds.type) if not as_date or _DATE.fullmatch(text) else None
            case "text":
                return text.encode()[:_CUT_OFF] if inner.is_string else None
            case "number":
                return _number(text, inner.is_string, bounds.low.dtype.kind == "f")
            case _:
                return None
    except (ValueError, decimal.InvalidOperation):
        return None


def _microseconds(text: str, kind: pa.DataType) -> int | None:
    """A moment since 1970; the session's time zone is UTC, and a zone means nothing to a column without one."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None or (found["zone"] and kind.tz is None):
        return None
    moment = dt.datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def _number(text: str, quoted: bool, as_float: bool) -> int | float | None:
    """A number; one in quotes is cast to the column's type first, which only whole numbers survive unchanged."""
    if quoted and (as_float or not _WHOLE.fullmatch(text)):
        return None
    number = decimal.Decimal(text)
    if as_float or number != number.to_integral_value() or abs(number) >= 2**63:
        return float(number)
    return int(number)
