"""containerlab: the nodes and links of a `*.clab.yml`."""

from trunkline.importers.common.fault import ImportFault, OmittedPart
from trunkline.importers.network.fields import find_node_key
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology
from trunkline.importers.network.yaml import get_line, require_mapping, require_sequence
from trunkline.scenario.yaml_text import PlacedMap


def read_lab(data: PlacedMap, title: str) -> ImportedTopology:
    """Read a lab, whose links have no capacity; ``title`` is its name if the file has none.

    Raises
    ------
    ImportFault
        A link does not name two known nodes.
    """
    topology = require_mapping(data.get("topology"), "topology", 1)
    network = ImportedTopology(str(data.get("name") or title))
    nodes = require_mapping(topology.get("nodes"), "nodes", 1)
    for name in nodes:
        network.nodes[name] = ImportedNode(name, line=get_line(nodes, name))
    links = require_sequence(topology.get("links"), "links", 1)
    for index, value in enumerate(links):
        line = get_line(links, index)
        link = require_mapping(value, "a link", line)
        kind = link.get("type", "veth")
        if kind != "veth":
            network.notes.append(OmittedPart(line, f"link of type {kind}", "it leaves the lab"))
            continue
        ends = [
            _get_endpoint_node(end, line)
            for end in require_sequence(link.get("endpoints"), "endpoints", line)
        ]
        if len(ends) != 2:
            raise ImportFault(line, 1, f"a link has two endpoints, not {len(ends)}")
        outside = [end for end in ends if end in ("host", "mgmt-net", "macvlan", "dummy")]
        if outside and outside[0] not in network.nodes:
            network.notes.append(OmittedPart(line, f"link to {outside[0]}", "it leaves the lab"))
            continue
        source, target = (find_node_key(end, network.nodes, line) for end in ends)
        network.links.append(ImportedLink(source, target, line=line))
    return network


def _get_endpoint_node(end: object, line: int) -> str:
    """The node of an endpoint: `node:interface`, or a mapping of them."""
    if isinstance(end, PlacedMap):
        return str(end.get("node", ""))
    if not isinstance(end, str):
        raise ImportFault(line, 1, "an endpoint is NODE:INTERFACE")
    return end.partition(":")[0]
