//! The receiver's window as the sender knows it, in bytes.
//!
//! Source: RFC 7323 section 2.3; Linux 6.1 (`__tcp_select_window`, `tcp_select_initial_window`): 65535 B
//! at first, two segments more for each that arrived, rounded up to the unit of the window scale. The
//! scale is the smallest that can express the maximum window of at most 64 MB.

use crate::tcp::TcpConfig;

/// Largest window without a scale [B].
const MAX_UNSCALED_BYTES: u64 = 65_535;
/// Largest buffer of a receiver [B].
const MAX_BUFFER_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug)]
pub(super) struct OfferedWindow {
    bytes: u64,        // before it is rounded
    max_segments: u64, // [segments]
    mss: u64,
    unit: u64, // of a scaled window [B]
}

impl OfferedWindow {
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss_bytes.max(1));
        // The configuration gives the window in full segments.
        let window_bytes = u64::from(config.first_window()) * mss;
        let bytes = window_bytes.max(MAX_UNSCALED_BYTES.min(window_bytes + mss - 1));
        Self::with_limit(config.window_packets.into(), bytes, mss)
    }

    fn with_limit(max_segments: u64, bytes: u64, mss: u64) -> Self {
        let scale = (max_segments * mss)
            .clamp(1, MAX_BUFFER_BYTES)
            .ilog2()
            .saturating_sub(MAX_UNSCALED_BYTES.ilog2());
        Self { bytes, max_segments, mss, unit: 1 << scale }
    }

    /// `segments_arrived` segments arrived that let the window grow.
    pub fn open(&mut self, segments_arrived: u32) {
        let bytes = self.bytes + 2 * u64::from(segments_arrived) * self.mss;
        self.bytes = bytes.min(self.max_segments * self.mss);
    }

    /// Largest window that was offered [B]; it never shrinks.
    pub fn max_offered_bytes(&self) -> u64 {
        self.bytes
    }

    /// One past the last segment that may go; `una` is the first not acknowledged.
    pub fn end(&self, una: u32) -> u32 {
        let scaled = self.bytes > MAX_UNSCALED_BYTES;
        let bytes = if scaled { self.bytes.next_multiple_of(self.unit) } else { self.bytes };
        una.saturating_add((bytes / self.mss).min(self.max_segments) as u32)
    }
}

#[cfg(test)]
mod rfc7323 {
    use super::*;

    fn offer(window_packets: u32, bytes: u64) -> OfferedWindow {
        OfferedWindow::with_limit(window_packets.into(), bytes, 1460)
    }

    /// 100,000 segments are more than 64 MB, 2^26 B: the scale is 26 - 15 = 11, the unit 2048 B.
    /// 65535 B are 44.9 segments, unrounded. After one segment: 68455 B are 33.4 units of 2048 B; 34
    /// units, 69632 B, are 47.7 segments, where 46.9 were before. Six more, 7 in all: 85975 B, 42 units,
    /// 58.9 segments.
    #[test]
    fn s2_3_the_window_is_rounded_up_to_its_unit() {
        let mut offer = offer(100_000, MAX_UNSCALED_BYTES);
        assert_eq!(offer.end(0), 44);
        offer.open(1);
        assert_eq!(offer.end(0), 47);
        offer.open(6);
        assert_eq!(offer.end(100), 158);
    }

    /// 146000 B are between 2^17 and 2^18: the scale is 17 - 15 = 2, the unit 4 B. 99 segments, and 5
    /// that arrive: 100 at most, and none beyond.
    #[test]
    fn s2_3_the_window_ends_where_it_is_configured_to() {
        let mut offer = offer(100, 99 * 1460);
        offer.open(5);
        assert_eq!(offer.end(7), 107);
    }
}
