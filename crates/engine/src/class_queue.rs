//! A class of a port: its queue, or its queues by flow, and its counters.

use crate::area::Area;
use crate::dual_queue::DualQueue;
use crate::flow_queue::FlowQueues;
use crate::queue::{Gate, Offer, QueueCounters, Waiting};
use crate::ring::Ring;
use trunkline_packet::Packet;
use trunkline_port::aqm::{Arrival, HeadPacket, QueueBacklog};
use trunkline_units::Time;

/// Where the packets of a class wait.
#[derive(Clone, Debug)]
enum Store {
    /// In order of arrival.
    One { queue: Ring<Waiting>, bytes: u64 },
    /// In a queue for each flow.
    Flows(Box<FlowQueues>),
    /// In two, by the ECN field.
    Dual(Box<DualQueue>),
}

/// One class.
#[derive(Clone, Debug)]
pub struct ClassQueue {
    store: Store,
    gate: Gate,
    /// Counters since the warm-up.
    pub counters: QueueCounters,
    /// Integral of the packets waiting over time [packet ns].
    pub area: Area,
}

impl ClassQueue {
    /// An empty class with one queue, or with one for each flow behind the `gate`.
    #[must_use]
    pub fn new(gate: Gate, flows: Option<FlowQueues>) -> Self {
        let store = match flows {
            Some(flows) => Store::Flows(Box::new(flows)),
            None => Store::One { queue: Ring::new(8), bytes: 0 },
        };
        Self { store, gate, counters: QueueCounters::default(), area: Area::default() }
    }

    /// An empty class whose packets wait in two queues behind the `gate`.
    #[must_use]
    pub fn dual(gate: Gate, queues: DualQueue) -> Self {
        Self { store: Store::Dual(Box::new(queues)), ..Self::new(gate, None) }
    }

    /// Brings the integral of waiting packets up to `now`.
    pub fn close_area(&mut self, now: Time) {
        self.area.add(self.held().packets, now);
    }

    /// Packets waiting, oldest first in each queue.
    pub fn waiting(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        match &self.store {
            Store::One { queue, .. } => Box::new(queue.iter()),
            Store::Flows(flows) => Box::new(flows.iter()),
            Store::Dual(queues) => Box::new(queues.iter()),
        }
    }

    /// Notes how many wait now.
    #[inline]
    pub fn count_waiting(&mut self) {
        self.counters.waiting_max = self.counters.waiting_max.max(self.held().packets);
    }

    /// What waits.
    #[inline]
    #[must_use]
    pub fn held(&self) -> QueueBacklog {
        match &self.store {
            Store::One { queue, bytes } => QueueBacklog { packets: queue.len(), bytes: *bytes },
            Store::Flows(flows) => flows.held(),
            Store::Dual(queues) => queues.held(),
        }
    }

