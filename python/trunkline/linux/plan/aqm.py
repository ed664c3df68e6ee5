"""Queues as qdiscs: limits of packets or bytes, RED, GRED."""

import math
from typing import Final

from trunkline.linux.plan.outlet import Outlet
from trunkline.linux.plan.script import Part
from trunkline.linux.plan.timed import refuse_in_service, timed
from trunkline.network.types import Queue, TcRed
from trunkline.network.types.ports import Gred, Red, RedLinux

_ENDLESS_PACKETS: Final = 1_000_000
_ENDLESS_BYTES: Final = 2_000_000_000

NEAREST: Final = {
    "wred": "gred",
    "rio-c": "gred with grio: true",
    "rio-d": "gred",
    "blue": "pie",
    "cobalt": "codel, or scheduler: cake",
    "dualpi2": "codel with ce_threshold; the kernel has it from 6.17 on",
    "step": "codel with ce_threshold",
    "precedence-drop-tail": "gred, or a class with a limit for each precedence",
}
"""What comes nearest to AQMs the kernel lacks."""


def queue(out: Outlet, index: int, parent: str, handle: str) -> str:
    """Says the qdisc of the queue of a class and returns its kind."""
    its, part = out.config["classes"][index]["queue"], out.queue(index)
    aqm, place = its["aqm"], f"parent {parent} handle {handle}"
    about = f"{part.name}: {aqm['kind']}"
    packets, size = _limits(part, its)
    if its.get("flows") is not None or aqm["kind"] in ("codel", "pie"):
        return timed(out, part, its, place)
    if aqm["kind"] == "drop-tail":
        if size is None:
            limit = _ENDLESS_PACKETS if packets is None else packets
            out.qdisc(f"{place} pfifo limit {limit}", about)
            return "pfifo"
        if packets is not None:
            part.refuse(
                "Linux's FIFOs have a limit of packets or of bytes; nearest: one of the two",
                "limit",
            )
        out.qdisc(f"{place} bfifo limit {size}b", about)
        return "bfifo"
    if aqm["kind"] == "red" or aqm["kind"] == "red-linux":
        red = _of_red(part, aqm) if aqm["kind"] == "red" else _of_linux(part, aqm)
        if aqm.get("adaptive"):
            # iproute2 since 5.7 sends the flag in TCA_RED_FLAGS alone; the kernel's `__red_change`
            # looks in the older structure when it starts the timer, and shows it nevertheless.
            part.refuse(
                "tc cannot start the adaptation of the kernel's red, though the "
                "kernel then shows it; nearest: adaptive: false",
                *("aqm", "adaptive"),
            )
        out.qdisc(f"{place} red limit {_ENDLESS_BYTES if size is None else size} {red}", about)
        if packets is not None:
            below = f"{int(handle[:-1], 16) + 0x400:x}:"
            out.qdisc(f"parent {handle}1 handle {below} pfifo limit {packets}")
        return "red"
    if aqm["kind"] == "gred":
        _gred(out, part, aqm, place)
        if packets is not None or size is not None:
            part.note(
                "Linux's gred has limits for each DP and none for all of them; "
                "the queue's own limit is left out"
            )
        return "gred"
    nearest = NEAREST.get(aqm["kind"], "red-linux")
    part.refuse(f"the Linux kernel has no {aqm['kind']}; nearest: {nearest}", "aqm", "kind")
    return ""


def _limits(part: Part, its: Queue) -> tuple[int | None, int | None]:
    packets, size = its["limit_packets"], its["limit_bytes"]
    if not its["counts_in_service"]:
        return packets, size
    if size is not None or its["aqm"]["kind"] != "drop-tail":
        refuse_in_service(part)
    elif packets is not None and packets < 2:
        part.refuse(
            f"a limit of {packets} packet in service leaves no queue; nearest: limit: 2 packets",
            "limit",
        )
    return None if packets is None else packets - 1, size


def _of_linux(part: Part, aqm: RedLinux) -> str:
    if aqm["idle_ageing"]:
        part.note(
            "below HTB Linux's red does not see its queue run empty, so its "
            "average does not age while idle; idle_ageing: false does the same"
        )
    return _parameters(part, aqm["parameters"], aqm["age"]) + _marks(aqm["harddrop"])


