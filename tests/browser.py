"""A browser that looks at pages as a reader does: one for all tests, as it bears only one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest


class WatchedPage:
    """A browser page that notes what must not happen."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.server = ""
        """Address of the page's own server, the only one that it may ask."""
        self.faults: list[str] = []
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.faults.append("dialog"), dialog.dismiss()))
        page.on("request", self._note_request)

    def _note_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _note_request(self, request: Any) -> None:
        is_own_server = self.server and request.url.startswith(self.server)
        if not is_own_server and request.url.startswith(("http:", "https:", "ws:", "ftp:")):
            self.faults.append(f"asked for {request.url}")

    def open_file(self, file: Path) -> float:
        """Open a page from the disk; seconds until its charts can be drawn."""
        self.page.goto(file.as_uri())
        self.wait_until("document.documentElement.dataset.charts === 'ready'")
        return float(self.page.evaluate("performance.now() / 1000"))

    def wait_until(self, condition: str, longest_s: float = 60) -> None:
        """Wait for a condition; asked from here, as the page's policy forbids to ask in it."""
        end = time.monotonic() + longest_s
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(20)

    def count_drawn_pixels(self) -> dict[str, int]:
        """Bring every chart into view; pixels that are not empty, by chart."""
        counted = {}
        for plot in self.page.locator(".plot").all():
            plot.scroll_into_view_if_needed()
            plot.locator("canvas").first.wait_for()
            name = f"{plot.get_attribute('data-exhibit')} {plot.get_attribute('data-chart')}"
            counted[name] = plot.evaluate(
                """(place) => [...place.querySelectorAll("canvas")].reduce((sum, canvas) => {
                  const pixels = canvas.getContext("2d")
                    .getImageData(0, 0, canvas.width, canvas.height).data;
                  let filled = 0;
                  for (let at = 3; at < pixels.length; at += 4) filled += pixels[at] > 0;
                  return sum + filled;
                }, 0)"""
            )
        return counted


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Chromium without a window."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no chromium here")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    # Of each new window's processor time, half went into pages that pop up below an address line.
    unused = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "OptimizationHints", "MediaRouter"]
    arguments.append(f"--disable-features={','.join(unused)}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium: Any) -> Iterator[Callable[..., WatchedPage]]:
    """Opens pages; at the end, that nothing went wrong in any is asserted."""
    lookers = []

    def opened(**options: Any) -> WatchedPage:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        looker = WatchedPage(context.new_page())
        lookers.append((looker, context))
        return looker

    yield opened
    for looker, context in lookers:
        context.close()
        assert looker.faults == []
