"""Classes of a port's scheduler, from the classes of a discipline of tc.

Source: Linux 2.4 net/sched/sch_cbq.c (priorities from 1, quanta normalised over the classes of one
priority), iproute2 2.4 tc/q_cbq.c (weight = rate unless given), tc-drr(8), tc-htb(8), tc-prio(8),
tc-tbf(8).
"""

from collections.abc import Callable

from trunkline.importers.common.classification import (
    ClassifiedPackets,
    get_integer_option,
)
from trunkline.importers.common.classifier_rules import ClassNames
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.queues import (
    MAX_ETHERNET_FRAME_BYTES,
    ScenarioKeys,
    SystemDefaults,
    build_queue,
)
from trunkline.importers.common.traffic_control import (
    Qdisc,
    QdiscClass,
    TcServiceCurve,
)

_CBQ_WEIGHTLESS = 8
"""tc's number of the last priority of cbq, whose classes weigh 1 unless they say otherwise."""
MAX_HTB_PRIORITY = 7  # include/uapi/linux/pkt_sched.h, TC_HTB_NUMPRIO, less one.
_DIRECT_BURST_BYTES = 200_000  # Deep enough that the rate of the link never runs short of it [B].
_HFSC_CURVE_KEYS = {
    "sc": ("real_time", "link_share"),
    "rt": ("real_time",),
    "ls": ("link_share",),
    "ul": ("upper_limit",),
}
"""Keys of a scenario by tc's word."""


def _build_cbq(
    discipline: Qdisc,
    names: ClassNames,
    classified: list[ClassifiedPackets],
    defaults: SystemDefaults,
) -> ScenarioKeys:
    classes: ScenarioKeys = {"": {"scheduler": "cbq"}}
    for minor, class_ in discipline.classes.items():
        class_options = discipline.options | class_.options
        if "rate" not in class_.options:
            raise_fault(class_.at, "a class of cbq needs a rate")
        class_keys: ScenarioKeys = {}
        if class_.parent:
            class_keys["parent"] = names[class_.parent]
        is_leaf = not discipline.children(minor)
        if is_leaf:
            class_keys["priority"] = _get_cbq_priority(class_)
        class_keys["rate"] = f"{get_integer_option(class_options, 'rate', 0)} bit/s"
        for key in ("bounded", "isolated"):
            if class_.options.get(key):
                class_keys[key] = True
        class_keys["max_burst"] = f"{get_integer_option(class_options, 'maxburst', 16)} packets"
        class_keys["ewma_log"] = get_integer_option(class_options, "ewma", 5)
        class_keys["average_packet"] = f"{get_integer_option(class_options, 'avpkt', 1000)} B"
        get_quantum = _compute_cbq_quantum if is_leaf else _get_allot
        class_keys["quantum"] = f"{get_quantum(discipline, class_)} B"
        if is_leaf:
            class_keys["queue"] = build_queue(class_.queue, defaults, inside=True)
        classes[names[minor]] = class_keys
    if any(packets.leaf is None for packets in classified):
        # Packets of no class are sent last, by the link's own class.
        rate = get_integer_option(discipline.options, "bandwidth", 0)
        classes[names[0]] = {
            "priority": 7,
            "rate": f"{rate} bit/s",
            "queue": build_queue(None, defaults, inside=True),
        }
    return classes


def _get_cbq_priority(cl: QdiscClass) -> int:
    """Priority: tc counts from 1; 0, and none, are the kernel's 0 too."""
    return max(0, get_integer_option(cl.options, "prio", 0) - 1)


def _get_allot(discipline: Qdisc, cl: QdiscClass) -> int:
    class_options = discipline.options | cl.options
    return get_integer_option(
        class_options, "allot", get_integer_option(class_options, "avpkt", 1000) * 3 // 2
    )


def _compute_cbq_quantum(discipline: Qdisc, cl: QdiscClass) -> int:
    """Weighted allot; classes of one priority have their allot on average."""
    peers = [
        each
        for each in discipline.classes.values()
        if _get_cbq_priority(each) == _get_cbq_priority(cl)
    ]
    weight = {each.minor: _get_cbq_weight(each) for each in peers}
    normal = weight[cl.minor] * _get_allot(discipline, cl) * len(peers) // sum(weight.values())
    return normal or _get_allot(discipline, cl)


