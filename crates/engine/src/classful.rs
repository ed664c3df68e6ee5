//! A port with classes: a queue for each, and a scheduler that chooses which sends next.

mod failure;
mod plain;

use crate::class_queue::ClassQueue;
use crate::classifier::Assignment;
use crate::queue::{QueueDecision, SizeAndMarks, WaitingPacket};
use trunkline_packet::{Cause, Packet, PacketId};
use trunkline_port::aqm::{Arrival, QueueBacklog};
use trunkline_port::sched::{ClassHeads, Discipline, Sched, SchedulerChoice};
use trunkline_units::Time;

struct HeadSizes<'a>(&'a mut [ClassQueue], Time);

impl ClassHeads for HeadSizes<'_> {
    #[inline(always)]
    fn head(&mut self, class: u16) -> Option<u32> {
        self.0[usize::from(class)].head(self.1)
    }
}

/// The packet being transmitted.
#[derive(Clone, Copy, Debug)]
pub struct InService {
    /// The packet.
    pub packet: PacketId,
    /// Its bytes on the wire and drop precedence.
    pub size: SizeAndMarks,
    /// Its class.
    pub class: u16,
    /// Whether it is on the wire already because no event can come before its last bit.
    pub on_wire: bool,
}

/// A packet that was let in and then dropped.
#[derive(Clone, Copy, Debug)]
pub struct DiscardedPacket {
    /// The packet.
    pub packet: PacketId,
    /// Its bytes on the wire.
    pub bytes: u32,
    /// Its class and drop precedence.
    pub place: Assignment,
    /// Why.
    pub cause: Cause,
}

/// The next action of the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTransmission {
    /// Sends a packet.
    Send {
        /// Of this many bytes.
        bytes: u32,
        /// Marked CE.
        mark: bool,
    },
    /// Waits until then (shaped classes).
    Wait(Time),
    /// Rests until a packet arrives.
    Rest,
}

/// Classes and scheduler of a port.
///
/// In the order of its cache lines: what a packet of plain classes under DRR reads; the rest of the scheduler,
/// and what is seldom needed.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct ClassfulPort {
    /// The packet being transmitted.
    pub in_service: Option<InService>,
    /// Packets waiting in all classes.
    waiting: u32,
    /// Classes by index.
    pub classes: Box<[ClassQueue]>,
    scheduler: Sched,
    /// Class of the last packet that found the transmitter at rest.
    joined: u16,
    /// Whether the end of the transmission has an event, or that of a wait.
    pub timed: bool,
    /// Whether senders hear when their packets begin to be sent here.
    pub reports_departures: bool,
    /// Whether the scheduler forgets a packet that is sent at once.
    forgets: bool,
    /// Whether it makes no difference when it chooses, if only each choice is made of the packets that
    /// have come by the time that it is for.
    pub may_lag: bool,
    /// Whether, in addition, its classes drop at the tail alone and its scheduler forgets.
    plain: bool,
    /// Packets dropped from a queue and not yet reported to the network.
    pub discarded: Vec<DiscardedPacket>,
    /// The scheduler before its first packet: a port that fails starts from it again.
    at_rest: Sched,
}

impl ClassfulPort {
    /// An idle port.
    #[must_use]
    pub fn new(mut classes: Vec<ClassQueue>, scheduler: Sched) -> Self {
        let at_rest = scheduler.clone();
        let forgets = scheduler.is_stateless_when_empty();
        let may_lag = scheduler.never_waits() && classes.iter().all(|class| !class.judges_heads());
        let plain = may_lag && forgets && classes.iter().all(|class| !class.has_aqm());
        classes.iter_mut().for_each(|class| class.area_from_waits = plain);
        Self {
            forgets,
            may_lag,
            plain,
            waiting: 0,
            timed: false,
            reports_departures: false,
            classes: classes.into(),
            scheduler,
            at_rest,
            joined: 0,
            in_service: None,
            discarded: Vec::new(),
        }
    }

