"""What work is expected to take, and who says so: the runner asks a judge before a refresh and before a read.

Prices are made above the executors (`advisor`), so they come in through these types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from views.rules import Expr

Route = Literal["stored", "read_through", "query_modification"]
"""How a read is answered: from the stored rows, from these and the change that they lack, or from the base tables."""


@dataclass(frozen=True)
class Pending:
    """What has come to one source of a view since the view has seen it, by the source's log: at most so many tuples."""

    inserted: int
    deleted: int

    @property
    def rows(self) -> int:
        return self.inserted + self.deleted


@dataclass(frozen=True)
class Forecast:
    """What something is expected to take: its quantities, and seconds by the coefficients in force."""

    seconds: float
    quantities: Mapping[str, float] = field(default_factory=dict)
    before_seconds: float = 0.0
    """The part of what has to be done first, such as applying a change, that falls to this one of the reads which
    profit from it."""

    @property
    def weight(self) -> float:
        """What it is compared by."""
        return self.seconds + self.before_seconds


class Judge(Protocol):
    """Prices what could be done now; `stored` are the views of the workload that are stored."""

    def refreshes(
        self, view: str, stored: Collection[str], algorithm: str, pending: Mapping[str, Pending]
    ) -> Mapping[str, Forecast]:
        """Bringing a stored view up to date, by the algorithm that keeps it and by recompute."""
        ...

    def reads(
        self,
        view: str,
        stored: Collection[str],
        algorithm: str,
        pending: Mapping[str, Pending],
        where: Expr | None,
    ) -> Mapping[Route, Forecast]:
        """Answering one read of a stored view; the stored rows are read after what is pending was applied."""
        ...
