"""Flows of a capture: UDP datagram by datagram, TCP as sizes and think times.

What TCP sent depended on the network it crossed, so its segments are not replayed: what one side
wrote until it paused or the other side answered is one transfer, and the run's own TCP carries it.
Bytes that were sent again count once. While a loss is repaired the sender does not pause.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.proof import prove_import
from trunkline.importers.traffic.captured_packets import RST, SYN, TCP, UDP, CapturedPacket
from trunkline.importers.traffic.sent_bytes import SentBytes
from trunkline.scenario.yaml_text import block

MIN_IP_UDP_BYTES = 28
SAME_PACKET_NS = 10_000_000  # Within this time equal packets are one that was captured twice [ns].
_Key = tuple[str, str, int, int, int]


@dataclass(frozen=True, slots=True)
class ReplayedFlow:
    """One direction of a conversation."""

    name: str  # ``udp-1``, ``tcp-2``, ... in the order of their first packets.
    key: tuple[str, str, int, int, int]  # Addresses, protocol and ports.
    source: str
    target: str
    # Time since the first packet of the capture [ns], and size [B]: IP bytes of a datagram,
    # application bytes of a transfer.
    rows: list[tuple[int, int]]

    @property
    def is_tcp(self) -> bool:
        """Whether its rows are transfers."""
        return self.key[2] == TCP

    def to_csv(self) -> str:
        """Write its schedule: a header and a line a row, values with their units."""
        lines = [f"{time} ns,{size} B" for time, size in self.rows]
        return "\n".join(["time,size", *lines]) + "\n"

    def to_dict(self) -> dict[str, object]:
        """Build its entry in `flows` of a scenario, whose schedule is in ``NAME.csv``."""
        ends = {"from": self.source, "to": self.target}
        schedule_keys = {"arrivals": "schedule", "schedule": f"{self.name}.csv"}
        if self.is_tcp:
            return {"agent": "tcp", **ends, "transfers": schedule_keys}
        return {"agent": "udp", **ends, **schedule_keys}


def prove_flows(made: Iterable[ReplayedFlow]) -> None:
    """Load a scenario of flows.

    Raises ImportFault: It does not load: a node's name or a time is beyond the language.
    """
    flows = {flow.name: flow for flow in made}
    links = dict.fromkeys(tuple(sorted((flow.source, flow.target))) for flow in flows.values())
    scenario = {
        "trunkline": 1,
        "nodes": list(dict.fromkeys(node for ends in links for node in ends)),
        "links": {
            f"link{number}": {"between": list(ends), "rate": "1 Gbit/s"}
            for number, ends in enumerate(links)
        },
        "flows": {name: flow.to_dict() for name, flow in flows.items()},
        "run": {"duration": "1 s"},
    }
    tables = {f"{name}.csv": flow.to_csv().encode() for name, flow in flows.items()}
    prove_import(block(scenario), tables)


def collect_flows(
    packets: Iterable[CapturedPacket],
    *,
    nodes: Mapping[str, str] | None = None,
    think_ns: int = 200_000_000,
    account: ImportAccount | None = None,
) -> list[ReplayedFlow]:
    """Sort the packets of a capture into flows.

    nodes: Node of each address; packets of other addresses are left out. None: nodes are called by
        their addresses.
    think_ns: A pause of TCP's sender that is longer ends a transfer [ns].
    account: Gets each packet once: read, or left out with the reason.
    Returns: In the order of their first packets. Packets between two addresses of one node, and
        directions of TCP without data, are left out.
    """
    account = ImportAccount() if account is None else account
    collector = _FlowCollector(nodes, think_ns)
    for packet in sorted(packets, key=lambda each: each.time_ns):
        name = "UDP datagrams" if packet.protocol == UDP else "TCP segments"
        reason = collector.add(packet)
        if reason:
            account.add_left_out(name, reason)
        else:
            account.add_read(name, "datagrams" if packet.protocol == UDP else "bytes of transfers")
    collector.complete_account(account)
    return collector.list_flows()


def name_node(address: str) -> str:
    """A name for the node of an address: that of IPv6 without colons, which names cannot have."""
    return "v6-" + address.replace(":", "-") if ":" in address else address


class _FlowCollector:
    """Sorts packets, in the order of their times, into schedules."""

    def __init__(self, nodes: Mapping[str, str] | None, think_ns: int):
        self.nodes = nodes
        self.think_ns = think_ns
        self.rows: dict[_Key, list[tuple[int, int]]] = {}
        self.sent: dict[_Key, SentBytes] = {}
        self.last_time: dict[_Key, int] = {}
        self.last_sender: dict[frozenset[tuple[str, int]], _Key] = {}
        self.captured: dict[tuple[object, ...], int] = {}
        self.first_ns: int | None = None
        self.bytes_again = 0
        self.has_ipv6 = 0

    def find_node(self, address: str) -> str | None:
        return name_node(address) if self.nodes is None else self.nodes.get(address)

    def add(self, packet: CapturedPacket) -> str:
        """Take in a packet; why it is left out, empty if it is not."""
        ends = [self.find_node(each) for each in packet.key[:2]]
        if None in ends:
            return "no --node for their addresses"
        if ends[0] == ends[1]:
            return "between addresses of one node"
        self.first_ns = packet.time_ns if self.first_ns is None else self.first_ns
        reason = self.add_datagram(packet) if packet.protocol == UDP else self.add_segment(packet)
        self.has_ipv6 += not reason and ":" in packet.source
        return reason

    def add_datagram(self, packet: CapturedPacket) -> str:
        if packet.identity:
            twin = (packet.key, packet.identity)
            earlier = self.captured.get(twin)
            self.captured[twin] = packet.time_ns
            if earlier is not None and packet.time_ns - earlier <= SAME_PACKET_NS:
                return "captured twice: the same identification and checksum within 10 ms"
        time = packet.time_ns - (self.first_ns or 0)
        self.rows.setdefault(packet.key, []).append((time, max(MIN_IP_UDP_BYTES, packet.ip_bytes)))
        return ""

    def add_segment(self, packet: CapturedPacket) -> str:
        sent = self.sent.setdefault(packet.key, SentBytes())
        sequence = packet.sequence
        if packet.flags & SYN:
            sequence += 1
            if not sent.is_begun_at(sequence):
                sent.begin(sequence)
        if packet.flags & RST:
            return "they reset a connection"
        if packet.payload == 0:
            if not sent.is_open:
                sent.begin(sequence)
            return "without data"
        time, key = packet.time_ns - (self.first_ns or 0), packet.key
        new, fills_gap = sent.add(sequence, packet.payload)
        has_paused = time - self.last_time.get(key, time) > self.think_ns
        self.last_time[key] = time
        if new == 0:
            return "sent again, captured twice or keep-alives: all their bytes came before"
        self.bytes_again += packet.payload - new
        connection = frozenset(
            ((packet.source, packet.ports[0]), (packet.destination, packet.ports[1]))
        )
        rows = self.rows.setdefault(key, [])
        is_answer = self.last_sender.get(connection) != key
        if not rows or (not fills_gap and (has_paused or is_answer)):
            rows.append((time, new))
        else:
            rows[-1] = (rows[-1][0], rows[-1][1] + new)
        self.last_sender[connection] = key
        return ""

    def complete_account(self, account: ImportAccount) -> None:
        """Add counts of bytes and of packets to the account."""
        again = "they came before, in segments that have new bytes too"
        account.add_left_out("bytes of TCP", again, count=self.bytes_again)
        missing = sum(sent.count_missing() for sent in self.sent.values())
        rule = "never sent: the capture has bytes before and behind them, and not these"
        account.add_assumption("bytes of TCP", rule, count=missing)
        rule = "IPv6 packets have their own size here; the simulator treats IPv6 and IPv4 alike"
        account.add_assumption("packets of IPv6", rule, count=self.has_ipv6)

    def list_flows(self) -> list[ReplayedFlow]:
        flows = []
        for number, (key, rows) in enumerate(self.rows.items(), 1):
            name = f"{'tcp' if key[2] == TCP else 'udp'}-{number}"
            source, target = (str(self.find_node(each)) for each in key[:2])
            flows.append(ReplayedFlow(name, key, source, target, rows))
        return flows
