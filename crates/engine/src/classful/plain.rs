//! Classes that drop at the tail alone, behind a scheduler that is work-conserving and forgets a packet that
//! is sent at once: the common case of a port with classes.
//!
//! Such a port makes its choices late ([`crate::link::OnwardHop::CatchesUp`]), and a packet is offered to it only when
//! all choices before have been made: it then finds the port at rest with nothing waiting, or another packet
//! in service.

use super::{ClassfulPort, HeadSizes, InService};
use crate::class_queue::ClassQueue;
use crate::queue::{SizeAndMarks, WaitingPacket};
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

    /// Offers a packet to its class while the port rests. True if it is let in: it is in service.
    #[inline(always)]
    pub fn pass_plain(&mut self, packet: PacketId, size: SizeAndMarks, class: u16) -> bool {
        let entry = &mut self.classes[usize::from(class)];
        let passes = entry.pass_plain(size.bytes());
        if passes {
            self.in_service = Some(InService { packet, size, class, on_wire: true });
        } else {
            entry.counters.refuse(size.bytes());
        }
        passes
    }

    /// Offers a packet to its class behind the one in service. True if it is let in: it waits.
    #[inline(always)]
    pub fn join_plain(
        &mut self,
        now: Time,
        packet: PacketId,
        size: SizeAndMarks,
        class: u16,
        service: InService,
    ) -> bool {
        let entry = &mut self.classes[usize::from(class)];
        let in_service = if service.class == class { service.size.bytes() } else { 0 };
        let waiting = WaitingPacket { joined_at: now, packet, size };
        let Some(was_empty) = entry.join_plain(waiting, in_service) else { return false };
        self.waiting += 1;
        match &mut self.scheduler {
            Sched::Drr(drr) => drr.on_enqueue(class, size.bytes(), was_empty, now),
            other => on_enqueue(other, class, size.bytes(), was_empty, now),
        }
        true
    }

    /// Takes the next of the packets that wait for transmission at `now`, to be put on the wire at once.
    #[inline(always)]
    pub fn start_next_plain(&mut self, now: Time) -> WaitingPacket {
        debug_assert!(self.holds_any(), "a packet waits");
        self.waiting -= 1;
        // The most common scheduler, without the cost of finding out at each call.
        let classes = &mut self.classes;
        let next = match &mut self.scheduler {
            Sched::Drr(drr) => drr.serve(|class, deficit| {
                let (waiting, now_empty) = classes[usize::from(class)].leave_plain(now, deficit)?;
                Some((waiting.bytes(), now_empty, waiting))
            }),
            other => take_next(other, classes, now),
        };
        let Some((class, waiting)) = next else {
            unreachable!("a scheduler that never waits chooses while packets wait")
        };
        let WaitingPacket { packet, size, .. } = waiting;
        self.in_service = Some(InService { packet, size, class, on_wire: true });
        waiting
    }
}

#[inline(never)]
fn on_enqueue(scheduler: &mut Sched, class: u16, bytes: u32, was_empty: bool, now: Time) {
    scheduler.on_enqueue(class, bytes, was_empty, now);
}

/// Takes the packet that a scheduler chooses, and its class.
#[inline(never)]
fn take_next(
    scheduler: &mut Sched,
    classes: &mut [ClassQueue],
    now: Time,
) -> Option<(u16, WaitingPacket)> {
    let SchedulerChoice::Class(class) = scheduler.choose(&mut HeadSizes(classes, now), now) else {
        return None;
    };
    let (waiting, now_empty) = classes[usize::from(class)].leave_plain(now, u64::MAX)?;
    scheduler.on_dequeue(class, waiting.bytes(), now_empty, now);
    Some((class, waiting))
}
