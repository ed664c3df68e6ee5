//! A token bucket that may go into debt, in exact arithmetic.

use trunkline_units::{Time, SECOND};

/// Tokens of one byte: 8e9, at one a nanosecond for each bit/s (exact, see `meter`).
pub(super) const TOKENS_PER_BYTE: i128 = 8 * SECOND as i128;

/// A bucket; who owns it keeps the time of its last change.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateBucket {
    rate: i128,
    depth: i128,
    tokens: i128,
}

impl RateBucket {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2215 section 3.1: tokens come at the rate. 1000 B at 8000 bit/s, a byte a millisecond: a debt of
    /// 500 B is paid after 500 ms to the nanosecond, and 1000 B are held 1000 ms later; a packet above the
    /// depth waits for a full bucket.
    #[test]
    fn rfc2215_s3_1_a_debt_is_paid_at_the_rate() {
        const MS: Time = 1_000_000;
        let mut bucket = RateBucket::full(8000, 1000);
        assert_eq!(bucket.time_until_holds(5000), 0);
        bucket.take(1500, 10 * SECOND);
        assert_eq!(bucket.time_until_paid(bucket.filled(0)), 500 * MS);
        assert_eq!(bucket.time_until_paid(bucket.filled(100 * MS)), 400 * MS);
        assert_eq!(
            [0, 1, 1000, 1001].map(|it| bucket.time_until_holds(it)),
            [500, 501, 1500, 1500].map(|it| it * MS)
        );
        bucket.fill(3 * SECOND);
        assert_eq!([1000, 1001].map(|bytes| bucket.time_until_holds(bytes)), [0, 0]);
        bucket.take(1, 10 * SECOND);
        assert_eq!(bucket.time_until_holds(1000), MS);
        bucket.overfill(2 * MS);
        bucket.take(1002, 10 * SECOND);
        assert_eq!(bucket.time_until_paid(bucket.filled(0)), MS);
    }

    /// A byte at 3 bit/s takes 8/3 s, the whole nanosecond after; a debt is no longer than the longest.
    #[test]
    fn rfc2215_s3_1_times_round_up_to_nanoseconds_and_debts_have_a_limit() {
        let mut bucket = RateBucket::full(3, 1);
        bucket.take(2, 100 * SECOND);
        assert_eq!(bucket.time_until_holds(0), 2_666_666_667);
        bucket.take(1000, 100 * SECOND);
        assert_eq!(bucket.time_until_holds(0), 100 * SECOND);
    }

    /// At 1 bit/s a byte takes 8 s: no token too many in 1000 B.
    #[test]
    fn rfc2215_s3_1_tokens_are_exact_at_the_lowest_rate() {
        let mut bucket = RateBucket::full(1, 1000);
        bucket.take(1000, 10_000 * SECOND);
        assert_eq!(
            [1, 1000, 1001].map(|it| bucket.time_until_holds(it)),
            [8, 8000, 8000].map(|it| it * SECOND)
        );
        bucket.fill(8000 * SECOND);
        bucket.take(1000, 10_000 * SECOND);
        assert_eq!(bucket.time_until_holds(1), 8 * SECOND);
    }
}
