"""Checks of failures and protections: what they name, their times, whether a backup protects."""

from trunkline.scenario.check_paths import route_nodes
from trunkline.scenario.diagnostic import Path, Problems, nearest
from trunkline.scenario.model import Scenario
from trunkline.scenario.recovery import Failure, Hello, Outage, Protection
from trunkline.scenario.topology import Topology, listed
from trunkline.scenario.units import format_time

__all__ = ["check", "links_of", "span"]


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
        if (
            _named(scenario, protection, path, problems)
            and {
                protection.path,
                protection.backup or protection.path,
            }
            <= sound
        ):
            _fits(scenario, found, protection, path, problems)
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
    known = True
    for key, name in (("path", protection.path), ("backup", protection.backup)):
        if name is not None and name not in scenario.paths:
            known = False
            problems.add(
                "reference",
                (*path, key),
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
    elif protection.backup == protection.path:
        known = False
        problems.add("protection", (*path, "backup"), "a path cannot protect itself")
    return known


def span(scenario: Scenario, protection: Protection) -> tuple[int, int] | None:
    """First and last place on the working path's route between which it is protected.

    None if the backup does not begin and end on the working path as its kind needs.
    """
    nodes = route_nodes(scenario, protection.path)
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


def _fits(
    scenario: Scenario, found: Topology, protection: Protection, path: Path, problems: Problems
) -> None:
    where = span(scenario, protection)
    working, backup = protection.path, protection.backup
    if where is None:
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
    if backup is None:
        return
    crossed = links_of(scenario, found, working)
    guarded = crossed[where[0] : where[1]] if local else crossed
    theirs = {link for _, link in links_of(scenario, found, backup)}
    for shared in dict.fromkeys(link for _, link in guarded if link in theirs):
        problems.add(
            "protection",
            (*path, "backup"),
            f"path {backup} shares link {shared} with what it protects: when {shared} fails, "
            "both do",
            warning=True,
        )
