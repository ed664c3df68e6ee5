"""Costs of shortest paths, for doubts about who passes where."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from trunkline.scenario.resolved import Arc

_MAX_STARTS = 500  # nodes from which distances are worked out; beyond, the doubts go unsaid


@dataclass
class Distances:
    """Costs of shortest paths, worked out as they are asked for."""

    arcs: Iterable[Arc]
    known: dict[str, dict[str, int]] = field(default_factory=dict)

    def on_the_way(self, source: str, middle: str, target: str) -> bool:
        """Whether some shortest path from source to target passes a node (or may, unknown)."""
        if middle in (source, target):
            return True
        if len(self.known) > _MAX_STARTS:
            return True
        near, far = self.of(source), self.of(middle)
        return near[middle] + far[target] == near[target]

    def of(self, start: str) -> dict[str, int]:
        """Costs from a node (Dijkstra)."""
        if start in self.known:
            return self.known[start]
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
        self.known[start] = costs
        return costs

    @cached_property
    def _neighbours(self) -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {}
        for arc in self.arcs:
            found.setdefault(arc.source, []).append((arc.target, arc.options.metric))
        return found
