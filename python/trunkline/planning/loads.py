"""Load of every arc: demands on label-switched paths, and those that follow IP routing."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from trunkline import te

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Floats, Topology

__all__ = ["by_igp", "carried", "matrix", "on_igp"]


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
    loads = np.zeros(len(graph.arcs))
    by_target: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for name in names:
        each = scenario.demands[name]
        by_target[graph.node[each.target]][graph.node[each.source]] += each.rate
    if not by_target:
        return loads
    targets = np.array(sorted(by_target), dtype=np.int64)
    away = te.spf.distances(graph, graph.igp, targets)
    for row, target in enumerate(targets.tolist()):
        waiting = dict(by_target[target])
        for node in sorted(range(len(graph.nodes)), key=lambda n: -away[row, n]):
            load = waiting.get(node, 0)
            if not load or node == target or not np.isfinite(away[row, node]):
                continue
            arc = min(
                (
                    arc
                    for arc in graph.leaving[node]
                    if graph.igp[arc] + away[row, graph.head[arc]] == away[row, node]
                ),
                key=lambda arc: (graph.head[arc], arc),
            )
            loads[arc] += load
            head = int(graph.head[arc])
            waiting[head] = waiting.get(head, 0) + load
    return loads
