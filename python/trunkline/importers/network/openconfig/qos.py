"""QoS of a router's file as ports and conditioners of a scenario.

A scheduler with two rates is a class of HTB, and classes that may exceed their rate share that of a
class ``link`` above them; strict ones alone are `priority`, or `shaped` where they have a shaper;
weights are quanta of `drr` if all are of a packet's size, else weights of `wfq`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.file_elements import FileElement
from trunkline.importers.network.openconfig.model_lists import (
    list_entries,
    parse_number,
    take_names,
)
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.units import format_rate

_QOS = "openconfig-qos:qos"
_MIN_QUANTUM_BYTES = (
    64  # Smallest frame of Ethernet: a smaller quantum sends no packet in its turn.
)
_ALL_DSCPS = 64
_DEFAULT_CLASS = "default"
_PARENT_CLASS = "link"
_TWO_RATES = "two-rate-three-color"
_ONE_RATE = "one-rate-two-color"
Keys = dict[str, Any]


@dataclass
class RouterQos:
    """Queues and policers of a router's interfaces."""

    ports: dict[str, Keys] = field(default_factory=dict)
    conditioners: dict[str, Keys] = field(default_factory=dict)
    # port_of, conditioner_of: Names by interface.
    port_of: dict[str, str] = field(default_factory=dict)
    conditioner_of: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _QueueService:
    """The service that a scheduler gives a queue."""

    is_strict: bool
    weight: int | None
    # rate, ceiling: [bit/s]; None: none.
    rate: int | None
    ceiling: int | None
    burst: int | None  # [B].


@dataclass(frozen=True)
class _Term:
    """A term of a classifier."""

    queue: str
    dscps: tuple[int, ...] = ()
    tc: int | None = None


class QosReader:
    """The definitions of a router's QoS, which its interfaces refer to.

    root: Root of its file.
    account: Gets what has no counterpart in a scenario.
    """

    def __init__(self, root: FileElement, account: ImportAccount) -> None:
        self._account = account
        self._qos = root.find(_QOS)
        output_queues = {
            each.take_text("name"): each.take_text("config", "output-queue")
            for each in list_entries(self._qos, "forwarding-groups", "forwarding-group")
        }
        self._terms = {
            each.take_text("name"): list(_read_terms(each, output_queues))
            for each in list_entries(self._qos, "classifiers", "classifier")
        }
        self._profiles = {
            each.take_text("name"): each.find("wred", "uniform", "config")
            for each in list_entries(
                self._qos, "queue-management-profiles", "queue-management-profile"
            )
        }
        self._schedulers = {
            each.take_text("name"): _sort_by_sequence(list_entries(each, "schedulers", "scheduler"))
            for each in list_entries(self._qos, "scheduler-policies", "scheduler-policy")
        }
        list_entries(self._qos, "queues", "queue")

    def read(self) -> RouterQos:
        """Read the ports and conditioners of the interfaces."""
        found = RouterQos()
        for interface in list_entries(self._qos, "interfaces", "interface"):
            name = interface.take_text("interface-id")
            output, arriving = interface.find("output"), interface.find("input")
            if output is not None:
                port = output.take_text("scheduler-policy", "config", "name")
                if port not in found.ports:
                    found.ports[port] = self._make_port(port, output)
                found.port_of[name] = port
            if arriving is not None:
                policy = arriving.take_text("scheduler-policy", "config", "name")
                conditioner = policy.removesuffix("-in")
                if conditioner not in found.conditioners:
                    terms = self._list_terms(arriving)
                    found.conditioners[conditioner] = self._make_conditioner(policy, terms)
                found.conditioner_of[name] = conditioner
        return found

    def _list_terms(self, direction: FileElement) -> list[_Term]:
        names = [
            each.take_text("config", "name")
            for each in list_entries(direction, "classifiers", "classifier")
        ]
        return [term for name in names for term in self._terms.get(name, ())]

    def _make_port(self, name: str, output: FileElement) -> Keys:
        queues: dict[str, Keys] = {}
        for each in list_entries(output, "queues", "queue"):
            profile = self._profiles.get(each.take_text("config", "queue-management-profile"))
            queues[each.take_text("name")] = {} if profile is None else _read_profile(profile)
        services = {
            queue: service
            for scheduler in self._schedulers.get(name, ())
            for queue, service in _read_services(scheduler)
        }
        names = {queue: queue.removeprefix(f"{name}.") for queue in queues}
        kind, classes = _arrange_classes(
            {names[queue]: service for queue, service in services.items() if queue in names},
            [name for queue, name in names.items() if queue in services],
        )
        if not kind:
            kind = "priority"
            rule = "queues in order of priority: they are not of one kind, or say nothing"
            self._account.add_assumption(f"schedulers of {name}", rule)
        for queue, queue_keys in queues.items():
            if queue_keys:
                classes.setdefault(names[queue], {})["queue"] = queue_keys
        port: Keys = {"scheduler": kind} if kind else {}
        terms = [each for each in self._list_terms(output) if each.queue in names]
        # The class of all other packets: the one of DSCP 0 where none is called so.
        others = next((names[each.queue] for each in terms if 0 in each.dscps), _DEFAULT_CLASS)
        others = _DEFAULT_CLASS if _DEFAULT_CLASS in classes else others
        rules = [
            {key: values, "class": names[term.queue]}
            for term in terms
            if names[term.queue] != others
            for key, values in _list_conditions(term)
        ]
        if len(queues) > 1:
            port["classify"] = _join_rules(rules)
            if others != _DEFAULT_CLASS:
                port["classify"].append({"class": others})
        return port | {"classes": classes}

    def _make_conditioner(self, policy: str, terms: list[_Term]) -> Keys:
        prefix = f"{policy.removesuffix('-in')}."
        profiles: Keys = {}
        for scheduler in self._schedulers.get(policy, ()):
            for queue in (
                each.take_text("id") for each in list_entries(scheduler, "inputs", "input")
            ):
                profiles[queue.removeprefix(prefix)] = _read_policer(scheduler)
        rules = [
            {
                **({"dscp": _name_dscps(term.dscps)} if len(term.dscps) < _ALL_DSCPS else {}),
                "profile": term.queue.removeprefix(prefix),
            }
            for term in terms
        ]
        return {"rules": rules, "profiles": profiles}


