"""The one tree of errors; the command line turns each into one line and an exit code.

    AdvisorError                    root: what was wrong, where, and what to do
    ├── WorkloadError       exit 2  the workload file or an argument is wrong
    ├── ViewError           exit 2  a view's definition is wrong or not understood
    ├── TableError          exit 2  a base table is missing, unreadable, or of an unsupported kind
    │   ├── UpdateError     exit 2  an update that cannot be applied: absent row, duplicate key
    │   └── HistoryGoneError exit 2 an earlier version whose log or files were cleaned away
    ├── EstimationError     exit 2  a number outside what a cost model is defined for
    └── ExecutionError      exit 3  engine or storage failed; trying again may help
        └── ConflictError   exit 3  another writer was faster, and redoing the work is not possible

They live in the lowest package, so that every part can raise them.
"""

from __future__ import annotations


class AdvisorError(Exception):
    """Something the user can act on: `message` says what and where, `hint` what to do."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def kind(self) -> str:
        """The stable name scripts see in JSON errors.

        >>> TableError("orders: no such folder").kind
        'TableError'
        """
        return type(self).__name__

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class WorkloadError(AdvisorError):
    """The workload file or a command's argument is wrong."""


class ViewError(AdvisorError):
    """A view's definition is wrong or not understood."""


class TableError(AdvisorError):
    """A base table is missing, unreadable, or uses a feature we do not support."""


class UpdateError(TableError):
    """An update transaction that cannot be applied as asked; nothing was committed."""


class HistoryGoneError(TableError):
    """An earlier version of a table that cannot be read any more: its log or its files were cleaned away."""


class EstimationError(AdvisorError):
    """A number outside what a cost model is defined for."""


class ExecutionError(AdvisorError):
    """The engine or the storage failed; trying again may help."""

    exit_code = 3


class ConflictError(ExecutionError):
    """Another writer changed what this work was built on; nothing was committed."""
