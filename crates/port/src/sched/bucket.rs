//! A token bucket that may go into debt, in exact arithmetic.

use trunkline_units::{Time, SECOND};

/// Tokens of one byte: 8e9, at one a nanosecond for each bit/s (exact, see `meter`).
pub(super) const TOKENS_PER_BYTE: i128 = 8 * SECOND as i128;

/// A bucket; who owns it keeps the time of its last change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: i128,
    depth: i128,
    tokens: i128,
}

impl Bucket {
    /// A full one of `bytes`.
    pub(super) fn full(rate_bit_s: u64, bytes: u64) -> Self {
        let depth = i128::from(bytes) * TOKENS_PER_BYTE;
        Self { rate: i128::from(rate_bit_s), depth, tokens: depth }
    }

    /// Tokens after `span` if it had no bottom and no rim.
    pub(super) fn filled(&self, span: Time) -> i128 {
        self.tokens + self.rate * i128::from(span)
    }

    /// Fills it for `span`, up to its rim.
    pub(super) fn fill(&mut self, span: Time) {
        self.tokens = self.filled(span).min(self.depth);
    }

    /// Fills it for `span` as if it had no rim.
    pub(super) fn overfill(&mut self, span: Time) {
        self.tokens = self.filled(span);
    }

    /// Takes `bytes`, down to a debt of `longest` at its rate.
    pub(super) fn take(&mut self, bytes: u32, longest: Time) {
        self.tokens = (self.tokens - i128::from(bytes) * TOKENS_PER_BYTE)
            .max(-self.rate * i128::from(longest));
    }

    /// Nanoseconds from `tokens` until none is owed.
    pub(super) fn time_until_paid(&self, tokens: i128) -> Time {
        ((-tokens + self.rate - 1) / self.rate) as Time
    }

    /// Nanoseconds until it holds `bytes`, or is full where it never holds them.
    pub(super) fn time_until_holds(&self, bytes: u32) -> Time {
        let short = (i128::from(bytes) * TOKENS_PER_BYTE).min(self.depth) - self.tokens;
        if short <= 0 {
            return 0;
        }
        self.time_until_paid(-short)
    }
}
