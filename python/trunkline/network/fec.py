"""Forwarding equivalence classes (RFC 3031 section 2.1): which packets ride which paths."""

from collections.abc import Iterable

from trunkline.scenario.path import Trunk
from trunkline.scenario.resolved import Resolved

Class = tuple[tuple[str, frozenset[int] | None], ...]
"""Paths of a forwarding equivalence class, each with its DSCPs; None = all that are left."""


def of_flows(scenario: Resolved) -> dict[str, tuple[int, int]]:
    """Forwarding equivalence class of data and acknowledgements, by name of flow; 0 = none.

    Each path that a trunk rides is a class, its number in the scenario from 1; so is each choice
    of paths by DSCP, numbered after them. With LDP each node is a class, of packets to it that ride
    no trunk.
    """
    number = numbers(scenario)
    result = {
        name: (number.get(data, 0), number.get(acks, 0))
        for name, (data, acks) in classes(scenario).items()
    }
    if scenario.routing.ldp is not None:
        first = first_of_ldp(scenario)
        of_node = {node: first + index for index, node in enumerate(scenario.nodes)}
        for name, base in scenario.names:
            flow = scenario.flows[base]
            data, acks = result.get(name) or result.get(base) or (0, 0)
            result[name] = (data or of_node[flow.to], acks or of_node[flow.from_])
    return result


def first_of_ldp(scenario: Resolved) -> int:
    """Number of the first class that LDP labels."""
    return max(numbers(scenario).values(), default=0) + 1


def classes(scenario: Resolved) -> dict[str, tuple[Class, Class]]:
    """Class of data and of acknowledgements, by name of flow."""
    rides: dict[str, list[Trunk]] = {}
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            rides.setdefault(flow, []).append(trunk)

    def of(pairs: Iterable[tuple[str | None, Trunk]]) -> Class:
        return tuple(
            (path, None if trunk.dscp is None else frozenset(trunk.dscp))
            for path, trunk in pairs
            if path is not None
        )

    return {
        name: (of((its.path, its) for its in trunks), of((its.reverse, its) for its in trunks))
        for name, trunks in rides.items()
    }


def numbers(scenario: Resolved) -> dict[Class, int]:
    """Number of each class, from 1: of each path, then of each choice of paths by DSCP."""
    found: dict[Class, int] = {
        ((name, None),): index + 1 for index, name in enumerate(scenario.paths)
    }
    for pair in classes(scenario).values():
        for each in pair:
            if each:
                found.setdefault(each, len(found) + 1)
    return found
