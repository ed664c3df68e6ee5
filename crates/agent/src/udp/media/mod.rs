//! Interactive media over UDP: an encoder whose rate follows the network, frames, and a player.
//!
//! `nada.rs` decides the rate from the receiver's feedback, `encoder.rs` makes frames and paces their
//! packets, `player.rs` shows frames at a fixed delay, `feedback.rs` holds what reports cover.
//! Sizes and rates count IP bytes, headers included.

mod encoder;
mod feedback;
mod nada;
mod player;
#[cfg(test)]
mod tests;

pub use encoder::{EncodedFrame, Encoder, MediaPacket};
pub use feedback::{report_bytes, ArrivedMediaPacket, FeedbackLog, REPORT_INTERVAL};
pub use nada::Nada;
pub use player::MediaPlayer;

use serde::{Deserialize, Serialize};
use trunkline_units::Span;

/// A stream of interactive media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaConfig {
    /// Minimum rate of the encoder [bit/s, > 0]: RMIN of RFC 8698. The largest, RMAX, is the flow's rate.
    pub min_bit_s: u64,
    /// Rates that the encoder has, rising [bit/s]; empty: any from `min_bit_s` to the flow's.
    pub ladder_bit_s: Vec<u64>,
    /// Weight among flows on one bottleneck: PRIO of RFC 8698.
    pub priority: f64,
    /// Time from one frame to the next [ns].
    pub frame_ns: Span,
    /// A frame is shown this long after its capture [ns].
    pub playout_ns: Span,
    /// Whether packets carry ECT(0).
    pub ecn: bool,
}
