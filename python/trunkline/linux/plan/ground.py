"""Where commands are to run: in a guest, or on routers with devices and addresses of their own.

A file of addresses says which they are there; what it leaves out is generated as in a guest::

    nodes: {D: [203.0.113.1, 203.0.113.2]}   # one for each class of the packets that end there
    links: {A->B: {device: eth1, address: 192.0.2.1/31}}   # the end at A, which sends A->B
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv4Interface, NetmaskValueError
from typing import Any, Final

from trunkline.network.types import Network
from trunkline.scenario import ScenarioError
from trunkline.scenario.diagnostic import Diagnostic
from trunkline.scenario.loader import file_text
from trunkline.scenario.places import place_all
from trunkline.scenario.problems import Problems
from trunkline.scenario.text import parse

_DEVICE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")


@dataclass(frozen=True)
class Ground:
    """Where commands are to run.

    Parameters
    ----------
    routers : bool
        On real routers: what stands for virtual time (fixed neighbours, buckets of one microsecond,
        parameters of TCP by route) is left out.
    nodes : mapping of str to sequence of str
        Addresses of a node, in the order in which they are needed.
    devices : mapping of str to str
        Name of the device that sends a one-way link.
    links : mapping of str to IPv4Interface
        Address and prefix of that device.
    keeps_hash : bool
        Packets keep the flow hash of their sender's socket from namespace to namespace, as in
        every kernel but the one that is built for this.
    lacks : frozenset of str
        Modules of `DISCIPLINES` that the kernel does not have.
    control : str or None
        ``frr``: the routers' own daemons find the routes; None: they are the plan's.
    """

    routers: bool = False
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    devices: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, IPv4Interface] = field(default_factory=dict)
    keeps_hash: bool = False
    lacks: frozenset[str] = frozenset()
    control: str | None = None


GUEST: Final = Ground()
"""A guest: names and addresses are generated, time is virtual."""


def read_ground(name: str, network: Network) -> Ground:
    """Devices and addresses of real routers.

    Raises
    ------
    ScenarioError
        All that is wrong with it, with places.
    """
    content = file_text(name)
    document, _ = parse(content, name)
    problems = Problems()
    if not isinstance(document, dict):
        fault = Diagnostic("type", "addresses are a mapping of nodes and links", file=name)
        raise ScenarioError([fault], content, name)
    for key in document:
        if key not in ("nodes", "links"):
            problems.add(
                "unknown-key", (key,), f"no key {key}", allowed="nodes, links", at_key=True
            )
    nodes = _nodes(document, network, problems)
    devices, links = _links(document, network, problems)
    _distinct(nodes, links, problems)
    if problems.errors:
        raise ScenarioError(place_all(problems.found, document, name), content, name)
    return Ground(True, nodes, devices, links)


def _part(document: Mapping[str, Any], key: str, problems: Problems) -> Mapping[str, Any]:
    its = document.get(key) or {}
    if isinstance(its, dict):
        return its
    problems.add("type", (key,), f"{key} is a mapping by name")
    return {}


def _nodes(
    document: Mapping[str, Any], network: Network, problems: Problems
) -> dict[str, tuple[str, ...]]:
    known = {each["name"] for each in network["nodes"]}
    made = {}
    for node, listed in _part(document, "nodes", problems).items():
        if node not in known:
            problems.add("reference", ("nodes", node), f"no node {node}", at_key=True)
            continue
        listed = listed if isinstance(listed, list) else [listed]
        for index, text in enumerate(listed):
            try:
                IPv4Address(text)
            except AddressValueError:
                path = ("nodes", node, index)
                problems.add("type", path, "no IPv4 address", allowed="such as 203.0.113.1")
        made[node] = tuple(str(each) for each in listed)
    return made


def _links(
    document: Mapping[str, Any], network: Network, problems: Problems
) -> tuple[dict[str, str], dict[str, IPv4Interface]]:
    known = [each["name"] for each in network["links"]]
    devices: dict[str, str] = {}
    addresses: dict[str, IPv4Interface] = {}
    for link, its in _part(document, "links", problems).items():
        path = ("links", link)
        if link not in known:
            allowed = ", ".join(known[:6])
            problems.add("reference", path, f"no link {link}", allowed=allowed, at_key=True)
            continue
        if not isinstance(its, dict):
            problems.add("type", path, "a link's end has a device and an address")
            continue
        for key, value in its.items():
            if key == "device" and _DEVICE.fullmatch(str(value)):
                devices[link] = str(value)
            elif key == "address" and _interface(value):
                addresses[link] = IPv4Interface(value)
            elif key in ("device", "address"):
                allowed = {"device": "such as eth1, 15 characters", "address": "192.0.2.1/31"}[key]
                problems.add("type", (*path, key), f"no {key}", allowed=allowed)
            else:
                allowed = "device, address"
                problems.add("unknown-key", (*path, key), f"no key {key}", allowed=allowed)
    return devices, addresses


def _interface(text: Any) -> bool:
    try:
        IPv4Interface(text)
    except (AddressValueError, NetmaskValueError, ValueError):
        return False
    return "/" in str(text)


def _distinct(
    nodes: Mapping[str, tuple[str, ...]], links: Mapping[str, IPv4Interface], problems: Problems
) -> None:
    """No two devices have one address."""
    told: dict[str, tuple[str, ...]] = {}
    listed = [(each, ("nodes", node)) for node, those in nodes.items() for each in those]
    listed += [(str(each.ip), ("links", link)) for link, each in links.items()]
    for address, path in listed:
        if address in told:
            other = ".".join(told[address])
            problems.add("duplicate-name", path, f"{address} is the address of {other} too")
        told.setdefault(address, path)
