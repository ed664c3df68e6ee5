"""Flows of the compiled network, and the agents that send them."""

from typing import Literal, NotRequired, TypedDict

from trunkline.network.types.transfers import Transfers


class DelayedAck(TypedDict):
    """Rule by which a receiver may delay an acknowledgement (RFC 5681 section 4.2)."""

    timeout_ns: int
    every: int
    quick: NotRequired[int]


class PlainCongestion(TypedDict):  # A congestion control without keys.
    kind: Literal["reno", "bbr", "bbr3", "dctcp", "prague", "vegas", "westwood"]


class CubicCongestion(TypedDict):
    kind: Literal["cubic"]
    slow_start: NotRequired[Literal["standard", "hystart", "hystart++"]]


Congestion = PlainCongestion | CubicCongestion


class ReceiveBuffer(TypedDict):  # Memory of a receiver.
    initial_bytes: int
    max_bytes: int


class Tcp(TypedDict):  # A TCP sender and its receiver.
    protocol: Literal["tcp"]
    variant: Literal["tahoe", "reno", "new-reno", "sack", "rack"]
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
    receive_buffer: NotRequired[ReceiveBuffer | None]
    send_buffer_bytes: NotRequired[int | None]
    after_idle: NotRequired[Literal["restart", "validate", "keep"]]


class CbrArrivals(TypedDict):  # Constant bit rate.
    jitter: float


CbrVariant = TypedDict("CbrVariant", {"cbr": CbrArrivals})


class OnOffArrivals(TypedDict):  # Exponential on and off periods.
    mean_on_ns: int
    mean_off_ns: int


OnOffVariant = TypedDict("OnOffVariant", {"on-off": OnOffArrivals})


class TfrcArrivals(TypedDict):  # Arrivals at the rate of TFRC (RFC 5348).
    max_bit_s: int | None


TfrcVariant = TypedDict("TfrcVariant", {"tfrc": TfrcArrivals})


class MediaArrivals(TypedDict):  # Packets of frames whose rate follows the network (RFC 8698).
    min_bit_s: int
    ladder_bit_s: list[int]
    priority: float
    frame_ns: int
    playout_ns: int
    ecn: bool


MediaVariant = TypedDict("MediaVariant", {"media": MediaArrivals})


class ScheduledArrivals(TypedDict):  # Replay of a list.
    times_ns: list[int]
    sizes: list[int]


class FixedGap(TypedDict):  # Gaps all alike.
    gap_ns: int


class ExponentialGap(TypedDict):  # Exponential gaps.
    mean_ns: int


class GumbelGap(TypedDict):  # Gaps of extreme values.
    location_ns: float
    scale_ns: float


FixedGapVariant = TypedDict("FixedGapVariant", {"fixed": FixedGap})
ExponentialGapVariant = TypedDict("ExponentialGapVariant", {"exponential": ExponentialGap})
GumbelGapVariant = TypedDict("GumbelGapVariant", {"gumbel": GumbelGap})


class GapsVariant(TypedDict):
    gaps: FixedGapVariant | ExponentialGapVariant | GumbelGapVariant


ScheduleVariant = TypedDict("ScheduleVariant", {"schedule": ScheduledArrivals})


Arrivals = (
    Literal["poisson"]
    | CbrVariant
    | TfrcVariant
    | MediaVariant
    | OnOffVariant
    | GapsVariant
    | ScheduleVariant
)


class FixedDatagramSize(TypedDict):  # All datagrams alike.
    bytes: int


FixedDatagramSizeVariant = TypedDict("FixedDatagramSizeVariant", {"fixed": FixedDatagramSize})


class ExponentialDatagramSize(TypedDict):  # Exponential sizes.
    mean_bytes: float


class ExponentialDatagramSizeVariant(TypedDict):
    exponential: ExponentialDatagramSize


class DatagramSizeChoice(TypedDict):  # One of a list of sizes.
    bytes: list[int]
    weights: list[float]


DatagramSizeChoiceVariant = TypedDict("DatagramSizeChoiceVariant", {"choice": DatagramSizeChoice})


class GumbelDatagramSize(TypedDict):  # Extreme values, and headers.
    location_bytes: float
    scale_bytes: float
    header_bytes: int


GumbelDatagramSizeVariant = TypedDict("GumbelDatagramSizeVariant", {"gumbel": GumbelDatagramSize})


DatagramSize = (
    FixedDatagramSizeVariant
    | ExponentialDatagramSizeVariant
    | GumbelDatagramSizeVariant
    | DatagramSizeChoiceVariant
)


class Udp(TypedDict):  # A UDP source and its sink.
    protocol: Literal["udp"]
    arrivals: Arrivals
    rate_bit_s: int
    size: DatagramSize
    header_bytes: int
    tick_ns: NotRequired[int]


class ControlMessages(TypedDict):  # Messages of a protocol of ``signalling``.
    protocol: Literal["control"]
    header_bytes: int


Agent = Tcp | Udp | ControlMessages


class Call(TypedDict):  # A call.
    codec: str
    playout_ns: int
    codec_ns: int
    ie: float | None
    bpl: float | None
    burst_ratio: float
    delay_formula: Literal["g107", "simplified"]


class Echo(TypedDict):  # The responder to requests.
    over: Literal["icmp", "udp"]
    reply_bytes: int
    timeout_ns: int


class Flow(TypedDict):  # An agent at ``src``, its counterpart at ``dst``.
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
