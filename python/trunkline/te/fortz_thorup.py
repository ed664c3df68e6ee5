"""The cost of congestion of Fortz and Thorup: a convex, piecewise linear function of the load.

Source: B. Fortz, M. Thorup, Internet Traffic Engineering by Optimizing OSPF Weights, INFOCOM 2000,
section II: slopes 1, 3, 10, 70, 500, 5000 from utilisations 0, 1/3, 2/3, 9/10, 1, 11/10.
"""

import numpy as np

from trunkline.te.spf import compute_distances
from trunkline.te.topology import Floats, Topology

SLOPES = (1.0, 3.0, 10.0, 70.0, 500.0, 5000.0)
SLOPE_STARTS = (0.0, 1 / 3, 2 / 3, 9 / 10, 1.0, 11 / 10)  # Utilisation at which each slope begins.
SLOPE_WIDTHS = tuple(np.diff([*SLOPE_STARTS, np.inf]).tolist())


def compute_cost(topology: Topology, loads: Floats) -> float:
    """Compute the cost of the loads of all arcs, in bit/s.

    A load below a third of the capacity costs itself.
    """
    total = 0.0
    for start, width, slope in zip(SLOPE_STARTS, SLOPE_WIDTHS, SLOPES, strict=True):
        capacity = topology.capacity
        piece = np.clip(loads - start * capacity, 0.0, np.minimum(width, 1e30) * capacity)
        total += slope * float(piece.sum())
    return total


def compute_uncapacitated_cost(topology: Topology, traffic: Floats) -> float:
    """Compute the cost on links without limit: every demand on its fewest hops, at slope 1.

    A cost divided by it is normalised: 1 is ideal, 10 2/3 is the cost if all links were just full.
    """
    targets = np.flatnonzero(traffic.any(axis=0))
    distance = compute_distances(topology, np.ones(len(topology.arcs)), targets)
    demand = traffic.T[targets]
    return float((demand * np.where(demand > 0, distance, 0.0)).sum())
