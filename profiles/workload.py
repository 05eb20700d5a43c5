"""The workload file: read, validated, and complete with the files it includes.

Every problem is one WorkloadError line, `file:line: what; what to do`. Paths are relative to the workload
file's folder, also those in included files; what is included or named by `sql_file` must lie inside that
folder. Run as a module, it prints the JSON Schema that editors use:
`python -m profiles.workload > profiles/workload.schema.json`.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from profiles import specification as spec
from profiles.document import Document, Place, read_document, read_text
from profiles.validation import validate
from views.errors import TableError, WorkloadError
from views.spelling import did_you_mean


@dataclass(frozen=True)
class Workload:
    """What the file says, with defaults applied, includes merged and SQL files read."""

    name: str
    file: Path
    warehouse: Path
    engine: spec.Engine
    tables: Mapping[str, spec.Table]
    views: Mapping[str, spec.View]
    sql: Mapping[str, str]
    driver_rows: int
    budget: spec.Budget | None
    price: spec.Price | None
    digests: Mapping[str, str]
    documents: tuple[Document, ...] = field(repr=False)

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from."""
        return self.file.parent

    def place(self, *location: str | int) -> Place:
        """Where something was written: `place("views", "daily", "queries")`."""
        return _place(self.documents, *location)

    def path_of(self, table: str) -> Path | None:
        """The absolute path of a table's data, if the workload gives one."""
        path = self.tables[table].path
        if path is None:
            return None
        if path.startswith("file:") or "://" in path:
            from storage.log import local_folder  # which loads deltalake: only where there is an address to read

            try:
                return local_folder(path)
            except TableError as error:
                place = self.place("tables", table, "path")
                raise TableError(f"{place}: table {table!r}: {error.message}", error.hint) from None
        return self.folder / path


def load(path: str | Path) -> Workload:
    """Read and validate the workload file at `path`."""
    file = Path(path)
    return _complete(read_document(file, str(path)), file)


def from_values(values: dict[str, Any], folder: str | Path = ".") -> Workload:
    """A workload given as a mapping with the keys of the file; relative paths start from `folder`."""
    digest = hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()
    return _complete(Document("workload", values, {}, digest), Path(folder) / "workload")


def _complete(root: Document, file: Path) -> Workload:
    content = validate(spec.WorkloadFile, root)
    folder = file.absolute().parent
    documents, parts = [root], [spec.Fragment(tables=content.tables, views=content.views)]
    for included, shown in _included(folder, content, root, file):
        document = read_document(included, shown)
        for key in document.values.keys() - {"tables", "views"}:
            if key in spec.WorkloadFile.model_fields:
                place = document.place((key,))
                raise WorkloadError(f"{place}: {key!r} in an included file", f"move it to {root.file}")
        documents.append(document)
        parts.append(validate(spec.Fragment, document))
    _refuse_duplicates(documents)
    parts = [_with_defaults(part, document, root) for part, document in zip(parts, documents, strict=True)]
    tables = {name: table for part in parts for name, table in part.tables.items()}
    views = {name: view for part in parts for name, view in part.views.items()}
    _check_columns(tables, documents)
    sql, digests = _definitions(views, documents, folder)
    return Workload(
        name=content.name or folder.name or "workload",
        file=file.absolute(),
        warehouse=folder / content.warehouse,
        engine=content.engine,
        tables=tables,
        views=views,
        sql=sql,
        driver_rows=content.driver_rows,
        budget=content.budget,
        price=content.price,
        digests={document.file: document.digest for document in documents[1:]} | {file.name: root.digest} | digests,
        documents=tuple(documents),
    )


def json_schema() -> str:
    """The JSON Schema of a workload file, as published."""
    schema = spec.WorkloadFile.model_json_schema()
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    schema["title"] = "Workload of spark-view-advisor"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _place(documents: tuple[Document, ...] | list[Document], *location: str | int) -> Place:
    for document in documents:
        if location[:2] in document.lines:
            return document.place(location)
    return documents[0].place(location)


def _included(folder: Path, content: spec.WorkloadFile, root: Document, file: Path) -> Iterator[tuple[Path, str]]:
    """The included files, each once, in the order of the patterns and then of their names."""
    seen = {file.resolve()}
    for index, pattern in enumerate(content.include):
        place = root.place(("include", index))
        _refuse_outside(folder, pattern, place)
        matches = sorted(glob.glob(pattern, root_dir=folder, recursive=True))
        if not matches:
            raise WorkloadError(f"{place}: include {pattern!r} matches no file", "correct or remove it")
        for match in matches:
            included = _refuse_outside(folder, match, place)
            if included not in seen:
                seen.add(included)
                yield included, match


