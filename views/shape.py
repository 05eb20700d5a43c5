"""The shape of a view: what it reads, joins, selects and aggregates, as far as a first price needs it.

The shape maps to the nearest of H87's three view models (§3.1) and says what that leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from views.conditions import Column, Condition, Resolver, condition, conjuncts, is_join
from views.errors import ViewError
from views.parsing import parse
from views.references import ancestors, defined_by_with, references
from views.spelling import did_you_mean


@dataclass(frozen=True)
class Catalog:
    """What a view may read: base tables with their columns (empty when unknown), and other views.

    `spelled` maps every accepted spelling, lower case, to the name of the table.
    """

    columns: Mapping[str, Collection[str]]
    views: Mapping[str, str]
    spelled: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        return [*self.columns, *self.views]


@dataclass(frozen=True)
class Shape:
    """What a view reads and does, with the views it reads opened up."""

    tables: tuple[str, ...]
    """Base tables, once per occurrence."""
    views: tuple[str, ...]
    """Views it reads, directly or through others."""
    conditions: tuple[Condition, ...]
    outputs: tuple[tuple[str, Column | None], ...]
    """Output columns, and the base column behind each that is passed on unchanged; `*` for a star."""
    equalities: tuple[tuple[Column, Column], ...]
    """Columns that a join makes equal."""
    joined: bool
    aggregate: bool
    groups: int
    """Columns it groups by."""
    oddities: tuple[str, ...]
    """What H87's models do not know, in words."""

    @property
    def model(self) -> int:
        """The nearest model of H87: 1 selection and projection, 2 join, 3 aggregate."""
        return 3 if self.aggregate else 2 if self.joined else 1

    def origin(self, output: str) -> Column | None:
        """The base column behind an output column, if it is passed on unchanged."""
        for name, column in self.outputs:
            if name.casefold() == output.casefold():
                return column
        return Column(None, output) if any(name == "*" for name, _ in self.outputs) else None


def shape_of(view: str, catalog: Catalog) -> Shape:
    """The shape of a view of the catalog, with the views it reads opened up."""
    return _shape(view, catalog, ())


def filter_condition(text: str, view: str, shape: Shape) -> Condition:
    """The condition that queries put on a view, with output columns traced to base columns."""
    query = parse(f"SELECT 1 FROM v WHERE {text}\n", f"view {view!r}: queries.filter")
    where = query.args.get("where")
    known = [name for name, _ in shape.outputs]
    if not isinstance(where, exp.Where) or query.args.keys() & {"group", "order", "limit", "having"} - _empty(query):
        raise ViewError(f"view {view!r}: queries.filter is not one condition", "write it as  column = value")
    for column in where.find_all(exp.Column):
        if "*" not in known and column.name.casefold() not in {name.casefold() for name in known}:
            hint = did_you_mean(column.name, known, "columns")
            raise ViewError(f"view {view!r}: queries.filter names no column of the view: {column.name!r}", hint)

    def resolve(column: exp.Column) -> Column:
        return shape.origin(column.name) or Column(None, column.name)

    return condition(where.this, resolve)


def _empty(query: exp.Expr) -> set[str]:
    return {key for key, value in query.args.items() if not value}


def _shape(view: str, catalog: Catalog, above: tuple[str, ...]) -> Shape:
    if view in above:
        cycle = " → ".join([*above[above.index(view) :], view])
        raise ViewError(f"view {view!r}: the views define each other: {cycle}", "break the cycle")
    query = parse(catalog.views[view], f"view {view!r}")
    tables: list[str] = []
    below: dict[str, Shape] = {}
    sources: dict[int, str] = {}
    for reference in references(query):
        name = _resolve_name(reference, catalog, view)
        sources[id(reference)] = name
        if name in catalog.views:
            below[name] = below.get(name) or _shape(name, catalog, (*above, view))
            tables += below[name].tables
        else:
            tables.append(name)
    if not tables:
        raise ViewError(f"view {view!r}: reads no table", "read at least one table of the workload")

    def resolve(column: exp.Column) -> Column:
        return _column(column, query, catalog, sources, below, tables)

    top = _top_select(query)
    selects = list(query.find_all(exp.Select))
    conditions = [found for select in selects for found in _conditions(select, resolve)]
    equalities = [pair for select in selects for pair in _equalities(select, resolve)]
    group = top.args.get("group")
    single = below[sources[id(only)]] if (only := _only_table(top)) and sources.get(id(only)) in below else None
    aggregate = _aggregates(top) or (single is not None and single.aggregate)
    return Shape(
        tables=tuple(tables),
        views=tuple(dict.fromkeys([*below, *(each for shape in below.values() for each in shape.views)])),
        conditions=(*conditions, *(each for shape in below.values() for each in shape.conditions)),
        outputs=tuple(_output(projection, resolve) for projection in query.selects),
        equalities=(*equalities, *(pair for shape in below.values() for pair in shape.equalities)),
        joined=any(shape.joined for shape in below.values()) or len(tables) > len(_branches(query)),
        aggregate=aggregate,
        groups=len(group.expressions) if group else single.groups if single is not None else 0,
        oddities=tuple(dict.fromkeys([*_oddities(query, top, aggregate), *_inherited(below)])),
    )


def _resolve_name(table: exp.Table, catalog: Catalog, view: str) -> str:
    full = ".".join(part.name for part in table.parts)
    for spelling in (full, full.removeprefix("spark_catalog.")):
        if spelling.casefold() in catalog.spelled:
            return catalog.spelled[spelling.casefold()]
    known = [name for name in catalog.names if name != view]
    hint = did_you_mean(table.name, known, "tables and views")
    meta = table.this.meta
    line = f"line {meta['line']}: " if "line" in meta else ""
    raise ViewError(f"view {view!r}: {line}reads the unknown table {full[:80]!r}", hint)


