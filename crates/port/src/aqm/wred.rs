//! Weighted RED: one average over the whole queue, a drop curve for each precedence.
//!
//! Source: "MRED" with a single average, as in the `WRED` mode of ns-2.35's DiffServ module and in
//! routers; each curve is that of RED (Floyd & Jacobson 1993).
//! Differs from ns-2: the queue is idle when no packet of any precedence waits (ns-2 asks only for
//! the precedence of the packet that left); an idle period ages the average once.

use super::average::{Average, IdleAgeing};
use super::drop_curve::{check_mean_packet, check_w_q, Curve, CurveZone};
use super::spacing::{Spacer, Spacing};
use super::{ActiveQueueManagement, Arrival, InvalidParameter, QueueBacklog, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Time};

/// Keys of the REDs with several precedences (`wred`, `rio-c`, `rio-d`); averages are in packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MredConfig {
    /// Curve of each precedence, 0 first; a higher precedence takes the last one.
    pub precedences: Vec<Curve>,
    /// Weight of the newest sample in each average [in (0, 1]].
    pub w_q: f64,
    /// Whether probabilities grow to 1 at twice `max_th` instead of jumping at `max_th`.
    pub gentle: bool,
    /// Mean packet size on the wire: ages the average of an idle queue [B, > 0].
    pub mean_packet_bytes: u32,
    /// How early signals are spread; each precedence has its own counter.
    pub spacing: Spacing,
}

impl MredConfig {
    /// Checks every key.
    pub(super) fn check(&self) -> Result<(), InvalidParameter> {
        InvalidParameter::require(
            (1..=256).contains(&self.precedences.len()),
            "precedences",
            || format!("must be 1 to 256 curves, not {}", self.precedences.len()),
        )?;
        for (precedence, curve) in self.precedences.iter().enumerate() {
            curve.check().map_err(|InvalidParameter { key, why }| InvalidParameter {
                key,
                why: format!("{why} (precedence {precedence})"),
            })?;
        }
        check_w_q(self.w_q)?;
        check_mean_packet(self.mean_packet_bytes)
    }

    /// Index of the curve of `precedence`.
    #[inline]
    pub(super) fn level(&self, precedence: u8) -> usize {
        usize::from(precedence).min(self.precedences.len() - 1)
    }

    /// Judges an arrival of `level` by `average`.
    #[inline]
    pub(super) fn judge(
        &self,
        level: usize,
        average: f64,
        spacer: &mut Spacer,
        waiting: u32,
        random: &mut RandomStream,
    ) -> Verdict {
        match self.precedences[level].zone(average, self.gentle) {
            CurveZone::Below => {
                spacer.below();
                Verdict::Pass
            }
            CurveZone::Band(p) if spacer.signals(p, 1.0, waiting, random) => {
                Verdict::Signal(Cause::Early)
            }
            CurveZone::Band(_) => Verdict::Pass,
            CurveZone::Above => {
                spacer.above();
                Verdict::Refuse(Cause::Forced)
            }
        }
    }
}

/// A WRED queue's AQM.
#[derive(Clone, Debug)]
pub struct Wred {
    config: MredConfig,
    ageing: IdleAgeing,
    average: Average,
    spacers: Vec<Spacer>,
}

impl Wred {
    /// A WRED for a port that drains at `rate_bit_s`.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &MredConfig, rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        config.check()?;
        Ok(Self {
            ageing: IdleAgeing::new(rate_bit_s, config.mean_packet_bytes),
            average: Average::new(config.w_q),
            spacers: vec![Spacer::new(config.spacing); config.precedences.len()],
            config: config.clone(),
        })
    }
}

impl ActiveQueueManagement for Wred {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
        let waiting = arrival.backlog.packets;
        let average = self.average.sample(arrival.now, f64::from(waiting), self.ageing);
        let level = self.config.level(arrival.precedence);
        self.config.judge(level, average, &mut self.spacers[level], waiting, random)
    }

    fn on_enqueue(&mut self, _bytes: u32, _precedence: u8) {
        self.average.busy();
    }

    fn on_departure(&mut self, at: Time, _bytes: u32, _precedence: u8, left: QueueBacklog) {
        if left.packets == 0 {
            self.average.idle(at);
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_queue::overload;
    use super::*;

    fn config() -> MredConfig {
        let curve = |min_th, max_th, max_p| Curve { min_th, max_th, max_p };
        MredConfig {
            precedences: vec![
                curve(40.0, 80.0, 0.1),
                curve(20.0, 80.0, 0.6),
                curve(10.0, 20.0, 0.5),
            ],
            w_q: 0.002,
            gentle: false,
            mean_packet_bytes: 1000,
            spacing: Spacing::Geometric,
        }
    }

    /// Precedences 0 and 1 in equal parts at 1.25 times the capacity, spacing `geometric`:
    /// p0 + p1 = 2 * 0.2. Between 40 and 80: p0 = 0.1 (a - 40) / 40, p1 = 0.6 (a - 20) / 60;
    /// 0.0025 (a - 40) + 0.01 (a - 20) = 0.4 gives a = 0.7 / 0.0125 = 56: p0 = 0.04, p1 = 0.36.
    #[test]
    fn equilibrium_of_two_precedences_over_one_average() {
        let result = overload(Wred::new(&config(), 8_000_000).unwrap(), 1.25, &[0, 1], 600_000);
        assert!((result.average - 56.0).abs() < 1.5, "{}", result.average);
        assert!((result.dropped[0] - 0.04).abs() < 0.005, "{:?}", result.dropped);
        assert!((result.dropped[1] - 0.36).abs() < 0.01, "{:?}", result.dropped);
    }

    #[test]
    fn a_precedence_beyond_the_last_takes_the_last_curve() {
        assert_eq!((config().level(2), config().level(3), config().level(255)), (2, 2, 2));
    }

    #[test]
    fn a_bad_curve_is_named_by_its_precedence() {
        let mut bad = config();
        bad.precedences[1].max_th = 5.0;
        let refused = Wred::new(&bad, 1).unwrap_err().to_string();
        assert_eq!(refused, "max_th must be above min_th: 5 is not above 20 (precedence 1)");
    }
}
