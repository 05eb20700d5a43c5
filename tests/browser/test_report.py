"""Cost reports in a browser: what a person sees, in light and dark, on a desk and on a phone."""

from __future__ import annotations

import csv
import json
import time
from functools import cache
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from costmodels.figures import FIGURES, figure
from reports import figures
from reports.page import SECTIONS, render
from tests.browser.conftest import Browser
from tests.reports import samples

MB = 1_000_000
# What plotly.js draws for bars, lines, points and areas.
MARKS = ".bars .point path, .scatterlayer .js-line, .scatterlayer .point, .heatmaplayer image"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def shop(folder: Path) -> Path:
    """Three views, nothing measured yet."""
    return saved(folder / "shop.html", render(samples.shop(folder)))


@pytest.fixture(scope="session")
def measured(folder: Path) -> Path:
    """Three views after five days."""
    return saved(folder / "measured.html", render(samples.measured(samples.shop(folder))))


def saved(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@cache
def pages(path: Path) -> tuple[str, ...]:
    """The pages of a report with three views."""
    return (*(page for page, _ in SECTIONS), "view-1", "view-2", "view-3")


def empty_charts(browser: Browser) -> list[str]:
    """The charts of the page shown that have nothing drawn in them."""
    return list(
        browser.js(
            """return [...document.querySelectorAll(".page.shown figure.chart")]
            .filter((figure) => ![...figure.querySelectorAll(arguments[0])].some((mark) => {
              const box = mark.getBoundingClientRect(); return box.width + box.height > 1; }))
            .map((figure) => figure.dataset.chart)""",
            MARKS,
        )
    )


def shown_charts(browser: Browser) -> list[str]:
    return [each.get_attribute("data-chart") for each in browser.driver.find_elements("css selector", ".shown figure")]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("report", ["shop", "measured"])
def test_every_page_is_drawn_without_complaint_request_or_sideways_scroll(
    browser: Browser, request: pytest.FixtureRequest, report: str, width: int, dark: bool
) -> None:
    path = request.getfixturevalue(report)
    browser.open(path, width, dark=dark)
    for page in pages(path):
        browser.go(page)
        browser.screenshot(f"{report}-{page}-{width}-{'dark' if dark else 'light'}")
        assert browser.find(".page.shown").get_attribute("id") == page
        assert empty_charts(browser) == []
        assert browser.overflow() == 0, page
    assert browser.complaints() == []
    assert browser.requests() == []


def test_every_section_is_there(browser: Browser, measured: Path) -> None:
    browser.open(measured)
    titles = [each.text for each in browser.driver.find_elements("css selector", ".shown h3")]
    assert titles == ["What changes", "How sure this is", "Since the last plan", "Made from"]
    browser.go("view-1")
    assert shown_charts(browser) == ["components", "updates", "regions", "sensitivity"]
    folded = [each.text for each in browser.driver.find_elements("css selector", ".shown summary")]
    assert folded == ["Definition", "Rules", "Delta rules and their SQL"]
    browser.go("track")
    assert shown_charts(browser) == ["predicted", "errors", "coefficients"]
    titles = [each.text for each in browser.driver.find_elements("css selector", ".shown h3")]
    assert {"The worst misses by name", "Mistakes of the plan"} <= set(titles)
    browser.go("runs")
    assert shown_charts(browser) == ["cost", "staleness"]
    titles = [each.text for each in browser.driver.find_elements("css selector", ".shown section h3")]
    assert titles == ["1 run failed", "Nights", "Plans"]
    browser.go("lineage")
    assert len(browser.driver.find_elements("css selector", ".graph circle")) == 3


def test_what_is_missing_says_how_to_get_it_instead_of_an_empty_chart(browser: Browser, folder: Path) -> None:
    one = "only: {sql: 'SELECT o_price FROM orders', queries: {per_day: 0}}"
    browser.open(saved(folder / "one.html", render(samples.shop(folder, one))))
    for page, words in (("overview", "advisor apply"), ("track", "advisor run"), ("runs", "advisor run")):
        browser.go(page)
        assert shown_charts(browser) == []
        missing = [each.text for each in browser.driver.find_elements("css selector", ".shown .missing")]
        assert any(words in text for text in missing), page
        assert all(missing)
    browser.go("view-1")
    assert "updates" not in shown_charts(browser)
    assert "queries: {per_day: …}" in browser.find(".shown .missing").text
    assert empty_charts(browser) == []


def test_texts_are_shown_as_texts_whatever_is_in_them(browser: Browser, folder: Path) -> None:
    browser.open(saved(folder / "nasty.html", render(samples.nasty(samples.measured(samples.shop(folder))))), 390)
    plain = " ".join(samples.NASTY.split())
    for page in pages(folder):
        browser.go(page)
        assert empty_charts(browser) == []
        assert browser.overflow() == 0, page
    assert browser.js("return window.hacked") is None
    browser.go("view-1")
    assert browser.js("return document.querySelector('.shown pre').textContent") == samples.NASTY
    shown = browser.js("return document.querySelector('.shown .kicker b').textContent").replace("\xa0", " ")
    assert " ".join(shown.split()) == plain
    assert browser.complaints() == []
    assert browser.requests() == []


def test_folded_parts_open_and_the_theme_turns(browser: Browser, shop: Path) -> None:
    browser.open(shop)

    def ground() -> str:
        return str(browser.js("return getComputedStyle(document.body).backgroundColor"))

    light = ground()
    browser.find("#theme").click()
    assert ground() != light
    browser.find("#theme").click()
    assert ground() == light
    browser.go("view-2")
    definition = browser.find(".shown details")
    assert not definition.find_element("css selector", "pre").is_displayed()
    definition.find_element("css selector", "summary").click()
    assert definition.find_element("css selector", "pre").text == samples.TOTAL


def test_a_table_is_sorted_by_the_column_that_is_clicked(browser: Browser, shop: Path) -> None:
    browser.open(shop)
    browser.go("view-1")

    def costs() -> list[float]:
        cells = browser.driver.find_elements("css selector", ".shown [data-name=alternatives] td[data-label='a day']")
        return [float(each.get_attribute("data-value")) for each in cells]

    heading = browser.find(".shown [data-name=alternatives] th:nth-child(3) button")
    heading.click()
    assert costs() == sorted(costs(), reverse=True)
    heading.click()
    assert costs() == sorted(costs())
    assert len(set(costs())) > 1


def test_the_keyboard_is_enough(browser: Browser, shop: Path) -> None:
    browser.open(shop)
    body = browser.driver.find_element("tag name", "body")
    body.send_keys(Keys.TAB)
    assert browser.driver.switch_to.active_element.text == "Skip to the content"
    for _ in range(2):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.find(".page.shown").get_attribute("id") == "lineage"
    unnamed = browser.js(
        """return [...document.querySelectorAll("a, button, input, summary")]
        .filter((each) => !(each.textContent.trim() || each.ariaLabel)).length"""
    )
    assert unnamed == 0


def test_the_data_of_a_chart_is_shown_and_saved(browser: Browser, shop: Path, tmp_path: Path) -> None:
    browser.open(shop)
    place = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", place)
    browser.go("view-1")
    show, as_csv, as_json = browser.driver.find_elements(
        "css selector", ".shown figure[data-chart=updates] .data button"
    )
    show.click()
    rows = browser.driver.find_elements("css selector", ".shown figure[data-chart=updates] .data tbody tr")
    assert len(rows) > 40
    as_csv.click()
    as_json.click()
    table = list(csv.DictReader(arrived(tmp_path / "view-1-updates.csv").splitlines()))
    records = json.loads(arrived(tmp_path / "view-1-updates.json"))
    assert len(table) == len(records) == len(rows)
    assert float(table[3]["updates a day"]) == records[3]["updates a day"] > 0
    show.click()
    assert not browser.driver.find_elements("css selector", ".shown figure[data-chart=updates] .data tbody")


def arrived(path: Path) -> str:
    """The text of a file that a browser is saving."""
    for _ in range(200):
        if path.exists():
            return path.read_text(encoding="utf-8")
        time.sleep(0.05)
    raise AssertionError(f"{path.name} was not saved")


def test_a_few_views_make_a_small_file(shop: Path) -> None:
    assert shop.stat().st_size < 6 * MB


def test_two_hundred_views_open_quickly(browser: Browser, folder: Path) -> None:
    path = saved(folder / "many.html", render(samples.many(folder, 200)))
    assert path.stat().st_size < 15 * MB
    browser.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    browser.open(path)
    assert cpu_seconds(browser) < 3
    browser.find("#find").send_keys("view_117")
    assert [each.text for each in browser.driver.find_elements("css selector", "#views li:not([hidden])")] == [
        "view_117"
    ]
    before = cpu_seconds(browser)
    browser.find("#views li:not([hidden]) a").click()
    assert "view_117" in browser.find(".shown .kicker").text
    assert empty_charts(browser) == []
    assert cpu_seconds(browser) - before < 3
    browser.screenshot("many-view")
    assert browser.complaints() == []


def cpu_seconds(browser: Browser) -> float:
    """What the page has taken of a processor since it was opened."""
    found = browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_figures_of_the_paper_are_drawn_on_a_page_of_their_own(
    browser: Browser, folder: Path, width: int, dark: bool
) -> None:
    browser.open(saved(folder / "figures.html", figures.page([figure(number) for number in FIGURES])), width, dark=dark)
    assert shown_charts(browser) == [f"figure-{number}" for number in FIGURES]
    assert empty_charts(browser) == []
    assert browser.overflow() == 0
    browser.screenshot(f"figures-{width}-{'dark' if dark else 'light'}")
    browser.find("a[href='#figure-9']").click()
    top = "return document.getElementById('figure-9').getBoundingClientRect().top"
    assert 0 <= browser.js(top) < 450
    assert browser.complaints() == []
    assert browser.requests() == []
