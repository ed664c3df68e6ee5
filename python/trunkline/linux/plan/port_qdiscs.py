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

from trunkline.linux.plan.addresses import VethEnd
from trunkline.linux.plan.cake import add_cake
from trunkline.linux.plan.command_script import CommandScript
from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.egress_port import EgressPort
from trunkline.linux.plan.leaf_qdisc import LeafQdisc, add_leaf
from trunkline.linux.plan.shaper_qdiscs import add_hfsc, add_htb, add_prio, add_tbf

if TYPE_CHECKING:
    from trunkline.network.types import DrrScheduler, DrrShare, Link, Port

ROOT_HANDLE: Final = (
    "1:"  # Handle of the root of each port; packets of the class 1:0 bypass its queues.
)
ETHERNET_BYTES: Final = 14  # Link-layer bytes that the kernel counts at a veth device [B].
UNLIMITED_PACKETS: Final = 1_000_000
WIRE_HANDLE: Final = "1:"  # Handle of a wire's netem, at its device.
_BASE_QUANTUM: Final = 1500
_LINK_QUANTUM: Final = 60_000
_MIN_ROUTER_BURST: Final = 1600
"""Smallest bucket on a real router: a frame of Ethernet with its labels [B]."""

NEAREST_SCHEDULER: Final = {
    "wfq": "drr",
    "wrr": "drr",
    "cbq": "htb",
    "cbq-ancestor-only": "htb",
}
"""The nearest scheduler for each that the kernel lacks; CBQ left with Linux 6.8 and 6.1.81."""


def add_port(
    script: CommandScript, sending_end: VethEnd, link: Link, port_config: Port
) -> dict[int, LeafQdisc]:
    """Write the qdiscs of a port. Returns: Leaves by class; classes without queue have none."""
    out, rate = EgressPort(script, sending_end, port_config), link["rate_bit_s"]
    overhead = link["header_bytes"] - ETHERNET_BYTES
    stab = f"stab overhead {overhead} linklayer ethernet " if overhead else ""
    scheduler = port_config["scheduler"]
    kind = scheduler["kind"]
    about = f"port {port_config['name']} of {link['name']}: {rate} bit/s, {kind}"
    out.add_qdisc(f"root handle {ROOT_HANDLE} {stab}htb default 1", about)
    if kind in NEAREST_SCHEDULER:
        reason = f"the Linux kernel has no {kind}; nearest: {NEAREST_SCHEDULER[kind]}"
        out.scenario_part.refuse(reason, "scheduler")
        return {}
    _refuse_unsupported(out, link)
    out.scenario_part.require_qdisc("prio" if kind in ("priority", "shaped") else kind, "scheduler")
    burst = _compute_bucket(script.target, rate)
    out.add_tc(
        f"class add dev parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit "
        f"burst {burst}b cburst {burst}b quantum {_LINK_QUANTUM}"
    )
    if scheduler["kind"] == "priority" or scheduler["kind"] == "shaped":
        return add_prio(out, scheduler)
    if scheduler["kind"] == "drr":
        return _add_drr(out, scheduler)
    if scheduler["kind"] == "htb":
        return add_htb(out, scheduler)
    if scheduler["kind"] == "tbf":
        return add_tbf(out, scheduler)
    if scheduler["kind"] == "cake":
        return add_cake(out, scheduler)
    if scheduler["kind"] == "hfsc":
        return add_hfsc(out, scheduler)
    return {0: add_leaf(out, 0, "1:1", "")}


