"""Conditioners of a scenario from policers where packets come in, and from dsmark.

A policer that lets packets out of profile to the next filter, which polices again, is the marker of
RFC 4115 without coupling: each bucket alone (its section 3; tc-police(8), `continue`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trunkline.importers.common.classification import (
    ClassifiedPackets,
    PacketGroup,
    get_integer_option,
    split_by_filters,
)
from trunkline.importers.common.classifier_rules import get_rule_tests
from trunkline.importers.common.fault import raise_fault
from trunkline.importers.common.queues import ScenarioKeys
from trunkline.importers.common.traffic_control import Filter, PacketCondition, Policer, Qdisc
from trunkline.scenario.dscp import get_dscp_name

_COLOURS = ("green", "yellow", "red")


@dataclass(frozen=True, slots=True)
class PacketMarking:
    """Marks that packets get where they arrive."""

    index: int
    mark: int = 0
    dscp: int | None = None  # DSCP that is written at once; None where theirs stays.

    def apply_to(self, group: PacketGroup) -> PacketGroup:
        """A kind of packets after marking."""
        condition = group.condition
        if self.dscp is not None:
            condition = replace(condition, dscps=frozenset({self.dscp}))
        return PacketGroup(condition, self.index, self.mark)


@dataclass(frozen=True, slots=True)
class PolicingResult:
    """Classes and marks of a kind of packets after policing."""

    group: PacketGroup
    policers: tuple[Policer, ...]  # Policers that they meet, one after the other.
    # Marking of packets, by the number of policers that they exceed; None drops them.
    markings: tuple[PacketMarking | None, ...]


def police_groups(filters: Sequence[Filter], groups: list[PacketGroup]) -> list[PolicingResult]:
    """Follow kinds of packets through the filters of an ingress discipline."""
    result: list[PolicingResult] = []
    positions = {id(each): position for position, each in enumerate(filters)}
    for group, filter_ in split_by_filters(list(filters), groups):
        if filter_ is None:
            result.append(PolicingResult(group, (), (PacketMarking(group.index, group.mark),)))
            continue
        if filter_.policer is not None and filter_.policer.meter:
            result.append(_police_by_colour(filter_.policer, filters, group))
            continue
        marking = PacketMarking(
            group.index if filter_.index is None else filter_.index,
            group.mark if filter_.mark is None else filter_.mark,
            filter_.dscp,
        )
        if filter_.policer is None:
            result.append(PolicingResult(group, (), (None if filter_.drop else marking,)))
        elif filter_.policer.exceed == "continue":
            later_filters = filters[positions[id(filter_)] + 1 :]
            for further in police_groups(later_filters, [group]):
                chain = (filter_.policer, *further.policers)
                result.append(PolicingResult(further.group, chain, (marking, *further.markings)))
        else:
            exceed_marking = None if filter_.policer.exceed == "drop" else marking
            result.append(PolicingResult(group, (filter_.policer,), (marking, exceed_marking)))
    return result


def _police_by_colour(
    meter: Policer, filters: Sequence[Filter], group: PacketGroup
) -> PolicingResult:
    """List the filters' choice for each colour of a meter."""
    markings: list[PacketMarking | None] = []
    for colour in _COLOURS:
        colour_filters = [
            replace(filter_, policer=None) if filter_.policer == meter else filter_
            for filter_ in filters
            if filter_.policer != meter or filter_.colour == colour
        ]
        results = police_groups(colour_filters, [group])
        if len(results) > 1 or results[0].policers:
            raise_fault(
                meter.at, "packets of one meter part further by their colour", "one condition"
            )
        markings += results[0].markings
    return PolicingResult(group, (meter,), tuple(markings))


def map_remarked_dscps(root: Qdisc, classified: ClassifiedPackets) -> dict[int, int]:
    """DSCP that packets leave with, by the one they came with."""
    new_dscps = {dscp: dscp for dscp in classified.group.condition.dscps}
    if root.kind == "dsmark":
        index = classified.group.index & (get_integer_option(root.options, "indices", 64) - 1)
        mask, value = root.dsmark_values.get(index, (0xFF, 0))
        new_dscps = {dscp: ((dscp << 2) & mask | value) >> 2 for dscp in new_dscps}
    return new_dscps


@dataclass(slots=True)
class RemarkTable:
    """DSCPs that packets leave with, by their marking and the DSCP of their arrival."""

    new_dscps: dict[tuple[PacketMarking, int], int]

    def find_new_dscps(self, marking: PacketMarking, dscps: frozenset[int]) -> set[int | None]:
        """New DSCPs of some packets; None where theirs stays."""
        found = {dscp: self.new_dscps.get((marking, dscp), marking.dscp) for dscp in dscps}
        if all(new_dscp is None or new_dscp == dscp for dscp, new_dscp in found.items()):
            return {None}
        return {dscp if new_dscp is None else new_dscp for dscp, new_dscp in found.items()}


