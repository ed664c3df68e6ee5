//! Class-based queueing: link-sharing between classes of a hierarchy.
//!
//! Source: Floyd & Jacobson, IEEE/ACM Trans. Networking 3(4), 1995 ("FJ95"), sections IV (guidelines,
//! ancestor-only and top-level) and V; ns-2.35 `queue/cbq.cc` and Linux 2.4 `net/sched/sch_cbq.c` for
//! what the paper leaves open. A class sends while it is not over its limit (`estimator.rs`), or
//! else while an ancestor that it may borrow from is not. `borrow: false` is "bounded". Among those
//! that may send the lowest `priority` is served first; equal ones share a weighted round robin by bytes
//! (a class sends while its credit is above 0, and carries its overdraft). The link itself is the root:
//! top classes with `borrow` may use all free capacity of it.
//!
//! The link-sharing rule says which class may borrow while a class below its limit is backlogged elsewhere:
//! - top-level: no class borrows from above the lowest level at which some class is known to be
//!   unsatisfied;
//! - ancestor-only: borrowing needs only an ancestor below its limit.
//!
//! `isolated`: capacity that the class does not use is not lent to others: it is charged to the class
//! alone, and its ancestors lend their rate less its own. Differs: exact times (Linux: tables of 2^n
//! byte cells).
//! Absent: the delay action's penalties, `split`, `defmap`.
//! Cost: O(backlogged classes of one priority) a packet where many are over their limits.

use super::estimator::{self, CbqEstimator};
use super::rings::{ClassRing, RingLinks};
use super::tree::ClassDepths;
use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice, BASE_QUANTUM_BYTES};
use serde::{Deserialize, Serialize};
use trunkline_units::{Time, TransmissionClock, NEVER};

/// When a class may borrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSharing {
    /// Not from above the lowest level known to hold an unsatisfied class (FJ95 section IV.C).
    TopLevel,
    /// From any ancestor below its limit (FJ95 section IV.B).
    AncestorOnly,
}

/// Deepest tree.
const MAX_CLASS_DEPTH: u32 = 16;
/// No restriction on the level borrowed from.
const ANY_LEVEL: u32 = u32::MAX;

/// Share of a class in a CBQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CbqShare {
    /// Strict priority: 0 is served first.
    pub priority: u32,
    /// Quantum of its turn [B]; 0 = derived from the rates of its priority.
    pub quantum_bytes: u32,
    /// Guaranteed rate [bit/s, > 0].
    pub rate_bit_s: u64,
    /// Index of the parent class; none for a top class.
    pub parent: Option<u16>,
    /// May use more than its rate when others leave some (not bounded).
    pub borrow: bool,
    /// Its unused capacity is not lent to classes outside it.
    pub isolated: bool,
    /// Packets that may go back to back after a silence [> 0].
    pub max_burst_packets: u32,
    /// Average packet size on the wire, which `max_burst_packets` counts in [B, > 0].
    pub average_packet_bytes: u32,
    /// Weight of the idle-time average is 2 to minus this [1..=16].
    pub ewma_log: u32,
    /// The idle-time average does not sink below minus this [ns]; none = no bound.
    pub min_idle_ns: Option<u64>,
}

#[derive(Clone, Debug)]
struct CbqClass {
    /// Whom it may borrow from: the index past the last class is the link.
    lender: Option<u16>,
    /// The other class charged for its packets.
    charged: Option<u16>,
    /// 0 for a leaf, else one more than its highest child.
    level: u32,
    /// Index into `rings`.
    ring: usize,
    quantum: i64,
    credit: i64,
    estimator: CbqEstimator,
}

/// Class-based queueing.
#[derive(Clone, Debug)]
pub struct Cbq {
    sharing: LinkSharing,
    /// The classes, then the link.
    classes: Vec<CbqClass>,
    /// Backlogged classes by priority, the most urgent first.
    rings: Vec<ClassRing>,
    links: RingLinks,
    line: TransmissionClock,
    /// Whether some top class is isolated.
    holds_back: bool,
    top_level: u32,
    /// The last choice: class and lender (itself or an ancestor).
    chosen: Option<(u16, u16)>,
}

