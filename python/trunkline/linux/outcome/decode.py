"""The folder that a run leaves, as the tables of any engine.

What the kernel does not tell is null: delays of TCP segments (they bear no time stamp), waits and
mean lengths of queues, timeouts of one flow among several of a node. Drops are counted by queue and
cause, not by flow; those of a UDP flow are known from its sequence numbers.
"""

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

from trunkline import _core
from trunkline.linux.outcome import control, series, transfers
from trunkline.linux.outcome.arrivals import datagrams, lost, samples
from trunkline.linux.outcome.flow import Flow
from trunkline.linux.outcome.statistics import (
    Queue,
    Snapshot,
    at,
    cut,
    netstat,
    police_drops,
    queues,
    refused,
    trapped,
)
from trunkline.linux.plan.addresses import node_name
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.flows import TCP_HEADERS, TIMESTAMPS
from trunkline.network.types import Network
from trunkline.results import SCHEMAS, Column, Provenance, Results, Table
from trunkline.results.decode import decode
from trunkline.results.decode.columns import DELAYS, QUANTILES

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
_CODES = {"i64": "q", "f64": "d", "u32": "I", "u8": "B"}
_ARRIVED = (*DELAYS, "range")


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
    policed = police_drops(compiled, first, last)
    elsewhere = [
        *refused(compiled, first, last),
        *cut(compiled, folder, warmup),
        *trapped(compiled, first, last),
    ]
    if not compiled.plan.tcp and not compiled.plan.transfers:
        told = sum(each.dropped for each in found)
        share_out(
            flows, told + sum(each[-1] for each in policed) + sum(each[-1] for each in elsewhere)
        )
    raw = {
        "flows": _raw_flows(flows),
        "ports": _raw_ports(found),
        "drops": _raw_drops(found, policed, elsewhere),
        "timeline": control.timeline(compiled, folder)
        if controlled
        else compiled.rehearsal.timeline,
        **transfers.raw(compiled, folder),
        "series": series.raw(compiled, folder),
        "summary": _raw_summary(flows, found),
    }
    tables = decode(raw, data)
    return Results(_masked(tables, flows, data), provenance)


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
    last = sampled[-1] if sampled else None
    inside = last.unacked if last and totals["finished_ns"] is None else 0
    made.packets_dropped = max(0, made.packets_sent - made.packets_delivered - inside)
    made.reordered = made.timeouts = made.fast_retransmits = None
    made.finished_ns = -1 if totals["finished_ns"] is None else totals["finished_ns"]
    return made


def _column(kind: str, values: Sequence[float]) -> tuple[str, bytes]:
    return kind, array(_CODES[kind], values).tobytes()


def _raw_flows(flows: Sequence[Flow]) -> dict[str, tuple[str, bytes]]:
    counted = (
        "packets_sent",
        "bytes_sent",
        "packets_delivered",
        "bytes_delivered",
        "goodput_bytes",
        "packets_dropped",
        "retransmissions",
        "timeouts",
        "fast_retransmits",
        "acks_sent",
    )
    columns = {"flow": _column("u32", list(range(len(flows))))}
    for name in counted:
        columns[name] = _column("i64", [getattr(each, name) or 0 for each in flows])
    for name in ("packets_copied", "acks_dropped"):
        columns[name] = _column("i64", [0] * len(flows))
    columns["reordered"] = _column("i64", [each.reordered or 0 for each in flows])
    ordered = [sorted(each.delays) for each in flows]
    means = [sum(each) / len(each) if each else math.nan for each in ordered]
    columns["delay_mean_ns"] = _column("f64", means)
    columns["delay_min_ns"] = _column("i64", [each[0] if each else -1 for each in ordered])
    columns["delay_max_ns"] = _column("i64", [each[-1] if each else -1 for each in ordered])
    for name, share in QUANTILES.items():
        ranks = [each[math.ceil(share * len(each)) - 1] if each else -1 for each in ordered]
        columns[f"delay_{name}_ns"] = _column("i64", ranks)
    columns["jitter_ns"] = _column("f64", [each.jitter_ns for each in flows])
    columns["start_ns"] = _column("i64", [each.start_ns for each in flows])
    columns["finished_ns"] = _column("i64", [each.finished_ns for each in flows])
    return columns


