"""The folder that a run leaves, as the tables of any engine.

What the kernel does not tell is null: delays of TCP segments (they bear no time stamp), waits and
mean lengths of queues, timeouts of one flow among several of a node. Drops are counted by queue and
cause, not by flow; those of a UDP flow are known from its sequence numbers.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from trunkline import _core, results
from trunkline.linux.outcome import control, series, transfers
from trunkline.linux.outcome.arrivals import datagrams, lost, samples
from trunkline.linux.outcome.flow import Flow
from trunkline.linux.outcome.raw import Table, raw, raw_rows
from trunkline.linux.outcome.statistics import (
    Loss,
    Queue,
    Snapshot,
    at,
    cut,
    netstat,
    policed,
    queues,
    refused,
    trapped,
)
from trunkline.linux.plan.addresses import node_name
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.flows import TCP_HEADERS, TIMESTAMPS
from trunkline.network.types import Network
from trunkline.results import SCHEMAS, Column, Provenance, Results
from trunkline.results.decode import decode
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
_DELAYS, _WAITS = ("delay_", "jitter_"), ("wait_", "queue_")
"""How the columns begin that need times of packets."""


def read(compiled: Compiled, folder: Path, provenance: Provenance) -> Results:
    """Results of a run of a plan."""
    data = compiled.network
    warmup = data["run"]["warmup_ns"]
    stats = json.loads((folder / "stats.json").read_text())
    last = at(stats, data["run"]["duration_ns"])
    controlled = bool(compiled.plan.daemons)
    # Daemons have sent messages before time zero.
    first = at(stats, warmup) if warmup or controlled else None
    flows = []
    for index, its in enumerate(data["flows"]):
        if its["agent"]["protocol"] == "udp":
            flows.append(_udp(compiled, folder, index))
        else:
            of = transfers.flow if "transfers" in its else _tcp
            flows.append(_recoveries(of(compiled, folder, index), data, index, (first, last)))
    found = queues(compiled, first, last)
    elsewhere = [
        *policed(compiled, first, last),
        *refused(compiled, first, last),
        *cut(compiled, folder, warmup),
        *trapped(compiled, first, last),
    ]
    if not compiled.plan.tcp and not compiled.plan.transfers:
        told = sum(each.dropped for each in found) + sum(each[-1] for each in elsewhere)
        share_out(flows, told)
    found_tables = {
        "flows": _raw_flows(flows),
        "ports": _raw_ports(found),
        "drops": _raw_drops(found, elsewhere),
        "timeline": control.timeline(compiled, folder)
        if controlled
        else compiled.rehearsal.timeline,
        **transfers.raw(compiled, folder),
        "series": series.raw(compiled, folder),
        "summary": _raw_summary(flows, found),
    }
    return Results(_masked(decode(found_tables, data), flows, data), provenance)


def _udp(compiled: Compiled, folder: Path, index: int) -> Flow:
    data = compiled.network
    warmup, end = data["run"]["warmup_ns"], data["run"]["duration_ns"]
    header = data["flows"][index]["agent"]["header_bytes"]
    sent = compiled.traffic.sent[index]
    arrived = [each for each in datagrams(folder, index) if each.received_ns < end]
    made = Flow(start_ns=sent[0][0] if sent else 0)
    for time, size in sent:
        if warmup <= time < end:
            made.packets_sent += 1
            made.bytes_sent += size
    greatest = -1
    previous: int | None = None
    for each in arrived:
        if each.received_ns >= warmup:
            size = sent[each.sequence][1]
            made.packets_delivered += 1
            made.bytes_delivered += size
            made.goodput_bytes += max(0, size - header)
            made.delays.append(each.delay_ns)
            made.reordered = (made.reordered or 0) + (each.sequence < greatest)
            if previous is not None:
                made.jitter_ns += (abs(each.delay_ns - previous) - made.jitter_ns) / 16
            previous = each.delay_ns
        greatest = max(greatest, each.sequence)
    gone = lost(sent, arrived, warmup, end)
    made.packets_dropped = len(gone)
    last = max((each.sequence for each in arrived), default=-1)
    late = sum(warmup <= time < end for time, _ in sent[last + 1 :])
    made.undecided = late - sum(number > last for number in gone)
    return made


def share_out(flows: Sequence[Flow], told: int) -> None:
    """Give flows the drops that their sequence numbers do not tell.

    Behind the last datagram that arrived, some were lost and some were on their way when the run
    ended. How many were lost in all is what the queues tell; each flow gets its share, by how many
    it has there and how much of it was lost before.

    Parameters
    ----------
    flows : sequence of Flow
        UDP flows; their drops grow.
    """
    expected = [
        each.undecided
        * each.packets_dropped
        / max(1, each.packets_dropped + each.packets_delivered)
        for each in flows
    ]
    left = told - sum(each.packets_dropped for each in flows)
    if left <= 0 or not any(expected):
        return
    for each, its in zip(flows, expected, strict=True):
        each.packets_dropped += min(each.undecided, round(left * its / sum(expected)))


def _recoveries(
    made: Flow, data: Network, index: int, stats: tuple[Snapshot | None, Snapshot]
) -> Flow:
    """With the timeouts and losses that the sender's node counts, if all are of this flow."""
    source = data["flows"][index]["src"]
    tcp = [flow for flow in data["flows"] if flow["agent"]["protocol"] == "tcp"]
    if sum(flow["src"] == source for flow in tcp) == 1:
        first, second = (netstat(each, node_name(source)) if each else {} for each in stats)
        entries = ("TCPRenoRecovery", "TCPSackRecovery")
        made.timeouts = second.get("TCPTimeouts", 0) - first.get("TCPTimeouts", 0)
        made.fast_retransmits = sum(second.get(e, 0) - first.get(e, 0) for e in entries)
    return made


