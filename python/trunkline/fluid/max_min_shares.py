"""Weighted max-min fair shares with ceilings, for many flows and links at once.

Source: D. Bertsekas and R. Gallager, Data Networks, 1992, 6.5.2 (progressive filling).
Differs: all queues that fill before any other that their flows cross are decided in one round.
"""

import numpy as np

from trunkline.fluid.hop_loads import HopLoads
from trunkline.fluid.port_queues import sum_by_index
from trunkline.te.topology import Bools, Floats

_LEVEL_TOLERANCE = 1e-9


def divide_max_min(
    loads: HopLoads, elastic: Bools, weight: Floats, ceiling: Floats, room: Floats
) -> tuple[Floats, Bools]:
    """Divide the rest of every class.

    elastic: shape (S,): Streams that take what they get.
    weight, ceiling: shape (S,): Those of each stream; the ceiling in IP bits per second.
    room: shape (Q,): Bits per second on the wire that they may take of each class.
    Returns rate: IP bits per second, 0 of streams that are not elastic.
    Returns filled: Classes that are some stream's bottleneck.
    """
    is_elastic_hop = elastic[loads.paths.stream]
    stream = loads.paths.stream[is_elastic_hop]
    queue = loads.queue[is_elastic_hop]
    wire = loads.wire_bits_per_bit[is_elastic_hop]
    count = len(room)
    rate = np.zeros(len(elastic))
    filled = np.zeros(count, dtype=bool)
    active = elastic.copy()
    while active.any():
        is_active = active[stream]
        used = sum_by_index(queue, np.where(is_active, 0.0, rate[stream]) * wire, count)
        total_weight = sum_by_index(
            queue[is_active], weight[stream[is_active]] * wire[is_active], count
        )
        free = np.maximum(room - used, 0.0)
        level = np.where(
            total_weight > 0, free / np.where(total_weight > 0, total_weight, 1.0), np.inf
        )
        bottleneck_level = np.full(len(elastic), np.inf)
        np.minimum.at(bottleneck_level, stream[is_active], level[queue[is_active]])
        ceiling_level = ceiling / weight
        capped = active & (ceiling_level <= bottleneck_level)
        # A class is decided where none of its streams is held back more elsewhere.
        class_min_level = np.full(count, np.inf)
        np.minimum.at(
            class_min_level,
            queue[is_active],
            np.minimum(bottleneck_level, ceiling_level)[stream[is_active]],
        )
        decided = np.isfinite(level) & (class_min_level >= level * (1 - _LEVEL_TOLERANCE))
        is_bottlenecked = np.zeros(len(elastic), dtype=bool)
        is_bottlenecked[stream[is_active & decided[queue]]] = True
        is_bottlenecked &= active & ~capped
        rate[capped] = ceiling[capped]
        rate[is_bottlenecked] = (weight * bottleneck_level)[is_bottlenecked]
        filled |= decided
        if not (capped | is_bottlenecked).any():
            rate[active] = ceiling[active]
            break
        active &= ~(capped | is_bottlenecked)
    return rate, filled
