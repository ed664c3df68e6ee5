"""Networks of SNDlib from the package topohub: one capacity everywhere, demands as listed."""

import json
from importlib import resources

import numpy as np
import pytest

from trunkline.te.topology import Arc, both, topology


def network(name, capacity):
    """Topology and traffic matrix; metrics 1. Skips where topohub is not installed."""
    table = _table(name)
    nodes = [node["name"] for node in table["nodes"]]
    pairs = [(nodes[edge["source"]], nodes[edge["target"]]) for edge in table["edges"]]
    graph = topology(nodes, both(Arc(a, b, capacity) for a, b in pairs))
    traffic = np.zeros((len(nodes), len(nodes)))
    for source, row in table["graph"]["demands"].items():
        for target, rate in row.items():
            traffic[int(source), int(target)] = rate
    return graph, traffic


def shares(name):
    """Topohub's own loads of each link in both directions under ECMP, per cent of the largest."""
    return [
        (edge["source"], edge["target"], edge["ecmp_fwd"]["org"], edge["ecmp_bwd"]["org"])
        for edge in _table(name)["edges"]
    ]


def _table(name):
    package = pytest.importorskip("topohub")
    return json.loads((resources.files(package) / "data" / "sndlib" / f"{name}.json").read_text())
