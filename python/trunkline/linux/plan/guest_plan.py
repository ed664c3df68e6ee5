"""The guest plan: everything a guest is given, with generated names only.

A plan is one canonical JSON document and a file of packet times for each UDP flow. It holds no
name that a user wrote: nodes are ``n0``, ``n1``, ..., devices ``l0a``, ``l0b``, ...

The guest does, in this order:

1. one network namespace for each node, loopback up;
2. ``links``: a veth pair each, its ends moved into their namespaces (down, with these MACs);
3. in each namespace, in the order of nodes: ``sysctls`` (``/proc/sys`` paths and values), then
   ``ip -batch`` of ``ip``, ``ip -f mpls -batch`` of ``mpls``, ``tc -batch`` of ``tc``;
4. ``daemons`` are started, and each change of the routes of their nodes is noted; time zero is set
   ``settle_ns`` and some way more ahead; receivers listen, senders wait for it;
5. the run of ``duration_ns``. All times of plan and results are since time zero;
6. at the time of each of ``counts`` the queues of a device are read; then, at that of each of
   ``changes``, the request that its program made of its line before the run is sent in its
   namespace, before any packet of that time is sent;
7. at each of ``snapshots_ns`` the statistics of all qdiscs, classes and filters are read;
8. at ``duration_ns`` it stops: what is under way then was not delivered.

The folder that a run leaves:

``udp-ID.bin``
    `ARRIVAL_RECORD` for each datagram that arrived, in that order.
``udp-ID.sent``
    Number of datagrams sent, in decimal, and a line feed.
``tcp-ID.bin``
    `TCP_INFO_RECORD` at each ``sample_ns`` of the sender's ``TCP_INFO``.
``tcp-ID.goodput``
    `GOODPUT_RECORD` at each ``sample_ns``: bytes the receiver has read.
``tcp-ID.json``
    Totals at the end, integers: ``established_ns``, ``finished_ns`` (last byte acknowledged; may be
    null), ``received_bytes``, ``acked_bytes``, ``data_segments_sent``, ``data_segments_received``,
    ``retransmitted_segments``, ``receiver_segments_sent``, ``unacked_segments``.
``tcp-marks.json``
    A list with an object for each of ``snapshots_ns``: ``time_ns``, ``missed`` (segments that found
    the ring full) and ``segments``, lists of flow, 0 for data where the flow ends or 1 for
    acknowledgements where it begins, TOS byte, TTL and how many have come.
``transfers-ID.bin``
    `TRANSFER_RESULT_RECORD` for each transfer or write that began, in the order of its schedule.
``transfers-ID.tally``
    `TRANSFER_TOTALS_RECORD` at each ``sample_ns``, and at the end.
``count-N.json``
    What ``counts[N]`` read: a list of one object, ``time_ns`` and ``queues``.
``stats.json``
    A list with an object for each of ``snapshots_ns``: ``time_ns`` and ``nodes``, for each node
    ``qdiscs`` and ``classes`` (what ``tc -s -j qdisc|class show`` prints, classes for each
    device: ``{"l0a": [...]}``), ``filters`` (``{"l0a": {"ingress": [...], "egress": [...]}}``)
    and ``netstat`` (``{"TcpExt": {"TCPTimeouts": 3, ...}, "Tcp": {...}, ...}`` of
    ``/proc/net/netstat`` and ``/proc/net/snmp``).
``NODE.changes``
    Of a node with daemons: the clock at time zero [ns], then what ``ip -ts -o monitor route``
    printed.
``NODE.routes``
    What ``ip -o route show`` printed there at the end.
``NODE.PROGRAM.log``
    What a daemon wrote.
``console.txt``, ``run.json``
    Output of the kernel; the runner, its machine and its cost.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import asdict, dataclass, field
from typing import Final

PLAN_FORMAT: Final = 1

SCHEDULE_RECORD: Final = struct.Struct("<QI")
"""Record of a schedule: time since time zero [ns], UDP payload [B, 16 or more]."""

PAYLOAD_HEADER: Final = struct.Struct("<IIQ")
"""Header of a payload: flow, sequence number from 0, sending time [ns]."""

ARRIVAL_RECORD: Final = struct.Struct("<IBBHQQ")
"""Record of an arrival: sequence number, TOS byte, TTL, zero, sent and received [ns]."""

TCP_INFO_RECORD: Final = struct.Struct("<QIIIIIIIIQQIIQ")
"""Record of ``TCP_INFO``: time [ns], cwnd, ssthresh [segments], srtt [us], segments retransmitted,
unacked, lost, state (0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss), RTO [us], bytes
acknowledged, data segments sent, segments held (SACK), those sent again and not yet answered, pace
[B/s]."""

GOODPUT_RECORD: Final = struct.Struct("<QQ")  # Record of a receiver: time [ns], bytes read.

TRANSFER_RECORD: Final = struct.Struct("<QQ")
"""Record of a schedule of transfers: time since time zero [ns], application data [B, 1 or more]."""

EXCHANGE_RECORD: Final = struct.Struct("<QQQ")
"""Record of a request and its answer: pause before it since the last answer arrived (of the first:
since time zero) [ns], application data of both [B, 1 or more]."""

TRANSFER_RESULT_RECORD: Final = struct.Struct("<QQQ")
"""Record of a transfer: when it began, when its last byte was read, when that was acknowledged
[ns]; the largest number for never."""

TRANSFER_TOTALS_RECORD: Final = struct.Struct("<QQQQQQQ")
"""Record of a flow's transfers together: time [ns], data segments sent, those sent again, segments
not acknowledged, data segments received, segments that the receivers sent, bytes read."""


@dataclass(frozen=True, slots=True)
class PlannedEnd:
    """One end of a link."""

    node: str
    device: str  # Name of the device, at most 15 characters.
    mac: str


@dataclass(frozen=True, slots=True)
class PlannedLink:
    """A veth pair."""

    a: PlannedEnd
    b: PlannedEnd


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A namespace and its commands."""

    name: str  # ``n0``, ``n1``, ...
    # Keys with slashes (``net/ipv4/ip_forward``) and values, in order.
    sysctls: tuple[tuple[str, str], ...] = ()
    # ip, mpls, tc: Lines for ``ip -batch``, ``ip -f mpls -batch`` and ``tc -batch``.
    ip: tuple[str, ...] = ()
    mpls: tuple[str, ...] = ()
    tc: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFlow:
    """Fields that all flows have."""

    id: int  # Number of the flow in the network.
    # source, destination: Namespaces; of TCP the source connects.
    source: str
    destination: str
    # source_address, destination_address: IPv4 addresses that the sockets bind to.
    source_address: str
    destination_address: str
    port: int  # Port of both ends.
    tos: int  # TOS byte: DSCP times four; of TCP that of both ends.
    ttl: int  # Time to live [1..=255]; of TCP that of both ends.


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpFlow(PlannedFlow):
    """Datagrams at given times."""

    schedule: str  # Name of its file of `SCHEDULED` records, in order of time.


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpFlow(PlannedFlow):
    """A bulk transfer."""

    start_ns: int  # When the source connects.
    stop_ns: int | None  # When it writes no more; None: never.
    bytes: int | None  # Maximum bytes to write; None: without end.
    congestion_control: str  # ``TCP_CONGESTION`` of the sender.
    mss: int  # ``TCP_MAXSEG`` of both ends, set before connecting [B].
    # send_buffer_bytes, receive_buffer_bytes: ``SO_SNDBUF`` and ``SO_RCVBUF``; None: the kernel
    # adapts them.
    send_buffer_bytes: int | None
    receive_buffer_bytes: int | None
    nodelay: bool  # ``TCP_NODELAY``.
    sample_ns: int  # Step of its samples.


