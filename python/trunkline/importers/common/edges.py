"""Conditioners of a scenario from policers where packets come in, and from dsmark.

A policer that lets packets out of profile to the next filter, which polices again, is the marker of
RFC 4115 without coupling: each bucket alone (its section 3; tc-police(8), `continue`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trunkline.importers.common.classify import Kind, Reached, matched, whole
from trunkline.importers.common.fault import refuse
from trunkline.importers.common.ports import tests_of
from trunkline.importers.common.queues import Config
from trunkline.importers.common.tree import Condition, Filter, Police, Qdisc
from trunkline.scenario.dscp import dscp_name

_COLOURS = ("green", "yellow", "red")


@dataclass(frozen=True, slots=True)
class Passed:
    """What packets get where they come in.

    Parameters
    ----------
    dscp : int or None
        DSCP that is written at once; None where theirs stays.
    """

    index: int
    mark: int = 0
    dscp: int | None = None

    def kind(self, kind: Kind) -> Kind:
        """A kind of packets as they are from then on."""
        condition = kind.condition
        if self.dscp is not None:
            condition = replace(condition, dscps=frozenset({self.dscp}))
        return Kind(condition, self.index, self.mark)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a kind of packets where they come in.

    Parameters
    ----------
    polices : tuple of Police
        Policers that they meet, one after the other.
    ends : tuple of Passed or None
        What packets get, by how many policers they exceed; None drops them.
    """

    kind: Kind
    polices: tuple[Police, ...]
    ends: tuple[Passed | None, ...]


def policed(filters: Sequence[Filter], kinds: list[Kind]) -> list[Outcome]:
    """Follow kinds of packets through the filters of an ingress discipline."""
    result: list[Outcome] = []
    places = {id(each): place for place, each in enumerate(filters)}
    for kind, its in matched(list(filters), kinds):
        if its is None:
            result.append(Outcome(kind, (), (Passed(kind.index, kind.mark),)))
            continue
        if its.police is not None and its.police.meter:
            result.append(_three(its.police, filters, kind))
            continue
        passed = Passed(
            kind.index if its.index is None else its.index,
            kind.mark if its.mark is None else its.mark,
            its.dscp,
        )
        if its.police is None:
            result.append(Outcome(kind, (), (None if its.drop else passed,)))
        elif its.police.exceed == "continue":
            behind = filters[places[id(its)] + 1 :]
            for further in policed(behind, [kind]):
                chain = (its.police, *further.polices)
                result.append(Outcome(further.kind, chain, (passed, *further.ends)))
        else:
            last = None if its.police.exceed == "drop" else passed
            result.append(Outcome(kind, (its.police,), (passed, last)))
    return result


def _three(meter: Police, filters: Sequence[Filter], kind: Kind) -> Outcome:
    """What the filters choose for each colour of a meter."""
    ends: list[Passed | None] = []
    for colour in _COLOURS:
        assumed = [
            replace(its, police=None) if its.police == meter else its
            for its in filters
            if its.police != meter or its.colour == colour
        ]
        found = policed(assumed, [kind])
        if len(found) > 1 or found[0].polices:
            refuse(meter.at, "packets of one meter part further by their colour", "one condition")
        ends += found[0].ends
    return Outcome(kind, (meter,), tuple(ends))


def remarked(root: Qdisc, reached: Reached) -> dict[int, int]:
    """DSCP that packets leave with, by the one they came with."""
    new = {dscp: dscp for dscp in reached.kind.condition.dscps}
    if root.kind == "dsmark":
        index = reached.kind.index & (whole(root.options, "indices", 64) - 1)
        mask, value = root.marks.get(index, (0xFF, 0))
        new = {dscp: ((dscp << 2) & mask | value) >> 2 for dscp in new}
    return new


@dataclass(slots=True)
class Written:
    """DSCPs that packets leave with, by what they got and the DSCP they came with."""

    new: dict[tuple[Passed, int], int]

    def of(self, passed: Passed, dscps: frozenset[int]) -> set[int | None]:
        """New DSCPs of some packets; None where theirs stays."""
        found = {dscp: self.new.get((passed, dscp), passed.dscp) for dscp in dscps}
        if all(to is None or to == dscp for dscp, to in found.items()):
            return {None}
        return {dscp if to is None else to for dscp, to in found.items()}


