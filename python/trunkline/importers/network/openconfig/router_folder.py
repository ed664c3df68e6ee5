"""OpenConfig: a folder with the JSON of each router, as `export --to openconfig` writes it.

A file's name is its router's; routers come in the order of their router ids, links in that of their
addresses. A link is two interfaces in one subnet. The models have no delay and no rate of a link.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.file_elements import FileElement, make_file_elements
from trunkline.importers.network.openconfig.model_lists import (
    list_entries,
    parse_number,
    take_identity,
    take_names,
)
from trunkline.importers.network.openconfig.qos import QosReader, RouterQos
from trunkline.importers.network.paths import (
    HeadPath,
    LabelEntry,
    add_paths,
    make_address_book,
)
from trunkline.importers.network.static_routes import StaticRouteEntry, add_static_routes
from trunkline.importers.network.topology import ImportedLink, ImportedNode, ImportedTopology
from trunkline.scenario.units import format_rate

_INTERFACES = "openconfig-interfaces:interfaces"
_INSTANCES = "openconfig-network-instance:network-instances"
_IPV4 = "openconfig-if-ip:ipv4"
_COLOUR_GROUPS = {
    "include_any": "include-any-group",
    "include_all": "include-all-group",
    "exclude": "exclude-group",
}
_LINK = re.compile(r": (\S+):\S+->")
"""The name of a link in the description of an interface, where it has one of its own."""
_BACKUP = re.compile(r"protection (\S+): backup ([^\s;]+)")
_BYPASS = re.compile(r"protection (\S+): bypass of ([^;]+)")
"""Protections in the descriptions of tunnels."""
_LOWEST_PRIORITY = "7"  # RFC 3209 section 4.7.1.
_BITS = 1000  # Bandwidths are in kbit/s.


@dataclass(frozen=True)
class _RouterEnd:
    """An interface with an address that another router's may share a subnet with."""

    router: str
    address: IPv4Interface
    link: str  # Name of its link; empty: that of its ends.
    mtu: str  # As a scenario writes it; empty: none.
    metric: float
    colours: tuple[str, ...]
    risks: tuple[str, ...]
    reservable: float
    port: str
    conditioner: str


def read_router_folder(texts: Iterable[tuple[str, str]], title: str) -> ImportedTopology:
    """Read the files of a network.

    texts: Name of each file and its text.
    Raises ImportFault: A file is no JSON of OpenConfig, or three interfaces share a subnet.
    """
    topology = ImportedTopology(title)
    routers: list[tuple[IPv4Address, str, list[_RouterEnd]]] = []
    head_paths: dict[str, list[HeadPath]] = {}
    entries: dict[str, list[LabelEntry]] = {}
    static_routes: dict[str, list[StaticRouteEntry]] = {}
    has_ospf = False
    for name, text in texts:
        try:
            root = make_file_elements(json.loads(text))
        except json.JSONDecodeError as error:
            raise ImportFault(error.lineno, error.colno, f"no JSON: {error.msg}", name) from None
        router = name.removesuffix(".json")
        interfaces = root.find(_INTERFACES)
        if interfaces is None:
            raise ImportFault(1, 1, f"there is no {_INTERFACES}", name)
        instance = _find_instance(root)
        router_id, metrics, colours, risks = _read_instance(instance)
        reservable = _read_reservable(instance, topology)
        addresses = list(_read_addresses(interfaces))
        own = {interface: str(address.ip) for interface, address, *_ in addresses}
        head_paths[router] = list(_read_head_paths(instance, router, own))
        entries[router] = list(_read_label_entries(instance, router))
        static_routes[router] = list(_read_static_routes(instance, router))
        has_ospf |= any(
            each.find("ospfv2") is not None
            for each in list_entries(instance, "protocols", "protocol")
        )
        qos = QosReader(root, topology.account).read()
        _add_qos(topology, qos)
        ends = [
            _RouterEnd(
                router,
                address,
                link,
                mtu,
                metrics.get(interface, 1.0),
                colours.get(interface, ()),
                risks.get(interface, ()),
                reservable.get(interface, 1.0),
                qos.port_of.get(interface, ""),
                qos.conditioner_of.get(interface, ""),
            )
            for interface, address, link, mtu in addresses
        ]
        routers.append((router_id, router, ends))
        _account_for_file(root, topology)
    routers.sort(key=lambda each: each[0])
    for _, router, _ in routers:
        topology.nodes[router] = ImportedNode(router)
    all_ends = [end for _, _, ends in routers for end in ends]
    _join_ends(topology, all_ends)
    book = make_address_book(
        topology,
        {str(router_id): router for router_id, router, _ in routers},
        {str(end.address): end.router for end in all_ends},
    )
    add_paths(
        topology,
        [each for _, router, _ in routers for each in head_paths[router]],
        [each for _, router, _ in routers for each in entries[router]],
        book,
    )
    add_static_routes(
        topology,
        [each for _, router, _ in routers for each in static_routes[router]],
        book,
        has_ospf=has_ospf,
    )
    return topology


