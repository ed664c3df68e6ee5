"""Checks of signalling: keys that need others, timers that agree, possible events and requests."""

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.fields import ALL, AUTO
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import LOCAL_PROTECTION_KINDS
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.class_types import (
    MAX_TE_CLASSES,
    find_limit,
    get_class_type,
    list_class_type_limits,
    list_te_classes,
)
from trunkline.scenario.resolved.signalled_paths import (
    find_links_of_route,
    list_paths_of_event,
    list_signalled_paths,
)
from trunkline.scenario.signalling import OperatorEvent, RandomRequests, SignallingOptions
from trunkline.scenario.units import format_rate, format_time

KEYS_UNUSED_BY_RSVP = frozenset(
    {"detection", "processing", "hold_off", "switch", "revertive", "wait_to_restore"}
    | {"make_before_break"}
)
"""Keys of a local protection that signalling has no use for."""


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check signalling, events and requests."""
    signalling = scenario.signalling
    if signalling.kind == "none":
        _report_unused_keys(scenario, problems)
        return
    _check_timers(signalling, problems)
    _check_class_types(scenario, problems)
    _check_paths(scenario, problems)
    _check_protections(scenario, problems)
    for name, auto in signalling.auto_bandwidth.items():
        path: DocumentPath = ("signalling", "auto_bandwidth", name)
        if name not in list_signalled_paths(scenario) and not _has_fault(scenario, name, problems):
            problems.add_unknown(
                path, "signalled path", name, list_signalled_paths(scenario), at_key=True
            )
        if auto.adjust < auto.sample:
            problems.add(
                "relation",
                (*path, "adjust"),
                "an adjustment needs a sample: its interval must not be below that of samples",
                given=format_time(auto.adjust),
                allowed=f"{format_time(auto.sample)} or more",
            )
        if auto.maximum is not None and auto.minimum > auto.maximum:
            problems.add(
                "relation",
                (*path, "minimum"),
                "minimum must not be above maximum",
                given=format_rate(auto.minimum),
                related=(((*path, "maximum"), f"maximum is {format_rate(auto.maximum)}"),),
            )
    for index, event in enumerate(scenario.events):
        _check_event(scenario, event, ("events", index), problems)
    for name, request in scenario.written.requests.items():
        _check_request(scenario, request, ("requests", name), problems)


def _report_unused_keys(scenario: ResolvedScenario, problems: Problems) -> None:
    """Report the keys that do nothing while nothing is signalled."""
    for key in sorted(scenario.signalling.model_fields_set - {"kind"}):
        message = f"{key} does nothing without a kind: paths are there from the start"
        problems.add(
            "signalling", ("signalling", key), message, allowed="kind: rsvp-te", at_key=True
        )
    for key, elements in (("events", scenario.events), ("requests", scenario.written.requests)):
        if elements:
            message = f"{key} need paths that are signalled"
            allowed = "signalling: {kind: rsvp-te}"
            problems.add("signalling", (key,), message, allowed=allowed, at_key=True)


def _check_timers(signalling: SignallingOptions, problems: Problems) -> None:
    """Check the keys of reliable delivery without it, and times that contradict each other."""
    for key in ("resend", "resend_increment", "resend_limit", "summary"):
        if key in signalling.model_fields_set and not signalling.reliable:
            message = f"{key} is of reliable delivery"
            problems.add(
                "signalling", ("signalling", key), message, allowed="reliable: on", at_key=True
            )
    lifetime = (2 * signalling.multiplier + 1) * 3 * signalling.refresh // 4
    if signalling.reliable and signalling.resend >= lifetime:
        problems.add(
            "relation",
            ("signalling", "resend"),
            "a state dies before its message is sent again",
            given=format_time(signalling.resend),
            allowed=f"below {format_time(lifetime)}, the lifetime of a state",
        )
    if (
        signalling.processing
        and signalling.hello is not None
        and signalling.processing >= signalling.hello
    ):
        problems.add(
            "relation",
            ("signalling", "hello"),
            "hellos come faster than a node handles them",
            given=format_time(signalling.hello),
            allowed=f"above {format_time(signalling.processing)}, the time of a message",
        )
    if signalling.soft_preemption is not None and not signalling.make_before_break:
        message = "soft preemption moves a path before it is torn down"
        problems.add(
            "signalling",
            ("signalling", "soft_preemption"),
            message,
            allowed="make_before_break: on",
            at_key=True,
        )


def _check_paths(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check that messages can pass a path both ways, and that its bandwidth fits its route."""
    for name in list_signalled_paths(scenario):
        for hop in scenario.routes[name].hops:
            if not scenario.arcs_between.get((hop.target, hop.source)):
                message = (
                    f"path {name} cannot be signalled: no link leads back "
                    f"from {hop.target} to {hop.source}"
                )
                problems.add("signalling", ("paths", name), message, at_key=True)
                break
        bandwidth = scenario.get_unscaled().get_reservation(name)[0]
        arcs = [hop.over for hop in scenario.routes[name].hops]
        key_path: DocumentPath = ("paths", name, "bandwidth")
        class_type = get_class_type(scenario, name)
        _check_bandwidth_fits(scenario, bandwidth, arcs, key_path, problems, class_type)


