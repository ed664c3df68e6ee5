//! RIO-C, coupled RED: the average of precedence n counts the packets of precedences 0 to n.
//!
//! Source: Clark & Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM
//! Trans. Networking 6(4), 1998, section III ("RIO": in-profile packets see only themselves, others
//! the whole queue), extended to any number of precedences as the `RIO-C` mode of ns-2.35's
//! DiffServ module: an arrival of precedence p samples the averages of p and of all above.

use super::average::{Ageing, Average};
use super::spacing::Spacer;
use super::wred::MredConfig;
use super::{Arrival, Backlog, Invalid, Policy, Verdict};
use trunkline_units::{Stream, Time};

#[derive(Clone, Debug)]
struct Level {
    average: Average,
    spacer: Spacer,
    /// Packets of this precedence in the queue.
    packets: u32,
}

/// A RIO-C queue's judge.
#[derive(Clone, Debug)]
pub struct RioC {
    config: MredConfig,
    ageing: Ageing,
    levels: Vec<Level>,
}

impl RioC {
    /// A RIO-C for a port that drains at `rate_bit_s`.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &MredConfig, rate_bit_s: u64) -> Result<Self, Invalid> {
        config.check()?;
        let level = Level {
            average: Average::new(config.w_q),
            spacer: Spacer::new(config.spacing),
            packets: 0,
        };
        Ok(Self {
            ageing: Ageing::new(rate_bit_s, config.mean_packet_bytes),
            levels: vec![level; config.precedences.len()],
            config: config.clone(),
        })
    }
}

impl Policy for RioC {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut Stream) -> Verdict {
        let own = self.config.level(arrival.precedence);
        let mut up_to: u32 = self.levels[..own].iter().map(|level| level.packets).sum();
        let mut waiting = 0;
        for (index, level) in self.levels.iter_mut().enumerate().skip(own) {
            up_to += level.packets;
            level.average.sample(arrival.now, f64::from(up_to), self.ageing);
            if index == own {
                waiting = up_to;
            }
        }
        let level = &mut self.levels[own];
        self.config.judge(own, level.average.value(), &mut level.spacer, waiting, random)
    }

    fn on_enqueue(&mut self, _bytes: u32, precedence: u8) {
        let own = self.config.level(precedence);
        self.levels[own].packets += 1;
        for level in &mut self.levels[own..] {
            level.average.busy();
        }
    }

    fn on_departure(&mut self, at: Time, _bytes: u32, precedence: u8, _left: Backlog) {
        let own = self.config.level(precedence);
        self.levels[own].packets -= 1;
        let mut up_to: u32 = self.levels[..own].iter().map(|level| level.packets).sum();
        for level in &mut self.levels[own..] {
            up_to += level.packets;
            if up_to > 0 {
                return;
            }
            level.average.idle(at);
        }
    }

    fn average(&self) -> Option<f64> {
        self.levels.last().map(|level| level.average.value())
    }

    fn average_of(&self, precedence: u8) -> Option<f64> {
        Some(self.levels[self.config.level(precedence)].average.value())
    }
}

#[cfg(test)]
mod tests {
    use super::super::rio_d::tests::{script, wide};
    use super::*;

    mod clark_fang1998 {
        use super::*;

        /// w_q = 1/2, 1 ms a packet; the script is in `rio_d`: arrivals 0, 2, 1, 2, 0 at t = 0 with
        /// none leaving. Queue seen: a0: 0 0 0; a2: (2) 1; a1: (1) 1, (2) 2; a2: (2) 3; a0: 1 2 4.
        /// avg0: 0, 0.5. avg1: 0, 0.5, 1.25. avg2: 0, 0.5, 1.25, 2.125, 3.0625.
        #[test]
        fn s3_each_precedence_sees_those_up_to_its_own() {
            let mut rio = RioC::new(&wide(), 8_000_000).unwrap();
            script(&mut rio, &[0, 2, 1, 2, 0]);
            let averages = [0, 1, 2].map(|precedence| rio.average_of(precedence).unwrap());
            assert_eq!(averages, [0.5, 1.25, 3.0625]);
            assert_eq!(rio.average(), Some(3.0625));
        }

        /// Then packet 0 leaves at 1 ms, 2 at 2 ms, 1 at 3 ms, 2 at 4 ms, 0 at 5 ms. Precedence 0 is
        /// empty from 5 ms (0 remains until then); so are all. Next, a 0 at 7 ms: m = 2 for each.
        /// avg0 = 0.5 / 8, avg1 = 1.25 / 8, avg2 = 3.0625 / 8.
        #[test]
        fn s3_a_precedence_is_idle_when_all_up_to_it_are_gone() {
            let mut rio = RioC::new(&wide(), 8_000_000).unwrap();
            script(&mut rio, &[0, 2, 1, 2, 0]);
            for (ms, precedence) in [(1, 0), (2, 2), (3, 1), (4, 2), (5, 0)] {
                rio.on_departure(ms * 1_000_000, 1000, precedence, Backlog::default());
            }
            let arrival =
                Arrival { now: 7_000_000, bytes: 1000, precedence: 0, backlog: Backlog::default() };
            rio.on_arrival(&arrival, &mut Stream::new(1, "test", "rio"));
            let averages = [0, 1, 2].map(|precedence| rio.average_of(precedence).unwrap());
            assert_eq!(averages, [0.5 / 8.0, 1.25 / 8.0, 3.0625 / 8.0]);
        }
    }
}
