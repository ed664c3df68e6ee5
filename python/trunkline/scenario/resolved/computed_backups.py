"""Computed backups as data: where they go, whom they serve, and what has none."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.te.backup_paths import BackupPath
    from trunkline.te.shared_backups import SharedBandwidth, SingleFailure
    from trunkline.te.topology import ArcPath as Arcs


@dataclass
class ComputedBackup:
    """A computed backup.

    Attributes
    ----------
    protection : str
        The protection that asked for it.
    protected_element : str
        Link, node or path that it goes around.
    backup_path : te.backup_paths.BackupPath
        Where it goes.
    protected_arcs : tuple of int
        Arcs of the paths that it is for.
    failures : frozenset of te.shared_backups.SingleFailure
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
    protected_element: str
    backup_path: "BackupPath"
    protected_arcs: "Arcs"
    failures: "frozenset[SingleFailure]"
    paths: list[str] = field(default_factory=list)
    bandwidth: int = 0
    segments: tuple[tuple[str, str | None], ...] = ()
    name: str = ""


@dataclass(frozen=True)
class ProtectionGap:
    """What a protection cannot protect.

    Attributes
    ----------
    protection, path : str
        Which.
    protected_element : str
        Link, node or path that has no way around it.
    reason : str
        The reason.
    has_link_backup : bool
        Whether the link has a backup all the same, which does not avoid the node or the risk.
    """

    protection: str
    path: str
    protected_element: str
    reason: str
    has_link_backup: bool = False


@dataclass
class ComputedBackups:
    """All computed backups of a scenario.

    Attributes
    ----------
    shared : te.shared_backups.SharedBandwidth
        Their bandwidth, at the rates of the network itself.
    backups : list of ComputedBackup
        By protection; of one, bypasses in the order of links, others in that of paths.
    gaps : list of ProtectionGap
        What has none.
    place_count : int
        Hops that should have a local repair, and paths that should have a backup from end to end.
    """

    shared: "SharedBandwidth"
    backups: list[ComputedBackup] = field(default_factory=list)
    gaps: list[ProtectionGap] = field(default_factory=list)
    place_count: int = 0
