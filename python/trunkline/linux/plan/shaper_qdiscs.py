"""Schedulers that hold packets back, as the kernel's qdiscs below the link's class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from trunkline.linux.plan.egress_port import EgressPort
from trunkline.linux.plan.leaf_qdisc import LeafQdisc, add_leaf, rank_classes

if TYPE_CHECKING:
    from trunkline.network.types import (
        HfscScheduler,
        HfscShare,
        HtbScheduler,
        HtbShare,
        PriorityScheduler,
        ServiceCurve,
        ShapedScheduler,
        TbfScheduler,
    )

Share = TypeVar("Share", "HtbShare", "HfscShare")

_UNLIMITED_BYTES: Final = 2_000_000_000


def add_prio(
    egress_port: EgressPort, scheduler: PriorityScheduler | ShapedScheduler
) -> dict[int, LeafQdisc]:
    """Bands of a prio, those with a rate with a token bucket in each.

    Both ask for tokens for the whole packet.
    """
    ranked = rank_classes(egress_port, scheduler["shares"])
    count = max(2, len(ranked))
    last = " ".join([str(count - 1)] * 16)
    egress_port.add_qdisc(f"parent 1:1 handle 10: prio bands {count} priomap {last}")
    shaped_shares = scheduler["shares"] if scheduler["kind"] == "shaped" else []
    leaves = {}
    for band, index in enumerate(ranked, start=1):
        parent = queue_parent = f"10:{band:x}"
        if shaped_shares and shaped_shares[index]["rate_bit_s"]:
            share, handle = shaped_shares[index], f"{0x40 + index:x}"
            # The queue below has the limit; the bucket's own must not bind.
            egress_port.add_qdisc(
                f"parent {parent} handle {handle}: tbf rate {share['rate_bit_s']}bit "
                f"burst {share['burst_bytes']}b limit {_UNLIMITED_BYTES}",
                f"class {egress_port.port_config['classes'][index]['name']}",
            )
            queue_parent = f"{handle}:1"
        leaves[index] = add_leaf(egress_port, index, queue_parent, parent)
    if any(limited_share["rate_bit_s"] for limited_share in shaped_shares):
        egress_port.scenario_part.add_note(
            "Linux's tbf drops packets larger than its burst, the "
            "simulator lets them pass with a full bucket"
        )
    return leaves


def add_htb(egress_port: EgressPort, scheduler: HtbScheduler) -> dict[int, LeafQdisc]:
    """A tree of its own below the link's class: it chooses when the link is free, not before."""

    def format_share(share: HtbShare) -> str:
        rate = share["rate_bit_s"]
        ceil = share["ceil_bit_s"] or rate
        if share["parent"] is None:
            # Without an ancestor there is nobody to borrow from (Linux would let it use its ceil).
            ceil = min(ceil, rate)
        quantum = share["quantum_bytes"] or min(200_000, max(1000, rate // 80))
        return (
            f"rate {rate}bit ceil {ceil}bit burst {share['burst_bytes']}b "
            f"cburst {share['cburst_bytes']}b prio {share['priority']} quantum {quantum}"
        )

    return _add_tree(egress_port, "htb", scheduler["shares"], format_share)


def add_hfsc(egress_port: EgressPort, scheduler: HfscScheduler) -> dict[int, LeafQdisc]:
    """A tree of its own below the link's class, as that of ``htb``."""

    def format_share(share: HfscShare) -> str:
        curves = {
            "rt": share["real_time"],
            "ls": share["link_share"],
            "ul": share["upper_limit"],
        }
        return " ".join(
            f"{key} {_format_curve(curve)}" for key, curve in curves.items() if curve is not None
        )

    return _add_tree(egress_port, "hfsc", scheduler["shares"], format_share)


def _add_tree(
    egress_port: EgressPort,
    kind: str,
    shares: Sequence[Share],
    format_share: Callable[[Share], str],
) -> dict[int, LeafQdisc]:
    """Add classes below each other; those at the bottom have queues."""
    egress_port.add_qdisc(f"parent 1:1 handle 10: {kind}")
    parents = {share["parent"] for share in shares}
    leaves = {}
    for index in _sort_top_down(shares):
        parent_index, class_id = shares[index]["parent"], _format_class_id(index)
        parent = "10:" if parent_index is None else _format_class_id(parent_index)
        egress_port.add_class(
            index, f"parent {parent} classid {class_id} {kind} {format_share(shares[index])}"
        )
        if index not in parents:
            leaves[index] = add_leaf(egress_port, index, class_id, class_id)
    return leaves


def _format_class_id(index: int) -> str:
    return f"10:{index + 1:x}"


def _sort_top_down(shares: Sequence[HtbShare | HfscShare]) -> list[int]:
    """Sort the classes in an order in which each comes after its parent."""
    order: list[int] = []
    while len(order) < len(shares):
        order += [
            index
            for index, share in enumerate(shares)
            if index not in order and (share["parent"] in (None, *order))
        ]
    return order


def add_tbf(egress_port: EgressPort, scheduler: TbfScheduler) -> dict[int, LeafQdisc]:
    """A token bucket filter with the class's queue inside; its own limit must not bind."""
    (share,) = scheduler["shares"]
    peak = ""
    if share["peak_rate_bit_s"]:
        peak = f" peakrate {share['peak_rate_bit_s']}bit mtu {share['min_burst_bytes']}b"
    egress_port.add_qdisc(
        f"parent 1:1 handle 10: tbf rate {share['rate_bit_s']}bit "
        f"burst {share['burst_bytes']}b{peak} limit {_UNLIMITED_BYTES}"
    )
    return {0: add_leaf(egress_port, 0, "10:1", "")}


def _format_curve(curve: ServiceCurve) -> str:
    if not curve["d_ns"]:
        return f"m2 {curve['m2_bit_s']}bit"
    microseconds = max(1, round(curve["d_ns"] / 1000))
    return f"m1 {curve['m1_bit_s']}bit d {microseconds}us m2 {curve['m2_bit_s']}bit"
