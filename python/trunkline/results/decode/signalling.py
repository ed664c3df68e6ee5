"""Tables of signalling: events, paths, load of messages by link, and the messages' octets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trunkline import _core
from trunkline.results.decode.columns import (
    RawRows,
    make_float_column,
    make_int_column,
    make_mask,
    make_network_name_column,
    make_rate_column,
    make_ratio_column,
)
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import NetworkData, Rsvp

FIXED_WORDS = 7
"""Words before the octets of a message: flow, number, two nodes, protocol, header, length."""
_TIMED_EVENTS = ("up", "moved")
_ERROR_EVENTS = ("refused", "down")


def _get_rsvp(network: NetworkData) -> Rsvp | None:
    signalling_config = network.get("signalling")
    return None if signalling_config is None else signalling_config.get("rsvp")


def _name_paths(rows: RawRows, network: NetworkData) -> list[str]:
    """Name of the path or of the process of requests of each row."""
    rsvp = _get_rsvp(network)
    if rsvp is None:
        return []
    sessions = [each["name"] for each in rsvp["sessions"]]
    processes = [each["name"] for each in rsvp.get("requests", ())]
    pairs = zip(rows["session"], rows["process"], strict=True)
    return [sessions[session] if process < 0 else processes[process] for session, process in pairs]


def decode_signalling(rows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row an event of signalling."""
    events = [_core.SIGNALLING_EVENTS[event] for event in rows["event"]]
    errors = [
        f"{value >> 16}/{value & 65535}" if event in _ERROR_EVENTS and value > 0 else None
        for event, value in zip(events, rows["value"], strict=True)
    ]
    pairs = zip(events, rows["value"], strict=True)
    return {
        "event": Column(events),
        "path": Column([*_name_paths(rows, network)]),
        "value": rows.column(
            "value", make_mask(event in _TIMED_EVENTS and value >= 0 for event, value in pairs)
        ),
        "error": Column(errors),
    }


@dataclass
class _PathRecord:
    """Counts of a path, or of all requests of a process."""

    counts: dict[str, int] = field(default_factory=dict)
    setups: list[int] = field(default_factory=list)
    out_ns: int = 0
    out_since: int | None = None
    is_up: bool = False


_COUNTED_EVENTS = ("asked", "up", "moved", "blocked", "refused", "preempted", "down")


def decode_lsps(rows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row a signalled path or process of requests."""
    rsvp = _get_rsvp(network)
    processes = [] if rsvp is None else [each["name"] for each in rsvp.get("requests", ())]
    listed = [] if rsvp is None else [each["name"] for each in rsvp["sessions"]]
    paths = {name: _PathRecord() for name in listed + processes}
    run = network["run"]
    # A request that came before the warm-up ended counts nowhere.
    early_sessions: set[int] = set()
    names_of_rows = _name_paths(rows, network)
    columns = zip(
        rows["time_ns"], rows["event"], rows["session"], rows["value"], names_of_rows, strict=True
    )
    for at, number, session, value, name in columns:
        path, event = paths[name], _core.SIGNALLING_EVENTS[number]
        if name in processes:
            if event == "asked" and at < run["warmup_ns"]:
                early_sessions.add(session)
            if session in early_sessions:
                continue
        event = "preempted" if event == "soft-preempted" else event
        path.counts[event] = path.counts.get(event, 0) + 1
        if event in _TIMED_EVENTS and value >= 0:
            path.setups.append(value)
        if event == "down" or (event == "asked" and not path.is_up):
            path.out_since = at if path.out_since is None else path.out_since
        elif event in ("up", "moved", "torn") and path.out_since is not None:
            path.out_ns += at - path.out_since
            path.out_since = None
        if event in ("up", "down", "torn"):
            path.is_up = event == "up"
    for path in paths.values():
        if path.out_since is not None:
            path.out_ns += run["duration_ns"] - path.out_since
    return _build_lsp_columns(paths, set(processes))


def _build_lsp_columns(paths: dict[str, _PathRecord], processes: set[str]) -> dict[str, Column]:
    records = list(paths.values())
    counted = {name: [path.counts.get(name, 0) for path in records] for name in _COUNTED_EVENTS}
    means = [sum(path.setups) / len(path.setups) if path.setups else 0.0 for path in records]
    largest = [max(path.setups, default=0) for path in records]
    is_path = make_mask(name not in processes for name in paths)
    out = [path.out_ns for path in records]
    return {
        "path": Column(list(paths)),
        **{name: make_int_column(values) for name, values in counted.items()},
        "setups": make_int_column([len(path.setups) for path in records]),
        "setup_mean_ns": make_float_column(means),
        "setup_max_ns": make_int_column(largest),
        "out_ns": make_int_column(out, is_path),
        "blocking_ratio": make_ratio_column(counted["blocked"], counted["asked"]),
    }


def _name_message_kinds(network: NetworkData) -> dict[int, tuple[str, ...]]:
    """Name the messages of each flow."""
    signalling_config = network.get("signalling")
    if signalling_config is None:
        return {}
    pairs = (
        (signalling_config.get("ldp"), _core.LDP_KINDS),
        (signalling_config.get("ospf"), _core.OSPF_KINDS),
        (signalling_config.get("rsvp"), _core.RSVP_KINDS),
    )
    return {config["flow"]: kinds for config, kinds in pairs if config is not None}


def decode_control(rows: RawRows, network: NetworkData, measured_s: float) -> dict[str, Column]:
    """Decode one row a link, protocol and kind of message."""
    kinds = _name_message_kinds(network)
    pairs = zip(rows["flow"], rows["kind"], strict=True)
    return {
        "protocol": make_network_name_column(network, "flows", rows["flow"]),
        "message": Column([kinds[flow][kind] for flow, kind in pairs]),
        "throughput_bit_s": make_rate_column(rows["bytes"], measured_s),
    }


def decode_messages(rows: RawRows, network: NetworkData) -> dict[str, Column]:
    """Decode one row a message of a traced run."""
    found = list(_split_messages(rows["word"]))
    ends = [[each[0][column] for each in found] for column in range(FIXED_WORDS - 1)]
    return {
        "flow": make_network_name_column(network, "flows", ends[0]),
        "seq": make_int_column(ends[1]),
        "source": make_network_name_column(network, "nodes", ends[2]),
        "destination": make_network_name_column(network, "nodes", ends[3]),
        "ip_protocol": make_int_column(ends[4]),
        "header_bytes": make_int_column(ends[5]),
        "octets": Column([octets.hex() for _, octets in found]),
    }


def _split_messages(words: list[int]) -> Iterator[tuple[list[int], bytes]]:
    """Fixed words and octets of each message; four octets to a word."""
    at = 0
    while at < len(words):
        fixed = words[at : at + FIXED_WORDS]
        end = at + FIXED_WORDS + -(-fixed[-1] // 4)
        parts = [word.to_bytes(4, "big") for word in words[at + FIXED_WORDS : end]]
        rest = fixed[-1] % 4
        if rest:
            parts[-1] = parts[-1][4 - rest :]
        yield fixed, b"".join(parts)
        at = end