def _tcp(compiled: Compiled, folder: Path, index: int) -> Flow:
    data = compiled.network
    warmup = data["run"]["warmup_ns"]
    flow = data["flows"][index]
    agent = flow["agent"]
    assert agent["protocol"] == "tcp"
    header = TCP_HEADERS + (TIMESTAMPS if agent["timestamps"] else 0)
    totals = json.loads((folder / f"tcp-{index}.json").read_text())
    sampled, read_bytes = samples(folder, index)
    before = [each for each in sampled if each.time_ns <= warmup and warmup]
    goodput_before = [count for time, count in read_bytes if time <= warmup and warmup]
    base = before[-1] if before else None
    made = Flow(start_ns=compiled.traffic.tcp_starts[index])
    made.goodput_bytes = totals["received_bytes"] - (goodput_before[-1] if goodput_before else 0)
    made.packets_sent = totals["data_segments_sent"] - (base.segments_sent if base else 0)
    made.retransmissions = totals["retransmitted_segments"] - (base.retransmitted if base else 0)
    mss = agent["mss_bytes"]
    new = max(0, made.packets_sent - made.retransmissions)
    made.bytes_sent = made.packets_sent * (mss + header)
    if agent["size_bytes"] is not None and not base:
        made.bytes_sent = (
            agent["size_bytes"] + made.retransmissions * mss + (new + made.retransmissions) * header
        )
    if base is None:
        made.packets_delivered = totals["data_segments_received"]
    else:
        made.packets_delivered = round(made.goodput_bytes / mss)
    made.bytes_delivered = made.goodput_bytes + made.packets_delivered * header
    made.acks_sent = totals["receiver_segments_sent"]
    gone = made.packets_sent - made.packets_delivered
    if totals["finished_ns"] is None:
        unacked, acked = totals["unacked_segments"], totals["acked_bytes"]
        gone -= _under_way(unacked, totals["received_bytes"] - acked, mss)
    if base:
        gone += _under_way(base.unacked, goodput_before[-1] - base.acked_bytes, mss)
    made.packets_dropped = max(0, gone)
    made.reordered = made.timeouts = made.fast_retransmits = None
    made.finished_ns = -1 if totals["finished_ns"] is None else totals["finished_ns"]
    return made


