//! Bounds on rate and window that losses set, for the long term while the flow probes, for the short term
//! at other times.
//!
//! Source: draft-ietf-ccwg-bbr-06 sections 5.5.10 and 5.5.11.

use super::{rate_of, Bbr3, Mode};
use crate::tcp::congestion::Window;
use crate::tcp::rate_sample::{LostSegment, RateSample};

/// Section 2.8: share of segments lost in a round trip that a probe may cost (BBR.LossThresh).
const MAX_LOSS_SHARE: f64 = 0.02;
/// Section 2.8: what a round trip with a loss leaves at least (BBR.Beta).
const BETA: f64 = 0.7;

/// Whether so many were lost since a segment was sent with so many in the network.
pub(super) fn is_too_high(lost: u64, in_flight: u32) -> bool {
    lost as f64 > f64::from(in_flight) * MAX_LOSS_SHARE
}

/// Deliveries of the last round trip, and whether something was lost in it.
#[derive(Clone, Debug, Default)]
pub(super) struct LatestDelivery {
    pub rate: f64,      // [segments/us]
    pub inflight: f64,  // [segments]
    pub round_end: u64, // BBR.loss_round_delivered
    pub loss_round_ended: bool,
    has_loss: bool,
    pub lost_ranges: u32,
    last_lost: u32,
}

impl LatestDelivery {
    pub fn update(&mut self, now: &RateSample) {
        self.loss_round_ended = false;
        if now.acked == 0 {
            return;
        }
        self.rate = self.rate.max(rate_of(now));
        self.inflight = self.inflight.max((now.total - now.prior_delivered) as f64);
        if now.prior_delivered >= self.round_end {
            self.round_end = now.total;
            self.loss_round_ended = true;
        }
    }

    /// Near the end of an acknowledgement: the next round trip begins with what this one showed.
    pub fn advance(&mut self, now: &RateSample) {
        if self.loss_round_ended {
            self.rate = rate_of(now);
            self.inflight = (now.total - now.prior_delivered) as f64;
            self.lost_ranges = 0;
        }
    }

    /// ResetCongestionSignals.
    pub fn reset(&mut self) {
        (self.has_loss, self.rate, self.inflight) = (false, 0.0, 0.0);
    }
}

/// Bounds; infinite where there is none.
#[derive(Clone, Debug)]
pub(super) struct LossBounds {
    pub rate_short: f64,     // BBR.bw_shortterm
    pub inflight_short: f64, // BBR.inflight_shortterm
    pub inflight_long: f64,  // BBR.inflight_longterm
}

impl Default for LossBounds {
    fn default() -> Self {
        let none = f64::INFINITY;
        Self { rate_short: none, inflight_short: none, inflight_long: none }
    }
}

impl LossBounds {
    pub fn reset_short_term(&mut self) {
        (self.rate_short, self.inflight_short) = (f64::INFINITY, f64::INFINITY);
    }
}

/// State from before a loss, for when it turns out not to have been one (section 2.15).
#[derive(Clone, Debug, Default)]
pub(super) struct SavedState {
    pub mode: Option<Mode>,
    bounds: LossBounds,
}

impl Bbr3 {
    pub(super) fn save_state(&mut self) {
        self.saved = SavedState { mode: None, bounds: self.bounds.clone() };
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn restore_state(&mut self) {
        self.latest.has_loss = false;
        self.full.reset(0.0);
        let (bounds, saved) = (&mut self.bounds, &self.saved.bounds);
        bounds.rate_short = bounds.rate_short.max(saved.rate_short);
        bounds.inflight_short = bounds.inflight_short.max(saved.inflight_short);
        bounds.inflight_long = bounds.inflight_long.max(saved.inflight_long);
        match self.saved.mode.take() {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.full.reached = false;
                if self.mode != Mode::ProbeTrip {
                    self.mode = Mode::Startup;
                }
            }
            Some(Mode::Up) if !matches!(self.mode, Mode::Up | Mode::ProbeTrip) => {
                self.start_refill();
            }
            _ => {}
        }
    }

    /// HandleLostPacket.
    pub(super) fn handle_loss(&mut self, window: &Window, lost: &LostSegment) {
        let latest = &mut self.latest;
        if latest.lost_ranges == 0 || lost.seq != latest.last_lost + 1 {
            latest.lost_ranges += 1;
        }
        latest.last_lost = lost.seq;
        if !latest.has_loss {
            latest.round_end = self.delivered;
            self.save_window(window.cwnd);
            self.save_state();
        }
        self.latest.has_loss = true;
        if !self.cycle.is_probe_sample {
            return;
        }
        let too_many = is_too_high(lost.lost_since, lost.in_flight);
        if too_many || !self.sack {
            self.lower_bound(window.cwnd, inflight_at_loss(lost), lost.limited);
        }
    }

    /// HandleInflightTooHigh.
    pub(super) fn lower_bound(&mut self, cwnd: f64, inflight: f64, limited: bool) {
        self.cycle.too_high = true;
        self.cycle.is_probe_sample = false; // one answer to a probe
        if !limited {
            self.bounds.inflight_long = inflight.max(self.target_inflight(cwnd) * BETA);
        }
        if self.mode == Mode::Up {
            self.saved.mode = Some(Mode::Up);
            self.start_down(self.now);
        }
    }

    /// UpdateCongestionSignals, AdaptLowerBoundsFromCongestion: once a round trip with a loss or a mark.
    pub(super) fn adapt_bounds(&mut self, cwnd: f64) {
        if !self.latest.loss_round_ended {
            return;
        }
        let (lost, marked) = (self.latest.has_loss, self.marks.in_round);
        (self.latest.has_loss, self.marks.in_round) = (false, false);
        if self.mode.probes_rate() || !(lost || marked) {
            return;
        }
        let max_rate = self.max_rate();
        let (bounds, latest) = (&mut self.bounds, &self.latest);
        if bounds.inflight_short.is_infinite() {
            bounds.inflight_short = cwnd;
        }
        let by_marks = bounds.inflight_short * self.marks.share_left();
        if lost {
            if bounds.rate_short.is_infinite() {
                bounds.rate_short = max_rate;
            }
            bounds.rate_short = latest.rate.max(BETA * bounds.rate_short);
            bounds.inflight_short = latest.inflight.max(BETA * bounds.inflight_short);
        }
        if marked {
            bounds.inflight_short = bounds.inflight_short.min(by_marks);
        }
    }
}

/// InflightAtLoss: the segments in the network at which losses crossed their bound.
fn inflight_at_loss(lost: &LostSegment) -> f64 {
    let before = f64::from(lost.in_flight) - 1.0;
    let lost_before = lost.lost_since as f64 - 1.0;
    before + (MAX_LOSS_SHARE * before - lost_before) / (1.0 - MAX_LOSS_SHARE)
}
