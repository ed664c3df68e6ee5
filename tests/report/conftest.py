"""Results to report on, and a browser that looks at the pages as a reader does."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trunkline.engine import simulate
from trunkline.network import compile
from trunkline.results import store
from trunkline.scenario import load

EXAMPLES = Path(__file__).parents[2] / "python" / "trunkline" / "examples"

Names = dict[str, str]


def _run(
    folder: Path, scenario: str, seeds: range, rename: Names | None = None, **set_: str
) -> Path:
    """Run an example into a folder; names of the compiled network may be replaced."""
    loaded = load(EXAMPLES / f"{scenario}.yaml", overrides=set_)
    network = compile(loaded)
    written = network.to_json()
    text = loaded.text
    for old, new in (rename or {}).items():
        written = written.replace(f'"name":{json.dumps(old)}', f'"name":{json.dumps(new)}')
        text = f"# {new}\n{text}"
    runs = simulate(written, seeds=list(seeds), scenario=text)
    return store.write(runs, folder, network_json=written)


@pytest.fixture(scope="session")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a path that fails and is switched."""
    return _run(tmp_path_factory.mktemp("protected") / "results", "does-50-ms-matter", range(1, 3))


@pytest.fixture
def run_example() -> Callable[..., Path]:
    """Runs an example into a folder."""
    return _run


class Looker:
    """A browser page that notes what must not happen."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.faults.append("dialog"), dialog.dismiss()))
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Any) -> None:
        if request.url.startswith(("http:", "https:", "ws:", "ftp:")):
            self.faults.append(f"asked for {request.url}")

    def open(self, file: Path) -> float:
        """Open a page from the disk; seconds until its charts can be drawn."""
        self.page.goto(file.as_uri())
        self.until("document.documentElement.dataset.charts === 'ready'")
        return float(self.page.evaluate("performance.now() / 1000"))

    def until(self, condition: str, longest_s: float = 60) -> None:
        """Wait for a condition; asked from here, as the page's policy forbids to ask in it."""
        end = time.monotonic() + longest_s
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, condition
            self.page.wait_for_timeout(20)

    def drawn(self) -> dict[str, int]:
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
    from trunkline.report.library import library

    if library() is None:
        pytest.skip("the charts library was not fetched")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def look(chromium: Any) -> Iterator[Callable[..., Looker]]:
    """Opens pages; at the end, that nothing went wrong in any is asserted."""
    lookers = []

    def opened(**options: Any) -> Looker:
        context = chromium.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        looker = Looker(context.new_page())
        lookers.append((looker, context))
        return looker

    yield opened
    for looker, context in lookers:
        context.close()
        assert looker.faults == []
