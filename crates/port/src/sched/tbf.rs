//! Token bucket filter: one class, shaped to a rate and, if asked, to a peak rate.
//!
//! Source: Linux 6.1 `net/sched/sch_tbf.c`; RFC 2215 section 3.1 (TOKEN_BUCKET_TSPEC: r, b, p, M). A
//! packet of L bytes is sent when the bucket of `rate` (`burst` deep) and that of `peak_rate`
//! (`min_burst` deep) both hold L; both pay. So output in any time t is at most b + r t, and with a
//! peak rate at most M + p t.
//! Differs: a packet above a bucket is sent when that is full (Linux drops it; the language refuses
//! it). Cost: O(1) a packet.

use super::bucket::RateBucket;
use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::{Time, NEVER};

/// Share of the only class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TbfShare {
    /// Rate it is shaped to [bit/s, > 0].
    pub rate_bit_s: u64,
    /// Depth of the bucket of the rate [B, > 0].
    pub burst_bytes: u64,
    /// Rate of a burst [bit/s, > `rate_bit_s`]; 0 = that of the line.
    pub peak_rate_bit_s: u64,
    /// Depth of the bucket of the peak rate [B, > 0 with one].
    pub min_burst_bytes: u64,
}

/// A token bucket filter.
#[derive(Clone, Debug)]
pub struct Tbf {
    rate: RateBucket,
    peak: Option<RateBucket>,
    filled_at: Time,
}

impl Tbf {
    /// A filter over exactly one class.
    ///
    /// # Errors
    /// The parameter or relation that cannot be.
    pub fn new(shares: &[TbfShare]) -> Result<Self, InvalidParameter> {
        let &[TbfShare { rate_bit_s, burst_bytes, peak_rate_bit_s, min_burst_bytes }] = shares
        else {
            let why = format!("tbf serves exactly one class, not {}", shares.len());
            return Err(InvalidParameter { key: "scheduler", why });
        };
        InvalidParameter::require(rate_bit_s > 0, "rate_bit_s", || "must be above 0".into())?;
        InvalidParameter::require(burst_bytes > 0, "burst_bytes", || "must be above 0".into())?;
        let peaks = peak_rate_bit_s > 0;
        InvalidParameter::require(
            !peaks || peak_rate_bit_s > rate_bit_s,
            "peak_rate_bit_s",
            || format!("must be above rate_bit_s: {peak_rate_bit_s} is not above {rate_bit_s}"),
        )?;
        InvalidParameter::require(!peaks || min_burst_bytes > 0, "min_burst_bytes", || {
            "must be above 0 with a peak rate".into()
        })?;
        let peak = peaks.then(|| RateBucket::full(peak_rate_bit_s, min_burst_bytes));
        Ok(Self { rate: RateBucket::full(rate_bit_s, burst_bytes), peak, filled_at: 0 })
    }

    fn fill(&mut self, now: Time) {
        let span = now - self.filled_at;
        self.rate.fill(span);
        if let Some(peak) = &mut self.peak {
            peak.fill(span);
        }
        self.filled_at = now;
    }
}

impl Discipline for Tbf {
    fn on_enqueue(&mut self, _class: u16, _bytes: u32, _was_empty: bool, _now: Time) {}

    fn choose(&mut self, heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice {
        let Some(bytes) = heads.head(0) else { return SchedulerChoice::Idle };
        self.fill(now);
        let peak = self.peak.map_or(0, |peak| peak.time_until_holds(bytes));
        match self.rate.time_until_holds(bytes).max(peak) {
            0 => SchedulerChoice::Class(0),
            wait => SchedulerChoice::Wait(now + wait),
        }
    }

    fn on_dequeue(&mut self, _class: u16, bytes: u32, _now_empty: bool, now: Time) {
        self.fill(now);
        self.rate.take(bytes, NEVER);
        if let Some(peak) = &mut self.peak {
            peak.take(bytes, NEVER);
        }
    }

    fn on_discard(&mut self, _class: u16, _now_empty: bool) {}
}

#[cfg(test)]
mod tests {
    use super::super::test_link::{arrivals, serve, Arrival};
    use super::*;
    use proptest::prelude::*;

