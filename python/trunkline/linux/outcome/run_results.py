"""The folder that a run leaves, as the tables of any engine.

Values that the kernel does not give are null: delays of TCP segments (without time stamp), waits,
mean lengths of queues, timeouts of one flow among several of a node. Drops are counted by queue and
cause, not by flow; those of a UDP flow are known from its sequence numbers.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from trunkline import _core, results
from trunkline.linux.outcome import routing_daemons, series, transfer_results
from trunkline.linux.outcome.flow_counts import FlowCounts
from trunkline.linux.outcome.kernel_counters import (
    LossCount,
    QueueCounts,
    Snapshot,
    count_corrupted,
    count_cut_packets,
    count_failure_losses,
    count_policed,
    count_queues,
    count_refused,
    find_snapshot,
    get_tcp_counters,
)
from trunkline.linux.outcome.raw_tables import RawTable, make_raw_table, make_raw_table_from_rows
from trunkline.linux.outcome.records import list_lost_datagrams, read_arrivals, read_tcp_samples
from trunkline.linux.plan.addresses import name_namespace
from trunkline.linux.plan.compiled_plan import CompiledPlan
from trunkline.linux.plan.traffic import (
    TCP_HEADER_BYTES,
    TIMESTAMP_OPTION_BYTES,
    has_one_connection,
    is_keeping_connections,
)
from trunkline.network.types import NetworkData
from trunkline.results import SCHEMAS, Column, Provenance, Results
from trunkline.results.decode import decode_tables
from trunkline.results.decode.columns import QUANTILES

KNOWN_CAUSES = (
    "queue_full",
    "early",
    "policed",
    "ttl_expired",
    "no_label",
    "too_big",
    "corrupted",
    "failed_queued",
    "failed_in_flight",
    "link_down",
    "node_down",
    "switching",
)
"""Causes that the kernel tells apart; its ``early`` holds forced drops too."""

_NO_CLASS = 65_535
_NO_FLOW = 2**32 - 1
_QUEUE_LENGTHS = ("queue_mean_packets", "queue_max_packets")
"""Measures that need a look at each packet; null, because nothing measured delays and waits."""


def read_results(compiled: CompiledPlan, folder: Path, provenance: Provenance) -> Results:
    """Read the results of a run of a plan."""
    network = compiled.network
    warmup = network["run"]["warmup_ns"]
    stats = json.loads((folder / "stats.json").read_text())
    last = find_snapshot(stats, network["run"]["duration_ns"])
    has_daemons = bool(compiled.plan.daemons)
    # Daemons have sent messages before time zero.
    first = find_snapshot(stats, warmup) if warmup or has_daemons else None
    flows = []
    for index, flow_config in enumerate(network["flows"]):
        if flow_config["agent"]["protocol"] == "udp":
            flows.append(_count_udp(compiled, folder, index))
        else:
            count_flow = (
                _count_tcp
                if has_one_connection(flow_config)
                else transfer_results.count_transfer_flow
            )
            flows.append(
                _add_recoveries(count_flow(compiled, folder, index), network, index, (first, last))
            )
    queue_counts = count_queues(compiled, first, last)
    elsewhere = [
        *count_policed(compiled, first, last),
        *count_refused(compiled, first, last),
        *count_corrupted(compiled, first, last),
        *count_cut_packets(compiled, folder, warmup),
        *count_failure_losses(compiled, first, last),
    ]
    if not compiled.plan.tcp and not compiled.plan.transfers:
        dropped = sum(each.dropped for each in queue_counts) + sum(each[-1] for each in elsewhere)
        share_drops(flows, dropped)
    raw_tables = {
        "flows": _make_flow_table(flows),
        "ports": _make_port_table(queue_counts),
        "drops": _make_drop_table(queue_counts, elsewhere),
        "timeline": routing_daemons.read_timeline(compiled, folder)
        if has_daemons
        else compiled.dry_run.timeline,
        **transfer_results.make_transfer_tables(compiled, folder),
        "series": series.make_series_table(compiled, folder),
        "summary": _make_summary_table(flows, queue_counts),
    }
    return Results(_mask_unknown(decode_tables(raw_tables, network), flows, network), provenance)


def _count_udp(compiled: CompiledPlan, folder: Path, index: int) -> FlowCounts:
    network = compiled.network
    warmup, end = network["run"]["warmup_ns"], network["run"]["duration_ns"]
    header = network["flows"][index]["agent"]["header_bytes"]
    sent = compiled.traffic.datagrams[index]
    arrived = [each for each in read_arrivals(folder, index) if each.received_ns < end]
    counts = FlowCounts(start_ns=sent[0][0] if sent else 0)
    for time, size in sent:
        if warmup <= time < end:
            counts.packets_sent += 1
            counts.bytes_sent += size
    highest = -1
    previous: int | None = None
    for each in arrived:
        if each.received_ns >= warmup:
            size = sent[each.sequence][1]
            counts.packets_delivered += 1
            counts.bytes_delivered += size
            counts.goodput_bytes += max(0, size - header)
            counts.delays.append(each.delay_ns)
            counts.reordered = (counts.reordered or 0) + (each.sequence < highest)
            if previous is not None:
                counts.jitter_ns += (abs(each.delay_ns - previous) - counts.jitter_ns) / 16
            previous = each.delay_ns
        highest = max(highest, each.sequence)
    lost_numbers = list_lost_datagrams(sent, arrived, warmup, end)
    counts.packets_dropped = len(lost_numbers)
    last = max((each.sequence for each in arrived), default=-1)
    late = sum(warmup <= time < end for time, _ in sent[last + 1 :])
    counts.undecided = late - sum(number > last for number in lost_numbers)
    return counts


def share_drops(flows: Sequence[FlowCounts], total_drops: int) -> None:
    """Give flows the drops that their sequence numbers do not show.

    Behind the last datagram that arrived, some were lost and some were on their way when the run
    ended. The queues give the number of all lost packets; each flow gets its share, by how many
    it has there and how much of it was lost before.

    flows: UDP flows; their drops grow.
    """
    expected = [
        each.undecided
        * each.packets_dropped
        / max(1, each.packets_dropped + each.packets_delivered)
        for each in flows
    ]
    unassigned = total_drops - sum(each.packets_dropped for each in flows)
    if unassigned <= 0 or not any(expected):
        return
    for each, share in zip(flows, expected, strict=True):
        each.packets_dropped += min(each.undecided, round(unassigned * share / sum(expected)))


def _add_recoveries(
    counts: FlowCounts, network: NetworkData, index: int, stats: tuple[Snapshot | None, Snapshot]
) -> FlowCounts:
    """Add the timeouts and losses that the sender's node counts, if all are of this flow."""
    source = network["flows"][index]["src"]
    tcp = [flow for flow in network["flows"] if flow["agent"]["protocol"] == "tcp"]
    if sum(flow["src"] == source for flow in tcp) == 1:
        first, second = (
            get_tcp_counters(each, name_namespace(source)) if each else {} for each in stats
        )
        entries = ("TCPRenoRecovery", "TCPSackRecovery")
        counts.timeouts = second.get("TCPTimeouts", 0) - first.get("TCPTimeouts", 0)
        counts.fast_retransmits = sum(
            second.get(entry, 0) - first.get(entry, 0) for entry in entries
        )
    return counts


