"""What a view may read: relations with their columns, types and keys, under every spelling that Spark accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

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
        return self.relations.get(self.folded.get(folded, self.spelled.get(folded, "")))

    @cached_property
    def folded(self) -> Mapping[str, str]:
        """The names by themselves in lower case; of two that differ in case only, the first."""
        found: dict[str, str] = {}
        for name in self.relations:
            found.setdefault(name.casefold(), name)
        return found

    def extended(self, relation: Relation) -> Catalog:
        """This catalog and one relation more, or one that is known better."""
        found = Catalog({**self.relations, relation.name: relation}, self.spelled)
        vars(found)["folded"] = {relation.name.casefold(): relation.name, **self.folded}
        return found
