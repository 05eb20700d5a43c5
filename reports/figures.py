"""Draws figures with plotly, from data that says what its axes are, and puts them on one page that needs no network.

The data comes from anywhere that has the attributes of `Lines` or `Regions`; `costmodels.figures` is such a place.
"""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import nan
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from reports.palette import DARK_PAGE, LIGHT_PAGE, ink, style

# plotly is loaded when a picture is made, not for the data.
if TYPE_CHECKING:
    import plotly.graph_objects as go

# What a letter of a label takes of the axis on a narrow screen, and the distance it keeps from the ends of the other.
_LETTER_WIDTH = 0.03
_LABEL_MARGIN = 0.05


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


def draw(figure: Lines | Regions) -> go.Figure:
    """A figure on a transparent ground; the page colours its text and axes."""
    drawn = _draw_lines(figure) if isinstance(figure, Lines) else _draw_regions(figure)
    drawn.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13},
        margin={"l": 44, "r": 22, "t": 8, "b": 48},
        legend={"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        hoverlabel={"bgcolor": "#FFFFFF", "bordercolor": "#555555", "font": {"color": "#000000"}},
        dragmode=False,
    )
    drawn.update_xaxes(zeroline=False, fixedrange=True, ticks="outside", title_standoff=8)
    drawn.update_yaxes(zeroline=False, fixedrange=True, ticks="outside", title_standoff=8, automargin=True)
    return drawn


def _draw_lines(figure: Lines) -> go.Figure:
    import plotly.graph_objects as go

    drawn = go.Figure()
    form = ",.0f" if figure.y_log else ".4f"
    symbol = figure.columns[0]
    for position, (name, values) in enumerate(figure.series.items()):
        look = style(name, position)
        drawn.add_scatter(
            x=figure.x,
            y=values,
            name=name,
            mode="lines",
            line={"color": look.colour, "dash": look.dash, "width": 2.5},
            hovertemplate=f"%{{y:{form}}}",
        )
    if figure.crossings:
        drawn.add_scatter(
            x=[crossing.x for crossing in figure.crossings],
            y=[crossing.y for crossing in figure.crossings],
            text=[f"{' and '.join(each.between)} at {symbol} = {each.x:,.4g}" for each in figure.crossings],
            name="equal cost",
            mode="markers",
            marker={"symbol": "circle-open", "size": 10, "color": "#8A8A8A", "line": {"width": 2}},
            hovertemplate="%{text}",
        )
    drawn.update_layout(hovermode="x unified")
    drawn.update_xaxes(title=figure.x_title, unifiedhovertitle_text=f"{symbol} = %{{x}}", **_scale(figure.x_log, 1))
    if not figure.x_log:
        drawn.update_xaxes(range=[0, 1])
    drawn.update_yaxes(title=figure.y_label, **_scale(figure.y_log, "D2"))
    return drawn


def _scale(logarithmic: bool, step: object) -> dict[str, object]:
    return {"type": "log", "dtick": step, "tickformat": "~s"} if logarithmic else {"tickformat": "~r"}


def _draw_regions(figure: Regions) -> go.Figure:
    import plotly.graph_objects as go

    drawn = go.Figure()
    height = 1 / len(figure.f_values)
    nowhere = [nan]  # becomes null: the method stays in the legend, which says that it wins nowhere
    for method in figure.methods:
        colour = style(method).colour
        bars = [(f, start, end) for f, start, end, winner in figure.rows() if winner == method]
        drawn.add_bar(
            orientation="h",
            name=method if bars else f"{method} (nowhere)",
            y=[f for f, _, _ in bars] or nowhere,
            base=[start for _, start, _ in bars] or nowhere,
            x=[end - start for _, start, end in bars] or nowhere,
            customdata=[[start, end] for _, start, end in bars],
            width=height,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="f = %{y:.3f}: P from %{customdata[0]:.2f} to %{customdata[1]:.2f}",
        )
        label = _label(method, bars)
        if label is not None:
            drawn.add_scatter(
                x=[label[1]],
                y=[label[0]],
                text=[f"<b>{method}</b>"],
                mode="text",
                textfont={"color": ink(colour), "size": 13},
                hoverinfo="skip",
                showlegend=False,
            )
    drawn.update_layout(barmode="overlay", bargap=0, hovermode="closest")
    drawn.update_xaxes(title="P, the share of updates", range=[0, 1], tickformat="~r")
    drawn.update_yaxes(title="f, the share in the view", range=[0, 1], tickformat="~r")
    return drawn


