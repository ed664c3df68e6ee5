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
