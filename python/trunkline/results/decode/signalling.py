"""Tables of signalling: events, paths, load of messages by link, and the messages' octets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trunkline import _core
from trunkline.results.decode.columns import (
    Rows,
    floats,
    ints,
    mask,
    names_of,
    rate,
    ratio,
)
from trunkline.results.table import Column

if TYPE_CHECKING:
    from trunkline.network.types import Network
    from trunkline.network.types.signalling import Rsvp

FIXED = 7
"""Words before the octets of a message: flow, number, two nodes, protocol, header, length."""
_TIMED = ("up", "moved")
_TOLD = ("refused", "down")


def _rsvp(network: Network) -> Rsvp | None:
    its = network.get("signalling")
    return None if its is None else its.get("rsvp")


def _paths(rows: Rows, network: Network) -> list[str]:
    """Name of the path or of the process of requests of each row."""
    its = _rsvp(network)
    if its is None:
        return []
    sessions = [each["name"] for each in its["sessions"]]
    processes = [each["name"] for each in its.get("requests", ())]
    pairs = zip(rows["session"], rows["process"], strict=True)
    return [sessions[session] if of < 0 else processes[of] for session, of in pairs]


def signalling(rows: Rows, network: Network) -> dict[str, Column]:
    """One row an event of signalling."""
    events = [_core.SIGNALLING_EVENTS[event] for event in rows["event"]]
    errors = [
        f"{value >> 16}/{value & 65535}" if event in _TOLD and value > 0 else None
        for event, value in zip(events, rows["value"], strict=True)
    ]
    pairs = zip(events, rows["value"], strict=True)
    return {
        "event": Column(events),
        "path": Column([*_paths(rows, network)]),
        "value": rows.column(
            "value", mask(event in _TIMED and value >= 0 for event, value in pairs)
        ),
        "error": Column(errors),
    }


@dataclass
class _Path:
    """What became of a path, or of all requests of a process."""

    counts: dict[str, int] = field(default_factory=dict)
    setups: list[int] = field(default_factory=list)
    out_ns: int = 0
    out_since: int | None = None
    is_up: bool = False


_COUNTED = ("asked", "up", "moved", "blocked", "refused", "preempted", "down")


def lsps(rows: Rows, network: Network) -> dict[str, Column]:
    """One row a signalled path or process of requests."""
    its = _rsvp(network)
    processes = [] if its is None else [each["name"] for each in its.get("requests", ())]
    listed = [] if its is None else [each["name"] for each in its["sessions"]]
    paths = {name: _Path() for name in listed + processes}
    run = network["run"]
    # A request that came before the warm-up ended counts nowhere.
    early: set[int] = set()
    names_of_rows = _paths(rows, network)
    columns = zip(
        rows["time_ns"], rows["event"], rows["session"], rows["value"], names_of_rows, strict=True
    )
    for at, number, session, value, name in columns:
        path, event = paths[name], _core.SIGNALLING_EVENTS[number]
        if name in processes:
            if event == "asked" and at < run["warmup_ns"]:
                early.add(session)
            if session in early:
                continue
        event = "preempted" if event == "soft-preempted" else event
        path.counts[event] = path.counts.get(event, 0) + 1
        if event in _TIMED and value >= 0:
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
    return _table(paths, set(processes))


def _table(paths: dict[str, _Path], processes: set[str]) -> dict[str, Column]:
    every = list(paths.values())
    counted = {name: [path.counts.get(name, 0) for path in every] for name in _COUNTED}
    timed = mask(bool(path.setups) for path in every)
    means = [sum(path.setups) / len(path.setups) if path.setups else 0.0 for path in every]
    largest = [max(path.setups, default=0) for path in every]
    kept = mask(name not in processes for name in paths)
    out = [path.out_ns for path in every]
    return {
        "path": Column(list(paths)),
        **{name: ints(values) for name, values in counted.items()},
        "setup_mean_ns": floats(means, timed),
        "setup_max_ns": ints(largest, timed),
        "out_ns": ints(out, kept),
        "blocking_ratio": ratio(counted["blocked"], counted["asked"]),
    }


def _kinds(network: Network) -> dict[int, tuple[str, ...]]:
    """Names of the messages of each flow."""
    its = network.get("signalling")
    if its is None:
        return {}
    pairs = (
        (its.get("ldp"), _core.LDP_KINDS),
        (its.get("ospf"), _core.OSPF_KINDS),
        (its.get("rsvp"), _core.RSVP_KINDS),
    )
    return {config["flow"]: kinds for config, kinds in pairs if config is not None}


def control(rows: Rows, network: Network, measured_s: float) -> dict[str, Column]:
    """One row a link, protocol and kind of message."""
    kinds = _kinds(network)
    pairs = zip(rows["flow"], rows["kind"], strict=True)
    return {
        "protocol": names_of(network, "flows", rows["flow"]),
        "message": Column([kinds[flow][kind] for flow, kind in pairs]),
        "throughput_bit_s": rate(rows["bytes"], measured_s),
    }


def messages(rows: Rows, network: Network) -> dict[str, Column]:
    """One row a message of a traced run."""
    found = list(_split(rows["word"]))
    ends = [[each[0][column] for each in found] for column in range(FIXED - 1)]
    return {
        "flow": names_of(network, "flows", ends[0]),
        "seq": ints(ends[1]),
        "source": names_of(network, "nodes", ends[2]),
        "destination": names_of(network, "nodes", ends[3]),
        "ip_protocol": ints(ends[4]),
        "header_bytes": ints(ends[5]),
        "octets": Column([octets.hex() for _, octets in found]),
    }


def _split(words: list[int]) -> Iterator[tuple[list[int], bytes]]:
    """Fixed words and octets of each message; four octets to a word."""
    at = 0
    while at < len(words):
        fixed = words[at : at + FIXED]
        end = at + FIXED + -(-fixed[-1] // 4)
        parts = [word.to_bytes(4, "big") for word in words[at + FIXED : end]]
        rest = fixed[-1] % 4
        if rest:
            parts[-1] = parts[-1][4 - rest :]
        yield fixed, b"".join(parts)
        at = end
