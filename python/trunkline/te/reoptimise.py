"""Move placed label-switched paths off the busiest link, within all their constraints.

Each move is what a head end could do alone, make before break aside: the shortest path that meets
its constraints without displacing anybody, on links that stay below the present maximum.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from trunkline.te.admission import Reservation
from trunkline.te.cspf import Route, cspf
from trunkline.te.place import Placement, partners, shared_with
from trunkline.te.topology import Bools, Floats, Path, Topology
from trunkline.te.unsplit import relieve

WEAKEST = 7
"""At this priority all reservations count: nobody is displaced."""


def reoptimise(
    topology: Topology,
    placement: Placement,
    rates: Mapping[str, float],
    base: Floats | None = None,
    keep: Collection[str] = (),
) -> tuple[Placement, int]:
    """Move paths while that lowers the maximum utilisation, or leaves fewer links at it.

    Parameters
    ----------
    placement : Placement
        From `place.place`; its reservations are changed.
    rates : mapping of str to float
        Load of each path in bit/s.
    base : array of float64, shape (E,), optional
        Load that stays where it is.
    keep : collection of str
        Paths that stay where they are.

    Returns
    -------
    placement : Placement
        With the new routes.
    moves : int
        How many paths moved, counted each time.
    """
    state = placement.state
    outcomes = {each.request.name: each for each in placement.outcomes}
    moving = [
        name for name, each in outcomes.items() if each.route is not None and name not in keep
    ]
    apart = partners(each.request for each in placement.outcomes)
    fixed = np.zeros(len(topology.arcs)) if base is None else base.copy()
    for name, each in outcomes.items():
        if each.route is not None and name in keep:
            fixed[list(each.route.path)] += rates.get(name, 0.0)

    def route(number: int, allowed: Bools, _: Floats) -> Path | None:
        name = moving[number]
        outcome = outcomes[name]
        request = outcome.request
        old = state.tear(name)
        avoid = shared_with(topology, apart.get(name, {}), outcomes)
        asked = replace(request.asked, avoid=request.asked.avoid | avoid)
        free = state.unreserved(request.class_type, WEAKEST)
        found = cspf(topology, request.source, request.target, asked, free, allowed)
        if not isinstance(found, Route):
            state.hold(name, old)
            return None
        held = Reservation(found.path, old.bandwidth, old.class_type, old.hold)
        state.hold(name, held)
        outcomes[name] = replace(outcome, route=found)
        return found.path

    paths = [state.holders[name].path for name in moving]
    carried = np.array([float(rates.get(name, 0.0)) for name in moving])
    _, moves = relieve(topology.capacity.astype(np.float64), carried, paths, route, fixed)
    return replace(placement, outcomes=tuple(outcomes.values())), moves
