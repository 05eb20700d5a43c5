"""A cost report as one HTML file: nothing is loaded from anywhere, and charts are drawn when they are opened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files

from reports import history, history_charts, lineage, overview, view_page
from reports.charts import Chart
from reports.html import Content, Html, packed, script, tag
from reports.palette import DARK_PAGE, LIGHT_PAGE, style
from reports.results import Report

# The policy makes the browser refuse whatever a script would want to load.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
NO_SCRIPT = "The charts and the delta rules need JavaScript; the other texts and the tables do not."
SECTIONS = (("overview", "Overview"), ("lineage", "Lineage"), ("track", "Track record"), ("runs", "Runs and plans"))
_FEW_VIEWS = 10
"""More views than this can be searched."""


def render(report: Report) -> str:
    """The whole report."""
    link = {view.name: f"view-{i}" for i, view in enumerate(report.views, 1)}
    pages = [
        overview.page(report, link),
        lineage.page(report, link),
        history.track_page(report),
        history.runs_page(report),
    ]
    data = {
        "track": page_data(history_charts.track_charts(report)),
        "runs": page_data(history_charts.runs_charts(report)),
    }
    for view in report.views:
        drawn = list(view_page.charts_of(view))
        data[link[view.name]] = page_data(drawn, {"delta": view.delta})
        pages.append(view_page.page(link[view.name], view, drawn, report.price, link))
    return document(f"{report.workload} · cost report", _navigation(report, link), pages, data)


def _navigation(report: Report, link: dict[str, str]) -> Content:
    """The pages, and the views with the colour of the way that is proposed."""
    views = []
    for view in sorted(report.views, key=lambda view: (-view.saving, view.name)):
        dot = tag("i", style=f"background:{style(view.proposed.way).colour}", aria_hidden="true")
        views.append(tag("li", tag("a", dot, view.name, href=f"#{link[view.name]}")))
    find = tag("input", type="search", placeholder="Find a view", aria_label="Find a view", id="find")
    return [
        tag("p", report.workload, class_="brand"),
        tag("ul", [tag("li", tag("a", name, href=f"#{page}")) for page, name in SECTIONS]),
        tag(
            "div",
            tag("p", "Views, biggest saving first", class_="label"),
            find if len(views) > _FEW_VIEWS else None,
            tag("ul", views, id="views"),
            class_="views",
        ),
    ]


def page_data(charts: Iterable[Chart], texts: Mapping[str, str] | None = None) -> str:
    """What the script fills a page with when it is opened."""
    drawn = {chart.name: chart.as_json() for chart in charts}
    return json.dumps({"charts": drawn, "texts": texts or {}}, ensure_ascii=False, allow_nan=False)


def document(title: str, navigation: Content, pages: Iterable[Html], data: Mapping[str, str]) -> str:
    """One file with a navigation, pages of which one is shown at a time, and the data of their charts."""
    from plotly.offline import get_plotlyjs

    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("title", title),
        Html(f"<style>{resource('report.css')}</style>"),
        script("document.documentElement.classList.add('js')"),
    )
    theme = tag("button", "Light or dark", type="button", id="theme")
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("nav", navigation, aria_label="Pages"), theme),
        tag("main", tag("noscript", tag("p", NO_SCRIPT)), pages, id="content"),
        [packed(f"data-{page}", text) for page, text in data.items()],
        packed("plotly", get_plotlyjs()),  # the script starts it when the first chart is shown
        script(resource("report.js")),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def resource(name: str) -> str:
    """A file of this package, with the colours of the pages filled in."""
    text = files("reports").joinpath(name).read_text(encoding="utf-8")
    return text.replace("LIGHT_PAGE", LIGHT_PAGE).replace("DARK_PAGE", DARK_PAGE)
