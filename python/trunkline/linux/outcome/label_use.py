"""Labels that ldpd put into use: each router's label operation for the packets of each node.

Labels are a router's own choice, so the simulator's and FRR's numbers differ by right. What counts
is the next hop and whether the label there is the one that this neighbour advertised, or none.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from trunkline.linux.outcome.routing_daemons import map_addresses, parse_time_since
from trunkline.linux.plan.addresses import name_namespace
from trunkline.linux.plan.compiled_plan import CompiledPlan
from trunkline.linux.plan.dry_run import LabelChange

IMPLICIT_NULL: Final = 3
NO_LABEL: Final = "no label"
_MAPPING_SENT: Final = re.compile(r"msg\[out\]: label mapping: .*fec (\S+)/32, label (\d+)")
_ROUTE_LINE: Final = re.compile(
    r"(\S+) .*?(?:encap mpls\s+(\S+) )?via \S+ dev (\S+) .*\bproto ospf\b"
)
_LABEL_LINE: Final = re.compile(r"(\d+) (?:as to (\S+) )?via inet \S+ dev (\S+)")
_CHANGE_LINE: Final = re.compile(r"\[(\S+)\] (?:Deleted )?(\S+) (.*)")

NodeFec = tuple[int, int]  # Node, and the node that packets go to.


class LabelUse(NamedTuple):
    """Label operation of a node for the packets of a FEC."""

    link: int  # Out-link.
    # unlabelled, labelled: On packets without a label, and on those with the node's own: ``label``
    # of the neighbour, ``no label``, or what else there is.
    unlabelled: str
    labelled: str


def read_simulator_labels(rows: Iterable[LabelChange], end_ns: int) -> dict[NodeFec, LabelUse]:
    """Read the labels in use at the end of the simulator's run.

    rows: As they came into use; the last of a node and FEC counts.
    """
    uses: dict[NodeFec, LabelUse] = {}
    for row in rows:
        if row.time_ns >= end_ns:
            continue
        uses.pop((row.node, row.fec), None)
        if row.link >= 0:
            label_action = NO_LABEL if row.out_label == IMPLICIT_NULL else "label"
            uses[row.node, row.fec] = LabelUse(row.link, label_action, label_action)
    return uses


def read_kernel_labels(compiled: CompiledPlan, folder: Path) -> dict[NodeFec, LabelUse]:
    """Read the labels in use at the end in the kernel's tables."""
    nodes = range(len(compiled.network["nodes"]))
    fecs, link_by_device = map_addresses(compiled), compiled.wiring.link_by_device
    neighbours = [side.node for side in compiled.wiring.receiving_ends]
    advertised: dict[NodeFec, str] = {}
    for node in nodes:
        for mapping_match in _MAPPING_SENT.finditer(
            (folder / f"{name_namespace(node)}.ldpd.log").read_text()
        ):
            if mapping_match[1] in fecs:
                advertised[node, fecs[mapping_match[1]]] = mapping_match[2]

    def describe_label(label: str | None, link: int, fec: int) -> str:
        advertised_label = advertised.get((neighbours[link], fec))
        if label is None or label == advertised_label:
            return NO_LABEL if label is None else "label"
        return f"label {label}, not {advertised_label}"

    uses: dict[NodeFec, LabelUse] = {}
    for node in nodes:
        own_labels = {
            label: fec
            for (switched_link, fec), label in advertised.items()
            if switched_link == node
        }
        switched: dict[int, tuple[int, str]] = {}
        for line in (folder / f"{name_namespace(node)}.labels").read_text().splitlines():
            if (entry := _LABEL_LINE.match(line)) is not None and entry[1] in own_labels:
                fec, link = own_labels[entry[1]], link_by_device[node, entry[3]]
                switched[fec] = link, describe_label(entry[2], link, fec)
        for line in (folder / f"{name_namespace(node)}.routes").read_text().splitlines():
            if (route := _ROUTE_LINE.match(line)) is not None and route[1] in fecs:
                fec, link = fecs[route[1]], link_by_device[node, route[3]]
                switched_link, labelled = switched.get(fec, (link, "no entry"))
                if switched_link != link:
                    labelled = "another link"
                uses[node, fec] = LabelUse(link, describe_label(route[2], link, fec), labelled)
    return uses


class LabelUseChange(NamedTuple):
    """Something that a node does otherwise from a time on."""

    time_ns: int  # When.
    fec: int  # The node that packets go to.
    action: tuple[object, object]  # Next hop and label, as this side writes them.


def read_label_changes(compiled: CompiledPlan, folder: Path, node: int) -> list[LabelUseChange]:
    """Read the labels and next hops that a node of the kernel took into use, in order of time."""
    fecs = map_addresses(compiled)
    time_zero, *lines = (folder / f"{name_namespace(node)}.changes").read_text().splitlines()
    label_changes = []
    for line in lines:
        if (change_match := _CHANGE_LINE.match(line)) is None or change_match[2] not in fecs:
            continue
        if (route := _ROUTE_LINE.match(f"{change_match[2]} {change_match[3]}")) is not None:
            action = (route[3], route[2])
            label_changes.append(
                LabelUseChange(
                    parse_time_since(change_match[1], int(time_zero)), fecs[change_match[2]], action
                )
            )
    return label_changes
