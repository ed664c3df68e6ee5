"""Internet Topology Zoo: networks in GML or GraphML."""

import re
import warnings
from typing import Any

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network import xml
from trunkline.importers.network.fields import convert_rate, parse_number
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology

_LONG_NUMBER = re.compile(r"\d[\d.]{64,}")


def read_gml(content: str, title: str) -> ImportedTopology:
    """Read a network in GML from its text; ``title`` is its name if the file has none.

    Raises
    ------
    ImportFault
        It is no GML, with the place where that is known.
    """
    import networkx as nx

    _refuse_long_numbers(content)
    try:
        try:
            graph = nx.parse_gml(content, label="id")
        except nx.NetworkXError as error:
            if "duplicated" not in str(error):
                raise
            # Files of the Zoo have parallel links without the word for it.
            text = re.sub(r"\bgraph\s*\[", "graph [\n  multigraph 1", content, count=1)
            graph = nx.parse_gml(text, label="id")
    except nx.NetworkXError as error:
        place = re.search(r"\((\d+), (\d+)\)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (1, 1)
        raise ImportFault(line, column, f"not GML: {str(error)[:200]}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ImportFault(1, 1, f"not GML: {str(error)[:200] or type(error).__name__}") from None
    return _build_topology(graph, title)


def _refuse_long_numbers(content: str) -> None:
    """Refuse what networkx would read as a parse_number of absurd length."""
    topology = _LONG_NUMBER.search(content)
    if topology:
        line = content.count("\n", 0, topology.start()) + 1
        column = topology.start() - content.rfind("\n", 0, topology.start())
        raise ImportFault(line, column, f"a parse_number of {len(topology[0])} digits")


def read_graphml(content: str, title: str) -> ImportedTopology:
    """Read a network in GraphML, likewise.

    Raises
    ------
    ImportFault
        It is no GraphML, or has a document type or entities.
    """
    import networkx as nx

    _refuse_long_numbers(content)
    if xml.parse_xml(content).name != "graphml":
        raise ImportFault(1, 1, "not GraphML: the outermost element is not <graphml>")
    try:
        with warnings.catch_warnings():
            # A key without a type is text, which is what is read here.
            warnings.simplefilter("ignore")
            graph = nx.parse_graphml(content, node_type=str)
    except (nx.NetworkXError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ImportFault(1, 1, f"not GraphML: {str(error)[:200]}") from None
    return _build_topology(graph, title)


def _build_topology(graph: Any, title: str) -> ImportedTopology:
    topology = ImportedTopology(
        str(graph.graph.get("Network") or graph.graph.get("label") or title)
    )
    for key, data in graph.nodes(data=True):
        label = str(data.get("label") or key)
        coordinates = data.get("Longitude"), data.get("Latitude")
        place = None
        if all(each not in (None, "") for each in coordinates):
            place = (
                parse_number(coordinates[0], f"Longitude of {label}", 1),
                parse_number(coordinates[1], "Latitude", 1),
            )
        is_external = str(data.get("Internal", 1)) == "0"
        topology.nodes[str(key)] = ImportedNode(label, place, external=is_external)
    topology.geographic = any(node.place is not None for node in topology.nodes.values())
    for source, target, data in graph.edges(data=True):
        topology.links.append(_make_link(str(source), str(target), data))
    if graph.is_directed():
        topology.links = _join_directions(topology)
    return topology


def _make_link(source: str, target: str, data: dict[str, Any]) -> ImportedLink:
    field_name = f"LinkSpeedRaw of {source}-{target}"
    raw = data.get("LinkSpeedRaw")
    speed = (
        None
        if raw in (None, "")
        else convert_rate(parse_number(raw, field_name, 1), 1, field_name, 1)
    )
    length = data.get("length") or data.get("dist")
    km = None if length in (None, "") else parse_number(length, "length", 1)
    return ImportedLink(source, target, capacity=speed, length=km)


def _join_directions(topology: ImportedTopology) -> list[ImportedLink]:
    """Links of a directed graph: each with the first one back that has no partner yet."""
    one_way_links: dict[tuple[str, str], list[ImportedLink]] = {}
    links: list[ImportedLink] = []
    for link in topology.links:
        opposite_links = one_way_links.get((link.target, link.source))
        if opposite_links:
            opposite_links.pop(0).capacity_back = link.capacity
            continue
        one_way_links.setdefault((link.source, link.target), []).append(link)
        links.append(link)
    unpaired_count = sum(map(len, one_way_links.values()))
    if unpaired_count:
        why = (
            f"{unpaired_count} links have no way back in the file; here a link has both directions"
        )
        topology.account.add_assumption("directed graph", why)
    return links
