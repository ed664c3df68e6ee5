"""What ``tc`` and the protocol counters say, by link and class."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trunkline.linux.plan.addresses import Side, node_name
from trunkline.linux.plan.compile import Compiled
from trunkline.linux.plan.leaf import Leaf
from trunkline.linux.plan.recovery import CHAINS

Snapshot = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Queue:
    """Counts of the queue of one class, from the warm-up on.

    Parameters
    ----------
    packets, bytes : int
        What it let go; bytes as the port counts them.
    full, early : int
        Packets dropped for lack of room, and by the AQM.
    """

    link: int
    class_: int
    node: int
    packets: int
    bytes: int
    full: int
    early: int

    @property
    def dropped(self) -> int:
        """All packets dropped."""
        return self.full + self.early


def at(stats: Sequence[Snapshot], time_ns: int) -> Snapshot:
    """The snapshot of a time."""
    for each in stats:
        if each["time_ns"] == time_ns:
            return each
    msg = f"the guest took no snapshot at {time_ns} ns"
    raise ValueError(msg)


def netstat(snapshot: Snapshot, node: str) -> Mapping[str, int]:
    """Extended TCP counters of a node."""
    found: Mapping[str, int] = snapshot["nodes"][node]["netstat"].get("TcpExt", {})
    return found


def queues(compiled: Compiled, first: Snapshot | None, last: Snapshot) -> list[Queue]:
    """Counts of every queue between two snapshots.

    Parameters
    ----------
    first, last : mapping
        Snapshots; without a first one from the start.
    """
    made = []
    for link, leaves in enumerate(compiled.leaves):
        side = compiled.wiring.near[link]
        for class_, leaf in leaves.items():
            now, then = (
                _counts(each, side.node, side.device, leaf) if each else (0, 0, 0, 0)
                for each in (last, first)
            )
            packets, size, dropped, early = (a - b for a, b in zip(now, then, strict=True))
            made.append(Queue(link, class_, side.node, packets, size, dropped - early, early))
    return made


def _counts(snapshot: Snapshot, node: int, device: str, leaf: Leaf) -> tuple[int, int, int, int]:
    """Packets, bytes, drops and early drops of a qdisc, or of one of its tins."""
    for each in snapshot["nodes"][node_name(node)]["qdiscs"]:
        if each.get("dev") == device and each.get("handle") == leaf.handle:
            if leaf.tin is not None:
                return _tin(each, leaf.tin)
            return each["packets"], each["bytes"], each["drops"], _early(each)
    msg = f"the guest has no qdisc {leaf.handle} at {device}"
    raise ValueError(msg)


def _tin(cake: Mapping[str, Any], number: int) -> tuple[int, int, int, int]:
    """Packets, bytes, drops and early drops of a tin, which counts what comes and what it drops.

    How many packets wait, and the bytes of those dropped, are by the mean size of a packet.
    """
    tin = cake["tins"][number]
    came, drops = int(tin["sent_packets"]), int(tin["drops"])
    size = int(tin["sent_bytes"]) / came if came else 0.0
    packets = came - drops - (round(int(tin["backlog_bytes"]) / size) if came else 0)
    early = drops if _has_room(cake) else 0
    return packets, round(packets * size), drops, early


def _has_room(cake: Mapping[str, Any]) -> bool:
    """Whether a cake was never full: which of its drops a limit caused it does not say."""
    return int(cake["memory_used"]) <= int(cake["memory_limit"])


def _early(qdisc: Mapping[str, Any]) -> int:
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
        return sum(
            int(vq.get("early", 0)) + int(vq.get("forced_drop", vq.get("forced-drop", 0)))
            for vq in qdisc.get("options", {}).get("vqs", ())
        )
    return 0


Loss = tuple[int, int, int | None, str, int]
"""Packets lost: link (-1: a node), node, class if known, cause, packets."""


def _between(first: Snapshot | None, last: Snapshot, count: Callable[[Snapshot], int]) -> int:
    """What was counted from a snapshot, or from the start, to another."""
    return count(last) - (count(first) if first else 0)


def policed(compiled: Compiled, first: Snapshot | None, last: Snapshot) -> Iterator[Loss]:
    """Packets that conditioners dropped."""
    for link, its in enumerate(compiled.network["links"]):
        if its.get("ingress") is not None:
            dropped = partial(_dropped, compiled.wiring.far[link])
            node = compiled.wiring.far[link].node
            yield link, node, None, "policed", max(0, _between(first, last, dropped))


def trapped(compiled: Compiled, first: Snapshot | None, last: Snapshot) -> Iterator[Loss]:
    """Packets lost to failures.

    Parameters
    ----------
    first, last : mapping
        Snapshots; without a first one from the start.
    """
    for link, cause in compiled.course.trapped():
        side = compiled.wiring.near[link]
        taken = partial(_taken, side, CHAINS[cause])
        where = -1 if cause == "switching" else link
        yield where, side.node, None, cause, _between(first, last, taken)


def refused(compiled: Compiled, first: Snapshot | None, last: Snapshot) -> Iterator[Loss]:
    """Packets that routers refused.

    A node counts IP packets whose TTL ran out and those too large for the next link, of all its
    links together; labelled ones are counted by device.

    Parameters
    ----------
    first, last : mapping
        Snapshots; without a first one from the start.
    """

    def count(node: int, protocol: str, name: str) -> int:
        def of(each: Snapshot) -> int:
            return int(each["nodes"][node_name(node)]["netstat"].get(protocol, {}).get(name, 0))

        return _between(first, last, of)

    links = compiled.network["links"]
    for node in range(len(compiled.network["nodes"])):
        yield -1, node, None, "ttl_expired", count(node, "Ip", "InHdrErrors")
        out = [number for number, link in enumerate(links) if link["from"] == node]
        narrow = min(out, key=lambda number: links[number]["mtu_bytes"], default=-1)
        yield narrow, node, None, "too_big", count(node, "Ip", "FragFails")
    for link, (near, far) in enumerate(zip(compiled.wiring.near, compiled.wiring.far, strict=True)):
        counted = count(near.node, f"Mpls-{near.device}", "too_big")
        yield link, near.node, None, "too_big", counted
        for cause in ("ttl_expired", "no_label"):
            yield -1, far.node, None, cause, count(far.node, f"Mpls-{far.device}", cause)


def cut(compiled: Compiled, folder: Path, warmup_ns: int) -> Iterator[Loss]:
    """Packets that links held when they failed.

    Parameters
    ----------
    warmup_ns : int
        Only failures from then on.
    """
    for number, outage in enumerate(compiled.course.outages):
        if outage.failed_ns < warmup_ns:
            continue
        link, node = outage.link, compiled.wiring.near[outage.link].node
        near, far = (
            json.loads((folder / f"count-{2 * number + each}.json").read_text())[0]["queues"]
            for each in (0, 1)
        )
        waiting = {each["handle"]: each["qlen"] for each in near if "qdisc" in each}
        for class_, leaf in compiled.leaves[link].items():
            yield link, node, class_, "failed_queued", waiting[leaf.handle]
        under_way = sum(each["qlen"] for each in far if "qdisc" in each)
        yield link, node, None, "failed_in_flight", under_way


def _taken(side: Side, chain: int, snapshot: Snapshot) -> int:
    chosen = [each for each in _filters(side, "egress", snapshot) if each.get("chain") == chain]
    return sum(int(each.get("stats", {}).get("packets", 0)) for each in _actions(chosen))


def _dropped(side: Side, snapshot: Snapshot) -> int:
    return sum(
        int(action.get("stats", {}).get("drops", 0))
        for action in _actions(_filters(side, "ingress", snapshot))
        if action.get("kind") == "gact" and action.get("control_action", {}).get("type") == "drop"
    )


def _filters(side: Side, where: str, snapshot: Snapshot) -> Sequence[Mapping[str, Any]]:
    its = snapshot["nodes"][node_name(side.node)]["filters"].get(side.device, {})
    found: Sequence[Mapping[str, Any]] = its.get(where, [])
    return found


def _actions(filters: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for each in filters:
        yield from each.get("options", {}).get("actions", ())
