"""What may stand in a workload file: the keys, their types and their limits, one model per block.

The models describe the file and nothing else; `profiles.workload` loads them and the rest of the program
works with what it gives back.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from profiles import units

Strategy = Literal["query_modification", "immediate", "deferred"]
StrategyChoice = Literal["auto", "query_modification", "immediate", "deferred"]
AlgorithmName = Literal["counting", "differential", "dred", "marking", "recompute"]
AlgorithmChoice = Literal["auto", "counting", "differential", "dred", "marking", "recompute"]

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,127}$"
CATALOG_PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}$"


def _name(text: str) -> str:
    if re.fullmatch(NAME_PATTERN, text):
        return text
    raise ValueError(f"{text[:60]!r} is not a name; use letters, digits, _ and -, starting with a letter")


def _mix_sums_to_one(*parts: float | None) -> None:
    given = [part for part in parts if part is not None]
    if given and not math.isclose(sum(given), 1.0, abs_tol=1e-6):
        raise ValueError(f"inserts, deletes and modifies sum to {sum(given):g}; they are fractions and must sum to 1")


def _domain(bounds: Any) -> Any:
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise ValueError("a domain is a pair; write it as [lowest, highest]")
    low, high = bounds
    numbers = all(isinstance(b, int | float) and not isinstance(b, bool) for b in bounds)
    if not numbers and not all(isinstance(b, str) for b in bounds):
        raise ValueError("a domain's ends are two numbers or two texts (dates); write it as [lowest, highest]")
    if numbers and not all(math.isfinite(b) for b in bounds):
        raise ValueError("a domain's ends must be finite numbers")
    if low > high:
        raise ValueError(f"the domain [{low}, {high}] is empty; write the lower end first")
    return (low, high)


def _times(value: Any) -> Any:
    return tuple(units.minute_of_day(each) for each in (value if isinstance(value, list) else [value]))


def _engine(value: Any) -> Any:
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, dict):
        if "kind" in value:
            raise ValueError("unknown key 'kind' in engine; use auto, spark, sail, {master: …} or {remote: …}")
        if ("master" in value) == ("remote" in value):
            raise ValueError("engine needs one of master and remote; use auto, spark, sail, {master: …} or {remote: …}")
        return {"kind": "remote" if "remote" in value else "spark", **value}
    raise ValueError("engine is not understood; use auto, spark, sail, {master: …} or {remote: …}")


def _text(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]
PathText = Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$")]
Rate = Annotated[float, Field(strict=True, ge=0, le=1e9, allow_inf_nan=False)]
Rows = Annotated[float, Field(strict=True, ge=0, le=1e15, allow_inf_nan=False)]
RowBytes = Annotated[float, Field(strict=True, gt=0, le=1e9, allow_inf_nan=False)]
Fraction = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Seconds = Annotated[float, BeforeValidator(units.seconds), _text(units.DURATION_PATTERN, "15m")]
Bytes = Annotated[int, BeforeValidator(units.size_bytes), _text(units.SIZE_PATTERN, "10GiB")]
Window = Annotated[tuple[int, int], BeforeValidator(units.window), _text(units.WINDOW_PATTERN, "08:00-18:00")]
_TIME = {"type": "string", "pattern": units.TIME_PATTERN, "examples": ["02:00"]}
Times = Annotated[
    tuple[int, ...],
    BeforeValidator(_times),
    WithJsonSchema({"oneOf": [_TIME, {"type": "array", "items": _TIME}]}),
]
_ENDS = {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2, "maxItems": 2}
Domain = Annotated[
    tuple[float, float] | tuple[str, str],
    BeforeValidator(_domain),
    WithJsonSchema(_ENDS),
]


class Block(BaseModel):
    """A block of the file: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, defer_build=True)


class Engine(Block):
    """Where Spark runs."""

    kind: Literal["auto", "spark", "sail", "remote"] = "auto"
    master: Annotated[str, Field(min_length=1)] | None = None
    conf: dict[str, str] = {}
    remote: Annotated[str, Field(pattern=r"^sc://.+")] | None = None


