"""What keeping a view costs a day, each way: its work, times how often that is done.

An immediate view follows each update transaction. A deferred one is refreshed by reads that find something pending,
or by a clock where staleness is allowed; an engine that a slow clock starts each time is part of the price.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from advisor.offers import QUERY_MODIFICATION, Item, Offer, Offers, Rates
from advisor.table_model import Stream
from advisor.view_model import ViewModel
from costmodels import schedule
from costmodels.axis import CENTRE, Vector, constant
from costmodels.spark import Prices, Step, Work
from profiles.units import SECONDS_A_DAY

_STAYS_UP_SECONDS = 3600.0
"""A clock that ticks more often is taken for a process that stays; a slower one starts an engine each time."""


@dataclass(frozen=True)
class Demand:
    """What wants a view's rows to be fresh: reads a day, and, for an immediate view above, each update."""

    reads: Vector
    with_updates: bool = False

    @property
    def key(self) -> tuple[bytes, bool]:
        """What tells it from others."""
        return self.reads.tobytes(), self.with_updates


def offers_of(view: ViewModel, demand: Demand, sharers: int) -> Offers:
    """Every way to keep a view, priced; `sharers` views are refreshed by the same clock."""
    return _Ways(view, demand, sharers).offers()


@dataclass(frozen=True)
class _Ways:
    """The ways to keep a view whose rows are wanted so often."""

    view: ViewModel
    demand: Demand
    sharers: int

    def offers(self) -> Offers:
        virtual = self.item("read", self.demand.reads, self.view.virtual)
        latency = float(virtual.seconds[CENTRE])
        found = [Offer(QUERY_MODIFICATION, _total([virtual]), (virtual,), latency)]
        for algorithm in self._algorithms:
            build = sum((work.seconds(self._prices) for _, work in self.view.rebuild(algorithm)), constant(0.0))
            kept = [self.view.known.layouts[state.table] for state in self.view.plans[algorithm].states]
            size = sum((layout.bytes for layout in (self.view.layout, *kept)), constant(0.0))
            deferred = min((self._deferred(algorithm, p) for p in self._periods), key=lambda offer: offer.a_day)
            found += [
                replace(offer, build_seconds=float(build[CENTRE]), storage_bytes=float(size[CENTRE]))
                for offer in (self._immediate(algorithm), deferred)
            ]
        updates = sum((s.transactions for s in self.view.streams), constant(0.0))
        queries = self.view.model.queries(self.view.name)
        return Offers(self.view.name, Rates(updates, queries), {offer.candidate: offer for offer in found})

    def item(self, what: str, times: Vector, steps: Sequence[Step]) -> Item:
        seconds = sum((work.seconds(self._prices) for _, work in steps), constant(0.0))
        return Item(what, times, tuple(steps), seconds)

    @property
    def _prices(self) -> Prices:
        return self.view.model.prices

    @cached_property
    def _reads(self) -> Item:
        """Its own queries, of stored rows."""
        return self.item("read", self.view.model.queries(self.view.name), self.view.read)

    @property
    def _algorithms(self) -> list[str]:
        """Incremental ones first: of equal costs the first wins."""
        return sorted(self.view.plans, key=lambda name: (name == "recompute", name))

    @cached_property
    def _periods(self) -> tuple[float | None, ...]:
        """By reads, or by a clock within the allowed staleness."""
        view = self.view.model.workload.views[self.view.name]
        # Waiting longer is never dearer, but for the engine that a clock of few ticks starts each time.
        by_clock: tuple[float, ...] = (view.max_staleness,) if view.max_staleness else ()
        if view.max_staleness and view.max_staleness >= _STAYS_UP_SECONDS:
            by_clock = (view.max_staleness, _STAYS_UP_SECONDS / 2)
        if view.readers == "external":
            return by_clock or (SECONDS_A_DAY,)
        return (None, *by_clock)

    def _immediate(self, algorithm: str) -> Offer:
        items = []
        for stream in self.view.streams:
            what = f"update of {', '.join(t for t in stream.tables if t in self.view.base)}"
            items.append(self.item(what, stream.transactions, self.view.maintain(algorithm, stream.tuples)[0]))
        items.append(self._reads)
        return Offer(f"immediate/{algorithm}", _total(items), tuple(items), float(self._reads.seconds[CENTRE]))

    def _deferred(self, algorithm: str, period: float | None) -> Offer:
        """By reads, or by a clock of so many seconds."""
        refreshes = self._refreshes(period)
        items = []
        for tables, times, tuples in self._batches(refreshes):
            what = f"refresh after changes of {', '.join(tables)}"
            items.append(self.item(what, times, self.view.maintain(algorithm, tuples)[0]))
        if period is not None and period >= _STAYS_UP_SECONDS:
            start = Work()
            start.add(sessions=1 / self.sharers)
            items.append(self.item("start of an engine", refreshes, [("start", start)]))
        pending = max((float(i.seconds[CENTRE]) for i in items), default=0.0) if period is None else 0.0
        latency = float(self._reads.seconds[CENTRE]) + pending
        items.append(self._reads)
        name = f"deferred/{algorithm}"
        return Offer(name, _total(items), tuple(items), latency, period, float(refreshes[CENTRE]))

    def _refreshes(self, period: float | None) -> Vector:
        """How many times a day something pending is met."""
        events = sum((s.events for s in self.view.streams), constant(0.0))
        if self.demand.with_updates:
            return events
        at = sorted({minute for s in self.view.streams for minute in s.at})
        batched = bool(self.view.streams) and all(s.at for s in self.view.streams)
        if period is not None:
            return schedule.by_the_clock(events, period, at if batched else ())
        if batched:
            queries = self.view.model.workload.views[self.view.name].queries
            return schedule.after_batches(at, self.demand.reads, queries.between if queries is not None else None)
        found = schedule.in_random_order(events, self.demand.reads) * self._order
        return np.asarray(np.minimum(np.minimum(found, events), self.demand.reads))

    @cached_property
    def _order(self) -> float:
        """How many times as often reads find something pending as they would in random order, by observed times."""
        if not all(stream.times for stream in self.view.streams):
            return 1.0
        updates = [moment for stream in self.view.streams for moment in stream.times]
        return schedule.against_random_order(updates, self.view.model.read_times(self.view.name))

    def _batches(self, refreshes: Vector) -> list[tuple[list[str], Vector, dict[str, Vector]]]:
        """Refreshes by what they find changed: which tables, how often, and how many tuples of each.

        A stream that has nothing pending at every second refresh takes part in every second one; those that come less
        often are taken to come with those that come more often.
        """
        found = []
        shares = []
        for stream in self.view.streams:
            per_refresh = stream.events / np.maximum(refreshes, 1e-12)
            share = np.minimum(per_refresh, 1.0)
            transactions = stream.transactions / np.maximum(refreshes * share, 1e-12)
            shares.append((share, stream, transactions))
        shares.sort(key=lambda each: -float(each[0][CENTRE]))
        merged: list[tuple[Vector, list[tuple[Stream, Vector]]]] = []
        for share, stream, transactions in shares:
            if merged and float(merged[-1][0][CENTRE]) - float(share[CENTRE]) < 0.05:
                merged[-1][1].append((stream, transactions))
            else:
                merged.append((share, [*(merged[-1][1] if merged else []), (stream, transactions)]))
        for number, (share, parts) in enumerate(merged):
            rest = merged[number + 1][0] if number + 1 < len(merged) else constant(0.0)
            tuples = {
                table: np.asarray(n * number_of) for stream, n in parts for table, number_of in stream.tuples.items()
            }
            tables = [table for stream, _ in parts for table in stream.tables if table in self.view.base]
            found.append((tables, refreshes * np.maximum(share - rest, 0.0), tuples))
        return found


def _total(items: Iterable[Item]) -> Vector:
    return sum((each.times * each.seconds for each in items), constant(0.0))
