//! Timers of a protocol: served by time, then in the order they were set.
//!
//! A timer is not cancelled: the owner checks on waking whether it still applies.

use std::collections::BTreeMap;
use trunkline_units::{Time, NEVER};

/// Actions by time.
#[derive(Clone, Debug)]
pub struct Timers<T> {
    pending: BTreeMap<(Time, u64), T>,
    set: u64,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self { pending: BTreeMap::new(), set: 0 }
    }
}

impl<T> Timers<T> {
    /// Sets a timer.
    pub fn set(&mut self, at: Time, timer: T) {
        self.set += 1;
        self.pending.insert((at, self.set), timer);
    }

    /// When the first is due; `NEVER` without any.
    #[must_use]
    pub fn due(&self) -> Time {
        self.pending.keys().next().map_or(NEVER, |key| key.0)
    }

    /// Takes out the first that is due by `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        if self.due() > now {
            return None;
        }
        self.pending.pop_first().map(|(_, timer)| timer)
    }
}
