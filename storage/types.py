"""Column types as Spark writes them in SQL, from a Delta schema or from the Arrow schema of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import Schema

from storage.writing import storable

_MOST_DIGITS = 38
_NAMES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def spark_types(fields: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Column and Spark type of a Delta schema's fields.

    >>> spark_types([{"name": "k", "type": "long"}, {"name": "d", "type": "decimal(15,2)"}])
    {'k': 'bigint', 'd': 'decimal(15,2)'}
    """
    return {str(field["name"]): _type(field["type"]) for field in fields}


def delta_fields(schema: pa.Schema) -> list[dict[str, Any]]:
    """The fields that a Delta table of this Arrow schema has."""
    whole = json.loads(Schema.from_arrow(storable(schema.empty_table()).schema).to_json())
    fields: list[dict[str, Any]] = whole["fields"]
    return fields


def too_wide(schema: pa.Schema) -> str | None:
    """The first column with decimals of more digits than Spark's have, if there is one.

    >>> too_wide(pa.schema({"k": pa.int64(), "n": pa.list_(pa.decimal256(50, 2))}))
    'n'
    """

    def is_wide(kind: pa.DataType) -> bool:
        inner = (kind.field(i).type for i in range(kind.num_fields))
        return (pa.types.is_decimal(kind) and kind.precision > _MOST_DIGITS) or any(map(is_wide, inner))

    return next((field.name for field in schema if is_wide(field.type)), None)


def _type(node: Any) -> str:
    match node:
        case str():
            return _NAMES.get(node, node)
        case {"type": "struct", "fields": fields}:
            inner = ", ".join(f"`{f['name']}`: {_type(f['type'])}" for f in fields)
            return f"struct<{inner}>"
        case {"type": "array", "elementType": element}:
            return f"array<{_type(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{_type(key)}, {_type(value)}>"
        case _:
            return ""
