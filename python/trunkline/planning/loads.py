"""Load of every arc: demands on label-switched paths, and demands that follow IP routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trunkline import te
from trunkline.scenario.resolved.static_routes import StartRoutes
from trunkline.scenario.unsupported import make_unsupported_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import Floats, Topology


def list_igp_demands(scenario: ResolvedScenario) -> list[str]:
    """List the names of the demands that no trunk carries on a path."""
    on_trunks = {flow for trunk in scenario.trunks.values() for flow in trunk.flows}
    return [name for name in scenario.demands if name not in on_trunks]


def sum_path_loads(scenario: ResolvedScenario) -> dict[str, int]:
    """Sum the demands of the trunks of each path [bit/s]; 0 for a path that carries none."""
    loads = dict.fromkeys(scenario.paths, 0)
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            if flow in scenario.demands and trunk.path in loads:
                loads[trunk.path] += scenario.demands[flow].rate
    return loads


def build_demand_matrix(
    scenario: ResolvedScenario, graph: Topology, names: Iterable[str]
) -> Floats:
    """Build the matrix of demands, shape (N, N) [bit/s]."""
    traffic = np.zeros((len(graph.nodes), len(graph.nodes)))
    for name in names:
        demand = scenario.demands[name]
        traffic[graph.node_number[demand.source], graph.node_number[demand.target]] += demand.rate
    return traffic


def compute_igp_loads(scenario: ResolvedScenario, graph: Topology, names: Iterable[str]) -> Floats:
    """Compute the load of demands on IP routing as in the packet engine, shape (E,) [bit/s].

    Among next hops of equal cost the one listed first in `nodes` is taken, then the link listed
    first. Static routes go before it, as there.
    """
    if not has_shortest_paths(scenario):
        return _follow_start_routes(scenario, names)
    traffic = build_demand_matrix(scenario, graph, names)
    return te.post_failure_routing.ShortestPathRouting(
        graph, graph.igp, traffic, single_path=True
    ).loads


def has_shortest_paths(scenario: ResolvedScenario) -> bool:
    """Whether packets without a path follow the IGP alone."""
    return scenario.routing.igp and not scenario.static_routes


def require_shortest_paths(scenario: Scenario) -> None:
    """Refuse a scenario with static routes.

    Raises ScenarioError: It has some, or no IGP.
    """
    resolved = scenario.resolve()
    if has_shortest_paths(resolved):
        return
    places: list[tuple[str | int, ...]] = (
        [route.place for route in resolved.static_routes[:1]]
        if resolved.routing.igp
        else [("routing", "igp")]
    )
    text = (
        "loads after failures and during migrations follow the IGP, without static routes; "
        "nearest: `trunkline run`"
    )
    raise make_unsupported_error("relation", scenario, [(text, place) for place in places])


def _follow_start_routes(scenario: ResolvedScenario, names: Iterable[str]) -> Floats:
    """Compute loads hop by hop; a demand without a route loads the links up to there."""
    number = {name: index for index, name in enumerate(scenario.arc_by_name)}
    loads = np.zeros(len(number))
    routes = StartRoutes(scenario)
    for name in names:
        demand = scenario.demands[name]
        next_arcs = routes.find_arcs(demand.target)
        node = demand.source
        while node != demand.target and next_arcs.get(node):
            arc = next_arcs[node][0]
            loads[number[arc]] += demand.rate
            node = scenario.arc_by_name[arc].target
    return loads
