"""Queues and policers of a router's ``setup.sh``, under the names that its comments give them.

Queues are those that `import tc` reads; policers are chains of filters, as `export` writes them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trunkline.importers import ImportFault, read_tc
from trunkline.importers.common.account import ImportAccount
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.units import format_rate

Keys = dict[str, Any]
_CLASS = re.compile(r"# (?:class (\S+)|queue of [^:]*?\.([^.:\s]+): )")
_CLASS_LINE = re.compile(r"(?:class|qdisc) add dev (\S+) parent (?!1: )(?!1:1 handle 10: )\S+ ")
_CONDITIONER = re.compile(r"# what arrives over \S+, by (\S+): (.*)")
_LABEL_FILTER = re.compile(r"^filter add .*(?:match mark|mpls_label|protocol mpls_uc)")
_RULE = re.compile(
    r"filter add dev (\S+) ingress protocol ip prio 10 flower(?: ip_tos (0x[0-9a-f]+)/0xfc)? "
    r"action goto chain (\d+)"
)
_METER = re.compile(
    r"filter add dev (\S+) ingress protocol ip chain (\d+) prio 1 matchall action police "
    r"rate (\d+)bit burst (\d+)b (?:peakrate (\d+)bit )?mtu (\d+) conform-exceed continue/pipe (.+)"
)
_EXCESS = re.compile(r"filter add dev (\S+) ingress protocol ip chain (\d+) prio 2 matchall (.+)")
_NEXT_CHAIN = re.compile(r"action goto chain (\d+)$")
_REMARK = re.compile(r"munge ip tos set (0x[0-9a-f]+)")
_NO_LIMIT = "1000000 packets"
_AFTER_CHAIN = 1  # Where packets go that a policer lets pass.
_PLAIN_PORT = {"scheduler": "fifo", "classes": {"default": {"queue": {"limit": "100 packets"}}}}


@dataclass
class ScriptQueues:
    """Queues and policers of a script's devices."""

    # ports, conditioners: By device; a device that sends plainly has none.
    ports: dict[str, Keys] = field(default_factory=dict)
    conditioners: dict[str, Keys] = field(default_factory=dict)


@dataclass
class _Chain:
    """A meter with the actions of tc on packets in and out of profile."""

    rate: int
    burst: int
    # peak_rate, mtu: Second bucket [bit/s, B]; no rate: none.
    peak_rate: int
    mtu: int
    conform: str
    exceed: str = ""


def read_script_queues(text: str, rates: dict[str, float], account: ImportAccount) -> ScriptQueues:
    """Read the queues and policers of a script.

    rates: Rates of its devices [bit/s].
    """
    found = ScriptQueues(conditioners=dict(_read_conditioners(text)))
    try:
        imported = read_tc(text, partial=True)
    except ImportFault as fault:
        account.add_left_out("queues of setup.sh", fault.message, line=fault.line)
        return found
    names = _read_class_names(text)
    for device, rate in rates.items():
        port = imported.ports.get(device)
        if port is None:
            continue
        port = _strip_link_shaper(port, round(rate))
        _drop_written_defaults(port)
        _rename_classes(port, names.get(device, []))
        if port and port != _PLAIN_PORT:
            found.ports[device] = port
    marks = sum(bool(_LABEL_FILTER.search(line)) for line in text.splitlines())
    reason = "maps of paths, and classes of packets by their label, are not read"
    account.add_left_out("filters of labels in setup.sh", reason, count=marks)
    account.add_read("queues of setup.sh", count=len(found.ports))
    account.add_read("policers of setup.sh", count=len(found.conditioners))
    return found


def _strip_link_shaper(port: Keys, rate: int) -> Keys:
    """Reduce a port of one class of the link's rate to its queue."""
    classes = port.get("classes", {})
    if port.get("scheduler") != "htb" or len(classes) != 1:
        return port
    (only,) = classes.values()
    if only["rate"] != f"{rate} bit/s" or only.get("ceil") != only["rate"]:
        return port
    own = {"queue": only["queue"]} if only.get("queue") else {}
    rules = {"classify": port["classify"]} if "classify" in port else {}
    return {"scheduler": "fifo", "classes": {"default": own}} | rules


def _drop_written_defaults(port: Keys) -> None:
    """Drop the values that `export` writes for no limit (1,000,000 packets) and no quantum.

    A quantum is a tenth of a second's bytes then.
    """
    for each in port.get("classes", {}).values():
        if each.get("queue", {}).get("limit") == _NO_LIMIT:
            each["queue"]["limit"] = "none"
        if port.get("scheduler") == "htb" and "quantum" in each:
            rate = int(each["rate"].split()[0])
            if each["quantum"] == f"{min(200_000, max(1000, rate // 80))} B":
                del each["quantum"]


