//! The list of pending events: at most one per source, served by (time, source).
//!
//! A source is a link, a flow's timer or a control. One pending event per source makes the number
//! of entries scale with the network and not with the packets in flight, and makes
//! (time, source) a total order, so equal times need no insertion counter.
//!
//! Layout: a wheel of buckets of equal width, each an intrusive list in order, for the block of the
//! current time and the next one; a second wheel of full blocks for later events. A block is moved to
//! the first wheel when the clock enters the one before it, so each event is moved at most once, and no
//! heap is needed. Buckets are as wide as the rate of events asks for (Brown, Calendar queues, CACM 31(10), 1988),
//! which changes no order.

mod occupied_slots;

use occupied_slots::OccupiedSlots;
use trunkline_units::{prefetch, Span, Time, NEVER};

/// Index of an event source.
pub type Source = u32;

const NO_SOURCE: u32 = u32::MAX;
/// `next` of a source that is in no bucket.
const DETACHED: u32 = u32::MAX - 1;
/// Blocks on the second wheel; later ones share its slots.
const BLOCKS: usize = 1 << 12;
/// How many events ahead [`Calendar::peek_upcoming`] looks, approximately.
const LOOKED_AHEAD_EVENTS: u64 = 12;
/// With fewer events than one in so many buckets these become wider, with more than one a bucket narrower.
const MAX_BUCKETS_PER_EVENT: u64 = 3;
/// Largest width of a bucket, as a power of two [ns].
const MAX_SHIFT: u32 = 20;
/// The width of buckets is reviewed after so many events, or as many as there are sources if these are more: entering
/// all pending events anew costs less than serving these did.
const MIN_EVENTS_OF_REVIEW: usize = 1 << 10;

/// Time and neighbours of a source: all are read together, so they share a cache line.
#[derive(Clone, Copy, Debug)]
struct CalendarEntry {
    /// When it is due; `NEVER` = not pending.
    due: Time,
    /// The next source in its bucket's list.
    next: u32,
    /// Of the first source of a list of two or more: the last one.
    last: u32,
}

/// The entry of a source that is not pending.
const EMPTY_ENTRY: CalendarEntry = CalendarEntry { due: NEVER, next: DETACHED, last: NO_SOURCE };

/// The width of a bucket that suits events some `gap` ns apart, as a power of two [ns].
fn shift_of_width(gap: Span) -> u32 {
    gap.max(1).ilog2().min(MAX_SHIFT)
}

/// Pending events by source.
#[derive(Debug, Default)]
pub struct Calendar {
    shift: u32,
    mask: usize,
    /// Number of the current bucket.
    current: u64,
    /// First bucket of the block after the clock's, and of the one after that.
    next_block: u64,
    horizon: u64,
    /// Buckets of a block, as a power of two.
    block_shift: u32,
    /// First source of the list of each bucket that has one.
    heads: Vec<u32>,
    entries: Vec<CalendarEntry>,
    used: OccupiedSlots,
    /// Blocks beyond the horizon; an event that was moved since is stale and skipped.
    blocks: Vec<Vec<(Time, Source)>>,
    used_blocks: OccupiedSlots,
    /// The bucket and the source of the last `peek_upcoming`, and how far ahead of the clock it may look.
    cursor: u64,
    named: Source,
    reach: u64,
    /// The width of buckets is reviewed after so many events, and after so many more; when it was the last time.
    review_every: u64,
    until_review: u64,
    reviewed_at: Time,
}

