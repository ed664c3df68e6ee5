//! The receiver's window as the sender knows it, in bytes.
//!
//! Source: RFC 9293 section 3.8.6; Linux 6.1 (`tcp_ack_update_window`): acknowledgements say it. The first one
//! is that of the handshake.

use super::receive_buffer::compute_first_window;
use crate::tcp::TcpConfig;

#[derive(Clone, Debug)]
pub(super) struct OfferedWindow {
    edge: u64, // first byte that may not go
    largest: u64,
    mss: u64,
}

impl OfferedWindow {
    pub fn new(config: &TcpConfig) -> Self {
        let first = compute_first_window(config);
        Self { edge: first, largest: first, mss: u64::from(config.mss_bytes.max(1)) }
    }

    /// An acknowledgement offers a window [B] from a segment on; 0: it does not say.
    pub fn update(&mut self, ack: u32, window: u32) {
        let window = u64::from(window);
        self.largest = self.largest.max(window);
        self.edge = self.edge.max(u64::from(ack) * self.mss + window);
    }

    /// Largest window that was offered [B].
    pub fn max_offered_bytes(&self) -> u64 {
        self.largest
    }

    /// One past the last segment that may go.
    pub fn end(&self) -> u32 {
        u32::try_from(self.edge / self.mss).unwrap_or(u32::MAX)
    }
}
