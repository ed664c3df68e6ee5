"""Queues of disciplines without classes, as keys of a scenario.

Source: tc-red(8), iproute2's usage of gred; where tc has defaults, they are here.
"""

from dataclasses import dataclass
from typing import Any

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.classification import get_integer_option
from trunkline.importers.common.fault import SourceToken, make_fault, raise_fault
from trunkline.importers.common.traffic_control import Options, Qdisc

ScenarioKeys = dict[str, Any]
RedVariant = str

FLOW_QUEUES_AND_AQMS = ("codel", "pie", "fq_codel", "fq_pie", "sfq", "fq")
NETEM_LIMIT_PACKETS = 1000  # tc-netem(8): its default limit.
LEAF_DISCIPLINES = ("pfifo", "bfifo", "netem", "red", "gred", *FLOW_QUEUES_AND_AQMS)
_LEAF_DISCIPLINES_TEXT = ", ".join(LEAF_DISCIPLINES)
_PIE_COEFFICIENT_UNITS = 16  # tc-pie(8): alpha and beta are in sixteenths.
MAX_ETHERNET_FRAME_BYTES = 1514
"""Longest frame of Ethernet, in which bfifo counts its default limit [B]."""


@dataclass(frozen=True, slots=True)
class SystemDefaults:
    """Values that a configuration leaves to the system."""

    queue_packets: int  # Length of the device's transmit queue.
    red_variant: RedVariant  # How RED of that kernel stores its probability.
    # Gets each queue whose length is assumed; None where the file sets the device's.
    account: ImportAccount | None = None

    def take_queue_packets(self) -> int:
        """The length of a queue that nothing in the file sets [packets]."""
        if self.account is not None:
            rule = f"{self.queue_packets} packets, where nothing sets it (limit, txqueuelen)"
            self.account.add_assumption("length of a queue", rule)
        return self.queue_packets


def build_queue(qdisc: Qdisc | None, defaults: SystemDefaults, *, inside: bool) -> ScenarioKeys:
    """Build the queue of a discipline.

    qdisc: A discipline without classes; None is the default of Linux in a class.
    inside: Whether it is in a class: then RED's average does not age while idle.
    """
    if qdisc is None:
        return {"limit": f"{defaults.take_queue_packets()} packets"}
    options = qdisc.options
    if qdisc.kind == "pfifo":
        packets = options["packets"] if "packets" in options else defaults.take_queue_packets()
        return {"limit": f"{packets} packets"}
    if qdisc.kind == "netem":
        if qdisc.inner is not None:
            return build_queue(qdisc.inner, defaults, inside=inside)
        return {"limit": f"{get_integer_option(options, 'packets', NETEM_LIMIT_PACKETS)} packets"}
    if qdisc.kind == "bfifo":
        if "bytes" in options:
            return {"limit": f"{options['bytes']} B"}
        return {"limit": f"{defaults.take_queue_packets() * MAX_ETHERNET_FRAME_BYTES} B"}
    if qdisc.kind == "red":
        aqm: ScenarioKeys = (
            {"kind": "red-linux"} | _build_red(qdisc.at, options) | {"age": defaults.red_variant}
        )
        if options.get("harddrop"):
            aqm["harddrop"] = True
        if inside:
            aqm["idle_ageing"] = False
        return {"limit": f"{_get_required_option(qdisc.at, options, 'limit')} B", "aqm": aqm}
    if qdisc.kind == "gred":
        return {"limit": "none", "aqm": _build_gred(qdisc, defaults)}
    if qdisc.kind in FLOW_QUEUES_AND_AQMS:
        return _build_aqm_or_flow_queue(qdisc)
    raise make_fault(qdisc.at, f"{qdisc.kind} inside a class is not read", _LEAF_DISCIPLINES_TEXT)


