"""Paths of least metric under bounds on hops and delay: labels with dominance.

With two additive measures the problem is NP-hard (Garey and Johnson, ND30), so the number of labels
is bounded. Labels are settled by metric, hops, least fill and names. A label is dropped if another
one at the same place is at least as good in metric, hops, delay and fill, and comes first by name
if metric and hops are the same.

Source: M. Desrochers and F. Soumis, A Generalized Permanent Labelling Algorithm for the Shortest
Path Problem with Time Windows, INFOR 26(3), 1988.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

from trunkline.te.topology import ArcPath, Bools, Floats, Ints, Topology

MAX_LABELS = 100_000  # Labels settled before the search gives up.


class TooManyLabels(ValueError):
    """The bounds leave too many paths to compare."""


@dataclass(frozen=True, slots=True)
class _PathLabel:
    metric: int
    hops: int
    delay: int
    fill: float
    names: tuple[tuple[int, str], ...]
    path: ArcPath
    nodes: frozenset[int]

    def sort_key(self) -> tuple[int, int, float, tuple[tuple[int, str], ...]]:
        return self.metric, self.hops, -self.fill, self.names

    def dominates(self, other: _PathLabel) -> bool:
        return (
            self.metric <= other.metric
            and self.hops <= other.hops
            and self.delay <= other.delay
            and self.fill >= other.fill
            # An arc that follows may be fuller than both paths: names then decide.
            and (
                (self.metric, self.hops) != (other.metric, other.hops) or self.names <= other.names
            )
        )


def find_bounded_path(
    topology: Topology,
    source: int,
    target: int,
    via: tuple[tuple[int, bool], ...],
    metric: Ints,
    usable: Bools,
    ratio: Floats,
    bounds: tuple[int | None, int | None],
) -> ArcPath | None:
    """Find the loop-free path of least metric within bounds; None if there is none.

    via: Nodes to visit in this order, and whether each must be the next node.
    bounds: Bounds on hops and on delay in nanoseconds.
    Raises TooManyLabels: More than 100,000 labels were settled.
    """
    stops = (*via, (target, False))
    pending_stops = {node for node, _ in stops}
    start = _PathLabel(0, 0, 0, float("inf"), (), (), frozenset({source}))
    met = _met(stops, 0, source)
    # Of labels that are alike the first one comes first.
    number = itertools.count()
    heap = [(start.sort_key(), met, source, next(number), start)]
    settled: dict[tuple[int, int], list[_PathLabel]] = {}
    count = 0
    while heap:
        _, stage, node, _, label = heapq.heappop(heap)
        if stage == len(stops):
            return label.path
        if any(known.dominates(label) for known in settled.get((stage, node), ())):
            continue
        settled.setdefault((stage, node), []).append(label)
        count += 1
        if count > MAX_LABELS:
            raise TooManyLabels(
                f"more than {MAX_LABELS:,} partial paths are within the bounds on hops and delay "
                f"from {topology.nodes[source]} to {topology.nodes[target]}"
            )
        next_stop, strict = stops[stage]
        for arc in topology.arcs_from[node]:
            head = int(topology.head[arc])
            if (
                not usable[arc]
                or head in label.nodes
                or (head != next_stop and head in pending_stops)
            ):
                continue
            if strict and head != next_stop:
                continue
            extended = _extend_label(topology, label, arc, int(metric[arc]), float(ratio[arc]))
            if _exceeds_bounds(extended, bounds):
                continue
            next_stage = _met(stops, stage, head)
            heapq.heappush(heap, (extended.sort_key(), next_stage, head, next(number), extended))
    return None


def _met(ends: tuple[tuple[int, bool], ...], stage: int, node: int) -> int:
    """Return the stage of a path that has arrived at a node, which may be named twice in a row."""
    while stage < len(ends) and ends[stage][0] == node:
        stage += 1
    return stage


def _extend_label(
    topology: Topology, label: _PathLabel, arc: int, metric: int, ratio: float
) -> _PathLabel:
    head = int(topology.head[arc])
    return _PathLabel(
        label.metric + metric,
        label.hops + 1,
        label.delay + int(topology.delay[arc]),
        min(label.fill, ratio),
        (*label.names, (int(topology.rank[head]), topology.arcs[arc].name)),
        (*label.path, arc),
        label.nodes | {head},
    )


def _exceeds_bounds(label: _PathLabel, bounds: tuple[int | None, int | None]) -> bool:
    hops, delay = bounds
    return (hops is not None and label.hops > hops) or (delay is not None and label.delay > delay)
