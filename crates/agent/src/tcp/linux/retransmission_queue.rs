//! The retransmission queue: segments sent and not acknowledged, and the state of each.
//!
//! Source: RFC 8985 section 5.2 (a time of transmission for each segment); RFC 6675 section 4
//! (which segments are held, lost, sent again), stored as three counts after Linux 6.1: segments in the
//! network are the outstanding ones, less held and lost, plus those sent again.

use crate::tcp::lost_segments::LostSegments;
use std::collections::VecDeque;
use trunkline_units::Time;

const SACKED: u8 = 1; // a SACK block covers it
const LOST: u8 = 2;
const RESENT: u8 = 4; // sent again and not thought lost since
const EVER_RESENT: u8 = 8; // sent again at any time

#[derive(Clone, Copy, Debug)]
struct Entry {
    sent_at: Time,
    flags: u8,
}

/// Segments that an acknowledgement removed from the queue, or that a block covers anew.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RemovedSegments {
    /// Segments.
    pub count: u32,
    /// Of these, not held before.
    pub fresh: u32,
    /// When the first of those never sent again was sent, if there was one.
    pub first_sent: Option<Time>,
    /// When the last of them was.
    pub last_sent: Option<Time>,
    /// The lowest of those, if it had not been held.
    pub lowest: Option<u32>,
    /// Whether one never sent again lay below the point given.
    pub original: bool,
    /// Whether one had been sent again.
    pub again: bool,
    /// Of a segment sent again after that, this may be the first one's delivery.
    sure_until: Time,
    /// Of those whose last transmission was surely delivered the one sent last: time and number.
    pub latest: Option<(Time, u32)>,
    /// When the one with the highest number of them was sent.
    pub highest_sent: Option<Time>,
}

impl RemovedSegments {
    /// None yet. `sure_until`: a segment sent again after that may have been delivered before.
    pub fn until(sure_until: Time) -> Self {
        Self { sure_until, ..Self::default() }
    }

    fn add(&mut self, seq: u32, entry: Entry, below: u32) {
        let again = entry.flags & EVER_RESENT != 0;
        if again {
            self.again = true;
        } else {
            self.first_sent = self.first_sent.or(Some(entry.sent_at));
            self.last_sent = Some(entry.sent_at);
            self.lowest = self.lowest.or(Some(seq));
            self.original |= seq < below;
        }
        self.fresh += 1;
        if again && entry.sent_at > self.sure_until {
            return;
        }
        self.highest_sent = Some(entry.sent_at);
        self.latest = self.latest.max(Some((entry.sent_at, seq)));
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct RetransmissionQueue {
    first: u32, // number of the first entry
    entries: VecDeque<Entry>,
    high_held: u32, // one past the highest segment held
    hint: u32,      // no segment below is lost and waits to be sent again
    /// Segments held by the receiver; without SACK, duplicates counted.
    pub sacked_count: u32,
    /// Segments found lost.
    pub found_lost: LostSegments,
    /// Segments thought lost.
    pub lost: u32,
    /// Segments sent again and not thought lost since.
    pub resent_count: u32,
}

impl RetransmissionQueue {
    /// `named`: a control asks which segments are lost.
    pub fn new(named: bool) -> Self {
        Self { found_lost: LostSegments::new(named), ..Self::default() }
    }

    /// Segments outstanding.
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Segments thought to be in the network.
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.resent_count).saturating_sub(self.sacked_count + self.lost)
    }

    /// One past the highest segment held, or the first outstanding.
    pub fn high_held(&self) -> u32 {
        self.high_held.max(self.first)
    }

    /// A segment is sent for the first time.
    pub fn push(&mut self, now: Time) {
        self.entries.push_back(Entry { sent_at: now, flags: 0 });
    }

    /// When the first outstanding segment was sent last.
    pub fn head_sent_at(&self) -> Option<Time> {
        self.entries.front().map(|entry| entry.sent_at)
    }

    /// Whether the first outstanding segment is lost.
    pub fn head_lost(&self) -> bool {
        self.entries.front().is_some_and(|entry| entry.flags & LOST != 0)
    }

    /// Whether something sent again may still be in the network.
    pub fn has_resent(&self) -> bool {
        self.resent_count > 0
            || self.entries.front().is_some_and(|entry| entry.flags & EVER_RESENT != 0)
    }

    /// All below `ack` is acknowledged. `below`: see [`RemovedSegments::original`]. Fills `removed`.
    pub fn take(&mut self, ack: u32, below: u32, mut removed: RemovedSegments) -> RemovedSegments {
        while self.first < ack {
            let Some(entry) = self.entries.pop_front() else { break };
            removed.count += 1;
            self.resent_count -= u32::from(entry.flags & RESENT != 0);
            self.lost -= u32::from(entry.flags & LOST != 0);
            if entry.flags & SACKED == 0 {
                removed.add(self.first, entry, below);
            } else {
                self.sacked_count -= 1;
                removed.again |= entry.flags & EVER_RESENT != 0;
            }
            self.first += 1;
        }
        removed
    }

