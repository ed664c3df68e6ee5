"""Checks of failures and protections: what they name, their times, whether a backup protects."""

from trunkline.scenario.check_paths import route_nodes
from trunkline.scenario.diagnostic import Path, Problems, nearest
from trunkline.scenario.model import Scenario
from trunkline.scenario.recovery import Failure, Hello, Outage, Protection
from trunkline.scenario.topology import Topology, listed
from trunkline.scenario.units import format_time

__all__ = ["check", "links_of", "span", "written_out"]


def check(scenario: Scenario, found: Topology, sound: set[str], problems: Problems) -> None:
    """Checks all failures and protections.

    Parameters
    ----------
    scenario, found
        The scenario and its links.
    sound : set of str
        Paths whose routes have no fault.
    problems : Problems
        Gets what is wrong or doubtful.
    """
    for name, failure in scenario.failures.items():
        _failure(scenario, found, failure, ("failures", name), problems)
    for name, protection in scenario.protections.items():
        path: Path = ("protections", name)
        _hello(protection.detection, path, problems)
        if _named(scenario, protection, path, problems):
            _each(scenario, found, protection, sound, path, problems)
    if scenario.rerouting is not None:
        _hello(scenario.rerouting.detection, ("rerouting",), problems)


def _failure(
    scenario: Scenario, found: Topology, failure: Failure, path: Path, problems: Problems
) -> None:
    if not failure.link and not failure.node:
        problems.add("missing-key", path, "a failure needs `link` or `node`", at_key=True)
    arcs = {arc.name for arc in found.arcs}
    for index, link in enumerate(failure.link):
        if link not in scenario.links and link not in arcs:
            problems.add(
                "reference",
                (*path, "link", index),
                f"there is no link {link}",
                allowed=listed(scenario.links),
                hint=nearest(link, [*scenario.links, *arcs]),
            )
    for index, node in enumerate(failure.node):
        if node not in scenario.nodes:
            problems.add(
                "reference",
                (*path, "node", index),
                f"there is no node {node}",
                allowed=listed(scenario.nodes),
                hint=nearest(node, scenario.nodes),
            )
    _times(scenario, failure, path, problems)


def _times(scenario: Scenario, failure: Failure, path: Path, problems: Problems) -> None:
    random = failure.mtbf is not None or failure.mttr is not None
    ways = [failure.at is not None or failure.repair is not None, bool(failure.outages), random]
    if sum(ways) != 1:
        message = "a failure has one of: `at` (and `repair`), `outages`, `mtbf` and `mttr`"
        problems.add("relation", path, message, at_key=True)
        return
    if random and (failure.mtbf is None or failure.mttr is None):
        problems.add("relation", path, "`mtbf` and `mttr` go together", at_key=True)
        return
    if ways[0] and failure.at is None:
        problems.add("missing-key", (*path, "at"), "at is missing", at_key=True)
        return
    free: int | None = 0
    for index, outage in enumerate(outages(failure)):
        at: Path = (*path, "outages", index) if failure.outages else path
        _outage(scenario, outage, free, at, problems)
        free = outage.repair


def _outage(
    scenario: Scenario, outage: Outage, free: int | None, path: Path, problems: Problems
) -> None:
    if outage.repair is not None and outage.repair <= outage.at:
        problems.add(
            "relation",
            (*path, "repair"),
            "the repair must come after the failure",
            given=format_time(outage.repair),
            allowed=f"above {format_time(outage.at)}",
            related=(((*path, "at"), f"it fails at {format_time(outage.at)}"),),
        )
    elif free is None or outage.at < free:
        before = "the outage before it never ends" if free is None else "it is still down"
        problems.add(
            "relation",
            (*path, "at"),
            f"outages must follow each other: {before}",
            given=format_time(outage.at),
            allowed="" if free is None else f"{format_time(free)} or later",
        )
    elif outage.at >= scenario.run.duration:
        problems.add(
            "relation",
            (*path, "at"),
            "the run ends before this failure",
            given=format_time(outage.at),
            related=((("run", "duration"), f"ends at {format_time(scenario.run.duration)}"),),
            warning=True,
        )


def outages(failure: Failure) -> tuple[Outage, ...]:
    """The set times of a failure; none of a random one."""
    if failure.at is not None:
        return (Outage(at=failure.at, repair=failure.repair),)
    return failure.outages


def _hello(detection: object, path: Path, problems: Problems) -> None:
    if isinstance(detection, Hello) and detection.silence < detection.interval:
        problems.add(
            "relation",
            (*path, "detection", "timeout"),
            "the timeout must not be below the interval",
            given=format_time(detection.silence),
            allowed=f"{format_time(detection.interval)} or more",
        )


def _named(scenario: Scenario, protection: Protection, path: Path, problems: Problems) -> bool:
    known = bool(protection.path)
    if not known:
        problems.add("empty", (*path, "path"), "a protection protects at least one path")
    names: list[tuple[Path, str]] = [
        (("path", index), name)
        for index, name in enumerate(protection.path)
        if not _is_all(scenario, name)
    ]
    if protection.backup is not None:
        names.append((("backup",), protection.backup))
    for where, name in names:
        if name not in scenario.paths:
            known = False
            problems.add(
                "reference",
                (*path, *where),
                f"there is no path {name}",
                allowed=listed(scenario.paths),
                hint=nearest(name, scenario.paths),
            )
    if (protection.backup is None) != (protection.kind == "restoration"):
        known = False
        message = (
            "restoration computes its path: it has no backup"
            if protection.backup is not None
            else f"{protection.kind} needs the path that takes over"
        )
        problems.add("protection", (*path, "backup"), message, at_key=True)
    elif protection.backup in protection.path:
        known = False
        problems.add("protection", (*path, "backup"), "a path cannot protect itself")
    shared = len(protection.path) > 1 or _is_all(scenario, *protection.path)
    if shared and protection.kind in ("detour", "one-plus-one"):
        known = False
        message = f"{protection.kind} protects one path: give each its own"
        problems.add("protection", (*path, "path"), message)
    return known


