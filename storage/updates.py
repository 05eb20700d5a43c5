"""Update transactions: what is inserted, deleted and modified, checked, and committed whole or not at all.

An update is prepared per table (the change file, the rewritten files and the new ones are written, nothing is
visible yet) and then committed. One table is one Delta commit. Several tables go through an intent
(`storage.intents`), so that a crash between two commits is carried to its end by whoever comes next.

How a change is checked and written is in `storage.staging`.
"""

from __future__ import annotations

import difflib
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from storage import intents, writing
from storage.changes import counted, net, union
from storage.pruning import files_where
from storage.reading import FILE_COLUMN, file_of, quoted, struct_type
from storage.staging import ATTEMPTS, Change, Prepared, column_named, commit_part, prepare, stage
from storage.statements import Statement, parse_statement
from storage.table import Table
from storage.writing import write_change_file, write_rows
from views.errors import ConflictError, ExecutionError, UpdateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def update(tables: Mapping[str, Table], what: Mapping[str, Change] | str, *, intents_folder: Path) -> dict[str, int]:
    """Carry out one update transaction and return the new version of each table it changed.

    `what` is a change per table name or one SQL statement. Nothing is committed when a deleted row is not there
    or an inserted key exists (`UpdateError`). A transaction without effect commits nothing.
    """
    intents.recover(intents_folder, tables)
    for attempt in range(ATTEMPTS):
        parts = _prepare_all(tables, what)
        try:
            return commit([p for p in parts if p.adds or p.removes], intents_folder)
        except ConflictError:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(random.uniform(0, 0.02 * (attempt + 1)))  # so that rivals do not meet in step again
    raise AssertionError("unreachable")


def _prepare_all(tables: Mapping[str, Table], what: Mapping[str, Change] | str) -> list[Prepared]:
    """The parts of a transaction, written; when one cannot be, the others are taken back."""
    parts: list[Prepared] = []
    try:
        for name, change in _changes_of(tables, what).items():
            tables[name].log.refresh()
            if isinstance(change, Statement):
                for other in tables.values():  # which it may read
                    other.log.refresh()
                parts.append(_prepare_statement(tables[name], change, tables))
            else:
                parts.append(prepare(tables[name], change))
    except BaseException:
        for part in parts:
            part.discard()
        raise
    return parts


def commit(parts: Sequence[Prepared], intents_folder: Path) -> dict[str, int]:
    """Commit prepared parts: one as it is, several under an intent. What was not committed leaves no files."""
    if len(parts) > 1:
        return intents.carry_out(parts, intents_folder)
    try:
        return {part.table.name: commit_part(part) for part in parts}
    except BaseException:
        for part in parts:
            part.discard()
        raise


def _changes_of(tables: Mapping[str, Table], what: Mapping[str, Change] | str) -> dict[str, Change | Statement]:
    if isinstance(what, str):
        statement = parse_statement(what, tables)
        return {statement.table: statement}
    for name in what:
        if name not in tables:
            near = difflib.get_close_matches(name, list(tables), 1)
            hint = f"did you mean {near[0]}?" if near else f"tables: {', '.join(tables)}"
            raise UpdateError(f"unknown table {name}", hint)
    return dict(what)


def _prepare_statement(table: Table, statement: Statement, tables: Mapping[str, Table]) -> Prepared:
    """Rows that a SQL statement selects: the deleted ones exist, by construction."""
    from pyspark.sql import functions as F

    columns = list(table.columns)
    if statement.query is not None:
        given = [column_named(table, c) for c in statement.columns or columns]
        with _running(tables, _positional(statement.query, given)) as rows:
            types = struct_type(table.log.snapshot().fields)
            whole = [
                F.col(quoted(f.name)) if f.name in given else F.lit(None).cast(f.dataType).alias(f.name) for f in types
            ]
            return prepare(table, Change(inserts=rows.select(*whole)))
    sets = {column_named(table, name): value for name, value in statement.sets.items()}
    rekeyed = bool(set(sets) & set(table.key))
    with _running(tables, _selection(table, statement, sets), _mask(table, statement)) as rows:
        found = rows.limit(writing.DRIVER_ROWS + 1).toArrow()
    if found.num_rows > writing.DRIVER_ROWS:
        return _prepare_bulk(table, statement, sets, tables)
    new = found.select(range(len(columns), found.num_columns)).rename_columns(columns) if sets else None
    return stage(table, new, found.select(columns), rekeyed=rekeyed)


