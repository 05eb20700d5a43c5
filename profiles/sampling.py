"""Statistics that only the rows know, sampled by Spark: one job per table, and one more for all joins.

    a table      every condition of every view is counted over its rows in one pass, and a few thousand rows come to
                 the driver as hashes of the values that views join and group by. A table larger than the budget is
                 looked at in files drawn at random; files of which the log says that no row can pass are not drawn for
                 that condition but known.
    its joins    of every joined column the values whose hash falls under a threshold, with their numbers of rows.
                 The threshold is the same on both sides, so that samples of matching rows match (correlated samples),
                 and values that the first rows show to be frequent are always among them.

Rows are chosen by hashes, not by random numbers: the same version gives the same statistics, on any engine.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp

from profiles.estimators import Draw, Hashes, KeySample, Matches, Numbers, jackknife, matches, part, threshold
from profiles.requests import Join, Request, comparable, text, value_text
from profiles.samples import Sampled
from profiles.statistics import Estimate, Source
from storage.log import Snapshot, is_delta
from storage.pruning import files_where, overlap
from storage.reading import physical_name
from storage.table import Table
from views.errors import ExecutionError, TableError
from views.rules import body_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

BUDGET_ROWS = 1_000_000
"""Rows of a table that are looked at; a table with no more is counted exactly."""
SAMPLE_ROWS = 40_000
"""Rows of a table that come to the driver, as hashes."""
KEYS = 8_000
"""Values of a joined column that are followed to the other side."""
WHOLE_COLUMNS = 20
"""A joined column is read whole up to so many times the budget; beyond it in the files that were drawn."""
LEAST_FILES = 4
"""Fewer files would not tell how much files differ."""
GROUPS = 4
"""Drawn files are read in so many groups, whose differences say how alike neighbours are."""
AT_ONCE = 4
"""Tables that are looked at side by side: while one is planned, another is read."""
FREQUENT = 20
"""Rows of the sample that show a value to be frequent."""
_MOST_FREQUENT = 200
_SETTLED = 0.01
"""So few rows with a value of their own in the sample that it holds nearly all values."""
_EVEN = 0.9
"""A value lies in so large a part of the files: a few of them hold about the same values as all."""
_FOOTERS = 8
_NULL = threshold(0.0)
"""The hash of what has none."""

Progress = Callable[[str], None]
Values = tuple[str, ...]
"""Expressions that are counted together."""
Counted = tuple[str, Values]
"""A table and values of it."""
Files = np.ndarray[Any, np.dtype[np.bool_]]


def sample(
    spark: SparkSession,
    requests: Sequence[Request],
    budget_rows: int = BUDGET_ROWS,
    progress: Progress = lambda _: None,
) -> dict[str, Sampled]:
    """Measure what is requested of each table; a join only where both of its tables are among them.

    Tables are looked at side by side; `progress` hears of each in the order of the requests.
    """
    from pyspark.errors import PySparkException

    def look(request: Request) -> _Look:
        try:
            return _look(_source(spark, request), request, budget_rows)
        except PySparkException as error:
            raise _failed(request.table, error) from error

    looks: dict[str, _Look] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for found in pool.map(look, requests):
            looks[found.request.table] = found
            progress(found.said)
    plans = _plans(looks, budget_rows)
    if followed := sum(plan.kept is not None for plan in plans.values()):
        progress(f"joins: {followed} columns")
    keys = _key_samples(spark, looks, plans)
    return {request.table: _assembled(request, looks, plans, keys) for request in requests}


@dataclass(frozen=True)
class _Source:
    """A table's rows, by file where there are files to choose from."""

    read: Callable[[Files | None], DataFrame]
    """Of the files of a mask, or of all."""
    file_rows: Numbers | None = None
    snapshot: Snapshot | None = None
    footers: Sequence[Path] = ()
    frames: dict[bytes, DataFrame] = field(default_factory=dict)
    """Those opened so far."""

    def frame(self, files: Files | None) -> DataFrame:
        """The rows of some files, or of all; the same ones are opened once."""
        name = b"" if files is None else files.tobytes()
        if name not in self.frames:
            self.frames[name] = self.read(files)
        return self.frames[name]

    @property
    def rows(self) -> float | None:
        return None if self.file_rows is None else float(self.file_rows.sum())

    def rows_of(self, files: Files | None) -> float | None:
        """The rows of some files, or of all; None where only the engine can tell."""
        return self.rows if files is None or self.file_rows is None else float(self.file_rows[files].sum())

    def candidates(self, condition: str) -> Files:
        """The files that can hold a row for which the condition is true."""
        assert self.file_rows is not None
        if self.snapshot is None:
            return np.ones(len(self.file_rows), dtype=bool)
        return files_where(self.snapshot, condition)


