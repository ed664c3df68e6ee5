//! First in, first out: one class.

use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::Time;

/// Share of the only class of a FIFO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FifoShare {}

/// One queue, served in order of arrival. The queue keeps the order, so there is no state.
#[derive(Clone, Copy, Debug)]
pub struct Fifo;

impl Fifo {
    /// A FIFO over exactly one class.
    ///
    /// # Errors
    /// If there is another number of classes.
    pub fn new(shares: &[FifoShare]) -> Result<Self, InvalidParameter> {
        InvalidParameter::require(shares.len() == 1, "scheduler", || {
            format!("fifo serves exactly one class, not {}", shares.len())
        })?;
        Ok(Self)
    }
}

impl Discipline for Fifo {
    #[inline(always)]
    fn on_enqueue(&mut self, _class: u16, _bytes: u32, _was_empty: bool, _now: Time) {}

    #[inline(always)]
    fn choose(&mut self, heads: &mut impl ClassHeads, _now: Time) -> SchedulerChoice {
        heads.head(0).map_or(SchedulerChoice::Idle, |_| SchedulerChoice::Class(0))
    }

    #[inline(always)]
    fn on_dequeue(&mut self, _class: u16, _bytes: u32, _now_empty: bool, _now: Time) {}

    #[inline(always)]
    fn on_discard(&mut self, _class: u16, _now_empty: bool) {}

    fn is_stateless_when_empty(&self) -> bool {
        true
    }

    fn never_waits(&self) -> bool {
        true
    }
}
