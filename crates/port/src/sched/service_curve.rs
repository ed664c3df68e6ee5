//! Service curves of two pieces: the amount of service due after a time.
//!
//! Source: Stoica, Zhang, Ng, "A hierarchical fair service curve algorithm for link-sharing,
//! real-time and priority services", IEEE/ACM ToN 8(2), 2000, section III; Linux 6.1
//! `net/sched/sch_hfsc.c`. Time is in ns; service in billionths of a bit, in which a rate of 1 bit/s
//! gives one a nanosecond, so that slopes are exact. Times of an amount are rounded up.

use serde::{Deserialize, Serialize};
use trunkline_units::{Span, Time, NEVER};

/// Slope `m1` for the first `d` of a backlog, then `m2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCurve {
    /// Rate of the first piece [bit/s].
    pub m1_bit_s: u64,
    /// Its length [ns].
    pub d_ns: Span,
    /// Rate of the second piece [bit/s].
    pub m2_bit_s: u64,
}

impl ServiceCurve {
    /// Whether the second piece is at least as steep as the first.
    pub(super) fn is_convex(&self) -> bool {
        self.m1_bit_s <= self.m2_bit_s
    }

    fn rise(&self) -> i128 {
        i128::from(self.m1_bit_s) * i128::from(self.d_ns)
    }
}

/// A service curve from a point (time, service) on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShiftedCurve {
    x: Time,
    y: i128,
    /// First piece.
    dx: Span,
    dy: i128,
    m1: i128,
    m2: i128,
}

impl ShiftedCurve {
    /// `curve` from (`x`, `y`) on.
    pub(super) fn at(curve: &ServiceCurve, x: Time, y: i128) -> Self {
        Self {
            x,
            y,
            dx: curve.d_ns,
            dy: curve.rise(),
            m1: curve.m1_bit_s.into(),
            m2: curve.m2_bit_s.into(),
        }
    }

    /// Its second piece from its start on: when a class with a convex curve may be served early.
    pub(super) fn steep(mut self) -> Self {
        (self.dx, self.dy) = (0, 0);
        self
    }

    /// Service due by `x`.
    fn service(&self, x: Time) -> i128 {
        let span = x.saturating_sub(self.x);
        let first = span.min(self.dx);
        self.y + self.m1 * i128::from(first) + self.m2 * i128::from(span - first)
    }

    /// Time by which `y` is due; never, where the slope is 0.
    pub(super) fn time(&self, y: i128) -> Time {
        let rise = (y - self.y).max(0);
        if rise == 0 {
            return self.x;
        }
        let (from, rest, slope) = if rise <= self.dy {
            (self.x, rise, self.m1)
        } else {
            (self.x.saturating_add(self.dx), rise - self.dy, self.m2)
        };
        if slope == 0 {
            return NEVER;
        }
        from.saturating_add(Time::try_from((rest + slope - 1) / slope).unwrap_or(NEVER))
    }

