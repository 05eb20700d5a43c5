"""The charts of what was measured: predictions and their errors, coefficients, costs and staleness, over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any, NamedTuple

from profiles.words import duration, percent
from reports.charts import Chart, Sign, Trace, log_seconds_axis, seconds_axis, shown
from reports.palette import WAYS, style
from reports.results import Measured, Report

_OTHER = "updates and statistics"
_MOST_POINTS = 2000


class Prediction(NamedTuple):
    """Something that was measured and predicted, in seconds, and the factor by which that was off, whichever way."""

    run: Measured
    expected: float
    error: float


def predictions(report: Report) -> list[Prediction]:
    """What was predicted of what was measured."""
    return [
        Prediction(run, run.predicted, max(run.predicted / run.seconds, run.seconds / run.predicted))
        for run in report.measurements
        if run.predicted and run.seconds and not run.error
    ]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def minute(at: float) -> str:
    """A time as people read it, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def track_charts(report: Report) -> list[Chart]:
    """Predicted against measured, the error over time, the coefficients over time."""
    found = predictions(report)
    charts = [_scatter(found), _errors(found)] if found else []
    return charts + ([_coefficients(report)] if len(report.coefficients) > 1 else [])


def _scatter(found: list[Prediction]) -> Chart:
    points = found[-_MOST_POINTS:]
    seconds = [value for each in points for value in (each.run.seconds, each.expected)]
    low, high = min(seconds) / 1.5, max(seconds) * 1.5
    traces: list[Trace] = [
        {"type": "scatter", "mode": "lines", "name": "as predicted", "x": [low, high], "y": [low, high],
         "line": {"color": "#8A8A8A", "width": 1.5, "dash": "dot"}, "hoverinfo": "skip"}
    ]  # fmt: skip
    symbols = {"refresh": "circle", "query": "diamond", "update": "triangle-up"}
    for way in (*WAYS, ""):
        mine = [each for each in points if each.run.way == way]
        if mine:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": way or _OTHER,
                    "x": [each.expected for each in mine],
                    "y": [each.run.seconds for each in mine],
                    "text": [f"{each.run.kind} of {shown(each.run.subject)}" for each in mine],
                    "marker": {"color": style(way).colour, "size": 8, "opacity": 0.75,
                               "symbol": [symbols.get(each.run.kind, "square") for each in mine]},
                    "hovertemplate": "%{text}<br>predicted %{x:.3g} s, took %{y:.3g} s<extra></extra>",
                }
            )  # fmt: skip
    over = sum(each.expected > each.run.seconds for each in found) / len(found)
    lean = "high" if over > 0.5 else "low"
    return Chart(
        "predicted",
        f"{percent(max(over, 1 - over))} of the predictions are too {lean}",
        "Each point is one refresh (circle), read (diamond) or update (triangle); on the dotted line it took what was"
        " predicted.",
        traces,
        {
            "xaxis": log_seconds_axis(low, high, "predicted"),
            "yaxis": log_seconds_axis(low, high, "measured"),
            "hovermode": "closest",
        },
        ("when", "name", "what", "by", "predicted seconds", "measured seconds", "factor"),
        [
            (minute(run.at), run.subject, run.kind, run.ran, expected, run.seconds, error)
            for run, expected, error in points
        ],
        legend=tuple(Sign(each["name"], each["marker"]["color"]) for each in traces[1:]),
    )


def _errors(found: list[Prediction]) -> Chart:
    days: dict[str, list[float]] = defaultdict(list)
    for each in found:
        days[_day(each.run.at)].append(each.error)
    middle = {day: median(errors) for day, errors in sorted(days.items())}
    high = {day: sorted(days[day])[int(0.9 * (len(days[day]) - 1))] for day in middle}
    values = list(middle.values())
    title = f"On {next(iter(middle))}, half of the predictions were within a factor of {values[0]:.2f}"
    if len(values) > 1:
        verb = "fell" if values[-1] < values[0] else "rose"
        title = f"The median error {verb} from a factor of {values[0]:.2f} to {values[-1]:.2f}"
    lines: list[Trace] = [
        {"type": "scatter", "mode": "lines+markers", "name": name,
         "x": list(line), "y": [round(v, 4) for v in line.values()],
         "line": {"color": "#8A8A8A", "width": 2.5, "dash": dash}, "hovertemplate": "%{y:.2f}"}
        for name, line, dash in (("half within", middle, "solid"), ("90 % within", high, "dot"))
    ]  # fmt: skip
    return Chart(
        "errors",
        title,
        "The factor between predicted and measured seconds, whichever is larger, by day.",
        lines,
        {
            "xaxis": {"type": "date", **_days(list(middle))},
            "yaxis": {"title": {"text": "off by a factor of"}, "rangemode": "tozero"},
            "hovermode": "x unified",
        },
        ("day", "half within", "90 % within", "predictions"),
        [(day, middle[day], high[day], len(days[day])) for day in middle],
        legend=(Sign("half within", "#8A8A8A", "solid"), Sign("90 % within", "#8A8A8A", "dot")),
    )


