"""IGP weights for equal-cost multipath that lower the Fortz-Thorup cost: local search.

One weight is changed at a time, the busiest arc's first, by 1, 2, 4 and 8 up and down; the first
change that lowers the cost stays. Only destinations whose shortest paths the change touches are
computed again. It ends when no change of one weight helps, or after a number of evaluations, never
after a time: the same input gives the same weights.

Source: B. Fortz, M. Thorup, Internet Traffic Engineering by Optimizing OSPF Weights, INFOCOM 2000.
Differs: no hashing of vectors seen and no random moves; a descent never returns to a vector.
Absent: balancing the traffic of one node over paths of several links, its second kind of move.
"""

from dataclasses import dataclass

import numpy as np

from trunkline.te import fortz_thorup
from trunkline.te.optimum import checked
from trunkline.te.spf import distances, equal_cost, spread
from trunkline.te.topology import Floats, Ints, Topology

LARGEST = 20
STEPS = (1, -1, 2, -2, 4, -4, 8, -8)
EVALUATIONS = 2000
LESS = 1e-9
"""Relative difference from which a cost counts as lower."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Weights found, and what they do.

    Parameters
    ----------
    weights : array of int64, shape (E,)
        From 1 to ``LARGEST``.
    mlu : float
        Maximum link utilisation with them [1].
    cost : float
        Their Fortz-Thorup cost over the uncapacitated one; 1 is ideal.
    start : float
        That of the weights that the search began with.
    evaluations : int
        How many weight vectors were looked at.
    loads : array of float64, shape (E,)
        In the unit of the traffic.
    """

    weights: Ints
    mlu: float
    cost: float
    start: float
    evaluations: int
    loads: Floats


class _State:
    """Shortest paths to all destinations under the present weights."""

    def __init__(self, topology: Topology, traffic: Floats, weights: Ints):
        self.topology = topology
        self.targets = np.flatnonzero(traffic.any(axis=0))
        self.wanted = traffic.T[self.targets]
        self.weights = weights
        self.away = distances(topology, weights, self.targets)
        self.on = equal_cost(topology, weights, self.away)
        self.loads, _ = spread(topology, self.on, self.away, self.wanted)
        self.total: Floats = self.loads.sum(axis=0)
        self.cost = fortz_thorup.cost(topology, self.total)

    def improve(self, arc: int, weight: int) -> bool:
        """Change one weight if that lowers the cost."""
        topology = self.topology
        if weight > self.weights[arc]:
            touched = self.on[:, arc]
        else:
            through = weight + self.away[:, topology.head[arc]]
            touched = through <= self.away[:, topology.tail[arc]]
        rows = np.flatnonzero(touched)
        if not len(rows):
            return False
        weights = self.weights.copy()
        weights[arc] = weight
        away = distances(topology, weights, self.targets[rows])
        on = equal_cost(topology, weights, away)
        loads, _ = spread(topology, on, away, self.wanted[rows])
        total = self.total + loads.sum(axis=0) - self.loads[rows].sum(axis=0)
        cost = fortz_thorup.cost(topology, np.maximum(total, 0.0))
        if cost >= self.cost * (1.0 - LESS):
            return False
        self.weights, self.cost = weights, cost
        self.away[rows], self.on[rows], self.loads[rows] = away, on, loads
        # Summed again, so that rounding does not gather.
        self.total = self.loads.sum(axis=0)
        return True


def search(topology: Topology, traffic: Floats, evaluations: int = EVALUATIONS) -> Weights:
    """Look for weights of low cost.

    It begins with the best of three: the IGP metrics, brought into the range; all equal; and in
    proportion to the inverse of the capacity.

    Parameters
    ----------
    traffic : array of float64, shape (N, N)
        From the row's node to the column's.
    evaluations : int
        Weight vectors to look at, besides those it begins with.

    Returns
    -------
    Weights
        The best found.

    Raises
    ------
    ValueError
        See `optimum.checked`.
    """
    wanted = checked(topology, traffic)
    starts = [_State(topology, wanted, weights) for weights in _starts(topology)]
    state = min(starts, key=lambda each: each.cost)
    ideal = fortz_thorup.uncapacitated(topology, wanted) or 1.0
    start, used, improved = state.cost, 0, True
    while improved and used < evaluations:
        improved = False
        use = state.total / topology.capacity
        for arc in sorted(range(len(use)), key=lambda a: (-use[a], a)):
            for step in STEPS:
                weight = int(state.weights[arc]) + step
                if not 1 <= weight <= LARGEST or used >= evaluations:
                    continue
                used += 1
                if state.improve(arc, weight):
                    improved = True
    return Weights(
        state.weights,
        float((state.total / topology.capacity).max(initial=0.0)),
        state.cost / ideal,
        start / ideal,
        used,
        state.total,
    )


def _starts(topology: Topology) -> list[Ints]:
    igp = topology.igp
    if igp.max() > LARGEST:
        igp = np.maximum(1, np.rint(igp * (LARGEST / igp.max()))).astype(np.int64)
    inverse = topology.capacity.max() / topology.capacity
    inverse = np.clip(np.rint(inverse), 1, LARGEST).astype(np.int64)
    return [igp.copy(), np.ones_like(igp), inverse]
