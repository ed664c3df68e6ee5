"""One seed in both engines, and by which rules a set of seeds is compared."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from trunkline.linux.judge import tolerance
from trunkline.linux.judge.engine_run import EngineRun
from trunkline.linux.judge.measures import (
    MeasureKey,
    MeasurementFrame,
    MeasureValues,
    count_own_packets,
    make_frame,
    measure_run,
)
from trunkline.linux.judge.per_packet import SeedDatagrams, find_lost_packets, leave_out_packets
from trunkline.linux.judge.port_ties import Ints
from trunkline.linux.judge.run_phases import find_phases
from trunkline.linux.outcome.run_results import KNOWN_CAUSES
from trunkline.linux.plan.next_links import find_next_links
from trunkline.linux.plan.traffic import has_one_connection
from trunkline.network.types import Flow, NetworkData, Port

DETERMINISTIC_AQMS: Final = ("drop-tail", "precedence-drop-tail", "codel", "cobalt")
"""AQMs that toss no coins; COBALT does so only once it has overflowed."""

CLOCK_AQMS: Final = ("codel", "cobalt")
"""AQMs to whom a microsecond of a packet's wait is a drop more or less."""

NO_PACKETS: Final[Ints] = np.zeros(0, dtype=np.int64)

ReferenceMachine = Literal["simulator", "virtual", "laboratory", "emulated", "real"]
"""Machine of the reference: its packets take no time in a router, some, or that of the clock.

In a laboratory they take none, but its ports have the buckets of real routers."""


@dataclass(frozen=True)
class SeedPair:
    """One seed in both engines."""

    network: NetworkData  # The simulator's compiled network.
    machine: ReferenceMachine  # Machine of the reference.
    values: tuple[MeasureValues, MeasureValues]  # Measures of simulator and reference.
    # Of each UDP flow what both delivered, and the numbers that each lost; empty where they are not
    # compared one by one. Without those that come too near to a failure or a switch.
    datagrams: dict[str, SeedDatagrams]
    left_out: dict[str, Ints]  # Numbers of those of each flow that come too near.
    # Packets that the counts of a flow, a phase of it, a class or a link are a part of.
    own_counts: dict[str, float]
    # Time between two packets of a flow at the beginning of a phase [s].
    spacings: dict[str, float]
    sizes: frozenset[int]  # IP bytes of datagrams.
    lasting_reason: str  # See `explain_lasting_shift`.
    is_by_tie: bool  # Whether only a tie makes that reason hold.
    packets_sent: int
    packets_inside: int  # Datagrams on their way when the simulator's run ends.
    # Packets sent before that time meet no packet that competed, so that no tie can have moved them
    # for long.
    same_until_ns: int
    runs: tuple[EngineRun, EngineRun]  # Measurements of simulator and reference.

    def is_hidden(self, key: MeasureKey) -> bool:
        """Whether the kernel does not give a measure in any seed."""
        if self.machine == "simulator":
            return False
        # Its receivers log no TCP segment.
        segment = key.measure == "mean delay" and key.subject in self.tcp_flows
        unknown = key.measure == "lost by cause" and key.detail not in KNOWN_CAUSES
        # The messages of daemons are not those of the simulator, which are in its queues.
        mixed = (
            self.machine == "laboratory"
            and key.measure in ("sent by class", "bytes a packet", "lost by cause")
            and any(each["agent"]["protocol"] == "control" for each in self.network["flows"])
        )
        return segment or unknown or mixed or key.measure == "coloured"

    @property
    def uncounted_flows(self) -> list[str]:
        """Names of the TCP flows of which an engine does not count segments by their marks."""
        return [
            name for name in self.tcp_flows if any(name not in run.segments for run in self.runs)
        ]

    @property
    def tcp_flows(self) -> list[str]:
        """Names of the TCP flows."""
        flows = self.network["flows"]
        return [str(flow["name"]) for flow in flows if flow["agent"]["protocol"] == "tcp"]


