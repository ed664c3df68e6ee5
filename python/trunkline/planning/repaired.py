"""Where a label-switched path goes once all protections have switched."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from trunkline import te
from trunkline.scenario.recovery import LOCAL
from trunkline.scenario.resolved.protections import covers, span

if TYPE_CHECKING:
    from trunkline.scenario.recovery import Protection
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Bools, Path, Topology


class Repairs:
    """Paths of a scenario and what takes over for them.

    A backup from end to end comes first, then local repair at the nodes before the failures, then a
    restored path: the shortest that is left, as the engines compute it.

    Parameters
    ----------
    scenario : Resolved
        With its routes and protections.
    graph : Topology
        Its graph, arcs in the same order.

    Attributes
    ----------
    route : dict of str to tuple of int
        Arcs of every path, tunnels followed.
    """

    def __init__(self, scenario: Resolved, graph: Topology):
        self.scenario, self.graph = scenario, graph
        number = {arc.name: index for index, arc in enumerate(scenario.arcs)}
        self.route: dict[str, Path] = {
            name: tuple(number[each.arc.name] for each in its.crossings)
            for name, its in scenario.routes.items()
        }
        self._whole: dict[str, list[Protection]] = defaultdict(list)
        self._local: dict[str, list[tuple[int, int, Protection]]] = defaultdict(list)
        self._restored: set[str] = set()
        for its in scenario.protections.values():
            for path in its.path:
                self._add(path, its)

    def _add(self, path: str, its: Protection) -> None:
        if its.kind == "restoration":
            self._restored.add(path)
        elif its.kind not in LOCAL:
            self._whole[path].append(its)
        elif (where := span(self.scenario, its, path)) is not None:
            self._local[path].append((*where, its))

    def restores(self, path: str) -> bool:
        """Whether a path is restored: it goes on as long as links join its ends."""
        return path in self._restored

    def after(self, path: str, dead: Bools) -> Path | None:
        """Way of a path's packets without some arcs.

        Parameters
        ----------
        dead : array of bool, shape (E,)
            Arcs that are down.

        Returns
        -------
        tuple of int or None
            Arcs; None: nothing takes over.
        """
        route = self.route[path]
        for its in self._whole[path]:
            if any(dead[arc] and self._covers(its, arc) for arc in route):
                spare = self.route[its.backup or ""]
                if not dead[list(spare)].any():
                    return spare
        way = self._around(path, route, dead)
        if way is None and path in self._restored:
            ends = int(self.graph.tail[route[0]]), int(self.graph.head[route[-1]])
            ones = np.ones(len(dead))
            return te.cspf.shortest(self.graph, *ends, self.graph.igp, ~dead, ones)
        return way

    def _around(self, path: str, route: Path, dead: Bools) -> Path | None:
        way: list[int] = []
        at = 0
        while at < len(route):
            broken = next((i for i in range(at, len(route)) if dead[route[i]]), None)
            if broken is None:
                way += route[at:]
                break
            fits = [
                (first, last, spare)
                for first, last, its in self._local[path]
                if at <= first <= broken < last
                and self._covers(its, route[broken])
                and not dead[list(spare := self.route[its.backup or ""])].any()
            ]
            if not fits:
                return None
            # The node next to the failure repairs.
            first, last, spare = max(fits, key=lambda each: each[0])
            way += (*route[at:first], *spare)
            at = last
        return tuple(way)

    def _covers(self, its: Protection, arc: int) -> bool:
        return covers(its, self.scenario.arcs[arc])
