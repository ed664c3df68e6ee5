"""netlab: the nodes and links of a `topology.yml`."""

from typing import Any

from trunkline.importers.common.fault import ImportFault, Note
from trunkline.importers.network.fields import known, number, rate
from trunkline.importers.network.topology import Link, Node, Topology
from trunkline.importers.network.yaml import line_of, mapping, sequence
from trunkline.scenario.text import Map, Seq

KBIT = 10**3  # bit/s: unit of bandwidths


# Keys of a link that are no nodes.
KEYS = frozenset({
    "bandwidth", "bfd", "bgp", "bridge", "clab", "dhcp", "disable", "eigrp", "evpn",
    "gateway", "group", "interfaces", "isis", "lag", "libvirt", "linkname", "members", "mlag",
    "mpls", "mtu", "name", "node", "ospf", "pool", "prefix", "provider", "ra", "ripv2",
    "role", "shutdown", "sr", "srv6", "stp", "tc", "type", "unnumbered", "vlan", "vrf",
    "vxlan",
})  # fmt: skip


def read(data: Map, title: str) -> Topology:
    """Read a topology, bandwidths in kbit/s; ``title`` is its name if the file has none.

    Raises
    ------
    ImportFault
        A link joins more than two nodes, or an unknown one.
    """
    found = Topology(str(data.get("name") or title))
    nodes = data.get("nodes")
    names = nodes if isinstance(nodes, Seq) else mapping(nodes, "nodes", 1)
    for index, name in enumerate(names):
        key = index if isinstance(names, Seq) else name
        label = str(name.get("name", "") if isinstance(name, Map) else name)
        found.nodes[label] = Node(label, line=line_of(names, key))
    _links(found, data.get("links"), 1)
    return found


def _links(found: Topology, value: Any, line: int) -> None:
    links = sequence(value, "links", line)
    for index, each in enumerate(links):
        line = line_of(links, index)
        if isinstance(each, Map) and "members" in each:
            _links(found, each["members"], line)
            continue
        ends = _ends(found, each, line)
        if len(ends) == 1:
            found.notes.append(Note(line, f"link of {ends[0]} alone", "it leads nowhere"))
            continue
        if len(ends) != 2:
            why = f"a link joins two nodes, not {len(ends)}: give the segment a node of its own"
            raise ImportFault(line, 1, why)
        capacity = None
        if isinstance(each, Map) and each.get("bandwidth") is not None:
            given = number(each["bandwidth"], "bandwidth", line)
            capacity = rate(given, KBIT, "the bandwidth", line)
        found.links.append(Link(ends[0], ends[1], capacity=capacity, line=line))


def _ends(found: Topology, link: Any, line: int) -> list[str]:
    """Nodes of a link: `a-b`, a list, a mapping by node, or a list of interfaces."""
    if isinstance(link, Map):
        ends = [
            str(each.get("node", "") if isinstance(each, Map) else each)
            for each in sequence(link.get("interfaces"), "interfaces", line)
        ]
        ends += [key for key in link if key in found.nodes or key not in KEYS]
    elif isinstance(link, Seq):
        ends = [str(each) for each in link]
    else:
        ends = _split(found, str(link))
    return [known(end, found.nodes, line) for end in ends]


def _split(found: Topology, text: str) -> list[str]:
    """Names joined by hyphens, which names may hold as well."""
    ends: list[str] = []
    words = text.split("-")
    while words:
        take = next((n for n in range(len(words), 0, -1) if "-".join(words[:n]) in found.nodes), 1)
        ends.append("-".join(words[:take]))
        words = words[take:]
    return ends
