"""Classes, precedences and traffic classes of packets that leave a device: egress filters.

Linux's MPLS writes TC 0 into every label it puts on. What the label should say is worked out here
for every entry and written back by a filter, with the class of the port next to it: by the packet's
own DSCP where it has just got its first label, by the mark that the ingress filter left where it
came with a label, by what it shows otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trunkline.linux.plan.command_script import CommandScript
from trunkline.linux.plan.leaf_qdisc import LeafQdisc

if TYPE_CHECKING:
    from trunkline.network.types import Link, Port

ClassCell = tuple[int, int]
CellRow = Sequence[list[int]]

DSCP_COUNT = 64
TC_COUNT = 8
_MARK_PREFERENCE, _LABEL_PREFERENCE, _PACKET_PREFERENCE, _DEFAULT_PREFERENCE = 1, 2, 3, 9
"""Preferences of filters: marks first, the rest last."""


@dataclass
class EgressFilters:
    """Filters of one device."""

    script: CommandScript  # Where to say them.
    node: int  # Node of the device.
    device: str
    link: Link
    port_config: Port
    leaves: Mapping[int, LeafQdisc]  # Queue of each class.
    lines: list[tuple[str, str]] = field(default_factory=list)
    _added_actions: dict[tuple[str, int, str], str] = field(default_factory=dict)

    def find_cell(self, row: int | None, column: int) -> ClassCell:
        """Find the class and precedence of a packet that an entry forwards."""
        rows = self.port_config["classifier"]["rows"]
        flow_rows = self.port_config["classifier"]["flow_rows"]
        if not rows:
            return (0, 0)
        row_numbers = {row} if row is not None else set(flow_rows) or {0}
        cells = {tuple(rows[each][column]) for each in row_numbers}
        if len(cells) > 1:
            self.script.refuse(
                ("ports", self.port_config["name"], "classify"),
                f"port {self.port_config['name']}: filters do not see the "
                f"flow of a packet under its "
                f"labels on {self.link['name']}; nearest: rules by trunk or path",
            )
        cell = sorted(cells)[0]
        return (int(cell[0]), int(cell[1]))

    @property
    def fallback_cell(self) -> ClassCell:
        """Cell of an IP packet that no rule knows: the most frequent one."""
        rows = self.port_config["classifier"]["rows"]
        if not rows:
            return (0, 0)
        row = [tuple(each) for each in rows[0][:DSCP_COUNT]]
        most_frequent = max(sorted(set(row)), key=row.count)
        return (int(most_frequent[0]), int(most_frequent[1]))

    @property
    def needs_filters(self) -> bool:
        """Whether packets need to be told apart at all."""
        if any(leaf.priority for leaf in self.leaves.values()):
            return True
        return any(leaf.kind == "gred" for leaf in self.leaves.values())

    def format_action(self, cell: ClassCell, rewrites: str = "") -> str:
        """Format the action of a filter: class id, marks for the packet, and class."""
        leaf = self.leaves.get(cell[0])
        if leaf is None:
            return f"{rewrites}action ok"
        class_id = f"classid :{cell[1]:x} " if leaf.kind == "gred" else ""
        action = f"action skbedit priority {leaf.priority} " if leaf.priority else ""
        return f"{class_id}{rewrites}{action}action ok"

    def add_mark_filter(
        self,
        mark: int,
        cell: ClassCell,
        tcs: Sequence[int],
        dscp: int | None,
        protocol: str,
        *,
        write_zero: bool = False,
    ) -> None:
        """A packet that came with a label: by its mark. `write_zero`: a TC of 0 is written too."""
        action = self.format_action(cell, format_rewrites(tcs, dscp, write_zero=write_zero))
        # Not the classifier fw: its output by tc is no JSON.
        match = f"u32 match mark {mark:#x} 0xffffffff match u32 0 0"
        self.add_filter(protocol, _MARK_PREFERENCE, match, action)

    def add_content_filter(
        self, protocol: str, mark: tuple[int, int], match: str, cell: ClassCell, preference: int
    ) -> None:
        """A packet that came with a label and is classified by its present DSCP."""
        text = f"u32 match mark {mark[0]:#x} {mark[1]:#x} {match}"
        self.add_filter(protocol, preference, text, self.format_action(cell))

    def add_push_filter(
        self, label: int, depth: int, dscp: int, cell: ClassCell, tcs: Sequence[int]
    ) -> None:
        """A packet that has got its labels here: by its top label and its DSCP below them."""
        match = f"match u32 {label << 12:#010x} 0xfffff000 at 0 "
        match += f"match u8 {dscp << 2:#04x} 0xfc at {4 * depth + 1}"
        self.add_filter(
            "mpls_uc",
            _LABEL_PREFERENCE,
            f"u32 {match}",
            self.format_action(cell, format_rewrites(tcs, None)),
        )

    def add_ip_filters(self, flows: Sequence[tuple[int, str]]) -> None:
        """IP packets: by DSCP, and by flow where rows differ.

        flows: For each direction of a flow, in the classifier's order, its row and the keys of
            ``flower`` that identify it.
        """
        rows = self.port_config["classifier"]["rows"]
        if not rows or not self.needs_filters:
            return
        fallback = self.fallback_cell
        row_numbers = [row for row, _ in flows] or [0]
        base_row = max(sorted(set(row_numbers)), key=row_numbers.count)
        for row, keys in flows:
            if rows[row] != rows[base_row]:
                self.add_dscp_filters(rows[row], rows[base_row], keys, fallback)
        self.add_dscp_filters(rows[base_row], None, "", fallback)

    def add_dscp_filters(
        self, row: CellRow, base_row: CellRow | None, keys: str, fallback: ClassCell
    ) -> None:
        """Add the filters of one row: none where the rest does the same."""
        cells = [(int(each[0]), int(each[1])) for each in row[:DSCP_COUNT]]
        if len(set(cells)) == 1:
            if keys or cells[0] != fallback:
                self.add_filter(
                    "ip",
                    _PACKET_PREFERENCE,
                    f"flower {keys}".rstrip(),
                    self.format_action(cells[0]),
                )
            return
        for dscp, cell in enumerate(cells):
            if cell == fallback and base_row is None:
                continue
            leading_keys = f" {keys}" if keys else ""
            match = f"flower{leading_keys} ip_tos {dscp << 2:#04x}/0xfc"
            self.add_filter("ip", _PACKET_PREFERENCE, match, self.format_action(cell))

    def add_filter(self, protocol: str, preference: int, match: str, action: str) -> None:
        """Add a filter once; refuses another that does something else with the same packets."""
        earlier = self._added_actions.setdefault((protocol, preference, match), "")
        if earlier and earlier != action:
            self.script.refuse(
                ("ports", self.port_config["name"], "classify"),
                f"{self.link['name']}: trunks that share a label there have different classes or "
                "traffic classes; nearest: a path for each",
            )
        # One preference has filters of one protocol and kind.
        protocol_offset = {"ip": 0, "mpls_uc": 100, "all": 200}[protocol]
        kind_offset = 50 if match.startswith("u32") else 0
        if not earlier:
            self._added_actions[protocol, preference, match] = action
            number = preference * 300 + protocol_offset + kind_offset
            self.lines.append((protocol, f"prio {number} {match} {action}"))

    def write_filters(self) -> None:
        """Write all filters, if there are any."""
        if self.needs_filters:
            self.lines.append(
                (
                    "all",
                    f"prio {_DEFAULT_PREFERENCE * 300} matchall "
                    f"{self.format_action(self.fallback_cell)}",
                )
            )
        if not self.lines:
            return
        about = f"classes and traffic classes on {self.link['name']}"
        for protocol, filter_text in self.lines:
            line = f"filter add dev {self.device} egress protocol {protocol} {filter_text}"
            self.script.add_command(self.node, "tc", line, about)


def format_rewrites(tcs: Sequence[int], dscp: int | None, *, write_zero: bool = False) -> str:
    """Actions that write traffic classes, from the top label on, and a DSCP.

    The kernel has written a TC of 0 already; `write_zero` writes it again.
    """
    actions = ""
    for depth, tc in enumerate(tcs):
        if depth == 0:
            actions += f"action mpls modify tc {tc} pipe " if tc or write_zero else ""
        elif tc:
            actions += f"action pedit munge offset {4 * depth + 2} u8 set {tc << 1:#04x} "
            actions += "retain 0x0e pipe "
    if dscp is not None:
        actions += format_dscp_rewrite(dscp)
    return actions


def format_dscp_rewrite(dscp: int) -> str:
    """Actions that write a DSCP into an IP packet."""
    return (
        f"action pedit ex munge ip tos set {dscp << 2:#04x} retain 0xfc pipe action csum ip pipe "
    )
