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
from trunkline.linux.plan.leaf import Leaf, leaf, need, order
from trunkline.linux.plan.script import Script
from trunkline.linux.plan.shaping import hfsc, htb, shaped, tbf

if TYPE_CHECKING:
    from trunkline.network.types import Link
    from trunkline.network.types.ports import Drr, DrrShare, Port, PriorityShare

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


def port(
    script: Script,
    side: Side,
    link: Link,
    config: Port,
) -> dict[int, Leaf]:
    """Says the qdiscs of a port.

    Returns
    -------
    dict of int to Leaf
        By class; classes that hold no packets have none.
    """
    rate, device = link["rate_bit_s"], side.device
    overhead = link["header_bytes"] - ETHERNET
    stab = f"stab overhead {overhead} linklayer ethernet " if overhead else ""
    scheduler = config["scheduler"]
    kind = scheduler["kind"]
    about = f"port {config['name']} of {link['name']}: {rate} bit/s, {kind}"
    script.say(side.node, "tc", f"qdisc add dev {device} root handle 1: {stab}htb default 1", about)
    if kind in NEAREST:
        script.refuse(
            ("ports", config["name"], "scheduler"),
            f"port {config['name']}: the Linux kernel has no {kind}; nearest: {NEAREST[kind]}",
        )
        return {}
    _refuse_unlike(script, link, config)
    qdisc = "prio" if kind in ("priority", "shaped") else kind
    need(script, f"port {config['name']}", qdisc, ("ports", config["name"], "scheduler"))
    # A microsecond's worth in a guest; timers of real routers are late by up to a millisecond.
    routers = script.ground.routers
    burst = max(_FRAME, rate // 8_000) if routers else max(1, -(-rate // 8_000_000))
    script.say(
        side.node,
        "tc",
        f"class add dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit "
        f"burst {burst}b cburst {burst}b quantum {_LINK_QUANTUM}",
    )
    if scheduler["kind"] == "priority":
        return _priority(script, side, config, scheduler["shares"])
    if scheduler["kind"] == "drr":
        return _drr(script, side, config, scheduler)
    if scheduler["kind"] == "shaped":
        return shaped(script, side, config, scheduler)
    if scheduler["kind"] == "htb":
        return htb(script, side, config, scheduler)
    if scheduler["kind"] == "tbf":
        return tbf(script, side, config, scheduler)
    if scheduler["kind"] == "cake":
        return cake(script, side, config, scheduler)
    if scheduler["kind"] == "hfsc":
        return hfsc(script, side, config, scheduler)
    return {0: leaf(script, side, config, 0, "1:1", "")}


def _refuse_unlike(script: Script, link: Link, config: Port) -> None:
    """Refuses what the kernel does otherwise: marks under labels, the size of one packet."""
    if config.get("ecn_in_mpls"):
        script.refuse(
            ("ports", config["name"], "ecn_in_mpls"),
            f"port {config['name']}: the Linux kernel marks no labelled packet, it drops it; "
            "nearest: leave ecn_in_mpls out",
        )
    for its in config["classes"]:
        aqm = its["queue"]["aqm"]
        if aqm["kind"] not in ("codel", "pie"):
            continue
        if aqm["mtu_bytes"] != link["mtu_bytes"] + ETHERNET:
            script.refuse(
                ("ports", config["name"], "classes", its["name"], "queue", "aqm", "mtu"),
                f"queue of {config['name']}.{its['name']}: the kernel's {aqm['kind']} takes as one "
                f"packet the device's MTU and {ETHERNET} B of Ethernet; {link['name']} has mtu "
                f"{link['mtu_bytes']} B; nearest: mtu: {aqm['mtu_bytes'] - ETHERNET} B on the link",
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


def _priority(
    script: Script, side: Side, config: Port, shares: Sequence[PriorityShare]
) -> dict[int, Leaf]:
    ranked = order(script, config, shares)
    bands = max(2, len(ranked))
    last = " ".join([str(bands - 1)] * 16)
    script.say(
        side.node,
        "tc",
        f"qdisc add dev {side.device} parent 1:1 handle 10: prio bands {bands} priomap {last}",
    )
    return {
        each: leaf(script, side, config, each, f"10:{band:x}", f"10:{band:x}")
        for band, each in enumerate(ranked, start=1)
    }


def _drr(script: Script, side: Side, config: Port, scheduler: Drr) -> dict[int, Leaf]:
    script.say(side.node, "tc", f"qdisc add dev {side.device} parent 1:1 handle 10: drr")
    made = {}
    for index, quantum in enumerate(quanta(scheduler["shares"])):
        parent = f"10:{index + 1:x}"
        script.say(
            side.node,
            "tc",
            f"class add dev {side.device} parent 10: classid {parent} drr quantum {quantum}",
            f"class {config['classes'][index]['name']}",
        )
        made[index] = leaf(script, side, config, index, parent, parent)
    return made


def quanta(shares: Sequence[DrrShare]) -> list[int]:
    """Quantum of each class of a deficit round robin [B]; by weight where none is set."""
    weights = [its["weight"] for its in shares if not its["quantum_bytes"]]
    smallest = min(weights, default=1)
    return [its["quantum_bytes"] or _BASE_QUANTUM * its["weight"] // smallest for its in shares]
