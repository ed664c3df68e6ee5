//! BBR version 3: rate and round trip of the path as version 1, with bounds on both that losses and marks
//! set, and a cycle of four phases that probes for more.
//!
//! Source: draft-ietf-ccwg-bbr-06 (July 2026), in segments and microseconds as real numbers, under both
//! stacks. `cycle.rs` has the phases (section 5.3.3), `trip.rs` the least round trip and its probe (5.3.4),
//! `losses.rs` the bounds (5.5.10, 5.5.11), `marks.rs` ECN, `window.rs` pace and window (5.6).
//! Differs: the filter of the rate keeps its old maximum while a cycle has no sample, as Google's v3 does.

mod cycle;
mod losses;
mod marks;
mod trip;
mod window;

use super::bbr::model::WindowedMaximum;
use super::{Congestion, ReductionCause, SteeringDecision, Window};
use crate::tcp::rate_sample::{LostSegment, RateSample};
use crate::tcp::TcpConfig;
use cycle::ProbeCycle;
use losses::{LatestDelivery, LossBounds, SavedState};
use marks::Marks;
use serde::{Deserialize, Serialize};
use trip::LeastTrip;
use trunkline_units::{RandomStream, Span, Time};

/// BBR version 3 has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bbr3Config {}

/// Section 5.3.1.2: start-up is over after three rounds with less than a quarter more.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Section 5.3.1.3: or with this many separate losses in a round (BBRStartupFullLossCnt).
const STARTUP_LOSS_RANGES: u32 = 6;
/// Section 5.3.2: rounds after which draining ends whatever is in the network.
const DRAIN_ROUNDS: u64 = 3;

/// State of the flow (section 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeTrip,
}

