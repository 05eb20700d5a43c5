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
    _refuse_unrepeatable(tree)
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
            case exp.CurrentTimestamp():
                return exp.cast(exp.Literal.string(now.strftime("%Y-%m-%d %H:%M:%S.%fZ")), "timestamp", dialect="spark")
            case _:
                return node

    return tree.transform(literal)


def _refuse_unrepeatable(tree: exp.Expr) -> None:
    for call in tree.find_all(exp.Func):
        name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower()
        if name in _UNREPEATABLE:
            raise UpdateError(f"{name.upper()} gives another answer each time", "compute the rows first, then update")
