"""The least added capacity that repairs broken failures, over all routings: a linear program."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trunkline.planning.offered_loads import list_offered_loads
from trunkline.scenario.resolved.placement import build_topology
from trunkline.te.arc_formulation import minimise_added_capacity
from trunkline.te.post_failure_routing import find_components

if TYPE_CHECKING:
    from trunkline.planning.failure_screening import FailureImpact, Survival
    from trunkline.scenario import Scenario
    from trunkline.te.topology import Bools, Floats, Topology

MAX_PROGRAM_COLUMNS = 60_000  # Columns of the program at most: beyond, it takes minutes.


@dataclass(frozen=True, slots=True)
class CapacityUpgrade:
    """Capacity that repairs broken failures."""

    failures: tuple[str, ...]  # Failures that are repaired together, the worst first.
    broken: int  # Number of failures that lose load that routing could carry, or overload a link.
    # Least sum of added capacity, each link's counted once for both directions; no routing,
    # protected or not, needs less.
    added_bit_s: int
    links: dict[str, int]  # Capacity added to each link [bit/s].
    binds: tuple[str, ...]  # Links whose capacity decides.
    # Broken failures beyond those that still need more, each checked alone.
    unrepaired: tuple[str, ...] = ()


def find_least_upgrade(scenario: Scenario, survival: Survival) -> CapacityUpgrade | None:
    """Find the least capacity for as many of the worst failures as one program takes.

    Every other broken failure is checked alone with that capacity. None means that no failure is
    broken.
    """
    broken = [each for each in survival.failures if each.severity[0] > 0 or each.mlu > 1]
    resolved = scenario.resolve()
    graph = build_topology(resolved.get_unscaled())
    demand = np.zeros((len(graph.nodes),) * 2)
    for load in list_offered_loads(resolved, graph, use_paths=False):
        demand[load.source, load.target] += load.rate
    every_case = list(list_failure_cases(graph, demand, broken))
    case_columns = [
        int(traffic.any(axis=1).sum()) * len(graph.arcs) for _, traffic, _ in every_case
    ]
    # The worst alone fits whatever its size.
    fitting = max(1, int((np.cumsum(case_columns) <= MAX_PROGRAM_COLUMNS).sum()))
    cases, others = every_case[:fitting], every_case[fitting:]
    if not cases:
        return None
    least = minimise_added_capacity(graph, [(traffic, dead) for _, traffic, dead in cases])
    links = {
        link: math.ceil(added_bit_s)
        for link, added_bit_s in zip(graph.links, least.capacity.tolist(), strict=True)
        # Half a bit per second is rounding.
        if added_bit_s > 0.5
    }
    upgraded = graph.capacity + np.array([links.get(link, 0) for link in graph.links])[graph.link]
    unrepaired = tuple(
        name
        for name, traffic, dead in others
        if minimise_added_capacity(graph, [(traffic, dead)], upgraded).capacity.sum() > 0.5
    )
    return CapacityUpgrade(
        tuple(name for name, _, _ in cases),
        len(broken),
        sum(links.values()),
        links,
        tuple(link for link, binds in zip(graph.links, least.is_bottleneck, strict=True) if binds),
        unrepaired,
    )


def list_failure_cases(
    graph: Topology, demand: Floats, broken: Iterable[FailureImpact]
) -> Iterator[tuple[str, Floats, Bools]]:
    """List for each failure the traffic that still has a path, and the dead arcs.

    Failures after which no traffic is left are left out.
    """
    for impact in broken:
        dead = np.isin(
            graph.link, [graph.links.index(name) for name in impact.scenario_keys.get("link", ())]
        )
        for node in impact.scenario_keys.get("node", ()):
            number = graph.node_number[node]
            dead |= (graph.tail == number) | (graph.head == number)
        component = find_components(graph, ~dead)
        traffic = np.where(component[:, None] == component[None, :], demand, 0.0)
        if traffic.any():
            yield impact.failure, traffic, dead
