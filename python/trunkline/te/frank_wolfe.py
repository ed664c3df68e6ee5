"""The least maximum utilisation to a stated gap, for networks too large for a linear program.

The maximum is replaced by the smooth (1/eta) log sum exp(eta u). Each step sends all traffic along
the paths that are cheapest at the gradient as prices, and moves the routing towards that as far as
is best. The same prices give a lower bound, so that the gap is proven at every step.

Sources: M. Frank, P. Wolfe, An Algorithm for Quadratic Programming, Nav. Res. Log. Q. 3, 1956;
D. Bienstock, Potential Function Methods for Approximately Solving Linear Programming Problems, 2002
(the exponential potential).
Differs: eta grows with the step, from what the first routing's utilisation suggests.
"""

import numpy as np

from trunkline.te.optimal_routing import (
    OptimalRouting,
    compute_price_bound,
    compute_tree_loads,
    tighten_bound,
)
from trunkline.te.spf import compute_trees
from trunkline.te.topology import Floats, Topology

MAX_STEPS = 400
MAX_BISECTIONS = 30
MAX_SHARPNESS = 400.0
"""Largest eta times the utilisation: beyond it the potential follows single links."""


def minimise_utilisation(
    topology: Topology, traffic: Floats, target_gap: float = 0.02, steps: int = MAX_STEPS
) -> OptimalRouting:
    """A routing near the least maximum utilisation, and a bound.

    Parameters
    ----------
    traffic : array of float64, shape (N, N)
        From `optimum.checked`, not all zero.
    target_gap : float
        Gap at which to end.
    steps : int
        Maximum number of steps.

    Returns
    -------
    OptimalRouting
        Without paths. The gap may be above ``target_gap`` if the steps ran out.
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
    """How far to go: the slope of the potential along the change is 0, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(MAX_BISECTIONS):
        middle = (low + high) / 2
        raised = eta * (utilisation + middle * change)
        if float(np.exp(raised - raised.max()) @ change) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2
