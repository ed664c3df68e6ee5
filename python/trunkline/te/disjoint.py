"""Pairs of disjoint paths of least total cost.

Links and nodes: Bhandari's form of Suurballe's algorithm, which finds the best pair wherever there
is one. Taking a shortest path and then a second beside it can fail where a pair exists. Shared
risks: the problem is NP-hard (Hu 2003), so that shortest paths are tried in order of cost and the
pair is the best one found; where none is, that there is none is not proven unless every path was
tried.

Sources: J. W. Suurballe, Disjoint Paths in a Network, Networks 4(2), 1974; R. Bhandari, Survivable
Networks, 1999; J. Q. Hu, Diverse Routing in Optical Mesh Networks, IEEE Trans. Communications
51(3), 2003.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trunkline.te.cspf import shortest
from trunkline.te.topology import Bools, Ints, Path, Topology
from trunkline.te.yen import k_shortest

Apart = Literal["link", "node", "risk"]
_Edge = tuple[int, int, int, int]
"""Tail, head, cost and label: the arc, or minus one minus the node for the inside of a node."""
TRIES = 64
"""Shortest paths that are tried as the first of a pair that shares no risk."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two disjoint paths, the cheaper one first.

    Parameters
    ----------
    first, second : tuple of int
        Arcs.
    cost : int
        Sum over both.
    best : bool
        Whether no pair costs less; not known for shared risks, unless all paths were tried.
    """

    first: Path
    second: Path
    cost: int
    best: bool


def sharing(topology: Topology, path: Path, kind: Apart) -> frozenset[int]:
    """Arcs that a disjoint path must avoid.

    Parameters
    ----------
    path : tuple of int
        The path to keep away from.
    kind : {"link", "node", "risk"}
        Its links in both directions; also all links at its nodes, the ends apart; also all links
        that share a risk with one of its own.

    Returns
    -------
    frozenset of int
        Arcs.
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


def disjoint_pair(
    topology: Topology,
    source: int,
    target: int,
    metric: Ints,
    kind: Apart = "link",
    usable: Bools | None = None,
) -> Pair | None:
    """Two disjoint paths of least total cost.

    Parameters
    ----------
    source, target : int
        Nodes; different.
    metric : array of int64, shape (E,)
        Cost of each arc, 1 or more.
    kind : {"link", "node", "risk"}
        What they do not share. Parallel links count as different links.
    usable : array of bool, shape (E,), optional
        Arcs that may be used.

    Returns
    -------
    Pair or None
        None if no pair was found; for links and nodes there is none then.
    """
    up = np.ones(len(metric), dtype=bool) if usable is None else usable
    if kind == "risk":
        return _by_trial(topology, source, target, metric, up)
    ways = _bhandari(topology, source, target, metric, up, by_node=kind == "node")
    if ways is None:
        return None
    first, second = sorted(ways, key=lambda way: (_cost(metric, way), topology.along(way)))
    return Pair(first, second, _cost(metric, first) + _cost(metric, second), best=True)


def _cost(metric: Ints, path: Path) -> int:
    return int(metric[list(path)].sum())


def _by_trial(topology: Topology, source: int, target: int, metric: Ints, up: Bools) -> Pair | None:
    best: Pair | None = None
    ones = np.ones(len(metric))
    tried = 0
    for first in k_shortest(topology, source, target, metric, TRIES, up):
        tried += 1
        lower = _cost(metric, first)
        if best is not None and 2 * lower >= best.cost:
            return Pair(best.first, best.second, best.cost, best=True)
        left = up.copy()
        left[list(sharing(topology, first, "risk"))] = False
        second = shortest(topology, source, target, metric, left, ones)
        if second is None:
            continue
        cost = lower + _cost(metric, second)
        if best is None or cost < best.cost:
            ways = sorted((first, second), key=lambda way: (_cost(metric, way), way))
            best = Pair(ways[0], ways[1], cost, best=False)
    if best is not None and tried < TRIES:
        return Pair(best.first, best.second, best.cost, best=True)
    return best


def _bhandari(
    topology: Topology, source: int, target: int, metric: Ints, up: Bools, *, by_node: bool
) -> tuple[Path, Path] | None:
    """Two runs of Bellman-Ford: the second may cancel arcs of the first at their negative cost.

    For node-disjoint pairs each node is split: state 2n is where arcs arrive, 2n + 1 where they
    leave; without the split the two are one.
    """

    def into(node: int) -> int:
        return 2 * node

    def out(node: int) -> int:
        return 2 * node + (by_node and node not in (source, target))

    edges: list[_Edge] = [
        (out(int(topology.tail[a])), into(int(topology.head[a])), int(metric[a]), int(a))
        for a in np.flatnonzero(up)
    ]
    if by_node:
        inner = (n for n in range(len(topology.nodes)) if n not in (source, target))
        edges += [(into(n), out(n), 0, -1 - n) for n in inner]
    first = _bellman_ford(edges, out(source), into(target))
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
    second = _bellman_ford(residual, out(source), into(target))
    if second is None:
        return None
    cancelled = used & {edge[3] for edge in second}
    kept = (used | {edge[3] for edge in second}) - cancelled
    return _walks(topology, source, target, {arc for arc in kept if arc >= 0})


def _bellman_ford(edges: list[_Edge], source: int, target: int) -> list[_Edge] | None:
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
            far = cost[node] + edge[2]
            if edge[1] not in cost or far < cost[edge[1]]:
                cost[edge[1]] = far
                last[edge[1]] = edge
                if edge[1] not in waiting:
                    waiting.add(edge[1])
                    queue.append(edge[1])
    if target not in last:
        return None
    way = []
    while target != source:
        way.append(last[target])
        target = last[target][0]
    return way[::-1]


def _walks(topology: Topology, source: int, target: int, arcs: set[int]) -> tuple[Path, Path]:
    """Take two paths from a set of arcs that holds exactly these."""
    left = sorted(
        arcs, key=lambda arc: (topology.rank[topology.head[arc]], topology.arcs[arc].name)
    )
    ways: list[Path] = []
    for _ in range(2):
        way: list[int] = []
        node = source
        while node != target:
            arc = next(arc for arc in left if topology.tail[arc] == node)
            left.remove(arc)
            way.append(arc)
            node = int(topology.head[arc])
        ways.append(tuple(way))
    return ways[0], ways[1]
