"""The page of pictures: what stands in its HTML, and what each picture is made of."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest
from plotly.offline import get_plotlyjs

from costmodels.figures import FIGURES, Lines, Regions, figure
from reports.figures import draw, page, table_csv

LINES = [number for number in FIGURES if isinstance(figure(number), Lines)]
REGIONS = [number for number in FIGURES if isinstance(figure(number), Regions)]


@dataclass
class Page(HTMLParser):
    """The elements of a page with their attributes, and the text inside each kind of element."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "elements are nested"

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data

    def attributes(self, name: str) -> list[str]:
        return [str(attributes[name]) for _, attributes in self.elements if name in attributes]


@cache
def all_figures() -> str:
    return page([figure(number) for number in FIGURES])


@cache
def parsed() -> Page:
    found = Page()
    found.feed(all_figures())
    found.close()
    return found


def pictures(html: str) -> dict[str, Any]:
    """The data and layout that each call hands to plotly.js, by the id of its element."""
    calls = re.findall(r'^draw\("([^"]+)", (.*)\);$', html, re.MULTILINE)
    return {name: json.loads(text) for name, text in calls}


def own_text() -> str:
    """The page without plotly.js, which names addresses that it loads only for maps."""
    html = all_figures()
    assert html.count(get_plotlyjs()) == 1
    return html.replace(get_plotlyjs(), "")


def test_every_figure_has_a_section_with_its_finding_its_picture_and_its_data() -> None:
    found = parsed()
    assert found.texts["h2"] == [
        figure(number).title.replace(" = ", "\xa0=\xa0").replace(" %", "\xa0%") for number in FIGURES
    ]
    assert [each for each in found.attributes("id") if each.startswith("figure-")] == [f"figure-{n}" for n in FIGURES]
    assert [each for each in found.attributes("id") if each.startswith("plot-")] == [f"plot-{n}" for n in FIGURES]
    assert found.attributes("aria-label") == [figure(number).title for number in FIGURES]
    assert found.open == []


