"""Mean waits by class: M/G/1, priorities, weights, and arrivals that are not Poisson.

Sources: A. Cobham, Priority assignment in waiting line problems, 1954 (head of the line); W. Whitt,
The Queueing Network Analyzer, 1983: (19) to (45), means and squared coefficients of variation of
gaps through splitting, merging and queues, and the refinement of Kraemer and Langenbach-Belz;
L. Kleinrock, Queueing Systems II, 1976, 3.4 (the conservation law, by which weighted classes are
scaled).

Exact for Poisson arrivals at the first queue. Packets that come over one link no faster than they
leave do not wait. Of weighted classes, each is a queue that is served at the rate the others leave
it, at least its share; then all are scaled so that their work in sum is that of one queue.
Absent: finite queues, on-off and TCP arrivals (null).
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.queues import Queues, serve, summed
from trunkline.fluid.rates import Rates
from trunkline.fluid.roads import Roads
from trunkline.fluid.sources import Sources

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ROUNDS: Final = 50
CLOSE: Final = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Of every class: packets per second, mean service [s], mean of its square, utilisation.

    Then the squared coefficient of variation of its gaps, and whether nothing ever waits.
    """

    packets: Floats
    service: Floats
    square: Floats
    work: Floats
    arrivals: Floats
    smooth: Bools


def waits(its: Roads, queues: Queues, sources: Sources, found: Rates) -> Floats:
    """Mean time from arrival to the start of transmission.

    Returns
    -------
    array of float64, shape (Q,)
        Seconds; nan where there is no answer.
    """
    bad = _unanswered(its, queues, sources, found)
    moments = _moments(its, queues, sources, found)
    wait = _by_level(queues, moments, _per_link(queues, moments.work))
    weighted = queues.waits == 1
    if weighted.any():
        wait = np.where(weighted, _by_weight(its, queues, found, moments), wait)
    wait = np.where(moments.smooth & np.isfinite(wait), 0.0, wait)
    kept = found.filled
    full = found.overloaded & ~kept
    buffer = np.minimum(queues.full[:, 0], queues.full[:, 1] * its.packet)
    served = np.where(found.served > 0, found.served, 1.0)
    tail = np.where(np.isfinite(buffer) & (queues.most == np.inf), buffer * 8 / served, np.nan)
    wait = np.where(full, tail, wait)
    said = (found.queue > 0) & ~(np.isnan(queues.most) & np.isnan(queues.delay))
    wait = np.where(kept & ~full, np.where(said, found.queue, np.nan), wait)
    return np.where(bad | (moments.packets <= 0) | ~np.isfinite(wait), np.nan, wait)


def _per_link(queues: Queues, value: Floats) -> Floats:
    """Sum over the classes of a link, at each class."""
    return summed(queues.link, value, len(queues.rate))[queues.link]


def _unanswered(its: Roads, queues: Queues, sources: Sources, found: Rates) -> Bools:
    """Classes whose arrivals, or those served before them, follow none of the models."""
    ways, links = its.ways, len(queues.rate)
    odd = np.isnan(sources.scv)[ways.flow] & ~ways.reverse & (found.sent > 0)
    # In a class that TCP fills the queue is the answer, whatever the arrivals.
    hit = np.bincount(its.queue[odd[ways.stream]], minlength=len(queues.level)) > 0
    hit &= ~found.filled
    bad = np.zeros(len(hit), dtype=bool)
    for level in np.unique(queues.level):
        # One packet of a lower level is waited for, however they come.
        reach = (queues.level <= level) | (queues.waits != 0)
        before = summed(queues.link, hit & reach, links) > 0
        bad |= (queues.level == level) & before[queues.link]
    unknown = _per_link(queues, found.unknown.astype(np.float64)) > 0
    answerless: Bools = bad | unknown | (queues.waits == 2)
    return answerless


def _moments(its: Roads, queues: Queues, sources: Sources, found: Rates) -> _Moments:
    ways = its.ways
    count = len(queues.level)
    size = its.size[ways.stream]
    square = np.where(ways.reverse, its.size**2, sources.square[ways.flow])[ways.stream]
    packets = found.hop / (8 * size)
    per_second = summed(its.queue, packets, count)
    safe = np.where(per_second > 0, per_second, 1.0)
    byte = 8 / queues.rate[queues.link]
    mean = summed(its.queue, packets * (size + ways.header), count) / safe * byte
    of_square = square + 2 * size * ways.header + ways.header**2
    squared = summed(its.queue, packets * of_square, count) / safe * byte**2
    work = np.minimum(per_second * mean, found.served / queues.rate[queues.link])
    bare = _Moments(per_second, mean, squared, work, np.ones(count), np.zeros(count, dtype=bool))
    return _arrivals(its, queues, sources, packets, bare)


