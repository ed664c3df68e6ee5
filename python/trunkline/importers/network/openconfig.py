"""OpenConfig: a folder with the JSON of each router, as `export --to openconfig` writes it.

A file's name is its router's; routers come in the order of their router ids, links in that of their
addresses. A link is two interfaces in one subnet. The models have no delay and no rate of a link.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement, make_file_elements
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology

_INTERFACES = "openconfig-interfaces:interfaces"
_INSTANCES = "openconfig-network-instance:network-instances"
_IPV4 = "openconfig-if-ip:ipv4"


@dataclass(frozen=True)
class _RouterEnd:
    """An interface with an address that another router's may share a subnet with."""

    router: str
    address: IPv4Interface
    metric: float
    colours: tuple[str, ...]
    risks: tuple[str, ...]


def read_router_folder(texts: Iterable[tuple[str, str]], title: str) -> ImportedTopology:
    """Read the files of a network.

    texts: Name of each file and its text.
    Raises ImportFault: A file is no JSON of OpenConfig, or three interfaces share a subnet.
    """
    topology = ImportedTopology(title)
    routers: list[tuple[IPv4Address, str, list[_RouterEnd]]] = []
    for name, text in texts:
        try:
            root = make_file_elements(json.loads(text))
        except json.JSONDecodeError as error:
            raise ImportFault(error.lineno, error.colno, f"no JSON: {error.msg}", name) from None
        router = name.removesuffix(".json")
        interfaces = root.find(_INTERFACES)
        if interfaces is None:
            raise ImportFault(1, 1, f"there is no {_INTERFACES}", name)
        router_id, metrics, colours, risks = _read_instance(root)
        ends = [
            _RouterEnd(
                router,
                address,
                metrics.get(interface, 1.0),
                colours.get(interface, ()),
                risks.get(interface, ()),
            )
            for interface, address in _read_addresses(interfaces)
        ]
        routers.append((router_id, router, ends))
        _account_for_file(root, topology)
    for _, router, _ in sorted(routers, key=lambda each: each[0]):
        topology.nodes[router] = ImportedNode(router)
    _join_ends(topology, [end for _, _, ends in routers for end in ends])
    return topology


def _read_addresses(interfaces: FileElement) -> Iterator[tuple[str, IPv4Interface]]:
    for interface in interfaces.find_all("interface") or ():
        for each in interface.read_children("interface"):
            name = each.take_text("name")
            units = each.find("subinterfaces", "subinterface")
            for unit in units.read_children() if units is not None else ():
                addresses = unit.find(_IPV4, "addresses", "address")
                for entry in addresses.read_children() if addresses is not None else ():
                    text = f"{entry.take_text('ip')}/{entry.take_text('config', 'prefix-length')}"
                    try:
                        address = IPv4Interface(text)
                    except ValueError:
                        raise ImportFault(0, 1, f"{text} is no address") from None
                    if address.network.prefixlen < 32:
                        yield name, address


def _read_instance(
    root: FileElement,
) -> tuple[IPv4Address, dict[str, float], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Router id, metrics, colours and risks by interface, of the first network instance."""
    metrics: dict[str, float] = {}
    colours: dict[str, tuple[str, ...]] = {}
    risks: dict[str, tuple[str, ...]] = {}
    instances = root.find(_INSTANCES, "network-instance")
    if instances is None or not instances.children:
        raise ImportFault(1, 1, f"there is no {_INSTANCES}")
    instance = instances.read_children()[0]
    try:
        router_id = IPv4Address(instance.take_text("config", "router-id"))
    except ValueError:
        raise ImportFault(0, 1, "the network instance has no router-id") from None
    protocols = instance.find("protocols", "protocol")
    for protocol in protocols.read_children() if protocols is not None else ():
        areas = protocol.find("ospfv2", "areas", "area")
        for area in areas.read_children() if areas is not None else ():
            entries = area.find("interfaces", "interface")
            for entry in entries.read_children() if entries is not None else ():
                cost = entry.take("config", "metric")
                if cost is not None:
                    metrics[entry.take_text("id")] = float(cost)
    attributes = instance.find("mpls", "te-interface-attributes", "interface")
    for entry in attributes.read_children() if attributes is not None else ():
        name = entry.take_text("interface-id")
        colours[name] = _take_names(entry.find("config", "admin-group"))
        risks[name] = _take_names(entry.find("config", "srlg-membership"))
    return router_id, metrics, colours, risks


def _account_for_file(root: FileElement, topology: ImportedTopology) -> None:
    """Counts the leaves of a router's file by their names, which paths of models would hide."""
    elements = [root]
    while elements:
        element = elements.pop()
        elements += element.children
        if element.children:
            continue
        if element.is_read:
            topology.account.add_read(element.name if element.name != "item" else "names")
        else:
            topology.account.add_left_out("other leaves", "they configure the router")


def _take_names(element: FileElement | None) -> tuple[str, ...]:
    children = element.read_children() if element is not None else ()
    return tuple(str(each.value) for each in children)


def _join_ends(topology: ImportedTopology, ends: list[_RouterEnd]) -> None:
    """A link for each subnet that two routers share, in the order of their addresses."""
    by_network: dict[IPv4Network, list[_RouterEnd]] = {}
    for end in sorted(ends, key=lambda each: each.address.ip):
        by_network.setdefault(end.address.network, []).append(end)
    for network, members in by_network.items():
        if len(members) > 2:
            raise ImportFault(0, 1, f"{len(members)} interfaces are in {network}; a link has two")
        if len(members) < 2:
            reason = "nothing else is in its subnet"
            topology.account.add_left_out(f"interface {members[0].address}", reason)
            continue
        first, second = members
        topology.links.append(
            ImportedLink(
                first.router,
                second.router,
                metric=first.metric,
                metric_back=second.metric,
                colours=first.colours,
                risks=first.risks,
            )
        )
