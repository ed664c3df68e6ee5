"""Static routes: the link that each takes, and the choice between them and shortest paths."""

from trunkline.scenario.diagnostic import DocumentPath, suggest_nearest
from trunkline.scenario.fields import ALL
from trunkline.scenario.problems import Problems, format_names
from trunkline.scenario.resolved.placement import build_topology
from trunkline.scenario.resolved.resolved import (
    ResolvedArc,
    ResolvedScenario,
    ResolvedStaticRoute,
)
from trunkline.scenario.resolved.segments import list_first_arcs
from trunkline.scenario.routing import IGP_DISTANCE, StaticRoute


def resolve_static_routes(scenario: ResolvedScenario, problems: Problems) -> None:
    """Finds the link of every static route; one with a fault is left out."""
    for node, keys in scenario.written.nodes.items():
        for index, route in enumerate(keys.routes):
            place: DocumentPath = ("nodes", node, "routes", index)
            is_known = route.to == ALL or route.to in scenario.nodes
            if not is_known:
                problems.add_unknown((*place, "to"), "node", route.to, scenario.nodes)
            arc = _find_arc(scenario, node, route, place, problems)
            if route.to == node:
                problems.add("relation", (*place, "to"), f"a route of {node} leads to itself")
            elif is_known and arc is not None:
                target = None if route.to == ALL else route.to
                scenario.static_routes.append(
                    ResolvedStaticRoute(node, target, arc, route.distance, place)
                )


def _find_arc(
    scenario: ResolvedScenario,
    node: str,
    route: StaticRoute,
    place: DocumentPath,
    problems: Problems,
) -> ResolvedArc | None:
    own = [arc for arc in scenario.arcs if arc.source == node]
    for arc in own:
        if route.via in (arc.target, arc.link):
            return arc
    allowed = [name for arc in own for name in dict.fromkeys((arc.target, arc.link))]
    is_named = route.via in scenario.nodes or route.via in scenario.written.links
    message = (
        f"no link leads from {node} to {route.via}"
        if route.via in scenario.nodes
        else f"link {route.via} does not leave {node}"
        if is_named
        else f"unknown next hop {route.via}"
    )
    problems.add(
        "route",
        (*place, "via"),
        message,
        allowed=f"from {node}: {format_names(dict.fromkeys(allowed))}",
        hint="" if is_named else suggest_nearest(route.via, allowed),
    )
    return None


class StartRoutes:
    """The routes of the start, as the engine chooses them (RFC 1812 sections 5.2.4.3 and 7.4)."""

    def __init__(self, scenario: ResolvedScenario) -> None:
        self._scenario = scenario
        self._graph = build_topology(scenario)
        self._by_node: dict[str, list[ResolvedStaticRoute]] = {}
        for route in scenario.static_routes:
            self._by_node.setdefault(route.node, []).append(route)
        self._found: dict[str, dict[str, list[str]]] = {}

    def find_arcs(self, end: str) -> dict[str, list[str]]:
        """Directions of links by node, towards a destination."""
        found = dict(self._find_shortest(end))
        for node in self._by_node:
            chosen = self._choose(node, end)
            if node != end and chosen:
                found[node] = [route.arc.name for route in chosen]
        return found

    def find_used(self, end: str) -> set[DocumentPath]:
        """Places of the static routes that are used towards a destination."""
        return {
            route.place
            for node in self._by_node
            if node != end
            for route in self._choose(node, end)
        }

    def _choose(self, node: str, end: str) -> list[ResolvedStaticRoute]:
        """Static routes that a node uses; none where it has none, or uses the IGP's."""
        has_other = node in self._find_shortest(end)
        for target in (end, None):
            routes = [route for route in self._by_node[node] if route.target == target]
            if not routes:
                continue
            distance = min(route.distance for route in routes)
            if not has_other or (target is not None and distance < IGP_DISTANCE):
                # Several only with equal-cost multipath: a check refuses them without it.
                return [route for route in routes if route.distance == distance]
        return []

    def _find_shortest(self, end: str) -> dict[str, list[str]]:
        if end not in self._found:
            self._found[end] = (
                list_first_arcs(self._scenario, self._graph, end)
                if self._scenario.routing.igp
                else self._list_neighbours(end)
            )
        return self._found[end]

    def _list_neighbours(self, end: str) -> dict[str, list[str]]:
        """Directions of the links of least metric from each neighbour."""
        found: dict[str, list[str]] = {}
        for (source, target), arcs in self._scenario.arcs_between.items():
            if target == end:
                least = min(arc.options.metric for arc in arcs)
                found[source] = [arc.name for arc in arcs if arc.options.metric == least]
        return found
