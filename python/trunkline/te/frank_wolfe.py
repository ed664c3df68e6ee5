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

from trunkline.te.optimum import Optimum, price_bound, proven, tree_loads
from trunkline.te.spf import trees
from trunkline.te.topology import Floats, Topology

STEPS = 400
HALVINGS = 30
SHARPEST = 400.0
"""Largest eta times the utilisation: beyond it the potential follows single links."""


def minimum_utilisation(
    topology: Topology, traffic: Floats, close: float = 0.02, steps: int = STEPS
) -> Optimum:
    """A routing near the least maximum utilisation, and a bound.

    Parameters
    ----------
    traffic : array of float64, shape (N, N)
        From `optimum.checked`, not all zero.
    close : float
        Gap at which to end.
    steps : int
        Maximum number of steps.

    Returns
    -------
    Optimum
        Without paths. The gap may be above ``close`` if the steps ran out.
    """
    sources = np.flatnonzero(traffic.any(axis=1))
    wanted = traffic[sources]
    capacity = topology.capacity.astype(np.float64)

    def cheapest(price: Floats) -> tuple[Floats, float]:
        away, last = trees(topology, price, sources)
        loads = tree_loads(topology, away, last, wanted)
        return loads, price_bound(topology, price, away, wanted)

    now, bound = cheapest(1.0 / capacity)
    best = now
    eta = 8.0 / float((now / capacity).max())
    step = 1
    while step < steps:
        mlu = float((best / capacity).max())
        if mlu <= (1.0 + close) * bound:
            break
        step += 1
        use = now / capacity
        price = np.exp(eta * (use - use.max())) / capacity
        price = np.maximum(price, 1e-9 * price.max())
        target, least = cheapest(price)
        bound = max(bound, least)
        now = now + _length(eta, use, (target - now) / capacity) * (target - now)
        if float((now / capacity).max()) < mlu:
            best = now
        if step % 10 == 0:
            # By 1.3 it is sooner on most networks, and on some it never comes near the bound.
            eta = min(eta * 1.15, SHARPEST / mlu)
    mlu = float((best / capacity).max())
    return Optimum("frank-wolfe", mlu, proven(mlu, bound), best, {}, step)


def _length(eta: float, use: Floats, change: Floats) -> float:
    """How far to go: the slope of the potential along the change is 0, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        raised = eta * (use + middle * change)
        if float(np.exp(raised - raised.max()) @ change) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2
