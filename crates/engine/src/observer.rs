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

/// Watches packets.
pub trait Observer: Default + Send + 'static {
    /// Whether it records: values for it alone are not computed where it does not.
    const ACTIVE: bool;

    /// Counters start at this time.
    fn on_start(&mut self, _warm_up: Time) {}

    /// Records one event of the packet `id`, which only an observer that keeps it looks up.
    fn record(&mut self, now: Time, event: Event, id: PacketId, packets: &Arena);

    /// The event recorded last was at a port, in this class and at this drop precedence.
    fn set_port_class(&mut self, class: u16, precedence: u8);

    /// The first bit of `id` leaves the queue it is in at this time, unless the link fails before.
    fn on_transmission_start(&mut self, id: PacketId, at: Time);

    /// Later records belong to an event of the calendar.
    fn on_event(&mut self, now: Time, source: Source);

    /// Later records follow those of other regions for this event.
    fn on_region_step(&mut self);

    /// Place of the present event among those of this instant in all regions.
    fn place_in_time(&self) -> PlaceInTime;

    /// It watches this region of a network.
    fn watch_region(&mut self, number: u8);

    /// Its number for the packet `id`, which moves to another region.
    fn packet_name(&self, id: PacketId) -> u64;

    /// The packet `id` has arrived from another region, where its number was `known_as`.
    fn on_crossing(&mut self, id: PacketId, known_as: u64);

    /// Joins the records of the observers of all regions to those of one observer of the network; a run
    /// on one thread has one.
    #[must_use]
    fn join(parts: Vec<Self>) -> Self;

    /// Its records of a run on `threads` threads that ended at `end`, if any.
    fn table(&self, end: Time, threads: usize) -> Option<Table>;
}

/// Records nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    const ACTIVE: bool = false;

    #[inline(always)]
    fn record(&mut self, _: Time, _: Event, _: PacketId, _: &Arena) {}

    #[inline(always)]
    fn set_port_class(&mut self, _: u16, _: u8) {}

    #[inline(always)]
    fn on_transmission_start(&mut self, _: PacketId, _: Time) {}

    #[inline(always)]
    fn on_event(&mut self, _: Time, _: Source) {}

    #[inline(always)]
    fn on_region_step(&mut self) {}

    #[inline(always)]
    fn place_in_time(&self) -> PlaceInTime {
        PlaceInTime::default()
    }

    fn watch_region(&mut self, _: u8) {}

    #[inline(always)]
    fn packet_name(&self, _: PacketId) -> u64 {
        0
    }

    #[inline(always)]
    fn on_crossing(&mut self, _: PacketId, _: u64) {}

    fn join(_: Vec<Self>) -> Self {
        Self
    }

    fn table(&self, _: Time, _: usize) -> Option<Table> {
        None
    }
}