def _build_aqm_or_flow_queue(qdisc: Qdisc) -> ScenarioKeys:
    """CoDel, PIE, and queues by flow."""
    options, kind = qdisc.options, qdisc.kind
    packets = {"codel": 1000, "pie": 1000, "sfq": 127, "fq": 10_000}.get(kind, 10_240)
    queue_keys: ScenarioKeys = {
        "limit": f"{get_integer_option(options, 'packets', packets)} packets"
    }
    if kind not in ("codel", "pie"):
        flows: ScenarioKeys = {"kind": kind.replace("_", "-")}
        if "flows" in options:
            flows["queues"] = options["flows"]
        # fq's quantum is two frames where none is given.
        quantum = get_integer_option(
            options,
            "quantum",
            2 * MAX_ETHERNET_FRAME_BYTES if kind == "fq" else MAX_ETHERNET_FRAME_BYTES,
        )
        flows["quantum"] = f"{quantum} B"
        if "drop_batch" in options:
            flows["batch"] = f"{options['drop_batch']} packets"
        if "depth" in options:
            flows["flow_limit"] = f"{options['depth']} packets"
        queue_keys["flows"] = flows
    if kind.endswith(("codel", "pie")):
        aqm: ScenarioKeys = {"kind": "codel" if kind.endswith("codel") else "pie"}
        for key in ("target", "interval", "tupdate", "ce_threshold"):
            if key in options:
                aqm[key] = f"{options[key]} ns"
        for key in ("alpha", "beta"):
            if key in options:
                aqm[key] = get_integer_option(options, key, 0) / _PIE_COEFFICIENT_UNITS
        queue_keys["aqm"] = {**aqm, "arithmetic": "linux"}
    return queue_keys


def _get_required_option(at: SourceToken, options: Options, name: str) -> int:
    if name not in options:
        raise_fault(at, f"{at.text} needs {name}")
    return get_integer_option(options, name, 0)


def _build_red(at: SourceToken, options: Options) -> ScenarioKeys:
    """Common parameters of RED and of a virtual queue of GRED."""
    limit = _get_required_option(at, options, "limit")
    max_threshold = get_integer_option(options, "max", limit // 4)
    min_threshold = get_integer_option(options, "min", max_threshold // 3)
    average_packet = get_integer_option(options, "avpkt", 1000)
    if average_packet < 1:
        raise_fault(at, f"avpkt {average_packet} B", "1 B and more")
    burst = get_integer_option(
        options, "burst", (2 * min_threshold + max_threshold) // (3 * average_packet)
    )
    if not min_threshold < max_threshold <= limit:
        raise_fault(
            at,
            f"min {min_threshold} B, max {max_threshold} B, limit {limit} B",
            "min below max up to limit",
        )
    _check_red_burst(at, min_threshold, burst, average_packet)
    red_keys: ScenarioKeys = {
        "min": f"{min_threshold} B",
        "max": f"{max_threshold} B",
        "avpkt": f"{average_packet} B",
        "burst": f"{max(1, burst)} packets",
        "bandwidth": f"{get_integer_option(options, 'bandwidth', 10_000_000)} bit/s",
        "probability": options.get("probability", 0.02),
    }
    return red_keys


def _check_red_burst(at: SourceToken, threshold: int, burst: int, average_packet: int) -> None:
    """iproute2 tc/tc_red.c, tc_red_eval_ewma: burst + 1 - min / avpkt must not be below 1."""
    if burst * average_packet < threshold:
        known = f"burst {-(-threshold // average_packet)} and more"
        raise_fault(at, f"burst {burst} is too small for min {threshold} B: tc refuses it", known)


def _build_gred(qdisc: Qdisc, defaults: SystemDefaults) -> ScenarioKeys:
    if not qdisc.virtual_queues:
        raise_fault(qdisc.at, "gred has no virtual queue", "gred limit ... DP N")
    virtual_queues = []
    for number, virtual_queue in sorted(qdisc.virtual_queues.items()):
        limit = _get_required_option(virtual_queue.at, virtual_queue.options, "limit")
        priority_keys = (
            {"prio": virtual_queue.options["prio"]} if "prio" in virtual_queue.options else {}
        )
        virtual_queues.append(
            {"dp": number, "limit": f"{limit} B"}
            | _build_red(virtual_queue.at, virtual_queue.options)
            | priority_keys
        )
    gred_keys: ScenarioKeys = {
        "kind": "gred",
        "default_dp": get_integer_option(qdisc.options, "default", 0),
    }
    for name in ("grio", "harddrop"):
        if qdisc.options.get(name):
            gred_keys[name] = True
    return gred_keys | {"age": defaults.red_variant, "dps": virtual_queues}
