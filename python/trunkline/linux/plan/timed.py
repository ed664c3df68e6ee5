"""Queues that judge by time in the queue, and queues by flow, as the kernel's own qdiscs."""

from typing import Final

from trunkline.linux.plan.outlet import Outlet, queue_of
from trunkline.linux.plan.script import Part, Script
from trunkline.network.types import Flows, Network, Queue
from trunkline.network.types.ports import Pie

_BURST_NS: Final = 150_000_000
"""Burst allowance of the kernel's PIE, which `tc` cannot set."""
_SIXTEENTHS: Final = 16
"""`tc` takes PIE's gains in sixteenths."""
_TICK_NS: Final = 4_000_000
"""Of the kernel's clock, whole ones of which are between two updates of PIE."""


def refuse_in_service(part: Part) -> None:
    """Refuses a limit that counts the packet in service."""
    key = "counts_in_service"
    part.refuse(f"what is in service has left the queue in Linux; nearest: {key}: false", key)


def timed(out: Outlet, part: Part, its: Queue, place: str) -> str:
    """Says the qdisc of a queue with CoDel, PIE or flows and returns its kind, as ``aqm.queue``.

    ``place`` is its parent and handle.
    """
    aqm, flows, packets = its["aqm"], its.get("flows"), its["limit_packets"]
    if packets is None or its["limit_bytes"] is not None:
        part.refuse("Linux's qdisc has a limit of packets; nearest: limit: 1000 packets", "limit")
    if its["counts_in_service"]:
        refuse_in_service(part)
    if aqm["kind"] == "cobalt":
        part.refuse("the Linux kernel has cobalt in cake alone; nearest: scheduler: cake", "aqm")
    kind, words = _kind(aqm["kind"], flows), f"limit {packets}"
    if flows is not None:
        words += _flows(part, kind, flows)
    if aqm["kind"] == "codel":
        words += f" target {_us(aqm['target_ns'])} interval {_us(aqm['interval_ns'])} ecn"
        if aqm["ce_threshold_ns"] is not None:
            words += f" ce_threshold {_us(aqm['ce_threshold_ns'])}"
    elif aqm["kind"] == "pie":
        words += _pie(part, aqm)
        ticks = -(-aqm["tupdate_ns"] // _TICK_NS)
        if aqm["tupdate_ns"] != ticks * _TICK_NS:
            part.note(
                "the kernel's clock has 250 ticks a second, so its PIE is "
                f"updated every {ticks * _TICK_NS // 1_000_000} ms; tupdate: "
                f"{ticks * _TICK_NS // 1_000_000} ms is the same in the simulator"
            )
    if aqm["kind"] in ("codel", "pie") and aqm["arithmetic"] != "linux":
        part.note(f"the kernel's {aqm['kind']} is arithmetic: linux here")
    out.qdisc(f"{place} {kind} {words}", f"{part.name}: {kind}")
    return kind


def _kind(aqm: str, flows: Flows | None) -> str:
    if flows is None:
        return aqm
    if aqm in ("codel", "pie"):
        return f"fq_{aqm}"
    if "hosts" in flows:
        return "cake"
    return "fq" if flows["new_first"] else "sfq"


def _us(time_ns: int) -> str:
    return f"{max(1, round(time_ns / 1000))}us"


def _flows(part: Part, kind: str, flows: Flows) -> str:
    queues = flows["queues"]
    words = f" quantum {flows['quantum_bytes']}"
    if kind == "fq":
        if queues is not None:
            why = "Linux's fq has a queue for each flow; nearest: queues: flow"
            part.refuse(why, "flows", "queues")
        return f"{words} initial_quantum {flows['quantum_bytes']} nopacing " + (
            f"flow_limit {flows['flow_limit_packets']}"
        )
    if queues is None or (kind == "sfq" and queues & (queues - 1)):
        part.refuse(f"Linux's {kind} hashes flows; nearest: queues: 1024", "flows", "queues")
    if kind == "sfq":
        return f"{words} divisor {queues} depth {flows['flow_limit_packets']}"
    batch = f" drop_batch {flows['batch']}" if kind == "fq_codel" else ""
    return f"{words} flows {queues}{batch}"


def _pie(part: Part, aqm: Pie) -> str:
    gains = {"alpha": aqm["alpha"] * _SIXTEENTHS, "beta": aqm["beta"] * _SIXTEENTHS}
    for key, gain in gains.items():
        if gain != round(gain):
            nearest = f"{key}: {round(gain) / _SIXTEENTHS:g}"
            part.refuse(f"tc takes {key} in sixteenths; nearest: {nearest}", "aqm", key)
    if aqm["burst_ns"] != _BURST_NS:
        part.refuse("Linux's pie has a burst of 150 ms; nearest: burst: 150 ms", "aqm", "burst")
    tupdate = aqm["tupdate_ns"]
    if not part.script.ground.routers:
        # kernel/time/timer.c, calc_index: so as never to fire early, a timer fires a tick late.
        tupdate = (-(-tupdate // _TICK_NS) - 1) * _TICK_NS
        if not tupdate:
            part.refuse(
                "the kernel's clock has 250 ticks a second and its PIE is updated every second "
                "one at most; nearest: tupdate: 8 ms",
                *("aqm", "tupdate"),
            )
    return (
        f" target {_us(aqm['target_ns'])} tupdate {_us(tupdate)} "
        f"alpha {round(gains['alpha'])} beta {round(gains['beta'])} ecn"
    )


def refuse_labelled(script: Script, data: Network, index: int, stacks: int) -> None:
    """Refuses queues by flow that would tell labelled packets apart otherwise than asked.

    The kernel's flow dissector sees no label: to it all labelled packets are one flow, whatever
    their labels. Where they keep the hash of their sender's socket they are told apart by it, as no
    router could; only ``sfq`` takes its own hash of the packet.
    """
    link = data["links"][index]
    port = data["ports"][link["port"]]
    for its in port["classes"] if stacks else ():
        flows = its["queue"].get("flows")
        if flows is None:
            continue
        kind = _kind(its["queue"]["aqm"]["kind"], flows)
        kept = script.ground.keeps_hash and kind != "sfq"
        behind = flows["labelled"] == "five-tuple"
        if kind == "fq":
            why = (
                "Linux's fq holds a labelled datagram until the time stamp that it arrived with, "
                "which MPLS does not clear; nearest: flows: fq-codel"
            )
        elif kept and not behind:
            why = (
                "in this kernel the hash of the sender's socket stays with a labelled packet, "
                "which tells it apart as no router would; nearest: labelled: 5-tuple, or "
                "--runner uml"
            )
        elif not kept and behind:
            why = f"Linux's {kind} sees no flow behind a label; nearest: labelled: label"
        elif behind and flows.get("hosts", "flows") != "flows":
            why = "Linux's cake sees no host behind a label; nearest: hosts: flows"
        elif not kept and stacks > 1:
            why = (
                f"Linux's {kind} takes all labelled packets for one flow, and {link['name']} has "
                f"those of {stacks} label stacks; nearest: one path over it"
            )
        else:
            continue
        queue_of(script, port, its["name"]).refuse(why, "flows", "labelled")
