"""Checks of signalling: what needs what, timers that agree, events and requests that can be."""

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.path import AUTO
from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import LOCAL
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.signalled import links_of, paths_of, signalled
from trunkline.scenario.signalling import Event, Requests, Signalling
from trunkline.scenario.units import format_rate, format_time

UNSIGNALLED = frozenset(
    {"detection", "processing", "hold_off", "switch", "revertive", "wait_to_restore"}
    | {"make_before_break"}
)
"""Keys of a local protection that signalling has no use for."""


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks signalling, events and requests."""
    its = scenario.signalling
    if its.kind == "none":
        _without(scenario, problems)
        return
    _timers(its, problems)
    _paths(scenario, problems)
    _protections(scenario, problems)
    for name, auto in its.auto_bandwidth.items():
        path: Path = ("signalling", "auto_bandwidth", name)
        if name not in signalled(scenario):
            problems.unknown(path, "signalled path", name, signalled(scenario), at_key=True)
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
        _event(scenario, event, ("events", index), problems)
    for name, request in scenario.written.requests.items():
        _request(scenario, request, ("requests", name), problems)


def _without(scenario: Resolved, problems: Problems) -> None:
    """Keys that do nothing while nothing is signalled."""
    for key in sorted(scenario.signalling.model_fields_set - {"kind"}):
        message = f"{key} does nothing without a kind: paths are there from the start"
        problems.add(
            "signalling", ("signalling", key), message, allowed="kind: rsvp-te", at_key=True
        )
    for key, said in (("events", scenario.events), ("requests", scenario.written.requests)):
        if said:
            message = f"{key} need paths that are signalled"
            allowed = "signalling: {kind: rsvp-te}"
            problems.add("signalling", (key,), message, allowed=allowed, at_key=True)


def _timers(its: Signalling, problems: Problems) -> None:
    """Keys of reliable delivery without it, and times that contradict each other."""
    for key in ("resend", "resend_increment", "resend_limit", "summary"):
        if key in its.model_fields_set and not its.reliable:
            message = f"{key} is of reliable delivery"
            problems.add(
                "signalling", ("signalling", key), message, allowed="reliable: on", at_key=True
            )
    lifetime = (2 * its.multiplier + 1) * 3 * its.refresh // 4
    if its.reliable and its.resend >= lifetime:
        problems.add(
            "relation",
            ("signalling", "resend"),
            "a state dies before its message is sent again",
            given=format_time(its.resend),
            allowed=f"below {format_time(lifetime)}, the lifetime of a state",
        )
    if its.processing and its.hello is not None and its.processing >= its.hello:
        problems.add(
            "relation",
            ("signalling", "hello"),
            "hellos come faster than a node handles them",
            given=format_time(its.hello),
            allowed=f"above {format_time(its.processing)}, the time of a message",
        )
    if its.soft_preemption is not None and not its.make_before_break:
        message = "soft preemption moves a path before it is torn down"
        problems.add(
            "signalling",
            ("signalling", "soft_preemption"),
            message,
            allowed="make_before_break: on",
            at_key=True,
        )


def _paths(scenario: Resolved, problems: Problems) -> None:
    """Messages go both ways along a path, and its bandwidth can fit its route."""
    for name in signalled(scenario):
        for hop in scenario.routes[name].hops:
            if not scenario.between.get((hop.target, hop.source)):
                message = (
                    f"path {name} cannot be signalled: no link leads back "
                    f"from {hop.target} to {hop.source}"
                )
                problems.add("signalling", ("paths", name), message, at_key=True)
                break
        asked = scenario.unscaled().reserved.get(name, (0, 0))[0]
        arcs = [hop.over for hop in scenario.routes[name].hops]
        _room(scenario, asked, arcs, ("paths", name, "bandwidth"), problems)


def _protections(scenario: Resolved, problems: Problems) -> None:
    """Local repair of signalled paths is RSVP-TE's: it has no timers of its own."""
    known = set(signalled(scenario))
    kinds: dict[str, str] = {}
    for name, its in scenario.written.protections.items():
        if its.kind not in LOCAL:
            continue
        every = its.path == ("all",) and "all" not in scenario.paths
        paths = [path for path in (known if every else its.path) if path in known]
        for key in sorted(its.model_fields_set & UNSIGNALLED) if paths else ():
            message = f"{key} does nothing: RSVP-TE repairs and moves signalled paths"
            allowed = "signalling: {detection} says how failures are noticed"
            where = ("protections", name, key)
            problems.add("signalling", where, message, allowed=allowed, at_key=True)
        for path in paths:
            if kinds.setdefault(path, its.kind) != its.kind:
                message = f"path {path} asks for detours or for bypass tunnels, not for both"
                problems.add("signalling", ("protections", name, "kind"), message, given=its.kind)
                break


