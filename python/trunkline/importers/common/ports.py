"""Ports of a scenario from the disciplines of devices.

Source: Linux 2.4 net/sched/sch_cbq.c (priorities from 1, quanta normalised over the classes of one
priority), iproute2 2.4 tc/q_cbq.c (weight = rate unless given), tc-drr(8), tc-htb(8), tc-prio(8),
tc-tbf(8).
"""

from collections.abc import Iterable
from copy import deepcopy

from trunkline.importers.common.classify import PRIOMAP, Reached, whole
from trunkline.importers.common.fault import refuse
from trunkline.importers.common.queues import FRAME, LEAVES, Config, Defaults, queue
from trunkline.importers.common.tree import ALL_DSCPS, Class, Condition, Qdisc
from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.match import CONDITIONS

_CBQ_WEIGHTLESS = 8
"""tc's number of the last priority of cbq, whose classes weigh 1 unless they say otherwise."""
_UNTESTED = ("labelled",)
_KEYS = (*CONDITIONS, "class", "precedence")


def core(root: Qdisc | None) -> Qdisc | None:
    """The discipline that queues: what is inside dsmark."""
    while root is not None and root.kind == "dsmark":
        root = root.inner
    return root


def fast(root: Qdisc) -> Qdisc:
    """pfifo_fast as prio of three bands."""
    classes = {band: Class(root.at, band, 0, {}) for band in (1, 2, 3)}
    return Qdisc(root.at, "prio", root.major, {"priomap": list(PRIOMAP)}, classes)


def named(dscps: Iterable[int]) -> str | None:
    """Scheduling class of DSCPs: EF, AF1, CS3; None where there is none."""
    shown = [str(dscp_name(dscp)) for dscp in dscps]
    known = [name for name in shown if not name.isdigit()]
    stems = {name[:3] if name.startswith("AF") else name for name in known}
    return stems.pop() if len(stems) == 1 else None


def tests_of(condition: Condition) -> dict[str, list[str | int]]:
    """Tests as keys of a rule."""
    return {
        key: sorted(values, key=str)
        for key, values in condition.tests
        if key not in _UNTESTED and not (key == "tc" and len(values) == 8)
    }


class Names:
    """Names of the classes of a discipline, from the packets that reach them."""

    def __init__(self, of: Qdisc, reached: list[Reached]):
        self.of = of
        self.names: dict[int, str] = {}
        by_leaf: dict[int, set[int]] = {}
        rest: int | None = None
        for each in reached:
            minor = each.leaf.minor if each.leaf is not None else 0
            if not tests_of(each.kind.condition) and not is_labelled(each.kind.condition):
                by_leaf.setdefault(minor, set()).update(each.kind.condition.dscps)
                rest = minor if 0 in each.kind.condition.dscps else rest
        if rest is not None:
            self.names[rest] = "default"
        for minor, dscps in by_leaf.items():
            name = named(sorted(dscps))
            if minor != rest and name is not None and name not in self.names.values():
                self.names[minor] = name
        tops = [its for its in of.children(0) if of.children(its.minor)]
        if len(tops) == 1:
            self.names.setdefault(tops[0].minor, "root")

    def __getitem__(self, minor: int) -> str:
        return self.names.get(minor) or f"class-{self.of.major:x}-{minor:x}"


def is_labelled(condition: Condition) -> bool:
    """Whether it holds for labelled packets alone."""
    return dict(condition.tests).get("labelled") == frozenset({1})


def port(root: Qdisc, reached: list[Reached], defaults: Defaults) -> Config:
    """A port configuration.

    Parameters
    ----------
    root : Qdisc
        Discipline of the device; dsmark is looked through.
    reached : list of Reached
        Where its packets end up, conditions as the port sees them.
    """
    its = core(root)
    if its is None or its.kind in LEAVES:
        made: Config = {}
        if its is not None and its.kind == "gred":
            made = _classify(reached, None)
        return made | {"queue": queue(its, defaults, inside=its is not root)}
    if its.kind == "cake":
        return _cake(its)
    names = Names(its, reached)
    classes = {
        "cbq": _cbq,
        "drr": _drr,
        "htb": _htb,
        "prio": _prio,
        "tbf": _tbf,
    }[its.kind](its, names, reached, defaults)
    head: Config = classes.pop("")
    return head | _classify(reached, names) | {"classes": classes}


