"""Constraints that head ends keep in the routes that they compute during the run."""

from collections.abc import Sequence
from dataclasses import dataclass

from trunkline import te
from trunkline.scenario.resolved.placement import build_topology, find_arcs, make_constraints
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.te.disjoint_paths import Disjointness

_CONSTRAINT_KEYS = ("include_any", "include_all", "exclude", "via", "max_hops", "max_delay")


@dataclass(frozen=True, slots=True)
class PathConstraintsAtHead:
    """Constraints that the head of one path keeps, besides keys of the path."""

    # Arcs that it may not use: of other colours, or those of a path that is not signalled.
    barred_arcs: set[int]
    disjoint_paths: dict[str, Disjointness]  # Signalled paths with which it shares none of these.


def list_head_constraints(
    scenario: ResolvedScenario, names: Sequence[str]
) -> dict[str, PathConstraintsAtHead]:
    """List the constraints at heads, by path; paths that only bandwidth constrains are left out.

    names: Signalled paths.
    """
    disjoint_paths = _list_disjoint_paths(scenario, names)
    constrained = [
        name
        for name in names
        if disjoint_paths[name]
        or scenario.paths[name].minimise != "igp"
        or any(getattr(scenario.paths[name], key) for key in _CONSTRAINT_KEYS)
    ]
    if not constrained:
        return {}
    graph = build_topology(scenario)
    result = {}
    for name in constrained:
        constraints = make_constraints(graph, scenario.paths[name], 0)
        fits = te.path_constraints.find_coloured_arcs(graph, constraints).tolist()
        barred_arcs = {index for index, is_coloured in enumerate(fits) if not is_coloured}
        for other, kind in disjoint_paths[name].items():
            if other not in disjoint_paths and other in scenario.paths:
                arcs = find_arcs(scenario, scenario.paths[other]) or ()
                barred_arcs |= te.disjoint_paths.find_shared_arcs(graph, arcs, kind)
        signalled = {
            other: kind for other, kind in disjoint_paths[name].items() if other in disjoint_paths
        }
        result[name] = PathConstraintsAtHead(barred_arcs, signalled)
    return result


def _list_disjoint_paths(
    scenario: ResolvedScenario, names: Sequence[str]
) -> dict[str, dict[str, Disjointness]]:
    """The paths that each is disjoint from: of two, whichever moves keeps away from the other."""
    disjoint_paths: dict[str, dict[str, Disjointness]] = {name: {} for name in names}
    for name in names:
        for other, kind in scenario.paths[name].disjoint_from.items():
            disjoint_paths[name][other] = kind
            disjoint_paths.get(other, {}).setdefault(name, kind)
    return disjoint_paths