    /// Makes it the smaller of itself and `curve` from (`x`, `y`) on (their figure 6).
    pub(super) fn lower(&mut self, curve: &ServiceCurve, x: Time, y: i128) {
        let above = self.service(x) - y;
        if curve.is_convex() {
            if above >= 0 {
                *self = Self::at(curve, x, y);
            }
            return;
        }
        if above <= 0 {
            return;
        }
        if self.service(x.saturating_add(curve.d_ns)) >= y + curve.rise() {
            *self = Self::at(curve, x, y);
            return;
        }
        // They cross: first the new curve's m1, then the old one's m2.
        let closing = i128::from(curve.m1_bit_s - curve.m2_bit_s);
        let first_left = (self.x + self.dx).saturating_sub(x);
        let dx = (above / closing) as Span + first_left;
        *self = Self::at(curve, x, y);
        (self.dx, self.dy) = (dx, i128::from(curve.m1_bit_s) * i128::from(dx));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;
    /// 8000 bit/s is one byte a millisecond.
    fn curve(m1: u64, d: u64, m2: u64) -> ServiceCurve {
        ServiceCurve { m1_bit_s: 8000 * m1, d_ns: d * MS, m2_bit_s: 8000 * m2 }
    }

    fn bytes(count: i128) -> i128 {
        count * 8_000_000_000
    }

    mod stoica2000 {
        use super::*;

        /// Concave: 10 B/ms for 5 ms, then 2 B/ms. 50 B are due at 5 ms, 60 B at 10 ms.
        #[test]
        fn s3_a_concave_curve_is_steep_first() {
            let shifted = ShiftedCurve::at(&curve(10, 5, 2), 100 * MS, bytes(7));
            assert_eq!(shifted.time(bytes(7)), 100 * MS);
            assert_eq!(shifted.time(bytes(57)), 105 * MS);
            assert_eq!(shifted.time(bytes(67)), 110 * MS);
            assert_eq!(shifted.service(110 * MS), bytes(67));
        }

        /// Convex with m1 = 0: no service is due for 5 ms, then 4 B/ms.
        #[test]
        fn s3_a_convex_curve_waits() {
            let shifted = ShiftedCurve::at(&curve(0, 5, 4), 0, 0);
            assert_eq!(shifted.time(bytes(4)), 6 * MS);
            assert_eq!(shifted.steep().time(bytes(4)), MS);
            assert_eq!(ShiftedCurve::at(&curve(3, 1, 0), 0, 0).time(bytes(4)), NEVER);
        }

        /// Figure 6, concave: from (0, 0) 10 B/ms for 5 ms, then 2. A class that is active again at
        /// 10 ms with 45 B of service: the old curve has 60 B there, the new one starts 15 B below at
        /// 10 B/ms against 2, so it meets the old one after 15/8 = 1.875 ms, and follows it.
        #[test]
        fn s3_the_deadline_curve_is_the_smaller_of_old_and_new() {
            let service_curve = curve(10, 5, 2);
            let mut now = ShiftedCurve::at(&service_curve, 0, 0);
            now.lower(&service_curve, 10 * MS, bytes(45));
            assert_eq!(now.service(11 * MS), bytes(55));
            assert_eq!(now.service(10 * MS + 1_875_000), bytes(63) + bytes(3) / 4);
            // The old curve at 20 ms: 50 + 15 * 2.
            assert_eq!(now.service(20 * MS), bytes(80));
        }

        /// Far behind the old curve the new one counts alone; ahead of it the old one.
        #[test]
        fn s3_one_of_the_two_may_be_smaller_everywhere() {
            let service_curve = curve(10, 5, 2);
            let mut now = ShiftedCurve::at(&service_curve, 0, 0);
            now.lower(&service_curve, 100 * MS, bytes(100)); // the old one has 240 B
            assert_eq!(now.service(105 * MS), bytes(150));
            now.lower(&service_curve, 102 * MS, bytes(130)); // the new one has 120 B
            assert_eq!(now.service(105 * MS), bytes(150));
        }

        /// Figure 6 within the first piece: 10 B/ms for 5 ms, then 2; active again at 3 ms with 20 B of service,
        /// 10 B below the old curve. Both are equally steep for 2 ms, then they close in by 8 B/ms: they meet
        /// 2 + 10/8 = 3.25 ms later, at 52.5 B.
        #[test]
        fn s3_two_steep_pieces_run_side_by_side_first() {
            let service_curve = curve(10, 5, 2);
            let mut now = ShiftedCurve::at(&service_curve, 0, 0);
            now.lower(&service_curve, 3 * MS, bytes(20));
            assert_eq!(now.service(6 * MS), bytes(50));
            assert_eq!(now.service(6_250_000), bytes(105) / 2);
            assert_eq!(now.service(20 * MS), bytes(80));
            assert_eq!(now.time(bytes(50)), 6 * MS);
            assert_eq!(now.time(bytes(109) / 2), 7_250_000);
        }

        /// Figure 6, convex: the new curve is the smaller one where it starts on the old one or below it.
        #[test]
        fn s3_a_convex_curve_starts_again_unless_it_is_ahead() {
            let service_curve = curve(0, 5, 4);
            for (served, later) in [(21, 28), (20, 20), (15, 15)] {
                let mut now = ShiftedCurve::at(&service_curve, 0, 0);
                now.lower(&service_curve, 10 * MS, bytes(served));
                assert_eq!(now.service(12 * MS), bytes(later), "{served}");
            }
        }
    }
}
