"""Shortest paths towards destinations, their equal-cost graphs, and the loads that follow.

Distances come from Dijkstra's algorithm in SciPy, for many destinations at once. Metrics are
integers and sums stay below 2^53, so that equality of cost is exact.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from trunkline.te.topology import ArcPath, Bools, Floats, Ints, Topology

MAX_EXACT_COST = 1 << 53  # Path costs stay below it, where floats are exact.


def compute_distances(
    topology: Topology,
    metric: Ints | Floats,
    targets: Ints | None = None,
    usable: Bools | None = None,
) -> Floats:
    """Compute the cost of the cheapest path from every node to some destinations.

    The result has shape (T, N) and is infinite where there is no path. ``targets`` are all nodes by
    default.
    """
    count = len(topology.nodes)
    values = np.where(True if usable is None else usable, metric, np.inf)
    order, starts = topology.by_head, topology.head_start
    backward = csr_array((values[order], topology.tail[order], starts), shape=(count, count))
    destinations = np.arange(count) if targets is None else targets
    found: Floats = dijkstra(backward, indices=destinations)
    return found


def list_distances_to(topology: Topology, metric: Ints | Floats, target: int) -> list[float]:
    """List the cost of the cheapest path from every node to the target; infinite without one."""
    found: list[float] = compute_distances(topology, metric, np.array([target]))[0].tolist()
    return found


def find_equal_cost_arcs(
    topology: Topology, metric: Ints | Floats, distance: Floats, usable: Bools | None = None
) -> Bools:
    """Find the arcs on some shortest path to each destination, shape (T, E).

    ``distance`` comes from `compute_distances` with the same metric and arcs.
    """
    tail, head = distance[:, topology.tail], distance[:, topology.head]
    on_shortest: Bools = np.isfinite(head) & (head + metric == tail)
    return on_shortest if usable is None else on_shortest & usable


def choose_next_arcs(
    topology: Topology, metric: Ints | Floats, distance: Floats, usable: Bools | None = None
) -> Ints:
    """Choose one next arc at each node, as the packet engine routes, shape (T, N).

    Among arcs of equal cost it is the one to the node with the smallest number, then the first; -1
    at the destination and where there is no path. ``distance`` comes from `compute_distances`.
    """
    count = len(topology.tail)
    order = np.lexsort((np.arange(count), topology.head, topology.tail))
    starts = topology.tail_start
    nodes_with_arcs = np.flatnonzero(starts[:-1] < starts[1:])
    found = np.full(distance.shape, -1, dtype=np.int64)
    if not count:
        return found
    place = np.where(
        find_equal_cost_arcs(topology, metric, distance, usable)[:, order], np.arange(count), count
    )
    first = np.minimum.reduceat(place, starts[nodes_with_arcs], axis=1)
    found[:, nodes_with_arcs] = np.append(order, -1)[first]
    return found


def walk_paths(
    topology: Topology, next_arc: Ints, rows: Ints, nodes: Ints
) -> Iterator[tuple[Ints, Ints]]:
    """Walk P paths at once, an arc at a time.

    next_arc: shape (T, N): From `choose_next_arcs`.
    rows, nodes: shape (P,): Row of the destination, and first node of each path.
    Yields walkers, arcs: Paths that have not ended yet, and the next arc of each.
    """
    walkers, current = np.arange(len(rows)), nodes
    while True:
        arcs = next_arc[rows[walkers], current]
        has_next = arcs >= 0
        walkers, arcs = walkers[has_next], arcs[has_next]
        if not len(walkers):
            return
        yield walkers, arcs
        current = topology.head[arcs]


def spread_traffic(
    topology: Topology, on_shortest: Bools, distance: Floats, traffic: Floats
) -> tuple[Floats, Floats]:
    """Compute the loads of traffic that every node shares equally among its next arcs (ECMP).

    on_shortest: shape (T, E): From `find_equal_cost_arcs`.
    distance: shape (T, N): From `compute_distances`.
    traffic: shape (T, N): Traffic that enters at each node for each destination.
    Returns loads: By destination.
    Returns lost: Traffic of nodes from which there is no path.
    """
    reached = np.isfinite(distance)
    moves = list(propagate_traffic(topology, on_shortest, np.where(reached, traffic, 0.0)))
    lost: Floats = np.where(reached, 0.0, traffic).sum(axis=1)
    return sum_loads(moves, on_shortest.shape), lost


def sum_loads(moves: Sequence[tuple[Ints, Ints, Floats]], shape: tuple[int, ...]) -> Floats:
    """Sum the moves of `propagate_traffic` to loads by destination and arc, shape (T, E)."""
    if not moves:
        return np.zeros(shape)
    row, arc, sent = (np.concatenate(each) for each in zip(*moves, strict=True))
    loads = np.bincount(row * shape[1] + arc, sent, shape[0] * shape[1])
    return loads.astype(np.float64).reshape(shape)


def propagate_traffic(
    topology: Topology, on_shortest: Bools, passing: Floats
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Move traffic an arc at a time, for all destinations at once.

    ``passing`` (T, N) is the traffic that enters at each node for each destination, only where
    there is a path.

    Yields row, arc: Row of the destination and arc, each once.
    Yields sent: Traffic on the arc.
    """
    share = 1 / np.maximum(on_shortest @ _build_incidence(topology), 1)
    row, node = np.nonzero(passing)
    amount = passing[row, node]
    while len(row):
        which, place = expand_rows(topology.tail_start, node)
        arc = topology.by_tail[place]
        used = on_shortest[row[which], arc]
        which, arc = which[used], arc[used]
        if not len(arc):
            return
        sent = (amount * share[row, node])[which]
        yield row[which], arc, sent
        into = row[which] * passing.shape[1] + topology.head[arc]
        order = np.argsort(into, kind="stable")
        into = into[order]
        first = np.flatnonzero(np.r_[True, into[1:] != into[:-1]])
        amount = np.add.reduceat(sent[order], first)
        row, node = np.divmod(into[first], passing.shape[1])


