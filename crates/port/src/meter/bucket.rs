//! A bucket of tokens in exact arithmetic.
//!
//! Tokens are counted in bit ns / s, 8e9 to the byte: a rate of R bit/s fills R of them in a nanosecond,
//! so no fraction is ever lost. As a fluid, the bucket gives the same colours as one that gains full
//! bytes at their due times.

use trunkline_units::{Time, SECOND};

/// Tokens of one byte.
pub(super) const TOKENS_PER_BYTE: u64 = 8 * SECOND;

/// Deepest bucket [B]: 2e9 bytes are 1.6e19 tokens, below 2^64.
pub(super) const MAX_DEPTH_BYTES: u64 = 2_000_000_000;

/// Tokens up to a depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    tokens: u64,
    depth: u64,
}

impl Bucket {
    /// A full bucket of `bytes` [0..=[`MAX_DEPTH_BYTES`]].
    pub(super) fn full(bytes: u64) -> Self {
        Self { tokens: bytes * TOKENS_PER_BYTE, depth: bytes * TOKENS_PER_BYTE }
    }

    /// Adds tokens; returns those that found no room.
    #[inline]
    pub(super) fn fill(&mut self, tokens: u128) -> u128 {
        let room = self.depth - self.tokens;
        if tokens < u128::from(room) {
            self.tokens += tokens as u64;
            0
        } else {
            self.tokens = self.depth;
            tokens - u128::from(room)
        }
    }

    /// Whether it holds at least `bytes`.
    #[inline]
    pub(super) fn holds(&self, bytes: u32) -> bool {
        self.tokens >= u64::from(bytes) * TOKENS_PER_BYTE
    }

    /// Takes `bytes` if it holds them.
    #[inline]
    pub(super) fn take(&mut self, bytes: u32) -> bool {
        let held = self.holds(bytes);
        if held {
            self.tokens -= u64::from(bytes) * TOKENS_PER_BYTE;
        }
        held
    }
}

/// Time since the last packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketClock(Time);

impl PacketClock {
    /// Nanoseconds since the last call.
    #[inline]
    pub(super) fn elapsed(&mut self, now: Time) -> u128 {
        let elapsed = now - self.0;
        self.0 = now;
        u128::from(elapsed)
    }
}
