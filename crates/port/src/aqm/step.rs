//! Step marking: every arrival above a queue length is marked, for data-centre congestion control.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; RFC 8257 section
//! 3.1: an arrival is marked CE if the queue is greater than K at that time. The queue itself counts,
//! not an average. Packets that are not ECN-capable pass, up to the queue's limit.
//! A step by time in the queue is `ce_threshold` of CoDel.

use super::{ActiveQueueManagement, Arrival, InvalidParameter, Unit, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_units::RandomStream;

/// Keys of `step`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// Queue above which arrivals are marked [`unit`].
    pub threshold: u64,
    /// Unit of the threshold.
    pub unit: Unit,
}

/// A queue that marks by a step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    config: StepConfig,
}

impl Step {
    /// Cannot fail; the signature is that of every AQM.
    ///
    /// # Errors
    /// None.
    pub fn new(config: &StepConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        Ok(Self { config: *config })
    }
}

impl ActiveQueueManagement for Step {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, _random: &mut RandomStream) -> Verdict {
        let queue = match self.config.unit {
            Unit::Packets => u64::from(arrival.backlog.packets),
            Unit::Bytes => arrival.backlog.bytes,
        };
        if queue > self.config.threshold {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::QueueBacklog;
    use super::*;

    /// Section 3.1: "greater than K upon its arrival".
    #[test]
    fn rfc8257_s3_1_marks_arrivals_that_find_more_than_k() {
        let verdict = |unit, threshold, packets: u32| {
            let mut step = Step::new(&StepConfig { threshold, unit }, 0).unwrap();
            let backlog = QueueBacklog { packets, bytes: 1500 * u64::from(packets) };
            let arrival = Arrival { now: 0, bytes: 40, precedence: 0, backlog };
            step.on_arrival(&arrival, &mut RandomStream::new(1, "test", "aqm"))
        };
        assert_eq!(verdict(Unit::Packets, 20, 20), Verdict::Pass);
        assert_eq!(verdict(Unit::Packets, 20, 21), Verdict::Mark);
        assert_eq!(verdict(Unit::Bytes, 30_000, 20), Verdict::Pass);
        assert_eq!(verdict(Unit::Bytes, 30_000, 21), Verdict::Mark);
    }
}
