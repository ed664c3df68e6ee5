"""Costs of shortest paths, for warnings about the nodes that traffic passes."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from trunkline.scenario.resolved import ResolvedArc

_MAX_START_NODES = 500  # Nodes from which distances are computed; of more, no warning is given.


@dataclass
class PathCosts:
    """Costs of shortest paths, computed on demand."""

    arcs: Iterable[ResolvedArc]
    costs_from: dict[str, dict[str, int]] = field(default_factory=dict)

    def is_on_shortest_path(self, source: str, middle: str, target: str) -> bool:
        """Whether some shortest path from source to target passes a node (or may, unknown)."""
        if middle in (source, target):
            return True
        if len(self.costs_from) > _MAX_START_NODES:
            return True
        costs_from_source = self.compute_costs(source)
        costs_from_middle = self.compute_costs(middle)
        return costs_from_source[middle] + costs_from_middle[target] == costs_from_source[target]

    def compute_costs(self, start: str) -> dict[str, int]:
        """Compute the costs from a node (Dijkstra)."""
        if start in self.costs_from:
            return self.costs_from[start]
        costs = {start: 0}
        waiting = [(0, start)]
        while waiting:
            cost, node = heapq.heappop(waiting)
            if cost > costs[node]:
                continue
            for target, metric in self._neighbours.get(node, ()):
                total = cost + metric
                if total < costs.get(target, total + 1):
                    costs[target] = total
                    heapq.heappush(waiting, (total, target))
        self.costs_from[start] = costs
        return costs

    @cached_property
    def _neighbours(self) -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {}
        for arc in self.arcs:
            found.setdefault(arc.source, []).append((arc.target, arc.options.metric))
        return found
