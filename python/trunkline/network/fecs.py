"""Forwarding equivalence classes (RFC 3031 section 2.1): they bind packets to paths."""

from collections.abc import Iterable

from trunkline.scenario.path import Trunk
from trunkline.scenario.resolved import ResolvedScenario

FecPaths = tuple[tuple[str, frozenset[int] | None], ...]
"""Paths of a forwarding equivalence class, each with its DSCPs; None = all that are left."""


def number_fecs_of_flows(scenario: ResolvedScenario) -> dict[str, tuple[int, int]]:
    """Number the classes of data and acknowledgements, by name of flow; 0 is no class.

    Each path of a trunk is a class, with its number in the scenario from 1; so is each choice of
    paths by DSCP, numbered after them. With LDP each node is a class, of packets to it that no
    trunk carries.
    """
    number = number_fecs(scenario)
    result = {
        name: (number[data], number.get(acks, 0))
        for name, (data, acks) in find_fecs_of_flows(scenario).items()
    }
    if scenario.routing.ldp is not None:
        first = find_first_ldp_fec(scenario)
        of_node = {node: first + index for index, node in enumerate(scenario.nodes)}
        for name, base in scenario.flow_names:
            flow = scenario.flows[base]
            data, acks = result.get(name) or result.get(base) or (0, 0)
            result[name] = (data or of_node[flow.to], acks or of_node[flow.from_])
    return result


def find_first_ldp_fec(scenario: ResolvedScenario) -> int:
    """Find the number of the first class that LDP labels."""
    return len(number_fecs(scenario)) + 1


def find_fecs_of_flows(scenario: ResolvedScenario) -> dict[str, tuple[FecPaths, FecPaths]]:
    """Find the class of data and of acknowledgements, by name of flow."""
    rides: dict[str, list[Trunk]] = {}
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            rides.setdefault(flow, []).append(trunk)

    def make_fec(pairs: Iterable[tuple[str | None, Trunk]]) -> FecPaths:
        return tuple(
            (path, None if trunk.dscp is None else frozenset(trunk.dscp))
            for path, trunk in pairs
            if path is not None
        )

    return {
        name: (
            make_fec((rider.path, rider) for rider in trunks),
            make_fec((rider.reverse, rider) for rider in trunks),
        )
        for name, trunks in rides.items()
    }


def number_fecs(scenario: ResolvedScenario) -> dict[FecPaths, int]:
    """Number of each class, from 1: of each path, then of each choice of paths by DSCP."""
    numbering: dict[FecPaths, int] = {
        ((name, None),): index + 1 for index, name in enumerate(scenario.paths)
    }
    for pair in find_fecs_of_flows(scenario).values():
        for fec_paths in pair:
            if fec_paths:
                numbering.setdefault(fec_paths, len(numbering) + 1)
    return numbering
