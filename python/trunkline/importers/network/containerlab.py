"""containerlab: the nodes and links of a `*.clab.yml`."""

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.attributes import parse_capacity, parse_delay
from trunkline.importers.network.fields import find_node_key, loss_share, metric, parse_number
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology
from trunkline.importers.network.yaml import require_sequence

NODES_OUTSIDE = ("host", "mgmt-net", "macvlan", "dummy")
"""Names of endpoints that are no nodes of the lab."""
_TEXT_KEYS = ("port", "ingress", "mtu", "header")


def read_lab(root: FileElement, title: str) -> ImportedTopology:
    """Read a lab, whose links have no capacity; ``title`` is its name if the file has none.

    Raises ImportFault: A link does not name two known nodes.
    """
    network = ImportedTopology(root.take_text("name") or title)
    nodes = root.find("topology", "nodes")
    for node in nodes.read_children("node") if nodes is not None else ():
        network.nodes[node.name] = ImportedNode(node.name, line=node.line)
        node.leave_out_rest("programs on a node are no part of a scenario")
    for link in require_sequence(root.find("topology", "links"), "links"):
        kind = link.take_text("type") or "veth"
        if kind != "veth":
            link.leave_out(f"a link of type {kind} leaves the lab")
            continue
        ends = [
            _read_endpoint(end) for end in require_sequence(link.find("endpoints"), "endpoints")
        ]
        if len(ends) != 2:
            raise ImportFault(link.line, 1, f"a link has two endpoints, not {len(ends)}")
        outside = [end for end, _ in ends if end in NODES_OUTSIDE]
        if outside and outside[0] not in network.nodes:
            link.leave_out(f"a link to {outside[0]} leaves the lab")
            continue
        source, target = (find_node_key(end, network.nodes, link.line) for end, _ in ends)
        made = ImportedLink(source, target, devices=(ends[0][1], ends[1][1]), line=link.line)
        _read_variables(made, link)
        network.links.append(made)
    return network


def _read_variables(made: ImportedLink, link: FileElement) -> None:
    """Rates, delays and metrics, which `export --to containerlab` writes as variables of links."""
    for direction, suffix in (("there", ""), ("back", "_back")):
        texts = {
            key: link.take_text("vars", direction, key)
            for key in ("rate", "delay", "metric", "loss", *_TEXT_KEYS)
        }
        line = link.line
        if texts["rate"]:
            rate, unit = parse_capacity(texts["rate"], "rate", line)
            setattr(made, f"capacity{suffix}", rate * (unit or 1))
        if texts["delay"]:
            setattr(made, f"delay{suffix}", parse_delay(texts["delay"], None, "delay", line))
        if texts["metric"]:
            value = metric(parse_number(texts["metric"], "metric", line), "metric", line)
            setattr(made, f"metric{suffix}", value)
        if texts["loss"] or (suffix and texts["rate"]):
            # A direction that is described without a loss has none, whatever the other has.
            share = loss_share(parse_number(texts["loss"] or "0", "loss", line), line)
            setattr(made, f"loss{suffix}", share)
        # Of a port and a conditioner the name: what they do is in the scripts of the nodes.
        for key in _TEXT_KEYS:
            setattr(made, f"{key}{suffix}", texts[key])
    made.name = link.take_text("vars", "name")
    made.colours = _take_names(link.find("vars", "colours"))
    made.risks = _take_names(link.find("vars", "risks"))


def _take_names(element: FileElement | None) -> tuple[str, ...]:
    return tuple(str(each.value) for each in require_sequence(element, "names"))


def _read_endpoint(end: FileElement) -> tuple[str, str]:
    """Read the node and the interface of an endpoint: `node:interface`, or a mapping of them."""
    if end.children:
        end.leave_out_children("addresses have no place in a scenario", "mac", "ipv4", "ipv6")
        return end.take_text("node"), end.take_text("interface")
    if not isinstance(end.value, str):
        raise ImportFault(end.line, 1, "an endpoint is NODE:INTERFACE")
    node, _, interface = end.value.partition(":")
    return node, interface
