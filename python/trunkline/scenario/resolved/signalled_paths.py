"""Which paths are signalled, and what events and requests mean by them."""

from collections.abc import Sequence

from trunkline.scenario.fields import AUTO
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.scenario.signalling import OperatorEvent, get_moved_path


def list_signalled_paths(scenario: ResolvedScenario) -> list[str]:
    """Paths that are signalled, in order.

    Left out are policies of segment routing, paths that ride tunnels, detours, which belong to the
    path that they protect, and paths that only lend their route to an event.
    """
    ridden = {trunk.path for trunk in scenario.trunks.values()}
    ridden |= {trunk.reverse for trunk in scenario.trunks.values() if trunk.reverse}
    detours = {
        protection.backup
        for protection in scenario.protections.values()
        if protection.kind == "detour"
    }
    route_only_paths = ({get_moved_path(event) for event in scenario.events} | detours) - ridden
    return [
        name
        for name, path in scenario.paths.items()
        if name in scenario.routes
        and name not in scenario.policies
        and not path.through
        and name not in route_only_paths
    ]


def list_signalled_repairs(scenario: ResolvedScenario) -> set[str]:
    """Paths whose local repair is signalled; none where nothing is."""
    return set() if scenario.signalling.kind == "none" else set(list_signalled_paths(scenario))


def list_paths_of_event(scenario: ResolvedScenario, event: OperatorEvent) -> list[str]:
    """Paths that an event is about: the one it names, or that of the trunk it names."""
    action = event.action
    if action is None:
        return []
    name = action[1]
    if name in scenario.paths:
        return [name]
    trunk = scenario.trunks.get(name)
    return [] if trunk is None else [trunk.path]


def find_links_of_route(scenario: ResolvedScenario, route_words: Sequence[str]) -> list[str] | None:
    """Links of a route said by its nodes or by a path that has it; None if there is none."""
    if len(route_words) == 1 and route_words[0] in scenario.routes:
        route = scenario.routes[route_words[0]]
        return None if any(hop.is_tunnel for hop in route.hops) else [h.over for h in route.hops]
    if len(route_words) < 2 or AUTO in route_words:
        return None
    pairs = [(route_words[index], route_words[index + 1]) for index in range(len(route_words) - 1)]
    found = [scenario.arcs_between.get(pair, []) for pair in pairs]
    return [arcs[0].name for arcs in found] if all(found) else None
