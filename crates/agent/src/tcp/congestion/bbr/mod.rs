//! BBR version 1: it measures the rate and the minimum round trip of the path in turn, and sends at that
//! rate with two of their products outstanding.
//!
//! Source: Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00; Linux 6.1,
//! `net/ipv4/tcp_bbr.c`, in the kernel's integers under both stacks: gains in 256ths, rates in segments a
//! microsecond times 2^24. `model.rs` has the filters, `policer.rs` the rate of a policer,
//! `window.rs` the window.
//! Differs: the phase at which its cycle begins is drawn from the flow's random stream.

pub(super) mod model;
mod policer;
mod window;

use super::{Congestion, ReductionCause, SteeringDecision, Window};
use crate::tcp::rate_sample::RateSample;
use crate::tcp::TcpConfig;
use model::{Aggregation, WindowedMaximum};
use policer::PolicerDetector;
use serde::{Deserialize, Serialize};
use trunkline_units::{RandomStream, Span, Time};

/// BBR has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BbrConfig {}

/// A rate of one segment a microsecond.
const RATE_UNIT: u64 = 1 << 24;
/// A gain of one.
const GAIN_UNIT: u64 = 256;
/// 2 / ln 2, and its inverse, which drains the queue of start-up.
const STARTUP_GAIN: u64 = 739;
const DRAIN_GAIN: u64 = 88;
const WINDOW_GAIN: u64 = 512;
const CYCLE: [u64; 8] =
    [320, 192, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT];
/// The cycle begins in any phase but the second.
const RANDOM_PHASES: u64 = 7;
/// Rounds in which a rate counts.
const RATE_ROUNDS: u64 = 10;
const MIN_WINDOW: u64 = 4;
const FIRST_WINDOW: u64 = 10;
/// One segment at once below 1.2 Mbit/s [B/s], else two at least; at most 65535 B with the largest headers.
const SLOW_RATE: u64 = 150_000;
const MAX_BURST: u64 = 65_215;
/// Start-up is over after three rounds with less than a quarter more.
const FULL_GROWTH: u64 = 320;
const FULL_ROUNDS: u32 = 3;
/// The least round trip is measured anew after 10 s, for 200 ms.
const TICK_NS: Span = 4_000; // [us]
const PROBE_INTERVAL: u64 = 2_500; // ticks
const PROBE_DURATION: u64 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BbrMode {
    Startup,
    Drain,
    ProbeRate,
    ProbeTrip,
}

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Bbr {
    mss: u64,
    mode: BbrMode,
    best: WindowedMaximum<u64>,
    policer: PolicerDetector,
    aggregation: Aggregation,
    round: u64,
    round_start: bool,
    next_round: u64, // the round ends when a segment sent after this delivery is acknowledged
    min_rtt: Option<Span>, // [us]
    min_rtt_tick: u64,
    full_rate: u64,
    full_rounds: u32,
    phase: usize,
    phase_at: Time, // [us]
    pacing_gain: u64,
    window_gain: u64,
    rate: u64, // pace [B/s]
    timed: bool,
    prior_cwnd: u64,
    idle_restart: bool,   // the application sends after a pause
    was_recovering: bool, // after the last acknowledgement
    was_timed_out: bool,
    conserving: bool,
    probe_end: Option<u64>, // tick
    probe_round: bool,      // a round has passed since the window was small
}

impl Bbr {
    pub(super) fn new(_config: &BbrConfig, tcp: &TcpConfig) -> Self {
        Self {
            mss: u64::from(tcp.mss_bytes.max(1)),
            mode: BbrMode::Startup,
            best: WindowedMaximum::default(),
            policer: PolicerDetector::default(),
            aggregation: Aggregation::default(),
            round: 0,
            round_start: false,
            next_round: 0,
            min_rtt: None,
            min_rtt_tick: 0,
            full_rate: 0,
            full_rounds: 0,
            phase: 0,
            phase_at: 0,
            pacing_gain: STARTUP_GAIN,
            window_gain: STARTUP_GAIN,
            rate: 0,
            timed: false,
            prior_cwnd: 0,
            idle_restart: false,
            was_recovering: false,
            was_timed_out: false,
            conserving: false,
            probe_end: None,
            probe_round: false,
        }
    }

    fn filled(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    /// Rate of the path, or of the policer found.
    fn bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or(self.best.get())
    }

    /// Pace for a rate and gain, 1 % below [B/s].
    fn pace(&self, rate: u64, gain: u64) -> u64 {
        let scaled = (u128::from(rate * self.mss) * u128::from(gain)) >> 8;
        ((scaled * (1_000_000 / 100 * 99)) >> 24) as u64
    }

