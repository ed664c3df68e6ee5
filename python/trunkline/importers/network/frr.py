"""FRR: costs and policies of segment routing in the ``frr.conf`` of each node of a laboratory."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from trunkline.importers.network.paths import HeadPath, add_paths, make_address_book
from trunkline.importers.network.topology import ImportedTopology

CONFIG_FILE = "frr.conf"
SCRIPT_FILE = "setup.sh"
_INTERFACE = re.compile(r"interface (\S+)")
_COST = re.compile(r"\s+ip ospf cost (\d{1,5})")
_ADDRESS = re.compile(r"\s+ip address (\d+\.\d+\.\d+\.\d+/\d{1,2})")
_BLOCK = re.compile(r"\s+segment-routing global-block (\d{1,7}) (\d{1,7})")
_NODE_SEGMENT = re.compile(r"\s+segment-routing prefix (\S+)/32 index (\d{1,7})")
_SEGMENT_LIST = re.compile(r"\s+segment-list (\S+)")
_LABEL_SEGMENT = re.compile(r"\s+index \d+ mpls label (\d{1,7})")
_LINK_SEGMENT = re.compile(r"\s+index \d+ nai adjacency \S+ (\S+)")


@dataclass
class _RouterSettings:
    """Links and policies in the file of a router."""

    costs: dict[str, float] = field(default_factory=dict)  # By interface.
    addresses: list[str] = field(default_factory=list)  # With the length of their prefix.
    block: int = 0  # First label of nodes.
    node_segment: tuple[str, int] | None = None  # Router id and place in the block.
    # Name of each list, and its labels or the addresses of far ends.
    segment_lists: dict[str, list[str]] = field(default_factory=dict)


def apply_frr_settings(topology: ImportedTopology, folder: Path) -> None:
    """Give links the costs of their interfaces in ``NODE/frr.conf``, and read the policies."""
    settings: dict[str, _RouterSettings] = {}
    for node in topology.nodes:
        file = folder / node / CONFIG_FILE
        if file.is_file() and file.resolve().is_relative_to(folder.resolve()):
            text = file.read_text("utf-8", errors="replace")
            settings[node] = _read_settings(text, topology)
        if (folder / node / SCRIPT_FILE).is_file():
            reason = "labels and queues of the kernel; `import tc` reads the queues"
            topology.account.add_left_out(SCRIPT_FILE, reason)
    for link in topology.links:
        for end, device, key in zip(
            (link.source, link.target), link.devices, ("metric", "metric_back"), strict=True
        ):
            cost = settings[end].costs.get(device) if end in settings else None
            if cost is not None:
                setattr(link, key, cost)
    _add_policies(topology, settings)


def _add_policies(topology: ImportedTopology, settings: dict[str, _RouterSettings]) -> None:
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
    router_ids = {
        each.node_segment[0]: node for node, each in settings.items() if each.node_segment
    }
    ends = {address: node for node, each in settings.items() for address in each.addresses}
    add_paths(topology, policies, (), make_address_book(topology, router_ids, ends))


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
        elif match := _BLOCK.fullmatch(line):
            found.block = int(match[1])
        elif match := _NODE_SEGMENT.fullmatch(line):
            found.node_segment = (match[1], int(match[2]))
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
