//! Timers as Linux runs them: its estimate of the round trip, and the wheel that they fire from.
//!
//! Source: RFC 6298 sections 2 and 5; Linux 6.1 (`tcp_rtt_estimator`, `kernel/time/timer.c`) where
//! it differs: the variance term never falls below the minimum timeout, so the timeout is at least
//! SRTT + 200 ms; it is the greatest mean deviation of a round trip, and falls by a quarter each round trip;
//! a shorter sample moves the deviation by an eighth of that. Time advances in ticks of 4 ms (250 a
//! second, as in Debian's kernels), and a timer fires at the end of its slot in the wheel: slots of one
//! tick up to 63 ahead, of 8 up to 504, of 64 up to 4032, and so on.

use trunkline_units::{Span, Time};

/// A tick ("jiffy") [ns].
pub(super) const TICK_NS: u64 = 4_000_000;
const US_NS: u64 = 1_000;
const LEVEL_SLOTS: u64 = 63;

/// Ticks in `us` microseconds, rounded up.
pub(in crate::tcp) fn ticks(us: u64) -> u64 {
    (us * US_NS).div_ceil(TICK_NS)
}

/// When a timer fires that is set now for `after` ticks.
pub(in crate::tcp) fn fires(now: Time, after: u64) -> Time {
    let mut shift = 0;
    while after >= LEVEL_SLOTS << shift {
        shift += 3;
    }
    ((((now / TICK_NS + after) >> shift) + 1) << shift) * TICK_NS
}

/// Round trip and timeout of a connection.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Estimator {
    srtt_8: u64, // 8 SRTT [us]
    mdev_4: u64, // 4 mean deviations [us]
    mdev_max: u64,
    rttvar: u64,
    window_end: u32,        // the round trip ends when this is passed
    min_variance_us: u64,   // least variance term [us]
    max_timeout_ticks: u64, // largest timeout [ticks]
    rto: u64,               // [ticks], back-off included
    /// Latest sample [us]; 0 before the first.
    pub latest: u64,
    /// Minimum round trip seen [us].
    pub min_rtt: u64,
}

impl Estimator {
    /// Without a sample: first and least and largest timeout [ns].
    pub fn new(initial: Span, min_rto: Span, max_rto: Span) -> Self {
        let max_rto = ticks(max_rto / US_NS).max(1);
        Self {
            srtt_8: 0,
            mdev_4: 0,
            mdev_max: 0,
            rttvar: 0,
            window_end: 0,
            min_variance_us: min_rto / US_NS,
            max_timeout_ticks: max_rto,
            rto: ticks(initial / US_NS).min(max_rto),
            latest: 0,
            min_rtt: u64::MAX,
        }
    }

    /// A round trip [us]; `una` and `next` after its acknowledgement.
    pub fn sample(&mut self, rtt: u64, una: u32, next: u32) {
        self.latest = rtt;
        if self.srtt_8 == 0 {
            self.srtt_8 = rtt << 3;
            self.mdev_4 = rtt << 1;
            self.rttvar = self.mdev_4.max(self.min_variance_us);
            self.mdev_max = self.rttvar;
            self.window_end = next;
        } else {
            self.deviate(rtt as i64 - (self.srtt_8 >> 3) as i64);
            if una > self.window_end {
                self.rttvar -= self.rttvar.saturating_sub(self.mdev_max) >> 2;
                self.window_end = next;
                self.mdev_max = self.min_variance_us;
            }
        }
        self.srtt_8 = self.srtt_8.max(1);
        self.rto = ticks((self.srtt_8 >> 3) + self.rttvar).min(self.max_timeout_ticks);
    }

    fn deviate(&mut self, error: i64) {
        self.srtt_8 = self.srtt_8.saturating_add_signed(error);
        let mut more = error.abs() - (self.mdev_4 >> 2) as i64;
        if error < 0 && more > 0 {
            more >>= 3;
        }
        self.mdev_4 = self.mdev_4.saturating_add_signed(more);
        self.mdev_max = self.mdev_max.max(self.mdev_4);
        self.rttvar = self.rttvar.max(self.mdev_max);
    }

    /// RFC 6298 (5.7): no round trip was timed while the connection opened; the first sample ends it.
    pub fn fall_back(&mut self, timeout: Span) {
        self.rto = ticks(timeout / US_NS).min(self.max_timeout_ticks);
    }

