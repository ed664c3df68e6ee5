"""The benchmark's workloads, once, for every engine.

A workload is written down here and nowhere else; `ours.py` and `ns2.py` turn it into a scenario
and into a driver script. A queue limit counts the packets that wait, not the one in service.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trunkline.importers.network import topohub

MBIT = 1_000_000
MS = 1_000_000
"""Nanoseconds."""


@dataclass(frozen=True)
class Red:
    """Random early detection, not gentle, in packets.

    Parameters
    ----------
    min_th, max_th : int
        Thresholds [packets].
    max_p : float
        Drop probability at ``max_th``.
    w_q : float
        Weight of the newest sample.
    mean_bytes : int
        Size of the packet whose sending time ages an idle average [B].
    """

    min_th: int
    max_th: int
    max_p: float
    w_q: float
    mean_bytes: int


@dataclass(frozen=True)
class Link:
    """A link in both directions; ``red`` holds for the direction from ``a`` to ``b``."""

    a: str
    b: str
    rate_bit_s: int
    delay_ns: int
    limit_packets: int
    red: Red | None = None
    red_limit_packets: int = 0


@dataclass(frozen=True)
class Tcp:
    """An endless NewReno transfer, one acknowledgement a segment."""

    source: str
    destination: str
    mss_bytes: int
    start_ns: int
    window_packets: int = 100_000
    dscp: str = "DF"


@dataclass(frozen=True)
class Cbr:
    """A UDP source at a constant rate of IP bits."""

    source: str
    destination: str
    packet_bytes: int
    rate_bit_s: int
    dscp: str = "DF"


@dataclass(frozen=True)
class Workload:
    """What is simulated.

    Parameters
    ----------
    name, about : str
        Its name and one line about it.
    seconds : float
        Simulated time unless asked otherwise [s].
    nodes, links, tcp, cbr : tuple
        The network and who sends.
    bottleneck : (str, str) or None
        The link whose use is compared; None: all links together, where none stands out.
    core : tuple of str
        Nodes of the labelled path that flows ride, if there is one; other flows are routed.
    mesh : bool
        Each flow rides a labelled path of its pair of nodes, along the shortest route.
    classes : tuple of str
        Codepoints that have a queue of their own in each port, beside the default; ns-2 and
        ns-3 have one queue for all.
    """

    name: str
    about: str
    seconds: float
    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    tcp: tuple[Tcp, ...]
    cbr: tuple[Cbr, ...] = ()
    bottleneck: tuple[str, str] | None = None
    core: tuple[str, ...] = field(default=())
    mesh: bool = False
    classes: tuple[str, ...] = ()

    @property
    def bottleneck_bit_s(self) -> int:
        """Rate of the bottleneck, or of all one-way links together [bit/s]."""
        if self.bottleneck is None:
            return 2 * sum(link.rate_bit_s for link in self.links)
        ends = set(self.bottleneck)
        return next(link.rate_bit_s for link in self.links if {link.a, link.b} == ends)


def w1() -> Workload:
    """Two edges share a RED bottleneck: 24 TCP flows in four groups of six and two UDP."""
    red = Red(min_th=10, max_th=40, max_p=0.05, w_q=0.002, mean_bytes=1000)
    fast = [("C1", "E1"), ("C2", "E1"), ("C3", "E2"), ("C4", "E2")]
    fast += [("E1", "Core"), ("E2", "Core"), ("E3", "C5"), ("E3", "C6")]
    links = [Link(a, b, 10 * MBIT, MS, 50) for a, b in fast]
    links.append(Link("Core", "E3", 5 * MBIT, MS, 50, red, 70))
    pairs = [("C1", "C5"), ("C2", "C5"), ("C3", "C6"), ("C4", "C6")]
    tcp = [
        Tcp(source, destination, 1000, 10 * MS * (4 * turn + place))
        for turn in range(6)
        for place, (source, destination) in enumerate(pairs)
    ]
    return Workload(
        name="W1",
        about="assured forwarding: 24 TCP and 2 UDP flows through a 5 Mbit/s RED queue",
        seconds=600,
        nodes=("C1", "C2", "C3", "C4", "C5", "C6", "E1", "E2", "E3", "Core"),
        links=tuple(links),
        tcp=tuple(tcp),
        cbr=(Cbr("C1", "C5", 1000, MBIT), Cbr("C3", "C6", 1000, MBIT)),
        bottleneck=("Core", "E3"),
    )


def w2() -> Workload:
    """Two TCP flows and a UDP flow on a labelled path along the upper of two routes."""
    rates = [("S1", "R1", 100), ("S2", "R1", 100), ("S3", "R1", 100), ("R1", "R2", 100)]
    rates += [("R2", "R3", 15), ("R3", "R5", 15), ("R2", "R4", 45), ("R4", "R5", 45)]
    rates += [("R5", "R6", 100), ("R6", "D1", 100), ("R6", "D2", 100), ("R6", "D3", 100)]
    return Workload(
        name="W2",
        about="trunks: 21 Mbit/s of UDP and two TCP flows on a labelled path of 45 Mbit/s links",
        seconds=300,
        nodes=("S1", "S2", "S3", "R1", "R2", "R3", "R4", "R5", "R6", "D1", "D2", "D3"),
        links=tuple(Link(a, b, rate * MBIT, 5 * MS, 100) for a, b, rate in rates),
        tcp=(Tcp("S2", "D2", 512, 0), Tcp("S3", "D3", 1024, 100 * MS)),
        cbr=(Cbr("S1", "D1", 1000, 21 * MBIT),),
        bottleneck=("R2", "R4"),
        core=("R1", "R2", "R4", "R5", "R6"),
    )


def w3() -> Workload:
    """A backbone: 100 nodes, 400 one-way links of 1 Gbit/s, 1000 TCP flows."""
    count = 100
    names = tuple(f"n{i}" for i in range(count))
    links = [
        Link(names[i], names[(i + step) % count], 1000 * MBIT, 2 * MS, 250)
        for i in range(count)
        for step in (1, 7)
    ]
    tcp = []
    for turn in range(10):
        for i in range(count):
            to = (37 * i + 50 + 11 * turn) % count
            to = (to + 1) % count if to == i else to
            tcp.append(Tcp(names[i], names[to], 1460, 100_000 * (count * turn + i)))
    return Workload(
        name="W3",
        about="backbone: 100 nodes, 400 one-way links of 1 Gbit/s, 1000 TCP flows",
        seconds=0.5,
        nodes=names,
        links=tuple(links),
        tcp=tuple(tcp),
    )


def w4() -> Workload:
    """SNDlib's germany50: a path between each two nodes, four classes, TCP and UDP.

    Windows hold the transfers and no queue fills, so that one queue a port, which is what ns-2 has,
    carries the same packets as four.
    """
    found = topohub.read("sndlib/germany50")
    names = tuple(f"g{key}" for key in found.nodes)
    links = []
    for link in found.links:
        delay_ns = round((link.length or 0.0) * 5_000)  # 5 us a kilometre of fibre
        links.append(Link(f"g{link.source}", f"g{link.target}", 1000 * MBIT, delay_ns, 250))
    pairs = [(a, b) for a in names for b in names if a != b]
    kinds = ("EF", "AF11", "AF21", "DF")
    tcp, cbr = [], []
    for number, (a, b) in enumerate(pairs):
        dscp = kinds[number % len(kinds)]
        if number % 2:
            # Without a common beat of the starts.
            tcp.append(Tcp(a, b, 1000, 7_919_177 * number % (10 * MS), 8, dscp))
        else:
            cbr.append(Cbr(a, b, 1000, MBIT, dscp))
    return Workload(
        name="W4",
        about="germany50: 2450 labelled paths, four classes, 1225 TCP and 1225 UDP flows",
        seconds=1.0,
        nodes=names,
        links=tuple(links),
        tcp=tuple(tcp),
        cbr=tuple(cbr),
        mesh=True,
        classes=kinds[:-1],
    )


WORKLOADS: dict[str, Callable[[], Workload]] = {"W1": w1, "W2": w2, "W3": w3, "W4": w4}


def next_hops(workload: Workload) -> dict[tuple[str, str], str]:
    """Shortest paths by hops; among equals the next hop that comes first in ``nodes``.

    Parameters
    ----------
    workload : Workload
        The network. Nodes of ``core`` go along it to each other and never around it.

    Returns
    -------
    dict of (str, str) to str
        (node, destination) to next hop.
    """
    order = {name: place for place, name in enumerate(workload.nodes)}
    neighbours: dict[str, list[str]] = {name: [] for name in workload.nodes}
    for link in workload.links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    hops: dict[tuple[str, str], str] = {}
    for destination in workload.nodes:
        distance = {destination: 0}
        wave = [destination]
        while wave:
            further = []
            for node in wave:
                for other in neighbours[node]:
                    if other not in distance:
                        distance[other] = distance[node] + 1
                        further.append(other)
            wave = further
        for node in workload.nodes:
            if node != destination:
                closer = [n for n in neighbours[node] if distance[n] == distance[node] - 1]
                hops[node, destination] = min(closer, key=order.__getitem__)
    for way in (workload.core, workload.core[::-1]):
        for place, node in enumerate(way[:-1]):
            for destination in workload.nodes:
                beyond = hops.get((way[-1], destination))
                if destination in way[place + 1 :] or (beyond and beyond not in way):
                    hops[node, destination] = way[place + 1]
    return hops
