"""Networks by name from the package topohub: Topology Zoo, SNDlib, Gabriel, backbone, CAIDA."""

import json
import re
from importlib.resources import files
from typing import Any

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network.fields import known, number
from trunkline.importers.network.topology import Demand, Link, Node, Topology

_NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_.-]+)+\Z")


class Absent(ImportError):
    """The package topohub is not installed."""


def read(name: str) -> Topology:
    """Take a network from the package.

    Parameters
    ----------
    name : str
        As the package has it: ``sndlib/pdh``, ``topozoo/Abilene``, ``gabriel/25/0``.

    Returns
    -------
    Topology
        Keys of nodes are the package's identifiers, which are not always 0, 1, ...

    Raises
    ------
    Absent
        The package is not installed.
    ImportFault
        It has no such network.
    """
    try:
        data = files("topohub") / "data"
    except ImportError:
        why = "networks by name need the package topohub: pip install 'trunkline[topohub]'"
        raise Absent(why) from None
    if not _NAME.match(name) or ".." in name:
        raise ImportFault(0, 1, f"{name[:64]!r} is no name such as sndlib/pdh")
    # Its own reader leaves the file open.
    file = data / f"{name}.json"
    if not file.is_file():
        raise ImportFault(0, 1, f"topohub has no network {name}{_near(name)}")
    return _read(json.loads(file.read_text("utf-8")), name)


def _near(name: str) -> str:
    from trunkline.scenario.diagnostic import nearest

    group, _, last = name.rpartition("/")
    folder = files("topohub") / "data" / group
    names = (
        [each.name.removesuffix(".json") for each in folder.iterdir()] if folder.is_dir() else []
    )
    hint = nearest(last, sorted(names))
    return f"; {hint}" if hint else ""


def _read(data: dict[str, Any], name: str) -> Topology:
    found = Topology(name.rpartition("/")[2])
    for node in data["nodes"]:
        key = str(node["id"])
        place = node.get("pos")
        at = None if place is None else (float(place[0]), float(place[1]))
        found.nodes[key] = Node(str(node.get("name") or key), at)
    # Gabriel graphs lie in a plane of kilometres.
    found.geographic = not name.startswith("gabriel/")
    for edge in data["edges"]:
        ends = [known(str(edge[end]), found.nodes, 1) for end in ("source", "target")]
        found.links.append(Link(ends[0], ends[1], length=float(edge["dist"])))
    for source, row in data["graph"].get("demands", {}).items():
        for target, value in row.items():
            ends = [known(str(end), found.nodes, 1) for end in (source, target)]
            found.demands.append(Demand(ends[0], ends[1], number(value, "a demand", 1)))
    return found