def make_seed_pair(
    network: NetworkData, simulator: EngineRun, reference: EngineRun, machine: ReferenceMachine
) -> SeedPair:
    """Combine the output of both engines of a seed for the comparison.

    machine: Machine of the reference.
    """
    end = network["run"]["duration_ns"]
    run_phases = find_phases(simulator.results, end)
    time_frame: MeasurementFrame = make_frame(network, run_phases, simulator, reference)
    emulated_flows = len(network["flows"]) if machine in ("emulated", "real") else 0
    left_out = _find_left_out(network, simulator, emulated_flows)
    marked_flows = [name for name in simulator.segments if name in reference.segments]
    both_values = (
        measure_run(simulator, network, time_frame, left_out, marked_flows),
        measure_run(reference, network, time_frame, left_out, marked_flows),
    )
    sizes = frozenset(
        size for flow in simulator.flows.values() for size in set(flow.ip_bytes.tolist())
    )
    own_counts, spacings = count_own_packets(simulator, time_frame, left_out)
    seed_datagrams: dict[str, SeedDatagrams] = {}
    if is_exact(network, machine, sizes):
        for name, ours in simulator.flows.items():
            theirs = reference.flows[name]
            arrived = len(ours.number) + len(theirs.number)
            end_tolerance_ns = tolerance.compute_delay_tolerance(
                len(network["links"]), arrived, emulated_flows
            )
            seed_datagrams[name] = (
                leave_out_packets(ours, left_out[name]),
                leave_out_packets(theirs, left_out[name]),
                *find_lost_packets(ours, theirs, end, end_tolerance_ns, left_out[name]),
            )
    sent = sum(len(flow.sent_ns) for flow in simulator.flows.values())
    ended = sum(len(np.union1d(flow.number, flow.dropped)) for flow in simulator.flows.values())
    return SeedPair(
        network,
        machine,
        both_values,
        seed_datagrams,
        left_out,
        own_counts,
        spacings,
        sizes,
        *explain_lasting_shift(network, simulator, machine),
        sent,
        sent - ended,
        _find_first_competition(network, (simulator, reference)),
        (simulator, reference),
    )


def _find_left_out(
    network: NetworkData, simulator: EngineRun, emulated_flows: int
) -> dict[str, Ints]:
    """Numbers of the datagrams of each flow of which the moment of a change may be either side."""
    left_out = {}
    for name, flow in simulator.flows.items():
        tolerance_ns = tolerance.compute_moment_tolerance(
            len(network["links"]), len(flow.sent_ns), emulated_flows
        )
        gaps = simulator.moment_gaps.get(name)
        left_out[name] = NO_PACKETS if gaps is None else np.flatnonzero(gaps <= tolerance_ns)
    return left_out


def is_random(network: NetworkData) -> bool:
    """Whether an engine draws random numbers of its own: random loss, RED and others, BBR."""
    kinds = [each["queue"]["aqm"]["kind"] for port in network["ports"] for each in port["classes"]]
    return (
        any(kind not in DETERMINISTIC_AQMS for kind in kinds)
        or any(link["loss"] or link.get("reorder") for link in network["links"])
        or any(_is_bbr(flow) for flow in network["flows"])
        or '"tsw' in json.dumps(network.get("conditioners", []))
    )


def _is_bbr(flow: Flow) -> bool:
    """Whether its sender draws the phase in which it begins to probe, as that of Linux does."""
    agent = flow["agent"]
    return agent["protocol"] == "tcp" and agent.get("congestion") == {"kind": "bbr"}


def is_exact(network: NetworkData, machine: ReferenceMachine, sizes: frozenset[int]) -> bool:
    """Whether packets can be compared one by one.

    TCP answers to the fate of earlier packets. So does a limit of bytes where packets have
    several sizes: who came first decides who finds room for long after.
    """
    tcp = any(flow["agent"]["protocol"] == "tcp" for flow in network["flows"])
    if tcp or machine == "real" or is_random(network):
        return False
    limits = [each["queue"]["limit_bytes"] for port in network["ports"] for each in port["classes"]]
    return len(sizes) < 2 or not any(limits)


def explain_lasting_shift(
    network: NetworkData, simulator: EngineRun, machine: ReferenceMachine
) -> tuple[str, bool]:
    """Explain why a microsecond, or the time of a processor, may move all later packets.

    Where packets of several sizes compete for room or tokens, the one that is first takes what the
    next would have had. Where flows take turns, it decides whose turn is first until both have
    nothing left.

    machine: Machine of the reference.
    Returns: The reason, empty without; whether it holds only where a tie is found.
    """
    if machine == "laboratory":
        return (
            "a port of a laboratory sends up to 0.1 ms at once, ahead of what comes meanwhile for "
            "another class"
        ), False
    queues = [each["queue"] for port in network["ports"] for each in port["classes"]]
    has_changes = bool(network["run"]["warmup_ns"] or (network.get("recovery") or {}))
    is_contended = _has_competition(simulator) or any(
        len(p["classes"]) > 1 for p in network["ports"]
    )
    if machine == "emulated" and has_changes and is_contended:
        return (
            "programs that change routes or count keep the processor of the reference from "
            "packets, which then come to a queue or a meter all at once"
        ), False
    if machine == "emulated" and any(queue["aqm"]["kind"] in CLOCK_AQMS for queue in queues):
        return "queues drop by the clock, and the processor of the reference takes time", False
    overflows = any(row["cause"] == "queue_full" for row in simulator.results.drops.rows())
    if overflows and any(queue["aqm"]["kind"] == "cobalt" for queue in queues):
        return "queues of COBALT overflow, and then drop by chance as well", False
    if _has_mixed_sizes(simulator):
        return (
            "packets of several sizes are lost or coloured in one place, and which of them comes "
            "first decides for long after"
        ), True
    if any(queue.get("flows") for queue in queues):
        return (
            "flows take turns at a port, and which of them comes first decides for long after"
        ), True
    return "", False