    /// The receiver holds the block `[start, end)`. `into` collects what is new.
    pub fn mark_sacked(&mut self, start: u32, end: u32, below: u32, into: &mut RemovedSegments) {
        let end = end.min(self.first + self.len());
        for seq in start.max(self.first)..end {
            let entry = &mut self.entries[(seq - self.first) as usize];
            if entry.flags & SACKED != 0 {
                continue;
            }
            let old = *entry;
            self.lost -= u32::from(old.flags & LOST != 0);
            self.resent_count -= u32::from(old.flags & RESENT != 0);
            entry.flags = (old.flags | SACKED) & !(LOST | RESENT);
            self.sacked_count += 1;
            into.add(seq, old, below);
            into.count += 1;
        }
        self.high_held = self.high_held.max(end);
    }

    /// The segment is lost, or lost again. Segments newly thought lost.
    pub fn lose(&mut self, seq: u32) -> u32 {
        let entry = &mut self.entries[(seq - self.first) as usize];
        if entry.flags & SACKED != 0 {
            return 0;
        }
        self.hint = self.hint.min(seq);
        if entry.flags & LOST == 0 {
            entry.flags |= LOST;
            self.lost += 1;
            self.found_lost.add(seq);
            return 1;
        }
        let repeated = u32::from(entry.flags & RESENT != 0);
        entry.flags &= !RESENT;
        self.resent_count -= repeated;
        if repeated > 0 {
            self.found_lost.add(seq);
        }
        repeated
    }

    /// Segments that may be in the network, with when each was sent.
    pub fn segments_in_flight(&self) -> impl Iterator<Item = (u32, Time)> + '_ {
        self.entries.iter().zip(self.first..).filter_map(|(entry, seq)| {
            let waits = entry.flags & (LOST | RESENT) == LOST;
            (entry.flags & SACKED == 0 && !waits).then_some((seq, entry.sent_at))
        })
    }

    /// The first segment lost and not sent again.
    pub fn next_lost(&mut self) -> Option<u32> {
        let from = self.hint.max(self.first);
        let lost_entry = self.entries.range((from - self.first).min(self.len()) as usize..);
        let skipped = lost_entry.take_while(|entry| entry.flags & (LOST | RESENT) != LOST).count();
        self.hint = from + skipped as u32;
        (self.hint < self.first + self.len()).then_some(self.hint)
    }

    /// The segment is sent again. `counted`: it fills a hole, and is no probe.
    pub fn resend(&mut self, seq: u32, counted: bool, now: Time) {
        let entry = &mut self.entries[(seq - self.first) as usize];
        entry.sent_at = now;
        entry.flags |= EVER_RESENT;
        if counted && entry.flags & RESENT == 0 {
            entry.flags |= RESENT;
            self.resent_count += 1;
        }
    }

    /// Clears the loss marks: nothing was lost.
    pub fn clear_lost(&mut self) {
        for entry in &mut self.entries {
            entry.flags &= !LOST;
        }
        self.lost = 0;
    }
}

#[cfg(test)]
mod linux {
    use super::*;

    fn queue(segments: u32) -> RetransmissionQueue {
        let mut queue = RetransmissionQueue::new(true);
        (0..segments).for_each(|seq| queue.push(u64::from(seq)));
        queue
    }

    /// `tcp_any_retrans_done`: something sent again is out, or the first outstanding segment was sent again ever.
    #[test]
    fn tcp_any_retrans_done_by_count_or_by_the_head() {
        for (resent, lost_again, expected) in [
            (None, false, false),
            (Some(1), false, true),
            (Some(0), true, true),
            (Some(1), true, false),
        ] {
            let mut queue = queue(3);
            if let Some(seq) = resent {
                queue.lose(seq);
                queue.resend(seq, true, 9);
                if lost_again {
                    queue.lose(seq);
                }
            }
            assert_eq!(queue.has_resent(), expected, "{resent:?} {lost_again}");
        }
    }

    /// `tcp_mark_skb_lost`: a segment that waits to be sent again is not lost a second time; one sent again is.
    #[test]
    fn tcp_mark_skb_lost_counts_each_transmission_once() {
        let mut queue = queue(3);
        assert_eq!((queue.next_lost(), queue.head_lost()), (None, false));
        assert_eq!([1, 0, 0].map(|seq| queue.lose(seq)), [1, 1, 0]);
        assert_eq!((queue.lost, queue.found_lost.count(), queue.next_lost()), (2, 2, Some(0)));
        queue.resend(0, true, 9);
        assert_eq!((queue.next_lost(), queue.resent_count, queue.in_flight()), (Some(1), 1, 2));
        assert_eq!((queue.lose(0), queue.found_lost.count()), (1, 3));
        assert_eq!((queue.next_lost(), queue.resent_count, queue.in_flight()), (Some(0), 0, 1));
        assert!(queue.head_lost());
        // Held: it is no longer lost, nor can it be.
        queue.mark_sacked(0, 1, 3, &mut RemovedSegments::default());
        assert_eq!((queue.lose(0), queue.lost, queue.head_lost()), (0, 1, false));
        queue.resend(1, true, 9);
        assert_eq!(queue.next_lost(), None);
        assert_eq!(queue.segments_in_flight().map(|(seq, _)| seq).collect::<Vec<_>>(), [1, 2]);
        queue.clear_lost();
        assert_eq!((queue.lost, queue.head_sent_at()), (0, Some(9)));
    }
}