    /// Segments that a device with offload is given at once.
    fn burst(&self) -> u64 {
        let min_segments = if self.rate < SLOW_RATE { 1 } else { 2 };
        ((self.rate >> 10).min(MAX_BURST) / self.mss).max(min_segments).min(127)
    }

    /// Rate times least round trip times gain [segments].
    fn product(&self, rate: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return FIRST_WINDOW };
        let scaled = (u128::from(rate) * u128::from(min_rtt) * u128::from(gain)) >> 8;
        scaled.div_ceil(u128::from(RATE_UNIT)) as u64
    }

    /// Room for bursts at sender and receiver.
    fn with_bursts(&self, window: u64) -> u64 {
        let even = (window + 3 * self.burst() + 1) & !1;
        even + if self.mode == BbrMode::ProbeRate && self.phase == 0 { 2 } else { 0 }
    }

    fn inflight(&self, rate: u64, gain: u64) -> u64 {
        self.with_bursts(self.product(rate, gain))
    }

    /// Segments that will be in the network when the next one is sent.
    fn in_network(&self, in_flight: u32, now: &RateSample) -> u64 {
        let wait = now.next_at.saturating_sub(now.now / 1_000);
        let leaving = (self.bandwidth() * wait) >> 24;
        let burst = if self.pacing_gain > GAIN_UNIT { self.burst() } else { 0 };
        (u64::from(in_flight) + burst).saturating_sub(leaving)
    }

    fn update_rate(&mut self, now: &RateSample) {
        self.round_start = false;
        let Some((delivered, interval)) = now.delivered else { return };
        if now.prior_delivered >= self.next_round {
            self.next_round = now.total;
            self.round += 1;
            self.round_start = true;
            self.conserving = false;
        }
        let probing = self.mode == BbrMode::ProbeRate;
        if self.policer.sample(now, self.round_start, probing, self.mss) {
            self.probe_rate_anew();
        }
        let rate = delivered * RATE_UNIT / interval;
        if !now.limited || rate >= self.best.get() {
            self.best.update(self.round, rate, RATE_ROUNDS);
        }
    }

    fn probe_rate_anew(&mut self) {
        self.mode = BbrMode::ProbeRate;
        self.phase = usize::MAX; // drawn when the acknowledgement is dealt with
    }

    fn draw_phase(&mut self, now: &RateSample, random: &mut RandomStream) {
        if self.phase == usize::MAX {
            self.phase = 7 - random.below(RANDOM_PHASES) as usize;
            self.next_phase(now);
        }
    }

    fn next_phase(&mut self, now: &RateSample) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = now.delivered_at;
    }

    fn update_phase(&mut self, now: &RateSample) {
        if self.mode != BbrMode::ProbeRate || self.phase == usize::MAX {
            return;
        }
        let long = now.delivered_at - self.phase_at > self.min_rtt.unwrap_or(Span::MAX);
        let over = if self.pacing_gain == GAIN_UNIT {
            long
        } else {
            let in_network = self.in_network(now.prior_in_flight, now);
            let best = self.best.get();
            if self.pacing_gain > GAIN_UNIT {
                long && (now.lost > 0 || in_network >= self.inflight(best, self.pacing_gain))
            } else {
                long || in_network <= self.inflight(best, GAIN_UNIT)
            }
        };
        if over {
            self.next_phase(now);
        }
    }

    fn check_filled(&mut self, now: &RateSample) {
        if self.filled() || !self.round_start || now.limited {
            return;
        }
        if self.best.get() >= (self.full_rate * FULL_GROWTH) >> 8 {
            (self.full_rate, self.full_rounds) = (self.best.get(), 0);
        } else {
            self.full_rounds += 1;
        }
    }

    fn check_drained(&mut self, window: &mut Window, now: &RateSample) {
        let fits = self.inflight(self.best.get(), GAIN_UNIT);
        if self.mode == BbrMode::Startup && self.filled() {
            self.mode = BbrMode::Drain;
            window.ssthresh = fits as f64;
        }
        if self.mode == BbrMode::Drain && self.in_network(now.in_flight, now) <= fits {
            self.probe_rate_anew();
        }
    }

    /// True: the rate is held low for now.
    fn update_trip(&mut self, window: &mut Window, now: &RateSample) -> bool {
        let tick = now.now / 1_000 / TICK_NS;
        let expired = tick > self.min_rtt_tick + PROBE_INTERVAL;
        if let Some(rtt) = now.rtt {
            if expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt) {
                (self.min_rtt, self.min_rtt_tick) = (Some(rtt), tick);
            }
        }
        if expired && !self.idle_restart && self.mode != BbrMode::ProbeTrip {
            self.save(window);
            self.mode = BbrMode::ProbeTrip;
            self.probe_end = None;
        }
        self.idle_restart &= now.acked == 0;
        if self.mode != BbrMode::ProbeTrip {
            return false;
        }
        match self.probe_end {
            None if u64::from(now.in_flight) <= MIN_WINDOW => {
                self.probe_end = Some(tick + PROBE_DURATION);
                self.probe_round = false;
                self.next_round = now.total;
            }
            Some(end) => {
                self.probe_round |= self.round_start;
                if self.probe_round && tick > end {
                    self.end_trip_probe(window, tick);
                }
            }
            None => {}
        }
        true
    }

    fn end_trip_probe(&mut self, window: &mut Window, tick: u64) {
        self.min_rtt_tick = tick;
        window.cwnd = window.cwnd.max(self.prior_cwnd as f64);
        if self.filled() {
            self.probe_rate_anew();
        } else {
            self.mode = BbrMode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            BbrMode::Startup => (STARTUP_GAIN, STARTUP_GAIN),
            BbrMode::Drain => (DRAIN_GAIN, STARTUP_GAIN),
            BbrMode::ProbeRate if self.policer.rate().is_some() => (GAIN_UNIT, WINDOW_GAIN),
            BbrMode::ProbeRate => (CYCLE[self.phase], WINDOW_GAIN),
            BbrMode::ProbeTrip => (GAIN_UNIT, GAIN_UNIT),
        };
    }

    fn set_pace(&mut self, window: &Window, now: &RateSample) {
        let target_pace = self.pace(self.bandwidth(), self.pacing_gain);
        if let Some(srtt) = now.srtt.filter(|_| !self.timed) {
            self.first_pace(window, srtt);
        }
        if self.filled() || target_pace > self.rate {
            self.rate = target_pace;
        }
    }

    fn first_pace(&mut self, window: &Window, rtt: Span) {
        self.timed = true;
        self.rate = self.pace(window.cwnd as u64 * RATE_UNIT / rtt.max(1), STARTUP_GAIN);
    }
}

