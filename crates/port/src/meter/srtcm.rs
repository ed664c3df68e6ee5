//! Single rate three colour marker.
//!
//! Source: RFC 2697 section 3. Tokens arrive at the committed information rate (CIR) and fill the
//! committed bucket (CBS) first, then the excess bucket (EBS).

use super::bucket::{Bucket, PacketClock, MAX_DEPTH_BYTES};
use super::check_rate;
use crate::InvalidParameter;
use serde::{Deserialize, Serialize};
use trunkline_packet::Colour;
use trunkline_units::{RandomStream, Time};

/// Keys of `srtcm`, in the RFC's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SrTcmConfig {
    /// Committed information rate [bit/s, > 0].
    pub cir_bit_s: u64,
    /// Committed burst size [B, 0..=2e9]; it or `ebs_bytes` above 0.
    pub cbs_bytes: u64,
    /// Excess burst size [B, 0..=2e9].
    pub ebs_bytes: u64,
    /// Whether the incoming colour counts (RFC 2697 section 3, colour-aware mode).
    pub colour_aware: bool,
}

/// A single rate three colour marker.
#[derive(Clone, Debug)]
pub struct SrTcm {
    config: SrTcmConfig,
    committed: Bucket,
    excess: Bucket,
    clock: PacketClock,
}

impl SrTcm {
    /// A marker with full buckets.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &SrTcmConfig) -> Result<Self, InvalidParameter> {
        let SrTcmConfig { cir_bit_s, cbs_bytes, ebs_bytes, .. } = *config;
        check_rate("cir_bit_s", cir_bit_s)?;
        // RFC 2697 section 2: at least one of the two is above 0.
        InvalidParameter::require(cbs_bytes > 0 || ebs_bytes > 0, "cbs_bytes", || {
            "must be above 0 where ebs_bytes is 0".into()
        })?;
        for (key, bytes) in [("cbs_bytes", cbs_bytes), ("ebs_bytes", ebs_bytes)] {
            InvalidParameter::require(bytes <= MAX_DEPTH_BYTES, key, || {
                format!("must be at most {MAX_DEPTH_BYTES} bytes, not {bytes}")
            })?;
        }
        Ok(Self {
            config: *config,
            committed: Bucket::full(cbs_bytes),
            excess: Bucket::full(ebs_bytes),
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
        let tokens = self.clock.elapsed(now) * u128::from(self.config.cir_bit_s);
        let spill = self.committed.fill(tokens);
        self.excess.fill(spill);
        let incoming = if self.config.colour_aware { incoming } else { Colour::Green };
        if incoming == Colour::Green && self.committed.take(bytes) {
            Colour::Green
        } else if incoming != Colour::Red && self.excess.take(bytes) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }
}
