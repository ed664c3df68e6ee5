"""Good routings for the demands of a scenario: the optimum, single paths, IGP weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trunkline.planning.explicit_scenario import format_scenario_yaml
from trunkline.planning.placement import PlacedPath, RoutingPlan, list_link_loads
from trunkline.planning.robust_placement import LinkBypass, RobustPlan
from trunkline.planning.routing_methods import MethodComparison
from trunkline.scenario.fields import AUTO
from trunkline.scenario.resolved.placement import build_topology, format_route
from trunkline.scenario.te import CLASS_TYPE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.split_routing import Formulation

SolverMethod = Literal["unsplit", "igp-weights", "optimum"]


@dataclass(frozen=True, slots=True)
class Solution(RoutingPlan):
    """A plan of the solver by one of the methods that it compares."""

    method: SolverMethod = "unsplit"  # The method of these paths and loads.
    form: Formulation = "arcs"  # Method of the optimum: ``arcs``, ``paths`` or ``frank-wolfe``.
    # IGP metric of each direction of a link; empty except for ``igp-weights``.
    weights: dict[str, int] | None = None


def solve(
    scenario: Scenario,
    *,
    method: SolverMethod = "unsplit",
    form: Formulation | None = None,
    evaluations: int | None = None,
) -> Solution:
    """Compare routings of the demands of a scenario with the best possible.

    Parameters
    ----------
    scenario : Scenario
        With demands. Its paths and their constraints are ignored.
    method : {"unsplit", "igp-weights", "optimum"}
        The method whose paths and loads to return.
    form : {"arcs", "paths", "frank-wolfe"}, optional
        Method for the optimum; by size if left out.
    evaluations : int, optional
        Weight vectors that the search for IGP weights tries; 2000 if left out.

    Returns
    -------
    Solution
        Rates are not scaled by the `scale` of the scenario.

    Raises
    ------
    ValueError
        No demands, demands between nodes that no links join, or too many to bound.
    """
    resolved = scenario.resolve().get_unscaled()
    if not resolved.demands:
        raise ValueError("the scenario has no demands")
    graph = build_topology(resolved)
    comparison = MethodComparison(resolved, graph, form)
    optimum, unsplit, weighted = (
        comparison.optimum,
        comparison.unsplit_routing,
        comparison.search_weights(evaluations),
    )
    rated = comparison.rate_igp_and_optimum(with_cost_gap=True)
    rated.append(
        comparison.rate_loads(
            "unsplit", unsplit.loads, comparison.single_path_bound, with_cost_gap=True
        )
    )
    rated.append(
        comparison.rate_loads("igp-weights", weighted.loads, optimum.bound, with_cost_gap=True)
    )
    if comparison.min_cost_routing is not None:
        rated.append(
            comparison.rate_loads(
                "least-cost", comparison.min_cost_routing.loads, optimum.bound, with_cost_gap=True
            )
        )
    loads = {"unsplit": unsplit.loads, "igp-weights": weighted.loads, "optimum": optimum.loads}[
        method
    ]
    names = [arc.name for arc in resolved.arcs]
    return Solution(
        tuple(rated),
        _list_unsplit_paths(resolved, comparison)
        if method == "unsplit"
        else _list_optimum_paths(resolved, comparison, method),
        list_link_loads(resolved, graph, None, loads),
        scenario.scale,
        method,
        optimum.form,
        dict(zip(names, weighted.weights.tolist(), strict=True)) if method == "igp-weights" else {},
    )


def _list_unsplit_paths(
    resolved: ResolvedScenario, comparison: MethodComparison
) -> tuple[PlacedPath, ...]:
    return tuple(
        _make_path(name, format_route(resolved, arcs), resolved.demands[name].rate)
        for name, arcs in zip(resolved.demands, comparison.unsplit_routing.paths, strict=True)
    )


def _list_optimum_paths(
    resolved: ResolvedScenario, comparison: MethodComparison, method: SolverMethod
) -> tuple[PlacedPath, ...]:
    """List the paths of the optimum by their ends, with the parts of all demands between these."""
    if method != "optimum":
        return ()
    return tuple(
        _make_path(
            "-".join(comparison.graph.nodes[end] for end in ends)
            + (f".{index + 1}" if index else ""),
            format_route(resolved, arcs),
            round(share * comparison.traffic[ends]),
        )
        for ends, parts in sorted(comparison.optimum.shares.items())
        for index, (arcs, share) in enumerate(parts)
    )


def _make_path(name: str, route: tuple[str, ...], rate: int) -> PlacedPath:
    return PlacedPath(name, route, rate, True, "", CLASS_TYPE_NAMES[0], 7, 7, ())


def write_solution(
    scenario: Scenario, solution: Solution | RobustPlan, *, remarks: Sequence[str] = ()
) -> str:
    """Write a scenario with the paths, or the metrics, of a solution, as YAML.

    Each demand gets a path with its name, or follows IP routing on the new metrics. Paths and
    trunks that carried only demands are left out. A robust plan has also its backups, in place of
    the scenario's computed ones of all paths.

    Raises ValueError: The optimum, which splits; or protections and agreements name paths that are
        left out.
    """
    if solution.method == "optimum":
        raise ValueError("the optimum splits demands at will: unsplit or igp-weights is written")
    data = scenario.to_document()
    trunks = {
        name: {key: value for key, value in data["trunks"][name].items() if key != "demands"}
        for name, trunk in scenario.trunks.items()
        if trunk.flows
    }
    used: set[str] = set()
    waiting = [trunk.get(key) for trunk in trunks.values() for key in ("path", "reverse")]
    while waiting:
        name = waiting.pop()
        if name in scenario.paths and name not in used:
            used.add(name)
            waiting += scenario.paths[name].through
    paths = {name: each for name, each in data.get("paths", {}).items() if name in used}
    weights = solution.weights if isinstance(solution, Solution) else None
    backups: dict[str, tuple[str, ...]] = {}
    bypasses: tuple[LinkBypass, ...] = ()
    kind = "none"
    if not isinstance(solution, Solution):
        backups, bypasses = solution.backups, solution.bypasses
        kind = solution.protection
    protections = data.get("protections", {})
    if backups or bypasses:
        protections = {
            name: each
            for name, each in protections.items()
            if (each.get("path"), each.get("backup")) != ("all", AUTO)
        }
        data["protections"] = protections
    _check_removed_paths(data, set(data.get("paths", {})) - used)
    for each in solution.paths if not weights else ():
        if each.path in paths or each.path in trunks:
            raise ValueError(f"demand {each.path} needs a path and a trunk of its name")
        paths[each.path] = {"route": list(each.route)}
        trunks[each.path] = {"path": each.path, "demands": [each.path]}
    for name, route in backups.items():
        backup = f"{name}.backup"
        if backup in paths or name in protections:
            raise ValueError(f"path {name} needs a path {backup} and a protection of its name")
        paths[backup] = {"route": list(route)}
        protections[name] = {"path": name, "kind": kind, "backup": backup}
    for number, bypass in enumerate(bypasses, 1):
        name = f"bypass.{number}"
        if name in paths or name in protections:
            raise ValueError(f"the bypass of {bypass.link} needs a path and a protection {name}")
        paths[name] = {"route": list(bypass.route)}
        protections[name] = {
            "path": list(bypass.paths),
            "kind": kind,
            "backup": name,
            "link": bypass.link,
        }
    for arc in scenario.resolve().arcs if weights else ():
        link, direction = data["links"][arc.link], "backward" if arc.backward else "forward"
        link[direction] = (link.get(direction) or {}) | {"metric": (weights or {})[arc.name]}
    data |= {"paths": paths, "trunks": trunks}
    return format_scenario_yaml(scenario, data, remarks)


def _check_removed_paths(data: dict[str, Any], removed: set[str]) -> None:
    for section in ("protections", "slas", "probes"):
        mentioned = {str(leaf) for leaf in _collect_leaves(data.get(section))}
        if mentioned & removed:
            raise ValueError(f"{section} name path {min(mentioned & removed)}, which is replaced")


def _collect_leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _collect_leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _collect_leaves(each)]
    return [value]
