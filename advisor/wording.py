"""Words for candidates, and the reason for a choice in terms of its own data."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.offers import QUERY_MODIFICATION, Offer, algorithm_of, cheapest, strategy_of
from advisor.planner import Decision
from costmodels.axis import CENTRE, constant
from profiles import specification as spec
from profiles.words import duration, factor, many, percent

_COEFFICIENT = "coefficient "
_OF_SUBJECT = {
    "rows": "rows of {}",
    "files": "files of {}",
    "updates": "updates of {} a day",
    "update rows": "rows an update of {} changes",
    "queries": "reads of {} a day",
    "fraction": "part of {} a read takes",
}
_OF_COLUMN = {
    "values": "distinct values of {}",
    "bytes": "bytes of {} a row",
    "overlap": "files that hold a value of {}",
}


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


def way(candidate: str) -> str:
    """What reports colour alike: the strategy of a candidate, or that it recomputes.

    >>> way("deferred/counting"), way("immediate/recompute"), way("query_modification")
    ('deferred', 'full refresh', 'query modification')
    """
    return "full refresh" if algorithm_of(candidate) == "recompute" else strategy_of(candidate).replace("_", " ")


def reason(decision: Decision, view: spec.View, tables: str) -> str:
    """Why this choice, from the numbers that decided it; `tables` are those whose updates change the view."""
    choice, costs = decision.choice, decision.offers.costs(decision.permitted)
    match decision.held:
        case "dead zone":
            saved = 1 - costs[decision.best] / costs[choice]
            return f"{label(decision.best)} would save only {percent(saved)}, so what is done today stays"
        case "payback":
            build, saved = decision.offers.offers[decision.best].build_seconds, costs[choice] - costs[decision.best]
            return (
                f"{label(decision.best)} would save {duration(saved)} a day, but building it takes {duration(build)};"
                " what is done today stays"
            )
        case "budget":
            return f"{label(decision.best)} would be cheapest, but the storage budget is full; {_why(decision, tables)}"
    words = _why(decision, tables)
    latency = view.max_query_latency
    if latency is not None and decision.offers.offers[choice].latency_seconds > latency:
        words = f"nothing answers within {duration(latency)}, this comes nearest: {words}"
    everything = decision.offers.costs()
    best = cheapest(everything)
    if view.strategy != "auto" or view.algorithm != "auto":
        if best == choice:
            return f"pinned, and the cheapest: {words}"
        dearer = factor(everything[choice], everything[best])
        return f"pinned; {label(best)} would be cheapest ({label(choice)}: {dearer})"
    if best != choice and best in decision.excluded:
        return f"{decision.excluded[best]}, which rules out {label(best)}; {words}"
    return words


def _why(decision: Decision, tables: str) -> str:
    offers, choice = decision.offers.offers, decision.choice
    strategy, rates = strategy_of(choice), decision.offers.rates
    queries, updates = float(rates.queries[CENTRE]), float(rates.updates[CENTRE])
    stored = {name: cost for name, cost in decision.offers.costs().items() if name != QUERY_MODIFICATION}
    read = next((i for i in offers[choice].items if i.what == "read"), None)
    each = "" if read is None else duration(float(read.seconds[CENTRE]))
    if strategy == QUERY_MODIFICATION:
        kept = min(stored, key=lambda name: stored[name])
        if queries == 0:
            cost = stored[kept]
            return "nobody reads it" + (f"; keeping it would cost {duration(cost)} a day" if cost > 0 else "")
        touched = f"a read takes {each} from {tables or 'its tables'}"
        if updates == 0:
            return f"{touched}; a stored copy would be no cheaper to read"
        return (
            f"{touched}; keeping it through {many(updates, 'update')} a day costs {duration(_upkeep(offers[kept])[1])}"
        )
    if updates == 0:
        return f"no updates of {tables}: built once, then a read takes {each}"
    times, upkeep = _upkeep(offers[choice])
    one = duration(upkeep / times) if times > 0 else duration(0)
    rival = _incremental(choice, offers)
    if algorithm_of(choice) == "recompute" and rival is not None:
        number, cost = _upkeep(offers[rival])
        dearer = duration(cost / number) if number > 0 else duration(0)
        return f"rebuilding takes {one}, applying a change {dearer}; {many(times, 'rebuild')} a day"
    if strategy == "immediate":
        return f"ready for {many(queries, 'read')} a day of {each}; an update of {tables} adds {one}"
    shared = f"{many(updates, 'update')} of {tables} a day are applied by {many(times, 'refresh')} of {one}"
    every = offers[choice].every_seconds
    return shared + (f", every {duration(every)}" if every is not None else "")


def _incremental(choice: str, offers: Mapping[str, Offer]) -> str | None:
    """The cheapest way of the same strategy that applies changes."""
    same = {
        name: offer.a_day
        for name, offer in offers.items()
        if strategy_of(name) == strategy_of(choice) and algorithm_of(name) != "recompute"
        if any(item.what != "read" for item in offer.items)
    }
    return min(same, key=lambda name: same[name], default=None)


def _upkeep(offer: Offer) -> tuple[float, float]:
    """How many times a day something is done beside reading, and the seconds of all of it."""
    work = [item for item in offer.items if item.what != "read"]
    times = sum((item.times for item in work), constant(0.0))
    return float(times[CENTRE]), float(sum((item.times * item.seconds for item in work), constant(0.0))[CENTRE])


def spoken(name: str) -> str:
    """What a number of the model is called.

    >>> spoken("orders.update rows"), spoken("coefficient rows_read"), spoken("orders: `o_k` > 5")
    ('rows an update of orders changes', 'price of rows read', 'part of orders with o_k > 5')
    """
    if name.startswith(_COEFFICIENT):
        return f"price of {name.removeprefix(_COEFFICIENT).replace('_', ' ')}"
    table, colon, what = name.partition(": ")
    what = what.replace("`", "")
    if colon:
        left, equals, right = what.partition("=")
        if equals and " " not in what:
            return f"pairs of {table}.{left} and {right}"
        simple = what.replace(", ", "").replace("_", "").isalnum()
        return f"combinations of {what} in {table}" if simple else f"part of {table} with {what}"
    subject, _, what = name.partition(".")
    column, _, kind = what.rpartition(" ")
    if column and kind in _OF_COLUMN:
        return _OF_COLUMN[kind].format(f"{subject}.{column}")
    return _OF_SUBJECT[what].format(subject)
