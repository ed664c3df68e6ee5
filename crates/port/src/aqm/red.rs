//! Random Early Detection: the longer the average queue, the likelier a signal.
//!
//! Source: Floyd & Jacobson, IEEE/ACM Trans. Networking 1(4), 1993, Fig. 2 ("FJ93").
//! As ns-2.35: idle time counts from the end of the last transmission; full packet times of it age the
//! average. Early signals mark ECN-capable packets; above the band every packet is dropped.
//! Differs: the average is sampled by every arrival, also by one the queue's limit then drops.
//! With `adaptive`, `max_p` moves as `adaptive.rs` says.

use super::adaptive::{self, AdaptiveClock};
use super::average::{Average, IdleAgeing};
use super::drop_curve::{check_mean_packet, check_w_q, Curve, CurveZone};
use super::spacing::{Spacer, Spacing};
use super::{ActiveQueueManagement, Arrival, InvalidParameter, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Time};

/// Unit of the average queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Packets; each arrival is equally likely to be signalled.
    Packets,
    /// Bytes; an arrival is signalled in proportion to its size over the mean (FJ93 section 4).
    Bytes,
}

/// Keys of `red`, in FJ93's symbols.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Average below which no packet is signalled [`unit`, >= 0].
    pub min_th: f64,
    /// Average from which on every packet is dropped (`gentle`: from twice this) [> `min_th`].
    pub max_th: f64,
    /// Probability of an early signal as the average reaches `max_th` [in (0, 1]].
    pub max_p: f64,
    /// Weight of the newest sample in the average [in (0, 1]].
    pub w_q: f64,
    /// Whether the probability grows to 1 at twice `max_th` instead of jumping at `max_th`.
    pub gentle: bool,
    /// Unit of the average and the thresholds.
    pub unit: Unit,
    /// Mean packet size on the wire: ages the average of an idle queue, scales byte mode [B, > 0].
    pub mean_packet_bytes: u32,
    /// How early signals are spread.
    pub spacing: Spacing,
    /// Whether `max_p` follows the average.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub adaptive: bool,
}

/// A RED queue's AQM.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    curve: Curve,
    ageing: IdleAgeing,
    average: Average,
    spacer: Spacer,
    /// None: `max_p` stays.
    adaptive: Option<AdaptiveClock>,
}

impl Red {
    /// A RED for a port that drains at `rate_bit_s`.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &RedConfig, rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        let RedConfig { min_th, max_th, max_p, w_q, mean_packet_bytes, spacing, .. } = *config;
        let curve = Curve { min_th, max_th, max_p };
        curve.check()?;
        check_w_q(w_q)?;
        check_mean_packet(mean_packet_bytes)?;
        Ok(Self {
            config: *config,
            curve,
            ageing: IdleAgeing::new(rate_bit_s, mean_packet_bytes),
            average: Average::new(w_q),
            spacer: Spacer::new(spacing),
            adaptive: config.adaptive.then(AdaptiveClock::new),
        })
    }

    /// Makes the updates of `max_p` that were due by `now`.
    #[cold]
    fn adapt(&mut self, now: Time) {
        let Some(adaptive) = &mut self.adaptive else { return };
        while let Some(at) = adaptive.due(now) {
            let average = self.average.at(at, self.ageing);
            let Curve { min_th, max_th, max_p } = self.curve;
            match adaptive::step(max_p, average, min_th, max_th) {
                Some(next) => self.curve.max_p = next,
                // An average that is below the band stays there.
                None if average < min_th => adaptive.skip(now),
                None => {}
            }
        }
    }
}

impl ActiveQueueManagement for Red {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
        let (queue, size) = match self.config.unit {
            Unit::Packets => (f64::from(arrival.backlog.packets), 1.0),
            Unit::Bytes => {
                let mean = f64::from(self.config.mean_packet_bytes);
                (arrival.backlog.bytes as f64, f64::from(arrival.bytes) / mean)
            }
        };
        if self.adaptive.is_some() {
            self.adapt(arrival.now);
        }
        let average = self.average.sample(arrival.now, queue, self.ageing);
        match self.curve.zone(average, self.config.gentle) {
            CurveZone::Below => {
                self.spacer.below();
                Verdict::Pass
            }
            CurveZone::Band(p) if self.spacer.signals(p, size, arrival.backlog.packets, random) => {
                Verdict::Signal(Cause::Early)
            }
            CurveZone::Band(_) => Verdict::Pass,
            // ns-2 spares an arrival that finds fewer than two packets queued.
            CurveZone::Above
                if self.config.spacing == Spacing::Ns2 && arrival.backlog.packets < 2 =>
            {
                self.spacer.below();
                Verdict::Pass
            }
            CurveZone::Above => {
                self.spacer.above();
                Verdict::Refuse(Cause::Forced)
            }
        }
    }

    fn on_enqueue(&mut self, _bytes: u32, _precedence: u8) {
        self.average.busy();
    }

    fn on_idle(&mut self, at: Time) {
        self.average.idle(at);
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }
}

#[cfg(test)]
#[path = "red_tests.rs"]
mod tests;
