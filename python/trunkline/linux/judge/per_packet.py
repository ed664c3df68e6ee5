"""Comparison of single packets: the same ones are lost, all others arrive at equal times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trunkline.linux.judge import tolerance
from trunkline.linux.judge.engine_run import FlowDatagrams
from trunkline.linux.judge.port_ties import Ints

SeedDatagrams = tuple[FlowDatagrams, FlowDatagrams, Ints, Ints]
"""Packets that both engines delivered of a flow, and the numbers that each lost."""

PacketComparison = tuple[str, str, float, float, float, float, float]
"""Measure, unit, what simulator and reference say, their difference, its margin, and what they are
a part of: the packets of the flow, or their mean delay."""


def leave_out_packets(datagrams: FlowDatagrams, left_out: Ints) -> FlowDatagrams:
    """The same flow as if some of its arrivals were not known."""
    is_kept = ~np.isin(datagrams.number, left_out)
    return replace(
        datagrams,
        number=datagrams.number[is_kept],
        delay_ns=datagrams.delay_ns[is_kept],
        dscp=datagrams.dscp[is_kept],
        ecn=datagrams.ecn[is_kept],
        ttl=datagrams.ttl[is_kept],
        dropped=np.setdiff1d(datagrams.dropped, left_out),
    )


@dataclass(frozen=True, slots=True)
class PacketTolerance:
    """Deviation that one flow may have."""

    delay_ns: int  # For the delay of a packet.
    tie_share: float  # Share of packets of which either may be first.
    packet_ns: int  # Longest transmission of one packet on its way.
    is_disturbed: bool  # Some packets of the network were lost or coloured in one engine alone.
    has_choice: bool  # Some port chooses among classes.


def find_lost_packets(
    ours: FlowDatagrams, theirs: FlowDatagrams, end_ns: int, tolerance_ns: int, left_out: Ints
) -> tuple[Ints, Ints]:
    """Numbers of the packets that each engine lost, without those that the end of the run decides.

    ours, theirs: One flow in the simulator, which gives its losses, and in the reference.
    tolerance_ns: A packet that comes so near to the end in one engine is under way in the other.
    left_out: Numbers of packets that are not compared.
    """
    near_end = np.concatenate(
        [
            each.number[abs(each.sent_ns[each.number] + each.delay_ns - end_ns) <= tolerance_ns]
            for each in (ours, theirs)
        ]
        + [left_out]
    )
    all_numbers = np.arange(len(ours.sent_ns))
    in_flight = np.setdiff1d(all_numbers, np.concatenate([ours.number, ours.dropped]))
    not_arrived = np.setdiff1d(np.arange(len(theirs.sent_ns)), theirs.number)
    lost = np.setdiff1d(ours.dropped, ours.number)
    return np.setdiff1d(lost, near_end), np.setdiff1d(
        not_arrived, np.concatenate([near_end, in_flight])
    )


def compare_flow_packets(
    seeds: Sequence[SeedDatagrams], packet_tolerance: PacketTolerance
) -> Iterator[PacketComparison]:
    """The comparisons of one flow, over all seeds.

    seeds: Packets that both engines delivered and lost, by seed.
    """
    size = len(seeds)
    ours = sum(len(lost) for _, _, lost, _ in seeds)
    theirs = sum(len(lost) for _, _, _, lost in seeds)
    unlike = sum(len(np.setxor1d(first, second)) for _, _, first, second in seeds)
    allowed = tolerance.count_unlike_fates(max(ours, theirs), packet_tolerance.tie_share)
    sent = sum(len(first.sent_ns) for first, _, _, _ in seeds)
    allowed = int(tolerance.cap_count_margin(allowed, sent))
    yield "lost, each packet", "packets", ours / size, theirs / size, unlike, allowed, sent
    lateness, both_delays = _compute_lateness(seeds)
    if not len(lateness):
        return
    mark_differences = sum(_count_mark_differences(first, second) for first, second, _, _ in seeds)
    allowed = tolerance.count_unlike_fates(_count_minority_marks(seeds), packet_tolerance.tie_share)
    allowed = int(tolerance.cap_count_margin(allowed, sent))
    measure = "DSCP, ECN and TTL, each packet"
    yield measure, "packets", 0.0, 0.0, float(mark_differences), allowed, sent
    first, second = both_delays
    yield from _compare_delays(
        lateness, float(first.mean()) / 1e9, float(second.mean()) / 1e9, packet_tolerance
    )


def _compute_lateness(
    seeds: Sequence[SeedDatagrams],
) -> tuple[Ints, tuple[Ints, Ints]]:
    """Compute how much later the reference's packets are, by their numbers; and both delays."""
    ours, theirs = [], []
    for first, second, _, _ in seeds:
        our_places, their_places = _match_packets(first, second)
        ours.append(first.delay_ns[our_places])
        theirs.append(second.delay_ns[their_places])
    both_delays = np.concatenate(ours), np.concatenate(theirs)
    return both_delays[1] - both_delays[0], both_delays