def _sort_by_sequence(entries: list[FileElement]) -> list[FileElement]:
    return sorted(entries, key=lambda each: parse_number(each.take_text("sequence")))


def _read_terms(classifier: FileElement, output_queues: dict[str, str]) -> Iterable[_Term]:
    for each in list_entries(classifier, "terms", "term"):
        group = each.take_text("actions", "config", "target-group")
        queue = output_queues.get(group, group)
        dscps = take_names(each.find("conditions", "ipv4", "config", "dscp-set"))
        tc = each.take_text("conditions", "mpls", "config", "traffic-class")
        if dscps:
            yield _Term(queue, tuple(int(parse_number(dscp)) for dscp in dscps))
        if tc:
            yield _Term(queue, tc=int(parse_number(tc)))


def _list_conditions(term: _Term) -> list[tuple[str, list[Any]]]:
    conditions: list[tuple[str, list[Any]]] = []
    if term.dscps:
        conditions.append(("dscp", _name_dscps(term.dscps)))
    if term.tc is not None:
        conditions.append(("tc", [term.tc]))
    return conditions


def _name_dscps(dscps: Iterable[int]) -> list[Any]:
    return [get_dscp_name(dscp) for dscp in dscps]


def _join_rules(rules: list[Keys]) -> list[Keys]:
    """Join the rules of one class and one key."""
    joined: dict[tuple[str, str], list[Any]] = {}
    for rule in rules:
        key = next(iter(rule))
        joined.setdefault((key, rule["class"]), []).extend(rule[key])
    return [{key: values, "class": name} for (key, name), values in joined.items()]


def _read_services(scheduler: FileElement) -> Iterable[tuple[str, _QueueService]]:
    rates = {
        leaf: scheduler.take_text(box, "config", leaf)
        for box in (_TWO_RATES, _ONE_RATE)
        if scheduler.find(box) is not None
        for leaf in ("cir", "pir", "bc")
    }
    numbers = {leaf: int(parse_number(text)) for leaf, text in rates.items() if text}
    has_two = scheduler.find(_TWO_RATES) is not None
    for each in list_entries(scheduler, "inputs", "input"):
        weight = each.take_text("config", "weight")
        yield (
            each.take_text("config", "queue") or each.take_text("id"),
            _QueueService(
                scheduler.take_text("config", "priority") == "STRICT",
                int(parse_number(weight)) if weight else None,
                numbers.get("cir") if has_two else None,
                numbers.get("pir") if has_two else numbers.get("cir"),
                numbers.get("bc"),
            ),
        )


