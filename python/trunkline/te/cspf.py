"""Constrained shortest path first: one path that meets all constraints (RFC 2702, RFC 3209).

Links that cannot serve are pruned, then the path of least metric is taken. These rules decide ties,
in this order: fewer hops; the larger least ratio of unreserved to reservable bandwidth along the
path, before the request (least fill); names of the nodes along the path in alphabetical order, then
of the links. The result does not depend on the order of declaration.
"""

from dataclasses import dataclass

import numpy as np

from trunkline.te.bounded_paths import find_bounded_path
from trunkline.te.path_constraints import PathConstraints, ViaNode, find_permitted_arcs
from trunkline.te.refusal import Refusal, explain_refusal
from trunkline.te.spf import MAX_EXACT_COST, compute_distances
from trunkline.te.topology import ArcPath, Bools, Floats, Ints, Topology


@dataclass(frozen=True, slots=True)
class ConstrainedPath:
    """A path found, with its sums.

    ``fill`` is the least ratio of unreserved to reservable bandwidth along it, before it was
    placed.
    """

    path: ArcPath
    metric: int
    delay: int
    fill: float

    @property
    def hops(self) -> int:
        """Number of links."""
        return len(self.path)


def find_constrained_path(
    topology: Topology,
    source: int,
    target: int,
    constraints: PathConstraints,
    free: Ints,
    usable: Bools | None = None,
) -> ConstrainedPath | Refusal:
    """Find the path that a head end would compute.

    Returns: The path, or the constraint that cannot be met with the cut that shows it.
    """
    arcs_up = np.ones(len(free), dtype=bool) if usable is None else usable
    usable_arcs = find_permitted_arcs(topology, constraints, arcs_up) & (
        free >= constraints.bandwidth
    )
    ratio = free / np.maximum(topology.reservable, 1)
    metric = topology.get_metric(constraints.metric)
    path = _find_path_via(topology, source, target, constraints.via, metric, usable_arcs, ratio)
    if path is not None and not _meets_bounds(topology, path, constraints):
        path = None
    bounded = constraints.max_hops is not None or constraints.max_delay is not None
    if path is None and (bounded or constraints.via):
        nodes = tuple((via.node, via.strict) for via in constraints.via)
        bounds = (constraints.max_hops, constraints.max_delay)
        path = find_bounded_path(
            topology, source, target, nodes, metric, usable_arcs, ratio, bounds
        )
    if path is None:
        return explain_refusal(topology, source, target, constraints, free, arcs_up)
    arcs = np.array(path)
    return ConstrainedPath(
        path, int(metric[arcs].sum()), int(topology.delay[arcs].sum()), float(ratio[arcs].min())
    )


def _meets_bounds(topology: Topology, path: ArcPath, constraints: PathConstraints) -> bool:
    delay = int(topology.delay[list(path)].sum())
    return (constraints.max_hops is None or len(path) <= constraints.max_hops) and (
        constraints.max_delay is None or delay <= constraints.max_delay
    )


def _find_path_via(
    topology: Topology,
    source: int,
    target: int,
    via: tuple[ViaNode, ...],
    metric: Ints,
    usable: Bools,
    ratio: Floats,
) -> ArcPath | None:
    """Join shortest paths from one node to the next without visiting a node twice."""
    path: list[int] = []
    current = source
    visited = {source}
    stops = [*via, ViaNode(target)]
    stop_nodes = [stop.node for stop in stops]
    for number, stop in enumerate(stops):
        if stop.node in visited - {current}:
            return None
        section_arcs = usable
        if len(stops) > 1:
            section_arcs = usable.copy()
            closed = (visited | set(stop_nodes[number + 1 :])) - {current, stop.node}
            section_arcs &= ~np.isin(topology.head, list(closed)) & (topology.head != current)
        if stop.strict:
            section_arcs = section_arcs & (topology.tail == current) & (topology.head == stop.node)
        section = find_shortest_path(topology, current, stop.node, metric, section_arcs, ratio)
        if section is None:
            return None
        path.extend(section)
        visited.update(int(topology.head[a]) for a in section)
        current = stop.node
    return tuple(path)


def find_shortest_path(
    topology: Topology, source: int, target: int, metric: Ints, usable: Bools, ratio: Floats
) -> ArcPath | None:
    """Find the path of least metric with the ties above, or None; no other constraint counts.

    Raises ValueError: Metrics are so large that their sums would not be exact.
    """
    weight = combine_metric_and_hops(topology, metric)
    distance = compute_distances(topology, weight, np.array([target]), usable)[0]
    if not np.isfinite(distance[source]):
        return None
    on_shortest = usable & (distance[topology.head] + weight == distance[topology.tail])
    width = _compute_widths(topology, source, target, on_shortest, distance, ratio)
    path: list[int] = []
    node = source
    while node != target:
        arc = min(
            (
                arc
                for arc in topology.arcs_from[node]
                if on_shortest[arc]
                and min(ratio[arc], width[int(topology.head[arc])]) >= width[source]
            ),
            key=lambda arc: (topology.rank[topology.head[arc]], topology.arcs[arc].name),
        )
        path.append(arc)
        node = int(topology.head[arc])
    return tuple(path)


def combine_metric_and_hops(topology: Topology, metric: Ints) -> Ints:
    """Combine metric and hops into one cost: the metric times a power of two above N, plus one.

    Raises ValueError: Sums along a path could pass 2^53.
    """
    count = len(topology.nodes)
    scale = 1 << count.bit_length()
    if metric.size and (int(metric.max()) * scale + 1) * count >= MAX_EXACT_COST:
        raise ValueError(f"a metric of {metric.max()} is too large for {count} nodes")
    return metric * scale + 1


def _compute_widths(
    topology: Topology,
    source: int,
    target: int,
    on_shortest: Bools,
    distance: Floats,
    ratio: Floats,
) -> dict[int, float]:
    """Compute the widest path to the target over equal-cost arcs from each reachable node."""
    seen = {source}
    stack = [source]
    while stack:
        for arc in topology.arcs_from[stack.pop()]:
            head = int(topology.head[arc])
            if on_shortest[arc] and head not in seen:
                seen.add(head)
                stack.append(head)
    width = {target: float("inf")}
    for node in sorted(seen - {target}, key=lambda n: float(distance[n])):
        width[node] = max(
            min(float(ratio[arc]), width[int(topology.head[arc])])
            for arc in topology.arcs_from[node]
            if on_shortest[arc]
        )
    return width
