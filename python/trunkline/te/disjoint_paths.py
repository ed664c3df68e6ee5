"""Pairs of disjoint paths of least total cost.

Links and nodes: Bhandari's form of Suurballe's algorithm, which finds the best pair if one exists.
A shortest path and then a second one disjoint from it can fail where a pair exists. Shared risks:
the problem is NP-hard (Hu 2003), so shortest paths are tried in order of cost, and the pair is the
best one found. If none is found, this proves that none exists only if every path was tried.

Sources: J. W. Suurballe, Disjoint Paths in a Network, Networks 4(2), 1974; R. Bhandari, Survivable
Networks, 1999; J. Q. Hu, Diverse Routing in Optical Mesh Networks, IEEE Trans. Communications
51(3), 2003.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trunkline.te.cspf import find_shortest_path
from trunkline.te.k_shortest_paths import find_k_shortest_paths
from trunkline.te.topology import ArcPath, Bools, Ints, Topology

Disjointness = Literal["link", "node", "risk"]
_Edge = tuple[int, int, int, int]
"""Tail, head, cost and label: the arc, or minus one minus the node for the inside of a node."""
MAX_FIRST_PATHS = 64  # Shortest paths that are tried as the first of a pair that shares no risk.


@dataclass(frozen=True, slots=True)
class DisjointPair:
    """Two disjoint paths, the cheaper one first, with the sum of their costs.

    ``is_optimal``: no pair costs less. For shared risks this is known only if all paths were tried.
    """

    first: ArcPath
    second: ArcPath
    cost: int
    is_optimal: bool


def find_shared_arcs(topology: Topology, path: ArcPath, kind: Disjointness) -> frozenset[int]:
    """Find the arcs that a path disjoint from the given one must avoid.

    For ``"link"`` these are its links in both directions; for ``"node"`` also all links at its
    inner nodes; for ``"risk"`` also all links that share a risk with one of its links.
    """
    arcs = list(path)
    mask = np.isin(topology.link, topology.link[arcs])
    if kind == "node":
        inner = topology.head[arcs[:-1]]
        mask |= np.isin(topology.head, inner) | np.isin(topology.tail, inner)
    if kind == "risk":
        risks = {risk for arc in arcs for risk in topology.arcs[arc].risks}
        mask |= np.array([bool(arc.risks & risks) for arc in topology.arcs])
    return frozenset(int(arc) for arc in np.flatnonzero(mask))


def find_disjoint_pair(
    topology: Topology,
    source: int,
    target: int,
    metric: Ints,
    kind: Disjointness = "link",
    usable: Bools | None = None,
) -> DisjointPair | None:
    """Find two disjoint paths of least total cost. Parallel links count as different links.

    None means that no pair was found; for links and nodes, that no pair exists.
    """
    arcs_up = np.ones(len(metric), dtype=bool) if usable is None else usable
    if kind == "risk":
        return _find_pair_by_trial(topology, source, target, metric, arcs_up)
    paths = _find_pair_bhandari(topology, source, target, metric, arcs_up, by_node=kind == "node")
    if paths is None:
        return None
    first, second = sorted(
        paths, key=lambda path: (_sum_metric(metric, path), topology.list_node_names(path))
    )
    return DisjointPair(
        first, second, _sum_metric(metric, first) + _sum_metric(metric, second), is_optimal=True
    )


def _sum_metric(metric: Ints, path: ArcPath) -> int:
    return int(metric[list(path)].sum())


def _find_pair_by_trial(
    topology: Topology, source: int, target: int, metric: Ints, arcs_up: Bools
) -> DisjointPair | None:
    best: DisjointPair | None = None
    ones = np.ones(len(metric))
    for first in find_k_shortest_paths(topology, source, target, metric, MAX_FIRST_PATHS, arcs_up):
        lower = _sum_metric(metric, first)
        if best is not None and 2 * lower >= best.cost:
            return DisjointPair(best.first, best.second, best.cost, is_optimal=True)
        left = arcs_up.copy()
        left[list(find_shared_arcs(topology, first, "risk"))] = False
        second = find_shortest_path(topology, source, target, metric, left, ones)
        if second is None:
            continue
        cost = lower + _sum_metric(metric, second)
        if best is None or cost < best.cost:
            paths = sorted((first, second), key=lambda path: (_sum_metric(metric, path), path))
            best = DisjointPair(paths[0], paths[1], cost, is_optimal=False)
    # Had all paths been tried, the dearer one of the best pair would have ended the search.
    return best


def _find_pair_bhandari(
    topology: Topology, source: int, target: int, metric: Ints, arcs_up: Bools, *, by_node: bool
) -> tuple[ArcPath, ArcPath] | None:
    """Run Bellman-Ford twice: the second run may cancel arcs of the first at their negative cost.

    For node-disjoint pairs each node is split: arcs arrive at state 2n and leave from 2n + 1.
    Without the split the two are one.
    """

    def into(node: int) -> int:
        return 2 * node

    def out(node: int) -> int:
        return 2 * node + (by_node and node not in (source, target))

    edges: list[_Edge] = [
        (out(int(topology.tail[a])), into(int(topology.head[a])), int(metric[a]), int(a))
        for a in np.flatnonzero(arcs_up)
    ]
    if by_node:
        inner = (n for n in range(len(topology.nodes)) if n not in (source, target))
        edges += [(into(n), out(n), 0, -1 - n) for n in inner]
    first = _find_path_bellman_ford(edges, out(source), into(target))
    if first is None:
        return None
    used = {edge[3] for edge in first}
    links = {int(topology.link[arc]) for arc in used if arc >= 0}
    residual = [
        edge
        for edge in edges
        if edge[3] not in used and (edge[3] < 0 or int(topology.link[edge[3]]) not in links)
    ]
    residual += [(head, tail, -cost, label) for tail, head, cost, label in first]
    second = _find_path_bellman_ford(residual, out(source), into(target))
    if second is None:
        return None
    cancelled = used & {edge[3] for edge in second}
    pair_arcs = (used | {edge[3] for edge in second}) - cancelled
    return _separate_paths(topology, source, target, {arc for arc in pair_arcs if arc >= 0})


def _find_path_bellman_ford(edges: list[_Edge], source: int, target: int) -> list[_Edge] | None:
    leaving: dict[int, list[_Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge[0], []).append(edge)
    cost = {source: 0}
    last: dict[int, _Edge] = {}
    queue = [source]
    waiting = {source}
    for node in queue:
        waiting.discard(node)
        for edge in leaving.get(node, ()):
            new_cost = cost[node] + edge[2]
            if edge[1] not in cost or new_cost < cost[edge[1]]:
                cost[edge[1]] = new_cost
                last[edge[1]] = edge
                if edge[1] not in waiting:
                    waiting.add(edge[1])
                    queue.append(edge[1])
    if target not in last:
        return None
    path = []
    while target != source:
        path.append(last[target])
        target = last[target][0]
    return path[::-1]


def _separate_paths(
    topology: Topology, source: int, target: int, arcs: set[int]
) -> tuple[ArcPath, ArcPath]:
    """Separate the two paths that a set of arcs consists of."""
    left = sorted(
        arcs, key=lambda arc: (topology.rank[topology.head[arc]], topology.arcs[arc].name)
    )
    paths: list[ArcPath] = []
    for _ in range(2):
        path: list[int] = []
        node = source
        while node != target:
            arc = next(arc for arc in left if topology.tail[arc] == node)
            left.remove(arc)
            path.append(arc)
            node = int(topology.head[arc])
        paths.append(tuple(path))
    return paths[0], paths[1]
