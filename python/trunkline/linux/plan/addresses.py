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

from trunkline.linux.plan.ground import GUEST, Ground
from trunkline.linux.plan.plan import End, Wire

if TYPE_CHECKING:
    from trunkline.network.types import Link

_LINKS = int(IPv4Address("10.0.0.0"))
_ENDS = int(IPv4Address("10.128.0.1"))
MOST_LINKS = 1 << 21


def node_name(node: int) -> str:
    """Namespace of a node."""
    return f"n{node}"


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a pair of one-way links.

    Parameters
    ----------
    node : int
        Node.
    device : str
        Device at this end.
    wire : str
        Device behind it that what arrives here passes: the wire.
    mac : str
        Its address.
    address : str
        IPv4 address on the link.
    prefix : int
        Length of its prefix [bit].
    """

    node: int
    device: str
    wire: str
    mac: str
    address: str
    prefix: int = 30

    def end(self) -> End:
        """As the plan has it."""
        return End(node_name(self.node), self.device, self.mac)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two one-way links in opposite directions, or one alone: a veth pair.

    Parameters
    ----------
    a, b : Side
        Ends.
    """

    a: Side
    b: Side

    def wire(self) -> Wire:
        """As the plan has it."""
        return Wire(self.a.end(), self.b.end())


@dataclass
class Wiring:
    """The veth pairs, and which end of which each one-way link uses.

    Parameters
    ----------
    pairs : list of Pair
        In order.
    near, far : list of Side
        End that sends and end that receives, by one-way link.
    """

    pairs: list[Pair] = field(default_factory=list)
    near: list[Side] = field(default_factory=list)
    far: list[Side] = field(default_factory=list)

    @classmethod
    def of(cls, links: Sequence[Link], ground: Ground = GUEST) -> Wiring:
        """Pairs each one-way link with the next free one the other way, if there is one."""
        waiting: dict[tuple[int, int], list[int]] = {}
        number: list[tuple[int, bool]] = []
        made = cls()
        for link in links:
            ends = (int(link["from"]), int(link["to"]))
            opposite = waiting.get(ends[::-1])
            if opposite:
                number.append((opposite.pop(0), True))
                continue
            waiting.setdefault(ends, []).append(len(made.pairs))
            number.append((len(made.pairs), False))
            made.pairs.append(_pair(len(made.pairs), *ends))
        for (index, swapped), link in zip(number, links, strict=True):
            pair = made.pairs[index] = _chosen(made.pairs[index], swapped, link["name"], ground)
        for index, swapped in number:
            pair = made.pairs[index]
            made.near.append(pair.b if swapped else pair.a)
            made.far.append(pair.a if swapped else pair.b)
        return made

    @property
    def out(self) -> dict[tuple[int, str], int]:
        """The one-way link that each device of each node sends on."""
        return {(side.node, side.device): link for link, side in enumerate(self.near)}


def _chosen(pair: Pair, swapped: bool, link: str, ground: Ground) -> Pair:
    """A pair whose end that sends a link has the device and the address that were chosen for it."""
    side = pair.b if swapped else pair.a
    device, address = ground.devices.get(link), ground.links.get(link)
    if device is not None:
        side = replace(side, device=device)
    if address is not None:
        side = replace(side, address=str(address.ip), prefix=address.network.prefixlen)
    return Pair(pair.a, side) if swapped else Pair(side, pair.b)


def _pair(index: int, first: int, second: int) -> Pair:
    base = _LINKS + 4 * index
    high, middle, low = index >> 16 & 255, index >> 8 & 255, index & 255
    sides = [
        Side(
            node=node,
            device=f"l{index}{letter}",
            wire=f"w{index}{letter}",
            mac=f"02:00:{high:02x}:{middle:02x}:{low:02x}:{host:02x}",
            address=str(IPv4Address(base + host)),
        )
        for host, letter, node in ((1, "a", first), (2, "b", second))
    ]
    return Pair(*sides)


@dataclass
class Ends:
    """Addresses that routes lead to.

    Parameters
    ----------
    keys : list of tuple
        Node, forwarding equivalence class and TCP parameters, by number.
    chosen : mapping of int to sequence of str
        Addresses of some nodes, in the order in which they are needed.
    """

    keys: list[tuple[int, int, tuple[str, ...]]] = field(default_factory=list)
    chosen: Mapping[int, Sequence[str]] = field(default_factory=dict)
    _numbers: dict[tuple[int, int, tuple[str, ...]], int] = field(default_factory=dict)

    def number(self, node: int, fec: int, route: tuple[str, ...] = ()) -> int:
        """Number of an address, which is made if there is none yet."""
        key = (node, fec, route)
        if key not in self._numbers:
            self._numbers[key] = len(self.keys)
            self.keys.append(key)
        return self._numbers[key]

    def address(self, node: int, fec: int, route: tuple[str, ...] = ()) -> str:
        """The address as text."""
        return self.text(self.number(node, fec, route))

    def text(self, number: int) -> str:
        """Address of a number."""
        node = self.keys[number][0]
        own = self.chosen.get(node, ())
        rank = sum(each[0] == node for each in self.keys[:number])
        if rank < len(own):
            return own[rank]
        return str(IPv4Address(_ENDS + number))
