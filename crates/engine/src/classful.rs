//! A port with classes: a queue for each, and a scheduler that chooses which sends next.

mod cut;

use crate::area::Area;
use crate::classifier::{Assignment, Classifier};
use crate::link::{Limit, Offer, QueueCounters};
use crate::ring::Ring;
use trunkline_packet::{Cause, PacketId};
use trunkline_port::aqm::{Aqm, Arrival, Backlog, Policy, Verdict};
use trunkline_port::sched::{Choice, Discipline, Heads, Sched};
use trunkline_units::{Stream, Time};

/// A packet waiting in a class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// The packet.
    pub packet: PacketId,
    /// Its bytes on the wire.
    pub bytes: u32,
    /// Its drop precedence.
    pub precedence: u8,
    /// When it joined.
    pub since: Time,
}

/// One class: queue, judge, counters.
#[derive(Clone, Debug)]
pub struct ClassQueue {
    queue: Ring<Waiting>,
    bytes: u64,
    limit: Limit,
    aqm: Aqm,
    random: Stream,
    /// Counters since the warm-up.
    pub counters: QueueCounters,
    /// Integral of the packets waiting over time [packet ns].
    pub area: Area,
}

impl ClassQueue {
    /// An empty class.
    #[must_use]
    pub fn new(limit: Limit, aqm: Aqm, random: Stream) -> Self {
        Self {
            queue: Ring::new(8),
            bytes: 0,
            limit,
            aqm,
            random,
            counters: QueueCounters::default(),
            area: Area::default(),
        }
    }

    /// Brings the integral of waiting packets up to `now`.
    pub fn close_area(&mut self, now: Time) {
        self.area.add(self.queue.len(), now);
    }

    /// Packets waiting, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> + '_ {
        self.queue.iter()
    }

    #[inline]
    fn count_waiting(&mut self) {
        self.counters.waiting_max = self.counters.waiting_max.max(self.queue.len());
    }

    /// The class's backlog as its limit counts it.
    fn backlog(&self, in_service: u32) -> Backlog {
        let mut backlog = Backlog { packets: self.queue.len(), bytes: self.bytes };
        if self.limit.counts_in_service && in_service > 0 {
            backlog.packets += 1;
            backlog.bytes += u64::from(in_service);
        }
        backlog
    }
}

struct HeadSizes<'a>(&'a [ClassQueue]);

impl Heads for HeadSizes<'_> {
    #[inline]
    fn head(&self, class: u16) -> Option<u32> {
        self.0[usize::from(class)].queue.front().map(|waiting| waiting.bytes)
    }
}

/// The packet being transmitted.
#[derive(Clone, Copy, Debug)]
pub struct InService {
    /// The packet.
    pub packet: PacketId,
    /// Its class.
    pub class: u16,
    /// Its bytes on the wire.
    pub bytes: u32,
    /// Its drop precedence.
    pub precedence: u8,
}

/// What the transmitter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sends a packet of this many bytes.
    Send(u32),
    /// Waits until then (shaped classes).
    Wait(Time),
    /// Rests until a packet arrives.
    Rest,
}

/// Classifier, classes and scheduler of a port.
#[derive(Clone, Debug)]
pub struct Classful {
    /// Which class a packet joins.
    pub classifier: Classifier,
    /// Classes by index.
    pub classes: Vec<ClassQueue>,
    scheduler: Sched,
    /// The scheduler before its first packet: a port that fails starts from it again.
    at_rest: Sched,
    /// Class of the last packet that found the transmitter at rest.
    joined: u16,
    /// The packet being transmitted.
    pub in_service: Option<InService>,
}

impl Classful {
    /// An idle port.
    #[must_use]
    pub fn new(classifier: Classifier, classes: Vec<ClassQueue>, scheduler: Sched) -> Self {
        let at_rest = scheduler.clone();
        Self { classifier, classes, scheduler, at_rest, joined: 0, in_service: None }
    }

