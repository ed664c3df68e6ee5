//! Hierarchical token bucket, as Linux's `sch_htb`.
//!
//! Source: Linux 6.1 `net/sched/sch_htb.c` and M. Devera's HTB notes (2002), restated. Every class
//! has two buckets, `rate` with `burst` and `ceil` with `cburst`, which may go into debt:
//! - green, may send: both buckets are not in debt;
//! - yellow, may borrow: only the rate's is, so it sends at the cost of the nearest ancestor that
//!   may send;
//! - red, may not send: the ceiling's is in debt.
//!
//! The lowest level with a class that may send is served first (a leaf's own rate before any borrowing),
//! in it the lowest `priority`, and among equals a deficit round robin by `quantum`. A packet is
//! charged to the rate buckets from the lender upward and to the ceiling buckets of leaf and all
//! ancestors. As Linux: a packet may start with any tokens not in debt, and a bucket is filled for
//! at most 60 s at once. `parent` makes the tree; only leaves hold packets.
//! Differs: tokens are exact (Linux rounds each packet's time); round robins run in the order in
//! which classes became active (Linux: by class number). Absent: hysteresis (off in Linux too),
//! direct queue, offload. Cost: O(depth) a packet, and O(log n) for each change of colour.

use super::bucket::RateBucket;
use super::heap::ClassHeap;
use super::rings::{ClassRing, RingLinks};
use super::tree::ClassDepths;
use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::{Time, SECOND};

/// Priorities `0..8`, as Linux.
const PRIORITIES: u32 = 8;
/// Levels `0..8`, as Linux: leaves are 0, a top class with children 7.
const LEVELS: u32 = 8;
/// Longest time for which a bucket is filled at once, and deepest debt.
const MAX_FILL_TIME: Time = 60 * SECOND;

/// Share of a class in an HTB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbShare {
    /// Strict priority [0..8]: 0 is served first.
    pub priority: u32,
    /// Quantum of its turn [B]; 0 = derived from the rate.
    pub quantum_bytes: u32,
    /// Guaranteed rate [bit/s, > 0].
    pub rate_bit_s: u64,
    /// Ceiling [bit/s]; 0 = the rate.
    pub ceil_bit_s: u64,
    /// Burst at the guaranteed rate [B].
    pub burst_bytes: u64,
    /// Burst at the ceiling [B].
    pub cburst_bytes: u64,
    /// Index of the parent class; none for a top class.
    pub parent: Option<u16>,
}

/// Colour of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClassColour {
    CanSend,
    MayBorrow,
    CannotSend,
}

#[derive(Clone, Debug)]
struct HtbClass {
    parent: Option<u16>,
    level: u32,
    priority: u32,
    quantum: i64,
    rate: RateBucket,
    ceil: RateBucket,
    charged_at: Time,
    mode: ClassColour,
    /// Priorities at which it has something to send (a leaf: its own), as bits.
    active: u32,
}

impl HtbClass {
    /// Its colour at `now`, and the time until it may change for the better.
    fn mode_at(&self, now: Time) -> (ClassColour, Time) {
        let span = (now - self.charged_at).min(MAX_FILL_TIME);
        let ceil = self.ceil.filled(span);
        if ceil < 0 {
            return (ClassColour::CannotSend, self.ceil.time_until_paid(ceil));
        }
        let rate = self.rate.filled(span);
        if rate >= 0 {
            return (ClassColour::CanSend, 0);
        }
        (ClassColour::MayBorrow, self.rate.time_until_paid(rate))
    }
}

/// A hierarchical token bucket.
#[derive(Clone, Debug)]
pub struct Htb {
    classes: Vec<HtbClass>,
    links: RingLinks,
    /// Classes that may send, by level and priority.
    rows: [[ClassRing; PRIORITIES as usize]; LEVELS as usize],
    /// Children that may borrow, by class and priority.
    feeds: Vec<[ClassRing; PRIORITIES as usize]>,
    /// The class whose turn it was in a feed when it left, until the feed is next read: if it returns
    /// before that, its turn continues (Linux's `last_ptr_id`).
    interrupted: Vec<[Option<u32>; PRIORITIES as usize]>,
    /// Bytes each leaf may still send in this turn, by level it sends at.
    deficits: Vec<[i64; LEVELS as usize]>,
    /// Priorities with a class in the row, as bits, by level.
    row_masks: [u32; LEVELS as usize],
    /// Classes that cannot send or must borrow, by the time that may change.
    waiting: ClassHeap<Time>,
    backlogged: u32,
    /// The last choice: (leaf, level, priority).
    chosen: Option<(u16, u32, u32)>,
}

