"""Flows of the compiled network, and the agents that send them."""

from typing import Literal, NotRequired, TypedDict

from trunkline.network.types.transfers import Transfers


class DelayedAck(TypedDict):
    """When a receiver may hold an acknowledgement back (RFC 5681 section 4.2)."""

    timeout_ns: int
    every: int
    quick: NotRequired[int]


class WithoutKeys(TypedDict):
    """A congestion control without keys of its own."""

    kind: Literal["reno", "bbr", "dctcp", "prague", "vegas", "westwood"]


class Cubic(TypedDict):
    """Keys of the congestion control ``cubic``."""

    kind: Literal["cubic"]
    slow_start: NotRequired[Literal["standard", "hystart", "hystart++"]]


Congestion = WithoutKeys | Cubic


class Tcp(TypedDict):
    """A TCP sender and its receiver."""

    protocol: Literal["tcp"]
    variant: Literal["tahoe", "reno", "new-reno", "sack"]
    new_reno_impatient: bool
    partial_ack_resets: NotRequired[bool]
    mss_bytes: int
    header_bytes: int
    ack_bytes: int
    size_bytes: int | None
    window_packets: int
    initial_window: float
    initial_ssthresh: float | None
    rto_initial_ns: int
    rto_min_ns: int
    rto_max_ns: int
    tick_ns: int
    timestamps: bool
    delayed_ack: DelayedAck | None
    limited_transmit: bool
    dup_acks: int
    send_overhead_ns: int
    ecn: bool
    count_segments: NotRequired[bool]
    linux: NotRequired[bool]
    pacing: NotRequired[bool]
    connect: NotRequired[bool]
    congestion: NotRequired[Congestion]
    initial_receive_window: NotRequired[int | None]


class Cbr(TypedDict):
    """Constant bit rate."""

    jitter: float


class OfCbr(TypedDict):
    """The word for arrivals at a constant bit rate, with its keys."""

    cbr: Cbr


class OnOff(TypedDict):
    """Exponential on and off periods."""

    mean_on_ns: int
    mean_off_ns: int


OfOnOff = TypedDict("OfOnOff", {"on-off": OnOff})


class Schedule(TypedDict):
    """Replay of a list."""

    times_ns: list[int]
    sizes: list[int]


class FixedGap(TypedDict):
    """Gaps all alike."""

    gap_ns: int


class ExponentialGap(TypedDict):
    """Exponential gaps."""

    mean_ns: int


class GumbelGap(TypedDict):
    """Gaps of extreme values."""

    location_ns: float
    scale_ns: float


class OfFixedGap(TypedDict):
    """The word for gaps all alike, with its keys."""

    fixed: FixedGap


class OfExponentialGap(TypedDict):
    """The word for exponential gaps, with its keys."""

    exponential: ExponentialGap


class OfGumbelGap(TypedDict):
    """The word for gaps of extreme values, with its keys."""

    gumbel: GumbelGap


class OfGaps(TypedDict):
    """The word for gaps of a law, with its keys."""

    gaps: OfFixedGap | OfExponentialGap | OfGumbelGap


class OfSchedule(TypedDict):
    """The word for arrivals of a list, with its keys."""

    schedule: Schedule


Arrivals = Literal["poisson"] | OfCbr | OfOnOff | OfGaps | OfSchedule


class Fixed(TypedDict):
    """All datagrams alike."""

    bytes: int


class OfFixed(TypedDict):
    """The word for one size, with its keys."""

    fixed: Fixed


class Exponential(TypedDict):
    """Exponential sizes."""

    mean_bytes: float


class OfExponential(TypedDict):
    """The word for exponential sizes, with its keys."""

    exponential: Exponential


class Choice(TypedDict):
    """One of a list of sizes."""

    bytes: list[int]
    weights: list[float]


class OfChoice(TypedDict):
    """The word for sizes of a list, with its keys."""

    choice: Choice


class Gumbel(TypedDict):
    """Extreme values, and headers."""

    location_bytes: float
    scale_bytes: float
    header_bytes: int


class OfGumbel(TypedDict):
    """The word for sizes of extreme values, with its keys."""

    gumbel: Gumbel


Size = OfFixed | OfExponential | OfGumbel | OfChoice


class Udp(TypedDict):
    """A UDP source and its sink."""

    protocol: Literal["udp"]
    arrivals: Arrivals
    rate_bit_s: int
    size: Size
    header_bytes: int
    tick_ns: NotRequired[int]


class Control(TypedDict):
    """Messages of a protocol of ``signalling``."""

    protocol: Literal["control"]
    header_bytes: int


Agent = Tcp | Udp | Control


class Call(TypedDict):
    """A call."""

    codec: str
    playout_ns: int
    codec_ns: int
    ie: float | None
    bpl: float | None
    burst_ratio: float
    delay_formula: Literal["g107", "simplified"]


class Echo(TypedDict):
    """What answers requests."""

    over: Literal["icmp", "udp"]
    reply_bytes: int
    timeout_ns: int


class Flow(TypedDict):
    """An agent at ``src``, its counterpart at ``dst``."""

    name: str
    src: int
    dst: int
    start_ns: int
    stop_ns: int | None
    start_jitter_ns: int
    dscp: int
    ttl: int
    fec: int
    fec_reverse: int
    agent: Agent
    transfers: NotRequired[Transfers | None]
    call: NotRequired[Call | None]
    echo: NotRequired[Echo | None]
