"""A headless Chromium; only with ADVISOR_TEST_ENGINE=browser. Screenshots go to test-output/browser."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

if os.environ.get("ADVISOR_TEST_ENGINE") != "browser":
    collect_ignore_glob = ["test_*.py"]

SCREENSHOTS = Path(__file__).resolve().parents[2] / "test-output" / "browser"
_TALLEST = 6000


@dataclass
class Browser:
    """A page as a person with a screen of some width meets it."""

    driver: Any
    page: str = ""

    def open(self, page: Path, width: int = 1440, *, dark: bool = False) -> None:
        """A file, on a screen of some width in light or dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.page = page.as_uri()
        self.driver.get(self.page)
        self.wait()

    def go(self, page: str) -> None:
        """Another page of the same file."""
        self.js("location.hash = arguments[0]; window.dispatchEvent(new HashChangeEvent('hashchange'))", page)
        self.wait()

    def wait(self) -> None:
        """Until the page that is shown is filled."""
        from selenium.webdriver.support.wait import WebDriverWait

        ready = "return document.querySelector('.page.shown[data-ready]') !== null"
        WebDriverWait(self.driver, 30, 0.02).until(lambda driver: driver.execute_script(ready))

    def js(self, code: str, *arguments: object) -> Any:
        return self.driver.execute_script(code, *arguments)

    def find(self, selector: str) -> Any:
        """The first element that is shown."""
        return next(each for each in self.driver.find_elements("css selector", selector) if each.is_displayed())

    def complaints(self) -> list[str]:
        """What the browser has written to its console."""
        return [each["message"] for each in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Everything that was asked for since a page was opened, but that page and what it holds itself."""
        events = [json.loads(each["message"])["message"] for each in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "blob:", self.page))]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen."""
        return int(self.js("return document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def screenshot(self, name: str) -> None:
        """The whole page as a picture."""
        width, height = self.js("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, _TALLEST), "scale": 1}
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    driver.execute_cdp_cmd("Page.enable", {})
    yield Browser(driver)
    driver.quit()
