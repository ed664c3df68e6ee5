"""Types of the compiled network: the structs of ``crates/engine/src/network.rs``, key by key.

A network is plain JSON; these types cost nothing at run time. The gate ``contract`` has the engine
read and write networks made of them, and compares each key, kind and word. Lists refer to each
other by index. Times are nanoseconds, sizes bytes, rates bit/s; the Rust file explains each key.
"""

from typing import Literal, NotRequired, TypedDict

from trunkline.network.types.flows import Agent, Flow
from trunkline.network.types.ports import (
    Aqm,
    Classifier,
    FlowQueues,
    Port,
    PortClass,
    Queue,
    Scheduler,
    TcRed,
)
from trunkline.network.types.recovery import Protection, Recovery
from trunkline.network.types.signalling import Signalling

__all__ = [
    "Action",
    "Agent",
    "Aqm",
    "Classifier",
    "Conditioner",
    "DiffServ",
    "Flow",
    "FlowQueues",
    "Ftn",
    "Ilm",
    "Link",
    "Meter",
    "NetworkData",
    "Nhlfe",
    "Node",
    "Path",
    "Port",
    "PortClass",
    "Probe",
    "Profile",
    "Protection",
    "Queue",
    "Recovery",
    "Routing",
    "Run",
    "Scheduler",
    "Signalling",
    "TcRed",
]


class Processing(TypedDict):
    """The time that a node takes to forward a packet."""

    fixed_ns: int
    ip_lookup_ns: int
    label_lookup_ns: int


class Node(TypedDict):
    """A node."""

    name: str
    processing: NotRequired[Processing | None]


class LostPacket(TypedDict):
    """A data packet that a link loses."""

    flow: int
    seq: int
    times: int


class Reorder(TypedDict):
    """A share of the packets of a link that arrives late."""

    share: float
    by_ns: int


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
"""A one-way link with the port that feeds it; written so since ``from`` is a word of Python."""


class Action(TypedDict):
    """The action on a packet of one colour."""

    drop: bool
    dscp: int | None


class TokenBucket(TypedDict):
    """Keys of the meter ``token-bucket``."""

    kind: Literal["token-bucket"]
    rate_bit_s: int
    burst_bytes: int
    peak_rate_bit_s: int
    peak_burst_bytes: int
    colour_aware: bool


class SrTcm(TypedDict):
    """Keys of the meter ``srtcm`` (RFC 2697)."""

    kind: Literal["srtcm"]
    cir_bit_s: int
    cbs_bytes: int
    ebs_bytes: int
    colour_aware: bool


class TrTcm(TypedDict):
    """Keys of the meter ``trtcm`` (RFC 2698)."""

    kind: Literal["trtcm"]
    cir_bit_s: int
    cbs_bytes: int
    pir_bit_s: int
    pbs_bytes: int
    colour_aware: bool


class Rfc4115(TypedDict):
    """Keys of the meter ``rfc4115``."""

    kind: Literal["rfc4115"]
    cir_bit_s: int
    cbs_bytes: int
    eir_bit_s: int
    ebs_bytes: int
    colour_aware: bool


class Tsw2cm(TypedDict):
    """Keys of the meter ``tsw2cm``."""

    kind: Literal["tsw2cm"]
    ctr_bit_s: int
    avg_interval_ns: int


class Tsw3cm(TypedDict):
    """Keys of the meter ``tsw3cm`` (RFC 2859)."""

    kind: Literal["tsw3cm"]
    ctr_bit_s: int
    ptr_bit_s: int
    avg_interval_ns: int


Meter = TokenBucket | SrTcm | TrTcm | Rfc4115 | Tsw2cm | Tsw3cm


class Profile(TypedDict):
    """A meter and the actions on green, yellow and red."""

    name: str
    meter: Meter
    actions: list[Action]


class Conditioner(TypedDict):
    """Meters and the packets they meter."""

    name: str
    classifier: Classifier
    profiles: list[Profile]


class Path(TypedDict):
    """A label-switched path."""

    name: str
    links: list[int]
    account: NotRequired[bool]


class Ftn(TypedDict):
    """FEC to NHLFE (RFC 3031 section 3.11)."""

    node: int
    fec: int
    nhlfe: int
    dscps: NotRequired[list[int]]


class Ilm(TypedDict):
    """Incoming label map (RFC 3031 section 3.11)."""

    node: int
    label: int
    nhlfe: int


class Nhlfe(TypedDict):
    """Next hop label forwarding entry (RFC 3031 section 3.10)."""

    link: int | None
    pop: bool
    push: list[int]
    ttl: Literal["uniform", "pipe"]
    entropy: NotRequired[bool]
    push_diffserv: NotRequired[list[int | None]]
    pop_diffserv: NotRequired[int | None]
    zero_tc: NotRequired[bool]
    row: int | None
    path: int


class DiffServ(TypedDict):
    """Maps between codepoints and traffic classes on one label-switched path (RFC 3270)."""

    tc_of_dscp: list[int]
    tc_of_tc: list[int]
    dscp_of_tc: list[int | None]
    tc_below: list[int]
    tunnel: Literal["uniform", "pipe", "short-pipe"]


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
"""Something to record in steps of time."""


class NodeSegment(TypedDict):
    """An entry of a node segment that follows OSPF's routes."""

    node: int
    destination: int
    entry: int
    label: int
    rows: list[list[int]]


class StaticRoute(TypedDict):
    """A route that an operator set by hand."""

    node: int
    destination: int | None
    link: int
    distance: int


class Routing(TypedDict):
    """Routing of the routers."""

    ecmp: NotRequired[Literal["flow", "label", "entropy"] | None]
    without_igp: NotRequired[bool]
    static: NotRequired[list[StaticRoute]]
    segments: NotRequired[list[NodeSegment]]


class Run(TypedDict):
    """Length and seed of the run."""

    duration_ns: int
    warmup_ns: int
    seed: int
    trace: bool
    waits: NotRequired[bool]
    delivered_marks: NotRequired[bool]
    events_per_instant: int


class NetworkData(TypedDict):
    """A complete network and its run."""

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
