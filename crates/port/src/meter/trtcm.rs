//! Two rate three colour marker.
//!
//! Source: RFC 2698 section 3. A packet above the peak rate (PIR, PBS) is red; below it, one above
//! the committed rate (CIR, CBS) is yellow and takes peak tokens, any other is green and takes both.

use super::bucket::{Bucket, PacketClock};
use super::{check_burst, check_rate};
use crate::InvalidParameter;
use serde::{Deserialize, Serialize};
use trunkline_packet::Colour;
use trunkline_units::{RandomStream, Time};

/// Keys of `trtcm`, in the RFC's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrTcmConfig {
    /// Committed information rate [bit/s, > 0].
    pub cir_bit_s: u64,
    /// Committed burst size [B, 1..=2e9].
    pub cbs_bytes: u64,
    /// Peak information rate [bit/s, >= `cir_bit_s`].
    pub pir_bit_s: u64,
    /// Peak burst size [B, 1..=2e9].
    pub pbs_bytes: u64,
    /// Whether the incoming colour counts (RFC 2698 section 3, colour-aware mode).
    pub colour_aware: bool,
}

/// A two rate three colour marker.
#[derive(Clone, Debug)]
pub struct TrTcm {
    config: TrTcmConfig,
    committed: Bucket,
    peak: Bucket,
    clock: PacketClock,
}

impl TrTcm {
    /// A marker with full buckets.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &TrTcmConfig) -> Result<Self, InvalidParameter> {
        let TrTcmConfig { cir_bit_s, cbs_bytes, pir_bit_s, pbs_bytes, .. } = *config;
        check_rate("cir_bit_s", cir_bit_s)?;
        check_burst("cbs_bytes", cbs_bytes)?;
        check_burst("pbs_bytes", pbs_bytes)?;
        // RFC 2698 section 2.
        InvalidParameter::require(pir_bit_s >= cir_bit_s, "pir_bit_s", || {
            format!("must not be below cir_bit_s: {pir_bit_s} is below {cir_bit_s}")
        })?;
        Ok(Self {
            config: *config,
            committed: Bucket::full(cbs_bytes),
            peak: Bucket::full(pbs_bytes),
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
        self.committed.fill(elapsed * u128::from(self.config.cir_bit_s));
        self.peak.fill(elapsed * u128::from(self.config.pir_bit_s));
        let incoming = if self.config.colour_aware { incoming } else { Colour::Green };
        if incoming == Colour::Red || !self.peak.take(bytes) {
            Colour::Red
        } else if incoming == Colour::Green && self.committed.take(bytes) {
            Colour::Green
        } else {
            Colour::Yellow
        }
    }
}
