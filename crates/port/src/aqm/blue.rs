//! BLUE: the probability follows losses and idle times, not an average queue.
//!
//! Source: Feng, Shin, Kandlur and Saha, "The BLUE active queue management algorithms", IEEE/ACM ToN
//! 10(4), 2002, section III-A, Fig. 6, in the form for ECN: the probability grows by `increment` when
//! the queue exceeds `threshold`, and shrinks by `decrement` when the link is idle, each at most once
//! a `freeze` time.
//! Differs: a link that stays idle shrinks it again each `freeze`, computed at the next arrival. Absent:
//! growth at losses by the limit (set the threshold below it).

use super::{ActiveQueueManagement, Arrival, InvalidParameter, Unit, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Span, Time};

/// Keys of `blue`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlueConfig {
    /// Queue above which the probability grows [`unit`].
    pub threshold: u64,
    /// Unit of the threshold.
    pub unit: Unit,
    /// By how much it grows [in (0, 1]].
    pub increment: f64,
    /// By how much it shrinks [in (0, 1]].
    pub decrement: f64,
    /// Minimum time between two changes [ns, > 0].
    pub freeze_ns: Span,
}

/// A BLUE queue's AQM.
#[derive(Clone, Debug)]
pub struct Blue {
    config: BlueConfig,
    probability: f64,
    changed_at: Option<Time>,
    idle_since: Option<Time>,
}

impl Blue {
    /// A BLUE; the port's rate plays no part.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &BlueConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        for (key, value) in [("increment", config.increment), ("decrement", config.decrement)] {
            InvalidParameter::require(value > 0.0 && value <= 1.0, key, || {
                format!("must be in (0, 1], not {value}")
            })?;
        }
        InvalidParameter::require(config.freeze_ns > 0, "freeze_ns", || "must be above 0".into())?;
        Ok(Self { config: *config, probability: 0.0, changed_at: None, idle_since: Some(0) })
    }

    /// Changes the probability unless it is frozen at `at`.
    fn change(&mut self, at: Time, by: f64) {
        if self.changed_at.is_some_and(|before| at - before <= self.config.freeze_ns) {
            return;
        }
        self.probability = (self.probability + by).clamp(0.0, 1.0);
        self.changed_at = Some(at);
    }

    /// The link was idle until `now`.
    fn end_idle(&mut self, now: Time) {
        let Some(mut at) = self.idle_since.replace(now) else { return };
        while at < now && self.probability > 0.0 {
            let thawed = self
                .changed_at
                .map_or(0, |before| before.saturating_add(self.config.freeze_ns + 1));
            at = at.max(thawed);
            if at >= now {
                return;
            }
            self.change(at, -self.config.decrement);
        }
    }
}

impl ActiveQueueManagement for Blue {
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
        self.end_idle(arrival.now);
        let queue = match self.config.unit {
            Unit::Packets => u64::from(arrival.backlog.packets),
            Unit::Bytes => arrival.backlog.bytes,
        };
        if queue > self.config.threshold {
            self.change(arrival.now, self.config.increment);
        }
        if self.probability > 0.0 && random.uniform() < self.probability {
            return Verdict::Signal(Cause::Early);
        }
        Verdict::Pass
    }

    fn on_enqueue(&mut self, _bytes: u32, _precedence: u8) {
        self.idle_since = None;
    }

    fn on_idle(&mut self, at: Time) {
        self.idle_since = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_queue::overload;
    use super::super::QueueBacklog;
    use super::*;

    const PLAIN: BlueConfig = BlueConfig {
        threshold: 20,
        unit: Unit::Packets,
        increment: 0.02,
        decrement: 0.002,
        freeze_ns: 10_000_000,
    };

    fn arrive(blue: &mut Blue, ms: u64, packets: u32) -> f64 {
        let backlog = QueueBacklog { packets, bytes: 1000 * u64::from(packets) };
        let arrival = Arrival { now: ms * 1_000_000, bytes: 1000, precedence: 0, backlog };
        blue.on_arrival(&arrival, &mut RandomStream::new(1, "test", "aqm"));
        blue.on_enqueue(1000, 0);
        blue.probability
    }

    mod feng2002 {
        use super::*;

        /// Above the threshold + 0.02, but not again within 10 ms; at the threshold nothing.
        #[test]
        fn fig6_the_probability_grows_once_a_freeze_time() {
            let mut blue = Blue::new(&PLAIN, 0).unwrap();
            assert_eq!(arrive(&mut blue, 1, 20), 0.0);
            assert_eq!(arrive(&mut blue, 2, 21), 0.02);
            assert_eq!(arrive(&mut blue, 12, 25), 0.02);
            assert_eq!(arrive(&mut blue, 13, 25), 0.04);
        }

        /// From 0.04, changed at 13 ms, idle from 50 ms to 75.5: - 0.002 at 50, 60 and 70 ms.
        #[test]
        fn fig6_it_shrinks_while_the_link_is_idle() {
            let mut blue = Blue::new(&PLAIN, 0).unwrap();
            arrive(&mut blue, 2, 21);
            arrive(&mut blue, 13, 21);
            blue.on_idle(50_000_000);
            assert!((arrive(&mut blue, 75, 0) - 0.034).abs() < 1e-12);
            // The queue is busy: no idle time between these.
            assert!((arrive(&mut blue, 99, 5) - 0.034).abs() < 1e-12);
        }

        /// A constant overload of 1.1: with less than 1 of 11 dropped the queue would grow without end,
        /// and each idle time of the link lowers the probability again, so the share of drops stays
        /// within one increment of that.
        #[test]
        fn s3_the_probability_settles_where_the_queue_neither_grows_nor_empties() {
            let result = overload(Blue::new(&PLAIN, 0).unwrap(), 1.1, &[0], 400_000);
            let excess = result.dropped[0] - 1.0 / 11.0;
            assert!((-0.001..=0.02).contains(&excess), "{:?}", result.dropped);
        }
    }
}
