"""Flows of a plan: schedules of UDP, parameters of TCP, the addresses and ports of both."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from trunkline.linux.plan.addresses import RouteAddresses, name_namespace
from trunkline.linux.plan.command_script import CommandScript, ScenarioPart
from trunkline.linux.plan.command_target import GUEST_TARGET, CommandTarget
from trunkline.linux.plan.dry_run import DryRun, PlannedTransfer, list_exchanges
from trunkline.linux.plan.guest_plan import (
    EXCHANGE_RECORD,
    PAYLOAD_HEADER,
    SCHEDULE_RECORD,
    TRANSFER_RECORD,
    Exchange,
    TcpFlow,
    TransferFlow,
    UdpFlow,
    Writes,
)
from trunkline.network.types import Classifier, Flow, NetworkData, Tcp
from trunkline.scenario.probe import FLOW_MEASURES

FIRST_PORT: Final = 5000
MAX_FLOWS: Final = 60_000
MAX_TRANSFERS: Final = 25_000
"""Maximum of a flow: the kernel has ports 32768 to 60999, and keeps each for a minute."""
UDP_HEADER_BYTES: Final = 28
TCP_HEADER_BYTES: Final = 40
TIMESTAMP_OPTION_BYTES: Final = 12
_MAX_WINDOW: Final = 65_535 << 14  # Largest window of TCP [B] (RFC 7323 section 2.2).
_DEFAULT_BUFFER: Final = 4 << 20
_MAX_BUFFER: Final = 64 << 20
"""Maximum buffer of a receiver [B]. The kernel advertises half of it."""
_MIN_SAMPLE_NS: Final = 1_000_000
_KERNEL_CONTROLS: Final = ("reno", "cubic", "bbr", "dctcp", "vegas", "westwood")
"""Congestion controls of the kernel."""
_MISSING_CONTROLS: Final[dict[str, str]] = {
    "bbr3": "only version 1 of BBR, bbr; version 3 is in a branch of Google's",
    "prague": "neither prague nor accurate ECN, which a kernel of the L4S team has; nearest: dctcp",
}
"""Names of congestion controls that the kernel lacks, for messages."""
SAMPLE_NS: Final = 100_000_000  # Step of TCP's samples where no probe asks for a finer one [ns].


@dataclass
class PlannedTraffic:
    """Flows to send."""

    # udp, tcp, transfers, writes, exchanges: As the plan has them.
    udp: list[UdpFlow] = field(default_factory=list)
    tcp: list[TcpFlow] = field(default_factory=list)
    transfers: list[TransferFlow] = field(default_factory=list)
    writes: list[Writes] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)
    # Records of each schedule, by the name of its file.
    schedules: dict[str, bytes] = field(default_factory=dict)
    # Time [ns] and IP bytes of each datagram, by flow.
    datagrams: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    # For each flow, keys of ``flower`` of its data and of what comes back.
    flower_keys: list[tuple[str, str]] = field(default_factory=list)
    route_addresses: RouteAddresses = field(default_factory=RouteAddresses)
    # Nodes that send to each address with its route's parameters.
    route_senders: dict[int, set[int]] = field(default_factory=dict)
    # Node, forwarding equivalence class, DSCP, and protocol and port (``17 dport 5000``; a guest
    # has no file of names) of what each node sends.
    local_matches: list[tuple[int, int, int, str]] = field(default_factory=list)
    tcp_starts: dict[int, int] = field(default_factory=dict)  # When each TCP flow starts [ns].
    target: CommandTarget = GUEST_TARGET  # Where it is sent; parameters of TCP are a guest's.

    def get_route_address(
        self, node: int, fec: int, sender: int, route: tuple[str, ...] = ()
    ) -> str:
        """Address of a node for packets of one class, sent by `sender` with these parameters."""
        number = self.route_addresses.number_address(
            node, fec, () if self.target.on_routers else route
        )
        self.route_senders.setdefault(number, set()).add(sender)
        return self.route_addresses.format_address(number)

    def list_rows(self, classifier: Classifier) -> list[tuple[int, str]]:
        """List the row and keys of each direction of a flow."""
        flow_rows = classifier["flow_rows"]
        if not flow_rows:
            return [(0, "")]
        both_directions = [key for pair in self.flower_keys for key in pair]
        return [(row, key) for row, key in zip(flow_rows, both_directions, strict=False) if key]


def plan_traffic(script: CommandScript, network: NetworkData, dry_run: DryRun) -> PlannedTraffic:
    """The flows of a compiled network."""
    if len(network["flows"]) > MAX_FLOWS:
        script.refuse(
            ("flows",),
            f"{len(network['flows'])} flows; there are ports for {MAX_FLOWS}; "
            "nearest: fewer flows of a higher rate",
        )
        return PlannedTraffic()
    numbers = {each["name"]: index for index, each in enumerate(network["nodes"])}
    given_addresses = {numbers[name]: addresses for name, addresses in script.target.nodes.items()}
    planned = PlannedTraffic(
        datagrams=dry_run.datagrams,
        route_addresses=RouteAddresses(
            given_addresses=given_addresses,
            class_addresses={
                (numbers[name], fec): address
                for (name, fec), address in script.target.class_addresses.items()
            },
        ),
        target=script.target,
    )
    if network.get("signalling") is not None:
        script.refuse(
            ("signalling",),
            "the kernel has no RSVP-TE; nearest: the same paths from the start, kind: none",
        )
        return PlannedTraffic()
    exchange_flows = {each for pair in list_exchanges(network).items() for each in pair}
    for index, flow in enumerate(network["flows"]):
        if "transfers" in flow and not _can_run_transfers(
            script, flow, dry_run.transfers.get(index, []), index in exchange_flows
        ):
            continue
        if "echo" in flow:
            reason = "echo flows are not run in the kernel; nearest: a UDP flow each way"
            _make_part(script, flow).refuse(reason)
            continue
        if flow["agent"]["protocol"] == "udp" and "tfrc" in flow["agent"]["arrivals"]:
            reason = "the kernel has no TFRC for UDP; nearest: a TCP flow"
            _make_part(script, flow).refuse(reason, "arrivals")
        elif flow["agent"]["protocol"] == "udp" and "media" in flow["agent"]["arrivals"]:
            reason = "the kernel has no media that follow the network; nearest: a UDP flow"
            _make_part(script, flow).refuse(reason, "media")
        elif flow["agent"]["protocol"] == "udp":
            _plan_udp(script, planned, index, flow)
        else:
            _plan_tcp(script, network, planned, index, flow, dry_run)
    for answers, requests in list_exchanges(network).items():
        name = f"tcp-{requests}.exchange"
        planned.schedules[name] = b"".join(
            EXCHANGE_RECORD.pack(each.pause_ns, each.request.bytes, each.answer.bytes)
            for each in dry_run.exchanges[answers]
        )
        planned.exchanges.append(Exchange(requests, answers, name))
    _check_node_settings(script, network)
    return planned


def _can_run_transfers(
    script: CommandScript,
    flow: Flow,
    arrivals: Sequence[PlannedTransfer],
    is_of_exchange: bool,
) -> bool:
    """Whether the kernel has what transfers need; what it lacks is reported.

    is_of_exchange: It is one direction of requests and answers over connections that are kept.
    """
    part, transfers = _make_part(script, flow), flow.get("transfers")
    opened = transfers["opened"] if transfers else "requests"
    is_kept = is_keeping_connections(flow)
    if opened == "requests" and not is_of_exchange:
        return False  # reported for those who ask
    if "arrivals" not in opened and not is_of_exchange:
        part.refuse(
            "who waits for an answer before the next request (pages, films) is "
            "not run in the kernel, unless it is one user who asks for one object at a time; "
            "nearest: pages: {users: 1, objects: 0, connections: kept}, in flows that replicate"
        )
    elif flow["agent"]["protocol"] != "tcp" or not flow["agent"].get("connect"):
        part.refuse(
            "the kernel opens and closes each connection of transfers, which takes a "
            "round trip; nearest: connect: true",
            "connect",
        )
    elif len(arrivals) > MAX_TRANSFERS and not is_kept:
        part.refuse(
            f"{len(arrivals)} transfers; there are ports for {MAX_TRANSFERS}; "
            "nearest: a shorter run, or several flows of a lower load",
            "transfers",
        )
    else:
        return True
    return False


def is_keeping_connections(flow: Flow) -> bool:
    """Whether the transfers of a flow come over one connection that stays open."""
    transfers = flow.get("transfers")
    return transfers is not None and bool(transfers.get("kept"))


def has_one_connection(flow: Flow) -> bool:
    """Whether all that a TCP flow sends goes over one connection, of those that the kernel runs."""
    return "transfers" not in flow or is_keeping_connections(flow)


def _make_part(script: CommandScript, flow: Flow) -> ScenarioPart:
    return ScenarioPart(script, f"flow {flow['name']}", ("flows", flow["name"]))


def _make_endpoints(
    index: int, flow: Flow, source_address: str, destination_address: str
) -> dict[str, Any]:
    """Make the part that flows of all kinds have: sender, receiver, IP header."""
    return {
        "id": index,
        "source": name_namespace(flow["src"]),
        "destination": name_namespace(flow["dst"]),
        "source_address": source_address,
        "destination_address": destination_address,
        "port": FIRST_PORT + index,
        "tos": flow["dscp"] << 2,
        "ttl": flow["ttl"],
    }


def _plan_udp(script: CommandScript, planned: PlannedTraffic, index: int, flow: Flow) -> None:
    port = FIRST_PORT + index
    min_bytes = UDP_HEADER_BYTES + PAYLOAD_HEADER.size
    datagrams = planned.datagrams[index]
    if any(size < min_bytes for _, size in datagrams):
        _make_part(script, flow).refuse(
            f"datagrams below {min_bytes} B have no room for a time stamp; "
            f"nearest: size: {min_bytes} B",
            "size",
        )
        return
    destination = planned.get_route_address(flow["dst"], flow["fec"], flow["src"])
    source = planned.get_route_address(flow["src"], 0, flow["dst"])
    name = f"udp-{index}.schedule"
    planned.schedules[name] = b"".join(
        SCHEDULE_RECORD.pack(time, size - UDP_HEADER_BYTES) for time, size in datagrams
    )
    planned.udp.append(UdpFlow(**_make_endpoints(index, flow, source, destination), schedule=name))
    planned.flower_keys.append((f"ip_proto udp dst_ip {destination} dst_port {port}", ""))
    planned.local_matches.append((flow["src"], flow["fec"], flow["dscp"], f"17 dport {port}"))


def _plan_tcp(
    script: CommandScript,
    network: NetworkData,
    planned: PlannedTraffic,
    index: int,
    flow: Flow,
    dry_run: DryRun,
) -> None:
    port, agent = FIRST_PORT + index, flow["agent"]
    assert agent["protocol"] == "tcp"
    start = dry_run.starts[index]
    planned.tcp_starts[index] = start
    # The sender of a transfer has any port.
    is_kept = is_keeping_connections(flow)
    reverse_port = "dst" if has_one_connection(flow) else "src"
    part = _make_part(script, flow)
    if agent["variant"] == "tahoe":
        part.refuse("the Linux kernel has no tahoe; nearest: new-reno", "variant")
    if agent["variant"] == "reno":
        part.add_note("Linux's reno recovers as NewReno (RFC 6582), not as Reno (RFC 2581)")
    option_bytes = TIMESTAMP_OPTION_BYTES if agent["timestamps"] else 0
    if agent["header_bytes"] != TCP_HEADER_BYTES + option_bytes:
        part.refuse(
            f"headers of {agent['header_bytes']} B, the kernel's have "
            f"{TCP_HEADER_BYTES + option_bytes} B; nearest: header: "
            f"{TCP_HEADER_BYTES + option_bytes} B",
            "header",
        )
    congestion = agent.get("congestion") or {"kind": "reno"}
    if congestion["kind"] not in _KERNEL_CONTROLS:
        missing = _MISSING_CONTROLS.get(
            congestion["kind"], f"no {congestion['kind']}; nearest: cubic"
        )
        part.refuse(f"Linux 6.1 has {missing}", "congestion")
    slow_start = "hystart"
    if congestion["kind"] == "cubic":
        slow_start = congestion.get("slow_start", slow_start)
    if slow_start != "hystart":
        reason = f"the Linux kernel's cubic has no slow_start {slow_start}; nearest: hystart"
        part.refuse(reason, "slow_start")
    if agent.get("after_idle") == "validate":
        reason = "Linux has no after_idle: validate (RFC 7661); nearest: restart"
        part.refuse(reason, "after_idle")
    if agent["send_overhead_ns"]:
        part.add_note("the kernel's sender has no send_overhead")
    destination = planned.get_route_address(
        flow["dst"], flow["fec"], flow["src"], _format_sender_route(agent)
    )
    source = planned.get_route_address(
        flow["src"], flow["fec_reverse"], flow["dst"], _format_receiver_route(agent)
    )
    steps = [
        probe["step_ns"]
        for probe in network["probes"]
        if probe["target"] == index and probe["measure"] in FLOW_MEASURES
    ]
    send_buffer = agent.get("send_buffer_bytes")
    tcp_flow = TcpFlow(
        **_make_endpoints(index, flow, source, destination),
        start_ns=start,
        stop_ns=flow["stop_ns"],
        bytes=agent["size_bytes"],
        congestion_control=congestion["kind"],
        mss=agent["mss_bytes"] + option_bytes,
        # The kernel doubles what SO_SNDBUF is given.
        send_buffer_bytes=None if send_buffer is None else send_buffer // 2,
        receive_buffer_bytes=None,
        # The last segment of a write goes at once.
        nodelay=is_kept,
        sample_ns=_find_sample_step(steps),
    )
    if has_one_connection(flow):
        planned.tcp.append(tcp_flow)
    transfers = flow.get("transfers")
    if transfers is not None and "arrivals" in transfers["opened"]:
        name = f"transfers-{index}.schedule"
        arrivals = dry_run.transfers.get(index, [])
        planned.schedules[name] = b"".join(
            TRANSFER_RECORD.pack(each.start_ns, each.bytes) for each in arrivals
        )
        if is_kept:
            planned.writes.append(Writes(index, name))
        else:
            planned.transfers.append(TransferFlow(name, tcp_flow))
    planned.flower_keys.append(
        (
            f"ip_proto tcp dst_ip {destination} dst_port {port}",
            f"ip_proto tcp dst_ip {source} {reverse_port}_port {port}",
        )
    )
    planned.local_matches.append((flow["src"], flow["fec"], flow["dscp"], f"6 dport {port}"))
    planned.local_matches.append(
        (flow["dst"], flow["fec_reverse"], flow["dscp"], f"6 {reverse_port[0]}port {port}")
    )


def _find_sample_step(steps: Sequence[int]) -> int:
    """Find a step that all the probes' steps are multiples of, unless it would be too short."""
    common = math.gcd(SAMPLE_NS, *steps)
    return common if common >= _MIN_SAMPLE_NS else min([SAMPLE_NS, *steps])


