"""Queues of disciplines without classes, as keys of a scenario.

Source: tc-red(8), iproute2's usage of gred; where tc has defaults of its own they stand here.
"""

from dataclasses import dataclass
from typing import Any

from trunkline.importers.common.classify import whole
from trunkline.importers.common.fault import Word, fault, refuse
from trunkline.importers.common.tree import Options, Qdisc

Config = dict[str, Any]
Age = str

FLOWS_OR_TIME = ("codel", "pie", "fq_codel", "fq_pie", "sfq", "fq")
LEAVES = ("pfifo", "bfifo", "red", "gred", *FLOWS_OR_TIME)
_LEAVES = ", ".join(LEAVES)
_SIXTEENTHS = 16
"""tc-pie(8): alpha and beta are in sixteenths."""
FRAME = 1514
"""Longest frame of Ethernet, in which bfifo counts its default limit [B]."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a configuration leaves to the system.

    Parameters
    ----------
    packets : int
        Length of the device's transmit queue.
    age : {"plog", "max-p"}
        How RED of that kernel stores its probability.
    """

    packets: int
    age: Age


def queue(qdisc: Qdisc | None, defaults: Defaults, *, inside: bool) -> Config:
    """The queue that a discipline is.

    Parameters
    ----------
    qdisc : Qdisc or None
        A discipline without classes; None is what Linux puts into a class.
    inside : bool
        Whether it stands in a class: then RED's average does not age while idle.
    """
    if qdisc is None:
        return {"limit": f"{defaults.packets} packets"}
    its = qdisc.options
    if qdisc.kind == "pfifo":
        return {"limit": f"{whole(its, 'packets', defaults.packets)} packets"}
    if qdisc.kind == "bfifo":
        return {"limit": f"{whole(its, 'bytes', defaults.packets * FRAME)} B"}
    if qdisc.kind == "red":
        aqm: Config = {"kind": "red-linux"} | _red(qdisc.at, its) | {"age": defaults.age}
        if its.get("harddrop"):
            aqm["harddrop"] = True
        if inside:
            aqm["idle_ageing"] = False
        return {"limit": f"{_needed(qdisc.at, its, 'limit')} B", "aqm": aqm}
    if qdisc.kind == "gred":
        return {"limit": "none", "aqm": _gred(qdisc, defaults)}
    if qdisc.kind in FLOWS_OR_TIME:
        return _modern(qdisc)
    raise fault(qdisc.at, f"{qdisc.kind} inside a class is not read", _LEAVES)


def _modern(qdisc: Qdisc) -> Config:
    """CoDel, PIE, and queues by flow."""
    its, kind = qdisc.options, qdisc.kind
    packets = {"codel": 1000, "pie": 1000, "sfq": 127, "fq": 10_000}.get(kind, 10_240)
    made: Config = {"limit": f"{whole(its, 'packets', packets)} packets"}
    if kind not in ("codel", "pie"):
        flows: Config = {"kind": kind.replace("_", "-")}
        if "flows" in its:
            flows["queues"] = its["flows"]
        # fq's quantum is two frames where none is given.
        quantum = whole(its, "quantum", 2 * FRAME if kind == "fq" else FRAME)
        flows["quantum"] = f"{quantum} B"
        if "drop_batch" in its:
            flows["batch"] = f"{its['drop_batch']} packets"
        if "depth" in its:
            flows["flow_limit"] = f"{its['depth']} packets"
        made["flows"] = flows
    if kind.endswith(("codel", "pie")):
        aqm: Config = {"kind": "codel" if kind.endswith("codel") else "pie"}
        for key in ("target", "interval", "tupdate", "ce_threshold"):
            if key in its:
                aqm[key] = f"{its[key]} ns"
        for key in ("alpha", "beta"):
            if key in its:
                aqm[key] = whole(its, key, 0) / _SIXTEENTHS
        made["aqm"] = {**aqm, "arithmetic": "linux"}
    return made


def _needed(at: Word, its: Options, name: str) -> int:
    if name not in its:
        refuse(at, f"{at.text} needs {name}")
    return whole(its, name, 0)


def _red(at: Word, its: Options) -> Config:
    """Common parameters of RED and of a virtual queue of GRED."""
    limit = _needed(at, its, "limit")
    most = whole(its, "max", limit // 4)
    least = whole(its, "min", most // 3)
    packet = whole(its, "avpkt", 1000)
    if packet < 1:
        refuse(at, f"avpkt {packet} B", "1 B and more")
    burst = whole(its, "burst", (2 * least + most) // (3 * packet))
    if not least < most <= limit:
        refuse(at, f"min {least} B, max {most} B, limit {limit} B", "min below max up to limit")
    found: Config = {
        "min": f"{least} B",
        "max": f"{most} B",
        "avpkt": f"{packet} B",
        "burst": f"{max(1, burst)} packets",
        "bandwidth": f"{whole(its, 'bandwidth', 10_000_000)} bit/s",
        "probability": its.get("probability", 0.02),
    }
    return found


def _gred(qdisc: Qdisc, defaults: Defaults) -> Config:
    if not qdisc.virtual:
        refuse(qdisc.at, "gred has no virtual queue", "gred limit ... DP N")
    dps = []
    for number, its in sorted(qdisc.virtual.items()):
        limit = _needed(its.at, its.options, "limit")
        more = {"prio": its.options["prio"]} if "prio" in its.options else {}
        dps.append({"dp": number, "limit": f"{limit} B"} | _red(its.at, its.options) | more)
    made: Config = {"kind": "gred", "default_dp": whole(qdisc.options, "default", 0)}
    for name in ("grio", "harddrop"):
        if qdisc.options.get(name):
            made[name] = True
    return made | {"age": defaults.age, "dps": dps}
