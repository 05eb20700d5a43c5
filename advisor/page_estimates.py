"""What H87's page model asks of a view: the model it resembles, and the estimates of the paper's parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from advisor.page_model import ViewModel
from profiles import specification as spec
from profiles.selectivity import conjunction, owner, selectivity
from profiles.sources import DEFAULT_QUERIES
from profiles.statistics import Estimate, TableStatistics, weakest
from profiles.units import SECONDS_A_DAY
from profiles.workload import Workload
from views.conditions import AllOf, Comparison, Condition, columns_of
from views.errors import ViewError
from views.shape import Catalog, Shape, filter_condition, shape_of

_ONE = Estimate(1.0, 1.0, 1.0, "derived")


@dataclass(frozen=True)
class Gathered:
    """One view, ready to be priced."""

    name: str
    spec: spec.View
    shape: Shape
    model: ViewModel
    estimates: Mapping[str, Estimate]
    """By the names of `page_model.Quantities`."""
    largest: TableStatistics
    tables: tuple[TableStatistics, ...]
    approximations: tuple[str, ...]
    defaults: tuple[str, ...]


def catalog_of(workload: Workload, statistics: Mapping[str, TableStatistics]) -> Catalog:
    """What views may read, under every spelling Spark would accept."""
    for name, view in workload.views.items():
        if view.datalog is not None:
            place = workload.place("views", name, "datalog")
            raise ViewError(f"{place}: view {name!r} is Datalog, which this version does not read", "give it as sql:")
    spelled = {name.casefold(): name for name in (*workload.tables, *workload.views)}
    for name, table in workload.tables.items():
        if table.table is not None:
            spelled.setdefault(table.table.casefold(), name)
    columns = {name: statistics[name].columns if name in statistics else () for name in workload.tables}
    return Catalog(columns=columns, views=workload.sql, spelled=spelled)


def shapes_of(workload: Workload, catalog: Catalog) -> dict[str, Shape]:
    """The shape of every view; errors say where the view is defined."""
    return {name: _located(workload, name, catalog) for name in workload.views}


def _located(workload: Workload, name: str, catalog: Catalog) -> Shape:
    try:
        return shape_of(name, catalog)
    except ViewError as error:
        raise ViewError(f"{workload.place('views', name)}: {error.message}", error.hint) from None


def gather(workload: Workload, name: str, shape: Shape, statistics: Mapping[str, TableStatistics]) -> Gathered:
    """The estimates of one view and the model that prices it."""
    view = workload.views[name]
    used = {table: statistics[table] for table in dict.fromkeys(shape.tables)}
    largest = max(used.values(), key=lambda table: table.rows.value * table.row_bytes.value)
    conditions = tuple(c for c in shape.conditions if not shape.aggregate or _about(c, used))
    selected = conjunction(conditions, used)
    queries = view.queries or spec.Queries()
    try:
        asked = None if queries.filter is None else filter_condition(queries.filter, name, shape)
    except ViewError as error:
        place = workload.place("views", name, "queries", "filter")
        raise ViewError(f"{place}: {error.message}", error.hint) from None
    queried = _queried(queries, asked, used)
    updates, rows_per_update = _update_stream(tuple(used.values()))
    others = [used[table] for table in shape.tables]
    others.remove(largest)
    estimates = {
        "rows": largest.rows,
        "row_bytes": largest.row_bytes,
        "updates": updates,
        "rows_per_update": rows_per_update,
        "queries": Estimate.of(DEFAULT_QUERIES, "default")
        if queries.per_day is None
        else Estimate.of(queries.per_day, "declared"),
        "selected": selected,
        "queried": queried,
        "others": _ratio(others, largest),
    }
    moments = None if not view.max_staleness else SECONDS_A_DAY / view.max_staleness
    algorithm = view.algorithm if view.algorithm not in ("auto", "recompute") else None
    model = ViewModel(
        model=shape.model,
        incremental=algorithm or ("counting" if shape.aggregate else "differential"),
        selected_by_layout=any(_skips(c, largest, used, shape) for c in conditions),
        queried_by_layout=asked is not None and _skips(asked, largest, used, shape),
        moments_a_day=moments,
        batches_a_day=_batches(workload, used),
        scheduled=view.readers == "external",
    )
    return Gathered(
        name=name,
        spec=view,
        shape=shape,
        model=model,
        estimates=estimates,
        largest=largest,
        tables=tuple(used.values()),
        approximations=tuple(_approximations(shape, largest, used)),
        defaults=tuple(_defaults(name, used, estimates)),
    )


def _about(condition: Condition, tables: Mapping[str, TableStatistics]) -> bool:
    """Whether a condition is on base columns; below an aggregate, one on its results selects no tuples."""
    return all(owner(column, tables) is not None for column in columns_of(condition))


def _queried(queries: spec.Queries, asked: Condition | None, tables: Mapping[str, TableStatistics]) -> Estimate:
    if queries.fraction is not None:
        return Estimate.of(queries.fraction, "declared", most=1.0)
    if asked is not None:
        return selectivity(asked, tables)
    return Estimate.of(1.0, "default", most=1.0)


def _update_stream(tables: tuple[TableStatistics, ...]) -> tuple[Estimate, Estimate]:
    """All transactions on the view's tables, and the tuples one of them changes on average.

    H87's l is a tuple that leaves one entry in D and one in A, so an insertion counts half.
    """
    updated = [t for t in tables if t.updates_per_day.value > 0] or list(tables)
    source = weakest(
        t.updates_per_day.source for t in tables if t.updates_per_day.value > 0 or len(updated) == len(tables)
    )
    value, lower, upper = (sum(getattr(t.updates_per_day, end) for t in tables) for end in ("value", "lower", "upper"))
    total = Estimate(value, lower, upper, source)
    weights = [t.updates_per_day.value or 1.0 for t in updated]
    tuples = [
        sum(w * getattr(t.rows_per_update, end) * t.changes_per_row / 2 for w, t in zip(weights, updated, strict=True))
        / sum(weights)
        for end in ("value", "lower", "upper")
    ]
    return total, Estimate(tuples[0], tuples[1], tuples[2], weakest(t.rows_per_update.source for t in updated))


def _ratio(others: list[TableStatistics], largest: TableStatistics) -> Estimate:
    if not others:
        return Estimate(0.0, 0.0, 0.0, "derived")
    rows = sum(t.rows.value for t in others)
    source = weakest([largest.rows.source, *(t.rows.source for t in others)])
    return Estimate.of(rows / max(largest.rows.value, 1.0), source)


def _batches(workload: Workload, tables: Mapping[str, TableStatistics]) -> float | None:
    """How many times a day updates arrive, when all of them come at declared times."""
    times: set[int] = set()
    for name, table in tables.items():
        if table.updates_per_day.value > 0:
            updates = workload.tables[name].updates
            if updates is None or not updates.at:
                return None
            times |= set(updates.at)
    return float(len(times)) or None


def _skips(condition: Condition, largest: TableStatistics, tables: Mapping[str, TableStatistics], shape: Shape) -> bool:
    """Whether the condition bounds a column by which the largest table's files are laid out, or its equal."""
    match condition:
        case AllOf(parts):
            return any(_skips(part, largest, tables, shape) for part in parts)
        case Comparison(column=column, op="=" | "<" | "<=" | ">" | ">=" | "in" | "between"):
            clustered = {name.casefold() for name in largest.clustered}
            equals = [column]
            for left, right in shape.equalities:
                equals += [right] if left == column else [left] if right == column else []
            return any(owner(each, tables) is largest and each.name.casefold() in clustered for each in equals)
    return False