def _format_sender_route(agent: Tcp) -> tuple[str, ...]:
    """Format the attributes of the sender's route."""
    parameters = [
        f"initcwnd {round(agent['initial_window'])}",
        f"rto_min {agent['rto_min_ns'] // 1_000_000}ms",
    ]
    if agent["initial_ssthresh"] is not None:
        parameters.append(f"ssthresh lock {round(agent['initial_ssthresh'])}")
    return (*parameters, *_format_features(agent))


def _format_features(agent: Tcp) -> tuple[str, ...]:
    """ECN of one connection, where both of its routes ask for it."""
    return ("features ecn",) if agent["ecn"] else ()


def _format_receiver_route(agent: Tcp) -> tuple[str, ...]:
    """Format the attributes of the receiver's route: its largest window, and its ACKs."""
    window = min(agent["window_packets"] * agent["mss_bytes"], _MAX_WINDOW)
    parameters = (f"window {window}", *_format_features(agent))
    return parameters if agent["delayed_ack"] is not None else (*parameters, "quickack 1")


def _check_node_settings(script: CommandScript, network: NetworkData) -> None:
    """SACK, time stamps, windows after a pause and the receiver's memory are a node's."""
    _check_node_setting(script, network, "variant", "SACK", _uses_sack)
    _check_node_setting(script, network, "timestamps", "time stamps", _uses_timestamps)
    _check_node_setting(
        script,
        network,
        "receive_buffer",
        "the memory of receivers",
        lambda agent: _compute_receive_memory(agent)[0],
        sends=False,
    )
    _check_node_setting(
        script, network, "after_idle", "the window after a pause", _restarts_after_idle
    )