def _compute_bucket(target: CommandTarget, rate: int) -> int:
    """Bucket of a port [B]: bytes sent at once, which make up for late timers.

    A microsecond's worth in a guest. Timers of real routers are late by up to a millisecond, those
    of a laboratory's machine by 0.1 ms; there the wire keeps the rate as well.
    """
    if not target.on_routers:
        return max(1, -(-rate // 8_000_000))
    return max(1, rate // 80_000) if target.adds_wires else max(_MIN_ROUTER_BURST, rate // 8_000)


def _refuse_unsupported(egress_port: EgressPort, link: Link) -> None:
    """Refuse features that the kernel has otherwise: marks under labels, the size of one packet."""
    if egress_port.port_config.get("ecn_in_mpls"):
        egress_port.scenario_part.refuse(
            "the Linux kernel marks no labelled packet, it drops it; "
            "nearest: leave ecn_in_mpls out",
            "ecn_in_mpls",
        )
    for index, class_config in enumerate(egress_port.port_config["classes"]):
        aqm = class_config["queue"]["aqm"]
        if aqm["kind"] not in ("codel", "pie"):
            continue
        if aqm["mtu_bytes"] != link["mtu_bytes"] + ETHERNET_BYTES:
            egress_port.make_queue_part(index).refuse(
                f"the kernel's {aqm['kind']} takes as one "
                f"packet the device's MTU and {ETHERNET_BYTES} B "
                f"of Ethernet; {link['name']} has mtu "
                f"{link['mtu_bytes']} B; nearest: mtu: "
                f"{aqm['mtu_bytes'] - ETHERNET_BYTES} B on the link",
                *("aqm", "mtu"),
            )


def add_wire(script: CommandScript, receiving_end: VethEnd, link: Link) -> None:
    """Write the wire: packets that arrive at a device pass a netem on another one."""
    overhead = link["header_bytes"] - ETHERNET_BYTES
    loss = f" loss random {link['loss'] * 100:.10f}%" if link["loss"] else ""
    about = f"wire of {link['name']}: {link['delay_ns']} ns"
    for line in (f"link add {receiving_end.wire} type ifb", f"link set {receiving_end.wire} up"):
        script.add_command(receiving_end.node, "ip", line, about, is_wire=True)
    script.add_command(
        receiving_end.node,
        "tc",
        f"qdisc add dev {receiving_end.wire} root handle {WIRE_HANDLE} netem limit "
        f"{UNLIMITED_PACKETS} delay {_format_microseconds(link['delay_ns'])}{loss} rate "
        f"{link['rate_bit_s']}bit {overhead}",
        about,
        is_wire=True,
    )
    reorder = link.get("reorder")
    if reorder:
        # netem's share is that of the packets that it does not hold.
        script.add_command(
            receiving_end.node,
            "tc",
            f"qdisc add dev {receiving_end.wire} parent 1:1 handle 2: netem limit "
            f"{UNLIMITED_PACKETS} delay {_format_microseconds(reorder['by_ns'])} reorder "
            f"{100 - reorder['share'] * 100:.10f}%",
            about,
            is_wire=True,
        )
    if link.get("scripted"):
        script.refuse(
            ("links", link["name"], "lose"),
            f"{link['name']}: netem cannot lose a packet by its number; nearest: loss: 1 %",
        )
    for key, does in (("loss", "loses"), ("reorder", "reorders")):
        if link.get(key):
            script.add_note(
                f"{link['name']} {does} at random: other packets in the kernel than in the "
                "simulator"
            )


def _format_microseconds(time_ns: int) -> str:
    """Format a time as netem reads it, to the nanosecond."""
    return f"{time_ns // 1000}.{time_ns % 1000:03}us"


def _add_drr(egress_port: EgressPort, scheduler: DrrScheduler) -> dict[int, LeafQdisc]:
    egress_port.add_qdisc("parent 1:1 handle 10: drr")
    leaves = {}
    for index, quantum in enumerate(compute_quanta(scheduler["shares"])):
        parent = f"10:{index + 1:x}"
        egress_port.add_class(index, f"parent 10: classid {parent} drr quantum {quantum}")
        leaves[index] = add_leaf(egress_port, index, parent, parent)
    return leaves


def compute_quanta(shares: Sequence[DrrShare]) -> list[int]:
    """Quantum of each class of a deficit round robin [B]; by weight where none is set."""
    weights = [share["weight"] for share in shares if not share["quantum_bytes"]]
    smallest = min(weights, default=1)
    return [
        share["quantum_bytes"] or _BASE_QUANTUM * share["weight"] // smallest for share in shares
    ]
