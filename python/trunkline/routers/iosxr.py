"""Cisco IOS XR: the text of its command line, and the same as NETCONF XML, for each router.

Tunnels are ``interface tunnel-te`` with explicit paths and explicit bypasses, segment lists are
policies of ``segment-routing traffic-eng``, queues are policy-maps. The XML is of the models of
release 6.6.
"""

import math
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree

from trunkline.routers.hardware_queues import HardwareQueue, join_ranges, list_queues_by_policy
from trunkline.routers.router_config import (
    PortPolicy,
    Router,
    RouterInterface,
    RouterNetwork,
    RouterPolicer,
    SegmentPolicy,
    TargetFiles,
    Tunnel,
)

NAME: Final = "iosxr"
_MAX_MATCH_VALUES: Final = 8  # Values of one `match` line.
_NAMESPACE: Final = "http://cisco.com/ns/yang/Cisco-IOS-XR-"
_GBIT: Final = 1_000_000_000
_PORT_TYPES: Final = (
    (_GBIT, "GigabitEthernet"),
    (10 * _GBIT, "TenGigE"),
    (40 * _GBIT, "FortyGigE"),
    (100 * _GBIT, "HundredGigE"),
)
_FASTEST_PORT: Final = "FourHundredGigE"
_MAX_MTU: Final = 9216
_ETHERNET_HEADER: Final = 14
_MAX_TUNNELS: Final = 65_535


