"""The formats of networks: how each is recognised, parsed to a tree and read from it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement, account_for_elements
from trunkline.importers.network import (
    brite,
    containerlab,
    gml,
    graphml,
    graphs,
    link_lists,
    netlab,
    node_link,
    pyntm,
    repetita,
    rocketfuel,
    sndlib,
)
from trunkline.importers.network.topology import ImportedTopology
from trunkline.importers.network.xml import parse_xml
from trunkline.importers.network.yaml import parse_document


@dataclass(frozen=True)
class NetworkFormat:
    """A format of files."""

    name: str  # As documentation and messages have it.
    # Whether a text looks like it. A file that does is refused where it is broken.
    is_recognised: Callable[[str], object]
    parse: Callable[[str], FileElement | None]  # The tree of a text; None: another format.
    # The network of a tree, and its title if the file has none.
    read: Callable[[FileElement, str], ImportedTopology]


def _find_lines(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.MULTILINE).search


def _find_tag(tag: str) -> Callable[[str], object]:
    pattern = re.compile(rf"<\s*(?:\w+:)?{tag}\b")
    return lambda content: content.startswith("<") and pattern.search(content)


def _is_first_line(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern).match


NETWORK_FORMATS = (
    NetworkFormat("GraphML", _find_tag("graphml"), graphml.parse_graphml, graphs.read_graph),
    NetworkFormat("SNDlib XML", _find_tag("networkStructure"), parse_xml, sndlib.read),
    NetworkFormat(
        "SNDlib native",
        _find_lines(r"\A\?SNDlib|^\s*NODES\s*\(\s*$"),
        sndlib.parse_native,
        sndlib.read,
    ),
    NetworkFormat(
        "REPETITA", _is_first_line(r"NODES\s+\d+\s*\n"), repetita.parse_graph, repetita.read_graph
    ),
    NetworkFormat("GML", _find_lines(r"^\s*graph\s*\["), gml.parse_gml, graphs.read_graph),
    NetworkFormat("BRITE", _is_first_line(r"Topology:\s*\("), brite.parse_brite, brite.read_brite),
    NetworkFormat(
        "Rocketfuel (.cch)",
        lambda content: rocketfuel.ROUTER_LINE.match(content.partition("\n")[0]),
        rocketfuel.parse_map,
        rocketfuel.read_map,
    ),
    NetworkFormat(
        "pyNTM",
        _find_lines(r"^INTERFACES_TABLE[,\t ]*$"),
        pyntm.parse_model,
        pyntm.read_model,
    ),
    NetworkFormat(
        "JSON (node-link)",
        lambda content: content.startswith("{") and '"nodes"' in content,
        node_link.parse_node_link,
        graphs.read_graph,
    ),
    NetworkFormat(
        "containerlab", _find_lines(r"^topology\s*:"), parse_document, containerlab.read_lab
    ),
    NetworkFormat("netlab", _find_lines(r"^(?:nodes|groups)\s*:"), parse_document, netlab.read),
    NetworkFormat(
        "a table of links (CSV)",
        lambda content: True,
        link_lists.parse_link_list,
        link_lists.read_link_list,
    ),
    NetworkFormat(
        "a list of edges",
        lambda content: True,
        link_lists.parse_edge_list,
        link_lists.read_edge_list,
    ),
)
"""Formats, in the order in which the importer tries them."""


def parse_network(content: str, title: str) -> ImportedTopology:
    """Read a file by its looks, and account for everything in it.

    Raises ImportFault: It looks like none of the formats, or is broken.
    """
    start = content.lstrip()
    for each in NETWORK_FORMATS:
        if not each.is_recognised(start):
            continue
        root = each.parse(content)
        if root is None:
            continue
        topology = each.read(root, title)
        account_for_elements(root, topology.account)
        return topology
    known = ", ".join(each.name for each in NETWORK_FORMATS)
    raise ImportFault(1, 1, "the format is not recognised", known)