def _read_class_names(text: str) -> dict[str, list[str]]:
    """Read the names of the classes of each device, in the order of the script."""
    names: dict[str, list[str]] = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("#"):
            named = _CLASS.match(line)
            current = "" if named is None else named[1] or named[2]
        elif current and (match := _CLASS_LINE.match(line)):
            known = names.setdefault(match[1], [])
            if current not in known:
                known.append(current)
    return names


def _rename_classes(port: Keys, names: list[str]) -> None:
    classes = port.get("classes", {})
    if len(names) != len(classes):
        return
    own = dict(zip(classes, names, strict=True))
    port["classes"] = {own[name]: keys for name, keys in classes.items()}
    for each in port["classes"].values():
        if "parent" in each:
            each["parent"] = own[each["parent"]]
    for rule in port.get("classify", ()):
        if "class" in rule:
            rule["class"] = own[rule["class"]]


def _read_conditioners(text: str) -> Iterator[tuple[str, Keys]]:
    chains: dict[str, dict[int, _Chain]] = {}
    rules: dict[str, list[tuple[int | None, int]]] = {}
    names: dict[str, list[str]] = {}
    profiles: list[str] = []
    for line in text.splitlines():
        if named := _CONDITIONER.match(line):
            profiles = named[2].split(", ")
        elif meter := _METER.match(line):
            names[meter[1]] = profiles
            numbers = (int(meter[3]), int(meter[4]), int(meter[5] or 0), int(meter[6]))
            chains.setdefault(meter[1], {})[int(meter[2])] = _Chain(*numbers, meter[7])
        elif excess := _EXCESS.match(line):
            chains[excess[1]][int(excess[2])].exceed = excess[3]
        elif rule := _RULE.match(line):
            dscp = None if rule[2] is None else int(rule[2], 16) >> 2
            rules.setdefault(rule[1], []).append((dscp, int(rule[3])))
    for device, own in chains.items():
        reached = {
            int(match[1])
            for each in own.values()
            for action in (each.conform, each.exceed)
            if (match := _NEXT_CHAIN.search(action)) and int(match[1]) != _AFTER_CHAIN
        }
        heads = [number for number in own if number not in reached]
        name_of = dict(zip(heads, names[device], strict=False))
        by_chain: dict[int, list[int | None]] = {}
        for dscp, chain in rules.get(device, ()):
            by_chain.setdefault(chain, []).append(dscp)
        yield (
            device,
            {
                "rules": [_make_rule(dscps, name_of[chain]) for chain, dscps in by_chain.items()],
                "profiles": {name_of[number]: _make_profile(own, number) for number in heads},
            },
        )


def _make_rule(dscps: list[int | None], profile: str) -> Keys:
    known = [get_dscp_name(each) for each in dscps if each is not None]
    return ({"dscp": known} if known else {}) | {"profile": profile}


def _make_profile(chains: dict[int, _Chain], number: int) -> Keys:
    """Make a profile of a chain, and of the chain after it."""
    first = chains[number]
    inner, outer = (
        chains.get(int(match[1])) if (match := _NEXT_CHAIN.search(action)) else None
        for action in (first.conform, first.exceed)
    )
    if inner is not None:
        meter = {
            "kind": "trtcm",
            "cir": format_rate(inner.rate),
            "cbs": f"{inner.burst} B",
            "pir": format_rate(first.rate),
            "pbs": f"{first.burst} B",
        }
        actions = (inner.conform, inner.exceed, first.exceed)
    elif outer is not None:
        meter = {
            "kind": "rfc4115",
            "cir": format_rate(first.rate),
            "cbs": f"{first.burst} B",
            "eir": format_rate(outer.rate),
            "ebs": f"{outer.burst} B",
        }
        actions = (first.conform, outer.conform, outer.exceed)
    else:
        meter = {
            "kind": "token-bucket",
            "rate": format_rate(first.rate),
            "burst": f"{first.burst} B",
        }
        if first.peak_rate:
            meter |= {"peak_rate": format_rate(first.peak_rate), "peak_burst": f"{first.mtu} B"}
        actions = (first.conform, "", first.exceed)
    profile: Keys = {"meter": meter}
    for colour, action in zip(("green", "yellow", "red"), actions, strict=True):
        if action == "action drop":
            profile[colour] = "drop"
        elif remark := _REMARK.search(action):
            profile[colour] = {"dscp": get_dscp_name(int(remark[1], 16) >> 2)}
    return profile
