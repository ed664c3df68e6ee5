//! Parameters of a TCP connection, every default written out by whoever compiles a scenario.

use super::application::AfterIdle;
use super::congestion::CongestionConfig;
use serde::{Deserialize, Serialize};

/// How a sender recovers from a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Slow start after every loss (Jacobson 1988).
    Tahoe,
    /// Fast recovery until the first new acknowledgement (RFC 2581).
    Reno,
    /// Fast recovery until everything that was outstanding is acknowledged (RFC 6582).
    NewReno,
    /// Recovery by selective acknowledgements (RFC 2018, RFC 6675).
    Sack,
    /// The same with losses found by time, and probes at the tail (RFC 8985).
    Rack,
}

/// When a receiver may hold an acknowledgement back (RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// Longest delay of an acknowledgement [ns; RFC 1122 section 4.2.3.2: under 500 ms].
    pub timeout_ns: u64,
    /// In-order segments that are acknowledged at once [>= 1; RFC 1122: 2].
    pub every: u32,
    /// Segments acknowledged one by one at the start of the connection ("quick ACKs"; not read with
    /// `linux`, whose receive buffer sets it).
    #[serde(default)]
    pub quick: u32,
}

/// Memory of a receiver (Linux's `tcp_rmem`); half of it is window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveBufferConfig {
    /// At first [B].
    pub initial_bytes: u64,
    /// At most [B, >= `initial_bytes`].
    pub max_bytes: u64,
}

/// A TCP connection: sender, receiver, sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpConfig {
    /// How the sender recovers from a loss.
    pub variant: Variant,
    /// `new-reno`: restart the retransmission timer on the first partial acknowledgement only
    /// ("impatient"), not on each ("slow-but-steady") (RFC 6582 section 4).
    pub new_reno_impatient: bool,
    /// `new-reno`: a partial acknowledgement clears the inflation of the window, as in ns-2 until 2003,
    /// instead of deflating it by the segments that it covers (RFC 2582 and 6582 section 3).
    #[serde(default)]
    pub partial_ack_resets: bool,
    /// Payload of a full segment [B, > 0].
    pub mss_bytes: u32,
    /// IP and TCP headers of a data segment [B].
    pub header_bytes: u32,
    /// IP datagram that carries a pure acknowledgement [B].
    pub ack_bytes: u32,
    /// Application bytes to transfer [B]; none = endless.
    pub size_bytes: Option<u64>,
    /// Window the receiver advertises [segments, >= 1].
    pub window_packets: u32,
    /// Congestion window at the start [segments, >= 1] (RFC 5681 section 3.1, RFC 6928).
    pub initial_window: f64,
    /// Slow-start threshold at the start [segments]; none = the advertised window.
    pub initial_ssthresh: Option<f64>,
    /// Retransmission timeout before the first sample [ns] (RFC 6298 (2.1): 1 s).
    pub rto_initial_ns: u64,
    /// Minimum retransmission timeout [ns] (RFC 6298 (2.4): 1 s).
    pub rto_min_ns: u64,
    /// Largest retransmission timeout [ns] (RFC 6298 (2.5): at least 60 s).
    pub rto_max_ns: u64,
    /// Granularity G of the clock that times segments [ns, >= 1] (RFC 6298 section 4).
    pub tick_ns: u64,
    /// Time every acknowledgement by its echoed time stamp (RFC 7323); else time one segment per
    /// window and none that was retransmitted (Karn's rule, RFC 6298 section 3).
    pub timestamps: bool,
    /// Delayed acknowledgements; none = one per segment.
    pub delayed_ack: Option<DelayedAck>,
    /// Send one new segment on each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate acknowledgements that mean a loss [>= 1] (RFC 5681 section 3.2: 3).
    pub dup_acks: u32,
    /// Each burst of segments is delayed by a uniform random time below this [ns]; 0 = off. It models
    /// the sender's own processing and breaks phase effects of equal flows.
    pub send_overhead_ns: u64,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// The window grows by the segments that an acknowledgement covers (appropriate byte counting,
    /// RFC 3465, with no limit L, as Linux), else once per acknowledgement.
    #[serde(default)]
    pub count_segments: bool,
    /// `new-reno`, `sack`: window, loss recovery and timers of Linux 6.1; `limited_transmit`,
    /// `dup_acks`, `new_reno_impatient`, `partial_ack_resets`, `tick_ns`, `count_segments` and
    /// `send_overhead_ns` are then not read.
    #[serde(default)]
    pub linux: bool,
    /// The congestion control: how the window opens, and its size after a loss.
    #[serde(default)]
    pub congestion: CongestionConfig,
    /// Segments are sent at a pace: that of `bbr`, else a window in a round trip.
    #[serde(default)]
    pub pacing: bool,
    /// The connection opens by a handshake and closes by FIN (RFC 9293 section 3); else it is open.
    #[serde(default)]
    pub connect: bool,
    /// With `linux`: memory of the receiver, which bounds the window that it offers. None =
    /// `window_packets` at once.
    #[serde(default)]
    pub receive_buffer: Option<ReceiveBufferConfig>,
    /// Memory of the sender for data written and not acknowledged [B > 0]: payload, and with `linux`
    /// what each segment takes. None = no bound.
    #[serde(default)]
    pub send_buffer_bytes: Option<u64>,
    /// Where the application writes and pauses: what a pause does to the window.
    #[serde(default)]
    pub after_idle: AfterIdle,
}

