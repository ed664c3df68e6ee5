"""Ports as qdiscs: the link's rate, the scheduler, the queues, the wire behind them.

A port is an HTB at the near end that releases a packet where its transmission would start, with
the scheduler and its queues below it, and a netem at the far end that holds each packet for its
transmission and propagation. The two together are a store-and-forward link: HTB alone would send
at the start of the service time, netem alone has one queue without classes. Bytes are those of
the scenario's link: a size table (``stab``) takes the 14 bytes of Ethernet off and adds the link's
``header``. HTB's bucket of one microsecond makes up for late timers and for nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from trunkline.linux.plan.addresses import Side
from trunkline.linux.plan.cake import cake
from trunkline.linux.plan.leaf import Leaf, leaf
from trunkline.linux.plan.outlet import Outlet
from trunkline.linux.plan.script import Script
from trunkline.linux.plan.shaping import bands, hfsc, htb, tbf

if TYPE_CHECKING:
    from trunkline.network.types import Link
    from trunkline.network.types.ports import Drr, DrrShare, Port

ETHERNET: Final = 14
"""Link-layer bytes that the kernel counts at a veth device [B]."""
ENDLESS_PACKETS: Final = 1_000_000
_BASE_QUANTUM: Final = 1500
_LINK_QUANTUM: Final = 60_000
_FRAME: Final = 1600
"""Smallest bucket on a real router: a frame of Ethernet with its labels [B]."""

NEAREST: Final = {
    "wfq": "drr",
    "wrr": "drr",
    "cbq": "htb",
    "cbq-ancestor-only": "htb",
}
"""What comes nearest to schedulers the kernel lacks; CBQ left it with Linux 6.8 and 6.1.81."""


def port(script: Script, side: Side, link: Link, config: Port) -> dict[int, Leaf]:
    """Says the qdiscs of a port.

    Returns
    -------
    dict of int to Leaf
        By class; classes that hold no packets have none.
    """
    out, rate = Outlet(script, side, config), link["rate_bit_s"]
    overhead = link["header_bytes"] - ETHERNET
    stab = f"stab overhead {overhead} linklayer ethernet " if overhead else ""
    scheduler = config["scheduler"]
    kind = scheduler["kind"]
    about = f"port {config['name']} of {link['name']}: {rate} bit/s, {kind}"
    out.qdisc(f"root handle 1: {stab}htb default 1", about)
    if kind in NEAREST:
        why = f"the Linux kernel has no {kind}; nearest: {NEAREST[kind]}"
        out.part.refuse(why, "scheduler")
        return {}
    _refuse_unlike(out, link)
    out.part.need("prio" if kind in ("priority", "shaped") else kind, "scheduler")
    # A microsecond's worth in a guest; timers of real routers are late by up to a millisecond.
    burst = max(_FRAME, rate // 8_000) if script.ground.routers else max(1, -(-rate // 8_000_000))
    out.tc(
        f"class add dev parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit "
        f"burst {burst}b cburst {burst}b quantum {_LINK_QUANTUM}"
    )
    if scheduler["kind"] == "priority" or scheduler["kind"] == "shaped":
        return bands(out, scheduler)
    if scheduler["kind"] == "drr":
        return _drr(out, scheduler)
    if scheduler["kind"] == "htb":
        return htb(out, scheduler)
    if scheduler["kind"] == "tbf":
        return tbf(out, scheduler)
    if scheduler["kind"] == "cake":
        return cake(out, scheduler)
    if scheduler["kind"] == "hfsc":
        return hfsc(out, scheduler)
    return {0: leaf(out, 0, "1:1", "")}


def _refuse_unlike(out: Outlet, link: Link) -> None:
    """Refuses what the kernel does otherwise: marks under labels, the size of one packet."""
    if out.config.get("ecn_in_mpls"):
        out.part.refuse(
            "the Linux kernel marks no labelled packet, it drops it; "
            "nearest: leave ecn_in_mpls out",
            "ecn_in_mpls",
        )
    for index, its in enumerate(out.config["classes"]):
        aqm = its["queue"]["aqm"]
        if aqm["kind"] not in ("codel", "pie"):
            continue
        if aqm["mtu_bytes"] != link["mtu_bytes"] + ETHERNET:
            out.queue(index).refuse(
                f"the kernel's {aqm['kind']} takes as one "
                f"packet the device's MTU and {ETHERNET} B of Ethernet; {link['name']} has mtu "
                f"{link['mtu_bytes']} B; nearest: mtu: {aqm['mtu_bytes'] - ETHERNET} B on the link",
                *("aqm", "mtu"),
            )


def wire(script: Script, side: Side, link: Link) -> None:
    """Says the wire: what arrives at a device passes a netem on another one."""
    overhead = link["header_bytes"] - ETHERNET
    loss = f" loss random {link['loss'] * 100:.10f}%" if link["loss"] else ""
    about = f"wire of {link['name']}: {link['delay_ns']} ns"
    for line in (f"link add {side.wire} type ifb", f"link set {side.wire} up"):
        script.say(side.node, "ip", line, about, wire=True)
    script.say(
        side.node,
        "tc",
        f"qdisc add dev {side.wire} root handle 1: netem limit {ENDLESS_PACKETS} "
        f"delay {_microseconds(link['delay_ns'])}{loss} rate {link['rate_bit_s']}bit {overhead}",
        about,
        wire=True,
    )
    if link.get("scripted"):
        script.refuse(
            ("links", link["name"], "lose"),
            f"{link['name']}: netem cannot lose a packet by its number; nearest: loss: 1 %",
        )
    if link["loss"]:
        script.note(
            f"{link['name']} loses at random: other packets in the kernel than in the simulator"
        )


def _microseconds(time_ns: int) -> str:
    """A time as netem reads it, to the nanosecond."""
    return f"{time_ns // 1000}.{time_ns % 1000:03}us"


def _drr(out: Outlet, scheduler: Drr) -> dict[int, Leaf]:
    out.qdisc("parent 1:1 handle 10: drr")
    made = {}
    for index, quantum in enumerate(quanta(scheduler["shares"])):
        parent = f"10:{index + 1:x}"
        out.member(index, f"parent 10: classid {parent} drr quantum {quantum}")
        made[index] = leaf(out, index, parent, parent)
    return made


def quanta(shares: Sequence[DrrShare]) -> list[int]:
    """Quantum of each class of a deficit round robin [B]; by weight where none is set."""
    weights = [its["weight"] for its in shares if not its["quantum_bytes"]]
    smallest = min(weights, default=1)
    return [its["quantum_bytes"] or _BASE_QUANTUM * its["weight"] // smallest for its in shares]
