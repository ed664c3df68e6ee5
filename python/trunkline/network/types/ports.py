"""Ports of the compiled network: classifier, classes with their queues, AQM, scheduler."""

from typing import Literal, NotRequired, TypedDict


class Classifier(TypedDict):
    """From DSCP, TC and flow to class and drop precedence: rows of 72 pairs."""

    rows: list[list[list[int]]]
    flow_rows: list[int]


class DropTail(TypedDict):
    """No AQM: the queue's limit alone drops."""

    kind: Literal["drop-tail"]


class PrecedenceDropTail(TypedDict):
    """A limit for each drop precedence."""

    kind: Literal["precedence-drop-tail"]
    limits_packets: list[int]
    counted: Literal["own", "all"]


Spacing = Literal["uniform", "ns2", "ns2-diffserv", "geometric"]
Age = Literal["plog", "max-p"]


class Red(TypedDict):
    """Keys of ``red``."""

    kind: Literal["red"]
    min_th: float
    max_th: float
    max_p: float
    w_q: float
    gentle: bool
    unit: Literal["packets", "bytes"]
    mean_packet_bytes: int
    spacing: Spacing


class Curve(TypedDict):
    """RED's curve of one drop precedence."""

    min_th: float
    max_th: float
    max_p: float


class Mred(TypedDict):
    """Keys of ``wred``, ``rio-c`` and ``rio-d``."""

    kind: Literal["wred", "rio-c", "rio-d"]
    precedences: list[Curve]
    w_q: float
    gentle: bool
    mean_packet_bytes: int
    spacing: Spacing


class TcRed(TypedDict):
    """Parameters of Linux's RED, in the words of ``tc``."""

    min_bytes: int
    max_bytes: int
    avpkt_bytes: int
    burst_packets: int
    bandwidth_bit_s: int
    probability: float


class RedLinux(TypedDict):
    """Keys of ``red-linux``."""

    kind: Literal["red-linux"]
    parameters: TcRed
    age: Age
    harddrop: bool
    idle_ageing: bool


class GredDp(TypedDict):
    """One virtual queue of ``gred``."""

    dp: int
    limit_bytes: int
    prio: int
    parameters: TcRed


class Gred(TypedDict):
    """Keys of ``gred``."""

    kind: Literal["gred"]
    dps: list[GredDp]
    default_dp: int
    grio: bool
    age: Age
    harddrop: bool


Aqm = DropTail | PrecedenceDropTail | Red | Mred | RedLinux | Gred


class Queue(TypedDict):
    """A queue: its limits and who judges arrivals."""

    limit_packets: int | None
    limit_bytes: int | None
    counts_in_service: bool
    aqm: Aqm


class Share(TypedDict):
    """What the scheduler owes a class."""

    priority: NotRequired[int]
    weight: NotRequired[int]
    quantum_bytes: NotRequired[int]
    rate_bit_s: NotRequired[int]
    ceil_bit_s: NotRequired[int]
    burst_bytes: NotRequired[int]
    cburst_bytes: NotRequired[int]
    parent: NotRequired[int | None]
    borrow: NotRequired[bool]
    isolated: NotRequired[bool]
    max_burst_packets: NotRequired[int]
    average_packet_bytes: NotRequired[int]
    ewma_log: NotRequired[int]
    min_idle_ns: NotRequired[int | None]


class Class(TypedDict):
    """A class of a port: a queue and its share."""

    name: str
    queue: Queue
    share: Share


class Port(TypedDict):
    """Configuration of a port."""

    name: str
    classifier: Classifier
    classes: list[Class]
    scheduler: Literal[
        "fifo", "priority", "drr", "wfq", "shaped", "htb", "cbq", "cbq-ancestor-only"
    ]