impl Cbq {
    /// A CBQ on a line of `rate_bit_s`; a quantum of 0 is derived from the rates of the same priority.
    ///
    /// # Errors
    /// The parameter or relation that cannot be, with its class.
    pub fn new(
        shares: &[CbqShare],
        rate_bit_s: u64,
        sharing: LinkSharing,
    ) -> Result<Self, InvalidParameter> {
        let parents: Vec<_> = shares.iter().map(|share| share.parent).collect();
        let tree = ClassDepths::new(&parents, MAX_CLASS_DEPTH)?;
        super::rate_above_zero(rate_bit_s)?;
        for (class, share) in shares.iter().enumerate() {
            InvalidParameter::require(share.rate_bit_s > 0, "rate_bit_s", || {
                format!("must be above 0 (class {class})")
            })?;
            InvalidParameter::require(share.rate_bit_s <= rate_bit_s, "rate_bit_s", || {
                format!(
                    "must not be above the link's: {} is above {rate_bit_s} (class {class})",
                    share.rate_bit_s
                )
            })?;
            estimator::check(class, share)?;
        }
        let link = shares.len() as u16;
        let levels = levels(shares, &tree);
        let mut lendable: Vec<u64> = shares.iter().map(|share| share.rate_bit_s).collect();
        lendable.push(rate_bit_s);
        for share in shares.iter().filter(|share| share.isolated) {
            let parent = usize::from(share.parent.unwrap_or(link));
            lendable[parent] = lendable[parent].saturating_sub(share.rate_bit_s);
        }
        let mut priorities: Vec<u32> = shares.iter().map(|share| share.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let class = |(index, share): (usize, &CbqShare)| {
            let parent = share.parent.unwrap_or(link);
            CbqClass {
                lender: share.borrow.then_some(parent),
                charged: (!share.isolated).then_some(parent),
                level: levels[index],
                ring: priorities.binary_search(&share.priority).expect("every priority is listed"),
                quantum: quantum(shares, share),
                credit: 0,
                estimator: CbqEstimator::new(share, lendable[index], rate_bit_s),
            }
        };
        let mut classes: Vec<CbqClass> = shares.iter().enumerate().map(class).collect();
        classes.push(CbqClass {
            lender: None,
            charged: None,
            level: levels.iter().max().map_or(1, |level| level + 1),
            ring: 0,
            quantum: 0,
            credit: 0,
            estimator: CbqEstimator::new(
                &CbqShare {
                    max_burst_packets: 16,
                    average_packet_bytes: 1000,
                    ewma_log: 5,
                    ..CbqShare::default()
                },
                lendable[usize::from(link)],
                rate_bit_s,
            ),
        });
        Ok(Self {
            sharing,
            classes,
            rings: vec![ClassRing::EMPTY; priorities.len()],
            links: RingLinks::new(shares.len()),
            line: TransmissionClock::new(rate_bit_s),
            holds_back: lendable[usize::from(link)] < rate_bit_s,
            top_level: ANY_LEVEL,
            chosen: None,
        })
    }

    fn under_limit_at(&self, class: u16) -> Time {
        self.classes[usize::from(class)].estimator.under_limit_at()
    }

    /// The nearest of `class` and the ancestors it may borrow from that is not over its limit.
    fn lender(&self, class: u16, now: Time) -> Option<u16> {
        let mut at = class;
        while self.under_limit_at(at) > now {
            at = self.classes[usize::from(at)].lender?;
            if self.classes[usize::from(at)].level > self.top_level {
                return None;
            }
        }
        Some(at)
    }

    /// When `class` will have a lender.
    fn lender_at(&self, class: u16) -> Time {
        let mut earliest = self.under_limit_at(class);
        let mut at = self.classes[usize::from(class)].lender;
        while let Some(lender) = at {
            earliest = earliest.min(self.under_limit_at(lender));
            at = self.classes[usize::from(lender)].lender;
        }
        earliest
    }

    /// The class whose turn it is among those of a ring that may send.
    fn choose_in_ring(&mut self, ring: usize, now: Time) -> Option<(u16, u16)> {
        let mut ring_state = self.rings[ring];
        let start = ring_state.current()?;
        let mut waits_for_credit = false;
        loop {
            let class = ring_state.current()? as u16;
            if let Some(lender) = self.lender(class, now) {
                let state = &mut self.classes[usize::from(class)];
                if state.credit > 0 {
                    self.rings[ring] = ring_state;
                    return Some((class, lender));
                }
                state.credit += state.quantum;
                waits_for_credit = true;
            }
            self.links.pass(&mut ring_state);
            if ring_state.current() == Some(start) {
                if !waits_for_credit {
                    return None;
                }
                waits_for_credit = false;
            }
        }
    }
}

/// Level of each class.
fn levels(shares: &[CbqShare], tree: &ClassDepths) -> Vec<u32> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_unstable_by_key(|&class| std::cmp::Reverse(tree.depths[class]));
    let mut levels = vec![0; shares.len()];
    for class in order {
        if let Some(parent) = shares[class].parent {
            let parent = usize::from(parent);
            levels[parent] = levels[parent].max(levels[class] + 1);
        }
    }
    levels
}