def _days(days: list[str]) -> dict[str, Any]:
    """An axis of dates; few of them are named one by one, because plotly would name hours between them."""
    return {"tickvals": days, "tickformat": "%d %b"} if len(days) <= 4 else {"tickformat": "%d %b", "nticks": 5}


def _coefficients(report: Report) -> Chart:
    first, last = report.coefficients[0].seconds, report.coefficients[-1].seconds
    change = {n: last[n] / first[n] for n in last if first.get(n, 0) > 0 and last[n] > 0}
    moved = max(change, key=lambda n: max(change[n], 1 / change[n]), default=None)
    title = (
        "No coefficient has changed" if moved is None else f"{moved} changed most, by a factor of {change[moved]:.2f}"
    )
    whens = [each.when for each in report.coefficients]
    lines: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name.replace("_", " "),
            "x": whens,
            "y": [round(each.seconds.get(name, 0.0) / first[name], 4) for each in report.coefficients],
            "line": {"width": 2, "color": "#8A8A8A", "dash": ("solid", "dot", "dash", "longdash", "dashdot")[i % 5]},
            "hovertemplate": "×%{y:.2f}",
        }
        for i, name in enumerate(sorted(change, key=lambda n: -max(change[n], 1 / change[n]))[:5])
    ]
    return Chart(
        "coefficients",
        title,
        "Each coefficient as a factor of what it was first; the five that have changed most.",
        lines,
        {"xaxis": {"type": "category"}, "yaxis": {"title": {"text": "factor"}}, "hovermode": "x unified"},
        ("when", *first),
        [(each.when, *(each.seconds.get(name) for name in first)) for each in report.coefficients],
        legend=tuple(Sign(each["name"], "#8A8A8A", each["line"]["dash"]) for each in lines),
    )


def runs_charts(report: Report) -> list[Chart]:
    """Measured cost per day, and how stale reads were; rehearsals tell neither."""
    runs = [each for each in report.measurements if not each.rehearsed]
    stale = [each for each in runs if each.stale_seconds is not None]
    return ([_cost(runs)] if runs else []) + ([_staleness(stale)] if stale else [])


def _cost(runs: Sequence[Measured]) -> Chart:
    days = sorted({_day(each.at) for each in runs})
    costs: dict[str, dict[str, float]] = {way: dict.fromkeys(days, 0.0) for way in (*WAYS, _OTHER)}
    for each in runs:
        costs[each.way if each.way in WAYS else _OTHER][_day(each.at)] += each.seconds
    totals = {day: sum(cost[day] for cost in costs.values()) for day in days}
    most = max(totals, key=lambda day: totals[day])
    bars: list[Trace] = [
        {
            "type": "bar",
            "name": way,
            "x": days,
            "y": list(line.values()),
            "text": [duration(value) for value in line.values()],
            "textposition": "none",
            "marker": {"color": style(way).colour if way in WAYS else "#8A8A8A"},
            "hovertemplate": "%{text}",
        }
        for way, line in costs.items()
        if any(line.values())
    ]
    title = f"{duration(totals[most])} were measured on {most}"
    if len(days) > 1:
        title = f"The dearest day was {most} with {duration(totals[most])}, the last took {duration(totals[days[-1]])}"
    return Chart(
        "cost",
        title,
        "Measured seconds by day and by how the view was kept.",
        bars,
        {
            "barmode": "stack",
            "xaxis": {"type": "date", **_days(days)},
            "yaxis": seconds_axis(totals[most], "measured"),
            "hovermode": "x unified",
        },
        ("day", *(way for way in costs)),
        [(day, *(line[day] for line in costs.values())) for day in days],
        legend=tuple(Sign(each["name"], each["marker"]["color"]) for each in bars),
    )


def _staleness(stale: list[Measured]) -> Chart:
    values = {each.subject: 0.0 for each in stale}
    for each in stale:
        values[each.subject] = max(values[each.subject], each.stale_seconds or 0.0)
    most = max(values, key=lambda name: values[name])
    title = "No read ever lacked a change"
    if values[most] > 0:
        title = f"{most} was the stalest, up to {duration(values[most])} behind"
    points: list[Trace] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": way,
            "x": [datetime.fromtimestamp(each.at, UTC).isoformat() for each in stale if each.way == way],
            "y": [each.stale_seconds for each in stale if each.way == way],
            "text": [f"{shown(e.subject)}: {duration(e.stale_seconds or 0.0)} behind" for e in stale if e.way == way],
            "marker": {"color": style(way).colour, "size": 8, "opacity": 0.75},
            "hovertemplate": "%{text}<extra></extra>",
        }
        for way in WAYS
        if any(each.way == way for each in stale)
    ]
    return Chart(
        "staleness",
        title,
        "How old the newest change was that a read did not see.",
        points,
        {
            "xaxis": {"type": "date", "tickformat": "%d %b", "nticks": 5},
            "yaxis": seconds_axis(max(values[most], 1.0), "behind"),
            "hovermode": "closest",
        },
        ("when", "name", "seconds behind"),
        [(minute(each.at), each.subject, each.stale_seconds) for each in stale],
        legend=tuple(Sign(each["name"], each["marker"]["color"]) for each in points),
    )
