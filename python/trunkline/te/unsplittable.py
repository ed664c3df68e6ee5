"""Route each demand on one path so that the busiest link is loaded little: greedy, then better.

The largest demand goes first, on the path that adds least to the sum of utilisation^8 over links.
Then the demands on the busiest link are moved, the largest first, to the path that adds least among
those on which every link stays below the present maximum, until none can move: each move either
lowers the maximum or leaves one busiest link fewer.

The problem is NP-hard: J. M. Kleinberg, Single-Source Unsplittable Flow, FOCS 1996. What is known
is a bound: no routing is better than the optimum with splitting, and none carries the largest
demand on a path wider than its widest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from trunkline.te.spf import find_cheapest_path
from trunkline.te.topology import ArcPath, Bools, Floats, Topology

UTILISATION_POWER = 8
MIN_RELATIVE_DECREASE = 1e-9
"""Relative difference from which a maximum counts as lower."""
RerouteFunction = Callable[[int, Bools, Floats], "ArcPath | None"]
"""A path for a demand over the arcs allowed, given the utilisation of arcs without it."""


@dataclass(frozen=True, slots=True)
class Commodity:
    """A demand that is not split.

    Parameters
    ----------
    source, target : int
        Nodes; different.
    rate : float
        Above 0.
    """

    source: int
    target: int
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class UnsplittableRouting:
    """One path for each demand.

    Parameters
    ----------
    paths : list of tuple of int
        Arcs, in the order of the demands.
    mlu : float
        Maximum link utilisation [1].
    greedy_mlu : float
        That before demands were moved [1].
    moves : int
        How many moved.
    loads : array of float64, shape (E,)
        In the unit of the demands.
    """

    paths: list[ArcPath]
    mlu: float
    greedy_mlu: float
    moves: int
    loads: Floats


def route_unsplittable(
    topology: Topology, demands: Sequence[Commodity], start: Sequence[ArcPath] | None = None
) -> UnsplittableRouting:
    """Place demands on single paths.

    Parameters
    ----------
    demands : sequence of Commodity
        Between nodes that links join.
    start : sequence of tuple of int, optional
        Paths to begin with in place of greedy ones.

    Returns
    -------
    UnsplittableRouting
        The routing.
    """
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

    Parameters
    ----------
    capacity : array of float64, shape (E,)
        Of each arc.
    rates : array of float64, shape (D,)
        Of each demand.
    paths : list of tuple of int
        Of each demand, changed in place; an empty one takes no part.
    route : callable
        See `RerouteFunction`; what it gives uses allowed arcs alone.
    background_loads : array of float64, shape (E,), optional
        Load that stays where it is.

    Returns
    -------
    loads : array of float64, shape (E,)
        After the moves.
    moves : int
        How many.
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
    """Loads that demands on paths make.

    Parameters
    ----------
    paths : sequence of tuple of int
        Arcs of each of D demands.
    rates : array of float64, shape (D,)
        Of each.
    count : int
        Number of arcs E.

    Returns
    -------
    array of float64, shape (E,)
        In the unit of the rates.
    """
    arcs = np.array([arc for path in paths for arc in path], dtype=np.int64)
    hops = [len(path) for path in paths]
    return np.bincount(arcs, np.repeat(rates, hops), count).astype(np.float64)


def price_added_load(utilisation: Floats, added_utilisation: Floats) -> Floats:
    """What a demand adds to the sum of utilisation^8 on each arc.

    Parameters
    ----------
    utilisation : array of float64, shape (E,)
        Utilisation without it.
    added_utilisation : array of float64, shape (E,)
        What it would add to it.

    Returns
    -------
    array of float64, shape (E,)
        Above 0; in an arbitrary unit.
    """
    highest = float((utilisation + added_utilisation).max())
    price: Floats = ((utilisation + added_utilisation) / highest) ** UTILISATION_POWER - (
        utilisation / highest
    ) ** UTILISATION_POWER
    return price + 1e-12


def compute_lower_bound(
    topology: Topology, demands: Sequence[Commodity], split_bound: float
) -> float:
    """No routing on single paths has a smaller maximum utilisation.

    Parameters
    ----------
    demands : sequence of Commodity
        What is routed.
    split_bound : float
        A lower bound with splitting, see `optimum`.

    Returns
    -------
    float
        The larger of that and of each demand over the narrowest link of its widest path [1].
    """
    lower_bound = split_bound
    narrowest = float(topology.capacity.min(initial=1))
    widest: dict[int, list[float]] = {}
    for each in sorted(demands, key=lambda each: -each.rate):
        if each.rate / narrowest <= lower_bound:
            break
        if each.source not in widest:
            widest[each.source] = _compute_widths(topology, each.source)
        lower_bound = max(lower_bound, each.rate / widest[each.source][each.target])
    return lower_bound


def _compute_widths(topology: Topology, source: int) -> list[float]:
    """Narrowest link of the widest path to each node: Dijkstra with the least for the sum."""
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
