"""The pieces that pages are made of: charts with their data, tables that sort, facts, bars and folded text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.charts import Chart, Sign
from reports.html import Content, Html, join, tag, verbatim
from reports.palette import style

_DASHES = {"solid": None, "dash": "6 4", "dot": "2 4", "dashdot": "6 3 2 3", "longdash": "10 4"}


def chip(way: str, text: str) -> Html:
    """A way to keep a view, with its colour."""
    return tag("span", tag("i", style=f"background:{style(way).colour}", aria_hidden="true"), text, class_="chip")


def figure(chart: Chart, subject: str = "") -> Html:
    """Where a chart is drawn when its page is opened; its data is there in any case."""
    return tag(
        "figure",
        tag("figcaption", tag("h3", chart.title), tag("p", subject, class_="note") if subject else None),
        tag("p", [tag("span", _sign(entry), entry.name) for entry in chart.legend], class_="legend")
        if chart.legend
        else None,
        tag("div", class_="plot", role="img", aria_label=chart.title, style=f"height:{chart.height}rem"),
        tag("p", chart.note, class_="note"),
        tag("div", class_="data"),
        class_="chart",
        data_chart=chart.name,
    )


def _sign(sign: Sign) -> Html:
    """How an entry of a legend looks in the chart."""
    if sign.kind in _DASHES:
        line = tag("line", x1="0", y1="5", x2="26", y2="5", stroke=sign.colour, stroke_width="2.5",
                   stroke_dasharray=_DASHES[sign.kind])  # fmt: skip
        return tag("svg", line, width="26", height="10", aria_hidden="true")
    if sign.kind == "marker":
        circle = tag("circle", cx="6", cy="6", r="4.5", fill="none", stroke=sign.colour, stroke_width="2")
        return tag("svg", circle, width="12", height="12", aria_hidden="true")
    pattern = {"/": " lines", "x": " crossed", ".": " dots", "faint": " faint"}.get(sign.kind, "")
    return tag("i", style=f"background-color:{sign.colour}", class_=f"sign{pattern}", aria_hidden="true")


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it shows, and what it is sorted by and saved as."""

    content: Content
    value: str | float | None = None


def table(
    name: str, headings: Sequence[str], rows: Iterable[Iterable[Cell | str]], numeric: Sequence[int] = ()
) -> Html:
    """A table that sorts by each column and can be saved."""
    head = [
        tag("th", tag("button", heading, type="button"), scope="col", class_="number" if i in numeric else None)
        for i, heading in enumerate(headings)
    ]
    body = []
    for row in rows:
        cells = []
        for i, given in enumerate(row):
            cell = given if isinstance(given, Cell) else Cell(given)
            cells.append(
                tag(
                    "th" if i == 0 else "td",
                    cell.content,
                    scope="row" if i == 0 else None,
                    class_="number" if i in numeric else None,
                    data_value=cell.value,
                )
            )
        body.append(tag("tr", cells))
    return tag(
        "div",
        tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="sortable", data_name=name),
        tag("div", class_="data"),
        class_="table",
    )


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    """A few numbers with their names."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs], class_="facts")


def bar(seconds: float, most: float, way: str | None) -> Html:
    """A bar as long as its share of the longest one."""
    width = f"{max(seconds / most, 0.0) * 100:.2f}%" if most > 0 else "0"
    colour = f";background:{style(way).colour}" if way is not None else ""
    return tag("span", class_="bar", style=f"width:{width}{colour}", aria_hidden="true")


def folded(title: str, *content: Content, opened: bool = False) -> Html:
    """What is there for those who want to know."""
    return tag("details", tag("summary", title), content, open=opened)


def code(text: str) -> Html:
    """Text as it was written."""
    return tag("pre", tag("code", verbatim(text)), tabindex="0")


def later(name: str) -> Html:
    """Where a text of the page's data is put when the page is opened; it is long, and few read it."""
    return tag("pre", tag("code", data_text=name), tabindex="0")


def section(*content: Content, title: str | None = None) -> Html:
    return tag("section", tag("h3", title) if title else None, join(content))
