"""Cisco IOS XR: the text of its command line, and the same as NETCONF XML, for each router.

Tunnels are ``interface tunnel-te`` with explicit paths and explicit bypasses, segment lists are
policies of ``segment-routing traffic-eng``, queues are policy-maps. The XML is of the models of
release 6.6.
"""

import math
from collections.abc import Iterator
from typing import Final

from trunkline.routers.hardware_queues import HardwareQueue, list_queues_by_policy
from trunkline.routers.iosxr.interfaces import (
    add_interfaces,
    add_ldp,
    add_ospf,
    list_interface,
    list_ldp,
    list_ospf,
)
from trunkline.routers.iosxr.names import name_interface, number_tunnels
from trunkline.routers.iosxr.queueing import (
    add_policies,
    list_class_maps,
    list_imposition_map,
    list_link_shapers,
    list_policer_map,
    list_policy_map,
)
from trunkline.routers.iosxr.segments import add_segment_routing, list_segment_routing
from trunkline.routers.iosxr.tunnels import (
    add_static_labels,
    add_static_routes,
    add_te,
    list_static_labels,
    list_static_routes,
    list_te,
    list_tunnel,
)
from trunkline.routers.iosxr.xml_elements import XmlWriter, add_element, add_path
from trunkline.routers.router_config import Router, RouterNetwork, TargetFiles

NAME: Final = "iosxr"
_MAX_TUNNELS: Final = 65_535


def write_iosxr(network: RouterNetwork) -> TargetFiles:
    """Write a file of commands and one of XML for each router."""
    files = TargetFiles()
    for router in network.routers:
        queues = list_queues_by_policy(files, network, router)
        _note_omissions(files, network, router)
        lines = "\n".join(_list_lines(network, router, queues)) + "\n"
        files.texts[f"{router.name}.cfg"] = lines
        files.texts[f"{router.name}.xml"] = _write_xml(network, router, queues)
    return files


