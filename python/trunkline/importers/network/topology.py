"""A network as a published file has it: nodes, links and demands, before any rule fills a gap."""

from dataclasses import dataclass, field
from typing import Any

from trunkline.importers.common.account import ImportAccount


@dataclass(slots=True)
class ImportedNode:
    """A node."""

    label: str  # Its name in the file, for people; may occur twice.
    # Longitude and latitude [degrees], or x and y; see `ImportedTopology.geographic`.
    place: tuple[float, float] | None = None
    line: int = 0  # Where it stands; 0: unknown.
    external: bool = False  # It belongs to another network.
    is_segment: bool = False  # It is a segment that several nodes share.


@dataclass(slots=True)
class ImportedLink:
    """A link in both directions; what the file does not say is None."""

    # source, target: Nodes, by their keys in `ImportedTopology.nodes`.
    source: str
    target: str
    # capacity, capacity_back: From source to target, and the other way where it differs, in `unit`.
    capacity: float | None = None
    capacity_back: float | None = None
    module: float | None = None  # The smallest capacity that the file offers to install, in `unit`.
    # Bits per second in one unit of the capacities; None: the file does not say.
    unit: int | None = 1
    # delay, delay_back: Propagation delay, and the other way where it differs [ns].
    delay: int | None = None
    delay_back: int | None = None
    length: float | None = None  # Length [km].
    # metric, metric_back: Cost for shortest paths, and the other way where it differs.
    metric: float | None = None
    metric_back: float | None = None
    # loss, loss_back: Share of packets lost on the wire, 0 to 1, and the other way where it
    # differs.
    loss: float = 0.0
    loss_back: float | None = None
    # colours, risks: Administrative groups and shared risk link groups.
    colours: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    reservable: float = 1.0  # Share of the capacity that paths may reserve.
    # port, port_back, ingress, ingress_back: Port that sends, and conditioner of what arrives, by
    # their names in `ImportedTopology`; empty: none.
    port: str = ""
    port_back: str = ""
    ingress: str = ""
    ingress_back: str = ""
    # mtu, mtu_back, header, header_back: Largest packet, and what a packet has more on the wire, as
    # a scenario writes them; empty: the file does not say.
    mtu: str = ""
    mtu_back: str = ""
    header: str = ""
    header_back: str = ""
    name: str = ""  # Its own name; empty: that of its ends.
    devices: tuple[str, str] = ("", "")  # Interfaces at both ends; empty: the file names none.
    line: int = 0  # Where it stands; 0: unknown.


@dataclass(slots=True)
class ImportedDemand:
    """Offered load from one node to another."""

    # source, target: Nodes, by their keys in `ImportedTopology.nodes`.
    source: str
    target: str
    value: float  # Offered load, in `unit`.
    # Bits per second in one unit of the value; None: the file does not say.
    unit: int | None = None
    class_name: str = ""  # Class of its packets; empty: the file has none.
    line: int = 0  # Where it stands; 0: unknown.


@dataclass(slots=True)
class ImportedPath:
    """A label-switched path."""

    name: str
    route: tuple[str, ...]  # Nodes, by their keys; of a policy its head end alone.
    segments: tuple[str | int, ...] = ()  # Segments of a policy: nodes, and links by their index.
    keys: dict[str, Any] = field(default_factory=dict)  # Further keys, as in a scenario.
    colours: dict[str, Any] = field(default_factory=dict)  # That its links must have, likewise.
    # Protections from end to end, each with the path that takes over.
    backups: tuple[tuple[str, str], ...] = ()
    asks_for_repair: bool = False  # Bypasses take it over.


@dataclass(slots=True)
class ImportedBypass:
    """A path that goes around links when they fail, for the paths that ask for it."""

    protection: str
    backup: str  # The path.
    paths: tuple[str, ...]  # Paths that it takes over.
    links: tuple[int, ...]  # Links that it goes around, by their index.


@dataclass(slots=True)
class ImportedTopology:
    """A network as its file describes it."""

    title: str
    # By the key that links and demands use.
    nodes: dict[str, ImportedNode] = field(default_factory=dict)
    # links, demands: In the order of the file.
    links: list[ImportedLink] = field(default_factory=list)
    demands: list[ImportedDemand] = field(default_factory=list)
    paths: list[ImportedPath] = field(default_factory=list)
    bypasses: list[ImportedBypass] = field(default_factory=list)
    is_signalled: bool = False  # RSVP-TE sets the paths up.
    has_ldp: bool = False  # LDP hands out labels for IP routes.
    runs_igp: bool = True  # Routers find routes; else they have static ones alone.
    # routes: Static routes of nodes by their keys, as a scenario has them but that `to` is a key of
    # a node and `via` the index of a link.
    routes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # ports, conditioners: As a scenario writes them, by name.
    ports: dict[str, dict[str, Any]] = field(default_factory=dict)
    conditioners: dict[str, dict[str, Any]] = field(default_factory=dict)
    geographic: bool = False  # Places are longitude and latitude.
    # Lines that were read, left out and assumed.
    account: ImportAccount = field(default_factory=ImportAccount)

    def add_port(self, name: str, keys: dict[str, Any]) -> str:
        """Add a port of one router; return its name, another where routers differ."""
        return _add_element(self.ports, name, keys)

    def add_conditioner(self, name: str, keys: dict[str, Any]) -> str:
        """Add a conditioner likewise."""
        return _add_element(self.conditioners, name, keys)


def _add_element(known: dict[str, dict[str, Any]], name: str, keys: dict[str, Any]) -> str:
    own_name, number = name, 1
    while known.setdefault(own_name, keys) != keys:
        number += 1
        own_name = f"{name}.{number}"
    return own_name
