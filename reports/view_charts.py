"""The charts of one view: what its cost is made of, and what it would be with other numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from profiles.words import duration, number, signed
from reports import findings
from reports.charts import Chart, Sign, Trace, lines_of, log_seconds_axis, round_step, seconds_axis, shown, two_lines
from reports.palette import COMPONENTS as GREYS
from reports.palette import WAYS, style
from reports.results import COMPONENTS, Candidate, Surface, Sweep, View

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Cells = np.ndarray[Any, np.dtype[np.int64]]


def of_components(view: View) -> Chart:
    """What each way costs a day, by what that goes into."""
    ways = sorted(view.candidates, key=lambda each: -each.seconds)  # plotly draws from below
    places = list(range(len(ways)))
    shown_parts = [
        (component, colour, pattern, values)
        for component, (colour, pattern) in zip(COMPONENTS, GREYS, strict=True)
        if any(values := [each.components.get(component, 0.0) for each in ways])
    ]
    traces: list[Trace] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": component,
            "y": places,
            "x": values,
            "text": [f"{component}: {signed(value)} a day" for value in values],
            "textposition": "none",
            "marker": {
                "color": colour,
                "line": {"color": "#FFFFFF", "width": 0.5},
                "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": "#FFFFFF", "fgopacity": 0.8, "size": 5},
            },
            "hovertemplate": "%{text}<extra></extra>",
        }
        for component, colour, pattern, values in shown_parts
    ]
    most = max((sum(c for c in each.components.values() if c > 0) for each in ways), default=0.0)
    note = "What each way costs a day, and what that goes into."
    if any(each.declared for each in ways):
        note += " Today's is as long as the workload declares, in parts as the model has them."
    return Chart(
        "components",
        findings.of_components(view),
        note,
        traces,
        {
            "barmode": "relative",
            "xaxis": seconds_axis(most),
            "yaxis": {"tickvals": places, "ticktext": [_named(each) for each in ways]},
            "hovermode": "closest",
        },
        ("way", *COMPONENTS, "seconds a day"),
        [
            (each.name, *(each.components.get(c, 0.0) for c in COMPONENTS), each.seconds)
            for each in sorted(view.candidates, key=lambda each: each.seconds)
        ],
        height=7 + 2.4 * len(ways),
        legend=tuple(Sign(component, colour, pattern) for component, colour, pattern, _ in shown_parts),
    )


def _named(candidate: Candidate) -> str:
    return f'<span style="color:{style(candidate.way).colour}">■</span> {two_lines(candidate.label)}'


def of_sweep(sweep: Sweep) -> Chart:
    """Cost against P, with today and the break-even points."""
    traces: list[Trace] = []
    for way in WAYS:
        if way in sweep.costs:
            look = style(way)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": way,
                    "x": [_round(p) for p in sweep.shares],
                    "y": [_round(cost) for cost in sweep.costs[way]],
                    "text": [duration(cost) for cost in sweep.costs[way]],
                    "line": {"color": look.colour, "dash": look.dash, "width": 2.5},
                    "hovertemplate": "%{text}",
                }
            )
    turns = findings.break_evens(sweep)
    if turns:
        costs = {way: list(zip(sweep.updates, sweep.costs[way], strict=True)) for way in sweep.costs}
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "break-even",
                "x": [_round(p) for _, p, _, _ in turns],
                "y": [_round(_between(costs[below], updates)) for updates, _, below, _ in turns],
                "text": [f"{below} → {above} at {number(updates)} updates a day" for updates, _, below, above in turns],
                "marker": {"symbol": "circle-open", "size": 11, "color": "#8A8A8A", "line": {"width": 2.5}},
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    today = sweep.today / (sweep.today + sweep.reads)
    values = [cost for line in sweep.costs.values() for cost in line if cost > 0]
    return Chart(
        "updates",
        findings.of_sweep(sweep),
        f"Cost a day when only the updates change, {number(sweep.reads)} reads a day throughout; the line marks today,"
        f" P = {today:.2f}, and circles mark where the choice changes.",
        traces,
        {
            "xaxis": {"title": {"text": "P, the share of updates"}, "range": [0, 1], "tickformat": "~r"},
            "yaxis": log_seconds_axis(min(values, default=1.0), max(values, default=1.0), "a day"),
            "hovermode": "x unified",
            "shapes": [_mark(today)],
            "annotations": [
                {"x": today, "y": 1, "yref": "paper", "yanchor": "bottom", "text": "today", "showarrow": False}
            ],
        },
        ("updates a day", "P", *(f"{way}, seconds a day" for way in sweep.costs)),
        [
            (updates, share, *(sweep.costs[way][i] for way in sweep.costs))
            for i, (updates, share) in enumerate(zip(sweep.updates, sweep.shares, strict=True))
        ],
        legend=(*lines_of(sweep.costs), *([Sign("break-even", "#8A8A8A", "marker")] if turns else [])),
    )


def _mark(x: float) -> dict[str, Any]:
    line = {"color": "#8A8A8A", "width": 1.5, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _said(x: float) -> dict[str, Any]:
    return {"x": x, "y": 1, "yref": "paper", "yanchor": "bottom", "text": "today", "showarrow": False}


def _between(points: Sequence[tuple[float, float]], x: float) -> float:
    """The value at x on the straight lines between points that rise in x."""
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= x <= x1:
            return y0 + (y1 - y0) * ((x - x0) / (x1 - x0) if x1 > x0 else 0.0)
    return points[-1][1]


def _round(value: float) -> float:
    return float(f"{value:.4g}")


def surface_cells(surface: Surface, rows: int = 96, columns: int = 128) -> Cells:
    """The cheapest way of each cell, as its place in `WAYS`; costs are taken to be smooth between their points.

    Cells are even in P and in the logarithm of f.
    """
    ways = [way for way in WAYS if way in surface.costs]
    low, high = math.log(surface.parts[0]), math.log(surface.parts[-1])
    up = (np.arange(rows) + 0.5) / rows * (high - low) + low
    across = (np.arange(columns) + 0.5) / columns
    costs = np.log(np.maximum([surface.costs[way] for way in ways], 1e-9))
    costs = _between_points(costs, np.log(surface.parts), up, axis=1)
    costs = _between_points(costs, np.asarray(surface.shares), across, axis=2)
    cheapest: Cells = np.argmin(costs, axis=0)
    return np.take([WAYS.index(way) for way in ways], cheapest)


def _between_points(values: Numbers, points: Numbers, wanted: Numbers, axis: int) -> Numbers:
    """Values at other places of one axis, on straight lines between the points."""
    below = np.clip(np.searchsorted(points, wanted, side="right") - 1, 0, len(points) - 2)
    far = np.clip((wanted - points[below]) / (points[below + 1] - points[below]), 0, 1)
    far = far.reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    return np.asarray(np.take(values, below, axis) * (1 - far) + np.take(values, below + 1, axis) * far)


def of_surface(surface: Surface) -> Chart:
    """Which way wins for each f and P."""
    cells = surface_cells(surface)
    rows, columns = cells.shape
    ways = [way for way in WAYS if way in surface.costs]
    seen = {WAYS[i] for i in np.unique(cells)}
    steps = len(WAYS)
    low = math.log10(surface.parts[0])
    traces: list[Trace] = [
        {
            "type": "heatmap",
            "x0": 0.5 / columns,
            "dx": 1 / columns,
            "y0": low * (1 - 0.5 / rows),
            "dy": -low / rows,
            "z": cells.tolist(),
            "zmin": -0.5,
            "zmax": steps - 0.5,
            "colorscale": [[edge / steps, style(way).colour] for i, way in enumerate(WAYS) for edge in (i, i + 1)],
            "showscale": False,
            "hoverinfo": "skip",
        }
    ]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "name": "today",
            "x": [_round(surface.share)],
            "y": [_round(math.log10(surface.part))],
            "cliponaxis": False,
            "text": ["today"],
            "textposition": "top center" if surface.part < 0.5 else "bottom center",
            "textfont": {"color": "#FFFFFF"},
            "marker": {"symbol": "circle", "size": 12, "color": "#FFFFFF", "line": {"color": "#000000", "width": 2.5}},
            "hovertemplate": f"today: f = {surface.part:.3g}, P = {surface.share:.2f}<extra></extra>",
            "showlegend": False,
        }
    )
    powers = list(range(math.ceil(low - 0.01), 1))
    return Chart(
        "regions",
        findings.of_surface(surface, [WAYS[i] for i in cells.flat]),
        f"The cheapest way if the view held the part f of {surface.table} and the share P of all updates and reads were"
        " updates; as Figures 3 to 8 of Hanson 1987, for this view.",
        traces,
        {
            "xaxis": {"title": {"text": "P, the share of updates"}, "range": [0, 1], "tickformat": "~r"},
            "yaxis": {
                "title": {"text": f"f, the part of {shown(surface.table)} in the view"},
                "range": [low, 0],
                "tickvals": powers,
                "ticktext": [f"{10.0**power:g}" for power in powers],
            },
            "hovermode": "closest",
        },
        ("f", "P", *(f"{way}, seconds a day" for way in ways)),
        [
            (part, share, *(surface.costs[way][i][j] for way in ways))
            for i, part in enumerate(surface.parts)
            for j, share in enumerate(surface.shares)
        ],
        height=20,
        legend=tuple(Sign(way if way in seen else f"{way} (nowhere)", style(way).colour) for way in ways),
    )


def of_influences(view: View) -> Chart:
    """What the ends of each number's range make of the cost of the chosen way: a tornado."""
    most = sorted(view.influences, key=lambda each: -each.swing)
    few = [each for each in reversed(most[:12]) if each.swing > 0] or most[:1]
    centre = view.proposed.seconds
    names = [two_lines(each.name) for each in few]
    colour = style(view.proposed.way).colour
    traces: list[Trace] = []
    signs: list[Sign] = []
    for end, what, shade in ((0, "lower end", 0.45), (1, "upper end", 1.0)):
        bounds = [each.lower if end == 0 else each.upper for each in few]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": what,
                "y": names,
                "base": centre,
                "x": [_round(each.seconds[end] - centre) for each in few],
                "text": [
                    f"{each.shown(bound)}: {duration(each.seconds[end])} a day"
                    for bound, each in zip(bounds, few, strict=True)
                ],
                "textposition": "none",
                "marker": {"color": colour, "opacity": shade},
                "hovertemplate": "%{text}<extra>%{y}</extra>",
            }
        )
        signs.append(Sign(what, colour, "faint" if end == 0 else ""))
    crossings = [
        (name, each, end) for name, each in zip(names, few, strict=True) for end in (0, 1) if each.winners[end]
    ]
    if crossings:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "another way is cheaper",
                "y": [name for name, _, _ in crossings],
                "x": [_round(each.seconds[end]) for _, each, end in crossings],
                "text": [f"{each.winners[end]} is cheaper here" for _, each, end in crossings],
                "marker": {"symbol": "circle-open", "size": 10, "color": "#8A8A8A", "line": {"width": 2.5}},
                "hovertemplate": "%{text}<extra>%{y}</extra>",
            }
        )
        signs.append(Sign("another way is cheaper", "#8A8A8A", "marker"))
    ends = [second for each in few for second in each.seconds]
    return Chart(
        "sensitivity",
        findings.of_influences(view, most),
        "The cost a day of the chosen way when one number lies at an end of its range and all others stay.",
        traces,
        {
            "barmode": "overlay",
            "xaxis": _zoomed(min(ends), max(ends)),
            "yaxis": {"automargin": True},
            "hovermode": "closest",
        },
        ("number", "value", "lower", "upper", "source", "seconds a day at lower", "seconds a day at upper"),
        [(e.name, e.value, e.lower, e.upper, e.source, *e.seconds) for e in most],
        height=6 + 2 * len(few),
        legend=tuple(signs),
    )


def _zoomed(least: float, most: float) -> dict[str, Any]:
    """An axis of durations that need not begin at nothing."""
    axis = seconds_axis(most)
    span = max(most - least, most * 0.02, 1e-9)
    step = round_step(span)
    first = math.floor(least / step) * step
    ticks = [first + i * step for i in range(int(span / step) + 3)]
    return {**axis, "tickvals": ticks, "ticktext": [duration(tick) for tick in ticks], "rangemode": "normal"}