def _source(spark: SparkSession, request: Request) -> _Source:
    if isinstance(request.place, str):
        name = request.place
        return _Source(lambda _: spark.table(name))
    path = request.place
    if is_delta(path):
        return _delta(Table(spark, path, name=request.table), request.version)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    files = [f for f in files if not any(p.startswith(("_", ".")) for p in f.relative_to(path).parts)]
    match files[0].suffix if files else "":
        case ".parquet" if not any("=" in p for f in files for p in f.relative_to(path).parts):
            rows = np.array([pq.read_metadata(f).num_rows for f in files], dtype=float)
            return _Source(
                lambda mask: spark.read.parquet(
                    *[str(f) for f, drawn in zip(files, rows == rows if mask is None else mask, strict=True) if drawn]
                ),
                rows,
                footers=files,
            )
        case ".parquet":
            return _Source(lambda _: spark.read.parquet(str(path)))
        case ".csv" | ".tsv":
            return _Source(lambda _: spark.read.option("header", True).option("inferSchema", True).csv(str(path)))
        case ".json" | ".jsonl" | ".ndjson":
            return _Source(lambda _: spark.read.json(str(path)))
        case _:
            raise TableError(f"{path}: neither Delta, Parquet, CSV nor JSON", "declare rows: instead")


def _delta(table: Table, version: str) -> _Source:
    found = re.fullmatch(r"delta .* version (\d+)", version)
    snapshot = table.log.snapshot(int(found[1]) if found else None)
    counts = snapshot.statistics["num_records"].to_numpy().astype(float)
    counts -= np.array([len(snapshot.vectors.get(file, ())) for file in snapshot.paths], dtype=float)
    return _Source(
        lambda mask: table.rows(mask, snapshot.version),
        counts if len(counts) and not np.isnan(counts).any() else np.zeros(0) if not len(counts) else None,
        snapshot,
        [snapshot.root / file for file in snapshot.paths],
    )


@dataclass(frozen=True)
class _Look:
    """One pass over a table: what its conditions passed, and some of its rows as hashes."""

    request: Request
    source: _Source
    rows: float
    groups: tuple[Files, ...]
    """The files drawn; none when all of them were read."""
    counts: Mapping[str, tuple[Draw, ...]]
    looked: float
    hashes: Mapping[Values, Hashes]
    passes: Mapping[str, Numbers]
    """Of the sampled rows, which pass the conditions of joins."""
    drawn: float
    """The rows that the sample stands for, as a part of those looked at."""

    @property
    def complete(self) -> bool:
        """Whether the sample holds every row."""
        return not self.groups and self.drawn >= 1

    @property
    def scale(self) -> float:
        """Rows per row looked at."""
        return self.rows / self.looked if self.groups and self.looked else 1.0

    @property
    def said(self) -> str:
        of = f" of {self.rows:,.0f}" if self.groups else ""
        return f"{self.request.table}: {self.looked:,.0f}{of} rows"

    @cached_property
    def key(self) -> frozenset[str]:
        return frozenset(text(body_column(c)) for c in self.request.key)

    def even(self, values: Values) -> bool:
        """Whether the files drawn hold about the values that all files hold."""
        snapshot = self.source.snapshot
        columns = [c for c in self.request.types if any(_quoted(c) in each for each in values)]
        apart = [None if snapshot is None else overlap(snapshot, c) for c in columns]
        return not self.groups or all(part is not None and part >= _EVEN for part in apart)

    def counted(self, values: Values) -> tuple[Hashes, Numbers]:
        """The distinct values of the sample and how often each occurs."""
        found, counts = np.unique(self.hashes[values], return_counts=True)
        return found, counts.astype(float)


