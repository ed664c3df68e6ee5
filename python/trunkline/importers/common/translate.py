"""From a configuration to the ports and conditioners of a scenario."""

from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from trunkline.importers.common import explain
from trunkline.importers.common.classify import Kind, Reached, resolve
from trunkline.importers.common.conditions import IP, LABELLED
from trunkline.importers.common.edges import (
    Outcome,
    Passed,
    Written,
    conditioner,
    policed,
    remarked,
)
from trunkline.importers.common.fault import Note, Word, refuse
from trunkline.importers.common.ports import core, fast, is_labelled, port
from trunkline.importers.common.queues import Config, Defaults
from trunkline.importers.common.tree import Condition, Configuration, Device, Filter
from trunkline.scenario.base import Element
from trunkline.scenario.conditioner import Conditioner
from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.port import Port

QUEUE_PACKETS = {"plog": 100, "max-p": 1000}
"""Length of a device's transmit queue where nothing sets it: Ethernet's of the age."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A configuration as parts of a scenario.

    Parameters
    ----------
    ports, conditioners : dict of str to dict
        As they stand under those keys of a scenario, by name.
    words : list of str
        What they do, a sentence each.
    notes : list of Note
        What was left out, and why that changes nothing.
    """

    ports: dict[str, Config]
    conditioners: dict[str, Config]
    words: list[str]
    notes: list[Note]

    def to_dict(self) -> dict[str, Any]:
        """The keys of a scenario that are not empty."""
        found = {"ports": self.ports, "conditioners": self.conditioners}
        return {key: value for key, value in found.items() if value}


def translate(made: Configuration, age: str) -> Imported:
    """Translate what was read.

    Parameters
    ----------
    age : {"plog", "max-p"}
        How RED of its kernel stores probabilities.

    Raises
    ------
    ImportFault
        Something has no counterpart in a scenario.
    """
    kinds = _kinds(made)
    entered = {
        name: policed(device.ingress.filters, kinds)
        for name, device in made.devices.items()
        if device.ingress is not None and device.ingress.filters
    }
    outcomes = [each for its in entered.values() for each in its]
    leaving = [device for device in made.devices.values() if device.root is not None]
    new: dict[tuple[Passed, int], int] = {}
    ports: dict[str, Config] = {}
    conditioners: dict[str, Config] = {}
    for device in leaving:
        assert device.root is not None
        if device.root.kind == "pfifo_fast":
            device.root = fast(device.root)
        queue_packets = device.queue_packets
        defaults = Defaults(QUEUE_PACKETS[age] if queue_packets is None else queue_packets, age)
        if outcomes:
            reached = _behind(device, outcomes, new)
        else:
            by_mark = any(its.kind == "fw" for its in _filters(device))
            reached = resolve(device.root, kinds if by_mark else _kinds(made, marked=False))
            marks = _marking(device, reached)
            if marks is not None:
                conditioners[f"{device.name}-mark"] = marks
        ports[device.name] = made_port = port(device.root, reached, defaults)
        _validated(Port, made_port, device.root.at)
    for name, its in entered.items():
        found = conditioner(its, Written(new))
        if found is not None:
            conditioners[f"{name}-ingress"] = found
            device = made.devices[name]
            assert device.ingress is not None
            _validated(Conditioner, found, device.ingress.at)
    words = explain.sentences(made, ports, conditioners)
    return Imported(ports, conditioners, words, made.notes)


def _validated(model: type[Element], config: Config, at: Word) -> None:
    """A scenario must hold what was made: its keys have ranges that tc does not know."""
    try:
        model.model_validate(config)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        refuse(at, f"{place} = {first['input']}: {first['msg']}")


def _filters(device: Device) -> list[Filter]:
    found = list(device.ingress.filters) if device.ingress is not None else []
    root = device.root
    while root is not None:
        found += root.filters + [f for its in root.classes.values() for f in its.filters]
        root = root.inner
    return found


def _kinds(made: Configuration, *, marked: bool = True) -> list[Kind]:
    """All packets, by their marks unless those do not matter; labelled ones where filters ask."""
    is_asked = any(
        dict(each.tests).get("labelled") == frozenset({1})
        for device in made.devices.values()
        for its in _filters(device)
        for each in its.conditions
    )
    kinds = [Kind(LABELLED)] if is_asked else []
    left: Condition | None = IP
    # The last mark written stays, so the last rule that fits a packet comes first here.
    for condition, mark in reversed(made.marks if marked else []):
        both = None if left is None else left.both(condition)
        if left is not None and both is not None:
            kinds.append(Kind(both, 0, mark))
            left = left.without(condition)
    if left is not None:
        kinds.append(Kind(left))
    return kinds


