"""The demands of a scenario routed as well as can be: the optimum, single paths, IGP weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trunkline.planning.explicit import text
from trunkline.planning.methods import Methods
from trunkline.planning.place import PlacedPath, Plan, links
from trunkline.scenario.resolved.placement import route_of, topology
from trunkline.scenario.te import CLASS_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.optimum import Form

Solved = Literal["unsplit", "igp-weights", "optimum"]
SOLVED: tuple[Solved, ...] = ("unsplit", "igp-weights", "optimum")


@dataclass(frozen=True, slots=True)
class Solution(Plan):
    """A plan of the solver, for one of the methods that it compares.

    Parameters
    ----------
    method : {"unsplit", "igp-weights", "optimum"}
        The one whose paths and loads these are.
    form : str
        How the optimum was found: ``arcs``, ``paths`` or ``frank-wolfe``.
    weights : dict of str to int
        IGP metric of each direction of a link; empty but for ``igp-weights``.
    """

    method: Solved = "unsplit"
    form: Form = "arcs"
    weights: dict[str, int] | None = None


def solve(
    scenario: Scenario,
    *,
    method: Solved = "unsplit",
    form: Form | None = None,
    evaluations: int | None = None,
) -> Solution:
    """Compare ways of routing the demands of a scenario with the best possible.

    Parameters
    ----------
    scenario : Scenario
        With demands. Its own paths and their constraints are not looked at.
    method : {"unsplit", "igp-weights", "optimum"}
        Whose paths and loads to give.
    form : {"arcs", "paths", "frank-wolfe"}, optional
        How the optimum is found; by size if left out.
    evaluations : int, optional
        Weight vectors that the search for IGP weights looks at; 2000 if left out.

    Returns
    -------
    Solution
        Rates are those of the network itself, whatever its `scale`.

    Raises
    ------
    ValueError
        No demands, demands between nodes that no links join, or too many to bound.
    """
    its = scenario.resolved().unscaled()
    if not its.demands:
        raise ValueError("the scenario has no demands")
    graph = topology(its)
    ways = Methods(its, graph, form)
    best, whole, weighed = ways.optimum, ways.unsplit, ways.weights(evaluations)
    found = ways.usual(costs=True)
    found.append(ways.row("unsplit", whole.loads, ways.single, costs=True))
    found.append(ways.row("igp-weights", weighed.loads, best.bound, costs=True))
    if ways.congestion is not None:
        found.append(ways.row("least-cost", ways.congestion.loads, best.bound, costs=True))
    loads = {"unsplit": whole.loads, "igp-weights": weighed.loads, "optimum": best.loads}[method]
    names = [arc.name for arc in its.arcs]
    return Solution(
        tuple(found),
        _single(its, ways) if method == "unsplit" else _split(its, ways, method),
        links(its, graph, None, loads),
        scenario.scale,
        method,
        best.form,
        dict(zip(names, weighed.weights.tolist(), strict=True)) if method == "igp-weights" else {},
    )


def _single(its: Resolved, ways: Methods) -> tuple[PlacedPath, ...]:
    return tuple(
        _path(name, route_of(its, arcs), its.demands[name].rate)
        for name, arcs in zip(its.demands, ways.unsplit.paths, strict=True)
    )


def _split(its: Resolved, ways: Methods, method: Solved) -> tuple[PlacedPath, ...]:
    """Paths of the optimum by their ends, with the parts of all demands between these."""
    if method != "optimum":
        return ()
    return tuple(
        _path(
            "-".join(ways.graph.nodes[end] for end in ends) + (f".{at + 1}" if at else ""),
            route_of(its, arcs),
            round(share * ways.traffic[ends]),
        )
        for ends, parts in sorted(ways.optimum.shares.items())
        for at, (arcs, share) in enumerate(parts)
    )


def _path(name: str, route: tuple[str, ...], rate: int) -> PlacedPath:
    return PlacedPath(name, route, rate, True, "", CLASS_TYPES[0], 7, 7, ())


def solved(scenario: Scenario, solution: Solution, *, remarks: Sequence[str] = ()) -> str:
    """Write a scenario with the paths, or the metrics, of a solution.

    Parameters
    ----------
    solution : Solution
        For ``unsplit`` or ``igp-weights``.

    Returns
    -------
    str
        YAML. Each demand has a path of its own, or follows IP routing on the new metrics; paths and
        trunks that carried demands alone are left out.

    Raises
    ------
    ValueError
        The optimum, which splits; or protections and agreements name paths that are left out.
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
    _needed(data, set(data.get("paths", {})) - used)
    if solution.method == "unsplit":
        for each in solution.paths:
            if each.path in paths or each.path in trunks:
                raise ValueError(f"demand {each.path} needs a path and a trunk of its name")
            paths[each.path] = {"route": list(each.route)}
            trunks[each.path] = {"path": each.path, "demands": [each.path]}
    for arc in scenario.resolved().arcs if solution.weights else ():
        link, way = data["links"][arc.link], "backward" if arc.backward else "forward"
        link[way] = (link.get(way) or {}) | {"metric": (solution.weights or {})[arc.name]}
    data |= {"paths": paths, "trunks": trunks}
    return text(scenario, data, remarks)


def _needed(data: dict[str, Any], gone: set[str]) -> None:
    for section in ("protections", "slas", "probes"):
        words = {str(word) for word in _leaves(data.get(section))}
        if words & gone:
            raise ValueError(f"{section} name path {min(words & gone)}, which is replaced")


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value]
