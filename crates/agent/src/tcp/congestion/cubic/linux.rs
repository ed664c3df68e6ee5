//! CUBIC in the kernel's integers.
//!
//! Source: Linux 6.1 (`bictcp_update`, `bictcp_recalc_ssthresh`, `cubictcp_acked`,
//! `cubictcp_cwnd_event`, `bictcp_reset`), with its constants: beta 717/1024, C 410/1024 a tenth, time in
//! 1024ths of a second counted in ticks of 4 ms.
//! Differs from RFC 9438: Reno's line always rises by 8/15 a round trip; before a first loss the
//! window grows by 5 % a round trip at least; at most a segment for two acknowledged.
//! Differs from the kernel: the cube root is exact, the kernel's within 0.2 %.

use super::super::hystart::LinuxHyStart as Hystart;
use super::super::{ConnectionView, ReductionCause, Window};
use super::SlowStart;
use trunkline_units::{math, Span, Time};

const BETA: u64 = 717;
/// C in 1024ths, of a time unit of 1/1024 s: 41 * 10.
const SCALE: u64 = 410;
/// 1024 / 41 / 10 seconds cubed, scaled by 2^30.
const CUBE_FACTOR: u64 = (1 << 40) / SCALE;
/// 8 acknowledgements a segment times (1 + beta) / 3 (1 - beta): 15.
const RENO_SCALE: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
const TICK: Span = 4_000_000;
const TICKS_A_SECOND: u64 = 250;

#[derive(Clone, Debug, Default)]
struct CubicCurve {
    start: Option<u64>, // tick
    last_max: u64,      // window before the last reduction; 0: none
    last_cwnd: u64,
    last_tick: u64,
    origin: u64,   // where the curve is flat
    k: u64,        // 1024ths of a second until then
    min_rtt: Span, // least round trip; 0: none
    acked: u64,
    reno: u64,  // window of Reno in the same place
    count: u64, // acknowledgements for a segment more
}

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Cubic {
    climb: CubicCurve,
    hystart: Option<Hystart>,
}

impl Cubic {
    pub fn new(slow_start: SlowStart, paced: bool) -> Self {
        let hystart = (slow_start == SlowStart::Hystart).then(|| Hystart::new(paced));
        Self { climb: CubicCurve::default(), hystart }
    }

    /// `cubictcp_acked`.
    pub fn on_measured_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        let Some(rtt) = view.rtt else { return };
        // The first second after a reduction reflects the queue that it left.
        if self.climb.start.is_some_and(|start| view.now / TICK < start + TICKS_A_SECOND) {
            return;
        }
        let rtt = rtt.max(1_000);
        let climb = &mut self.climb;
        climb.min_rtt = if climb.min_rtt == 0 { rtt } else { climb.min_rtt.min(rtt) };
        if let Some(hystart) = self.hystart.as_mut() {
            hystart.on_measured_ack(window, rtt, climb.min_rtt, view);
        }
    }

    pub fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        let left = window.start_slowly(f64::from(view.acked));
        if left > 0.0 {
            let count = self.climb.update(window.cwnd as u64, left as u64, view.now / TICK);
            window.open(left, count as f64);
        }
    }

    /// `bictcp_recalc_ssthresh`; a timeout forgets the rest (`bictcp_reset`).
    pub fn reduce_window(&mut self, window: &Window, _size: f64, cause: ReductionCause) -> f64 {
        let (climb, cwnd) = (&mut self.climb, window.cwnd as u64);
        if cause == ReductionCause::Timeout {
            *climb = CubicCurve::default();
            if let Some(hystart) = self.hystart.as_mut() {
                hystart.forget();
            }
        } else {
            climb.start = None;
            let less = cwnd < climb.last_max;
            climb.last_max = if less { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        }
        (cwnd * BETA / 1024) as f64
    }

    /// The curve pauses while nothing is sent.
    pub fn resumed(&mut self, idle: Span, now: Time) {
        if let Some(start) = self.climb.start.as_mut() {
            *start = (*start + idle / TICK).min(now / TICK);
        }
    }
}

impl CubicCurve {
    /// `bictcp_update`: acknowledgements for a segment more.
    fn update(&mut self, cwnd: u64, acked: u64, tick: u64) -> u64 {
        self.acked += acked;
        if self.last_cwnd == cwnd && tick - self.last_tick <= TICKS_A_SECOND / 32 {
            return self.count;
        }
        if self.start.is_none() || tick != self.last_tick {
            self.follow_curve(cwnd, acked, tick);
        }
        self.follow_reno(cwnd);
        self.count = self.count.max(2);
        self.count
    }

    fn follow_curve(&mut self, cwnd: u64, acked: u64, tick: u64) {
        (self.last_cwnd, self.last_tick) = (cwnd, tick);
        let start = *self.start.get_or_insert_with(|| {
            self.acked = acked;
            self.reno = cwnd;
            self.origin = self.last_max.max(cwnd);
            self.k = cube_root(CUBE_FACTOR * (self.origin - cwnd));
            tick
        });
        let trip = (self.min_rtt / 1_000).div_ceil(TICK / 1_000);
        let time = ((tick - start + trip) << 10) / TICKS_A_SECOND;
        let off = time.abs_diff(self.k);
        let delta = ((u128::from(SCALE) * u128::from(off).pow(3)) >> 40) as u64;
        let target = match time < self.k {
            true => self.origin.saturating_sub(delta),
            false => self.origin + delta,
        };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.count = self.count.min(20);
        }
    }

    /// As fast as Reno at least.
    fn follow_reno(&mut self, cwnd: u64) {
        let each = ((cwnd * RENO_SCALE) >> 3).max(1);
        while self.acked > each {
            self.acked -= each;
            self.reno += 1;
        }
        if self.reno > cwnd {
            self.count = self.count.min(cwnd / (self.reno - cwnd));
        }
    }
}

