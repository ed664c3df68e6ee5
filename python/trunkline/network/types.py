"""Types of the compiled network: the structs that the engine reads, key by key.

Made from the Rust structs by `tools/network_types.py`; not edited by hand. A network is plain JSON;
these types cost nothing at run time. Lists refer to each other by index. Times are nanoseconds,
sizes bytes, rates bit/s. The struct ``Network`` of ``crates/engine/src/network.rs``, and those that
it holds, explain each key.
"""

from typing import Literal, NotRequired, TypedDict

# Time from a packet's arrival to the port it leaves by.
Processing = TypedDict("Processing", {"fixed_ns": int, "ip_lookup_ns": int, "label_lookup_ns": int})
# A node.
Node = TypedDict("Node", {"name": str, "processing": NotRequired[Processing | None]})
# A share of the packets of a link that arrives late.
Reorder = TypedDict("Reorder", {"share": float, "by_ns": int})
# A data packet that a link loses.
LostPacket = TypedDict("LostPacket", {"flow": int, "seq": int, "times": int})
# A one-way link with the port that feeds it.
Link = TypedDict(
    "Link",
    {
        "name": str,
        "from": int,
        "to": int,
        "rate_bit_s": int,
        "delay_ns": int,
        "header_bytes": int,
        "mtu_bytes": int,
        "metric": int,
        "loss": float,
        "reorder": NotRequired[Reorder | None],
        "scripted": NotRequired[list[LostPacket]],
        "port": int,
        "conditioner": NotRequired[int | None],
        "ingress": NotRequired[int | None],
        "account": NotRequired[bool],
    },
)
# Maps a packet to a class and a drop precedence by two array look-ups.
Classifier = TypedDict("Classifier", {"rows": list[list[list[int]]], "flow_rows": list[int]})
# Drop-tail has no parameters.
DropTail = TypedDict("DropTail", {"kind": Literal["drop-tail"]})


class PrecedenceDropTail(TypedDict):  # Keys of ``precedence-drop-tail``.
    kind: Literal["precedence-drop-tail"]
    limits_packets: list[int]
    counted: Literal["own", "all"]


class Red(TypedDict):  # Keys of ``red``, in FJ93's symbols.
    kind: Literal["red"]
    min_th: float
    max_th: float
    max_p: float
    w_q: float
    gentle: bool
    unit: Literal["packets", "bytes"]
    mean_packet_bytes: int
    spacing: Literal["uniform", "ns2", "ns2-diffserv", "geometric"]
    adaptive: NotRequired[bool]


# A drop curve in the symbols of Floyd & Jacobson (1993).
RedCurve = TypedDict("RedCurve", {"min_th": float, "max_th": float, "max_p": float})


class Mred(TypedDict):
    """Keys of the REDs with several precedences (``wred``, ``rio-c``, ``rio-d``)."""

    kind: Literal["wred", "rio-c", "rio-d"]
    precedences: list[RedCurve]
    w_q: float
    gentle: bool
    mean_packet_bytes: int
    spacing: Literal["uniform", "ns2", "ns2-diffserv", "geometric"]


class TcRed(TypedDict):  # The parameters of ``tc qdisc ... red``, in its words.
    min_bytes: int
    max_bytes: int
    avpkt_bytes: int
    burst_packets: int
    bandwidth_bit_s: int
    probability: float


class RedLinux(TypedDict):  # Keys of ``red-linux``.
    kind: Literal["red-linux"]
    parameters: TcRed
    age: Literal["plog", "max-p"]
    harddrop: bool
    idle_ageing: bool
    adaptive: NotRequired[bool]


class GredDp(TypedDict):  # One DP.
    dp: int
    limit_bytes: int
    prio: int
    parameters: TcRed


class Gred(TypedDict):  # Keys of ``gred``.
    kind: Literal["gred"]
    dps: list[GredDp]
    default_dp: int
    grio: bool
    age: Literal["plog", "max-p"]
    harddrop: bool


class Codel(TypedDict):  # Keys of ``codel``.
    kind: Literal["codel"]
    target_ns: int
    interval_ns: int
    mtu_bytes: int
    ce_threshold_ns: int | None
    arithmetic: Literal["exact", "linux"]


class Pie(TypedDict):  # Keys of ``pie``.
    kind: Literal["pie"]
    target_ns: int
    tupdate_ns: int
    alpha: float
    beta: float
    burst_ns: int
    mtu_bytes: int
    arithmetic: Literal["exact", "linux"]


