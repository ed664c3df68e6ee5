"""One engine's output of one seed: tables, datagrams of UDP flows, marks of TCP segments."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trunkline import _core
from trunkline.engine.packet_engine import Job, ResultsDecoder
from trunkline.linux import engine
from trunkline.linux.judge.port_ties import (
    NO_CLOSE_EVENTS,
    CloseEvents,
    Ints,
    find_close_events,
    find_decided_times,
)
from trunkline.linux.outcome.records import read_arrivals, read_segment_counts
from trunkline.linux.plan.dry_run import run_raw_tables
from trunkline.network.types import NetworkData
from trunkline.results import Results
from trunkline.results.decode.columns import read_int_columns

_SENT, _QUEUED, _DELIVERED, _DROPPED = map(
    _core.PACKET_EVENTS.index, ("sent", "queued", "delivered", "dropped")
)

SegmentCounts = Mapping[tuple[bool, int, int, int], int]
"""Counts of a TCP flow's segments by: acknowledgement without data, DSCP, ECN field, TTL."""

_CUT_CAUSES = [_core.CAUSES.index(name) for name in ("failed_queued", "failed_in_flight")]


@dataclass(frozen=True)
class FlowDatagrams:
    """Datagrams of one flow; arrays of those that arrived are in order of their number."""

    # sent_ns, ip_bytes: Times and sizes of every datagram sent, by number.
    sent_ns: Ints
    ip_bytes: Ints
    # number, delay_ns, dscp, ecn, ttl: Values of each that arrived before the end of the run, as it
    # arrived; ``ecn`` is the two bits.
    number: Ints
    delay_ns: Ints
    dscp: Ints
    ecn: Ints
    ttl: Ints
    # Numbers of those known to be lost; empty for an engine that does not give them.
    dropped: Ints
    reordered: int  # Datagrams that arrived after one with a higher number.


@dataclass(frozen=True)
class EngineRun:
    """One seed in one engine."""

    results: Results
    flows: dict[str, FlowDatagrams]  # Datagrams of each UDP flow, by name.
    # Of each UDP flow and datagram, by number, how near the datagram is anywhere on its way to a
    # moment at which a failure, a switch or the end of the warm-up changes something [ns]; empty
    # for an engine that does not give them.
    moment_gaps: dict[str, Ints] = field(default_factory=dict)
    # Segments of each TCP flow that arrived after the warm-up, by marks; without those of which the
    # engine does not give it.
    segments: dict[str, SegmentCounts] = field(default_factory=dict)
    # Ties at ports and meters; none where there is TCP, or for an engine that does not give them.
    close_events: CloseEvents = NO_CLOSE_EVENTS
    # By when fate and delay of each datagram are certain, by flow and number [ns]; as those.
    decided_ns: dict[str, Ints] = field(default_factory=dict)


def trace_simulator(network: NetworkData, seed: int) -> EngineRun:
    """Run the simulator and note every datagram, and the marks of TCP segments.

    seed: Seed of the run [0 to 2**64 - 1].
    """
    names = {
        index: str(flow["name"])
        for index, flow in enumerate(network["flows"])
        if flow["agent"]["protocol"] == "udp"
    }
    has_tcp = len(names) < len(network["flows"])
    run = {**network["run"], "trace": bool(names), "delivered_marks": has_tcp}
    traced_network = {**network, "run": run}
    job = Job(json.dumps(traced_network, sort_keys=True, separators=(",", ":")), seed)
    raw = run_raw_tables(job)
    results = ResultsDecoder().decode_results(
        job, {name: raw[name] for name in raw if name not in ("packets", "delivered_marks")}
    )
    segments = _read_marks(raw["delivered_marks"], network) if has_tcp else {}
    if not names:
        return EngineRun(results, {}, segments=segments)
    flows = _read_trace(raw["packets"], names)
    moments = sorted({int(time or 0) for time in results.timeline["time_ns"]})
    if network["run"]["warmup_ns"]:
        moments = sorted({*moments, network["run"]["warmup_ns"]})
    gaps = _measure_moment_gaps(network, raw["packets"], names, flows, moments)
    if has_tcp:
        return EngineRun(results, flows, gaps, segments)
    sent = {index: len(flows[name].sent_ns) for index, name in names.items()}
    decided = find_decided_times(network, raw["packets"], sent)
    return EngineRun(
        results,
        flows,
        gaps,
        segments,
        find_close_events(network, raw["packets"]),
        {names[index]: times for index, times in decided.items()},
    )


def _read_marks(
    marks: Mapping[str, tuple[str, bytes]], network: NetworkData
) -> dict[str, SegmentCounts]:
    """Read the segments of each TCP flow, of the engine's raw table."""
    columns = read_int_columns(marks, "flow", "reverse", "dscp", "ecn", "ttl", "packets")
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return _collect_segments(rows, network)


def _collect_segments(
    rows: Iterable[tuple[int, int, int, int, int, int]], network: NetworkData
) -> dict[str, SegmentCounts]:
    """Collect the counts by flow, of rows of flow, direction, DSCP, ECN field, TTL and packets."""
    counts: dict[str, dict[tuple[bool, int, int, int], int]] = {
        str(flow["name"]): {} for flow in network["flows"] if flow["agent"]["protocol"] == "tcp"
    }
    for index, reverse, dscp, ecn, ttl, packets in rows:
        flow_counts = counts.get(str(network["flows"][index]["name"]))
        if flow_counts is not None and packets:
            flow_counts[bool(reverse), dscp, ecn, ttl] = packets
    return dict(counts)


