"""Ports of a scenario from the disciplines of devices.

Source: Linux 2.4 net/sched/sch_cbq.c (priorities from 1, quanta normalised over the classes of one
priority), iproute2 2.4 tc/q_cbq.c (weight = rate unless given), tc-drr(8), tc-htb(8), tc-prio(8),
tc-tbf(8).
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy

from trunkline.importers.common.classification import (
    DEFAULT_PRIOMAP,
    ClassifiedPackets,
    get_integer_option,
)
from trunkline.importers.common.fault import SourceToken, raise_fault
from trunkline.importers.common.queues import (
    LEAF_DISCIPLINES,
    MAX_ETHERNET_FRAME_BYTES,
    ScenarioKeys,
    SystemDefaults,
    build_queue,
)
from trunkline.importers.common.traffic_control import (
    ALL_DSCPS,
    PacketCondition,
    Qdisc,
    QdiscClass,
    TcServiceCurve,
)
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.match import CONDITION_KEYS

_CBQ_WEIGHTLESS = 8
"""tc's number of the last priority of cbq, whose classes weigh 1 unless they say otherwise."""
MAX_HTB_PRIORITY = 7  # include/uapi/linux/pkt_sched.h, TC_HTB_NUMPRIO, less one.
_DIRECT_BURST_BYTES = 200_000  # Deep enough that the rate of the link never runs short of it [B].
_CAKE_DIFFSERV8_TINS = (
    *(
        2,
        0,
        1,
        2,
        4,
        2,
        2,
        2,
        1,
        2,
        1,
        2,
        1,
        2,
        1,
        2,
        5,
        2,
        4,
        2,
        4,
        2,
        4,
        2,
        3,
        2,
        3,
        2,
        3,
        2,
        3,
        2,
    ),
    *(
        6,
        2,
        3,
        2,
        3,
        2,
        3,
        2,
        6,
        2,
        2,
        2,
        6,
        2,
        6,
        2,
        7,
        2,
        2,
        2,
        2,
        2,
        2,
        2,
        7,
        2,
        2,
        2,
        2,
        2,
        2,
        2,
    ),
)
"""Tin by DSCP: sch_cake.c, diffserv8."""
_CAKE_TINS: dict[str, Sequence[int]] = {
    "diffserv8": _CAKE_DIFFSERV8_TINS,
    "precedence": [dscp >> 3 for dscp in range(64)],
}
_HFSC_CURVE_KEYS = {
    "sc": ("real_time", "link_share"),
    "rt": ("real_time",),
    "ls": ("link_share",),
    "ul": ("upper_limit",),
}
"""Keys of a scenario by tc's word."""
_KEYS_NOT_IN_RULES = ("labelled",)
_RULE_KEYS = (*CONDITION_KEYS, "class", "precedence")


def get_queueing_discipline(root: Qdisc | None) -> Qdisc | None:
    """Return the discipline that queues: the one inside dsmark."""
    while root is not None and root.kind == "dsmark":
        root = root.inner
    return root


def make_pfifo_fast_bands(root: Qdisc) -> Qdisc:
    """pfifo_fast as prio of three bands."""
    classes = {band: QdiscClass(root.at, band, 0, {}) for band in (1, 2, 3)}
    return Qdisc(root.at, "prio", root.major, {"priomap": list(DEFAULT_PRIOMAP)}, classes)


def find_scheduling_class(dscps: Iterable[int]) -> str | None:
    """Scheduling class of DSCPs: EF, AF1, CS3; None where there is none."""
    dscp_names = [str(get_dscp_name(dscp)) for dscp in dscps]
    known = [name for name in dscp_names if not name.isdigit()]
    stems = {name[:3] if name.startswith("AF") else name for name in known}
    return stems.pop() if len(stems) == 1 else None


def get_rule_tests(condition: PacketCondition) -> dict[str, list[str | int]]:
    """Return tests as keys of a rule."""
    return {
        key: sorted(values, key=str)
        for key, values in condition.tests
        if key not in _KEYS_NOT_IN_RULES and not (key == "tc" and len(values) == 8)
    }


class ClassNames:
    """Names of the classes of a discipline, from the packets that reach them."""

    def __init__(self, discipline: Qdisc, classified: list[ClassifiedPackets]):
        self.discipline = discipline
        self.names: dict[int, str] = {}
        by_leaf: dict[int, set[int]] = {}
        default_minor: int | None = None
        for packets in classified:
            minor = packets.leaf.minor if packets.leaf is not None else 0
            if not get_rule_tests(packets.group.condition) and not is_labelled(
                packets.group.condition
            ):
                by_leaf.setdefault(minor, set()).update(packets.group.condition.dscps)
                default_minor = minor if 0 in packets.group.condition.dscps else default_minor
        if default_minor is not None:
            self.names[default_minor] = "default"
        for minor, dscps in by_leaf.items():
            name = find_scheduling_class(sorted(dscps))
            if minor != default_minor and name is not None and name not in self.names.values():
                self.names[minor] = name
        top_classes = [
            class_ for class_ in discipline.children(0) if discipline.children(class_.minor)
        ]
        if len(top_classes) == 1:
            self.names.setdefault(top_classes[0].minor, "root")

    def __getitem__(self, minor: int) -> str:
        return self.names.get(minor) or f"class-{self.discipline.major:x}-{minor:x}"


