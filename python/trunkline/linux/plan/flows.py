"""Flows of a plan: schedules of UDP, parameters of TCP, the addresses and ports of both."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from trunkline.linux.plan.addresses import Ends, node_name
from trunkline.linux.plan.ground import GUEST, Ground
from trunkline.linux.plan.plan import (
    PAYLOAD,
    SCHEDULED,
    TRANSFER,
    TcpFlow,
    Transfers,
    UdpFlow,
)
from trunkline.linux.plan.rehearsal import Rehearsal, Transfer
from trunkline.linux.plan.script import Part, Script
from trunkline.network.types import Classifier, Flow, Network
from trunkline.network.types.flows import Tcp
from trunkline.scenario.probe import FLOW_MEASURES

FIRST_PORT: Final = 5000
MOST_FLOWS: Final = 60_000
MOST_TRANSFERS: Final = 25_000
"""Of a flow: the kernel gives ports of 32768 to 60999, and keeps each a minute after its use."""
UDP_HEADERS: Final = 28
TCP_HEADERS: Final = 40
TIMESTAMPS: Final = 12
_MOST_WINDOW: Final = 65_535 << 14
"""Largest window that TCP can tell [B] (RFC 7323 section 2.2)."""
_BUFFER: Final = 4 << 20
_LARGEST_BUFFER: Final = 64 << 20
"""Of a receiver, at first and at most [B]. The kernel advertises half of it."""
_SHORTEST_NS: Final = 1_000_000
_CONTROLS: Final = ("reno", "cubic", "bbr", "dctcp", "vegas", "westwood")
"""Congestion controls of the kernel."""
_LACKS: Final[dict[str, str]] = {
    "prague": "neither prague nor accurate ECN, which a kernel of the L4S team has; nearest: dctcp",
}
"""What is said of controls that it lacks."""
SAMPLE_NS: Final = 100_000_000
"""Step of TCP's samples where no probe asks for a finer one [ns]."""


@dataclass
class Traffic:
    """What is sent.

    Parameters
    ----------
    udp, tcp, transfers : list
        As the plan has them.
    schedules : dict of str to bytes
        Records of each schedule, by the name of its file.
    sent : dict of int to list of (int, int)
        Time [ns] and IP bytes of each datagram, by flow.
    keys : list of (str, str)
        For each flow, keys of ``flower`` of its data and of what comes back.
    routed : dict of int to set of int
        Nodes that send to each address with its route's parameters.
    local : list of tuple
        Node, forwarding equivalence class, DSCP, and protocol and port (``udp dport 5000``) of what
        each node sends.
    tcp_starts : dict of int to int
        When each TCP flow starts [ns].
    ground : Ground
        Where it is sent; parameters of TCP are a guest's.
    """

    udp: list[UdpFlow] = field(default_factory=list)
    tcp: list[TcpFlow] = field(default_factory=list)
    transfers: list[Transfers] = field(default_factory=list)
    schedules: dict[str, bytes] = field(default_factory=dict)
    sent: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    keys: list[tuple[str, str]] = field(default_factory=list)
    ends: Ends = field(default_factory=Ends)
    routed: dict[int, set[int]] = field(default_factory=dict)
    local: list[tuple[int, int, int, str]] = field(default_factory=list)
    tcp_starts: dict[int, int] = field(default_factory=dict)
    ground: Ground = GUEST

    def end(self, node: int, fec: int, sender: int, route: tuple[str, ...] = ()) -> str:
        """Address of a node for packets of one class, sent by `sender` with these parameters."""
        number = self.ends.number(node, fec, () if self.ground.routers else route)
        self.routed.setdefault(number, set()).add(sender)
        return self.ends.text(number)

    def rows(self, classifier: Classifier) -> list[tuple[int, str]]:
        """Row and keys of each direction of a flow."""
        flow_rows = classifier["flow_rows"]
        if not flow_rows:
            return [(0, "")]
        both = [key for pair in self.keys for key in pair]
        return [(row, key) for row, key in zip(flow_rows, both, strict=False) if key]


def traffic(script: Script, data: Network, rehearsal: Rehearsal) -> Traffic:
    """The flows of a compiled network."""
    if len(data["flows"]) > MOST_FLOWS:
        script.refuse(
            ("flows",),
            f"{len(data['flows'])} flows; there are ports for {MOST_FLOWS}; "
            "nearest: fewer flows of a higher rate",
        )
        return Traffic()
    numbers = {each["name"]: index for index, each in enumerate(data["nodes"])}
    chosen = {numbers[name]: those for name, those in script.ground.nodes.items()}
    made = Traffic(sent=rehearsal.sent, ends=Ends(chosen=chosen), ground=script.ground)
    if data.get("signalling") is not None:
        script.refuse(
            ("signalling",),
            "the kernel has no RSVP-TE; nearest: the same paths from the start, kind: none",
        )
        return Traffic()
    for index, flow in enumerate(data["flows"]):
        if "transfers" in flow and not _able(script, flow, rehearsal.transfers.get(index, [])):
            continue
        if "echo" in flow:
            why = "echo flows are not run in the kernel; nearest: a UDP flow each way"
            _part(script, flow).refuse(why)
            continue
        if flow["agent"]["protocol"] == "udp":
            _udp(script, made, index, flow)
        else:
            _tcp(script, data, made, index, flow, rehearsal)
    _agree(script, data)
    return made


