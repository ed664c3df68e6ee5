"""Why there is no path: the first constraint that cuts the source off, and the cut."""

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from trunkline.te.bounded import bounded
from trunkline.te.constraints import Constraints, coloured
from trunkline.te.spf import distances
from trunkline.te.topology import Bools, Ints, Topology

Reason = Literal[
    "disconnected", "disjoint", "colour", "bandwidth", "via", "hops", "delay", "bounds"
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which constraint cannot be met.

    Constraints are added in the order of `Reason`; the first after which no path is left is named.

    Parameters
    ----------
    reason : str
        ``disconnected`` (no path that is up), ``disjoint`` (none apart from the other path),
        ``colour``, ``bandwidth``, ``via``, ``hops``, ``delay``, or ``bounds``: hops and delay can
        each be met, but not together.
    cut : tuple of int
        Arcs that this constraint removed and any of which could join the two parts; empty where
        there is no such cut.
    best : int or None
        What could be had: the largest bandwidth in bit/s, the fewest hops, the least delay in
        nanoseconds. None for other reasons.
    """

    reason: Reason
    cut: tuple[int, ...] = ()
    best: int | None = None


def refuse(
    topology: Topology, source: int, target: int, asked: Constraints, free: Ints, usable: Bools
) -> Refusal:
    """Name the constraint that left no path.

    Parameters
    ----------
    source, target : int
        Nodes.
    asked : Constraints
        What was asked.
    free : array of int64, shape (E,)
        Unreserved bandwidth, bit/s.
    usable : array of bool, shape (E,)
        Arcs that are up.

    Returns
    -------
    Refusal
        Reason, cut and what could be had.
    """
    apart = np.ones(len(free), dtype=bool)
    apart[list(asked.avoid)] = False
    stages: tuple[tuple[Reason, Bools], ...] = (
        ("disconnected", usable),
        ("disjoint", apart),
        ("colour", coloured(topology, asked)),
        ("bandwidth", free >= asked.bandwidth),
    )
    kept = np.ones(len(free), dtype=bool)
    for reason, stage in stages:
        left = kept & stage
        cut = _cut(topology, source, target, left, kept)
        if cut is not None:
            best = _widest(topology, source, target, kept, free) if reason == "bandwidth" else None
            return Refusal(reason, cut, best)
        kept = left
    if asked.via and not _visits(topology, source, target, asked, kept):
        return Refusal("via")
    hops = _least(topology, source, target, asked, np.ones(len(free), dtype=np.int64), kept)
    delay = _least(topology, source, target, asked, topology.delay, kept)
    if asked.max_hops is not None and hops > asked.max_hops:
        return Refusal("hops", best=hops)
    if asked.max_delay is not None and delay > asked.max_delay:
        return Refusal("delay", best=delay)
    return Refusal("bounds")


def _cut(
    topology: Topology, source: int, target: int, left: Bools, before: Bools
) -> tuple[int, ...] | None:
    """Removed arcs on the border of what the source reaches or of what reaches the target."""
    ahead = _reach(topology, source, left)
    if ahead[target]:
        return None
    behind = np.isfinite(
        distances(topology, np.ones(len(left), dtype=np.int64), np.array([target]), left)[0]
    )
    gone = before & ~left
    near = np.flatnonzero(gone & ahead[topology.tail] & ~ahead[topology.head])
    far = np.flatnonzero(gone & behind[topology.head] & ~behind[topology.tail])
    return tuple(int(a) for a in (far if len(far) < len(near) else near))


def _reach(topology: Topology, source: int, left: Bools) -> Bools:
    seen = np.zeros(len(topology.nodes), dtype=bool)
    seen[source] = True
    stack = [source]
    while stack:
        for arc in topology.leaving[stack.pop()]:
            head = int(topology.head[arc])
            if left[arc] and not seen[head]:
                seen[head] = True
                stack.append(head)
    return seen


def _widest(topology: Topology, source: int, target: int, usable: Bools, free: Ints) -> int:
    """Largest bandwidth that some path has: Dijkstra with the least along a path for the sum."""
    heap = [(-int(free.max(initial=0)), source)]
    done: set[int] = set()
    while heap:
        width, node = heapq.heappop(heap)
        if node == target:
            return -width
        if node in done:
            continue
        done.add(node)
        for arc in topology.leaving[node]:
            if usable[arc]:
                heapq.heappush(heap, (max(width, -int(free[arc])), int(topology.head[arc])))
    return 0


def _ends(source: int, target: int, asked: Constraints) -> list[tuple[int, int, bool]]:
    nodes = [source, *(via.node for via in asked.via), target]
    strict = [*(via.strict for via in asked.via), False]
    return [
        (tail, head, next_to) for (tail, head), next_to in zip(pairwise(nodes), strict, strict=True)
    ]


def _visits(topology: Topology, source: int, target: int, asked: Constraints, kept: Bools) -> bool:
    """Whether a loop-free path through the nodes exists, bounds aside."""
    nodes = tuple((via.node, via.strict) for via in asked.via)
    ones = np.ones(len(kept))
    metric = np.ones(len(kept), dtype=np.int64)
    return bounded(topology, source, target, nodes, metric, kept, ones, (None, None)) is not None


def _least(
    topology: Topology, source: int, target: int, asked: Constraints, metric: Ints, kept: Bools
) -> int:
    """Minimum sum of a metric through the nodes to visit: a lower bound on what a path needs."""
    total = 0
    for tail, head, strict in _ends(source, target, asked):
        step = kept & (topology.tail == tail) & (topology.head == head) if strict else kept
        scaled = metric.astype(np.float64) + 1e-9
        away = distances(topology, scaled, np.array([head]), step)[0]
        total += round(float(away[tail]))
    return total