def _cake(its: Qdisc) -> Config:
    """CAKE: tc's default are the tins of diffserv3 and `triple-isolate`."""
    own = its.options
    isolation = {"flows": "flows", "dual-srchost": "source", "dual-dsthost": "destination"}
    flows: Config = {"kind": "cake"}
    for word, hosts in isolation.items():
        if own.get(word):
            flows["hosts"] = hosts
    queue: Config = {"flows": flows}
    if "rtt" in own:
        rtt = whole(own, "rtt", 0)
        queue["aqm"] = {"kind": "cobalt", "target": f"{rtt // 20} ns", "interval": f"{rtt} ns"}
    if "memlimit" in own:
        queue["limit"] = f"{own['memlimit']} B"
    made: Config = {"scheduler": "cake"}
    if "bandwidth" in own:
        made["bandwidth"] = f"{own['bandwidth']} bit/s"
    if own.get("besteffort"):
        return made | {"classes": {"default": {"queue": queue}}}
    if own.get("diffserv4"):
        made["preset"] = made.pop("scheduler") + "-diffserv4"
        tins = ("voice", "video", "bulk", "default")
        return made | {"classes": {tin: {"queue": deepcopy(queue)} for tin in tins}}
    rules = [
        {"dscp": ["CS7", "CS6", "EF", 44, 4], "class": "voice"},
        {"dscp": ["CS1", "LE"], "class": "bulk"},
    ]
    rates = {"voice": "25 %", "bulk": "6.25 %", "default": "100 %"}
    classes = {
        tin: {"priority": at, "rate": rate, "queue": deepcopy(queue)}
        for at, (tin, rate) in enumerate(rates.items())
    }
    return made | {"classify": rules, "classes": classes}


def _classify(reached: list[Reached], names: Names | None) -> Config:
    """Rules, the first that fits first; none for what goes to the default class anyway."""
    rules: list[Config] = []
    for each in reached:
        condition, leaf = each.kind.condition, each.leaf
        rule: Config = {"dscp": sorted(condition.dscps)} | tests_of(condition)
        if is_labelled(condition):
            rule["dscp"] = None
            rule.setdefault("tc", list(range(8)))
        if names is not None:
            rule["class"] = names[leaf.minor if leaf is not None else 0]
        if each.precedence:
            rule["precedence"] = each.precedence
        if rules and rule["dscp"] and _same_but_dscp(rules[-1], rule):
            rules[-1]["dscp"] += rule["dscp"]
        else:
            rules.append(rule)
    rules = _needed(rules)
    return {"classify": [_short(rule) for rule in _widened(rules)]} if rules else {}


def _needed(rules: list[Config]) -> list[Config]:
    """Rules without those that say no more than what holds without them."""
    kept: list[Config] = []
    is_plain = True
    for rule in reversed(rules):
        by_default = rule.get("class", "default") == "default" and "precedence" not in rule
        is_tested = bool(set(rule) - {"dscp", "class", "precedence"})
        # Rules that look at the DSCP alone never overlap; behind others their order counts.
        if by_default and (not kept or (is_plain and not is_tested)):
            continue
        is_plain = is_plain and not is_tested
        kept.insert(0, rule)
    return kept


def _widened(rules: list[Config]) -> list[Config]:
    """Rules without a DSCP where those before leave no other."""
    taken: set[int] = set()
    for rule in rules:
        dscps = rule.pop("dscp")
        if dscps is not None and taken | set(dscps) != ALL_DSCPS:
            rule["dscp"] = [dscp_name(dscp) for dscp in dscps]
        if dscps is not None and not set(rule) - {"dscp", "class", "precedence"}:
            taken |= set(dscps)
    return [{key: rule[key] for key in sorted(rule, key=_KEYS.index)} for rule in rules]


def _short(rule: Config) -> Config:
    return {
        key: value[0] if isinstance(value, list) and len(value) == 1 else value
        for key, value in rule.items()
    }


def _same_but_dscp(one: Config, other: Config) -> bool:
    return {**one, "dscp": None} == {**other, "dscp": None}


def _cbq(its: Qdisc, names: Names, reached: list[Reached], defaults: Defaults) -> Config:
    made: Config = {"": {"scheduler": "cbq"}}
    for minor, cl in its.classes.items():
        own = its.options | cl.options
        if "rate" not in cl.options:
            refuse(cl.at, "a class of cbq needs a rate")
        one: Config = {}
        if cl.parent:
            one["parent"] = names[cl.parent]
        is_leaf = not its.children(minor)
        if is_leaf:
            one["priority"] = _cbq_priority(cl)
        one["rate"] = f"{whole(own, 'rate', 0)} bit/s"
        for key in ("bounded", "isolated"):
            if cl.options.get(key):
                one[key] = True
        one["max_burst"] = f"{whole(own, 'maxburst', 16)} packets"
        one["ewma_log"] = whole(own, "ewma", 5)
        one["average_packet"] = f"{whole(own, 'avpkt', 1000)} B"
        one["quantum"] = f"{_cbq_quantum(its, cl) if is_leaf else _allot(its, cl)} B"
        if is_leaf:
            one["queue"] = queue(cl.queue, defaults, inside=True)
        made[names[minor]] = one
    if any(each.leaf is None for each in reached):
        # What no class takes, the link's own class sends last.
        rate = whole(its.options, "bandwidth", 0)
        made[names[0]] = {
            "priority": 7,
            "rate": f"{rate} bit/s",
            "queue": queue(None, defaults, inside=True),
        }
    return made


def _cbq_priority(cl: Class) -> int:
    """Priority: tc counts from 1; 0, and none, are the kernel's 0 too."""
    return max(0, whole(cl.options, "prio", 0) - 1)


