//! Pace and window.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.6.

use super::cycle::MIN_WINDOW;
use super::{Bbr3, Mode};
use crate::tcp::congestion::Window;
use crate::tcp::rate_sample::RateSample;
use trunkline_units::Span;

/// Section 5.6.2: 1 % below.
const MARGIN: f64 = 0.99;
/// Section 5.6.3: bytes at once.
const MAX_QUANTUM_BYTES: f64 = 65_536.0;
const US: f64 = 1e6;

impl Bbr3 {
    /// Section 5.6.2, InitPacingRate: a window [segments] in a round trip [us].
    pub(super) fn set_first_pace(&mut self, cwnd: f64, rtt: Span) {
        self.timed = true;
        let (gain, _) = Mode::Startup.gains();
        self.pace = gain * cwnd * self.mss * US / rtt.max(1) as f64;
    }

    pub(super) fn set_pace(&mut self, cwnd: f64, now: &RateSample) {
        if let Some(srtt) = now.srtt.filter(|_| !self.timed) {
            self.set_first_pace(cwnd, srtt);
        }
        self.set_pace_with_gain(self.mode.gains().0);
    }

    pub(super) fn set_pace_with_gain(&mut self, gain: f64) {
        let pace = gain * self.rate * self.mss * US * MARGIN;
        if self.full.reached || pace > self.pace {
            self.pace = pace;
        }
    }

    /// Rate times least round trip times gain [segments] (BDPMultiple).
    pub(super) fn product(&self, rate: f64, gain: f64) -> f64 {
        self.trip.least.map_or(self.initial_window, |least| gain * rate * least as f64)
    }

    /// QuantizationBudget: room for what is sent at once.
    fn with_quanta(&self, inflight: f64) -> f64 {
        let quantum = (self.pace / 1_000.0).min(MAX_QUANTUM_BYTES) / self.mss;
        let more = if self.mode == Mode::Up { 2.0 } else { 0.0 };
        inflight.max(3.0 * quantum.max(2.0)) + more // six: above MIN_WINDOW
    }

    pub(super) fn inflight(&self, rate: f64, gain: f64) -> f64 {
        self.with_quanta(self.product(rate, gain))
    }

    /// Sections 5.6.4.2, 5.6.4.6.
    pub(super) fn set_window(&mut self, window: &mut Window, now: &RateSample) {
        let (_, gain) = self.mode.gains();
        let most = self.with_quanta(self.product(self.rate, gain) + self.extra.get());
        let acked = f64::from(now.acked);
        let mut cwnd = window.cwnd;
        if self.full.reached {
            cwnd = (cwnd + acked).min(most);
        } else if cwnd < most || (now.total as f64) < self.initial_window {
            cwnd += acked;
        }
        cwnd = cwnd.max(MIN_WINDOW);
        if self.mode == Mode::ProbeTrip {
            cwnd = cwnd.min(self.probe_window());
        }
        window.cwnd = cwnd.min(self.bound()).min(f64::from(window.cap));
    }

    /// Section 5.6.4.7.
    fn bound(&self) -> f64 {
        let long = match self.mode {
            Mode::Cruise | Mode::ProbeTrip => self.inflight_with_headroom(),
            _ if self.mode.is_in_cycle() => self.bounds.inflight_long,
            _ => f64::INFINITY,
        };
        long.min(self.bounds.inflight_short).max(MIN_WINDOW)
    }

    /// Section 5.6.4.4: keeps the window for when a recovery, or a probe of the round trip, is over.
    pub(super) fn save_window(&mut self, cwnd: f64) {
        let calm = !self.was_repairing && self.mode != Mode::ProbeTrip;
        self.prior_cwnd = if calm { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    pub(super) fn restore_window_after_repair(&mut self, window: &mut Window, now: &RateSample) {
        let repairing = now.recovering || now.timed_out;
        if self.was_repairing && !repairing {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        self.was_repairing = repairing;
    }
}
