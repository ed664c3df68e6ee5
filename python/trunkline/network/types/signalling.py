"""Types of signalling in the compiled network."""

from typing import Literal, NotRequired, TypedDict

from trunkline.network.types.recovery import Detection


class LinkAttributes(TypedDict):  # Attributes that a link advertises.
    metric: int
    delay_ns: int
    risks: list[int]


DisjointSession = TypedDict(
    "DisjointSession", {"session": int, "from": Literal["link", "node", "risk"]}
)
"""A path that another shares nothing with."""


class HeadConstraints(TypedDict):  # Constraints of computed routes.
    barred: list[int]
    via: list[int]
    max_hops: int | None
    max_delay_ns: int | None
    minimise: Literal["igp", "te", "delay"]
    apart: list[DisjointSession]


class SessionHop(TypedDict):  # A node of a first route.
    label: int | None
    entry: int | None


class FecBinding(TypedDict):  # A forwarding equivalence class at the head.
    fec: int
    dscps: list[int]


class AutoBandwidth(TypedDict):  # Automatic bandwidth.
    sample_ns: int
    adjust_ns: int
    threshold: float
    minimum_bit_s: int
    maximum_bit_s: int


class SessionProtection(TypedDict):  # Local protection of a path.
    one_to_one: bool
    node: bool
    bandwidth: bool
    computed: bool
    detours: list[list[int]]


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


class SetUpAction(TypedDict):  # A path is set up.
    kind: Literal["set-up"]


class TearAction(TypedDict):  # A path is torn down.
    kind: Literal["tear"]


class MoveAction(TypedDict):  # A path is moved.
    kind: Literal["move"]
    route: list[int] | None


class ResizeAction(TypedDict):  # Another bandwidth is reserved.
    kind: Literal["resize"]
    bandwidth_bit_s: int


class OperatorOrder(TypedDict):  # Something an operator does.
    at_ns: int
    session: int
    action: SetUpAction | TearAction | MoveAction | ResizeAction


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


class TeClass(TypedDict):  # A class type with a preemption priority.
    class_type: int
    priority: int


class ClassTypeBound(TypedDict):  # The most that some class types may reserve together.
    class_types: list[int]
    bit_s: int


class ClassTypes(TypedDict):  # Class types of reservations, and the bounds on them by link.
    te_classes: list[TeClass]
    bounds: list[list[ClassTypeBound]]


class Rsvp(TypedDict):  # RSVP-TE.
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


class SpfBackoff(TypedDict):  # Exponential back-off of computations.
    kind: Literal["backoff"]
    initial_ns: int
    second_ns: int
    maximum_ns: int


class Rfc8405Backoff(TypedDict):  # Delay of computations by RFC 8405.
    kind: Literal["rfc8405"]
    initial_ns: int
    short_ns: int
    long_ns: int
    learn_ns: int
    hold_down_ns: int


class LinkTe(TypedDict):  # A link in traffic engineering.
    metric: int
    reservable_bit_s: int
    unreserved_bit_s: NotRequired[list[int] | None]
    colours: int


class Ospf(TypedDict):  # OSPF in all nodes, in one area.
    flow: int
    processing_ns: int
    resend_ns: int
    lsa_interval_ns: int
    lsa_arrival_ns: int
    te: NotRequired[list[LinkTe] | None]
    hello_ns: int | None
    dead_ns: int
    spf: SpfBackoff | Rfc8405Backoff
    compute_ns: int
    fib_update_ns: list[int]
    local_delay_ns: NotRequired[int]
    multipath: bool
    ldp_sync: NotRequired[bool]


class Ldp(TypedDict):  # LDP in all nodes.
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


class Signalling(TypedDict):  # Protocols between nodes.
    detection: Detection
    ldp: NotRequired[Ldp | None]
    ospf: NotRequired[Ospf | None]
    rsvp: NotRequired[Rsvp | None]