def _check_class_types(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check that links can advertise each TE-class, and that routers know the model."""
    if scenario.written.te.model == "mar":
        problems.add(
            "signalling",
            ("te", "model"),
            "mar keeps requests out by a threshold, which RSVP-TE here does not know",
            given="mar",
            allowed="none, mam or rdm",
        )
    te_classes = list_te_classes(scenario)
    if len(te_classes) > MAX_TE_CLASSES:
        listed = ", ".join(f"CT{class_type} at {priority}" for class_type, priority in te_classes)
        problems.add(
            "signalling",
            ("te",),
            "the class types and priorities of signalled paths make more TE-classes than a link "
            "can report (RFC 4124 section 4.2)",
            given=f"{len(te_classes)}: {listed}",
            allowed=f"{MAX_TE_CLASSES} or fewer",
            at_key=True,
        )


def _check_protections(scenario: ResolvedScenario, problems: Problems) -> None:
    """Local repair of signalled paths is RSVP-TE's: it has no timers of its own."""
    signalled_paths = set(list_signalled_paths(scenario))
    kinds: dict[str, str] = {}
    for name, protection in scenario.written.protections.items():
        if protection.kind not in LOCAL_PROTECTION_KINDS:
            continue
        is_of_all = protection.path == (ALL,)
        paths = [
            path
            for path in (signalled_paths if is_of_all else protection.path)
            if path in signalled_paths
        ]
        for key in sorted(protection.model_fields_set & KEYS_UNUSED_BY_RSVP) if paths else ():
            message = f"{key} does nothing: RSVP-TE repairs and moves signalled paths"
            allowed = "signalling: {detection} says how failures are noticed"
            key_path = ("protections", name, key)
            problems.add("signalling", key_path, message, allowed=allowed, at_key=True)
        for path in paths:
            if kinds.setdefault(path, protection.kind) != protection.kind:
                message = f"path {path} asks for detours or for bypass tunnels, not for both"
                problems.add(
                    "signalling", ("protections", name, "kind"), message, given=protection.kind
                )
                break


def _check_event(
    scenario: ResolvedScenario, event: OperatorEvent, path: DocumentPath, problems: Problems
) -> None:
    if event.action is None:
        message = "an event does one thing"
        problems.add("signalling", path, message, allowed="set_up, tear, move or resize")
        return
    key, name = event.action
    signalled_paths = list_signalled_paths(scenario)
    target = list_paths_of_event(scenario, event)
    if not target or target[0] not in signalled_paths:
        if _has_fault(scenario, name, problems):
            return
        known_names = [
            *signalled_paths,
            *(
                trunk_name
                for trunk_name, trunk in scenario.trunks.items()
                if trunk.path in signalled_paths
            ),
        ]
        problems.add_unknown((*path, key), "signalled path or trunk", name, known_names)
        return
    for other_key, is_needed in (("to", key == "move"), ("bandwidth", key == "resize")):
        is_given = other_key in event.model_fields_set
        if is_needed and not is_given:
            problems.add("signalling", (*path, key), f"{key} needs `{other_key}`", at_key=True)
        elif is_given and not is_needed:
            problems.add(
                "signalling", (*path, other_key), f"{key} has no `{other_key}`", at_key=True
            )
    if event.at >= scenario.run.duration:
        problems.add(
            "relation",
            (*path, "at"),
            "the run ends before this event",
            given=format_time(event.at),
            related=((("run", "duration"), f"ends at {format_time(scenario.run.duration)}"),),
        )
    if event.to and event.to != (AUTO,):
        _check_route(scenario, event, target[0], path, problems)
    if event.bandwidth is not None and target[0] in scenario.routes:
        arcs = [hop.over for hop in scenario.routes[target[0]].hops]
        key_path: DocumentPath = (*path, "bandwidth")
        class_type = get_class_type(scenario, target[0])
        _check_bandwidth_fits(scenario, event.bandwidth, arcs, key_path, problems, class_type)


def _has_fault(scenario: ResolvedScenario, name: str, problems: Problems) -> bool:
    """Whether a name is of a path, or of a trunk on one, that a fault reported before left out."""
    written = scenario.written
    path = written.trunks[name].path if name in written.trunks else name
    is_written = path in written.paths or name in written.trunks
    return problems.has_errors and is_written and path not in scenario.routes


def _check_route(
    scenario: ResolvedScenario,
    event: OperatorEvent,
    target: str,
    path: DocumentPath,
    problems: Problems,
) -> None:
    """The route that a path is to take."""
    arcs = find_links_of_route(scenario, event.to)
    nodes = scenario.list_route_nodes(target)
    ends = (nodes[0], nodes[-1]) if nodes else None
    if arcs is None and len(event.to) == 1 and _has_fault(scenario, event.to[0], problems):
        return
    if arcs is None:
        message = "there is no such route"
        problems.add(
            "signalling",
            (*path, "to"),
            message,
            given=", ".join(event.to),
            allowed="nodes in order with links between them, a path without tunnels, or auto",
        )
    elif (
        ends
        and (scenario.arc_by_name[arcs[0]].source, scenario.arc_by_name[arcs[-1]].target) != ends
    ):
        message = f"the route must lead from {ends[0]} to {ends[1]}, as path {target} does"
        problems.add("signalling", (*path, "to"), message, given=", ".join(event.to))
    else:
        bandwidth, class_type = scenario.get_unscaled().get_reservation(target)
        _check_bandwidth_fits(scenario, bandwidth, arcs, (*path, "to"), problems, class_type)


def _check_bandwidth_fits(
    scenario: ResolvedScenario,
    bandwidth: int,
    arcs: list[str],
    path: DocumentPath,
    problems: Problems,
    class_type: int = 0,
) -> None:
    """Whether a bandwidth can ever fit the links of a route."""
    full = scenario.get_unscaled()
    all_reservable = [_compute_reservable(full, name) for name in arcs]
    limits = list_class_type_limits(scenario, all_reservable)
    reservable = {
        name: find_limit(limits[index], all_reservable[index], class_type)
        for index, name in enumerate(arcs)
    }
    tightest_arc = min(reservable, key=lambda name: reservable[name])
    if bandwidth > reservable[tightest_arc]:
        problems.add(
            "signalling",
            path,
            f"this can never fit: link {tightest_arc} offers less",
            given=format_rate(bandwidth),
            allowed=f"{format_rate(reservable[tightest_arc])} or less",
        )


def _compute_reservable(scenario: ResolvedScenario, arc: str) -> int:
    """Compute the bandwidth that a direction of a link offers [bit/s]."""
    options = scenario.arc_by_name[arc].options
    return round((options.rate or 0) * options.te.reservable)


def _check_request(
    scenario: ResolvedScenario, request: RandomRequests, path: DocumentPath, problems: Problems
) -> None:
    missing = False
    if path[-1] in scenario.paths:
        message = f"there is a path of the name {path[-1]}: results tell them apart by it"
        problems.add("signalling", path, message, at_key=True)
    for key, name in (("from", request.from_), ("to", request.to)):
        if name not in scenario.nodes:
            missing = True
            problems.add_unknown((*path, key), "node", name, scenario.nodes)
    if request.hold > request.setup:
        problems.add(
            "relation",
            (*path, "hold"),
            "a path that is set up would give way to itself",
            given=str(request.hold),
            allowed=f"{request.setup} or less, the setup priority",
        )
    if missing:
        return
    if request.from_ == request.to or scenario.component.get(
        request.from_
    ) != scenario.component.get(request.to):
        message = f"no path leads from {request.from_} to {request.to}"
        problems.add("signalling", (*path, "to"), message)
        return
    if request.route == (AUTO,):
        out, into = (
            [arc.name for arc in scenario.arcs if getattr(arc, end) == name]
            for end, name in (("source", request.from_), ("target", request.to))
        )
        best = [
            max(arcs, key=lambda name: _compute_reservable(scenario, name)) for arcs in (out, into)
        ]
        _check_bandwidth_fits(scenario, request.bandwidth, best, (*path, "bandwidth"), problems)
        return
    arcs = find_links_of_route(scenario, request.route) or []
    ends = (
        (scenario.arc_by_name[arcs[0]].source, scenario.arc_by_name[arcs[-1]].target)
        if arcs
        else None
    )
    if ends != (request.from_, request.to):
        message = f"the route must lead from {request.from_} to {request.to} over links"
        problems.add("signalling", (*path, "route"), message, given=", ".join(request.route))
        return
    _check_bandwidth_fits(scenario, request.bandwidth, arcs, (*path, "bandwidth"), problems)
