"""Names made explicit: after this pass a query says of every column which source it comes from.

In the result every source has an alias that is unique in the whole query, every column is `alias.column` in the
relation's own spelling, every output column has an alias, and stars, USING, NATURAL, named windows, positions and
references to output aliases are written out. So a column whose alias a subquery does not declare itself is a
correlated one. What cannot be resolved is a ViewError with its place and the nearest known name.

Names are looked up as Spark does: columns of the FROM clause before output aliases in SELECT, WHERE and GROUP BY,
output aliases first in HAVING, QUALIFY and ORDER BY, the enclosing query last; case is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from views.catalog import CLOCK, NOW, Catalog
from views.errors import ViewError
from views.functions import is_aggregate
from views.places import fragment, place
from views.rules import column
from views.spelling import did_you_mean
from views.trees import is_atom


def qualify(query: exp.Query, catalog: Catalog, label: str) -> exp.Query:
    """The query, in place, with explicit names; `label` starts every error message."""
    names = _Names(catalog, label)
    outputs = names.query(query, None, {})
    seen: dict[str, str] = {}
    for name, node in zip(outputs, query.selects, strict=True):
        if name.casefold() in seen:
            names.fail(node, f"two columns are called {name!r}", "give one of them an alias")
        seen[name.casefold()] = name
    return query


@dataclass
class _Source:
    """A relation in FROM: the name people use for it, its unique alias, and its columns by folded name."""

    shown: tuple[str, ...]
    alias: str
    columns: dict[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    """Columns of a subquery that were renamed because two had one name, and that name."""

    @property
    def ambiguous(self) -> set[str]:
        return {label.casefold() for label in self.labels.values()}

    def matches(self, qualifier: Sequence[str]) -> bool:
        """Whether `orders`, or `db.orders`, means this source."""
        return tuple(part.casefold() for part in qualifier) == self.shown[-len(qualifier) :]


@dataclass
class _Scope:
    """What a SELECT sees: its sources, the merged columns of USING, and the enclosing query."""

    parent: _Scope | None
    sources: list[_Source] = field(default_factory=list)
    merged: dict[str, exp.Expr] = field(default_factory=dict)
    """The column that a USING name means."""
    output: list[tuple[str, exp.Expr]] = field(default_factory=list)
    """What a star shows, in order: the columns of USING come first and once."""

    def add(self, source: _Source) -> None:
        self.sources.append(source)
        self.output += [(source.labels.get(c, c), column(source.alias, c)) for c in source.columns.values()]

    def visible(self) -> Iterator[str]:
        for source in self.sources:
            yield from source.columns.values()
        if self.parent is not None:
            yield from self.parent.visible()


@dataclass(frozen=True)
class _Cte:
    name: str
    columns: tuple[str, ...]
    labels: Mapping[str, str]


Ctes = Mapping[str, _Cte]


class _Names:
    """Qualifies one definition; aliases are unique in all of it."""

    def __init__(self, catalog: Catalog, label: str) -> None:
        self.catalog, self.label = catalog, label
        self.taken = set(catalog.folded)
        self.aliases: set[str] = set()

    def fail(self, node: exp.Expr, problem: str, hint: str) -> NoReturn:
        raise ViewError(f"{self.label}: {place(node)}{problem}", hint)

    def query(self, query: exp.Expr, parent: _Scope | None, ctes: Ctes) -> list[str]:
        """Qualify a query in place; returns the names of its output columns."""
        ctes = self.with_clause(query, parent, ctes)
        match query:
            case exp.Select():
                return self.select(query, parent, ctes)
            case exp.SetOperation():
                return self.set_operation(query, parent, ctes)
            case exp.Subquery():
                outputs = self.query(query.this, parent, ctes)
                self.order_by_output(query, outputs)
                return outputs
            case exp.Values():
                return self.values(query)
        self.fail(query, f"{fragment(query)} is not understood here", "write a SELECT")

    def with_clause(self, query: exp.Expr, parent: _Scope | None, ctes: Ctes) -> Ctes:
        clause = query.args.get("with_")
        if clause is None:
            return ctes
        known = dict(ctes)
        for cte in clause.expressions:
            outputs = self.query(cte.this, parent, known)
            columns, labels = self.renamed(cte.args["alias"], outputs, cte.this)
            name = _unused(cte.alias, self.taken)
            known[cte.alias.casefold()] = _Cte(name, tuple(columns), labels)
            cte.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        return known

    def set_operation(self, query: exp.SetOperation, parent: _Scope | None, ctes: Ctes) -> list[str]:
        if query.args.get("by_name") or query.side or query.kind:
            self.fail(query, "BY NAME is not understood", "write the columns in one order")
        left = self.query(query.this, parent, ctes)
        right = self.query(query.expression, parent, ctes)
        if len(left) != len(right):
            words = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}
            self.fail(
                query,
                f"the sides of {words[type(query)]} have {len(left)} and {len(right)} columns",
                "give both as many",
            )
        self.order_by_output(query, left)
        return left

    def values(self, query: exp.Values) -> list[str]:
        widths = {len(row.expressions) if isinstance(row, exp.Tuple) else 1 for row in query.expressions}
        if len(widths) != 1:
            self.fail(query, "the rows of VALUES have different lengths", "give each as many values")
        for node in query.find_all(exp.Column):
            self.fail(node, f"{fragment(node)} in VALUES is not a constant", "write literals")
        return [f"col{i + 1}" for i in range(widths.pop())]

    def select(self, select: exp.Select, parent: _Scope | None, ctes: Ctes) -> list[str]:
        for ignored in ("hint", "sort", "cluster", "distribute"):
            select.set(ignored, None)
        scope = _Scope(parent)
        self.from_clause(select, scope, ctes)
        windows = {window.this.name.casefold(): window for window in select.args.get("windows") or ()}
        select.set("windows", None)
        self.inline_windows(select, windows)
        if where := select.args.get("where"):
            self.resolve(where, scope, ctes)
        outputs = self.projections(select, scope, ctes)
        aliases = {name.casefold(): node.unalias() for name, node in zip(outputs, select.expressions, strict=True)}
        self.group_by(select, scope, ctes, aliases)
        for clause in ("having", "qualify"):
            if node := select.args.get(clause):
                self.resolve(node, scope, ctes, first=aliases)
        self.order_by(select, scope, ctes, aliases, outputs)
        return outputs

    def from_clause(self, select: exp.Expr, scope: _Scope, ctes: Ctes) -> None:
        if source := select.args.get("from_"):
            self.source(source.this, scope, ctes)
        for join in select.args.get("joins") or ():
            self.join(join, scope, ctes)

    def join(self, join: exp.Join, scope: _Scope, ctes: Ctes) -> None:
        before, shown = len(scope.sources), len(scope.output)
        self.source(join.this, scope, ctes)
        using = [each.name for each in join.args.get("using") or ()]
        if (join.method or "").upper() == "NATURAL":
            right = {name.casefold() for name, _ in scope.output[shown:]}
            using = [name for name, _ in scope.output[:shown] if name.casefold() in right]
            join.set("method", None)
        if using:
            self.using(join, using, scope, before)
        elif on := join.args.get("on"):
            self.resolve(on, scope, ctes)
        if join.kind.upper() in ("SEMI", "ANTI"):
            del scope.sources[before:]
            del scope.output[shown:]

    def using(self, join: exp.Join, names: list[str], scope: _Scope, before: int) -> None:
        left = _Scope(None, scope.sources[:before], dict(scope.merged))
        right = _Scope(None, scope.sources[before:])
        conditions: list[exp.Expr] = []
        keys: list[tuple[str, exp.Expr]] = []
        for name in names:
            written = exp.column(name, quoted=True)
            written.this.meta.update(next((i.meta for i in join.args.get("using") or () if i.name == name), {}))
            mine, theirs = self.lookup(written, left), self.lookup(written, right)
            for side, found in ((left, mine), (right, theirs)):
                if found is None:
                    self.fail(written, f"no column {name!r} to join by", did_you_mean(name, side.visible(), "columns"))
            assert mine is not None
            assert theirs is not None
            conditions.append(exp.EQ(this=mine.copy(), expression=theirs.copy()))
            folded = name.casefold()
            both = exp.Coalesce(this=mine.copy(), expressions=[theirs.copy()])
            one_side = join.kind.upper() in ("SEMI", "ANTI")
            chosen = mine if one_side else {"RIGHT": theirs, "FULL": both}.get(join.side.upper(), mine)
            scope.merged[folded] = chosen.copy()
            keys.append((name, chosen.copy()))
        folded_keys = {name.casefold() for name, _ in keys}
        rest = [(name, node) for name, node in scope.output if name.casefold() not in folded_keys]
        scope.output = [*keys, *rest]
        join.set("using", None)
        join.set("on", exp.and_(*conditions, copy=False))

    def source(self, node: exp.Expr, scope: _Scope, ctes: Ctes) -> None:
        """Add one source of FROM to the scope, and give it its unique alias."""
        match node:
            case exp.Table():
                scope.add(self.table(node, ctes))
                for join in node.args.get("joins") or ():
                    self.join(join, scope, ctes)
            case exp.Subquery(this=exp.Table() as inner) if not node.alias:
                self.source(inner, scope, ctes)
            case exp.Subquery() | exp.Values():
                query = node.this if isinstance(node, exp.Subquery) else node
                outputs = self.query(query, scope.parent, ctes)
                alias = node.args.get("alias") or exp.TableAlias()
                columns, labels = self.renamed(alias, outputs, query)
                name = _unused(alias.name or "derived", self.aliases)
                scope.add(_source((alias.name,) if alias.name else (), name, columns, labels))
                listed = [exp.to_identifier(c, quoted=True) for c in columns] if query is node else None
                node.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True), columns=listed))
            case _:
                self.fail(node, f"{fragment(node)} in FROM is not understood", "name a table or a subquery")

    def table(self, node: exp.Table, ctes: Ctes) -> _Source:
        parts = [part.name for part in node.parts]
        alias = node.args.get("alias")
        cte = ctes.get(parts[0].casefold()) if len(parts) == 1 else None
        labels: Mapping[str, str] = {}
        if cte is not None:
            name, columns, labels = cte.name, list(cte.columns), cte.labels
        else:
            relation = self.catalog.find(".".join(parts)) or self.catalog.find(
                ".".join(parts).removeprefix("spark_catalog.")
            )
            if relation is None or relation.name == CLOCK:
                known = [*ctes, *(name for name in self.catalog.relations if name != CLOCK)]
                hint = did_you_mean(parts[-1], known, "tables and views")
                self.fail(node, f"reads the unknown table {'.'.join(parts)[:80]!r}", hint)
            name, columns = relation.name, list(relation.columns)
        columns_shown = columns
        if alias is not None and alias.columns:
            columns_shown = [each.name for each in alias.columns]
            if len(columns_shown) != len(columns):
                self.fail(node, f"{name} has {len(columns)} columns, its alias {len(columns_shown)}", "name all")
        unique = _unused(alias.name if alias is not None and alias.name else parts[-1], self.aliases)
        shown = (alias.name,) if alias is not None and alias.name else tuple(parts)
        made = _source(shown, unique, columns_shown, labels if columns_shown is columns else {})
        if columns_shown is not columns:
            made.columns = {folded: columns[i] for i, folded in enumerate(made.columns)}
        node.set("this", exp.to_identifier(name, quoted=True))
        node.set("db", None)
        node.set("catalog", None)
        node.set("alias", exp.TableAlias(this=exp.to_identifier(unique, quoted=True)))
        return made

    def renamed(self, alias: exp.Expr, outputs: list[str], query: exp.Expr) -> tuple[list[str], dict[str, str]]:
        """The output names after a column list such as `t(a, b)`, made unique, and what the changed ones were."""
        given = [each.name for each in alias.args.get("columns") or ()]
        if given and len(given) != len(outputs):
            self.fail(alias, f"{len(given)} names for {len(outputs)} columns", "name all of them")
        wanted = given or outputs
        taken: set[str] = set()
        names = [_unused(name, taken) for name in wanted]
        if isinstance(query, exp.Query):
            for projection, name in zip(query.selects, names, strict=True):
                projection.set("alias", exp.to_identifier(name, quoted=True))
        return names, {name: old for name, old in zip(names, wanted, strict=True) if name != old}

    def inline_windows(self, select: exp.Select, windows: Mapping[str, exp.Window]) -> None:
        for window in [each for each in _own(select, exp.Window) if each.args.get("alias")]:
            name = window.args["alias"]
            if name.name.casefold() not in windows:
                known = [each.this.name for each in windows.values()]
                self.fail(name, f"no window {name.name!r}", did_you_mean(name.name, known, "windows"))
            found = windows[name.name.casefold()]
            window.set("alias", None)
            for part in ("partition_by", "order", "spec"):
                if (value := found.args.get(part)) is not None:
                    window.set(part, [each.copy() for each in value] if isinstance(value, list) else value.copy())

    def projections(self, select: exp.Select, scope: _Scope, ctes: Ctes) -> list[str]:
        """Expand stars, resolve and alias every output column; returns their names as Spark would show them."""
        outputs: list[str] = []
        nodes: list[exp.Expr] = []
        earlier: dict[str, exp.Expr] = {}
        for projection in select.expressions:
            if projection.is_star:
                for name, found in self.star(projection, scope):
                    outputs.append(name)
                    nodes.append(_marked(found, projection))
                continue
            name = projection.alias or _output_name(projection)
            resolved = self.resolve(projection, scope, ctes, last=earlier)
            outputs.append(name)
            nodes.append(resolved.unalias())
            if projection.alias:
                earlier[name.casefold()] = nodes[-1]
        taken: set[str] = set()
        select.set(
            "expressions",
            [
                _marked(exp.Alias(this=node, alias=exp.to_identifier(_unused(name, taken), quoted=True)), node)
                for name, node in zip(outputs, nodes, strict=True)
            ],
        )
        return outputs

    def star(self, star: exp.Expr, scope: _Scope) -> Iterator[tuple[str, exp.Expr]]:
        """The columns of `*` or `t.*`, with EXCEPT and REPLACE."""
        qualifier = [part.name for part in star.parts[:-1]] if isinstance(star, exp.Column) else []
        inner = star.this if isinstance(star, exp.Column) else star
        left_out = {each.name.casefold() for each in inner.args.get("except_") or ()}
        if inner.args.get("replace") or inner.args.get("rename"):
            self.fail(star, "REPLACE in a star is not understood", "list the columns")
        sources = [s for s in scope.sources if not qualifier or s.matches(qualifier)]
        if not sources:
            known = [source.shown[-1] for source in scope.sources if source.shown]
            self.fail(star, f"{fragment(star)} names no table here", did_you_mean(".".join(qualifier), known, "tables"))
        shown = [(s.labels.get(c, c), column(s.alias, c)) for s in sources for c in s.columns.values()]
        for name, node in shown if qualifier else scope.output:
            if name.casefold() not in left_out:
                yield name, node.copy()

    def group_by(self, select: exp.Select, scope: _Scope, ctes: Ctes, aliases: Mapping[str, exp.Expr]) -> None:
        group = select.args.get("group")
        if group is None:
            return
        if group.args.get("all"):
            plain = [each.unalias() for each in select.expressions if not any(map(is_aggregate, each.walk()))]
            select.set("group", exp.Group(expressions=[each.copy() for each in plain]))
            return
        for kind, make in (("rollup", exp.Rollup), ("cube", exp.Cube)):
            if group.args.get(kind):  # GROUP BY a, b WITH ROLLUP
                group = exp.Group(expressions=[make(expressions=group.expressions)])
                select.set("group", group)
        for node in list(group.find_all(exp.Literal)):
            around = node.parent
            if isinstance(around, exp.Group | exp.Rollup | exp.Cube | exp.Tuple) and not node.is_string:
                node.replace(self.at_position(node, select).copy())
        self.resolve(group, scope, ctes, last=aliases)

    def at_position(self, literal: exp.Expr, select: exp.Query) -> exp.Expr:
        position = int(literal.name) if literal.name.isdigit() else 0
        if not 1 <= position <= len(select.selects):
            self.fail(literal, f"there is no output column {literal.name}", f"they are 1 to {len(select.selects)}")
        return select.selects[position - 1].unalias()

    def order_by(
        self, select: exp.Select, scope: _Scope, ctes: Ctes, aliases: Mapping[str, exp.Expr], outputs: Sequence[str]
    ) -> None:
        order = select.args.get("order")
        if order is None:
            return
        for ordered in order.expressions:
            if isinstance(ordered.this, exp.Literal) and not ordered.this.is_string:
                ordered.set("this", self.at_position(ordered.this, select).copy())
            elif not (isinstance(ordered.this, exp.Var) and ordered.this.name.upper() == "ALL"):
                self.resolve(ordered, scope, ctes, first=aliases)
        _order_by_all(order, [each.unalias() for each in select.expressions])
        for ordered in order.expressions:  # engines refuse a correlated subquery here, but know the output's name
            if ordered.this.find(exp.Query):
                match = next((p.alias for p in select.expressions if p.unalias() == ordered.this), None)
                if match is not None:
                    ordered.set("this", exp.column(match, quoted=True))
        if select.args.get("distinct"):
            shown = {each.unalias().sql(): each.alias for each in select.expressions}
            shown |= {exp.column(name, quoted=True).sql(): name for name in list(shown.values())}
            for ordered in order.expressions:
                if (text := ordered.this.sql()) not in shown:
                    self.fail(
                        ordered, f"ORDER BY {fragment(ordered.this)} is not among the DISTINCT columns", "select it"
                    )
                ordered.set("this", exp.column(shown[text], quoted=True))

    def order_by_output(self, query: exp.Expr, outputs: Sequence[str]) -> None:
        """ORDER BY of a set operation names output columns only; they stay without a source."""
        order = query.args.get("order")
        if order is None:
            return
        _order_by_all(order, [exp.column(name, quoted=True) for name in outputs])
        folded = {name.casefold(): name for name in outputs}
        for ordered in order.expressions:
            if isinstance(ordered.this, exp.Literal) and ordered.this.name.isdigit():
                position = int(ordered.this.name)
                if not 1 <= position <= len(outputs):
                    self.fail(ordered, f"there is no output column {position}", f"they are 1 to {len(outputs)}")
                ordered.set("this", exp.column(outputs[position - 1], quoted=True))
            for node in list(ordered.find_all(exp.Column)):
                if node.table or node.name.casefold() not in folded:
                    hint = did_you_mean(node.name, outputs, "columns")
                    self.fail(node, f"ORDER BY {fragment(node)} is no output column", hint)
                node.set("this", exp.to_identifier(folded[node.name.casefold()], quoted=True))

    def resolve(
        self,
        node: exp.Expr,
        scope: _Scope,
        ctes: Ctes,
        *,
        first: Mapping[str, exp.Expr] | None = None,
        last: Mapping[str, exp.Expr] | None = None,
    ) -> exp.Expr:
        """Resolve every column of a node, in place; subqueries are qualified inside this scope.

        `first` are output aliases that win over columns, `last` those that lose to them. Returns what now stands
        in the node's place: a column that is the whole node is replaced.
        """
        for written in list(_own(node, exp.Query, exp.Anonymous, exp.Column)):
            found: exp.Expr | None
            if isinstance(written, exp.Query):
                self.query(written, scope, ctes)
                continue
            if isinstance(written, exp.Anonymous):
                clock = {"now": exp.CurrentTimestamp, "curdate": exp.CurrentDate}.get(written.this.casefold())
                if clock is not None and not written.expressions:
                    moment = written.replace(clock())
                    node = moment if written is node else node
                continue
            assert isinstance(written, exp.Column)
            if _is_lambda_variable(written):
                continue
            alias = None if written.table else (first or {}).get(written.name.casefold())
            if alias is not None and written.find_ancestor(exp.AggFunc) and any(map(is_aggregate, alias.walk())):
                alias = None  # an aggregate inside an aggregate: the column itself is meant
            found = _inside(alias, written) if alias is not None else self.lookup(written, scope)
            if found is None and not written.table and last and written.name.casefold() in last:
                found = _inside(last[written.name.casefold()], written)
            if found is None:
                found = self.outside(written, scope)
            written.replace(_marked(found, written))
            node = found if written is node else node
        return node

    def outside(self, written: exp.Column, scope: _Scope) -> exp.Expr:
        """A column of an enclosing query, or the error that there is none."""
        around = scope.parent
        while around is not None:
            if (found := self.lookup(written, around)) is not None:
                return found
            around = around.parent
        if written.name.casefold() == "localtimestamp" and not written.table:
            return exp.cast(column(CLOCK, NOW), "timestampntz", dialect="spark")
        known = list(dict.fromkeys(scope.visible()))
        tables = [source.shown[-1] for source in scope.sources if source.shown]
        if written.table and written.table.casefold() not in {name.casefold() for name in tables}:
            hint = did_you_mean(written.table, tables, "tables")
        else:
            hint = did_you_mean(written.name, known, "columns")
        self.fail(written, f"unknown column {fragment(written)[1:-1]!r}", hint)

    def lookup(self, written: exp.Column, scope: _Scope) -> exp.Expr | None:
        """The column in this scope alone; a field of a struct is reached through its column."""
        parts = [part.name for part in written.parts]
        for length in range(len(parts) - 1, 0, -1):
            owners = [source for source in scope.sources if source.matches(parts[:length])]
            if len(owners) > 1:
                self.fail(written, f"the name {'.'.join(parts[:length])!r} means two tables", "give each its own alias")
            if owners and parts[length].casefold() in owners[0].columns:
                found = self.of_source(written, owners[0], parts[length])
                return _fields(found, parts[length + 1 :])
        folded = parts[0].casefold()
        if folded in scope.merged:
            return _fields(scope.merged[folded].copy(), parts[1:])
        owners = [source for source in scope.sources if folded in source.columns]
        if len(owners) > 1:
            choices = [f"{source.shown[-1] if source.shown else '?'}.{parts[0]}" for source in owners[:3]]
            hint = f"write {' or '.join(choices)}" if len(set(choices)) > 1 else "give each table its own alias"
            self.fail(written, f"the column {parts[0]!r} is ambiguous", hint)
        if not owners:
            return None
        return _fields(self.of_source(written, owners[0], parts[0]), parts[1:])

    def of_source(self, written: exp.Column, source: _Source, name: str) -> exp.Expr:
        if name.casefold() in source.ambiguous:
            self.fail(written, f"the column {name!r} is ambiguous", "give the columns of the subquery different names")
        return column(source.alias, source.columns[name.casefold()])


def _source(shown: Iterable[str], alias: str, names: Sequence[str], labels: Mapping[str, str] | None = None) -> _Source:
    return _Source(tuple(part.casefold() for part in shown), alias, {n.casefold(): n for n in names}, labels or {})


def _own(node: exp.Expr, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Nodes of some kinds from a node down, without entering queries; a SELECT itself is entered."""

    def inner(each: exp.Expr) -> bool:
        return isinstance(each, exp.Query) and not (each is node and isinstance(each, exp.Select))

    for each in node.walk(prune=inner):
        if isinstance(each, kinds):
            yield each