impl TcpConfig {
    /// Whether acknowledgements carry SACK blocks.
    #[must_use]
    pub fn uses_sack(&self) -> bool {
        matches!(self.variant, Variant::Sack | Variant::Rack)
    }

    /// Whether segments go at a pace.
    pub(super) fn is_paced(&self) -> bool {
        self.pacing
    }

    /// Segments that the sender's memory holds, each with its payload alone.
    pub(super) fn buffered_segments(&self) -> u32 {
        let each = u64::from(self.mss_bytes.max(1));
        let fits = self.send_buffer_bytes.map_or(u64::MAX, |bytes| (bytes / each).max(1));
        u32::try_from(fits).unwrap_or(u32::MAX)
    }

    /// Segments of a finite transfer; `u32::MAX` for an endless one.
    pub(super) fn segments(&self) -> u32 {
        self.size_bytes.map_or(u32::MAX, |size| {
            u32::try_from(size.div_ceil(u64::from(self.mss_bytes))).unwrap_or(u32::MAX)
        })
    }

    /// Sizes of the datagrams of the transfer.
    pub(super) fn sizes(&self) -> SegmentSizes {
        SegmentSizes {
            total: self.segments(),
            full: self.datagram_bytes(self.mss_bytes),
            last: self.datagram_bytes(self.last_payload()),
        }
    }

    /// IP datagram with that payload [B].
    pub(super) fn datagram_bytes(&self, payload: u32) -> u16 {
        (payload + self.header_bytes).min(u32::from(u16::MAX)) as u16
    }

    /// Payload of the last segment of a finite transfer [B].
    fn last_payload(&self) -> u32 {
        let mss = u64::from(self.mss_bytes);
        match self.size_bytes.map(|size| size % mss) {
            Some(rest) if rest > 0 => rest as u32,
            _ => self.mss_bytes,
        }
    }
}

/// Segments of a transfer, or up to the end of its next write, and the IP datagrams that carry them [B].
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentSizes {
    pub total: u32,
    full: u16,
    last: u16,
}

impl SegmentSizes {
    /// Of a segment that is full for sure; none: see [`Self::last_bytes`].
    #[inline]
    pub fn full_bytes(self, seq: u32) -> Option<u16> {
        (seq + 1 < self.total).then_some(self.full)
    }

    /// Of the last segment of a transfer.
    pub fn last_bytes(self) -> u16 {
        self.last
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{TcpConfig, Variant};

    /// A transfer without end of 1460 B segments, everything optional off.
    pub fn plain() -> TcpConfig {
        TcpConfig {
            variant: Variant::Sack,
            new_reno_impatient: false,
            partial_ack_resets: false,
            mss_bytes: 1460,
            header_bytes: 40,
            ack_bytes: 40,
            size_bytes: None,
            window_packets: 100,
            initial_window: 10.0,
            initial_ssthresh: None,
            rto_initial_ns: 1_000_000_000,
            rto_min_ns: 200_000_000,
            rto_max_ns: 60_000_000_000,
            tick_ns: 1,
            timestamps: false,
            delayed_ack: None,
            limited_transmit: true,
            dup_acks: 3,
            send_overhead_ns: 0,
            ecn: false,
            count_segments: false,
            linux: false,
            congestion: Default::default(),
            pacing: false,
            connect: false,
            receive_buffer: None,
            send_buffer_bytes: None,
            after_idle: Default::default(),
        }
    }
}