def _allot(its: Qdisc, cl: Class) -> int:
    own = its.options | cl.options
    return whole(own, "allot", whole(own, "avpkt", 1000) * 3 // 2)


def _cbq_quantum(its: Qdisc, cl: Class) -> int:
    """Weighted allot; classes of one priority have their allot on average."""
    peers = [each for each in its.classes.values() if _cbq_priority(each) == _cbq_priority(cl)]
    weight = {each.minor: _weight(each) for each in peers}
    normal = weight[cl.minor] * _allot(its, cl) * len(peers) // sum(weight.values())
    return normal or _allot(its, cl)


def _weight(cl: Class) -> int:
    rate = whole(cl.options, "rate", 8) // 8
    last = whole(cl.options, "prio", 0) == _CBQ_WEIGHTLESS
    return whole(cl.options, "weight", 1 if last else max(1, rate))


def _htb(its: Qdisc, names: Names, reached: list[Reached], defaults: Defaults) -> Config:
    if any(each.leaf is None for each in reached):
        known = ", ".join(f"default {minor:x}" for minor in its.classes if not its.children(minor))
        refuse(its.at, "what no filter takes would go past htb, unshaped and first", known)
    made: Config = {"": {"scheduler": "htb"}}
    for minor, cl in its.classes.items():
        own = cl.options
        if "rate" not in own:
            refuse(cl.at, "a class of htb needs a rate")
        one: Config = {"parent": names[cl.parent]} if cl.parent else {}
        one["rate"] = f"{whole(own, 'rate', 0)} bit/s"
        if "ceil" in own:
            one["ceil"] = f"{own['ceil']} bit/s"
        for key in ("burst", "cburst"):
            if key in own:
                one[key] = f"{own[key]} B"
        if not its.children(minor):
            one["priority"] = whole(own, "prio", 0)
            one["quantum"] = f"{_htb_quantum(its, cl)} B"
            one["queue"] = queue(cl.queue, defaults, inside=True)
        made[names[minor]] = one
    return made


def _htb_quantum(its: Qdisc, cl: Class) -> int:
    """Rate in bytes a second over r2q, between 1000 B and 200 kB."""
    derived = whole(cl.options, "rate", 0) // 8 // whole(its.options, "r2q", 10)
    return whole(cl.options, "quantum", min(200_000, max(1000, derived)))


def _drr(its: Qdisc, names: Names, reached: list[Reached], defaults: Defaults) -> Config:
    if any(each.leaf is None for each in reached):
        refuse(its.at, "what no filter takes drr drops", "a filter for the rest: matchall")
    made: Config = {"": {"scheduler": "drr"}}
    for minor, cl in its.classes.items():
        made[names[minor]] = {
            # Without a quantum the kernel takes the longest frame.
            "quantum": f"{whole(cl.options, 'quantum', FRAME)} B",
            "queue": queue(cl.queue, defaults, inside=True),
        }
    return made


def _prio(its: Qdisc, names: Names, reached: list[Reached], defaults: Defaults) -> Config:
    shaped = [cl for cl in its.classes.values() if cl.queue is not None and cl.queue.kind == "tbf"]
    made: Config = {"": {"scheduler": "shaped" if shaped else "priority"}}
    used = {each.leaf.minor for each in reached if each.leaf is not None}
    for minor, cl in its.classes.items():
        one: Config = {"priority": minor - 1}
        if cl.queue is not None and cl.queue.kind == "tbf":
            one |= _shaping(cl.queue, defaults)
        else:
            one["queue"] = queue(cl.queue, defaults, inside=True)
        if minor in used:
            made[names[minor]] = one
    return made


def _tbf(its: Qdisc, names: Names, reached: list[Reached], defaults: Defaults) -> Config:
    return {"": {"scheduler": "tbf"}, "default": _shaping(its, defaults, alone=True)}


def _shaping(its: Qdisc, defaults: Defaults, *, alone: bool = False) -> Config:
    own = its.options
    if "peakrate" in own and not alone:
        refuse(its.at, "a peak rate of tbf inside prio is not read", "tbf at the root")
    for name in ("rate", "burst"):
        if name not in own:
            refuse(its.at, f"tbf needs {name}")
    rate, burst = whole(own, "rate", 0), whole(own, "burst", 0)
    shape: Config = {"rate": f"{rate} bit/s", "burst": f"{burst} B"}
    if "peakrate" in own:
        if "minburst" not in own:
            refuse(its.at, "a peak rate of tbf needs mtu", "peakrate RATE mtu BYTES")
        shape |= {"peak_rate": f"{own['peakrate']} bit/s", "min_burst": f"{own['minburst']} B"}
    if its.inner is not None:
        return shape | {"queue": queue(its.inner, defaults, inside=True)}
    if "limit" not in own and "latency" not in own:
        refuse(its.at, "tbf needs a limit or a latency")
    # tc: what the bucket passes within the latency, and the bucket itself.
    limit = whole(own, "limit", rate * whole(own, "latency", 0) // (8 * 10**9) + burst)
    return shape | {"queue": {"limit": f"{limit} B"}}
