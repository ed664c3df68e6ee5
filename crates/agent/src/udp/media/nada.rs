//! NADA: the rate of a media stream from delay, losses and marks.
//!
//! Source: RFC 8698 sections 4.2 and 4.3, parameters of its figure 3. Both parts of the algorithm run at the
//! sender, on feedback by packet (section 5.3). The base delay is the least since the start. Average
//! intervals of loss are weighted as in RFC 5348 section 5.4 (section 4.2). Without reports the rate falls
//! by half in steps: RFC 8888 section 5 asks for a rapid reduction when several in a row are lost, and leaves
//! the rate where one is. Absent: the end of a stream without reports (RFC 8083 section 4.1).

use super::super::tfrc::INTERVAL_WEIGHTS;
use super::feedback::ArrivedMediaPacket;
use std::collections::VecDeque;
use trunkline_units::math::exp;
use trunkline_units::{Span, Time, SECOND};

const MILLISECOND: Span = SECOND / 1000;

/// Figure 3, times in ms: XREF, KAPPA, ETA, TAU.
const REFERENCE_SIGNAL: f64 = 10.0;
const SCALING: f64 = 0.5;
const CHANGE_WEIGHT: f64 = 2.0;
const LARGEST_ROUND_TRIP: f64 = 500.0;
/// DELTA, DFILT and QBOUND of the ramp-up [ms], and GAMMA_MAX.
const REPORT_INTERVAL: f64 = 100.0;
const FILTER_DELAY: f64 = 120.0;
const RAMP_UP_DELAY: f64 = 50.0;
const LARGEST_RAMP_UP: f64 = 0.5;
/// LOGWIN, and QEPS: a queue that counts as building up.
const WINDOW: Span = 500 * MILLISECOND;
const EMPTY_QUEUE: f64 = 10.0;
/// QTH, LAMBDA and MULTILOSS of the warping.
const WARPING_DELAY: f64 = 50.0;
const WARPING: f64 = 0.5;
const LOSS_MEMORY: f64 = 7.0;
/// DLOSS at PLRREF, DMARK at PMRREF, and ALPHA of both ratios.
const LOSS_PENALTY: f64 = 10.0;
const MARK_PENALTY: f64 = 2.0;
const REFERENCE_RATIO: f64 = 0.01;
const SMOOTHING: f64 = 0.1;
/// Section 5.1.1: taps of the minimum filter of delays.
const FILTER_TAPS: usize = 15;

fn milliseconds(span: Span) -> f64 {
    span as f64 / MILLISECOND as f64
}

/// A packet within the window.
#[derive(Clone, Copy, Debug)]
struct Observation {
    at: Time,
    bytes: u16,
    is_marked: bool,
    lost_before: u32,
    has_queue: bool,
}

/// The rate controller of one stream.
#[derive(Clone, Debug)]
pub struct Nada {
    min_rate: f64, // [bit/s]
    max_rate: f64,
    priority: f64,
    rate: f64,          // r_ref
    signal: f64,        // x_prev [ms]
    base: Option<Span>, // d_base
    delays: VecDeque<Span>,
    window: VecDeque<Observation>,
    next_number: u32,
    loss_ratio: f64, // p_loss, p_mark
    mark_ratio: f64,
    intervals: VecDeque<f64>, // packets from loss to loss, the current first
    updated_at: Time,
    heard_at: Option<Time>, // the last report, or reduction for want of one
}

impl Nada {
    /// A controller between two rates [bit/s] that starts with the smaller.
    #[must_use]
    pub fn new(min_bit_s: u64, max_bit_s: u64, priority: f64, start: Time) -> Self {
        Self {
            min_rate: min_bit_s as f64,
            max_rate: max_bit_s as f64,
            priority,
            rate: min_bit_s as f64,
            signal: 0.0,
            base: None,
            delays: VecDeque::with_capacity(FILTER_TAPS),
            window: VecDeque::new(),
            next_number: 0,
            loss_ratio: 0.0,
            mark_ratio: 0.0,
            intervals: VecDeque::new(),
            updated_at: start,
            heard_at: None,
        }
    }

    /// A report came in, with news or without.
    pub fn hear(&mut self, now: Time) {
        self.heard_at = Some(now);
    }

    /// Halves the rate where no report has come for `silence`: two in a row are lost.
    pub fn notice_silence(&mut self, silence: Span, now: Time) {
        if self.heard_at.is_some_and(|heard| now >= heard + silence) {
            self.heard_at = Some(now);
            self.rate = (self.rate / 2.0).max(self.min_rate);
        }
    }