def _label(method: str, bars: Sequence[tuple[float, float, float]]) -> tuple[float, float] | None:
    """f and P at which a region is wide enough for its label, in the middle of where it is widest."""
    inside = [bar for bar in bars if _LABEL_MARGIN <= bar[0] <= 1 - _LABEL_MARGIN]
    widest = max((end - start for _, start, end in inside), default=0)
    if widest < len(method) * _LETTER_WIDTH:
        return None
    wide = [bar for bar in inside if bar[2] - bar[1] >= 0.95 * widest]
    f, start, end = wide[len(wide) // 2]
    return f, (start + end) / 2


def table_csv(figure: Figure) -> str:
    """The data of a figure as CSV with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(figure.columns)
    writer.writerows(tuple(_short(cell) for cell in row) for row in figure.rows())
    return out.getvalue()


def _short(cell: float | str) -> float | str:
    """Twelve digits: the rest is the noise of adding."""
    return cell if isinstance(cell, str) else f"{cell:.12g}"


def page(figures: Sequence[Lines | Regions]) -> str:
    """One HTML file with all figures: plotly.js inside, nothing loaded from anywhere, each figure's data as CSV."""
    from plotly.offline import get_plotlyjs

    numbers = [figure.number for figure in figures]
    which = f"Figure {numbers[0]}" if len(numbers) == 1 else f"Figures {numbers[0]} to {numbers[-1]}"
    links = "".join(f'<li><a href="#figure-{f.number}">{f.number}: {_prose(f.title)}</a></li>' for f in figures)
    return _PAGE.format(
        title=escape(f"Hanson 1987, {which}"),
        style=_STYLE,
        contents=f"<nav><ul>{links}</ul></nav>" if len(numbers) > 1 else "",
        sections="\n".join(_section(figure) for figure in figures),
        plotly=get_plotlyjs(),
        calls="\n".join(_call(figure) for figure in figures),
    )


def _prose(text: str) -> str:
    """Text whose equations and percentages are not torn apart at the end of a line."""
    return escape(text).replace(" = ", "&nbsp;=&nbsp;").replace(" %", "&nbsp;%")


def _section(figure: Lines | Regions) -> str:
    data = b64encode(table_csv(figure).encode()).decode()
    return f"""<section id="figure-{figure.number}">
<p class="kicker">Figure {figure.number}</p>
<h2>{_prose(figure.title)}</h2>
<p class="subject">{_prose(figure.subject)}</p>
<div class="plot" id="plot-{figure.number}" role="img" aria-label="{escape(figure.title)}"></div>
<p class="note">{_prose(figure.note)}</p>
<p><a download="figure-{figure.number}.csv" href="data:text/csv;charset=utf-8;base64,{data}">Data as CSV</a></p>
</section>"""


def _call(figure: Lines | Regions) -> str:
    # to_json escapes "<", which inside a script element could end it.
    return f'draw("plot-{figure.number}", {draw(figure).to_json()});'


_STYLE = f"""
:root {{
  color-scheme: light dark;
  --page: {LIGHT_PAGE}; --ink: #1B1F23; --soft: #57606A; --grid: #DDE1E5; --link: #0B5FA5
}}
@media (prefers-color-scheme: dark) {{
  :root {{ --page: {DARK_PAGE}; --ink: #E6E8EA; --soft: #A3ABB3; --grid: #343A40; --link: #7CBCF0 }}
}}
* {{ box-sizing: border-box }}
body {{ margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }}
main {{ max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }}
h1 {{ font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem }}
h2 {{ font-size: 1.2rem; line-height: 1.3; margin: 0 }}
p {{ margin: .4rem 0 }}
a {{ color: var(--link) }}
nav ul {{ list-style: none; padding: 0; margin: 1rem 0 }}
nav li {{ margin: .3rem 0 }}
section {{ border-top: 1px solid var(--grid); margin-top: 2rem; padding-top: 1.25rem }}
.kicker {{ color: var(--soft); font-weight: 600; margin: 0 }}
.subject, .note, .intro {{ color: var(--soft) }}
.plot {{ height: 27rem; margin: .75rem 0 }}
@media (max-width: 40rem) {{ .plot {{ height: 21rem }} }}
.plot .xtick text, .plot .ytick text, .plot .xtitle, .plot .ytitle, .plot .legendtext {{ fill: var(--ink) !important }}
.plot .hoverlayer .legendtext {{ fill: #000000 !important }}
.plot .gridlayer path {{ stroke: var(--grid) !important }}
.plot path.xtick, .plot path.ytick, .plot .zerolinelayer path {{ stroke: var(--soft) !important }}
"""

# The policy makes the browser refuse whatever a script would want to load.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="intro">What it costs to keep a view, recomputed from the formulas of E. N. Hanson, <cite>A Performance
Analysis of View Materialization Strategies</cite>, SIGMOD 1987. Milliseconds are those of a disk of that year; compare
them, do not expect them. The ranges and scales of the axes are chosen here, and each note says where the formulas
and the paper disagree.</p>
<noscript><p>The pictures need JavaScript; the texts and the data do not.</p></noscript>
{contents}
{sections}
</main>
<script>{plotly}</script>
<script>
function draw(id, figure) {{
  Plotly.newPlot(id, figure.data, figure.layout, {{responsive: true, displayModeBar: false}});
}}
{calls}
</script>
</body>
</html>
"""
