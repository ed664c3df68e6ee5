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

from trunkline.fluid.flow_sources import FlowSources
from trunkline.fluid.hop_loads import HopLoads
from trunkline.fluid.port_queues import PortQueues, divide_link_rates, sum_by_index
from trunkline.fluid.rates import StreamRates
from trunkline.te.topology import Bools, Floats

MAX_ROUNDS: Final = 50
RELATIVE_TOLERANCE: Final = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _ClassMoments:
    """Moments of every class: packets per second, mean service [s], mean square, utilisation.

    Then the squared coefficient of variation of its gaps, and whether nothing ever waits.
    """

    packets: Floats
    service: Floats
    square: Floats
    utilisation: Floats
    arrivals: Floats
    smooth: Bools


def compute_mean_waits(
    loads: HopLoads, queues: PortQueues, sources: FlowSources, stream_rates: StreamRates
) -> Floats:
    """Mean time from arrival to the start of transmission.

    Returns: shape (Q,): Seconds; nan where there is no answer.
    """
    is_unanswered = _find_unanswered_classes(loads, queues, sources, stream_rates)
    moments = _compute_class_moments(loads, queues, sources, stream_rates)
    wait = _compute_level_waits(queues, moments, _sum_over_link(queues, moments.utilisation))
    weighted = queues.wait_formula == 1
    if weighted.any():
        wait = np.where(
            weighted, _compute_weighted_waits(loads, queues, stream_rates, moments), wait
        )
    wait = np.where(moments.smooth & np.isfinite(wait), 0.0, wait)
    is_filled = stream_rates.filled
    is_overloaded = stream_rates.overloaded & ~is_filled
    buffer = np.minimum(queues.limits[:, 0], queues.limits[:, 1] * loads.class_packet_bytes)
    served = np.where(stream_rates.served > 0, stream_rates.served, 1.0)
    full_queue_wait = np.where(
        np.isfinite(buffer) & (queues.tcp_max == np.inf), buffer * 8 / served, np.nan
    )
    wait = np.where(is_overloaded, full_queue_wait, wait)
    has_kept_delay = (stream_rates.kept_delay > 0) & ~(
        np.isnan(queues.tcp_max) & np.isnan(queues.target_delay)
    )
    wait = np.where(
        is_filled & ~is_overloaded, np.where(has_kept_delay, stream_rates.kept_delay, np.nan), wait
    )
    return np.where(is_unanswered | (moments.packets <= 0) | ~np.isfinite(wait), np.nan, wait)


def _sum_over_link(queues: PortQueues, value: Floats) -> Floats:
    """Sum over the classes of a link, at each class."""
    return sum_by_index(queues.link, value, len(queues.rate))[queues.link]


def _find_unanswered_classes(
    loads: HopLoads, queues: PortQueues, sources: FlowSources, stream_rates: StreamRates
) -> Bools:
    """Find the classes whose arrivals, or those served before them, follow none of the models."""
    paths, links = loads.paths, len(queues.rate)
    unmodelled = np.isnan(sources.gap_scv)[paths.flow] & ~paths.reverse & (stream_rates.sent > 0)
    # In a class that TCP fills the queue is the answer, whatever the arrivals.
    affected = np.bincount(loads.queue[unmodelled[paths.stream]], minlength=len(queues.level)) > 0
    affected &= ~stream_rates.filled
    is_unanswered = np.zeros(len(affected), dtype=bool)
    for level in np.unique(queues.level):
        # One packet of a lower level is waited for, however they come.
        is_served_before = (queues.level <= level) | (queues.wait_formula != 0)
        before = sum_by_index(queues.link, affected & is_served_before, links) > 0
        is_unanswered |= (queues.level == level) & before[queues.link]
    unknown = _sum_over_link(queues, stream_rates.unknown.astype(np.float64)) > 0
    answerless: Bools = is_unanswered | unknown | (queues.wait_formula == 2)
    return answerless


