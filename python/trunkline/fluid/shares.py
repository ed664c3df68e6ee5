"""Weighted max-min fair shares with ceilings, for many flows and links at once.

Source: D. Bertsekas and R. Gallager, Data Networks, 1992, 6.5.2 (progressive filling).
Differs: all queues that fill before any other that their flows cross are decided in one round.
"""

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.queues import summed
from trunkline.fluid.roads import Roads

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_CLOSE = 1e-9


def shares(
    its: Roads, elastic: Bools, weight: Floats, ceiling: Floats, room: Floats
) -> tuple[Floats, Bools]:
    """Divide what is left in every class.

    Parameters
    ----------
    elastic : array of bool, shape (S,)
        Streams that take what they get.
    weight, ceiling : array of float64, shape (S,)
        Of each stream; the ceiling in IP bits per second.
    room : array of float64, shape (Q,)
        Bits per second on the wire that they may take of each class.

    Returns
    -------
    rate : array of float64, shape (S,)
        IP bits per second, 0 of streams that are not elastic.
    filled : array of bool, shape (Q,)
        Classes that are some stream's bottleneck.
    """
    mine = elastic[its.ways.stream]
    stream, queue, wire = its.ways.stream[mine], its.queue[mine], its.wire[mine]
    count = len(room)
    rate = np.zeros(len(elastic))
    filled = np.zeros(count, dtype=bool)
    active = elastic.copy()
    while active.any():
        live = active[stream]
        used = summed(queue, np.where(live, 0.0, rate[stream]) * wire, count)
        share = summed(queue[live], weight[stream[live]] * wire[live], count)
        left = np.maximum(room - used, 0.0)
        level = np.where(share > 0, left / np.where(share > 0, share, 1.0), np.inf)
        reach = np.full(len(elastic), np.inf)
        np.minimum.at(reach, stream[live], level[queue[live]])
        own = ceiling / weight
        capped = active & (own <= reach)
        # A class is decided where none of its streams is held back more elsewhere.
        least = np.full(count, np.inf)
        np.minimum.at(least, queue[live], np.minimum(reach, own)[stream[live]])
        decided = np.isfinite(level) & (least >= level * (1 - _CLOSE))
        bound = np.zeros(len(elastic), dtype=bool)
        bound[stream[live & decided[queue]]] = True
        bound &= active & ~capped
        rate[capped] = ceiling[capped]
        rate[bound] = (weight * reach)[bound]
        filled |= decided
        if not (capped | bound).any():
            rate[active] = ceiling[active]
            break
        active &= ~(capped | bound)
    return rate, filled
