"""Loads after a failure: only traffic that the failure touches is routed again.

A failure changes the routes to those destinations alone whose shortest-path graph has a failed arc.
Their loads are subtracted from the total, and the loads without the arc are added.

Differs: the graphs of such destinations are computed afresh, not repaired node by node.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trunkline.te.spf import (
    choose_next_arcs,
    compute_distances,
    find_equal_cost_arcs,
    propagate_traffic,
    sum_loads,
    walk_paths,
)
from trunkline.te.topology import ArcPath, Bools, Floats, Ints, Topology


@dataclass(frozen=True, slots=True, eq=False)
class PostFailureRouting:
    """Traffic routed by shortest paths after a failure."""

    loads: Floats
    lost: float  # Traffic without a path.
    moved: float  # Traffic across a failed arc to destinations whose routes changed.
    # Largest growth of the propagation [ns] between two nodes with traffic whose route changed; 0
    # where none grew.
    stretch: float


class ShortestPathRouting:
    """Traffic on shortest paths, without failures and after them.

    single_path: One next hop at each node, the one with the smallest number and there the first
        arc, as the packet engine routes; otherwise equal shares among all (ECMP).
    loads: shape (E,): Without a failure.
    lost: float; traffic between nodes without a path.
    """

    def __init__(
        self, topology: Topology, metric: Ints, traffic: Floats, *, single_path: bool = False
    ):
        self.topology, self.metric, self.single_path = topology, metric, single_path
        self._targets = np.flatnonzero(traffic.sum(axis=0))
        self._traffic = traffic.T[self._targets]
        distance = compute_distances(topology, metric, self._targets)
        all_rows = np.arange(len(self._targets))
        self._by_target, self._lost, self._delay = self._route_rows(all_rows, distance, None)
        self._next_arcs = choose_next_arcs(topology, metric, distance)
        self.loads: Floats = self._by_target.sum(axis=0)
        self.lost = float(self._lost.sum())

    def route_after_failure(self, dead: Bools) -> PostFailureRouting:
        """Compute routes, loads and loss without the dead arcs."""
        rows = np.flatnonzero((self._by_target[:, dead] > 0).any(axis=1))
        if not len(rows):
            return PostFailureRouting(self.loads, self.lost, 0.0, 0.0)
        usable = ~dead
        distance = compute_distances(self.topology, self.metric, self._targets[rows], usable)
        loads, lost, delay = self._route_rows(rows, distance, usable)
        total = self.loads - self._by_target[rows].sum(axis=0) + loads.sum(axis=0)
        total[dead] = 0.0
        # Without a path before the failure there is none after it.
        has_traffic = (self._traffic[rows] > 0) & np.isfinite(distance)
        delay_growth = np.subtract(
            delay, self._delay[rows], out=np.zeros_like(distance), where=has_traffic
        )
        moved = float(self._by_target[np.ix_(rows, np.flatnonzero(dead))].sum())
        lost_traffic = self.lost - float(self._lost[rows].sum()) + float(lost.sum())
        return PostFailureRouting(
            total, lost_traffic, moved, float(delay_growth[has_traffic].max(initial=0.0))
        )

    def find_path(self, source: int, target: int) -> ArcPath:
        """Find the path between two nodes with traffic, without a failure; empty if there is none.

        Of several, it takes the first arc at each node.
        """
        row = int(np.searchsorted(self._targets, target))
        path: list[int] = []
        node = source
        while node != target:
            arc = int(self._next_arcs[row, node])
            if arc < 0:
                return ()
            path.append(arc)
            node = int(self.topology.head[arc])
        return tuple(path)

    def _route_rows(
        self, rows: Ints, distance: Floats, usable: Bools | None
    ) -> tuple[Floats, Floats, Floats]:
        """Compute loads by target, loss, and propagation between nodes with traffic [ns]."""
        traffic = self._traffic[rows]
        if not self.single_path:
            on_shortest = find_equal_cost_arcs(self.topology, self.metric, distance, usable)
            return self._route_rows_ecmp(distance, on_shortest, traffic)
        loads = np.zeros((len(rows), len(self.metric)))
        delay = np.zeros(traffic.shape)
        next_arc = choose_next_arcs(self.topology, self.metric, distance, usable)
        reached = np.isfinite(distance)
        row, node = np.nonzero((traffic > 0) & reached)
        rates = traffic[row, node]
        for walkers, arcs in walk_paths(self.topology, next_arc, row, node):
            np.add.at(loads, (row[walkers], arcs), rates[walkers])
            delay[row[walkers], node[walkers]] += self.topology.delay[arcs]
        return loads, np.where(reached, 0.0, traffic).sum(axis=1), delay

    def _route_rows_ecmp(
        self, distance: Floats, on_shortest: Bools, traffic: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Do the same over all shortest paths; the propagation is that of the longest of them."""
        graph, reached = self.topology, np.isfinite(distance)
        moves = list(propagate_traffic(graph, on_shortest, np.where(reached, traffic, 0.0)))
        delay = np.where(reached, 0.0, np.inf)
        # The part behind an arc is complete: its own arcs were taken one wave later.
        for row, arc, _ in reversed(moves):
            delay_via_arc = delay[row, graph.head[arc]] + graph.delay[arc]
            np.maximum.at(delay, (row, graph.tail[arc]), delay_via_arc)
        lost = np.where(reached, 0.0, traffic).sum(axis=1)
        return sum_loads(moves, on_shortest.shape), lost, delay


def find_components(topology: Topology, usable: Bools) -> Ints:
    """Number the strongly connected component of each node over usable arcs, shape (N,)."""
    count = len(topology.nodes)
    ends = topology.tail[usable], topology.head[usable]
    graph = csr_array((np.ones(np.count_nonzero(usable)), ends), shape=(count, count))
    labels: Ints = connected_components(graph, connection="strong")[1].astype(np.int64)
    return labels
