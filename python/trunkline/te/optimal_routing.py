"""The least maximum link utilisation over all ways to split traffic, exact or bounded.

There are three forms of the same linear program: by arcs (`arc_formulation`), by paths
(`column_generation`), and the Frank-Wolfe method on a smooth maximum (`frank_wolfe`), which is not
exact but proves its gap. The size decides which one is fastest; `minimise_utilisation` chooses.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trunkline.te.spf import compute_trees
from trunkline.te.topology import ArcPath, Floats, Ints, Topology

Formulation = Literal["arcs", "paths", "frank-wolfe"]
MAX_ARC_COLUMNS = 40_000
"""Sources times arcs up to which the form by arcs is the soonest: about 70 nodes, a few seconds."""
MAX_PATH_DEMANDS = 10_000  # Demands up to which column generation ends soon.
ROUNDING_TOLERANCE = 1e-7  # Tolerance of a linear program's solver.
MAX_SOURCE_NODE_PAIRS = 4_000_000
"""Sources times nodes up to which Frank-Wolfe is tried: 2,000 nodes with a full mesh."""


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


def minimise_utilisation(
    topology: Topology, traffic: Floats, form: Formulation | None = None, target_gap: float = 0.02
) -> OptimalRouting:
    """Route traffic, split where that helps, so that the busiest link is loaded least.

    traffic: shape (N, N): The diagonal does not count.
    form: one of "arcs", "paths", "frank-wolfe"; by default by size: arcs up to 40,000 columns,
        paths up to 10,000 demands, else Frank-Wolfe.
    target_gap: Gap at which Frank-Wolfe ends.
    Returns: Utilisation and bound; equal, to rounding, but for ``frank-wolfe``.
    Raises ValueError: Traffic between nodes that no path joins, negative traffic, or more than can
        be solved.
    """
    from trunkline.te import arc_formulation, column_generation, frank_wolfe

    validated = validate_traffic(topology, traffic)
    count = int(np.count_nonzero(validated))
    if not count:
        return OptimalRouting(form or "arcs", 0.0, 0.0, np.zeros(len(topology.arcs)), {})
    chosen = form or choose_formulation(topology, validated)
    if chosen == "arcs":
        return arc_formulation.minimise_utilisation(topology, validated)
    if chosen == "paths":
        return column_generation.minimise_utilisation(topology, validated)
    return frank_wolfe.minimise_utilisation(topology, validated, target_gap)


def choose_formulation(topology: Topology, traffic: Floats) -> Formulation:
    """Choose the form that answers soonest. Raises ValueError: More than can be solved."""
    sources = int(np.count_nonzero(traffic.any(axis=1)))
    if sources * len(topology.arcs) <= MAX_ARC_COLUMNS:
        return "arcs"
    if np.count_nonzero(traffic) <= MAX_PATH_DEMANDS:
        return "paths"
    cells = sources * len(topology.nodes)
    if cells > MAX_SOURCE_NODE_PAIRS:
        raise ValueError(
            f"{sources} sources in {len(topology.nodes)} nodes are too many to bound: each step "
            f"would take about {cells * 40 / 1e9:.0f} GB; {MAX_SOURCE_NODE_PAIRS} "
            f"pairs are the limit"
        )
    return "frank-wolfe"


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
