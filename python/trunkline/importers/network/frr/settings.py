"""FRR: costs, policies, labels and queues in the files of each node of a laboratory."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from trunkline.importers.network.frr.script_labels import read_script_labels
from trunkline.importers.network.frr.script_queues import read_script_queues
from trunkline.importers.network.paths import (
    HeadPath,
    LabelEntry,
    add_paths,
    make_address_book,
)
from trunkline.importers.network.static_routes import StaticRouteEntry, add_static_routes
from trunkline.importers.network.topology import ImportedTopology

CONFIG_FILE = "frr.conf"
SCRIPT_FILE = "setup.sh"
_INTERFACE = re.compile(r"interface (\S+)")
_COST = re.compile(r"\s+ip ospf cost (\d{1,5})")
_ADDRESS = re.compile(r"\s+ip address (\d+\.\d+\.\d+\.\d+/\d{1,2})")
_BLOCK = re.compile(r"\s+segment-routing global-block (\d{1,7}) (\d{1,7})")
_NODE_SEGMENT = re.compile(r"\s+segment-routing prefix (\S+)/32 index (\d{1,7})")
_ROUTER_ID = re.compile(r"\s+ospf router-id (\S+)")
_STATIC_ROUTE = re.compile(r"ip route (\d[\d.]*/\d{1,2}) (\d[\d.]*) (\d{1,3})")
_SEGMENT_LIST = re.compile(r"\s+segment-list (\S+)")
_LABEL_SEGMENT = re.compile(r"\s+index \d+ mpls label (\d{1,7})")
_LINK_SEGMENT = re.compile(r"\s+index \d+ nai adjacency \S+ (\S+)")


@dataclass
class _RouterSettings:
    """Links and policies in the file of a router."""

    router_id: str = ""
    loopback: str = ""  # Its address.
    has_ospf: bool = False
    routes: list[tuple[str, str, int]] = field(default_factory=list)  # Static ones.
    costs: dict[str, float] = field(default_factory=dict)  # By interface.
    addresses: list[str] = field(default_factory=list)  # With the length of their prefix.
    block: int = 0  # First label of nodes.
    node_segment: tuple[str, int] | None = None  # Router id and place in the block.
    # Name of each list, and its labels or the addresses of far ends.
    segment_lists: dict[str, list[str]] = field(default_factory=dict)


def apply_frr_settings(topology: ImportedTopology, folder: Path) -> None:
    """Give links the costs of their interfaces in ``NODE/frr.conf``, and read the policies."""
    settings: dict[str, _RouterSettings] = {}
    entries: list[LabelEntry] = []
    for node in topology.nodes:
        config, script = (_read_own_file(folder, node, name) for name in (CONFIG_FILE, SCRIPT_FILE))
        if config is not None:
            settings[node] = _read_settings(config, topology)
        if script is not None:
            entries += read_script_labels(script, node, topology.account)
            _add_queues(topology, node, script)
    for link in topology.links:
        for end, device, key in zip(
            (link.source, link.target), link.devices, ("metric", "metric_back"), strict=True
        ):
            cost = settings[end].costs.get(device) if end in settings else None
            if cost is not None:
                setattr(link, key, cost)
    _add_all_paths(topology, settings, entries)


def _read_own_file(folder: Path, node: str, name: str) -> str | None:
    """Read a file of a node; None: there is none inside the folder."""
    file = folder / node / name
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        return None
    return file.read_text("utf-8", errors="replace")


def _add_queues(topology: ImportedTopology, node: str, script: str) -> None:
    """Add the queues and policers of a node's devices under the names that the links have."""
    places = {
        link.devices[end]: (link, end)
        for link in topology.links
        for end, own in enumerate((link.source, link.target))
        if own == node
    }
    rates = {}
    for device, (link, end) in places.items():
        back = link.capacity if link.capacity_back is None else link.capacity_back
        rates[device] = (back if end else link.capacity) or 0.0
    found = read_script_queues(script, rates, topology.account)
    for device, (link, end) in places.items():
        port_key, ingress_key = ("port_back", "ingress") if end else ("port", "ingress_back")
        port, conditioner = found.ports.get(device), found.conditioners.get(device)
        for key, keys, add in (
            (port_key, port, topology.add_port),
            (ingress_key, conditioner, topology.add_conditioner),
        ):
            own_name = getattr(link, key)
            if keys is not None or own_name:
                setattr(link, key, add(own_name or f"{node}-{device}", keys or {}))


def _add_all_paths(
    topology: ImportedTopology, settings: dict[str, _RouterSettings], entries: list[LabelEntry]
) -> None:
    address_by_label = {
        str(each.block + each.node_segment[1]): each.node_segment[0]
        for each in settings.values()
        if each.node_segment is not None
    }
    policies = [
        HeadPath(node, name, tuple(address_by_label.get(hop, hop) for hop in hops), is_policy=True)
        for node, each in settings.items()
        for name, hops in each.segment_lists.items()
    ]
    router_ids = {each.router_id or each.loopback: node for node, each in settings.items()}
    ends = {address: node for node, each in settings.items() for address in each.addresses}
    book = make_address_book(topology, router_ids, ends)
    add_paths(topology, policies, entries, book)
    add_static_routes(
        topology,
        [
            StaticRouteEntry(node, *route)
            for node, each in settings.items()
            for route in each.routes
        ],
        book,
        has_ospf=any(each.has_ospf for each in settings.values()),
    )


def _read_settings(text: str, topology: ImportedTopology) -> _RouterSettings:
    found, interface, hops = _RouterSettings(), "", list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        is_read = True
        if match := _INTERFACE.fullmatch(line):
            interface = match[1]
        elif match := _COST.fullmatch(line):
            found.costs[interface] = float(match[1])
        elif match := _ADDRESS.fullmatch(line):
            found.addresses.append(match[1])
            if interface == "lo":
                found.loopback = match[1].partition("/")[0]
        elif match := _STATIC_ROUTE.fullmatch(line):
            found.routes.append((match[1], match[2], int(match[3])))
        elif line == "router ospf":
            found.has_ospf = True
        elif match := _BLOCK.fullmatch(line):
            found.block = int(match[1])
        elif match := _NODE_SEGMENT.fullmatch(line):
            found.node_segment = (match[1], int(match[2]))
        elif match := _ROUTER_ID.fullmatch(line):
            found.router_id = match[1]
        elif line == "mpls ldp":
            topology.has_ldp = True
        elif match := _SEGMENT_LIST.fullmatch(line):
            hops = found.segment_lists.setdefault(match[1], [])
        elif match := _LABEL_SEGMENT.fullmatch(line) or _LINK_SEGMENT.fullmatch(line):
            hops.append(match[1])
        else:
            is_read = False
        if is_read:
            topology.account.add_read(CONFIG_FILE, line=number)
        elif line.strip() not in ("", "!", "exit"):
            topology.account.add_left_out(
                f"{CONFIG_FILE}: other lines", "they configure the router", line=number
            )
    return found
