//! ECN: the share of marked segments lowers the bound of the short term, and many marks end a probe.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 3.7 leaves the answer open but asks for one; this is that of
//! Google's v3 (`tcp_bbr.c`, branch v3: `ecn_alpha_gain` 1/16, `ecn_factor` 1/3, `ecn_thresh` 1/2,
//! `full_ecn_cnt` 2), which is used for every round trip, not below 5 ms only, since the draft asks so.

use crate::tcp::rate_sample::RateSample;

const GAIN: f64 = 1.0 / 16.0;
const FACTOR: f64 = 1.0 / 3.0;
const MAX_SHARE: f64 = 0.5;
const STARTUP_ROUNDS: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct Marks {
    share: f64,     // "alpha"
    delivered: u64, // when the round began
    marked: u64,
    full_rounds: u32, // with more than half of the segments marked, in a row
    pub in_round: bool,
}

impl Default for Marks {
    fn default() -> Self {
        Self { share: 1.0, delivered: 0, marked: 0, full_rounds: 0, in_round: false }
    }
}

impl Marks {
    pub fn update(&mut self, now: &RateSample, round_starts: bool) {
        self.in_round |= now.total_marked > self.marked;
        if !round_starts {
            return;
        }
        let delivered = now.total - self.delivered;
        let share = (now.total_marked - self.marked) as f64 / delivered.max(1) as f64;
        self.share += GAIN * (share - self.share);
        self.full_rounds = if share >= MAX_SHARE { self.full_rounds + 1 } else { 0 };
        (self.delivered, self.marked) = (now.total, now.total_marked);
    }

    /// Share of the bound that a round trip with marks leaves.
    pub fn share_left(&self) -> f64 {
        1.0 - self.share * FACTOR
    }

    /// Whether they end start-up.
    pub fn fill_startup(&self) -> bool {
        self.full_rounds >= STARTUP_ROUNDS
    }

    /// Whether more than half were marked since the segment delivered last was sent.
    pub fn are_too_many(&self, now: &RateSample) -> bool {
        let delivered = (now.total - now.prior_delivered) as f64;
        now.marked_since as f64 > delivered * MAX_SHARE && now.acked > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ecn_thresh` 1/2 of what was delivered since the segment delivered last was sent: of 10 six are too
    /// many, five are not, and no acknowledgement without news says so.
    #[test]
    fn more_than_half_of_the_segments_of_a_round_trip_are_too_many() {
        for (marked_since, acked, too_many) in [(5, 1, false), (6, 1, true), (6, 0, false)] {
            let now = RateSample {
                total: 20,
                prior_delivered: 10,
                marked_since,
                acked,
                ..RateSample::default()
            };
            assert_eq!(Marks::default().are_too_many(&now), too_many, "{marked_since} {acked}");
        }
    }

    /// `ecn_alpha_gain` 1/16 from 1: a round of 20 with 5 marks gives 1 - 0.75 / 16 = 0.953125, and bounds are
    /// left 1 - 0.953125 / 3 of themselves. Two rounds in a row with half of the segments marked end start-up.
    #[test]
    fn the_share_of_marks_is_smoothed_and_two_full_rounds_end_start_up() {
        let mut marks = Marks::default();
        let mut now = RateSample { total: 20, total_marked: 5, ..RateSample::default() };
        marks.update(&now, false);
        assert_eq!((marks.share, marks.in_round), (1.0, true));
        marks.update(&now, true);
        assert_eq!((marks.share, marks.fill_startup()), (0.953125, false));
        assert!((marks.share_left() - (1.0 - 0.953125 / 3.0)).abs() < 1e-15);
        for (marked, fills) in [(5, false), (4, false), (5, false), (5, true)] {
            (now.total, now.total_marked) = (now.total + 10, now.total_marked + marked);
            marks.update(&now, true);
            assert_eq!(marks.fill_startup(), fills);
        }
    }
}
