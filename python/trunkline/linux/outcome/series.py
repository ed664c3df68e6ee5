"""Probes of a run in the kernel: means over each step, as the simulator's."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.linux.outcome.raw_tables import RawTable, make_raw_table_from_rows
from trunkline.linux.outcome.records import TcpSample, read_arrivals, read_tcp_samples
from trunkline.linux.outcome.transfer_results import read_transfer_results, read_transfer_totals
from trunkline.linux.plan.addresses import name_namespace
from trunkline.linux.plan.compiled_plan import CompiledPlan
from trunkline.linux.plan.traffic import TCP_HEADER_BYTES, has_one_connection
from trunkline.scenario.probe import FLOW_MEASURES

if TYPE_CHECKING:
    from trunkline.network.types import Probe

_SIMULATOR_STATES = {0: 1.0, 1: 1.0, 2: 1.0, 3: 2.0, 4: 3.0}
"""Linux's congestion states as the simulator's; slow start is known by the window."""
UNKNOWN_THRESHOLD = 0x7FFF_FFFF


def make_series_table(compiled: CompiledPlan, folder: Path) -> RawTable:
    """Make the raw table of series: times in order, and of one time the probes in order."""
    rows: list[tuple[int, int, float]] = []
    for number, probe in enumerate(compiled.network["probes"]):
        if probe["measure"] in FLOW_MEASURES:
            points = _probe_flow(compiled, folder, probe)
        else:
            points = _probe_link(compiled, folder, probe)
        rows += [(time, number, value) for time, value in points]
    return make_raw_table_from_rows(("time_ns", "probe", "value"), sorted(rows))


def _list_times(compiled: CompiledPlan, step: int) -> range:
    return range(step, compiled.network["run"]["duration_ns"] + 1, step)


def _probe_flow(compiled: CompiledPlan, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    index, measure = probe["target"], probe["measure"]
    flow = compiled.network["flows"][index]
    times = _list_times(compiled, probe["step_ns"])
    if flow["agent"]["protocol"] != "tcp":
        return _probe_udp(compiled, folder, probe)
    if not has_one_connection(flow):
        return _probe_transfers(compiled, folder, probe)
    sampled, read_counts = read_tcp_samples(folder, index)
    if measure == "transfers":
        # The connection that is kept, once it is open.
        return [(time, float(_find_sample(sampled, time) is not None)) for time in times]
    if measure in ("goodput", "throughput"):
        # A segment's headers go with its data.
        mss = flow["agent"]["mss_bytes"]
        scale = 1.0 if measure == "goodput" else (mss + TCP_HEADER_BYTES) / mss
        return _compute_rates(read_counts, times, scale)
    if measure == "pacing-rate" and not flow["agent"].get("pacing"):
        return [(time, float("nan")) for time in times]
    return [(time, _read_sample(_find_sample(sampled, time), measure)) for time in times if sampled]


def _probe_transfers(compiled: CompiledPlan, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    index, measure = probe["target"], probe["measure"]
    agent = compiled.network["flows"][index]["agent"]
    assert agent["protocol"] == "tcp"
    times = _list_times(compiled, probe["step_ns"])
    if measure == "transfers":
        transfer_results = read_transfer_results(compiled, folder, index)
        starts = sorted(fate.planned.start_ns for fate in transfer_results)
        ends = sorted(
            fate.acknowledged_ns for fate in transfer_results if fate.acknowledged_ns is not None
        )
        return [
            (time_ns, float(bisect_right(starts, time_ns) - bisect_right(ends, time_ns)))
            for time_ns in times
        ]
    if measure not in ("goodput", "throughput"):
        return [(time_ns, float("nan")) for time_ns in times]
    header = TCP_HEADER_BYTES if measure == "throughput" else 0
    byte_counts = [
        (tally.time_ns, tally.bytes_read + header * tally.received)
        for tally in read_transfer_totals(folder, index)
    ]
    return _compute_rates(byte_counts, times)


def _compute_rates(
    byte_counts: Sequence[tuple[int, int]], times: range, scale: float = 1.0
) -> list[tuple[int, float]]:
    """Compute the bytes that came in each step, in bit/s."""
    counts = [_find_last_count(byte_counts, time) for time in (0, *times)]
    steps = zip(times, pairwise(counts), strict=True)
    return [
        (time, (count_now - count_before) * 8e9 / times.step * scale)
        for time, (count_before, count_now) in steps
    ]


def _find_last_count(byte_counts: Sequence[tuple[int, int]], time: int) -> int:
    position = bisect_right(byte_counts, time, key=lambda each: each[0])
    return byte_counts[position - 1][1] if position else 0


def _find_sample(sampled: Sequence[TcpSample], time: int) -> TcpSample | None:
    position = bisect_right(sampled, time, key=lambda each: each.time_ns)
    return sampled[position - 1] if position else None


def _read_sample(sample: TcpSample | None, measure: str) -> float:
    if sample is None or measure in ("delay", "delay-max", "rtt", "rto"):
        return float("nan")
    if measure == "cwnd":
        return float(sample.cwnd)
    if measure == "ssthresh":
        is_unset = sample.ssthresh >= UNKNOWN_THRESHOLD
        return float("nan") if is_unset else float(sample.ssthresh)
    if measure == "pacing-rate":
        return sample.pace_bytes_s * 8.0
    if measure == "inflight":
        # tcp_packets_in_flight.
        return float(sample.unacked - sample.held - sample.lost + sample.resent)
    if measure == "srtt":
        return sample.srtt_us / 1e6
    is_slow_start = sample.state == 0 and sample.cwnd < sample.ssthresh
    return 0.0 if is_slow_start else _SIMULATOR_STATES.get(sample.state, float("nan"))


def _probe_udp(compiled: CompiledPlan, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    index, step, measure = probe["target"], probe["step_ns"], probe["measure"]
    header = compiled.network["flows"][index]["agent"]["header_bytes"]
    sizes = compiled.traffic.datagrams[index]
    bins: dict[int, list[tuple[int, int]]] = {}
    for each in read_arrivals(folder, index):
        # A step ends at its sample: what arrives at that moment counts in it.
        number = -(-each.received_ns // step)
        bins.setdefault(number, []).append((sizes[each.sequence][1], each.delay_ns))
    points = []
    for number, time in enumerate(_list_times(compiled, step), start=1):
        step_arrivals = bins.get(number, [])
        value = float("nan")
        if measure == "throughput":
            value = sum(size for size, _ in step_arrivals) * 8e9 / step
        elif measure == "goodput":
            value = sum(max(0, size - header) for size, _ in step_arrivals) * 8e9 / step
        elif step_arrivals and measure == "delay":
            value = sum(delay for _, delay in step_arrivals) / len(step_arrivals) / 1e9
        elif step_arrivals and measure == "delay-max":
            value = max(delay for _, delay in step_arrivals) / 1e9
        points.append((time, value))
    return points


def _probe_link(compiled: CompiledPlan, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    link, step, measure = probe["target"], probe["step_ns"], probe["measure"]
    sending_end = compiled.wiring.sending_ends[link]
    path = folder / f"queue-{name_namespace(sending_end.node)}-{sending_end.device}.json"
    if not path.exists():
        return []
    if probe.get("precedence") is not None:
        return [
            (time, float("nan")) for time in _list_times(compiled, step)
        ]  # qdiscs count all together
    leaf_by_class = compiled.leaves[link]
    leaves = (
        [leaf_by_class[probe["class"]]]
        if probe["class"] in leaf_by_class
        else list(leaf_by_class.values())
    )
    handles = {leaf.handle for leaf in leaves}
    queues_by_time = {
        each["time_ns"]: [q for q in each["queues"] if q.get("handle") in handles and "qdisc" in q]
        for each in json.loads(path.read_text())
    }
    rate = compiled.network["links"][link]["rate_bit_s"]
    points = []
    empty: list[Mapping[str, Any]] = []
    for time in _list_times(compiled, step):
        queues_now, queues_before = (
            queues_by_time.get(time, empty),
            queues_by_time.get(time - step, empty),
        )
        points.append((time, _measure_queues(measure, queues_now, queues_before, step, rate)))
    return points


def _measure_queues(
    measure: str,
    queues_now: Sequence[Mapping[str, Any]],
    queues_before: Sequence[Mapping[str, Any]],
    step: int,
    rate: int,
) -> float:
    if not queues_now:
        return float("nan")
    if measure == "queue-packets":
        return float(sum(each["qlen"] for each in queues_now))
    if measure == "queue-bytes":
        return float(sum(each["backlog"] for each in queues_now))
    if measure == "utilisation":
        sent = sum(each["bytes"] for each in queues_now) - sum(
            each["bytes"] for each in queues_before
        )
        return float(sent * 8e9 / step / rate)
    if measure == "drops":
        lost = sum(each["drops"] for each in queues_now) - sum(
            each["drops"] for each in queues_before
        )
        return float(lost * 1e9 / step)
    return float("nan")
