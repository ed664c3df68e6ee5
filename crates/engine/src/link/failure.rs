//! A link that fails: the packets in its port and on its wire are lost.

use super::{Link, Port};
use trunkline_packet::PacketId;
use trunkline_port::aqm::QueueBacklog;
use trunkline_units::{Time, NEVER};

/// A packet that was in a link when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// The packet.
    pub packet: PacketId,
    /// It waited in the queue; else it was being transmitted or in flight.
    pub queued: bool,
    /// Its class.
    pub class: u16,
    /// Its drop precedence.
    pub precedence: u8,
}

impl Link {
    /// Empties port and wire at `now`. Returns the lost packets, in the order in which they would have
    /// arrived, and the waiting time that a FIFO had counted in advance and that will not occur.
    pub fn take_down_link(&mut self, now: Time) -> (Vec<LostPacket>, i128) {
        self.drain(now);
        self.close_area(now);
        let (mut lost, mut forgone) = (Vec::new(), 0);
        let first = self.undeparted().count() as u32;
        let first = self.wire.tail().wrapping_sub(first);
        let mut number = self.wire.head();
        let mut before = now;
        while let Some(departure) = self.wire.pop() {
            let packet = departure.packet;
            let in_port = departure.at > now && matches!(self.port, Port::Fifo(_));
            let queued = in_port && number != first;
            if in_port {
                self.counters.lose(packet.bytes(self.header));
            }
            if queued {
                // It would have waited until the packet before it had left.
                forgone += i128::from(before - now);
            }
            let precedence = packet.precedence();
            lost.push(LostPacket { packet: packet.id(), queued, class: 0, precedence });
            if in_port {
                self.report_loss_to_aqm(now, packet.bytes(self.header), precedence, queued);
            }
            before = departure.at;
            number = number.wrapping_add(1);
        }
        if self.is_plain_fifo() {
            self.area.sum -= forgone;
        }
        match &mut self.port {
            Port::Fifo(_) => {
                self.in_port = self.wire.tail();
                self.free_at = now;
            }
            Port::Classful(port) => {
                self.free_at = NEVER;
                lost.extend(port.cut(now));
            }
        }
        (lost, forgone)
    }

    /// Empties the wire of a link whose port is in another region, as [`Self::take_down_link`] does.
    pub fn cut_wire(&mut self, now: Time) -> Vec<LostPacket> {
        let mut lost = Vec::new();
        let mut in_service = self.is_fifo();
        while let Some(departure) = self.wire.pop() {
            let in_port = self.is_fifo() && departure.at > now;
            let queued = in_port && !std::mem::replace(&mut in_service, false);
            let (packet, precedence) = (departure.packet.id(), departure.packet.precedence());
            lost.push(LostPacket { packet, queued, class: 0, precedence });
        }
        self.in_port = self.wire.tail();
        lost
    }

    /// Takes a lost packet off the backlog that a FIFO's AQM sees.
    fn report_loss_to_aqm(&mut self, now: Time, bytes: u32, precedence: u8, queued: bool) {
        if self.is_plain_fifo() {
            return;
        }
        let Port::Fifo(fifo) = &mut self.port else { return };
        fifo.bytes_in_port -= u64::from(bytes);
        let packets = self.wire.len();
        if fifo.gate.counts_in_service() || queued {
            let left = QueueBacklog { packets, bytes: fifo.bytes_in_port };
            fifo.gate.on_departure(now, bytes, precedence, left);
        }
        if packets == 0 {
            fifo.gate.on_idle(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::link::{FifoQueue, Link, Port};
    use crate::queue::{QueueDecision, QueueGate, QueueLimit};
    use trunkline_port::aqm::{Aqm, AqmConfig, DropTailConfig};
    use trunkline_units::{RandomStream, TransmissionClock};

    /// 8 Mbit/s and 1000 B: 1 ms each. Five packets at time 0, propagation 1.5 ms, cut at 2.2 ms:
    /// packet 0 arrived at 2.5 ms would be in flight, 1 left at 2 ms and is in flight, 2 is being sent,
    /// 3 and 4 wait. They would have waited 3 and 4 ms: 0.8 and 1.8 ms do not occur.
    #[test]
    fn a_cut_separates_queued_packets_from_those_under_way_and_gives_back_their_waits() {
        let limit = QueueLimit { packets: 50, bytes: u64::MAX, counts_in_service: false };
        let aqm = Aqm::new(&AqmConfig::DropTail(DropTailConfig {}), 8_000_000).expect("drop-tail");
        let port = Port::Fifo(Box::new(FifoQueue::new(QueueGate::new(
            limit,
            aqm,
            RandomStream::new(1, "l", "aqm"),
        ))));
        let rate = TransmissionClock::new(8_000_000);
        let mut link = Link::new(1, 1_500_000, rate, 0, 1500, None, port);
        for id in 0..5 {
            let offer = link.offer_fifo(0, id, 1000, 0, false);
            assert_eq!(offer, QueueDecision::Queued { mark: false });
        }
        let (lost, forgone) = link.take_down_link(2_200_000);
        let queued: Vec<bool> = lost.iter().map(|lost| lost.queued).collect();
        assert_eq!(queued, [false, false, false, true, true]);
        assert_eq!(forgone, 800_000 + 1_800_000);
        assert_eq!((link.counters.lost_packets, link.counters.lost_bytes), (3, 3000));
        assert_eq!(link.in_port().packets, 0);
        // The port starts afresh: a packet offered now is sent at once.
        link.offer_fifo(2_200_000, 9, 1000, 0, false);
        assert_eq!(link.wire.front().map(|departure| departure.at), Some(3_200_000));
    }
    /// A limit of 4000 B besides the packet on the wire: five packets of 1000 B fit and a sixth does not.
    /// After a cut the port is empty, and five fit again.
    #[test]
    fn a_cut_empties_the_backlog_that_a_limit_in_bytes_sees() {
        let limit = QueueLimit { packets: u32::MAX, bytes: 4_000, counts_in_service: false };
        let aqm = Aqm::new(&AqmConfig::DropTail(DropTailConfig {}), 8_000_000).expect("drop-tail");
        let gate = QueueGate::new(limit, aqm, RandomStream::new(1, "l", "aqm"));
        let rate = TransmissionClock::new(8_000_000);
        let port = Port::Fifo(Box::new(FifoQueue::new(gate)));
        let mut link = Link::new(1, 1_500_000, rate, 0, 1500, None, port);
        for now in [0, 2_200_000] {
            for id in 0..6 {
                let offer = link.offer_fifo(now, id, 1000, 0, false);
                assert_eq!(offer == QueueDecision::Queued { mark: false }, id < 5, "{now} {id}");
            }
            link.take_down_link(now + 200_000);
            assert_eq!(link.in_port().bytes, 0);
        }
    }
}
