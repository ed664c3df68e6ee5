"""Tolerances of agreement between two engines, with reasons. No margin grows with the unknown.

Packets of deterministic ports are compared one by one. At each hop the kernel may be early by HTB's
bucket of 1 us, and late by a timer: the clock of user-mode Linux has steps of 256 ns and HTB
counts in ticks of 64 ns, which the next packet makes up for; hence `HOP_NS`, and `HOSTS_NS` for the
two hosts. HTB rounds the time of each packet down to a nanosecond, at link and class: while a queue
does not run empty that adds up, `PACKET_NS` a packet, for `MAX_ROUNDED_PACKETS` of them at most.
Packets of one instant may change places by that much, and so may the one that finds the last free
place or the last token: `compute_tie_share` is the share of packets that come so close to the one
before.

An emulated machine takes its time for what it does: the sender some 10 us a packet, of those that
are due at one instant one after the other (`SENDER_NS` a flow), each router as long (`ROUTER_NS`).
What it does while packets pass (it counts what has come by the end of the warm-up, and changes
routes when something fails) makes its senders late for `EMULATED_CHANGE_NS`: packets that are on
their way in that time are left out. Where it cannot be compared packet by packet, delays may be
apart by `EMULATED_HOP_NS` a hop too and counts by `EMULATED_PACKETS`. A laboratory's ports have
buckets of 0.1 ms, for which the same margins hold where packets of several classes meet.

No count may be apart by more than `MAX_OWN_SHARE` of the packets that it is of: a floor that is
right for a thousand packets is everything for ten. Ties allow nothing where fewer than
`MIN_EXPECTED_TIES` of them are expected; what a failure loses is no tie.

TCP amplifies a difference of one event, and queues toss coins: there each run has a difference of
its own, and the interval of their mean must lie inside the margin of `MEASURES`.
"""

import math
from dataclasses import dataclass
from typing import Final

HOP_NS: Final = 1_500
HOSTS_NS: Final = 3_000
PACKET_NS: Final = 2
MAX_ROUNDED_PACKETS: Final = 16_384
SENDER_NS: Final = 15_000
ROUTER_NS: Final = 15_000
EMULATED_HOP_NS: Final = 200_000
EMULATED_PACKETS: Final = 10
EMULATED_CHANGE_NS: Final = 10_000_000
"""Time for which an emulated machine may be late after it counts or changes routes."""
MAX_OWN_SHARE: Final = 0.05
"""Part of the packets of a flow, class or link by which one of its counts may be apart."""
MAX_STRAY_PACKETS: Final = 10
"""Packets of a run that a class may send which sends none in the other engine: an emulated kernel
answers on its own where nothing else is sent."""
MIN_EXPECTED_TIES: Final = 0.05
EMULATED_ACK_SHARE: Final = 0.02
"""Share of acknowledgements: each write of a sender, of 44 segments, ends in one that is answered
at once, and the processor's load decides when the sender writes."""
EMULATED_ACK_SIZE_SHARE: Final = 0.004
"""Share of the mean bytes of acknowledgements: as many of them may have a block of SACK more or
less, which is 12 B with its option (RFC 2018 section 3), of some 58."""
MAX_ACK_BYTES: Final = 100  # Mean bytes of a class that sends acknowledgements alone, at most [B].
COMPETING_CAUSES: Final = ("queue_full", "early", "forced", "policed")
"""Causes of drops by which packets compete: for room, tokens, or the mean length of a queue."""
MAX_LATE_SHARE: Final = 0.05
"""Share of a flow's packets that may be late by what other packets did."""
MAX_LATE_RUN_SHARE: Final = 0.01  # Share of them that may be so one after the other.
MIN_LATE_RUN: Final = 8
SHIFT_PACKETS: Final = 2
"""Packets' times by which each of them may be late: one other packet before it, one class."""
MAX_TIE_SHARE: Final = 0.25  # Share of ties above which packets are not compared one by one.
TIE_SIGMAS: Final = 3


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """A measure to compare."""

    unit: str
    share: float  # Margin over the mean of the simulator.
    floor: float = 0.0  # Minimum margin, in its unit.