def _able(script: Script, flow: Flow, listed: Sequence[Transfer]) -> bool:
    """Whether the kernel has what transfers need; what it lacks is reported."""
    part, its = _part(script, flow), flow.get("transfers")
    opened = its["opened"] if its else "requests"
    if opened == "requests":
        return False  # reported for those who ask
    if "arrivals" not in opened:
        part.refuse(
            "who waits for an answer before the next request (pages, films) is "
            "not run in the kernel; nearest: transfers of the same load"
        )
    elif flow["agent"]["protocol"] != "tcp" or not flow["agent"].get("connect"):
        part.refuse(
            "the kernel opens and closes each connection of transfers, which takes a "
            "round trip; nearest: connect: true",
            "connect",
        )
    elif len(listed) > MOST_TRANSFERS:
        part.refuse(
            f"{len(listed)} transfers; there are ports for {MOST_TRANSFERS}; "
            "nearest: a shorter run, or several flows of a lower load",
            "transfers",
        )
    else:
        return True
    return False


def _part(script: Script, flow: Flow) -> Part:
    return Part(script, f"flow {flow['name']}", ("flows", flow["name"]))


def _ends(index: int, flow: Flow, origin: str, target: str) -> dict[str, Any]:
    """What flows of all kinds have in a plan: who sends to whom, and the IP header."""
    return {
        "id": index,
        "source": node_name(flow["src"]),
        "destination": node_name(flow["dst"]),
        "source_address": origin,
        "destination_address": target,
        "port": FIRST_PORT + index,
        "tos": flow["dscp"] << 2,
        "ttl": flow["ttl"],
    }


def _udp(script: Script, made: Traffic, index: int, flow: Flow) -> None:
    port = FIRST_PORT + index
    smallest = UDP_HEADERS + PAYLOAD.size
    listed = made.sent[index]
    if any(size < smallest for _, size in listed):
        _part(script, flow).refuse(
            f"datagrams below {smallest} B have no room for a time stamp; "
            f"nearest: size: {smallest} B",
            "size",
        )
        return
    target = made.end(flow["dst"], flow["fec"], flow["src"])
    origin = made.end(flow["src"], 0, flow["dst"])
    name = f"udp-{index}.schedule"
    made.schedules[name] = b"".join(
        SCHEDULED.pack(time, size - UDP_HEADERS) for time, size in listed
    )
    made.udp.append(UdpFlow(**_ends(index, flow, origin, target), schedule=name))
    made.keys.append((f"ip_proto udp dst_ip {target} dst_port {port}", ""))
    made.local.append((flow["src"], flow["fec"], flow["dscp"], f"udp dport {port}"))


def _tcp(
    script: Script,
    data: Network,
    made: Traffic,
    index: int,
    flow: Flow,
    rehearsal: Rehearsal,
) -> None:
    port, agent = FIRST_PORT + index, flow["agent"]
    assert agent["protocol"] == "tcp"
    start = rehearsal.starts[index]
    made.tcp_starts[index] = start
    # The sender of a transfer has any port.
    back = "src" if "transfers" in flow else "dst"
    part = _part(script, flow)
    if agent["variant"] == "tahoe":
        part.refuse("the Linux kernel has no tahoe; nearest: new-reno", "variant")
    if agent["variant"] == "reno":
        part.note("Linux's reno recovers as NewReno (RFC 6582), not as Reno (RFC 2581)")
    options = TIMESTAMPS if agent["timestamps"] else 0
    if agent["header_bytes"] != TCP_HEADERS + options:
        part.refuse(
            f"headers of {agent['header_bytes']} B, the kernel's have "
            f"{TCP_HEADERS + options} B; nearest: header: {TCP_HEADERS + options} B",
            "header",
        )
    congestion = agent.get("congestion") or {"kind": "reno"}
    if congestion["kind"] not in _CONTROLS:
        lacks = _LACKS.get(congestion["kind"], f"no {congestion['kind']}; nearest: cubic")
        part.refuse(f"Linux 6.1 has {lacks}", "congestion")
    slow_start = "hystart"
    if congestion["kind"] == "cubic":
        slow_start = congestion.get("slow_start", slow_start)
    if slow_start != "hystart":
        why = f"the Linux kernel's cubic has no slow_start {slow_start}; nearest: hystart"
        part.refuse(why, "slow_start")
    if agent["send_overhead_ns"]:
        part.note("the kernel's sender has no send_overhead")
    target = made.end(flow["dst"], flow["fec"], flow["src"], _route(agent))
    origin = made.end(flow["src"], flow["fec_reverse"], flow["dst"], _route_back(agent))
    steps = [
        probe["step_ns"]
        for probe in data["probes"]
        if probe["target"] == index and probe["measure"] in FLOW_MEASURES
    ]
    its = TcpFlow(
        **_ends(index, flow, origin, target),
        start_ns=start,
        stop_ns=flow["stop_ns"],
        bytes=agent["size_bytes"],
        congestion_control=congestion["kind"],
        mss=agent["mss_bytes"] + options,
        send_buffer_bytes=None,
        receive_buffer_bytes=None,
        nodelay=False,
        sample_ns=_sample_step(steps),
    )
    if "transfers" in flow:
        name = f"transfers-{index}.schedule"
        listed = rehearsal.transfers.get(index, [])
        made.schedules[name] = b"".join(TRANSFER.pack(each.start_ns, each.bytes) for each in listed)
        made.transfers.append(Transfers(name, its))
    else:
        made.tcp.append(its)
    made.keys.append(
        (
            f"ip_proto tcp dst_ip {target} dst_port {port}",
            f"ip_proto tcp dst_ip {origin} {back}_port {port}",
        )
    )
    made.local.append((flow["src"], flow["fec"], flow["dscp"], f"tcp dport {port}"))
    made.local.append((flow["dst"], flow["fec_reverse"], flow["dscp"], f"tcp {back[0]}port {port}"))


