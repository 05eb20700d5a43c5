"""Carries plans out on Spark: the one place where steps become commits."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from executors.comparison import Comparison, compare
from executors.evaluation import Evaluation, RebuildError, Rows
from executors.failures import forget_failure, note_failure
from executors.forecast import Forecast, Judge
from executors.reading import read
from executors.relations import Relations, engine_errors
from executors.standing import STATE_MISSING, STRUCTURAL
from storage.changes import changes_here
from storage.intents import recover
from storage.merging import merge_change
from storage.table import Table, is_frame, store_rows
from storage.updates import update
from storage.writing import DRIVER_ROWS
from views.catalog import CLOCK
from views.deltas import DELTA
from views.errors import AdvisorError, ConflictError, HistoryGoneError
from views.rules import Expr
from views.states import ROWS, State, filling
from views.steps import ApplyDelta, Replace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from storage.staging import Change

MOST_LOOKS = 20
"""How often it is looked for a moment without a transaction under way, before the newest versions have to do."""
TIDY_EVERY = 100
"""Commits of a stored view after which it is looked for files that nobody needs any more."""
KEPT_HOURS = 168
"""How long such files stay for those who still read an earlier version."""
ATTEMPTS = 5
"""How often a refresh begins again where other processes store the same view."""
KEEP_LONGER = "keep history longer or refresh more often"
MOST_CHANGES = 64
"""Change sets that are remembered for the next view that needs them."""


@dataclass(frozen=True)
class Refresh:
    """What bringing one view up to date came to."""

    view: str
    planned: str
    ran: str | None
    """The algorithm that ran; None when nothing was pending."""
    because: str
    seconds: float
    version: int | None = None
    forecast: Forecast | None = None
    """What it was expected to take; None where nobody was asked."""
    actual: Mapping[str, float] = field(default_factory=dict)
    """Quantities that its commits tell."""
    error: AdvisorError | None = None
    """Why it failed; the view is as it was, and the next refresh catches up."""


@dataclass
class Runner(Relations):
    """Views over tables on a session: answers reads, refreshes stored views, applies updates."""

    judge: Judge | None = None
    """Who prices what could be done; without one views are kept as planned."""
    told: Callable[[Refresh], None] = lambda _: None
    """Hears of each refresh that did something, also of those that another one needed."""
    driver_rows: int = DRIVER_ROWS
    """No result with more rows is brought to the driver: the work stays on the engine then."""
    _changes: dict[Hashable, Rows] = field(default_factory=dict)
    _decided: Mapping[str, str] = field(default_factory=dict)
    """How the view that is being stored was planned to be brought up to date, how it is, and why."""

    def look(self) -> None:
        """Move to the newest versions, at which no transaction is half committed; versions stand still after.

        Transactions that were abandoned are carried to their end, and those under way waited for. Versions that are
        found before and after a moment without any were there together.
        """
        self.renew()  # before the tables, so that no view has seen more than these are found to hold
        intents = self.warehouse / "_advisor" / "intents"
        versions: dict[str, int] | None = None
        for _ in range(MOST_LOOKS):
            if self.session is not None:
                recover(intents, self.tables)
            quiet = not any(intents.glob("*.json"))
            found = {name: table.log.refresh() for name, table in self.tables.items()}
            if quiet and found == versions:
                break
            versions = found
        self.moment = time.time()

    # Reads

    def query(self, view: str, where: Expr | None = None) -> DataFrame:
        """The rows of a view that pass a filter, however the view is kept."""
        return read(self, view, where).rows

    # Refresh

    def refresh_below(self, view: str) -> list[Refresh]:
        """Bring the stored views up to date that a view reads, at any depth, each once and the lowest first."""
        below = self.views_below(view)
        return [self.refresh(name, alone=True) for name in self.definitions if name in below and self.is_stored(name)]

    def refresh(self, view: str, *, alone: bool = False) -> Refresh:
        """Bring a stored view up to date; without pending changes nothing is read or written.

        Where another process stored it meanwhile, what that left pending is looked at again. `alone` says that the
        views it reads are up to date.
        """
        try:
            if not alone:
                self.refresh_below(view)
            done = self._refreshed(view)
        except AdvisorError as error:
            note_failure(self.warehouse, view, time.time(), error)
            self.told(Refresh(view, self.kept(view).algorithm, None, error.message, 0.0, error=error))
            raise
        if done.ran is not None:
            forget_failure(self.warehouse, view)
            self.told(done)
            if done.version and done.version % TIDY_EVERY == 0:
                self.tidy(view)
        return done

    def _refreshed(self, view: str) -> Refresh:
        for attempt in range(ATTEMPTS):
            try:
                with engine_errors(f"view {view!r}"):
                    return self._brought_up(view)
            except AdvisorError as error:
                if lost := self.dropped():
                    what = f"view {view!r}: {', '.join(lost)} was dropped while it was refreshed"
                    raise ConflictError(what, "another process has switched it: try again") from error
                if attempt == ATTEMPTS - 1 or not isinstance(error, ConflictError):
                    raise
        raise AssertionError("unreachable")

    def _brought_up(self, view: str) -> Refresh:
        started = time.perf_counter()
        planned = self.kept(view).algorithm
        if lost := self.dropped():
            raise ConflictError(f"{', '.join(lost)} was dropped")
        self.renew(view)
        if self.is_overtaken(view):
            self.look()
        changed = self.pending(view)
        if not changed:
            return Refresh(view, planned, None, "nothing is pending", time.perf_counter() - started)
        ran, because, forecasts = self._chosen(view, changed)
        states = self.states(view)
        before = self.versions(view, states)
        try:
            self._decided = {"planned": planned, "ran": ran, "because": because}
            if ran == "recompute":
                self.build(view)
            else:
                self.follow(view, changed)
        except (RebuildError, HistoryGoneError) as reason:
            if ran == "recompute":
                raise
            text = (
                f"HISTORY_GONE: {reason.message}; {KEEP_LONGER}"
                if isinstance(reason, HistoryGoneError)
                else str(reason)
            )
            ran, because = "recompute", f"{because}; {text}"
            self._decided = {"planned": planned, "ran": ran, "because": because}
            self.build(view)
        finally:
            self._decided = {}
        seconds = time.perf_counter() - started
        actual = self.written(before, self.versions(view, states))
        return Refresh(view, planned, ran, because, seconds, self.table(view).version, forecasts.get(ran), actual)

    def _chosen(self, view: str, changed: Sequence[str]) -> tuple[str, str, Mapping[str, Forecast]]:
        """The algorithm that brings a view up to date this once, why, and what each was expected to take."""
        planned = self.kept(view).algorithm
        why = changed[0] if changed[0] in STRUCTURAL else None
        forecasts = self.forecasts(view, rebuild=why is not None)
        if why is not None:
            return "recompute", why, forecasts
        because = f"{', '.join(changed)} changed".replace(f"{CLOCK} changed", "the day has turned")
        ran = self.plan(view, changed).algorithm
        because += f"; {planned} does not apply to it" if ran != planned else ""
        if {ran, "recompute"} <= set(forecasts) and forecasts["recompute"].seconds < forecasts[ran].seconds:
            lost = [name for name in changed if name != CLOCK and self.history_gone(view, name)]
            if lost:
                return "recompute", f"{because}; HISTORY_GONE: that of {', '.join(lost)}; {KEEP_LONGER}", forecasts
            applying, rebuilding = (forecasts[each].seconds for each in (ran, "recompute"))
            because += f"; rebuilding is expected to take {rebuilding:.2g} s, applying the change {applying:.2g} s"
            ran = "recompute"
        return ran, because, forecasts

    def forecasts(self, view: str, *, rebuild: bool = False) -> Mapping[str, Forecast]:
        """What bringing a view up to date is expected to take, by algorithm; nothing where nobody can say."""
        if self.judge is None:
            return {}
        pending = {} if rebuild else self.pending_sizes(view)
        if pending is None:
            return {}
        return self.judge.refreshes(view, self.stored_views, self.kept(view).algorithm, pending)

    def build(self, view: str) -> None:
        """Rebuild a view in full, and before it what its algorithm keeps beside it."""
        sources = self.sources(view)
        consumed = {table.log.table_id: table.version for table in sources.values()}
        for state, description in self.states(view).items():
            rows = self.rows_now(filling(state, self.opened_program(view)), view)
            before = self.stored(state.table)
            self._stored[state.table] = store_rows(
                self.spark,
                self.warehouse / state.table,
                rows,
                description=description,
                consumed=consumed,
                note=self.note,
                sort_by=state.keys,
                onto=None if before is None else before.log,
            )
        for step in self.rebuild(view).maintain:
            assert isinstance(step, Replace)
            rows = self.evaluate(view, None, step)
            before = self.stored(view)
            self._stored[view] = store_rows(
                self.spark,
                self.warehouse / view,
                rows,
                description=self.describe(view),
                consumed=consumed,
                note=self.note,
                sort_by=self.clustered_by(view),
                onto=None if before is None else before.log,
            )

    def clustered_by(self, view: str) -> tuple[str, ...]:
        """The columns by which rows of a view that follows changes are found again: its groups or partitions."""
        program = self.definitions[view].program
        return () if program is None or self.kept(view).algorithm == "recompute" else program.found_by

    def follow(self, view: str, changed: Sequence[str]) -> None:
        """Apply the pending change of a view's sources to it and to what is kept beside it.

        The states are committed before the view. Where that was interrupted, the states are ahead: the view is then
        first brought to the versions that they have.
        """
        with self.evaluating(view, changed) as (evaluation, moved):
            sources, target, found = evaluation.sources, evaluation.target, dict[str, list[Rows]]()
            for step in self.plan(view, moved).maintain:
                assert isinstance(step, ApplyDelta)
                found = evaluation.outputs(step.delta, step.outputs)
            reached = {sources[name].log.table_id: version for name, version in target.items()}
            for name in (state.table for state in self.states(view)):
                table, _ = evaluation.stored[name]
                if self.seen(table, sources) != target:
                    self.merge(table, found.get(name + DELTA, []), reached, count_column=ROWS)
            self.merge(evaluation.stored[view][0], found.get(view + DELTA, []), reached, keep_change=True)
        behind = [name for name, table in sources.items() if target[name] != table.version]
        if behind:
            self.follow(view, behind)

    @contextmanager
    def evaluating(self, view: str, changed: Sequence[str]) -> Iterator[tuple[Evaluation, list[str]]]:
        """The evaluation of a view's pending change, up to the versions of its states where these are ahead, and the
        sources whose rows have really changed."""
        sources, stored = self.sources(view), self.table(view)
        consumed = {name: stored.log.consumed(table.log.table_id) for name, table in sources.items()}
        unknown = [name for name, version in consumed.items() if version is None]
        if unknown:
            raise RebuildError(f"{unknown[0]} was not part of it before")
        versions = {name: version for name, version in consumed.items() if version is not None}
        states = {state.table: self.table_of_state(state) for state in self.states(view)}
        newest = {name: table.version for name, table in sources.items()}
        ahead = [seen for table in states.values() if (seen := self.seen(table, sources)) != versions]
        target = ahead[0] if ahead else newest
        if any(target.get(name, -1) < version for name, version in versions.items()):
            raise RebuildError("what is kept beside it fits none of its versions")
        fitting = {name: (table, self.fitting(table, sources, versions)) for name, table in states.items()}
        moved = [name for name in sources if versions[name] != target[name]]
        then = self.built_at(stored)
        if CLOCK in changed or (self.clock_columns(view) and then != self.moment):
            moved.append(CLOCK)
        evaluation = Evaluation(
            self,
            view,
            sources,
            versions,
            target,
            {**fitting, view: (stored, stored.version)},
            (then, self.moment),
            self.warehouse / "_advisor" / "scratch" / uuid.uuid4().hex,
        )
        try:
            yield evaluation, [name for name in moved if name == CLOCK or not _is_empty(evaluation.whole_change(name))]
        finally:
            evaluation.close()

    def merge(self, table: Table, pieces: Sequence[Rows], reached: Mapping[str, int], **how: Any) -> None:
        merge_change(table, pieces, reached, self.note, driver_rows=self.driver_rows, **how)

    @property
    def note(self) -> dict[str, Any]:
        """What a commit of a view says about itself: the moment that it took for now, and what was decided and why."""
        return {"moment": self.moment, **self._decided}

    def table_of_state(self, state: State) -> Table:
        found = self.stored(state.table)
        if found is None:
            raise RebuildError(STATE_MISSING)
        return found

    def seen(self, table: Table, sources: Mapping[str, Table], version: int | None = None) -> dict[str, int]:
        """The versions of the sources that a table's rows include."""
        found = {name: table.log.consumed(source.log.table_id, version) for name, source in sources.items()}
        return {name: consumed for name, consumed in found.items() if consumed is not None}

    def fitting(self, table: Table, sources: Mapping[str, Table], versions: Mapping[str, int]) -> int:
        """The newest version of a state whose rows include just these versions of the sources."""
        for version in range(table.version, max(-1, table.version - 8), -1):
            if self.seen(table, sources, version) == versions:
                return version
            if any(commit.changes_schema for commit in table.log.commits(version - 1, version) or ()):
                break  # before, it was a state of something else
        raise RebuildError("what is kept beside it fits none of its versions")

    def change(self, table: Table, after: int, upto: int) -> Rows:
        """The net change of a table, read once for all views that need it; on the driver unless it is too large."""
        key = (table.log.table_id, after, upto)
        if key not in self._changes:
            rows: Rows = changes_here(table.log, after, upto, self.driver_rows)
            if rows is None:
                frame = table.changes(after, upto)
                few = frame.limit(self.driver_rows + 1).toArrow()
                rows = few if few.num_rows <= self.driver_rows else frame
            if len(self._changes) >= MOST_CHANGES:
                self._changes.clear()
            self._changes[key] = rows
        return self._changes[key]

    def drop_leftovers(self, views: Iterable[str]) -> list[str]:
        """Drop the tables that were stored for some views, or beside them, and are not any more.

        Each leaves the warehouse in one step, so that nobody finds a part of it; then its files are deleted.
        """
        dropped = self.leftovers(views)
        waste = self.warehouse / "_advisor" / "dropped"
        for name in dropped:
            waste.mkdir(parents=True, exist_ok=True)
            (self.warehouse / name).rename(waste / uuid.uuid4().hex)
            self._stored.pop(name, None)
        shutil.rmtree(waste, ignore_errors=True)
        return dropped

    def tidy(self, view: str) -> None:
        """Delete what a stored view, its states and refreshes that died have left behind and nobody needs any more.

        The refresh is done already: what keeps this from working is left to the next time.
        """
        with suppress(AdvisorError, OSError):
            above = [self.stored(name) for name in self.stored_views if view in self.definitions[name].relations]
            self.table(view).vacuum([table.log for table in above if table is not None], KEPT_HOURS)
            for state in self.states(view):
                self.table_named(state.table).vacuum((), KEPT_HOURS)
            for scratch in (self.warehouse / "_advisor" / "scratch").glob("*"):
                if scratch.stat().st_mtime < time.time() - KEPT_HOURS * 3600:
                    shutil.rmtree(scratch, ignore_errors=True)

    # Updates

    def update(self, what: Mapping[str, Change] | str) -> tuple[dict[str, int], list[Refresh]]:
        """One update transaction, and the immediate views that it sets off."""
        versions = update(self.tables, what, intents_folder=self.warehouse / "_advisor" / "intents")
        changed = {view for view in self.definitions if set(self.base_tables(view)) & set(versions)}
        immediate = [view for view in self.definitions if view in changed and self.kept(view).strategy == "immediate"]
        if immediate:
            self.look()
        return versions, [self.attempt(view) for view in immediate]

    def attempt(self, view: str) -> Refresh:
        """Refresh a view; where that fails the view stays behind, and the next refresh catches up."""
        try:
            return self.refresh(view)
        except AdvisorError as error:
            return Refresh(view, self.kept(view).algorithm, None, error.message, 0.0, error=error)

    # Trust

    def compare(self, view: str) -> Comparison:
        """A stored view against its definition evaluated from the base tables, duplicates counted."""
        self.renew(view)
        return compare(self, view)


def _is_empty(rows: Rows) -> bool:
    return not is_frame(rows) and rows.num_rows == 0
