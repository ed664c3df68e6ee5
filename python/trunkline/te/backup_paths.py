"""Backups around a link, a node or a shared risk: bypasses, detours, disjoint standbys.

A bypass leads from the node before the protected element to the next node of the path (link, risk)
or to the one after (node); it serves all paths there. A detour is the way from that node to the
path's end, cut where it first meets the path behind the element. A standby leads from end to end.
The last hop of a path has no node to go around: its link is protected.

Source: RFC 4090 sections 3.1, 3.2 and 6.2 (the way without the failed element, by CSPF).
Differs: a detour merges at the path itself alone, not with other detours (RFC 4090 section 8).
"""

from dataclasses import dataclass, replace
from typing import Literal

from trunkline.te.cspf import ConstrainedPath, find_constrained_path
from trunkline.te.disjoint_paths import Disjointness, find_shared_arcs
from trunkline.te.path_constraints import PathConstraints
from trunkline.te.refusal import Refusal
from trunkline.te.topology import ArcPath, Ints, Topology

LocalBackupKind = Literal["facility-bypass", "detour"]


@dataclass(frozen=True, slots=True)
class BackupPath:
    """A backup of a path, or of a part of it.

    Parameters
    ----------
    leaves_at, joins_at : int
        Places on the path's nodes where the backup leaves and joins it.
    path : tuple of int
        Arcs of the backup.
    protect : {"link", "node", "risk"}
        What it goes around.
    """

    leaves_at: int
    joins_at: int
    path: ArcPath
    protect: Disjointness


def find_local_backup(
    topology: Topology,
    path: ArcPath,
    hop: int,
    kind: LocalBackupKind,
    protect: Disjointness,
    constraints: PathConstraints,
    free: Ints,
) -> BackupPath | Refusal:
    """The backup of a path by the node before its hop.

    Parameters
    ----------
    path : tuple of int
        Arcs of the working path.
    hop : int
        Place of the hop whose link, head or risks the backup avoids.
    kind : {"facility-bypass", "detour"}
        Where it ends: at the next node that is left, or where the way to the end meets the path.
    protect : {"link", "node", "risk"}
        What it avoids. For the last hop a node means the link.
    constraints : PathConstraints
        What the backup must satisfy.
    free : array of int64, shape (E,)
        Bandwidth that it may use, bit/s.

    Returns
    -------
    BackupPath or Refusal
        The backup, or which constraint leaves none.
    """
    if protect == "node" and hop == len(path) - 1:
        protect = "link"
    protected_arcs = path[hop : hop + 2] if protect == "node" else path[hop : hop + 1]
    avoid = frozenset(constraints.avoid) | find_shared_arcs(topology, protected_arcs, protect)
    plr = int(topology.tail[path[hop]])
    merge = hop + len(protected_arcs)
    end = len(path) if kind == "detour" else merge
    found = find_constrained_path(
        topology,
        plr,
        int(topology.head[path[end - 1]]),
        replace(constraints, avoid=avoid),
        free,
    )
    if isinstance(found, Refusal):
        return found
    merge_places = {int(topology.head[path[place]]): place + 1 for place in range(merge - 1, end)}
    step, place = next(
        (step, merge_places[head])
        for step, head in enumerate(topology.head[list(found.path)].tolist())
        if head in merge_places
    )
    return BackupPath(hop, place, found.path[: step + 1], protect)


def find_standby(
    topology: Topology,
    path: ArcPath,
    protect: Disjointness,
    constraints: PathConstraints,
    free: Ints,
) -> BackupPath | Refusal:
    """A second path between the ends of a path.

    Parameters
    ----------
    path : tuple of int
        Arcs of the working path.
    protect : {"link", "node", "risk"}
        What the two do not share.
    constraints : PathConstraints
        What the backup must satisfy.
    free : array of int64, shape (E,)
        Bandwidth that it may use, bit/s.

    Returns
    -------
    BackupPath or Refusal
        The backup, or which constraint leaves none.
    """
    avoid = constraints.avoid | find_shared_arcs(topology, path, protect)
    ends = int(topology.tail[path[0]]), int(topology.head[path[-1]])
    found = find_constrained_path(topology, *ends, replace(constraints, avoid=avoid), free)
    if isinstance(found, ConstrainedPath):
        return BackupPath(0, len(path), found.path, protect)
    return found


def splice_backup(path: ArcPath, backup: BackupPath) -> ArcPath:
    """The way of packets while a backup carries them.

    Parameters
    ----------
    path : tuple of int
        Arcs of the working path.
    backup : BackupPath
        Its backup.

    Returns
    -------
    tuple of int
        Arcs; one may occur twice, where a bypass leads back.
    """
    return path[: backup.leaves_at] + backup.path + path[backup.joins_at :]
