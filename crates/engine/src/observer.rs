//! Observers of packets: chosen at compile time, so that a run without records pays nothing.

mod event_order;
mod trace_lines;
mod wait_histograms;

pub use event_order::{EventOrder, PlaceInTime};
pub use trace_lines::{Trace, TraceLine};
pub use wait_histograms::WaitHistograms;

use crate::calendar::Source;
use crate::tables::Table;
use trunkline_packet::{Arena, Cause, PacketId};
use trunkline_units::Time;

/// An event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its source handed it to the network at this node.
    Sent {
        /// Node.
        node: u32,
    },
    /// A link's port took it in.
    Queued {
        /// Link.
        link: u32,
    },
    /// It arrived at the far end of a link.
    Arrived {
        /// Link.
        link: u32,
    },
    /// It reached the agent it was for.
    Delivered {
        /// Node.
        node: u32,
    },
    /// The head of a 1+1 path made it, a copy of the packet it had just received.
    Copied {
        /// Node.
        node: u32,
    },
    /// It was lost.
    Dropped {
        /// Why.
        cause: Cause,
        /// Link, or none where a node lost it.
        link: Option<u32>,
        /// Node.
        node: u32,
    },
}

/// Watches packets. An observer that has something to record implements what it needs of this.
pub trait Observer: Default + Send + 'static {
    /// Whether it records: values for it alone are not computed where it does not.
    const ACTIVE: bool;

    /// The order of the events that its records are merged by, if it keeps one.
    #[inline(always)]
    fn event_order(&self) -> Option<&EventOrder> {
        None
    }

    /// The same, to be moved on.
    #[inline(always)]
    fn event_order_mut(&mut self) -> Option<&mut EventOrder> {
        None
    }

    /// Later records belong to an event of the calendar.
    #[inline(always)]
    fn on_event(&mut self, now: Time, source: Source) {
        if let Some(order) = self.event_order_mut() {
            order.enter(now, source);
        }
    }

    /// Later records follow those of other regions for this event.
    #[inline(always)]
    fn on_region_step(&mut self) {
        if let Some(order) = self.event_order_mut() {
            order.step();
        }
    }

    /// Place of the present event among those of this instant in all regions.
    #[inline(always)]
    fn place_in_time(&self) -> PlaceInTime {
        self.event_order().map(EventOrder::place).unwrap_or_default()
    }

    /// Counters start at this time.
    fn on_start(&mut self, _warm_up: Time) {}

    /// Records one event of the packet `id`, which only an observer that keeps it looks up.
    #[inline(always)]
    fn record(&mut self, _now: Time, _event: Event, _id: PacketId, _packets: &Arena) {}

    /// The event recorded last was at a port, in this class and at this drop precedence.
    #[inline(always)]
    fn set_port_class(&mut self, _class: u16, _precedence: u8) {}

    /// The first bit of `id` leaves the queue it is in at this time, unless the link fails before.
    #[inline(always)]
    fn on_transmission_start(&mut self, _id: PacketId, _at: Time) {}

    /// It watches this region of a network.
    fn watch_region(&mut self, _number: u8) {}

    /// Its number for the packet `id`, which moves to another region.
    #[inline(always)]
    fn packet_name(&self, _id: PacketId) -> u64 {
        0
    }

    /// The packet `id` has arrived from another region, where its number was `known_as`.
    #[inline(always)]
    fn on_crossing(&mut self, _id: PacketId, _known_as: u64) {}

    /// Joins the records of the observers of all regions to those of one observer of the network; a run
    /// on one thread has one.
    #[must_use]
    fn join(_parts: Vec<Self>) -> Self {
        Self::default()
    }

    /// Its records of a run on `threads` threads that ended at `end`, if any.
    fn table(&self, _end: Time, _threads: usize) -> Option<Table> {
        None
    }
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const ACTIVE: bool = false;
}
