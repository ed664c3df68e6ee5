"""Keys of a TCP flow that its stack, recovery or congestion control does not read."""

from collections.abc import Iterator

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow import Tcp
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved

__all__ = ["check"]

_READ_BY = {
    "impatient": "rfc",
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


def _is_set(options: object, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if key not in getattr(options, "model_fields_set", ()):
            return False
        options = getattr(options, key)
    return True


def _report(path: Path, why: str, allowed: str, problems: Problems) -> None:
    problems.add("relation", path, why, allowed=allowed, at_key=True)
