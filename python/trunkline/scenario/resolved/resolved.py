"""The resolved scenario: the input of the checks and of the compiler."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

from trunkline.scenario.base import merge_defaults
from trunkline.scenario.cdf import CdfPoints
from trunkline.scenario.conditioner import Conditioner
from trunkline.scenario.diagnostic import DocumentPath as Place
from trunkline.scenario.fields import ALL
from trunkline.scenario.flow import Echo, Tcp, Udp
from trunkline.scenario.model import LinkOptions, Node, Run, ScenarioSections
from trunkline.scenario.path import LabelSwitchedPath, Trunk
from trunkline.scenario.port import PortConfiguration
from trunkline.scenario.probe import Probe
from trunkline.scenario.recovery import Failure, Protection, Rerouting
from trunkline.scenario.resolved.computed_backups import ComputedBackups
from trunkline.scenario.routing import RoutingOptions
from trunkline.scenario.schedule import PacketSchedule
from trunkline.scenario.scheduler_classes import PortClass
from trunkline.scenario.signalling import OperatorEvent, RandomRequests, SignallingOptions
from trunkline.scenario.sla import Sla, SlaBound

if TYPE_CHECKING:
    from trunkline.te.placement import Placement

_REPLICA = re.compile(r"(.+)\[(\d{1,18})\]\Z", re.DOTALL)


@dataclass(frozen=True)
class ResolvedArc:
    """One direction of a link."""

    link: str  # Name of the link in the scenario.
    # source, target: Nodes.
    source: str
    target: str
    backward: bool  # Whether it leads from the second end to the first.
    options: LinkOptions  # The direction's own keys, those of the link and the defaults merged.

    @property
    def name(self) -> str:
        """``R1->R2``, after ``link:`` where the link has a name of its own."""
        arrow = f"{self.source}->{self.target}"
        first, second = (self.target, self.source) if self.backward else (self.source, self.target)
        return arrow if self.link == f"{first}-{second}" else f"{self.link}:{arrow}"


def fails_arc(failure: Failure, arc: ResolvedArc) -> bool:
    """Whether a failure takes down a direction of a link."""
    return (
        arc.link in failure.link
        or arc.name in failure.link
        or arc.source in failure.node
        or arc.target in failure.node
    )


class RouteHop(NamedTuple):
    """A step of a path's route."""

    # source, target: Nodes.
    source: str
    target: str
    over: str  # Direction of a link, or the path that is ridden as a tunnel.
    is_tunnel: bool  # Which of the two.


class LinkCrossing(NamedTuple):
    """A link that a path's packets cross."""

    arc: ResolvedArc  # Direction of the link.
    label_count: int  # Labels on a packet there.
    paths: frozenset[str]  # Paths whose label entry forwards it there.


@dataclass(frozen=True)
class Route:
    """Links of a path."""

    nodes: list[str]  # Nodes that see the path's own label, its first node before them.
    hops: list[RouteHop]  # Links and tunnels between them.
    crossings: list[LinkCrossing]  # Links crossed in order, tunnels followed.


class PolicySegment(NamedTuple):
    """A segment of a policy."""

    node: str  # Where it ends.
    # Direction of the link of an adjacency segment; None for a node segment.
    arc: str | None = None


class ResolvedStaticRoute(NamedTuple):
    """A static route of a node."""

    node: str
    target: str | None  # Node that it leads to; None: every node without another route.
    arc: ResolvedArc  # Direction of the link that packets take.
    distance: int  # Administrative distance.
    place: Place  # In the document.


class DrainMove(NamedTuple):
    """A move of a signalled path because of maintenance: off a drained link, or back."""

    at: int  # [ns].
    path: str
    arcs: tuple[str, ...]  # Directions of links of its route from then on.


class ResolvedDemand(NamedTuple):
    """A demand between two nodes."""

    # source, target: Nodes.
    source: str
    target: str
    rate: int  # Offered load [bit/s].
    class_: str  # Template that turns it into packets.


