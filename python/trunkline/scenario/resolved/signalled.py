"""Which paths are signalled, and what events and requests mean by them."""

from collections.abc import Sequence

from trunkline.scenario.path import AUTO
from trunkline.scenario.resolved.resolved import Resolved
from trunkline.scenario.signalling import Event, moved_to


def signalled(scenario: Resolved) -> list[str]:
    """Paths that are signalled, in order.

    Left out are policies of segment routing, paths that ride tunnels, detours, which belong to the
    path that they protect, and paths that only lend their route to an event.
    """
    ridden = {trunk.path for trunk in scenario.trunks.values()}
    ridden |= {trunk.reverse for trunk in scenario.trunks.values() if trunk.reverse}
    detours = {its.backup for its in scenario.protections.values() if its.kind == "detour"}
    lent = ({moved_to(event) for event in scenario.events} | detours) - ridden
    return [
        name
        for name, path in scenario.paths.items()
        if name in scenario.routes
        and name not in scenario.segmented
        and not path.through
        and name not in lent
    ]


def repaired(scenario: Resolved) -> set[str]:
    """Paths whose local repair is signalled; none where nothing is."""
    return set() if scenario.signalling.kind == "none" else set(signalled(scenario))


def paths_of(scenario: Resolved, event: Event) -> list[str]:
    """Paths that an event is about: the one it names, or that of the trunk it names."""
    action = event.action
    if action is None:
        return []
    name = action[1]
    if name in scenario.paths:
        return [name]
    trunk = scenario.trunks.get(name)
    return [] if trunk is None else [trunk.path]


def links_of(scenario: Resolved, to: Sequence[str]) -> list[str] | None:
    """Links of a route said by its nodes or by a path that has it; None if there is none."""
    if len(to) == 1 and to[0] in scenario.routes:
        route = scenario.routes[to[0]]
        return None if any(hop.is_tunnel for hop in route.hops) else [h.over for h in route.hops]
    if len(to) < 2 or AUTO in to:
        return None
    pairs = [(to[index], to[index + 1]) for index in range(len(to) - 1)]
    found = [scenario.between.get(pair, []) for pair in pairs]
    return [arcs[0].name for arcs in found] if all(found) else None