def _raw_ports(found: Sequence[Queue]) -> dict[str, tuple[str, bytes]]:
    nothing = [0] * len(found)
    return {
        "link": _column("u32", [each.link for each in found]),
        "class": _column("u8", [each.class_ for each in found]),
        "packets_offered": _column("i64", [each.packets + each.dropped for each in found]),
        "bytes_offered": _column("i64", [each.bytes for each in found]),
        "packets_sent": _column("i64", [each.packets for each in found]),
        "bytes_sent": _column("i64", [each.bytes for each in found]),
        "packets_dropped": _column("i64", [each.dropped for each in found]),
        "wait_mean_ns": _column("f64", [math.nan] * len(found)),
        "wait_max_ns": _column("i64", nothing),
        "queue_mean_packets": _column("f64", [math.nan] * len(found)),
        "queue_max_packets": _column("i64", nothing),
    }


def _raw_drops(
    found: Sequence[Queue],
    policed: Sequence[tuple[int, int, int, int]],
    elsewhere: Sequence[tuple[int, int, int | None, str, int]],
) -> dict[str, tuple[str, bytes]]:
    rows = [
        (each.link, each.node, each.class_, _core.CAUSES.index(cause), count)
        for each in found
        for cause, count in (("queue_full", each.full), ("early", each.early))
        if count
    ]
    refused = _core.CAUSES.index("policed")
    rows += [(link, node, _NO_CLASS, refused, count) for link, node, _, count in policed]
    summed: dict[tuple[int, int, int, int], int] = {}
    for link, node, class_, cause, count in elsewhere:
        key = (link, node, _NO_CLASS if class_ is None else class_, _core.CAUSES.index(cause))
        summed[key] = summed.get(key, 0) + count
    rows += [(*key, count) for key, count in summed.items() if count]
    columns = list(zip(*rows, strict=True)) or [()] * 5
    size = len(rows)
    return {
        "flow": _column("u32", [2**32 - 1] * size),
        "reverse": _column("u8", [0] * size),
        "link": _column("i64", columns[0]),
        "node": _column("u32", columns[1]),
        "class": _column("u32", columns[2]),
        "precedence": _column("u8", [0] * size),
        "cause": _column("u8", columns[3]),
        "packets": _column("i64", columns[4]),
        "bytes": _column("i64", [0] * size),
    }


def _raw_summary(flows: Sequence[Flow], found: Sequence[Queue]) -> dict[str, tuple[str, bytes]]:
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
    return {name: _column("i64", [count]) for name, count in counts.items()}


def _masked(tables: Mapping[str, Table], flows: Sequence[Flow], data: Network) -> dict[str, Table]:
    """Tables in which what the kernel does not tell is null."""
    timed = [bool(each.delays) for each in flows]
    unknown = {f"delay_{which}{unit}": timed for which in _ARRIVED for unit in ("_ns", "_s")} | {
        "jitter_ns": timed,
        "jitter_s": timed,
    }
    unknown |= {
        name: [getattr(each, name) is not None for each in flows]
        for name in ("timeouts", "fast_retransmits", "reordered")
    }
    unknown["acks_dropped"] = [its["agent"]["protocol"] == "udp" for its in data["flows"]]
    made = dict(tables)
    made["flows"] = _with(tables["flows"], unknown)
    height = len(tables["ports"])
    never = [False] * height
    made["ports"] = _with(
        tables["ports"],
        dict.fromkeys(
            (
                "wait_mean_ns",
                "wait_max_ns",
                "wait_mean_s",
                "wait_max_s",
                "queue_mean_packets",
                "queue_max_packets",
            ),
            never,
        ),
    )
    timed_classes = {
        str(name) for name, each in zip(tables["flows"]["dscp"], flows, strict=True) if each.delays
    }
    known = [name in timed_classes for name in tables["classes"]["class"]]
    columns = tables["classes"].columns
    delays = [name for name in columns if name.startswith(("delay_", "jitter_"))]
    made["classes"] = _with(tables["classes"], dict.fromkeys(delays, known))
    return made


def _with(table: Table, masks: Mapping[str, Sequence[bool]]) -> Table:
    columns = {}
    for each in SCHEMAS[table.name]:
        column = table.column(each.name)
        mask = masks.get(each.name)
        if mask is not None:
            known = column.valid or [True] * len(column)
            both = [old and new for old, new in zip(known, mask, strict=True)]
            column = Column(column.values, None if all(both) else both)
        columns[each.name] = column
    return Table(table.name, SCHEMAS[table.name], columns)