    /// The reference rate r_ref [bit/s].
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The last aggregate congestion signal x_curr [ms].
    #[must_use]
    pub fn signal(&self) -> f64 {
        self.signal
    }

    /// Feedback came in: what it says arrived, in the order of arrival, and the round trip.
    pub fn on_feedback(&mut self, arrivals: &[ArrivedMediaPacket], round_trip: Span, now: Time) {
        let Some(last) = arrivals.last() else { return };
        for arrival in arrivals {
            self.observe(arrival);
        }
        let oldest = last.arrived_at.saturating_sub(WINDOW);
        while self.window.front().is_some_and(|one| one.at <= oldest) {
            self.window.pop_front();
        }
        let (lost, marked) = self.window.iter().fold((0, 0), |(lost, marked), one| {
            (lost + one.lost_before, marked + u32::from(one.is_marked))
        });
        let sent = f64::from(lost) + self.window.len() as f64;
        let smooth = |ratio: f64, count: u32| {
            SMOOTHING * f64::from(count) / sent + (1.0 - SMOOTHING) * ratio
        };
        self.loss_ratio = smooth(self.loss_ratio, lost);
        self.mark_ratio = smooth(self.mark_ratio, marked);
        let signal = self.aggregate_signal();
        let elapsed = milliseconds(now.saturating_sub(self.updated_at));
        self.updated_at = now;
        if lost == 0 && self.window.iter().all(|one| !one.has_queue) {
            self.ramp_up(milliseconds(round_trip));
        } else {
            self.update_gradually(signal, elapsed);
        }
        self.signal = signal;
        self.rate = self.rate.clamp(self.min_rate, self.max_rate);
    }

    fn observe(&mut self, arrival: &ArrivedMediaPacket) {
        let delay = arrival.arrived_at.saturating_sub(arrival.sent_at);
        self.base = Some(self.base.map_or(delay, |base| base.min(delay)));
        if self.delays.len() == FILTER_TAPS {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
        let lost_before = arrival.number.saturating_sub(self.next_number);
        if lost_before > 0 {
            self.intervals.push_front(0.0);
            self.intervals.truncate(INTERVAL_WEIGHTS.len() + 1);
        }
        if let Some(current) = self.intervals.front_mut() {
            *current += 1.0 + f64::from(lost_before);
        }
        if arrival.number < self.next_number {
            // It was late, not lost.
            if let Some(gap) = self.window.iter_mut().rev().find(|one| one.lost_before > 0) {
                gap.lost_before -= 1;
            }
        }
        self.next_number = self.next_number.max(arrival.number + 1);
        let has_queue = self.queuing_delay() >= EMPTY_QUEUE;
        self.window.push_back(Observation {
            at: arrival.arrived_at,
            bytes: arrival.bytes,
            is_marked: arrival.is_marked,
            lost_before,
            has_queue,
        });
    }

    /// d_queue [ms]: the least of the last delays over the base.
    fn queuing_delay(&self) -> f64 {
        let least = self.delays.iter().min().copied().unwrap_or(0);
        milliseconds(least - self.base.unwrap_or(least))
    }

    /// Whether the last loss is so near that a flow that fills queues probably shares the queue (section 4.2).
    fn has_recent_loss(&self) -> bool {
        let Some(&current) = self.intervals.front() else { return false };
        let closed = self.intervals.iter().skip(1);
        let (total, weights) =
            closed.zip(INTERVAL_WEIGHTS).fold((0.0, 0.0), |(total, weights), (one, weight)| {
                (total + weight * one, weights + weight)
            });
        // A first loss has no interval before it.
        weights == 0.0 || current < LOSS_MEMORY * total / weights
    }

    /// x_curr [ms], equations (1) and (2).
    fn aggregate_signal(&self) -> f64 {
        let delay = self.queuing_delay();
        let warped = if delay < WARPING_DELAY || !self.has_recent_loss() {
            delay
        } else {
            WARPING_DELAY * exp(-WARPING * (delay - WARPING_DELAY) / WARPING_DELAY)
        };
        let square = |ratio: f64| (ratio / REFERENCE_RATIO).powi(2);
        warped + MARK_PENALTY * square(self.mark_ratio) + LOSS_PENALTY * square(self.loss_ratio)
    }

    /// Equations (3) and (4): the accelerated mode.
    fn ramp_up(&mut self, round_trip: f64) {
        let bits: f64 = self.window.iter().map(|one| f64::from(one.bytes) * 8.0).sum();
        let received = bits * SECOND as f64 / WINDOW as f64;
        let growth =
            LARGEST_RAMP_UP.min(RAMP_UP_DELAY / (round_trip + REPORT_INTERVAL + FILTER_DELAY));
        self.rate = self.rate.max((1.0 + growth) * received);
    }

    /// Equations (5) to (7): the gradual mode.
    fn update_gradually(&mut self, signal: f64, elapsed: f64) {
        let offset = signal - self.priority * REFERENCE_SIGNAL * self.max_rate / self.rate;
        let change = signal - self.signal;
        self.rate -=
            SCALING * (elapsed / LARGEST_ROUND_TRIP) * (offset / LARGEST_ROUND_TRIP) * self.rate
                + SCALING * CHANGE_WEIGHT * (change / LARGEST_ROUND_TRIP) * self.rate;
    }
}

#[cfg(test)]
mod rfc8698 {
    use super::*;