def _measure_moment_gaps(
    network: NetworkData,
    packets: Mapping[str, tuple[str, bytes]],
    names: Mapping[int, str],
    flows: Mapping[str, FlowDatagrams],
    moments: Sequence[int],
) -> dict[str, Ints]:
    """Measure how near each datagram comes to a moment; see `EngineRun`."""
    columns = read_int_columns(
        packets, "event", "flow", "seq", "time_ns", "cause", "packet", "link", "ip_bytes"
    )
    far = np.iinfo(np.int64).max
    if not moments:
        return {name: np.full(len(flow.sent_ns), far) for name, flow in flows.items()}
    is_cut = (columns["event"] == _DROPPED) & np.isin(columns["cause"], _CUT_CAUSES)
    at = np.array(moments, dtype=np.int64)
    times = columns["time_ns"]
    after = np.searchsorted(at, times)
    gaps = np.minimum(
        np.abs(times - at[np.maximum(after - 1, 0)]),
        np.abs(times - at[np.minimum(after, len(at) - 1)]),
    )
    gaps[is_cut] = [
        _compute_way_to_go(network, columns, row) for row in np.flatnonzero(is_cut).tolist()
    ]
    gaps_by_flow = {}
    for index, name in names.items():
        is_of_flow = columns["flow"] == index
        nearest = np.full(len(flows[name].sent_ns), far)
        np.minimum.at(nearest, columns["seq"][is_of_flow], gaps[is_of_flow])
        gaps_by_flow[name] = nearest
    return gaps_by_flow


def _compute_way_to_go(network: NetworkData, columns: Mapping[str, Ints], row: int) -> int:
    """Compute the least further time to arrival of a packet that a failure took from a link [ns].

    It is lost at the moment of the failure, however near it is to the end of the link.
    """
    is_entry = (columns["packet"][:row] == columns["packet"][row]) & (
        columns["event"][:row] == _QUEUED
    )
    entries = np.flatnonzero(is_entry)
    if not len(entries):
        return 0
    link = network["links"][int(columns["link"][row])]
    size_bits = 8 * (int(columns["ip_bytes"][row]) + link["header_bytes"])
    way_ns = link["delay_ns"] + size_bits * 10**9 // link["rate_bit_s"]
    return max(0, way_ns - int(columns["time_ns"][row] - columns["time_ns"][entries[-1]]))


def _read_trace(
    packets: Mapping[str, tuple[str, bytes]], names: Mapping[int, str]
) -> dict[str, FlowDatagrams]:
    """Read the datagrams of the engine's raw trace, which is too long to be decoded in full."""
    columns = read_int_columns(
        packets, "event", "flow", "seq", "time_ns", "ip_bytes", "dscp", "ecn", "ttl"
    )
    datagrams_by_flow = {}
    for index, name in names.items():
        flow_columns = {key: column[columns["flow"] == index] for key, column in columns.items()}
        is_sent = flow_columns["event"] == _SENT
        order = np.argsort(flow_columns["seq"][is_sent], kind="stable")
        times = flow_columns["time_ns"][is_sent][order]
        has_arrived = flow_columns["event"] == _DELIVERED
        datagrams_by_flow[name] = _make_datagrams(
            times,
            flow_columns["ip_bytes"][is_sent][order],
            flow_columns["seq"][has_arrived],
            flow_columns["time_ns"][has_arrived] - times[flow_columns["seq"][has_arrived]],
            (
                flow_columns["dscp"][has_arrived],
                flow_columns["ecn"][has_arrived],
                flow_columns["ttl"][has_arrived],
            ),
            np.unique(flow_columns["seq"][flow_columns["event"] == _DROPPED]),
        )
    return datagrams_by_flow


def _make_datagrams(
    sent_ns: Ints,
    ip_bytes: Ints,
    number: Ints,
    delay_ns: Ints,
    marks: tuple[Ints, Ints, Ints],
    dropped: Ints,
) -> FlowDatagrams:
    """Make datagrams from arrivals in their order; a second copy does not count."""
    reordered = int(np.sum(number < np.maximum.accumulate(number))) if len(number) else 0
    numbers, first = np.unique(number, return_index=True)
    dscp, ecn, ttl = (each[first] for each in marks)
    return FlowDatagrams(
        sent_ns, ip_bytes, numbers, delay_ns[first], dscp, ecn, ttl, dropped, reordered
    )


def read_kernel_run(kernel_run: engine.KernelRun, folder: Path) -> EngineRun:
    """Read the files that a guest wrote during a run."""
    network = kernel_run.compiled.network
    end = network["run"]["duration_ns"]
    datagrams_by_flow = {}
    for index, flow in enumerate(network["flows"]):
        if flow["agent"]["protocol"] != "udp":
            continue
        sent = np.array(kernel_run.compiled.traffic.datagrams[index], dtype=np.int64).reshape(-1, 2)
        arrived = np.array(
            [
                (each.sequence, each.delay_ns, each.tos >> 2, each.tos & 3, each.ttl)
                for each in read_arrivals(folder, index)
                if each.received_ns < end
            ],
            dtype=np.int64,
        ).reshape(-1, 5)
        datagrams_by_flow[str(flow["name"])] = _make_datagrams(
            sent[:, 0],
            sent[:, 1],
            arrived[:, 0],
            arrived[:, 1],
            (arrived[:, 2], arrived[:, 3], arrived[:, 4]),
            np.zeros(0, dtype=np.int64),
        )
    segments = read_segment_counts(folder, network["run"]["warmup_ns"])
    return EngineRun(
        kernel_run.results,
        datagrams_by_flow,
        segments={} if segments is None else _collect_segments(segments, network),
    )
