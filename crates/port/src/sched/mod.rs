//! Schedulers: choose which class sends next. They see sizes, never packets.

use serde::{Deserialize, Serialize};
use trunkline_units::Time;

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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// May use more than its rate when others leave some.
    pub borrow: bool,
}
