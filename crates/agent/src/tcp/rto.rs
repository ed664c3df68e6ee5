//! Retransmission timeout: how long an acknowledgement may take before its segment is sent again.
//!
//! Source: RFC 6298 (alpha 1/8, beta 1/4, K 4); scaled integers after Jacobson & Karels 1988,
//! appendix A, as in ns-2: 8 SRTT and 4 RTTVAR in full ticks of the clock.
//! Differs: a timeout is never under two ticks, so that a coarse clock that is about to tick does
//! not fire at once; after the fourth doubling the next sample counts as the first (RFC 6298
//! section 5 allows it: the path may be a new one).

use trunkline_units::{Span, Time};

/// Longest sample [ticks], so that eight times as much is a number.
const LONGEST_SAMPLE: u64 = 1 << 58;

/// Estimator and back-off of one connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Rto {
    current: Span, // first: every acknowledgement reads it
    tick: Span,
    srtt_8: i64,   // 8 SRTT [ticks]
    rttvar_4: i64, // 4 RTTVAR [ticks]
    base: Span,    // before back-off and upper limit
    min: Span,
    max: Span,
    latest: i64, // sample [ticks]; 0 before the first
    expiries: u32,
    doublings: u8,
    next_is_first: bool,
}

impl Rto {
    /// An estimator without a sample: `initial`, `min`, `max` and clock granularity `tick` [ns].
    #[must_use]
    pub fn new(initial: Span, min: Span, max: Span, tick: Span) -> Self {
        let tick = tick.max(1);
        let mut rto = Self {
            current: 0,
            tick,
            srtt_8: 0,
            rttvar_4: 0,
            base: initial.max(min),
            min,
            max,
            latest: 0,
            expiries: 0,
            doublings: 0,
            next_is_first: true,
        };
        rto.settle();
        rto
    }

    /// Timeout to arm a timer with [ns].
    #[inline]
    #[must_use]
    pub fn current(&self) -> Span {
        self.current
    }

    /// Smoothed round-trip time [ns]; none before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<f64> {
        (self.srtt_8 > 0).then(|| self.srtt_8 as f64 * self.tick as f64 / 8.0)
    }

    /// Latest sample of the round-trip time, without smoothing [ns]; none before the first.
    #[must_use]
    pub fn rtt(&self) -> Option<f64> {
        (self.latest > 0).then_some(self.latest as f64 * self.tick as f64)
    }

    /// A segment sent at `sent` was acknowledged at `now`, both read off a clock of full ticks.
    #[inline]
    pub fn sample_timed(&mut self, sent: Time, now: Time) {
        let ticks = if self.tick == 1 { now - sent } else { now / self.tick - sent / self.tick };
        self.update(ticks);
    }

    /// A time stamp of `sent` returned at `now`: rounded to the nearest tick, as ns-2 does.
    #[inline]
    pub fn sample_echoed(&mut self, sent: Time, now: Time) {
        let span = now.saturating_sub(sent);
        let ticks = if self.tick == 1 { span } else { (span + self.tick / 2) / self.tick };
        self.update(ticks);
    }

    /// RFC 6298 (2.2) and (2.3). A sample ends the back-off (section 5, last paragraph).
    fn update(&mut self, ticks: u64) {
        let sample = ticks.clamp(1, LONGEST_SAMPLE) as i64;
        self.latest = sample;
        if self.next_is_first {
            self.next_is_first = false;
            self.srtt_8 = sample * 8;
            self.rttvar_4 = sample * 2;
        } else {
            let error = sample - self.srtt_8 / 8;
            self.srtt_8 = (self.srtt_8 + error).max(1);
            // At least one tick: max(G, K * RTTVAR) of (2.3).
            self.rttvar_4 = (self.rttvar_4 + error.abs() - self.rttvar_4 / 4).max(1);
        }
        let ticks = (self.rttvar_4 + self.srtt_8 / 8) as u64;
        self.base = ticks.saturating_mul(self.tick).max(self.min);
        self.end_back_off();
    }

    /// RFC 6298 (5.7): a SYN was lost, and no round trip timed: `timeout` at least [ns].
    pub fn fall_back(&mut self, timeout: Span) {
        self.base = self.base.max(timeout);
        self.end_back_off();
    }

    /// RFC 6298 (5.5): the timer ran out.
    pub fn back_off(&mut self) {
        self.count_expiry();
        if self.current < self.max {
            self.doublings = self.doublings.saturating_add(1);
        }
        self.next_is_first |= self.doublings > 3;
        self.settle();
    }

    /// The timer ran out.
    pub fn count_expiry(&mut self) {
        self.expiries += 1;
    }

    /// How often the timer ran out.
    #[must_use]
    pub fn expiries(&self) -> u32 {
        self.expiries
    }

    /// Data that were sent once were acknowledged.
    #[inline]
    pub fn end_back_off(&mut self) {
        self.doublings = 0;
        self.settle();
    }

    #[inline]
    fn settle(&mut self) {
        let backed_off = u128::from(self.base) << self.doublings.min(63);
        let limited = backed_off.min(u128::from(self.max)) as u64;
        self.current = limited.max(2 * self.tick);
    }
}

#[cfg(test)]
mod rfc6298 {
    use super::*;
    use trunkline_units::SECOND;

    const MS: u64 = 1_000_000;

    fn exact(min: Span) -> Rto {
        Rto::new(SECOND, min, 60 * SECOND, 1)
    }

    #[test]
    fn s2_1_before_a_sample_the_timeout_is_the_initial_one() {
        assert_eq!(exact(200 * MS).current(), SECOND);
        assert_eq!(exact(200 * MS).srtt(), None);
    }

