//! The integral of a number of waiting packets over time, for the mean queue.

use trunkline_units::Time;

/// An integral that is brought up to date before its number changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeIntegral {
    /// Up to `updated_at` [packet ns].
    pub sum: i128,
    updated_at: Time,
}

impl TimeIntegral {
    /// `waiting` packets have waited since it was brought up to date last.
    #[inline(always)]
    pub fn add(&mut self, waiting: u32, now: Time) {
        // Without a branch on whether any waited, which is hard to predict.
        self.sum += i128::from(u64::from(waiting) * (now - self.updated_at));
        self.updated_at = now;
    }
}
