"""Repair paths of segment routing that need no loop-free neighbour (TI-LFA).

The packet is sent to the first node of the post-convergence path. From there it follows a list of
segments: node segments where shortest paths before the failure avoid the failed element, whichever
of several equal ones is taken, and adjacency segments elsewhere. The list ends at the first node
from which all shortest paths to the destination avoid it (Q-space).

Source: RFC 9855 sections 5 and 6 (P-space of the neighbour, Q-space, repair list); RFC 7490 (the
spaces).

Differs: of several repair nodes with equally short lists, the one nearest to the point of local
repair is taken. Ties of the post-convergence path are those of `te.cspf`.
"""

from dataclasses import dataclass

import numpy as np

from trunkline.te.cspf import find_shortest_path
from trunkline.te.disjoint_paths import Disjointness, find_shared_arcs
from trunkline.te.spf import compute_distances, find_equal_cost_arcs
from trunkline.te.topology import ArcPath, Bools, Ints, Topology


@dataclass(frozen=True, slots=True)
class RepairSegment:
    """One instruction of a repair list.

    ``node`` is its end; ``arc`` is the link of an adjacency segment and None for a node segment.
    """

    node: int
    arc: int | None = None


@dataclass(frozen=True, slots=True)
class RepairList:
    """The repair that the node before a failure applies to a packet.

    ``path`` is the post-convergence path. ``segments`` begin with the outermost; there are none if
    the next node of the path is a loop-free alternate.
    """

    path: ArcPath
    segments: tuple[RepairSegment, ...]


def find_repair_list(
    topology: Topology,
    metric: Ints,
    failed: int,
    target: int,
    protect: Disjointness = "link",
    max_depth: int | None = None,
) -> RepairList | None:
    """Find the repair list for a destination whose next hop is a link that fails.

    failed: Arc from the point of local repair to its next hop.
    protect: The element that fails: the link, its far node (the link where that is the
        destination), or all links that share a risk with it.
    max_depth: Most segments that a packet may get.
    Returns: None if no path is left, or the list is too long.
    """
    source = int(topology.tail[failed])
    dead = _find_failed_arcs(topology, failed, target, protect)
    path = find_shortest_path(topology, source, target, metric, ~dead, np.ones(len(metric)))
    if path is None:
        return None
    nodes = [int(topology.head[arc]) for arc in path]
    crosses_failure = find_crossing_nodes(topology, metric, np.array(nodes), dead)
    segments: list[RepairSegment] = []
    position = 0
    # From nodes[at] the packet must come to a node of Q-space; the last node is the destination.
    while crosses_failure[-1, nodes[position]]:
        safe_steps = [
            step
            for step in range(position + 1, len(nodes))
            if not crosses_failure[step, nodes[position]]
        ]
        q_space_steps = [step for step in safe_steps if not crosses_failure[-1, nodes[step]]]
        if q_space_steps:
            position = q_space_steps[0]
            segments.append(RepairSegment(nodes[position]))
        elif safe_steps:
            position = safe_steps[-1]
            segments.append(RepairSegment(nodes[position]))
        else:
            position += 1
            segments.append(RepairSegment(nodes[position], path[position]))
    if max_depth is not None and len(segments) > max_depth:
        return None
    return RepairList(path, tuple(segments))


def _find_failed_arcs(topology: Topology, failed: int, target: int, protect: Disjointness) -> Bools:
    head = int(topology.head[failed])
    if protect == "node" and head != target:
        dead: Bools = (topology.head == head) | (topology.tail == head)
        return dead
    dead = np.zeros(len(topology.tail), dtype=bool)
    dead[list(find_shared_arcs(topology, (failed,), "risk" if protect == "risk" else "link"))] = (
        True
    )
    return dead


def find_crossing_nodes(topology: Topology, metric: Ints, targets: Ints, dead: Bools) -> Bools:
    """Find the nodes some of whose shortest paths before a failure cross a dead arc, shape (T, N).

    True also where there is no path. Where false, the node is in the Q-space of the target, and the
    target in the P-space of the node.
    """
    distance = compute_distances(topology, metric, targets)
    on_shortest = find_equal_cost_arcs(topology, metric, distance)
    crosses = ~np.isfinite(distance)
    for row in range(len(targets)):
        for node in np.argsort(distance[row], kind="stable").tolist():
            crosses[row, node] |= any(
                on_shortest[row, arc] and (dead[arc] or crosses[row, int(topology.head[arc])])
                for arc in topology.arcs_from[node]
            )
    return crosses
