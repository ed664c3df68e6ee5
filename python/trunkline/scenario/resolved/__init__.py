"""The meaning of a scenario: defaults merged, replicas and `all` expanded, routes computed.

A scenario is resolved by passes, in order, each a function in a file of its own here. A pass reads
what those before it made and adds its part to the one `ResolvedScenario`; it reports what it cannot
work out. Whatever a section of the language computes (routes, flows, protections), it computes
here, so that checks judge it and the compiler writes it like anything that was written by hand.
"""

from collections.abc import Callable

from trunkline.scenario.model import ScenarioSections
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.backups import resolve_backups
from trunkline.scenario.resolved.classes import resolve_classes
from trunkline.scenario.resolved.demands import resolve_demands
from trunkline.scenario.resolved.diffserv import resolve_diffserv
from trunkline.scenario.resolved.drained_paths import resolve_drains
from trunkline.scenario.resolved.flows import resolve_flows
from trunkline.scenario.resolved.links import resolve_links
from trunkline.scenario.resolved.meshes import expand_meshes
from trunkline.scenario.resolved.placement import resolve_placement
from trunkline.scenario.resolved.protections import resolve_protections
from trunkline.scenario.resolved.replicas import ScenarioTooLarge, name_flows
from trunkline.scenario.resolved.resolved import (
    LinkCrossing,
    ResolvedArc,
    ResolvedDemand,
    ResolvedScenario,
    ResolvedStaticRoute,
    Route,
    RouteHop,
)
from trunkline.scenario.resolved.routes import resolve_routes
from trunkline.scenario.resolved.scale import scale_rates
from trunkline.scenario.resolved.schedules import read_schedules
from trunkline.scenario.resolved.segments import resolve_segments
from trunkline.scenario.resolved.slas import resolve_slas
from trunkline.scenario.resolved.static_routes import resolve_static_routes
from trunkline.scenario.resolved.traffic import resolve_traffic
from trunkline.scenario.resolved.trunks import resolve_trunks
from trunkline.scenario.resolved.workloads import resolve_workloads

__all__ = [
    "PASSES",
    "LinkCrossing",
    "ResolvedArc",
    "ResolvedDemand",
    "ResolvedScenario",
    "ResolvedStaticRoute",
    "Route",
    "RouteHop",
    "resolve",
]

PASSES: tuple[Callable[[ResolvedScenario, Problems], None], ...] = (
    resolve_links,
    resolve_static_routes,
    resolve_demands,
    expand_meshes,
    resolve_traffic,
    resolve_workloads,
    resolve_flows,
    name_flows,
    read_schedules,
    resolve_classes,
    resolve_diffserv,
    resolve_trunks,
    resolve_segments,
    resolve_placement,
    resolve_backups,
    scale_rates,
    resolve_routes,
    resolve_protections,
    resolve_drains,
    resolve_slas,
)
"""Passes in their order. One that makes links is before `links`, one that makes flows
before `flows`, which gives them their defaults, and so on."""


def resolve(scenario: ScenarioSections, problems: Problems) -> ResolvedScenario | None:
    """Resolves a scenario.

    scenario: A scenario whose every key is of the right kind and in range.
    problems: Gets faults of the resolution; findings about generated elements are placed where
        those come from, here and by whoever uses it after.
    Returns: The sound part of it; None if it is too large to expand.
    """
    resolved = ResolvedScenario.from_sections(scenario)
    problems.origins = resolved.origins
    try:
        for each in PASSES:
            each(resolved, problems)
    except ScenarioTooLarge:
        return None
    return resolved