class DualPi2(TypedDict):  # Keys of ``dualpi2``.
    kind: Literal["dualpi2"]
    target_ns: int
    tupdate_ns: int
    alpha: float
    beta: float
    coupling: float
    step_ns: int
    protection: float
    mtu_bytes: int


class Cobalt(TypedDict):  # Keys of ``cobalt``.
    kind: Literal["cobalt"]
    target_ns: int
    interval_ns: int
    mtu_time_ns: int


class Blue(TypedDict):  # Keys of ``blue``.
    kind: Literal["blue"]
    threshold: int
    unit: Literal["packets", "bytes"]
    increment: float
    decrement: float
    freeze_ns: int


class Step(TypedDict):  # Keys of ``step``.
    kind: Literal["step"]
    threshold: int
    unit: Literal["packets", "bytes"]


Aqm = (
    DropTail
    | PrecedenceDropTail
    | Red
    | Mred
    | RedLinux
    | Gred
    | Codel
    | Pie
    | DualPi2
    | Cobalt
    | Blue
    | Step
)


class FlowQueues(TypedDict):  # Flow queueing: a queue for each flow that a port can distinguish.
    queues: int | None
    labelled: Literal["label", "five-tuple"]
    quantum_bytes: int
    new_first: bool
    flow_limit_packets: int | None
    overflow: Literal["arrival", "tail", "head"]
    batch: int
    ways: NotRequired[int]
    hosts: NotRequired[Literal["flows", "source", "destination", "both"]]


class Queue(TypedDict):  # A queue.
    limit_packets: int | None
    limit_bytes: int | None
    counts_in_service: bool
    aqm: Aqm
    flows: NotRequired[FlowQueues | None]


# A class of a port.
PortClass = TypedDict("PortClass", {"name": str, "queue": Queue})


class FifoShare(TypedDict):
    """Share of the only class of a FIFO."""


FifoScheduler = TypedDict("FifoScheduler", {"kind": Literal["fifo"], "shares": list[FifoShare]})
# Share of a class under strict priority.
PriorityShare = TypedDict("PriorityShare", {"priority": int})


class PriorityScheduler(TypedDict):
    kind: Literal["priority"]
    shares: list[PriorityShare]


# Share of a class in a deficit round robin.
DrrShare = TypedDict("DrrShare", {"quantum_bytes": int, "weight": int})
DrrScheduler = TypedDict("DrrScheduler", {"kind": Literal["drr"], "shares": list[DrrShare]})
# Share of a class in a weighted round robin.
WrrShare = TypedDict("WrrShare", {"weight": int})
WrrScheduler = TypedDict("WrrScheduler", {"kind": Literal["wrr"], "shares": list[WrrShare]})
# Share of a class under fair queueing.
WfqShare = TypedDict("WfqShare", {"weight": int})
WfqScheduler = TypedDict("WfqScheduler", {"kind": Literal["wfq"], "shares": list[WfqShare]})
# Share of a shaped class.
ShapedShare = TypedDict("ShapedShare", {"priority": int, "rate_bit_s": int, "burst_bytes": int})


class ShapedScheduler(TypedDict):
    kind: Literal["shaped"]
    shares: list[ShapedShare]


class TbfShare(TypedDict):  # Share of the only class.
    rate_bit_s: int
    burst_bytes: int
    peak_rate_bit_s: int
    min_burst_bytes: int


TbfScheduler = TypedDict("TbfScheduler", {"kind": Literal["tbf"], "shares": list[TbfShare]})


class HtbShare(TypedDict):  # Share of a class in an HTB.
    priority: int
    quantum_bytes: int
    rate_bit_s: int
    ceil_bit_s: int
    burst_bytes: int
    cburst_bytes: int
    parent: int | None


HtbScheduler = TypedDict("HtbScheduler", {"kind": Literal["htb"], "shares": list[HtbShare]})
# Share of a tin.
CakeShare = TypedDict("CakeShare", {"priority": int, "rate_bit_s": int})
CakeScheduler = TypedDict("CakeScheduler", {"kind": Literal["cake"], "shares": list[CakeShare]})
# Slope ``m1`` for the first ``d`` of a backlog, then ``m2``.
ServiceCurve = TypedDict("ServiceCurve", {"m1_bit_s": int, "d_ns": int, "m2_bit_s": int})


