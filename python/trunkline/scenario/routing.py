"""Routing as written: how routers find routes, and whether equal-cost paths share the traffic."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    NameReference,
    PositiveTime,
    QuantityField,
    ShortForm,
    Switch,
    Time,
)
from trunkline.scenario.recovery import Detection, LossOfSignalDetection
from trunkline.scenario.units import MAX_TIME_NS, TIME

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
_NULL_SCHEMA: dict[str, Any] = {"type": "null"}


class SpfBackoff(Element):
    """Exponential back-off: computations of routes are ever longer apart."""

    kind: Literal["backoff"]
    initial: Time = Field(
        default=50 * NS_PER_MS, description="From the first change to the computation."
    )
    second: PositiveTime = Field(
        default=200 * NS_PER_MS, description="From that to the next computation; doubled each time."
    )
    maximum: PositiveTime = Field(
        default=5 * NS_PER_S,
        description="Longest interval; after twice as long without a change it starts again.",
    )


class Rfc8405Backoff(Element):
    """The delay of RFC 8405: initial, then short, then long."""

    kind: Literal["rfc8405"]
    initial: Time = Field(default=50 * NS_PER_MS, description="From the first change (QUIET).")
    short: Time = Field(default=200 * NS_PER_MS, description="From a change in SHORT_WAIT.")
    long: Time = Field(default=5 * NS_PER_S, description="From a change in LONG_WAIT.")
    learn: PositiveTime = Field(
        default=500 * NS_PER_MS, description="From the first change to LONG_WAIT (TIME_TO_LEARN)."
    )
    hold_down: PositiveTime = Field(
        default=10 * NS_PER_S, description="Without a change, until it is QUIET again."
    )


class OspfOptions(Element):
    """OSPF (RFC 2328) in all nodes, in one area; its messages are packets of class CS6."""

    detection: Detection = Field(
        default=LossOfSignalDetection(kind="loss-of-signal"),
        description="How a router notices that a link failed, besides hellos.",
    )
    hello: Time = Field(
        default=10 * NS_PER_S, description="Interval of hellos; 0 s: none are sent."
    )
    dead: PositiveTime | None = Field(
        default=None,
        description="Silence after which a neighbour is lost (RouterDeadInterval); absent: four "
        "intervals of hellos.",
    )
    processing: Time = Field(
        default=0, description="Time a router takes to handle and pass on an update."
    )
    resend: PositiveTime = Field(
        default=5 * NS_PER_S,
        description="An update that is not acknowledged is sent again after it (RxmtInterval).",
    )
    lsa_interval: Time = Field(
        default=5 * NS_PER_S,
        description="Shortest time between two instances of one LSA (MinLSInterval).",
    )
    lsa_arrival: Time | None = Field(
        default=None,
        description="A router discards an instance of an LSA that follows the one before sooner "
        "(MinLSArrival); absent: 1 s, or `lsa_interval` if that is less.",
    )
    spf: Annotated[SpfBackoff | Rfc8405Backoff, Discriminator("kind")] = Field(
        default=SpfBackoff(kind="backoff"),
        description="From a change of the database to the computation of routes.",
    )
    compute: Time = Field(default=0, description="Time that the computation takes.")
    fib_update: Time = Field(
        default=0, description="From the end of the computation to the use of the routes."
    )
    fib_updates: dict[NameReference, Time] = Field(
        default={}, description="The same of routers that differ, by name."
    )
    local_delay: Time = Field(
        default=0,
        description="After the loss of a link of a router's own: its new routes wait so long "
        "before they are used. Others come first, and packets that local repair carries meet no "
        "loop at it (RFC 8333). Any other change ends it.",
    )

    @property
    def dead_interval(self) -> int:
        """Silence after which a neighbour is lost [ns]."""
        return self.hello * 4 if self.dead is None else self.dead

    @property
    def min_lsa_arrival(self) -> int:
        """Shortest time between two instances of an LSA that are taken in [ns]."""
        return min(NS_PER_S, self.lsa_interval) if self.lsa_arrival is None else self.lsa_arrival


KeepAlive = Annotated[int, QuantityField(TIME, 3, MAX_TIME_NS)]
"""A third of it is the interval of messages [ns]."""


class LdpOptions(Element):
    """LDP (RFC 5036) in all nodes: labels for IP routes; its messages are packets of class CS6."""

    start: Time = Field(default=0, description="When nodes begin; each sends its first hellos.")
    control: Literal["independent", "ordered"] = Field(
        default="independent",
        description="A node advertises its labels as soon as it has a route, or not before its "
        "next hop has advertised one (RFC 5036 section 2.6.1).",
    )
    hello: PositiveTime = Field(default=5 * NS_PER_S, description="Interval of hellos.")
    hello_hold: PositiveTime = Field(
        default=15 * NS_PER_S,
        description="Silence on a link after which the neighbour there is lost.",
    )
    keepalive: KeepAlive = Field(
        default=180 * NS_PER_S,
        description="Silence after which a session is lost (KeepAlive Time); a message is sent "
        "each third of it.",
    )
    detection: Detection | None = Field(
        default=None,
        description="How a node notices that a link failed, besides hellos; absent: that of OSPF "
        "or of signalling, or loss of signal.",
    )
    resend: PositiveTime = Field(
        default=1 * NS_PER_S,
        description="TCP sends a segment again after it, then after twice as long (RFC 6298).",
    )
    retry: PositiveTime = Field(
        default=15 * NS_PER_S,
        description="From a session that ended to the next attempt; doubles with each that fails, "
        "up to eight times (RFC 5036 section 2.5.3).",
    )
    gtsm: Switch = Field(
        default=False,
        description="A node discards segments of a session that other nodes have passed on (RFC "
        "6720): after a repair the session waits for routes over the link, and for TCP's next "
        "attempt. Off: a session needs its link alone.",
    )
    igp_sync: Switch = Field(
        default=False,
        description="With OSPF: a link whose session has ended has the largest metric until the "
        "session is up again (RFC 5443).",
    )


def _expand_null(value: Any) -> Any:
    return {} if value is None else value


class RoutingOptions(Element):
    """How routers route; absent: one next hop for each destination, the same all the time."""

    ecmp: Literal["flow", "label", "entropy"] | None = Field(
        default=None,
        description="Equal-cost paths share the traffic; what a router hashes to choose one: the "
        "flow, behind labels too; the label stack of a labelled packet; that with entropy labels "
        "(RFC 6790), which the head of a path with segments puts on. Absent: the next hop listed "
        "first in `nodes` takes all.",
    )
    ospf: Annotated[OspfOptions, ShortForm(_expand_null, _NULL_SCHEMA)] | None = Field(
        default=None,
        description="Routes follow failures by OSPF, message by message; absent: they stay, or "
        "follow `rerouting`.",
    )
    ldp: Annotated[LdpOptions, ShortForm(_expand_null, _NULL_SCHEMA)] | None = Field(
        default=None,
        description="Packets that ride no trunk get labels for their routes by LDP, message by "
        "message; absent: they go without.",
    )

    @property
    def detection(self) -> Detection:
        """How LDP notices failures."""
        for protocol in (self.ldp, self.ospf):
            if protocol is not None and protocol.detection is not None:
                return protocol.detection
        return LossOfSignalDetection(kind="loss-of-signal")
