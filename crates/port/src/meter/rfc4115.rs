//! Two rate three colour marker with efficient handling of in-profile traffic.
//!
//! Source: RFC 4115 section 3. Committed and excess rates are independent: yellow traffic never
//! takes committed tokens, so a coloured stream keeps its green packets whatever its yellow ones do.

use super::bucket::{Bucket, PacketClock, MAX_DEPTH_BYTES};
use crate::InvalidParameter;
use serde::{Deserialize, Serialize};
use trunkline_packet::Colour;
use trunkline_units::{RandomStream, Time};

/// Keys of `rfc4115`, in the RFC's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rfc4115Config {
    /// Committed information rate [bit/s]; it or `eir_bit_s` above 0.
    pub cir_bit_s: u64,
    /// Committed burst size [B, 0..=2e9; above 0 with a committed rate].
    pub cbs_bytes: u64,
    /// Excess information rate, above the committed one [bit/s].
    pub eir_bit_s: u64,
    /// Excess burst size [B, 0..=2e9; above 0 with an excess rate].
    pub ebs_bytes: u64,
    /// Whether the incoming colour counts (RFC 4115 section 3, colour-aware mode).
    pub colour_aware: bool,
}

/// An RFC 4115 marker.
#[derive(Clone, Debug)]
pub struct Rfc4115 {
    config: Rfc4115Config,
    committed: Bucket,
    excess: Bucket,
    clock: PacketClock,
}

impl Rfc4115 {
    /// A marker with full buckets.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &Rfc4115Config) -> Result<Self, InvalidParameter> {
        let Rfc4115Config { cir_bit_s, cbs_bytes, eir_bit_s, ebs_bytes, .. } = *config;
        InvalidParameter::require(cir_bit_s > 0 || eir_bit_s > 0, "cir_bit_s", || {
            "must be above 0 where eir_bit_s is 0".into()
        })?;
        for (key, rate, bytes) in
            [("cbs_bytes", cir_bit_s, cbs_bytes), ("ebs_bytes", eir_bit_s, ebs_bytes)]
        {
            InvalidParameter::require(
                bytes <= MAX_DEPTH_BYTES && (rate == 0 || bytes > 0),
                key,
                || format!("must be 1 to {MAX_DEPTH_BYTES} bytes with a rate above 0, not {bytes}"),
            )?;
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
        let elapsed = self.clock.elapsed(now);
        self.committed.fill(elapsed * u128::from(self.config.cir_bit_s));
        self.excess.fill(elapsed * u128::from(self.config.eir_bit_s));
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