class HfscShare(TypedDict):  # Share of a class.
    real_time: ServiceCurve | None
    link_share: ServiceCurve | None
    upper_limit: ServiceCurve | None
    parent: int | None


HfscScheduler = TypedDict("HfscScheduler", {"kind": Literal["hfsc"], "shares": list[HfscShare]})


class CbqShare(TypedDict):  # Share of a class in a CBQ.
    priority: int
    quantum_bytes: int
    rate_bit_s: int
    parent: int | None
    borrow: bool
    isolated: bool
    max_burst_packets: int
    average_packet_bytes: int
    ewma_log: int
    min_idle_ns: int | None


CbqScheduler = TypedDict("CbqScheduler", {"kind": Literal["cbq"], "shares": list[CbqShare]})


class CbqAncestorOnlyScheduler(TypedDict):
    kind: Literal["cbq-ancestor-only"]
    shares: list[CbqShare]


Scheduler = (
    FifoScheduler
    | PriorityScheduler
    | DrrScheduler
    | WrrScheduler
    | WfqScheduler
    | ShapedScheduler
    | TbfScheduler
    | HtbScheduler
    | CakeScheduler
    | HfscScheduler
    | CbqScheduler
    | CbqAncestorOnlyScheduler
)


class Port(TypedDict):  # Configuration of a port: classifier, classes with their queues, scheduler.
    name: str
    classifier: Classifier
    classes: list[PortClass]
    scheduler: Scheduler
    ecn_in_mpls: NotRequired[bool]


class TokenBucket(TypedDict):  # Keys of ``token-bucket``.
    kind: Literal["token-bucket"]
    rate_bit_s: int
    burst_bytes: int
    peak_rate_bit_s: int
    peak_burst_bytes: int
    colour_aware: bool


class SrTcm(TypedDict):  # Keys of ``srtcm``, in the RFC's symbols.
    kind: Literal["srtcm"]
    cir_bit_s: int
    cbs_bytes: int
    ebs_bytes: int
    colour_aware: bool


class TrTcm(TypedDict):  # Keys of ``trtcm``, in the RFC's symbols.
    kind: Literal["trtcm"]
    cir_bit_s: int
    cbs_bytes: int
    pir_bit_s: int
    pbs_bytes: int
    colour_aware: bool


class Rfc4115(TypedDict):  # Keys of ``rfc4115``, in the RFC's symbols.
    kind: Literal["rfc4115"]
    cir_bit_s: int
    cbs_bytes: int
    eir_bit_s: int
    ebs_bytes: int
    colour_aware: bool


# Keys of ``tsw2cm``.
Tsw2cm = TypedDict("Tsw2cm", {"kind": Literal["tsw2cm"], "ctr_bit_s": int, "avg_interval_ns": int})


class Tsw3cm(TypedDict):  # Keys of ``tsw3cm``, in the RFC's symbols.
    kind: Literal["tsw3cm"]
    ctr_bit_s: int
    ptr_bit_s: int
    avg_interval_ns: int


Meter = TokenBucket | SrTcm | TrTcm | Rfc4115 | Tsw2cm | Tsw3cm
# The action on a packet of one colour.
Action = TypedDict("Action", {"drop": bool, "dscp": int | None})
# A traffic profile (RFC 2475 section 2.3.2): a meter and an action for each colour.
Profile = TypedDict("Profile", {"name": str, "meter": Meter, "actions": list[Action]})


class Conditioner(TypedDict):
    """Traffic conditioning: the meter of each class of packets, and the action of each colour."""

    name: str
    classifier: Classifier
    profiles: list[Profile]


# When a receiver may hold an acknowledgement back (RFC 5681 section 4.2).
DelayedAck = TypedDict("DelayedAck", {"timeout_ns": int, "every": int, "quick": NotRequired[int]})
# Reno has no parameters.
Reno = TypedDict("Reno", {"kind": Literal["reno"]})


class Cubic(TypedDict):  # Parameters of CUBIC.
    kind: Literal["cubic"]
    slow_start: NotRequired[Literal["standard", "hystart", "hystart++"]]


