"""The benchmark's workloads, once, for every engine.

A workload is written down here and nowhere else; `trunkline_engine.py` and `ns2.py` turn it into a
scenario and into a driver script. A queue limit counts the packets that wait, not the one in
service.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from trunkline.importers.network import topohub

MBIT_BIT_S = 1_000_000
MS_NS = 1_000_000
"""Nanoseconds."""


@dataclass(frozen=True)
class RedSettings:
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
class WorkloadLink:
    """A link in both directions; ``red`` holds for the direction from ``a`` to ``b``."""

    a: str
    b: str
    rate_bit_s: int
    delay_ns: int
    limit_packets: int
    red: RedSettings | None = None
    red_limit_packets: int = 0


@dataclass(frozen=True)
class TcpFlow:
    """An endless NewReno transfer, one acknowledgement a segment."""

    source: str
    destination: str
    mss_bytes: int
    start_ns: int
    window_packets: int = 100_000
    dscp: str = "DF"


@dataclass(frozen=True)
class CbrFlow:
    """A UDP source at a constant rate of IP bits."""

    source: str
    destination: str
    packet_bytes: int
    rate_bit_s: int
    dscp: str = "DF"


@dataclass(frozen=True)
class TransferFlow:
    """Transfers of one size, each a connection of its own, that come at random."""

    source: str
    destination: str
    size_bytes: int
    load_bit_s: int
    dscp: str = "DF"


@dataclass(frozen=True)
class Workload:
    """A workload: network, traffic and duration.

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
        Codepoints that have a queue of their own in each port, besides the default; ns-2 and
        ns-3 have one queue for all.
    transfers : tuple
        Who sends transfers that come and go.
    shaped_share : str
        Share of each link that CAKE shapes its port to; empty: ports have no CAKE.
    signalled : bool
        RSVP-TE sets the paths up, on routes that their heads compute.
    """

    name: str
    about: str
    seconds: float
    nodes: tuple[str, ...]
    links: tuple[WorkloadLink, ...]
    tcp: tuple[TcpFlow, ...]
    cbr: tuple[CbrFlow, ...] = ()
    bottleneck: tuple[str, str] | None = None
    core: tuple[str, ...] = field(default=())
    mesh: bool = False
    classes: tuple[str, ...] = ()
    transfers: tuple[TransferFlow, ...] = ()
    shaped_share: str = ""
    signalled: bool = False

    @property
    def has_peers(self) -> bool:
        """Whether ns-2 can do the same work: it has no CAKE and no RSVP-TE."""
        return not (self.transfers or self.shaped_share or self.signalled)

    @property
    def bottleneck_bit_s(self) -> int:
        """Rate of the bottleneck, or of all one-way links together [bit/s]."""
        if self.bottleneck is None:
            return 2 * sum(link.rate_bit_s for link in self.links)
        ends = set(self.bottleneck)
        return next(link.rate_bit_s for link in self.links if {link.a, link.b} == ends)


def make_w1() -> Workload:
    """Two edges share a RED bottleneck: 24 TCP flows in four groups of six and two UDP."""
    red = RedSettings(min_th=10, max_th=40, max_p=0.05, w_q=0.002, mean_bytes=1000)
    fast = [("C1", "E1"), ("C2", "E1"), ("C3", "E2"), ("C4", "E2")]
    fast += [("E1", "Core"), ("E2", "Core"), ("E3", "C5"), ("E3", "C6")]
    links = [WorkloadLink(a, b, 10 * MBIT_BIT_S, MS_NS, 50) for a, b in fast]
    links.append(WorkloadLink("Core", "E3", 5 * MBIT_BIT_S, MS_NS, 50, red, 70))
    pairs = [("C1", "C5"), ("C2", "C5"), ("C3", "C6"), ("C4", "C6")]
    tcp = [
        TcpFlow(source, destination, 1000, 10 * MS_NS * (4 * turn + place))
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
        cbr=(CbrFlow("C1", "C5", 1000, MBIT_BIT_S), CbrFlow("C3", "C6", 1000, MBIT_BIT_S)),
        bottleneck=("Core", "E3"),
    )


def make_w2() -> Workload:
    """Two TCP flows and a UDP flow on a labelled path along the upper of two routes."""
    rates = [("S1", "R1", 100), ("S2", "R1", 100), ("S3", "R1", 100), ("R1", "R2", 100)]
    rates += [("R2", "R3", 15), ("R3", "R5", 15), ("R2", "R4", 45), ("R4", "R5", 45)]
    rates += [("R5", "R6", 100), ("R6", "D1", 100), ("R6", "D2", 100), ("R6", "D3", 100)]
    return Workload(
        name="W2",
        about="trunks: 21 Mbit/s of UDP and two TCP flows on a labelled path of 45 Mbit/s links",
        seconds=300,
        nodes=("S1", "S2", "S3", "R1", "R2", "R3", "R4", "R5", "R6", "D1", "D2", "D3"),
        links=tuple(WorkloadLink(a, b, rate * MBIT_BIT_S, 5 * MS_NS, 100) for a, b, rate in rates),
        tcp=(TcpFlow("S2", "D2", 512, 0), TcpFlow("S3", "D3", 1024, 100 * MS_NS)),
        cbr=(CbrFlow("S1", "D1", 1000, 21 * MBIT_BIT_S),),
        bottleneck=("R2", "R4"),
        core=("R1", "R2", "R4", "R5", "R6"),
    )


def make_w3() -> Workload:
    """A backbone: 100 nodes, 400 one-way links of 1 Gbit/s, 1000 TCP flows."""
    count = 100
    names = tuple(f"n{i}" for i in range(count))
    links = [
        WorkloadLink(names[i], names[(i + step) % count], 1000 * MBIT_BIT_S, 2 * MS_NS, 250)
        for i in range(count)
        for step in (1, 7)
    ]
    tcp = []
    for turn in range(10):
        for i in range(count):
            to = (37 * i + 50 + 11 * turn) % count
            to = (to + 1) % count if to == i else to
            tcp.append(TcpFlow(names[i], names[to], 1460, 100_000 * (count * turn + i)))
    return Workload(
        name="W3",
        about="backbone: 100 nodes, 400 one-way links of 1 Gbit/s, 1000 TCP flows",
        seconds=0.5,
        nodes=names,
        links=tuple(links),
        tcp=tuple(tcp),
    )


def make_w4() -> Workload:
    """SNDlib's germany50: a path between each two nodes, four classes, TCP and UDP.

    Windows hold the transfers and no queue fills, so that one queue a port, which is what ns-2 has,
    carries the same packets as four.
    """
    found = topohub.read_packaged_network("sndlib/germany50")
    names = tuple(f"g{key}" for key in found.nodes)
    links = []
    for link in found.links:
        delay_ns = round((link.length or 0.0) * 5_000)  # 5 us a kilometre of fibre
        links.append(
            WorkloadLink(f"g{link.source}", f"g{link.target}", 1000 * MBIT_BIT_S, delay_ns, 250)
        )
    pairs = [(a, b) for a in names for b in names if a != b]
    kinds = ("EF", "AF11", "AF21", "DF")
    tcp, cbr = [], []
    for number, (a, b) in enumerate(pairs):
        dscp = kinds[number % len(kinds)]
        if number % 2:
            # Without a common beat of the starts.
            tcp.append(TcpFlow(a, b, 1000, 7_919_177 * number % (10 * MS_NS), 8, dscp))
        else:
            cbr.append(CbrFlow(a, b, 1000, MBIT_BIT_S, dscp))
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


def make_w5() -> Workload:
    """SNDlib's nobel-germany: signalled paths between all nodes, transfers under CAKE.

    Each link is shaped below its rate and is fair by tin and by flow; the busiest are overloaded.
    """
    found = topohub.read_packaged_network("sndlib/nobel-germany")
    names = tuple(f"g{key}" for key in found.nodes)
    links = []
    for link in found.links:
        delay_ns = round((link.length or 0.0) * 5_000)  # 5 us a kilometre of fibre
        ends = (f"g{link.source}", f"g{link.target}")
        links.append(WorkloadLink(*ends, 100 * MBIT_BIT_S, delay_ns, 1000))
    kinds = ("EF", "AF21", "DF", "CS1")
    pairs = [(a, b) for a in names for b in names if a != b]
    transfers = tuple(
        TransferFlow(a, b, 100_000, 3 * MBIT_BIT_S, kinds[number % len(kinds)])
        for number, (a, b) in enumerate(pairs)
    )
    return Workload(
        name="W5",
        about="nobel-germany: 272 RSVP-TE paths, transfers of 100 kB under CAKE",
        seconds=10.0,
        nodes=names,
        links=tuple(links),
        tcp=(),
        mesh=True,
        transfers=transfers,
        shaped_share="95 %",
        signalled=True,
    )


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "W1": make_w1,
    "W2": make_w2,
    "W3": make_w3,
    "W4": make_w4,
    "W5": make_w5,
}


def compute_next_hops(workload: Workload) -> dict[tuple[str, str], str]:
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
    order = {name: index for index, name in enumerate(workload.nodes)}
    neighbours: dict[str, list[str]] = {name: [] for name in workload.nodes}
    for link in workload.links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    hops: dict[tuple[str, str], str] = {}
    for destination in workload.nodes:
        distance = {destination: 0}
        frontier = [destination]
        while frontier:
            next_frontier = []
            for node in frontier:
                for other in neighbours[node]:
                    if other not in distance:
                        distance[other] = distance[node] + 1
                        next_frontier.append(other)
            frontier = next_frontier
        for node in workload.nodes:
            if node != destination:
                closer_neighbours = [
                    n for n in neighbours[node] if distance[n] == distance[node] - 1
                ]
                hops[node, destination] = min(closer_neighbours, key=order.__getitem__)
    for core_direction in (workload.core, workload.core[::-1]):
        for index, node in enumerate(core_direction[:-1]):
            for destination in workload.nodes:
                hop_after_core = hops.get((core_direction[-1], destination))
                if destination in core_direction[index + 1 :] or (
                    hop_after_core and hop_after_core not in core_direction
                ):
                    hops[node, destination] = core_direction[index + 1]
    return hops
