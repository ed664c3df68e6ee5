"""Interfaces, OSPF and LDP."""

from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

from trunkline.routers.iosxr.names import name_interface, name_link_shaper
from trunkline.routers.iosxr.tunnels import add_tunnel
from trunkline.routers.iosxr.xml_elements import (
    XmlWriter,
    add_element,
    add_interface,
    add_path,
)
from trunkline.routers.router_config import Router, RouterInterface, RouterNetwork

_MAX_MTU: Final = 9216
_ETHERNET_HEADER: Final = 14


def list_interface(
    network: RouterNetwork, router: Router, interface: RouterInterface
) -> Iterator[str]:
    """List an interface of a link."""
    yield f"interface {name_interface(interface)}"
    yield f" description to {interface.neighbour}"
    incoming, outgoing = _name_service_policies(network, router, interface)
    if incoming:
        yield f" service-policy input {incoming}"
    if outgoing:
        yield f" service-policy output {outgoing}"
    if 0 < interface.mtu <= _MAX_MTU - _ETHERNET_HEADER:
        yield f" mtu {interface.mtu + _ETHERNET_HEADER}"
    yield f" ipv4 address {interface.address.ip} {interface.address.netmask}"
    # Until it is configured an interface is shut down.
    yield from (" no shutdown", "!")


def _name_service_policies(
    network: RouterNetwork, router: Router, interface: RouterInterface
) -> tuple[str, str]:
    """Policies of input and output; empty for none."""
    incoming = "imposition" if router.imposition else ""
    if interface.policer and network.policers[interface.policer]:
        incoming = f"{interface.policer}-in"
    policy = network.port_policies.get(interface.policy)
    if policy is None:
        rate = interface.plain_shaper_rate
        return incoming, "" if rate is None else name_link_shaper(rate)
    return incoming, policy.name if policy.shaper_rate is None else f"{policy.name}-port"


def list_ospf(network: RouterNetwork, router: Router) -> Iterator[str]:
    """OSPF in one area."""
    initial, second, maximum = network.igp.spf_ms
    yield "router ospf 1"
    yield f" router-id {router.router_id}"
    if network.srgb:
        yield " segment-routing mpls"
    if network.igp.repairs_prefixes:
        yield " fast-reroute per-prefix"
        yield " fast-reroute per-prefix ti-lfa enable"
    yield f" timers throttle spf {initial} {second} {maximum}"
    yield " area 0"
    if network.is_signalled or network.srgb:
        yield "  mpls traffic-eng"
    yield "  interface Loopback0"
    yield "   passive enable"
    if network.srgb:
        yield f"   prefix-sid index {router.node_label_index}"
    yield "  !"
    for each in router.interfaces:
        yield f"  interface {name_interface(each)}"
        yield f"   cost {each.metric}"
        yield "   network point-to-point"
        yield f"   hello-interval {network.igp.hello_s}"
        yield f"   dead-interval {network.igp.dead_s}"
        yield "  !"
    yield " !"
    if network.is_signalled or network.srgb:
        yield " mpls traffic-eng router-id Loopback0"
    yield "!"


def _add_address(entry: ElementTree.Element, address: object, netmask: object) -> None:
    network = add_element(entry, "ipv4-network", module="ipv4-io-cfg")
    primary = add_path(network, "addresses", "primary")
    add_element(primary, "address", address)
    add_element(primary, "netmask", netmask)


def add_interfaces(
    writer: XmlWriter, network: RouterNetwork, router: Router, numbers: dict[str, int]
) -> None:
    """Add the interfaces of links and tunnels, and the loopback."""
    interfaces = writer.add_module("ifmgr-cfg", "interface-configurations")
    loopback = add_interface(interfaces, "Loopback0", "", virtual=True)
    _add_address(loopback, router.router_id, "255.255.255.255")
    for each in router.interfaces:
        entry = add_interface(interfaces, name_interface(each), f"to {each.neighbour}")
        if 0 < each.mtu <= _MAX_MTU - _ETHERNET_HEADER:
            mtu = add_path(entry, "mtus", "mtu")
            add_element(mtu, "owner", name_interface(each).rstrip("0123456789/"))
            add_element(mtu, "mtu", each.mtu + _ETHERNET_HEADER)
        _add_address(entry, each.address.ip, each.address.netmask)
        incoming, outgoing = _name_service_policies(network, router, each)
        if incoming or outgoing:
            qos = add_element(entry, "qos", module="qos-ma-cfg")
            for direction, policy in (("input", incoming), ("output", outgoing)):
                if policy:
                    service = add_path(qos, direction, "service-policy")
                    add_element(service, "service-policy-name", policy)
    for tunnel in router.tunnels:
        if tunnel.name in numbers:
            add_tunnel(interfaces, tunnel, numbers[tunnel.name])


def add_ospf(writer: XmlWriter, network: RouterNetwork, router: Router) -> None:
    """The same as `list_ospf`."""
    process = add_path(writer.add_module("ipv4-ospf-cfg", "ospf"), "processes", "process")
    add_element(process, "process-name", "1")
    vrf = add_element(process, "default-vrf")
    add_element(vrf, "router-id", router.router_id)
    has_te = network.is_signalled or network.srgb is not None
    if has_te:
        add_element(add_path(vrf, "mpls", "mpls-router-id"), "interface-name", "Loopback0")
    scope = ElementTree.Element("process-scope")
    if network.srgb is not None:
        add_element(scope, "segment-routing", "mpls")
    if network.igp.repairs_prefixes:
        repair = add_path(scope, "fast-reroute")
        add_element(add_element(repair, "per-prefix"), "topology-independent-lfa", "true")
        add_element(repair, "fast-reroute-enable", "enable-per-prefix")
    if len(scope):
        vrf.append(scope)
    area = add_path(vrf, "area-addresses", "area-area-id")
    add_element(area, "area-id", 0)
    if has_te:
        add_element(area, "mpls-traffic-eng")
    scopes = add_element(area, "name-scopes")
    loopback = add_element(scopes, "name-scope")
    add_element(loopback, "interface-name", "Loopback0")
    add_element(loopback, "passive", "true")
    if network.srgb is not None:
        segment = add_element(loopback, "prefix-sid")
        add_element(segment, "type", "index")
        add_element(segment, "sid-value", router.node_label_index)
        add_element(segment, "explicit-null", "false")
        add_element(segment, "n-flag-clear", "false")
    for each in router.interfaces:
        entry = add_element(scopes, "name-scope")
        add_element(entry, "interface-name", name_interface(each))
        add_element(entry, "cost", each.metric)
        add_element(entry, "network-type", "point-to-point")
        add_element(entry, "hello-interval", network.igp.hello_s)
        add_element(add_element(entry, "dead-interval-minimal"), "interval", network.igp.dead_s)


def list_ldp(router: Router) -> Iterator[str]:
    """LDP at each link."""
    yield "mpls ldp"
    yield f" router-id {router.router_id}"
    for each in router.interfaces:
        yield from (f" interface {name_interface(each)}", " !")
    yield "!"


def add_ldp(writer: XmlWriter, router: Router) -> None:
    """The same as `list_ldp`."""
    ldp = writer.add_module("mpls-ldp-cfg", "mpls-ldp")
    add_element(ldp, "enable")
    vrf = add_element(ldp, "default-vrf")
    add_element(add_element(vrf, "global"), "router-id", router.router_id)
    interfaces = add_element(vrf, "interfaces")
    for each in router.interfaces:
        entry = add_element(interfaces, "interface")
        add_element(entry, "interface-name", name_interface(each))
        add_element(entry, "enable")
