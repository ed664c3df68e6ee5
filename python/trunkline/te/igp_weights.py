"""IGP weights for equal-cost multipath that lower the Fortz-Thorup cost: local search.

The search changes one weight at a time, the busiest arc's first, by 1, 2, 4 and 8 up and down. It
keeps the first change that lowers the cost. It computes again only destinations whose shortest
paths the change touches. It ends when no change of one weight helps, or after a number of
evaluations, never after a time: the same input gives the same weights.

Source: B. Fortz, M. Thorup, Internet Traffic Engineering by Optimizing OSPF Weights, INFOCOM 2000.

Differs: no hashing of vectors seen and no random moves; a descent never returns to a vector.

Absent: balancing the traffic of one node over paths of several links, its second kind of move.
"""

from dataclasses import dataclass

import numpy as np

from trunkline.te import fortz_thorup
from trunkline.te.spf import compute_distances, find_equal_cost_arcs, spread_traffic
from trunkline.te.split_routing import validate_traffic
from trunkline.te.topology import Floats, Ints, Topology

MAX_WEIGHT = 20
WEIGHT_STEPS = (1, -1, 2, -2, 4, -4, 8, -8)
DEFAULT_EVALUATIONS = 2000
MIN_RELATIVE_DECREASE = 1e-9  # Relative difference from which a cost counts as lower.


@dataclass(frozen=True, slots=True, eq=False)
class OptimisedWeights:
    """Weights found, and the utilisation and cost with them.

    Costs are Fortz-Thorup costs over the uncapacitated one, where 1 is ideal; ``start_cost`` is
    that of the weights with which the search began.
    """

    weights: Ints
    mlu: float
    cost: float
    start_cost: float
    evaluations: int
    loads: Floats


class _SearchState:
    """Shortest paths to all destinations under the present weights."""

    def __init__(self, topology: Topology, traffic: Floats, weights: Ints):
        self.topology = topology
        self.targets = np.flatnonzero(traffic.any(axis=0))
        self.demand = traffic.T[self.targets]
        self.weights = weights
        self.distance = compute_distances(topology, weights, self.targets)
        self.on_shortest = find_equal_cost_arcs(topology, weights, self.distance)
        self.loads, _ = spread_traffic(topology, self.on_shortest, self.distance, self.demand)
        self.total: Floats = self.loads.sum(axis=0)
        self.cost = fortz_thorup.compute_cost(topology, self.total)

    def try_weight(self, arc: int, weight: int) -> bool:
        """Change one weight if that lowers the cost."""
        topology = self.topology
        if weight > self.weights[arc]:
            touched = self.on_shortest[:, arc]
        else:
            through = weight + self.distance[:, topology.head[arc]]
            touched = through <= self.distance[:, topology.tail[arc]]
        rows = np.flatnonzero(touched)
        if not len(rows):
            return False
        weights = self.weights.copy()
        weights[arc] = weight
        distance = compute_distances(topology, weights, self.targets[rows])
        on_shortest = find_equal_cost_arcs(topology, weights, distance)
        loads, _ = spread_traffic(topology, on_shortest, distance, self.demand[rows])
        total = self.total + loads.sum(axis=0) - self.loads[rows].sum(axis=0)
        cost = fortz_thorup.compute_cost(topology, np.maximum(total, 0.0))
        if cost >= self.cost * (1.0 - MIN_RELATIVE_DECREASE):
            return False
        self.weights, self.cost = weights, cost
        self.distance[rows], self.on_shortest[rows], self.loads[rows] = distance, on_shortest, loads
        # Summed again, so that rounding does not gather.
        self.total = self.loads.sum(axis=0)
        return True


def search_weights(
    topology: Topology, traffic: Floats, evaluations: int = DEFAULT_EVALUATIONS
) -> OptimisedWeights:
    """Search for weights of low cost.

    The search begins with the best of three: the IGP metrics, brought into the range; all equal;
    and in proportion to the inverse of the capacity. ``evaluations`` bounds the weight vectors
    tried after these.

    Raises ValueError: See `split_routing.validate_traffic`.
    """
    validated = validate_traffic(topology, traffic)
    starts = [
        _SearchState(topology, validated, weights) for weights in _choose_start_weights(topology)
    ]
    state = min(starts, key=lambda each: each.cost)
    ideal = fortz_thorup.compute_uncapacitated_cost(topology, validated) or 1.0
    start_cost, used, improved = state.cost, 0, True
    while improved and used < evaluations:
        improved = False
        utilisation = state.total / topology.capacity
        for arc in sorted(range(len(utilisation)), key=lambda a: (-utilisation[a], a)):
            for step in WEIGHT_STEPS:
                weight = int(state.weights[arc]) + step
                if not 1 <= weight <= MAX_WEIGHT or used >= evaluations:
                    continue
                used += 1
                if state.try_weight(arc, weight):
                    improved = True
    return OptimisedWeights(
        state.weights,
        float((state.total / topology.capacity).max(initial=0.0)),
        state.cost / ideal,
        start_cost / ideal,
        used,
        state.total,
    )


def _choose_start_weights(topology: Topology) -> list[Ints]:
    igp = topology.igp
    if igp.max() > MAX_WEIGHT:
        igp = np.maximum(1, np.rint(igp * (MAX_WEIGHT / igp.max()))).astype(np.int64)
    inverse = topology.capacity.max() / topology.capacity
    inverse = np.clip(np.rint(inverse), 1, MAX_WEIGHT).astype(np.int64)
    return [igp.copy(), np.ones_like(igp), inverse]
