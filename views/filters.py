"""The condition that a reader puts on a view: one SQL expression over the view's output columns."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from views.errors import ViewError
from views.parsing import parse
from views.places import fragment
from views.spelling import did_you_mean


def parse_filter(text: str, columns: Sequence[str], label: str) -> exp.Expr:
    """The condition as a tree over the columns' own spelling.

    >>> parse_filter("N_NAME = 'FRANCE'", ["n_name"], "view 'v'").sql("spark")
    "`n_name` = 'FRANCE'"
    """
    query = parse(f"SELECT 1 FROM v WHERE {text}\n", f"{label}: the filter")
    where = query.args.get("where")
    more = [key for key, value in query.args.items() if value and key not in ("expressions", "from_", "where")]
    if not isinstance(query, exp.Select) or where is None or more or where.find(exp.Query):
        raise ViewError(f"{label}: the filter {text[:60]!r} is not one condition", "write it as  column = value")
    known = {name.casefold(): name for name in columns}
    for column in where.find_all(exp.Column):
        if column.parts[0].name.casefold() not in known and known:
            hint = did_you_mean(column.name, columns, "columns")
            raise ViewError(f"{label}: the filter names no column of the view: {fragment(column)}", hint)
        first = column.parts[0]
        first.replace(exp.to_identifier(known.get(first.name.casefold(), first.name), quoted=True))
    condition: exp.Expr = where.this.unnest()
    return condition
