//! The core that Linux's RED and GRED share: integer averages, ageing by table, spaced drops.
//!
//! Source: Linux 6.1 `include/net/red.h` and iproute2 `tc/tc_red.c`, restated; behaviour differs
//! from RED as published (Floyd & Jacobson 1993, "FJ93") in these points:
//! - The average counts bytes waiting, in fixed point with weight 2^-Wlog; `tc` picks Wlog from
//!   `burst` and `min`.
//! - One random number is drawn per drop: the k-th packet in the band is dropped when
//!   k (avg - min) reaches it, so gaps are uniform on 1..=1/p.
//! - After an idle period the average is shifted right by a table entry; the arrival that ends the
//!   period adds no sample.
//! - The first packet of the band only draws.
//! - With `adaptive`, `max_P` moves as `adaptive.rs` says.

use super::adaptive::{self, AdaptiveClock};
use super::{InvalidParameter, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{math, RandomStream, Time};

/// Version of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinuxRedVariant {
    /// Until 2011: only `Plog` reaches the kernel, so the probability at `max` is rounded down to
    /// (max - min) / 2^Plog. Idle time is counted in microseconds by `tc` and kernel alike.
    Plog,
    /// Since 2012: `max_P`, exact to 2^-32. `tc` computes the ageing table in ticks of 64 ns while the
    /// kernel reads it in microseconds, so an idle average ages 15.625 times more slowly.
    MaxP,
}

impl LinuxRedVariant {
    /// Units of the ageing table in one microsecond.
    fn ticks_per_us(self) -> f64 {
        match self {
            Self::Plog => 1.0,
            Self::MaxP => 15.625,
        }
    }
}

/// The parameters of `tc qdisc ... red`, in its words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcRed {
    /// Average below which no packet is dropped [B].
    pub min_bytes: u32,
    /// Average from which on every packet is dropped [B, > `min_bytes`].
    pub max_bytes: u32,
    /// Average packet size [B, > 0].
    pub avpkt_bytes: u32,
    /// Burst that may pass, which sets the weight of the average [packets, > min / avpkt].
    pub burst_packets: u32,
    /// Rate at which an idle average ages [bit/s, > 0].
    pub bandwidth_bit_s: u64,
    /// Probability of a drop as the average reaches `max_bytes` [in (0, 1)].
    pub probability: f64,
}

/// The smallest `i` with probability / (max - min) * 2^i > 1.
fn plog(red: &TcRed) -> Option<u32> {
    let mut scaled = red.probability / f64::from(red.max_bytes - red.min_bytes);
    for log in 0..32 {
        if scaled > 1.0 {
            return Some(log);
        }
        scaled *= 2.0;
    }
    None
}

/// The smallest Wlog with burst + 1 - min/avpkt <= (1 - (1 - W)^burst) / W.
fn w_log(red: &TcRed) -> Option<u32> {
    let burst = f64::from(red.burst_packets);
    let needed = burst + 1.0 - f64::from(red.min_bytes) / f64::from(red.avpkt_bytes);
    if needed < 1.0 {
        return None;
    }
    (1..32).find(|&log| {
        let weight = 1.0 / f64::from(1u32 << log);
        needed <= (1.0 - math::pow(1.0 - weight, burst)) / weight
    })
}

/// How the random number of a drop is drawn.
#[derive(Clone, Copy, Debug)]
enum DropDraw {
    Mask(u32),
    Divisor(u32),
}

/// The parameters in the kernel's units.
#[derive(Clone, Debug)]
pub(super) struct LinuxRedParameters {
    min: u64,
    max: u64,
    w_log: u32,
    cell_log: u32,
    shifts: Box<[u8; 256]>,
    draw: DropDraw,
    /// Probability at `max` in units of 2^-32.
    max_p: u32,
}

impl LinuxRedParameters {
    /// Works out the kernel's parameters as `tc` does.
    pub(super) fn new(red: &TcRed, age: LinuxRedVariant) -> Result<Self, InvalidParameter> {
        InvalidParameter::require(red.max_bytes > red.min_bytes, "max_bytes", || {
            format!("must be above min_bytes: {} is not above {}", red.max_bytes, red.min_bytes)
        })?;
        InvalidParameter::require(red.avpkt_bytes > 0, "avpkt_bytes", || "must be above 0".into())?;
        InvalidParameter::require(red.bandwidth_bit_s > 0, "bandwidth_bit_s", || {
            "must be above 0".into()
        })?;
        let probability = red.probability;
        InvalidParameter::require(probability > 0.0 && probability < 1.0, "probability", || {
            format!("must be in (0, 1), not {probability}")
        })?;
        let refused = |key, why: &str| InvalidParameter { key, why: why.into() };
        let w_log = w_log(red).ok_or_else(|| {
            refused("burst_packets", "must be above min_bytes / avpkt_bytes, and not too large")
        })?;
        let plog = plog(red).ok_or_else(|| refused("probability", "is too small for max - min"))?;
        let (cell_log, shifts) = ageing_table(red, w_log, age)
            .ok_or_else(|| refused("bandwidth_bit_s", "is too small for an ageing table"))?;
        let draw = match age {
            LinuxRedVariant::Plog => DropDraw::Mask((1u32 << plog) - 1),
            LinuxRedVariant::MaxP => divisor((probability * 4_294_967_296.0) as u32, red),
        };
        Ok(Self {
            min: u64::from(red.min_bytes) << w_log,
            max: u64::from(red.max_bytes) << w_log,
            w_log,
            cell_log,
            shifts,
            draw,
            max_p: (probability * 4_294_967_296.0) as u32,
        })
    }

