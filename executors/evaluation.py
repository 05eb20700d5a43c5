"""Evaluates the change of a stored view on Spark: one query per stage, small results on the driver.

Every relation of a delta program is found in the cheapest place that holds the rows it needs: the change sets
themselves where declared keys say that no other row can match, else the files whose bounds admit one of the keys.
What is known to be empty is not asked for.
"""

from __future__ import annotations

import datetime as dt
import shutil
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from storage.changes import net, net_here
from storage.pruning import files_with_keys
from storage.reading import arrow_schema, quoted, rows_here
from storage.searching import PARTS, rows_among
from storage.table import Table, is_frame
from storage.types import spark_types
from views.catalog import CLOCK, NOW, TODAY
from views.deltas import COUNT, split_relation
from views.errors import HistoryGoneError, TableError
from views.render import query_of, unions_in_one_piece
from views.rules import Predicate, Program, Rule, Subgoal, reachable
from views.stages import Origins, Rider, key_origins, riders, stage_program, stages, used_columns, without_empty
from views.typed import with_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from executors.runner import Runner

Rows = Any
"""An Arrow table on the driver, or a Spark DataFrame where there are too many rows for it."""

FEW_ROWS = 10_000
"""A relation with no more rows is read on the driver: for the engine, opening its files costs more than their rows."""


class RebuildError(Exception):
    """A change that cannot be applied, or is not worth it: the view is rebuilt instead, and this says why."""


