"""The route of a label-switched path after all protections have switched."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from trunkline import te
from trunkline.scenario.recovery import LOCAL_PROTECTION_KINDS
from trunkline.scenario.resolved.protections import covers_arc, find_span

if TYPE_CHECKING:
    from trunkline.scenario.recovery import Protection
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import ArcPath, Bools, Topology


class RepairedPaths:
    """Paths of a scenario with their repairs.

    A backup from end to end is tried first, then local repair at the nodes before the failures,
    then a restored path: the shortest that is left, as the engines compute it.

    route: dict of str to tuple of int; arcs of every path, through tunnels.
    """

    def __init__(self, scenario: ResolvedScenario, graph: Topology):
        self.scenario, self.graph = scenario, graph
        number = {arc.name: index for index, arc in enumerate(scenario.arcs)}
        self.route: dict[str, ArcPath] = {
            name: tuple(number[each.arc.name] for each in crossed.crossings)
            for name, crossed in scenario.routes.items()
        }
        self._end_to_end: dict[str, list[Protection]] = defaultdict(list)
        self._local: dict[str, list[tuple[int, int, Protection]]] = defaultdict(list)
        self._restored: set[str] = set()
        for crossed in scenario.protections.values():
            for path in crossed.path:
                self._add_protection(path, crossed)

    def _add_protection(self, path: str, protection: Protection) -> None:
        if protection.kind == "restoration":
            self._restored.add(path)
        elif protection.kind not in LOCAL_PROTECTION_KINDS:
            self._end_to_end[path].append(protection)
        elif (hop_range := find_span(self.scenario, protection, path)) is not None:
            self._local[path].append((*hop_range, protection))

    def is_restored(self, path: str) -> bool:
        """Test whether a path is restored: it continues as long as links join its ends."""
        return path in self._restored

    def find_repaired_path(self, path: str, dead: Bools) -> ArcPath | None:
        """Find the route of the packets of a path without dead arcs; None without a repair."""
        route = self.route[path]
        for protection in self._end_to_end[path]:
            if any(dead[arc] and self._is_covered(protection, arc) for arc in route):
                backup = self.route[protection.backup or ""]
                if not dead[list(backup)].any():
                    return backup
        repaired = self._repair_locally(path, route, dead)
        if repaired is None and path in self._restored:
            end_nodes = int(self.graph.tail[route[0]]), int(self.graph.head[route[-1]])
            weights = np.ones(len(dead))
            return te.cspf.find_shortest_path(
                self.graph, *end_nodes, self.graph.igp, ~dead, weights
            )
        return repaired

    def _repair_locally(self, path: str, route: ArcPath, dead: Bools) -> ArcPath | None:
        repaired: list[int] = []
        position = 0
        while position < len(route):
            broken = next((i for i in range(position, len(route)) if dead[route[i]]), None)
            if broken is None:
                repaired += route[position:]
                break
            candidates = [
                (first, last, backup)
                for first, last, protection in self._local[path]
                if position <= first <= broken < last
                and self._is_covered(protection, route[broken])
                and not dead[list(backup := self.route[protection.backup or ""])].any()
            ]
            if not candidates:
                return None
            # The node next to the failure repairs.
            first, last, backup = max(candidates, key=lambda each: each[0])
            repaired += (*route[position:first], *backup)
            position = last
        return tuple(repaired)

    def _is_covered(self, protection: Protection, arc: int) -> bool:
        return covers_arc(protection, self.scenario.arcs[arc])
