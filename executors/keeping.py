"""How a view is kept: when, by which algorithm, and how often by the clock."""

from __future__ import annotations

from dataclasses import dataclass

from views.steps import Strategy


@dataclass(frozen=True)
class Keeping:
    """How a view is kept: when, and by which algorithm."""

    strategy: Strategy = "query_modification"
    algorithm: str = "query_modification"
    every_seconds: float | None = None
    """The period of a refresh by the clock, within which a read takes the stored rows as they are."""

    @property
    def stored(self) -> bool:
        return self.strategy != "query_modification"

    @property
    def candidate(self) -> str:
        """As cost models name it."""
        return f"{self.strategy}/{self.algorithm}" if self.stored else self.strategy