def _count_tcp(compiled: CompiledPlan, folder: Path, index: int) -> FlowCounts:
    network = compiled.network
    warmup = network["run"]["warmup_ns"]
    flow = network["flows"][index]
    agent = flow["agent"]
    assert agent["protocol"] == "tcp"
    header = TCP_HEADER_BYTES + (TIMESTAMP_OPTION_BYTES if agent["timestamps"] else 0)
    totals = json.loads((folder / f"tcp-{index}.json").read_text())
    sender_samples, read_bytes = read_tcp_samples(folder, index)
    samples_before = [each for each in sender_samples if each.time_ns <= warmup and warmup]
    goodput_before = [count for time, count in read_bytes if time <= warmup and warmup]
    warmup_sample = samples_before[-1] if samples_before else None
    counts = FlowCounts(start_ns=compiled.traffic.tcp_starts[index])
    counts.goodput_bytes = totals["received_bytes"] - (goodput_before[-1] if goodput_before else 0)
    counts.packets_sent = totals["data_segments_sent"] - (
        warmup_sample.segments_sent if warmup_sample else 0
    )
    counts.retransmissions = totals["retransmitted_segments"] - (
        warmup_sample.retransmitted if warmup_sample else 0
    )
    mss = agent["mss_bytes"]
    if is_keeping_connections(flow) and totals["data_segments_received"]:
        # The last segment of each write is not full.
        mss = max(1, round(totals["received_bytes"] / totals["data_segments_received"]))
    first_sent = max(0, counts.packets_sent - counts.retransmissions)
    counts.bytes_sent = counts.packets_sent * (mss + header)
    if agent["size_bytes"] is not None and not warmup_sample:
        counts.bytes_sent = (
            agent["size_bytes"]
            + counts.retransmissions * mss
            + (first_sent + counts.retransmissions) * header
        )
    if warmup_sample is None:
        counts.packets_delivered = totals["data_segments_received"]
    else:
        counts.packets_delivered = round(counts.goodput_bytes / mss)
    counts.bytes_delivered = counts.goodput_bytes + counts.packets_delivered * header
    counts.acks_sent = totals["receiver_segments_sent"]
    lost_packets = counts.packets_sent - counts.packets_delivered
    if totals["finished_ns"] is None:
        unacked, acked = totals["unacked_segments"], totals["acked_bytes"]
        lost_packets -= _count_in_flight(unacked, totals["received_bytes"] - acked, mss)
    if warmup_sample:
        lost_packets += _count_in_flight(
            warmup_sample.unacked, goodput_before[-1] - warmup_sample.acked_bytes, mss
        )
    counts.packets_dropped = max(0, lost_packets)
    counts.reordered = counts.timeouts = counts.fast_retransmits = None
    counts.finished_ns = -1 if totals["finished_ns"] is None else totals["finished_ns"]
    return counts


