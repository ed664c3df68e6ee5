"""One seed in both engines, and by which rules a set of seeds is compared."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from trunkline.linux.judge import margin
from trunkline.linux.judge.measures import Frame, Key, Values, frame, measure
from trunkline.linux.judge.observed import Observed
from trunkline.linux.judge.packetwise import Seed, fates
from trunkline.linux.judge.phases import phases
from trunkline.linux.outcome.decode import KNOWN_CAUSES
from trunkline.linux.plan.routing import next_links
from trunkline.network.types import Network
from trunkline.network.types.flows import Flow
from trunkline.network.types.ports import Port

CERTAIN: Final = ("drop-tail", "precedence-drop-tail", "codel", "cobalt")
"""AQMs that toss no coins; COBALT does so only once it has overflowed."""

BY_CLOCK: Final = ("codel", "cobalt")
"""AQMs to whom a microsecond of a packet's wait is a drop more or less."""

Machine = Literal["simulator", "virtual", "emulated", "real"]
"""What the reference ran on: its packets take no time in a router, some, or that of the clock."""


@dataclass(frozen=True)
class Pair:
    """One seed in both engines.

    Parameters
    ----------
    network : mapping
        The simulator's compiled network.
    machine : {"simulator", "virtual", "emulated", "real"}
        What the reference ran on.
    values : (dict, dict)
        Measures of simulator and reference.
    packets : dict of str to (Datagrams, Datagrams, array, array)
        Of each UDP flow what both delivered, and the numbers that each lost; empty where they are
        not compared one by one.
    sizes : set of int
        IP bytes of datagrams.
    lasting : str
        See `lasting`.
    """

    network: Network
    machine: Machine
    values: tuple[Values, Values]
    packets: dict[str, Seed]
    sizes: frozenset[int]
    lasting: str
    sent: int

    def hides(self, key: Key) -> bool:
        """Whether the kernel does not tell a measure at all."""
        if self.machine == "simulator":
            return False
        # Its receivers log no TCP segment.
        segment = key.measure == "mean delay" and key.subject in self.tcp
        unknown = key.measure == "lost by cause" and key.detail not in KNOWN_CAUSES
        return segment or unknown or key.measure == "coloured"

    @property
    def tcp(self) -> list[str]:
        """Names of the TCP flows."""
        flows = self.network["flows"]
        return [str(flow["name"]) for flow in flows if flow["agent"]["protocol"] == "tcp"]


def pair(network: Network, simulator: Observed, reference: Observed, machine: Machine) -> Pair:
    """What both engines made of a seed, in what the comparison needs.

    Parameters
    ----------
    machine : {"simulator", "virtual", "emulated", "real"}
        What the reference ran on.
    """
    end = network["run"]["duration_ns"]
    parts = phases(simulator.results, end)
    within: Frame = frame(network, parts, (simulator, reference))
    both = measure(simulator, network, within), measure(reference, network, within)
    sizes = frozenset(
        size for flow in simulator.flows.values() for size in set(flow.ip_bytes.tolist())
    )
    single: dict[str, Seed] = {}
    if is_exact(network, machine, sizes):
        emulated = len(network["flows"]) if machine == "emulated" else 0
        for name, ours in simulator.flows.items():
            theirs = reference.flows[name]
            arrived = len(ours.number) + len(theirs.number)
            near = margin.delay_ns(len(network["links"]), arrived, emulated)
            single[name] = (ours, theirs, *fates(ours, theirs, end, near))
    sent = sum(len(flow.sent_ns) for flow in simulator.flows.values())
    return Pair(network, machine, both, single, sizes, lasting(network, simulator, machine), sent)


def is_random(network: Network) -> bool:
    """Whether an engine draws random numbers of its own: random loss, RED and others, BBR."""
    kinds = [each["queue"]["aqm"]["kind"] for port in network["ports"] for each in port["classes"]]
    return (
        any(kind not in CERTAIN for kind in kinds)
        or any(link["loss"] for link in network["links"])
        or any(_is_bbr(flow) for flow in network["flows"])
        or '"tsw' in json.dumps(network.get("conditioners", []))
    )


