"""A network as a published file has it: nodes, links and demands, before any rule fills a gap."""

from dataclasses import dataclass, field

from trunkline.importers.common.account import ImportAccount


@dataclass(slots=True)
class ImportedNode:
    """A node.

    Parameters
    ----------
    label : str
        What the file calls it, for people; may occur twice.
    place : (float, float), optional
        Longitude and latitude [degrees], or x and y; see `ImportedTopology.geographic`.
    line : int
        Where it stands; 0: unknown.
    external : bool
        It belongs to another network.
    is_segment : bool
        It is a segment that several nodes share.
    """

    label: str
    place: tuple[float, float] | None = None
    line: int = 0
    external: bool = False
    is_segment: bool = False


@dataclass(slots=True)
class ImportedLink:
    """A link in both directions; what the file does not say is None.

    Parameters
    ----------
    source, target : str
        Nodes, by their keys in `ImportedTopology.nodes`.
    capacity, capacity_back : float, optional
        From source to target, and the other way where it differs, in `unit`.
    module : float, optional
        The smallest capacity that the file offers to install, in `unit`.
    unit : int, optional
        Bits per second in one unit of the capacities; None: the file does not say.
    delay, delay_back : int, optional
        Propagation delay, and the other way where it differs [ns].
    length : float, optional
        Length [km].
    metric, metric_back : float, optional
        Cost for shortest paths, and the other way where it differs.
    loss, loss_back : float
        Share of packets lost on the wire, 0 to 1, and the other way where it differs.
    colours, risks : tuple of str
        Administrative groups and shared risk link groups.
    devices : (str, str)
        Interfaces at both ends; empty: the file names none.
    line : int
        Where it stands; 0: unknown.
    """

    source: str
    target: str
    capacity: float | None = None
    capacity_back: float | None = None
    module: float | None = None
    unit: int | None = 1
    delay: int | None = None
    delay_back: int | None = None
    length: float | None = None
    metric: float | None = None
    metric_back: float | None = None
    loss: float = 0.0
    loss_back: float | None = None
    colours: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    devices: tuple[str, str] = ("", "")
    line: int = 0


@dataclass(slots=True)
class ImportedDemand:
    """Offered load from one node to another.

    Parameters
    ----------
    source, target : str
        Nodes, by their keys in `ImportedTopology.nodes`.
    value : float
        Offered load, in `unit`.
    unit : int, optional
        Bits per second in one unit of the value; None: the file does not say.
    class_name : str
        Class of its packets; empty: the file has none.
    line : int
        Where it stands; 0: unknown.
    """

    source: str
    target: str
    value: float
    unit: int | None = None
    class_name: str = ""
    line: int = 0


@dataclass(slots=True)
class ImportedTopology:
    """What a file says of a network.

    Parameters
    ----------
    nodes : dict of str to ImportedNode
        By the key that links and demands use.
    links, demands : list
        In the order of the file.
    geographic : bool
        Places are longitude and latitude.
    account : ImportAccount
        What was read, what was left out, what was assumed.
    """

    title: str
    nodes: dict[str, ImportedNode] = field(default_factory=dict)
    links: list[ImportedLink] = field(default_factory=list)
    demands: list[ImportedDemand] = field(default_factory=list)
    geographic: bool = False
    account: ImportAccount = field(default_factory=ImportAccount)
