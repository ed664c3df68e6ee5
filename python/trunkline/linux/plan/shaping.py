"""Schedulers that hold packets back, as the kernel's qdiscs below the link's class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from trunkline.linux.plan.leaf import Leaf, leaf, order
from trunkline.linux.plan.outlet import Outlet

if TYPE_CHECKING:
    from trunkline.network.types.ports import (
        Hfsc,
        HfscShare,
        Htb,
        HtbShare,
        Priority,
        ServiceCurve,
        Shaped,
        Tbf,
    )

Share = TypeVar("Share", "HtbShare", "HfscShare")

_ENDLESS_BYTES: Final = 2_000_000_000


def bands(out: Outlet, scheduler: Priority | Shaped) -> dict[int, Leaf]:
    """Bands of a prio, those with a rate with a token bucket in each.

    Both ask for tokens for the whole packet.
    """
    ranked = order(out, scheduler["shares"])
    count = max(2, len(ranked))
    last = " ".join([str(count - 1)] * 16)
    out.qdisc(f"parent 1:1 handle 10: prio bands {count} priomap {last}")
    limited = scheduler["shares"] if scheduler["kind"] == "shaped" else []
    made = {}
    for band, index in enumerate(ranked, start=1):
        parent = below = f"10:{band:x}"
        if limited and limited[index]["rate_bit_s"]:
            share, handle = limited[index], f"{0x40 + index:x}"
            # The queue below has the limit; the bucket's own must not bind.
            out.qdisc(
                f"parent {parent} handle {handle}: tbf rate {share['rate_bit_s']}bit "
                f"burst {share['burst_bytes']}b limit {_ENDLESS_BYTES}",
                f"class {out.config['classes'][index]['name']}",
            )
            below = f"{handle}:1"
        made[index] = leaf(out, index, below, parent)
    if any(its["rate_bit_s"] for its in limited):
        out.part.note(
            "Linux's tbf drops packets larger than its burst, the "
            "simulator lets them pass with a full bucket"
        )
    return made


def htb(out: Outlet, scheduler: Htb) -> dict[int, Leaf]:
    """A tree of its own below the link's class: it chooses when the link is free, not before."""

    def words(share: HtbShare) -> str:
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

    return _tree(out, "htb", scheduler["shares"], words)


def hfsc(out: Outlet, scheduler: Hfsc) -> dict[int, Leaf]:
    """A tree of its own below the link's class, as that of ``htb``."""

    def words(share: HfscShare) -> str:
        curves = {
            "rt": share["real_time"],
            "ls": share["link_share"],
            "ul": share["upper_limit"],
        }
        return " ".join(f"{key} {_curve(its)}" for key, its in curves.items() if its is not None)

    return _tree(out, "hfsc", scheduler["shares"], words)


def _tree(
    out: Outlet, kind: str, shares: Sequence[Share], words: Callable[[Share], str]
) -> dict[int, Leaf]:
    """Classes below each other; those at the bottom have queues."""
    out.qdisc(f"parent 1:1 handle 10: {kind}")
    parents = {share["parent"] for share in shares}
    made = {}
    for index in _top_down(shares):
        above, own = shares[index]["parent"], _classid(index)
        parent = "10:" if above is None else _classid(above)
        out.member(index, f"parent {parent} classid {own} {kind} {words(shares[index])}")
        if index not in parents:
            made[index] = leaf(out, index, own, own)
    return made


def _classid(index: int) -> str:
    return f"10:{index + 1:x}"


def _top_down(shares: Sequence[HtbShare | HfscShare]) -> list[int]:
    """Classes in an order in which each comes after its parent."""
    order: list[int] = []
    while len(order) < len(shares):
        order += [
            index
            for index, share in enumerate(shares)
            if index not in order and (share["parent"] in (None, *order))
        ]
    return order


def tbf(out: Outlet, scheduler: Tbf) -> dict[int, Leaf]:
    """A token bucket filter with the class's queue inside; its own limit must not bind."""
    (share,) = scheduler["shares"]
    peak = ""
    if share["peak_rate_bit_s"]:
        peak = f" peakrate {share['peak_rate_bit_s']}bit mtu {share['min_burst_bytes']}b"
    out.qdisc(
        f"parent 1:1 handle 10: tbf rate {share['rate_bit_s']}bit "
        f"burst {share['burst_bytes']}b{peak} limit {_ENDLESS_BYTES}"
    )
    return {0: leaf(out, 0, "10:1", "")}


def _curve(its: ServiceCurve) -> str:
    if not its["d_ns"]:
        return f"m2 {its['m2_bit_s']}bit"
    microseconds = max(1, round(its["d_ns"] / 1000))
    return f"m1 {its['m1_bit_s']}bit d {microseconds}us m2 {its['m2_bit_s']}bit"
