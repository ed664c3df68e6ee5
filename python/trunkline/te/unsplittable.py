"""One path for each demand with a low maximum utilisation: greedy, then by local search.

The largest demand is placed first, on the path that adds least to the sum of utilisation^8 over
links. Then demands on the busiest link move, the largest first, to the path that adds least among
those on which every link stays below the present maximum, until none can move. Each move either
lowers the maximum or leaves one busiest link fewer.

The problem is NP-hard: J. M. Kleinberg, Single-Source Unsplittable Flow, FOCS 1996. There is a
bound: no routing is better than the optimum with splitting, and none carries the largest demand on
a path wider than its widest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from trunkline.te.spf import find_cheapest_path
from trunkline.te.topology import ArcPath, Bools, Floats, Topology

UTILISATION_POWER = 8
MIN_RELATIVE_DECREASE = 1e-9  # Relative difference from which a maximum counts as lower.
RerouteFunction = Callable[[int, Bools, Floats], "ArcPath | None"]
"""A path for a demand over the arcs allowed, given the utilisation of arcs without it."""


@dataclass(frozen=True, slots=True)
class Commodity:
    """A demand that is not split, with a rate of 0 or more."""

    source: int
    target: int
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class UnsplittableRouting:
    """One path for each demand, in the order of the demands.

    ``greedy_mlu`` is the maximum utilisation before demands moved; ``moves`` counts them.
    """

    paths: list[ArcPath]
    mlu: float
    greedy_mlu: float
    moves: int
    loads: Floats


def route_unsplittable(
    topology: Topology, demands: Sequence[Commodity], start: Sequence[ArcPath] | None = None
) -> UnsplittableRouting:
    """Place demands on single paths, beginning with greedy paths or with ``start``."""
    capacity = topology.capacity.astype(np.float64)
    loads = np.zeros(len(capacity))
    paths: list[ArcPath] = [()] * len(demands)
    all_arcs = np.ones(len(capacity), dtype=bool)

    def route(number: int, allowed: Bools, utilisation: Floats) -> ArcPath | None:
        each = demands[number]
        price = price_added_load(utilisation, each.rate / capacity)
        return find_cheapest_path(topology, price, each.source, each.target, allowed)

    for number in sorted(range(len(demands)), key=lambda n: (-demands[n].rate, n)):
        path = route(number, all_arcs, loads / capacity) if start is None else start[number]
        assert path is not None
        paths[number] = path
        loads[list(path)] += demands[number].rate
    rates = np.array([each.rate for each in demands])
    greedy = float((loads / capacity).max(initial=0.0))
    loads, moves = relieve_busiest_link(capacity, rates, paths, route)
    return UnsplittableRouting(
        paths, float((loads / capacity).max(initial=0.0)), greedy, moves, loads
    )


def relieve_busiest_link(
    capacity: Floats,
    rates: Floats,
    paths: list[ArcPath],
    route: RerouteFunction,
    background_loads: Floats | None = None,
) -> tuple[Floats, int]:
    """Move demands off the busiest link while that lowers the maximum, or leaves fewer at it.

    rates: shape (D,): Rate of each demand.
    paths: Path of each demand, changed in place; an empty one takes no part.
    route: See `RerouteFunction`; it returns paths of allowed arcs only.
    background_loads: shape (E,): Load that stays where it is.
    Returns loads: After the moves.
    Returns moves: How many.
    """
    fixed_loads = np.zeros(len(capacity)) if background_loads is None else background_loads
    loads = fixed_loads + sum_path_loads(paths, rates, len(capacity))
    demands_on: list[set[int]] = [set() for _ in capacity]
    for number, path in enumerate(paths):
        for arc in path:
            demands_on[arc].add(number)
    moves, moved = 0, True
    while moved and loads.any():
        moved = False
        busiest = int((loads / capacity).argmax())
        target_utilisation = float(loads[busiest] / capacity[busiest]) * (
            1.0 - MIN_RELATIVE_DECREASE
        )
        for number in sorted(demands_on[busiest], key=lambda n: (-rates[n], n)):
            if not rates[number]:
                break
            old_path = list(paths[number])
            loads_without = loads.copy()
            loads_without[old_path] -= rates[number]
            utilisation = loads_without / capacity
            new_path = route(
                number, utilisation + rates[number] / capacity < target_utilisation, utilisation
            )
            if new_path is None:
                continue
            for arc in old_path:
                demands_on[arc].discard(number)
            for arc in new_path:
                demands_on[arc].add(number)
            paths[number] = new_path
            loads = loads_without
            loads[list(new_path)] += rates[number]
            moves, moved = moves + 1, True
            break
    return fixed_loads + sum_path_loads(paths, rates, len(capacity)), moves


def sum_path_loads(paths: Sequence[ArcPath], rates: Floats, count: int) -> Floats:
    """Sum the loads of demands on paths for ``count`` arcs."""
    arcs = np.array([arc for path in paths for arc in path], dtype=np.int64)
    hops = [len(path) for path in paths]
    return np.bincount(arcs, np.repeat(rates, hops), count).astype(np.float64)


def price_added_load(utilisation: Floats, added_utilisation: Floats) -> Floats:
    """Compute the increase by a demand of the sum of utilisation^8 on each arc, in any unit."""
    highest = float((utilisation + added_utilisation).max())
    price: Floats = ((utilisation + added_utilisation) / highest) ** UTILISATION_POWER - (
        utilisation / highest
    ) ** UTILISATION_POWER
    return price + 1e-12


def compute_lower_bound(
    topology: Topology, demands: Sequence[Commodity], split_bound: float
) -> float:
    """Compute a maximum utilisation that no routing on single paths undercuts.

    It is the larger of ``split_bound``, the bound with splitting, and of each demand over the
    narrowest link of its widest path.
    """
    lower_bound = split_bound
    narrowest = min(topology.capacity.tolist(), default=1)
    widest: dict[int, list[float]] = {}
    for each in sorted(demands, key=lambda each: -each.rate):
        if each.rate / narrowest <= lower_bound:
            break
        if each.source not in widest:
            widest[each.source] = _compute_widths(topology, each.source)
        lower_bound = max(lower_bound, each.rate / widest[each.source][each.target])
    return lower_bound


def _compute_widths(topology: Topology, source: int) -> list[float]:
    """Find the narrowest link of the widest path to each node (Dijkstra over the minimum)."""
    width = [0.0] * len(topology.nodes)
    heap = [(-float("inf"), source)]
    while heap:
        narrow, node = heappop(heap)
        if -narrow <= width[node]:
            continue
        width[node] = -narrow
        for arc in topology.arcs_from[node]:
            head = int(topology.head[arc])
            through = min(-narrow, float(topology.capacity[arc]))
            if through > width[head]:
                heappush(heap, (-through, head))
    return width
