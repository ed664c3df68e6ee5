"""containerlab: the nodes and links of a `*.clab.yml`."""

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.fields import find_node_key
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology
from trunkline.importers.network.yaml import require_sequence

NODES_OUTSIDE = ("host", "mgmt-net", "macvlan", "dummy")
"""Names of endpoints that are no nodes of the lab."""


def read_lab(root: FileElement, title: str) -> ImportedTopology:
    """Read a lab, whose links have no capacity; ``title`` is its name if the file has none.

    Raises
    ------
    ImportFault
        A link does not name two known nodes.
    """
    network = ImportedTopology(root.take_text("name") or title)
    nodes = root.find("topology", "nodes")
    for node in nodes.read_children("node") if nodes is not None else ():
        network.nodes[node.name] = ImportedNode(node.name, line=node.line)
        node.leave_out_rest("what runs on a node is no part of a scenario")
    for link in require_sequence(root.find("topology", "links"), "links"):
        kind = link.take_text("type") or "veth"
        if kind != "veth":
            link.leave_out(f"a link of type {kind} leaves the lab")
            continue
        ends = [
            _read_endpoint_node(end)
            for end in require_sequence(link.find("endpoints"), "endpoints")
        ]
        if len(ends) != 2:
            raise ImportFault(link.line, 1, f"a link has two endpoints, not {len(ends)}")
        outside = [end for end in ends if end in NODES_OUTSIDE]
        if outside and outside[0] not in network.nodes:
            link.leave_out(f"a link to {outside[0]} leaves the lab")
            continue
        source, target = (find_node_key(end, network.nodes, link.line) for end in ends)
        network.links.append(ImportedLink(source, target, line=link.line))
    return network


def _read_endpoint_node(end: FileElement) -> str:
    """The node of an endpoint: `node:interface`, or a mapping of them."""
    if end.children:
        end.leave_out_children(
            "interfaces have no names in a scenario", "interface", "mac", "ipv4", "ipv6"
        )
        return end.take_text("node")
    if not isinstance(end.value, str):
        raise ImportFault(end.line, 1, "an endpoint is NODE:INTERFACE")
    return end.value.partition(":")[0]
