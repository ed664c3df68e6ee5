//! A drop-tail port without other functions: the common case of a hop.
//!
//! The number of packets in the port matters only above its previous maximum, as only then the maximum
//! changes or the port may be full. Until then departures are not looked up. The integral of the queue
//! is the sum of the waits, less those that are still due: it is computed where the time of measurement
//! begins and ends.

use super::{Departure, Link, OnwardHop, PacketOnWire, PortKind};
use crate::queue::QueueDecision;
use trunkline_packet::{Cause, PacketId};
use trunkline_units::Time;

impl Link {
    /// Whether the near end has only a plain port.
    #[inline(always)]
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.kind == PortKind::PlainFifo && !self.has_near_end
    }

    /// Whether an unlabelled packet of so many bytes may take its header along on the wire: each has an event at the
    /// far end, none but a plain port is at the near end, and none but the node at the far end.
    #[inline(always)]
    #[must_use]
    pub fn takes_header(&self, ip_bytes: u32) -> bool {
        self.is_bare()
            && !self.has_far_end
            && self.onward == OnwardHop::Arrives
            && ip_bytes <= self.mtu
    }

    /// Whether the port is a plain FIFO, whatever else is at the near end.
    #[inline(always)]
    #[must_use]
    pub fn is_plain_fifo(&self) -> bool {
        self.kind == PortKind::PlainFifo
    }

    /// The packet put on the wire last.
    #[inline(always)]
    #[must_use]
    pub fn newest(&self) -> &Departure {
        self.wire.get(self.wire.tail().wrapping_sub(1))
    }

    /// Offers a packet to a plain port.
    #[inline(always)]
    pub fn offer_plain(
        &mut self,
        now: Time,
        packet: PacketId,
        bytes: u32,
        precedence: u8,
    ) -> QueueDecision {
        if !self.has_room(now) {
            self.counters.refuse(bytes);
            return QueueDecision::Dropped(Cause::QueueFull);
        }
        self.enter_plain(now, PacketOnWire::new(packet, bytes, precedence), bytes);
        QueueDecision::Queued { mark: false }
    }

    /// Whether a plain port admits a packet that arrives at `now`.
    #[inline(always)]
    pub fn has_room(&mut self, now: Time) -> bool {
        // All have left a port that rests. Without a branch, since whether it does is hard to predict.
        let tail = self.wire.tail();
        let rests = (self.free_at as i64).wrapping_sub(now as i64 + 1) >> 63;
        self.in_port = self.in_port.wrapping_add(tail.wrapping_sub(self.in_port) & rests as u32);
        // Upper bound of the packets in the port: neither arrived, nor known to have left.
        let held = tail.wrapping_sub(self.in_port).min(self.wire.len());
        held <= self.waiting_max || self.has_room_left(now)
    }

    #[inline(never)]
    fn has_room_left(&mut self, now: Time) -> bool {
        self.drain_plain(now);
        let held = self.wire.tail().wrapping_sub(self.in_port);
        let room = held < self.capacity;
        if room {
            // All packets in the port wait except one, and the arriving one does: as many.
            self.waiting_max = self.waiting_max.max(held);
        }
        room
    }

    /// Lets a packet of so many bytes into a plain port that has room for it; when its last bit leaves.
    #[inline(always)]
    pub fn enter_plain(&mut self, now: Time, packet: PacketOnWire, bytes: u32) -> Time {
        let start = self.free_at.max(now);
        let depart = start + self.byte_time.transmission_time(bytes, &mut self.serializer);
        self.free_at = depart;
        self.wire.push(Departure { at: depart, packet });
        self.count_entry(bytes, start - now);
        depart
    }

    /// Brings a plain port up to `now`.
    pub(super) fn drain_plain(&mut self, now: Time) {
        let (head, tail) = (self.wire.head(), self.wire.tail());
        // Arrived packets had left.
        if (head.wrapping_sub(self.in_port) as i32) > 0 {
            self.in_port = head;
        }
        while self.in_port != tail && self.wire.get(self.in_port).at <= now {
            self.in_port = self.in_port.wrapping_add(1);
        }
    }

    /// Waits of a FIFO, from `now` on, that are counted already, after `drain(now)` [ns].
    #[must_use]
    pub fn waits_to_come(&self, now: Time) -> i128 {
        let mut starts = self.undeparted().peekable();
        let mut sum = 0;
        while let Some(before) = starts.next() {
            // Each but the first is sent when the one before it has left.
            if starts.peek().is_some() {
                sum += i128::from(before.at - now);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use crate::link::{FifoQueue, Link, Port};
    use crate::queue::{QueueGate, QueueLimit};
    use proptest::prelude::*;
    use trunkline_port::aqm::{Aqm, AqmConfig, DropTailConfig};
    use trunkline_units::{ByteTime, RandomStream, TransmissionClock, SECOND};

    /// A port for `packets` packets; one limited in bytes too looks up each departure.
    fn link(packets: u32, counts_in_service: bool, bytes: u64) -> Link {
        let limit = QueueLimit { packets, bytes, counts_in_service };
        let aqm = Aqm::new(&AqmConfig::DropTail(DropTailConfig {}), 8_000_000).expect("drop-tail");
        let port = Port::Fifo(Box::new(FifoQueue::new(QueueGate::new(
            limit,
            aqm,
            RandomStream::new(1, "l", "aqm"),
        ))));
        Link::new(1, 700, TransmissionClock::new(7_000_000_000), 0, 1500, None, port)
    }

    /// At 1 bit/s 1500 B take 12,000 s, so 2000 packets at once wait 0, 1, 2 ... times that.
    #[test]
    fn waits_whose_sum_needs_more_than_64_bits_are_counted() {
        let mut link = link(2000, false, u64::MAX);
        link.serializer = TransmissionClock::new(1);
        link.byte_time = ByteTime::new(&link.serializer);
        for number in 0..2000 {
            link.offer_fifo(0, number, 1500, 0, false);
        }
        let counters = link.fifo_counters();
        let expected = 12_000 * i128::from(SECOND) * 2000 * 1999 / 2;
        assert!(expected > i128::from(u64::MAX));
        assert_eq!((counters.packets, counters.wait), (2000, expected));
        assert_eq!(counters.wait_max, 12_000 * SECOND * 1999);
    }

    /// Departures and packets on the wire.
    fn seen(link: &Link) -> Vec<(u64, u32)> {
        link.wire.iter().map(|it| (it.at, it.packet.id())).collect()
    }

    proptest! {
        /// Packets are forwarded, delivered at the far end and counted alike in a port that looks up
        /// each departure; the integral of the queue, which that port updates step by step, is the same.
        #[test]
        fn a_port_that_looks_seldom_counts_as_one_that_always_looks(
            steps in proptest::collection::vec((0u64..3_000, 40u32..1500, 0u8..9), 1..300),
            packets in 1u32..8,
            counts_in_service: bool,
        ) {
            let mut seldom = link(packets, counts_in_service, u64::MAX);
            let mut always = link(packets, counts_in_service, u64::MAX - 1);
            prop_assert!(seldom.is_plain_fifo() && !always.is_plain_fifo());
            let mut now = 0;
            for (number, (pause, bytes, kind)) in (0..).zip(steps) {
                now += pause;
                for link in [&mut seldom, &mut always] {
                    while link.wire.front().is_some_and(|it| it.at + link.delay <= now) {
                        link.wire.pop();
                    }
                    if kind == 0 {
                        link.drain(now);
                        link.close_area(now);
                        link.restart_counters();
                        link.restart_area(now);
                    }
                }
                let offers = [&mut seldom, &mut always]
                    .map(|link| link.offer_fifo(now, number, bytes, 0, false));
                prop_assert_eq!(offers[0], offers[1]);
                prop_assert_eq!(seen(&seldom), seen(&always));
            }
            for link in [&mut seldom, &mut always] {
                link.drain(now);
                link.end_area(now);
            }
            prop_assert_eq!(seldom.in_port(), always.in_port());
            prop_assert_eq!(seldom.area.sum, always.area.sum);
            prop_assert_eq!(
                format!("{:?}", seldom.fifo_counters()),
                format!("{:?}", always.fifo_counters())
            );
        }
    }
}
