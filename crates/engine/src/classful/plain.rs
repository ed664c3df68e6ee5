//! Classes that drop at the tail alone, behind a scheduler that is work-conserving and forgets a packet that
//! is sent at once: the common case of a port with classes.
//!
//! Such a port makes its choices late ([`crate::link::OnwardHop::CatchesUp`]), and a packet is offered to it only when
//! all choices before have been made: it then finds the port at rest with nothing waiting, or another packet
//! in service.

use super::{ClassfulPort, HeadSizes, InService};
use crate::class_queue::ClassQueue;
use crate::classifier::Assignment;
use crate::queue::WaitingPacket;
use trunkline_packet::PacketId;
use trunkline_port::sched::{Discipline, Sched, SchedulerChoice};
use trunkline_units::Time;

impl ClassfulPort {
    /// Whether the port is of this kind.
    #[inline(always)]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Offers a packet to its class. True if it was let in: it is in service if nothing was, else it waits.
    #[inline(always)]
    pub fn offer_plain(
        &mut self,
        now: Time,
        packet: PacketId,
        bytes: u32,
        assignment: Assignment,
    ) -> bool {
        let Assignment { class, precedence } = assignment;
        let entry = &mut self.classes[usize::from(class)];
        let Some(service) = &self.in_service else {
            let passes = entry.count_passed(bytes);
            if passes {
                let on_wire = true;
                self.in_service = Some(InService { packet, class, bytes, precedence, on_wire });
            } else {
                entry.counters.refuse(bytes);
            }
            return passes;
        };
        let in_service = if service.class == class { service.bytes } else { 0 };
        let waiting = WaitingPacket { packet, bytes, precedence, can_mark: false, joined_at: now };
        let Some(was_empty) = entry.join_plain(waiting, in_service) else { return false };
        self.waiting += 1;
        match &mut self.scheduler {
            Sched::Drr(drr) => drr.on_enqueue(class, bytes, was_empty, now),
            other => other.on_enqueue(class, bytes, was_empty, now),
        }
        true
    }

    /// Takes the next packet for transmission at `now`, if any waits, to be put on the wire at once.
    #[inline(always)]
    pub fn start_next_plain(&mut self, now: Time) -> Option<InService> {
        self.in_service = None;
        if self.waiting == 0 {
            return None;
        }
        self.waiting -= 1;
        // The most common scheduler, without the cost of finding out at each call.
        let (class, WaitingPacket { packet, bytes, precedence, .. }) = match &mut self.scheduler {
            Sched::Drr(drr) => take_next(drr, &mut self.classes, now)?,
            other => take_next(other, &mut self.classes, now)?,
        };
        self.in_service = Some(InService { packet, class, bytes, precedence, on_wire: true });
        self.in_service
    }
}

/// Takes the packet that a scheduler chooses, and its class.
#[inline(always)]
fn take_next(
    scheduler: &mut impl Discipline,
    classes: &mut [ClassQueue],
    now: Time,
) -> Option<(u16, WaitingPacket)> {
    let SchedulerChoice::Class(class) = scheduler.choose(&mut HeadSizes(classes, now), now) else {
        return None;
    };
    let (waiting, now_empty) = classes[usize::from(class)].leave_plain(now)?;
    scheduler.on_dequeue(class, waiting.bytes, now_empty, now);
    Some((class, waiting))
}
