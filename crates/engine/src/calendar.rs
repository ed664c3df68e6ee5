//! The list of pending events: at most one per source, served by (time, source).
//!
//! A source is a link, a flow's timer or a control. One pending event per source makes the number
//! of entries scale with the network and not with the packets in flight, and makes
//! (time, source) a total order, so equal times need no insertion counter.
//!
//! Layout: a wheel of buckets of equal width, each an intrusive list; a bitmap over the buckets
//! to skip empty ones; a heap for what lies beyond the wheel's horizon.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trunkline_units::{Span, Time, NEVER};

/// Index of an event source.
pub type Source = u32;

const NIL: u32 = u32::MAX;
/// `next` of a source that is in no bucket.
const DETACHED: u32 = u32::MAX - 1;

/// Where a source stands: both words are read together, so they share a cache line.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When it is due; `NEVER` = not pending.
    due: Time,
    /// The next source in its bucket's list.
    next: u32,
}

/// Pending events by source.
#[derive(Debug)]
pub struct Calendar {
    shift: u32,
    mask: usize,
    /// Number of the bucket the clock stands in.
    current: u64,
    /// First source of each bucket's list.
    heads: Vec<u32>,
    entries: Vec<Entry>,
    /// One bit per bucket, and one bit per word of those.
    words: Vec<u64>,
    summary: Vec<u64>,
    /// Beyond the horizon; entries whose source was moved since are stale and skipped.
    far: BinaryHeap<Reverse<(Time, Source)>>,
    /// First bucket that is beyond the horizon for sure: the earliest of `far`.
    far_bucket: u64,
}

impl Calendar {
    /// For `sources` sources of which `busy` have events about every `busy * gap` ns each, so that
    /// one event falls due about every `gap` ns.
    #[must_use]
    pub fn new(sources: usize, busy: usize, gap: Span) -> Self {
        // Eight times the busy sources cover some eight gaps of each before the horizon.
        let slots = (8 * busy).next_power_of_two().clamp(1 << 10, 1 << 20);
        Self {
            shift: 63 - gap.max(1).leading_zeros(),
            mask: slots - 1,
            current: 0,
            heads: vec![NIL; slots],
            entries: vec![Entry { due: NEVER, next: DETACHED }; sources],
            words: vec![0; slots / 64],
            summary: vec![0; slots.div_ceil(4096)],
            far: BinaryHeap::new(),
            far_bucket: u64::MAX,
        }
    }

    /// When `source` is due; `NEVER` if it is not pending.
    #[inline(always)]
    #[must_use]
    pub fn due(&self, source: Source) -> Time {
        self.entries[source as usize].due
    }

    /// Makes `source` due at `at` (not before the last event served), moving a pending event.
    #[inline(always)]
    pub fn schedule(&mut self, source: Source, at: Time) {
        if self.entries[source as usize].due != NEVER {
            self.cancel(source);
        }
        let bucket = at >> self.shift;
        debug_assert!(bucket >= self.current, "an event is not scheduled in the past");
        if bucket - self.current > self.mask as u64 {
            self.schedule_far(source, at);
        } else {
            self.link(source, at);
        }
    }

    /// Schedules beyond the horizon.
    #[cold]
    fn schedule_far(&mut self, source: Source, at: Time) {
        self.entries[source as usize].due = at;
        self.far.push(Reverse((at, source)));
        self.far_bucket = self.far_bucket.min(at >> self.shift);
    }

    /// Removes the pending event of `source`, if any.
    #[inline(never)]
    pub fn cancel(&mut self, source: Source) {
        let absent = Entry { due: NEVER, next: DETACHED };
        let Entry { due, next } = std::mem::replace(&mut self.entries[source as usize], absent);
        if due == NEVER || next == DETACHED {
            return; // not pending, or in `far`, where its entry is stale now
        }
        let slot = (due >> self.shift) as usize & self.mask;
        let mut cursor = self.heads[slot];
        if cursor == source {
            self.set_head(slot, next);
            return;
        }
        while self.entries[cursor as usize].next != source {
            cursor = self.entries[cursor as usize].next;
        }
        self.entries[cursor as usize].next = next;
    }

