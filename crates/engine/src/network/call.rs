//! Calls, as the compiled network has them.

use serde::{Deserialize, Serialize};

/// A call: playout at its receiver, and the quality of the codec (ITU-T G.107). The engine counts
/// packets that are too late to be played; readers of the results use the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Name of the codec.
    pub codec: String,
    /// A packet is played this long after it was sent; a later one is lost to the call [ns].
    pub playout_ns: u64,
    /// Packetization and look-ahead before a packet is sent [ns].
    pub codec_ns: u64,
    /// Equipment impairment factor without loss; none = unknown.
    pub ie: Option<f64>,
    /// Packet-loss robustness factor; none = unknown.
    pub bpl: Option<f64>,
    /// Burst ratio of losses [> 0]; 1 = at random.
    pub burst_ratio: f64,
    /// Formula that makes delay an impairment.
    pub delay_formula: DelayFormula,
}

/// Formulas of the impairment by delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayFormula {
    /// Idd of ITU-T G.107 clause 7.4.
    G107,
    /// Cole and Rosenbluth 2001: a straight line with a bend at 177.3 ms.
    Simplified,
}