/// Bytes a class may send in a turn.
fn quantum(shares: &[CbqShare], share: &CbqShare) -> i64 {
    if share.quantum_bytes > 0 {
        return i64::from(share.quantum_bytes);
    }
    let peers = shares.iter().filter(|other| other.priority == share.priority);
    let smallest = peers.map(|other| other.rate_bit_s).min().unwrap_or(share.rate_bit_s);
    (u128::from(BASE_QUANTUM_BYTES) * u128::from(share.rate_bit_s) / u128::from(smallest)) as i64
}

impl Discipline for Cbq {
    fn on_enqueue(&mut self, class: u16, _bytes: u32, was_empty: bool, now: Time) {
        if was_empty {
            let ring = &mut self.rings[self.classes[usize::from(class)].ring];
            self.links.join(ring, u32::from(class));
        }
        if self.sharing == LinkSharing::AncestorOnly {
            return;
        }
        // FJ95 section IV.C: an arrival for a class that could send without borrowing from above
        // some level shows that this level is not satisfied.
        let mut at = Some(class);
        while let Some(lender) = at {
            let CbqClass { level, lender: next, .. } = self.classes[usize::from(lender)];
            if level >= self.top_level {
                return;
            }
            if self.under_limit_at(lender) <= now {
                self.top_level = level;
                return;
            }
            at = next;
        }
    }

    fn choose(&mut self, _heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice {
        loop {
            for ring in 0..self.rings.len() {
                if let Some((class, lender)) = self.choose_in_ring(ring, now) {
                    self.chosen = Some((class, lender));
                    return SchedulerChoice::Class(class);
                }
            }
            if self.top_level == ANY_LEVEL {
                break;
            }
            // The link would be idle: no level is left to protect.
            self.top_level = ANY_LEVEL;
        }
        self.chosen = None;
        let mut earliest = NEVER;
        for mut ring in self.rings.iter().copied() {
            let Some(start) = ring.current() else { continue };
            loop {
                let class = ring.current().expect("a ring that is not empty") as u16;
                earliest = earliest.min(self.lender_at(class));
                self.links.pass(&mut ring);
                if ring.current() == Some(start) {
                    break;
                }
            }
        }
        if earliest == NEVER {
            SchedulerChoice::Idle
        } else {
            SchedulerChoice::Wait(earliest)
        }
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        self.chosen = None;
        if now_empty {
            let ring = self.classes[usize::from(class)].ring;
            self.links.leave(&mut self.rings[ring], u32::from(class));
        }
    }

    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time) {
        let sent = self.chosen.take().filter(|&(chosen, _)| chosen == class);
        let ring = self.classes[usize::from(class)].ring;
        if sent.is_some() {
            let state = &mut self.classes[usize::from(class)];
            state.credit -= i64::from(bytes);
            if state.credit <= 0 {
                state.credit += state.quantum;
                self.links.pass(&mut self.rings[ring]);
            }
        }
        if now_empty {
            self.links.leave(&mut self.rings[ring], u32::from(class));
        }
        let Some((_, lender)) = sent else { return };
        let wire = self.line.span(bytes);
        let end = now + wire;
        let link = self.classes.len() - 1;
        let mut at = Some(class);
        while let Some(charged) = at {
            let index = usize::from(charged);
            // The link is over its limit only where isolated classes hold a part of it back.
            if index < link || self.holds_back {
                self.classes[index].estimator.on_sent(bytes, wire, end);
            }
            at = self.classes[index].charged;
        }
        if self.sharing == LinkSharing::TopLevel {
            let level = self.classes[usize::from(lender)].level;
            if self.top_level >= level {
                let satisfied = now_empty || self.under_limit_at(lender) > end;
                self.top_level = if satisfied { ANY_LEVEL } else { level };
            }
        }
    }
}

#[cfg(test)]
#[path = "cbq_tests.rs"]
mod tests;
