//! The receiver's window as the sender knows it, in bytes.
//!
//! Source: RFC 7323 section 2.3; Linux 6.1 (`__tcp_select_window`, `tcp_select_initial_window`): 65535 B
//! at first, two segments more for each that came, rounded up to the unit of the window's scale, which
//! is the smallest that can tell the largest window, of 64 MB at most.

use crate::tcp::TcpConfig;

/// Largest window without a scale [B].
const UNSCALED: u64 = 65_535;
/// Largest buffer of a receiver [B].
const LARGEST: u64 = 64 << 20;

#[derive(Clone, Debug)]
pub(super) struct Offer {
    bytes: u64, // before it is rounded
    most: u64,  // [segments]
    mss: u64,
    unit: u64, // of a scaled window [B]
}

impl Offer {
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss_bytes.max(1));
        // The configuration tells whole segments of it.
        let whole = u64::from(config.first_window()) * mss;
        let bytes = whole.max(UNSCALED.min(whole + mss - 1));
        Self::of(config.window_packets.into(), bytes, mss)
    }

    fn of(most: u64, bytes: u64, mss: u64) -> Self {
        let scale = (most * mss).clamp(1, LARGEST).ilog2().saturating_sub(UNSCALED.ilog2());
        Self { bytes, most, mss, unit: 1 << scale }
    }

    /// So many segments came that let it grow.
    pub fn open(&mut self, came: u32) {
        let bytes = self.bytes + 2 * u64::from(came) * self.mss;
        self.bytes = bytes.min(self.most * self.mss);
    }

    /// Largest window that was offered [B]; it never shrinks.
    pub fn largest(&self) -> u64 {
        self.bytes
    }

    /// One past the last segment that may go; `una` is the first not acknowledged.
    pub fn end(&self, una: u32) -> u32 {
        let scaled = self.bytes > UNSCALED;
        let bytes = if scaled { self.bytes.next_multiple_of(self.unit) } else { self.bytes };
        una.saturating_add((bytes / self.mss).min(self.most) as u32)
    }
}

#[cfg(test)]
mod rfc7323 {
    use super::*;

    fn offer(window_packets: u32, bytes: u64) -> Offer {
        Offer::of(window_packets.into(), bytes, 1460)
    }

    /// 100,000 segments are more than 64 MB, 2^26 B: the scale is 26 - 15 = 11, the unit 2048 B.
    /// 65535 B are 44.9 segments, unrounded. One came: 68455 B are 33.4 units of 2048 B; 34 units, 69632 B,
    /// are 47.7 segments, where 46.9 were before. Six more, 7 in all: 85975 B, 42 units, 58.9 segments.
    #[test]
    fn s2_3_the_window_is_rounded_up_to_its_unit() {
        let mut offer = offer(100_000, UNSCALED);
        assert_eq!(offer.end(0), 44);
        offer.open(1);
        assert_eq!(offer.end(0), 47);
        offer.open(6);
        assert_eq!(offer.end(100), 158);
    }

    /// 146000 B are between 2^17 and 2^18: the scale is 17 - 15 = 2, the unit 4 B. 99 segments, and 5 that
    /// came: 100 at most, and none beyond.
    #[test]
    fn s2_3_the_window_ends_where_it_is_configured_to() {
        let mut offer = offer(100, 99 * 1460);
        offer.open(5);
        assert_eq!(offer.end(7), 107);
    }
}
