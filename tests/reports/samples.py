"""Reports to look at: of a small shop with declared statistics, of many views, with measurements, with nasty texts."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from advisor.api import Advisor
from advisor.reporting import report
from reports.results import Coefficients, Compared, Measured, Night, Plan, PlanChange, Report
from tests.advisor.workloads import NAMED, PER_CUSTOMER, TOTAL, URGENT, workload

PRICE = "price: {core_hour: 0.31}\n"
DEFERRED = "{strategy: deferred, algorithm: recompute, seconds: 200}"
VIEWS = (
    f"urgent: {{sql: '{URGENT}', queries: {{per_day: 300}}, today: {{strategy: query_modification, seconds: 90}}}}",
    f"total: {{sql: '{TOTAL}', queries: {{per_day: 400}}, max_staleness: 15m, today: {DEFERRED}}}",
    f"named: {{sql: '{NAMED}', queries: {{per_day: 20, fraction: 0.1}}}}",
)
NASTY = '<script>window.hacked = 1</script> "it\'s" & </script> 😀 ' + "long " * 2000
DAY = 86_400.0
START = 1_790_000_000.0


def shop(folder: Path, *views: str) -> Report:
    """A report of a few views over two tables."""
    return report(Advisor(workload(folder, *(views or VIEWS), more=PRICE)))


def many(folder: Path, count: int) -> Report:
    """A report of many views of four kinds."""
    kinds = (URGENT, TOTAL, NAMED, PER_CUSTOMER)
    views = [f"view_{i:03}: {{sql: '{kinds[i % 4]}', queries: {{per_day: {1 + 7 * i}}}}}" for i in range(count)]
    return shop(folder, *views)


def measured(given: Report, days: int = 5, each: int = 12) -> Report:
    """The same after some days of refreshes, reads and updates, with plans and coefficients."""
    dice = random.Random(7)
    runs = []
    for i in range(days * each):
        view = given.views[i % len(given.views)]
        kind = ("refresh", "query", "update")[i % 3]
        expected = 10 ** dice.uniform(-2, 1)
        runs.append(
            Measured(
                at=START + i * DAY / each,
                kind=kind,
                subject="orders" if kind == "update" else view.name,
                way="" if kind == "update" else view.proposed.way,
                ran="update" if kind == "update" else "counting",
                seconds=expected * 10 ** dice.gauss(0.1, 0.2),
                predicted=expected,
                stale_seconds=dice.uniform(0, 900) if kind == "query" else None,
            )
        )
    quantities = {"jobs": 0.05, "commits": 0.0145, "rows_read": 3.3e-8}
    coefficients = tuple(
        Coefficients(f"2026-09-{10 + i}", {name: value * (1 + 0.2 * i) for name, value in quantities.items()})
        for i in range(days)
    )
    stays = {view.name: view.now.label for view in given.views}
    plans = (Plan(1, stays), Plan(2, {**stays, given.views[0].name: given.views[0].proposed.label}, active=True))
    change = PlanChange(given.views[0].name, "full refresh", given.views[0].proposed.label, "its reads have doubled")
    night = Night(
        2, "2026-09-21 02:00", 12, ("orders: 400 updates a day",), ("urgent: turns",), ("total took 3 times more",)
    )
    runs.append(replace(runs[0], error="the disk is full", seconds=1.0))
    first = given.views[0]
    told = first.proposed.way, first.proposed.label
    compared = Compared(first.name, *told, 4.0, 5.0, first.now.way, first.now.label, 4.8, 0.04)
    return replace(
        given,
        measurements=tuple(runs),
        coefficients=coefficients,
        plans=plans,
        changes=(change,),
        nights=(replace(night, number=1), night),
        comparison=(compared,),
    )


def nasty(given: Report) -> Report:
    """The same with texts that would break a page which took them for markup."""
    first = replace(
        given.views[0],
        name=NASTY,
        definition=NASTY,
        rules=NASTY,
        delta=NASTY,
        because=NASTY,
        turns=(NASTY,),
        defaults=(NASTY,),
        influences=tuple(replace(each, name=f"{NASTY} {i}") for i, each in enumerate(given.views[0].influences)),
    )
    views = tuple(replace(view, reads=(NASTY, *view.reads)) for view in given.views[1:])
    tables = tuple(replace(table, name=NASTY[7:]) for table in given.tables[:1]) + given.tables[1:]
    changes = tuple(replace(change, view=NASTY, why=NASTY) for change in given.changes)
    return replace(given, workload=NASTY, views=(first, *views), tables=tables, changes=changes, notes=(NASTY,))
