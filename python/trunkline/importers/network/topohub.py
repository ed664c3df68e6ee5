"""Networks by name from the package topohub: Topology Zoo, SNDlib, Gabriel, backbone, CAIDA."""

import json
import re
from importlib.resources import files

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import (
    FileElement,
    account_for_elements,
    make_file_elements,
)
from trunkline.importers.network.fields import find_node_key, parse_number
from trunkline.importers.network.topology import (
    ImportedDemand,
    ImportedLink,
    ImportedNode,
    ImportedTopology,
)
from trunkline.importers.network.yaml import require_sequence

_ENDS = ("source", "target")
_NETWORK_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_.-]+)+\Z")


class TopohubNotInstalled(ImportError):
    """The package topohub is not installed."""


def read_packaged_network(name: str) -> ImportedTopology:
    """Take a network from the package.

    Parameters
    ----------
    name : str
        As the package has it: ``sndlib/pdh``, ``topozoo/Abilene``, ``gabriel/25/0``.

    Returns
    -------
    ImportedTopology
        Keys of nodes are the package's identifiers, which are not always 0, 1, ...

    Raises
    ------
    TopohubNotInstalled
        The package is not installed.
    ImportFault
        It has no such network.
    """
    try:
        data = files("topohub") / "data"
    except ImportError:
        why = "networks by name need the package topohub: pip install 'trunkline[topohub]'"
        raise TopohubNotInstalled(why) from None
    if not _NETWORK_NAME.match(name) or ".." in name:
        raise ImportFault(0, 1, f"{name[:64]!r} is no name such as sndlib/pdh")
    # Its own reader leaves the file open.
    file = data / f"{name}.json"
    if not file.is_file():
        raise ImportFault(0, 1, f"topohub has no network {name}{_suggest_name(name)}")
    return _build_topology(make_file_elements(json.loads(file.read_text("utf-8"))), name)


def _suggest_name(name: str) -> str:
    from trunkline.scenario.diagnostic import suggest_nearest

    group, _, last = name.rpartition("/")
    folder = files("topohub") / "data" / group
    names = (
        [each.name.removesuffix(".json") for each in folder.iterdir()] if folder.is_dir() else []
    )
    hint = suggest_nearest(last, sorted(names))
    return f"; {hint}" if hint else ""


def _build_topology(root: FileElement, name: str) -> ImportedTopology:
    topology = ImportedTopology(name.rpartition("/")[2])
    for flag in ("directed", "multigraph"):
        if root.take(flag) and flag == "directed":
            raise ImportFault(0, 1, f"{name} is a directed graph")
    root.find("graph", "name")
    for node in require_sequence(root.find("nodes"), "nodes"):
        key = node.take_text("id")
        place = [float(each.value) for each in require_sequence(node.find("pos"), "pos")]
        coordinates = (place[0], place[1]) if len(place) == 2 else None
        topology.nodes[key] = ImportedNode(node.take_text("name") or key, coordinates)
    # Gabriel graphs lie in a plane of kilometres.
    topology.geographic = not name.startswith("gabriel/")
    for edge in require_sequence(root.find("edges"), "edges"):
        ends = [find_node_key(edge.take_text(end), topology.nodes, 1) for end in _ENDS]
        length = parse_number(edge.take("dist"), "dist", 1)
        topology.links.append(ImportedLink(ends[0], ends[1], length=length))
        edge.leave_out_children("loads that topohub computed", "ecmp_fwd", "ecmp_bwd")
    graph = root.find("graph")
    if graph is not None:
        graph.leave_out_children("figures that topohub computed", "stats")
    demands = root.find("graph", "demands")
    for row in demands.read_children("source") if demands is not None else ():
        for target in row.read_children("target"):
            ends = [find_node_key(end, topology.nodes, 1) for end in (row.name, target.name)]
            value = parse_number(target.value, "a demand", 1)
            topology.demands.append(ImportedDemand(ends[0], ends[1], value))
    account_for_elements(root, topology.account)
    return topology
