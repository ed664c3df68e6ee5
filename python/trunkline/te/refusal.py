"""The reason why there is no path: the first constraint that cuts the source off, and the cut."""

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from trunkline.te.bounded_paths import find_bounded_path
from trunkline.te.path_constraints import PathConstraints, find_coloured_arcs
from trunkline.te.spf import compute_distances
from trunkline.te.topology import ArcPath, Bools, Ints, Topology

RefusalReason = Literal[
    "disconnected", "disjoint", "colour", "bandwidth", "via", "hops", "delay", "bounds"
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The constraint that cannot be met.

    Constraints are added in the order of `Reason`; the first after which no path is left is named.
    """

    # ``disconnected`` (no path that is up), ``disjoint`` (none disjoint from the other path),
    # ``colour``, ``bandwidth``, ``via``, ``hops``, ``delay``, or ``bounds``: hops and delay can
    # each be met, but not together.
    reason: RefusalReason
    # Arcs that this constraint removed and any of which could join the two parts; empty where there
    # is no such cut.
    cut: tuple[int, ...] = ()
    # The best possible value: the largest bandwidth in bit/s, the fewest hops, the least delay in
    # nanoseconds. None for other reasons.
    best: int | None = None
    # The path from which none is disjoint, if another route of it would leave one.
    partner: str = ""
    pair: tuple[ArcPath, ...] = ()  # That route of the partner, and the one that it would leave.


def explain_refusal(
    topology: Topology,
    source: int,
    target: int,
    constraints: PathConstraints,
    free: Ints,
    usable: Bools,
) -> Refusal:
    """Name the constraint that left no path, with the cut and the best possible value."""
    allowed = np.ones(len(free), dtype=bool)
    allowed[list(constraints.avoid)] = False
    stages: tuple[tuple[RefusalReason, Bools], ...] = (
        ("disconnected", usable),
        ("disjoint", allowed),
        ("colour", find_coloured_arcs(topology, constraints)),
        ("bandwidth", free >= constraints.bandwidth),
    )
    arcs_kept = np.ones(len(free), dtype=bool)
    for reason, stage in stages:
        left = arcs_kept & stage
        cut = _find_cut(topology, source, target, left, arcs_kept)
        if cut is not None:
            best = (
                _find_widest_bandwidth(topology, source, target, arcs_kept, free)
                if reason == "bandwidth"
                else None
            )
            return Refusal(reason, cut, best)
        arcs_kept = left
    if constraints.via and not _can_visit(topology, source, target, constraints, arcs_kept):
        return Refusal("via")
    hops = _find_least_sum(
        topology, source, target, constraints, np.ones(len(free), dtype=np.int64), arcs_kept
    )
    delay = _find_least_sum(topology, source, target, constraints, topology.delay, arcs_kept)
    if constraints.max_hops is not None and hops > constraints.max_hops:
        return Refusal("hops", best=hops)
    if constraints.max_delay is not None and delay > constraints.max_delay:
        return Refusal("delay", best=delay)
    return Refusal("bounds")


def _find_cut(
    topology: Topology, source: int, target: int, arcs_left: Bools, arcs_before: Bools
) -> tuple[int, ...] | None:
    """Find removed arcs at the border of the source's reach, or of those that reach the target."""
    reachable = _find_reachable_nodes(topology, source, arcs_left)
    if reachable[target]:
        return None
    reaches_target = np.isfinite(
        compute_distances(
            topology, np.ones(len(arcs_left), dtype=np.int64), np.array([target]), arcs_left
        )[0]
    )
    removed = arcs_before & ~arcs_left
    source_cut = np.flatnonzero(removed & reachable[topology.tail] & ~reachable[topology.head])
    target_cut = np.flatnonzero(
        removed & reaches_target[topology.head] & ~reaches_target[topology.tail]
    )
    return tuple(int(a) for a in (target_cut if len(target_cut) < len(source_cut) else source_cut))


def _find_reachable_nodes(topology: Topology, source: int, usable: Bools) -> Bools:
    seen = np.zeros(len(topology.nodes), dtype=bool)
    seen[source] = True
    stack = [source]
    while stack:
        for arc in topology.arcs_from[stack.pop()]:
            head = int(topology.head[arc])
            if usable[arc] and not seen[head]:
                seen[head] = True
                stack.append(head)
    return seen


def _find_widest_bandwidth(
    topology: Topology, source: int, target: int, usable: Bools, free: Ints
) -> int:
    """Find the largest bandwidth of any path: Dijkstra with the least along a path for the sum."""
    heap = [(-int(free.max(initial=0)), source)]
    done: set[int] = set()
    # The usable arcs join both nodes.
    while True:
        width, node = heapq.heappop(heap)
        if node == target:
            return -width
        if node in done:
            continue
        done.add(node)
        for arc in topology.arcs_from[node]:
            if usable[arc]:
                heapq.heappush(heap, (max(width, -int(free[arc])), int(topology.head[arc])))


def _list_sections(
    source: int, target: int, constraints: PathConstraints
) -> list[tuple[int, int, bool]]:
    nodes = [source, *(via.node for via in constraints.via), target]
    strict = [*(via.strict for via in constraints.via), False]
    return [
        (tail, head, next_to) for (tail, head), next_to in zip(pairwise(nodes), strict, strict=True)
    ]


def _can_visit(
    topology: Topology, source: int, target: int, constraints: PathConstraints, arcs_kept: Bools
) -> bool:
    """Test whether a loop-free path through the nodes exists, without bounds."""
    nodes = tuple((via.node, via.strict) for via in constraints.via)
    ones = np.ones(len(arcs_kept))
    metric = np.ones(len(arcs_kept), dtype=np.int64)
    return (
        find_bounded_path(topology, source, target, nodes, metric, arcs_kept, ones, (None, None))
        is not None
    )


def _find_least_sum(
    topology: Topology,
    source: int,
    target: int,
    constraints: PathConstraints,
    metric: Ints,
    arcs_kept: Bools,
) -> int:
    """Find the least sum of a metric through the nodes to visit, a lower bound for every path."""
    total = 0
    for tail, head, strict in _list_sections(source, target, constraints):
        step = (
            arcs_kept & (topology.tail == tail) & (topology.head == head) if strict else arcs_kept
        )
        scaled = metric.astype(np.float64) + 1e-9
        distance = compute_distances(topology, scaled, np.array([head]), step)[0]
        total += round(float(distance[tail]))
    return total