def build_conditioner(outcomes: list[PolicingResult], remarks: RemarkTable) -> ScenarioKeys | None:
    """Build the conditioner equal to an ingress discipline and dsmark behind it.

    outcomes: In order.
    Returns: None where nothing is done.
    """
    rules: list[ScenarioKeys] = []
    profiles: dict[str, ScenarioKeys] = {}
    keys: dict[tuple[object, ...], str] = {}
    shared: dict[int, tuple[object, ...]] = {}
    for result in outcomes:
        for condition in _split_by_new_dscp(result, remarks):
            actions = [
                _choose_action(result, marking, condition, remarks) for marking in result.markings
            ]
            rule: ScenarioKeys = {}
            if condition.dscps != PacketCondition().dscps:
                rule["dscp"] = [get_dscp_name(dscp) for dscp in sorted(condition.dscps)]
            rule |= get_rule_tests(condition)
            if result.policers or actions != ["pass"]:
                meter = tuple(
                    id(policer) if policer.index is None else policer.index
                    for policer in result.policers
                )
                key = (meter, repr(actions))
                _check_shared_policers(result.policers, key, shared)
                if key not in keys:
                    keys[key] = _make_profile_name(condition, profiles)
                    profiles[keys[key]] = _build_profile(result.policers, actions)
                rule["profile"] = keys[key]
            rules.append(rule)
    while rules and "profile" not in rules[-1]:
        rules.pop()
    for rule in rules:
        for name, value in rule.items():
            if isinstance(value, list) and len(value) == 1:
                rule[name] = value[0]
    return {"rules": rules, "profiles": profiles} if rules else None


def _check_shared_policers(
    policers: tuple[Policer, ...], key: tuple[object, ...], shared: dict[int, tuple[object, ...]]
) -> None:
    """A policer that filters share is one meter of one profile: its action must be one."""
    for policer in policers:
        if policer.index is not None and shared.setdefault(policer.index, key) != key:
            message = (
                f"policer {policer.index} is shared by packets that fare differently behind it"
            )
            raise_fault(policer.at, message, "one outcome for all that share it")


def _split_by_new_dscp(result: PolicingResult, remarks: RemarkTable) -> list[PacketCondition]:
    """Split packets by their new DSCP; a policer's stay together."""
    if result.policers:
        return [result.group.condition]
    marking = result.markings[0]
    groups: dict[int | None, set[int]] = {}
    for dscp in result.group.condition.dscps:
        (new_dscp,) = (
            {None} if marking is None else remarks.find_new_dscps(marking, frozenset({dscp}))
        )
        groups.setdefault(new_dscp, set()).add(dscp)
    return [replace(result.group.condition, dscps=frozenset(dscps)) for dscps in groups.values()]


def _choose_action(
    result: PolicingResult,
    marking: PacketMarking | None,
    condition: PacketCondition,
    remarks: RemarkTable,
) -> object:
    if marking is None:
        return "drop"
    new_dscps = remarks.find_new_dscps(marking, condition.dscps)
    if len(new_dscps) > 1:
        dscp_names = ", ".join(str(get_dscp_name(dscp)) for dscp in sorted(condition.dscps))
        at = result.policers[0].at
        raise_fault(at, f"packets of {dscp_names} share this policer and leave with several DSCPs")
    (new_dscp,) = new_dscps
    return "pass" if new_dscp is None else {"dscp": get_dscp_name(new_dscp)}


def _make_profile_name(condition: PacketCondition, profiles: dict[str, ScenarioKeys]) -> str:
    names = [str(get_dscp_name(dscp)).lower() for dscp in condition.dscps]
    name = names[0] if len(names) == 1 else ""
    if name == "df":
        name = "default"
    return name if name and name not in profiles else f"profile-{len(profiles) + 1}"


def _build_profile(policers: tuple[Policer, ...], actions: list[object]) -> ScenarioKeys:
    if len(policers) > 2:
        raise_fault(
            policers[2].at, "a third policer for the same packets is not read", "two at most"
        )
    profile: ScenarioKeys = {}
    colours: tuple[str, ...] = ("green",)
    if policers and policers[0].meter:
        profile["meter"] = dict(policers[0].meter)
        colours = _COLOURS
    elif len(policers) == 1:
        (policer,) = policers
        profile["meter"] = {
            "kind": "token-bucket",
            "rate": f"{policer.rate} bit/s",
            "burst": f"{policer.burst} B",
        }
        if policer.peak_rate:
            profile["meter"]["peak_rate"] = f"{policer.peak_rate} bit/s"
            profile["meter"]["peak_burst"] = f"{policer.peak_burst} B"
        colours = ("green", "red")
    elif policers:
        first, second = policers
        for policer in policers:
            if policer.peak_rate:
                raise_fault(
                    policer.at, "a peak rate in a chain of policers is not read", "rate and burst"
                )
        profile["meter"] = {
            "kind": "rfc4115",
            "cir": f"{first.rate} bit/s",
            "cbs": f"{first.burst} B",
            "eir": f"{second.rate} bit/s",
            "ebs": f"{second.burst} B",
        }
        colours = _COLOURS
    for colour, action in zip(colours, actions, strict=True):
        if action != "pass":
            profile[colour] = action
    return profile
