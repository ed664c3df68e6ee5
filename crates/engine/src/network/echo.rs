//! Echo flows, as the compiled network has them.

use serde::{Deserialize, Serialize};

/// Requests whose receiver answers each at once, as a reflector does (RFC 792 echo; RFC 5357).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// Protocol of requests and replies.
    pub over: EchoProtocol,
    /// IP bytes of a reply [B, 1..=65535].
    pub reply_bytes: u32,
    /// A reply that arrives later than this after its request is lost [ns, > 0].
    pub timeout_ns: u64,
}

/// Protocols of echo flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EchoProtocol {
    /// ICMP echo: a reply has the sequence number of its request.
    Icmp,
    /// A test protocol over UDP: reflectors number and stamp the packets that they send.
    Udp,
}