def test_every_picture_gets_valid_json_with_traces_and_a_layout() -> None:
    found = pictures(all_figures())
    assert list(found) == [f"plot-{number}" for number in FIGURES]
    for drawn in found.values():
        assert drawn["data"]
        assert {"xaxis", "yaxis"} <= set(drawn["layout"])
    for strict in re.findall(r'^draw\("[^"]+", (.*)\);$', all_figures(), re.MULTILINE):
        json.loads(strict, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_nothing_is_loaded_from_anywhere() -> None:
    found = parsed()
    assert found.attributes("src") == []
    assert not {tag for tag, _ in found.elements} & {"link", "iframe", "img", "object", "embed", "base"}
    assert all(address.startswith(("#", "data:text/csv")) for address in found.attributes("href"))
    assert not re.search(r"https?://|//\w|@import|url\(", re.sub(r"base64,[\w+/=]+", "", own_text()))


def test_the_browser_is_told_to_refuse_what_a_script_would_load() -> None:
    (policy,) = [a["content"] for tag, a in parsed().elements if tag == "meta" and "http-equiv" in a]
    assert "default-src 'none'" in str(policy)
    assert "connect-src" not in str(policy)


def test_the_links_of_the_contents_lead_to_the_sections() -> None:
    targets = [address[1:] for address in parsed().attributes("href") if address.startswith("#")]
    assert targets == [f"figure-{number}" for number in FIGURES]
    assert set(targets) <= set(parsed().attributes("id"))


def test_the_page_is_ready_for_narrow_screens_and_dark_rooms() -> None:
    (viewport,) = [a["content"] for tag, a in parsed().elements if a.get("name") == "viewport"]
    assert viewport == "width=device-width, initial-scale=1"
    (css,) = parsed().texts["style"]
    assert "prefers-color-scheme: dark" in css
    # A fixed width wider than a phone would bring a horizontal scrollbar.
    assert not re.search(r"(?<!max-)width:\s*\d", css)
    for drawn in pictures(all_figures()).values():
        assert "width" not in drawn["layout"]
        assert drawn["layout"]["paper_bgcolor"] == drawn["layout"]["plot_bgcolor"] == "rgba(0,0,0,0)"


def test_the_download_beside_a_picture_is_its_data() -> None:
    links = [a for tag, a in parsed().elements if tag == "a" and "download" in a]
    assert [a["download"] for a in links] == [f"figure-{number}.csv" for number in FIGURES]
    for number, attributes in zip(FIGURES, links, strict=True):
        data = b64decode(str(attributes["href"]).partition("base64,")[2]).decode()
        assert data == table_csv(figure(number))


def test_a_page_of_one_figure_has_no_contents() -> None:
    html = page([figure(3)])
    found = Page()
    found.feed(html)
    assert found.texts["h1"] == ["Hanson 1987, Figure 3"]
    assert "nav" not in found.texts
    assert list(pictures(html)) == ["plot-3"]


def test_two_pages_of_the_same_figures_are_the_same_bytes() -> None:
    assert page([figure(3), figure(9)]) == page([figure(3), figure(9)])


@pytest.mark.parametrize("number", FIGURES)
def test_csv_holds_every_row_to_twelve_digits(number: int) -> None:
    found = figure(number)
    header, *rows = csv.reader(io.StringIO(table_csv(found)))
    assert tuple(header) == found.columns
    for row, expected in zip(rows, found.rows(), strict=True):
        for text, cell in zip(row, expected, strict=True):
            assert text == cell if isinstance(cell, str) else float(text) == pytest.approx(cell, rel=1e-11)


@pytest.mark.parametrize("number", LINES)
def test_a_picture_of_lines_draws_each_series_in_its_style_and_rings_the_crossings(number: int) -> None:
    found = figure(number)
    assert isinstance(found, Lines)
    traces = json.loads(draw(found).to_json())["data"]
    drawn = {trace["name"]: trace for trace in traces}
    assert list(drawn) == [*found.series, *(["equal cost"] if found.crossings else [])]
    for name, values in found.series.items():
        assert (drawn[name]["x"], drawn[name]["y"]) == (list(found.x), list(values))
    looks = {(drawn[name]["line"]["color"], drawn[name]["line"]["dash"]) for name in found.series}
    assert len(looks) == len(found.series)
    if found.crossings:
        assert drawn["equal cost"]["x"] == [each.x for each in found.crossings]
        assert drawn["equal cost"]["text"][0].startswith(" and ".join(found.crossings[0].between))


@pytest.mark.parametrize("number", LINES)
def test_axes_of_lines_say_what_they_are_and_are_logarithmic_where_the_data_says(number: int) -> None:
    found = figure(number)
    assert isinstance(found, Lines)
    layout = draw(found).layout
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == (found.x_title, found.y_label)
    assert (layout.xaxis.type == "log", layout.yaxis.type == "log") == (found.x_log, found.y_log)


@pytest.mark.parametrize("number", REGIONS)
def test_a_picture_of_regions_fills_the_whole_square_with_the_cheapest_method(number: int) -> None:
    found = figure(number)
    assert isinstance(found, Regions)
    bars = {each["name"].removesuffix(" (nowhere)"): each for each in bars_of(found)}
    assert tuple(bars) == found.methods
    for method, trace in bars.items():
        filled = sum(width for width in trace["x"] if width is not None) * trace["width"]
        assert filled == pytest.approx(found.share(method))
        ranges = [[start, end] for _, start, end, winner in found.rows() if winner == method]
        assert trace.get("customdata", []) == ranges, "pointing at a bar says from which P to which P it reaches"
        assert trace["name"].endswith("(nowhere)") == (found.share(method) == 0)
    assert sum(found.share(method) for method in bars) == pytest.approx(1)


def bars_of(found: Regions) -> Iterator[dict[str, Any]]:
    return (trace for trace in json.loads(draw(found).to_json())["data"] if trace["type"] == "bar")


@pytest.mark.parametrize("number", REGIONS)
def test_a_label_stands_in_the_region_that_it_names_and_fits_between_its_borders(number: int) -> None:
    found = figure(number)
    assert isinstance(found, Regions)
    labels = [trace for trace in json.loads(draw(found).to_json())["data"] if trace.get("mode") == "text"]
    assert len(labels) >= 2
    for trace in labels:
        method = trace["text"][0].removeprefix("<b>").removesuffix("</b>")
        f, P = trace["y"][0], trace["x"][0]  # noqa: N806
        ((start, end),) = [row[1:3] for row in found.rows() if row[0] == f and row[3] == method]
        assert pytest.approx((start + end) / 2) == P
        assert end - start >= 0.03 * len(method)


@dataclass(frozen=True)
class Hostile:
    """Data of a figure whose texts are HTML."""

    number: int = 3
    title: str = "</script><script>alert(1)</script>"
    subject: str = '"><img src=x onerror=alert(1)>'
    note: str = "a < b & c"
    columns: tuple[str, ...] = ("x", "</script><b>")
    x_title: str = "</script>"
    y_label: str = "<i>y</i></script>"
    x: tuple[float, ...] = (1.0, 2.0)
    x_log: bool = False
    y_log: bool = False
    crossings: tuple[Any, ...] = ()

    @property
    def series(self) -> dict[str, tuple[float, ...]]:
        return {"</script><b>": (1.0, 2.0)}

    def rows(self) -> Iterator[tuple[float | str, ...]]:
        return zip(self.x, *self.series.values(), strict=True)


def test_texts_cannot_break_out_of_the_page() -> None:
    html = page([Hostile()])
    found = Page()
    found.feed(html)
    assert [tag for tag, _ in found.elements].count("script") == 2
    assert not {"img", "b", "i"} & {tag for tag, _ in found.elements}
    assert pictures(html)["plot-3"]["data"][0]["name"] == "</script><b>"
    assert found.texts["h2"] == ["</script><script>alert(1)</script>"]


def test_the_data_is_written_without_loading_plotly() -> None:
    script = (
        "import sys; from costmodels.figures import figure; from reports.figures import table_csv\n"
        "assert table_csv(figure(9)).startswith('l,clustered,immediate,deferred')\n"
        "print('plotly' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