def _sample_step(steps: Sequence[int]) -> int:
    """A step that all the probes' steps are multiples of, unless it would be too short."""
    common = math.gcd(SAMPLE_NS, *steps)
    return common if common >= _SHORTEST_NS else min([SAMPLE_NS, *steps])


def _route(agent: Tcp) -> tuple[str, ...]:
    """What the sender takes from its route."""
    said = [
        f"initcwnd {round(agent['initial_window'])}",
        f"rto_min {agent['rto_min_ns'] // 1_000_000}ms",
    ]
    if agent["initial_ssthresh"] is not None:
        said.append(f"ssthresh lock {round(agent['initial_ssthresh'])}")
    return (*said, *_features(agent))


def _features(agent: Tcp) -> tuple[str, ...]:
    """ECN of one connection, where both of its routes ask for it."""
    return ("features ecn",) if agent["ecn"] else ()


def _route_back(agent: Tcp) -> tuple[str, ...]:
    """What the receiver takes from its route: the greatest window that it advertises, its ACKs."""
    window = min(agent["window_packets"] * agent["mss_bytes"], _MOST_WINDOW)
    said = (f"window {window}", *_features(agent))
    return said if agent["delayed_ack"] is not None else (*said, "quickack 1")


def _agree(script: Script, data: Network) -> None:
    """SACK and time stamps are a node's, not a connection's."""
    for key, asked in (("variant", _sack), ("timestamps", _timestamps)):
        # By node and what is asked of it: the first flow that asks for it.
        by_node: dict[int, dict[bool, str]] = {}
        for flow in data["flows"]:
            if flow["agent"]["protocol"] == "tcp":
                for node in (flow["src"], flow["dst"]):
                    by_node.setdefault(node, {}).setdefault(asked(flow["agent"]), flow["name"])
        for node, values in by_node.items():
            if len(values) > 1:
                script.refuse(
                    ("flows", list(values.values())[1], key),
                    f"node {data['nodes'][node]['name']}: Linux sets {key} (SACK, time stamps) "
                    "for a node, not a flow; nearest: give each kind of flow nodes of its own",
                )


def _sack(agent: Tcp) -> bool:
    return bool(agent["variant"] == "sack")


def _timestamps(agent: Tcp) -> bool:
    return bool(agent["timestamps"])


def sysctls(data: Network, node: int) -> list[tuple[str, str]]:
    """Settings of TCP at a node."""
    agents = [
        flow["agent"]
        for flow in data["flows"]
        if flow["agent"]["protocol"] == "tcp" and node in (flow["src"], flow["dst"])
    ]
    if not agents:
        return []
    first = agents[0]
    # A buffer that grows takes the window with it, above what the route allows.
    windows = [agent["window_packets"] * agent["mss_bytes"] for agent in agents]
    largest = min(_LARGEST_BUFFER, max(_BUFFER, 2 * max(windows)))
    sack = "1" if _sack(first) else "0"
    base = "net/ipv4/tcp_"
    return [
        (f"{base}sack", sack),
        (f"{base}dsack", sack),
        (f"{base}timestamps", "1" if _timestamps(first) else "0"),
        (f"{base}ecn", "0"),  # by route
        (f"{base}no_metrics_save", "1"),
        (f"{base}window_scaling", "1"),
        (f"{base}rmem", f"4096 {_BUFFER} {largest}"),
        (f"{base}wmem", "4096 4194304 67108864"),
        (f"{base}notsent_lowat", "131072"),
    ]
