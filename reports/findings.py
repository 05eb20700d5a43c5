"""What a chart shows, in one sentence that is computed from its data: the title of each chart of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from profiles.words import duration, factor, many, number, percent
from reports.palette import WAYS
from reports.results import Influence, Report, Surface, Sweep, View

CLOSE = 0.9
"""A choice that is the best in fewer draws than this is called uncertain."""


def headline(report: Report) -> str:
    """The page in one sentence."""
    changed = [view for view in report.views if view.changed]
    saved, today = sum(view.saving for view in changed), report.total("today")
    if not report.views:
        return "There is no view to decide about"
    if not changed:
        return f"Nothing to change: today's way is the cheapest, at {duration(today)} a day"
    unsure = sum(view.confidence < CLOSE for view in changed)
    doubt = f"; {counted(unsure)} {'is' if unsure == 1 else 'are'} uncertain" if unsure else ""
    changes = f"{counted(len(changed)).capitalize()} change{'' if len(changed) == 1 else 's'}"
    if saved < 0:
        return f"{changes} {_verb('cost', changed)} {duration(-saved)} a day more than today{doubt}"
    return f"{changes} {_verb('save', changed)} {duration(saved)} a day{doubt}"


def _verb(verb: str, things: Sequence[object]) -> str:
    return f"{verb}s" if len(things) == 1 else verb


def counted(count: int) -> str:
    """
    >>> counted(1), counted(12), counted(13)
    ('one', 'twelve', '13')
    """
    words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    return words[count] if count < len(words) else f"{count:,}"


def of_view(view: View) -> str:
    """What is proposed for a view and what that does."""
    chosen, now = view.proposed, view.now
    if not view.changed:
        return f"Stays with {chosen.label}, at {duration(chosen.seconds)} a day"
    verb, more = ("saves", view.saving) if view.saving >= 0 else ("costs", -view.saving)
    beyond = "" if view.saving >= 0 else " more"
    return f"{_upper(chosen.label)} instead of {now.label} {verb} {duration(more)} a day{beyond}"


def of_components(view: View) -> str:
    """What most of the chosen way's cost is."""
    chosen = view.proposed
    parts = {name: cost for name, cost in chosen.components.items() if cost > 0}
    if not parts:
        return f"{_upper(chosen.label)} costs nothing"
    most = max(parts, key=lambda name: parts[name])
    text = f"{percent(parts[most] / sum(parts.values()))} of the cost is {most}"
    rival = view.rival
    return text if rival is None else f"{text}; next best: {rival.label}, {factor(rival.seconds, chosen.seconds)}"


def winners(costs: Mapping[str, Sequence[float]]) -> list[str]:
    """The cheapest way at each point; of equals the first of `WAYS`."""
    ways = [way for way in WAYS if way in costs]
    return [min(ways, key=lambda way: round(costs[way][i], 12)) for i in range(len(costs[ways[0]]))]


def break_evens(sweep: Sweep) -> list[tuple[float, float, str, str]]:
    """Where the cheapest way changes: updates a day, P, the way below and the way above."""
    best = winners(sweep.costs)
    found = []
    for i in range(1, len(best)):
        below, above = best[i - 1], best[i]
        if below != above:
            before = sweep.costs[above][i - 1] - sweep.costs[below][i - 1]
            after = sweep.costs[below][i] - sweep.costs[above][i]
            part = before / (before + after) if before + after > 0 else 1.0
            first, last = sweep.updates[i - 1], sweep.updates[i]
            updates = first + part * (last - first)
            found.append((updates, updates / (updates + sweep.reads), below, above))
    return found


def of_sweep(sweep: Sweep) -> str:
    """Where the way that is cheapest today stops being so."""
    turns = break_evens(sweep)
    best = winners(sweep.costs)
    if not turns:
        return f"{_upper(best[0])} wins however often the tables are updated"
    now = min(range(len(best)), key=lambda i: abs(math.log(sweep.updates[i] / sweep.today)))
    low = max((each[0] for each in turns if each[0] <= sweep.updates[now]), default=None)
    high = min((each[0] for each in turns if each[0] > sweep.updates[now]), default=None)
    way = _upper(best[now])
    if low is None:
        return f"{way} wins below {many(_rough(high), 'update')} a day"
    if high is None:
        return f"{way} wins above {many(_rough(low), 'update')} a day"
    return f"{way} wins from {number(_rough(low))} to {number(_rough(high))} updates a day"


def _rough(value: float | None) -> float:
    """Three digits: more would not be true."""
    return float(f"{value or 0.0:.3g}")


def of_surface(surface: Surface, cells: Sequence[str]) -> str:
    """Which way wins where, from the winners of the map's cells."""
    shares = {way: cells.count(way) / len(cells) for way in WAYS if way in cells}
    most = max(shares, key=lambda way: shares[way])
    if len(shares) == 1:
        return f"{_upper(most)} wins whatever part of {surface.table} the view holds"
    rest = sorted((way for way in shares if way != most), key=lambda way: -shares[way])
    others = " and ".join(f"{way} on {percent(shares[way])}" for way in rest[:2])
    return f"{_upper(most)} wins on {percent(shares[most])} of the map, {others}"


def of_influences(view: View, influences: Sequence[Influence]) -> str:
    """Whether a single number can change the choice, and which matters most."""
    turning = [each for each in influences if any(each.winners)]
    if not turning:
        most = influences[0]
        return f"No single number changes the choice; {most.name} moves the cost most"
    names = {way for each in turning for way in each.winners if way is not None}
    others = " or ".join(sorted(names))
    if len(turning) == 1:
        return f"Only {turning[0].name} can make {others} cheaper"
    return f"{_upper(counted(len(turning)))} of {len(influences)} numbers can make {others} cheaper"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
