"""netlab: the nodes and links of a `topology.yml` (netlab.tools/links)."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.attributes import parse_capacity, parse_delay
from trunkline.importers.network.fields import (
    find_node_key,
    loss_share,
    metric,
    parse_count,
    parse_number,
)
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology
from trunkline.importers.network.yaml import is_sequence, require_sequence

KBIT_BITS = 10**3  # bit/s: unit of bandwidths and of rates of tc
METRIC_KEYS = (("ospf", "cost"), ("isis", "metric"), ("isis", "cost"), ("eigrp", "metric"))
"""Attributes of a link, or of an interface, that are its metric; the first counts."""
LINK_KEYS = frozenset({
    "bandwidth", "bfd", "bgp", "bridge", "clab", "dhcp", "disable", "eigrp", "evpn", "gateway",
    "graph", "group", "interfaces", "ipv4", "ipv6", "isis", "lag", "libvirt", "linkindex",
    "linkname", "members", "mlag", "mpls", "mtu", "multicast", "name", "node", "ospf", "pool",
    "prefix", "provider", "ra", "ripv2", "role", "shutdown", "sr", "srv6", "stp", "tc", "type",
    "unnumbered", "virtualbox", "vlan", "vrf", "vxlan",
})  # fmt: skip
"""Keys of a link that are no nodes."""

_ROUTER_CONFIGURATION = "configures routers or the lab"


def read(root: FileElement, title: str) -> ImportedTopology:
    """Read a topology, bandwidths in kbit/s; ``title`` is its name if the file has none.

    Raises ImportFault: A link names an unknown node, or a value is no number.
    """
    _expand_dotted_keys(root)
    network = ImportedTopology(root.take_text("name") or title)
    nodes = root.find("nodes")
    _create_group_members(network, root)
    if nodes is not None:
        named_by_key = not is_sequence(nodes)
        for node in nodes.read_children("node" if named_by_key else ""):
            label = node.name if named_by_key else node.take_text("name") or str(node.value or "")
            network.nodes[label] = ImportedNode(label, line=node.line)
            node.leave_out_rest(_ROUTER_CONFIGURATION)
    _read_links(network, root.find("links"))
    _double_metrics(network)
    root.leave_out_rest(_ROUTER_CONFIGURATION)
    return network


def _expand_dotted_keys(element: FileElement) -> None:
    """Expand `ospf.cost: 30` to `ospf: {cost: 30}`."""
    for child in list(element.children):
        first, _, rest = child.name.partition(".")
        if first and rest:
            element.children.remove(child)
            outer = next((each for each in element.children if each.name == first), None)
            if outer is None or outer.value is not None:
                outer = element.add(first, line=child.line)
            child.name = rest
            outer.children.append(child)
    for child in element.children:
        _expand_dotted_keys(child)


def _create_group_members(network: ImportedTopology, root: FileElement) -> None:
    """Make the nodes of groups that say `_auto_create`."""
    for path in (("groups",), ("defaults", "groups")):
        groups = root.find(*path)
        creates_all = groups is not None and bool(groups.take("_auto_create"))
        for group in groups.children if groups is not None else ():
            if group.name == "_auto_create":
                continue
            group.is_read, group.kind = True, "group"
            is_list = is_sequence(group)
            if creates_all or (not is_list and group.take("_auto_create")):
                members = group if is_list else group.find("members")
                for member in require_sequence(members, "members"):
                    name = str(member.value)
                    network.nodes.setdefault(name, ImportedNode(name, line=member.line))
            group.leave_out_rest(_ROUTER_CONFIGURATION)


@dataclass(frozen=True)
class _LinkTraits:
    """Traits of one direction of a link; a missing one is None."""

    capacity: float | None = None  # In kbit/s.
    delay: int | None = None  # In ns.
    metric: float | None = None
    loss: float | None = None

    def override(self, inner: _LinkTraits) -> _LinkTraits:
        """The traits of an element within, where it gives them."""
        given = {key: value for key, value in asdict(inner).items() if value is not None}
        return replace(self, **given)


_NO_TRAITS = _LinkTraits()


def _read_traits(element: FileElement) -> _LinkTraits:
    """Read the bandwidth, metric and tc of a link, a group of links or an interface."""
    line = element.line
    bandwidth, rate = element.take("bandwidth"), element.take("tc", "rate")
    delay_ms, loss = element.take("tc", "delay"), element.take("tc", "loss")
    cost = next(
        (cost for cost in (element.take(*keys) for keys in METRIC_KEYS) if cost is not None), None
    )
    return _LinkTraits(
        _parse_kbit(bandwidth if rate is None else rate, line),
        None if delay_ms is None else parse_delay(str(delay_ms), None, "delay", line),
        None if cost is None else metric(parse_count(cost, "the cost", line), "the cost", line),
        None if loss is None else loss_share(parse_number(loss, "loss", line) / 100, line),
    )


def _add_segment(
    network: ImportedTopology, ends: list[str], end_traits: list[_LinkTraits], line: int
) -> None:
    """Make a segment of more than two nodes a node, which is called after none of the others."""
    number = 1
    while f"lan{number}" in network.nodes:
        number += 1
    segment = f"lan{number}"
    network.nodes[segment] = ImportedNode(segment, line=line, is_segment=True)
    rule = "a segment of several nodes is a node"
    network.account.add_assumption(f"node {segment}", rule, line=line)
    for end, traits in zip(ends, end_traits, strict=True):
        # tc and costs act where a node sends.
        network.links.append(
            ImportedLink(
                end,
                segment,
                capacity=traits.capacity,
                unit=KBIT_BITS,
                delay=traits.delay,
                delay_back=None if traits.delay is None else 0,
                metric=traits.metric,
                loss=traits.loss or 0.0,
                loss_back=0.0,
                line=line,
            )
        )


def _double_metrics(network: ImportedTopology) -> None:
    """Double all metrics, so that crossing a segment costs its way in.

    The way from a segment to a node costs nothing in OSPF (RFC 2328 section 2.1), and at least 1
    here: with 2 c - 1 into a segment of cost c, and 1 out of it, shortest paths are the same.
    """
    if not any(node.is_segment for node in network.nodes.values()):
        return
    for link in network.links:
        cost = 1 if link.metric is None else link.metric
        back = cost if link.metric_back is None else link.metric_back
        link.metric, link.metric_back = 2 * cost, 2 * back
        if network.nodes[link.target].is_segment:
            link.metric, link.metric_back = 2 * cost - 1, 1
    rule = "times 2, so that crossing a segment costs what it does in the lab"
    network.account.add_assumption("metrics", rule, count=len(network.links))


def _parse_kbit(given: object, line: int) -> float | None:
    """Parse a rate in kbit/s: a number, or a text with its unit."""
    if given is None:
        return None
    value, unit = parse_capacity(str(given), "the bandwidth", line)
    return value if unit is None else value * unit / KBIT_BITS


def _read_links(
    network: ImportedTopology, links: FileElement | None, outer: _LinkTraits = _NO_TRAITS
) -> None:
    if links is not None and links.children and not is_sequence(links):
        # Links by the names of their groups.
        for group in links.read_children("group"):
            if group.children:
                _read_links(network, group, outer)
            else:
                _read_link(network, group, outer)
        return
    for link in require_sequence(links, "links"):
        _read_link(network, link, outer)


def _read_link(network: ImportedTopology, link: FileElement, outer: _LinkTraits) -> None:
    traits = outer.override(_read_traits(link))
    members = link.find("members")
    if members is None and link.find("lag", "members") is not None:
        # A number of links of a bundle, or their list.
        bundle = link.find("lag", "members")
        members = bundle if bundle is not None and bundle.children else None
        if bundle is not None and members is None:
            bundle.leave_out("a bundle is one link of its bandwidth")
    if members is not None:
        _read_links(network, members, traits)
        return
    if _is_switched_off(link):
        link.leave_out("it is switched off")
        return
    ends, end_traits = _read_link_ends(network, link, traits)
    if len(ends) == 2 and any(_is_switched_off(each) for each in _list_interfaces(link)):
        link.leave_out("an interface of it is switched off")
        return
    if len(ends) == 1:
        link.leave_out(f"a link of {ends[0]} alone leads nowhere")
        return
    if not ends:
        raise ImportFault(link.line, 1, "a link joins nodes, and this one names none")
    if len(ends) > 2:
        for place, interface in reversed(list(enumerate(_list_interfaces(link)))):
            if _is_switched_off(interface):
                interface.leave_out("it is switched off")
                del ends[place], end_traits[place]
        _add_segment(network, ends, end_traits, link.line)
        return
    there, back = _complete_directions(network, end_traits[0], end_traits[1], link.line)
    network.links.append(
        ImportedLink(
            ends[0],
            ends[1],
            capacity=there.capacity,
            capacity_back=back.capacity,
            unit=KBIT_BITS,
            delay=there.delay,
            delay_back=back.delay,
            metric=there.metric,
            metric_back=back.metric,
            loss=there.loss or 0.0,
            loss_back=back.loss or 0.0,
            line=link.line,
        )
    )


def _is_switched_off(element: FileElement) -> bool:
    return any(each.name in ("shutdown", "disable") and each.value for each in element.children)


def _list_interfaces(link: FileElement) -> list[FileElement]:
    """Elements of a link that may hold attributes of one interface."""
    return [
        interface
        for child in link.children
        for interface in ([child] if child.kind == "node" else child.children)
        if child.kind == "node" or child.name == "interfaces"
    ]


def _complete_directions(
    network: ImportedTopology, there: _LinkTraits, back: _LinkTraits, line: int
) -> tuple[_LinkTraits, _LinkTraits]:
    """Complete a direction if only the other is given: cost 1, no delay, the same capacity."""
    if (there.capacity is None) != (back.capacity is None):
        rule = "the same both ways, as one interface has it"
        network.account.add_assumption("capacity of links", rule, line=line)
    defaults = {"metric": 1, "delay": 0}
    for key, value in defaults.items():
        if getattr(there, key) is None and getattr(back, key) is not None:
            there = replace(there, **{key: value})
        elif getattr(back, key) is None and getattr(there, key) is not None:
            back = replace(back, **{key: value})
    return there, back


def _read_link_ends(
    network: ImportedTopology, link: FileElement, traits: _LinkTraits
) -> tuple[list[str], list[_LinkTraits]]:
    """Read the nodes of a link, and its traits in the direction from each.

    A link is `a-b`, a list, a mapping by node, or a list of interfaces.
    """
    if is_sequence(link):
        names = [str(end.value) for end in link.read_children()]
        interfaces: list[FileElement | None] = [None] * len(names)
    elif link.children:
        names, interfaces = [], []
        for interface in require_sequence(link.find("interfaces"), "interfaces"):
            names.append(interface.take_text("node") or str(interface.value or ""))
            interfaces.append(interface)
        for key in link.children:
            if key.name in network.nodes:
                key.is_read, key.kind = True, "node"
                names.append(key.name)
                interfaces.append(key)
        _refuse_unknown_ends(network, link, len(names))
    else:
        text = re.sub(r"\s*-\s*", "-", str(link.value).strip())
        names = _split_hyphenated(network, text)
        interfaces = [None] * len(names)
    ends = [find_node_key(end, network.nodes, link.line) for end in names]
    return ends, [
        traits if interface is None else traits.override(_read_traits(interface))
        for interface in interfaces
    ]


def _refuse_unknown_ends(network: ImportedTopology, link: FileElement, end_count: int) -> None:
    """Refuse a key that must be a node: it is no attribute, and has no value or a place to fill."""
    for key in link.children:
        is_attribute = key.is_read or key.name in LINK_KEYS or key.name.startswith("_")
        is_empty = key.value is None and not key.children
        if not is_attribute and (is_empty or end_count < 2):
            find_node_key(key.name, network.nodes, key.line)


def _split_hyphenated(network: ImportedTopology, text: str) -> list[str]:
    """Split names joined by hyphens, which names may hold as well."""
    ends: list[str] = []
    words = text.split("-")
    while words:
        word_count = next(
            (n for n in range(len(words), 0, -1) if "-".join(words[:n]) in network.nodes), 1
        )
        ends.append("-".join(words[:word_count]))
        words = words[word_count:]
    return ends
