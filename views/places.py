"""Where something stands in a view's SQL, in words: line, column and the fragment itself."""

from __future__ import annotations

import re

from sqlglot import exp

_SHOWN = 60
_PLAIN = re.compile(r"[A-Za-z_]\w*")


def place(node: exp.Expr) -> str:
    """`line 2, column 8: ` of the first word of a node, or nothing where the parser did not keep it.

    >>> import sqlglot
    >>> place(sqlglot.parse_one("SELECT a,\\n  b FROM t").selects[1])
    'line 2, column 3: '
    """
    marks = [each.meta for each in node.walk() if each.meta_get("line") is not None]
    if not marks:
        return ""
    first = min(marks, key=lambda mark: (mark["line"], mark["start"]))
    width = first["end"] - first["start"]
    return f"line {first['line']}, column {first['col'] - width}: "


def fragment(node: exp.Expr) -> str:
    """The text of a node, on one line and cut to what fits a message.

    >>> fragment(exp.column("x", "t", quoted=True))
    "'t.x'"
    """
    text = " ".join(plain_sql(node).split())
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def plain_sql(node: exp.Expr, pretty: bool = False) -> str:
    """A node as Spark's SQL for people: quotes only where a name needs them, no alias that repeats a name."""
    root = exp.Paren(this=node.copy())
    for alias in list(root.find_all(exp.Alias)):
        if isinstance(alias.this, exp.Column) and alias.this.name == alias.alias:
            alias.replace(alias.this)
    for table in root.find_all(exp.Table):
        if table.alias == table.name:
            table.set("alias", None)
    for name in root.find_all(exp.Identifier):
        if _PLAIN.fullmatch(name.name):
            name.set("quoted", False)
    return str(root.this.sql(dialect="spark", pretty=pretty))


def plain_name(text: str) -> str:
    """A name, in backticks where it needs them.

    >>> plain_name("n_name"), plain_name("a.b")
    ('n_name', '`a.b`')
    """
    return text if _PLAIN.fullmatch(text) else "`" + text.replace("`", "``") + "`"
