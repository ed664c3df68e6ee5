"""Queues as qdiscs: limits of packets or bytes, RED, GRED."""

import math
from typing import Final

from trunkline.linux.plan.command_script import ScenarioPart
from trunkline.linux.plan.egress_port import EgressPort
from trunkline.linux.plan.timed_queues import add_timed_queue, refuse_in_service
from trunkline.network.types import Gred, Queue, Red, RedLinux, TcRed

_UNLIMITED_PACKETS: Final = 1_000_000
_UNLIMITED_BYTES: Final = 2_000_000_000

NEAREST_AQM: Final = {
    "wred": "gred",
    "rio-c": "gred with grio: true",
    "rio-d": "gred",
    "blue": "pie",
    "cobalt": "codel, or scheduler: cake",
    "dualpi2": "codel with ce_threshold; the kernel has it from 6.17 on",
    "step": "codel with ce_threshold",
    "precedence-drop-tail": "gred, or a class with a limit for each precedence",
}
"""The nearest AQM in the kernel for each that it lacks."""


def add_queue(egress_port: EgressPort, index: int, parent: str, handle: str) -> str:
    """Write the qdisc of the queue of a class; return its kind."""
    queue_config = egress_port.port_config["classes"][index]["queue"]
    part = egress_port.make_queue_part(index)
    aqm, parent_and_handle = queue_config["aqm"], f"parent {parent} handle {handle}"
    about = f"{part.name}: {aqm['kind']}"
    limit_packets, limit_bytes = _read_limits(part, queue_config)
    if queue_config.get("flows") is not None or aqm["kind"] in ("codel", "pie"):
        return add_timed_queue(egress_port, part, queue_config, parent_and_handle)
    if aqm["kind"] == "drop-tail":
        if limit_bytes is None:
            limit = _UNLIMITED_PACKETS if limit_packets is None else limit_packets
            egress_port.add_qdisc(f"{parent_and_handle} pfifo limit {limit}", about)
            return "pfifo"
        if limit_packets is not None:
            part.refuse(
                "Linux's FIFOs have a limit of packets or of bytes; nearest: one of the two",
                "limit",
            )
        egress_port.add_qdisc(f"{parent_and_handle} bfifo limit {limit_bytes}b", about)
        return "bfifo"
    if aqm["kind"] == "red" or aqm["kind"] == "red-linux":
        red = _format_red(part, aqm) if aqm["kind"] == "red" else _format_red_linux(part, aqm)
        if aqm.get("adaptive"):
            # iproute2 since 5.7 sends the flag in TCA_RED_FLAGS alone. The kernel starts the
            # timer by the older structure (``__red_change``), although it shows the flag.
            part.refuse(
                "tc cannot start the adaptation of the kernel's red, though the "
                "kernel then shows it; nearest: adaptive: false",
                *("aqm", "adaptive"),
            )
        egress_port.add_qdisc(
            f"{parent_and_handle} red limit "
            f"{_UNLIMITED_BYTES if limit_bytes is None else limit_bytes} {red}",
            about,
        )
        if limit_packets is not None:
            limit_handle = f"{int(handle[:-1], 16) + 0x400:x}:"
            egress_port.add_qdisc(
                f"parent {handle}1 handle {limit_handle} pfifo limit {limit_packets}"
            )
        return "red"
    if aqm["kind"] == "gred":
        _add_gred(egress_port, part, aqm, parent_and_handle)
        if limit_packets is not None or limit_bytes is not None:
            part.add_note(
                "Linux's gred has limits for each DP and none for all of them; "
                "the queue's own limit is left out"
            )
        return "gred"
    nearest = NEAREST_AQM.get(aqm["kind"], "red-linux")
    part.refuse(f"the Linux kernel has no {aqm['kind']}; nearest: {nearest}", "aqm", "kind")
    return ""


def _read_limits(part: ScenarioPart, queue_config: Queue) -> tuple[int | None, int | None]:
    limit_packets, limit_bytes = queue_config["limit_packets"], queue_config["limit_bytes"]
    if not queue_config["counts_in_service"]:
        return limit_packets, limit_bytes
    if limit_bytes is not None or queue_config["aqm"]["kind"] != "drop-tail":
        refuse_in_service(part)
    elif limit_packets is not None and limit_packets < 2:
        part.refuse(
            f"a limit of {limit_packets} packet in service leaves "
            f"no queue; nearest: limit: 2 packets",
            "limit",
        )
    return None if limit_packets is None else limit_packets - 1, limit_bytes


def _format_red_linux(part: ScenarioPart, aqm: RedLinux) -> str:
    if aqm["idle_ageing"]:
        part.add_note(
            "below HTB Linux's red does not see its queue run empty, so its "
            "average does not age while idle; idle_ageing: false does the same"
        )
    return _format_red_parameters(part, aqm["parameters"], aqm["age"]) + _format_ecn(
        aqm["harddrop"]
    )


