"""The topology in four formats: complete, the same each time, and names stay text."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from trunkline.network import compile
from trunkline.plot import graph_languages, network_graph
from trunkline.plot.network_sketch import NetworkSketch
from trunkline.scenario import load

SVG = "{http://www.w3.org/2000/svg}"
TEXT = """
trunkline: 1
nodes: [A, B, C, D]
links:
  A-B: {rate: 10 Mbit/s, delay: 1 ms}
  B-D: {rate: 10 Mbit/s, delay: 1 ms, backward: {rate: 1.5 Mbit/s}}
  A-C: {rate: 2 Gbit/s, delay: 30 us}
  C-D: {rate: 64 kbit/s}
paths:
  working: {route: [A, B, D]}
  spare: {route: [A, C, D]}
protections:
  p: {kind: backup, path: working, backup: spare}
trunks:
  t: {path: working, flows: f}
flows:
  f: {agent: udp, from: A, to: D, rate: 1 Mbit/s}
run: {duration: 1 s}
"""
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]> --> & &lt;",
    'n"; rm [label=x] \\',
    "two\nlines\x1b[2J",
    "right \u202eto left",
)


def network(text: str = TEXT) -> Any:
    return json.loads(compile(load(text)).to_json())


def hostile() -> Any:
    """A network built by hand, as the language refuses such names."""
    made = network()
    for node, name in zip(made["nodes"], HOSTILE, strict=False):
        node["name"] = name
    for path, name in zip(made["paths"], HOSTILE[4:], strict=False):
        path["name"] = name
    made["name"] = HOSTILE[0]
    return made


def texts(svg: str) -> str:
    return " ".join("".join(each.itertext()) for each in ET.fromstring(svg).iter())


def test_a_sketch_pairs_directions_and_knows_backups() -> None:
    sketch = NetworkSketch.from_network(network())
    assert [line.about for line in sketch.links] == [
        "10 Mbit/s, 1 ms",
        "10 Mbit/s / 1.5 Mbit/s, 1 ms",
        "2 Gbit/s, 30 µs",
        "64 kbit/s, 0 ns",
    ]
    assert all(line.is_bidirectional for line in sketch.links)
    assert [(way.name, way.backup_of) for way in sketch.paths] == [
        ("working", ()),
        ("spare", ("working",)),
    ]
    assert sketch.hosts == {"A", "D"}


def test_svg_shows_every_node_link_and_path_and_dashes_backups() -> None:
    svg = network_graph.render_svg(NetworkSketch.from_network(network()))
    root = ET.fromstring(svg)
    assert len(root.findall(f"{SVG}circle")) == 2
    lines = [each for each in root.findall(f"{SVG}line") if each.get("class") == "link"]
    assert len(lines) == 4
    paths = [each.get("class") for each in root.findall(f"{SVG}polyline")]
    assert paths == ["path", "path backup"]
    for found in ("2 Gbit/s", "working", "spare (backup of working)", "A, C, D"):
        assert found in texts(svg)
    assert svg == network_graph.render_svg(NetworkSketch.from_network(network()))


def test_nodes_stand_where_the_scenario_puts_them() -> None:
    places = {"A": (0.0, 0.0), "B": (5.0, 5.0), "C": (5.0, -5.0), "D": (10.0, 0.0)}
    root = ET.fromstring(network_graph.render_svg(NetworkSketch.from_network(network()), places))
    (bx, by), (cx, cy) = (
        (float(each.get("cx", "")), float(each.get("cy", "")))
        for each in root.findall(f"{SVG}circle")
    )
    assert bx == cx == network_graph.WIDTH / 2
    assert by < cy


@pytest.mark.parametrize("draw", [network_graph.render_svg, network_graph.render_html])
def test_b26_hostile_names_stay_text(draw: Any) -> None:
    drawn = draw(NetworkSketch.from_network(hostile()))

    seen, attributes = set(), set()

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            seen.add(tag)
            attributes.update(name for name, _ in attrs)

    parser = Tags()
    parser.feed(drawn)
    assert not seen & {"script", "img", "a", "foreignobject"}
    assert not any(name.startswith("on") for name in attributes)
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    if draw is network_graph.render_svg:
        assert HOSTILE[0] in texts(drawn)
        assert "two\\nlines\\x1b[2J" in texts(drawn)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("made", [network(), hostile()])
def test_graphviz_reads_dot_and_finds_every_node_and_edge(made: Any) -> None:
    sketch = NetworkSketch.from_network(made)
    done = subprocess.run(
        ["dot", "-Tplain"],
        input=graph_languages.render_dot(sketch),
        capture_output=True,
        text=True,
        check=True,
    )
    kinds = [line.split(" ")[0] for line in done.stdout.splitlines()]
    assert kinds.count("node") == len(sketch.nodes)
    hops = sum(len(way.hops) for way in sketch.paths)
    assert kinds.count("edge") == len(sketch.links) + hops
    assert not done.stderr


def test_mermaid_has_every_edge_and_no_sign_of_its_own_from_a_name() -> None:
    written = graph_languages.render_mermaid(NetworkSketch.from_network(network()))
    assert 'n0["A"]' in written
    assert 'n0 ---|"10 Mbit/s, 1 ms"| n1' in written
    assert 'n0 -.->|"spare"| n2' in written
    for line in graph_languages.render_mermaid(NetworkSketch.from_network(hostile())).splitlines():
        between = line.split('"')[1::2]
        assert not any(sign in text for text in between for sign in "<>\\[]{}|`")


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("g.svg", "<?xml"),
        ("g.html", "<!DOCTYPE"),
        ("g.dot", "digraph"),
        ("g.gv", "digraph"),
        ("g.mmd", "flowchart"),
    ],
)
def test_the_ending_chooses_the_format(
    name: str, starts: str, trunkline: Any, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(TEXT)
    done = trunkline("graph", str(tmp_path / "s.yaml"), "-o", str(tmp_path / name))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_text().startswith(starts)


def test_an_ending_that_is_none_of_these_is_refused(trunkline: Any, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(TEXT)
    done = trunkline("graph", str(tmp_path / "s.yaml"), "-o", str(tmp_path / "g.bmp"))
    assert done.returncode == 2
    assert "a graph ends in" in done.stderr
    assert not (tmp_path / "g.bmp").exists()
    assert trunkline("graph", str(tmp_path / "s.yaml")).stdout.startswith("<?xml")