impl Htb {
    /// An HTB. A quantum of 0 is a tenth of a second at the rate, in 1000..=200000 (Linux's `r2q`
    /// 10).
    ///
    /// # Errors
    /// The parameter or relation that cannot be, with its class.
    pub fn new(shares: &[HtbShare]) -> Result<Self, InvalidParameter> {
        let parents: Vec<_> = shares.iter().map(|share| share.parent).collect();
        let tree = ClassDepths::new(&parents, LEVELS - 1)?;
        let mut classes = Vec::with_capacity(shares.len());
        for (index, share) in shares.iter().enumerate() {
            let HtbShare { rate_bit_s, burst_bytes, cburst_bytes, priority, .. } = *share;
            InvalidParameter::require(rate_bit_s > 0, "rate_bit_s", || {
                format!("must be above 0 (class {index})")
            })?;
            let ceil_bit_s = if share.ceil_bit_s == 0 { rate_bit_s } else { share.ceil_bit_s };
            InvalidParameter::require(ceil_bit_s >= rate_bit_s, "ceil_bit_s", || {
                format!("must not be below rate_bit_s: {ceil_bit_s} is below {rate_bit_s} (class {index})")
            })?;
            InvalidParameter::require(priority < PRIORITIES, "priority", || {
                format!("must be below {PRIORITIES}, not {priority} (class {index})")
            })?;
            let quantum = match share.quantum_bytes {
                0 => (rate_bit_s / 80).clamp(1000, 200_000) as i64,
                bytes => i64::from(bytes),
            };
            classes.push(HtbClass {
                parent: share.parent,
                level: if tree.interior[index] { LEVELS - 1 - tree.depths[index] } else { 0 },
                priority,
                quantum,
                rate: RateBucket::full(rate_bit_s, burst_bytes),
                ceil: RateBucket::full(ceil_bit_s, cburst_bytes),
                charged_at: 0,
                mode: ClassColour::CanSend,
                active: 0,
            });
        }
        let n = shares.len();
        Ok(Self {
            classes,
            links: RingLinks::new(n * PRIORITIES as usize),
            rows: [[ClassRing::EMPTY; PRIORITIES as usize]; LEVELS as usize],
            feeds: vec![[ClassRing::EMPTY; PRIORITIES as usize]; n],
            interrupted: vec![[None; PRIORITIES as usize]; n],
            deficits: vec![[0; LEVELS as usize]; n],
            row_masks: [0; LEVELS as usize],
            waiting: ClassHeap::new(n),
            backlogged: 0,
            chosen: None,
        })
    }

    /// `class` has something to send at the priorities of `mask`: files it, and its ancestors as
    /// far as it must borrow.
    fn activate(&mut self, class: u16, mut mask: u32) {
        let mut at = class;
        while mask != 0 {
            let HtbClass { mode, parent, level, .. } = self.classes[usize::from(at)];
            match (mode, parent) {
                (ClassColour::CanSend, _) => {
                    for priority in set_bits(mask) {
                        let ring = &mut self.rows[level as usize][priority as usize];
                        self.links.join(ring, member(at, priority));
                    }
                    self.row_masks[level as usize] |= mask;
                    return;
                }
                (ClassColour::MayBorrow, Some(parent)) => {
                    let mut fresh = 0;
                    for priority in set_bits(mask) {
                        let ring = &mut self.feeds[usize::from(parent)][priority as usize];
                        fresh |= u32::from(ring.is_empty()) << priority;
                        let own = member(at, priority);
                        self.links.join(ring, own);
                        if self.interrupted[usize::from(parent)][priority as usize] == Some(own) {
                            self.links.resume(ring, own);
                        }
                    }
                    self.classes[usize::from(parent)].active |= fresh;
                    (at, mask) = (parent, fresh);
                }
                _ => return,
            }
        }
    }

    /// Undoes [`Self::activate`].
    fn deactivate(&mut self, class: u16, mut mask: u32) {
        let mut at = class;
        while mask != 0 {
            let HtbClass { mode, parent, level, .. } = self.classes[usize::from(at)];
            match (mode, parent) {
                (ClassColour::CanSend, _) => {
                    for priority in set_bits(mask) {
                        let ring = &mut self.rows[level as usize][priority as usize];
                        self.links.leave(ring, member(at, priority));
                        self.row_masks[level as usize] &= !(u32::from(ring.is_empty()) << priority);
                    }
                    return;
                }
                (ClassColour::MayBorrow, Some(parent)) => {
                    let mut emptied = 0;
                    for priority in set_bits(mask) {
                        let ring = &mut self.feeds[usize::from(parent)][priority as usize];
                        let own = member(at, priority);
                        if ring.current() == Some(own) {
                            // One that left before it still has the turn.
                            self.interrupted[usize::from(parent)][priority as usize]
                                .get_or_insert(own);
                        }
                        self.links.leave(ring, own);
                        emptied |= u32::from(ring.is_empty()) << priority;
                    }
                    self.classes[usize::from(parent)].active &= !emptied;
                    (at, mask) = (parent, emptied);
                }
                _ => return,
            }
        }
    }