def _compute_class_moments(
    loads: HopLoads, queues: PortQueues, sources: FlowSources, stream_rates: StreamRates
) -> _ClassMoments:
    paths = loads.paths
    count = len(queues.level)
    size = loads.packet_bytes[paths.stream]
    square = np.where(paths.reverse, loads.packet_bytes**2, sources.mean_square_size[paths.flow])[
        paths.stream
    ]
    packets = stream_rates.hop_rate / (8 * size)
    per_second = sum_by_index(loads.queue, packets, count)
    divisor = np.where(per_second > 0, per_second, 1.0)
    byte_time = 8 / queues.rate[queues.link]
    mean = sum_by_index(loads.queue, packets * (size + paths.header), count) / divisor * byte_time
    wire_square = square + 2 * size * paths.header + paths.header**2
    squared = sum_by_index(loads.queue, packets * wire_square, count) / divisor * byte_time**2
    utilisation = np.minimum(per_second * mean, stream_rates.served / queues.rate[queues.link])
    without_arrivals = _ClassMoments(
        per_second, mean, squared, utilisation, np.ones(count), np.zeros(count, dtype=bool)
    )
    return _compute_gap_variation(loads, queues, sources, packets, without_arrivals)


def _compute_gap_variation(
    loads: HopLoads,
    queues: PortQueues,
    sources: FlowSources,
    packets: Floats,
    moments: _ClassMoments,
) -> _ClassMoments:
    """Squared coefficient of variation of the gaps at each class (Whitt, (24) to (45))."""
    paths, links = loads.paths, len(queues.rate)
    # The traffic to a class over one link is one process, and so is each flow that begins there.
    first = paths.step == 0
    before = np.r_[-1, paths.link[:-1]]
    origin = np.where(first, links + paths.stream, before)
    keys = loads.queue * (links + len(loads.packet_bytes)) + origin
    groups, group = np.unique(keys, return_inverse=True)
    queue = groups // (links + len(loads.packet_bytes))
    source = groups % (links + len(loads.packet_bytes))
    rate = sum_by_index(group, packets, len(groups))
    external = source >= links
    source_scv = np.where(paths.reverse, 1.0, np.nan_to_num(sources.gap_scv[paths.flow], nan=1.0))
    source_group_scv = source_scv[np.where(external, source - links, 0)]
    upstream = np.where(external, 0, source)
    divisor = np.where(moments.packets > 0, moments.packets, 1.0)
    group_share = rate / divisor[queue]
    by_link = sum_by_index(queues.link, moments.packets, links)
    split = rate / np.where(by_link > 0, by_link, 1.0)[upstream]
    utilisation = np.minimum(sum_by_index(queues.link, moments.utilisation, links), 1.0)
    effective_sources = 1 / np.maximum(sum_by_index(queue, group_share**2, len(divisor)), 1e-300)
    mixing = 1 / (
        1 + 4 * (1 - utilisation[queues.link]) ** 2 * np.maximum(effective_sources - 1, 0.0)
    )
    mean = sum_by_index(queues.link, moments.packets * moments.service, links) / np.maximum(
        by_link, 1e-300
    )
    second = sum_by_index(queues.link, moments.packets * moments.square, links) / np.maximum(
        by_link, 1e-300
    )
    scv_service = np.maximum(second / np.where(mean > 0, mean, 1.0) ** 2 - 1, 0.0)
    arrivals = np.ones(len(divisor))
    for _ in range(MAX_ROUNDS):
        joined = sum_by_index(queues.link, moments.packets * arrivals, links)
        at_link = np.where(by_link > 0, joined / np.maximum(by_link, 1e-300), 1.0)
        leaving = utilisation**2 * scv_service + (1 - utilisation**2) * at_link
        upstream_scv = split * leaving[upstream] + 1 - split
        merged = sum_by_index(
            queue, group_share * np.where(external, source_group_scv, upstream_scv), len(divisor)
        )
        new = np.where(moments.packets > 0, mixing * merged + 1 - mixing, 1.0)
        difference = np.abs(new - arrivals).max(initial=0.0)
        arrivals = new
        if difference <= RELATIVE_TOLERANCE:
            break
    # Packets of one size that come over one link no faster than they leave.
    link = queues.link[queue]
    lowest_source = np.full(links, links + len(loads.packet_bytes))
    np.minimum.at(lowest_source, link, source)
    highest_source = np.full(links, -1)
    np.maximum.at(highest_source, link, source)
    has_single_source = (lowest_source == highest_source) & (lowest_source < links)
    slower = mean[np.minimum(lowest_source, links - 1)] >= mean * (1 - RELATIVE_TOLERANCE)
    smooth = (has_single_source & slower & (scv_service < RELATIVE_TOLERANCE))[queues.link]
    return replace(moments, arrivals=arrivals, smooth=smooth)