def _look(source: _Source, request: Request, budget_rows: int) -> _Look:
    """Look at a table once; what an engine refuses to evaluate is left out, where that is all that is wrong.

    A condition by itself can fail where a view never asks it: of a row that another condition keeps away.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    try:
        return _looked(source, request, budget_rows)
    except PySparkException:
        frame = source.frame(None)
        kept = [c for c in request.conditions if _answers(frame.agg(F.count(F.when(F.expr(c), F.lit(1)))))]
        if len(kept) == len(request.conditions):
            raise
    joins = tuple(join for join in request.joins if not join.where or join.where in kept)
    return _looked(source, replace(request, conditions=tuple(kept), joins=joins), budget_rows)


def _answers(frame: DataFrame) -> bool:
    from pyspark.errors import PySparkException

    try:
        frame.toArrow()
    except PySparkException:
        return False
    return True


def _looked(source: _Source, request: Request, budget_rows: int) -> _Look:
    from pyspark.sql import functions as F

    values, joined = _counted(request), _join_conditions(request)
    if source.file_rows is not None and not source.rows:
        nothing = np.empty(0, dtype=np.int64)
        hashes = dict.fromkeys(values, nothing)
        return _Look(request, source, 0.0, (), dict.fromkeys(request.conditions, ()), 0.0, hashes, {}, 1.0)
    groups = _draw(source.file_rows, budget_rows, f"{request.table} {request.version}")
    files = np.logical_or.reduce(groups) if groups else None
    frame = source.frame(files)
    rows = source.rows_of(files) or float(frame.count())
    drawn = min(1.0, SAMPLE_ROWS / rows) if rows else 1.0
    bits = joined if drawn < 1 else sorted({*joined, *request.conditions})
    some = _some_rows(frame, request, drawn).select(
        F.lit(-1).alias("group"),
        F.array(*[_hash(v, request) for v in values], *[_one(c) for c in bits], F.lit(1).cast("bigint")).alias("found"),
    )
    parts: list[Files | None] = [*groups] or [None]
    counted = [_passing(source.frame(mask), n, request.conditions) for n, mask in enumerate(parts)] if drawn < 1 else []
    found = reduce(lambda one, two: one.unionAll(two), [some, *counted]).toArrow()
    group = found["group"].to_numpy()
    sampled = _matrix(found["found"], np.flatnonzero(group < 0), len(values) + len(bits))
    passes = {each: sampled[:, len(values) + i].astype(float) for i, each in enumerate(bits)}
    if drawn < 1:
        totals = _matrix(found["found"], np.flatnonzero(group >= 0), len(request.conditions) + 1)
        totals = totals[np.argsort(group[group >= 0])]
        seen = float(totals[:, -1].sum())
        counts = {c: _draws(source, c, parts, totals[:, i], seen) for i, c in enumerate(request.conditions)}
    else:
        seen = float(len(sampled))
        counts = {c: (Draw(float(passes[c].sum()), seen),) for c in request.conditions}
    return _Look(
        request,
        source,
        source.rows if groups and source.rows is not None else seen,
        tuple(groups),
        counts,
        seen,
        {each: sampled[:, i] for i, each in enumerate(values)},
        passes,
        drawn,
    )


def _passing(frame: DataFrame, number: int, conditions: Sequence[str]) -> DataFrame:
    """The rows of a group of files that pass each condition, and all of them."""
    from pyspark.sql import functions as F

    passing = [F.count(F.when(F.expr(condition), F.lit(1))) for condition in conditions]
    return frame.agg(F.array(*passing, F.count(F.lit(1))).alias("found")).select(F.lit(number).alias("group"), "found")


def _draws(
    source: _Source, condition: str, parts: Sequence[Files | None], passed: np.ndarray[Any, Any], seen: float
) -> tuple[Draw, ...]:
    """Per group the rows that pass and those that could."""
    able = source.candidates(condition) if parts[0] is not None else None
    return tuple(
        Draw(float(number), seen if mask is None or able is None else source.rows_of(mask & able) or 0.0)
        for mask, number in zip(parts, passed, strict=True)
    )


def _draw(file_rows: Numbers | None, budget_rows: int, seed: str) -> list[Files]:
    """Groups of files with about so many rows, drawn at random; none when most of the table would be read anyway."""
    if file_rows is None or file_rows.sum() <= budget_rows:
        return []
    order = list(range(len(file_rows)))
    random.Random(zlib.crc32(seed.encode())).shuffle(order)
    drawn: list[int] = []
    for number in order:
        if len(drawn) >= LEAST_FILES and file_rows[drawn].sum() >= budget_rows:
            break
        drawn.append(number)
    if file_rows[drawn].sum() > file_rows.sum() / 2:
        return []
    groups = []
    for start in range(min(GROUPS, len(drawn))):
        mask = np.zeros(len(file_rows), dtype=bool)
        mask[drawn[start::GROUPS]] = True
        groups.append(mask)
    return groups


def _some_rows(frame: DataFrame, request: Request, kept: float) -> DataFrame:
    """About such a part of the rows, each chosen by what is in it."""
    from pyspark.sql import functions as F

    if kept >= 1:
        return frame
    plain = [c for c, kind in request.types.items() if kind != "string" and "<" not in kind]
    told_apart = list(request.key) or plain or [c for c, kind in request.types.items() if "<" not in kind]
    chance = F.xxhash64(F.lit(1), *[F.col(_quoted(c)) for c in told_apart])
    return frame.where(chance < F.lit(threshold(kept)))


def _hash(values: Values, request: Request) -> Column:
    """Equal values have equal hashes; in columns that are joined, NULL, which equals nothing, has none."""
    from pyspark.sql import functions as F

    parts = [F.expr(_typed(each, request)) for each in values]
    if not any(values == _sides(join)[0] for join in request.joins):
        return F.xxhash64(*parts)
    known = reduce(lambda one, two: one & two, [each.isNotNull() for each in parts])
    return F.when(known, F.xxhash64(*parts)).otherwise(F.lit(_NULL))


def _typed(expression: str, request: Request) -> str:
    """A column as the type that it is joined by; other expressions as they are."""
    column = next((c for c in request.types if text(body_column(c)) == expression), None)
    return expression if column is None else comparable(column, request.types)


def _one(condition: str) -> Column:
    from pyspark.sql import functions as F

    return F.when(F.expr(condition), F.lit(1)).otherwise(F.lit(0)).cast("bigint")


def _quoted(column: str) -> str:
    return text(body_column(column))


def _matrix(column: pa.ChunkedArray, places: np.ndarray[Any, Any], width: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The lists at some places of a column of lists, each so long, one per row."""
    lists = column.combine_chunks()
    starts, flat = lists.offsets.to_numpy()[:-1][places], lists.values.to_numpy()
    return np.asarray(flat[starts[:, None] + np.arange(width)], dtype=np.int64)