def _is_bbr(flow: Flow) -> bool:
    """Whether its sender draws the phase in which it begins to probe, as that of Linux does."""
    agent = flow["agent"]
    return agent["protocol"] == "tcp" and agent.get("congestion") == {"kind": "bbr"}


def is_exact(network: Network, machine: Machine, sizes: frozenset[int]) -> bool:
    """Whether packets can be compared one by one.

    TCP answers to what became of earlier packets. So does a limit of bytes where packets have
    several sizes: who came first decides who finds room for long after. An emulated machine sends
    late while a program runs beside the packets.
    """
    tcp = any(flow["agent"]["protocol"] == "tcp" for flow in network["flows"])
    if tcp or machine == "real" or is_random(network):
        return False
    recovery = network.get("recovery") or {}
    if machine == "emulated" and (network["run"]["warmup_ns"] or recovery.get("failures")):
        return False
    limits = [each["queue"]["limit_bytes"] for port in network["ports"] for each in port["classes"]]
    return len(sizes) < 2 or not any(limits)


def lasting(network: Network, simulator: Observed, machine: Machine) -> str:
    """Why a microsecond, or what a processor takes, may move all later packets; or empty.

    Where packets of several sizes compete for room or tokens, the one that is first takes what the
    next would have had. Where flows take turns, it decides whose turn is first until both have
    nothing left.

    Parameters
    ----------
    machine : {"simulator", "virtual", "emulated", "real"}
        What the reference ran on.
    """
    if _mixes(simulator):
        return (
            "packets of several sizes are lost or coloured in one place, and which of them comes "
            "first decides for long after"
        )
    queues = [each["queue"] for port in network["ports"] for each in port["classes"]]
    if machine == "emulated" and any(queue["aqm"]["kind"] in BY_CLOCK for queue in queues):
        return "queues drop by the clock, and the processor of the reference takes time"
    full = any(row["cause"] == "queue_full" for row in simulator.results.drops.rows())
    if full and any(queue["aqm"]["kind"] == "cobalt" for queue in queues):
        return "queues of COBALT overflow, and then drop by chance as well"
    if any(queue.get("flows") for queue in queues):
        return "flows take turns at a port, and which of them comes first decides for long after"
    return ""


def _mixes(simulator: Observed) -> bool:
    """Whether packets of several sizes compete for room or tokens, and not all get them."""
    sizes = {name: set(flow.ip_bytes.tolist()) for name, flow in simulator.flows.items()}
    by_place: dict[tuple[str, ...], set[int]] = {}
    for row in simulator.results.drops.rows():
        place = tuple(str(row[key]) for key in ("link", "node", "class", "cause"))
        by_place.setdefault(place, set()).update(sizes.get(str(row["flow"]), ()))
    if any(len(found) > 1 for found in by_place.values()):
        return True
    colours: dict[tuple[str, ...], int] = {}
    for row in simulator.results.colours.rows():
        meter = tuple(str(row[key]) for key in ("link", "end", "conditioner", "profile"))
        colours[meter] = colours.get(meter, 0) + bool(row["packets"])
    chosen = any(count > 1 for count in colours.values())
    return chosen and len(set[int]().union(*sizes.values())) > 1


@dataclass(frozen=True, slots=True)
class Way:
    """How a set of seeds is compared.

    Parameters
    ----------
    exact : bool
        Packets one by one.
    chance : bool
        Every run has a difference of its own.
    emulated : bool
        The reference's processor took time.
    chooses : bool
        Some port chooses among classes or flows.
    ties : float
        Share of packets of which either may be first.
    fates : float
        Packets of a run that were lost or coloured otherwise than most.
    packets : int
        Datagrams sent in a run.
    flows : int
        Flows of the network.
    """

    exact: bool
    chance: bool
    emulated: bool
    chooses: bool
    ties: float
    fates: float
    packets: int
    flows: int

    def allowed_ns(self, hops: int) -> int:
        """For the delay of a packet over so many links [ns]."""
        if self.emulated and not self.exact:
            return hops * margin.EMULATED_HOP_NS
        return margin.delay_ns(hops, self.packets, self.flows if self.emulated else 0)