impl Mode {
    /// Pace and window, in multiples of what the path holds (the table of section 5.6.1).
    fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (2.77, 2.0),
            Self::Drain => (0.5, 2.0),
            Self::Down => (0.9, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
            Self::ProbeTrip => (1.0, 0.5),
        }
    }

    fn is_in_cycle(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    fn probes_rate(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// Round trips, counted by deliveries (section 5.5.1).
#[derive(Clone, Debug, Default)]
struct Rounds {
    count: u64,
    starts: bool,
    end: u64, // it ends when a segment sent after this delivery is delivered
}

/// Whether the rate of the path is reached (section 5.3.1.2).
#[derive(Clone, Debug, Default)]
struct FullPipe {
    reached: bool, // ever
    now: bool,
    rate: f64,
    rounds: u32,
}

impl FullPipe {
    fn reset(&mut self, rate: f64) {
        *self = Self { reached: self.reached, rate, ..Self::default() };
    }
}

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Bbr3 {
    mss: f64,
    initial_window: f64,
    sack: bool,
    mode: Mode,
    rounds: Rounds,
    delivered: u64,     // since the start
    now: Time,          // of the last acknowledgement [us]
    idle_restart: bool, // the application sends after a pause (section 5.4.1)
    drain_start: u64,
    full: FullPipe,
    best: [f64; 2], // largest rates of the last cycle and of this [segments/us]
    rate: f64,      // BBR.bw
    trip: LeastTrip,
    cycle: ProbeCycle,
    latest: LatestDelivery,
    bounds: LossBounds,
    saved: SavedState,
    marks: Marks,
    extra: WindowedMaximum<f64>, // segments acknowledged beyond what the rate explains (section 5.5.9)
    extra_since: Time,           // [us]
    extra_acked: f64,
    pace: f64, // [B/s]
    timed: bool,
    prior_cwnd: f64,
    was_repairing: bool, // after the last acknowledgement
}

impl Bbr3 {
    pub(super) fn new(_config: &Bbr3Config, tcp: &TcpConfig) -> Self {
        Self {
            mss: f64::from(tcp.mss_bytes.max(1)),
            initial_window: tcp.initial_window,
            sack: tcp.uses_sack(),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            delivered: 0,
            now: 0,
            idle_restart: false,
            drain_start: 0,
            full: FullPipe::default(),
            best: [0.0; 2],
            rate: 0.0,
            trip: LeastTrip::default(),
            cycle: ProbeCycle::default(),
            latest: LatestDelivery::default(),
            bounds: LossBounds::default(),
            saved: SavedState::default(),
            marks: Marks::default(),
            extra: WindowedMaximum::default(),
            extra_since: 0,
            extra_acked: 0.0,
            pace: 0.0,
            timed: false,
            prior_cwnd: 0.0,
            was_repairing: false,
        }
    }

    fn max_rate(&self) -> f64 {
        self.best[0].max(self.best[1])
    }

    /// Section 5.5.1.
    fn start_round(&mut self) {
        self.rounds.end = self.delivered;
    }

    /// Sections 5.5.1 and 5.5.5.
    fn update_max_rate(&mut self, now: &RateSample) {
        self.rounds.starts = now.acked > 0 && now.prior_delivered >= self.rounds.end;
        if self.rounds.starts {
            self.start_round();
            self.rounds.count += 1;
            self.cycle.rounds_since_up += 1;
        }
        let rate = rate_of(now);
        if rate >= self.max_rate() || !now.limited {
            self.best[1] = self.best[1].max(rate);
        }
    }

    /// Section 5.5.6, one round trip after the probe.
    fn advance_max_rate(&mut self) {
        if self.best[1] > 0.0 {
            self.best = [self.best[1], 0.0];
        }
    }

    /// Section 5.3.1.2.
    fn check_full_pipe(&mut self, now: &RateSample) {
        if self.full.now || !self.rounds.starts || now.limited {
            return;
        }
        let rate = rate_of(now);
        if rate >= self.full.rate * FULL_GROWTH {
            return self.full.reset(rate);
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_ROUNDS;
        self.full.reached |= self.full.now;
    }

    /// Sections 5.3.1.3 and 5.3.2.
    fn check_startup_done(&mut self, now: &RateSample) {
        if self.mode != Mode::Startup {
            return;
        }
        let too_many_lost = now.recovering
            && if self.sack {
                self.latest.loss_round_ended
                    && self.latest.lost_ranges >= STARTUP_LOSS_RANGES
                    && losses::is_too_high(now.lost_since, now.sent_in_flight)
            } else {
                self.latest.lost_ranges > 0
            };
        if too_many_lost || self.marks.fill_startup() {
            self.saved.mode = Some(Mode::Startup);
            self.full.reached = true;
            self.bounds.inflight_long = self.product(self.rate, 1.0).max(self.latest.inflight);
        }
        if self.full.reached {
            self.mode = Mode::Drain;
            self.drain_start = self.rounds.count;
        }
    }

    /// Section 5.3.2.
    fn check_drained(&mut self, now: &RateSample) {
        let fits = f64::from(now.in_flight) <= self.inflight(self.rate, 1.0);
        let late = self.rounds.count > self.drain_start + DRAIN_ROUNDS;
        if self.mode == Mode::Drain && (fits || late) {
            self.start_down(now.now / 1_000);
        }
    }

    /// Section 5.5.9.
    fn update_aggregation(&mut self, now: &RateSample, cwnd: f64) {
        let at = now.now / 1_000;
        let mut expected = self.rate * (at - self.extra_since) as f64;
        if self.extra_acked <= expected {
            (self.extra_acked, self.extra_since, expected) = (0.0, at, 0.0);
        }
        self.extra_acked += f64::from(now.acked);
        let extra = (self.extra_acked - expected).min(cwnd);
        let rounds = if self.full.reached { 10 } else { 1 };
        self.extra.update(self.rounds.count, extra, rounds);
    }
}

/// Rate of a sample [segments/us]; 0: none.
fn rate_of(now: &RateSample) -> f64 {
    now.delivered.map_or(0.0, |(delivered, interval)| delivered as f64 / interval.max(1) as f64)
}

impl Congestion for Bbr3 {
    const STEERS: bool = true;

    fn on_new_ack(&mut self, _window: &mut Window, _view: &super::ConnectionView) {}

    /// Section 5.6.4.4: the model answers, not the window.
    fn reduce_window(&mut self, window: &Window, _size: f64, cause: ReductionCause) -> f64 {
        if cause != ReductionCause::Mark {
            self.save_window(window.cwnd);
            self.save_state();
            self.was_repairing = true;
        }
        window.ssthresh
    }

    fn undo_reduction(&mut self, window: &mut Window, _prior: f64) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.restore_state();
    }

    fn on_established(&mut self, window: &Window, rtt: Option<Span>, now: Time) -> u64 {
        let now = now / 1_000;
        self.trip.start(rtt, now);
        self.extra_since = now;
        if let Some(rtt) = rtt {
            self.set_first_pace(window.cwnd, rtt);
        }
        self.pace as u64
    }

    /// Section 5.4.1.
    fn on_restart(&mut self, window: &mut Window, now: Time) -> u64 {
        let at = now / 1_000;
        (self.idle_restart, self.extra_since) = (true, at);
        if self.mode.is_in_cycle() {
            self.set_pace_with_gain(1.0);
        } else if self.mode == Mode::ProbeTrip {
            self.check_trip_probed(window, at);
        }
        self.pace as u64
    }

    fn on_lost(&mut self, window: &mut Window, segment: &LostSegment, delivered: u64) {
        self.delivered = delivered;
        self.handle_loss(window, segment);
    }

    /// Section 5.2.3.
    fn steer(
        &mut self,
        window: &mut Window,
        now: &RateSample,
        random: &mut RandomStream,
    ) -> SteeringDecision {
        (self.delivered, self.now) = (now.total, now.now / 1_000);
        self.cycle.draw_wait(random);
        self.restore_window_after_repair(window, now);
        self.latest.update(now);
        self.update_max_rate(now);
        self.marks.update(now, self.rounds.starts);
        self.adapt_bounds(window.cwnd);
        self.update_aggregation(now, window.cwnd);
        self.check_full_pipe(now);
        self.check_startup_done(now);
        self.check_drained(now);
        self.update_cycle(window.cwnd, now);
        let limited = self.update_trip(window, now);
        self.latest.advance(now);
        self.cycle.draw_wait(random);
        self.rate = self.max_rate().min(self.bounds.rate_short);
        self.set_pace(window.cwnd, now);
        self.set_window(window, now);
        SteeringDecision { rate: self.pace as u64, limited }
    }
}

#[cfg(test)]
mod tests;
