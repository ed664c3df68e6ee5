"""Routings that may split traffic: their bounds and gaps, and the loads of shortest-path trees."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trunkline.te.spf import compute_trees
from trunkline.te.topology import ArcPath, Floats, Ints, Topology

Formulation = Literal["arcs", "paths", "frank-wolfe"]
ROUNDING_TOLERANCE = 1e-7  # Tolerance of a linear program's solver.


@dataclass(frozen=True, slots=True, eq=False)
class OptimalRouting:
    """A routing that may split traffic, and a bound that proves its quality."""

    form: Formulation
    # mlu, bound: Maximum link utilisation of this routing, and a value that no routing undercuts.
    mlu: float
    bound: float
    loads: Floats
    # Paths of each source and destination with their shares of the traffic, which sum to 1; empty
    # for ``frank-wolfe``.
    shares: dict[tuple[int, int], list[tuple[ArcPath, float]]]
    steps: int = 1  # Rounds, or 1.


def compute_gap(value: float, bound: float) -> float | None:
    """Compute value over bound, less one: how far a value may be above the least possible.

    The gap is 0 where both are 0 or differ by rounding alone, None where the bound alone is 0.
    """
    if bound <= 0:
        return 0.0 if value <= 0 else None
    over = value / bound - 1.0
    return over if over > ROUNDING_TOLERANCE else 0.0


def tighten_bound(value: float, bound: float) -> float:
    """Raise a bound to the value where both differ by rounding alone."""
    return value if compute_gap(value, bound) == 0.0 else bound


def validate_traffic(topology: Topology, traffic: Floats) -> Floats:
    """Copy traffic without its diagonal.

    Raises ValueError: A wrong shape, negative or infinite traffic, or traffic between nodes that no
        path joins.
    """
    count = len(topology.nodes)
    validated = np.array(traffic, dtype=np.float64)
    if validated.shape != (count, count):
        raise ValueError(f"a matrix of {count} nodes is {count} by {count}, not {validated.shape}")
    if not np.isfinite(validated).all() or (validated < 0).any():
        raise ValueError("traffic is finite and 0 or more")
    np.fill_diagonal(validated, 0.0)
    sources = np.flatnonzero(validated.any(axis=1))
    if len(sources):
        distance, _ = compute_trees(topology, np.ones(len(topology.arcs)), sources)
        row, target = np.nonzero((validated[sources] > 0) & ~np.isfinite(distance))
        if len(row):
            ends = topology.nodes[sources[row[0]]], topology.nodes[target[0]]
            raise ValueError(f"no links lead from {ends[0]} to {ends[1]}")
    return validated


def compute_tree_loads(topology: Topology, distance: Floats, last: Ints, traffic: Floats) -> Floats:
    """Compute the loads of traffic along S shortest-path trees, shape (E,).

    ``distance`` and ``last`` come from `spf.compute_trees`; ``traffic`` has shape (S, N).
    """
    passing = traffic.copy()
    loads = np.zeros(len(topology.arcs))
    rows = np.arange(len(traffic))
    farthest = np.argsort(-np.where(np.isfinite(distance), distance, 0.0), axis=1, kind="stable")
    for step in range(farthest.shape[1]):
        node = farthest[:, step]
        arc = last[rows, node]
        inner = arc >= 0
        amount, used = passing[rows[inner], node[inner]], arc[inner]
        loads += np.bincount(used, amount, len(loads))
        passing[rows[inner], topology.tail[used]] += amount
    return loads


def compute_price_bound(
    topology: Topology, price: Floats, distance: Floats, traffic: Floats
) -> float:
    """Compute by duality a lower bound of the maximum utilisation from any prices of arcs.

    It is the price of all traffic (S, N) on cheapest paths over the price of all capacity.
    ``distance`` (S, N) is the cost of the cheapest path from each source. Prices are 0 or more,
    some above.
    """
    paid = float((traffic * np.where(traffic > 0, distance, 0.0)).sum())
    return paid / float(price @ topology.capacity)
