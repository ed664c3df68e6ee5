//! Laws of datagram sizes.

use super::{gumbel, Size};
use trunkline_units::RandomStream;

#[derive(Clone, Debug)]
pub(super) enum Sizes {
    Fixed(u16),
    Exponential(f64),
    /// Location and scale of the data, headers.
    Gumbel([f64; 2], u16),
    /// Sizes with the upper end of each one's share of `[0, 1)`.
    Choice(Vec<(f64, u16)>),
}

impl Sizes {
    pub(super) fn new(size: &Size) -> Self {
        match size {
            Size::Fixed { bytes } => Self::Fixed(clamp_size(*bytes)),
            Size::Exponential { mean_bytes } => Self::Exponential(*mean_bytes),
            Size::Gumbel { location_bytes, scale_bytes, header_bytes } => {
                Self::Gumbel([*location_bytes, *scale_bytes], clamp_size(*header_bytes))
            }
            Size::Choice { bytes, weights } => {
                let total: f64 = weights.iter().sum();
                let mut sum = 0.0;
                let shares = bytes.iter().zip(weights).map(|(bytes, weight)| {
                    sum += weight;
                    (sum / total, clamp_size(*bytes))
                });
                Self::Choice(shares.collect())
            }
        }
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut RandomStream) -> u16 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Exponential(mean) => {
                // A cast from a float saturates, so the upper limit needs no separate test.
                ((random.exponential(*mean) + 0.5) as u16).max(1)
            }
            Self::Gumbel([location, scale], header) => {
                let data = ((gumbel(*location, *scale, random) + 0.5) as u16).max(1);
                header.saturating_add(data)
            }
            Self::Choice(shares) => {
                let uniform = random.uniform();
                let index = shares.partition_point(|(upper, _)| *upper <= uniform);
                shares[index.min(shares.len() - 1)].1
            }
        }
    }
}

/// A size as the packet's field can hold it.
pub(super) fn clamp_size(bytes: u32) -> u16 {
    bytes.clamp(1, u32::from(u16::MAX)) as u16
}