impl Congestion for Bbr {
    const STEERS: bool = true;

    fn on_new_ack(&mut self, _window: &mut Window, _view: &super::ConnectionView) {}

    /// A loss reduces nothing; the samples of the rate show its meaning.
    fn reduce_window(&mut self, window: &Window, _size: f64, cause: ReductionCause) -> f64 {
        self.save(window);
        if cause == ReductionCause::Timeout {
            self.was_timed_out = true;
            self.was_recovering = false;
            self.full_rate = 0;
            self.policer.timed_out();
        }
        window.ssthresh
    }

    fn undo_reduction(&mut self, _window: &mut Window, _prior: f64) {
        if !self.filled() {
            self.full_rounds = 0;
        }
        self.full_rate = 0;
        self.policer.forget();
    }

    fn on_established(&mut self, window: &Window, rtt: Option<Span>, now: Time) -> u64 {
        (self.min_rtt, self.min_rtt_tick) = (rtt, now / 1_000 / TICK_NS);
        if let Some(rtt) = rtt {
            self.first_pace(window, rtt);
        }
        self.rate
    }

    /// `bbr_cwnd_event`.
    fn on_restart(&mut self, window: &mut Window, now: Time) -> u64 {
        self.idle_restart = true;
        self.aggregation.restart(now / 1_000);
        let tick = now / 1_000 / TICK_NS;
        match self.mode {
            BbrMode::ProbeRate => {
                let pace = self.pace(self.bandwidth(), GAIN_UNIT);
                if self.filled() || pace > self.rate {
                    self.rate = pace;
                }
            }
            BbrMode::ProbeTrip if self.probe_end.is_some_and(|end| tick > end) => {
                self.end_trip_probe(window, tick);
            }
            _ => {}
        }
        self.rate
    }

    fn steer(
        &mut self,
        window: &mut Window,
        now: &RateSample,
        random: &mut RandomStream,
    ) -> SteeringDecision {
        self.update_rate(now);
        self.draw_phase(now, random);
        self.aggregation.update(now, self.round_start, self.bandwidth(), window.cwnd as u64);
        self.update_phase(now);
        self.check_filled(now);
        self.check_drained(window, now);
        let limited = self.update_trip(window, now);
        self.draw_phase(now, random);
        self.update_gains();
        self.set_pace(window, now);
        self.set_window(window, now);
        SteeringDecision { rate: self.rate, limited }
    }
}

#[cfg(test)]
mod tests;
