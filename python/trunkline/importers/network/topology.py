"""A network as a published file has it: nodes, links and demands, before any rule fills a gap."""

from dataclasses import dataclass, field

from trunkline.importers.common.fault import OmittedPart


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
    """

    label: str
    place: tuple[float, float] | None = None
    line: int = 0
    external: bool = False


@dataclass(slots=True)
class ImportedLink:
    """A link in both directions; what the file does not say is None.

    Parameters
    ----------
    source, target : str
        Nodes, by their keys in `ImportedTopology.nodes`.
    capacity, capacity_back : int, optional
        From source to target, and the other way where it differs [bit/s].
    delay : int, optional
        Propagation delay [ns].
    length : float, optional
        Length [km].
    module : int, optional
        The smallest capacity that the file offers to install [bit/s].
    line : int
        Where it stands; 0: unknown.
    """

    source: str
    target: str
    capacity: int | None = None
    capacity_back: int | None = None
    delay: int | None = None
    length: float | None = None
    metric: int | None = None
    metric_back: int | None = None
    module: int | None = None
    line: int = 0


@dataclass(slots=True)
class ImportedDemand:
    """Offered load from one node to another.

    Parameters
    ----------
    source, target : str
        Nodes, by their keys in `ImportedTopology.nodes`.
    value : float
        In units of `ImportedTopology.unit`.
    line : int
        Where it stands; 0: unknown.
    """

    source: str
    target: str
    value: float
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
    unit : int, optional
        Bits per second in one unit of a demand's value; None: the file does not say.
    geographic : bool
        Places are longitude and latitude.
    notes : list of OmittedPart
        What was left out or read in one of several ways.
    """

    title: str
    nodes: dict[str, ImportedNode] = field(default_factory=dict)
    links: list[ImportedLink] = field(default_factory=list)
    demands: list[ImportedDemand] = field(default_factory=list)
    unit: int | None = None
    geographic: bool = False
    notes: list[OmittedPart] = field(default_factory=list)