def _sides(join: Join) -> tuple[Values, Values]:
    return tuple(_quoted(c) for c in join.columns), tuple(_quoted(c) for c in join.others)


def _counted(request: Request) -> list[Values]:
    """Everything of which values are counted; columns that are joined together, too."""
    return sorted({*request.values, *(_sides(join)[0] for join in request.joins)})


def _join_conditions(request: Request, values: Values | None = None) -> list[str]:
    """The conditions under which some columns are joined, or any."""
    return sorted({join.where for join in request.joins if join.where and values in (None, _sides(join)[0])})


@dataclass(frozen=True)
class _Plan:
    """Which values of a column are followed; `kept` is None where the first look was enough."""

    kept: float | None
    frequent: Hashes
    whole: bool
    """Whether all files are read."""


def _plans(looks: Mapping[str, _Look], budget_rows: int) -> dict[Counted, _Plan]:
    """How each column is followed: those that are joined with each other by one threshold."""
    pairs = {
        ((name, mine), (join.other, theirs))
        for name, look in looks.items()
        for join in look.request.joins
        if join.other in looks
        for mine, theirs in [_sides(join)]
    }
    columns = {(name, values) for name, look in looks.items() for values in _counted(look.request)}
    whole = _read_whole(looks, budget_rows)
    plans: dict[Counted, _Plan] = {}
    for group in _connected(columns, pairs):
        joined = any(one in group for one, _ in pairs)
        followed = [c for c in group if not _known(looks[c[0]], c[1], joined)]
        sizes = [_guess(looks[table], values) for table, values in group]
        kept = min(1.0, KEYS / max(*sizes, 1.0)) if followed else 1.0
        frequent = [_frequent(looks[table], values) for table, values in followed] if kept < 1 else []
        often = np.unique(np.concatenate(frequent)) if frequent else np.empty(0, dtype=np.int64)
        for column in group:
            plans[column] = _Plan(kept if column in followed else None, often, column[0] in whole)
    return plans


