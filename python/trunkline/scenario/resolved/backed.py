"""Computed backups as data: where they go, whom they serve, and what has none."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.te.repair import Repair
    from trunkline.te.shared import Event, Shared
    from trunkline.te.topology import Path as Arcs


@dataclass
class Backup:
    """A computed backup.

    Attributes
    ----------
    protection : str
        The protection that asked for it.
    around : str
        Link, node or path that it goes around.
    repair : te.repair.Repair
        Where it goes.
    over : tuple of int
        Arcs of the paths that it is for.
    by : frozenset of te.shared.Event
        Failures that call upon it.
    paths : list of str
        Paths that it serves.
    bandwidth : int
        Theirs, times the share that is protected [bit/s].
    segments : tuple of (str, str or None)
        Those of a repair list, by end and link; empty for other kinds.
    name : str
        Name of the backup path and of its protection.
    """

    protection: str
    around: str
    repair: "Repair"
    over: "Arcs"
    by: "frozenset[Event]"
    paths: list[str] = field(default_factory=list)
    bandwidth: int = 0
    segments: tuple[tuple[str, str | None], ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Gap:
    """What a protection cannot protect.

    Attributes
    ----------
    protection, path : str
        Which.
    around : str
        Link, node or path that has no way around it.
    why : str
        The reason.
    by_link : bool
        Whether the link has a backup all the same, which does not avoid the node or the risk.
    """

    protection: str
    path: str
    around: str
    why: str
    by_link: bool = False


@dataclass
class Backed:
    """All computed backups of a scenario.

    Attributes
    ----------
    shared : te.shared.Shared
        Their bandwidth, at the rates of the network itself.
    backups : list of Backup
        By protection; of one, bypasses in the order of links, others in that of paths.
    gaps : list of Gap
        What has none.
    places : int
        Hops that should have a local repair, and paths that should have a backup from end to end.
    """

    shared: "Shared"
    backups: list[Backup] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    places: int = 0