@dataclass
class Evaluation:
    """One delta program over the sources of a view, from the versions it has consumed to the target versions."""

    runner: Runner
    view: str
    sources: Mapping[str, Table]
    consumed: Mapping[str, int]
    target: Mapping[str, int]
    stored: Mapping[str, tuple[Table, int]]
    """The view's own table and its states, each with the version that fits the consumed ones."""
    moments: tuple[float | None, float]
    """What the view took for now, and what it takes now."""
    scratch: Path
    columns: dict[str, set[str]] = field(default_factory=dict)
    local: dict[str, Rows] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)

    def outputs(self, delta: Program, wanted: Collection[str]) -> dict[str, list[Rows]]:
        """The rows of some predicates of a delta program, in pieces."""
        delta = with_types(delta, self.types)
        self.columns = used_columns(delta)
        for name in delta.relations:
            if name.endswith("@delta"):
                self.take(name, self.change(split_relation(name)[0]))
        found: dict[str, list[Rows]] = {name: [] for name in wanted}
        gates = {p.name for p in delta.predicates if len(p.rules) == 1} & {p.given for p in delta.predicates if p.given}
        ridden: set[tuple[str, int]] = set()
        for stage in stages(delta, wanted):
            program, self.empty = without_empty(delta, self.empty)
            if stage in self.empty:
                continue
            along, columns = riders(delta, stage, {*wanted, *gates})
            ridden |= {(rider.predicate, rider.number) for rider in along}
            own = self.read_later(delta, stage, ridden)
            if not own and not along:
                continue  # whoever reads it derives nothing
            rows = self.run(stage_program(program, stage, columns, own, self.local))
            if rows is None:
                self.empty.add(stage)
                continue
            for rider in along:
                if rider.predicate in wanted:
                    found[rider.predicate].append(_piece(rows, rider))
                else:
                    self.take(rider.predicate, _piece(rows, rider))
            if own:
                self.take(stage, _chosen(rows, next(p for p in delta.predicates if p.name == stage).columns))
        for name in wanted:
            program, self.empty = without_empty(_without(delta, name, ridden), self.empty)
            if name not in self.empty and (rows := self.run(_only(program, name, self.local))) is not None:
                found[name].append(rows)
        return found

    def read_later(self, delta: Program, stage: str, ridden: Collection[tuple[str, int]]) -> bool:
        """Whether a rule that has not been evaluated, and may derive something, reads the stage itself."""
        return any(
            stage in rule.relations and not any(s.relation in self.empty for s in rule.subgoals)
            for predicate in delta.predicates
            if predicate.name not in self.empty
            for number, rule in enumerate(predicate.rules)
            if (predicate.name, number) not in ridden
        )

    def close(self) -> None:
        """Forget the rows of the stages."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.runner.forget(str(self.scratch))

    def take(self, name: str, rows: Rows) -> None:
        """Remember rows that later queries read; that there are none, where the driver can see it."""
        self.local[name] = rows
        if not is_frame(rows) and not rows.num_rows:
            self.empty.add(name)

    # Queries

    def run(self, program: Program) -> Rows | None:
        """The rows of a program: on the driver, or in files of Spark's own where there are too many; None if none."""
        bound = self.bound(program)
        if bound is None:
            return None
        runner = self.runner
        with ThreadPoolExecutor() as pool:
            places = dict(zip(bound.relations, pool.map(self.named, bound.relations), strict=True))
        query: exp.Query = query_of(_reading(bound, places))
        if all(map(self.is_here, bound.relations)):
            query = unions_in_one_piece(query)
        frame = runner.sql(query, self.view)
        if any(is_frame(self.local[name]) for name in program.relations if name in self.local):
            return self.spilled(frame)
        few: pa.Table = frame.limit(runner.driver_rows + 1).toArrow()
        return few if few.num_rows <= runner.driver_rows else self.spilled(frame)

    def spilled(self, rows: DataFrame) -> DataFrame:
        folder = str(self.scratch / uuid.uuid4().hex)
        rows.write.parquet(folder)
        return self.runner.spark.read.schema(rows.schema).parquet(folder)

    @property
    def types(self) -> dict[str, dict[str, str]]:
        """Column types of the states."""
        return {name: spark_types(table.log.snapshot().fields) for name, (table, _) in self.stored.items()}

    def bound(self, program: Program) -> Program | None:
        """The program with rows that have been found in place of its relations; None if it derives nothing.

        What has no rows takes its rules with it, but for an aggregate of everything, which has a row of nothing too.
        """
        known = {predicate.name for predicate in program.predicates}
        predicates = []
        for predicate in program.predicates:
            rules = []
            for rule in predicate.rules:
                places = self.places(program, predicate, rule, [s for s in rule.subgoals if s.relation not in known])
                subgoals = tuple(replace(s, relation=places.get(s.alias, s.relation)) for s in rule.subgoals)
                negations = tuple(
                    n if n.relation in known else replace(n, relation=self.relation(n.relation, {}))
                    for n in rule.negations
                )
                rules.append(replace(rule, subgoals=subgoals, negations=negations))
            predicates.append(replace(predicate, rules=tuple(rules)))
        placed = replace(program, predicates=tuple(predicates))
        nothing = {name for name in placed.relations if self.is_here(name) and not self.local[name].num_rows}
        found, none = without_empty(placed, nothing)
        return None if program.view in none else found

    def is_here(self, name: str) -> bool:
        return name in self.local and not is_frame(self.local[name])

    def places(self, program: Program, predicate: Predicate, rule: Rule, waiting: Sequence[Subgoal]) -> dict[str, str]:
        """What some subgoals of a rule read, by alias.

        What is found for one of them on the driver tells which rows of the others can match: each is looked up once
        there are values to look for, one after the other (a semi-join reduction).
        """
        found: dict[str, str] = {}
        while waiting:
            origins = {s: key_origins(program, predicate, rule, s, found) for s in waiting}
            subgoal = next((s for s in waiting if s.relation in self.local or self.lookups(origins[s])), waiting[0])
            found[subgoal.alias] = self.relation(subgoal.relation, origins[subgoal])
            waiting = [s for s in waiting if s is not subgoal]
        return found

    def lookups(self, keys: Mapping[str, Origins]) -> dict[str, pa.ChunkedArray]:
        """The values that columns can take, where the driver knows them."""
        return {c: found for c, origins in keys.items() if (found := self.values(origins)) is not None}

    def relation(self, relation: str, keys: Mapping[str, Origins]) -> str:
        """At least those rows of a relation whose columns take one of the keys' values.

        Their name in `local`, where they are on the driver, or else that of a temporary view.
        """
        if relation in self.local:
            return relation
        name, state = split_relation(relation)
        values = self.lookups(keys)
        what = f"{relation}@{sorted((c, keys[c]) for c in values)}"
        if what not in self.local:
            rows = self.found(name, state, values)
            if isinstance(rows, str):
                return rows
            self.local[what] = rows
        return what

    def found(self, name: str, state: str, values: Mapping[str, pa.ChunkedArray]) -> pa.Table | str:
        """The rows on the driver, or the temporary view that has them."""
        if name == CLOCK:
            return self.clock(state)
        if state == "stored":
            table, version = self.stored[name]
        else:
            table, version = self.sources[name], (self.consumed if state == "old" else self.target)[name]
            part = self.from_change(name, state, values)
            if part is not None:
                return part
        snapshot = table.log.snapshot(version)
        mask = files_with_keys(snapshot, values) if values else None
        if mask is not None and not np.any(mask):
            return arrow_schema(snapshot).empty_table()
        few = rows_here(snapshot, mask, FEW_ROWS)
        if few is None and values:
            few = rows_among(snapshot, mask, self.columns.get(name, ()), values, self.runner.driver_rows // PARTS)
        return self.runner.registered(table, mask, version) if few is None else few

    def named(self, name: str) -> str:
        """The temporary view of rows in `local`; a name that is none of theirs is one already."""
        if name not in self.local:
            return name
        rows = self.local[name]
        make = (lambda: rows) if is_frame(rows) else (lambda: self.runner.frame(rows))
        return self.runner.named((str(self.scratch), name), make)

    def values(self, origins: Origins) -> pa.ChunkedArray | None:
        """The values that some columns of changes and stages have; None where the driver does not know."""
        found: list[pa.ChunkedArray] = []
        for relation, name in origins:
            rows = self.local.get(relation)
            if rows is None or is_frame(rows):
                return None
            found.append(rows[name])
        if len({each.type for each in found}) != 1:
            return None
        return pa.chunked_array([chunk for each in found for chunk in each.chunks], type=found[0].type)

    # Changes

    def change(self, name: str) -> Rows:
        """The net change of a source in the columns that the program looks at."""
        if name == CLOCK:
            return self.clock("delta")
        whole = self.whole_change(name)
        columns = [c for c in self.sources[name].columns if c in self.columns.get(name, ())]
        if len(columns) == len(self.sources[name].columns):
            return whole
        if is_frame(whole):
            return net(whole.select(*[quoted(c) for c in (*columns, COUNT)]))
        return net_here(whole.select([*columns, COUNT]))

    def whole_change(self, name: str) -> Rows:
        try:
            return self.runner.change(self.sources[name], self.consumed[name], self.target[name])
        except HistoryGoneError as error:
            lost = f"HISTORY_GONE: version {self.consumed[name]} of {name} was cleaned away"
            raise RebuildError(f"{lost}; keep history longer or refresh more often") from error
        except TableError as error:
            raise RebuildError(error.message) from error

    def clock(self, state: str) -> pa.Table:
        """The moment of the last refresh, the moment of this one, or the change from one to the other."""
        then, now = self.moments
        if then is None:
            raise RebuildError("the moment it was built at is not known")
        match state:
            case "old":
                return clock_rows((then,))
            case "new":
                return clock_rows((now,))
            case _:
                return clock_rows((now, then)).append_column(COUNT, pa.array([1, -1], pa.int64()))

    def from_change(self, name: str, state: str, values: Mapping[str, pa.ChunkedArray]) -> pa.Table | None:
        """The needed rows of a source where declared keys say that its own change holds them all; else None.

        A row with a key that the change has is, before, one that was deleted and, after, one that was inserted. And
        a row that refers to a parent which came or went with this change came or went with it.
        """
        known = {c: v for c, v in values.items() if not v.null_count}
        if not (self.has_key(name, known) or any(self.parent_moved(name, c, v) for c, v in known.items())):
            return None
        if self.consumed[name] == self.target[name]:
            return arrow_schema(self.sources[name].log.snapshot(self.target[name])).empty_table()
        rows = self.local.get(name + "@delta")
        if rows is None or is_frame(rows):
            return None
        side = pc.less(rows[COUNT], 0) if state == "old" else pc.greater(rows[COUNT], 0)
        rows = rows.filter(side)
        times = np.abs(rows[COUNT].to_numpy())
        return rows.take(pa.array(np.repeat(np.arange(rows.num_rows), times), pa.int64())).drop_columns([COUNT])

    def has_key(self, name: str, values: Mapping[str, pa.ChunkedArray]) -> bool:
        key = self.sources[name].key
        return len(key) == 1 and key[0] in values and self.among(values[key[0]], name, key[0], once=False)

    def parent_moved(self, name: str, column: str, values: pa.ChunkedArray) -> bool:
        parent, _, key = self.sources[name].foreign_keys.get(column, "").rpartition(".")
        if parent not in self.sources or self.sources[parent].key != (key,):
            return False
        return self.among(values, parent, key, once=True)

    def among(self, values: pa.ChunkedArray, name: str, column: str, *, once: bool) -> bool:
        """Whether the change of a source has all of these values, on request each on one side only."""
        if self.consumed[name] == self.target[name]:
            return not len(values)
        rows = self.local.get(name + "@delta")
        if rows is None or is_frame(rows) or column not in rows.column_names or rows[column].type != values.type:
            return False
        if once:
            come, go = (rows.filter(side(rows[COUNT], 0))[column] for side in (pc.greater, pc.less))
            both = come.filter(pc.is_in(come, value_set=go.combine_chunks()))
            if pc.any(pc.is_in(values, value_set=both.combine_chunks())).as_py():
                return False
        return pc.all(pc.is_in(values, value_set=rows[column].combine_chunks())).as_py() is not False


def clock_rows(moments: Sequence[float]) -> pa.Table:
    """The base table of the clock at some moments."""
    known = [dt.datetime.fromtimestamp(seconds, dt.UTC) for seconds in moments]
    days = pa.array([moment.date() for moment in known], pa.date32())
    return pa.table({TODAY: days, NOW: pa.array(known, pa.timestamp("us", "UTC"))})


def _piece(rows: Rows, rider: Rider) -> Rows:
    """A rider's rows among those of its stage."""
    columns = [of_query for _, of_query in rider.columns]
    if is_frame(rows):
        from pyspark.sql import functions as F

        passing = rows if rider.passes is None else rows.where(F.col(quoted(rider.passes)))
        return passing.select(*[F.col(quoted(q)).alias(c) for c, q in rider.columns])
    passing = rows if rider.passes is None else rows.filter(rows[rider.passes])
    return passing.select(columns).rename_columns([c for c, _ in rider.columns])


def _chosen(rows: Rows, columns: Iterable[str]) -> Rows:
    return rows.select(*[quoted(c) for c in columns]) if is_frame(rows) else rows.select(list(columns))


def _reading(program: Program, places: Mapping[str, str]) -> Program:
    """The program with other names for what it reads."""

    def moved(rule: Rule) -> Rule:
        subgoals = (replace(s, relation=places.get(s.relation, s.relation)) for s in rule.subgoals)
        negations = (replace(n, relation=places.get(n.relation, n.relation)) for n in rule.negations)
        return replace(rule, subgoals=tuple(subgoals), negations=tuple(negations))

    predicates = (replace(each, rules=tuple(map(moved, each.rules))) for each in program.predicates)
    return replace(program, predicates=tuple(predicates))


def _without(program: Program, name: str, ridden: Collection[tuple[str, int]]) -> Program:
    """The program without the rules of a predicate that have been evaluated."""

    def rest(predicate: Predicate) -> Predicate:
        kept = tuple(rule for i, rule in enumerate(predicate.rules) if (name, i) not in ridden)
        return replace(predicate, rules=kept) if predicate.name == name else predicate

    return replace(program, predicates=tuple(map(rest, program.predicates)))


def _only(program: Program, name: str, done: Collection[str]) -> Program:
    """The program of one predicate, over what has been evaluated."""
    columns = next(p.columns for p in program.predicates if p.name == name)
    kept = tuple(p for p in program.predicates if p.name not in done)
    return reachable(replace(program, view=name, columns=columns, predicates=kept), [name])
