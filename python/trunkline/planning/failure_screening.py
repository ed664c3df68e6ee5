"""Screen failures: the load that the network carries after each, with its protection and routing.

The model has rates, not packets. It shows a label-switched path after all its protections have
switched: end to end, or else around the failure, or else restored. Without protection its load
travels to the failure and is lost there, since explicit routes stay. Load on IP routing, also
before and after a path, is rerouted if the scenario has `rerouting`; otherwise load that crosses
the failure is lost there, but still counts on the links behind the end of a path. TCP flows without
a demand offer no load.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline import te
from trunkline.planning.failures import (
    CERTAIN_WORST_PAIRS,
    MAX_SCREENED_PAIRS,
    FailureEvent,
    LinkPairs,
    add_outage,
    list_failure_events,
)
from trunkline.planning.loads import require_shortest_paths
from trunkline.planning.offered_loads import OfferedLoad, list_offered_loads
from trunkline.planning.repaired_paths import RepairedPaths
from trunkline.scenario.resolved.placement import build_topology

if TYPE_CHECKING:
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import ArcPath, Bools, Floats, Ints, Topology


@dataclass(frozen=True, slots=True)
class FailureImpact:
    """The effect of a failure."""

    failure: str
    # one of "link", "node", "risk", "named", "pair", "drained"; the kind of element that fails; a
    # planned outage alone is "drained".
    kind: str
    mlu: float  # Maximum utilisation of the links that are left [1].
    worst_link: str
    before: float  # Utilisation of that link without the failure [1].
    lost_bit_s: int  # Offered load that no longer has a path.
    # Part of it that no routing can carry, because an end is down or no link leads there.
    unavoidable_bit_s: int
    # Nodes that are up but cut off from the largest part of the network.
    disconnects: tuple[str, ...]
    rerouted: int  # Label-switched paths that take another route.
    unprotected: int  # Label-switched paths that are down.
    stretch_s: float  # Largest growth of the propagation of rerouted traffic [s].
    lost_by_class: dict[str, int]  # Lost load by class of demands [bit/s].
    scenario_keys: dict[str, Any]  # The failure's keys in the section `failures` of a scenario.

    @property
    def severity(self) -> tuple[int, float]:
        """Sort key, larger for worse: loss that better routing would avoid, then utilisation."""
        return self.lost_bit_s - self.unavoidable_bit_s, self.mlu


@dataclass(frozen=True, slots=True)
class RequiredCapacity:
    """Capacity that a direction of a link needs."""

    link: str
    capacity_bit_s: int
    # Least capacity that carries the load after every failure, with the routing of the scenario.
    needed_bit_s: int
    failure: str  # The failure that needs it; empty: needed without any.


@dataclass(frozen=True, slots=True)
class UnscreenedPairs:
    """Pairs of links that were not screened, with bounds on their effect."""

    pairs: int
    lost_bit_s: int  # Bound on the loss after any of them: the load on both links.
    # Bound on the utilisation after any of them, since no more load than that can move [1].
    mlu: float
    certain: int  # Number of screened pairs that are worse than any of them.


@dataclass(frozen=True, slots=True)
class Survival:
    """The screened failures of a scenario."""

    mlu: float  # Maximum link utilisation without a failure [1].
    offered_bit_s: int
    failures: tuple[FailureImpact, ...]  # The worst first.
    links: tuple[RequiredCapacity, ...]  # Every direction of a link, in the order of the scenario.
    scale: float  # Factor of all rates in a run; rates here are not scaled.
    # The pairs with the least load, if there are too many pairs to screen.
    left_out: UnscreenedPairs | None = None

    @property
    def undersized_links(self) -> tuple[RequiredCapacity, ...]:
        """Links that are too small, with or without a failure."""
        return tuple(each for each in self.links if each.needed_bit_s > each.capacity_bit_s)

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def survive(
    scenario: Scenario,
    *,
    kinds: Sequence[str] = ("link", "node", "risk"),
    ecmp: bool = False,
    every_pair: bool = False,
    out_of_service: str | None = None,
) -> Survival:
    """Screen failures.

    Parameters
    ----------
    scenario : Scenario
        Its failures do not happen at their times; those of several elements are risk groups.
    kinds : sequence of {"link", "node", "risk", "named", "pair"}
        Failures to screen; ``"named"`` are those of the scenario, of one element or several.
    ecmp : bool, default False
        Route everything by equal-cost multipath that follows failures, and ignore paths.
    every_pair : bool, default False
        Screen all pairs, or 20,000 if there are more; else until the worst are certain.
    out_of_service : str, optional
        A link that is down in every failure, and alone in one more of the kind "drained".

    Returns
    -------
    Survival
        Rates are not scaled by the `scale` of the scenario.

    Raises
    ------
    ScenarioError
        The scenario has static routes.
    """
    require_shortest_paths(scenario)
    resolved = scenario.resolve()
    graph = build_topology(resolved.get_unscaled())
    screen = _FailureScreen(resolved, graph, ecmp=ecmp)
    pairs = None
    if "pair" in kinds:
        pairs = LinkPairs(graph, screen.loads, screen.sum_unrestored_loads())
    events = list_failure_events(resolved, graph, kinds)
    if out_of_service is not None:
        events = add_outage(graph, events, out_of_service)
    return screen.screen_all(events, pairs, scenario.scale, every_pair=every_pair)


def compute_use_after_failure(scenario: Scenario, failure: str, kind: str) -> dict[str, float]:
    """Compute the utilisation of every direction of a link after a failure [1].

    ``failure`` and ``kind`` are those of a `FailureImpact`, except pairs of links.
    """
    resolved = scenario.resolve()
    graph = build_topology(resolved.get_unscaled())
    event = next(
        each for each in list_failure_events(resolved, graph, [kind]) if each.name == failure
    )
    after = _FailureScreen(resolved, graph, ecmp=False).find_loads_after(event)
    use = (after.loads / graph.capacity).tolist()
    return {arc.name: share for arc, share in zip(resolved.arcs, use, strict=True)}


@dataclass(frozen=True, slots=True, eq=False)
class _LoadsAfterFailure:
    """Loads of arcs after a failure, with what moved and what is lost."""

    loads: Floats
    component: Ints
    lost_loads: list[OfferedLoad]
    rerouted: int
    unprotected: int
    stretch: float


class _FailureScreen:
    """Loads without a failure, and the changes that each failure makes."""

    def __init__(self, scenario: ResolvedScenario, graph: Topology, *, ecmp: bool):
        self.scenario, self.graph = scenario, graph
        self.repairs = RepairedPaths(scenario, graph)
        self.offered_loads = list_offered_loads(scenario, graph, use_paths=not ecmp)
        self.ip_legs = {
            load: legs for load in self.offered_loads if (legs := self._list_ip_legs(load))
        }
        traffic = np.zeros((len(graph.nodes),) * 2)
        for load, legs in self.ip_legs.items():
            for ends in legs:
                traffic[ends] += load.rate
        self.routing = te.post_failure_routing.ShortestPathRouting(
            graph, graph.igp, traffic, single_path=not ecmp
        )
        self.has_rerouting = ecmp or scenario.rerouting is not None
        self.loads_by_path: dict[str, list[OfferedLoad]] = defaultdict(list)
        for load in self.offered_loads:
            if load.path is not None:
                self.loads_by_path[load.path].append(load)
        self.path_rate = {
            name: sum(offered.rate for offered in legs) for name, legs in self.loads_by_path.items()
        }
        self.loads = self.routing.loads.copy()
        self.paths_by_arc: dict[int, list[str]] = defaultdict(list)
        for name, rate in self.path_rate.items():
            for arc in self.repairs.route[name]:
                self.loads[arc] += rate
                self.paths_by_arc[arc].append(name)
        fixed_legs = (
            set()
            if self.has_rerouting
            else {ends for legs in self.ip_legs.values() for ends in legs}
        )
        self.fixed_routes = {ends: self.routing.find_path(*ends) for ends in fixed_legs}
        self.required = self.loads.copy()
        self.required_by = np.full(len(graph.arcs), -1)

    def _list_ip_legs(self, load: OfferedLoad) -> list[tuple[int, int]]:
        """List the legs on which a load follows IP routing: all of it, or to and from its path."""
        if load.path is None:
            return [(load.source, load.target)]
        route = self.repairs.route[load.path]
        head, tail = self.graph.tail[route[0]], self.graph.head[route[-1]]
        legs = [(load.source, int(head)), (int(tail), load.target)]
        return [ends for ends in legs if ends[0] != ends[1]]

    def sum_unrestored_loads(self) -> Floats:
        """Load of every arc that nothing restores; protection may fail in pairs of failures."""
        loads = np.zeros(len(self.loads)) if self.has_rerouting else self.routing.loads.copy()
        for name, rate in self.path_rate.items():
            if not self.repairs.is_restored(name):
                loads[list(self.repairs.route[name])] += rate
        return loads

    def _screen_pairs(
        self, pairs: LinkPairs, number: int, least: int
    ) -> tuple[list[FailureImpact], UnscreenedPairs | None]:
        """Screen at least some pairs, until all others are certainly less bad than the worst."""
        impacts: list[FailureImpact] = []
        worst_severities: list[tuple[float, float]] = []
        while len(impacts) < len(pairs):
            if len(impacts) >= max(least, CERTAIN_WORST_PAIRS) and (
                len(impacts) >= MAX_SCREENED_PAIRS
                or pairs.bound_severity(len(impacts)) <= worst_severities[0]
            ):
                break
            impact = self.screen_failure(number + len(impacts), pairs.make_event(len(impacts)))
            impacts.append(impact)
            heapq.heappush(worst_severities, impact.severity)
            if len(worst_severities) > CERTAIN_WORST_PAIRS:
                heapq.heappop(worst_severities)
        screened = len(impacts)
        if screened == len(pairs):
            return impacts, None
        bound = pairs.bound_severity(screened)
        certain = sum(impact.severity >= bound for impact in impacts)
        lost = math.ceil(pairs.pair_loads[screened:].max())
        return impacts, UnscreenedPairs(len(pairs) - screened, lost, bound[1], certain)

    def screen_all(
        self,
        events: Sequence[FailureEvent],
        pairs: LinkPairs | None,
        scale: float,
        *,
        every_pair: bool,
    ) -> Survival:
        impacts = [self.screen_failure(number, event) for number, event in enumerate(events)]
        unscreened = None
        if pairs is not None:
            pair_impacts, unscreened = self._screen_pairs(
                pairs, len(impacts), MAX_SCREENED_PAIRS if every_pair else 0
            )
            impacts += pair_impacts
        links = tuple(
            RequiredCapacity(
                self.scenario.arcs[arc].name,
                int(self.graph.capacity[arc]),
                int(np.ceil(self.required[arc])),
                impacts[self.required_by[arc]].failure if self.required_by[arc] >= 0 else "",
            )
            for arc in range(len(self.required))
        )
        return Survival(
            float((self.loads / self.graph.capacity).max(initial=0.0)),
            round(sum(each.rate for each in self.offered_loads)),
            tuple(sorted(impacts, key=lambda each: each.severity, reverse=True)),
            links,
            scale,
            unscreened,
        )

    def find_loads_after(self, event: FailureEvent) -> _LoadsAfterFailure:
        graph, dead = self.graph, event.dead_arcs
        component = te.post_failure_routing.find_components(graph, ~dead)
        lost_loads: dict[OfferedLoad, None] = {}
        loads, stretch = self._reroute_ip(dead, component, lost_loads)
        affected = dict.fromkeys(
            path_name for arc in np.flatnonzero(dead) for path_name in self.paths_by_arc[int(arc)]
        )
        unprotected = 0
        for name in affected:
            old, new = self.repairs.route[name], self.repairs.find_repaired_path(name, dead)
            loads[list(old)] -= self.path_rate[name]
            if new is None:
                unprotected += 1
                loads[_list_arcs_before_failure(old, dead)] += self.path_rate[name]
                lost_loads.update(dict.fromkeys(self.loads_by_path[name]))
                continue
            np.add.at(loads, list(new), self.path_rate[name])
            stretch_ns = int(graph.delay[list(new)].sum()) - int(graph.delay[list(old)].sum())
            stretch = max(stretch, stretch_ns)
        loads[dead] = 0.0
        return _LoadsAfterFailure(
            loads, component, list(lost_loads), len(affected) - unprotected, unprotected, stretch
        )

    def screen_failure(self, number: int, event: FailureEvent) -> FailureImpact:
        graph = self.graph
        after = self.find_loads_after(event)
        loads, component = after.loads, after.component
        lost: dict[str, float] = defaultdict(float)
        for load in after.lost_loads:
            lost[load.class_] += load.rate
        # Half a bit per second is rounding.
        exceeded = loads > self.required + 0.5
        self.required[exceeded], self.required_by[exceeded] = loads[exceeded], number
        utilisation = loads / graph.capacity
        worst = int(utilisation.argmax())
        return FailureImpact(
            event.name,
            event.kind,
            float(utilisation[worst]),
            self.scenario.arcs[worst].name,
            float(self.loads[worst] / graph.capacity[worst]),
            round(sum(lost.values())),
            round(
                sum(
                    each.rate
                    for each in self.offered_loads
                    if component[each.source] != component[each.target]
                )
            ),
            _list_cut_off_nodes(graph, component, event),
            after.rerouted,
            after.unprotected,
            float(after.stretch) / 1e9,
            {class_: round(rate) for class_, rate in sorted(lost.items())},
            event.scenario_keys,
        )

    def _reroute_ip(
        self, dead: Bools, component: Ints, lost_loads: dict[OfferedLoad, None]
    ) -> tuple[Floats, float]:
        """Compute all loads, those by IP routing after the failure, and their stretch."""
        if self.has_rerouting:
            after = self.routing.route_after_failure(dead)
            for load, legs in self.ip_legs.items():
                if any(component[source] != component[target] for source, target in legs):
                    lost_loads[load] = None
            return self.loads - self.routing.loads + after.loads, after.stretch
        loads = self.loads.copy()
        broken_legs = {ends for ends, route in self.fixed_routes.items() if dead[list(route)].any()}
        for load, legs in self.ip_legs.items() if broken_legs else ():
            for ends in broken_legs.intersection(legs):
                loads[list(self.fixed_routes[ends])] -= load.rate
                loads[_list_arcs_before_failure(self.fixed_routes[ends], dead)] += load.rate
                lost_loads[load] = None
        return loads, 0.0


def _list_arcs_before_failure(route: ArcPath, dead: Bools) -> list[int]:
    """List the arcs that are loaded still where nothing takes over: those before the failure."""
    return list(route[: next(position for position, arc in enumerate(route) if dead[arc])])


def _list_cut_off_nodes(graph: Topology, component: Ints, event: FailureEvent) -> tuple[str, ...]:
    """List the nodes that are up but separate from the largest part."""
    up = [node for node in range(len(component)) if node not in event.dead_nodes]
    largest = np.bincount(component[up]).argmax() if up else 0
    return tuple(graph.nodes[node] for node in up if component[node] != largest)
