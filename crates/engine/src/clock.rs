//! The clock of a run: the time, the events to come, and the numbers of their sources.
//!
//! Order at one instant: controls (end, warm-up), ends of processing, probes, ends of transmission, arrivals by link,
//! senders' timers by flow, receivers' timers by flow. It follows from the numbering of sources
//! and the calendar's (time, source) order, so it depends on the network alone.

use crate::calendar::{Calendar, Source};
use crate::node_events::EventsByNode;
use trunkline_units::{Time, NEVER};

/// First source numbers of each kind, in the order they are served at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    pub recovery: Source,
    pub control: Source,
    pub stages: Source,
    pub probes: Source,
    pub transmitters: Source,
    pub arrivals: Source,
    pub senders: Source,
    pub receivers: Source,
}

pub(crate) const END_SOURCE: Source = 0;
pub(crate) const WARM_UP_SOURCE: Source = 1;
/// A region waits to hear from the others.
pub(crate) const WINDOW_SOURCE: Source = 2;
/// The packets in the network are counted.
pub(crate) const CENSUS_SOURCE: Source = 3;

/// The time of a run, and its events.
#[derive(Debug)]
pub(crate) struct Clock {
    pub now: Time,
    /// Of all sources, or, where events are kept by node, of the nodes.
    pub calendar: Calendar,
    pub by_node: Option<Box<EventsByNode>>,
    pub sources: Sources,
    /// Events so far, those that a hop did without included.
    pub events: u64,
    /// A transmission from a port with classes that ends before this has no event of its own unless
    /// another packet waits for its end.
    pub untimed_before: Time,
}

impl Clock {
    /// Makes `source` due at `at`, moving a pending event.
    #[inline(always)]
    pub fn schedule(&mut self, source: Source, at: Time) {
        match &mut self.by_node {
            None => self.calendar.schedule(source, at),
            Some(events) => events.schedule(&mut self.calendar, source, at),
        }
    }

    /// Removes the pending event of `source`, if any.
    #[inline(always)]
    pub fn cancel(&mut self, source: Source) {
        match &mut self.by_node {
            None => self.calendar.cancel(source),
            Some(events) => events.cancel(&mut self.calendar, source),
        }
    }

    /// When `source` is due; `NEVER` if it is not pending.
    #[inline(always)]
    #[must_use]
    pub fn due(&self, source: Source) -> Time {
        match &self.by_node {
            None => self.calendar.due(source),
            Some(events) => events.due(source),
        }
    }

    /// Schedules the next arrival by a link.
    #[inline(always)]
    pub fn schedule_arrival(&mut self, link: u32, at: Time) {
        match &mut self.by_node {
            None => self.calendar.schedule(self.sources.arrivals + link, at),
            Some(events) => events.schedule_arrival(&mut self.calendar, link, at),
        }
    }

    /// The same where no arrival by the link is due.
    #[inline(always)]
    pub fn schedule_new_arrival(&mut self, link: u32, at: Time) {
        match &mut self.by_node {
            None => self.calendar.schedule_new(self.sources.arrivals + link, at),
            Some(events) => events.schedule_arrival(&mut self.calendar, link, at),
        }
    }

    /// The same for the link whose arrival is being served.
    #[inline(always)]
    pub fn schedule_following_arrival(&mut self, link: u32, at: Time) {
        match &mut self.by_node {
            None => self.calendar.schedule_new(self.sources.arrivals + link, at),
            Some(events) => events.set_arrival(link, at),
        }
    }

    /// Schedules the end of a link's transmission, or the next time at which its port may send.
    #[inline(always)]
    pub fn schedule_transmitter(&mut self, link: u32, at: Time) {
        self.schedule(self.sources.transmitters + link, at);
    }

    /// The end of a link's transmission has no event any more.
    #[inline(always)]
    pub fn cancel_transmitter(&mut self, link: u32) {
        self.cancel(self.sources.transmitters + link);
    }

    /// No arrival by the link is due any more.
    pub fn cancel_arrival(&mut self, link: u32) {
        self.cancel(self.sources.arrivals + link);
    }

    /// Schedules an event of recovery, or none at [`NEVER`].
    pub fn schedule_recovery(&mut self, number: u32, at: Time) {
        let source = self.sources.recovery + number;
        if at == NEVER {
            self.cancel(source);
        } else {
            self.schedule(source, at);
        }
    }

    /// Schedules a timer, if it is set, unless an earlier event of it is due.
    #[inline(always)]
    pub fn bring_forward(&mut self, source: Source, at: Time) {
        // Of one that is not set the calendar is not read.
        if at != NEVER && at < self.due(source) {
            self.schedule(source, at);
        }
    }
}
