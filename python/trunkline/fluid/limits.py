"""Limits of delay and loss on the packets of each stream, around the means of the fluid engine.

Sources: J. F. C. Kingman, A martingale inequality in the theory of queues, 1964 (the wait W of an
M/G/1 queue has P(W > x) <= exp(-theta x), where theta makes the moment generating function of the
residual service 1 over the load); D. Bertsekas and R. Gallager, Data Networks, 1992, 3.5 (mean of
the residual service).

Of all services of mean residual m and at most s, a share m/s of s and the rest 0 has the greatest
moment generating function, since the exponential is convex. So theta >= ln(1 + s/E[W]) / s: the
mean wait and the largest packet are enough. A path of H hops, each with its theta, is late by more
than x with a probability of at most H exp(-x / sum of 1/theta), as one hop has its share of x.
Constant-rate sources may send in step: all of a class, and of those before it, count as one batch.
Where the means have no answer (TCP, on-off, full queues), a hop delays by at most its full queue at
the rate that its class gets from the others.

Absent: waits in hierarchies of classes deeper than one level (their queue limit stays).
"""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.fluid.flow_sources import read_size_range
from trunkline.fluid.port_queues import PortQueues, compute_available_rates, sum_by_index
from trunkline.fluid.tables import FluidState
from trunkline.fluid.verification import MEASURES
from trunkline.fluid.waits import compute_mean_waits
from trunkline.te.topology import Floats

WAIT_MARGIN: Final = MEASURES["mean wait"]
LOSS_MARGIN: Final = MEASURES["loss of a flow"]
"""Errors of the means, as `trunkline verify --engine fluid` allows them."""
MIXED_SIZES_MARGIN: Final = 0.5
"""Relative error of a flow's loss in a full class with packets of several sizes."""
QUEUE_LENGTH_PARTS: Final = np.linspace(0.05, 0.95, 19)
"""Parts of a queue's limit that are tried as the mean number of arrivals in a wait."""


@dataclass(frozen=True, slots=True, eq=False)
class StreamLimits:
    """Limits for S streams, with the means of the fluid engine."""

    least_delay: Floats  # shape (S,): Propagation and transmission of the smallest packet [s].
    unqueued_delay: Floats  # shape (S,): The same of the mean packet [s].
    # shape (S,): The same of the largest packet, with all that does not depend on chance [s].
    steady_delay: Floats
    mean_wait: Floats  # shape (S,): Upper limit of the mean of all waits [s].
    decay: Floats  # shape (S,): Sum over hops of 1/theta [s].
    hops: NDArray[np.int64]  # shape (S,): Hops whose waits depend on chance.
    # shape (S,): With all queues full [s]; infinite without limits of queues, and where a full
    # class has the rest of others.
    greatest_delay: Floats
    # shape (S,): Upper limit of the share that full queues drop beyond the loss of the means; 1:
    # unknown.
    drop_probability: Floats
    loss_margin: Floats  # shape (S,): Relative error of the loss of the means [1].
    absorbed: Floats  # shape (S,): Packets that full queues hold at the end, and so do not lose.


@dataclass(frozen=True, slots=True, eq=False)
class _QueueLimits:
    """Waits of every class of a port: shifts and decay, maximum, and drops."""

    mean_wait: Floats
    steady_wait: Floats
    decay: Floats
    greatest_wait: Floats
    drop_probability: Floats
    loss_margin: Floats
    absorbed: Floats


