//! Time sliding window markers: an estimated rate, and colours drawn in proportion to its excess.
//!
//! Source: RFC 2859 (three colours: sections 3 and 4); Clark & Fang, IEEE/ACM Trans. Networking 6(4),
//! 1998, section IV (the rate estimator, and the tagger of two colours). The estimate starts at the
//! committed target rate and the window at time 0, as in ns-2's DiffServ module. Both markers are
//! blind: neither source has a colour-aware mode.

use super::check_rate;
use crate::InvalidParameter;
use serde::{Deserialize, Serialize};
use trunkline_packet::Colour;
use trunkline_units::{RandomStream, Span, Time};

/// Keys of `tsw2cm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tsw2cmConfig {
    /// Committed target rate [bit/s, > 0].
    pub ctr_bit_s: u64,
    /// Window of the rate estimate (AVG_INTERVAL) [ns, > 0].
    pub avg_interval_ns: Span,
}

/// Keys of `tsw3cm`, in the RFC's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tsw3cmConfig {
    /// Committed target rate [bit/s, > 0].
    pub ctr_bit_s: u64,
    /// Peak target rate [bit/s, >= `ctr_bit_s`].
    pub ptr_bit_s: u64,
    /// Window of the rate estimate (AVG_INTERVAL) [ns, > 0].
    pub avg_interval_ns: Span,
}

/// The rate estimator of Clark & Fang.
#[derive(Clone, Copy, Debug)]
struct TswRateEstimator {
    /// [bit/s]
    average: f64,
    /// [s]
    interval: f64,
    front: Time,
}

impl TswRateEstimator {
    fn new(ctr_bit_s: u64, avg_interval_ns: Span) -> Result<Self, InvalidParameter> {
        check_rate("ctr_bit_s", ctr_bit_s)?;
        InvalidParameter::require(avg_interval_ns > 0, "avg_interval_ns", || {
            "must be above 0".into()
        })?;
        Ok(Self { average: ctr_bit_s as f64, interval: avg_interval_ns as f64 * 1e-9, front: 0 })
    }

    /// RFC 2859 section 3, figure 2: the window slides to `now` and takes in `bytes`.
    #[inline]
    fn update(&mut self, now: Time, bytes: u32) -> f64 {
        let in_window = self.average * self.interval + f64::from(bytes) * 8.0;
        self.average = in_window / ((now - self.front) as f64 * 1e-9 + self.interval);
        self.front = now;
        self.average
    }
}

/// Time sliding window two colour marker.
#[derive(Clone, Debug)]
pub struct Tsw2cm {
    rate: TswRateEstimator,
    ctr: f64,
}

impl Tsw2cm {
    /// A marker whose estimate starts at the target rate.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &Tsw2cmConfig) -> Result<Self, InvalidParameter> {
        let rate = TswRateEstimator::new(config.ctr_bit_s, config.avg_interval_ns)?;
        Ok(Self { rate, ctr: config.ctr_bit_s as f64 })
    }

    /// Colours a packet: red with probability (average - CTR) / average, else green.
    #[inline]
    pub fn colour(
        &mut self,
        now: Time,
        bytes: u32,
        _incoming: Colour,
        random: &mut RandomStream,
    ) -> Colour {
        let average = self.rate.update(now, bytes);
        if average > self.ctr && random.uniform() * average < average - self.ctr {
            Colour::Red
        } else {
            Colour::Green
        }
    }

    /// The estimated rate [bit/s].
    #[must_use]
    pub fn average_bit_s(&self) -> f64 {
        self.rate.average
    }
}

/// Time sliding window three colour marker.
#[derive(Clone, Debug)]
pub struct Tsw3cm {
    rate: TswRateEstimator,
    ctr: f64,
    ptr: f64,
}

impl Tsw3cm {
    /// A marker whose estimate starts at the committed target rate.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &Tsw3cmConfig) -> Result<Self, InvalidParameter> {
        let Tsw3cmConfig { ctr_bit_s, ptr_bit_s, avg_interval_ns } = *config;
        let rate = TswRateEstimator::new(ctr_bit_s, avg_interval_ns)?;
        InvalidParameter::require(ptr_bit_s >= ctr_bit_s, "ptr_bit_s", || {
            format!("must not be below ctr_bit_s: {ptr_bit_s} is below {ctr_bit_s}")
        })?;
        Ok(Self { rate, ctr: ctr_bit_s as f64, ptr: ptr_bit_s as f64 })
    }

    /// Colours a packet (RFC 2859 section 4): the part of the average above the peak target is
    /// red, the part between the targets yellow.
    #[inline]
    pub fn colour(
        &mut self,
        now: Time,
        bytes: u32,
        _incoming: Colour,
        random: &mut RandomStream,
    ) -> Colour {
        let average = self.rate.update(now, bytes);
        if average <= self.ctr {
            return Colour::Green;
        }
        let level = random.uniform() * average;
        let above_peak = (average - self.ptr).max(0.0);
        if level < above_peak {
            Colour::Red
        } else if level < average - self.ctr {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }

    /// The estimated rate [bit/s].
    #[must_use]
    pub fn average_bit_s(&self) -> f64 {
        self.rate.average
    }
}
