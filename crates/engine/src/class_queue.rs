//! A class of a port: its queue, or its queues by flow, and its counters.

use crate::dual_queue::DualQueue;
use crate::flow_queue::FlowQueues;
use crate::queue::{QueueCounters, QueueDecision, QueueGate, WaitingPacket};
use crate::ring::Ring;
use crate::time_integral::TimeIntegral;
use trunkline_packet::Packet;
use trunkline_port::aqm::{Arrival, HeadPacket, QueueBacklog};
use trunkline_units::Time;

/// Where the packets of a class wait.
#[derive(Clone, Debug)]
enum QueueKind {
    /// In order of arrival.
    One { queue: Ring<WaitingPacket>, bytes: u64 },
    /// In a queue for each flow.
    Flows(Box<FlowQueues>),
    /// In two, by the ECN field.
    Dual(Box<DualQueue>),
}

/// One class.
#[derive(Clone, Debug)]
pub struct ClassQueue {
    store: QueueKind,
    gate: QueueGate,
    /// Counters since the warm-up.
    pub counters: QueueCounters,
    /// Integral of the packets waiting over time [packet ns].
    pub area: TimeIntegral,
}

impl ClassQueue {
    /// An empty class with one queue, or with one for each flow behind the `gate`.
    #[must_use]
    pub fn new(gate: QueueGate, flows: Option<FlowQueues>) -> Self {
        let store = match flows {
            Some(flows) => QueueKind::Flows(Box::new(flows)),
            None => QueueKind::One { queue: Ring::new(8), bytes: 0 },
        };
        Self { store, gate, counters: QueueCounters::default(), area: TimeIntegral::default() }
    }

    /// An empty class whose packets wait in two queues behind the `gate`.
    #[must_use]
    pub fn dual(gate: QueueGate, queues: DualQueue) -> Self {
        Self { store: QueueKind::Dual(Box::new(queues)), ..Self::new(gate, None) }
    }

    /// Brings the integral of waiting packets up to `now`.
    pub fn close_area(&mut self, now: Time) {
        self.area.add(self.stored_backlog().packets, now);
    }