def _check_node_setting(
    script: CommandScript,
    network: NetworkData,
    key: str,
    kernel_setting: str,
    read_setting: Callable[[Tcp], object],
    sends: bool = True,
) -> None:
    """Refuse flows that ask one node for different values of what the kernel sets for a node."""
    # By node and what is asked of it: the first flow that asks for it.
    by_node: dict[int, dict[object, str]] = {}
    for flow in network["flows"]:
        if flow["agent"]["protocol"] == "tcp":
            for node in (flow["src"], flow["dst"]) if sends else (flow["dst"],):
                by_node.setdefault(node, {}).setdefault(read_setting(flow["agent"]), flow["name"])
    for node, values in by_node.items():
        if len(values) > 1:
            script.refuse(
                ("flows", list(values.values())[1], key),
                f"node {network['nodes'][node]['name']}: Linux sets {key} ({kernel_setting}) "
                "for a node, not a flow; nearest: give each kind of flow its own nodes",
            )


def _uses_sack(agent: Tcp) -> bool:
    return bool(agent["variant"] in ("sack", "rack"))


def _uses_timestamps(agent: Tcp) -> bool:
    return bool(agent["timestamps"])


def _restarts_after_idle(agent: Tcp) -> bool:
    return agent.get("after_idle", "restart") == "restart"


