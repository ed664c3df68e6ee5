"""Probes of a run in the kernel: means over each step, as the simulator's."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.linux.outcome.arrivals import TcpSample, datagrams, samples
from trunkline.linux.outcome.raw import Table, raw_rows
from trunkline.linux.outcome.transfers import fates, tallies
from trunkline.linux.plan.addresses import node_name
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.flows import TCP_HEADERS
from trunkline.scenario.probe import FLOW_MEASURES

if TYPE_CHECKING:
    from trunkline.network.types import Probe

_STATES = {0: 1.0, 1: 1.0, 2: 1.0, 3: 2.0, 4: 3.0}
"""Linux's congestion states as the simulator's; slow start is known by the window."""
UNKNOWN_THRESHOLD = 0x7FFF_FFFF


def raw(compiled: Compiled, folder: Path) -> Table:
    """The raw table of series: times in order, and of one time the probes in order."""
    rows: list[tuple[int, int, float]] = []
    for number, probe in enumerate(compiled.network["probes"]):
        if probe["measure"] in FLOW_MEASURES:
            points = _of_flow(compiled, folder, probe)
        else:
            points = _of_link(compiled, folder, probe)
        rows += [(time, number, value) for time, value in points]
    return raw_rows(("time_ns", "probe", "value"), sorted(rows))


def _steps(compiled: Compiled, step: int) -> range:
    return range(step, compiled.network["run"]["duration_ns"] + 1, step)


def _of_flow(compiled: Compiled, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    index, measure = probe["target"], probe["measure"]
    flow = compiled.network["flows"][index]
    times = _steps(compiled, probe["step_ns"])
    if flow["agent"]["protocol"] != "tcp":
        return _of_udp(compiled, folder, probe)
    if "transfers" in flow:
        return _of_transfers(compiled, folder, probe)
    sampled, read = samples(folder, index)
    if measure in ("goodput", "throughput"):
        # A segment's headers go with its data.
        mss = flow["agent"]["mss_bytes"]
        scale = 1.0 if measure == "goodput" else (mss + TCP_HEADERS) / mss
        return _rates(read, times, scale)
    return [(time, _of_sample(_sample(sampled, time), measure)) for time in times if sampled]


def _of_transfers(compiled: Compiled, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    index, measure = probe["target"], probe["measure"]
    agent = compiled.network["flows"][index]["agent"]
    assert agent["protocol"] == "tcp"
    times = _steps(compiled, probe["step_ns"])
    if measure == "transfers":
        found = fates(compiled, folder, index)
        began = sorted(fate.asked.start_ns for fate in found)
        ended = sorted(fate.acknowledged_ns for fate in found if fate.acknowledged_ns is not None)
        return [(at, float(bisect_right(began, at) - bisect_right(ended, at))) for at in times]
    if measure not in ("goodput", "throughput"):
        return [(at, float("nan")) for at in times]
    header = TCP_HEADERS if measure == "throughput" else 0
    summed = [
        (tally.time_ns, tally.read + header * tally.received) for tally in tallies(folder, index)
    ]
    return _rates(summed, times)


def _rates(
    read: Sequence[tuple[int, int]], times: range, scale: float = 1.0
) -> list[tuple[int, float]]:
    """Bytes that came in each step, in bit/s."""
    counts = [_last(read, time) for time in (0, *times)]
    steps = zip(times, pairwise(counts), strict=True)
    return [(time, (now - then) * 8e9 / times.step * scale) for time, (then, now) in steps]


def _last(read: Sequence[tuple[int, int]], time: int) -> int:
    place = bisect_right(read, time, key=lambda each: each[0])
    return read[place - 1][1] if place else 0


def _sample(sampled: Sequence[TcpSample], time: int) -> TcpSample | None:
    place = bisect_right(sampled, time, key=lambda each: each.time_ns)
    return sampled[place - 1] if place else None


def _of_sample(sample: TcpSample | None, measure: str) -> float:
    if sample is None or measure in ("delay", "delay-max", "rtt", "rto"):
        return float("nan")
    if measure == "cwnd":
        return float(sample.cwnd)
    if measure == "ssthresh":
        unset = sample.ssthresh >= UNKNOWN_THRESHOLD
        return float("nan") if unset else float(sample.ssthresh)
    if measure == "srtt":
        return sample.srtt_us / 1e6
    grows = sample.state == 0 and sample.cwnd < sample.ssthresh
    return 0.0 if grows else _STATES.get(sample.state, float("nan"))


def _of_udp(compiled: Compiled, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    index, step, measure = probe["target"], probe["step_ns"], probe["measure"]
    header = compiled.network["flows"][index]["agent"]["header_bytes"]
    sizes = compiled.traffic.sent[index]
    bins: dict[int, list[tuple[int, int]]] = {}
    for each in datagrams(folder, index):
        # A step ends at its sample: what arrives at that moment counts in it.
        number = -(-each.received_ns // step)
        bins.setdefault(number, []).append((sizes[each.sequence][1], each.delay_ns))
    made = []
    for number, time in enumerate(_steps(compiled, step), start=1):
        found = bins.get(number, [])
        value = float("nan")
        if measure == "throughput":
            value = sum(size for size, _ in found) * 8e9 / step
        elif measure == "goodput":
            value = sum(max(0, size - header) for size, _ in found) * 8e9 / step
        elif found and measure == "delay":
            value = sum(delay for _, delay in found) / len(found) / 1e9
        elif found and measure == "delay-max":
            value = max(delay for _, delay in found) / 1e9
        made.append((time, value))
    return made


def _of_link(compiled: Compiled, folder: Path, probe: Probe) -> list[tuple[int, float]]:
    link, step, measure = probe["target"], probe["step_ns"], probe["measure"]
    side = compiled.wiring.near[link]
    path = folder / f"queue-{node_name(side.node)}-{side.device}.json"
    if not path.exists():
        return []
    if probe.get("precedence") is not None:
        return [
            (time, float("nan")) for time in _steps(compiled, step)
        ]  # qdiscs count all together
    chosen = compiled.leaves[link]
    leaves = [chosen[probe["class"]]] if probe["class"] in chosen else list(chosen.values())
    handles = {leaf.handle for leaf in leaves}
    found = {
        each["time_ns"]: [q for q in each["queues"] if q.get("handle") in handles and "qdisc" in q]
        for each in json.loads(path.read_text())
    }
    rate = compiled.network["links"][link]["rate_bit_s"]
    made = []
    empty: list[Mapping[str, Any]] = []
    for time in _steps(compiled, step):
        now, then = found.get(time, empty), found.get(time - step, empty)
        made.append((time, _of_queues(measure, now, then, step, rate)))
    return made


def _of_queues(
    measure: str,
    now: Sequence[Mapping[str, Any]],
    then: Sequence[Mapping[str, Any]],
    step: int,
    rate: int,
) -> float:
    if not now:
        return float("nan")
    if measure == "queue-packets":
        return float(sum(each["qlen"] for each in now))
    if measure == "queue-bytes":
        return float(sum(each["backlog"] for each in now))
    if measure == "utilisation":
        sent = sum(each["bytes"] for each in now) - sum(each["bytes"] for each in then)
        return float(sent * 8e9 / step / rate)
    if measure == "drops":
        lost = sum(each["drops"] for each in now) - sum(each["drops"] for each in then)
        return float(lost * 1e9 / step)
    return float("nan")
