//! RED for several precedences, in and out of profile: an average for each.
//!
//! RIO-C, coupled: the average of precedence n counts the packets of precedences 0 to n. RIO-D,
//! decoupled: it counts those of precedence n alone.
//!
//! Source: Clark & Fang, "Explicit allocation of best-effort packet delivery service", IEEE/ACM
//! Trans. Networking 6(4), 1998, section III ("RIO": in-profile packets see only themselves, others
//! the whole queue), extended to any number of precedences as the `RIO-C` mode of ns-2.35's
//! DiffServ module: an arrival of precedence p samples the averages of p and of all above. The
//! `RIO-D` mode of the same module (Seddigh, Nandy, Pieda et al., 1999).

use super::average::{Average, IdleAgeing};
use super::spacing::Spacer;
use super::wred::MredConfig;
use super::{ActiveQueueManagement, Arrival, InvalidParameter, QueueBacklog, Verdict};
use std::ops::Range;
use trunkline_units::{RandomStream, Time};

/// A queue's AQM whose averages count lower precedences too.
pub type RioC = Rio<true>;
/// A queue's AQM whose averages count their own precedence alone.
pub type RioD = Rio<false>;

#[derive(Clone, Debug)]
struct Level {
    average: Average,
    spacer: Spacer,
    /// Packets of this precedence in the queue.
    packets: u32,
}

/// An AQM with an average for each precedence.
#[derive(Clone, Debug)]
pub struct Rio<const COUPLED: bool> {
    config: MredConfig,
    ageing: IdleAgeing,
    levels: Vec<Level>,
}

impl<const COUPLED: bool> Rio<COUPLED> {
    /// A RIO for a port that drains at `rate_bit_s`.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &MredConfig, rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        config.check()?;
        let level = Level {
            average: Average::new(config.w_q),
            spacer: Spacer::new(config.spacing),
            packets: 0,
        };
        Ok(Self {
            ageing: IdleAgeing::new(rate_bit_s, config.mean_packet_bytes),
            levels: vec![level; config.precedences.len()],
            config: config.clone(),
        })
    }

    /// Levels whose averages count packets of `own`.
    #[inline]
    fn counting(&self, own: usize) -> Range<usize> {
        own..if COUPLED { self.levels.len() } else { own + 1 }
    }

    /// Packets of lower precedences that the average of `own` counts.
    #[inline]
    fn below(&self, own: usize) -> u32 {
        self.levels[..if COUPLED { own } else { 0 }].iter().map(|level| level.packets).sum()
    }
}

impl<const COUPLED: bool> ActiveQueueManagement for Rio<COUPLED> {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
        let own = self.config.level(arrival.precedence);
        let (mut up_to, counting) = (self.below(own), self.counting(own));
        let waiting = up_to + self.levels[own].packets;
        for level in &mut self.levels[counting] {
            up_to += level.packets;
            level.average.sample(arrival.now, f64::from(up_to), self.ageing);
        }
        let level = &mut self.levels[own];
        self.config.judge(own, level.average.value(), &mut level.spacer, waiting, random)
    }

    fn on_enqueue(&mut self, _bytes: u32, precedence: u8) {
        let own = self.config.level(precedence);
        self.levels[own].packets += 1;
        let counting = self.counting(own);
        for level in &mut self.levels[counting] {
            level.average.busy();
        }
    }

    fn on_departure(&mut self, at: Time, _bytes: u32, precedence: u8, _left: QueueBacklog) {
        let own = self.config.level(precedence);
        self.levels[own].packets -= 1;
        let (mut up_to, counting) = (self.below(own), self.counting(own));
        for level in &mut self.levels[counting] {
            up_to += level.packets;
            if up_to > 0 {
                return;
            }
            level.average.idle(at);
        }
    }

    fn average(&self) -> Option<f64> {
        let mut values = self.levels.iter().map(|level| level.average.value());
        if COUPLED {
            values.next_back()
        } else {
            Some(values.sum())
        }
    }

    fn average_of(&self, precedence: u8) -> Option<f64> {
        Some(self.levels[self.config.level(precedence)].average.value())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_queue::overload;
    use super::super::{Curve, Spacing};
    use super::*;

    /// Three precedences that never drop in a short script.
    fn wide() -> MredConfig {
        MredConfig {
            precedences: vec![Curve { min_th: 1000.0, max_th: 2000.0, max_p: 0.1 }; 3],
            w_q: 0.5,
            gentle: false,
            mean_packet_bytes: 1000,
            spacing: Spacing::Uniform,
        }
    }

    /// Packets that arrive at time 0 and stay.
    fn script(aqm: &mut impl ActiveQueueManagement, precedences: &[u8]) {
        let mut random = RandomStream::new(1, "test", "rio");
        let mut backlog = QueueBacklog::default();
        for &precedence in precedences {
            let arrival = Arrival { now: 0, bytes: 1000, precedence, backlog };
            assert_eq!(aqm.on_arrival(&arrival, &mut random), Verdict::Pass);
            aqm.on_enqueue(1000, precedence);
            backlog.packets += 1;
            backlog.bytes += 1000;
        }
    }

    /// Arrivals 0, 2, 1, 2, 0; own packets seen: 0, 0, 0, 1, 1. With w_q = 1/2:
    /// avg0: 0, 0.5; avg1: 0; avg2: 0, 0.5 (coupled the same script gives 0.5, 1.25, 3.0625).
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
        // is its share of the admitted packets: f = (1 - d0) / (1.6), d0 = 0.01 (avg0 - 10),
        // d1 = 0.01 (avg1 - 10), d0 + d1 = 0.4. avg0 + avg1 = 60; with f = (1.1 - 0.01 avg0) / 1.6:
        // avg0 = f (60 - avg0). At avg0 = 21: f = 0.55625, right side 21.69; at 21.4: f = 0.55375,
        // 21.375. So avg0 = 21.39, avg1 = 38.61, d0 = 0.114, d1 = 0.286.
        let coupled = overload(RioC::new(&config, 8_000_000).unwrap(), 1.25, &[0, 1], 600_000);
        assert!((coupled.averages[0] - 21.39).abs() < 1.0, "{:?}", coupled.averages);
        assert!((coupled.averages[1] - 38.61).abs() < 1.5, "{:?}", coupled.averages);
        assert!((coupled.dropped[0] - 0.114).abs() < 0.01, "{:?}", coupled.dropped);
        assert!((coupled.dropped[1] - 0.286).abs() < 0.01, "{:?}", coupled.dropped);
    }

    mod clark_fang1998 {
        use super::*;

        /// w_q = 1/2, 1 ms a packet; arrivals 0, 2, 1, 2, 0 at t = 0 with
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
                rio.on_departure(ms * 1_000_000, 1000, precedence, QueueBacklog::default());
            }
            let arrival = Arrival {
                now: 7_000_000,
                bytes: 1000,
                precedence: 0,
                backlog: QueueBacklog::default(),
            };
            rio.on_arrival(&arrival, &mut RandomStream::new(1, "test", "rio"));
            let averages = [0, 1, 2].map(|precedence| rio.average_of(precedence).unwrap());
            assert_eq!(averages, [0.5 / 8.0, 1.25 / 8.0, 3.0625 / 8.0]);
        }
    }
}
