"""How a read of a view is answered now: from base tables, from the stored rows, or from these and their change.

A stored view that has seen everything is read, or evaluated where a filter makes that cheaper (H87 §3.3). One that has
not is first brought up to date; or its pending change is derived for just the rows that the filter asks for, and put
on top of the stored ones without writing anything: where the files that applying it would rewrite cost more than
deriving it again for the reads that are to come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.forecast import Forecast, Route
from storage.changes import COUNT, net_here
from storage.table import is_frame
from views.deltas import DELTA, split_relation
from views.errors import HistoryGoneError, ViewError
from views.pushdown import needed_rows
from views.rules import Expr, Program, Rule, column
from views.steps import ApplyDelta
from views.trees import rewritten

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from executors.runner import Refresh, Runner


@dataclass(frozen=True)
class Answer:
    """The rows of a read, where they come from, and how old they are."""

    view: str
    rows: DataFrame
    route: Route
    because: str
    stale_seconds: float = 0.0
    """How long ago the oldest change came that these rows lack; 0 where they lack none."""
    forecast: Forecast | None = None
    refreshed: tuple[Refresh, ...] = ()


def read(runner: Runner, view: str, where: Expr | None = None) -> Answer:
    """The rows of a view that pass a filter, by the cheapest way that is right."""
    if view not in runner.definitions:
        raise ViewError(f"there is no view {view!r}")
    if not runner.is_stored(view):
        below = tuple(runner.refresh_below(view))
        rows = runner.answer(runner.plan(view).answer[0], where)
        return Answer(view, rows, "query_modification", "it is virtual", refreshed=below)
    age = runner.age(view)
    every = runner.kept(view).every_seconds
    if age is not None and age > 0 and every is not None and age <= every:
        return Answer(view, stored_rows(runner, view, where), "stored", "it may be as old as that", age)
    below = tuple(runner.refresh_below(view))
    route, forecast, because = _cheapest(runner, view, where)
    match route:
        case "query_modification":
            return Answer(view, runner.evaluate(view, where), route, because, 0.0, forecast, below)
        case "read_through":
            through = read_through(runner, view, where)
            if through is not None:
                return Answer(view, through, route, because, 0.0, forecast, below)
    done = runner.refresh(view)
    refreshed = (*below, done) if done.ran is not None else below
    return Answer(view, stored_rows(runner, view, where), "stored", because, 0.0, forecast, refreshed)


def _cheapest(runner: Runner, view: str, where: Expr | None) -> tuple[Route, Forecast | None, str]:
    """The cheapest way, what it is expected to take, and why it is taken."""
    if runner.judge is None:
        return "stored", None, "it is stored"
    if runner.is_to_be_built(view):
        return "stored", None, "it must be built"
    pending = runner.pending_sizes(view)
    if pending is None:
        return "stored", None, "how much is pending is not known"
    found = dict(runner.judge.reads(view, runner.stored_views, runner.kept(view).algorithm, pending, where))
    if runner.pending(view) and not can_read_through(runner, view):
        found.pop("read_through", None)
    route: Route = min(found, key=lambda each: found[each].weight)
    ways = sorted(found, key=lambda each: found[each].weight)
    return route, found[route], "; ".join(f"{NAMES[each]} cost {found[each].weight:.2g} s a read" for each in ways)


NAMES: dict[Route, str] = {
    "stored": "the stored rows",
    "read_through": "the stored rows and their change",
    "query_modification": "the base tables",
}


def stored_rows(runner: Runner, view: str, where: Expr | None) -> DataFrame:
    """The stored rows that pass a filter, as they are."""
    return runner.answer(runner.plan(view, ()).answer[0], where)


def can_read_through(runner: Runner, view: str) -> bool:
    """Whether the change of a view can be derived, and takes out rows just as they are stored.

    A sum of doubles that is computed again may differ in its last digits from what is stored.
    """
    if runner.plan(view).algorithm == "recompute":
        return False
    schema = runner.table(view).log.schema
    return not any(pa.types.is_floating(field.type) or pa.types.is_nested(field.type) for field in schema)


def read_through(runner: Runner, view: str, where: Expr | None) -> DataFrame | None:
    """The rows of a view that pass a filter, from the stored ones and the pending change; nothing is written.

    None where the change is too large for the driver, or cannot be derived from what is still there.
    """
    from executors.evaluation import RebuildError

    try:
        with runner.evaluating(view, runner.pending(view)) as (evaluation, moved):
            if any(evaluation.target[name] != table.version for name, table in evaluation.sources.items()):
                return None  # an interrupted refresh is to be carried to its end first
            pieces: list[Any] = []
            for step in runner.plan(view, moved).maintain:
                assert isinstance(step, ApplyDelta)
                delta = narrowed(step.delta, runner.opened_program(view), where)
                pieces += evaluation.outputs(delta, (view + DELTA,))[view + DELTA]
            if any(is_frame(piece) for piece in pieces):
                return None
    except (RebuildError, HistoryGoneError):
        return None
    rows = stored_rows(runner, view, where)
    schema = runner.table(view).log.schema
    came, went = _came_and_went(pieces, schema)

    def passing(change: pa.Table) -> DataFrame:
        frame = runner.frame(change)
        return frame if where is None else frame.where(where.sql(dialect="spark"))

    if went.num_rows:
        rows = rows.exceptAll(passing(went))
    return rows.unionAll(passing(came)) if came.num_rows else rows


def narrowed(delta: Program, program: Program, where: Expr | None) -> Program:
    """A delta program that looks only at changed rows of the sources that can matter to a filter on the view."""
    needed = {} if where is None else needed_rows(program, where)

    def looking(rule: Rule) -> Rule:
        more = []
        for subgoal in rule.subgoals:
            name, state = split_relation(subgoal.relation)
            wanted = needed.get(name) if state == "delta" else None
            if wanted is not None:
                more.append(_of(subgoal.alias, wanted))
        return replace(rule, conditions=(*rule.conditions, *more))

    predicates = (replace(each, rules=tuple(map(looking, each.rules))) for each in delta.predicates)
    return replace(delta, predicates=tuple(predicates))


def _of(alias: str, condition: Expr) -> Expr:
    """A condition on a relation's columns, as one on the occurrence of that name."""
    return rewritten(condition, lambda c: column(alias, c.name))


def _came_and_went(pieces: list[pa.Table], schema: pa.Schema) -> tuple[pa.Table, pa.Table]:
    """The rows of a change that come and those that go, each as often as its count, net."""
    whole = schema.append(pa.field(COUNT, pa.int64()))
    parts = [piece.select(whole.names).cast(whole) for piece in pieces if piece.num_rows]
    change = net_here(pa.concat_tables(parts)) if parts else whole.empty_table()

    def repeated(rows: pa.Table) -> pa.Table:
        times = np.abs(np.asarray(rows[COUNT].to_numpy()))
        return rows.drop_columns([COUNT]).take(pa.array(np.repeat(np.arange(rows.num_rows), times), pa.int64()))

    return repeated(change.filter(pc.greater(change[COUNT], 0))), repeated(change.filter(pc.less(change[COUNT], 0)))