def _match_packets(ours: FlowDatagrams, theirs: FlowDatagrams) -> tuple[Ints, Ints]:
    """Find the positions in each of packets that both delivered."""
    _, our_places, their_places = np.intersect1d(
        ours.number, theirs.number, assume_unique=True, return_indices=True
    )
    return our_places, their_places


def _compare_delays(
    lateness: Ints, ours_s: float, theirs_s: float, packet_tolerance: PacketTolerance
) -> Iterator[PacketComparison]:
    """Compare the delays of packets that both delivered, those left out apart from the others."""
    late_packets = 0
    if packet_tolerance.is_disturbed or packet_tolerance.has_choice:
        late_packets = tolerance.count_late_packets(
            len(lateness), packet_tolerance.tie_share, is_disturbed=packet_tolerance.is_disturbed
        )
    size = abs(lateness)
    order = np.argsort(-size, kind="stable")
    limit_lateness = float(lateness[order[late_packets]])
    allowed = packet_tolerance.delay_ns / 1e9
    yield "delay, each packet", "s", ours_s, theirs_s, limit_lateness / 1e9, allowed, ours_s
    is_beyond = size > packet_tolerance.delay_ns
    if not is_beyond.any() or abs(limit_lateness) > packet_tolerance.delay_ns:
        return
    allowed = (
        packet_tolerance.delay_ns + tolerance.SHIFT_PACKETS * packet_tolerance.packet_ns
    ) / 1e9
    if packet_tolerance.has_choice:
        # One that misses its turn waits until no class before it has packets: their sum is bounded.
        total = float(size[is_beyond].sum()) / 1e9
        allowed *= late_packets
        total_s = ours_s * len(lateness)
        yield "delay, sum of those left out", "s", ours_s, theirs_s, total, allowed, total_s
    else:
        worst = float(lateness[order[0]]) / 1e9
        yield "delay, those left out", "s", ours_s, theirs_s, worst, allowed, ours_s
    allowed = tolerance.count_late_run(len(lateness), late_packets)
    yield (
        "left out, one after the other",
        "packets",
        0.0,
        0.0,
        float(_find_longest_run(is_beyond)),
        allowed,
        float(len(lateness)),
    )


def _find_longest_run(is_beyond: np.typing.NDArray[np.bool_]) -> int:
    """Length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_beyond, [False]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _count_mark_differences(ours: FlowDatagrams, theirs: FlowDatagrams) -> int:
    """Count the packets that both delivered with another DSCP, ECN field or TTL."""
    our_places, their_places = _match_packets(ours, theirs)
    is_different = (
        (ours.dscp[our_places] != theirs.dscp[their_places])
        | (ours.ecn[our_places] != theirs.ecn[their_places])
        | (ours.ttl[our_places] != theirs.ttl[their_places])
    )
    return int(is_different.sum())


def _count_minority_marks(seeds: Sequence[SeedDatagrams]) -> int:
    """Count the packets of the simulator that did not arrive with the mark that most have.

    Tokens and queues give a mark; the way that a packet takes gives the TTL, which no tie decides.
    """
    minority = 0
    for ours, _, _, _ in seeds:
        marks = ours.dscp * 4 + ours.ecn
        if len(marks):
            minority += len(marks) - int(np.unique(marks, return_counts=True)[1].max())
    return minority