def _get_cbq_weight(cl: QdiscClass) -> int:
    rate = get_integer_option(cl.options, "rate", 8) // 8
    last = get_integer_option(cl.options, "prio", 0) == _CBQ_WEIGHTLESS
    return get_integer_option(cl.options, "weight", 1 if last else max(1, rate))


def _build_htb(
    discipline: Qdisc,
    names: ClassNames,
    classified: list[ClassifiedPackets],
    defaults: SystemDefaults,
) -> ScenarioKeys:
    goes_past = any(packets.leaf is None for packets in classified)
    classes: ScenarioKeys = {"": {"scheduler": "htb"}}
    for minor, class_ in discipline.classes.items():
        class_options = class_.options
        if "rate" not in class_options:
            raise_fault(class_.at, "a class of htb needs a rate")
        class_keys: ScenarioKeys = {"parent": names[class_.parent]} if class_.parent else {}
        class_keys["rate"] = f"{get_integer_option(class_options, 'rate', 0)} bit/s"
        if "ceil" in class_options:
            class_keys["ceil"] = f"{class_options['ceil']} bit/s"
        for key in ("burst", "cburst"):
            if key in class_options:
                class_keys[key] = f"{class_options[key]} B"
        if not discipline.children(minor):
            priority = get_integer_option(class_options, "prio", 0) + goes_past
            class_keys["priority"] = min(priority, MAX_HTB_PRIORITY)
            class_keys["quantum"] = f"{_compute_htb_quantum(discipline, class_)} B"
            class_keys["queue"] = build_queue(class_.queue, defaults, inside=True)
        classes[names[minor]] = class_keys
    if goes_past:
        # sch_htb.c, HTB_DIRECT: unshaped, before all classes, in a queue of its own.
        queue_packets = discipline.options.get("direct_qlen") or defaults.take_queue_packets()
        classes[names[0]] = {
            "priority": 0,
            "rate": "100 %",
            "burst": f"{_DIRECT_BURST_BYTES} B",
            "cburst": f"{_DIRECT_BURST_BYTES} B",
            "queue": {"limit": f"{queue_packets} packets"},
        }
    return classes


def _compute_htb_quantum(discipline: Qdisc, cl: QdiscClass) -> int:
    """Compute the rate in bytes a second over r2q, between 1000 B and 200 kB."""
    derived = (
        get_integer_option(cl.options, "rate", 0)
        // 8
        // get_integer_option(discipline.options, "r2q", 10)
    )
    return get_integer_option(cl.options, "quantum", min(200_000, max(1000, derived)))


def _build_hfsc(
    discipline: Qdisc,
    names: ClassNames,
    classified: list[ClassifiedPackets],
    defaults: SystemDefaults,
) -> ScenarioKeys:
    if any(packets.leaf is None for packets in classified):
        known = ", ".join(
            f"default {minor:x}" for minor in discipline.classes if not discipline.children(minor)
        )
        raise_fault(discipline.at, "what no filter takes hfsc drops", known)
    classes: ScenarioKeys = {"": {"scheduler": "hfsc"}}
    for minor, class_ in discipline.classes.items():
        is_leaf = not discipline.children(minor)
        class_keys: ScenarioKeys = {"parent": names[class_.parent]} if class_.parent else {}
        for word, keys in _HFSC_CURVE_KEYS.items():
            curve = class_.options.get(word)
            if isinstance(curve, TcServiceCurve):
                # sch_hfsc.c: real time is for leaves; above them it does nothing.
                used_keys = [key for key in keys if is_leaf or key != "real_time"]
                class_keys |= dict.fromkeys(used_keys, _build_service_curve(class_.at, curve))
        if is_leaf:
            class_keys["queue"] = build_queue(class_.queue, defaults, inside=True)
        elif "link_share" not in class_keys:
            raise_fault(class_.at, "classes below one without link sharing are not read", "ls, sc")
        classes[names[minor]] = class_keys
    return classes


def _build_service_curve(at: SourceToken, curve: TcServiceCurve) -> ScenarioKeys | str:
    if curve.m2 == 0:
        raise_fault(at, "a service curve that ends with a rate of zero is not read", "m2 above 0")
    last = f"{curve.m2} bit/s"
    if curve.d_ns == 0:
        return last
    first: ScenarioKeys = {"m1": f"{curve.m1} bit/s"} if curve.m1 else {}
    return first | {"d": f"{curve.d_ns} ns", "m2": last}


