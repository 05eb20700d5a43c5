"""The definitions of a workload's views, over the columns and keys of its tables."""

from __future__ import annotations

from collections.abc import Mapping

from profiles.statistics import TableStatistics
from profiles.workload import Workload
from views.catalog import Catalog, Relation
from views.definition import Definition, define_all
from views.errors import ViewError


def definitions_of(workload: Workload, statistics: Mapping[str, TableStatistics]) -> dict[str, Definition]:
    """Every view as a program or with its reasons, each after those it reads; errors name the file and its line."""
    for name, view in workload.views.items():
        if view.datalog is not None:
            place = workload.place("views", name, "datalog")
            raise ViewError(f"{place}: view {name!r} is Datalog, which this version does not read", "give it as sql:")
    relations = [Relation(name, table.columns, table.key) for name, table in statistics.items()]
    spelled = {t.table.casefold(): name for name, t in workload.tables.items() if t.table is not None}
    catalog = Catalog.of(relations, spelled)
    return define_all(workload.sql, catalog, lambda view: f"{workload.place('views', view)}: view {view!r}")