def _compute_receive_memory(agent: Tcp) -> tuple[int, int]:
    """Memory of a receiver, at first and at most [B]; without a buffer room for its window."""
    memory = agent.get("receive_buffer")
    if memory is not None:
        return memory["initial_bytes"], memory["max_bytes"]
    window = agent["window_packets"] * agent["mss_bytes"]
    return _DEFAULT_BUFFER, min(_MAX_BUFFER, max(_DEFAULT_BUFFER, 2 * window))


def list_tcp_sysctls(network: NetworkData, node: int) -> list[tuple[str, str]]:
    """List the settings of TCP at a node."""
    agents, receivers = [], []
    for flow in network["flows"]:
        if flow["agent"]["protocol"] == "tcp" and node in (flow["src"], flow["dst"]):
            agents.append(flow["agent"])
            if node == flow["dst"]:
                receivers.append(flow["agent"])
    if not agents:
        return []
    first = agents[0]
    memories = [_compute_receive_memory(agent) for agent in receivers or agents]
    initial, most = max(memory[0] for memory in memories), max(memory[1] for memory in memories)
    sack = "1" if _uses_sack(first) else "0"
    base = "net/ipv4/tcp_"
    return [
        (f"{base}sack", sack),
        (f"{base}dsack", sack),
        (f"{base}timestamps", "1" if _uses_timestamps(first) else "0"),
        (f"{base}ecn", "0"),  # by route
        (f"{base}no_metrics_save", "1"),
        (f"{base}window_scaling", "1"),
        (f"{base}rmem", f"4096 {initial} {most}"),
        (f"{base}wmem", "4096 4194304 67108864"),
        (f"{base}notsent_lowat", "131072"),
        *([] if _restarts_after_idle(first) else [(f"{base}slow_start_after_idle", "0")]),
    ]
