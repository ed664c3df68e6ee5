"""A compiled network as a plan for a guest."""

import json
from dataclasses import dataclass, replace

from trunkline.linux.plan import (
    conditioning,
    frr_config,
    label_filters,
    port_qdiscs,
    recovery,
    timed_queues,
    unsupported,
)
from trunkline.linux.plan.addresses import VethPlan, name_namespace
from trunkline.linux.plan.command_script import CommandScript, UnsupportedError
from trunkline.linux.plan.command_target import GUEST_TARGET, CommandTarget
from trunkline.linux.plan.dry_run import DryRun, perform_dry_run
from trunkline.linux.plan.filters import add_filters, list_dscps
from trunkline.linux.plan.forwarding import ForwardingRoutes
from trunkline.linux.plan.guest_plan import GuestPlan, PlannedNode, QueueSampling
from trunkline.linux.plan.leaf_qdisc import LeafQdisc
from trunkline.linux.plan.protocols import get_ldp
from trunkline.linux.plan.recovery import RecoverySchedule
from trunkline.linux.plan.traffic import PlannedTraffic, list_tcp_sysctls, plan_traffic
from trunkline.network.types import NetworkData
from trunkline.scenario.probe import FLOW_MEASURES

_DEVICE_MTU = 65_535
_ETHERNET_MTU = 1500
_LABEL_BYTES = 4


@dataclass(frozen=True)
class CompiledPlan:
    """A plan, with the data to read its results and to explain it."""

    plan: GuestPlan  # For the guest.
    schedules: dict[str, bytes]  # Files of the plan.
    notes: tuple[str, ...]  # Differences between kernel and simulator.
    network: NetworkData  # The compiled network.
    script: CommandScript  # The commands with their reasons.
    wiring: VethPlan  # Devices of each one-way link.
    leaves: tuple[dict[int, LeafQdisc], ...]  # Queue of each class, by one-way link.
    traffic: PlannedTraffic  # Flows.
    recovery_schedule: RecoverySchedule  # Events of links and paths.
    dry_run: DryRun  # Source of that and of the schedules.


def compile_plan(
    network_json: str, *, seed: int | None = None, target: CommandTarget = GUEST_TARGET
) -> CompiledPlan:
    """Make a plan of a compiled network.

    network_json: Canonical JSON of the network.
    seed: Seed [0 to 2**64 - 1]; that of the network if left out.
    Raises UnsupportedError: The network has what the kernel lacks; every reason is given, with what
        is nearest.
    """
    network: NetworkData = json.loads(network_json)
    seed = network["run"]["seed"] if seed is None else seed
    script = CommandScript.for_nodes(len(network["nodes"]), target)
    _refuse_protocols(script, network)
    dry_run = perform_dry_run(network, seed)
    full_network, followed_run = network, dry_run
    if target.control is not None:
        # Routes, and the messages behind them, are the daemons'.
        network, followed_run = frr_config.strip_control(full_network), replace(dry_run, routes=[])
    planned_traffic = plan_traffic(script, network, dry_run)
    if target.control is not None:
        for node in range(len(network["nodes"])):
            planned_traffic.route_addresses.number_address(node, 0)
    unsupported.refuse_too_few_addresses(script, network, planned_traffic)
    targets = sorted({node for node, _, _ in planned_traffic.route_addresses.keys})
    recovery_schedule = recovery.plan_recovery(script, network, followed_run, targets)
    wiring = VethPlan.from_links(network["links"], target)
    if script.reasons:
        # Gaps of queues and meters do not depend on the flows: the report has them with the rest.
        _add_ports(script, network, wiring)
        for conditioner in network.get("conditioners", []):
            conditioning.list_ingress_filters(script, conditioner, [])
        raise UnsupportedError(script.reasons)
    _add_links(script, recovery_schedule.network, wiring)
    leaves = _add_ports(script, network, wiring)
    add_filters(script, recovery_schedule, wiring, leaves, planned_traffic)
    if not target.on_routers:
        recovery.add_loss_traps(script, recovery_schedule, wiring)
        _silence_icmp(script, network)
    _add_addresses(script, planned_traffic)
    routes = ForwardingRoutes(script, recovery_schedule.network, wiring, planned_traffic)
    if target.control is None:
        _add_routes(script, network, recovery_schedule, routes)
    readings, changes = recovery.list_changes(recovery_schedule, wiring, routes)
    if script.reasons:
        raise UnsupportedError(script.reasons)
    has_labels = bool(target.daemon_labels) or (
        target.control is not None and get_ldp(full_network) is not None
    )
    plan = GuestPlan(
        seed=seed,
        duration_ns=network["run"]["duration_ns"],
        nodes=_make_nodes(script, recovery_schedule.network, wiring, has_labels=has_labels),
        links=tuple(pair.to_planned_link() for pair in wiring.pairs),
        udp=tuple(planned_traffic.udp),
        tcp=tuple(planned_traffic.tcp),
        transfers=tuple(planned_traffic.transfers),
        writes=tuple(planned_traffic.writes),
        exchanges=tuple(planned_traffic.exchanges),
        samples=_list_samples(network, wiring),
        counts=readings,
        changes=changes,
        # Not at the start, where there is nothing to count: reading takes an emulated machine time.
        snapshots_ns=tuple(
            sorted({network["run"]["warmup_ns"], network["run"]["duration_ns"]} - {0})
        ),
    )
    files = planned_traffic.schedules
    if target.control is not None:
        frr_config.add_notes(script, network)
        files = {
            **files,
            **frr_config.write_configs(full_network, wiring, planned_traffic.route_addresses),
        }
        plan = frr_config.add_daemons(plan, full_network, wiring, dry_run.timeline_events)
    return CompiledPlan(
        plan,
        files,
        tuple(script.notes),
        network,
        script,
        wiring,
        tuple(leaves),
        planned_traffic,
        recovery_schedule,
        dry_run,
    )


