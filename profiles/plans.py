"""What a physical plan of Spark reads and writes, from the description that an event log holds of it.

Spark has no format for this: commands print their arguments, scans a list of metadata. What is read here are the
texts of Spark 3.3 to 4.2 and of Delta's connector; Hadoop prints paths as they are, without percent-encoding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

How = Literal["overwrite", "append", "change"]

_UPKEEP = ("OptimizeTableCommand", "VacuumTableCommand", "DeltaReorgTableCommand", "AnalyzeTableCommand",
           "AnalyzeColumnCommand", "AnalyzePartitionCommand", "UpdateCommand", "DeleteCommand")  # fmt: skip
_MODE = r"(?P<mode>Overwrite|Append|ErrorIfExists|Ignore)"
_NAME = r"(?P<table>`[^`]*`(?:\.`[^`]*`)*)"
_LIST = r"\[[^]]*\], "
_DELTA = (
    r"DeltaTableV2\([^,]*,(?P<path>.*?),(?:Some\(|None)",
    r"CatalogTable\(\n(?:Catalog: (?P<catalog>.*)\n)?Database: (?P<database>.*)\nTable: (?P<name>.*)\n",
)
_AS_SELECT = (r"^\S+, (?P<table>[^, ]+), ",)
# Command, and where its arguments name the folder, the table and how it is written. Part of a table is written when
# partition values are given (`static`), or when it has partitions (`parts`) and the overwrite is dynamic.
_WRITERS: Mapping[str, tuple[str, ...]] = {
    "InsertIntoHadoopFsRelationCommand": (
        rf"^(?P<path>.*?), (?P<static>{_LIST})?(?:true|false), (?P<parts>{_LIST})?",
        rf", {_MODE}, (?:{_NAME}, )?",
    ),
    "InsertIntoHiveTable": (
        rf"^{_NAME}, ",
        rf", (?P<static>{_LIST})?(?P<mode>true|false), (?:true|false), \[",
        r"HiveTempPath\((?P<path>.*)\)$",
    ),
    "CreateDataSourceTableAsSelectCommand": (rf"^{_NAME}, {_MODE}",),
    "CreateHiveTableAsSelectCommand": (r"^\[Database: (?P<database>.*), TableName: (?P<name>.*)\]",),
    "SaveIntoDataSourceCommand": (
        r"[\[ ]path=(?P<path>.*?)(?:, [\w.]+=|\], \w+$)",
        rf"\], {_MODE}$",
    ),
    "AppendDataExecV1": _DELTA,
    "OverwriteByExpressionExecV1": _DELTA,
    "AtomicCreateTableAsSelect": _AS_SELECT,
    "AtomicReplaceTableAsSelect": _AS_SELECT,
    "CreateTableAsSelect": _AS_SELECT,
    "ReplaceTableAsSelect": _AS_SELECT,
    "MergeIntoCommand": (r"Delta\[version=\d+, (?P<path>.*?)\], ", rf", {_NAME}, Delta\["),
    "UpdateCommand": (rf"^Delta\[version=\d+, (?P<path>.*?)\], (?:{_NAME}, )?",),
    "DeleteCommand": (rf"^[^,]*, {_NAME}, ",),
}
_PARTLY = re.compile(r"\breplacewhere(=| -> )|\bpartitionoverwritemode(=| -> )dynamic", re.IGNORECASE)
_PARTITION = re.compile(r"(?<=[^/])(/[^/=]+=[^/]*)+$")
"""The end of a path that names one partition of the folder before it."""
_CHANGES = ("MergeIntoCommand", "UpdateCommand", "DeleteCommand")


@dataclass(frozen=True)
class Read:
    """A scan: the folder, the catalog's name for it, or both, and the filters that Spark took into the scan.

    Names are as in `db.orders`, with a catalog before them unless it is Spark's own.
    """

    path: str | None
    table: str | None
    filters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Write:
    """What was written, by folder, by the catalog's name, or both.

    `overwrite` wrote all rows that the table then holds, also when it created the table; `change` is MERGE, UPDATE,
    DELETE and an overwrite of some partitions.
    """

    path: str | None
    table: str | None
    how: How


def local_path(text: str) -> str:
    """A path as Hadoop prints it, without the scheme when it is a local one.

    >>> local_path("file:/data/a b%20c"), local_path("file:///data/x/"), local_path("s3a://bucket/x")
    ('/data/a b%20c', '/data/x', 's3a://bucket/x')
    """
    found = re.match(r"file:(?://)?(?=/)", text)
    text = text[found.end() :] if found else text
    return text.rstrip("/") or "/"


def is_upkeep(plan: Mapping[str, Any]) -> bool:
    """Whether the plan only tends a table, so that what it scans was not asked for by anybody."""
    return str(plan["nodeName"]).removeprefix("Execute ") in _UPKEEP


def reads_of(plan: Mapping[str, Any]) -> Iterator[Read]:
    """The scans of a plan, those of cached data and of subqueries included; a Delta log is not data."""
    for node in _nodes(plan):
        name, metadata = str(node["nodeName"]), node.get("metadata") or {}
        if "Location" in metadata:
            table = name.split(" ", 2)[2] if name.count(" ") > 1 else ""
            paths = _paths(metadata["Location"])
            filters = _filters(
                metadata.get("DataFilters", metadata.get("PushedFilters", "[]")), metadata.get("PartitionFilters", "[]")
            )
        elif name.startswith("BatchScan "):
            source = name.removeprefix("BatchScan ")
            place = re.match(r"\w+ (?=[a-z][\w+.-]*:/)", source)
            table, paths = ("", re.split(r",(?=[a-z][\w+.-]*:/)", source[place.end() :])) if place else (source, [""])
            filters = _filters(*re.findall(r"(?:Data|Partition)Filters: (\[.*?\])(?=, [A-Z]\w+: )", _text(node)))
        elif name.startswith("Scan hive "):
            table, paths = name.removeprefix("Scan hive "), [""]
            filters = _filters(*re.findall(r"\]\], (\[.*\])$", _text(node)))
        else:
            continue
        for path in paths:
            if "/_delta_log" not in path:
                yield Read(local_path(path) if path else None, _name(table), filters)


def writes_of(plan: Mapping[str, Any], description: str, *, dynamic: bool) -> Iterator[Write]:
    """The writes of a plan; `dynamic` says that an overwrite replaces only the partitions it has rows for."""
    for node in _nodes(plan):
        command = str(node["nodeName"]).removeprefix("Execute ")
        if command not in _WRITERS:
            continue
        text = _text(node).removeprefix("Execute ").removeprefix(command).strip() or _arguments(command, description)
        said: dict[str, str] = {}
        for pattern in _WRITERS[command]:
            found = re.search(pattern, text)
            said |= {part: value for part, value in found.groupdict().items() if value} if found else {}
        names = [said[part] for part in ("catalog", "database", "name", "table") if part in said]
        if not names and "path" not in said:
            continue
        how: How = "overwrite"
        if command == "AppendDataExecV1" or said.get("mode") in ("Append", "false"):
            how = "append"
        elif command in _CHANGES or "static" in said or _PARTLY.search(text) or (dynamic and "parts" in said):
            how = "change"
        path = local_path(said["path"]) if "path" in said else None
        if path and (partition := _PARTITION.search(path)):
            path, how = path[: partition.start()], "append" if how == "append" else "change"
        yield Write(path, _name(".".join(names)), how)


def together(writes: Iterable[Write]) -> tuple[Write, ...]:
    """The writes of one execution, where one command may name the table and the next one the folder."""
    found = tuple(writes)
    folders, names = [w for w in found if w.path], [w for w in found if not w.path]
    if len(folders) == len(names) == 1 and folders[0].table in (None, names[0].table):
        hows = {folders[0].how, names[0].how}
        how: How = "overwrite" if "overwrite" in hows else folders[0].how
        return (replace(folders[0], table=names[0].table, how=how),)
    return found


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node["children"])


def _name(text: str) -> str | None:
    """A table's name without quotes, and without the catalog that every session has."""
    return text.strip().replace("`", "").removeprefix("spark_catalog.") or None