def expand_rows(starts: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """List the entries of some rows of a compressed table.

    ``starts`` (N + 1,) is where each row begins; the chosen rows may repeat. The result gives for
    each entry its number in ``chosen`` and its place in the table.
    """
    counts = starts[chosen + 1] - starts[chosen]
    which = np.repeat(np.arange(len(chosen)), counts)
    first = np.cumsum(counts) - counts
    place: Ints = np.arange(len(which)) - first[which] + starts[chosen][which]
    return which, place


def compute_ecmp_loads(
    topology: Topology, metric: Ints | Floats, traffic: Floats, usable: Bools | None = None
) -> tuple[Floats, float]:
    """Compute the load of every arc under ECMP routing, and the traffic without a path."""
    targets = np.flatnonzero(traffic.sum(axis=0))
    distance = compute_distances(topology, metric, targets, usable)
    on_shortest = find_equal_cost_arcs(topology, metric, distance, usable)
    loads, lost = spread_traffic(topology, on_shortest, distance, traffic.T[targets])
    return loads.sum(axis=0), float(lost.sum())


def compute_trees(
    topology: Topology, metric: Ints | Floats, sources: Ints | None = None
) -> tuple[Floats, Ints]:
    """Compute one shortest-path tree for each of S sources, by default all nodes.

    Returns distance: Cost from the source to each node.
    Returns last: Last arc of the path to each node, -1 at the source and where there is no path.
        Among equal ones the arc with the smallest number.
    """
    count = len(topology.nodes)
    values = np.asarray(metric, dtype=np.float64)
    origins = np.arange(count) if sources is None else sources
    distance, before = _run_dijkstra(topology, values, origins)
    last = np.full(distance.shape, -1, dtype=np.int64)
    best = _find_cheapest_arcs(topology, values)
    row, node = np.nonzero(before >= 0)
    last[row, node] = best[before[row, node], node]
    return distance, last


def find_cheapest_path(
    topology: Topology, price: Floats, source: int, target: int, usable: Bools | None = None
) -> ArcPath | None:
    """Find a cheapest path, or None; among equal ones always the same. Prices are above 0."""
    values = price if usable is None else np.where(usable, price, np.inf)
    distance, before = _run_dijkstra(topology, values, source)
    if not np.isfinite(distance[target]):
        return None
    path: list[int] = []
    node = target
    while node != source:
        last = int(before[node])
        path.append(min(topology.arcs_between[last, node], key=lambda arc: values[arc]))
        node = last
    return tuple(reversed(path))


def _run_dijkstra(topology: Topology, cost: Floats, origins: Any) -> tuple[Any, Any]:
    """Compute the cost from some nodes to each node, and the previous node on the path."""
    order, shape = topology.by_tail, (len(topology.nodes),) * 2
    forward: Any = csr_array((cost[order], topology.head[order], topology.tail_start), shape=shape)
    found: Any = dijkstra(forward, indices=origins, return_predecessors=True)
    return found[0], found[1]


def _find_cheapest_arcs(topology: Topology, metric: Floats) -> Ints:
    """Find the cheapest arc between each two nodes, -1 where there is none."""
    table = np.full((len(topology.nodes),) * 2, -1, dtype=np.int64)
    order = np.lexsort((-np.arange(len(metric)), -metric))
    table[topology.tail[order], topology.head[order]] = order
    return table


def _build_incidence(topology: Topology) -> csr_array:
    """Build the matrix of arcs by the node they leave."""
    arcs = np.arange(len(topology.tail))
    ones = np.ones(len(arcs))
    return csr_array((ones, (arcs, topology.tail)), shape=(len(arcs), len(topology.nodes)))
