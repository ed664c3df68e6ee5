//! TCP in full segments: a sender, a receiver, and the packets between them.
//!
//! Sequence numbers count segments from 0; congestion window and threshold are in segments too.
//! A sender is loss recovery, which detects losses and retransmits, and congestion control, which sets
//! the window. `config.rs` holds the parameters; `sender.rs` is one of two stacks, `rfc/` (Tahoe, Reno,
//! NewReno, SACK; `rto.rs` its timer) or `linux/` (`prr.rs`); both use a control in `congestion/`;
//! `receiver.rs` is the other end; `handshake.rs` opens and closes a connection if configured.
//!
//! Absent: flow control by a slow reader, the persist timer, more than 2^32 segments a connection.

mod application;
mod config;
mod congestion;
mod handshake;
mod linux;
mod lost_segments;
mod pacing;
mod prr;
mod rate_sample;
mod receiver;
mod rfc;
pub mod rto;
mod send_pace;
mod sender;

pub use application::AfterIdle;
pub use config::{DelayedAck, ReceiveBufferConfig, TcpConfig, Variant};
pub use congestion::{
    Bbr3Config, BbrConfig, CongestionConfig, CubicConfig, DctcpConfig, PragueConfig, RenoConfig,
    SlowStart, VegasConfig, WestwoodConfig,
};
pub use handshake::{BarePacket, Handshake, OpenedConnection};
pub use receiver::Receiver;
pub use sender::Sender;

use trunkline_packet::arena::SackBlocks;
use trunkline_units::Time;

/// A data segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 0.
    pub seq: u32,
    /// IP datagram that carries it [B].
    pub ip_bytes: u16,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Congestion Window Reduced (RFC 3168 section 6.1).
    pub cwr: bool,
    /// Push: the application's write ends here (RFC 9293 section 3.9.1; with `linux` only).
    pub push: bool,
}

/// An acknowledgement as the sender sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ack {
    /// Next segment the receiver expects.
    pub ack: u32,
    /// When the segment that caused it was sent (RFC 7323 TSecr).
    pub echo: Time,
    /// ECN-Echo (RFC 3168 section 6.1).
    pub ece: bool,
    /// Marks that the receiver has counted, modulo 8 (ACE, RFC 9768 section 3.2.1), where it counts.
    pub ace: u8,
    /// SACK blocks `[start, end)`; `[0, 0)` is none.
    pub sack: SackBlocks,
    /// Window that the receiver offers from `ack` on [B]; 0: not given.
    pub window: u32,
}

/// Fields of an acknowledgement, without its SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFields {
    /// Next segment expected.
    pub ack: u32,
    /// `sent_at` of the segment it answers (RFC 7323 TSecr).
    pub echo: Time,
    /// ECN-Echo.
    pub ece: bool,
}

/// State of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Window below the threshold: one segment more per acknowledgement.
    SlowStart,
    /// One segment more per round trip.
    CongestionAvoidance,
    /// Repairing a loss that duplicate acknowledgements showed.
    FastRecovery,
    /// Repairing after the retransmission timer ran out.
    Timeout,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Losses inferred from duplicate or selective acknowledgements.
    pub fast_retransmits: u64,
}
