//! Parameters of a UDP source.

use super::media::MediaConfig;
use serde::{Deserialize, Serialize};

/// A UDP source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpConfig {
    /// When datagrams leave.
    pub arrivals: Arrivals,
    /// Mean rate, of the on periods for `on-off` [bit/s of IP packets, > 0]; a schedule has none.
    pub rate_bit_s: u64,
    /// How long they are.
    pub size: Size,
    /// IP and UDP headers inside each datagram's size [B]; the rest is application data.
    pub header_bytes: u32,
    /// Granularity of the sender's timer [ns]: datagrams due after one multiple of it leave at the
    /// next; 0 = each when it is due.
    #[serde(default)]
    pub tick_ns: u64,
    /// When that timer ticks first [ns, below `tick_ns`]: timers of several hosts are not in step.
    #[serde(default)]
    pub phase_ns: u64,
}

/// When datagrams leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Constant bit rate: each datagram is followed by its size over the rate, exactly in the long
    /// run.
    Cbr {
        /// Each datagram is late by a uniform random part of its own gap below this [0..=1]; the
        /// delays do not add up and never reorder.
        jitter: f64,
    },
    /// Poisson: exponential gaps of mean size over rate.
    Poisson,
    /// Constant bit rate during exponential on periods, silence during exponential off periods;
    /// it starts on. Time spent on carries over from one period to the next, so the mean rate is
    /// `rate_bit_s * mean_on / (mean_on + mean_off)`.
    OnOff {
        /// Mean on period [ns, > 0].
        mean_on_ns: u64,
        /// Mean off period [ns].
        mean_off_ns: u64,
    },
    /// Gaps of a law of their own, whatever the sizes.
    Gaps(Gaps),
    /// As fast as TFRC allows (RFC 5348): it needs a sender and a receiver, and is no process.
    Tfrc {
        /// Rate of the application [bit/s]; none: as much as there is room for.
        max_bit_s: Option<u64>,
    },
    /// Frames of a coder whose rate follows the network (RFC 8698), `rate_bit_s` at most, in packets of
    /// `size` at most: it needs a sender and a receiver, and is no process.
    Media(Box<MediaConfig>),
    /// Replay of a list.
    Schedule {
        /// Times after the flow's start, not decreasing [ns].
        times_ns: Vec<u64>,
        /// IP bytes of each datagram [B, 1..=65535]; as many as times.
        sizes: Vec<u32>,
    },
}

/// Laws of the time from one datagram to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Gaps {
    /// All alike.
    Fixed {
        /// Gap [ns, > 0].
        gap_ns: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean gap [ns, > 0].
        mean_ns: u64,
    },
    /// Extreme values (Gumbel), 0 where the law gives less.
    Gumbel {
        /// Mode [ns].
        location_ns: f64,
        /// Scale [ns, > 0].
        scale_ns: f64,
    },
}

/// How long a datagram is, IP header included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Size {
    /// All alike.
    Fixed {
        /// Size [B, 1..=65535].
        bytes: u32,
    },
    /// Exponential, rounded to full bytes and limited to 1..=65535.
    Exponential {
        /// Mean before rounding and limits [B, > 0].
        mean_bytes: f64,
    },
    /// Extreme values (Gumbel) and headers, rounded and limited to headers + 1..=65535.
    Gumbel {
        /// Mode of the application data [B].
        location_bytes: f64,
        /// Scale of it [B, > 0].
        scale_bytes: f64,
        /// Headers [B].
        header_bytes: u32,
    },
    /// One of a list.
    Choice {
        /// Sizes [B, 1..=65535].
        bytes: Vec<u32>,
        /// Their relative weights [>= 0, one above 0].
        weights: Vec<f64>,
    },
}

/// The Euler-Mascheroni constant: mean of the standard Gumbel law.
const EULER: f64 = 0.577_215_664_901_532_9;

impl Size {
    /// Mean size [B].
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed { bytes } => f64::from(*bytes),
            Self::Exponential { mean_bytes } => *mean_bytes,
            Self::Gumbel { location_bytes, scale_bytes, header_bytes } => {
                location_bytes + EULER * scale_bytes + f64::from(*header_bytes)
            }
            Self::Choice { bytes, weights } => {
                let total: f64 = weights.iter().sum();
                let sum: f64 = bytes.iter().zip(weights).map(|(b, w)| f64::from(*b) * w).sum();
                sum / total
            }
        }
    }
}
