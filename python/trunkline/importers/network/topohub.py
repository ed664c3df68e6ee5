"""Networks by name: a dozen of SNDlib that are here, and all of the package topohub.

The folder `published` has networks of SNDlib 1.0 (Orlowski et al., Networks 55(3), 2010) as topohub
1.5.1 publishes them under the MIT licence, without the figures that topohub computed.
"""

import json
import re
from importlib.resources import files
from importlib.resources.abc import Traversable

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

_OWN_GROUP = "sndlib/"
_ENDS = ("source", "target")
_NETWORK_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_.-]+)+\Z")


class TopohubNotInstalled(ImportError):
    """The package topohub is not installed, and the network is not one of those in the package."""


def read_packaged_network(name: str) -> ImportedTopology:
    """Take a network by its name: one of the dozen of SNDlib here, else one of topohub.

    name: As topohub has it: ``sndlib/pdh``, ``topozoo/Abilene``, ``gabriel/25/0``.
    Returns: Keys of nodes are the package's identifiers, which are not always 0, 1, ...
    Raises TopohubNotInstalled: It is in topohub only, which is not installed.
    Raises ImportFault: There is no such network.
    """
    if not _NETWORK_NAME.match(name) or ".." in name:
        raise ImportFault(0, 1, f"{name[:64]!r} is no name such as sndlib/pdh")
    file = _get_own_folder() / f"{name.removeprefix(_OWN_GROUP)}.json"
    if not (name.startswith(_OWN_GROUP) and file.is_file()):
        try:
            # Its own reader leaves the file open.
            file = files("topohub") / "data" / f"{name}.json"
        except ImportError:
            own = ", ".join(_OWN_GROUP + each for each in list_own_networks())
            why = (
                "other networks by name need the package topohub: pip install 'trunkline[topohub]'"
            )
            raise TopohubNotInstalled(f"{why}; without it: {own}") from None
        if not file.is_file():
            raise ImportFault(0, 1, f"topohub has no network {name}{_suggest_name(name)}")
    return _build_topology(make_file_elements(json.loads(file.read_text("utf-8"))), name)


def list_own_networks() -> list[str]:
    """List the names of the networks of SNDlib that need no other package."""
    names = (each.name for each in _get_own_folder().iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def _get_own_folder() -> Traversable:
    return files("trunkline.importers.network") / "published"


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