def way(pairs: Sequence[Pair], *, exact: bool) -> Way:
    """The way in which seeds are compared."""
    network, machine = pairs[0].network, pairs[0].machine
    single = len(network["flows"]) == 1 and "transfers" not in network["flows"][0]
    alone = len(pairs[0].tcp) == 1 and single and not is_random(network)
    able = all(is_exact(network, machine, pair.sizes) for pair in pairs)
    emulated = machine in ("emulated", "real")
    beside = emulated and not able and is_exact(network, "virtual", pairs[0].sizes)
    packets = sum(pair.sent for pair in pairs) // len(pairs)
    gap = network["run"]["duration_ns"] / max(1, packets)
    crossed = max((hops(network, str(flow["name"])) for flow in network["flows"]), default=1)
    made = Way(
        exact=exact and able,
        chance=not (exact and (able or alone or beside)) or machine == "real",
        emulated=emulated,
        chooses=any(_chooses(network["ports"][link["port"]]) for link in network["links"]),
        ties=1.0,
        fates=sum(_fates(pair) for pair in pairs) / len(pairs),
        packets=packets,
        flows=len(network["flows"]),
    )
    return replace(made, ties=margin.ties(made.allowed_ns(crossed), gap))


def _chooses(port: Port) -> bool:
    """Whether it chooses among classes or flows."""
    return len(port["classes"]) > 1 or any(each["queue"].get("flows") for each in port["classes"])


def _fates(pair: Pair) -> float:
    """Packets that either engine lost or coloured otherwise than most, whichever are more."""
    most = 0.0
    names = {str(flow["name"]) for flow in pair.network["flows"]}
    for values in pair.values:
        lost = sum(
            value or 0.0
            for key, value in values.items()
            if key.measure == "packets lost" and key.subject in names
        )
        marks: dict[tuple[str, str], list[float]] = {}
        for key, value in values.items():
            if key.measure in ("DSCP", "ECN", "TTL", "coloured"):
                marks.setdefault((key.subject, key.measure), []).append(value or 0.0)
        most = max(most, lost + sum(sum(each) - max(each) for each in marks.values()))
    return most


def hops(network: Network, flow: str) -> int:
    """Links that packets of a flow cross, on the longest of their ways; at least 1."""
    return max(1, len(crossed(network, flow)))


def crossed(network: Network, flow: str) -> list[int]:
    """Links of the shortest path of a flow, and of the longest label-switched path beside it."""
    its = next((each for each in network["flows"] if each["name"] == flow), None)
    if its is None:
        return list(range(len(network["links"])))
    chosen = next_links(len(network["nodes"]), network["links"], its["dst"])
    found: list[int] = []
    node = its["src"]
    while (link := chosen[node]) is not None:
        found.append(link)
        node = network["links"][link]["to"]
    paths: list[list[int]] = [path["links"] for path in network["paths"]] if its["fec"] else []
    return found + max(paths, key=len, default=[])


def packet_ns(pair: Pair, flow: str) -> int:
    """Longest transmission that a flow meets: the largest packet on its slowest link."""
    links = [pair.network["links"][index] for index in crossed(pair.network, flow)]
    rates = [link["rate_bit_s"] for link in links]
    for link in links:
        # A shaper lets a packet go at its own rate.
        for share in pair.network["ports"][link["port"]]["scheduler"]["shares"]:
            own = share.get("rate_bit_s")
            rates += [own] if isinstance(own, int) and own else []
    return largest(pair) * 8 * 10**9 // min(rates) if rates else 0


def largest(pair: Pair) -> int:
    """IP bytes of the largest packet."""
    agents = [flow["agent"] for flow in pair.network["flows"]]
    segments = [
        each["mss_bytes"] + each["header_bytes"] for each in agents if each["protocol"] == "tcp"
    ]
    return max([*pair.sizes, *segments], default=0)
