"""Random SQL over relations with typed columns, in Spark's dialect, with one answer on every engine.

What SQL leaves open (the order of ties) is said in full, and what an engine is known to get wrong is left out where
it is written, with the name of the gap. Recursion is not written: no executor keeps it yet.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Scope = dict[str, str]
"""Expressions that may be used, and the kind of each."""
Chosen = tuple[str, str]
"""An expression and its kind."""

POOLS: dict[str, Sequence[Any]] = {
    "int": (1, 2, 0, 3),
    "string": ("x", "xy", "", "Ö"),
    "bigint": (1, 2, 0, 5_000_000_000),
    "decimal(10,2)": tuple(map(Decimal, ("1.00", "2.50", "0.00", "-1.25"))),
    "double": (1.0, 2.5, 0.0, -0.75),
    "date": (dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 2, 29), dt.date(2999, 12, 31)),
    "boolean": (True, False),
}
"""Fractions of a quarter add up exactly, so that a sum is the same in any order and on any engine."""
EXACT = frozenset({"int", "bigint"})
NUMBERS = frozenset({*EXACT, "decimal(10,2)", "double", "number"})
"""`number` is a result whose type engines choose differently; it is compared and added up, but is no key."""
MEAN = "mean"
"""A quotient or root: a double in DuckDB, of decimals a decimal of six digits in Spark, so two of them never meet."""
COMPARISONS = {"=": 1, "<": 1, ">": 2, "<=": 2, ">=": 2, "<>": 2}


@dataclass(frozen=True)
class Query:
    """The text of a query, and the kind of each column it gives."""

    sql: str
    columns: Scope


def select(columns: Sequence[Chosen], rest: str, how: str = "") -> Query:
    listed = ", ".join(f"{text} AS c{place}" for place, (text, _) in enumerate(columns))
    return Query(f"SELECT {how}{listed} {rest}", {f"c{place}": kind for place, (_, kind) in enumerate(columns)})


def literal(kind: str, value: Any) -> str:
    match kind:
        case "string":
            return f"'{value}'"
        case "date":
            return f"DATE '{value}'"
        case "int" | "number" | "mean":
            return str(value)
        case _:
            return f"CAST({value} AS {kind.upper()})"


class Writer:
    """Writes queries over relations; `depth` is how many queries may still stand inside each other."""

    def __init__(self, pick: random.Random, relations: Mapping[str, Scope]) -> None:
        self.pick = pick
        self.relations = dict(relations)
        self.numbers = itertools.count()

    def one(self, of: Mapping[Any, int]) -> Any:
        """One of these, as often as its weight says."""
        return self.pick.choices(list(of), list(of.values()))[0]

    def some(self, scope: Scope, least: int, most: int) -> list[Chosen]:
        return self.pick.sample(list(scope.items()), min(len(scope), self.pick.randint(least, most)))

    def constant(self, kind: str) -> str:
        return literal(kind, self.pick.choice(POOLS.get(kind, POOLS["int"])))

    def query(self, depth: int) -> Query:
        shapes = {self.plain: 6, self.grouped: 7, self.combined: 3, self.windowed: 2, self.limited: 2, self.common: 1}
        found: Query = self.one(shapes)(depth)
        return found

    def plain(self, depth: int) -> Query:
        rest, scope = self.body(depth)
        return select(self.values(scope, depth), rest, self.one({"": 4, "DISTINCT ": 1}))

    def grouped(self, depth: int) -> Query:
        rest, scope = self.body(depth)
        keys = self.some(keyable(scope), 0, 2)
        if keys and self.pick.random() > 0.8:
            keys[0] = self.computed(scope, depth=0)
        shown = keys if self.pick.random() < 0.9 else []
        if keys:
            listed = ", ".join(dict.fromkeys(text for text, _ in keys))
            sets = {"{}": 8}
            if all(text in scope for text, _ in keys):
                sets |= {"ROLLUP ({})": 1, "CUBE ({})": 1, f"GROUPING SETS (({{}}), ({keys[0][0]}), ())": 1}
            rest += f" GROUP BY {self.one(sets).format(listed)}"
        if self.pick.random() > 0.8:
            text, kind = self.aggregate(scope)
            rest += f" HAVING {self.compared(text, kind)}"
        return select([*shown, *(self.aggregate(scope) for _ in range(self.pick.randint(1, 3)))], rest)

    def combined(self, depth: int) -> Query:
        """Set operations on columns of the same types: Sail has no common type for int and decimal or double."""
        bodies = [self.body(depth) for _ in range(self.one({2: 4, 3: 1}))]
        kinds = [kind for _, kind in self.some(bodies[0][1], 1, 2) if kind in POOLS] or ["int"]
        sides = [select(self.of_kinds(scope, kinds), rest, self.one({"": 6, "DISTINCT ": 1})) for rest, scope in bodies]
        text = sides[0].sql
        for side in sides[1:]:
            operators = ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")
            text += f" {self.pick.choice(operators)} {side.sql}"
        return Query(text, sides[0].columns)

    def of_kinds(self, scope: Scope, kinds: Sequence[str]) -> list[Chosen]:
        """A column of each kind, or a constant where there is none."""
        options = [[text for text, kind in scope.items() if kind == wanted] for wanted in kinds]
        return [(self.pick.choice(of or [self.constant(kind)]), kind) for of, kind in zip(options, kinds, strict=True)]

    def windowed(self, depth: int) -> Query:
        """A window whose order names every column that is shown, so that only equal rows tie."""
        rest, scope = self.body(depth)
        shown = self.some(keyable(scope), 1, 3)
        partition = f"PARTITION BY {shown[0][0]} " if self.pick.random() < 0.7 else ""
        text, kind = self.pick.choice(shown)
        functions: dict[Chosen, int] = {
            ("ROW_NUMBER()", "int"): 3,
            ("RANK()", "int"): 1,
            ("DENSE_RANK()", "int"): 1,
            ("COUNT(*)", "bigint"): 1,
            (f"LAG({text})", kind): 1,
            (f"MAX({text})", kind): 1,
            (f"FIRST_VALUE({text})", kind): 1,
        }
        if kind in NUMBERS:
            functions[f"SUM({text})", "number"] = 2
        function, kind = self.one(functions)
        order = f"ORDER BY {self.ordered(text for text, _ in shown)}"
        if function.startswith(("COUNT", "MAX", "SUM")):
            frame = " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"
            order = self.one({"": 2, order: 2, order + frame: 1})
        return select([*shown, (f"{function} OVER ({partition}{order})", kind)], rest)

    def limited(self, depth: int) -> Query:
        found = self.one({self.plain: 3, self.grouped: 1})(depth)
        order = self.ordered(found.columns)
        return Query(f"{found.sql} ORDER BY {order} LIMIT {self.pick.randint(1, 4)}", found.columns)

    def ordered(self, columns: Iterable[str]) -> str:
        return ", ".join(f"{each}{self.pick.choice(('', ' DESC', ' ASC NULLS LAST'))}" for each in columns)

    def common(self, depth: int) -> Query:
        name = f"w{next(self.numbers)}"
        inner = self.query(depth - 1) if depth else self.plain(0)
        outside = self.relations
        self.relations = {name: inner.columns, **dict(self.pick.sample(list(outside.items()), 1))}
        outer = self.one({self.plain: 1, self.grouped: 1, self.combined: 1})(0)
        self.relations = outside
        return Query(f"WITH {name} AS ({inner.sql}) {outer.sql}", outer.columns)

    def body(self, depth: int) -> tuple[str, Scope]:
        """FROM and WHERE, and what can be named above them."""
        text, scope = self.item(depth)
        for _ in range(self.one({0: 6, 1: 5, 2: 1})):
            text, scope = self.joined(text, scope, depth)
        conditions = [self.condition(scope, depth) for _ in range(self.one({0: 5, 1: 4, 2: 1}))]
        return f"FROM {text}" + (f" WHERE {' AND '.join(conditions)}" if conditions else ""), scope

    def item(self, depth: int) -> tuple[str, Scope]:
        """A relation or a derived table, under an alias of its own."""
        alias = f"q{next(self.numbers)}"
        name = self.one({name: 1 if name.startswith("v") else 3 for name in self.relations})
        text, columns = name, self.relations[name]
        if depth and self.pick.random() > 0.85:
            derived = self.query(depth - 1)
            text, columns = f"({derived.sql})", derived.columns
        return f"{text} AS {alias}", {f"{alias}.{column}": kind for column, kind in columns.items()}

    def joined(self, text: str, scope: Scope, depth: int) -> tuple[str, Scope]:
        right, more = self.item(depth)
        on = self.link(scope, more)
        how = self.one({"": 5, "LEFT ": 3, "RIGHT ": 1, "FULL ": 2, "LEFT SEMI ": 1, "LEFT ANTI ": 1})
        if on is None or self.pick.random() > 0.95:
            return f"{text} CROSS JOIN {right}", {**scope, **more}
        if self.pick.random() > 0.8:
            on += f" {self.one({'AND': 2, 'OR': 1})} {self.simple(more)}"
        return f"{text} {how}JOIN {right} ON {on}", scope if how.endswith(("SEMI ", "ANTI ")) else {**scope, **more}

    def link(self, left: Scope, right: Scope) -> str | None:
        """A comparison of a column of one scope with one of the other, if any two can be compared."""
        pairs = [
            (x, y)
            for x, y in itertools.product(left.items(), right.items())
            if comparable(x[1], y[1]) and x != y  # Sail folds x = x to a constant, and then fails on the types
        ]
        if not pairs:
            return None
        alike = [(x, y) for x, y in pairs if x[1] == y[1]]
        (x, kind), (y, _) = self.pick.choice(alike if alike and self.pick.random() < 0.8 else pairs)
        shift = " + 1" if kind in EXACT and self.pick.random() > 0.9 else ""
        return f"{x}{shift} {self.one({'=': 12, '<=>': 2, '<': 1, '<>': 1})} {y}"

    def condition(self, scope: Scope, depth: int) -> str:
        if not depth or self.pick.random() < 0.6:
            return self.simple(scope)
        found = self.one({self.exists: 3, self.member: 3, self.against_scalar: 2})(scope)
        return f"({found} OR {self.simple(scope)})" if self.pick.random() > 0.8 else str(found)

    def simple(self, scope: Scope) -> str:
        """A condition without subqueries."""
        match self.one({"compare": 8, "null": 2, "list": 1, "same": 1, "or": 2, "not": 1}):
            case "or":
                return f"({self.simple(scope)} {self.pick.choice(('OR', 'AND'))} {self.simple(scope)})"
            case "not":
                return f"NOT ({self.simple(scope)})"
            case "null":
                return f"{self.pick.choice(list(scope))} IS {self.pick.choice(('NOT NULL', 'NOT NULL', 'NULL'))}"
            case "list":
                text, kind = self.pick.choice(list(scope.items()))
                return f"{text} IN ({self.constant(kind)}, {self.constant(kind)})"
            case "same" if (found := self.link(scope, scope)) is not None:
                return found
        return self.compared(*self.pick.choice(list(scope.items())))

    def compared(self, text: str, kind: str) -> str:
        if kind == "date" and self.pick.random() > 0.6:
            return f"{text} {self.pick.choice(('<=', '>'))} CURRENT_DATE"
        if kind == "string" and self.pick.random() > 0.7:
            return f"{text} LIKE '%x%'"
        return f"{text} {self.one(COMPARISONS)} {self.constant(kind)}"

    def inner(self, outer: Scope) -> tuple[str, Scope]:
        """FROM and WHERE of a subquery, most often correlated with the query around it."""
        text, scope = self.item(0)
        link = self.link(scope, outer) if self.pick.random() < 0.75 else None
        conditions = [each for each in (link, self.simple(scope) if self.pick.random() > 0.7 else None) if each]
        return f"FROM {text}" + (f" WHERE {' AND '.join(conditions)}" if conditions else ""), scope

    def exists(self, scope: Scope) -> str:
        return f"{self.one({'': 1, 'NOT ': 1})}EXISTS (SELECT 1 {self.inner(scope)[0]})"

    def member(self, scope: Scope) -> str:
        rest, inside = self.inner(scope)
        pairs = [(x, y) for x, y in itertools.product(scope.items(), inside.items()) if x[1] == y[1]]
        if not pairs:
            return f"EXISTS (SELECT 1 {rest})"
        several = " WHERE " not in rest and self.pick.random() > 0.5  # DuckDB has no correlated IN over rows
        chosen = self.pick.sample(pairs, min(len(pairs), 2 if several else 1))
        left, right = (", ".join(pair[side][0] for pair in chosen) for side in (0, 1))
        return f"({left}) {self.one({'IN': 1, 'NOT IN': 1})} (SELECT {right} {rest})"

    def scalar(self, scope: Scope) -> Chosen:
        rest, inside = self.inner(scope)
        text, kind = self.aggregate(inside)
        return f"(SELECT {text} {rest})", kind

    def against_scalar(self, scope: Scope) -> str:
        text, kind = self.scalar(scope)
        others = [each for each, other in scope.items() if comparable(other, kind)]
        if not others:
            return self.compared(text, kind)
        return f"{self.pick.choice(others)} {self.one(COMPARISONS)} {text}"

    def values(self, scope: Scope, depth: int) -> list[Chosen]:
        return [
            self.pick.choice(list(scope.items())) if self.pick.random() < 0.8 else self.computed(scope, depth)
            for _ in range(self.pick.randint(1, 4))
        ]

    def computed(self, scope: Scope, depth: int) -> Chosen:
        """An expression over some column, or a subquery as a value."""
        if depth and self.pick.random() > 0.6:
            return self.scalar(scope) if self.pick.random() < 0.7 else (self.exists(scope), "boolean")
        text, kind = self.pick.choice(list(scope.items()))
        if self.pick.random() > 0.7 and kind in POOLS:
            return self.case(scope, text, kind, self.constant(kind)), kind
        match kind:
            case "int" | "bigint":
                return f"{text} {self.pick.choice(('+ 1', '% 2', '* 2'))}", kind
            case "string":
                return self.pick.choice((f"UPPER({text})", f"CONCAT({text}, '-')")), kind
            case "date":
                return f"YEAR({text})", "int"
            case "decimal(10,2)" | "double":
                return f"{text} + {self.constant(kind)}", "number"
            case "boolean":
                return f"NOT {text}", kind
        return f"-{text}", kind

    def case(self, scope: Scope, text: str, kind: str, otherwise: str) -> str:
        """The text, or else NULL or another value of its type.

        Sail fails on CASE WHEN x = 1 AND … THEN x ELSE 2 END, which it takes for a column without NULLs, and where
        the two values are decimals of different types.
        """
        others = {each: of for each, of in scope.items() if each != text}
        if kind not in POOLS or not others or self.pick.random() > 0.6:
            return f"CASE WHEN {self.simple(scope)} THEN {text} END"
        return f"CASE WHEN {self.simple(others)} THEN {text} ELSE {otherwise} END"

    def aggregate(self, scope: Scope) -> Chosen:
        numbers = {text: kind for text, kind in scope.items() if kind in NUMBERS}
        any_, kind = self.pick.choice(list(scope.items()))
        calls: dict[Callable[[], Chosen], int] = {
            lambda: ("COUNT(*)", "bigint"): 3,
            lambda: (f"COUNT({any_})", "bigint"): 1,
            lambda: (f"MIN({any_})", kind): 2,
            lambda: (f"MAX({any_})", kind): 2,
            lambda: (f"COUNT(DISTINCT {any_})", "bigint"): 1,
        }
        if numbers:
            number, of = self.pick.choice(list(numbers.items()))
            total = "bigint" if of in EXACT else "number"
            spread = self.pick.choice(("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV"))
            calls |= {
                lambda: (f"SUM({number})", total): 4,
                lambda: (f"AVG({number})", MEAN): 2,
                lambda: (f"SUM(DISTINCT {number})", total): 1,
                lambda: (f"SUM({self.case(scope, number, of, literal(of, 0))})", "number"): 1,
                lambda: (f"AVG({self.case(scope, number, of, literal(of, 0))})", MEAN): 1,
                # rounded, because the last bits of a variance depend on how it is computed
                lambda: (f"ROUND({spread}(CAST({number} AS DOUBLE)), 8)", MEAN): 1,
            }
        text, kind = self.one(calls)()
        if text.startswith(("COUNT", "SUM")) and self.pick.random() > 0.85:
            text += f" FILTER (WHERE {self.simple(scope)})"
        return text, kind


def keyable(scope: Scope) -> Scope:
    """What can be grouped and ordered by; a number whose type is open to the engine only if there is nothing else."""
    return {text: kind for text, kind in scope.items() if kind in POOLS} or scope


def comparable(one: str, other: str) -> bool:
    if one == other:
        return one != MEAN
    return {one, other} <= NUMBERS | {MEAN}


CORRELATED = r"FROM \w+ AS (q\d+) WHERE \1\.\w+( \+ 1)? \S+ (?!\1\.)q\d+\."
CONSTRUCTS: dict[str, str] = {
    **{word: f" {word} " for word in ("CROSS JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")},
    **{word: f" {word} SELECT " for word in ("UNION", "EXCEPT", "INTERSECT")},
    **{word: f" {word} SELECT " for word in ("UNION ALL", "EXCEPT ALL", "INTERSECT ALL")},
    **{word: rf"\b{word}\((?!DISTINCT|CASE|\*)" for word in ("COUNT", "SUM", "AVG", "MIN", "MAX")},
    **{word: rf"\b{word}\(" for word in ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV", "ROLLUP ", "CUBE ")},
    **{word: rf"\b{word}\b" for word in ("HAVING", "FILTER", "GROUPING SETS", "CURRENT_DATE", "SELECT DISTINCT")},
    "select, project": r"^SELECT (?!DISTINCT)[^()]* FROM \w+ AS \w+( WHERE [^()]*)?$",
    "inner join": r" AS \w+ JOIN ",
    "self join": r"FROM (\w+) AS \w+ ([A-Z]+ )*JOIN \1 AS ",
    "theta join": r" JOIN \w+ AS \w+ ON \S+ <>? ",
    "null-safe join": r" JOIN \w+ AS \w+ ON \S+ <=> ",
    "GROUP BY": r" GROUP BY (?!ROLLUP|CUBE|GROUPING)",
    "global aggregate": r"^SELECT (COUNT|SUM|AVG|MIN|MAX)\((?!.* (GROUP BY|OVER) )",
    "COUNT(*)": r"COUNT\(\*\)",
    "COUNT(DISTINCT)": r"COUNT\(DISTINCT ",
    "SUM(DISTINCT)": r"SUM\(DISTINCT ",
    "SUM(CASE)": r"SUM\(CASE ",
    "AVG(CASE)": r"AVG\(CASE ",
    "EXISTS": r"(?<!NOT )EXISTS \(SELECT 1 (?=FROM)",
    "NOT EXISTS": r"NOT EXISTS \(SELECT 1 (?=FROM)",
    "correlated NOT EXISTS": rf"NOT EXISTS \(SELECT 1 {CORRELATED}",
    "IN": r"\([^()]+\) IN \(SELECT ",
    "NOT IN": r"\) NOT IN \(SELECT ",
    "correlated NOT IN": rf"\) NOT IN \(SELECT \S+ {CORRELATED}",
    "NOT IN over rows": r"\([^()]+,[^()]+\) NOT IN \(SELECT ",
    "subquery under OR": r"\([^()]*(EXISTS|IN) \(SELECT [^()]*\) OR ",
    "scalar subquery": r"\(SELECT [A-Z_]+\(",
    "correlated scalar subquery": rf"\(SELECT [A-Z]+\(\S+\) {CORRELATED}",
    "subquery as a value": r"SELECT [^()]*\(SELECT .* AS c0 .*FROM",
    "window": r" OVER \(PARTITION BY ",
    "window over everything": r" OVER \((ORDER BY|\))",
    "ROW_NUMBER": r"ROW_NUMBER\(\) OVER",
    "frame": r" ROWS BETWEEN ",
    "ORDER BY … LIMIT": r" ORDER BY .* LIMIT \d+$",
    "limit inside": r" LIMIT \d+\)",
    "derived table": r"(FROM|JOIN) \(SELECT ",
    "WITH": r"^WITH ",
    "view on view": r"(FROM|JOIN) v\d ",
}
"""Every row of the table of SQL constructs that is maintained, as a pattern of the text that `Writer` writes."""
