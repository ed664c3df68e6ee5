"""Checks of maintenance windows: links, times, and whether anything can leave the links."""

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import MaintenanceWindow
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.protections import covers_arc, list_protected_arcs
from trunkline.scenario.resolved.resolved import fails_arc
from trunkline.scenario.units import format_time


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all maintenance windows."""
    for name, window in scenario.written.maintenance.items():
        path: DocumentPath = ("maintenance", name)
        if name in scenario.written.failures:
            message = f"{name} is the name of a failure as well"
            related = ((("failures", name), "this failure"),)
            problems.add("duplicate-name", path, message, at_key=True, related=related)
        _check_links(scenario, window, path, problems)
        _check_times(scenario, window, path, problems)
        _check_drain(scenario, window, path, problems)


def _check_links(
    scenario: ResolvedScenario, window: MaintenanceWindow, path: DocumentPath, problems: Problems
) -> None:
    if not window.link:
        problems.add("empty", (*path, "link"), "maintenance is of at least one link")
    for index, link in enumerate(window.link):
        if link not in scenario.written.links and link not in scenario.arc_by_name:
            problems.add_unknown((*path, "link", index), "link", link, scenario.written.links)


def _check_times(
    scenario: ResolvedScenario, window: MaintenanceWindow, path: DocumentPath, problems: Problems
) -> None:
    begins = ((*path, "from"), f"it begins at {format_time(window.from_)}")
    if window.to is not None and window.to <= window.from_:
        problems.add(
            "relation",
            (*path, "to"),
            "the end must come after the beginning",
            given=format_time(window.to),
            allowed=f"above {format_time(window.from_)}",
            related=(begins,),
        )
    if window.drained_ns is not None and window.drained_ns < 0:
        is_written = "lead" in window.model_fields_set
        problems.add(
            "relation",
            (*path, "lead" if is_written else "from"),
            "the drain would begin before the run",
            given=format_time(window.lead if is_written else window.from_),
            allowed=f"at most {format_time(window.from_)}"
            if is_written
            else f"{format_time(window.lead)}, the lead, or later",
            related=(begins,) if is_written else (),
        )
    if window.from_ >= scenario.run.duration:
        ends = f"ends at {format_time(scenario.run.duration)}"
        problems.add(
            "relation",
            (*path, "from"),
            "the run ends before this maintenance",
            given=format_time(window.from_),
            related=((("run", "duration"), ends),),
            warning=True,
        )


def _check_drain(
    scenario: ResolvedScenario, window: MaintenanceWindow, path: DocumentPath, problems: Problems
) -> None:
    is_written = "drain" in window.model_fields_set
    drain_path: DocumentPath = (*path, "drain") if is_written else path
    if window.drain == "none":
        if "lead" in window.model_fields_set:
            message = "without a drain there is no lead"
            problems.add("relation", (*path, "lead"), message, at_key=True)
        return
    moves = []
    if scenario.rerouting is not None or scenario.routing.ospf is not None:
        moves.append("metric")
    _report_paths_that_stay(scenario, window, drain_path, problems, is_written=is_written)
    times = [each.at for each in scenario.drain_moves] + [at for at, _ in scenario.undrained_paths]
    if window.drained_ns in times or _has_protected_path(scenario, window):
        moves.append("lsp")
    if window.drain in moves or (window.drain == "both" and moves):
        return
    if window.drain != "metric" and scenario.written.paths and problems.has_errors:
        # A path with a fault has no route, and with any fault no moves are worked out.
        return
    lacks = {
        "metric": "routes do not follow metrics",
        "lsp": "no path over these links is protected or signalled",
        "both": "routes do not follow metrics, and no path over these links is protected or "
        "signalled",
    }
    hints = {
        "metric": "`rerouting: {}` or `routing: {ospf: {}}` lets them",
        "lsp": "protect it, or let its head move it: `signalling: {kind: rsvp-te}`",
        "both": "`drain: none` cuts the links with their traffic",
    }
    problems.add(
        "relation",
        drain_path,
        f"nothing would leave: {lacks[window.drain]}",
        hint=hints[window.drain],
        at_key=not is_written,
    )


def _report_paths_that_stay(
    scenario: ResolvedScenario,
    window: MaintenanceWindow,
    path: DocumentPath,
    problems: Problems,
    *,
    is_written: bool,
) -> None:
    """Warn of signalled paths that have no route without the links."""
    if window.drain == "metric":
        return
    for at, name in scenario.undrained_paths:
        if at == window.drained_ns:
            message = f"path {name} has no other route with room: it is cut with the link"
            problems.add("relation", path, message, at_key=not is_written, warning=True)


def _has_protected_path(scenario: ResolvedScenario, window: MaintenanceWindow) -> bool:
    """Whether a protection takes one of the links for failed."""
    failure = window.make_failure()
    return any(
        fails_arc(failure, arc) and covers_arc(protection, arc)
        for protection in scenario.protections.values()
        if protection.backup is None or protection.backup in scenario.routes
        for path in protection.path
        if path in scenario.routes
        for arc in list_protected_arcs(scenario, protection, path)
    )
