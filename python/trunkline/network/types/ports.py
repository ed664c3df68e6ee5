"""Ports of the compiled network: classifier, classes with their queues, AQM, scheduler."""

from typing import Literal, NotRequired, TypedDict


class Classifier(TypedDict):
    """Map from DSCP, TC and flow to class and drop precedence: rows of 72 pairs."""

    rows: list[list[list[int]]]
    flow_rows: list[int]


class DropTail(TypedDict):  # No AQM: the queue's limit alone drops.
    kind: Literal["drop-tail"]


class PrecedenceDropTail(TypedDict):  # A limit for each drop precedence.
    kind: Literal["precedence-drop-tail"]
    limits_packets: list[int]
    counted: Literal["own", "all"]


Spacing = Literal["uniform", "ns2", "ns2-diffserv", "geometric"]
Age = Literal["plog", "max-p"]


class Red(TypedDict):
    kind: Literal["red"]
    min_th: float
    max_th: float
    max_p: float
    w_q: float
    gentle: bool
    unit: Literal["packets", "bytes"]
    mean_packet_bytes: int
    spacing: Spacing
    adaptive: NotRequired[bool]


class Cobalt(TypedDict):
    kind: Literal["cobalt"]
    target_ns: int
    interval_ns: int
    mtu_time_ns: int


class Blue(TypedDict):
    kind: Literal["blue"]
    threshold: int
    unit: Literal["packets", "bytes"]
    increment: float
    decrement: float
    freeze_ns: int


class StepMarking(TypedDict):
    kind: Literal["step"]
    threshold: int
    unit: Literal["packets", "bytes"]


class RedCurve(TypedDict):  # RED's curve of one drop precedence.
    min_th: float
    max_th: float
    max_p: float


class Mred(TypedDict):  # Keys of ``wred``, ``rio-c`` and ``rio-d``.
    kind: Literal["wred", "rio-c", "rio-d"]
    precedences: list[RedCurve]
    w_q: float
    gentle: bool
    mean_packet_bytes: int
    spacing: Spacing


class TcRed(TypedDict):  # Parameters of Linux's RED, in the words of ``tc``.
    min_bytes: int
    max_bytes: int
    avpkt_bytes: int
    burst_packets: int
    bandwidth_bit_s: int
    probability: float


class RedLinux(TypedDict):
    kind: Literal["red-linux"]
    parameters: TcRed
    age: Age
    harddrop: bool
    idle_ageing: bool
    adaptive: NotRequired[bool]


class GredDp(TypedDict):  # One virtual queue of ``gred``.
    dp: int
    limit_bytes: int
    prio: int
    parameters: TcRed


class Gred(TypedDict):
    kind: Literal["gred"]
    dps: list[GredDp]
    default_dp: int
    grio: bool
    age: Age
    harddrop: bool


class Codel(TypedDict):
    kind: Literal["codel"]
    target_ns: int
    interval_ns: int
    mtu_bytes: int
    ce_threshold_ns: int | None
    arithmetic: Literal["exact", "linux"]


class Pie(TypedDict):
    kind: Literal["pie"]
    target_ns: int
    tupdate_ns: int
    alpha: float
    beta: float
    burst_ns: int
    mtu_bytes: int
    arithmetic: Literal["exact", "linux"]


class DualPi2(TypedDict):
    kind: Literal["dualpi2"]
    target_ns: int
    tupdate_ns: int
    alpha: float
    beta: float
    coupling: float
    step_ns: int
    protection: float
    mtu_bytes: int


_QueueLengthAqm = DropTail | PrecedenceDropTail | Red | Mred | RedLinux | Gred | Blue | StepMarking
Aqm = _QueueLengthAqm | Codel | Pie | DualPi2 | Cobalt


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


class Queue(TypedDict):  # A queue: its limits, its AQM, its queues by flow.
    limit_packets: int | None
    limit_bytes: int | None
    counts_in_service: bool
    aqm: Aqm
    flows: NotRequired[FlowQueues | None]


class FifoShare(TypedDict):
    """Nothing: there is one class."""


class PriorityShare(TypedDict):
    priority: int


class DrrShare(TypedDict):
    quantum_bytes: int
    weight: int


class WeightShare(TypedDict):
    weight: int


class TbfShare(TypedDict):  # Share of the only class under ``tbf``.
    rate_bit_s: int
    burst_bytes: int
    peak_rate_bit_s: int
    min_burst_bytes: int


class ServiceCurve(TypedDict):  # A service curve of ``hfsc``.
    m1_bit_s: int
    d_ns: int
    m2_bit_s: int


class HfscShare(TypedDict):
    real_time: ServiceCurve | None
    link_share: ServiceCurve | None
    upper_limit: ServiceCurve | None
    parent: int | None


class ShapedShare(TypedDict):
    priority: int
    rate_bit_s: int
    burst_bytes: int


class HtbShare(TypedDict):
    priority: int
    quantum_bytes: int
    rate_bit_s: int
    ceil_bit_s: int
    burst_bytes: int
    cburst_bytes: int
    parent: int | None


class CbqShare(TypedDict):
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


class Fifo(TypedDict):  # One class, in order of arrival.
    kind: Literal["fifo"]
    shares: list[FifoShare]


class Priority(TypedDict):  # Strict priority.
    kind: Literal["priority"]
    shares: list[PriorityShare]


class Drr(TypedDict):  # Deficit round robin.
    kind: Literal["drr"]
    shares: list[DrrShare]


class Weighted(TypedDict):  # Weighted fair queueing, and weighted round robin by packets.
    kind: Literal["wfq", "wrr"]
    shares: list[WeightShare]


class Shaped(TypedDict):  # Classes shaped by token buckets.
    kind: Literal["shaped"]
    shares: list[ShapedShare]


class Htb(TypedDict):  # Hierarchical token bucket.
    kind: Literal["htb"]
    shares: list[HtbShare]


class CakeShare(TypedDict):  # Share of a tin under ``cake``.
    priority: int
    rate_bit_s: int


class Cake(TypedDict):  # CAKE's shaper over tins.
    kind: Literal["cake"]
    shares: list[CakeShare]


class Tbf(TypedDict):  # Token bucket filter.
    kind: Literal["tbf"]
    shares: list[TbfShare]


class Hfsc(TypedDict):  # Hierarchical fair service curves.
    kind: Literal["hfsc"]
    shares: list[HfscShare]


class Cbq(TypedDict):  # Class-based queueing.
    kind: Literal["cbq", "cbq-ancestor-only"]
    shares: list[CbqShare]


Scheduler = Fifo | Priority | Drr | Weighted | Shaped | Tbf | Htb | Hfsc | Cake | Cbq
"""Choice of the class that sends next, and each class's due, in the order of the classes."""


class PortClass(TypedDict):  # A class of a port.
    name: str
    queue: Queue


class Port(TypedDict):  # Configuration of a port.
    name: str
    classifier: Classifier
    classes: list[PortClass]
    scheduler: Scheduler
    ecn_in_mpls: NotRequired[bool]
