"""The measures of one run, the same for every engine, each with its subject."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trunkline import _core
from trunkline.linux.judge.engine_run import EngineRun, FlowDatagrams, SegmentCounts
from trunkline.linux.judge.port_ties import Ints
from trunkline.linux.judge.run_phases import RunPhase
from trunkline.network.types import NetworkData
from trunkline.results import Results, dscp

DELAY_QUANTILES = {"delay p50": 0.5, "delay p95": 0.95, "delay p99": 0.99}
COMPLETION_QUANTILES = (0.5, 0.95)
MIN_QUANTILE_PACKETS = 100
"""Packets, or transfers, below which a phase has no quantiles: each of its packets would be one."""
MARK_FORMATS: Mapping[str, Callable[[int], str]] = {
    "DSCP": dscp.name_code_point,
    "ECN": _core.ECN.__getitem__,
    "TTL": str,
}
"""The marks of a packet, and how their values are written."""
OPEN_TRANSFER_SHARE = 0.05
"""Part of its time by which a transfer may end in one engine alone, at the end of the run."""
MAX_COMPARED_WINDOWS = 16
"""TCP flows whose windows are compared: beyond, the series would be the larger part of a run."""


class MeasureKey(NamedTuple):
    """Subject of a value: flow, class or link; name in `trunkline.linux.judge.tolerance.MEASURES`.

    ``detail`` is which of several: a DSCP, a cause.
    """

    subject: str
    measure: str
    detail: str = ""


class Transfer(NamedTuple):
    """A transfer of one run."""

    flow: str
    start_ns: int
    size_bytes: int  # 0 for a TCP flow of a size, which is one transfer.
    finish_ns: int | None  # None: not before the end.

    @property
    def time_s(self) -> float | None:
        """Completion time [s]; None without an end."""
        return None if self.finish_ns is None else (self.finish_ns - self.start_ns) / 1e9


MeasureValues = dict[MeasureKey, float | None]
"""A measure that the engine does not give is null; a count that is not here is 0."""


@dataclass(frozen=True)
class MeasurementFrame:
    """Scales that both engines of a seed share."""

    # warmup_ns, end_ns: Only packets sent from the one on; when the run ends.
    warmup_ns: int
    end_ns: int
    settled_ns: int  # Packets sent from then on may still be under way when the run ends.
    phases: Sequence[RunPhase]  # Phases of a failure; none without.
    open_transfers: Collection[Transfer] = ()  # See `find_open_transfers`.


def make_frame(
    network: NetworkData, phases: Sequence[RunPhase], simulator: EngineRun, reference: EngineRun
) -> MeasurementFrame:
    """Make the frame of a seed."""
    run = network["run"]
    longest = max(
        (
            int(flow.delay_ns.max())
            for each in (simulator, reference)
            for flow in each.flows.values()
            if len(flow.number)
        ),
        default=0,
    )
    return MeasurementFrame(
        run["warmup_ns"],
        run["duration_ns"],
        run["duration_ns"] - longest,
        phases,
        find_open_transfers(simulator, reference, network),
    )


def count_own_packets(
    simulator: EngineRun, time_frame: MeasurementFrame, left_out: Mapping[str, Ints]
) -> tuple[dict[str, float], dict[str, float]]:
    """Count the packets of each subject, and find the gaps within which a switch may differ [s].

    left_out: Numbers of the datagrams of each flow that are not compared.
    Returns: Packets that a flow sends in the run or a phase, that come to a class, link or meter;
        of each phase of a flow the time from the packet compared before the first that arrives to
        that one, within which a switch may be without a difference.
    """
    counts: dict[str, float] = {}
    spacings: dict[str, float] = {}
    for row in simulator.results.flows.rows():
        counts[str(row["flow"])] = _parse_number(row["packets_sent"]) or 0.0
    for name, flow in simulator.flows.items():
        has_arrived = np.zeros(len(flow.sent_ns), dtype=bool)
        has_arrived[flow.number] = True
        is_compared = np.ones(len(flow.sent_ns), dtype=bool)
        is_compared[left_out[name]] = False
        for phase in time_frame.phases:
            start = max(phase.start_ns, time_frame.warmup_ns)
            in_phase = (flow.sent_ns >= start) & (flow.sent_ns < phase.end_ns)
            subject = f"{name}, {phase.name}"
            counts[subject] = float(in_phase.sum())
            arrived = np.flatnonzero(in_phase & has_arrived & is_compared)
            before = np.flatnonzero(is_compared[: arrived[0] if len(arrived) else 0])
            if len(before):
                step = flow.sent_ns[arrived[0]] - flow.sent_ns[before[-1]]
                spacings[subject] = float(step) / 1e9
    for row in simulator.results.ports.rows():
        sent, dropped = (
            _parse_number(row[column]) or 0.0 for column in ("packets_sent", "packets_dropped")
        )
        counts[f"{row['link']}, {row['class']}"] = sent + dropped
        counts[str(row["link"])] = counts.get(str(row["link"]), 0.0) + sent
    for row in simulator.results.drops.rows():
        subject = str(row["link"] or row["node"])
        counts[subject] = counts.get(subject, 0.0) + (_parse_number(row["packets"]) or 0.0)
    for key, value in _measure_colours(simulator.results):
        counts[key.subject] = counts.get(key.subject, 0.0) + (value or 0.0)
    return counts, spacings


def measure_run(
    engine_run: EngineRun,
    network: NetworkData,
    time_frame: MeasurementFrame,
    left_out: Mapping[str, Ints],
    marked_flows: Collection[str],
) -> MeasureValues:
    """Measure every measure of one seed in one engine.

    left_out: Numbers of the datagrams of each flow that come too near to a failure or a switch.
    marked_flows: TCP flows of which both engines count marks.
    """
    values: MeasureValues = {}
    for name, flow in engine_run.flows.items():
        values.update(_measure_datagrams(name, flow, time_frame, left_out[name]))
    for name in marked_flows:
        values.update(_measure_segments(name, engine_run.segments[name]))
    tcp = [str(flow["name"]) for flow in network["flows"] if flow["agent"]["protocol"] == "tcp"]
    values.update(_measure_connections(engine_run.results, tcp, time_frame))
    values.update(_measure_completions(engine_run.results, network, time_frame.open_transfers))
    values.update(_measure_ports(engine_run.results))
    values.update(_measure_drops(engine_run.results))
    values.update(_measure_colours(engine_run.results))
    return values


def _measure_datagrams(
    name: str, flow: FlowDatagrams, time_frame: MeasurementFrame, left_out: Ints
) -> Iterator[tuple[MeasureKey, float | None]]:
    """Measure a UDP flow: packets sent, arrived and lost, their delays and marks."""
    whole_run = RunPhase("", time_frame.warmup_ns, time_frame.end_ns)
    is_compared = np.ones(len(flow.sent_ns), dtype=bool)
    is_compared[left_out] = False
    for phase in (whole_run, *time_frame.phases):
        subject = f"{name}, {phase.name}" if phase.name else name
        start, end = max(phase.start_ns, time_frame.warmup_ns), phase.end_ns
        in_phase = (flow.sent_ns >= start) & (flow.sent_ns < end)
        if not phase.name:
            yield MeasureKey(subject, "packets sent"), float(in_phase.sum())
        in_phase &= is_compared
        has_arrived = np.zeros(len(in_phase), dtype=bool)
        has_arrived[flow.number] = True
        is_settled = in_phase & (flow.sent_ns < time_frame.settled_ns)
        yield MeasureKey(subject, "packets delivered"), float((in_phase & has_arrived).sum())
        yield MeasureKey(subject, "packets lost"), float((is_settled & ~has_arrived).sum())
        yield from _measure_delays(
            subject, flow.delay_ns[in_phase[flow.number]], is_phase=bool(phase.name)
        )
        if phase.start_ns > time_frame.warmup_ns and (in_phase & has_arrived).any():
            # When it was sent: its delay is compared by itself.
            first_sent_ns = int(flow.sent_ns[in_phase & has_arrived].min())
            yield (
                MeasureKey(subject, "first packet after"),
                (first_sent_ns - phase.start_ns) / 1e9,
            )
    yield MeasureKey(name, "out of order"), float(flow.reordered)
    is_measured = (flow.sent_ns[flow.number] >= time_frame.warmup_ns) & is_compared[flow.number]
    for (field, format_value), values in zip(
        MARK_FORMATS.items(), (flow.dscp, flow.ecn, flow.ttl), strict=True
    ):
        for value, count in zip(*np.unique(values[is_measured], return_counts=True), strict=True):
            yield MeasureKey(name, field, format_value(int(value))), float(count)


def _measure_segments(
    name: str, segments: SegmentCounts
) -> Iterator[tuple[MeasureKey, float | None]]:
    """Measure a TCP flow: which part of its segments arrives with each mark, either way."""
    for is_ack, kind in ((False, "segments"), (True, "acknowledgements")):
        counts = [(marks, count) for (ack, *marks), count in segments.items() if ack == is_ack]
        total = sum(count for _, count in counts)
        for place, (field, format_value) in enumerate(MARK_FORMATS.items()):
            shares: MeasureValues = {}
            for marks, count in counts:
                key = MeasureKey(name, f"{field} of {kind}", format_value(marks[place]))
                shares[key] = (shares.get(key) or 0.0) + count / total
            yield from shares.items()


def _measure_delays(
    subject: str, delays: Any, *, is_phase: bool
) -> Iterator[tuple[MeasureKey, float | None]]:
    if not len(delays):
        return
    yield MeasureKey(subject, "mean delay"), float(delays.mean()) / 1e9
    if is_phase and len(delays) < MIN_QUANTILE_PACKETS:
        return
    ordered = np.sort(delays)
    for key, share in DELAY_QUANTILES.items():
        yield MeasureKey(subject, key), float(ordered[math.ceil(share * len(ordered)) - 1]) / 1e9


def _measure_connections(
    results: Results, tcp: Sequence[str], time_frame: MeasurementFrame
) -> Iterator[tuple[MeasureKey, float | None]]:
    """Measure TCP flows: each by itself, and all together."""
    suffix = ", each of several" if len(tcp) > 1 else ""
    goodputs = []
    for name in tcp:
        row = results.flows.where(flow=name)
        goodput = _parse_number(row["goodput_bit_s"])
        goodputs.append(goodput or 0.0)
        yield MeasureKey(name, f"goodput{suffix}"), goodput
        yield MeasureKey(name, "sent again"), _parse_number(row["retransmissions"])
        yield MeasureKey(name, "timeouts"), _parse_number(row["timeouts"])
        yield MeasureKey(name, "mean delay"), _parse_number(row["delay_mean_s"])
    if suffix:
        yield MeasureKey(f"{len(tcp)} TCP flows", "goodput"), sum(goodputs)
        yield MeasureKey(f"{len(tcp)} TCP flows", "fairness (Jain)"), compute_jain_index(goodputs)
    for name in tcp if len(tcp) <= MAX_COMPARED_WINDOWS else ():
        # The second half, when the start is over.
        table = results.series
        rows = zip(table["target"], table["time_ns"], table["value"], strict=True)
        window = [
            float(value)
            for target, time, value in rows
            if target == name and int(time or 0) >= time_frame.end_ns // 2 and value is not None
        ]
        if window:
            yield MeasureKey(name, f"mean window{suffix}"), sum(window) / len(window)
            if not suffix:
                yield MeasureKey(name, "greatest window"), max(window)


def list_transfers(results: Results, network: NetworkData) -> list[Transfer]:
    """List the transfers of all flows; a TCP flow of a size is one."""
    sized = [
        str(flow["name"])
        for flow in network["flows"]
        if flow["agent"]["protocol"] == "tcp" and flow["agent"]["size_bytes"] is not None
    ]
    rows = [
        (row["flow"], row["start_ns"], row["size_bytes"], row["finish_ns"])
        for row in results.transfers.rows()
    ] + [
        (row["flow"], row["start_ns"], 0, row["finished_ns"])
        for row in results.flows.rows()
        if row["flow"] in sized
    ]
    return [
        Transfer(
            str(flow),
            int(str(start_ns)),
            int(str(size_bytes)),
            None if finish_ns is None else int(str(finish_ns)),
        )
        for flow, start_ns, size_bytes, finish_ns in rows
    ]


def find_open_transfers(
    simulator: EngineRun, reference: EngineRun, network: NetworkData
) -> frozenset[Transfer]:
    """Find the transfers, without their ends, that one engine alone completes, just before the end.

    A twentieth of its time later it would not be complete at the end of the run either.
    """
    end_ns = network["run"]["duration_ns"]
    ours, theirs = (
        {each._replace(finish_ns=None): each for each in list_transfers(run.results, network)}
        for run in (simulator, reference)
    )
    open_transfers = set()
    for key in ours.keys() & theirs.keys():
        first_ns, second_ns = ours[key].finish_ns, theirs[key].finish_ns
        finish_ns = second_ns if first_ns is None else first_ns
        if (first_ns is None) == (second_ns is None) or finish_ns is None:
            continue
        if end_ns - finish_ns <= OPEN_TRANSFER_SHARE * (finish_ns - key.start_ns):
            open_transfers.add(key)
    return frozenset(open_transfers)


def _measure_completions(
    results: Results, network: NetworkData, open_transfers: Collection[Transfer]
) -> Iterator[tuple[MeasureKey, float | None]]:
    """Measure flows of transfers: number of complete ones, and their times."""
    by_flow: dict[str, list[Transfer]] = {}
    for each in list_transfers(results, network):
        if each._replace(finish_ns=None) not in open_transfers:
            by_flow.setdefault(each.flow, []).append(each)
    for name, transfers in by_flow.items():
        times = np.sort([each.time_s for each in transfers if each.time_s is not None])
        yield MeasureKey(name, "transfers complete"), float(len(times))
        if not len(times):
            continue
        yield MeasureKey(name, "mean completion time"), float(times.mean())
        if len({each.size_bytes for each in transfers}) > 1:
            # In the mean the largest hide the others.
            typical = float(np.exp(np.log(times).mean()))
            yield MeasureKey(name, "geometric mean completion time"), typical
        for share in COMPLETION_QUANTILES if len(times) >= MIN_QUANTILE_PACKETS else ():
            ranked = times[math.ceil(share * len(times)) - 1]
            yield MeasureKey(name, f"completion time p{round(100 * share)}"), float(ranked)


def compute_jain_index(values: Sequence[float]) -> float:
    """Jain's index of fairness: (sum x)^2 / (n sum x^2)."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def _measure_ports(results: Results) -> Iterator[tuple[MeasureKey, float | None]]:
    """Measure each class of a port: packets sent, bytes of one on the wire, packets dropped."""
    for row in results.ports.rows():
        subject = f"{row['link']}, {row['class']}"
        sent, size = _parse_number(row["packets_sent"]), _parse_number(row["bytes_sent"])
        yield MeasureKey(subject, "sent by class"), sent
        yield MeasureKey(subject, "dropped by class"), _parse_number(row["packets_dropped"])
        if sent and size is not None:
            yield MeasureKey(subject, "bytes a packet"), size / sent


def _measure_drops(results: Results) -> Iterator[tuple[MeasureKey, float | None]]:
    """Measure the losses at each link or node, by cause."""
    losses: MeasureValues = {}
    for row in results.drops.rows():
        # An AQM's forced drops are its early ones in Linux, which does not tell them apart.
        cause = "early" if row["cause"] == "forced" else str(row["cause"])
        key = MeasureKey(str(row["link"] or row["node"]), "lost by cause", cause)
        losses[key] = (losses.get(key) or 0.0) + (_parse_number(row["packets"]) or 0.0)
    yield from losses.items()


def _measure_colours(results: Results) -> Iterator[tuple[MeasureKey, float | None]]:
    for row in results.colours.rows():
        meter_end = f"{row['link']}, {row['end']} end, {row['conditioner']}, {row['profile']}"
        yield MeasureKey(meter_end, "coloured", str(row["colour"])), _parse_number(row["packets"])


def _parse_number(value: object) -> float | None:
    return None if value is None else float(str(value))
