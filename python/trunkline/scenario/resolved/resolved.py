"""The resolved scenario: what checks judge and the compiler writes."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

from trunkline.scenario.base import merged
from trunkline.scenario.cdf import Points
from trunkline.scenario.conditioner import Conditioner
from trunkline.scenario.diagnostic import Path as Place
from trunkline.scenario.flow import Echo, Tcp, Udp
from trunkline.scenario.model import LinkOptions, Node, Run, Sections
from trunkline.scenario.path import Path, Trunk
from trunkline.scenario.port import Port
from trunkline.scenario.probe import Probe
from trunkline.scenario.recovery import Failure, Protection, Rerouting
from trunkline.scenario.resolved.backed import Backed
from trunkline.scenario.routing import Routing
from trunkline.scenario.schedule import Schedule
from trunkline.scenario.shares import Class
from trunkline.scenario.signalling import Event, Requests, Signalling
from trunkline.scenario.sla import Bound, Sla

if TYPE_CHECKING:
    from trunkline.te.place import Placement

_REPLICA = re.compile(r"(.+)\[(\d{1,18})\]\Z", re.DOTALL)


@dataclass(frozen=True)
class Arc:
    """One direction of a link.

    Attributes
    ----------
    link : str
        Name of the link in the scenario.
    source, target : str
        Nodes.
    backward : bool
        Whether it leads from the second end to the first.
    options : LinkOptions
        The direction's own keys, those of the link and the defaults merged.
    """

    link: str
    source: str
    target: str
    backward: bool
    options: LinkOptions

    @property
    def name(self) -> str:
        """``R1->R2``, after ``link:`` where the link has a name of its own."""
        arrow = f"{self.source}->{self.target}"
        first, second = (self.target, self.source) if self.backward else (self.source, self.target)
        return arrow if self.link == f"{first}-{second}" else f"{self.link}:{arrow}"


def breaks(failure: Failure, arc: Arc) -> bool:
    """Whether a failure takes down a direction of a link."""
    return (
        arc.link in failure.link
        or arc.name in failure.link
        or arc.source in failure.node
        or arc.target in failure.node
    )


class Hop(NamedTuple):
    """A step of a path's route.

    Attributes
    ----------
    source, target : str
        Nodes.
    over : str
        Direction of a link, or the path that is ridden as a tunnel.
    is_tunnel : bool
        Which of the two.
    """

    source: str
    target: str
    over: str
    is_tunnel: bool


class Crossing(NamedTuple):
    """A link that a path's packets cross.

    Attributes
    ----------
    arc : Arc
        Direction of the link.
    labels : int
        Labels on a packet there.
    paths : frozenset of str
        Paths whose label entry forwards it there.
    """

    arc: Arc
    labels: int
    paths: frozenset[str]


@dataclass(frozen=True)
class Route:
    """Where a path goes.

    Attributes
    ----------
    nodes : list of str
        Nodes that see the path's own label, its first node before them.
    hops : list of Hop
        Links and tunnels between them.
    crossings : list of Crossing
        Links crossed in order, tunnels followed.
    """

    nodes: list[str]
    hops: list[Hop]
    crossings: list[Crossing]


class Sid(NamedTuple):
    """A segment of a policy.

    Attributes
    ----------
    node : str
        Where it ends.
    arc : str or None
        Direction of the link of an adjacency segment; None for a node segment.
    """

    node: str
    arc: str | None = None


class Offered(NamedTuple):
    """A demand between two nodes.

    Attributes
    ----------
    source, target : str
        Nodes.
    rate : int
        Offered load [bit/s].
    class_ : str
        Template that turns it into packets.
    """

    source: str
    target: str
    rate: int
    class_: str


@dataclass
class Resolved:
    """A scenario with all that follows from it.

    The sections are those of the scenario; passes replace their elements by complete ones, and may
    add elements that no one wrote.

    Attributes
    ----------
    written : Sections
        The scenario as it was written, for what was said and what was left to defaults.
    arcs : list of Arc
        Two for each link that has two ends, in the order of the scenario.
    arc : dict
        The same by name.
    between : dict
        Arcs by their source and target.
    part : dict
        A number for each node; equal where links join the nodes.
    names : list of (str, str)
        Each flow's own name and its name as declared, in order.
    schedules, transfers : dict
        Schedules of packets and of transfers that were read, by file name as written.
    cdfs : dict
        Distribution functions of sizes that were read, by file name as written.
    requests : dict
        Flows that carry requests for pages, and the flow of these.
    echoes : dict
        Flows whose receivers answer, as they are written; ``flows`` has their requests.
    classes : dict
        Classes of each port configuration in order, queues with defaults; None: of a link without.
    routes : dict
        Routes of the paths that have one without a fault.
    bounds : list of Bound
        Every bound of every agreement.
    demands : dict
        Every demand between two nodes, in order; those of matrices are called by their nodes.
    reserved : dict
        Bandwidth that each path asks for [bit/s], and its class type.
    path_requests : dict
        Random requests for paths, by name.
    placement : te.place.Placement or None
        Where computed routes came from; None where all are written.
    segmented : dict
        Segments of each path that is a policy of segment routing.
    backed : Backed or None
        Computed backups; None where no protection asks for any.
    before_scale : Resolved or None
        Links, ports and flows at their own rates, where the scenario is scaled.
    origins : dict
        Place of each generated element to that of what it was generated from in the document.
    """

    written: Sections
    nodes: dict[str, Node]
    ports: dict[str, Port]
    conditioners: dict[str, Conditioner]
    paths: dict[str, Path]
    trunks: dict[str, Trunk]
    flows: dict[str, Tcp | Udp]
    failures: dict[str, Failure]
    protections: dict[str, Protection]
    rerouting: Rerouting | None
    signalling: Signalling
    events: tuple[Event, ...]
    routing: Routing
    probes: tuple[Probe, ...]
    slas: dict[str, Sla]
    run: Run
    arcs: list[Arc] = field(default_factory=list)
    arc: dict[str, Arc] = field(default_factory=dict)
    between: dict[tuple[str, str], list[Arc]] = field(default_factory=dict)
    part: dict[str, int] = field(default_factory=dict)
    names: list[tuple[str, str]] = field(default_factory=list)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    transfers: dict[str, Schedule] = field(default_factory=dict)
    cdfs: dict[str, Points] = field(default_factory=dict)
    requests: dict[str, str] = field(default_factory=dict)
    echoes: dict[str, Echo] = field(default_factory=dict)
    classes: dict[str | None, dict[str, Class]] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)
    segmented: dict[str, tuple[Sid, ...]] = field(default_factory=dict)
    bounds: list[Bound] = field(default_factory=list)
    demands: dict[str, Offered] = field(default_factory=dict)
    reserved: dict[str, tuple[int, int]] = field(default_factory=dict)
    path_requests: dict[str, Requests] = field(default_factory=dict)
    placement: "Placement | None" = None
    backed: Backed | None = None
    before_scale: "Resolved | None" = None
    origins: dict[Place, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, written: Sections) -> Self:
        """What is written, with nothing worked out."""
        usual = written.defaults.echo
        echoes = {
            name: merged(flow, usual)
            for name, flow in written.flows.items()
            if isinstance(flow, Echo)
        }
        made = cls(
            written,
            dict(written.nodes),
            dict(written.ports),
            dict(written.conditioners),
            dict(written.paths),
            dict(written.trunks),
            {name: _sending(echoes.get(name, flow)) for name, flow in written.flows.items()},
            dict(written.failures),
            dict(written.protections),
            written.rerouting,
            written.signalling,
            written.events,
            written.routing,
            written.probes,
            dict(written.slas),
            written.run,
        )
        made.echoes = echoes
        made.path_requests = dict(written.requests)
        return made

    @property
    def message_flows(self) -> list[str]:
        """Names of the flows that messages of protocols are counted under, behind all others."""
        running = {
            "rsvp-te": self.signalling.kind == "rsvp-te",
            "ospf": self.routing.ospf is not None,
            "ldp": self.routing.ldp is not None,
        }
        return [name for name, runs in running.items() if runs]

    def unscaled(self) -> "Resolved":
        """The scenario at its own rates."""
        return self.before_scale or self

    def has_flow(self, name: str) -> bool:
        """Whether a name means a flow, all replicas of one, or one replica."""
        if name in self.flows:
            return True
        match = _REPLICA.match(name)
        flow = self.flows.get(match[1]) if match else None
        return bool(match and flow and flow.replicate and int(match[2]) < flow.replicate)

    def declared(self, name: str) -> str:
        """Name of a flow as declared: that of ``many[3]`` is ``many``."""
        match = None if name in self.flows else _REPLICA.match(name)
        return match[1] if match else name

    def means_all(self, flow: str) -> bool:
        """Whether a name stands for every flow."""
        return flow == "all" and "all" not in self.flows

    def tells_phb(self, path: str) -> bool:
        """Whether the TC of a path's label stands for PHBs."""
        its = self.paths[path].diffserv if path in self.paths else None
        return its is not None and its.tc_of_dscp() is not None

    def phb_of_tc(self) -> dict[int, int]:
        """TC of the same PHB of each TC that says congestion experienced (RFC 5129)."""
        pairs = [pair for port in self.ports.values() for pair in port.ecn_in_mpls.items()]
        return {said: tc for tc, said in pairs}

    def nodes_of(self, path: str) -> list[str]:
        """Nodes of a path's route, sound or not, names of links left out."""
        return [each for each in self.paths[path].route if each in self.nodes]


def _sending(flow: Tcp | Udp | Echo) -> Tcp | Udp:
    return flow.source() if isinstance(flow, Echo) else flow
