"""A stored view against its definition, evaluated from the base tables: whether maintenance has kept it right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from executors.relations import Relations
from storage.rows import Sought, show_row, tuples

if TYPE_CHECKING:
    from executors.runner import Runner


@dataclass(frozen=True)
class Comparison:
    """A stored view against its definition, evaluated now: rows that are missing and rows that are too many.

    They are counted up to the runner's bound of rows on the driver.
    """

    view: str
    missing: int
    unexpected: int
    example: str | None = None

    @property
    def equal(self) -> bool:
        return self.missing == self.unexpected == 0


def compare(runner: Runner, view: str) -> Comparison:
    """A stored view against its definition evaluated from the base tables, duplicates counted.

    Floating-point numbers that are close are no difference: in which order an engine adds them up is left open.
    """
    stored = runner.table(view)
    kept = runner.spark.table(runner.registered(stored))
    virtual = Relations(runner.spark, runner.definitions, runner.tables, runner.warehouse)
    wanted = virtual.evaluate(view)
    missing, unexpected = (
        rows.limit(runner.driver_rows).toArrow() for rows in (wanted.exceptAll(kept), kept.exceptAll(wanted))
    )
    sought = Sought(missing, [1] * missing.num_rows)
    found = [sought.take(row, close=True) for row in tuples(unexpected.cast(missing.schema))]
    example = f"missing: {show_row(dict(zip(wanted.columns, sought.example(), strict=True)))}" if sought else None
    if example is None and not all(found):
        example = f"unexpected: {show_row(unexpected.slice(found.index(False), 1).to_pylist()[0])}"
    return Comparison(view, len(sought), found.count(False), example)
