"""Backups around a link, a node or a shared risk: bypasses, detours, disjoint standbys.

A bypass starts at the node before the protected element. It ends at the next node of the path
(link, risk) or at the one after (node), and serves all paths there. A detour follows the path from
that node to the end of the working path, cut where it first meets the working path behind the
element. A standby connects both ends. The last hop of a path has no node to go around, so its link
is protected.

Source: RFC 4090 sections 3.1, 3.2 and 6.2 (a path without the failed element, by CSPF).

Differs: a detour merges only with its working path, not with other detours (RFC 4090 section 8).
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

    ``leaves_at`` and ``joins_at`` are places among the nodes of the working path.
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
    """Find the backup that the node before a hop sets up, or the constraint that leaves none.

    path: The working path.
    hop: Place of the hop whose link, head or risks the backup avoids. For the last hop, ``"node"``
        means the link.
    kind: Where the backup ends: at the next node that is left, or where it meets the path again.
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
    """Find a second path between the ends of a path, or the constraint that leaves none."""
    avoid = constraints.avoid | find_shared_arcs(topology, path, protect)
    ends = int(topology.tail[path[0]]), int(topology.head[path[-1]])
    found = find_constrained_path(topology, *ends, replace(constraints, avoid=avoid), free)
    if isinstance(found, ConstrainedPath):
        return BackupPath(0, len(path), found.path, protect)
    return found
