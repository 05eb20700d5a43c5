"""Prices every way to keep a view on Spark: what is known of a workload, as relations, layouts and streams of updates.

    virtual     each read evaluates the view's definition on the base tables
    immediate   each update transaction is followed by the view; a read finds stored rows
    deferred    reads that find something pending apply it first, or a clock does where staleness is allowed

The work of each comes from the plans that executors make (`views.steps`), so what is priced is what runs. Which views
below one are stored decides what its plan reads; what reads it decides how often it is refreshed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from advisor.offers import QUERY_MODIFICATION, Offer, Offers, strategy_of
from advisor.table_model import Stream, layout_of, relation_of, streams_of
from advisor.view_model import ViewModel
from advisor.view_offers import Demand, offers_of
from costmodels import spark
from costmodels.axis import QUERIES, Numbers, Vector, constant, swept, vector
from costmodels.spark import Known
from profiles.coefficients import MachineProfile
from profiles.queries import QueryHistory
from profiles.sources import DEFAULT_QUERIES
from profiles.statistics import Estimate, TableStatistics
from profiles.workload import Workload
from views.definition import Definition


@dataclass
class SparkModel:
    """The prices of a workload's views."""

    workload: Workload
    statistics: Mapping[str, TableStatistics]
    definitions: Mapping[str, Definition]
    machine: MachineProfile
    numbers: Numbers = vector
    """How an estimate, by its name, lies along the axis."""
    reads: Mapping[str, QueryHistory] = field(default_factory=dict)
    """By view, the reads that were observed; what is declared counts more."""
    defaults: dict[str, set[str]] = field(default_factory=dict)
    """By view, what of its prices had to be assumed, in words."""
    _views: dict[tuple[str, frozenset[str]], ViewModel] = field(default_factory=dict)
    _below: dict[str, frozenset[str]] = field(default_factory=dict)
    _queries: dict[str, Vector] = field(default_factory=dict)
    _offers: dict[tuple[object, ...], Offers] = field(default_factory=dict)

    @cached_property
    def prices(self) -> spark.Prices:
        return spark.prices_of(self.machine, self.numbers)

    @cached_property
    def tables(self) -> Known:
        relations = {
            name: relation_of(table, self.numbers, self.defaults.setdefault(name, set()))
            for name, table in self.statistics.items()
        }
        layouts = {name: layout_of(table, self.numbers) for name, table in self.statistics.items()}
        together = {
            (child, parent)
            for stream in self.streams
            for child in stream.tables
            for reference in self.statistics[child].foreign_keys.values()
            if (parent := reference.rpartition(".")[0]) in stream.tables
        }
        return Known(relations, layouts, frozenset(together))

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The update transactions."""
        return streams_of(self.statistics.values(), self.numbers)

    def view(self, name: str, stored: Iterable[str]) -> ViewModel:
        """A view, given which of the views below it are stored."""
        below = frozenset(stored) & self.below(name)
        key = (name, below)
        if key not in self._views:
            self._views[key] = ViewModel(self, name, below)
        return self._views[key]

    def below(self, name: str) -> frozenset[str]:
        """The views that a view reads, directly or through others."""
        if name not in self._below:
            direct = [n for n in self.definitions[name].relations if n in self.definitions]
            self._below[name] = frozenset(direct).union(*(self.below(n) for n in direct))
        return self._below[name]

    def queries(self, name: str) -> Vector:
        """The view's own reads a day."""
        if name not in self._queries:
            self._queries[name] = self._reads(name)
        return self._queries[name]

    def _reads(self, name: str) -> Vector:
        estimate = self.query_rate(name)
        if estimate.source == "default":
            self.defaults.setdefault(name, set()).add(f"queries of {name} ({DEFAULT_QUERIES:,.0f} a day)")
        return swept(self.numbers(estimate, f"{name}.queries"), QUERIES)

    def query_rate(self, name: str) -> Estimate:
        """The view's own reads a day: declared, else observed, else a default."""
        given, seen = self.workload.views[name].queries, self.reads.get(name)
        if given is not None and given.per_day is not None:
            return Estimate.of(given.per_day, "declared")
        return (seen.per_day if seen is not None else None) or Estimate.of(DEFAULT_QUERIES, "default")

    def read_times(self, name: str) -> tuple[float, ...]:
        """When it was read, where its rate was observed."""
        return self.reads[name].times if self.query_rate(name).source in ("measured", "derived") else ()

    def offers(self, name: str, stored: Iterable[str], demand: Demand, sharers: int = 1) -> Offers:
        """Every way to keep a view, priced; `sharers` views are refreshed by the same clock."""
        view = self.view(name, stored)
        key = (name, view.below, *demand.key, sharers)
        if key not in self._offers:
            self._offers[key] = offers_of(view, demand, sharers)
        return self._offers[key]


def demand_of(
    model: SparkModel, name: str, choice: Mapping[str, str], found: Mapping[str, Offer], readers: Iterable[str]
) -> Demand:
    """What wants a view's rows to be fresh: its own queries, and the views above it as they are kept."""
    reads, with_updates = model.queries(name), False
    for reader in readers:
        strategy = strategy_of(choice[reader])
        if strategy == QUERY_MODIFICATION:
            above = next(i.times for i in found[reader].items)
            reads = reads + above
        elif strategy == "immediate":
            with_updates = True
        else:
            reads = reads + constant(found[reader].refreshes or 0.0)
    return Demand(reads, with_updates)