def _note_omissions(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    steered = {each.path for each in router.steering}
    for each in router.steering:
        if each.dscps:
            files.omit(
                router.name,
                f"path {each.path}: traffic by DSCP",
                "steering by forward-class is not written; nearest: a trunk without dscp",
                ("paths", each.path),
            )
    for entry in router.labels:
        if network.is_signalled:
            break
        if entry.in_label is None and entry.path in steered:
            files.omit(
                router.name,
                f"path {entry.path}: its head end",
                "a static LSP of IOS XR begins at a label; nearest: signalling: rsvp-te",
                ("paths", entry.path),
            )
        if len(entry.out_labels) > 1:
            reason = "a static LSP has one outgoing label; nearest: a path that rides no tunnel"
            files.omit_label_stack(router, entry, reason)
    if len(number_tunnels(router)) > _MAX_TUNNELS:
        files.omit(
            router.name,
            f"{len(number_tunnels(router))} tunnels",
            f"tunnel-te has numbers 0 to {_MAX_TUNNELS}; nearest: fewer paths",
            ("paths",),
        )
    for tunnel in router.tunnels:
        kbps = math.ceil(tunnel.bandwidth / 1000)
        files.note_rounding(
            router.name, f"path {tunnel.name}", "bandwidth", tunnel.bandwidth, kbps * 1000, "bit/s"
        )
        if len(tunnel.standby) > 1:
            files.omit(
                router.name,
                f"path {tunnel.name}: {len(tunnel.standby)} backups",
                "a path option has one standby; nearest: one backup",
                ("paths", tunnel.name),
            )
    for name, policy in (
        (each, network.port_policies[each]) for each in router.list_port_policies()
    ):
        for queue in policy.classes:
            for curve in queue.curves:
                files.omit(
                    router.name,
                    f"port {name} class {queue.name}: max_p {curve['max_p']:g}",
                    "the probability at the upper threshold is the line card's",
                    ("ports", policy.port, "classes", queue.name, "queue", "aqm"),
                    changes_design=False,
                )
        _note_shaper(files, router, f"port {name}", policy.shaper_rate)
    for interface in router.interfaces:
        _note_shaper(files, router, f"link {interface.arc}", interface.plain_shaper_rate)
        if router.imposition and interface.policer:
            files.omit(
                router.name,
                f"traffic classes of what arrives at {name_interface(interface)}",
                "an interface has one input policy, and the policer is it; nearest: no map",
                ("paths",),
            )


def _note_shaper(files: TargetFiles, router: Router, element: str, rate: int | None) -> None:
    if rate is not None:
        kbps = math.ceil(rate / 1000)
        files.note_rounding(router.name, element, "shaper", rate, kbps * 1000, "bit/s")


def _list_lines(
    network: RouterNetwork, router: Router, queues: dict[str, list[HardwareQueue]]
) -> Iterator[str]:
    yield f"hostname {router.name}"
    yield from list_class_maps(network, router, queues)
    for name, classes in queues.items():
        yield from list_policy_map(network.port_policies[name], classes)
    yield from list_link_shapers(router)
    for name in router.list_policers():
        yield from list_policer_map(name, network.policers[name])
    if router.imposition:
        yield from list_imposition_map(router)
    yield from ("interface Loopback0", f" ipv4 address {router.router_id} 255.255.255.255", "!")
    for each in router.interfaces:
        yield from list_interface(network, router, each)
    numbers = number_tunnels(router)
    for tunnel in router.tunnels:
        if tunnel.name in numbers:
            yield from list_tunnel(tunnel, numbers[tunnel.name])
    for tunnel in router.tunnels:
        yield f"explicit-path name {tunnel.name}"
        for index, hop in enumerate(tunnel.hops, 1):
            yield f" index {index * 10} next-address strict ipv4 unicast {hop.address}"
        yield "!"
    yield from list_static_routes(router, numbers)
    if network.runs_igp:
        yield from list_ospf(network, router)
    if network.is_signalled:
        yield from list_te(network, router, numbers)
    elif router.labels:
        yield from list_static_labels(router)
    if network.has_ldp:
        yield from list_ldp(router)
    if network.hides_ttl:
        yield "mpls ip-ttl-propagate disable"
    if network.srgb:
        yield from list_segment_routing(network, router)
    yield "end"


def _write_xml(
    network: RouterNetwork, router: Router, queues: dict[str, list[HardwareQueue]]
) -> str:
    writer = XmlWriter()
    numbers = number_tunnels(router)
    add_element(writer.add_module("shellutil-cfg", "host-names"), "host-name", router.name)
    add_interfaces(writer, network, router, numbers)
    add_policies(writer, network, router, queues)
    if router.tunnels:
        path = add_path(writer.add_module("ip-iep-cfg", "ip-explicit-paths"), "paths", "path")
        add_element(path, "type", "name")
        for tunnel in router.tunnels:
            entry = add_element(path, "name")
            add_element(entry, "name", tunnel.name)
            hops = add_element(entry, "hops")
            for index, each in enumerate(tunnel.hops, 1):
                hop = add_element(hops, "hop")
                add_element(hop, "index-number", index * 10)
                add_element(hop, "ip-address", each.address)
                add_element(hop, "hop-type", "next-strict")
    add_static_routes(writer, router, numbers)
    if network.runs_igp:
        add_ospf(writer, network, router)
    if network.is_signalled:
        add_te(writer, network, router, numbers)
    elif router.labels:
        add_static_labels(writer, router)
    if network.has_ldp:
        add_ldp(writer, router)
    if network.hides_ttl:
        add_element(
            writer.add_module("mpls-lsd-cfg", "mpls-lsd"), "mpls-ip-ttl-propagate-disable", "all"
        )
    if network.srgb:
        add_segment_routing(writer, network, router)
    return writer.to_text()
