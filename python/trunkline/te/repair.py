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

from trunkline.te.constraints import Constraints
from trunkline.te.cspf import Route, cspf
from trunkline.te.disjoint import Apart, sharing
from trunkline.te.refusal import Refusal
from trunkline.te.topology import Ints, Path, Topology

Local = Literal["facility-bypass", "detour"]


@dataclass(frozen=True, slots=True)
class Repair:
    """A backup of a path, or of a part of it.

    Parameters
    ----------
    first, last : int
        Places on the path's nodes where the backup leaves and joins it.
    path : tuple of int
        Arcs of the backup.
    protect : {"link", "node", "risk"}
        What it goes around.
    """

    first: int
    last: int
    path: Path
    protect: Apart


def local(
    topology: Topology,
    path: Path,
    at: int,
    kind: Local,
    protect: Apart,
    asked: Constraints,
    free: Ints,
) -> Repair | Refusal:
    """The backup of a path by the node before its hop.

    Parameters
    ----------
    path : tuple of int
        Arcs of the working path.
    at : int
        Place of the hop whose link, head or risks the backup avoids.
    kind : {"facility-bypass", "detour"}
        Where it ends: at the next node that is left, or where the way to the end meets the path.
    protect : {"link", "node", "risk"}
        What it avoids. For the last hop a node means the link.
    asked : Constraints
        What the backup must satisfy.
    free : array of int64, shape (E,)
        Bandwidth that it may use, bit/s.

    Returns
    -------
    Repair or Refusal
        The backup, or which constraint leaves none.
    """
    if protect == "node" and at == len(path) - 1:
        protect = "link"
    around = path[at : at + 2] if protect == "node" else path[at : at + 1]
    avoid = frozenset(asked.avoid) | sharing(topology, around, protect)
    plr = int(topology.tail[path[at]])
    merge = at + len(around)
    end = len(path) if kind == "detour" else merge
    found = cspf(
        topology,
        plr,
        int(topology.head[path[end - 1]]),
        replace(asked, avoid=avoid),
        free,
    )
    if isinstance(found, Refusal):
        return found
    onward = {int(topology.head[path[place]]): place + 1 for place in range(merge - 1, end)}
    step, place = next(
        (step, onward[head])
        for step, head in enumerate(topology.head[list(found.path)].tolist())
        if head in onward
    )
    return Repair(at, place, found.path[: step + 1], protect)


def standby(
    topology: Topology, path: Path, protect: Apart, asked: Constraints, free: Ints
) -> Repair | Refusal:
    """A second path between the ends of a path.

    Parameters
    ----------
    path : tuple of int
        Arcs of the working path.
    protect : {"link", "node", "risk"}
        What the two do not share.
    asked : Constraints
        What the backup must satisfy.
    free : array of int64, shape (E,)
        Bandwidth that it may use, bit/s.

    Returns
    -------
    Repair or Refusal
        The backup, or which constraint leaves none.
    """
    avoid = asked.avoid | sharing(topology, path, protect)
    ends = int(topology.tail[path[0]]), int(topology.head[path[-1]])
    found = cspf(topology, *ends, replace(asked, avoid=avoid), free)
    if isinstance(found, Route):
        return Repair(0, len(path), found.path, protect)
    return found


def repaired(path: Path, repair: Repair) -> Path:
    """The way of packets while a backup carries them.

    Parameters
    ----------
    path : tuple of int
        Arcs of the working path.
    repair : Repair
        Its backup.

    Returns
    -------
    tuple of int
        Arcs; one may occur twice, where a bypass leads back.
    """
    return path[: repair.first] + repair.path + path[repair.last :]
