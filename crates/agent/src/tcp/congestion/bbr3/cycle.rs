//! The cycle of phases that probes for more of the path: down, cruise, refill, up.
//!
//! Source: draft-ietf-ccwg-bbr-06 section 5.3.3.

use super::{losses, rate_of, Bbr3, Mode};
use crate::tcp::rate_sample::RateSample;
use trunkline_units::{RandomStream, Time, SECOND};

/// Section 5.3.3.8: the next probe comes after two to three seconds, ...
const PROBE_WAIT_US: u64 = 2 * SECOND / 1_000;
/// ... or as many rounds as Reno needs to win back a window, 63 at most.
const RENO_ROUNDS: f64 = 63.0;
/// Section 2.8: part of the bound that is left to others (BBR.Headroom).
const HEADROOM: f64 = 0.15;
/// Section 5.6.4.3.
pub(super) const MIN_WINDOW: f64 = 4.0;
const MAX_UP_ROUNDS: u32 = 30;

/// Part of a probe that acknowledgements answer to (section 2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the cycle (section 2.14).
#[derive(Clone, Debug)]
pub(super) struct ProbeCycle {
    pub ack_phase: AckPhase,
    pub is_probe_sample: bool,
    pub too_high: bool,  // the last probe lost too much
    precautionary: bool, // it stopped at the bound of the one before
    pub rounds_since_up: u64,
    pub wait: Option<u64>, // [us]; none: to be drawn
    started_at: Time,      // [us]
    up_acked: f64,
    up_acked_per_segment: f64,
    up_rounds: u32,
}

impl Default for ProbeCycle {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            too_high: false,
            precautionary: false,
            rounds_since_up: 0,
            wait: Some(0),
            started_at: 0,
            up_acked: 0.0,
            up_acked_per_segment: f64::INFINITY,
            up_rounds: 0,
        }
    }
}

impl ProbeCycle {
    /// PickProbeWait.
    pub fn draw_wait(&mut self, random: &mut RandomStream) {
        if self.wait.is_none() {
            self.rounds_since_up = random.below(2);
            self.wait = Some(PROBE_WAIT_US + random.below(PROBE_WAIT_US / 2));
        }
    }
}

impl Bbr3 {
    /// `at` [us].
    pub(super) fn start_down(&mut self, at: Time) {
        self.latest.reset();
        self.marks.in_round = false;
        self.cycle.up_acked_per_segment = f64::INFINITY;
        (self.cycle.wait, self.cycle.rounds_since_up) = (None, 0);
        self.cycle.started_at = at;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.bounds.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0.0;
        self.cycle.precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, cwnd: f64, now: &RateSample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full.reset(rate_of(now));
        self.mode = Mode::Up;
        self.raise_slope(cwnd);
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, cwnd: f64, now: &RateSample) {
        let at = now.now / 1_000;
        if !self.full.reached || self.adapt_long_term(cwnd, now) {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(cwnd, at) => self.start_refill(),
            Mode::Down if self.is_time_to_cruise(now) => self.mode = Mode::Cruise,
            Mode::Refill if self.rounds.starts => {
                self.cycle.is_probe_sample = true;
                self.start_up(cwnd, now);
            }
            Mode::Up if self.is_time_to_go_down(cwnd, now) => {
                self.cycle.too_high = false;
                self.start_down(at);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, cwnd: f64, at: Time) -> bool {
        let waited = self.cycle.wait.is_some_and(|wait| at > self.cycle.started_at + wait);
        let rounds = self.target_inflight(cwnd).min(RENO_ROUNDS);
        waited || self.cycle.rounds_since_up as f64 >= rounds
    }

    fn is_time_to_cruise(&self, now: &RateSample) -> bool {
        let in_flight = f64::from(now.in_flight);
        in_flight <= self.inflight_with_headroom()
            && in_flight <= self.inflight(self.max_rate(), 1.0)
    }

    fn is_time_to_go_down(&mut self, cwnd: f64, now: &RateSample) -> bool {
        let bound = self.bounds.inflight_long;
        if self.cycle.too_high && f64::from(now.in_flight) >= bound {
            self.cycle.precautionary = true;
            return true;
        }
        if now.window_full && cwnd >= bound {
            self.full.reset(rate_of(now)); // the bound, not the path, limits the rate
            return false;
        }
        self.full.now
    }

    /// Segments that the path holds, unless congestion cut the window.
    pub(super) fn target_inflight(&self, cwnd: f64) -> f64 {
        self.product(self.rate, 1.0).min(cwnd)
    }

    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let bound = self.bounds.inflight_long;
        if bound.is_infinite() {
            return bound;
        }
        (bound - (HEADROOM * bound).max(1.0)).max(MIN_WINDOW)
    }

    fn raise_slope(&mut self, cwnd: f64) {
        let growth = 2f64.powi(self.cycle.up_rounds as i32);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.cycle.up_acked_per_segment = (cwnd / growth).max(1.0);
    }

    /// The bound rises by 1, 2, 4, ... segments in successive rounds.
    fn raise_bound(&mut self, cwnd: f64, now: &RateSample) {
        if !now.window_full || cwnd < self.bounds.inflight_long {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.up_acked += f64::from(now.acked);
        if cycle.up_acked >= cycle.up_acked_per_segment {
            let more = (cycle.up_acked / cycle.up_acked_per_segment).floor();
            cycle.up_acked -= more * cycle.up_acked_per_segment;
            self.bounds.inflight_long += more;
        }
        if self.rounds.starts {
            self.raise_slope(cwnd);
        }
    }

    /// AdaptLongTermModel. True: the next phase began.
    fn adapt_long_term(&mut self, cwnd: f64, now: &RateSample) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.rounds.starts {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rounds.starts {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.mode.is_in_cycle() && !now.limited {
                self.advance_max_rate();
            }
            if self.mode.is_in_cycle() && self.cycle.precautionary && !self.cycle.too_high {
                self.start_refill();
                return true;
            }
        }
        if self.cycle.is_probe_sample && self.marks.are_too_many(now) {
            self.lower_bound(cwnd, f64::from(now.sent_in_flight), now.limited);
            return true;
        }
        if losses::is_too_high(now.lost_since, now.sent_in_flight)
            || (now.lost_since > 0 && !self.sack)
            || self.bounds.inflight_long.is_infinite()
        {
            return false;
        }
        self.bounds.inflight_long = self.bounds.inflight_long.max(f64::from(now.sent_in_flight));
        if self.mode == Mode::Up {
            self.raise_bound(cwnd, now);
        }
        false
    }
}