def _behind(
    device: Device, outcomes: list[Outcome], new: dict[tuple[Passed, int], int]
) -> list[Reached]:
    """Where packets end up behind the policers, told by the DSCP that they then have.

    dsmark writes DSCPs as packets leave; here the conditioner writes them as they come in, so that
    the port's rules see them.
    """
    assert device.root is not None
    told: dict[tuple[object, int], Reached] = {}
    result: list[Reached] = []
    for each in outcomes:
        for end in each.ends:
            if end is None:
                continue
            for reached in resolve(device.root, [end.kind(each.kind)]):
                if is_labelled(reached.kind.condition):
                    result.append(reached)
                    continue
                by_new: dict[int, set[int]] = {}
                for old, to in remarked(device.root, reached).items():
                    by_new.setdefault(to, set()).add(old)
                    at = each.polices[0].at if each.polices else device.root.at
                    came = each.kind.condition.dscps if end.dscp is not None else {old}
                    for dscp in came:
                        _one_mark(new, (end, dscp), to, at)
                for to in by_new:
                    result += _told(told, replace(reached, kind=_seen(reached.kind, to)), device)
    return result


def _seen(kind: Kind, dscp: int) -> Kind:
    return replace(kind, condition=replace(kind.condition, dscps=frozenset({dscp})))


def _one_mark(
    new: dict[tuple[Passed, int], int], key: tuple[Passed, int], to: int, at: Word
) -> None:
    if new.setdefault(key, to) != to:
        said = f"{dscp_name(new[key])} and {dscp_name(to)}"
        refuse(at, f"devices write different DSCPs for the same packets: {said}")


def _told(
    told: dict[tuple[object, int], Reached], reached: Reached, device: Device
) -> list[Reached]:
    """Nothing where it is known already; a fault where packets with one DSCP part."""
    (dscp,) = reached.kind.condition.dscps
    key = (reached.kind.condition.tests, dscp)
    other = told.setdefault(key, reached)
    if other is reached:
        return [reached]
    same_leaf = other.leaf is reached.leaf and other.of is reached.of
    if not same_leaf or other.precedence != reached.precedence:
        at = core(device.root) or device.root
        assert at is not None
        refuse(
            at.at,
            f"packets with DSCP {dscp_name(dscp)} go to several places by what the ingress found; "
            "they cannot be told apart by DSCP",
            "dsmark that writes a DSCP for each",
        )
    return []


def _marking(device: Device, reached: list[Reached]) -> Config | None:
    """The conditioner at the far end of the link that writes what dsmark writes."""
    assert device.root is not None
    if device.root.kind != "dsmark":
        return None
    groups: list[Outcome] = []
    new: dict[tuple[Passed, int], int] = {}
    for each in reached:
        passed = Passed(each.kind.index)
        for old, to in remarked(device.root, each).items():
            new[passed, old] = to
        groups.append(Outcome(each.kind, (), (passed,)))
    return conditioner(_merged(groups, new), Written(new))


def _merged(groups: list[Outcome], new: dict[tuple[Passed, int], int]) -> list[Outcome]:
    """Kinds that dsmark tells apart but writes alike, as one."""
    result: list[Outcome] = []
    for each in groups:
        last = result[-1] if result else None
        same_tests = last is not None and last.kind.condition.tests == each.kind.condition.tests
        if last is not None and same_tests and _unchanged(last, new) and _unchanged(each, new):
            dscps = last.kind.condition.dscps | each.kind.condition.dscps
            kind = Kind(replace(last.kind.condition, dscps=dscps))
            result[-1] = Outcome(kind, (), (_NOTHING,))
        else:
            result.append(each)
    return result


_NOTHING = Passed(-1)
"""What packets get that nothing is written into."""


def _unchanged(each: Outcome, new: dict[tuple[Passed, int], int]) -> bool:
    (passed,) = each.ends
    assert passed is not None
    return all(new.get((passed, dscp), dscp) == dscp for dscp in each.kind.condition.dscps)
