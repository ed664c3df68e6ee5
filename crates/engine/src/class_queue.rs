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

/// One class. Two cache lines have all that a packet of a plain class changes: queue and limit, counters.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct ClassQueue {
    store: QueueKind,
    gate: QueueGate,
    /// Counters since the warm-up.
    pub counters: QueueCounters,
    /// Integral of the packets waiting over time [packet ns].
    pub area: TimeIntegral,
    /// Whether the integral of the queue comes from the waits (of a port with plain classes), where the time
    /// of measurement begins and ends.
    pub area_from_waits: bool,
}

impl ClassQueue {
    /// An empty class with one queue, or with one for each flow behind the `gate`.
    #[must_use]
    pub fn new(gate: QueueGate, flows: Option<FlowQueues>) -> Self {
        let store = match flows {
            Some(flows) => QueueKind::Flows(Box::new(flows)),
            None => QueueKind::One { queue: Ring::new(8), bytes: 0 },
        };
        Self {
            store,
            gate,
            area_from_waits: false,
            counters: QueueCounters::default(),
            area: TimeIntegral::default(),
        }
    }

    /// An empty class whose packets wait in two queues behind the `gate`.
    #[must_use]
    pub fn dual(gate: QueueGate, queues: DualQueue) -> Self {
        Self { store: QueueKind::Dual(Box::new(queues)), ..Self::new(gate, None) }
    }

    /// Brings the integral of waiting packets up to `now`.
    pub fn close_area(&mut self, now: Time) {
        if !self.area_from_waits {
            self.area.add(self.stored_backlog().packets, now);
        }
    }

    /// Begins the integral of waiting packets at `now`, after `close_area(now)`.
    pub fn restart_area(&mut self, now: Time) {
        self.area.sum = if self.area_from_waits { -self.waits_so_far(now) } else { 0 };
    }

    /// The integral of waiting packets up to the end of the run.
    pub fn end_area(&mut self, now: Time) {
        self.close_area(now);
        if self.area_from_waits {
            self.area.sum += self.counters.wait + self.waits_so_far(now);
        }
    }

    /// Waits up to `now` of the packets that still wait, which are not counted yet [ns].
    pub fn waits_so_far(&self, now: Time) -> i128 {
        self.waiting().map(|waiting| i128::from(now - waiting.joined_at)).sum()
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
            QueueKind::One { queue, .. } => queue.front().map(|waiting| waiting.bytes()),
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
        !self.gate.has_aqm() && self.pass_plain(bytes)
    }

    /// The same of a class that drops at the tail alone.
    #[inline(always)]
    pub fn pass_plain(&mut self, bytes: u32) -> bool {
        let passes = self.gate.has_room(QueueBacklog::default(), bytes, true);
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
        let (before, size) = (queue.len(), waiting.bytes());
        let mut backlog = QueueBacklog { packets: before, bytes: *bytes };
        if self.gate.counts_in_service() && in_service > 0 {
            backlog.packets += 1;
            backlog.bytes += u64::from(in_service);
        }
        if !self.gate.has_room(backlog, size, false) {
            self.counters.refuse(size);
            return None;
        }
        self.counters.enter(size);
        self.counters.waiting_max = self.counters.waiting_max.max(before + 1);
        *bytes += u64::from(size);
        queue.push(waiting);
        Some(before == 0)
    }

    /// Takes the head of such a class, in which a packet waits, to be sent at `now`, if it has at most so
    /// many bytes; whether none waits any more.
    #[inline(always)]
    pub fn leave_plain(&mut self, now: Time, most_bytes: u64) -> Option<(WaitingPacket, bool)> {
        let QueueKind::One { queue, bytes } = &mut self.store else { return None };
        let waiting = *queue.get(queue.head());
        let size = u64::from(waiting.bytes());
        if size > most_bytes {
            return None;
        }
        let now_empty = queue.drop_front();
        *bytes -= size;
        self.counters.wait(now - waiting.joined_at);
        self.counters.started += 1;
        Some((waiting, now_empty))
    }

    /// Stores a packet that was let in.
    #[inline]
    pub fn push(&mut self, flow: u16, waiting: WaitingPacket) {
        self.close_area(waiting.joined_at);
        self.counters.enter(waiting.bytes());
        match &mut self.store {
            QueueKind::One { queue, bytes } => {
                queue.push(waiting);
                *bytes += u64::from(waiting.bytes());
                self.gate.on_enqueue(waiting.bytes(), waiting.precedence());
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
            counters.discard(waiting.bytes(), now - waiting.joined_at);
            dropped(waiting);
        });
    }

