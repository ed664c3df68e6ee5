//! TCP Prague: DCTCP's answer to marks for the Internet, with a count of marks by accurate ECN.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control sections 2.4 and 3, RFC 9331 section 4, and the Linux
//! module of the L4S team (`tcp_prague`): the share of marks is averaged as in DCTCP; a window falls by
//! half of it once a round trip, and grows by the unmarked segments in every state; after 500 round
//! trips, one shorter than 25 ms grows as slowly as one of 25 ms. A loss halves. RFC 9768 section 3.2:
//! marks are counted modulo 8.
//! Differs: windows have fractions of segments, no integers of the kernel; the average is updated each
//! round
//! trip, not each 25 ms. Absent: the fall-back to a classic control where a bottleneck's marks look classic.

use super::{Congestion, ConnectionView, ReductionCause, Window};
use crate::tcp::TcpConfig;
use serde::{Deserialize, Serialize};
use trunkline_units::Span;

/// Prague has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PragueConfig {}

const GAIN: f64 = 1.0 / 16.0;
/// Round trips before short ones are treated as longer, and as how long [ns].
const ROUNDS: u32 = 500;
const MIN_RTT_NS: Span = 25_000_000;
/// RFC 9768 section 3.2.1: both counters of marks begin at 5.
pub(in crate::tcp) const FIRST_COUNT: u8 = 5;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Prague {
    alpha: f64,
    window_end: u32,
    rounds: u32,
    acked: u32, // of this window
    marked: u32,
    count: u8,  // marks, as the receiver reported last [0..8]
    fresh: u32, // marks that the last acknowledgement counted
}

impl Prague {
    pub(super) fn new(_config: &PragueConfig, _tcp: &TcpConfig) -> Self {
        Self {
            alpha: 1.0,
            window_end: 0,
            rounds: 0,
            acked: 0,
            marked: 0,
            count: FIRST_COUNT,
            fresh: 0,
        }
    }

    fn update(&mut self) {
        if self.acked > 0 {
            let share = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += GAIN * (share.min(1.0) - self.alpha);
        }
        self.rounds += 1;
        (self.acked, self.marked) = (0, 0);
    }

    /// By how much slower a short round trip grows.
    fn growth_divisor(&self, srtt: Span) -> f64 {
        if self.rounds <= ROUNDS || srtt >= MIN_RTT_NS {
            return 1.0;
        }
        let share = srtt as f64 / MIN_RTT_NS as f64;
        share * share
    }
}

impl Congestion for Prague {
    fn on_marks_counted(&mut self, count: u8) -> Option<u32> {
        self.fresh = u32::from(count.wrapping_sub(self.count) & 7);
        self.count = count;
        Some(self.fresh)
    }

    fn on_measured_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        self.acked += view.acked;
        self.marked += self.fresh;
        if view.una >= self.window_end {
            self.update();
            self.window_end = view.next;
        }
        if window.cwnd >= window.ssthresh {
            let clean = f64::from(view.acked.saturating_sub(self.fresh));
            window.cwnd += clean / window.cwnd * self.growth_divisor(view.srtt);
            window.cwnd = window.cwnd.min(f64::from(window.cap));
        }
    }

    fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        window.start_slowly(f64::from(view.acked));
    }

    fn reduce_window(&mut self, _window: &Window, size: f64, cause: ReductionCause) -> f64 {
        match cause {
            ReductionCause::Mark => size * (1.0 - self.alpha / 2.0),
            ReductionCause::Loss | ReductionCause::Timeout => size / 2.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::Growth;

    fn prague() -> Prague {
        let fresh = (1.0, 0, 0, 0, 0, FIRST_COUNT, 0);
        let (alpha, window_end, rounds, acked, marked, count, fresh) = fresh;
        Prague { alpha, window_end, rounds, acked, marked, count, fresh }
    }

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 10.0, cap: 1000, credit: 0, growth: Growth::Acknowledgements }
    }

    /// RFC 9768 section 3.2.1: from 5; 7 is two more, then 2 is three more modulo 8.
    #[test]
    fn rfc9768_s3_2_1_marks_are_counted_modulo_eight() {
        let mut prague = prague();
        assert_eq!(
            [5, 7, 2].map(|count| prague.on_marks_counted(count)),
            [Some(0), Some(2), Some(3)]
        );
    }

    /// Eight acknowledged of a window of 20, two of them marked: 6 / 20 = 0.3 more. Then a window of 10 with
    /// 20 %: alpha = 1 - 1/16 + 0.2 / 16 = 0.95; a mark leaves 1 - 0.475 of 20.
    #[test]
    fn prague_s2_4_it_grows_by_what_was_not_marked_and_falls_by_half_the_share() {
        let mut prague = prague();
        let mut open = window(20.0);
        prague.window_end = 10;
        prague.on_marks_counted(7);
        prague.on_measured_ack(
            &mut open,
            &ConnectionView { una: 8, next: 20, acked: 8, ..ConnectionView::default() },
        );
        assert!((open.cwnd - 20.3).abs() < 1e-12);
        prague.on_marks_counted(7);
        prague.on_measured_ack(
            &mut open,
            &ConnectionView { una: 10, next: 20, acked: 2, ..ConnectionView::default() },
        );
        assert!((prague.alpha - 0.95).abs() < 1e-12, "{}", prague.alpha);
        assert!((prague.reduce_window(&open, 20.0, ReductionCause::Mark) - 10.5).abs() < 1e-12);
    }

    /// After 500 round trips of 5 ms the window grows (5 / 25)^2 = 0.04 as fast.
    #[test]
    fn prague_s2_4_4_a_short_round_trip_grows_as_slowly_as_one_of_25_ms() {
        let mut prague = prague();
        assert_eq!(prague.growth_divisor(5_000_000), 1.0);
        prague.rounds = 501;
        assert!((prague.growth_divisor(5_000_000) - 0.04).abs() < 1e-12);
        assert_eq!(prague.growth_divisor(30_000_000), 1.0);
    }

    /// Section 2.4.4: the growth of short round trips is slowed from the 501st round trip on.
    #[test]
    fn prague_s2_4_4_five_hundred_round_trips_grow_as_they_are() {
        let mut prague = prague();
        for (round, divisor) in (1..=502).zip([1.0; 500].into_iter().chain([0.25; 2])) {
            prague.update();
            assert_eq!(prague.growth_divisor(MIN_RTT_NS / 2), divisor, "{round}");
        }
    }
}