    /// `red_adaptative_algo`: the updates that were due by `now`.
    #[cold]
    pub(super) fn adapt(&mut self, clock: &mut AdaptiveClock, average: &LinuxAverage, now: Time) {
        while let Some(at) = clock.due(now) {
            let aged = average.at(self, at) >> self.w_log;
            let (min, max) = (self.min >> self.w_log, self.max >> self.w_log);
            match adaptive::step_linux(self.max_p, aged, min, max) {
                Some(max_p) => {
                    self.max_p = max_p;
                    self.draw = DropDraw::Divisor((max_p / (max - min) as u32).max(1));
                }
                // An average that is below the band stays there.
                None if aged < min => clock.skip(now),
                None => {}
            }
        }
    }

    fn random(&self, random: &mut RandomStream) -> u32 {
        let bits = (random.bits() >> 32) as u32;
        match self.draw {
            DropDraw::Mask(mask) => bits & mask,
            DropDraw::Divisor(divisor) => bits / divisor,
        }
    }

    /// An average in bytes.
    pub(super) fn bytes(&self, average: u64) -> f64 {
        average as f64 / f64::from(1u32 << self.w_log)
    }
}

/// How random numbers are drawn with a `max_p` in units of 2^-32.
fn divisor(max_p: u32, red: &TcRed) -> DropDraw {
    DropDraw::Divisor((max_p / (red.max_bytes - red.min_bytes)).max(1))
}

/// Stab[t >> Scell_log] = -log2-like shift: -ln(1 - W) t / (time to send avpkt), at most 31.
fn ageing_table(red: &TcRed, w_log: u32, age: LinuxRedVariant) -> Option<(u32, Box<[u8; 256]>)> {
    let weight = 1.0 / f64::from(1u32 << w_log);
    let send_us = f64::from(red.avpkt_bytes) * 8e6 / red.bandwidth_bit_s as f64;
    let per_tick = -math::ln(1.0 - weight) / (send_us * age.ticks_per_us());
    let longest = 31.0 / per_tick;
    let cell_log = (0..32).find(|&log| longest / (1u64 << log) as f64 <= 511.999_999)?;
    let mut shifts = Box::new([31; 256]);
    for (cell, shift) in shifts.iter_mut().enumerate().take(255) {
        *shift = (((cell as u64) << cell_log) as f64 * per_tick).min(31.0) as u8;
    }
    Some((cell_log, shifts))
}

/// A running average with its idle clock, scaled by 2^Wlog.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinuxAverage {
    pub(super) scaled: u64,
    pub(super) idle_since: Option<Time>,
}

impl LinuxAverage {
    /// An arrival finds `backlog` bytes waiting.
    pub(super) fn sample(&mut self, parameters: &LinuxRedParameters, now: Time, backlog: u64) {
        if self.idle_since.is_some() {
            self.scaled = self.at(parameters, now);
            self.idle_since = None;
        } else {
            self.scaled = self.scaled + backlog - (self.scaled >> parameters.w_log);
        }
    }

    /// Its value at `now` if nothing arrives.
    fn at(&self, parameters: &LinuxRedParameters, now: Time) -> u64 {
        let average = self.scaled;
        let Some(since) = self.idle_since else { return average };
        let idle_us = (now.saturating_sub(since) / 1000).min(255 << parameters.cell_log);
        let shift = parameters.shifts[(idle_us >> parameters.cell_log) as usize];
        if shift > 0 {
            return average >> shift;
        }
        // (1 - W)^m is taken as 1 - m W while that is above one half.
        let aged = (average * idle_us) >> parameters.cell_log;
        average - aged.min(average - (average >> 1))
    }
}

/// Counter and random number of the next drop.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinuxSpacer {
    count: i64,
    threshold: u32,
}

impl Default for LinuxSpacer {
    fn default() -> Self {
        Self { count: -1, threshold: 0 }
    }
}

impl LinuxSpacer {
    /// Judges an arrival by a scaled average. `harddrop` drops above `max` even where a mark
    /// would do.
    pub(super) fn judge(
        &mut self,
        parameters: &LinuxRedParameters,
        scaled: u64,
        harddrop: bool,
        random: &mut RandomStream,
    ) -> Verdict {
        if scaled < parameters.min {
            self.count = -1;
            return Verdict::Pass;
        }
        if scaled >= parameters.max {
            self.count = -1;
            let forced = if harddrop { Verdict::Refuse } else { Verdict::Signal };
            return forced(Cause::Forced);
        }
        self.count += 1;
        if self.count == 0 {
            self.threshold = parameters.random(random);
            return Verdict::Pass;
        }
        let excess = (scaled - parameters.min) >> parameters.w_log;
        if excess * (self.count as u64) < u64::from(self.threshold) {
            return Verdict::Pass;
        }
        self.count = 0;
        self.threshold = parameters.random(random);
        Verdict::Signal(Cause::Early)
    }
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