    /// Offers a packet to its class. The caller starts the transmitter if it rests.
    pub fn offer(
        &mut self,
        now: Time,
        packet: PacketId,
        bytes: u32,
        assignment: Assignment,
        ecn_capable: bool,
    ) -> Offer {
        let Assignment { class, precedence } = assignment;
        let in_service = match &self.in_service {
            Some(service) if service.class == class => service.bytes,
            _ => 0,
        };
        let idle = self.in_service.is_none();
        let entry = &mut self.classes[usize::from(class)];
        let backlog = entry.backlog(in_service);
        let arrival = Arrival { now, bytes, precedence, backlog };
        let mut mark = false;
        let verdict = entry.aqm.on_arrival(&arrival, &mut entry.random);
        let at_once = idle && entry.queue.is_empty() && !entry.limit.counts_in_service;
        let room = backlog.packets < entry.limit.packets
            && backlog.bytes + u64::from(bytes) <= entry.limit.bytes;
        let refused = match verdict {
            Verdict::Signal(_) if ecn_capable => {
                mark = true;
                None
            }
            Verdict::Signal(cause) | Verdict::Refuse(cause) => Some(cause),
            Verdict::Pass => None,
        };
        let refused = refused.or((!room && !at_once).then_some(Cause::QueueFull));
        if let Some(cause) = refused {
            entry.counters.dropped_packets += 1;
            entry.counters.dropped_bytes += u64::from(bytes);
            return Offer::Dropped(cause);
        }
        entry.close_area(now);
        let was_empty = entry.queue.is_empty();
        entry.queue.push(Waiting { packet, bytes, precedence, since: now });
        entry.bytes += u64::from(bytes);
        entry.counters.packets += 1;
        entry.counters.bytes += u64::from(bytes);
        if idle {
            self.joined = class; // it may be sent at once: `start_next` knows
        } else {
            entry.count_waiting();
        }
        entry.aqm.on_enqueue(bytes, precedence);
        self.scheduler.on_enqueue(class, bytes, was_empty, now);
        Offer::Queued { mark }
    }

    /// Takes the next packet for transmission. The transmitter must be at rest.
    pub fn start_next(&mut self, now: Time) -> Next {
        let next = match self.scheduler.choose(&HeadSizes(&self.classes), now) {
            Choice::Idle => Next::Rest,
            Choice::Wait(until) => Next::Wait(until.max(now + 1)),
            Choice::Class(class) => {
                let entry = &mut self.classes[usize::from(class)];
                entry.close_area(now);
                let Some(waiting) = entry.queue.pop() else {
                    unreachable!("a scheduler chooses among classes that have a packet")
                };
                let Waiting { packet, bytes, precedence, since } = waiting;
                entry.bytes -= u64::from(bytes);
                let wait = now - since;
                entry.counters.wait += wait;
                entry.counters.started += 1;
                entry.counters.wait_max = entry.counters.wait_max.max(wait);
                if !entry.limit.counts_in_service {
                    let left = entry.backlog(0);
                    entry.aqm.on_departure(now, bytes, precedence, left);
                }
                self.scheduler.on_dequeue(class, bytes, entry.queue.is_empty(), now);
                self.in_service = Some(InService { packet, class, bytes, precedence });
                Next::Send(bytes)
            }
        };
        self.classes[usize::from(self.joined)].count_waiting();
        next
    }

    /// The packet in service has been sent.
    pub fn finish(&mut self, now: Time) -> Option<InService> {
        let service = self.in_service.take()?;
        let entry = &mut self.classes[usize::from(service.class)];
        if entry.limit.counts_in_service {
            let left = entry.backlog(0);
            entry.aqm.on_departure(now, service.bytes, service.precedence, left);
        }
        if entry.queue.is_empty() {
            entry.aqm.on_idle(now);
        }
        Some(service)
    }

    /// Packets in the port, the one in service included.
    #[must_use]
    pub fn in_port(&self) -> Backlog {
        let mut total = Backlog::default();
        for class in &self.classes {
            total.packets += class.queue.len();
            total.bytes += class.bytes;
        }
        if let Some(service) = &self.in_service {
            total.packets += 1;
            total.bytes += u64::from(service.bytes);
        }
        total
    }

    /// Packets and bytes waiting in one class.
    #[must_use]
    pub fn in_class(&self, class: u16) -> Backlog {
        let entry = &self.classes[usize::from(class)];
        Backlog { packets: entry.queue.len(), bytes: entry.bytes }
    }

    /// Judge of a class.
    #[must_use]
    pub fn aqm(&self, class: u16) -> &Aqm {
        &self.classes[usize::from(class)].aqm
    }

    /// Bytes and drop precedence of each packet in a class (none: any), in service or waiting.
    pub fn each(&self, class: Option<u16>, mut visit: impl FnMut(u32, u8)) {
        let wanted = |its: u16| class.is_none_or(|class| class == its);
        for service in self.in_service.iter().filter(|service| wanted(service.class)) {
            visit(service.bytes, service.precedence);
        }
        for (_, queue) in (0..).zip(&self.classes).filter(|(its, _)| wanted(*its)) {
            queue.waiting().for_each(|waiting| visit(waiting.bytes, waiting.precedence));
        }
    }
}
