"""Move placed label-switched paths off the busiest link, within all their constraints.

A head end could make each move alone, apart from make before break: the path takes the shortest
path that meets its constraints without preemption, on links that stay below the present maximum.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from trunkline.te.admission import Reservation
from trunkline.te.cspf import ConstrainedPath, find_constrained_path
from trunkline.te.placement import Placement, find_arcs_to_avoid, find_disjoint_partners
from trunkline.te.topology import ArcPath, Bools, Floats, Topology
from trunkline.te.unsplittable import relieve_busiest_link

WEAKEST_PRIORITY = 7  # At this priority all reservations count: nobody is displaced.


def reoptimise_placement(
    topology: Topology,
    placement: Placement,
    rates: Mapping[str, float],
    background_loads: Floats | None = None,
    pinned: Collection[str] = (),
) -> tuple[Placement, int]:
    """Move paths while that lowers the maximum utilisation, or leaves fewer links at it.

    placement: From `placement.place_paths`; its reservations are changed.
    rates: Load of each path in bit/s.
    background_loads: shape (E,): Load that stays where it is.
    pinned: Paths that stay where they are.
    Returns placement: With the new routes.
    Returns moves: How many moves; a path may move more than once.
    """
    reservations = placement.reservations
    outcomes = {each.request.name: each for each in placement.outcomes}
    movable = [
        name for name, each in outcomes.items() if each.route is not None and name not in pinned
    ]
    partners_by_name = find_disjoint_partners(each.request for each in placement.outcomes)
    fixed_loads = (
        np.zeros(len(topology.arcs)) if background_loads is None else background_loads.copy()
    )
    for name, each in outcomes.items():
        if each.route is not None and name in pinned:
            fixed_loads[list(each.route.path)] += rates.get(name, 0.0)

    def reroute(number: int, allowed: Bools, _: Floats) -> ArcPath | None:
        name = movable[number]
        outcome = outcomes[name]
        request = outcome.request
        old = reservations.tear_down(name)
        avoid = find_arcs_to_avoid(topology, partners_by_name.get(name, {}), outcomes)
        constraints = replace(request.constraints, avoid=request.constraints.avoid | avoid)
        free = reservations.get_unreserved(request.class_type, WEAKEST_PRIORITY)
        found = find_constrained_path(
            topology, request.source, request.target, constraints, free, allowed
        )
        if not isinstance(found, ConstrainedPath):
            reservations.reserve(name, old)
            return None
        held = Reservation(found.path, old.bandwidth, old.class_type, old.hold)
        reservations.reserve(name, held)
        outcomes[name] = replace(outcome, route=found)
        return found.path

    paths = [reservations.holders[name].path for name in movable]
    movable_rates = np.array([float(rates.get(name, 0.0)) for name in movable])
    _, moves = relieve_busiest_link(
        topology.capacity.astype(np.float64), movable_rates, paths, reroute, fixed_loads
    )
    return replace(placement, outcomes=tuple(outcomes.values())), moves
