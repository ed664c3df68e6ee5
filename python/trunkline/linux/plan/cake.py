"""CAKE as the kernel's own qdisc below the link's class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from trunkline.linux.plan.egress_port import EgressPort
from trunkline.linux.plan.leaf_qdisc import LeafQdisc

if TYPE_CHECKING:
    from trunkline.network.types import CakeScheduler, Port, Queue

_FLOW_QUEUES: Final = 1024
_RTT_PER_TARGET: Final = 20
_TARGET_NS: Final = 5_000_000
_ISOLATION: Final = {
    "flows": "flows",
    "source": "dual-srchost",
    "destination": "dual-dsthost",
    "both": "triple-isolate",
}
_DIFFSERV4: Final = (
    (32, 40, 44, 46, 48, 56),
    (4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38),
    (1, 8),
)
"""DSCPs of the tins of cake's diffserv4: voice, video, bulk; best effort has the rest."""
_KERNEL_TINS: Final = (3, 2, 0, 1)
"""The kernel's numbers of the tins of diffserv4 in their order of priority."""


def add_cake(egress_port: EgressPort, scheduler: CakeScheduler) -> dict[int, LeafQdisc]:
    """CAKE with one tin, or with the four of ``diffserv4``; it chooses among them by DSCP."""
    config, refuse = egress_port.port_config, egress_port.scenario_part.refuse
    shares = scheduler["shares"]
    bandwidth = max(share["rate_bit_s"] for share in shares)
    tins = "besteffort" if len(shares) == 1 else "diffserv4"
    if len(shares) > 1 and not _is_diffserv4(config, scheduler, bandwidth):
        refuse("Linux's cake has its own tins; nearest: preset: cake-diffserv4", "classes")
    queues = [class_config["queue"] for class_config in config["classes"]]
    if any(class_config != _strip_rate(queues[0]) for class_config in map(_strip_rate, queues)):
        refuse("the tins of Linux's cake are alike; nearest: no queue in classes", "classes")
    class_config, flows = queues[0], queues[0].get("flows")
    if flows is None or "hosts" not in flows or class_config["aqm"]["kind"] != "cobalt":
        refuse("Linux's cake has its own cobalt and flows; nearest: no queue", "classes")
        return {}
    if flows["queues"] != _FLOW_QUEUES:
        refuse(f"Linux's cake has {_FLOW_QUEUES} queues; nearest: that many", "classes")
    if class_config["limit_bytes"] is None or class_config["limit_packets"] is not None:
        refuse("Linux's cake has a limit of bytes; nearest: limit: 4 MB", "classes")
    rtt = _find_rtt(queues)
    if rtt is None:
        refuse("Linux's cake has a target of a twentieth of its rtt; nearest: no target", "classes")
    egress_port.add_qdisc(
        f"parent 1:1 handle 10: cake bandwidth {bandwidth}bit {tins} "
        f"{_ISOLATION[flows['hosts']]} nowash raw rtt {(rtt or 0) // 1000}us "
        f"memlimit {class_config['limit_bytes']}"
    )
    if len(shares) == 1:
        return {0: LeafQdisc("10:", "cake", "")}
    order = sorted(range(len(shares)), key=lambda number: shares[number]["priority"])
    return {
        index: LeafQdisc("10:", "cake", "", tin)
        for index, tin in zip(order, _KERNEL_TINS, strict=False)
    }


def _find_rtt(queues: list[Queue]) -> int | None:
    """Find the interval that tins at their rates come from [ns]; None where tc cannot say it."""
    intervals = set()
    for each in queues:
        aqm = each["aqm"]
        if aqm["kind"] != "cobalt":
            return None
        is_raised = aqm["target_ns"] == aqm["mtu_time_ns"] * 3 // 2
        target = _TARGET_NS if is_raised else aqm["target_ns"]
        interval = aqm["interval_ns"] - (aqm["target_ns"] - target)
        if aqm["interval_ns"] != 2 * aqm["target_ns"]:
            intervals.add(interval if interval == _RTT_PER_TARGET * target else None)
    return intervals.pop() if len(intervals) == 1 else None


def _strip_rate(queue: Queue) -> Any:
    """A queue of a tin without what the tin's rate decides."""
    flows = {**(queue.get("flows") or {}), "quantum_bytes": 0}
    return {**queue, "aqm": queue["aqm"]["kind"], "flows": flows}


def _is_diffserv4(config: Port, scheduler: CakeScheduler, bandwidth: int) -> bool:
    """Whether the tins are those of tc-cake(8): rates, priorities and DSCPs."""
    shares = scheduler["shares"]
    order = sorted(range(len(shares)), key=lambda at: shares[at]["priority"])
    rates = [shares[at]["rate_bit_s"] for at in order]
    if rates != [bandwidth // 4, bandwidth // 2, bandwidth // 16, bandwidth]:
        return False
    tin_of = {dscp: tin for tin, dscps in enumerate(_DIFFSERV4) for dscp in dscps}
    return all(
        row[dscp][0] == order[tin_of.get(dscp, len(_DIFFSERV4))]
        for row in config["classifier"]["rows"]
        for dscp in range(64)
    )