def compute_stream_limits(state: FluidState) -> StreamLimits:
    """Limits for the streams of a network in which nothing changes."""
    loads, queues = state.hop_loads, state.queues
    paths = loads.paths
    least, greatest = _read_stream_sizes(state)
    limits = _compute_queue_limits(state, greatest)
    link_delay = np.array([link["delay_ns"] for link in state.network["links"]]) / 1e9

    def sum_hops(hop_value: Floats) -> Floats:
        # Of two legs the slower, so that a limit holds for whichever arrives.
        by_leg = sum_by_index(paths.leg, hop_value, loads.leg_count)
        by_stream = np.zeros(len(loads.packet_bytes))
        np.maximum.at(by_stream, loads.leg_stream, by_leg)
        return by_stream

    def sum_transit(stream_bytes: Floats) -> Floats:
        wire_bits = 8 * (stream_bytes[paths.stream] + paths.header)
        return sum_hops(link_delay[paths.link] + wire_bits / queues.rate[paths.link])

    largest_transit = sum_transit(greatest)
    return StreamLimits(
        least_delay=_compute_least_delay(state, least, link_delay),
        unqueued_delay=sum_transit(loads.packet_bytes),
        steady_delay=largest_transit + sum_hops(limits.steady_wait[loads.queue]),
        mean_wait=sum_hops(limits.mean_wait[loads.queue]),
        decay=sum_hops(limits.decay[loads.queue]),
        hops=sum_hops((limits.decay[loads.queue] > 0).astype(np.float64)).astype(np.int64),
        greatest_delay=largest_transit + sum_hops(limits.greatest_wait[loads.queue]),
        drop_probability=np.minimum(sum_hops(limits.drop_probability[loads.queue]), 1.0),
        loss_margin=np.maximum(LOSS_MARGIN.share, sum_hops(limits.loss_margin[loads.queue])),
        absorbed=sum_hops(limits.absorbed[loads.queue] * _compute_hop_shares(state)),
    )


def _read_stream_sizes(state: FluidState) -> tuple[Floats, Floats]:
    """Smallest and largest IP packet of each stream."""
    max_bytes = max((link["mtu_bytes"] for link in state.network["links"]), default=0)
    sizes = np.array([read_size_range(flow["agent"], max_bytes) for flow in state.network["flows"]])
    paths = state.hop_loads.paths
    acks = state.sources.ack_bytes[paths.flow]
    return (
        np.where(paths.reverse, acks, sizes[paths.flow, 0]),
        np.where(paths.reverse, acks, sizes[paths.flow, 1]),
    )


def _compute_least_delay(state: FluidState, least: Floats, link_delay: Floats) -> Floats:
    """Propagation and transmission of the smallest packet over the faster leg [s]."""
    loads = state.hop_loads
    paths = loads.paths
    wire_bits = 8 * (least[paths.stream] + paths.header)
    hop_delay = link_delay[paths.link] + wire_bits / state.queues.rate[paths.link]
    by_leg = sum_by_index(paths.leg, hop_delay, loads.leg_count)
    by_stream = np.full(len(least), np.inf)
    np.minimum.at(by_stream, loads.leg_stream, by_leg)
    return np.where(np.isfinite(by_stream), by_stream, 0.0)


