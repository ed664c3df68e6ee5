"""Minimum metric under bounds on hops and delay: labels with dominance.

With two additive measures the problem is NP-hard (Garey and Johnson, ND30), so that the number of
labels is bounded. Labels are settled by metric, hops, least fill and names; one is dropped if
another at the same place is at least as good in metric, hops, delay and fill.

Source: M. Desrochers and F. Soumis, A Generalized Permanent Labelling Algorithm for the Shortest
Path Problem with Time Windows, INFOR 26(3), 1988.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from trunkline.te.topology import Bools, Floats, Ints, Path, Topology

MOST_LABELS = 100_000
"""Labels settled before the search gives up."""


class TooManyLabels(ValueError):
    """The bounds leave too many ways to compare."""


@dataclass(frozen=True, slots=True)
class _Label:
    metric: int
    hops: int
    delay: int
    fill: float
    names: tuple[tuple[int, str], ...]
    path: Path
    nodes: frozenset[int]

    def key(self) -> tuple[int, int, float, tuple[tuple[int, str], ...]]:
        return self.metric, self.hops, -self.fill, self.names

    def covers(self, other: _Label) -> bool:
        return (
            self.metric <= other.metric
            and self.hops <= other.hops
            and self.delay <= other.delay
            and self.fill >= other.fill
        )


def bounded(
    topology: Topology,
    source: int,
    target: int,
    via: tuple[tuple[int, bool], ...],
    metric: Ints,
    usable: Bools,
    ratio: Floats,
    most: tuple[int | None, int | None],
) -> Path | None:
    """Loop-free path of least metric within bounds.

    Parameters
    ----------
    source, target : int
        Nodes; different.
    via : tuple of (int, bool)
        Nodes to visit in this order, and whether each must be the next node.
    metric : array of int64, shape (E,)
        Cost of each arc.
    usable : array of bool, shape (E,)
        Arcs that may be used.
    ratio : array of float64, shape (E,)
        Unreserved over reservable bandwidth, for ties.
    most : (int or None, int or None)
        Bounds on hops and on delay in nanoseconds.

    Returns
    -------
    tuple of int or None
        Arcs; none if no path is within the bounds.

    Raises
    ------
    TooManyLabels
        More than 100,000 labels were settled.
    """
    ends = (*via, (target, False))
    waiting = {node for node, _ in ends}
    start = _Label(0, 0, 0, float("inf"), (), (), frozenset({source}))
    met = _met(ends, 0, source)
    heap = [(start.key(), met, source, 0, start)]
    settled: dict[tuple[int, int], list[_Label]] = {}
    pushed = count = 0
    while heap:
        _, stage, node, _, label = heapq.heappop(heap)
        if stage == len(ends):
            return label.path
        if any(known.covers(label) for known in settled.get((stage, node), ())):
            continue
        settled.setdefault((stage, node), []).append(label)
        count += 1
        if count > MOST_LABELS:
            raise TooManyLabels(
                f"more than {MOST_LABELS:,} partial paths are within the bounds on hops and delay "
                f"from {topology.nodes[source]} to {topology.nodes[target]}"
            )
        wanted, strict = ends[stage]
        for arc in topology.leaving[node]:
            head = int(topology.head[arc])
            if not usable[arc] or head in label.nodes or (head != wanted and head in waiting):
                continue
            if strict and head != wanted:
                continue
            longer = _longer(topology, label, arc, int(metric[arc]), float(ratio[arc]))
            if _over(longer, most):
                continue
            pushed += 1
            further = _met(ends, stage, head)
            heapq.heappush(heap, (longer.key(), further, head, pushed, longer))
    return None


def _met(ends: tuple[tuple[int, bool], ...], stage: int, node: int) -> int:
    """The stage that a path is in when it has come to a node: it may be named twice in a row."""
    while stage < len(ends) and ends[stage][0] == node:
        stage += 1
    return stage


def _longer(topology: Topology, label: _Label, arc: int, metric: int, ratio: float) -> _Label:
    head = int(topology.head[arc])
    return _Label(
        label.metric + metric,
        label.hops + 1,
        label.delay + int(topology.delay[arc]),
        min(label.fill, ratio),
        (*label.names, (int(topology.rank[head]), topology.arcs[arc].name)),
        (*label.path, arc),
        label.nodes | {head},
    )


def _over(label: _Label, most: tuple[int | None, int | None]) -> bool:
    hops, delay = most
    return (hops is not None and label.hops > hops) or (delay is not None and label.delay > delay)
