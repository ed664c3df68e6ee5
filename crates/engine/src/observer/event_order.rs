//! The order of the events of several regions, which all that they record is merged by.

use super::Observer;
use crate::calendar::Source;
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

impl EventOrder {
    /// Enters an event of the calendar.
    ///
    /// At one instant the calendar serves the smallest source that is due, whatever preceded it, so of
    /// two regions the one with the smaller next source is first: compared by the greatest source that
    /// each has had by then.
    #[inline(always)]
    pub fn enter(&mut self, now: Time, source: Source) {
        if now > self.now || source > self.place.0 {
            (self.now, self.place) = (now, (source, 0));
        } else {
            self.step();
        }
    }

    /// Puts later records behind those of other regions for this event.
    #[inline(always)]
    pub fn step(&mut self) {
        self.place.1 += 1;
    }

    /// Place of the present event.
    #[inline(always)]
    pub fn place(&self) -> PlaceInTime {
        self.place
    }
}

impl Observer for EventOrder {
    const ACTIVE: bool = false;

    #[inline(always)]
    fn event_order(&self) -> Option<&EventOrder> {
        Some(self)
    }

    #[inline(always)]
    fn event_order_mut(&mut self) -> Option<&mut EventOrder> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as (time, source), and the place of each by the definition: the greatest source of the instant so
    /// far, and the events since.
    #[test]
    fn the_place_of_an_event_is_the_greatest_source_of_its_instant_and_the_steps_since() {
        let mut order = EventOrder::default();
        for (now, source, place) in [
            (0, 0, (0, 1)),
            (5, 3, (3, 0)),
            (5, 3, (3, 1)),
            (5, 2, (3, 2)),
            (5, 7, (7, 0)),
            (5, 4, (7, 1)),
            (6, 1, (1, 0)),
            (9, 8, (8, 0)),
        ] {
            order.enter(now, source);
            assert_eq!(order.place(), place, "{now} {source}");
        }
        order.step();
        assert_eq!(order.place(), (8, 1));
    }
}
