"""The planner, the run loop, the Python API and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advisor.api import Advisor

__all__ = ["Advisor"]


def __getattr__(name: str) -> Any:
    """`Advisor` is imported when it is asked for: the command line answers `--help` without it."""
    if name == "Advisor":
        from advisor.api import Advisor

        return Advisor
    raise AttributeError(f"module 'advisor' has no attribute {name!r}")
