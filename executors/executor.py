"""What an executor is, and how they are found: plug-ins and built-ins come through the same entry points.

An executor is one algorithm. Its `plan` is pure: it reads a definition and returns the steps, or the reasons why
it cannot keep that view. `executors.runner` carries the steps out.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol, runtime_checkable

from views.definition import Definition
from views.errors import ExecutionError
from views.reasons import Reason
from views.steps import Plan

GROUP = "spark_view_advisor.executors"


@runtime_checkable
class Executor(Protocol):
    """One way to keep a view."""

    name: str
    """The algorithm, as workloads and proposals call it."""
    stores: bool
    """Whether it keeps rows; one that does not answers reads from the base tables."""

    def plan(self, view: Definition, changed: Collection[str]) -> Plan | tuple[Reason, ...]:
        """The steps that keep the view when these relations have changed, or why there are none."""
        ...


@cache
def executors() -> dict[str, Executor]:
    """Every installed executor by name; one that cannot be loaded is an error, not an absence."""
    found: dict[str, Executor] = {}
    for point in entry_points(group=GROUP):
        try:
            made = point.load()()
        except (ImportError, AttributeError, TypeError) as error:
            raise ExecutionError(f"executor {point.name!r} ({point.value}) cannot be loaded: {error}") from error
        if not isinstance(made, Executor) or made.name != point.name:
            raise ExecutionError(f"executor {point.name!r} ({point.value}) is not an executor of that name")
        if made.name in found:
            raise ExecutionError(f"two executors are called {made.name!r}", "uninstall one of them")
        found[made.name] = made
    return found


def find_executor(name: str) -> Executor | None:
    """The executor of an algorithm, if one is installed."""
    return executors().get(name)