def _format_ecn(above_max_drops: bool) -> str:
    """ECN (RFC 3168): what is ECN-capable is marked; it takes a word, as Linux's default drops."""
    return " ecn harddrop" if above_max_drops else " ecn"


def _format_red_parameters(part: ScenarioPart, tc: TcRed, age: str) -> str:
    probability = tc["probability"]
    if age == "plog":
        # Old kernels knew the probability only as a power of two over max - min; give today's
        # the one that they made of it.
        span = tc["max_bytes"] - tc["min_bytes"]
        probability = span / 2.0 ** compute_plog(probability, span)
        part.add_note(
            f"age plog becomes the probability {probability:.6g} that old kernels made of it"
        )
    return (
        f"min {tc['min_bytes']} max {tc['max_bytes']} avpkt {tc['avpkt_bytes']} "
        f"burst {tc['burst_packets']} bandwidth {tc['bandwidth_bit_s']}bit "
        f"probability {probability:.9f}"
    )


def compute_plog(probability: float, span: int) -> int:
    """The smallest whole number i with probability / span * 2**i above 1, as old kernels had it."""
    log = 0
    while probability / span * 2.0**log <= 1.0:
        log += 1
    return log


def _format_red(part: ScenarioPart, aqm: Red) -> str:
    """RED as published, in the parameters of ``tc``; thresholds in packets become bytes."""
    if aqm["gentle"]:
        part.refuse(
            "Linux's red drops all above max_th; nearest: gentle: false", *("aqm", "gentle")
        )
    mean = aqm["mean_packet_bytes"]
    unit = mean if aqm["unit"] == "packets" else 1
    min_bytes, max_bytes = round(aqm["min_th"] * unit), round(aqm["max_th"] * unit)
    weight_log = max(1, round(-math.log2(aqm["w_q"])))
    burst = find_burst(weight_log, min_bytes, mean)
    part.add_note(
        f"Linux's red counts bytes waiting, its weight is 2^-{weight_log}, and it "
        "spreads drops uniformly; red-linux does the same in the simulator"
    )
    if not min_bytes or burst is None:
        part.refuse(
            f"tc has no burst that gives the weight 2^-{weight_log} with min_th "
            f"{min_bytes} B; nearest: {_find_nearest_weight(weight_log, min_bytes, mean)}",
            *("aqm", "w_q"),
        )
        burst = 1
    return (
        f"min {min_bytes} max {max_bytes} avpkt {mean} burst {burst} bandwidth 10mbit "
        f"probability {min(aqm['max_p'], 0.999999):.9f}{_format_ecn(above_max_drops=True)}"
    )


def _find_nearest_weight(weight_log: int, min_bytes: int, mean: int) -> str:
    """Find the weight closest to one that ``tc`` cannot give."""
    logs = sorted(range(1, 32), key=lambda log: abs(log - weight_log))
    possible = (log for log in logs if find_burst(log, min_bytes, mean) is not None)
    log = next(possible, None) if min_bytes else None
    return "a min_th above zero" if log is None else f"w_q: {2.0**-log:g}"


def find_burst(weight_log: int, min_bytes: int, mean: int) -> int | None:
    """Find the smallest burst [packets] from which ``tc`` makes the weight 2**-wanted.

    ``tc`` takes the smallest log with burst + 1 - min/avpkt <= (1 - (1 - W)^burst) / W.
    """
    for burst in range(1, 100_000):
        threshold = burst + 1 - min_bytes / mean
        if threshold < 1.0:
            continue
        for log in range(1, 32):
            weight = 2.0**-log
            if threshold <= (1.0 - (1.0 - weight) ** burst) / weight:
                break
        if log == weight_log:
            return burst
        if log > weight_log:
            return None
    return None


def _add_gred(
    egress_port: EgressPort, part: ScenarioPart, aqm: Gred, parent_and_handle: str
) -> None:
    dps = aqm["dps"]
    count = max(max(each["dp"] for each in dps), aqm["default_dp"]) + 1
    grio = " grio" if aqm["grio"] else ""
    setup = f"gred setup DPs {count} default {aqm['default_dp']}{grio}"
    egress_port.add_qdisc(f"{parent_and_handle} {setup}", f"{part.name}: gred")
    for each in dps:
        prio = f" prio {each['prio']}" if aqm["grio"] else ""
        parameters = _format_red_parameters(part, each["parameters"], aqm["age"])
        egress_port.add_tc(
            f"qdisc change dev {parent_and_handle} gred limit {each['limit_bytes']} {parameters} "
            f"DP {each['dp']}{prio}{_format_ecn(aqm['harddrop'])}"
        )
