"""Keys of a TCP flow that its stack, recovery or congestion control does not read."""

from collections.abc import Iterator

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved

_READ_BY = {
    "impatient": "rfc",
    "partial_ack": "rfc",
    "limited_transmit": "rfc",
    "dup_acks": "rfc",
    "count_segments": "rfc",
    "quick_acks": "rfc",
    "send_overhead": "rfc",
    "initial_receive_window": "linux",
}
"""The stack that reads a key; others are read by both."""


def check(scenario: Resolved, problems: Problems) -> None:
    """Reports keys that do nothing: of a flow, and of the defaults if no flow reads them."""
    defaults = scenario.written.defaults.tcp
    in_vain: list[dict[tuple[str, ...], tuple[str, str]]] = []
    for name, flow in scenario.flows.items():
        if not isinstance(flow, Tcp):
            continue
        for keys, why, allowed in _lacks(flow):
            _report(_place(scenario, name, keys), why, allowed, problems)
        unread = {keys: (why, allowed) for keys, why, allowed in _unread(flow)}
        in_vain.append(unread)
        for keys, (why, allowed) in unread.items():
            written = scenario.written.flows.get(name)
            # Flows of demands are written by their template, which has the keys of all stacks.
            if written is not None and _is_set(written, keys):
                _report(("flows", name, *keys), why, allowed, problems)
    if defaults is None or not in_vain:
        return
    for keys, (why, allowed) in in_vain[0].items():
        if _is_set(defaults, keys) and all(keys in others for others in in_vain):
            _report(("defaults", "tcp", *keys), why, allowed, problems)


def _unread(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Each key that the flow does not read, why, and what reads it."""
    for key, stack in _READ_BY.items():
        if flow.stack != stack:
            yield (key,), f"{key} means nothing to stack {flow.stack}", f"stack: {stack}"
    if flow.stack == "linux":
        yield ("rto", "tick"), "tick means nothing to stack linux", "stack: rfc"
    elif flow.delayed_ack is None:
        yield ("quick_acks",), "quick_acks means nothing without delayed_ack", "with delayed_ack"

    if flow.congestion != "cubic":
        why = f"slow_start means nothing to congestion {flow.congestion}"
        yield ("slow_start",), why, "congestion: cubic"
    if flow.congestion != "prague":
        why = f"accurate_ecn means nothing to congestion {flow.congestion}"
        yield ("accurate_ecn",), why, "congestion: prague"
    if flow.congestion == "bbr":
        for key in ("initial_ssthresh", "count_segments"):
            yield (key,), f"{key} means nothing to congestion bbr", "congestion other than bbr"


def _lacks(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Each thing that the flow lacks and its congestion control needs: key, why, what has it."""
    if flow.congestion in ("dctcp", "prague") and not flow.ecn:
        why = f"{flow.congestion} answers to marks, and the flow has no ecn"
        yield ("congestion",), why, "with ecn: true"
    if flow.congestion == "bbr" and not flow.paced:
        yield ("pacing",), "bbr sends at a pace that it sets itself", "pacing: true, or absent"
    if flow.congestion == "prague":
        yield from _lacks_of_prague(flow)
    if flow.congestion == "bbr" and flow.variant != "sack":
        why = "bbr counts what each acknowledgement delivers, which SACK tells"
        yield ("congestion",), why, "with variant: sack"
    if flow.congestion == "cubic" and flow.slow_start:
        yield from _lacks_of_slow_start(flow)
    if flow.congestion == "vegas" and flow.stack == "rfc" and not flow.timestamps:
        why = "vegas times every acknowledgement, and the flow times one segment per window"
        yield ("congestion",), why, "with timestamps: true"


def _lacks_of_prague(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    if not flow.accurate_ecn:
        why = "prague counts marks, which accurate ECN tells (RFC 9768)"
        yield ("congestion",), why, "with accurate_ecn: true"
    if flow.stack != "rfc":
        why = "prague is not in Linux 6.1, whose stack this is"
        yield ("congestion",), why, "with stack: rfc"
    if not flow.paced:
        yield (
            ("pacing",),
            "prague sends at a pace (RFC 9331 section 4.4)",
            "pacing: true, or absent",
        )


def _lacks_of_slow_start(flow: Tcp) -> Iterator[tuple[tuple[str, ...], str, str]]:
    stack = {"hystart": "linux", "hystart++": "rfc"}.get(str(flow.slow_start))
    if stack not in (None, flow.stack):
        why = f"stack {flow.stack} has no {flow.slow_start}"
        yield ("slow_start",), why, f"stack: {stack}"
    elif flow.slow_start == "hystart++" and not flow.timestamps:
        why = "hystart++ times every acknowledgement, and the flow times one segment per window"
        yield ("slow_start",), why, "with timestamps: true"


def _place(scenario: Resolved, name: str, keys: tuple[str, ...]) -> Path:
    """Where the key is written: with the flow, in the defaults, or nowhere but the flow."""
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


def _report(path: Path, why: str, allowed: str, problems: Problems) -> None:
    problems.add("relation", path, why, allowed=allowed, at_key=True)
