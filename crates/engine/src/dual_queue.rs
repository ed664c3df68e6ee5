//! Two queues with one limit: ECT(1) and CE wait in one, all other packets in the other (RFC 9332).
//!
//! Source: RFC 9331 section 5.1 (which packets are of the low-latency queue); `aqm::DualPi2` decides
//! which queue sends and judges its head. Labels hide the ECN field: a labelled packet is classic.

use crate::queue::{QueueDecision, WaitingPacket};
use crate::ring::Ring;
use trunkline_packet::{Ecn, Packet};
use trunkline_port::aqm::{DepartingPacket, DualPi2, DualSide, QueueBacklog};
use trunkline_units::{RandomStream, Time};

/// The packets of a class with DualPI2.
#[derive(Clone, Debug)]
pub struct DualQueue {
    queues: [Ring<WaitingPacket>; 2],
    bytes: u64,
    aqm: DualPi2,
    random: RandomStream,
}

impl DualQueue {
    /// Empty queues.
    #[must_use]
    pub fn new(aqm: DualPi2, random: RandomStream) -> Self {
        Self { queues: [Ring::new(8), Ring::new(8)], bytes: 0, aqm, random }
    }

    /// The queue that a packet joins.
    #[must_use]
    pub fn side_of(packet: &Packet) -> u16 {
        let scalable = matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) && packet.labels.depth() == 0;
        if scalable {
            DualSide::LowLatency as u16
        } else {
            DualSide::Classic as u16
        }
    }

    /// Packets and bytes that wait.
    #[must_use]
    pub fn stored_backlog(&self) -> QueueBacklog {
        let packets = self.queues.iter().map(Ring::len).sum();
        QueueBacklog { packets, bytes: self.bytes }
    }

    /// Packets waiting, oldest first in each queue.
    pub fn iter(&self) -> impl Iterator<Item = &WaitingPacket> {
        self.queues.iter().flat_map(Ring::iter)
    }

    fn advance(&mut self, now: Time) {
        let heads = [0, 1].map(|side: usize| self.queues[side].front().map(|head| head.joined_at));
        self.aqm.advance(now, heads);
    }

    fn next(&self) -> Option<DualSide> {
        self.aqm
            .choose([0, 1].map(|side: usize| self.queues[side].front().map(|head| head.bytes())))
    }

    /// Bytes of the packet to be sent next.
    #[must_use]
    pub fn head(&self) -> Option<u32> {
        self.queues[self.next()? as usize].front().map(|head| head.bytes())
    }

    /// Stores a packet.
    pub fn push(&mut self, side: u16, waiting: WaitingPacket) {
        self.advance(waiting.joined_at);
        self.bytes += u64::from(waiting.bytes());
        self.queues[usize::from(side)].push(waiting);
    }

    /// Takes the packet to be sent next, which is then sent, or dropped.
    pub fn take(&mut self, now: Time) -> Option<(WaitingPacket, QueueDecision)> {
        self.advance(now);
        let side = self.next()?;
        let (backlog, waiting) = (self.bytes, self.queues[side as usize].pop()?);
        self.bytes -= u64::from(waiting.bytes());
        let leaving = DepartingPacket {
            side,
            wait: now - waiting.joined_at,
            behind: self.queues[side as usize].len(),
            backlog,
            can_mark: waiting.size.can_mark(),
        };
        let offer = QueueDecision::from_verdict(
            self.aqm.judge(&leaving, &mut self.random),
            waiting.size.can_mark(),
        );
        if offer != QueueDecision::Dropped(trunkline_packet::Cause::Early) {
            let other = !self.queues[1 - side as usize].is_empty();
            self.aqm.served(side, waiting.bytes(), other);
        }
        if self.stored_backlog().packets == 0 {
            self.aqm.rest();
        }
        Some((waiting, offer))
    }

    /// Takes a packet that is lost with the link.
    pub fn take_lost(&mut self, now: Time) -> Option<WaitingPacket> {
        self.advance(now);
        let waiting = self.queues[self.next()? as usize].pop()?;
        self.bytes -= u64::from(waiting.bytes());
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::SizeAndMarks;
    use trunkline_port::aqm::DualPi2Config;

    /// RFC 9332 section 2.4: one limit for both queues, so that their packets and bytes count together.
    #[test]
    fn rfc9332_s2_4_the_backlog_is_that_of_both_queues() {
        let config = DualPi2Config {
            target_ns: 15_000_000,
            tupdate_ns: 16_000_000,
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step_ns: 1_000_000,
            protection: 0.1,
            mtu_bytes: 1500,
        };
        let aqm = DualPi2::new(&config, 10_000_000).expect("a DualPI2");
        let mut queue = DualQueue::new(aqm, RandomStream::new(1, "test", "aqm"));
        let mut waiting = Vec::new();
        for (packet, side, bytes) in [(0, 0, 1000), (1, 1, 300), (2, 0, 40)] {
            let size = SizeAndMarks::new(bytes, 0, false);
            queue.push(side, WaitingPacket { joined_at: 0, packet, size });
            waiting.push(bytes);
            let packets = waiting.len() as u32;
            assert_eq!(
                queue.stored_backlog(),
                QueueBacklog {
                    packets,
                    bytes: waiting.iter().map(|bytes| u64::from(*bytes)).sum()
                }
            );
        }
        let mut left = 1340;
        while let Some((sent, _)) = queue.take(0) {
            left -= u64::from(sent.bytes());
            assert_eq!(queue.stored_backlog().bytes, left);
        }
        assert_eq!(left, 0);
        queue.push(
            1,
            WaitingPacket { joined_at: 0, packet: 3, size: SizeAndMarks::new(99, 0, false) },
        );
        assert!(queue.take_lost(0).is_some());
        assert_eq!(queue.stored_backlog(), QueueBacklog { packets: 0, bytes: 0 });
    }
}
