"""Rates of all flows: what fits of the open ones, and what TCP makes of the rest.

Sources: D. Bertsekas and R. Gallager, Data Networks, 1992, 6.5.2 (max-min fair shares); M. Mathis
and others, The macroscopic behavior of the TCP congestion avoidance algorithm, 1997 (of those that
share a bottleneck, each gets in proportion to its packet over its round-trip time).

Open flows (UDP, acknowledgements) send what they offer; of a class that is offered more than it
gets each loses the same share. TCP fills what open flows leave, weighted max-min fair, a flow's
weight being its packet over its round-trip time, and never more than its window in a round trip.
Every class that TCP fills has the queue that TCP keeps there in the round-trip times.
Absent: slow start, timeouts, what a sawtooth leaves idle; other congestion controls than Reno
share as Reno does.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.queues import Queues, serve, summed
from trunkline.fluid.roads import Roads
from trunkline.fluid.shares import shares
from trunkline.fluid.sources import Sources

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROUNDS: Final = 100
CLOSE: Final = 1e-6
"""Relative change at which a fixed point is reached."""
LEAST_TRIP_S: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """What flows where: S streams, H hops, Q classes of ports.

    Parameters
    ----------
    sent, arrived : array of float64, shape (S,)
        IP bits per second of each stream.
    hop : array of float64, shape (H,)
        IP bits per second of each hop, before its queue.
    offered, served : array of float64, shape (Q,)
        Bits per second on the wire.
    overloaded : array of bool, shape (Q,)
        Classes that lose what does not fit.
    filled : array of bool, shape (Q,)
        Classes that TCP keeps full.
    queue : array of float64, shape (Q,)
        Delay of the queue that is kept in such a class [s].
    unknown : array of bool, shape (Q,)
        Classes that a flow of unknown rate crosses.
    """

    sent: Floats
    arrived: Floats
    hop: Floats
    offered: Floats
    served: Floats
    overloaded: Bools
    filled: Bools
    queue: Floats
    unknown: Bools


def rates(its: Roads, queues: Queues, sources: Sources) -> Rates:
    """Find the rates of all streams."""
    ways = its.ways
    offer = sources.rate[ways.flow]
    unknown = np.bincount(its.queue[np.isnan(offer)[ways.stream]], minlength=len(queues.level)) > 0
    offer = np.where(np.isnan(offer), 0.0, offer)
    of_tcp = sources.tcp[ways.flow]
    elastic = of_tcp & ~ways.reverse & ~ways.lost & (offer > 0)
    open_ = np.where(of_tcp | ways.reverse, 0.0, offer)
    got = np.zeros(len(offer))
    back = np.where(ways.reverse, sources.ack[ways.flow], 0.0)
    # The first streams are the data of the flows.
    acks = open_[ways.flow] * back
    filled = np.zeros(len(unknown), dtype=bool)
    kept = np.zeros(len(unknown))
    for turn in range(ROUNDS):
        hop, through = _open(its, queues, open_ + acks, filled)
        served = its.load(hop * through[its.queue])
        if not elastic.any():
            break
        room = _room(its, queues, served, its.load(got[ways.stream]), filled)
        trip = _trips(its, kept)
        cap = np.minimum(offer, sources.window[ways.flow] * 8 / trip)
        found, filled = shares(its, elastic, its.size / trip, cap, room)
        # Half way, since the queue sets the round trip and the round trip the queue.
        before, got = got, (got + found) / 2 if turn else found
        queue, now = kept, _kept(its, queues, sources, filled & (room > 0), room + served)
        kept = (queue + now) / 2
        acks = (open_ + got)[ways.flow] * back
        still = np.abs(now - queue).max() <= CLOSE * now.max()
        if turn and still and np.abs(got - before).max() <= CLOSE * max(got.max(), 1.0):
            break
    end = hop * through[its.queue]
    arrived = np.where(ways.lost, 0.0, _last(its, open_ + acks, end))
    carried = its.load(got[ways.stream])
    return Rates(
        sent=open_ + acks + got,
        arrived=np.where(elastic, got, arrived),
        hop=hop + got[ways.stream],
        offered=its.load(hop) + carried,
        served=served + carried,
        overloaded=through < 1 - CLOSE,
        filled=filled,
        queue=kept,
        unknown=unknown,
    )


def _open(its: Roads, queues: Queues, sent: Floats, filled: Bools) -> tuple[Floats, Floats]:
    """Rates of open flows at every hop, and the part that each class lets through."""
    through = np.ones(len(filled))
    for turn in range(ROUNDS):
        hop = sent[its.ways.stream]
        if (through < 1).any():
            passing = sent[its.owner]
            for hops in its.by_step:
                hop[hops] = passing[its.ways.leg[hops]]
                passing[its.ways.leg[hops]] *= through[its.queue[hops]]
        load = its.load(hop)
        given = serve(queues, np.where(filled, np.inf, load), its.weight)
        new = np.where(load > given, given / np.where(load > 0, load, 1.0), 1.0)
        apart = np.abs(new - through).max(initial=0.0)
        # Overload that feeds itself in a circle may swing: then half way.
        through = new if turn < ROUNDS // 4 else (new + through) / 2
        if apart <= CLOSE:
            break
    return hop, through


def _last(its: Roads, sent: Floats, end: Floats) -> Floats:
    """What leaves the last queue of each stream; of two legs the one that loses less."""
    found = np.zeros(len(sent))
    last = np.r_[np.diff(its.ways.leg) > 0, True][: len(end)]
    np.maximum.at(found, its.ways.stream[last], end[last])
    there = np.bincount(its.ways.stream, minlength=len(sent)) > 0
    return np.where(there, found, sent)


def _room(its: Roads, queues: Queues, served: Floats, carried: Floats, filled: Bools) -> Floats:
    """What TCP may take of each class: asked of all classes of the same number at once."""
    number = np.arange(len(served)) - queues.first[queues.link]
    asked = np.where(filled, np.inf, served + carried)
    room = np.zeros(len(served))
    for each in range(int(number.max(initial=-1)) + 1):
        mine = number == each
        given = serve(queues, np.where(mine, np.inf, asked), its.weight)
        room[mine] = given[mine]
    return np.maximum(room - served, 0.0)


def _trips(its: Roads, kept: Floats) -> Floats:
    """Round-trip time of each stream [s]."""
    one_way = its.fixed + its.along(kept)
    flows = int(its.ways.flow.max(initial=-1)) + 1
    both = summed(its.ways.flow, one_way, flows)
    return np.maximum(both, LEAST_TRIP_S)[its.ways.flow]


def _kept(its: Roads, queues: Queues, sources: Sources, filled: Bools, rate: Floats) -> Floats:
    """Delay of the queue that TCP keeps in each class it fills [s].

    Between full and what is left of it after all windows are halved for drop-tail, half way between
    the thresholds of RED, the target of PIE; never more than the windows hold.
    """
    count = len(rate)
    of = its.ways.stream
    mine = sources.tcp[its.ways.flow[of]] & ~its.ways.reverse[of]
    number = np.bincount(its.queue[mine], minlength=count)
    windows = summed(its.queue[mine], sources.window[its.ways.flow[of[mine]]], count)
    trips = summed(its.queue[mine], _trips(its, rate * 0)[of[mine]], count)
    pipe = rate / 8 * trips / np.maximum(number, 1)
    buffer = np.minimum(queues.full[:, 0], queues.full[:, 1] * its.packet)
    most = np.maximum(np.minimum(buffer, windows - pipe), 0.0)
    tail = (most + np.maximum((most - pipe) / 2, 0.0)) / 2
    # RED's thresholds are packets, or bytes if negative.
    middle = (queues.least + queues.most) / 2
    red = np.where(middle < 0, -middle, middle * its.packet)
    octets = np.where(np.isfinite(middle), np.minimum(red, most), tail)
    safe = np.where(rate > 0, rate, 1.0)
    found = np.where(np.isnan(queues.delay), octets * 8 / safe, queues.delay)
    return np.where(filled, found, 0.0)