def _read_whole(looks: Mapping[str, _Look], budget_rows: int) -> set[str]:
    """The tables whose joined columns are read in all files: all but the largest, of which a part is enough.

    At most one side of a join may be a part of its table: parts of two tables that lie in the same order hardly meet.
    """
    part_only: set[str] = set()
    for name in sorted(looks, key=lambda n: -looks[n].rows):
        look = looks[name]
        partners = {join.other for join in look.request.joins}
        if look.groups and look.rows > WHOLE_COLUMNS * budget_rows and not partners & {name, *part_only}:
            part_only.add(name)
    return set(looks) - part_only


def _connected(columns: Collection[Counted], pairs: Iterable[tuple[Counted, Counted]]) -> list[list[Counted]]:
    groups = [{column} for column in sorted(columns)]
    for one, two in sorted(pairs):
        merged = [group for group in groups if one in group or two in group]
        groups = [group for group in groups if group not in merged] + [set().union(*merged)]
    return [sorted(group) for group in groups]


def _known(look: _Look, values: Values, joined: bool) -> bool:
    """Whether the first look holds all there is to know of a column."""
    if look.complete:
        return True
    if not joined and look.key and look.key <= set(values):
        return True
    found, counts = look.counted(values)
    settled = np.count_nonzero(counts == 1) <= _SETTLED * counts.sum()
    often = len(found) * FREQUENT <= counts.sum()  # so that the sample tells how many rows each has
    return bool(settled and (often or not joined) and (look.even(values) or len(found) < FREQUENT))


def _guess(look: _Look, values: Values) -> float:
    """About how many values a column has."""
    _, counts = look.counted(values)
    return jackknife(counts, float(counts.sum()), look.rows)


def _frequent(look: _Look, values: Values) -> Hashes:
    found, counts = look.counted(values)
    order = np.argsort(-counts, kind="stable")[:_MOST_FREQUENT]
    return found[order][counts[order] >= FREQUENT]