impl Calendar {
    /// For `sources` sources of which `busy` have events about every `busy * gap` ns each, so that
    /// one event falls due about every `gap` ns.
    #[must_use]
    pub fn new(sources: usize, busy: usize, gap: Span) -> Self {
        // A block of four gaps of each busy source.
        let slots = (8 * busy).next_power_of_two().clamp(1 << 10, 1 << 20);
        let block_shift = slots.trailing_zeros() - 1;
        let review_every = sources.max(MIN_EVENTS_OF_REVIEW) as u64;
        Self {
            shift: shift_of_width(gap),
            mask: slots - 1,
            current: 0,
            next_block: 1 << block_shift,
            horizon: 2 << block_shift,
            block_shift,
            heads: vec![NO_SOURCE; slots],
            entries: vec![EMPTY_ENTRY; sources],
            used: OccupiedSlots::new(slots),
            blocks: vec![Vec::new(); BLOCKS],
            used_blocks: OccupiedSlots::new(BLOCKS),
            cursor: 0,
            named: NO_SOURCE,
            reach: LOOKED_AHEAD_EVENTS,
            review_every,
            until_review: review_every,
            reviewed_at: 0,
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
        self.schedule_new(source, at);
    }

    /// The same for a source that is not pending.
    #[inline(always)]
    pub fn schedule_new(&mut self, source: Source, at: Time) {
        debug_assert!(self.due(source) == NEVER, "a source has one event");
        let bucket = at >> self.shift;
        debug_assert!(bucket >= self.current, "an event is not scheduled in the past");
        if bucket < self.horizon {
            self.insert_into_bucket(source, at);
        } else {
            self.schedule_far(source, at);
        }
    }

    /// Schedules beyond the horizon.
    #[inline(never)]
    fn schedule_far(&mut self, source: Source, at: Time) {
        self.entries[source as usize].due = at;
        let slot = self.block_of(at) as usize % BLOCKS;
        if self.blocks[slot].len() == self.blocks[slot].capacity() {
            self.make_room_in_block(slot);
        }
        self.blocks[slot].push((at, source));
        self.used_blocks.insert(slot);
    }

    /// Forgets the events of a full block that were moved since. Room is made for as many again, so that each event
    /// is looked at some two times.
    #[inline(never)]
    fn make_room_in_block(&mut self, slot: usize) {
        let entries = &self.entries;
        let block = &mut self.blocks[slot];
        block.retain(|&(at, source)| Self::is_still_due(entries, at, source));
        block.reserve(block.len().max(4));
    }

    #[inline(always)]
    fn block_of(&self, at: Time) -> u64 {
        (at >> self.shift) >> self.block_shift
    }

    /// Removes the pending event of `source`, if any.
    #[inline(never)]
    pub fn cancel(&mut self, source: Source) {
        let CalendarEntry { due, next, last } =
            std::mem::replace(&mut self.entries[source as usize], EMPTY_ENTRY);
        if due == NEVER || next == DETACHED {
            return; // not pending, or in a block, where its entry is stale now
        }
        let slot = (due >> self.shift) as usize & self.mask;
        let first = self.heads[slot];
        if first == source {
            self.set_head(slot, next, last);
            return;
        }
        let mut cursor = first;
        while self.entries[cursor as usize].next != source {
            cursor = self.entries[cursor as usize].next;
        }
        self.entries[cursor as usize].next = next;
        if next == NO_SOURCE {
            self.entries[first as usize].last = cursor;
        }
    }

    /// Takes the earliest event out: the least (time, source).
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Source)> {
        let slot = loop {
            match self.used.first_from(self.current as usize & self.mask) {
                Some(slot) => break slot,
                None => self.turn_to_next_block()?,
            }
        };
        let ahead = (slot.wrapping_sub(self.current as usize)) & self.mask;
        self.current += ahead as u64;
        if self.current >= self.next_block {
            self.enter_block();
        }
        let source = self.heads[slot];
        let CalendarEntry { due, next, last } =
            std::mem::replace(&mut self.entries[source as usize], EMPTY_ENTRY);
        self.set_head(slot, next, last);
        self.until_review -= 1;
        if self.until_review == 0 {
            self.review_width(due);
        }
        Some((due, source))
    }

    /// A source whose event is due soon, each about once: called once an event, it stays some
    /// `LOOKED_AHEAD_EVENTS` events ahead of the clock. It may be wrong: it serves prefetching only.
    #[inline(always)]
    pub fn peek_upcoming(&mut self) -> Option<Source> {
        let mut source = NO_SOURCE;
        if self.cursor > self.current {
            // Its entry was asked for when it was named.
            source = self.entries.get(self.named as usize)?.next;
        } else {
            // The clock has caught up: a few events are not named.
            self.cursor = self.current + self.reach - 1;
        }
        if source >= DETACHED {
            let next = self.cursor + 1;
            let slot = self.used.first_from(next as usize & self.mask)?;
            let bucket = next + ((slot as u64).wrapping_sub(next) & self.mask as u64);
            if bucket > self.current + self.reach {
                return None;
            }
            self.cursor = bucket;
            source = self.heads[slot];
        }
        self.named = source;
        self.fetch(source);
        Some(source)
    }

    /// Prefetches the entry of a source.
    #[inline(always)]
    pub fn fetch(&self, source: Source) {
        prefetch::element(&self.entries, source);
    }

    /// Enters an event in its bucket's list.
    #[inline(always)]
    fn insert_into_bucket(&mut self, source: Source, at: Time) {
        let slot = (at >> self.shift) as usize & self.mask;
        let (mut head, mut last) = (NO_SOURCE, NO_SOURCE);
        // The bits stay in the cache, the heads of a large network do not.
        if self.used.insert(slot) {
            head = self.heads[slot];
            if !self.precedes(source, at, head) {
                return self.insert_behind_first(head, source, at);
            }
            let first = self.entries[head as usize];
            last = if first.next == NO_SOURCE { head } else { first.last };
        }
        self.heads[slot] = source;
        self.entries[source as usize] = CalendarEntry { due: at, next: head, last };
    }

    /// Whether an event is due before that of another source.
    #[inline(always)]
    fn precedes(&self, source: Source, at: Time, other: Source) -> bool {
        (at, source) < (self.entries[other as usize].due, other)
    }

