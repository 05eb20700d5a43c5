"""When what happens in a replayed day: updates and reads at random or at declared times, ticks of clocks in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

DAY_MINUTES = 1440.0


@dataclass(frozen=True, order=True)
class Event:
    """Something that happens at a minute: an update of a stream, a read of a view, or a tick of its clock."""

    minute: float
    kind: Literal["update", "query", "tick"]
    what: str


@dataclass(frozen=True)
class Repeated:
    """Something that happens so many times, in a part of the day or at fixed minutes of it."""

    times: int
    at: tuple[int, ...] = ()
    between: tuple[int, int] | None = None


def timetable(
    updates: Mapping[str, Repeated], queries: Mapping[str, Repeated], ticks: Mapping[str, int], days: float, seed: int
) -> list[Event]:
    """All events in order; the same seed draws the same moments of each kind, whatever else happens.

    >>> day = timetable({"orders": Repeated(1, at=(120,))}, {"sales": Repeated(2)}, {"sales": 1}, 1, seed=0)
    >>> [(event.kind, event.what) for event in day if event.kind != "query"]
    [('update', 'orders'), ('tick', 'sales')]
    """
    found = [
        Event(minute, "update", name) for name, each in updates.items() for minute in _minutes(name, each, days, seed)
    ]
    found += [
        Event(minute, "query", name) for name, each in queries.items() for minute in _minutes(name, each, days, seed)
    ]
    for name, times in ticks.items():
        found += [Event((i + 1) * days * DAY_MINUTES / times, "tick", name) for i in range(times)]
    return sorted(found)


def whole_times(expected: float) -> int:
    """How often something happens that is expected so many times: once at least, if at all.

    >>> whole_times(0), whole_times(0.02), whole_times(4.8)
    (0, 1, 5)
    """
    return max(1, round(expected)) if expected > 0 else 0


def _minutes(name: str, each: Repeated, days: float, seed: int) -> Iterator[float]:
    chance = np.random.default_rng([seed, *name.encode()])
    if each.at:
        yield from _at(each, days)
        return
    first, last = each.between or (0, int(DAY_MINUTES))
    length = (last - first) % DAY_MINUTES or DAY_MINUTES
    for moment in chance.random(each.times):
        day, part = divmod(float(moment) * days, 1.0)
        share = min(days - day, 1.0)  # of a part of a day as much is used as of a whole one
        yield day * DAY_MINUTES + (first + part / share * length) % DAY_MINUTES * share


def _at(each: Repeated, days: float) -> Iterator[float]:
    """As evenly over the fixed minutes of all days as their number allows, those that fall together one by one."""
    slots: Sequence[float] = [
        min(day * DAY_MINUTES + minute, days * DAY_MINUTES)
        for day in range(max(1, int(np.ceil(days))))
        for minute in sorted(set(each.at))
    ]
    for number in range(each.times):
        yield slots[number * len(slots) // each.times]
