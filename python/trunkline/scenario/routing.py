"""Routing as written: how routers find routes, and whether equal-cost paths share the traffic."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    NameReference,
    PlainInteger,
    PositiveTime,
    QuantityField,
    ShortForm,
    Switch,
    Time,
    default,
)
from trunkline.scenario.recovery import Detection, LossOfSignalDetection
from trunkline.scenario.units import MAX_TIME_NS, TIME

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
_NULL_SCHEMA: dict[str, Any] = {"type": "null"}


class SpfBackoff(Element):
    """Exponential back-off: computations of routes are ever longer apart."""

    kind: Literal["backoff"]
    initial: Time = default(50 * NS_PER_MS, "From the first change to the computation.")
    second: PositiveTime = default(
        200 * NS_PER_MS, "From that to the next computation; doubled each time."
    )
    maximum: PositiveTime = default(
        5 * NS_PER_S, "Longest interval; after twice as long without a change it starts again."
    )


class Rfc8405Backoff(Element):
    """The delay of RFC 8405: initial, then short, then long."""

    kind: Literal["rfc8405"]
    initial: Time = default(50 * NS_PER_MS, "From the first change (QUIET).")
    short: Time = default(200 * NS_PER_MS, "From a change in SHORT_WAIT.")
    long: Time = default(5 * NS_PER_S, "From a change in LONG_WAIT.")
    learn: PositiveTime = default(
        500 * NS_PER_MS, "From the first change to LONG_WAIT (TIME_TO_LEARN)."
    )
    hold_down: PositiveTime = default(10 * NS_PER_S, "Without a change, until it is QUIET again.")


class OspfOptions(Element):
    """OSPF (RFC 2328) in all nodes, in one area; its messages are packets of class CS6."""

    detection: Detection = default(
        LossOfSignalDetection(kind="loss-of-signal"),
        "How a router notices that a link failed, besides hellos.",
    )
    hello: Time = default(10 * NS_PER_S, "Interval of hellos; 0 s: none are sent.")
    dead: PositiveTime | None = default(
        None,
        "Silence after which a neighbour is lost (RouterDeadInterval); absent: four intervals of "
        "hellos.",
    )
    processing: Time = default(0, "Time a router takes to handle and pass on an update.")
    resend: PositiveTime = default(
        5 * NS_PER_S, "An update that is not acknowledged is sent again after it (RxmtInterval)."
    )
    lsa_interval: Time = default(
        5 * NS_PER_S, "Shortest time between two instances of one LSA (MinLSInterval)."
    )
    lsa_arrival: Time | None = default(
        None,
        "A router discards an instance of an LSA that follows the one before sooner "
        "(MinLSArrival); absent: 1 s, or `lsa_interval` if that is less.",
    )
    spf: Annotated[SpfBackoff | Rfc8405Backoff, Discriminator("kind")] = default(
        SpfBackoff(kind="backoff"), "From a change of the database to the computation of routes."
    )
    compute: Time = default(0, "Time that the computation takes.")
    fib_update: Time = default(0, "From the end of the computation to the use of the routes.")
    fib_updates: dict[NameReference, Time] = default(
        {}, "The same of routers that differ, by name."
    )
    local_delay: Time = default(
        0,
        "After the loss of a link of a router's own: its new routes wait so long before they are "
        "used. Others come first, and packets that local repair carries meet no loop at it (RFC "
        "8333). Any other change ends it.",
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

    start: Time = default(0, "When nodes begin; each sends its first hellos.")
    control: Literal["independent", "ordered"] = default(
        "independent",
        "A node advertises its labels as soon as it has a route, or not before its next hop has "
        "advertised one (RFC 5036 section 2.6.1).",
    )
    hello: PositiveTime = default(5 * NS_PER_S, "Interval of hellos.")
    hello_hold: PositiveTime = default(
        15 * NS_PER_S, "Silence on a link after which the neighbour there is lost."
    )
    keepalive: KeepAlive = default(
        180 * NS_PER_S,
        "Silence after which a session is lost (KeepAlive Time); a message is sent each third of "
        "it.",
    )
    detection: Detection | None = default(
        None,
        "How a node notices that a link failed, besides hellos; absent: that of OSPF or of "
        "signalling, or loss of signal.",
    )
    resend: PositiveTime = default(
        1 * NS_PER_S, "TCP sends a segment again after it, then after twice as long (RFC 6298)."
    )
    retry: PositiveTime = default(
        15 * NS_PER_S,
        "From a session that ended to the next attempt; doubles with each that fails, up to eight "
        "times (RFC 5036 section 2.5.3).",
    )
    gtsm: Switch = default(
        False,
        "A node discards segments of a session that other nodes have passed on (RFC 6720): after a"
        " repair the session waits for routes over the link, and for TCP's next attempt. Off: a "
        "session needs its link alone.",
    )
    igp_sync: Switch = default(
        False,
        "With OSPF: a link whose session has ended has the largest metric until the session is up "
        "again (RFC 5443).",
    )


def _expand_null(value: Any) -> Any:
    return {} if value is None else value


IGP_DISTANCE = 110
"""Administrative distance of the IGP's routes, as routers have it for OSPF."""


class StaticRoute(Element):
    """A route that an operator set by hand; it is there while its router takes its link for up."""

    to: NameReference = Field(
        description="Node that it leads to; `all`: every node to which there is no other route "
        "(default route)."
    )
    via: NameReference = Field(
        description="Next hop: a neighbour, by the first link to it, or the name of a link."
    )
    distance: Annotated[int, PlainInteger("an administrative distance", 1, 254)] = default(
        1,
        "Administrative distance: of routes to one node the lowest is used; those of the IGP have "
        "110, so a route above it is a backup (floating).",
    )


class RoutingOptions(Element):
    """Routing of the routers; absent: one next hop for each destination, the same all the time."""

    ecmp: Literal["flow", "label", "entropy"] | None = default(
        None,
        "Equal-cost paths share the traffic; a router hashes, to choose one: the flow, behind "
        "labels too; the label stack of a labelled packet; that with entropy labels (RFC 6790), "
        "which the head of a path with segments puts on. Absent: the next hop listed first in "
        "`nodes` takes all.",
    )
    igp: Switch = default(
        True,
        "Routers find shortest paths by `metric`; `off`: they know their neighbours, and the "
        "static `routes` of their nodes.",
    )
    ospf: Annotated[OspfOptions, ShortForm(_expand_null, _NULL_SCHEMA)] | None = default(
        None,
        "Routes follow failures by OSPF, message by message; absent: they stay, or follow "
        "`rerouting`.",
    )
    ldp: Annotated[LdpOptions, ShortForm(_expand_null, _NULL_SCHEMA)] | None = default(
        None,
        "Packets that ride no trunk get labels for their routes by LDP, message by message; "
        "absent: they go without.",
    )

    @property
    def detection(self) -> Detection:
        """Detection of failures by LDP."""
        for protocol in (self.ldp, self.ospf):
            if protocol is not None and protocol.detection is not None:
                return protocol.detection
        return LossOfSignalDetection(kind="loss-of-signal")
