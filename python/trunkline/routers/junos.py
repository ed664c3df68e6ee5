"""Junos: a file of ``set`` commands for each router.

Paths are label-switched paths of RSVP or static ones, bypasses are explicit, queues are
class-of-service. The vendor publishes no models in a package: these files are not validated by any.
"""

import math
from collections.abc import Iterator
from typing import Final

from trunkline.routers.hardware_queues import HardwareQueue, list_queues_by_policy, omit_burst
from trunkline.routers.router_config import (
    PortPolicy,
    Router,
    RouterInterface,
    RouterNetwork,
    RouterPolicer,
    TargetFiles,
    Tunnel,
)
from trunkline.scenario.routing import IGP_DISTANCE

NAME: Final = "junos"
_FIRST_STATIC_LABEL: Final = 1_000_000  # Of the block that Junos has for static LSPs.
_GBIT: Final = 1_000_000_000
_MAX_QUEUES: Final = 8  # Forwarding classes of a router that have a queue each.
_LOSS_PRIORITIES: Final = ("low", "medium-high", "high")  # Loss priority by drop precedence.
MIN_POLICER_BIT_S: Final = 8000  # Minimum rate of a policer [bit/s].
MIN_POLICER_BURST_BYTES: Final = 1500  # Minimum depth of a policer's bucket [B].
_MAX_MTU: Final = 9178
_OSPF_PREFERENCE: Final = 10  # Of internal routes, by default.
_NOT_VALIDATED: Final = "# Not validated by the vendor's models."


def name_interface(interface: RouterInterface) -> str:
    """The chosen name, or ``ge``, ``xe`` or ``et`` by the link's rate, and its number from 0."""
    if interface.device:
        return interface.device
    kind = "ge" if interface.rate <= _GBIT else "xe" if interface.rate <= 10 * _GBIT else "et"
    return f"{kind}-0/0/{interface.number - 1}"


def write_junos(network: RouterNetwork) -> TargetFiles:
    """Write a file of ``set`` commands for each router."""
    files = TargetFiles()
    for router in network.routers:
        queues = list_queues_by_policy(files, network, router)
        lines = [
            *_list_system_lines(files, network, router),
            *_list_path_lines(files, network, router),
            *_list_queue_lines(files, network, router, queues),
        ]
        text = "\n".join([_NOT_VALIDATED, *(f"set {line}" for line in lines)]) + "\n"
        files.texts[f"{router.name}.set"] = text
    return files


def _list_system_lines(files: TargetFiles, network: RouterNetwork, router: Router) -> Iterator[str]:
    yield f"system host-name {router.name}"
    yield f"interfaces lo0 unit 0 family inet address {router.router_id}/32"
    yield f"routing-options router-id {router.router_id}"
    ospf = "protocols ospf area 0.0.0.0 interface"
    if network.runs_igp:
        yield f"{ospf} lo0.0 passive"
    for each in router.interfaces:
        name = name_interface(each)
        yield f'interfaces {name} description "to {each.neighbour}"'
        if 0 < each.mtu <= _MAX_MTU:
            yield f"interfaces {name} unit 0 family inet mtu {each.mtu}"
        yield f"interfaces {name} unit 0 family inet address {each.address}"
        yield f"interfaces {name} unit 0 family mpls"
        if network.runs_igp:
            yield f"{ospf} {name}.0 interface-type p2p"
            yield f"{ospf} {name}.0 metric {each.metric}"
            yield f"{ospf} {name}.0 hello-interval {network.igp.hello_s}"
            yield f"{ospf} {name}.0 dead-interval {network.igp.dead_s}"
        yield f"protocols mpls interface {name}.0"
        if network.has_ldp:
            yield f"protocols ldp interface {name}.0"
    if network.runs_igp:
        yield f"protocols ospf spf-options delay {max(50, network.igp.spf_ms[0])}"
    yield from _list_static_route_lines(files, router)
    if network.hides_ttl:
        yield "protocols mpls no-propagate-ttl"
    if network.is_signalled:
        yield from _list_te_lines(network, router)
    if network.srgb:
        first, last = network.srgb
        block = f"start-label {first} index-range {last - first + 1}"
        yield f"protocols ospf source-packet-routing srgb {block}"
        index = router.node_label_index
        yield f"protocols ospf source-packet-routing node-segment ipv4-index {index}"
    if network.igp.repairs_prefixes:
        yield "protocols ospf backup-spf-options use-post-convergence-lfa"