def _arrange_classes(
    services: dict[str, _QueueService], names: list[str]
) -> tuple[str, dict[str, Keys]]:
    """Find the scheduler that serves queues so, and its classes; empty: there is none.

    services: By class, in the order of the schedulers.
    names: Classes in the order of the interface's queues, which is that of the port.
    """
    each_service = list(services.values())
    if any(each.rate is not None for each in each_service):
        return "htb", _make_rate_classes({name: services[name] for name in names})
    if all(each.weight is not None for each in each_service):
        weights = {name: services[name].weight or 1 for name in names}
        if min(weights.values(), default=0) >= _MIN_QUANTUM_BYTES:
            return "drr", {name: {"quantum": f"{size} B"} for name, size in weights.items()}
        return "wfq", {name: {"weight": weight} for name, weight in weights.items()}
    if len(services) == 1 and not each_service[0].is_strict:
        return "fifo", {name: {} for name in names}
    if any(not each.is_strict for each in each_service):
        return "", {name: {} for name in names}
    ranks = {name: rank for rank, name in enumerate(services)}
    is_in_order = list(services) == names
    classes = {
        name: ({} if is_in_order else {"priority": ranks[name]})
        | ({"rate": format_rate(services[name].ceiling or 1)} if services[name].ceiling else {})
        | ({"burst": f"{services[name].burst} B"} if services[name].burst else {})
        for name in names
    }
    is_shaped = any(each.ceiling for each in each_service)
    return "shaped" if is_shaped else "priority", classes


def _make_rate_classes(services: dict[str, _QueueService]) -> dict[str, Keys]:
    classes: dict[str, Keys] = {}
    may_borrow = any(
        each.rate is not None and each.ceiling is not None and each.ceiling > each.rate
        for each in services.values()
    )
    if may_borrow:
        classes[_PARENT_CLASS] = {"rate": "100 %"}
    has_first = any(each.is_strict for each in services.values())
    for name, each in services.items():
        rate = each.ceiling if each.rate is None else each.rate
        classes[name] = {
            **({"parent": _PARENT_CLASS} if may_borrow else {}),
            **({"priority": 1} if has_first and not each.is_strict else {}),
            "rate": format_rate(rate or 1),
            **({"ceil": format_rate(each.ceiling)} if each.ceiling else {}),
            **({"burst": f"{each.burst} B"} if each.burst else {}),
        }
    return classes


def _read_profile(config: FileElement) -> Keys:
    """Read RED with a curve in bytes."""
    aqm: Keys = {"kind": "red"}
    for key, leaf in (("min_th", "min-threshold"), ("max_th", "max-threshold")):
        aqm[key] = f"{config.take_text(leaf)} B"
    percent = parse_number(config.take_text("max-drop-probability-percent") or "10")
    weight = parse_number(config.take_text("weight") or "0")
    return {"aqm": aqm | {"max_p": percent / 100, "w_q": 2.0**-weight}}


def _read_policer(scheduler: FileElement) -> Keys:
    two = scheduler.find(_TWO_RATES)
    box = two or scheduler.find(_ONE_RATE)
    if box is None:
        return {}
    leaves = {leaf: box.take_text("config", leaf) for leaf in ("cir", "bc", "pir", "be")}
    rates = {
        leaf: format_rate(int(parse_number(leaves[leaf])))
        for leaf in ("cir", "pir")
        if leaves[leaf]
    }
    colours = ("green", "red") if two is None else ("green", "yellow", "red")
    meter: Keys = {"kind": "token-bucket", "rate": rates["cir"], "burst": f"{leaves['bc']} B"}
    if two is not None:
        meter = {"kind": "trtcm", "cir": rates["cir"], "cbs": f"{leaves['bc']} B"}
        if leaves["pir"] == leaves["cir"]:
            meter |= {"kind": "srtcm", "ebs": f"{leaves['be']} B"}
        else:
            meter |= {"pir": rates["pir"], "pbs": f"{leaves['be']} B"}
    profile: Keys = {"meter": meter}
    for colour, action in zip(colours, ("conform", "exceed", "violate"), strict=False):
        config = box.find(f"{action}-action", "config")
        if config is None:
            continue
        if str(config.take("drop")) == "True":
            profile[colour] = "drop"
        elif config.take_text("set-dscp"):
            dscp = int(parse_number(config.take_text("set-dscp")))
            profile[colour] = {"dscp": get_dscp_name(dscp)}
    return profile
