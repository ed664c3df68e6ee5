//! Classes that drop at the tail alone, behind a scheduler that is work-conserving and forgets a packet that
//! is sent at once: the common case of a port with classes.
//!
//! Such a port makes its choices late ([`crate::link::OnwardHop::CatchesUp`]), and a packet is offered to it only when
//! all choices before have been made: it then finds the port at rest with nothing waiting, or another packet
//! in service.

use super::{ClassfulPort, HeadSizes, InService};
use crate::classifier::Assignment;
use crate::queue::WaitingPacket;
use trunkline_packet::PacketId;
use trunkline_port::sched::{Discipline, SchedulerChoice};
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
        self.scheduler.on_enqueue(class, bytes, was_empty, now);
        true
    }

    /// Takes the next packet for transmission at `now`, if any waits, to be put on the wire at once.
    #[inline(always)]
    pub fn start_next_plain(&mut self, now: Time) -> Option<InService> {
        self.in_service = None;
        if self.waiting == 0 {
            return None;
        }
        let heads = &mut HeadSizes(&mut self.classes, now);
        let SchedulerChoice::Class(class) = self.scheduler.choose(heads, now) else { return None };
        let entry = &mut self.classes[usize::from(class)];
        let (WaitingPacket { packet, bytes, precedence, .. }, now_empty) =
            entry.leave_plain(now)?;
        self.waiting -= 1;
        self.scheduler.on_dequeue(class, bytes, now_empty, now);
        self.in_service = Some(InService { packet, class, bytes, precedence, on_wire: true });
        self.in_service
    }
}