def _compute_queue_limits(state: FluidState, greatest: Floats) -> _QueueLimits:
    loads, queues, sources, rates = state.hop_loads, state.queues, state.sources, state.rates
    paths, count = loads.paths, len(state.queues.level)
    link_rate = queues.rate[queues.link]
    # Poisson arrivals at least: smoother arrivals wait less.
    as_poisson = replace(state, sources=replace(sources, gap_scv=np.maximum(sources.gap_scv, 1.0)))
    wait = compute_mean_waits(loads, queues, as_poisson.sources, rates)
    is_weighted = queues.wait_formula > 0
    if is_weighted.any():
        wait = np.where(is_weighted, _limit_shared_waits(as_poisson), wait)
    is_unanswered = np.isnan(wait) | rates.overloaded | rates.filled | rates.unknown
    demand = np.where(rates.filled | rates.unknown, np.inf, rates.offered)
    available = compute_available_rates(queues, demand, loads.weight)
    slower = np.where(available > 0, link_rate / np.where(available > 0, available, 1.0), np.inf)
    hop_bytes = greatest[paths.stream] + paths.header
    largest = np.zeros(count)
    np.maximum.at(largest, loads.queue, hop_bytes)
    smallest = np.full(count, np.inf)
    np.minimum.at(smallest, loads.queue, loads.packet_bytes[paths.stream] + paths.header)
    is_used = np.isfinite(smallest)
    smallest = np.where(is_used, smallest, 0.0)
    byte_time = 8 / link_rate
    largest_of_link = np.zeros(len(queues.rate))
    np.maximum.at(largest_of_link, queues.link, largest * byte_time)
    with np.errstate(invalid="ignore"):
        full_bytes = np.minimum(queues.limits[:, 0], queues.limits[:, 1] * largest)
        full_wait = full_bytes * byte_time * slower + largest_of_link[queues.link]
        batch = np.nan_to_num(_sum_batches(state, hop_bytes) * byte_time * slower)
        onset = np.minimum(queues.drop_onset[:, 0], queues.drop_onset[:, 1] * smallest) * byte_time
    known_wait = np.where(is_unanswered, 0.0, wait)
    # The floor is for links of Mbit/s: a packet more or less is all that it stands for.
    floor = np.minimum(WAIT_MARGIN.floor, largest_of_link[queues.link])
    mean_wait = np.where(known_wait > 0, known_wait * (1 + WAIT_MARGIN.share) + floor, 0.0)
    batch = np.where(mean_wait > 0, batch, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        service = np.nan_to_num(np.maximum(largest * byte_time * slower, batch))
        decay = np.where(mean_wait > 0, service / np.log1p(service / mean_wait), 0.0)
        beyond = np.where(decay > 0, np.exp(-np.maximum(onset - batch, 0.0) / decay), 0.0)
    overflow = np.where(onset > batch, beyond, 1.0)
    overflow = np.minimum(overflow, _limit_queue_length(state, smallest, largest, batch, decay))
    # A full class of open flows loses as the means say, but for their error and for what chance
    # leaves unused: at most 1/(K+1), which is M/M/1/K at a load of 1 (Kleinrock 1975, 3.6).
    onset_packets = np.divide(onset, smallest * byte_time, out=np.zeros(count), where=smallest > 0)
    unused = LOSS_MARGIN.floor + 1 / (1 + onset_packets)
    is_full = rates.overloaded & ~rates.filled & ~rates.unknown & ~queues.drops_by_precedence
    drops = np.where(is_unanswered, np.where(is_full, np.minimum(unused, 1.0), 1.0), overflow)
    return _QueueLimits(
        mean_wait=np.where(is_unanswered, full_wait, mean_wait + batch),
        steady_wait=np.where(is_unanswered, full_wait, batch),
        decay=decay,
        # The rate left to a full class varies, so its mean gives no maximum wait.
        greatest_wait=np.where(
            is_used, np.where(is_unanswered & (slower > 1), np.inf, full_wait), 0.0
        ),
        drop_probability=np.where(is_used, drops, 0.0),
        # A packet that took long on the link before finds more room than a small one behind it.
        loss_margin=np.where(rates.overloaded & (largest > smallest), MIXED_SIZES_MARGIN, 0.0),
        absorbed=np.where(
            rates.overloaded & np.isfinite(full_bytes), full_bytes / np.maximum(smallest, 1.0), 0.0
        ),
    )


def _limit_queue_length(
    state: FluidState, smallest: Floats, largest: Floats, batch: Floats, decay: Floats
) -> Floats:
    """Upper limit of the share of packets that find a queue at which drops begin.

    A packet leaves behind what came while it waited (the distributional law of Little: Keilson and
    Servi 1988): K packets need a wait above w, or K Poisson arrivals in w (bounded by Chernoff).
    """
    queues = state.queues
    onset = np.minimum(
        queues.drop_onset[:, 1], queues.drop_onset[:, 0] / np.where(largest > 0, largest, 1.0)
    )
    size = np.where(smallest > 0, smallest, 1.0)
    rate = state.rates.offered / (8 * size)
    byte_time = 8 / queues.rate[queues.link]
    count = onset - batch / (byte_time * size)
    limit = np.ones(len(onset))
    valid = (count > 1) & (rate > 0) & np.isfinite(count)
    count, rate = np.where(valid, count, 2.0), np.where(valid, rate, 1.0)
    divisor = np.where(decay > 0, decay, 1.0)
    for part in QUEUE_LENGTH_PARTS:
        expected = part * count
        wait = expected / rate
        longer = np.where(decay > 0, np.exp(-np.maximum(wait - batch, 0.0) / divisor), 0.0)
        more = np.exp(count * (1 + np.log(part)) - expected)
        limit = np.minimum(limit, np.where(wait > batch, longer + more, 1.0))
    return np.where(valid, limit, np.where(np.isinf(onset), 0.0, 1.0))


def _limit_shared_waits(state: FluidState) -> Floats:
    """Mean waits of classes as if each were served after all others, and then at its ceiling [s].

    No scheduler that leaves no rate unused delays a class more than the last of strict priorities
    (Cobham). A ceiling is a second queue behind it. nan where rate may stay unused.
    """
    queues = state.queues
    number = np.arange(len(queues.level)) - queues.first[queues.link]
    limited = np.isfinite(queues.ceiling) & (queues.ceiling < queues.rate[queues.link])
    wait = np.full(len(number), np.nan)
    used = np.bincount(state.hop_loads.queue, minlength=len(number)) > 0
    for each in np.unique(number[used]):
        own = number == each
        last = replace(
            queues, level=own.astype(np.int64), wait_formula=np.zeros_like(queues.wait_formula)
        )
        total = compute_mean_waits(state.hop_loads, last, state.sources, state.rates)
        if (own & limited).any():
            ceiling = queues.rate.copy()
            ceiling[queues.link[own & limited]] = queues.ceiling[own & limited]
            shaped = replace(last, rate=ceiling, level=(~own).astype(np.int64))
            at_ceiling = compute_mean_waits(state.hop_loads, shaped, state.sources, state.rates)
            total = total + np.where(limited, at_ceiling, 0.0)
        wait[own] = total[own]
    return np.where(queues.shares_link, wait, np.nan)


def _compute_hop_shares(state: FluidState) -> Floats:
    """Part of the load of its class that each hop has."""
    loads, rates = state.hop_loads, state.rates
    total = rates.offered[loads.queue]
    load = rates.hop_rate * loads.wire_bits_per_bit
    return np.divide(load, total, out=np.zeros(len(load)), where=total > 0)


def _sum_batches(state: FluidState, hop_bytes: Floats) -> Floats:
    """Sum the bytes that constant-rate sources send at once into each class and those before it."""
    loads, queues = state.hop_loads, state.queues
    even = state.sources.gap_scv[loads.paths.flow[loads.paths.stream]] < 1
    own = sum_by_index(loads.queue[even], hop_bytes[even], len(queues.level))
    return _sum_over_levels(queues, own)


def _sum_over_levels(queues: PortQueues, value: Floats) -> Floats:
    """Sum over the classes of a link that are served no later than each class."""
    total = np.zeros(len(value))
    for level in np.unique(queues.level):
        up_to_level = queues.level <= level
        by_link = sum_by_index(queues.link[up_to_level], value[up_to_level], len(queues.rate))
        at_level = queues.level == level
        total[at_level] = by_link[queues.link[at_level]]
    return total


def find_quantile_limit(limits: StreamLimits, weight: Floats, share_above: float) -> float:
    """Find the delay that at most a share of all packets exceeds [s].

    weight: shape (S,): Packets of each stream.
    share_above: 0.01 for the 99th percentile.
    """
    used = weight > 0
    weight = weight[used] / weight.sum()
    start, decay, hops, greatest = (
        value[used]
        for value in (limits.steady_delay, limits.decay, limits.hops, limits.greatest_delay)
    )
    high = float(greatest.max())
    worst = start + decay * np.log(np.maximum(hops, 1) / share_above)
    high = min(high, float(worst.max()))
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            later = np.where(decay > 0, (middle - start) / np.where(decay > 0, decay, 1.0), np.inf)
            tail = np.where(middle < start, 1.0, np.minimum(1.0, hops * np.exp(-later)))
        tail = np.where(middle >= greatest, 0.0, tail)
        if float(weight @ tail) <= share_above:
            high = middle
        else:
            low = middle
    return high


def find_quantile_floor(least_delay: Floats, weight: Floats, share_above: float) -> float:
    """Delay that more than a share of all packets reach by propagation and transmission [s]."""
    order = np.argsort(-least_delay)
    reached = np.cumsum(weight[order]) > share_above * weight.sum()
    return float(least_delay[order][int(reached.argmax())]) if reached.any() else 0.0


def join_limits(parts: list[StreamLimits]) -> StreamLimits:
    """Limits of several phases, streams after streams."""
    names = StreamLimits.__dataclass_fields__
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in names
    }
    return StreamLimits(**joined)
