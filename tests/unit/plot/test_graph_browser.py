"""The topology in a browser: drawn, without a request or a complaint, and names stay text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trunkline.network import compile
from trunkline.plot import network_graph
from trunkline.plot.network_sketch import NetworkSketch
from trunkline.scenario import load

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_b26_a_graph_opens_from_disk_without_a_request_or_an_error(
    ending: str, root: Path, tmp_path: Path, look: Callable[..., Any]
) -> None:
    example = root / "python" / "trunkline" / "examples" / "trunks.yaml"
    network = json.loads(compile(load(example)).to_json())
    network["nodes"][3]["name"] = network["paths"][0]["name"] = HOSTILE
    sketch = NetworkSketch.from_network(network)
    path = tmp_path / f"graph.{ending}"
    path.write_text(
        (network_graph.render_svg if ending == "svg" else network_graph.render_html)(sketch),
        encoding="utf-8",
    )
    page = look(viewport={"width": 1000, "height": 700}).page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    drawn = page.locator("polyline, line.link").count()
    assert drawn == len(sketch.links) + len(sketch.paths)
    boxes = [each.bounding_box() for each in page.locator("circle, rect.node").all()]
    assert len(boxes) == len(sketch.nodes)
    assert all(box is not None and box["width"] > 5 for box in boxes)
    assert page.get_by_text(HOSTILE[:15]).count() >= 1
    assert page.locator("img").count() == 0
    assert asked == [path.as_uri()]
