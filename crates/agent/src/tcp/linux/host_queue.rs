//! Small queues: how much of its data a sender lets wait in its own host.
//!
//! Source: Linux 6.1 (`tcp_small_queue_check`, `tcp_wfree`, `tcp_tsq_write`). A segment waits from the moment
//! when the sender gives it to its host until the first link begins to send it. The sender holds back while
//! more than two segments' memory waits, or what its pace sends in 2^-10 s, 1 MiB at most without pacing;
//! twice as much holds back a retransmission. When a segment leaves, a sender that held back tries again.
//! Differs: memory is counted in full segments.

use std::collections::VecDeque;
use trunkline_units::{Time, NEVER};

/// Memory of an empty segment (`sk_buff`, shared information, headers) [B].
pub(super) const OVERHEAD_BYTES: u64 = 1_280;
/// `tcp_limit_output_bytes` [B].
const MAX_BYTES: u64 = 1 << 20;
/// `sk_pacing_shift`.
const PACE_SHIFT: u32 = 10;

#[derive(Clone, Debug)]
pub(super) struct HostQueue {
    memory: u64, // of a full segment [B]
    waiting: u32,
    leaves: VecDeque<Time>, // of those that wait, where that is known beforehand
    holds: bool,            // the sender held back since a segment left
    tries: bool,            // one left since
}

impl HostQueue {
    /// Nothing waits; payload of a full segment [B].
    pub fn new(mss: u32) -> Self {
        let memory = OVERHEAD_BYTES + u64::from(mss);
        Self { memory, waiting: 0, leaves: VecDeque::new(), holds: false, tries: false }
    }

    /// A segment is given to the host.
    pub fn enter(&mut self) {
        self.waiting += 1;
    }

    /// The segment given last will leave then.
    pub fn leave_at(&mut self, at: Time) {
        self.leaves.push_back(at);
    }

    /// A segment left, or was dropped. True: the sender tries again.
    pub fn leave(&mut self) -> bool {
        self.waiting = self.waiting.saturating_sub(1);
        self.tries |= self.holds;
        self.tries
    }

    /// Takes out what has left by now. True: a sender that held back tries again now.
    pub fn take_try(&mut self, now: Time) -> bool {
        self.forget_departed(now);
        let tries = std::mem::take(&mut self.tries);
        self.holds &= !tries;
        tries
    }

    fn forget_departed(&mut self, now: Time) {
        while self.leaves.front().is_some_and(|at| *at <= now) {
            self.leaves.pop_front();
            self.leave();
        }
    }

    /// Whether fewer segments wait than any sender lets wait.
    pub fn is_short(&mut self, now: Time) -> bool {
        self.forget_departed(now);
        self.waiting < 2
    }

    /// Whether more than `times` what may waits, at a pace [B/s], or at the rate of a window that is not
    /// `paced`: the sender then holds back.
    pub fn is_full(&mut self, times: u64, rate: u64, paced: bool) -> bool {
        let most = if paced { u64::MAX } else { MAX_BYTES };
        let limit = (2 * self.memory).max(rate >> PACE_SHIFT).min(most);
        // The kernel's count begins with one.
        let full = u64::from(self.waiting) * self.memory + 1 > times * limit;
        self.holds |= full;
        full
    }

    /// When a sender that holds back tries again, where that is known.
    pub fn tries_at(&self) -> Time {
        match self.leaves.front() {
            Some(at) if self.holds => *at,
            _ => NEVER,
        }
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    fn fills(queue: &mut HostQueue, times: u64, rate: u64, paced: bool) -> u32 {
        while !queue.is_full(times, rate, paced) {
            queue.enter();
        }
        queue.waiting
    }

    /// 1460 B take 2740 B. Two and the first byte of the count are more than 5480 B; four of a
    /// retransmission. 100 MB/s are 97656 B in 2^-10 s: 35 of 2740 B are 95900 B, 36 more. 10 GB/s are
    /// 9.8 MB: 3579 of them, without pacing 1 MiB, 383.
    #[test]
    fn tcp_small_queue_check_two_segments_or_a_millisecond() {
        let mut queue = HostQueue::new(1460);
        assert_eq!(fills(&mut queue, 1, 0, false), 2);
        assert_eq!(fills(&mut queue, 2, 0, false), 4);
        assert_eq!(fills(&mut queue, 1, 100_000_000, false), 36);
        assert_eq!(fills(&mut queue, 1, 10_000_000_000, false), 383);
        assert_eq!(fills(&mut queue, 1, 10_000_000_000, true), 3565);
    }

    /// It holds back with two; the first leaves at 3: a try then, and none at 5, when it did not hold back.
    #[test]
    fn tcp_wfree_a_segment_that_leaves_wakes_a_sender_that_held_back() {
        let mut queue = HostQueue::new(1460);
        for at in [3, 5] {
            queue.enter();
            queue.leave_at(at);
        }
        assert_eq!(queue.tries_at(), NEVER);
        assert!(!queue.is_short(2) && queue.is_full(1, 0, false));
        assert_eq!((queue.tries_at(), queue.take_try(2)), (3, false));
        assert!(queue.take_try(3) && queue.is_short(3));
        assert_eq!((queue.tries_at(), queue.take_try(5)), (NEVER, false));
    }
}