def _list_static_route_lines(files: TargetFiles, router: Router) -> Iterator[str]:
    """Static routes; a preference of Junos below 10 is better than OSPF's, above it is worse."""
    distances = sorted({each.distance for each in router.static_routes})
    better = [each for each in distances if each < IGP_DISTANCE]
    if len(better) >= _OSPF_PREFERENCE:
        element = f"{len(better)} distances of static routes below {IGP_DISTANCE}"
        reason = f"a preference better than OSPF's is 1 to {_OSPF_PREFERENCE - 1}"
        nearest = f"{reason}; nearest: {_OSPF_PREFERENCE - 1} for all beyond"
        files.omit(router.name, element, nearest, ("nodes", router.name, "routes"))
    for each in router.static_routes:
        preference = (
            min(better.index(each.distance) + 1, _OSPF_PREFERENCE - 1)
            if each.distance in better
            else each.distance
        )
        hop = f"qualified-next-hop {each.interface.far_address.ip} preference {preference}"
        yield f"routing-options static route {each.prefix} {hop}"


def _list_te_lines(network: RouterNetwork, router: Router) -> Iterator[str]:
    yield "protocols ospf traffic-engineering"
    for bit, colour in enumerate(network.colours):
        yield f"protocols mpls admin-groups {colour} {bit}"
    for number, risk in enumerate(network.risks, 1):
        yield f"routing-options srlg {risk} srlg-value {number}"
    for each in router.interfaces:
        name = f"{name_interface(each)}.0"
        for colour in each.colours:
            yield f"protocols mpls interface {name} admin-group {colour}"
        for risk in each.risks:
            yield f"protocols mpls interface {name} srlg {risk}"
        yield f"protocols ospf area 0.0.0.0 interface {name} te-metric {each.te_metric}"
        yield f"protocols rsvp interface {name} bandwidth {each.reservable}"


def _list_path_lines(files: TargetFiles, network: RouterNetwork, router: Router) -> Iterator[str]:
    for tunnel in router.tunnels:
        for hop in tunnel.hops:
            yield f"protocols mpls path {tunnel.name} {hop.address} strict"
    for tunnel in router.tunnels:
        if tunnel.protects:
            yield from _list_bypass_lines(tunnel)
        elif not tunnel.is_standby:
            yield from _list_tunnel_lines(router, tunnel)
    if not network.is_signalled:
        yield from _list_static_lines(files, router)
    for policy in router.policies:
        segments = f"protocols source-packet-routing segment-list {policy.name}"
        for index, segment in enumerate(policy.hops, 1):
            kind = (
                f"ip-address {segment.address}"
                if segment.is_adjacency
                else f"label {segment.label}"
            )
            yield f"{segments} hop{index} {kind}"
        path = f"protocols source-packet-routing source-routing-path {policy.name}"
        yield f"{path} to {policy.endpoint}"
        yield f"{path} color {policy.colour}"
        yield f"{path} primary {policy.name}"
    for each in router.steering:
        if each.dscps:
            files.omit(
                router.name,
                f"path {each.path}: traffic by DSCP",
                "a forwarding policy by class is not written; nearest: a trunk without dscp",
                ("paths", each.path),
            )