# BBR has no parameters.
Bbr = TypedDict("Bbr", {"kind": Literal["bbr"]})
# BBR version 3 has no parameters.
Bbr3 = TypedDict("Bbr3", {"kind": Literal["bbr3"]})
# DCTCP has no parameters.
Dctcp = TypedDict("Dctcp", {"kind": Literal["dctcp"]})
# Prague has no parameters.
Prague = TypedDict("Prague", {"kind": Literal["prague"]})
# Vegas has no parameters.
Vegas = TypedDict("Vegas", {"kind": Literal["vegas"]})
# Westwood has no parameters.
Westwood = TypedDict("Westwood", {"kind": Literal["westwood"]})
Congestion = Reno | Cubic | Bbr | Bbr3 | Dctcp | Prague | Vegas | Westwood
# Memory of a receiver (Linux's ``tcp_rmem``); half of it is window.
ReceiveBuffer = TypedDict("ReceiveBuffer", {"initial_bytes": int, "max_bytes": int})


class Tcp(TypedDict):  # A TCP connection: sender, receiver, sizes.
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
    congestion: NotRequired[Congestion]
    pacing: NotRequired[bool]
    connect: NotRequired[bool]
    receive_buffer: NotRequired[ReceiveBuffer | None]
    send_buffer_bytes: NotRequired[int | None]
    after_idle: NotRequired[Literal["restart", "validate", "keep"]]


CbrArrivals = TypedDict("CbrArrivals", {"jitter": float})
CbrArrivalsVariant = TypedDict("CbrArrivalsVariant", {"cbr": CbrArrivals})
OnOffArrivals = TypedDict("OnOffArrivals", {"mean_on_ns": int, "mean_off_ns": int})
OnOffArrivalsVariant = TypedDict("OnOffArrivalsVariant", {"on-off": OnOffArrivals})
FixedGaps = TypedDict("FixedGaps", {"gap_ns": int})
FixedGapsVariant = TypedDict("FixedGapsVariant", {"fixed": FixedGaps})
ExponentialGaps = TypedDict("ExponentialGaps", {"mean_ns": int})
ExponentialGapsVariant = TypedDict("ExponentialGapsVariant", {"exponential": ExponentialGaps})
GumbelGaps = TypedDict("GumbelGaps", {"location_ns": float, "scale_ns": float})
GumbelGapsVariant = TypedDict("GumbelGapsVariant", {"gumbel": GumbelGaps})
Gaps = FixedGapsVariant | ExponentialGapsVariant | GumbelGapsVariant
GapsArrivalsVariant = TypedDict("GapsArrivalsVariant", {"gaps": Gaps})
TfrcArrivals = TypedDict("TfrcArrivals", {"max_bit_s": int | None})
TfrcArrivalsVariant = TypedDict("TfrcArrivalsVariant", {"tfrc": TfrcArrivals})


class Media(TypedDict):  # A stream of interactive media.
    min_bit_s: int
    ladder_bit_s: list[int]
    priority: float
    frame_ns: int
    playout_ns: int
    ecn: bool


MediaArrivalsVariant = TypedDict("MediaArrivalsVariant", {"media": Media})
ScheduleArrivals = TypedDict("ScheduleArrivals", {"times_ns": list[int], "sizes": list[int]})
ScheduleArrivalsVariant = TypedDict("ScheduleArrivalsVariant", {"schedule": ScheduleArrivals})
Arrivals = (
    Literal["poisson"]
    | CbrArrivalsVariant
    | OnOffArrivalsVariant
    | GapsArrivalsVariant
    | TfrcArrivalsVariant
    | MediaArrivalsVariant
    | ScheduleArrivalsVariant
)
FixedDatagramSize = TypedDict("FixedDatagramSize", {"bytes": int})
FixedDatagramSizeVariant = TypedDict("FixedDatagramSizeVariant", {"fixed": FixedDatagramSize})
ExponentialDatagramSize = TypedDict("ExponentialDatagramSize", {"mean_bytes": float})


class ExponentialDatagramSizeVariant(TypedDict):
    exponential: ExponentialDatagramSize


class GumbelDatagramSize(TypedDict):
    location_bytes: float
    scale_bytes: float
    header_bytes: int


GumbelDatagramSizeVariant = TypedDict("GumbelDatagramSizeVariant", {"gumbel": GumbelDatagramSize})
ChoiceDatagramSize = TypedDict("ChoiceDatagramSize", {"bytes": list[int], "weights": list[float]})
ChoiceDatagramSizeVariant = TypedDict("ChoiceDatagramSizeVariant", {"choice": ChoiceDatagramSize})
DatagramSize = (
    FixedDatagramSizeVariant
    | ExponentialDatagramSizeVariant
    | GumbelDatagramSizeVariant
    | ChoiceDatagramSizeVariant
)


