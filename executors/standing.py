"""How views stand, by what the logs tell: what is stored, what it has not seen yet, and by which plan it follows.

A stored view is a plain Delta table in the warehouse. The commit that stores its rows names the version of every
table they were made from, so whether a view is up to date is read from its own log; there is no second record.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from executors.executor import find_executor
from executors.forecast import Pending
from executors.keeping import Keeping
from profiles.history import change_size
from storage.changes import is_gone
from storage.log import DeltaLog, is_delta
from storage.table import Table
from views.catalog import CLOCK, NOW
from views.compose import opened
from views.definition import Definition
from views.errors import ExecutionError
from views.render import query_of
from views.rules import Program
from views.states import State, filling
from views.steps import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_BUILT, REDEFINED = "it is not built yet", "its definition changed"
STATE_MISSING = "what is kept beside it is not built yet"
STRUCTURAL = (NOT_BUILT, REDEFINED, STATE_MISSING)
"""What can only be pending for the view as a whole: it is built."""


@dataclass
class Standing:
    """Views over tables, each table at one version until the next look."""

    session: SparkSession | None
    """Without one only what the logs know can be asked."""
    definitions: Mapping[str, Definition]
    """Each view after those it reads."""
    tables: Mapping[str, Table]
    warehouse: Path
    keeping: Mapping[str, Keeping] = field(default_factory=dict)
    moment: float = field(default_factory=time.time)
    """When this is: the clock of the views that mention it."""
    _stored: dict[str, Table] = field(default_factory=dict)
    _states: dict[Hashable, dict[State, str]] = field(default_factory=dict)
    _plans: dict[Hashable, Plan] = field(default_factory=dict)

    # What there is

    def kept(self, view: str) -> Keeping:
        return self.keeping.get(view, Keeping())

    def is_stored(self, view: str) -> bool:
        return self.kept(view).stored

    @property
    def stored_views(self) -> frozenset[str]:
        return frozenset(filter(self.is_stored, self.definitions))

    def stored(self, view: str) -> Table | None:
        """The table of a stored view, if it has been built, at the version at which it was last renewed."""
        if view not in self._stored:
            if not is_delta(self.warehouse / view):
                return None
            self._stored[view] = Table(self.session, self.warehouse / view, name=view)
        return self._stored[view]

    def renew(self, view: str | None = None) -> None:
        """Move to the newest versions of what is stored of a view and of the stored views that it reads, or of all.

        They stand still until the next time: what is derived from rows of one version is never put on top of others.
        """
        for name in self.dropped():
            del self._stored[name]
        for name in self._stored if view is None else self.needed_by(view):
            if name in self._stored:
                self._stored[name].log.refresh()

    def needed_by(self, view: str) -> list[str]:
        """What is stored of a view and beside it, and what it reads."""
        return [view, *(state.table for state in self.states(view)), *self.sources(view)]

    def dropped(self) -> list[str]:
        """Stored tables that were there when they were last renewed, and are not any more."""
        return [name for name, table in self._stored.items() if not table.log.is_there]

    def is_overtaken(self, view: str) -> bool:
        """Whether a stored view has seen versions of tables that came after they were looked at."""
        stored = self.stored(view)
        if stored is None:
            return False
        seen = ((stored.log.consumed(table.log.table_id), table.version) for table in self.sources(view).values())
        return any(consumed is not None and consumed > version for consumed, version in seen)

    def sources(self, view: str) -> dict[str, Table]:
        """The tables that a view's rows are made from: base tables and stored views; virtual ones are opened up."""
        found: dict[str, Table] = {}
        for name in self.definitions[view].relations:
            if name in self.definitions and not self.is_stored(name):
                found |= self.sources(name)
            else:
                found[name] = self.table(name)
        return found

    def table(self, name: str) -> Table:
        """A base table or the table of a stored view."""
        if name in self.definitions:
            stored = self.stored(name)
            if stored is None:
                raise ExecutionError(f"view {name!r} is not built yet", "run advisor apply")
            return stored
        return self.tables[name]

    def base_tables(self, view: str) -> Iterator[str]:
        """The base tables under a view, whatever lies between."""
        for name in self.definitions[view].relations:
            if name in self.definitions:
                yield from self.base_tables(name)
            else:
                yield name

    def views_below(self, view: str) -> set[str]:
        """The views that a view reads, at any depth."""
        read = {name for name in self.definitions[view].relations if name in self.definitions}
        return read.union(*map(self.views_below, read))

    def fingerprint(self, view: str) -> str:
        """Of the definition and of the virtual views below it, which are part of what is stored."""
        definition = self.definitions[view]
        below = [self.fingerprint(n) for n in definition.relations if n in self.definitions and not self.is_stored(n)]
        return hashlib.sha256("\n".join([definition.fingerprint, *below]).encode()).hexdigest()[:16]

    def pending(self, view: str) -> list[str]:
        """What has changed since a stored view was last brought up to date: tables, or the definition itself."""
        stored = self.stored(view)
        if stored is None:
            return [NOT_BUILT]
        if stored.log.description != self.describe(view):
            return [REDEFINED]
        for state, description in self.states(view).items():
            kept = self.stored(state.table)
            if kept is None or kept.log.description != description:
                return [STATE_MISSING]
        behind = []
        for name, table in self.sources(view).items():
            consumed = stored.log.consumed(table.log.table_id)
            if consumed is not None and consumed > table.version:
                table.log.refresh()  # another process has seen more than this one
            if consumed != table.version:
                behind.append(name)
        if not behind and self.clock_moved(view, stored):
            behind.append(CLOCK)
        return behind

    def is_to_be_built(self, view: str) -> bool:
        """Whether more than a change is pending: the rows are not there, or are those of something else."""
        return bool(set(self.pending(view)) & set(STRUCTURAL))

    def pending_sizes(self, view: str) -> dict[str, Pending] | None:
        """How much has come to each source since a stored view has seen it; None where the logs cannot tell."""
        stored, found = self.table(view), {}
        for name, table in self.sources(view).items():
            consumed = stored.log.consumed(table.log.table_id)
            commits = None if consumed is None else table.log.commits(consumed, table.version)
            size = None if commits is None else change_size(commits, table.root)
            if size is None:
                return None
            if any(size):
                found[name] = Pending(*size)
        return found

    def history_gone(self, view: str, source: str) -> bool:
        """Whether the change of a source since a stored view has seen it can no longer be read."""
        table = self.sources(view)[source]
        consumed = self.table(view).log.consumed(table.log.table_id)
        return consumed is None or is_gone(table.log, consumed, table.version)

    def age(self, view: str) -> float | None:
        """How long ago the oldest change came that a stored view has not seen, also through the views below it.

        0 when there is none; None where that is not known or the view must be built.
        """
        oldest = 0.0
        pending = self.pending(view)
        if set(pending) & {*STRUCTURAL, CLOCK}:
            return None
        for name, table in self.sources(view).items():
            if name in self.definitions:
                below = self.age(name)
                if below is None:
                    return None
                oldest = max(oldest, below)
            if name in pending:
                consumed = self.table(view).log.consumed(table.log.table_id)
                commits = None if consumed is None else table.log.commits(consumed, consumed + 1)
                if not commits:
                    return None
                oldest = max(oldest, self.moment - commits[0].timestamp / 1000, 1e-3)
        return oldest

    def describe(self, view: str) -> str:
        return f"view {view}, definition {self.fingerprint(view)}"

    def states(self, view: str) -> dict[State, str]:
        """What the algorithm of a view keeps beside it, each state with the description of its table."""
        key = (view, self.kept(view), self.fingerprint(view))
        if key not in self._states:
            kept = self.plan(view, ()).states
            taken = next((s.table for s in kept if s.table in self.definitions or s.table in self.tables), None)
            if taken is not None:
                raise ExecutionError(f"{taken!r} is what is kept beside view {view!r}", "rename the view of that name")
            texts = {s: query_of(filling(s, self.opened_program(view))).sql(dialect="spark") for s in kept}
            self._states[key] = {
                state: f"state of {self.describe(view)}, {hashlib.sha256(text.encode()).hexdigest()[:16]}"
                for state, text in texts.items()
            }
        return self._states[key]

    def clock_moved(self, view: str, stored: Table) -> bool:
        """Whether a view that mentions the day or the moment was built on another one."""
        used = self.clock_columns(view)
        if not used:
            return False
        built = self.built_at(stored)
        return NOW in used or built is None or int(built // 86_400) != int(self.moment // 86_400)

    def built_at(self, stored: Table) -> float | None:
        """The moment that a stored view took for now, as its last commit says."""
        return stored.log.last_note.get("moment")

    def clock_columns(self, view: str) -> set[str]:
        definition = self.definitions[view]
        found = {
            "current_date" if isinstance(node, exp.CurrentDate) else NOW
            for node in definition.query.find_all(exp.CurrentDate, exp.CurrentTimestamp)
        }
        for name in definition.relations:
            if name in self.definitions and not self.is_stored(name):
                found |= self.clock_columns(name)
        return found

    def leftovers(self, views: Iterable[str]) -> list[str]:
        """Tables of the warehouse that were stored for some views, or beside them, and are not any more."""
        needed = set(self.stored_views).union(state.table for view in self.stored_views for state in self.states(view))
        ours = tuple(f"{beside}view {view}, definition " for view in views for beside in ("", "state of "))
        folders = self.warehouse.iterdir() if self.warehouse.is_dir() else ()
        there = sorted(path for path in folders if path.name not in needed and is_delta(path))
        return [path.name for path in there if DeltaLog(path).description.startswith(ours)]

    # Plans

    def opened(self, view: str) -> Definition:
        """The definition over base tables and stored views: virtual views below it are opened up."""
        definition = self.definitions[view]
        below = {
            name: program
            for name in self.virtual_below(view)
            if (program := self.definitions[name].program) is not None
        }
        if definition.program is None or not below:
            return definition
        program = opened(definition.program, below)
        relations = tuple(name for name in program.relations if name != CLOCK)
        return replace(definition, program=program, relations=relations)

    def opened_program(self, view: str) -> Program:
        program = self.opened(view).program
        assert program is not None, "a view without rules keeps nothing beside it"
        return program

    def virtual_below(self, view: str) -> set[str]:
        found: set[str] = set()
        for name in self.definitions[view].relations:
            if name in self.definitions and not self.is_stored(name):
                found |= {name} | self.virtual_below(name)
        return found

    def plan(self, view: str, changed: Sequence[str] | None = None) -> Plan:
        """The plan of the algorithm that keeps a view; recompute where that one does not apply."""
        key = (view, self.kept(view), self.fingerprint(view), None if changed is None else frozenset(changed))
        if key not in self._plans:
            definition = self.opened(view)
            executor = find_executor(self.kept(view).algorithm)
            plan = executor.plan(definition, definition.relations if changed is None else changed) if executor else ()
            self._plans[key] = plan if isinstance(plan, Plan) else self.rebuild(view)
        return self._plans[key]

    def rebuild(self, view: str) -> Plan:
        """The plan that works for every view."""
        recompute = find_executor("recompute")
        assert recompute is not None
        plan = recompute.plan(self.definitions[view], self.definitions[view].relations or (view,))
        assert isinstance(plan, Plan)
        return plan

    # What was done

    def versions(self, view: str, states: Iterable[State]) -> dict[str, int]:
        """The versions of a view's table and of its states; −1 of one that is not there."""
        tables = {name: self.stored(name) for name in (view, *(state.table for state in states))}
        return {name: -1 if table is None else table.version for name, table in tables.items()}

    def written(self, before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, float]:
        """What the commits between some versions wrote and removed."""
        found = {"commits": 0.0, "files_written": 0.0, "rows_written": 0.0, "files_removed": 0.0}
        for name, version in after.items():
            log = self.table_named(name).log
            for commit in log.commits(before[name], version) or ():
                rows = (json.loads(action.get("stats") or "{}").get("numRecords", 0) for action in commit.adds)
                found["commits"] += 1
                found["files_written"] += len(commit.adds)
                found["rows_written"] += sum(rows)
                found["files_removed"] += len(commit.removes)
        return found

    def table_named(self, name: str) -> Table:
        found = self.stored(name)
        assert found is not None, f"{name} was stored a moment ago"
        return found
