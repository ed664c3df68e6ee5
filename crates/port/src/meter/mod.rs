//! Meters: measure a stream of packets against a traffic profile and colour them.
//!
//! A meter only colours; other modules map a colour to a drop precedence, a DSCP or a drop. Bytes are
//! those of the IP packet, header included, link header and labels not
//! (RFC 2697 section 2, RFC 2698 section 2). Meters of two colours give green and red.
//! In colour-aware mode the incoming colour bounds the outgoing one: no packet is promoted.

use crate::InvalidParameter;
use serde::{Deserialize, Serialize};
use trunkline_packet::Colour;
use trunkline_units::{RandomStream, Time};

mod bucket;
mod rfc4115;
mod srtcm;
mod token_bucket;
mod trtcm;
mod tsw;

pub use rfc4115::{Rfc4115, Rfc4115Config};
pub use srtcm::{SrTcm, SrTcmConfig};
pub use token_bucket::{TokenBucket, TokenBucketConfig};
pub use trtcm::{TrTcm, TrTcmConfig};
pub use tsw::{Tsw2cm, Tsw2cmConfig, Tsw3cm, Tsw3cmConfig};

macro_rules! meters {
    ($($(#[$doc:meta])* $name:literal $variant:ident($meter:ty, $config:ty)),+ $(,)?) => {
        /// Configuration of a meter: the `kind` key names the variant.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum MeterConfig { $($(#[$doc])* #[serde(rename = $name)] $variant($config)),+ }

        /// Any meter, dispatched by one match.
        #[derive(Clone, Debug)]
        pub enum Meter { $($(#[$doc])* $variant($meter)),+ }

        impl Meter {
            /// Builds a meter with full buckets at time 0.
            ///
            /// # Errors
            /// The parameter that is out of range.
            pub fn new(config: &MeterConfig) -> Result<Self, InvalidParameter> {
                Ok(match config {
                    $(MeterConfig::$variant(config) => Self::$variant(<$meter>::new(config)?)),+
                })
            }

            /// Colours a packet of `ip_bytes` that arrives at `now` (never before the last one).
            #[inline]
            pub fn colour(
                &mut self,
                now: Time,
                ip_bytes: u32,
                incoming: Colour,
                random: &mut RandomStream,
            ) -> Colour {
                match self { $(Self::$variant(meter) => meter.colour(now, ip_bytes, incoming, random)),+ }
            }
        }
    };
}

meters! {
    /// Token bucket: green or red.
    "token-bucket" TokenBucket(TokenBucket, TokenBucketConfig),
    /// Single rate three colour marker, RFC 2697.
    "srtcm" SrTcm(SrTcm, SrTcmConfig),
    /// Two rate three colour marker, RFC 2698.
    "trtcm" TrTcm(TrTcm, TrTcmConfig),
    /// Two rate three colour marker with efficient handling of in-profile traffic, RFC 4115.
    "rfc4115" Rfc4115(Rfc4115, Rfc4115Config),
    /// Time sliding window two colour marker.
    "tsw2cm" Tsw2cm(Tsw2cm, Tsw2cmConfig),
    /// Time sliding window three colour marker, RFC 2859.
    "tsw3cm" Tsw3cm(Tsw3cm, Tsw3cmConfig),
}

/// Checks a burst that must let some packet pass.
fn check_burst(key: &'static str, bytes: u64) -> Result<(), InvalidParameter> {
    InvalidParameter::require((1..=bucket::MAX_DEPTH_BYTES).contains(&bytes), key, || {
        format!("must be 1 to {} bytes, not {bytes}", bucket::MAX_DEPTH_BYTES)
    })
}

/// Checks a rate that must be above zero.
fn check_rate(key: &'static str, rate_bit_s: u64) -> Result<(), InvalidParameter> {
    InvalidParameter::require(rate_bit_s > 0, key, || "must be above 0".into())
}

#[cfg(test)]
mod tests;
