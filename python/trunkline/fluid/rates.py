"""Rates of all flows: the part of UDP that fits, and the shares of TCP in the rest.

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

from trunkline.fluid.flow_sources import FlowSources
from trunkline.fluid.hop_loads import HopLoads
from trunkline.fluid.max_min_shares import divide_max_min
from trunkline.fluid.port_queues import (
    PortQueues,
    compute_available_rates,
    divide_link_rates,
    sum_by_index,
)
from trunkline.te.topology import Bools, Floats

MAX_ROUNDS: Final = 100
RELATIVE_TOLERANCE: Final = 1e-6  # Relative change at which a fixed point is reached.
MIN_ROUND_TRIP_S: Final = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class StreamRates:
    """Rates of the streams at their hops: S streams, H hops, Q classes of ports."""

    # sent, arrived: shape (S,): IP bits per second of each stream.
    sent: Floats
    arrived: Floats
    hop_rate: Floats  # shape (H,): IP bits per second of each hop, before its queue.
    # offered, served: shape (Q,): Bits per second on the wire.
    offered: Floats
    served: Floats
    overloaded: Bools  # shape (Q,): Classes that lose their excess.
    filled: Bools  # shape (Q,): Classes that TCP keeps full.
    kept_delay: Floats  # shape (Q,): Delay of the queue that is kept in such a class [s].
    unknown: Bools  # shape (Q,): Classes that a flow of unknown rate crosses.


def compute_rates(loads: HopLoads, queues: PortQueues, sources: FlowSources) -> StreamRates:
    """Find the rates of all streams."""
    paths = loads.paths
    offered = sources.rate[paths.flow]
    unknown = (
        np.bincount(loads.queue[np.isnan(offered)[paths.stream]], minlength=len(queues.level)) > 0
    )
    offered = np.where(np.isnan(offered), 0.0, offered)
    is_tcp = sources.is_tcp[paths.flow]
    elastic = is_tcp & ~paths.reverse & ~paths.lost & (offered > 0)
    open_rate = np.where(is_tcp | paths.reverse, 0.0, offered)
    tcp_rate = np.zeros(len(offered))
    ack_ratio = np.where(paths.reverse, sources.ack_ratio[paths.flow], 0.0)
    # The first streams are the data of the flows.
    ack_rate = open_rate[paths.flow] * ack_ratio
    filled = np.zeros(len(unknown), dtype=bool)
    kept_delay = np.zeros(len(unknown))
    for round_number in range(MAX_ROUNDS):
        hop_rate, passed_share = _compute_open_rates(loads, queues, open_rate + ack_rate, filled)
        served = loads.compute_class_load(hop_rate * passed_share[loads.queue])
        if not elastic.any():
            break
        room = _compute_tcp_room(
            loads, queues, served, loads.compute_class_load(tcp_rate[paths.stream]), filled
        )
        round_trip = _compute_round_trips(loads, kept_delay)
        ceiling = np.minimum(offered, sources.window[paths.flow] * 8 / round_trip)
        new_rate, filled = divide_max_min(
            loads, elastic, loads.packet_bytes / round_trip, ceiling, room
        )
        # Half way, since the queue sets the round trip and the round trip the queue.
        old_rate, tcp_rate = tcp_rate, (tcp_rate + new_rate) / 2 if round_number else new_rate
        old_delay = kept_delay
        new_delay = _compute_kept_delay(loads, queues, sources, filled & (room > 0), room + served)
        kept_delay = (old_delay + new_delay) / 2
        ack_rate = (open_rate + tcp_rate)[paths.flow] * ack_ratio
        is_settled = np.abs(new_delay - old_delay).max() <= RELATIVE_TOLERANCE * new_delay.max()
        if (
            round_number
            and is_settled
            and np.abs(tcp_rate - old_rate).max() <= RELATIVE_TOLERANCE * max(tcp_rate.max(), 1.0)
        ):
            break
    last_rate = hop_rate * passed_share[loads.queue]
    arrived = np.where(paths.lost, 0.0, _select_last_rate(loads, open_rate + ack_rate, last_rate))
    tcp_load = loads.compute_class_load(tcp_rate[paths.stream])
    return StreamRates(
        sent=open_rate + ack_rate + tcp_rate,
        arrived=np.where(elastic, tcp_rate, arrived),
        hop_rate=hop_rate + tcp_rate[paths.stream],
        offered=loads.compute_class_load(hop_rate) + tcp_load,
        served=served + tcp_load,
        overloaded=passed_share < 1 - RELATIVE_TOLERANCE,
        filled=filled,
        kept_delay=kept_delay,
        unknown=unknown,
    )


def _compute_open_rates(
    loads: HopLoads, queues: PortQueues, sent: Floats, filled: Bools
) -> tuple[Floats, Floats]:
    """Compute the rates of open flows at every hop, and the part that each class lets through."""
    passed_share = np.ones(len(filled))
    for round_number in range(MAX_ROUNDS):
        hop_rate = sent[loads.paths.stream]
        if (passed_share < 1).any():
            leg_rate = sent[loads.leg_stream]
            for hops in loads.hops_by_step:
                hop_rate[hops] = leg_rate[loads.paths.leg[hops]]
                leg_rate[loads.paths.leg[hops]] *= passed_share[loads.queue[hops]]
        load = loads.compute_class_load(hop_rate)
        granted = divide_link_rates(queues, np.where(filled, np.inf, load), loads.weight)
        new_share = np.where(load > granted, granted / np.where(load > 0, load, 1.0), 1.0)
        difference = np.abs(new_share - passed_share).max(initial=0.0)
        # Overload that feeds itself in a circle may swing: then half way.
        passed_share = (
            new_share if round_number < MAX_ROUNDS // 4 else (new_share + passed_share) / 2
        )
        if difference <= RELATIVE_TOLERANCE:
            break
    return hop_rate, passed_share


def _select_last_rate(loads: HopLoads, sent: Floats, hop_rate: Floats) -> Floats:
    """Select the last rate of each stream; of two legs, that of the leg with less loss."""
    stream_rate = np.zeros(len(sent))
    is_last_hop = np.r_[np.diff(loads.paths.leg) > 0, True][: len(hop_rate)]
    np.maximum.at(stream_rate, loads.paths.stream[is_last_hop], hop_rate[is_last_hop])
    has_hops = np.bincount(loads.paths.stream, minlength=len(sent)) > 0
    return np.where(has_hops, stream_rate, sent)


def _compute_tcp_room(
    loads: HopLoads, queues: PortQueues, served: Floats, carried: Floats, filled: Bools
) -> Floats:
    """Compute the rate that TCP may take of each class."""
    demand = np.where(filled, np.inf, served + carried)
    return np.maximum(compute_available_rates(queues, demand, loads.weight) - served, 0.0)


def _compute_round_trips(loads: HopLoads, kept_delay: Floats) -> Floats:
    """Round-trip time of each stream [s]."""
    one_way = loads.fixed + loads.sum_along(kept_delay)
    flows = int(loads.paths.flow.max(initial=-1)) + 1
    flow_delay = sum_by_index(loads.paths.flow, one_way, flows)
    return np.maximum(flow_delay, MIN_ROUND_TRIP_S)[loads.paths.flow]


def _compute_kept_delay(
    loads: HopLoads, queues: PortQueues, sources: FlowSources, filled: Bools, rate: Floats
) -> Floats:
    """Compute the delay of the queue that TCP keeps in each class it fills [s].

    Between full and the rest after all windows are halved for drop-tail, half way between
    the thresholds of RED, the target of PIE; never more than the windows hold.
    """
    count = len(rate)
    stream = loads.paths.stream
    is_tcp_data = sources.is_tcp[loads.paths.flow[stream]] & ~loads.paths.reverse[stream]
    tcp_streams = np.bincount(loads.queue[is_tcp_data], minlength=count)
    windows = sum_by_index(
        loads.queue[is_tcp_data], sources.window[loads.paths.flow[stream[is_tcp_data]]], count
    )
    round_trips = sum_by_index(
        loads.queue[is_tcp_data], _compute_round_trips(loads, rate * 0)[stream[is_tcp_data]], count
    )
    bytes_in_flight = rate / 8 * round_trips / np.maximum(tcp_streams, 1)
    buffer = np.minimum(queues.limits[:, 0], queues.limits[:, 1] * loads.class_packet_bytes)
    max_queue = np.maximum(np.minimum(buffer, windows - bytes_in_flight), 0.0)
    drop_tail_queue = (max_queue + np.maximum((max_queue - bytes_in_flight) / 2, 0.0)) / 2
    # RED's thresholds are packets, or bytes if negative.
    mean_threshold = (queues.tcp_min + queues.tcp_max) / 2
    red_queue = np.where(
        mean_threshold < 0, -mean_threshold, mean_threshold * loads.class_packet_bytes
    )
    queue_bytes = np.where(
        np.isfinite(mean_threshold), np.minimum(red_queue, max_queue), drop_tail_queue
    )
    divisor = np.where(rate > 0, rate, 1.0)
    kept_delay = np.where(
        np.isnan(queues.target_delay), queue_bytes * 8 / divisor, queues.target_delay
    )
    return np.where(filled, kept_delay, 0.0)
