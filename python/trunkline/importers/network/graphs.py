"""Graphs with attributes as the Topology Zoo, networkx, FNSS and yEd write them."""

import re
from collections.abc import Iterable
from dataclasses import replace

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.attributes import find_port_speed, read_link_attributes
from trunkline.importers.network.directions import join_listed_directions, join_one_way_links
from trunkline.importers.network.fields import are_geographic, find_node_key, parse_number
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology

_LONGITUDES = ("longitude", "lon", "long", "lng")
_LATITUDES = ("latitude", "lat")
_NODE_NAMES = ("label", "name", "NodeLabel")
_EDGE_NAMES = ("id", "key", "label", "name", "LinkLabel", "LinkName")
_GRAPH_NAMES = ("Network", "label", "name")
_ABSENT_WAY_BACK = (
    "{alone} of {count} links of a directed graph have no way back, so direction is how they were "
    "drawn: each is a link in both directions"
)
_GIGA_LETTERS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNIT_ATTRIBUTES = {
    "capacity": ("capacity_unit", "bandwidth_unit"),
    "delay": ("delay_unit",),
    "length": ("distance_unit", "length_unit"),
}
"""Attributes of the graph that name units, as FNSS writes them."""


def read_graph(root: FileElement, title: str) -> ImportedTopology:
    """Read a graph from the tree of its GML; ``title`` is its name if the file has none.

    Raises ImportFault: A node has no id, or one that another has; a link names an unknown node; a
        value is no number.
    """
    graph = root.find("graph")
    if graph is None:
        raise ImportFault(1, 1, "not GML: there is no graph")
    root.leave_out_children("made the file", "Creator", "Version")
    topology = ImportedTopology(_take_first(graph, _GRAPH_NAMES) or title)
    is_directed = graph.take_text("directed") in ("1", "True", "true")
    graph.find("multigraph")
    ends = {
        str(end.value).strip()
        for edge in graph.children
        for end in edge.children
        if edge.name == "edge" and end.name in ("source", "target")
    }
    for node in graph.find_all("node"):
        is_group = any(each.name == "group" for each in node.children)
        if is_group and node.take_text("id") not in ends:
            node.leave_out("a group of nodes that no link names")
        else:
            _read_node(topology, node)
    places = [node.place for node in topology.nodes.values() if node.place is not None]
    topology.geographic = are_geographic(places)
    unit_names = {
        quantity: _take_first(graph, names) for quantity, names in _UNIT_ATTRIBUTES.items()
    }
    unit_names = {quantity: name for quantity, name in unit_names.items() if name}
    for edge in graph.find_all("edge"):
        source, target = (
            find_node_key(edge.take_text(end), topology.nodes, edge.line)
            for end in ("source", "target")
        )
        link = ImportedLink(source, target, line=edge.line)
        _read_zoo_speed(edge, link)
        read_link_attributes(edge, link, topology.account, unit_names=unit_names)
        edge.leave_out_children("a link is named after its ends", *_EDGE_NAMES)
        topology.links.append(link)
    if is_directed and not join_listed_directions(topology):
        _, alone = join_one_way_links([replace(link) for link in topology.links])
        rule = _ABSENT_WAY_BACK.format(alone=len(alone), count=len(topology.links))
        topology.account.add_assumption("directions", rule, count=len(topology.links))
    return topology


def _take_first(element: FileElement, names: Iterable[str]) -> str:
    """Take the text of the first attribute of these names that has one."""
    return next((text for name in names if (text := element.take_text(name))), "")


def _read_node(topology: ImportedTopology, node: FileElement) -> None:
    key = node.take_text("id")
    if not key:
        raise ImportFault(node.line, 1, "a node has no id")
    if key in topology.nodes:
        raise ImportFault(node.line, 1, f"node {key} occurs twice")
    label = _take_first(node, _NODE_NAMES) or _find_yed_label(node) or key
    by_name = {child.name.lower(): child for child in node.children}
    coordinates = []
    for names in (_LONGITUDES, _LATITUDES):
        child = next((by_name[name] for name in names if name in by_name), None)
        text = "" if child is None else node.take_text(child.name)
        if child is not None and text:
            coordinates.append(parse_number(text, f"{child.name} of {label}", child.line))
    place = (coordinates[0], coordinates[1]) if len(coordinates) == 2 else None
    is_external = node.take_text("Internal") == "0"
    topology.nodes[key] = ImportedNode(label, place, node.line, external=is_external)


def _find_yed_label(node: FileElement) -> str:
    """Find the text of the first label of yEd's drawing of a node."""
    for child in node.children:
        for shape in child.children:
            text = shape.take("NodeLabel") if shape.find("NodeLabel") is not None else None
            if text:
                child.is_read = shape.is_read = True
                return str(text).strip()
    return ""


def _read_zoo_speed(edge: FileElement, link: ImportedLink) -> None:
    """Read a capacity from other attributes of the Topology Zoo, if there is no raw speed.

    `LinkSpeed "10"` with `LinkSpeedUnits "G"`; or a type or a label that is nothing but a speed, as
    `OC-48` and `10GE`.
    """
    by_name = {child.name: child for child in edge.children}
    speed, letter = by_name.get("LinkSpeed"), by_name.get("LinkSpeedUnits")
    if "LinkSpeedRaw" not in by_name and speed is not None and letter is not None:
        unit = _GIGA_LETTERS.get(str(letter.value).strip().upper())
        number = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*", str(speed.value))
        if unit is not None and number is not None:
            link.capacity, link.unit = float(number[1]) * unit, 1
            speed.is_read = letter.is_read = True
            return
    for each in (speed, letter):
        if each is not None:
            each.leave_out("LinkSpeedRaw gives the capacity, or there is none")
    if not {"LinkSpeedRaw", "capacity", "bandwidth"} & set(by_name):
        for name in ("LinkType", "LinkLabel"):
            found = by_name.get(name)
            if found is not None and (capacity := find_port_speed(str(found.value).strip())):
                link.capacity, link.unit = float(capacity), 1
                found.is_read = True
                return
