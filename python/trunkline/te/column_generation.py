"""The minimum of the maximum utilisation: paths are added while prices of links show a gain.

The linear program over all paths is solved over a few. Its dual values are prices of links; any
path that is cheaper at these prices than its demand pays is added. The same prices give a lower
bound in each round. The method ends when bound and value meet.

Source: L. R. Ford, D. R. Fulkerson, A Suggested Computation for Maximal Multi-Commodity Network
Flows, Management Science 5(1), 1958.

Differs: the first paths are those of `PREPARATION_STEPS` steps of Frank-Wolfe's method, which saves
most rounds.
"""

import numpy as np
from scipy.sparse import csc_array

from trunkline.te.linear_program import solve_linear_program
from trunkline.te.spf import compute_trees
from trunkline.te.split_routing import (
    OptimalRouting,
    compute_price_bound,
    compute_tree_loads,
    tighten_bound,
)
from trunkline.te.topology import ArcPath, Floats, Ints, Topology

TARGET_GAP = 1e-7  # Relative gap at which it ends.
MAX_ROUNDS = 200
PREPARATION_STEPS = 12


class _PathProgram:
    """Paths found so far, by demand."""

    def __init__(self, topology: Topology, traffic: Floats):
        self.topology = topology
        self.sources = np.flatnonzero(traffic.any(axis=1))
        self.source_traffic = traffic[self.sources]
        self.row, self.target = np.nonzero(self.source_traffic)
        self.rate: Floats = self.source_traffic[self.row, self.target]
        self.paths: list[ArcPath] = []
        self.demand: list[int] = []
        self.seen: set[tuple[int, ArcPath]] = set()

    def compute_trees(self, price: Floats) -> tuple[Floats, Ints]:
        return compute_trees(self.topology, price, self.sources)

    def add_tree_paths(self, last: Ints, demands: Ints) -> bool:
        """Add the paths of trees to the destinations of some demands; return whether any is new."""
        is_any_new = False
        for demand in demands.tolist():
            row = self.row[demand]
            ends = int(self.sources[row]), int(self.target[demand])
            path = self.topology.trace_back(last[row], *ends)
            if (demand, path) not in self.seen:
                self.seen.add((demand, path))
                self.paths.append(path)
                self.demand.append(demand)
                is_any_new = True
        return is_any_new

    def solve_program(self, unit: float) -> tuple[Floats, Floats, Floats]:
        """Return the share of each path in its demand, the price of each arc and of each demand."""
        count, arcs = len(self.paths), len(self.topology.arcs)
        hops = np.array([len(path) for path in self.paths])
        rows = np.concatenate([np.array(path) for path in self.paths])
        demand = np.array(self.demand)
        values = np.repeat(self.rate[demand] / unit, hops)
        rows = np.append(rows, np.arange(arcs))
        columns = np.append(np.repeat(np.arange(count), hops), np.full(arcs, count))
        # Utilisation is in a unit of its own, so that the solver's tolerances suit any of it.
        values = np.append(values, -self.topology.capacity / self.topology.capacity.max())
        capacity_rows = csc_array((values, (rows, columns)), shape=(arcs, count + 1))
        demand_rows = csc_array(
            (np.ones(count), (demand, np.arange(count))), shape=(len(self.rate), count + 1)
        )
        solution = solve_linear_program(
            c=np.append(np.zeros(count), 1.0),
            A_ub=capacity_rows,
            b_ub=np.zeros(arcs),
            A_eq=demand_rows,
            b_eq=np.ones(len(self.rate)),
        )
        return (
            solution.x[:count],
            np.maximum(-solution.ineqlin.marginals, 0.0),
            solution.eqlin.marginals,
        )


def minimise_utilisation(topology: Topology, traffic: Floats) -> OptimalRouting:
    """Compute the least maximum utilisation exactly, with the paths used.

    ``traffic`` comes from `split_routing.validate_traffic` and is not all zero.

    Raises ValueError: The solver did not end.
    """
    program = _PathProgram(topology, traffic)
    unit = float(program.rate.max())
    capacity = topology.capacity.astype(np.float64)
    all_demands = np.arange(len(program.rate))
    _find_first_paths(program, capacity, all_demands)
    bound, rounds = 0.0, 0
    while rounds < MAX_ROUNDS:
        rounds += 1
        part, price, dual_price = program.solve_program(unit)
        loads = _compute_loads(program, part)
        mlu = float((loads / capacity).max())
        # A price of 0 would make loops free.
        floor = 1e-12 * float(price.max()) + 1e-300
        distance, last = program.compute_trees(price + floor)
        bound = max(
            bound, compute_price_bound(topology, price + floor, distance, program.source_traffic)
        )
        cost = program.rate / unit * distance[program.row, program.target]
        cheaper = np.flatnonzero(
            cost < dual_price - 1e-10 * max(float(np.abs(dual_price).max()), 1e-300)
        )
        if mlu - bound <= TARGET_GAP * mlu or not program.add_tree_paths(last, cheaper):
            break
    return OptimalRouting(
        "paths", mlu, tighten_bound(mlu, bound), loads, _compute_shares(program, part), rounds
    )


def _find_first_paths(program: _PathProgram, capacity: Floats, all_demands: Ints) -> None:
    """Add the cheapest paths while the prices follow the load that these paths make."""
    price, loads = 1.0 / capacity, np.zeros(len(capacity))
    for step in range(PREPARATION_STEPS):
        distance, last = program.compute_trees(price)
        program.add_tree_paths(last, all_demands)
        tree_traffic_loads = compute_tree_loads(
            program.topology, distance, last, program.source_traffic
        )
        loads = loads + (tree_traffic_loads - loads) * (2.0 / (step + 2.0))
        utilisation = loads / capacity
        price = np.maximum(np.exp(12.0 * (utilisation / utilisation.max() - 1.0)), 1e-6) / capacity


def _compute_loads(program: _PathProgram, part: Floats) -> Floats:
    amount = np.maximum(part, 0.0) * program.rate[np.array(program.demand)]
    hops = [len(path) for path in program.paths]
    arcs = np.concatenate([np.array(path) for path in program.paths])
    return np.bincount(arcs, np.repeat(amount, hops), len(program.topology.arcs)).astype(np.float64)


def _compute_shares(
    program: _PathProgram, part: Floats
) -> dict[tuple[int, int], list[tuple[ArcPath, float]]]:
    result: dict[tuple[int, int], list[tuple[ArcPath, float]]] = {}
    for column in np.flatnonzero(part > 1e-9).tolist():
        demand = program.demand[column]
        ends = int(program.sources[program.row[demand]]), int(program.target[demand])
        result.setdefault(ends, []).append((program.paths[column], float(part[column])))
    for ends, parts in result.items():
        total = sum(share for _, share in parts)
        result[ends] = [(path, share / total) for path, share in parts]
    return result