    /// R = 100 ms: SRTT = 100, RTTVAR = 50, RTO = 100 + 4 * 50 = 300 ms.
    #[test]
    fn s2_2_first_sample_sets_srtt_and_half_rttvar() {
        let mut rto = exact(0);
        rto.sample_timed(5, 5 + 100 * MS);
        assert_eq!(rto.srtt(), Some(100e6));
        assert_eq!(rto.current(), 300 * MS);
    }

    /// After R = 100 ms, R' = 180 ms: RTTVAR = 3/4 * 50 + 1/4 * |100 - 180| = 57.5 ms (with the
    /// old SRTT), SRTT = 7/8 * 100 + 1/8 * 180 = 110 ms, RTO = 110 + 4 * 57.5 = 340 ms.
    #[test]
    fn s2_3_rttvar_is_updated_before_srtt() {
        let mut rto = exact(0);
        rto.sample_echoed(0, 100 * MS);
        rto.sample_echoed(0, 180 * MS);
        assert_eq!(rto.srtt(), Some(110e6));
        assert_eq!(rto.current(), 340 * MS);
    }

    /// A constant 40 ms: RTTVAR shrinks by 3/4 a sample, from 20 ms; after 60 samples 4 RTTVAR is
    /// 80 ms * 0.75^59 < 4 ns, so RTO would be 40 ms: the minimum holds.
    #[test]
    fn s2_4_the_minimum_holds_on_a_steady_path() {
        let mut rto = exact(SECOND);
        let mut free = exact(0);
        for _ in 0..60 {
            rto.sample_timed(0, 40 * MS);
            free.sample_timed(0, 40 * MS);
        }
        assert_eq!(rto.current(), SECOND);
        assert!((40 * MS..40 * MS + 10).contains(&free.current()), "{}", free.current());
    }

    #[test]
    fn s5_5_each_expiry_doubles_up_to_the_maximum() {
        let mut rto = exact(SECOND);
        let mut seen = vec![];
        for _ in 0..8 {
            seen.push(rto.current() / SECOND);
            rto.back_off();
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
        rto.sample_timed(0, 100 * MS);
        assert_eq!(rto.current(), SECOND, "a sample ends the back-off");
    }

    /// After four doublings the old average is void: SRTT is the new sample itself.
    #[test]
    fn s5_after_many_doublings_the_next_sample_counts_as_the_first() {
        let mut rto = exact(0);
        rto.sample_timed(0, 100 * MS);
        for _ in 0..4 {
            rto.back_off();
        }
        rto.sample_timed(0, 900 * MS);
        assert_eq!(rto.srtt(), Some(900e6));
        assert_eq!(rto.current(), 2700 * MS);
    }

    /// G = 10 ms. Sent at 14 ms, acknowledged at 96 ms: the clock went from 1 to 9, 8 ticks;
    /// RTO = 80 + 4 * 40 = 240 ms. The span of 82 ms rounds to 8 ticks too; 86 ms rounds to 9.
    #[test]
    fn s4_a_coarse_clock_counts_full_ticks() {
        let mut timed = Rto::new(SECOND, 0, 60 * SECOND, 10 * MS);
        timed.sample_timed(14 * MS, 96 * MS);
        assert_eq!((timed.srtt(), timed.current()), (Some(80e6), 240 * MS));
        let mut echoed = Rto::new(SECOND, 0, 60 * SECOND, 10 * MS);
        echoed.sample_echoed(14 * MS, 100 * MS);
        assert_eq!(echoed.srtt(), Some(90e6));
    }

    /// A steady 5 ms on a clock of 100 ms reads as one tick each: SRTT = 1 tick, 4 RTTVAR = 2
    /// ticks at first, and 2 - 2 / 4 = 2 in full ticks for ever. RTO = 3 ticks, above SRTT + G.
    #[test]
    fn s2_3_full_ticks_keep_the_variance_term_above_one_tick() {
        let mut rto = Rto::new(SECOND, 0, 60 * SECOND, 100 * MS);
        for k in 0..50 {
            rto.sample_echoed(k * SECOND, k * SECOND + 5 * MS);
            assert_eq!(rto.current(), 300 * MS);
        }
    }

    /// No timeout is under two ticks of the clock, be it the first or the largest.
    #[test]
    fn s4_a_timeout_is_two_ticks_at_least() {
        for (initial, most) in [(MS, 60 * SECOND), (SECOND, MS)] {
            assert_eq!(Rto::new(initial, 0, most, 100 * MS).current(), 200 * MS);
        }
    }

    /// The latest sample is not smoothed, and in ticks: 100 ms, then 40.
    #[test]
    fn the_latest_sample_is_not_smoothed() {
        let mut rto = Rto::new(SECOND, 0, 60 * SECOND, 10 * MS);
        assert_eq!(rto.rtt(), None);
        for sample in [100, 40] {
            rto.sample_timed(0, sample * MS);
            assert_eq!(rto.rtt(), Some(sample as f64 * 1e6));
        }
    }

    /// A timeout that is the largest does not double: 20, 40, 60 s are two doublings, so that the next sample is
    /// not the first (see above): 7/8 * 100 + 1/8 * 900 = 200 ms.
    #[test]
    fn s5_at_the_largest_timeout_nothing_doubles() {
        let mut rto = Rto::new(SECOND, 20 * SECOND, 60 * SECOND, 1);
        rto.sample_timed(0, 100 * MS);
        (0..9).for_each(|_| rto.back_off());
        assert_eq!((rto.current(), rto.expiries()), (60 * SECOND, 9));
        rto.sample_timed(0, 900 * MS);
        assert_eq!(rto.srtt(), Some(200e6));
    }
}