def _is_all(scenario: Scenario, *names: str) -> bool:
    return names == ("all",) and "all" not in scenario.paths


def written_out(scenario: Scenario, found: Topology) -> Scenario:
    """The same scenario with the names of the paths that `all` protections stand for.

    Parameters
    ----------
    scenario, found
        A scenario that was checked, and its links.
    """
    named = {
        name: its.model_copy(update={"path": _protected(scenario, found, its)})
        for name, its in scenario.protections.items()
        if _is_all(scenario, *its.path)
    }
    return scenario.model_copy(update={"protections": scenario.protections | named})


def _protected(scenario: Scenario, found: Topology, protection: Protection) -> tuple[str, ...]:
    """Paths of trunks that begin and end as they must and share no link with the backup."""
    trunks = scenario.trunks.values()
    ridden = {trunk.path for trunk in trunks} | {trunk.reverse for trunk in trunks}
    return tuple(
        name
        for name in scenario.paths
        if name in ridden - {protection.backup}
        and span(scenario, protection, name) is not None
        and not _shared(scenario, found, protection, name)
        and not (protection.kind == "facility-bypass" and scenario.paths[name].through)
    )


def _each(
    scenario: Scenario,
    found: Topology,
    protection: Protection,
    sound: set[str],
    path: Path,
    problems: Problems,
) -> None:
    if protection.backup is not None and protection.backup not in sound:
        return
    names = protection.path
    if _is_all(scenario, *names):
        if not set(scenario.paths) <= sound:
            return
        names = _protected(scenario, found, protection)
        if not names:
            message = "there is no path of a trunk that this can protect"
            problems.add("protection", (*path, "path"), message, warning=True)
    for working in names:
        if working in sound:
            _fits(scenario, found, protection, working, path, problems)


def span(scenario: Scenario, protection: Protection, working: str) -> tuple[int, int] | None:
    """First and last place on the working path's route between which it is protected.

    None if the backup does not begin and end on the working path as its kind needs.
    """
    nodes = route_nodes(scenario, working)
    if protection.backup is None:
        return 0, len(nodes) - 1
    spare = route_nodes(scenario, protection.backup)
    if spare[0] not in nodes or spare[-1] not in nodes:
        return None
    first, last = nodes.index(spare[0]), nodes.index(spare[-1])
    whole = protection.kind in ("backup", "one-plus-one")
    if first >= last or (whole and (first, last) != (0, len(nodes) - 1)):
        return None
    return first, last


def links_of(scenario: Scenario, found: Topology, name: str) -> list[tuple[str, str]]:
    """Hops of a path as (direction of the link, link), tunnels followed, in order."""
    from trunkline.scenario.check_paths import hops

    crossed: list[tuple[str, str]] = []
    link_of = {arc.name: arc.link for arc in found.arcs}
    for _, _, over, is_tunnel in hops(scenario, found, name, Problems()) or []:
        if is_tunnel:
            crossed += links_of(scenario, found, over)
        else:
            crossed.append((over, link_of[over]))
    return crossed


def _shared(scenario: Scenario, found: Topology, protection: Protection, working: str) -> list[str]:
    """Links that the backup shares with what it protects."""
    where = span(scenario, protection, working)
    if protection.backup is None or where is None:
        return []
    crossed = links_of(scenario, found, working)
    theirs = {link for _, link in links_of(scenario, found, protection.backup)}
    if protection.kind in ("facility-bypass", "detour"):
        crossed = crossed[where[0] : where[1]]
    return list(dict.fromkeys(link for _, link in crossed if link in theirs))


def _fits(
    scenario: Scenario,
    found: Topology,
    protection: Protection,
    working: str,
    path: Path,
    problems: Problems,
) -> None:
    backup = protection.backup
    if span(scenario, protection, working) is None:
        nodes = route_nodes(scenario, working)
        ends = (
            f"begin at {nodes[0]} and end at {nodes[-1]}, as path {working} does"
            if protection.kind in ("backup", "one-plus-one")
            else f"begin at a node of path {working} and end at a later one"
        )
        problems.add("protection", (*path, "backup"), f"path {backup} must {ends}")
        return
    local = protection.kind in ("facility-bypass", "detour")
    if local and (scenario.paths[working].through or scenario.paths[backup or ""].through):
        message = f"{protection.kind} needs paths that ride no tunnel"
        problems.add("protection", (*path, "kind"), message)
        return
    if protection.kind == "one-plus-one":
        for name in (working, backup or ""):
            if scenario.paths[name].php or scenario.paths[name].explicit_null:
                problems.add(
                    "protection",
                    (*path, "kind"),
                    f"the tail selects by label: path {name} must keep its own to the end",
                    hint=f"set `php: false` in paths.{name}",
                )
    for shared in _shared(scenario, found, protection, working):
        problems.add(
            "protection",
            (*path, "backup"),
            f"path {backup} shares link {shared} with what it protects: when {shared} fails, "
            "both do",
            warning=True,
        )
