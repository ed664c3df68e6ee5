"""The neutral form: the configuration of each router, in no vendor's words.

Rates are bit/s, sizes bytes, times nanoseconds. Names are those of the scenario.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Final

from trunkline.network.types import NetworkData, RedCurve

PORT_SPEEDS: Final = (10**9, 10 * 10**9, 25 * 10**9, 40 * 10**9, 100 * 10**9, 400 * 10**9)
"""Of Ethernet ports of routers [bit/s] (IEEE 802.3)."""
NO_MTU: Final = 65_551
"""The largest packet there is [B]: a link without an MTU."""


@dataclass(frozen=True)
class Omission:
    """Something of a design that a configuration does not say."""

    router: str  # Node.
    element: str  # Element of the scenario.
    reason: str  # Why it is omitted, and the nearest feature.
    path: tuple[str | int, ...]  # Place in the scenario, by the names of the compiled network.
    # Packets are treated otherwise than the scenario asks: an error without ``--partial``.
    changes_design: bool = True


@dataclass(frozen=True)
class RoundedQuantity:
    """A quantity that changes in translation."""

    # router, element, quantity: Whose, and which.
    router: str
    element: str
    quantity: str
    # asked, expressed: Values of scenario and configuration, in the same unit.
    asked: float
    expressed: float
    unit: str  # Unit of both.

    @property
    def difference(self) -> float:
        """Excess of the configuration over the scenario."""
        return self.expressed - self.asked


@dataclass(frozen=True)
class RouterInterface:
    """An end of a link."""

    number: int  # Its number at the router, from 1, in the order of the links.
    device: str  # Name that was chosen for it; empty: the target's rule.
    arc: str  # Direction of a link that it sends; empty: nothing is sent there.
    # address, far_address: Its own and that of the far end.
    address: IPv4Interface
    far_address: IPv4Interface
    neighbour: str  # Node at the far end.
    # rate, delay, mtu, header, metric, te_metric, reservable: Of the direction.
    rate: int = 0
    delay: int = 0
    mtu: int = 0
    header: int = 0
    metric: int = 1
    te_metric: int = 1
    reservable: int = 0
    # colours, risks: Administrative groups and shared risks of the direction.
    colours: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    policy: str = ""  # Port policy that feeds it; empty: a FIFO.
    policer: str = ""  # Conditioner of the packets that arrive; empty: none.
    loss: float = 0.0  # Share of packets lost on the wire.

    @property
    def plain_shaper_rate(self) -> int | None:
        """Rate of a shaper where it has no port policy; None: none, as `PortPolicy.shaper_rate`."""
        if self.policy or not self.arc or self.rate in PORT_SPEEDS:
            return None
        return self.rate


@dataclass(frozen=True)
class StaticLabelEntry:
    """A label entry that is set by hand (RFC 3031 sections 3.10 to 3.12)."""

    path: str  # Path that it belongs to.
    in_label: int | None  # Label on arrival; None at the head end.
    # Labels on the packet behind it, from the bottom; empty: the top label goes off.
    out_labels: tuple[int, ...]
    interface: RouterInterface | None  # Where packets leave; None: they end here.


@dataclass(frozen=True)
class StaticIpRoute:
    """A route that is set by hand."""

    prefix: IPv4Network  # Router id of its destination, or all addresses.
    interface: RouterInterface  # Where packets leave.
    distance: int  # Administrative distance.


@dataclass(frozen=True)
class TunnelHop:
    """A hop of an explicit route: the address of the far end of the link."""

    node: str
    address: IPv4Address


@dataclass(frozen=True)
class Tunnel:
    """A path that RSVP-TE sets up (RFC 3209)."""

    name: str  # Of the path.
    destination: IPv4Address  # Router id of the tail end.
    hops: tuple[TunnelHop, ...]  # Strict hops.
    bandwidth: int  # Reserved [bit/s].
    # setup, hold: Priorities.
    setup: int
    hold: int
    # include_any, include_all, exclude: Colours.
    include_any: tuple[str, ...] = ()
    include_all: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    repair: str = ""  # ``""``, ``link`` or ``node``: what local repair it asks for.
    repairs_bandwidth: bool = False  # Whether the repair guarantees bandwidth.
    # Interfaces whose failure it goes around as a bypass.
    protects: tuple[RouterInterface, ...] = ()
    backups: tuple[tuple[str, str], ...] = ()
    """Protections from end to end, each with the path that takes over."""
    is_rerouted: bool = False  # Whether the head finds a new route after a failure (restoration).
    protection: str = ""  # Protection whose backup it is; empty: a working path.

    @property
    def standby(self) -> tuple[str, ...]:
        """Paths from end to end that take over."""
        return tuple(backup for _, backup in self.backups)

    @property
    def is_standby(self) -> bool:
        """Whether it is only a second route of other tunnels."""
        return bool(self.protection) and not self.protects


@dataclass(frozen=True)
class PolicyHop:
    """A segment: its label, the address that it means, and whether it is a link."""

    label: int
    address: IPv4Address
    is_adjacency: bool


@dataclass(frozen=True)
class SegmentPolicy:
    """A segment routing policy (RFC 9256)."""

    name: str
    endpoint: IPv4Address
    colour: int
    hops: tuple[PolicyHop, ...]


@dataclass(frozen=True)
class Steering:
    """Traffic that a path carries from its head end: to a node, of some DSCPs or of all."""

    path: str
    destination: str
    address: IPv4Address
    dscps: tuple[int, ...] = ()


@dataclass(frozen=True)
class QueuePolicy:
    """A class of a port."""

    name: str  # Name.
    # dscps, tcs: Codepoints and traffic classes that join it, with their drop precedence.
    dscps: Mapping[int, int]
    tcs: Mapping[int, int]
    priority: int | None = None  # Strict priority, 0 first; None: shares the rest.
    # rate, ceiling: Guaranteed and greatest rate [bit/s].
    rate: int | None = None
    ceiling: int | None = None
    weight: int | None = None  # Weight among its peers.
    burst: int | None = None  # Depth of the bucket of its rate [B].
    # limit_packets, limit_bytes: Length of its queue.
    limit_packets: int | None = None
    limit_bytes: int | None = None
    curves: tuple[RedCurve, ...] = ()  # Drop curves by drop precedence; empty: drop tail.
    curve_unit: str = "packets"  # ``packets`` or ``bytes``.
    mean_packet: int = 500  # Mean packet that the curves count with [B].
    average_weight: float = 0.0  # Weight of the newest sample in the average that the curves judge.

    def to_curve_bytes(self, threshold: float) -> int:
        """A threshold of its curves in bytes, packets counted at their mean size."""
        return round(threshold * (self.mean_packet if self.curve_unit == "packets" else 1))

    def count_limit_bytes(self) -> int:
        """Length of its queue [B], packets counted at their mean size; 0: none."""
        if self.limit_bytes is not None:
            return self.limit_bytes
        return (self.limit_packets or 0) * self.mean_packet


@dataclass(frozen=True)
class PortPolicy:
    """Queues of a port."""

    name: str  # Name, unique in the network.
    port: str  # Port configuration of the scenario.
    rate: int  # Of the link [bit/s].
    shaped_rate: int | None  # Rate that the whole port is shaped to [bit/s].
    shaped_burst: int  # Depth of its bucket [B].
    classes: tuple[QueuePolicy, ...]  # In the order of the scenario.
    scheduler: str  # Its kind in the scenario.

    @property
    def shaper_rate(self) -> int | None:
        """Rate of a shaper above its queues; None: none.

        A port sends at the speed of its kind: a slower link would never let its queues fill.
        """
        if self.shaped_rate is not None:
            return self.shaped_rate
        return None if self.rate in PORT_SPEEDS else self.rate


@dataclass(frozen=True)
class PolicedAction:
    """Action of a policer for a colour."""

    drop: bool
    dscp: int | None


@dataclass(frozen=True)
class RouterPolicer:
    """A meter with its actions on green, yellow and red, and the DSCPs that it meters."""

    name: str
    dscps: tuple[int, ...]
    rate: int
    burst: int
    peak_rate: int
    peak_burst: int
    conform: PolicedAction
    exceed: PolicedAction
    violate: PolicedAction | None


@dataclass(frozen=True)
class Router:
    """All that a router is asked to do."""

    name: str
    router_id: IPv4Address
    interfaces: tuple[RouterInterface, ...]
    node_label_index: int
    labels: tuple[StaticLabelEntry, ...] = ()
    tunnels: tuple[Tunnel, ...] = ()
    policies: tuple[SegmentPolicy, ...] = ()
    steering: tuple[Steering, ...] = ()
    imposition: Mapping[int, int] = field(default_factory=dict)
    static_routes: tuple[StaticIpRoute, ...] = ()

    def list_port_policies(self) -> list[str]:
        """List the names of the port policies that it needs, each once."""
        return list(dict.fromkeys(each.policy for each in self.interfaces if each.policy))

    def list_policers(self) -> list[str]:
        """List the names of the conditioners that it needs, each once."""
        return list(dict.fromkeys(each.policer for each in self.interfaces if each.policer))


@dataclass(frozen=True)
class LinkStateRouting:
    """OSPF in one area; times in seconds, those of back-off in milliseconds."""

    hello_s: int = 10
    dead_s: int = 40
    spf_ms: tuple[int, int, int] = (50, 200, 5000)
    lsa_interval_ms: int = 5000
    repairs_prefixes: bool = False


@dataclass(frozen=True)
class RouterNetwork:
    """The neutral form of a network."""

    name: str  # Of the scenario.
    routers: tuple[Router, ...]  # In the order of the nodes.
    port_policies: Mapping[str, PortPolicy]  # By name.
    policers: Mapping[str, tuple[RouterPolicer, ...]]  # By conditioner.
    # colours, risks: Of the whole network, in the order of their bits and numbers.
    colours: tuple[str, ...]
    risks: tuple[str, ...]
    srgb: tuple[int, int] | None  # First and last label of nodes; None: no segment routing.
    # has_ldp, is_signalled: Whether LDP runs; whether RSVP-TE sets the paths up.
    has_ldp: bool
    is_signalled: bool
    hides_ttl: bool  # Whether labels keep the TTL of packets (pipe, RFC 3443).
    igp: LinkStateRouting  # How routers find routes, if ``runs_igp``.
    runs_igp: bool  # Whether they do; else they have static routes alone.
    omissions: tuple[Omission, ...]  # Elements that no target can express.
    # Elements that the Linux kernel may express, but not routers with queues in hardware.
    hardware_omissions: tuple[Omission, ...]
    compiled: NetworkData  # The compiled network, which the Linux kernel's commands are made from.


@dataclass
class TargetFiles:
    """Output of a writer: texts by file name, omissions, changes."""

    texts: dict[str, str] = field(default_factory=dict)
    omissions: list[Omission] = field(default_factory=list)
    rounded: list[RoundedQuantity] = field(default_factory=list)

    def omit(
        self,
        router: str,
        element: str,
        reason: str,
        path: tuple[str | int, ...],
        *,
        changes_design: bool = True,
    ) -> None:
        """Notes what a router's configuration does not say."""
        self.omissions.append(Omission(router, element, reason, path, changes_design))

    def omit_label_stack(self, router: Router, entry: StaticLabelEntry, reason: str) -> None:
        """Notes an entry that pushes more labels than a static LSP can have."""
        element = f"path {entry.path}: {len(entry.out_labels)} labels"
        self.omit(router.name, element, reason, ("paths", entry.path, "through"))

    def note_rounding(
        self,
        router: str,
        element: str,
        quantity: str,
        asked: float,
        expressed: float,
        unit: str,
    ) -> None:
        """Notes a quantity if it changed."""
        if asked != expressed:
            self.rounded.append(RoundedQuantity(router, element, quantity, asked, expressed, unit))
