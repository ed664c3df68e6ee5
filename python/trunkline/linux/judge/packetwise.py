"""Comparison packet by packet: the same must be lost, and each other one arrive at its time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trunkline.linux.judge import margin
from trunkline.linux.judge.observed import Datagrams, Ints

Seed = tuple[Datagrams, Datagrams, Ints, Ints]
"""What both engines delivered of a flow, and the numbers that each lost."""

Found = tuple[str, str, float, float, float, float]
"""Measure, unit, what simulator and reference say, their difference, and its margin."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one flow is allowed.

    Parameters
    ----------
    delay_ns : int
        For the delay of a packet.
    ties : float
        Share of packets of which either may be first.
    packet_ns : int
        Longest transmission of one packet on its way.
    others : bool
        Some packets of the network were lost or coloured in one engine alone.
    chooses : bool
        Some port chooses among classes.
    """

    delay_ns: int
    ties: float
    packet_ns: int
    others: bool
    chooses: bool


def fates(ours: Datagrams, theirs: Datagrams, end_ns: int, allowed_ns: int) -> tuple[Ints, Ints]:
    """Numbers of the packets that each engine lost, without those that the end of the run decides.

    Parameters
    ----------
    ours, theirs : Datagrams
        Of one flow in the simulator, which tells its losses, and in the reference.
    allowed_ns : int
        A packet that comes so near to the end in one engine is under way in the other.
    """
    near = np.concatenate(
        [
            each.number[abs(each.sent_ns[each.number] + each.delay_ns - end_ns) <= allowed_ns]
            for each in (ours, theirs)
        ]
    )
    every = np.arange(len(ours.sent_ns))
    inside = np.setdiff1d(every, np.concatenate([ours.number, ours.dropped]))
    missing = np.setdiff1d(np.arange(len(theirs.sent_ns)), theirs.number)
    lost = np.setdiff1d(ours.dropped, ours.number)
    return np.setdiff1d(lost, near), np.setdiff1d(missing, np.concatenate([near, inside]))


def packetwise(seeds: Sequence[Seed], its: Allowance) -> Iterator[Found]:
    """The comparisons of one flow, over all seeds.

    Parameters
    ----------
    seeds : sequence of (Datagrams, Datagrams, array, array)
        What both engines delivered and lost, by seed.
    """
    size = len(seeds)
    ours = sum(len(lost) for _, _, lost, _ in seeds)
    theirs = sum(len(lost) for _, _, _, lost in seeds)
    unlike = sum(len(np.setxor1d(first, second)) for _, _, first, second in seeds)
    most = margin.unlike(max(ours, theirs), its.ties)
    yield "lost, each packet", "packets", ours / size, theirs / size, unlike, most
    late, both = _late(seeds)
    if not len(late):
        return
    marked = sum(_marked(first, second) for first, second, _, _ in seeds)
    most = margin.unlike(_coloured(seeds), its.ties)
    yield "DSCP, ECN and TTL, each packet", "packets", 0.0, 0.0, float(marked), most
    first, second = both
    yield from _delays(late, float(first.mean()) / 1e9, float(second.mean()) / 1e9, its)


def _late(
    seeds: Sequence[Seed],
) -> tuple[Ints, tuple[Ints, Ints]]:
    """How much later the reference's packets are, in order of their numbers; and both delays."""
    ours, theirs = [], []
    for first, second, _, _ in seeds:
        here, there = _both(first, second)
        ours.append(first.delay_ns[here])
        theirs.append(second.delay_ns[there])
    both = np.concatenate(ours), np.concatenate(theirs)
    return both[1] - both[0], both


def _both(ours: Datagrams, theirs: Datagrams) -> tuple[Ints, Ints]:
    """Where packets that both delivered stand in each."""
    _, here, there = np.intersect1d(
        ours.number, theirs.number, assume_unique=True, return_indices=True
    )
    return here, there


def _delays(late: Ints, ours_s: float, theirs_s: float, its: Allowance) -> Iterator[Found]:
    """Delays of packets that both delivered, those left out apart from the others."""
    allowed = 0
    if its.others or its.chooses:
        allowed = margin.left_out(len(late), its.ties, others=its.others)
    size = abs(late)
    order = np.argsort(-size, kind="stable")
    chosen = float(late[order[allowed]])
    most = its.delay_ns / 1e9
    yield "delay, each packet", "s", ours_s, theirs_s, chosen / 1e9, most
    beyond = size > its.delay_ns
    if not beyond.any() or abs(chosen) > its.delay_ns:
        return
    most = (its.delay_ns + margin.SHIFT * its.packet_ns) / 1e9
    if its.chooses:
        # One that misses its turn waits until no class before it has packets: their sum is bounded.
        total = float(size[beyond].sum()) / 1e9
        yield "delay, sum of those left out", "s", ours_s, theirs_s, total, allowed * most
    else:
        worst = float(late[order[0]]) / 1e9
        yield "delay, those left out", "s", ours_s, theirs_s, worst, most
    most = margin.run_left_out(len(late), allowed)
    yield "left out, one after the other", "packets", 0.0, 0.0, float(_run(beyond)), most


def _run(beyond: np.typing.NDArray[np.bool_]) -> int:
    """Length of the longest run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], beyond, [False]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _marked(ours: Datagrams, theirs: Datagrams) -> int:
    """Packets that both delivered with another DSCP, ECN field or TTL."""
    here, there = _both(ours, theirs)
    unlike = (
        (ours.dscp[here] != theirs.dscp[there])
        | (ours.ecn[here] != theirs.ecn[there])
        | (ours.ttl[here] != theirs.ttl[there])
    )
    return int(unlike.sum())


def _coloured(seeds: Sequence[Seed]) -> int:
    """Packets of the simulator that did not arrive with the mark that most have."""
    minority = 0
    for ours, _, _, _ in seeds:
        marks = (ours.dscp * 4 + ours.ecn) * 256 + ours.ttl
        if len(marks):
            minority += len(marks) - int(np.unique(marks, return_counts=True)[1].max())
    return minority
