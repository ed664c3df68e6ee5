//! Drop-tail: every packet passes; only the limit of the queue drops.

use super::{ActiveQueueManagement, Arrival, InvalidParameter, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_units::RandomStream;

/// Drop-tail has no parameters.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropTailConfig {}

/// The AQM that never judges.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl DropTail {
    /// Cannot fail; the signature is that of every AQM.
    ///
    /// # Errors
    /// None.
    pub fn new(_config: &DropTailConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        Ok(Self)
    }
}

impl ActiveQueueManagement for DropTail {
    #[inline(always)]
    fn on_arrival(&mut self, _arrival: &Arrival, _random: &mut RandomStream) -> Verdict {
        Verdict::Pass
    }
}
