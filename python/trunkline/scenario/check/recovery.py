"""Checks of failures and protections: what they name, their times, whether a backup protects."""

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import LOCAL, ONE_PATH, Failure, Hello, Outage, Protection
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.protections import guarded, means_all, shared, span
from trunkline.scenario.resolved.segments import active
from trunkline.scenario.units import format_time


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all failures and protections."""
    for name, failure in scenario.failures.items():
        _failure(scenario, failure, ("failures", name), problems)
    for name, protection in scenario.protections.items():
        path: Path = ("protections", name)
        _hello(protection.detection, path, problems)
        written = scenario.written.protections.get(name, protection)
        if _named(scenario, written, path, problems):
            _each(scenario, protection, path, problems)
    if scenario.rerouting is not None:
        _hello(scenario.rerouting.detection, ("rerouting",), problems)


def _failure(scenario: Resolved, failure: Failure, path: Path, problems: Problems) -> None:
    if not failure.link and not failure.node:
        problems.add("missing-key", path, "a failure needs `link` or `node`", at_key=True)
    for index, link in enumerate(failure.link):
        if link not in scenario.written.links and link not in scenario.arc:
            problems.unknown((*path, "link", index), "link", link, scenario.written.links)
    problems.each_known((*path, "node"), "node", failure.node, scenario.nodes)
    _times(scenario, failure, path, problems)


def _times(scenario: Resolved, failure: Failure, path: Path, problems: Problems) -> None:
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
    for index, outage in enumerate(failure.times):
        at: Path = (*path, "outages", index) if failure.outages else path
        _outage(scenario, outage, free, at, problems)
        free = outage.repair


def _outage(
    scenario: Resolved, outage: Outage, free: int | None, path: Path, problems: Problems
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


def _hello(detection: object, path: Path, problems: Problems) -> None:
    if isinstance(detection, Hello) and detection.silence < detection.interval:
        problems.add(
            "relation",
            (*path, "detection", "timeout"),
            "the timeout must not be below the interval",
            given=format_time(detection.silence),
            allowed=f"{format_time(detection.interval)} or more",
        )


def _named(scenario: Resolved, protection: Protection, path: Path, problems: Problems) -> bool:
    """Whether what a protection says as it was written can be looked at further."""
    known = bool(protection.path)
    every = means_all(scenario, protection)
    if not known:
        problems.add("empty", (*path, "path"), "a protection protects at least one path")
    names: list[tuple[Path, str]] = [
        (("path", index), name) for index, name in enumerate(() if every else protection.path)
    ]
    if protection.backup is not None and protection.kind != "restoration":
        names.append((("backup",), protection.backup))
    for where, name in names:
        if name not in scenario.paths:
            known = False
            problems.unknown((*path, *where), "path", name, scenario.paths)
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
    if (len(protection.path) > 1 or every) and protection.kind in ONE_PATH:
        known = False
        message = f"{protection.kind} protects one path: give each its own"
        problems.add("protection", (*path, "path"), message)
    return known


def _each(
    scenario: Resolved,
    protection: Protection,
    path: Path,
    problems: Problems,
) -> None:
    if protection.backup is not None and protection.backup not in scenario.routes:
        return
    if not protection.path:
        message = "there is no path of a trunk that this can protect"
        problems.add("protection", (*path, "path"), message, warning=True)
    for working in protection.path:
        if working in scenario.routes:
            _fits(scenario, protection, working, path, problems)
    around = [
        arc
        for working in protection.path
        if working in scenario.routes
        for arc in guarded(scenario, protection, working)
    ]
    names = {name for arc in around for name in (arc.link, arc.name)}
    for index, link in enumerate(protection.link):
        known = link in scenario.written.links or link in scenario.arc
        if known and around and link not in names:
            message = f"link {link} is not among those that the backup goes around"
            problems.add("protection", (*path, "link", index), message)


def _fits(
    scenario: Resolved,
    protection: Protection,
    working: str,
    path: Path,
    problems: Problems,
) -> None:
    backup = protection.backup
    if span(scenario, protection, working) is None:
        nodes = scenario.nodes_of(working)
        ends = (
            f"begin at {nodes[0]} and end at {nodes[-1]}, as path {working} does"
            if protection.kind in ("backup", "one-plus-one")
            else f"begin at a node of path {working} and end at a later one"
        )
        problems.add("protection", (*path, "backup"), f"path {backup} must {ends}")
        return
    if protection.kind in LOCAL and (
        scenario.paths[working].through or scenario.paths[backup or ""].through
    ):
        message = f"{protection.kind} needs paths that ride no tunnel"
        problems.add("protection", (*path, "kind"), message)
        return
    policies = [each for each in (working, backup) if each in scenario.segmented]
    if len(policies) == 2 and protection.kind == "facility-bypass":
        first, _ = span(scenario, protection, working) or (0, 0)
        end = active(scenario, working, first)[0].node
        if scenario.routes[backup or ""].nodes[-1] != end:
            message = f"the backup must end at {end}, where the segment ends that is active there"
            problems.add("protection", (*path, "backup"), message)
    elif policies and protection.kind not in ("backup", "ti-lfa"):
        message = f"{protection.kind} needs paths with a route: {policies[0]} has segments"
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
    for link in shared(scenario, protection, working):
        problems.add(
            "protection",
            (*path, "backup"),
            f"path {backup} shares link {link} with what it protects: when {link} fails, both do",
            warning=True,
        )
