"""Computed backups as data: their routes, their paths, and elements without backup."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.te.backup_paths import BackupPath
    from trunkline.te.shared_backups import SharedBandwidth, SingleFailure
    from trunkline.te.topology import ArcPath as Arcs


@dataclass
class ComputedBackup:
    """A computed backup."""

    protection: str  # The protection that asked for it.
    protected_element: str  # Link, node or path that it goes around.
    backup_path: "BackupPath"  # Where it goes.
    protected_arcs: "Arcs"  # Arcs of the paths that it is for.
    failures: "frozenset[SingleFailure]"  # Failures that call upon it.
    paths: list[str] = field(default_factory=list)  # Paths that it serves.
    bandwidth: int = 0  # Theirs, times the share that is protected [bit/s].
    # Those of a repair list, by end and link; empty for other kinds.
    segments: tuple[tuple[str, str | None], ...] = ()
    name: str = ""  # Name of the backup path and of its protection.


@dataclass(frozen=True)
class ProtectionGap:
    """An element that a protection cannot protect."""

    # protection, path: Which.
    protection: str
    path: str
    protected_element: str  # Link, node or path that has no way around it.
    reason: str  # The reason.
    # Whether the link has a backup all the same, which does not avoid the node or the risk.
    has_link_backup: bool = False


@dataclass
class ComputedBackups:
    """All computed backups of a scenario."""

    shared: "SharedBandwidth"  # Their bandwidth, at the rates of the network itself.
    # By protection; of one, bypasses in the order of links, others in that of paths.
    backups: list[ComputedBackup] = field(default_factory=list)
    gaps: list[ProtectionGap] = field(default_factory=list)  # Elements without backup.
    # Hops that should have a local repair, and paths that should have a backup from end to end.
    place_count: int = 0