    /// Takes the packet to be sent next, which is then sent, or dropped.
    #[inline]
    pub fn take(&mut self, now: Time) -> (WaitingPacket, QueueDecision) {
        self.close_area(now);
        let departure = match &mut self.store {
            QueueKind::One { queue, bytes } => queue.pop().map(|waiting| {
                *bytes -= u64::from(waiting.bytes());
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
            self.counters.discard(waiting.bytes(), wait);
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
                *bytes -= u64::from(waiting.bytes());
                let left = QueueBacklog { packets: queue.len(), bytes: *bytes };
                self.gate.on_departure(now, waiting.bytes(), waiting.precedence(), left);
                waiting
            }
            QueueKind::Flows(flows) => flows.take_lost(now)?,
            QueueKind::Dual(queues) => queues.take_lost(now)?,
        };
        self.counters.wait(now - waiting.joined_at);
        self.counters.started += 1;
        self.counters.lose(waiting.bytes());
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
    let WaitingPacket { joined_at: since, size, .. } = *waiting;
    let (bytes, precedence, can_mark) = (size.bytes(), size.precedence(), size.can_mark());
    let offer = gate.release(&HeadPacket { now, since, bytes, precedence, left, can_mark });
    if !gate.counts_in_service() || matches!(offer, QueueDecision::Dropped(_)) {
        gate.on_departure(now, bytes, precedence, left);
    }
    offer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{QueueLimit, SizeAndMarks};
    use proptest::prelude::*;
    use trunkline_port::aqm::{Aqm, DropTail};
    use trunkline_units::RandomStream;

    /// A class for `packets` packets and `bytes` bytes.
    fn class(packets: u32, bytes: u64, counts_in_service: bool) -> ClassQueue {
        let limit = QueueLimit { packets, bytes, counts_in_service };
        let random = RandomStream::new(1, "class", "aqm");
        ClassQueue::new(QueueGate::new(limit, Aqm::DropTail(DropTail), random), None)
    }

    /// Offers a packet the long way, with an admission for any AQM.
    fn offer(class: &mut ClassQueue, waiting: WaitingPacket, in_service: u32) -> Option<bool> {
        let (now, bytes) = (waiting.joined_at, waiting.bytes());
        let arrival = Arrival { now, bytes, precedence: 0, backlog: class.backlog(in_service) };
        let was_empty = class.is_empty();
        if let QueueDecision::Dropped(_) = class.admit(0, &arrival, false, false) {
            class.counters.refuse(bytes);
            return None;
        }
        class.push(0, waiting);
        class.count_waiting();
        Some(was_empty)
    }

    proptest! {
        /// A class of a plain port lets in, drops and counts as one that goes the long way. The integral of
        /// its queue, which comes from the waits, is the one that the other updates at each change.
        #[test]
        fn a_class_by_the_short_way_counts_as_one_by_the_long_way(
            steps in proptest::collection::vec((0u64..3_000, 40u32..1500, 0u8..9, prop_oneof![Just(0), 40u32..1500]), 1..300),
            packets in 1u32..8,
            bytes in prop_oneof![Just(u64::MAX), 1500u64..6_000],
            counts_in_service: bool,
        ) {
            let mut short = class(packets, bytes, counts_in_service);
            let mut long = class(packets, bytes, counts_in_service);
            short.area_from_waits = true;
            let mut now = 0;
            for (packet, (pause, bytes, kind, in_service)) in (0..).zip(steps) {
                now += pause;
                match kind {
                    0 => {
                        for class in [&mut short, &mut long] {
                            class.close_area(now);
                            let waiting_max = class.stored_backlog().packets;
                            class.counters = QueueCounters { waiting_max, ..Default::default() };
                            class.restart_area(now);
                        }
                    }
                    1..=4 if !short.is_empty() => {
                        prop_assert_eq!(short.head(now), long.head(now));
                        let most = u64::from(short.head(now).unwrap_or(0));
                        prop_assert!(short.leave_plain(now, most - 1).is_none());
                        let left = short.leave_plain(now, most).map(|(it, empty)| (it.packet, empty));
                        let (taken, _) = long.take(now);
                        prop_assert_eq!(left, Some((taken.packet, long.is_empty())));
                    }
                    _ => {
                        let size = SizeAndMarks::new(bytes, 0, false);
                        let waiting = WaitingPacket { joined_at: now, packet, size };
                        let joined = short.join_plain(waiting, in_service);
                        prop_assert_eq!(joined, offer(&mut long, waiting, in_service));
                    }
                }
            }
            short.end_area(now);
            long.end_area(now);
            prop_assert_eq!(short.area.sum, long.area.sum);
            prop_assert_eq!(short.stored_backlog(), long.stored_backlog());
            prop_assert_eq!(format!("{:?}", short.counters), format!("{:?}", long.counters));
        }
    }
}
