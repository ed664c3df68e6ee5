//! Vegas: keeps two to four own segments in the queue, measured by the round trip.
//!
//! Source: Brakmo and Peterson 1995; Linux 6.1, `net/ipv4/tcp_vegas.c` for the steps, taken once a
//! round trip: alpha 2, beta 4, gamma 1 segments. Under the RFCs the same in real numbers.
//! A loss, and a round trip with two samples or fewer, act as in Reno.
//! Differs from Linux: steps are also made while it is doubtful whether a segment was lost.

use super::{Congestion, ConnectionView, Growth, ReductionCause, Window};
use crate::tcp::TcpConfig;
use serde::{Deserialize, Serialize};
use trunkline_units::Span;

/// Vegas has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VegasConfig {}

const ALPHA: f64 = 2.0;
const BETA: f64 = 4.0;
const GAMMA: f64 = 1.0;
const US: Span = 1_000;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Vegas {
    base: Span,      // least round trip [us]
    round_min: Span, // of this round trip's samples
    samples: u32,
    end: u32, // the round trip ends when this is acknowledged
}

impl Vegas {
    pub(super) fn new(_config: &VegasConfig, _tcp: &TcpConfig) -> Self {
        Self { base: Span::MAX, round_min: Span::MAX, samples: 0, end: 0 }
    }

    /// A round trip ends: changes the window by the segments that wait in the queue.
    fn step(&self, window: &mut Window, acked: f64) {
        let cwnd = window.cwnd;
        let linux = window.growth == Growth::Linux;
        let round_size = |size: f64| if linux { size.trunc() } else { size };
        let (base, round_min) = (self.base as f64, self.round_min as f64);
        let queued = round_size(cwnd * (round_min - base) / base);
        let slow = cwnd < window.ssthresh;
        if queued > GAMMA && slow {
            window.cwnd = cwnd.min(round_size(cwnd * base / round_min) + 1.0);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if slow {
            window.start_slowly(acked);
        } else if queued > BETA {
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < ALPHA {
            window.cwnd += 1.0;
        }
        window.cwnd = window.cwnd.clamp(2.0, f64::from(window.cap).max(2.0));
        window.ssthresh =
            window.ssthresh.max(round_size(window.cwnd / 2.0) + round_size(window.cwnd / 4.0));
    }
}

impl Congestion for Vegas {
    fn on_measured_ack(&mut self, _window: &mut Window, view: &ConnectionView) {
        if let Some(rtt) = view.rtt {
            let rtt = rtt / US + 1; // never 0
            (self.base, self.round_min) = (self.base.min(rtt), self.round_min.min(rtt));
            self.samples += 1;
        }
    }

    fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        let acked = f64::from(view.acked);
        if view.una <= self.end {
            // Between its steps Vegas only starts slowly.
            window.start_slowly(acked);
            return;
        }
        self.end = view.next;
        if self.samples > 2 {
            self.step(window, acked);
        } else {
            let left = window.start_slowly(acked);
            if left > 0.0 {
                window.open(left, window.cwnd);
            }
        }
        (self.round_min, self.samples) = (Span::MAX, 0);
    }

    fn reduce_window(&mut self, _window: &Window, size: f64, _cause: ReductionCause) -> f64 {
        // The round trip of a loss says nothing about the path after it.
        (self.round_min, self.samples) = (Span::MAX, 0);
        size / 2.0
    }

    /// `vegas_enable`: the next step is a full round trip later.
    fn on_open(&mut self, next: u32) {
        (self.round_min, self.samples, self.end) = (Span::MAX, 0, next);
    }
}

#[cfg(test)]
mod brakmo1995 {
    use super::*;

    fn stepped(cwnd: f64, base: Span, round_min: Span) -> f64 {
        let mut window =
            Window { cwnd, ssthresh: 2.0, cap: 1000, credit: 0, growth: Growth::Linux };
        let vegas = Vegas { base, round_min, samples: 10, end: 0 };
        vegas.step(&mut window, 1.0);
        window.cwnd
    }