_ENGINE_SCHEMA = {
    "oneOf": [
        {"enum": ["auto", "spark", "sail"]},
        {
            "type": "object",
            "properties": {
                "master": {"type": "string"},
                "conf": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["master"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"remote": {"type": "string", "pattern": "^sc://.+"}},
            "required": ["remote"],
            "additionalProperties": False,
        },
    ]
}
EngineChoice = Annotated[Engine, BeforeValidator(_engine), WithJsonSchema(_ENGINE_SCHEMA)]


class Updates(Block):
    """The update transactions of a base table."""

    per_day: Rate | None = None
    """Transactions a day."""
    rows: Rows | None = None
    """Rows one transaction changes."""
    inserts: Fraction | None = None
    """Fraction of those rows that are inserted; the three fractions sum to 1."""
    deletes: Fraction | None = None
    """Fraction of those rows that are deleted."""
    modifies: Fraction | None = None
    """Fraction of those rows that are modified."""
    at: Times = ()
    """The times of day at which the transactions come, when they come in batches."""

    @model_validator(mode="after")
    def _mix(self) -> Self:
        _mix_sums_to_one(self.inserts, self.deletes, self.modifies)
        return self


class Table(Block):
    """A base table: its data (`path`), its catalog name (`table`), or only what it is like (`rows`)."""

    path: PathText | None = None
    """A Delta or Parquet folder, or a CSV or JSON file; relative to the workload file."""
    table: Annotated[str, Field(pattern=CATALOG_PATTERN)] | None = None
    """A table of Spark's catalog; `rows` and `row_bytes` may be declared beside it."""
    rows: Rows | None = None
    """How many rows it has."""
    row_bytes: RowBytes | None = None
    """Bytes a row takes."""
    columns: dict[str, str] | None = None
    """Column names and their Spark types."""
    key: tuple[str, ...] = ()
    """The columns that identify a row."""
    foreign_keys: dict[str, str] = {}
    """Column: the table.column it points to."""
    domains: dict[str, Domain] = {}
    """Column: [lowest, highest] value it can take."""
    updates: Updates | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.path is not None and self.table is not None:
            raise ValueError("has both path and table; keep one of path, table and rows")
        if self.path is not None and self.rows is not None:
            raise ValueError("has both path and rows; keep one: rows are counted where there is data")
        if self.path is None and self.table is None and self.rows is None:
            raise ValueError("has no path, table or rows; give exactly one of them")
        return self


class Queries(Block):
    """The queries a view receives."""

    per_day: Rate | None = None
    """Queries a day."""
    fraction: Fraction | None = None
    """Fraction of the view one query reads."""
    filter: Annotated[str, Field(min_length=1)] | None = None
    """The condition a query puts on the view, as SQL."""
    between: Window | None = None
    """The part of the day in which they come."""


class Today(Block):
    """What is done now, to compare with."""

    strategy: Strategy
    algorithm: AlgorithmName | None = None
    seconds: Annotated[float, Field(strict=True, ge=0, le=1e9, allow_inf_nan=False)] | None = None
    """What it costs, in seconds a day."""


class View(Block):
    """A view: its definition, who reads it, and what its readers tolerate."""

    sql: Annotated[str, Field(min_length=1)] | None = None
    sql_file: PathText | None = None
    """A file with the SQL, in the workload's folder."""
    datalog: Annotated[str, Field(min_length=1)] | None = None
    queries: Queries | None = None
    readers: Literal["advisor", "external"] = "advisor"
    """external: read as a plain table by others, so nothing may be left to query time."""
    max_staleness: Seconds | None = None
    max_query_latency: Seconds | None = None
    today: Today | None = None
    strategy: StrategyChoice = "auto"
    algorithm: AlgorithmChoice = "auto"
    strict: Annotated[bool, Field(strict=True)] = False
    """An error instead of a fallback to recompute."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        given = [k for k in ("sql", "sql_file", "datalog") if getattr(self, k) is not None]
        if len(given) > 1:
            raise ValueError(f"has both {' and '.join(given)}; keep one")
        if not given:
            raise ValueError("has no definition; give exactly one of sql, sql_file and datalog")
        if self.strategy == "query_modification" and self.readers == "external":
            raise ValueError("pins query_modification but has external readers; they need a stored view")
        if self.strategy == "query_modification" and self.algorithm != "auto":
            raise ValueError(f"pins query_modification and {self.algorithm}; nothing is kept, so drop the algorithm")
        return self


class Defaults(Block):
    """What holds for every view that does not say otherwise."""

    readers: Literal["advisor", "external"] | None = None
    max_staleness: Seconds | None = None
    max_query_latency: Seconds | None = None
    strict: Annotated[bool, Field(strict=True)] | None = None


class Budget(Block):
    """What stored views may take together."""

    storage: Bytes


class Price(Block):
    """What computing costs."""

    core_hour: Annotated[float, Field(strict=True, ge=0, le=1e6, allow_inf_nan=False)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "EUR"


class Fragment(Block):
    """An included file: more tables and views."""

    tables: dict[Name, Table] = {}
    views: dict[Name, View] = {}


class WorkloadFile(Fragment):
    """The whole file: base tables with their updates, views with their queries."""

    name: Name | None = None
    """What to call it; the folder's name when absent."""
    warehouse: PathText = "warehouse"
    """The folder of the stored views; relative to the workload file."""
    engine: EngineChoice = Engine()
    defaults: Defaults = Defaults()
    include: tuple[PathText, ...] = ()
    """Files with more tables and views, in the workload's folder; wildcards are allowed."""
    driver_rows: Annotated[int, Field(strict=True, ge=1, le=100_000_000)] = 200_000
    """No refresh brings more rows than this to the driver at a time; larger changes stay on the engine."""
    budget: Budget | None = None
    price: Price | None = None
