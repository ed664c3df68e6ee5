"""How far simulator and kernel may be apart, and why.

Packets of deterministic ports are compared one by one. At each hop the kernel may be early by HTB's
bucket of 1 us, and late by a timer: user-mode Linux tells the time in steps of 256 ns, reading it
takes one, and HTB counts in ticks of 64 ns; then come the steps from device to device. Hence
`HOP_NS` a hop and `ENDS_NS` for the two hosts. Nothing adds up along a queue, since what the bucket
lends one packet it takes from the next.

TCP amplifies a difference of one event. Runs of one kernel that differ in phase alone (timers of
100 or 250 Hz, two emulators) had goodputs 0.3 % and drops 7 % apart; hence `GOODPUT` and `DROPS`.
Several flows together, or queues that toss coins, are compared by their means over the seeds: they
may be apart by `SHARED` and by what the seeds themselves differ (99 % interval, seed by
seed).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trunkline.stats import paired_difference

HOP_NS: Final = 3_000
ENDS_NS: Final = 3_000
GOODPUT: Final = 0.01
SHARED: Final = 0.03
DROPS: Final = 0.15
FEWEST_DROPS: Final = 5
CWND_SEGMENTS: Final = 2
CONFIDENCE: Final = 0.99


def delay_ns(hops: int) -> int:
    """For the delay of one packet over so many links [ns]."""
    return ENDS_NS + hops * HOP_NS


def drops(mean: float) -> float:
    """For a number of drops."""
    return max(FEWEST_DROPS, DROPS * mean)


def spread(first: Sequence[float], second: Sequence[float]) -> float:
    """What the seeds themselves differ: half the interval of the mean difference, seed by seed.

    0 with one seed, of which nothing is known.
    """
    if len(first) < 2:
        return 0.0
    return paired_difference(first, second, confidence=CONFIDENCE).half_width or 0.0