    /// 20 segments at 100 ms: at 105 ms 1 waits, so one more; at 110 ms 2 wait and at 120 ms 4: no
    /// change; at 125 ms 5: one less.
    #[test]
    fn s3_2_two_to_four_segments_wait() {
        for (round_min, cwnd) in
            [(105_000, 21.0), (110_000, 20.0), (120_000, 20.0), (125_000, 19.0)]
        {
            assert_eq!(stepped(20.0, 100_000, round_min), cwnd, "{round_min}");
        }
    }

    /// 20 segments and 101 ms would be 20 and one more; after a recovery with 40 the next segment to
    /// send, acknowledgements below 40 change nothing, and their samples are the first of the step.
    #[test]
    fn linux_vegas_enable_a_recovery_is_followed_by_a_round_trip_without_a_step() {
        let mut vegas = Vegas { base: 100_000, round_min: 100_000, samples: 9, end: 20 };
        let mut window =
            Window { cwnd: 20.0, ssthresh: 2.0, cap: 1000, credit: 0, growth: Growth::Linux };
        vegas.on_open(40);
        for una in 38..=41 {
            let view = ConnectionView {
                una,
                next: 60,
                rtt: Some(101_000_000),
                ..ConnectionView::default()
            };
            vegas.on_measured_ack(&mut window, &view);
            vegas.on_new_ack(&mut window, &view);
            assert_eq!(window.cwnd, if una > 40 { 21.0 } else { 20.0 }, "{una}");
        }
    }

    /// In slow start more than one that waits ends it: 20 * 100 / 120 = 16 and one.
    #[test]
    fn s3_3_slow_start_ends_with_the_window_that_fits() {
        let mut window =
            Window { cwnd: 20.0, ssthresh: 1e9, cap: 1000, credit: 0, growth: Growth::Linux };
        let vegas = Vegas { base: 100_000, round_min: 120_000, samples: 10, end: 0 };
        vegas.step(&mut window, 1.0);
        assert_eq!((window.cwnd, window.ssthresh), (17.0, 17.0));
    }

    /// `tcp_current_ssthresh`: three quarters of the window at least, 10 + 5 of 21 in whole segments.
    #[test]
    fn linux_tcp_current_ssthresh_leaves_three_quarters_of_the_window() {
        for (growth, ssthresh) in [(Growth::Linux, 15.0), (Growth::Segments, 15.75)] {
            let mut window = Window { cwnd: 20.0, ssthresh: 2.0, cap: 1000, credit: 0, growth };
            let vegas = Vegas { base: 100_000, round_min: 105_000, samples: 10, end: 0 };
            vegas.step(&mut window, 1.0);
            assert_eq!((window.cwnd, window.ssthresh), (21.0, ssthresh));
        }
    }

    /// `tcp_vegas_pkts_acked`: in microseconds, plus one so that it is never 0. `tcp_vegas_cong_avoid`: a round
    /// with two samples or fewer is no measure, and the window grows as Reno's, by one of 20 in 20.
    #[test]
    fn linux_vegas_needs_three_samples_in_a_round() {
        for (samples, cwnd) in [(2, 20.0), (3, 21.0)] {
            let mut vegas = Vegas { base: Span::MAX, round_min: Span::MAX, samples: 0, end: 5 };
            let mut window =
                Window { cwnd: 20.0, ssthresh: 2.0, cap: 1000, credit: 0, growth: Growth::Linux };
            let view = |una| ConnectionView {
                una,
                next: 60,
                acked: 1,
                rtt: Some(100_000_000),
                ..ConnectionView::default()
            };
            for _ in 0..samples {
                vegas.on_measured_ack(&mut window, &view(5));
            }
            assert_eq!((vegas.base, vegas.round_min, vegas.samples), (100_001, 100_001, samples));
            vegas.on_new_ack(&mut window, &view(6));
            assert_eq!((window.cwnd, vegas.end, vegas.samples), (cwnd, 60, 0), "{samples}");
        }
    }
}