def _build_drr(
    discipline: Qdisc,
    names: ClassNames,
    classified: list[ClassifiedPackets],
    defaults: SystemDefaults,
) -> ScenarioKeys:
    if any(packets.leaf is None for packets in classified):
        raise_fault(
            discipline.at, "what no filter takes drr drops", "a filter for the rest: matchall"
        )
    classes: ScenarioKeys = {"": {"scheduler": "drr"}}
    for minor, class_ in discipline.classes.items():
        # Without a quantum the kernel takes the longest frame.
        quantum = get_integer_option(class_.options, "quantum", MAX_ETHERNET_FRAME_BYTES)
        classes[names[minor]] = {
            "quantum": f"{quantum} B",
            "queue": build_queue(class_.queue, defaults, inside=True),
        }
    return classes


def _build_prio(
    discipline: Qdisc,
    names: ClassNames,
    classified: list[ClassifiedPackets],
    defaults: SystemDefaults,
) -> ScenarioKeys:
    shaped = [
        class_
        for class_ in discipline.classes.values()
        if class_.queue is not None and class_.queue.kind == "tbf"
    ]
    classes: ScenarioKeys = {"": {"scheduler": "shaped" if shaped else "priority"}}
    used = {packets.leaf.minor for packets in classified if packets.leaf is not None}
    for minor, class_ in discipline.classes.items():
        class_keys: ScenarioKeys = {"priority": minor - 1}
        if class_.queue is not None and class_.queue.kind == "tbf":
            class_keys |= _build_shaper(class_.queue, defaults)
        else:
            class_keys["queue"] = build_queue(class_.queue, defaults, inside=True)
        if minor in used:
            classes[names[minor]] = class_keys
    return classes


def _build_tbf(
    discipline: Qdisc,
    names: ClassNames,
    classified: list[ClassifiedPackets],
    defaults: SystemDefaults,
) -> ScenarioKeys:
    return {"": {"scheduler": "tbf"}, "default": _build_shaper(discipline, defaults, is_root=True)}


def _build_shaper(
    discipline: Qdisc, defaults: SystemDefaults, *, is_root: bool = False
) -> ScenarioKeys:
    tbf_options = discipline.options
    if "peakrate" in tbf_options and not is_root:
        raise_fault(discipline.at, "a peak rate of tbf inside prio is not read", "tbf at the root")
    for name in ("rate", "burst"):
        if name not in tbf_options:
            raise_fault(discipline.at, f"tbf needs {name}")
    rate = get_integer_option(tbf_options, "rate", 0)
    burst = get_integer_option(tbf_options, "burst", 0)
    shaper_keys: ScenarioKeys = {"rate": f"{rate} bit/s", "burst": f"{burst} B"}
    if "peakrate" in tbf_options:
        if "minburst" not in tbf_options:
            raise_fault(discipline.at, "a peak rate of tbf needs mtu", "peakrate RATE mtu BYTES")
        shaper_keys |= {
            "peak_rate": f"{tbf_options['peakrate']} bit/s",
            "min_burst": f"{tbf_options['minburst']} B",
        }
    if discipline.inner is not None:
        return shaper_keys | {"queue": build_queue(discipline.inner, defaults, inside=True)}
    if "limit" not in tbf_options and "latency" not in tbf_options:
        raise_fault(discipline.at, "tbf needs a limit or a latency")
    # tc: the bytes that pass the bucket within the latency, and the bucket itself.
    limit = get_integer_option(
        tbf_options,
        "limit",
        rate * get_integer_option(tbf_options, "latency", 0) // (8 * 10**9) + burst,
    )
    return shaper_keys | {"queue": {"limit": f"{limit} B"}}


CLASS_BUILDERS: dict[
    str,
    Callable[[Qdisc, ClassNames, list[ClassifiedPackets], SystemDefaults], ScenarioKeys],
] = {
    "cbq": _build_cbq,
    "drr": _build_drr,
    "hfsc": _build_hfsc,
    "htb": _build_htb,
    "prio": _build_prio,
    "tbf": _build_tbf,
}
"""Builders of the classes of a discipline by its kind; keys of the port itself are under ``""``."""
