"""Checks of static routes: their destinations, loops, and routes that are never used."""

from collections.abc import Mapping, Sequence

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario, ResolvedStaticRoute
from trunkline.scenario.resolved.static_routes import StartRoutes
from trunkline.scenario.routing import IGP_DISTANCE

NextArcs = Mapping[str, Sequence[str]]
"""Directions of links that each node with a route uses towards a destination."""


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Checks static routes, and what routers without an IGP can reach."""
    routing = scenario.routing
    if not routing.igp:
        for key, asked in (("ospf", routing.ospf), ("ldp", routing.ldp)):
            if asked is not None:
                message = f"{key} follows the IGP, and there is none"
                problems.add("relation", ("routing", key), message, at_key=True)
        for name in scenario.policies:
            message = "node segments follow the IGP (RFC 8402 section 3.1), and there is none"
            problems.add("relation", ("paths", name, "segments"), message, at_key=True)
    if not scenario.static_routes and routing.igp:
        return
    _check_pairs(scenario, problems)
    if problems.has_errors:
        return
    routes = StartRoutes(scenario)
    used: set[DocumentPath] = set()
    for end in scenario.nodes:
        arcs_by_node = routes.find_arcs(end)
        used |= routes.find_used(end)
        loop = _find_loop(scenario, arcs_by_node, end)
        if loop is not None:
            _report_loop(scenario, end, loop, problems)
    if problems.has_errors:
        return
    _check_flows(scenario, routes, problems)
    if scenario.rerouting is None and routing.ospf is None:
        for route in scenario.static_routes:
            if route.place not in used:
                problems.add(
                    "relation",
                    (*route.place, "distance"),
                    f"this route of {route.node} is never used: there is a better one, and routes "
                    "do not change",
                    allowed="`rerouting` or `routing: ospf`, by which routers notice failures",
                    at_key=True,
                )


def _check_pairs(scenario: ResolvedScenario, problems: Problems) -> None:
    """Routes of one node to one destination, at one distance."""
    first: dict[tuple[str, str | None, int], ResolvedStaticRoute] = {}
    for number, route in enumerate(scenario.static_routes):
        if route.distance == IGP_DISTANCE:
            problems.add(
                "relation",
                (*route.place, "distance"),
                "the IGP has this distance: which route is used would depend on the router",
                given=str(route.distance),
                allowed=f"1 to {IGP_DISTANCE - 1}, or {IGP_DISTANCE + 1} to 254",
            )
        same_way = next(
            (
                other
                for other in scenario.static_routes[:number]
                if (other.node, other.target, other.arc) == (route.node, route.target, route.arc)
            ),
            None,
        )
        if same_way is not None:
            problems.add(
                "relation",
                route.place,
                f"{route.node} has two routes to {route.target or 'all'} over {route.arc.name}",
                related=((same_way.place, "first here"),),
            )
            continue
        key = (route.node, route.target, route.distance)
        other = first.setdefault(key, route)
        if other is route or scenario.routing.ecmp is not None:
            continue
        problems.add(
            "relation",
            route.place,
            f"{route.node} has two routes to {route.target or 'all'} at distance {route.distance}",
            allowed="routing: {ecmp: flow} to share packets between two links, or two distances",
            related=((other.place, "first here"),),
        )


def _find_loop(scenario: ResolvedScenario, arcs_by_node: NextArcs, end: str) -> list[str] | None:
    """Nodes that pass packets round, from the first again to itself."""
    loop_free = {end}
    for start in scenario.nodes:
        trail: list[str] = []
        stack = [(start, False)]
        while stack:
            node, leaves = stack.pop()
            if leaves:
                loop_free.add(trail.pop())
            elif node in trail:
                return [*trail[trail.index(node) :], node]
            elif node not in loop_free:
                trail.append(node)
                stack.append((node, True))
                arcs = arcs_by_node.get(node, ())
                stack += [(scenario.arc_by_name[arc].target, False) for arc in arcs]
    return None


def _report_loop(scenario: ResolvedScenario, end: str, loop: list[str], problems: Problems) -> None:
    routes = [
        route
        for route in scenario.static_routes
        if route.node in loop
        and route.target in (end, None)
        and route.arc.target == loop[loop.index(route.node) + 1]
    ]
    problems.add(
        "route",
        (*routes[0].place, "via"),
        f"packets to {end} go round in a loop: {' -> '.join(loop)}",
        related=tuple(((*route.place, "via"), "and this route") for route in routes[1:]),
    )


def _check_flows(scenario: ResolvedScenario, routes: StartRoutes, problems: Problems) -> None:
    """Flows whose packets, or whose answers, come to a node without a route."""
    rides = {name for trunk in scenario.trunks.values() for name in trunk.flows}
    for name, flow in scenario.flows.items():
        if name in rides:
            continue
        ways = [(flow.from_, flow.to)]
        if isinstance(flow, Tcp) or name in scenario.echoes:
            ways.append((flow.to, flow.from_))
        for source, end in ways:
            stop = _find_dead_end(scenario, routes.find_arcs(end), source, end)
            if stop is not None:
                problems.add(
                    "no-path",
                    ("flows", name, "to"),
                    f"no route leads from {source} to {end}: {stop} has none",
                    given=flow.to,
                    allowed=f"a route of {stop}, under `nodes`",
                )
                break


def _find_dead_end(
    scenario: ResolvedScenario, arcs_by_node: NextArcs, source: str, end: str
) -> str | None:
    """The node on the way from one to another that has no route; no way has a loop."""
    waiting, seen = [source], {end}
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if not arcs_by_node.get(node):
            return node
        waiting += [scenario.arc_by_name[arc].target for arc in arcs_by_node[node]]
    return None
