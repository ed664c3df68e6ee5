//! RIO-D, decoupled RED: the average of precedence n counts the packets of precedence n alone.
//!
//! Source: the `RIO-D` mode of ns-2.35's DiffServ module (Seddigh, Nandy, Pieda et al., 1999).

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

/// A RIO-D queue's judge.
#[derive(Clone, Debug)]
pub struct RioD {
    config: MredConfig,
    ageing: Ageing,
    levels: Vec<Level>,
}

impl RioD {
    /// A RIO-D for a port that drains at `rate_bit_s`.
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

impl Policy for RioD {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut Stream) -> Verdict {
        let own = self.config.level(arrival.precedence);
        let Level { average, spacer, packets } = &mut self.levels[own];
        let average = average.sample(arrival.now, f64::from(*packets), self.ageing);
        self.config.judge(own, average, spacer, *packets, random)
    }

    fn on_enqueue(&mut self, _bytes: u32, precedence: u8) {
        let own = self.config.level(precedence);
        let level = &mut self.levels[own];
        level.packets += 1;
        level.average.busy();
    }

    fn on_departure(&mut self, at: Time, _bytes: u32, precedence: u8, _left: Backlog) {
        let own = self.config.level(precedence);
        let level = &mut self.levels[own];
        level.packets -= 1;
        if level.packets == 0 {
            level.average.idle(at);
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.levels.iter().map(|level| level.average.value()).sum())
    }

    fn average_of(&self, precedence: u8) -> Option<f64> {
        Some(self.levels[self.config.level(precedence)].average.value())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::bench::overload;
    use super::super::{Curve, RioC, Spacing};
    use super::*;

    /// Three precedences that never drop in a short script.
    pub(in super::super) fn wide() -> MredConfig {
        MredConfig {
            precedences: vec![Curve { min_th: 1000.0, max_th: 2000.0, max_p: 0.1 }; 3],
            w_q: 0.5,
            gentle: false,
            mean_packet_bytes: 1000,
            spacing: Spacing::Uniform,
        }
    }

    /// Packets that arrive at time 0 and stay.
    pub(in super::super) fn script(aqm: &mut impl Policy, precedences: &[u8]) {
        let mut random = Stream::new(1, "test", "rio");
        let mut backlog = Backlog::default();
        for &precedence in precedences {
            let arrival = Arrival { now: 0, bytes: 1000, precedence, backlog };
            assert_eq!(aqm.on_arrival(&arrival, &mut random), Verdict::Pass);
            aqm.on_enqueue(1000, precedence);
            backlog.packets += 1;
            backlog.bytes += 1000;
        }
    }

    /// Arrivals 0, 2, 1, 2, 0; own packets seen: 0, 0, 0, 1, 1. With w_q = 1/2:
    /// avg0: 0, 0.5; avg1: 0; avg2: 0, 0.5 (the same script in `rio_c` gives 0.5, 1.25, 3.0625).
    #[test]
    fn each_precedence_sees_its_own_packets_alone() {
        let mut rio = RioD::new(&wide(), 8_000_000).unwrap();
        script(&mut rio, &[0, 2, 1, 2, 0]);
        let averages = [0, 1, 2].map(|precedence| rio.average_of(precedence).unwrap());
        assert_eq!(averages, [0.5, 0.0, 0.5]);
        assert_eq!(rio.average(), Some(1.0));
    }

    /// Half and half at 1.25 times the capacity, two equal curves 10..50, max_p 0.4, `geometric`.
    /// Decoupled: the precedences are alike, so each loses 0.2 and averages 10 + 40 * 0.5 = 30.
    /// Coupled: precedence 1 sees both queues and loses the more; worked out below.
    #[test]
    fn decoupled_precedences_with_equal_curves_lose_alike_and_coupled_do_not() {
        let config = MredConfig {
            precedences: vec![Curve { min_th: 10.0, max_th: 50.0, max_p: 0.4 }; 2],
            w_q: 0.002,
            spacing: Spacing::Geometric,
            ..wide()
        };
        let decoupled = overload(RioD::new(&config, 8_000_000).unwrap(), 1.25, &[0, 1], 600_000);
        for precedence in 0..2 {
            assert!((decoupled.dropped[precedence] - 0.2).abs() < 0.01, "{:?}", decoupled.dropped);
            assert!(
                (decoupled.averages[precedence] - 30.0).abs() < 1.5,
                "{:?}",
                decoupled.averages
            );
        }
        // Coupled: avg0 = f avg1, f the share of the queue that precedence 0 holds, which in a FIFO
        // is its share of what is let in: f = (1 - d0) / (1.6), d0 = 0.01 (avg0 - 10),
        // d1 = 0.01 (avg1 - 10), d0 + d1 = 0.4. avg0 + avg1 = 60; with f = (1.1 - 0.01 avg0) / 1.6:
        // avg0 = f (60 - avg0). At avg0 = 21: f = 0.55625, right side 21.69; at 21.4: f = 0.55375,
        // 21.375. So avg0 = 21.39, avg1 = 38.61, d0 = 0.114, d1 = 0.286.
        let coupled = overload(RioC::new(&config, 8_000_000).unwrap(), 1.25, &[0, 1], 600_000);
        assert!((coupled.averages[0] - 21.39).abs() < 1.0, "{:?}", coupled.averages);
        assert!((coupled.averages[1] - 38.61).abs() < 1.5, "{:?}", coupled.averages);
        assert!((coupled.dropped[0] - 0.114).abs() < 0.01, "{:?}", coupled.dropped);
        assert!((coupled.dropped[1] - 0.286).abs() < 0.01, "{:?}", coupled.dropped);
    }
}
