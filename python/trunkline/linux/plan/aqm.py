"""Queues as qdiscs: limits of packets or bytes, RED, GRED."""

import math
from typing import Final

from trunkline.linux.plan.addresses import Side
from trunkline.linux.plan.script import Script
from trunkline.linux.plan.timed import timed
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


def queue(
    script: Script,
    side: Side,
    its: Queue,
    parent: str,
    handle: str,
    owner: tuple[str, str],
) -> str:
    """Says the qdisc of a queue and returns its kind."""
    name = ".".join(owner)
    place = ("ports", owner[0], "classes", owner[1], "queue")
    aqm = its["aqm"]
    add = f"qdisc add dev {side.device} parent {parent} handle {handle} "
    about = f"queue of {name}: {aqm['kind']}"
    packets, size = _limits(script, its, name, place)
    if its.get("flows") is not None or aqm["kind"] in ("codel", "pie"):
        return timed(script, side, its, add, owner)
    if aqm["kind"] == "drop-tail":
        if size is not None:
            if packets is not None:
                script.refuse(
                    (*place, "limit"),
                    f"queue of {name}: Linux's FIFOs have a limit of packets or of bytes; "
                    "nearest: one of the two",
                )
            script.say(side.node, "tc", f"{add}bfifo limit {size}b", about)
            return "bfifo"
        limit = _ENDLESS_PACKETS if packets is None else packets
        script.say(side.node, "tc", f"{add}pfifo limit {limit}", about)
        return "pfifo"
    if aqm["kind"] == "red" or aqm["kind"] == "red-linux":
        if aqm["kind"] == "red":
            red = _of_red(script, aqm, name, (*place, "aqm"))
        else:
            red = _of_linux(script, aqm, name)
        if aqm.get("adaptive"):
            # iproute2 since 5.7 sends the flag in TCA_RED_FLAGS alone; the kernel's `__red_change`
            # looks in the older structure when it starts the timer, and shows it nevertheless.
            script.refuse(
                (*place, "aqm", "adaptive"),
                f"queue of {name}: tc cannot start the adaptation of the kernel's red, though the "
                "kernel then shows it; nearest: adaptive: false",
            )
        limit = _ENDLESS_BYTES if size is None else size
        script.say(side.node, "tc", f"{add}red limit {limit} {red}", about)
        if packets is not None:
            below = f"{int(handle[:-1], 16) + 0x400:x}:"
            line = f"qdisc add dev {side.device} parent {handle}1 handle {below} pfifo limit"
            script.say(side.node, "tc", f"{line} {packets}")
        return "red"
    if aqm["kind"] == "gred":
        _gred(script, side, aqm, parent, handle, name)
        if packets is not None or size is not None:
            script.note(
                f"queue of {name}: Linux's gred has limits for each DP and none for all of them; "
                "the queue's own limit is left out"
            )
        return "gred"
    nearest = NEAREST.get(aqm["kind"], "red-linux")
    script.refuse(
        (*place, "aqm", "kind"),
        f"queue of {name}: the Linux kernel has no {aqm['kind']}; nearest: {nearest}",
    )
    return ""


def _limits(
    script: Script, its: Queue, name: str, place: tuple[str, ...]
) -> tuple[int | None, int | None]:
    packets, size = its["limit_packets"], its["limit_bytes"]
    if not its["counts_in_service"]:
        return packets, size
    if size is not None or its["aqm"]["kind"] != "drop-tail":
        script.refuse(
            (*place, "counts_in_service"),
            f"queue of {name}: what is in service has left the queue in Linux; "
            "nearest: counts_in_service: false",
        )
    elif packets is not None and packets < 2:
        script.refuse(
            (*place, "limit"),
            f"queue of {name}: a limit of {packets} packet in service leaves no queue; "
            "nearest: limit: 2 packets",
        )
    return None if packets is None else packets - 1, size


def _of_linux(script: Script, aqm: RedLinux, name: str) -> str:
    if aqm["idle_ageing"]:
        script.note(
            f"queue of {name}: below HTB Linux's red does not see its queue run empty, so its "
            "average does not age while idle; idle_ageing: false does the same"
        )
    parameters = _parameters(script, aqm["parameters"], aqm["age"], name)
    return parameters + _marks(aqm["harddrop"])


def _marks(above_max_drops: bool) -> str:
    """ECN (RFC 3168): what is ECN-capable is marked; it takes a word, as Linux's default drops."""
    return " ecn harddrop" if above_max_drops else " ecn"


def _parameters(script: Script, tc: TcRed, age: str, name: str) -> str:
    probability = tc["probability"]
    if age == "plog":
        # Old kernels knew the probability only as a power of two over max - min; give today's
        # the one that they made of it.
        span = tc["max_bytes"] - tc["min_bytes"]
        probability = span / 2.0 ** plog(probability, span)
        script.note(
            f"queue of {name}: age plog becomes the probability {probability:.6g} that old kernels "
            "made of it"
        )
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


def _of_red(script: Script, aqm: Red, name: str, place: tuple[str, ...]) -> str:
    """RED as published, in the parameters of ``tc``; thresholds in packets become bytes."""
    if aqm["gentle"]:
        script.refuse(
            (*place, "gentle"),
            f"queue of {name}: Linux's red drops all above max_th; nearest: gentle: false",
        )
    mean = aqm["mean_packet_bytes"]
    unit = mean if aqm["unit"] == "packets" else 1
    least, most = round(aqm["min_th"] * unit), round(aqm["max_th"] * unit)
    wanted = max(1, round(-math.log2(aqm["w_q"])))
    burst = burst_of(wanted, least, mean)
    script.note(
        f"queue of {name}: Linux's red counts bytes waiting, its weight is 2^-{wanted}, and it "
        "spreads drops uniformly; red-linux does the same in the simulator"
    )
    if not least or burst is None:
        script.refuse(
            (*place, "w_q"),
            f"queue of {name}: tc has no burst that gives the weight 2^-{wanted} with min_th "
            f"{least} B; nearest: {_near(wanted, least, mean)}",
        )
        burst = 1
    return (
        f"min {least} max {most} avpkt {mean} burst {burst} bandwidth 10mbit "
        f"probability {min(aqm['max_p'], 0.999999):.9f}"
        f"{_marks(above_max_drops=True)}"
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


def _gred(script: Script, side: Side, aqm: Gred, parent: str, handle: str, name: str) -> None:
    dps = aqm["dps"]
    count = max(max(each["dp"] for each in dps), aqm["default_dp"]) + 1
    grio = " grio" if aqm["grio"] else ""
    dev = f"dev {side.device} parent {parent} handle {handle}"
    script.say(
        side.node,
        "tc",
        f"qdisc add {dev} gred setup DPs {count} default {aqm['default_dp']}{grio}",
        f"queue of {name}: gred",
    )
    for each in dps:
        prio = f" prio {each['prio']}" if aqm["grio"] else ""
        parameters = _parameters(script, each["parameters"], aqm["age"], name)
        script.say(
            side.node,
            "tc",
            f"qdisc change {dev} gred limit {each['limit_bytes']} {parameters} "
            f"DP {each['dp']}{prio}{_marks(aqm['harddrop'])}",
        )
