"""Queues that judge by time in the queue, and queues by flow, as the kernel's own qdiscs."""

from typing import Final

from trunkline.linux.plan.command_script import CommandScript, ScenarioPart
from trunkline.linux.plan.egress_port import EgressPort, make_queue_part
from trunkline.network.types import FlowQueues, NetworkData, Pie, Queue

_PIE_BURST_NS: Final = 150_000_000  # Burst allowance of the kernel's PIE, which `tc` cannot set.
_GAIN_STEPS: Final = 16  # `tc` takes PIE's gains in sixteenths.
_TICK_NS: Final = 4_000_000
"""Tick of the kernel's clock; whole ticks are between two updates of PIE."""


def refuse_in_service(part: ScenarioPart) -> None:
    """Refuse a limit that counts the packet in service."""
    key = "counts_in_service"
    part.refuse(f"what is in service has left the queue in Linux; nearest: {key}: false", key)


def add_timed_queue(
    egress_port: EgressPort, part: ScenarioPart, queue_config: Queue, parent_and_handle: str
) -> str:
    """Write the qdisc of a queue with CoDel, PIE or flows; return its kind, as ``aqm.queue``.

    ``parent_and_handle`` is its parent and handle.
    """
    aqm = queue_config["aqm"]
    flows = queue_config.get("flows")
    packets = queue_config["limit_packets"]
    if packets is None or queue_config["limit_bytes"] is not None:
        part.refuse("Linux's qdisc has a limit of packets; nearest: limit: 1000 packets", "limit")
    if queue_config["counts_in_service"]:
        refuse_in_service(part)
    if aqm["kind"] == "cobalt":
        part.refuse("the Linux kernel has cobalt in cake alone; nearest: scheduler: cake", "aqm")
    kind, parameters = _choose_qdisc(aqm["kind"], flows), f"limit {packets}"
    if flows is not None:
        parameters += _format_flows(part, kind, flows)
    if aqm["kind"] == "codel":
        parameters += (
            f" target {_format_microseconds(aqm['target_ns'])} interval "
            f"{_format_microseconds(aqm['interval_ns'])} ecn"
        )
        if aqm["ce_threshold_ns"] is not None:
            parameters += f" ce_threshold {_format_microseconds(aqm['ce_threshold_ns'])}"
    elif aqm["kind"] == "pie":
        parameters += _format_pie(part, aqm)
        ticks = -(-aqm["tupdate_ns"] // _TICK_NS)
        if aqm["tupdate_ns"] != ticks * _TICK_NS:
            part.add_note(
                "the kernel's clock has 250 ticks a second, so its PIE is "
                f"updated every {ticks * _TICK_NS // 1_000_000} ms; tupdate: "
                f"{ticks * _TICK_NS // 1_000_000} ms is the same in the simulator"
            )
    if aqm["kind"] in ("codel", "pie") and aqm["arithmetic"] != "linux":
        part.add_note(f"the kernel's {aqm['kind']} is arithmetic: linux here")
    egress_port.add_qdisc(f"{parent_and_handle} {kind} {parameters}", f"{part.name}: {kind}")
    return kind


def _choose_qdisc(aqm: str, flows: FlowQueues | None) -> str:
    if flows is None:
        return aqm
    if aqm in ("codel", "pie"):
        return f"fq_{aqm}"
    if "hosts" in flows:
        return "cake"
    return "fq" if flows["new_first"] else "sfq"


def _format_microseconds(time_ns: int) -> str:
    return f"{max(1, round(time_ns / 1000))}us"


def _format_flows(part: ScenarioPart, kind: str, flows: FlowQueues) -> str:
    queues = flows["queues"]
    parameters = f" quantum {flows['quantum_bytes']}"
    if kind == "fq":
        if queues is not None:
            reason = "Linux's fq has a queue for each flow; nearest: queues: flow"
            part.refuse(reason, "flows", "queues")
        return f"{parameters} initial_quantum {flows['quantum_bytes']} nopacing " + (
            f"flow_limit {flows['flow_limit_packets']}"
        )
    if queues is None or (kind == "sfq" and queues & (queues - 1)):
        part.refuse(f"Linux's {kind} hashes flows; nearest: queues: 1024", "flows", "queues")
    if kind == "sfq":
        return f"{parameters} divisor {queues} depth {flows['flow_limit_packets']}"
    batch = f" drop_batch {flows['batch']}" if kind == "fq_codel" else ""
    return f"{parameters} flows {queues}{batch}"


def _format_pie(part: ScenarioPart, aqm: Pie) -> str:
    gains = {"alpha": aqm["alpha"] * _GAIN_STEPS, "beta": aqm["beta"] * _GAIN_STEPS}
    for key, gain in gains.items():
        if gain != round(gain):
            nearest = f"{key}: {round(gain) / _GAIN_STEPS:g}"
            part.refuse(f"tc takes {key} in sixteenths; nearest: {nearest}", "aqm", key)
    if aqm["burst_ns"] != _PIE_BURST_NS:
        part.refuse("Linux's pie has a burst of 150 ms; nearest: burst: 150 ms", "aqm", "burst")
    tupdate = aqm["tupdate_ns"]
    if not part.script.target.on_routers:
        # kernel/time/timer.c, calc_index: so as never to fire early, a timer fires a tick late.
        tupdate = (-(-tupdate // _TICK_NS) - 1) * _TICK_NS
        if not tupdate:
            part.refuse(
                "the kernel's clock has 250 ticks a second and its PIE is updated every second "
                "one at most; nearest: tupdate: 8 ms",
                *("aqm", "tupdate"),
            )
    return (
        f" target {_format_microseconds(aqm['target_ns'])} tupdate {_format_microseconds(tupdate)} "
        f"alpha {round(gains['alpha'])} beta {round(gains['beta'])} ecn"
    )


def refuse_labelled(script: CommandScript, network: NetworkData, index: int, stacks: int) -> None:
    """Refuse queues by flow that would tell labelled packets apart otherwise than asked.

    The kernel's flow dissector sees no label: to it all labelled packets are one flow, whatever
    their labels. Where they keep the hash of their sender's socket they are told apart by it, as no
    router could; only ``sfq`` takes its own hash of the packet.
    """
    link = network["links"][index]
    port = network["ports"][link["port"]]
    for class_config in port["classes"] if stacks else ():
        flows = class_config["queue"].get("flows")
        if flows is None:
            continue
        kind = _choose_qdisc(class_config["queue"]["aqm"]["kind"], flows)
        keeps_hash = script.target.keeps_hash and kind != "sfq"
        by_five_tuple = flows["labelled"] == "five-tuple"
        if kind == "fq":
            reason = (
                "Linux's fq holds a labelled datagram until the time stamp that it arrived with, "
                "which MPLS does not clear; nearest: flows: fq-codel"
            )
        elif keeps_hash and not by_five_tuple:
            reason = (
                "in this kernel the hash of the sender's socket stays with a labelled packet, "
                "which tells it apart as no router would; nearest: labelled: 5-tuple, or "
                "--runner uml"
            )
        elif not keeps_hash and by_five_tuple:
            reason = f"Linux's {kind} sees no flow behind a label; nearest: labelled: label"
        elif by_five_tuple and flows.get("hosts", "flows") != "flows":
            reason = "Linux's cake sees no host behind a label; nearest: hosts: flows"
        elif not keeps_hash and stacks > 1:
            reason = (
                f"Linux's {kind} takes all labelled packets for one flow, and {link['name']} has "
                f"those of {stacks} label stacks; nearest: one path over it"
            )
        else:
            continue
        make_queue_part(script, port, class_config["name"]).refuse(reason, "flows", "labelled")
