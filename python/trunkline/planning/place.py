"""Place the label-switched paths of a scenario: what goes where, what is refused, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline import te
from trunkline.planning.explicit import rerouted
from trunkline.planning.loads import by_igp, carried, on_igp
from trunkline.planning.methods import Method, Methods
from trunkline.scenario.resolved.backups import outcome_of_backup
from trunkline.scenario.resolved.placement import (
    is_auto,
    place as place_paths,
    route_of,
    topology,
    why,
)
from trunkline.scenario.te import CLASS_TYPES

if TYPE_CHECKING:
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.place import Outcome, Placement
    from trunkline.te.topology import Floats, Topology


@dataclass(frozen=True, slots=True)
class PlacedPath:
    """A label-switched path and what became of it.

    Parameters
    ----------
    route : tuple of str
        Nodes, and links where several are parallel; empty if it is not placed.
    placed : bool
        Whether it has a route.
    why : str
        Why not; empty if it is placed.
    class_type : str
        CT0 to CT7.
    displaced_by : tuple of str
        Who displaced it, each time.
    """

    path: str
    route: tuple[str, ...]
    bandwidth_bit_s: int
    placed: bool
    why: str
    class_type: str
    setup: int
    hold: int
    displaced_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """A direction of a link.

    Parameters
    ----------
    load_bit_s : int
        Demands that cross it, on paths or by IP routing.
    reserved_bit_s : int
        What placed paths reserve.
    utilisation : float
        Load over capacity [1].
    by_class_type : dict of str to int
        Reserved by class type [bit/s]; types with nothing left out.
    """

    link: str
    capacity_bit_s: int
    load_bit_s: int
    reserved_bit_s: int
    utilisation: float
    by_class_type: dict[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The paths of a scenario, placed.

    Parameters
    ----------
    methods : tuple of Method
        The plan itself, other ways of routing the same demands, and the bound.
    paths : tuple of PlacedPath
        In the order of the scenario.
    links : tuple of LinkLoad
        In the order of the scenario.
    scale : float
        Factor of all rates in a run; those here are not scaled.
    """

    methods: tuple[Method, ...]
    paths: tuple[PlacedPath, ...]
    links: tuple[LinkLoad, ...]
    scale: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def plan_json(scenario: Scenario) -> str | None:
    """The plan that a report shows, kept beside results.

    Returns
    -------
    str or None
        JSON; None where nothing is planned: no demands, no computed path, no other scale.
    """
    auto = any(is_auto(path) for path in scenario.paths.values())
    if not scenario.demands and not auto and scenario.scale == 1:
        return None
    return json.dumps(place(scenario, thorough=False).to_dict())


def place(scenario: Scenario, *, reoptimise: bool = False, thorough: bool = True) -> Plan:
    """Place every path of a scenario, computed or written.

    Parameters
    ----------
    scenario : Scenario
        Loaded with `trunkline.scenario.resolved.placement.unplaced_paths_allowed`, where paths that
        cannot be placed are to be listed, not an error.
    reoptimise : bool
        Whether computed paths then move off the busiest link, within their constraints.
    thorough : bool
        Whether to compute the bound in networks where that takes more than a moment too.

    Returns
    -------
    Plan
        Rates are those of the network itself, whatever its `scale`.

    Raises
    ------
    ValueError
        A holding priority weaker than the setup priority, or a model that does not fit.
    """
    its = scenario.resolved()
    full = its.unscaled()
    graph = topology(full)
    made = full.placement or place_paths(full, graph)
    base = by_igp(full, graph, on_igp(full))
    found = {"placed": base + lsp_loads(full, graph, made)}
    if reoptimise:
        made = _reoptimised(scenario, graph, made, base)
        found["reoptimised"] = base + lsp_loads(full, graph, made)
    loads = list(found.values())[-1]
    return Plan(
        _methods(full, graph, found, thorough),
        tuple(_path(full, graph, each) for each in made.outcomes),
        links(full, graph, made, loads),
        scenario.scale,
    )


def _reoptimised(scenario: Scenario, graph: Topology, made: Placement, base: Floats) -> Placement:
    """The placement after computed paths have moved, with backups for their new routes."""
    full = scenario.resolved().unscaled()
    backups = [] if full.backed is None else [each.name for each in full.backed.backups]
    working = tuple(each for each in made.outcomes if each.request.name not in backups)
    written = [name for name, path in scenario.paths.items() if not is_auto(path)]
    before = replace(made, outcomes=working)
    moved, _ = te.reoptimise.reoptimise(graph, before, carried(full), base, written)
    if not backups:
        return moved
    routes = {
        each.request.name: route_of(full, each.route.path)
        for each in moved.outcomes
        if each.route is not None
    }
    new = rerouted(scenario, routes).resolved().unscaled()
    found = () if new.backed is None else new.backed.backups
    own = tuple(outcome_of_backup(new, graph, each) for each in found)
    return replace(moved, outcomes=moved.outcomes + own)


def lsp_loads(scenario: Resolved, graph: Topology, made: Placement) -> Floats:
    """Load of every arc by demands on label-switched paths [bit/s]."""
    loads = np.zeros(len(graph.arcs))
    on_path = carried(scenario)
    for outcome in made.outcomes:
        if outcome.route is not None:
            loads[list(outcome.route.path)] += on_path.get(outcome.request.name, 0)
    return loads


def _path(scenario: Resolved, graph: Topology, outcome: Outcome) -> PlacedPath:
    request = outcome.request
    return PlacedPath(
        request.name,
        () if outcome.route is None else route_of(scenario, outcome.route.path),
        request.asked.bandwidth,
        outcome.route is not None,
        why(graph, outcome) if outcome.route is None else "",
        CLASS_TYPES[request.class_type],
        request.setup,
        request.hold,
        outcome.displaced_by,
    )


def links(
    scenario: Resolved, graph: Topology, made: Placement | None, loads: Floats
) -> tuple[LinkLoad, ...]:
    """Load and reservation of every direction of a link, in order; nothing reserved if not made."""
    reserved = np.zeros((len(graph.arcs), len(CLASS_TYPES)), dtype=np.int64)
    if made is not None:
        reserved = made.state.reserved.sum(axis=2)
    return tuple(
        LinkLoad(
            arc.name,
            int(graph.capacity[index]),
            round(float(loads[index])),
            int(reserved[index].sum()),
            float(loads[index] / graph.capacity[index]),
            {
                type_: int(reserved[index, at])
                for at, type_ in enumerate(CLASS_TYPES)
                if reserved[index, at]
            },
        )
        for index, arc in enumerate(scenario.arcs)
    )


def _methods(
    scenario: Resolved, graph: Topology, found: dict[str, Floats], thorough: bool
) -> tuple[Method, ...]:
    """The plan beside routing by the IGP and the optimum."""
    ways = Methods(scenario, graph)
    bounded = bool(scenario.demands) and ways.size in ("arcs", *["paths", "frank-wolfe"] * thorough)
    own = [ways.row(name, loads, ways.single if bounded else None) for name, loads in found.items()]
    return (*own, *(ways.usual() if bounded else ()))
