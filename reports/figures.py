"""Draws figures from data that says what its axes are, and puts them on one page in the design of the reports.

The data comes from anywhere that has the attributes of `Lines` or `Regions`; `costmodels.figures` is such a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from reports.charts import Chart, Sign, Trace, shown
from reports.html import Html, tag
from reports.page import document, page_data
from reports.palette import ink, style
from reports.parts import figure as chart_figure

# What a letter of a label takes of the axis on a narrow screen, and the distance it keeps from the ends of the other.
_LETTER_WIDTH = 0.03
_LABEL_MARGIN = 0.05
_HEIGHT = 25


class Figure(Protocol):
    """A finding, what it was computed for, what to know about it, and its data as a table."""

    @property
    def number(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    def rows(self) -> Iterator[tuple[float | str, ...]]: ...


class Crossing(Protocol):
    """A point where two series meet."""

    @property
    def x(self) -> float: ...
    @property
    def y(self) -> float: ...
    @property
    def between(self) -> tuple[str, str]: ...


@runtime_checkable
class Lines(Figure, Protocol):
    """Series over one axis."""

    @property
    def x_title(self) -> str: ...
    @property
    def y_label(self) -> str: ...
    @property
    def x(self) -> tuple[float, ...]: ...
    @property
    def series(self) -> Mapping[str, tuple[float, ...]]: ...
    @property
    def crossings(self) -> Sequence[Crossing]: ...
    @property
    def x_log(self) -> bool: ...
    @property
    def y_log(self) -> bool: ...


class Regions(Figure, Protocol):
    """The cheapest method for each f and P; `rows` gives f, and from which P to which P it is which method."""

    @property
    def f_values(self) -> tuple[float, ...]: ...
    @property
    def methods(self) -> tuple[str, ...]: ...
    def rows(self) -> Iterator[tuple[float, float, float, str]]: ...


def draw(figure: Lines | Regions) -> Chart:
    """A figure as a chart of its page."""
    return _draw_lines(figure) if isinstance(figure, Lines) else _draw_regions(figure)


def _chart(figure: Figure, traces: list[Trace], layout: dict[str, Any], legend: Sequence[Sign]) -> Chart:
    rows: list[tuple[str | float | None, ...]] = list(figure.rows())
    return Chart(
        f"figure-{figure.number}",
        figure.title,
        figure.note,
        traces,
        layout,
        figure.columns,
        rows,
        _HEIGHT,
        tuple(legend),
    )


def _draw_lines(figure: Lines) -> Chart:
    form = ",.0f" if figure.y_log else ".4f"
    symbol = figure.columns[0]
    looks = {name: style(name, position) for position, name in enumerate(figure.series)}
    traces: list[Trace] = [
        {
            "type": "scatter",
            "x": list(figure.x),
            "y": list(values),
            "name": shown(name),
            "mode": "lines",
            "line": {"color": looks[name].colour, "dash": looks[name].dash, "width": 2.5},
            "hovertemplate": f"%{{y:{form}}}",
        }
        for name, values in figure.series.items()
    ]
    legend = [Sign(name, look.colour, look.dash) for name, look in looks.items()]
    if figure.crossings:
        legend.append(Sign("equal cost", "#8A8A8A", "marker"))
        traces.append(
            {
                "type": "scatter",
                "x": [crossing.x for crossing in figure.crossings],
                "y": [crossing.y for crossing in figure.crossings],
                "text": [f"{' and '.join(c.between)} at {symbol} = {c.x:,.4g}" for c in figure.crossings],
                "name": "equal cost",
                "mode": "markers",
                "marker": {"symbol": "circle-open", "size": 10, "color": "#8A8A8A", "line": {"width": 2}},
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    x = {"title": {"text": shown(figure.x_title)}, **_scale(figure.x_log, 1)}
    y = {"title": {"text": shown(figure.y_label)}, **_scale(figure.y_log, "D2")}
    if not figure.x_log:
        x["range"] = [0, 1]
    return _chart(figure, traces, {"hovermode": "x unified", "xaxis": x, "yaxis": y}, legend)


def _scale(logarithmic: bool, step: object) -> dict[str, Any]:
    return {"type": "log", "dtick": step, "tickformat": "~s"} if logarithmic else {"tickformat": "~r"}


def _draw_regions(figure: Regions) -> Chart:
    height = 1 / len(figure.f_values)
    traces: list[Trace] = []
    legend = []
    for method in figure.methods:
        colour = style(method).colour
        bars = [(f, start, end) for f, start, end, winner in figure.rows() if winner == method]
        legend.append(Sign(method if bars else f"{method} (nowhere)", colour))
        if not bars:
            continue
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": shown(method),
                "y": [f for f, _, _ in bars],
                "base": [start for _, start, _ in bars],
                "x": [end - start for _, start, end in bars],
                "customdata": [[start, end] for _, start, end in bars],
                "width": height,
                "marker": {"color": colour, "line": {"width": 0}},
                "hovertemplate": "f = %{y:.3f}: P from %{customdata[0]:.2f} to %{customdata[1]:.2f}",
            }
        )
        label = _label(method, bars)
        if label is not None:
            traces.append(
                {
                    "type": "scatter",
                    "x": [label[1]],
                    "y": [label[0]],
                    "text": [f"<b>{shown(method)}</b>"],
                    "mode": "text",
                    "textfont": {"color": ink(colour), "size": 13},
                    "hoverinfo": "skip",
                }
            )
    layout = {
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": "closest",
        "xaxis": {"title": {"text": "P, the share of updates"}, "range": [0, 1], "tickformat": "~r"},
        "yaxis": {"title": {"text": "f, the share in the view"}, "range": [0, 1], "tickformat": "~r"},
    }
    return _chart(figure, traces, layout, legend)


def _label(method: str, bars: Sequence[tuple[float, float, float]]) -> tuple[float, float] | None:
    """f and P at which a region is wide enough for its label, in the middle of where it is widest."""
    inside = [bar for bar in bars if _LABEL_MARGIN <= bar[0] <= 1 - _LABEL_MARGIN]
    widest = max((end - start for _, start, end in inside), default=0)
    if widest < len(method) * _LETTER_WIDTH:
        return None
    wide = [bar for bar in inside if bar[2] - bar[1] >= 0.95 * widest]
    f, start, end = wide[len(wide) // 2]
    return f, (start + end) / 2


INTRODUCTION = (
    "What it costs to keep a view, recomputed from the formulas of E. N. Hanson, A Performance Analysis of View"
    " Materialization Strategies, SIGMOD 1987. Milliseconds are those of a disk of that year; compare them, do not"
    " expect them. The ranges and scales of the axes are chosen here, and each note says where the formulas and the"
    " paper disagree."
)


def page(figures: Sequence[Lines | Regions]) -> str:
    """One HTML file with all figures: nothing loaded from anywhere, each figure's data as CSV and JSON."""
    numbers = [figure.number for figure in figures]
    which = f"Figure {numbers[0]}" if len(numbers) == 1 else f"Figures {numbers[0]} to {numbers[-1]}"
    charts = {figure.number: draw(figure) for figure in figures}
    links = [
        tag("li", tag("a", f"{each.number}: {each.title}", href=f"#figure-{each.number}", title=each.title))
        for each in figures
    ]
    content = tag(
        "section",
        tag("h2", f"Hanson 1987, {which}"),
        tag("p", INTRODUCTION, class_="lead"),
        [_section(figure, charts[figure.number]) for figure in figures],
        class_="page figures",
        id="figures",
        data_title=which,
    )
    navigation = [tag("p", "Hanson 1987", class_="brand"), tag("ul", links)]
    return document(f"Hanson 1987, {which}", navigation, [content], {"figures": page_data(charts.values())})


def _section(figure: Figure, chart: Chart) -> Html:
    return tag(
        "section",
        tag("p", f"Figure {figure.number}", class_="kicker"),
        chart_figure(chart, figure.subject),
        id=f"figure-{figure.number}",
    )
