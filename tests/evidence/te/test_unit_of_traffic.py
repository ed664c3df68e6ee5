"""No result depends on the unit of traffic: a hundred thousandth of all rates changes none.

Capacities are whole, so the large unit is the one that they are written in.
"""

from __future__ import annotations

import numpy as np
import pytest

from trunkline.te import fortz_thorup
from trunkline.te.arc_formulation import minimise_added_capacity, minimise_congestion
from trunkline.te.capacity_expansion import CapacityModule, choose_modules
from trunkline.te.igp_weights import search_weights
from trunkline.te.optimal_routing import minimise_utilisation
from trunkline.te.post_failure_routing import ShortestPathRouting
from trunkline.te.robust_routing import minimise_worst_utilisation
from trunkline.te.topology import Arc, Topology, add_reverse_arcs, build_topology
from trunkline.te.unsplittable import Commodity, compute_lower_bound, route_unsplittable

UNIT = 100_000
PAIRS = ["AB", "BC", "CD", "DE", "EA", "AC", "BD"]


def build_graph(unit: int) -> Topology:
    rates = [3, 4, 3, 5, 4, 2, 3]
    metrics = [1, 2, 1, 3, 1, 3, 2]
    arcs = [
        Arc(*ends, rate * unit, igp=cost, delay=7 * cost)
        for ends, rate, cost in zip(PAIRS, rates, metrics, strict=True)
    ]
    return build_topology("ABCDEF", add_reverse_arcs([*arcs, Arc("E", "F", 4 * unit, delay=2)]))


def draw_traffic(seed: int) -> np.ndarray:
    """Demands of parts of one unit, none to or from the last node."""
    draw = np.random.default_rng(seed)
    traffic = draw.random((6, 6)) * (draw.random((6, 6)) < 0.5) * 0.9
    np.fill_diagonal(traffic, 0.0)
    traffic[5] = traffic[:, 5] = 0.0
    traffic[0, 3] = 0.8
    return traffic


def compute_results(unit: int, seed: int) -> dict[str, object]:
    """Each number is a ratio, or is divided by the unit."""
    graph, traffic = build_graph(unit), draw_traffic(seed) * unit
    found: dict[str, object] = {}
    for form in ("arcs", "paths", "frank-wolfe"):
        routed = minimise_utilisation(graph, traffic, form)
        found |= {f"{form} mlu": routed.mlu, f"{form} bound": routed.bound}
        # Of equal optima the solver may take another, so that the paths are not compared.
        found[f"{form} ends"] = sorted(routed.shares)
    least = minimise_congestion(graph, traffic)
    found |= {"least cost": least.cost / unit, "its mlu": least.mlu}
    found["ideal cost"] = fortz_thorup.compute_uncapacitated_cost(graph, traffic) / unit
    weights = search_weights(graph, traffic, evaluations=40)
    found |= {"weights": weights.weights.tolist(), "their cost": weights.cost}
    for single_path in (False, True):
        routing = ShortestPathRouting(graph, graph.igp, traffic, single_path=single_path)
        for link in range(len(graph.links)):
            after = routing.route_after_failure(graph.link == link)
            found[f"after {link} {single_path}"] = [
                *(after.loads / unit).tolist(),
                after.lost / unit,
                after.moved / unit,
                after.stretch,
            ]
    demands = [
        Commodity(int(a), int(b), traffic[a, b]) for a, b in zip(*np.nonzero(traffic), strict=True)
    ]
    single = route_unsplittable(graph, demands)
    found |= {"single paths": single.paths, "their mlu": single.mlu, "moves": single.moves}
    found["single bound"] = compute_lower_bound(graph, demands, 0.0)
    dead = [graph.link == link for link in (-1, 0, 2)]
    cases = [(3 * traffic, arcs) for arcs in dead]
    added = minimise_added_capacity(graph, cases)
    found |= {"added": added.capacity.sum() / unit, "bottlenecks": added.is_bottleneck.tolist()}
    module = CapacityModule("m", 2 * unit, tuple(float(3 + link % 4) for link in range(8)), 4)
    choice = choose_modules(graph, cases, [module])
    found |= {"modules": choice.cost, "their bound": choice.bound}
    ends = [(each.source, each.target) for each in demands[:3]]
    rates = np.array([[each.rate for each in demands[:3]]] * 2) * [[1.0], [0.5]]
    for protection in ("none", "backup", "one-plus-one", "facility-bypass"):
        failures = np.array(dead[:1] if protection == "none" else dead)
        robust = minimise_worst_utilisation(graph, ends, rates, failures, protection)
        found[protection] = [robust.mlu, robust.bound, robust.single_path_bound]
        found[protection] += [robust.split_mlu, robust.shortest_mlu, *robust.worst.ravel().tolist()]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_thousandth_of_every_rate_gives_the_same(seed: int) -> None:
    small, large = compute_results(1, seed), compute_results(UNIT, seed)
    for key, value in large.items():
        is_list_of_floats = isinstance(value, list) and value and isinstance(value[0], float)
        if is_list_of_floats or isinstance(value, float):
            assert small[key] == pytest.approx(value, rel=1e-6, abs=1e-9), key
        else:
            assert small[key] == value, key
