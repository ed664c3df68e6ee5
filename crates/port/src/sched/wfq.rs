//! Weighted fair queueing: packet by packet, in the order in which a fluid server would finish.
//!
//! Source: Demers, Keshav & Shenker, "Analysis and simulation of a fair queueing algorithm",
//! SIGCOMM 1989; Parekh & Gallager, IEEE/ACM Trans. Networking 1(3), 1993 (PGPS). The virtual
//! time is that of the GPS server itself: V grows at `rate / (sum of the weights of the classes
//! backlogged in GPS)`. A packet of L bytes that arrives at t in a class of weight w finishes at
//! F = max(F of the packet before it in its class, V(t)) + L / w; the least F is sent next, equal F
//! by class index. This is not SCFQ, which takes V from the packet in service.
//! Cost: O(log n) a packet, plus the departures of GPS, one per packet at most.
//!
//! Units: virtual time counts bit ns per unit of weight, in integers. The fluid work done in `dt` ns is
//! `rate * dt` bit ns exactly; the remainder of the division by the sum of the weights is carried.

use super::heap::ClassHeap;
use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use trunkline_units::{Time, SECOND};

/// Work of one byte [bit ns per bit/s]: 8 bits for 1 s at 1 bit/s.
const WORK_PER_BYTE: u128 = 8 * SECOND as u128;

/// Share of a class under fair queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WfqShare {
    /// Weight among its peers [> 0].
    pub weight: u32,
}

/// Weighted fair queueing over any number of classes.
#[derive(Clone, Debug)]
pub struct Wfq {
    rate_bit_s: u128,
    weights: Vec<u128>,
    /// Finish time of the last packet of each class.
    last_finish: Vec<u128>,
    /// Finish times of the packets queued, by class.
    finishes: Vec<VecDeque<u128>>,
    /// Backlogged classes by the finish time of their heads.
    ready: ClassHeap<u128>,
    /// Classes backlogged in GPS by the finish time of their last packets.
    fluid: ClassHeap<u128>,
    fluid_weight: u128,
    virtual_time: u128,
    /// Work not yet in `virtual_time`, below `fluid_weight`.
    carry: u128,
    updated_at: Time,
}

impl Wfq {
    /// A fair queueing scheduler on a line of `rate_bit_s`; reads `weight` of each share.
    ///
    /// # Errors
    /// If there is no class, a weight is 0 or the rate is 0.
    pub fn new(shares: &[WfqShare], rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        super::at_least_one_class(shares)?;
        super::rate_above_zero(rate_bit_s)?;
        for (class, share) in shares.iter().enumerate() {
            InvalidParameter::require(share.weight > 0, "weight", || {
                format!("must be above 0 (class {class})")
            })?;
        }
        let classes = shares.len();
        Ok(Self {
            rate_bit_s: u128::from(rate_bit_s),
            weights: shares.iter().map(|share| u128::from(share.weight)).collect(),
            last_finish: vec![0; classes],
            finishes: vec![VecDeque::new(); classes],
            ready: ClassHeap::new(classes),
            fluid: ClassHeap::new(classes),
            fluid_weight: 0,
            virtual_time: 0,
            carry: 0,
            updated_at: 0,
        })
    }

    /// Runs the fluid server up to `now`.
    fn advance(&mut self, now: Time) {
        let mut work = self.rate_bit_s * u128::from(now - self.updated_at) + self.carry;
        self.updated_at = now;
        self.carry = 0;
        while let Some((finish, class)) = self.fluid.first() {
            let needed = (finish - self.virtual_time) * self.fluid_weight;
            if work < needed {
                self.virtual_time += work / self.fluid_weight;
                self.carry = work % self.fluid_weight;
                return;
            }
            work -= needed;
            self.virtual_time = finish;
            self.fluid.remove(class);
            self.fluid_weight -= self.weights[usize::from(class)];
        }
        // The fluid server is idle: virtual time does not advance.
    }
}

impl Discipline for Wfq {
    #[inline]
    fn on_enqueue(&mut self, class: u16, bytes: u32, was_empty: bool, now: Time) {
        self.advance(now);
        let index = usize::from(class);
        let weight = self.weights[index];
        // A class that left the fluid server did so at a virtual time past its last finish.
        if self.last_finish[index] <= self.virtual_time {
            self.last_finish[index] = self.virtual_time;
            self.fluid_weight += weight;
        }
        let finish = self.last_finish[index] + u128::from(bytes) * WORK_PER_BYTE / weight;
        self.last_finish[index] = finish;
        self.fluid.set(class, finish);
        self.finishes[index].push_back(finish);
        if was_empty {
            self.ready.set(class, finish);
        }
    }

    #[inline]
    fn choose(&mut self, _heads: &mut impl ClassHeads, _now: Time) -> SchedulerChoice {
        self.ready.first().map_or(SchedulerChoice::Idle, |(_, class)| SchedulerChoice::Class(class))
    }

    #[inline]
    fn on_dequeue(&mut self, class: u16, _bytes: u32, now_empty: bool, _now: Time) {
        self.next_head(class, now_empty);
    }

    /// The fluid server has sent a part of it, which is not taken back.
    fn never_waits(&self) -> bool {
        true
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        self.next_head(class, now_empty);
    }
}

impl Wfq {
    #[inline]
    fn next_head(&mut self, class: u16, now_empty: bool) {
        let finishes = &mut self.finishes[usize::from(class)];
        finishes.pop_front();
        if now_empty {
            self.ready.remove(class);
        } else {
            let finish = *finishes.front().expect("a packet queued has its finish time");
            self.ready.set(class, finish);
        }
    }
}

#[cfg(test)]
#[path = "wfq_tests.rs"]
mod tests;
