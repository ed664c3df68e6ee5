"""Constrained shortest path first: one path that satisfies what is asked (RFC 2702, RFC 3209).

Links that cannot serve are pruned, then the path of least metric is taken. Ties are decided by, in
this order: fewer hops; the larger least ratio of unreserved to reservable bandwidth along the path,
before the request (least fill); names of the nodes along the path in alphabetical order, then of
the links. The result does not depend on the order of declaration.
"""

from dataclasses import dataclass

import numpy as np

from trunkline.te.bounded import bounded
from trunkline.te.constraints import Constraints, Via, permitted
from trunkline.te.refusal import Refusal, refuse
from trunkline.te.spf import LARGEST, distances
from trunkline.te.topology import Bools, Floats, Ints, Path, Topology


@dataclass(frozen=True, slots=True)
class Route:
    """A path found.

    Parameters
    ----------
    path : tuple of int
        Arcs.
    metric : int
        Sum of the metric asked for.
    delay : int
        Propagation, nanoseconds.
    fill : float
        Minimum ratio of unreserved to reservable bandwidth along it, before it was placed.
    """

    path: Path
    metric: int
    delay: int
    fill: float

    @property
    def hops(self) -> int:
        """Number of links."""
        return len(self.path)


def cspf(
    topology: Topology,
    source: int,
    target: int,
    asked: Constraints,
    free: Ints,
    usable: Bools | None = None,
) -> Route | Refusal:
    """Find the path that a head end would compute.

    Parameters
    ----------
    source, target : int
        Nodes; different.
    asked : Constraints
        What must hold.
    free : array of int64, shape (E,)
        Unreserved bandwidth for the class type and setup priority, bit/s.
    usable : array of bool, shape (E,), optional
        Arcs that are up; all by default.

    Returns
    -------
    Route or Refusal
        The path, or which constraint cannot be met and the cut that shows it.
    """
    up = np.ones(len(free), dtype=bool) if usable is None else usable
    kept = permitted(topology, asked, up) & (free >= asked.bandwidth)
    ratio = free / np.maximum(topology.reservable, 1)
    metric = topology.metric(asked.metric)
    path = _through(topology, source, target, asked.via, metric, kept, ratio)
    if path is not None and not _within(topology, path, asked):
        path = None
    if path is None and (asked.max_hops is not None or asked.max_delay is not None):
        nodes = tuple((via.node, via.strict) for via in asked.via)
        most = (asked.max_hops, asked.max_delay)
        path = bounded(topology, source, target, nodes, metric, kept, ratio, most)
    if path is None:
        return refuse(topology, source, target, asked, free, up)
    arcs = np.array(path)
    return Route(
        path, int(metric[arcs].sum()), int(topology.delay[arcs].sum()), float(ratio[arcs].min())
    )


def _within(topology: Topology, path: Path, asked: Constraints) -> bool:
    delay = int(topology.delay[list(path)].sum())
    return (asked.max_hops is None or len(path) <= asked.max_hops) and (
        asked.max_delay is None or delay <= asked.max_delay
    )


def _through(
    topology: Topology,
    source: int,
    target: int,
    via: tuple[Via, ...],
    metric: Ints,
    kept: Bools,
    ratio: Floats,
) -> Path | None:
    """Shortest paths from one node to the next, without meeting a node twice."""
    path: list[int] = []
    at = source
    barred = {source}
    ends = [*via, Via(target)]
    later = [end.node for end in ends]
    for number, end in enumerate(ends):
        if end.node in barred - {at}:
            return None
        left = kept
        if len(ends) > 1:
            left = kept.copy()
            shut = (barred | set(later[number + 1 :])) - {at, end.node}
            left &= ~np.isin(topology.head, list(shut)) & (topology.head != at)
        if end.strict:
            left = left & (topology.tail == at) & (topology.head == end.node)
        run = shortest(topology, at, end.node, metric, left, ratio)
        if run is None:
            return None
        path.extend(run)
        barred.update(int(topology.head[a]) for a in run)
        at = end.node
    return tuple(path)


def shortest(
    topology: Topology, source: int, target: int, metric: Ints, usable: Bools, ratio: Floats
) -> Path | None:
    """Path of least metric with the documented ties and no other constraint.

    Parameters
    ----------
    source, target : int
        Nodes; different.
    metric : array of int64, shape (E,)
        Cost of each arc, 1 or more.
    usable : array of bool, shape (E,)
        Arcs that may be used.
    ratio : array of float64, shape (E,)
        Unreserved over reservable bandwidth.

    Returns
    -------
    tuple of int or None
        Arcs; none if there is no path.

    Raises
    ------
    ValueError
        Metrics so large that their sums would not be exact.
    """
    weight = with_hops(topology, metric)
    away = distances(topology, weight, np.array([target]), usable)[0]
    if not np.isfinite(away[source]):
        return None
    on = usable & (away[topology.head] + weight == away[topology.tail])
    width = _widths(topology, source, target, on, away, ratio)
    path: list[int] = []
    node = source
    while node != target:
        arc = min(
            (
                arc
                for arc in topology.leaving[node]
                if on[arc] and min(ratio[arc], width[int(topology.head[arc])]) >= width[source]
            ),
            key=lambda arc: (topology.rank[topology.head[arc]], topology.arcs[arc].name),
        )
        path.append(arc)
        node = int(topology.head[arc])
    return tuple(path)


def with_hops(topology: Topology, metric: Ints) -> Ints:
    """One cost that orders paths by metric and, where equal, by hops.

    Parameters
    ----------
    metric : array of int64, shape (E,)
        Cost of each arc.

    Returns
    -------
    array of int64, shape (E,)
        The metric times a power of two above N, plus one.

    Raises
    ------
    ValueError
        Sums along a path could pass 2^53.
    """
    count = len(topology.nodes)
    scale = 1 << count.bit_length()
    if metric.size and (int(metric.max()) * scale + 1) * count >= LARGEST:
        raise ValueError(f"a metric of {metric.max()} is too large for {count} nodes")
    return metric * scale + 1


def _widths(
    topology: Topology, source: int, target: int, on: Bools, away: Floats, ratio: Floats
) -> dict[int, float]:
    """Widest way to the target over equal-cost arcs, from every node that the source can reach."""
    seen = {source}
    stack = [source]
    while stack:
        for arc in topology.leaving[stack.pop()]:
            head = int(topology.head[arc])
            if on[arc] and head not in seen:
                seen.add(head)
                stack.append(head)
    width = {target: float("inf")}
    for node in sorted(seen - {target}, key=lambda n: float(away[n])):
        width[node] = max(
            min(float(ratio[arc]), width[int(topology.head[arc])])
            for arc in topology.leaving[node]
            if on[arc]
        )
    return width
