"""Checks of paths: routes, tunnels, labels."""

from trunkline.scenario.diagnostic import Path, Problems, nearest
from trunkline.scenario.model import Scenario
from trunkline.scenario.path import Path as LabelPath
from trunkline.scenario.topology import Topology, listed, plural, unknown_node

__all__ = ["Hop", "check", "hops", "label_count", "loads", "route_nodes"]

MAX_STACK = 4
"""Labels that a packet can carry at once."""
FIRST_LABEL = 16
"""First label that is not reserved (RFC 3032 section 2.1)."""

Hop = tuple[str, str, str, bool]
"""From, to, name of the link or of the path ridden as a tunnel, whether it is a tunnel."""


def check(scenario: Scenario, found: Topology, problems: Problems) -> set[str]:
    """Checks all paths.

    Returns
    -------
    set of str
        Paths whose routes, and those of the tunnels they ride, have no fault.
    """
    sound: set[str] = set()
    for name in scenario.paths:
        if hops(scenario, found, name, problems) is not None:
            sound.add(name)
        _labels(scenario, name, problems)
    broken = set(scenario.paths) - sound
    for name in list(sound):
        if any(_rides(scenario, name, each) for each in broken):
            sound.discard(name)
    for name in scenario.paths:
        if name in sound:
            _depth(scenario, found, name, problems)
            _models(scenario, found, name, problems)
    _explicit_nulls(scenario, problems)
    return sound


def hops(scenario: Scenario, found: Topology, name: str, problems: Problems) -> list[Hop] | None:
    """The hops of a path: each a link or a tunnel.

    Parameters
    ----------
    scenario, found
        The scenario and its links.
    name : str
        The path.
    problems : Problems
        Gets gaps, loops and names that do not exist.

    Returns
    -------
    list of Hop, or None
        None if the route is no route.
    """
    route = scenario.paths[name].route
    path: Path = ("paths", name, "route")
    before = len(problems.found)
    tunnels = _tunnels(scenario, name, problems)
    result: list[Hop] = []
    nodes: list[tuple[str, int]] = []
    chosen: str | None = None
    for index, word in enumerate(route):
        if word not in scenario.nodes:
            if word in scenario.links and nodes and chosen is None:
                chosen = word
                continue
            unknown_node(scenario, word, (*path, index), problems)
            return None
        if nodes:
            hop = _hop(
                scenario, found, nodes[-1][0], word, chosen, tunnels, (*path, index), problems
            )
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
        if all(hop[2] != unused or not hop[3] for hop in result):
            message = f"path {unused} does not lead from one node of the route to the next"
            problems.add("route", ("paths", name, "through"), message)
    return result if len(problems.found) == before else None


def _tunnels(scenario: Scenario, name: str, problems: Problems) -> dict[tuple[str, str], str]:
    """Paths that a path rides, by their ends."""
    tunnels: dict[tuple[str, str], str] = {}
    for index, tunnel in enumerate(scenario.paths[name].through):
        at: Path = ("paths", name, "through", index)
        if tunnel not in scenario.paths:
            problems.add(
                "reference",
                at,
                f"there is no path {tunnel}",
                allowed=listed(scenario.paths),
                hint=nearest(tunnel, scenario.paths),
            )
        elif _rides(scenario, tunnel, name):
            problems.add("route", at, f"path {name} rides itself through {tunnel}")
        else:
            route = scenario.paths[tunnel].route
            if route:
                tunnels[route[0], route[-1]] = tunnel
    return tunnels


def _rides(scenario: Scenario, name: str, wanted: str) -> bool:
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
    scenario: Scenario,
    found: Topology,
    source: str,
    target: str,
    chosen: str | None,
    tunnels: dict[tuple[str, str], str],
    path: Path,
    problems: Problems,
) -> Hop | None:
    if chosen is None and (source, target) in tunnels:
        return source, target, tunnels[source, target], True
    arcs = found.between.get((source, target), [])
    if chosen is not None:
        arcs = [arc for arc in arcs if arc.link == chosen]
    if arcs:
        return source, target, arcs[0].name, False
    if source == target:
        return None  # reported as a loop
    by = f" by link {chosen}" if chosen is not None else ""
    reached = [to for (start, to) in found.between if start == source]
    problems.add(
        "route",
        path,
        f"no link leads from {source} to {target}{by}",
        allowed=f"from {source}: {listed(reached)}",
        hint="" if target in reached else nearest(target, reached),
    )
    return None


