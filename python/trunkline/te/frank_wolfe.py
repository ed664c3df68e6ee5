"""The least maximum utilisation to a given gap, for networks too large for a linear program.

The smooth (1/eta) log sum exp(eta u) replaces the maximum. Each step sends all traffic along the
paths that are cheapest at the gradient as prices, and moves the routing in that direction by the
best length. The same prices give a lower bound, so every step proves its gap.

Sources: M. Frank, P. Wolfe, An Algorithm for Quadratic Programming, Nav. Res. Log. Q. 3, 1956;
D. Bienstock, Potential Function Methods for Approximately Solving Linear Programming Problems, 2002
(the exponential potential).

Differs: eta grows with the step, from a start that the utilisation of the first routing suggests.
"""

import numpy as np

from trunkline.te.spf import compute_trees
from trunkline.te.split_routing import (
    OptimalRouting,
    compute_price_bound,
    compute_tree_loads,
    tighten_bound,
)
from trunkline.te.topology import Floats, Topology

MAX_STEPS = 400
MAX_BISECTIONS = 30
MAX_SHARPNESS = 400.0
"""Largest eta times the utilisation: beyond it the potential follows single links."""


def minimise_utilisation(
    topology: Topology, traffic: Floats, target_gap: float = 0.02, steps: int = MAX_STEPS
) -> OptimalRouting:
    """Find a routing near the least maximum utilisation, without paths, and a bound.

    ``traffic`` comes from `split_routing.validate_traffic` and is not all zero. The gap may be
    above ``target_gap`` if the steps ran out.
    """
    sources = np.flatnonzero(traffic.any(axis=1))
    source_traffic = traffic[sources]
    capacity = topology.capacity.astype(np.float64)

    def route_cheapest(price: Floats) -> tuple[Floats, float]:
        distance, last = compute_trees(topology, price, sources)
        loads = compute_tree_loads(topology, distance, last, source_traffic)
        return loads, compute_price_bound(topology, price, distance, source_traffic)

    current_loads, bound = route_cheapest(1.0 / capacity)
    best_loads = current_loads
    eta = 8.0 / float((current_loads / capacity).max())
    step = 1
    while step < steps:
        mlu = float((best_loads / capacity).max())
        if mlu <= (1.0 + target_gap) * bound:
            break
        step += 1
        utilisation = current_loads / capacity
        price = np.exp(eta * (utilisation - utilisation.max())) / capacity
        price = np.maximum(price, 1e-9 * price.max())
        cheapest_loads, step_bound = route_cheapest(price)
        bound = max(bound, step_bound)
        current_loads = current_loads + _find_step_length(
            eta, utilisation, (cheapest_loads - current_loads) / capacity
        ) * (cheapest_loads - current_loads)
        if float((current_loads / capacity).max()) < mlu:
            best_loads = current_loads
        if step % 10 == 0:
            # By 1.3 it is sooner on most networks, and on some it never comes near the bound.
            eta = min(eta * 1.15, MAX_SHARPNESS / mlu)
    mlu = float((best_loads / capacity).max())
    return OptimalRouting("frank-wolfe", mlu, tighten_bound(mlu, bound), best_loads, {}, step)


def _find_step_length(eta: float, utilisation: Floats, change: Floats) -> float:
    """Find by bisection the length at which the slope of the potential along the change is 0."""
    low, high = 0.0, 1.0
    for _ in range(MAX_BISECTIONS):
        middle = (low + high) / 2
        raised = eta * (utilisation + middle * change)
        if float(np.exp(raised - raised.max()) @ change) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2
