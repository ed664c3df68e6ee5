//! The estimator of class-based queueing: is a class over its limit, and until when?
//!
//! Source: Floyd & Jacobson, "Link-sharing and resource management models for packet networks",
//! IEEE/ACM Trans. Networking 3(4), 1995, section V and appendix; Linux 2.4 `net/sched/sch_cbq.c`
//! for the fixed point. At the end of each packet of s bytes of a class of rate b,
//! `idle` = time since the end of its last packet - s / b, and
//! avgidle <- avgidle + W (idle - avgidle), at most `maxidle`, at least minus `minidle`. Below 0 the
//! class is over its limit until the idle time that would bring avgidle back to 0 has passed.

use super::cbq::CbqShare;
use super::InvalidParameter;
use trunkline_units::{math, Span, Time, TransmissionClock, NEVER};

/// Idle times are bounded by this [ns], so that sums stay far below 2^63.
const MAX_IDLE_NS: Span = 1 << 40;

/// Estimator of one class.
#[derive(Clone, Debug)]
pub(super) struct CbqEstimator {
    /// Time its packets would take at its own rate; none: it has no rate to lend.
    own: Option<TransmissionClock>,
    ewma_log: u32,
    /// avgidle / W [ns].
    average: i64,
    max_idle_ns: i64,
    min_idle_ns: i64,
    last_end: Time,
    /// Over its limit before this time.
    under_limit_at: Time,
}

impl CbqEstimator {
    /// The estimator of a class that may use `rate_bit_s` of a link of `link_bit_s`; reads
    /// `max_burst_packets`, `average_packet_bytes`, `ewma_log` and `min_idle_ns` of its share.
    pub(super) fn new(share: &CbqShare, rate_bit_s: u64, link_bit_s: u64) -> Self {
        let scale = f64::from(1u32 << share.ewma_log);
        let min_idle_ns = match share.min_idle_ns {
            Some(ns) => -((ns.min(MAX_IDLE_NS) as i64) << share.ewma_log),
            None => i64::MIN / 4,
        };
        let max_idle_ns =
            (max_idle(share, rate_bit_s, link_bit_s) * scale).min(MAX_IDLE_NS as f64) as i64;
        Self {
            own: (rate_bit_s > 0).then(|| TransmissionClock::new(rate_bit_s)),
            ewma_log: share.ewma_log,
            average: max_idle_ns,
            max_idle_ns,
            min_idle_ns,
            last_end: 0,
            under_limit_at: if rate_bit_s > 0 { 0 } else { NEVER },
        }
    }

    /// When it is no longer over its limit.
    #[inline]
    pub(super) fn under_limit_at(&self) -> Time {
        self.under_limit_at
    }

    /// A packet of `bytes`, which takes `wire` on the link, ends at `end`.
    pub(super) fn on_sent(&mut self, bytes: u32, wire: Span, end: Time) {
        let Some(own) = &mut self.own else { return };
        let due = own.span(bytes);
        let idle = (end - self.last_end).min(MAX_IDLE_NS) as i64 - due.min(MAX_IDLE_NS) as i64;
        self.last_end = end;
        self.average += idle - (self.average >> self.ewma_log);
        if self.average > 0 {
            self.average = self.average.min(self.max_idle_ns);
            self.under_limit_at = 0;
            return;
        }
        self.average = self.average.max(self.min_idle_ns);
        // (1 - W) avgidle + W idle = 0 gives idle = (1/W - 1) (-avgidle); and the packet's own time
        // at the rate of the class, of which it has had the time on the wire.
        let debt = -self.average;
        let idle = debt - (debt >> self.ewma_log) + due as i64 - wire as i64;
        self.under_limit_at = end + idle.max(0) as Time;
    }
}