class Udp(TypedDict):  # A UDP source.
    protocol: Literal["udp"]
    arrivals: Arrivals
    rate_bit_s: int
    size: DatagramSize
    header_bytes: int
    tick_ns: NotRequired[int]
    phase_ns: NotRequired[int]


# A flow of routing or signalling messages; they go from neighbour to neighbour.
Control = TypedDict("Control", {"protocol": Literal["control"], "header_bytes": int})
Agent = Tcp | Udp | Control
PoissonTransferGaps = TypedDict("PoissonTransferGaps", {"mean_ns": float})


class PoissonTransferGapsVariant(TypedDict):
    poisson: PoissonTransferGaps


PeriodicTransferGaps = TypedDict("PeriodicTransferGaps", {"gap_ns": float})


class PeriodicTransferGapsVariant(TypedDict):
    periodic: PeriodicTransferGaps


class OnOffTransferGaps(TypedDict):
    mean_ns: float
    mean_on_ns: float
    mean_off_ns: float


OnOffTransferGapsVariant = TypedDict("OnOffTransferGapsVariant", {"on-off": OnOffTransferGaps})


class ScheduleTransferGaps(TypedDict):
    times_ns: list[int]
    sizes_bytes: list[int]


class ScheduleTransferGapsVariant(TypedDict):
    schedule: ScheduleTransferGaps


TransferGaps = (
    PoissonTransferGapsVariant
    | PeriodicTransferGapsVariant
    | OnOffTransferGapsVariant
    | ScheduleTransferGapsVariant
)
FixedTransferSizes = TypedDict("FixedTransferSizes", {"bytes": int})
FixedTransferSizesVariant = TypedDict("FixedTransferSizesVariant", {"fixed": FixedTransferSizes})
ExponentialTransferSizes = TypedDict("ExponentialTransferSizes", {"mean_bytes": float})


class ExponentialTransferSizesVariant(TypedDict):
    exponential: ExponentialTransferSizes


class ParetoTransferSizes(TypedDict):
    shape: float
    least_bytes: float
    most_bytes: float
    cut: NotRequired[bool]
    less: NotRequired[float]


class ParetoTransferSizesVariant(TypedDict):
    pareto: ParetoTransferSizes


class LognormalTransferSizes(TypedDict):
    mu: float
    sigma: float
    least_bytes: float
    most_bytes: float


class LognormalTransferSizesVariant(TypedDict):
    lognormal: LognormalTransferSizes


WeibullTransferSizes = TypedDict("WeibullTransferSizes", {"shape": float, "scale_bytes": float})


class WeibullTransferSizesVariant(TypedDict):
    weibull: WeibullTransferSizes


TableTransferSizes = TypedDict("TableTransferSizes", {"bytes": list[float], "shares": list[float]})
TableTransferSizesVariant = TypedDict("TableTransferSizesVariant", {"table": TableTransferSizes})
TransferSizes = (
    FixedTransferSizesVariant
    | ExponentialTransferSizesVariant
    | ParetoTransferSizesVariant
    | LognormalTransferSizesVariant
    | WeibullTransferSizesVariant
    | TableTransferSizesVariant
)
# Transfers that arrive whatever the network does.
OpenTransfers = TypedDict("OpenTransfers", {"gaps": TransferGaps, "sizes": TransferSizes})


class ArrivalsTransferSourceVariant(TypedDict):
    arrivals: OpenTransfers


FixedTimesVariant = TypedDict("FixedTimesVariant", {"fixed": int})
ExponentialTimesVariant = TypedDict("ExponentialTimesVariant", {"exponential": float})
Times = FixedTimesVariant | ExponentialTimesVariant


class PageUsers(TypedDict):  # Users who read pages.
    users: int
    parallel: int
    main: TransferSizes
    embedded: TransferSizes
    objects: TransferSizes
    reading: Times
    parsing: Times


class PagesTransferSource(TypedDict):
    users: PageUsers
    requests: int
    request_bytes: int


