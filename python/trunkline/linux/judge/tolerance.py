"""How far simulator and kernel may be apart, and why.

Packets of deterministic ports are compared one by one. At each hop the kernel may be early by HTB's
bucket of 1 us, and late by a timer: user-mode Linux tells the time in steps of 256 ns and HTB
counts in ticks of 64 ns, which the next packet makes up for; hence `HOP_NS`, and `ENDS_NS` for the
two hosts. HTB rounds the time of each packet down to a nanosecond, at link and class: while a queue
does not run empty that adds up, `PACKET_NS` a packet, for `MOST_ROUNDED` of them at most. Packets
of one instant may change places by that much, and so may the one that finds the last free place: of
the packets lost, the share of such moments in the time between two packets may be others
(`unlike`).

TCP amplifies a difference of one event. Runs of one kernel that differ in phase alone (timers of
100 or 250 Hz, two emulators, starts a millisecond apart) had goodputs 0.3 % and drops 7 % apart;
hence `GOODPUT` and `DROPS`. Several flows together, or queues that toss coins, are compared by
their means over the seeds: those may be apart by what the seeds themselves differ as well (99 %
interval, seed by seed), delays and shares by `SHARED`. The greatest delay is one packet's:
`GREATEST`.

An emulated machine takes its time for what it does: the sender some 10 us a packet, of those that
are due at one instant one after the other (`SENDER_NS` a flow), each router as long (`ROUTER_NS`).
Programs that run beside the packets (they count what has come by the end of the warm-up, and change
routes when something fails) keep it from packets for milliseconds; a machine in real time has all
that and company. There packets are not compared one by one: means may be apart by
`EMULATED_HOP_NS` a hop too and drops by `EMULATED_DROPS`, and the greatest delay is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from trunkline.stats import paired_difference

HOP_NS: Final = 1_500
ENDS_NS: Final = 3_000
PACKET_NS: Final = 2
MOST_ROUNDED: Final = 16_384
GOODPUT: Final = 0.01
SENDER_NS: Final = 15_000
ROUTER_NS: Final = 15_000
EMULATED_HOP_NS: Final = 200_000
EMULATED_DROPS: Final = 10
SHARED: Final = 0.03
GREATEST: Final = 0.1
DROPS: Final = 0.1
FEWEST_DROPS: Final = 5
CWND_SEGMENTS: Final = 2
LEFT_OUT: Final = 0.05
CONFIDENCE: Final = 0.99


def delay_ns(hops: int, packets: int, emulated_flows: int = 0) -> int:
    """For the delay of one packet [ns].

    Parameters
    ----------
    hops : int
        Links that it crosses.
    packets : int
        Packets before it.
    emulated_flows : int, default 0
        Flows that an emulated machine sends; 0 for a machine that takes no time.
    """
    virtual = ENDS_NS + hops * HOP_NS + min(packets, MOST_ROUNDED) * PACKET_NS
    return virtual + (emulated_flows * SENDER_NS + hops * ROUTER_NS if emulated_flows else 0)


def unlike(lost: float, allowed_ns: int, gap_ns: float) -> int:
    """For packets that one engine lost and the other did not, if so many are lost in each.

    Parameters
    ----------
    lost : float
        Packets lost.
    allowed_ns : int
        For the delay of a packet.
    gap_ns : float
        Mean time between packets.
    """
    return 2 * math.ceil(lost * min(1.0, allowed_ns / gap_ns)) if lost else 0


def left_out(packets: int, allowed_ns: int, gap_ns: float, *, others: bool) -> int:
    """Packets whose delays may differ by more.

    Parameters
    ----------
    packets : int
        Packets compared.
    allowed_ns : int
        For the delay of a packet.
    gap_ns : float
        Mean time between packets: one that comes so close to the moment when another class is
        chosen goes before or after its packet.
    others : bool
        Some other packet was lost or coloured. It moves all behind it by its transmission time,
        until their queue is empty.
    """
    share = LEFT_OUT if others else min(LEFT_OUT, allowed_ns / gap_ns)
    return min(packets - 1, math.ceil(share * packets))


def drops(mean: float, *, emulated: bool = False) -> float:
    """For a number of drops."""
    return max(EMULATED_DROPS if emulated else FEWEST_DROPS, DROPS * mean)


def spread(first: Sequence[float], second: Sequence[float]) -> float:
    """What the seeds themselves differ: half the interval of the mean difference, seed by seed.

    0 with one seed, of which nothing is known.
    """
    if len(first) < 2:
        return 0.0
    return paired_difference(first, second, confidence=CONFIDENCE).half_width or 0.0