    /// Section 4.2: losses are recent while fewer packets have come since the last than seven times the mean
    /// interval, weighted as in RFC 5348 section 5.4: of 10, 20, 30, 40 and 50 with weights of 1 and of 0.8 for
    /// the last (100 + 40) / 4.8 = 29.17, so up to 204 packets.
    #[test]
    fn s4_2_a_loss_is_recent_for_seven_mean_intervals() {
        let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
        assert!(!nada.has_recent_loss());
        nada.intervals = VecDeque::from([1e9]);
        assert!(nada.has_recent_loss(), "a first loss has no interval before it");
        for (current, is_recent) in [(204.0, true), (205.0, false)] {
            nada.intervals = VecDeque::from([current, 10.0, 20.0, 30.0, 40.0, 50.0]);
            assert_eq!(nada.has_recent_loss(), is_recent, "{current}");
        }
    }

    /// Equations (1) and (2) by hand: a queue of 100 ms behind a recent loss counts 50 exp(-0.5 * 50 / 50) ms, one
    /// of 49 ms whole, as both do without a loss; marks of 1 % add 2 ms, losses of 2 % 10 * 2^2.
    #[test]
    fn s4_2_the_signal_is_the_sum_of_delay_marks_and_losses() {
        for (delay, is_after_loss, counts) in
            [(100, true, 50.0 * exp(-0.5)), (49, true, 49.0), (100, false, 100.0)]
        {
            let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
            nada.base = Some(20 * MILLISECOND);
            nada.delays = VecDeque::from([(20 + delay) * MILLISECOND]);
            nada.intervals = is_after_loss.then_some(1.0).into_iter().collect();
            (nada.mark_ratio, nada.loss_ratio) = (0.01, 0.02);
            let expected = counts + 2.0 + 40.0;
            assert!((nada.aggregate_signal() - expected).abs() < 1e-9, "{delay} {is_after_loss}");
        }
    }

    /// Equations (5) to (7) by hand: at 1 of 1.5 Mbit/s the reference is 10 * 1.5 = 15 ms, so 20 ms are 5 too many,
    /// and 10 more than before. In 100 ms: 0.5 * (100 / 500) * (5 / 500) = 0.001, and 0.5 * 2 * (10 / 500) = 0.02.
    #[test]
    fn s4_3_the_gradual_mode_follows_offset_and_change() {
        let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
        (nada.rate, nada.signal) = (1e6, 10.0);
        nada.update_gradually(20.0, 100.0);
        assert!((nada.rate - 979_000.0).abs() < 1e-6, "{}", nada.rate);
    }

    /// Section 4.2: of five packets one is lost and two are marked: 0.1 * 1 / 5 and 0.1 * 2 / 5. The intervals of
    /// section 5.1.2 begin with the packets lost: 2 to 7 are six, 8 and later three so far.
    #[test]
    fn s4_2_ratios_and_intervals_count_what_was_lost() {
        let mut nada = Nada::new(150_000, 1_500_000, 1.0, 0);
        let arrived = |number: u32| ArrivedMediaPacket {
            number,
            sent_at: SECOND,
            arrived_at: SECOND,
            bytes: 1000,
            is_marked: number < 2,
        };
        nada.on_feedback(&[0, 1, 3, 4].map(arrived), 0, SECOND);
        assert!((nada.loss_ratio - 0.02).abs() < 1e-12, "{}", nada.loss_ratio);
        assert!((nada.mark_ratio - 0.04).abs() < 1e-12, "{}", nada.mark_ratio);
        nada.on_feedback(&[5, 6, 7, 10].map(arrived), 0, SECOND);
        assert_eq!(nada.intervals, [3.0, 6.0]);
    }
}