def _refuse_protocols(script: CommandScript, network: NetworkData) -> None:
    """Refuse what the kernel, or the daemons of its routers, lack.

    Raises UnsupportedError: No plan can be made, so the rest needs no look.
    """
    unsupported.refuse_unsupported(script, network)
    if script.target.control is not None:
        frr_config.refuse_unsupported(script, network)
        if script.reasons:
            raise UnsupportedError(script.reasons)
    elif signalling := network.get("signalling"):
        if not signalling.get("ldp"):
            raise UnsupportedError(script.reasons)
        script.refuse(
            ("routing", "ldp"), "routers of the kernel have no LDP; nearest: --control frr"
        )


def _make_nodes(
    script: CommandScript, network: NetworkData, wiring: VethPlan, *, has_labels: bool
) -> tuple[PlannedNode, ...]:
    return tuple(
        PlannedNode(
            name_namespace(index),
            tuple(_list_sysctls(network, wiring, index, script.target, has_labels)),
            script.list_lines(index, "ip"),
            script.list_lines(index, "mpls"),
            script.list_lines(index, "tc"),
        )
        for index in range(len(network["nodes"]))
    )


def _list_sysctls(
    network: NetworkData, wiring: VethPlan, node: int, target: CommandTarget, has_labels: bool
) -> list[tuple[str, str]]:
    """Sysctls of a node: a router, with labels if it has any, or gets some.

    Paths of both directions may differ, so that no reverse path filter may be strict. A device's is
    the greater of its own and that of ``all``: 2 (RFC 3704 section 2.4, loose) is above both.
    """
    devices = [
        side.device for pair in wiring.pairs for side in (pair.a, pair.b) if side.node == node
    ]
    sysctls_ = [("net/ipv4/ip_forward", "1")]
    sysctls_ += [
        (f"net/ipv4/conf/{device}/rp_filter", "2") for device in devices if target.on_routers
    ]
    if not target.on_routers:
        devices_and_all = ("all", "default", *devices)
        sysctls_ += [(f"net/ipv4/conf/{device}/rp_filter", "0") for device in devices_and_all]
    if (
        has_labels
        or any(each["node"] == node for each in network["ilm"])
        or _receives_explicit_null(network, node)
    ):
        sysctls_.append(("net/mpls/platform_labels", "1048575"))
        sysctls_ += [(f"net/mpls/conf/{device}/input", "1") for device in ("lo", *devices)]
        if node in label_filters.list_pipe_null_nodes(network):
            sysctls_.append(("net/mpls/ip_ttl_propagate", "0"))
    return sysctls_ if target.on_routers else sysctls_ + list_tcp_sysctls(network, node)


def _silence_icmp(script: CommandScript, network: NetworkData) -> None:
    """Silence drops, as in a scenario: routers send no ICMP errors among its packets.

    A limit of their rate would let "fragmentation needed" through, so they get no route. Hosts
    keep theirs.
    """
    hosts = {flow[end] for flow in network["flows"] for end in ("src", "dst")}
    for node in range(len(network["nodes"])):
        if node not in hosts:
            line = "rule add pref 1 iif lo ipproto 1 blackhole"
            script.add_command(
                node, "ip", line, f"no ICMP errors from {network['nodes'][node]['name']}"
            )


