//! BBR's model of the path: the maximum rate of ten rounds, and the aggregation of acknowledgements.
//!
//! Source: Linux 6.1 (`lib/win_minmax.c`, after Kathleen Nichols; `bbr_update_ack_aggregation`).

use super::RATE_UNIT;
use crate::tcp::rate_sample::RateSample;
use trunkline_units::Time;

/// The largest of a window, by its three best in order.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::congestion) struct WindowedMaximum<Value> {
    best: [(u64, Value); 3], // with its round
}

impl<Value: Copy + PartialOrd> WindowedMaximum<Value> {
    pub fn get(&self) -> Value {
        self.best[0].1
    }

    /// A value that counts in `rounds` rounds.
    pub fn update(&mut self, round: u64, value: Value, rounds: u64) {
        let new = (round, value);
        let [first, second, third] = self.best;
        if value >= first.1 || round - third.0 > rounds {
            self.best = [new; 3];
            return;
        }
        if value >= second.1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= third.1 {
            self.best[2] = new;
        }
        let age = round - first.0;
        if age > rounds {
            self.best = [self.best[1], self.best[2], new];
            if round - self.best[0].0 > rounds {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == first.0 && age > rounds / 4 {
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].0 == self.best[1].0 && age > rounds / 2 {
            self.best[2] = new;
        }
    }
}

/// Rounds of each of two windows of aggregation.
const AGGREGATION_ROUNDS: u32 = 5;
const MAX_EXTRA_SEGMENTS: u64 = 0xF_FFFF;
/// Longest aggregation that the window makes room for [us].
const MAX_AGGREGATION_US: u64 = 100_000;

/// Segments acknowledged beyond what the rate explains.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    extra: [u64; 2],
    current: usize,
    rounds: u32,
    since: Time, // [us]
    acked: u64,
}

impl Aggregation {
    pub fn update(&mut self, now: &RateSample, round_start: bool, rate: u64, cwnd: u64) {
        if now.acked == 0 || now.delivered.is_none() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= AGGREGATION_ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.extra[self.current] = 0;
            }
        }
        let elapsed = now.delivered_at - self.since;
        let mut expected = (u128::from(rate) * u128::from(elapsed) / u128::from(RATE_UNIT)) as u64;
        let acked = u64::from(now.acked);
        if self.acked <= expected || self.acked + acked > MAX_EXTRA_SEGMENTS {
            (self.acked, self.since, expected) = (0, now.delivered_at, 0);
        }
        self.acked += acked;
        let extra = (self.acked - expected.min(self.acked)).min(cwnd);
        self.extra[self.current] = self.extra[self.current].max(extra);
    }

    /// The application sends after a pause [us].
    pub fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// Room for it [segments].
    pub fn extra(&self, rate: u64) -> u64 {
        let max_extra = (rate * MAX_AGGREGATION_US) / RATE_UNIT;
        self.extra[0].max(self.extra[1]).min(max_extra)
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    /// 9 in round 0, then 5 each round: 9 until round 10, 5 from round 11 on.
    #[test]
    fn win_minmax_the_best_counts_for_ten_rounds() {
        let mut best = WindowedMaximum::default();
        best.update(0, 9, 10);
        for round in 1..=10 {
            best.update(round, 5, 10);
            assert_eq!(best.get(), 9, "{round}");
        }
        best.update(11, 5, 10);
        assert_eq!(best.get(), 5);
    }

    /// The rate is one segment each 1000 us; eight arrive at once after 8 ms, again and again: seven
    /// more than the rate explains when the epoch began with the eight.
    #[test]
    fn bbr_update_ack_aggregation_what_comes_at_once_is_extra() {
        let mut aggregation = Aggregation::default();
        let rate = RATE_UNIT / 1000;
        for burst in 1..=6 {
            let now = RateSample {
                acked: 8,
                delivered: Some((8, 8000)),
                delivered_at: 8000 * burst,
                ..RateSample::default()
            };
            aggregation.update(&now, false, rate, 100);
        }
        assert!((8..=9).contains(&aggregation.extra(rate)), "{:?}", aggregation.extra);
    }

    /// `minmax_running_max` and `minmax_subwin_update` by hand, a window of 8 rounds. The best of 100 in round 0
    /// counts until round 8; a quarter of the window later the second best is sought anew, half of it later
    /// the third. Where the best is too old the second takes its place, or the third where that is too old too.
    #[test]
    fn win_minmax_the_second_and_third_best_take_over() {
        let mut best = WindowedMaximum::default();
        for (round, value, expected) in [
            (0, 100, [(0, 100); 3]),
            (2, 50, [(0, 100); 3]),
            (3, 40, [(0, 100), (3, 40), (3, 40)]),
            (4, 30, [(0, 100), (3, 40), (3, 40)]),
            (5, 30, [(0, 100), (3, 40), (5, 30)]),
            (8, 10, [(0, 100), (3, 40), (5, 30)]),
            (9, 5, [(3, 40), (5, 30), (9, 5)]),
            (14, 4, [(9, 5), (14, 4), (14, 4)]),
            (14, 4, [(9, 5), (14, 4), (14, 4)]),
            (15, 5, [(15, 5); 3]),
            (16, 4, [(15, 5); 3]),
            (24, 1, [(24, 1); 3]),
        ] {
            best.update(round, value, 8);
            assert_eq!(best.best, expected, "{round}");
        }
    }

    /// `bbr_ack_aggregation_cwnd`: the larger of the two windows, at most what the rate gives in 100 ms: a segment
    /// each 1000 us gives 100. `bbr_update_ack_aggregation`: five rounds begin the other window.
    #[test]
    fn bbr_ack_aggregation_cwnd_has_a_bound_and_two_windows() {
        let rate = RATE_UNIT / 1000 + 1;
        for (extra, room) in [([500, 0], 100), ([50, 70], 70), ([70, 50], 70)] {
            assert_eq!(Aggregation { extra, ..Aggregation::default() }.extra(rate), room);
        }
        // A segment a microsecond: exactly 100,000 in 100 ms.
        let many = Aggregation { extra: [1 << 30, 0], ..Aggregation::default() };
        assert_eq!(many.extra(RATE_UNIT), 100_000);
        let mut aggregation = Aggregation { extra: [7, 9], ..Aggregation::default() };
        let now = RateSample { acked: 1, delivered: Some((1, 1)), ..RateSample::default() };
        for round in 1..=10 {
            aggregation.update(&now, true, rate, 0);
            let expected = [[7, 9], [7, 0], [0, 0]][round / 5];
            assert_eq!(
                (aggregation.extra, aggregation.current),
                (expected, round / 5 % 2),
                "{round}"
            );
        }
    }

    /// `bbr_update_ack_aggregation`: an epoch counts below 2^20 segments (`bbr_ack_epoch_acked_reset_thresh`), and
    /// the acknowledgement that would make it so many begins another.
    #[test]
    fn bbr_update_ack_aggregation_begins_anew_at_a_million_segments() {
        for (acked, left) in [(4, (1 << 20) - 1), (5, 5)] {
            let mut aggregation = Aggregation { acked: (1 << 20) - 5, ..Aggregation::default() };
            let now = RateSample { acked, delivered: Some((1, 1)), ..RateSample::default() };
            aggregation.update(&now, false, 0, 100);
            assert_eq!(aggregation.acked, left);
        }
    }
}
