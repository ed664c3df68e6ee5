"""Segment routing policies: a list of node and adjacency segments becomes a route with its labels.

Between node segments packets follow IP routing, as every router's label for a node does: the next
node listed first in `nodes` among those of equal cost, then the link listed first.

Source: RFC 8402 sections 2 and 3 (segments, SRGB), RFC 8660 section 2 (labels over MPLS).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.scenario.diagnostic import Path as Place
from trunkline.scenario.path import Path
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.placement import route_of, topology
from trunkline.scenario.resolved.resolved import Resolved, Sid

if TYPE_CHECKING:
    from trunkline.te.topology import Topology

WITHOUT = ("route", "to", "through", "labels", "php", "explicit_null", "bandwidth")
"""Keys that have no meaning beside `segments`."""
LAST_LABEL = 2**20 - 1


def segments(scenario: Resolved, problems: Problems) -> None:
    """Follows the segments of every path that has some."""
    listed = {name: path for name, path in scenario.paths.items() if path.segments}
    for name, path in scenario.paths.items():
        if not path.segments and "route" not in path.model_fields_set:
            where: Place = ("paths", name, "route")
            message = "a path has a `route` or `segments`: it has neither"
            problems.add("missing-key", where, message, at_key=True)
    if not listed:
        return
    top = scenario.written.te.srgb + len(scenario.nodes) - 1
    if top > LAST_LABEL:
        message = f"the label of the last node would be {top}"
        problems.add("label", ("te", "srgb"), message, allowed=f"up to {LAST_LABEL}")
    graph = topology(scenario) if scenario.arcs and not problems.errors else None
    for name, path in listed.items():
        for key in WITHOUT:
            if key in path.model_fields_set:
                message = f"{key} has no meaning beside `segments`"
                problems.add("relation", ("paths", name, key), message, at_key=True)
        sids = _sids(scenario, name, path, problems)
        if sids is None or graph is None:
            continue
        arcs, stuck = followed(scenario, graph, path.from_ or "", sids)
        if stuck is not None:
            node, before = sids[stuck].node, sids[stuck - 1].node if stuck else path.from_
            why = "is where packets are already" if node == before else "cannot be reached"
            problems.add("route", ("paths", name, "segments", stuck), f"node {node} {why}")
        else:
            route = route_of(scenario, tuple(arcs))
            scenario.paths[name] = path.model_copy(update={"route": route})
            scenario.origins["paths", name, "route"] = ("paths", name, "segments")
            scenario.segmented[name] = tuple(sids)


def _sids(scenario: Resolved, name: str, path: Path, problems: Problems) -> list[Sid] | None:
    """Segments by name; None if one names nothing."""
    at: Place = ("paths", name)
    if path.from_ is None:
        problems.add("missing-key", (*at, "from"), "from is missing: it has segments", at_key=True)
        return None
    if path.from_ not in scenario.nodes:
        problems.unknown((*at, "from"), "node", path.from_, scenario.nodes)
        return None
    found: list[Sid] = []
    here = path.from_
    for index, word in enumerate(path.segments):
        if word in scenario.nodes:
            found.append(Sid(word))
            here = word
            continue
        ways = [arc for arc in scenario.arcs if word in (arc.link, arc.name)]
        if not ways:
            known = [*scenario.nodes, *scenario.written.links]
            problems.unknown((*at, "segments", index), "node or link", word, known)
            return None
        leaving = [arc for arc in ways if arc.source == here]
        if not leaving:
            message = f"link {word} does not begin at {here}, where the segment before it ends"
            problems.add("route", (*at, "segments", index), message)
            return None
        here = leaving[0].target
        found.append(Sid(here, leaving[0].name))
    return found


def followed(
    scenario: Resolved, graph: "Topology", start: str, sids: Sequence[Sid]
) -> tuple[list[int], int | None]:
    """Arcs along segments, and the first segment that cannot be followed."""
    number = {arc.name: index for index, arc in enumerate(scenario.arcs)}
    arcs: list[int] = []
    here = graph.node[start]
    for index, sid in enumerate(sids):
        end = graph.node[sid.node]
        if sid.arc is not None:
            arcs.append(number[sid.arc])
        else:
            away = te.spf.distances_to(graph, graph.igp, end)
            if here == end or away[here] == math.inf:
                return arcs, index
            arcs += _shortest(graph, away, here, end)
        here = end
    return arcs, None


def active(scenario: Resolved, name: str, hop: int) -> list[Sid]:
    """Segments of a policy that are left at the beginning of a hop of its route."""
    left = list(scenario.segmented[name])
    for node in scenario.nodes_of(name)[1 : hop + 1]:
        if node == left[0].node:
            left.pop(0)
    return left


def next_arcs(scenario: Resolved, graph: "Topology", here: str, end: str) -> list[str]:
    """Arcs from a node on the shortest paths to another, in the order of routing."""
    away = te.spf.distances_to(graph, graph.igp, graph.node[end])
    return [scenario.arcs[arc].name for arc in _equal(graph, away, graph.node[here])]


def first_arcs(scenario: Resolved, end: str) -> dict[str, list[str]]:
    """Arcs from every node on its shortest paths to another, where there are any."""
    graph = topology(scenario)
    away = te.spf.distances_to(graph, graph.igp, graph.node[end])
    return {
        node: [scenario.arcs[arc].name for arc in _equal(graph, away, index)]
        for node, index in graph.node.items()
        if 0 < away[index] < math.inf
    }


def _equal(graph: "Topology", away: list[float], here: int) -> list[int]:
    fits = [
        arc
        for arc in graph.leaving[here]
        if graph.igp[arc] + away[int(graph.head[arc])] == away[here]
    ]
    return sorted(fits, key=lambda arc: (int(graph.head[arc]), arc))


def _shortest(graph: "Topology", away: list[float], here: int, end: int) -> list[int]:
    way: list[int] = []
    while here != end:
        way.append(_equal(graph, away, here)[0])
        here = int(graph.head[way[-1]])
    return way
