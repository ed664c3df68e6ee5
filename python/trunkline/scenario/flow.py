"""Flows: agents, with source and destination."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import Element
from trunkline.scenario.call import Call
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import (
    NameReference,
    Packets,
    PlainInteger,
    PositiveTime,
    QuantityField,
    Rate,
    Share,
    ShortForm,
    Switch,
    Table,
    Time,
    default,
    make_invalid_error,
)
from trunkline.scenario.game import Game
from trunkline.scenario.media import Media
from trunkline.scenario.units import BYTES, TIME
from trunkline.scenario.workload import PageWorkload, TransferWorkload, VideoWorkload

DatagramBytes = Annotated[int, QuantityField(BYTES, 28, 65_535)]
HeaderBytes = Annotated[int, QuantityField(BYTES, 20, 200)]
MssBytes = Annotated[int, QuantityField(BYTES, 1, 65_335)]
TransferBytes = Annotated[int, QuantityField(BYTES, 1, 2**62)]
ReplicaCount = Annotated[int, PlainInteger("the number of replicas", 1, 2**40)]
BufferBytes = Annotated[int, QuantityField(BYTES, 256, 2**31 - 1)]
DelayedAckTimeout = Annotated[int, QuantityField(TIME, 1, 500_000_000)]


class FlowOptions(Element):
    """Keys of every flow, and of its defaults."""

    start: Time = default(0, "When the source starts.")
    stop: Time | None = default(
        None,
        "When it stops: no new data, no new transfer; users and players leave. Absent: at the end "
        "of the run.",
    )
    start_jitter: Time = default(0, "The start is delayed by a uniform random time below this.")
    dscp: Dscp = default(0, "DSCP of its packets, both ways.")
    ttl: Annotated[int, PlainInteger("a TTL", 1, 255)] = default(
        64, "IP time to live at the source."
    )


class Rto(Element):
    """Retransmission timer (RFC 6298)."""

    initial: PositiveTime = default(1_000_000_000, "Before the first sample (RFC 6298 (2.1): 1 s).")
    min: PositiveTime = default(1_000_000_000, "Minimum value (RFC 6298 (2.4): 1 s).")
    max: PositiveTime = default(60_000_000_000, "Largest value (RFC 6298 (2.5): at least 60 s).")
    tick: PositiveTime = default(1_000_000, "Granularity of the clock that times segments.")


class SendBuffer(Element):
    """Memory of a sender (Linux's tcp_wmem)."""

    max: BufferBytes = default(4_194_304, "Up to here it grows, with the window.")


class ReceiveBuffer(Element):
    """Memory of a receiver (Linux's tcp_rmem)."""

    initial: BufferBytes = default(131_072, "When the connection opens.")
    max: BufferBytes = default(6_291_456, "Up to here it grows.")


def _read_memory(value: str, name: str, example: str) -> list[str]:
    sizes = value.split()
    if len(sizes) != 3 or not all(size.isdecimal() for size in sizes):
        reason = f"{name} has three whole numbers"
        raise make_invalid_error("choice", reason, given=value, allowed=f"e.g. {example}")
    return sizes


def _expand_send_buffer(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    # It has room for three windows and more, and grows with the window: only the last binds.
    return {"max": f"{_read_memory(value, 'tcp_wmem', '4096 16384 4194304')[2]} B"}


def _expand_receive_buffer(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    sizes = _read_memory(value, "tcp_rmem", "4096 131072 6291456")
    # The first value, for when memory is short, has no effect: memory never is.
    return {"initial": f"{sizes[1]} B", "max": f"{sizes[2]} B"}


def _expand_delayed_ack(value: Any) -> Any:
    return None if value == "off" or value is False else value


class TcpOptions(FlowOptions):
    """Keys of a TCP flow, and of `defaults: tcp`."""

    preset: Literal["linux"] | None = default(
        None,
        "linux: stack linux, delayed_ack 40 ms, receive_buffer 4096 131072 6291456, rto min 200 "
        "ms; keys given with it replace its own.",
    )
    variant: Literal["tahoe", "reno", "new-reno", "sack", "rack"] = default(
        "new-reno", "Loss recovery: how the sender finds and repairs a loss."
    )
    congestion: Literal["reno", "cubic", "bbr", "bbr3", "dctcp", "prague", "vegas", "westwood"] = (
        default("reno", "Congestion control: how the window grows, and what a loss leaves of it.")
    )
    slow_start: Literal["standard", "hystart", "hystart++"] | None = default(
        None,
        "With congestion cubic: how slow start ends before a loss. hystart is Linux's, of stack "
        "linux; hystart++ RFC 9406, of stack rfc. Absent: hystart and standard.",
    )
    pacing: Switch | None = default(
        None, "Segments go one pause after the other. Absent: with bbr, bbr3 and prague only."
    )
    impatient: Switch = default(
        False,
        "With stack rfc, new-reno: restart the timer on the first partial ACK only, not on each "
        "(RFC 6582 section 4).",
    )
    partial_ack: Literal["deflate", "reset"] = default(
        "deflate",
        "With stack rfc, new-reno: effect of a partial ACK on the window's inflation: it takes off "
        "the covered part (RFC 6582 section 3.2), or all, as in ns-2 until 2003.",
    )
    connect: Switch = default(
        False,
        "The connection opens by a SYN, its answer and an ACK, and closes by FIN when all of a "
        "transfer has come (RFC 9293); else it is open from the start.",
    )
    mss: MssBytes = default(1460, "Payload of a full segment.")
    header: HeaderBytes = default(40, "IP and TCP headers of a data segment.")
    ack: HeaderBytes = default(40, "IP packet of a pure acknowledgement.")
    size: TransferBytes | None = default(None, "Application bytes to transfer; absent: endless.")
    window: Packets = default(100, "Window that the receiver advertises.")
    initial_window: Packets = default(
        10, "Congestion window at the start (RFC 6928); never above the window."
    )
    initial_ssthresh: Packets | None = default(
        None, "Slow-start threshold at the start; absent: the window."
    )
    rto: Rto = default(Rto(), "Retransmission timer.")
    timestamps: Switch = default(
        False, "Time every ACK by its echo (RFC 7323); else one segment per window."
    )
    delayed_ack: Annotated[
        DelayedAckTimeout | None, ShortForm(_expand_delayed_ack, {"enum": ["off", False]})
    ] = default(
        None,
        "Longest delay of an ACK, at most 500 ms, every second segment being acknowledged at once "
        "(RFC 5681 section 4.2); `off`: an ACK per segment.",
    )
    quick_acks: Annotated[int, PlainInteger("a number of segments", 0, 1000)] = default(
        0, "With stack rfc and delayed_ack: segments acknowledged one by one at first."
    )
    count_segments: Switch = default(
        False,
        "With stack rfc: the window grows by the segments that an ACK covers (RFC 3465 without its"
        " limit), not once per ACK.",
    )
    stack: Literal["rfc", "linux"] = default(
        "rfc",
        "linux: window, loss recovery, quick ACKs and timers of Linux 6.1 for new-reno and sack.",
    )
    receive_buffer: (
        Annotated[ReceiveBuffer, ShortForm(_expand_receive_buffer, {"type": "string"})] | None
    ) = default(
        None,
        "With stack linux: memory of the receiver, as three numbers in bytes, in the form of "
        "tcp_rmem (the first, for when memory is short, has no effect), or as keys. Half of it is "
        "window; it follows what is read in a round trip, as far as window needs. Absent: window "
        "at once.",
    )
    send_buffer: (
        Annotated[SendBuffer, ShortForm(_expand_send_buffer, {"type": "string"})] | None
    ) = default(
        None,
        "Memory of the sender for data that are not acknowledged, as a key or as three numbers of "
        "bytes, in the form of tcp_wmem, of which the last binds. Stack rfc: payload; linux: "
        "1280 B more for each segment. Absent: no bound.",
    )
    after_idle: Literal["restart", "validate", "keep"] = default(
        "restart",
        "With connections that are kept: the window after a pause. restart: the first one after a "
        "timeout (RFC 5681 section 4.1; stack linux: half for each timeout); validate: of stack "
        "rfc, kept for five minutes, growing only while half of it is used (RFC 7661); keep.",
    )
    limited_transmit: Switch = default(
        True, "With stack rfc: new segments on the first two duplicate ACKs (RFC 3042)."
    )
    dup_acks: Annotated[int, PlainInteger("a number of duplicate ACKs", 1, 1000)] = default(
        3, "With stack rfc: duplicate ACKs that mean a loss (RFC 5681 section 3.2)."
    )
    send_overhead: Time = default(
        0, "Each burst of segments waits a uniform random time below this."
    )
    ecn: Switch = default(False, "Explicit congestion notification (RFC 3168).")
    accurate_ecn: Switch = default(
        False, "The receiver counts marks (AccECN, RFC 9768); congestion prague needs it."
    )


LINUX_TCP_OPTIONS = TcpOptions(
    delayed_ack="40 ms",
    stack="linux",
    receive_buffer="4096 131072 6291456",
    rto=Rto(min="200 ms"),
)
"""Values of `preset: linux`."""


class SizeChoice(Element):
    """Sizes drawn independently with given weights."""

    sizes: tuple[DatagramBytes, ...] = Field(min_length=1, description="Sizes of IP packets.")
    weights: tuple[Annotated[int, PlainInteger("a weight", 1, 1_000_000)], ...] | None = default(
        None, "Weight of each size; absent: all equal."
    )


class DatagramSize(Element):
    """Sizes of datagrams, IP and UDP headers included; exactly one key."""

    fixed: DatagramBytes | None = default(None, "All alike.")
    exponential: DatagramBytes | None = default(
        None, "Exponential with this mean, rounded and kept in 1..65535 B."
    )
    choice: SizeChoice | None = default(None, "One of several.")


def _expand_size(value: Any) -> Any:
    return value if isinstance(value, dict | DatagramSize) else {"fixed": value}


class ScheduledDatagram(Element):
    """A datagram of a schedule."""

    time: Time = Field(description="When, after the start of the flow.")
    size: DatagramBytes = Field(description="IP packet, headers included.")


class UdpOptions(FlowOptions):
    """Keys of a UDP flow, and of `defaults: udp`."""

    arrivals: Literal["cbr", "poisson", "on-off", "schedule", "tfrc"] = default(
        "cbr",
        "How datagrams follow each other; tfrc: at the rate that a TCP connection would get "
        "(RFC 5348).",
    )
    rate: Rate | None = default(
        None, "Mean rate in IP bits; on-off: the rate while on; tfrc: at most."
    )
    size: Annotated[
        DatagramSize, ShortForm(_expand_size, {"type": "string", "examples": ["1500 B"]})
    ] = default(DatagramSize(fixed=1000), "Size of a datagram, IP and UDP headers included.")
    jitter: Share = default(0.0, "cbr: each gap varies uniformly by up to this share of it.")
    mean_on: PositiveTime | None = default(None, "on-off: mean of the exponential on-time.")
    mean_off: PositiveTime | None = default(None, "on-off: mean of the exponential off-time.")
    schedule: Table | None = default(
        None, "schedule: CSV file under the scenario's folder with columns time and size."
    )
    datagrams: tuple[ScheduledDatagram, ...] = default(
        (), "schedule: the datagrams themselves, in place of a file."
    )
    header: Annotated[int, QuantityField(BYTES, 0, 28)] = default(
        28, "IP and UDP headers, which are not goodput."
    )
    tick: Time = default(
        0,
        "Granularity of the sender's timer: datagrams due leave at the next multiple of it, those "
        "of flows declared first before the others; 0 s: each when it is due.",
    )
    phase: Time = default(
        0,
        "When that timer ticks first, below `tick`: hosts do not tick together, and processes of "
        "one host wake one after the other.",
    )


_REPLICATE_FIELD = Field(
    default=None, description="This many such flows, named name[0], name[1] and so on."
)


class Tcp(TcpOptions):
    """A TCP sender and its receiver."""

    agent: Literal["tcp"] = default("tcp", "Kind of agent.")
    from_: NameReference = Field(alias="from", description="Node of the sender.")
    to: NameReference = Field(description="Node of the receiver.")
    replicate: ReplicaCount | None = _REPLICATE_FIELD
    transfers: TransferWorkload | None = default(
        None,
        "Transfers that come and go, each a connection with the flow's other keys; absent: one "
        "connection.",
    )
    pages: PageWorkload | None = default(
        None, "Pages that users at `to` fetch, an object a connection."
    )

    video: VideoWorkload | None = default(
        None, "Films that players at `to` fetch, a chunk a connection."
    )

    @property
    def is_one_connection(self) -> bool:
        """Whether it has a window and a timer of its own."""
        return self.transfers is None and self.pages is None and self.video is None

    @property
    def keeps_connections(self) -> bool:
        """Whether connections of its transfers stay open."""
        workload = self.transfers or self.pages or self.video
        return workload is not None and workload.connections == "kept"

    @property
    def has_one_sender(self) -> bool:
        """Whether all that it sends goes over one connection, which may be kept."""
        if self.is_one_connection or not self.keeps_connections:
            return self.is_one_connection
        if self.pages is not None:
            return self.pages.users == 1 and (self.pages.parallel == 1 or self.pages.objects == 0)
        return self.video is None or self.video.players == 1

    @property
    def is_paced(self) -> bool:
        """Whether segments go one pause after the other."""
        if self.pacing is not None:
            return self.pacing
        return self.congestion == "prague" or self.steers_by_rate

    @property
    def steers_by_rate(self) -> bool:
        """Whether its congestion control sets window and pace by samples of the rate."""
        return self.congestion in ("bbr", "bbr3")

    @property
    def largest_packet(self) -> int:
        """Largest IP packet [B]."""
        return self.mss + self.header


class Udp(UdpOptions):
    """A UDP source and its sink."""

    agent: Literal["udp"] = default("udp", "Kind of agent.")
    from_: NameReference = Field(alias="from", description="Node of the source.")
    to: NameReference = Field(description="Node of the sink.")
    replicate: ReplicaCount | None = _REPLICATE_FIELD
    call: Call | None = default(
        None, "The flow is a call, whose codec says rate, size and arrivals."
    )
    game: Game | None = default(None, "The flow is of a game, whose model says size and arrivals.")
    media: Media | None = default(
        None, "The flow is interactive media: frames whose size follows the network."
    )

    @property
    def largest_packet(self) -> int:
        """Largest IP packet whose size is stated [B]; 0 if none is."""
        if self.size.choice is not None:
            return max(self.size.choice.sizes)
        return self.size.fixed or 0


class EchoOptions(FlowOptions):
    """Keys of an echo flow, and of `defaults: echo`."""

    protocol: Literal["icmp", "udp"] = default(
        "icmp",
        "icmp: echo as ping sends it, which measures round trips only; udp: a reflector numbers "
        "and stamps its replies (TWAMP, RFC 5357), which measures both directions.",
    )
    spacing: Literal["periodic", "poisson"] = default(
        "periodic", "Requests at equal distances (RFC 3432), or Poisson's."
    )
    interval: PositiveTime = default(
        1_000_000_000, "From one request to the next; of poisson its mean."
    )
    size: DatagramBytes = default(84, "Size of a request, IP and ICMP or UDP headers included.")
    reply: DatagramBytes | None = default(
        None, "With udp: size of a reply; absent: that of the request."
    )
    timeout: PositiveTime = default(2_000_000_000, "A later reply is lost (RFC 6673 section 9).")


class Echo(EchoOptions):
    """Requests that their receiver answers at once, as ping and TWAMP have them."""

    agent: Literal["echo"] = Field(description="Kind of agent.")
    from_: NameReference = Field(alias="from", description="Node that sends requests and measures.")
    to: NameReference = Field(description="Node that answers.")
    replicate: ReplicaCount | None = _REPLICATE_FIELD

    def make_request_flow(self) -> Udp:
        """Make the flow of its requests, as a source of datagrams."""
        keys_copied = (*FlowOptions.model_fields, "from_", "to", "replicate")
        values: dict[str, Any] = {name: getattr(self, name) for name in keys_copied}
        return Udp.model_construct(
            None,
            agent="udp",
            **values,
            arrivals="poisson" if self.spacing == "poisson" else "cbr",
            rate=max(1, round(self.size * 8e9 / self.interval)),
            size=DatagramSize(fixed=self.size),
        )


Flow = Annotated[Tcp | Udp | Echo, Discriminator("agent")]
