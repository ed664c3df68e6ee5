"""Networks of SNDlib from the package topohub: one capacity everywhere, demands as listed."""

import json
from importlib import resources

import numpy as np
import pytest

from trunkline.te.topology import Arc, add_reverse_arcs, build_topology


def load_network(name, capacity):
    """Topology and traffic matrix; metrics 1. Skips where topohub is not installed."""
    table = _load_table(name)
    nodes = [node["name"] for node in table["nodes"]]
    pairs = [(nodes[edge["source"]], nodes[edge["target"]]) for edge in table["edges"]]
    graph = build_topology(nodes, add_reverse_arcs(Arc(a, b, capacity) for a, b in pairs))
    traffic = np.zeros((len(nodes), len(nodes)))
    for source, row in table["graph"]["demands"].items():
        for target, rate in row.items():
            traffic[int(source), int(target)] = rate
    return graph, traffic


def load_ecmp_shares(name):
    """Topohub's own loads of each link in both directions under ECMP, per cent of the largest."""
    return [
        (edge["source"], edge["target"], edge["ecmp_fwd"]["org"], edge["ecmp_bwd"]["org"])
        for edge in _load_table(name)["edges"]
    ]


def _load_table(name):
    package = pytest.importorskip("topohub")
    return json.loads((resources.files(package) / "data" / "sndlib" / f"{name}.json").read_text())