def name_interface(interface: RouterInterface) -> str:
    """The chosen name, or the type of the link's rate and ``0/0/0/`` its number from 0."""
    if interface.device:
        return interface.device
    kind = next((name for rate, name in _PORT_TYPES if interface.rate <= rate), _FASTEST_PORT)
    return f"{kind}0/0/0/{interface.number - 1}"


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
    if len(_number_tunnels(router)) > _MAX_TUNNELS:
        files.omit(
            router.name,
            f"{len(_number_tunnels(router))} tunnels",
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
    for interface in router.interfaces:
        if router.imposition and interface.policer:
            files.omit(
                router.name,
                f"traffic classes of what arrives at {name_interface(interface)}",
                "an interface has one input policy, and the policer is it; nearest: no map",
                ("paths",),
            )


def _list_lines(
    network: RouterNetwork, router: Router, queues: dict[str, list[HardwareQueue]]
) -> Iterator[str]:
    yield f"hostname {router.name}"
    yield from _list_class_maps(network, router, queues)
    for name, classes in queues.items():
        yield from _list_policy_map(network.port_policies[name], classes)
    for name in router.list_policers():
        yield from _list_policer_map(name, network.policers[name])
    if router.imposition:
        yield from _list_imposition_map(router)
    yield from ("interface Loopback0", f" ipv4 address {router.router_id} 255.255.255.255", "!")
    for each in router.interfaces:
        yield from _list_interface(network, router, each)
    numbers = _number_tunnels(router)
    for tunnel in router.tunnels:
        if tunnel.name in numbers:
            yield from _list_tunnel(tunnel, numbers[tunnel.name])
    for tunnel in router.tunnels:
        yield f"explicit-path name {tunnel.name}"
        for index, hop in enumerate(tunnel.hops, 1):
            yield f" index {index * 10} next-address strict ipv4 unicast {hop.address}"
        yield "!"
    yield from _list_static_routes(router, numbers)
    yield from _list_ospf(network, router)
    if network.is_signalled:
        yield from _list_te(network, router, numbers)
    elif router.labels:
        yield from _list_static_labels(router)
    if network.has_ldp:
        yield "mpls ldp"
        yield f" router-id {router.router_id}"
        for each in router.interfaces:
            yield from (f" interface {name_interface(each)}", " !")
        yield "!"
    if network.hides_ttl:
        yield "mpls ip-ttl-propagate disable"
    if network.srgb:
        yield from _list_segment_routing(network, router)
    yield "end"


def _number_tunnels(router: Router) -> dict[str, int]:
    signalled = [each.name for each in router.tunnels if not each.is_standby]
    return {name: number for number, name in enumerate(signalled, 1)}


def name_class(policy: str, queue: str) -> str:
    """Name of a class-map."""
    return f"{policy}-{queue}"


def _list_class_maps(
    network: RouterNetwork, router: Router, queues: dict[str, list[HardwareQueue]]
) -> Iterator[str]:
    for policy, classes in queues.items():
        for each in classes:
            if not each.is_default:
                matches = [("dscp", tuple(each.queue.dscps))]
                matches.append(("mpls experimental topmost", tuple(each.queue.tcs)))
                yield from _list_class_map(name_class(policy, each.queue.name), matches)
    for name in router.list_policers():
        for policer in network.policers[name]:
            yield from _list_class_map(name_class(name, policer.name), [("dscp", policer.dscps)])
    for tc, dscps in _group_imposition(router).items():
        yield from _list_class_map(f"imposition-{tc}", [("dscp", dscps)])


def _list_class_map(name: str, matches: list[tuple[str, tuple[int, ...]]]) -> Iterator[str]:
    yield f"class-map match-any {name}"
    for key, values in matches:
        words = join_ranges(values) if key == "dscp" else [str(each) for each in sorted(values)]
        for start in range(0, len(words), _MAX_MATCH_VALUES):
            yield f" match {key} {' '.join(words[start : start + _MAX_MATCH_VALUES])}"
    yield " end-class-map"
    yield "!"


def _group_imposition(router: Router) -> dict[int, tuple[int, ...]]:
    """DSCPs by the TC that the head end writes for them."""
    groups: dict[int, list[int]] = {}
    for dscp, tc in router.imposition.items():
        groups.setdefault(tc, []).append(dscp)
    return {tc: tuple(dscps) for tc, dscps in sorted(groups.items())}


def _list_policy_map(policy: PortPolicy, classes: list[HardwareQueue]) -> Iterator[str]:
    if policy.shaped_rate is not None:
        yield f"policy-map {policy.name}-port"
        yield from (" class class-default", f"  service-policy {policy.name}")
        yield f"  shape average {math.ceil(policy.shaped_rate / 1000)} kbps"
        yield from (" !", " end-policy-map", "!")
    yield f"policy-map {policy.name}"
    for each in classes:
        yield f" class {_name_queue_class(policy, each)}"
        if each.level is not None:
            yield f"  priority level {each.level}"
        if each.police is not None:
            burst = f" burst {each.queue.burst} bytes" if each.queue.burst else ""
            yield f"  police rate {each.police} kbps{burst}"
            yield "  !"
        if each.bandwidth is not None:
            yield f"  bandwidth {each.bandwidth} kbps"
        if each.ratio is not None:
            yield f"  bandwidth remaining ratio {each.ratio}"
        if each.shape is not None:
            yield f"  shape average {each.shape} kbps"
        for curve in each.curves:
            thresholds = f"{curve.low} {curve.unit} {curve.high} {curve.unit}"
            if len(each.curves) == 1:
                yield f"  random-detect {thresholds}"
                continue
            if curve.dscps:
                yield f"  random-detect dscp {','.join(join_ranges(curve.dscps))} {thresholds}"
            if curve.tcs:
                yield f"  random-detect exp {','.join(map(str, curve.tcs))} {thresholds}"
        limit = _format_limit(each)
        if limit:
            yield f"  queue-limit {' '.join(limit)}"
        yield " !"
    yield from (" end-policy-map", "!")


def _name_queue_class(policy: PortPolicy, each: HardwareQueue) -> str:
    return "class-default" if each.is_default else name_class(policy.name, each.queue.name)


def _format_limit(each: HardwareQueue) -> tuple[str, str] | None:
    """Value and unit of the length of a queue."""
    if each.queue.limit_packets is not None:
        return str(each.queue.limit_packets), "packets"
    if each.queue.limit_bytes is not None:
        return str(each.queue.limit_bytes), "bytes"
    return None


def _list_policer_map(name: str, policers: tuple[RouterPolicer, ...]) -> Iterator[str]:
    yield f"policy-map {name}-in"
    for each in policers:
        yield f" class {name_class(name, each.name)}"
        peak = (
            f" peak-rate {each.peak_rate} bps peak-burst {each.peak_burst} bytes"
            if each.peak_rate
            else f" peak-burst {each.peak_burst} bytes"
            if each.violate is not None
            else ""
        )
        yield f"  police rate {each.rate} bps burst {each.burst} bytes{peak}"
        for colour in ("conform", "exceed", "violate"):
            action = getattr(each, colour)
            if action is None:
                continue
            word = (
                "drop"
                if action.drop
                else "transmit"
                if action.dscp is None
                else f"set dscp {action.dscp}"
            )
            yield f"   {colour}-action {word}"
        yield from ("  !", " !")
    yield from (" class class-default", " !", " end-policy-map", "!")


def _list_imposition_map(router: Router) -> Iterator[str]:
    yield "policy-map imposition"
    for tc in _group_imposition(router):
        yield from (f" class imposition-{tc}", f"  set mpls experimental imposition {tc}", " !")
    yield from (" class class-default", " !", " end-policy-map", "!")


def _list_interface(
    network: RouterNetwork, router: Router, interface: RouterInterface
) -> Iterator[str]:
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
    yield "!"


def _name_service_policies(
    network: RouterNetwork, router: Router, interface: RouterInterface
) -> tuple[str, str]:
    """Policies of what arrives and of what leaves; empty for none."""
    incoming = "imposition" if router.imposition else ""
    if interface.policer and network.policers[interface.policer]:
        incoming = f"{interface.policer}-in"
    policy = network.port_policies.get(interface.policy)
    if policy is None:
        return incoming, ""
    return incoming, policy.name if policy.shaped_rate is None else f"{policy.name}-port"


def _list_tunnel(tunnel: Tunnel, number: int) -> Iterator[str]:
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


def _list_static_routes(router: Router, numbers: dict[str, int]) -> Iterator[str]:
    routes = [
        (each.address, numbers[each.path])
        for each in router.steering
        if each.path in numbers and not each.dscps
    ]
    if routes:
        yield from ("router static", " address-family ipv4 unicast")
        for address, number in routes:
            yield f"  {address}/32 tunnel-te{number}"
        yield from (" !", "!")


def _list_ospf(network: RouterNetwork, router: Router) -> Iterator[str]:
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


def _list_backups(router: Router, numbers: dict[str, int]) -> dict[str, list[int]]:
    """Tunnels that go around an interface, by its name."""
    backups: dict[str, list[int]] = {}
    for tunnel in router.tunnels:
        for each in tunnel.protects:
            backups.setdefault(name_interface(each), []).append(numbers[tunnel.name])
    return backups


def _list_te(network: RouterNetwork, router: Router, numbers: dict[str, int]) -> Iterator[str]:
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


def _list_static_labels(router: Router) -> Iterator[str]:
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


def _list_segment_routing(network: RouterNetwork, router: Router) -> Iterator[str]:
    assert network.srgb is not None
    yield "segment-routing"
    yield f" global-block {network.srgb[0]} {network.srgb[1]}"
    if router.policies:
        yield " traffic-eng"
        for policy in router.policies:
            yield f"  segment-list {policy.name}"
            for index, hop in enumerate(policy.hops, 1):
                yield (
                    f"   index {index * 10} address ipv4 {hop.address}"
                    if hop.is_adjacency
                    else f"   index {index * 10} mpls label {hop.label}"
                )
            yield "  !"
        for policy in router.policies:
            yield f"  policy {policy.name}"
            yield f"   color {policy.colour} end-point ipv4 {policy.endpoint}"
            prefixes = _list_policy_prefixes(router, policy)
            if prefixes:
                yield "   autoroute"
                for prefix in prefixes:
                    yield f"    include ipv4 {prefix}/32"
                yield "   !"
            yield from ("   candidate-paths", "    preference 100")
            yield f"     explicit segment-list {policy.name}"
            yield from ("     !", "    !", "   !", "  !")
        yield " !"
    yield "!"


def _list_policy_prefixes(router: Router, policy: SegmentPolicy) -> list[str]:
    return [
        str(each.address) for each in router.steering if each.path == policy.name and not each.dscps
    ]


class _XmlWriter:
    """Elements of NETCONF by the module that they belong to."""

    def __init__(self) -> None:
        self.root = ElementTree.Element("config", xmlns="urn:ietf:params:xml:ns:netconf:base:1.0")

    def add_module(self, module: str, name: str) -> ElementTree.Element:
        return ElementTree.SubElement(self.root, name, xmlns=f"{_NAMESPACE}{module}")

    def to_text(self) -> str:
        ElementTree.indent(self.root, " ")
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"


def _add(
    parent: ElementTree.Element, name: str, text: object = None, *, module: str = ""
) -> ElementTree.Element:
    """A child; with ``module`` it begins another model's part."""
    attributes = {"xmlns": f"{_NAMESPACE}{module}"} if module else {}
    child = ElementTree.SubElement(parent, name, attributes)
    if text is not None:
        child.text = str(text)
    return child


def _add_path(parent: ElementTree.Element, *names: str) -> ElementTree.Element:
    for name in names:
        parent = _add(parent, name)
    return parent


def _write_xml(
    network: RouterNetwork, router: Router, queues: dict[str, list[HardwareQueue]]
) -> str:
    writer = _XmlWriter()
    numbers = _number_tunnels(router)
    _add(writer.add_module("shellutil-cfg", "host-names"), "host-name", router.name)
    _add_xml_interfaces(writer, network, router, numbers)
    if queues or router.list_policers() or router.imposition:
        _add_xml_policies(writer, network, router, queues)
    if router.tunnels:
        path = _add_path(writer.add_module("ip-iep-cfg", "ip-explicit-paths"), "paths", "path")
        _add(path, "type", "name")
        for tunnel in router.tunnels:
            entry = _add(path, "name")
            _add(entry, "name", tunnel.name)
            hops = _add(entry, "hops")
            for index, each in enumerate(tunnel.hops, 1):
                hop = _add(hops, "hop")
                _add(hop, "index-number", index * 10)
                _add(hop, "ip-address", each.address)
                _add(hop, "hop-type", "next-strict")
    _add_xml_static_routes(writer, router, numbers)
    _add_xml_ospf(writer, network, router)
    if network.is_signalled:
        _add_xml_te(writer, network, router, numbers)
    elif router.labels:
        _add_xml_static_labels(writer, router)
    if network.srgb:
        _add_xml_segment_routing(writer, network, router)
    return writer.to_text()


def _add_xml_interface(
    parent: ElementTree.Element, name: str, description: str, *, virtual: bool = False
) -> ElementTree.Element:
    entry = _add(parent, "interface-configuration")
    _add(entry, "active", "act")
    _add(entry, "interface-name", name)
    if virtual:
        _add(entry, "interface-virtual")
    if description:
        _add(entry, "description", description)
    return entry


def _add_xml_address(entry: ElementTree.Element, address: object, netmask: object) -> None:
    network = _add(entry, "ipv4-network", module="ipv4-io-cfg")
    primary = _add_path(network, "addresses", "primary")
    _add(primary, "address", address)
    _add(primary, "netmask", netmask)


def _add_xml_interfaces(
    writer: _XmlWriter, network: RouterNetwork, router: Router, numbers: dict[str, int]
) -> None:
    interfaces = writer.add_module("ifmgr-cfg", "interface-configurations")
    loopback = _add_xml_interface(interfaces, "Loopback0", "", virtual=True)
    _add_xml_address(loopback, router.router_id, "255.255.255.255")
    for each in router.interfaces:
        entry = _add_xml_interface(interfaces, name_interface(each), f"to {each.neighbour}")
        if 0 < each.mtu <= _MAX_MTU - _ETHERNET_HEADER:
            mtu = _add_path(entry, "mtus", "mtu")
            _add(mtu, "owner", name_interface(each).rstrip("0123456789/"))
            _add(mtu, "mtu", each.mtu + _ETHERNET_HEADER)
        _add_xml_address(entry, each.address.ip, each.address.netmask)
        incoming, outgoing = _name_service_policies(network, router, each)
        if incoming or outgoing:
            qos = _add(entry, "qos", module="qos-ma-cfg")
            for direction, policy in (("input", incoming), ("output", outgoing)):
                if policy:
                    service = _add_path(qos, direction, "service-policy")
                    _add(service, "service-policy-name", policy)
    for tunnel in router.tunnels:
        if tunnel.name in numbers:
            _add_xml_tunnel(interfaces, tunnel, numbers[tunnel.name])


def _add_xml_tunnel(parent: ElementTree.Element, tunnel: Tunnel, number: int) -> None:
    entry = _add_xml_interface(parent, f"tunnel-te{number}", tunnel.name, virtual=True)
    network = _add(entry, "ipv4-network", module="ipv4-io-cfg")
    _add(_add(network, "addresses"), "unnumbered", "Loopback0")
    te = _add(entry, "tunnel-te-attributes", module="mpls-te-cfg")
    options = _add(te, "path-option-protects")
    option = _add(options, "path-option-protect")
    _add(option, "protection", "active")
    listed = [(1, "explicit-name", tunnel.name)]
    listed += [(2, "explicit-name", name) for name in tunnel.standby[:1]]
    listed += [(10, "dynamic", "")] * tunnel.is_rerouted
    choices = _add(option, "path-options")
    for level, kind, name in listed:
        choice = _add(choices, "path-option")
        _add(choice, "preference-level", level)
        _add(choice, "path-type", kind)
        if name:
            _add(choice, "path-name", name)
        if level == 1 and tunnel.standby:
            _add(choice, "protected-by-preference-level", 2)
    if tunnel.standby:
        _add(_add(te, "tunnel-path-protection"), "enable")
    priority = _add(te, "priority")
    _add(priority, "setup-priority", tunnel.setup)
    _add(priority, "hold-priority", tunnel.hold)
    _add(te, "destination", tunnel.destination)
    if tunnel.bandwidth:
        bandwidth = _add(te, "bandwidth")
        _add(bandwidth, "dste-type", "standard-dste")
        _add(bandwidth, "class-or-pool-type", 0)
        _add(bandwidth, "bandwidth", math.ceil(tunnel.bandwidth / 1000))
    if tunnel.repair:
        repair = _add(te, "fast-reroute")
        _add(repair, "bandwidth-protection", int(tunnel.repairs_bandwidth))
        _add(repair, "node-protection", int(tunnel.repair == "node"))
    _add(te, "signalled-name", tunnel.name)
    _add_xml_affinities(te, tunnel)


def _add_xml_affinities(te: ElementTree.Element, tunnel: Tunnel) -> None:
    """Each list of colours is an entry of the list that has as many keys."""
    rules = (
        ("include", tunnel.include_any),
        ("include-strict", tunnel.include_all),
        ("exclude", tunnel.exclude),
    )
    if not any(colours for _, colours in rules):
        return
    groups = _add(te, "new-style-affinity-affinity-types")
    for kind, colours in rules:
        if colours:
            keys = [f"affinity{index}" for index in range(1, len(colours) + 1)]
            entry = _add(groups, "-".join(["new-style-affinity-affinity-type", *keys]))
            _add(entry, "affinity-type", kind)
            for key, colour in zip(keys, colours, strict=True):
                _add(entry, key, colour)


def _add_xml_class_map(
    parent: ElementTree.Element, name: str, dscps: tuple[int, ...], tcs: tuple[int, ...]
) -> None:
    entry = _add(parent, "class-map")
    _add(entry, "type", "qos")
    _add(entry, "name", name)
    _add(entry, "class-map-mode-match-any")
    match = _add(entry, "match")
    for words in join_ranges(dscps):
        _add(match, "dscp", words)
    for tc in sorted(tcs):
        _add(match, "mpls-experimental-topmost", tc)


def _add_xml_rule(parent: ElementTree.Element, name: str) -> ElementTree.Element:
    rule = _add(parent, "policy-map-rule")
    _add(rule, "class-name", name)
    _add(rule, "class-type", "qos")
    return rule


def _add_xml_quantity(
    parent: ElementTree.Element, name: str, value: object, unit: str, *, key: str = "unit"
) -> None:
    quantity = _add(parent, name)
    _add(quantity, "value", value)
    _add(quantity, key, unit)


def _add_xml_policy_map(parent: ElementTree.Element, name: str) -> ElementTree.Element:
    entry = _add(parent, "policy-map")
    _add(entry, "type", "qos")
    _add(entry, "name", name)
    return entry


def _add_xml_policies(
    writer: _XmlWriter,
    network: RouterNetwork,
    router: Router,
    queues: dict[str, list[HardwareQueue]],
) -> None:
    manager = writer.add_module("infra-policymgr-cfg", "policy-manager")
    class_maps, policy_maps = ElementTree.Element("class-maps"), ElementTree.Element("policy-maps")
    for name, classes in queues.items():
        policy = network.port_policies[name]
        if policy.shaped_rate is not None:
            rule = _add_xml_rule(_add_xml_policy_map(policy_maps, f"{name}-port"), "class-default")
            kbps = math.ceil(policy.shaped_rate / 1000)
            _add_xml_quantity(_add(rule, "shape"), "rate", kbps, "kbps")
            service = _add(rule, "service-policy")
            _add(service, "policy-name", name)
            _add(service, "type", "qos")
        entry = _add_xml_policy_map(policy_maps, name)
        for each in classes:
            if not each.is_default:
                matched = tuple(each.queue.dscps), tuple(each.queue.tcs)
                _add_xml_class_map(class_maps, name_class(name, each.queue.name), *matched)
            _add_xml_queue(_add_xml_rule(entry, _name_queue_class(policy, each)), each)
    for name in router.list_policers():
        entry = _add_xml_policy_map(policy_maps, f"{name}-in")
        for policer in network.policers[name]:
            _add_xml_class_map(class_maps, name_class(name, policer.name), policer.dscps, ())
            _add_xml_policer(_add_xml_rule(entry, name_class(name, policer.name)), policer)
        _add_xml_rule(entry, "class-default")
    if router.imposition:
        entry = _add_xml_policy_map(policy_maps, "imposition")
        for tc, dscps in _group_imposition(router).items():
            _add_xml_class_map(class_maps, f"imposition-{tc}", dscps, ())
            rule = _add_xml_rule(entry, f"imposition-{tc}")
            _add(_add(rule, "set"), "mpls-experimental-imposition", tc)
        _add_xml_rule(entry, "class-default")
    manager.extend([class_maps, policy_maps])


def _add_xml_queue(rule: ElementTree.Element, each: HardwareQueue) -> None:
    if each.shape is not None:
        _add_xml_quantity(_add(rule, "shape"), "rate", each.shape, "kbps")
    if each.bandwidth is not None:
        _add_xml_quantity(rule, "min-bandwidth", each.bandwidth, "kbps")
    if each.ratio is not None:
        _add_xml_quantity(rule, "bandwidth-remaining", each.ratio, "ratio")
    limit = _format_limit(each)
    if limit:
        _add_xml_quantity(rule, "queue-limit", *limit)
    if each.level is not None:
        _add(rule, "priority-level", each.level)
    for curve in each.curves:
        entry = _add(rule, "random-detect")
        _add(entry, "threshold-min-value", curve.low)
        _add(entry, "threshold-min-units", curve.unit)
        _add(entry, "threshold-max-value", curve.high)
        _add(entry, "threshold-max-units", curve.unit)
        if len(each.curves) > 1:
            for words in join_ranges(curve.dscps):
                _add(entry, "dscp", words)
            for tc in curve.tcs:
                _add(entry, "mpls-exp", tc)
    if each.police is not None:
        police = _add(rule, "police")
        _add_xml_quantity(police, "rate", each.police, "kbps", key="units")
        if each.queue.burst:
            _add_xml_quantity(police, "burst", each.queue.burst, "bytes", key="units")


def _add_xml_policer(rule: ElementTree.Element, policer: RouterPolicer) -> None:
    police = _add(rule, "police")
    _add_xml_quantity(police, "rate", policer.rate, "bps", key="units")
    if policer.peak_rate:
        _add_xml_quantity(police, "peak-rate", policer.peak_rate, "bps", key="units")
    _add_xml_quantity(police, "burst", policer.burst, "bytes", key="units")
    if policer.violate is not None:
        _add_xml_quantity(police, "peak-burst", policer.peak_burst, "bytes", key="units")
    for colour in ("conform", "exceed", "violate"):
        action = getattr(policer, colour)
        if action is None:
            continue
        entry = _add(police, f"{colour}-action")
        if action.drop:
            _add(entry, "drop")
        elif action.dscp is None:
            _add(entry, "Transmit")
        else:
            _add(_add(entry, "set"), "dscp", action.dscp)


def _add_xml_static_routes(writer: _XmlWriter, router: Router, numbers: dict[str, int]) -> None:
    routes = [each for each in router.steering if each.path in numbers and not each.dscps]
    if not routes:
        return
    topology = _add_path(
        writer.add_module("ip-static-cfg", "router-static"),
        "default-vrf",
        "address-family",
        "vrfipv4",
        "vrf-unicast",
        "vrf-prefixes",
    )
    for each in routes:
        prefix = _add(topology, "vrf-prefix")
        _add(prefix, "prefix", each.address)
        _add(prefix, "prefix-length", 32)
        hop = _add_path(prefix, "vrf-route", "vrf-next-hop-table", "vrf-next-hop-interface-name")
        _add(hop, "interface-name", f"tunnel-te{numbers[each.path]}")


def _add_xml_ospf(writer: _XmlWriter, network: RouterNetwork, router: Router) -> None:
    process = _add_path(writer.add_module("ipv4-ospf-cfg", "ospf"), "processes", "process")
    _add(process, "process-name", "1")
    vrf = _add(process, "default-vrf")
    _add(vrf, "router-id", router.router_id)
    has_te = network.is_signalled or network.srgb is not None
    if has_te:
        _add(_add_path(vrf, "mpls", "mpls-router-id"), "interface-name", "Loopback0")
    scope = ElementTree.Element("process-scope")
    if network.srgb is not None:
        _add(scope, "segment-routing", "mpls")
    if network.igp.repairs_prefixes:
        repair = _add_path(scope, "fast-reroute")
        _add(_add(repair, "per-prefix"), "topology-independent-lfa", "true")
        _add(repair, "fast-reroute-enable", "enable-per-prefix")
    if len(scope):
        vrf.append(scope)
    area = _add_path(vrf, "area-addresses", "area-area-id")
    _add(area, "area-id", 0)
    if has_te:
        _add(area, "mpls-traffic-eng")
    scopes = _add(area, "name-scopes")
    loopback = _add(scopes, "name-scope")
    _add(loopback, "interface-name", "Loopback0")
    _add(loopback, "passive", "true")
    if network.srgb is not None:
        segment = _add(loopback, "prefix-sid")
        _add(segment, "type", "index")
        _add(segment, "sid-value", router.node_label_index)
        _add(segment, "explicit-null", "false")
        _add(segment, "n-flag-clear", "false")
    for each in router.interfaces:
        entry = _add(scopes, "name-scope")
        _add(entry, "interface-name", name_interface(each))
        _add(entry, "cost", each.metric)
        _add(entry, "network-type", "point-to-point")
        _add(entry, "hello-interval", network.igp.hello_s)
        _add(_add(entry, "dead-interval-minimal"), "interval", network.igp.dead_s)


def _add_xml_te(
    writer: _XmlWriter, network: RouterNetwork, router: Router, numbers: dict[str, int]
) -> None:
    rsvp = _add(writer.add_module("ip-rsvp-cfg", "rsvp"), "interfaces")
    for each in router.interfaces:
        entry = _add(rsvp, "interface")
        _add(entry, "name", name_interface(each))
        reserved = _add_path(entry, "bandwidth", "rdm")
        _add(reserved, "bc0-bandwidth", each.reservable // 1000)
        _add(reserved, "rdm-keyword", "not-specified")
        _add(reserved, "bc0-keyword", "not-specified")
        _add(reserved, "bandwidth-mode", "absolute")
    te = writer.add_module("mpls-te-cfg", "mpls-te")
    if network.colours:
        mappings = _add_path(te, "global-attributes", "affinity-mappings")
        for bit, colour in enumerate(network.colours):
            mapping = _add(mappings, "affinity-mapping")
            _add(mapping, "affinity-name", colour)
            _add(mapping, "value-type", "bit-position")
            _add(mapping, "value", f"{bit:x}")
    backups = _list_backups(router, numbers)
    interfaces = _add(te, "interfaces")
    for each in router.interfaces:
        entry = _add(interfaces, "interface")
        _add(entry, "interface-name", name_interface(each))
        lcac = _add(entry, "lcac")
        _add(lcac, "enable")
        _add(lcac, "admin-weight", each.te_metric)
        if each.colours:
            names = _add(lcac, "attribute-name-xr")
            for colour in each.colours:
                _add(names, "attribute-name", colour)
        if each.risks:
            srlgs = _add(lcac, "srlgs")
            for risk in each.risks:
                _add(_add(srlgs, "srlg"), "srlg-number", network.risks.index(risk) + 1)
        if backups.get(name_interface(each)):
            paths = _add_path(entry, "global-attributes", "backup-paths")
            for number in backups[name_interface(each)]:
                _add(_add(paths, "backup-path"), "tunnel-number", number)


def _add_xml_static_labels(writer: _XmlWriter, router: Router) -> None:
    static = writer.add_module("mpls-static-cfg", "mpls-static")
    interfaces = _add(static, "interfaces")
    for each in router.interfaces:
        _add(_add(interfaces, "interface"), "interface-name", name_interface(each))
    lsps = _add_path(static, "default-vrf", "label-switched-paths")
    for entry in router.labels:
        if entry.in_label is None or len(entry.out_labels) > 1:
            continue
        lsp = _add(lsps, "label-switched-path")
        _add(lsp, "lsp-name", f"{entry.path}-{entry.in_label}")
        label = _add(lsp, "in-label")
        _add(label, "in-label-value", entry.in_label)
        _add(label, "label-mode", "lsp")
        path = _add_path(lsp, "paths", "path")
        _add(path, "path-id", 1)
        if entry.interface is None:
            _add(path, "path-type", "pop-and-lookup")
            continue
        _add(path, "path-type", "cross-connect")
        out = _format_out_label(entry.out_labels)
        _add(path, "label-type", "out-label" if out.isdigit() else out)
        if out.isdigit():
            _add(path, "next-hop-label", out)
        _add(path, "next-hop-address", entry.interface.far_address.ip)
        _add(path, "interface-name", name_interface(entry.interface))
        _add(path, "afi", "ipv4")


def _add_xml_segment_routing(writer: _XmlWriter, network: RouterNetwork, router: Router) -> None:
    assert network.srgb is not None
    sr = writer.add_module("segment-routing-ms-cfg", "sr")
    block = _add(sr, "global-block")
    _add(block, "lower-bound", network.srgb[0])
    _add(block, "upper-bound", network.srgb[1])
    _add(sr, "enable")
    if not router.policies:
        return
    te = _add(sr, "traffic-engineering", module="infra-xtc-agent-cfg")
    lists = _add(te, "segments")
    for policy in router.policies:
        entry = _add(lists, "segment")
        _add(entry, "path-name", policy.name)
        _add(entry, "enable")
        hops = _add(entry, "segments")
        for index, hop in enumerate(policy.hops, 1):
            segment = _add(hops, "segment")
            _add(segment, "segment-index", index * 10)
            if hop.is_adjacency:
                _add(segment, "segment-type", "ipv4-address")
                _add(segment, "address", hop.address)
            else:
                _add(segment, "segment-type", "mpls-label")
                _add(segment, "mpls-label", hop.label)
    policies = _add(te, "policies")
    for policy in router.policies:
        _add_xml_policy(policies, router, policy)
    _add(te, "enable")


def _add_xml_policy(parent: ElementTree.Element, router: Router, policy: SegmentPolicy) -> None:
    entry = _add(parent, "policy")
    _add(entry, "policy-name", policy.name)
    _add(entry, "enable")
    colour = _add(entry, "policy-color-endpoint")
    _add(colour, "color", policy.colour)
    _add(colour, "end-point-type", "end-point-type-ipv4")
    _add(colour, "end-point-address", policy.endpoint)
    prefixes = _list_policy_prefixes(router, policy)
    if prefixes:
        route = _add(entry, "auto-route")
        included = _add(route, "include-prefixes")
        for prefix in prefixes:
            item = _add(included, "include-prefix")
            _add(item, "af-type", "af-type-ipv4")
            _add(item, "prefix-address", prefix)
            _add(item, "prefix-length", 32)
    preference = _add_path(entry, "candidate-paths", "preferences", "preference")
    _add(preference, "path-index", 100)
    _add(preference, "enable")
    info = _add_path(preference, "path-infos", "path-info")
    _add(info, "type", "explicit")
    _add(info, "hop-type", "mpls")
    _add(info, "segment-list-name", policy.name)
    _add(info, "enable")
