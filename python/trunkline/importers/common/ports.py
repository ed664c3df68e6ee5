"""Ports of a scenario from the disciplines of devices; CAKE with its tins (sch_cake.c)."""

from collections.abc import Sequence
from copy import deepcopy

from trunkline.importers.common.classification import (
    DEFAULT_PRIOMAP,
    ClassifiedPackets,
    get_integer_option,
)
from trunkline.importers.common.classifier_rules import (
    ClassNames,
    build_rules,
    unwrap_single_values,
)
from trunkline.importers.common.queues import (
    LEAF_DISCIPLINES,
    ScenarioKeys,
    SystemDefaults,
    build_queue,
)
from trunkline.importers.common.scheduler_classes import CLASS_BUILDERS
from trunkline.importers.common.traffic_control import (
    Qdisc,
    QdiscClass,
)
from trunkline.scenario.dscp import get_dscp_name

_CAKE_DIFFSERV8_TINS = tuple(
    map(int, "2012422212121212524242423232323262323232622262627222222272222222")
)
"""Tin by DSCP: sch_cake.c, diffserv8."""
_CAKE_TINS: dict[str, Sequence[int]] = {
    "diffserv8": _CAKE_DIFFSERV8_TINS,
    "precedence": [dscp >> 3 for dscp in range(64)],
}


def get_queueing_discipline(root: Qdisc | None) -> Qdisc | None:
    """Return the discipline that queues: the one inside dsmark."""
    while root is not None and root.kind == "dsmark":
        root = root.inner
    return root


def make_pfifo_fast_bands(root: Qdisc) -> Qdisc:
    """pfifo_fast as prio of three bands."""
    classes = {band: QdiscClass(root.at, band, 0, {}) for band in (1, 2, 3)}
    return Qdisc(root.at, "prio", root.major, {"priomap": list(DEFAULT_PRIOMAP)}, classes)


def build_port(
    root: Qdisc, classified: list[ClassifiedPackets], defaults: SystemDefaults
) -> ScenarioKeys:
    """Build a port configuration.

    root: Discipline of the device; dsmark is looked through.
    classified: Where its packets end up, conditions as the port sees them.
    """
    discipline = get_queueing_discipline(root)
    if discipline is None or discipline.kind in LEAF_DISCIPLINES:
        port_keys: ScenarioKeys = {}
        if discipline is not None and discipline.kind == "gred":
            port_keys = build_rules(classified, None)
        return port_keys | {
            "queue": build_queue(discipline, defaults, inside=discipline is not root)
        }
    if discipline.kind == "cake":
        return _build_cake(discipline)
    names = ClassNames(discipline, classified)
    classes = CLASS_BUILDERS[discipline.kind](discipline, names, classified, defaults)
    scheduler_keys: ScenarioKeys = classes.pop("")
    return scheduler_keys | build_rules(classified, names) | {"classes": classes}


def _build_cake(discipline: Qdisc) -> ScenarioKeys:
    """CAKE: tc's default are the tins of diffserv3 and `triple-isolate`."""
    cake_options = discipline.options
    isolation = {"flows": "flows", "dual-srchost": "source", "dual-dsthost": "destination"}
    flows: ScenarioKeys = {"kind": "cake"}
    for word, hosts in isolation.items():
        if cake_options.get(word):
            flows["hosts"] = hosts
    queue: ScenarioKeys = {"flows": flows}
    if "rtt" in cake_options:
        rtt = get_integer_option(cake_options, "rtt", 0)
        queue["aqm"] = {"kind": "cobalt", "target": f"{rtt // 20} ns", "interval": f"{rtt} ns"}
    if "memlimit" in cake_options:
        queue["limit"] = f"{cake_options['memlimit']} B"
    port_keys: ScenarioKeys = {"scheduler": "cake"}
    if "bandwidth" in cake_options:
        port_keys["bandwidth"] = f"{cake_options['bandwidth']} bit/s"
    if cake_options.get("besteffort"):
        return port_keys | {"classes": {"default": {"queue": queue}}}
    for word, tin_of_dscp in _CAKE_TINS.items():
        if cake_options.get(word):
            return port_keys | _build_cake_tins(tin_of_dscp, queue)
    if cake_options.get("diffserv4"):
        port_keys["preset"] = port_keys.pop("scheduler") + "-diffserv4"
        tins = ("voice", "video", "bulk", "default")
        return port_keys | {"classes": {tin: {"queue": deepcopy(queue)} for tin in tins}}
    rules = [
        {"dscp": ["CS7", "CS6", "EF", 44, 4], "class": "voice"},
        {"dscp": ["CS1", "LE"], "class": "bulk"},
    ]
    rates = {"voice": "25 %", "bulk": "6.25 %", "default": "100 %"}
    classes = {
        tin: {"priority": tin_priority, "rate": rate, "queue": deepcopy(queue)}
        for tin_priority, (tin, rate) in enumerate(rates.items())
    }
    return port_keys | {"classify": rules, "classes": classes}


def _build_cake_tins(tin_of_dscp: Sequence[int], queue: ScenarioKeys) -> ScenarioKeys:
    """Eight tins, each with 7/8 of the rate of the one below, the last before all others."""
    default = tin_of_dscp[0]
    names = {tin: "default" if tin == default else f"tin-{tin}" for tin in range(8)}
    rules: list[ScenarioKeys] = []
    for tin, name in names.items():
        dscps = [get_dscp_name(dscp) for dscp in range(64) if tin_of_dscp[dscp] == tin]
        if tin != default:
            rules.append(unwrap_single_values({"dscp": dscps, "class": name}))
    classes = {
        names[tin]: {
            "priority": 7 - tin,
            "rate": f"{100 * (7 / 8) ** tin:.6g} %",
            "queue": deepcopy(queue),
        }
        for tin in reversed(range(8))
    }
    return {"classify": rules, "classes": classes}
