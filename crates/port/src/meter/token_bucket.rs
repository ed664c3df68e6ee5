//! Token bucket: green while the bucket holds the packet, red otherwise.
//!
//! Source: RFC 2475 section 2.3.3 (traffic profile "use token-bucket r, b"), RFC 3290 section 5.1.3
//! (strict conformance: a packet conforms only if there are tokens for all of it). With a peak rate
//! a packet must conform to a second bucket too and takes tokens of both or of none, as Linux's
//! `police ... peakrate ... mtu`.

use super::bucket::{Bucket, PacketClock};
use super::{check_burst, check_rate};
use crate::InvalidParameter;
use serde::{Deserialize, Serialize};
use trunkline_packet::Colour;
use trunkline_units::{RandomStream, Time};

/// Keys of `token-bucket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBucketConfig {
    /// Rate of tokens [bit/s, > 0].
    pub rate_bit_s: u64,
    /// Depth of the bucket [B, 1..=2e9].
    pub burst_bytes: u64,
    /// Peak rate [bit/s, >= `rate_bit_s`]; 0 = none.
    pub peak_rate_bit_s: u64,
    /// Depth of the bucket at the peak rate [B, 1..=2e9]; 0 without a peak rate.
    pub peak_burst_bytes: u64,
    /// Whether a packet that arrives other than green stays red and takes no tokens.
    pub colour_aware: bool,
}

/// A token bucket.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    config: TokenBucketConfig,
    bucket: Bucket,
    peak: Bucket,
    clock: PacketClock,
}

impl TokenBucket {
    /// A full token bucket.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &TokenBucketConfig) -> Result<Self, InvalidParameter> {
        let TokenBucketConfig {
            rate_bit_s, burst_bytes, peak_rate_bit_s, peak_burst_bytes, ..
        } = *config;
        check_rate("rate_bit_s", rate_bit_s)?;
        check_burst("burst_bytes", burst_bytes)?;
        if peak_rate_bit_s > 0 {
            InvalidParameter::require(peak_rate_bit_s >= rate_bit_s, "peak_rate_bit_s", || {
                format!("must not be below rate_bit_s: {peak_rate_bit_s} is below {rate_bit_s}")
            })?;
            check_burst("peak_burst_bytes", peak_burst_bytes)?;
        } else {
            InvalidParameter::require(peak_burst_bytes == 0, "peak_burst_bytes", || {
                "must be 0 without a peak rate".into()
            })?;
        }
        Ok(Self {
            config: *config,
            bucket: Bucket::full(burst_bytes),
            peak: Bucket::full(peak_burst_bytes),
            clock: PacketClock::default(),
        })
    }

    /// Colours a packet.
    #[inline]
    pub fn colour(
        &mut self,
        now: Time,
        bytes: u32,
        incoming: Colour,
        _random: &mut RandomStream,
    ) -> Colour {
        let elapsed = self.clock.elapsed(now);
        self.bucket.fill(elapsed * u128::from(self.config.rate_bit_s));
        let peaks = self.config.peak_rate_bit_s > 0;
        if peaks {
            self.peak.fill(elapsed * u128::from(self.config.peak_rate_bit_s));
        }
        let refused = self.config.colour_aware && incoming != Colour::Green;
        if refused || (peaks && !self.peak.holds(bytes)) || !self.bucket.take(bytes) {
            return Colour::Red;
        }
        if peaks {
            self.peak.take(bytes);
        }
        Colour::Green
    }
}