    /// Whether any scheduler would send a packet at once on its arrival in its class.
    #[inline(always)]
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.waiting == 0 && self.in_service.is_none()
    }

    /// Whether packets wait.
    #[inline(always)]
    #[must_use]
    pub fn holds_any(&self) -> bool {
        self.waiting > 0
    }

    /// The packet in service is on the wire.
    #[inline(always)]
    pub fn put_on_wire(&mut self) {
        if let Some(service) = &mut self.in_service {
            service.on_wire = true;
        }
    }

    /// The end of the transmission has an event, and the packet is not on the wire before.
    #[cold]
    pub fn time_service(&mut self) {
        self.timed = true;
        if let Some(service) = &mut self.in_service {
            service.on_wire = false;
        }
    }

    /// Whether the scheduler has to be asked after a transmission: packets wait, or it may record that none
    /// does.
    #[inline(always)]
    #[must_use]
    pub fn has_choice(&self) -> bool {
        self.waiting > 0 || !self.forgets
    }

    /// Sends a packet that arrives at an idle port, where neither scheduler nor queue record it.
    #[inline(always)]
    pub fn pass(&mut self, packet: PacketId, bytes: u32, assignment: Assignment) -> bool {
        let Assignment { class, precedence } = assignment;
        let passes =
            self.forgets && self.is_clear() && self.classes[usize::from(class)].count_passed(bytes);
        if passes {
            let size = SizeAndMarks::new(bytes, precedence, false);
            self.in_service = Some(InService { packet, size, class, on_wire: false });
        }
        passes
    }

    /// Offers a packet to its class. The caller starts the transmitter if it rests.
    pub fn offer(
        &mut self,
        now: Time,
        packet: (PacketId, &Packet),
        bytes: u32,
        assignment: Assignment,
        can_mark: bool,
    ) -> QueueDecision {
        let Assignment { class, precedence } = assignment;
        let in_service = match &self.in_service {
            Some(service) if service.class == class => service.size.bytes(),
            _ => 0,
        };
        let idle = self.in_service.is_none();
        let entry = &mut self.classes[usize::from(class)];
        let was_empty = entry.is_empty();
        let flow = entry.flow_of(packet.1);
        let arrival = Arrival { now, bytes, precedence, backlog: entry.backlog(in_service) };
        let offer = entry.admit(flow, &arrival, idle && was_empty, can_mark);
        if let QueueDecision::Dropped(_) = offer {
            entry.counters.refuse(bytes);
            return offer;
        }
        let size = SizeAndMarks::new(bytes, precedence, can_mark);
        entry.push(flow, WaitingPacket { joined_at: now, packet: packet.0, size });
        self.waiting += 1;
        if idle {
            self.joined = class; // it may be sent at once: `start_next` decides
        } else {
            entry.count_waiting();
        }
        self.scheduler.on_enqueue(class, bytes, was_empty, now);
        let before = self.discarded.len();
        entry.drop_overflow(now, |WaitingPacket { packet, size, .. }| {
            let (bytes, precedence) = (size.bytes(), size.precedence());
            let place = Assignment { class, precedence };
            self.discarded.push(DiscardedPacket { packet, bytes, place, cause: Cause::QueueFull });
        });
        let (now_empty, shed) = (entry.is_empty(), self.discarded.len() - before);
        self.waiting -= shed as u32;
        for left in (0..shed).rev() {
            self.scheduler.on_discard(class, now_empty && left == 0);
        }
        offer
    }

    /// Takes the next packet for transmission. The transmitter must be at rest.
    pub fn start_next(&mut self, now: Time) -> NextTransmission {
        let next = loop {
            let class = match self.scheduler.choose(&mut HeadSizes(&mut self.classes, now), now) {
                SchedulerChoice::Idle => break NextTransmission::Rest,
                SchedulerChoice::Wait(until) => break NextTransmission::Wait(until.max(now + 1)),
                SchedulerChoice::Class(class) => class,
            };
            let entry = &mut self.classes[usize::from(class)];
            let (WaitingPacket { packet, size, .. }, offer) = entry.take(now);
            let (bytes, precedence) = (size.bytes(), size.precedence());
            let now_empty = entry.is_empty();
            self.waiting -= 1;
            match offer {
                QueueDecision::Queued { mark } => {
                    self.scheduler.on_dequeue(class, bytes, now_empty, now);
                    self.in_service = Some(InService { packet, size, class, on_wire: false });
                    break NextTransmission::Send { bytes, mark };
                }
                QueueDecision::Dropped(cause) => {
                    if now_empty {
                        entry.on_idle(now);
                    }
                    self.scheduler.on_discard(class, now_empty);
                    let place = Assignment { class, precedence };
                    self.discarded.push(DiscardedPacket { packet, bytes, place, cause });
                }
            }
        };
        self.classes[usize::from(self.joined)].count_waiting();
        next
    }

    /// The packet in service has been sent.
    pub fn finish(&mut self, now: Time) -> Option<InService> {
        let service = self.in_service.take()?;
        let entry = &mut self.classes[usize::from(service.class)];
        if entry.has_aqm() {
            entry.on_served(now, service.size.bytes(), service.size.precedence());
            if entry.is_empty() {
                entry.on_idle(now);
            }
        }
        Some(service)
    }

    /// Packets in the port, the one in service included.
    #[must_use]
    pub fn port_backlog(&self) -> QueueBacklog {
        let mut total = QueueBacklog::default();
        for class in &self.classes {
            let held = class.stored_backlog();
            total.packets += held.packets;
            total.bytes += held.bytes;
        }
        if let Some(service) = &self.in_service {
            total.packets += 1;
            total.bytes += u64::from(service.size.bytes());
        }
        total
    }

    /// Packets and bytes waiting in one class.
    #[must_use]
    pub fn class_backlog(&self, class: u16) -> QueueBacklog {
        self.classes[usize::from(class)].stored_backlog()
    }

    /// Average that a class's AQM keeps, or that of one of its precedences.
    #[must_use]
    pub fn average(&self, class: u16, precedence: Option<u8>) -> Option<f64> {
        self.classes[usize::from(class)].average(precedence)
    }

    /// Bytes and drop precedence of each packet waiting in a class (none: any).
    pub fn visit_waiting(&self, class: Option<u16>, mut visit: impl FnMut(u32, u8)) {
        let is_selected = |class_number: u16| class.is_none_or(|class| class == class_number);
        for (_, queue) in
            (0..).zip(&self.classes).filter(|(class_number, _)| is_selected(*class_number))
        {
            queue.waiting().for_each(|waiting| visit(waiting.bytes(), waiting.precedence()));
        }
    }
}
