//! The connections of flows of transfers: their numbers, slots and timers.
//!
//! The connections of a flow are numbered in the order in which they open, whatever other flows do. Each end
//! of a flow has one source of events for the timers of all its connections, which are served by time and
//! number. A slot is memory alone: which one a connection takes changes no result.

use super::workload::StartedTransfer;
use crate::hosts::FlowPlan;
use std::collections::{BTreeSet, VecDeque};
use trunkline_units::{Time, NEVER};

/// Slot of a connection that is freed.
const NO_SLOT: u32 = u32::MAX;

/// The sender's end of a connection and the receiver's, in arrays of both.
pub const SENDER_END: usize = 0;
pub const RECEIVER_END: usize = 1;

/// One connection.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    pub plan: FlowPlan,
    pub workload: u32,
    pub transfer: StartedTransfer,
    /// Bytes at the receiver with which the transfer is complete [B].
    pub due_bytes: u64,
    pub complete: bool,
    /// Its slot is in use.
    pub open: bool,
    /// Its sender has still something to do.
    pub is_sending: bool,
    /// Its ends that are in this region.
    pub has_end: [bool; 2],
    /// Its packets in the network, both ways, as far as the region of its sender knows; elsewhere the change
    /// that it does not know of yet.
    pub packets_inside: i32,
    /// The region of its sender must know of a change.
    pub is_changed: bool,
    /// Its receiver, if that is in another region, waits for no timer.
    pub is_far_end_quiet: bool,
    /// When its flow's sources of events wake each end; [`NEVER`] if they do not.
    pub due: [Time; 2],
    /// Of the order of its data packets: one past the highest that has arrived.
    pub next_seq: u32,
}

impl Connection {
    /// One that has just opened.
    pub fn new(plan: FlowPlan, workload: u32, transfer: StartedTransfer) -> Self {
        Self {
            plan,
            workload,
            transfer,
            due_bytes: transfer.bytes,
            complete: false,
            open: true,
            is_sending: true,
            has_end: [true; 2],
            packets_inside: 0,
            is_changed: false,
            is_far_end_quiet: true,
            due: [NEVER; 2],
            next_seq: 0,
        }
    }

    /// It carries the next transfer.
    pub fn carry(&mut self, transfer: StartedTransfer) {
        (self.transfer, self.complete) = (transfer, false);
        self.due_bytes += transfer.bytes;
    }
}

/// Slots of a flow's connections by their numbers, which rise.
#[derive(Clone, Debug, Default)]
pub struct ConnectionSlots {
    /// Number of the first.
    first: u32,
    slots: VecDeque<u32>,
}

impl ConnectionSlots {
    /// The number of the next connection.
    pub fn next_number(&self) -> u32 {
        self.first.wrapping_add(self.slots.len() as u32)
    }

    /// The next connection takes this slot.
    pub fn push(&mut self, slot: u32) {
        self.slots.push_back(slot);
    }

    /// Slot of the connection with this number, unless it is freed.
    #[inline]
    pub fn find(&self, number: u32) -> Option<usize> {
        let slot = *self.slots.get(number.wrapping_sub(self.first) as usize)?;
        (slot != NO_SLOT).then_some(slot as usize)
    }

    /// Frees a connection.
    pub fn remove(&mut self, number: u32) {
        if let Some(slot) = self.slots.get_mut(number.wrapping_sub(self.first) as usize) {
            *slot = NO_SLOT;
        }
        while self.slots.front() == Some(&NO_SLOT) {
            self.slots.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// All slots in use, by number.
    pub fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots.iter().filter(|slot| **slot != NO_SLOT).map(|slot| *slot as usize)
    }
}

/// Timers of one end of all connections of a flow.
#[derive(Clone, Debug, Default)]
pub struct ConnectionTimers(BTreeSet<(Time, u32)>);

impl ConnectionTimers {
    /// When the first is due; [`NEVER`] without any.
    pub fn first_at(&self) -> Time {
        self.0.first().map_or(NEVER, |timer| timer.0)
    }

    /// Moves the timer of a connection; [`NEVER`]: it has none.
    pub fn reset(&mut self, number: u32, from: Time, to: Time) {
        if from != NEVER {
            self.0.remove(&(from, number));
        }
        if to != NEVER {
            self.0.insert((to, number));
        }
    }

    /// Takes out the first that is due by now; returns the number of its connection.
    pub fn take_due(&mut self, now: Time) -> Option<u32> {
        if self.first_at() > now {
            return None;
        }
        self.0.pop_first().map(|timer| timer.1)
    }
}

/// A transfer over a connection whose receiver is in another region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionTransfer {
    pub workload: u32,
    pub number: u32,
    pub transfer: StartedTransfer,
}

/// How a connection has changed in a window elsewhere than at its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionChange {
    pub workload: u32,
    pub number: u32,
    /// Of its packets in the network.
    pub packets_inside: i32,
    /// Of the region of its receiver: whether that waits for no timer.
    pub is_quiet: Option<bool>,
}

/// News of connections from one region to another.
#[derive(Debug, Default)]
pub(crate) struct ConnectionNews {
    /// Those that open their connections.
    pub opened: Vec<ConnectionTransfer>,
    /// Those over connections that are kept.
    pub written: Vec<ConnectionTransfer>,
    pub changed: Vec<ConnectionChange>,
    /// Workload and number of those that their receivers may forget.
    pub closed: Vec<(u32, u32)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_those_of_freed_connections_are_spent() {
        let mut slots = ConnectionSlots::default();
        for slot in [7, 3, 9] {
            slots.push(slot);
        }
        slots.remove(1);
        assert_eq!([0, 1, 2, 3].map(|number| slots.find(number)), [Some(7), None, Some(9), None]);
        slots.remove(0);
        assert_eq!((slots.next_number(), slots.slots.len()), (3, 1));
        slots.push(3);
        assert_eq!([2, 3].map(|number| slots.find(number)), [Some(9), Some(3)]);
        assert_eq!(slots.all().collect::<Vec<_>>(), [9, 3]);
    }

    #[test]
    fn timers_are_served_by_time_and_number() {
        let mut timers = ConnectionTimers::default();
        for (number, at) in [(5, 20), (2, 20), (9, 10)] {
            timers.reset(number, NEVER, at);
        }
        timers.reset(9, 10, 30);
        assert_eq!((timers.first_at(), timers.take_due(19)), (20, None));
        let due = [(); 4].map(|()| timers.take_due(30));
        assert_eq!(due, [Some(2), Some(5), Some(9), None]);
    }
}
