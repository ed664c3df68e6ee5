//! CUBIC in real numbers.
//!
//! Source: RFC 9438 sections 4.2 to 4.8 and 4.10, in segments; the round trip of section 4.4 is the smoothed one.
//! Differs: a mark reduces as a loss does (section 4.6 allows RFC 8511's 0.85 too). Absent: section
//! 4.9 (needless reductions, which `rfc/` does not see).

use super::super::hystart::HyStartPlusPlus;
use super::super::{ConnectionView, ReductionCause, Window};
use super::SlowStart;
use trunkline_units::{math, Span, Time};

/// Section 5: beta_cubic, and C [segments/s^3].
const BETA: f64 = 0.7;
const C: f64 = 0.4;
/// Section 4.3: gain of a Reno window with that beta per round trip.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// One climb after a reduction.
#[derive(Clone, Copy, Debug)]
struct CubicEpoch {
    start: Time,
    k: f64, // seconds until `w_max` is reached
    w_max: f64,
    w_est: f64, // window of Reno in the same place
}

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Cubic {
    epoch: Option<CubicEpoch>,
    w_max: f64,      // before the last reduction, less with fast convergence; 0: none
    cwnd_prior: f64, // before the last reduction
    slow_start: Option<HyStartPlusPlus>,
}

impl Cubic {
    pub fn new(slow_start: SlowStart, paced: bool) -> Self {
        Self {
            epoch: None,
            w_max: 0.0,
            cwnd_prior: 0.0,
            slow_start: (slow_start == SlowStart::HystartPlusPlus)
                .then(|| HyStartPlusPlus::new(paced)),
        }
    }