def _find_first_competition(network: NetworkData, engine_runs: Sequence[EngineRun]) -> int:
    """Find when the first packet was sent that may be behind one that was lost or marked [ns].

    Every lost packet counts, and every one with another mark than most of its flow. A packet sent
    before those may come to the same place after them, by the propagation on its way.
    """
    crossed_by_flow = find_crossed_links(network, list(engine_runs[0].flows))
    ways_ns = [
        sum(network["links"][link]["delay_ns"] for link in crossed)
        for crossed in crossed_by_flow.values()
    ]
    first_ns = network["run"]["duration_ns"]
    if any(each["queue"].get("flows") for port in network["ports"] for each in port["classes"]):
        # Where flows take turns a tie lasts without a loss.
        return 0
    for engine_run in engine_runs:
        for flow in engine_run.flows.values():
            marks = flow.dscp * 4 + flow.ecn
            values, counts = np.unique(marks, return_counts=True)
            is_same = np.zeros(len(flow.sent_ns), dtype=bool)
            if len(values):
                is_same[flow.number] = marks == values[counts.argmax()]
            if not is_same.all():
                first_ns = min(first_ns, int(flow.sent_ns[~is_same].min()))
    return max(0, first_ns - max(ways_ns, default=0))


def _list_competing_drops(simulator: EngineRun) -> list[Mapping[str, object]]:
    """Rows of the drops of packets that competed with others; what a failure loses did not."""
    rows = simulator.results.drops.rows()
    return [row for row in rows if row["cause"] in tolerance.COMPETING_CAUSES]


def _has_competition(simulator: EngineRun) -> bool:
    """Whether any packet was lost to another one."""
    return bool(_list_competing_drops(simulator))


def _has_mixed_sizes(simulator: EngineRun) -> bool:
    """Whether packets of several sizes compete for room or tokens, and not all get them."""
    sizes = {name: set(flow.ip_bytes.tolist()) for name, flow in simulator.flows.items()}
    by_place: dict[tuple[str, ...], set[int]] = {}
    for row in _list_competing_drops(simulator):
        drop_place = tuple(str(row[key]) for key in ("link", "node", "class", "cause"))
        by_place.setdefault(drop_place, set()).update(sizes.get(str(row["flow"]), ()))
    if any(len(place_sizes) > 1 for place_sizes in by_place.values()):
        return True
    colours: dict[tuple[str, ...], int] = {}
    for row in simulator.results.colours.rows():
        meter = tuple(str(row[key]) for key in ("link", "end", "conditioner", "profile"))
        colours[meter] = colours.get(meter, 0) + bool(row["packets"])
    is_coloured = any(count > 1 for count in colours.values())
    return is_coloured and len(set[int]().union(*sizes.values())) > 1


@dataclass(frozen=True, slots=True)
class ComparisonMethod:
    """Method to compare a set of seeds."""

    is_exact: bool  # Packets one by one.
    is_random: bool  # Every run has a difference of its own.
    is_emulated: bool  # The reference's processor took time.
    has_choice: bool  # Some port chooses among classes or flows.
    ties: float  # Share of packets of which either may be first.
    # Packets of a run that were lost to others or coloured otherwise than most.
    fate_packets: float
    packets: int  # Datagrams sent in a run.
    flows: int  # Flows of the network.

    def compute_delay_tolerance(self, hops: int) -> int:
        """Compute the tolerance of a packet's delay over so many links [ns]."""
        if self.is_emulated and not self.is_exact:
            return hops * tolerance.EMULATED_HOP_NS
        return tolerance.compute_delay_tolerance(
            hops, self.packets, self.flows if self.is_emulated else 0
        )