def _count_in_flight(unacked: int, arrived_bytes: int, mss: int) -> int:
    """Count the segments between sender and receiver: the unacknowledged that have not arrived."""
    return max(0, unacked - max(0, arrived_bytes) // mss)


def _make_flow_table(flows: Sequence[FlowCounts]) -> RawTable:
    counted = {
        name: [getattr(each, name) or 0 for each in flows]
        for name in (
            *("packets_sent", "bytes_sent", "packets_delivered", "bytes_delivered"),
            *("goodput_bytes", "packets_dropped", "retransmissions", "timeouts"),
            *("fast_retransmits", "acks_sent", "reordered"),
            *("jitter_ns", "start_ns", "finished_ns"),
        )
    }
    ordered = [sorted(each.delays) for each in flows]
    timed_counts = [len(each) for each in ordered]
    ranked = {"min": 0.0, "max": 1.0, **QUANTILES}
    return make_raw_table(
        {
            "flow": range(len(flows)),
            **counted,
            **dict.fromkeys(("packets_copied", "acks_dropped", "packets_ce"), [0] * len(flows)),
            "packets_timed": timed_counts,
            "delays_compared": [max(0, count - 1) for count in timed_counts],
            "delay_mean_ns": [sum(each) / len(each) if each else math.nan for each in ordered],
            **{
                f"delay_{name}_ns": [
                    each[max(0, math.ceil(share * len(each)) - 1)] if each else -1
                    for each in ordered
                ]
                for name, share in ranked.items()
            },
        }
    )


def _make_port_table(queue_counts: Sequence[QueueCounts]) -> RawTable:
    height = len(queue_counts)
    return make_raw_table(
        {
            "link": [each.link for each in queue_counts],
            "class": [each.class_ for each in queue_counts],
            "packets_offered": [each.packets + each.dropped for each in queue_counts],
            "bytes_offered": [each.bytes for each in queue_counts],
            "packets_sent": [each.packets for each in queue_counts],
            "bytes_sent": [each.bytes for each in queue_counts],
            "packets_dropped": [each.dropped for each in queue_counts],
            "packets_marked": [each.marked for each in queue_counts],
            **dict.fromkeys(("wait_mean_ns", "queue_mean_packets"), [math.nan] * height),
            **dict.fromkeys(("packets_waited", "wait_max_ns", "queue_max_packets"), [0] * height),
        }
    )


def _make_drop_table(
    queue_counts: Sequence[QueueCounts], elsewhere: Sequence[LossCount]
) -> RawTable:
    rows = [
        (each.link, each.node, each.class_, cause, count)
        for each in queue_counts
        for cause, count in (("queue_full", each.full_drops), ("early", each.early_drops))
        if count
    ]
    loss_sums: dict[tuple[int, int, int, str], int] = {}
    for link, node, class_, cause, count in elsewhere:
        key = (link, node, _NO_CLASS if class_ is None else class_, cause)
        loss_sums[key] = loss_sums.get(key, 0) + count
    rows += [(*key, count) for key, count in loss_sums.items() if count]
    return make_raw_table_from_rows(
        ("flow", "reverse", "link", "node", "class", "precedence", "cause", "packets", "bytes"),
        [
            (_NO_FLOW, 0, link, node, class_, 0, _core.CAUSES.index(cause), count, 0)
            for link, node, class_, cause, count in rows
        ],
    )


def _make_summary_table(
    flows: Sequence[FlowCounts], queue_counts: Sequence[QueueCounts]
) -> RawTable:
    counts = {
        "events": 0,
        "packet_hops": sum(each.packets for each in queue_counts),
        "packets_sent": sum(each.packets_sent + each.acks_sent for each in flows),
        "packets_delivered": sum(each.packets_delivered for each in flows),
        "packets_dropped": sum(each.packets_dropped for each in flows),
        "packets_inside_before": 0,
        "packets_inside_after": 0,
        "packets_peak": 0,
    }
    return make_raw_table({name: [count] for name, count in counts.items()})


def _mask_unknown(
    tables: Mapping[str, results.Table], flows: Sequence[FlowCounts], network: NetworkData
) -> dict[str, results.Table]:
    """Build tables; values that the kernel does not give are null."""
    known_masks = {
        name: [getattr(each, name) is not None for each in flows]
        for name in ("timeouts", "fast_retransmits", "reordered")
    }
    known_masks["acks_dropped"] = [
        is_timed["agent"]["protocol"] == "udp" for is_timed in network["flows"]
    ]
    known_masks["packets_ce"] = [False] * len(network["flows"])
    no_values = dict.fromkeys(_QUEUE_LENGTHS, [False] * len(tables["ports"]))
    return {
        **tables,
        "flows": _apply_masks(tables["flows"], known_masks),
        "ports": _apply_masks(tables["ports"], no_values),
    }


def _apply_masks(table: results.Table, masks: Mapping[str, Sequence[bool]]) -> results.Table:
    columns = {}
    for each in SCHEMAS[table.name]:
        column = table.column(each.name)
        mask = masks.get(each.name)
        if mask is not None:
            known = column.valid or [True] * len(column)
            merged_mask = [old and new for old, new in zip(known, mask, strict=True)]
            column = Column(column.values, None if all(merged_mask) else merged_mask)
        columns[each.name] = column
    return results.Table(table.name, SCHEMAS[table.name], columns)
