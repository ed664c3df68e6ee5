"""Paths and backups for the worst of many states: each failure, and each hour of the demands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from trunkline.planning.failures import list_failure_events
from trunkline.planning.placement import LinkLoad, PlacedPath, RoutingPlan
from trunkline.planning.routing_methods import RoutingMethod
from trunkline.scenario.resolved.placement import build_topology, format_route
from trunkline.scenario.te import CLASS_TYPE_NAMES
from trunkline.te.robust_program import RobustRouting
from trunkline.te.robust_routing import minimise_worst_utilisation
from trunkline.te.split_routing import compute_gap

if TYPE_CHECKING:
    from trunkline.planning.failures import FailureEvent
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import Floats, Topology

RobustProtection = Literal["none", "backup", "one-plus-one", "facility-bypass"]
SCENARIO_PROTECTIONS: tuple[RobustProtection, ...] = ("one-plus-one", "facility-bypass")
"""Protections of a scenario that are kept; others become backups from end to end."""
HourDemand = tuple[str, str, str, float]  # Source, destination, class or empty, and rate [bit/s].
NO_FAILURE = "none"


@dataclass(frozen=True, slots=True)
class StateLoad:
    """The busiest link in one state of the network."""

    hour: str  # Empty where there is one matrix.
    # failure, kind: Name and kind of the failure; both "none" without one.
    failure: str
    kind: str
    mlu: float  # Maximum link utilisation [1].
    worst_link: str


@dataclass(frozen=True, slots=True)
class LinkBypass:
    """The path round a direction of a link, for all paths that cross it."""

    link: str
    route: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RobustPlan(RoutingPlan):
    """One path for each demand, with its backup, placed for the worst state.

    The load of a link is its largest over all states, which may be of different states.
    """

    # Protection: nothing; a backup that carries nothing before a failure, so that backups of
    # different failures share bandwidth; a backup that carries a copy at all times; a bypass round
    # the failed link.
    protection: RobustProtection
    backups: dict[str, tuple[str, ...]]  # Route of the backup of each path.
    states: tuple[StateLoad, ...]  # The worst first.
    # Bypass of each direction of a link that fails and carries a path.
    bypasses: tuple[LinkBypass, ...]
    # Whether every path and backup was listed, so that the bounds are the optima.
    is_complete: bool
    method: Literal["robust"] = "robust"


def place_robustly(
    scenario: Scenario,
    *,
    kinds: Sequence[str] = ("link", "node", "risk"),
    protection: RobustProtection | None = None,
    hours: Mapping[str, Sequence[HourDemand]] | None = None,
) -> RobustPlan:
    """Place one path, and a backup, for each demand so that the worst state is loaded least.

    Parameters
    ----------
    scenario : Scenario
        With demands. Its paths and their constraints are ignored.
    kinds : sequence of {"link", "node", "risk", "named"}
        Failures that count; none: only the hours do. A backup avoids each failure of its path,
        except those that separate the ends.
    protection : {"none", "backup", "one-plus-one", "facility-bypass"}, optional
        By default that of the scenario's first protection if it is one of these, else
        ``"backup"``; ``"none"`` without failures.
    hours : mapping of str to sequence of (str, str, str, float), optional
        Demands of each hour, in place of the rates in the scenario: ends, class (empty: all), rate
        [bit/s]. A rate for several demands is shared among them in proportion to their rates.

    Returns
    -------
    RobustPlan
        Rates are not scaled by the `scale` of the scenario.

    Raises
    ------
    ValueError
        No demands, no failure and no hour, a demand of an hour that the scenario lacks, ends that
        no links join, no pair of paths apart, or a bypass where nodes fail.
    """
    resolved = scenario.resolve().get_unscaled()
    if not resolved.demands:
        raise ValueError("the scenario has no demands")
    graph = build_topology(resolved)
    events = list_failure_events(resolved, graph, kinds)
    if not events and not hours:
        raise ValueError("there is no failure and no hour to place paths for")
    if protection is None:
        protection = _find_protection(scenario) if events else "none"
    if protection == "facility-bypass" and any(event.dead_nodes for event in events):
        raise ValueError(
            "a bypass round a link does not survive the failure of its end: leave failures of "
            "nodes out, or protect from end to end"
        )
    names = list(hours) if hours else [""]
    rates = _collect_rates(resolved, hours)
    ends = [
        (graph.node_number[each.source], graph.node_number[each.target])
        for each in resolved.demands.values()
    ]
    no_failure = np.zeros(len(graph.arcs), dtype=bool)
    failures = np.array([no_failure, *(event.dead_arcs for event in events)])
    routing = minimise_worst_utilisation(graph, ends, rates, failures, protection)
    return _make_plan(scenario, resolved, graph, events, names, protection, rates, routing)


def _find_protection(scenario: Scenario) -> RobustProtection:
    kinds = [each.kind for each in scenario.protections.values()]
    return next((each for each in SCENARIO_PROTECTIONS if [each] == kinds[:1]), "backup")


def _collect_rates(
    scenario: ResolvedScenario, hours: Mapping[str, Sequence[HourDemand]] | None
) -> Floats:
    """Collect the rate of every demand in every hour, shape (M, D) [bit/s]."""
    own = np.array([float(each.rate) for each in scenario.demands.values()])
    if not hours:
        return own[None, :]
    numbers: dict[tuple[str, str, str], list[int]] = {}
    for number, demand in enumerate(scenario.demands.values()):
        for class_name in (demand.class_, ""):
            numbers.setdefault((demand.source, demand.target, class_name), []).append(number)
    rates = np.zeros((len(hours), len(own)))
    for row, (hour, demands) in zip(rates, hours.items(), strict=True):
        for source, target, class_name, rate in demands:
            if source == target or not rate:
                continue
            chosen = numbers.get((source, target, class_name))
            if chosen is None:
                of_class = f" of class {class_name}" if class_name else ""
                raise ValueError(
                    f"hour {hour} has a demand from {source} to {target}{of_class}, which the "
                    "scenario lacks"
                )
            row[chosen] += rate * own[chosen] / own[chosen].sum()
    if not rates.any():
        raise ValueError("no hour has a demand")
    return rates


def _make_plan(
    scenario: Scenario,
    resolved: ResolvedScenario,
    graph: Topology,
    events: Sequence[FailureEvent],
    hours: Sequence[str],
    protection: RobustProtection,
    rates: Floats,
    routing: RobustRouting,
) -> RobustPlan:
    paths, backups = [], {}
    for (name, demand), pair in zip(resolved.demands.items(), routing.paths, strict=True):
        route = format_route(resolved, pair.path)
        paths.append(PlacedPath(name, route, demand.rate, True, "", CLASS_TYPE_NAMES[0], 7, 7, ()))
        if pair.backup is not None:
            backups[name] = format_route(resolved, pair.backup)
    failures = [(NO_FAILURE, NO_FAILURE), *((each.name, each.kind) for each in events)]
    use = routing.loads / graph.capacity
    states = [
        StateLoad(
            hour,
            *failure,
            float(use[traffic, number].max()),
            resolved.arcs[int(use[traffic, number].argmax())].name,
        )
        for traffic, hour in enumerate(hours)
        for number, failure in enumerate(failures)
    ]
    largest = routing.loads.max(axis=(0, 1))
    links = tuple(
        LinkLoad(
            arc.name,
            int(graph.capacity[index]),
            round(float(largest[index])),
            0,
            float(largest[index] / graph.capacity[index]),
            {},
        )
        for index, arc in enumerate(resolved.arcs)
    )
    methods = [
        _rate_method("robust", routing.mlu, routing.single_path_bound),
        _rate_method("robust, split", routing.split_mlu, routing.bound),
        _rate_method("shortest", routing.shortest_mlu, routing.single_path_bound),
    ]
    return RobustPlan(
        tuple(methods),
        tuple(paths),
        links,
        scenario.scale,
        protection,
        backups,
        tuple(sorted(states, key=lambda each: -each.mlu)),
        _list_bypasses(resolved, routing),
        routing.is_complete,
    )


def _list_bypasses(resolved: ResolvedScenario, routing: RobustRouting) -> tuple[LinkBypass, ...]:
    names = list(resolved.demands)
    return tuple(
        LinkBypass(
            resolved.arcs[arc].name,
            format_route(resolved, route),
            tuple(
                name for name, pair in zip(names, routing.paths, strict=True) if arc in pair.path
            ),
        )
        for arc, route in sorted(routing.bypasses.items())
    )


def _rate_method(name: str, mlu: float, bound: float) -> RoutingMethod:
    return RoutingMethod(name, mlu, bound, compute_gap(mlu, bound))
