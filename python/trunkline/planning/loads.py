"""Load of every arc: demands on label-switched paths, and those that follow IP routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trunkline import te

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import Floats, Topology


def list_igp_demands(scenario: ResolvedScenario) -> list[str]:
    """Demands that no trunk takes onto a path.

    Returns
    -------
    list of str
        Names, in order.
    """
    on_trunks = {flow for trunk in scenario.trunks.values() for flow in trunk.flows}
    return [name for name in scenario.demands if name not in on_trunks]


def sum_path_loads(scenario: ResolvedScenario) -> dict[str, int]:
    """Load of each path: the demands of its trunks.

    Returns
    -------
    dict of str to int
        Bit/s by path; 0 for a path that carries no demand.
    """
    loads = dict.fromkeys(scenario.paths, 0)
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            if flow in scenario.demands and trunk.path in loads:
                loads[trunk.path] += scenario.demands[flow].rate
    return loads


def build_demand_matrix(
    scenario: ResolvedScenario, graph: Topology, names: Iterable[str]
) -> Floats:
    """Demands as a matrix.

    Returns
    -------
    array of float64, shape (N, N)
        Bit/s from the row's node to the column's.
    """
    traffic = np.zeros((len(graph.nodes), len(graph.nodes)))
    for name in names:
        demand = scenario.demands[name]
        traffic[graph.node_number[demand.source], graph.node_number[demand.target]] += demand.rate
    return traffic


def compute_igp_loads(scenario: ResolvedScenario, graph: Topology, names: Iterable[str]) -> Floats:
    """Load of demands that follow IP routing as the packet engine does it.

    Among next hops of equal cost the one listed first in `nodes` is taken, then the link listed
    first.

    Returns
    -------
    array of float64, shape (E,)
        Bit/s.
    """
    traffic = build_demand_matrix(scenario, graph, names)
    return te.post_failure_routing.ShortestPathRouting(
        graph, graph.igp, traffic, single_path=True
    ).loads
