"""Protections with the names of the protected elements: `all` expanded, spans, shared links."""

from trunkline.scenario.fields import ALL
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import LOCAL_PROTECTION_KINDS, SINGLE_PATH_KINDS, Protection
from trunkline.scenario.resolved.resolved import ResolvedArc, ResolvedScenario


def resolve_protections(scenario: ResolvedScenario, problems: Problems) -> None:
    """Put the paths that `all` stands for into protections whose backup has a route."""
    if set(scenario.paths) > set(scenario.routes):
        return
    for name, each in scenario.protections.items():
        has_route = each.backup is None or each.backup in scenario.routes
        if is_of_all_paths(scenario, each) and has_route and each.kind not in SINGLE_PATH_KINDS:
            scenario.protections[name] = each.model_copy(
                update={"path": _list_protectable_paths(scenario, each)}
            )


def is_of_all_paths(scenario: ResolvedScenario, protection: Protection) -> bool:
    """Whether a protection is one of all paths that it can protect."""
    return protection.path == (ALL,)


def _list_protectable_paths(scenario: ResolvedScenario, protection: Protection) -> tuple[str, ...]:
    """Paths of trunks that begin and end as they must and share no link with the backup."""
    trunks = scenario.trunks.values()
    ridden = {trunk.path for trunk in trunks} | {trunk.reverse for trunk in trunks}
    return tuple(
        name
        for name in scenario.paths
        if name in ridden - {protection.backup}
        and find_span(scenario, protection, name) is not None
        and not list_shared_links(scenario, protection, name)
        and not (protection.kind == "facility-bypass" and scenario.paths[name].through)
        and (protection.kind == "backup" or name not in scenario.policies)
    )


def find_span(
    scenario: ResolvedScenario, protection: Protection, working: str
) -> tuple[int, int] | None:
    """First and last place on the working path's route between which it is protected.

    None if the backup does not begin and end on the working path as its kind needs.
    """
    nodes = scenario.routes[working].nodes
    whole_route = 0, len(nodes) - 1
    if protection.backup is None:
        return whole_route
    backup_nodes = scenario.routes[protection.backup].nodes
    if backup_nodes[0] not in nodes or backup_nodes[-1] not in nodes:
        return None
    first, last = nodes.index(backup_nodes[0]), nodes.index(backup_nodes[-1])
    is_end_to_end = protection.kind in ("backup", "one-plus-one")
    if first >= last or (is_end_to_end and (first, last) != whole_route):
        return None
    return first, last


def covers_arc(protection: Protection, arc: ResolvedArc) -> bool:
    """Whether a protection is for the failure of a direction of a link."""
    return not protection.link or arc.link in protection.link or arc.name in protection.link


def list_shared_links(
    scenario: ResolvedScenario, protection: Protection, working: str
) -> list[str]:
    """List the links that the backup shares with the protected element."""
    if protection.backup is None or find_span(scenario, protection, working) is None:
        return []
    backup_links = {arc.link for arc in _list_arcs(scenario, protection.backup)}
    protected_arcs = list_protected_arcs(scenario, protection, working)
    protected_links = [arc.link for arc in protected_arcs if covers_arc(protection, arc)]
    return list(dict.fromkeys(link for link in protected_links if link in backup_links))


def list_protected_arcs(
    scenario: ResolvedScenario, protection: Protection, working: str
) -> list[ResolvedArc]:
    """List the links of a path that its protection goes around."""
    path_arcs = _list_arcs(scenario, working)
    protected_span = find_span(scenario, protection, working)
    if protection.kind not in LOCAL_PROTECTION_KINDS or protected_span is None:
        return path_arcs
    return path_arcs[protected_span[0] : protected_span[1]]


def _list_arcs(scenario: ResolvedScenario, path: str) -> list[ResolvedArc]:
    return [crossing.arc for crossing in scenario.routes[path].crossings]