def loads(scenario: Scenario, found: Topology, name: str) -> list[tuple[str, int]]:
    """Links that a sound path crosses, each with the number of labels on a packet there."""
    path = scenario.paths[name]
    its = hops(scenario, found, name, Problems()) or []
    result: list[tuple[str, int]] = []
    for index, (_, _, over, is_tunnel) in enumerate(its):
        own = 0 if path.php and not path.explicit_null and index == len(its) - 1 else 1
        if is_tunnel:
            result += [(link, own + more) for link, more in loads(scenario, found, over)]
        else:
            result.append((over, own))
    return result


def _depth(scenario: Scenario, found: Topology, name: str, problems: Problems) -> None:
    link, depth = max(loads(scenario, found, name), key=lambda load: load[1])
    if depth > MAX_STACK:
        problems.add(
            "stack",
            ("paths", name, "through"),
            f"packets of path {name} would carry {depth} labels on {link}",
            allowed=f"at most {MAX_STACK}",
        )


def _models(scenario: Scenario, found: Topology, name: str, problems: Problems) -> None:
    """One label operation has one TTL model: where it touches two paths, theirs must agree."""
    path = scenario.paths[name]
    its = hops(scenario, found, name, Problems()) or []
    for index, (source, _, over, is_tunnel) in enumerate(its):
        pops = path.php and not path.explicit_null and index == len(its) - 1
        if is_tunnel and (index == 0 or pops) and _pipe(scenario.paths[over]) != _pipe(path):
            problems.add(
                "relation",
                ("paths", name, "through"),
                f"{source} handles the labels of {name} and {over} in one step: their ttl must be "
                "the same",
                given=f"{path.ttl} and {scenario.paths[over].ttl}",
            )


def _pipe(path: LabelPath) -> bool:
    return path.ttl != "uniform"


def _explicit_nulls(scenario: Scenario, problems: Problems) -> None:
    """Label 0 says nothing of its path: all that end at a node with it have one TTL model."""
    first: dict[str, str] = {}
    for name, path in scenario.paths.items():
        nodes = route_nodes(scenario, name)
        if not path.explicit_null or not nodes:
            continue
        other = first.setdefault(nodes[-1], name)
        if _pipe(scenario.paths[other]) != _pipe(path):
            problems.add(
                "relation",
                ("paths", name, "ttl"),
                f"paths {other} and {name} both end at {nodes[-1]} with explicit null: their ttl "
                "must be the same",
                at_key=True,
                related=((("paths", other), "the other"),),
            )


def label_count(path: LabelPath, nodes: int) -> int:
    """Labels that a path needs: one for each node after the first that sees its label.

    With penultimate-hop popping the last node sees none, with explicit null it sees label 0.
    """
    return max(0, nodes - 2 if path.php or path.explicit_null else nodes - 1)


def route_nodes(scenario: Scenario, name: str) -> list[str]:
    """Nodes of a path's route, names of links left out."""
    return [each for each in scenario.paths[name].route if each in scenario.nodes]


def _labels(scenario: Scenario, name: str, problems: Problems) -> None:
    path = scenario.paths[name]
    at: Path = ("paths", name, "labels")
    if path.explicit_null and path.php and "php" in path.model_fields_set:
        problems.add(
            "relation",
            ("paths", name, "explicit_null"),
            "explicit_null keeps a label on the last hop, php takes it off: choose one",
            at_key=True,
        )
    if path.labels is None:
        return
    nodes = route_nodes(scenario, name)
    needed = label_count(path, len(nodes))
    if len(path.labels) != needed:
        seen = ", ".join(nodes[1 : needed + 1]) or "no node"
        problems.add(
            "label",
            at,
            f"{plural(needed, 'label')} must be given, for {seen}",
            given=plural(len(path.labels), "label"),
            at_key=True,
        )
        return
    for index, (node, label) in enumerate(zip(nodes[1:], path.labels, strict=False)):
        if label < FIRST_LABEL:
            problems.add(
                "label",
                (*at, index),
                f"label {label} is reserved",
                allowed=f"{FIRST_LABEL} to {2**20 - 1}",
            )
        for other in scenario.paths:
            if other == name:
                break
            labels = scenario.paths[other].labels or ()
            taken = list(zip(route_nodes(scenario, other)[1:], labels, strict=False))
            if (node, label) in taken:
                problems.add(
                    "label",
                    (*at, index),
                    f"label {label} at {node} is taken by path {other}",
                    related=((("paths", other, "labels"), "taken here"),),
                )