/// maxidle [ns]: t (1/p - 1) (1 - g^n) / g^n for n packets of time t on the link, p the share of the
/// link and g = 1 - W; at least t W (Linux's `tc`).
fn max_idle(share: &CbqShare, rate_bit_s: u64, link_bit_s: u64) -> f64 {
    let bits = f64::from(share.average_packet_bytes) * 8e9;
    let on_link = bits / link_bit_s as f64;
    let weight = 1.0 / f64::from(1u32 << share.ewma_log);
    let floor = on_link * weight;
    if rate_bit_s == 0 {
        return floor;
    }
    let at_rate = bits / rate_bit_s as f64;
    let burst = math::pow(1.0 - weight, -f64::from(share.max_burst_packets)) - 1.0;
    floor.max((at_rate - on_link) * burst)
}

/// Checks the keys of the estimator.
pub(super) fn check(class: usize, share: &CbqShare) -> Result<(), InvalidParameter> {
    let CbqShare { max_burst_packets, average_packet_bytes, ewma_log, .. } = *share;
    InvalidParameter::require(max_burst_packets > 0, "max_burst_packets", || {
        format!("must be above 0 (class {class})")
    })?;
    InvalidParameter::require(average_packet_bytes > 0, "average_packet_bytes", || {
        format!("must be above 0 (class {class})")
    })?;
    InvalidParameter::require((1..=16).contains(&ewma_log), "ewma_log", || {
        format!("must be 1 to 16, not {ewma_log} (class {class})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    mod fj95 {
        use super::*;

        fn share() -> CbqShare {
            CbqShare {
                max_burst_packets: 4,
                average_packet_bytes: 1000,
                ewma_log: 4,
                ..Default::default()
            }
        }

        /// 1000 B at 8 Mbit/s: t = 1 ms; p = 1/4; g = 15/16, n = 4:
        /// 1 * 3 * ((16/15)^4 - 1) = 3 * 0.2945383 = 0.883615 ms.
        #[test]
        fn appendix_maxidle_lets_a_burst_of_n_packets_pass() {
            let ns = max_idle(&share(), 2_000_000, 8_000_000);
            assert!((ns - 883_615.0).abs() < 1.0, "{ns}");
            // After a silence, whose end the first packet marks, 4 more go back to back: avgidle =
            // g^4 (maxidle + 3 ms) - 3 ms = 0.
            let mut estimator = CbqEstimator::new(&share(), 2_000_000, 8_000_000);
            for k in 1..=5 {
                assert_eq!(estimator.under_limit_at(), 0, "packet {k}");
                estimator.on_sent(1000, 1_000_000, 1_000_000_000 + k * 1_000_000);
            }
            assert!(estimator.average.abs() < 100, "{}", estimator.average);
        }

        /// W = 1/16. Back to back from avgidle 0: idle = 1 ms - 4 ms = -3 ms: avgidle / W = -3 ms, and
        /// the class may send after (1 - W) * 3 ms + 4 ms - 1 ms = 5.8125 ms.
        #[test]
        fn s5_a_class_over_its_limit_waits_until_avgidle_would_be_0() {
            let mut estimator = CbqEstimator::new(&share(), 2_000_000, 8_000_000);
            estimator.average = 0;
            estimator.last_end = 7_000_000;
            estimator.on_sent(1000, 1_000_000, 8_000_000);
            assert_eq!(estimator.average, -3_000_000);
            assert_eq!(estimator.under_limit_at(), 8_000_000 + 5_812_500);
        }

        /// Packets at exactly the rate of the class leave avgidle at 0: never over, never under.
        #[test]
        fn s5_a_class_at_its_rate_stays_at_0() {
            let mut estimator = CbqEstimator::new(&share(), 3_000_000, 8_000_000);
            estimator.average = 0;
            for k in 1..=3000u64 {
                estimator.on_sent(1000, 1_000_000, k * 8_000_000 / 3);
            }
            assert!(estimator.average.abs() <= 16, "{}", estimator.average);
        }

        #[test]
        fn s5_minidle_bounds_the_debt() {
            let bounded = CbqShare { min_idle_ns: Some(100_000), ..share() };
            let mut estimator = CbqEstimator::new(&bounded, 2_000_000, 8_000_000);
            for k in 1..=100 {
                estimator.on_sent(1000, 1_000_000, k * 1_000_000);
            }
            assert_eq!(estimator.average, -100_000 * 16);
        }
    }
}