def is_labelled(condition: PacketCondition) -> bool:
    """Whether it holds for labelled packets alone."""
    return dict(condition.tests).get("labelled") == frozenset({1})


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
            port_keys = _build_rules(classified, None)
        return port_keys | {
            "queue": build_queue(discipline, defaults, inside=discipline is not root)
        }
    if discipline.kind == "cake":
        return _build_cake(discipline)
    names = ClassNames(discipline, classified)
    classes = {
        "cbq": _build_cbq,
        "drr": _build_drr,
        "hfsc": _build_hfsc,
        "htb": _build_htb,
        "prio": _build_prio,
        "tbf": _build_tbf,
    }[discipline.kind](discipline, names, classified, defaults)
    scheduler_keys: ScenarioKeys = classes.pop("")
    return scheduler_keys | _build_rules(classified, names) | {"classes": classes}


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
            rules.append(_unwrap_single_values({"dscp": dscps, "class": name}))
    classes = {
        names[tin]: {
            "priority": 7 - tin,
            "rate": f"{100 * (7 / 8) ** tin:.6g} %",
            "queue": deepcopy(queue),
        }
        for tin in reversed(range(8))
    }
    return {"classify": rules, "classes": classes}


def _build_rules(classified: list[ClassifiedPackets], names: ClassNames | None) -> ScenarioKeys:
    """Rules, the first that fits first; none for packets of the default class."""
    rules: list[ScenarioKeys] = []
    for packets in classified:
        condition, leaf = packets.group.condition, packets.leaf
        rule: ScenarioKeys = {"dscp": sorted(condition.dscps)} | get_rule_tests(condition)
        if is_labelled(condition):
            rule["dscp"] = None
            rule.setdefault("tc", list(range(8)))
        if names is not None:
            rule["class"] = names[leaf.minor if leaf is not None else 0]
        if packets.precedence:
            rule["precedence"] = packets.precedence
        if rules and rule["dscp"] and _differ_only_in_dscp(rules[-1], rule):
            rules[-1]["dscp"] += rule["dscp"]
        else:
            rules.append(rule)
    rules = _drop_redundant_rules(rules)
    return (
        {"classify": [_unwrap_single_values(rule) for rule in _omit_implied_dscps(rules)]}
        if rules
        else {}
    )


def _drop_redundant_rules(rules: list[ScenarioKeys]) -> list[ScenarioKeys]:
    """Drop rules that change nothing."""
    needed_rules: list[ScenarioKeys] = []
    is_plain = True
    for rule in reversed(rules):
        by_default = rule.get("class", "default") == "default" and "precedence" not in rule
        is_tested = bool(set(rule) - {"dscp", "class", "precedence"})
        # Rules that look at the DSCP alone never overlap; behind others their order counts.
        if by_default and (not needed_rules or (is_plain and not is_tested)):
            continue
        is_plain = is_plain and not is_tested
        needed_rules.insert(0, rule)
    return needed_rules


def _omit_implied_dscps(rules: list[ScenarioKeys]) -> list[ScenarioKeys]:
    """Rules without a DSCP where those before leave no other."""
    covered_dscps: set[int] = set()
    for rule in rules:
        dscps = rule.pop("dscp")
        if dscps is not None and covered_dscps | set(dscps) != ALL_DSCPS:
            rule["dscp"] = [get_dscp_name(dscp) for dscp in dscps]
        if dscps is not None and not set(rule) - {"dscp", "class", "precedence"}:
            covered_dscps |= set(dscps)
    return [{key: rule[key] for key in sorted(rule, key=_RULE_KEYS.index)} for rule in rules]


def _unwrap_single_values(rule: ScenarioKeys) -> ScenarioKeys:
    return {
        key: value[0] if isinstance(value, list) and len(value) == 1 else value
        for key, value in rule.items()
    }


def _differ_only_in_dscp(one: ScenarioKeys, other: ScenarioKeys) -> bool:
    return {**one, "dscp": None} == {**other, "dscp": None}


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


def _compute_htb_quantum(discipline: Qdisc, cl: QdiscClass) -> int:
    """Compute the rate in bytes a second over r2q, between 1000 B and 200 kB."""
    derived = (
        get_integer_option(cl.options, "rate", 0)
        // 8
        // get_integer_option(discipline.options, "r2q", 10)
    )
    return get_integer_option(cl.options, "quantum", min(200_000, max(1000, derived)))


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
