"""Protections with the names of what they protect: `all` written out, spans, shared links."""

from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import LOCAL, ONE_PATH, Protection
from trunkline.scenario.resolved.resolved import Arc, Resolved


def protections(scenario: Resolved, problems: Problems) -> None:
    """Puts the paths that `all` stands for into protections whose backup has a route."""
    if set(scenario.paths) > set(scenario.routes):
        return
    for name, each in scenario.protections.items():
        known = each.backup is None or each.backup in scenario.routes
        if means_all(scenario, each) and known and each.kind not in ONE_PATH:
            scenario.protections[name] = each.model_copy(
                update={"path": _protected(scenario, each)}
            )


def means_all(scenario: Resolved, protection: Protection) -> bool:
    """Whether a protection is one of all paths that it can protect."""
    return protection.path == ("all",) and "all" not in scenario.paths


def _protected(scenario: Resolved, protection: Protection) -> tuple[str, ...]:
    """Paths of trunks that begin and end as they must and share no link with the backup."""
    trunks = scenario.trunks.values()
    ridden = {trunk.path for trunk in trunks} | {trunk.reverse for trunk in trunks}
    return tuple(
        name
        for name in scenario.paths
        if name in ridden - {protection.backup}
        and span(scenario, protection, name) is not None
        and not shared(scenario, protection, name)
        and not (protection.kind == "facility-bypass" and scenario.paths[name].through)
        and (protection.kind == "backup" or name not in scenario.segmented)
    )


def span(scenario: Resolved, protection: Protection, working: str) -> tuple[int, int] | None:
    """First and last place on the working path's route between which it is protected.

    None if the backup does not begin and end on the working path as its kind needs.
    """
    nodes = scenario.routes[working].nodes
    if protection.backup is None:
        return 0, len(nodes) - 1
    spare = scenario.routes[protection.backup].nodes
    if spare[0] not in nodes or spare[-1] not in nodes:
        return None
    first, last = nodes.index(spare[0]), nodes.index(spare[-1])
    whole = protection.kind in ("backup", "one-plus-one")
    if first >= last or (whole and (first, last) != (0, len(nodes) - 1)):
        return None
    return first, last


def covers(protection: Protection, arc: Arc) -> bool:
    """Whether a protection is for the failure of a direction of a link."""
    return not protection.link or arc.link in protection.link or arc.name in protection.link


def shared(scenario: Resolved, protection: Protection, working: str) -> list[str]:
    """Links that the backup shares with what it protects."""
    if protection.backup is None or span(scenario, protection, working) is None:
        return []
    theirs = {arc.link for arc in _links(scenario, protection.backup)}
    crossed = guarded(scenario, protection, working)
    own = [arc.link for arc in crossed if covers(protection, arc)]
    return list(dict.fromkeys(link for link in own if link in theirs))


def guarded(scenario: Resolved, protection: Protection, working: str) -> list[Arc]:
    """Links of a path that its protection goes around."""
    crossed = _links(scenario, working)
    where = span(scenario, protection, working)
    if protection.kind not in LOCAL or where is None:
        return crossed
    return crossed[where[0] : where[1]]


def _links(scenario: Resolved, path: str) -> list[Arc]:
    return [crossing.arc for crossing in scenario.routes[path].crossings]