def _text(node: Mapping[str, Any]) -> str:
    return str(node["simpleString"])


def _arguments(command: str, description: str) -> str:
    """The arguments of a command in a formatted plan, or in the tree that other settings print."""
    found = re.search(rf"^\(\d+\) {command}\n(?:.*\n)*?Arguments: ((?:.|\n)*?)(?:\n\n|\Z)", description, re.MULTILINE)
    found = found or re.search(rf"^[ :+-]*{command} (.+)$", description, re.MULTILINE)
    return found[1].strip() if found else ""


def _paths(location: str) -> list[str]:
    """The paths of a scan's location; Spark leaves out the later ones of a long list."""
    found = re.match(r"\w+(?:\((\d+) paths\))?\[(.*)\]$", location, re.DOTALL)
    if found is None:
        return []
    paths = [found[2]] if found[1] == "1" else re.split(r", (?=[a-z][\w+.-]*:/|\.\.\.$)", found[2])
    return [path for path in paths if path not in ("", "...")]


def _filters(*lists: str) -> tuple[str, ...]:
    """The conditions of printed lists, without expression ids and without the NOT NULL that a comparison implies."""
    conditions = []
    for text in lists:
        for item in _items(re.sub(r"#\d+L?\b", "", text)[1:-1]):
            if not item.startswith("dynamicpruning"):
                conditions.append(item[1:-1] if item.startswith("(") and _balanced(item[1:-1]) else item)
    others = " ".join(c for c in conditions if not c.lower().startswith("isnotnull("))
    kept = []
    for condition in dict.fromkeys(conditions):
        column = re.fullmatch(r"isnotnull\((.*)\)", condition, re.IGNORECASE)
        if column is None or not re.search(rf"(?<!\w){re.escape(column[1])}(?!\w)", others):
            kept.append(condition)
    return tuple(kept)


def _items(text: str) -> list[str]:
    """A printed list, split at its own commas; whole when brackets inside texts make that impossible."""
    items: list[str] = []
    for part in text.split(", ") if text else ():
        if items and not _balanced(items[-1]):
            items[-1] += ", " + part
        else:
            items.append(part)
    return items if all(map(_balanced, items)) else [text]


def _balanced(text: str) -> bool:
    depth = 0
    for bracket in re.findall(r"[()\[\]{}]", text):
        depth += 1 if bracket in "([{" else -1
        if depth < 0:
            return False
    return depth == 0
