"""Tunnels of RSVP-TE with their explicit paths, routes and bypasses; static LSPs."""

import math
from collections.abc import Iterator
from xml.etree import ElementTree

from trunkline.routers.iosxr.names import name_interface
from trunkline.routers.iosxr.xml_elements import (
    XmlWriter,
    add_element,
    add_interface,
    add_path,
)
from trunkline.routers.router_config import Router, RouterNetwork, Tunnel


def list_tunnel(tunnel: Tunnel, number: int) -> Iterator[str]:
    """List a tunnel at its head end."""
    yield f"interface tunnel-te{number}"
    yield f" description {tunnel.name}"
    yield " ipv4 unnumbered Loopback0"
    yield f" priority {tunnel.setup} {tunnel.hold}"
    yield f" signalled-name {tunnel.name}"
    if tunnel.bandwidth:
        yield f" signalled-bandwidth {math.ceil(tunnel.bandwidth / 1000)}"
    yield f" destination {tunnel.destination}"
    if tunnel.repair:
        yield " fast-reroute"
        if tunnel.repair == "node" or tunnel.repairs_bandwidth:
            words = ["bandwidth"] * tunnel.repairs_bandwidth
            words += ["node"] * (tunnel.repair == "node")
            yield f" fast-reroute protect {' '.join(words)}"
    for key, colours in (
        ("include", tunnel.include_any),
        ("include-strict", tunnel.include_all),
        ("exclude", tunnel.exclude),
    ):
        if colours:
            yield f" affinity {key} {' '.join(colours)}"
    if tunnel.standby:
        yield " path-protection"
        yield f" path-option 1 explicit name {tunnel.name} protected-by 2"
        yield f" path-option 2 explicit name {tunnel.standby[0]}"
    else:
        yield f" path-option 1 explicit name {tunnel.name}"
    if tunnel.is_rerouted:
        yield " path-option 10 dynamic"
    yield "!"


def list_static_routes(router: Router, numbers: dict[str, int]) -> Iterator[str]:
    """List the routes of destinations into tunnels, and those that are set by hand."""
    routes = [
        f"{each.address}/32 tunnel-te{numbers[each.path]}"
        for each in router.steering
        if each.path in numbers and not each.dscps
    ]
    routes += [
        f"{each.prefix} {name_interface(each.interface)} {each.interface.far_address.ip} "
        f"{each.distance}"
        for each in router.static_routes
    ]
    if routes:
        yield from ("router static", " address-family ipv4 unicast")
        yield from (f"  {route}" for route in routes)
        yield from (" !", "!")


def _list_backups(router: Router, numbers: dict[str, int]) -> dict[str, list[int]]:
    """List the tunnels that go around an interface, by its name."""
    backups: dict[str, list[int]] = {}
    for tunnel in router.tunnels:
        for each in tunnel.protects:
            backups.setdefault(name_interface(each), []).append(numbers[tunnel.name])
    return backups


def list_te(network: RouterNetwork, router: Router, numbers: dict[str, int]) -> Iterator[str]:
    """List bandwidth of links for tunnels, colours, and the bypasses of interfaces."""
    backups = _list_backups(router, numbers)
    yield "rsvp"
    for each in router.interfaces:
        yield f" interface {name_interface(each)}"
        yield f"  bandwidth {each.reservable // 1000}"
        yield " !"
    yield "!"
    yield "mpls traffic-eng"
    for each in router.interfaces:
        name = name_interface(each)
        yield f" interface {name}"
        yield f"  admin-weight {each.te_metric}"
        if each.colours:
            yield f"  attribute-names {' '.join(each.colours)}"
        for number in backups.get(name, ()):
            yield f"  backup-path tunnel-te {number}"
        yield " !"
    for bit, colour in enumerate(network.colours):
        yield f" affinity-map {colour} bit-position {bit}"
    yield "!"
    if network.risks:
        yield "srlg"
        for each in router.interfaces:
            if each.risks:
                yield f" interface {name_interface(each)}"
                for index, risk in enumerate(each.risks, 1):
                    yield f"  {index * 10} value {network.risks.index(risk) + 1}"
                yield " !"
        yield "!"