    /// Whether nothing waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held().packets == 0
    }

    /// The backlog as the limit counts it, with a packet of `in_service` bytes in service.
    #[must_use]
    pub fn backlog(&self, in_service: u32) -> QueueBacklog {
        let mut backlog = self.held();
        if self.gate.counts_in_service() && in_service > 0 {
            backlog.packets += 1;
            backlog.bytes += u64::from(in_service);
        }
        backlog
    }

    /// Bytes of the packet to be sent next.
    #[inline]
    pub fn head(&mut self, now: Time) -> Option<u32> {
        match &mut self.store {
            Store::One { queue, .. } => queue.front().map(|waiting| waiting.bytes),
            Store::Flows(flows) => flows.head(now),
            Store::Dual(queues) => queues.head(),
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
            Store::One { .. } => 0,
            Store::Flows(flows) => flows.queue_of(packet),
            Store::Dual(_) => DualQueue::side_of(packet),
        }
    }

    /// Judges an arrival; `idle` says that nothing is before it.
    #[inline]
    pub fn admit(&mut self, flow: u16, arrival: &Arrival, idle: bool, can_mark: bool) -> Offer {
        let Store::Flows(flows) = &mut self.store else {
            return self.gate.admit(arrival, idle, can_mark);
        };
        if flows.refuses_when_full() {
            if let refused @ Offer::Dropped(_) = self.gate.admit(arrival, idle, can_mark) {
                return refused;
            }
        }
        flows.admit(flow, arrival, idle, can_mark)
    }

    /// Whether an AQM watches the class as one queue.
    #[inline(always)]
    #[must_use]
    pub fn has_judge(&self) -> bool {
        self.gate.has_judge()
    }

    /// Lets a packet through an empty class that judges nothing, without storing it.
    #[inline(always)]
    pub fn pass(&mut self, bytes: u32) -> bool {
        let Store::One { .. } = self.store else { return false };
        let passes =
            !self.gate.has_judge() && self.gate.has_room(QueueBacklog::default(), bytes, true);
        if passes {
            self.counters.enter(bytes);
            self.counters.started += 1;
        }
        passes
    }

    /// Stores a packet that was let in.
    #[inline]
    pub fn push(&mut self, flow: u16, waiting: Waiting) {
        self.close_area(waiting.since);
        self.counters.enter(waiting.bytes);
        match &mut self.store {
            Store::One { queue, bytes } => {
                queue.push(waiting);
                *bytes += u64::from(waiting.bytes);
                self.gate.on_enqueue(waiting.bytes, waiting.precedence);
            }
            Store::Flows(flows) => flows.push(flow, waiting),
            Store::Dual(queues) => queues.push(flow, waiting),
        }
    }

    /// Cuts the longest flow where all of them together exceed the limit.
    #[inline]
    pub fn shed(&mut self, now: Time, mut dropped: impl FnMut(Waiting)) {
        let Store::Flows(flows) = &mut self.store else { return };
        if self.gate.is_within(flows.held()) {
            return;
        }
        self.area.add(flows.held().packets, now);
        let counters = &mut self.counters;
        flows.shed(now, |waiting| {
            counters.discard(waiting.bytes, now - waiting.since);
            dropped(waiting);
        });
    }

    /// Takes the packet to be sent next, which is then sent, or dropped.
    #[inline]
    pub fn take(&mut self, now: Time) -> (Waiting, Offer) {
        self.close_area(now);
        let taken = match &mut self.store {
            Store::One { queue, bytes } => queue.pop().map(|waiting| {
                *bytes -= u64::from(waiting.bytes);
                let left = QueueBacklog { packets: queue.len(), bytes: *bytes };
                (waiting, release(&mut self.gate, &waiting, now, left))
            }),
            Store::Flows(flows) => flows.take(now),
            Store::Dual(queues) => queues.take(now),
        };
        let Some((waiting, offer)) = taken else {
            unreachable!("a scheduler chooses among classes that have a packet")
        };
        let wait = now - waiting.since;
        if let Offer::Queued { .. } = offer {
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
        if let (true, Store::One { .. }) = (self.gate.counts_in_service(), &self.store) {
            let left = self.held();
            self.gate.on_departure(now, bytes, precedence, left);
        }
    }

    /// The class is empty, and its last packet has been sent.
    #[inline]
    pub fn on_idle(&mut self, now: Time) {
        self.gate.on_idle(now);
    }

    /// Takes a packet that is lost with the link.
    pub fn lose_next(&mut self, now: Time) -> Option<Waiting> {
        self.close_area(now);
        let waiting = match &mut self.store {
            Store::One { queue, bytes } => {
                let waiting = queue.pop()?;
                *bytes -= u64::from(waiting.bytes);
                let left = QueueBacklog { packets: queue.len(), bytes: *bytes };
                self.gate.on_departure(now, waiting.bytes, waiting.precedence, left);
                waiting
            }
            Store::Flows(flows) => flows.lose_next(now)?,
            Store::Dual(queues) => queues.lose_next(now)?,
        };
        self.counters.wait(now - waiting.since);
        self.counters.started += 1;
        self.counters.lose(waiting.bytes);
        Some(waiting)
    }
}

/// Asks the gate of the only queue about its head, and tells it of the departure.
#[inline]
fn release(gate: &mut Gate, waiting: &Waiting, now: Time, left: QueueBacklog) -> Offer {
    let Waiting { bytes, precedence, can_mark, since, .. } = *waiting;
    let offer = gate.release(&HeadPacket { now, since, bytes, precedence, left, can_mark });
    if !gate.counts_in_service() || matches!(offer, Offer::Dropped(_)) {
        gate.on_departure(now, bytes, precedence, left);
    }
    offer
}