def _list_tunnel_lines(router: Router, tunnel: Tunnel) -> Iterator[str]:
    path = f"protocols mpls label-switched-path {tunnel.name}"
    yield f"{path} from {router.router_id}"
    yield f"{path} to {tunnel.destination}"
    if tunnel.bandwidth:
        yield f"{path} bandwidth {tunnel.bandwidth}"
    yield f"{path} priority {tunnel.setup} {tunnel.hold}"
    for key, colours in (
        ("include-any", tunnel.include_any),
        ("include-all", tunnel.include_all),
        ("exclude", tunnel.exclude),
    ):
        for colour in colours:
            yield f"{path} admin-group {key} {colour}"
    if tunnel.repair:
        yield f"{path} {'node-link-protection' if tunnel.repair == 'node' else 'link-protection'}"
    yield f"{path} primary {tunnel.name}"
    for name in tunnel.standby:
        yield f"{path} secondary {name} standby"
    for each in router.steering:
        if each.path == tunnel.name and not each.dscps:
            yield f"{path} install {each.address}/32 active"


def _list_bypass_lines(tunnel: Tunnel) -> Iterator[str]:
    for each in tunnel.protects:
        interface = f"protocols rsvp interface {name_interface(each)}.0"
        bypass = f"{interface} link-protection bypass {tunnel.name}"
        yield f"{bypass} to {tunnel.destination}"
        for hop in tunnel.hops:
            yield f"{bypass} path {hop.address} strict"


def _list_static_lines(files: TargetFiles, router: Router) -> Iterator[str]:
    labels = [each.in_label for each in router.labels if each.in_label is not None]
    if labels and min(labels) < _FIRST_STATIC_LABEL:
        bounds = f"{min(labels)} {max(labels)}"
        yield f"protocols mpls label-range static-label-range {bounds}"
    for entry in router.labels:
        if len(entry.out_labels) > 1:
            reason = "a static LSP pushes one label; nearest: a path that rides no tunnel"
            files.omit_label_stack(router, entry, reason)
            continue
        path = f"protocols mpls static-label-switched-path {entry.path}"
        if entry.in_label is not None:
            path += f"-{entry.in_label} transit {entry.in_label}"
        else:
            path += " ingress"
        if entry.interface is None:
            yield f"{path} pop"
            yield f"{path} next-hop lo0.0"
            continue
        if entry.in_label is None:
            for each in router.steering:
                if each.path == entry.path:
                    yield f"{path} to {each.address}"
        yield f"{path} next-hop {entry.interface.far_address.ip}"
        verb = "push" if entry.in_label is None else "swap"
        yield f"{path} {verb} {entry.out_labels[0]}" if entry.out_labels else f"{path} pop"


def _list_queue_lines(
    files: TargetFiles,
    network: RouterNetwork,
    router: Router,
    queues: dict[str, list[HardwareQueue]],
) -> Iterator[str]:
    numbers = _number_classes(files, network, router, queues)
    cos = "class-of-service"
    for name, number in numbers.items():
        yield f"{cos} forwarding-classes class {name} queue-num {number}"
    for policy, classes in queues.items():
        for each in classes:
            yield from _list_class_lines(files, router, network.port_policies[policy], each)
    rules = f"{cos} rewrite-rules exp imposition"
    for tc, dscp in _choose_imposed_dscps(router).items():
        owner = _find_class(queues, dscp)
        if owner is not None:
            yield f"{rules} forwarding-class {owner} loss-priority low code-point {tc:03b}"
    for interface in router.interfaces:
        name = name_interface(interface)
        port_policy = network.port_policies.get(interface.policy)
        if port_policy is not None:
            yield f"{cos} interfaces {name} scheduler-map {port_policy.name}"
        shaper_rate = (
            interface.plain_shaper_rate if port_policy is None else port_policy.shaper_rate
        )
        if shaper_rate is not None:
            yield f"{cos} interfaces {name} shaping-rate {shaper_rate}"
        for kind in ("dscp", "exp"):
            if queues:
                yield f"{cos} interfaces {name} unit 0 classifiers {kind} {next(iter(queues))}"
        if router.imposition and queues:
            yield f"{cos} interfaces {name} unit 0 rewrite-rules exp imposition"
    yield from _list_policer_lines(files, network, router)


