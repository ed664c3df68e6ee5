//! Parameters of workloads.

use serde::{Deserialize, Serialize};

/// A law of sizes [B], or of counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransferSizes {
    /// All alike.
    Fixed {
        /// Size [B].
        bytes: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean [B, > 0].
        mean_bytes: f64,
    },
    /// Pareto: P(X > x) = (least / x)^shape, drawn again while above `most`.
    Pareto {
        /// Exponent [> 0].
        shape: f64,
        /// Minimum size [B, > 0].
        least_bytes: f64,
        /// Largest size [B].
        most_bytes: f64,
        /// The largest size takes the place of larger draws, which else are drawn again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// Taken off each draw.
        #[serde(default, skip_serializing_if = "is_zero")]
        less: f64,
    },
    /// Lognormal, drawn again while outside the bounds.
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm [>= 0].
        sigma: f64,
        /// Minimum size [B].
        least_bytes: f64,
        /// Largest size [B].
        most_bytes: f64,
    },
    /// Weibull: P(X > x) = exp(-(x / scale)^shape).
    Weibull {
        /// Exponent [> 0].
        shape: f64,
        /// Scale [B, > 0].
        scale_bytes: f64,
    },
    /// A distribution function with straight lines between its points.
    Table {
        /// Sizes, never falling [B].
        bytes: Vec<f64>,
        /// Share of sizes at or below each, never falling; the last is 1.
        shares: Vec<f64>,
    },
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A law of times [ns].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Times {
    /// All alike [ns].
    Fixed(u64),
    /// Exponential with this mean [ns].
    Exponential(f64),
}

/// When transfers arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransferGaps {
    /// Exponential gaps: a Poisson process.
    Poisson {
        /// Mean gap [ns, > 0].
        mean_ns: f64,
    },
    /// All alike.
    Periodic {
        /// Gap [ns, > 0].
        gap_ns: f64,
    },
    /// Poisson while on, silent while off; both periods are exponential, and it starts on.
    OnOff {
        /// Mean gap while on [ns, > 0].
        mean_ns: f64,
        /// Mean on period [ns, > 0].
        mean_on_ns: f64,
        /// Mean off period [ns].
        mean_off_ns: f64,
    },
    /// Replay of a list.
    Schedule {
        /// Times after the flow's start, never falling [ns].
        times_ns: Vec<u64>,
        /// Size of each transfer [B, > 0]; as many as times.
        sizes_bytes: Vec<u64>,
    },
}

/// Transfers that arrive whatever the network does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenConfig {
    /// When.
    pub gaps: TransferGaps,
    /// How large; a schedule has its own.
    pub sizes: TransferSizes,
}

/// Users who read pages: request, main object, parsing, embedded objects, reading, and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PagesConfig {
    /// Users [>= 1].
    pub users: u32,
    /// Embedded objects one user fetches at the same time [>= 1].
    pub parallel: u32,
    /// Size of the main object.
    pub main: TransferSizes,
    /// Size of an embedded object.
    pub embedded: TransferSizes,
    /// Embedded objects of a page; the integer part of a draw.
    pub objects: TransferSizes,
    /// From the end of a page to the next request.
    pub reading: Times,
    /// From the main object to the first requests of embedded ones.
    pub parsing: Times,
}

/// Players that fetch a film in chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoConfig {
    /// Players [>= 1].
    pub players: u32,
    /// Film in a chunk [ns, > 0].
    pub chunk_ns: u64,
    /// Bit rates that there are, rising [bit/s, > 0].
    pub ladder_bit_s: Vec<u64>,
    /// Film that the buffer holds [ns]; two chunks or more.
    pub buffer_ns: u64,
    /// Film in the buffer with which it begins to play, and plays on after a stall [ns].
    pub start_ns: u64,
    /// How the rate of the next chunk is chosen.
    pub rule: Rule,
    /// Players begin at uniform random times below this [ns].
    pub spread_ns: u64,
}

/// Rules of rate adaptation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// The highest rate below the harmonic mean of the last five throughputs.
    Rate,
    /// A straight line from the lowest to the highest rate over the buffer (BBA-0).
    Buffer {
        /// Up to here the lowest rate [ns].
        reservoir_ns: u64,
        /// From the reservoir to the highest rate [ns].
        cushion_ns: u64,
    },
}