@dataclass(frozen=True, slots=True)
class TransferFlow:
    """Transfers that come and go, a connection each."""

    schedule: str  # Name of its file of `TRANSFER_RECORD`, in order of time.
    tcp: TcpFlow  # Parameters of all connections; each has a port of its own at the source.


@dataclass(frozen=True, slots=True)
class Writes:
    """Writes of an application over the connection of a TCP flow, which opens with the first."""

    flow: int  # Number of the flow; its `start_ns`, `stop_ns` and `bytes` do not count.
    schedule: str  # Name of its file of `TRANSFER_RECORD`, in order of time.


@dataclass(frozen=True, slots=True)
class Exchange:
    """Requests over the connection of one TCP flow, each answered over that of another."""

    # requests, answers: Numbers of the flows; no request is made at the `stop_ns` of the answers.
    requests: int
    answers: int
    schedule: str  # Name of its file of `EXCHANGE_RECORD`.


@dataclass(frozen=True, slots=True)
class QueueSampling:
    """A device whose qdisc statistics are read in steps, into ``queue-NODE-DEVICE.json``."""

    node: str
    device: str
    step_ns: int


@dataclass(frozen=True, slots=True)
class QueueReading:
    """A device whose qdisc statistics are read once."""

    at_ns: int
    node: str
    device: str


@dataclass(frozen=True, slots=True)
class TimedCommand:
    """A line that is done during the run."""

    at_ns: int  # When, before ``duration_ns``.
    node: str
    program: str  # one of "ip", "mpls", "tc"; which program reads it.
    line: str


@dataclass(frozen=True, slots=True)
class Daemon:
    """A program that runs in the background of the run."""

    node: str
    log: str | None  # File that it writes, to hand back.
    # Program and arguments; a started program ends when its daemon is ready.
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GuestPlan:
    """A plan."""

    seed: int  # Seed of the guest's random numbers [0 to 2**64 - 1].
    duration_ns: int  # Length of the run.
    nodes: tuple[PlannedNode, ...]  # In order.
    links: tuple[PlannedLink, ...]  # In order.
    udp: tuple[UdpFlow, ...] = ()
    tcp: tuple[TcpFlow, ...] = ()
    transfers: tuple[TransferFlow, ...] = ()
    writes: tuple[Writes, ...] = ()  # Applications that write to connections of `tcp`.
    exchanges: tuple[Exchange, ...] = ()  # Requests and answers over connections of `tcp`.
    samples: tuple[QueueSampling, ...] = ()  # Devices read in steps.
    counts: tuple[QueueReading, ...] = ()  # Devices read once, in order of time.
    # Actions during the run, in order of time; of one time, node and program together.
    changes: tuple[TimedCommand, ...] = ()
    # When statistics of everything are read, in order; the last is ``duration_ns``.
    snapshots_ns: tuple[int, ...] = ()
    daemons: tuple[Daemon, ...] = ()  # Started in this order.
    settle_ns: int = 0  # Time that daemons have before time zero.
    format: int = field(default=PLAN_FORMAT)

    def to_json(self) -> str:
        """Canonical JSON: keys sorted, no spaces, ASCII, no line feed at its end."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def compute_digest(self) -> str:
        """SHA-256 of the canonical JSON, hexadecimal."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()