def _column(
    column: exp.Column,
    query: exp.Query,
    catalog: Catalog,
    sources: Mapping[int, str],
    below: Mapping[str, Shape],
    tables: Collection[str],
) -> Column:
    """The base column: by its qualifier in the enclosing SELECT, else by the one table that declares it."""
    select = column.find_ancestor(exp.Select) or query
    found = [t for t in select.find_all(exp.Table) if id(t) in sources]
    if column.table:
        found = [t for t in found if t.alias_or_name.casefold() == column.table.casefold()]
    elif len(found) == 1 and not select.find(exp.Subquery):
        pass
    else:
        found = []
    if len(found) == 1:
        source = sources[id(found[0])]
        if source in below:
            return below[source].origin(column.name) or Column(None, column.name)
        return Column(source, column.name)
    name = column.name.casefold()
    owners = {t for t in tables if name in {c.casefold() for c in catalog.columns.get(t, ())}}
    return Column(owners.pop() if len(owners) == 1 else None, column.name)


def _conditions(select: exp.Select, resolve: Resolver) -> Iterator[Condition]:
    """What selects rows: WHERE and inner ON clauses, without the comparisons that join tables."""
    for part in _conjuncts(select):
        if not is_join(part, resolve):
            yield condition(part, resolve)


def _equalities(select: exp.Select, resolve: Resolver) -> Iterator[tuple[Column, Column]]:
    for part in _conjuncts(select):
        if isinstance(part, exp.EQ) and isinstance(part.left, exp.Column) and isinstance(part.right, exp.Column):
            yield resolve(part.left), resolve(part.right)


def _conjuncts(select: exp.Select) -> Iterator[exp.Expr]:
    if select.args.get("where"):
        yield from conjuncts(select.args["where"].this)
    for join in select.args.get("joins") or ():
        if join.args.get("on") and join.side.upper() not in ("LEFT", "RIGHT", "FULL"):
            yield from conjuncts(join.args["on"])


def _branches(query: exp.Expr) -> list[exp.Expr]:
    """The queries that a set operation puts side by side."""
    if isinstance(query, exp.SetOperation):
        return [*_branches(query.left.unnest()), *_branches(query.right.unnest())]
    return [query]


def _output(projection: exp.Expr, resolve: Resolver) -> tuple[str, Column | None]:
    inner = projection.unalias()
    if projection.is_star:
        return "*", None
    return projection.alias_or_name, resolve(inner) if isinstance(inner, exp.Column) else None


def _top_select(query: exp.Expr) -> exp.Select:
    """The SELECT that decides the shape: the first branch of a set operation, below a plain wrapper."""
    while not isinstance(query, exp.Select):
        query = query.this.unnest()
    source = query.args.get("from_") or query.args.get("from")
    if source is not None and not query.args.get("joins") and not _aggregates(query):
        inner = source.this.unnest()
        if isinstance(inner, exp.Query):
            return _top_select(inner)
        cte = _with_named(query, inner.name) if isinstance(inner, exp.Table) and defined_by_with(inner) else None
        if cte is not None and not any(ancestor is cte for ancestor in ancestors(query)):
            return _top_select(cte.this)
    return query


def _with_named(select: exp.Expr, name: str) -> exp.CTE | None:
    for node in (select, *ancestors(select)):
        clause = node.args.get("with_") or node.args.get("with")
        for cte in clause.expressions if clause is not None else ():
            if cte.alias.casefold() == name.casefold():
                return cte  # type: ignore[no-any-return]
    return None


def _only_table(select: exp.Select) -> exp.Table | None:
    source = select.args.get("from_") or select.args.get("from")
    table = source.this if source is not None and not select.args.get("joins") else None
    return table if isinstance(table, exp.Table) else None


def _aggregates(select: exp.Select) -> bool:
    if select.args.get("group"):
        return True
    return any(
        call.parent_select is select and not call.find_ancestor(exp.Window)
        for projection in select.expressions
        for call in projection.find_all(exp.AggFunc)
    )


def _oddities(query: exp.Query, top: exp.Select, aggregate: bool) -> Iterator[str]:
    """What the three models do not know, in words."""
    if isinstance(query, exp.SetOperation) or query.find(exp.SetOperation):
        yield "a set operation is priced as its largest branch"
    if not aggregate and query.find(exp.Distinct):
        yield "DISTINCT is priced as if it removed nothing"
    if any(join.side for join in query.find_all(exp.Join)):
        yield "an outer join is priced as an inner one"
    if query.find(exp.Window):
        yield "window functions are priced as plain columns"
    inner = any(_aggregates(select) for select in query.find_all(exp.Select) if select is not top)
    if inner:
        yield "an aggregate inside the view is priced as a plain table"
    if any(isinstance(node, exp.With) and node.args.get("recursive") for node in query.walk()):
        yield "recursion is priced as one step"
    if query.find(exp.Exists) or any(node.args.get("query") for node in query.find_all(exp.In)):
        yield "a subquery in a condition is priced as a join"
    if query.find(exp.Limit):
        yield "LIMIT is priced as if it kept everything"
    if query.find(exp.Pivot):
        yield "PIVOT is not priced"


def _inherited(below: Mapping[str, Shape]) -> Iterator[str]:
    for name, shape in below.items():
        yield f"the view {name} is opened up to its base tables"
        yield from shape.oddities