MEASURES: Final = {
    "packets sent": MeasureSpec("packets", 0.0),
    "packets delivered": MeasureSpec("packets", 0.005, 2),
    "packets lost": MeasureSpec("packets", 0.05, 2),
    "first packet after": MeasureSpec("s", 0.0),
    "out of order": MeasureSpec("packets", 0.05, 3),
    "DSCP": MeasureSpec("packets", 0.005, 2),
    "ECN": MeasureSpec("packets", 0.05, 3),
    "TTL": MeasureSpec("packets", 0.005, 2),
    **{
        f"{mark} of {kind}": MeasureSpec("share", share, 0.005)
        for mark, share in (("DSCP", 0.02), ("ECN", 0.1), ("TTL", 0.005))
        for kind in ("segments", "acknowledgements")
    },
    "mean delay": MeasureSpec("s", 0.01),
    "delay p50": MeasureSpec("s", 0.02),
    "delay p95": MeasureSpec("s", 0.03),
    "delay p99": MeasureSpec("s", 0.05),
    "goodput": MeasureSpec("bit/s", 0.0075),
    "goodput, each of several": MeasureSpec("bit/s", 0.1),
    "fairness (Jain)": MeasureSpec("", 0.02),
    "sent again": MeasureSpec("packets", 0.1, 5),
    "timeouts": MeasureSpec("", 0.1, 3),
    "mean window": MeasureSpec("segments", 0.01),
    "greatest window": MeasureSpec("segments", 0.0, 2),
    "mean window, each of several": MeasureSpec("segments", 0.1, 1),
    "transfers complete": MeasureSpec("transfers", 0.005, 2),
    "mean completion time": MeasureSpec("s", 0.03),
    "geometric mean completion time": MeasureSpec("s", 0.03),
    "completion time p50": MeasureSpec("s", 0.03),
    "completion time p95": MeasureSpec("s", 0.05),
    "sent by class": MeasureSpec("packets", 0.005, 5),
    "bytes a packet": MeasureSpec("B", 0.001, 0.1),
    "dropped by class": MeasureSpec("packets", 0.05, 5),
    "lost by cause": MeasureSpec("packets", 0.05, 5),
    "coloured": MeasureSpec("packets", 0.005, 2),
}
"""By name. A TCP connection of several shares with the others by chance: its share may be apart by
10 %, their sum by 0.75 %; runs of one kernel that differ in phase alone had sums 0.3 % apart."""


def compute_delay_tolerance(hops: int, packets: int, emulated_flows: int = 0) -> int:
    """Compute the tolerance of the delay of one packet [ns].

    emulated_flows: Flows that an emulated machine sends; 0 for a machine that takes no time.
    """
    virtual_ns = HOSTS_NS + hops * HOP_NS + min(packets, MAX_ROUNDED_PACKETS) * PACKET_NS
    return virtual_ns + (emulated_flows * SENDER_NS + hops * ROUTER_NS if emulated_flows else 0)


def compute_tie_share(tolerance_ns: float, gap_ns: float) -> float:
    """Share of packets that come so close to the one before that either may be first."""
    return min(1.0, tolerance_ns / gap_ns)


def count_expected_ties(affected: float, tie_share: float) -> float:
    """Ties among packets that competed, none where hardly one is expected."""
    ties = affected * tie_share
    return ties if ties >= MIN_EXPECTED_TIES else 0.0


def count_unlike_fates(affected: float, tie_share: float) -> int:
    """Count packets that may have another fate, compared singly: two for each tie."""
    return 2 * math.ceil(count_expected_ties(affected, tie_share))


def count_fate_difference(affected: float, tie_share: float) -> int:
    """Count how many fates may differ: three sigma of as many tosses as there are ties.

    Which of two packets is lost is open in a tie, that one is lost is not; the number drifts by
    chance alone, which is far less than the number of ties.
    """
    ties = count_expected_ties(affected, tie_share)
    return 1 + math.ceil(TIE_SIGMAS * math.sqrt(ties)) if ties else 0


def cap_count_margin(margin: float, own_count: float) -> float:
    """A margin of a count, of which no more than `MAX_OWN_SHARE` of what it counts may hide."""
    return min(margin, MAX_OWN_SHARE * own_count)


def compute_moment_tolerance(hops: int, packets: int, emulated_flows: int = 0) -> int:
    """Compute how near to a failure or a switch a packet may come before or after it [ns].

    emulated_flows: Flows that an emulated machine sends; 0 for a machine that takes no time.
    """
    lateness_ns = compute_delay_tolerance(hops, packets, emulated_flows)
    return lateness_ns + (EMULATED_CHANGE_NS if emulated_flows else 0)


def count_late_packets(packets: int, tie_share: float, *, is_disturbed: bool) -> int:
    """Count the packets whose delays may differ by more.

    tie_share: Share of ties: one that comes so close to the moment when another class is chosen
        goes before or after its packet.
    is_disturbed: Some other packet was lost or coloured. It moves all behind it by its transmission
        time, until their queue is empty.
    """
    return min(
        packets - 1,
        math.ceil(
            MAX_LATE_SHARE * packets if is_disturbed else min(MAX_LATE_SHARE, tie_share) * packets
        ),
    )


def count_late_run(packets: int, late_packets: int) -> int:
    """Count how many late packets may follow one another."""
    return min(late_packets, max(MIN_LATE_RUN, math.ceil(MAX_LATE_RUN_SHARE * packets)))
