"""One SQL update statement, taken apart: INSERT, DELETE … WHERE, UPDATE … SET … WHERE.

The text is untrusted: exactly one statement of these kinds is accepted, and what runs later is built from its
syntax tree, never from the text.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from views.errors import UpdateError

_UNREPEATABLE = {
    "rand",
    "randn",
    "random",
    "uuid",
    "shuffle",
    "monotonically_increasing_id",
    "randstr",
    "uniform",
}
_RUN_CODE = {"reflect", "java_method", "try_reflect"}
_CLAUSES: dict[type, set[str]] = {
    exp.Delete: {"this", "where"},
    exp.Update: {"this", "expressions", "where"},
    exp.Insert: {"this", "expression"},
    exp.Table: {"this", "alias"},
}
"""What is understood of a statement and of its target; any other clause is refused, never dropped."""


@dataclass(frozen=True)
class Statement:
    """What a statement does to its one table."""

    table: str
    kind: str
    """`insert`, `delete` or `update`."""
    alias: str = ""
    where: exp.Expr | None = None
    sets: Mapping[str, exp.Expr] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    query: exp.Expr | None = None
    """What an INSERT inserts: a SELECT or VALUES."""


def parse_statement(sql: str, tables: Iterable[str]) -> Statement:
    """Take one update statement apart.

    >>> parse_statement("DELETE FROM orders WHERE o_orderkey < 7", ["orders"]).kind
    'delete'
    """
    try:
        trees = [t for t in sqlglot.parse(sql, dialect="spark") if t is not None]
    except sqlglot.ParseError as error:
        first = error.errors[0]
        raise UpdateError(
            f"line {first['line']}, column {first['col']}: {first['description']} near {first['highlight']!r}",
            "mend the statement",
        ) from error
    except sqlglot.TokenError as error:
        raise UpdateError(f"not SQL ({str(error).splitlines()[0]})", "mend the statement") from error
    if len(trees) != 1:
        raise UpdateError(f"{len(trees)} statements where one was expected", "give each its own update")
    tree, known = trees[0], list(tables)
    _refuse_code(tree)
    _refuse_unrepeatable(tree)
    _refuse_clauses(tree)
    tree = _freeze_time(tree)
    match tree:
        case exp.Delete(this=exp.Table() as target):
            where = tree.args.get("where")
            return Statement(_name(target, known), "delete", target.alias, where.this if where else None)
        case exp.Update(this=exp.Table() as target):
            where = tree.args.get("where")
            sets = {}
            for assignment in tree.expressions:
                if not isinstance(assignment, exp.EQ) or not isinstance(assignment.this, exp.Column):
                    raise UpdateError(f"SET {assignment.sql('spark')} is not an assignment", "write column = value")
                if assignment.this.table.lower() not in ("", target.alias_or_name.lower()):
                    raise UpdateError(
                        f"SET {assignment.this.sql('spark')} names no column", "set the column as a whole"
                    )
                if assignment.this.name in sets:
                    raise UpdateError(f"column {assignment.this.name} is set twice", "set it once")
                sets[assignment.this.name] = assignment.expression
            return Statement(_name(target, known), "update", target.alias, where.this if where else None, sets)
        case exp.Insert() if not tree.args.get("overwrite") and isinstance(tree.expression, (exp.Query, exp.Values)):
            target, columns = tree.this, ()
            if isinstance(target, exp.Schema):
                target, columns = target.this, tuple(c.name for c in target.expressions)
            return Statement(_name(target, known), "insert", columns=columns, query=tree.expression)
        case _:
            kind = tree.key.upper()
            raise UpdateError(f"{kind} is not an update", "use INSERT, DELETE … WHERE or UPDATE … SET … WHERE")


def _name(target: exp.Expr, known: list[str]) -> str:
    name = target.name
    exact = [t for t in known if t == name] or [t for t in known if t.lower() == name.lower()]
    if exact and not target.args.get("db"):
        return exact[0]
    near = difflib.get_close_matches(name, known, 1)
    raise UpdateError(
        f"unknown table {target.sql('spark')}",
        f"did you mean {near[0]}?" if near else f"tables: {', '.join(known)}",
    )


def _freeze_time(tree: exp.Expr) -> exp.Expr:
    """The statement's moment as a literal: it may be evaluated in more than one job."""
    now = dt.datetime.now(dt.UTC)

    def literal(node: exp.Expr) -> exp.Expr:
        match node:
            case exp.CurrentDate():
                return exp.cast(exp.Literal.string(now.date().isoformat()), "date")
            case exp.CurrentTimestamp() | exp.Anonymous(this="now" | "NOW"):
                return exp.cast(exp.Literal.string(now.strftime("%Y-%m-%d %H:%M:%S.%fZ")), "timestamp", dialect="spark")
            case exp.Localtimestamp() | exp.Column(this=exp.Identifier(this="localtimestamp" | "LOCALTIMESTAMP")):
                return exp.cast(
                    exp.Literal.string(now.strftime("%Y-%m-%d %H:%M:%S.%f")), "timestamp_ntz", dialect="spark"
                )
            case _:
                return node

    return tree.transform(literal)


def _refuse_code(tree: exp.Expr) -> None:
    for node in tree.find_all(exp.QueryTransform, exp.Anonymous):
        name = "TRANSFORM … USING" if isinstance(node, exp.QueryTransform) else node.name
        if isinstance(node, exp.QueryTransform) or name.lower() in _RUN_CODE:
            raise UpdateError(f"{name} runs code outside SQL", "write it with SQL functions")


def _refuse_clauses(tree: exp.Expr) -> None:
    """Refuse what would change the statement's meaning if it were left out."""
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    for node in (tree, target):
        understood = _CLAUSES.get(type(node))
        unknown = (
            [k for k, v in node.args.items() if v and k not in understood | {"db", "catalog"}] if understood else []
        )
        if unknown:
            clause = unknown[0].strip("_").replace("_", " ").upper()
            raise UpdateError(
                f"{clause} is not understood in {tree.key.upper()}", "write it as a condition or a SELECT"
            )
    for table in tree.find_all(exp.Table):
        if table.args.get("version") or table.args.get("when") or table.args.get("sample"):
            raise UpdateError(f"{table.sql('spark')} is not the table as it stands", "read the table itself")


def _refuse_unrepeatable(tree: exp.Expr) -> None:
    for call in tree.find_all(exp.Func):
        name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower()
        if name in _UNREPEATABLE:
            raise UpdateError(f"{name.upper()} gives another answer each time", "compute the rows first, then update")
