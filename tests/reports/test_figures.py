"""The page of pictures: what stands in its HTML, and what each picture is made of."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any
from zlib import decompress

import pytest
from plotly.offline import get_plotlyjs

from costmodels.figures import FIGURES, Lines, Regions, figure
from reports.figures import draw, page

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


def unpacked(html: str, identity: str) -> str:
    """What is deflated in a page."""
    (found,) = re.findall(f'<script type="text/plain" id="{identity}">([^<]*)</script>', html)
    return decompress(b64decode(found), wbits=-15).decode()


def pictures(html: str) -> dict[str, Any]:
    """The data and layout that the script hands to plotly.js, by the name of the chart."""
    content = unpacked(html, "data-figures")
    found = json.loads(content, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return dict(found["charts"])


def test_every_figure_has_a_section_with_its_finding_and_its_picture() -> None:
    found = parsed()
    assert [spaced(text) for text in found.texts["h3"]] == [figure(number).title for number in FIGURES]
    assert [each for each in found.attributes("id") if each.startswith("figure-")] == [f"figure-{n}" for n in FIGURES]
    assert found.attributes("data-chart") == [f"figure-{number}" for number in FIGURES]
    pictured = [a["aria-label"] for _, a in found.elements if a.get("role") == "img"]
    assert pictured == [figure(number).title for number in FIGURES]
    assert found.open == []


def spaced(text: str) -> str:
    """Text without the blanks at which no line may end."""
    return text.replace("\xa0", " ")


def test_every_picture_has_traces_a_layout_and_its_data() -> None:
    found = pictures(all_figures())
    assert list(found) == [f"figure-{number}" for number in FIGURES]
    for number, drawn in zip(FIGURES, found.values(), strict=True):
        assert drawn["data"]
        assert {"xaxis", "yaxis"} <= set(drawn["layout"])
        assert tuple(drawn["columns"]) == figure(number).columns
        for row, expected in zip(drawn["rows"], figure(number).rows(), strict=True):
            assert row == [cell if isinstance(cell, str) else pytest.approx(cell, rel=1e-5) for cell in expected]


def test_plotly_is_inside_once_as_it_is() -> None:
    assert unpacked(all_figures(), "plotly") == get_plotlyjs()
    assert len(all_figures()) < 2_500_000


def test_nothing_is_loaded_from_anywhere() -> None:
    found = parsed()
    assert found.attributes("src") == []
    assert not {tag for tag, _ in found.elements} & {"link", "iframe", "img", "object", "embed", "base"}
    assert all(address.startswith("#") for address in found.attributes("href"))
    own = re.sub(r'id="plotly">[^<]*', "", all_figures())
    assert not re.search(r"https?://|@import|url\(", own)


def test_the_browser_is_told_to_refuse_what_a_script_would_load() -> None:
    (policy,) = [a["content"] for tag, a in parsed().elements if tag == "meta" and "http-equiv" in a]
    assert "default-src 'none'" in str(policy)
    assert "connect-src" not in str(policy)


def test_the_links_of_the_contents_lead_to_the_sections() -> None:
    targets = [address[1:] for address in parsed().attributes("href") if address != "#content"]
    assert targets == [f"figure-{number}" for number in FIGURES]
    assert set(targets) <= set(parsed().attributes("id"))


def test_the_page_is_ready_for_narrow_screens_and_dark_rooms() -> None:
    (viewport,) = [a["content"] for tag, a in parsed().elements if a.get("name") == "viewport"]
    assert viewport == "width=device-width, initial-scale=1"
    (css,) = parsed().texts["style"]
    assert "color-scheme: light dark" in css
    assert all("width" not in drawn["layout"] for drawn in pictures(all_figures()).values())


def test_a_page_of_one_figure_is_named_after_it() -> None:
    html = page([figure(3)])
    found = Page()
    found.feed(html)
    assert found.texts["h2"] == ["Hanson 1987, Figure 3"]
    assert list(pictures(html)) == ["figure-3"]


def test_two_pages_of_the_same_figures_are_the_same_bytes() -> None:
    assert page([figure(3), figure(9)]) == page([figure(3), figure(9)])


@pytest.mark.parametrize("number", LINES)
def test_a_picture_of_lines_draws_each_series_in_its_style_and_rings_the_crossings(number: int) -> None:
    found = figure(number)
    assert isinstance(found, Lines)
    traces = draw(found).traces
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
    x, y = draw(found).layout["xaxis"], draw(found).layout["yaxis"]
    assert (x["title"]["text"], y["title"]["text"]) == (found.x_title, found.y_label)
    assert (x.get("type") == "log", y.get("type") == "log") == (found.x_log, found.y_log)


@pytest.mark.parametrize("number", REGIONS)
def test_a_picture_of_regions_fills_the_whole_square_with_the_cheapest_method(number: int) -> None:
    found = figure(number)
    assert isinstance(found, Regions)
    bars = {each["name"]: each for each in bars_of(found)}
    assert tuple(bars) == tuple(method for method in found.methods if found.share(method))
    for method, trace in bars.items():
        assert sum(trace["x"]) * trace["width"] == pytest.approx(found.share(method))
        ranges = [[start, end] for _, start, end, winner in found.rows() if winner == method]
        assert trace["customdata"] == ranges, "pointing at a bar says from which P to which P it reaches"
    assert sum(found.share(method) for method in bars) == pytest.approx(1)
    legend = [sign.name for sign in draw(found).legend]
    assert legend == [method if found.share(method) else f"{method} (nowhere)" for method in found.methods]


def bars_of(found: Regions) -> Iterator[dict[str, Any]]:
    return (trace for trace in draw(found).traces if trace["type"] == "bar")


@pytest.mark.parametrize("number", REGIONS)
def test_a_label_stands_in_the_region_that_it_names_and_fits_between_its_borders(number: int) -> None:
    found = figure(number)
    assert isinstance(found, Regions)
    labels = [trace for trace in draw(found).traces if trace.get("mode") == "text"]
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
    kinds = [tag for tag, _ in found.elements]
    assert kinds.count("script") == 4
    assert "img" not in kinds
    assert pictures(html)["figure-3"]["data"][0]["name"] == "&lt;/script&gt;&lt;b&gt;"
    assert found.texts["h3"] == ["</script><script>alert(1)</script>"]
