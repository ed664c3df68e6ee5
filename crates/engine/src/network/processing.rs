//! Processing times of a node, in the compiled network.

use serde::{Deserialize, Serialize};
use trunkline_units::Span;

/// Time from a packet's arrival to the port it leaves by; none of it limits how many a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processing {
    /// Of every packet [ns].
    pub fixed_ns: Span,
    /// Of each look-up of an IP destination: FIB or FTN [ns].
    pub ip_lookup_ns: Span,
    /// Of each look-up of a label: ILM [ns].
    pub label_lookup_ns: Span,
}