def _event(scenario: Resolved, event: Event, path: Path, problems: Problems) -> None:
    if event.action is None:
        message = "an event does one thing"
        problems.add("signalling", path, message, allowed="set_up, tear, move or resize")
        return
    key, name = event.action
    known = signalled(scenario)
    target = paths_of(scenario, event)
    if not target or target[0] not in known:
        offered = [*known, *(it for it, its in scenario.trunks.items() if its.path in known)]
        problems.unknown((*path, key), "signalled path or trunk", name, offered)
        return
    for other, wanted in (("to", key == "move"), ("bandwidth", key == "resize")):
        said = other in event.model_fields_set
        if wanted and not said:
            problems.add("signalling", (*path, key), f"{key} needs `{other}`", at_key=True)
        elif said and not wanted:
            problems.add("signalling", (*path, other), f"{key} has no `{other}`", at_key=True)
    if event.at >= scenario.run.duration:
        problems.add(
            "relation",
            (*path, "at"),
            "the run ends before this event",
            given=format_time(event.at),
            related=((("run", "duration"), f"ends at {format_time(scenario.run.duration)}"),),
        )
    if event.to and event.to != (AUTO,):
        _route(scenario, event, target[0], path, problems)
    if event.bandwidth is not None and target[0] in scenario.routes:
        arcs = [hop.over for hop in scenario.routes[target[0]].hops]
        _room(scenario, event.bandwidth, arcs, (*path, "bandwidth"), problems)


def _route(scenario: Resolved, event: Event, target: str, path: Path, problems: Problems) -> None:
    """The route that a path is to take."""
    arcs = links_of(scenario, event.to)
    nodes = scenario.nodes_of(target)
    ends = (nodes[0], nodes[-1]) if nodes else None
    if arcs is None:
        message = "there is no such route"
        problems.add(
            "signalling",
            (*path, "to"),
            message,
            given=", ".join(event.to),
            allowed="nodes in order with links between them, a path without tunnels, or auto",
        )
    elif ends and (scenario.arc[arcs[0]].source, scenario.arc[arcs[-1]].target) != ends:
        message = f"the route must lead from {ends[0]} to {ends[1]}, as path {target} does"
        problems.add("signalling", (*path, "to"), message, given=", ".join(event.to))
    else:
        asked = scenario.unscaled().reserved.get(target, (0, 0))[0]
        _room(scenario, asked, arcs, (*path, "to"), problems)


def _room(scenario: Resolved, asked: int, arcs: list[str], path: Path, problems: Problems) -> None:
    """Whether a bandwidth can ever fit the links of a route."""
    full = scenario.unscaled()
    offered = {name: _offered(full, name) for name in arcs}
    least = min(offered, key=lambda name: offered[name])
    if asked > offered[least]:
        problems.add(
            "signalling",
            path,
            f"this can never fit: link {least} offers less",
            given=format_rate(asked),
            allowed=f"{format_rate(offered[least])} or less",
        )


def _offered(scenario: Resolved, arc: str) -> int:
    """Bandwidth that a direction of a link offers [bit/s]."""
    options = scenario.arc[arc].options
    return round((options.rate or 0) * options.te.reservable)


def _request(scenario: Resolved, its: Requests, path: Path, problems: Problems) -> None:
    missing = False
    if path[-1] in scenario.paths:
        message = f"there is a path of the name {path[-1]}: results tell them apart by it"
        problems.add("signalling", path, message, at_key=True)
    for key, name in (("from", its.from_), ("to", its.to)):
        if name not in scenario.nodes:
            missing = True
            problems.unknown((*path, key), "node", name, scenario.nodes)
    if its.hold > its.setup:
        problems.add(
            "relation",
            (*path, "hold"),
            "a path that is set up would give way to itself",
            given=str(its.hold),
            allowed=f"{its.setup} or less, the setup priority",
        )
    if missing:
        return
    if its.from_ == its.to or scenario.part.get(its.from_) != scenario.part.get(its.to):
        message = f"no path leads from {its.from_} to {its.to}"
        problems.add("signalling", (*path, "to"), message)
        return
    if its.route == (AUTO,):
        out, into = (
            [arc.name for arc in scenario.arcs if getattr(arc, end) == name]
            for end, name in (("source", its.from_), ("target", its.to))
        )
        best = [max(arcs, key=lambda name: _offered(scenario, name)) for arcs in (out, into)]
        _room(scenario, its.bandwidth, best, (*path, "bandwidth"), problems)
        return
    arcs = links_of(scenario, its.route) or []
    ends = (scenario.arc[arcs[0]].source, scenario.arc[arcs[-1]].target) if arcs else None
    if ends != (its.from_, its.to):
        message = f"the route must lead from {its.from_} to {its.to} over links"
        problems.add("signalling", (*path, "route"), message, given=", ".join(its.route))
        return
    _room(scenario, its.bandwidth, arcs, (*path, "bandwidth"), problems)