    /// Inserts an event in its place behind the first of a bucket. Many events of one instant mostly
    /// arrive in order: the last is compared first.
    #[inline]
    fn insert_behind_first(&mut self, first: Source, source: Source, at: Time) {
        let mut before = first;
        let CalendarEntry { next, last, .. } = self.entries[first as usize];
        if next != NO_SOURCE && !self.precedes(source, at, last) {
            before = last;
        }
        let next = loop {
            let next = self.entries[before as usize].next;
            if next == NO_SOURCE {
                self.entries[first as usize].last = source;
                break next;
            }
            if self.precedes(source, at, next) {
                break next;
            }
            before = next;
        };
        self.entries[before as usize].next = source;
        self.entries[source as usize] = CalendarEntry { due: at, next, last: NO_SOURCE };
    }

    /// Makes `source`, if any, the first of a bucket's list that ends with `last`.
    #[inline(always)]
    fn set_head(&mut self, slot: usize, source: u32, last: u32) {
        if source == NO_SOURCE {
            self.used.clear(slot);
        } else {
            self.heads[slot] = source;
            self.entries[source as usize].last = last;
        }
    }

    /// The clock has entered the next block: the one after that is now within the horizon.
    #[cold]
    fn enter_block(&mut self) {
        let block = self.current >> self.block_shift;
        self.set_block(block);
        self.move_block_to_first_wheel(block + 1);
    }

    /// Adapts the width of buckets to the mean distance of the last `review_every` events, of which the last was due at
    /// `now`.
    #[cold]
    fn review_width(&mut self, now: Time) {
        let gap = (now - self.reviewed_at) / self.review_every;
        let width = 1 << self.shift;
        if width > gap || width * MAX_BUCKETS_PER_EVENT < gap {
            let shift = shift_of_width(gap);
            if shift != self.shift {
                self.set_width(shift, now);
            }
        }
        self.reach = ((LOOKED_AHEAD_EVENTS * gap) >> self.shift)
            .clamp(LOOKED_AHEAD_EVENTS, self.mask as u64 / 4);
        (self.until_review, self.reviewed_at) = (self.review_every, now);
    }

    /// Enters all pending events anew, none of which is due before `now`, in buckets of `2^shift` ns.
    fn set_width(&mut self, shift: u32, now: Time) {
        self.shift = shift;
        self.current = now >> shift;
        self.used = OccupiedSlots::new(self.heads.len());
        self.blocks.iter_mut().for_each(Vec::clear);
        self.used_blocks = OccupiedSlots::new(BLOCKS);
        self.cursor = 0;
        self.set_block(self.current >> self.block_shift);
        for source in 0..self.entries.len() as u32 {
            let entry = std::mem::replace(&mut self.entries[source as usize], EMPTY_ENTRY);
            if entry.due != NEVER {
                self.schedule_new(source, entry.due);
            }
        }
    }

    fn set_block(&mut self, block: u64) {
        self.next_block = (block + 1) << self.block_shift;
        self.horizon = (block + 2) << self.block_shift;
    }

    /// Whether an event of a block still holds.
    fn is_still_due(entries: &[CalendarEntry], at: Time, source: Source) -> bool {
        let entry = entries[source as usize];
        entry.due == at && entry.next == DETACHED
    }

    /// Moves the events of a block to the first wheel.
    fn move_block_to_first_wheel(&mut self, block: u64) {
        let slot = block as usize % BLOCKS;
        let mut waiting = std::mem::take(&mut self.blocks[slot]);
        waiting.retain(|&(at, source)| {
            // Events of a later turn of the wheel stay, without a look at whether they hold.
            let is_in_block = self.block_of(at) == block;
            if is_in_block && Self::is_still_due(&self.entries, at, source) {
                self.insert_into_bucket(source, at);
            }
            !is_in_block
        });
        if waiting.is_empty() {
            self.used_blocks.clear(slot);
        }
        self.blocks[slot] = waiting;
    }

    /// The first wheel is empty: turns it to the block of the earliest event. `None` if there is
    /// no event.
    #[cold]
    fn turn_to_next_block(&mut self) -> Option<()> {
        let block = self.earliest_block()?;
        self.current = block << self.block_shift;
        self.set_block(block);
        self.move_block_to_first_wheel(block);
        self.move_block_to_first_wheel(block + 1);
        Some(())
    }

    fn earliest_block(&mut self) -> Option<u64> {
        let first = self.horizon >> self.block_shift;
        let end = first + BLOCKS as u64;
        let mut block = first;
        loop {
            let slot = self.used_blocks.first_from(block as usize % BLOCKS)?;
            block += (slot as u64).wrapping_sub(block) % BLOCKS as u64;
            if block >= end {
                break;
            }
            let entries = &self.entries;
            self.blocks[slot].retain(|&(at, source)| Self::is_still_due(entries, at, source));
            if self.blocks[slot].is_empty() {
                self.used_blocks.clear(slot);
            } else if self.blocks[slot].iter().any(|&(at, _)| self.block_of(at) == block) {
                return Some(block);
            }
            block += 1;
        }
        // No event in a full turn; compares every remaining event.
        let earliest = self.blocks.iter().flatten().map(|&(at, _)| at).min()?;
        Some(self.block_of(earliest))
    }
}

#[cfg(test)]
mod tests;
