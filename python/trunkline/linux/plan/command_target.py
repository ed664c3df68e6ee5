"""Target of commands: a guest, or routers with their devices and addresses.

A file of addresses says which they are there; what it leaves out is generated as in a guest::

    nodes: {D: [203.0.113.1, 203.0.113.2]}   # one for each class of the packets that end there
    links: {A->B: {device: eth1, address: 192.0.2.1/31}}   # the end at A, which sends A->B
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv4Interface, NetmaskValueError
from typing import Any, Final

from trunkline.network.types import NetworkData
from trunkline.scenario import ScenarioError
from trunkline.scenario.diagnostic import Diagnostic
from trunkline.scenario.loader import read_file_text
from trunkline.scenario.problems import Problems
from trunkline.scenario.source_positions import place_findings
from trunkline.scenario.yaml_text import parse_yaml

_DEVICE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")


@dataclass(frozen=True)
class CommandTarget:
    """Target of commands."""

    # On real routers: what stands for virtual time (fixed neighbours, buckets of one microsecond,
    # parameters of TCP by route) is left out.
    on_routers: bool = False
    # On routers of a laboratory: a netem behind each device that receives is the link's wire.
    adds_wires: bool = False
    # Labels that daemons of the routers put on a packet at most; 0: they have none.
    daemon_labels: int = 0
    # Routers send the flows of the scenario themselves, in place of hosts behind them.
    sends_flows: bool = False
    # Addresses of a node, in the order in which they are needed.
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Address of a node for a forwarding equivalence class; goes before those of ``nodes``.
    class_addresses: Mapping[tuple[str, int], str] = field(default_factory=dict)
    # Name of the device that sends a one-way link.
    devices: Mapping[str, str] = field(default_factory=dict)
    # Address and prefix of that device.
    links: Mapping[str, IPv4Interface] = field(default_factory=dict)
    # Packets keep the flow hash of their sender's socket from namespace to namespace, as in every
    # kernel but the one that is built for this.
    keeps_hash: bool = False
    # Modules of `QDISC_MODULES` that the kernel does not have.
    missing_modules: frozenset[str] = frozenset()
    # ``frr``: the routers' own daemons find the routes; None: they are the plan's.
    control: str | None = None


GUEST_TARGET: Final = CommandTarget()
"""A guest: names and addresses are generated, time is virtual."""


def read_command_target(name: str, network: NetworkData) -> CommandTarget:
    """Devices and addresses of real routers.

    Raises ScenarioError: All that is wrong with it, with places.
    """
    content = read_file_text(name)
    document, _ = parse_yaml(content, name)
    problems = Problems()
    if not isinstance(document, dict):
        fault = Diagnostic("type", "addresses are a mapping of nodes and links", file=name)
        raise ScenarioError([fault], content, name)
    for key in document:
        if key not in ("nodes", "links"):
            problems.add(
                "unknown-key", (key,), f"no key {key}", allowed="nodes, links", at_key=True
            )
    nodes = _read_nodes(document, network, problems)
    devices, links = _read_links(document, network, problems)
    _check_distinct_addresses(nodes, links, problems)
    _check_distinct_devices(network, devices, problems)
    if problems.has_errors:
        raise ScenarioError(place_findings(problems.findings, document, name), content, name)
    return CommandTarget(True, nodes=nodes, devices=devices, links=links)


def _read_section(document: Mapping[str, Any], key: str, problems: Problems) -> Mapping[str, Any]:
    section = document.get(key) or {}
    if isinstance(section, dict):
        return section
    problems.add("type", (key,), f"{key} is a mapping by name")
    return {}


def _read_nodes(
    document: Mapping[str, Any], network: NetworkData, problems: Problems
) -> dict[str, tuple[str, ...]]:
    node_names = {each["name"] for each in network["nodes"]}
    addresses = {}
    for node, node_addresses in _read_section(document, "nodes", problems).items():
        if node not in node_names:
            problems.add("reference", ("nodes", node), f"no node {node}", at_key=True)
            continue
        node_addresses = node_addresses if isinstance(node_addresses, list) else [node_addresses]
        for index, text in enumerate(node_addresses):
            try:
                IPv4Address(text)
            except AddressValueError:
                path = ("nodes", node, index)
                problems.add("type", path, "no IPv4 address", allowed="such as 203.0.113.1")
        addresses[node] = tuple(str(each) for each in node_addresses)
    return addresses


def _read_links(
    document: Mapping[str, Any], network: NetworkData, problems: Problems
) -> tuple[dict[str, str], dict[str, IPv4Interface]]:
    link_names = [each["name"] for each in network["links"]]
    devices: dict[str, str] = {}
    addresses: dict[str, IPv4Interface] = {}
    for link, end_config in _read_section(document, "links", problems).items():
        path = ("links", link)
        if link not in link_names:
            allowed = ", ".join(link_names[:6])
            problems.add("reference", path, f"no link {link}", allowed=allowed, at_key=True)
            continue
        if not isinstance(end_config, dict):
            problems.add("type", path, "a link's end has a device and an address")
            continue
        for key, value in end_config.items():
            if key == "device" and _DEVICE_NAME.fullmatch(str(value)):
                devices[link] = str(value)
            elif key == "address" and _is_interface(value):
                addresses[link] = IPv4Interface(value)
            elif key in ("device", "address"):
                allowed = {"device": "such as eth1, 15 characters", "address": "192.0.2.1/31"}[key]
                problems.add("type", (*path, key), f"no {key}", allowed=allowed)
            else:
                allowed = "device, address"
                problems.add("unknown-key", (*path, key), f"no key {key}", allowed=allowed)
    return devices, addresses


def _is_interface(text: Any) -> bool:
    try:
        IPv4Interface(text)
    except (AddressValueError, NetmaskValueError, ValueError):
        return False
    return "/" in str(text)


def _check_distinct_devices(
    network: NetworkData, devices: Mapping[str, str], problems: Problems
) -> None:
    """Check that no two links leave a node by one device: its queues are those of one link."""
    sources = {each["name"]: each["from"] for each in network["links"]}
    owners: dict[tuple[int, str], str] = {}
    for link, device in devices.items():
        owner = owners.setdefault((sources[link], device), link)
        if owner != link:
            problems.add(
                "duplicate-name",
                ("links", link, "device"),
                f"{device} is the device of {owner} at the same node",
                given=device,
                allowed="a device for each link of a node",
            )


def _check_distinct_addresses(
    nodes: Mapping[str, tuple[str, ...]], links: Mapping[str, IPv4Interface], problems: Problems
) -> None:
    """Check that no two devices have one address."""
    owners: dict[str, tuple[str, ...]] = {}
    address_paths = [
        (each, ("nodes", node)) for node, node_addresses in nodes.items() for each in node_addresses
    ]
    address_paths += [(str(each.ip), ("links", link)) for link, each in links.items()]
    for address, path in address_paths:
        if address in owners:
            other = ".".join(owners[address])
            problems.add("duplicate-name", path, f"{address} is the address of {other} too")
        owners.setdefault(address, path)