def _approximations(shape: Shape, largest: TableStatistics, tables: Mapping[str, TableStatistics]) -> Iterator[str]:
    """What the nearest model leaves out, in words."""
    if shape.aggregate and len(shape.tables) > 1:
        yield f"an aggregate over {len(shape.tables)} tables is priced as Model 3 over the largest, {largest.name}"
    elif shape.joined and len(shape.tables) > 2:
        yield f"a join of {len(shape.tables)} tables is priced as Model 2 with the largest, {largest.name}, as R1"
    if shape.aggregate and shape.groups:
        yield "the groups are priced as one page of state"
    elsewhere = sorted(t.name for t in tables.values() if t is not largest and t.updates_per_day.value > 0)
    if elsewhere:
        yield f"updates of {', '.join(elsewhere)} are priced as updates of {largest.name}"
    if largest.rows.value < 1:
        yield f"{largest.name} is empty and priced as one row"
    if largest.row_bytes.value > 4000:
        yield f"rows of {largest.name} are wider than the paper's page and priced as one page each"
    yield from shape.oddities


def defaults_of_table(table: TableStatistics) -> Iterator[str]:
    """What had to be assumed about a table, in words."""
    if table.rows.source == "default":
        yield f"rows of {table.name} ({table.rows.value:,.0f})"
    if table.row_bytes.source == "default" and table.rows.value > 0:
        yield f"row size of {table.name} ({table.row_bytes.value:,.0f} bytes)"
    if table.updates_per_day.source == "default":
        yield f"updates of {table.name} (none)"
    elif table.rows_per_update.source == "default" and table.updates_per_day.value > 0:
        yield f"rows per update of {table.name} ({table.rows_per_update.value:,.0f})"


def _defaults(view: str, tables: Mapping[str, TableStatistics], estimates: Mapping[str, Estimate]) -> Iterator[str]:
    """The estimates that are only defaults, named by the data they stand for."""
    for table in tables.values():
        yield from defaults_of_table(table)
    if estimates["queries"].source == "default":
        yield f"queries of {view} ({DEFAULT_QUERIES:,.0f} a day)"
    if estimates["queried"].source == "default":
        share = estimates["queried"].value
        yield f"part of {view} a query reads ({'all' if share == 1 else format(share, '.2g')})"
    if estimates["selected"].source == "default":
        yield f"part of its tables {view} selects ({estimates['selected'].value:.2g})"