def _refuse_outside(folder: Path, path: str, place: Place) -> Path:
    """The path with symbolic links followed, if that is inside `folder`."""
    resolved = (folder / path).resolve()
    if Path(path).is_absolute() or ".." in Path(path).parts or not resolved.is_relative_to(folder.resolve()):
        raise WorkloadError(
            f"{place}: {path!r} is outside the workload's folder", "move the file beside the workload file"
        )
    return resolved


def _refuse_duplicates(documents: list[Document]) -> None:
    """Spark's names ignore case, and tables and views share one name space."""
    seen: dict[str, tuple[str, Place]] = {}
    for document in documents:
        for kind in ("tables", "views"):
            for name in document.values.get(kind) or {}:
                place = document.place((kind, name))
                what = f"{kind[:-1]} {name!r}"
                if name.casefold() in seen:
                    other, where = seen[name.casefold()]
                    raise WorkloadError(f"{place}: {what} is already {other} at {where}", "rename one of them")
                if kind == "views" and name.casefold().endswith("__state"):
                    raise WorkloadError(f"{place}: {what} ends in __state", "that suffix is reserved; rename it")
                seen[name.casefold()] = (what, place)


def _with_defaults(part: spec.Fragment, document: Document, root: Document) -> spec.Fragment:
    """Validated again with the defaults filled in, because they can contradict what a view pins."""
    defaults = root.values.get("defaults") or {}
    if not defaults or not part.views:
        return part
    views = {name: {**defaults, **block} for name, block in document.values["views"].items()}
    return validate(spec.Fragment, document, {"tables": document.values.get("tables", {}), "views": views})


def _check_columns(tables: Mapping[str, spec.Table], documents: list[Document]) -> None:
    """Keys, foreign keys and domains name columns and tables that exist, as far as columns are declared."""

    def fail(name: str, block: str, what: str, hint: str) -> NoReturn:
        raise WorkloadError(f"{_place(documents, 'tables', name, *block.split('/'))}: {what}", hint)

    for name, table in tables.items():
        used = [(f"key/{i}", column) for i, column in enumerate(table.key)]
        used += [(f"{block}/{column}", column) for block in ("foreign_keys", "domains")
                 for column in getattr(table, block)]  # fmt: skip
        for block, column in used:
            if table.columns is not None and column not in table.columns:
                hint = did_you_mean(column, table.columns, "columns")
                fail(name, block, f"table {name!r} declares no column {column!r}", hint)
        if len(set(table.key)) < len(table.key):
            fail(name, "key", f"the key of {name!r} names a column twice", "name each once")
        for column, target in table.foreign_keys.items():
            block = f"foreign_keys/{column}"
            other, dot, other_column = target.rpartition(".")
            if not dot:
                fail(name, block, f"{target!r} is not table.column", f"write it as {column}: table.column")
            if other not in tables:
                fail(name, block, f"foreign key to unknown table {other!r}", did_you_mean(other, tables, "tables"))
            known = tables[other].columns
            if known is not None and other_column not in known:
                hint = did_you_mean(other_column, known, "columns")
                fail(name, block, f"table {other!r} declares no column {other_column!r}", hint)


def _definitions(
    views: Mapping[str, spec.View], documents: list[Document], folder: Path
) -> tuple[dict[str, str], dict[str, str]]:
    """Each view's SQL, and the digests of the files it was read from; Datalog views have none."""
    sql: dict[str, str] = {}
    digests: dict[str, str] = {}
    for name, view in views.items():
        if view.sql is not None:
            sql[name] = view.sql
        elif view.sql_file is not None:
            place = _place(documents, "views", name, "sql_file")
            path = _refuse_outside(folder, view.sql_file, place)
            try:
                sql[name] = read_text(path, view.sql_file)
            except WorkloadError as error:
                raise WorkloadError(f"{place}: {error.message}", error.hint) from None
            digests[view.sql_file] = hashlib.sha256(sql[name].encode()).hexdigest()
    return sql, digests


if __name__ == "__main__":
    print(json_schema(), end="")
