"""Failures in a fluid run: the ways of flows between any two moments at which they change.

The packet engine runs the network without traffic, so that its timeline says when links fail, when
protections and routing switch, and when they go back. Then datagrams of the flows that a failure
meets go out in every phase, alone, and their traces are the ways of the phase. All other flows
keep their way.
Absent: what is in queues and on the wire at a change; a phase shorter than the way of a datagram
may be given the ways of the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline import _core
from trunkline.fluid.network_writer import NetworkWriter
from trunkline.fluid.shortest_paths import get_answer_bytes
from trunkline.fluid.stream_paths import (
    StreamPaths,
    make_datagram,
    make_probe,
    run_probe,
    select_classifier_rows,
    sort_hops,
)
from trunkline.fluid.unsupported import FluidUnsupportedError
from trunkline.results.decode.columns import read_int_columns
from trunkline.te.topology import Ints

MAX_MOMENTS: Final = 500  # Moments within a run at most.
PROBE_LINK_BIT_S: Final = 1_000_000_000_000
"""Rate of links in the probe, so that its datagrams do not wait for each other."""
PATH_CHANGE_EVENTS: Final = ("failed", "switched", "repaired", "reverted", "rerouted")


@dataclass(frozen=True, slots=True, eq=False)
class FailurePhase:
    """A time in which nothing changes."""

    seconds: float  # How long, of the measured time.
    paths: StreamPaths  # The ways of all streams.


def split_into_phases(
    network: Mapping[str, Any], base: StreamPaths, sizes: Ints, seed: int, writer: NetworkWriter
) -> list[FailurePhase]:
    """Divide the measured time.

    network: The compiled network, parsed from its JSON.
    sizes: shape (F,): IP bytes of a data packet of each flow.
    writer: Writes variants of the network.
    Returns: In order; one, without failures.
    Raises FluidUnsupportedError: Too many moments.
    """
    run = network["run"]
    begin_ns, end_ns = run["warmup_ns"], run["duration_ns"]
    single_phase = [FailurePhase((end_ns - begin_ns) / 1e9, base)]
    failures = (network.get("recovery") or {}).get("failures", ())
    if not failures:
        return single_phase
    moments = _list_change_times(network, seed, writer)
    if len(moments) > MAX_MOMENTS:
        msg = (
            f"failures, protections and routing change ways at {len(moments)} moments of the run; "
            f"the fluid engine follows {MAX_MOMENTS} at most"
        )
        raise FluidUnsupportedError(msg, ("failures",))
    edges = np.unique(np.clip([begin_ns, *moments, end_ns], begin_ns, end_ns))
    dead = np.unique([link for failure in failures for link in failure["links"]])
    affected = np.unique(base.stream[np.isin(base.link, dead)])
    # Before the first moment nothing has happened yet.
    first_moment = min((each for each in moments), default=end_ns)
    later = [(a, b) for a, b in pairwise(edges.tolist()) if a >= first_moment]
    if not len(affected) or not later:
        return single_phase
    later_phases = _trace_phases(network, base, sizes, seed, affected, dead, later, writer)
    first_phase = (
        []
        if edges[0] >= first_moment
        else [FailurePhase((min(first_moment, end_ns) - begin_ns) / 1e9, base)]
    )
    return _merge_equal_phases(first_phase + later_phases)


def _list_change_times(network: Mapping[str, Any], seed: int, writer: NetworkWriter) -> list[int]:
    """List the times at which paths change [ns], also those of flows that send nothing yet."""
    end_ns = network["run"]["duration_ns"]
    destinations = {
        node: (number, direction)
        for number, flow in enumerate(network["flows"])
        for direction, node in enumerate((flow["dst"], flow["src"]))
    }
    directions = list(destinations.values())
    flows = [
        make_datagram(network["flows"][number], index, direction, 1, end_ns)
        for index, (number, direction) in enumerate(directions)
    ]
    ports = [
        port | {"classifier": select_classifier_rows(port["classifier"], directions)}
        for port in network["ports"]
    ]
    idle_network = dict(network) | {
        "flows": flows,
        "ports": ports,
        "probes": [],
        "conditioners": [],
    }
    rows = _core.run(writer.write(_strip_losses(idle_network)), seed)["timeline"]
    time, event = read_int_columns(rows, "time_ns", "event").values()
    event_numbers = [_core.TIMELINE_EVENTS.index(name) for name in PATH_CHANGE_EVENTS]
    moments: list[int] = np.unique(time[np.isin(event, event_numbers)]).tolist()
    return moments


def _strip_losses(network: dict[str, Any]) -> dict[str, Any]:
    """Links that lose, count and condition nothing."""
    keys = ("scripted", "account", "conditioner", "ingress")
    links = [
        {key: value for key, value in link.items() if key not in keys} | {"loss": 0.0}
        for link in network["links"]
    ]
    run = network["run"] | {"warmup_ns": 0, "trace": False}
    return network | {"links": links, "run": run}


def _trace_phases(
    network: Mapping[str, Any],
    base: StreamPaths,
    sizes: Ints,
    seed: int,
    affected: Ints,
    dead: Ints,
    edges: list[tuple[int, int]],
    writer: NetworkWriter,
) -> list[FailurePhase]:
    """Ways of the streams that a failure meets, in every phase."""
    answered = [f for f, flow in enumerate(network["flows"]) if get_answer_bytes(flow)]
    delay_to_failure = _compute_delay_to_failure(network, base, dead)[affected]
    positions = 0.25 + 0.5 * np.arange(1, len(affected) + 1) / (len(affected) + 1)
    times = np.concatenate(
        [
            begin_ns + (end_ns - begin_ns) * positions - delay_to_failure
            for begin_ns, end_ns in edges
        ]
    )
    streams = np.tile(affected, len(edges))
    probe_network = make_probe(
        network, sizes.tolist(), answered, streams.tolist(), np.rint(times).tolist()
    )
    probe_network["recovery"] = network["recovery"]
    probe_network["run"] = probe_network["run"] | {
        "duration_ns": network["run"]["duration_ns"] + 1_000_000_000
    }
    probe_network["links"] = [
        link | {"rate_bit_s": PROBE_LINK_BIT_S} for link in probe_network["links"]
    ]
    hops, lost = run_probe(network, writer.write(probe_network), len(streams), seed)
    unaffected = ~np.isin(base.stream, affected)
    kept_hops = np.stack(
        [getattr(base, name)[unaffected] for name in ("stream", "leg", "step", "link", "class_")]
        + [base.header[unaffected]]
    )
    failure_phases = []
    for number, (begin_ns, end_ns) in enumerate(edges):
        in_phase = hops[0] // len(affected) == number
        phase_hops = hops[:, in_phase]
        phase_hops[0] = affected[phase_hops[0] % len(affected)]
        lost_streams = base.lost.copy()
        lost_streams[affected] = lost[number * len(affected) : (number + 1) * len(affected)]
        phase_hops[1] += 1 + base.leg.max(initial=0)
        stream_paths = sort_hops(
            base.flow, base.reverse, np.concatenate([kept_hops, phase_hops], axis=1), lost_streams
        )
        failure_phases.append(FailurePhase((end_ns - begin_ns) / 1e9, stream_paths))
    return failure_phases


def _compute_delay_to_failure(
    network: Mapping[str, Any], base: StreamPaths, dead: Ints
) -> NDArray[np.float64]:
    """Propagation of each stream to the first link that fails [ns]."""
    delay = np.array([link["delay_ns"] for link in network["links"]], dtype=np.float64)
    delay_before = np.cumsum(delay[base.link]) - delay[base.link]
    starts = np.r_[0, np.flatnonzero(np.diff(base.leg)) + 1]
    leg_start = np.repeat(delay_before[starts], np.diff(np.r_[starts, len(base.leg)]))
    delays = np.full(len(base.flow), np.inf)
    on_dead_link = np.isin(base.link, dead)
    np.minimum.at(delays, base.stream[on_dead_link], (delay_before - leg_start)[on_dead_link])
    return np.where(np.isfinite(delays), delays, 0.0)


def _merge_equal_phases(to_merge: list[FailurePhase]) -> list[FailurePhase]:
    """Merge neighbours with the same paths."""
    merged: list[FailurePhase] = []
    for each in to_merge:
        if merged and _has_same_paths(merged[-1].paths, each.paths):
            merged[-1] = replace(merged[-1], seconds=merged[-1].seconds + each.seconds)
        else:
            merged.append(each)
    return merged


def _has_same_paths(first: StreamPaths, second: StreamPaths) -> bool:
    names = ("stream", "step", "link", "class_", "header", "lost")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