    /// Packets waiting, oldest first in each queue.
    pub fn waiting(&self) -> Box<dyn Iterator<Item = &WaitingPacket> + '_> {
        match &self.store {
            QueueKind::One { queue, .. } => Box::new(queue.iter()),
            QueueKind::Flows(flows) => Box::new(flows.iter()),
            QueueKind::Dual(queues) => Box::new(queues.iter()),
        }
    }

    /// Notes how many wait now.
    #[inline]
    pub fn count_waiting(&mut self) {
        self.counters.waiting_max = self.counters.waiting_max.max(self.stored_backlog().packets);
    }

    /// Packets and bytes that wait.
    #[inline]
    #[must_use]
    pub fn stored_backlog(&self) -> QueueBacklog {
        match &self.store {
            QueueKind::One { queue, bytes } => QueueBacklog { packets: queue.len(), bytes: *bytes },
            QueueKind::Flows(flows) => flows.stored_backlog(),
            QueueKind::Dual(queues) => queues.stored_backlog(),
        }
    }

    /// Whether no packet waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stored_backlog().packets == 0
    }

    /// The backlog as the limit counts it, with a packet of `in_service` bytes in service.
    #[must_use]
    pub fn backlog(&self, in_service: u32) -> QueueBacklog {
        let mut backlog = self.stored_backlog();
        if self.gate.counts_in_service() && in_service > 0 {
            backlog.packets += 1;
            backlog.bytes += u64::from(in_service);
        }
        backlog
    }

    /// Bytes of the packet to be sent next.
    #[inline(always)]
    pub fn head(&mut self, now: Time) -> Option<u32> {
        match &mut self.store {
            QueueKind::One { queue, .. } => queue.front().map(|waiting| waiting.bytes),
            QueueKind::Flows(flows) => flows.head(now),
            QueueKind::Dual(queues) => queues.head(),
        }
    }

    /// Average that the AQM keeps, or that of one precedence.
    #[must_use]
    pub fn average(&self, precedence: Option<u8>) -> Option<f64> {
        self.gate.average(precedence)
    }

    /// The queue that a packet joins, of those by flow.
    #[inline]
    pub fn flow_of(&mut self, packet: &Packet) -> u16 {
        match &mut self.store {
            QueueKind::One { .. } => 0,
            QueueKind::Flows(flows) => flows.queue_of(packet),
            QueueKind::Dual(_) => DualQueue::side_of(packet),
        }
    }

    /// Judges an arrival; `idle` is whether no packet is before it.
    #[inline]
    pub fn admit(
        &mut self,
        flow: u16,
        arrival: &Arrival,
        idle: bool,
        can_mark: bool,
    ) -> QueueDecision {
        let QueueKind::Flows(flows) = &mut self.store else {
            return self.gate.admit(arrival, idle, can_mark);
        };
        if flows.refuses_when_full() {
            if let refused @ QueueDecision::Dropped(_) = self.gate.admit(arrival, idle, can_mark) {
                return refused;
            }
        }
        flows.admit(flow, arrival, idle, can_mark)
    }

    /// Whether packets may be dropped or marked when they are taken.
    #[must_use]
    pub fn judges_heads(&self) -> bool {
        !matches!(self.store, QueueKind::One { .. }) || self.gate.judges_heads()
    }

    /// Whether an AQM watches the class as one queue.
    #[inline(always)]
    #[must_use]
    pub fn has_aqm(&self) -> bool {
        self.gate.has_aqm()
    }

    /// Passes a packet through an empty class without an AQM, without storing it.
    #[inline(always)]
    pub fn count_passed(&mut self, bytes: u32) -> bool {
        let QueueKind::One { .. } = self.store else { return false };
        let passes =
            !self.gate.has_aqm() && self.gate.has_room(QueueBacklog::default(), bytes, true);
        if passes {
            self.counters.enter(bytes);
            self.counters.started += 1;
        }
        passes
    }

    /// Stores a packet of a class that drops at the tail alone behind `in_service` bytes of the class that
    /// are being sent. Returns whether none waited; nothing if it was refused.
    #[inline(always)]
    pub fn join_plain(&mut self, waiting: WaitingPacket, in_service: u32) -> Option<bool> {
        let QueueKind::One { queue, bytes } = &mut self.store else { return None };
        let before = queue.len();
        let mut backlog = QueueBacklog { packets: before, bytes: *bytes };
        if self.gate.counts_in_service() && in_service > 0 {
            backlog.packets += 1;
            backlog.bytes += u64::from(in_service);
        }
        if !self.gate.has_room(backlog, waiting.bytes, false) {
            self.counters.refuse(waiting.bytes);
            return None;
        }
        self.area.add(before, waiting.joined_at);
        self.counters.enter(waiting.bytes);
        self.counters.waiting_max = self.counters.waiting_max.max(before + 1);
        *bytes += u64::from(waiting.bytes);
        queue.push(waiting);
        Some(before == 0)
    }

    /// Takes the head of such a class, which is sent at `now`; whether none waits any more.
    #[inline(always)]
    pub fn leave_plain(&mut self, now: Time) -> Option<(WaitingPacket, bool)> {
        let QueueKind::One { queue, bytes } = &mut self.store else { return None };
        self.area.add(queue.len(), now);
        let waiting = queue.pop()?;
        *bytes -= u64::from(waiting.bytes);
        self.counters.wait(now - waiting.joined_at);
        self.counters.started += 1;
        Some((waiting, queue.is_empty()))
    }

    /// Stores a packet that was let in.
    #[inline]
    pub fn push(&mut self, flow: u16, waiting: WaitingPacket) {
        self.close_area(waiting.joined_at);
        self.counters.enter(waiting.bytes);
        match &mut self.store {
            QueueKind::One { queue, bytes } => {
                queue.push(waiting);
                *bytes += u64::from(waiting.bytes);
                self.gate.on_enqueue(waiting.bytes, waiting.precedence);
            }
            QueueKind::Flows(flows) => flows.push(flow, waiting),
            QueueKind::Dual(queues) => queues.push(flow, waiting),
        }
    }

    /// Cuts the longest flow where all of them together exceed the limit.
    #[inline]
    pub fn drop_overflow(&mut self, now: Time, mut dropped: impl FnMut(WaitingPacket)) {
        let QueueKind::Flows(flows) = &mut self.store else { return };
        if self.gate.is_within(flows.stored_backlog()) {
            return;
        }
        self.area.add(flows.stored_backlog().packets, now);
        let counters = &mut self.counters;
        flows.drop_overflow(now, |waiting| {
            counters.discard(waiting.bytes, now - waiting.joined_at);
            dropped(waiting);
        });
    }

    /// Takes the packet to be sent next, which is then sent, or dropped.
    #[inline]
    pub fn take(&mut self, now: Time) -> (WaitingPacket, QueueDecision) {
        self.close_area(now);
        let departure = match &mut self.store {
            QueueKind::One { queue, bytes } => queue.pop().map(|waiting| {
                *bytes -= u64::from(waiting.bytes);
                let left = QueueBacklog { packets: queue.len(), bytes: *bytes };
                (waiting, release_head(&mut self.gate, &waiting, now, left))
            }),
            QueueKind::Flows(flows) => flows.take(now),
            QueueKind::Dual(queues) => queues.take(now),
        };
        let Some((waiting, offer)) = departure else {
            unreachable!("a scheduler chooses among classes that have a packet")
        };
        let wait = now - waiting.joined_at;
        if let QueueDecision::Queued { .. } = offer {
            self.counters.wait(wait);
            self.counters.started += 1;
        } else {
            self.counters.discard(waiting.bytes, wait);
        }
        (waiting, offer)
    }

    /// A packet of the class has been sent, to its last bit.
    #[inline]
    pub fn on_served(&mut self, now: Time, bytes: u32, precedence: u8) {
        if let (true, QueueKind::One { .. }) = (self.gate.counts_in_service(), &self.store) {
            let left = self.stored_backlog();
            self.gate.on_departure(now, bytes, precedence, left);
        }
    }

    /// The class is empty, and its last packet has been sent.
    #[inline]
    pub fn on_idle(&mut self, now: Time) {
        self.gate.on_idle(now);
    }

    /// Takes a packet that is lost with the link.
    pub fn take_lost(&mut self, now: Time) -> Option<WaitingPacket> {
        self.close_area(now);
        let waiting = match &mut self.store {
            QueueKind::One { queue, bytes } => {
                let waiting = queue.pop()?;
                *bytes -= u64::from(waiting.bytes);
                let left = QueueBacklog { packets: queue.len(), bytes: *bytes };
                self.gate.on_departure(now, waiting.bytes, waiting.precedence, left);
                waiting
            }
            QueueKind::Flows(flows) => flows.take_lost(now)?,
            QueueKind::Dual(queues) => queues.take_lost(now)?,
        };
        self.counters.wait(now - waiting.joined_at);
        self.counters.started += 1;
        self.counters.lose(waiting.bytes);
        Some(waiting)
    }
}

/// Asks the gate of the only queue about its head, and reports the departure to it.
#[inline]
fn release_head(
    gate: &mut QueueGate,
    waiting: &WaitingPacket,
    now: Time,
    left: QueueBacklog,
) -> QueueDecision {
    let WaitingPacket { bytes, precedence, can_mark, joined_at: since, .. } = *waiting;
    let offer = gate.release(&HeadPacket { now, since, bytes, precedence, left, can_mark });
    if !gate.counts_in_service() || matches!(offer, QueueDecision::Dropped(_)) {
        gate.on_departure(now, bytes, precedence, left);
    }
    offer
}
