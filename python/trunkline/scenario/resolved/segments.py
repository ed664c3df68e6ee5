"""Segment routing policies: a list of node and adjacency segments becomes a route with its labels.

Between node segments packets follow IP routing, as every router's label for a node does: the next
node listed first in `nodes` among those of equal cost, then the link listed first.

Source: RFC 8402 sections 2 and 3 (segments, SRGB), RFC 8660 section 2 (labels over MPLS).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.scenario.diagnostic import DocumentPath as Place
from trunkline.scenario.path import LabelSwitchedPath
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.placement import build_topology, format_route
from trunkline.scenario.resolved.resolved import PolicySegment, ResolvedScenario

if TYPE_CHECKING:
    from trunkline.te.topology import Topology

KEYS_WITHOUT_MEANING = ("route", "to", "through", "labels", "php", "explicit_null", "bandwidth")
"""Keys that have no meaning with `segments`."""
MAX_LABEL = 2**20 - 1


def resolve_segments(scenario: ResolvedScenario, problems: Problems) -> None:
    """Follow the segments of every path that has some."""
    policies = {name: path for name, path in scenario.paths.items() if path.segments}
    for name, path in scenario.paths.items():
        if not path.segments and "route" not in path.model_fields_set:
            route_path: Place = ("paths", name, "route")
            message = "a path has a `route` or `segments`: it has neither"
            problems.add("missing-key", route_path, message, at_key=True)
    if not policies:
        return
    last_node_label = scenario.written.te.srgb + len(scenario.nodes) - 1
    if last_node_label > MAX_LABEL:
        message = f"the label of the last node would be {last_node_label}"
        problems.add("label", ("te", "srgb"), message, allowed=f"up to {MAX_LABEL}")
    graph = build_topology(scenario) if scenario.arcs and not problems.has_errors else None
    for name, path in policies.items():
        for key in KEYS_WITHOUT_MEANING:
            if key in path.model_fields_set:
                message = f"{key} has no meaning with `segments`"
                problems.add("relation", ("paths", name, key), message, at_key=True)
        sids = _find_segments(scenario, name, path, problems)
        if sids is None or graph is None:
            continue
        arcs, failed_segment = follow_segments(scenario, graph, path.from_ or "", sids)
        if failed_segment is not None:
            node = sids[failed_segment].node
            before = sids[failed_segment - 1].node if failed_segment else path.from_
            reason = "is where packets are already" if node == before else "cannot be reached"
            problems.add(
                "route", ("paths", name, "segments", failed_segment), f"node {node} {reason}"
            )
        else:
            route = format_route(scenario, tuple(arcs))
            scenario.paths[name] = path.model_copy(update={"route": route})
            scenario.origins["paths", name, "route"] = ("paths", name, "segments")
            scenario.policies[name] = tuple(sids)


def _find_segments(
    scenario: ResolvedScenario, name: str, path: LabelSwitchedPath, problems: Problems
) -> list[PolicySegment] | None:
    """Find the segments by name; None if one names nothing."""
    section_path: Place = ("paths", name)
    if path.from_ is None:
        problems.add(
            "missing-key", (*section_path, "from"), "from is missing: it has segments", at_key=True
        )
        return None
    if path.from_ not in scenario.nodes:
        problems.add_unknown((*section_path, "from"), "node", path.from_, scenario.nodes)
        return None
    found: list[PolicySegment] = []
    current = path.from_
    for index, word in enumerate(path.segments):
        if word in scenario.nodes:
            found.append(PolicySegment(word))
            current = word
            continue
        link_arcs = [arc for arc in scenario.arcs if word in (arc.link, arc.name)]
        if not link_arcs:
            known_names = [*scenario.nodes, *scenario.written.links]
            problems.add_unknown(
                (*section_path, "segments", index), "node or link", word, known_names
            )
            return None
        leaving = [arc for arc in link_arcs if arc.source == current]
        if not leaving:
            message = f"link {word} does not begin at {current}, where the segment before it ends"
            problems.add("route", (*section_path, "segments", index), message)
            return None
        current = leaving[0].target
        found.append(PolicySegment(current, leaving[0].name))
    return found


def follow_segments(
    scenario: ResolvedScenario, graph: "Topology", start: str, sids: Sequence[PolicySegment]
) -> tuple[list[int], int | None]:
    """Follow arcs along segments, and the first segment that cannot be followed."""
    number = {arc.name: index for index, arc in enumerate(scenario.arcs)}
    arcs: list[int] = []
    current = graph.node_number[start]
    for index, sid in enumerate(sids):
        end = graph.node_number[sid.node]
        if sid.arc is not None:
            arcs.append(number[sid.arc])
        else:
            distance = te.spf.list_distances_to(graph, graph.igp, end)
            if current == end or distance[current] == math.inf:
                return arcs, index
            arcs += _follow_shortest_path(graph, distance, current, end)
        current = end
    return arcs, None


def list_remaining_segments(scenario: ResolvedScenario, name: str, hop: int) -> list[PolicySegment]:
    """List the segments of a policy that are left at the beginning of a hop of its route."""
    remaining = list(scenario.policies[name])
    for node in scenario.list_route_nodes(name)[1 : hop + 1]:
        if node == remaining[0].node:
            remaining.pop(0)
    return remaining


def list_next_arcs(
    scenario: ResolvedScenario, graph: "Topology", current: str, end: str
) -> list[str]:
    """List the arcs from a node on the shortest paths to another, in the order of routing."""
    distance = te.spf.list_distances_to(graph, graph.igp, graph.node_number[end])
    return [
        scenario.arcs[arc].name
        for arc in _find_equal_cost_arcs(graph, distance, graph.node_number[current])
    ]


def list_first_arcs(
    scenario: ResolvedScenario, graph: "Topology", end: str
) -> dict[str, list[str]]:
    """List the arcs from every node on its shortest paths to another, where there are any."""
    distance = te.spf.list_distances_to(graph, graph.igp, graph.node_number[end])
    return {
        node: [scenario.arcs[arc].name for arc in _find_equal_cost_arcs(graph, distance, index)]
        for node, index in graph.node_number.items()
        if 0 < distance[index] < math.inf
    }


def _find_equal_cost_arcs(graph: "Topology", distance: list[float], current: int) -> list[int]:
    fits = [
        arc
        for arc in graph.arcs_from[current]
        if graph.igp[arc] + distance[int(graph.head[arc])] == distance[current]
    ]
    return sorted(fits, key=lambda arc: (int(graph.head[arc]), arc))


def _follow_shortest_path(
    graph: "Topology", distance: list[float], current: int, end: int
) -> list[int]:
    path: list[int] = []
    while current != end:
        path.append(_find_equal_cost_arcs(graph, distance, current)[0])
        current = int(graph.head[path[-1]])
    return path
