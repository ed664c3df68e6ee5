"""Rules of a port's classifier and names of its classes, from the packets that reach each class."""

from collections.abc import Iterable

from trunkline.importers.common.classification import (
    ClassifiedPackets,
)
from trunkline.importers.common.queues import (
    ScenarioKeys,
)
from trunkline.importers.common.traffic_control import (
    ALL_DSCPS,
    PacketCondition,
    Qdisc,
)
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.match import CONDITION_KEYS

_KEYS_NOT_IN_RULES = ("labelled",)
_RULE_KEYS = (*CONDITION_KEYS, "class", "precedence")


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


def build_rules(classified: list[ClassifiedPackets], names: ClassNames | None) -> ScenarioKeys:
    """Build the rules, the first that fits first; none for packets of the default class."""
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
        {"classify": [unwrap_single_values(rule) for rule in _omit_implied_dscps(rules)]}
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


def unwrap_single_values(rule: ScenarioKeys) -> ScenarioKeys:
    """Write a list of one value as that value."""
    return {
        key: value[0] if isinstance(value, list) and len(value) == 1 else value
        for key, value in rule.items()
    }


def _differ_only_in_dscp(one: ScenarioKeys, other: ScenarioKeys) -> bool:
    return {**one, "dscp": None} == {**other, "dscp": None}
