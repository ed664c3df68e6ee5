"""Counters of ``tc`` and of the protocols, by link and class."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trunkline.linux.plan.addresses import VethEnd, name_namespace
from trunkline.linux.plan.compiled_plan import CompiledPlan
from trunkline.linux.plan.leaf_qdisc import LeafQdisc
from trunkline.linux.plan.port_qdiscs import WIRE_HANDLE
from trunkline.linux.plan.recovery import LOSS_CHAINS

Snapshot = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """Counts of the queue of one class, from the warm-up on."""

    link: int
    class_: int
    node: int
    # packets, bytes: Packets that it sent; bytes as the port counts them.
    packets: int
    bytes: int
    # full_drops, early_drops: Packets dropped for lack of room, and by the AQM.
    full_drops: int
    early_drops: int
    marked: int  # Packets that the AQM marked.

    @property
    def dropped(self) -> int:
        """All packets dropped."""
        return self.full_drops + self.early_drops


def find_snapshot(stats: Sequence[Snapshot], time_ns: int) -> Snapshot:
    """Find the snapshot of a time."""
    for each in stats:
        if each["time_ns"] == time_ns:
            return each
    msg = f"the guest took no snapshot at {time_ns} ns"
    raise ValueError(msg)


def get_tcp_counters(snapshot: Snapshot, node: str) -> Mapping[str, int]:
    """Extended TCP counters of a node."""
    found: Mapping[str, int] = snapshot["nodes"][node]["netstat"].get("TcpExt", {})
    return found


def count_queues(
    compiled: CompiledPlan, first: Snapshot | None, last: Snapshot
) -> list[QueueCounts]:
    """Count the counts of every queue between two snapshots.

    first, last: Snapshots; without a first one from the start.
    """
    counts = []
    for link, leaves in enumerate(compiled.leaves):
        side = compiled.wiring.sending_ends[link]
        for class_, leaf in leaves.items():
            last_counts, first_counts = (
                _read_qdisc_counts(each, side.node, side.device, leaf) if each else (0,) * 5
                for each in (last, first)
            )
            packets, sent_bytes, dropped, early, marked = (
                last_count - first_count
                for last_count, first_count in zip(last_counts, first_counts, strict=True)
            )
            counts.append(
                QueueCounts(
                    link, class_, side.node, packets, sent_bytes, dropped - early, early, marked
                )
            )
    return counts


def _read_qdisc_counts(
    snapshot: Snapshot, node: int, device: str, leaf: LeafQdisc
) -> tuple[int, ...]:
    """Read the packets, bytes, drops, early drops and marks of a qdisc, or of one of its tins."""
    for each in snapshot["nodes"][name_namespace(node)]["qdiscs"]:
        if each.get("dev") == device and each.get("handle") == leaf.handle:
            if leaf.tin is not None:
                return _read_tin_counts(each, leaf.tin)
            counts = each["packets"], each["bytes"], each["drops"]
            # RED's `marked`; of the others `ecn_mark`.
            marks = int(each.get("marked", each.get("ecn_mark", 0)))
            return *counts, _count_early_drops(each), marks
    msg = f"the guest has no qdisc {leaf.handle} at {device}"
    raise ValueError(msg)


def _read_tin_counts(cake: Mapping[str, Any], number: int) -> tuple[int, ...]:
    """Read the packets, bytes, drops, early drops and marks of a tin.

    It counts what comes, and of what it drops no bytes; how many packets wait is by their mean
    size.
    """
    tin = cake["tins"][number]
    arrived, drops = int(tin["sent_packets"]), int(tin["drops"])
    arrived_bytes, waiting_bytes = int(tin["sent_bytes"]), int(tin["backlog_bytes"])
    waiting = round(waiting_bytes * arrived / arrived_bytes) if arrived else 0
    early = drops if _has_room(cake) else 0
    return (
        arrived - drops - waiting,
        arrived_bytes - waiting_bytes - _share_dropped_bytes(cake)[number],
        drops,
        early,
        int(tin.get("ecn_mark", 0)),
    )


def _share_dropped_bytes(cake: Mapping[str, Any]) -> list[int]:
    """Share the bytes that no tin sent among their drops, each as large as its tin's largest.

    Those of all tins are known: a cake counts the bytes that leave it. AQMs drop from flows that
    have a queue, whose packets are mostly full.
    """
    tins = cake["tins"]
    kept = sum(int(tin["sent_bytes"]) - int(tin["backlog_bytes"]) for tin in tins)
    weights = [int(tin["drops"]) * int(tin["max_pkt_len"]) for tin in tins]
    dropped = kept - int(cake["bytes"])
    return [round(dropped * weight / max(sum(weights), 1)) for weight in weights]


def _has_room(cake: Mapping[str, Any]) -> bool:
    """Whether a cake was never full: which of its drops a limit caused it does not say."""
    return int(cake["memory_used"]) <= int(cake["memory_limit"])


def _count_early_drops(qdisc: Mapping[str, Any]) -> int:
    """Drops that an AQM wanted."""
    if qdisc["kind"] == "red":
        return int(qdisc.get("early", 0))
    if qdisc["kind"] in ("codel", "fq_codel"):
        return int(qdisc["drops"]) - int(qdisc.get("drop_overlimit", 0))
    if qdisc["kind"] in ("pie", "fq_pie"):
        full = ("overlimit", "overmemory")
        return int(qdisc["drops"]) - sum(int(qdisc.get(each, 0)) for each in full)
    if qdisc["kind"] == "cake":
        return int(qdisc["drops"]) if _has_room(qdisc) else 0
    if qdisc["kind"] == "gred":
        # tc since 5.0 names those that it drops by chance ``prob_drop``, before ``early``.
        return sum(
            int(vq.get(name, 0))
            for vq in qdisc.get("options", {}).get("vqs", ())
            for name in ("early", "prob_drop", "forced_drop", "forced-drop")
        )
    return 0


LossCount = tuple[int, int, int | None, str, int]
"""Packets lost: link (-1: a node), node, class if known, cause, packets."""


def _count_between(
    first: Snapshot | None, last: Snapshot, read_count: Callable[[Snapshot], int]
) -> int:
    """Count from one snapshot, or from the start, to another."""
    return read_count(last) - (read_count(first) if first else 0)


def count_policed(
    compiled: CompiledPlan, first: Snapshot | None, last: Snapshot
) -> Iterator[LossCount]:
    """Count the packets that conditioners dropped."""
    for link, link_config in enumerate(compiled.network["links"]):
        if link_config.get("ingress") is not None:
            count_drops = partial(_count_policed_drops, compiled.wiring.receiving_ends[link])
            node = compiled.wiring.receiving_ends[link].node
            yield link, node, None, "policed", max(0, _count_between(first, last, count_drops))


def count_corrupted(
    compiled: CompiledPlan, first: Snapshot | None, last: Snapshot
) -> Iterator[LossCount]:
    """Count the packets that links lost at random."""
    for link, link_config in enumerate(compiled.network["links"]):
        if link_config["loss"]:
            count_drops = partial(_count_wire_drops, compiled.wiring.receiving_ends[link])
            node = compiled.wiring.sending_ends[link].node
            yield link, node, None, "corrupted", _count_between(first, last, count_drops)


def count_failure_losses(
    compiled: CompiledPlan, first: Snapshot | None, last: Snapshot
) -> Iterator[LossCount]:
    """Packets lost to failures. first, last: Snapshots; without a first one from the start."""
    for link, cause in compiled.recovery_schedule.list_loss_causes():
        side = compiled.wiring.sending_ends[link]
        count_taken = partial(_count_trapped, side, LOSS_CHAINS[cause])
        loss_link = -1 if cause == "switching" else link
        yield loss_link, side.node, None, cause, _count_between(first, last, count_taken)


def count_refused(
    compiled: CompiledPlan, first: Snapshot | None, last: Snapshot
) -> Iterator[LossCount]:
    """Count the packets that routers refused.

    A node counts IP packets whose TTL ran out and those too large for the next link, of all its
    links together; labelled ones are counted by device.

    first, last: Snapshots; without a first one from the start.
    """

    def count_between(node: int, protocol: str, name: str) -> int:
        def read_count(snapshot: Snapshot) -> int:
            return int(
                snapshot["nodes"][name_namespace(node)]["netstat"].get(protocol, {}).get(name, 0)
            )

        return _count_between(first, last, read_count)

    links = compiled.network["links"]
    for node in range(len(compiled.network["nodes"])):
        yield -1, node, None, "ttl_expired", count_between(node, "Ip", "InHdrErrors")
        out = [number for number, link in enumerate(links) if link["from"] == node]
        narrowest = min(out, key=lambda number: links[number]["mtu_bytes"], default=-1)
        yield narrowest, node, None, "too_big", count_between(node, "Ip", "FragFails")
    for link, (sending_end, receiving_end) in enumerate(
        zip(compiled.wiring.sending_ends, compiled.wiring.receiving_ends, strict=True)
    ):
        counted = count_between(sending_end.node, f"Mpls-{sending_end.device}", "too_big")
        yield link, sending_end.node, None, "too_big", counted
        for cause in ("ttl_expired", "no_label"):
            yield (
                -1,
                receiving_end.node,
                None,
                cause,
                count_between(receiving_end.node, f"Mpls-{receiving_end.device}", cause),
            )


def count_cut_packets(compiled: CompiledPlan, folder: Path, warmup_ns: int) -> Iterator[LossCount]:
    """Count the packets that links held when they failed. warmup_ns: Only failures from then on."""
    for number, outage in enumerate(compiled.recovery_schedule.outages):
        if outage.failed_ns < warmup_ns:
            continue
        link, node = outage.link, compiled.wiring.sending_ends[outage.link].node
        sending_queues, wire_queues = (
            json.loads((folder / f"count-{2 * number + each}.json").read_text())[0]["queues"]
            for each in (0, 1)
        )
        waiting = {each["handle"]: each["qlen"] for each in sending_queues if "qdisc" in each}
        for class_, leaf in compiled.leaves[link].items():
            yield link, node, class_, "failed_queued", waiting[leaf.handle]
        in_flight = sum(each["qlen"] for each in wire_queues if "qdisc" in each)
        yield link, node, None, "failed_in_flight", in_flight


def _count_trapped(side: VethEnd, chain: int, snapshot: Snapshot) -> int:
    chain_filters = [
        each for each in _list_filters(side, "egress", snapshot) if each.get("chain") == chain
    ]
    return sum(
        int(each.get("stats", {}).get("packets", 0)) for each in _list_actions(chain_filters)
    )


def _count_wire_drops(side: VethEnd, snapshot: Snapshot) -> int:
    return sum(
        int(each["drops"])
        for each in snapshot["nodes"][name_namespace(side.node)]["qdiscs"]
        if each.get("dev") == side.wire and each.get("handle") == WIRE_HANDLE
    )


def _count_policed_drops(side: VethEnd, snapshot: Snapshot) -> int:
    return sum(
        int(action.get("stats", {}).get("drops", 0))
        for action in _list_actions(_list_filters(side, "ingress", snapshot))
        if action.get("kind") == "gact" and action.get("control_action", {}).get("type") == "drop"
    )


def _list_filters(side: VethEnd, hook: str, snapshot: Snapshot) -> Sequence[Mapping[str, Any]]:
    device_filters = snapshot["nodes"][name_namespace(side.node)]["filters"].get(side.device, {})
    filters: Sequence[Mapping[str, Any]] = device_filters.get(hook, [])
    return filters


def _list_actions(filters: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for each in filters:
        yield from each.get("options", {}).get("actions", ())
