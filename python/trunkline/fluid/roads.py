"""What rates need of the ways: the class behind each hop, bits on the wire, time without queues."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.queues import Queues, summed
from trunkline.fluid.sources import Sources
from trunkline.fluid.ways import Ways

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Roads:
    """Hops of S streams, H hops, Q classes of ports.

    Parameters
    ----------
    queue : array of int64, shape (H,)
        Class of a port that each hop goes through.
    size : array of float64, shape (S,)
        Mean IP bytes of a packet of each stream.
    wire : array of float64, shape (H,)
        Bits on the wire for a bit of IP packets.
    owner : array of int64, shape (legs,)
        Stream of each.
    by_step : tuple of array of int64
        The first hops of all legs, the second, and so on.
    fixed : array of float64, shape (S,)
        Propagation and transmission from end to end [s].
    packet : array of float64, shape (Q,)
        Mean bytes of a packet on the wire, over streams.
    weight : array of float64, shape (Q,)
        Weights of classes, counted in bits.
    """

    ways: Ways
    queue: Ints
    size: Floats
    wire: Floats
    legs: int
    owner: Ints
    by_step: tuple[Ints, ...]
    fixed: Floats
    packet: Floats
    weight: Floats

    def along(self, value: Floats) -> Floats:
        """Sum of a value of classes over the hops of each stream; of two legs the smaller."""
        return _least(self, summed(self.ways.leg, value[self.queue], self.legs))

    def load(self, hop: Floats) -> Floats:
        """Bits per second on the wire of each class, by IP rates of hops."""
        return summed(self.queue, hop * self.wire, len(self.packet))


def _least(its: Roads, by_leg: Floats) -> Floats:
    found = np.full(len(its.size), np.inf)
    # Not a number stays that: a stream with a hop without an answer has none.
    with np.errstate(invalid="ignore"):
        np.minimum.at(found, its.owner, by_leg)
    return np.where(np.isinf(found), 0.0, found)


def roads(ways: Ways, queues: Queues, sources: Sources, delay: Floats) -> Roads:
    """Work it out.

    Parameters
    ----------
    delay : array of float64, shape (L,)
        Propagation of each link [s].
    """
    size = np.where(ways.reverse, sources.ack_bytes[ways.flow], sources.size[ways.flow])
    own = size[ways.stream]
    legs = int(ways.leg[-1]) + 1 if len(ways.leg) else 0
    owner = np.zeros(legs, dtype=np.int64)
    owner[ways.leg] = ways.stream
    queue = queues.first[ways.link] + ways.class_
    count = np.bincount(queue, minlength=len(queues.level))
    total = summed(queue, own + ways.header, len(queues.level))
    packet = np.where(count > 0, total / np.maximum(count, 1), 1.0)
    order = np.argsort(ways.step, kind="stable")
    steps = np.flatnonzero(np.diff(ways.step[order])) + 1
    bare = Roads(
        ways=ways,
        queue=queue,
        size=size,
        wire=(own + ways.header) / own,
        legs=legs,
        owner=owner,
        by_step=tuple(np.split(order, steps)),
        fixed=np.zeros(len(size)),
        packet=packet,
        weight=np.where(queues.by_packet, queues.weight * packet, queues.weight),
    )
    hop = delay[ways.link] + 8 * (own + ways.header) / queues.rate[ways.link]
    return replace(bare, fixed=_least(bare, summed(ways.leg, hop, legs)))
