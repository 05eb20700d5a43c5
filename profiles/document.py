"""A YAML document as plain values that remember their lines.

Only the node tree of the parser is used, never its object construction, so no tag can run anything: mappings,
sequences, text, numbers, booleans and nulls are what there is. Aliases are followed up to a limit, because a
page of nested ones expands to gigabytes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from views.errors import WorkloadError

Location = tuple[str | int, ...]

MAX_FILE_BYTES = 8 * 2**20
MAX_VALUES = 200_000
MAX_DEPTH = 50
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Document:
    """The values of one file, where each was written, and the digest of its bytes."""

    file: str
    values: dict[str, Any]
    lines: dict[Location, int] = field(repr=False)
    digest: str

    def place(self, location: Location) -> Place:
        """Where `location`, or the closest thing around it that is in the file, was written."""
        while location and location not in self.lines:
            location = location[:-1]
        return Place(self.file, self.lines.get(location, 1))


def read_bytes(path: Path, shown: str) -> bytes:
    """The file's bytes, or a WorkloadError that says why there are none."""
    try:
        if path.is_dir():
            raise WorkloadError(f"{shown}: is a folder", "name the file itself")
        with path.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise WorkloadError(f"{shown}: no such file", "check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise WorkloadError(f"{shown}: cannot be read: {reason}", "check the path and its rights") from None
    if len(content) > MAX_FILE_BYTES:
        raise WorkloadError(f"{shown}: is larger than {MAX_FILE_BYTES // 2**20} MiB", "split it with include:")
    return content


def read_text(path: Path, shown: str) -> str:
    """The file as UTF-8 text."""
    return decode(read_bytes(path, shown), shown)


def decode(content: bytes, shown: str) -> str:
    """UTF-8 text, or a WorkloadError with the line of the first byte that is not."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise WorkloadError(f"{shown}:{line}: is not UTF-8 text", "save the file as UTF-8") from None


def read_document(path: Path, shown: str) -> Document:
    """Parse the YAML file at `path`, called `shown` in messages."""
    content = read_bytes(path, shown)
    text = decode(content, shown)
    parser = YAML(typ="safe", pure=True)
    try:
        root = parser.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        problem = " ".join(str(error.problem or error.context or "not YAML").split())
        raise WorkloadError(f"{shown}:{line}: not valid YAML: {problem}", "correct the line") from None
    except YAMLError as error:
        problem = " ".join(str(error).split())
        raise WorkloadError(f"{shown}:1: not valid YAML: {problem}", "correct the file") from None
    except RecursionError:
        raise WorkloadError(f"{shown}:1: is nested too deeply", "flatten it") from None
    if root is None:
        raise WorkloadError(f"{shown}:1: is empty", "it needs at least tables: and views:")
    if not isinstance(root, MappingNode):
        raise WorkloadError(f"{shown}:1: is not a mapping of keys", "start it with name:, tables: and views:")
    reader = _Reader(shown, parser.constructor)
    values = reader.value(root, (), 0)
    return Document(shown, values, reader.lines, hashlib.sha256(content).hexdigest())


class _Reader:
    """Turns nodes into values and notes the line of each key and item."""

    def __init__(self, file: str, scalars: SafeConstructor) -> None:
        self.file = file
        self.lines: dict[Location, int] = {}
        self.count = 0
        self.scalars = scalars

    def value(self, node: Node, location: Location, depth: int) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            self.fail(node, f"more than {MAX_VALUES} values once its aliases are followed", "use fewer aliases")
        if depth > MAX_DEPTH:
            self.fail(node, "nested too deeply, or an alias that contains itself", "flatten it")
        match node:
            case MappingNode() if node.tag == _TAG + "map":
                return self.mapping(node, location, depth)
            case SequenceNode() if node.tag == _TAG + "seq":
                return [self.item(child, (*location, i), depth) for i, child in enumerate(node.value)]
            case ScalarNode():
                return self.scalar(node)
        self.fail(node, f"the tag {_shown_tag(node)} is not allowed", "write plain YAML without tags")

    def mapping(self, node: MappingNode, location: Location, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                self.fail(key_node, "merge keys (<<) are not read", "repeat the keys, or use defaults:")
            if not isinstance(key_node, ScalarNode):
                self.fail(key_node, "a key must be plain text", "write it as  key: value")
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in seen:
                self.fail(key_node, f"the key {key!r} is already on line {seen[key]}", "keep one of them")
            seen[key] = line
            self.lines[(*location, key)] = line
            result[key] = self.value(value_node, (*location, key), depth + 1)
        return result

    def item(self, node: Node, location: Location, depth: int) -> Any:
        self.lines[location] = node.start_mark.line + 1
        return self.value(node, location, depth + 1)

    def scalar(self, node: ScalarNode) -> str | int | float | bool | None:
        text = str(node.value)
        try:
            match str(node.tag).removeprefix(_TAG):
                case "str" | "timestamp":  # dates stay text: what they mean depends on the column
                    return text
                case "null":
                    return None
                case "bool":
                    return bool(self.scalars.construct_yaml_bool(node))
                case "int":
                    return int(self.scalars.construct_yaml_int(node))
                case "float":
                    return float(self.scalars.construct_yaml_float(node))
        except (ValueError, OverflowError):
            self.fail(node, f"{text[:40]!r} is not a number", "write a plain number")
        self.fail(node, f"the tag {_shown_tag(node)} is not allowed", "write plain YAML without tags")

    def fail(self, node: Node, problem: str, hint: str) -> NoReturn:
        raise WorkloadError(f"{self.file}:{node.start_mark.line + 1}: {problem}", hint)


def _shown_tag(node: Node) -> str:
    return str(node.tag).replace(_TAG, "!!")[:60]
