"""Routes of paths: hop by hop over links and tunnels, and the links crossed."""

from trunkline.scenario.diagnostic import Path, nearest
from trunkline.scenario.problems import Problems, listed
from trunkline.scenario.resolved.resolved import Crossing, Hop, Resolved, Route


def routes(scenario: Resolved, problems: Problems) -> None:
    """Follows every path; one with a fault, or through a tunnel with one, gets no route."""
    hops = {name: _hops(scenario, name, problems) for name in scenario.paths}
    broken = [name for name, each in hops.items() if each is None]
    crossed: dict[str, list[Crossing]] = {}
    for name, each in hops.items():
        if each is not None and not any(_rides(scenario, name, other) for other in broken):
            scenario.routes[name] = Route(
                scenario.nodes_of(name), each, _crossings(scenario, name, hops, crossed)
            )


def _crossings(
    scenario: Resolved,
    name: str,
    hops: dict[str, list[Hop] | None],
    crossed: dict[str, list[Crossing]],
) -> list[Crossing]:
    if name in crossed:
        return crossed[name]
    path, own = scenario.paths[name], hops[name] or []
    result: list[Crossing] = []
    if name in scenario.segmented:
        left = list(scenario.segmented[name])
        for hop in own:
            left = left[1:] if hop.target == left[0].node else left
            result.append(Crossing(scenario.arc[hop.over], len(left), frozenset({name})))
        return result
    for index, hop in enumerate(own):
        popped = path.php and not path.explicit_null and index == len(own) - 1
        labels = 0 if popped else 1
        if not hop.is_tunnel:
            result.append(Crossing(scenario.arc[hop.over], labels, frozenset({name})))
            continue
        inside = _crossings(scenario, hop.over, hops, crossed)
        for at, each in enumerate(inside):
            # At the tunnel's head one entry puts on both labels: it forwards for both paths.
            paths = each.paths | {name} if at == 0 else each.paths
            result.append(Crossing(each.arc, each.labels + labels, paths))
    crossed[name] = result
    return result


def _hops(scenario: Resolved, name: str, problems: Problems) -> list[Hop] | None:
    """The hops of a path: each a link or a tunnel.

    None if the route is no route: it has gaps, loops or names that do not exist.
    """
    route = scenario.paths[name].route
    if not route and "route" not in scenario.paths[name].model_fields_set:
        return None  # reported with its segments, or as lacking both
    path: Path = ("paths", name, "route")
    before = len(problems.found)
    tunnels = _tunnels(scenario, name, problems)
    result: list[Hop] = []
    nodes: list[tuple[str, int]] = []
    chosen: str | None = None
    for index, word in enumerate(route):
        if word not in scenario.nodes:
            if word in scenario.written.links and nodes and chosen is None:
                chosen = word
                continue
            problems.unknown((*path, index), "node", word, scenario.nodes)
            return None
        if nodes:
            here = (*path, index)
            hop = _hop(scenario, nodes[-1][0], word, chosen, tunnels, here, problems)
            if hop is not None:
                result.append(hop)
        for other, at in nodes:
            if other == word:
                problems.add(
                    "route",
                    (*path, index),
                    f"the route passes {word} twice",
                    related=(((*path, at), "first here"),),
                )
        nodes.append((word, index))
        chosen = None
    if len(nodes) < 2 or chosen is not None:
        problems.add(
            "route", path, "a route begins and ends with a node, and they differ", at_key=True
        )
    for unused in tunnels.values():
        if all(hop.over != unused or not hop.is_tunnel for hop in result):
            message = f"path {unused} does not lead from one node of the route to the next"
            problems.add("route", ("paths", name, "through"), message)
    return result if len(problems.found) == before else None


def _tunnels(scenario: Resolved, name: str, problems: Problems) -> dict[tuple[str, str], str]:
    """Paths that a path rides, by their ends."""
    tunnels: dict[tuple[str, str], str] = {}
    for index, tunnel in enumerate(scenario.paths[name].through):
        at: Path = ("paths", name, "through", index)
        if tunnel not in scenario.paths:
            problems.unknown(at, "path", tunnel, scenario.paths)
        elif _rides(scenario, tunnel, name):
            problems.add("route", at, f"path {name} rides itself through {tunnel}")
        else:
            route = scenario.paths[tunnel].route
            if route:
                tunnels[route[0], route[-1]] = tunnel
    return tunnels


def _rides(scenario: Resolved, name: str, wanted: str) -> bool:
    """Whether a path is another or rides it, at any depth."""
    seen: set[str] = set()
    stack = [name]
    while stack:
        each = stack.pop()
        if each == wanted:
            return True
        if each not in seen and each in scenario.paths:
            seen.add(each)
            stack += scenario.paths[each].through
    return False


def _hop(
    scenario: Resolved,
    source: str,
    target: str,
    chosen: str | None,
    tunnels: dict[tuple[str, str], str],
    path: Path,
    problems: Problems,
) -> Hop | None:
    if chosen is None and (source, target) in tunnels:
        return Hop(source, target, tunnels[source, target], True)
    arcs = scenario.between.get((source, target), [])
    if chosen is not None:
        arcs = [arc for arc in arcs if arc.link == chosen]
    if arcs:
        return Hop(source, target, arcs[0].name, False)
    if source == target:
        return None  # reported as a loop
    by = f" by link {chosen}" if chosen is not None else ""
    reached = [to for (start, to) in scenario.between if start == source]
    problems.add(
        "route",
        path,
        f"no link leads from {source} to {target}{by}",
        allowed=f"from {source}: {listed(reached)}",
        hint="" if target in reached else nearest(target, reached),
    )
    return None
