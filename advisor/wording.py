"""Words for numbers: durations, labels of candidates, and the reason for a choice in terms of its own data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from advisor.gathering import Gathered
from advisor.pricing import (
    QUERY_MODIFICATION,
    Quantities,
    algorithm_of,
    by_strategy,
    cheapest,
    deferred,
    parameters,
    price,
    scanned_fraction,
    strategy_of,
)


def duration(seconds: float) -> str:
    """
    >>> duration(372), duration(0.0421), duration(0), duration(93784)
    ('6 m 12 s', '42 ms', '0 s', '1 d 2 h')
    """
    if seconds <= 0:
        return "0 s"
    if seconds < 1:
        return f"{max(seconds * 1000, 1):.0f} ms" if seconds >= 0.001 else "<1 ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for large, small, size, part in (("d", "h", 86_400, 3600), ("h", "m", 3600, 60), ("m", "s", 60, 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size:,} {large}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def factor(more: float, less: float) -> str:
    """How much more one cost is than another.

    >>> factor(112, 100), factor(240, 100), factor(5, 0)
    ('+12 %', '×2.4', 'more')
    """
    if less <= 0:
        return "more" if more > 0 else "equal"
    ratio = more / less
    if ratio < 1:
        return f"−{1 - ratio:.0%}".replace("%", " %")
    return f"+{ratio - 1:.0%}".replace("%", " %") if ratio < 2 else f"×{ratio:,.{1 if ratio < 100 else 0}f}"


def number(value: float) -> str:
    """
    >>> number(96), number(0.25), number(1500000), number(3.14159)
    ('96', '0.25', '1,500,000', '3.1')
    """
    if value == 0 or value >= 10 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.2g}"


def many(count: float, thing: str) -> str:
    """
    >>> many(1, "read"), many(96, "update")
    ('1 read', '96 updates')
    """
    return f"{number(count)} {thing}" + ("" if count == 1 else "es" if thing.endswith("sh") else "s")


def label(candidate: str) -> str:
    """
    >>> label("deferred/recompute"), label("immediate/counting"), label("query_modification")
    ('full refresh', 'immediate, incremental', 'query modification')
    """
    strategy, algorithm = strategy_of(candidate), algorithm_of(candidate)
    if algorithm is None:
        return strategy.replace("_", " ")
    if algorithm == "recompute":
        return "full refresh" if strategy == "deferred" else "full refresh with each update"
    return f"{strategy}, incremental"


def reason(view: Gathered, q: Quantities, candidates: Mapping[str, float], choice: str, cheaper: str | None) -> str:
    """Why this choice, from the numbers that decided it; `cheaper` is what the dead zone passed over."""
    if cheaper is not None and cheaper != choice:
        saved = 1 - candidates[cheaper] / candidates[choice]
        return f"{label(cheaper)} would save only {saved:.0%}".replace("%", " %") + ", so what is done today stays"
    words = _why(view, q, candidates, choice)
    if view.spec.strategy != "auto" or view.spec.algorithm != "auto":
        best = cheapest(candidates)
        if best == choice:
            return f"pinned, and the cheapest: {words}"
        return (
            f"pinned; {label(best)} would be cheapest ({label(choice)}: {factor(candidates[choice], candidates[best])})"
        )
    if view.spec.readers == "external" and cheapest(candidates) == QUERY_MODIFICATION:
        return f"others read it as a table, which rules out query modification; {words}"
    return words


def _why(view: Gathered, q: Quantities, candidates: Mapping[str, float], choice: str) -> str:
    strategy, p = strategy_of(choice), parameters(q)
    names = ", ".join(t.name for t in view.tables if t.updates_per_day.value > 0)
    stored = by_strategy({name: cost for name, cost in candidates.items() if name != QUERY_MODIFICATION})
    if q.queries == 0 and strategy == QUERY_MODIFICATION:
        cost = duration(min(stored.values()))
        return "nobody reads it" + (f"; keeping it would cost {cost} a day" if q.updates > 0 else "")
    if q.updates == 0 and strategy != QUERY_MODIFICATION:
        tables = ", ".join(t.name for t in view.tables)
        return f"no updates of {tables}: built once, then a read costs {duration(_read(view, q))}"
    if strategy == QUERY_MODIFICATION:
        pages = number(max(p.b * scanned_fraction(view.model, p), 1))
        touched = f"a read needs {pages} of {number(max(p.b, 1))} pages of {view.largest.name}"
        if q.updates == 0:
            return f"{touched}; a stored copy would be no cheaper to read"
        return f"{touched}; keeping it through {many(q.updates, 'update')} a day costs {duration(min(stored.values()))}"
    if algorithm_of(choice) == "recompute":
        changed = q.updates * q.rows_per_update
        return f"rebuilding reads {view.largest.name} once; applying {number(changed)} changed rows a day costs more"
    if strategy == "immediate":
        idle = price(view.model, replace(q, updates=0.0))[choice]
        each = (candidates[choice] - idle) / q.updates
        return f"ready for {many(q.queries, 'read')} a day; an update of {names} adds {duration(each)}"
    work = f"the work of {many(q.updates, 'update')} of {names}"
    if view.model.batches_a_day is not None:
        return f"{work}, which come together, is done by {many(view.model.batches_a_day, 'refresh')} a day"
    _, moments = deferred(view.model, p)
    if view.model.scheduled or moments < q.queries:
        return f"{work} is shared by {many(moments, 'refresh')} a day"
    return f"{work} is shared by {many(q.queries, 'read')} a day"


def _read(view: Gathered, q: Quantities) -> float:
    if q.queries <= 0:
        return 0.0
    return price(view.model, replace(q, updates=0.0))[f"immediate/{view.model.incremental}"] / q.queries
