"""Checks of flows, and their names."""

from itertools import pairwise

from trunkline.scenario.call import LARGEST_DATAGRAM, Call, compute_datagram_bytes
from trunkline.scenario.check.workloads import check_ladder
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.flow import Echo, Tcp, Udp
from trunkline.scenario.media import MAX_FRAME_BYTES, Media
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.units import format_bytes, format_rate, format_time


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all flows."""
    classes: set[str] = set()
    for name, flow in scenario.flows.items():
        path: DocumentPath = ("flows", name)
        _check_ends(scenario, flow, path, problems)
        if name in scenario.message_flows:
            message = f"{name} is the name of the flow of {name.upper()}'s messages"
            problems.add("relation", path, message, at_key=True)
        if name in scenario.demands:
            # But for its ends and its rate it is that of its class.
            class_ = scenario.demands[name].class_
            if class_ in classes:
                continue
            classes.add(class_)
        _check_times(scenario, flow, path, problems)
        if name in scenario.echoes:
            is_set_on_flow = "reply" in scenario.written.flows[name].model_fields_set
            _check_echo(
                scenario.echoes[name], path if is_set_on_flow else ("defaults", "echo"), problems
            )
        elif isinstance(flow, Tcp):
            _check_tcp(flow, path, problems)
        else:
            _check_udp(scenario, flow, path, problems)


def _check_ends(
    scenario: ResolvedScenario, flow: Tcp | Udp, path: DocumentPath, problems: Problems
) -> None:
    are_known = True
    for key, node in (("from", flow.from_), ("to", flow.to)):
        if node not in scenario.nodes:
            are_known = False
            problems.add_unknown((*path, key), "node", node, scenario.nodes)
    if not are_known:
        return
    if flow.from_ == flow.to:
        problems.add(
            "no-path",
            (*path, "to"),
            "a flow must lead from one node to another",
            given=flow.to,
            related=(((*path, "from"), "the same node"),),
        )
    elif scenario.component.get(flow.from_) != scenario.component.get(flow.to):
        problems.add("no-path", (*path, "to"), f"no links lead from {flow.from_} to {flow.to}")


def _check_times(
    scenario: ResolvedScenario, flow: Tcp | Udp, path: DocumentPath, problems: Problems
) -> None:
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


def _check_tcp(flow: Tcp, path: DocumentPath, problems: Problems) -> None:
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
    for key, is_asked in forms.items():
        if is_asked and flow.variant != "new-reno":
            message = f"{key} is a form of new-reno, not of {flow.variant}"
            problems.add("relation", (*path, key), message, at_key=True)
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
        message = "a transfer has at most 2147483647 segments"
        problems.add("range", (*path, "size"), message, given=format_bytes(flow.size))


_KEY_ARRIVALS = {
    "jitter": ("cbr",),
    "mean_on": ("on-off",),
    "mean_off": ("on-off",),
    "schedule": ("schedule",),
    "datagrams": ("schedule",),
    "rate": ("cbr", "poisson", "on-off", "tfrc"),
    "size": ("cbr", "poisson", "on-off", "tfrc"),
}
_REQUIRED_KEYS = {
    "cbr": ("rate",),
    "poisson": ("rate",),
    "on-off": ("rate", "mean_on", "mean_off"),
    "schedule": (),
    "tfrc": (),
}


def _check_udp(
    scenario: ResolvedScenario, flow: Udp, path: DocumentPath, problems: Problems
) -> None:
    written = scenario.written.flows.get(str(path[1]), flow)
    keys_set = written.model_fields_set
    if flow.phase and flow.phase >= flow.tick:
        problems.add(
            "relation",
            (*path, "phase"),
            "the phase of a timer is below its tick",
            given=format_time(flow.phase),
            allowed=f"below {format_time(flow.tick)}" if flow.tick else "with a tick",
        )
    models = [key for key in ("call", "game", "media") if getattr(flow, key) is not None]
    if len(models) > 1:
        message = "a flow is a call, of a game or media"
        problems.add("relation", (*path, models[1]), message, given=", ".join(models), at_key=True)
        return
    if flow.media is not None:
        _check_media(flow.media, flow.header, keys_set, path, problems)
        _check_frames(scenario, flow.media, path, problems)
        return
    if flow.call is not None:
        _check_call(flow.call, keys_set, path, problems)
        return
    if flow.game is not None:
        _report_keys_set_by_model(keys_set, "a game: its model says it", path, problems)
        return
    if flow.arrivals == "schedule":
        _check_schedule(flow, path, problems)
    for key, kinds in _KEY_ARRIVALS.items():
        if key in keys_set and flow.arrivals not in kinds:
            problems.add(
                "relation",
                (*path, key),
                f"{key} has no meaning for {flow.arrivals} arrivals",
                allowed=f"with arrivals {' or '.join(kinds)}",
                at_key=True,
            )
    for key in _REQUIRED_KEYS[flow.arrivals]:
        if getattr(flow, key) is None:
            message = f"{key} is missing: {flow.arrivals} arrivals need it"
            problems.add("missing-key", (*path, key), message, at_key=True)
    _check_size(flow, path, problems)


def _report_keys_set_by_model(
    keys_set: set[str], reason: str, path: DocumentPath, problems: Problems
) -> None:
    keys = ("arrivals", "rate", "size", "jitter", "mean_on", "mean_off", "schedule", "datagrams")
    for key in keys:
        if key in keys_set:
            message = f"{key} has no meaning for {reason}"
            problems.add("relation", (*path, key), message, at_key=True)


def _check_schedule(flow: Udp, path: DocumentPath, problems: Problems) -> None:
    if (flow.schedule is None) == (not flow.datagrams):
        key = "schedule" if flow.schedule is None else "datagrams"
        code = "missing-key" if flow.schedule is None else "relation"
        message = "schedule is missing: schedule arrivals need it, or `datagrams`"
        if code == "relation":
            message = "a schedule is a file or the list `datagrams`, not both"
        problems.add(code, (*path, key), message, at_key=True)
    for position, (before, after) in enumerate(pairwise(flow.datagrams), start=1):
        if after.time < before.time:
            problems.add(
                "relation",
                (*path, "datagrams", position, "time"),
                "times must not fall",
                given=format_time(after.time),
                allowed=f"at least {format_time(before.time)}",
            )


def _check_call(call: Call, keys_set: set[str], path: DocumentPath, problems: Problems) -> None:
    _report_keys_set_by_model(keys_set, "a call: its codec says it", path, problems)
    size = compute_datagram_bytes(call)
    if size != int(size) or size > LARGEST_DATAGRAM:
        problems.add(
            "relation",
            (*path, "call", "packet"),
            f"{format_time(call.packet)} of {call.codec} are no packet of whole bytes up to "
            f"{LARGEST_DATAGRAM} B",
            given=f"{size:.1f} B with headers",
            hint="packet: 20 ms",
        )


def _check_media(
    media: Media, header: int, keys_set: set[str], path: DocumentPath, problems: Problems
) -> None:
    _report_keys_set_by_model(keys_set, "media: its encoder sets it", path, problems)
    place = (*path, "media")
    if not check_ladder(media.ladder, place, problems):
        return
    if media.ladder and not media.least_rate <= media.ladder[0] <= media.ladder[-1] <= (
        media.largest_rate
    ):
        problems.add(
            "relation",
            (*place, "ladder"),
            "a ladder must lie between min_rate and max_rate",
            given=f"{format_rate(media.ladder[0])} to {format_rate(media.ladder[-1])}",
            allowed=f"{format_rate(media.least_rate)} to {format_rate(media.largest_rate)}",
            at_key=True,
        )
    if media.least_rate > media.largest_rate:
        key = "min_rate" if media.min_rate is not None else "max_rate"
        problems.add(
            "relation",
            (*place, key),
            "min_rate must not be above max_rate",
            given=format_rate(media.least_rate),
            allowed=f"at most {format_rate(media.largest_rate)}",
            at_key=True,
        )
    frame_bytes = media.least_rate * media.frame // (8 * 10**9)
    if frame_bytes <= header:
        key = next((each for each in ("min_rate", "ladder") if getattr(media, each)), "frame")
        problems.add(
            "relation",
            (*place, key),
            "a frame at the minimum rate must be larger than a packet's headers",
            given=f"{frame_bytes} B each {format_time(media.frame)}",
            allowed=f"more than {header} B",
            at_key=True,
        )
    largest_bytes = media.largest_rate * media.frame // (8 * 10**9)
    if largest_bytes > MAX_FRAME_BYTES:
        problems.add(
            "relation",
            (*place, "frame"),
            "a frame at the maximum rate is too large",
            given=f"{largest_bytes} B each {format_time(media.frame)}",
            allowed=f"at most {MAX_FRAME_BYTES} B",
            at_key=True,
        )


def _check_frames(
    scenario: ResolvedScenario, media: Media, path: DocumentPath, problems: Problems
) -> None:
    """Warn where no picture is shown, or no second one is taken, before the run ends."""
    duration = scenario.run.duration
    for key, time, outcome in (
        ("frame", media.frame, "the run ends before the second frame: nothing adapts"),
        ("playout", media.playout, "the run ends before the first frame is shown"),
    ):
        if time >= duration:
            problems.add(
                "relation",
                (*path, "media", key),
                outcome,
                given=format_time(time),
                related=((("run", "duration"), f"ends at {format_time(duration)}"),),
                warning=True,
            )


def _check_echo(echo: Echo, path: DocumentPath, problems: Problems) -> None:
    if echo.reply is not None and echo.protocol == "icmp":
        message = "a reply of icmp has the size of its request (RFC 792)"
        problems.add(
            "relation", (*path, "reply"), message, allowed="with protocol: udp", at_key=True
        )


def _check_size(flow: Udp, path: DocumentPath, problems: Problems) -> None:
    size = flow.size
    kinds_given = [
        key for key in ("fixed", "exponential", "choice") if getattr(size, key) is not None
    ]
    if len(kinds_given) != 1:
        problems.add(
            "relation",
            (*path, "size"),
            "a size is one of: a fixed size, exponential, choice",
            given=", ".join(kinds_given) or "none",
            at_key=True,
        )
    if flow.arrivals == "tfrc" and size.fixed is None:
        problems.add(
            "relation",
            (*path, "size"),
            "TFRC's equation takes one size of datagrams (RFC 5348 section 3.1)",
            allowed="a fixed size, such as size: 1000 B",
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
