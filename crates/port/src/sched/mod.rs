//! Schedulers: choose which class sends next. They see sizes, never packets.

use serde::{Deserialize, Serialize};
use trunkline_units::Time;

mod bucket;
mod cake;
mod cbq;
#[cfg(test)]
mod conformance;
mod drr;
mod estimator;
mod fifo;
mod flow_rounds;
mod heap;
mod hfsc;
mod htb;
mod priority;
mod rings;
mod service_curve;
mod shaped;
#[cfg(test)]
mod shares_tests;
mod tbf;
#[cfg(test)]
pub(crate) mod test_link;
mod tree;
mod wfq;
mod wrr;

pub use crate::InvalidParameter;
pub use cake::{Cake, CakeShare};
pub use cbq::{Cbq, CbqShare, LinkSharing};
pub use drr::{Drr, DrrShare, BASE_QUANTUM_BYTES};
pub use fifo::{Fifo, FifoShare};
pub use flow_rounds::FlowRounds;
pub use hfsc::{Hfsc, HfscShare};
pub use htb::{Htb, HtbShare};
pub use priority::{Priority, PriorityShare};
pub use service_curve::ServiceCurve;
pub use shaped::{Shaped, ShapedShare};
pub use tbf::{Tbf, TbfShare};
pub use wfq::{Wfq, WfqShare};
pub use wrr::{Wrr, WrrShare};

/// A scheduler's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerChoice {
    /// This class sends the packet at its head.
    Class(u16),
    /// No packet may be sent before this time (shaped classes).
    Wait(Time),
    /// Every queue is empty.
    Idle,
}

/// Sizes of the packets at the heads of the queues, by class; `None` where empty.
pub trait ClassHeads {
    /// Bytes on the wire of the packet at the head of `class`: called only where it will be sent next
    /// if it may.
    fn head(&mut self, class: u16) -> Option<u32>;
}

/// A scheduler over classes `0..n`.
pub trait Discipline {
    /// A packet of `bytes` joined `class`; `was_empty` is whether it is now its head.
    fn on_enqueue(&mut self, class: u16, bytes: u32, was_empty: bool, now: Time);
    /// Chooses the class to send. The caller then sends its head and calls `on_dequeue`.
    fn choose(&mut self, heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice;
    /// The head of `class`, of `bytes`, was taken for transmission.
    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time);
    /// The head of `class` was dropped instead of sent; the class is not charged.
    fn on_discard(&mut self, class: u16, now_empty: bool);
    /// Whether a packet that arrives while none waits and is sent at once changes no state here, so that
    /// the caller need not report it.
    fn is_stateless_when_empty(&self) -> bool {
        false
    }
    /// Whether it is work-conserving: it sends whenever a packet is there.
    fn never_waits(&self) -> bool {
        false
    }
}

macro_rules! schedulers {
    ($($(#[$doc:meta])* $variant:ident($discipline:ty, $share:ty) = $new:expr),+ $(,)?) => {
        /// Configuration of a scheduler: the `kind` key names the variant, `shares` gives the share of
        /// each class.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum SchedulerConfig {
            $($(#[$doc])* $variant {
                /// Share of each class.
                shares: Vec<$share>,
            }),+
        }

        impl SchedulerConfig {
            /// Number of classes.
            #[must_use]
            pub fn classes(&self) -> usize {
                match self { $(Self::$variant { shares } => shares.len()),+ }
            }
        }

        /// Any scheduler, dispatched by one match. The tag comes first, next to the state of a small one.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub enum Sched { $($(#[$doc])* $variant($discipline)),+ }

        impl Sched {
            /// The scheduler of a port that sends at `rate_bit_s`.
            ///
            /// # Errors
            /// The parameter that is out of range.
            pub fn new(config: &SchedulerConfig, rate_bit_s: u64) -> Result<Self, InvalidParameter> {
                Ok(match config {
                    $(SchedulerConfig::$variant { shares } => {
                        let new: fn(&[$share], u64) -> Result<$discipline, InvalidParameter> = $new;
                        Self::$variant(new(shares, rate_bit_s)?)
                    }),+
                })
            }
        }

        impl Discipline for Sched {
            #[inline]
            fn on_enqueue(&mut self, class: u16, bytes: u32, was_empty: bool, now: Time) {
                match self { $(Self::$variant(scheduler) => scheduler.on_enqueue(class, bytes, was_empty, now)),+ }
            }
            #[inline]
            fn choose(&mut self, heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice {
                match self { $(Self::$variant(scheduler) => scheduler.choose(heads, now)),+ }
            }
            #[inline]
            fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time) {
                match self { $(Self::$variant(scheduler) => scheduler.on_dequeue(class, bytes, now_empty, now)),+ }
            }
            fn on_discard(&mut self, class: u16, now_empty: bool) {
                match self { $(Self::$variant(scheduler) => scheduler.on_discard(class, now_empty)),+ }
            }
            fn is_stateless_when_empty(&self) -> bool {
                match self { $(Self::$variant(scheduler) => scheduler.is_stateless_when_empty()),+ }
            }
            fn never_waits(&self) -> bool {
                match self { $(Self::$variant(scheduler) => scheduler.never_waits()),+ }
            }
        }
    };
}

schedulers! {
    /// One class, in order of arrival.
    Fifo(Fifo, FifoShare) = |shares, _| Fifo::new(shares),
    /// Strict priority, non-preemptive.
    Priority(Priority, PriorityShare) = |shares, _| Priority::new(shares),
    /// Deficit round robin.
    Drr(Drr, DrrShare) = |shares, _| Drr::new(shares),
    /// Weighted round robin by packets.
    Wrr(Wrr, WrrShare) = |shares, _| Wrr::new(shares),
    /// Weighted fair queueing: packet GPS.
    Wfq(Wfq, WfqShare) = Wfq::new,
    /// Token-bucket shaped classes, strict priority among those that may send.
    Shaped(Shaped, ShapedShare) = |shares, _| Shaped::new(shares),
    /// Token bucket filter: one class, as Linux.
    Tbf(Tbf, TbfShare) = |shares, _| Tbf::new(shares),
    /// Hierarchical token bucket, as Linux.
    Htb(Box<Htb>, HtbShare) = |shares, _| Htb::new(shares).map(Box::new),
    /// CAKE's shaper over tins.
    Cake(Cake, CakeShare) = |shares, _| Cake::new(shares),
    /// Hierarchical fair service curves.
    Hfsc(Box<Hfsc>, HfscShare) = |shares, _| Hfsc::new(shares).map(Box::new),
    /// Class-based queueing with top-level link-sharing, as old Linux.
    Cbq(Cbq, CbqShare) = |shares, rate| Cbq::new(shares, rate, LinkSharing::TopLevel),
    /// Class-based queueing with ancestor-only link-sharing, as ns-2's default.
    CbqAncestorOnly(Cbq, CbqShare) = |shares, rate| Cbq::new(shares, rate, LinkSharing::AncestorOnly),
}

fn at_least_one_class<Share>(shares: &[Share]) -> Result<(), InvalidParameter> {
    InvalidParameter::require(!shares.is_empty(), "classes", || "must be at least one".into())?;
    InvalidParameter::require(shares.len() < usize::from(u16::MAX), "classes", || {
        "must be below 65535".into()
    })
}

fn rate_above_zero(rate_bit_s: u64) -> Result<(), InvalidParameter> {
    InvalidParameter::require(rate_bit_s > 0, "rate", || "must be above 0".into())
}
