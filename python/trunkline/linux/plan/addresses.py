"""Generated names and numbers: nodes, devices, MAC and IPv4 addresses.

Links have addresses from 10.0.0.0/9, a /30 each. What routes lead to has addresses from
10.128.0.0/9: a node has one for each forwarding equivalence class and set of TCP parameters of the
packets that go there, so that a route to it says both where they go and how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from trunkline.linux.plan.command_target import GUEST_TARGET, CommandTarget
from trunkline.linux.plan.guest_plan import PlannedEnd, PlannedLink

if TYPE_CHECKING:
    from trunkline.network.types import Link

_FIRST_LINK_ADDRESS = int(IPv4Address("10.0.0.0"))
_FIRST_ROUTE_ADDRESS = int(IPv4Address("10.128.0.1"))
MAX_LINKS = 1 << 21


def name_namespace(node: int) -> str:
    """Namespace of a node."""
    return f"n{node}"


@dataclass(frozen=True, slots=True)
class VethEnd:
    """One end of a pair of one-way links."""

    node: int  # Node.
    device: str  # Device at this end.
    wire: str  # Device behind it that what arrives here passes: the wire.
    mac: str  # Its address.
    address: str  # IPv4 address on the link.
    prefix: int = 30  # Length of its prefix [bit].

    def to_planned_end(self) -> PlannedEnd:
        """Build the end for the plan."""
        return PlannedEnd(name_namespace(self.node), self.device, self.mac)


@dataclass(frozen=True, slots=True)
class VethPair:
    """Two one-way links in opposite directions, or one alone: a veth pair."""

    # a, b: Ends.
    a: VethEnd
    b: VethEnd

    def to_planned_link(self) -> PlannedLink:
        """Build the link for the plan."""
        return PlannedLink(self.a.to_planned_end(), self.b.to_planned_end())


@dataclass
class VethPlan:
    """The veth pairs, and which end of which each one-way link uses."""

    pairs: list[VethPair] = field(default_factory=list)  # In order.
    # sending_ends, receiving_ends: End that sends and end that receives, by one-way link.
    sending_ends: list[VethEnd] = field(default_factory=list)
    receiving_ends: list[VethEnd] = field(default_factory=list)

    @classmethod
    def from_links(cls, links: Sequence[Link], target: CommandTarget = GUEST_TARGET) -> VethPlan:
        """Pairs each one-way link with the next free one the other way, if there is one."""
        unpaired: dict[tuple[int, int], list[int]] = {}
        assigned: list[tuple[int, bool]] = []
        veths = cls()
        for link in links:
            ends = (int(link["from"]), int(link["to"]))
            opposite = unpaired.get(ends[::-1])
            if opposite:
                assigned.append((opposite.pop(0), True))
                continue
            unpaired.setdefault(ends, []).append(len(veths.pairs))
            assigned.append((len(veths.pairs), False))
            veths.pairs.append(_make_pair(len(veths.pairs), *ends))
        for (index, swapped), link in zip(assigned, links, strict=True):
            pair = veths.pairs[index] = _apply_chosen_address(
                veths.pairs[index], swapped, link["name"], target
            )
        for index, swapped in assigned:
            pair = veths.pairs[index]
            veths.sending_ends.append(pair.b if swapped else pair.a)
            veths.receiving_ends.append(pair.a if swapped else pair.b)
        return veths

    @property
    def link_by_device(self) -> dict[tuple[int, str], int]:
        """The one-way link that each device of each node sends on."""
        return {(side.node, side.device): link for link, side in enumerate(self.sending_ends)}


def _apply_chosen_address(
    pair: VethPair, swapped: bool, link: str, target: CommandTarget
) -> VethPair:
    """A pair whose end that sends a link has the device and the address that were chosen for it."""
    side = pair.b if swapped else pair.a
    device, address = target.devices.get(link), target.links.get(link)
    if device is not None:
        side = replace(side, device=device)
    if address is not None:
        side = replace(side, address=str(address.ip), prefix=address.network.prefixlen)
    return VethPair(pair.a, side) if swapped else VethPair(side, pair.b)


def _make_pair(index: int, first: int, second: int) -> VethPair:
    base = _FIRST_LINK_ADDRESS + 4 * index
    high, middle, low = index >> 16 & 255, index >> 8 & 255, index & 255
    sides = [
        VethEnd(
            node=node,
            device=f"l{index}{letter}",
            wire=f"w{index}{letter}",
            mac=f"02:00:{high:02x}:{middle:02x}:{low:02x}:{host:02x}",
            address=str(IPv4Address(base + host)),
        )
        for host, letter, node in ((1, "a", first), (2, "b", second))
    ]
    return VethPair(*sides)


@dataclass
class RouteAddresses:
    """Addresses that routes lead to."""

    # Node, forwarding equivalence class and TCP parameters, by number.
    keys: list[tuple[int, int, tuple[str, ...]]] = field(default_factory=list)
    # Addresses of some nodes, in the order in which they are needed.
    given_addresses: Mapping[int, Sequence[str]] = field(default_factory=dict)
    # Addresses of some nodes and classes; they go before the others.
    class_addresses: Mapping[tuple[int, int], str] = field(default_factory=dict)
    _numbers: dict[tuple[int, int, tuple[str, ...]], int] = field(default_factory=dict)

    def number_address(self, node: int, fec: int, route: tuple[str, ...] = ()) -> int:
        """Number of an address, which is made if there is none yet."""
        key = (node, fec, route)
        if key not in self._numbers:
            self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return self._numbers[key]

    def get_address(self, node: int, fec: int, route: tuple[str, ...] = ()) -> str:
        """Return the address as text."""
        return self.format_address(self.number_address(node, fec, route))

    def format_address(self, number: int) -> str:
        """Format the address of a number."""
        node, fec, _ = self.keys[number]
        chosen = self.class_addresses.get((node, fec))
        if chosen is not None:
            return chosen
        given = self.given_addresses.get(node, ())
        if given:
            rank = sum(each[0] == node for each in self.keys[:number])
            if rank < len(given):
                return given[rank]
        return str(IPv4Address(_FIRST_ROUTE_ADDRESS + number))
