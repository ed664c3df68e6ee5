//! Westwood+ in the kernel's integers.
//!
//! Source: Linux 6.1, `net/ipv4/tcp_westwood.c`: rates in bytes a tick of 4 ms, round trips in ticks,
//! rounded up; the round trip is the latest sample, and the minimum is reset at a timeout. While a loss
//! is repaired or a mark answered the threshold is Reno's half; the window of the rate is set at the
//! end.
//! Differs: acknowledgements of header prediction, which do not count duplicates, are treated as all
//! others.

use super::super::{ConnectionView, ReductionCause};
use super::{FILTER_WEIGHT, FIRST_RTT, MIN_FILTER_STEP};
use trunkline_units::{Span, Time};

const TICK: Span = 4_000_000;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Westwood {
    mss: u32,
    first_filter: u32,  // rate after one filter [B/tick]
    second_filter: u32, // and after both
    bytes: u32,         // since `since`
    since: Option<Time>,
    una: u32,
    duplicate_bytes: u32, // by duplicates, for segments not yet acknowledged [B]
    rtt: u32,             // [ticks]
    min_rtt: Option<u32>,
}

impl Westwood {
    pub fn new(mss: u32) -> Self {
        let rtt = (FIRST_RTT / TICK) as u32;
        Self {
            mss,
            first_filter: 0,
            second_filter: 0,
            bytes: 0,
            since: None,
            una: 0,
            duplicate_bytes: 0,
            rtt,
            min_rtt: None,
        }
    }

    /// `tcp_westwood_pkts_acked`, then `tcp_westwood_ack`.
    pub fn on_measured_ack(&mut self, view: &ConnectionView) {
        if let Some(rtt) = view.rtt.filter(|rtt| *rtt > 0) {
            self.rtt = rtt.div_ceil(TICK) as u32;
        }
        // The clock starts with the connection; the first acknowledgement counts as a duplicate.
        let opened = view.now - view.rtt.unwrap_or(0);
        let first = self.since.is_none();
        let since = *self.since.get_or_insert(opened);
        let step = (view.now / TICK - since / TICK) as u32;
        if first {
            self.una = view.una;
        }
        if step > self.rtt.max((MIN_FILTER_STEP / TICK) as u32) {
            self.filter(self.bytes / step);
            (self.bytes, self.since) = (0, Some(view.now));
        }
        let advanced = (view.una - self.una) * self.mss;
        self.una = view.una;
        self.bytes += self.count_acked_bytes(advanced);
        self.min_rtt = Some(self.min_rtt.map_or(self.rtt, |min_rtt| min_rtt.min(self.rtt)));
    }

    /// `westwood_filter`.
    fn filter(&mut self, sample: u32) {
        if self.first_filter == 0 && self.second_filter == 0 {
            (self.first_filter, self.second_filter) = (sample, sample);
            return;
        }
        let mean = |old: u32, new: u32| ((FILTER_WEIGHT - 1) * old + new) / FILTER_WEIGHT;
        self.first_filter = mean(self.first_filter, sample);
        self.second_filter = mean(self.second_filter, self.first_filter);
    }

    /// `westwood_acked_count`: a duplicate counts a segment, which its acknowledgement does not count
    /// again.
    fn count_acked_bytes(&mut self, advanced: u32) -> u32 {
        if advanced == 0 {
            self.duplicate_bytes += self.mss;
            return self.mss;
        }
        if advanced <= self.mss {
            return advanced;
        }
        if self.duplicate_bytes >= advanced {
            self.duplicate_bytes -= advanced;
            return self.mss;
        }
        advanced - std::mem::take(&mut self.duplicate_bytes)
    }

    /// `tcp_westwood_bw_rttmin` [segments].
    pub fn delivered(&self) -> f64 {
        let min_rtt = self.min_rtt.unwrap_or(self.rtt);
        f64::from((self.second_filter.wrapping_mul(min_rtt) / self.mss).max(2))
    }

    pub fn reduce_window(&mut self, size: f64, cause: ReductionCause) -> f64 {
        if cause != ReductionCause::Timeout {
            return size / 2.0;
        }
        let left = self.delivered();
        self.min_rtt = None;
        left
    }
}

#[cfg(test)]
mod tcp_westwood {
    use super::*;

    const MS: Time = 1_000_000;

    fn ack(now: Time, una: u32, rtt: Span) -> ConnectionView {
        ConnectionView { now: now * MS, una, rtt: Some(rtt * MS), ..ConnectionView::default() }
    }

    /// A segment of 1000 B a tick. A round trip of 41 ms is 11 ticks, the connection opens at tick 0, so a sample is
    /// due at 13, more than 12 (50 ms). Until then two arrive: the one at 44 ms, which counts as a
    /// duplicate, and that of 48 ms: 2000 / 13 = 153. Then 13 in 13 ticks: (7 * 153 + 1000) / 8 = 258,
    /// (7 * 153 + 258) / 8 = 166;
    /// (7 * 258 + 1000) / 8 = 350, (7 * 166 + 350) / 8 = 189.
    #[test]
    fn a_sample_is_due_after_more_than_a_round_trip_and_than_twelve_ticks() {
        let mut westwood = Westwood::new(1000);
        let mut seen = vec![];
        for each in 1..40 {
            westwood.on_measured_ack(&ack(40 + 4 * u64::from(each), each, 41));
            if seen.last() != Some(&(westwood.first_filter, westwood.second_filter)) {
                seen.push((westwood.first_filter, westwood.second_filter));
            }
        }
        assert_eq!(seen[..4], [(0, 0), (153, 153), (258, 166), (350, 189)]);
    }

    /// 900 B a tick and 11 ticks are 9.9 segments of 1000 B: 9. A timeout forgets the 11: then the next
    /// sample counts, 20 ticks: 18. Without a rate the window is 2.
    #[test]
    fn a_timeout_leaves_the_rate_times_the_least_round_trip_and_forgets_it() {
        let mut westwood = Westwood { second_filter: 900, ..Westwood::new(1000) };
        westwood.on_measured_ack(&ack(100, 1, 41));
        westwood.on_measured_ack(&ack(104, 2, 80));
        assert_eq!(westwood.reduce_window(30.0, ReductionCause::Loss), 15.0);
        assert_eq!(westwood.reduce_window(30.0, ReductionCause::Timeout), 9.0);
        westwood.on_measured_ack(&ack(108, 3, 80));
        assert_eq!(westwood.delivered(), 18.0);
        westwood.second_filter = 0;
        assert_eq!(westwood.delivered(), 2.0);
    }

    /// Three duplicates are three segments; the five acknowledged then are two more. Two duplicates and one
    /// of two segments: one, and none is left to take off.
    #[test]
    fn duplicates_are_not_counted_twice() {
        let mut westwood = Westwood::new(1000);
        assert_eq!(
            [0, 0, 0, 5000].map(|bytes| westwood.count_acked_bytes(bytes)),
            [1000, 1000, 1000, 2000]
        );
        assert_eq!(
            [0, 0, 2000, 2000].map(|bytes| westwood.count_acked_bytes(bytes)),
            [1000, 1000, 1000, 2000]
        );
    }

    /// `tcp_westwood_init`: 20 s in ticks of 4 ms before a sample.
    #[test]
    fn the_round_trip_is_twenty_seconds_before_a_sample() {
        assert_eq!(Westwood::new(1000).rtt, 5_000);
    }
}