    pub fn on_measured_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        if let Some(slow_start) = self.slow_start.as_mut() {
            slow_start.on_measured_ack(window, view);
        }
    }

    pub fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        let acked = f64::from(view.acked);
        let left = match self.slow_start.as_mut() {
            Some(slow_start) => slow_start.open(window, acked),
            None => window.start_slowly(acked),
        };
        if left > 0.0 {
            self.avoid_congestion(window, left, view);
        }
    }

    /// Sections 4.2 to 4.5.
    fn avoid_congestion(&mut self, window: &mut Window, acked: f64, view: &ConnectionView) {
        let cwnd = window.cwnd;
        let epoch = self.epoch.get_or_insert_with(|| {
            // Section 4.10 and 4.8: K is 0 where slow start ended without a loss, or after a timeout.
            let w_max = self.w_max.max(cwnd);
            let k = math::cbrt((w_max - cwnd) / C);
            CubicEpoch { start: view.now, k, w_max, w_est: cwnd }
        });
        let curve = |t: f64| {
            let from = t - epoch.k;
            C * from * from * from + epoch.w_max
        };
        let t = (view.now - epoch.start) as f64 / 1e9;
        // Section 4.3: as Reno does once it is where the last climb ended.
        let alpha = if epoch.w_est < self.cwnd_prior { ALPHA } else { 1.0 };
        let (now, soon) = (curve(t), curve(t + view.srtt as f64 / 1e9));
        epoch.w_est += alpha * acked / cwnd;
        let opened = if now < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let target = soon.clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        window.cwnd = opened.min(f64::from(window.cap));
    }

    /// Section 5.8: the curve pauses while the application does.
    pub fn resumed(&mut self, idle: Span, now: Time) {
        if let Some(epoch) = self.epoch.as_mut() {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    /// Sections 4.6 to 4.8.
    pub fn reduce_window(&mut self, window: &Window, size: f64, cause: ReductionCause) -> f64 {
        let cwnd = window.cwnd;
        self.epoch = None;
        self.cwnd_prior = cwnd;
        // Section 4.7: less than last time, so another flow wants its share.
        let room = if cwnd < self.w_max { (1.0 + BETA) / 2.0 } else { 1.0 };
        self.w_max = if cause == ReductionCause::Timeout { 0.0 } else { cwnd * room };
        if let Some(slow_start) = self.slow_start.as_mut() {
            slow_start.end();
        }
        size * BETA
    }
}

#[cfg(test)]
mod rfc9438 {
    use super::super::super::Growth;
    use super::*;
    use trunkline_units::SECOND;

    const MS: Span = 1_000_000;

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 2.0, cap: 100_000, credit: 0, growth: Growth::Segments }
    }

    /// A window acknowledged, a round trip at a time, each acknowledgement of one segment.
    fn climb(cubic: &mut Cubic, window: &mut Window, from: Time, trips: u32, srtt: Span) {
        for trip in 0..trips {
            let out = window.cwnd as u32;
            for each in 0..out {
                let now = from + u64::from(trip) * srtt + srtt * u64::from(each) / u64::from(out);
                cubic.on_new_ack(
                    window,
                    &ConnectionView { now, acked: 1, srtt, ..ConnectionView::default() },
                );
            }
        }
    }

    fn reduced_at(cwnd: f64) -> (Cubic, Window) {
        let mut cubic = Cubic::new(SlowStart::Standard, false);
        let left = cubic.reduce_window(&window(cwnd), cwnd, ReductionCause::Loss);
        (cubic, window(left))
    }

    /// W_max 200, from 140: K = cbrt(60 / 0.4) = 5.3133 s; W(t) = 0.4 (t - K)^3 + 200 is 167.90 at 1 s,
    /// 185.45 at 2 s and 199.09 at 4 s. Reno's line, 140 + 10.588 t, is at 200 after 5.667 s and from
    /// there gains a segment in 50 ms: 206.67 at 6 s. The window is the target W of a round trip ago,
    /// which is W(t), less the part that the ACKs of that round trip have not yet added.
    #[test]
    fn s4_2_the_window_follows_the_cubic() {
        for (second, expected) in [(1, 167.90), (2, 185.45), (4, 199.09), (6, 206.67)] {
            let (mut cubic, mut window) = reduced_at(200.0);
            assert_eq!(window.cwnd, 140.0);
            climb(&mut cubic, &mut window, 0, second * 20, 50 * MS);
            assert!((window.cwnd - expected).abs() < 1.2, "{second} s: {}", window.cwnd);
        }
    }

    /// W_max 40, RTT 20 ms: K = cbrt(12 / 0.4) = 3.107 s, W(1) = 36.26, and Reno has 28 + 0.529 / 0.02
    /// = 26.5 a second: 40 after 0.453 s, and 50 a second from there: at 1 s 40 + 27.3 = 67.3.
    #[test]
    fn s4_3_where_reno_is_faster_the_window_is_renos() {
        let (mut cubic, mut window) = reduced_at(40.0);
        climb(&mut cubic, &mut window, 0, 50, 20 * MS);
        assert!((window.cwnd - 67.3).abs() < 1.0, "{}", window.cwnd);
    }

    /// Reduced at 200, then at 180: W_max is 180 * 1.7 / 2 = 153, and 126 are left.
    #[test]
    fn s4_7_a_smaller_maximum_makes_room() {
        let (mut cubic, _) = reduced_at(200.0);
        let left = cubic.reduce_window(&window(180.0), 180.0, ReductionCause::Loss);
        assert!((left - 126.0).abs() < 1e-9 && (cubic.w_max - 153.0).abs() < 1e-9, "{left}");
        cubic.reduce_window(&window(160.0), 160.0, ReductionCause::Loss);
        assert_eq!(cubic.w_max, 160.0, "more than 153: all of it");
    }

    /// After a timeout at 100 the threshold is 70; from there K is 0 and the curve starts flat, and
    /// Reno's line rules: alpha until 100.
    #[test]
    fn s4_8_after_a_timeout_the_climb_starts_flat() {
        let mut cubic = Cubic::new(SlowStart::Standard, false);
        assert_eq!(cubic.reduce_window(&window(100.0), 100.0, ReductionCause::Timeout), 70.0);
        let mut window = window(70.0);
        climb(&mut cubic, &mut window, SECOND, 1, 100 * MS);
        let epoch = cubic.epoch.unwrap();
        assert_eq!((epoch.k, epoch.w_max), (0.0, 70.0));
        assert!((window.cwnd - (70.0 + ALPHA)).abs() < 0.01, "{}", window.cwnd);
    }

    /// W(t + RTT) far above: half a window more for a window acknowledged (1.5 cwnd at most).
    #[test]
    fn s4_4_the_target_is_at_most_half_a_window_more() {
        let (mut cubic, mut window) = reduced_at(1000.0);
        climb(&mut cubic, &mut window, 0, 1, 100 * MS);
        window.cwnd = 100.0;
        let view = ConnectionView {
            now: 9 * SECOND,
            acked: 1,
            srtt: 100 * MS,
            ..ConnectionView::default()
        };
        cubic.epoch.as_mut().unwrap().w_est = 0.0;
        cubic.on_new_ack(&mut window, &view);
        assert_eq!(window.cwnd, 100.5);
    }
}