PagesTransferSourceVariant = TypedDict("PagesTransferSourceVariant", {"pages": PagesTransferSource})
BufferLadderRule = TypedDict("BufferLadderRule", {"reservoir_ns": int, "cushion_ns": int})
BufferLadderRuleVariant = TypedDict("BufferLadderRuleVariant", {"buffer": BufferLadderRule})
LadderRule = Literal["rate"] | BufferLadderRuleVariant


class VideoPlayers(TypedDict):  # Players that fetch a film in chunks.
    players: int
    chunk_ns: int
    ladder_bit_s: list[int]
    buffer_ns: int
    start_ns: int
    rule: LadderRule
    spread_ns: int


class VideoTransferSource(TypedDict):
    players: VideoPlayers
    requests: int
    request_bytes: int


VideoTransferSourceVariant = TypedDict("VideoTransferSourceVariant", {"video": VideoTransferSource})
TransferSource = (
    Literal["requests"]
    | ArrivalsTransferSourceVariant
    | PagesTransferSourceVariant
    | VideoTransferSourceVariant
)


class Transfers(TypedDict):  # A flow's transfers.
    opened: TransferSource
    bins_bytes: list[int]
    record: bool
    kept: NotRequired[bool]


class Call(TypedDict):
    """A call: playout at its receiver, and the quality of the codec (ITU-T G.107)."""

    codec: str
    playout_ns: int
    codec_ns: int
    ie: float | None
    bpl: float | None
    burst_ratio: float
    delay_formula: Literal["g107", "simplified"]


# Requests whose receiver answers each at once, as a reflector does (RFC 792 echo.
Echo = TypedDict("Echo", {"over": Literal["icmp", "udp"], "reply_bytes": int, "timeout_ns": int})


class Flow(TypedDict):  # A flow: an agent at ``src``, its counterpart at ``dst``.
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


# A label-switched path.
Path = TypedDict("Path", {"name": str, "links": list[int], "account": NotRequired[bool]})


class Ftn(TypedDict):  # FEC to NHLFE.
    node: int
    fec: int
    nhlfe: int
    dscps: NotRequired[list[int]]


# Incoming label map.
Ilm = TypedDict("Ilm", {"node": int, "label": int, "nhlfe": int})


class Nhlfe(TypedDict):  # Actions on the label stack, and the next hop of the packet.
    link: int | None
    pop: bool
    push: list[int]
    ttl: Literal["uniform", "pipe"]
    push_diffserv: NotRequired[list[int | None]]
    pop_diffserv: NotRequired[int | None]
    zero_tc: NotRequired[bool]
    entropy: NotRequired[bool]
    row: int | None
    path: int


class DiffServ(TypedDict):
    """Maps between codepoints and traffic classes on one label-switched path."""

    tc_of_dscp: list[int]
    tc_of_tc: list[int]
    dscp_of_tc: list[int | None]
    tc_below: list[int]
    tunnel: Literal["uniform", "pipe", "short-pipe"]


# Something to record in steps of time.
Probe = TypedDict(
    "Probe",
    {
        "measure": Literal[
            "throughput",
            "goodput",
            "delay",
            "delay-max",
            "cwnd",
            "ssthresh",
            "srtt",
            "rtt",
            "rto",
            "pacing-rate",
            "inflight",
            "transfers",
            "state",
            "queue-packets",
            "queue-bytes",
            "queue-average",
            "utilisation",
            "drops",
            "marks",
        ],
        "target": int,
        "class": int | None,
        "precedence": NotRequired[int | None],
        "step_ns": int,
    },
)
# One outage.
Outage = TypedDict("Outage", {"failed_ns": int, "repaired_ns": int | None})
FixedOutages = TypedDict("FixedOutages", {"kind": Literal["fixed"], "at": list[Outage]})


class RandomOutages(TypedDict):
    kind: Literal["random"]
    mtbf_ns: int
    mttr_ns: int


Outages = FixedOutages | RandomOutages
# How traffic leaves links that will be taken out of service, while they still carry it.
Drain = TypedDict("Drain", {"at_ns": int, "by_metric": bool, "by_switch": bool})


class Failure(TypedDict):  # Links that fail together.
    name: str
    links: list[int]
    node: bool
    outages: Outages
    drain: NotRequired[Drain | None]


# Two forwarding entries of one node: the one in use, and the one that takes over.
EntrySwitch = TypedDict("EntrySwitch", {"entry": int, "alternative": int})
FixedDetection = TypedDict("FixedDetection", {"kind": Literal["fixed"], "delay_ns": int})


