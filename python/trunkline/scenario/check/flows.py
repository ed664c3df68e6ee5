"""Checks of flows, and their names."""

from itertools import pairwise

from trunkline.scenario.call import LARGEST_DATAGRAM, Call, datagram_bytes
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow import Echo, Tcp, Udp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.units import format_bytes, format_time


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all flows."""
    classes: set[str] = set()
    for name, flow in scenario.flows.items():
        path: Path = ("flows", name)
        _ends(scenario, flow, path, problems)
        if name in scenario.message_flows:
            message = f"{name} is the name of the flow of {name.upper()}'s messages"
            problems.add("relation", path, message, at_key=True)
        if name in scenario.demands:
            # But for its ends and its rate it is that of its class.
            class_ = scenario.demands[name].class_
            if class_ in classes:
                continue
            classes.add(class_)
        _times(scenario, flow, path, problems)
        if name in scenario.echoes:
            own = "reply" in scenario.written.flows[name].model_fields_set
            _echo(scenario.echoes[name], path if own else ("defaults", "echo"), problems)
        elif isinstance(flow, Tcp):
            _tcp(flow, path, problems)
        else:
            _udp(scenario, flow, path, problems)


def _ends(scenario: Resolved, flow: Tcp | Udp, path: Path, problems: Problems) -> None:
    known = True
    for key, node in (("from", flow.from_), ("to", flow.to)):
        if node not in scenario.nodes:
            known = False
            problems.unknown((*path, key), "node", node, scenario.nodes)
    if not known:
        return
    if flow.from_ == flow.to:
        problems.add(
            "no-path",
            (*path, "to"),
            "a flow must lead from one node to another",
            given=flow.to,
            related=(((*path, "from"), "the same node"),),
        )
    elif scenario.part.get(flow.from_) != scenario.part.get(flow.to):
        problems.add("no-path", (*path, "to"), f"no links lead from {flow.from_} to {flow.to}")


def _times(scenario: Resolved, flow: Tcp | Udp, path: Path, problems: Problems) -> None:
    duration = scenario.run.duration
    if flow.start + flow.start_jitter > duration:
        key = "start" if flow.start >= duration else "start_jitter"
        problems.add(
            "relation",
            (*path, key),
            "the flow would start after the end of the run",
            given=format_time(getattr(flow, key)),
            related=((("run", "duration"), f"duration is {format_time(duration)}"),),
        )
    if flow.stop is not None and flow.stop <= flow.start:
        problems.add(
            "relation",
            (*path, "stop"),
            "stop must come after start",
            given=format_time(flow.stop),
            allowed=f"above {format_time(flow.start)}",
            related=(((*path, "start"), f"start is {format_time(flow.start)}"),),
        )


def _tcp(flow: Tcp, path: Path, problems: Problems) -> None:
    rto = flow.rto
    if rto.min > rto.max:
        problems.add(
            "relation",
            (*path, "rto", "min"),
            "min must not be above max",
            given=format_time(rto.min),
            related=(((*path, "rto", "max"), f"max is {format_time(rto.max)}"),),
        )
    if "initial_window" in flow.model_fields_set and flow.initial_window > flow.window:
        problems.add(
            "relation",
            (*path, "initial_window"),
            "initial_window must not be above window",
            given=f"initial_window {flow.initial_window}, window {flow.window} packets",
        )
    forms = {"impatient": flow.impatient, "partial_ack": flow.partial_ack == "reset"}
    for key, asked in forms.items():
        if asked and flow.variant != "new-reno":
            what = f"{key} is a form of new-reno, not of {flow.variant}"
            problems.add("relation", (*path, key), what, at_key=True)
    if flow.stack == "linux" and flow.variant not in ("new-reno", "sack"):
        problems.add(
            "relation",
            (*path, "variant"),
            f"the stack of Linux has no {flow.variant}",
            given=flow.variant,
            allowed="new-reno or sack",
            at_key=True,
        )
    if flow.size is not None and flow.size > flow.mss * (2**31 - 1):
        problems.add(
            "range",
            (*path, "size"),
            "a transfer has at most 2147483647 segments",
            given=format_bytes(flow.size),
        )


_ONLY = {
    "jitter": ("cbr",),
    "mean_on": ("on-off",),
    "mean_off": ("on-off",),
    "schedule": ("schedule",),
    "datagrams": ("schedule",),
    "rate": ("cbr", "poisson", "on-off"),
    "size": ("cbr", "poisson", "on-off"),
}
_NEEDED = {
    "cbr": ("rate",),
    "poisson": ("rate",),
    "on-off": ("rate", "mean_on", "mean_off"),
    "schedule": (),
}


def _udp(scenario: Resolved, flow: Udp, path: Path, problems: Problems) -> None:
    written = scenario.written.flows.get(str(path[1]), flow)
    own = written.model_fields_set
    if flow.call is not None and flow.game is not None:
        problems.add("relation", (*path, "game"), "a flow is a call or of a game", at_key=True)
        return
    if flow.call is not None:
        _call(flow.call, own, path, problems)
        return
    if flow.game is not None:
        _said_elsewhere(own, "a game: its model says it", path, problems)
        return
    if flow.arrivals == "schedule":
        _schedule(flow, path, problems)
    for key, kinds in _ONLY.items():
        if key in own and flow.arrivals not in kinds:
            problems.add(
                "relation",
                (*path, key),
                f"{key} has no meaning for {flow.arrivals} arrivals",
                allowed=f"with arrivals {' or '.join(kinds)}",
                at_key=True,
            )
    for key in _NEEDED[flow.arrivals]:
        if getattr(flow, key) is None:
            problems.add(
                "missing-key",
                (*path, key),
                f"{key} is missing: {flow.arrivals} arrivals need it",
                at_key=True,
            )
    _size(flow, path, problems)


def _said_elsewhere(own: set[str], why: str, path: Path, problems: Problems) -> None:
    keys = ("arrivals", "rate", "size", "jitter", "mean_on", "mean_off", "schedule", "datagrams")
    for key in keys:
        if key in own:
            message = f"{key} has no meaning for {why}"
            problems.add("relation", (*path, key), message, at_key=True)


def _schedule(flow: Udp, path: Path, problems: Problems) -> None:
    if (flow.schedule is None) == (not flow.datagrams):
        key = "schedule" if flow.schedule is None else "datagrams"
        code = "missing-key" if flow.schedule is None else "relation"
        message = "schedule is missing: schedule arrivals need it, or `datagrams`"
        if code == "relation":
            message = "a schedule is a file or stands in `datagrams`, not both"
        problems.add(code, (*path, key), message, at_key=True)
    for at, (before, after) in enumerate(pairwise(flow.datagrams), start=1):
        if after.time < before.time:
            problems.add(
                "relation",
                (*path, "datagrams", at, "time"),
                "times must not fall",
                given=format_time(after.time),
                allowed=f"at least {format_time(before.time)}",
            )


def _call(call: Call, own: set[str], path: Path, problems: Problems) -> None:
    _said_elsewhere(own, "a call: its codec says it", path, problems)
    size = datagram_bytes(call)
    if size != int(size) or size > LARGEST_DATAGRAM:
        problems.add(
            "relation",
            (*path, "call", "packet"),
            f"{format_time(call.packet)} of {call.codec} are no packet of whole bytes up to "
            f"{LARGEST_DATAGRAM} B",
            given=f"{size:.1f} B with headers",
            hint="packet: 20 ms",
        )


def _echo(echo: Echo, path: Path, problems: Problems) -> None:
    if echo.reply is not None and echo.protocol == "icmp":
        problems.add(
            "relation",
            (*path, "reply"),
            "a reply of icmp has the size of its request (RFC 792)",
            allowed="with protocol: udp",
            at_key=True,
        )


def _size(flow: Udp, path: Path, problems: Problems) -> None:
    size = flow.size
    given = [key for key in ("fixed", "exponential", "choice") if getattr(size, key) is not None]
    if len(given) != 1:
        problems.add(
            "relation",
            (*path, "size"),
            "a size is one of: a fixed size, exponential, choice",
            given=", ".join(given) or "none",
            at_key=True,
        )
    choice = size.choice
    weights = choice.weights if choice is not None else None
    if choice is not None and weights is not None and len(weights) != len(choice.sizes):
        problems.add(
            "relation",
            (*path, "size", "choice", "weights"),
            "there must be as many weights as sizes",
            given=str(len(weights)),
            allowed=str(len(choice.sizes)),
            at_key=True,
        )
