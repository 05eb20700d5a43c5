"""What is known about base tables, and how well: every number carries its range and where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["measured", "sampled", "derived", "declared", "default"]
Bound = float | str

_TRUST: tuple[Source, ...] = ("measured", "sampled", "derived", "declared", "default")
_SPREAD: dict[Source, float] = {"measured": 1.0, "sampled": 1.1, "derived": 1.5, "declared": 1.25, "default": 10.0}


@dataclass(frozen=True)
class Estimate:
    """A number, the range it probably lies in, and its source.

    Ranges are factors around the value: none for what was counted, a quarter for what a person declared,
    ten for a default.
    """

    value: float
    lower: float
    upper: float
    source: Source

    def __post_init__(self) -> None:
        if not self.lower <= self.value <= self.upper:
            raise ValueError(f"{self.value} is not within [{self.lower}, {self.upper}]")

    @classmethod
    def of(cls, value: float, source: Source, *, most: float = float("inf"), least: float = 0.0) -> Estimate:
        """A value with the usual range of its source, cut to what is possible.

        >>> Estimate.of(0.5, "declared", most=1)
        Estimate(value=0.5, lower=0.4, upper=0.625, source='declared')
        """
        value = min(max(value, least), most)
        factor = _SPREAD[source]
        return cls(value, max(value / factor, least), min(value * factor, most), source)

    def times(self, other: Estimate) -> Estimate:
        """The product; it is as trustworthy as the weaker factor."""
        return Estimate(
            self.value * other.value,
            self.lower * other.lower,
            self.upper * other.upper,
            weakest((self.source, other.source)),
        )


def weakest(sources: Iterable[Source]) -> Source:
    """The least trustworthy source.

    >>> weakest(["measured", "default", "declared"])
    'default'
    """
    return max(sources, key=_TRUST.index)


@dataclass(frozen=True)
class ColumnStatistics:
    """One column: how many values it takes, how wide they are, and how they lie over the files."""

    distinct: Estimate
    width_bytes: Estimate
    overlap: Estimate
    """The part of the files in which one of its values may lie: 1 where nothing prunes."""


@dataclass(frozen=True)
class TableStatistics:
    """One base table: size, update transactions, and what helps to guess selectivities."""

    name: str
    rows: Estimate
    row_bytes: Estimate
    updates_per_day: Estimate
    rows_per_update: Estimate
    changes_per_row: float = 2.0
    """Tuples that one changed row adds to A and D: a modification is a deletion and an insertion."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column and Spark type, in order."""
    key: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[Bound, Bound, Source]] = field(default_factory=dict)
    """Column: lowest and highest value, and who says so."""
    clustered: tuple[str, ...] = ()
    """Columns by which a scan can skip files: partition columns and the first key column."""
    fingerprint: str = "declared"
    """Changes when the data does."""
    files: Estimate = Estimate(1.0, 1.0, 1.0, "default")
    details: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    """By column, where anything is known of it."""
    conditions: Mapping[str, Estimate] = field(default_factory=dict)
    """By condition on its columns, as SQL: the part of the rows that passes, where that was sampled."""
    combinations: Mapping[str, Estimate] = field(default_factory=dict)
    """By expressions over its columns, as SQL: how many combinations of values they take together."""
    joins: Mapping[str, Estimate] = field(default_factory=dict)
    """By `column=other.column`: the part of all pairs of rows that are equal there, |R ⋈ S| / (|R| |S|)."""
    matched: Mapping[str, Estimate] = field(default_factory=dict)
    """By the same names: the part of this table's rows that has a partner in the other."""
    foreign_keys: Mapping[str, str] = field(default_factory=dict)
    deletes: float = 0.5
    """The part of the changed tuples that is deleted; a modification deletes one and inserts one."""
    at: tuple[int, ...] = ()
    """The minutes of the day at which updates come, where they come in batches."""
    update_times: tuple[float, ...] = ()
    """When updates came, in seconds since the epoch, oldest first, where their rate was observed."""

    def column(self, name: str) -> str | None:
        """The table's own spelling of a column."""
        for column in (*self.columns, *self.key, *self.ranges):
            if column.casefold() == name.casefold():
                return column
        return None