class LossOfSignalDetection(TypedDict):
    kind: Literal["loss-of-signal"]
    delay_ns: int


class BfdDetection(TypedDict):
    kind: Literal["bfd"]
    interval_ns: int
    multiplier: int


class HelloDetection(TypedDict):
    kind: Literal["hello"]
    interval_ns: int
    timeout_ns: int


Detection = FixedDetection | LossOfSignalDetection | BfdDetection | HelloDetection


class Protection(TypedDict):  # The protection of a path.
    name: str
    path: int
    kind: Literal["backup", "one-plus-one", "facility-bypass", "detour", "restoration"]
    node: int
    watches: list[int]
    switches: list[EntrySwitch]
    bridge: EntrySwitch | None
    detection: Detection
    processing_ns: int
    hold_off_ns: int
    compute_ns: int
    switch_ns: int
    revertive: bool
    wait_to_restore_ns: int
    make_before_break: bool


class Rerouting(TypedDict):  # Link-state routing that follows failures.
    detection: Detection
    processing_ns: int
    spf_delay_ns: int


class Recovery(TypedDict):  # Everything about failures; empty by default.
    failures: NotRequired[list[Failure]]
    protections: NotRequired[list[Protection]]
    rerouting: NotRequired[Rerouting | None]


class StaticRoute(TypedDict):  # A route that an operator set by hand.
    node: int
    destination: int | None
    link: int
    distance: int


class NodeSegment(TypedDict):
    """An entry whose last pushed label is that of a node (RFC 8402 section 3.1)."""

    node: int
    destination: int
    entry: int
    label: int
    rows: list[list[int]]


class Routing(TypedDict):  # How routers route; by default each has one next hop for a destination.
    ecmp: NotRequired[Literal["flow", "label", "entropy"] | None]
    without_igp: NotRequired[bool]
    static: NotRequired[list[StaticRoute]]
    segments: NotRequired[list[NodeSegment]]


class Ldp(TypedDict):  # LDP in all nodes, one label space each.
    flow: int
    start_ns: int
    hello_ns: int
    hello_hold_ns: int
    keepalive_ns: int
    resend_ns: int
    retry_ns: int
    gtsm: bool
    ordered: bool
    first_fec: int


class LinkTe(TypedDict):  # A link in traffic engineering.
    metric: int
    reservable_bit_s: int
    unreserved_bit_s: NotRequired[list[int] | None]
    colours: int


class BackoffSpfDelay(TypedDict):
    kind: Literal["backoff"]
    initial_ns: int
    second_ns: int
    maximum_ns: int


class Rfc8405SpfDelay(TypedDict):
    kind: Literal["rfc8405"]
    initial_ns: int
    short_ns: int
    long_ns: int
    learn_ns: int
    hold_down_ns: int


SpfDelay = BackoffSpfDelay | Rfc8405SpfDelay


class Ospf(TypedDict):  # OSPF in all nodes, in one area.
    flow: int
    processing_ns: int
    resend_ns: int
    lsa_interval_ns: int
    lsa_arrival_ns: int
    te: NotRequired[list[LinkTe] | None]
    hello_ns: int | None
    dead_ns: int
    spf: SpfDelay
    compute_ns: int
    fib_update_ns: list[int]
    local_delay_ns: NotRequired[int]
    multipath: bool
    ldp_sync: NotRequired[bool]


# A class type with a preemption priority (RFC 4124 section 4.2).
TeClass = TypedDict("TeClass", {"class_type": int, "priority": int})
# The most that some class types may reserve together.
ClassTypeBound = TypedDict("ClassTypeBound", {"class_types": list[int], "bit_s": int})


class ClassTypes(TypedDict):  # Class types of reservations (RFC 4124), and the bounds on them.
    te_classes: list[TeClass]
    bounds: list[list[ClassTypeBound]]


# Attributes that a link advertises for traffic engineering (RFC 3630, RFC 4203).
LinkAttributes = TypedDict("LinkAttributes", {"metric": int, "delay_ns": int, "risks": list[int]})
# A path that another shares nothing with.
DisjointSession = TypedDict(
    "DisjointSession",
    {
        "session": int,
        "from": Literal["link", "node", "risk"],
    },
)


