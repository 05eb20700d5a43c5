"""The corpus of small views: golden files of SQL and rules, and random data for the tables they read.

A file `corpus/<topic>/<name>.sql` holds the view's SQL, which ends in `;`, a blank line, and the rules as comments.
`python -m tests.views.corpus --write` writes the rules of every file anew.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from views.catalog import Catalog, Relation
from views.definition import Definition, define
from views.errors import ViewError
from views.text import rules_text

FOLDER = Path(__file__).parent / "corpus"
VIEW = "the_view"
CATALOG = Catalog.of(
    [
        Relation("r", {"a": "int", "b": "int", "c": "string"}),
        Relation("s", {"b": "int", "d": "int", "e": "string"}),
        Relation("t", {"a": "int", "d": "int", "f": "decimal(10,2)", "g": "date"}),
        Relation("p", {"k": "int", "v": "double", "w": "boolean", "at": "timestamp"}),
        Relation(
            "odd-names",
            {"order": "int", "Group By": "string", "a.b": "int", "MiXed": "int", "x y": "decimal(6,1)"},
        ),
    ]
)


@dataclass(frozen=True)
class View:
    """One golden file."""

    name: str
    sql: str
    rules: str

    def define(self) -> Definition:
        return define(VIEW, self.sql, CATALOG)


def load(path: Path) -> View:
    sql, _, comments = path.read_text().partition(";\n")
    lines = [line.removeprefix("--").removeprefix(" ") for line in comments.strip().splitlines()]
    return View(str(path.relative_to(FOLDER).with_suffix("")), sql, "\n".join(lines))


def views() -> list[View]:
    return [load(path) for path in sorted(FOLDER.glob("*/*.sql"))]


def written(view: View, rules: str) -> str:
    """The text of a golden file."""
    comments = [f"-- {line}".rstrip() for line in rules.strip().splitlines()]
    return "\n".join([f"{view.sql};", "", *comments, ""])


def tables(seed: int | None) -> dict[str, pa.Table]:
    """Few rows from small domains, a fifth of the values NULL and some rows twice; without a seed, no rows."""
    pick = random.Random(seed)

    def small() -> int:
        return pick.randrange(5)

    makers: dict[str, Callable[[], Any]] = {
        "int": small,
        "string": lambda: pick.choice(["x", "y", "xy", "Z"]),
        "decimal(10,2)": lambda: Decimal(small()) + Decimal(pick.choice([0, 25, 50])) / 100,
        "decimal(6,1)": lambda: Decimal(small()) + Decimal(pick.choice([0, 5])) / 10,
        "date": lambda: pick.choice([dt.date(2024, 1, 1 + small()), dt.date(2024, 2, 29), dt.date(2999, 12, 31)]),
        "double": lambda: small() + pick.choice([0.0, 0.25, 0.5]),
        "boolean": lambda: pick.random() < 0.5,
        "timestamp": lambda: dt.datetime(
            pick.choice([2024, 2024, 2999]), 1, 1 + small(), 6 * pick.randrange(4), tzinfo=dt.UTC
        ),
    }
    made = {}
    for relation in CATALOG.relations.values():
        rows = [] if seed is None else [
            tuple(None if pick.random() < 0.2 else makers[kind]() for kind in relation.columns.values())
            for _ in range(pick.randint(9, 16))
        ]  # fmt: skip
        rows += [pick.choice(rows) for _ in range(3)] if rows else []
        made[relation.name] = arrow_table(relation.columns, rows)
    return made


def arrow_table(columns: Mapping[str, str], rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows as an Arrow table of Spark types."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in columns.items()])
    by_column = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [pa.array(values, field.type) for values, field in zip(by_column, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def arrow_type(kind: str) -> pa.DataType:
    if kind.startswith("decimal"):
        precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
        return pa.decimal128(int(precision), int(scale))
    return {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
    }[kind]


def main(arguments: list[str]) -> None:
    if arguments != ["--write"]:
        raise SystemExit("use: python -m tests.views.corpus --write")
    failed = []
    for view in views():
        try:
            program = view.define().program
        except ViewError as error:
            failed.append(f"{view.name}: {error}")
            continue
        assert program is not None
        (FOLDER / f"{view.name}.sql").write_text(written(view, rules_text(program)))
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main(sys.argv[1:])