def _under_way(unacked: int, arrived_bytes: int, mss: int) -> int:
    """Segments between sender and receiver: the unacknowledged that have not arrived."""
    return max(0, unacked - max(0, arrived_bytes) // mss)


def _raw_flows(flows: Sequence[Flow]) -> Table:
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
    ranked = {"min": 0.0, "max": 1.0, **QUANTILES}
    return raw(
        {
            "flow": range(len(flows)),
            **counted,
            **dict.fromkeys(("packets_copied", "acks_dropped"), [0] * len(flows)),
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


def _raw_ports(found: Sequence[Queue]) -> Table:
    height = len(found)
    return raw(
        {
            "link": [each.link for each in found],
            "class": [each.class_ for each in found],
            "packets_offered": [each.packets + each.dropped for each in found],
            "bytes_offered": [each.bytes for each in found],
            "packets_sent": [each.packets for each in found],
            "bytes_sent": [each.bytes for each in found],
            "packets_dropped": [each.dropped for each in found],
            **dict.fromkeys(("wait_mean_ns", "queue_mean_packets"), [math.nan] * height),
            **dict.fromkeys(("wait_max_ns", "queue_max_packets"), [0] * height),
        }
    )


def _raw_drops(found: Sequence[Queue], elsewhere: Sequence[Loss]) -> Table:
    rows = [
        (each.link, each.node, each.class_, cause, count)
        for each in found
        for cause, count in (("queue_full", each.full), ("early", each.early))
        if count
    ]
    summed: dict[tuple[int, int, int, str], int] = {}
    for link, node, class_, cause, count in elsewhere:
        key = (link, node, _NO_CLASS if class_ is None else class_, cause)
        summed[key] = summed.get(key, 0) + count
    rows += [(*key, count) for key, count in summed.items() if count]
    return raw_rows(
        ("flow", "reverse", "link", "node", "class", "precedence", "cause", "packets", "bytes"),
        [
            (_NO_FLOW, 0, link, node, class_, 0, _core.CAUSES.index(cause), count, 0)
            for link, node, class_, cause, count in rows
        ],
    )


def _raw_summary(flows: Sequence[Flow], found: Sequence[Queue]) -> Table:
    counts = {
        "events": 0,
        "packet_hops": sum(each.packets for each in found),
        "packets_sent": sum(each.packets_sent + each.acks_sent for each in flows),
        "packets_delivered": sum(each.packets_delivered for each in flows),
        "packets_dropped": sum(each.packets_dropped for each in flows),
        "packets_inside_before": 0,
        "packets_inside_after": 0,
        "packets_peak": 0,
    }
    return raw({name: [count] for name, count in counts.items()})


def _masked(
    tables: Mapping[str, results.Table], flows: Sequence[Flow], data: Network
) -> dict[str, results.Table]:
    """Tables in which what the kernel does not tell is null."""
    timed = [bool(each.delays) for each in flows]
    unknown = {
        name: [getattr(each, name) is not None for each in flows]
        for name in ("timeouts", "fast_retransmits", "reordered")
    }
    unknown["acks_dropped"] = [its["agent"]["protocol"] == "udp" for its in data["flows"]]
    named = {str(name) for name, its in zip(tables["flows"]["dscp"], timed, strict=True) if its}
    known = [name in named for name in tables["aggregates"]["dscp"]]
    never = [False] * len(tables["ports"])
    return {
        **tables,
        "flows": _with(tables["flows"], unknown | _all(tables["flows"], _DELAYS, timed)),
        "ports": _with(tables["ports"], _all(tables["ports"], _WAITS, never)),
        "aggregates": _with(tables["aggregates"], _all(tables["aggregates"], _DELAYS, known)),
    }


def _all(
    table: results.Table, beginnings: tuple[str, ...], mask: list[bool]
) -> dict[str, list[bool]]:
    return {name: mask for name in table.columns if name.startswith(beginnings)}


def _with(table: results.Table, masks: Mapping[str, Sequence[bool]]) -> results.Table:
    columns = {}
    for each in SCHEMAS[table.name]:
        column = table.column(each.name)
        mask = masks.get(each.name)
        if mask is not None:
            known = column.valid or [True] * len(column)
            both = [old and new for old, new in zip(known, mask, strict=True)]
            column = Column(column.values, None if all(both) else both)
        columns[each.name] = column
    return results.Table(table.name, SCHEMAS[table.name], columns)
