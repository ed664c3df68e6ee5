"""Load of every arc: demands on label-switched paths, and those that follow IP routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trunkline import te

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Floats, Topology


def on_igp(scenario: Resolved) -> list[str]:
    """Demands that no trunk takes onto a path.

    Returns
    -------
    list of str
        Names, in order.
    """
    taken = {flow for trunk in scenario.trunks.values() for flow in trunk.flows}
    return [name for name in scenario.demands if name not in taken]


def carried(scenario: Resolved) -> dict[str, int]:
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


def matrix(scenario: Resolved, graph: Topology, names: Iterable[str]) -> Floats:
    """Demands as a matrix.

    Returns
    -------
    array of float64, shape (N, N)
        Bit/s from the row's node to the column's.
    """
    table = np.zeros((len(graph.nodes), len(graph.nodes)))
    for name in names:
        each = scenario.demands[name]
        table[graph.node[each.source], graph.node[each.target]] += each.rate
    return table


def by_igp(scenario: Resolved, graph: Topology, names: Iterable[str]) -> Floats:
    """Load of demands that follow IP routing as the packet engine does it.

    Among next hops of equal cost the one listed first in `nodes` is taken, then the link listed
    first.

    Returns
    -------
    array of float64, shape (E,)
        Bit/s.
    """
    traffic = matrix(scenario, graph, names)
    return te.survive.Routing(graph, graph.igp, traffic, single=True).loads
