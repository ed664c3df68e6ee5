"""Schedulers that hold packets back, as the kernel's qdiscs below the link's class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from trunkline.linux.plan.addresses import Side
from trunkline.linux.plan.leaf import Leaf, leaf, order
from trunkline.linux.plan.script import Script

if TYPE_CHECKING:
    from trunkline.network.types.ports import (
        Hfsc,
        HfscShare,
        Htb,
        HtbShare,
        Port,
        ServiceCurve,
        Shaped,
        Tbf,
    )

_ENDLESS_BYTES: Final = 2_000_000_000


def shaped(script: Script, side: Side, config: Port, scheduler: Shaped) -> dict[int, Leaf]:
    """Bands of a prio with a token bucket in each: both ask for tokens for the whole packet."""
    shares = scheduler["shares"]
    ranked = order(script, config, shares)
    bands = max(2, len(ranked))
    last = " ".join([str(bands - 1)] * 16)
    script.say(
        side.node,
        "tc",
        f"qdisc add dev {side.device} parent 1:1 handle 10: prio bands {bands} priomap {last}",
    )
    made = {}
    for band, index in enumerate(ranked, start=1):
        its, parent = config["classes"][index], f"10:{band:x}"
        share = shares[index]
        if share["rate_bit_s"]:
            # The queue below has the limit; the bucket's own must not bind.
            script.say(
                side.node,
                "tc",
                f"qdisc add dev {side.device} parent {parent} handle {0x40 + index:x}: tbf "
                f"rate {share['rate_bit_s']}bit burst {share['burst_bytes']}b "
                f"limit {_ENDLESS_BYTES}",
                f"class {its['name']}",
            )
            below = f"{0x40 + index:x}:1"
            made[index] = leaf(script, side, config, index, below, parent)
        else:
            made[index] = leaf(script, side, config, index, parent, parent)
    if any(its["rate_bit_s"] for its in shares):
        script.note(
            f"port {config['name']}: Linux's tbf drops packets larger than its burst, the "
            "simulator lets them pass with a full bucket"
        )
    return made


def htb(script: Script, side: Side, config: Port, scheduler: Htb) -> dict[int, Leaf]:
    """A tree of its own below the link's class: it chooses when the link is free, not before."""
    script.say(side.node, "tc", f"qdisc add dev {side.device} parent 1:1 handle 10: htb")
    shares = scheduler["shares"]
    parents = {share["parent"] for share in shares}
    made = {}
    for index in _top_down(shares):
        share = shares[index]
        classid = _classid(index)
        parent = "10:" if share["parent"] is None else _classid(share["parent"])
        rate = share["rate_bit_s"]
        ceil = share["ceil_bit_s"] or rate
        if share["parent"] is None:
            # Without an ancestor there is nobody to borrow from (Linux would let it use its ceil).
            ceil = rate if ceil > rate else ceil
        quantum = share["quantum_bytes"] or min(200_000, max(1000, rate // 80))
        script.say(
            side.node,
            "tc",
            f"class add dev {side.device} parent {parent} classid {classid} htb rate {rate}bit "
            f"ceil {ceil}bit burst {share['burst_bytes']}b cburst {share['cburst_bytes']}b "
            f"prio {share['priority']} quantum {quantum}",
            f"class {config['classes'][index]['name']}",
        )
        if index not in parents:
            made[index] = leaf(script, side, config, index, classid, classid)
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


def tbf(script: Script, side: Side, config: Port, scheduler: Tbf) -> dict[int, Leaf]:
    """A token bucket filter with the class's queue inside; its own limit must not bind."""
    (share,) = scheduler["shares"]
    peak = (
        f" peakrate {share['peak_rate_bit_s']}bit mtu {share['min_burst_bytes']}b"
        if share["peak_rate_bit_s"]
        else ""
    )
    script.say(
        side.node,
        "tc",
        f"qdisc add dev {side.device} parent 1:1 handle 10: tbf rate {share['rate_bit_s']}bit "
        f"burst {share['burst_bytes']}b{peak} limit {_ENDLESS_BYTES}",
    )
    return {0: leaf(script, side, config, 0, "10:1", "")}


def hfsc(script: Script, side: Side, config: Port, scheduler: Hfsc) -> dict[int, Leaf]:
    """A tree of its own below the link's class, as that of ``htb``."""
    script.say(side.node, "tc", f"qdisc add dev {side.device} parent 1:1 handle 10: hfsc")
    shares = scheduler["shares"]
    parents = {share["parent"] for share in shares}
    made = {}
    for index in _top_down(shares):
        share = shares[index]
        parent = "10:" if share["parent"] is None else _classid(share["parent"])
        curves = {
            "rt": share["real_time"],
            "ls": share["link_share"],
            "ul": share["upper_limit"],
        }
        words = " ".join(f"{key} {_curve(its)}" for key, its in curves.items() if its is not None)
        script.say(
            side.node,
            "tc",
            f"class add dev {side.device} parent {parent} classid {_classid(index)} hfsc {words}",
            f"class {config['classes'][index]['name']}",
        )
        if index not in parents:
            made[index] = leaf(script, side, config, index, _classid(index), _classid(index))
    return made


def _curve(its: ServiceCurve) -> str:
    if not its["d_ns"]:
        return f"m2 {its['m2_bit_s']}bit"
    microseconds = max(1, round(its["d_ns"] / 1000))
    return f"m1 {its['m1_bit_s']}bit d {microseconds}us m2 {its['m2_bit_s']}bit"
