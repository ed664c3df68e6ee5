"""Classes, precedences and traffic classes of what leaves a device: filters of its egress.

Linux's MPLS writes TC 0 into every label it puts on. What the label should say is worked out here
for every entry and written back by a filter, with the class of the port beside it: by the packet's
own DSCP where it has just got its first label, by the mark that the ingress filter left where it
came with a label, by what it shows otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trunkline.linux.plan.leaf import Leaf
from trunkline.linux.plan.script import Script

if TYPE_CHECKING:
    from trunkline.network.types import Link
    from trunkline.network.types.ports import Port

Cell = tuple[int, int]
Row = Sequence[list[int]]

DSCPS = 64
TCS = 8
_BY_MARK, _BY_LABEL, _BY_PACKET, _REST = 1, 2, 3, 9
"""Preferences of filters: marks first, the rest last."""


@dataclass
class Egress:
    """Filters of one device.

    Parameters
    ----------
    script : Script
        Where to say them.
    node : int
        Node of the device.
    leaves : mapping of int to Leaf
        Queue of each class.
    """

    script: Script
    node: int
    device: str
    link: Link
    config: Port
    leaves: Mapping[int, Leaf]
    lines: list[tuple[str, str]] = field(default_factory=list)
    _said: dict[tuple[str, int, str], str] = field(default_factory=dict)

    def cell(self, row: int | None, column: int) -> Cell:
        """Class and precedence of a packet that an entry forwards."""
        rows = self.config["classifier"]["rows"]
        flow_rows = self.config["classifier"]["flow_rows"]
        if not rows:
            return (0, 0)
        wanted = {row} if row is not None else set(flow_rows) or {0}
        found = {tuple(rows[each][column]) for each in wanted}
        if len(found) > 1:
            self.script.refuse(
                ("ports", self.config["name"], "classify"),
                f"port {self.config['name']}: filters do not see the flow of a packet under its "
                f"labels on {self.link['name']}; nearest: rules by trunk or path",
            )
        chosen = sorted(found)[0]
        return (int(chosen[0]), int(chosen[1]))

    @property
    def fallback(self) -> Cell:
        """Cell of an IP packet that no rule knows: the most frequent one."""
        rows = self.config["classifier"]["rows"]
        if not rows:
            return (0, 0)
        row = [tuple(each) for each in rows[0][:DSCPS]]
        chosen = max(sorted(set(row)), key=row.count)
        return (int(chosen[0]), int(chosen[1]))

    @property
    def sorts(self) -> bool:
        """Whether packets need to be told apart at all."""
        if any(leaf.priority for leaf in self.leaves.values()):
            return True
        return any(leaf.kind == "gred" for leaf in self.leaves.values())

    def target(self, cell: Cell, written: str = "") -> str:
        """What a filter does: class id, what it writes into the packet, and class."""
        leaf = self.leaves.get(cell[0])
        if leaf is None:
            return f"{written}action ok"
        dp = f"classid :{cell[1]:x} " if leaf.kind == "gred" else ""
        act = f"action skbedit priority {leaf.priority} " if leaf.priority else ""
        return f"{dp}{written}{act}action ok"

    def marked(
        self,
        mark: int,
        cell: Cell,
        tcs: Sequence[int],
        dscp: int | None,
        protocol: str,
        *,
        zero: bool = False,
    ) -> None:
        """A packet that came with a label: by its mark. `zero`: a TC of 0 is written too."""
        act = self.target(cell, write(tcs, dscp, zero=zero))
        # Not the classifier fw: what tc prints of it is no JSON.
        match = f"u32 match mark {mark:#x} 0xffffffff match u32 0 0"
        self.add(protocol, _BY_MARK, match, act)

    def shown(
        self, protocol: str, mark: tuple[int, int], match: str, cell: Cell, preference: int
    ) -> None:
        """A packet that came with a label and is classified by what it shows now."""
        text = f"u32 match mark {mark[0]:#x} {mark[1]:#x} {match}"
        self.add(protocol, preference, text, self.target(cell))

    def pushed(self, label: int, depth: int, dscp: int, cell: Cell, tcs: Sequence[int]) -> None:
        """A packet that has got its labels here: by its top label and its DSCP below them."""
        match = f"match u32 {label << 12:#010x} 0xfffff000 at 0 "
        match += f"match u8 {dscp << 2:#04x} 0xfc at {4 * depth + 1}"
        self.add("mpls_uc", _BY_LABEL, f"u32 {match}", self.target(cell, write(tcs, None)))

    def packets(self, flows: Sequence[tuple[int, str]]) -> None:
        """IP packets: by DSCP, and by flow where rows differ.

        Parameters
        ----------
        flows : sequence of (int, str)
            For each direction of a flow, in the classifier's order, its row and the keys of
            ``flower`` that tell it.
        """
        rows = self.config["classifier"]["rows"]
        if not rows or not self.sorts:
            return
        fallback = self.fallback
        common = [row for row, _ in flows] or [0]
        base = max(sorted(set(common)), key=common.count)
        for row, keys in flows:
            if rows[row] != rows[base]:
                self.by_dscp(rows[row], rows[base], keys, fallback)
        self.by_dscp(rows[base], None, "", fallback)

    def by_dscp(self, row: Row, other: Row | None, keys: str, fallback: Cell) -> None:
        """Filters of one row: none where the rest does the same."""
        cells = [(int(each[0]), int(each[1])) for each in row[:DSCPS]]
        if len(set(cells)) == 1:
            if keys or cells[0] != fallback:
                self.add("ip", _BY_PACKET, f"flower {keys}".rstrip(), self.target(cells[0]))
            return
        for dscp, cell in enumerate(cells):
            if cell == fallback and other is None:
                continue
            spaced = f" {keys}" if keys else ""
            match = f"flower{spaced} ip_tos {dscp << 2:#04x}/0xfc"
            self.add("ip", _BY_PACKET, match, self.target(cell))

    def add(self, protocol: str, preference: int, match: str, act: str) -> None:
        """Adds a filter once; refuses another that does something else with the same packets."""
        said = self._said.setdefault((protocol, preference, match), "")
        if said and said != act:
            self.script.refuse(
                ("ports", self.config["name"], "classify"),
                f"{self.link['name']}: trunks that share a label there have different classes or "
                "traffic classes; nearest: a path for each",
            )
        # One preference has filters of one protocol and kind.
        spread = {"ip": 0, "mpls_uc": 100, "all": 200}[protocol]
        kind = 50 if match.startswith("u32") else 0
        if not said:
            self._said[protocol, preference, match] = act
            number = preference * 300 + spread + kind
            self.lines.append((protocol, f"prio {number} {match} {act}"))

    def finish(self) -> None:
        """Says them all, if there is any."""
        if self.sorts:
            self.lines.append(("all", f"prio {_REST * 300} matchall {self.target(self.fallback)}"))
        if not self.lines:
            return
        about = f"classes and traffic classes on {self.link['name']}"
        for protocol, rest in self.lines:
            line = f"filter add dev {self.device} egress protocol {protocol} {rest}"
            self.script.say(self.node, "tc", line, about)


def write(tcs: Sequence[int], dscp: int | None, *, zero: bool = False) -> str:
    """Actions that write traffic classes, from the top label on, and a DSCP.

    A TC of 0 is what the kernel has written already, unless `zero`.
    """
    said = ""
    for depth, tc in enumerate(tcs):
        if depth == 0:
            said += f"action mpls modify tc {tc} pipe " if tc or zero else ""
        elif tc:
            said += f"action pedit munge offset {4 * depth + 2} u8 set {tc << 1:#04x} "
            said += "retain 0x0e pipe "
    if dscp is not None:
        said += remark(dscp)
    return said


def remark(dscp: int) -> str:
    """Actions that write a DSCP into an IP packet."""
    return (
        f"action pedit ex munge ip tos set {dscp << 2:#04x} retain 0xfc pipe action csum ip pipe "
    )
