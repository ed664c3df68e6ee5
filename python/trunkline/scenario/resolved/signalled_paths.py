"""Names of signalled paths, and the paths that events and requests refer to."""

from collections.abc import Sequence

from trunkline.scenario.fields import AUTO
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.scenario.signalling import OperatorEvent, get_moved_path


def list_signalled_paths(scenario: ResolvedScenario) -> list[str]:
    """List the paths that are signalled, in order.

    Left out are policies of segment routing, paths that ride tunnels, detours, which belong to the
    path that they protect, and paths that only lend their route to an event.
    """
    detours = {
        protection.backup
        for protection in scenario.protections.values()
        if protection.kind == "detour"
    }
    not_signalled = list_route_only_paths(scenario) | (detours - _list_ridden_paths(scenario))
    return [
        name
        for name, path in scenario.paths.items()
        if name in scenario.routes
        and name not in scenario.policies
        and not path.through
        and name not in not_signalled
    ]


def _list_ridden_paths(scenario: ResolvedScenario) -> set[str]:
    """List the paths that a trunk rides, in either direction."""
    trunks = scenario.trunks.values()
    return {trunk.path for trunk in trunks} | {trunk.reverse for trunk in trunks if trunk.reverse}


def list_route_only_paths(scenario: ResolvedScenario) -> set[str]:
    """List the paths that only lend their route to an event, and are not set up."""
    named = {get_moved_path(event) for event in scenario.events} - _list_ridden_paths(scenario)
    return {name for name in named if name is not None}


def list_paths_set_up_later(scenario: ResolvedScenario) -> set[str]:
    """Signalled paths that are absent at the start: their first event sets them up."""
    if scenario.signalling.kind == "none":
        return set()
    first_events: dict[str, OperatorEvent] = {}
    for event in sorted(scenario.events, key=lambda event: event.at):
        if event.set_up is not None or event.tear is not None:
            for path in list_paths_of_event(scenario, event):
                first_events.setdefault(path, event)
    return {path for path, event in first_events.items() if event.set_up is not None}


def list_signalled_repairs(scenario: ResolvedScenario) -> set[str]:
    """List the paths whose local repair is signalled; none where nothing is."""
    return set() if scenario.signalling.kind == "none" else set(list_signalled_paths(scenario))


def list_paths_of_event(scenario: ResolvedScenario, event: OperatorEvent) -> list[str]:
    """List the paths that an event is about: the one it names, or that of the trunk it names."""
    action = event.action
    if action is None:
        return []
    name = action[1]
    if name in scenario.paths:
        return [name]
    trunk = scenario.trunks.get(name)
    return [] if trunk is None else [trunk.path]


def find_links_of_route(scenario: ResolvedScenario, route_words: Sequence[str]) -> list[str] | None:
    """Find the links of a route, given by its nodes or by another path; None if there is none."""
    if len(route_words) == 1 and route_words[0] in scenario.routes:
        route = scenario.routes[route_words[0]]
        return None if any(hop.is_tunnel for hop in route.hops) else [h.over for h in route.hops]
    if len(route_words) < 2 or AUTO in route_words:
        return None
    pairs = [(route_words[index], route_words[index + 1]) for index in range(len(route_words) - 1)]
    found = [scenario.arcs_between.get(pair, []) for pair in pairs]
    return [arcs[0].name for arcs in found] if all(found) else None
