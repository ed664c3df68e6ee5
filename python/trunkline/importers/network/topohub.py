"""Networks by name from the package topohub: Topology Zoo, SNDlib, Gabriel, backbone, CAIDA."""

import json
import re
from importlib.resources import files
from typing import Any

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network.fields import find_node_key, parse_number
from trunkline.importers.network.topology import (
    ImportedDemand,
    ImportedLink,
    ImportedNode,
    ImportedTopology,
)

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
    return _build_topology(json.loads(file.read_text("utf-8")), name)


def _suggest_name(name: str) -> str:
    from trunkline.scenario.diagnostic import suggest_nearest

    group, _, last = name.rpartition("/")
    folder = files("topohub") / "data" / group
    names = (
        [each.name.removesuffix(".json") for each in folder.iterdir()] if folder.is_dir() else []
    )
    hint = suggest_nearest(last, sorted(names))
    return f"; {hint}" if hint else ""


def _build_topology(data: dict[str, Any], name: str) -> ImportedTopology:
    topology = ImportedTopology(name.rpartition("/")[2])
    for node in data["nodes"]:
        key = str(node["id"])
        place = node.get("pos")
        coordinates = None if place is None else (float(place[0]), float(place[1]))
        topology.nodes[key] = ImportedNode(str(node.get("name") or key), coordinates)
    # Gabriel graphs lie in a plane of kilometres.
    topology.geographic = not name.startswith("gabriel/")
    for edge in data["edges"]:
        ends = [find_node_key(str(edge[end]), topology.nodes, 1) for end in ("source", "target")]
        topology.links.append(ImportedLink(ends[0], ends[1], length=float(edge["dist"])))
    for source, row in data["graph"].get("demands", {}).items():
        for target, value in row.items():
            ends = [find_node_key(str(end), topology.nodes, 1) for end in (source, target)]
            topology.demands.append(
                ImportedDemand(ends[0], ends[1], parse_number(value, "a demand", 1))
            )
    return topology