def _number_classes(
    files: TargetFiles,
    network: RouterNetwork,
    router: Router,
    queues: dict[str, list[HardwareQueue]],
) -> dict[str, int]:
    """Number the queues of forwarding classes; classes of one name are one."""
    names = list(dict.fromkeys(each.queue.name for classes in queues.values() for each in classes))
    if len(names) > _MAX_QUEUES:
        files.omit(
            router.name,
            f"{len(names)} classes",
            f"a router has {_MAX_QUEUES} queues a port; nearest: {_MAX_QUEUES} classes",
            ("ports", network.port_policies[next(iter(queues))].port),
        )
    if len(queues) > 1:
        first, *others = ([dict(each.queue.dscps) for each in kept] for kept in queues.values())
        if any(each != first for each in others):
            files.omit(
                router.name,
                f"{len(queues)} classifiers",
                "packets are classed where they arrive, once for all ports; nearest: the same "
                "classify in all",
                ("ports", network.port_policies[next(iter(queues))].port, "classify"),
            )
    return {name: min(number, _MAX_QUEUES - 1) for number, name in enumerate(names)}


def _list_class_lines(
    files: TargetFiles, router: Router, policy: PortPolicy, each: HardwareQueue
) -> Iterator[str]:
    cos = "class-of-service"
    name, queue = f"{policy.name}-{each.queue.name}", each.queue
    element = f"port {policy.port} class {queue.name}"
    for kind, width, points in (("dscp", 6, queue.dscps), ("exp", 3, queue.tcs)):
        for point, precedence in points.items():
            loss = _LOSS_PRIORITIES[min(precedence, len(_LOSS_PRIORITIES) - 1)]
            yield (
                f"{cos} classifiers {kind} {policy.name} forwarding-class {queue.name} "
                f"loss-priority {loss} code-points {point:0{width}b}"
            )
    scheduler = f"{cos} schedulers {name}"
    if each.level is not None:
        yield f"{scheduler} priority {'strict-high' if each.level == 1 else 'high'}"
    if each.police is not None:
        place = ("ports", policy.port, "classes", queue.name)
        omit_burst(files, router, element, queue.burst, place)
        yield f"{scheduler} transmit-rate {each.police * 1000} exact"
    if each.bandwidth is not None:
        yield f"{scheduler} transmit-rate {each.bandwidth * 1000}"
    if each.shape is not None:
        yield f"{scheduler} shaping-rate {each.shape * 1000}"
    if each.ratio is not None:
        total = sum(item.weight or 0 for item in policy.classes)
        percent = max(1, round(100 * (queue.weight or 0) / total))
        files.note_rounding(
            router.name, element, "share", (queue.weight or 0) / total, percent / 100, "1"
        )
        yield f"{scheduler} transmit-rate percent {percent}"
    limit = queue.count_limit_bytes()
    if limit:
        microseconds = max(1, math.ceil(limit * 8 * 1_000_000 / policy.rate))
        files.note_rounding(
            router.name,
            element,
            "queue limit",
            limit,
            microseconds * policy.rate / 8_000_000,
            "B",
        )
        yield f"{scheduler} buffer-size temporal {microseconds}"
    for number, curve in enumerate(each.curves):
        profile = f"{name}-{number}"
        length = queue.limit_packets if curve.unit == "packets" else limit
        fills = []
        for threshold in (curve.low, curve.high):
            asked = 100 * threshold / (length or curve.high)
            fills.append(min(100, round(asked)))
            files.note_rounding(
                router.name, element, "fill level", asked, fills[-1], "% of the queue"
            )
        percent = max(1, round(100 * curve.max_p))
        files.note_rounding(router.name, element, "max_p", curve.max_p, percent / 100, "1")
        drop = f"{cos} drop-profiles {profile} interpolate"
        yield f"{drop} fill-level [ {fills[0]} {fills[1]} ]"
        yield f"{drop} drop-probability [ 0 {percent} ]"
        loss = _LOSS_PRIORITIES[min(number, len(_LOSS_PRIORITIES) - 1)]
        kept = loss if len(each.curves) > 1 else "any"
        profile_map = f"{scheduler} drop-profile-map loss-priority {kept} protocol any"
        yield f"{profile_map} drop-profile {profile}"
    yield f"{cos} scheduler-maps {policy.name} forwarding-class {queue.name} scheduler {name}"


