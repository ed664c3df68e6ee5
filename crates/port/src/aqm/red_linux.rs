//! RED as Linux's `sch_red` does it, in its two versions.
//!
//! Source: Linux 6.1 `net/sched/sch_red.c`; the arithmetic is that of `linux.rs`. The backlog is
//! bytes that wait, without the packet in service. Idle time starts when the queue is asked for a packet
//! and has none, so at the end of the last transmission, and again when an arrival was dropped on an
//! idle link; a classful parent such as HTB never asks an empty queue, hence `idle_ageing`.

use super::adaptive::AdaptiveClock;
use super::linux::{LinuxAverage, LinuxRedParameters, LinuxRedVariant, LinuxSpacer, TcRed};
use super::{ActiveQueueManagement, Arrival, InvalidParameter, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_units::{RandomStream, Time};

/// Keys of `red-linux`. The `limit` of `tc` is the queue's `limit_bytes`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedLinuxConfig {
    /// Parameters of `tc`.
    pub parameters: TcRed,
    /// Version of Linux.
    pub age: LinuxRedVariant,
    /// Drop above `max` ECN-capable packets too.
    pub harddrop: bool,
    /// Whether idle time ages the average: false under a classful parent of Linux (HTB, CBQ).
    pub idle_ageing: bool,
    /// Whether the probability at `max` follows the average; of age max-p.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub adaptive: bool,
}

/// A `sch_red` queue's AQM.
#[derive(Clone, Debug)]
pub struct RedLinux {
    parameters: LinuxRedParameters,
    harddrop: bool,
    idle_ageing: bool,
    average: LinuxAverage,
    spacer: LinuxSpacer,
    /// None: the probability stays.
    adaptive: Option<AdaptiveClock>,
}

impl RedLinux {
    /// A Linux RED; the port's rate plays no part, `bandwidth_bit_s` does.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &RedLinuxConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        InvalidParameter::require(
            !config.adaptive || config.age == LinuxRedVariant::MaxP,
            "adaptive",
            || "came with max_P: not of age plog".into(),
        )?;
        Ok(Self {
            parameters: LinuxRedParameters::new(&config.parameters, config.age)?,
            harddrop: config.harddrop,
            idle_ageing: config.idle_ageing,
            average: LinuxAverage::default(),
            spacer: LinuxSpacer::default(),
            adaptive: config.adaptive.then(AdaptiveClock::new),
        })
    }
}

impl ActiveQueueManagement for RedLinux {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
        if let Some(clock) = &mut self.adaptive {
            self.parameters.adapt(clock, &self.average, arrival.now);
        }
        let idle = self.average.idle_since.is_some();
        self.average.sample(&self.parameters, arrival.now, arrival.backlog.bytes);
        self.average.idle_since = idle.then_some(arrival.now);
        self.spacer.judge(&self.parameters, self.average.scaled, self.harddrop, random)
    }

    fn on_enqueue(&mut self, _bytes: u32, _precedence: u8) {
        self.average.idle_since = None;
    }

    fn on_idle(&mut self, at: Time) {
        if self.idle_ageing {
            self.average.idle_since = Some(at);
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.parameters.bytes(self.average.scaled))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_queue::overload;
    use super::*;

    /// A constant load of 1.1 on 8 Mbit/s: 1 of 11 packets is dropped, so the mean gap is 11 =
    /// 1/(2p) + 1/2: p = 1/21. `MaxP`, 0.3 over 90 kB: avg = 10,000 + 90,000 / (21 * 0.3) = 24,286 B.
    /// `Plog`, 2^-19 a byte: 10,000 + 2^19 / 21 = 34,966 B.
    #[test]
    fn equilibrium_average_at_constant_overload_follows_the_age() {
        for (age, expected) in
            [(LinuxRedVariant::MaxP, 24_286.0), (LinuxRedVariant::Plog, 34_966.0)]
        {
            let parameters = TcRed {
                min_bytes: 10_000,
                max_bytes: 100_000,
                avpkt_bytes: 1000,
                burst_packets: 60,
                bandwidth_bit_s: 8_000_000,
                probability: 0.3,
            };
            let config = RedLinuxConfig {
                parameters,
                age,
                harddrop: false,
                idle_ageing: true,
                adaptive: false,
            };
            let result = overload(RedLinux::new(&config, 8_000_000).unwrap(), 1.1, &[0], 400_000);
            assert!((result.average / expected - 1.0).abs() < 0.03, "{age:?}: {}", result.average);
        }
    }
}