def choose_method(pairs: Sequence[SeedPair], *, exact: bool) -> ComparisonMethod:
    """Choose the way in which seeds are compared."""
    network, machine = pairs[0].network, pairs[0].machine
    has_single_flow = len(network["flows"]) == 1 and has_one_connection(network["flows"][0])
    is_single_tcp = len(pairs[0].tcp_flows) == 1 and has_single_flow and not is_random(network)
    can_be_exact = all(is_exact(network, machine, pair.sizes) for pair in pairs)
    # Where its buckets matter a laboratory is as late as an emulated machine, each time alike.
    emulated = machine in ("emulated", "real") or (machine == "laboratory" and not exact)
    is_steady = machine == "laboratory" and not pairs[0].tcp_flows and not is_random(network)
    packets = sum(pair.packets_sent for pair in pairs) // len(pairs)
    gap = network["run"]["duration_ns"] / max(1, packets)
    crossed_by_flow = find_crossed_links(network, [str(flow["name"]) for flow in network["flows"]])
    most_hops = max(map(len, crossed_by_flow.values()), default=1) or 1
    method = ComparisonMethod(
        is_exact=exact and can_be_exact,
        is_random=machine == "real"
        or not (is_steady or (exact and (can_be_exact or is_single_tcp))),
        is_emulated=emulated,
        has_choice=any(_has_choice(network["ports"][link["port"]]) for link in network["links"]),
        ties=1.0,
        fate_packets=sum(_count_fates(pair) for pair in pairs) / len(pairs),
        packets=packets,
        flows=len(network["flows"]),
    )
    return replace(
        method, ties=tolerance.compute_tie_share(method.compute_delay_tolerance(most_hops), gap)
    )


def _has_choice(port: Port) -> bool:
    """Whether it chooses among classes or flows."""
    return len(port["classes"]) > 1 or any(each["queue"].get("flows") for each in port["classes"])


def _count_fates(pair: SeedPair) -> float:
    """Count the packets that competed and that either engine lost, or coloured otherwise than most.

    Of the two engines the one with more. What a failure loses is no matter of who comes first.
    """
    most_packets = 0.0
    for values in pair.values:
        lost = sum(
            value or 0.0
            for key, value in values.items()
            if key.measure == "lost by cause" and key.detail in tolerance.COMPETING_CAUSES
        )
        marks: dict[tuple[str, str], list[float]] = {}
        for key, value in values.items():
            if key.measure in ("DSCP", "ECN", "coloured"):
                marks.setdefault((key.subject, key.measure), []).append(value or 0.0)
        most_packets = max(
            most_packets, lost + sum(sum(each) - max(each) for each in marks.values())
        )
    return most_packets


def count_hops(network: NetworkData, flow: str) -> int:
    """Count the links that packets of a flow cross, on the longest of their ways; at least 1."""
    return max(1, len(list_crossed_links(network, flow)))


def list_crossed_links(network: NetworkData, flow: str) -> list[int]:
    """Links of the shortest path of a flow, and of the longest label-switched path with it."""
    return find_crossed_links(network, [flow])[flow]


def find_crossed_links(network: NetworkData, flows: Sequence[str]) -> dict[str, list[int]]:
    """Find the links of several flows, as `list_crossed_links` does; routes are worked out once."""
    next_links_by_destination = find_next_links(network)
    found_flows = {str(each["name"]): each for each in network["flows"]}
    longest_path = max([path["links"] for path in network["paths"]], key=len, default=[])
    crossed: dict[str, list[int]] = {}
    for name in flows:
        found_flow = found_flows.get(name)
        if found_flow is None:
            crossed[name] = list(range(len(network["links"])))
            continue
        next_links = next_links_by_destination[found_flow["dst"]]
        links: list[int] = []
        node = found_flow["src"]
        while (link := next_links[node]) is not None:
            links.append(link)
            node = network["links"][link]["to"]
        crossed[name] = links + (longest_path if found_flow["fec"] else [])
    return crossed


def compute_packet_time(pair: SeedPair, flow: str) -> int:
    """Longest transmission that a flow meets: the largest packet on its slowest link."""
    links = [pair.network["links"][index] for index in list_crossed_links(pair.network, flow)]
    rates = [link["rate_bit_s"] for link in links]
    for link in links:
        # A shaper lets a packet go at its own rate.
        for share in pair.network["ports"][link["port"]]["scheduler"]["shares"]:
            shaper_rate = share.get("rate_bit_s")
            rates += [shaper_rate] if isinstance(shaper_rate, int) and shaper_rate else []
    return find_largest_packet(pair) * 8 * 10**9 // min(rates) if rates else 0


def find_largest_packet(pair: SeedPair) -> int:
    """IP bytes of the largest packet."""
    agents = [flow["agent"] for flow in pair.network["flows"]]
    segments = [
        each["mss_bytes"] + each["header_bytes"] for each in agents if each["protocol"] == "tcp"
    ]
    return max([*pair.sizes, *segments], default=0)