    /// Takes the earliest event out: the least (time, source).
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Source)> {
        let slot = loop {
            match self.first_slot() {
                Some(slot) => break slot,
                None => self.reach_far()?,
            }
        };
        let ahead = (slot.wrapping_sub(self.current as usize)) & self.mask;
        if ahead > 0 {
            self.current += ahead as u64;
            if self.far_bucket.wrapping_sub(self.current) <= self.mask as u64 {
                self.bring_near();
            }
        }
        let mut source = self.heads[slot];
        let mut entry = self.entries[source as usize];
        if entry.next == NIL {
            self.set_head(slot, NIL);
        } else {
            (source, entry) = self.take_least(slot, source, entry);
        }
        self.entries[source as usize] = Entry { due: NEVER, next: DETACHED };
        Some((entry.due, source))
    }

    /// Unlinks the least (time, source) of a list of several.
    #[inline]
    fn take_least(&mut self, slot: usize, head: Source, first: Entry) -> (Source, Entry) {
        let (mut least, mut best, mut before) = (head, first, NIL);
        let (mut previous, mut cursor) = (head, first.next);
        while cursor != NIL {
            let entry = self.entries[cursor as usize];
            if (entry.due, cursor) < (best.due, least) {
                (least, best, before) = (cursor, entry, previous);
            }
            (previous, cursor) = (cursor, entry.next);
        }
        if before == NIL {
            self.heads[slot] = best.next;
        } else {
            self.entries[before as usize].next = best.next;
        }
        (least, best)
    }

    #[inline(always)]
    fn link(&mut self, source: Source, at: Time) {
        let slot = (at >> self.shift) as usize & self.mask;
        let head = std::mem::replace(&mut self.heads[slot], source);
        self.entries[source as usize] = Entry { due: at, next: head };
        if head == NIL {
            self.words[slot / 64] |= 1 << (slot % 64);
            self.summary[slot / 4096] |= 1 << (slot / 64 % 64);
        }
    }

    #[inline(always)]
    fn set_head(&mut self, slot: usize, source: u32) {
        self.heads[slot] = source;
        if source == NIL {
            let word = slot / 64;
            self.words[word] &= !(1 << (slot % 64));
            if self.words[word] == 0 {
                self.summary[word / 64] &= !(1 << (word % 64));
            }
        }
    }

    /// The first bucket in use from the current one on, around the wheel.
    #[inline(always)]
    fn first_slot(&self) -> Option<usize> {
        let start = self.current as usize & self.mask;
        let word = start / 64;
        let here = self.words[word] >> (start % 64);
        if here != 0 {
            return Some(start + here.trailing_zeros() as usize);
        }
        let block = word / 64;
        // Words after this one in its block of 64.
        let rest = self.summary[block] & (u64::MAX << (word % 64)) & !(1 << (word % 64));
        if rest != 0 {
            return Some(self.slot_of(block, rest));
        }
        let blocks = self.summary.len();
        for offset in 1..=blocks {
            let block = (block + offset) % blocks;
            let found = self.summary[block];
            if found != 0 {
                return Some(self.slot_of(block, found));
            }
        }
        None
    }

    #[inline(always)]
    fn slot_of(&self, block: usize, summary: u64) -> usize {
        let word = block * 64 + summary.trailing_zeros() as usize;
        word * 64 + self.words[word].trailing_zeros() as usize
    }

    /// Whether an entry of `far` still holds.
    fn waits_far(&self, source: Source, at: Time) -> bool {
        let entry = self.entries[source as usize];
        entry.due == at && entry.next == DETACHED
    }

    /// The wheel is empty: turns it to the earliest far event. `None` if there is none.
    #[cold]
    fn reach_far(&mut self) -> Option<()> {
        while let Some(&Reverse((at, source))) = self.far.peek() {
            if self.waits_far(source, at) {
                self.current = at >> self.shift;
                self.bring_near();
                return Some(());
            }
            self.far.pop();
        }
        self.far_bucket = u64::MAX;
        None
    }

    /// Moves what came within the horizon from the heap into the wheel.
    #[cold]
    fn bring_near(&mut self) {
        while let Some(&Reverse((at, source))) = self.far.peek() {
            let bucket = at >> self.shift;
            if bucket.wrapping_sub(self.current) > self.mask as u64 && bucket > self.current {
                self.far_bucket = bucket;
                return;
            }
            self.far.pop();
            if self.waits_far(source, at) {
                self.link(source, at);
            }
        }
        self.far_bucket = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Schedule(u32, u64),
        Cancel(u32),
        Pop,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0u32..40, prop_oneof![0u64..50, 0u64..5_000, 0u64..5_000_000])
                .prop_map(|(source, ahead)| Step::Schedule(source, ahead)),
            1 => (0u32..40).prop_map(Step::Cancel),
            4 => Just(Step::Pop),
        ];
        proptest::collection::vec(step, 1..400)
    }

    proptest! {
        /// The specification is a plain map searched for its least (time, source).
        #[test]
        fn serves_by_time_then_source_like_a_sorted_list(steps in steps(), gap in 1u64..2_000) {
            let mut calendar = Calendar::new(40, 4, gap);
            let mut plain = std::collections::BTreeMap::new();
            let mut now = 0;
            for step in steps {
                match step {
                    Step::Schedule(source, ahead) => {
                        calendar.schedule(source, now + ahead);
                        plain.insert(source, now + ahead);
                    }
                    Step::Cancel(source) => {
                        calendar.cancel(source);
                        plain.remove(&source);
                    }
                    Step::Pop => {
                        let least = plain.iter().map(|(&s, &t)| (t, s)).min();
                        prop_assert_eq!(calendar.pop(), least);
                        if let Some((at, source)) = least {
                            plain.remove(&source);
                            now = at;
                        }
                    }
                }
            }
            while let Some(least) = plain.iter().map(|(&s, &t)| (t, s)).min() {
                prop_assert_eq!(calendar.pop(), Some(least));
                plain.remove(&least.1);
            }
            prop_assert_eq!(calendar.pop(), None);
        }
    }
}