class HeadConstraints(TypedDict):
    """Constraints of a computed route; all but the first three keys need ``attributes``."""

    barred: list[int]
    via: list[int]
    max_hops: int | None
    max_delay_ns: int | None
    minimise: Literal["igp", "te", "delay"]
    apart: list[DisjointSession]


# A node of a first route.
SessionHop = TypedDict("SessionHop", {"label": int | None, "entry": int | None})
# A forwarding equivalence class at the head.
FecBinding = TypedDict("FecBinding", {"fec": int, "dscps": list[int]})


class SessionProtection(TypedDict):  # Local protection of a path.
    one_to_one: bool
    node: bool
    bandwidth: bool
    computed: bool
    detours: list[list[int]]


class AutoBandwidth(TypedDict):  # Automatic bandwidth (the words of RFC 8733).
    sample_ns: int
    adjust_ns: int
    threshold: float
    minimum_bit_s: int
    maximum_bit_s: int


class Session(TypedDict):  # A path that is signalled.
    name: str
    path: int
    bandwidth_bit_s: int
    setup: int
    hold: int
    class_type: NotRequired[int]
    start_ns: int | None
    dynamic: bool
    route: list[int]
    computed: NotRequired[bool]
    constraints: NotRequired[HeadConstraints | None]
    hops: list[SessionHop]
    classes: list[FecBinding]
    pipe: bool
    diffserv: list[int | None]
    protection: NotRequired[SessionProtection | None]
    around: NotRequired[list[int]]
    auto_bandwidth: NotRequired[AutoBandwidth | None]


SetUpOperatorAction = TypedDict("SetUpOperatorAction", {"kind": Literal["set-up"]})
TearOperatorAction = TypedDict("TearOperatorAction", {"kind": Literal["tear"]})


class MoveOperatorAction(TypedDict):
    kind: Literal["move"]
    route: list[int] | None


class ResizeOperatorAction(TypedDict):
    kind: Literal["resize"]
    bandwidth_bit_s: int


OperatorAction = (
    SetUpOperatorAction | TearOperatorAction | MoveOperatorAction | ResizeOperatorAction
)
# Something an operator does.
OperatorOrder = TypedDict("OperatorOrder", {"at_ns": int, "session": int, "action": OperatorAction})


class RandomRequests(TypedDict):  # A random process of requests.
    name: str
    head: int
    tail: int
    bandwidth_bit_s: int
    setup: int
    hold: int
    every_ns: int
    holding_ns: int
    route: list[int] | None


class Rsvp(TypedDict):  # Signalling of the network.
    flow: int
    refresh_ns: int
    multiplier: int
    processing_ns: int
    resend_ns: int | None
    resend_increment: float
    resend_limit: int
    summary: bool
    hello_ns: int | None
    retry_ns: int
    attempts: int
    flooding_ns: int | None
    flooding_threshold: NotRequired[float]
    make_before_break: bool
    cleanup_ns: int
    soft_ns: int | None
    reoptimise_ns: int | None
    discard: bool
    reservable: list[int]
    class_types: NotRequired[ClassTypes]
    attributes: NotRequired[list[LinkAttributes]]
    sessions: list[Session]
    orders: NotRequired[list[OperatorOrder]]
    requests: NotRequired[list[RandomRequests]]


class Signalling(TypedDict):  # Protocols between nodes.
    detection: Detection
    ldp: NotRequired[Ldp | None]
    ospf: NotRequired[Ospf | None]
    rsvp: NotRequired[Rsvp | None]


class Run(TypedDict):  # Length and seed of the run.
    duration_ns: int
    warmup_ns: int
    seed: int
    trace: bool
    waits: NotRequired[bool]
    delivered_marks: NotRequired[bool]
    events_per_instant: int


class NetworkData(TypedDict):  # A network and its run.
    format: int
    name: str
    nodes: list[Node]
    links: list[Link]
    ports: list[Port]
    conditioners: NotRequired[list[Conditioner]]
    flows: list[Flow]
    paths: list[Path]
    ftn: list[Ftn]
    ilm: list[Ilm]
    nhlfe: list[Nhlfe]
    diffserv: NotRequired[list[DiffServ]]
    ecn_in_mpls: NotRequired[list[list[int]]]
    probes: list[Probe]
    recovery: NotRequired[Recovery]
    routing: NotRequired[Routing]
    signalling: NotRequired[Signalling | None]
    run: Run
