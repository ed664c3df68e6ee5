//! Losses by script, as the compiled network has them.

use serde::{Deserialize, Serialize};

/// A data packet that a link loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scripted {
    /// Index of its flow.
    pub flow: u32,
    /// Number of the segment or datagram, from 0.
    pub seq: u32,
    /// How many times it is lost: 1 is the first copy that arrives.
    pub times: u32,
}
