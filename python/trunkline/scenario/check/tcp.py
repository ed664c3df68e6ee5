"""Keys of a TCP flow that its stack, recovery or congestion control does not read."""

from collections.abc import Iterator

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario

_STACK_OF_KEY = {
    "impatient": "rfc",
    "partial_ack": "rfc",
    "limited_transmit": "rfc",
    "dup_acks": "rfc",
    "count_segments": "rfc",
    "quick_acks": "rfc",
    "send_overhead": "rfc",
    "receive_buffer": "linux",
}
"""The stack that reads a key; others are read by both."""


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Report keys that do nothing: of a flow, and of the defaults if no flow reads them."""
    defaults = scenario.written.defaults.tcp
    unread_by_flow: list[dict[tuple[str, ...], tuple[str, str]]] = []
    for name, flow in scenario.flows.items():
        if not isinstance(flow, Tcp):
            continue
        for keys, reason, allowed in _list_missing_options(flow):
            _report_key(_find_key_path(scenario, name, keys), reason, allowed, problems)
        unread = {keys: (reason, allowed) for keys, reason, allowed in _list_unread_keys(flow)}
        unread_by_flow.append(unread)
        for keys, (reason, allowed) in unread.items():
            written = scenario.written.flows.get(name)
            # Flows of demands are written by their template, which has the keys of all stacks.
            if written is not None and _is_set(written, keys):
                _report_key(("flows", name, *keys), reason, allowed, problems)
    if defaults is None or not unread_by_flow:
        return
    for keys, (reason, allowed) in unread_by_flow[0].items():
        if _is_set(defaults, keys) and all(keys in others for others in unread_by_flow):
            _report_key(("defaults", "tcp", *keys), reason, allowed, problems)


def _list_unread_keys(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """List each key that the flow does not read, why, and the flows that read it."""
    for key, stack in _STACK_OF_KEY.items():
        if flow.stack != stack:
            yield (key,), f"{key} means nothing to stack {flow.stack}", f"stack: {stack}"
    if flow.stack == "linux":
        yield ("rto", "tick"), "tick means nothing to stack linux", "stack: rfc"
    elif flow.delayed_ack is None:
        yield ("quick_acks",), "quick_acks means nothing without delayed_ack", "with delayed_ack"

    if not flow.keeps_connections:
        reason = "after_idle means nothing where the application does not pause"
        yield ("after_idle",), reason, "with transfers, pages or video: {connections: kept}"
    elif flow.steers_by_rate:
        reason = f"after_idle means nothing to congestion {flow.congestion}"
        yield ("after_idle",), reason, f"congestion other than {flow.congestion}"
    if flow.congestion != "cubic":
        reason = f"slow_start means nothing to congestion {flow.congestion}"
        yield ("slow_start",), reason, "congestion: cubic"
    if flow.congestion != "prague":
        reason = f"accurate_ecn means nothing to congestion {flow.congestion}"
        yield ("accurate_ecn",), reason, "congestion: prague"
    if flow.steers_by_rate:
        for key in ("initial_ssthresh", "count_segments"):
            reason = f"{key} means nothing to congestion {flow.congestion}"
            yield (key,), reason, f"congestion other than {flow.congestion}"


def _list_missing_options(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """List the missing needs of the congestion control: key, why, which keys provide it."""
    memory = flow.receive_buffer
    if memory is not None and memory.initial > memory.max:
        reason = f"it begins with {memory.initial} B and has {memory.max} B at most"
        yield ("receive_buffer",), reason, "initial <= max"
    if flow.after_idle == "validate" and flow.stack == "linux":
        reason = "stack linux has no validation of the window by RFC 7661"
        yield ("after_idle",), reason, "restart or keep, or stack: rfc"
    if flow.congestion in ("dctcp", "prague") and not flow.ecn:
        reason = f"{flow.congestion} answers to marks, and the flow has no ecn"
        yield ("congestion",), reason, "with ecn: true"
    if flow.steers_by_rate and not flow.is_paced:
        reason = f"{flow.congestion} sends at a pace that it sets itself"
        yield ("pacing",), reason, "pacing: true, or absent"
    if flow.congestion == "prague":
        yield from _list_missing_prague_options(flow)
    if flow.steers_by_rate and flow.variant not in ("sack", "rack"):
        reason = f"{flow.congestion} counts what each acknowledgement delivers, which SACK reports"
        yield ("congestion",), reason, "with variant: sack"
    if flow.congestion == "cubic" and flow.slow_start:
        yield from _list_missing_slow_start_options(flow)
    if flow.congestion == "vegas" and flow.stack == "rfc" and not flow.timestamps:
        reason = "vegas times every acknowledgement, and the flow times one segment per window"
        yield ("congestion",), reason, "with timestamps: true"


def _list_missing_prague_options(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if not flow.accurate_ecn:
        reason = "prague counts marks, which accurate ECN reports (RFC 9768)"
        yield ("congestion",), reason, "with accurate_ecn: true"
    if flow.stack != "rfc":
        reason = "prague is not in Linux 6.1, whose stack this is"
        yield ("congestion",), reason, "with stack: rfc"
    if not flow.is_paced:
        yield (
            ("pacing",),
            "prague sends at a pace (RFC 9331 section 4.4)",
            "pacing: true, or absent",
        )


def _list_missing_slow_start_options(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    stack = {"hystart": "linux", "hystart++": "rfc"}.get(str(flow.slow_start))
    if stack not in (None, flow.stack):
        reason = f"stack {flow.stack} has no {flow.slow_start}"
        yield ("slow_start",), reason, f"stack: {stack}"
    elif flow.slow_start == "hystart++" and not flow.timestamps:
        reason = "hystart++ times every acknowledgement, and the flow times one segment per window"
        yield ("slow_start",), reason, "with timestamps: true"


def _find_key_path(scenario: ResolvedScenario, name: str, keys: tuple[str, ...]) -> DocumentPath:
    """Find where the key is written: with the flow, in the defaults, or nowhere but the flow."""
    written, defaults = scenario.written.flows.get(name), scenario.written.defaults.tcp
    if written is not None and _is_set(written, keys):
        return ("flows", name, *keys)
    if defaults is not None and _is_set(defaults, keys):
        return ("defaults", "tcp", *keys)
    return ("flows", name)


def _is_set(options: object, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if key not in getattr(options, "model_fields_set", ()):
            return False
        options = getattr(options, key)
    return True


def _report_key(path: DocumentPath, reason: str, allowed: str, problems: Problems) -> None:
    problems.add("relation", path, reason, allowed=allowed, at_key=True)