def _receives_explicit_null(network: NetworkData, node: int) -> bool:
    """Whether explicit null is sent to a node."""
    return any(
        entry["link"] is not None
        and 0 in entry["push"]
        and network["links"][entry["link"]]["to"] == node
        for entry in network["nhlfe"]
    )


def _add_links(script: CommandScript, network: NetworkData, wiring: VethPlan) -> None:
    link_of_end = {
        id(near_end): link
        for near_end, link in zip(wiring.sending_ends, network["links"], strict=True)
    }
    max_labels = _compute_max_labels(network) + script.target.daemon_labels
    for pair in wiring.pairs:
        for near_end, far_end in ((pair.a, pair.b), (pair.b, pair.a)):
            link = link_of_end.get(id(near_end))
            about = f"link {link['name'] if link else 'that nothing is sent on'}"
            mtu = min(_DEVICE_MTU, link["mtu_bytes"]) if link else _DEVICE_MTU
            lines = [
                f"link set {near_end.device} mtu {mtu} txqueuelen 1000 gso_max_segs 1",
                f"addr add {near_end.address}/{near_end.prefix} dev {near_end.device}",
                f"link set {near_end.device} up",
                f"neigh replace {far_end.address} lladdr {far_end.mac} dev {near_end.device} "
                f"nud permanent",
            ]
            if script.target.on_routers:
                label_bytes = _LABEL_BYTES * max_labels
                mtu = mtu if mtu < _DEVICE_MTU else _ETHERNET_MTU + label_bytes
                # Between namespaces TCP's segments would travel by the dozen.
                single = " gso_max_segs 1" if script.target.adds_wires else ""
                lines = [f"link set {near_end.device} mtu {mtu}{single}", *lines[1:3]]
            for line in lines:
                script.add_command(near_end.node, "ip", line, about)


def _compute_max_labels(network: NetworkData) -> int:
    """Labels that a packet has at most: those it enters with, and those put on top on its way."""
    nhlfe = network["nhlfe"]
    pushed_at_entry: int = max(
        (len(nhlfe[each["nhlfe"]]["push"]) for each in network["ftn"]), default=0
    )
    entries = [nhlfe[each["nhlfe"]] for each in network["ilm"]]
    pushed_on_way: int = max((0, *(len(each["push"]) - each["pop"] for each in entries)))
    return pushed_at_entry + pushed_on_way


def _add_ports(
    script: CommandScript, network: NetworkData, wiring: VethPlan
) -> list[dict[int, LeafQdisc]]:
    leaves = []
    for index, link in enumerate(network["links"]):
        config = network["ports"][link["port"]]
        leaves.append(port_qdiscs.add_port(script, wiring.sending_ends[index], link, config))
        timed_queues.refuse_labelled(
            script, network, index, label_filters.count_label_stacks(network, index)
        )
        port_qdiscs.add_wire(script, wiring.receiving_ends[index], link)
    return leaves


def _add_addresses(script: CommandScript, traffic_: PlannedTraffic) -> None:
    for number, (node, fec, _) in enumerate(traffic_.route_addresses.keys):
        about = "address of this node" + (f" for forwarding equivalence class {fec}" if fec else "")
        script.add_command(
            node,
            "ip",
            f"addr add {traffic_.route_addresses.format_address(number)}/32 dev lo",
            about,
        )


def _add_routes(
    script: CommandScript,
    network: NetworkData,
    recovery_schedule: RecoverySchedule,
    routes: ForwardingRoutes,
) -> None:
    for (node, program, target), (route_text, about) in routes.list_routes(
        recovery_schedule.states[0][1]
    ).items():
        script.add_command(node, program, f"route add {target} {route_text}", about)
    for node, rule, about in routes.list_rules(list_dscps(network)):
        script.add_command(node, "ip", rule, about)


def _list_samples(network: NetworkData, wiring: VethPlan) -> tuple[QueueSampling, ...]:
    steps: dict[tuple[str, str], int] = {}
    for probe in network["probes"]:
        if probe["measure"] in FLOW_MEASURES:
            continue
        side = wiring.sending_ends[probe["target"]]
        key = (name_namespace(side.node), side.device)
        steps[key] = min(steps.get(key, probe["step_ns"]), probe["step_ns"])
    return tuple(QueueSampling(node, device, step) for (node, device), step in steps.items())
