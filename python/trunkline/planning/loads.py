"""Load of every arc: demands on label-switched paths, and demands that follow IP routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trunkline import te

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    first.
    """
    traffic = build_demand_matrix(scenario, graph, names)
    return te.post_failure_routing.ShortestPathRouting(
        graph, graph.igp, traffic, single_path=True
    ).loads