    /// RFC 6298 (5.5); the next sample ends it.
    pub fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.max_timeout_ticks);
    }

    /// Timeout [ticks].
    pub fn rto(&self) -> u64 {
        self.rto
    }

    /// Smoothed round trip [us]; none before a sample.
    pub fn srtt(&self) -> Option<u64> {
        (self.srtt_8 > 0).then_some(self.srtt_8 >> 3)
    }

    /// Minimum variance term [us].
    pub fn min_variance(&self) -> u64 {
        self.min_variance_us
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    const MS: u64 = 1_000_000;

    fn fresh() -> Estimator {
        Estimator::new(1000 * MS, 200 * MS, 120_000 * MS)
    }

    /// 40 ms: SRTT 40, deviation 20, so 4 times it is 80, below 200: 240 ms are 60 ticks.
    #[test]
    fn the_first_timeout_is_the_sample_and_the_least_variance() {
        let mut estimator = fresh();
        assert_eq!(estimator.rto(), 250);
        estimator.sample(40_000, 1, 10);
        assert_eq!((estimator.srtt(), estimator.rto()), (Some(40_000), 60));
    }

    /// After 40 ms, 140 ms: error 100, SRTT 52.5; 4 deviations 80 + 100 - 20 = 160, under 200.
    /// 252.5 ms are 63.1 ticks: 64. Then 800 ms: error 747.5, SRTT 145.9; 160 + 747.5 - 40 = 867.5.
    /// 1013.4 ms are 254 ticks.
    #[test]
    fn the_variance_follows_the_greatest_deviation_of_a_round_trip() {
        let mut estimator = fresh();
        estimator.sample(40_000, 1, 10);
        estimator.sample(140_000, 2, 10);
        assert_eq!((estimator.srtt(), estimator.rto()), (Some(52_500), 64));
        estimator.sample(800_000, 3, 10);
        assert_eq!((estimator.srtt(), estimator.rto()), (Some(145_937), 254));
    }

    /// Samples of 100 ms, then one of 20 ms: error 80, less a quarter of 200 is 30, and an eighth of
    /// that, 3.75 ms, is all that a shorter round trip adds.
    #[test]
    fn a_shorter_round_trip_hardly_moves_the_deviation() {
        let mut estimator = fresh();
        estimator.sample(100_000, 1, 10);
        assert_eq!(estimator.mdev_4, 200_000);
        estimator.sample(20_000, 2, 10);
        assert_eq!(estimator.mdev_4, 203_750);
    }

    /// 400 ms from a first sample of 200 ms. While it stays at 200 ms, 4 deviations are 300, 225, 168.75;
    /// the greatest of a round trip starts anew at 200. 400; 400 - (400 - 225) / 4 = 356.25; 356.25 -
    /// (356.25 - 200) / 4 = 317.19.
    #[test]
    fn the_variance_falls_by_a_quarter_of_the_distance_a_round_trip() {
        let mut estimator = fresh();
        estimator.sample(200_000, 1, 10);
        let mut seen = vec![];
        for trip in 1..4 {
            estimator.sample(200_000, 10 * trip + 1, 10 * trip + 10);
            seen.push(estimator.rttvar);
        }
        assert_eq!(seen, [400_000, 356_250, 317_188]);
    }

    #[test]
    fn a_back_off_doubles_until_a_sample() {
        let mut estimator = fresh();
        estimator.sample(40_000, 1, 10);
        estimator.back_off();
        estimator.back_off();
        assert_eq!(estimator.rto(), 240);
        estimator.sample(40_000, 2, 10);
        assert_eq!(estimator.rto(), 60);
    }

    /// At 10 ms, tick 2. 10 ticks on is slot 12, which ends at 13: 52 ms. 66 ticks on, 68, lies in
    /// the slot of 8 that ends at 72: 288 ms. 1000 on: 1002, in the slot of 64 that ends at 1024.
    #[test]
    fn a_timer_fires_at_the_end_of_its_slot() {
        assert_eq!(fires(10 * MS, 10), 52 * MS);
        assert_eq!(fires(10 * MS, 62), 65 * 4 * MS);
        assert_eq!(fires(10 * MS, 66), 288 * MS);
        assert_eq!(fires(10 * MS, 1000), 4096 * MS);
    }

    /// Whole microseconds, rounded up to ticks of 4 ms, however many: 8.000001 s are 2001, a first timeout of
    /// 1.000001 s 251. The time that a slot begins to be longer: 63 ticks, 504, 4032 (`LVL_START`).
    #[test]
    fn times_are_rounded_up_to_ticks_and_slots() {
        assert_eq!((ticks(8_000_000), ticks(8_000_001)), (2000, 2001));
        assert_eq!(Estimator::new(1_000_001_000, 200 * MS, 120_000 * MS).rto(), 251);
        let ends = [62, 63, 503, 504, 4031, 4032].map(|after| fires(0, after) / TICK_NS);
        assert_eq!(ends, [63, 64, 504, 512, 4032, 4096]);
    }

    /// RFC 6298 (5.7): 3 s, and the largest timeout at most; the first sample sets everything.
    #[test]
    fn rfc6298_s5_7_a_timeout_without_a_round_trip() {
        for (most, ticks) in [(120_000, 750), (2_000, 500)] {
            let mut estimator = Estimator::new(1000 * MS, 200 * MS, most * MS);
            estimator.fall_back(3000 * MS);
            assert_eq!(estimator.rto(), ticks);
            estimator.sample(40_000, 1, 10);
            assert_eq!((estimator.srtt(), estimator.rto()), (Some(40_000), 60));
        }
    }
}
