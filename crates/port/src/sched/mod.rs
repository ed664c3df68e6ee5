//! Schedulers: choose which class sends next. They see sizes, never packets.

use serde::{Deserialize, Serialize};
use trunkline_units::Time;

#[cfg(test)]
pub(crate) mod bench;
mod cbq;
mod drr;
mod estimator;
mod fifo;
mod heap;
mod htb;
mod priority;
mod rings;
mod shaped;
mod tree;
mod wfq;

pub use crate::Invalid;
pub use cbq::{Cbq, LinkSharing};
pub use drr::{Drr, BASE_QUANTUM_BYTES};
pub use fifo::Fifo;
pub use htb::Htb;
pub use priority::Priority;
pub use shaped::Shaped;
pub use wfq::Wfq;

/// A scheduler's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This class sends the packet at its head.
    Class(u16),
    /// Nothing may be sent before this time (shaped classes).
    Wait(Time),
    /// Every queue is empty.
    Idle,
}

/// Sizes of the packets at the heads of the queues, by class; `None` where empty.
pub trait Heads {
    /// Bytes on the wire of the packet at the head of `class`.
    fn head(&self, class: u16) -> Option<u32>;
}

/// A scheduler over classes `0..n`.
pub trait Discipline {
    /// A packet of `bytes` joined `class`; `was_empty` tells whether it is now its head.
    fn on_enqueue(&mut self, class: u16, bytes: u32, was_empty: bool, now: Time);
    /// Chooses the class to send. The caller then sends its head and calls `on_dequeue`.
    fn choose(&mut self, heads: &impl Heads, now: Time) -> Choice;
    /// The head of `class`, of `bytes`, was taken for transmission.
    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time);
}

/// What each class is due, whatever the scheduler; schedulers read the keys they know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClassShare {
    /// Strict priority: 0 is served first.
    pub priority: u32,
    /// Weight among its peers [> 0].
    pub weight: u32,
    /// Quantum of a round robin [B]; 0 = derived from the weight.
    pub quantum_bytes: u32,
    /// Guaranteed rate [bit/s]; 0 = none.
    pub rate_bit_s: u64,
    /// Ceiling [bit/s]; 0 = none.
    pub ceil_bit_s: u64,
    /// Burst at the guaranteed rate [B].
    pub burst_bytes: u64,
    /// Burst at the ceiling [B].
    pub cburst_bytes: u64,
    /// Index of the parent class; none for a top class.
    pub parent: Option<u16>,
    /// May use more than its rate when others leave some (CBQ: not bounded).
    pub borrow: bool,
    /// CBQ: what it leaves unused is not lent to classes outside it.
    pub isolated: bool,
    /// CBQ: packets that may go back to back after a silence [> 0].
    pub max_burst_packets: u32,
    /// CBQ: average packet size on the wire, which `max_burst_packets` counts in [B, > 0].
    pub average_packet_bytes: u32,
    /// CBQ: weight of the idle-time average is 2 to minus this [1..=16].
    pub ewma_log: u32,
    /// CBQ: the idle-time average does not sink below minus this [ns]; none = no bound.
    pub min_idle_ns: Option<u64>,
}

impl Default for ClassShare {
    fn default() -> Self {
        Self {
            priority: 0,
            weight: 1,
            quantum_bytes: 0,
            rate_bit_s: 0,
            ceil_bit_s: 0,
            burst_bytes: 0,
            cburst_bytes: 0,
            parent: None,
            borrow: false,
            isolated: false,
            max_burst_packets: 16,
            average_packet_bytes: 1000,
            ewma_log: 5,
            min_idle_ns: None,
        }
    }
}

/// Kinds of scheduler, by their names in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerKind {
    /// One class, in order of arrival.
    Fifo,
    /// Strict priority, non-preemptive.
    Priority,
    /// Deficit round robin.
    Drr,
    /// Weighted fair queueing: packet GPS.
    Wfq,
    /// Token-bucket shaped classes, strict priority among those that may send.
    Shaped,
    /// Hierarchical token bucket, as Linux.
    Htb,
    /// Class-based queueing with top-level link-sharing, as old Linux.
    Cbq,
    /// Class-based queueing with ancestor-only link-sharing, as ns-2's default.
    CbqAncestorOnly,
}

/// Any scheduler, dispatched by one match.
#[derive(Clone, Debug)]
pub enum Sched {
    /// One class, in order of arrival.
    Fifo(Fifo),
    /// Strict priority, non-preemptive.
    Priority(Priority),
    /// Deficit round robin.
    Drr(Drr),
    /// Weighted fair queueing: packet GPS.
    Wfq(Wfq),
    /// Token-bucket shaped classes, strict priority among those that may send.
    Shaped(Shaped),
    /// Hierarchical token bucket, as Linux.
    Htb(Box<Htb>),
    /// Class-based queueing.
    Cbq(Cbq),
}

impl Sched {
    /// The scheduler of a port that sends at `rate_bit_s`, over classes `0..shares.len()`.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(
        kind: SchedulerKind,
        shares: &[ClassShare],
        rate_bit_s: u64,
    ) -> Result<Self, Invalid> {
        Ok(match kind {
            SchedulerKind::Fifo => Self::Fifo(Fifo::new(shares)?),
            SchedulerKind::Priority => Self::Priority(Priority::new(shares)?),
            SchedulerKind::Drr => Self::Drr(Drr::new(shares)?),
            SchedulerKind::Wfq => Self::Wfq(Wfq::new(shares, rate_bit_s)?),
            SchedulerKind::Shaped => Self::Shaped(Shaped::new(shares)?),
            SchedulerKind::Htb => Self::Htb(Box::new(Htb::new(shares)?)),
            SchedulerKind::Cbq => Self::Cbq(Cbq::new(shares, rate_bit_s, LinkSharing::TopLevel)?),
            SchedulerKind::CbqAncestorOnly => {
                Self::Cbq(Cbq::new(shares, rate_bit_s, LinkSharing::AncestorOnly)?)
            }
        })
    }
}

macro_rules! each {
    ($sched:expr, $inner:ident => $call:expr) => {
        match $sched {
            Sched::Fifo($inner) => $call,
            Sched::Priority($inner) => $call,
            Sched::Drr($inner) => $call,
            Sched::Wfq($inner) => $call,
            Sched::Shaped($inner) => $call,
            Sched::Htb($inner) => $call,
            Sched::Cbq($inner) => $call,
        }
    };
}

impl Discipline for Sched {
    #[inline]
    fn on_enqueue(&mut self, class: u16, bytes: u32, was_empty: bool, now: Time) {
        each!(self, sched => sched.on_enqueue(class, bytes, was_empty, now));
    }
    #[inline]
    fn choose(&mut self, heads: &impl Heads, now: Time) -> Choice {
        each!(self, sched => sched.choose(heads, now))
    }
    #[inline]
    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time) {
        each!(self, sched => sched.on_dequeue(class, bytes, now_empty, now));
    }
}

fn at_least_one_class(shares: &[ClassShare]) -> Result<(), Invalid> {
    Invalid::unless(!shares.is_empty(), "classes", || "must be at least one".into())?;
    Invalid::unless(shares.len() < usize::from(u16::MAX), "classes", || {
        "must be below 65535".into()
    })
}

fn rate_above_zero(rate_bit_s: u64) -> Result<(), Invalid> {
    Invalid::unless(rate_bit_s > 0, "rate", || "must be above 0".into())
}
