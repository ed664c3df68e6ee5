//! LDP in the compiled network.

use serde::{Deserialize, Serialize};

/// LDP in all nodes, one label space each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LdpConfig {
    /// Flow that its messages are counted under.
    pub flow: u32,
    /// When nodes begin [ns].
    pub start_ns: u64,
    /// Interval of hellos [ns, > 0].
    pub hello_ns: u64,
    /// Hold time of hellos: a neighbour without a hello for this time is lost [ns, > `hello_ns`].
    pub hello_hold_ns: u64,
    /// `KeepAlive` Time: a session without a message for this time is lost [ns, > 0].
    pub keepalive_ns: u64,
    /// TCP sends a segment again after it, then after twice as long [ns, > 0].
    pub resend_ns: u64,
    /// From a session that is refused to the next attempt; doubles up to eight times [ns, > 0].
    pub retry_ns: u64,
    /// Segments count only if they arrive from the neighbour directly (RFC 6720).
    pub gtsm: bool,
    /// Ordered control of labels; else independent.
    pub ordered: bool,
    /// Class of the packets to a node is this number plus its index.
    pub first_fec: u16,
}
