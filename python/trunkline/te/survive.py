"""Loads after a failure: only what the failure touches is routed again.

A failure changes the routes to those destinations alone whose shortest-path graph has a failed arc;
their loads are taken off the total and added again as they are without it.

Differs: the graphs of such destinations are computed afresh, not repaired node by node.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from trunkline.te.spf import distances, equal_cost, loads_of, next_arcs, steps, waves
from trunkline.te.topology import Bools, Floats, Ints, Path, Topology


@dataclass(frozen=True, slots=True, eq=False)
class After:
    """Traffic routed by shortest paths after a failure.

    Parameters
    ----------
    loads : array of float64, shape (E,)
        Of every arc.
    lost : float
        Traffic without a path.
    moved : float
        Traffic towards destinations whose routes changed, that crossed a failed arc.
    stretch : float
        Largest growth of the propagation between two nodes with traffic whose route changed [ns];
        0 where none grew.
    """

    loads: Floats
    lost: float
    moved: float
    stretch: float


class Routing:
    """Traffic on shortest paths, and after failures.

    Parameters
    ----------
    topology : Topology
        The graph, N nodes and E arcs.
    metric : array, shape (E,)
        Cost of each arc.
    traffic : array of float64, shape (N, N)
        From the row's node to the column's.
    single : bool, default False
        One next hop at each node, the one with the smallest number and there the first arc, as the
        packet engine routes; else shared equally among all (ECMP).

    Attributes
    ----------
    loads : array of float64, shape (E,)
        Without a failure.
    lost : float
        Traffic between nodes without a path.
    """

    def __init__(self, topology: Topology, metric: Ints, traffic: Floats, *, single: bool = False):
        self.topology, self.metric, self.single = topology, metric, single
        self._targets = np.flatnonzero(traffic.sum(axis=0))
        self._traffic = traffic.T[self._targets]
        away = distances(topology, metric, self._targets)
        everything = np.arange(len(self._targets))
        self._by_target, self._lost, self._delay = self._routed(everything, away, None)
        self._following = next_arcs(topology, metric, away)
        self.loads: Floats = self._by_target.sum(axis=0)
        self.lost = float(self._lost.sum())

    def after(self, dead: Bools) -> After:
        """Routes, loads and loss without some arcs.

        Parameters
        ----------
        dead : array of bool, shape (E,)
            Arcs that fail.

        Returns
        -------
        After
            With all routes computed again.
        """
        rows = np.flatnonzero((self._by_target[:, dead] > 0).any(axis=1))
        if not len(rows):
            return After(self.loads, self.lost, 0.0, 0.0)
        usable = ~dead
        away = distances(self.topology, self.metric, self._targets[rows], usable)
        loads, lost, delay = self._routed(rows, away, usable)
        total = self.loads - self._by_target[rows].sum(axis=0) + loads.sum(axis=0)
        total[dead] = 0.0
        # Without a path before the failure there is none after it.
        wanted = (self._traffic[rows] > 0) & np.isfinite(away)
        grown = np.subtract(delay, self._delay[rows], out=np.zeros_like(away), where=wanted)
        moved = float(self._by_target[np.ix_(rows, np.flatnonzero(dead))].sum())
        gone = self.lost - float(self._lost[rows].sum()) + float(lost.sum())
        return After(total, gone, moved, float(grown[wanted].max(initial=0.0)))

    def route(self, source: int, target: int) -> Path:
        """The way from one node to another without a failure, of several the first.

        Parameters
        ----------
        source, target : int
            Nodes with traffic between them.

        Returns
        -------
        tuple of int
            Arcs, the first of several at each node; empty where there is no path.
        """
        row = int(np.searchsorted(self._targets, target))
        path: list[int] = []
        node = source
        while node != target:
            arc = int(self._following[row, node])
            if arc < 0:
                return ()
            path.append(arc)
            node = int(self.topology.head[arc])
        return tuple(path)

    def _routed(
        self, rows: Ints, away: Floats, usable: Bools | None
    ) -> tuple[Floats, Floats, Floats]:
        """Loads by target, loss, and propagation between nodes with traffic [ns]."""
        traffic = self._traffic[rows]
        if not self.single:
            on = equal_cost(self.topology, self.metric, away, usable)
            return self._shared(away, on, traffic)
        loads = np.zeros((len(rows), len(self.metric)))
        delay = np.zeros(traffic.shape)
        following = next_arcs(self.topology, self.metric, away, usable)
        reached = np.isfinite(away)
        row, node = np.nonzero((traffic > 0) & reached)
        rates = traffic[row, node]
        for walkers, arcs in steps(self.topology, following, row, node):
            np.add.at(loads, (row[walkers], arcs), rates[walkers])
            delay[row[walkers], node[walkers]] += self.topology.delay[arcs]
        return loads, np.where(reached, 0.0, traffic).sum(axis=1), delay

    def _shared(self, away: Floats, on: Bools, traffic: Floats) -> tuple[Floats, Floats, Floats]:
        """As `_routed`: all shortest paths; the propagation is that of the longest of them."""
        graph, reached = self.topology, np.isfinite(away)
        taken = list(waves(graph, on, np.where(reached, traffic, 0.0)))
        delay = np.where(reached, 0.0, np.inf)
        # What an arc leads to is complete: its own arcs were taken one wave later.
        for row, arc, _ in reversed(taken):
            far = delay[row, graph.head[arc]] + graph.delay[arc]
            np.maximum.at(delay, (row, graph.tail[arc]), far)
        lost = np.where(reached, 0.0, traffic).sum(axis=1)
        return loads_of(taken, on.shape), lost, delay


def parts(topology: Topology, usable: Bools) -> Ints:
    """Which nodes still reach each other, both ways.

    Parameters
    ----------
    usable : array of bool, shape (E,)
        Arcs that are up.

    Returns
    -------
    array of int64, shape (N,)
        Number of the strongly connected component of each node.
    """
    count = len(topology.nodes)
    ends = topology.tail[usable], topology.head[usable]
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(count, count))
    labels: Ints = connected_components(graph, connection="strong")[1].astype(np.int64)
    return labels
