"""Views that are kept over stored tables, checked against DuckDB after each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from executors.keeping import Keeping
from executors.runner import Runner
from executors.testing import assert_same_rows, bag, stored_rows
from storage.staging import Change
from storage.table import create_table
from storage.types import delta_fields, spark_types
from tests.executors.recomputation import on_duckdb
from views.catalog import Catalog, Relation
from views.definition import define_all

Rows = Sequence[tuple[Any, ...]]
BY_DIFFERENTIAL = "__by_differential"


class Kept:
    """Views that counting keeps over tables; those in `joins` are kept a second time, by differential."""

    def __init__(
        self,
        spark: Any,
        folder: Path,
        tables: Mapping[str, pa.Table],
        views: Mapping[str, str],
        joins: Mapping[str, str] | None = None,
        keys: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        joins, keys = joins or {}, keys or {}
        self.views = {**views, **joins, **{view + BY_DIFFERENTIAL: sql for view, sql in joins.items()}}
        self.state = dict(tables)
        made = {
            name: create_table(spark, folder / "tables" / name, rows, name=name, key=keys.get(name, ()))
            for name, rows in tables.items()
        }
        keeping = {
            view: Keeping("deferred", "differential" if view.endswith(BY_DIFFERENTIAL) else "counting")
            for view in self.views
        }
        definitions = define_all(self.views, catalog_of(tables))
        self.runner = Runner(spark, definitions, made, folder / "warehouse", keeping)
        self.refresh()
        self.check("at first")

    def refresh(self) -> dict[str, str | None]:
        self.runner.look()
        return {view: self.runner.refresh(view).ran for view in self.views}

    def change(self, table: str, inserts: Rows = (), deletes: Rows = ()) -> None:
        """One transaction of one table, followed by every view and checked against DuckDB."""
        self.transaction({table: (inserts, deletes)})

    def transaction(self, changes: Mapping[str, tuple[Rows, Rows]]) -> None:
        """One transaction of rows that come and rows that go, followed by every view and checked against DuckDB."""
        self.update(changes)
        self.follow(f"after a change of {', '.join(changes)}")

    def update(self, changes: Mapping[str, tuple[Rows, Rows]]) -> dict[str, int]:
        """One transaction of the base tables, which no view follows yet; the versions that it made."""
        update = {}
        for table, rows in changes.items():
            come, go = (rows_of(self.state[table].schema, each) for each in rows)
            self.state[table] = after(self.state[table], come, go)
            update[table] = Change(come, go)
        versions, _ = self.runner.update(update)
        return versions

    def follow(self, when: str) -> None:
        """Refresh every view, each by its own algorithm, and check it."""
        for view, ran in self.refresh().items():
            assert ran in (self.runner.kept(view).algorithm, None), f"{view} {when}: {ran} ran"
        self.check(when)

    def check(self, when: str) -> None:
        for view, wanted in on_duckdb(self.views, self.state).items():
            assert_same_rows(self.rows(view), wanted, f"{view} {when}", 6)

    def rows(self, view: str) -> pa.Table:
        return stored_rows(self.runner.warehouse / view)

    def bag(self, view: str) -> Counter[tuple[Any, ...]]:
        return bag(self.rows(view))

    def pairs(self, view: str) -> Counter[str]:
        """Rows of two node names as the paper writes them: {ac: 2, ae: 1}."""
        return Counter({"".join(map(str, row)): count for row, count in self.bag(view).items()})


def catalog_of(tables: Mapping[str, pa.Table]) -> Catalog:
    return Catalog.of(Relation(name, spark_types(delta_fields(rows.schema))) for name, rows in tables.items())


def rows_of(schema: pa.Schema, rows: Rows) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def after(rows: pa.Table, inserts: pa.Table, deletes: pa.Table) -> pa.Table:
    """The rows of a table after a change; a deleted row leaves once, NaN as any other value."""
    here = pa.concat_tables([rows, inserts]).to_pylist()
    for row in deletes.to_pylist():
        del here[next(i for i, each in enumerate(here) if _same(each, row))]
    return pa.Table.from_pylist(here, rows.schema)


def _same(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return all(value == right[name] or (value != value and right[name] != right[name]) for name, value in left.items())