@dataclass
class ResolvedScenario:
    """A scenario with all that follows from it.

    The sections are those of the scenario; passes replace their elements by complete ones, and may
    add elements that no one wrote.
    """

    # The scenario before resolution: it shows which keys were given and which are defaults.
    written: ScenarioSections
    nodes: dict[str, Node]
    ports: dict[str, PortConfiguration]
    conditioners: dict[str, Conditioner]
    paths: dict[str, LabelSwitchedPath]
    trunks: dict[str, Trunk]
    flows: dict[str, Tcp | Udp]
    failures: dict[str, Failure]
    protections: dict[str, Protection]
    rerouting: Rerouting | None
    signalling: SignallingOptions
    events: tuple[OperatorEvent, ...]
    routing: RoutingOptions
    probes: tuple[Probe, ...]
    slas: dict[str, Sla]
    run: Run
    # Two for each link that has two ends, in the order of the scenario.
    arcs: list[ResolvedArc] = field(default_factory=list)
    arc_by_name: dict[str, ResolvedArc] = field(default_factory=dict)  # The same by name.
    # Arcs by their source and target.
    arcs_between: dict[tuple[str, str], list[ResolvedArc]] = field(default_factory=dict)
    static_routes: list[ResolvedStaticRoute] = field(default_factory=list)
    # A number for each node; equal where links join the nodes.
    component: dict[str, int] = field(default_factory=dict)
    # Each flow's own name and its name as declared, in order.
    flow_names: list[tuple[str, str]] = field(default_factory=list)
    # schedules, transfers: Schedules of packets and of transfers that were read, by file name as
    # written.
    schedules: dict[str, PacketSchedule] = field(default_factory=dict)
    transfers: dict[str, PacketSchedule] = field(default_factory=dict)
    # Distribution functions of sizes that were read, by file name as written.
    cdfs: dict[str, CdfPoints] = field(default_factory=dict)
    # Flows that carry requests for pages, and the flow of these.
    page_of_request_flow: dict[str, str] = field(default_factory=dict)
    # Flows whose receivers answer, as written; ``flows`` has their requests.
    echoes: dict[str, Echo] = field(default_factory=dict)
    # Classes of each port configuration in order, queues with defaults; None: of a link without.
    classes: dict[str | None, dict[str, PortClass]] = field(default_factory=dict)
    # Routes of the paths that have one without a fault.
    routes: dict[str, Route] = field(default_factory=dict)
    # Segments of each path that is a policy of segment routing.
    policies: dict[str, tuple[PolicySegment, ...]] = field(default_factory=dict)
    sla_bounds: list[SlaBound] = field(default_factory=list)  # Every bound of every agreement.
    # Every demand between two nodes, in order; those of matrices are called by their nodes.
    demands: dict[str, ResolvedDemand] = field(default_factory=dict)
    # Bandwidth that each path asks for [bit/s], and its class type.
    reservations: dict[str, tuple[int, int]] = field(default_factory=dict)
    # RandomOutages requests for paths, by name.
    path_requests: dict[str, RandomRequests] = field(default_factory=dict)
    # Where computed routes came from; None where all are written.
    placement: "Placement | None" = None
    # Signalled paths that have no room in the plan of the start: their heads find their routes.
    # Their route here is the one that they would have alone.
    unplanned_paths: set[str] = field(default_factory=set)
    # Computed backups; None where no protection asks for any.
    computed_backups: ComputedBackups | None = None
    # Moves of signalled paths because of maintenance, by time.
    drain_moves: list[DrainMove] = field(default_factory=list)
    # Paths without another route at the time when a drain begins [ns].
    undrained_paths: list[tuple[int, str]] = field(default_factory=list)
    # Links, ports and flows at their own rates, where the scenario is scaled.
    before_scale: "ResolvedScenario | None" = None
    # Place of each generated element to that of what it was generated from in the document.
    origins: dict[Place, Place] = field(default_factory=dict)

    @classmethod
    def from_sections(cls, written: ScenarioSections) -> Self:
        """Make it from the sections as written, before anything is computed."""
        echo_defaults = written.defaults.echo
        echoes = {
            name: merge_defaults(flow, echo_defaults)
            for name, flow in written.flows.items()
            if isinstance(flow, Echo)
        }
        resolved = cls(
            written,
            dict(written.nodes),
            dict(written.ports),
            dict(written.conditioners),
            dict(written.paths),
            dict(written.trunks),
            {name: _make_sender(echoes.get(name, flow)) for name, flow in written.flows.items()},
            dict(written.failures)
            | {name: window.make_failure() for name, window in written.maintenance.items()},
            dict(written.protections),
            written.rerouting,
            written.signalling,
            written.events,
            written.routing,
            written.probes,
            dict(written.slas),
            written.run,
        )
        resolved.echoes = echoes
        resolved.path_requests = dict(written.requests)
        return resolved

    @property
    def message_flows(self) -> list[str]:
        """Names of the flows that messages of protocols are counted under, behind all others."""
        running = {
            "rsvp-te": self.signalling.kind == "rsvp-te",
            "ospf": self.routing.ospf is not None,
            "ldp": self.routing.ldp is not None,
        }
        return [name for name, runs in running.items() if runs]

    def get_unscaled(self) -> "ResolvedScenario":
        """Return the scenario at its own rates."""
        return self.before_scale or self

    def get_reservation(self, path: str) -> tuple[int, int]:
        """Return the bandwidth [bit/s] and the class type that a path asks for; 0 of a backup."""
        return self.reservations.get(path, (0, 0))

    def has_flow(self, name: str) -> bool:
        """Whether a name means a flow, all replicas of one, or one replica."""
        if name in self.flows:
            return True
        match = _REPLICA.match(name)
        flow = self.flows.get(match[1]) if match else None
        return bool(match and flow and flow.replicate and int(match[2]) < flow.replicate)

    def get_declared_name(self, name: str) -> str:
        """Return the name of a flow as declared: that of ``many[3]`` is ``many``."""
        match = None if name in self.flows else _REPLICA.match(name)
        return match[1] if match else name

    def is_all_flows(self, flow: str) -> bool:
        """Whether a name stands for every flow."""
        return flow == ALL

    def has_phb_labels(self, path: str) -> bool:
        """Whether the TC of a path's label stands for PHBs."""
        diffserv = self.paths[path].diffserv if path in self.paths else None
        return diffserv is not None and diffserv.get_tc_by_dscp() is not None

    def map_ce_tcs(self) -> dict[int, int]:
        """TC of the same PHB of each TC that says congestion experienced (RFC 5129)."""
        pairs = [pair for port in self.ports.values() for pair in port.ecn_in_mpls.items()]
        return {ce_tc: tc for tc, ce_tc in pairs}

    def list_route_nodes(self, path: str) -> list[str]:
        """List the nodes of a path's route, sound or not, names of links left out."""
        return [each for each in self.paths[path].route if each in self.nodes]


def _make_sender(flow: Tcp | Udp | Echo) -> Tcp | Udp:
    return flow.make_request_flow() if isinstance(flow, Echo) else flow
