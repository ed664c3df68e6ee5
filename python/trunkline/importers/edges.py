"""Conditioners of a scenario from policers where packets come in, and from dsmark.

A policer that lets packets out of profile to the next filter, which polices again, is the marker of
RFC 4115 without coupling: each bucket alone (its section 3; tc-police(8), `continue`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trunkline.importers.classify import Kind, Reached, matched, whole
from trunkline.importers.fault import refuse
from trunkline.importers.ports import tests_of
from trunkline.importers.queues import Config
from trunkline.importers.tree import Condition, Filter, Police, Qdisc
from trunkline.scenario.fields import dscp_name

__all__ = ["Outcome", "Written", "conditioner", "policed", "remarked"]

_COLOURS = ("green", "yellow", "red")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a kind of packets where they come in.

    Parameters
    ----------
    kind : Kind
        The packets.
    polices : tuple of Police
        Policers that they meet, one after the other.
    indices : tuple of int or None
        Traffic control index by how many policers a packet exceeds; None drops it.
    """

    kind: Kind
    polices: tuple[Police, ...]
    indices: tuple[int | None, ...]


def policed(filters: Sequence[Filter], kinds: list[Kind]) -> list[Outcome]:
    """Follow kinds of packets through the filters of an ingress discipline."""
    result: list[Outcome] = []
    for kind, its in matched(list(filters), kinds):
        if its is None:
            result.append(Outcome(kind, (), (kind.index,)))
            continue
        if its.police is not None and its.police.meter:
            result.append(_three(its.police, filters, kind))
            continue
        index = its.index if its.index is not None else kind.index
        if its.police is None:
            result.append(Outcome(kind, (), (None if its.drop else index,)))
        elif its.police.exceed == "continue":
            behind = filters[list(filters).index(its) + 1 :]
            for further in policed(behind, [kind]):
                chain = (its.police, *further.polices)
                result.append(Outcome(further.kind, chain, (index, *further.indices)))
        else:
            last = None if its.police.exceed == "drop" else index
            result.append(Outcome(kind, (its.police,), (index, last)))
    return result


def _three(meter: Police, filters: Sequence[Filter], kind: Kind) -> Outcome:
    """What the filters choose for each colour of a meter."""
    indices: list[int | None] = []
    for colour in _COLOURS:
        assumed = [
            replace(its, police=None) if its.police == meter else its
            for its in filters
            if its.police != meter or its.colour == colour
        ]
        found = policed(assumed, [kind])
        if len(found) > 1 or found[0].polices:
            refuse(meter.at, "packets of one meter part further by their colour", "one condition")
        indices += found[0].indices
    return Outcome(kind, (meter,), tuple(indices))


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
    """DSCPs that packets leave with, by their traffic control index and their DSCP."""

    new: dict[tuple[int, int], int]

    def of(self, index: int, dscps: frozenset[int]) -> set[int | None]:
        """New DSCPs of some packets; None where theirs stays."""
        found = {self.new.get((index, dscp), dscp) for dscp in dscps}
        if all(self.new.get((index, dscp), dscp) == dscp for dscp in dscps):
            return {None}
        return set(found)


def conditioner(outcomes: list[Outcome], new: Written) -> Config | None:
    """The conditioner that does what an ingress discipline and dsmark behind it do.

    Parameters
    ----------
    outcomes : list of Outcome
        In order.
    new : written
        What dsmark writes.

    Returns
    -------
    dict or None
        None where nothing is done.
    """
    rules: list[Config] = []
    profiles: dict[str, Config] = {}
    keys: dict[tuple[object, ...], str] = {}
    for each in outcomes:
        for condition in _apart(each, new):
            actions = [_action(each, index, condition, new) for index in each.indices]
            rule: Config = {}
            if condition.dscps != Condition().dscps:
                rule["dscp"] = [dscp_name(dscp) for dscp in sorted(condition.dscps)]
            rule |= tests_of(condition)
            if each.polices or actions != ["pass"]:
                meter = tuple(its.index or id(its) for its in each.polices)
                key = (meter, repr(actions))
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


def _apart(each: Outcome, new: Written) -> list[Condition]:
    """Packets that get one DSCP each; a policer's stay together."""
    if each.polices:
        return [each.kind.condition]
    index = each.indices[0]
    groups: dict[int | None, set[int]] = {}
    for dscp in each.kind.condition.dscps:
        (to,) = {None} if index is None else new.of(index, frozenset({dscp}))
        groups.setdefault(to, set()).add(dscp)
    return [replace(each.kind.condition, dscps=frozenset(its)) for its in groups.values()]


def _action(each: Outcome, index: int | None, condition: Condition, new: Written) -> object:
    if index is None:
        return "drop"
    to = new.of(index, condition.dscps)
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
