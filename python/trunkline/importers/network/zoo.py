"""Internet Topology Zoo: networks in GML or GraphML."""

import re
import warnings
from typing import Any

from trunkline.importers.common.fault import ImportFault, Note
from trunkline.importers.network import xml
from trunkline.importers.network.fields import number, rate
from trunkline.importers.network.topology import Link, Node, Topology

_LONG_NUMBER = re.compile(r"\d[\d.]{64,}")


def read_gml(content: str, title: str) -> Topology:
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
    return _read(graph, title)


def _refuse_long_numbers(content: str) -> None:
    """Refuse what networkx would read as a number of absurd length."""
    found = _LONG_NUMBER.search(content)
    if found:
        line = content.count("\n", 0, found.start()) + 1
        column = found.start() - content.rfind("\n", 0, found.start())
        raise ImportFault(line, column, f"a number of {len(found[0])} digits")


def read_graphml(content: str, title: str) -> Topology:
    """Read a network in GraphML, likewise.

    Raises
    ------
    ImportFault
        It is no GraphML, or has a document type or entities.
    """
    import networkx as nx

    _refuse_long_numbers(content)
    if xml.parse(content).tag != "graphml":
        raise ImportFault(1, 1, "not GraphML: the outermost element is not <graphml>")
    try:
        with warnings.catch_warnings():
            # A key without a type is text, which is what is read here.
            warnings.simplefilter("ignore")
            graph = nx.parse_graphml(content, node_type=str)
    except (nx.NetworkXError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ImportFault(1, 1, f"not GraphML: {str(error)[:200]}") from None
    return _read(graph, title)


def _read(graph: Any, title: str) -> Topology:
    found = Topology(str(graph.graph.get("Network") or graph.graph.get("label") or title))
    for key, data in graph.nodes(data=True):
        label = str(data.get("label") or key)
        at = data.get("Longitude"), data.get("Latitude")
        place = None
        if all(each not in (None, "") for each in at):
            place = (number(at[0], f"Longitude of {label}", 1), number(at[1], "Latitude", 1))
        outside = str(data.get("Internal", 1)) == "0"
        found.nodes[str(key)] = Node(label, place, external=outside)
    found.geographic = any(node.place is not None for node in found.nodes.values())
    for source, target, data in graph.edges(data=True):
        found.links.append(_link(str(source), str(target), data))
    if graph.is_directed():
        found.links = _paired(found)
    return found


def _link(source: str, target: str, data: dict[str, Any]) -> Link:
    what = f"LinkSpeedRaw of {source}-{target}"
    raw = data.get("LinkSpeedRaw")
    speed = None if raw in (None, "") else rate(number(raw, what, 1), 1, what, 1)
    length = data.get("length") or data.get("dist")
    km = None if length in (None, "") else number(length, "length", 1)
    return Link(source, target, capacity=speed, length=km)


def _paired(found: Topology) -> list[Link]:
    """Links of a directed graph: each with the first one back that has no partner yet."""
    waiting: dict[tuple[str, str], list[Link]] = {}
    links: list[Link] = []
    for link in found.links:
        back = waiting.get((link.target, link.source))
        if back:
            back.pop(0).back = link.capacity
            continue
        waiting.setdefault((link.source, link.target), []).append(link)
        links.append(link)
    alone = sum(map(len, waiting.values()))
    if alone:
        why = f"{alone} links have no way back in the file; here a link has both directions"
        found.notes.append(Note(0, "directed graph", why))
    return links