def _choose_imposed_dscps(router: Router) -> dict[int, int]:
    """Choose a DSCP for each TC to write: one that few TCs share identifies its class."""
    dscps: dict[int, list[int]] = {}
    for dscp, tc in router.imposition.items():
        dscps.setdefault(tc, []).append(dscp)
    return {tc: shared[0] for tc, shared in sorted(dscps.items())}


def _find_class(queues: dict[str, list[HardwareQueue]], dscp: int) -> str | None:
    return next(
        (each.queue.name for kept in queues.values() for each in kept if dscp in each.queue.dscps),
        None,
    )


def _list_policer_lines(
    files: TargetFiles, network: RouterNetwork, router: Router
) -> Iterator[str]:
    for name in router.list_policers():
        for policer in network.policers[name]:
            element = f"conditioner {name} profile {policer.name}"
            rate = max(policer.rate, MIN_POLICER_BIT_S)
            files.note_rounding(router.name, element, "rate", policer.rate, rate, "bit/s")
            bursts = {"burst": policer.burst}
            if policer.violate is not None:
                bursts["peak burst"] = policer.peak_burst
            for key, burst in bursts.items():
                files.note_rounding(router.name, element, key, burst, _deepen(burst), "B")
            yield from _list_policer(name, policer)
    for each in router.interfaces:
        if each.policer and network.policers[each.policer]:
            name = name_interface(each)
            yield f"interfaces {name} unit 0 family inet filter input {each.policer}"


def _deepen(burst: int) -> int:
    """The bucket that a policer has for one of this depth [B]."""
    return max(burst, MIN_POLICER_BURST_BYTES)


def _list_policer(name: str, policer: RouterPolicer) -> Iterator[str]:
    term = f"firewall family inet filter {name} term {policer.name}"
    for dscp in policer.dscps:
        yield f"{term} from dscp {dscp}"
    own = f"{name}-{policer.name}"
    if policer.violate is None:
        rate = max(policer.rate, MIN_POLICER_BIT_S)
        yield f"firewall policer {own} if-exceeding bandwidth-limit {rate}"
        yield f"firewall policer {own} if-exceeding burst-size-limit {_deepen(policer.burst)}"
        action = "discard" if policer.exceed.drop else "loss-priority high"
        yield f"firewall policer {own} then {action}"
        yield f"{term} then policer {own}"
    else:
        kind = "two-rate" if policer.peak_rate else "single-rate"
        meter = f"firewall three-color-policer {own} {kind}"
        yield f"{meter} color-blind"
        yield f"{meter} committed-information-rate {policer.rate}"
        yield f"{meter} committed-burst-size {_deepen(policer.burst)}"
        if policer.peak_rate:
            yield f"{meter} peak-information-rate {policer.peak_rate}"
            yield f"{meter} peak-burst-size {_deepen(policer.peak_burst)}"
        else:
            yield f"{meter} excess-burst-size {_deepen(policer.peak_burst)}"
        if policer.violate.drop:
            yield f"firewall three-color-policer {own} action loss-priority high then discard"
        yield f"{term} then three-color-policer {kind} {own}"
    yield f"{term} then accept"
