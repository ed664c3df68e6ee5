"""Checks of failures and protections: their elements, their times, whether a backup protects."""

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.fields import ALL
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import (
    LOCAL_PROTECTION_KINDS,
    SINGLE_PATH_KINDS,
    Failure,
    HelloDetection,
    Outage,
    Protection,
)
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.protections import (
    find_span,
    is_of_all_paths,
    list_protected_arcs,
    list_shared_links,
)
from trunkline.scenario.resolved.segments import list_remaining_segments
from trunkline.scenario.units import format_time


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all failures and protections."""
    for name, failure in scenario.written.failures.items():
        _check_failure(scenario, failure, ("failures", name), problems)
    for name, protection in scenario.protections.items():
        path: DocumentPath = ("protections", name)
        _check_hello(protection.detection, path, problems)
        written = scenario.written.protections.get(name, protection)
        if written.path == (ALL,) and ALL in scenario.paths:
            message = f"{ALL} stands for every path here, but it is the name of one"
            related = ((("paths", ALL), "this path"),)
            problems.add("duplicate-name", (*path, "path"), message, related=related)
        if _check_names(scenario, written, path, problems):
            _check_working_paths(scenario, protection, path, problems)
    if scenario.rerouting is not None:
        _check_hello(scenario.rerouting.detection, ("rerouting",), problems)


def _check_failure(
    scenario: ResolvedScenario, failure: Failure, path: DocumentPath, problems: Problems
) -> None:
    if not failure.link and not failure.node:
        problems.add("missing-key", path, "a failure needs `link` or `node`", at_key=True)
    for index, link in enumerate(failure.link):
        if link not in scenario.written.links and link not in scenario.arc_by_name:
            problems.add_unknown((*path, "link", index), "link", link, scenario.written.links)
    problems.check_known((*path, "node"), "node", failure.node, scenario.nodes)
    _check_times(scenario, failure, path, problems)


def _check_times(
    scenario: ResolvedScenario, failure: Failure, path: DocumentPath, problems: Problems
) -> None:
    random = failure.mtbf is not None or failure.mttr is not None
    forms_given = [
        failure.at is not None or failure.repair is not None,
        bool(failure.outages),
        random,
    ]
    if sum(forms_given) != 1:
        message = "a failure has one of: `at` (and `repair`), `outages`, `mtbf` and `mttr`"
        problems.add("relation", path, message, at_key=True)
        return
    if random and (failure.mtbf is None or failure.mttr is None):
        problems.add("relation", path, "`mtbf` and `mttr` go together", at_key=True)
        return
    if forms_given[0] and failure.at is None:
        problems.add("missing-key", (*path, "at"), "at is missing", at_key=True)
        return
    free_from: int | None = 0
    for index, outage in enumerate(failure.times):
        outage_path: DocumentPath = (*path, "outages", index) if failure.outages else path
        _check_outage(scenario, outage, free_from, outage_path, problems)
        free_from = outage.repair


def _check_outage(
    scenario: ResolvedScenario,
    outage: Outage,
    free_from: int | None,
    path: DocumentPath,
    problems: Problems,
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
    elif free_from is None or outage.at < free_from:
        before = "the outage before it never ends" if free_from is None else "it is still down"
        problems.add(
            "relation",
            (*path, "at"),
            f"outages must follow each other: {before}",
            given=format_time(outage.at),
            allowed="" if free_from is None else f"{format_time(free_from)} or later",
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


def _check_hello(detection: object, path: DocumentPath, problems: Problems) -> None:
    if isinstance(detection, HelloDetection) and detection.detection_time < detection.interval:
        problems.add(
            "relation",
            (*path, "detection", "timeout"),
            "the timeout must not be below the interval",
            given=format_time(detection.detection_time),
            allowed=f"{format_time(detection.interval)} or more",
        )


def _check_names(
    scenario: ResolvedScenario, protection: Protection, path: DocumentPath, problems: Problems
) -> bool:
    """Whether the keys of a protection are valid enough for further checks."""
    are_known = bool(protection.path)
    is_of_all = is_of_all_paths(scenario, protection)
    if not are_known:
        problems.add("empty", (*path, "path"), "a protection protects at least one path")
    names: list[tuple[DocumentPath, str]] = [
        (("path", index), name) for index, name in enumerate(() if is_of_all else protection.path)
    ]
    if protection.backup is not None and protection.kind != "restoration":
        names.append((("backup",), protection.backup))
    for key_path, name in names:
        if name not in scenario.paths:
            are_known = False
            problems.add_unknown((*path, *key_path), "path", name, scenario.paths)
    if (protection.backup is None) != (protection.kind == "restoration"):
        are_known = False
        message = (
            "restoration computes its path: it has no backup"
            if protection.backup is not None
            else f"{protection.kind} needs the path that takes over"
        )
        problems.add("protection", (*path, "backup"), message, at_key=True)
    elif protection.backup in protection.path:
        are_known = False
        problems.add("protection", (*path, "backup"), "a path cannot protect itself")
    if (len(protection.path) > 1 or is_of_all) and protection.kind in SINGLE_PATH_KINDS:
        are_known = False
        message = f"{protection.kind} protects one path: give each its own"
        problems.add("protection", (*path, "path"), message)
    return are_known


def _check_working_paths(
    scenario: ResolvedScenario,
    protection: Protection,
    path: DocumentPath,
    problems: Problems,
) -> None:
    if protection.backup is not None and protection.backup not in scenario.routes:
        return
    if not protection.path:
        message = "there is no path of a trunk that this can protect"
        problems.add("protection", (*path, "path"), message, warning=True)
    for working in protection.path:
        if working in scenario.routes:
            _check_backup_fits(scenario, protection, working, path, problems)
    protected_arcs = [
        arc
        for working in protection.path
        if working in scenario.routes
        for arc in list_protected_arcs(scenario, protection, working)
    ]
    names = {name for arc in protected_arcs for name in (arc.link, arc.name)}
    for index, link in enumerate(protection.link):
        is_known = link in scenario.written.links or link in scenario.arc_by_name
        if is_known and protected_arcs and link not in names:
            message = f"link {link} is not among those that the backup goes around"
            problems.add("protection", (*path, "link", index), message)


def _check_backup_fits(
    scenario: ResolvedScenario,
    protection: Protection,
    working: str,
    path: DocumentPath,
    problems: Problems,
) -> None:
    backup = protection.backup
    if find_span(scenario, protection, working) is None:
        nodes = scenario.list_route_nodes(working)
        ends = (
            f"begin at {nodes[0]} and end at {nodes[-1]}, as path {working} does"
            if protection.kind in ("backup", "one-plus-one")
            else f"begin at a node of path {working} and end at a later one"
        )
        problems.add("protection", (*path, "backup"), f"path {backup} must {ends}")
        return
    if protection.kind in LOCAL_PROTECTION_KINDS and (
        scenario.paths[working].through or scenario.paths[backup or ""].through
    ):
        message = f"{protection.kind} needs paths that ride no tunnel"
        problems.add("protection", (*path, "kind"), message)
        return
    policies = [each for each in (working, backup) if each in scenario.policies]
    if len(policies) == 2 and protection.kind == "facility-bypass":
        first, _ = find_span(scenario, protection, working) or (0, 0)
        end = list_remaining_segments(scenario, working, first)[0].node
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
    for link in list_shared_links(scenario, protection, working):
        problems.add(
            "protection",
            (*path, "backup"),
            f"path {backup} shares link {link} with what it protects: when {link} fails, both do",
            warning=True,
        )