def _key_samples(
    spark: SparkSession, looks: Mapping[str, _Look], plans: Mapping[Counted, _Plan]
) -> dict[Counted, KeySample]:
    """The sampled values of every column with their numbers of rows, in one job."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    samples = {c: _from_look(looks[c[0]], c[1], plan) for c, plan in plans.items() if plan.kept is None}
    followed = [(column, plan) for column, plan in plans.items() if plan.kept is not None]
    if not followed:
        return samples
    frames = [
        _followed(looks[table], values, plan).select(F.lit(number).alias("column"), "hash", "found")
        for number, ((table, values), plan) in enumerate(followed)
    ]
    try:
        rows = reduce(lambda one, two: one.unionAll(two), frames).toArrow()
    except PySparkException as error:
        raise _failed(", ".join(dict.fromkeys(table for (table, _), _ in followed)), error) from error
    numbers, hashes = rows["column"].to_numpy(), rows["hash"].to_numpy()
    for number, (column, plan) in enumerate(followed):
        mine = np.flatnonzero(numbers == number)
        width = 1 + len(_join_conditions(looks[column[0]].request, column[1]))
        found = _matrix(rows["found"], mine, width).astype(float)
        scale = 1.0 if plan.whole else looks[column[0]].scale
        samples[column] = _key_sample(hashes[mine], list(found.T), plan, scale)
    return samples


def _key_sample(hashes: Hashes, weights: Sequence[Numbers], plan: _Plan, scale: float) -> KeySample:
    """Rows by the hash of their values: how often each value occurs, under each condition."""
    found, places = np.unique(hashes, return_inverse=True)
    counts = np.stack([np.bincount(places, each, len(found)) for each in weights], axis=1).astype(float)
    return KeySample(found, counts, plan.kept or 1.0, np.isin(found, plan.frequent), scale)


def _from_look(look: _Look, values: Values, plan: _Plan) -> KeySample:
    there = look.hashes[values] != _NULL
    conditions = _join_conditions(look.request, values)
    weights = [np.ones(len(there)), *(look.passes.get(each, np.zeros(len(there))) for each in conditions)]
    scale = 1.0 if look.complete else look.rows / max(len(there), 1)
    return _key_sample(look.hashes[values][there], [each[there] for each in weights], plan, scale)


def _followed(look: _Look, values: Values, plan: _Plan) -> DataFrame:
    """Per sampled value of a column its rows, and those under each condition of a join."""
    from pyspark.sql import functions as F

    request = look.request
    files = None if plan.whole or not look.groups else np.logical_or.reduce(look.groups)
    conditions = _join_conditions(request, values)
    frame = look.source.frame(files).select(
        _hash(values, request).alias("hash"),
        *[_one(condition).alias(f"passes_{i}") for i, condition in enumerate(conditions)],
    )
    frame = frame.where(F.col("hash") != F.lit(_NULL))
    if plan.kept is not None and plan.kept < 1:
        chosen = F.col("hash") < F.lit(threshold(plan.kept))
        often = [int(each) for each in plan.frequent]
        frame = frame.where(chosen | F.col("hash").isin(often) if often else chosen)
        if not often and look.rows * plan.kept <= SAMPLE_ROWS:  # so few rows need not be brought together first
            passes = [F.col(f"passes_{i}") for i in range(len(conditions))]
            return frame.select("hash", F.array(F.lit(1).cast("bigint"), *passes).alias("found"))
    sums = [F.sum(f"passes_{i}").cast("bigint") for i in range(len(conditions))]
    return frame.groupBy("hash").agg(F.array(F.count(F.lit(1)), *sums).alias("found"))


def _assembled(
    request: Request, looks: Mapping[str, _Look], plans: Mapping[Counted, _Plan], keys: Mapping[Counted, KeySample]
) -> Sampled:
    look = looks[request.table]
    whole = Estimate(look.rows, look.rows, look.rows, "measured")
    distinct = {
        value_text(values): whole if look.key and look.key <= set(values) else _distinct(look, values, plans, keys)
        for values in _counted(request)
    }
    conditions = {c: _part(look, c, distinct) for c in look.counts}
    joins = {}
    for join in look.request.joins:
        mine, theirs = _sides(join)
        own = ["", *_join_conditions(look.request, mine)]
        others = ["", *_join_conditions(looks[join.other].request, theirs)] if join.other in looks else []
        if join.other_where not in others:
            continue
        found = matches(
            keys[request.table, mine],
            keys[join.other, theirs],
            own.index(join.where),
            others.index(join.other_where),
        )
        rows, others_rows = max(look.rows, 1.0), max(looks[join.other].rows, 1.0)
        if plans[join.other, theirs].kept is not None and not plans[join.other, theirs].whole:
            # Partners may lie in the files that were not drawn.
            most = looks[join.other].scale
            found = replace(found, matched=_up_to(found.matched, most), values=_up_to(found.values, most))
        joins[join.key] = Matches(
            _as_part(found.pairs, rows * others_rows), _as_part(found.matched, rows), found.values
        )
    return Sampled(
        table=request.table,
        version=request.version,
        rows=whole,
        looked_at=round(look.looked),
        conditions=conditions,
        refused=frozenset({*request.conditions, *(join.key for join in request.joins)} - {*conditions, *joins}),
        distinct=distinct,
        widths=_widths(look),
        joins=joins,
        against={join.other: looks[join.other].request.version for join in request.joins if join.other in looks},
    )


def _part(look: _Look, condition: str, distinct: Mapping[str, Estimate]) -> Estimate:
    """The part of the rows for which a condition holds."""
    candidates = look.rows
    if look.groups:
        candidates = look.source.rows_of(look.source.candidates(condition)) or 0.0
    found = part(look.counts[condition], candidates, look.rows)
    if candidates and not sum(draw.looked for draw in look.counts[condition]):
        # No file was drawn that could hold one of these rows: one value of many is then a better guess than half.
        tree = sqlglot.parse_one(condition, dialect="spark")
        values = distinct.get(text(tree.this)) if isinstance(tree, exp.EQ) else None
        if values is not None:
            return replace(found, value=min(max(1 / max(values.value, 1.0), found.lower), found.upper))
    return found


def _distinct(
    look: _Look, values: Values, plans: Mapping[Counted, _Plan], keys: Mapping[Counted, KeySample]
) -> Estimate:
    found, counts = look.counted(values)
    if look.complete:
        return Estimate.of(len(found), "measured")
    if plans[look.request.table, values].kept is None:
        likely = jackknife(counts, float(counts.sum()), look.rows)
        return Estimate(likely, float(len(found)), likely * 1.1, "sampled")
    followed = keys[look.request.table, values]
    estimate = followed.distinct()
    return estimate if followed.scale == 1 else _extrapolated(estimate, look, values)


def _extrapolated(estimate: Estimate, look: _Look, values: Values) -> Estimate:
    """From the values in the files that were drawn to those in all: as many more as the files differ in them."""
    snapshot = look.source.snapshot
    columns = [c for c in look.request.types if (_quoted(c),) == values]
    apart = overlap(snapshot, columns[0]) if snapshot is not None and columns else None
    most = min(estimate.upper * look.scale, look.rows)
    likely = min(estimate.value * look.scale ** (0.5 if apart is None else 1 - apart), most)
    return Estimate(likely, min(estimate.lower, likely), most, "sampled")


def _up_to(amount: Estimate, factor: float) -> Estimate:
    return replace(amount, upper=amount.upper * factor, source="sampled")


def _as_part(amount: Estimate, whole: float) -> Estimate:
    value, lower, upper = (min(each / whole, 1.0) for each in (amount.value, amount.lower, amount.upper))
    return Estimate(value, lower, upper, amount.source)


def _widths(look: _Look) -> dict[str, Estimate]:
    """The bytes that a value of each column takes in the files, from the footers of a few."""
    files = look.source.footers
    some = files[:: -(-len(files) // _FOOTERS)] if files else ()
    fields = look.source.snapshot.fields if look.source.snapshot is not None else ()
    logical = {physical_name(each): str(each["name"]) for each in fields}
    sizes: dict[str, float] = {}
    rows = 0
    for file in some:
        try:
            footer = pq.read_metadata(file)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0][:120]
            raise TableError(f"{file}: is not a readable Parquet file ({reason})", "write it again") from None
        rows += footer.num_rows
        for group in (footer.row_group(i) for i in range(footer.num_row_groups)):
            for chunk in (group.column(i) for i in range(group.num_columns)):
                name = chunk.path_in_schema.split(".")[0]
                name = logical.get(name, name)
                sizes[name] = sizes.get(name, 0.0) + chunk.total_compressed_size
    source: Source = "measured" if len(some) == len(files) else "sampled"
    return {name: Estimate.of(size / rows, source) for name, size in sizes.items() if rows}


def _failed(tables: str, error: Exception) -> ExecutionError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return ExecutionError(f"{tables}: statistics could not be sampled ({reason})", "declare rows: and domains: instead")