def list_static_labels(router: Router) -> Iterator[str]:
    """Static LSPs."""
    yield "mpls static"
    for each in router.interfaces:
        yield f" interface {name_interface(each)}"
        yield " !"
    for entry in router.labels:
        if entry.in_label is None or len(entry.out_labels) > 1:
            continue
        yield f" lsp {entry.path}-{entry.in_label}"
        yield f"  in-label {entry.in_label} allocate"
        yield "  forward"
        if entry.interface is None:
            yield "   path 1 pop-and-lookup"
        else:
            out = _format_out_label(entry.out_labels)
            name = name_interface(entry.interface)
            yield f"   path 1 nexthop {name} {entry.interface.far_address.ip} out-label {out}"
        yield from ("  !", " !")
    yield "!"


def _format_out_label(labels: tuple[int, ...]) -> str:
    return "pop" if not labels else "exp-null" if labels[0] == 0 else str(labels[0])


def add_tunnel(parent: ElementTree.Element, tunnel: Tunnel, number: int) -> None:
    """The same as `list_tunnel`."""
    entry = add_interface(parent, f"tunnel-te{number}", tunnel.name, virtual=True)
    network = add_element(entry, "ipv4-network", module="ipv4-io-cfg")
    add_element(add_element(network, "addresses"), "unnumbered", "Loopback0")
    te = add_element(entry, "tunnel-te-attributes", module="mpls-te-cfg")
    options = add_element(te, "path-option-protects")
    option = add_element(options, "path-option-protect")
    add_element(option, "protection", "active")
    listed = [(1, "explicit-name", tunnel.name)]
    listed += [(2, "explicit-name", name) for name in tunnel.standby[:1]]
    listed += [(10, "dynamic", "")] * tunnel.is_rerouted
    choices = add_element(option, "path-options")
    for level, kind, name in listed:
        choice = add_element(choices, "path-option")
        add_element(choice, "preference-level", level)
        add_element(choice, "path-type", kind)
        if name:
            add_element(choice, "path-name", name)
        if level == 1 and tunnel.standby:
            add_element(choice, "protected-by-preference-level", 2)
    if tunnel.standby:
        add_element(add_element(te, "tunnel-path-protection"), "enable")
    priority = add_element(te, "priority")
    add_element(priority, "setup-priority", tunnel.setup)
    add_element(priority, "hold-priority", tunnel.hold)
    add_element(te, "destination", tunnel.destination)
    if tunnel.bandwidth:
        bandwidth = add_element(te, "bandwidth")
        add_element(bandwidth, "dste-type", "standard-dste")
        add_element(bandwidth, "class-or-pool-type", 0)
        add_element(bandwidth, "bandwidth", math.ceil(tunnel.bandwidth / 1000))
    if tunnel.repair:
        repair = add_element(te, "fast-reroute")
        add_element(repair, "bandwidth-protection", int(tunnel.repairs_bandwidth))
        add_element(repair, "node-protection", int(tunnel.repair == "node"))
    add_element(te, "signalled-name", tunnel.name)
    _add_affinities(te, tunnel)


def _add_affinities(te: ElementTree.Element, tunnel: Tunnel) -> None:
    """Add each list of colours to the entry of the list that has as many keys."""
    rules = (
        ("include", tunnel.include_any),
        ("include-strict", tunnel.include_all),
        ("exclude", tunnel.exclude),
    )
    if not any(colours for _, colours in rules):
        return
    groups = add_element(te, "new-style-affinity-affinity-types")
    for kind, colours in rules:
        if colours:
            keys = [f"affinity{index}" for index in range(1, len(colours) + 1)]
            entry = add_element(groups, "-".join(["new-style-affinity-affinity-type", *keys]))
            add_element(entry, "affinity-type", kind)
            for key, colour in zip(keys, colours, strict=True):
                add_element(entry, key, colour)