def _add_qos(topology: ImportedTopology, qos: RouterQos) -> None:
    """Add the ports and conditioners of a router; equal ones of routers are one."""
    for add, found, places in (
        (topology.add_port, qos.ports, qos.port_of),
        (topology.add_conditioner, qos.conditioners, qos.conditioner_of),
    ):
        names = {name: add(name, keys) for name, keys in found.items()}
        for interface, name in places.items():
            places[interface] = names[name]


def _read_addresses(interfaces: FileElement) -> Iterator[tuple[str, IPv4Interface, str, str]]:
    """Read name, address, link and MTU of each interface."""
    for interface in interfaces.find_all("interface") or ():
        for each in interface.read_children("interface"):
            name = each.take_text("name")
            named = _LINK.search(each.take_text("config", "description"))
            mtu = each.take_text("config", "mtu")
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
                        link = "" if named is None else named[1]
                        yield name, address, link, f"{mtu} B" if mtu else ""


def _find_instance(root: FileElement) -> FileElement:
    instances = root.find(_INSTANCES, "network-instance")
    if instances is None or not instances.children:
        raise ImportFault(1, 1, f"there is no {_INSTANCES}")
    return instances.read_children()[0]


def _read_instance(
    instance: FileElement,
) -> tuple[IPv4Address, dict[str, float], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Router id, metrics, colours and risks by interface, of the first network instance."""
    metrics: dict[str, float] = {}
    colours: dict[str, tuple[str, ...]] = {}
    risks: dict[str, tuple[str, ...]] = {}
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
        colours[name] = take_names(entry.find("config", "admin-group"))
        risks[name] = take_names(entry.find("config", "srlg-membership"))
    return router_id, metrics, colours, risks


def _read_reservable(instance: FileElement, topology: ImportedTopology) -> dict[str, float]:
    """Shares that paths may reserve, by interface; the topology is signalled if there are any."""
    found = list_entries(
        instance, "mpls", "signaling-protocols", "rsvp-te", "interface-attributes", "interface"
    )
    topology.is_signalled |= bool(found)
    topology.has_ldp |= instance.find("mpls", "signaling-protocols", "ldp", "global") is not None
    return {
        each.take_text("interface-id"): parse_number(
            each.take_text("subscription", "config", "subscription") or "100"
        )
        / 100
        for each in found
    }


def _read_head_paths(
    instance: FileElement, router: str, addresses: Mapping[str, str]
) -> Iterator[HeadPath]:
    """Read the tunnels with their explicit routes; a route that is none's own is a backup's."""
    constrained = instance.find("mpls", "lsps", "constrained-path")
    if constrained is None:
        return
    tunnels = {
        tunnel.name: tunnel
        for each in list_entries(constrained, "tunnels", "tunnel")
        for tunnel in [_read_tunnel(each, router, addresses)]
    }
    routes = list_entries(constrained, "named-explicit-paths", "named-explicit-path")
    for each in routes:
        name = each.take_text("name")
        hops = list_entries(each, "explicit-route-objects", "explicit-route-object")
        hops.sort(key=lambda hop: parse_number(hop.take_text("index")))
        tunnel = tunnels.get(name, HeadPath(router, name, ()))
        far_ends = tuple(hop.take_text("config", "address") for hop in hops)
        yield replace(tunnel, addresses=far_ends)


def _read_tunnel(tunnel: FileElement, router: str, own: Mapping[str, str]) -> HeadPath:
    """Read a tunnel without its route; ``own``: addresses of the router's interfaces."""
    name = tunnel.take_text("name")
    kind = take_identity(tunnel, "config", "signaling-protocol")
    repair = take_identity(tunnel, "config", "protection-style-requested")
    tunnel.find("p2p-tunnel-attributes", "config", "destination")
    keys: dict[str, object] = {}
    colours: dict[str, object] = {}
    kbps = parse_number(tunnel.take_text("bandwidth", "config", "set-bandwidth") or "0")
    if kbps:
        keys["bandwidth"] = format_rate(round(kbps * _BITS))
    paths = list_entries(tunnel, "p2p-tunnel-attributes", "p2p-primary-path", "p2p-primary-path")
    for primary in paths[:1]:
        for key, leaf in (("setup", "setup-priority"), ("hold", "hold-priority")):
            priority = int(parse_number(primary.take_text("config", leaf) or _LOWEST_PRIORITY))
            if str(priority) != _LOWEST_PRIORITY:
                keys[key] = priority
        for key, group in _COLOUR_GROUPS.items():
            names = take_names(primary.find("admin-groups", "config", group))
            if names:
                colours[key] = list(names)
    standbys = list_entries(
        tunnel, "p2p-tunnel-attributes", "p2p-secondary-paths", "p2p-secondary-path"
    )
    description = tunnel.take_text("config", "description")
    protection_of = {backup: name for name, backup in _BACKUP.findall(description)}
    backups = [each.take_text("config", "explicit-path-name") for each in standbys]
    duty = _BYPASS.search(description)
    around = (
        None
        if duty is None
        else (duty[1], tuple(own[each] for each in duty[2].split(", ") if each in own))
    )
    return HeadPath(
        router,
        name,
        (),
        kind == "PATH_SETUP_SR",
        keys,
        colours,
        tuple((protection_of.get(backup, backup), backup) for backup in backups),
        around,
        repair not in ("", "UNPROTECTED"),
    )


def _read_label_entries(instance: FileElement, router: str) -> Iterator[LabelEntry]:
    for each in list_entries(instance, "mpls", "lsps", "static-lsps", "static-lsp"):
        name = each.take_text("name")
        for role in ("ingress", "transit", "egress"):
            config = each.find(role, "config")
            if config is not None:
                yield LabelEntry(
                    router,
                    name,
                    config.take_text("incoming-label"),
                    config.take_text("next-hop"),
                    config.take_text("push-label"),
                )


def _read_static_routes(instance: FileElement, router: str) -> Iterator[StaticRouteEntry]:
    """Read the static routes of a router, in the order of the indices of their next hops."""
    found: list[tuple[float, StaticRouteEntry]] = []
    for protocol in list_entries(instance, "protocols", "protocol"):
        for route in list_entries(protocol, "static-routes", "static"):
            prefix = route.take_text("prefix")
            for hop in list_entries(route, "next-hops", "next-hop"):
                address = hop.take_text("config", "next-hop")
                metric = int(parse_number(hop.take_text("config", "metric") or "1"))
                entry = StaticRouteEntry(router, prefix, address, metric)
                found.append((parse_number(hop.take_text("index")), entry))
    found.sort(key=lambda each: each[0])
    yield from (entry for _, entry in found)


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
                name=first.link or second.link,
                metric=first.metric,
                metric_back=second.metric,
                colours=first.colours,
                risks=first.risks,
                reservable=first.reservable,
                port=first.port,
                port_back=second.port,
                mtu=first.mtu,
                mtu_back=second.mtu,
                ingress=second.conditioner,
                ingress_back=first.conditioner,
            )
        )