def _inside(alias: exp.Expr, written: exp.Column) -> exp.Expr:
    """A copy of an alias's expression, in parentheses where it comes to stand inside another."""
    whole = not isinstance(written.parent, exp.Binary | exp.Unary | exp.Predicate | exp.Dot | exp.Bracket | exp.Cast)
    return alias.copy() if whole or is_atom(alias) else exp.Paren(this=alias.copy())


def _unused(name: str, taken: set[str]) -> str:
    """The name, or the name with a number that makes it new; it is taken from then on."""
    found, number = name, 1
    while found.casefold() in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found.casefold())
    return found


def _output_name(projection: exp.Expr) -> str:
    """How Spark calls a column without alias: by its name, or by the text of the expression.

    >>> import sqlglot
    >>> _output_name(sqlglot.parse_one("SUM(t.x * 2) + COUNT(*)", read="spark"))
    '(sum((x * 2)) + count(1))'
    """
    inner = projection.unnest()
    if isinstance(inner, exp.Column | exp.Dot):
        return inner.name
    root = exp.Paren(this=inner.copy())
    for node in list(root.find_all(exp.Column, exp.Literal, exp.Paren, exp.Star)):
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            node.replace(exp.Var(this=node.name))
        elif isinstance(node, exp.Star) and isinstance(node.parent, exp.Count):
            node.replace(exp.Literal.number(1))
        elif isinstance(node, exp.Literal) and node.is_string:
            node.replace(exp.Var(this=node.name))
        elif isinstance(node, exp.Paren) and node is not root:
            node.replace(node.this)
    for binary in list(root.find_all(exp.Binary)):
        if not isinstance(binary, exp.Dot):
            around = exp.Paren()
            binary.replace(around)
            around.set("this", binary)
    return str(root.this.sql(dialect="spark", normalize_functions="lower"))


def _marked(node: exp.Expr, origin: exp.Expr) -> exp.Expr:
    """The node with the place of what it replaces, for messages of later passes."""
    marks = [each.meta for each in origin.walk() if each.meta_get("line") is not None]
    if marks:
        node.meta.update(min(marks, key=lambda mark: (mark["line"], mark["start"])))
    return node


def _fields(found: exp.Expr, names: Sequence[str]) -> exp.Expr:
    for name in names:
        found = exp.Dot(this=found, expression=exp.to_identifier(name, quoted=True))
    return found


def _is_lambda_variable(written: exp.Column) -> bool:
    around = written.find_ancestor(exp.Lambda)
    return around is not None and written.parts[0].name.casefold() in {e.name.casefold() for e in around.expressions}


def _order_by_all(order: exp.Expr, outputs: Sequence[exp.Expr]) -> None:
    """`ORDER BY ALL` means every output column."""
    first = order.expressions[0]
    if isinstance(first.this, exp.Var) and first.this.name.upper() == "ALL":
        order.set(
            "expressions",
            [
                exp.Ordered(this=o.copy(), desc=first.args.get("desc"), nulls_first=first.args.get("nulls_first"))
                for o in outputs
            ],
        )