def conditioner(outcomes: list[Outcome], new: Written) -> Config | None:
    """The conditioner that does what an ingress discipline and dsmark behind it do.

    Parameters
    ----------
    outcomes : list of Outcome
        In order.

    Returns
    -------
    dict or None
        None where nothing is done.
    """
    rules: list[Config] = []
    profiles: dict[str, Config] = {}
    keys: dict[tuple[object, ...], str] = {}
    shared: dict[int, tuple[object, ...]] = {}
    for each in outcomes:
        for condition in _apart(each, new):
            actions = [_action(each, end, condition, new) for end in each.ends]
            rule: Config = {}
            if condition.dscps != Condition().dscps:
                rule["dscp"] = [dscp_name(dscp) for dscp in sorted(condition.dscps)]
            rule |= tests_of(condition)
            if each.polices or actions != ["pass"]:
                meter = tuple(id(its) if its.index is None else its.index for its in each.polices)
                key = (meter, repr(actions))
                _one_profile(each.polices, key, shared)
                if key not in keys:
                    keys[key] = _profile_name(condition, profiles)
                    profiles[keys[key]] = _profile(each.polices, actions)
                rule["profile"] = keys[key]
            rules.append(rule)
    while rules and "profile" not in rules[-1]:
        rules.pop()
    for rule in rules:
        for name, value in rule.items():
            if isinstance(value, list) and len(value) == 1:
                rule[name] = value[0]
    return {"rules": rules, "profiles": profiles} if rules else None


def _one_profile(
    polices: tuple[Police, ...], key: tuple[object, ...], shared: dict[int, tuple[object, ...]]
) -> None:
    """A policer that filters share is one meter of one profile: what it leads to must be one."""
    for its in polices:
        if its.index is not None and shared.setdefault(its.index, key) != key:
            message = f"policer {its.index} is shared by packets that fare differently behind it"
            refuse(its.at, message, "one outcome for all that share it")


def _apart(each: Outcome, new: Written) -> list[Condition]:
    """Packets that get one DSCP each; a policer's stay together."""
    if each.polices:
        return [each.kind.condition]
    end = each.ends[0]
    groups: dict[int | None, set[int]] = {}
    for dscp in each.kind.condition.dscps:
        (to,) = {None} if end is None else new.of(end, frozenset({dscp}))
        groups.setdefault(to, set()).add(dscp)
    return [replace(each.kind.condition, dscps=frozenset(its)) for its in groups.values()]


def _action(each: Outcome, end: Passed | None, condition: Condition, new: Written) -> object:
    if end is None:
        return "drop"
    to = new.of(end, condition.dscps)
    if len(to) > 1:
        said = ", ".join(str(dscp_name(dscp)) for dscp in sorted(condition.dscps))
        at = each.polices[0].at
        refuse(at, f"packets of {said} share this policer and leave with several DSCPs")
    (only,) = to
    return "pass" if only is None else {"dscp": dscp_name(only)}


def _profile_name(condition: Condition, taken: dict[str, Config]) -> str:
    names = [str(dscp_name(dscp)).lower() for dscp in condition.dscps]
    name = names[0] if len(names) == 1 else ""
    if name == "df":
        name = "default"
    return name if name and name not in taken else f"profile-{len(taken) + 1}"


def _profile(polices: tuple[Police, ...], actions: list[object]) -> Config:
    if len(polices) > 2:
        refuse(polices[2].at, "a third policer for the same packets is not read", "two at most")
    made: Config = {}
    colours: tuple[str, ...] = ("green",)
    if polices and polices[0].meter:
        made["meter"] = dict(polices[0].meter)
        colours = _COLOURS
    elif len(polices) == 1:
        (its,) = polices
        made["meter"] = {
            "kind": "token-bucket",
            "rate": f"{its.rate} bit/s",
            "burst": f"{its.burst} B",
        }
        if its.peak_rate:
            made["meter"]["peak_rate"] = f"{its.peak_rate} bit/s"
            made["meter"]["peak_burst"] = f"{its.peak_burst} B"
        colours = ("green", "red")
    elif polices:
        one, two = polices
        for its in polices:
            if its.peak_rate:
                refuse(its.at, "a peak rate in a chain of policers is not read", "rate and burst")
        made["meter"] = {
            "kind": "rfc4115",
            "cir": f"{one.rate} bit/s",
            "cbs": f"{one.burst} B",
            "eir": f"{two.rate} bit/s",
            "ebs": f"{two.burst} B",
        }
        colours = _COLOURS
    for colour, action in zip(colours, actions, strict=True):
        if action != "pass":
            made[colour] = action
    return made
