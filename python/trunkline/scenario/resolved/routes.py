"""Routes of paths: hop by hop over links and tunnels, and the links crossed."""

from trunkline.scenario.diagnostic import DocumentPath, suggest_nearest
from trunkline.scenario.problems import Problems, format_names
from trunkline.scenario.resolved.resolved import LinkCrossing, ResolvedScenario, Route, RouteHop


def resolve_routes(scenario: ResolvedScenario, problems: Problems) -> None:
    """Follow every path; one with a fault, or through a tunnel with one, gets no route."""
    hops = {name: _follow_route(scenario, name, problems) for name in scenario.paths}
    broken = [name for name, each in hops.items() if each is None]
    crossed: dict[str, list[LinkCrossing]] = {}
    for name, each in hops.items():
        if each is not None and not any(_rides_path(scenario, name, other) for other in broken):
            scenario.routes[name] = Route(
                scenario.list_route_nodes(name),
                each,
                _list_crossings(scenario, name, hops, crossed),
            )


def _list_crossings(
    scenario: ResolvedScenario,
    name: str,
    hops: dict[str, list[RouteHop] | None],
    crossed: dict[str, list[LinkCrossing]],
) -> list[LinkCrossing]:
    if name in crossed:
        return crossed[name]
    path, path_hops = scenario.paths[name], hops[name] or []
    result: list[LinkCrossing] = []
    if name in scenario.policies:
        remaining = list(scenario.policies[name])
        for hop in path_hops:
            remaining = remaining[1:] if hop.target == remaining[0].node else remaining
            result.append(
                LinkCrossing(scenario.arc_by_name[hop.over], len(remaining), frozenset({name}))
            )
        return result
    for index, hop in enumerate(path_hops):
        popped = path.php and not path.explicit_null and index == len(path_hops) - 1
        labels = 0 if popped else 1
        if not hop.is_tunnel:
            result.append(LinkCrossing(scenario.arc_by_name[hop.over], labels, frozenset({name})))
            continue
        tunnel_crossings = _list_crossings(scenario, hop.over, hops, crossed)
        for position, each in enumerate(tunnel_crossings):
            # At the tunnel's head one entry puts on both labels: it forwards for both paths.
            paths = each.paths | {name} if position == 0 else each.paths
            result.append(LinkCrossing(each.arc, each.label_count + labels, paths))
    crossed[name] = result
    return result


def _follow_route(
    scenario: ResolvedScenario, name: str, problems: Problems
) -> list[RouteHop] | None:
    """The hops of a path: each a link or a tunnel.

    None if the route is no route: it has gaps, loops or names that do not exist.
    """
    route = scenario.paths[name].route
    if not route and "route" not in scenario.paths[name].model_fields_set:
        return None  # reported with its segments, or as lacking both
    path: DocumentPath = ("paths", name, "route")
    before = len(problems.findings)
    tunnels = _find_tunnels(scenario, name, problems)
    # Where a tunnel has a fault, the hops that it makes are unknown.
    are_hops_known = len(problems.findings) == before and all(
        end in scenario.nodes for ends in tunnels for end in ends
    )
    result: list[RouteHop] = []
    nodes: list[tuple[str, int]] = []
    chosen_link: str | None = None
    for index, word in enumerate(route):
        if word not in scenario.nodes:
            if word in scenario.written.links and nodes and chosen_link is None:
                chosen_link = word
                continue
            problems.add_unknown((*path, index), "node", word, scenario.nodes)
            return None
        if nodes and are_hops_known:
            word_path = (*path, index)
            hop = _find_hop(scenario, nodes[-1][0], word, chosen_link, tunnels, word_path, problems)
            if hop is not None:
                result.append(hop)
        for other, first_index in nodes:
            if other == word:
                problems.add(
                    "route",
                    (*path, index),
                    f"the route passes {word} twice",
                    related=(((*path, first_index), "first here"),),
                )
        nodes.append((word, index))
        chosen_link = None
    if len(nodes) < 2 or chosen_link is not None:
        problems.add(
            "route", path, "a route begins and ends with a node, and they differ", at_key=True
        )
    for unused in tunnels.values() if are_hops_known else ():
        if all(hop.over != unused or not hop.is_tunnel for hop in result):
            message = f"path {unused} does not lead from one node of the route to the next"
            problems.add("route", ("paths", name, "through"), message)
    return result if are_hops_known and len(problems.findings) == before else None


def _find_tunnels(
    scenario: ResolvedScenario, name: str, problems: Problems
) -> dict[tuple[str, str], str]:
    """Find the paths that a path rides, by their ends."""
    tunnels: dict[tuple[str, str], str] = {}
    for index, tunnel in enumerate(scenario.paths[name].through):
        tunnel_path: DocumentPath = ("paths", name, "through", index)
        if tunnel not in scenario.paths:
            problems.add_unknown(tunnel_path, "path", tunnel, scenario.paths)
        elif _rides_path(scenario, tunnel, name):
            problems.add("route", tunnel_path, f"path {name} rides itself through {tunnel}")
        else:
            route = scenario.paths[tunnel].route
            if route:
                tunnels[route[0], route[-1]] = tunnel
    return tunnels


def _rides_path(scenario: ResolvedScenario, name: str, target_path: str) -> bool:
    """Whether a path is another or rides it, at any depth."""
    seen: set[str] = set()
    stack = [name]
    while stack:
        each = stack.pop()
        if each == target_path:
            return True
        if each not in seen and each in scenario.paths:
            seen.add(each)
            stack += scenario.paths[each].through
    return False


def _find_hop(
    scenario: ResolvedScenario,
    source: str,
    target: str,
    chosen_link: str | None,
    tunnels: dict[tuple[str, str], str],
    path: DocumentPath,
    problems: Problems,
) -> RouteHop | None:
    if chosen_link is None and (source, target) in tunnels:
        return RouteHop(source, target, tunnels[source, target], True)
    arcs = scenario.arcs_between.get((source, target), [])
    if chosen_link is not None:
        arcs = [arc for arc in arcs if arc.link == chosen_link]
    if arcs:
        return RouteHop(source, target, arcs[0].name, False)
    if source == target:
        return None  # reported as a loop
    link_text = f" by link {chosen_link}" if chosen_link is not None else ""
    reached = [to for (start, to) in scenario.arcs_between if start == source]
    problems.add(
        "route",
        path,
        f"no link leads from {source} to {target}{link_text}",
        allowed=f"from {source}: {format_names(reached)}",
        hint="" if target in reached else suggest_nearest(target, reached),
    )
    return None
