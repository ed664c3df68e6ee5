//! The order of the events of several regions, which all that they record is merged by.

use super::{Event, Observer};
use crate::calendar::Source;
use crate::tables::Table;
use trunkline_packet::{Arena, PacketId};
use trunkline_units::Time;

/// Place of an event among those of its instant: the greatest source that its region had served at that
/// instant, and the steps since.
pub type PlaceInTime = (Source, u32);

/// Keeps the place of the present event, and records nothing: the observer of a region.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventOrder {
    now: Time,
    place: PlaceInTime,
}

impl Observer for EventOrder {
    const ACTIVE: bool = false;

    #[inline(always)]
    fn record(&mut self, _: Time, _: Event, _: PacketId, _: &Arena) {}

    #[inline(always)]
    fn set_port_class(&mut self, _: u16, _: u8) {}

    #[inline(always)]
    fn on_transmission_start(&mut self, _: PacketId, _: Time) {}

    /// At one instant the calendar serves the smallest source that is due, whatever preceded it, so of
    /// two regions the one with the smaller next source is first: compared by the greatest source that
    /// each has had by then.
    #[inline(always)]
    fn on_event(&mut self, now: Time, source: Source) {
        if now > self.now || source > self.place.0 {
            (self.now, self.place) = (now, (source, 0));
        } else {
            self.on_region_step();
        }
    }

    #[inline(always)]
    fn on_region_step(&mut self) {
        self.place.1 += 1;
    }

    #[inline(always)]
    fn place_in_time(&self) -> PlaceInTime {
        self.place
    }

    fn watch_region(&mut self, _: u8) {}

    #[inline(always)]
    fn packet_name(&self, _: PacketId) -> u64 {
        0
    }

    #[inline(always)]
    fn on_crossing(&mut self, _: PacketId, _: u64) {}

    fn join(_: Vec<Self>) -> Self {
        Self::default()
    }

    fn table(&self, _: Time, _: usize) -> Option<Table> {
        None
    }
}
