"""containerlab: the nodes and links of a `*.clab.yml`."""

from trunkline.importers.common.fault import ImportFault, Note
from trunkline.importers.network.fields import known
from trunkline.importers.network.topology import Link, Node, Topology
from trunkline.importers.network.yaml import line_of, mapping, sequence
from trunkline.scenario.text import Map


def read(data: Map, title: str) -> Topology:
    """Read a lab, whose links have no capacity; ``title`` is its name if the file has none.

    Raises
    ------
    ImportFault
        A link does not name two known nodes.
    """
    topology = mapping(data.get("topology"), "topology", 1)
    found = Topology(str(data.get("name") or title))
    nodes = mapping(topology.get("nodes"), "nodes", 1)
    for name in nodes:
        found.nodes[name] = Node(name, line=line_of(nodes, name))
    links = sequence(topology.get("links"), "links", 1)
    for index, each in enumerate(links):
        line = line_of(links, index)
        link = mapping(each, "a link", line)
        kind = link.get("type", "veth")
        if kind != "veth":
            found.notes.append(Note(line, f"link of type {kind}", "it leaves the lab"))
            continue
        ends = [_node(end, line) for end in sequence(link.get("endpoints"), "endpoints", line)]
        if len(ends) != 2:
            raise ImportFault(line, 1, f"a link has two endpoints, not {len(ends)}")
        outside = [end for end in ends if end in ("host", "mgmt-net", "macvlan", "dummy")]
        if outside and outside[0] not in found.nodes:
            found.notes.append(Note(line, f"link to {outside[0]}", "it leaves the lab"))
            continue
        source, target = (known(end, found.nodes, line) for end in ends)
        found.links.append(Link(source, target, line=line))
    return found


def _node(end: object, line: int) -> str:
    """The node of an endpoint: `node:interface`, or a mapping of them."""
    if isinstance(end, Map):
        return str(end.get("node", ""))
    if not isinstance(end, str):
        raise ImportFault(line, 1, "an endpoint is NODE:INTERFACE")
    return end.partition(":")[0]
