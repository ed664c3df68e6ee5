"""The topology in a browser: drawn, without a request or a complaint, and names stay text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from trunkline.network import compile
from trunkline.plot import graph
from trunkline.plot.sketch import Sketch
from trunkline.scenario import load

pytest.importorskip("playwright", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_b26_a_graph_opens_from_disk_without_a_request_or_an_error(
    ending: str, root: Path, tmp_path: Path
) -> None:
    from playwright.sync_api import sync_playwright

    example = root / "python" / "trunkline" / "examples" / "trunks.yaml"
    network = json.loads(compile(load(example)).to_json())
    network["nodes"][3]["name"] = network["paths"][0]["name"] = HOSTILE
    sketch = Sketch.of(network)
    path = tmp_path / f"graph.{ending}"
    path.write_text((graph.svg if ending == "svg" else graph.html)(sketch), encoding="utf-8")
    faults: list[str] = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1000, "height": 700})
        page.on("console", lambda message: faults.append(message.text))
        page.on("dialog", lambda dialog: (faults.append("dialog"), dialog.dismiss()))

        def asked(request: Any) -> None:
            if request.url != path.as_uri():
                faults.append(request.url)

        page.on("request", asked)
        page.goto(path.as_uri())
        drawn = page.locator("polyline, line.link").count()
        assert drawn == len(sketch.lines) + len(sketch.ways)
        boxes = [each.bounding_box() for each in page.locator("circle, rect.node").all()]
        assert len(boxes) == len(sketch.nodes)
        assert all(box is not None and box["width"] > 5 for box in boxes)
        assert page.get_by_text(HOSTILE[:15]).count() >= 1
        assert page.locator("img").count() == 0
        browser.close()
    assert faults == []
