//! Laws of sizes: by inversion where the inverse is known, else by the polar method.
//!
//! Source: Devroye, "Non-uniform random variate generation", 1986, sections II.2 (inversion) and
//! V.4.4 (Marsaglia's polar method). A draw outside the bounds is drawn again, so that the law is
//! the truncated one.

use super::{Times, TransferSizes};
use trunkline_units::{math, RandomStream, Span};

/// Draws before a law with almost no probability inside its bounds gives the nearer bound.
const MAX_DRAWS: usize = 10_000;

/// The largest transfer [B]: a law without a bound gives it in place of larger ones.
pub const LARGEST_TRANSFER: u64 = 1 << 50;

/// A law of sizes, ready to be drawn from.
#[derive(Clone, Debug)]
pub struct SizeLaw(TransferSizes);

impl SizeLaw {
    /// The law of some parameters.
    #[must_use]
    pub fn new(sizes: &TransferSizes) -> Self {
        Self(sizes.clone())
    }

    /// A real number.
    pub fn draw(&self, random: &mut RandomStream) -> f64 {
        match &self.0 {
            TransferSizes::Fixed { bytes } => *bytes as f64,
            TransferSizes::Exponential { mean_bytes } => random.exponential(*mean_bytes),
            TransferSizes::Pareto { shape, least_bytes, most_bytes, cut, less } => {
                let drawn =
                    draw_within(0.0, if *cut { f64::INFINITY } else { *most_bytes }, || {
                        least_bytes * math::pow(1.0 - random.uniform(), -1.0 / shape)
                    });
                drawn.min(*most_bytes) - less
            }
            TransferSizes::Lognormal { mu, sigma, least_bytes, most_bytes } => {
                draw_within(*least_bytes, *most_bytes, || math::exp(mu + sigma * normal(random)))
            }
            TransferSizes::Weibull { shape, scale_bytes } => {
                scale_bytes * math::pow(random.exponential(1.0), 1.0 / shape)
            }
            TransferSizes::Table { bytes, shares } => {
                invert_distribution(bytes, shares, random.uniform())
            }
        }
    }

    /// A size from 1 B to [`LARGEST_TRANSFER`], to the nearest byte.
    pub fn bytes(&self, random: &mut RandomStream) -> u64 {
        // A cast from a float saturates.
        ((self.draw(random) + 0.5) as u64).clamp(1, LARGEST_TRANSFER)
    }

    /// A count: the integer part.
    pub fn count(&self, random: &mut RandomStream) -> u64 {
        self.draw(random) as u64
    }
}

impl Times {
    /// A time.
    pub(super) fn draw(self, random: &mut RandomStream) -> Span {
        match self {
            Self::Fixed(span) => span,
            Self::Exponential(mean) => (random.exponential(mean) + 0.5) as Span,
        }
    }
}

fn draw_within(min: f64, max: f64, mut draw: impl FnMut() -> f64) -> f64 {
    let mut drawn = draw();
    for _ in 0..MAX_DRAWS {
        if min <= drawn && drawn <= max {
            return drawn;
        }
        drawn = draw();
    }
    drawn.clamp(min, max)
}

/// Standard normal.
fn normal(random: &mut RandomStream) -> f64 {
    loop {
        let (x, y) = (2.0 * random.uniform() - 1.0, 2.0 * random.uniform() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * math::ln(square) / square).sqrt();
        }
    }
}

/// Where a distribution function of straight lines reaches a share.
fn invert_distribution(bytes: &[f64], shares: &[f64], share: f64) -> f64 {
    let above = shares.partition_point(|upper| *upper <= share).min(shares.len() - 1);
    if above == 0 {
        return bytes[0];
    }
    let (low, high) = (shares[above - 1], shares[above]);
    let part = if high > low { (share - low) / (high - low) } else { 1.0 };
    bytes[above - 1] + part * (bytes[above] - bytes[above - 1])
}
