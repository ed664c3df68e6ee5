"""Place the label-switched paths of a scenario and list routes, refusals and their reasons."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline import te
from trunkline.planning.explicit_scenario import rerouted
from trunkline.planning.loads import compute_igp_loads, list_igp_demands, sum_path_loads
from trunkline.planning.routing_methods import MethodComparison, RoutingMethod
from trunkline.scenario.resolved.backups import outcome_of_backup
from trunkline.scenario.resolved.placement import (
    build_topology,
    explain_unplaced,
    format_route,
    is_computed,
    place_all_paths as place_paths,
)
from trunkline.scenario.te import CLASS_TYPE_NAMES

if TYPE_CHECKING:
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.placement import Placement, PlacementOutcome
    from trunkline.te.topology import Floats, Topology


@dataclass(frozen=True, slots=True)
class PlacedPath:
    """A label-switched path with its route, or the reason why it has none."""

    path: str
    # Nodes, and links where several are parallel; empty if it is not placed.
    route: tuple[str, ...]
    bandwidth_bit_s: int
    placed: bool
    why: str  # Reason of the refusal; empty if it is placed.
    class_type: str  # CT0 to CT7.
    setup: int
    hold: int
    displaced_by: tuple[str, ...]  # The path that displaced it, each time.


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """The load of a direction of a link."""

    link: str
    capacity_bit_s: int
    load_bit_s: int  # Demands that cross it, on paths or by IP routing.
    reserved_bit_s: int  # Reservations of placed paths.
    utilisation: float  # Load over capacity [1].
    # Reserved by class type [bit/s]; types without a reservation are left out.
    by_class_type: dict[str, int]


@dataclass(frozen=True, slots=True)
class RoutingPlan:
    """The placed paths of a scenario, with links and other routings to compare."""

    # The plan itself, other routings of the same demands, and the bound.
    methods: tuple[RoutingMethod, ...]
    # paths, links: In the order of the scenario.
    paths: tuple[PlacedPath, ...]
    links: tuple[LinkLoad, ...]
    scale: float  # Factor of all rates in a run; rates here are not scaled.

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def dump_plan_json(scenario: Scenario) -> str | None:
    """Dump the plan that a report shows, which is stored with the results, as JSON.

    None if nothing is planned: no demands, no computed path, no other scale.
    """
    has_auto = any(is_computed(path) for path in scenario.paths.values())
    if not scenario.demands and not has_auto and scenario.scale == 1:
        return None
    return json.dumps(place(scenario, thorough=False).to_dict())


def place(scenario: Scenario, *, reoptimise: bool = False, thorough: bool = True) -> RoutingPlan:
    """Place every path of a scenario, computed or written.

    Parameters
    ----------
    scenario : Scenario
        Loaded with `trunkline.scenario.resolved.placement.unplaced_paths_allowed` if a path that
        cannot be placed is listed, without an error.
    reoptimise : bool
        Move computed paths off the busiest link afterwards, within their constraints.
    thorough : bool
        Compute the bound also in networks where that takes more than a moment.

    Returns
    -------
    RoutingPlan
        Rates are not scaled by the `scale` of the scenario.

    Raises
    ------
    ValueError
        A holding priority weaker than the setup priority, or a model that does not fit.
    """
    resolved = scenario.resolve()
    unscaled = resolved.get_unscaled()
    graph = build_topology(unscaled)
    placement = unscaled.placement or place_paths(unscaled, graph)
    igp_loads = compute_igp_loads(unscaled, graph, list_igp_demands(unscaled))
    loads_by_method = {"placed": igp_loads + sum_lsp_loads(unscaled, graph, placement)}
    if reoptimise:
        placement = _reoptimised(scenario, graph, placement, igp_loads)
        loads_by_method["reoptimised"] = igp_loads + sum_lsp_loads(unscaled, graph, placement)
    loads = list(loads_by_method.values())[-1]
    return RoutingPlan(
        _compare_methods(unscaled, graph, loads_by_method, thorough),
        tuple(_make_placed_path(unscaled, graph, each) for each in placement.outcomes),
        list_link_loads(unscaled, graph, placement, loads),
        scenario.scale,
    )


def _reoptimised(scenario: Scenario, graph: Topology, made: Placement, base: Floats) -> Placement:
    """The placement after computed paths have moved, with backups for their new routes."""
    full = scenario.resolve().get_unscaled()
    backups = (
        []
        if full.computed_backups is None
        else [each.name for each in full.computed_backups.backups]
    )
    working = tuple(each for each in made.outcomes if each.request.name not in backups)
    # Paths that an event sets up hold nothing in the plan of the start.
    pinned = [
        name
        for name, path in scenario.paths.items()
        if not is_computed(path) or name not in made.reservations.holders
    ]
    before = replace(made, outcomes=working)
    moved, _ = te.reoptimisation.reoptimise_placement(
        graph, before, sum_path_loads(full), base, pinned
    )
    if not backups:
        return moved
    routes = {
        each.request.name: format_route(full, each.route.path)
        for each in moved.outcomes
        if each.route is not None
    }
    new = rerouted(scenario, routes).resolve().get_unscaled()
    found = () if new.computed_backups is None else new.computed_backups.backups
    own = tuple(outcome_of_backup(new, graph, each) for each in found)
    return replace(moved, outcomes=moved.outcomes + own)


def sum_lsp_loads(scenario: ResolvedScenario, graph: Topology, placement: Placement) -> Floats:
    """Load of every arc by demands on label-switched paths [bit/s]."""
    loads = np.zeros(len(graph.arcs))
    path_loads = sum_path_loads(scenario)
    for outcome in placement.outcomes:
        if outcome.route is not None:
            loads[list(outcome.route.path)] += path_loads.get(outcome.request.name, 0)
    return loads


def _make_placed_path(
    scenario: ResolvedScenario, graph: Topology, outcome: PlacementOutcome
) -> PlacedPath:
    request = outcome.request
    return PlacedPath(
        request.name,
        () if outcome.route is None else format_route(scenario, outcome.route.path),
        request.constraints.bandwidth,
        outcome.route is not None,
        explain_unplaced(graph, outcome) if outcome.route is None else "",
        CLASS_TYPE_NAMES[request.class_type],
        request.setup,
        request.hold,
        outcome.displaced_by,
    )


def list_link_loads(
    scenario: ResolvedScenario, graph: Topology, placement: Placement | None, loads: Floats
) -> tuple[LinkLoad, ...]:
    """Load and reservation of every direction of a link, in order; nothing reserved if not made."""
    reserved = np.zeros((len(graph.arcs), len(CLASS_TYPE_NAMES)), dtype=np.int64)
    if placement is not None:
        reserved = placement.reservations.reserved.sum(axis=2)
    return tuple(
        LinkLoad(
            arc.name,
            int(graph.capacity[index]),
            round(float(loads[index])),
            int(reserved[index].sum()),
            float(loads[index] / graph.capacity[index]),
            {
                type_: int(reserved[index, column])
                for column, type_ in enumerate(CLASS_TYPE_NAMES)
                if reserved[index, column]
            },
        )
        for index, arc in enumerate(scenario.arcs)
    )


def _compare_methods(
    scenario: ResolvedScenario, graph: Topology, loads_by_method: dict[str, Floats], thorough: bool
) -> tuple[RoutingMethod, ...]:
    """Compare the plan with routing by the IGP and with the optimum."""
    comparison = MethodComparison(scenario, graph)
    is_bounded = bool(scenario.demands) and comparison.preferred_form in (
        "arcs",
        *["paths", "frank-wolfe"] * thorough,
    )
    rated = [
        comparison.rate_loads(name, loads, comparison.single_path_bound if is_bounded else None)
        for name, loads in loads_by_method.items()
    ]
    return (*rated, *(comparison.rate_igp_and_optimum() if is_bounded else ()))