/// Root, rounded down.
fn cube_root(of: u64) -> u64 {
    let mut root = math::cbrt(of as f64) as u64;
    while (root + 1).pow(3) <= of {
        root += 1;
    }
    while root.pow(3) > of {
        root -= 1;
    }
    root
}

#[cfg(test)]
mod tcp_cubic {
    use super::*;

    const MS: Span = 1_000_000;

    /// W_max 200, reduced to 200 * 717 / 1024 = 140. K: (2^40 / 410 * 60)^(1/3) = 5439 1024ths, 5.312 s.
    /// A round trip of 48 ms is 12 ticks. At the start the curve is 5263 units from K at t + RTT = 49
    /// units: 410 * 5390^3 / 2^40 = 58 below 200: 142, so 140 / 2 = 70 ACKs. After 2 s 2097 units have
    /// passed, 3342 are left: 13.9 below: 187 of 160, 160 / 27 = 5.
    #[test]
    fn bictcp_update_counts_by_the_cubic() {
        let mut climb = CubicCurve { last_max: 200, min_rtt: 48 * MS, ..CubicCurve::default() };
        assert_eq!(climb.update(140, 1, 1000), 70);
        assert_eq!((climb.k, climb.origin), (5439, 200));
        assert_eq!(climb.update(160, 1, 1500), 5);
    }

    /// Reduced at 200, then at 180: 180 * 1741 / 2048 = 153, and 180 * 717 / 1024 = 126 are left.
    #[test]
    fn bictcp_recalc_ssthresh_a_smaller_maximum_makes_room() {
        let mut cubic = Cubic::new(SlowStart::Hystart, false);
        let mut window = Window {
            cwnd: 200.0,
            ssthresh: f64::INFINITY,
            cap: 1000,
            credit: 0,
            growth: super::super::super::Growth::Linux,
        };
        assert_eq!(cubic.reduce_window(&window, 200.0, ReductionCause::Loss), 140.0);
        window.cwnd = 180.0;
        assert_eq!(cubic.reduce_window(&window, 180.0, ReductionCause::Loss), 126.0);
        assert_eq!(cubic.climb.last_max, 153);
        cubic.reduce_window(&window, 180.0, ReductionCause::Timeout);
        assert_eq!(cubic.climb.last_max, 0);
    }

    /// 15 eighths of a window of ACKs are a segment of Reno: 10 * 15 / 8 = 18. After 200 ACKs Reno's
    /// window is 10 + 11: 10 / 11 = 0 ACKs a segment, but no faster than 2.
    #[test]
    fn bictcp_update_is_as_fast_as_reno_and_no_faster_than_a_segment_for_two() {
        let mut climb = CubicCurve { last_max: 10, ..CubicCurve::default() };
        climb.update(10, 1, 1000);
        assert_eq!(climb.update(10, 200, 1020), 2);
        assert_eq!(climb.reno, 21);
    }

    #[test]
    fn cubic_root_of_a_cube_is_exact() {
        for root in [1, 2, 63, 5439, 100_000] {
            assert_eq!(cube_root(root * root * root), root);
            assert_eq!(cube_root(root * root * root + 1), root);
        }
        // Near 2^63 a float has steps of 1024, and its root may be too large or too small.
        for root in 2_096_900u64..2_097_152 {
            assert_eq!(cube_root(root.pow(3)), root);
            assert_eq!(cube_root(root.pow(3) - 1), root - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::Growth;

    /// `cubictcp_acked`: a delay of 0 us counts as 1 us; the least stays; in the first second after a
    /// reduction none counts.
    #[test]
    fn cubictcp_acked_keeps_the_least_delay_of_a_microsecond_at_least() {
        let mut window =
            Window { cwnd: 10.0, ssthresh: 1e9, cap: 100, credit: 0, growth: Growth::Segments };
        let least = |samples: &[(Time, Span)], start: Option<u64>, window: &mut Window| {
            let mut cubic = Cubic::new(SlowStart::Standard, false);
            cubic.climb.start = start;
            for &(now, rtt) in samples {
                let view = ConnectionView { now, rtt: Some(rtt), ..ConnectionView::default() };
                cubic.on_measured_ack(window, &view);
            }
            cubic.climb.min_rtt
        };
        assert_eq!(least(&[(0, 0)], None, &mut window), 1_000);
        assert_eq!(least(&[(0, 999)], None, &mut window), 1_000);
        assert_eq!(least(&[(0, 5_000), (1, 7_000), (2, 6_000)], None, &mut window), 5_000);
        let second = TICKS_A_SECOND * TICK;
        assert_eq!(least(&[(second - 1, 5_000)], Some(0), &mut window), 0);
        assert_eq!(least(&[(second, 5_000)], Some(0), &mut window), 5_000);
    }

    /// `bictcp_update`: where the curve is flat a segment more takes 100 windows of acknowledgements; before the first
    /// loss ("slow start" of the curve) 20 acknowledgements at most, 5 % a round trip.
    #[test]
    fn bictcp_update_at_the_flat_of_the_curve_and_before_a_loss() {
        for (last_max, count) in [(140, 14_000), (0, 20)] {
            let mut climb = CubicCurve { last_max, min_rtt: TICK, ..CubicCurve::default() };
            assert_eq!(climb.update(140, 1, 1000), count);
        }
    }
}