def _compute_residual_work(moments: _ClassMoments, utilisation: Floats) -> Floats:
    """Mean residual work that a class adds at an arrival of its own [s]."""
    mean = np.where(moments.service > 0, moments.service, 1.0)
    scv = np.maximum(moments.square / mean**2 - 1, 0.0)
    total_scv = moments.arrivals + scv
    bounded_scv = np.minimum(moments.arrivals, 1.0)
    # Kraemer and Langenbach-Belz, for gaps more even than Poisson's.
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = -2 * (1 - utilisation) * (1 - bounded_scv) ** 2 / (3 * utilisation * total_scv)
        factor = np.where(
            (moments.arrivals < 1) & (total_scv > 0) & (utilisation > 0), np.exp(exponent), 1.0
        )
    residual: Floats = moments.utilisation * moments.service * total_scv / 2 * factor
    return residual


def _compute_level_waits(queues: PortQueues, moments: _ClassMoments, utilisation: Floats) -> Floats:
    """Head of the line (Cobham 1954, (3)); one class is Pollaczek and Khinchine's M/G/1."""
    links = len(queues.rate)
    residual = (
        moments.packets
        * moments.square
        / 2
        * np.where(
            moments.packets * moments.service > 0,
            moments.utilisation / np.maximum(moments.packets * moments.service, 1e-300),
            1.0,
        )
    )
    residual_work = _compute_residual_work(moments, np.minimum(utilisation, 1.0))
    wait = np.full(len(utilisation), np.nan)
    load_before = np.zeros(links)
    for level in np.unique(queues.level):
        at_level = queues.level == level
        up_to_level = queues.level <= level
        level_work = sum_by_index(queues.link[up_to_level], residual_work[up_to_level], links)
        lower_residual = sum_by_index(queues.link[~up_to_level], residual[~up_to_level], links)
        load_through = load_before + sum_by_index(
            queues.link[at_level], moments.utilisation[at_level], links
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            link_wait = (level_work + lower_residual) / ((1 - load_before) * (1 - load_through))
        link_wait = np.where(load_through < 1, link_wait, np.nan)
        wait[at_level] = link_wait[queues.link[at_level]]
        load_before = load_through
    return wait


def _compute_weighted_waits(
    loads: HopLoads, queues: PortQueues, stream_rates: StreamRates, moments: _ClassMoments
) -> Floats:
    """Compute the classes by weight, scaled to the work of one queue."""
    rate = queues.rate[queues.link]
    demand = np.where(stream_rates.filled | stream_rates.overloaded, np.inf, stream_rates.served)
    guaranteed = divide_link_rates(queues, np.full(len(rate), np.inf), loads.weight)
    other_served = (
        _sum_over_link(queues, np.where(np.isinf(demand), guaranteed, stream_rates.served))
        - stream_rates.served
    )
    class_rate = np.maximum(guaranteed, rate - other_served)
    slower = rate / np.where(class_rate > 0, class_rate, rate)
    utilisation = np.minimum(moments.utilisation * slower, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        unscaled = _compute_residual_work(moments, utilisation) * slower**2 / (1 - utilisation)
    unscaled = np.where(utilisation < 1, unscaled, np.nan)
    link_utilisation = np.minimum(_sum_over_link(queues, moments.utilisation), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        single_queue = _sum_over_link(queues, _compute_residual_work(moments, link_utilisation)) / (
            1 - link_utilisation
        )
        scale = (
            single_queue
            * link_utilisation
            / _sum_over_link(queues, moments.utilisation * np.nan_to_num(unscaled))
        )
    is_stable = link_utilisation < 1 - RELATIVE_TOLERANCE
    # With a class that is full, a packet waits for that class's packet in service; there is no sum.
    others_residual = (
        _sum_over_link(queues, moments.packets * moments.square / 2)
        - moments.packets * moments.square / 2
    )
    return np.where(is_stable & np.isfinite(scale), unscaled * scale, unscaled + others_residual)