def add_static_routes(writer: XmlWriter, router: Router, numbers: dict[str, int]) -> None:
    """The same as `list_static_routes`."""
    routes = [each for each in router.steering if each.path in numbers and not each.dscps]
    if not routes and not router.static_routes:
        return
    topology = add_path(
        writer.add_module("ip-static-cfg", "router-static"),
        "default-vrf",
        "address-family",
        "vrfipv4",
        "vrf-unicast",
        "vrf-prefixes",
    )
    for each in routes:
        prefix = add_element(topology, "vrf-prefix")
        add_element(prefix, "prefix", each.address)
        add_element(prefix, "prefix-length", 32)
        hop = add_path(prefix, "vrf-route", "vrf-next-hop-table", "vrf-next-hop-interface-name")
        add_element(hop, "interface-name", f"tunnel-te{numbers[each.path]}")
    for network in dict.fromkeys(route.prefix for route in router.static_routes):
        prefix = add_element(topology, "vrf-prefix")
        add_element(prefix, "prefix", network.network_address)
        add_element(prefix, "prefix-length", network.prefixlen)
        table = add_path(prefix, "vrf-route", "vrf-next-hop-table")
        for route in (each for each in router.static_routes if each.prefix == network):
            hop = add_element(table, "vrf-next-hop-interface-name-next-hop-address")
            add_element(hop, "interface-name", name_interface(route.interface))
            add_element(hop, "next-hop-address", route.interface.far_address.ip)
            add_element(hop, "metric", route.distance)


def add_te(
    writer: XmlWriter, network: RouterNetwork, router: Router, numbers: dict[str, int]
) -> None:
    """The same as `list_te`."""
    rsvp = add_element(writer.add_module("ip-rsvp-cfg", "rsvp"), "interfaces")
    for each in router.interfaces:
        entry = add_element(rsvp, "interface")
        add_element(entry, "name", name_interface(each))
        reserved = add_path(entry, "bandwidth", "rdm")
        add_element(reserved, "bc0-bandwidth", each.reservable // 1000)
        add_element(reserved, "rdm-keyword", "not-specified")
        add_element(reserved, "bc0-keyword", "not-specified")
        add_element(reserved, "bandwidth-mode", "absolute")
    te = writer.add_module("mpls-te-cfg", "mpls-te")
    if network.colours:
        mappings = add_path(te, "global-attributes", "affinity-mappings")
        for bit, colour in enumerate(network.colours):
            mapping = add_element(mappings, "affinity-mapping")
            add_element(mapping, "affinity-name", colour)
            add_element(mapping, "value-type", "bit-position")
            add_element(mapping, "value", f"{bit:x}")
    backups = _list_backups(router, numbers)
    interfaces = add_element(te, "interfaces")
    for each in router.interfaces:
        entry = add_element(interfaces, "interface")
        add_element(entry, "interface-name", name_interface(each))
        lcac = add_element(entry, "lcac")
        add_element(lcac, "enable")
        add_element(lcac, "admin-weight", each.te_metric)
        if each.colours:
            names = add_element(lcac, "attribute-name-xr")
            for colour in each.colours:
                add_element(names, "attribute-name", colour)
        if each.risks:
            srlgs = add_element(lcac, "srlgs")
            for risk in each.risks:
                add_element(
                    add_element(srlgs, "srlg"), "srlg-number", network.risks.index(risk) + 1
                )
        if backups.get(name_interface(each)):
            paths = add_path(entry, "global-attributes", "backup-paths")
            for number in backups[name_interface(each)]:
                add_element(add_element(paths, "backup-path"), "tunnel-number", number)


def add_static_labels(writer: XmlWriter, router: Router) -> None:
    """The same as `list_static_labels`."""
    static = writer.add_module("mpls-static-cfg", "mpls-static")
    interfaces = add_element(static, "interfaces")
    for each in router.interfaces:
        add_element(add_element(interfaces, "interface"), "interface-name", name_interface(each))
    lsps = add_path(static, "default-vrf", "label-switched-paths")
    for entry in router.labels:
        if entry.in_label is None or len(entry.out_labels) > 1:
            continue
        lsp = add_element(lsps, "label-switched-path")
        add_element(lsp, "lsp-name", f"{entry.path}-{entry.in_label}")
        label = add_element(lsp, "in-label")
        add_element(label, "in-label-value", entry.in_label)
        add_element(label, "label-mode", "lsp")
        path = add_path(lsp, "paths", "path")
        add_element(path, "path-id", 1)
        if entry.interface is None:
            add_element(path, "path-type", "pop-and-lookup")
            continue
        add_element(path, "path-type", "cross-connect")
        out = _format_out_label(entry.out_labels)
        add_element(path, "label-type", "out-label" if out.isdigit() else out)
        if out.isdigit():
            add_element(path, "next-hop-label", out)
        add_element(path, "next-hop-address", entry.interface.far_address.ip)
        add_element(path, "interface-name", name_interface(entry.interface))
        add_element(path, "afi", "ipv4")