    const RATE: TbfShare =
        TbfShare { rate_bit_s: 800_000, burst_bytes: 300, peak_rate_bit_s: 0, min_burst_bytes: 0 };

    fn starts(share: TbfShare, trace: &[(u64, u16, u32)]) -> Vec<u64> {
        let sent = serve(Tbf::new(&[share]).unwrap(), 8_000_000, 1, &arrivals(trace));
        sent.iter().map(|sent| sent.start / 1000).collect()
    }

    mod sch_tbf {
        use super::*;

        /// 800 kbit/s = 100 B/ms, burst 300 B, line 8 Mbit/s (100 B = 0.1 ms): three packets of 100 B
        /// at line rate; at 0.2 ms 20 B are left after the third, so the fourth is sent at 1.0 ms.
        #[test]
        fn a_burst_is_sent_at_line_rate_and_the_rest_at_the_rate() {
            assert_eq!(starts(RATE, &[(0, 0, 100); 6]), [0, 100, 200, 1000, 2000, 3000]);
        }

        /// The same with a peak rate of 1.6 Mbit/s = 200 B/ms and min_burst 100 B: 0.5 ms between
        /// packets. At 1.0 ms the rate's bucket has 300 + 100 - 300 = 100 B: a fourth at 1.5 ms (50 B
        /// left), then when 50 more are there: 2.0 ms; from then on 1 ms apart.
        #[test]
        fn a_peak_rate_spreads_the_burst() {
            let share = TbfShare { peak_rate_bit_s: 1_600_000, min_burst_bytes: 100, ..RATE };
            assert_eq!(starts(share, &[(0, 0, 100); 6]), [0, 500, 1000, 1500, 2000, 3000]);
        }

        /// Silence fills the bucket to its depth and no further: 10 ms later 300 B again.
        #[test]
        fn silence_earns_one_burst() {
            let trace = [[(0, 0, 100); 3], [(13_000, 0, 100); 3]].concat();
            assert_eq!(starts(RATE, &trace), [0, 100, 200, 13_000, 13_100, 13_200]);
        }
    }

    mod rfc2215 {
        use super::*;

        proptest! {
            /// Section 3.1: in any time t at most min(M + p t, b + r t) bytes go out.
            #[test]
            fn s3_1_output_conforms_to_both_buckets(
                steps in prop::collection::vec((0u64..3_000, 40u32..100), 1..100),
            ) {
                let mut at = 0;
                let trace: Vec<_> = steps
                    .iter()
                    .map(|&(gap, bytes)| { at += gap * 1000; Arrival { at, class: 0, bytes } })
                    .collect();
                let share = TbfShare { peak_rate_bit_s: 1_600_000, min_burst_bytes: 100, ..RATE };
                let sent = serve(Tbf::new(&[share]).unwrap(), 8_000_000, 1, &trace);
                prop_assert_eq!(sent.len(), trace.len());
                for from in 0..sent.len() {
                    let mut bytes = 0;
                    for packet in &sent[from..] {
                        bytes += u64::from(packet.bytes);
                        // 1e5 B/s and 2e5 B/s, times 1e4 and 5e3 ns.
                        let span = packet.start - sent[from].start;
                        prop_assert!(bytes * 10_000 <= 300 * 10_000 + span);
                        prop_assert!(bytes * 5_000 <= 100 * 5_000 + span);
                    }
                }
            }
        }
    }

    #[test]
    fn a_peak_below_the_rate_is_refused() {
        let bad = TbfShare { peak_rate_bit_s: 700_000, min_burst_bytes: 100, ..RATE };
        let why = "peak_rate_bit_s must be above rate_bit_s: 700000 is not above 800000";
        assert_eq!(Tbf::new(&[bad]).unwrap_err().to_string(), why);
    }
}
