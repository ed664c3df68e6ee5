"""Data of the streams' hops for the rates: class after each hop, bits on the wire, delay."""

from dataclasses import dataclass, replace

import numpy as np

from trunkline.fluid.flow_sources import FlowSources
from trunkline.fluid.port_queues import PortQueues, sum_by_index
from trunkline.fluid.stream_paths import StreamPaths
from trunkline.te.topology import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class HopLoads:
    """Hops of S streams, H hops, Q classes of ports."""

    paths: StreamPaths
    queue: Ints  # shape (H,): Class of a port that each hop goes through.
    packet_bytes: Floats  # shape (S,): Mean IP bytes of a packet of each stream.
    wire_bits_per_bit: Floats  # shape (H,): Bits on the wire for a bit of IP packets.
    leg_count: int
    leg_stream: Ints  # shape (legs,): Stream of each.
    hops_by_step: tuple[Ints, ...]  # The first hops of all legs, the second, and so on.
    fixed: Floats  # shape (S,): Propagation and transmission from end to end [s].
    class_packet_bytes: Floats  # shape (Q,): Mean bytes of a packet on the wire, over streams.
    weight: Floats  # shape (Q,): Weights of classes, counted in bits.

    def sum_along(self, value: Floats) -> Floats:
        """Sum of a value of classes over the hops of each stream; of two legs the smaller."""
        return _select_lesser_leg(
            self, sum_by_index(self.paths.leg, value[self.queue], self.leg_count)
        )

    def compute_class_load(self, hop_rate: Floats) -> Floats:
        """Compute the bits per second on the wire of each class, by IP rates of hops."""
        return sum_by_index(
            self.queue, hop_rate * self.wire_bits_per_bit, len(self.class_packet_bytes)
        )


def _select_lesser_leg(hop_loads: HopLoads, by_leg: Floats) -> Floats:
    stream_value = np.full(len(hop_loads.packet_bytes), np.inf)
    # Not a number stays that: a stream with a hop without an answer has none.
    with np.errstate(invalid="ignore"):
        np.minimum.at(stream_value, hop_loads.leg_stream, by_leg)
    return np.where(np.isinf(stream_value), 0.0, stream_value)


def compute_hop_loads(
    paths: StreamPaths, queues: PortQueues, sources: FlowSources, delay: Floats
) -> HopLoads:
    """Work it out. delay: shape (L,): Propagation of each link [s]."""
    size = np.where(paths.reverse, sources.ack_bytes[paths.flow], sources.size[paths.flow])
    stream_bytes = size[paths.stream]
    legs = int(paths.leg[-1]) + 1 if len(paths.leg) else 0
    leg_stream = np.zeros(legs, dtype=np.int64)
    leg_stream[paths.leg] = paths.stream
    queue = queues.first[paths.link] + paths.class_
    count = np.bincount(queue, minlength=len(queues.level))
    total = sum_by_index(queue, stream_bytes + paths.header, len(queues.level))
    packet = np.where(count > 0, total / np.maximum(count, 1), 1.0)
    order = np.argsort(paths.step, kind="stable")
    steps = np.flatnonzero(np.diff(paths.step[order])) + 1
    without_delay = HopLoads(
        paths=paths,
        queue=queue,
        packet_bytes=size,
        wire_bits_per_bit=(stream_bytes + paths.header) / stream_bytes,
        leg_count=legs,
        leg_stream=leg_stream,
        hops_by_step=tuple(np.split(order, steps)),
        fixed=np.zeros(len(size)),
        class_packet_bytes=packet,
        weight=np.where(queues.by_packet, queues.weight * packet, queues.weight),
    )
    hop_delay = delay[paths.link] + 8 * (stream_bytes + paths.header) / queues.rate[paths.link]
    return replace(
        without_delay,
        fixed=_select_lesser_leg(without_delay, sum_by_index(paths.leg, hop_delay, legs)),
    )
