//! Timers of a protocol: served by time, then in the order they were set.
//!
//! A timer is not cancelled: the owner checks on waking whether it still applies.

use std::collections::BTreeMap;
use trunkline_units::{Time, NEVER};

/// When a timer is due, when it was set, whether by a message that arrived at that time, and its number.
type Place = (Time, Time, bool, u64);

/// Actions by time.
#[derive(Clone, Debug)]
pub struct Timers<T> {
    pending: BTreeMap<Place, T>,
    now: Time,
    set: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { pending: BTreeMap::new(), now: 0, set: 0 }
    }
}

impl<T> Timers<T> {
    /// Later timers are set at this time.
    pub fn advance(&mut self, now: Time) {
        self.now = now;
    }

    /// Sets a timer.
    pub fn set(&mut self, at: Time, timer: T) {
        self.insert((at, self.now, false), timer);
    }

    /// Sets a timer for a message that arrived at some time, which may be made known later, but before the
    /// timer is due. Messages are made known in the order in which they arrived.
    pub fn set_for_arrival(&mut self, at: Time, arrived: Time, timer: T) {
        self.insert((at, arrived, true), timer);
    }

    fn insert(&mut self, (at, since, of_arrival): (Time, Time, bool), timer: T) {
        self.set += 1;
        self.pending.insert((at, since, of_arrival, self.set), timer);
    }

    /// When the first is due; `NEVER` without any.
    #[must_use]
    pub fn due(&self) -> Time {
        self.pending.keys().next().map_or(NEVER, |key| key.0)
    }

    /// Takes out the first that is due by `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        self.advance(now);
        if self.due() > now {
            return None;
        }
        self.pending.pop_first().map(|(_, timer)| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message that arrived at 10 is made known after another timer was set at 15: of timers due at one
    /// time its own is first all the same, and last of those set at 10.
    #[test]
    fn timers_of_one_time_are_served_as_they_were_set_whenever_an_arrival_is_made_known() {
        let mut timers = Timers::default();
        timers.advance(10);
        timers.set(20, "set at 10");
        timers.advance(15);
        timers.set(20, "set at 15");
        timers.set_for_arrival(20, 10, "arrived at 10");
        let served = [(); 4].map(|()| timers.pop(20));
        assert_eq!(served, [Some("set at 10"), Some("arrived at 10"), Some("set at 15"), None]);
    }
}
