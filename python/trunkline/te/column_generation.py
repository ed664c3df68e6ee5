"""The least maximum utilisation by paths, which are made as the prices of links call for them.

The linear program over all paths is solved over a few; its dual values price the links, and any
path that is cheaper at these prices than its demand pays joins. The same prices give a lower bound
each round; it ends when bound and value meet.

Source: L. R. Ford, D. R. Fulkerson, A Suggested Computation for Maximal Multi-Commodity Network
Flows, Management Science 5(1), 1958.
Differs: the first paths are those that `PREPARED` steps of Frank-Wolfe's method would take, which
saves most rounds.
"""

import numpy as np
from scipy.sparse import csc_array

from trunkline.te.highs import solve
from trunkline.te.optimum import Optimum, price_bound, proven, tree_loads
from trunkline.te.spf import trees
from trunkline.te.topology import Floats, Ints, Path, Topology

CLOSE = 1e-7
"""Relative gap at which it ends."""
ROUNDS = 200
PREPARED = 12


class _Columns:
    """Paths found so far, by demand."""

    def __init__(self, topology: Topology, traffic: Floats):
        self.topology = topology
        self.sources = np.flatnonzero(traffic.any(axis=1))
        self.wanted = traffic[self.sources]
        self.row, self.target = np.nonzero(self.wanted)
        self.rate: Floats = self.wanted[self.row, self.target]
        self.paths: list[Path] = []
        self.demand: list[int] = []
        self.seen: set[tuple[int, Path]] = set()

    def trees(self, price: Floats) -> tuple[Floats, Ints]:
        return trees(self.topology, price, self.sources)

    def add(self, last: Ints, demands: Ints) -> int:
        """The paths of trees to the destinations of some demands; how many are new."""
        new = 0
        for demand in demands.tolist():
            row = self.row[demand]
            ends = int(self.sources[row]), int(self.target[demand])
            path = self.topology.back(last[row], *ends)
            if (demand, path) not in self.seen:
                self.seen.add((demand, path))
                self.paths.append(path)
                self.demand.append(demand)
                new += 1
        return new

    def solve(self, unit: float) -> tuple[Floats, Floats, Floats]:
        """Part of its demand on each path; price of each arc; what each demand pays."""
        count, arcs = len(self.paths), len(self.topology.arcs)
        hops = np.array([len(path) for path in self.paths])
        rows = np.concatenate([np.array(path) for path in self.paths])
        demand = np.array(self.demand)
        values = np.repeat(self.rate[demand] / unit, hops)
        rows = np.append(rows, np.arange(arcs))
        columns = np.append(np.repeat(np.arange(count), hops), np.full(arcs, count))
        values = np.append(values, -self.topology.capacity / unit)
        used = csc_array((values, (rows, columns)), shape=(arcs, count + 1))
        whole = csc_array(
            (np.ones(count), (demand, np.arange(count))), shape=(len(self.rate), count + 1)
        )
        found = solve(
            0,
            c=np.append(np.zeros(count), 1.0),
            A_ub=used,
            b_ub=np.zeros(arcs),
            A_eq=whole,
            b_eq=np.ones(len(self.rate)),
        )
        return found.x[:count], np.maximum(-found.ineqlin.marginals, 0.0), found.eqlin.marginals


def minimum_utilisation(topology: Topology, traffic: Floats) -> Optimum:
    """The least maximum utilisation, exactly.

    Parameters
    ----------
    traffic : array of float64, shape (N, N)
        From `optimum.checked`, not all zero.

    Returns
    -------
    Optimum
        With the paths used.

    Raises
    ------
    ValueError
        The solver did not end.
    """
    its = _Columns(topology, traffic)
    unit = float(its.rate.max())
    capacity = topology.capacity.astype(np.float64)
    every = np.arange(len(its.rate))
    bound = _prepare(its, capacity, every)
    rounds = 0
    while rounds < ROUNDS:
        rounds += 1
        part, price, paid = its.solve(unit)
        loads = _loads(its, part)
        mlu = float((loads / capacity).max())
        # A price of 0 would make loops free.
        floor = 1e-12 * float(price.max()) + 1e-300
        away, last = its.trees(price + floor)
        bound = max(bound, price_bound(topology, price + floor, away, its.wanted))
        cost = its.rate / unit * away[its.row, its.target]
        cheaper = np.flatnonzero(cost < paid - 1e-10 * max(float(np.abs(paid).max()), 1e-300))
        if mlu - bound <= CLOSE * mlu or not its.add(last, cheaper):
            break
    return Optimum("paths", mlu, proven(mlu, bound), loads, _shares(its, part), rounds)


def _prepare(its: _Columns, capacity: Floats, every: Ints) -> float:
    """First paths: cheapest ones while the prices follow the load that they make."""
    price, loads, bound = 1.0 / capacity, np.zeros(len(capacity)), 0.0
    for step in range(PREPARED):
        away, last = its.trees(price)
        bound = max(bound, price_bound(its.topology, price, away, its.wanted))
        its.add(last, every)
        made = tree_loads(its.topology, away, last, its.wanted)
        loads = loads + (made - loads) * (2.0 / (step + 2.0))
        use = loads / capacity
        price = np.maximum(np.exp(12.0 * (use / use.max() - 1.0)), 1e-6) / capacity
    return bound


def _loads(its: _Columns, part: Floats) -> Floats:
    amount = np.maximum(part, 0.0) * its.rate[np.array(its.demand)]
    hops = [len(path) for path in its.paths]
    arcs = np.concatenate([np.array(path) for path in its.paths])
    return np.bincount(arcs, np.repeat(amount, hops), len(its.topology.arcs)).astype(np.float64)


def _shares(its: _Columns, part: Floats) -> dict[tuple[int, int], list[tuple[Path, float]]]:
    result: dict[tuple[int, int], list[tuple[Path, float]]] = {}
    for column in np.flatnonzero(part > 1e-9).tolist():
        demand = its.demand[column]
        ends = int(its.sources[its.row[demand]]), int(its.target[demand])
        result.setdefault(ends, []).append((its.paths[column], float(part[column])))
    for ends, parts in result.items():
        whole = sum(share for _, share in parts)
        result[ends] = [(path, share / whole) for path, share in parts]
    return result
