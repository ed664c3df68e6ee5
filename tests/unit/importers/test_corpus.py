"""All networks of topohub by name, equal to its files as json and networkx read them.

The larger groups are sampled here: all 707 networks take half a minute.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from trunkline.importers.network import ImportedTopology, read_topology, topohub

SAMPLED = {"gabriel": 24, "backbone": 7, "caida": 2}
"""One of so many networks of a group."""


def find_folder() -> Path:
    pytest.importorskip("topohub")
    return Path(str(files("topohub") / "data"))


def load_graph(name: str) -> tuple[Any, float]:
    """The graph by networkx, and the sum of its demands."""
    data = json.loads((find_folder() / f"{name}.json").read_text("utf-8"))
    graph = nx.node_link_graph(data | {"multigraph": True}, edges="edges")
    demands = data["graph"].get("demands", {})
    return graph, sum(value for row in demands.values() for value in row.values())


def count_links(topology: ImportedTopology) -> Counter[frozenset[str]]:
    return Counter(frozenset((link.source, link.target)) for link in topology.links)


def count_edges(graph: Any) -> Counter[frozenset[str]]:
    return Counter(frozenset(map(str, ends)) for ends in graph.edges())


@pytest.mark.parametrize("group", ["sndlib", "topozoo", "caida", "gabriel", "backbone"])
def test_networks_of_topohub_have_the_nodes_links_lengths_and_demands_of_its_files(
    group: str,
) -> None:
    paths = sorted((find_folder() / group).rglob("*.json"))
    names = [str(path.relative_to(find_folder()).with_suffix("")) for path in paths]
    assert len(names) > 19
    for name in names[:: SAMPLED.get(group, 1)]:
        topology = read_topology(f"topohub:{name}")
        graph, demand_sum = load_graph(name)
        assert set(topology.nodes) == set(map(str, graph)), name
        assert count_links(topology) == count_edges(graph), name
        lengths = [data["dist"] for *_, data in graph.edges(data=True)]
        assert sum(link.length or 0 for link in topology.links) == pytest.approx(sum(lengths))
        assert sum(each.value for each in topology.demands) == pytest.approx(demand_sum), name
        left_out = {each.element for each in topology.account.left_out}
        # Figures that topohub computed, and what kind of place or cable it is (backbone).
        computed = {"graph/stats", "edges/item/ecmp_fwd", "edges/item/ecmp_bwd"}
        assert left_out <= computed | {"nodes/item/type", "edges/item/type"}, name


@pytest.mark.parametrize("form", ["gml", "graphml", "json"])
def test_networks_of_sndlib_and_the_zoo_as_networkx_writes_them(tmp_path: Path, form: str) -> None:
    paths = sorted((find_folder() / "topozoo").glob("*.json"))[::4]
    paths += sorted((find_folder() / "sndlib").glob("*.json"))[::2]
    for path in paths:
        graph, _ = load_graph(str(path.relative_to(find_folder()).with_suffix("")))
        graph = nx.MultiGraph(graph) if form == "graphml" else graph
        graph.graph.clear()
        for number, (*_, data) in enumerate(graph.edges(data=True)):
            data.clear()
            data |= {"bandwidth": 10 * (number % 7 + 1), "weight": number % 5 + 1}
        for _, data in graph.nodes(data=True):
            data.pop("pos", None)
        file = tmp_path / "net"
        if form == "json":
            file.write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
        else:
            (nx.write_gml if form == "gml" else nx.write_graphml)(graph, file)
        topology = read_topology(file)
        assert len(topology.nodes) == graph.number_of_nodes(), path
        assert len(topology.links) == graph.number_of_edges(), path
        for key, value in (("bandwidth", "capacity"), ("weight", "metric")):
            total = sum(data[key] for *_, data in graph.edges(data=True))
            assert sum(getattr(link, value) for link in topology.links) == total, path


@pytest.mark.parametrize("name", topohub.list_own_networks())
def test_networks_that_need_no_other_package_are_those_of_topohub(name: str) -> None:
    theirs = json.loads((find_folder() / "sndlib" / f"{name}.json").read_text("utf-8"))
    own = json.loads((files("trunkline.importers.network") / "published" / f"{name}.json")
                     .read_text("utf-8"))  # fmt: skip
    assert own["nodes"] == theirs["nodes"]
    assert own["graph"]["demands"] == theirs["graph"]["demands"]
    keys = ("source", "target", "dist")
    assert own["edges"] == [{key: edge[key] for key in keys} for edge in theirs["edges"]]


def test_a_plain_install_has_a_dozen_networks_and_names_them_where_topohub_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find(package: str) -> Any:
        if package == "topohub":
            raise ModuleNotFoundError(package)
        return files(package)

    monkeypatch.setattr(topohub, "files", find)
    assert len(topohub.list_own_networks()) == 12
    found = read_topology("topohub:sndlib/pdh")
    assert (len(found.nodes), len(found.links), len(found.demands)) == (11, 34, 24)
    with pytest.raises(topohub.TopohubNotInstalled, match=r"'trunkline\[topohub\]'.*sndlib/polska"):
        read_topology("topohub:topozoo/Abilene")
