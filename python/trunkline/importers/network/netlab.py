"""netlab: the nodes and links of a `topology.yml`."""

from typing import Any

from trunkline.importers.common.fault import ImportFault, OmittedPart
from trunkline.importers.network.fields import convert_rate, find_node_key, parse_number
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology
from trunkline.importers.network.yaml import get_line, require_mapping, require_sequence
from trunkline.scenario.yaml_text import PlacedList, PlacedMap

KBIT_BITS = 10**3  # bit/s: unit of bandwidths


# Keys of a link that are no nodes.
LINK_KEYS = frozenset({
    "bandwidth", "bfd", "bgp", "bridge", "clab", "dhcp", "disable", "eigrp", "evpn",
    "gateway", "group", "interfaces", "isis", "lag", "libvirt", "linkname", "members", "mlag",
    "mpls", "mtu", "name", "node", "ospf", "pool", "prefix", "provider", "ra", "ripv2",
    "role", "shutdown", "sr", "srv6", "stp", "tc", "type", "unnumbered", "vlan", "vrf",
    "vxlan",
})  # fmt: skip


def read(data: PlacedMap, title: str) -> ImportedTopology:
    """Read a topology, bandwidths in kbit/s; ``title`` is its name if the file has none.

    Raises
    ------
    ImportFault
        A link joins more than two nodes, or an unknown one.
    """
    network = ImportedTopology(str(data.get("name") or title))
    nodes = data.get("nodes")
    names = nodes if isinstance(nodes, PlacedList) else require_mapping(nodes, "nodes", 1)
    for index, name in enumerate(names):
        key = index if isinstance(names, PlacedList) else name
        label = str(name.get("name", "") if isinstance(name, PlacedMap) else name)
        network.nodes[label] = ImportedNode(label, line=get_line(names, key))
    _read_links(network, data.get("links"), 1)
    return network


def _read_links(network: ImportedTopology, value: Any, line: int) -> None:
    links = require_sequence(value, "links", line)
    for index, link in enumerate(links):
        line = get_line(links, index)
        if isinstance(link, PlacedMap) and "members" in link:
            _read_links(network, link["members"], line)
            continue
        ends = _find_link_ends(network, link, line)
        if len(ends) == 1:
            network.notes.append(OmittedPart(line, f"link of {ends[0]} alone", "it leads nowhere"))
            continue
        if len(ends) != 2:
            why = f"a link joins two nodes, not {len(ends)}: give the segment a node of its own"
            raise ImportFault(line, 1, why)
        capacity = None
        if isinstance(link, PlacedMap) and link.get("bandwidth") is not None:
            given = parse_number(link["bandwidth"], "bandwidth", line)
            capacity = convert_rate(given, KBIT_BITS, "the bandwidth", line)
        network.links.append(ImportedLink(ends[0], ends[1], capacity=capacity, line=line))


def _find_link_ends(network: ImportedTopology, link: Any, line: int) -> list[str]:
    """Nodes of a link: `a-b`, a list, a mapping by node, or a list of interfaces."""
    if isinstance(link, PlacedMap):
        ends = [
            str(interface.get("node", "") if isinstance(interface, PlacedMap) else interface)
            for interface in require_sequence(link.get("interfaces"), "interfaces", line)
        ]
        ends += [key for key in link if key in network.nodes or key not in LINK_KEYS]
    elif isinstance(link, PlacedList):
        ends = [str(interface) for interface in link]
    else:
        ends = _split_hyphenated(network, str(link))
    return [find_node_key(end, network.nodes, line) for end in ends]


def _split_hyphenated(network: ImportedTopology, text: str) -> list[str]:
    """Names joined by hyphens, which names may hold as well."""
    ends: list[str] = []
    words = text.split("-")
    while words:
        word_count = next(
            (n for n in range(len(words), 0, -1) if "-".join(words[:n]) in network.nodes), 1
        )
        ends.append("-".join(words[:word_count]))
        words = words[word_count:]
    return ends