def _arrivals(
    its: Roads, queues: Queues, sources: Sources, packets: Floats, of: _Moments
) -> _Moments:
    """Squared coefficient of variation of the gaps at each class (Whitt, (24) to (45))."""
    ways, links = its.ways, len(queues.rate)
    # What comes to a class over one link is one process, and so is each flow that begins there.
    first = ways.step == 0
    before = np.r_[-1, ways.link[:-1]]
    origin = np.where(first, links + ways.stream, before)
    keys = its.queue * (links + len(its.size)) + origin
    groups, group = np.unique(keys, return_inverse=True)
    queue, source = groups // (links + len(its.size)), groups % (links + len(its.size))
    rate = summed(group, packets, len(groups))
    external = source >= links
    own = np.where(ways.reverse, 1.0, np.nan_to_num(sources.scv[ways.flow], nan=1.0))
    outside = own[np.where(external, source - links, 0)]
    upstream = np.where(external, 0, source)
    safe = np.where(of.packets > 0, of.packets, 1.0)
    part = rate / safe[queue]
    by_link = summed(queues.link, of.packets, links)
    split = rate / np.where(by_link > 0, by_link, 1.0)[upstream]
    use = np.minimum(summed(queues.link, of.work, links), 1.0)
    number = 1 / np.maximum(summed(queue, part**2, len(safe)), 1e-300)
    mixing = 1 / (1 + 4 * (1 - use[queues.link]) ** 2 * np.maximum(number - 1, 0.0))
    mean = summed(queues.link, of.packets * of.service, links) / np.maximum(by_link, 1e-300)
    second = summed(queues.link, of.packets * of.square, links) / np.maximum(by_link, 1e-300)
    scv_service = np.maximum(second / np.where(mean > 0, mean, 1.0) ** 2 - 1, 0.0)
    arrivals = np.ones(len(safe))
    for _ in range(ROUNDS):
        joined = summed(queues.link, of.packets * arrivals, links)
        at_link = np.where(by_link > 0, joined / np.maximum(by_link, 1e-300), 1.0)
        leaving = use**2 * scv_service + (1 - use**2) * at_link
        inside = split * leaving[upstream] + 1 - split
        merged = summed(queue, part * np.where(external, outside, inside), len(safe))
        new = np.where(of.packets > 0, mixing * merged + 1 - mixing, 1.0)
        apart = np.abs(new - arrivals).max(initial=0.0)
        arrivals = new
        if apart <= CLOSE:
            break
    # Packets of one size that come over one link no faster than they leave.
    link = queues.link[queue]
    low = np.full(links, links + len(its.size))
    np.minimum.at(low, link, source)
    high = np.full(links, -1)
    np.maximum.at(high, link, source)
    alone = (low == high) & (low < links)
    slower = mean[np.minimum(low, links - 1)] >= mean * (1 - CLOSE)
    smooth = (alone & slower & (scv_service < CLOSE))[queues.link]
    return replace(of, arrivals=arrivals, smooth=smooth)


def _raised(of: _Moments, use: Floats) -> Floats:
    """Mean residual work that a class adds at an arrival of its own [s]."""
    mean = np.where(of.service > 0, of.service, 1.0)
    scv = np.maximum(of.square / mean**2 - 1, 0.0)
    both = of.arrivals + scv
    low = np.minimum(of.arrivals, 1.0)
    # Kraemer and Langenbach-Belz, for gaps more even than Poisson's.
    with np.errstate(divide="ignore", invalid="ignore"):
        bent = -2 * (1 - use) * (1 - low) ** 2 / (3 * use * both)
        factor = np.where((of.arrivals < 1) & (both > 0) & (use > 0), np.exp(bent), 1.0)
    found: Floats = of.work * of.service * both / 2 * factor
    return found


def _by_level(queues: Queues, of: _Moments, use: Floats) -> Floats:
    """Head of the line (Cobham 1954, (3)); one class is Pollaczek and Khinchine's M/G/1."""
    links = len(queues.rate)
    residual = (
        of.packets
        * of.square
        / 2
        * np.where(
            of.packets * of.service > 0, of.work / np.maximum(of.packets * of.service, 1e-300), 1.0
        )
    )
    uneven = _raised(of, np.minimum(use, 1.0))
    wait = np.full(len(use), np.nan)
    before = np.zeros(links)
    for level in np.unique(queues.level):
        mine = queues.level == level
        upto = queues.level <= level
        own = summed(queues.link[upto], uneven[upto], links)
        lower = summed(queues.link[~upto], residual[~upto], links)
        through = before + summed(queues.link[mine], of.work[mine], links)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (own + lower) / ((1 - before) * (1 - through))
        found = np.where(through < 1, found, np.nan)
        wait[mine] = found[queues.link[mine]]
        before = through
    return wait


def _by_weight(its: Roads, queues: Queues, found: Rates, of: _Moments) -> Floats:
    """Classes by weight, scaled to the work of one queue."""
    rate = queues.rate[queues.link]
    asked = np.where(found.filled | found.overloaded, np.inf, found.served)
    share = serve(queues, np.full(len(rate), np.inf), its.weight)
    others = _per_link(queues, np.where(np.isinf(asked), share, found.served)) - found.served
    own = np.maximum(share, rate - others)
    slower = rate / np.where(own > 0, own, rate)
    use = np.minimum(of.work * slower, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = _raised(of, use) * slower**2 / (1 - use)
    alone = np.where(use < 1, alone, np.nan)
    use_all = np.minimum(_per_link(queues, of.work), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = _per_link(queues, _raised(of, use_all)) / (1 - use_all)
        scale = one * use_all / _per_link(queues, of.work * np.nan_to_num(alone))
    closed = use_all < 1 - CLOSE
    # Beside a class that is full there is its packet in service to wait for, and no such sum.
    rest = _per_link(queues, of.packets * of.square / 2) - of.packets * of.square / 2
    return np.where(closed & np.isfinite(scale), alone * scale, alone + rest)