    /// `class` has no packet to send any more.
    fn retire(&mut self, class: u16) {
        let active = std::mem::take(&mut self.classes[usize::from(class)].active);
        self.deactivate(class, active);
        self.backlogged -= 1;
    }

    /// Brings the colour of `class` up to `now`.
    fn recolour(&mut self, class: u16, now: Time) {
        let index = usize::from(class);
        let (mode, wait) = self.classes[index].mode_at(now);
        if mode != self.classes[index].mode {
            let active = self.classes[index].active;
            self.deactivate(class, active);
            self.classes[index].mode = mode;
            self.activate(class, active);
        }
        if mode == ClassColour::CanSend {
            self.waiting.remove(class);
        } else {
            self.waiting.set(class, now + wait);
        }
    }

    /// The quantum of `leaf` is used up: passes the turn in its ring and, where that completes a
    /// round, in the ring of each ancestor up to the lender at `level`.
    fn pass_turn(&mut self, leaf: u16, level: u32, priority: u32) {
        let mut at = leaf;
        while self.classes[usize::from(at)].level != level {
            let Some(parent) = self.classes[usize::from(at)].parent else { return };
            if !self.links.pass(&mut self.feeds[usize::from(parent)][priority as usize]) {
                return;
            }
            at = parent;
        }
        self.links.pass(&mut self.rows[level as usize][priority as usize]);
    }

    /// Charges `leaf` and its ancestors for `bytes` lent at `level`.
    fn charge(&mut self, leaf: u16, level: u32, bytes: u32, now: Time) {
        let mut at = Some(leaf);
        while let Some(class) = at {
            let state = &mut self.classes[usize::from(class)];
            let span = (now - state.charged_at).min(MAX_FILL_TIME);
            if state.level >= level {
                state.rate.fill(span);
                state.rate.take(bytes, MAX_FILL_TIME);
            } else {
                state.rate.overfill(span);
            }
            state.ceil.fill(span);
            state.ceil.take(bytes, MAX_FILL_TIME);
            state.charged_at = now;
            at = state.parent;
            self.recolour(class, now);
        }
    }
}

/// The ring member of `class` at `priority`.
fn member(class: u16, priority: u32) -> u32 {
    u32::from(class) * PRIORITIES + priority
}

/// Numbers of the bits set in `mask`.
fn set_bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(lowest)
    })
}

impl Discipline for Htb {
    fn on_enqueue(&mut self, class: u16, _bytes: u32, was_empty: bool, _now: Time) {
        if was_empty {
            let state = &mut self.classes[usize::from(class)];
            debug_assert!(state.level == 0, "only leaves hold packets");
            let mask = 1 << state.priority;
            state.active = mask;
            self.backlogged += 1;
            self.activate(class, mask);
        }
    }

    fn choose(&mut self, _heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice {
        self.chosen = None;
        if self.backlogged == 0 {
            return SchedulerChoice::Idle;
        }
        while let Some((at, class)) = self.waiting.first() {
            if at > now {
                break;
            }
            self.recolour(class, now);
        }
        for level in 0..LEVELS {
            let mask = self.row_masks[level as usize];
            if mask == 0 {
                continue;
            }
            let priority = mask.trailing_zeros();
            let mut ring = self.rows[level as usize][priority as usize];
            while let Some(member) = ring.current() {
                let class = (member / PRIORITIES) as u16;
                if self.classes[usize::from(class)].level == 0 {
                    self.chosen = Some((class, level, priority));
                    return SchedulerChoice::Class(class);
                }
                ring = self.feeds[usize::from(class)][priority as usize];
                self.interrupted[usize::from(class)][priority as usize] = None;
            }
        }
        self.waiting.first().map_or(SchedulerChoice::Idle, |(at, _)| SchedulerChoice::Wait(at))
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        self.chosen = None;
        if now_empty {
            self.retire(class);
        }
    }

    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time) {
        let sent = self.chosen.take().filter(|&(leaf, ..)| leaf == class);
        if let Some((leaf, level, priority)) = sent {
            let deficit = &mut self.deficits[usize::from(leaf)][level as usize];
            *deficit -= i64::from(bytes);
            if *deficit < 0 {
                *deficit += self.classes[usize::from(leaf)].quantum;
                self.pass_turn(leaf, level, priority);
            }
        }
        if now_empty {
            self.retire(class);
        }
        if let Some((leaf, level, _)) = sent {
            self.charge(leaf, level, bytes, now);
        }
    }
}

#[cfg(test)]
#[path = "htb_tests.rs"]
mod tests;
