"""Why a view cannot be maintained incrementally: stable codes, what each means, and what to do about it.

A view with a reason is still served by query modification or recompute; under `strict: true` the reason is an
error. The codes are one table, `REASONS`; `docs/reasons.md` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from views import functions
from views.places import fragment, place

PREFIX = "NOT_INCREMENTAL."

REASONS: dict[str, tuple[str, str]] = {
    "NONDETERMINISTIC": (
        "a function gives another answer each time, so the view is no function of its tables",
        "compute the value when the base table is written, and store it there",
    ),
    "ORDER_DEPENDENT": (
        "an aggregate depends on the order in which rows arrive, which the engine does not fix",
        "use an aggregate that does not, or sort_array(collect_list(…))",
    ),
    "UDF": (
        "what a user-defined function does is not known here",
        "write it with Spark's own functions, or store its result in the base table",
    ),
    "SAMPLE": ("TABLESAMPLE picks other rows each time", "select by a condition on a column instead"),
    "RECURSION": ("recursive views are not maintained yet", "recompute it, or write the steps out"),
    "GENERATOR": (
        "one row becomes many through a generator or a table function",
        "store the expanded rows as a base table",
    ),
    "LATERAL": ("a LATERAL subquery is not maintained", "write it as a join with a grouped subquery"),
    "PIVOT": ("PIVOT and UNPIVOT are not maintained", "write SUM(CASE WHEN … THEN … END) per column"),
    "NESTED": (
        "subqueries, outer joins or set operations stand inside each other so deeply that its change reads too much",
        "store the inner part as a view of its own",
    ),
    "NOT_SPJ": (
        "the differential algorithm keeps one select, project and join over tables, and this is more",
        "counting keeps it",
    ),
    "TRUTH_TABLE": (
        "so many of the tables in its join changed at once that their truth table is too long",
        "counting keeps it, with one term for each of them",
    ),
    "UNKNOWN_COLUMNS": (
        "the columns of a table are not known before its data is imported",
        "declare columns: of the table, or apply first",
    ),
    "READS_NOT_INCREMENTAL": (
        "it reads a view that cannot be maintained incrementally",
        "mend that view, or store it by recompute",
    ),
}

STRUCTURAL = frozenset({"SAMPLE", "RECURSION", "GENERATOR", "LATERAL", "PIVOT", "UNKNOWN_COLUMNS"})
"""Reasons for which there are no rules at all; the others only say that the rules must not be trusted with time."""


@dataclass(frozen=True)
class Reason:
    """One reason, and where in the definition it was found."""

    why: str
    where: str

    @property
    def code(self) -> str:
        """
        >>> Reason("UDF", "line 1, column 8: 'my_udf(x)'").code
        'NOT_INCREMENTAL.UDF'
        """
        return PREFIX + self.why

    @property
    def remedy(self) -> str:
        return REASONS[self.why][1]

    def __str__(self) -> str:
        return f"{self.code}: {self.where}: {REASONS[self.why][0]}; {self.remedy}"


def find_reasons(query: exp.Query) -> tuple[Reason, ...]:
    """Every reason in the text of a definition, in its order, each kind and fragment once."""
    found = (Reason(why, f"{place(node)}{fragment(node)}") for node in query.walk(bfs=False) for why in _why(node))
    return tuple(dict.fromkeys(found))


def _why(node: exp.Expr) -> Iterator[str]:
    match node:
        case exp.With() if node.args.get("recursive"):
            yield "RECURSION"
        case exp.Lateral() if isinstance(node.this, exp.Subquery):
            yield "LATERAL"
        case exp.Lateral() | exp.Unnest():
            yield "GENERATOR"
        case exp.Pivot():
            yield "PIVOT"
        case exp.TableSample():
            yield "SAMPLE"
        case exp.Table() if isinstance(node.this, exp.Func):
            yield "GENERATOR"
        case exp.Func() if not isinstance(node.parent, exp.Table | exp.Lateral):
            yield from _why_function(node)


def _why_function(call: exp.Func) -> Iterator[str]:
    name = functions.function_name(call)
    if name in functions.GENERATORS:
        yield "GENERATOR"
    elif name in functions.NONDETERMINISTIC:
        yield "NONDETERMINISTIC"
    elif name in functions.ORDER_DEPENDENT and not _ordered_by_window(call) and not _sorted(call):
        yield "ORDER_DEPENDENT"
    elif isinstance(call, exp.Anonymous) and name not in functions.SCALARS | functions.AGGREGATES:
        yield "UDF"


def _ordered_by_window(call: exp.Expr) -> bool:
    """Whether the rows arrive in the order of an OVER clause."""
    while isinstance(call.parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        call = call.parent
    window = call.parent
    return isinstance(window, exp.Window) and window.this is call


def _sorted(call: exp.Expr) -> bool:
    """Whether the order is made good by sorting, or said by WITHIN GROUP."""
    while isinstance(call.parent, exp.Filter | exp.Paren):
        call = call.parent
    around = call.parent
    return isinstance(around, exp.WithinGroup) or (
        isinstance(around, exp.Func) and functions.function_name(around) in ("sort_array", "array_sort", "size")
    )