def _marks(above_max_drops: bool) -> str:
    """ECN (RFC 3168): what is ECN-capable is marked; it takes a word, as Linux's default drops."""
    return " ecn harddrop" if above_max_drops else " ecn"


def _parameters(part: Part, tc: TcRed, age: str) -> str:
    probability = tc["probability"]
    if age == "plog":
        # Old kernels knew the probability only as a power of two over max - min; give today's
        # the one that they made of it.
        span = tc["max_bytes"] - tc["min_bytes"]
        probability = span / 2.0 ** plog(probability, span)
        part.note(f"age plog becomes the probability {probability:.6g} that old kernels made of it")
    return (
        f"min {tc['min_bytes']} max {tc['max_bytes']} avpkt {tc['avpkt_bytes']} "
        f"burst {tc['burst_packets']} bandwidth {tc['bandwidth_bit_s']}bit "
        f"probability {probability:.9f}"
    )


def plog(probability: float, span: int) -> int:
    """The smallest whole number i with probability / span * 2**i above 1, as old kernels had it."""
    log = 0
    while probability / span * 2.0**log <= 1.0:
        log += 1
    return log


def _of_red(part: Part, aqm: Red) -> str:
    """RED as published, in the parameters of ``tc``; thresholds in packets become bytes."""
    if aqm["gentle"]:
        part.refuse(
            "Linux's red drops all above max_th; nearest: gentle: false", *("aqm", "gentle")
        )
    mean = aqm["mean_packet_bytes"]
    unit = mean if aqm["unit"] == "packets" else 1
    least, most = round(aqm["min_th"] * unit), round(aqm["max_th"] * unit)
    wanted = max(1, round(-math.log2(aqm["w_q"])))
    burst = burst_of(wanted, least, mean)
    part.note(
        f"Linux's red counts bytes waiting, its weight is 2^-{wanted}, and it "
        "spreads drops uniformly; red-linux does the same in the simulator"
    )
    if not least or burst is None:
        part.refuse(
            f"tc has no burst that gives the weight 2^-{wanted} with min_th "
            f"{least} B; nearest: {_near(wanted, least, mean)}",
            *("aqm", "w_q"),
        )
        burst = 1
    return (
        f"min {least} max {most} avpkt {mean} burst {burst} bandwidth 10mbit "
        f"probability {min(aqm['max_p'], 0.999999):.9f}{_marks(above_max_drops=True)}"
    )


def _near(wanted: int, least: int, mean: int) -> str:
    """The weight closest to one that ``tc`` cannot give."""
    logs = sorted(range(1, 32), key=lambda log: abs(log - wanted))
    reached = (log for log in logs if burst_of(log, least, mean) is not None)
    log = next(reached, None) if least else None
    return "a min_th above zero" if log is None else f"w_q: {2.0**-log:g}"


def burst_of(wanted: int, least: int, mean: int) -> int | None:
    """The smallest burst [packets] from which ``tc`` makes the weight 2**-wanted.

    ``tc`` takes the smallest log with burst + 1 - min/avpkt <= (1 - (1 - W)^burst) / W.
    """
    for burst in range(1, 100_000):
        needed = burst + 1 - least / mean
        if needed < 1.0:
            continue
        for log in range(1, 32):
            weight = 2.0**-log
            if needed <= (1.0 - (1.0 - weight) ** burst) / weight:
                break
        if log == wanted:
            return burst
        if log > wanted:
            return None
    return None


def _gred(out: Outlet, part: Part, aqm: Gred, place: str) -> None:
    dps = aqm["dps"]
    count = max(max(each["dp"] for each in dps), aqm["default_dp"]) + 1
    grio = " grio" if aqm["grio"] else ""
    setup = f"gred setup DPs {count} default {aqm['default_dp']}{grio}"
    out.qdisc(f"{place} {setup}", f"{part.name}: gred")
    for each in dps:
        prio = f" prio {each['prio']}" if aqm["grio"] else ""
        parameters = _parameters(part, each["parameters"], aqm["age"])
        out.tc(
            f"qdisc change dev {place} gred limit {each['limit_bytes']} {parameters} "
            f"DP {each['dp']}{prio}{_marks(aqm['harddrop'])}"
        )