def _prepare_bulk(
    table: Table, statement: Statement, sets: Mapping[str, exp.Expr], tables: Mapping[str, Table]
) -> Prepared:
    """A DELETE or UPDATE of more rows than the driver takes: every row stays in Spark."""
    from pyspark.sql import functions as F

    if set(sets) & set(table.key):
        raise UpdateError(
            f"{table.name}: an update of the key of more than {writing.DRIVER_ROWS} rows", "update the key in parts"
        )
    columns, part = list(table.columns), Prepared(table, table.version)
    mask, now = _mask(table, statement), table.log.snapshot()
    try:
        with _running(tables, _selection(table, statement, sets), mask) as rows:
            old = rows.select(*[quoted(c) for c in columns])
            frames = [counted(old, -1)]
            if sets:
                new = rows.select(*[F.col(f"__new_{i}").alias(c) for i, c in enumerate(columns)])
                frames.append(counted(new, 1))
                part.adds += write_rows(new, table.root, now.partition_columns)
            part.change_files = write_change_file(net(union(frames)), table.root)
        with _running(tables, _selection(table, statement, {}, FILE_COLUMN), mask, with_file=True) as rows:
            touched = rows.groupBy(FILE_COLUMN).agg(F.count(F.lit(1)).alias("hits")).toArrow()
        part.removes = sorted(file_of(uri, table.root) for uri in touched[FILE_COLUMN].to_pylist())
        kept = _selection(table, statement, {}, negated=True)
        rewritten = np.isin(now.paths, part.removes)
        with _running(tables, kept, rewritten) as rows:
            left = write_rows(rows, table.root, now.partition_columns)
        part.adds += left
        before = now.statistics["num_records"].filter(pa.array(rewritten)).to_pylist()
        after = sum(f.statistics["numRecords"] for f in left) + sum(touched["hits"].to_pylist())
        if None not in before and sum(before) != after:
            raise ExecutionError(
                f"{table.name}: of {sum(before)} rows the engine found {after} with the condition and without it",
                "nothing was committed; update in smaller parts, or use engine: spark",
            )
    except BaseException:
        part.discard()
        raise
    return part


def _selection(
    table: Table, statement: Statement, sets: Mapping[str, exp.Expr], *extra: str, negated: bool = False
) -> exp.Select:
    """The rows a statement touches (or, negated, leaves alone), for an UPDATE with their new values beside them."""
    fields = struct_type(table.log.snapshot().fields).fields
    chosen: list[exp.Expr] = [exp.column(c, quoted=True) for c in (*table.columns, *extra)]
    for i, f in enumerate(fields) if sets else ():
        value = sets.get(f.name)
        new = exp.column(f.name, quoted=True) if value is None else value.copy()
        chosen.append(exp.alias_(exp.cast(new, f.dataType.simpleString(), dialect="spark"), f"__new_{i}"))
    named = exp.Table(this=exp.to_identifier(statement.table, quoted=True))
    query = exp.select(*chosen).from_(named.as_(statement.alias or statement.table, quoted=True))
    if statement.where is None:
        return query.where(exp.false()) if negated else query
    where = statement.where.copy()
    return query.where(exp.not_(exp.func("coalesce", where, exp.false())) if negated else where)


def _mask(table: Table, statement: Statement) -> Any:
    return None if statement.where is None else files_where(table.log.snapshot(), statement.where)


@contextmanager
def _running(
    tables: Mapping[str, Table], query: exp.Expr, mask: Any = None, *, with_file: bool = False
) -> Iterator[DataFrame]:
    """A query as a DataFrame: each table name becomes a temporary view of its own, dropped afterwards.

    The table of the outermost FROM is read through the mask and on request with its files' names. What the
    engine says against the statement becomes one line.
    """
    from pyspark.errors import AnalysisException, ArithmeticException, NumberFormatException, PySparkException

    query = query.copy()
    spark = next(iter(tables.values())).spark
    source = query.args.get("from_") or query.args.get("from")
    outer = source.this if source is not None else None
    made: list[str] = []
    try:
        for node in [n for n in query.find_all(exp.Table) if not _means_with(n)]:
            table = next((t for name, t in tables.items() if name.lower() == node.name.lower()), None)
            if table is None or node.args.get("db"):
                raise UpdateError(f"unknown table {node.sql('spark')}", f"tables: {', '.join(tables)}")
            made.append(f"advisor_{uuid.uuid4().hex}")
            rows = table.rows(mask, with_file=with_file) if node is outer else table.snapshot()
            rows.createOrReplaceTempView(made[-1])
            if not node.alias:
                node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
            node.set("this", exp.to_identifier(made[-1]))
        yield spark.sql(query.sql("spark"))
    except (AnalysisException, ArithmeticException, NumberFormatException) as error:
        raise UpdateError(f"the statement cannot run: {_line(error)}", "nothing was committed") from error
    except PySparkException as error:
        raise ExecutionError(f"the engine failed: {_line(error)}", "nothing was committed") from error
    finally:
        for view in made:
            spark.catalog.dropTempView(view)


def _means_with(table: exp.Table) -> bool:
    """Whether a name means a WITH that is in sight where it stands, and so no table."""
    node: exp.Expr | None = table
    while not table.args.get("db") and node is not None:
        inner, node = node, node.parent
        if isinstance(node, exp.With):
            place = next(i for i, cte in enumerate(node.expressions) if cte is inner)
            seen = node.expressions if node.args.get("recursive") else node.expressions[:place]
            node = node.parent
        else:
            found = node.args.get("with_") or node.args.get("with") if node is not None else None
            seen = found.expressions if found is not None else []
        if any(cte.alias.lower() == table.name.lower() for cte in seen):
            return True
    return False


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300]


def _positional(query: exp.Expr, columns: Sequence[str]) -> exp.Expr:
    """A query whose output columns are named by position; omitted columns are not there."""
    alias = exp.TableAlias(
        this=exp.to_identifier("given"), columns=[exp.to_identifier(c, quoted=True) for c in columns]
    )
    if isinstance(query, exp.Values):
        return exp.select("*").from_(exp.Values(expressions=query.expressions, alias=alias))
    return exp.select("*").from_(exp.Subquery(this=query.copy(), alias=alias))
