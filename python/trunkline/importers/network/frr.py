"""FRR: the costs of interfaces in the ``frr.conf`` of each node of a laboratory."""

import re
from pathlib import Path

from trunkline.importers.network.topology import ImportedTopology

CONFIG_FILE = "frr.conf"
_INTERFACE = re.compile(r"interface (\S+)")
_COST = re.compile(r"\s+ip ospf cost (\d{1,5})")


def apply_frr_costs(topology: ImportedTopology, folder: Path) -> None:
    """Give links the costs that their interfaces have in ``NODE/frr.conf``, where there is one."""
    costs: dict[tuple[str, str], float] = {}
    for node in topology.nodes:
        file = folder / node / CONFIG_FILE
        if file.is_file() and file.resolve().is_relative_to(folder.resolve()):
            costs |= _read_costs(node, file.read_text("utf-8", errors="replace"), topology)
    for link in topology.links:
        there, back = link.devices
        link.metric = costs.get((link.source, there), link.metric)
        link.metric_back = costs.get((link.target, back), link.metric_back)


def _read_costs(node: str, text: str, topology: ImportedTopology) -> dict[tuple[str, str], float]:
    costs: dict[tuple[str, str], float] = {}
    interface = ""
    for number, line in enumerate(text.splitlines(), 1):
        if found := _INTERFACE.fullmatch(line):
            interface = found[1]
        elif found := _COST.fullmatch(line):
            costs[node, interface] = float(found[1])
            topology.account.add_read(f"{CONFIG_FILE}/ip ospf cost", line=number)
        elif line.strip() not in ("", "!", "exit"):
            topology.account.add_left_out(
                f"{CONFIG_FILE}: other lines", "they configure the router", line=number
            )
    return costs
