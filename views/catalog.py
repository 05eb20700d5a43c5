"""What a view may read: relations with their columns, types and keys, under every spelling that Spark accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CLOCK = "__clock"
"""A base table of one row: the moment of the statement, so that a day that turns is a change like any other."""
TODAY, NOW = "current_date", "current_timestamp"


@dataclass(frozen=True)
class Relation:
    """A base table or a view, as far as a definition that reads it needs to know."""

    name: str
    columns: Mapping[str, str]
    """Column and Spark type, in order; a type is empty where it is not known."""
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalog:
    """The relations that definitions may name; names ignore case, as Spark's do."""

    relations: Mapping[str, Relation]
    spelled: Mapping[str, str] = field(default_factory=dict)
    """More spellings, in lower case, and the relation each means: `db.orders`."""

    @classmethod
    def of(cls, relations: Iterable[Relation], spelled: Mapping[str, str] | None = None) -> Catalog:
        return cls({relation.name: relation for relation in relations}, dict(spelled or {}))

    def find(self, spelling: str) -> Relation | None:
        """The relation of a name as SQL writes it.

        >>> Catalog.of([Relation("Orders", {"k": "int"})]).find("ORDERS").name
        'Orders'
        """
        folded = spelling.casefold()
        for name, relation in self.relations.items():
            if name.casefold() == folded:
                return relation
        return self.relations.get(self.spelled.get(folded, ""))

    def extended(self, relation: Relation) -> Catalog:
        """This catalog and one relation more: a view that later ones may read."""
        return Catalog({**self.relations, relation.name: relation}, self.spelled)
